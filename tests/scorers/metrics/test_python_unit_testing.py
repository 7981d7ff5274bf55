"""Programs against their tests: nothing runs without permission; early exits fail, limits hold, walls refuse."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evalsuite
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.metric import MetricError
from evalsuite.core.plugin_calls import allowing_programs
from evalsuite.sandbox.program_sandbox import Ended, can_sandbox_programs, run_program
from evalsuite.scorers.metrics import get_metric


@pytest.fixture(autouse=True)
def allowed() -> Iterator[None]:
    """The programs of this file may run where nothing else is said, also where there is no jail."""
    with allowing_programs(True):
        yield


@pytest.fixture
def no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that gives programs no jail."""
    monkeypatch.setattr("evalsuite.scorers.metrics.programs.can_sandbox_programs", lambda: False)


def ended(program: str, *, seconds: float = 10.0) -> str:
    """How a program ends under a generous limit."""
    return run_program(program, "", timeout_seconds=seconds, memory_mib=256, sandboxed=can_sandbox_programs()).outcome


@pytest.mark.parametrize("program", [
    *("raise ValueError", "return 1", "x = \0", "x = '\ud800'", "import sys\nsys.exit(0)", "import os\nos._exit(0)"),
    *("x = 'a' * 10**9", "def f(n): return f(n + 1)\nf(0)", "x = " + "-" * 100_000 + "1"),
    *(pytest.param(program, marks=pytest.mark.slow) for program in ("raise SystemExit(0)", "import numpyzzz")),
    *("while True: pass", "import time\ntime.sleep(60)", "import threading\nthreading.Event().wait()"),
])  # fmt: skip
def test_what_fails(program: str) -> None:
    """Errors, early clean exits, too much memory and packages that are not there fail, what does not end is killed; none of it ends us."""
    is_endless = "time" in program or "while" in program or "threading" in program
    assert ended(program, seconds=0.2 if is_endless else 10.0) == ("timeout" if is_endless else "failed")


ACTS = [
    "open('/etc/passwd')",
    "open('{folder}/gold.txt')",
    "open('{folder}/new.txt', 'w')",
    "__import__('os').remove('{folder}/gold.txt')",
    "__import__('os').rename('{folder}/gold.txt', 'mine')",
    "__import__('os').listdir('{folder}')",
    "__import__('os').symlink('{folder}/gold.txt', 'link')",
    "__import__('subprocess').run(['true'])",
    "__import__('os').fork()",
    "__import__('socket').create_connection(('127.0.0.1', 9))",
    "__import__('socket').getaddrinfo('localhost', 80)",
    "__import__('ctypes').CDLL(None)",
]


def test_walls(tmp_path: Path) -> None:
    """Files elsewhere, processes, sockets and ctypes are refused, each of them, and nothing is changed."""
    (tmp_path / "gold.txt").write_text("secret", encoding="utf-8")
    tried = "try:\n    {}\nexcept (OSError, ImportError):\n    pass\nelse:\n    raise SystemError\n"
    assert ended("".join(tried.format(act.format(folder=tmp_path)) for act in ACTS)) == "passed"
    assert [path.name for path in tmp_path.iterdir()] == ["gold.txt"]


def test_pass_at_k_runs_its_programs() -> None:
    """Of three programs two pass: a draw of one passes in two of three cases; of two programs one: a draw of two always."""
    programs = ["x = 1", "x = 2", {"answer": "x = 1 + 0"}]
    assert get_metric("pass_at_k", k=1)(programs, "assert x == 1") == pytest.approx(2 / 3)
    assert get_metric("pass_at_k", k=2)(programs[1:], ["assert x == 1"]) == 1
    scored = evalsuite.score("pass_at_k", json.dumps(["x = 2", "x = 1"]), gold="assert x == 1", k=1, allow_programs=True)
    assert scored.official == 0.5
    assert get_metric("pass_at_k", k=1, timeout_seconds=0.1)(["import time\ntime.sleep(1)"], "") == 0
    # More passes than programs, or more draws, are an error.
    for n, c, k in ((3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0), (0, 0, 1)):
        with pytest.raises(MetricError, match="pass"):
            get_metric("pass_at_k", k=k)({"n": n, "c": c})
    # Its options are those of `python_unit_testing`: 60 MiB fit by default, and beside Python not into 64.
    for options, value in (({}, 1), ({"memory_mib": 64}, 0)):
        assert get_metric("pass_at_k", k=1, **options)(["x = bytearray(60 << 20)"], "assert x") == value
        alone = evalsuite.score("python_unit_testing", "x = bytearray(60 << 20)", gold="assert x", allow_programs=True, **options)
        assert alone.official == value


PARTS: list[Any] = [{"python_unit_testing": {}, "weight": 9}, {"exact_match": {}, "weight": 1}]
# What a scorer is asked with, and what the permission makes of the program `x = 1`.
ASKED: dict[str, tuple[dict[str, Any], float]] = {
    "python_unit_testing": ({"gold": "assert x == 1"}, 1),
    "pass_at_k": ({"gold": "assert x == 1", "k": 2}, 1),
    "composite": ({"gold": "assert x == 1", "parts": PARTS}, 0.9),
    "composite of composites": ({"gold": "assert x == 1", "parts": [{"composite": {"parts": PARTS}}]}, 0.9),
    "composite that renormalises": ({"gold": "assert x == 1", "parts": PARTS, "on_missing": "renormalise"}, 0.9),
    "composite that counts zero": ({"gold": "assert x == 1", "parts": PARTS, "on_missing": "zero"}, 0.9),
}


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a process that is started is an error."""

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refused)


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.usefixtures("no_process", "no_jail")
def test_no_program_runs_without_permission(name: str) -> None:
    """No value under any rule, the code NO_JAIL, a reason that names the option, and no process: whatever a composite does with gaps."""
    found = evalsuite.score(name.split()[0], "x = 1", **ASKED[name][0])
    assert (found.official, found.strict) == (None, None)
    assert found.fault is not None
    assert found.strict_fault is not None
    assert {found.fault.code, found.strict_fault.code} == {"NO_JAIL"}
    assert "--allow-programs" in found.reason
    assert "allow_programs=True" in found.reason


TREE: dict[str, Any] = {"gold": {"code": "assert x == 1"}, "schema": {"code": "string"}, "types_metrics": {"string": "python_unit_testing"}}


@pytest.mark.usefixtures("no_jail")
def test_in_a_tree_it_needs_permission_too() -> None:
    """A leaf judged by a program's tests: no 0 for it, nor for the tree."""
    with pytest.raises(FaultError, match="--allow-programs") as caught:
        evalsuite.score("tree_score", '{"code": "x = 1"}', **TREE)
    assert caught.value.fault.code == "NO_JAIL"
    assert evalsuite.score("tree_score", '{"code": "x = 1"}', allow_programs=True, **TREE).strict == 1


@pytest.mark.usefixtures("no_process", "no_jail")
def test_a_metric_alone_needs_permission() -> None:
    """Without it the value is None, in a plain call NaN, with the fault; counts of passed programs run nothing and need none."""
    with allowing_programs(False):
        for name in ("python_unit_testing", "pass_at_k"):
            found = get_metric(name).detailed_evaluate("x = 1", "assert x == 1")
            assert found.value is None
            assert found.fault is not None
            assert found.fault.code == "NO_JAIL"
            assert get_metric(name)("x = 1", "assert x == 1") != 1
        assert get_metric("pass_at_k", k=1)({"n": 4, "c": 1}, None) == 0.25


def test_a_process_that_cannot_start_programs_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a worker without the right to start processes: the reason names the option that helps."""

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError

    monkeypatch.setattr("evalsuite.scorers.metrics.programs.run_program", refused)
    found = get_metric("python_unit_testing", allow_programs=True).detailed_evaluate("x = 1", ["assert x == 1", "assert x"])
    assert found.value is None
    assert found.fault is not None
    assert (found.fault.code, found.fault.detail.partition(":")[0]) == ("NO_JAIL", "a sandboxed worker cannot start programs")


@pytest.mark.parametrize(("ends", "value", "says"), [
    ([Ended("passed"), Ended("passed")], 1, ""),
    ([Ended("passed"), Ended("failed", "raised an error"), Ended("unrun")], 0, "test 1 raised an error"),
    ([Ended("timeout")], 0, ""),
    ([Ended("unknown", "a"), Ended("failed")], 0, ""),
    ([Ended("unknown", "a"), Ended("passed")], None, "NO_JAIL: test 0 cannot be run in a process apart from the program: a"),
    ([Ended("passed"), Ended("unknown", "b"), Ended("unknown", "c")], None, "test 1 cannot be run in a process apart from the program"),
    ([Ended("unknown"), Ended("unrun", "no memory")], None, "LIMIT: this machine did not run test 1 to its end: no memory"),
])  # fmt: skip
def test_how_the_tests_of_an_answer_end(monkeypatch: pytest.MonkeyPatch, ends: list[Ended], value: float | None, says: str) -> None:
    """The first that fails is named with what it says; one that cannot be run leaves no value, unless another one fails."""
    left = iter(ends)
    monkeypatch.setattr("evalsuite.scorers.metrics.programs.run_program", lambda *_, **__: next(left))
    monkeypatch.setattr("evalsuite.scorers.metrics.programs.can_sandbox_programs", lambda: True)
    with allowing_programs(False):
        found = get_metric("python_unit_testing").detailed_evaluate("x = 1", [f"assert {n}" for n in range(len(ends))])
    assert (found.value, found.fault is None) == (value, value is not None)
    assert found.reason.startswith(says) if says.startswith(("NO_JAIL", "LIMIT")) else says in found.reason
    assert bool(found.reason) is bool(says)


def test_all_programs_of_an_answer_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its own limit and what is left for all; without time enough to start, none is started."""
    limits: list[float] = []

    def run(*_: Any, timeout_seconds: float, **__: Any) -> Ended:
        limits.append(timeout_seconds)
        return Ended("passed", seconds=2.0)

    monkeypatch.setattr("evalsuite.scorers.metrics.programs.run_program", run)
    for seconds, expected, value in ((8.0, [3, 3, 3], 1), (4.5, [3, 2.5, 0.5], 1), (4.06, [3, 2.06, 0.06], 1), (4.04, [3, 2.04], 0)):
        for name in ("python_unit_testing", "pass_at_k"):
            limits.clear()
            with allowing_programs(True, seconds=seconds):
                assert get_metric(name)("x = 1", ["assert x"] * 3) == value
            assert limits == pytest.approx(expected)


@pytest.mark.parametrize("text", ["5", "[]", "[1]", '["x", 1]', '{"a": 1}', "null", '"x"', "x = 1"])
def test_any_other_text_is_one_program(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Only a JSON list of texts is several; missing ones fail."""
    programs: list[str] = []

    def run(program: str, *_: Any, **__: Any) -> Ended:
        programs.append(program)
        return Ended("passed" if program == text else "failed")

    monkeypatch.setattr("evalsuite.scorers.metrics.programs.run_program", run)
    assert get_metric("pass_at_k", k=2).detailed_evaluate(text, "assert x").details == {"n": 2, "c": 1, "k": 2}
    assert programs == [text, "raise SystemExit"]


@pytest.mark.parametrize(("name", "parameters"), [
    ("python_unit_testing", {"gold": "assert True", "allow_programs": True}),
    ("composite", {"gold": "assert True", "parts": [{"python_unit_testing": {"allow_programs": True}}]}),
    ("composite", {"gold": "assert True", "parts": [{"composite": {"parts": [{"pass_at_k": {"allow_programs": True}}]}}]}),
])  # fmt: skip
@pytest.mark.usefixtures("no_process")
def test_gold_cannot_give_the_permission(name: str, parameters: dict[str, Any]) -> None:
    """In the parameters of a check it is an error that says whose it is."""
    own = parameters.pop("allow_programs", None)
    if own is None:
        with pytest.raises(UsageError, match="allow_programs cannot be set in a file"):
            evalsuite.score(name, "x = 1", **parameters)
    else:
        from evalsuite.core.registry import check_parameters
        from evalsuite.scorers import SCORERS

        assert [problem.message for problem in check_parameters(SCORERS.load(name), {**parameters, "allow_programs": own})] == [
            "unknown parameter 'allow_programs' of python_unit_testing"
        ]
