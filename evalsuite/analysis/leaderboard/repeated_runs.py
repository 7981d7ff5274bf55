"""Repeated runs of one model: its answers are samples of the same questions."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from evalsuite.analysis.leaderboard.pairing import RunSide, direction_of, load_sides, what_differs
from evalsuite.core.errors import UsageError
from evalsuite.core.status import ZERO, raw_value
from evalsuite.core.types import Result, Rule
from evalsuite.runs.history import RUNS_FOLDER, named_run
from evalsuite.runs.leaderboard_entries import Entry
from evalsuite.runs.run_folder import RUN
from evalsuite.runs.run_scores import RunScores
from evalsuite.stats.intervals import Repeats, repeated
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
        found = {"mean": interval["estimate"], "se": interval["se"], "interval_95": ends}
        return {"model": self.model, "runs": list(self.runs), **found, **numbers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Models in the order in which they were named; `notes` say what differs between questions."""

    suite: str
    rules: str
    models: tuple[ModelSamples, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        models = [one.to_json() for one in self.models]
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
    notes = list(notes)
    models = []
    for model, own in groups.items():
        if len(own) < 2:
            raise UsageError(f"one run of {model or own[0].label}: samples are two or more", hint="name every run of the model")
        _check_alike(sides[0], own)
        notes += [f"{model}: {note}" if model else note for note in unequal_samples(own)]
        questions = _questions(own)
        if not questions:
            if any(raw_value(result) is not None for side in own for result in side.results.values()):
                hint = "`evalsuite compare A1+A2 B1+B2` compares means in its own unit"
                raise UsageError("samples are counted right or wrong, and this metric has a scale of its own", hint=hint)
            raise UsageError(f"no question of {model or own[0].label} was judged", hint="set up what is missing and score them again")
        label = model or f"{len(own)} runs"
        models.append(ModelSamples(model=label, runs=tuple(side.label for side in own), numbers=repeated(questions)))
    return Samples(suite=sides[0].suite, rules=sides[0].rules, models=tuple(models), notes=tuple(notes))


def _check_alike(base: RunSide, sides: Sequence[RunSide]) -> None:
    for side in sides:
        if differing := what_differs(base, side):
            hint = "score them again under one signature"
            raise UsageError(f"{base.label} and {side.label} are not samples of one model: {', '.join(differing)}", hint=hint)


def _scores_by_question(sides: Sequence[RunSide]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for side in sides:
        for name, result in side.results.items():
            found.setdefault(name, []).extend([] if result.score is None else [result.score])
    return found


def _questions(sides: Sequence[RunSide]) -> list[list[float]]:
    """Return the judged scores of each question's samples: of an instance, or of each record of the only one."""
    by_question = _scores_by_question(sides)
    if len(by_question) == 1:
        judged = [result for side in sides for result in side.results.values() if result.score is not None]
        units = [units_of(result) or [result.score] for result in judged]
        if any(len(own) > 1 for own in units):
            return by_unit(units)
    return [scores for scores in by_question.values() if scores]


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
    from evalsuite.runs.rescoring import FROM

    runs = {Path(run.folder).name: run for entry in entries if (run := entry.scores) is not None and entry.is_run}
    # Run names of a history contain their start; other names do not.
    all_say_when = all(_BEGAN.match(name) for name in runs)
    newest: dict[Any, tuple[Any, str]] = {}
    for entry in entries:
        key, when = tuple[str, ...]((entry.name,)), ("", 0)
        if (run := entry.scores) is not None and entry.is_run and run.submission_hash:
            first, seen = run, set[str]()
            while (before := str(first.metadata.get(FROM))) in runs and before not in seen:
                seen.add(before)
                first = runs[before]
            key = (_model_of(entry), first.submission_hash, first.submission, str(first.metadata.get("sample")))
            file = Path(run.folder) / RUN
            when = (file.parent.name[:15] if all_say_when else "", file.stat().st_mtime_ns if file.exists() else 0)
        if key not in newest or when > newest[key][0]:
            newest[key] = (when, entry.name)
    kept = {name for _, name in newest.values()}
    older = [entry.name for entry in entries if entry.name not in kept]
    notes = [f"{', '.join(older)}: scored again in a newer run, which is the sample that counts"] if older else []
    return [entry for entry in entries if entry.name in kept], notes


def _model_of(entry: Entry) -> str:
    """Return the `model_name` of an entry, from the option or its run; empty if there is none."""
    return str(entry.metadata.get("model_name") or (entry.scores and entry.scores.metadata.get("model_name")) or "")


def models_of(entries: Sequence[Entry]) -> tuple[list[Entry], dict[str, ModelSamples]]:
    """Return (an entry per model, the samples by its name): entries with one `model_name` are samples of it, and its scores their means.

    An entry without model, or an unreadable one, is by itself. Instances that not all samples have are left out.
    """
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        said = _model_of(entry)
        groups.setdefault(f"model {said}" if said and entry.scores is not None else f"entry {entry.name}", []).append(entry)
    found, samples = [], dict[str, ModelSamples]()
    for key, own in groups.items():
        name = key.removeprefix("model ") if len(own) > 1 else own[0].name
        runs = [entry.scores for entry in own if entry.scores is not None]
        if runs:
            mean, questions = _mean_run(runs)
            found.append(replace(own[0], name=name, scores=mean, is_new=any(entry.is_new for entry in own)))
            if any(questions):
                numbers = repeated([scores for scores in questions if scores])
                samples[name] = ModelSamples(model=name, runs=tuple(entry.name for entry in own), numbers=numbers)
        else:
            found.append(own[0])
    return found, samples


def _mean_run(runs: Sequence[RunScores]) -> tuple[RunScores, list[list[float]]]:
    """Return (the means of m runs over the instances that all have, the judged scores of each instance, or of each record of the only
    one).
    """
    first = runs[0]
    shared = set(first.ids).intersection(*(run.ids for run in runs))
    ids = [name for name in first.ids if name in shared]
    worst = 1.0 if direction_of(sorted({scorer for scorer in first.scorer if scorer})) == "lower" else 0.0
    places = [{name: at for at, name in enumerate(run.ids)} for run in runs]

    def judged(column: str) -> list[list[float]]:
        rows = []
        for name in ids:
            pairs = [(getattr(run, column)[at[name]], run.status[at[name]]) for run, at in zip(runs, places, strict=True)]
            rows.append([worst if status in ZERO else value for value, status in pairs if value is not None or status in ZERO])
        return rows

    counted = [[worst if status in ZERO else value for value, status in zip(run.score, run.status, strict=True)] for run in runs]
    scores, official, strict = judged("score"), judged("official"), judged("strict")
    status = []
    for name, own in zip(ids, scores, strict=True):
        said = {run.status[at[name]] for run, at in zip(runs, places, strict=True)}
        status.append(said.pop() if len(said) == 1 else "scored" if own else min(said))
    units_of_run = [
        {name: run.units.get(name) or [values[at[name]]] for name in ids if any(run.units.get(name) for run in runs)}
        for run, at, values in zip(runs, places, counted, strict=True)
    ]
    questions = by_unit([own[ids[0]] for own in units_of_run]) if len(ids) == 1 and units_of_run[0] else scores
    if len(runs) == 1:
        return first, questions
    means = {
        name: [sum(row) / len(row) if row else None for row in rows]
        for name, rows in (("score", scores), ("official", official), ("strict", strict))
    }
    scorers = [first.scorer[places[0][name]] for name in ids]
    units = {name: mean_units([own[name] for own in units_of_run]) for name in units_of_run[0]}
    together = hashlib.sha256("|".join(run.submission_hash for run in runs).encode()).hexdigest()
    metadata = {key: value for key, value in first.metadata.items() if all(run.metadata.get(key) == value for run in runs)}
    columns: dict[str, Any] = {**means, "ids": ids, "status": status, "scorer": scorers, "units": units, "raw": (), "metadata": metadata}
    return replace(first, submission_hash=together, corrected=None, **columns), questions


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
    loaded = iter(load_sides([name for own in parts for name in own], runs=runs, gold=gold, rules=rules, how=how))
    sides, notes = [], []
    for own in parts:
        samples = [next(loaded) for _ in own]
        _check_alike(samples[0], samples)
        sides.append(mean_side(samples) if len(samples) > 1 else samples[0])
        notes += [f"{sides[-1].label}: {note}" for note in unequal_samples(samples)] if len(samples) > 1 else []
    return sides, notes


def _parts(name: str, runs: Path) -> list[str]:
    if "+" not in name or Path(name).exists() or named_run(name, runs) is not None:
        return [name]
    if not all(parts := name.split("+")):
        raise UsageError(f"{name}: a sample has no name", hint="run_1+run_2 are two samples of one side")
    return parts


def mean_side(samples: Sequence[RunSide]) -> RunSide:
    """Return the samples as one side: on each question, and in each record of one, the mean of those that were judged."""
    names = dict.fromkeys(name for side in samples for name in side.results)
    results = {name: _mean_result([side.results[name] for side in samples if name in side.results]) for name in names}
    return replace(samples[0], label="+".join(side.label for side in samples), results=results)


def _mean_result(results: Sequence[Result]) -> Result:
    """Return one question's samples as a result: means of the judged ones, and how many of them were right."""

    def mean(values: Sequence[float | None]) -> float | None:
        judged = [value for value in values if value is not None]
        return sum(judged) / len(judged) if judged else None

    judged = [result for result in results if result.score is not None]
    raw = [value for result in results if (value := raw_value(result)) is not None]
    if raw:
        value = sum(raw) / len(raw)
        return replace(
            results[0],
            status="scored",
            score=None,
            reason=f"{value:.4g}, the mean of {len(raw)} samples",
            fault=None,
            details={"raw": value},
        )
    if not judged:
        return results[0]
    n_right = sum(result.score == 1 for result in judged)
    return replace(
        judged[0],
        status="scored",
        score=mean([result.score for result in judged]),
        official=mean([result.official for result in judged]),
        strict=mean([result.strict for result in judged]),
        reason=f"{n_right} of {len(judged)} samples right",
        fault=None,
        details=mean_unit_details(judged),
    )
