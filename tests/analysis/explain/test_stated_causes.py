"""Sentences of `explain` are executed as assertions, those of its table of causes planted; unrelated values have no cause."""

import csv
import json
import random
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from evalsuite.analysis.causes import ERROR_HYPOTHESES
from evalsuite.analysis.causes.predicates import bound
from evalsuite.analysis.causes.table_alignment import Alignment, TablePair
from evalsuite.analysis.causes.values import Pair
from evalsuite.analysis.explain.instance_evidence import explain
from evalsuite.analysis.explain.search import FITS, PROVED, chance_of
from evalsuite.cli import main
from evalsuite.core.types import Table
from evalsuite.scorers import SCORERS
from tests.analysis.explain import stated_rows, stated_values
from tests.analysis.explain.planted_tables import Case, cases, edited_small, table, unrelated, unrelated_small
from tests.analysis.explain.stated_rows import Sides, plain, rows_of, same
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("shared_fork_server")

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
    # Of dates in another form those count that are written so, also where strict reads one alone: 17/07/2024 can be one day only.
    is_form = match["sentence"].startswith("dates are written in another form")
    wrong = [(a, b) for a, b in pairs if not same(a, b) or (is_form and a != b)]
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
    (cause,) = found["causes"]
    n_wrong = sum(a != b for a, b in zip(days, turned, strict=True))
    assert (cause["name"], cause["proved"]) == ("day and month", True)
    assert cause["says"] == f"days and months are exchanged wherever the day is at most 12, in {n_wrong} of 60 cells of gold column 2"
    fewer = table(("id", "day"), list(zip(ids, turned[:30] + days[30:], strict=True)))
    found = explained(Case(("day and month",), gold, fewer))
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
    assert [cause["name"] for cause in twice["causes"]] == ["rows duplicated"]
    more = explained(Case((), table(header, rows[n_more:]), table(header, rows)))
    assert "total rows" not in [cause["name"] for cause in more["causes"]]


@pytest.mark.parametrize(("edge", "next_edge", "up", "expected"), [
    (11.0, 9.0, True, ("more than '10'", 10.0, False)), (9.0, 11.0, False, ("less than '10'", 10.0, False)),
    (1100.0, 999.5, True, ("more than '1000'", 1000.0, False)), (0.31, 0.24, True, ("more than '0.3'", 0.3, False)),
    (20.0, 11.0, True, ("at least '20'", 20.0, True)), (5.0, None, False, ("at most '5'", 5.0, True)),
    (7e13, 2.05e13, True, ("more than '21000000000000'", 2.1e13, False)),
])  # fmt: skip
def test_a_bound_has_the_fewest_digits(edge: float, next_edge: float | None, up: bool, expected: tuple[str, float, bool]) -> None:
    """Of all numbers between the last value within and the first beyond it, else the last within itself."""
    assert bound(edge, next_edge, f"'{edge:g}'", up=up, dated=False) == expected


Rows = list[list[str]]
HEADER = ["id", "region", "name", "day", "amount"]
ROWS = [
    [
        str(1000 + n),
        "NESW"[n * 7 % 4 if n % 9 else 3],
        f"Town {chr(65 + n % 26)}{n}",
        (date(2024, 1, 1) + timedelta(days=n * 3)).isoformat(),
        f"{(n * n * 31 % 1790) + n / 7:.2f}",
    ]
    for n in range(1, 121)
]


def _cells(k: int, change: Callable[[str], str], some: slice = slice(None)) -> Rows:
    rows = [list(row) for row in ROWS]
    for row in rows[some]:
        row[k] = change(row[k])
    return rows


def _day(change: Callable[[date], str]) -> Rows:
    return _cells(3, lambda cell: change(date.fromisoformat(cell)))


def _exchanged() -> Rows:
    return [[a, c, b, d, e] if i < 12 else [a, b, c, d, e] for i, (a, b, c, d, e) in enumerate(ROWS)]


# By what the first column of the table says: gold, the answer and its header.
PLANTS: dict[str, tuple[Rows, Rows, Sequence[str]]] = {
    "nothing": (ROWS, ROWS, HEADER),
    "rows in another order": (ROWS, ROWS[::-1], HEADER),
    "columns in another order": (ROWS, [row[::-1] for row in ROWS], HEADER[::-1]),
    "region W left out": (ROWS, [row for row in ROWS if row[1] != "W"], HEADER),
    "region W too many": ([row for row in ROWS if row[1] != "W"], ROWS, HEADER),
    "amount x 100": (ROWS, _cells(4, lambda cell: f"{float(cell) * 100:.0f}"), HEADER),
    "amount x 1.08, to cents": (ROWS, _cells(4, lambda cell: f"{float(cell) * 1.08:.2f}"), HEADER),
    "amount to whole numbers": (ROWS, _cells(4, lambda cell: f"{float(cell):.0f}"), HEADER),
    "the sign turned": (ROWS, _cells(4, lambda cell: f"-{cell}"), HEADER),
    "one amount wrong": (ROWS, _cells(4, lambda cell: f"{float(cell) + 34.4:.2f}", slice(50, 51)), HEADER),
    "9 amounts emptied": (ROWS, _cells(4, lambda _: "", slice(20, 29)), HEADER),
    "7 rows twice": (ROWS, [*ROWS, *ROWS[40:47]], HEADER),
    "every row twice": (ROWS, [*ROWS, *ROWS], HEADER),
    "names in capitals": (ROWS, _cells(2, str.upper), HEADER),
    "dates as DD.MM.YYYY": (ROWS, _day(lambda day: f"{day:%d.%m.%Y}"), HEADER),
    "dates one day late": (ROWS, _day(lambda day: (day + timedelta(days=1)).isoformat()), HEADER),
    "days and months exchanged": (ROWS, _day(lambda day: f"{day:%Y-%d-%m}" if day.day <= 12 else day.isoformat()), HEADER),
    "a total row at the end": (ROWS, [*ROWS, ["", "", "Total", "", f"{sum(float(row[4]) for row in ROWS):.2f}"]], HEADER),
    "region called area": (ROWS, ROWS, ["id", "area", *HEADER[2:]]),
    "day left out": (ROWS, [[*row[:3], row[4]] for row in ROWS], [*HEADER[:3], "amount"]),
    "region and name exchanged in 12 rows": (ROWS, _exchanged(), HEADER),
    "the first 100 rows": (ROWS, ROWS[:100], HEADER),
}


def _documented() -> dict[str, str]:
    """By what was done the cause that the table of the docs names."""
    lines = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8").partition("## Compared with datacompy")[2].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return {row[0]: row[2] for row in rows[2:]}


def test_every_documented_cause_is_planted() -> None:
    """The rows of the docs and the plants here are the same."""
    assert sorted(_documented()) == sorted(PLANTS)


@pytest.mark.parametrize("done", PLANTS)
def test_a_documented_cause_is_named(done: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cause has the standing of the docs, and its text has the words and numbers that stand there, with those of these rows."""
    gold, answer, header = PLANTS[done]
    for name, rows, head in (("gold.csv", gold, HEADER), ("answer.csv", answer, header)):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, *rows])
    code = main(["explain", str(tmp_path / "gold.csv"), str(tmp_path / "answer.csv"), "--key", "id", "--json"])
    found, told = json.loads(capsys.readouterr().out), _documented()[done]
    if told.startswith("equal"):
        assert (code, found["causes"]) == (0, [])
        return
    standing, _, words = told.partition(": ")
    assert (code, found["standing"]) == (1, "" if told == "no cause" else standing)
    text = " ".join(cause["text"] for cause in found["causes"])
    for word in re.findall(r"[a-zA-Z]{3,}|'[^']*'", words):
        assert word in text, (word, text)


Draw = Callable[[random.Random], str]
KINDS: dict[str, tuple[Draw, int]] = {
    "one cell of 1 to 20": (lambda random_: str(random_.randint(1, 20)), 1),
    "round hundreds": (lambda random_: str(100 * random_.randint(1, 99)), 1),
    "two counts of five": (lambda random_: str(random_.randint(1, 40)), 2),
    "decimals": (lambda random_: f"{random_.uniform(0, 100):.2f}", 1),
    "years": (lambda random_: str(random_.randint(1990, 2025)), 1),
    "number texts": (lambda random_: f"{random_.randint(1, 900)} {random_.choice(['km', 'EUR', 'pieces'])}", 1),
    "three amounts": (lambda random_: f"{random_.uniform(1, 30):.1f}", 3),
    "days": (lambda random_: f"2024-0{random_.randint(1, 9)}-{random_.randint(10, 28)}", 1),
    "times": (lambda random_: f"2024-03-1{random_.randint(0, 9)} {random_.randint(10, 23)}:{random_.choice(['00', '30'])}:00", 2),
}


tries = pytest.mark.parametrize("tries", [25, pytest.param(400, marks=pytest.mark.slow)])


@tries
@pytest.mark.parametrize("kind", KINDS)
def test_unrelated_cells_are_not_proved(kind: str, tries: int) -> None:
    """Of columns of five with one or two cells of another draw at most 1 % are proved to have a cause."""
    draw, n_wrong = KINDS[kind]
    random_ = random.Random(kind)
    proved = []
    for _ in range(tries):
        gold = [draw(random_) for _ in range(5)]
        answer = list(gold)
        for row in range(n_wrong):
            while answer[row] == gold[row]:
                answer[row] = draw(random_)
        sides = [Table(header=("name", "n"), columns=(list("abcde"), cells), n_rows=5) for cells in (gold, answer)]
        found = explain(SCORERS.load("table_match"), sides[1], {"gold": sides[0]}, rules="strict")
        assert all(cause["proved"] == (cause["standing"] == "proved") for cause in found["causes"])
        if found["proved"]:
            proved.append((gold[:n_wrong], answer[:n_wrong], found["cause"]))
    assert len(proved) <= 0.01 * tries, proved


@tries
def test_unrelated_numbers_in_texts_are_not_proved(tries: int) -> None:
    """The same of texts with one number, held to one gold."""
    random_ = random.Random(5)
    proved = []
    for _ in range(tries):
        gold, answer = (random_.choice([str(random_.randint(1, 5000)), f"{random_.uniform(0, 90):.1f}"]) for _ in range(2))
        found = explain(SCORERS.load("number_match"), f"It was {answer}.", {"gold": float(gold)}, rules="strict")
        if found["proved"]:
            proved.append((gold, answer, found["cause"]))
    assert len(proved) <= 0.01 * tries, proved


@pytest.mark.parametrize(("law", "gold", "answer", "standing"), [
    ("times 100", "48215.75", "4821575", "proved"), ("times 100", "12.57", "1257", "fits"),
    ("rounding", "48215.7532", "48215.75", "proved"), ("rounding", "3.14159", "3.14", "fits"), ("rounding", "3.7", "4", "none"),
    ("off by one", "4711", "4712", "fits"), ("unit", "24", "1", "none"), ("rounding", "0.301", "0", "none"),
])  # fmt: skip
def test_one_value(law: str, gold: str, answer: str, standing: str) -> None:
    """One value of many digits proves, of few digits it fits, and what fits every value is not named."""
    hypothesis = next(one for one in ERROR_HYPOTHESES if one.name == law)
    chance = chance_of(hypothesis, [Pair(gold, answer)], ())
    assert ("proved" if chance < PROVED else "fits" if chance <= FITS else "none") == standing
    # What is drawn for it is the same each time.
    assert standing != "fits" or chance == chance_of(hypothesis, [Pair(gold, answer)], ())


def test_miles_are_not_proved_against_kilometres() -> None:
    """Gold 100 and the answer 200 have nothing to do with each other."""
    found = explain(SCORERS.load("number_match"), "200", {"gold": 100}, rules="strict")
    assert (found["proved"], found["causes"]) == (False, [])


def test_what_puts_gold_in_only_fits() -> None:
    """Rows that are missing are named, and their condition, but no answer without gold's rows can prove it."""
    rows = [(str(n), "W" if n % 3 else "E") for n in range(30)]
    gold = Table(header=("id", "region"), columns=tuple(map(list, zip(*rows, strict=True))), n_rows=30)
    kept = [row for row in rows if row[1] == "E"]
    answer = Table(header=("id", "region"), columns=tuple(map(list, zip(*kept, strict=True))), n_rows=len(kept))
    found = explain(SCORERS.load("table_match"), answer, {"gold": gold, "ignore_order": True}, rules="strict")
    (cause,) = found["causes"]
    assert (found["proved"], cause["name"], cause["standing"]) == (False, "missing rows", "fits")
    assert "'region' is 'W'" in cause["text"]
    assert "all 20 rows" in cause["text"]
