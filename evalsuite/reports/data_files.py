"""Render the rows of a document for programs: CSV, JSON and Parquet; and write the result files of the Spider 2.0 reference.

The schemas of the JSON of runs, comparisons and leaderboards are in `schema/`.

The reference files follow spider2-lite `evaluate.py`: `<result_dir>-ids.csv` with the right ids under official rules, sorted, where ids of
BigQuery, GA and SQLite questions of lite begin with `sf_`; and `log.txt`. "Real score" is over all of gold; the benchmark has 547
instances.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.compare.characters import clean
from evalsuite.core.errors import write_error
from evalsuite.reports.document import Column, Document
from evalsuite.sandbox.temp_dirs import TempDir

if TYPE_CHECKING:
    from evalsuite.core.types import Result
    from evalsuite.reports.record import Record


# Characters that start a formula in a spreadsheet, in both widths.
_FORMULA = frozenset("=+-@＝＋－＠")
_ROWS_A_PIECE = 1000


def as_csv(document: Document) -> Iterator[str]:
    """Yield the pieces of the CSV: a header and one line per row. List items are separated by `;`, absent values are empty."""
    table = document.table("csv")
    columns = table.of("csv")
    yield _csv_lines([[safe_cell(column.name) for column in columns]])
    rows = iter(table.rows)
    while some := list(islice(rows, _ROWS_A_PIECE)):
        yield _csv_lines(zip(*(_column_cells(column, some) for column in columns), strict=True))


def safe_cell(text: str) -> str:
    """Make a text safe for a spreadsheet cell: printable, one line, a formula quoted by `'`."""
    text = clean(text)
    return f"'{text}" if text.lstrip()[:1] in _FORMULA and text.strip() else text


def _column_cells(column: Column[Any], rows: list[Any]) -> list[Any]:
    """Return a column's cells in these rows; numbers are not escaped, so that -1 stays -1."""
    values = map(column.value, rows)
    if (spelled := column.spelled) is not None:
        return [None if value is None else spelled(value) for value in values]
    return [value if value is None or isinstance(value, int | float) else safe_cell(_list_in_cell(value)) for value in values]


def _list_in_cell(value: Any) -> str:
    return value if isinstance(value, str) else ";".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def as_json(document: Document) -> Iterator[str]:
    """Yield the pieces of one JSON object in ASCII.

    Rows are written in pieces, so that the text of 100,000 results is never in memory at once.
    """
    table = document.tables.get("json")
    if table is None:
        yield json.dumps(document.whole, indent=2) + "\n"
        return
    yield json.dumps(document.whole, indent=1, default=_json_default)[:-2] + f',\n "{document.rows_key}": ['
    names = [column.name for column in table.of("json")]
    before = "\n  "
    for values in table.values("json"):
        yield before + json.dumps(dict(zip(names, values, strict=True)), default=_json_default)
        before = ",\n  "
    yield "\n ]\n}\n"


@cache
def schema(subject: str = "run") -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the JSON of a `run`, a `comparison` or a `leaderboard`."""
    found: dict[str, Any] = json.loads((files(__package__) / "schema" / f"{subject}.schema.json").read_text(encoding="utf-8"))
    return found


def _json_default(value: object) -> object:
    """Convert a value that JSON does not support to text; sets become lists."""
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


_SMALLEST_OBJECT = 1 << 24


def as_parquet(document: Document) -> bytes:
    """Return the bytes of a Parquet file of a document's rows; a column of type `JSON` holds JSON text.

    DuckDB reads the rows from a file of JSON lines and writes the Parquet file, so that neither is held as Python objects.
    """
    import duckdb

    table = document.table("parquet")
    columns = table.of("parquet")
    with TempDir() as folder:
        lines, out = folder / "rows.jsonl", folder / "rows.parquet"
        longest = _SMALLEST_OBJECT
        with lines.open("w", encoding="ascii") as file:
            for values in table.values("parquet"):
                row = {column.name: _for_duckdb(value, column.type) for column, value in zip(columns, values, strict=True)}
                longest = max(longest, file.write(json.dumps(row) + "\n"))
        with duckdb.connect(config={"threads": "2"}) as connection:
            connection.execute("SET preserve_insertion_order = true")
            typed = ", ".join(f"'{column.name}': '{column.type.replace('JSON', 'VARCHAR')}'" for column in columns)
            source = f"read_json(?, format = 'newline_delimited', columns = {{{typed}}}, maximum_object_size = {longest})"
            connection.execute(f"COPY (SELECT * FROM {source}) TO '{_path_in_sql(out)}' (FORMAT parquet, COMPRESSION zstd)", [str(lines)])
        return out.read_bytes()


def _for_duckdb(value: Any, type_: str) -> Any:
    """Convert a value for JSON; lone surrogates and NUL in texts become their escapes, because UTF-8 cannot encode them."""
    if type_ == "JSON":
        return json.dumps(dict(value), default=str)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    if isinstance(value, list | tuple):
        return [_for_duckdb(item, "") for item in value]
    if isinstance(value, dict):
        return {_for_duckdb(key, ""): _for_duckdb(item, "") for key, item in value.items()}
    return value


def _path_in_sql(path: Path) -> str:
    return str(path).replace("'", "''")


LOG = "log.txt"
_TO_SNOWFLAKE = ("bq", "ga", "local")


def write_reference_files(record: "Record", result_dir: Path) -> list[Path]:
    """Write the ids next to the submission folder and the log to the working directory; return both paths. Raises `OutputError`."""
    handed_in = sorted((result for result in record.results if result.status != "missing"), key=lambda result: result.instance_id)
    texts = ids_text(handed_in, record.layout), log_text(handed_in, record.summary.n_gold)
    for path, text in zip(reference_places(result_dir), texts, strict=True):
        try:
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise write_error(path, error, hint="leave --reference-files out, or make room for it") from None
    return list(reference_places(result_dir))


def reference_places(result_dir: Path) -> tuple[Path, Path]:
    """Return the paths of the ids file and the log."""
    whole = result_dir.absolute()
    return whole.with_name(f"{whole.name}-ids.csv"), Path(LOG)


def ids_text(handed_in: Sequence["Result"], layout: str) -> str:
    """Return the CSV of the ids that are right under the official rules, with the header `instance_id`."""
    right = [result.instance_id for result in handed_in if result.official == 1]
    named = [f"sf_{name}" if layout == "lite" and name.startswith(_TO_SNOWFLAKE) else name for name in right]
    return "".join(f"{name}\n" for name in ("instance_id", *map(clean, named)))


def log_text(handed_in: Sequence["Result"], n_gold: int) -> str:
    """Return the log: the reason of each wrong answer, the scores by id, and the ratios over submitted and over gold instances."""
    scores = {result.instance_id: int(result.official == 1) for result in handed_in}
    n_right, n = sum(scores.values()), len(scores)
    lines = [f"{result.instance_id}: {result.reason}" for result in handed_in if result.official != 1]
    lines.append(str(scores))
    lines.append(f"Final score: {n_right / n if n else 0.0}, Correct examples: {n_right}, Total examples: {n}")
    lines.append(f"Real score: {n_right / n_gold if n_gold else 0.0}, Correct examples: {n_right}, Total examples: {n_gold}")
    return "".join(f"{clean(line)}\n" for line in lines)
