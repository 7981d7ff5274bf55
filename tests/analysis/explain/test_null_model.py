"""No cause is proved for unrelated wrong values, drawn as people make them."""

import random
from collections.abc import Callable

import pytest

from evalsuite.analysis.causes import ERROR_HYPOTHESES
from evalsuite.analysis.causes.values import Pair
from evalsuite.analysis.explain.instance_evidence import explain
from evalsuite.analysis.explain.search import FITS, PROVED, chance_of
from evalsuite.core.types import Table
from evalsuite.scorers import SCORERS

pytestmark = pytest.mark.usefixtures("shared_fork_server")

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


@pytest.mark.parametrize(
    ("law", "gold", "answer", "standing"),
    [
        ("times 100", "48215.75", "4821575", "proved"),
        ("times 100", "12.57", "1257", "fits"),
        ("rounding", "48215.7532", "48215.75", "proved"),
        ("rounding", "3.14159", "3.14", "fits"),
        ("rounding", "3.7", "4", "none"),
        ("off by one", "4711", "4712", "fits"),
        ("unit", "24", "1", "none"),
        ("rounding", "0.301", "0", "none"),
    ],
)
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
