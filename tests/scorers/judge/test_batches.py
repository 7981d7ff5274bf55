"""A judge asked by a provider's batch API: one batch for a run, parts that fail, kills in between, and no request sent twice."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import FaultError
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run
from evalsuite.scorers.judge import Settings
from evalsuite.scorers.judge.client import BatchQueue, Client
from evalsuite.scorers.judge.transport import Request
from tests.processes import started
from tests.scorers.judge.batch_server import Answer, Batches, serve_batches
from tests.scorers.judge.conftest import KEY, judged, section, write_folders

pytestmark = pytest.mark.usefixtures("shared_fork_server", "here")

ASKED = Request(model="m", messages=({"role": "user", "content": "q"},))


@pytest.fixture
def batches() -> Iterator[Any]:
    """Starts servers that are closed after the test."""
    running: list[Batches] = []

    def start(answer: Answer, **more: Any) -> Batches:
        running.append(serve_batches(answer, **more))
        return running[-1]

    yield start
    for server in running:
        server.stop()


def _folders(server: Batches, *, func: str = "llm_judge", **judge: Any) -> None:
    """Gold of six questions, answers that say which they are, and a judge who is asked by batches."""
    own = section(server.base_url, batch=True, retries=2)
    write_folders({**own, **judge}, [judged(func, gold=f"so it is {n}") for n in range(6)], [f"grade {n}" for n in range(6)])


def _text(body: dict[str, Any]) -> str:
    return json.dumps(body.get("messages") or body.get("input"))


def _five(_: dict[str, Any]) -> str:
    return '{"score": 5}'


def _scored(**options: Any) -> Run:
    return run(Path("answers"), Path("gold"), RunOptions(isolation="none", **options))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_parts_that_fail_are_unscored_and_asked_again_by_resume(batches: Any, provider: str) -> None:
    """An error, a refusal and what expired are nobody's score, each with its reason; a resumed run asks for them alone."""
    broken = [True]

    def answer(body: dict[str, Any]) -> str | tuple[int, str]:
        if broken[0] and "grade 1" in _text(body):
            return 400, f"the text is refused for {KEY}"
        return (0, "too late") if broken[0] and "grade 2" in _text(body) else '{"score": 5}'

    server = batches(answer, fails_at={"/v1/messages/batches/batch_0": 2, "/v1/files": 1})
    _folders(server, provider=provider)
    done = _scored()
    assert [one.status for one in done.results] == ["scored", "unscored", "unscored", "scored", "scored", "scored"]
    assert "the text is refused" in done.results[1].reason
    assert KEY not in done.results[1].reason
    assert "expired" in done.results[2].reason or "too late" in done.results[2].reason
    broken[0] = False
    again = _scored(resume=done.folder)
    assert [one.score for one in again.results] == [1.0] * 6
    assert [len(one) for one in server.batches.values()] == [6, 2]


@pytest.mark.parametrize(("ends", "score", "says"), [
    ("failed", None, ["the batch failed: no money left"] * 2),
    ("expired", 1.0, ["the batch expired", "no reply: not executed"]),
    ("completed", 1.0, ["the batch gave no reply to it", "no reply: not executed"]),
])  # fmt: skip
def test_a_batch_that_fails_or_expires_scores_nobody_wrong(batches: Any, ends: str, score: float | None, says: list[str]) -> None:
    """What had been answered before it expired counts; of one that failed all are unscored with its reason, else with their own."""

    def answer(body: dict[str, Any]) -> str | tuple[int, str] | None:
        return '{"score": 5}' if "grade 0" in _text(body) else None if "grade 1" in _text(body) else (0, "not executed")

    _folders(batches(answer, ends=ends), provider="openai")
    done = _scored()
    assert [one.score for one in done.results] == [score, *[None] * 5]
    assert [each in result.reason for each, result in zip(says, done.results[1:3], strict=True)] == [True, True]
    assert done.summary.score == score


def test_both_orders_of_a_pair_go_out_in_one_batch(batches: Any) -> None:
    """`summary_quality` asks twice a case; repeats are in the same batch too."""
    server = batches(lambda _: "0")
    _folders(server, func="summary_quality", provider="responses", repeats=2)
    done = _scored()
    assert [len(one) for one in server.batches.values()] == [4 * 6]
    assert [one.score for one in done.results] == [0.5] * 6


def test_a_killed_run_looks_for_its_batch_again(batches: Any) -> None:
    """SIGKILL while the batch is under way: the resumed run sends nothing, and has all replies of the first batch."""
    server = batches(_five, looks=10**9)
    _folders(server, provider="openai", cache=False)
    command = [sys.executable, "-m", "evalsuite", "run", "answers", "--gold", "gold", "--out", "here", "--isolation", "none"]
    with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        assert server.is_looked_at.wait(60)
    assert len(json.loads(Path("here/judge_batches.json").read_text())[0]["keys"]) == 6
    server.looks = 0
    done = _scored(resume=Path("here"))
    assert [one.score for one in done.results] == [1.0] * 6
    assert len(server.batches) == 1
    assert done.judge is not None
    assert done.judge["calls"] == 6


def test_a_batch_is_not_awaited_when_the_run_has_ended(batches: Any) -> None:
    """A request that waits for a batch counts; when the calls are stopped before the batch is over, it has a reason instead of a reply."""
    server = batches(_five, looks=10**9)
    client, queue = _waiting_queue(server, lambda _: None)
    assert queue.n_waiting == 1
    client.close()
    queue.settle()
    with pytest.raises(FaultError, match="the run was ended before the judge replied"):
        client.ask(ASKED)
    assert server.batches == {}


def _waiting_queue(server: Batches, wait: Callable[[float], Any]) -> tuple[Client, BatchQueue]:
    """A client that is asked by batches, of which it keeps a file, and its queue; one request waits."""
    client = Client(Settings(base_url=server.base_url, model="m", cache="", backoff_seconds=1), wait=wait)
    queue = client.take_batches(Path("batches.json"))
    with pytest.raises(FaultError, match="waits for a batch"):
        client.ask(ASKED)
    return client, queue


def test_a_batch_under_way_is_taken_over(batches: Any) -> None:
    """When the run ends while it waits, the batch stays in the file, and the next run has its replies and sends nothing."""
    server = batches(_five, looks=3)
    client, queue = _waiting_queue(server, lambda _: client.close())
    queue.settle()
    with pytest.raises(FaultError, match="the run was ended before the judge replied"):
        client.ask(ASKED)
    client, queue = _waiting_queue(server, lambda _: None)
    queue.settle()
    assert client.ask(ASKED).text == '{"score": 5}'
    assert len(server.batches) == 1


def test_an_endpoint_that_takes_no_batches_scores_nobody_wrong(batches: Any) -> None:
    """A server that speaks the protocol and has no batches: all unscored, and what it says."""
    server = batches(_five)
    _folders(server, base_url=server.base_url.replace("/v1", "/v2"))
    done = _scored()
    assert {one.status for one in done.results} == {"unscored"}
    assert "HTTP 404: no such address or model" in done.results[0].reason
