"""Run `evalsuite` commands in forks of one process that has imported the package, which saves the start of an interpreter each time.

A command has its own process, session, working folder, environment and streams, as if a shell had started it. Use a real process
(`tests.processes`) where the start, the modules that are imported, or the limits on memory are the subject.
"""

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_MESSAGE_BYTES, _LONGEST_FOLDER = 1 << 18, 50
COMMAND = "evalsuite.cli:main"
# For a shell the text between the first lines is a command, for Python a string: a `#!` line with the interpreter's path ends at a space.
_SCRIPT = """#!/bin/sh
'''exec' "{python}" -IS "$0" "$@"
' '''
import json, os, signal, socket, sys
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect({place!r})
request = {{"words": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "has_terminal": False, "fork_servers": {fork_servers!r}}}
socket.send_fds(connection, [json.dumps(request).encode("utf-8", "surrogateescape")], (0, 1, 2))
pid = int(connection.recv(64))
code = int(connection.recv(64) or b"-9")
os._exit(code if code >= 0 else 128 - code)
"""
# Imported by many commands, late; not imported by the package's own modules when they load. The 800 mappings of pandas and scipy would make
# each fork of the server take twice as long, and hardly any command needs them.
_HEAVY = ("duckdb", "msgspec", "numpy", "rapidfuzz", "regex", "rich.console", "rich.table", "jinja2", "yaml")
# The same of workers.
_OF_WORKERS = ("duckdb", "numpy", "rapidfuzz", "regex")


class Command:
    """One command that is running, with what a test needs of `subprocess.Popen`."""

    def __init__(self, pid: int, answers: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._answers = answers

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative for the signal that ended it; raises `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            self._answers.settimeout(timeout)
            try:
                code = self._answers.recv(64)
            except (TimeoutError, BlockingIOError) as error:
                raise subprocess.TimeoutExpired("evalsuite", timeout or 0.0) from error
            self._answers.close()
            assert code, f"the command server does not know how process {self.pid} ended"
            self.returncode = int(code)
        return self.returncode

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0.0)
        return None

    def kill(self) -> None:
        """End the command with its whole process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


class CommandServer:
    """Client side: start commands in forks of the server process, which is one for all processes of a parallel test run."""

    def __init__(self) -> None:
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
        # The path of a socket has at most 107 bytes.
        base = tempfile.gettempdir() if len(tempfile.gettempdir()) < _LONGEST_FOLDER else "/tmp"
        self._folder = Path(base, f"commands-{run}") if run else Path(tempfile.mkdtemp(prefix="commands-", dir=base))
        self._folder.mkdir(exist_ok=True)
        self._place = self._folder / "socket"
        self._process: subprocess.Popen[bytes] | None = None
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._place.exists():
                # It ends with the process that began the test run: of a parallel one the parent of this process.
                server = self._started(os.getppid() if run else os.getpid())
                self._process = None if run else server

    def _started(self, pid: int) -> "subprocess.Popen[bytes]":
        """The server process, which lives as long as the process `pid`."""
        self.script.parent.mkdir()
        self.script.write_text(_SCRIPT.format(python=sys.executable, place=str(self._place), fork_servers=str(self.fork_servers)))
        self.script.chmod(0o755)
        alive = os.pidfd_open(pid)
        descriptors = [alive]
        for place in (self._place, self.fork_servers):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(str(place))
            listener.listen(64)
            descriptors.append(listener.detach())
        code = f"from tests.command_server import serve; serve(*{descriptors}, {str(self._folder)!r})"
        environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        # A fork copies the table of pages: with large pages it takes half the time.
        environment |= {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
        process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, pass_fds=descriptors, start_new_session=True)
        for descriptor in descriptors:
            os.close(descriptor)
        return process

    def start(
        self,
        words: Sequence[object],
        streams: tuple[int, int, int],
        *,
        cwd: Path,
        env: Mapping[str, str],
        has_terminal: bool = False,
        call: str = COMMAND,
    ) -> Command:
        """Start `evalsuite WORDS` with these descriptors as its three streams; `has_terminal` makes stdin its controlling terminal.

        `call` is another function `module:name` to be called with `words` as arguments of its process.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(str(self._place))
        request = {"words": [str(word) for word in words], "cwd": str(cwd), "env": dict(env), "has_terminal": has_terminal, "call": call}
        request["fork_servers"] = str(self.fork_servers)
        socket.send_fds(connection, [json.dumps(request).encode("utf-8", "surrogateescape")], streams)
        return Command(int(connection.recv(64)), connection)

    @property
    def fork_servers(self) -> Path:
        """The socket of the process that fork servers are forked from."""
        return self._folder / "fork-servers"

    @property
    def script(self) -> Path:
        """An executable `evalsuite` for shells, in a folder of its own; it takes 10 ms to hand its words and streams to the server."""
        return self._folder / "bin" / "evalsuite"

    def run(
        self,
        words: Sequence[object],
        *,
        cwd: Path = ROOT,
        env: Mapping[str, str] | None = None,
        text: str | None = None,
        seconds: float = 120.0,
        encoding: str = "utf-8",
        call: str = COMMAND,
    ) -> "subprocess.CompletedProcess[str]":
        """Run `evalsuite WORDS`, or `call` (see `start`), to its end, `text` on stdin; raises `AssertionError` after `seconds`."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
            given.write((text or "").encode())
            given.seek(0)
            streams = (given.fileno(), out.fileno(), err.fileno())
            command = self.start(words, streams, cwd=cwd, env=os.environ if env is None else env, call=call)
            try:
                code = command.wait(seconds)
            except subprocess.TimeoutExpired as late:
                raise AssertionError(f"not ended after {seconds:g} s: evalsuite {words}") from late
            finally:
                command.kill()
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(io.TextIOWrapper(io.BytesIO(stream.read()), encoding=encoding).read())
        return subprocess.CompletedProcess(["evalsuite", *map(str, words)], code, *texts)

    def close(self) -> None:
        """End the server, if it is this process's own."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            shutil.rmtree(self._folder, ignore_errors=True)


@functools.cache
def command_server() -> CommandServer:
    """The command server of this test run, which ends with it."""
    return CommandServer()


def close_command_server() -> None:
    """End the command server, if this process has one of its own."""
    if command_server.cache_info().currsize:
        command_server().close()
        command_server.cache_clear()


def serve(alive: int, listening: int, listening_for_workers: int, folder: str) -> None:
    """Server side: fork a process for each connection, report its pid and exit code; ends with the process of the pidfd `alive`.

    A second process, which has imported what workers need and nothing else, forks the fork servers. It imports by itself: large pages that
    two processes share are split when one of them changes something.
    """
    if os.fork() == 0:
        os.close(listening)
        from evalsuite.runs import WORKER_MODULES

        for name in (*WORKER_MODULES, *_OF_WORKERS):
            importlib.import_module(name)
        _import_below("compare", "readers", "scorers", "trees", "gold", "analysis", "runs", "suites")
        _compile_patterns()
        _serve(alive, listening_for_workers, _be_fork_server)
        os._exit(0)
    os.close(listening_for_workers)
    _import_everything()
    _look_up_everything(folder)
    # What is to be called at the end of this process is not for the commands.
    atexit._clear()
    _serve(alive, listening, _be_command)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _serve(alive: int, listening: int, become: Callable[[dict[str, Any], Sequence[int]], None]) -> None:
    """Fork a process that becomes what each connection asks for, until the process of the pidfd `alive` ends."""
    listener = socket.socket(fileno=listening)
    gc.freeze()
    while True:
        ready, _, _ = select.select([listener, alive], [], [])
        if alive in ready:
            return
        connection, _ = listener.accept()
        message, passed, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, 3)
        request = json.loads(message.decode("utf-8", "surrogateescape"))
        pid = os.fork()
        if pid == 0:
            listener.close()
            connection.close()
            os.close(alive)
            become(request, passed)
        for descriptor in passed:
            os.close(descriptor)
        connection.send(str(pid).encode())
        threading.Thread(target=_report, args=(pid, connection), daemon=True).start()


def _report(pid: int, answers: socket.socket) -> None:
    _, status = os.waitpid(pid, 0)
    with answers, contextlib.suppress(OSError):
        answers.send(str(os.waitstatus_to_exitcode(status)).encode())


def _import_everything() -> None:
    for name in _HEAVY:
        importlib.import_module(name)
    _import_below("")


def _compile_patterns() -> None:
    """Compile what the package compiles on first use: it takes a worker longer than a small answer."""
    from evalsuite.core.import_ref import LazyPattern

    for pattern in [one for one in gc.get_objects() if type(one) is LazyPattern]:
        for method in ("match", "fullmatch", "search", "finditer", "findall", "sub", "split"):
            getattr(pattern, method)


def _look_up_everything(folder: str) -> None:
    """Fill the caches that every command would fill again."""
    from evalsuite.cli.commands import COMMANDS
    from evalsuite.cli.parser import build, load_command
    from evalsuite.core.disk_cache import code_stamp
    from evalsuite.sandbox.worker_sandbox import expected_features

    _compile_patterns()
    code_stamp()
    expected_features()
    build()
    for name in COMMANDS:
        load_command(name)
    _run_commands(folder)


def _run_commands(folder: str) -> None:
    """Run some commands here: what Python notes at the first call of a function takes a small command most of its time.

    What they write lies in the server's folder, which goes with it also if it is killed meanwhile.
    """
    from evalsuite.cli import main

    checks = {"a": ("string_match", {"gold": "Rome"}), "b": ("number_match", {"gold": "4"})}
    spec = [{"instance_id": key, "evaluation": {"func": func, "parameters": gold}} for key, (func, gold) in checks.items()]
    answers = [{"instance_id": key, "answer_type": "answer", "answer_or_path": "4"} for key in checks]
    lines = (
        "check 4 5",
        "check number_match --prediction 4 --gold-value 5",
        "run sub --gold gold --isolation none --out first",
        "run sub --gold gold --isolation none --out second --json",
        "report first",
        "report first -o report.html -o report.json",
        "explain a --run first",
        "runs",
        "validate sub --gold gold --isolation none",
        "no-such-command",
    )
    with tempfile.TemporaryDirectory(dir=folder) as scene, contextlib.chdir(scene):
        for place, rows in (("gold/t_eval.jsonl", spec), ("sub/results_metadata.jsonl", answers)):
            Path(place).parent.mkdir()
            Path(place).write_text("".join(json.dumps(row) + "\n" for row in rows))
        for line in lines:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
                main(line.split())


def _import_below(*packages: str) -> None:
    """Import the modules of packages of evalsuite, all where a name is empty."""
    import evalsuite

    for module in pkgutil.walk_packages(evalsuite.__path__, "evalsuite."):
        if f"{module.name}.".startswith(tuple(f"evalsuite.{name}" for name in packages)) and not module.name.endswith("__main__"):
            # A module of an extra that is not installed.
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def _be_command(request: dict[str, Any], streams: Sequence[int]) -> None:
    """Become the command: never returns."""
    code = 1
    try:
        os.setsid()
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
        for descriptor in {*streams} - {0, 1, 2}:
            os.close(descriptor)
        if request["has_terminal"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        time.tzset()
        _open_streams()
        sys.path[0] = request["cwd"]
        sys.argv = [str(ROOT / "evalsuite" / "__main__.py"), *request["words"]]
        module, _, name = request.get("call", COMMAND).partition(":")
        main = getattr(importlib.import_module(module), name)
        with forked_fork_servers(Path(request["fork_servers"])):
            try:
                code = main() or 0
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        os._exit(code)


def _open_streams() -> None:
    """The three streams as Python opens them in a UTF-8 locale; PYTHONIOENCODING (`encoding:errors`) is obeyed."""
    encoding, _, chosen = os.environ.get("PYTHONIOENCODING", "").partition(":")
    encoding = encoding or "utf-8"
    sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb", closefd=False), encoding=encoding, errors=chosen or "strict")
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = os.fdopen(number, "wb", closefd=False)
        errors = (chosen or "strict") if number == 1 else "backslashreplace"
        setattr(sys, name, io.TextIOWrapper(stream, encoding=encoding, errors=errors, line_buffering=number == 2 or os.isatty(number)))


def _be_fork_server(request: dict[str, Any], passed: Sequence[int]) -> None:
    """Become a fork server as `ForkServer` starts one: never returns."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        control = os.dup2(passed[0], request["control"])
        os.closerange(3, control)
        os.closerange(control + 1, 4096)
        os.chdir("/")
        os.environ.clear()
        os.environ.update(request["env"])
        signal.pthread_sigmask(signal.SIG_BLOCK, request["blocked"])
        exec(request["code"], {})
    finally:
        os._exit(1)


@contextlib.contextmanager
def forked_fork_servers(place: Path | None = None) -> Iterator[None]:
    """In the block, fork servers are forked from the process behind the socket `place`, which saves the start of an interpreter."""
    from evalsuite.sandbox import fork_server

    socket_of_server = place or command_server().fork_servers

    def popen(command: Sequence[str], *, env: Mapping[str, str], pass_fds: Sequence[int], **_: object) -> Command:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(str(socket_of_server))
        blocked = [int(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, ())]
        request = {"code": command[-1], "control": pass_fds[0], "env": dict(env), "blocked": blocked}
        socket.send_fds(connection, [json.dumps(request).encode("utf-8", "surrogateescape")], pass_fds)
        return Command(int(connection.recv(64)), connection)

    before = fork_server.subprocess
    fork_server.subprocess = types.SimpleNamespace(**{**vars(subprocess), "Popen": popen})  # type: ignore[assignment]
    try:
        yield
    finally:
        fork_server.subprocess = before
