"""Failing plugin code at every place that accepts plugins is a fault there, never a number, and the exit code is 4."""

import ast
import inspect
import json
import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core import plugin_calls
from evalsuite.core.errors import FaultError
from evalsuite.core.metric import MetricError
from evalsuite.core.registry import Marker, Scorer, as_scorer
from evalsuite.core.types import Fault, Score
from evalsuite.scorers.judge.replies import score_reading
from evalsuite.scorers.metrics.chain import Custom
from evalsuite.scorers.metrics.composite import Composite, Part
from evalsuite.trees import CompoundComparator, PairMetric, PromptJudge, SemanticBatchComparator, evaluate, treeval_score
from tests.command_server import command_server
from tests.meta import MODULES, PACKAGE, nodes_of
from tests.processes import LIMIT_SECONDS

RAISING = ("value", "exit", "interrupt", "memory", "recursion", "stop", "generator", "base")
NO_NUMBER = ("nan", "text", "list", "object", "complex")
OUTSIDE = ("above", "below", "inf")
WRONG = (*NO_NUMBER, *OUTSIDE, "none")
# An interruption in the main thread of the command is the user's.
IN_THE_MAIN_THREAD = tuple(kind for kind in RAISING if kind != "interrupt")


def misbehave(kind: str) -> Any:
    """Raise, or return what is no score."""
    if kind == "recursion":
        return misbehave(kind)
    errors = {
        "value": ValueError("no"),
        "exit": SystemExit(0),
        "interrupt": KeyboardInterrupt(),
        "memory": MemoryError(),
        "stop": StopIteration(),
        "generator": GeneratorExit(),
        "base": BaseException("no"),
    }
    if kind in errors:
        raise errors[kind]
    values = {"nan": float("nan"), "inf": float("inf"), "above": 1.5, "below": -0.5, "text": "0.5", "none": None, "list": [1.0]}
    return {**values, "object": object(), "complex": 1j}[kind]


PLUGIN = f"""
from typing import Any

from evalsuite.core.registry import scorer
from evalsuite.trees import ComparatorResult, register
from evalsuite.core.types import Score


{inspect.getsource(misbehave)}

@scorer(reads="text")
def in_the_parent(prediction, *, gold):
    return misbehave(gold)


@scorer(reads="tree")
def in_a_worker(prediction, *, gold, kind):
    return misbehave(kind)


@scorer(reads="tree")
def in_a_score(prediction, *, gold, kind):
    return Score(official=misbehave(kind), strict=misbehave(kind))


@scorer(reads="tree")
def in_a_field(prediction, *, gold, kind):
    circle = {{}}
    circle["circle"] = circle
    odd = {{"reason": {{"reason": 5}}, "details": {{"details": [1]}}, "circle": {{"details": circle}}, "fault": {{"fault": "x"}}}}
    return Score(official=1.0, strict=1.0, **odd[kind])


@scorer(reads="text", validate=lambda parameters: misbehave(parameters["gold"]))
def in_validate(prediction, *, gold):
    return Score(official=1.0, strict=1.0)


def plain(prediction, gold):
    return misbehave(gold)


class Batch:
    def run_batch(self, candidates, references, inputs, contexts):
        return [misbehave(kind) for kind in references]


class Unmade:
    def __init__(self):
        raise SystemExit(0)

    def run_batch(self, candidates, references, inputs, contexts):
        return [1.0] * len(candidates)


class TooMany:
    def run_batch(self, candidates, references, inputs, contexts):
        return [1.0] * (len(candidates) + 1)


register("wild", lambda gold, found, params: misbehave(params["kind"]))
register("wild_result", lambda gold, found, params: ComparatorResult(misbehave(params["kind"]), "wild_result"))
register("wild_transform", lambda value, params: misbehave(params["kind"]), kind="transform")
register("wild_batch", lambda items: misbehave(items[0].params["kind"]), kind="batch")
register("wild_item", lambda items: [ComparatorResult(misbehave(item.params["kind"])) for item in items], kind="batch")
"""


def tree(**leaf: Any) -> dict[str, Any]:
    """A `tree_match` check of one failing field and one right field."""
    leaf = {"type": "string", **{f"x-eval-{key}": value for key, value in leaf.items()}}
    schema = {"type": "object", "properties": {"x": leaf, "y": {"type": "string"}}}
    return {"func": "tree_match", "parameters": {"gold": {"x": "1", "y": "2"}, "schema": schema}}


def planted() -> dict[str, dict[str, Any]]:
    """Instance id -> its check: every place that a gold folder can reach, with everything that can go wrong there."""
    found: dict[str, dict[str, Any]] = {}

    def plant(name: str, kinds: tuple[str, ...], check: Callable[[str], dict[str, Any]]) -> None:
        found.update({f"{name}-{kind}": check(kind) for kind in kinds})

    def named(func: str) -> Callable[[str], dict[str, Any]]:
        return lambda kind: {"func": func, "parameters": {"gold": kind}}

    def in_tree(func: str) -> Callable[[str], dict[str, Any]]:
        return lambda kind: {"func": func, "parameters": {"gold": {}, "kind": kind}}

    plant("in_the_parent", (*IN_THE_MAIN_THREAD, *WRONG), named("in_the_parent"))
    plant("in_validate", (*IN_THE_MAIN_THREAD, *WRONG), named("in_validate"))
    plant("plain", (*IN_THE_MAIN_THREAD, *WRONG), named("plain"))
    plant("in_a_worker", (*RAISING, *WRONG), in_tree("in_a_worker"))
    plant("in_a_score", (*RAISING, *WRONG), in_tree("in_a_score"))
    plant("in_a_field", ("reason", "details", "circle", "fault"), in_tree("in_a_field"))
    plant("Batch", (*RAISING, *WRONG), named("Batch"))
    plant("Unmade", ("a", "b"), named("Unmade"))
    plant("TooMany", ("a", "b"), named("TooMany"))
    plant("comparator", (*RAISING, *WRONG), lambda kind: tree(compare={"wild": {"kind": kind}}))
    plant("comparator_result", (*RAISING, *WRONG), lambda kind: tree(compare={"wild_result": {"kind": kind}}))
    plant("transform", RAISING, lambda kind: tree(transform=[{"wild_transform": {"kind": kind}}], compare="exact"))
    plant("batch_comparator", (*RAISING, *NO_NUMBER, "none"), lambda kind: tree(compare={"wild_batch": {"kind": kind}}))
    plant("batch_item", (*RAISING, *WRONG), lambda kind: tree(compare={"wild_item": {"kind": kind}}))
    return found


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Gold and a submission with every place, next to the plugin."""
    (tmp_path / "my.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "gold").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "gold" / "suite.yaml").write_text('scorers: {plain: "python:../my.py:plain"}\n')
    checks = planted()
    gold = [{"instance_id": name, "evaluation": check} for name, check in checks.items()]
    answers = [{"instance_id": name, "answer_type": "answer", "answer_or_path": '{"x": "3", "y": "2"}'} for name in checks]
    (tmp_path / "gold" / "x_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in gold))
    (tmp_path / "sub" / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`evalsuite run` as a process of its own, ended after a while."""
    return command_server().run(["run", "sub", "--gold", "gold", "--plugin", "my.py", "--out", "out", *arguments], cwd=folder)


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_every_place_in_a_run(folders: Path, isolation: str) -> None:
    """Each is a scorer fault without a score under any rule, no worker dies of it, no report says 0, and exit 4 where it is asked for."""
    reports = [word for name in ("r.md", "r.html", "r.json", "r.txt") for word in ("-o", name)]
    done = run(folders, "--isolation", isolation, "--fail-on-unscorable", *reports)
    assert done.returncode == 4, done.stderr
    rows = {row["instance_id"]: row for row in map(json.loads, (folders / "out" / "results.jsonl").read_text().splitlines())}
    assert rows.keys() == planted().keys()
    for name, row in rows.items():
        assert (row["score"], row["official"], row["strict"]) == (None, None, None), (name, row)
        if name in ("Batch-above", "Batch-below"):
            # What has the shape of Bench's scorers has no fixed range: the value stays as it is, and no score is made of it.
            assert (row["status"], row["fault"], row["details"]["raw"]) == ("scored", None, 1.5 if "above" in name else -0.5)
            continue
        assert (row["status"], row["fault"]) == ("scorer_fault", "SCORER_ERROR"), (name, row["reason"])
    summary = json.loads((folders / "out" / "run.json").read_text())["summary"]
    for part in (summary, *summary["by_scorer"].values()):
        assert (part["score"], part["official"], part["strict"], part["interval_95"]) == (None, None, None, None)
    for text in (done.stdout, *((folders / name).read_text() for name in ("r.md", "r.html", "r.txt"))):
        assert re.findall(r"(?<![\d.])(?:0/\d+\b|0(?:\.0)? %)", text) == []
        assert "nothing judged (0 of " in text or "None of " in text
    assert done.stdout.splitlines()[-1].startswith("done: nothing judged (0 of ")


def test_a_fault_beside_a_verdict(folders: Path) -> None:
    """Judged instances keep their numbers, the place of the failure is reported, and without the flag the exit code is 0."""
    gold = [
        {"instance_id": "right", "evaluation": {"func": "string_match", "parameters": {"gold": "x"}}},
        {"instance_id": "failing", "evaluation": tree(compare={"wild": {"kind": "value"}})},
    ]
    (folders / "gold" / "x_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in gold))
    answers = [{"instance_id": row["instance_id"], "answer_type": "answer", "answer_or_path": '{"x": "3", "y": "2"}'} for row in gold]
    (folders / "sub" / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    done = run(folders)
    assert done.returncode == 0, done.stderr
    assert "string_match 1/1" in done.stdout
    assert "tree_match not judged" in done.stdout
    assert re.search(r"SCORER_ERROR: comparator wild raised ValueError at my\.py:\d+", done.stdout)
    assert run(folders, "--fail-on-unscorable").returncode == 4


LEAF = {"type": "string", "x-eval-compare": "mine"}
OBJECT = {"type": "object", "properties": {"x": LEAF, "y": {"type": "string", "x-eval-compare": "exact"}}}
LIST = {"type": "array", "items": OBJECT, "x-eval-align": {"match_by": "hungarian"}}
KEYED = {
    "type": "array",
    "items": {"type": "object", "properties": {"x": {"type": "string", "x-eval-transform": ["mine"]}}},
    "x-eval-align": {"match_by": "key_field", "key": "x"},
}
GOLD, FOUND = {"x": "1", "y": "2"}, {"x": "3", "y": "2"}
Bad = Callable[[], Any]


def in_trees(schema: Any = OBJECT, gold: Any = GOLD, found: Any = FOUND, **options: Any) -> float | None:
    """The mean F1 of one record; None if the run has a fault."""
    result = evaluate([gold], [found], schema, **options)
    return None if result.faults else result.mean_f1


def treeval(metrics: Any) -> float:
    """The score of two lists of texts by a metric called `mine`."""
    options = {"metrics": metrics, "types_metrics": {"string": ["mine"]}}
    return treeval_score([{"a": "x", "b": ["x", "y"]}], [{"a": "z", "b": ["y", "z"]}], {"a": "string", "b": ["string"]}, **options).score


def metric(bad: Bad, at: str) -> Any:
    """A metric object of the protocol one method of which is bad."""

    class Mine(PairMetric):
        pass

    setattr(Mine, at, lambda *_: bad())
    return [Mine(name="mine", function=lambda *_: 1.0)]


def judging(bad: Bad) -> dict[str, Any]:
    """The judge that answers so."""
    return {"comparators": {"mine": SemanticBatchComparator(lambda _: bad())}}


def scoring(bad: Bad) -> Scorer:
    """A plain foreign function as a scorer, and as its own check and question."""
    function = as_scorer(lambda *_: bad(), "mine")
    marker = Marker(reads="text", asks=lambda _: bad(), validate=lambda _: bad())
    return Scorer(name="mine", function=function, marker=marker, summary="", is_foreign=True)


# What stands in a place -> the number it would give; None and an error are no number.
PLACES: dict[str, tuple[Callable[[Bad], Any], tuple[str, ...]]] = {
    "scorer": (lambda bad: scoring(bad).score("x", gold="y").official, (*RAISING, *WRONG)),
    "asks": (lambda bad: scoring(bad).asks_judge({}), RAISING),
    "comparator": (lambda bad: in_trees(comparators={"mine": lambda *_: bad()}), (*RAISING, *WRONG)),
    "comparator, compat": (lambda bad: in_trees(comparators={"mine": lambda *_: bad()}, compat=True), (*RAISING, *WRONG)),
    "comparator, aligned": (
        lambda bad: in_trees(LIST, [GOLD, FOUND, {"x": "0"}], [FOUND, GOLD], comparators={"mine": lambda *_: bad()}),
        (*RAISING, *WRONG),
    ),
    "comparator, aligned, compat": (
        lambda bad: in_trees(LIST, [GOLD, FOUND, {"x": "0"}], [FOUND, GOLD], comparators={"mine": lambda *_: bad()}, compat=True),
        (*RAISING, *WRONG),
    ),
    "comparator, alternatives": (
        lambda bad: in_trees(gold={"x": {"x-eval-any-of": ["1", "3"]}, "y": "2"}, comparators={"mine": lambda *_: bad()}),
        (*RAISING, *WRONG),
    ),
    "transform": (
        lambda bad: in_trees(
            {"type": "object", "properties": {"x": {"type": "string", "x-eval-transform": ["mine"]}}}, transforms={"mine": lambda *_: bad()}
        ),
        RAISING,
    ),
    "transform of a key": (lambda bad: in_trees(KEYED, [GOLD], [FOUND], transforms={"mine": lambda *_: bad()}), RAISING),
    "compound": (
        lambda bad: in_trees(comparators={"mine": CompoundComparator(["x"], "x", "mine", lambda *_: bad())}),
        (*RAISING, *(kind for kind in WRONG if kind != "text")),
    ),
    "judge": (lambda bad: in_trees(**judging(bad)), (*RAISING, *(kind for kind in WRONG if kind != "list"))),
    "judge, compat": (lambda bad: in_trees(**judging(bad), compat=True), (*RAISING, *(kind for kind in WRONG if kind != "list"))),
    "judge's item": (lambda bad: in_trees(**judging(lambda: [bad()])), (*RAISING, *(kind for kind in WRONG if kind != "none"))),
    "prompt": (
        lambda bad: in_trees(comparators={"mine": SemanticBatchComparator(PromptJudge(lambda _: bad()))}),
        (*RAISING, *(kind for kind in WRONG if kind != "text")),
    ),
    "post-processor": (lambda bad: in_trees(comparators={"mine": lambda *_: 1.0}, post_process=lambda _: bad()), (*RAISING, *WRONG)),
    "leaf metric": (lambda bad: treeval({"mine": lambda *_: bad()}), (*RAISING, *NO_NUMBER)),
    "leaf metric's scores": (lambda bad: treeval(metric(bad, "scores")), (*RAISING, *WRONG)),
    "leaf metric's matrix": (lambda bad: treeval(metric(bad, "matrix")), (*RAISING, *WRONG)),
    "metric": (lambda bad: Custom(function=lambda *_: bad()).evaluate("x", "y"), (*RAISING, *WRONG)),
    "metric in a composite": (
        lambda bad: Composite(parts=(Part(metric=Custom(function=lambda *_: bad())),)).evaluate("x", "y"),
        (*RAISING, *WRONG),
    ),
    "extractor": (lambda bad: score_reading(extractor=lambda _: bad())("4").value, (*RAISING, *NO_NUMBER, "none")),
}


@pytest.mark.parametrize("place", PLACES)
def test_every_place_in_python(place: str) -> None:
    """Whatever is planted, a caller gets None or an error of this project, never a number and never the end of the process."""
    given, kinds = PLACES[place]
    found = {}
    with ThreadPoolExecutor(max_workers=1) as thread:
        for kind in kinds:
            outcome = thread.submit(given, lambda kind=kind: misbehave(kind))  # type: ignore[misc]
            error = outcome.exception(timeout=LIMIT_SECONDS)
            if not isinstance(error, FaultError | MetricError | TypeError):
                found[kind] = error if error is not None else outcome.result()
    assert {kind: value for kind, value in found.items() if value is not None} == {}


def test_a_post_processor_gives_rows_that_count() -> None:
    """A row with a score that is none, and what is no row, leave the record undecided."""

    def spoilt(rows: list[Any]) -> list[Any]:
        rows[0].score = float("nan")
        return rows

    for bad in (spoilt, lambda _: ["row"]):
        assert in_trees(comparators={"mine": lambda *_: 1.0}, post_process=bad) is None
    assert in_trees(comparators={"mine": lambda *_: 1.0}, post_process=lambda rows: rows) == 1


def test_what_works_is_a_number() -> None:
    """Plain numbers, bools and the scalars of numpy are scores; a fault that the code itself gives is kept."""
    np = pytest.importorskip("numpy")
    for value, expected in ((1, 1), (True, 1), (0.25, 0.25), (np.float32(0.5), 0.5), (np.int64(1), 1), (np.bool_(True), 1)):
        assert scoring(lambda value=value: value).score("x").official == expected  # type: ignore[misc]
        assert in_trees(comparators={"mine": lambda *_, value=value: value}) == (1 + expected) / 2  # type: ignore[misc]
    own = Score(official=None, fault=Fault(code="UNDEFINED", detail="too short"), strict=0.5, details={"n": float("nan"), "t": (1, 2)})
    kept = scoring(lambda: own).score("x")
    assert (kept.fault, kept.strict, kept.strict_fault, kept.details) == (own.fault, 0.5, None, {"n": "NaN", "t": [1, 2]})


def test_the_user_may_interrupt() -> None:
    """In the main thread an interruption is the user's and comes through; a fault of its own comes through as it is."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    def faulty() -> None:
        raise FaultError("NO_JUDGE", "none")

    with pytest.raises(KeyboardInterrupt):
        plugin_calls.call_plugin("it", interrupted)
    with pytest.raises(FaultError, match="none"):
        plugin_calls.call_plugin("it", faulty)


# Where a broad `except` neither re-raises nor can be narrower -> what it makes of an error.
BROAD = {
    "core/plugin_calls.py": "a fault: the one place where somebody else's code is called",
    "core/library_calls.py": "nothing: the error of ours that a library hid is raised in its place",
    "runs/task_execution.py": "a fault of a bundled scorer, or of the reader",
    "runs/answer_workers.py": "a fault of the tool around a scorer; a table that the exact reader reads instead",
    "readers/load_answer.py": "no copy of gold: the answer is read itself",
    "readers/paths.py": "no file that may be a copy of gold: the answer is read itself",
    "cli/gate.py": "the exit code of an error nobody foresaw",
    "sandbox/worker_main.py": "a fault of the tool (a call), or the worker's end, which the parent records",
    "sandbox/program_channel.py": "the answer to the other process, which raises it there",
    "sandbox/program_values.py": "an exception of the program made again from its arguments alone",
    "sandbox/program_test.py": "a test that failed; a module of the test that cannot be imported here, which the test's own import says",
    "sql/execution.py": "nothing: the statement counts as cut off already",
}


def test_no_broad_except_makes_a_number() -> None:
    """A handler for `Exception`, `BaseException` or everything ends in `raise`, or its file is in the table with its result."""
    found = set()
    for path in MODULES:
        for node, _ in nodes_of(path):
            if not isinstance(node, ast.ExceptHandler):
                continue
            caught = {getattr(name, "id", "") for name in ast.walk(node.type)} if node.type is not None else {"BaseException"}
            if caught & {"Exception", "BaseException"} and not isinstance(node.body[-1], ast.Raise):
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found <= BROAD.keys()
