"""What a comparison is: a baseline, candidates, and every number of it; reports only render it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from evalsuite.comparing.fields import FieldRow
from evalsuite.comparing.pairs import Paired
from evalsuite.comparing.rows import Row
from evalsuite.comparing.shift import Shift
from evalsuite.stats.samples import N_RESAMPLES, SEED

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One candidate against the baseline, paired on instance ids.

    `instances` are all that both sides have, in gold order; `flips` are those whose scores differ, the largest loss first. `right` counts
    (both, baseline only, candidate only, neither) over the instances that both were judged on. `unjudged` names the shared instances that
    one side was not judged on: they are left out of `total`, and `bounds` says between what the difference over all shared instances lies
    (None where all were judged). `detectable` is the smallest difference shown with 80 % power, `n_needed` the number of instances that
    would show this one.
    """

    label: str
    source: str
    signature: str
    metadata: Mapping[str, str]
    total: Row
    verdict: str
    is_regression: bool
    detectable: float | None
    n_needed: int | None
    instances: tuple[Paired, ...]
    flips: tuple[Paired, ...]
    right: tuple[int, int, int, int]
    by_scorer: tuple[Row, ...]
    by_group: tuple[Row, ...]
    fields: tuple[FieldRow, ...]
    shift: tuple[Shift, ...]
    unjudged: tuple[str, ...]
    bounds: tuple[float, float] | None
    only_baseline: tuple[str, ...]
    only_candidate: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A baseline and n candidates. `warnings` are what --force passed over; `seed` is that of everything that draws.

    `level` says how much of gold it holds, a word of `reveal.LEVELS`.
    """

    suite: str
    rules: str
    alpha: float
    baseline: str
    source: str
    signature: str
    metadata: Mapping[str, str]
    candidates: tuple[Candidate, ...]
    clusters: str
    warnings: tuple[str, ...]
    level: str = "cells"
    seed: int = SEED
    n_resamples: int = N_RESAMPLES

    @property
    def regressions(self) -> tuple[str, ...]:
        """The candidates that are worse than the baseline, at alpha and adjusted for their number."""
        return tuple(one.label for one in self.candidates if one.is_regression)

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain JSON values: every number and every flip, but not the instances that changed nothing."""
        whole = asdict(replace(self, candidates=tuple(replace(one, instances=()) for one in self.candidates)))
        for one in whole["candidates"]:
            del one["instances"]
        return {"schema_version": SCHEMA_VERSION, **whole, "regressions": list(self.regressions)}
