"""How reasons speak of tables: counts, cells and headers in a few characters, and the sentence of a full match."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final, Protocol

from evalsuite.compare.official_cells import is_empty
from evalsuite.core.types import Fault, Score

MAX_SHOWN: Final = 40
# So many cells are looked at to tell which column is nearest; the few are for big tables.
RANKED_CELLS: Final = 20_000
FEW_RANKED_CELLS: Final = 2_000
LONGEST_FLOAT: Final = 308
_DELIMITERS: Final = {";": "a semicolon", "\t": "a tab", "|": "a bar"}


_WORDED: Final = ContextVar("worded", default=True)


@contextmanager
def verdicts_only() -> Iterator[None]:
    """Omit reasons and margins inside this context: code that scores thousands of tables needs only verdicts."""
    token = _WORDED.set(False)
    try:
        yield
    finally:
        _WORDED.reset(token)


def is_worded() -> bool:
    """Whether reasons and margins are computed."""
    return _WORDED.get()


def all_found(n_rows: int, pairs: Sequence[tuple[int, int]]) -> Score:
    """The score 1 of a table in which each needed gold column has a match: pairs of columns, counted from 1."""
    subject = "the needed column has" if len(pairs) == 1 else f"all {len(pairs)} needed columns have"
    reason = f"{subject} an equal, {count(n_rows, 'row')}"
    return Score(official=1.0, reason=reason, details={"n_found": len(pairs), "n_needed": len(pairs), "pairs": [list(p) for p in pairs]})


def no_equal(column: int, name: str, because: str) -> str:
    """The sentence on a gold column (from 0) that matches no predicted column."""
    return f"gold column {column + 1} {shorten(name)} has no equal: {because}"


def other_delimiter(header: Sequence[str]) -> str:
    """A hint if the header of a CSV shows another delimiter than the comma: one column whose name contains that delimiter."""
    found = next((word for sign, word in _DELIMITERS.items() if len(header) == 1 and sign in header[0]), "")
    return f"{shorten(header[0])} is one column: is {found} the delimiter? fields are parted by commas" if found else ""


class Headed(Protocol):
    """A table in any representation."""

    @property
    def header(self) -> tuple[str, ...]:
        """The names of its columns."""
        ...


def with_delimiter(score: Score, handed_in: Sequence[Headed | Fault]) -> Score:
    """The score of tables; if it is not 1 and a table appears to have another delimiter, the reason says so."""
    said = next((text for table in handed_in if not isinstance(table, Fault) and (text := other_delimiter(table.header))), "")
    if not said or 1 in (score.official, score.strict):
        return score
    return replace(score, reason=f"{score.reason}; {said}", strict_reason=score.strict_reason and f"{score.strict_reason}; {said}")


def shown(value: Any) -> str:
    """A cell as a reason shows it."""
    if is_empty(value):
        return "empty"
    return shorten(value) if isinstance(value, str) else _cut(str(value))


def shorten(text: str) -> str:
    """Quoted text of at most 40 characters."""
    return repr(_cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def count(n: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
