"""What an expectation of the corpus says, read word by word: a phrase that is not known here fails the test."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsuite.core.errors import FAULTS

# Classes the corpus allows as an alternative, under names that are not this project's.
OTHER_NAMES = {"UNREADABLE", "OUT_OF_MEMORY"}
# What "documented" means here: the verdicts (official, strict), each with its sentence in the scorer's help or the README.
DOCUMENTED = {
    "s_all": (1, 1),  # official: a substring anywhere; strict: whole words. Who names every candidate is right unless `exclude` is set
    "s_not": (1, 0),  # strict refuses what an answer denies
    "n_pct": (1, 1),  # `percentage` takes a share as percent or as fraction
    "n_arabic": (1, 1),  # digits of any script are digits
}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a run did with one instance under one rule; `value` is None where no run came about (then `errors` says why)."""

    rules: str
    value: float | None
    fault: str | None = None
    status: str = ""
    seconds: float = 0.0
    errors: str = ""
    warnings: tuple[str, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict)
    in_results: bool = True
    is_root: bool = False

    @property
    def refused(self) -> bool:
        """Whether the whole submission was refused with an error that a person can act on."""
        return self.errors.startswith("error: ") and "hint: " in self.errors


def broken_clauses(instance_id: str, must: str, seen: Seen) -> list[str]:
    """The clauses of `must` that do not hold; raises KeyError for a phrase nobody taught this interpreter."""
    # Semicolons in brackets part nothing.
    return [clause for part in re.split(r";(?![^(]*\))", must) if not _holds(clause := part.strip(), instance_id, seen)]


def _holds(clause: str, instance_id: str, seen: Seen) -> bool:
    if clause in ELSEWHERE:
        return True
    if clause in SIDE:
        return SIDE[clause](seen)
    if clause in WHOLE:
        return WHOLE[clause](instance_id, seen)
    # All of them first, so that an unknown phrase is found behind one that holds.
    outcomes = [_outcome(part, seen) for part in _alternatives(clause)]
    return any(outcomes)


def _alternatives(clause: str) -> list[str]:
    """`score 0 with error class A or B or score 1 (note)` as three outcomes; notes in brackets say nothing more."""
    parts = re.sub(r"\s*\([^)]*\)", "", clause).split(" or ")
    return [f"score 0 with error class {part}" if part in FAULTS or part in OTHER_NAMES else part for part in parts]


def _outcome(part: str, seen: Seen) -> bool:
    if part == "score 1":
        return seen.value == 1
    if part == "score 0":
        return seen.value == 0 or (seen.value is None and seen.refused)
    match = re.fullmatch(r"score 0 with error class (\w+)", part)
    if match is None or (match[1] not in FAULTS and match[1] not in OTHER_NAMES):
        raise KeyError(f"unknown phrase {part!r}")
    if seen.value is None:
        return seen.refused and match[1] in seen.errors
    return seen.value == 0 and seen.fault == match[1]


def _eight_bad_rows(warnings: tuple[str, ...]) -> bool:
    """Seven rows that no instance can be found in, and `{}`, which is skipped with a note; each on its line."""
    bad = {line.split(" ")[0] for line in warnings if re.match(r"results_metadata\.jsonl:\d+: BAD_METADATA", line)}
    empty = [line for line in warnings if re.fullmatch(r"results_metadata\.jsonl:\d+: an empty object \{\} is skipped", line)]
    return len(bad) == 7 and len(empty) == 1


def _documented(instance_id: str, seen: Seen) -> bool:
    official, strict = DOCUMENTED[instance_id]
    return (seen.row["official"], seen.row["strict"]) == (official, strict) and bool(seen.row["reason"])


# Clauses about the whole run, and the test that holds it to them.
ELSEWHERE = {
    "must make no network call": "test_no_network_call_is_made",
    "other instances unaffected": "test_controls_score_as_if_alone",
    "report stays one line": "test_one_row_stays_one_row",
    "shown escaped in every report": "test_reports_hold_nothing_that_acts",
    "report is written": "test_reports_hold_nothing_that_acts",
    "the database file is unchanged": "test_databases_are_left_as_they_were",
}
# Clauses about one instance that stand beside its outcome.
SIDE: dict[str, Callable[[Seen], bool]] = {
    "must not read gold": lambda s: s.value != 1,  # and: the canary stands in no output
    "no crash": lambda s: s.status == "scored",
    ".wal must be ignored or refused": lambda s: s.status in ("scored", "submission_fault"),
    "must finish within 2 s": lambda s: s.seconds <= 2,
    "counts in the denominator": lambda s: s.in_results and s.value == 0,
    "never scored": lambda s: not s.in_results,
    "no division by zero": lambda s: "internal error" not in s.errors,
    "clear hint": lambda s: s.value == 1 or s.refused or bool(s.warnings),
    "the folder is never used as gold": lambda s: s.value == 1,
    "the key is ignored or score 0 with error class BAD_METADATA": lambda s: (
        s.fault == "BAD_METADATA" or any("key 'evaluation' is not read" in line for line in s.warnings)
    ),
    "bad line reported": lambda s: any(
        re.match(r"results_metadata\.jsonl:\d+: (BAD_METADATA|BAD_JSON|BAD_ENCODING|LIMIT)\b", line) for line in s.warnings
    ),
    "score 1 for the good one": lambda s: s.value == 1,
    "warning UNKNOWN_ID": lambda s: any(re.match(r"results_metadata\.jsonl:\d+: .*UNKNOWN_ID", line) for line in s.warnings),
    "warning BAD_METADATA with the line number": lambda s: _eight_bad_rows(s.warnings),
}
# Clauses that mean something else for each rule, or that leave a choice.
WHOLE: dict[str, Callable[[str, Seen], bool]] = {
    "score 0 (unless lenient mode is asked for)": lambda _, s: s.value == (0 if s.rules == "strict" else 1),
    "score 0 with a relative tolerance": lambda _, s: s.row["strict"] == 0,
    "score 1 in upstream-compatible mode": lambda _, s: s.row["official"] == 1,
    "score 0 with relative precision": lambda _, s: s.row["strict"] == 0,
    "documented: score 1 only if gold is all null": lambda _, s: s.row["strict"] == 0,
    "documented": _documented,
    "documented (upstream: 1)": _documented,
    "score 0 if exclude/length rule set": _documented,  # neither is set there
    "documented otherwise": _documented,
    "deterministic: either refused (BAD_DUCKDB) or the .wal is never seen (score 1)": lambda _, s: s.value == 1,
    "score 0 with error class MISSING_FILE or UNREADABLE (root reads it: score 1)": lambda _, s: (
        s.value == 1 if s.is_root else s.fault == "MISSING_FILE"
    ),
}
