"""Options that several commands share, so that they are spelled and explained the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer

from evalsuite.errors import UsageError
from evalsuite.types import RULES, Rule

GoldDir = Annotated[Path, typer.Option("--gold", "--gold-dir", "--gold_dir", help="the gold folder", show_default=True)]
ResultDir = Annotated[Path | None, typer.Option("--result-dir", "--result_dir", help="the submission folder")]
Rules = Annotated[str | None, typer.Option("--rules", metavar="official|strict", help="which verdict is the score [default: official]")]


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
