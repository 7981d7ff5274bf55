"""Reasons of table comparison: every sentence that a person reads about two tables, and the short forms of cells, names and counts."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, Final, Literal, TypeGuard

from evalsuite.compare.official_cells import NA_WORDS, is_empty
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import count_words
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.scores import Fault, Score, Table

MAX_SHOWN: Final = 40
LONGEST_FLOAT: Final = 308
MAX_COLUMNS: Final = 3
_BEFORE_DIFFERENCE: Final = 12
_MAX_JOINED: Final = 200
Closeness = Literal["closest", "sampled", "name"]
_CLOSENESS: Final = {"closest": "closest is", "sampled": "closest in the first rows is", "name": "closest by name is"}
_DELIMITERS: Final = {";": "semicolon", "\t": "tab", "|": "bar", ",": "comma", "^": "caret", "\x01": "Ctrl-A character"}
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
    "LaTeX": lazy_pattern(r"\\(?:begin|documentclass|usepackage)\b|\\(?:hline|toprule)$"),
}
# The same of two lines together: the first and the one below it.
_TWO_LINES: Final = {
    "a table drawn with lines": lazy_pattern(r"[^\n]*\n *-{2,}(?:(?: {1,2}|\+)-{2,})+ *$"),
    "YAML": lazy_pattern(r"- [\w \-]+:(?: [^\n]*)?\n  [\w \-]+:(?: |$)"),
}
_NAMED_VALUES: Final = lazy_pattern(r"(?= |[^\n]*\n )(?: *\w+) = [^\n]*\n *\w+ = ")
_FENCE: Final = lazy_pattern(r"```\w+")
_COUNT_OF_ROWS: Final = lazy_pattern(r"\((\d+) rows?(?: affected)?\)")
# Of so many lines or rows each is looked at to say what a file is instead of a CSV, or which row of gold its first line is.
_LINES_TRIED, _ROWS_TRIED, _CELLS_TRIED = 20, 1000, 10_000
# How true and false are written by other programs.
_TRUTHS: Final = [{"true": yes, "false": no} for yes, no in (("t", "f"), ("yes", "no"), ("y", "n"), ("on", "off"))]
_BITS: Final = {"true": "1", "false": "0"}
# How other programs write a cell that is empty, if pandas reads it as a text.
_EMPTY_MARKS: Final = frozenset(["-", "--", "\u2013", "\u2014", "(null)", "\\N", "nil", "none", "N-A", "?"])


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


def nearest_by_rank(ranks: Mapping[int, tuple[float, int]], namesakes: Sequence[int], *, is_sample: bool) -> tuple[int, Closeness]:
    """The predicted column to compare gold's with in a reason, and why, by (number of cells that differ, distance) of each column.

    The column of the same name, unless another one differs in less than half as many cells; else the one that differs least.
    """
    best, namesake = min(ranks, key=ranks.__getitem__), min(namesakes, key=ranks.__getitem__, default=None)
    if namesake is not None and namesake != best and 2 * ranks[best][0] >= ranks[namesake][0]:
        return namesake, "name"
    return best, "sampled" if is_sample else "closest"


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


def lines_below(table: Any) -> list[str]:
    """The first rows of a CSV table approximately as their lines are written; none if it has not been read, or without its first fields."""
    if getattr(table, "ragged_line", None) is not None:
        return []
    rows = islice(zip(*(column[:_LINES_TRIED] for column in getattr(table, "columns", ())), strict=True), _LINES_TRIED)
    return [",".join(cell for cell in row if cell is not None) for row in rows]


def other_delimiter(header: Sequence[str], delimiter: str = ",", below: Sequence[str] = ()) -> str:
    """A hint if the header of a CSV shows another delimiter than the one it is read with: one column whose name contains that delimiter,
    as one of the lines below it does, if there are any.
    """
    signs = [sign for sign in _DELIMITERS if sign != delimiter and len(header) == 1 and sign in header[0]]
    sign = next((sign for sign in signs if not below or any(sign in line for line in below)), "")
    if not sign:
        return ""
    wanted = f"{_DELIMITERS[delimiter]}s" if delimiter in _DELIMITERS else repr(delimiter)
    return f"{shorten(header[0])} is one column: is the delimiter a {_DELIMITERS[sign]}? fields must be separated by {wanted}"


def other_format(header: Sequence[str], below: Sequence[str] = ()) -> str:
    """A hint if a file is no CSV but begins like another format, or contains a fence; the header and the lines below are checked."""
    names = ",".join(header[:_MAX_JOINED])
    first = names.strip()[:_MAX_JOINED]
    both = f"{names[:_MAX_JOINED]}\n{below[0][:_MAX_JOINED]}" if below else ""
    form = next((words for words, pattern in _BEGINNINGS.items() if pattern.match(first)), "")
    form = form or next((words for words, pattern in _TWO_LINES.items() if pattern.match(both)), "")
    # A program writes the signs below each other, a person does not.
    if _NAMED_VALUES.match(both) and len({line.find(" = ") for line in both.split("\n")}) == 1:
        form = form or "`name = value` on each line, as sqlite3 -line"
    if form:
        return f"the file begins like {form}, not like a CSV: {shorten(header[0])}"
    fence = next((line for line in below[:_LINES_TRIED] if _FENCE.fullmatch(line.rstrip(","))), "")
    return f"the file contains the line {shorten(fence)}, as Markdown around a block of code does" if fence else ""


def other_form(header: Sequence[str], delimiter: str = ",", below: Sequence[str] = ()) -> str:
    """A hint if the first lines show that the file is no CSV, or one with another delimiter."""
    return other_format(header, below) or other_delimiter(header, delimiter, below)


def with_form(score: Score, pairs: Iterable[tuple[Table | Fault, Sequence[Table | Fault]]], delimiter: str = ",") -> Score:
    """The score of tables, each with its accepted gold tables; if it is not 1 and a file shows why, the reason says so.

    A file shows that it begins like another format, has rows longer than its header, has lines that are no rows, or writes true, false or
    empty cells in one other way.
    """
    if 1 in (score.official, score.strict) or not are_reasons_wanted():
        return score
    tables = [(table, golds) for table, golds in pairs if _has_texts(table)]
    hint = next((text for table, _ in tables if (text := other_form(table.header, delimiter, lines_below(table)))), "")
    ragged = next((line for table, _ in tables if (line := table.ragged_line)), None)
    if not hint and ragged is not None:
        hint = f"{ragged_line(ragged)}, so the first fields of each row are read as its label, not as columns"
    for table, golds in tables if not hint else ():
        read = [gold for gold in golds if not isinstance(gold, Fault)]
        hint = hint or next(filter(None, [_odd_lines(table, read), _other_words(table, read)]), "")
    if not hint:
        return score
    strict = score.strict_reason
    if strict and not (ragged is not None and ragged_line(ragged) in strict):
        strict = f"{strict}; {hint}"
    return replace(score, reason=f"{score.reason}; {hint}", strict_reason=strict)


def _has_texts(table: Table | Fault) -> TypeGuard[Table]:
    """Whether it is a table of texts, as a CSV gives it: the cells of a typed one are values."""
    return not isinstance(table, Fault) and table.types is None


def _odd_lines(table: Table, golds: Sequence[Table]) -> str:
    """A hint if the first line of a table is a row of gold, the names of its columns are below the first line, or the last line counts."""
    own = set(map(str.casefold, table.header))
    for gold in golds:
        names = set(map(str.casefold, gold.header))
        if (row := _row_with(gold, table.header)) is not None and not names & own:
            return f"the first line, which is read as the names of the columns, has the values of row {row + 1} of gold"
        for at, row_cells in enumerate(zip(*(column[:_LINES_TRIED] for column in table.columns), strict=True)):
            if len(names) > 1 and not names <= own and names <= {cell.casefold() for cell in row_cells if cell}:
                return f"row {at + 1} has the names of gold's columns, which the first line does not have"
    last = [column[table.n_rows - 1] for column in table.columns] if table.n_rows and table.columns else [""]
    counted = _COUNT_OF_ROWS.fullmatch(last[0] or "")
    if counted is not None and not any(last[1:]) and int(counted[1]) == table.n_rows - 1:
        return f"the last line {shorten(last[0])}, which is read as a row, is the number of the rows above it"
    return ""


def _row_with(gold: Table, cells: Sequence[str]) -> int | None:
    """The first row of gold, from 0, with these texts or numbers; None if none of the first rows has them."""
    if len(cells) != len(gold.columns):
        return None
    rows = zip(*(column[:_ROWS_TRIED] for column in gold.columns), strict=True)
    return next((at for at, row in enumerate(rows) if all(map(_are_alike, row, cells))), None)


def _are_alike(first: str | None, second: str) -> bool:
    """Whether two cells are one text, except for capital letters, or one number; true is 1."""
    first = (first or "").casefold()
    if first == second.casefold() or _BITS.get(first) == second:
        return True
    try:
        return float(first) == float(second)
    except ValueError:
        return False


def _other_words(table: Table, golds: Sequence[Table]) -> str:
    """A hint if, row by row, all cells of a column that differ from gold are one word for true, one for false, or one for empty cells."""
    if table.n_rows * len(table.columns) > _CELLS_TRIED:
        return ""
    columns = {name.casefold(): column for name, column in zip(table.header, table.columns, strict=True)}
    same = [gold for gold in golds if gold.n_rows == table.n_rows]
    pairs = ((name, wanted, columns.get(name.casefold())) for gold in same for name, wanted in zip(gold.header, gold.columns, strict=True))
    said = ((name, _words_for(wanted, column)) for name, wanted, column in pairs if column is not None)
    return next((f"each cell of {shorten(name)} that differs is {words}" for name, words in said if words), "")


def _words_for(wanted: Sequence[str | None], written: Sequence[str | None]) -> str:
    """What the cells of a column are that differ from gold's, if they are words for true and false, or one for empty cells."""
    unlike = {(a or "", b or "") for a, b in zip(wanted, written, strict=True) if (a or "") != (b or "") and not {a, b} <= NA_WORDS}
    words = dict(unlike)
    if not words or len(words) < len(unlike):
        return ""
    are_truths = any(all(truths.get(text.lower()) == word.lower() for text, word in unlike) for truths in _TRUTHS)
    marks = set(words.values())
    if are_truths:
        return " or ".join(f"{shorten(words[text])} where gold has {text}" for text in sorted(words, reverse=True))
    return f"{shorten(marks.pop())} where gold is empty" if set(words) <= NA_WORDS and len(marks) == 1 and marks <= _EMPTY_MARKS else ""


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
