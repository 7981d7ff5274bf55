"""Load and pair sides on instance ids: the score that counts, flips, and the parts by scorer, group, cluster and field.

A side is a saved run, or a submission folder that is scored now. Several runs share the instances that all of them have; different
signatures prevent a ranking.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from pathlib import Path
from typing import Any, Literal

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import EvalsuiteError, UsageError, count_words, did_you_mean
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.plugin_calls import trusting_plugins
from evalsuite.core.registry import UnknownScorerError
from evalsuite.core.status import (
    FAULTY,
    UNGRADED,
    UNJUDGED,
    ZERO,
    kind_of,
    own_scale_ids,
    own_value,
    redact,
    results_by,
    scorers_of,
    shows,
)
from evalsuite.core.types import Result, Rule
from evalsuite.gold.spec import NOTHING, Exchange, Exchanges, exchanges_of
from evalsuite.readers.gold_files import read_gold_files
from evalsuite.runs.corrected_scores import known_labels, labels_of
from evalsuite.runs.history import RUNS_FOLDER, RunEntry, find_named_run, one_run, refuse_no_run
from evalsuite.runs.history_index import RunScores
from evalsuite.runs.run_folder import holds_run, is_submission
from evalsuite.runs.run_options import RunOptions, changed_parts, signature_parts
from evalsuite.runs.summary import clusters_by_id, tags_by_instance
from evalsuite.scorers import SCORERS
from evalsuite.stats.intervals import ONE_CLUSTER, few_clusters_note
from evalsuite.stats.units import at_one_length

By = Literal["scorer", "group"]
Direction = Literal["higher", "lower"]


def direction_of(scorers: Iterable[str], *, raw: bool = False) -> Direction:
    """Return which way is better, or with `raw` which on the scorers' own scale: "lower" only if all of the scorers say so.

    A plugin's scorer that is not loaded counts as "higher".
    """
    directions = set()
    for name in scorers:
        try:
            marker = SCORERS.load(name).marker
            directions.add(marker.raw_direction if raw else marker.direction)
        except UnknownScorerError:
            directions.add("higher")
    return "lower" if directions == {"lower"} else "higher"


def further_directions(runs: Sequence[RunScores]) -> dict[str, Direction]:
    """Return which way is better for each further scorer: higher, except for scores on a scale of their own."""
    return {name: direction_of([name], raw=True) if name in run.further_raw else "higher" for run in runs for name in run.further}


class SharedInstances:
    """m runs over the n instances that all of them have, in the first one's order.

    `is_raw`: there are no scores, and their columns contain the values on the metric's own scale, which has no worst value for a missing
    answer.
    """

    def __init__(self, runs: Sequence[RunScores]) -> None:
        first = runs[0]
        same = all(list(run.ids) == list(first.ids) for run in runs)
        shared = set(first.ids).intersection(*(run.ids for run in runs))
        own_scale = ids_on_own_scale(runs) & shared
        self.is_raw = own_scale == shared
        self.runs = [_add_raw_values(run) for run in runs] if self.is_raw else runs
        self.ids = [name for name in first.ids if name in shared]
        if not self.ids:
            raise UsageError("these runs have no instance in common", hint="rank runs of one suite together")
        self._at = [None if same else {name: i for i, name in enumerate(run.ids)} for run in runs]
        self.notes: list[str] = []
        if own_scale and not self.is_raw:
            self._leave_out(own_scale)
        self.scorers = self.column(0, "scorer")
        scorers = sorted({name for name in self.scorers if name})
        self.direction = direction_of(scorers, raw=self.is_raw)
        lower = [name for name in scorers if direction_of([name]) == "lower"]
        mixed = f"scores of both polarities are averaged: less is better for {', '.join(lower)}"
        self.notes += [mixed] if 0 < len(lower) < len(scorers) else []
        self.notes += [f"values on several scales are averaged: {', '.join(scorers)}"] if self.is_raw and len(scorers) > 1 else []

    def _leave_out(self, own_scale: set[str]) -> None:
        self.ids = [name for name in self.ids if name not in own_scale]
        self._at = [{name: i for i, name in enumerate(run.ids)} for run in self.runs]
        self.notes = [f"in no score: {count_words(len(own_scale), 'instance')} measured on a scale without a range"]

    def find_ungraded(self, i: int) -> set[str]:
        """Return the instances that the grader's side left unjudged in run i."""
        rows = zip(self.ids, self.column(i, "score"), self.column(i, "status"), strict=True)
        return {name for name, value, status in rows if value is None and status in UNGRADED}

    def drop_instances(self, ids: Collection[str]) -> "SharedInstances":
        """Return the same runs over the other instances. Raises `UsageError` if none is left."""
        if not ids:
            return self
        remaining = [name for name in self.ids if name not in ids]
        if not remaining:
            raise UsageError("no instance was judged in all of these runs", hint="set up what is missing and score them again")
        other = copy(self)
        other.scorers = [scorer for name, scorer in zip(self.ids, self.scorers, strict=True) if name not in ids]
        other.ids, other._at = remaining, [{name: i for i, name in enumerate(run.ids)} for run in self.runs]
        return other

    def column(self, i: int, name: str) -> list[Any]:
        """Return a column of run i over the shared instances."""
        values, at = getattr(self.runs[i], name), self._at[i]
        return list(values) if at is None else [values[at[name_]] for name_ in self.ids]

    def values(self, i: int, name: str, unjudged: Literal["worst", "best"] = "worst") -> list[float]:
        """Return numbers of run i for the mean: a missing or faulty answer counts as the worst value, an unjudged one as `unjudged`.

        The status is that of the rules that count: if only the other rules could read an answer, their number stays.
        """
        worst, best = (0.0, 1.0) if self.direction == "higher" else (1.0, 0.0)
        instead = worst if unjudged == "worst" else best
        pairs = zip(self.column(i, name), self.column(i, "status"), strict=True)
        return [worst if status in ZERO and not value else instead if value is None else value for value, status in pairs]

    def unit_values(self, ranked: Sequence[int]) -> list[list[float]] | None:
        """Return the units of the only shared instance, for each run of `ranked`; None if there are more instances, or none has units.

        Each of several instances counts once, whatever its number of records, because these are dependent. A unit that was not judged in
        some run is left out.
        """
        if len(self.ids) > 1 or self.direction == "lower" or not any(self.runs[i].units.get(self.ids[0]) for i in ranked):
            return None
        sides = at_one_length([self.runs[i].units.get(self.ids[0]) or self.values(i, "score") for i in ranked])
        judged_places = [at for at, column in enumerate(zip(*sides, strict=True)) if None not in column]
        return [[score for at in judged_places if (score := side[at]) is not None] for side in sides] if judged_places else None

    def n_units(self) -> int:
        """Return how many units the shared instances have: the records of one with many, in the run that has most."""
        return sum(max(len(run.units.get(name, (0,))) for run in self.runs) for name in self.ids)

    def places(self, by: By) -> dict[str, list[int]]:
        """Return scorer or group -> the positions of its instances."""
        positions: dict[str, list[int]] = {}
        if by == "scorer":
            for i, name in enumerate(self.scorers):
                positions.setdefault(name or "none", []).append(i)
            return positions
        at = {name: i for i, name in enumerate(self.ids)}
        return {
            tag: places_of_tag for tag, ids in self.runs[0].groups.items() if (places_of_tag := [at[name] for name in ids if name in at])
        }

    def clusters(self) -> list[str] | None:
        """Return the cluster of each instance, None if the suite names none or they do not partition the instances."""
        return clusters_of(self.runs[0], self.ids)

    def cluster_note(self, n_ranked: int, alpha: float) -> str:
        """Return why the suite's clusters cannot be used, empty if they can."""
        tags, clusters = self.runs[0].clusters, self.clusters()
        if tags and clusters is None:
            at = next(name for name in self.ids if not any(name in self.runs[0].groups.get(tag, ()) for tag in tags))
            return f"instance {at!r} is in none of the clusters of the suite: instances are taken as independent"
        n_pairs = n_ranked * (n_ranked - 1) // 2
        if clusters is None:
            holds_many = any(run.units for run in self.runs) and len(self.ids) > 1
            return few_clusters_note(len(self.ids), alpha, n_pairs, what="instances") if holds_many else ""
        n_clusters = len(set(clusters))
        return ONE_CLUSTER if n_clusters == 1 else few_clusters_note(n_clusters, alpha, n_pairs)


def clusters_of(run: RunScores, ids: Sequence[str]) -> list[str] | None:
    """Return the cluster of each instance, None if the run's suite names none or they do not partition the instances."""
    cluster_of = clusters_by_id(run.clusters, run.groups)
    return [cluster_of[name] for name in ids] if cluster_of and all(name in cluster_of for name in ids) else None


def ids_on_own_scale(runs: Sequence[RunScores]) -> set[str]:
    """Return the instances that one of the runs has in no score, because they are measured on a scale of their own."""
    return {name for run in runs for name in run.own_scale}


def _add_raw_values(run: RunScores) -> RunScores:
    values = run.raw or [None] * len(run.ids)
    status = ["unscored" if value is None else name for value, name in zip(values, run.status, strict=True)]
    return replace(run, score=values, official=values, strict=values, status=status)


def differences_that_forbid_ranking(runs: Sequence[RunScores]) -> list[str]:
    """Return what makes runs incomparable, each as `rules: official (3), strict (1)`; empty if they are alike."""
    parts = [signature_parts(run.signature) for run in runs]
    differing = []
    for name in dict.fromkeys(name for part in parts for name in part):
        counts = Counter(part.get(name, "none") for part in parts)
        if len(counts) > 1:
            differing.append(f"{name}: {', '.join(f'{value} ({count})' for value, count in counts.most_common())}")
    sizes = Counter(len(run.ids) for run in runs)
    if len({frozenset(ids) for ids in {tuple(run.ids) for run in runs}}) > 1:
        listed = ", ".join(f"{n} ({count})" for n, count in sizes.most_common())
        differing.append(f"instances: {listed if len(sizes) > 1 else f'{len(runs[0].ids)} each, not the same'}")
    return differing


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSide:
    """One scored submission: its n results by instance id in gold order, and the content of `run.json`.

    `clusters` are the groups that the suite names as clusters; `hidden`: gold is secret, so no reason may be shown. `n_instances` are those
    of all of gold, 0 if unknown; `exchanges` the questions and answers. `corrected` is the score after gold's errata, None without any;
    `n_unapplied` of these are stale or expired. `labels` are human labels of its answers, by instance id; `unread` is why the saved ones
    are not used. `gold_folder` and `submission_folder` are where they were; `receipt` says how the run was made.
    """

    label: str
    results: Mapping[str, Result]
    signature: str = ""
    suite: str = ""
    rules: str = "official"
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    clusters: tuple[str, ...] = ()
    hidden: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    n_instances: int = 0
    exchanges: Exchanges | None = None
    corrected: float | None = None
    n_unapplied: int = 0
    labels: Mapping[str, float] = field(default_factory=dict)
    unread: str = ""
    gold_folder: str = ""
    submission_folder: str = ""
    receipt: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_part(self) -> bool:
        """Whether less than all of gold was scored."""
        return len(self.results) < self.n_instances


def side_of(
    label: str, run: Mapping[str, Any], results: Iterable[Result], *, source: str = "", exchanges: Exchanges | None = None
) -> RunSide:
    """Return the side of a `run.json` object and its results; keys that an older run lacks are empty."""
    gold = run.get("gold", {})
    return RunSide(
        label=label,
        results={result.instance_id: result for result in results},
        signature=str(run.get("signature", "")),
        suite=str(gold.get("name", "")),
        gold_folder=str(gold.get("folder") or ""),
        submission_folder=str((run.get("submission") or {}).get("folder") or ""),
        rules=str(run.get("options", {}).get("rules") or "official"),
        receipt=run.get("receipt") or {},
        groups=run.get("groups") or {},
        clusters=tuple(gold.get("clusters") or ()),
        hidden=bool(gold.get("hidden", False)),
        metadata=run.get("metadata") or {},
        source=source,
        n_instances=int(gold.get("n_instances") or 0),
        exchanges=exchanges,
        corrected=(run.get("corrections") or {}).get("score"),
        n_unapplied=sum(len((run.get("corrections") or {}).get(state, ())) for state in ("stale", "expired")),
    )


def load_sides(
    names: Sequence[str],
    *,
    runs: Path = RUNS_FOLDER,
    gold: Path | None = None,
    rules: Rule | None = None,
    how: Mapping[str, Any] | None = None,
) -> list[RunSide]:
    """Load the side of each name: a run's folder, its name under `runs`, its name in its suite, or a submission.

    A submission (a folder, or a file of answers) is scored against `gold` (default: the gold of the first run that was named, else `gold`)
    under the limits of that run, and adds no run to the history; `how` are further options of a run, by name. Raises `UsageError` for a
    name that is none of these.
    """
    from evalsuite.runs.submission_reader import saved_exchanges

    saved = [_find_saved_run(name, runs) for name in names]
    like = next((entry for entry in saved if entry is not None), None)
    sides = []
    for name, entry in zip(names, saved, strict=True):
        if entry is not None:
            label = str(entry.metadata.get("run_name") or entry.name or entry.folder.resolve().name)
            side = side_of(label, entry.run, entry.results(), source=str(entry.folder), exchanges=saved_exchanges(entry))
            labels, unread = known_labels(entry.folder)
            sides.append(replace(side, labels=labels, unread=unread))
        else:
            sides.append(_score_side(Path(name), gold, like, rules, how or {}))
    # If several share a label, the number in the given order is appended.
    n_with = Counter(side.label for side in sides)
    return [replace(side, label=f"{side.label} #{at}") if n_with[side.label] > 1 else side for at, side in enumerate(sides, 1)]


def set_labels(sides: Sequence[RunSide], files: Sequence[Path]) -> Sequence[RunSide]:
    """Return the sides with the labels of a file each, in their order; unchanged without files. Raises `UsageError`."""
    if files and len(files) != len(sides):
        raise UsageError(
            f"{count_words(len(files), 'file')} of labels for {count_words(len(sides), 'run')}",
            hint="--labels once for each run, in their order",
        )
    return [replace(side, labels=labels_of(file), unread="") for side, file in zip(sides, files, strict=True)] if files else sides


def _find_saved_run(name: str, runs: Path) -> RunEntry | None:
    """Return the saved run of that name, None if it is a folder or a file of answers to score."""
    if (entry := find_named_run(name, runs)) is not None:
        return entry
    folder = Path(name)
    if is_submission(folder):
        return None
    refuse_no_run(folder)
    return None if exists(folder) and not holds_run(folder) else one_run(name, runs)


def _score_side(folder: Path, gold: Path | None, like: RunEntry | None, rules: Rule | None, how: Mapping[str, Any]) -> RunSide:
    from evalsuite.readers.archives import is_archive, without_ending
    from evalsuite.runs.leaderboard_entries import unpack
    from evalsuite.runs.scoring import run

    options = like.run.get("options", {}) if like is not None else {}
    of_run = Path(str(like.run.get("gold", {}).get("folder"))) if gold is None and like is not None else None
    place = of_run if of_run is not None and is_dir(of_run) else gold or Path("gold")
    # A run under default rules says `official` too, with another default for tree scorers: only `strict` was surely chosen.
    chosen = rules or ("strict" if options.get("rules") == "strict" else None)
    # The user named this gold, or kept the default; the gold that a saved run names must not be executed.
    settings, label = RunOptions(rules=chosen, limits=options.get("limits") or {}, save=False, **how), folder.resolve().name
    with ExitStack() as opened:
        opened.enter_context(trusting_plugins(*([] if place is of_run else [place])))
        answers = folder
        if is_file(folder) and is_archive(folder.name):
            answers, label = opened.enter_context(unpack(folder, settings)), without_ending(folder.name)
            settings = replace(settings, archive=str(folder))
        done = run(answers, place, settings)
    if not done.summary.n_submitted:
        raise UsageError(
            f"{folder} answers none of the {len(done.results)} instances of {done.gold.folder}", hint="name its gold by --gold"
        )
    texts = exchanges_of(done.gold, done.submission)
    return side_of(label, done.to_json(), done.results, source=str(folder), exchanges=texts)


def signature_differences(a: RunSide, b: RunSide, *, rules: Rule | None = None) -> list[str]:
    """Return the parts of the signatures that differ, as `gold 3f9c1e against 77ab01`; the rules do not count if they are chosen now."""
    changed = changed_parts(a.signature, b.signature, absent="absent").items()
    return [f"{name} {left} against {right}" for name, (left, right) in changed if name != "rules" or rules is None]


def differing_cases(a: RunSide, b: RunSide) -> str:
    """Return how many cases of two golds differ and the first of them, as `1 of 3 cases differs, first 'geo_002'`; empty if unknown.

    Cases are compared by spec and files while both gold folders are as the runs saw them, else by their ids.
    """
    cases_a, cases_b = (_digests_of_cases(side) for side in (a, b))
    if cases_a is None or cases_b is None:
        cases_a, cases_b = (dict.fromkeys(side.results, "") for side in (a, b))
    names = {**cases_a, **cases_b}
    differing = [name for name in names if cases_a.get(name) != cases_b.get(name)]
    verb = "differs" if len(differing) == 1 else "differ"
    return f"{len(differing)} of {len(names)} cases {verb}, first {differing[0]!r}" if differing else ""


def _digests_of_cases(side: RunSide) -> dict[str, str] | None:
    """Return what gold has for each case of a run, None if the folder is gone or has changed since."""
    from evalsuite.gold.layouts import read_gold

    try:
        gold = read_gold(Path(side.gold_folder), plugins=False)
        files = read_gold_files(gold.spec_file.parent, gold.spec_file)
    except (OSError, EvalsuiteError):
        return None
    if files.hash != signature_parts(side.signature).get("gold"):
        return None
    case_texts = {
        instance.instance_id: [str([(check.scorer, check.parameters) for check in instance.checks])] for instance in gold.instances
    }
    for name, digest in files.digests.items():
        case_texts.get(name.partition("/")[0], []).append(f"{name} {digest}")
    return {name: "\n".join(parts) for name, parts in case_texts.items()}


Pair = tuple[Result, Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """An instance of both sides: both scores, None if one was not judged or may not be shown, and both reasons.

    Scores are in [0, 1], those of a metric without bounds on its own scale. If `lower_is_better`, a smaller stored score is a gain. A
    change in an instance of texts also has the question, the right answer, and both answers.
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
        """Return the improvement, a loss below 0; None if a score is None."""
        return None if self.change is None else -self.change if self.lower_is_better else self.change

    @property
    def change(self) -> float | None:
        """Return the candidate's score minus the baseline's, None if one is None; rounding noise counts as 0."""
        if self.a is None or self.b is None:
            return None
        return self.b - self.a if abs(self.b - self.a) > 1e-9 else 0.0

    def visible_reason(self, reason: str) -> str:
        """Return a reason as people read it, with the gold text in it if that may be shown."""
        return Exchange(reference=self.reference).full_reason(reason)


@dataclass(frozen=True, slots=True)
class PairingOptions:
    """How two sides are compared."""

    rules: Rule | None
    alpha: float
    cluster: str | None
    shift: bool
    level: str
    raw: bool = False

    def value(self, result: Result) -> float | None:
        """Return the score under the chosen rules, else under the run's own; with `raw` the value on the metric's own scale."""
        if self.raw:
            return own_value(result)
        return result.score if self.rules is None else result.official if self.rules == "official" else result.strict


def choose_scale(shared: Sequence[Pair], how: PairingOptions) -> tuple[list[Pair], PairingOptions]:
    """Return the pairs that were judged on both sides, and the options with the scale of the comparison.

    Raw values are compared if there is nothing else; else the instances on a scale of their own are in no pair, as in no score.
    """
    ranged = pairs_with_range(shared)
    if shared and not ranged:
        how, ranged = replace(how, raw=True), list(shared)
    return [(a, b) for a, b in ranged if how.value(a) is not None and how.value(b) is not None], how


def pairs_with_range(shared: Sequence[Pair]) -> list[Pair]:
    """Return the pairs of instances that give scores, and no values on a scale of their own."""
    own_scale = own_scale_ids(result for pair in shared for result in pair)
    return [(a, b) for a, b in shared if a.instance_id not in own_scale]


def is_lower_better(pairs: Sequence[Pair], *, raw: bool = False) -> bool:
    """Whether less is better for every stored score, as an imported run may say (`details.better`), or on the scorers' own scale."""
    if raw and direction_of((a.scorer or b.scorer or "" for a, b in pairs), raw=True) == "lower":
        return True
    return bool(pairs) and all(result.details.get("better") == "lower" for pair in pairs for result in pair)


def pairs_by_scorer(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Return scorer -> its pairs, in gold order."""
    by_scorer: dict[str, list[Pair]] = {}
    for a, b in pairs:
        by_scorer.setdefault(a.scorer or b.scorer or "", []).append((a, b))
    return by_scorer


def pairs_by_further_scorer(shared: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Return further scorer -> its pairs, in gold order; empty if the suite has one scorer."""
    names = tuple(dict.fromkeys(name for side in zip(*shared, strict=True) for name in scorers_of(side)))
    by_scorer: dict[str, list[Pair]] = {name: [] for name in names[1:]}
    for a, b in shared if by_scorer else ():
        x, y = results_by(a, names), results_by(b, names)
        for name in by_scorer.keys() & x.keys() & y.keys():
            by_scorer[name].append((x[name], y[name]))
    return by_scorer


def pairs_by_group(pairs: Sequence[Pair], groups: Mapping[str, Sequence[str]]) -> dict[str, list[Pair]]:
    """Return group -> its pairs in gold order; groups without one are left out."""
    members = {tag: set(ids) for tag, ids in groups.items()}
    by_group = {tag: [pair for pair in pairs if pair[0].instance_id in ids] for tag, ids in members.items()}
    return {tag: chosen for tag, chosen in by_group.items() if chosen}


def cluster_tags(base: RunSide, prefix: str | None) -> list[str]:
    """Return the groups that are clusters: those that begin with `prefix`, or those that the suite names if it is None."""
    return list(base.clusters) if prefix is None else [tag for tag in base.groups if tag.startswith(prefix)]


def cluster_of_each(base: RunSide, prefix: str | None, ids: Sequence[str]) -> dict[str, str] | None:
    """Return instance id -> its cluster, None if no clusters are requested. Raises `UsageError` for an instance in none or in several."""
    tags = cluster_tags(base, prefix)
    if not tags and prefix is None:
        return None
    if not tags:
        hint = did_you_mean(prefix or "", base.groups) if base.groups else "groups are set in suite.yaml"
        raise UsageError(f"no group begins with {prefix!r}", hint=hint)
    tags_of: dict[str, list[str]] = {name: [] for name in ids}
    for tag in tags:
        for name in {*base.groups.get(tag, ())}:
            if name in tags_of:
                tags_of[name].append(tag)
    for name, clusters in tags_of.items():
        if len(clusters) != 1:
            raise UsageError(
                f"instance {name!r} is in {' and '.join(clusters) or 'none'} of the clusters", hint="each must be in exactly one"
            )
    return {name: clusters[0] for name, clusters in tags_of.items()}


def paired_instances(shared: Sequence[Pair], groups: Mapping[str, Sequence[str]], how: PairingOptions) -> tuple[Paired, ...]:
    """Return the n instances of both sides in gold order, cut to what the level allows: at `none` no score of an instance."""
    tags = tags_by_instance(groups.items())
    seen = shows(how.level, "status")
    return tuple(
        Paired(
            instance_id=a.instance_id,
            scorer=a.scorer or b.scorer or "",
            groups=tuple(tags.get(a.instance_id, ())),
            a=how.value(a) if seen else None,
            b=how.value(b) if seen else None,
            reason_a=_visible_reason(a, how),
            reason_b=_visible_reason(b, how),
            lower_is_better=is_lower_better([(a, b)]),
        )
        for a, b in shared
    )


def flipped_instances(instances: Sequence[Paired]) -> tuple[Paired, ...]:
    """Return the instances whose scores differ, the largest loss first, then the largest gain."""
    changed = [(gain, instance) for instance in instances if (gain := instance.gain)]
    return tuple(instance for _, instance in sorted(changed, key=lambda pair: (pair[0] > 0, -abs(pair[0]))))


def add_texts(flip: Paired, base: RunSide, other: RunSide) -> Paired:
    """Return the instance with its texts, if the folders of its run are unchanged."""
    base_texts, other_texts = (NOTHING if side.exchanges is None else side.exchanges.texts_of(flip.instance_id) for side in (base, other))
    question, reference = base_texts.question or other_texts.question, base_texts.reference or other_texts.reference
    return replace(flip, question=question, reference=reference, answer_a=base_texts.answer, answer_b=other_texts.answer)


def _visible_reason(result: Result, how: PairingOptions) -> str:
    """Return the reason of a result under the compared rules; below `cells` only what the level allows."""
    if not shows(how.level, "class"):
        return ""
    if how.level == "class":
        blamed = result.fault if result.status in FAULTY - UNJUDGED or result.status == "scored" else None
        return blamed or kind_of(replace(result, score=how.value(result) or 0.0)).words
    if how.level == "shape":
        return redact(replace(result, score=how.value(result)), how.level).reason
    reasons = result.details.get("reasons")
    if how.rules is not None and isinstance(reasons, Mapping) and isinstance(reasons.get(how.rules), str):
        return str(reasons[how.rules])
    return result.reason


def difference_bounds(shared: Sequence[Pair], how: PairingOptions) -> tuple[float, float] | None:
    """Return the smallest and the largest mean difference over all shared instances that have scores, whatever the unjudged ones are.

    None if all of them were judged.
    """
    values = [(how.value(a), how.value(b)) for a, b in pairs_with_range(shared)]
    if all(None not in pair for pair in values):
        return None
    low = sum((0.0 if b is None else b) - (1.0 if a is None else a) for a, b in values)
    high = sum((1.0 if b is None else b) - (0.0 if a is None else a) for a, b in values)
    return low / len(values), high / len(values)


FieldNumbers = tuple[float, float, float]
_FIELD_KEYS = ("precision", "recall", "f1")
# A missing or unreadable answer has none of the fields.
_NOTHING_MATCHED: FieldNumbers = (0.0, 0.0, 0.0)


def fields_of(result: Result) -> dict[str, FieldNumbers]:
    """Return path -> (precision, recall, F1) of one result; empty if no tree scorer made it. Paths without a number are left out."""
    fields = result.details.get("fields", result.details.get("per_field"))
    if isinstance(fields, Mapping):
        rows: Sequence[Any] = [{"path": path, **numbers} for path, numbers in fields.items() if isinstance(numbers, Mapping)]
    else:
        rows = fields if isinstance(fields, list) else ()
    entries = [entry for entry in rows if isinstance(entry, Mapping) and isinstance(entry.get("path"), str)]
    full = [entry for entry in entries if all(isinstance(entry.get(key), int | float) and 0 <= entry[key] <= 1 for key in _FIELD_KEYS)]
    return {entry["path"]: (float(entry["precision"]), float(entry["recall"]), float(entry["f1"])) for entry in full}


def fields_by_path(pairs: Sequence[tuple[Result, Result]]) -> dict[str, dict[str, tuple[FieldNumbers, FieldNumbers]]]:
    """Return path -> instance id -> the numbers of (a, b), for the paths that both have; a missing answer has 0 throughout."""
    by_path: dict[str, dict[str, tuple[FieldNumbers, FieldNumbers]]] = {}
    for a, b in pairs:
        left, right = fields_of(a), fields_of(b)
        for path in {**left, **right}:
            field = left.get(path, _NOTHING_MATCHED if a.status in ZERO else None)
            others = right.get(path, _NOTHING_MATCHED if b.status in ZERO else None)
            if field is not None and others is not None:
                by_path.setdefault(path, {})[a.instance_id] = (field, others)
    return by_path
