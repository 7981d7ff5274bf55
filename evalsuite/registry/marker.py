"""What a scorer is: a plain function with a marker."""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from evalsuite import foreign
from evalsuite.errors import FaultError, UsageError
from evalsuite.types import Problem, Reads, Score

Validate = Callable[[Mapping[str, Any]], Iterable[Problem]]
Asks = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What the `@scorer` decorator says of a function: what a reader must make for it, and which way is better."""

    reads: Reads
    direction: Literal["higher", "lower"] = "higher"
    validate: Validate | None = None
    gold_files: Any = None
    asks: Asks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """A scorer as the registry hands it out; `is_foreign` where it is none of the bundled ones and no metric with its options."""

    name: str
    function: Callable[..., Score]
    marker: Marker
    summary: str
    is_foreign: bool = False

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The keyword parameters by name, `prediction` left out, annotations resolved."""
        return _keyword_parameters(self.function)

    def score(self, *arguments: Any, **parameters: Any) -> Score:
        """What the function says of a prediction; a foreign one's answer is checked, and whatever it raises is a `FaultError`."""
        if not self.is_foreign:
            return self.function(*arguments, **parameters)
        return foreign.call(self.name, lambda: foreign.score_of(self.name, self.function(*arguments, **parameters)))

    def asks_judge(self, parameters: Mapping[str, Any]) -> bool:
        """Whether a check with these parameters needs a judge. Raises `FaultError` where a foreign marker fails."""
        asks = self.marker.asks
        if asks is None or not self.is_foreign:
            return asks is not None and asks(parameters)
        return bool(foreign.call(f"{self.name}: asks", asks, parameters))

    def problems(self, parameters: Mapping[str, Any]) -> list[Problem]:
        """What the scorer's own check finds wrong with parameters of the right types; a failure of it is such a problem."""
        validate = self.marker.validate
        if validate is None:
            return []
        try:
            found = foreign.call(f"{self.name}: validate", lambda: [*validate(parameters)])
        except FaultError as error:
            return [Problem(code=error.fault.code, message=error.fault.detail)]
        strange = next((item for item in found if not isinstance(item, Problem)), None)
        if strange is None:
            return found
        return [Problem(code="SCORER_ERROR", message=f"{self.name}: validate gave {type(strange).__name__}, expected a Problem")]


def scorer(
    *,
    reads: Reads,
    direction: Literal["higher", "lower"] = "higher",
    validate: Validate | None = None,
    gold_files: Any = None,
    asks: Asks | None = None,
) -> Callable[[Callable[..., Score]], Callable[..., Score]]:
    """Mark a function as a scorer; it stays a plain function.

    `gold_files` is the JSON type of `gold` (`str | list[str]`) where it names files of gold's instance folder: the worker reads them and
    hands them over in the same shape, a `Fault` in the place of one that cannot be read.
    `validate` looks at the parameters when gold is loaded and yields what is wrong with them.
    `asks` says whether a check with these parameters needs a judge, which the function then gets as `judge`. Those that read `batch` always
    do and get it in the second place: the judge, or, for a plugin's `run_batch`, the values of all answers.
    """
    if reads not in typing.get_args(Reads):
        raise UsageError(f"reads cannot be {reads!r}", hint="known: " + ", ".join(typing.get_args(Reads)))

    def mark(function: Callable[..., Score]) -> Callable[..., Score]:
        marker = Marker(reads=reads, direction=direction, validate=validate, gold_files=gold_files, asks=asks)
        function.__evalsuite__ = marker  # type: ignore[attr-defined]
        return function

    return mark


@cache
def _keyword_parameters(function: Callable[..., Score]) -> dict[str, inspect.Parameter]:
    hints = typing.get_type_hints(function)
    signature = inspect.signature(function)
    return {
        name: parameter.replace(annotation=hints.get(name, Any))
        for name, parameter in signature.parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name != "judge"
    }
