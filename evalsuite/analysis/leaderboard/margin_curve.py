"""The effect of tolerances: what the score would be if numbers were compared more or less strictly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalsuite.core.status import ZERO
from evalsuite.core.types import Result, Rule

# Tolerances that the terminal shows, in addition to those with the largest gains.
_DECADES = tuple(10.0**exponent for exponent in range(-9, 7))


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """A run's score by tolerance: `steps` are (tolerance, score), the first at 0, one for each margin, ascending.

    `n` instances were judged; `near` are (instance, its score, its margin) of those whose verdict depends on a tolerance, nearest first.
    """

    name: str
    rules: Rule
    n: int
    score: float | None
    steps: tuple[tuple[float, float], ...]
    near: tuple[tuple[str, float, float], ...]

    def at(self, tolerance: float) -> float:
        """Return the score under a tolerance."""
        return next((score for step, score in reversed(self.steps) if step <= tolerance), self.steps[0][1] if self.steps else 0.0)

    def shown(self) -> list[tuple[float, float]]:
        """Return (tolerance, score) at 0 and at each power of ten between the smallest and the largest margin."""
        if not self.near:
            return [(0.0, self.at(0.0))]
        low, high = self.near[0][2], self.near[-1][2]
        decades = [tolerance for tolerance in _DECADES if low / 10 < tolerance < high * 10]
        return [(tolerance, self.at(tolerance)) for tolerance in (0.0, *(decades or [low]))]

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return {
            "run": self.name,
            "rules": self.rules,
            "n": self.n,
            "score": self.score,
            "steps": [{"tolerance": tolerance, "score": score} for tolerance, score in self.steps],
            "near": [{"instance_id": name, "score": score, "margin": margin} for name, score, margin in self.near],
        }


def find_margins(name: str, results: Sequence[Result], rules: Rule) -> Margins:
    """Compute the score of n results by tolerance; unjudged ones are left out."""
    values = [(result, value) for result in results if (value := _value(result, rules)) is not None]
    hanging = [(result.instance_id, value, margin) for result, value in values if (margin := _margin(result)) is not None]
    near = sorted(hanging, key=lambda item: (item[2], item[0]))
    fixed = sum(value for _, value in values) - sum(value for _, value, _ in near)
    score = (fixed + sum(value for _, value, _ in near)) / len(values) if values else None
    steps = []
    for tolerance in sorted({0.0, *(margin for _, _, margin in near)}):
        total = fixed + sum(1.0 if tolerance >= margin else 0.0 if value == 1 else value for _, value, margin in near)
        steps.append((tolerance, total / len(values) if values else 0.0))
    return Margins(name=name, rules=rules, n=len(values), score=score, steps=tuple(steps), near=tuple(near))


def _value(result: Result, rules: Rule) -> float | None:
    value = result.official if rules == "official" else result.strict
    return 0.0 if value is None and result.status in ZERO else value


def _margin(result: Result) -> float | None:
    found = result.detail("margin")
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
