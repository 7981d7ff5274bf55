"""Which submissions a board takes: those that were handed in while it was open, and no more of a team a day than it allows."""

import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evalsuite.board.board_yaml import BoardRules
from evalsuite.errors import cannot_write
from evalsuite.store.run_files import read_json, write_atomically

# Of `alpha--second try` the team is `alpha`.
TEAM_ENDS = "--"


class Admission:
    """Takes submissions or turns them away. When each was first taken, by its content, stands in a file of the host.

    What was taken once stays, whatever its files' times say and whatever name it has now; the same content is not counted twice.
    """

    def __init__(self, rules: BoardRules, file: Path, now: datetime, *, teams: Mapping[str, str] | None = None) -> None:
        self._rules, self._file, self._now, self._teams = rules, file, now.astimezone(UTC), teams or {}
        said = read_json(file)
        known = said if isinstance(said, dict) else {}
        # Submission hash -> (when it was taken, of which team).
        self._taken = {str(key): (str(row[0]), str(row[1])) for key, row in known.items() if isinstance(row, list) and len(row) == 2}
        self.notes: list[str] = []

    def __call__(self, hashes: Mapping[str, str]) -> Collection[str]:
        """The names of those that are turned away, of submissions by name; `notes` then say why. Raises `OutputError`."""
        away, n_before = [], len(self._taken)
        for name in sorted(hashes):
            if why := self._why_not(name, hashes[name]):
                away.append(name)
                self.notes.append(f"{name} is not taken: {why}")
        if len(self._taken) > n_before:
            # At once: what was taken before a close stays so, however the scoring ends.
            self._save()
        return away

    def received(self, submission_hash: str) -> str:
        """When a content was first taken, as `2026-11-22T14:30:00Z`; empty where nobody knows."""
        return self._taken.get(submission_hash, ("", ""))[0]

    def _why_not(self, name: str, content: str) -> str:
        if content in self._taken:
            return ""
        if why := self._rules.why_closed(self._now):
            return why
        team, today = self._team(name), self._now.strftime("%Y-%m-%d")
        n_today = sum(moment.startswith(today) and own == team for moment, own in self._taken.values())
        if self._rules.per_day is not None and n_today >= self._rules.per_day:
            tomorrow = (self._now + timedelta(days=1)).strftime("%Y-%m-%d")
            return (
                f"{n_today} of {team!r} were taken today, {self._rules.per_day} a day are allowed; it is looked at again from {tomorrow} on"
            )
        self._taken[content] = (self._now.strftime("%Y-%m-%dT%H:%M:%SZ"), team)
        return ""

    def _team(self, name: str) -> str:
        return self._teams.get(name) or name.partition(TEAM_ENDS)[0]

    def _save(self) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, json.dumps({key: list(row) for key, row in self._taken.items()}, indent=1) + "\n")
        except OSError as error:
            raise cannot_write(self._file, error) from error
