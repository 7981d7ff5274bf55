"""The inside of worker processes. A lane has two of them, joined by a socket:

- the *reader* opens the submission's files and knows no gold: it gets read requests from the parent and sends what it read to the judge;
- the *judge* opens gold, waits for what the reader read, and sends the result to the parent.

Both are told of many answers at once and take them in the same order; the reader goes ahead as far as the socket holds. A death of either
costs the one answer that the judge had no result of.
"""

import contextlib
import gc
import json
import os
import pickle
import resource
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from evalsuite.compare.table_digests import bound, digested_tables
from evalsuite.core.gc_tuning import look_seldom
from evalsuite.core.plugin_calls import OFFICIAL_HEARD
from evalsuite.core.types import Fault, Result, Task
from evalsuite.readers.paths import Inode
from evalsuite.runs.table_transfer import RemoteTable, done, receive_table, serve_streams
from evalsuite.sandbox.framing import ANSWER, COPY, FORK, FULL, LOAD, LONGEST_ORDER, OFFICIAL, ORDER, READ_GOLD, ClosedError, receive, send
from evalsuite.sandbox.linux_layers import adopt_orphans, die_with_parent, enter_process_namespace, number_outside
from evalsuite.sandbox.serialization import decode_forms, encode_forms
from evalsuite.sandbox.worker_sandbox import enter_sandbox, spare_address_space

# What a worker of nearly every run would import for itself: the codec is that of files that may begin with a byte order mark.
_OF_ALL = (
    "msgspec.msgpack",
    "encodings.utf_8_sig",
    "evalsuite.readers.load_answer",
    "evalsuite.runs.run_files",
    "evalsuite.sandbox.serialization",
    "evalsuite.runs.task_execution",
)
# An answer's paths are at most `answer_bytes` long in all.
_MOST_DIGESTS, _LONGEST_DIGEST = 16 << 20, 64
# What of the address space is taken, in pages, and what is read of it.
_TAKEN, _LONGEST_STATM = Path("/proc/self/statm"), 256


def serve_forks(control: int) -> None:
    """Be the zygote until the parent is gone: import, fork, and wait for whom the parent has killed. Never comes back."""
    # Who stops a whole group of processes means the run: the parent decides, and no worker's death is blamed on its answer.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    die_with_parent()
    if not enter_process_namespace():
        adopt_orphans()
    spare_address_space()
    # The number of each worker for the parent, and for this process, which may be in a namespace of its own.
    children: dict[int, int] = {}
    _import(_OF_ALL)
    parent, own = socket.socket(fileno=control), os.getpid()
    while order := _order(parent):
        what, number, role, passed = order
        if what == LOAD:
            _import(parent.recv(number, socket.MSG_WAITALL).decode().split())
        elif what == READ_GOLD:
            from evalsuite.runs.task_execution import read_ahead

            read_ahead(*pickle.loads(parent.recv(number, socket.MSG_WAITALL)))
        elif what == FORK:
            told, tell = os.pipe()
            pid = os.fork()
            if pid == 0:
                parent.close()
                os.close(told)
                os.write(tell, ANSWER.pack(number_outside()))
                os.close(tell)
                _be(role, passed, zygote=own)
            for descriptor in (tell, *passed):
                os.close(descriptor)
            answer = os.read(told, ANSWER.size) or ANSWER.pack(-1)
            os.close(told)
            children[ANSWER.unpack(answer)[0]] = pid
            parent.sendall(answer)
        else:
            _, status = os.waitpid(children.pop(number), 0)
            parent.sendall(ANSWER.pack(os.waitstatus_to_exitcode(status)))
    for group in children.values():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    # To take an interpreter down costs as much as two workers do, and nothing is left to write.
    os._exit(0)


def _order(parent: socket.socket) -> tuple[bytes, int, str, list[int]] | None:
    """(what to do, a number, a role, descriptors) of the parent's next order; None where it is gone."""
    head, passed, _, _ = socket.recv_fds(parent, ORDER.size, 2)
    if not head:
        return None
    while len(head) < ORDER.size and (more := parent.recv(ORDER.size - len(head))):
        head += more
    what, number, role = ORDER.unpack(head)
    return what, number, role.rstrip(b"\0").decode(), passed


def _import(modules: Sequence[str]) -> None:
    """Import for all workers; no garbage collector ever looks at what is there now, in a worker neither."""
    for name in modules:
        with contextlib.suppress(ImportError):
            import_module(name)
    gc.freeze()


def _be(role: str, passed: Sequence[int], *, zygote: int) -> None:
    """Be a worker, and never come back."""
    os.setsid()
    gc.enable()
    look_seldom()
    die_with_parent()
    # Open until the very end: the parent may kill a worker whose socket is closed, and asks how it ended.
    sockets = [socket.socket(fileno=one) for one in passed]
    try:
        if os.getppid() == zygote:
            main(role, *sockets)
    except (ClosedError, BrokenPipeError, ConnectionResetError):
        pass
    except BaseException:  # a worker that fails dies: nothing of the zygote's stack is its own
        os._exit(1)
    os._exit(0)


def main(role: str, parent: socket.socket, other: socket.socket | None = None) -> None:
    """Serve until the parent closes its socket. The first frame is the pickled set-up, sent by the trusted parent."""
    setup = pickle.loads(receive(parent, most=LONGEST_ORDER) or b"")
    if role in ("judge", "fused", "calls"):
        from evalsuite.scorers import SCORERS

        SCORERS.bring_all(setup["plugins"], setup["metrics"])
    if role in ("judge", "fused"):
        OFFICIAL_HEARD.set(lambda _: send(parent, OFFICIAL))
    walls = enter_sandbox(setup["readable"][role], setup["limits"]) if setup["walls"] else []
    send(parent, _json({"walls": walls}))
    serving = {"reader": _serve_reader, "judge": _serve_judge, "fused": _serve_fused, "queries": _serve_queries, "calls": _serve_calls}
    serving[role](parent, other, setup)


class Memory:
    """Whether this process kept so much address space of its last answer that the next one might not fit."""

    def __init__(self, limits: Mapping[str, int | float]) -> None:
        self._most, self._peak = int(limits["memory_mib"]) << 19, 0

    def is_short(self, *, of_files: bool = True) -> bool:
        """Whether more than half of `memory_mib` is taken; after an answer without files it is asked only where more was ever touched.

        False where the system does not say (only Linux limits it).
        """
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if peak <= self._peak and not of_files:
            return False
        self._peak = peak
        try:
            # Opened anew each time: a worker holds nothing but its sockets.
            with _TAKEN.open("rb", buffering=0) as told:
                return int(told.read(_LONGEST_STATM).split()[0]) * resource.getpagesize() > self._most
        except OSError:
            return False


def _serve_reader(parent: socket.socket, judge: socket.socket | None, setup: Mapping[str, Any]) -> None:
    assert judge is not None
    most, memory = int(setup["limits"]["message_bytes"]), Memory(setup["limits"])
    while (frame := receive(parent, most=LONGEST_ORDER)) is not None:
        for request in pickle.loads(frame):
            # In a call of its own, so that nothing of one answer is held while the next is read.
            _read_one(request, parent, judge, setup["gold_inodes"], most)
            if memory.is_short():
                send(judge, FULL)
                return


def _read_one(request: Any, parent: socket.socket, judge: socket.socket, gold_inodes: frozenset[Inode], most: int) -> None:
    from evalsuite.runs.task_execution import files_of, read_prediction
    from evalsuite.sandbox.temp_dirs import descriptor_path

    copies: list[int] = []
    if "database" in request.wanted:
        # The judge knows which tables gold has, and says nothing else of it.
        request = replace(request, table_names=tuple(json.loads(_received(judge, LONGEST_ORDER))))
    if request.private == COPY:
        _, copies, _, _ = socket.recv_fds(parent, len(COPY), 1)
        request = replace(request, private=str(descriptor_path(copies[0])))
    files = files_of(request, gold_inodes)
    forms = read_prediction(request, files).forms
    payload = encode_forms(forms)
    if len(payload) > most:
        fault = Fault(code="LIMIT", detail=f"the tables take more than {most} bytes (limit message_bytes)")
        payload = encode_forms(dict.fromkeys(request.wanted, fault))
    parent.sendall(b"r")
    send(judge, payload)
    if len(payload) <= most:
        serve_streams(forms, judge, most)
    # Only now is it known what a table was read of that went block by block.
    send(judge, _json(files.digests()))
    for copy in copies:
        os.close(copy)


def _serve_judge(parent: socket.socket, reader: socket.socket | None, setup: Mapping[str, Any]) -> None:
    from evalsuite.runs.task_execution import opens_files
    from evalsuite.sandbox.serialization import unpack_tasks

    most, memory = int(setup["limits"]["message_bytes"]), Memory(setup["limits"])
    while (frame := receive(parent, most=LONGEST_ORDER)) is not None:
        order, packed = pickle.loads(frame)
        for task in unpack_tasks(packed):
            if (result := _judged(order, task, reader, most)) is not None:
                send(parent, _line(result))
            if result is None or memory.is_short(of_files=opens_files(task)):
                send(parent, FULL)
                return


def _judged(order: str, task: Task, reader: socket.socket | None, most: int) -> Result | None:
    """The result of a task on what the reader sends of its answer; None where the reader is full. Raises `ClosedError` where it is gone."""
    from evalsuite.runs.task_execution import Prediction, opens_files, score_task, second_stage, table_names, wants_database

    if not opens_files(task):
        return score_task(task, order=order)
    assert reader is not None
    started = time.monotonic()
    if wants_database(task):
        # A reader that is full is gone, and has said so before.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            send(reader, _json(table_names(task)))
    payload = _received(reader, most)
    if payload == FULL:
        return None
    read = partial(receive_table, reader, most=most)
    forms = bound(decode_forms(payload, read), lambda place: RemoteTable(reader, place, most))
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
    """What the reader read of each file of the answer: of what it sends, only what can be meant."""
    assert task.answer is not None
    told = json.loads(_received(reader, _MOST_DIGESTS))
    named = [task.answer.value] if isinstance(task.answer.value, str) else task.answer.value
    return {path: str(told[path])[:_LONGEST_DIGEST] for path in named if path in told}


def _serve_fused(parent: socket.socket, _: socket.socket | None, setup: Mapping[str, Any]) -> None:
    from evalsuite.runs.task_execution import score_task
    from evalsuite.sandbox.serialization import unpack_tasks

    while (frame := receive(parent, most=LONGEST_ORDER)) is not None:
        order, packed = pickle.loads(frame)
        for task in unpack_tasks(packed):
            send(parent, _line(score_task(task, setup["gold_inodes"], order)))


def _serve_queries(parent: socket.socket, _: socket.socket | None, __: Mapping[str, Any]) -> None:
    from evalsuite.sql.query_worker import serve

    serve(parent)


def _serve_calls(parent: socket.socket, _: socket.socket | None, __: Mapping[str, Any]) -> None:
    from evalsuite.sandbox.rpc_server import serve_calls

    serve_calls(parent)


def _line(result: Result) -> bytes:
    from evalsuite.runs.run_files import whole_line

    return whole_line(result).encode()


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
