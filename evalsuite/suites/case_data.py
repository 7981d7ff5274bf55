"""Read a suite's cases and a run's candidates from files, frames or lists; an error names the row of a blank cell.

Files are CSV, TSV, JSON Lines, JSON, Parquet or Excel, by their ending.
"""

import datetime
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from evalsuite.compare.messages import shorten
from evalsuite.core.errors import MissingExtraError, UsageError, did_you_mean
from evalsuite.readers.csv_table import read_named_rows
from evalsuite.suites.stored_suites import StoredSuite, counted_ids

# Column name -> n cells as in the file; None for an empty one.
Columns = Mapping[str, Sequence[Any]]
FILE_KINDS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx")
_HINT = "give a path to a CSV, TSV, JSONL, JSON, Parquet or Excel file"


def read_columns(source: Any) -> Columns:
    """Return the columns of a file (by its ending) or of a frame (anything with `columns` and `to_dict`), n cells each.

    Raises:
        UsageError: anything else, or a file that cannot be read.
        MissingExtraError: Excel without its extra.
    """
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        return {str(name): list(source[name]) for name in source.columns}
    if not isinstance(source, str | Path):
        raise UsageError(f"cannot read data from {type(source).__name__}", hint=f"{_HINT}, or a data frame")
    path = Path(source)
    kind = path.suffix.lower()
    if kind not in FILE_KINDS:
        raise UsageError(f"cannot read {path.name!r}: its ending is none of {', '.join(FILE_KINDS)}", hint=_HINT)
    if kind in (".csv", ".tsv"):
        header, rows = read_named_rows(path, delimiters="\t" if kind == ".tsv" else ",;\t")
        return {name: [row[i] if i < len(row) else None for _, row in rows] for i, name in enumerate(header)}
    if not path.is_file():
        raise UsageError(f"{path}: no such file", hint=_HINT)
    read = {".jsonl": _read_jsonl, ".json": _read_json_rows, ".parquet": _read_parquet, ".xlsx": _read_excel}[kind]
    try:
        return read(path)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8", hint="save the file as UTF-8") from None


def _read_jsonl(path: Path) -> Columns:
    records: list[dict[str, Any]] = []
    # Not `splitlines`: a text may contain other line ends, as U+2028.
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except (ValueError, RecursionError):
                raise UsageError(f"{path}:{number}: not valid JSON", hint="one JSON object per line") from None
            if not isinstance(records[-1], dict):
                raise UsageError(f"{path}:{number}: not a JSON object", hint="one JSON object per line")
    return _columns_of(records)


def _read_json_rows(path: Path) -> Columns:
    hint = 'a list of objects, [{"input": ..., "reference": ...}, ...], or an object of lists of one length'
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not valid JSON", hint=hint) from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply", hint=hint) from None
    if isinstance(value, list) and all(isinstance(record, dict) for record in value):
        return _columns_of(value)
    lists = isinstance(value, dict) and value and all(isinstance(cells, list) for cells in value.values())
    if not lists or len({len(cells) for cells in value.values()}) > 1:
        raise UsageError(f"{path}: contains no rows", hint=hint)
    return {str(name): cells for name, cells in value.items()}


def _columns_of(records: Sequence[Mapping[str, Any]]) -> Columns:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def _read_parquet(path: Path) -> Columns:
    import duckdb

    try:
        with duckdb.connect() as connection:
            answer = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
            names = [described[0] for described in answer.description or ()]
            rows = answer.fetchall()
    except duckdb.Error:
        raise UsageError(f"{path}: not a readable Parquet file", hint=_HINT) from None
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _read_excel(path: Path) -> Columns:
    """Return the columns of the first sheet, whose first row names them; empty rows are left out."""
    try:
        import openpyxl  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise MissingExtraError(f"{path}: openpyxl is not installed", extra="xlsx") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Exception:  # openpyxl passes on the errors of a broken archive: KeyError, BadZipFile, ParseError ...
        raise UsageError(f"{path}: not a readable Excel file", hint="save it again as .xlsx, or export the sheet as CSV") from None
    rows = [[cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell for cell in row] for row in rows]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise UsageError(f"{path}: its first sheet is empty", hint="the first row names the columns")
    header, *body = rows
    return {str(name): [row[i] for row in body] for i, name in enumerate(header) if name is not None}


INPUT_COLUMN: Final = "input"
REFERENCE_COLUMN: Final = "reference_output"
ID_COLUMN: Final = "id"
# Allowed ids: they name files of answers and are shown in reports.
_ID = re.compile(r"[\w.:@+-][\w .:@+-]{0,99}")


class CaseData(NamedTuple):
    """n inputs, their references (None if there are none), and the ids of the data (None if it has none)."""

    inputs: list[str]
    references: list[str] | None
    ids: list[str] | None = None


def reference_data_of(
    frame: Any,
    path: str | Path | None,
    inputs: Iterable[str] | None,
    references: Iterable[str | None] | None,
    input_column: str,
    reference_column: str,
    allow_empty: bool,
) -> CaseData | None:
    """Return the cases from the first given source: frame, file, lists; None if there is none. Raises `UsageError`."""
    source = frame if frame is not None else path
    if source is None:
        if inputs is None:
            return None
        inputs, references = list(inputs), None if references is None else list(references)
        equal_lengths(inputs=inputs, references=references)
        return CaseData(all_texts(inputs, what="input"), references_of(references))
    data = read_columns(source)
    questions = column(data, input_column, what="input", allow_empty=allow_empty)
    # A named column must exist; the default one may be absent if a scorer needs no reference.
    wanted = reference_column in data or reference_column != REFERENCE_COLUMN
    answers = column(data, reference_column, what="reference", allow_empty=allow_empty) if wanted else None
    equal_lengths(inputs=questions)
    # The cells of the column `id` if each row has a unique valid one, else None: cases are then counted.
    ids = [_text_of_cell(cell) or "" for cell in data.get(ID_COLUMN, ())]
    return CaseData(questions, answers, ids if ids and len(set(ids)) == len(ids) and all(map(_ID.fullmatch, ids)) else None)


def candidates_of(
    suite: StoredSuite,
    source: Any,
    outputs: Iterable[str] | None,
    *,
    candidate_column: str,
    context_column: str | None,
    contexts: Iterable[str] | None,
    input_column: str | None = None,
) -> tuple[list[str], list[str] | None]:
    """Return (candidate outputs, contexts), one for each case of the suite in its order; `source` is a frame or a file, else the lists
    count.

    Raises:
        UsageError: no source was given, or its rows are not those of the suite.
    """
    n = len(suite.test_cases)
    if source is None:
        if outputs is None:
            raise UsageError("no candidate data given", hint="candidate_data, candidate_data_path or candidate_output_list")
        outputs, contexts = list(outputs), None if contexts is None else list(contexts)
        if equal_lengths(candidates=outputs, contexts=contexts) != n:
            raise UsageError(f"{len(outputs)} candidates for {n} test cases", hint="one candidate for each test case, in their order")
        return all_texts(outputs, what="candidate"), None if contexts is None else all_texts(contexts, what="context")
    if contexts is not None:
        raise UsageError("a list of contexts goes with a list of candidates", hint="name the context column of the data instead")
    data = read_columns(source)
    answers = column(data, candidate_column, what="candidate", allow_empty=True)
    told = column(data, context_column, what="context", allow_empty=True) if context_column is not None else None
    rows = rows_of_cases(data, suite, input_column or suite.extra.get("input_column") or INPUT_COLUMN)
    return [answers[row] for row in rows], None if told is None else [told[row] for row in rows]


def rows_of_cases(data: Columns, suite: StoredSuite, input_column: str) -> list[int]:
    """Return the row (from 0) of each case, by the column `id`, else by the column of inputs, else by position.

    An `id` column counts if the suite has ids of its own, or if it contains one of the suite's.

    Raises:
        UsageError: an extra or repeated row, a case without a row, or ids whose inputs all differ from the suite's.
    """
    cases = suite.test_cases
    ids, inputs = ([_text_of_cell(cell) or "" for cell in data.get(name, ())] for name in (ID_COLUMN, input_column))
    own = [case.id for case in cases]
    if ids and (own != counted_ids(len(own)) or set(own) & set(ids)):
        rows = _places_of_keys(own, ids, ID_COLUMN)
        if inputs and not any(_single_spaced(inputs[row]) == _single_spaced(case.input) for row, case in zip(rows, cases, strict=True)):
            hint = f"another column of questions is named by --input-column; here it is {input_column!r}"
            raise UsageError("the ids are those of the suite, but all questions differ: these are answers to another suite", hint=hint)
        return rows
    if inputs:
        return _places_of_keys([_single_spaced(case.input) for case in cases], [_single_spaced(text) for text in inputs], input_column)
    n = len(next(iter(data.values()), ()))
    if n != len(cases):
        hint = f"one row for each test case, in their order, or a column {ID_COLUMN!r} or {input_column!r} to join by"
        raise UsageError(f"{n} candidates for {len(cases)} test cases", hint=hint)
    return list(range(n))


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def _places_of_keys(wanted: Sequence[str], given: Sequence[str], name: str) -> list[int]:
    """Return the position of each wanted key among the given ones; a key that is wanted k times takes its k positions in order."""
    places: dict[str, list[int]] = {key: [] for key in wanted}
    for row, key in enumerate(given):
        if key not in places:
            raise UsageError(f"row {row + 1}: the suite has no {name} {shorten(key)}", hint="are these answers to another suite?")
        places[key].append(row)
    for key, rows in places.items():
        n = wanted.count(key)
        if len(rows) > n:
            raise UsageError(f"row {rows[n] + 1}: the {name} {shorten(key)} occurs {len(rows)} times, in the suite {n} times")
        if len(rows) < n:
            n_without = sum(len(places[other]) < wanted.count(other) for other in places)
            of = f"{n_without} of {len(wanted)} test cases have no candidate, first" if n_without > 1 else "no candidate for"
            raise UsageError(
                f"{of} the {name} {shorten(key)}", hint="one row for each test case, in any order; an empty answer counts as one"
            )
    waiting = {key: iter(rows) for key, rows in places.items()}
    return [next(waiting[key]) for key in wanted]


def column(data: Columns, name: str, *, what: str, allow_empty: bool = False) -> list[str]:
    """Return one column without blanks. Raises `UsageError` if it is missing or a cell is blank."""
    if name not in data:
        hint = f"{did_you_mean(name, data)}; name another with --{what.replace(' ', '-')}-column"
        raise UsageError(f"the data has no {what} column {name!r}", hint=hint)
    cells = []
    for row, raw in enumerate(data[name], start=1):
        cell = _one_text(raw, row, name)
        if not cell and not allow_empty:
            raise UsageError(f"row {row}: the {what} column {name!r} is blank", hint="fill it in, or pass --allow-empty")
        cells.append(cell or "")
    return cells


def equal_lengths(**lists: Sequence[Any] | None) -> int:
    """Return the length of all given lists. Raises `UsageError` with both numbers if two differ, or if there is no row."""
    given = {name: len(values) for name, values in lists.items() if values is not None}
    if len(set(given.values())) > 1:
        counts = ", ".join(f"{count} {name}" for name, count in given.items())
        raise UsageError(f"the lists differ in length: {counts}", hint="one entry for each test case")
    n = next(iter(given.values()), 0)
    if n == 0:
        raise UsageError("there is no test case", hint="a suite needs at least one row")
    return n


def all_texts(values: Sequence[Any], *, what: str) -> list[str]:
    """Return the list if all of it is text. Raises `UsageError` that names the first other entry, None too."""
    for row, value in enumerate(values, start=1):
        if not isinstance(value, str):
            raise UsageError(f"entry {row} of the {what} list is {type(value).__name__}, not text", hint="one text for each test case")
    return list(map(str, values))


def references_of(values: Sequence[Any] | None) -> list[str] | None:
    """Return the references, None if there is none. Raises `UsageError` if some are given and some are None."""
    if values is None or all(value is None for value in values):
        return None
    missing = [row for row, value in enumerate(values, start=1) if value is None]
    if missing:
        raise UsageError(f"some references are null and some are not: entry {missing[0]} is null", hint="all or none")
    return all_texts(values, what="reference")


def _one_text(cell: Any, row: int, name: str) -> str | None:
    """Return the cell as text; of a list its only element. Raises `UsageError` for a list of several, which is ambiguous."""
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    if not isinstance(cell, list | tuple):
        return _text_of_cell(cell)
    if len(cell) > 1:
        raise UsageError(f"row {row}: the column {name!r} contains a list of {len(cell)}", hint="one text per cell; write one row for each")
    return _text_of_cell(cell[0]) if cell else None


def _text_of_cell(value: Any) -> str | None:
    """Return a cell as text: missing values (None, NaN) as None, whole numbers in their form, other values as JSON."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list | bool) else str(value)
