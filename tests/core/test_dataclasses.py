"""`dataclass`, `fields` and `replace` do for classes of ours and of the standard library what the standard library does."""

import dataclasses
from typing import Any

import pytest

from evalsuite.core.dataclasses import dataclass, field, fields, replace


@dataclass(frozen=True)
class Ours:
    """A frozen class with defaults."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Theirs:
    """The same class of the standard library."""

    a: int
    b: str = "b"
    c: list[int] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize("kind", [Ours, Theirs])
def test_values_and_copies(kind: type[Any]) -> None:
    """Defaults are filled in, a copy has the other value, the first stays; no value can be set, no unknown one given."""
    first = kind(1)
    assert (first.a, first.b, first.c) == (1, "b", [])
    assert kind(1).c is not first.c
    other = replace(first, b="x")
    assert (type(other), other.a, other.b, first.b) == (kind, 1, "x", "b")
    assert other.c is first.c
    assert [one.name for one in fields(kind)] == ["a", "b", "c"]
    assert (first == kind(1), first == other, first == kind(2), hash(kind(1, "b", ())) == hash(kind(1, "b", ()))) == (
        True,
        False,
        False,
        True,
    )
    assert repr(first) == f"{kind.__name__}(a=1, b='b', c=[])"
    with pytest.raises(AttributeError):
        first.a = 2
    for wrong in ({}, {"a": 1, "z": 2}):
        with pytest.raises(TypeError):
            kind(**wrong)
    with pytest.raises(TypeError):
        replace(first, z=1)
