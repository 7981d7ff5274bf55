"""Types of scoring one answer, as frozen dataclasses: what a scorer gets and returns. They import nothing else of evalsuite."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from evalsuite.core.dataclasses import dataclass, field

Rule = Literal["official", "strict"]
Status = Literal["scored", "missing", "submission_fault", "gold_fault", "scorer_fault", "timeout", "crashed", "unscored"]
Reads = Literal["text", "number", "table", "tables", "database", "tree", "batch", "query"]

RULES: tuple[Rule, ...] = ("official", "strict")
# Evaluators of query pairs: names of gold layouts, and of rules under which they give the official verdict.
EVALUATORS = ("bird-ex", "test-suite")
# Type of a column with SQLite values: None, 64-bit integers, floats, texts and bytes, mixed.
SQLITE_CELLS = "SQLITE"
# The file that makes a folder a submission.
METADATA = "results_metadata.jsonl"
# Read if no METADATA file exists.
METADATA_ARRAY = "results_metadata.json"
# The only key of an object that replaces an unreadable record of an answer: {"line", "cause"}, and "repaired" if it can be repaired.
BROKEN_RECORD = "x-eval-broken"


class Within(NamedTuple):
    """The ends of a number, as metadata of a type: `Annotated[float, Within(0, 1)]`. NaN and infinity are outside."""

    low: float
    high: float = math.inf

    def __str__(self) -> str:
        """Return the ends in words: `of at least 0`, `from 0 to 1`."""
        return f"of at least {self.low:g}" if self.high == math.inf else f"from {self.low:g} to {self.high:.12g}"

    def holds(self, value: float) -> bool:
        """Return whether the number is finite and within the ends, which are included."""
        return self.low <= value <= self.high and value != math.inf


Distance = Annotated[float, Within(0)]
"""An allowed difference."""


def reaches(score: float, gate: float) -> bool:
    """Return whether a score meets a gate. The rounding noise of a mean does not count: the mean of 0.6, 0.7 and 0.8 meets 0.7."""
    return score > gate - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A coded reason why something could not be scored.

    Attributes:
        code: a key of `errors.FAULTS`.
        detail: one sentence about this case.
        where: `file:line`, if known.
        side: the responsible party, if it differs from the code's default: `setup` if the machine, not the answer, reached a limit.
    """

    code: str
    detail: str = ""
    where: str = ""
    side: Literal["", "setup"] = ""

    def to_json(self) -> dict[str, str]:
        """Return the value of a `strict_fault` in JSON."""
        return {"code": self.code, "detail": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem of one gold check, and the rules under which it prevents a verdict. Empty `blocks` is a warning."""

    code: str
    message: str
    hint: str = ""
    where: str = ""
    blocks: frozenset[Rule] = frozenset(RULES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table from a reader: n_columns sequences of n_rows cells each.

    Attributes:
        header: n_columns names.
        columns: the cells. From CSV, the text in the file, or None where a short row has no field; types are inferred in `compare/`. From a
            database, native Python values, None for NULL.
        n_rows: the number of rows.
        types: each column's database type; None for CSV.
        ragged_line: the first line (1-based) with more fields than the header, or None.
        name: the name of the table.
        is_view: whether the rows come from a view over tables of the same database.
        reads_clock: whether that view may read the time, so that its rows may change from day to day.
    """

    header: tuple[str, ...]
    columns: tuple[Sequence[Any], ...]
    n_rows: int
    types: tuple[str, ...] | None = None
    ragged_line: int | None = None
    name: str = ""
    is_view: bool = False
    reads_clock: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Return value of a scorer: the value under both rules, and the reasons.

    Attributes:
        official: in [0, 1]; None if the official rules cannot judge.
        strict: in [0, 1]; None if the strict rules cannot judge.
        reason: one sentence about the official verdict.
        strict_reason: one sentence about the strict verdict; empty if it is the same.
        flip: the cause if the two verdicts differ, else empty.
        fault: why `official` is None, or the submission's fault behind a 0.
        strict_fault: the same for `strict`.
        details: JSON-safe details.
    """

    official: float | None
    strict: float | None = None
    reason: str = ""
    strict_reason: str = ""
    flip: str = ""
    fault: Fault | None = None
    strict_fault: Fault | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def value(self, rule: Rule = "official") -> float | None:
        """Return the value under `rule`: a number in [0, 1], or None if that rule cannot judge."""
        return self.official if rule == "official" else self.strict

    def fault_under(self, rule: Rule = "official") -> Fault | None:
        """Return the fault under `rule`; None for a plain verdict."""
        return self.fault if rule == "official" else self.strict_fault

    def reason_for(self, rule: Rule = "official") -> str:
        """Return the one-sentence reason of the verdict under `rule`."""
        return self.strict_reason or self.reason if rule == "strict" else self.reason

    why = reason_for  # the name in version 0.2.0


def broken_record_in(value: Any) -> dict[str, Any] | None:
    """Return what replaces an unreadable record (`BROKEN_RECORD`), None for any other value."""
    broken = value.get(BROKEN_RECORD) if isinstance(value, dict) and len(value) == 1 else None
    return broken if isinstance(broken, dict) else None
