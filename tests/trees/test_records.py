"""Records survive, and faults are said: one bad line costs that record alone, a part that raises or malformed gold is nobody's 0."""

import json
import random
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from evalsuite import score
from evalsuite.cli import main
from evalsuite.core.errors import FaultError
from evalsuite.scorers import tree_scorers
from evalsuite.trees import evaluate, treeval_by_value
from evalsuite.trees.treeval_counts import MAX_CELLS
from tests.command_server import command_server

pytestmark = pytest.mark.usefixtures("shared_fork_server")

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
TREEVAL = {"a": "integer", "b": "string"}
GOLD = [{"id": f"r{i}", "a": i, "b": f"text {i}"} for i in range(200)]
PLAIN = [{"a": record["a"], "b": record["b"]} for record in GOLD]
BROKEN = [
    *('{"a": 7, "b": "te', '{"a": NaN, "b": "x"}', '{"a": 1, "a": 2}', "I could not find it.", "[", '{"a": 1}}', '"\\ud800', "\x00", "{]")
]


def lines(records: list[Any]) -> list[str]:
    """One line a record."""
    return [json.dumps(record) for record in records]


def scored(folder: Path, name: str, answer: list[str] | bytes, gold: list[Any], **parameters: Any) -> Any:
    """The score of an answer's JSONL."""
    path = folder / "answer.jsonl"
    path.write_bytes(answer if isinstance(answer, bytes) else "\n".join(answer).encode("utf-8", "surrogatepass"))
    return score(name, path, gold=gold, schema=SCHEMA if name == "tree_match" else TREEVAL, **parameters)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_line_that_is_no_record_costs_that_record(tmp_path: Path, broken: str) -> None:
    """199 of 200 right is 0.995, by position and by id, in any order, with line and cause; for `tree_score` it is what `null` is."""
    answer = lines(PLAIN)
    answer[41] = broken
    by_position = scored(tmp_path, "tree_match", answer, PLAIN)
    assert by_position.strict == pytest.approx(0.995)
    assert by_position.official == 0
    assert "line 42" in by_position.strict_reason
    assert by_position.details["n_records"] == 200
    named = lines(GOLD)
    named[41] = broken
    random.Random(1).shuffle(named)
    by_id = scored(tmp_path, "tree_match", named, GOLD, id_field="id")
    assert by_id.strict == pytest.approx(0.995)
    assert by_id.details["n_records"] == 200
    expected = scored(tmp_path, "tree_score", [*answer[:41], "null", *answer[42:]], PLAIN).strict
    assert scored(tmp_path, "tree_score", answer, PLAIN).strict == expected > 0.98
    turned, nulled = ([line, *lines(GOLD)[:41], *lines(GOLD)[42:]] for line in (broken, "null"))
    assert [scored(tmp_path, "tree_score", answer, GOLD, id_field="id").strict for answer in (turned, nulled)] == [expected] * 2


def test_a_line_cut_in_two_and_two_lines_in_one(tmp_path: Path) -> None:
    """A line break too many or too few costs the records it touches."""
    answer = lines(PLAIN)
    cut = [*answer[:9], answer[9][:8], answer[9][8:], *answer[10:]]
    assert scored(tmp_path, "tree_match", cut, PLAIN).strict == pytest.approx(0.995)
    joined = [*answer[:9], answer[9] + answer[10], *answer[11:]]
    assert scored(tmp_path, "tree_match", joined, PLAIN).strict == pytest.approx(0.99)


@pytest.mark.parametrize(
    "form",
    ['```json\n{"a": 1, "b": "x"}\n```', 'Here it is: {"a": 1, "b": "x"} Anything else?', '{"a": 1, "b": "x",}', '{"a": 1, "b": "x",\n}'],
)
@pytest.mark.parametrize("name", ["tree_match", "tree_score"])
def test_repair_is_asked_for_and_counted(tmp_path: Path, name: str, form: str) -> None:
    """Fences, prose and a comma too many are a fault; with `repair` they are what they say, and the report counts them."""
    gold, parameters = {"a": 1, "b": "x"}, {"schema": SCHEMA if name == "tree_match" else TREEVAL}
    path = tmp_path / "answer.json"
    path.write_text(form)
    found = score(name, path, gold=gold, repair=True, **parameters)
    assert (found.strict, found.details["n_repaired"]) == (1, 1)
    assert "1 of 1 record repaired" in found.strict_reason
    with pytest.raises(FaultError) as raised:
        score(name, path, gold=gold, **parameters)
    assert (raised.value.fault.code, raised.value.side) == ("BAD_JSON", "submission")
    answer = lines(PLAIN)
    answer[3], answer[4] = form.replace("\n", " "), f"so {answer[4]}"
    some = scored(tmp_path, name, answer, PLAIN, repair=True)
    assert some.details["n_repaired"] == 2
    assert "2 of 200 records repaired" in some.strict_reason


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 9))])
def test_no_mutation_of_one_line_zeroes_the_file(tmp_path: Path, seed: int) -> None:
    """Bytes changed, cut or put in at one place cost at most the records around it."""
    source = random.Random(seed)
    text = "\n".join(lines(PLAIN)).encode()
    for _ in range(12):
        place = source.randrange(len(text))
        put = bytes(source.choice(b'\n{}[]",:\\\xff\x00 a1') for _ in range(source.randint(0, 3)))
        mutated = text[:place] + put + text[place + source.randint(0, 3) :]
        assert scored(tmp_path, "tree_match", mutated, PLAIN).strict >= 0.96, (place, put)


def made_run(folder: Path, scorer: str, answer: str, name: str, **parameters: Any) -> None:
    """A gold folder of one instance, and a submission that answers it by a file of this name."""
    for below in ("gold/r1", "answers/r1"):
        (folder / below).mkdir(parents=True)
    check = {"instance_id": "r1", "evaluation": {"func": scorer, "parameters": parameters}}
    (folder / "gold" / "x_eval.jsonl").write_text(json.dumps(check))
    (folder / "answers" / "r1" / name).write_text(answer)
    answered = {"instance_id": "r1", "answer_type": "file", "answer_or_path": name}
    (folder / "answers" / "results_metadata.jsonl").write_text(json.dumps(answered))


def saved(folder: Path, name: str) -> Any:
    """A file of the only run."""
    [path] = (folder / ".evalsuite" / "runs").glob(f"*/{name}")
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", ["tree_match", "tree_score"])
def test_html_shows_record_by_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each record that differs is headed by its id or number, gold beside the answer below it; a misspelt key of a schema file is said."""
    answer = lines([*PLAIN[:5], {"a": 6, "b": "text 9"}, PLAIN[6], {"a": 8, "b": "text 7"}])
    made_run(tmp_path, name, "\n".join(answer), "r1.jsonl", gold="g.jsonl", **({"schema": "s.json"} if name == "tree_match" else {}))
    (tmp_path / "gold" / "r1" / "g.jsonl").write_text("\n".join(lines(PLAIN[:8])))
    leaf = {"type": "integer", "x-eval-compare": "numeric", "x-eval-wieght": 2}
    (tmp_path / "gold" / "r1" / "s.json").write_text(json.dumps({**SCHEMA, "properties": {**SCHEMA["properties"], "a": leaf}}))
    monkeypatch.chdir(tmp_path)
    assert main(["run", "answers", "--gold", "gold", "--quiet", "-o", "r.html"]) == 0
    page = (tmp_path / "r.html").read_text()
    heads = [(int(record), int(n)) for record, n in re.findall(r"record (\d+) <span class=..?quiet..?>(\d) differing", page)]
    assert heads == [(5, 2), (7, 1)]
    assert re.search(r">5</td><td>6</td>", page.replace("\\u003c", "<").replace("\\u003e", ">"))
    warnings = saved(tmp_path, "run.json")["warnings"]
    assert ["x-eval-wieght" in text and "x-eval-weight" in text for text in warnings] == [True] * (name == "tree_match")


def peak_bytes(scorer: str, n: int, *, wrong: bool) -> int:
    """The most memory that scoring n records of seven fields has at once, next to the records."""
    gold = [{"a": i / 3, "b": i % 100, "c": "abc"[i % 3], "d": i % 2 == 0, "e": f"x{i}", "f": True, "g": i * 7} for i in range(n)]
    answer = [{**record, "g": -1 - i, **({"a": -1 - i, "b": -1, "e": f"y{i}"} if wrong else {})} for i, record in enumerate(gold)]
    tracemalloc.start()
    try:
        getattr(tree_scorers, scorer)(answer, gold=gold)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("scorer", "wrong", "most"), [
    ("tree_match", False, 1200), ("tree_match", True, 1500), ("tree_score", False, 1500), ("tree_score", True, 1800)
])  # fmt: skip
def test_memory_grows_little_with_each_record(scorer: str, wrong: bool, most: int) -> None:
    """No row is kept, right or wrong: each record adds a bounded number of bytes to the peak."""
    peak_bytes(scorer, 3, wrong=wrong)
    few, many = (peak_bytes(scorer, n, wrong=wrong) for n in (40, 120))
    assert (many - few) / 80 < most


PLUGIN = """
from evalsuite.trees import ComparatorResult, register

def close(gold, extracted, params):
    if extracted == "raise":
        raise RuntimeError("no idea")
    return ComparatorResult(float(gold[0] == extracted[0]), "first_letter")

def shout(value, params):
    return str(value).upper()

def forgive(rows):
    return [row for row in rows if row.path != "note"]

register("first_letter", close)
register("shout", shout, kind="transform")
register("forgive", forgive, kind="post_process")
"""
LEAF = {"type": "string", "x-eval-compare": "first_letter", "x-eval-transform": ["shout"]}
WITH_A_PLUGIN = {"type": "object", "properties": {"a": LEAF, "note": {"type": "string"}}}
NOTE = {"type": "object", "properties": {"note": {"type": "string"}}}


def command(folder: Path, *words: str) -> tuple[int, str]:
    """(exit code, what was printed) of `evalsuite` in a folder."""
    done = command_server().run(words, cwd=folder, seconds=90)
    return done.returncode, done.stdout + done.stderr


def with_plugin(folder: Path, answer: str, plugin: str = PLUGIN) -> None:
    """A gold folder, a submission and a plugin that brings no scorer."""
    (folder / "plug.py").write_text(plugin)
    gold = {"gold": {"a": "alpha", "note": "x"}, "schema": WITH_A_PLUGIN, "post_process": ["forgive"]}
    made_run(folder, "tree_match", json.dumps({"a": answer, "note": "y"}), "a.json", **gold)


def test_a_plugin_with_parts_only_works_everywhere(tmp_path: Path) -> None:
    """run, check, schema check and gold lint take a file that only registers a comparator, a transform and a post-processor."""
    with_plugin(tmp_path, "Avocado")
    code, shown = command(tmp_path, "run", "answers", "--gold", "gold", "--plugin", "plug.py")
    assert (code, saved(tmp_path, "results.jsonl")["strict"]) == (0, 1), shown
    (tmp_path / "s.json").write_text(json.dumps(WITH_A_PLUGIN))
    (tmp_path / "g.json").write_text(json.dumps({"a": "alpha", "note": "x"}))
    for words, says in (
        ("check tree_match --prediction answers/r1/a.json --gold g.json --schema s.json --json", '"n_records": 1'),
        ("schema check s.json --gold g.json", ""), ("gold lint gold", ""),
    ):  # fmt: skip
        code, shown = command(tmp_path, *words.split(), "--plugin", "plug.py")
        assert (code, says in shown, "Unknown" in shown) == (0, True, False), shown


def test_a_part_that_raises_is_no_0(tmp_path: Path) -> None:
    """A comparator that raises leaves the instance without a score, as the scorer's fault; --fail-on-unscorable exits 4."""
    with_plugin(tmp_path, "raise", PLUGIN.replace('== "raise"', '== "RAISE"'))
    code, shown = command(tmp_path, "run", "answers", "--gold", "gold", "--plugin", "plug.py", "--fail-on-unscorable")
    assert code == 4, shown
    result = saved(tmp_path, "results.jsonl")
    assert (result["status"], result["score"]) == ("scorer_fault", None)


def test_a_post_processor_that_fails_leaves_its_record_undecided() -> None:
    """What it raises, and what it gives in place of rows with scores, is named; another record counts."""

    def change(rows: Any) -> Any:
        [row] = rows
        if row.extracted_value == "raise":
            raise RuntimeError
        row.score = {"low": -0.5, "high": 1.5}.get(row.extracted_value, row.score)
        return ["x"] if row.extracted_value == "text" else rows

    for answer, detail in (
        ("raise", f"post_process raised RuntimeError at test_records.py:{change.__code__.co_firstlineno + 3}"),
        ("low", "post_process gave -0.5, expected a number in [0, 1]"), ("high", "post_process gave 1.5, expected a number in [0, 1]"),
        ("text", "post_process gave str, expected a FieldResult"),
    ):  # fmt: skip
        result = evaluate([{"note": "a"}] * 2, [{"note": answer}, {"note": "a"}], NOTE, post_process=change)
        assert [(record.f1, len(record.field_results)) for record in result.records] == [(None, 0), (1, 1)]
        assert [fault.detail for fault in result.faults] == [result.records[0].reason.removeprefix("SCORER_ERROR: ")] == [detail]
    with pytest.raises(TypeError, match="post_process must return the list of rows, got NoneType"):
        evaluate([{"note": "a"}], [{"note": "a"}], NOTE, post_process=lambda _: None)  # type: ignore[arg-type, return-value]


def test_malformed_gold_is_gold_s_fault() -> None:
    """Alternatives that are none, and a reference of another shape than the schema's, are named with their path: no answer is 0 for it."""
    for name, gold, more, path in (
        ("tree_match", {"t": [1, {"n": {"x-eval-any-of": ["x"], "other": 1}}]}, {}, "t[1].n: 'x-eval-any-of'"),
        ("tree_score", {"t": [{"n": [1]}]}, {"schema": {"t": [{"n": "integer"}]}}, "reference 0: t[0].n"),
    ):
        with pytest.raises(FaultError) as raised:
            score(name, {"t": [{"n": 1}]}, gold=gold, **more)
        assert raised.value.side == "gold"
        assert path in raised.value.fault.detail


def test_what_gold_alone_makes_too_large_is_gold_s_fault() -> None:
    """A schema, a value or a list of gold beyond a limit is 0 for no answer, and the official value stays; an answer beyond it is 0."""
    deep: Any = "x"
    for _ in range(60):
        deep = {"a": deep}
    items = {"type": "array", "x-eval-align": {"match_by": "hungarian"}, "items": {"type": "integer"}}
    lists, long_list, long_text = {"type": "object", "properties": {"a": items}}, {"a": list(range(7000))}, {"a": "x" * 1_000_001}
    for gold, schema in ((deep, None), (long_list, lists)):
        with pytest.raises(FaultError) as raised:
            score("tree_score", gold, gold=gold, schema=schema)
        assert (raised.value.side, raised.value.fault.code) == ("gold", "BAD_SPEC")
    for answer, gold, schema, expected in (
        (deep, deep, None, (None, None, "BAD_SPEC", "")),
        (long_list, long_list, lists, (1.0, None, "BAD_SPEC", "")),
        ({"a": "x"}, long_text, {"a": "string"}, (None, None, "BAD_SPEC", "")),
        (long_text, {"a": "x"}, {"a": "string"}, (0.0, 0.0, "LIMIT", "")),
        (long_list, {"a": list(range(3000))}, lists, (0.6, 0.0, "LIMIT", "sound rules")),
    ):
        found = score("tree_match", answer, gold=gold, schema=schema)
        assert found.strict_fault is not None
        assert (found.official, found.strict, found.strict_fault.code, found.flip) == expected


def test_what_only_official_finds_too_large_keeps_its_strict_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of the wrong shape are compared one by one as the reference does; past the limit official is 0 with LIMIT."""
    monkeypatch.setattr(treeval_by_value, "CELLS_OF_A_CALL", MAX_CELLS // 3)
    found = score("tree_score", {"a": [["x"], ["y"]], "b": "x"}, gold={"a": ["x", "y"], "b": "x"}, schema={"a": ["string"], "b": "string"})
    assert (found.official, found.strict, found.strict_fault) == (0, 0.5, None)
    assert found.fault is not None
    assert (found.fault.code, "the wrong shape" in found.reason, found.flip) == ("LIMIT", True, "a limit under official rules")


def test_each_rule_gives_its_own_reason() -> None:
    """Official speaks of position and of the id that counts as invented, strict of what is wrong in the records, and which is missing."""
    gold = [{"id": at, "a": "x"} for at in range(3)]
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    found = score("tree_match", gold[::-1], gold=gold, schema=schema, id_field="id")
    assert (found.strict, found.strict_reason) == (1, "all 3 fields right")
    assert "paired by position" in found.reason
    assert "counts as invented" in found.reason
    assert score("tree_match", gold[:2], gold=gold, id_field="id").strict_reason.startswith("record 2: gold's record was not submitted; ")
    assert score("tree_match", [], gold=gold[:1]).strict_reason.startswith("gold's record was not submitted")
    assert score("tree_match", gold, gold=gold[:2]).strict_reason.startswith("a submitted record is not in gold; ")


def test_a_shuffled_file_scores_the_same_under_both_scorers() -> None:
    """With `id_field` the order of records counts for nothing, and the id is no field."""
    gold = [{"id": f"r{n}", "n": n, "t": ["x", "y"]} for n in range(9)]
    for name, strict in (("tree_match", 1.0), ("tree_score", 1.0)):
        assert score(name, gold[::-1], gold=gold, id_field="id").strict == strict
        less = score(name, gold[:0:-1], gold=gold, id_field="id")
        more = score(name, [*gold[::-1], {"id": "new", "n": 1, "t": []}], gold=gold, id_field="id")
        assert 0 < less.strict < 1
        assert 0 < more.strict < 1
        fields = more.details["fields"]
        assert {"path", "matches", "mismatches", "omissions", "hallucinations"} <= fields[0].keys()


RECORDS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
DEEPER = "the answer has gold's fields one level deeper, below its key 'rows'"


@pytest.mark.parametrize(("gold", "answer", "hint"), [
    *((gold, {"rows": RECORDS}, DEEPER) for gold in (RECORDS, RECORDS[0])),
    *((gold, {"rows": RECORDS[0], "n": 1}, DEEPER) for gold in (RECORDS, RECORDS[0])),
    *((RECORDS, {"rows": rows}, "") for rows in ([{"id": 1}], [], "id")),
    (RECORDS, {"id": [3, 4], "name": ["c", "d"]},
        "the answer is one object with all values of each field, gold one object for each record"),
    *((RECORDS, other, "") for other in ({"id": [3], "name": ["c", "d"]}, {"id": 3, "name": "c"}, {"id": [3, 4]})),
    (RECORDS, {"cols": ["id", "name"], "x": [[1, "a"]]}, "the answer has the names of gold's fields as values, below its key 'cols'"),
    *((RECORDS, text, "the answer is a text that contains JSON") for text in (json.dumps(RECORDS), "{}")),
    *((RECORDS, text, "") for text in ("1", "[see below]", "[" * 100_000)),
])  # fmt: skip
def test_gold_in_another_container(gold: Any, answer: Any, hint: str) -> None:
    """The reasons of both scorers say where gold's fields are, and nothing of an answer that merely looks like it."""
    for scorer in ("tree_match", "tree_score"):
        found = score(scorer, answer if not isinstance(answer, str) else json.dumps(answer), gold=gold)
        assert (found.official, found.strict) == (0, 0)
        for reason in filter(None, (found.reason, found.strict_reason)):
            assert reason.endswith(f"; {hint}") if hint else "the answer" not in reason


def test_a_bug_is_not_golds_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ValueError of the comparison itself is passed on; only what a schema, metrics or records of gold cause is gold's fault."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError("planted")

    with pytest.raises(FaultError, match="unknown metric"):
        score("tree_score", '{"a": 1}', gold={"a": 1}, types_metrics={"integer": "exactt"})
    monkeypatch.setattr("evalsuite.scorers.tree_scorers.treeval_score", fail)
    with pytest.raises(ValueError, match="planted"):
        score("tree_score", '{"a": 1}', gold={"a": 1})
