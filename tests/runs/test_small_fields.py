"""Fields that are kept in another form than they are given: nobody sees it."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core import types
from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Answer, Check, GoldInstance, Result
from tests.properties import LETTERS

PLACES = (
    *("", ":", "gold:1", "gold/a_eval.jsonl:120000", "C:\\gold:7", "a:b:12", "gold:0", "gold:007", "gold:٣", "gold:", ":5", "gold:1 "),
    f"g:{10**30}",
)


@pytest.mark.parametrize("place", PLACES)
def test_a_place_comes_back_as_it_was(place: str) -> None:
    """Whatever text is given as a place is what is read, compared, copied and pickled."""
    check = Check(scorer="string_match", parameters={}, where=place)
    instance = GoldInstance(instance_id="a", checks=(check,), where=place)
    answer = Answer(instance_id="a", answer_type="answer", value="x", where=place)
    for one in (check, instance, answer):
        assert one.where == place
        assert pickle.loads(pickle.dumps(one)) == one == replace(one)
        assert repr(place) in repr(one)
        assert replace(one, where=f"{place}:3").where == f"{place}:3" != one.where


@given(st.text(LETTERS, max_size=5), st.text(alphabet="0123456789:+-_ x", max_size=14))
def test_any_place_comes_back_as_it_was(file: str, line: str) -> None:
    """So it is with texts that nearly are places."""
    assert Answer(instance_id="a", answer_type="answer", value="x", where=f"{file}:{line}").where == f"{file}:{line}"


def test_places_in_very_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more files than are numbered the places are kept as they are."""
    monkeypatch.setattr(types, "_MAX_FILES", len(types.PLACES) + 2)
    answers = [Answer(instance_id="a", answer_type="answer", value="x", where=f"many-{at}:{at + 1}") for at in range(9)]
    assert [answer.where for answer in answers] == [f"many-{at}:{at + 1}" for at in range(9)]
    assert len(types.PLACES) == types._MAX_FILES


@pytest.mark.parametrize("details", [b"{}", b'{"a": 1}', b'{"k": 0, "a": 1}', {}, {"a": 1, "k": 0}])
def test_a_detail_more(details: Any) -> None:
    """Whether they are text or not; text that has not got the key stays text."""
    one = Result(instance_id="a", status="scored", score=1, official=1, strict=1, scorer="x", reason="", fault=None, details=details)
    more = one.with_detail("k", [2])
    assert more.details == {**one.details, "k": [2]}
    assert (more.details_text is not None) == (isinstance(details, bytes) and b'"k"' not in details)
    assert (one.detail("k"), more.detail("k"), more.detail("none")) == (one.details.get("k"), [2], None)
