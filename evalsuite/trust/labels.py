"""What one rater said of each instance: a scored run, or a CSV file of labels that people gave."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalsuite.errors import UsageError
from evalsuite.readers.csv_table import read_named_rows
from evalsuite.reveal import reveal
from evalsuite.store.history import RunEntry, one_run

Label = float | str
ID_COLUMNS, LABEL_COLUMNS, REASON_COLUMNS = ("instance_id", "id"), ("label", "score", "verdict"), ("reason", "comment", "why", "note")
# Words people write for right and wrong; a file that holds nothing else is read as 1 and 0, so that it can be held to a run.
_WORDS = {
    **dict.fromkeys(("right", "correct", "true", "yes", "pass", "passed"), 1.0),
    **dict.fromkeys(("wrong", "incorrect", "false", "no", "fail", "failed"), 0.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """A rater by name: labels and reasons by instance id; `silent` says of each instance without a label why it has none."""

    name: str
    labels: Mapping[str, Label]
    reasons: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_numeric(self) -> bool:
        """Whether every label is a number."""
        return all(isinstance(label, float) for label in self.labels.values())


def read_rater(name: str, runs: Path) -> Rater:
    """The rater behind a run's name or folder, or behind a `.csv` file. Raises `UsageError`."""
    if name.lower().endswith(".csv"):
        return read_labels(Path(name))
    return rater_of_run(one_run(name, runs))


def rater_of_run(entry: RunEntry) -> Rater:
    """The scores of a run under its rules. What was not handed in, or could not be judged, has no label: nobody rated it.

    The reasons of a suite whose gold is hidden quote nothing of it.
    """
    labels: dict[str, Label] = {}
    reasons, silent = {}, {}
    hidden = bool(entry.run.get("gold", {}).get("hidden"))
    for result in entry.results():
        if result.status == "missing":
            silent[result.instance_id] = "not handed in"
        elif result.score is None:
            silent[result.instance_id] = "not judged"
        else:
            labels[result.instance_id] = float(result.score)
            reasons[result.instance_id] = (reveal(result, "class") if hidden else result).reason
    return Rater(name=entry.name, labels=labels, reasons=reasons, silent=silent)


def read_labels(path: Path) -> Rater:
    """The labels of a CSV file with the columns instance_id and label (or score), and a reason where there is such a column.

    Numbers are read as such; a file of `right` and `wrong` (correct, yes, pass, true ...) as 1 and 0; other labels stay text. An empty
    label is none. Raises `UsageError` with the line of an id that stands twice or of a row without one.
    """
    names, rows = read_named_rows(path)
    header = [name.strip().lower() for name in names]
    id_at, label_at = (_column(header, names, path) for names in (ID_COLUMNS, LABEL_COLUMNS))
    reason_at = next((header.index(name) for name in REASON_COLUMNS if name in header), None)
    texts, reasons, silent = {}, {}, {}
    for line, row in rows:
        cells = [cell.strip() for cell in row] + [""] * (len(header) - len(row))
        if not any(cells):
            continue
        id_ = cells[id_at]
        if not id_ or id_ in texts or id_ in silent:
            raise UsageError(f"{path}:{line}: {f'{id_!r} stands twice' if id_ else 'no instance_id'}", hint="one row for each instance")
        if not cells[label_at]:
            silent[id_] = "no label"
            continue
        texts[id_] = cells[label_at]
        reasons[id_] = cells[reason_at] if reason_at is not None else ""
    labels = dict(zip(texts, _read(list(texts.values())), strict=True))
    return Rater(name=path.name, labels=labels, reasons=reasons, silent=silent)


def _column(header: Sequence[str], names: Sequence[str], path: Path) -> int:
    for name in names:
        if name in header:
            return header.index(name)
    raise UsageError(f"{path} has no column {names[0]!r}", hint=f"found: {', '.join(header) or 'nothing'}; needed: instance_id and label")


def _read(texts: Sequence[str]) -> list[Label]:
    """All labels as numbers where all can be, else all as they stand: one scale for one rater."""
    values = [_WORDS.get(text.lower(), _number(text)) for text in texts]
    if all(value is not None for value in values):
        return [value for value in values if value is not None]
    return list(texts)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value + 0.0 if math.isfinite(value) else None
