"""The forms in which scorers get files: one place that opens a submission's answers, and its twin for gold files.

The two halves are never called with both sides' folders: a process that reads a submission knows no gold path.

Answers in JSON of which a part cannot be read: a bad line of a JSONL costs its own record, fences or prose around JSON can be mended.

What stands in the place of such a record is `{"x-eval-broken": {"line", "cause"}}`, with `"repaired"` where only what is around it, or a
comma before a bracket, keeps it from being JSON. The tree scorers decide what it is worth; no other scorer is called with one.

Gold's tables as they were read, so that a worker reads each once: the last ones used, as many bytes as `MOST_BYTES` in all.

What is kept stands under the place of a file with its inode, size and times, and under how it was read: a file that was changed is
read anew. The judges of a leaderboard are forked from a process that has read gold for all of them.
"""

import contextlib
import math
import pickle
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, overload

from evalsuite.compare.string_columns import array_columns, packed_of
from evalsuite.compare.table_digests import DigestedTable
from evalsuite.core.errors import FAULTS, FaultError
from evalsuite.core.types import BROKEN_RECORD, Fault, Table
from evalsuite.readers.answer_files import AnswerFiles
from evalsuite.readers.csv_table import open_csv_table, read_csv_table, stream_csv_table
from evalsuite.readers.duckdb_tables import read_duckdb, read_trusted_duckdb, trusted_table_names
from evalsuite.readers.json_text import Obj, parse_tree, read_text, read_tree
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import FromRoot, inside, open_trusted, opened_again

# A comma before a closing bracket, or a string, in which commas stay.
_TRAILING_COMMA = re.compile(r',\s*([}\]])|"(?:[^"\\]|\\.)*"')


def read_answer_tree(handle: BinaryIO, *, name: str, limits: Limits) -> Any:
    """The JSON value of an answer's file; of a .jsonl the list of its records, a broken one for each line that is none (blank ones too).

    Raises:
        FaultError: TOO_LARGE; BAD_ENCODING, BAD_JSON or LIMIT where nothing in the file can be read, and could not be mended.
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
            records.append(parse_tree(line.decode(), limits=limits) if line.strip() else broken_record(number, "", "", limits))
        except FaultError as error:
            failures.append(FaultError(error.fault.code, f"line {number}: {error.fault.detail.removeprefix('line 1: ')}"))
            records.append(broken_record(number, error.fault.detail.removeprefix("line 1: "), line.decode(), limits))
        except UnicodeDecodeError:
            failures.append(FaultError("BAD_ENCODING"))
            records.append(broken_record(number, "not UTF-8", "", limits))
    if failures and all(isinstance(record, dict) and "repaired" not in record.get(BROKEN_RECORD, {"repaired": 1}) for record in records):
        raise failures[0]
    return records


def parse_answer_tree(text: str, *, limits: Limits) -> Any:
    """The JSON value of an answer's text, a broken record where it could be mended. Raises FaultError BAD_JSON, LIMIT where not."""
    try:
        return parse_tree(text, limits=limits)
    except FaultError as error:
        broken = broken_record(1, error.fault.detail, text, limits)
        if error.fault.code == "BAD_JSON" and "repaired" in broken[BROKEN_RECORD]:
            return broken
        raise


def broken_record(line: int, cause: str, text: str, limits: Limits) -> Obj:
    """What stands for a record that could not be read; with what it says where only fences, prose or a comma keep it from being JSON."""
    broken: Obj = {"line": line, "cause": cause}
    with contextlib.suppress(FaultError):
        # The text from its first opening bracket to its last closing one, without commas before a closing bracket.
        start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=0)
        inner = text[start : max(text.rfind("}"), text.rfind("]")) + 1]
        broken["repaired"] = parse_tree(_TRAILING_COMMA.sub(lambda found: found[1] or found[0], inner), limits=limits)
    return {BROKEN_RECORD: broken}


MOST_BYTES: Final = 64 << 20
# About what a cell takes as a Python value.
_CELL_BYTES: Final = 64


class Shelf:
    """What was read of files, at most `most_bytes` in all; `n_read` counts the readings."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes, self._n_bytes, self.n_read = most_bytes, 0, 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def read(self, path: Path, how: Hashable, read: Callable[[], Any]) -> Any:
        """What `read()` makes of the file, or made of it before. Raises what it raises."""
        stamp = _stamp(path)
        if (known := self._kept.get((path, how, stamp))) is not None:
            self._kept.move_to_end((path, how, stamp))
            return known[0]
        value = read()
        self.n_read += 1
        if stamp is not None and stamp == _stamp(path):
            self._keep((path, how, stamp), value, _bytes_of(value, stamp[2]))
        return value

    def _keep(self, key: Hashable, value: Any, size: int | None) -> None:
        if size is None or size > self._most_bytes:
            return
        self._kept[key] = value, size
        self._n_bytes += size
        while self._n_bytes > self._most_bytes:
            self._n_bytes -= self._kept.popitem(last=False)[1][1]

    def has_room_for(self, path: Path) -> bool:
        """Whether a file is there whose tables will most likely be kept: as values they may take several times its bytes."""
        stamp = _stamp(path)
        return stamp is not None and 16 * stamp[2] < self._most_bytes

    @property
    def is_full(self) -> bool:
        """Whether more than half of the room is taken: what is read ahead stops there."""
        return 2 * self._n_bytes > self._most_bytes

    def to_bytes(self) -> bytes:
        """All that is kept, for `take`."""
        return pickle.dumps(self._kept)

    def take(self, kept: bytes) -> None:
        """Take in what another shelf of a process that read gold alone gave."""
        for key, (value, size) in pickle.loads(kept).items():
            self._keep(key, value, size)


# One for each process; the parent's stays empty.
SHELF: Final = Shelf()


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _bytes_of(value: Any, file_bytes: int) -> int | None:
    """About how much memory the tables of a file take, None for what is not kept."""
    tables = list(value.values()) if isinstance(value, Mapping) else [value]
    if not all(isinstance(table, Table | DigestedTable | Fault) for table in tables):
        return None
    held = [table for table in tables if isinstance(table, Table) and packed_of(table) is None and array_columns(table) is None]
    return file_bytes + sum(table.n_rows * len(table.columns) * _CELL_BYTES for table in held)


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
) -> Any:
    """A submission's answer in one form: text, a `Table` (`UnreadTable` where it is big), a list of them, or tables by name.

    A query is run on each of the `databases`, prepared as its `evaluator` does, and gives the list of its tables.

    Raises `FaultError`.

    `private` is a copy of the file that nobody else can reach, where one was made, or the table that an SQL answer gave.
    """
    if form == "query":
        from evalsuite.sql.query_pairs import EVALUATORS, tables_of

        return tables_of(str(value), databases, EVALUATORS[evaluator], limits)
    if answer_type == "answer":
        return parse_answer_tree(str(value), limits=limits) if form == "tree" else value
    if form == "table" and private is not None:
        # What a query gave kept to `result_bytes`, not to what a file that is handed in may have.
        own = {**limits, "file_bytes": limits["result_bytes"]}
        opened = partial(open_trusted, Path(private), limit_bytes=own["file_bytes"])
        return open_csv_table(opened, name=Path(private).name, limits=own)
    if form == "database" and private is not None:
        return read_duckdb(Path(private), names=table_names, limits=limits, as_it_comes=True, stem=Path(str(value)).stem)

    def read_file(path: str) -> Any:
        if form in ("table", "tables"):
            return open_csv_table(lambda: files.open(path), name=str(path), limits=limits)
        with files.open(path) as handle:
            if form == "database":
                return read_duckdb(handle, names=table_names, limits=limits, as_it_comes=True, stem=Path(path).stem)
            if form == "tree":
                return read_answer_tree(handle, name=str(path), limits=limits)
            return read_text(handle, limit_bytes=limits["answer_bytes"])

    if form == "tables":
        # A file that is named again is not read again, and stands there as the same table.
        read = {path: read_file(path) for path in dict.fromkeys(value)}
        return [read[path] for path in value]
    return read_file(value if isinstance(value, str) else str(value))


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
    """The parameters that name gold files, read: `gold` (and the `schema` of trees) in the shape they have.

    An unreadable one of several stands as a `Fault`, a single one raises `FaultError`. `as_it_comes` takes big tables packed or digested,
    and several when they are asked for.
    """

    def read_file(name: str) -> Any:
        with _blamed_on_gold(instance_id, name):
            path = folder / inside(instance_id, name)
            if form == "tree":
                with open_trusted(path, limit_bytes=limits["file_bytes"]) as handle:
                    return read_tree(handle, name=str(name), limits=limits)
            how = form, as_it_comes, tuple(parameters.get("condition_tabs") or ()), str(name), *limits.items()
            return SHELF.read(path, how, lambda: read_tables(path, name))

    def read_tables(path: Path, name: str) -> Any:
        if form == "database":
            blame = partial(_gold_fault, instance_id, name) if as_it_comes else None
            return read_trusted_duckdb(path, names=parameters.get("condition_tabs"), limits=limits, blame=blame)
        with open_trusted(path, limit_bytes=limits["file_bytes"]) as handle:
            if as_it_comes:
                return stream_csv_table(lambda: opened_again(handle), name=str(name), limits=limits)
            return read_csv_table(handle, name=str(name), limits=limits)

    def or_fault(name: str) -> Any:
        try:
            return read_file(name)
        except FaultError as error:
            return error.fault

    gold = parameters["gold"]
    if form == "tree":
        named = {key: parameters[key] for key in ("gold", "schema") if parameters.get(key) is not None}
        try:
            return {key: _tree(value, read_file, limits) for key, value in named.items()}
        except FaultError as error:
            # The text of gold's own entry is no fault of the answer.
            raise FaultError(error.fault.code, error.fault.detail, where=error.fault.where, side="gold") from error
        except (MemoryError, RecursionError):
            raise FaultError("BAD_SPEC", "the gold entry does not fit into memory_mib, or nests too deep") from None
    if isinstance(gold, str):
        return {"gold": read_file(gold)}
    return {"gold": Golds(gold, or_fault) if as_it_comes else list(map(or_fault, gold))}


class Golds(Sequence[Any]):
    """The tables of several golds, each read when it is first asked for: an answer that equals the first one needs no other."""

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
    return read(value) if value.lower().endswith((".json", ".jsonl")) else parse_tree(value, limits=limits)


def gold_table_names(folder: Path, instance_id: str, name: str, limits: Limits) -> tuple[str, ...]:
    """The base tables of a gold database, in file order. Raises `FaultError` of gold.

    All of a small one is read, for its tables are asked for next, and stand on the shelf then.
    """
    with _blamed_on_gold(instance_id, name):
        path = folder / inside(instance_id, name)
        if not SHELF.has_room_for(path):
            return tuple(trusted_table_names(path, limits=limits))
    return tuple(
        read_gold_files("database", {"gold": name}, folder=folder, instance_id=instance_id, limits=limits, as_it_comes=True)["gold"]
    )


@contextmanager
def _blamed_on_gold(instance_id: str, name: str) -> Iterator[None]:
    """Whatever keeps a file of gold from being read is gold's fault; its names stay below the instance's folder, but may be links."""
    try:
        yield
    except (FaultError, MemoryError, RecursionError) as error:
        raise _gold_fault(instance_id, name, error) from error


def _gold_fault(instance_id: str, name: str, error: Exception) -> FaultError:
    place = name if isinstance(name, FromRoot) else f"{instance_id}/{name}"
    why = "it does not fit into memory_mib, or nests too deep"
    if isinstance(error, FaultError):
        why = error.fault.detail or FAULTS[error.fault.code].message
    return FaultError("BAD_GOLD_FILE", f"gold file {place}: {why}")


def read_pair(form: str, prediction: Any, parameters: Mapping[str, Any], *, private: Path | None = None) -> tuple[Any, dict[str, Any]]:
    """Prediction and gold of a file scorer from plain paths or ready values, for a single check without folders.

    `private` is a copy of the prediction's database that nobody else can reach, where one was made. Raises `FaultError`.
    """
    limits = DEFAULT_LIMITS
    names = parameters.get("condition_tabs")

    def read_file(path: Any, *, is_gold: bool = False, is_answer: bool = False) -> Any:
        if isinstance(path, Table | Mapping):
            return path
        opened = partial(open_trusted, Path(path), limit_bytes=limits["file_bytes"])
        try:
            if form not in ("database", "tree"):
                return stream_csv_table(opened, name=Path(path).name, limits=limits)
            if form == "database" and is_gold:
                return read_trusted_duckdb(Path(path), names=names, limits=limits, blame=lambda error: error)
            if form == "database" and private is not None:
                return read_duckdb(private, names=names, limits=limits, as_it_comes=True, stem=Path(path).stem)
            with opened() as handle:
                if form == "database":
                    return read_duckdb(handle, names=names, limits=limits, as_it_comes=True, stem=Path(path).stem)
                return (read_answer_tree if is_answer else read_tree)(handle, name=str(path), limits=limits)
        except FaultError as error:
            # The caller named the file, so the fault may name it too.
            raise FaultError(error.fault.code, error.fault.detail, where=str(path)) from None

    if form == "tree":
        named = {key: _tree(parameters[key], read_file, limits) for key in ("gold", "schema") if parameters.get(key) is not None}
        answer = str(prediction) if isinstance(prediction, Path) else prediction
        if isinstance(answer, str) and not answer.lower().endswith((".json", ".jsonl")):
            return parse_answer_tree(answer, limits=limits), named
        return _tree(answer, lambda path: read_file(path, is_answer=True), limits), named
    gold = parameters["gold"]
    read = [read_file(path, is_gold=True) for path in gold] if isinstance(gold, list | tuple) else read_file(gold, is_gold=True)
    if form == "database" and names is None:
        names = tuple(read)
    several = isinstance(prediction, list | tuple)
    return ([read_file(path) for path in prediction] if several else read_file(prediction)), {"gold": read}
