"""Strict's own examples, word for word: cells by every door, tables with labels, numbers and texts in answers."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from evalsuite.core.types import Score, Table
from evalsuite.scorers import SCORERS
from tests.conftest import ROOT

CELLS = """
12345678.90|12346900.15|0
20230115.0|20231231.0|0
20230115.0|20230115|1
1234.5|1234.56|0
1234.56|1234.5601|1
1234.56|1234.6|0
2604.2362912|2604.24|1
2604.24|2604.2362912|1
2604.2362912|2604.23|0
12.5|12.4961|1
12.496|12.5|1
12.5|12.54|0
19.998|20|1
19.6|20|0
0.1249|0.12|1
0.1249|0.1|0
0.0463|0.05|0
0.0463|0.046|1
0.004|0|0
0|0.004|0
0.0|5.5e-17|1
0.3|0.30000000000000004|1
7|7.0000000000000009|1
7|7.004|0
12345678901|12345678902|0
12345678901|1.2345678901e10|1
12.349|12.34|0
1234567|1,234,567|1
12.5|$12.50|1
12.5|12.5%|0
"""
TABLES = """
city,min,max; Oslo,-9,21|city,min,max; Oslo,21,-9|0
city,min,max; Oslo,-9,21|city,max,min; Oslo,21,-9|1
city,min,max; Oslo,-9,21|a,b,c; Oslo,21,-9|1
city,min,max; Oslo,-9,21|city,lowest,highest; Oslo,-9,21|1
f0_,f1_; 1,2|f1_,f0_; 1,2|1
"""
NUMBERS = """
20230102|20230101|0
1234567|1234568|0
10000000|9999999|0
19.6|20|0
17.49|17|0
17.49|17.5|1
3.14159|3.1|1
3.14159|3|0
0.3333|0.33|1
1234.56|1,235|1
1234.56|1,230|0
2604.2362912|2,604.24|1
17.5|17.51|0
42|41.97|0
42|42.0|1
42|`4²`|0
42|④②|0
42|A-0 ... A-9499|0
3|3rd of 20|1
2|1st, 2nd or 3rd|0
4|GPT-4|0
7|At 10:30: 7|1
42|In 2019: 42|1
42|42 or 43|0
"""
TEXTS = """
10|-10|0
10|10,000|0
10|10:30|0
10|10/12/2020|0
10|10-12|0
10|10 000|0
10|10.0|1
10|$10.|1
10|**10**, 20|1
C|C++|0
C|C.|1
R|R&D|0
Paris|Paris's|1
Paris|anti-Paris|0
Paris|Par`U+200B`is|1
York (not New York)|New-York|0
York (not New York)|York|1
York (not Lima)|York, L`U+0336`ima|0
"""
SPEC = ROOT.parent / "shared" / "specs" / "strict.md"


def lines(block: str) -> list[list[str]]:
    """The fields of each line of a block."""
    return [line.split("|") for line in block.strip().splitlines()]


def strict(scorer: str, prediction: Any, **parameters: Any) -> float | None:
    """The strict value of a scorer; official is judged too."""
    score = SCORERS.load(scorer).function(prediction, **parameters)
    assert isinstance(score, Score)
    assert score.official in (0, 1)
    return score.strict


def table(header: str, *rows: str) -> Table:
    """A table of text as a reader hands it over."""
    names, cells = header.split(","), [row.split(",") for row in rows]
    return Table(header=tuple(names), columns=tuple(map(list, zip(*cells, strict=True))), n_rows=len(cells))


def column(*cells: Any, types: str | None = None) -> Table:
    """A table of one column; with a type, as a database holds it."""
    return Table(header=("v",), columns=(list(cells),), n_rows=len(cells), types=None if types is None else (types,))


@pytest.mark.parametrize("ignore_order", [False, True])
def test_cells(ignore_order: bool) -> None:
    """A cell alone, and among rows in any order."""
    for gold, predicted, expected in lines(CELLS):
        found = strict("table_match", column(predicted), gold=column(gold), ignore_order=ignore_order)
        among = strict("table_match", column("77", predicted, "0.5"), gold=column(gold, "0.5", "77"), ignore_order=True)
        assert found == among == int(expected), (gold, predicted)


@pytest.mark.parametrize(("gold", "predicted", "expected"), lines(TABLES))
@pytest.mark.parametrize("ignore_order", [False, True])
def test_tables(gold: str, predicted: str, expected: str, ignore_order: bool) -> None:
    """Labels that the values contradict, and labels that say nothing."""
    sides = [table(*text.split("; ")) for text in (gold, predicted)]
    assert strict("table_match", sides[1], gold=sides[0], ignore_order=ignore_order) == int(expected)
    typed = [{"t": Table(header=t.header, columns=t.columns, n_rows=1, types=("VARCHAR",) * len(t.header))} for t in sides]
    assert strict("duckdb_match", typed[1], gold=typed[0]) == int(expected)
    assert strict("table_match", sides[1], gold=sides[0], labels="ignore") == 1
    assert strict("tables_match", sides[1:], gold=sides[:1], ignore_orders=[ignore_order]) == int(expected)
    assert strict("tables_match", sides[1:], gold=sides[:1], labels="ignore") == 1
    assert strict("duckdb_match", typed[1], gold=typed[0], labels="ignore") == 1


def stated(section: str) -> Iterator[tuple[str, str, str]]:
    """The (gold, prediction, strict) of a section of the specification's `Pairs`."""
    text = SPEC.read_text(encoding="utf-8").partition("## Pairs")[2]
    part = re.split(r"^(Cells|Tables|Numbers|Texts)\b.*$", text, flags=re.MULTILINE)
    rows = part[part.index(section) + 1].strip().splitlines()[2:]
    for row in rows:
        cells = row.strip().strip("|").split("|")
        yield from ((a, b, c) for a, b, c in zip(cells[::3], cells[1::3], cells[2::3], strict=True))


@pytest.mark.parametrize(("section", "block"), [("Cells", CELLS), ("Tables", TABLES), ("Numbers", NUMBERS), ("Texts", TEXTS)])
def test_the_examples_are_the_specifications(section: str, block: str) -> None:
    """Where the specification is at hand, its examples are the ones above, each of them."""
    if not SPEC.is_file():
        pytest.skip("the specification is not here")
    assert [list(row) for row in stated(section)] == lines(block)
