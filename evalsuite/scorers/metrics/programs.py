"""Metrics for programs: whether one passes its tests in a sandbox, and pass@k, the chance that one of k does."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, ClassVar

from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import describe, machine_fault
from evalsuite.core.metric import IN_PYTHON, Measure, Metric, MetricError
from evalsuite.core.plugin_calls import PROGRAM_BUDGET, PROGRAMS_ALLOWED
from evalsuite.core.scores import Fault, Within
from evalsuite.sandbox.program_sandbox import Ended, can_sandbox_programs, run_program
from evalsuite.stats.samples import StatsError, pass_at_k

Seconds = Annotated[float, Within(0.001, 86_400)]
Mebibytes = Annotated[int, Within(64, 1 << 20)]
# Less time than an interpreter takes to start.
_LEAST_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class PythonUnitTesting(Metric):
    """1 if the answer is a Python program that passes every test, else 0.

    Program and test run in two processes of one sandbox, with the interpreter's installed packages. The test uses the names
    of the program as if it followed it in one file. The program's values reach the asserts as data: an object of the program's own
    class equals no plain value. All programs of one answer share the answer's time limit; tests that it does not reach fail. The answer is
    `unscored` (NO_JAIL) if the machine has no sandbox, unless the run has `--allow-programs`, and if a test uses values that cannot be sent
    to another process.

    Range: 0 or 1. Source: Arthur Bench.

    Args:
        gold: the code of one test, or of several.
        timeout_seconds: the time limit of one test.
        memory_mib: the memory limit of one test.
        allow_programs: run the program without a sandbox if there is none, even if the run does not allow it.

    Example:
        `{"func": "python_unit_testing", "parameters": {"gold": "assert add(1, 2) == 3"}}`
    """

    name: ClassVar[str] = "python_unit_testing"

    timeout_seconds: Seconds = 3.0
    memory_mib: Mebibytes = 512
    allow_programs: bool = field(default=False, metadata=IN_PYTHON)

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return 1.0 or 0.0, with the category, and how the first failing test ended."""
        if not can_sandbox_programs() and not (self.allow_programs or PROGRAMS_ALLOWED.get()):
            fault = Fault(code="NO_JAIL")
            return Measure(value=None, reason=describe(fault), fault=fault)
        unknown = ""
        for place, test in enumerate(references):
            try:
                ended = self._run_program(prediction, test)
            except OSError:
                # A sandboxed worker cannot start processes.
                unknown = "a sandboxed worker cannot start programs: --allow-programs needs --isolation none here"
                break
            if ended.outcome == "unrun":
                fault = machine_fault(f"this machine did not run test {place} to its end: {ended.why}")
                return Measure(value=None, reason=describe(fault), fault=fault)
            if ended.outcome == "unknown":
                unknown = unknown or f"test {place} cannot be run in a process apart from the program: {ended.why}"
            elif ended.outcome != "passed":
                reason = f"test {place} {ended.why}" if ended.why else ""
                return Measure(value=0.0, reason=reason, details={"category": "fail", "ended": ended.outcome, "test": place})
        if unknown:
            fault = Fault(code="NO_JAIL", detail=unknown)
            return Measure(value=None, reason=describe(fault), fault=fault)
        return Measure(value=1.0, details={"category": "pass"})

    def _run_program(self, program: str, test: str) -> Ended:
        """Run the program within its own time limit and the time left for all programs of the answer."""
        budget = PROGRAM_BUDGET.get()
        seconds = self.timeout_seconds if budget is None else min(self.timeout_seconds, budget.seconds)
        if seconds < _LEAST_SECONDS:
            return Ended("timeout")
        ended = run_program(program, test, timeout_seconds=seconds, memory_mib=self.memory_mib, sandboxed=can_sandbox_programs())
        if budget is not None:
            budget.seconds -= ended.seconds
        return ended


@dataclass(frozen=True, kw_only=True)
class PassAtK(Metric):
    """The chance that one of k programs passes: `1 - C(n-c, k) / C(n, k)` for n programs of which c pass every test.

    The answer is a JSON list of programs; any other text is one program. Missing programs, if there are fewer than k, count as failed.
    Each program runs in a sandbox, as in `python_unit_testing`.

    Range: 0 to 1, higher is better. Source: Chen et al. (2021).

    Args:
        gold: the code of one test, or of several.
        k: the number of programs drawn.
        timeout_seconds: the time limit of one test.
        memory_mib: the memory limit of one test.
        allow_programs: run the programs without a sandbox if there is none, even if the run does not allow it.

    Example:
        `{"func": "pass_at_k", "parameters": {"gold": "assert add(1, 2) == 3", "k": 5}}`
    """

    name: ClassVar[str] = "pass_at_k"

    k: Annotated[int, Within(1, 1_000_000)] = 1
    timeout_seconds: Seconds = 3.0
    memory_mib: Mebibytes = 512
    allow_programs: bool = field(default=False, metadata=IN_PYTHON)

    def detailed_evaluate(self, prediction: Any, reference: Any = None) -> Measure:
        """Return the estimate for a text, a list of programs, or counts `{"n": 10, "c": 6}`, with n and c in the details."""
        if isinstance(prediction, Mapping) and {"n", "c"} <= set(prediction):
            return self._estimate(int(prediction["n"]), int(prediction["c"]))
        if isinstance(prediction, str):
            return self.measure(prediction, self.references_of(reference))
        programs = list(prediction) if isinstance(prediction, Sequence) else [prediction]
        test, n_passed = self._make_program_test(), 0
        for program in programs:
            measure = test.detailed_evaluate(program, reference)
            if measure.fault is not None:
                return measure
            n_passed += measure.value == 1
        return self._estimate(len(programs), n_passed)

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the estimate for a submitted text."""
        programs = [prediction]
        with suppress(ValueError, RecursionError):
            parsed = json.loads(prediction)
            programs = parsed if isinstance(parsed, list) and parsed and all(isinstance(item, str) for item in parsed) else programs
        # With fewer programs than k, a submission can neither raise its chance nor make the estimate undefined.
        return self.detailed_evaluate([*programs, *["raise SystemExit"] * (self.k - len(programs))], list(references))

    def _make_program_test(self) -> PythonUnitTesting:
        limits: dict[str, Any] = {"timeout_seconds": self.timeout_seconds, "memory_mib": self.memory_mib}
        return PythonUnitTesting(field=self.field, allow_programs=self.allow_programs, **limits)

    def _estimate(self, n: int, c: int) -> Measure:
        try:
            return Measure(value=pass_at_k(n, c, self.k), details={"n": n, "c": c, "k": self.k})
        except StatsError as error:
            message = f"pass@k needs 0 <= c <= n and 1 <= k <= n, found n={n}, c={c}, k={self.k}"
            raise MetricError(message, code="bad_counts") from error
