"""Delta debugging: the smallest part of a case on which a scorer still says what it said of the whole."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, TypeVar

from evalsuite.errors import FaultError
from evalsuite.registry import Scorer
from evalsuite.types import Score

MOST_CALLS: Final = 4000
MOST_SECONDS: Final = 20.0
_T = TypeVar("_T")
_VALUES: Final = re.compile(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.,]*")
_PLURAL: Final = re.compile(r"s\b")
Verdict = tuple[str, str, str, str | None, str | None]


@dataclass(slots=True)
class Shrinker:
    """The scorer of one check, asked whether a smaller case keeps its verdict; it stops after a number of calls, or some seconds.

    `same_kind` also demands that the reasons, without their values, stay: a wrong cell shall not become a missing row.
    """

    scorer: Scorer
    target: Score
    same_kind: bool = True
    calls: int = 0
    _started: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> bool:
        """Whether the search has to end."""
        return self.calls >= MOST_CALLS or time.monotonic() - self._started > MOST_SECONDS

    def keeps(self, form: Any, parameters: Mapping[str, Any]) -> bool:
        """Whether the scorer says of this case what it said of the whole."""
        if self.spent:
            return False
        self.calls += 1
        try:
            score = self.scorer.score(form, **parameters)
        except (FaultError, ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError):
            # A part that the scorer cannot read is no case of the verdict.
            return False
        if verdict_of(score) != verdict_of(self.target):
            return False
        return not self.same_kind or kind_of(score) == kind_of(self.target)


def verdict_of(score: Score) -> Verdict:
    """What must stay: right, partly right, wrong or not judged under each rule, the kind of flip, and the faults."""
    faults = (fault.code if fault is not None else None for fault in (score.fault, score.strict_fault))
    return (word(score.official), word(score.strict), score.flip.partition(":")[0], *faults)  # type: ignore[return-value]


def word(value: float | None) -> str:
    """A score in a word."""
    return "not judged" if value is None else "wrong" if value == 0 else "right" if value == 1 else "partly right"


def kind_of(score: Score) -> tuple[str, str]:
    """The reasons under both rules up to their first colon, without values and plurals."""
    first = (_VALUES.sub("#", reason.partition(":")[0]) for reason in (score.reason, score.why("strict")))
    return tuple(_PLURAL.sub("", reason) for reason in first)  # type: ignore[return-value]


def smallest(items: Sequence[_T], keeps: Callable[[Sequence[_T]], bool], *, spent: Callable[[], bool] = lambda: False) -> list[_T]:
    """A part of the n items that keeps what all of them do, and of which no single one can be left out; never empty unless `items` is.

    Where `spent` says so the search ends with what it has.

    Takes O(log n) calls for one needed item, O(n^2) at worst. Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input"
    (2002), algorithm ddmin.
    """
    left, n_parts = list(items), 2
    while len(left) > 1 and not spent():
        parts = _parts(left, n_parts)
        one = next((part for part in parts if len(part) < len(left) and keeps(part)), None)
        if one is not None:
            left, n_parts = one, 2
            continue
        rest = next((rest for i in range(len(parts)) if (rest := _without(parts, i)) and keeps(rest)), None) if n_parts > 2 else None
        if rest is not None:
            left, n_parts = rest, max(n_parts - 1, 2)
        elif n_parts >= len(left):
            break
        else:
            n_parts = min(2 * n_parts, len(left))
    return left


def _parts(items: list[_T], n: int) -> list[list[_T]]:
    """The items in n runs of nearly one length."""
    bounds = [len(items) * i // n for i in range(n + 1)]
    return [items[a:b] for a, b in pairwise(bounds) if b > a]


def _without(parts: list[list[_T]], i: int) -> list[_T]:
    return [item for j, part in enumerate(parts) if j != i for item in part]
