"""Infer parameters of table checks from example answers: the strictest ones that accept every good answer and refuse every bad one."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.types import Rule, Score
from evalsuite.readers.csv_table import read_named_rows
from evalsuite.readers.load_answer import read_pair
from evalsuite.scorers import SCORERS

# A number column that good answers change by more than this share of its range was not rounded: it does not count.
_MOST_OF_RANGE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """The parameters, what the examples leave open in sentences, the good ones that are still refused, and the bad ones still accepted."""

    parameters: Mapping[str, Any]
    n_columns: int
    n_good: int
    n_bad: int
    open: tuple[str, ...] = ()
    refused_good: tuple[str, ...] = ()
    accepted_bad: tuple[str, ...] = ()

    @property
    def n_misjudged(self) -> int:
        """How many examples the parameters misjudge."""
        return len(self.refused_good) + len(self.accepted_bad)


def examples_of(folder: Path | None, id_: str) -> list[Path]:
    """Return the example answers of an instance: `DIR/ID.csv`, `DIR/ID_*.csv`, and every CSV in `DIR/ID/`."""
    if folder is None:
        return []
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", hint="name example answers ID.csv, ID_*.csv or ID/*.csv in it")
    return sorted({*folder.glob(f"{id_}.csv"), *folder.glob(f"{id_}_*.csv"), *(folder / id_).glob("*.csv")})


def infer_suite(tables: Mapping[str, Path], good: Path | None, bad: Path | None) -> tuple[Rule, dict[str, Inferred]]:
    """Return (the rules that separate the examples best, the parameters of each instance that has examples).

    The official rules win unless the strict ones separate more: only the strict rules have tolerances and keep the values of a row
    together.
    Raises `UsageError` for a missing folder, or if no example belongs to an instance.
    """
    examples = {id_: (examples_of(good, id_), examples_of(bad, id_)) for id_ in tables}
    chosen = {id_: found for id_, found in examples.items() if any(found)}
    if (good or bad) and not chosen:
        first = next(iter(tables))
        raise UsageError("no example belongs to an instance", hint=f"as {first}.csv, or a folder {first}/")
    official, strict = (
        {id_: infer_parameters(tables[id_], *found, rules=rule) for id_, found in chosen.items()} for rule in get_args(Rule)
    )
    missed = [sum(one.n_misjudged for one in found.values()) for found in (official, strict)]
    # If good answers give a column less precisely, the official rules can only leave it out: the check that reads more is the stricter one.
    sees_more = any(strict[id_].n_columns > one.n_columns for id_, one in official.items())
    return ("strict", strict) if missed[1] < missed[0] or (missed[1] == missed[0] and sees_more) else ("official", official)


def infer_parameters(gold: Path, good: Sequence[Path], bad: Sequence[Path], *, rules: Rule) -> Inferred:
    """Infer row order, compared columns, and under strict rules the tolerance of numbers, with the scorer itself as judge.

    Strictest first: all columns in order, all in any order, then fewer columns. Raises `UsageError`.
    """
    examples = _Examples(gold, good, bad, rules)
    plans = list(_plans(examples))
    fitting = (plan for plan in plans if examples.separates(plan))
    chosen = next(fitting, None) or min(plans, key=lambda plan: sum(map(len, examples.misjudged(plan))))
    refused, accepted = examples.misjudged(chosen)
    return Inferred(
        parameters=chosen,
        n_columns=len(chosen.get("condition_cols") or examples.names),
        n_good=len(good),
        n_bad=len(bad),
        open=() if refused or accepted else tuple(_left_open(examples, chosen)),
        refused_good=tuple(map(str, refused)),
        accepted_bad=tuple(map(str, accepted)),
    )


class _Examples:
    """The example answers of one gold table, judged under one rule; verdicts are cached."""

    def __init__(self, gold: Path, good: Sequence[Path], bad: Sequence[Path], rules: Rule) -> None:
        self.names, rows = read_named_rows(gold)
        self.columns = list(zip(*(cells + [""] * (len(self.names) - len(cells)) for _, cells in rows), strict=True)) if rows else []
        self.good, self.bad, self.rules = good, bad, rules
        self._read = {answer: _read(answer, gold) for answer in {*good, *bad}}
        self._judged: dict[tuple[Path, str], Score | None] = {}

    def judge(self, answer: Path, plan: Mapping[str, Any]) -> Score | None:
        """Return the verdict, None for a file that cannot be read."""
        key = answer, repr(plan)
        if key not in self._judged:
            read = self._read[answer]
            self._judged[key] = None if read is None else SCORERS.load("table_match").score(read[0], **{**plan, **read[1]})
        return self._judged[key]

    def accepts(self, answer: Path, plan: Mapping[str, Any]) -> bool:
        """Whether the verdict is 1."""
        score = self.judge(answer, plan)
        return score is not None and getattr(score, self.rules) == 1

    def misjudged(self, plan: Mapping[str, Any]) -> tuple[list[Path], list[Path]]:
        """Return (good ones refused, bad ones accepted)."""
        return [one for one in self.good if not self.accepts(one, plan)], [one for one in self.bad if self.accepts(one, plan)]

    def separates(self, plan: Mapping[str, Any]) -> bool:
        """Whether every example gets its verdict."""
        return all(self.accepts(one, plan) for one in self.good) and not any(self.accepts(one, plan) for one in self.bad)

    def distance(self, plan: Mapping[str, Any]) -> float:
        """Return the smallest tolerance under which strict accepts every good answer; infinite if there is none."""
        return max((_distance(self.judge(one, plan)) for one in self.good), default=0.0)

    def is_slight(self, column: int, distance: float) -> bool:
        """Whether such a distance in a column means the same numbers with less precision."""
        numbers = [number for cell in self.columns[column] if (number := _number(cell)) is not None] if self.columns else []
        return distance == 0 or (len(numbers) > 1 and distance <= _MOST_OF_RANGE * (max(numbers) - min(numbers)))


def _read(answer: Path, gold: Path) -> tuple[Any, dict[str, Any]] | None:
    """Return (the answer, gold as a parameter) in the scorer's form; None for a file that cannot be read."""
    try:
        return read_pair("table", str(answer), {"gold": str(gold)})
    except FaultError:
        return None


def _distance(score: Score | None) -> float:
    margin = None if score is None else 0.0 if score.strict == 1 else score.details.get("margin")
    return math.inf if margin is None else float(margin)


def _plans(examples: _Examples) -> Iterator[dict[str, Any]]:
    """Yield parameters to try, the strictest first."""
    everything = range(len(examples.names))
    if examples.rules == "official":
        shared = [at for at in everything if all(examples.accepts(one, _column(at)) for one in examples.good)]
        yield from _orders(everything, shared)
        return
    distances = {at: examples.distance(_column(at)) for at in everything}
    exact = [at for at in everything if distances[at] == 0]
    slight = [at for at in everything if examples.is_slight(at, distances[at])]
    yield from _orders(everything, exact if len(exact) == len(everything) else [])
    for columns in (slight, [at for at in everything if distances[at] < math.inf], exact):
        for plan in _orders(everything, columns):
            yield from _tolerances(examples, plan, {at: distances[at] for at in columns if distances[at]})


def _column(at: int) -> dict[str, Any]:
    return {"condition_cols": [at], "ignore_order": True}


def _orders(everything: Sequence[int], columns: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield all columns, then the given ones, in order and in any order."""
    for chosen in dict.fromkeys([tuple(everything), tuple(columns)]):
        for ignore_order in (False, True):
            yield {"ignore_order": ignore_order, **({"condition_cols": list(chosen)} if 0 < len(chosen) < len(everything) else {})}


def _tolerances(examples: _Examples, plan: dict[str, Any], distances: Mapping[int, float]) -> Iterator[dict[str, Any]]:
    """Return the plan with a tolerance for the columns that good answers change: a round one, else the exact distance."""
    if not distances:
        yield plan
        return
    whole = examples.distance({**plan, "abs_tol": _by_column(examples, distances, lambda value: value)})
    for least in (distances, {at: max(value, whole) for at, value in distances.items()} if whole < math.inf else distances):
        for told in (_round_up, lambda value: value):
            yield {**plan, "abs_tol": _by_column(examples, least, told)}


def _by_column(examples: _Examples, distances: Mapping[int, float], told: Any) -> dict[str, float]:
    """Return tolerance by header, or by position if the headers are not unique names."""
    names = examples.names
    return {names[at] if names[at] and names.count(names[at]) == 1 else str(at): told(value) for at, value in distances.items()}


def _round_up(value: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, 50, ... that is not smaller."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(float(f"{step * power:.6g}") for step in (1, 2, 5, 10, 20) if step * power >= value * (1 - 1e-9))


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _left_open(examples: _Examples, chosen: Mapping[str, Any]) -> Iterator[str]:
    """Yield which other parameters would judge these examples the same, and what the rules accept that no example tests."""
    free_order = chosen["ignore_order"]
    if examples.separates({**chosen, "ignore_order": not free_order}):
        yield f"order: no example shows whether it counts; ignore_order is {str(free_order).lower()}"
    columns = list(chosen.get("condition_cols") or range(len(examples.names)))
    free = [
        examples.names[at]
        for at in columns
        if len(columns) > 1 and examples.separates({**chosen, "condition_cols": [one for one in columns if one != at]})
    ]
    if free:
        yield f"columns: no bad example is wrong in {', '.join(map(repr, free))} alone; all of them count"
    tolerances: Mapping[str, float] = chosen.get("abs_tol") or {}
    for name, value in tolerances.items():
        if examples.separates({**chosen, "abs_tol": {**tolerances, name: 2 * value}}):
            yield f"tolerance: no bad example is close enough in {name!r} to show where numbers stop being right; abs_tol is {value:g}"
    if examples.rules == "official" and free_order and len(columns) > 1 and len(examples.columns[0] if examples.columns else ()) > 1:
        yield "rows: the official rules accept values that changed rows; --rules strict refuses them"
