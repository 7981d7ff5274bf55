"""The parameters of a check are those of its scorer's signature, by name and type; contexts of plugins end with their block."""

import math
import os
import py_compile
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from evalsuite.core import plugin_calls, registry
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import EvalsuiteError, FaultError, UsageError
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.scores import Within
from evalsuite.core.types import BROKEN_RECORD, Fault, Score
from evalsuite.scorers import SCORERS

# Annotation -> (its words, values of this type, values of another one).
TYPES: list[tuple[Any, str, list[Any], list[Any]]] = [
    (str, "text", ["", "x"], [1, None, ["x"]]),
    (int, "integer", [0, -3], [1.0, True, "1", None]),
    (float, "number", [0, 1.5], [False, "1.5", None]),
    (bool, "true or false", [True, False], [1, 0, "true"]),
    (None, "null", [None], [0, "", False]),
    (Any, "anything", [None, 1, "x", [1]], []),
    (Literal["a", 3], "'a' or 3", ["a", 3], ["b", None, 4]),
    (str | None, "text or null", ["", None], [0]),
    (list[int], "list of integer", [[], [1], (1,)], [[1.0], [True], 1, "1"]),
    (str | list[str], "text or list of text", ["x", [], ["x", "y"], ("x",)], [1, [1], ["x", None], {"x": "y"}]),
    (Sequence[int] | None, "list of integer or null", [[1, 2], None], [[1.5], [True], 1, "12"]),
    (dict[str, float], "object of number", [{}, {"a": 1}], [{"a": "1"}, {1: 1}, [1]]),
    (Annotated[int, Within(-1, 10**6)] | None, "integer from -1 to 1000000 or null", [-1, 10**6, None], [-2, 10**6 + 1, 0.5, True]),
    (
        dict[str, Annotated[float, Within(0)]],
        "object of number of at least 0",
        [{"a": 0}],
        [{"a": -0.1}, {"a": math.nan}, {"a": math.inf}, 1],
    ),
    (Mapping[str, float], "object of number", [{}, {"a": 1}], [{"a": "1"}, [], "a"]),
]


@pytest.mark.parametrize(("annotation", "words", "right", "wrong"), TYPES)
def test_types_of_json_values(annotation: Any, words: str, right: list[Any], wrong: list[Any]) -> None:
    """A truth value is no number, an integer is; a list or an object is of its type if all its values are."""
    assert [value for value in right if not registry.fits(value, annotation)] == []
    assert [value for value in wrong if registry.fits(value, annotation)] == []
    expected = "null" if annotation is None else words
    assert registry.readable(type(None) if annotation is None else annotation) == expected


@registry.scorer(reads="text", validate=lambda parameters: [registry.Problem(code="BAD_SPEC", message=f"saw {sorted(parameters)}")])
def by_size(prediction: str, *, gold: str | list[str], size: int = 3) -> Score:
    """A scorer with one parameter that must be given."""
    return Score(official=float(len(prediction) == size))


ENTRY = registry.Scorer(name="by_size", function=by_size, marker=by_size.__evalsuite__, summary="")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("parameters", "messages", "blocks"),
    [
        ({"gold": "x"}, ["saw ['gold']"], [2]),
        ({"gold": "x", "size": 4}, ["saw ['gold', 'size']"], [2]),
        ({"gold": "x", "size": "4"}, ["parameter 'size' of by_size must be integer, found str"], [2]),
        ({"size": 4}, ["by_size needs the parameter 'gold'"], [2]),
        ({"gold": "x", "result": 4}, ["parameter 'result' of by_size is ignored", "saw ['gold']"], [0, 2]),
        ({"gold": "x", "database": ""}, ["parameter 'database' of by_size must be text, found str"], [2]),
        ({"gold": "x", "database": "shop"}, ["saw ['gold']"], [2]),
        ({"gold": "x", "sise": 4}, ["unknown parameter 'sise' of by_size", "saw ['gold']"], [1, 2]),
    ],
)
def test_problems_of_parameters(parameters: dict[str, Any], messages: list[str], blocks: list[int]) -> None:
    """Unknown ones block official alone, others both, each with its place; what gets its value later is not looked at."""
    found = registry.check_parameters(ENTRY, parameters, where="eval.jsonl:4")
    assert [problem.message for problem in found] == messages
    assert [len(problem.blocks) for problem in found] == blocks
    assert {problem.where for problem in found} == {"eval.jsonl:4"}
    assert [problem.hint for problem in found if "sise" in problem.message] == ["did you mean 'size'?"] * ("sise" in parameters)
    later = registry.check_parameters(ENTRY, {**parameters, "size": "?"}, later=("size", "sise"))
    assert all("size" not in problem.message.partition("by_size")[0] and "sise" not in problem.message for problem in later)


def test_parameters_and_places_of_their_own() -> None:
    """A scorer may have a parameter of such a name; what its validation says of a place goes before the check's."""

    def own(prediction: str, *, result: int, database: int) -> Score:
        return Score(official=1.0)

    entry = replace(ENTRY, function=own)
    assert [one.message for one in registry.check_parameters(entry, {"result": "x", "database": "x"})] == [
        "parameter 'result' of by_size must be integer, found str",
        "parameter 'database' of by_size must be integer, found str",
    ]
    assert [one.message for one in registry.check_parameters(entry, {"result": 1, "database": 2})] == ["saw ['database', 'result']"]
    placed = replace(ENTRY.marker, validate=lambda _: [registry.Problem(code="BAD_SPEC", message="m", where="other:1")])
    assert [one.where for one in registry.check_parameters(replace(ENTRY, marker=placed), {"gold": "x"}, where="eval.jsonl:4")] == [
        "other:1"
    ]


@pytest.mark.parametrize(
    ("rows", "right"),
    [
        ([], True),
        ([{"n": 0, "share": 0.5, "name": "x"}, {"n": 2, "share": None, "name": "", "more": 1}], True),
        ([{"n": -1, "share": 0.5, "name": "x"}], False),
        ([{"n": 1, "share": 0.5, "name": "x"}, {"n": True, "share": 0.5, "name": "x"}], False),
        ([{"n": 1, "share": 1.5, "name": "x"}], False),
        ([{"n": 1, "share": -0.1, "name": "x"}], False),
        ([{"n": 1, "share": 0.1}], False),
        ([["n", 1]], False),
        (["row"], False),
        ({"n": 1, "share": 0.1, "name": "x"}, False),
        (None, False),
    ],
)
def test_rows_of_details(rows: Any, right: bool) -> None:
    """Objects with a value of the right type for each key; a count is at least 0, a share from 0 to 1 or null."""
    assert registry.are_rows(rows, {"n": int, "share": registry.SHARE, "name": str}) is right
    bounds = [{"n": 0, "share": value, "name": "x"} for value in (0, 1)]
    assert registry.are_rows(bounds, {"n": int, "share": registry.SHARE, "name": str})


OTHER_RANGE = "; range=None in @scorer keeps its own scale, range=(low, high) names another"


@pytest.mark.parametrize(
    ("value", "ends", "expected"),
    [
        (0.25, (0, 1), (0.25, "mine says 0.25", {})),
        (True, (0, 1), (1.0, "mine says 1", {})),
        (np.float32(0.5), (0, 1), (0.5, "mine says 0.5", {})),
        (SimpleNamespace(score=3, category=SimpleNamespace(name="good")), (1, 5), (0.5, "mine says 3", {"category": "good", "raw": 3.0})),
        (SimpleNamespace(score=0, category="poor"), (0, 1), (0.0, "mine says 0", {"category": "poor"})),
        (7, None, (None, "mine says 7", {"raw": 7.0})),
        (
            1.5,
            (0, 1),
            "mine gave 1.5, expected a number in [0, 1]; range=None in @scorer keeps its own scale, range=(low, high) names another",
        ),
        (6, (1, 5), "mine gave 6, expected a number in [1, 5]"),
        (math.nan, (0, 1), f"mine gave nan, expected a number in [0, 1]{OTHER_RANGE}"),
        (10**400, None, "mine gave inf, expected a finite number"),
        (-(10**400), None, "mine gave -inf, expected a finite number"),
        ("1", (0, 1), "mine gave str, expected a number"),
        (np.ones(1), (0, 1), "mine gave ndarray, expected a number"),
        (Score(official=2.0), (0, 1), "mine gave 2, expected a number in [0, 1]"),
        (Score(official=1.0, strict="x"), (0, 1), "mine gave str, expected a number in [0, 1]"),  # type: ignore[arg-type]
        (Score(official=1.0, flip=None), (0, 1), "mine gave flip as NoneType, expected text"),  # type: ignore[arg-type]
        (Score(official=1.0, strict_reason=3), (0, 1), "mine gave strict_reason as int, expected text"),  # type: ignore[arg-type]
        (Score(official=None, fault=Fault(code="MINE")), (0, 1), "mine gave a fault that is none of the known codes"),
        (Score(official=1.0, details=[1]), (0, 1), "mine gave details as list, expected a mapping"),  # type: ignore[arg-type]
        (2e300, None, "mine gave 2e+300, expected a finite number up to 1e+300"),
        *(
            (Score(official=official, details=details), None, f"mine gave details[{next(iter(details))!r}] as {expected}")
            for official in (1.0, None)
            for details, expected in [
                ({"raw": math.nan}, "str, expected a finite number up to 1e+300"),
                ({"raw": True}, "bool, expected a finite number up to 1e+300"),
                ({"raw": -2e300}, "float, expected a finite number up to 1e+300"),
                ({"flip": 3}, "int, expected text"),
                ({"notes": "x"}, "str, expected a list of texts"),
                ({"warnings": ["x", 1]}, "list, expected a list of texts"),
                ({"reasons": {"a": None}}, "dict, expected an object of texts"),
                ({"beside": {}}, "dict, expected another key: this one is for the suite's further scorers"),
            ]
        ),
    ],
)
def test_values_of_a_plugin(value: Any, ends: tuple[float, float] | None, expected: Any) -> None:
    """A number between the ends is a share of them, on a scale of its own it has no score; anything else names what came."""
    if isinstance(expected, str):
        with pytest.raises(FaultError) as refused:
            plugin_calls.score_of("mine", value, ends)
        assert (refused.value.fault.code, str(refused.value)) == ("SCORER_ERROR", expected)
        return
    found = plugin_calls.score_of("mine", value, ends)
    assert (found.official, found.reason, found.details) == expected
    assert (found.strict, found.fault, found.strict_fault) == (found.official, None, None)


def test_scores_and_broken_records_of_a_plugin() -> None:
    """Details become JSON, no value is a fault unless it is on its own scale; no tree has a record that could not be read."""
    silent = Fault(code="SCORER_ERROR", detail="mine gave no value")
    late = Fault(code="TIMEOUT")
    whole = Score(official=0.5, strict=None, reason="r", strict_reason="s", flip="f", details={"at": Path("x"), "n": math.nan})
    assert plugin_calls.score_of("mine", whole) == replace(whole, strict_fault=silent, details={"at": "x", "n": "NaN"})
    assert plugin_calls.score_of("mine", Score(official=None, strict=1.0)).fault == silent
    assert plugin_calls.score_of("mine", Score(official=None, details={"raw": None}), None).fault == silent
    assert plugin_calls.score_of("mine", replace(whole, official=None, fault=late, strict_fault=late)).fault == late
    raw = Score(official=None, details={"raw": 3})
    assert (
        plugin_calls.score_of("mine", raw, None),
        plugin_calls.score_of("mine", raw).fault,
        plugin_calls.score_of("mine", replace(raw, details={}), None).fault,
    ) == (
        raw,
        silent,
        silent,
    )
    assert plugin_calls.score_of("mine", replace(raw, fault=late), None).strict_fault == silent
    assert plugin_calls.with_raw("mine", 0.25).details == {"raw": 0.25}
    assert plugin_calls.with_raw("mine", SimpleNamespace(score=1, category="good")).details == {"raw": 1.0, "category": "good"}
    blank, broken = {BROKEN_RECORD: {}}, {BROKEN_RECORD: {"cause": "no value", "line": 7}}
    for value, kept in (
        (3, 3),
        ({"a": 1}, {"a": 1}),
        (blank, blank),
        ([1, "x", [BROKEN_RECORD], {"a": 1}, blank], [1, "x", [BROKEN_RECORD], {"a": 1}]),
        ([{BROKEN_RECORD: {"cause": "x"}, "a": 1}], []),
        ([{BROKEN_RECORD: "cause"}], []),
    ):
        assert registry.refuse_broken(value) == kept
    seen: list[Any] = []
    marked = registry.scorer(reads="tree")(lambda prediction: Score(official=float(seen.append(prediction) is None)))
    foreign = registry.Scorer(name="mine", function=marked, marker=marked.__evalsuite__, summary="", is_foreign=True)  # type: ignore[attr-defined]
    assert (foreign.score([1, blank]).official, seen) == (1.0, [[1]])
    all_of = replace(foreign, function=lambda *arguments: Score(official=float(seen.append(arguments) is None)))
    assert (all_of.score(1, 2, 3).official, seen.pop()) == (1.0, (1, 2, 3))
    assert (replace(foreign, is_foreign=False).score([blank]).official, seen) == (1.0, [[1], [blank]])
    for value in (broken, [1, broken]):
        with pytest.raises(FaultError, match="line 7: no value") as refused:
            foreign.score(value)
        assert refused.value.fault.code == "BAD_JSON"


def test_markers_and_contexts() -> None:
    """A foreign scorer that fails is a problem, ours raises; permission and time of programs end with their block."""
    for options, why in (({"range": (1.0, 1.0)}, "range cannot be"), ({"reads": "mind"}, "reads cannot be 'mind'")):
        with pytest.raises(UsageError, match=why):
            registry.scorer(**{"reads": "text", **options})
    made = registry.scorer(reads="text", direction="lower", range=None)(lambda _: Score(official=1.0)).__evalsuite__  # type: ignore[attr-defined]
    assert (made.direction, made.raw_direction, made.range) == ("lower", "lower", None)
    other = registry.scorer(reads="text", direction="lower", raw_direction="higher")(lambda _: Score(official=1.0))
    assert other.__evalsuite__.raw_direction == "higher"  # type: ignore[attr-defined]

    def entry(is_foreign: bool = True, **options: Any) -> registry.Scorer:
        return replace(ENTRY, marker=replace(ENTRY.marker, **{"validate": None, **options}), is_foreign=is_foreign)

    for is_foreign in (True, False):
        asking = entry(is_foreign, asks=lambda parameters: parameters["n"] > 1)
        assert [entry(is_foreign).asks_judge({}), asking.asks_judge({"n": 1}), asking.asks_judge({"n": 2})] == [False, False, True]
    with pytest.raises(FaultError, match="by_size: asks raised KeyError"):
        entry(asks=lambda parameters: parameters["n"]).asks_judge({})
    assert entry().problems({}) == []
    failed = entry(validate=lambda _: 1 / 0).problems({})  # type: ignore[arg-type, return-value]
    assert [(one.code, one.message.partition(" at ")[0]) for one in failed] == [
        ("SCORER_ERROR", "by_size: validate raised ZeroDivisionError")
    ]
    strange = entry(validate=lambda _: ["no"]).problems({})  # type: ignore[arg-type, list-item, return-value]
    assert strange == [registry.Problem(code="SCORER_ERROR", message="by_size: validate gave str, expected a Problem")]
    assert (plugin_calls.PROGRAMS_ALLOWED.get(), plugin_calls.PROGRAM_BUDGET.get(), plugin_calls.ProgramBudget().seconds) == (
        False,
        None,
        math.inf,
    )
    with plugin_calls.allowing_programs(True, seconds=5):
        outer = plugin_calls.PROGRAM_BUDGET.get()
        assert outer is not None
        with plugin_calls.allowing_programs(False):
            assert (plugin_calls.PROGRAMS_ALLOWED.get(), plugin_calls.PROGRAM_BUDGET.get()) == (False, outer)
        assert (plugin_calls.PROGRAMS_ALLOWED.get(), outer.seconds) == (True, 5)
    assert (plugin_calls.PROGRAMS_ALLOWED.get(), plugin_calls.PROGRAM_BUDGET.get()) == (False, None)
    score = Score(official=1.0, strict=0.5, reason="r")
    assert plugin_calls.report_official(score) is score
    with plugin_calls.official_only(), pytest.raises(plugin_calls.OfficialError, match="r") as ended:
        plugin_calls.report_official(score)
    assert ended.value.score is score
    assert plugin_calls.report_official(score) is score
    late = plugin_calls.late_strict(score)
    assert (late.official, late.strict, late.strict_fault and late.strict_fault.code) == (1.0, None, "TIMEOUT")


class Recorder:
    """A plugin's `run_batch` that notes its calls; texts are numbers, `x` is none."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def run_batch(self, predictions: list[str], golds: list[Any] | None, questions: list[str], contexts: list[str]) -> list[float]:
        """One value less for an empty text."""
        self.calls.append((predictions, golds, questions, contexts))
        return [float(text) for text in predictions if text]


def test_batches() -> None:
    """All answers are run together, a bad one costs only its own; values beyond 1 are on their own scale; so with functions."""
    made = Recorder()
    batch = registry.PluginBatch("mine", made)
    for text in ("0.5", "1", "0.5"):
        batch.add(text, {"gold": None, "question": "q", "other": 1})
    assert [batch.value_of(registry.Case(prediction=text, question="q")) for text in ("1", "0.5", "0.5")] == [1, 0.5, 0.5]
    assert made.calls == [(["0.5", "1", "0.5"], None, ["q"] * 3, [""] * 3)]
    assert batch.is_within
    assert batch.value_of(registry.Case(prediction="7", gold="g", context="c")) == 7
    assert (made.calls[1:], batch.is_within) == ([(["7"], ["g"], [""], ["c"])], False)
    made = Recorder()
    batch = registry.PluginBatch("mine", made)
    for text in ("x", "0.25", ""):
        batch.add(text, {"gold": "g"})
    assert batch.value_of(registry.Case(prediction="0.25", gold="g")) == 0.25
    with pytest.raises(FaultError, match="run_batch gave 0 values for 1 answer"):
        batch.value_of(registry.Case(prediction="", gold="g"))
    assert [len(call[0]) for call in made.calls] == [3, 1, 1]
    wide = registry.PluginBatch("mine", Recorder)
    for text in ("2", "0.5"):
        wide.add(text, {})
    assert (wide.value_of(registry.Case(prediction="0.5")), wide.is_within) == (0.5, False)
    batch = registry.FunctionBatch(lambda text, gold: (text, gold))
    assert batch.run_batch(["a", "b"], ["x", None], []) == [("a", "x"), ("b", None)]
    assert batch.run_batch(["a", "b"], None) == [("a", None), ("b", None)]


PLUGIN = '''
from pathlib import Path
from evalsuite.core.registry import scorer
from evalsuite.core.types import Score
from evalsuite.scorers import SCORERS
from evalsuite.scorers.text_match import string_match

Path(__file__).with_suffix(".log").open("a").write("imported ")

def helper():
    """Neither this nor the imported scorer is one of this file."""

@scorer(reads="text")
def loud(prediction, *, gold):
    """1 for capitals.

    And more.
    """
    return Score(official=float(prediction == gold.upper()))

class Length:
    @staticmethod
    def name():
        return "length"

    def run_batch(self, predictions, golds, questions, contexts):
        return [float(len(text) > 1) for text in predictions]
'''


@pytest.fixture
def own() -> registry.Registry:
    """A registry with one bundled scorer."""
    bundled = {"string_match": SCORERS.bundled["string_match"]}
    return registry.Registry(bundled, metric_scorer=ImportRef("evalsuite.scorers.metrics.scorer:metric_scorer"), group="evalsuite.nothing")


def test_scorers_of_a_file(own: registry.Registry, tmp_path: Path) -> None:
    """Functions and classes under their own names, in another process by the same names; the file's code is in the hash."""
    file = tmp_path / "my.py"
    file.write_text(PLUGIN)
    assert own.load_file(file) == ["loud", "length"]
    assert own.names() == ["string_match", "loud", "length"]
    assert (own.load("loud").summary, own.load("loud").is_foreign, own.load("string_match").is_foreign) == ("1 for capitals.", True, False)
    assert [own.load("loud").score(text, gold="x").official for text in ("X", "x")] == [1.0, 0.0]
    assert (own.plugin_batch("loud"), own.plugin_batch("string_match")) == (None, None)
    batch = own.plugin_batch("length")
    assert batch is not None
    assert [batch.value_of(registry.Case(prediction=text)) for text in ("ab", "a")] == [1.0, 0.0]
    other = registry.Registry(own.bundled, metric_scorer=ImportRef("x:y"), group="evalsuite.nothing")
    other.register_all(own.registered_plugins(), {})
    assert other.names() == own.names()
    for name, attribute, summary in (("plain", "helper", "Neither this nor"), ("long", "Length", "a plugin's scorer")):
        other.register(name, file, attribute)
        assert other.load(name).summary.startswith(summary)
    own.register("loud", file, "loud")
    before = own.code_hash(["loud"])
    assert (own.code_hash(["string_match"]), len(before), own.code_hash(["length"]) == before) == ("", 12, False)
    file.write_text(PLUGIN + "#")
    assert own.code_hash(["loud"]) == before
    own.begin_call()
    own.load_file(file)
    assert own.code_hash(["loud"]) != before


def test_the_code_of_an_object_of_this_process(own: registry.Registry) -> None:
    """A function counts by its source, an object by that of its class and by its simple attributes."""

    class Base:
        name = "mine"

        def __init__(self, base: float) -> None:
            self.base = base

        def run_batch(self, predictions: list[str], *_: Any) -> list[float]:
            return [self.base for _ in predictions]

    class Other(Base):
        """Of another source."""

    def mine(prediction: str, gold: str) -> float:
        return float(prediction == gold)

    hashes = []
    for value in (mine, lambda *_: 1.0, Base(0.5), Base(0.5), Base(0.75), Other(0.5)):
        if not hasattr(value, "run_batch"):
            value.__name__ = "mine"
        own.register_object(value)
        hashes.append(own.code_hash(["mine"]))
    assert hashes[2] == hashes[3]
    assert len({*hashes}) == 5


def test_a_file_edited_between_two_calls_runs_as_it_is(own: registry.Registry, tmp_path: Path) -> None:
    """Even if size and time are the same (Python then takes its compiled file); a call and its workers keep the code it began with."""
    file = tmp_path / "my.py"

    def score_of_call(code: str) -> float | None:
        file.write_text(PLUGIN.replace("prediction == gold.upper()", code))
        os.utime(file, ns=(10**18, 10**18))
        own.begin_call()
        own.load_file(file)
        return own.load("loud").score("x", gold="x").official

    assert score_of_call("True or 1") == 1
    plugins = [*own.registered_plugins()]
    assert score_of_call("False + 0") == 0
    worker = registry.Registry(own.bundled, metric_scorer=ImportRef("x:y"), group="evalsuite.nothing")
    worker.register_all(plugins, {})
    assert worker.load("loud").score("x", gold="x").official == 1


@pytest.mark.parametrize("module", ["neighbour.py", "neighbour/__init__.py"])
@pytest.mark.parametrize("folders", [("a", "b"), ("a", "a/b"), ("b/a", "b")])
def test_a_neighbour_of_a_plugin_is_that_of_its_folder(
    own: registry.Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: tuple[str, str], module: str
) -> None:
    """Modules of one name next to two plugins are two, one folder in the other or not; an edited one is imported again."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    head = "import sys\nsys.path.insert(0, __file__.removesuffix('my.py'))\nimport neighbour\n"
    for folder, value in zip(folders, (1, 0), strict=True):
        (tmp_path / folder / module).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "my.py").write_text(head + PLUGIN.replace("prediction == gold.upper()", "neighbour.VALUE"))
        (tmp_path / folder / module).write_text(f"VALUE = {value}\n")

    def score_of_call(folder: str) -> float | None:
        own.begin_call()
        own.load_file(tmp_path / folder / "my.py")
        return own.load("loud").score("x", gold="x").official

    assert [score_of_call(folder) for folder in folders * 2] == [1, 0, 1, 0]
    edited = tmp_path / folders[0] / module
    for code, score in (("1 / 2", 0.5), ("0 / 2", 0)):
        edited.write_text(f"VALUE = {code}\n")
        os.utime(edited, ns=(10**18, 10**18))
        # Python's own cache then has a file of this size and time, here as another program left it.
        if score:
            py_compile.compile(str(edited))
        assert [score_of_call(folder) for folder in folders] == [score, 0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1\ny = 1 / 0\n", "my.py:2: ZeroDivisionError: division by zero"),
        ("import nowhere.x\n", "my.py:1: ModuleNotFoundError: No module named 'nowhere'"),
        ("x = (\n", "my.py:1: SyntaxError: '(' was never closed (my.py, line 1)"),
        ("x = 1\nraise SystemExit(3)\n", "my.py:2: SystemExit: 3"),
        ("raise BaseException\n", "my.py:1: BaseException"),
        ("\nx = '\0'\n", "my.py:1: "),
        ("from evalsuite import scorer\n@scorer\ndef x(p): ...\n", "my.py:2: TypeError: scorer() takes 0 positional"),
        ("from evalsuite.core.registry import scorer\n\nscorer(reads='nothing')\n", "my.py:3: reads cannot be 'nothing'"),
        (
            "from evalsuite.core.registry import scorer\n@scorer(reads='text')\ndef odd(prediction: 'Absent'): ...\n",
            "odd: its signature raised NameError",
        ),
    ],
)
def test_files_that_fail(own: registry.Registry, tmp_path: Path, text: str, why: str) -> None:
    """The line of the file and the error; an annotation is looked up when the scorer is loaded."""
    file = tmp_path / "my.py"
    file.write_text(text)
    before = {*sys.modules}
    with pytest.raises(UsageError) as failed:
        [own.load(name) for name in own.load_file(file)]
    assert failed.value.message.removeprefix(f"{tmp_path}/").startswith(why)
    assert ("install 'nowhere'" in failed.value.hint) is ("No module named" in why)
    assert [name for name in {*sys.modules} - before if name.startswith("evalsuite_plugin_")] == [] or "odd" in why
    (tmp_path / "my.txt").write_text("")
    with pytest.raises(UsageError, match="not a Python file"):
        own.load_file(tmp_path / "my.txt")


def test_a_file_may_only_have_parts(own: registry.Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparator of trees makes a file a plugin, known to workers by its path: files of one name in two folders are two."""
    monkeypatch.setattr(registry, "PART_MODULES", set())
    files = [tmp_path / "near.py", tmp_path / "far" / "near.py"]
    files[1].parent.mkdir()
    for file in files:
        file.write_text("from evalsuite.core import registry\nregistry.PART_MODULES.add(__name__)\n")
        assert own.load_file(file) == []
    assert [*own.additions.parts.values()] == files
    other = registry.Registry(
        own.bundled, metric_scorer=ImportRef("evalsuite.scorers.metrics.scorer:metric_scorer"), group="evalsuite.nothing"
    )
    other.register_all(own.registered_plugins(), {"near": {"bleu": {}}})
    assert (other.additions.parts, other.additions.metrics) == (own.additions.parts, {"near": {"bleu": {}}})
    assert len(registry.PART_MODULES) == 2
    own.begin_call()
    assert not registry.PART_MODULES
    assert own.load_file(files[0]) == []


def test_metrics_and_classes_with_options_of_their_own(own: registry.Registry, tmp_path: Path) -> None:
    """A wrong option is an error at once; of a class one value alone is a share, beyond 1 all are on their own scale."""
    with pytest.raises(EvalsuiteError, match="unknown option 'ordr'"):
        own.register_metric("near", {"chrf": {"ordr": 1}})
    assert own.names() == ["string_match"]
    values = []
    for order in (1, 6, 6):
        own.register_metric("near", {"chrf": {"char_order": order}})
        values.append(own.load("near").score("the cat", gold="the hat").official)
    assert values[0] > values[1] == values[2]
    assert (own.load("near").is_foreign, own.code_hash(["near"])) == (False, "")
    file = tmp_path / "my.py"
    file.write_text(PLUGIN.replace("float(len(text) > 1)", "len(text) / 2"))
    own.load_file(file)
    length = own.load("length")
    alone = length.score("ab")
    assert (alone.official, alone.details) == (1.0, {"raw": 1.0})
    batch = own.plugin_batch("length")
    assert batch is not None
    for text in ("a", "abc"):
        batch.add(text, {})
    assert [length.score(text, batch).details for text in ("a", "abc")] == [{"raw": 0.5}, {"raw": 1.5}]


def test_scorers_made_in_this_process(own: registry.Registry) -> None:
    """A function or an object with `run_batch`, the newest under a name; a class, a number and a bundled name are none."""

    def same(prediction: str, gold: str) -> float:
        return float(prediction == gold)

    def string_match(prediction: str, gold: str) -> float:
        return 0.0

    assert own.register_object(same) == "same"
    first = own.load("same")
    assert own.register_object(same) == "same"
    assert own.load("same") is first
    made = Recorder()
    made.name = "same"  # type: ignore[attr-defined]
    assert (own.register_object(made), own.load("same") is first) == ("same", False)
    for value, why in ((Recorder, "is not a scorer"), (3, "is not a scorer"), (string_match, "is a bundled scorer's")):
        with pytest.raises(UsageError, match=why):
            own.register_object(value)
    with own.using({"other": same}):
        assert (own.names(), own.load("other").function("x", gold="x").official) == (["string_match", "other"], 1.0)
        with own.using({}), pytest.raises(registry.UnknownScorerError):
            own.load("other")
        assert "other" in own.names()
    assert own.names() == ["string_match", "same"]
    size = own.code_hash(["same"])
    made.size = 3  # type: ignore[attr-defined]
    assert own.code_hash(["same"]) != size


def test_installed_packages_and_names_that_are_taken(own: registry.Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package's version is in the hash, one that fails is named; names of other scorers are taken, absent ones said."""
    version = SimpleNamespace(version="1")
    good = SimpleNamespace(name="theirs", value="pack:f", dist=version, load=lambda: by_size)
    bad = SimpleNamespace(name="broken", value="pack:g", dist=None, load=lambda: 1 / 0)
    monkeypatch.setattr(
        "evalsuite.core.registry._installed_entry_points", lambda group: (good, bad) if group == "evalsuite.nothing" else ()
    )
    assert own.names() == ["string_match", "theirs", "broken"]
    assert own.load("theirs").function is by_size
    with pytest.raises(UsageError, match="the package of broken raised ZeroDivisionError"):
        own.load("broken")
    before = own.code_hash(["theirs"])
    version.version = "2"
    assert own.code_hash(["theirs"]) != before
    assert own.code_hash(["broken"]) != own.code_hash(["theirs"])
    for name in ("my.py", "other.py"):
        (tmp_path / name).write_text(PLUGIN)
    own.register("mine", tmp_path / "my.py", "loud")
    for name, file, attribute, why in (
        ("string_match", "my.py", "loud", "is a bundled scorer's"),
        ("mine", "other.py", "loud", "already registers a scorer 'mine'"),
        ("mine", "my.py", "Length", "already registers a scorer 'mine'"),
        ("more", "my.py", "quiet", "does not define 'quiet'"),
    ):
        with pytest.raises(UsageError, match=why):
            own.register(name, tmp_path / file, attribute)
    for name in ("string_match", "mine"):
        with pytest.raises(UsageError, match="is taken by another scorer"):
            own.register_metric(name, {"bleu": {}})
    with pytest.raises(registry.UnknownScorerError) as unknown:
        own.load("string_mach")
    assert unknown.value.hint == "did you mean 'string_match'?"
    with pytest.raises(UsageError, match="no such plugin file"):
        own.load_file(tmp_path / "absent.py")
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(UsageError, match="contains no scorer"):
        own.load_file(tmp_path / "empty.py")


@pytest.mark.parametrize(
    ("value", "is_within"),
    [(0, True), (1.0, True), (0.5, True), (-0.01, False), (1.01, False), (math.nan, True), ("x", True), (None, True)],
)
def test_values_within_the_usual_range(value: Any, is_within: bool) -> None:
    """Numbers from 0 to 1; what is no number, or a `Score`, speaks for no other scale."""
    assert (
        plugin_calls.is_share(value),
        plugin_calls.is_share(SimpleNamespace(score=value)),
        plugin_calls.is_share(Score(official=3.0)),
    ) == (is_within, is_within, True)
