"""How near an answer was, and what a score would be under another tolerance."""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalsuite
from evalsuite.analysis.explain.instance_evidence import add_margins
from evalsuite.analysis.leaderboard.reliability import find_margins
from evalsuite.compare import margins
from evalsuite.compare.messages import cheap_margins
from evalsuite.core.types import Result, Score, Table
from evalsuite.reports.analysis_documents import margins_document
from evalsuite.reports.record import record_of_entry
from evalsuite.reports.terminal import as_text
from evalsuite.runs.history import one_run
from evalsuite.scorers.table_match import table_match
from evalsuite.scorers.text_match import number_match
from evalsuite.scorers.tree_scorers import tree_match, tree_score
from evalsuite.trees import evaluate, treeval_score
from tests.properties import examples

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD = "city,share\nOslo,10.5\nRome,3\n"


def margin(folder: Path, answer: str, **parameters: Any) -> float | None:
    """The margin of a table against `GOLD`, which is the same however its cells are looked at."""
    gold, handed_in = folder / "gold.csv", folder / "answer.csv"
    gold.write_text(GOLD)
    handed_in.write_text(answer)
    found = []
    for most in (0, 1 << 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("evalsuite.compare.columns.PACKED_CELLS", most)
            score = evalsuite.score("table_match", str(handed_in), gold=str(gold), **parameters)
        found.append(score.details["margin"])
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(("answer", "ignore_order", "expected"), [
    (GOLD, False, None), (GOLD.replace("10.5", "10.50"), False, None), (GOLD.replace("10.5", "10.504"), False, 0.004),
    (GOLD.replace("10.5", "10.9"), False, 0.4), (GOLD.replace("10.5", "10.9"), True, 0.4), (GOLD.replace("Oslo", "Paris"), False, None),
    (GOLD.replace("10.5", "x"), True, None), ("city,share\nRome,3.25\nOslo,10.5\n", True, 0.25),
    ("city,share\nRome,3\nOslo,10.5\n", False, None), ("city,share\nOslo,10.5\n", False, None), ("city\nOslo\nRome\n", False, None),
])  # fmt: skip
def test_tables(answer: str, ignore_order: bool, expected: float | None, tmp_path: Path) -> None:
    """The smallest tolerance under which the table is gold's, null where none is needed or none is enough."""
    assert margin(tmp_path, answer, ignore_order=ignore_order) == expected


CELLS = st.sampled_from(["1", "2", "3", "1.5", "1.54", "2.25", "100", "-3", "0.5", "7.0", "a", "b", "", "1,234", "$5"])


@st.composite
def near_tables(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    """Columns of gold, and of a table made of them: cells changed, columns added and moved."""
    n_rows = draw(st.integers(1, 3))
    columns = st.lists(CELLS, min_size=n_rows, max_size=n_rows)
    gold = draw(st.lists(columns, min_size=1, max_size=2))
    made = [list(column) for column in gold] + draw(st.lists(columns, max_size=1))
    for _ in range(draw(st.integers(0, 3))):
        made[draw(st.integers(0, len(made) - 1))][draw(st.integers(0, n_rows - 1))] = draw(CELLS)
    return gold, list(draw(st.permutations(made)))


def turns_at(margin: float | None, is_right: bool, strict: Callable[[float], float | None]) -> bool:
    """Whether strict accepts at the margin and refuses just below it; without one, that no tolerance is needed or none is enough."""
    if margin is None:
        return strict(0.0) == 1 if is_right else strict(1e15) == 0
    return strict(margin) == 1 and strict(margin * (1 - 1e-9)) == 0


@examples(150)
@given(near_tables(), st.sampled_from([{}, {"ignore_order": True}, {"order_by": [0]}]), st.booleans())
def test_no_smaller_tolerance_turns_a_table(tables: Any, options: dict[str, Any], is_packed: bool) -> None:
    """The margin is what the rule itself says, whichever columns and rows go together."""
    gold, made = (Table(header=tuple(f"c{k}" for k in range(len(side))), columns=tuple(side), n_rows=len(side[0])) for side in tables)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.compare.columns.PACKED_CELLS", 0 if is_packed else 1 << 60)
        score = table_match(made, gold=gold, **options)
        strict = lambda tolerance: table_match(made, gold=gold, abs_tol=tolerance, **options).strict  # noqa: E731
        assert turns_at(score.details["margin"], score.strict == 1, strict)


@examples(150)
@given(
    st.lists(st.sampled_from(["17", "17.5", "-3", "3", "0", "1,234", "12.5%", "2019", "3rd", "10:30", "or", "and", "x"]), max_size=4),
    st.sampled_from([17, 17.5, 3, 0, 1234, 0.125, [17, 3]]),
    st.booleans(),
)
def test_no_smaller_tolerance_turns_a_number(words: list[str], gold: Any, percentage: bool) -> None:
    """The same of numbers in an answer; one that is hedged has no margin."""
    ask = partial(number_match, " ".join(words), gold=gold, percentage=percentage)
    score = ask()
    if score.details["margin"] is not None or score.strict == 1:
        assert turns_at(score.details["margin"], score.strict == 1, lambda tolerance: ask(abs_tol=tolerance).strict)


NUMBERS = st.integers(-3, 30) | st.sampled_from([0.5, 1.5, 12.25, 12.26, -0.0, 1e308])
ITEMS = st.fixed_dictionaries({"x": NUMBERS, "y": st.sampled_from("ab")})
TREES = st.fixed_dictionaries(
    {"n": NUMBERS, "s": st.sampled_from(["a", "b"]), "numbers": st.lists(NUMBERS, max_size=3), "items": st.lists(ITEMS, max_size=3)}
)


@st.composite
def near_trees(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A gold record, and one made of it: numbers moved, lists in another order, sometimes another text."""
    gold = draw(TREES)
    made = json.loads(json.dumps(gold))
    for name in ("numbers", "items"):
        made[name] = list(draw(st.permutations(made[name])))
    for place in [(made, "n"), *((made["numbers"], at) for at in range(len(made["numbers"]))), *((item, "x") for item in made["items"])]:
        if draw(st.booleans()):
            place[0][place[1]] = draw(NUMBERS)  # type: ignore[index]
    if draw(st.integers(0, 3)) == 0:
        made["s"] = draw(st.sampled_from(["a", "b", "B"]))
    return gold, made


def near_schema(tolerance: float, text: str, align: dict[str, Any]) -> dict[str, Any]:
    """The schema of a near tree: numbers within a tolerance, one comparator of texts, one alignment of lists."""
    number = {"type": "number", "x-eval-compare": {"numeric": {"tolerance": {"abs": tolerance}}}}
    a_text = {"type": "string", "x-eval-compare": text}
    item = {"type": "object", "properties": {"x": number, "y": a_text}}
    lists = {name: {"type": "array", "items": one, "x-eval-align": align} for name, one in (("numbers", number), ("items", item))}
    return {"type": "object", "properties": {"n": number, "s": a_text, **lists}}


def as_aligned(made: dict[str, Any], pairs: Sequence[tuple[str, int | None, int | None]]) -> dict[str, Any] | None:
    """The answer with its lists in gold's order by (path, gold's index, the answer's); None if an element has no partner."""
    if any(None in indexes for _, *indexes in pairs):
        return None
    return {
        name: [value[j] for _, j in sorted({(i, j) for path, i, j in pairs if path.startswith(f"{name}[")})]
        if isinstance(value, list)
        else value
        for name, value in made.items()
    }


def in_order(turned: dict[str, Any] | None, gold: dict[str, Any], text: str) -> float | None:
    """The margin of a tree in order, which turns its verdict; None for an answer with elements without partners."""
    if turned is None:
        return None

    def score(tolerance: float) -> Score:
        return tree_match(turned, gold=gold, schema=near_schema(tolerance, text, {"ordered": True}))

    margin = score(0.0).details["margin"]
    assert turns_at(margin, score(0.0).strict == 1, lambda tolerance: float(score(tolerance).strict == 1))
    return None if margin is None else float(margin)


@examples(150)
@given(near_trees(), st.booleans(), st.sampled_from(["text", "exact"]))
def test_no_smaller_tolerance_turns_a_tree(trees: Any, is_ordered: bool, text: str) -> None:
    """The margin turns the verdict of `tree_match`, the elements of lists compared as in the verdict's rows; it is enough in any order."""
    gold, made = trees
    align = {"ordered": True} if is_ordered else {"match_by": "hungarian"}
    margin = tree_match(made, gold=gold, schema=near_schema(0.0, text, align)).details["margin"]
    rows = evaluate([gold], [made], near_schema(0.0, text, align)).records[0].field_results
    pairs = [
        (row.path, None if row.status == "hallucination" else int(row.path.split("[")[1].split("]")[0]), row.aligned[0])
        for row in rows
        if row.aligned
    ]
    assert margin == in_order(as_aligned(made, pairs), gold, text)
    assert margin is None or tree_match(made, gold=gold, schema=near_schema(margin, text, align)).strict == 1


@examples(80)
@given(near_trees())
def test_no_smaller_tolerance_turns_a_tree_of_treeval(trees: Any) -> None:
    """The same of `tree_score`, whose lists have no order and whose elements all have partners."""
    gold, made = trees
    schema = {"n": "number", "s": "string", "numbers": ["number"], "items": [{"x": "number", "y": "string"}]}
    score = tree_score(made, gold=gold, schema=schema)
    pairs = [
        (row.path, row.expected_index, row.got_index)
        for row in treeval_score([made], [gold], schema).rows
        if (row.expected_index, row.got_index) != (None, None)
    ]
    margin = score.details["margin"]
    assert margin == in_order(as_aligned(made, pairs), gold, "exact")
    assert (
        margin is None or tree_score(made, gold=gold, schema=schema, metrics=near(margin), types_metrics={"number": ["near"]}).strict == 1
    )


def near(tolerance: float) -> dict[str, Any]:
    """A metric of numbers within a tolerance."""
    return {"near": lambda prediction, reference: float(abs(prediction - reference) <= tolerance)}


def results() -> list[Result]:
    """Right without a margin, right within one, wrong by one, wrong for good."""
    rows = [("a", 1.0, None), ("b", 1.0, 0.004), ("c", 0.0, 0.4), ("d", 0.0, None)]
    return [
        Result(
            instance_id=name,
            status="scored",
            score=value,
            official=value,
            strict=value,
            scorer="table_match",
            reason="",
            fault=None,
            details={"margin": near},
        )
        for name, value, near in rows
    ]


def rounded_tables(n_rows: int, n_columns: int) -> tuple[Table, Table]:
    """A gold table of texts and decimals, and the same rounded to two decimals with one cell off."""
    drawn = Random(n_rows)
    gold = [[f"u{at}" for at in range(n_rows)], *([f"{drawn.uniform(0, 99):.4f}" for _ in range(n_rows)] for _ in range(n_columns - 1))]
    answer = [gold[0], *([f"{float(text):.2f}" for text in column] for column in gold[1:])]
    answer[-1][n_rows // 2] = "7.5"
    sides = (Table(header=tuple(map(str, range(n_columns))), columns=tuple(columns), n_rows=n_rows) for columns in (gold, answer))
    return next(sides), next(sides)


@pytest.mark.parametrize("ignore_order", [False, True])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(3, 2), (12, 3), (150, 4), (4_000, 6)])
def test_a_run_spends_a_tenth_on_margins(n_rows: int, n_columns: int, ignore_order: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in calls of functions: at most a tenth more than without margins; a margin that is given is the one that is asked for."""
    gold, answer = rounded_tables(n_rows, n_columns)

    def score() -> Any:
        return table_match(answer, gold=gold, ignore_order=ignore_order)

    def n_calls(work: Callable[[], Any]) -> int:
        found = 0

        def count(_frame: FrameType, event: str, _value: object) -> None:
            nonlocal found
            found += event in ("call", "c_call")

        work()
        sys.setprofile(count)
        try:
            work()
        finally:
            sys.setprofile(None)
        return found

    whole = score().details["margin"]
    with cheap_margins():
        cheap, n_cheap = score(), n_calls(score)
    assert cheap.details.get("margin", whole) == whole
    monkeypatch.setattr(margins, "with_margin", lambda score, *_, **__: score)
    assert n_cheap <= 1.1 * n_calls(score) + 100


@pytest.mark.parametrize(("n_packed", "ignore_order", "n_numbers", "n_texts", "is_given"), [
    (1 << 60, False, 15, 0, True), (1 << 60, False, 16, 0, False), (1 << 60, True, 5, 0, True), (1 << 60, True, 6, 0, False),
    (0, False, 2, 0, True), (0, False, 3, 0, False), (0, True, 49, 1, True), (0, True, 51, 1, False),
])  # fmt: skip
def test_a_margin_is_given_up_to_its_share(
    n_packed: int, ignore_order: bool, n_numbers: int, n_texts: int, is_given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With so many columns that differ in a cell it costs a tenth of the 600 cells of both tables; no tolerance makes texts equal."""
    monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", n_packed)
    rows = [str(at) for at in range(100)], ["1.5"] * 100, ["2.5"] * n_numbers + ["2"] * (99 - n_numbers) + (["x"] if n_texts else ["y"])
    gold, answer = (
        Table(header=tuple(rows[0]), columns=tuple(map(list, zip(*rows[:2], last, strict=True))), n_rows=3)
        for last in (["2"] * 99 + ["y"], rows[2])
    )
    with cheap_margins():
        details = table_match(answer, gold=gold, ignore_order=ignore_order).details
    assert details.get("margin", "none") == ((None if n_texts else 0.5) if is_given else "none")


def test_the_command_computes_what_a_run_left_out(tmp_path: Path) -> None:
    """A run gives no margin to a small rounded table; `margins` compares the answer again, or says that its folder is gone."""
    gold, answers, text = tmp_path / "gold", tmp_path / "answers", GOLD.replace("10.5", "10.9")
    for folder, cells in ((gold, GOLD), (answers, text)):
        (folder / "q1").mkdir(parents=True)
        (folder / "q1" / "t.csv").write_text(cells)
    check = {"func": "table_match", "parameters": {"gold": "t.csv"}}
    (gold / "toy_eval.jsonl").write_text(json.dumps({"instance_id": "q1", "evaluation": check}) + "\n")
    row = {"instance_id": "q1", "answer_type": "file", "answer_or_path": "t.csv"}
    (answers / "results_metadata.jsonl").write_text(json.dumps(row) + "\n")
    run = evalsuite.evaluate(answers, gold, runs_folder=tmp_path / "runs")
    record = record_of_entry(one_run(run.folder.name, tmp_path / "runs"))
    assert "margin" not in record.results[0].details
    found, note = add_margins(record)
    assert (found[0].details["margin"], note) == (0.4, "")
    assert (
        found[0].details["margin"]
        == evalsuite.score("table_match", str(answers / "q1" / "t.csv"), gold=str(gold / "q1" / "t.csv")).details["margin"]
    )
    (gold / "q1" / "t.csv").write_text(GOLD + "Lima,4\n")
    found, note = add_margins(record)
    assert "margin" not in found[0].details
    assert note == "1 margin is unknown: the folders of the run are not here, or have changed"
    assert note in as_text(margins_document(find_margins("first", found, "strict", note=note)))


@pytest.mark.parametrize("answer", [GOLD.replace("10.5", "10.9"), GOLD.replace("10.5", "10.7").replace("3", "3.1")])
def test_the_verdict_turns_at_the_margin(answer: str, tmp_path: Path) -> None:
    """With the margin as the check's own tolerance strict accepts, and refuses a little below it."""
    at = margin(tmp_path, answer)
    assert at is not None
    files = {"gold": str(tmp_path / "gold.csv")}
    for tolerance, expected in ((at, 1), (at * 0.999, 0)):
        assert evalsuite.score("table_match", str(tmp_path / "answer.csv"), abs_tol=tolerance, **files).strict == expected
