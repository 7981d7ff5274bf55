"""Faults to plant in the made gold, each with its change and the lint code that must find it."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalsuite.gold.errata import instance_hash
from evalsuite.gold.layouts import read_gold
from tests.analysis.gold_checks.gold_folders import CITIES, STOCK, Made, entry
from tests.conftest import ROOT

Plant = Callable[[Made], Any]


def rewritten(made: Made, id_: str, func: str, **parameters: Any) -> None:
    """Give an instance another check."""
    made.entries[id_]["evaluation"] = {"func": func, "parameters": parameters}


def text(**parameters: Any) -> Plant:
    """Other parameters for the text check."""
    return lambda made: made.parameters("t1").update(parameters)


def number(**parameters: Any) -> Plant:
    """Other parameters for the number check."""
    return lambda made: made.parameters("n1").update(parameters)


def percent_question(made: Made) -> None:
    """A question that asks the number check for a percentage."""
    made.entries["n1"]["question"] = "What percentage of orders was returned?"


def table(**parameters: Any) -> Plant:
    """Other parameters for the table check."""
    return lambda made: made.parameters("c1").update(parameters)


def cities(content: str | bytes) -> Plant:
    """Another gold table for the table check."""
    return lambda made: made.files.update({"c1/cities.csv": content})


def database(*statements: str, **parameters: Any) -> Plant:
    """Another gold database: what is run instead, and parameters."""

    def plant(made: Made) -> None:
        made.database[:] = statements or made.database
        made.parameters("d1").update(parameters)

    return plant


def tree(**parameters: Any) -> Plant:
    """Other parameters for the tree check."""
    return lambda made: made.parameters("r1").update(parameters)


def kelvin(compare: Any, **more: Any) -> dict[str, Any]:
    """The schema of the tree check, its number compared in a way."""
    leaf = {"type": "number", "x-eval-compare": compare}
    return {"type": "object", "properties": {"id": {"type": "string"}, "kelvin": leaf}, **more}


def ordered(content: str) -> Plant:
    """A gold table whose rows must keep their order."""

    def plant(made: Made) -> None:
        made.files["c1/cities.csv"] = content
        made.parameters("c1")["ignore_order"] = False

    return plant


def judged(made: Made) -> None:
    """A judged check without a judge."""
    rewritten(made, "t1", "llm_judge", gold="Portugal")


def two_checks(made: Made) -> None:
    """The same check twice."""
    made.entries["t1"]["evaluation"] = [made.evaluation("t1"), dict(made.evaluation("t1"))]


def judge_beside_tree(made: Made) -> None:
    """A judged check and a tree check in one instance."""
    made.entries["r1"]["evaluation"] = [made.evaluation("r1"), {"func": "llm_judge", "parameters": {"gold": "x"}}]


def link_outside(made: Made) -> None:
    """A gold file that is a link out of the folder."""
    del made.files["c1/cities.csv"]
    made.files["c1/.keep"] = ""
    made.links["c1/cities.csv"] = ROOT / "gold" / "sales_001" / "result.csv"


def erratum(action: str, *, expires: str = "2099-01-01", gold_hash: str = "") -> Plant:
    """An entry of gold.errata.yaml about the number check, by default written for its gold as it is."""

    def plant(made: Made) -> None:
        with TemporaryDirectory() as place:
            gold = read_gold(made.write(Path(place)))
            now = next(instance_hash(gold, instance) for instance in gold.instances if instance.instance_id == "n1")
        said = "  author: A. Person\n  reason: it says so\n  evidence: https://example.org/1\n"
        made.files["gold.errata.yaml"] = f'- id: n1\n  gold: "{gold_hash or now}"\n  {action}\n{said}  expires: {expires}\n'

    return plant


PLANTED: list[tuple[str, Plant, str]] = [
    # lines and entries
    ("a line that is no JSON", lambda m: m.more_lines.append('{"instance_id": "z", "evaluation": '), "unreadable-line"),
    ("no instance_id", lambda m: m.more_lines.append('{"id": "z", "evaluation": {"func": "string_match"}}'), "bad-entry"),
    ("no evaluation", lambda m: m.more_lines.append('{"instance_id": "z"}'), "bad-entry"),
    ("evaluation is a text", lambda m: m.more_lines.append('{"instance_id": "z", "evaluation": "string_match"}'), "bad-entry"),
    ("a scorer nobody knows", lambda m: m.evaluation("t1").update(func="string_mach"), "unknown-scorer"),
    ("an id twice", lambda m: m.more_lines.append(m.lines()[0]), "duplicate-id"),
    ("an object over two lines", lambda m: m.more_lines.append(m.lines()[0].replace("t1", "t2").replace("{", "{\n", 1)), "odd-layout"),
    ("a spec of no line", lambda m: m.entries.clear(), "no-instances"),
    ("an id with a slash", lambda m: m.entries["t1"].update(instance_id="t/1"), "bad-id"),
    (
        "two ids in two Unicode forms",
        lambda m: m.entries.update({at: entry(at, "f1", "Who?", gold="Meridian") for at in ("caf\u00e9", "cafe\u0301")}),
        "id-case",
    ),
    ("two ids that differ in case", lambda m: m.entries.update(T1=entry("T1", "f1", "Who?", gold="Meridian")), "id-case"),
    ("the same question twice", lambda m: m.entries["t1"].update(instruction=m.entries["n1"]["instruction"].upper()), "equal-questions"),
    # parameters
    ("a parameter misspelt", lambda m: m.parameters("c1").update(ignore_orders=True), "unknown-parameter"),
    ("exclude under table_match", table(exclude=["x"]), "unknown-parameter"),
    ("exclude beside parameters", lambda m: m.evaluation("t1").update(exclude=["Spain"]), "misplaced-key"),
    ("pred among the parameters", text(pred="x"), "ignored-parameter"),
    ("a text for true or false", table(ignore_order="yes"), "parameter-type"),
    ("conj that is no word", text(conj="xor"), "parameter-type"),
    ("no gold", lambda m: m.parameters("t1").pop("gold"), "missing-parameter"),
    ("a scale from high to low", lambda m: rewritten(m, "t1", "llm_judge", gold="x", scale=[5, 1]), "bad-parameter"),
    ("a list too short for the golds", lambda m: m.parameters("c2").update(condition_cols=[[0]]), "list-length"),
    ("ignore_order of another length", lambda m: m.parameters("c2").update(ignore_order=[True, True, False]), "list-length"),
    ("ignore_orders of another length", lambda m: m.parameters("m1").update(ignore_orders=[True]), "list-length"),
    ("one list of columns for two golds", lambda m: m.parameters("c2").update(condition_cols=[0]), "flat-columns"),
    ("the same check twice", two_checks, "repeated-check"),
    ("and with one gold", text(gold="Portugal", conj="and"), "idle-conj"),
    ("or over several numbers", number(gold=[12.5, 13.25]), "or-numbers"),
    # texts
    ("gold is an empty list", text(gold=[]), "empty-gold"),
    ("gold is an empty text", text(gold=["Portugal", ""]), "empty-gold"),
    ("an empty exclusion", text(exclude=["Spain", ""]), "empty-exclude"),
    ("exclude is a text", text(exclude="Spain"), "exclude-text"),
    ("exclude kills its gold", text(gold="New York City", exclude=["York"]), "exclude-kills-gold"),
    ("exclude kills one gold of two", text(exclude=["Republic"]), "exclude-kills-one"),
    ("a gold of one character", text(gold="7"), "short-gold"),
    ("a small number as text", text(gold="1284"), "number-as-text"),
    ("the question names the gold", text(gold="store abroad"), "gold-in-question"),
    ("a space round the gold", text(gold=["Portugal "]), "padded-gold"),
    ("a zero-width space", text(gold="Portu\u200bgal"), "odd-characters"),
    ("a letter of two characters", text(gold="Me\u0301xico"), "odd-characters"),
    ("a gold of a page", text(gold="word " * 60 + "end"), "long-gold"),
    ("a gold twice", text(gold=["Portugal", "portugal"]), "repeated-gold"),
    ("a gold inside another, both needed", text(gold=["York", "New York"], conj="and"), "gold-inside-gold"),
    # numbers
    ("a word for a number", number(gold="five"), "gold-not-number"),
    ("an infinite number", number(gold="1e999"), "gold-not-number"),
    ("a number twice", number(gold=[5, 5], conj="and"), "repeated-number"),
    ("a number within the tolerance of 0", number(gold=0.00005), "number-near-zero"),
    ("two numbers within the tolerance", number(gold=[1.5, 1.55], precision=1, conj="or"), "golds-in-tolerance"),
    ("precision in whole numbers", number(precision=-1), "coarse-precision"),
    ("a negative number", number(gold=-3.2), "negative-number"),
    ("a percentage asked for", percent_question, "percentage-missing"),
    ("percentage of 0", number(gold=0, percentage=True), "percentage-zero"),
    ("percentage and", number(gold=[0.25, 0.75], percentage=True, conj="and"), "percentage-and"),
    ("percentage over 100", number(gold=1750, percentage=True), "percentage-large"),
    # files
    ("a gold file that is not there", lambda m: m.files.pop("c1/cities.csv"), "missing-file"),
    ("another case in the name", table(gold="Cities.csv"), "missing-file"),
    ("a path out of the folder", table(gold="../cities.csv"), "bad-path"),
    ("latin-1", cities("city,visits\nMálaga,12\nÅrhus,13\n".encode("latin-1")), "bad-encoding"),
    ("an open quote", cities('city,visits\n"Oslo,1\nRome,2\n'), "unreadable-file"),
    ("an empty file", cities(""), "unreadable-file"),
    ("a database that is none", lambda m: (m.database.clear(), m.files.update({"d1/orders.duckdb": "no"})), "unreadable-file"),
    ("a file nobody names", lambda m: m.files.update({"c1/old.csv": "a\n1\n"}), "stray-file"),
    ("a folder of no instance", lambda m: m.files.update({"c9/old.csv": "a\n1\n"}), "stray-folder"),
    ("a file one folder too high", lambda m: m.files.update({"cities.csv": m.files.pop("c1/cities.csv")}), "misplaced-file"),
    ("a link out of the folder", link_outside, "linked-file"),
    ("a file twice among alternatives", lambda m: m.parameters("c2").update(gold=["a.csv", "a.csv"]), "repeated-file"),
    ("the same table in two instances", cities(STOCK), "equal-golds"),
    ("two equal alternatives", lambda m: m.files.update({"c2/b.csv": m.files["c2/a.csv"]}), "equal-alternatives"),
    # rows and columns
    ("JSON in a table's place", cities('[{"city": "Oslo"}]\n'), "odd-format"),
    ("fields parted by semicolons", cities("city;visits\nOslo;1\nRome;2\n"), "odd-delimiter"),
    ("commas where the check has semicolons", table(delimiter=";"), "odd-delimiter"),
    ("rows longer than the header", cities("city,visits\nOslo,1,x\nRome,2,y\n"), "ragged-row"),
    ("a row shorter than the header", cities("city,visits\nOslo,1\nRome\n"), "short-row"),
    ("a blank line", cities("city,visits\nOslo,1\n\nRome,2\n"), "blank-line"),
    ("only a header", cities("city,visits\n"), "no-rows"),
    ("one row", cities("city,visits\nOslo,310\n"), "one-row"),
    ("one cell", cities("visits\n310\n"), "one-cell"),
    ("a column that is not there", table(condition_cols=[0, 3]), "column-out-of-range"),
    ("a column of a table that is not there", lambda m: m.parameters("m1").update(condition_cols=[[0], [0, 2]]), "column-out-of-range"),
    ("a column of a database that is not there", database(condition_cols=[[4]]), "column-out-of-range"),
    ("a tolerance of no column", table(abs_tol={"nope": 0.1}), "unknown-column"),
    ("a relative tolerance of no position", table(rel_tol={"0": 0.1, "17": 0.1}), "unknown-column"),
    ("an order by no column", table(order_by=[0, 17]), "unknown-column"),
    ("a tolerance of no column of several tables", lambda m: m.parameters("m1").update(abs_tol={"nope": 1}), "unknown-column"),
    ("a tolerance of no column of a database", database(abs_tol={"nope": 1}), "unknown-column"),
    ("a column from the end", table(condition_cols=[0, -1]), "negative-column"),
    ("a column twice", table(condition_cols=[0, 0]), "repeated-column"),
    ("two equal columns", cities("city,ordered,shipped\nOslo,3,3\nRome,5,5\n"), "equal-columns"),
    ("a column without a value", cities("city,note\nOslo,\nRome,\n"), "empty-column"),
    ("two columns of one name", cities("city,visits,visits\nOslo,3,4\nRome,5,9\n"), "repeated-header"),
    ("a written index", cities(",city\n0,Oslo\n1,Rome\n2,Lima\n"), "index-column"),
    ("rows twice", cities("city,visits\nOslo,3\nOslo,3\nRome,7\n"), "repeated-rows"),
    # cells
    ("NA for Namibia", cities("code,visits\nNA,3\nNO,4\nIT,9\n"), "literal-null"),
    ("a space round a cell", cities("city,visits\nOslo ,3\nRome,4\n"), "padded-cells"),
    ("numbers and a word", cities("city,visits\n" + "".join(f"c{i},{i}\n" for i in range(9)) + "x,unknown\n"), "mixed-column"),
    ("formatted numbers", cities('city,visits\nOslo,"1,250"\nRome,"3,400"\n'), "formatted-numbers"),
    ("formatted numbers beside plain ones", cities('city,visits\nOslo,"1,250"\nRome,340\nKyiv,"1,340"\n'), "formatted-numbers"),
    ("leading zeros", cities("code,city\n0150,Oslo\n0184,Rome\n"), "leading-zeros"),
    ("shares that the tolerance blurs", cities("city,share\nOslo,0.501\nRome,0.505\n"), "values-in-tolerance"),
    ("a value near 0", cities("city,share\nOslo,0.004\nRome,0.7\n"), "value-near-zero"),
    ("integers of eleven digits", cities("id,city\n12345678901,Oslo\n12345678902,Rome\n"), "large-integers"),
    ("a number beyond floats", cities("city,visits\nOslo,1e400\nRome,2\n"), "overflow"),
    ("dates with the day first", cities("city,opened\nOslo,31/12/2023\nRome,05/01/2024\n"), "date-format"),
    ("days with a time", cities("city,opened\nOslo,2023-12-31 00:00:00\nRome,2024-01-05 00:00:00\n"), "midnight-times"),
    # order
    ("ties under an order", ordered("group,name,size\nx,B,2\nx,A,9\nx,C,5\ny,D,7\n"), "order-ties"),
    ("no order under an order", ordered(CITIES), "no-order"),
    # databases
    ("a table gold lacks", database(condition_tabs=["clients"]), "missing-table"),
    ("no table asked for", database(condition_tabs=[]), "empty-gold"),
    ("a view", database("CREATE TABLE t AS SELECT 1 AS a", "CREATE VIEW orders AS SELECT * FROM t"), "gold-view"),
    ("a name with a space", database('CREATE TABLE "my orders" (a INTEGER)', condition_tabs=["my orders"]), "quoted-name"),
    ("lists without tables", lambda m: m.parameters("d1").update(condition_tabs=None, ignore_orders=[True, True]), "lists-without-tables"),
    ("NULL in a column of integers", database("CREATE TABLE orders AS FROM (VALUES ('x', 1), ('y', NULL)) AS t (a, b)"), "typed-null"),
    ("a column of lists", database("CREATE TABLE orders AS FROM (VALUES ([1]), ([2, 3])) AS t (a)"), "nested-type"),
    ("dates as text", database("CREATE TABLE orders AS FROM (VALUES ('2024-01-05'), ('2024-02-05')) AS t (a)"), "date-as-text"),
    # trees
    ("a tree that is no JSON", lambda m: (tree(gold="g.json", id_field=None)(m), m.files.update({"r1/g.json": "{"})), "tree-json"),
    ("a tree that is not there", tree(gold="g.json"), "missing-file"),
    ("a field the schema lacks", tree(gold=[{"id": "a", "kelvin": 1, "colour": "red"}]), "tree-field"),
    ("a container of another type", tree(gold=[{"id": "a", "kelvin": 1}, ["b"]], id_field=None), "tree-type"),
    ("a tree's id twice", tree(gold=[{"id": "a", "kelvin": 1}, {"id": "a", "kelvin": 2}]), "tree-id"),
    ("a key of a schema that nobody reads", tree(schema=kelvin("numeric", **{"x-eval-algin": {"ordered": True}})), "tree-key"),
    ("an option that a comparator does not take", tree(schema=kelvin({"numeric": {"tolerence": {"abs": 1}}})), "tree-key"),
    ("a value in no list", tree(schema=kelvin({"oneof": {"values": [5, 6]}})), "tree-value"),
    ("no record", tree(gold=[]), "empty-gold"),
    ("a schema that is none", tree(schema={"$ref": "#/nowhere"}), "tree-schema"),
    # errata
    ("an erratum of no action", erratum("wave: true"), "bad-errata"),
    ("an erratum that widens", erratum("patch: {precision: -5}"), "wide-erratum"),
    ("an erratum of other gold", erratum("waive: true", gold_hash="0123456789ab"), "stale-erratum"),
    ("an erratum of last year", erratum("waive: true", expires="2020-01-01"), "expired-erratum"),
    # the suite
    ("a suite that is no YAML", lambda m: setattr(m, "suite", "name: [a"), "bad-suite"),
    ("a group with an id gold lacks", lambda m: setattr(m, "suite", "groups: {hard: [t1, t7]}"), "unknown-group-id"),
    ("a group of nobody", lambda m: setattr(m, "suite", "groups: {hard: {prefix: q_}}"), "empty-group"),
    ("a judge that is not named", judged, "no-judge"),
    ("a judge beside a tree", judge_beside_tree, "judge-beside-tree"),
    ("an ignored code that is none", lambda m: m.entries["t1"].update(lint_ignore=["short-golds"]), "unknown-ignore"),
]  # fmt: skip
