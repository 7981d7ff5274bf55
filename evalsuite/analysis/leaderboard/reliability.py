"""How far a score can be trusted: repeated runs of one model, the agreement of two raters, the effect of tolerances."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from evalsuite.analysis.leaderboard.pairing import (
    RunSide,
    cluster_of_each,
    clusters_of,
    direction_of,
    ids_on_own_scale,
    load_sides,
    signature_differences,
)
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import UsageError, count_words
from evalsuite.core.files import exists
from evalsuite.core.status import ZERO, is_ungraded, own_scale_ids, raw_value, redact
from evalsuite.core.types import Result, Rule
from evalsuite.runs.corrected_scores import HumanEstimate, Label, Rater, check_scale, read_labels
from evalsuite.runs.history import RUNS_FOLDER, RunEntry, find_named_run, one_run
from evalsuite.runs.history_index import RunScores
from evalsuite.runs.leaderboard_entries import Entry
from evalsuite.runs.run_folder import RUN
from evalsuite.runs.run_options import rules_label
from evalsuite.runs.summary import clusters_by_id
from evalsuite.stats.agreement import Agreement, Confusion, cohen_kappa, confusion, krippendorff_alpha
from evalsuite.stats.intervals import Repeats, corrected_mean, count_repeats, cut_to_scale, reported_interval
from evalsuite.stats.units import by_unit, mean_unit_details, mean_units, units_of

SCHEMA_VERSION = 1
_BEGAN: Final = re.compile(r"\d{8}-\d{6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSamples:
    """One model: the names of its runs, and their joint numbers over the questions that were judged at least once."""

    model: str
    runs: tuple[str, ...]
    numbers: Repeats

    def to_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        numbers = asdict(self.numbers)
        interval = numbers.pop("interval")
        ends = None if interval["low"] is None else [interval["low"], interval["high"]]
        estimate = {"mean": interval["estimate"], "se": interval["se"], "interval_95": ends}
        return {"model": self.model, "runs": list(self.runs), **estimate, **numbers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Models in the order in which they were named; `notes` say what differs between questions."""

    suite: str
    rules: str
    models: tuple[ModelSamples, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        models = [model.to_json() for model in self.models]
        return {
            "schema_version": SCHEMA_VERSION, "suite": self.suite, "rules": self.rules, "models": models, "notes": list(self.notes),
        }  # fmt: skip


def samples_of(sides: Sequence[RunSide], *, notes: Sequence[str] = ()) -> Samples:
    """Return the samples of each model: sides with one `model_name` belong together; if one has none, all are of one model.

    `notes` come before those on missing samples.

    Raises:
        UsageError: a model has only one run, or runs were not scored alike.
    """
    names = [str(side.metadata.get("model_name") or "") for side in sides]
    groups: dict[str, list[RunSide]] = {}
    for name, side in zip(names, sides, strict=True):
        groups.setdefault(name if all(names) else "", []).append(side)
    notes, models = list(notes), []
    for model, model_sides in groups.items():
        if len(model_sides) < 2:
            raise UsageError(f"one run of {model or model_sides[0].label}: samples need two or more", hint="name every run of the model")
        _check_alike(sides[0], model_sides)
        notes += [f"{model}: {note}" if model else note for note in unequal_samples(model_sides)]
        questions, clusters = _questions(model_sides)
        if not questions:
            if any(raw_value(result) is not None for side in model_sides for result in side.results.values()):
                hint = "`compare` takes A1+A2 as one side, and compares means in its own unit"
                raise UsageError("samples are counted right or wrong, and this metric has a scale of its own", hint=hint)
            raise UsageError(
                f"no question of {model or model_sides[0].label} was judged", hint="set up what is missing and score them again"
            )
        label = model or f"{len(model_sides)} runs"
        models.append(
            ModelSamples(model=label, runs=tuple(side.label for side in model_sides), numbers=count_repeats(questions, clusters=clusters))
        )
    return Samples(suite=sides[0].suite, rules=rules_label(sides[0].rules, [sides[0].signature]), models=tuple(models), notes=tuple(notes))


def _check_alike(base: RunSide, sides: Sequence[RunSide]) -> None:
    for side in sides:
        if differing := signature_differences(base, side):
            hint = "score them again under one signature"
            raise UsageError(f"{base.label} and {side.label} are not samples of one model: {', '.join(differing)}", hint=hint)


def _scores_by_question(sides: Sequence[RunSide]) -> dict[str, list[float]]:
    by_question: dict[str, list[float]] = {}
    own_scale = own_scale_ids(result for side in sides for result in side.results.values())
    for side in sides:
        for name, result in side.results.items():
            if name not in own_scale:
                by_question.setdefault(name, []).extend([] if result.score is None else [result.score])
    return by_question


def _questions(sides: Sequence[RunSide]) -> tuple[list[list[float]], list[str] | None]:
    """Return (the judged scores of each question's samples, its cluster): of an instance, or of each record of the only one.

    Clusters are None if the suite names none. Raises `UsageError` for a question in none or in several.
    """
    by_question = _scores_by_question(sides)
    if len(by_question) == 1:
        judged_results = [result for side in sides for result in side.results.values() if result.score is not None]
        units = [units_of(result) or [result.score] for result in judged_results]
        if any(len(unit_scores) > 1 for unit_scores in units):
            return by_unit(units), None
    questions = {name: scores for name, scores in by_question.items() if scores}
    cluster_of = cluster_of_each(sides[0], None, list(questions))
    return list(questions.values()), None if cluster_of is None else list(cluster_of.values())


def unequal_samples(sides: Sequence[RunSide]) -> list[str]:
    """Return what differs between questions: one note with the questions that have fewer judged samples than runs."""
    fewer = [f"{name} ({len(scores)})" for name, scores in _scores_by_question(sides).items() if len(scores) < len(sides)]
    if not fewer:
        return []
    more = f", and {len(fewer) - 5} more" if len(fewer) > 5 else ""
    return [f"fewer than {len(sides)} samples were judged of {', '.join(fewer[:5])}{more}"]


def newest_samples(entries: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """Return (the entries, with only the newest of several runs of one sample of a model; a note on the others).

    Answers that were scored twice are one sample: of the same content, from one folder, or named by the other's `rescored_from`.
    """
    runs = {Path(run.folder).name: run for entry in entries if (run := entry.scores) is not None and entry.is_run}
    # Run names of a history contain their start; other names do not.
    all_say_when = all(_BEGAN.match(name) for name in runs)
    newest: dict[Any, tuple[Any, str]] = {}
    for entry in entries:
        key, when = tuple[str, ...]((entry.name,)), ("", 0)
        if (run := entry.scores) is not None and entry.is_run and run.submission_hash:
            first = _find_first_run(run, runs)
            key = (_model_of(entry), first.submission_hash, first.submission, str(first.metadata.get("sample")))
            file = Path(run.folder) / RUN
            when = (file.parent.name[:15] if all_say_when else "", file.stat().st_mtime_ns if exists(file) else 0)
        if key not in newest or when > newest[key][0]:
            newest[key] = (when, entry.name)
    newest_names = {name for _, name in newest.values()}
    older = [entry.name for entry in entries if entry.name not in newest_names]
    notes = [f"{', '.join(older)}: scored again in a newer run, which is the sample that counts"] if older else []
    return [entry for entry in entries if entry.name in newest_names], notes


def _find_first_run(run: RunScores, runs: Mapping[str, RunScores]) -> RunScores:
    """Return the run that was rescored, over any number of steps, or the run itself."""
    from evalsuite.runs.rescoring import FROM

    seen = set[str]()
    while (before := str(run.metadata.get(FROM))) in runs and before not in seen:
        seen.add(before)
        run = runs[before]
    return run


def _model_of(entry: Entry) -> str:
    """Return the `model_name` of an entry, from the option or its run; empty if there is none."""
    return str(entry.metadata.get("model_name") or (entry.scores and entry.scores.metadata.get("model_name")) or "")


def models_of(entries: Sequence[Entry]) -> tuple[list[Entry], dict[str, ModelSamples]]:
    """Return (an entry per model, the samples by its name): entries with one `model_name` are samples of it, and its scores their means.

    An entry without model, or an unreadable one, is by itself. Instances that not all samples have are left out.
    """
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        model = _model_of(entry)
        groups.setdefault(f"model {model}" if model and entry.scores is not None else f"entry {entry.name}", []).append(entry)
    models, samples = [], dict[str, ModelSamples]()
    for key, model_sides in groups.items():
        name = key.removeprefix("model ") if len(model_sides) > 1 else model_sides[0].name
        runs = [entry.scores for entry in model_sides if entry.scores is not None]
        if runs:
            mean, questions = _mean_run(runs)
            models.append(replace(model_sides[0], name=name, scores=mean, is_new=any(entry.is_new for entry in model_sides)))
            if any(questions):
                clusters = clusters_of(mean, mean.ids) if len(mean.ids) > 1 else None
                judged_places = [at for at, scores in enumerate(questions) if scores]
                tags = [clusters[at] for at in judged_places] if clusters else None
                numbers = count_repeats([questions[at] for at in judged_places], clusters=tags)
                samples[name] = ModelSamples(model=name, runs=tuple(entry.name for entry in model_sides), numbers=numbers)
        else:
            models.append(model_sides[0])
    return models, samples


def _mean_run(runs: Sequence[RunScores]) -> tuple[RunScores, list[list[float]]]:
    """Return (the means of m runs over their shared instances, the judged scores of each instance, or of each record of the only one)."""
    first = runs[0]
    shared = set(first.ids).intersection(*(run.ids for run in runs))
    ids = [name for name in first.ids if name in shared]
    places = [{name: at for at, name in enumerate(run.ids)} for run in runs]
    worst = 1.0 if direction_of(sorted(filter(None, set(first.scorer)))) == "lower" else 0.0
    # Column -> the values of each instance in the runs that judged it.
    values_by_column: dict[str, list[list[float]]] = {}
    for column in ("score", "official", "strict"):
        values = [_numbers(getattr(run, column), run.status, worst) for run in runs]
        rows = ([values_of_run[at[name]] for values_of_run, at in zip(values, places, strict=True)] for name in ids)
        values_by_column[column] = [[value for value in row if value is not None] for row in rows]
    units = [_units_of(run, at, ids, runs, worst) for run, at in zip(runs, places, strict=True)]
    if len(ids) == 1 and units[0]:
        questions = by_unit([values_of_run[ids[0]] for values_of_run in units])
    else:
        questions = _without_own_scale(runs, ids, values_by_column["score"])
    return (first if len(runs) == 1 else _joint_run(runs, ids, places, values_by_column, units)), questions


def _without_own_scale(runs: Sequence[RunScores], ids: Sequence[str], scores: Sequence[list[float]]) -> list[list[float]]:
    """Return the scores of each instance, none for one that is measured on a scale of its own."""
    own_scale = ids_on_own_scale(runs)
    return [[] if name in own_scale else row for name, row in zip(ids, scores, strict=True)]


def _joint_run(
    runs: Sequence[RunScores],
    ids: Sequence[str],
    places: Sequence[Mapping[str, int]],
    values_by_column: Mapping[str, Sequence[Sequence[float]]],
    units: Sequence[Mapping[str, Any]],
) -> RunScores:
    """Return the runs as one: the means of the `values_by_column` values and of the units; a status that all runs have, else `scored`."""
    first = runs[0]
    columns: dict[str, Any] = {name: [fmean(row) if row else None for row in rows] for name, rows in values_by_column.items()}
    columns["status"] = []
    for name, values_of_run in zip(ids, values_by_column["score"], strict=True):
        status = {run.status[at[name]] for run, at in zip(runs, places, strict=True)}
        columns["status"].append(min(status) if len(status) == 1 or not values_of_run else "scored")
    columns["raw"] = _mean_raw(runs, ids, places)
    columns["own_scale"] = sorted(ids_on_own_scale(runs))
    columns["scorer"] = [first.scorer[places[0][name]] for name in ids]
    columns["units"] = {name: mean_units([values_of_run[name] for values_of_run in units]) for name in units[0]}
    columns["further"] = {name: _mean([run.further.get(name) for run in runs]) for run in runs for name in run.further}
    columns["metadata"] = {key: value for key, value in first.metadata.items() if all(run.metadata.get(key) == value for run in runs)}
    together = hashlib.sha256("|".join(run.submission_hash for run in runs).encode()).hexdigest()
    return replace(first, ids=ids, submission_hash=together, corrected=None, **columns)


def _mean_raw(runs: Sequence[RunScores], ids: Sequence[str], places: Sequence[Mapping[str, int]]) -> Sequence[float | None]:
    """Return the mean value of each instance on its own scale; nothing if no run has any."""
    measured = [(run.raw, at) for run, at in zip(runs, places, strict=True) if run.raw]
    return [_mean([raw[at[name]] for raw, at in measured]) for name in ids] if measured else ()


def _numbers(values: Sequence[float | None], status: Sequence[str], worst: float) -> list[float | None]:
    """Return the values with the worst one for each missing or faulty answer."""
    return [worst if status_of_value in ZERO else value for value, status_of_value in zip(values, status, strict=True)]


def _units_of(run: RunScores, at: Mapping[str, int], ids: Sequence[str], runs: Sequence[RunScores], worst: float) -> dict[str, Any]:
    """Return the units of a run's instances that have units in any of the runs."""
    scores = _numbers(run.score, run.status, worst)
    return {name: run.units.get(name) or [scores[at[name]]] for name in ids if any(other.units.get(name) for other in runs)}


def load_samples(
    names: Sequence[str],
    *,
    runs: Path = RUNS_FOLDER,
    gold: Path | None = None,
    rules: Rule | None = None,
    how: Mapping[str, Any] | None = None,
) -> tuple[list[RunSide], list[str]]:
    """Load the side of each name, and notes; `a+b+c` is one side, whose score on a question is the mean of the samples a, b and c."""
    parts = [_parts(name, runs) for name in names]
    loaded = iter(load_sides([name for part_names in parts for name in part_names], runs=runs, gold=gold, rules=rules, how=how))
    sides, notes = [], []
    for part_names in parts:
        samples = [next(loaded) for _ in part_names]
        _check_alike(samples[0], samples)
        sides.append(mean_side(samples) if len(samples) > 1 else samples[0])
        notes += [f"{sides[-1].label}: {note}" for note in unequal_samples(samples)] if len(samples) > 1 else []
    return sides, notes


def _parts(name: str, runs: Path) -> list[str]:
    if "+" not in name or exists(Path(name)) or find_named_run(name, runs) is not None:
        return [name]
    if not all(parts := name.split("+")):
        raise UsageError(f"{name}: a sample has no name", hint="run_1+run_2 are two samples of one side")
    return parts


def mean_side(samples: Sequence[RunSide]) -> RunSide:
    """Return the samples as one side: on each question, and in each record of one, the mean of those that were judged."""
    names = dict.fromkeys(name for side in samples for name in side.results)
    results = {name: _mean_result([side.results[name] for side in samples if name in side.results]) for name in names}
    # Corrections, labels and answers are of one sample each, and not of the mean.
    own: dict[str, Any] = {"corrected": None, "labels": {}, "unread": "", "source": "+".join(side.source for side in samples)}
    exchanges = samples[0].exchanges and samples[0].exchanges.without_answers()
    return replace(samples[0], label="+".join(side.label for side in samples), results=results, exchanges=exchanges, **own)


def _mean_result(results: Sequence[Result]) -> Result:
    """Return one question's samples as a result: means of the judged ones, and how many of them were right."""
    judged_results = [result for result in results if result.score is not None]
    raw = [value for result in results if (value := raw_value(result)) is not None]
    if raw:
        value = fmean(raw)
        reason = f"{value:.4g}, the mean of {count_words(len(raw), 'sample')}"
        return replace(results[0], status="scored", score=None, reason=reason, fault=None, details={"raw": value})
    if not judged_results:
        return results[0]
    n_right = sum(result.score == 1 for result in judged_results)
    means: dict[str, Any] = {name: _mean([getattr(result, name) for result in judged_results]) for name in ("score", "official", "strict")}
    reason = f"{n_right} of {count_words(len(judged_results), 'sample')} right"
    return replace(judged_results[0], status="scored", reason=reason, fault=None, details=mean_unit_details(judged_results), **means)


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are there, None of nothing."""
    present = [value for value in values if value is not None]
    return fmean(present) if present else None


def read_rater(name: str, runs: Path) -> Rater:
    """Return the rater of a run's name or folder, or of a `.csv` file. Raises `UsageError`."""
    if name.lower().endswith(".csv"):
        return read_labels(Path(name))
    return rater_of_run(one_run(name, runs))


def rater_of_run(entry: RunEntry) -> Rater:
    """Return the scores of a run under its rules. A missing or unjudged answer has no label.

    The reasons of a suite with hidden gold quote nothing of it.
    """
    labels: dict[str, Label] = {}
    reasons, silent = {}, {}
    hidden = bool(entry.run.get("gold", {}).get("hidden"))
    for result in entry.results():
        if result.status == "missing":
            silent[result.instance_id] = "missing"
        elif result.score is None:
            silent[result.instance_id] = "not judged" if raw_value(result) is None else "measured on a scale without a range"
        else:
            labels[result.instance_id] = float(result.score)
            reasons[result.instance_id] = (redact(result, "class") if hidden else result).reason
    clusters = clusters_by_id(entry.run.get("gold", {}).get("clusters") or (), entry.run.get("groups") or {})
    return Rater(name=entry.name, labels=labels, reasons=reasons, silent=silent, clusters=clusters)


# With more labels than this the confusion matrix is unreadable and kappa means little: use a threshold.
MOST_LABELS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One instance with two different labels, and both reasons."""

    instance_id: str
    labels: tuple[Label, Label]
    reasons: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected(HumanEstimate):
    """The mean that the `dear` rater, with labels for n instances, would give over all instances of the `cheap` one, n_others more."""

    cheap: str
    dear: str


def _correct_mean(raters: Mapping[str, Mapping[str, Label]], shared: Sequence[str], clusters: Mapping[str, str]) -> Corrected | None:
    """Return the mean of the rater with more labels, corrected by the other's; None if both rated the same, or labels are not numbers."""
    numbers = {name: {id_: label for id_, label in labels.items() if isinstance(label, float)} for name, labels in raters.items()}
    (dear, few), (cheap, many) = sorted(numbers.items(), key=lambda rater: len(rater[1]))
    others = {id_: label for id_, label in many.items() if id_ not in few}
    if not others or len(shared) < 2 or any(len(numbers[name]) < len(raters[name]) for name in raters):
        return None
    names = [clusters[id_] for id_ in (*shared, *others)] if clusters else ()
    corrected = corrected_mean([(many[id_], few[id_]) for id_ in shared], list(others.values()), clusters=names)
    mean = cut_to_scale(corrected, [*many.values(), *few.values()])
    assert mean.low is not None
    assert mean.high is not None
    ends = {"estimate": mean.estimate, "low": mean.low, "high": mean.high}
    return Corrected(cheap=cheap, dear=dear, plain=fmean(many.values()), **ends, n=len(shared), n_others=len(others))


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAgreement:
    """The agreement of two raters over n instances that both labelled; `left_out` counts the others by reason.

    `interval` is the 95 % interval of the raw agreement (Wilson's, or over the clusters of a run), `corrected` the mean of the rater with
    more labels, corrected by the other. `coefficients` are in [-1, 1], the weighted ones only for ordered labels.
    """

    names: tuple[str, str]
    n: int
    n_equal: int
    interval: tuple[float, float]
    coefficients: tuple[Agreement, ...]
    confusion: Confusion | None
    disagreements: tuple[Disagreement, ...]
    left_out: Mapping[str, int]
    threshold: float | None = None
    corrected: Corrected | None = None

    @property
    def observed(self) -> float:
        """The raw agreement in [0, 1]."""
        return self.n_equal / self.n

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        table = self.confusion
        counts = {"raters": list(self.names), "n": self.n, "n_equal": self.n_equal, "observed": self.observed}
        return {
            **{**counts, "interval_95": list(self.interval)},
            "coefficients": [{"method": c.method, "value": c.value, "note": c.note} for c in self.coefficients],
            "confusion": {"labels": list(table.labels), "counts": [list(row) for row in table.counts]} if table else None,
            "disagreements": [asdict(disagreement) for disagreement in self.disagreements],
            "left_out": dict(self.left_out),
            "threshold": self.threshold,
            "corrected": asdict(self.corrected) if self.corrected else None,
        }


def agree(a: Rater, b: Rater, *, threshold: float | None = None) -> RaterAgreement:
    """Compute the agreement of two raters over the instances that both labelled.

    Args:
        a: one rater.
        b: the other rater.
        threshold: turns every label into 1 if it is at least that, else 0, so that graded scores can be compared with right and wrong.

    Labels are compared as they are, a number with a number.

    Raises:
        UsageError: there is nothing to compare, or labels of a file are on another scale than the scores of a run.
    """
    left, right = dict(a.labels), dict(b.labels)
    if threshold is not None:
        left, right = _zero_or_one(a, threshold), _zero_or_one(b, threshold)
    _check_scales(a, b)
    ids = [id_ for id_ in left if id_ in right]
    if not ids:
        raise UsageError(f"{a.name} and {b.name} have no labelled instance in common", hint="both sides are joined by instance_id")
    first, second = [left[id_] for id_ in ids], [right[id_] for id_ in ids]
    equal = [float(x == y) for x, y in zip(first, second, strict=True)]
    clusters = _clusters_of_all((a, b), {**left, **right})
    labels = _labels_in_order({*first, *second})
    return RaterAgreement(
        names=(a.name, b.name),
        n=len(ids),
        n_equal=sum(map(int, equal)),
        interval=_interval_over(clusters, dict(zip(ids, equal, strict=True))),
        coefficients=tuple(_coefficients(first, second, labels)),
        confusion=confusion(first, second, labels=labels) if len(labels) <= MOST_LABELS else None,
        disagreements=tuple(
            Disagreement(instance_id=id_, labels=(left[id_], right[id_]), reasons=(a.reasons.get(id_, ""), b.reasons.get(id_, "")))
            for id_ in ids
            if left[id_] != right[id_]
        ),
        left_out=_reasons_for_omission(a, b),
        threshold=threshold,
        corrected=_correct_mean({a.name: left, b.name: right}, ids, clusters) if a.name != b.name else None,
    )


def _check_scales(a: Rater, b: Rater) -> None:
    """Raise `UsageError` for text against numbers, and for labels of a file beyond the scores of a run."""
    if a.is_numeric != b.is_numeric and a.labels and b.labels:
        labelled, other_labels = (a, b) if not a.is_numeric else (b, a)
        odd = next(label for label in labelled.labels.values() if isinstance(label, str))
        raise UsageError(
            f"the labels of {labelled.name} are text ({odd!r}), those of {other_labels.name} are numbers",
            hint="use 1 and 0, or right and wrong",
        )
    if bool(a.lines) != bool(b.lines):
        check_scale(a if a.lines else b)


def _clusters_of_all(raters: Sequence[Rater], ids: Collection[str]) -> Mapping[str, str]:
    """Return the clusters of a rater that has one for each of the instances; empty if none has, as for labels of other gold."""
    return next((rater.clusters for rater in raters if rater.clusters.keys() >= set(ids)), {})


def _interval_over(clusters: Mapping[str, str], equal: Mapping[str, float]) -> tuple[float, float]:
    interval = reported_interval(list(equal.values()), clusters=[clusters[id_] for id_ in equal] if clusters else None)
    return interval.low or 0.0, 1.0 if interval.high is None else interval.high


def _zero_or_one(rater: Rater, threshold: float) -> dict[str, Label]:
    if not rater.is_numeric:
        raise UsageError(f"the labels of {rater.name} are text", hint="a threshold needs numbers on both sides")
    return {id_: float(label >= threshold) for id_, label in rater.labels.items() if isinstance(label, float)}


def _labels_in_order(labels: set[Label]) -> list[Label]:
    """Return the labels in order. Whole numbers are filled up (1, 2, 4 becomes 1, 2, 3, 4): an unused label still lies in between."""
    numbers = sorted(label for label in labels if isinstance(label, float))
    if len(numbers) < len(labels):
        return sorted(labels, key=str)
    if all(number.is_integer() for number in numbers) and numbers[-1] - numbers[0] < MOST_LABELS:
        return [float(number) for number in range(int(numbers[0]), int(numbers[-1]) + 1)]
    return list(numbers)


def _coefficients(first: list[Label], second: list[Label], labels: list[Label]) -> list[Agreement]:
    """Return kappa and alpha; for numbers of more than two kinds also the coefficients that weight the distance of labels."""
    ordered = len(labels) > 2 and all(isinstance(label, float) for label in labels)
    coefficients = [cohen_kappa(first, second, labels=labels)]
    if ordered:
        coefficients += [cohen_kappa(first, second, weights=weights, labels=labels) for weights in ("linear", "quadratic")]
    coefficients.append(krippendorff_alpha([first, second]))
    if ordered:
        coefficients += [krippendorff_alpha([first, second], level=level) for level in ("ordinal", "interval")]
    return coefficients


def _reasons_for_omission(a: Rater, b: Rater) -> dict[str, int]:
    """Return why instances of only one side are not compared, with how many there are of each."""
    why: Counter[str] = Counter()
    for id_ in {**a.labels, **a.silent, **b.labels, **b.silent}:
        if id_ in a.labels and id_ in b.labels:
            continue
        for rater, other in ((a, b), (b, a)):
            if id_ in rater.silent:
                why[f"{rater.silent[id_]} in {rater.name}"] += 1
                break
            if id_ not in rater.labels:
                why[f"only in {other.name}"] += 1
                break
    return dict(why)


# Tolerances that the terminal shows, in addition to those with the largest gains.
_DECADES = tuple(10.0**exponent for exponent in range(-9, 7))


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """A run's score by tolerance: `steps` are (tolerance, score), the first at 0, one for each margin, ascending.

    `n` instances make the score; `near` are (instance, its score, its margin) of those whose verdict depends on a tolerance, nearest first;
    `note` says which margins are unknown.
    """

    name: str
    rules: str
    n: int
    score: float | None
    steps: tuple[tuple[float, float], ...]
    near: tuple[tuple[str, float, float], ...]
    note: str = ""

    def score_at(self, tolerance: float) -> float:
        """Return the score under a tolerance."""
        return next(score for step, score in reversed(self.steps) if step <= tolerance)

    def steps_to_show(self) -> list[tuple[float, float]]:
        """Return (tolerance, score) at 0 and at each power of ten between the smallest and the largest margin."""
        if not self.near:
            return [(0.0, self.score_at(0.0))]
        low, high = self.near[0][2], self.near[-1][2]
        decades = [tolerance for tolerance in _DECADES if low / 10 < tolerance < high * 10]
        return [(tolerance, self.score_at(tolerance)) for tolerance in (0.0, *(decades or [low]))]

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return {
            **{"run": self.name, "rules": self.rules, "n": self.n, "score": self.score},
            "steps": [{"tolerance": tolerance, "score": score} for tolerance, score in self.steps],
            "near": [{"instance_id": name, "score": score, "margin": margin} for name, score, margin in self.near],
        }


def _margin_of(result: Result) -> float | None:
    margin = result.detail("margin")
    return float(margin) if isinstance(margin, int | float) and not isinstance(margin, bool) else None


def find_margins(name: str, results: Sequence[Result], rules: Rule | None, *, label: str = "", note: str = "") -> Margins:
    """Compute the score of n results by tolerance, under `rules` or, if None, those of the run, named by `label`.

    What is in no mean of the run is left out; what gold prevented counts 0, as there.
    """
    values: list[tuple[Result, float]] = []
    near: list[tuple[str, float, float]] = []
    own_scale = own_scale_ids(results)
    for result in results:
        value: float | None = getattr(result, rules or "score")
        if result.instance_id in own_scale or (value is None and is_ungraded(result)):
            continue
        values.append((result, value or 0.0))
        margin = _margin_of(result)
        if value is not None and margin is not None:
            near.append((result.instance_id, value, margin))
    near.sort(key=lambda item: (item[2], item[0]))
    is_judged = any(result.score is not None for result, _ in values)
    score = math.fsum(value for _, value in values) / len(values) if is_judged else None
    steps = tuple(_steps(sum(value for _, value in values), len(values), near))
    return Margins(name=name, rules=rules or label, n=len(values), score=score, steps=steps, near=tuple(near), note=note)


def _steps(total: float, n: int, near: Sequence[tuple[str, float, float]]) -> Iterator[tuple[float, float]]:
    """Yield (tolerance, score) at 0 and at each margin of `near`; n instances have `total` points."""
    fixed = total - sum(value for _, value, _ in near)
    for tolerance in sorted({0.0, *(margin for _, _, margin in near)}):
        points = fixed + sum(1.0 if tolerance >= margin else 0.0 if value == 1 else value for _, value, margin in near)
        yield tolerance, points / n if n else 0.0
