"""The code inside worker processes. A worker pair has two of them, joined by a socket.

- The *reader* opens the submission's files and has no gold: it gets read requests from the parent and sends what it read to the judge.
- The *judge* opens gold, receives what the reader read, and sends the result to the parent.

Both get many answers at once, in the same order, as calls of `read_answers` and `judge_answers`. First the reader sends the size and digest
of each file, and the judge replies which answers have the bytes of gold: for these it reads gold alone. The reader then reads the others,
ahead until the socket is full. The first reader of a run has also read the submission's metadata (`stream_submission`). If either dies,
only the answer without a result is lost. A big CSV file or table of a database is sent in blocks while it is read, so that the reader never
stores all of it.
"""

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evalsuite.compare.columns import UnreadTable, packed_table
from evalsuite.compare.packed_text import BLOCK, OddError
from evalsuite.core.dataclasses import replace
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.plugin_calls import OFFICIAL_CALLBACK, failure
from evalsuite.core.types import Answer, Fault, Result, Table, Task
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import AnswerFiles, FromRoot, Inode
from evalsuite.sandbox.messages import COPY, FULL, LONGEST_REQUEST, OFFICIAL, ClosedError, receive, send, unpack_tasks
from evalsuite.sandbox.payloads import decode_payloads, encode_payloads, unread_tables
from evalsuite.sandbox.temp_dirs import descriptor_path
from evalsuite.sandbox.worker_main import PROCESS, FullError, Memory

if TYPE_CHECKING:
    from evalsuite.runs.instance_checks import ReadRequest

_END, _ODD = b"E", b"O"


def send_blocks(payloads: Mapping[str, Any], judge: socket.socket, most: int) -> None:
    """Send the blocks of unread tables, which are not in the payloads."""
    for table in unread_tables(payloads):
        _send_table(table, judge, most)


def _send_table(table: UnreadTable, judge: socket.socket, most: int) -> None:
    """Send the blocks of a table and an end; if they turn out not to be plain, or fail, a marker and the table of the exact reader."""
    n_bytes = 0
    try:
        for frame in table.frames():
            n_bytes += len(frame)
            if n_bytes > most:
                break
            send(judge, frame)
        else:
            send(judge, _END)
            return
    except (ClosedError, ConnectionError):
        raise
    except Exception:  # the exact reader reports what is wrong, if it fails too
        n_bytes = 0
    send(judge, _ODD)
    send(judge, _encode(lambda: {"table": table.source.read_table() if n_bytes <= most else _too_long(most)}, ["table"], most)[1])


def _encode(read: Callable[[], Mapping[str, Any]], names: Sequence[str], most: int) -> tuple[Mapping[str, Any], bytes]:
    """Return payloads and their message; a fault under each of these names if they cannot be read or sent."""
    from evalsuite.runs.task_execution import read_or_fault

    def both() -> tuple[Mapping[str, Any], bytes]:
        payloads = read()
        return payloads, encode_payloads(payloads)

    encoded = read_or_fault(both)
    if isinstance(encoded, Fault) or len(encoded[1]) > most:
        faults = dict.fromkeys(names, encoded if isinstance(encoded, Fault) else _too_long(most))
        return faults, encode_payloads(faults)
    payloads, payload = encoded
    return payloads, payload


def _too_long(most: int) -> Fault:
    return Fault(code="LIMIT", detail=f"the tables take more than {most} bytes (limit message_bytes)")


def receive_table(reader: socket.socket, header: tuple[str, ...], name: str, types: tuple[str, ...] | None, *, most: int) -> Table | Fault:
    """Receive on the judge's side what `_send_table` sends. Raises ValueError for anything else."""
    try:
        return packed_table(header, name, _frames(reader, most), types)
    except OddError:
        form = decode_payloads(_receive(reader, most))["table"]
    if not isinstance(form, Table | Fault):
        raise ValueError("a reader sent no table")
    return form


def _frames(reader: socket.socket, most: int) -> Iterator[bytes]:
    while (frame := _receive(reader, most)) != _END:
        if frame[:1] != BLOCK:
            raise OddError
        yield frame


# The paths of an answer are at most `answer_bytes` long in all.
_MOST_DIGESTS, _LONGEST_DIGEST = 16 << 20, 64
# The part of the first answer's time in which each worker looks for answers with the bytes of gold; later ones are read.
_AHEAD = 0.1
# The files of gold, which no answer may be. The parent sends them once to each worker that opens answers.
_gold_inodes: frozenset[Inode] = frozenset()


class LostError(BaseException):
    """An error of this worker that costs the current answer: the worker ends, because the other one of its pair would wait for it."""


def set_gold_inodes(inodes: frozenset[Inode]) -> None:
    """Store the files of gold for `read_answers` and `score_answers`."""
    global _gold_inodes
    _gold_inodes = inodes


@contextlib.contextmanager
def _ending_worker() -> Iterator[None]:
    try:
        yield
    except (ClosedError, ConnectionError):
        raise
    except Exception as error:  # recorded by the parent, which knows from the exit status whose fault it is
        raise LostError from error


def read_answers(requests: "Sequence[ReadRequest]") -> Iterator[None]:
    """Read answers for the judge of this pair; one item to the parent says that the next answer is read."""
    with _ending_worker():
        from evalsuite.runs.instance_checks import files_of

        most, memory, judge = int(PROCESS.limits["message_bytes"]), Memory(PROCESS.limits), PROCESS.peer
        assert judge is not None
        files = [files_of(request, _gold_inodes) for request in requests]
        until = time.monotonic() + PROCESS.limits["seconds"] * _AHEAD
        send(judge, _json([_identify(*answer) if time.monotonic() < until else {} for answer in zip(requests, files, strict=True)]))
        equal = json.loads(_receive(judge, LONGEST_REQUEST))
        for request, is_equal in zip(requests, equal, strict=True):
            # In its own call, so that nothing of an answer stays in memory while the next is read.
            yield from _read_one(request, files.pop(0), judge, most, is_equal=is_equal)
            if memory.is_short():
                send(judge, FULL)
                raise FullError


def _identify(request: "ReadRequest", files: AnswerFiles) -> Mapping[str, tuple[int | None, str]]:
    """Return the size (None: unknown) and the digest of each file of an answer that may be a copy of gold."""
    if request.private is not None:
        return {path: (None, digest) for path, digest in request.digests.items()}
    paths = [request.value] if isinstance(request.value, str) else list(request.value)
    return files.identify(paths) if request.wanted in (("table",), ("tables",)) else {}


def _read_one(request: "ReadRequest", files: AnswerFiles, judge: socket.socket, most: int, *, is_equal: bool) -> Iterator[None]:
    from evalsuite.runs.task_execution import read_prediction

    copies: list[int] = []
    if "database" in request.wanted and not is_equal:
        # The judge selects tables of gold and sends nothing else about it.
        request = replace(request, table_names=tuple(json.loads(_receive(judge, LONGEST_REQUEST))))
    if request.private == COPY:
        _, copies, _, _ = socket.recv_fds(PROCESS.parent, len(COPY), 1)
        request = replace(request, private=str(descriptor_path(copies[0])))
    if is_equal:
        yield None
    else:
        payloads, payload = _encode(lambda: read_prediction(request, files).payloads, request.wanted, most)
        yield None
        send(judge, payload)
        send_blocks(payloads, judge, most)
        # The tables that came in blocks have been read only now.
        send(judge, _json(files.digests()))
    for copy in copies:
        os.close(copy)


def judge_answers(order: str, packed: bytes) -> Iterator[bytes]:
    """Yield the line of each task's result, on what the reader of this pair sends, or on the text of the answer."""
    from evalsuite.runs.instance_checks import opens_files
    from evalsuite.runs.run_files import whole_line

    OFFICIAL_CALLBACK.set(lambda _: send(PROCESS.parent, OFFICIAL))
    most, memory = int(PROCESS.limits["message_bytes"]), Memory(PROCESS.limits)
    with _ending_worker():
        tasks, equal = unpack_tasks(packed), None
        for task in tasks:
            if equal is None and opens_files(task):
                equal = _find_equal(list(filter(opens_files, tasks)), PROCESS.peer)
            if (result := _judge_answer(order, task, PROCESS.peer, most, equal or {})) is None:
                raise FullError
            yield whole_line(result).encode()
            if memory.is_short(of_files=opens_files(task)):
                raise FullError


def score_answers(order: str, packed: bytes) -> Iterator[bytes]:
    """Yield the line of each task's result, with both stages in this process."""
    from evalsuite.runs.run_files import whole_line
    from evalsuite.runs.task_execution import score_task

    OFFICIAL_CALLBACK.set(lambda _: send(PROCESS.parent, OFFICIAL))
    with _ending_worker():
        for task in unpack_tasks(packed):
            yield whole_line(_score_or_fault(task, partial(score_task, task, _gold_inodes, order))).encode()


def _score_or_fault(task: Task, score: Callable[[], Result]) -> Result:
    """Return the result of scoring an answer; a bug is a fault of the tool, also outside of its scorer."""
    from evalsuite.runs.instance_checks import unjudged_result

    try:
        return score()
    except (MemoryError, RecursionError, ClosedError, ConnectionError):
        raise
    except Exception as error:
        return unjudged_result(task, failure("evalsuite", error).fault)


# By instance id: the payloads of an answer and the digests of its files.
Equal = dict[str, tuple[Mapping[str, Any], Mapping[str, str]]]


def _find_equal(tasks: Sequence[Task], reader: socket.socket | None) -> Equal:
    """Find the answers with the same bytes as gold, tell the reader which they are, and read gold in their place.

    Raises `FullError` if the reader is full: its last message before it ended.
    """
    from evalsuite.runs.task_execution import read_equal

    assert reader is not None
    equal: Equal = {}
    if (frame := _receive(reader, _MOST_DIGESTS)) == FULL:
        raise FullError
    rows = json.loads(frame)
    until = time.monotonic() + PROCESS.limits["seconds"] * _AHEAD
    for task, files in zip(tasks, rows, strict=True):
        if time.monotonic() >= until:
            break
        digests = {str(path): (size, str(digest)) for path, (size, digest) in files.items()}
        if (payloads := read_equal(task, digests)) is not None:
            equal[task.instance.instance_id] = payloads, {path: digest for path, (_, digest) in digests.items()}
    # A reader that ended is noticed when its next message is missing.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        send(reader, _json([task.instance.instance_id in equal for task in tasks]))
    return equal


def _judge_answer(order: str, task: Task, reader: socket.socket | None, most: int, equal: Equal) -> Result | None:
    """Return the result of a task on what the reader sends; None if the reader is full. Raises `ClosedError` if the reader is gone."""
    from evalsuite.runs.instance_checks import opens_files, table_names, wants_database
    from evalsuite.runs.task_execution import Prediction, score_task, second_stage

    if not opens_files(task):
        return _score_or_fault(task, partial(score_task, task, order=order))
    assert reader is not None
    started = time.monotonic()
    if (found := equal.pop(task.instance.instance_id, None)) is not None:
        result = _score_or_fault(task, partial(second_stage(order), task, Prediction(payloads=found[0])))
        return replace(result, digests=dict(found[1]), seconds=time.monotonic() - started)
    if wants_database(task):
        # A full reader has sent that and ended.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            send(reader, _json(table_names(task)))
    payload = _receive(reader, most)
    if payload == FULL:
        return None
    prediction = Prediction(payloads=decode_payloads(payload, partial(receive_table, reader, most=most)))
    result = _score_or_fault(task, partial(second_stage(order), task, prediction))
    return replace(result, digests=_digests(task, reader), seconds=time.monotonic() - started)


def _receive(reader: socket.socket, most: int) -> bytes:
    frame = receive(reader, most=most)
    if frame is None:
        raise ClosedError
    return frame


def _digests(task: Task, reader: socket.socket) -> dict[str, str]:
    """Return the digest of each file that the reader read. Only well-formed entries of its message count."""
    assert task.answer is not None
    digests = json.loads(_receive(reader, _MOST_DIGESTS))
    return {path: str(digests[path])[:_LONGEST_DIGEST] for path in task.answer.paths if path in digests}


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


# Answers per message.
_AT_ONCE: Final = 256


def stream_submission(folder: str, limits: Limits, layout: str, mode: str | None, ids: Sequence[str] | None) -> Iterator[Any]:
    """Read a submission by its layout (`module:name`): yield the answers in batches, and last the other facts of the submission."""
    read = ImportRef(layout).load().read_submission(Path(folder), limits, mode, None if ids is None else frozenset(ids))
    rows = [_row(answer) for answer in read.answers.values()]
    for at in range(0, len(rows), _AT_ONCE):
        yield rows[at : at + _AT_ONCE]
    yield {
        "notes": read.notes,
        "n_objects": read.n_objects,
        "digest": read.digest,
        "metadata": read.metadata,
        "n_unknown": read.n_unknown,
        "unknown": read.unknown,
    }


def _row(answer: Answer) -> tuple[Any, ...]:
    fault = answer.fault and (answer.fault.code, answer.fault.detail, answer.fault.where)
    return answer.instance_id, answer.answer_type, answer.value, answer.where, fault, answer.unread, isinstance(answer.value, FromRoot)
