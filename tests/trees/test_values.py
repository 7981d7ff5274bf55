"""Values that a person of the field would call equal, or not: a table of pairs for every shipped comparator, and what holds for all."""

import json
import math
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.registry import PART_MODULES
from evalsuite.trees import TreeLimitError, evaluate, parse_eval_schema, register, unregister
from evalsuite.trees.comparators import BUILTIN, COMPAT, SHIPPED, TRANSFORMS, Registry, check_transform, problem_of, unknown_options

TABLE = Path(__file__).with_name("values.txt")
COMPARATORS = {**BUILTIN, **SHIPPED}


def value_of(text: str) -> Any:
    """JSON where the text is some, else the text; a bare number is one only where it is written as JSON writes it."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@cache
def pairs() -> dict[str, list[tuple[str, Any, Any, Any, float, str | None]]]:
    """(line, options, gold, answer, score, reason) of every line, by comparator; the reason is None where the table has none."""
    found = defaultdict(list)
    name, options = "", {}
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("[") and line.strip("[]").split(" ", 1)[0] in COMPARATORS and " == " not in line and " != " not in line:
            name, _, rest = line[1:-1].partition(" ")
            options = json.loads(rest or "{}")
        elif line and not line.startswith("#"):
            sign = " == " if " == " in line else " != "
            values, _, reason = line.partition(" -- ")
            gold, answer = map(value_of, values.split(sign))
            share, _, rest = reason.partition(": ") if reason[:2] == "0." else ("", "", reason)
            found[name].append((f"{number}: {line}", options, gold, answer, float(share or sign == " == "), rest or None))
    return found


@pytest.mark.parametrize("name", COMPARATORS)
def test_pairs_of_values(name: str) -> None:
    """The verdicts of the table, alone and in a list that is aligned by it, with the reason for each refusal that gives one."""
    for line, options, gold, answer, score, reason in pairs()[name]:
        found = COMPARATORS[name](gold, answer, options)
        assert found.score == pytest.approx(score, abs=1e-4), line
        assert found.reason == (None if score == 1 else reason or found.reason), line
        leaf = {"type": "string", "x-eval-compare": {name: options}}
        best = {"type": "array", "x-eval-align": {"match_by": "hungarian"}, "items": leaf}
        schema = {"type": "object", "properties": {"one": leaf, "many": best}}
        whole = evaluate([{"one": gold, "many": [gold] * 3}], [{"one": answer, "many": [answer] * 3}], schema)
        assert whole.mean_f1 == pytest.approx(found.score), line


def test_there_are_many_pairs() -> None:
    """A third of the table was first to be compared with other programs."""
    assert sum(map(len, pairs().values())) >= 460


@pytest.mark.parametrize("name", COMPARATORS)
def test_gold_accepts_itself(name: str) -> None:
    """A value copied from gold is right under every comparator, behind a transform that cannot take it too."""
    options = {"values": ["other"]} if name == "oneof" else {}
    schema = {"type": "string", "x-eval-compare": {name: options}, "x-eval-transform": ["lowercase"]}
    for value in ("10 sccm", "5 wt%", "2 Å/s", "2024", "", "(", None, True, 0, -0.5, 10**400, [], [1, "a"], {}, {"a": None}):
        assert evaluate([{"a": value}], [{"a": value}], {"type": "object", "properties": {"a": schema}}).mean_f1 == 1


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("name", "options", "pairs"),
    [
        ("exact", {}, [([1], [True], None), (1, 1.0, "mismatch"), (1, 1, None)]),
        ("numeric", {}, [(None, None, None), (None, 5, "type_error"), (5, None, "type_error"), ("1_0", 10, None), (True, 1, None),
                         ("x", 1, "type_error"), ([1], 1, "type_error"), (1, 2, "values differ without tolerance")]),
        ("numeric", {}, [(NAN, NAN, None), (NAN, 1, "type_error"), (1, NAN, "type_error"), (INF, INF, None)]),
        ("numeric", {"tolerance": {"rel": 0.1}}, [(INF, INF, None), (10, 11, None), (0, 0.1, None), (-10, -11, None),
                                                  (0, 0.2, "relative error exceeds 0.1"), (-10, -11.5, "relative error exceeds 0.1")]),
        ("numeric", {"tolerance": {"abs": 1}}, [(10, 11, None), (11, 10, None), (10, 12, "absolute error exceeds 1")]),
        ("oneof", {"values": ["a", 1]}, [("z", "a", None), ("a", "z", "no match in values"), ("a", True, None)]),
    ],
)  # fmt: skip
def test_the_reference_s_comparators(name: str, options: Any, pairs: Any) -> None:
    """Python's equality, `float()` of anything, and values without regard to gold."""
    for gold, answer, reason in pairs:
        found = COMPAT[name](gold, answer, options)
        assert (found.score, found.reason) == (float(reason is None), reason), (gold, answer)


def test_what_a_comparator_cannot_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that takes too long is no match; too many elements or characters are an error; the reference's oneof needs a list."""
    monkeypatch.setattr("evalsuite.trees.comparators.PATTERN_SECONDS", 0.01)
    found = SHIPPED["regex"]("(a|aa)+c", "a" * 60 + "b", {})
    assert (found.score, found.reason) == (0, "the pattern took longer than 0.01 s")
    many = [1] * 2000
    assert SHIPPED["set"](many, [1], {}).score == 1
    with pytest.raises(TreeLimitError, match="a set of 2,001 elements, the limit is 2,000"):
        evaluate([{"a": [*many, 1]}], [{"a": [1]}], {"properties": {"a": {"type": "array", "x-eval-compare": "set"}}})
    monkeypatch.setattr("evalsuite.trees.comparators.MAX_CELLS", 12)
    assert SHIPPED["edit_distance"]("abc", "abcd", {}).score == 0.75
    with pytest.raises(TreeLimitError, match="edit distance of 13 and 1 characters"):
        SHIPPED["edit_distance"]("a" * 13, "b", {})
    assert [table["numeric"](1, 2, {"tolerance": {"rel": NAN}}).score for table in (BUILTIN, COMPAT)] == [0, 1]
    with pytest.raises(TypeError, match="oneof needs a list 'values', got str"):
        COMPAT["oneof"](None, "a", {"values": "abc"})
    for keys, message in (({1: 2}, "keys must be strings, got 1"), ({"x-eval-compare": {1: {}}}, "name must be a non-empty string")):
        with pytest.raises(ValueError, match=f"^a: .*{message}"):
            parse_eval_schema({"properties": {"a": {"type": "string", **keys}}})


AT_LEAST, TOLERANCE = "{!r} must be a number of at least 0", "'tolerance' must be an object with 'abs' or 'rel'"
LIST, LISTS, TEXT = "{!r} must be a list of texts", "'groups' must be a list of lists", "{!r} must be a text"
LOCALE = "unknown locale 'xx': one of cs, da, de, en, es, fi, fr, it, ja, ko, nb, nl, pl, pt, ru, sv, zh, or with a region"
UNIT, PATTERN, VALUES = (
    'unit {!r} must be [factor, unit], such as [201.168, "m"]',
    "'pattern' is not a pattern",
    "a list 'values' is needed",
)


@pytest.mark.parametrize(
    ("name", "key", "fine", "wrong", "problem"),
    [
        ("numeric", "tolerance", [None, {}, {"abs": None}, {"rel": 1, "abs": 0.5}], [5, [], "1"], TOLERANCE),
        ("numeric", "tolerance", [], [{"abs": "1"}, {"abs": True, "rel": "1"}], "tolerance 'abs' must be a number"),
        ("numeric", "tolerance", [], [{"rel": True}, {"abs": 1, "rel": "1"}], "tolerance 'rel' must be a number"),
        ("numeric", "locale", ["", "de", "de_DE", "en-GB", "fr-CA"], ["xx"], LOCALE),
        ("numeric", "locale", [], [5, None], TEXT),
        ("oneof", "values", [[], ["a"]], ["a", 5, None], VALUES),
        ("oneof", "groups", [[["a"]]], [["a"], 5, [["a"], "b"]], LISTS),
        ("oneof", "groups", [], [[]], VALUES),
        ("date", "formats", [[], ["%d"]], ["x", [1], ["%d", None]], LIST),
        ("date", "days", [0, 2.5], [-1, -0.5, True, INF, NAN, "1", None], AT_LEAST),
        ("datetime", "seconds", [0], [-1], AT_LEAST),
        ("quantity", "unit", ["", "m"], [5, None], TEXT),
        ("quantity", "units", [], [5, None, ["a"]], UNIT),
        ("quantity", "units", [{}, {"units": [1, "m"]}, {"units": [0.5, "m"]}],
         [{"units": entry} for entry in ([1], [1, 2], ["1", "m"], [1, "m", 2], "m", [True, "m"])], UNIT),
        ("quantity", "rel", [0], [-0.1], AT_LEAST),
        ("regex", "pattern", ["a"], ["(", 5, None], PATTERN),
        ("set", "separator", [";"], [5], TEXT),
        ("set", "separator", [], [""], "'separator' must not be empty"),
        ("text", "long", [0, 100], [-1], AT_LEAST),
        ("number_or_text", "tolerance", [{"rel": 1}], [5], TOLERANCE),
        ("regex", "ignore_case", [True, 5], [], ""),
    ],
)  # fmt: skip
def test_what_is_said_of_an_option(name: str, key: str, fine: list[Any], wrong: list[Any], problem: str) -> None:
    """Each option takes what its comparator can use, at its bounds too; anything else is named, with what is expected."""
    assert [problem_of(name, {key: value}) for value in fine] == [None] * len(fine)
    assert {problem_of(name, {key: value}) for value in wrong} <= {f"{name}: {problem.format(key)}"}
    assert unknown_options(name, {key: 1, "loc": 2}) == ["loc"]


def test_options_without_effect_are_named() -> None:
    """Also those inside a tolerance."""
    assert unknown_options("numeric", {"tolerance": {"abs": 1, "relative": 2}, "loc": 1}) == ["loc", "tolerance.relative"]
    assert unknown_options("exact", {"tolerance": 5}) == ["tolerance"]


CONVERT = "type_convert needs 'to': float, int, str or bool"


@pytest.mark.parametrize(
    ("name", "params", "pairs", "problem"),
    [
        ("lowercase", {}, [("Ab", "ab"), (None, None), (5, "string required, got int")], None),
        ("strip", {}, [(" a b ", "a b"), (None, None), ([], "string required, got list")], None),
        ("normalize_whitespace", {}, [(" a \n b ", "a b"), (None, None)], None),
        ("sort_tokens", {}, [("b  a c", "a b c"), (None, None)], None),
        ("round_digits", {"digits": 1}, [(0.25, 0.2), (0.35, 0.3), (5, 5), (None, None), ("1", "number required, got str")], None),
        ("round_digits", {"digits": -1}, [(15, 20), (25, 20)], None),
        ("round_digits", {}, [(1.5, "'digits' is missing"), (None, None)], "round_digits needs an integer 'digits'"),
        ("round_digits", {"digits": True}, [], "round_digits needs an integer 'digits'"),
        ("round_digits", {"digits": "1"}, [(0.25, 0.2)], "round_digits needs an integer 'digits'"),
        ("type_convert", {"to": "int"}, [("5", 5), (5.9, 5), (None, None), ("x", "cannot convert str to int")], None),
        ("type_convert", {"to": "float"}, [("5", 5.0), ([], "cannot convert list to float")], None),
        ("type_convert", {"to": "str"}, [(5, "5")], None),
        ("type_convert", {"to": "bool"}, [(" TRUE ", True), ("0", False), ("1", True), ("false", False), (1, True), (0, False),
            (True, True),
            (False, False), ("yes", "cannot convert str to bool"), (2, "cannot convert int to bool"), (1.0, "cannot convert float to bool"),
            ([], "cannot convert list to bool")], None),
        ("type_convert", {"to": "date"}, [("5", "unknown target type 'date'"), (None, None)], CONVERT),
        ("type_convert", {"to": ["int"]}, [("5", "unknown target type ['int']")], CONVERT),
        ("type_convert", {}, [("5", "'to' is missing"), (None, None)], CONVERT),
    ],
)  # fmt: skip
def test_transforms(name: str, params: Any, pairs: Any, problem: str | None) -> None:
    """Each gives its value, null for null, or says what it cannot take; parameters are checked before."""
    assert check_transform(name, params) == problem
    for value, expected in pairs:
        try:
            found = TRANSFORMS[name](value, params)
        except (TypeError, ValueError) as error:
            found = str(error)
        assert (type(found), found) == (type(expected), expected), value


def always(gold: Any, extracted: Any, params: Any) -> Any:
    """A comparator that takes everything."""
    return 1


def never(gold: Any, extracted: Any, params: Any) -> Any:
    """A comparator that takes nothing."""
    return 0


def f1(registry: Registry, how: str = "date") -> Any:
    """The F1 of two different texts under a comparator."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-eval-compare": how}}}
    return evaluate([{"a": "x"}], [{"a": "y"}], schema, comparators=registry.comparators).mean_f1


def test_names_of_a_run_of_the_process_and_of_the_package() -> None:
    """A run's own comparator goes before the process's, that before a shipped one; the reference's and the transforms cannot be taken."""
    assert f1(Registry()) == 0
    register("date", always)
    try:
        assert (f1(Registry()), f1(Registry(comparators={"date": never}))) == (1, 0)
        with pytest.raises(ValueError, match="comparator 'date' is already registered; pass overwrite=True to replace it"):
            register("date", never)
        register("date", never, overwrite=True)
        assert f1(Registry()) == 0
        register("date", always, kind="batch", overwrite=True)
        assert Registry().is_batch("date")
        assert not Registry(comparators={"date": never}).is_batch("date")
        register("date", always, overwrite=True)
        assert not Registry().is_batch("date")
        register("date", always, kind="batch", overwrite=True)
        register("date", always, kind="transform")
        unregister("date", kind="transform")
        assert Registry().is_batch("date")
    finally:
        unregister("date")
    assert not Registry().is_batch("date")
    assert f1(Registry()) == 0
    unregister("date")
    for name, kind in (("exact", "comparator"), ("oneof", "batch"), ("strip", "transform"), ("reclassify_nulls", "post_process")):
        with pytest.raises(ValueError, match=f"'{name}' is built in and cannot be replaced"):
            register(name, always, overwrite=True, kind=kind)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="transform 'x' must be callable, got int"):
        register("x", 5, kind="transform")  # type: ignore[arg-type]
    for own in ({"comparators": {"numeric": never}}, {"transforms": {"strip": never}}):
        with pytest.raises(ValueError, match="is built in and cannot be replaced"):
            Registry(**own)
    assert not Registry(comparators={"semantic": never}).is_batch("semantic")
    for call, hint in (
        (Registry().comparator, "comparator: 'numerik'; did you mean 'numeric'?"),
        (Registry().transform, "transform: 'numerik'"),
    ):
        with pytest.raises(KeyError) as raised:
            call("numerik")
        assert str(raised.value) == f"Unknown {hint}"
    with pytest.raises(ValueError, match=r"a: x-eval-transform\[0\]: Unknown transform: 'stripp'; did you mean 'strip'"):
        parse_eval_schema({"properties": {"a": {"type": "string", "x-eval-transform": ["stripp"]}}})


def test_a_plugin_file_that_is_imported_again_replaces_its_parts() -> None:
    """A function of the same module with other variables is the edited one; the module that registers is known as one of parts.

    A plugin of an earlier call, which is none of these modules any more, leaves its names to others.
    """

    def plugin(module: str) -> Any:
        space: dict[str, Any] = {"__name__": module}
        exec("def function(*_): return 1", space)
        return space["function"]

    PART_MODULES.discard(__name__)
    first, second = plugin("plug"), plugin("plug")
    try:
        register("edited", first)
        assert __name__ in PART_MODULES
        register("edited", second)
        assert Registry().comparator("edited") is second
        for other in (second, plugin("other")):
            with pytest.raises(ValueError, match="'edited' is already registered"):
                register("edited", other)
        unregister("edited")
        register("edited", plugin("evalsuite_plugin_of_an_earlier_call"))
        register("edited", first)
        assert Registry().comparator("edited") is first
    finally:
        unregister("edited")
