"""1,240 replies of judges in 17 styles, each with the verdict a person reads in it, or `none`."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evalsuite.scorers import SCORERS
from evalsuite.scorers.judge import Judge, Question
from evalsuite.scorers.judge.judge import SUMMARY_CHOICES
from evalsuite.scorers.judge.replies import Reading, choice_reading, score_reading, yes_no_reading
from evalsuite.scorers.judge.transport import Reply
from tests.scorers.judge.conftest import Serve
from tests.scorers.judge.server import Say, completion, prompt_of

REPLIES = [json.loads(line) for line in Path(__file__).with_name("replies.jsonl").read_text(encoding="utf-8").splitlines()]
STYLES = list(dict.fromkeys(row["style"] for row in REPLIES))
llm_judge, qa_correctness = (SCORERS.load(name).function for name in ("llm_judge", "qa_correctness"))


def reading_of(row: Mapping[str, Any]) -> Reading:
    """The reading that a row's question has."""
    if row["asks"] == "score":
        return score_reading(scale=tuple(row["scale"]))
    return yes_no_reading() if row["asks"] == "yes_no" else choice_reading(SUMMARY_CHOICES)


def value_of(row: Mapping[str, Any]) -> float | None:
    """The value in [0, 1] that a row's verdict is worth, None for `none`."""
    words = {"none": None, "yes": 1.0, "no": 0.0, "1": 1.0, "0": 0.0, "tie": 0.5}
    return row["verdict"] / row["scale"][1] if isinstance(row["verdict"], int | float) else words[row["verdict"]]


def as_expected(value: float | None) -> Any:
    """What a value is compared with."""
    return None if value is None else pytest.approx(value)


@pytest.mark.parametrize("style", STYLES)
def test_every_reply_is_read_as_a_person_reads_it(style: str) -> None:
    """The reading gives the verdict of the row, and where there is none it says why."""
    rows = [row for row in REPLIES if row["style"] == style]
    read = [(row, reading_of(row)(row["reply"])) for row in rows]
    assert [(row["reply"], verdict) for row, verdict in read if verdict.value != as_expected(value_of(row))] == []
    assert [row["reply"] for row, verdict in read if not verdict.is_read and not verdict.why] == []


def test_the_corpus_is_as_large_as_it_says() -> None:
    """At least 400 different replies of 12 styles, a third of them with a verdict and a third without."""
    n_none = sum(row["verdict"] == "none" for row in REPLIES)
    assert len({(row["asks"], str(row.get("scale")), row["reply"]) for row in REPLIES}) == len(REPLIES) == 1240
    assert len(STYLES) == 17
    assert len(REPLIES) / 3 < n_none < len(REPLIES) * 2 / 3


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Score: 4\n\nClarity score: 2", 0.8),
        ("Clarity score: 2\nScore: 4", 0.8),
        ("My score: 4\nClarity score: 2", 0.8),
        ("The score: 4. Style score: 2.", 0.8),
        ("Clarity score: 2", 0.4),
        ("Clarity score: 2\nAccuracy score: 4", None),
        ("Score: 3\nMy score: 4", None),
        ("Score: 3\nFinal score: 4", 0.8),
        ("I rate it 4.", 0.8),
        ("I rate it 4. It is not perfect", 0.8),
        ("I rate it 4 unless the dates are wrong.", None),
        ("Unless the dates are wrong I rate it 4.", None),
        ("I give it a 4. Clarity score: 2", 0.8),
        ("It deserves a 4. Clarity score: 2", 0.8),
        ("4/5. Clarity score: 2", 0.8),
        ("A solid 4/5. Clarity score: 2", None),
    ],
)
def test_a_score_of_the_whole_comes_before_those_of_parts(reply: str, verdict: float | None) -> None:
    """A final one before both; two of a kind that differ are none, and so is one with a condition in its sentence."""
    assert score_reading(scale=(1, 5))(reply).value == as_expected(verdict)


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS", "content_filter", "refusal"])
def test_a_reply_that_was_cut_or_stopped_is_never_a_verdict(finish: str) -> None:
    """No reply of the corpus is read where the provider says that it was ended before its end."""
    questions = [(Question(messages=(), read=reading_of(row)), row["reply"]) for row in REPLIES]
    assert [text for question, text in questions if question.verdict(Reply(text=text, finish=finish)).value is not None] == []


def test_thoughts_are_removed_from_every_reply() -> None:
    """Thoughts that end change no verdict of the corpus, whatever they say; thoughts that do not end leave none."""
    for row in REPLIES:
        read, value = reading_of(row), as_expected(value_of(row))
        assert read(f'<think>Score: 1. No. {{"score": 2}} or 5?</think>\n{row["reply"]}').value == value, row
        assert read(f"<think>{row['reply'].replace('</think>', '').replace('</thinking>', '')}").value is None, row


@pytest.mark.parametrize(
    ("reply", "first", "says", "asks"),
    [
        ("score", "2 → 5", "it names more than one number", "Reply with the number from 1 to 5 alone."),
        ("score", "There are 3 errors in the reference", "it states no score", "Reply with the number from 1 to 5 alone."),
        ("score", '{"score": 9}', "its number 9 is not on the scale", "Reply with the number from 1 to 5 alone."),
        ("score", "", "it states no score", "Your first reply was empty."),
        ("yes_no", "Yes, but the date is wrong, so no.", "it says both yes and no", "Reply with yes or no alone."),
    ],
)
def test_the_second_request_says_what_was_unreadable(
    serve: Serve, judge_at: Callable[..., Judge], reply: str, first: str, says: str, asks: str
) -> None:
    """It is the question with the first reply, why it could not be read and what is asked for; its verdict counts."""
    server = serve(lambda _, n: first if n == 1 else "4" if reply == "score" else "no")
    score = llm_judge("x", judge_at(server), gold="y", reply=reply)
    assert score.official == (0.8 if reply == "score" else 0)
    asked, again = (prompt_of(body) for body in server.asked)
    assert again.startswith(asked)
    assert first in again
    assert all(sentence in again[len(asked) :] for sentence in (says, asks))
    [row] = score.details["judge"]["transcript"]
    assert (row["unreadable"], row["why"], row["reply"]) == (first, says, "4" if reply == "score" else "no")


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_cut_reply_with_a_number_is_asked_for_once_more_and_then_unscored(
    serve: Serve, judge_at: Callable[..., Judge], finish: str
) -> None:
    """A clear number with `finish_reason` length is no verdict: two requests, no score, NO_VERDICT, and nothing of it is kept."""
    judge = judge_at(server := serve(lambda *_: Say(raw=completion('{"score": 5}', finish=finish))))
    score = llm_judge("x", judge, gold="y")
    assert (score.official, score.strict, score.fault and score.fault.code, len(server.asked)) == (None, None, "NO_VERDICT", 2)
    assert llm_judge("x", judge, gold="y").official is None
    assert len(server.asked) == 4


def test_a_cut_message_of_anthropic_is_no_verdict(serve: Serve, judge_at: Callable[..., Judge]) -> None:
    """`stop_reason` max_tokens is the same under another name."""
    said = {"content": [{"type": "text", "text": "4"}], "stop_reason": "max_tokens"}
    server = serve(lambda *_: Say(raw=json.dumps(said).encode()))
    score = llm_judge("x", judge_at(server, provider="anthropic"), gold="y")
    assert (score.official, "max_tokens" in score.reason, len(server.asked)) == (None, True, 2)


def test_na_is_an_answer_and_not_asked_for_again(serve: Serve, judge_at: Callable[..., Judge]) -> None:
    """A judge that says NA, as it may, is asked once; there is no score."""
    server = serve(lambda *_: '{"verdict": "NA"}')
    score = qa_correctness("x", judge_at(server), context="c", question="q")
    assert (score.official, score.reason, len(server.asked)) == (None, "NO_VERDICT: the judge says that it cannot decide", 1)
