"""Labels that people gave a run's answers, and what follows of them for all: means of scores and differences, corrected by their labels."""

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
# Words people write for right and wrong; a file that holds nothing else is read as 1 and 0, so that it can be held to a run.
_WORDS = {
    **dict.fromkeys(("right", "correct", "true", "yes", "pass", "passed"), 1.0),
    **dict.fromkeys(("wrong", "incorrect", "false", "no", "fail", "failed"), 0.0),
}
Labels = Mapping[str, float]
# A score or a difference with each case's labels: (what the scorer says, what people say; None where they were not asked).
Case = tuple[float, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """A rater by name: labels and reasons (notes) by instance id; `silent` says of each instance without a label why it has none.

    `lines` are those of the labels in their file, by instance id; empty where they come from a run.
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
    """The labels of a CSV file with the columns instance_id and label (or score), and a reason where there is such a column.

    Numbers are read as such; a file of `right` and `wrong` (correct, yes, pass, true ...) as 1 and 0; other labels stay text. An empty
    label is none. Raises `UsageError` with the line of an id that stands twice or of a row without one.
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
    """All labels as numbers where all can be, else all as they stand: one scale for one rater."""
    values = [_value_of(text) for text in texts]
    if all(value is not None for value in values):
        return [value for value in values if value is not None]
    return list(texts)


def _value_of(text: str) -> float | None:
    """The finite number that a label is, or that its word stands for; None where it is another text."""
    try:
        value = _WORDS[text.lower()] if text.lower() in _WORDS else float(text)
    except ValueError:
        return None
    return value + 0.0 if math.isfinite(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidByPeople:
    """The mean that people would give, with its 95 % interval, by their labels of n cases and what the scorer says of n_others more.

    `plain` is the scorer's own mean. It holds where the labelled cases were drawn by chance.
    """

    plain: float
    estimate: float
    low: float
    high: float
    n: int
    n_others: int


def labels_of(file: Path) -> dict[str, float]:
    """Instance id -> label of a CSV file of `read_labels`. Raises `UsageError` for labels that are no numbers, nor right and wrong."""
    found = read_labels(file)
    if odd := next((name for name, label in found.labels.items() if isinstance(label, str) and _value_of(label) is None), None):
        what = f"the label {found.labels[odd]!r} is no number"
        raise UsageError(f"{file}:{found.lines[odd]}: {what}", hint="use 1 and 0, or right and wrong")
    return {name: float(label) for name, label in found.labels.items()}


def known_labels(run_folder: Path | None) -> tuple[dict[str, float], str]:
    """(the labels beside a run, as the viewer or `run --labels` wrote them, why they are not used where somebody broke their file).

    They are nobody's wish of today: what is made without them says so and stands.
    """
    path = labels_beside(run_folder) if run_folder is not None else None
    try:
        return labels_of(path) if path is not None and path.is_file() else {}, ""
    except UsageError as error:
        return {}, f"the labels beside the run are not used: {error.message} ({error.hint})"


def keep_labels(file: Path, run_folder: Path) -> None:
    """Put the labels of a file beside a run, where `report`, `compare` and the viewer find them; those that stand there of others stay.

    Raises `UsageError`, `OutputError`.
    """
    path = labels_beside(run_folder)
    kept = written_labels(path) if path.is_file() else {}
    write_labels(path, kept | {name: said for name, said in written_labels(file).items() if said[0]})


def written_labels(path: Path) -> dict[str, tuple[str, str]]:
    """Instance id -> (label, note) of a file of `read_labels`, an empty label where only a note is. Raises `UsageError`."""
    rater = read_labels(path)
    words = {name: f"{label:g}" if isinstance(label, float) else label for name, label in rater.labels.items()}
    return {name: (words.get(name, ""), note) for name, note in rater.reasons.items()}


def write_labels(path: Path, labels: Mapping[str, tuple[str, str]]) -> None:
    """Write (label, note) by instance id, but for those with neither; the file is whole before and after. Raises `OutputError`."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("instance_id", "label", "reason"))
    rows.writerows((name, *said) for name, said in labels.items() if any(said))
    write_atomically(path, text.getvalue())


def score_by_people(results: Sequence[Result], labels: Labels) -> SaidByPeople | None:
    """The score that people would give; None for less than two labels of what was scored.

    What was not handed in is worth 0 to everybody, as in the score, and what nobody judged is left out.
    """
    graded = [result for result in results if not is_ungraded(result)]
    scored = [result for result in graded if result.status == "scored" and result.score is not None]
    cases = [(float(result.score or 0.0), labels.get(result.instance_id)) for result in scored]
    return _said(cases, n_all=len(graded))


def difference_by_people(
    pairs: Sequence[tuple[Result, Result]], value: Callable[[Result], float | None], labels: tuple[Labels, Labels]
) -> SaidByPeople | None:
    """The mean difference b - a that people would find over pairs that both were judged on; None for less than two labelled on both sides.

    `value` gives a result's score. An answer that is not there needs no label.
    """
    cases: list[Case] = []
    for a, b in pairs:
        if a.status in ZERO and b.status in ZERO:
            continue
        said = [0.0 if one.status in ZERO else own.get(one.instance_id) for one, own in zip((a, b), labels, strict=True)]
        left, right = said
        cases.append(((value(b) or 0.0) - (value(a) or 0.0), None if left is None or right is None else right - left))
    return _said(cases, n_all=len(pairs))


def _said(cases: Sequence[Case], *, n_all: int) -> SaidByPeople | None:
    """The corrected mean over `n_all` cases, of which those that are not listed are surely 0."""
    both = [(own, label) for own, label in cases if label is not None]
    if len(both) < 2:
        return None
    found = corrected_mean(both, [own for own, label in cases if label is None])
    assert found.low is not None
    assert found.high is not None
    share = len(cases) / n_all
    return SaidByPeople(
        plain=math.fsum(own for own, _ in cases) / n_all,
        estimate=found.estimate * share,
        low=found.low * share,
        high=found.high * share,
        n=len(both),
        n_others=len(cases) - len(both),
    )
