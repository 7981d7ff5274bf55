"""Scores of a run corrected by gold's errata, and by human labels of its answers.

The raw score stays *the* score. Waived instances leave the denominator, patched ones are scored a second time; the errata and their effect
are in run.json under `corrections`. Labels of some answers correct the mean of the scorer's values of all.
"""

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import UsageError, join_names
from evalsuite.core.files import is_file
from evalsuite.core.status import ZERO, is_ungraded
from evalsuite.core.types import Result, Rule, Task
from evalsuite.gold.errata import ERRATA_FILE, Errata, Erratum
from evalsuite.runs.executors import Execute
from evalsuite.runs.run_files import write_atomically
from evalsuite.runs.run_folder import labels_path
from evalsuite.runs.summary import summarise
from evalsuite.stats.intervals import corrected_mean, cut_to_scale, reported_interval

NUMBERS = ("score", "official", "strict")
_LISTS = ("applied", "stale", "expired")


def correct(tasks: Sequence[Task], results: Sequence[Result], errata: Errata | None, execute: Execute, *, rules: Rule) -> dict[str, Any]:
    """Return the `corrections` object of run.json; empty if gold has no errata.

    `applied`, `stale` and `expired` list the entries about the n scored instances. An applied entry has the raw value of its instance and
    the `corrected` one (None: waived); the numbers are those of `sum_up`.
    """
    if errata is None:
        return {}
    by_id = {task.instance.instance_id: task for task in tasks}
    before = {result.instance_id: result for result in results}
    applied = [entry for entry in errata.of_state("applied") if entry.id in by_id]
    patched = [replace(by_id[entry.id], instance=entry.instance) for entry in applied if entry.instance is not None]
    after = {result.instance_id: result for result in execute(patched)} if patched else {}
    rows = [
        {**entry.to_json(), "raw": _numbers(before[entry.id]), "corrected": _numbers(after[entry.id]) if entry.id in after else None}
        for entry in applied
    ]
    return {
        "file": ERRATA_FILE,
        "hash": errata.hash,
        "day": errata.day.isoformat(),
        **sum_up(results, rows, rules=rules),
        "applied": rows,
        "stale": [{**entry.to_json(), "gold_now": entry.gold_now} for entry in errata.of_state("stale") if entry.id in by_id],
        "expired": [entry.to_json() for entry in errata.of_state("expired") if entry.id in by_id],
    }


def sum_up(results: Sequence[Result], applied: Iterable[Mapping[str, Any]], *, rules: Rule) -> dict[str, Any]:
    """Return the numbers of the corrected score: those of a summary over the results with applied entries replaced.

    Times `n_gold`, `score` is raw points - raw points of waived and patched instances + corrected points of the patched ones.
    """
    by_id = {str(row["instance_id"]): row["corrected"] for row in applied}
    counted_results = [
        replace(result, **row) if (row := by_id.get(result.instance_id)) is not None else result
        for result in results
        if by_id.get(result.instance_id, result) is not None
    ]
    numbers = summarise(counted_results, rules=rules)
    summary = numbers.to_json()
    return {
        "n_gold": numbers.n_gold,
        "n_judged": summary["n_judged"],
        "n_right": numbers.n_right,
        "n_waived": sum(row is None for row in by_id.values()),
        "n_patched": sum(row is not None for row in by_id.values()),
        **{key: summary[key] for key in (*NUMBERS, "score_low", "score_high", "interval_95")},
    }


def warn_unapplied(errata: Errata | None, tasks: Sequence[Task]) -> list[str]:
    """Return a warning for each stale or expired entry about a scored instance."""
    if errata is None:
        return []
    ids = {task.instance.instance_id for task in tasks}
    return [_warning(entry) for entry in errata.entries if entry.state != "applied" and entry.id in ids]


def _warning(entry: Erratum) -> str:
    return f"{entry.where}: the erratum of {entry.id!r} is {entry.state} and not applied: {entry.words()}"


def _numbers(result: Result) -> dict[str, Any]:
    return {"status": result.status, **{key: getattr(result, key) for key in NUMBERS}}


def merge_corrections(runs: Sequence[Mapping[str, Any]], results: Sequence[Result]) -> dict[str, Any]:
    """Return `{"corrections": ...}` of a whole run from the `run.json` objects of its shards; empty if they have none.

    Raises `UsageError` if the errata changed between two shards.
    """
    corrections = [run["corrections"] for run in runs if run.get("corrections")]
    if not corrections:
        return {}
    if len(corrections) < len(runs) or len({(each["hash"], each["day"]) for each in corrections}) > 1:
        raise UsageError(f"{ERRATA_FILE} is not the same in all shards", hint="run them again from one gold, on one day")
    lists = {key: sorted((row for each in corrections for row in each[key]), key=_line) for key in _LISTS}
    return {"corrections": {**corrections[0], **sum_up(results, lists["applied"], rules=runs[0]["options"]["rules"]), **lists}}


def _line(row: Mapping[str, Any]) -> int:
    """Return the line of the errata file on which an entry begins."""
    return int(str(row["where"]).rpartition(":")[2])


Label = float | str
ID_COLUMNS, LABEL_COLUMNS, REASON_COLUMNS = ("instance_id", "id"), ("label", "score", "verdict"), ("reason", "comment", "why", "note")
# Words for right and wrong; a file with only these is read as 1 and 0, so that it can be compared with a run.
_WORDS = {
    **dict.fromkeys(("right", "correct", "true", "yes", "pass", "passed"), 1.0),
    **dict.fromkeys(("wrong", "incorrect", "false", "no", "fail", "failed"), 0.0),
}
Labels = Mapping[str, float]
# A score or difference per case: (the scorer's value, the human value; None if not labelled; the cluster, None without clusters).
Case = tuple[float, float | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """A rater by name: labels and reasons (notes) by instance id; `silent` gives the reason for each instance without a label.

    `lines` are the line numbers of the labels in their file, by instance id; empty if they come from a run. `clusters` are those of the
    run's suite, by instance id.
    """

    name: str
    labels: Mapping[str, Label]
    reasons: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_numeric(self) -> bool:
        """Whether every label is a number."""
        return all(isinstance(label, float) for label in self.labels.values())


def read_labels(path: Path) -> Rater:
    """Read the labels of a CSV file with the columns instance_id, label (or score), and optionally a reason.

    Numbers stay numbers, `right` and `wrong` (correct, yes, pass, true ...) become 1 and 0, other labels stay text. An empty label is none.
    Raises `UsageError` with the line of a repeated id or of a row without one.
    """
    from evalsuite.readers.csv_table import read_named_rows

    names, rows = read_named_rows(path)
    header = [name.strip().lower() for name in names]
    id_at, label_at = (_label_column(header, names, path) for names in (ID_COLUMNS, LABEL_COLUMNS))
    reason_at = next((header.index(name) for name in REASON_COLUMNS if name in header), None)
    texts, reasons, silent, lines = {}, {}, {}, {}
    for line, row in rows:
        cells = [cell.strip() for cell in row] + [""] * (len(header) - len(row))
        if not any(cells):
            continue
        id_ = cells[id_at]
        if not id_ or id_ in texts or id_ in silent:
            hint = "one row for each instance, a file for each person"
            raise UsageError(f"{path}:{line}: {f'{id_!r} stands twice' if id_ else 'no instance_id'}", hint=hint)
        reasons[id_] = cells[reason_at] if reason_at is not None else ""
        if not cells[label_at]:
            silent[id_] = "no label"
            continue
        texts[id_], lines[id_] = cells[label_at], line
    labels = dict(zip(texts, _labels_of_texts(list(texts.values())), strict=True))
    return Rater(name=path.name, labels=labels, reasons=reasons, silent=silent, lines=lines)


def _label_column(header: Sequence[str], names: Sequence[str], path: Path) -> int:
    for name in names:
        if name in header:
            return header.index(name)
    from evalsuite.compare.messages import cut

    raise UsageError(
        f"{path}:1: no column {names[0]!r}", hint=f"found: {join_names(list(map(cut, header))) or 'nothing'}; needed: instance_id and label"
    )


def _labels_of_texts(texts: Sequence[str]) -> list[Label]:
    """Return all labels as numbers if all can be, else all as text: one scale per rater."""
    values = [_value_of(text) for text in texts]
    if all(value is not None for value in values):
        return [value for value in values if value is not None]
    return list(texts)


def _value_of(text: str) -> float | None:
    """Return the finite number of a label or of its word; None for other text."""
    try:
        value = _WORDS[text.lower()] if text.lower() in _WORDS else float(text)
    except ValueError:
        return None
    return value + 0.0 if math.isfinite(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanEstimate:
    """The mean that people would give, with its 95 % interval, from their labels of n cases and the scorer's values of n_others more.

    `plain` is the scorer's own mean. The estimate is valid if the labelled cases were drawn at random.
    """

    plain: float
    estimate: float
    low: float
    high: float
    n: int
    n_others: int


def labels_of(file: Path) -> dict[str, float]:
    """Return instance id -> label of a CSV file of `read_labels`.

    Raises:
        UsageError: a label is neither a number from 0 to 1 nor right or wrong.
    """
    labels = read_labels(file)
    if odd := next((name for name, label in labels.labels.items() if isinstance(label, str) and _value_of(label) is None), None):
        what = f"the label {labels.labels[odd]!r} is no number"
        raise UsageError(f"{file}:{labels.lines[odd]}: {what}", hint="use 1 and 0, or right and wrong")
    check_scale(labels)
    return {name: float(label) for name, label in labels.labels.items()}


def check_scale(rater: Rater) -> None:
    """Raise `UsageError` for the labels of a file that no score can be compared with: a number beyond 0 and 1."""
    if (odd := next((name for name, label in rater.labels.items() if isinstance(label, float) and not 0 <= label <= 1), None)) is not None:
        what = f"the label {rater.labels[odd]:g} is not from 0 to 1, as scores are"
        raise UsageError(f"{rater.name}:{rater.lines[odd]}: {what}", hint="divide by the top of its scale, or use right and wrong")


def known_labels(run_folder: Path | None) -> tuple[dict[str, float], str]:
    """Return (labels stored next to a run by the viewer or `run --labels`, why they are not used if their file is broken).

    Nobody requested these labels now, so a broken file is a note and no error.
    """
    path = labels_path(run_folder) if run_folder is not None else None
    try:
        return labels_of(path) if path is not None and is_file(path) else {}, ""
    except UsageError as error:
        return {}, f"the labels beside the run are not used: {error.message} ({error.hint})"


def keep_labels(file: Path, run_folder: Path) -> None:
    """Store the labels of a file next to a run, where `report`, `compare` and the viewer find them; labels of other instances stay.

    Raises `UsageError`, `OutputError`.
    """
    path = labels_path(run_folder)
    old_labels = read_label_texts(path) if is_file(path) else {}
    write_labels(path, old_labels | {name: row for name, row in read_label_texts(file).items() if row[0]})


def read_label_texts(path: Path) -> dict[str, tuple[str, str]]:
    """Return instance id -> (label, note) of a file of `read_labels`, with an empty label for a note alone. Raises `UsageError`."""
    rater = read_labels(path)
    words = {name: f"{label:g}" if isinstance(label, float) else label for name, label in rater.labels.items()}
    return {name: (words.get(name, ""), note) for name, note in rater.reasons.items()}


def write_labels(path: Path, labels: Mapping[str, tuple[str, str]]) -> None:
    """Write (label, note) by instance id, except where both are empty; the file is replaced atomically. Raises `OutputError`."""
    import csv

    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("instance_id", "label", "reason"))
    rows.writerows((name, *row) for name, row in labels.items() if any(row))
    write_atomically(path, text.getvalue())


def human_score(results: Sequence[Result], labels: Labels, clusters: Mapping[str, str] | None = None) -> HumanEstimate | None:
    """Return the score that people would give; None for fewer than two labels of scored answers.

    A missing answer is worth 0, as in the score; unscored answers are left out. `clusters` names the cluster of each instance.
    """
    graded = [result for result in results if not is_ungraded(result)]
    scored = [result for result in graded if result.status == "scored" and result.score is not None]
    of, known = clusters or {}, {result.instance_id for result in scored}
    cases = [(float(r.score or 0.0), labels.get(r.instance_id), of.get(r.instance_id)) for r in scored]
    return _correct_by_labels(cases, [of.get(r.instance_id) for r in graded if r.instance_id not in known], least=0.0)


def human_difference(
    pairs: Sequence[tuple[Result, Result]],
    value: Callable[[Result], float | None],
    labels: tuple[Labels, Labels],
    clusters: Mapping[str, str] | None = None,
) -> HumanEstimate | None:
    """Return the mean difference b - a that people would find over pairs scored on both sides; None for fewer than two labelled on both.

    `value` gives a result's score. A missing answer needs no label. `clusters` names the cluster of each instance.
    """
    cases: list[Case] = []
    absent: list[str | None] = []
    for a, b in pairs:
        if a.status in ZERO and b.status in ZERO:
            absent.append((clusters or {}).get(a.instance_id))
            continue
        scores = [0.0 if result.status in ZERO else values.get(result.instance_id) for result, values in zip((a, b), labels, strict=True)]
        left, right = scores
        label = None if left is None or right is None else right - left
        cases.append(((value(b) or 0.0) - (value(a) or 0.0), label, (clusters or {}).get(a.instance_id)))
    return _correct_by_labels(cases, absent, least=-1.0)


def _correct_by_labels(cases: Sequence[Case], absent: Sequence[str | None], *, least: float) -> HumanEstimate | None:
    """Return the corrected mean over all cases, of a scale from `least` to 1; the `absent`, by cluster, are surely 0.

    How many are absent is as uncertain as the mean of the others: both distances to an end are added in quadrature (Donner and Zou 2012).
    """
    both = [(score, label) for score, label, _ in cases if label is not None]
    if len(both) < 2:
        return None
    others = [case for case in cases if case[1] is None]
    names = [name for *_, name in (*(case for case in cases if case[1] is not None), *others)]
    clusters = () if None in names else names
    values = [value for score, label, _ in cases for value in (score, label) if value is not None]
    mean = cut_to_scale(corrected_mean(both, [score for score, *_ in others], clusters=clusters), values, least=least)
    assert mean.low is not None
    assert mean.high is not None
    share, down, up = _share_present([name for *_, name in cases], absent)
    if mean.estimate < 0:
        up, down = down, up
    middle, size = mean.estimate * share, abs(mean.estimate)
    return HumanEstimate(
        plain=math.fsum(score for score, *_ in cases) / (len(cases) + len(absent)),
        estimate=middle,
        low=max(min(least, mean.low), middle - math.hypot((mean.estimate - mean.low) * share, size * down)),
        high=min(max(1.0, mean.high), middle + math.hypot((mean.high - mean.estimate) * share, size * up)),
        n=len(both),
        n_others=len(others),
    )


def _share_present(present: Sequence[str | None], absent: Sequence[str | None]) -> tuple[float, float, float]:
    """Return (the share of cases that are present, the distances to both ends of its interval); cases are named by their cluster."""
    if not absent:
        return 1.0, 0.0, 0.0
    tags = [*present, *absent]
    share = reported_interval([1.0] * len(present) + [0.0] * len(absent), clusters=None if None in tags else tags)
    low, high = share.low or 0.0, 1.0 if share.high is None else share.high
    return share.estimate, share.estimate - low, high - share.estimate
