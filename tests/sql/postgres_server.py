"""A real PostgreSQL server of the tests' own: Debian's programs, a data folder that is thrown away, loopback only, never as root."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import finished, started

PASSWORD = "only-for-tests"
OWNER, READER = "owner", "reader"


def programs() -> Path | None:
    """The folder with initdb and postgres: the newest of Debian's, else where PATH finds them."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3].split(".")[0]))
    if found:
        return found[-1].parent
    named = shutil.which("postgres")
    return Path(named).resolve().parent if named and shutil.which("initdb") else None


@contextlib.contextmanager
def server() -> Iterator[int]:
    """The port of a fresh server; skips the calling test with a clear reason where none can be started."""
    place = programs()
    if place is None:
        pytest.skip("no PostgreSQL server here (Debian: apt install postgresql)")
    user = _other_user() if os.geteuid() == 0 else None
    # Not below pytest's folder, which only its own user may enter.
    folder = Path(tempfile.mkdtemp(prefix="evalsuite-postgres-"))
    try:
        if user:
            shutil.chown(folder, user)
        yield from _running(place, folder, user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _other_user() -> str:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    pytest.skip("PostgreSQL refuses to run as root, and there is no other user here")


def _running(place: Path, folder: Path, user: str | None) -> Iterator[int]:
    data, secret = folder / "data", folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    quiet = {"cwd": folder, "user": user, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    made = [place / "initdb", "-D", data, "-U", OWNER, f"--pwfile={secret}", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C"]
    finished(list(map(str, made)), check=True, **quiet)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    settings = ["listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={folder}", "fsync=off", "shared_buffers=16MB"]
    line = [str(place / "postgres"), "-D", str(data), *(part for setting in settings for part in ("-c", setting))]
    log = (folder / "log").open("wb")
    # Its data are thrown away: no need to have them written.
    with log, started(line, seconds=3600, cwd=folder, user=user, stdout=log, stderr=log, farewell=signal.SIGQUIT) as process:
        _wait(process, port, folder / "log")
        yield port


def _wait(process: subprocess.Popen[str], port: int, log: Path) -> None:
    import psycopg

    for _ in range(300):
        if process.poll() is not None:
            pytest.fail(f"the server ended: {log.read_text()}")
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(host="127.0.0.1", port=port, user=OWNER, password=PASSWORD, dbname="postgres").close()
            return
        time.sleep(0.1)
    pytest.fail(f"the server did not answer: {log.read_text()}")
