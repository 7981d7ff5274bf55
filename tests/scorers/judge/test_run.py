"""Whole runs with a judge: verdicts become results, silence an interval, and a killed run asks only for what it lacks."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.disk_cache import FILE
from evalsuite.reports import encode
from evalsuite.reports.record import record_of_run, redact_record
from evalsuite.reports.run_document import run_document
from evalsuite.runs.rescoring import Shard, merge
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run
from tests.conftest import ROOT
from tests.processes import started
from tests.scorers.judge.conftest import KEY, Serve
from tests.scorers.judge.server import Say, completion, prompt_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")

NAMES = ("llm_judge", "qa_correctness", "summary_quality", "hallucination")
Make = Callable[..., tuple[Path, Path]]


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The key in the environment, runs and caches in a folder of the test."""
    monkeypatch.setenv("TEST_JUDGE_KEY", KEY)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folders(tmp_path: Path) -> Make:
    """Writes gold and a submission: instances q0..., each with its evaluation and its answer."""

    def write(judge: dict[str, Any] | None, evaluations: list[Any], answers: list[str]) -> tuple[Path, Path]:
        gold, submission = tmp_path / "gold", tmp_path / "submission"
        gold.mkdir(exist_ok=True)
        submission.mkdir(exist_ok=True)
        lines = [{"instance_id": f"q{n}", "instruction": f"Question {n}?", "evaluation": e} for n, e in enumerate(evaluations)]
        (gold / "x_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        if judge is not None:
            (gold / "suite.yaml").write_text(json.dumps({"judge": judge}))
        rows = [{"instance_id": f"q{n}", "answer_type": "answer", "answer_or_path": text} for n, text in enumerate(answers)]
        (submission / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return submission, gold

    return write


def section(base_url: str, **more: Any) -> dict[str, Any]:
    """A `judge:` section that reaches the server."""
    return {"base_url": base_url, "model": "m", "key_env": "TEST_JUDGE_KEY", "backoff_seconds": 0.001, **more}


def judged(gold: str = "Paris", **more: Any) -> dict[str, Any]:
    """An `llm_judge` entry."""
    return {"func": "llm_judge", "parameters": {"gold": gold, **more}}


def scored(submission: Path, gold: Path, **options: Any) -> Run:
    """A run in the test's folder."""
    return run(submission, gold, RunOptions(isolation="none", **options))


def by_grade(body: dict[str, Any], _: int) -> str:
    """A judge that gives the digit in the answer, and nothing where it holds none."""
    answer = prompt_of(body).split("<answer ", 1)[1].split("\n")[1]
    return f'{{"score": {answer[-1]}}}' if answer[-1].isdigit() else "Hm."


def test_verdicts_become_results(serve: Serve, folders: Make) -> None:
    """Scores stand in gold order beside other scorers; silence is `unscored` and widens the interval; a missing answer asks nothing."""
    server = serve(by_grade)
    match = {"func": "string_match", "parameters": {"gold": "Oslo"}}
    where = folders(section(server.base_url), [judged(), judged(), match, judged(), judged()], ["a5", "a3", "in Oslo", "silent"])
    finished = scored(*where)
    assert [(r.instance_id, r.status, r.score) for r in finished.results] == [
        ("q0", "scored", 1.0),
        ("q1", "scored", 0.6),
        ("q2", "scored", 1.0),
        ("q3", "unscored", None),
        ("q4", "missing", 0.0),
    ]
    assert finished.results[3].fault == "NO_VERDICT"
    assert finished.summary.counts["unscored"] == 1
    assert (finished.summary.chosen.low, finished.summary.chosen.high) == (pytest.approx(2.6 / 5), pytest.approx(3.6 / 5))
    assert all("Question" in prompt_of(body) for body in server.asked)
    assert len(server.asked) == 4


def test_pages_show_what_the_judge_was_asked_and_replied(serve: Serve, folders: Make, tmp_path: Path) -> None:
    """Prompt, raw reply and reading of each verdict stand in the page, of a composite too; of a hidden suite nothing does."""
    server = serve(lambda _, number: '{"score": 4, "why": "<b>near</b>"}' if number % 2 else "I cannot <say>.")
    mixed = {"func": "composite", "parameters": {"gold": "Oslo", "parts": [{"llm_judge": {}}, {"f1": {}}], "on_missing": "zero"}}
    where = folders(section(server.base_url, repeats=2), [judged(gold="Paris or so"), mixed], ["a city", "a town"])
    record = record_of_run(scored(*where))
    page = b"".join(encode(run_document(record), ".html")).decode()
    assert page.count("Prompts and replies of the judge") >= 1
    assert all(text in page for text in ("Question 0?", "Paris or so", "&lt;b&gt;near&lt;/b&gt;", "Read as m: 0.8 (4)"))
    assert "<b>near" not in page
    account = record.results[0].details["judge"]
    assert [len(account[key]) for key in ("verdicts", "transcript")] == [2, 2]
    assert "asked" in account["transcript"][0]
    assert "asked" not in account["transcript"][1]
    hidden = b"".join(encode(run_document(redact_record(record, "class")), ".html")).decode()
    assert not any(text in hidden for text in ("Question 0?", "Paris or so", "near"))


def test_two_checks_of_one_instance(serve: Serve, folders: Make) -> None:
    """The better of a judge and a plain check counts; where the plain one is right, a silent judge does not matter."""
    server = serve(by_grade)
    match = {"func": "string_match", "parameters": {"gold": "Oslo"}}
    where = folders(section(server.base_url), [[match, judged()]] * 3, ["a3", "Oslo silent", "silent"])
    assert [(r.status, r.score) for r in scored(*where).results] == [("scored", 0.6), ("scored", 1.0), ("unscored", None)]


@pytest.mark.parametrize(
    ("judge", "says"),
    [
        (None, "judge.model is not set"),
        ({"model": "m"}, "judge.base_url is not set"),
        ({"model": "m", "base_url": "http://127.0.0.1:9/v1", "key_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE"),
    ],
)
def test_no_judge_is_unscored_with_a_hint(folders: Make, judge: dict[str, Any] | None, says: str) -> None:
    """Without a judge nothing crashes: the instance is unscored, the reason names the key, and the others are scored."""
    match = {"func": "string_match", "parameters": {"gold": "Oslo"}}
    finished = scored(*folders(judge, [judged(), match], ["a5", "Oslo"]))
    first, second = finished.results
    assert (first.status, first.score, first.fault) == ("unscored", None, "NO_JUDGE")
    assert says in first.reason
    assert "suite.yaml" in first.details["hint"]
    assert second.score == 1


def test_a_judge_that_is_down_leaves_all_unscored(serve: Serve, folders: Make) -> None:
    """HTTP 500 for ever: every judged instance is unscored with the reason, none is 0."""
    server = serve(lambda *_: Say(status=500))
    finished = scored(*folders(section(server.base_url, retries=1), [judged()] * 12, [f"a{n}" for n in range(12)]))
    assert {(r.status, r.score, r.fault) for r in finished.results} == {("unscored", None, "JUDGE_FAILED")}
    assert (finished.summary.chosen.low, finished.summary.chosen.high) == (0, 1)


def test_a_cache_that_cannot_be_written_is_named(serve: Serve, folders: Make, tmp_path: Path) -> None:
    """The run has its scores; a warning counts the calls that the next one makes again, and there is none with a good cache."""
    (tmp_path / "blocked").write_text("")
    for cache, expected in (("blocked", 1), ("good", 0)):
        where = folders(section(serve(by_grade).base_url, cache=str(tmp_path / cache)), [judged()] * 2, ["a1", "a2"])
        finished = scored(*where)
        assert [result.score for result in finished.results] == [0.2, 0.4]
        warnings = [text for text in finished.warnings if "judge.cache" in text]
        says = f"judge.cache {tmp_path / cache} cannot be written: another run makes 2 calls of this one again"
        assert warnings == [says] * expected


def test_merged_shards_have_what_the_judge_cost_in_all(serve: Serve, folders: Make, tmp_path: Path) -> None:
    """Calls, tokens and costs are added up; the served models are those of all shards."""

    def served(body: dict[str, Any], _: int) -> Say:
        model = "m-1" if "a1" in prompt_of(body) else "m-2"
        return Say(raw=json.dumps({**json.loads(completion(by_grade(body, 0))), "model": model}).encode())

    server = serve(served)
    prices = {"price_per_1k_prompt": 0.1, "price_per_1k_completion": 0.3, "cache": ""}
    where = folders(section(server.base_url, **prices), [judged()] * 3, ["a2", "a1", "a3"])
    for shard in (None, Shard(1, 2), Shard(2, 2)):
        scored(*where, out=tmp_path / f"run-{shard.i if shard else 0}", shard=shard)
    merge([tmp_path / "run-1", tmp_path / "run-2"], tmp_path / "merged")
    whole, merged = (json.loads((tmp_path / name / "run.json").read_text())["judge"] for name in ("run-0", "merged"))
    assert sorted(merged.pop("served")) == sorted(whole.pop("served")) == ["m-1", "m-2"]
    assert merged == whole
    assert (whole["calls"], whole["cost"] > 0) == (3, True)


def test_a_second_run_asks_only_what_had_no_verdict_and_the_key_is_nowhere(serve: Serve, folders: Make, tmp_path: Path, capfd: Any) -> None:
    """The same run again has the same scores and asks the silent one alone; no file holds the key, and nothing printed does."""
    server = serve(by_grade)
    where = folders(section(server.base_url), [judged()] * 4, ["a1", "a2", "a3", "silent"])
    first, second = (scored(*where) for _ in range(2))
    assert [r.score for r in first.results] == [r.score for r in second.results] == [0.2, 0.4, 0.6, None]
    assert len(server.asked) == 5 + 2
    assert all("silent" in prompt_of(body) for body in server.asked[5:])
    assert set(server.keys) == {f"Bearer {KEY}"}
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {FILE, "results.jsonl", "run.json"} <= {file.name for file in files}
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []
    assert KEY not in "".join(capfd.readouterr())


def test_a_killed_run_goes_on_from_the_cache(serve: Serve, folders: Make, tmp_path: Path) -> None:
    """After a SIGKILL in the middle, the next run asks each question that had no reply, and no other one again."""
    three_answered = threading.Event()

    def rule(body: dict[str, Any], n: int) -> Say | str:
        if n <= 3:
            return by_grade(body, n)
        three_answered.set()
        return Say(hang=True)

    server = serve(rule)
    submission, gold = folders(section(server.base_url, concurrency=1), [judged()] * 6, [f"a{n % 5 + 1}" for n in range(6)])
    code = (
        "from pathlib import Path\nfrom evalsuite.runs.run_options import RunOptions as Options; from evalsuite.runs.scoring import run\n"
        f"run(Path({str(submission)!r}), Path({str(gold)!r}), Options(isolation='none'))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with started([sys.executable, "-c", code], cwd=tmp_path, env=environment) as process:
        assert three_answered.wait(60)
        process.send_signal(signal.SIGKILL)
        process.wait()
    answered = [prompt_of(body) for body in server.asked[:3]]
    server.rule = by_grade
    asked_before = len(server.asked)
    finished = scored(submission, gold)
    assert [r.score for r in finished.results] == [0.2, 0.4, 0.6, 0.8, 1.0, 0.2]
    again = [prompt_of(body) for body in server.asked[asked_before:]]
    assert len(again) == 3
    assert set(again).isdisjoint(answered)


def test_a_resumed_run_says_what_all_its_tries_cost(serve: Serve, folders: Make, tmp_path: Path) -> None:
    """The first try meets an outage half way; the second asks the rest, and calls, tokens and cost are those of both."""
    down = [True]

    def say(body: dict[str, Any], _: int) -> Say | str:
        return Say(status=500) if down[0] and "Question 2?" in prompt_of(body) else '{"score": 5}'

    server = serve(say)
    priced = section(server.base_url, price_per_1k_prompt=1, cache="", retries=0)
    where = folders(priced, [judged() for _ in range(3)], ["a", "b", "c"])
    first = scored(*where, out=tmp_path / "kept")
    assert first.judge is not None
    assert (first.judge["calls"], first.judge["cost"]) == (2, 0.2)
    with (tmp_path / "kept" / "judge_calls.jsonl").open("ab") as file:
        file.write(b"\n[100")  # killed while it noted one
    down[0] = False
    second = scored(*where, resume=tmp_path / "kept")
    assert second.judge is not None
    assert (second.judge["calls"], second.judge["prompt_tokens"], second.judge["cost"]) == (3, 300, 0.3)
    assert scored(*where, out=tmp_path / "kept").judge == second.judge, "another run in the same folder begins at nothing"


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_judge_test_shows_the_wire_and_no_key(serve: Serve, folders: Make, capsys: pytest.CaptureFixture[str], provider: str) -> None:
    """Address, body, reply, time, reading and price stand there; where nobody answers it is exit 4 and says why."""
    reply = {"content": [{"type": "text", "text": '{"score": 5}'}], "usage": {"input_tokens": 100, "output_tokens": 10}, "model": "m-2026"}
    server = serve(lambda *_: '{"score": 5}' if provider == "openai" else Say(raw=json.dumps(reply).encode()))
    folders(section(server.base_url, provider=provider, price_per_1k_prompt=1, models=["m", "n"]), [judged()], ["a"])
    assert main(["judge", "test"]) == 0
    shown = capsys.readouterr().out
    for part in (
        f"POST {server.base_url}",
        "Who wrote Faust?",
        "HTTP 200 after",
        "reads   1: the judge says 5 of 5",
        "cost 0.1",
        "m, n can judge",
    ):
        assert part in shown
    assert KEY not in shown
    server.close()
    assert main(["judge", "test", "--json"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert [one["model"] for one in found] == ["m", "n"]
    assert "refused" in found[0]["fault"]


def test_judge_test_without_a_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that says a judge is exit 2 with a hint; an unknown key has file, line and what was meant."""
    assert main(["judge", "test"]) == 2
    assert "no judge is configured" in capsys.readouterr().err
    (tmp_path / "judge.yaml").write_text("model: m\nprovidr: azure\n")
    assert main(["judge", "test"]) == 2
    told = capsys.readouterr().err
    assert "judge.yaml:2: unknown key 'providr'" in told
    assert "did you mean 'provider'?" in told
    (tmp_path / "judge.yaml").unlink()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/suite.yaml").write_text("judge: {modle: m}\n")
    assert main(["judge", "test", "--gold", "other"]) == 2
    assert "suite.yaml:1: unknown key" in capsys.readouterr().err
