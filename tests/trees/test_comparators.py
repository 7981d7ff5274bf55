"""Comparators: values that a person would call equal, or not; groups of fields and judges; what gives no verdict is no 0."""

import json
import math
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.registry import PART_MODULES
from evalsuite.core.scores import Fault
from evalsuite.trees import (
    BatchItem,
    ComparatorResult,
    CompoundComparator,
    FakeJudge,
    JudgeItem,
    PromptJudge,
    SemanticBatchComparator,
    TreeLimitError,
    evaluate,
    parse_eval_schema,
    propagate_batch_errors,
    register,
    unregister,
)
from evalsuite.trees.batch_comparators import parse_judge_reply
from evalsuite.trees.comparators import BUILTIN, COMPAT, SHIPPED, TRANSFORMS, Registry, check_transform, problem_of, unknown_options
from tests.trees.test_xeval import BEST_FIT, NUMBER, a_list, an_object

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
    """The verdicts of the 460 pairs, alone and in a list that is aligned by it, with the reason for each refusal that gives one."""
    assert sum(map(len, pairs().values())) >= 460
    for line, options, gold, answer, score, reason in pairs()[name]:
        found = COMPARATORS[name](gold, answer, options)
        assert found.score == pytest.approx(score, abs=1e-4), line
        assert found.reason == (None if score == 1 else reason or found.reason), line
        leaf = {"type": "string", "x-eval-compare": {name: options}}
        best = {"type": "array", "x-eval-align": {"match_by": "hungarian"}, "items": leaf}
        schema = {"type": "object", "properties": {"one": leaf, "many": best}}
        whole = evaluate([{"one": gold, "many": [gold] * 3}], [{"one": answer, "many": [answer] * 3}], schema)
        assert whole.mean_f1 == pytest.approx(found.score), line


@pytest.mark.parametrize("name", COMPARATORS)
def test_gold_accepts_itself(name: str) -> None:
    """A value copied from gold is right under every comparator, behind a transform that cannot take it too."""
    options = {"values": ["other"]} if name == "oneof" else {}
    schema = {"type": "string", "x-eval-compare": {name: options}, "x-eval-transform": ["lowercase"]}
    for value in ("10 sccm", "5 wt%", "2 Å/s", "2024", "", "(", None, True, 0, -0.5, 10**400, [], [1, "a"], {}, {"a": None}):
        assert evaluate([{"a": value}], [{"a": value}], {"type": "object", "properties": {"a": schema}}).mean_f1 == 1


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(("name", "options", "pairs"), [
    ("exact", {}, [([1], [True], None), (1, 1.0, "mismatch"), (1, 1, None)]),
    ("numeric", {}, [(None, None, None), (None, 5, "type_error"), (5, None, "type_error"), ("1_0", 10, None), (True, 1, None),
                     ("x", 1, "type_error"), ([1], 1, "type_error"), (1, 2, "values differ without tolerance")]),
    ("numeric", {}, [(NAN, NAN, None), (NAN, 1, "type_error"), (1, NAN, "type_error"), (INF, INF, None)]),
    ("numeric", {"tolerance": {"rel": 0.1}}, [(INF, INF, None), (10, 11, None), (0, 0.1, None), (-10, -11, None),
                                              (0, 0.2, "relative error exceeds 0.1"), (-10, -11.5, "relative error exceeds 0.1")]),
    ("numeric", {"tolerance": {"abs": 1}}, [(10, 11, None), (11, 10, None), (10, 12, "absolute error exceeds 1")]),
    ("oneof", {"values": ["a", 1]}, [("z", "a", None), ("a", "z", "no match in values"), ("a", True, None)]),
])  # fmt: skip
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


@pytest.mark.parametrize(("name", "key", "fine", "wrong", "problem"), [
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
])  # fmt: skip
def test_what_is_said_of_an_option(name: str, key: str, fine: list[Any], wrong: list[Any], problem: str) -> None:
    """Each option takes what its comparator can use, at its bounds too; anything else is named, with what is expected."""
    assert [problem_of(name, {key: value}) for value in fine] == [None] * len(fine)
    assert {problem_of(name, {key: value}) for value in wrong} <= {f"{name}: {problem.format(key)}"}
    assert unknown_options(name, {key: 1, "loc": 2}) == ["loc"]
    # Also one inside a tolerance.
    assert unknown_options("numeric", {"tolerance": {"abs": 1, "relative": 2}, "loc": 1}) == ["loc", "tolerance.relative"]
    assert unknown_options("exact", {"tolerance": 5}) == ["tolerance"]


CONVERT = "type_convert needs 'to': float, int, str or bool"


@pytest.mark.parametrize(("name", "params", "pairs", "problem"), [
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
])  # fmt: skip
def test_transforms(name: str, params: Any, pairs: Any, problem: str | None) -> None:
    """Each gives its value, null for null, or says what it cannot take; parameters are checked before."""
    assert check_transform(name, params) == problem
    for value, expected in pairs:
        try:
            found = TRANSFORMS[name](value, params)
        except (TypeError, ValueError) as error:
            found = str(error)
        assert (type(found), found) == (type(expected), expected), value


def f1(registry: Registry, how: str = "date") -> Any:
    """The F1 of two different texts under a comparator."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-eval-compare": how}}}
    return evaluate([{"a": "x"}], [{"a": "y"}], schema, comparators=registry.comparators).mean_f1


def test_names_of_a_run_of_the_process_and_of_the_package() -> None:
    """A run's own comparator goes before the process's, that before a shipped one; the reference's and the transforms cannot be taken."""

    def always(gold: Any, extracted: Any, params: Any) -> Any:
        return 1

    def never(gold: Any, extracted: Any, params: Any) -> Any:
        return 0

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


OWN = {"type": "string", "x-eval-compare": "own"}


def judged(compare: Any, gold: Any, answer: Any, schema: Any = None, **options: Any) -> Any:
    """(path, status, score, reason) of the rows of a record whose comparator is judged in one batch, and the codes of faults."""
    if not hasattr(compare, "is_batch"):
        compare.is_batch = True
    result = evaluate([gold], [answer], schema or an_object(a=OWN, b=OWN), comparators={"own": compare}, **options)
    [record] = result.records
    return [(r.path, r.status, r.score, r.reason) for r in record.field_results], [fault.detail for fault in result.faults]


@pytest.mark.parametrize(("given", "rows", "faults"), [
    ([ComparatorResult(1.0), ComparatorResult(0.5, "own", "half")],
     [("a", "match", 1.0, None), ("b", "mismatch", 0.5, "half")], []),
    ([ComparatorResult(0.9, "own", "no", skip=True), None], [("a", "skipped", 0.0, "no"), ("b", "batch_error", 0.0, None)], []),
    ([ComparatorResult(1.0)], [("a", "match", 1.0, None), ("b", "batch_error", 0.0, None)], []),
    ([ComparatorResult(1.0)] * 3, [("a", "match", 1.0, None), ("b", "match", 1.0, None)], []),
    ([1, ComparatorResult(1.5)],
     [("a", "batch_error", 0.0, "comparator own gave int, expected a ComparatorResult"),
      ("b", "batch_error", 0.0, "comparator own gave 1.5, expected a number in [0, 1]")],
     ["comparator own gave int, expected a ComparatorResult", "comparator own gave 1.5, expected a number in [0, 1]"]),
    ([Fault(code="JUDGE_FAILED", detail="no route"), ComparatorResult(0.0)],
     [("a", "batch_error", 0.0, "no route"), ("b", "mismatch", 0.0, None)], ["no route"]),
    (5, [("a", "batch_error", 0.0, "comparator own gave int, expected a list"),
         ("b", "batch_error", 0.0, "comparator own gave int, expected a list")], ["comparator own gave int, expected a list"]),
])  # fmt: skip
def test_what_a_batch_gives(given: Any, rows: Any, faults: Any) -> None:
    """A result for each field in order; one that is missing, None or no result leaves its field without a verdict, and says why."""

    def own(items: list[BatchItem]) -> Any:
        assert [(item.path, item.name, item.parent, item.one_sided) for item in items] == [("a", "a", "", ()), ("b", "b", "", ())]
        if isinstance(given, TreeLimitError):
            raise given
        return given

    assert judged(own, {"a": "x", "b": "y"}, {"a": "x", "b": "z"}) == (rows, faults)
    # A limit is no verdict of that field alone.
    given = TreeLimitError("too long", "a")
    with pytest.raises(TreeLimitError, match="a: too long"):
        judged(own, {"a": "x", "b": "y"}, {"a": "x", "b": "z"})


def test_what_a_batch_gets() -> None:
    """Raw and transformed values, parameters, the object of each field and the fields there that only one side has."""
    seen: list[BatchItem] = []

    def own(items: list[BatchItem]) -> Any:
        seen.extend(items)
        return [ComparatorResult(1.0) for _ in items]

    field = {"type": "string", "x-eval-compare": {"own": {"p": 1}}, "x-eval-transform": ["lowercase"]}
    schema = an_object(o=an_object(**{"c": field, "d.e": field, "f": field, "g": field}), t=a_list(field), n=NUMBER)
    judged(own, {"o": {"c": "X", "d.e": "A", "f": "y"}, "t": ["K"], "n": 1}, {"o": {"c": "Z", "d.e": "A", "g": "q"}, "t": ["L"]}, schema)
    assert [(i.path, i.name, i.parent, i.one_sided) for i in seen] == [
        ("o.c", "c", "o", ("f", "g")), ("o.d.e", "d.e", "o", ("f", "g")), ("t[0]", "[]", "t[0]", ()),
    ]  # fmt: skip
    assert (seen[0].gold_raw, seen[0].extracted_raw, seen[0].gold_compared, seen[0].extracted_compared) == ("X", "Z", "x", "z")
    assert seen[0].params == {"p": 1}


def test_the_verdicts_of_a_failed_batch_may_be_left_out() -> None:
    """`propagate_batch_errors` takes every verdict of that comparator back, but not what one side lacks, and no other comparator's."""

    def own(items: list[BatchItem]) -> Any:
        return [ComparatorResult(1.0), None]

    schema = an_object(a=OWN, b=OWN, c=OWN, d={"type": "string"})
    rows, _ = judged(
        own, {"a": "x", "b": "y", "c": "z", "d": "w"}, {"a": "x", "b": "y", "d": "w"}, schema, post_process=propagate_batch_errors
    )
    why = "batch tainted: comparator 'own' had errors in this record — all its results are excluded"
    assert rows == [("a", "batch_error", 0.0, why), ("b", "batch_error", 0.0, why), ("c", "omission", 0.0, None), ("d", "match", 1.0, None)]


def item(path: str, gold: Any, answer: Any, one_sided: tuple[str, ...] | None = ()) -> BatchItem:
    """A field of a compound."""
    if one_sided is None:
        return BatchItem(path, gold, answer, gold, answer, {})
    parent, _, name = path.rpartition(".")
    return BatchItem(path.replace("/", "."), gold, answer, gold, answer, {}, name, parent, one_sided)


MISSING, MATCH, WRONG = "incomplete compound (missing {})", "compound: match", "compound: mismatch"


@pytest.mark.parametrize(("rule", "items", "expected"), [
    ("all_equal", [item("v", 1, 1), item("u", "m", "m")], [(1.0, MATCH), "compound with v"]),
    ("all_equal", [item("v", 1, 1), item("u", "m", "M")], [(0.0, WRONG), "compound with v"]),
    ("all_equal", [item("v", 1, True), item("u", "m", "m")], [(0.0, WRONG), "compound with v"]),
    ("casefold", [item("v", 1, "1"), item("u", "m", "M")], [(1.0, MATCH), "compound with v"]),
    ("fraction", [item("v", 1, 2), item("u", "m", "m")], [(0.5, WRONG), "compound with v"]),
    ("all_equal", [item("u", "m", "m")], [(1.0, MATCH)]),
    ("all_equal", [item("u", "m", "m", ("v",))], [(0.0, MISSING.format(["v"]))]),
    ("all_equal", [item("v", 1, 1, ("u", "w")), item("w", 1, 1, ("u", "w"))],
     [(0.0, MISSING.format(["u", "w"])), "compound with v"]),
    ("all_equal", [item("z", 1, 1), item("z.q", 1, 2)],
     [(1.0, "not a part of this compound: z"), (0.0, "not a part of this compound: q")]),
    ("all_equal", [item("o.v", 1, 1), item("o.u/x", 1, 2)], [(1.0, MATCH), (0.0, "not a part of this compound: u/x")]),
    ("all_equal", [item("a.v", 1, 1), item("b.v", 1, 2), item("a.u", 3, 3), item("b.u", 4, 4)],
     [(1.0, MATCH), (0.0, WRONG), "compound with a.v", "compound with b.v"]),
    ("all_equal", [item("t[0].v", 1, 1, None), item("t[0].u", 1, 1, None), item("t[0].w", 1, 1, None)],
     [(1.0, MATCH), "compound with t[0].v", "compound with t[0].v"]),
    ("all_equal", [item(f"a.{o}.{name}", 1, 1 if name != o else 2, None) for o in "tu" for name in "vuw"],
     [(1.0, MATCH), "compound with a.t.v", "compound with a.t.v", (0.0, WRONG), "compound with a.u.v", "compound with a.u.v"]),
    ("all_equal", [item("t[0].v", 1, 1, None), item("t[0].u", 1, 1, None)], [(0.0, MISSING.format(["w"]))] * 2),
    ("all_equal", [item("v", 1, 1, None), item("u", 2, 2, None), item("w", 3, 4, None), item("x", 1, 1, None)],
     [(0.0, WRONG), "compound with v", "compound with v", "compound with v"]),
])  # fmt: skip
def test_a_compound(rule: Any, items: list[BatchItem], expected: list[Any]) -> None:
    """The primary field, or the first there is, has the score of its object's parts; the others are left out of all numbers."""
    found = CompoundComparator(["v", "u", "w"], "v", "own", rule)(items)
    shown = [one.reason if one.skip else (one.score, one.reason) for one in found if one is not None]
    assert shown == expected


def test_a_compound_is_made_of_its_own_fields_and_a_rule() -> None:
    """Another primary or rule is refused; a function gives a share, or a result."""
    with pytest.raises(ValueError, match=r"primary 'w' is not among the fields \['v', 'u'\]"):
        CompoundComparator(["v", "u"], "w")
    with pytest.raises(ValueError, match="unknown rule 'all': one of all_equal, casefold, fraction"):
        CompoundComparator(["v"], "v", compare="all")  # type: ignore[arg-type]
    for made in (lambda *_: 0.25, lambda *_: ComparatorResult(0.25, "x")):
        [found] = CompoundComparator(["v"], "v", compare=made)([item("v", 1, 2)])
        assert found == ComparatorResult(0.25, "compound", "compound: mismatch")


def test_a_semantic_comparator() -> None:
    """Equal values need no judge; the others are judged in one call, and what it does not answer has no verdict."""
    calls: list[list[JudgeItem]] = []

    def judge(items: list[JudgeItem]) -> Any:
        calls.append(items)
        return [1, 0.5, None, Fault(code="JUDGE_FAILED", detail="x")]

    compare = SemanticBatchComparator(judge, "own")
    items = [item(name, gold, answer) for name, gold, answer in (
        ("a", "x", "x"), ("b", 1, 1.0), ("c", "x", "y"), ("d", "x", "z"), ("e", "x", "w"), ("f", "x", "v"), ("g", [1], [True]),
    )]  # fmt: skip
    found = compare(items)
    exact, match, mismatch = (
        ComparatorResult(score, "own", why) for score, why in ((1.0, "exact"), (1.0, "judge match"), (0.5, "judge mismatch"))
    )
    assert found == [exact, match, mismatch, None, Fault(code="JUDGE_FAILED", detail="x"), None, exact]
    assert calls == [[JudgeItem(i.path, i.gold_raw, i.extracted_raw) for i in items[1:6]]]
    assert compare(items[:1]) == [exact]
    assert len(calls) == 1
    [fault] = SemanticBatchComparator(lambda _: 5)(items[1:2])
    assert isinstance(fault, Fault)
    assert fault.detail == "judge of semantic gave int, expected a list"


def test_a_judge_of_prompts() -> None:
    """Pairs are sent once, those without a verdict again; a template needs their place. That for tests has a table, a default, equality."""
    prompts: list[str] = []
    replies = iter(['{"results": [1, "x"]}', '{"results": [0]}'])

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return next(replies)

    judge = PromptJudge(ask, template="{{}} {pairs}", model="m")
    items = [JudgeItem("p", "a", "b"), JudgeItem("q", 5, [1]), JudgeItem("p", "a", "b")]
    assert judge.judge_batch(items) == [1.0, None, 1.0]
    assert prompts == ["{} 1. field='p' gold='a' extracted='b'\n2. field='q' gold='5' extracted='[1]'"]
    assert judge.judge_batch(items) == [1.0, 0.0, 1.0]
    assert judge.judge_batch(items) == [1.0, 0.0, 1.0]
    assert prompts[1:] == ["{} 1. field='q' gold='5' extracted='[1]'"]
    assert judge.known == {("m", "p", "a", "b"): 1.0, ("m", "q", "5", "[1]"): 0.0}
    with pytest.raises(ValueError, match=r"the template must contain \{pairs\}"):
        PromptJudge(ask, template="pairs")
    assert "In doubt say 0" in PromptJudge(ask).template
    judge = FakeJudge({("a", "b"): 0.75, ('{"x": 1, "y": 2}', "[1]"): 1.0})
    items = [JudgeItem("p", *pair) for pair in (("a", "b"), (" A ", "a"), ("a", "c"), ({"y": 2, "x": 1}, [1]), (1, "1"))]
    assert judge.judge_batch(items) == [0.75, 1.0, 0.0, 1.0, 1.0]
    assert judge.calls == [items]
    assert FakeJudge({("a", "b"): 0.75}, 0.5).judge_batch(items[:3]) == [0.75, 0.5, 0.5]
    assert FakeJudge(default_score=0.0).judge_batch(items[1:2]) == [0.0]


@pytest.mark.parametrize(("reply", "scores"), [
    ('{"results": [1, 0, true, false, "1", " TRUE ", "0", "False", "no", null, 2, 0.5, 1.0, [1]]}',
     [1, 0, 1, 0, 1, 1, 0, 0, None, None, None, None, 1, None]),
    ('```json\n{"results": [1]}\n```', [1]),
    ('```\n{"results": [0]}```', [0]), ('```json{"results": [0]}', [0]), ('  {"results": []} ', []),
    ("no", []), ("[" * 100_000, []), ("[1]", []), ('{"result": [1]}', []), ('{"results": 1}', []), ("```", []),
])  # fmt: skip
def test_the_reply_of_a_judge(reply: str, scores: list[Any]) -> None:
    """Verdicts in fences or not, as numbers, booleans or texts; [] without results."""
    assert parse_judge_reply(reply) == scores


def test_pairs_of_elements_are_judged_once_and_chosen_by_their_verdicts() -> None:
    """In a best fit an independent judge is called once for all pairs; a record is not judged again for another rate."""
    calls: list[int] = []

    class Judge(FakeJudge):
        def judge_batch(self, items: list[JudgeItem]) -> list[float]:
            calls.append(len(items))
            return super().judge_batch(items)

    schema = an_object(t=a_list(an_object(k=OWN, n=NUMBER), align=BEST_FIT), k=OWN)
    gold = {"t": [{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "c", "n": 3}], "k": "d"}
    answer = {"t": [{"k": "B", "n": 2}, {"k": "x", "n": 1}, {"k": "C", "n": 9}], "k": "e"}
    rows, _ = judged(SemanticBatchComparator(Judge(), "own"), gold, answer, schema)
    assert [(path, status) for path, status, *_ in rows] == [
        ("t[0].k", "mismatch"), ("t[0].n", "match"), ("t[1].k", "match"), ("t[1].n", "match"), ("t[2].k", "match"), ("t[2].n", "mismatch"),
        ("k", "mismatch"),
    ]  # fmt: skip
    assert calls == [9, 1]
    sizes: list[int] = []

    def own(items: list[BatchItem]) -> Any:
        sizes.append(len(items))
        return [ComparatorResult(float(item.gold_raw == item.extracted_raw.lower())) for item in items]

    for compat in (False, True):
        found, _ = judged(own, gold, answer, schema, compat=compat)
        assert [row[:2] for row in found] == [row[:2] for row in rows]
        assert sizes == [1] * 10
        sizes.clear()
