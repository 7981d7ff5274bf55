"""Where a suite's cases and a run's candidates come from: files, frames or lists -> texts; a blank cell is an error that names its row."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evalsuite.errors import UsageError, did_you_mean
from evalsuite.readers.csv_table import read_named_rows

Columns = Mapping[str, Sequence[str | None]]
REFERENCE_COLUMN: Final = "reference_output"
FILE_KINDS = (".csv", ".jsonl", ".parquet")
_HINT = "give a path to a CSV, JSONL or Parquet file"


def reference_data_of(
    frame: Any,
    path: str | Path | None,
    inputs: Sequence[str] | None,
    references: Sequence[str] | None,
    input_column: str,
    reference_column: str,
    allow_empty: bool,
) -> tuple[list[str], list[str] | None] | None:
    """(inputs, references) from the first source that was given: frame, file, lists; None where none was. Raises `UsageError`."""
    source = frame if frame is not None else path
    if source is None:
        if inputs is None:
            return None
        equal_lengths(inputs=inputs, references=references)
        return all_texts(inputs, what="input"), references_of(references)
    data = read_columns(source)
    questions = column(data, input_column, what="input", allow_empty=allow_empty)
    # A column that was named must be there; the default one may be absent where a scorer needs no reference.
    wanted = reference_column in data or reference_column != REFERENCE_COLUMN
    answers = column(data, reference_column, what="reference", allow_empty=allow_empty) if wanted else None
    equal_lengths(inputs=questions)
    return questions, answers


def candidates_of(
    frame: Any,
    path: str | Path | None,
    outputs: Sequence[str] | None,
    candidate_column: str,
    context_column: str | None,
    contexts: Sequence[str] | None,
) -> tuple[list[str], list[str] | None]:
    """(candidate outputs, contexts) from the first source that was given. Raises `UsageError` where none was."""
    source = frame if frame is not None else path
    if source is None:
        if outputs is None:
            raise UsageError("no candidate data given", hint="candidate_data, candidate_data_path or candidate_output_list")
        equal_lengths(candidates=outputs, contexts=contexts)
        return all_texts(outputs, what="candidate"), None if contexts is None else all_texts(contexts, what="context")
    if contexts is not None:
        raise UsageError("a list of contexts goes with a list of candidates", hint="name the context column of the data instead")
    data = read_columns(source)
    answers = column(data, candidate_column, what="candidate", allow_empty=True)
    return answers, column(data, context_column, what="context", allow_empty=True) if context_column is not None else None


def read_columns(source: Any) -> Columns:
    """The columns of a file (by its ending) or of a frame (anything with `columns` and `to_dict`), n cells of text or None each.

    Raises `UsageError` for anything else, and for a file that cannot be read.
    """
    if isinstance(source, str | Path):
        return _read_file(Path(source))
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        return {str(name): [_as_text(value) for value in source[name]] for name in source.columns}
    raise UsageError(f"cannot read data from {type(source).__name__}", hint=f"{_HINT}, or a data frame")


def column(data: Columns, name: str, *, what: str, allow_empty: bool = False) -> list[str]:
    """One column without blanks. Raises `UsageError` where it is missing or a cell is blank."""
    if name not in data:
        hint = f"{did_you_mean(name, data)}; name another with --{what.replace(' ', '-')}-column"
        raise UsageError(f"the data has no {what} column {name!r}", hint=hint)
    cells = []
    for row, cell in enumerate(data[name], start=1):
        if not cell and not allow_empty:
            raise UsageError(f"row {row}: the {what} column {name!r} is blank", hint="fill it in, or pass --allow-empty")
        cells.append(cell or "")
    return cells


def equal_lengths(**lists: Sequence[Any] | None) -> int:
    """The length all given lists share. Raises `UsageError` with both numbers where two differ, or where there is no row."""
    given = {name: len(values) for name, values in lists.items() if values is not None}
    if len(set(given.values())) > 1:
        counts = ", ".join(f"{count} {name}" for name, count in given.items())
        raise UsageError(f"the lists differ in length: {counts}", hint="one entry for each test case")
    n = next(iter(given.values()), 0)
    if n == 0:
        raise UsageError("there is no test case", hint="a suite needs at least one row")
    return n


def all_texts(values: Sequence[Any], *, what: str) -> list[str]:
    """The list, all of it text. Raises `UsageError` that names the first entry that is something else, None too."""
    for row, value in enumerate(values, start=1):
        if not isinstance(value, str):
            raise UsageError(f"entry {row} of the {what} list is {type(value).__name__}, not text", hint="one text for each test case")
    return list(values)


def references_of(values: Sequence[Any] | None) -> list[str] | None:
    """The references, None where there is none. Raises `UsageError` where some are given and some are None."""
    if values is None or all(value is None for value in values):
        return None
    missing = [row for row, value in enumerate(values, start=1) if value is None]
    if missing:
        raise UsageError(f"some references are null and some are not: entry {missing[0]} is null", hint="all or none")
    return all_texts(values, what="reference")


def _read_file(path: Path) -> Columns:
    if path.suffix not in FILE_KINDS:
        raise UsageError(f"cannot read {path.name!r}: its ending is none of {', '.join(FILE_KINDS)}", hint=_HINT)
    if path.suffix == ".csv":
        header, rows = read_named_rows(path)
        return {name: [row[i] if i < len(row) else None for _, row in rows] for i, name in enumerate(header)}
    if not path.is_file():
        raise UsageError(f"{path}: no such file", hint=_HINT)
    try:
        return _read_jsonl(path) if path.suffix == ".jsonl" else _read_parquet(path)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8", hint="save the file as UTF-8") from None


def _read_jsonl(path: Path) -> Columns:
    records: list[dict[str, Any]] = []
    # Not `splitlines`: a text may hold other ends of a line, as U+2028.
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except (ValueError, RecursionError):
                raise UsageError(f"{path}:{number}: not valid JSON", hint="one JSON object a line") from None
            if not isinstance(records[-1], dict):
                raise UsageError(f"{path}:{number}: not a JSON object", hint="one JSON object a line")
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [_as_text(record.get(name)) for record in records] for name in names}


def _read_parquet(path: Path) -> Columns:
    import duckdb

    try:
        with duckdb.connect() as connection:
            answer = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
            names = [described[0] for described in answer.description or ()]
            rows = answer.fetchall()
    except duckdb.Error:
        raise UsageError(f"{path}: not a readable Parquet file", hint=_HINT) from None
    return {name: [_as_text(row[i]) for row in rows] for i, name in enumerate(names)}


def _as_text(value: Any) -> str | None:
    """A cell as text; what is no value (None, NaN) is None, a whole number keeps its form, other values are JSON."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list | bool) else str(value)
