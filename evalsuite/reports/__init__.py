"""Rendered runs, comparisons and leaderboards: `FORMATS` says for each which `module:function` makes the file of an ending.

A new format is one function and one line here.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from evalsuite.errors import OutputError, UsageError
from evalsuite.lazy import Lazy
from evalsuite.registry import did_you_mean

if TYPE_CHECKING:
    from evalsuite.comparing import Comparison
    from evalsuite.leaderboard import Leaderboard
    from evalsuite.reports.record import Record
    from evalsuite.runner.run import Run

Subject = Literal["run", "comparison", "leaderboard"]
# A format is a function of its subject: text, bytes, or pieces of text where the whole would be large.
Rendered = str | bytes | Iterable[str]
FORMATS: dict[Subject, dict[str, Lazy]] = {
    "run": {
        ".csv": Lazy("evalsuite.reports.csv_file:render"),
        ".html": Lazy("evalsuite.reports.html:render"),
        ".json": Lazy("evalsuite.reports.json_file:render"),
        ".md": Lazy("evalsuite.reports.markdown:render"),
        ".parquet": Lazy("evalsuite.reports.parquet:render"),
        ".svg": Lazy("evalsuite.reports.svg:render"),
        ".txt": Lazy("evalsuite.reports.terminal:render"),
        ".xml": Lazy("evalsuite.reports.junit:render"),
    },
    "comparison": {
        ".csv": Lazy("evalsuite.reports.comparison_files:as_csv"),
        ".html": Lazy("evalsuite.reports.comparison_html:render"),
        ".json": Lazy("evalsuite.reports.comparison_files:as_json"),
        ".md": Lazy("evalsuite.reports.comparison_files:as_markdown"),
        ".parquet": Lazy("evalsuite.reports.comparison_files:as_parquet"),
        ".svg": Lazy("evalsuite.reports.comparison_terminal:picture"),
        ".txt": Lazy("evalsuite.reports.comparison_terminal:render"),
        ".xml": Lazy("evalsuite.reports.comparison_files:as_junit"),
    },
    "leaderboard": {
        ".csv": Lazy("evalsuite.reports.leaderboard_files:as_csv"),
        ".html": Lazy("evalsuite.reports.leaderboard_html:render"),
        ".json": Lazy("evalsuite.reports.leaderboard_files:as_json"),
        ".md": Lazy("evalsuite.reports.leaderboard_files:as_markdown"),
        ".parquet": Lazy("evalsuite.reports.leaderboard_files:as_parquet"),
        ".svg": Lazy("evalsuite.reports.leaderboard:picture"),
        ".txt": Lazy("evalsuite.reports.leaderboard:render"),
        ".xml": Lazy("evalsuite.reports.leaderboard_files:as_junit"),
    },
}
# The endings whose files are no text.
BINARY = frozenset({".parquet"})


def check_output(path: Path, subject: Subject = "run") -> None:
    """Raise `UsageError` where no format has the ending of `path`; called before any scoring."""
    if path.suffix not in FORMATS[subject]:
        raise UsageError(f"no report format for {path.name!r}", hint=did_you_mean(path.suffix, FORMATS[subject]))


def write(what: "Record | Run | Comparison | Leaderboard", path: Path, subject: Subject = "run", *, reveal: str | None = None) -> None:
    """Render a run (or its record), a comparison or a leaderboard in the format of the file's ending and write it.

    `reveal` is how much of gold may be seen of a run, None its own default; a comparison was made at its level, and a leaderboard holds
    nothing of gold. Raises `UsageError` and `OutputError`.
    """
    check_output(path, subject)
    rendered: Rendered = FORMATS[subject][path.suffix].load()(_shown(what, reveal))
    pieces = [rendered] if isinstance(rendered, str | bytes) else rendered
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for piece in pieces:
                file.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or type(error).__name__}") from error


def _shown(what: "Record | Run | Comparison | Leaderboard", reveal: str | None) -> "Record | Comparison | Leaderboard":
    """What the formats are functions of: of a run, its record as it may be seen."""
    from evalsuite.reports.record import Record, of_run, revealed
    from evalsuite.runner.run import Run

    if isinstance(what, Run):
        what = of_run(what)
    return revealed(what, reveal) if isinstance(what, Record) else what
