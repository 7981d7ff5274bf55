"""Rows in any order are found by hashes: an attacker who knows our functions, and the ones we had, writes answers that collide."""

from collections import Counter
from itertools import product
from random import Random

import numpy as np
import pytest

from evalsuite.compare import row_multisets
from evalsuite.compare.official_tables import match_table
from evalsuite.compare.packed_text import Block, Keys, pack_lists
from evalsuite.compare.row_multisets import CodedColumns
from evalsuite.compare.strict_columns import read_columns
from evalsuite.compare.strict_tables import judge_table
from evalsuite.compare.table_diff import Comparisons, compare
from evalsuite.compare.table_hashes import spare_rows
from evalsuite.core.types import Table
from tests.compare.test_scores import table as table_of

N_ROWS = 7_000
RANGE = (1 << 64) - 1
# The multipliers of version 0.2.0, whose hash of a cell had no key.
STEP, TURN = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
PLAIN = bytes(range(0x21, 0x7F)).replace(b'"', b"").replace(b",", b"")


def table(rows: list[tuple[str, ...]]) -> Table:
    """A table of text."""
    return Table(header=("key", "label", "n"), columns=tuple(map(list, zip(*rows, strict=True))), n_rows=len(rows), name="t.csv")


def gold_rows() -> list[tuple[str, ...]]:
    """Rows of which each is written once."""
    return [(f"k{i:05d}", f"a label of {i:05d}", str(i % 97)) for i in range(N_ROWS)]


def verdicts(gold: list[tuple[str, ...]], predicted: list[tuple[str, ...]]) -> tuple[float | None, float | None]:
    """(official, strict) in any order of rows."""
    seen, tables = Comparisons(), (table(predicted), table(gold))
    official = match_table(*tables, ignore_order=True, comparisons=seen).official
    return official, judge_table(*tables, ignore_order=True, comparisons=seen).value


def colliding_cell(cell: str) -> str:
    """Another cell of 16 bytes with the hash that version 0.2.0 made of this one: its second word is solved for."""
    drawn = Random(33)
    first, second = (int.from_bytes(cell.encode()[at : at + 8], "little") for at in (0, 8))
    wanted = _mixed(len(cell) * TURN & RANGE, first) ^ second
    while True:
        word = bytes(drawn.choices(PLAIN, k=8))
        solved = (wanted ^ _mixed(len(cell) * TURN & RANGE, int.from_bytes(word, "little"))).to_bytes(8, "little")
        if all(byte in PLAIN for byte in solved):
            return (word + solved).decode()


def _mixed(state: int, word: int) -> int:
    state = (state ^ word) * STEP & RANGE
    return state ^ state >> 32


def test_a_cell_solved_for_the_hash_without_a_key_scores_0() -> None:
    """The attack on version 0.2.0: one cell of 21,000 is another text of the same hash, rows moved."""
    gold = gold_rows()
    gold[77] = ("k00077", "sixteen letters.", "77")
    predicted = [*gold[1000:], *gold[:1000]]
    at = predicted.index(gold[77])
    assert verdicts(gold, predicted) == (1, 1)
    predicted[at] = ("k00077", colliding_cell("sixteen letters."), "77")
    assert verdicts(gold, predicted) == (0, 0)


def test_rows_of_the_same_cells_elsewhere_have_other_hashes() -> None:
    """Cells exchanged within a row, within a column or in a square of rows: no hash of a row stays, whatever the keys are."""
    cells = [("a", "b"), ("b", "a"), ("a", "a"), ("b", "b"), ("", "ab"), ("ab", ""), ("a\0", "b"), ("a", "\0b")]
    block = next(pack_lists(list(map(list, zip(*cells, strict=True)))).blocks())
    for _ in range(2_000):
        keys = Keys()
        assert len(np.unique(keys.of_rows(block.hashes([0, 1], keys)))) == len(cells)


@pytest.mark.parametrize("broken", [Keys.of_rows, Block.hashes])
def test_a_hash_that_tells_nothing_changes_no_verdict(broken: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told by hashes is looked at: with a hash of 0 for everything right answers are right and wrong ones wrong."""
    gold = gold_rows()[:1_200]
    moved = gold[::-1]
    wrong = [*moved[:-1], ("k00000", "a label of 00000", "1")]
    square = [*moved[:-2], (moved[-2][0], moved[-1][1], moved[-2][2]), (moved[-1][0], moved[-2][1], moved[-1][2])]
    rounded = [(key, label, f"{n}.0") for key, label, n in moved]
    answers = (moved, wrong, square, rounded)
    found = [verdicts(gold, answer) for answer in answers]
    if broken is Keys.of_rows:
        monkeypatch.setattr(Keys, "of_rows", lambda _, hashed: np.zeros(len(hashed), np.uint64))
    else:
        monkeypatch.setattr(Block, "hashes", lambda block, columns, _: np.zeros((len(block), len(columns)), np.uint64))
    assert [verdicts(gold, answer) for answer in answers] == found
    assert found[:3] == [(1, 1), (0, 0), (1, 0)]


def test_equal_hashes_of_different_texts_are_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows with equal hashes are looked at: the same text confirms them, another one does not."""
    monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", 0)
    monkeypatch.setattr(Block, "hashes", lambda block, columns, _: np.zeros((len(block), len(columns)), np.uint64))
    for other, are_confirmed in (("a", True), ("b", False)):
        seen = Comparisons().compare(table([("a", "", "")]), table([(other, "", "")]))
        assert seen.hashes.are_confirmed([np.zeros(1, np.uint64)] * 2, [0], [0]) is are_confirmed
        coded, rows = CodedColumns(*(read_columns(side, [0]) for side in (seen.gold, seen.predicted)), seen), np.arange(1)
        assert [len(places) for places in coded.unequal_in_order(0, 0, rows, rows)] == [int(not are_confirmed)]


def test_work_is_counted_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind for itself; what a right answer needs of cells is free."""
    for method, limit in (("look", "CELL_CAP"), ("connect", "EDGE_CAP"), ("walk", "FLOW_CAP")):
        monkeypatch.setattr(row_multisets, limit, 5)
        work = row_multisets.Work(free=2)
        for n in (2, 3, *([2] if method == "look" else [])):
            getattr(work, method)(n)
        with pytest.raises(row_multisets.CapReachedError):
            getattr(work, method)(1)
    seen = Comparisons().compare(table(gold_rows()[:5]), table(gold_rows()[:5]))
    assert CodedColumns(*(read_columns(side, [0, 1]) for side in (seen.gold, seen.predicted)), seen).work.free == 12 * 5 * 2


@pytest.mark.parametrize("few", [0, 200])
def test_hashes_tell_what_the_texts_tell(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small drawn tables: equal columns, twins, and the rows without a partner; equal texts of other types are other cells."""
    monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", 0)
    monkeypatch.setattr("evalsuite.compare.table_hashes._FEW", few)
    drawn = Random(5)
    for _ in range(40):
        n = drawn.randint(1, 4)
        types = [drawn.choices(("BIGINT", "VARCHAR"), (4, 1), k=5) for _ in range(2)]
        # No two choices of up to four of these digits have the same sum, as 1, 2, 3 and 2, 2, 2 have: sums of hashes may then be equal too.
        kinds = [[drawn.choice("126") for _ in range(n)] for _ in range(2)]
        gold, predicted = ([drawn.sample(drawn.choice(kinds), n) for _ in range(5)] for _ in range(2))
        rows = [";".join(",".join(row) for row in zip(*side, strict=True)) for side in (gold, predicted)]
        names = [",".join(f"c{at}:{type_}" for at, type_ in enumerate(side)) for side in types]
        found, pairs = compare(*map(table_of, map(";".join, zip(names, rows, strict=True)))).hashes, list(product(range(5), range(5)))
        for _ in range(drawn.randrange(4)):
            found.compare(drawn.sample(pairs, drawn.randint(1, 5)))
        alike = [types[0][i] == types[1][k] and sorted(gold[i]) == sorted(predicted[k]) for i, k in pairs]
        assert [found.has_same_texts(*pair) for pair in pairs] == [found.may_be_alike(*pair) for pair in pairs] == alike
        assert [gold[found.twin(0, i)] for i in range(5)] == gold
        assert [predicted[found.twin(1, k)] for k in range(5)] == predicted
        for chosen in ([0], [2], [0, 1], [2, 1, 0]):
            sides = [list(zip(*(side[at] for at in chosen), strict=True)) for side in (gold, predicted)]
            left = [spare_rows(side, Counter(other)) for side, other in zip(sides, sides[::-1], strict=True)]
            if any(types[0][at] != types[1][at] for at in chosen):
                left = [list(range(n))] * 2
            assert [part.tolist() for part in found.spare(chosen, chosen)] == left
