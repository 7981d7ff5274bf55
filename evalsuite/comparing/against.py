"""A baseline against one or more candidates: `compare(sides)` computes the whole `Comparison`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evalsuite.comparing import shift as shifts
from evalsuite.comparing.comparison import Candidate, Comparison
from evalsuite.comparing.fields import by_path, field_rows, fields_of
from evalsuite.comparing.pairs import How, Pair, bounds, by_group, by_scorer, cluster_tags, clusters, flips, instances
from evalsuite.comparing.rows import Row, adjusted, detectable, instances_needed, row
from evalsuite.comparing.sides import Side, what_differs
from evalsuite.errors import UsageError
from evalsuite.reports.record import check_level, default_level
from evalsuite.reveal import shows
from evalsuite.types import Rule


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
    warnings = _warnings(base, others, rules, force=force)
    check_level(reveal)
    how = How(rules, alpha, cluster, shift, reveal or default_level(hidden=any(side.hidden for side in sides)))
    found = [_candidate(base, other, how) for other in others]
    return Comparison(
        suite=base.suite,
        rules=rules or base.rules,
        alpha=alpha,
        baseline=base.label,
        source=base.source,
        signature=base.signature,
        metadata=base.metadata,
        candidates=tuple(_judged(one, alpha) for one in _adjusted(found)),
        clusters=", ".join(cluster_tags(base, cluster)),
        warnings=tuple(warnings),
        level=how.level,
    )


def _warnings(base: Side, others: Sequence[Side], rules: Rule | None, *, force: bool) -> list[str]:
    found = [(other, differing) for other in others if (differing := what_differs(base, other, rules=rules))]
    texts = [f"{base.label} and {other.label} are not comparable: {', '.join(differing)}" for other, differing in found]
    if texts and not force:
        only_rules = all(len(differing) == 1 and differing[0].startswith("rules ") for _, differing in found)
        way_out = "--rules official or --rules strict compares both under one" if only_rules else "score them anew under one signature"
        raise UsageError(texts[0], hint=f"{way_out}, or compare them as they are with --force")
    return [f"{text} (compared under --force)" for text in texts]


def _candidate(base: Side, other: Side, how: How) -> Candidate:
    shared = [(result, other.results[name]) for name, result in base.results.items() if name in other.results]
    if not shared and not how.shift:
        raise UsageError(f"{base.label} and {other.label} have no instance in common", hint="compare runs of one suite")
    pairs = [(a, b) for a, b in shared if how.value(a) is not None and how.value(b) is not None]
    ids = [a.instance_id for a, _ in pairs]
    cluster_of = clusters(base, how, ids) if pairs else None
    groups = base.groups or other.groups

    def paired(name: str, chosen: Sequence[Pair]) -> Row:
        values = [(float(how.value(a) or 0), float(how.value(b) or 0)) for a, b in chosen]
        names = None if cluster_of is None else [cluster_of[a.instance_id] for a, _ in chosen]
        return row(name, [a for a, _ in values], [b for _, b in values], alpha=how.alpha, clusters=names)

    total = paired(other.label, pairs)

    def part(name: str, chosen: Sequence[Pair]) -> Row:
        return replace(total, name=name) if len(chosen) == len(pairs) else paired(name, chosen)

    both = instances(shared, groups, how)
    return Candidate(
        label=other.label,
        source=other.source,
        signature=other.signature,
        metadata=other.metadata,
        total=total,
        verdict="",
        is_regression=False,
        detectable=None,
        n_needed=None,
        instances=both,
        flips=flips(both),
        right=_right(pairs, how),
        by_scorer=tuple(part(name, chosen) for name, chosen in by_scorer(pairs).items()),
        by_group=tuple(part(tag, chosen) for tag, chosen in by_group(pairs, groups).items()),
        # The paths of a schema are places in gold.
        fields=tuple(field_rows(pairs, alpha=how.alpha, clusters=cluster_of)) if shows(how.level, "shape") else (),
        shift=_shifts(base, other, how) if how.shift else (),
        unjudged=tuple(a.instance_id for a, b in shared if how.value(a) is None or how.value(b) is None)
        if shows(how.level, "status")
        else (),
        bounds=bounds(shared, how) if len(pairs) < len(shared) else None,
        only_baseline=tuple(name for name in base.results if name not in other.results),
        only_candidate=tuple(name for name in other.results if name not in base.results),
    )


def _right(pairs: Sequence[Pair], how: How) -> tuple[int, int, int, int]:
    """How often (both, the first only, the second only, neither) have the full score."""
    found = [(how.value(a) == 1, how.value(b) == 1) for a, b in pairs]
    return found.count((True, True)), found.count((True, False)), found.count((False, True)), found.count((False, False))


def _shifts(base: Side, other: Side, how: How) -> tuple[shifts.Shift, ...]:
    """The shift of each field's F1, or of each scorer's scores where no tree scorer judged."""
    pairs = [(a, other.results[name]) for name, a in base.results.items() if name in other.results]
    judged = [(a, b) for a, b in pairs if how.value(a) is not None and how.value(b) is not None]
    by_fields = shows(how.level, "shape")
    fields = by_path(judged) if by_fields else {}
    if fields:
        columns = {
            path: ({name: a[2] for name, (a, _) in rows.items()}, {name: b[2] for name, (_, b) in rows.items()})
            for path, rows in fields.items()
        }
    else:
        left, right = (_columns(side, how, with_fields=by_fields and not pairs) for side in (base, other))
        columns = {name: (left[name], right[name]) for name in left if name in right}
    found = [shifts.shift(name, a, b) for name, (a, b) in columns.items()]
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.p))


def _columns(side: Side, how: How, *, with_fields: bool) -> dict[str, dict[str, float]]:
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


def _adjusted(found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with Holm's p-values: the totals are one family, and so is each part over all candidates."""
    totals = adjusted([one.total for one in found])
    scorers = _in_turn(found, adjusted([part for one in found for part in one.by_scorer]), "by_scorer")
    groups = _in_turn(found, adjusted([part for one in found for part in one.by_group]), "by_group")
    paths = _in_turn(found, adjusted([part.f1 for one in found for part in one.fields]), "fields")
    moved = _in_turn(found, shifts.adjusted([part for one in found for part in one.shift]), "shift")
    return [
        replace(
            one,
            total=totals[i],
            by_scorer=tuple(scorers[i]),
            by_group=tuple(groups[i]),
            fields=tuple(part.with_f1(f1) for part, f1 in zip(one.fields, paths[i], strict=True)),
            shift=tuple(moved[i]),
        )
        for i, one in enumerate(found)
    ]


def _in_turn(found: Sequence[Candidate], rows: Sequence[Any], part: str) -> list[list[Any]]:
    """The rows of one family dealt out again to the candidates they came from."""
    waiting = iter(rows)
    return [[next(waiting) for _ in getattr(one, part)] for one in found]


def _judged(one: Candidate, alpha: float) -> Candidate:
    total = one.total
    words = "no difference shown"
    if total.is_significant(alpha):
        words = "worse" if total.is_regression(alpha) else "better"
    elif total.n and not total.wins + total.losses:
        words = "the same on every instance"
    elif not total.n:
        words = "nothing to pair"
    shown = total.is_significant(alpha)
    return replace(
        one,
        verdict=words,
        is_regression=total.is_regression(alpha),
        detectable=detectable(total, alpha),
        n_needed=None if shown else instances_needed(total, alpha),
    )
