"""Score of gold against itself, stored by gold hash: the highest score that the suite's reports can show."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalsuite.core.errors import CHECK_HINT, write_error
from evalsuite.runs.run_files import read_json, write_atomically
from evalsuite.runs.signature import signature

SELF_SCORES_FOLDER = Path(".evalsuite/gold")
# Alternatives if nothing can be stored.
WITHOUT = f"use --no-save, or {CHECK_HINT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldSelfScore:
    """In how many of `n` instances gold's own answer is right, under both rules; `n_untried` more could not be tried.

    `unsatisfied` are those refused under official. `made_by` is the signature (without rules) it was found with: another version may give
    another result.
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
    """Return what the self score depends on: gold, this version, and the libraries that can change a verdict."""
    return signature(rules="official", gold_hash=gold_hash, limits={}).replace("|rules:official", "")


def save_self_score(ceiling: GoldSelfScore, findings: list[dict[str, Any]], folder: Path = SELF_SCORES_FOLDER) -> Path:
    """Write the self score with its findings and return the file. Raises `OutputError`."""
    path = folder / f"{ceiling.gold_hash}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({**asdict(ceiling), "findings": findings}, indent=2) + "\n")
    except OSError as error:
        raise write_error(path, error, hint=WITHOUT) from error
    return path


def load_self_score(gold_hash: str, folder: Path = SELF_SCORES_FOLDER) -> GoldSelfScore | None:
    """Return the self score of the gold with that hash; None if it was never checked, or with other versions."""
    try:
        kept = read_json(folder / f"{gold_hash}.json")
        kept.pop("findings", None)
        ceiling = GoldSelfScore(**{**kept, "unsatisfied": tuple(kept["unsatisfied"])})
    except (TypeError, KeyError, AttributeError):
        # An unreadable file counts as absent: the check can be repeated at any time.
        return None
    return ceiling if ceiling.made_by == signature_of(gold_hash) else None
