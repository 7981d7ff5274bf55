"""Values on their way between a program and its test: whatever type they have they keep, and a change in place is seen on both sides."""

import collections
import datetime
import decimal
import fractions
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import msgpack

from evalsuite.sandbox.program_values import MessageError, Values
from tests.properties import examples

HASHABLE = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.integers(-(2**65), 2**65), st.binary(max_size=5)),
    *(st.text(st.characters(codec=None), max_size=5), st.floats(allow_nan=False), st.complex_numbers(allow_nan=False)),
    *(st.decimals(allow_nan=False), st.fractions(), st.dates(), st.times(), st.datetimes(), st.timedeltas(), st.uuids()),
    st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 3)),
)
KEYS = st.recursive(HASHABLE, lambda inner: st.one_of(st.tuples(inner, inner), st.frozensets(inner, max_size=3)), max_leaves=3)


def _deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    mapping = st.dictionaries(KEYS, inner, max_size=3)
    return st.one_of(
        *(st.lists(inner, max_size=4), st.tuples(inner, inner), st.sets(KEYS, max_size=3), mapping, mapping.map(collections.OrderedDict)),
        *(st.lists(inner, max_size=3).map(collections.deque), st.lists(KEYS, max_size=3).map(collections.Counter)),
        st.binary(max_size=4).map(bytearray),
    )


VALUES = st.recursive(KEYS, _deeper, max_leaves=12)


class NoObjects:
    """For values that are all data."""

    def send(self, value: Any) -> list[Any]:
        raise AssertionError(f"no data: {type(value)}")

    def receive(self, wire: list[Any]) -> Any:
        raise MessageError(str(wire[0]))


def packed(wire: Any) -> Any:
    """What the other side gets."""
    return msgpack.decode(msgpack.encode(wire))


def shown(value: Any) -> str:
    """A text in which values differ wherever their types, contents or signs of zero do; sets have no order."""
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}({sorted(map(shown, value))})"
    if isinstance(value, dict):
        return f"{type(value).__name__}({[(shown(key), shown(one)) for key, one in value.items()]})"
    if isinstance(value, list | tuple | collections.deque):
        return f"{type(value).__name__}({[*map(shown, value)]})"
    return f"{type(value).__name__}:{value!r}"


@examples(60)
@given(VALUES)
def test_a_value_arrives_as_it_is(value: Any) -> None:
    """Types, order, sign and nesting stay."""
    here, there = Values(1, NoObjects()), Values(0, NoObjects())
    assert shown(there.decode(packed(here.encode(value)))) == shown(value)


@examples(60)
@given(st.lists(VALUES, max_size=3), st.lists(VALUES, min_size=1, max_size=3))
def test_a_change_in_place_arrives(before: list[Any], after: list[Any]) -> None:
    """What the other side does to a list that it was given is done to the list itself."""
    here, there = Values(1, NoObjects()), Values(0, NoObjects())
    received = there.decode(packed(here.encode(before)))
    here.changes()
    received[:] = [*reversed(received), *after]
    wanted = shown(received)
    here.apply(*packed(there.changes()))
    assert shown(before) == wanted


def test_one_object_stays_one() -> None:
    """A list that stands at two places is one list there; a list that holds itself ends."""
    here, there = Values(1, NoObjects()), Values(0, NoObjects())
    row: list[Any] = [0]
    row.append(row)
    first, second = there.decode(packed(here.encode((row, row))))
    assert first is second is first[1]


@pytest.mark.parametrize(
    "wire",
    [
        *(["list", 3, True, [], None], ["value", "list", [["tuple", True, []]]], ["same", 99], ["value", "NoSuchClass", []]),
        *(["value", "Decimal", ["1", ["value", "Decimal", ["x"]]]], ["no such tag"], ["ndarray", 2, True, ["O", 1, b"12345678"], None]),
        *([], [["list"]]),
    ],
    ids=str,
)
def test_what_no_side_sends_is_an_error(wire: list[Any]) -> None:
    """A forged message makes no value."""
    with pytest.raises((MessageError, LookupError, TypeError, ValueError, ArithmeticError)):
        Values(1, NoObjects()).decode(packed(wire))


def test_the_rare_kinds() -> None:
    """Zones, folds and constants."""
    here, there = Values(1, NoObjects()), Values(0, NoObjects())
    zone = datetime.timezone(datetime.timedelta(hours=2), "X")
    rare = [zone, datetime.datetime(2024, 1, 1, fold=1, tzinfo=zone), ..., NotImplemented, slice(1, None), uuid.UUID(int=1)]
    found = there.decode(packed(here.encode(rare)))
    assert [*map(repr, found)] == [*map(repr, rare)]
    assert found[1].fold == 1
    assert there.decode(packed(here.encode(decimal.Decimal("-0.00")))).as_tuple() == decimal.Decimal("-0.00").as_tuple()
    assert there.decode(packed(here.encode(fractions.Fraction(1, 3)))) == fractions.Fraction(1, 3)
