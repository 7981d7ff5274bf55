"""Rendered summaries. `FORMATS` maps a file ending to `module:function`; a new format is one file and one line here."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.errors import OutputError, UsageError
from evalsuite.registry import did_you_mean

if TYPE_CHECKING:
    from evalsuite.runner.run import Run

FORMATS: dict[str, str] = {
    ".svg": "evalsuite.reports.svg:render",
    ".txt": "evalsuite.reports.terminal:render",
}


def check_output(path: Path) -> None:
    """Raise `UsageError` where no format has the ending of `path`; called before any scoring."""
    if path.suffix not in FORMATS:
        raise UsageError(f"no report format for {path.name!r}", hint=did_you_mean(path.suffix, FORMATS))


def write(run: "Run", path: Path) -> None:
    """Render the run in the format of the file's ending and write it."""
    check_output(path)
    module, _, name = FORMATS[path.suffix].partition(":")
    text: str = getattr(import_module(module), name)(run)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or type(error).__name__}") from error
