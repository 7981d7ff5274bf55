"""What was asked is not asked again: the cache, the cassette, and many processes at once."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evalsuite.core.disk_cache import FILE
from evalsuite.core.errors import FaultError
from evalsuite.reports.record import judge_words
from evalsuite.scorers import SCORERS
from evalsuite.scorers.judge import Judge, Settings
from evalsuite.scorers.judge.client import Account
from evalsuite.scorers.judge.transport import RecordedReplies, Reply, Request
from tests.scorers.judge.conftest import Serve

Make = Callable[..., Judge]
llm_judge = SCORERS.load("llm_judge").function
BASE = Request(model="m", messages=({"role": "user", "content": "hi"},), parameters={"temperature": 0.1}, prompt="p@1")


def test_replies_of_earlier_versions_are_found() -> None:
    """The folder of cached replies is that of 0.2.0."""
    assert Settings(model="m").cache == ".evalsuite/judge"


@pytest.mark.parametrize("broken", [None, [], {"text": 1}, {"text": "x", "n_prompt_tokens": "many"}])
def test_a_broken_entry_is_asked_again(broken: object, serve: Serve, judge_at: Make, tmp_path: Path) -> None:
    """What is no reply is as good as none."""
    server = serve(lambda *_: '{"score": 3}')
    llm_judge("x", judge_at(server), gold="y")
    with sqlite3.connect(tmp_path / "cache" / FILE) as connection:
        assert connection.execute("UPDATE memo SET value = ?", [json.dumps(broken)]).rowcount == 1
    connection.close()
    assert llm_judge("x", judge_at(server), gold="y").official == 0.6
    assert len(server.asked) == 2


def test_a_cache_that_cannot_be_written_breaks_nothing(serve: Serve, judge_at: Make, tmp_path: Path) -> None:
    """With a file where the folder should be, the judge is asked and the score is there."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    assert llm_judge("x", judge_at(serve(lambda *_: "5"), cache=str(blocked)), gold="y").official == 1


def test_a_cassette_replays_with_the_server_down(serve: Serve, judge_at: Make, tmp_path: Path) -> None:
    """What was recorded gives the same scores without a server, and at another address; the line holds no address."""
    server = serve(lambda body, _: '{"score": 5}' if "good" in str(body) else '{"score": 2}')
    tape = str(tmp_path / "tape.jsonl")
    recorded = judge_at(server, cassette=tape, cassette_mode="record", cache="")
    before = [llm_judge(text, recorded, gold="y").official for text in ("good", "bad")]
    server.close()
    replay = Judge(replace(recorded.settings, cassette_mode="replay", base_url="", key_env=""))
    assert [llm_judge(text, replay, gold="y").official for text in ("good", "bad")] == before == [1.0, 0.4]
    assert "127.0.0.1" not in Path(tape).read_text()
    with pytest.raises(FaultError, match="no reply"):
        llm_judge("not recorded", replay, gold="y")


def test_recording_again_asks_only_for_what_is_new(serve: Serve, judge_at: Make, tmp_path: Path) -> None:
    """A second recording adds the new request and leaves the old line as it is."""
    server = serve(lambda *_: '{"score": 5}')
    tape = tmp_path / "tape.jsonl"
    for texts in (("a",), ("a", "b")):
        judge = judge_at(server, cassette=str(tape), cassette_mode="record", cache="")
        for text in texts:
            llm_judge(text, judge, gold="y")
    assert len(server.asked) == 2
    assert len({json.loads(line)["key"] for line in tape.read_text().splitlines()}) == 2


def test_what_an_earlier_try_paid_for(tmp_path: Path) -> None:
    """The replies of a killed run in its ledger count, but for a line that it broke off; a known one is paid for no more."""
    ledger, settings = tmp_path / "ledger", Settings(models=("m", "n"), price_per_1k_completion=10 / 3)
    ledger.write_bytes(b"\n[100, 10]\n[50, 5]\n[7,")
    account, reply = Account(settings, ledger), Reply(text="", n_prompt_tokens=1, n_completion_tokens=2, served="m-2")
    for each in (reply, replace(reply, known=True, served="")):
        account.add(each)
    counts = {"models": ["m", "n"], "calls": 3, "prompt_tokens": 151, "completion_tokens": 17, "cost": 0.056666667}
    assert account.to_json() == {**counts, "served": ["m-2"], "known_replies": 1}
    assert Account(settings, ledger).to_json() == {**counts, "known_replies": 0}
    assert Account(Settings()).to_json()["cost"] is None
    # What an endpoint does not count is said to be missing in the cost.
    account.add(Reply(text=""))
    assert account.to_json() == {**counts, "calls": 4, "served": ["m-2"], "known_replies": 1, "uncounted_replies": 1}
    assert judge_words(account.to_json()).endswith("4 calls, 1 replies known, 151 + 17 tokens, cost 0.05667, 1 without token counts")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "the cassette tape.jsonl cannot be read: No such file or directory"),
        ("{", "line 1 of the cassette tape.jsonl is no recorded reply"),
        ('{"key": "k", "reply": {}}\n[]\n', "line 2 of the cassette tape.jsonl is no recorded reply"),
        ('{"key": "k", "reply": {}}\n\n{"key": 1}', "line 2 of the cassette tape.jsonl is no recorded reply"),
    ],
)
def test_a_cassette_that_cannot_be_read_is_a_fault(content: str | None, words: str, tmp_path: Path) -> None:
    """A missing or broken file is named, with the line, by its name and not its path."""
    tape = tmp_path / "tape.jsonl"
    if content is not None:
        tape.write_text(content)
    with pytest.raises(FaultError) as raised:
        RecordedReplies(tape).get(BASE)
    assert words in raised.value.fault.detail
    assert str(tmp_path) not in raised.value.fault.detail


def test_a_cassette_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    """A reply that cannot be recorded is not used: the cassette is named, with the system's reason."""
    (tmp_path / "file").touch()
    with pytest.raises(FaultError, match=r"the cassette tape.jsonl cannot be written: ") as raised:
        RecordedReplies(tmp_path / "file" / "tape.jsonl", "record").put(BASE, Reply(text="x"))
    assert raised.value.fault.code == "JUDGE_FAILED"
