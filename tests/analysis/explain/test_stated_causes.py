"""Every sentence of `explain` on planted causes is turned back into an assertion and executed; unrelated tables have no cause."""

import re
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from evalsuite.analysis.causes.predicates import bound
from evalsuite.analysis.causes.table_alignment import Alignment, TablePair
from evalsuite.analysis.explain.instance_evidence import explain
from evalsuite.core.types import Table
from evalsuite.scorers import SCORERS
from tests.analysis.explain import stated_rows, stated_values
from tests.analysis.explain.planted_tables import Case, cases, edited_small, table, unrelated, unrelated_small
from tests.analysis.explain.stated_rows import Sides, plain, rows_of, same

_OF_CELLS = re.compile(r"(?P<sentence>.*), in (?P<k>\d+) of (?P<n>\d+) cells? of gold column (?P<j>\d+)", re.DOTALL)
_PLACE = re.compile(r"(?:(?P<factor>gold's .*?); )?column (?P<c>\d+) '.*', first at row .*", re.DOTALL)


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
    if place is None or sides.answer.n_rows == 0:
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


@pytest.mark.parametrize("n", [30, pytest.param(2000, marks=pytest.mark.slow)])
def test_what_is_said_of_planted_causes_holds(n: int) -> None:
    """Of random planted single causes and pairs no sentence is false, and most are named."""
    said = [(case, found) for case in cases(n, n) if (found := explained(case)) is not None]
    wrong = [(case.planted, sentences) for case, found in said if (sentences := false_sentences(case, found))]
    assert wrong == []
    assert len(said) >= 0.9 * n
    assert sum(bool(found["causes"]) for _, found in said) >= 0.6 * n


@pytest.mark.parametrize("n", [30, pytest.param(2000, marks=pytest.mark.slow)])
def test_unrelated_tables_have_no_cause(n: int) -> None:
    """Of pairs of tables that have nothing to do with each other at most 0.5 % have a cause named, and none is proved."""
    said = [(case, found) for case in unrelated(n, n) if (found := explained(case)) is not None]
    assert [found["causes"] for _, found in said if found["proved"]] == []
    named = [found["causes"] for _, found in said if found["causes"]]
    assert len(named) <= 0.005 * n, named


@pytest.mark.parametrize(
    ("n", "seed", "most"),
    [(80, 200, 2), *(pytest.param(4000, seed, 20, marks=pytest.mark.slow) for seed in (4000, "second", "third"))],
)
def test_unrelated_tables_over_the_same_few_values_have_no_cause(n: int, seed: object, most: int) -> None:
    """Of 4000 small tables of regions, ranks, years and counts at most 0.5 % are named, and none is proved.

    Of 80 at most 2 are named: if 0.5 % of all are, more than that are in 1 of 100 such samples.
    """
    said = [found for case in unrelated_small(n, seed) if (found := explained(case)) is not None]
    assert [found["causes"] for found in said if found["proved"]] == []
    named = [found["causes"] for found in said if found["causes"]]
    assert len(named) <= most, named


@pytest.mark.parametrize("n", [40, pytest.param(4000, marks=pytest.mark.slow)])
def test_edits_without_a_meaning_are_not_proved(n: int) -> None:
    """A row more or less, or another cell, in a small table of constants and repeated values proves no cause."""
    said = [(case, found) for case in edited_small(n, n) if (found := explained(case)) is not None]
    assert [(case, found["causes"]) for case, found in said if found["proved"]] == []


def test_days_and_months_are_exchanged_where_they_can_be() -> None:
    """Of dates read in the other order only those with a day up to 12 are wrong; the sentence says so, and that all of them are."""
    days = [f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}" for n in range(60)]
    turned = [day if int(day[8:]) > 12 else f"{day[:5]}{day[8:]}-{day[5:7]}" for day in days]
    ids = [str(4000 + n) for n in range(60)]
    gold, some = (table(("id", "day"), list(zip(ids, cells, strict=True))) for cells in (days, turned))
    found = explained(Case(("day and month",), gold, some))
    assert found is not None
    (cause,) = found["causes"]
    n_wrong = sum(a != b for a, b in zip(days, turned, strict=True))
    assert (cause["name"], cause["proved"]) == ("day and month", True)
    assert cause["says"] == f"days and months are exchanged wherever the day is at most 12, in {n_wrong} of 60 cells of gold column 2"
    fewer = table(("id", "day"), list(zip(ids, turned[:30] + days[30:], strict=True)))
    found = explained(Case(("day and month",), gold, fewer))
    assert found is not None
    assert "wherever" not in found["causes"][0]["says"]


@pytest.mark.parametrize("n_rows", [(0, 0), (0, 3), (3, 0)])
def test_tables_without_rows_are_explained(n_rows: tuple[int, int]) -> None:
    """A side without rows has no keys to pair rows by, and ends no search."""
    gold, answer = (table(("id", "amount"), [(str(n), f"{n}.5") for n in range(rows)] or []) for rows in n_rows)
    assert aligned(gold, answer) is not None
    found = explained(Case((), gold, answer))
    assert found is None or false_sentences(Case((), gold, answer), found) == []


def aligned(gold: Table, answer: Table) -> Alignment | None:
    """The two side by side."""
    return TablePair(answer, gold, (), ordered=False).align("strict")


@pytest.mark.parametrize("seed", range(12))
def test_ordinary_rows_too_many_are_no_totals(seed: int) -> None:
    """Rows that stand twice are repeated; others like them are no totals, though their year is the largest."""
    random_ = Random(seed)
    years = random_.choice([["2023"], ["2021", "2022", "2023"]])
    made = {
        (str(random_.randint(1, random_.choice([20, 300000]))), f"{random_.random():.4f}", random_.choice(years), str(n % 12 + 1))
        for n in range(random_.choice([5, 7, 12, 25]))
    }
    rows = sorted(made)
    random_.shuffle(rows)
    header, n_more = ("count", "share", "year", "month"), random_.randint(1, 3)
    twice = explained(Case((), table(header, rows), table(header, [*rows, *random_.choice([rows, rows[:n_more]])])))
    assert twice is not None
    assert [cause["name"] for cause in twice["causes"]] == ["rows duplicated"]
    more = explained(Case((), table(header, rows[n_more:]), table(header, rows)))
    assert more is not None
    assert "total rows" not in [cause["name"] for cause in more["causes"]]


@pytest.mark.parametrize(
    ("edge", "next_edge", "up", "expected"),
    [
        (11.0, 9.0, True, ("more than '10'", 10.0, False)),
        (9.0, 11.0, False, ("less than '10'", 10.0, False)),
        (1100.0, 999.5, True, ("more than '1000'", 1000.0, False)),
        (0.31, 0.24, True, ("more than '0.3'", 0.3, False)),
        (20.0, 11.0, True, ("at least '20'", 20.0, True)),
        (5.0, None, False, ("at most '5'", 5.0, True)),
        (7e13, 2.05e13, True, ("more than '21000000000000'", 2.1e13, False)),
    ],
)
def test_a_bound_has_the_fewest_digits(edge: float, next_edge: float | None, up: bool, expected: tuple[str, float, bool]) -> None:
    """Of all numbers between the last value within and the first beyond it, else the last within itself."""
    assert bound(edge, next_edge, f"'{edge:g}'", up=up, dated=False) == expected
