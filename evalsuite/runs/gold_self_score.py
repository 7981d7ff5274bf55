"""What gold scores against itself, kept by gold hash: the most that a report of that suite can show."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalsuite.core.errors import CHECK_HINT, write_error
from evalsuite.runs.run_files import read_json, write_atomically
from evalsuite.runs.signature import signature

CEILINGS_FOLDER = Path(".evalsuite/gold")
# What else can be done where nothing can be kept.
WITHOUT = f"use --no-save, or {CHECK_HINT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """How many of `n` instances gold's own answer is right in, under both rules; `n_untried` more could not be tried.

    `unsatisfied` are those refused under official. `made_by` is the signature (without rules) it was found with: another version may
    say something else.
    """

    gold_hash: str
    name: str
    n: int
    n_untried: int
    official: int
    strict: int
    unsatisfied: tuple[str, ...] = ()
    made_by: str = ""

    def words(self) -> str:
        """`gold scores 579/583 under official, 583/583 under strict`."""
        more = f" ({self.n_untried} more not tried)" if self.n_untried else ""
        return f"gold scores {self.official}/{self.n} under official, {self.strict}/{self.n} under strict{more}"


def signature_of(gold_hash: str) -> str:
    """What a ceiling depends on: gold, this version, and the libraries that can move a verdict."""
    return signature(rules="official", gold_hash=gold_hash, limits={}).replace("|rules:official", "")


def keep_ceiling(ceiling: Ceiling, findings: list[dict[str, Any]], folder: Path = CEILINGS_FOLDER) -> Path:
    """Write the ceiling with its findings, and give the file. Raises `OutputError`."""
    path = folder / f"{ceiling.gold_hash}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({**asdict(ceiling), "findings": findings}, indent=2) + "\n")
    except OSError as error:
        raise write_error(path, error, hint=WITHOUT) from error
    return path


def ceiling_of(gold_hash: str, folder: Path = CEILINGS_FOLDER) -> Ceiling | None:
    """The ceiling of the gold with that hash, None where it was never checked, or by another version of evalsuite or its libraries."""
    try:
        kept = read_json(folder / f"{gold_hash}.json")
        kept.pop("findings", None)
        ceiling = Ceiling(**{**kept, "unsatisfied": tuple(kept["unsatisfied"])})
    except (TypeError, KeyError, AttributeError):
        # A file that nobody can read is as good as none: the check can be made again at any time.
        return None
    return ceiling if ceiling.made_by == signature_of(gold_hash) else None
