"""Programs and their tests in two processes: what a single interpreter would say of honest ones, and no pass for a trick."""

import subprocess
import sys
from pathlib import Path

import pytest

from evalsuite.core.plugin_calls import allowing_programs
from evalsuite.sandbox.program_sandbox import can_sandbox_programs, run_program
from evalsuite.scorers.metrics import get_metric
from tests.processes import finished
from tests.sandbox.program_corpus import corpus

pytestmark = pytest.mark.skipif(
    not can_sandbox_programs(), reason="this machine gives no jail: namespaces, Landlock or seccomp are missing"
)
# The test line tries every so many of a corpus.
STEP = 25
HONEST, HOSTILE, PARTED = corpus("honest"), corpus("hostile"), corpus("parted")


def ended(program: str, test: str, *, seconds: float = 30.0) -> str:
    """How a test ends."""
    return run_program(program, test, timeout_seconds=seconds, memory_mib=512).outcome


def check_honest(name: str) -> None:
    """The right program passes and the wrong one fails."""
    case = HONEST[name]
    assert [ended(case[side], case["test"]) for side in ("right", "wrong")] == ["passed", "failed"]


@pytest.mark.parametrize("name", sorted(HONEST)[::STEP])
def test_an_honest_test_says_what_one_interpreter_says(name: str) -> None:
    """Some tests of every kind that people write."""
    check_honest(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_all_honest_tests_say_what_one_interpreter_says(name: str, tmp_path: Path) -> None:
    """Each test of the corpus, beside one interpreter that runs program and test as one file."""
    case, words = HONEST[name], [sys.executable, "-I", "-c"]
    files = [case[side] + "\n" + case["test"] for side in ("right", "wrong")]
    alone = [finished([*words, file], cwd=tmp_path, stdin=subprocess.DEVNULL).returncode == 0 for file in files]
    assert alone == [True, False]
    check_honest(name)


@pytest.mark.parametrize("name", sorted(HOSTILE)[::STEP])
def test_no_trick_passes(name: str) -> None:
    """Some programs that try to pass a test which they fail."""
    assert ended(HOSTILE[name]["program"], HOSTILE[name]["test"], seconds=1.0) in ("failed", "timeout")


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_none_of_all_tricks_passes(name: str) -> None:
    """Each program of the corpus: no pass, and no way out of the mean."""
    assert ended(HOSTILE[name]["program"], HOSTILE[name]["test"], seconds=5.0) in ("failed", "timeout")


@pytest.mark.parametrize("name", PARTED)
def test_what_cannot_be_run_apart_is_said(name: str) -> None:
    """A test whose objects cannot leave its process gives no verdict, whether the program is right or wrong, and says why."""
    case = PARTED[name]
    metric = get_metric("python_unit_testing", timeout_seconds=20)
    with allowing_programs(False):
        found = metric.detailed_evaluate(case["program"], case["test"])
    assert found.value is None
    assert found.fault is not None
    assert found.fault.code == "NO_JAIL"
    assert case["said"] in found.reason
