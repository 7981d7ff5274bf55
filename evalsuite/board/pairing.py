"""Two sides paired on instance ids: whose score counts, which flips, and how instances fall into scorers, groups, clusters and fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalsuite.board.shared_instances import raw_direction_of
from evalsuite.board.sides import Side
from evalsuite.errors import UsageError, did_you_mean
from evalsuite.gold.exchanges import NOTHING, Exchange
from evalsuite.outcome import FAULTY, UNJUDGED, ZERO, kind_of, own_value, raw_value, results_by, scorers_of
from evalsuite.reveal import reveal, shows
from evalsuite.types import Result, Rule

Pair = tuple[Result, Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """An instance that both sides have: both scores, None where one was not judged or may not be seen, and both reasons.

    Scores are in [0, 1], those of a metric without bounds on its own scale. Of a stored score that is `lower_is_better` less is a gain.

    Of a change in an instance of texts also what was asked, what is right, and both answers.
    """

    instance_id: str
    scorer: str
    groups: tuple[str, ...]
    a: float | None
    b: float | None
    reason_a: str
    reason_b: str
    lower_is_better: bool = False
    question: str = ""
    reference: str = ""
    answer_a: str = ""
    answer_b: str = ""

    @property
    def gain(self) -> float | None:
        """The change to the better, a loss below 0; None where a score is None."""
        return None if self.change is None else -self.change if self.lower_is_better else self.change

    @property
    def change(self) -> float | None:
        """The candidate's score less the baseline's, None where one is None; what rounding alone makes is 0."""
        if self.a is None or self.b is None:
            return None
        return self.b - self.a if abs(self.b - self.a) > 1e-9 else 0.0

    def told(self, reason: str) -> str:
        """A reason as people read it: with the gold text in it, where that may be seen."""
        return Exchange(reference=self.reference).told(reason)


@dataclass(frozen=True, slots=True)
class PairingOptions:
    """How two sides are held against each other."""

    rules: Rule | None
    alpha: float
    cluster: str | None
    shift: bool
    level: str
    raw: bool = False

    def value(self, result: Result) -> float | None:
        """The score under the rules that were chosen, else under the run's own; with `raw` the value on the metric's own scale."""
        if self.raw:
            return own_value(result)
        return result.score if self.rules is None else result.official if self.rules == "official" else result.strict


def on_own_scale(shared: Sequence[Pair], how: PairingOptions) -> PairingOptions:
    """The options that hold a metric without bounds to another by its raw values: where no pair has scores, and some side has those."""
    if any(how.value(a) is not None and how.value(b) is not None for a, b in shared if a.status == b.status == "scored"):
        return how
    return replace(how, raw=any(raw_value(result) is not None for pair in shared for result in pair))


def judged_by(shared: Sequence[Pair], how: PairingOptions) -> tuple[list[Pair], PairingOptions]:
    """The pairs that both sides were judged on, and the options with the scale that they are compared on."""
    how = on_own_scale(shared, how)
    return [(a, b) for a, b in shared if how.value(a) is not None and how.value(b) is not None], how


def is_lower_better(pairs: Sequence[Pair], *, raw: bool = False) -> bool:
    """Whether less is better of every stored score, as a run from elsewhere may say (`details.better`), or on the scorers' own scale."""
    if raw and raw_direction_of(a.scorer or b.scorer or "" for a, b in pairs) == "lower":
        return True
    return bool(pairs) and all(result.details.get("better") == "lower" for pair in pairs for result in pair)


def pairs_by_scorer(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Scorer -> its pairs, in gold order."""
    found: dict[str, list[Pair]] = {}
    for a, b in pairs:
        found.setdefault(a.scorer or b.scorer or "", []).append((a, b))
    return found


def pairs_by_further_scorer(shared: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Scorer beside the score -> its pairs, in gold order; empty where the suite has one scorer."""
    names = tuple(dict.fromkeys(name for side in zip(*shared, strict=True) for name in scorers_of(side)))
    found: dict[str, list[Pair]] = {name: [] for name in names[1:]}
    for a, b in shared if found else ():
        x, y = results_by(a, names), results_by(b, names)
        for name in found.keys() & x.keys() & y.keys():
            found[name].append((x[name], y[name]))
    return found


def pairs_by_group(pairs: Sequence[Pair], groups: Mapping[str, Sequence[str]]) -> dict[str, list[Pair]]:
    """Group -> its pairs in gold order; groups without one are left out."""
    members = {tag: set(ids) for tag, ids in groups.items()}
    found = {tag: [pair for pair in pairs if pair[0].instance_id in ids] for tag, ids in members.items()}
    return {tag: chosen for tag, chosen in found.items() if chosen}


def cluster_tags(base: Side, prefix: str | None) -> list[str]:
    """The groups that are clusters: those that begin with `prefix`, or those that the suite names where it is None."""
    return list(base.clusters) if prefix is None else [tag for tag in base.groups if tag.startswith(prefix)]


def cluster_of_each(base: Side, how: PairingOptions, ids: Sequence[str]) -> dict[str, str] | None:
    """Instance id -> its cluster, None where no clusters are asked for. Raises `UsageError` for an instance in none or in several."""
    tags = cluster_tags(base, how.cluster)
    if not tags and how.cluster is None:
        return None
    if not tags:
        known = did_you_mean(how.cluster or "", base.groups) if base.groups else "groups are set in suite.yaml"
        raise UsageError(f"no group begins with {how.cluster!r}", hint=known)
    found: dict[str, list[str]] = {name: [] for name in ids}
    for tag in tags:
        members = set(base.groups.get(tag, ()))
        for name in members.intersection(found):
            found[name].append(tag)
    for name, own in found.items():
        if len(own) != 1:
            raise UsageError(f"instance {name!r} is in {' and '.join(own) or 'none'} of the clusters", hint="each must be in exactly one")
    return {name: own[0] for name, own in found.items()}


def paired_instances(shared: Sequence[Pair], groups: Mapping[str, Sequence[str]], how: PairingOptions) -> tuple[Paired, ...]:
    """The n instances of both sides in gold order, cut to what the level lets be seen: at `none` no score of an instance."""
    tags: dict[str, list[str]] = {}
    for tag, ids in groups.items():
        for name in ids:
            tags.setdefault(name, []).append(tag)
    seen = shows(how.level, "status")
    return tuple(
        Paired(
            instance_id=a.instance_id,
            scorer=a.scorer or b.scorer or "",
            groups=tuple(tags.get(a.instance_id, ())),
            a=how.value(a) if seen else None,
            b=how.value(b) if seen else None,
            reason_a=_reason_shown(a, how),
            reason_b=_reason_shown(b, how),
            lower_is_better=is_lower_better([(a, b)]),
        )
        for a, b in shared
    )


def flipped_instances(found: Sequence[Paired]) -> tuple[Paired, ...]:
    """The instances whose scores differ, the largest loss first, then the largest gain."""
    changed = [(gain, one) for one in found if (gain := one.gain)]
    return tuple(one for _, one in sorted(changed, key=lambda pair: (pair[0] > 0, -abs(pair[0]))))


def with_texts(flip: Paired, base: Side, other: Side) -> Paired:
    """The instance with its texts, where the folders of its run are still as they were."""
    mine, theirs = (NOTHING if side.exchanges is None else side.exchanges.of(flip.instance_id) for side in (base, other))
    question, reference = mine.question or theirs.question, mine.reference or theirs.reference
    return replace(flip, question=question, reference=reference, answer_a=mine.answer, answer_b=theirs.answer)


def _reason_shown(result: Result, how: PairingOptions) -> str:
    """Why a result has its score, under the rules that are compared; below `cells` only what the level lets be said of it."""
    if not shows(how.level, "class"):
        return ""
    if how.level == "class":
        blamed = result.fault if result.status in FAULTY - UNJUDGED or result.status == "scored" else None
        return blamed or kind_of(replace(result, score=how.value(result) or 0.0)).words
    if how.level == "shape":
        return reveal(replace(result, score=how.value(result)), how.level).reason
    reasons = result.details.get("reasons")
    if how.rules is not None and isinstance(reasons, Mapping) and isinstance(reasons.get(how.rules), str):
        return str(reasons[how.rules])
    return result.reason


def difference_bounds(shared: Sequence[Pair], how: PairingOptions) -> tuple[float, float]:
    """The least and the greatest mean difference over all shared instances, whatever the unjudged scores are."""
    values = [(how.value(a), how.value(b)) for a, b in shared]
    low = sum((0.0 if b is None else b) - (1.0 if a is None else a) for a, b in values)
    high = sum((1.0 if b is None else b) - (0.0 if a is None else a) for a, b in values)
    return low / len(values), high / len(values)


FieldNumbers = tuple[float, float, float]
_FIELD_KEYS = ("precision", "recall", "f1")
# What was not handed in, or could not be read, has found none of the fields.
_NOTHING_MATCHED: FieldNumbers = (0.0, 0.0, 0.0)


def fields_of(result: Result) -> dict[str, FieldNumbers]:
    """Path -> (precision, recall, F1) of one result; empty for what no tree scorer made. Paths without a number are left out."""
    found = result.details.get("fields", result.details.get("per_field"))
    if isinstance(found, Mapping):
        rows: Sequence[Any] = [{"path": path, **numbers} for path, numbers in found.items() if isinstance(numbers, Mapping)]
    else:
        rows = found if isinstance(found, list) else ()
    named = [entry for entry in rows if isinstance(entry, Mapping) and isinstance(entry.get("path"), str)]
    full = [entry for entry in named if all(isinstance(entry.get(key), int | float) for key in _FIELD_KEYS)]
    return {entry["path"]: (float(entry["precision"]), float(entry["recall"]), float(entry["f1"])) for entry in full}


def fields_by_path(pairs: Sequence[tuple[Result, Result]]) -> dict[str, dict[str, tuple[FieldNumbers, FieldNumbers]]]:
    """Path -> instance id -> the numbers of (a, b), for the paths that both have; what was not handed in has 0 throughout."""
    found: dict[str, dict[str, tuple[FieldNumbers, FieldNumbers]]] = {}
    for a, b in pairs:
        left, right = fields_of(a), fields_of(b)
        for path in {**left, **right}:
            here = left.get(path, _NOTHING_MATCHED if a.status in ZERO else None)
            there = right.get(path, _NOTHING_MATCHED if b.status in ZERO else None)
            if here is not None and there is not None:
                found.setdefault(path, {})[a.instance_id] = (here, there)
    return found
