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


def _new_kinds() -> tuple[Any, Any]:
    """Return a frozen class with slots that has keywords only, and one that inherits, counts its objects' changes and can be changed."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Slotted:
        a: int
        c: list[int] = field(default_factory=list)

    @dataclass()
    class Base:
        a: int
        b: str = "b"

    @dataclass(slots=True)
    class Counted(Base):
        c: list[int] = field(default_factory=list)
        n: int = 0

        def __post_init__(self) -> None:
            self.n += 1

    return Slotted, Counted


@pytest.mark.parametrize("n_before", [0, 100])
def test_the_first_objects_are_those_of_the_compiled_init(n_before: int) -> None:
    """The first objects of a class, whose init is not compiled yet, and later ones are alike; wrong arguments raise at any time."""
    kinds = _new_kinds()
    for kind in kinds:
        for _ in range(n_before):
            kind(a=0)
        assert (kind(a=1).a, kind(a=1).c, kind(a=1, c=[2]).c) == (1, [], [2])
    counted = kinds[1](1, "x", n=4)
    assert (counted.a, counted.b, counted.c, counted.n) == (1, "x", [], 5)
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [((), {}), ((), {"a": 1, "z": 2}), ((1, "b", [], 0, 9), {}), ((1,), {"a": 1})]
    for args, kwargs in wrong:
        for kind in _new_kinds() if not n_before else kinds:
            with pytest.raises(TypeError):
                kind(*args, **kwargs)
