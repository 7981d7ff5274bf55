"""The fork server that a command forks from itself: it has the command's modules, and nothing of the command's environment."""

import hashlib
import json
import os
import re
import secrets
import sys
from pathlib import Path

import pytest

from evalsuite.readers.limits import resolve_limits
from evalsuite.runs import SHARED_MODULES
from evalsuite.sandbox import fork_server
from evalsuite.sandbox.rpc_client import RpcClient
from tests.conftest import ROOT
from tests.processes import finished

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux forks a fork server from a command")
_HERE = "tests.sandbox.test_fork_ahead"
# As a command does.
_FORK = """
import evalsuite.sandbox.fork_server as servers
from evalsuite.runs import SHARED_MODULES
servers.fork_ahead(SHARED_MODULES)
"""
# Afterwards the same search in the command itself, which must see what it seeks.
_CODE = f"""
import json, sys
import {_HERE} as here
{_FORK}
print(json.dumps([len(servers._ahead), here.seen_by_worker(sys.argv[1]), here.seen(sys.argv[1])]))
"""


def seen(digest: str) -> dict[str, object]:
    """What a process has: whether its memory contains the key with this SHA-256, its variables, its modules."""
    with Path("/proc/self/maps").open() as lines, Path("/proc/self/mem").open("rb", buffering=0) as memory:
        places = [[int(at, 16) for at in line.split()[0].split("-")] for line in lines if line.split()[1].startswith("rw")]
        has_it = False
        for start, end in places:
            memory.seek(start)
            texts = re.findall(rb"a key: [0-9a-f]{64}", memory.read(end - start))
            has_it |= any(hashlib.sha256(text).hexdigest() == digest for text in texts)
    return {
        "words": Path("/proc/self/cmdline").read_text(),
        "secret": has_it,
        "variables": sorted(os.environ),
        "session": os.getsid(0),
        "has_modules": {*SHARED_MODULES} <= {*sys.modules},
    }


def seen_by_worker(digest: str) -> dict[str, object]:
    """The same of a worker of the process's next fork server, without the sandbox that would hide its memory."""
    with RpcClient(readable=[], hostile=Path("/nowhere"), limits=resolve_limits(), sandboxed=False) as client:
        found: dict[str, object] = client.call(f"{_HERE}:seen", digest)
    return found


def test_no_variable_of_the_environment_reaches_a_worker() -> None:
    """A secret in the environment is in the command's memory and not in its worker's, which shares the command's modules."""
    secret = f"a key: {secrets.token_hex(32)}"
    digest = hashlib.sha256(secret.encode()).hexdigest()
    command = [sys.executable, "-c", _CODE, digest]
    lines = finished(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT), "API_KEY": secret}).stdout
    n_ahead, worker, command_itself = json.loads(lines)
    assert n_ahead == 1
    assert command_itself["secret"]
    assert not worker["secret"]
    assert "API_KEY" in command_itself["variables"]
    assert worker["variables"] == sorted({*fork_server.worker_environment(), "ARROW_DEFAULT_MEMORY_POOL"})
    assert digest in command_itself["words"]
    assert worker["words"].startswith("evalsuite.sandbox.worker_main ")
    assert str(ROOT) in worker["words"]
    assert digest not in worker["words"]
    assert worker["session"] != command_itself["session"]
    assert worker["has_modules"]


def test_a_process_with_threads_is_not_forked() -> None:
    """With another thread running, whose locks a child would inherit, the fork server starts in a new interpreter."""
    code = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()" + _FORK + "print(len(servers._ahead))"
    assert finished([sys.executable, "-c", code], check=True, cwd=ROOT).stdout == "0\n"


def test_the_shared_modules_need_no_large_package() -> None:
    """What a command imports before it forks contains none of the packages that only some files need."""
    code = f"""
import sys
from evalsuite.core.runtime import load_msgspec
load_msgspec()
for name in {SHARED_MODULES!r}:
    __import__(name)
print(sorted({{'numpy', 'pandas', 'duckdb', 'rich', 'typer', 'yaml', 'scipy', 'typing_extensions'}} & {{*sys.modules}}))
"""
    assert finished([sys.executable, "-c", code], check=True, cwd=ROOT).stdout.strip() == "[]"
