"""A server per test that says what the test sets, settings that reach it, and folders that are judged."""

import json
from collections.abc import Callable, Iterator, Sequence
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


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The key in the environment; runs, caches and what a test writes in a folder of its own."""
    monkeypatch.setenv("TEST_JUDGE_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def section(base_url: str, **more: Any) -> dict[str, Any]:
    """A `judge:` section that reaches a server."""
    return {"base_url": base_url, "model": "m", "key_env": "TEST_JUDGE_KEY", "backoff_seconds": 0.001, **more}


def judged(func: str = "llm_judge", **parameters: Any) -> dict[str, Any]:
    """The evaluation of an instance that a judge scores."""
    return {"func": func, "parameters": {"gold": "Paris", **parameters}}


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """A file of JSON lines, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_folders(judge: dict[str, Any] | None, evaluations: Sequence[Any], answers: Sequence[Any]) -> tuple[Path, Path]:
    """Here, a submission with these answers (what is no text is a JSON file), and gold of instances q0, q1... with their evaluations."""
    submission, gold = Path("answers"), Path("gold")
    lines = [{"instance_id": f"q{n}", "instruction": f"Question {n}?", "evaluation": each} for n, each in enumerate(evaluations)]
    write_rows(gold / "x_eval.jsonl", lines)
    if judge is not None:
        (gold / "suite.yaml").write_text(json.dumps({"judge": judge}))
    kinds = [("answer", each) if isinstance(each, str) else ("file", "a.json") for each in answers]
    rows = [{"instance_id": f"q{n}", "answer_type": kind, "answer_or_path": value} for n, (kind, value) in enumerate(kinds)]
    write_rows(submission / "results_metadata.jsonl", rows)
    for n, each in enumerate(answers):
        if not isinstance(each, str):
            (submission / f"q{n}").mkdir(exist_ok=True)
            (submission / f"q{n}" / "a.json").write_text(json.dumps(each))
    return submission, gold
