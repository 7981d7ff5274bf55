"""The code inside worker processes. A worker pair has two of them, joined by a socket.

- The *reader* opens the submission's files and has no gold: it gets read requests from the parent and sends what it read to the judge.
- The *judge* opens gold, receives what the reader read, and sends the result to the parent.

Both get many answers at once, in the same order; the reader works ahead until the socket is full. If either dies, only the answer without
a result is lost.
"""

import contextlib
import json
import os
import pickle
import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from evalsuite.compare.table_digests import bound, digested_tables
from evalsuite.core.plugin_calls import OFFICIAL_CALLBACK
from evalsuite.core.types import Fault, Result, Task
from evalsuite.readers.paths import Inode
from evalsuite.runs.table_transfer import RemoteTable, done, receive_table, serve_streams
from evalsuite.sandbox.framing import COPY, FULL, LONGEST_ORDER, OFFICIAL, ClosedError, receive, send
from evalsuite.sandbox.payloads import decode_payloads, encode_payloads
from evalsuite.sandbox.worker_main import Memory

# The paths of an answer are at most `answer_bytes` long in all.
_MOST_DIGESTS, _LONGEST_DIGEST = 16 << 20, 64


def serve_reader(parent: socket.socket, judge: socket.socket | None, setup: Mapping[str, Any]) -> None:
    assert judge is not None
    most, memory = int(setup["limits"]["message_bytes"]), Memory(setup["limits"])
    while (frame := receive(parent, most=LONGEST_ORDER)) is not None:
        for request in pickle.loads(frame):
            # In its own call, so that nothing of an answer stays in memory while the next is read.
            _read_one(request, parent, judge, setup["gold_inodes"], most)
            if memory.is_short():
                send(judge, FULL)
                return


def _read_one(request: Any, parent: socket.socket, judge: socket.socket, gold_inodes: frozenset[Inode], most: int) -> None:
    from evalsuite.runs.instance_checks import files_of
    from evalsuite.runs.task_execution import read_prediction
    from evalsuite.sandbox.temp_dirs import descriptor_path

    copies: list[int] = []
    if "database" in request.wanted:
        # The judge selects tables of gold and sends nothing else about it.
        request = replace(request, table_names=tuple(json.loads(_received(judge, LONGEST_ORDER))))
    if request.private == COPY:
        _, copies, _, _ = socket.recv_fds(parent, len(COPY), 1)
        request = replace(request, private=str(descriptor_path(copies[0])))
    files = files_of(request, gold_inodes)
    forms = read_prediction(request, files).forms
    payload = encode_payloads(forms)
    if len(payload) > most:
        fault = Fault(code="LIMIT", detail=f"the tables take more than {most} bytes (limit message_bytes)")
        payload = encode_payloads(dict.fromkeys(request.wanted, fault))
    parent.sendall(b"r")
    send(judge, payload)
    if len(payload) <= most:
        serve_streams(forms, judge, most)
    # The tables that came in blocks have been read only now.
    send(judge, _json(files.digests()))
    for copy in copies:
        os.close(copy)


def serve_judge(parent: socket.socket, reader: socket.socket | None, setup: Mapping[str, Any]) -> None:
    from evalsuite.runs.instance_checks import opens_files
    from evalsuite.sandbox.serialization import unpack_tasks

    OFFICIAL_CALLBACK.set(lambda _: send(parent, OFFICIAL))
    most, memory = int(setup["limits"]["message_bytes"]), Memory(setup["limits"])
    while (frame := receive(parent, most=LONGEST_ORDER)) is not None:
        order, packed = pickle.loads(frame)
        for task in unpack_tasks(packed):
            if (result := _judge_answer(order, task, reader, most)) is not None:
                send(parent, _line(result))
            if result is None or memory.is_short(of_files=opens_files(task)):
                send(parent, FULL)
                return


def _judge_answer(order: str, task: Task, reader: socket.socket | None, most: int) -> Result | None:
    """Return the result of a task on what the reader sends; None if the reader is full. Raises `ClosedError` if the reader is gone."""
    from evalsuite.runs.instance_checks import opens_files, table_names, wants_database
    from evalsuite.runs.task_execution import Prediction, score_task, second_stage

    if not opens_files(task):
        return score_task(task, order=order)
    assert reader is not None
    started = time.monotonic()
    if wants_database(task):
        # A full reader has sent that and ended.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            send(reader, _json(table_names(task)))
    payload = _received(reader, most)
    if payload == FULL:
        return None
    read = partial(receive_table, reader, most=most)
    forms = bound(decode_payloads(payload, read), lambda place: RemoteTable(reader, place, most))
    result = second_stage(order)(task, Prediction(forms=forms))
    if digested_tables(forms):
        done(reader)
    return replace(result, digests=_digests(task, reader), seconds=time.monotonic() - started)


def _received(reader: socket.socket, most: int) -> bytes:
    frame = receive(reader, most=most)
    if frame is None:
        raise ClosedError
    return frame


def _digests(task: Task, reader: socket.socket) -> dict[str, str]:
    """Return the digest of each file that the reader read. Only well-formed entries of its message count."""
    assert task.answer is not None
    told = json.loads(_received(reader, _MOST_DIGESTS))
    named = [task.answer.value] if isinstance(task.answer.value, str) else task.answer.value
    return {path: str(told[path])[:_LONGEST_DIGEST] for path in named if path in told}


def serve_fused(parent: socket.socket, _: socket.socket | None, setup: Mapping[str, Any]) -> None:
    from evalsuite.runs.task_execution import score_task
    from evalsuite.sandbox.serialization import unpack_tasks

    OFFICIAL_CALLBACK.set(lambda _: send(parent, OFFICIAL))
    while (frame := receive(parent, most=LONGEST_ORDER)) is not None:
        order, packed = pickle.loads(frame)
        for task in unpack_tasks(packed):
            send(parent, _line(score_task(task, setup["gold_inodes"], order)))


def _line(result: Result) -> bytes:
    from evalsuite.runs.run_files import whole_line

    return whole_line(result).encode()


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
