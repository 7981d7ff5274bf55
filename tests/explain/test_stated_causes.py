"""Every sentence of `explain` is turned back into an assertion and executed on tables with planted causes; unrelated tables have none."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from evalsuite.explain.instance_evidence import explain
from evalsuite.scorers import SCORERS
from tests.explain import stated_rows, stated_values
from tests.explain.planted_tables import Case, cases, unrelated
from tests.explain.stated_rows import Sides, plain, rows_of, same

_OF_CELLS = re.compile(r"(?P<sentence>.*), in (?P<k>\d+) of (?P<n>\d+) cells? of gold column (?P<j>\d+)", re.DOTALL)
_PLACE = re.compile(
    r"(?:(?P<factor>gold's .*?); )?column (?P<c>\d+) (?P<name>'.*'), first at row (?P<row>\d+): gold (?P<gold>.*), handed in (?P<answer>.*)",
    re.DOTALL,
)


def explained(case: Case) -> dict[str, Any] | None:
    """What is said of a case under the strict rules, without tolerance; None where the answer is right."""
    scorer = SCORERS.load("table_match")
    parameters = {"gold": case.gold, "ignore_order": "order" not in case.planted, "rel_tol": 1e-9, "abs_tol": 0.0}
    if scorer.score(case.answer, **parameters).strict == 1:
        return None
    return explain(scorer, case.answer, parameters, rules="strict")


def false_sentences(case: Case, found: dict[str, Any]) -> list[str]:
    """The sentences that do not hold for the case, and those that cannot be executed."""
    sides, wrong = Sides(case.gold, case.answer), []
    for cause in found["causes"]:
        match = _OF_CELLS.fullmatch(cause["says"])
        try:
            right = _of_values(match, cause["where"], sides) if match is not None else stated_rows.holds(cause["text"], sides)
        except LookupError as error:
            wrong.append(f"cannot be executed: {cause['text']} ({error})")
            continue
        if not right:
            wrong.append(cause["text"])
    return wrong


def _of_values(match: re.Match[str], where: str, sides: Sides) -> bool:
    place = _PLACE.fullmatch(where)
    if place is None:
        raise LookupError(where)
    j, k = int(match["j"]) - 1, int(place["c"]) - 1
    # Of rows that are repeated the first.
    answers = dict(list(zip(sides.answers, rows_of(sides.answer), strict=True))[::-1]) if "id" in sides.answer.header else {}
    pairs: list[tuple[str | None, str | None]] = []
    for i, (name, row) in enumerate(zip(sides.golds, rows_of(sides.gold), strict=True)):
        own = answers.get(name) if answers else rows_of(sides.answer)[i]
        pairs += [(row[j], own[k])] if own is not None else []
    wrong = [(a, b) for a, b in pairs if not same(a, b)]
    sentence = match["sentence"] + (f" [{place['factor']}]" if place["factor"] else "")
    counted = len(wrong) == int(match["k"]) and sides.gold.n_rows == int(match["n"])
    return counted and stated_values.holds(sentence, wrong) and _scope_holds(sentence, pairs)


def _scope_holds(sentence: str, pairs: Sequence[tuple[str | None, str | None]]) -> bool:
    if "wherever the day is at most 12" not in sentence:
        return True
    days = [(plain(a), same(a, b)) for a, b in pairs if a is not None]
    return all(right is (day.day > 12 or day.day == day.month) for day, right in days)


@pytest.mark.parametrize("n", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_what_is_said_of_planted_causes_holds(n: int) -> None:
    """Of random planted single causes and pairs no sentence is false, and most are named."""
    said = [(case, found) for case in cases(n, n) if (found := explained(case)) is not None]
    wrong = [(case.planted, sentences) for case, found in said if (sentences := false_sentences(case, found))]
    assert wrong == []
    assert len(said) >= 0.9 * n
    assert sum(bool(found["causes"]) for _, found in said) >= 0.6 * n


@pytest.mark.parametrize("n", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_unrelated_tables_have_no_cause(n: int) -> None:
    """Of pairs of tables that have nothing to do with each other at most 0.5 % have a cause named, and none is proved."""
    said = [(case, found) for case in unrelated(n, n) if (found := explained(case)) is not None]
    assert [found["causes"] for _, found in said if found["proved"]] == []
    named = [found["causes"] for _, found in said if found["causes"]]
    assert len(named) <= 0.005 * n, named
