"""Results as evaluators compare them: the fast search for an order of columns says what trying every permutation says."""

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.result_sets import Row, equal_as_bags
from evalsuite.core.errors import FaultError
from tests.properties import examples

CELLS = st.sampled_from([None, 0, 1, 2, 1.0, 2.5, "a", "A", "1", "", b"a"])


def by_every_permutation(gold: list[Row], predicted: list[Row], *, ordered: bool) -> bool:
    """Slow and obviously right: each order of columns in turn, after the evaluator's own look at rows with sorted cells."""
    if not gold and not predicted:
        return True
    if len(gold) != len(predicted) or len(gold[0]) != len(predicted[0]):
        return False
    own, others = ([sorted(row, key=lambda cell: str(cell) + str(type(cell))) for row in side] for side in (gold, predicted))
    if own != others if ordered else {tuple(row) for row in own} != {tuple(row) for row in others}:
        return False
    for order in permutations(range(len(gold[0]))):
        moved = [tuple(row[k] for k in order) for row in predicted]
        if gold == moved or (not ordered and Counter(gold) == Counter(moved)):
            return True
    return False


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Two results of up to 4 columns and 5 rows: the second is the first moved about, with a cell exchanged now and then."""
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.tuples(*[CELLS] * width), max_size=5))
    order, others = draw(st.permutations(range(width))), draw(st.permutations(rows))
    moved = [tuple(row[k] for k in order) for row in others]
    if moved and draw(st.booleans()):
        at, column = draw(st.integers(0, len(moved) - 1)), draw(st.integers(0, width - 1))
        moved[at] = (*moved[at][:column], draw(CELLS), *moved[at][column + 1 :])
    return rows, moved


@examples(300)
@given(pair=pairs(), ordered=st.booleans())
def test_bags_as_every_permutation_finds_them(pair: tuple[list[Row], list[Row]], ordered: bool) -> None:
    """The same verdict for small results of mixed cells, in order and in any order."""
    assert equal_as_bags(*pair, ordered=ordered) == by_every_permutation(*pair, ordered=ordered)


def test_a_search_without_end_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that no row tells apart, in two results that differ: the search stops, counted and not timed."""
    n = 14
    rows = [tuple(int(k in (i, (i + 1) % n)) for k in range(n)) for i in range(n)]
    # Two rings of seven in place of one of fourteen: each column and each row looks the same.
    half = n // 2
    rings = [tuple(int(k in (i, i - i % half + (i % half + 1) % half)) for k in range(n)) for i in range(n)]
    assert not equal_as_bags(rows, rings, ordered=False)
    monkeypatch.setattr("evalsuite.compare.result_sets._MOST_STEPS", 200)
    with pytest.raises(FaultError, match="no matching order of 14 columns was found within 200 steps"):
        equal_as_bags(rows, rings, ordered=False)
