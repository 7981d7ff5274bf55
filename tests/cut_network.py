"""A process in which the network is cut: it runs lines of `evalsuite` and says what each of them asked of the network.

An audit hook refuses every look-up of a name and every connection but those to sockets of this machine's file system, and every engine
that is a server is replaced by one that says it was opened. Workers have walls of their own: `--isolation none` brings their code in here.
"""

import contextlib
import io
import json
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.command_server import command_server

SERVERS = ("postgres", "snowflake", "bigquery")
_ASKED = frozenset({"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.sendto"})
# What the lines have asked so far.
_events: list[str] = []


def run_cut(*scenes: tuple[Sequence[Sequence[str]], Path]) -> list[list[dict[str, Any]]]:
    """Runs the lines of each scene in its folder, all of them in one process, a fork of the command server.

    For each line its exit code, what it printed on both streams, and the `events`: what it asked of the network, engines included.
    """
    lines = [(str(folder), line) for lines, folder in scenes for line in lines]
    done = command_server().run((), text=json.dumps(lines), call="tests.cut_network:main", seconds=600)
    assert done.returncode == 0, done.stderr
    found = map(json.loads, done.stdout.splitlines())
    return [[next(found) for _ in lines] for lines, _ in scenes]


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _ASKED and getattr(arguments[0], "family", None) != getattr(socket, "AF_UNIX", None):
        _events.append(f"{event} {arguments[1:] if 'connect' in event or 'sendto' in event else arguments}")
        raise OSError("the network is cut")


def _replace_servers() -> None:
    from evalsuite.core.errors import UsageError
    from evalsuite.sql import ENGINES

    for name in SERVERS:

        def opened(connection: Any, _limits: Any, name: str = name) -> None:
            _events.append(f"open {name}")
            raise UsageError(f"connection {connection.name!r}: the network is cut")

        ENGINES[name].module.load().open_session = opened


def _look_at_viewer() -> int:
    """The pages of the viewer, asked without a server."""
    from starlette.testclient import TestClient

    from evalsuite.reports.viewer.app import make_app

    with TestClient(make_app(Path(".evalsuite")), base_url="http://127.0.0.1") as client:
        pages = [client.get(page).status_code for page in ("/", "/runs")]
    return 0 if 200 in pages else 1


def main() -> None:
    """Run the lines of stdin in their folders, and print an object for each."""
    import os

    lines, shown = json.loads(sys.stdin.read()), sys.stdout
    _replace_servers()
    sys.addaudithook(_refuse)
    from evalsuite.cli import main as evalsuite

    for folder, line in lines:
        os.chdir(folder)
        _events.clear()
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as complaint:
            code = _look_at_viewer() if line[0] == "view" else evalsuite(line)
        said = {"line": " ".join(line), "code": code, "events": list(_events), "out": out.getvalue(), "errors": complaint.getvalue()}
        print(json.dumps(said), file=shown, flush=True)
