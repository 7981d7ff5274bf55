"""Several checks of one instance as one result."""

from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Check, GoldInstance, Score, Task
from evalsuite.runs.instance_checks import Outcome, combine, missing_result


def outcome(scorer: str, official: float | None, strict: float | None, flip: str = "") -> Outcome:
    """One check's outcome."""
    return Outcome(check=Check(scorer=scorer, parameters={}), score=Score(official=official, strict=strict, reason=scorer, flip=flip))


def task_of(*checks: Check) -> Task:
    """The task of an instance with these checks."""
    return Task(instance=GoldInstance(instance_id="q", checks=checks), answer=None, gold_folder=Path(), submission_folder=Path())


@pytest.mark.parametrize(
    ("values", "best"), [([0.2, 0.7], 0.7), ([1, None], 1), ([None, 1], 1), ([0.5, None], None), ([0, None], None), ([None, None], None)]
)
def test_the_best_value_counts_unless_an_unscored_check_could_be_better(values: list[float | None], best: float | None) -> None:
    """Under each rule by itself; an instance without a value is never a 0."""
    outcomes = [outcome(name, value, 0.25) for name, value in zip("ab", values, strict=True)]
    made = combine(task_of(*(one.check for one in outcomes)), outcomes, seconds=0)
    assert (made.official, made.strict, made.score) == (best, 0.25, best)
    assert (made.status == "scored") is (best is not None)


FREE = Check(scorer="ter", parameters={})


@pytest.mark.parametrize(
    ("checks", "names"),
    [
        ([FREE], ["ter"]),
        ([Check(scorer="ter", parameters={"scale": [0, 200]})], None),
        ([FREE, Check(scorer="string_match", parameters={})], None),
        ([Check(scorer="string_match", parameters={}), replace(FREE, is_further=True)], ["ter"]),
        ([FREE, replace(FREE, is_further=True)], ["ter", "ter"]),
    ],
)
def test_a_missing_answer_says_which_scorers_have_a_scale_of_their_own(checks: list[Check], names: Any) -> None:
    """Those whose only check it is; then it is in no score."""
    assert missing_result(task_of(*checks)).details.get("own_scale") == names


@pytest.mark.parametrize(
    ("outcomes", "flip"),
    [
        ([outcome("a", 1, 0, "sign: no"), outcome("b", 0, 0)], "sign: no"),
        ([outcome("a", 0, 0), outcome("b", 1, 0, "sign: no")], "sign: no"),
        ([outcome("a", 1, 0, "sign: no"), outcome("b", 0, 1, "percent form: yes")], None),
        ([outcome("a", 0.5, 0.5), outcome("b", 0, 1, "percent form: yes")], "percent form: yes"),
        ([outcome("a", 0.5, 0.5), outcome("b", 0.2, 0.7)], "another check: official by a, strict by b"),
    ],
)
def test_the_flip_of_several_checks_has_a_cause(outcomes: list[Outcome], flip: str | None) -> None:
    """Where the best value differs between the rules the cause of a deciding check is named; where both agree there is none."""
    assert combine(task_of(*(one.check for one in outcomes)), outcomes, seconds=0).details.get("flip") == flip
