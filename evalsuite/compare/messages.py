"""Reasons of table comparison: every sentence that a person reads about two tables, and the short forms of cells, names and counts."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, Protocol

from evalsuite.compare.official_cells import is_empty
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import count_words
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.scores import Fault, Score

MAX_SHOWN: Final = 40
LONGEST_FLOAT: Final = 308
MAX_COLUMNS: Final = 3
_BEFORE_DIFFERENCE: Final = 12
_MAX_JOINED: Final = 200
Closeness = Literal["closest", "sampled", "name"]
_CLOSENESS: Final = {"closest": "closest is", "sampled": "closest in the first rows is", "name": "closest by name is"}
_DELIMITERS: Final = {";": "semicolon", "\t": "tab", "|": "bar", ",": "comma"}
# How other formats begin that are text too; of the first that fits, the words.
_BEGINNINGS: Final = {
    "a Python list or dict": lazy_pattern(r"[\[{(][\[{(\s]*'"),
    "JSON": lazy_pattern(r'[\[{]\s*(?:["\[{]|-?[\d.]+\s*,|$)'),
    "a Markdown code block": lazy_pattern(r"```"),
    "a Markdown table": lazy_pattern(r"\|.*\|\s*$"),
    "a table drawn with lines": lazy_pattern(r"[+\u250c\u2554\u256d][-=+\u2500-\u257f]{2,}"),
    "HTML or XML": lazy_pattern(r"<(?:[?!]\w|!--|[a-z][a-z0-9]*(?:\s[^<]*)?/?>|(?:TABLE|TR|HTML)\b)"),
    "SQL": lazy_pattern(r"INSERT\s+INTO\s|CREATE\s+TABLE\s|(?:SELECT|WITH)\s.*\sFROM\s", re.IGNORECASE),
    "UTF-16 without a byte order mark": lazy_pattern(r"\0?[^\0]\0[^\0](?:\0|$)"),
    "Excel's `sep=` line": lazy_pattern(r"sep=[,;\t|]?,?$"),
}


_REASONS_WANTED: Final = ContextVar("reasons wanted", default=True)
_EVERY_MARGIN: Final = ContextVar("every margin", default=True)


@contextmanager
def _switch_off(switch: ContextVar[bool]) -> Iterator[None]:
    token = switch.set(False)
    try:
        yield
    finally:
        switch.reset(token)


def verdicts_only() -> AbstractContextManager[None]:
    """Omit reasons and margins inside this context: code that scores thousands of tables needs only verdicts."""
    return _switch_off(_REASONS_WANTED)


def cheap_margins() -> AbstractContextManager[None]:
    """Omit margins of tables inside this context that cost more than a tenth of the verdict."""
    return _switch_off(_EVERY_MARGIN)


def are_reasons_wanted() -> bool:
    """Whether reasons and margins are computed."""
    return _REASONS_WANTED.get()


def is_every_margin_wanted() -> bool:
    """Whether margins are computed whatever they cost."""
    return _EVERY_MARGIN.get()


def all_match(n_rows: int, pairs: Sequence[tuple[int, int]]) -> Score:
    """The score 1 of a table in which each needed gold column has a match: pairs of columns, counted from 1."""
    subject = "the needed column has" if len(pairs) == 1 else f"all {len(pairs)} needed columns have"
    reason = f"{subject} a match, {count_words(n_rows, 'row')}"
    return Score(official=1.0, reason=reason, details={"n_found": len(pairs), "n_needed": len(pairs), "pairs": [list(p) for p in pairs]})


def rows_match(n_rows: int, n_columns: int) -> str:
    """The reason of the strict score 1."""
    return f"{count_words(n_rows, 'row')} {'matches' if n_rows == 1 else 'match'} in {count_words(n_columns, 'needed column')}"


def row_count(n_predicted: int, n_gold: int) -> str:
    """The tables have different numbers of rows."""
    return f"{count_words(n_predicted, 'row')} submitted, gold has {n_gold}"


def table_count(n_predicted: int, n_gold: int) -> str:
    """The submission has another number of tables than gold."""
    return f"{count_words(n_predicted, 'table')} submitted, gold has {n_gold}"


def too_few_columns(kind: str, n_needed: int, n_predicted: int) -> str:
    """The table has fewer columns than gold needs."""
    return f"{kind}: gold needs {count_words(n_needed, 'column')}, {n_predicted} submitted"


def no_match(column: int, name: str, because: str) -> str:
    """A gold column (from 0) matches no predicted column."""
    return f"gold column {column + 1} {shorten(name)} has no match; {because}"


def closest(header: Sequence[str], column: int, difference: str, *, why: Closeness = "closest") -> str:
    """The predicted column (from 0) that is closest to a gold column, and how it differs; with its number if its name is ambiguous."""
    name = header[column]
    number = "" if name and header.count(name) == 1 else f"column {column + 1} "
    return f"{_CLOSENESS[why]} {number}{shorten(name)} ({difference})"


def cells_differ(n: int, n_cells: int, first: str, *, bound: str = "") -> str:
    """How many cells of two columns differ, and the first of them."""
    return f"{bound}{n} of {count_words(n_cells, 'cell')} {'differs' if n_cells == 1 else 'differ'}, first {first}"


def cell_of_row(name: str, key: Sequence[str], predicted: str, gold: str) -> str:
    """A cell of the row with this key, and gold's: `los of 'icu': 11.60, gold 10.71`. The only row of a table needs no key."""
    if not key:
        return f"at row 1: {gold} vs {predicted}"
    keys = ", ".join(text if text.isdecimal() and text.isascii() else shorten(text) for text in key)
    return f"{name if name.isidentifier() else shorten(name)} of {keys}: {predicted}, gold {gold}"


def labels_contradict(gold: tuple[int, str], matched: tuple[int, str], labelled: tuple[int, str]) -> str:
    """A gold column matches a predicted column, but another one has its label; columns as (position from 0, name)."""
    return f"labels: gold {_name_of(gold)} matches only predicted {_name_of(matched)}, but predicted {_name_of(labelled)} has its name"


def one_for_two(gold: Sequence[tuple[int, str]], predicted: Sequence[tuple[int, str]]) -> str:
    """Several gold columns match fewer predicted columns; columns as (position from 0, name)."""
    n_predicted = count_words(len(predicted), "predicted column")
    return f"one column for two: gold columns {_names_of(gold)} match only {n_predicted}: {_names_of(predicted)}"


def rows_scrambled(n_rows: int, n_differ: int, first: int, cells: str, *, is_exact: bool) -> str:
    """Each column matches alone, but rows (first: the first gold row, from 1) have no match."""
    number = f"{'' if is_exact else 'at least '}{n_differ} of {count_words(n_rows, 'row')}"
    return f"rows scrambled: each column matches alone, but {number} differ, first gold row {first}: ({cells})"


SORTED_APART: Final = "the cells match, but not in the order in which the reference sorts them as text"
ROWS_UNPAIRED: Final = "rows scrambled: each column matches alone, but no pairing of the rows keeps all of them within tolerance"


def kitchen_sink(n_columns: int, n_gold: int, column: int) -> str:
    """The table has far more columns than gold, and neither name nor place identifies gold column `column` (from 0)."""
    return f"kitchen sink: {n_columns} columns for {n_gold} of gold, and only its values identify gold column {column + 1}"


def ragged_line(line: int) -> str:
    """A line of a CSV file has more fields than its header."""
    return f"line {line} has more fields than the header"


def ignored_columns(parameter: str, columns: Sequence[int]) -> str:
    """The warning about positions that gold does not have."""
    return f"{parameter} names columns that gold does not have: {list(columns)}"


def reference_fails(error: object) -> str:
    """The reference raises while it compares two columns."""
    return f"the reference fails on these columns: {error}"


def cannot_read(what: str) -> str:
    """The reference cannot read a table of a database because of what is in it."""
    return f"the reference cannot read {what}"


def other_delimiter(header: Sequence[str], delimiter: str = ",") -> str:
    """A hint if the header of a CSV shows another delimiter than the one it is read with: one column whose name contains that delimiter."""
    others = (word for sign, word in _DELIMITERS.items() if sign != delimiter and len(header) == 1 and sign in header[0])
    if not (word := next(others, "")):
        return ""
    wanted = f"{_DELIMITERS[delimiter]}s" if delimiter in _DELIMITERS else repr(delimiter)
    return f"{shorten(header[0])} is one column: is the delimiter a {word}? fields must be separated by {wanted}"


def other_format(header: Sequence[str]) -> str:
    """A hint if the first line of a file is no header of a CSV but the beginning of another format; only the beginning is checked."""
    first = ",".join(header[:_MAX_JOINED]).strip()[:_MAX_JOINED]
    form = next((words for words, pattern in _BEGINNINGS.items() if pattern.match(first)), "")
    return f"the file begins like {form}, not like a CSV: {shorten(header[0])}" if form else ""


def other_form(header: Sequence[str], delimiter: str = ",") -> str:
    """A hint if the first line shows that the file is no CSV, or one with another delimiter."""
    return other_format(header) or other_delimiter(header, delimiter)


class HasHeader(Protocol):
    """A table in any representation."""

    @property
    def header(self) -> tuple[str, ...]:
        """The names of its columns."""
        ...


def with_form(score: Score, predictions: Sequence[HasHeader | Fault], delimiter: str = ",") -> Score:
    """The score of tables; if it is not 1 and a file begins like another format, or has rows longer than its header, the reason says so."""
    if 1 in (score.official, score.strict):
        return score
    tables = [table for table in predictions if not isinstance(table, Fault)]
    hint = next((text for table in tables if (text := other_form(table.header, delimiter))), "")
    ragged = next((line for table in tables if (line := getattr(table, "ragged_line", None))), None)
    if not hint and ragged is not None:
        hint = f"{ragged_line(ragged)}, so the first fields of each row are read as its label, not as columns"
    if not hint:
        return score
    strict = score.strict_reason
    if strict and not (ragged is not None and ragged_line(ragged) in strict):
        strict = f"{strict}; {hint}"
    return replace(score, reason=f"{score.reason}; {hint}", strict_reason=strict)


def cell_text(value: Any) -> str:
    """A cell as a reason shows it."""
    if is_empty(value):
        return "empty"
    return shorten(value) if isinstance(value, str) else cut(str(value))


def unlike_cells(first: Any, second: Any) -> tuple[str, str]:
    """Two cells that differ as a reason shows them, see `unlike_texts`."""
    if isinstance(first, str) and isinstance(second, str) and not (is_empty(first) or is_empty(second)):
        shown = unlike_texts(first, second)
        return repr(shown[0]), repr(shown[1])
    return cell_text(first), cell_text(second)


def unlike_texts(first: str, second: str) -> tuple[str, str]:
    """Two texts of at most 40 characters each: if they would look alike, from shortly before their first difference."""
    if first != second and cut(first) == cut(second):
        alike = next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
        begin = alike - _BEFORE_DIFFERENCE
        first, second = f"...{first[begin:]}", f"...{second[begin:]}"
    return cut(first), cut(second)


def shorten(text: str) -> str:
    """Quoted text of at most 40 characters."""
    return repr(cut(text))


def cut(text: str) -> str:
    """Text of at most 40 characters."""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def _name_of(column: tuple[int, str]) -> str:
    return f"column {column[0] + 1} {shorten(column[1])}"


def _names_of(columns: Sequence[tuple[int, str]]) -> str:
    """`1 'a', 2 'b' and 3 'c'`, at most a few by name."""
    names = [f"{position + 1} {shorten(name)}" for position, name in columns]
    if len(names) > MAX_COLUMNS:
        return f"{', '.join(names[:MAX_COLUMNS])} and {len(names) - MAX_COLUMNS} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
