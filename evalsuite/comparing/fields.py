"""The scores of tree scorers by schema path: precision, recall and F1 of two runs, path by path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalsuite.comparing.rows import Row, row
from evalsuite.outcome import ZERO
from evalsuite.types import Result

Numbers = tuple[float, float, float]
_KEYS = ("precision", "recall", "f1")
# What was not handed in, or could not be read, has found none of the fields.
_NONE: Numbers = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """One schema path over the n instances on which both have it: the tested difference of F1, and (a, b) means of the other two."""

    f1: Row
    precision: tuple[float, float]
    recall: tuple[float, float]

    @property
    def path(self) -> str:
        """The schema path, indexes folded (`steps[].n`)."""
        return self.f1.name

    def with_f1(self, f1: Row) -> "FieldRow":
        """The same with another row, such as one with an adjusted p-value."""
        return replace(self, f1=f1)


def fields_of(result: Result) -> dict[str, Numbers]:
    """Path -> (precision, recall, F1) of one result; empty for what no tree scorer made. Paths without a number are left out."""
    found = result.details.get("fields", result.details.get("per_field"))
    if isinstance(found, Mapping):
        rows: Sequence[Any] = [{"path": path, **numbers} for path, numbers in found.items() if isinstance(numbers, Mapping)]
    else:
        rows = found if isinstance(found, list) else ()
    named = [entry for entry in rows if isinstance(entry, Mapping) and isinstance(entry.get("path"), str)]
    return {entry["path"]: _numbers(entry) for entry in named if all(isinstance(entry.get(key), int | float) for key in _KEYS)}


def _numbers(entry: Mapping[str, Any]) -> Numbers:
    precision, recall, f1 = (float(entry[key]) for key in _KEYS)
    return precision, recall, f1


def by_path(pairs: Sequence[tuple[Result, Result]]) -> dict[str, dict[str, tuple[Numbers, Numbers]]]:
    """Path -> instance id -> the numbers of (a, b), for the paths that both have; what was not handed in has 0 throughout."""
    found: dict[str, dict[str, tuple[Numbers, Numbers]]] = {}
    for a, b in pairs:
        left, right = fields_of(a), fields_of(b)
        for path in {**left, **right}:
            here = left.get(path, _NONE if a.status in ZERO else None)
            there = right.get(path, _NONE if b.status in ZERO else None)
            if here is not None and there is not None:
                found.setdefault(path, {})[a.instance_id] = (here, there)
    return found


def field_rows(pairs: Sequence[tuple[Result, Result]], *, alpha: float, clusters: Mapping[str, str] | None = None) -> list[FieldRow]:
    """A row for each schema path, the largest loss of F1 first."""
    rows = []
    for path, numbers in by_path(pairs).items():
        sides = list(numbers.values())
        names = [clusters[name] for name in numbers] if clusters is not None else None
        f1 = row(path, [a[2] for a, _ in sides], [b[2] for _, b in sides], alpha=alpha, clusters=names)
        rows.append(FieldRow(f1=f1, precision=_means(sides, 0), recall=_means(sides, 1)))
    return sorted(rows, key=lambda one: one.f1.difference or 0.0)


def _means(sides: Sequence[tuple[Numbers, Numbers]], at: int) -> tuple[float, float]:
    return sum(a[at] for a, _ in sides) / len(sides), sum(b[at] for _, b in sides) / len(sides)
