"""Two sides paired unit by unit: instances, or the records of those that hold many; their fields path by path, and whether scores moved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evalsuite.board.pairing import FieldNumbers, Pair, PairingOptions, fields_by_path, fields_of
from evalsuite.board.sides import Side
from evalsuite.board.tested_differences import PairedDifference, ScoreShift, paired_difference, score_shift
from evalsuite.outcome import ZERO
from evalsuite.reveal import shows
from evalsuite.stats.units import UnitScore, at_one_length, fields_of_units, units_of
from evalsuite.types import Result


@dataclass(frozen=True, slots=True)
class UnitPairs:
    """n units in the order of gold: the scores of both sides, and each unit's instance."""

    a: list[float]
    b: list[float]
    instances: list[str]

    def clusters(self, cluster_of: Mapping[str, str] | None) -> list[str] | None:
        """The cluster of each unit: that of its instance, or the instance itself where one of several holds many units; else None."""
        if cluster_of is not None:
            return [cluster_of[name] for name in self.instances]
        n_instances = len(set(self.instances))
        return self.instances if 1 < n_instances < len(self.instances) else None


def paired_units(pairs: Sequence[Pair], how: PairingOptions) -> UnitPairs:
    """The units of the pairs. A unit that one side was not judged on is left out.

    A side without units of its own, such as what was not handed in, has its score in each. Records beyond gold's that only one side has
    are units on which the other, which invented nothing, is right.
    """
    found = UnitPairs([], [], [])
    for a, b in pairs:
        left, right = at_one_length([units_of(side, how.rules) or [how.value(side)] for side in (a, b)])
        for x, y in zip(left, right, strict=True):
            if x is not None and y is not None:
                found.a.append(x)
                found.b.append(y)
                found.instances.append(a.instance_id)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDifference:
    """One schema path over the n units that have it: the tested difference of F1, and (a, b) means over instances of the other two."""

    f1: PairedDifference
    precision: tuple[float, float]
    recall: tuple[float, float]

    @property
    def path(self) -> str:
        """The schema path, indexes folded (`steps[].n`)."""
        return self.f1.name

    def with_f1(self, f1: PairedDifference) -> "FieldDifference":
        """The same with another row, such as one with an adjusted p-value."""
        return replace(self, f1=f1)


def fields_by_unit(pairs: Sequence[Pair]) -> dict[str, UnitPairs]:
    """Schema path -> the F1 of both sides in each unit that has the field on a side.

    A field that only one side has in a unit is right on the other: nothing was expected, and nothing invented. Results without units stand
    for one each, by their F1 over all.
    """
    found: dict[str, UnitPairs] = {}
    alone = [(a, b) for a, b in pairs if not _has_unit_fields(a, b)]
    for path, rows in fields_by_path(alone).items():
        sides = list(rows.values())
        found[path] = UnitPairs([a[2] for a, _ in sides], [b[2] for _, b in sides], list(rows))
    for a, b in pairs:
        if not _has_unit_fields(a, b):
            continue
        left, right = fields_of_units(a), fields_of_units(b)
        n = max(len(column) for column in [*left.values(), *right.values()])
        for path in {**left, **right}:
            whole = found.setdefault(path, UnitPairs([], [], []))
            columns = (_column(fields.get(path), n, lacking=result.status in ZERO) for fields, result in ((left, a), (right, b)))
            for x, y in zip(*columns, strict=True):
                if x is not None or y is not None:
                    whole.a.append(1.0 if x is None else x)
                    whole.b.append(1.0 if y is None else y)
                    whole.instances.append(a.instance_id)
    return found


def _has_unit_fields(a: Result, b: Result) -> bool:
    """Whether both sides kept fields unit by unit, or one did and the other has nothing at all."""
    kept = [bool(fields_of_units(result)) for result in (a, b)]
    return all(kept) or (any(kept) and (b if kept[0] else a).status in ZERO)


def _column(column: list[UnitScore] | None, n: int, *, lacking: bool) -> list[UnitScore]:
    if lacking:
        return [0.0] * n
    return [*(column or ()), *[None] * (n - len(column or ()))]


def field_differences(pairs: Sequence[Pair], *, alpha: float, clusters: Mapping[str, str] | None = None) -> list[FieldDifference]:
    """A row for each schema path, the largest loss of F1 first."""
    by_instance = fields_by_path(pairs)
    rows = []
    for path, units in fields_by_unit(pairs).items():
        f1 = paired_difference(path, units.a, units.b, alpha=alpha, clusters=units.clusters(clusters))
        sides = list(by_instance.get(path, {}).values())
        rows.append(FieldDifference(f1=f1, precision=_two_means(sides, 0), recall=_two_means(sides, 1)))
    return sorted(rows, key=lambda one: one.f1.difference or 0.0)


def _two_means(sides: Sequence[tuple[FieldNumbers, FieldNumbers]], at: int) -> tuple[float, float]:
    n = max(1, len(sides))
    return sum(a[at] for a, _ in sides) / n, sum(b[at] for _, b in sides) / n


def score_shifts(base: Side, other: Side, how: PairingOptions) -> tuple[ScoreShift, ...]:
    """The shift of each field's F1, or of each scorer's scores where no tree scorer judged."""
    pairs = [(a, other.results[name]) for name, a in base.results.items() if name in other.results]
    judged = [(a, b) for a, b in pairs if how.value(a) is not None and how.value(b) is not None]
    by_fields = shows(how.level, "shape")
    fields = fields_by_unit(judged) if by_fields else {}
    if fields:
        columns = {
            path: ({str(at): a for at, a in enumerate(units.a)}, {str(at): b for at, b in enumerate(units.b)})
            for path, units in fields.items()
        }
    else:
        left, right = (_scores_by_column(side, how, with_fields=by_fields and not pairs) for side in (base, other))
        columns = {name: (left[name], right[name]) for name in left if name in right}
    found = [score_shift(name, a, b) for name, (a, b) in columns.items()]
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.p))


def _scores_by_column(side: Side, how: PairingOptions, *, with_fields: bool) -> dict[str, dict[str, float]]:
    """Scorer (or path) -> instance id -> score of one side alone."""
    found: dict[str, dict[str, float]] = {}
    for name, result in side.results.items():
        value = how.value(result)
        if value is None:
            continue
        fields = fields_of(result) if with_fields else {}
        for key, score in {path: numbers[2] for path, numbers in fields.items()}.items() if fields else [(result.scorer or "", value)]:
            found.setdefault(key, {})[name] = float(score)
    return found
