"""suite.yaml: every key has its shape, and a wrong one is named with file and line."""

import json
import re
from pathlib import Path

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import GoldError, MachineError, UntrustedPluginError, UsageError
from evalsuite.core.plugin_calls import trusting_plugins
from evalsuite.core.types import Suite
from evalsuite.gold.errata import read_errata
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.suite_yaml import class_schema, judge_of, read_suite, yaml_nodes
from evalsuite.readers.gold_files import gold_hash
from evalsuite.scorers import SCORERS


def read(tmp_path: Path, text: str | bytes) -> Suite:
    """The suite of a folder `gold` whose suite.yaml holds the text."""
    folder = tmp_path / "gold"
    folder.mkdir()
    (folder / "suite.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_suite(folder)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_is_no_file(tmp_path: Path, text: str) -> None:
    """A file of comments says nothing; the suite is named after its folder."""
    assert read(tmp_path, text) == Suite(name="gold")
    assert read_suite(tmp_path) == Suite(name=tmp_path.name)


def test_every_key_is_read(tmp_path: Path) -> None:
    """One of each, both forms of a group."""
    suite = read(
        tmp_path,
        "name: sales\ndescription: what was sold\nrules: strict\nlimits: {seconds: 20}\nfail_under: 1\n"
        "groups:\n  hr: {ids: [a], prefix: hr_}\n  hard: [b]\n  both: {prefix: [x_, y_]}\n"
        "connections:\n  main.sqlite: {engine: sqlite}\nhidden: true\n",
    )
    assert suite == Suite(
        name="sales",
        description="what was sold",
        rules="strict",
        limits={"seconds": 20},
        fail_under=1.0,
        groups={"hr": ("a",), "hard": ("b",), "both": ()},
        group_prefixes={"hr": ("hr_",), "hard": (), "both": ("x_", "y_")},
        extra={"connections": {"main.sqlite": {"engine": "sqlite"}}, "hidden": True},
    )


class Ids(tuple[str, ...]):
    """Ids that nobody searches one after the other: of a long list, for each instance, that takes the square of the time."""

    def __contains__(self, key: object) -> bool:
        raise AssertionError(f"searched for {key}")


@pytest.mark.parametrize(("id_", "tags"), [
    ("a", ("named", "both")), ("hr_1", ("both", "more")), ("hr_x_1", ("named", "both", "more", "long")), ("hr", ("both",)), ("b", ()),
])  # fmt: skip
def test_groups_of_an_instance(id_: str, tags: tuple[str, ...]) -> None:
    """By id or by prefix, once each and in the order of the file."""
    groups = {"named": Ids(("a", "hr_x_1")), "both": Ids(("a", "hr_1")), "more": Ids(), "long": Ids(), "none": Ids()}
    suite = Suite(name="s", groups=groups, group_prefixes={"both": ("hr", "h"), "more": ("hr_", "x"), "long": ("hr_x",)})
    assert suite.groups_of(id_) == tags
    assert suite == replace(suite, groups=dict(reversed(groups.items())))
    assert replace(suite, groups={}, group_prefixes={}).groups_of(id_) == ()
    assert "_groups_of_text" not in repr(suite)


def test_where_a_judge_is_configured(tmp_path: Path) -> None:
    """In suite.yaml, judge.yaml and a file of the command: each overrides those before it; without any there is no judge."""
    read(tmp_path, "judge: {model: a, retries: 1, repeats: 2}\n")
    (tmp_path / "gold" / "judge.yaml").write_text("model: b\nretries: 3\n")
    (tmp_path / "own.yaml").write_text("judge: {model: c}\n")
    assert judge_of(None, tmp_path / "gold") == {"model": "b", "retries": 3, "repeats": 2}
    assert judge_of(tmp_path / "own.yaml", tmp_path / "gold") == {"model": "c", "retries": 3, "repeats": 2}
    (tmp_path / "empty").mkdir()
    assert judge_of(tmp_path / "own.yaml", tmp_path / "empty") == {"model": "c"}
    for text in ("name: x\njudge: {modle: c}\n", "model: c\nmodle: c\n"):
        (tmp_path / "own.yaml").write_text(text)
        with pytest.raises(UsageError, match=r"/own\.yaml:2: unknown key 'modle' in judge"):
            judge_of(tmp_path / "own.yaml", tmp_path / "empty")
    with pytest.raises(UsageError, match="no judge is configured"):
        judge_of(None, tmp_path / "empty")


def test_reference_is_a_default_of_the_table_scorers(tmp_path: Path) -> None:
    """One line names whose official rules hold for tables; what `defaults` says of a scorer comes first."""
    defaults = "defaults: {duckdb_match: {reference: original}, number_match: {precision: 2, database: d}}\n"
    suite = read(tmp_path, f"fail_under: 0\nreference: dbt\n{defaults}")
    assert suite.fail_under == 0.0
    assert suite.defaults == {
        "number_match": {"precision": 2, "database": "d"},
        "table_match": {"reference": "dbt"},
        "tables_match": {"reference": "dbt"},
        "duckdb_match": {"reference": "original"},
    }


def test_keys_are_texts(tmp_path: Path) -> None:
    """Also those that are numbers, dates or words of YAML: a column is named by its position as by its header, as in JSON."""
    suite = read(tmp_path, "defaults:\n  table_match: &t {abs_tol: {0: 0.1, on: 0.2, 2024-01-01: 0.3}}\n  tables_match: {<<: *t}\n")
    assert suite.defaults["tables_match"] == suite.defaults["table_match"] == {"abs_tol": {"0": 0.1, "on": 0.2, "2024-01-01": 0.3}}


QUOTE = "quote texts that contain ': ' or begin with a special character"
LIST = "list scorers of texts and numbers; one of files or records scores instances of its own"
# Each line stands for ten times what the one before it does.
_BOMB = "    a0: &a0 [x]\n" + "".join(f"    a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))


@pytest.mark.parametrize(("text", "message", "hint"), [
    ("name: x\nlimit: {}\n", "2: unknown key 'limit'", "did you mean 'limits'?"),
    ("name: x\n\nname: y\n", "3: the key 'name' is repeated", "keep each key once"),
    ("limits:\n  rows: 1\n  rows: 2\n", "3: the key 'rows' is repeated", "keep each key once"),
    ("limits:\n  seconds: 1:30\n", "2: YAML reads 1:30 in base 60", 'write "1:30" for the text, or the number in full'),
    ("limits:\n  rows: 010\n", "2: YAML reads 010 in base 8", 'write "010" for the text, or the number in full'),
    ("- a\n- b\n", "1: not a mapping", "write `key: value` lines"),
    ("name: x\ngroups: [a\n", "3: not valid YAML", QUOTE),
    ("name: x\n\trules: strict\n", "2: not valid YAML", "replace the tab by spaces"),
    ("name: 2024-01-31\n", "1: name must be text, found 2024-01-31", "put quotes round it"),
    ("clusters: north\n", "1: clusters must be a list of texts", "write [north]"),
    ("name: 2024\n", "1: name must be text, found 2024", "put quotes round it"),
    ("rules: lenient\n", "1: rules must be official or strict, found 'lenient'", "known: official, strict"),
    ("reference: dtb\n", "1: reference must be original or lite or snow or dbt, found 'dtb'", "did you mean 'dbt'?"),
    ("reference: [dbt]\n", "1: reference must be original or lite or snow or dbt, found ['dbt']", "did you mean 'dbt'?"),
    ("rules: stict\n", "1: rules must be official or strict, found 'stict'", "did you mean 'strict'?"),
    ("limits: {second: 5}\n", "1: unknown limit 'second'", "did you mean 'seconds'?"),
    ("limits: 5\n", "1: limits must be a mapping of names to values", ""),
    ("groups: {a: {id: [x]}}\n", "1: unknown key 'id' in group 'a'", "did you mean 'ids'?"),
    ("groups: {a: [1]}\n", "1: ids of group 'a' must be a list of texts", "put quotes round ids that look like numbers"),
    ("groups: {a: {prefix: ''}}\n", "1: prefix of group 'a' is empty", "an empty prefix would take every instance in"),
    ("fail_under: 80\n", "1: fail_under must be a number from 0 to 1, found 80", "0.8 means 80 %"),
    ("fail_under: 1.5\n", "1: fail_under must be a number from 0 to 1, found 1.5", "0.8 means 80 %"),
    ("fail_under: -0.5\n", "1: fail_under must be a number from 0 to 1, found -0.5", "0.8 means 80 %"),
    ("fail_under: true\n", "1: fail_under must be a number from 0 to 1, found True", "0.8 means 80 %"),
    ("defaults: {ter: {scal: 1}}\n", "1: unknown parameter 'scal' of ter", "did you mean 'scale'?"),
    ("defaults:\n  ter:\n    scale: [0, 1]\n    scal: 1\n", "4: unknown parameter 'scal' of ter", "did you mean 'scale'?"),
    ("defaults:\n  ter: {}\n  table_mach: {}\n", "3: unknown scorer 'table_mach'", "did you mean 'table_match'?"),
    ("defaults: {table_mach: {}}\n", "1: unknown scorer 'table_mach'", "did you mean 'table_match'?"),
    ("judge: {since: 2026-13-45}\n", " a date or a number in it cannot be read", "dates are written 2027-06-30"),
    ("name: a\x07\n", r" the character '\x07' is not allowed in YAML", "remove it"),
    ("groups:\n  [a, b]: 1\n", "2: a key is a list or a mapping", "write `key: value` lines, each key a plain text"),
    (f"judge:\n  parameters:\n{_BOMB}", " its aliases (`*name`) stand for more than 1000000 values", "write the values themselves"),
    (f"judge: {'[' * 1000}\n", " nested too deeply", "write each level on lines of its own"),
    ("hidden: 1\n", "1: hidden must be true or false, found 1", "true keeps gold's cells out of every report"),
    ("connections: [x]\n", "1: connections must be a mapping of names to values", ""),
    ("scorers: [bleu, ter, bleu]\n", "1: scorers lists 'bleu' twice", "a scorer has one column"),
    ("scorers: [bleu]\nscore: ter\n", " score names 'ter', which scorers does not list", "known: bleu"),
    ("scorers: [bleu, table_match]\n", "1: table_match reads a table, and the scorers of a list read one text", LIST),
    ("scorers: [{mix: {composite: {parts: [bleuu]}}}]\n", "1: scorer 'mix': unknown metric 'bleuu'", "did you mean 'bleu'?"),
    ("scorers: [bleuu]\n", "1: unknown scorer 'bleuu'", "did you mean 'bleu'?"),
    *(
        (f"scorers: {{mine: '{place}'}}\n", f"1: scorer 'mine' cannot be {place!r}", 'write "python:FILE.py:FUNCTION"')
        for place in ("js:my.py:f", "python::f", "python:my.py:", "python:my.py", "my.py:f")
    ),
    ("name: !!python/object/apply:os.getcwd []\n", "1: not valid YAML", QUOTE),
])  # fmt: skip
def test_what_cannot_be_meant_is_named_with_its_line(tmp_path: Path, text: str, message: str, hint: str) -> None:
    """File and line, the word at fault, and the nearest right one."""
    with pytest.raises(GoldError) as caught:
        read(tmp_path, text)
    assert (caught.value.message, caught.value.hint) == (f"gold/suite.yaml:{message}", hint)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that gives an I/O error: /proc/self/mem")
@pytest.mark.parametrize(("name", "error", "says"), [
    ("suite.yaml", MachineError, "gold/suite.yaml: Input/output error"),
    ("gold.errata.yaml", MachineError, "gold/gold.errata.yaml: Input/output error"),
    (".errata/a", MachineError, "gold/.errata/a: Input/output error"),
    ("suite.yaml", GoldError, "gold/suite.yaml cannot be read: Input/output error"),
])  # fmt: skip
def test_a_disk_that_does_not_answer_is_named_with_the_file(tmp_path: Path, name: str, error: type[Exception], says: str) -> None:
    """An I/O error is neither a fault of what a file says nor another content: reading gold, its errata and their hashes ends with it."""
    gold = tmp_path / "gold"
    (gold / ".errata").mkdir(parents=True)
    (gold / "x_eval.jsonl").write_text('{"instance_id": "a", "evaluation": {"func": "string_match", "parameters": {"gold": "x"}}}\n')
    if name.startswith(".errata"):
        (gold / "gold.errata.yaml").touch()
    (gold / name).symlink_to("/proc/self/mem")
    with pytest.raises(error, match=re.escape(says)):
        gold_hash(gold) if error is GoldError else read_errata(read_gold(gold))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """Neither latin-1 nor control characters are YAML here, and a folder is no file."""
    with pytest.raises(GoldError, match=r"gold/suite\.yaml: not readable as UTF-8 text"):
        read(tmp_path, b"name: caf\xe9\n")
    with pytest.raises(GoldError, match="gold: the file cannot be read"), yaml_nodes(tmp_path, "gold"):
        pass


@pytest.mark.parametrize(("groups", "clusters", "said"), [
    ("{a: [q0], b: [q1]}", "[a, b]", "suite.yaml:2: instance 'q2' is in none of the clusters"),
    ("{a: [q0, q1, q2], b: [q1]}", "[a, b]", "suite.yaml:2: instance 'q1' is in a and b of the clusters"),
    ("{a: [q0, q1, q2]}", "[a, c]", "suite.yaml:2: the cluster 'c' is no group"),
    ("{a: [q0, q1, q2]}", "[]", "suite.yaml:2: clusters names no group"),
])  # fmt: skip
def test_clusters_that_do_not_part_gold_are_refused(tmp_path: Path, groups: str, clusters: str, said: str) -> None:
    """Every instance is in exactly one cluster, or gold cannot be read; ids that gold lacks, and one cluster alone, are a note."""
    spec = {"func": "string_match", "parameters": {"gold": ["y"]}}
    (tmp_path / "x_eval.jsonl").write_text("\n".join(json.dumps({"instance_id": f"q{i}", "evaluation": spec}) for i in range(3)))
    (tmp_path / "suite.yaml").write_text(f"groups: {groups}\nclusters: {clusters}\n")
    with pytest.raises(GoldError, match=re.escape(said)):
        read_gold(tmp_path)
    (tmp_path / "suite.yaml").write_text("groups: {a: [q0, q1, q2, q77]}\nclusters: [a]\n")
    notes = "\n".join(read_gold(tmp_path).notes)
    assert "suite.yaml:2: the cluster 'a' names 'q77', which gold does not have" in notes
    assert "suite.yaml:2: one cluster alone" in notes


PLUGIN = """
def shout(prediction, gold):
    return prediction == gold.upper()

class Row:
    pass
"""


def test_what_a_suite_brings_is_executed_if_the_user_named_it(tmp_path: Path) -> None:
    """Functions and metrics get their names, in the order of the list; of a folder that only a run names nothing is imported."""
    text = "scorers: [{loud: 'python:my.py:shout'}, {mix: {composite: {parts: [bleu, chrf]}}}, bleu]\nscore: bleu\n"
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "my.py").write_text(PLUGIN)
    (tmp_path / "gold" / "suite.yaml").write_text(text)
    with pytest.raises(UntrustedPluginError, match=r"brings a plugin, my\.py"):
        read_suite(tmp_path / "gold")
    assert "loud" not in SCORERS.names()
    unexecuted = read_suite(tmp_path / "gold", plugins=False)
    assert unexecuted.extra == {"unexecuted": frozenset({"loud"}), "scorers": ("bleu", "loud", "mix")}
    assert "loud" not in SCORERS.names()
    with trusting_plugins(tmp_path / "gold"):
        (tmp_path / "gold" / "suite.yaml").write_text(text.replace("py:shout", "py:shoot"))
        with pytest.raises(GoldError, match=r"^gold/suite\.yaml:1: .*does not define 'shoot'"):
            read_suite(tmp_path / "gold")
        (tmp_path / "gold" / "suite.yaml").write_text(text)
        assert read_suite(tmp_path / "gold").extra == {"scorers": ("bleu", "loud", "mix")}
    assert [SCORERS.load("loud").score(text, gold="x").official for text in ("X", "x")] == [1.0, 0.0]
    assert SCORERS.load("mix").score("the cat", gold="the cat").official == pytest.approx(1.0)


def test_a_class_as_schema_is_imported_if_the_user_named_it(tmp_path: Path) -> None:
    """By its folder or by itself; a class that is not there is named with its place."""
    (tmp_path / "my.py").write_text(
        PLUGIN.replace("pass", "n: int").replace("class Row", "from dataclasses import dataclass\n@dataclass\nclass Row")
    )
    with pytest.raises(UntrustedPluginError):
        class_schema("python:my.py:Row", tmp_path, "spec:1")
    with trusting_plugins(tmp_path):
        made = class_schema("python:my.py:Row", tmp_path, "spec:1")
        with pytest.raises(GoldError, match=r"spec:1: schema python:my.py:Raw: my.py does not define 'Raw'"):
            class_schema("python:my.py:Raw", tmp_path, "spec:1")
        with pytest.raises(GoldError, match=r"spec:1: schema python:my.py:shout: "):
            class_schema("python:my.py:shout", tmp_path, "spec:1")
    assert made == class_schema(f"python:{tmp_path / 'my.py'}:Row", None, "spec:1", is_named=True)
    assert made["x-eval-class"] == "my.py:Row"
