"""Rows in any order: by hashes that an attacker may know, by codes, and in results of queries, as every pairing tried."""

from collections import Counter
from itertools import permutations, product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare import row_multisets, strict_matching
from evalsuite.compare.official_tables import match_table
from evalsuite.compare.packed_text import Block, Keys, pack_lists
from evalsuite.compare.result_sets import Row, equal_as_bags
from evalsuite.compare.row_multisets import CodedColumns
from evalsuite.compare.strict_columns import Terms, read_columns
from evalsuite.compare.strict_tables import judge_table
from evalsuite.compare.table_diff import Comparisons, compare
from evalsuite.compare.table_hashes import spare_rows
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Table
from tests.compare.test_scores import table as table_of
from tests.models import strict_table
from tests.properties import examples

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
