"""What became of each submission since a board of before."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evalsuite.errors import UsageError
from evalsuite.reports.words import counted, percent
from evalsuite.store.run_files import read_json

if TYPE_CHECKING:
    from evalsuite.board.ranking import Leaderboard, RankedRow

ARCHIVE: Final = "archive"
BOARD: Final = "board.json"
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
# Of a long list of news the first.
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The board of before: its day (or what else it is called) and the rank of each name, None for one without."""

    day: str
    ranks: Mapping[str, int | None] = field(default_factory=dict)

    def places_up(self, row: "RankedRow") -> int | None:
        """How many places a row went up, below 0 for down; None where it has no rank now or had none."""
        was = self.ranks.get(row.name)
        return None if was is None or row.rank is None else was - row.rank

    def is_new(self, row: "RankedRow") -> bool:
        """Whether a ranked row was not on the board of before."""
        return row.rank is not None and row.name not in self.ranks

    def words(self, row: "RankedRow") -> str:
        """`▲ 2`, `▼ 1`, `=`, `new`, or a dash."""
        up = self.places_up(row)
        if up is None:
            return "new" if self.is_new(row) else "-"
        return f"▲ {up}" if up > 0 else f"▼ {-up}" if up else "="


def days_of(site: Path) -> list[str]:
    """The days of the archive of a site, oldest first."""
    folder = site / ARCHIVE
    return sorted(file.stem for file in folder.glob("*.json") if _DAY.fullmatch(file.stem)) if folder.is_dir() else []


def board_before(site: Path, since: str | None, today: str) -> Before | None:
    """The board of before: of the newest day on or before `since`, of that file or site, or (None, `last`) of the last day before today.

    None where a site that is built for the first time has none. Raises `UsageError` for what is no board and no day.
    """
    days = days_of(site)
    if since in (None, "last"):
        known = [day for day in days if day < today]
        return _read(site / ARCHIVE / f"{known[-1]}.json", known[-1]) if known else None
    assert since is not None
    if _DAY.fullmatch(since):
        if known := [day for day in days if day <= since]:
            return _read(site / ARCHIVE / f"{known[-1]}.json", known[-1])
        raise UsageError(f"--since {since}: {site} has no board of that day or before", hint=f"it has {counted(len(days), 'board')}"
                         + (f" from {days[0]} on" if days else ""))  # fmt: skip
    place = Path(since)
    file = place / BOARD if place.is_dir() else place
    if not file.is_file():
        raise UsageError(f"--since {since}: no day, no board and no site", hint="write 2026-11-21, last, or name a board.json")
    return _read(file, "")


def _read(file: Path, day: str) -> Before:
    said = read_json(file)
    rows = said.get("rows") if isinstance(said, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows):
        raise UsageError(f"{file}: no board that `evalsuite leaderboard` wrote as JSON", hint="leave --since out, or name another")
    ranks = {row["name"]: rank if isinstance(rank := row.get("rank"), int) else None for row in rows}
    about = said.get("site")
    return Before(day=day or str(about.get("day", "before") if isinstance(about, dict) else "before"), ranks=ranks)


def news(board: "Leaderboard", before: Before | None) -> list[str]:
    """What there is to tell of a board, a sentence each: who leads, who is new, who moved most."""
    ranked = [row for row in board.rows if row.rank is not None]
    if not ranked:
        return ["Nobody is ranked."]
    score = ranked[0].score or 0.0
    leaders = [row.name for row in ranked if row.rank == 1]
    found = [f"{_named(leaders)} lead{'s' * (len(leaders) == 1)} with {f'{score:.4g}' if board.is_raw else percent(score)}."]
    if before is None:
        return [*found, f"{counted(len(ranked), 'submission')} ranked."]
    if new := [row.name for row in ranked if before.is_new(row)]:
        found.append(f"New: {_named(new)}.")
    moves: list[tuple[int, str]] = [(up, row.name) for row in ranked if (up := before.places_up(row))]
    for words, chosen in (("Up", [move for move in moves if move[0] > 0]), ("Down", [move for move in moves if move[0] < 0])):
        if chosen:
            names = [f"{name} by {abs(up)}" for up, name in sorted(chosen, key=lambda move: (-abs(move[0]), move[1]))]
            found.append(f"{words}: {_named(names)}.")
    return found


def _named(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def moves_of(board: "Leaderboard", before: Before | None) -> dict[str, dict[str, Any]]:
    """For each name its rank before, how many places it went up, and whether it is new; empty without a board of before."""
    if before is None:
        return {}
    return {
        row.name: {"was_rank": before.ranks.get(row.name), "places_up": before.places_up(row), "is_new": before.is_new(row)}
        for row in board.rows
    }
