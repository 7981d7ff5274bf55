"""The inside of a worker process. A lane has two of them, joined by a socket:

- the *reader* opens the submission's files and knows no gold: it gets read requests from the parent and sends what it read to the judge;
- the *judge* opens gold, waits for what the reader read, and sends the result to the parent.

A death of either costs the one instance that was in the lane.
"""

import json
import os
import pickle
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evalsuite.readers.paths import Inode
from evalsuite.tables.digested import bound, digested_tables
from evalsuite.types import Fault
from evalsuite.walls.namespaces import die_with_parent
from evalsuite.walls.worker_walls import lock_in
from evalsuite.workers.streams import RemoteTable, done, receive_table, serve_streams
from evalsuite.workers.wire import ClosedError, decode_forms, encode_forms, receive, send

MOST = 1 << 31
# An answer's paths are at most `answer_bytes` long in all.
_MOST_DIGESTS, _LONGEST_DIGEST = 16 << 20, 64


def main(role: str, control: int, data: int) -> None:
    """Serve until the parent closes the control socket. The first frame is the pickled set-up, sent by the trusted parent."""
    # Who stops a whole group of processes means the run: the parent decides, and no worker's death is blamed on its answer.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    die_with_parent()
    parent = socket.socket(fileno=control)
    other = socket.socket(fileno=data) if data >= 0 else None
    setup = pickle.loads(receive(parent, most=MOST) or b"")
    _warm_up(role)
    if role in ("judge", "fused", "calls"):
        from evalsuite.scorers import SCORERS

        for name, file, attribute in setup["plugins"]:
            SCORERS.bring(name, Path(file), attribute)
        for name, spec in setup["metrics"].items():
            SCORERS.bring_metric(name, spec)
    walls = lock_in(setup["readable"][role], setup["limits"]) if setup["walls"] else []
    send(parent, _json({"walls": walls}))
    serving = {"reader": _serve_reader, "judge": _serve_judge, "fused": _serve_fused, "queries": _serve_queries, "calls": _serve_calls}
    serving[role](parent, other, setup)


def _warm_up(role: str) -> None:
    """Import what every task needs before the walls go up and the first task waits for it."""
    import msgspec.msgpack  # noqa: F401

    if role != "judge":
        import evalsuite.readers.answer_forms
    if role != "reader":
        import evalsuite.workers.stages  # noqa: F401


def _serve_reader(parent: socket.socket, judge: socket.socket | None, setup: Mapping[str, Any]) -> None:
    assert judge is not None
    most = int(setup["limits"]["message_bytes"])
    while (frame := receive(parent, most=MOST)) is not None:
        # In a call of its own, so that nothing of one answer is held while the next is read.
        _read_one(frame, parent, judge, setup["gold_inodes"], most)


def _read_one(frame: bytes, parent: socket.socket, judge: socket.socket, gold_inodes: frozenset[Inode], most: int) -> None:
    from evalsuite.readers.duckdb_connections import place_of
    from evalsuite.workers.requests import COPY, files_of
    from evalsuite.workers.stages import read_prediction

    request, copies = pickle.loads(frame), list[int]()
    if request.private == COPY:
        _, copies, _, _ = socket.recv_fds(parent, len(COPY), 1)
        request = replace(request, private=str(place_of(copies[0])))
    files = files_of(request, gold_inodes)
    forms = read_prediction(request, files).forms
    payload = encode_forms(forms)
    if len(payload) > most:
        fault = Fault(code="LIMIT", detail=f"the tables take more than {most} bytes (limit message_bytes)")
        payload = encode_forms(dict.fromkeys(request.wanted, fault))
    send(parent, b"read")
    send(judge, payload)
    if len(payload) <= most:
        serve_streams(forms, judge, most)
    # Only now is it known what a table was read of that went block by block.
    send(judge, _json(files.digests()))
    for copy in copies:
        os.close(copy)


def _serve_judge(parent: socket.socket, reader: socket.socket | None, setup: Mapping[str, Any]) -> None:
    from evalsuite.workers.requests import table_names

    assert reader is not None
    while (frame := receive(parent, most=MOST)) is not None:
        order, task = pickle.loads(frame)
        if order == "names":
            send(parent, _json(table_names(task)))
            continue
        result = _judged(order, task, reader, int(setup["limits"]["message_bytes"]))
        if result is None:
            return
        send(parent, _result(result))


def _judged(order: str, task: Any, reader: socket.socket, most: int) -> Any:
    """The result of a task on what the reader sends of its answer; None where the reader is gone."""
    from evalsuite.workers.stages import Prediction, second_stage

    payload = receive(reader, most=most)
    if payload is None:
        return None
    read = partial(receive_table, reader, most=most)
    forms = bound(decode_forms(payload, read), lambda place: RemoteTable(reader, place, most))
    result = second_stage(order)(task, Prediction(forms=forms))
    if digested_tables(forms):
        done(reader)
    return replace(result, digests=_digests(task, reader))


def _digests(task: Any, reader: socket.socket) -> dict[str, str]:
    """What the reader read of each file of the answer: of what it sends, only what can be meant."""
    frame = receive(reader, most=_MOST_DIGESTS)
    if frame is None:
        raise ClosedError
    told = json.loads(frame)
    named = [task.answer.value] if isinstance(task.answer.value, str) else task.answer.value
    return {path: str(told[path])[:_LONGEST_DIGEST] for path in named if path in told}


def _serve_fused(parent: socket.socket, _: socket.socket | None, setup: Mapping[str, Any]) -> None:
    from evalsuite.workers.stages import score_task

    while (frame := receive(parent, most=MOST)) is not None:
        order, task = pickle.loads(frame)
        send(parent, _result(score_task(task, setup["gold_inodes"], order)))


def _serve_queries(parent: socket.socket, _: socket.socket | None, __: Mapping[str, Any]) -> None:
    from evalsuite.workers.query_worker import serve

    serve(parent)


def _serve_calls(parent: socket.socket, _: socket.socket | None, __: Mapping[str, Any]) -> None:
    from evalsuite.workers.calls import serve_calls

    serve_calls(parent)


def _result(result: Any) -> bytes:
    from evalsuite.store.run_files import whole_line

    return whole_line(result).encode()


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def start() -> None:
    """Entry point of the child: `role control data` in argv."""
    try:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    except (ClosedError, BrokenPipeError, ConnectionResetError):
        os._exit(0)
    os._exit(0)
