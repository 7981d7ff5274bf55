"""Human labels of a run's answers, and the means of scores and differences corrected by them."""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalsuite.core.errors import UsageError
from evalsuite.core.status import ZERO, is_ungraded
from evalsuite.core.types import Result
from evalsuite.readers.csv_table import read_named_rows
from evalsuite.runs.run_files import write_atomically
from evalsuite.runs.run_folder import labels_beside
from evalsuite.stats.intervals import corrected_mean

Label = float | str
ID_COLUMNS, LABEL_COLUMNS, REASON_COLUMNS = ("instance_id", "id"), ("label", "score", "verdict"), ("reason", "comment", "why", "note")
# Words for right and wrong; a file with only these is read as 1 and 0, so that it can be compared with a run.
_WORDS = {
    **dict.fromkeys(("right", "correct", "true", "yes", "pass", "passed"), 1.0),
    **dict.fromkeys(("wrong", "incorrect", "false", "no", "fail", "failed"), 0.0),
}
Labels = Mapping[str, float]
# A score or difference per case: (the scorer's value, the human value; None if not labelled).
Case = tuple[float, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """A rater by name: labels and reasons (notes) by instance id; `silent` gives the reason for each instance without a label.

    `lines` are the line numbers of the labels in their file, by instance id; empty if they come from a run.
    """

    name: str
    labels: Mapping[str, Label]
    reasons: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_numeric(self) -> bool:
        """Whether every label is a number."""
        return all(isinstance(label, float) for label in self.labels.values())


def read_labels(path: Path) -> Rater:
    """Read the labels of a CSV file with the columns instance_id, label (or score), and optionally a reason.

    Numbers are read as such; a file of `right` and `wrong` (correct, yes, pass, true ...) as 1 and 0; other labels stay text. An empty
    label is none. Raises `UsageError` with the line of a repeated id or of a row without one.
    """
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
            raise UsageError(f"{path}:{line}: {f'{id_!r} stands twice' if id_ else 'no instance_id'}", hint="one row for each instance")
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
    raise UsageError(f"{path}:1: no column {names[0]!r}", hint=f"found: {', '.join(header) or 'nothing'}; needed: instance_id and label")


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
    """Return instance id -> label of a CSV file of `read_labels`. Raises `UsageError` unless labels are numbers, or right and wrong."""
    found = read_labels(file)
    if odd := next((name for name, label in found.labels.items() if isinstance(label, str) and _value_of(label) is None), None):
        what = f"the label {found.labels[odd]!r} is no number"
        raise UsageError(f"{file}:{found.lines[odd]}: {what}", hint="use 1 and 0, or right and wrong")
    return {name: float(label) for name, label in found.labels.items()}


def known_labels(run_folder: Path | None) -> tuple[dict[str, float], str]:
    """Return (labels stored next to a run by the viewer or `run --labels`, why they are not used if their file is broken).

    Nobody requested these labels now, so a broken file is a note and no error.
    """
    path = labels_beside(run_folder) if run_folder is not None else None
    try:
        return labels_of(path) if path is not None and path.is_file() else {}, ""
    except UsageError as error:
        return {}, f"the labels beside the run are not used: {error.message} ({error.hint})"


def keep_labels(file: Path, run_folder: Path) -> None:
    """Store the labels of a file next to a run, where `report`, `compare` and the viewer find them; labels of other instances stay.

    Raises `UsageError`, `OutputError`.
    """
    path = labels_beside(run_folder)
    kept = written_labels(path) if path.is_file() else {}
    write_labels(path, kept | {name: said for name, said in written_labels(file).items() if said[0]})


def written_labels(path: Path) -> dict[str, tuple[str, str]]:
    """Return instance id -> (label, note) of a file of `read_labels`, with an empty label for a note alone. Raises `UsageError`."""
    rater = read_labels(path)
    words = {name: f"{label:g}" if isinstance(label, float) else label for name, label in rater.labels.items()}
    return {name: (words.get(name, ""), note) for name, note in rater.reasons.items()}


def write_labels(path: Path, labels: Mapping[str, tuple[str, str]]) -> None:
    """Write (label, note) by instance id, except where both are empty; the file is replaced atomically. Raises `OutputError`."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("instance_id", "label", "reason"))
    rows.writerows((name, *said) for name, said in labels.items() if any(said))
    write_atomically(path, text.getvalue())


def human_score(results: Sequence[Result], labels: Labels) -> HumanEstimate | None:
    """Return the score that people would give; None for fewer than two labels of scored answers.

    A missing answer is worth 0, as in the score; unscored answers are left out.
    """
    graded = [result for result in results if not is_ungraded(result)]
    scored = [result for result in graded if result.status == "scored" and result.score is not None]
    cases = [(float(result.score or 0.0), labels.get(result.instance_id)) for result in scored]
    return _said(cases, n_all=len(graded))


def human_difference(
    pairs: Sequence[tuple[Result, Result]], value: Callable[[Result], float | None], labels: tuple[Labels, Labels]
) -> HumanEstimate | None:
    """Return the mean difference b - a that people would find over pairs scored on both sides; None for fewer than two labelled on both.

    `value` gives a result's score. A missing answer needs no label.
    """
    cases: list[Case] = []
    for a, b in pairs:
        if a.status in ZERO and b.status in ZERO:
            continue
        said = [0.0 if one.status in ZERO else own.get(one.instance_id) for one, own in zip((a, b), labels, strict=True)]
        left, right = said
        cases.append(((value(b) or 0.0) - (value(a) or 0.0), None if left is None or right is None else right - left))
    return _said(cases, n_all=len(pairs))


def _said(cases: Sequence[Case], *, n_all: int) -> HumanEstimate | None:
    """Return the corrected mean over `n_all` cases; those not listed are surely 0."""
    both = [(own, label) for own, label in cases if label is not None]
    if len(both) < 2:
        return None
    found = corrected_mean(both, [own for own, label in cases if label is None])
    assert found.low is not None
    assert found.high is not None
    share = len(cases) / n_all
    return HumanEstimate(
        plain=math.fsum(own for own, _ in cases) / n_all,
        estimate=found.estimate * share,
        low=found.low * share,
        high=found.high * share,
        n=len(both),
        n_others=len(cases) - len(both),
    )
