"""pass@k: the chance that one of k samples passes, from n samples of which c passed."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evalsuite.metrics.base import IN_PYTHON, Measure, Metric, MetricError
from evalsuite.metrics.python_unit_testing import PythonUnitTesting


def pass_at_k(n: int, c: int, k: int) -> float:
    """`1 - C(n-c, k) / C(n, k)`, the unbiased estimate of Chen et al. (2021); raises `MetricError` unless 0 <= c <= n and 1 <= k <= n."""
    if not (0 <= c <= n and 1 <= k <= n):
        raise MetricError(f"pass@k needs 0 <= c <= n and 1 <= k <= n, found n={n}, c={c}, k={k}", code="bad_counts")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


@dataclass(frozen=True, kw_only=True)
class PassAtK(Metric):
    """The chance that one of k programs passes: `1 - C(n-c, k) / C(n, k)` for n programs of which c pass every test.

    The answer is a JSON list of programs; any other text is one program. Fewer than k programs count as if the missing ones failed.
    `unscored` (NO_JAIL) unless the run has `--allow-programs`, as `python_unit_testing`.

    Args:
        gold: the code of one test, or of several.
        k: how many one may draw.
        timeout_seconds: the longest one test may run.
        memory_mib: the most memory one test may take.
        allow_programs: run the programs without being asked from outside.

    Example:
        `{"func": "pass_at_k", "parameters": {"gold": "assert add(1, 2) == 3", "k": 5}}`
    """

    name: ClassVar[str] = "pass_at_k"

    k: int = 1
    timeout_seconds: float = 3.0
    memory_mib: int = 512
    allow_programs: bool = field(default=False, metadata=IN_PYTHON)

    def __post_init__(self) -> None:
        """Raise `MetricError` for a k or limits that cannot be meant."""
        super().__post_init__()
        if self.k < 1:
            raise MetricError("pass_at_k: k must be at least 1", code="bad_option")
        self._one_program()

    def detailed_evaluate(self, prediction: Any, reference: Any = None) -> Measure:
        """The estimate over a text, a list of programs, or counts `{"n": 10, "c": 6}`, with n and c in the details."""
        if isinstance(prediction, Mapping) and {"n", "c"} <= set(prediction):
            return self._estimate(int(prediction["n"]), int(prediction["c"]))
        if isinstance(prediction, str):
            return self.measure(prediction, self.references_of(reference))
        programs = list(prediction) if isinstance(prediction, Sequence) else [prediction]
        test, n_passed = self._one_program(), 0
        for program in programs:
            measure = test.detailed_evaluate(program, reference)
            if measure.fault is not None:
                return measure
            n_passed += measure.value == 1
        return self._estimate(len(programs), n_passed)

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The estimate for a text as it is handed in."""
        programs = _programs(prediction)
        # A submission cannot raise its chance, nor make the estimate undefined, by handing in fewer programs than k.
        programs += ["raise SystemExit"] * (self.k - len(programs))
        return self.detailed_evaluate(programs, list(references))

    def _one_program(self) -> PythonUnitTesting:
        limits: dict[str, Any] = {"timeout_seconds": self.timeout_seconds, "memory_mib": self.memory_mib}
        return PythonUnitTesting(field=self.field, allow_programs=self.allow_programs, **limits)

    def _estimate(self, n: int, c: int) -> Measure:
        return Measure(value=pass_at_k(n, c, self.k), details={"n": n, "c": c, "k": self.k})


def _programs(text: str) -> list[str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    listed = isinstance(value, list) and value and all(isinstance(item, str) for item in value)
    return list(value) if listed else [text]
