"""Number equality, held to the plain model, and every quick way to it held to the exact one."""

from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.compare.number_columns import number_groups, numbers_of, surely_strictly_equal
from evalsuite.compare.numbers import Number, Tolerance, as_number, equal_but_for_noise, number_of, numbers_equal, reach
from evalsuite.compare.packed_text import Block
from evalsuite.compare.strict_columns import all_pairs_equal, can_pair, places_of
from evalsuite.compare.values import read_cell, read_number
from tests.models import strict_table
from tests.properties import examples

OWN = [Tolerance(own=True, abs=0.01), Tolerance(own=True, rel=0.001), Tolerance(own=True, abs=1.0, rel=0.5), Tolerance(own=True)]
TOLERANCES = st.sampled_from([Tolerance(), Tolerance(), *OWN])
EDGES = [
    *("0", "0.0", "-0.0", "1e-9", "1.1e-9", "1e-400", "9007199254740992", "9007199254740993", "9007199254740992.0", "1e16"),
    *("0.005", "0.1"),
]


@st.composite
def numbers(draw: st.DrawFn) -> str:
    """A number as a file may hold it: a few digits, many, an exponent."""
    digits, decimals = draw(st.integers(0, 10 ** draw(st.integers(1, 18)))), draw(st.integers(0, 8))
    sign = draw(st.sampled_from(["", "", "-"]))
    text = str(digits).rjust(decimals + 1, "0")
    plain = sign + (f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text)
    return draw(st.sampled_from([plain, plain, plain, f"{float(plain)!r}", f"{float(plain):.6e}", *EDGES]))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """A number and one like it: rounded, cut off, a little beside, or any other; on either side."""
    gold = draw(numbers())
    value = float(gold)
    n = draw(st.integers(0, 7))
    near = draw(st.sampled_from([0.0, 0.004, 0.005, 0.0051, 0.5, 1.0, value * 1e-9, value * 1.1e-9, value * 1e-12, 1e-10, value * 1e-16]))
    other = draw(st.one_of(st.just(f"{value:.{n}f}"), st.just(f"{value + near:.{n + 6}f}"), st.just(repr(value - near)), numbers()))
    return draw(st.sampled_from([(gold, other), (other, gold)]))


@examples(1500)
@given(pairs(), TOLERANCES)
def test_numbers_equal_the_model(pair: tuple[str, str], tolerance: Tolerance) -> None:
    """Whatever way leads to it, the verdict on two numbers is that of exact fractions."""
    gold, predicted = map(read_cell, pair)
    own: dict[str, Any] = {"abs_tol": tolerance.abs, "rel_tol": tolerance.rel} if tolerance.own else {}
    assert numbers_equal(gold, predicted, tolerance) == strict_table.cells_equal(*pair, **own)


@examples(600)
@example([("0.1", "0.1"), ("-0.1", "-0.1")], Tolerance(own=True, rel=0.5))
@example([("10", "10"), ("11", "11")], Tolerance(own=True, rel=0.1))
@example([("-11", "-10"), ("-10", "-11")], Tolerance(own=True, rel=0.1))
@example([("893151021.15", "893151021.154")], Tolerance(own=True, abs=0.004))
@example([("517413596.91", "517413596.905")], Tolerance())
@example([("7831386299159.48", "7831386299159.38")], Tolerance(own=True, abs=0.1))
@given(st.lists(pairs(), min_size=1, max_size=4), TOLERANCES)
def test_nothing_equal_lies_out_of_reach(found: list[tuple[str, str]], tolerance: Tolerance) -> None:
    """Equal numbers lie within the reach and in the places that are looked at, and columns of equal cells can be paired."""
    golds, predictions = ([read_cell(pair[side]) for pair in found] for side in (0, 1))
    coarsest = min((cell.decimals for cell in golds if isinstance(cell, Number)), default=None)
    places = places_of(golds, predictions, tolerance)
    assert places is not None
    for gold in golds:
        for k, predicted in enumerate(predictions):
            if numbers_equal(gold, predicted, tolerance):
                distance = abs(
                    float(gold.exact if isinstance(gold, Number) else gold)
                    - float(predicted[0] if isinstance(predicted, Number) else predicted)
                )
                assert distance <= (reach(predicted, tolerance, coarsest) or 0.0)
                assert k in places.find_near(gold)
    if all(map(numbers_equal, golds, predictions, [tolerance] * len(golds))):
        assert can_pair(golds, predictions, tolerance)
    assert all_pairs_equal(golds, predictions, tolerance) is all(numbers_equal(g, p, tolerance) for g, p in product(golds, predictions))


def block(cells: list[str]) -> Block:
    """One column of packed text."""
    starts, data = [], b""
    for cell in cells:
        starts.append([len(data)])
        data += cell.encode() + b"\n"
    return Block(data, np.array(starts), np.array([[len(cell)] for cell in cells]))


@examples(600)
@given(st.lists(pairs().filter(lambda pair: max(map(len, pair)) <= 32), min_size=1, max_size=6), TOLERANCES)
def test_what_floats_are_sure_of_is_so(found: list[tuple[str, str]], tolerance: Tolerance) -> None:
    """Whole columns of floats call nothing equal that the exact rule does not."""
    sides = [numbers_of(block([pair[side] for pair in found]), 0) for side in (0, 1)]
    assert sides[0] is not None
    assert sides[1] is not None
    for pair, sure in zip(found, surely_strictly_equal(*sides, tolerance), strict=True):  # type: ignore[misc]
        assert not sure or numbers_equal(*map(read_cell, pair), tolerance)


def test_floats_are_sure_of_plain_cases() -> None:
    """Rounded, noisy and dropped digits of ordinary numbers need no closer look, nor do numbers within the check's own tolerance."""
    found = []
    for gold, predicted, own, _ in SURE:
        sides = numbers_of(block([gold]), 0), numbers_of(block([predicted]), 0)
        found.append((gold, predicted, own, *surely_strictly_equal(*sides, Tolerance(**own, own=bool(own))).tolist()))  # type: ignore[arg-type]
    assert found == SURE


# (gold, predicted, the check's own tolerance, whether floats are sure): what is equal and near a limit needs the exact rule.
SURE: list[tuple[str, str, dict[str, float], bool]] = [
    ("2604.2362912", "2604.24", {}, True),
    ("12.5", "12.4961", {}, True),
    ("0.3", "0.30000000000000004", {}, True),
    ("7.25", "7.25", {}, True),
    ("1", "1.0", {}, True),
    ("0", "0", {}, False),
    ("9007199254740991", "9007199254740991", {}, True),
    ("70368744177663", "70368744177663.0", {}, True),
    ("70368744177664", "70368744177664.0", {}, False),
    ("9007199254740992", "9007199254740992", {}, False),
    ("1234", "1235", {}, False),
    ("1.0000000005e9", "1000000000.504", {}, True),
    ("1.0000000005e9", "1000000000.506", {}, False),
    ("2.345", "2.35", {}, False),
    ("2.3451", "2.35", {}, True),
    ("2.35", "2.3451", {}, True),
    ("-2.3451", "-2.35", {}, True),
    ("0.1049", "0.10", {}, False),
    ("0.1149", "0.11", {}, True),
    ("0.1149", "0.1", {}, False),
    ("0.10", "0.1049", {}, False),
    ("0.11", "0.1149", {}, True),
    ("12.3451", "1.235e1", {}, True),
    ("19.998", "20", {}, True),
    ("20", "19.998", {}, False),
    ("20.0", "19.998", {}, True),
    ("2.3", "2.3049", {}, True),
    ("2.3", "2.305", {}, False),
    ("1", "1.0099", {"abs": 0.01}, True),
    ("1", "1.0101", {"abs": 0.01}, False),
    ("1000", "1000.99", {"rel": 0.001}, True),
    ("1000", "1001.0001", {"rel": 0.001}, False),
    ("1000", "999.001", {"rel": 0.001}, True),
    ("0", "0.005", {"abs": 0.01}, True),
]


def grouped(golds: list[str], predictions: list[str], tolerance: Tolerance) -> tuple[list[int], list[bool]]:
    """(the group of each number, whether each group is loose)."""
    sides = [numbers_of(block(side), 0) for side in (golds, predictions)]
    values, digits = (np.concatenate([side[at] for side in sides if side]) for at in (0, 1))
    groups, loose = number_groups(values, digits, np.arange(len(values)) < len(golds), tolerance)
    return groups.tolist(), loose.tolist()


@examples(600)
@given(st.lists(pairs().filter(lambda pair: max(map(len, pair)) <= 32), min_size=1, max_size=4), TOLERANCES)
def test_groups_have_all_that_is_equal(found: list[tuple[str, str]], tolerance: Tolerance) -> None:
    """Equal numbers are in one group, and in a group that is not loose all are equal."""
    golds, predictions = ([pair[side] for pair in found] for side in (0, 1))
    groups, loose = grouped(golds, predictions, tolerance)
    for (i, gold), (k, predicted) in product(enumerate(golds), enumerate(predictions)):
        is_equal = numbers_equal(read_cell(gold), read_cell(predicted), tolerance)  # type: ignore[arg-type]
        is_in_one = groups[i] == groups[len(golds) + k]
        assert not is_equal or is_in_one
        assert is_equal or not is_in_one or loose[groups[i]]


# (golds, predictions, the check's own tolerance, how many groups, which of them are loose).
GROUPS: list[tuple[str, str, dict[str, float], int, list[int]]] = [
    ("1 1.0", "1.00", {}, 1, []),
    ("12.345", "12.35", {}, 1, [0]),
    ("12.3451", "12.35", {}, 1, []),
    ("12.35", "12.3451 12.3549", {}, 1, []),
    ("12.35 12.3541", "12.3499", {}, 1, [0]),
    ("-12.3451", "-12.35", {}, 1, []),
    ("2.5", "2.5004 2.4996", {}, 1, []),
    ("12.3451", "1.235e1", {}, 1, []),
    ("1000000.5", "1000000.5009", {}, 1, []),
    ("1e3", "1000.0000001", {}, 1, []),
    ("0", "0.0", {}, 1, []),
    ("0", "0e0", {}, 1, [0]),
    ("0.0", "1e-10", {}, 1, [0]),
    ("-0.001 0.001", "0.001 -0.001", {}, 2, []),
    ("9007199254740993", "9007199254740992", {}, 1, [0]),
    ("70368744177663", "70368744177663.0", {}, 1, []),
    ("70368744177664", "70368744177664.0", {}, 1, [0]),
    ("0.1149", "0.11", {}, 1, []),
    ("0.1049", "0.10", {}, 1, [0]),
    ("20.0", "19.998", {}, 1, []),
    ("20", "19.998", {}, 1, [0]),
    ("7 3 3", "3 5", {}, 3, []),
    ("5", "6", {"abs": 1.5}, 1, []),
    ("5", "6 4.2", {"abs": 1.5}, 1, []),
    ("5 6", "4.2 7", {"abs": 1.5}, 1, [0]),
    ("100", "100.9", {"rel": 0.01}, 1, []),
    ("100", "101.5", {"rel": 0.01}, 2, []),
    ("1 1000", "1 1000", {"rel": 1.0}, 1, [0]),
]


def test_groups_are_loose_only_near_a_limit() -> None:
    """What is written alike, rounded or noisy needs no comparison of each with each."""
    for golds, predictions, own, n_groups, are_loose in GROUPS:
        groups, loose = grouped(golds.split(), predictions.split(), Tolerance(**own, own=bool(own)))  # type: ignore[arg-type]
        assert (max(groups) + 1, [at for at, one in enumerate(loose) if one]) == (n_groups, are_loose), (golds, predictions)


# Each limit, reached and passed by one digit: gold, what is equal but for noise, what is not.
NOISE = [
    ("5", "5.0", "6"), ("0", "1e-9", "1.1e-9"), ("0.0", "-1e-9", "-1.1e-9"), ("1e-9", "1.0e-9", "0"),
    ("1", "1.000000001", "1.0000000011"),
    ("1000", "1000.000001", "1000.0000011"), ("10000000", "10000000.005", "10000000.0051"), ("-1000", "-1000.000001", "-1000.0000011"),
    ("1.5", "1.5000000015", "1.5000000016"), ("10000000.5", "10000000.505", "10000000.5051"),
    ("10000000000.5", "10000000000.5100000000005", "10000000000.5100000000006"),
    ("9007199254740993.0", "9007199254740992", "9007199254740994"), ("9007199254740993", "9007199254740993.0", "9007199254740992"),
    ("9007199254740991.0", "9007199254740991", "9007199254740990"),
]  # fmt: skip
ROUNDINGS = [
    ("0.125", "0.13", "0.131"), ("0.125", "0.12", "0.119"), ("0.1251", "0.13", "0.12"), ("0.104", "0.1", "0.1091"),
    ("0.096", "0.1", "0.09"),
    ("1.5", "1.505", "1.5051"), ("0.014", "0.014", "0.01"), ("12.3456", "12.35", "12.36"), ("12.3456", "12.346", "12.345"),
    ("12.995", "13", "12"),
]  # fmt: skip
WITHIN = [
    ("100", "101", "101.01", Tolerance(own=True, abs=1.0)), ("100", "99", "98.99", Tolerance(own=True, rel=0.01)),
    ("0", "1e-9", "1.1e-9", Tolerance(own=True)), ("0.5", "0.5", "0.500000001", Tolerance(own=True)),
    ("-4", "-6", "-6.1", Tolerance(own=True, abs=1.0, rel=0.5)), ("1e-400", "1", "1.1", Tolerance(own=True, abs=1.0)),
]  # fmt: skip


def test_numbers_are_equal_up_to_each_limit_and_no_further() -> None:
    """Noise by the size of gold, rounding by the decimals shown, and the check's own tolerance."""
    for gold, near, far in NOISE:
        seen = [equal_but_for_noise(number_cell(gold), number_cell(other)) for other in (near, far)]
        assert seen == [True, False], (gold, near, far)
    for gold, near, far, tolerance in [*((*row, Tolerance()) for row in ROUNDINGS), *WITHIN]:
        seen = [numbers_equal(number_cell(gold), number_cell(other), tolerance) for other in (near, far)]
        assert seen == [True, False], (gold, near, far)


def number_cell(text: str) -> Any:
    """The number that a cell writes."""
    cell = read_cell(text)
    assert isinstance(cell, int | Number)
    return cell


def test_what_is_no_finite_number() -> None:
    """Neither infinity nor a word is a gold number."""
    for text, message in (("inf", "finite"), ("nan", "finite"), ("x", "'x' is no number"), ("", "'' is no number")):
        with pytest.raises(ValueError, match=message):
            read_number(text)
    assert [as_number(Decimal(10) ** power, is_plain=True) for power in (399, 400)] == [10**399, number_of(Decimal(10) ** 400)]
