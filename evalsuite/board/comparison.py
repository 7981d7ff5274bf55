"""A baseline against one or more candidates: every number of it, computed by `compare(sides)`; reports only render it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evalsuite.board.paired_units import FieldDifference, field_differences, paired_units, score_shifts
from evalsuite.board.pairing import (
    Pair,
    Paired,
    PairingOptions,
    cluster_of_each,
    cluster_tags,
    difference_bounds,
    flipped_instances,
    is_lower_better,
    judged_by,
    paired_instances,
    pairs_by_further_scorer,
    pairs_by_group,
    pairs_by_scorer,
    with_texts,
)
from evalsuite.board.sides import Side, what_differs
from evalsuite.board.tested_differences import (
    PairedDifference,
    Plan,
    ScoreShift,
    adjusted_differences,
    adjusted_shifts,
    paired_difference,
    planned,
)
from evalsuite.errors import UsageError
from evalsuite.outcome import raw_value
from evalsuite.reveal import check_level, default_level, shows
from evalsuite.stats.samples import N_RESAMPLES, SEED
from evalsuite.store.given_labels import SaidByPeople, difference_by_people
from evalsuite.types import Rule

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One candidate against the baseline, paired on instance ids.

    `instances` are all that both sides have, in gold order; `flips` are those whose scores differ, the largest loss first. `right` counts
    (both, baseline only, candidate only, neither) over the instances that both were judged on. `unjudged` names the shared instances that
    one side was not judged on: they are left out of `total`, and `bounds` says between what the difference over all shared instances lies
    (None where all were judged). `corrected` is the whole run's score after gold's errata, None where gold has none.
    `people` is the difference that people would find, where they labelled answers of both sides.
    """

    label: str
    source: str
    signature: str
    metadata: Mapping[str, str]
    total: PairedDifference
    verdict: str
    is_regression: bool
    plan: Plan
    instances: tuple[Paired, ...]
    flips: tuple[Paired, ...]
    right: tuple[int, int, int, int]
    by_scorer: tuple[PairedDifference, ...]
    by_group: tuple[PairedDifference, ...]
    fields: tuple[FieldDifference, ...]
    shift: tuple[ScoreShift, ...]
    unjudged: tuple[str, ...]
    bounds: tuple[float, float] | None
    only_baseline: tuple[str, ...]
    only_candidate: tuple[str, ...]
    corrected: float | None = None
    people: SaidByPeople | None = None

    @property
    def detectable(self) -> float | None:
        """The smallest difference that so many instances show with 80 % power; None where they can show nothing."""
        return self.plan.detectable

    @property
    def n_needed(self) -> int | None:
        """How many instances would show this difference; None where it is shown, and where so few can show nothing."""
        return None if self.verdict in ("better", "worse") else self.plan.n_needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A baseline and n candidates. `warnings` are what --force passed over, and labels that are not used.

    `seed` is that of everything that draws; `level` says how much of gold it holds, a word of `reveal.LEVELS`. `part_of` is the number of
    gold's instances where a side was scored on fewer, None where all sides are whole.
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
    part_of: int | None = None
    corrected: float | None = None
    n_unapplied: int = 0
    seed: int = SEED
    n_resamples: int = N_RESAMPLES

    @property
    def regressions(self) -> tuple[str, ...]:
        """The candidates that are worse than the baseline, at alpha and adjusted for their number."""
        return tuple(one.label for one in self.candidates if one.is_regression)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The candidates of which nothing can be said: no instance was judged on both sides."""
        return tuple(one.label for one in self.candidates if not one.total.n)

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain JSON values: every number and every flip, but not the instances that changed nothing."""
        whole = asdict(replace(self, candidates=tuple(replace(one, instances=(), plan=Plan()) for one in self.candidates)))
        for one, candidate in zip(whole["candidates"], self.candidates, strict=True):
            del one["instances"], one["plan"]
            one |= {"detectable": candidate.detectable, "n_needed": candidate.n_needed}
        return {"schema_version": SCHEMA_VERSION, **whole, "regressions": list(self.regressions)}


def compare(
    sides: Sequence[Side],
    *,
    rules: Rule | None = None,
    alpha: float = 0.05,
    force: bool = False,
    cluster: str | None = None,
    shift: bool = False,
    reveal: str | None = None,
) -> Comparison:
    """The first side as baseline against each of the others; p-values are adjusted by Holm over all candidates of a part.

    `rules` None compares the scores as each run has them. `cluster` is what the names of the groups begin with that part the instances into
    clusters; by default those that the suite names. `reveal` is how much of gold may be seen, by default what the suite says. Raises
    `UsageError` for fewer than two sides, for runs that are not comparable (without `force`) and for sides without an instance in common.
    """
    if len(sides) < 2:
        raise UsageError("a comparison needs two runs", hint="evalsuite compare BASELINE CANDIDATE [CANDIDATE ...]")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie between 0 and 1, found {alpha:g}", hint="0.05 is usual")
    base, *others = sides
    warnings = _signature_warnings(base, others, rules, force=force)
    check_level(reveal)
    how = PairingOptions(rules, alpha, cluster, shift, reveal or default_level(hidden=any(side.hidden for side in sides)))
    found = [_candidate(base, other, how, n_tests=len(others)) for other in others]
    # Why labels cannot be read quotes them.
    warnings += [f"{side.label}: {side.unread if how.level == 'cells' else side.unread.partition(':')[0]}" for side in sides if side.unread]
    return Comparison(
        suite=base.suite,
        rules=rules or base.rules,
        alpha=alpha,
        baseline=base.label,
        source=base.source,
        signature=base.signature,
        metadata=base.metadata,
        candidates=tuple(_with_verdict(one, alpha) for one in _with_holm(found, alpha)),
        clusters=", ".join(cluster_tags(base, cluster)),
        warnings=tuple(warnings),
        level=how.level,
        corrected=base.corrected,
        n_unapplied=max(side.n_unapplied for side in sides),
        part_of=max((side.n_instances for side in sides if side.is_part), default=None),
    )


def _signature_warnings(base: Side, others: Sequence[Side], rules: Rule | None, *, force: bool) -> list[str]:
    found = [(other, differing) for other in others if (differing := what_differs(base, other, rules=rules))]
    texts = [f"{base.label} and {other.label} are not comparable: {', '.join(differing)}" for other, differing in found]
    if texts and not force:
        only_rules = all(len(differing) == 1 and differing[0].startswith("rules ") for _, differing in found)
        way_out = "--rules official or --rules strict compares both under one" if only_rules else "score them anew under one signature"
        raise UsageError(texts[0], hint=f"{way_out}, or compare them as they are with --force")
    return [f"{text} (compared under --force)" for text in texts]


def _candidate(base: Side, other: Side, how: PairingOptions, *, n_tests: int) -> Candidate:
    shared = [(result, other.results[name]) for name, result in base.results.items() if name in other.results]
    if not shared and not how.shift:
        raise UsageError(f"{base.label} and {other.label} have no instance in common", hint="compare runs of one suite")
    pairs, how = judged_by(shared, how)
    beside = [pair for pair in shared if not how.raw and all(raw_value(result) is not None for result in pair)]
    clustered = dict.fromkeys(a.instance_id for a, _ in (*pairs, *beside))
    cluster_of = cluster_of_each(base, how, list(clustered)) if pairs else None
    groups = base.groups or other.groups

    def paired(name: str, chosen: Sequence[Pair], how: PairingOptions = how) -> PairedDifference:
        units = paired_units(chosen, how)
        row = paired_difference(name, units.a, units.b, alpha=how.alpha, clusters=units.clusters(cluster_of))
        lower = is_lower_better(chosen, raw=how.raw)
        wins, losses = (row.losses, row.wins) if lower else (row.wins, row.losses)
        return replace(row, wins=wins, losses=losses, lower_is_better=lower, is_raw=how.raw)

    total, whole = paired(other.label, pairs), paired_units(pairs, how)

    def part(name: str, chosen: Sequence[Pair]) -> PairedDifference:
        return replace(total, name=name) if len(chosen) == len(pairs) else paired(name, chosen)

    both = paired_instances(shared, groups, how)
    full = Counter((how.value(a) == 1, how.value(b) == 1) for a, b in pairs)
    return Candidate(
        label=other.label,
        source=other.source,
        signature=other.signature,
        metadata=other.metadata,
        total=total,
        verdict="",
        is_regression=False,
        # A difference must pass Holm's first step to be shown whatever the others show.
        plan=planned(whole.a, whole.b, alpha=how.alpha / n_tests, clusters=whole.clusters(cluster_of)),
        instances=both,
        flips=tuple(with_texts(flip, base, other) for flip in flipped_instances(both)) if how.level == "cells" else flipped_instances(both),
        right=(full[True, True], full[True, False], full[False, True], full[False, False]),
        by_scorer=(
            *(part(name, chosen) for name, chosen in pairs_by_scorer(pairs).items()),
            *(paired(name, chosen, replace(how, raw=True)) for name, chosen in pairs_by_scorer(beside).items()),
            *(paired(name, *judged_by(chosen, how)) for name, chosen in pairs_by_further_scorer(shared).items()),
        ),
        by_group=tuple(part(tag, chosen) for tag, chosen in pairs_by_group(pairs, groups).items()),
        # The paths of a schema are places in gold.
        fields=tuple(field_differences(pairs, alpha=how.alpha, clusters=cluster_of)) if shows(how.level, "shape") else (),
        shift=score_shifts(base, other, how) if how.shift else (),
        unjudged=tuple(a.instance_id for a, b in shared if how.value(a) is None or how.value(b) is None)
        if shows(how.level, "status")
        else (),
        bounds=difference_bounds(shared, how) if len(pairs) < len(shared) and not how.raw else None,
        only_baseline=tuple(name for name in base.results if name not in other.results),
        only_candidate=tuple(name for name in other.results if name not in base.results),
        corrected=other.corrected,
        people=None if how.raw else difference_by_people(pairs, how.value, (base.labels, other.labels)),
    )


def _with_holm(candidates: Sequence[Candidate], alpha: float) -> list[Candidate]:
    """The candidates with Holm's p-values: the totals are one family, and so is each part over all candidates."""
    totals = adjusted_differences([one.total for one in candidates], alpha)
    scorers = _dealt_out(candidates, adjusted_differences([part for one in candidates for part in one.by_scorer], alpha), "by_scorer")
    groups = _dealt_out(candidates, adjusted_differences([part for one in candidates for part in one.by_group], alpha), "by_group")
    paths = _dealt_out(candidates, adjusted_differences([part.f1 for one in candidates for part in one.fields], alpha), "fields")
    moved = _dealt_out(candidates, adjusted_shifts([part for one in candidates for part in one.shift]), "shift")
    return [
        replace(
            one,
            total=totals[i],
            by_scorer=tuple(scorers[i]),
            by_group=tuple(groups[i]),
            fields=tuple(part.with_f1(f1) for part, f1 in zip(one.fields, paths[i], strict=True)),
            shift=tuple(moved[i]),
        )
        for i, one in enumerate(candidates)
    ]


def _dealt_out(candidates: Sequence[Candidate], rows: Sequence[Any], part: str) -> list[list[Any]]:
    """The rows of one family dealt out again to the candidates they came from."""
    waiting = iter(rows)
    return [[next(waiting) for _ in getattr(one, part)] for one in candidates]


def _with_verdict(candidate: Candidate, alpha: float) -> Candidate:
    total = candidate.total
    words = "no difference shown"
    if total.is_significant(alpha):
        words = "worse" if total.is_regression(alpha) else "better"
    elif total.n and not total.wins + total.losses:
        words = "the same on every instance"
    elif not total.n:
        words = "nothing to pair"
    return replace(
        candidate,
        verdict=words,
        is_regression=total.is_regression(alpha),
    )
