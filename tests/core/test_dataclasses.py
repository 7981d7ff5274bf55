"""`dataclass`, `fields` and `replace` do for classes of ours and of the standard library what the standard library does."""

import dataclasses
from typing import Any

import msgspec
import pytest

from evalsuite.core import types
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


def _classes(dataclass: Any, field: Any) -> list[type[Any]]:
    """Classes with the rarer options, made by one of the two decorators."""

    @dataclass(frozen=True)
    class Partly:
        a: int
        hidden: int = field(default=1, repr=False)
        aside: int = field(default=2, compare=False)
        at: list[int] = field(default_factory=list, compare=False)

    @dataclass()
    class Thawed:
        a: int
        b: int = 3

    @dataclass(eq=False)
    class Single:
        a: int

    @dataclass(repr=False)
    class Silent:
        a: int

        def __str__(self) -> str:
            return f"silent {self.a}"

    @dataclass(frozen=True, slots=True)
    class Own:
        a: int

        def __repr__(self) -> str:
            return "mine"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    @dataclass(kw_only=True)
    class Named:
        a: int = 1

    return [Partly, Thawed, Single, Silent, Own, Named]


@pytest.mark.parametrize("at", range(6))
def test_options_do_what_they_do_in_the_standard_library(at: int) -> None:
    """What is shown, compared, hashed and set, with fields that have no part in it and methods that the class brings."""

    def told(kind: type[Any]) -> list[Any]:
        one, same, other = kind(a=1), kind(a=1), kind(a=2)
        said: list[Any] = [one == same, one == other, one == 1, str(one).partition(" at 0x")[0].rpartition(".")[2]]
        said.append(kind.__match_args__)
        said.append(repr(one).partition(" at 0x")[0].rpartition(".")[2])
        for job in (
            lambda: hash(one) == hash(same),
            lambda: setattr(one, "a", 5),
            lambda: delattr(one, "a"),
            lambda: kind() == one,
            lambda: kind(1) == one,
        ):
            try:
                said.append(job())
            except (TypeError, AttributeError) as error:
                said.append(type(error).__mro__[-3])
        if kind.__name__ == "Partly":
            said += [kind(1, aside=5) == one, kind(1, hidden=5) == one, kind(1, at=[1]) == one, hash(kind(1, at=[1])) == hash(one)]
        return said

    assert told(_classes(dataclass, field)[at]) == told(_classes(dataclasses.dataclass, dataclasses.field)[at])


# What is not named counts as harmless, absent or not measured.
DEFAULTS = {
    "Fault": "detail='' where='' side=''",
    "Table": "types=None ragged_line=None name='' is_view=False reads_clock=False",
    "Score": "strict=None reason='' strict_reason='' flip='' fault=None strict_fault=None",
    "Check": "where='' problems=() computed=None is_further=False",
    "GoldInstance": "where='' groups=()",
    "Suite": "description='' rules=None fail_under=None folder=None",
    "Gold": "notes=() hash='' layout='original'",
    "Answer": "where='' fault=None unread=()",
    "Submission": ("notes=() n_objects=0 limit_bytes=inf digest=None metadata='results_metadata.jsonl' n_unknown=0 unknown=()"),
    "Task": "rules='official' executed=None allow_programs=False databases=()",
    "Result": "seconds=0.0 strict_fault=None",
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_of_what_is_passed_on(name: str) -> None:
    """A task without permission runs no program, a check is the suite's own; both rules are blocked by a problem of no other kind."""
    kind = getattr(types, name)
    all_fields: Any = msgspec.structs.fields(kind) if issubclass(kind, msgspec.Struct) else dataclasses.fields(kind)
    found = [f"{one.name}={one.default!r}" for one in all_fields if one.default not in (dataclasses.MISSING, msgspec.NODEFAULT)]
    assert " ".join(found) == DEFAULTS[name]
    assert types.Problem(code="BAD_SPEC", message="m").blocks == {"official", "strict"}


def test_records_that_travel() -> None:
    """Equal ones have one hash; further scorers make no score; an answer is a query by its type or one file's ending."""
    one, same, other = (types.Answer(instance_id="q", answer_type="answer", value="x", where=where) for where in ("a:1", "a:1", "a:2"))
    assert (one, hash(one)) == (same, hash(same))
    assert one != other
    assert len({one, same, other}) == 2
    check, instance = types.Check(scorer="s", parameters={}, where="a:1"), types.GoldInstance(instance_id="q", checks=(), where="a:1")
    for place in (check, instance, one):
        stored = vars(type(place))["where"]
        assert type(place).where is stored
        # A number, in a third of the memory of the text.
        assert (isinstance(stored.place.__get__(place), int), place.where) == (True, "a:1")
    assert types.Check.parameters is vars(types.Check)["parameters"]
    checks = [types.Check(scorer=name, parameters={}, is_further=name == "b") for name in "abc"]
    assert types.GoldInstance(instance_id="q", checks=tuple(checks)).own_checks == (checks[0], checks[2])
    values = {"sql": "SELECT 1", "file": "a/Q.SQL", "answer": "q.sql", "files": ("q.sql",)}
    answers = [types.Answer(instance_id="q", answer_type=kind, value=value) for kind, value in values.items()]
    assert [answer.is_query for answer in answers] == [True, True, False, False]
    assert not types.Answer(instance_id="q", answer_type="file", value="q.csv").is_query


@pytest.mark.parametrize("make", [dataclass, dataclasses.dataclass])
def test_a_default_is_an_attribute_of_a_class_without_slots(make: Any) -> None:
    """Also where `field` gives it; a default that is made anew for each object is none."""
    field_of = field if make is dataclass else dataclasses.field
    body = {"__annotations__": {"a": int, "b": list}, "a": field_of(default=3), "b": field_of(default_factory=list)}
    kind = make(frozen=True)(type("Kind", (), body))
    assert (kind.a, hasattr(kind, "b"), kind().a) == (3, False, 3)
