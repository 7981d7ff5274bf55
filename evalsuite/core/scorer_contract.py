"""What a scorer is: a plain function with a marker, whose keyword names are what a gold file may say of it, and of which types."""

import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from evalsuite.core import plugin_calls
from evalsuite.core.errors import FaultError, UsageError, did_you_mean
from evalsuite.core.types import BROKEN_RECORD, Problem, Reads, Score

IGNORED_PARAMETERS = ("pred", "result")
# Where to run an SQL answer or a gold query: taken in every check, and kept from its scorer.
CONNECTION_PARAMETERS = ("connection", "engine", "database")

Validate = Callable[[Mapping[str, Any]], Iterable[Problem]]
Asks = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What the `@scorer` decorator says of a function: what a reader must make for it, which way is better, and between which ends.

    `range` None means that values are kept on the scorer's own scale; `raw_direction` is which way is better there.
    """

    reads: Reads
    direction: Literal["higher", "lower"] = "higher"
    range: tuple[float, float] | None = (0.0, 1.0)
    raw_direction: Literal["higher", "lower"] = "higher"
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
        if self.marker.reads == "tree":
            arguments = (refuse_broken(arguments[0]), *arguments[1:])
        return plugin_calls.call_plugin(
            self.name, lambda: plugin_calls.score_of(self.name, self.function(*arguments, **parameters), self.marker.range)
        )

    def asks_judge(self, parameters: Mapping[str, Any]) -> bool:
        """Whether a check with these parameters needs a judge. Raises `FaultError` where a foreign marker fails."""
        asks = self.marker.asks
        if asks is None or not self.is_foreign:
            return asks is not None and asks(parameters)
        return bool(plugin_calls.call_plugin(f"{self.name}: asks", asks, parameters))

    def problems(self, parameters: Mapping[str, Any]) -> list[Problem]:
        """What the scorer's own check finds wrong with parameters of the right types; a failure of it is such a problem."""
        validate = self.marker.validate
        if validate is None:
            return []
        try:
            found = plugin_calls.call_plugin(f"{self.name}: validate", lambda: [*validate(parameters)])
        except FaultError as error:
            return [Problem(code=error.fault.code, message=error.fault.detail)]
        strange = next((item for item in found if not isinstance(item, Problem)), None)
        if strange is None:
            return found
        return [Problem(code="SCORER_ERROR", message=f"{self.name}: validate gave {type(strange).__name__}, expected a Problem")]


def refuse_broken(value: Any) -> Any:
    """The value of a tree answer, blank lines left out. Raises FaultError BAD_JSON where it, or a record of it, could not be read."""
    for record in value if isinstance(value, list) else [value]:
        broken = record.get(BROKEN_RECORD) if isinstance(record, dict) and len(record) == 1 else None
        if isinstance(broken, dict) and broken.get("cause"):
            raise FaultError("BAD_JSON", f"line {broken.get('line')}: {broken['cause']}")
    return [record for record in value if not (isinstance(record, dict) and BROKEN_RECORD in record)] if isinstance(value, list) else value


def scorer(
    *,
    reads: Reads,
    direction: Literal["higher", "lower"] = "higher",
    range: tuple[float, float] | None = (0.0, 1.0),
    validate: Validate | None = None,
    gold_files: Any = None,
    asks: Asks | None = None,
    raw_direction: Literal["higher", "lower"] | None = None,
) -> Callable[[Callable[..., Score]], Callable[..., Score]]:
    """Mark a function as a scorer; it stays a plain function.

    `range` are the ends between which a plain number lies that it gives: scores are made of it between 0 and 1. None keeps numbers on their
    own scale, with a mean, intervals, tests and ranks there and no score (counts, costs, lengths).
    `gold_files` is the JSON type of `gold` (`str | list[str]`) where it names files of gold's instance folder: the worker reads them and
    hands them over in the same shape, a `Fault` in the place of one that cannot be read.
    `validate` looks at the parameters when gold is loaded and yields what is wrong with them.
    `asks` says whether a check with these parameters needs a judge, which the function then gets as `judge`. Those that read `batch` always
    do and get it in the second place: the judge, or, for a plugin's `run_batch`, the values of all answers.
    """
    if range is not None and not range[0] < range[1]:
        raise UsageError(f"range cannot be {range!r}", hint="two numbers, the low one first, or None for no fixed range")
    if reads not in typing.get_args(Reads):
        raise UsageError(f"reads cannot be {reads!r}", hint="known: " + ", ".join(typing.get_args(Reads)))

    def mark(function: Callable[..., Score]) -> Callable[..., Score]:
        more = {"range": range, "raw_direction": raw_direction or direction}
        marker = Marker(reads=reads, direction=direction, validate=validate, gold_files=gold_files, asks=asks, **more)  # type: ignore[arg-type]
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


@cache
def _required(function: Callable[..., Score]) -> list[str]:
    """The keyword parameters without a default."""
    return [name for name, parameter in _keyword_parameters(function).items() if parameter.default is inspect.Parameter.empty]


def check_parameters(entry: Scorer, parameters: Mapping[str, Any], *, where: str = "", later: Collection[str] = ()) -> list[Problem]:
    """What is wrong with a check's parameters: unknown keys, wrong types, missing ones, then the scorer's own findings.

    An unknown key blocks the official verdict (the reference dies of it) and is only a warning for strict. Of those in `later` the
    values are not known yet, so nothing is said of them.
    """
    known = entry.parameters
    found: list[Problem] = []
    usable: dict[str, Any] = {}
    for key, value in parameters.items():
        if key in later:
            continue
        if key in IGNORED_PARAMETERS and key not in known:
            message = f"parameter {key!r} of {entry.name} is ignored"
            found.append(Problem(code="BAD_SPEC", message=message, where=where, blocks=frozenset()))
        elif key in CONNECTION_PARAMETERS and key not in known:
            if not isinstance(value, str) or not value:
                message = f"parameter {key!r} of {entry.name} must be text, found {type(value).__name__}"
                found.append(Problem(code="BAD_SPEC", message=message, where=where))
        elif key not in known:
            found.append(
                Problem(
                    code="BAD_SPEC",
                    message=f"unknown parameter {key!r} of {entry.name}",
                    hint=did_you_mean(key, known),
                    where=where,
                    blocks=frozenset({"official"}),
                )
            )
        elif not fits(value, annotation := _type_of_key(entry, key)):
            expected = readable(annotation)
            message = f"parameter {key!r} of {entry.name} must be {expected}, found {type(value).__name__}"
            found.append(Problem(code="BAD_SPEC", message=message, where=where))
        else:
            usable[key] = value
    missing = [name for name in _required(entry.function) if name not in parameters]
    for key in missing:
        found.append(Problem(code="BAD_SPEC", message=f"{entry.name} needs the parameter {key!r}", where=where))
    if not any(p.blocks >= {"strict"} for p in found):
        found.extend(replace(p, where=p.where or where) for p in entry.problems(usable))
    return found


def _type_of_key(entry: Scorer, key: str) -> Any:
    if key == "gold" and entry.marker.gold_files is not None:
        return entry.marker.gold_files
    return entry.parameters[key].annotation


def fits(value: object, annotation: Any) -> bool:
    """Whether a JSON value is of the annotated type; bool is not a number here, and an int fits float."""
    return _fitting(annotation)(value)


@cache
def _fitting(annotation: Any) -> Callable[[Any], bool]:
    """What tells values of an annotation: taken apart once, for it is asked of every parameter of a hundred thousand checks."""
    if annotation is Any or annotation is object:
        return lambda _: True
    if annotation is None or annotation is type(None):
        return lambda value: value is None
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return lambda value: value in parts
    if origin in (typing.Union, types.UnionType):
        ways = list(map(_fitting, parts))
        return lambda value: any(way(value) for way in ways)
    if origin in (list, Sequence, tuple):
        inner = _fitting(parts[0])
        return lambda value: isinstance(value, list | tuple) and all(map(inner, value))
    if origin in (dict, Mapping):
        inner = _fitting(parts[1])
        return lambda value: isinstance(value, Mapping) and all(map(inner, value.values()))
    if annotation in (float, int):
        numbers = (int, float) if annotation is float else int
        return lambda value: isinstance(value, numbers) and not isinstance(value, bool)
    return lambda value: isinstance(annotation, type) and isinstance(value, annotation)


def readable(annotation: Any) -> str:
    """An annotation in the words of a gold file: `text or list of text`."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(readable(part) for part in typing.get_args(annotation))
    if origin is Literal:
        return " or ".join(repr(part) for part in typing.get_args(annotation))
    if origin in (list, Sequence, tuple):
        return f"list of {readable(typing.get_args(annotation)[0])}"
    if origin in (dict, Mapping):
        return f"object of {readable(typing.get_args(annotation)[1])}"
    plain = {str: "text", int: "integer", float: "number", bool: "true or false", type(None): "null", Any: "anything"}
    return plain.get(annotation, getattr(annotation, "__name__", str(annotation)))
