"""Queries, ids and orders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.reports.viewer.library import ID, BadQueryError, SuiteView, check_id, creation_time, safe_id
from evalsuite.reports.viewer.pages import RESULT_FILTERS
from evalsuite.reports.viewer.views import find_results, read_query
from tests.properties import LETTERS
from tests.reports import made


def test_empty_fields_of_a_form_mean_the_default() -> None:
    """A form sends all its fields; those left empty say nothing."""
    found = read_query([("q", ""), ("page", ""), ("sort", ""), ("scorer", ""), ("scorer", "a")], sorts=("name",), default="-name",
                       filters=("q", "scorer"))  # fmt: skip
    assert (found.page, found.page_size, found.sort, found.last("q"), found.many("scorer")) == (1, 10, "-name", "", ("a",))


def test_a_misspelt_key_has_a_hint() -> None:
    """The nearest known key is named."""
    with pytest.raises(BadQueryError) as raised:
        read_query([("pagesize", "3")])
    assert "page_size" in raised.value.hint


@pytest.mark.parametrize("text", ["", ".", "..", "a/b", "a..b", "a b", "ä", "-x", "x" * 201, "a\x00"])
def test_what_is_no_id(text: str) -> None:
    """Nothing that could be a path or a header passes."""
    with pytest.raises(BadQueryError):
        check_id(text)


@given(st.text(LETTERS, max_size=80))
def test_any_name_becomes_an_id(text: str) -> None:
    """Whatever a folder is called, its id can stand in an address, and an id stays as it is."""
    found = safe_id(text)
    assert check_id(found) == found
    assert safe_id(found) == found
    assert found == text or not ID.fullmatch(text) or ".." in text


def test_times_come_from_names_that_have_one() -> None:
    """A run folder's name begins with its time in UTC; other names and impossible times have none."""
    assert creation_time("20261121-102205-example") == "2026-11-21T10:22:05+00:00"
    assert creation_time("20261341-102205-example") is None
    assert creation_time("mine") is None


def test_results_by_a_field_that_is_not_whole() -> None:
    """Of JSON records those remain in which the field of that path is wrong somewhere; several fields are joined by or."""
    whole, broken = {"precision": 1.0, "recall": 1.0, "f1": 1.0}, {"precision": 1.0, "recall": 0.5, "f1": 2 / 3}
    rows = {"a": (whole, broken), "b": (broken, whole), "c": (whole, whole)}
    results = [
        made.result(name, 0.5, details={"fields": [{"path": "city", **city}, {"path": "lines.sum", **lines}]})
        for name, (city, lines) in rows.items()
    ]
    suite = SuiteView(id="s", name="s", kind="gold", description="", scoring_method={}, created_at="", updated_at="", runs=(), scorers=())

    def found(*fields: str) -> list[str]:
        query = read_query([("field", field) for field in fields], filters=RESULT_FILTERS)
        return [one.instance_id for one in find_results(suite, made.record(*results), query).items]

    assert (found("city"), found("lines.sum"), found("city", "lines.sum"), found("no"), found()) == (["b"], ["a"], ["a", "b"], [], [*"abc"])
