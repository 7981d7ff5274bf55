"""Big tables in blocks: the same verdicts as the exact rules and the plain models, each way a quick look can go wrong by name."""

import csv
import io
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.compare import table_diff
from evalsuite.compare.columns import packed_table, with_columns
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.official_tables import OfficialColumns, is_safe_text
from evalsuite.compare.packed_text import OddError, packed_block
from evalsuite.compare.row_multisets import CodedColumns, match_rows
from evalsuite.compare.strict_columns import equal, read_columns
from evalsuite.compare.values import read_cell
from evalsuite.core.types import Score, Table
from evalsuite.readers import csv_table
from evalsuite.readers.csv_table import CsvBlocks, read_csv_table
from evalsuite.readers.limits import resolve_limits
from evalsuite.scorers.table_match import table_match
from tests.models import official_table, strict_table
from tests.properties import examples

LIMITS = resolve_limits()
Columns = Sequence[Sequence[str]]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows, so that every file has several."""
    monkeypatch.setattr(csv_table, "_CHUNK", 48)
    monkeypatch.setattr(csv_table, "_WIDE_CHUNK", 48)


def written(columns: Columns, header: Sequence[str] | None = None, *, quoting: Any = csv.QUOTE_ALL, end: str = "\n") -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, quoting=quoting, lineterminator=end)
    writer.writerow(header or [f"c{k}" for k in range(len(columns))])
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def streamed(data: bytes) -> Table:
    """The file as packed text. Raises `OddError` where it is not plain."""
    source = CsvBlocks(lambda: io.BytesIO(data), limits=LIMITS, read_table=lambda: exact(data))
    return packed_table(source.header(), "t.csv", map(packed_block, source.blocks()))


def as_read(data: bytes) -> Table:
    """The file as a reader hands it over."""
    try:
        return streamed(data)
    except OddError:
        return exact(data)


def exact(data: bytes) -> Table:
    return read_csv_table(io.BytesIO(data), name="t.csv", limits=LIMITS)


def both(gold: bytes, answer: bytes, **parameters: Any) -> tuple[Score, Score]:
    """(the score as packed tables, the score cell by cell)."""
    scores = []
    for most in (0, 1 << 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("evalsuite.compare.columns.PACKED_CELLS", most)
            scores.append(table_match(as_read(answer), gold=as_read(gold), **parameters))
    return scores[0], scores[1]


def assert_alike(quick: Score, slow: Score) -> None:
    assert (quick.official, quick.strict) == (slow.official, slow.strict)
    assert quick.flip.partition(":")[0] == slow.flip.partition(":")[0]


def decided(gold: bytes, answer: bytes, *, ignore_order: bool = False) -> tuple[float | None, float | None]:
    """What packed text alone says under each rule, None where it leaves it open."""
    a, b = streamed(answer), streamed(gold)
    chosen = range(len(b.header))
    if a.n_rows != b.n_rows:
        return 0.0, 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.compare.columns.PACKED_CELLS", 0)
        seen = table_diff.compare(b, a)
    # As `match_table` asks before it asks them.
    is_safe = is_safe_text(a)
    found = OfficialColumns(seen, chosen, ignore_order=ignore_order, empty_is_zero=False).partners() if is_safe else None
    strict: float | None = None
    if ignore_order and len(a.header) >= len(b.header):
        matching = match_rows(read_columns(seen.gold, chosen), read_columns(seen.predicted, range(len(a.header))), seen, False)
        strict = float(matching.is_equal)
    return float(len(found) == len(chosen)) if found is not None else None, strict


LIKELY = ["1", "2", "3", "7", "1.0", "1.5", "1.50", "2.25", "a", "b", "bc", "", "100.004", "100.0"]
TRAPS = [
    *("9.999", "10.001", "-0.0", "0.0", "0", "007", "7", "9007199254740992", "9007199254740993", "inf", "1e308", "-inf", "nan", "NA"),
    *("null", "None", "True", "true", "False", "2023-1-05", "2023-01-05", "2023-01-05T00:00:00", "1_000", "1000", "1e3", "+5", "5", ".5"),
    *("0.5", "5.", " x", "x", "x,y", "9223372036854775808", "-1", "18446744073709551615", "é", "e\u0301", "1.23456789", "1.2346"),
    *("0.00004", "12345.678", "12345.68", "1.0000000001", "-1.5", "1.5000000001", "١", "99999999999999999999999", "9" * 310),
    *("0.004", "0.013"),
]
cells = st.one_of(st.sampled_from(LIKELY), st.sampled_from(LIKELY), st.sampled_from(TRAPS))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    """A gold table and one like it: columns moved, rows moved, cells changed."""
    n_rows, n_columns = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    pool = st.one_of(
        *[st.just(cells)] * 2, st.just(st.sampled_from(["1.5", "2.25", "3.125", "100.004", ""])), st.just(st.sampled_from(["a", "b", "NA"]))
    )
    gold = [draw(st.lists(draw(pool), min_size=n_rows, max_size=n_rows)) for _ in range(n_columns)]
    predicted = [list(column) for column in gold]
    if draw(st.booleans()):
        predicted = [[column[row] for row in draw(st.shared(st.permutations(range(n_rows)), key="rows"))] for column in predicted]
    for _ in range(draw(st.integers(0, 3))):
        column, row = draw(st.integers(0, n_columns - 1)), draw(st.integers(0, n_rows - 1))
        predicted[column][row] = draw(st.one_of(cells, st.just(nudged(predicted[column][row]))))
    predicted += [draw(st.lists(cells, min_size=n_rows, max_size=n_rows)) for _ in range(draw(st.integers(0, 2)))]
    return gold, draw(st.permutations(predicted))


def nudged(text: str) -> str:
    """A number a little beside, or written otherwise."""
    try:
        return repr(float(text) * 1.00003)
    except ValueError:
        return text + " "


@examples(400)
@example(([["1", "007", "100.004"]], [["1", "007", "100.0"]]), True, csv.QUOTE_ALL, "\n")
@given(cases(), st.booleans(), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), st.sampled_from(["\n", "\r\n"]))
def test_blocks_say_what_the_exact_rules_say(case: Any, ignore_order: bool, quoting: Any, end: str) -> None:
    """Verdicts and flips are those of the tables in memory, whatever the file looks like."""
    gold, predicted = case
    assert_alike(*both(written(gold), written(predicted, quoting=quoting, end=end), ignore_order=ignore_order))


@examples(200)
@given(cases(), st.booleans())
def test_blocks_say_what_the_plain_models_say(case: Any, ignore_order: bool) -> None:
    """The verdicts that blocks alone give are those of pandas and of every pairing tried."""
    gold, predicted = case
    if len(gold[0]) > 5:
        gold, predicted = [column[:5] for column in gold], [column[:5] for column in predicted]
    try:
        official, strict = decided(written(gold), written(predicted), ignore_order=ignore_order)
    except OddError:
        return
    frames = official_table.frame_of(predicted), official_table.frame_of(gold)
    assert official in (None, official_table.score_tables(*frames, ignore_order=ignore_order))
    is_huge = any(len(cell) > 300 or cell == "1e308" for column in [*gold, *predicted] for cell in column)
    if not is_huge:  # no float, as which the model looks for roundings
        assert strict in (None, strict_table.score_tables(gold, predicted, ordered=not ignore_order))


NUMBERS = [f"{k}.25" for k in range(40)]
NAMED = {
    "a number a little beside": (NUMBERS, [f"{k}.2500{k % 7}" for k in range(40)]),
    "a number far off in the last block": (NUMBERS, [*NUMBERS[:-1], "39.5"]),
    "9.999 and 10.001": (["9.999", *NUMBERS], ["10.001", *NUMBERS]),
    "minus zero": (["-0.0", "0.5"] * 9, ["0.0", "0.5"] * 9),
    "minus zero among integers": (["0", "5"] * 9, ["-0", "5"] * 9),
    "integers beside floats": (["1", "2"] * 9, ["1.0", "2.0"] * 9),
    "2^53 and its neighbour": (["9007199254740992"] * 9, ["9007199254740993"] * 9),
    "True and 1": (["True", "False"] * 9, ["1", "0"] * 9),
    "007 and 7": (["007", "8"] * 9, ["7", "8"] * 9),
    "007 and 7 among text": (["007", "x"] * 9, ["7", "x"] * 9),
    "a late letter makes all text": ([*["1.50"] * 20, "x"], [*["1.5"] * 20, "x"]),
    "an early letter makes all text": (["x", *["1.50"] * 20], ["x", *["1.5"] * 20]),
    "a late difference among text": (["x", *NUMBERS, "1.50"], ["x", *NUMBERS, "1.5"]),
    "infinity and a huge number": (["inf", "1"] * 9, ["1e308", "1"] * 9),
    "nan and a number": (["nan", "1"] * 9, ["1", "1"] * 9),
    "empty in two ways": (["", "1.5"] * 9, ["NA", "1.5"] * 9),
    "empty in two ways among text": (["", "x"] * 9, ["NA", "x"] * 9),
    "a day without its zero": (["2023-01-05"] * 9, ["2023-1-05"] * 9),
    "an underscore in a number": (["1000", "2"] * 9, ["1_000", "2"] * 9),
    "a null word with a space behind": (["null", "1.5"] * 9, ["null ", "1.5"] * 9),
    "an integer beyond 64 bits among floats": (["1", "9223372036854775808", "-1.5"] * 5, ["-1.5", "9223372036854775808", "1"] * 5),
    "an integer beyond 64 bits": (["99999999999999999999", "1"] * 9, ["99999999999999999998", "1"] * 9),
    "NA words beside an integer beyond 64 bits": (["99999999999999999999", "-1", ""] * 5, ["99999999999999999999", "-1", "NA"] * 5),
    "rounded to two decimals": (["12.3456", "9.8765"] * 9, ["12.35", "9.88"] * 9),
    "rounded to nothing": (["0.0004", "9.8765"] * 9, ["0.00", "9.88"] * 9),
    "one significant digit": (["0.0149", "9.8765"] * 9, ["0.01", "9.88"] * 9),
}


@pytest.mark.parametrize(("beside", "ignore_order"), [([], False), (["text"], True)])
@pytest.mark.parametrize("name", NAMED)
def test_traps(name: str, beside: list[str], ignore_order: bool) -> None:
    """Each place where a quick look could differ from the exact rules."""
    gold, predicted = NAMED[name]
    key = [[f"k{row}" for row in range(len(gold))]] if beside else []
    assert_alike(*both(written([*key, gold]), written([*key, predicted]), ignore_order=ignore_order))


@pytest.mark.parametrize("header", [["min", "max"], ["max", "min"], ["MAX", "min"], ["lowest", "highest"], ["max", "x"]])
@pytest.mark.parametrize(("ignore_order", "labels"), [(False, "judge"), (True, "judge"), (True, "ignore")])
def test_labels(header: list[str], ignore_order: bool, labels: str) -> None:
    """Columns that bear each other's names, in their places and moved, and twins."""
    low, high = [f"{k}.25" for k in range(30)], [f"{k + 40}.5" for k in range(30)]
    gold = written([low, high], ["min", "max"])
    for columns in ([low, high], [high, low], [low, low]):
        assert_alike(*both(gold, written(columns, header), ignore_order=ignore_order, labels=labels))
    twins = written([low, low], ["min", "max"])
    assert_alike(*both(twins, written([low, low], header), ignore_order=ignore_order, labels=labels))


@pytest.mark.parametrize("ignore_order", [False, True])
def test_no_answer_gets_the_verdict_of_another(ignore_order: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One gold table beside many answers, each forgotten before the next: what is kept of a comparison belongs to its two tables."""
    monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", 0)
    gold = streamed(written([["a", "b"] * 9]))
    for right in random.Random(5).choices([True, False], k=30):
        answer = streamed(written([["a", "b" if right else "c"] * 9]))
        score = table_match(answer, gold=gold, ignore_order=ignore_order)
        assert (score.official, score.strict) == (right, right)
        del answer


@pytest.mark.parametrize(("gold", "answer", "official"), [
    (["-0", "10.5", "-1250"], ["-0.00", "-1250.0", "10.5"], 1.0),
    (["-0", "", "-1250"], ["-0.0", "", "-1250"], 0.0),
    (["-0.0", "", "-1250"], ["-0", "", "-1250.0"], 1.0),
    (["-0", "-5", "-1250"], ["-0", "-5", "-1250.0"], 0.0),
])  # fmt: skip
def test_a_zero_with_a_sign_is_sorted_by_its_text(gold: list[str], answer: list[str], official: float) -> None:
    """In any order `-0` is the text `-0.0` among decimals and `0` or `0.0` among integers, as in pandas."""
    names = ["x"] * 3
    assert official_table.score_tables(*map(official_table.frame_of, ([answer, names], [gold, names])), ignore_order=True) == official
    scores = both(written([gold, names]), written([answer, names]), ignore_order=True)
    assert [score.official for score in scores] == [official, official]


PARTS = [slice(1, None), slice(-3, 5), slice(None, -1, 1), slice(None, None, 2), slice(None, None, -1), slice(4, 1, -2)]


@given(st.lists(st.lists(st.none() | st.text('a\u00e9\u8a9e\U0001f600\n",', max_size=5), min_size=2, max_size=2), min_size=1))
def test_cells_of_any_script_are_packed(rows: list[list[str | None]]) -> None:
    """What is unpacked again is what went in, be a character one byte or four."""
    columns = tuple(map(list, zip(*rows, strict=True)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.compare.packed_text._ROWS_AT_ONCE", 2)
        packed = with_columns(Table(header=("a", "b"), columns=columns, n_rows=len(rows))).columns[0].packed
        table = packed_table(("a", "b"), "", packed.frames)
    for column, texts in zip(table.columns, columns, strict=True):
        cells = [cell or "" for cell in texts]
        assert list(column) == cells
        assert [column[part] for part in PARTS] == [cells[part] for part in PARTS]
        assert [column[at] for at in range(-len(cells), len(cells))] == cells * 2


GOLD_CELLS = st.sampled_from(
    [
        *("0.05000049", "0.0949", "0.1", "-0.12349", "12.349", "007.1234", "7.00449", "999.99951", "1e-05", "1.2345678901234567"),
        *("x.1234", ".1249"),
    ]
) | st.floats(-1e4, 1e4).map(repr)


@st.composite
def rounded_columns(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Cells, and the same rounded, cut off, nudged in the last digit or left."""
    gold = draw(st.lists(GOLD_CELLS, min_size=1, max_size=12))
    made = []
    for cell in gold:
        places = draw(st.integers(0, 8))
        way = draw(st.sampled_from(["round", "cut", "nudge", "leave"]))
        try:
            number = round(float(cell), places)
        except ValueError:
            way = "cut"
        if way == "cut":
            made.append(cell[: cell.find(".") + 1 + places])
        elif way == "leave":
            made.append(cell)
        else:
            made.append(f"{number + (10.0**-places if way == 'nudge' else 0):.{places}f}")
    return gold, made


@examples(400)
@given(rounded_columns())
def test_arrays_find_the_rows_that_single_cells_show_unequal(columns: tuple[list[str], list[str]]) -> None:
    """Arrays and single cells name the same rows."""
    first, second = (Table(header=("a",), columns=(cells,), n_rows=len(cells)) for cells in columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.compare.columns.PACKED_CELLS", 0)
        evidence = table_diff.compare(first, second)
    rows, coded = (
        evidence.unlike(0, 0),
        CodedColumns(*(read_columns(table, [0]) for table in (evidence.gold, evidence.predicted)), evidence),
    )
    found = [row for places in coded.unequal_in_order(0, 0, rows, rows) for row in rows[places].tolist()]
    assert found == [row for row in rows.tolist() if not equal(read_cell(columns[0][row]), read_cell(columns[1][row]), Tolerance())]
