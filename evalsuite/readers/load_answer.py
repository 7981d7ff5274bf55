"""Load the files of an answer, and of gold, in the form that a scorer needs: text, table, tables by name, or JSON.

The functions for answers and for gold are never called with both folders: a process that reads a submission has no gold path.

JSON answers may be partly unreadable: a bad line of a JSONL costs only its own record, and fences or prose around JSON can be repaired. The
placeholder of such a record is `{"x-eval-broken": {"line", "cause"}}`, with `"repaired"` if only the text around it, or a comma before a
bracket, prevents it from being JSON. The tree scorers decide its score; no other scorer receives one.

Gold tables are cached after reading, so that a worker reads each once: the least recently used are dropped above `MOST_BYTES` in all. The
key is the file's path with its inode, size and times, and how it was read: a changed file is read again. The workers of a leaderboard are
forked from a process that has read gold for all of them.
"""

import contextlib
import math
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, overload

from evalsuite.compare.columns import memory_of
from evalsuite.compare.messages import shorten
from evalsuite.core.dataclasses import replace
from evalsuite.core.disk_cache import file_state
from evalsuite.core.errors import FAULTS, FaultError
from evalsuite.core.files import is_dir
from evalsuite.core.import_ref import LazyModule, lazy_pattern
from evalsuite.core.scores import BROKEN_RECORD, Fault, Table
from evalsuite.readers.csv_dialect import DEFAULT, Dialect
from evalsuite.readers.json_text import Obj, parse_tree, read_text, read_tree
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import AnswerFiles, FromRoot, content_digest, open_trusted, reopen, resolve_in_side

if TYPE_CHECKING:
    from evalsuite.readers import csv_table, duckdb_tables
else:
    # Answers that are texts need neither.
    csv_table, duckdb_tables = LazyModule("evalsuite.readers.csv_table"), LazyModule("evalsuite.readers.duckdb_tables")

# A comma before a closing bracket, or a string, in which commas stay.
_TRAILING_COMMA = lazy_pattern(r',\s*([}\]])|"(?:[^"\\]|\\.)*"')


def read_answer_tree(handle: BinaryIO, *, name: str, limits: Limits) -> Any:
    """The JSON value of an answer's file; for a .jsonl the list of its records, a broken one for each unreadable line (blank ones too).

    Raises:
        FaultError: TOO_LARGE; BAD_ENCODING, BAD_JSON or LIMIT if nothing in the file can be read or repaired.
    """
    if not name.lower().endswith(".jsonl"):
        return parse_answer_tree(read_text(handle, limit_bytes=limits["file_bytes"]), limits=limits)
    data = handle.read(int(limits["file_bytes"]) + 1)
    if len(data) > limits["file_bytes"]:
        raise FaultError("TOO_LARGE", f"the text is longer than {int(limits['file_bytes'])} bytes")
    lines = data.removeprefix(b"\xef\xbb\xbf").rstrip().split(b"\n") if data.strip() else []
    records, failures = [], []
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            failures.append(FaultError("BAD_ENCODING"))
            records.append(broken_record(number, "not UTF-8", "", limits))
            continue
        try:
            records.append(parse_tree(text, limits=limits) if line.strip() else broken_record(number, "", "", limits))
        except FaultError as error:
            failures.append(FaultError(error.fault.code, f"line {number}: {error.fault.detail.removeprefix('line 1: ')}"))
            records.append(broken_record(number, error.fault.detail.removeprefix("line 1: "), text, limits))
    if failures and all(isinstance(record, dict) and "repaired" not in record.get(BROKEN_RECORD, {"repaired": 1}) for record in records):
        raise failures[0]
    return records


def parse_answer_tree(text: str, *, limits: Limits) -> Any:
    """The JSON value of an answer's text, a broken record if it could be repaired. Raises FaultError BAD_JSON, LIMIT otherwise."""
    try:
        return parse_tree(text, limits=limits)
    except FaultError as error:
        broken = broken_record(1, error.fault.detail, text, limits)
        if error.fault.code == "BAD_JSON" and "repaired" in broken[BROKEN_RECORD]:
            return broken
        raise


def broken_record(line: int, cause: str, text: str, limits: Limits) -> Obj:
    """The placeholder of an unreadable record; with its value if only fences, prose or a comma prevent it from being JSON."""
    broken: Obj = {"line": line, "cause": cause}
    with contextlib.suppress(FaultError):
        # The text from its first opening bracket to its last closing one, without commas before a closing bracket.
        start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=0)
        inner = text[start : max(text.rfind("}"), text.rfind("]")) + 1]
        broken["repaired"] = parse_tree(_TRAILING_COMMA.sub(lambda found: found[1] or found[0], inner), limits=limits)
    return {BROKEN_RECORD: broken}


MOST_BYTES: Final = 64 << 20


class FileCache:
    """A cache of parsed files, at most `most_bytes` in all; `n_read` counts the reads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes, self._n_bytes, self.n_read = most_bytes, 0, 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def read(self, path: Path, how: Hashable, read: Callable[[], Any]) -> Any:
        """The result of `read()` for the file, cached. Raises what `read` raises."""
        name, stamp = os.fspath(path), _stamp(path)
        if (stored := self._kept.get((name, how, stamp))) is not None:
            self._kept.move_to_end((name, how, stamp))
            return stored[0]
        value = read()
        self.n_read += 1
        if stamp is not None and stamp == _stamp(path):
            self._keep((name, how, stamp), value, _bytes_of(value, stamp[2]))
        return value

    def _keep(self, key: Hashable, value: Any, size: int | None) -> None:
        if size is None or size > self._most_bytes:
            return
        self._kept[key] = value, size
        self._n_bytes += size
        while self._n_bytes > self._most_bytes:
            self._n_bytes -= self._kept.popitem(last=False)[1][1]

    def has_room_for(self, path: Path) -> bool:
        """Whether a file exists whose tables will most likely fit into the cache: as values they may take several times its bytes."""
        stamp = _stamp(path)
        return stamp is not None and 16 * stamp[2] < self._most_bytes

    @property
    def is_full(self) -> bool:
        """Whether more than half of the cache is used: reading ahead stops there."""
        return 2 * self._n_bytes > self._most_bytes

    def to_bytes(self) -> bytes:
        """The content of the cache, for `take`."""
        return pickle.dumps(self._kept)

    def take(self, state: bytes) -> None:
        """Add the content of another cache, from a process that read only gold."""
        for key, (value, size) in pickle.loads(state).items():
            self._keep(key, value, size)


# One for each process; the parent's stays empty.
FILE_CACHE: Final = FileCache()


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        return file_state(path)
    except OSError:
        return None


def _bytes_of(value: Any, file_bytes: int) -> int | None:
    """The approximate memory of the tables of a file, None for values that are not cached."""
    tables = list(value.values()) if isinstance(value, Mapping) else [value]
    if not all(isinstance(table, Table | Fault | str) for table in tables):
        return None
    return file_bytes + sum(memory_of(table) for table in tables if isinstance(table, Table))


def read_answer(
    form: str,
    *,
    answer_type: str,
    value: str | Sequence[str],
    files: AnswerFiles,
    table_names: Sequence[str] | None,
    limits: Limits,
    private: str | None = None,
    databases: Sequence[str] = (),
    evaluator: str = "",
    dialect: Dialect = DEFAULT,
) -> Any:
    """Load a submission's answer in one form.

    A query is run on each of the `databases`, prepared as its `evaluator` does, and returns the list of its tables. `private` is a copy of
    the file that no other process can reach, if one was made, or the table that an SQL answer returned.

    Returns:
        Text, a `Table` (`UnreadTable` if it is big), a list of tables, tables by name, or a JSON value.

    Raises:
        FaultError: The answer cannot be read.
    """
    if form == "query":
        from evalsuite.sql.query_pairs import EVALUATORS, tables_of

        return tables_of(str(value), databases, EVALUATORS[evaluator], limits)
    if answer_type == "answer":
        return parse_answer_tree(str(value), limits=limits) if form == "tree" else value
    if form == "table" and private is not None:
        # The result of a query was limited by `result_bytes`, not by the limit of a submitted file.
        answer_limits = {**limits, "file_bytes": limits["result_bytes"]}
        opened = partial(open_trusted, Path(private), limit_bytes=answer_limits["file_bytes"])
        return csv_table.open_csv_table(opened, name=Path(private).name, limits=answer_limits)
    if form == "database" and private is not None:
        tables = duckdb_tables.open_duckdb(Path(private), names=table_names, limits=limits, stem=Path(str(value)).stem)
        return _with_log_named(tables, files, str(value))

    def read_file(path: str) -> Any:
        if form in ("table", "tables"):
            return csv_table.open_csv_table(lambda: files.open(path), name=str(path), limits=limits, dialect=dialect)
        with files.open(path) as handle:
            if form == "database":
                tables = duckdb_tables.read_duckdb(handle, names=table_names, limits=limits, as_it_comes=True, stem=Path(path).stem)
                return _with_log_named(tables, files, path)
            if form == "tree":
                return read_answer_tree(handle, name=str(path), limits=limits)
            return read_text(handle, limit_bytes=limits["answer_bytes"])

    if form == "tables":
        # A file that is named again is not read again; both entries are the same table.
        read = {path: read_file(path) for path in dict.fromkeys(value)}
        return [read[path] for path in value]
    return read_file(value if isinstance(value, str) else str(value))


def _with_log_named(tables: Mapping[str, Any], files: AnswerFiles, path: str) -> Mapping[str, Any]:
    """The tables of a submitted database; what a missing one says names a log that DuckDB left next to the file, which may have it."""
    missing = {name: table for name, table in tables.items() if isinstance(table, Fault) and table.code == "MISSING_TABLE"}
    if not missing:
        return tables
    log = f"{path}.wal"
    try:
        files.open(log).close()
    except FaultError:
        return tables
    note = f"{log!r} next to it is not read: close the database, or run CHECKPOINT, before it is submitted"
    return {**tables, **{name: replace(fault, detail=f"{fault.detail}; {note}") for name, fault in missing.items()}}


def read_query(files: AnswerFiles, path: str, *, limit_bytes: int) -> str:
    """The text of a submission's query. Raises `FaultError`."""
    with files.open(path, query=True) as handle:
        return read_text(handle, limit_bytes=limit_bytes)


def read_gold_query(path: Path) -> str:
    """The text of a gold query. Raises `FaultError`."""
    from evalsuite.sql.session import QueryLimits

    with open_trusted(path, limit_bytes=math.inf) as handle:
        return read_text(handle, limit_bytes=QueryLimits().sql_bytes)


def read_gold_files(
    form: str, parameters: Mapping[str, Any], *, folder: Path, instance_id: str, limits: Limits, as_it_comes: bool = False
) -> dict[str, Any]:
    """The parameters that name gold files, loaded: `gold` (and the `schema` of trees) in the shape they have.

    An unreadable one of several becomes a `Fault`; a single one, and one that this machine does not read, raises `FaultError`.
    `as_it_comes` returns big tables packed, and several on demand.
    """

    dialect = Dialect.from_parameters(parameters)

    def read_file(name: str) -> Any:
        with _blamed_on_gold(instance_id, name):
            path = folder / resolve_in_side(instance_id, name)
            if form == "tree":
                with open_trusted(path, limit_bytes=limits["file_bytes"]) as handle:
                    return read_tree(handle, name=str(name), limits=limits)
            how = form, as_it_comes, dialect, tuple(parameters.get("condition_tabs") or ()), str(name), *limits.items()
            return FILE_CACHE.read(path, how, lambda: read_tables(path, name))

    def read_tables(path: Path, name: str) -> Any:
        if form == "database":
            return duckdb_tables.read_trusted_duckdb(path, names=parameters.get("condition_tabs"), limits=limits, as_it_comes=as_it_comes)
        with open_trusted(path, limit_bytes=limits["file_bytes"]) as handle:
            if as_it_comes:
                return csv_table.stream_csv_table(lambda: reopen(handle), name=str(name), limits=limits, dialect=dialect)
            return csv_table.read_csv_table(handle, name=str(name), limits=limits, dialect=dialect)

    def or_fault(name: str) -> Any:
        try:
            return read_file(name)
        except FaultError as error:
            if error.is_of_machine:
                raise
            return error.fault

    gold = parameters["gold"]
    if form == "tree":
        trees: dict[str, Any] = {}
        try:
            for key in ("gold", "schema"):
                if parameters.get(key) is not None:
                    trees[key] = _tree(parameters[key], read_file, limits)
            return trees
        except FaultError as error:
            # An unreadable text of gold's own entry is not the answer's fault.
            what = "" if "gold" not in trees or error.fault.where else "the schema, "
            raise FaultError(
                error.fault.code, what + error.fault.detail, where=error.fault.where, side="setup" if error.is_of_machine else "gold"
            ) from error
        except (MemoryError, RecursionError):
            raise FaultError("BAD_SPEC", "the gold entry does not fit into memory_mib, or nests too deep") from None
    if isinstance(gold, str):
        return {"gold": read_file(gold)}
    return {"gold": Golds(gold, or_fault) if as_it_comes else list(map(or_fault, gold))}


def read_gold_copy(form: str, name: str, size: int | None, digest: str, gold_name: str, **of_gold: Any) -> Any:
    """What `read_answer` returns for the file `name` of an answer, read from a gold file with the same size (None: unknown) and digest.

    `of_gold` are the arguments of `read_gold_files`. None if gold has other bytes or cannot be read, and if the file of an answer is read
    under other conditions: by the kind of its name, or by the limits of a database.
    """
    try:
        place = of_gold["folder"] / resolve_in_side(of_gold["instance_id"], gold_name)
        if size not in (None, place.stat().st_size) or _digest(place) != digest:
            return None
        parameters = {**of_gold.pop("parameters"), "gold": gold_name}
        copy = read_gold_files(form, parameters, as_it_comes=True, **of_gold)["gold"]
        if _digest(place) != digest:
            return None
        if form != "database":
            return replace(copy, name=name) if gold_name.lower().endswith(".csv") and name.lower().endswith(".csv") else None
        return copy if duckdb_tables.is_read_as_an_answer(place, copy) else None
    except Exception:  # whatever prevents it is reported when the answer, or gold, is read in the usual way
        return None


def _digest(place: Path) -> str:
    """The SHA-256 of a gold file, from the cache unless the file has changed."""

    def read() -> str:
        with open_trusted(place, limit_bytes=math.inf) as handle:
            return content_digest(handle).hexdigest()

    return str(FILE_CACHE.read(place, "digest", read))


class Golds(Sequence[Any]):
    """The tables of several golds, each read on first access: an answer that equals the first one needs no other."""

    def __init__(self, names: Sequence[str], read: Callable[[str], Any]) -> None:
        self._names, self._read = names, read
        self._known: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self[place] for place in range(len(self))[at]]
        place = range(len(self))[at]
        if place not in self._known:
            self._known[place] = self._read(self._names[place])
        return self._known[place]


def _tree(value: Any, read: Callable[[str], Any], limits: Limits) -> Any:
    """A tree given as a value, as JSON text, or as the name of a .json or .jsonl file."""
    if not isinstance(value, str):
        return value
    return read(value) if value.lower().endswith((".json", ".jsonl")) else _tree_of_text(value, parse_tree, limits)


def _tree_of_text(text: str, parse: Callable[..., Any], limits: Limits) -> Any:
    """The tree of a JSON text. The fault of a text that looks like a path says how files are named."""
    try:
        return parse(text, limits=limits)
    except FaultError as error:
        if error.fault.code != "BAD_JSON" or text.lstrip()[:1] in ("{", "[", '"'):
            raise
        raise FaultError("BAD_JSON", f"{shorten(text)} is no JSON, and no name of a file that ends in .json or .jsonl") from None


def gold_table_names(folder: Path, instance_id: str, name: str, limits: Limits) -> tuple[str, ...]:
    """The base tables of a gold database, in file order. Raises `FaultError` of gold.

    A small one is read completely into the cache, because its tables are needed next.
    """
    with _blamed_on_gold(instance_id, name):
        path = folder / resolve_in_side(instance_id, name)
        if not FILE_CACHE.has_room_for(path):
            return tuple(duckdb_tables.trusted_table_names(path, limits=limits))
    return tuple(
        read_gold_files("database", {"gold": name}, folder=folder, instance_id=instance_id, limits=limits, as_it_comes=True)["gold"]
    )


@contextmanager
def _blamed_on_gold(instance_id: str, name: str) -> Iterator[None]:
    """Turn whatever prevents reading a gold file into a gold fault; its names stay below the instance's folder, but may be links."""
    try:
        yield
    except (FaultError, MemoryError, RecursionError) as error:
        raise _gold_fault(instance_id, name, error) from error


def _gold_fault(instance_id: str, name: str, error: Exception) -> FaultError:
    place = name if isinstance(name, FromRoot) else f"{instance_id}/{name}"
    why = "it does not fit into memory_mib, or nests too deep"
    if isinstance(error, FaultError):
        why = error.fault.detail or FAULTS[error.fault.code].message
        if error.is_of_machine:
            return FaultError(error.fault.code, f"gold file {place}: {why}", side="setup")
    return FaultError("BAD_GOLD_FILE", f"gold file {place}: {why}")


def read_pair(form: str, prediction: Any, parameters: Mapping[str, Any], *, private: Path | None = None) -> tuple[Any, dict[str, Any]]:
    """Prediction and gold of a file scorer from plain paths or ready values, for a single check without folders.

    `private` is a copy of the prediction's database that no other process can reach, if one was made. Raises `FaultError`.
    """
    limits = DEFAULT_LIMITS
    names = parameters.get("condition_tabs")

    def read_file(path: Any, *, is_gold: bool = False, is_answer: bool = False) -> Any:
        if isinstance(path, Table | Mapping):
            return path
        opened = partial(open_trusted, Path(path), limit_bytes=limits["file_bytes"])
        try:
            if form not in ("database", "tree"):
                return csv_table.stream_csv_table(opened, name=Path(path).name, limits=limits, dialect=Dialect.from_parameters(parameters))
            if form == "database" and is_gold:
                return duckdb_tables.read_trusted_duckdb(Path(path), names=names, limits=limits, as_it_comes=True)
            if form == "database" and private is not None:
                return duckdb_tables.read_duckdb(private, names=names, limits=limits, as_it_comes=True, stem=Path(path).stem)
            with opened() as handle:
                if form == "database":
                    return duckdb_tables.read_duckdb(handle, names=names, limits=limits, as_it_comes=True, stem=Path(path).stem)
                return (read_answer_tree if is_answer else read_tree)(handle, name=str(path), limits=limits)
        except FaultError as error:
            # The caller named the file, so the fault may name it too.
            raise FaultError(error.fault.code, error.fault.detail, where=str(path), side=error.side) from None

    if form == "tree":
        trees = {key: parameters[key] for key in ("gold", "schema") if parameters.get(key) is not None}
        answer = str(prediction) if isinstance(prediction, Path) else prediction
        for text in (answer, *trees.values()):
            if isinstance(text, str) and os.path.lexists(text) and is_dir(Path(text)):
                raise FaultError("NOT_REGULAR_FILE", "a folder is where JSON is needed: name a .json or .jsonl file in it", where=text)
        gold_trees = {key: _tree(tree, read_file, limits) for key, tree in trees.items()}
        if isinstance(answer, str) and not answer.lower().endswith((".json", ".jsonl")):
            return _tree_of_text(answer, parse_answer_tree, limits), gold_trees
        return _tree(answer, lambda path: read_file(path, is_answer=True), limits), gold_trees
    gold = parameters["gold"]
    read = [read_file(path, is_gold=True) for path in gold] if isinstance(gold, list | tuple) else read_file(gold, is_gold=True)
    if form == "database" and names is None:
        names = tuple(read)
    several = isinstance(prediction, list | tuple)
    return ([read_file(path) for path in prediction] if several else read_file(prediction)), {"gold": read}
