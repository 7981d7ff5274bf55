"""A server per test that says what the test sets, and settings that reach it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsuite.scorers.judge import Judge, Settings
from tests.scorers.judge.server import Rule, Server

KEY = "sk-very-secret-0123456789"
Serve = Callable[[Rule], Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers that are closed after the test."""
    running: list[Server] = []

    def start(rule: Rule) -> Server:
        running.append(Server(rule))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture
def judge_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Judge]:
    """A judge at a server, with a key in the environment, a cache of its own and next to no wait between retries."""
    monkeypatch.setenv("TEST_JUDGE_KEY", KEY)

    def make(server: Server, **more: Any) -> Judge:
        given = {"model": "m", "key_env": "TEST_JUDGE_KEY", "backoff_seconds": 0.001, "cache": str(tmp_path / "cache"), **more}
        return Judge(Settings(base_url=server.base_url, **given))

    return make
