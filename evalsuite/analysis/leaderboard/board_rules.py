"""The rules of a public board: which submissions it accepts, by time and by number per team and day.

The optional `board.yaml` -> `BoardRules`; mistakes are named by file and line.

    title: Text to SQL, autumn
    phases:
      - {name: practice, opens: 2026-11-01, closes: 2026-11-15}
      - {name: final, opens: 2026-11-20, closes: 2026-11-30T18:00+01:00}
    per_day: 3            # new submissions of a team a day (UTC)
    hidden: half          # a half of the instances is scored at the last close only
    reveal: none          # how much of gold the public pages show
    feedback: class       # and the private ones
    url: https://example.org/board/

A board with one phase has `opens` and `closes` at the top. A day without a time counts whole, in UTC.
"""

import hashlib
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from evalsuite.core.errors import GoldError, did_you_mean, write_error
from evalsuite.core.status import LEVELS
from evalsuite.gold.suite_yaml import yaml_nodes
from evalsuite.runs.run_files import read_json, write_atomically
from evalsuite.stats.samples import SEED

BOARD_FILE: Final = "board.yaml"
_PHASE_KEYS: Final = ("name", "opens", "closes")
_KEYS: Final = ("title", "opens", "closes", "phases", "per_day", "hidden", "seed", "reveal", "feedback", "url")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A period in which submissions are accepted: from `opens` to before `closes` (UTC), each None if there is no limit on that side."""

    name: str = ""
    opens: datetime | None = None
    closes: datetime | None = None

    def holds(self, moment: datetime) -> bool:
        """Whether a moment is in the phase."""
        return (self.opens is None or self.opens <= moment) and (self.closes is None or moment < self.closes)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRules:
    """The host's rules of a board; without a `board.yaml` everything is accepted and all of gold is scored.

    `per_day` limits the new submissions of a team a day (UTC). With `hides_half` a half of the instances, chosen by `seed`, is scored only
    after
    the last phase has closed. `reveal` and `feedback` are levels of `status.LEVELS`, `url` is the address of the site.
    """

    title: str = ""
    phases: tuple[Phase, ...] = ()
    per_day: int | None = None
    hides_half: bool = False
    seed: int = SEED
    reveal: str = "none"
    feedback: str = "class"
    url: str = ""

    def phase(self, moment: datetime) -> Phase | None:
        """Return the phase that contains a moment."""
        return next((phase for phase in self.phases if phase.holds(moment)), None)

    def why_closed(self, moment: datetime) -> str:
        """Return why nothing is accepted at a moment, empty if submissions are accepted."""
        if not self.phases or self.phase(moment) is not None:
            return ""
        if coming := [phase for phase in self.phases if phase.opens is not None and phase.opens > moment]:
            return f"{coming[0].name or 'the board'} opens at {format_moment(coming[0].opens)}"
        return f"{self.phases[-1].name or 'the board'} closed at {format_moment(self.phases[-1].closes)}"

    def shown_ids(self, ids: Sequence[str], moment: datetime) -> tuple[str, ...]:
        """Return the instances that are scored at a moment, in gold's order; empty for all of them.

        The half depends on the seed and on each instance's own id, so that it stays the same when gold grows.
        """
        closes = self.phases[-1].closes if self.phases else None
        if not self.hides_half or (closes is not None and moment >= closes):
            return ()
        drawn = sorted(ids, key=lambda name: hashlib.sha256(f"{self.seed}|{name}".encode("utf-8", "surrogatepass")).digest())
        kept = set(drawn[: math.ceil(len(ids) / 2)])
        return tuple(name for name in ids if name in kept)


def format_moment(moment: datetime | None) -> str:
    """Format a moment: `2026-11-30 18:00 UTC`."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def read_board_rules(file: Path) -> BoardRules:
    """Read the rules in a file. Raises `GoldError` with file and line for invalid values."""
    where, fields, lines = file.name, dict[str, Any](), dict[str, str]()
    with yaml_nodes(file, where) as (loader, node):
        for key, value, place in _entries(node, where, _KEYS):
            lines[key] = place
            if key in ("opens", "closes"):
                fields[key] = _moment(value, key, place)
            elif key == "phases":
                fields[key] = tuple(_phases(value, where))
            else:
                fields[key] = loader.construct_object(value, deep=True)
    for key, value in fields.items():
        _check(key, value, lines[key])
    if "phases" in fields and (twice := [key for key in ("opens", "closes") if key in fields]):
        raise GoldError(f"{lines[twice[0]]}: {twice[0]} next to phases", hint="move it into the phases")
    if alone := {key: fields.pop(key) for key in ("opens", "closes") if key in fields}:
        fields["phases"] = (_in_order(Phase(**alone), lines.get("closes", lines.get("opens", where))),)
    hides = fields.pop("hidden", "none") == "half"
    if hides and not (fields.get("phases") and fields["phases"][-1].closes):
        raise GoldError(f"{lines['hidden']}: hidden: half needs a close, at which the other half is scored", hint="closes: 2026-11-30")
    return replace(BoardRules(), hides_half=hides, **fields)


def _entries(node: Any, where: str, known: Sequence[str]) -> Iterator[tuple[str, Any, str]]:
    """Yield (key, node of the value, "file:line") of a mapping of known keys; nothing of an empty file."""
    if node is None:
        return
    if node.id != "mapping":
        raise GoldError(f"{where}:{node.start_mark.line + 1}: not a mapping", hint="write `key: value` lines")
    for key_node, value_node in node.value:
        key, place = str(key_node.value), f"{where}:{key_node.start_mark.line + 1}"
        if key not in known:
            raise GoldError(f"{place}: unknown key {key!r}", hint=did_you_mean(key, known))
        yield key, value_node, place


def _phases(node: Any, where: str) -> Iterator[Phase]:
    if node.id != "sequence" or not node.value:
        raise GoldError(
            f"{where}:{node.start_mark.line + 1}: phases must be a list", hint="- {name: final, opens: 2026-11-20, closes: 2026-11-30}"
        )
    last: Phase | None = None
    for item in node.value:
        fields: dict[str, Any] = {}
        place = f"{where}:{item.start_mark.line + 1}"
        for key, value, at in _entries(item, where, _PHASE_KEYS):
            fields[key], place = str(value.value) if key == "name" else _moment(value, key, at), at
        phase = _in_order(Phase(**fields), place)
        if last is not None and (last.closes is None or phase.opens is None or phase.opens < last.closes):
            raise GoldError(f"{place}: a phase begins before the one above it has closed", hint="give both `closes` and `opens`, in order")
        last = phase
        yield phase


def _in_order(phase: Phase, place: str) -> Phase:
    if phase.opens is not None and phase.closes is not None and phase.closes <= phase.opens:
        raise GoldError(
            f"{place}: closes at {format_moment(phase.closes)}, before it opens at {format_moment(phase.opens)}", hint="exchange the two"
        )
    return phase


def _moment(node: Any, key: str, place: str) -> datetime:
    """Parse a moment; a day without a time is its beginning, or its end for `closes`."""
    text = str(node.value).strip() if node.id == "scalar" else ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        hint = "write 2026-11-30, or with a time 2026-11-30T18:00+01:00"
        raise GoldError(f"{place}: {key} must be a day or a moment, found {text or 'something else'!r}", hint=hint) from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC) + timedelta(days=key == "closes" and len(text) <= len("2026-11-30"))


def _check(key: str, value: Any, place: str) -> None:
    """Raise for an invalid value of a key at the top."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    wrong: Mapping[str, tuple[bool, str]] = {
        "title": (not isinstance(value, str), "text"),
        "url": (not isinstance(value, str) or not value.startswith(("https://", "http://")), "an address, https://..."),
        "per_day": (not is_number or value < 1, "a whole number from 1"),
        "seed": (not is_number, "a whole number"),
        "hidden": (value not in ("half", "none"), "half or none"),
        "reveal": (value not in LEVELS, "one of " + ", ".join(LEVELS)),
        "feedback": (value not in LEVELS, "one of " + ", ".join(LEVELS)),
    }
    is_wrong, wanted = wrong.get(key, (False, ""))
    if is_wrong:
        raise GoldError(f"{place}: {key} must be {wanted}, found {value!r}", hint=f"for example {key}: {_EXAMPLES[key]}")


_EXAMPLES: Final = {
    "title": '"Autumn board"', "url": "https://example.org/board/", "per_day": "3", "seed": "12345", "hidden": "half", "reveal": "none",
    "feedback": "class",
}  # fmt: skip


# The team of `alpha--second try` is `alpha`.
TEAM_ENDS = "--"


class Admission:
    """Accepts or rejects submissions. A file of the host records when each content was first accepted.

    What was accepted once stays accepted, whatever its files' times and its current name; the same content is not counted twice.
    """

    def __init__(self, rules: BoardRules, file: Path, now: datetime, *, teams: Mapping[str, str] | None = None) -> None:
        self._rules, self._file, self._now, self._teams = rules, file, now.astimezone(UTC), teams or {}
        said = read_json(file)
        known = said if isinstance(said, dict) else {}
        # Submission hash -> (when it was accepted, its team).
        self._taken = {str(key): (str(row[0]), str(row[1])) for key, row in known.items() if isinstance(row, list) and len(row) == 2}
        self.notes: list[str] = []

    def __call__(self, hashes: Mapping[str, str]) -> Collection[str]:
        """Return the names of the rejected submissions; `notes` then say why. Raises `OutputError`."""
        away, n_before = [], len(self._taken)
        for name in sorted(hashes):
            if why := self._why_not(name, hashes[name]):
                away.append(name)
                self.notes.append(f"{name} is not accepted: {why}")
        if len(self._taken) > n_before:
            # Saved at once: a content accepted before a close stays accepted, even if scoring fails.
            self._save()
        return away

    def received(self, submission_hash: str) -> str:
        """Return when a content was first accepted, as `2026-11-22T14:30:00Z`; empty if unknown."""
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
            limit = f"the limit is {self._rules.per_day} a day"
            return f"{n_today} of {team!r} were accepted today, {limit}; it is checked again from {tomorrow} on"
        self._taken[content] = (self._now.strftime("%Y-%m-%dT%H:%M:%SZ"), team)
        return ""

    def _team(self, name: str) -> str:
        return self._teams.get(name) or name.partition(TEAM_ENDS)[0]

    def _save(self) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, json.dumps({key: list(row) for key, row in self._taken.items()}, indent=1) + "\n")
        except OSError as error:
            raise write_error(self._file, error) from error
