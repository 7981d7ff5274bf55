"""The run that `evaluate` gives."""

from dataclasses import dataclass, fields

from evalsuite.reports.readable import Readable
from evalsuite.run.scoring import Run


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportedRun(Readable, Run):
    """A `Run` that can be read: `to_frame()`, `write("x.html")`, a short `repr`, and an HTML one."""

    def _own_run(self) -> Run:
        return self


def reported(run: Run) -> ReportedRun:
    """The run with everything that it can be read as."""
    return ReportedRun(**{one.name: getattr(run, one.name) for one in fields(run)})
