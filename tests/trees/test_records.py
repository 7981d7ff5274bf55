"""Records survive: one bad line of a JSONL costs that record, whatever it is, and shifts no other."""

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

pytestmark = pytest.mark.usefixtures("shared_fork_server")

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
TREEVAL = {"a": "integer", "b": "string"}
GOLD = [{"id": f"r{i}", "a": i, "b": f"text {i}"} for i in range(200)]
PLAIN = [{"a": record["a"], "b": record["b"]} for record in GOLD]
BROKEN = [
    *('{"a": 7, "b": "te', '{"a": NaN, "b": "x"}', '{"a": 1, "a": 2}', "I could not find it.", "[", '{"a": 1}}', '"\\ud800', "\x00", "{]"),
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
    """199 of 200 right is 0.995, by position and by id, in any order; the reason names the line and the cause."""
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


@pytest.mark.parametrize("broken", BROKEN)
def test_for_tree_score_it_is_null(tmp_path: Path, broken: str) -> None:
    """A line that is no record is worth what `null` in its place is."""
    answer = lines(PLAIN)
    answer[41] = broken
    expected = scored(tmp_path, "tree_score", [*answer[:41], "null", *answer[42:]], PLAIN)
    assert scored(tmp_path, "tree_score", answer, PLAIN).strict == expected.strict > 0.98
    turned, nulled = ([line, *lines(GOLD)[:41], *lines(GOLD)[42:]] for line in (broken, "null"))
    by_id = [scored(tmp_path, "tree_score", answer, GOLD, id_field="id").strict for answer in (turned, nulled)]
    assert by_id == [expected.strict] * 2


def test_a_line_cut_in_two_and_two_lines_in_one(tmp_path: Path) -> None:
    """A line break too many or too few costs the records it touches."""
    answer = lines(PLAIN)
    cut = [*answer[:9], answer[9][:8], answer[9][8:], *answer[10:]]
    assert scored(tmp_path, "tree_match", cut, PLAIN).strict == pytest.approx(0.995)
    joined = [*answer[:9], answer[9] + answer[10], *answer[11:]]
    assert scored(tmp_path, "tree_match", joined, PLAIN).strict == pytest.approx(0.99)


FORMS = [
    '```json\n{"a": 1, "b": "x"}\n```',
    'Here it is: {"a": 1, "b": "x"} Anything else?',
    '{"a": 1, "b": "x",}',
    '{"a": 1, "b": "x",\n}',
]


@pytest.mark.parametrize("form", FORMS)
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


def made_run(folder: Path, answer: list[str], gold: list[Any], **parameters: Any) -> None:
    """A gold folder of one instance with a JSONL of records, and a submission that answers it."""
    (folder / "gold" / "r1").mkdir(parents=True)
    (folder / "answers" / "r1").mkdir(parents=True)
    check = {"func": "tree_match", "parameters": {"gold": "g.jsonl", **parameters}}
    (folder / "gold" / "x_eval.jsonl").write_text(json.dumps({"instance_id": "r1", "evaluation": check}))
    (folder / "gold" / "r1" / "g.jsonl").write_text("\n".join(lines(gold)))
    (folder / "answers" / "r1" / "r1.jsonl").write_text("\n".join(answer))
    (folder / "answers" / "results_metadata.jsonl").write_text(
        json.dumps({"instance_id": "r1", "answer_type": "file", "answer_or_path": "r1.jsonl"}) + "\n"
    )


def saved(folder: Path, name: str) -> Any:
    """A file of the last run."""
    return json.loads(max((folder / ".evalsuite" / "runs").glob(f"*/{name}"), key=lambda path: path.stat().st_mtime_ns).read_text())


@pytest.mark.parametrize("name", ["tree_match", "tree_score"])
def test_html_shows_record_by_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each record that differs is headed by its id or number, gold beside the answer below it; a misspelt key of a schema file is said."""
    answer = lines([*PLAIN[:5], {"a": 6, "b": "text 9"}, PLAIN[6], {"a": 8, "b": "text 7"}])
    made_run(tmp_path, answer, PLAIN[:8], **({"schema": "s.json"} if name == "tree_match" else {}))
    spec = tmp_path / "gold" / "x_eval.jsonl"
    spec.write_text(spec.read_text().replace("tree_match", name))
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
