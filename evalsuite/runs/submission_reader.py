"""Read a submission in a worker: the parent parses none of its files, and gets only answers to instances of its gold."""

import json
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FAULTS, EvalsuiteError, FaultError, OutputError, SubmissionError, UsageError, describe, machine_error
from evalsuite.core.files import is_dir
from evalsuite.core.registry import fits
from evalsuite.core.types import Answer, Fault, Gold, Submission
from evalsuite.gold.layouts import read_gold, read_submission, reference_of
from evalsuite.gold.spec import Exchanges, question_of
from evalsuite.readers.limits import Limits, resolve_limits
from evalsuite.readers.paths import FromRoot, metadata_like, metadata_name, open_confined
from evalsuite.runs import WORKER_MODULES
from evalsuite.runs.run_files import Row
from evalsuite.runs.run_folder import RUN
from evalsuite.sandbox.fork_server import ForkServer, fork_server_for
from evalsuite.sandbox.rpc_client import IdleWorker, RpcClient

if TYPE_CHECKING:
    from evalsuite.runs.history import RunEntry

_STREAM, _STREAM_CONTEXTS = "evalsuite.runs.answer_workers:stream_submission", f"{__name__}:stream_contexts"
_COLUMN = list[float | None]
_UNITS = "evalsuite.runs.run_files:unit_columns"


def read_submission_in_worker(
    folder: Path,
    gold: Gold | None,
    limits: Limits,
    *,
    layout: str = "original",
    ids: Collection[str] | None = None,
    hidden: Sequence[Path] = (),
    mode: str | None = None,
    isolation: str = "process",
    fork_server: ForkServer | None = None,
    modules: Collection[str] = (),
    idle_readers: list[IdleWorker] | None = None,
) -> Submission:
    """Return the submission in `folder`, as `read_submission` does for the ids of `gold`.

    `fork_server` forks the worker (None: one of its own) and meanwhile imports `modules`. `layout`, `ids` (None: every answer is kept) and
    `hidden` (paths that the worker may not read; targets of links in gold, if gold is given) count for the worker. It stays in
    `idle_readers`, if given, and can then read the answers.

    Raises:
        SubmissionError: As `read_submission`; also if the worker dies or takes too long.
        UsageError: As `read_submission`.
    """
    # Each id is stored once.
    instance_ids = ids if gold is None else [instance.instance_id for instance in gold.instances]
    interned_ids = {name: name for name in instance_ids} if instance_ids is not None else None
    id_set = frozenset(interned_ids) if interned_ids is not None else None
    layout, separate_folders = (gold.layout, [gold.folder]) if gold is not None else (layout, hidden)
    _check_apart(folder, separate_folders, partial(read_submission, folder, limits, layout=layout, mode=mode, ids=id_set))
    if isolation == "none":
        if fork_server is not None:
            fork_server.load(modules)
        with _naming_unread_file(folder):
            return _refuse_other_kinds(read_submission(folder, limits, layout=layout, mode=mode, ids=id_set), gold)
    place, answers, rest = folder.absolute(), dict[str, Answer](), dict[str, Any]()
    n_bytes = _metadata_bytes(place, int(limits["metadata_bytes"]))
    names = None if id_set is None else sorted(id_set)
    hidden, has_peer = [*separate_folders, *hidden] if gold is not None else hidden, idle_readers is not None
    worker = RpcClient(
        readable=[place], hidden=hidden, hostile=place, limits=limits, fork_server=fork_server, modules=modules, has_peer=has_peer
    )
    try:
        with _naming_unread_file(folder), worker as calls:
            for message in calls.stream(_STREAM, str(place), dict(limits), reference_of(layout).target, mode, names, n_bytes=n_bytes):
                if isinstance(message, dict):
                    rest = {**message, "notes": tuple(message["notes"]), "unknown": tuple(map(tuple, message["unknown"]))}
                else:
                    of = [row[0] if interned_ids is None else interned_ids.get(row[0]) for row in message]
                    answers.update((name, _answer(name, row)) for name, row in zip(of, message, strict=True) if name is not None)
            if idle_readers is not None:
                idle_readers.append(calls.release())
    except SubmissionError as error:
        hint = error.hint.replace(str(place), str(folder))
        if not folder.is_absolute():
            hint = hint.replace(repr(str(place.parent)), repr(os.path.relpath(place.parent)))
        raise SubmissionError(error.message.replace(str(place), str(folder)), hint=hint) from None
    return _refuse_other_kinds(Submission(folder=folder, answers=answers, limit_bytes=limits["file_bytes"], **rest), gold)


def _check_apart(folder: Path, hidden: Sequence[Path], read: Callable[[], object]) -> None:
    """Raise `UsageError` if the submission is in a hidden folder. The reverse is prevented by the sandbox.

    A path that is no submission at all is reported by `read` as such; a worker could not see one of the sides.
    """
    resolved_folder, places = folder.resolve(), [place.resolve() for place in hidden]
    is_inside = any(resolved_folder.is_relative_to(place) for place in places)
    contains_it = any(place.is_relative_to(resolved_folder) for place in places)
    if (is_inside or contains_it) and not metadata_like(folder) and is_dir(folder):
        read()
    if is_inside:
        # Its files would be gold's own.
        raise UsageError(f"the submission {folder} is in the gold folder", hint="move it out, or name the gold folder itself")


def _metadata_bytes(place: Path, most: int) -> int:
    """Return the size of the metadata file, at most `most`; 0 if it cannot be read."""
    try:
        return min((place / metadata_name(place) if is_dir(place) else place).stat().st_size, most)
    except OSError:
        return 0


@contextmanager
def _naming_unread_file(folder: Path) -> Iterator[None]:
    """Raise a fault of the block as the error of a submission that cannot be read."""
    try:
        yield
    except FaultError as error:
        raise _unreadable(folder, error) from None


def _unreadable(folder: Path, error: FaultError) -> EvalsuiteError:
    file = f"{folder.name}/{metadata_name(folder)}" if is_dir(folder) else folder.name
    if error.is_of_machine:
        return machine_error(file, error.fault)
    raises_it = "--limit NAME=VALUE, or `limits` in suite.yaml, raises it"
    hint = raises_it if error.fault.code in ("TIMEOUT", "LIMIT") else FAULTS[error.fault.code].hint
    return SubmissionError(f"{file}: {describe(error.fault)}", hint=hint)


def _refuse_other_kinds(submission: Submission, gold: Gold | None) -> Submission:
    """Return the submission. Raises `SubmissionError` for databases without metadata if gold asks for anything but databases."""
    checks = [] if submission.metadata or gold is None else [check for instance in gold.instances for check in instance.checks]
    if any(check.scorer != "duckdb_match" for check in checks):
        from evalsuite.readers.submission import no_metadata

        raise no_metadata(submission.folder)
    return submission


def read_unchanged(run: Mapping[str, Any], run_folder: Path, ids: Collection[str]) -> Submission | None:
    """Return the submission of a saved run (its `run.json` object and folder) for these ids.

    None if its metadata was written after the run, or is no longer readable.
    """
    from evalsuite.runs.history import submission_folder

    folder = submission_folder(run_folder, run)
    try:
        if (folder / metadata_name(folder)).stat().st_mtime_ns > (run_folder / RUN).stat().st_mtime_ns:
            return None
        options, gold = run["options"], Path(str(run["gold"]["folder"]))
        limits = resolve_limits(options.get("limits") or {})
        return read_submission_in_worker(folder, None, limits, ids=ids, hidden=[gold], mode=options.get("mode"))
    except (OSError, EvalsuiteError, KeyError, TypeError):
        return None


def saved_exchanges(entry: "RunEntry") -> Exchanges:
    """Return questions and answers of a saved run, if its gold and submission exist and were not written after its `run.json`."""
    return Exchanges(lambda: _read_sides(entry))


def _read_sides(entry: "RunEntry") -> tuple[Gold | None, Submission | None]:
    try:
        gold = read_gold(Path(str(entry.run["gold"]["folder"])), layout=entry.run["options"].get("layout"), plugins=False)
        is_newer = gold.spec_file.stat().st_mtime_ns > (entry.folder / RUN).stat().st_mtime_ns
    except (OSError, EvalsuiteError, KeyError, TypeError):
        return None, None
    if is_newer or not any(map(question_of, gold.instances)):
        # Answers without a question are not shown, and no worker is started for them.
        return None, None
    return gold, read_unchanged(entry.run, entry.folder, [instance.instance_id for instance in gold.instances])


class SubmissionReader:
    """Read submissions for one gold. If all are cached, neither gold nor a submission is read and no worker is started."""

    def __init__(self, gold_dir: Path, folders: Sequence[Path], limits: Mapping[str, int | float], isolation: str) -> None:
        self._gold_dir, self._folders, self._limits, self._isolation = gold_dir, folders, limits, isolation
        self._gold: Gold | None = None
        self._workers = ExitStack()
        self._fork_server: ForkServer | None = None

    def read(self, folder: Path) -> Submission:
        """Return one of the submissions."""
        self._gold = self._gold or read_gold(self._gold_dir)
        self._fork_server = self._fork_server or self._workers.enter_context(fork_server_for(*self._folders, modules=WORKER_MODULES))
        return read_submission_in_worker(folder, self._gold, self._limits, isolation=self._isolation, fork_server=self._fork_server)

    def close(self) -> None:
        """End the worker's fork server."""
        self._workers.close()


def _answer(name: str, row: Sequence[Any]) -> Answer:
    _, kind, value, where, fault, unread, from_root = row
    answer = Answer(
        instance_id=name,
        answer_type=sys.intern(kind),
        value=tuple(value) if isinstance(value, list) else value,
        where=where,
        unread=tuple(unread),
    )
    if from_root:
        answer = replace(answer, value=FromRoot(value))
    return replace(answer, fault=Fault(code=fault[0], detail=fault[1], where=fault[2])) if fault else answer


def read_contexts(folder: Path, ids: Sequence[str]) -> Mapping[str, str]:
    """Return instance id -> context that a suite's run stored next to its answer, cut at 20,000 characters, read in a worker.

    Empty if none was stored or readable.
    """
    from evalsuite.runs.history import CONTEXTS

    place, limits = folder.absolute(), resolve_limits()
    try:
        n_bytes = min((place / CONTEXTS).lstat().st_size, int(limits["file_bytes"]))
        with RpcClient(readable=[place], hostile=place, limits=limits) as calls:
            message = list(calls.stream(_STREAM_CONTEXTS, str(place), dict(limits), list(ids), n_bytes=n_bytes))
    except (OSError, EvalsuiteError, FaultError):
        return {}
    # The file may control the worker, so its output is checked.
    return {row[0]: row[1] for row in message if fits(row, list[str]) and len(row) == 2}


def stream_contexts(folder: str, limits: Limits, ids: Sequence[str]) -> Iterator[list[str]]:
    """Worker side: yield [instance id, context] of each instance that has one."""
    from evalsuite.runs.history import CONTEXTS, LONGEST

    with open_confined(Path(folder), CONTEXTS, limit_bytes=limits["file_bytes"]) as handle:
        contexts = json.load(handle)
    yield from ([name, str(contexts[name])[:LONGEST]] for name in ids if isinstance(contexts, dict) and name in contexts)


def read_unit_columns(handle: BinaryIO, file: Path, instance_id: str) -> Iterator[Row]:
    """Yield the columns of an instance in the `units.parquet` of another person's run, parsed in a worker.

    Raises `OutputError` if the worker dies or takes too long.
    """
    path, n_bytes = file.absolute(), os.fstat(handle.fileno()).st_size
    try:
        with RpcClient(readable=[path], hostile=path.parent, limits=resolve_limits()) as calls:
            for row in calls.stream(_UNITS, str(path), instance_id, copy=handle, n_bytes=n_bytes):
                # The file may control the worker, so its output is checked.
                match row:
                    case [str(name), list(scores), official] if fits(scores, _COLUMN) and fits(official, _COLUMN | None):
                        yield name, scores, official
                    case _:
                        raise FaultError("WORKER_DIED", "the worker sent no columns")
    except FaultError as error:
        raise OutputError(f"{file}: {describe(error.fault)}", hint="score the submission again") from None
