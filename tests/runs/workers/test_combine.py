"""Several checks of one instance as one result."""

from pathlib import Path

import pytest

from evalsuite.core.types import Check, GoldInstance, Score, Task
from evalsuite.runs.instance_checks import Outcome, combine


def outcome(scorer: str, official: float | None, strict: float | None, flip: str = "") -> Outcome:
    """One check's outcome."""
    return Outcome(check=Check(scorer=scorer, parameters={}), score=Score(official=official, strict=strict, reason=scorer, flip=flip))


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
    instance = GoldInstance(instance_id="q", checks=tuple(o.check for o in outcomes))
    task = Task(instance=instance, answer=None, gold_folder=Path(), submission_folder=Path())
    assert combine(task, outcomes, seconds=0).details.get("flip") == flip
