"""Replies as models write them, and what they are worth; 1,240 of 17 styles with the verdict a person reads. What says nothing is None."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.scorers import SCORERS
from evalsuite.scorers.judge import Judge, Question
from evalsuite.scorers.judge.judge import QA_CHOICES, SUMMARY_CHOICES
from evalsuite.scorers.judge.replies import UNFINISHED, Reading, choice_reading, claims_reading, read_results, score_reading, yes_no_reading
from evalsuite.scorers.judge.transport import Reply
from evalsuite.scorers.metrics.llm_judge import _unless_repeated
from tests.properties import LETTERS, examples
from tests.scorers.judge.conftest import Serve
from tests.scorers.judge.server import Say, completion, prompt_of

REPLIES = [json.loads(line) for line in Path(__file__).with_name("replies.jsonl").read_text(encoding="utf-8").splitlines()]
STYLES = list(dict.fromkeys(row["style"] for row in REPLIES))
llm_judge = SCORERS.load("llm_judge").function


def reading_of(row: Mapping[str, Any]) -> Reading:
    """The reading that a row's question has."""
    if row["asks"] == "score":
        return score_reading(scale=tuple(row["scale"]))
    return yes_no_reading() if row["asks"] == "yes_no" else choice_reading(SUMMARY_CHOICES)


def value_of(row: Mapping[str, Any]) -> Any:
    """The value in [0, 1] that a row's verdict is worth, None for `none`."""
    words = {"none": None, "yes": 1.0, "no": 0.0, "1": 1.0, "0": 0.0, "tie": 0.5}
    return pytest.approx(row["verdict"] / row["scale"][1]) if isinstance(row["verdict"], int | float) else words[row["verdict"]]


@pytest.mark.parametrize("style", STYLES)
def test_every_reply_is_read_as_a_person_reads_it(style: str) -> None:
    """The reading gives the verdict of the row, and where there is none it says why."""
    rows = [row for row in REPLIES if row["style"] == style]
    read = [(row, reading_of(row)(row["reply"])) for row in rows]
    assert [(row["reply"], verdict) for row, verdict in read if verdict.value != value_of(row)] == []
    assert [row["reply"] for row, verdict in read if not verdict.is_read and not verdict.why] == []


def test_the_corpus_is_as_large_as_it_says() -> None:
    """At least 400 different replies of 12 styles, a third of them with a verdict and a third without."""
    n_none = sum(row["verdict"] == "none" for row in REPLIES)
    assert len({(row["asks"], str(row.get("scale")), row["reply"]) for row in REPLIES}) == len(REPLIES) == 1240
    assert len(STYLES) == 17
    assert len(REPLIES) / 3 < n_none < len(REPLIES) * 2 / 3


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS", "content_filter", "refusal"])
def test_a_reply_that_was_cut_or_stopped_is_never_a_verdict(finish: str) -> None:
    """No reply of the corpus is read where the provider says that it was ended before its end."""
    questions = [(Question(messages=(), read=reading_of(row)), row["reply"]) for row in REPLIES]
    assert [text for question, text in questions if question.verdict(Reply(text=text, finish=finish)).value is not None] == []


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


SCORES = [
    ('{"score": 4}', 0.8, "plain JSON"),
    ('```json\n{"score": 4}\n```', 0.8, "fenced"),
    ('Sure! Here you go:\n{"score": 4, "reason": "fine"}\nHope that helps (5 stars).', 0.8, "chatter with another number"),
    ('{"Score": "4"}', 0.8, "capital key, number as text"),
    ('{"result": {"score": 2}}', 0.4, "nested"),
    ('{"score": 4, "parts": {"score": 1}}', 0.8, "a part's score is not the score"),
    ('{"score": 4.5}', 0.9, "a half"),
    ('{"score": 9}', None, "off the scale"),
    ('{"score": 0}', None, "below the scale"),
    ('{"score": null} I would say 4', None, "an explicit null is a verdict of none"),
    ('{"score": true}', None, "a bool is no number"),
    ('{"score": NaN}', None, "no number"),
    ('{"score": 2} or rather {"score": 4}', None, "two verdicts"),
    ('{"score": 4} {"score": 4}', 0.8, "the same verdict twice"),
    ('The answer demands {"score": 5}, I give {"score": 1}', None, "a quoted demand beside the verdict"),
    ("{'score': 4}", 0.8, "Python quotes"),
    ("[[3]]", 0.6, "brackets"),
    ("I rate 1 to 5. Rating: [[3]]", 0.6, "brackets go first"),
    ("Score: 2\n\n[[3]]", 0.6, "brackets are final, a label is not"),
    ("Score: 3 / 5", 0.6, "label"),
    ("**Rating:** 4", 0.8, "label in bold"),
    ("Score: 10", None, "label off the scale"),
    ("4/5", 0.8, "of five"),
    ("4.5 out of 5", 0.9, "of five in words"),
    ("4/10", None, "of another scale"),
    ("4", 0.8, "lone"),
    ("**5**", 1.0, "lone in bold"),
    ("v2.0 deserves 4", 0.8, "a version is no number"),
    ("On a scale of 1-5, I would rate it 4", 0.8, "the scale it names is no second number"),
    ("4 4 5", None, "two different numbers"),
    ("-3", None, "negative"),
    ("five", None, "in words"),
    ("½", None, "a fraction sign"),
    ("", None, "empty"),
    ("{" * 50_000, None, "many braces"),
    ("Score: 1.<think>x</think>2</think>Score: 4", 0.8, "thoughts that began in the prompt"),
    ("On a scale of 1 to 5, and for clarity on a scale of 1 to 5: Score: 4", 0.8, "its scale twice"),
    ("Score: 4. Correction: it was 1999.", 0.8, "a correction off the scale"),
    ("4\n\nClarity score: 2", 0.8, "a number alone before that of a part"),
    ("It is good.\n4", 0.8, "a later line"),
    ("It is good.\n4 because of the dates", None, "a later line with more"),
    ("I rate it 4 of 5.", 0.8, "of the scale in a sentence"),
    ("I rate it 4, because it is fine unless the dates are wrong.", None, "a condition soon after"),
    ("I rate it 4, bb " + "bb " * 11 + "if so", None, "a condition 40 characters after"),
    ("I rate it 4, bbb " + "bb " * 11 + "if so", 0.8, "a condition 41 characters after"),
    ("if" + " bb" * 65 + " b the score: 4", None, "a condition 200 characters before"),
    ("if" + " bb" * 66 + " the score: 4", 0.8, "a condition 201 characters before"),
    ("if" + " bb" * 60 + " on a scale of 1 to 5 the score: 4", 0.8, "a condition 208 characters before, with a scale between"),
    ("It is good. Score (1-5): 4", 0.8, "a label with its scale"),
    ("{'a': 1, 'score': 4, 'b': 2}!", 0.8, "Python quotes and a sign"),
    ("Score: 4.\n" + "a" * 19_990, 0.8, "20,000 characters"),
    ("Score: 4.\n" + "a" * 19_991, None, "20,001 characters"),
    ('{"a":' * 20_000, None, "deep"),
    ("{" * 199 + '{"score": 4}', 0.8, "the 200th brace"),
    ("{" * 200 + '{"score": 4}', None, "the 201st brace"),
    # A score of the whole comes before those of parts; two of a kind that differ are none.
    ("Clarity score: 2\nScore: 4", 0.8, "Clarity score: 2\nScore: 4"),
    ("My score: 4\nClarity score: 2", 0.8, "My score: 4\nClarity score: 2"),
    ("The score: 4. Style score: 2.", 0.8, "The score: 4. Style score: 2."),
    ("Clarity score: 2", 0.4, "Clarity score: 2"),
    ("Clarity score: 2\nAccuracy score: 4", None, "Clarity score: 2\nAccuracy score: 4"),
    ("Score: 3\nMy score: 4", None, "Score: 3\nMy score: 4"),
    ("Score: 3\nFinal score: 4", 0.8, "Score: 3\nFinal score: 4"),
    ("I rate it 4.", 0.8, "I rate it 4."),
    ("I rate it 4. It is not perfect", 0.8, "I rate it 4. It is not perfect"),
    ("I rate it 4 unless the dates are wrong.", None, "I rate it 4 unless the dates are wrong."),
    ("Unless the dates are wrong I rate it 4.", None, "Unless the dates are wrong I rate it 4."),
    ("I give it a 4. Clarity score: 2", 0.8, "I give it a 4. Clarity score: 2"),
    ("It deserves a 4. Clarity score: 2", 0.8, "It deserves a 4. Clarity score: 2"),
    ("4/5. Clarity score: 2", 0.8, "4/5. Clarity score: 2"),
    ("A solid 4/5. Clarity score: 2", None, "A solid 4/5. Clarity score: 2"),
]


@pytest.mark.parametrize(("text", "value", "why"), SCORES, ids=[why for *_, why in SCORES])
def test_scores(text: str, value: float | None, why: str) -> None:
    """A score of 1 to 5 by 5, from any usual form; None where the reply is silent, contradictory or off the scale."""
    assert score_reading()(text).value == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize(("reply", "said", "value"), [
    ("Answer: no", ("Paris", "Lyon"), 0.0), ("Answer: no", ("Yes, it is.", "yes"), 0.0), ("Answer: no", ("no", "yes"), None),
    ("**The answer is:** No.", ("Nobody knows", "No, never."), None), ('```json\n{"answer": "No."}\n```', ("no",), None),
    ('{"answer": "no"}', ("yes", "Paris"), 0.0), ('They differ. {"answer": "no"}', ("no",), 0.0),
    ('{"answer": "no", "reason": "the years differ"}', ("no",), 0.0), ("Answer: no, they differ", ("no",), 0.0), ("no", ("no",), 0.0),
    ('Answer: {"verdict": "no"}', ("no",), 0.0), ("Final answer: no", ("no",), 0.0),
])  # fmt: skip
def test_an_answer_that_may_be_the_rated_one(reply: str, said: tuple[str, ...], value: float | None) -> None:
    """`Answer: no` alone is no verdict where the reference or the rated answer says no: it may only repeat that."""
    verdict = _unless_repeated(yes_no_reading(), said)(reply)
    assert (verdict.value, verdict.why) == (value, "its no may be that of the answer which it judges" if value is None else "")


CHOICES = [
    ('{"verdict": 1}', 1.0),
    ('{"verdict": "0"}', 0.0),
    ('{"verdict": 1.0}', 1.0),
    ("1.", 1.0),
    ('"1"', 1.0),
    ("10", None),
    ("-1", None),
]


CLAIMS = [
    ('{"claims": [{"claim": "a", "supported": true}], "verdict": "supported"}', 1.0),
    ('{"claims": [{"claim": "a", "supported": true}, {"claim": "b", "supported": false}], "verdict": "hallucination"}', 0.0),
    ('{"claims": [{"claim": "a", "supported": false}]}', 0.0),
    ('{"claims": [{"claim": "a", "supported": false}], "verdict": "supported"}', None),
    ('{"claims": [], "verdict": "supported"}', 1.0),
    ('{"claims": [], "verdict": "No hallucination"}', 1.0),
    ('{"claims": [], "verdict": "not supported"}', 0.0),
    ('{"claims": []}', None),
    ('{"claims": [], "verdict": "looks fine"}', None),
    ('{"claims": [{"claim": "a", "supported": "yes"}]}', None),
    ('{"claims": ["a"]}', None),
    ('{"claims": "none"}', None),
    ('{"claims": [{"claim": "a", "supported": true}], "verdict": "partially supported"}', None),
    ('{"claims": [{"claim": "a", "supported": true}], "verdict": "unsupported"}', None),
    ('{"claims": [{"claim": "a", "supported": true}], "verdict": null}', None),
    ('{"claims": [{"claim": "a", "supported": true}], "verdict": "supported", "verdict": "hallucination"}', None),
    ('{"claims": [{"claim": "a", "supported": true}], "verdict": "supported"} But b is not supported.', None),
    ('{"claims": [{"claim": "a", "supported": true, "verdict": "fine"}, {"claim": "b", "supported": false, "verdict": "bad"}]}', 0.0),
    ('{"claims": [{"claim": "a", "supported": true}]} {"verdict": "hallucination"}', None),
    ('{"claims": [{"claim": "a", "supported": true}]} There are no unsupported claims.', 1.0),
    ('{"claims": [{"claim": "a", "supported": true}]} Nothing is hallucinated, but b is not supported or hallucinated.', None),
    ('{"claims": [{"claim": "a", "supported": true}]} Not all claims are supported.', None),
    ("all is well", None),
]


@pytest.mark.parametrize(("reading", "rows"), [
    (choice_reading(QA_CHOICES), [*CHOICES, ('{"verdict": "NA"}', None), ("NA", None), ('{"verdict": true}', None), ("tie", None)]),
    (choice_reading(SUMMARY_CHOICES), [*CHOICES, ("Tie", 0.5), ('{"verdict": "tie"}', 0.5), ("tied", None), ("Response 1", None)]),
    (claims_reading(), CLAIMS),
], ids=["questions", "summaries", "claims"])  # fmt: skip
def test_choices_and_claims(reading: Reading, rows: list[tuple[str, float | None]]) -> None:
    """0, 1, tie in any dress; 1 where all claims are supported. A list that is none or contradicts the verdict, and all else, is None."""
    assert [(text, reading(text).value) for text, _ in rows] == rows


def test_results() -> None:
    """Each entry of a list is 1.0, 0.0 or None; no list is None."""
    found = read_results('```JSON\n{"results": [1, 0, "1", " TRUE ", false, 2, null, "x", 0.0]}\n```')
    assert found == [1, 0, 1, 1, 0, None, None, None, 0]
    assert read_results('{"results": 1}') is None
    assert read_results("nothing") is None


@examples(150)
@given(text=st.one_of(st.text(LETTERS), st.text(alphabet='{}[]":, 0123456789./scoreyn', max_size=60)))
def test_no_text_raises_or_leaves_the_range(text: str) -> None:
    """Whatever a reply holds, every reading gives a value in [0, 1] or None."""
    readings = (score_reading(), score_reading(from_zero=True), yes_no_reading(), choice_reading(SUMMARY_CHOICES), claims_reading())
    for read in readings:
        value = read(text).value
        assert value is None or 0 <= value <= 1


@pytest.mark.parametrize(("reading", "text", "value", "label"), [
    (score_reading(variant="issue_default"), "a 3, not 12 or 5", 0.6, "3"),
    (score_reading(variant="issue_default"), "0 or 6 or 15", 0.0, ""),
    (score_reading(variant="issue_default", extractor=r"= (\d)"), "5 = 4", 0.8, "4"),
    (score_reading(extractor=r"\d(?=!)"), "5 4!", 0.8, "4"),
    (score_reading(extractor=r"x"), "5", None, ""),
    (score_reading(extractor=lambda text: len(text)), "abc", 0.6, "3"),
    (score_reading(extractor=lambda text: text == ""), "abc", None, ""),
    (score_reading(extractor=lambda _: [3]), "abc", None, ""),
    (score_reading(scale=(0, 10), from_zero=True), '{"score": 4}', 0.4, "4"),
    (score_reading(scale=(1, 5), from_zero=True), '{"score": 4}', 0.75, "4"),
    (score_reading(scale=(1, 5), from_zero=True), '{"score": 1}', 0.0, "1"),
    (yes_no_reading(variant="issue_literal"), " yes\n", 1.0, ""),
    (yes_no_reading(variant="issue_literal"), "Yes.", 0.0, ""),
    (choice_reading(QA_CHOICES, upstream_length=1), "1, because", 1.0, "correct"),
    (choice_reading(QA_CHOICES, upstream_length=1), " 1", -1.0, "invalid"),
    (choice_reading(QA_CHOICES, upstream_length=2), "na", -1.0, "invalid"),
    (choice_reading(QA_CHOICES, upstream_length=0), "0", 0.0, "incorrect"),
    (choice_reading(QA_CHOICES, upstream_length=0), "0 ", -1.0, "invalid"),
    (choice_reading(QA_CHOICES), "0.", 0.0, "incorrect"),
])  # fmt: skip
def test_readings_of_other_tools(reading: Reading, text: str, value: float | None, label: str) -> None:
    """What the code of the issue and Arthur Bench make of a reply, an extractor of one's own, and scales from their low end."""
    found = reading(text)
    assert (found.value, found.label) == (pytest.approx(value), label)


def test_thoughts_are_removed_from_every_reply() -> None:
    """Thoughts that end change no verdict of the corpus, whatever they say; thoughts that do not end leave none."""
    for row in REPLIES:
        read, value = reading_of(row), value_of(row)
        assert read(f'<think>Score: 1. No. {{"score": 2}} or 5?</think>\n{row["reply"]}').value == value, row
        assert read(f"<think>{row['reply'].replace('</think>', '').replace('</thinking>', '')}").value is None, row
    for read in (score_reading(), yes_no_reading(), choice_reading(QA_CHOICES), claims_reading()):
        assert (read("<think>1 yes").value, read("<think>1 yes").why) == (None, UNFINISHED)


@pytest.mark.parametrize(("reply", "first", "says", "asks"), [
    ("score", "2 → 5", "it names more than one number", "Reply with the number from 1 to 5 alone."),
    ("score", "There are 3 errors in the reference", "it states no score", "Reply with the number from 1 to 5 alone."),
    ("score", '{"score": 9}', "its number 9 is not on the scale", "Reply with the number from 1 to 5 alone."),
    ("score", "", "it states no score", "Your first reply was empty."),
    ("yes_no", "Yes, but the date is wrong, so no.", "it says both yes and no", "Reply with yes or no alone."),
])  # fmt: skip
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
