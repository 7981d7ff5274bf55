"""Interface of scorers: a plain function with a marker. Its keyword names and types are the parameters that a gold file may set."""

import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeGuard

from evalsuite.core import plugin_calls
from evalsuite.core.errors import FaultError, UsageError, did_you_mean
from evalsuite.core.types import BROKEN_RECORD, Problem, Reads, Score

IGNORED_PARAMETERS = ("pred", "result")
# Where to run an SQL answer or a gold query: allowed in every check, and not passed to its scorer.
CONNECTION_PARAMETERS = ("connection", "engine", "database")

Validate = Callable[[Mapping[str, Any]], Iterable[Problem]]
Asks = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The arguments of the `@scorer` decorator: what the scorer reads, its direction and range.

    `range` None keeps values on the scorer's own scale; `raw_direction` is the better direction there.
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
    """A scorer of the registry. `is_foreign` is True for plugins: neither bundled nor a metric with its options."""

    name: str
    function: Callable[..., Score]
    marker: Marker
    summary: str
    is_foreign: bool = False

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The keyword parameters by name, without `prediction`, with annotations resolved."""
        return _keyword_parameters(self.function)

    def score(self, *arguments: Any, **parameters: Any) -> Score:
        """Call the scorer. The return value of a foreign one is checked, and its exceptions become `FaultError`."""
        if not self.is_foreign:
            return self.function(*arguments, **parameters)
        if self.marker.reads == "tree":
            arguments = (refuse_broken(arguments[0]), *arguments[1:])
        return plugin_calls.call_plugin(
            self.name, lambda: plugin_calls.score_of(self.name, self.function(*arguments, **parameters), self.marker.range)
        )

    def asks_judge(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether a check with these parameters needs a judge. Raises `FaultError` if a foreign marker fails."""
        asks = self.marker.asks
        if asks is None or not self.is_foreign:
            return asks is not None and asks(parameters)
        return bool(plugin_calls.call_plugin(f"{self.name}: asks", asks, parameters))

    def problems(self, parameters: Mapping[str, Any]) -> list[Problem]:
        """Return the problems that the scorer's own validation finds in parameters of the right types; its failure is a problem too."""
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
    """Return the value of a tree answer without blank lines. Raises FaultError BAD_JSON if it, or one of its records, could not be read."""
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
    """Mark a function as a scorer. It stays a plain function.

        @scorer(reads="text")
        def shout_match(prediction: str, *, gold: str | list[str]) -> Score:
            return Score(official=float(prediction == str(gold).upper()))

    Args:
        reads: what the function gets as `prediction`: `text`, `number` (text too), `table`, `tables`, `database`, `tree` (JSON data),
            `query`,
            or `batch` (the texts of all instances).
        direction: whether more or less is better.
        range: the ends of the plain numbers that the function returns; they are mapped to scores in [0, 1]. None keeps numbers on their own
            scale, with mean, intervals, tests and ranks there and no score (counts, costs, lengths).
        validate: checks the parameters when gold is loaded; yields a `Problem` for each error.
        gold_files: the JSON type of `gold` (`str | list[str]`) if it names files in gold's instance folder. The worker reads them and
            passes
            them in the same shape, with a `Fault` in place of each unreadable file.
        asks: whether a check with given parameters needs a judge, which the function then gets as `judge`. Scorers that read `batch` always
            get a second positional argument instead: the judge, or, for a plugin's `run_batch`, the values of all answers.
        raw_direction: the better direction on the scorer's own scale, by default `direction`.

    Returns:
        A decorator that returns the function itself.

    Raises:
        UsageError: `range` or `reads` is not valid.
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
    """Return the keyword parameters without a default."""
    return [name for name, parameter in _keyword_parameters(function).items() if parameter.default is inspect.Parameter.empty]


def check_parameters(entry: Scorer, parameters: Mapping[str, Any], *, where: str = "", later: Collection[str] = ()) -> list[Problem]:
    """Return the problems of a check's parameters: unknown keys, wrong types, missing keys, then the scorer's own validation.

    An unknown key blocks the official verdict (the reference raises an error) and is only a warning for strict. Keys in `later` have no
    value
    yet and are not checked.
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
    """Return whether a JSON value is of the annotated type. A bool is not a number, and an int fits float."""
    return _type_check(annotation)(value)


@cache
def _type_check(annotation: Any) -> Callable[[Any], bool]:
    """Return a type check for an annotation. Cached, because it runs for every parameter of 100,000 checks."""
    if annotation is Any or annotation is object:
        return lambda _: True
    if annotation is None or annotation is type(None):
        return lambda value: value is None
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return lambda value: value in parts
    if origin in (typing.Union, types.UnionType):
        ways = list(map(_type_check, parts))
        return lambda value: any(way(value) for way in ways)
    if origin in (list, Sequence, tuple):
        inner = _type_check(parts[0])
        return lambda value: isinstance(value, list | tuple) and all(map(inner, value))
    if origin in (dict, Mapping):
        inner = _type_check(parts[1])
        return lambda value: isinstance(value, Mapping) and all(map(inner, value.values()))
    if annotation in (float, int):
        numbers = (int, float) if annotation is float else int
        return lambda value: isinstance(value, numbers) and not isinstance(value, bool)
    return lambda value: isinstance(annotation, type) and isinstance(value, annotation)


SHARE: Any = float | None
"""The kind of a number in [0, 1] that may be null, for `are_rows`."""


def are_rows(rows: object, kinds: Mapping[str, Any]) -> TypeGuard[list[Mapping[str, Any]]]:
    """Whether this is a list of objects that each hold values of these kinds: an integer is at least 0, a `SHARE` in [0, 1].

    What a scorer or a stranger's run tells in details is asked this before it is shown.
    """

    def holds(row: object, name: str, kind: Any) -> bool:
        if not isinstance(row, Mapping) or name not in row or not fits(row[name], kind):
            return False
        value = row[name]
        return (kind is not int or value >= 0) and (kind is not SHARE or value is None or 0 <= value <= 1)

    return isinstance(rows, list) and all(isinstance(row, Mapping) and all(holds(row, *one) for one in kinds.items()) for row in rows)


def readable(annotation: Any) -> str:
    """Return an annotation in the words of a gold file: `text or list of text`."""
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
