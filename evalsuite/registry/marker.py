"""What a scorer is: a plain function with a marker."""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

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
    """A scorer as the registry hands it out."""

    name: str
    function: Callable[..., Score]
    marker: Marker
    summary: str

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The keyword parameters by name, `prediction` left out, annotations resolved."""
        return _keyword_parameters(self.function)


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
