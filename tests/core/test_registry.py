"""The parameters of a check are those of its scorer's signature, by name and type; contexts of plugins end with their block."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest

from evalsuite.core.errors import FaultError
from evalsuite.core.plugin_calls import (
    PROGRAM_BUDGET,
    PROGRAMS_ALLOWED,
    OfficialError,
    ProgramBudget,
    allowing_programs,
    late_strict,
    official_only,
    report_official,
)
from evalsuite.core.registry import (
    SHARE,
    Case,
    FunctionBatch,
    PluginBatch,
    Problem,
    Scorer,
    are_rows,
    check_parameters,
    fits,
    readable,
    scorer,
)
from evalsuite.core.types import Score

# Annotation -> (its words, values of this type, values of another one).
TYPES: list[tuple[Any, str, list[Any], list[Any]]] = [
    (str, "text", ["", "x"], [1, None, ["x"]]),
    (int, "integer", [0, -3], [1.0, True, "1", None]),
    (float, "number", [0, 1.5], [False, "1.5", None]),
    (bool, "true or false", [True, False], [1, 0, "true"]),
    (None, "null", [None], [0, "", False]),
    (Any, "anything", [None, 1, "x", [1]], []),
    (Literal["a", 3], "'a' or 3", ["a", 3], ["b", None, 4]),
    (str | list[str], "text or list of text", ["x", [], ["x", "y"], ("x",)], [1, [1], ["x", None], {"x": "y"}]),
    (Sequence[int] | None, "list of integer or null", [[1, 2], None], [[1.5], [True], 1, "12"]),
    (Mapping[str, float], "object of number", [{}, {"a": 1}], [{"a": "1"}, [], "a"]),
]


@pytest.mark.parametrize(("annotation", "words", "right", "wrong"), TYPES)
def test_types_of_json_values(annotation: Any, words: str, right: list[Any], wrong: list[Any]) -> None:
    """A truth value is no number, an integer is; a list or an object is of its type if all its values are."""
    assert [value for value in right if not fits(value, annotation)] == []
    assert [value for value in wrong if fits(value, annotation)] == []
    expected = "null" if annotation is None else words
    assert readable(type(None) if annotation is None else annotation) == expected


@scorer(reads="text", validate=lambda parameters: [Problem(code="BAD_SPEC", message=f"saw {sorted(parameters)}")])
def by_size(prediction: str, *, gold: str | list[str], size: int = 3) -> Score:
    """A scorer with one parameter that must be given."""
    return Score(official=float(len(prediction) == size))


ENTRY = Scorer(name="by_size", function=by_size, marker=by_size.__evalsuite__, summary="")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("parameters", "messages", "blocks"),
    [
        ({"gold": "x"}, ["saw ['gold']"], [2]),
        ({"gold": "x", "size": 4}, ["saw ['gold', 'size']"], [2]),
        ({"gold": "x", "size": "4"}, ["parameter 'size' of by_size must be integer, found str"], [2]),
        ({"size": 4}, ["by_size needs the parameter 'gold'"], [2]),
        ({"gold": "x", "sise": 4}, ["unknown parameter 'sise' of by_size", "saw ['gold']"], [1, 2]),
    ],
)
def test_problems_of_parameters(parameters: dict[str, Any], messages: list[str], blocks: list[int]) -> None:
    """An unknown one blocks the official rules alone; the scorer's own validation sees those of the right type, if strict is possible.

    Each problem has its place; a parameter that gets its value later is not looked at.
    """
    found = check_parameters(ENTRY, parameters, where="eval.jsonl:4")
    assert [problem.message for problem in found] == messages
    assert [len(problem.blocks) for problem in found] == blocks
    assert {problem.where for problem in found} == {"eval.jsonl:4"}
    assert [problem.hint for problem in found if "sise" in problem.message] == ["did you mean 'size'?"] * ("sise" in parameters)
    later = check_parameters(ENTRY, {**parameters, "size": "?"}, later=("size", "sise"))
    assert all("size" not in problem.message.partition("by_size")[0] and "sise" not in problem.message for problem in later)


def test_a_problem_keeps_its_own_place() -> None:
    """What the scorer's validation says of a place comes before that of the check."""
    placed = replace(ENTRY.marker, validate=lambda _: [Problem(code="BAD_SPEC", message="m", where="other:1")])
    assert [one.where for one in check_parameters(replace(ENTRY, marker=placed), {"gold": "x"}, where="eval.jsonl:4")] == ["other:1"]


@pytest.mark.parametrize(
    ("rows", "right"),
    [
        ([], True),
        ([{"n": 0, "share": 0.5, "name": "x"}, {"n": 2, "share": None, "name": "", "more": 1}], True),
        ([{"n": -1, "share": 0.5, "name": "x"}], False),
        ([{"n": 1, "share": 1.5, "name": "x"}], False),
        ([{"n": 1, "share": -0.1, "name": "x"}], False),
        ([{"n": 1, "share": 0.1}], False),
        ([["n", 1]], False),
        ({"n": 1, "share": 0.1, "name": "x"}, False),
        (None, False),
    ],
)
def test_rows_of_details(rows: Any, right: bool) -> None:
    """Objects with a value of the right type for each key; a count is at least 0, a share from 0 to 1 or null."""
    assert are_rows(rows, {"n": int, "share": SHARE, "name": str}) is right
    bounds = [{"n": 0, "share": value, "name": "x"} for value in (0, 1)]
    assert are_rows(bounds, {"n": int, "share": SHARE, "name": str})


def test_contexts_end_with_their_block() -> None:
    """Permission and time of programs, and the early end of a scorer, are those of the innermost block, and gone after it."""
    assert (PROGRAMS_ALLOWED.get(), PROGRAM_BUDGET.get(), ProgramBudget().seconds) == (False, None, math.inf)
    with allowing_programs(True, seconds=5):
        outer = PROGRAM_BUDGET.get()
        assert outer is not None
        with allowing_programs(False):
            assert (PROGRAMS_ALLOWED.get(), PROGRAM_BUDGET.get()) == (False, outer)
        assert (PROGRAMS_ALLOWED.get(), outer.seconds) == (True, 5)
    assert (PROGRAMS_ALLOWED.get(), PROGRAM_BUDGET.get()) == (False, None)
    score = Score(official=1.0, strict=0.5, reason="r")
    assert report_official(score) is score
    with official_only(), pytest.raises(OfficialError, match="r") as ended:
        report_official(score)
    assert ended.value.score is score
    assert report_official(score) is score
    late = late_strict(score)
    assert (late.official, late.strict, late.strict_fault and late.strict_fault.code) == (1.0, None, "TIMEOUT")


class Recorder:
    """A plugin's `run_batch` that notes its calls; texts are numbers, `x` is none."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def run_batch(self, predictions: list[str], golds: list[Any] | None, questions: list[str], contexts: list[str]) -> list[float]:
        """One value less for an empty text."""
        self.calls.append((predictions, golds, questions, contexts))
        return [float(text) for text in predictions if text]


def test_a_batch_is_run_once() -> None:
    """All answers together, equal ones in order; without any gold there is no list of it."""
    made = Recorder()
    batch = PluginBatch("mine", made)
    for text in ("0.5", "1", "0.5"):
        batch.add(text, {"gold": None, "question": "q", "other": 1})
    assert [batch.value_of(Case(prediction=text, question="q")) for text in ("1", "0.5", "0.5")] == [1, 0.5, 0.5]
    assert made.calls == [(["0.5", "1", "0.5"], None, ["q"] * 3, [""] * 3)]
    assert batch.is_within
    assert batch.value_of(Case(prediction="7", gold="g", context="c")) == 7
    assert (made.calls[1:], batch.is_within) == ([(["7"], ["g"], [""], ["c"])], False)


def test_a_batch_that_fails_is_run_one_by_one() -> None:
    """A bad answer, and one value too few, cost only their own; values outside [0, 1] are on a scale of their own."""
    made = Recorder()
    batch = PluginBatch("mine", made)
    for text in ("x", "0.25", ""):
        batch.add(text, {"gold": "g"})
    assert batch.value_of(Case(prediction="0.25", gold="g")) == 0.25
    with pytest.raises(FaultError, match="run_batch gave 0 values for 1 answers"):
        batch.value_of(Case(prediction="", gold="g"))
    assert [len(call[0]) for call in made.calls] == [3, 1, 1]
    wide = PluginBatch("mine", Recorder)
    for text in ("2", "0.5"):
        wide.add(text, {})
    assert (wide.value_of(Case(prediction="0.5")), wide.is_within) == (0.5, False)


def test_a_function_as_a_batch() -> None:
    """It is called with each answer and its gold, or None."""
    batch = FunctionBatch(lambda text, gold: (text, gold))
    assert batch.run_batch(["a", "b"], ["x", None], []) == [("a", "x"), ("b", None)]
    assert batch.run_batch(["a", "b"], None) == [("a", None), ("b", None)]
