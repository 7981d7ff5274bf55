"""The audit makes answers that are right or wrong as labelled, runs edited queries, finds, counts and shows holes, and keeps its limits."""

import json
import random
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from evalsuite.analysis.causes.table_alignment import TablePair
from evalsuite.analysis.gold_checks.audited_checks import AuditOptions, _first_rows
from evalsuite.analysis.gold_checks.generated_answers import (
    OWN,
    Edit,
    apply_edit,
    number_mutants,
    number_variants,
    scramble,
    table_mutants,
    table_variants,
    text_mutants,
    text_variants,
    tree_mutants,
    tree_variants,
)
from evalsuite.analysis.gold_checks.mutation import Audit, _AuditResults, advice, audit_gold
from evalsuite.cli import main
from evalsuite.compare.strict_columns import Terms
from evalsuite.core.errors import UsageError
from evalsuite.core.types import Result, Table
from evalsuite.gold.layouts import read_gold
from evalsuite.reports.analysis_documents import audit_document
from evalsuite.reports.file_formats import as_markdown
from evalsuite.reports.terminal import as_text
from evalsuite.scorers import SCORERS
from tests.analysis.explain.planted_tables import table_in_line
from tests.analysis.gold_checks.gold_folders import clean, entry
from tests.analysis.gold_checks.planted_holes import planted_holes
from tests.analysis.gold_checks.planted_holes import write_gold as write_holes
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD = Table(
    header=("day", "city", "total", "share", "note"),
    columns=(
        ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"],
        ["Bergen", "Oslo", "Roma", "Zürich"],
        ["1200", "3400", "5600", "7800"],
        ["0.125", "2.5", "17.25", "8.125"],
        ["a", "", "c", "d"],
    ),
    n_rows=4,
)

EXAMPLE: dict[str, Any] = {"only": ("sales_007", "sales_003", "sales_010", "ops_001"), "seed": 4}


def pair(*, ordered: bool, needed: tuple[int, ...] = ()) -> TablePair:
    """The gold table beside itself."""
    return TablePair(GOLD, GOLD, needed, ordered)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_wrong_tables_are_wrong(seed: int, ordered: bool) -> None:
    """Strict rules refuse every wrong table, and each kind that gold allows is made."""
    about = pair(ordered=ordered)
    wrong = [*table_mutants(about, random.Random(seed)), scramble(about, random.Random(seed))]
    kinds = {edit.kind for edit in wrong if edit is not None}
    always = {
        *("plus one", "last digit", "one row short in a sum", "labels exchanged", "rows scrambled", "row dropped", "row doubled"),
        *("one cell", "value lost", "times 100", "sign", "off by one", "off by one day"),
    }
    assert kinds == always | {"NULL to 0"} | ({"wrong order"} if ordered else set())
    for edit in wrong:
        assert edit is not None
        assert SCORERS.load("table_match").function(apply_edit(GOLD, edit), gold=GOLD, ignore_order=not ordered).strict == 0, edit


@pytest.mark.parametrize("ordered", [True, False])
def test_right_tables_are_right(ordered: bool) -> None:
    """Both rules take every right variant of a plain table, and rows move only where the order is free."""
    kinds = set()
    for edit in table_variants(pair(ordered=ordered), random.Random(1)):
        found = SCORERS.load("table_match").function(apply_edit(GOLD, edit), gold=GOLD, ignore_order=not ordered)
        assert (found.official, found.strict) == (1, 1), edit.kind
        kinds.add(edit.kind)
    assert ("rows reordered" in kinds) is not ordered
    assert {"headers renamed", "columns reordered", "jitter inside tolerance", "zeros at the end"} <= kinds


def generated(row: dict[str, Any]) -> list[str]:
    """The answers made from a recorded gold, wrong ones first, each with what it changes."""
    draw, every = random.Random(row["seed"]), row.get("every", False)
    if "table" in row:
        gold = table_in_line(row["table"], row.get("types", ()))
        terms = Terms(abs_tol=row.get("abs_tol"), rel_tol=row.get("rel_tol"))
        about = TablePair(gold, gold, tuple(row.get("needed", ())), row.get("ordered", False), terms=terms)
        made = [*table_mutants(about, draw), scramble(about, draw), *table_variants(about, draw)]
        return [
            " ".join(f"{name}={part!r}" for name, part in vars_of(edit).items() if part not in (None, {}, False)) for edit in made if edit
        ]
    if "texts" in row:
        answers = [*text_mutants(row["texts"], every=every, others=row["others"], random_=draw), *text_variants(row["texts"], every=every)]
    elif "numbers" in row:
        numbers, others = ([Decimal(text) for text in row[key]] for key in ("numbers", "others"))
        wrong = number_mutants(numbers, every=every, percentage=row.get("percentage", False), others=others, random_=draw)
        answers = [*wrong, *number_variants(numbers, every=every)]
    else:
        answers = [*tree_mutants(row["tree"], draw), *tree_variants(row["tree"])]
    return [f"{one.kind}{' (right)' * one.right}: {one.value!r} {one.size}" for one in answers]


def vars_of(edit: Edit) -> dict[str, Any]:
    """The parts of an edit by name."""
    return {name: getattr(edit, name) for name in ("kind", "rows", "cells", "header", "columns", "quoted", "size")}


def recorded(name: str) -> Iterator[dict[str, Any]]:
    """The rows of a file of values."""
    return map(json.loads, (ROOT / "tests/data/values" / name).read_text(encoding="utf-8").splitlines())


def lines_of(data: dict[str, Any]) -> list[str]:
    """An audit as data in lines: what was counted, and each hole with the line that closes it."""
    lines = [" ".join(f"{key}={data[key]}" for key in ("rules", "n_checks", "n_answers", "n_left", "untried"))]
    lines += [" ".join(map(str, one.values())) for one in (*data["kinds"], *data["sizes"])]
    for check in data["checks"]:
        lines.append(" ".join(str(check[key]) for key in ("instance_id", "scorer", "rules", "unfit")))
        for rule in ("official", "strict"):
            counts = " ".join(str(check[rule][key]) for key in ("n_wrong", "n_wrong_taken", "n_right", "n_right_refused"))
            lines += [f"{rule}: {counts}", *("; ".join(map(str, one.values())) for one in check[rule]["holes"])]
    return lines


def test_the_answers_made_of_a_gold_are_the_recorded_ones() -> None:
    """Each kind is made where gold allows it, at the place and of the size that are recorded; strict rules tell wrong and right apart."""
    for row in recorded("generated.jsonl"):
        assert generated(row) == row["made"], row
    numbers = [Decimal("12.5"), Decimal("1300.25")]
    parameters = {"gold": [str(number) for number in numbers], "conj": "and"}
    for made in number_mutants(numbers, every=True, percentage=False, others=[Decimal(7), Decimal(9)], random_=random.Random(0)):
        assert SCORERS.load("number_match").function(made.value, **parameters).strict == 0, made
    for made in number_variants(numbers, every=True):
        assert SCORERS.load("number_match").function(made.value, **parameters).strict == 1, made


@pytest.fixture(scope="module")
def example() -> Audit:
    """The audit of some of the project's own gold: a scrambled table, a text, a number, a database, a JSON record."""
    return audit_gold(ROOT / "gold", **EXAMPLE, jobs=1)


def test_it_is_repeatable(example: Audit) -> None:
    """The same seed makes the same answers, whatever keeps the files apart, and whatever else is audited."""
    seen: list[tuple[int, int]] = []
    again = audit_gold(ROOT / "gold", **EXAMPLE, isolation="none", jobs=2, progress=lambda *done: seen.append(done))
    assert seen == [(done, 5) for done in range(1, 6)]
    assert again.to_json() == example.to_json()
    assert lines_of(example.to_json()) == next(row["told"] for row in recorded("audits.jsonl") if row["of"] == "example")
    (alone,) = audit_gold(ROOT / "gold", only=("ops_001",), seed=4, isolation="none").checks
    assert alone == next(check for check in example.checks if check.instance_id == "ops_001")


def test_limits(example: Audit) -> None:
    """`most` bounds a check's answers, `kinds` what is made, and no time means that checks are left and said to be."""
    few = audit_gold(ROOT / "gold", only=("sales_007",), most=2, isolation="none")
    assert [len(check.verdicts) for check in few.checks] == [3]
    one = audit_gold(ROOT / "gold", only=("sales_007",), kinds=("rows scrambled",), isolation="none")
    assert [one.kind for one in one.checks[0].verdicts] == [OWN, "rows scrambled"]
    late = audit_gold(ROOT / "gold", seconds=1e-9, isolation="none")
    assert (late.checks, late.n_left) == ((), sum(1 for _ in late.untried) + late.n_left)
    assert "not audited within the time limit" in as_text(audit_document(late))
    with pytest.raises(UsageError):
        audit_gold(ROOT / "gold", only=("nobody",))


def test_what_cannot_be_audited_says_why(tmp_path: Path) -> None:
    """Of each check without answers the reason is told, also where evalsuite fails; a gold that only one of the rules reads is audited."""
    made = clean()
    changes = {
        "t1": {"goldd": "x"},
        "n1": {"gold": -5},
        "c1": {"gold": "no.csv"},
        "m1": {"gold": ["no.csv"] * 2},
        "r1": {"gold": "no.json"},
    }
    for name, parameters in changes.items():
        made.parameters(name).update(parameters)
    golds = {"f1": "x y", "llm_judge": "x", "python_unit_testing": "assert 1", "string_match": "", "pass_at_k": "x"}
    made.entries |= {scorer: entry(scorer, scorer, "", gold=gold) for scorer, gold in golds.items()}
    made.entries["e"] = entry("e", "table_match", "", gold="e.csv", condition_cols=[0])
    made.files["e/e.csv"] = "a\n"
    seen: list[tuple[int, int]] = []
    found = audit_gold(made.write(tmp_path), isolation="none", jobs=1, progress=lambda *done: seen.append(done))
    share = "gives a share, or compares meanings: no answer is certainly wrong"
    assert dict(found.untried) == {
        "c1 table_match": "gold cannot be read: gold file c1/no.csv: the file is not there",
        "m1 tables_match": "gold cannot be read",
        "r1 tree_match": "BAD_GOLD_FILE: gold/made_eval.jsonl:7: gold file r1/no.json: the file is not there",
        "f1 f1": share,
        "llm_judge llm_judge": "needs a judge",
        "python_unit_testing python_unit_testing": share,
        "string_match string_match": "the spec itself is faulty",
        "pass_at_k pass_at_k": share,
    }
    fit = [(one.instance_id, one.unfit, len(one.verdicts)) for one in found.checks]
    assert fit == [("t1", ("official",), 6), ("n1", ("official",), 7), ("c2", (), 10), ("d1", (), 16), ("e", (), 4)]
    assert (found.n_left, seen[-1]) == (0, (13, 13))
    results, made_gold = _AuditResults("", {"e": 0}, 1, None), read_gold(tmp_path / "gold")
    (instance,) = [one for one in made_gold.instances if one.instance_id == "e"]
    bare: dict[str, Any] = {"status": "scorer_fault", **dict.fromkeys(("score", "official", "strict", "scorer")), "fault": "SCORER_ERROR"}
    failed = Result(instance_id="e.table_match.0", reason="SCORER_ERROR: e.table_match.0 fails", **bare)
    results.add_all({failed.instance_id: (instance, instance.checks[0], None)}, [failed], AuditOptions(seed=0, most=1))  # type: ignore[dict-item]
    assert (results.audited, results.untried) == ({}, {(0, 0): ("e table_match", "SCORER_ERROR: e fails")})


def test_large_golds_are_cut() -> None:
    """Above 10,000 cells the first rows are audited, a hundred at least; an edit of a database's table keeps its types."""
    for width, n_rows, kept in ((100, 100, 100), (100, 101, 100), (2, 5001, 5000), (2, 5000, 5000), (200, 150, 100), (1, 10_001, 10_000)):
        gold = Table(header=("a",) * width, columns=(["1"] * n_rows,) * width, n_rows=n_rows)
        assert (_first_rows(gold).n_rows, [one.n_rows for one in _first_rows([gold])]) == (kept, [kept])
    typed = table_in_line("a,b/1,x/2,", ("INTEGER", "VARCHAR"))
    assert apply_edit(typed, Edit(kind=OWN)) == typed
    assert apply_edit(typed, Edit(kind="columns reordered", columns=[1, 0])).types == ("VARCHAR", "INTEGER")


def test_ties_are_broken_the_other_way() -> None:
    """Rows that tie in the one column that gold is ranked by may change places: refused, and told with the line that was tried."""
    found = audit_of({"gold": "g.csv"}, "name,n\nc,9\na,9\nb,7\nz,5\nm,5\nn,5\n")
    holes = {one["kind"]: one for one in found["checks"][0]["strict"]["holes"]}
    assert (holes["ties the other way"]["right"], holes["ties the other way"]["line"]) == (True, "order_by: [1]")


def audit_of(parameters: dict[str, object], table: str, scorer: str = "table_match") -> dict[str, Any]:
    """The audit, as data under strict rules, of one check of a gold folder with one table."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "q").mkdir()
        (folder / "q" / "g.csv").write_text(table)
        line = {"instance_id": "q", "evaluation": {"func": scorer, "parameters": parameters}}
        (folder / "a_eval.jsonl").write_text(json.dumps(line) + "\n")
        return audit_gold(folder, isolation="none").under("strict").to_json()


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_sixty_planted_holes_are_named(step: int, tmp_path: Path) -> None:
    """Of 60 specs that are too lenient each (in the line every third) is named by instance, kind and rule, right answers refused too."""
    holes = list(planted_holes())[::step]
    write_holes(tmp_path / "gold", holes)
    audit = audit_gold(tmp_path / "gold", isolation="none", jobs=1).under("strict").to_json()
    assert step == 1 or lines_of(audit) == next(row["told"] for row in recorded("audits.jsonl") if row["of"] == "holes")
    found = {one["instance_id"]: one for one in audit["checks"]}
    unnamed = []
    for i, hole in enumerate(holes):
        told = [one for one in found[f"h{i:02}"][hole.rule]["holes"] if one["kind"] in hole.kinds and one["right"] is False]
        assert all(one["rule"] == hole.rule and one["advice"] for one in told)
        if not told:
            unnamed.append(hole)
    assert (len(holes), unnamed) == (60 // step, [])
    for check in found.values():
        for rule in ("official", "strict"):
            assert check[rule]["n_right_refused"] == sum(one["right"] for one in check[rule]["holes"])


def test_a_plain_spec_has_no_small_holes() -> None:
    """Strict rules without a tolerance of the spec's own refuse each small change of a shown digit, and no right variant."""
    found = audit_of({"gold": "g.csv", "ignore_order": True}, "name,total,orders\na,1512.25,400\nb,1600.75,500\nc,1701.01,700\n")
    assert found["checks"][0]["strict"]["holes"] == []


def test_advice_names_a_parameter() -> None:
    """What closes a hole depends on the kind, and where it matters on the scorer and the rules."""
    assert "ignore_order" in advice("rows scrambled", "official", "table_match", right=False)
    assert "one gold as text" in advice("all candidates listed", "official", "number_match", right=False)
    assert "exclude" in advice("all candidates listed", "official", "string_match", right=False)
    assert "ignore_order on" in advice("rows reordered", "strict", "table_match", right=True)


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The three formats say the same, the gate is held to the share caught, and mistakes have a hint; trees are strict by default."""
    words = ["gold", "audit", str(ROOT / "gold"), "--only", "sales_007", "--isolation", "none"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "accepts rows scrambled -> " in shown
    assert main([*words, "--format", "json", "--fail-under", "1"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["checks"][0]["official"]["holes"][0]["kind"] == "rows scrambled"
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == data
    assert main([*words, "--format", "md", "--rules", "strict", "--fail-under", "1"]) == 0
    assert "0 of 1 checks misjudge answers under strict rules" in capsys.readouterr().out
    for mistake in (["--format", "html"], ["--seconds", "0"], ["--only", "nobody"]):
        assert main([*words, *mistake]) == 2
        assert "hint:" in capsys.readouterr().err
    spec = {"instance_id": "a", "evaluation": {"func": "tree_match", "parameters": {"gold": {"name": "Ann"}}}}
    (tmp_path / "t_eval.jsonl").write_text(json.dumps(spec))
    assert main(["gold", "audit", str(tmp_path), "--isolation", "none"]) == 0
    assert "0 of 1 checks misjudge answers under strict rules" in capsys.readouterr().out


@pytest.mark.parametrize(("of_suite", "asked", "label", "rules"), [
    ("", None, "official, trees strict", ["strict", "official"]), ("rules: strict\n", None, "strict", ["strict", "strict"]),
    ("rules: strict\n", "official", "official", ["official", "official"]),
])  # fmt: skip
def test_rules_of_each_check(tmp_path: Path, of_suite: str, asked: Any, label: str, rules: list[str]) -> None:
    """Each check is judged as in a run: by the requested rules, those of the suite, or strict for trees and official for the rest."""
    records = [
        {"instance_id": "t", "evaluation": {"func": "tree_match", "parameters": {"gold": {"name": "Ann"}}}},
        {"instance_id": "n", "evaluation": {"func": "number_match", "parameters": {"gold": 3.2}}},
    ]
    (tmp_path / "m_eval.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "suite.yaml").write_text(f"name: m\n{of_suite}")
    found = audit_gold(tmp_path, isolation="none").under(asked)
    data = found.to_json()
    by_id = {check["instance_id"]: check for check in data["checks"]}
    assert (data["rules"], [by_id[name]["rules"] for name in "tn"]) == (label, rules)
    assert [check.instance_id for check in found.weakest()] == [
        c.instance_id for c in found.checks if c.holes(by_id[c.instance_id]["rules"])
    ]
    assert f"under {label} rules" in as_text(audit_document(found))


def test_reports_make_text_harmless(tmp_path: Path) -> None:
    """What a spec names itself cannot draw a table or obey in a terminal; instances with the same findings are shown once."""
    (tmp_path / "suite.yaml").write_text('name: "a|b\\e[31m"\n')
    check = {"func": "string_match", "parameters": {"gold": ["Paris"]}}
    (tmp_path / "a_eval.jsonl").write_text(json.dumps({"instance_id": "q|1", "evaluation": check}) + "\n")
    found = audit_gold(tmp_path, isolation="none")
    document = audit_document(found)
    markdown = as_markdown(document)
    assert "\x1b" not in as_text(document) + markdown
    assert "`q¦1`" in markdown
    assert "q|1" not in markdown
    (tmp_path / "a_eval.jsonl").write_text("".join(json.dumps({"instance_id": name, "evaluation": check}) + "\n" for name in "bcd"))
    text = as_text(audit_document(audit_gold(tmp_path, isolation="none"), most=1))
    assert "3 of 3 checks" in text
    assert text.index("   b  string_match") < text.index("      the same: c, d\n")
    assert "   c  string_match" not in text
    assert "more (--top" not in text


def test_gold_queries_are_edited_and_run(tmp_path: Path) -> None:
    """Where a database is at hand gold's query is changed and run: a tolerance that takes one source row less in a sum is a hole."""
    import duckdb

    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE sale AS SELECT i AS id, 10 + i % 7 AS amount FROM range(400) t(i)")
        query = "SELECT sum(amount) AS total FROM sale WHERE id < 390"
        ((total,),) = connection.execute(query).fetchall()
    lines = []
    for name, tolerance in (("lenient", {"rel_tol": 0.01}), ("plain", {}), ("stale", {})):
        folder = tmp_path / "gold" / name
        folder.mkdir(parents=True)
        (folder / "gold.sql").write_text(query if name != "stale" else query.replace("390", "300"))
        (folder / "g.csv").write_text(f"total\n{total}\n")
        check = {"func": "table_match", "parameters": {"gold": "g.csv", **tolerance}}
        lines.append(json.dumps({"instance_id": name, "connection": "shop", "evaluation": check}))
    (tmp_path / "gold" / "s_eval.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "gold" / "suite.yaml").write_text("connections:\n  shop: {engine: duckdb, database: shop.duckdb}\n")
    found = audit_gold(tmp_path / "gold", databases=tmp_path, isolation="none", jobs=1).under("strict").to_json()
    by_id = {one["instance_id"]: one["strict"]["holes"] for one in found["checks"]}
    hole = next(one for one in by_id["lenient"] if one["kind"] == "gold's query: source row dropped")
    assert (hole["right"], hole["line"]) == (False, "rel_tol: null, abs_tol: null")
    assert 0 < hole["size"] < 0.01
    assert [one for one in by_id["plain"] if one["kind"].startswith("gold's query")] == []
    made = {one["kind"]: one["strict"]["n"] for one in found["kinds"] if one["kind"].startswith("gold's query: ")}
    # Of the two whose query gives gold; that of the third gives something else and is not edited.
    assert made["gold's query: filter removed"] == 2
    assert {"gold's query: source row dropped", "gold's query: aggregate", "gold's query: bound"} <= set(made)


def test_pairs_of_queries_are_audited_by_edits_of_golds(tmp_path: Path) -> None:
    """An evaluator that compares sets takes DISTINCT too many and another order; without the databases the reason is told."""
    (tmp_path / "dbs" / "shop").mkdir(parents=True)
    with sqlite3.connect(tmp_path / "dbs" / "shop" / "shop.sqlite") as database:
        database.execute("CREATE TABLE sale (id INTEGER, region TEXT, amount REAL)")
        database.executemany("INSERT INTO sale VALUES (?, ?, ?)", [(i, "NESW"[i * i % 4], 3.37 * i) for i in range(30)])
    gold = tmp_path / "gold.sql"
    gold.write_text(
        "SELECT region FROM sale WHERE id > 4\tshop\nSELECT id, amount FROM sale ORDER BY amount DESC\tshop\nSELECT (FROM\tshop\n"
    )
    found = audit_gold(gold, databases=tmp_path / "dbs", isolation="none", jobs=1).to_json()
    holes = {(check["instance_id"], hole["kind"]): hole for check in found["checks"] for hole in check["official"]["holes"]}
    assert {("0", "gold's query: distinct added"), ("1", "gold's query: order")} <= set(holes)
    assert {(hole["right"], hole["rule"], hole["line"]) for hole in holes.values()} == {(False, "official", "--rules strict")}
    assert not any(check["strict"]["holes"] for check in found["checks"])
    made = {one["kind"]: one["official"] for one in found["kinds"]}
    assert made["gold's query: other spaces"] == {"n": 2, "n_failed": 0}
    assert made["gold's query: filter removed"]["n"] == 1
    assert [one["check"] for one in found["untried"]] == ["2 sql_match"]
    untried = audit_gold(gold, isolation="none").to_json()["untried"]
    assert len(untried) == 3
    assert "--databases DIR" in untried[0]["reason"]
    late = audit_gold(gold, databases=tmp_path / "dbs", isolation="none", seconds=1e-6)
    assert (late.checks, late.untried, late.n_left) == ((), (), 3)
