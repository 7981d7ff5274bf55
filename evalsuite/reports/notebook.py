"""Methods of a scored run for Python code and notebooks: a data frame, a written report, a short repr, and HTML."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.compare.characters import clean
from evalsuite.reports import write
from evalsuite.reports.record import Record, record_of_run, redact_record
from evalsuite.reports.run_columns import results_table
from evalsuite.reports.run_document import run_document
from evalsuite.reports.words import verdict_line
from evalsuite.runs.run_result import Run

if TYPE_CHECKING:
    import pandas as pd


# Rows shown in a notebook.
_MOST_ROWS = 20


class Readable(ABC):
    """Mixin of run classes: `to_frame()`, `write("x.html")`, a short `repr`, and an HTML one."""

    __slots__ = ()

    @abstractmethod
    def _own_run(self) -> "Run":
        """The run to report."""

    def record(self, reveal: str | None = None) -> Record:
        """The record of the reports, cut to what may be shown of gold."""
        return redact_record(record_of_run(self._own_run()), reveal)

    def to_frame(self) -> "pd.DataFrame":
        """Return the n results in gold order as a data frame with the columns of a CSV report."""
        import pandas as pd

        table = results_table(self.record())
        return pd.DataFrame(list(table.values("csv")), columns=[column.name for column in table.of("csv")])

    def write(self, path: str | Path, *, reveal: str | None = None) -> Path:
        """Write a report in the format of the path's ending (.html, .md, .csv, .json ...) and return its path.

        Raises:
            UsageError: no format has this ending.
            OutputError: the path cannot be written.
        """
        write(run_document(self.record(reveal)), Path(path))
        return Path(path)

    def __repr__(self) -> str:
        run = self._own_run()
        return clean(f"<Run of {run.submission.folder.name!r} on {run.gold.suite.name!r}: {verdict_line(run.summary)}>")

    def _repr_html_(self) -> str:
        table = results_table(self.record())
        columns = [column for column in table.of("csv") if column.name in ("instance_id", "scorer", "score", "reason")]
        head = "".join(f"<th>{escape(column.head)}</th>" for column in columns)
        rows = list(table.rows)
        cells = ("".join(f"<td>{escape(clean(str(column.value(row))))}</td>" for column in columns) for row in rows[:_MOST_ROWS])
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        more = f"<p>... {len(rows) - _MOST_ROWS} more</p>" if len(rows) > _MOST_ROWS else ""
        return f"<p>{escape(repr(self))}</p><table><tr>{head}</tr>{body}</table>{more}"


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportedRun(Readable, Run):
    """A `Run` that can be read: `to_frame()`, `write("x.html")`, a short `repr`, and an HTML one."""

    def _own_run(self) -> Run:
        return self


def reported(run: Run) -> ReportedRun:
    """The run with everything that it can be read as."""
    return ReportedRun(**{one.name: getattr(run, one.name) for one in fields(run)})
