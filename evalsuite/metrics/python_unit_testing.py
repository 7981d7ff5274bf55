"""python_unit_testing: whether a program passes tests, run in a fresh limited interpreter."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from evalsuite.errors import FaultError, describe
from evalsuite.metrics.base import IN_PYTHON, Measure, Metric, MetricError
from evalsuite.metrics.python_process import run_program
from evalsuite.registry import PROGRAMS_ALLOWED, allowing_programs


@dataclass(frozen=True, kw_only=True)
class PythonUnitTesting(Metric):
    """1 where the answer is a Python program that passes every test, else 0.

    Each test runs behind the program in a fresh limited interpreter with the standard library only; `sys.exit(0)` before the test's end
    fails. Nothing jails the program: it is `unscored` (NO_JAIL) unless the run has `--allow-programs`.

    Args:
        gold: the code of one test, or of several.
        timeout_seconds: the longest one test may run.
        memory_mib: the most memory one test may take.
        allow_programs: run the program without being asked from outside; see `python_process` for what the walls do not promise.

    Example:
        `{"func": "python_unit_testing", "parameters": {"gold": "assert add(1, 2) == 3"}}`
    """

    name: ClassVar[str] = "python_unit_testing"

    timeout_seconds: float = 3.0
    memory_mib: int = 512
    allow_programs: bool = field(default=False, metadata=IN_PYTHON)

    def __post_init__(self) -> None:
        """Raise `MetricError` for limits under which nothing can run."""
        super().__post_init__()
        if self.timeout_seconds <= 0 or self.memory_mib < 64:
            raise MetricError("python_unit_testing: timeout_seconds must be positive and memory_mib at least 64", code="bad_option")

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """1.0 or 0.0, with the category, and how the first failing test ended."""
        for place, test in enumerate(references):
            try:
                with allowing_programs(self.allow_programs or PROGRAMS_ALLOWED.get()):
                    ended = run_program(f"{prediction}\n{test}", timeout_seconds=self.timeout_seconds, memory_mib=self.memory_mib)
            except FaultError as error:
                return Measure(value=None, reason=describe(error.fault), fault=error.fault)
            if ended != "passed":
                return Measure(value=0.0, details={"category": "fail", "ended": ended, "test": place})
        return Measure(value=1.0, details={"category": "pass"})
