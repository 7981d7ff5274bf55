"""Files of a run: write and read `results.jsonl`, `units.parquet` and `run.json`, and seal them with digests.

A file of another form than readers rely on counts as damaged and is not read; keys that no reader uses are not checked. The units of a
result with more than 10,000 of them are in `units.parquet`, with their digest in the line.
"""

import hashlib
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache, lru_cache
from pathlib import Path
from types import GenericAlias, SimpleNamespace
from typing import Annotated, Any, BinaryIO, Final, Literal, TypedDict, TypeVar

import msgspec
from msgspec import Meta, Raw, defstruct

from evalsuite.compare.characters import MOST_MARKS, is_visible
from evalsuite.core.dataclasses import replace
from evalsuite.core.disk_cache import file_digest
from evalsuite.core.errors import FAULTS, OutputError, reading_error
from evalsuite.core.files import exists, is_file
from evalsuite.core.import_ref import duckdb, lazy_pattern
from evalsuite.core.runtime import signals_blocked
from evalsuite.core.status import OWN_SCALE, further_results, kind_of
from evalsuite.core.types import RULES, Fault, Result, Status
from evalsuite.stats.units import short_score

SCHEMA_VERSION: Final = 1
_LONGEST_WHY: Final = 200
_ABOUT_ERRATA: Final = ("applied", "stale", "expired")
_SHARES: Final = ("score", "official", "strict")


def why_no_run(run: Any) -> str:
    """Return what in the value of a `run.json` differs from what a run writes, with its place; empty if nothing."""
    if not isinstance(run, dict):
        return "not a JSON object"
    if newer := newer_version(run):
        return newer
    try:
        msgspec.convert(run, run_form())
    except UnicodeEncodeError:
        return why_no_run(without_halves(run))
    except (msgspec.ValidationError, RecursionError) as error:
        return str(error)[:_LONGEST_WHY]
    return ""


def newer_version(run: Any) -> str:
    """Return the words that the value of a `run.json` was written by a newer evalsuite; empty if it was not."""
    version = run.get("schema_version") if isinstance(run, dict) else None
    is_newer = isinstance(version, int) and version > SCHEMA_VERSION
    return f"schema_version {version} is of a newer evalsuite, this one reads {SCHEMA_VERSION}" if is_newer else ""


def without_halves(value: Any) -> Any:
    """Return a JSON value with `?` for each half of a surrogate pair, which msgspec rejects."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


@cache
def run_form() -> Any:
    """Return the type of a `run.json`, for msgspec."""
    number, count, share = _numbers()
    texts, some_text, by_name = list[str], str | None, dict[str, Any]
    corrections = _form(
        "Corrections",
        {**dict.fromkeys(("n_gold", "n_waived", "n_patched"), int), "hash": str, "score": share},
        {"n_judged": count, "interval_95": list[float] | None, **dict.fromkeys(_ABOUT_ERRATA, _generic(list, _entry()))},
    )
    raw = _form("RawMean", {"scorer": str, "mean": number, "n_measured": int}, {})
    rows = _generic(dict, str, _form("Row", {}, {"score": share, "raw": number}))
    summary = _form(
        "Summary",
        {},
        {
            **dict.fromkeys(_SHARES, share),
            **dict.fromkeys(("n_gold", "n_judged", "n_submitted"), count),
            **{"raw": raw | None, "counts": dict[str, int], "scorers": texts, "flips": _generic(list, _entry())},
            **{"by_scorer": rows, "by_group": rows},
        },
    )
    words = ("filter", "group", "layout", "mode", "shard", "as_of", "questions", "invalid_as")
    options = {"only": texts, "limits": dict[str, float], **dict.fromkeys(words, some_text)}
    gold = {"layout": str, "n_instances": count, "clusters": texts, "hidden": bool}
    return _form(
        "Run",
        {
            "signature": str,
            "options": _form("Options", {"rules": Literal[RULES]}, options),
            "submission": _form("Submission", {"folder": str}, {"archive": str, "hash": str, "unsure": texts}),
            "gold": _form("Gold", dict.fromkeys(("folder", "name", "hash"), str), gold),
            "summary": summary,
        },
        {
            "schema_version": Annotated[int, Meta(ge=1)],
            **{"corrections": corrections, "metadata": by_name, "warnings": texts},
            **dict.fromkeys(("groups", "notes"), dict[str, list[str]]),
            **{"receipt": _form("Receipt", {}, {"isolation": str}), "databases": dict[str, str] | None, "judge": by_name | None},
            **{"living_gold": dict[str, dict[str, Any]], "sql": by_name | None},
        },
    )


class _Late(TypedDict):
    """Why a line has no strict verdict."""

    code: Literal[(*FAULTS,)]  # type: ignore[valid-type]
    detail: str


@cache
def line_form() -> Any:
    """Return the type of a line of `results.jsonl`: exactly the keys and types that a run writes."""
    share = _numbers()[2]
    seconds = Annotated[int, Meta(ge=0, le=1 << 53)] | Annotated[float, Meta(ge=0, le=1e300)]
    words = {"scorer": str | None, "reason": str, "fault": Literal[(None, *FAULTS)]}
    kinds = {"instance_id": str, "status": Status, **dict.fromkeys(_SHARES, share), **words, "details": Raw, "seconds": seconds}
    return _form("Line", kinds, {"digests": dict[str, str] | None, "strict_fault": _Late | None}, forbid_unknown_fields=True)


@cache
def details_form() -> Any:
    """Return the type of a line's `details`, as far as reports show them."""
    number, _, share = _numbers()
    kinds = {"flip": str, "reasons": dict[str, str], "notes": list[str], "warnings": list[str], "raw": number, OWN_SCALE: list[str]}
    keys = {
        "status": Status,
        **dict.fromkeys(_SHARES, share),
        "reason": str,
        "fault": Literal[(None, *FAULTS)],
        "details": _form("Own", {}, kinds),
    }
    beside = _form("Beside", keys, {"strict_fault": _Late | None}, forbid_unknown_fields=True)
    return _form("Details", {}, {**kinds, "beside": _generic(dict, str, beside)})


@cache
def _entry() -> Any:
    """Return the type of an instance in a list: a flip, an erratum."""
    return _form("Entry", {"instance_id": str}, {})


@cache
def _numbers() -> tuple[Any, Any, Any]:
    """Return (number, count, share) types, each nullable, within the range of DuckDB and JSON readers."""
    share = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)] | None
    return Annotated[float, Meta(ge=-1e300, le=1e300)] | None, Annotated[int, Meta(ge=0, le=1 << 53)] | None, share


def _form(name: str, required: Mapping[str, Any], optional: Mapping[str, Any], **settings: Any) -> Any:
    return defstruct(name, [*required.items(), *((key, kind, None) for key, kind in optional.items())], **settings)


def _generic(kind: type, *inner: Any) -> Any:
    return GenericAlias(kind, inner)


UNITS: Final = "units.parquet"
MOST_IN_LINE: Final = 10_000
# Values of the column `path` for units without a field: those of a whole instance, and those that a scorer returned as a bare list.
_WHOLE, _LIST = "", "[]"
# The end of a finished `run.json`: the digests of the files next to it, and its own.
SEAL: Final = lazy_pattern(
    rb'"digests": \{\s*"results": "(?P<results>[0-9a-f]{64})",\s*(?:"units": "(?P<units>[0-9a-f]{64})",\s*)?'
    rb'"run": "(?P<run>[0-9a-f]{64})"\s*\}\s*\}\s*\Z'
)
Row = tuple[str, Sequence[float | None], Sequence[float | None] | None]
Reader = Callable[[BinaryIO, Path, str], Iterable[Row]]


def move_units(folder: Path, results: Iterable[Result]) -> Iterator[Result]:
    """Yield results as their lines store them. Large sets of units go to `units.parquet`, which is complete after the last result.

    Its rows are instance_id, path (of a schema; empty: the record as a whole), unit (from 1), score (of a field F1; under the strict rules)
    and official, if that differs. The line keeps `{"n", "file", "sha256"}`; the digest is that of the units, independent of the file.
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
                connection = duckdb.connect(config={"threads": "2"})
                connection.execute("CREATE TABLE u (instance_id VARCHAR, path VARCHAR, unit BIGINT, score DOUBLE, official DOUBLE)")
            for path, (scores, official) in columns.items():
                row = [result.instance_id, path, len(scores), scores, official if official is not None else [None] * len(scores)]
                into = "INSERT INTO u SELECT ?, ?, unnest(range(1, ? + 1)), unnest(?::DOUBLE[]), unnest(?::DOUBLE[])"
                connection.execute(into, row)
            reference = {"n": n, "file": UNITS, "sha256": _units_digest(result.details["units"])}
            yield replace(result, details={**result.details, "units": reference})
        if connection is None:
            file.unlink(missing_ok=True)
            return
        written = str(beside).replace("'", "''")
        connection.execute(f"COPY u TO '{written}' (FORMAT parquet, COMPRESSION zstd)")
        with beside.open("rb") as whole:
            os.fsync(whole.fileno())
        beside.replace(file)
    finally:
        if connection is not None:
            connection.close()
        beside.unlink(missing_ok=True)


def units_digest(folder: Path) -> str:
    """Return the SHA-256 of `units.parquet` in a folder; empty if there is none."""
    return file_digest(folder / UNITS) if is_file(folder / UNITS) else ""


def whole_units(folder: Path, results: Iterable[Result], *, read: Reader | None = None) -> Iterator[Result]:
    """Yield the results with their units, including those of `units.parquet`.

    `read` parses that file (None: `unit_columns`, in this process). A file without the digest of `run.json`'s seal is not parsed. Raises
    `OutputError` if its units are not those of the run.
    """
    file, sealed = folder / UNITS, False
    with ExitStack() as stack:
        handle: BinaryIO | None = None
        for result in results:
            reference = result.detail("units")
            if not isinstance(reference, Mapping) or "sha256" not in reference:
                yield result
                continue
            if handle is None and is_file(file):
                handle = stack.enter_context(file.open("rb"))
                seal = _sealed_digest(folder)
                sealed = seal is None or seal == hashlib.file_digest(handle, "sha256").hexdigest()
            units = None
            if handle is not None and sealed:
                rows = read(handle, file, result.instance_id) if read is not None else _columns_in(handle, file, result.instance_id)
                units = _units_of(rows, reference.get("n"))
            if isinstance(units, dict) and "official" not in units and _units_digest(units) != reference["sha256"]:
                # If no official score was judged, the file has none.
                units["official"] = [None] * len(units["scores"])
            if units is None or _units_digest(units) != reference["sha256"]:
                hint = "score the submission again: the records' scores exist nowhere else"
                raise OutputError(f"{file}: the units of {result.instance_id!r} are not what the run wrote", hint=hint)
            yield replace(result, details={**result.details, "units": units})


def _sealed_digest(folder: Path) -> str | None:
    """Return the digest of `units.parquet` in the seal of a folder's run; None if there is none, as in runs of earlier versions."""
    try:
        seal = SEAL.search((folder / "run.json").read_bytes())
    except OSError:
        return None
    return seal["units"].decode() if seal is not None and seal["units"] is not None else None


def _columns_in(handle: BinaryIO, file: Path, instance_id: str) -> Iterator[Row]:
    from evalsuite.sandbox.temp_dirs import descriptor_path

    # The opened file, whatever has that path by now; Windows has no such path.
    return unit_columns(str(file), instance_id, private=descriptor_path(handle.fileno()) if os.name == "posix" else None)


Column = tuple[list[float | None], list[float | None] | None]


def _columns(units: Any) -> dict[str, Column]:
    """Return path -> (scores, official ones if they differ) of the units in a result's details; empty if there are none."""
    if isinstance(units, list):
        numbers = all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in units)
        return {_LIST: (units, None)} if units and numbers else {}
    if not isinstance(units, Mapping) or not isinstance(units.get("scores"), list):
        return {}
    return {_WHOLE: (units["scores"], units.get("official")), **{path: (column, None) for path, column in units.get("fields", {}).items()}}


def unit_columns(file: str, instance_id: str, *, private: Path | None = None) -> Iterator[Row]:
    """Yield the columns of one instance in a `units.parquet` as (path, scores, official ones or None); `private` is the opened file.

    Yields nothing if it is no such file. The file may be untrusted: parse other people's files in a worker.
    """
    ask = (
        "SELECT path, list(score ORDER BY unit), list(official ORDER BY unit), count(official)"
        " FROM read_parquet(?, file_row_number = true) WHERE instance_id = ? GROUP BY path ORDER BY min(file_row_number)"
    )
    off = dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"), "false")
    connection = duckdb.connect(config={"threads": "1", **off})
    try:
        rows = connection.execute(ask, [str(private) if private is not None else file, instance_id])
        while (row := rows.fetchone()) is not None:
            path, scores, official, n_known = row
            yield path, scores, official if n_known else None
    except duckdb.Error:
        return
    finally:
        connection.close()


def _units_of(rows: Iterable[Row], n: Any) -> Any:
    """Return the units of one instance from its columns; None if there are none, or not `n`."""
    short = {path: ([short_score(value) for value in scores], official) for path, scores, official in rows}
    if any(len(scores) != n for scores, _ in short.values()):
        return None
    if _LIST in short:
        return short[_LIST][0]
    if _WHOLE not in short:
        return None
    scores, official = short.pop(_WHOLE)
    units: dict[str, Any] = {"n": n, "scores": scores}
    if official is not None:
        units["official"] = [short_score(value) for value in official]
    if short:
        units["fields"] = {path: column for path, (column, _) in short.items()}
    return units


def _units_digest(units: Any) -> str:
    """Return the SHA-256 of the units as JSON, in which 1 and 1.0 are the same."""
    return hashlib.sha256(json.dumps(_plain(units), sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: item if key == "n" else _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else None if value is None else float(value)


_STRICT_FAULT: Final = '"strict_fault"'
# Nearly every answer is text, without a file.
_NONE: Final[dict[str, str]] = {}
_BLANK: Final = "0" * 64
Text = TypeVar("Text", str, bytes)
_SHORT: Final = 1 << 10
_FOREIGN: Final = lazy_pattern(r"[^\x00-\x7f]+")


def result_line(result: Result) -> str:
    """Return one line of `results.jsonl`: JSON in the documented order of keys; whole numbers are written as integers."""
    late, text = result.strict_fault, result.details_text
    # Written key by key, in a third of the time of an encoder: each result is written three times.
    line = (
        f'{{"instance_id": {_quoted(result.instance_id)}, "status": {_quoted(result.status)}, "score": {_number(result.score)}, '
        f'"official": {_number(result.official)}, "strict": {_number(result.strict)}, '
        f'"scorer": {"null" if result.scorer is None else _quoted(result.scorer)}, "reason": {_quoted(result.reason)}, '
        f'"fault": {"null" if result.fault is None else _quoted(result.fault)}, '
        f"{'' if late is None else f'{_STRICT_FAULT}: {_as_line(late.to_json())}, '}"
        f'"details": {_as_line(result.details) if text is None else text.decode()}, "seconds": {round(result.seconds, 6)!r}}}'
    )
    return escape_invisible(line)


def _number(value: float | None) -> str:
    return "null" if value is None else int.__repr__(int(value)) if value == int(value) else float.__repr__(value)


def escape_invisible(text: str) -> str:
    """Return JSON text with every invisible character as its JSON escape, which reads back the same."""
    return text if text.isascii() else _FOREIGN.sub(_escape_run, text)


def _escape_run(run: re.Match[str]) -> str:
    out, marks = [], 0
    for char in run[0]:
        marks = marks + 1 if unicodedata.category(char)[0] == "M" else 0
        out.append(char if is_visible(char) and marks <= MOST_MARKS else json.dumps(char)[1:-1])
    return "".join(out)


def whole_line(result: Result) -> str:
    """Return the line with the digests of the answer's files, for journals, the score cache and workers."""
    line = result_line(result)
    return f'{line[:-1]}, "digests": {json.dumps(dict(result.digests))}}}' if result.digests else line


def read_results(path: Path, *, read: Reader | None = None) -> Iterator[Result]:
    """Yield the results of a finished `results.jsonl` in order, with their units, which `read` parses.

    Raises `OutputError` for a line that no run wrote, `MachineError` for a file that this machine does not read.
    """
    try:
        # Invalid UTF-8 is reported for its line.
        with path.open(encoding="utf-8-sig", errors="surrogateescape") as lines:
            yield from whole_units(path.parent, _results_of(lines, path), read=read)
    except OSError as error:
        raise reading_error(path, error) from error


def _results_of(lines: Iterable[str], path: Path) -> Iterator[Result]:
    for number, line in enumerate(lines, 1):
        try:
            result = result_of(line)
            _check_details(result)
            if any(kind_of(row).name == "handed_in" for row in (result, *further_results(result).values())):
                raise ValueError("a scored result has a score or a value on its scorer's own scale")
        except (ValueError, TypeError):
            hint = "the file is damaged or half copied: copy it again, or score the submission again"
            raise OutputError(f"{path}:{number}: no result that a run wrote", hint=hint) from None
        yield result


def _check_details(result: Result) -> None:
    """Raise ValueError if a detail that readers rely on has another type than runs write."""
    try:
        if (text := result.details_text) is not None:
            _details_decoder()(text)
        else:
            msgspec.convert(without_halves(result.details), details_form())
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


@cache
def _details_decoder() -> Callable[[bytes], Any]:
    with signals_blocked():
        return msgspec.json.Decoder(details_form()).decode


def result_of_worker(frame: bytes, instance_id: str) -> Result | None:
    """Return the result of an instance as its worker reports it; None if the frame is no such result."""
    try:
        result = result_of(frame, instance_id=instance_id)
        return result if isinstance(result.details, Mapping) else None
    except (ValueError, TypeError):
        return None


def result_of(line: str | bytes, *, instance_id: str | None = None) -> Result:
    """Return the result of a line, with its details as they are. Raises ValueError or TypeError for a line that no run wrote.

    With an `instance_id` the line must be that instance's; the result uses that string object as id.
    """
    if isinstance(line, bytes):
        # The whole text: the details are decoded later by others.
        line = line.decode()
    try:
        row, text = _line_decoder()(line), None
    except RecursionError:
        raise ValueError("the line nests too deep") from None
    except msgspec.DecodeError:
        # A line that is not strict JSON: NaN, allowed in details only, or half of a surrogate pair, as in paths and texts.
        row, text = _lenient_line(line)
    if instance_id not in (None, row.instance_id):
        raise ValueError("the line belongs to another instance")
    text = bytes(row.details) if text is None else text
    return Result(
        instance_id=instance_id or row.instance_id,
        # Interned: a hundred thousand results share few strings.
        status=sys.intern(row.status),  # type: ignore[arg-type]
        score=row.score,
        official=row.official,
        strict=row.strict,
        scorer=None if row.scorer is None else sys.intern(row.scorer),
        reason=_share_text(row.reason),
        fault=None if row.fault is None else sys.intern(row.fault),
        details=_share_text(text) if isinstance(text, bytes) else text,  # type: ignore[arg-type]
        seconds=row.seconds,
        digests=row.digests or _NONE,
        strict_fault=None if row.strict_fault is None else Fault(**row.strict_fault),
    )


def _share_text(text: Text) -> Text:
    """Return an equal text that exists already, if any: many answers have the same reason."""
    return _keep_text(text) if len(text) < _SHORT else text


@lru_cache(maxsize=1 << 12)
def _keep_text(text: Text) -> Text:
    return text


@cache
def _line_decoder() -> Callable[[str], Any]:
    """Return the decoder of a line with exactly the keys and types that a run writes."""
    # msgspec 0.22 crashes the process if an interruption is raised while it looks at a class.
    with signals_blocked():
        return msgspec.json.Decoder(line_form()).decode


def _lenient_line(line: str) -> tuple[Any, Any]:
    """Return (the line, its details) as Python's own JSON reader parses them. Raises ValueError."""
    try:
        whole = json.loads(line)
        if not isinstance(whole, dict) or not isinstance(whole.get("details"), dict):
            raise ValueError("not a result line")
        row = {"digests": None, "strict_fault": None, **whole, "details": {}}
        # The form is checked on the text without surrogate halves; the values are those of the line.
        _line_decoder()(json.dumps(without_halves(row)))
        return SimpleNamespace(**row), whole["details"]
    except (RecursionError, msgspec.DecodeError) as error:
        raise ValueError(str(error)) from None


def read_json(path: Path) -> Any:
    """Return the JSON value of a file that evalsuite wrote; None if it is missing or unreadable."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None


def keep_out_of_git(folder: Path) -> None:
    """Write the `.gitignore` of the `.evalsuite` folder around a folder, if it has none: its content is no source code."""
    for root in (folder, *folder.parents):
        if root.name == ".evalsuite" and not exists(root / ".gitignore"):
            with suppress(OSError):
                write_atomically(root / ".gitignore", "*\n")


def write_atomically(path: Path, text: str | Iterable[str], *, sync: bool = True) -> str:
    """Write a text, or its pieces, to a temporary file and rename it. Return the SHA-256 of the content.

    Readers see the old file or the complete new one, also after a power cut. Without `sync` the caller must make it durable. An OSError
    names `path`, also that of a full disk, which names no file of its own.
    """
    beside, digest = path.with_name(f".{path.name}.{os.getpid()}.part"), hashlib.sha256()
    try:
        with beside.open("wb") as file:
            for piece in [text] if isinstance(text, str) else text:
                file.write(data := _encode_line(piece))
                digest.update(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
        if sync:
            sync_folder(path.parent)
    except OSError as error:
        if error.errno is not None:
            error.filename = str(path)
        raise
    finally:
        # On a read-only file system this is an error too, which would name the temporary file.
        with suppress(OSError):
            beside.unlink()
    return digest.hexdigest()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _encode_line(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def seal(run: Mapping[str, Any], results: str = "", *, digest: str = "", units: str = "") -> str:
    """Return the text of `run.json` with `digests` at its end.

    These are the SHA-256 of `results.jsonl`, and its own, computed with zeros in its place. `results` is the text of `results.jsonl` if its
    `digest` is not known; `units` is the digest of `units.parquet`, empty without one.
    """
    digests = {"results": digest or _digest(_encode_line(results)), **({"units": units} if units else {}), "run": _BLANK}
    rest = {key: value for key, value in run.items() if key != "digests"}
    text = escape_invisible(json.dumps({**rest, "digests": digests}, ensure_ascii=False, indent=2, default=json_safe)) + "\n"
    before, _, after = text.rpartition(_BLANK)
    return before + _digest(_encode_line(text)) + after


def seal_of(run: bytes) -> str | None:
    """Return the digest that a `run.json` gives itself, which covers that of `results.jsonl`; None if it has none."""
    seal = SEAL.search(run)
    return None if seal is None else seal["run"].decode()


def is_intact(run: bytes, results: bytes) -> tuple[bool, bool] | None:
    """Return whether `run.json` and `results.jsonl` each have the bytes that were written; None without a seal."""
    seal = SEAL.search(run)
    if seal is None:
        return None
    run_digest = _digest(run[: seal.start("run")] + _BLANK.encode() + run[seal.end("run") :])
    return run_digest == seal["run"].decode(), _digest(results) == seal["results"].decode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def json_safe(value: object) -> object:
    """Convert a value for JSON: unsupported values as text, sets and tuples as lists."""
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return str(value)


_quoted = json.encoder.encode_basestring
# Created once: a hundred thousand results would each create an encoder.
_as_line = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), default=json_safe).encode
