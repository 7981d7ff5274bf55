"""Mistakes of real SQL are named, each by its cause, and nothing is proved to be another."""

from tests.explain.planted_queries import Wrong, dropped_filters, planted


def _told(case: Wrong, found: dict[str, object]) -> tuple[object, ...]:
    return case.right, case.wrong, found["causes"]


def test_mistakes_of_queries_are_named() -> None:
    """At least 9 of 10 of 70 wrong queries are named by cause, with column and value in one line, and no other cause is proved."""
    cases = [(case, case.explained()) for case in planted()]
    unnamed = [_told(case, found) for case, found in cases if not case.is_named(found)]
    assert len(cases) >= 70
    assert [_told(case, found) for case, found in cases if found["proved"] and not case.is_named(found)] == []
    assert len(unnamed) <= 0.1 * len(cases), unnamed


def test_filters_that_were_dropped_are_named() -> None:
    """Of 100 random WHERE clauses that were left out 90 are named as the condition or one that is equal, with its columns."""
    cases = [(case, case.explained()) for case in dropped_filters(100)]
    unnamed = [_told(case, found) for case, found in cases if not case.is_named(found)]
    assert len(unnamed) <= 10, unnamed
