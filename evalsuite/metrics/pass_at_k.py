"""pass@k: the chance that one of k samples passes, from n samples of which c passed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evalsuite.metrics.base import Measure, Metric, MetricError
from evalsuite.metrics.python_unit_testing import PythonUnitTesting


def pass_at_k(n: int, c: int, k: int) -> float:
    """`1 - C(n-c, k) / C(n, k)`, the unbiased estimate of Chen et al. (2021); raises `MetricError` unless 0 <= c <= n and 1 <= k <= n."""
    if not (0 <= c <= n and 1 <= k <= n):
        raise MetricError(f"pass@k needs 0 <= c <= n and 1 <= k <= n, found n={n}, c={c}, k={k}", code="bad_counts")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


@dataclass(frozen=True, kw_only=True)
class PassAtK(Metric):
    """pass@k over a list of programs, each run against the test by `python_unit_testing`, or over counts `{"n": 10, "c": 6}`."""

    name: ClassVar[str] = "pass_at_k"
    description: ClassVar[str] = "chance that one of k programs passes the tests"

    k: int = 1
    timeout_seconds: float = 3.0
    memory_mib: int = 512
    allow_programs: bool = False

    def detailed_evaluate(self, prediction: Any, reference: Any = None) -> Measure:
        """The estimate, with n and c in the details."""
        if isinstance(prediction, Mapping) and {"n", "c"} <= set(prediction):
            return self._estimate(int(prediction["n"]), int(prediction["c"]))
        samples = list(prediction) if isinstance(prediction, Sequence) and not isinstance(prediction, str) else [prediction]
        limits: dict[str, Any] = {"timeout_seconds": self.timeout_seconds, "memory_mib": self.memory_mib}
        test = PythonUnitTesting(field=self.field, allow_programs=self.allow_programs, **limits)
        n_passed = 0
        for sample in samples:
            measure = test.detailed_evaluate(sample, reference)
            if measure.fault is not None:
                return measure
            n_passed += measure.value == 1
        return self._estimate(len(samples), n_passed)

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The estimate for one program."""
        return self.detailed_evaluate([prediction], list(references))

    def _estimate(self, n: int, c: int) -> Measure:
        return Measure(value=pass_at_k(n, c, self.k), details={"n": n, "c": c, "k": self.k})
