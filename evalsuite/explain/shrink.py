"""Delta debugging: the smallest part of a case on which a scorer still says what it said of the whole."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
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


_WORDS: Final = re.compile(r"\S+\s*|\s+")
_LISTS: Final = ("gold", "exclude")
Path = tuple[Any, ...]


def shrink_text(text: str, parameters: Mapping[str, Any], shrinker: Shrinker) -> tuple[str, dict[str, Any]]:
    """The fewest words of an answer and the fewest entries of gold's lists that keep the verdict, as (answer, parameters)."""
    words = smallest(_WORDS.findall(text), lambda kept: shrinker.keeps("".join(kept), parameters))
    text = "".join(words)
    stripped = text.strip()
    text = stripped if stripped and shrinker.keeps(stripped, parameters) else text
    found = dict(parameters)
    for name in _LISTS:
        if isinstance(found.get(name), list) and len(found[name]) > 1:
            found[name] = smallest(found[name], lambda kept, name=name: shrinker.keeps(text, {**found, name: list(kept)}))  # type: ignore[misc]
    return text, found


def shrink_tree(answer: Any, gold: Any, parameters: Mapping[str, Any], shrinker: Shrinker) -> tuple[Any, Any]:
    """The fewest fields and items that keep the verdict, left out of both sides alike, level by level, as (answer, gold).

    Misherghi and Su, "HDD: Hierarchical Delta Debugging" (2006).
    """
    # The reasons of trees count leaves: they cannot stay.
    shrinker.same_kind = False
    dropped: set[Path] = set()
    level = 0

    def keeps(kept: Sequence[Path], *, dropped: frozenset[Path], paths: Sequence[Path]) -> bool:
        gone = dropped | (set(paths) - set(kept))
        return shrinker.keeps(_pruned(answer, (), gone), {**parameters, "gold": _pruned(gold, (), gone)})

    while True:
        level += 1
        both = dict.fromkeys([*_paths(answer, (), level), *_paths(gold, (), level)])
        paths = [path for path in both if not any(path[:n] in dropped for n in range(1, level + 1))]
        if not paths:
            return _pruned(answer, (), dropped), _pruned(gold, (), dropped)
        dropped |= set(paths) - set(smallest(paths, partial(keeps, dropped=frozenset(dropped), paths=paths)))


def _paths(value: Any, path: Path, level: int) -> Iterator[Path]:
    """The paths of all fields and items at a depth."""
    if level == 0:
        yield path
        return
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _paths(item, (*path, key), level - 1)


def _pruned(value: Any, path: Path, dropped: Set[Path]) -> Any:
    if isinstance(value, Mapping):
        return {key: _pruned(item, (*path, key), dropped) for key, item in value.items() if (*path, key) not in dropped}
    if isinstance(value, list):
        return [_pruned(item, (*path, i), dropped) for i, item in enumerate(value) if (*path, i) not in dropped]
    return value


def count(value: Any) -> int:
    """How many leaves a tree has."""
    if isinstance(value, Mapping | list):
        return sum(map(count, value.values() if isinstance(value, Mapping) else value))
    return 1
