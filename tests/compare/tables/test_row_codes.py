"""Rows in any order by codes: near numbers, odd forms and moved cells get the verdicts of the plain model, at a bounded cost."""

from random import Random

import pytest

from evalsuite.compare import strict_matching
from evalsuite.compare.official_tables import match_table
from evalsuite.compare.strict_columns import Terms
from evalsuite.compare.strict_tables import judge_table
from evalsuite.core.types import Table
from tests.models import strict_table

NEAR = (0.001, 0.0049, 0.5, 1.005, 2.004, 2.005, 2.006, 10.01, 10.015, 12.345, 12.3449, 12.35, 99.995, 100.0)
STEPS = (0, 0, 0, 1e-10, 5e-9, 0.004, 0.005, 0.006, -0.005)
WORDS = (
    *("a", "b", "A", " a", "a ", "NULL", "", "nan", "true", "True", "false", "NA", "#NA", "\\N", "inf", "-inf", "é", "Ł5"),
    *("city 5", "x1234"),
)
DATES = ("2023-01-05", "2023-01-05 00:00:00", "2023-01-05T00:00:00Z", "2023-01-06", "2023-13-05", "Jan 5, 2023", "5 Jan 2023", "01/02/2024")
ODD = (
    *("1,234", "1234", "1234.0", "$5", "5", "5.0", "007", "7", "(5)", "-5", "1e3", "1000", "0.0", "-0", "0", "1e-400", "12%", "4120,33"),
    *("4120.33", "9007199254740993", "9007199254740992.0", "9007199254740992", "USD 5", "5 EUR", "(1,250)", "-1250", "1.234"),
)
TERMS = (Terms(), Terms(), Terms(), Terms(abs_tol=0.01), Terms(rel_tol=0.001), Terms(abs_tol=1.0), Terms(rel_tol=0.0))


def cell(drawn: Random) -> str:
    """A number near others, a word, a date, or a number in an odd form."""
    form = drawn.randrange(4)
    if form == 0:
        return f"{drawn.choice(NEAR) + drawn.choice(STEPS):.{drawn.choice((1, 2, 3, 4, 12))}f}"
    return drawn.choice((WORDS, DATES, ODD)[form - 1])


def written_again(text: str, drawn: Random) -> str:
    """The cell with spaces, or the number rounded or off by float noise."""
    try:
        value = float(text)
    except ValueError:
        return drawn.choice((text, text, text + " ", text.upper()))
    if not abs(value) < 1e15:
        return text
    return drawn.choice((text, repr(value * (1 + drawn.choice((0, 1e-10, -3e-10, 2e-9)))), f"{value:.2f}", f"{value:.3f}", f"{value:.1f}"))


def case(seed: int, most_rows: int = 14) -> tuple[Table, Table, Terms]:
    """(gold, answer, terms): few different cells, rows moved, numbers written again, some cells exchanged or replaced."""
    drawn = Random(seed)
    n, width = drawn.randint(1, most_rows), drawn.randint(1, 3)
    gold = [[drawn.choice(pool) for _ in range(n)] for pool in ([cell(drawn) for _ in range(drawn.randint(1, 8))] for _ in range(width))]
    order, again = drawn.sample(range(n), n) if seed % 3 else range(n), drawn.random() < 0.7
    answer = [[written_again(column[row], drawn) if again else column[row] for row in order] for column in gold]
    if drawn.random() < 0.3:
        drawn.choice(answer)[drawn.randrange(n)] = cell(drawn)
    if drawn.random() < 0.2:
        column, (a, b) = drawn.choice(answer), (drawn.randrange(n), drawn.randrange(n))
        column[a], column[b] = column[b], column[a]
    if drawn.random() < 0.3:
        answer.append([cell(drawn) for _ in range(n)])
    places = drawn.sample(range(len(answer)), len(answer)) if drawn.random() < 0.3 else range(len(answer))
    names = [f"name {chr(97 + at)}" for at in range(len(answer))]
    tables = ((names[:width], gold), ([names[at] for at in places], [answer[at] for at in places]))
    a, b = (Table(header=tuple(header), columns=tuple(columns), n_rows=n, name="t.csv") for header, columns in tables)
    return a, b, drawn.choice(TERMS)


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 240))])
def test_codes_give_the_verdicts_of_every_pairing_tried(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 drawn tables a block, as lists and as packed text: the verdict of the plain model, and the same fact that decides it."""
    values = set()
    monkeypatch.setattr(strict_matching, "MOST_UNLIKE", 0)
    for seed in range(50 * block, 50 * (block + 1)):
        gold, answer, terms = case(seed, most_rows=5)
        found, ignore_order = [], seed % 3 > 0
        for most in (0, 1 << 60):
            monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", most)
            strict = judge_table(answer, gold, terms, ignore_order=ignore_order)
            found.append((strict.value, strict.reason.split()[0] if strict.value == 0 else ""))
        assert found[0] == found[1], (seed, gold.columns, answer.columns, terms)
        names = gold.header, answer.header
        model = strict_table.score_tables(gold.columns, answer.columns, not ignore_order, terms.abs_tol, terms.rel_tol, names=names)  # type: ignore[arg-type]
        assert found[0][0] == model, (seed, gold.columns, answer.columns, terms)
        values.add(found[1][0])
    assert values == {0.0, 1.0}


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 120))])
def test_packed_tables_get_the_official_counts_of_lists(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 drawn tables a block, both orders and all references: the same verdict, closest column and number of differing cells."""
    n_wrong = 0
    for seed in range(100 * block, 100 * (block + 1)):
        gold, answer, _ = case(seed)
        found, reference = [], ("original", "lite", "dbt")[seed % 7 % 3]
        for most in (0, 1 << 60):
            monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", most)
            score = match_table(answer, gold, ignore_order=seed % 2 > 0, reference=reference)  # type: ignore[arg-type]
            found.append((score.official, *(score.details.get(name) for name in ("gold_column", "predicted_column", "n_differ"))))
        assert found[0] == found[1], (seed, gold.columns, answer.columns, reference)
        n_wrong += found[0][0] == 0
    assert n_wrong > 15
