"""Options that several commands share, so that they are spelled and explained the same everywhere."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from evalsuite.errors import UsageError
from evalsuite.types import RULES, Rule

GoldDir = Annotated[Path, typer.Option("--gold", "--gold-dir", "--gold_dir", help="the gold folder", show_default=True)]
ResultDir = Annotated[Path | None, typer.Option("--result-dir", "--result_dir", help="the submission folder")]
Rules = Annotated[str | None, typer.Option("--rules", metavar="official|strict", help="which verdict is the score [default: official]")]

AllowPrograms = Annotated[
    bool,
    typer.Option(
        "--allow-programs", "--allow_programs", help="run answers that are programs (python_unit_testing, pass_at_k): nothing jails them"
    ),
]


def rule(value: str | None) -> Rule | None:
    """The rules by name; raises `UsageError` for any other word."""
    for known in RULES:
        if value == known:
            return known
    if value is None:
        return None
    raise UsageError(f"no rules {value!r}", hint="known: " + ", ".join(RULES))


def one_of(value: str, known: tuple[str, ...], option: str) -> str:
    """The value, if it is a known word; raises `UsageError` with the spelling of the option where it is not."""
    if value not in known:
        raise UsageError(f"{option} cannot be {value!r}", hint="known: " + ", ".join(known))
    return value


def share(value: float | None, option: str) -> float | None:
    """A number in [0, 1]; raises `UsageError` with the spelling of the option where it is not."""
    if value is not None and not 0 <= value <= 1:
        raise UsageError(f"{option} must lie between 0 and 1, found {value:g}", hint="0.8 means 80 %")
    return value


def job_count(value: str) -> int | None:
    """The number of jobs, None for `auto`; raises `UsageError` for anything but that and a number from 1."""
    if value == "auto":
        return None
    if not value.isdecimal() or not 1 <= int(value) <= 256:
        raise UsageError(f"--jobs cannot be {value!r}", hint="a number from 1 to 256, or auto")
    return int(value)


def limits_of(settings: Iterable[str]) -> dict[str, int | float]:
    """Limits from `name=value` texts; names are checked with all other limits. Raises `UsageError` for a text of another form."""
    limits: dict[str, int | float] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        try:
            limits[name.strip()] = float(value) if "." in value else int(value)
        except ValueError:
            raise UsageError(f"--limit cannot be {setting!r}", hint="write NAME=VALUE, for example seconds=30") from None
    return limits


Plugins = Annotated[
    list[Path] | None, typer.Option("--plugin", help="a Python file that brings scorers; may be repeated", metavar="FILE.py")
]


def load_plugins(files: Iterable[Path] | None) -> None:
    """Load the scorers of plugin files; raises `UsageError` with the plugin's own line where one fails."""
    for file in files or ():
        from evalsuite.scorers import SCORERS

        SCORERS.load_file(file)
