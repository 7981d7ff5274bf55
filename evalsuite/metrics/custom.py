"""A metric out of any function of (prediction, reference)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evalsuite.metrics.base import Measure, Metric, MetricError

Function = Callable[[Any, Any], float | None]


@dataclass(frozen=True, kw_only=True)
class Custom(Metric):
    """What `function(prediction, reference)` returns: a number in [0, 1] where more is better, or None for undefined.

    The function sees prediction and reference as they were given, records and lists of references too; it may ignore the reference.
    """

    name: ClassVar[str] = "custom"
    needs_reference: ClassVar[bool] = False

    function: Function

    @property
    def label(self) -> str:
        """The function's own name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def signature(self) -> str:
        """`custom|function:module.name|version:...`: of the function only the name is known."""
        return "|".join([self.name, f"function:{getattr(self.function, '__module__', '?')}.{self.label}", *self.versions()])

    def detailed_evaluate(self, prediction: Any, reference: Any = None) -> Measure:
        """The function's value; raises `MetricError` where it is no number in [0, 1]."""
        value = self.function(prediction, reference)
        if value is None:
            return Measure(value=None, reason=f"{self.label} gave no value")
        if not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
            raise MetricError(f"{self.label} returned {value!r}, which is no number in [0, 1]", code="bad_value")
        return Measure(value=float(value))

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The function's value for a plain text against all references."""
        return self.detailed_evaluate(prediction, list(references) or None)
