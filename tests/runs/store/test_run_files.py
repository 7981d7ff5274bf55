"""Lines of results: what is read is what was written, and what no run wrote is refused, be it from a file or from a worker."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.types import Result
from evalsuite.runs.run_files import reported_result, result_of, whole_line

# With half of a surrogate pair, as a path in JSON may hold it.
texts = st.text(st.characters(codec="utf-8") | st.just("\ud800"))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 60), 1 << 60) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def result(details: Any = None, **more: Any) -> Result:
    """A result with these details."""
    numbers = {"score": 1.0, "official": 0.5, "strict": None}
    return Result(instance_id="a", status="scored", scorer="s", fault=None, **{**numbers, "reason": "ü", "details": details or {}, **more})


def line(details: str) -> str:
    """The line of a result whose details are this text."""
    return whole_line(result()).replace('"details": {}', f'"details": {details}')


@given(st.dictionaries(texts, values, max_size=4), st.dictionaries(texts, texts, max_size=2), texts)
def test_a_line_comes_back(details: dict[str, Any], digests: dict[str, str], reason: str) -> None:
    """All of a result, and its line again byte for byte; one more detail stands in it as if it had always been there."""
    written = whole_line(result(details, digests=digests, reason=reason))
    back = result_of(written)
    assert whole_line(back) == written
    assert back.reason == reason
    expected = json.loads(written)
    for key, found in (("details", back.details), ("digests", dict(back.digests)), ("score", back.score), ("strict", back.strict)):
        assert repr(found) == repr(expected.get(key, {})), key
    more = back.with_detail("notes", ["ä"])
    assert repr(dict(more.details)) == repr({**expected["details"], "notes": ["ä"]})
    assert repr(result_of(whole_line(more)).details) == repr(more.details)
    # A run that was killed when its rows were whole goes on with rows that have their notes.
    again = result_of(whole_line(more)).with_detail("notes", ["b"])
    assert whole_line(again).count('"notes": ') == whole_line(more).count('"notes": ')
    assert repr(again.details) == repr({**more.details, "notes": ["b"]})


def test_a_detail_without_reading_the_others() -> None:
    """A key that stands only inside of another value is none of the details; one that is there is found."""
    back = result_of(line('{"reasons": {"flip": "x"}, "raw": 2}'))
    assert back.details_text is not None
    assert [back.detail(key) for key in ("flip", "raw", "units")] == [None, 2, None]
    assert replace(back, seconds=1.0).details == back.details


CRAFTED = ["[" * 100_000, '{"a":' * 100_000, "[1]", "3", "null", '{"a": 1', '{"a": "\x01"}', '{"a": "\\ud8"}', '{}, "more": 1']


@pytest.mark.parametrize("details", CRAFTED, ids=[text[:12] for text in CRAFTED])
def test_what_no_worker_says(details: str) -> None:
    """A worker that says it has said nothing that can be meant; so with bytes that are no text, and the name of another instance."""
    assert reported_result(line("{}").encode(), "a") == result_of(line("{}"))
    assert reported_result(line(details).encode(), "a") is None
    assert reported_result(line('{"a": "?"}').encode().replace(b"?", b"\xff"), "a") is None
    assert reported_result(line("{}").encode(), "b") is None
