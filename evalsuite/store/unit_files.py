"""Units of results beside the lines: what one result has more than 10,000 of stands in `units.parquet`, with its digest in the line."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from evalsuite.errors import OutputError
from evalsuite.types import Result

UNITS: Final = "units.parquet"
MOST_IN_LINE: Final = 10_000
# The column `path` of what is no field: the units of a whole instance, and those that a scorer left as a bare list.
_WHOLE, _LIST = "", "[]"
# The end of a finished `run.json`: the digests of what stands beside it, and its own.
SEAL: Final = re.compile(
    rb'"digests": \{\s*"results": "(?P<results>[0-9a-f]{64})",\s*(?:"units": "(?P<units>[0-9a-f]{64})",\s*)?'
    rb'"run": "(?P<run>[0-9a-f]{64})"\s*\}\s*\}\s*\Z'
)
Row = tuple[str, Sequence[float | None], Sequence[float | None] | None]
Reader = Callable[[BinaryIO, Path, str], Iterable[Row]]


def set_apart(folder: Path, results: Iterable[Result]) -> Iterator[Result]:
    """The results as their lines have them, while the many units go to `units.parquet`, which is whole when the last one was given.

    Its rows are instance_id, path (of a schema; empty: the record as a whole), unit (from 1), score (of a field F1; under the strict rules)
    and official, where that differs. The line keeps `{"n", "file", "sha256"}`: the digest is that of the units, whoever wrote the file.
    """
    connection: Any = None
    beside, file = folder / f".{UNITS}.{os.getpid()}.part", folder / UNITS
    try:
        for result in results:
            columns = _columns(result.detail("units"))
            n = len(next(iter(columns.values()))[0]) if columns else 0
            if n <= MOST_IN_LINE:
                yield result
                continue
            if connection is None:
                import duckdb

                connection = duckdb.connect(config={"threads": "2"})
                connection.execute("CREATE TABLE u (instance_id VARCHAR, path VARCHAR, unit BIGINT, score DOUBLE, official DOUBLE)")
            for path, (scores, official) in columns.items():
                given = [result.instance_id, path, len(scores), scores, official if official is not None else [None] * len(scores)]
                into = "INSERT INTO u SELECT ?, ?, unnest(range(1, ? + 1)), unnest(?::DOUBLE[]), unnest(?::DOUBLE[])"
                connection.execute(into, given)
            apart = {"n": n, "file": UNITS, "sha256": _digest(result.details["units"])}
            yield replace(result, details={**result.details, "units": apart})
        if connection is None:
            file.unlink(missing_ok=True)
            return
        written = str(beside).replace("'", "''")
        connection.execute(f"COPY u TO '{written}' (FORMAT parquet, COMPRESSION zstd)")
        beside.replace(file)
    finally:
        if connection is not None:
            connection.close()
        beside.unlink(missing_ok=True)


def units_digest(folder: Path) -> str:
    """The SHA-256 of the bytes of `units.parquet` in a folder; empty where there is none."""
    file = folder / UNITS
    if not file.is_file():
        return ""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def whole_units(folder: Path, results: Iterable[Result], *, read: Reader | None = None) -> Iterator[Result]:
    """The results with their units, those of `units.parquet` among them; `read` is what parses it, None: `unit_columns` in this process.

    A file without the digest that `run.json` is sealed with is not parsed. Raises `OutputError` where these are not what was set apart.
    """
    file, sealed = folder / UNITS, False
    with ExitStack() as stack:
        handle: BinaryIO | None = None
        for result in results:
            apart = result.detail("units")
            if not isinstance(apart, Mapping) or "sha256" not in apart:
                yield result
                continue
            if handle is None and file.is_file():
                handle = stack.enter_context(file.open("rb"))
                said = _sealed_digest(folder)
                sealed = said is None or said == hashlib.file_digest(handle, "sha256").hexdigest()
            units = None
            if handle is not None and sealed:
                rows = read(handle, file, result.instance_id) if read is not None else _columns_in(handle, file, result.instance_id)
                units = _units_of(rows, apart.get("n"))
            if isinstance(units, dict) and "official" not in units and _digest(units) != apart["sha256"]:
                # Official scores of which none was judged stand in the file as none at all.
                units["official"] = [None] * len(units["scores"])
            if units is None or _digest(units) != apart["sha256"]:
                hint = "score the submission again: the records' scores are in no other place"
                raise OutputError(f"{file}: the units of {result.instance_id!r} are not what the run wrote", hint=hint)
            yield replace(result, details={**result.details, "units": units})


def _sealed_digest(folder: Path) -> str | None:
    """The digest of `units.parquet` in the seal of the run in a folder; None where there is none, as in runs of earlier versions."""
    try:
        found = SEAL.search((folder / "run.json").read_bytes())
    except OSError:
        return None
    return found["units"].decode() if found is not None and found["units"] is not None else None


def _columns_in(handle: BinaryIO, file: Path, instance_id: str) -> Iterator[Row]:
    from evalsuite.walls.scratch import descriptor_path

    # What was opened, whatever stands there by now; Windows has no place for that.
    return unit_columns(str(file), instance_id, private=descriptor_path(handle.fileno()) if os.name == "posix" else None)


Column = tuple[list[float | None], list[float | None] | None]


def _columns(units: Any) -> dict[str, Column]:
    """Path -> (scores, official ones where they differ) of the units in a result's details, empty where there are none."""
    if isinstance(units, list):
        numbers = all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in units)
        return {_LIST: (units, None)} if units and numbers else {}
    if not isinstance(units, Mapping) or not isinstance(units.get("scores"), list):
        return {}
    return {_WHOLE: (units["scores"], units.get("official")), **{path: (column, None) for path, column in units.get("fields", {}).items()}}


def unit_columns(file: str, instance_id: str, *, private: Path | None = None) -> Iterator[Row]:
    """The columns of one instance in a `units.parquet`, as (path, scores, official ones or None); `private` is where it stands open.

    Nothing where it is no such file. The file may be anybody's: who parses it for somebody else does so in a worker.
    """
    import duckdb

    ask = (
        "SELECT path, list(score ORDER BY unit), list(official ORDER BY unit), count(official)"
        " FROM read_parquet(?, file_row_number = true) WHERE instance_id = ? GROUP BY path ORDER BY min(file_row_number)"
    )
    off = dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"), "false")
    connection = duckdb.connect(config={"threads": "1", **off})
    try:
        found = connection.execute(ask, [str(private) if private is not None else file, instance_id])
        while (row := found.fetchone()) is not None:
            path, scores, official, n_known = row
            yield path, scores, official if n_known else None
    except duckdb.Error:
        return
    finally:
        connection.close()


def _units_of(rows: Iterable[Row], n: Any) -> Any:
    """The units of one instance from its columns, None where there are none of them, or not `n`."""
    short = {path: ([_short(value) for value in scores], official) for path, scores, official in rows}
    if any(len(scores) != n for scores, _ in short.values()):
        return None
    if _LIST in short:
        return short[_LIST][0]
    if _WHOLE not in short:
        return None
    scores, official = short.pop(_WHOLE)
    units: dict[str, Any] = {"n": n, "scores": scores}
    if official is not None:
        units["official"] = [_short(value) for value in official]
    if short:
        units["fields"] = {path: column for path, (column, _) in short.items()}
    return units


def _short(value: float | None) -> float | None:
    return int(value) if value is not None and value in (0, 1) else value


def _digest(units: Any) -> str:
    """The SHA-256 of the units as JSON, in which 1 and 1.0 are one number."""
    return hashlib.sha256(json.dumps(_plain(units), sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: item if key == "n" else _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else None if value is None else float(value)
