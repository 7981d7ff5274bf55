"""Scorers: their interface (a marked function), and the registry of bundled scorers and those of plugins, suites and installed packages.

    @scorer(reads="text")
    def shout_match(prediction: str, *, gold: str | list[str]) -> Score: ...

A scorer is a plain function; its keyword names and types are the keys of gold's `parameters`. A plugin file may contain functions marked
with `@scorer` and classes with `run_batch` (Arthur Bench's interface); a suite may name plain functions. Plugins are trusted code.
"""

import importlib.util
import sys
import threading
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeGuard

from evalsuite.core import plugin_calls
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.disk_cache import file_digest
from evalsuite.core.errors import EvalsuiteError, FaultError, UsageError, count_words, did_you_mean
from evalsuite.core.files import exists, is_file
from evalsuite.core.import_ref import ImportRef, LazyModule
from evalsuite.core.scores import BROKEN_RECORD, Problem, Reads, Score, Within, broken_record_in

hashlib, inspect = LazyModule("hashlib"), LazyModule("inspect")
NO_DEFAULT: Any = object()
# Functions whose parameters are remembered: each call makes new ones for its plugins and metrics, and a process may make many calls.
_MOST_FUNCTIONS = 256
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
    def parameters(self) -> "dict[str, Parameter]":
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
            problems = plugin_calls.call_plugin(f"{self.name}: validate", lambda: [*validate(parameters)])
        except FaultError as error:
            return [Problem(code=error.fault.code, message=error.fault.detail)]
        strange = next((item for item in problems if not isinstance(item, Problem)), None)
        if strange is None:
            return problems
        return [Problem(code="SCORER_ERROR", message=f"{self.name}: validate gave {type(strange).__name__}, expected a Problem")]


def refuse_broken(value: Any) -> Any:
    """Return the value of a tree answer without blank lines. Raises FaultError BAD_JSON if it, or one of its records, could not be read."""
    for record in value if isinstance(value, list) else [value]:
        broken = broken_record_in(record)
        if broken is not None and broken.get("cause"):
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
            `query`, or `batch` (the texts of all instances).
        direction: whether more or less is better.
        range: the ends of the plain numbers that the function returns; they are mapped to scores in [0, 1]. None keeps numbers on their own
            scale, with mean, intervals, tests and ranks there and no score (counts, costs, lengths).
        validate: checks the parameters when gold is loaded; yields a `Problem` for each error.
        gold_files: the JSON type of `gold` (`str | list[str]`) if it names files in gold's instance folder. The worker reads them and
            passes them in the same shape, with a `Fault` in place of each unreadable file.
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


@dataclass(frozen=True, slots=True)
class Parameter:
    """A keyword parameter of a scorer; `default` is `NO_DEFAULT` if it must be given."""

    annotation: Any
    default: Any


@lru_cache(maxsize=_MOST_FUNCTIONS)
def _keyword_parameters(function: Callable[..., Score]) -> dict[str, Parameter]:
    hints = typing.get_type_hints(function, include_extras=True)
    if hasattr(function, "__signature__") or hasattr(function, "__wrapped__") or not hasattr(function, "__code__"):
        of_all = inspect.signature(function).parameters.items()
        defaults = {name: parameter.default for name, parameter in of_all if parameter.kind is parameter.KEYWORD_ONLY}
        defaults = {name: NO_DEFAULT if default is inspect.Parameter.empty else default for name, default in defaults.items()}
    else:
        # As `inspect` has it; importing that takes half as long as Python's start.
        code, keyword_defaults = function.__code__, function.__kwdefaults__ or {}
        names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        defaults = {name: keyword_defaults.get(name, NO_DEFAULT) for name in names}
    return {name: Parameter(hints.get(name, Any), default) for name, default in defaults.items() if name != "judge"}


@lru_cache(maxsize=_MOST_FUNCTIONS)
def _required_parameters(function: Callable[..., Score]) -> list[str]:
    """Return the keyword parameters without a default."""
    return [name for name, parameter in _keyword_parameters(function).items() if parameter.default is NO_DEFAULT]


def check_parameters(
    entry: Scorer, parameters: Mapping[str, Any], *, where: str = "", places: Mapping[str, str] | None = None, later: Collection[str] = ()
) -> list[Problem]:
    """Return the problems of a check's parameters: unknown keys, wrong types, missing keys, then the scorer's own validation.

    An unknown key blocks the official verdict (the reference raises an error) and is only a warning for strict. Keys in `later` have no
    value yet and are not checked. `places` are those of keys that are not at `where`.
    """
    parameters_of_scorer = entry.parameters
    problems, usable = list[Problem](), dict[str, Any]()
    for key, value in parameters.items():
        if key in later:
            continue
        if key in IGNORED_PARAMETERS and key not in parameters_of_scorer:
            message = f"parameter {key!r} of {entry.name} is ignored"
            problems.append(Problem(code="BAD_SPEC", message=message, where=where, blocks=frozenset()))
        elif key in CONNECTION_PARAMETERS and key not in parameters_of_scorer:
            if not isinstance(value, str) or not value:
                message = f"parameter {key!r} of {entry.name} must be text, found {type(value).__name__}"
                problems.append(Problem(code="BAD_SPEC", message=message, where=where))
        elif key not in parameters_of_scorer:
            problems.append(
                Problem(
                    code="BAD_SPEC",
                    message=f"unknown parameter {key!r} of {entry.name}",
                    hint=did_you_mean(key, parameters_of_scorer),
                    where=where,
                    blocks=frozenset({"official"}),
                )
            )
        elif not fits(value, annotation := type_in_gold(entry, key)):
            expected = readable(annotation)
            found = f"{value!r:.60}" if fits(value, annotation, is_bounded=False) else type(value).__name__
            message = f"parameter {key!r} of {entry.name} must be {expected}, found {found}"
            problems.append(Problem(code="BAD_SPEC", message=message, where=(places or {}).get(key, where)))
        else:
            usable[key] = value
    missing = [name for name in _required_parameters(entry.function) if name not in parameters]
    for key in missing:
        problems.append(Problem(code="BAD_SPEC", message=f"{entry.name} needs the parameter {key!r}", where=where))
    if not any(p.blocks >= {"strict"} for p in problems):
        problems.extend(replace(p, where=p.where or where) for p in entry.problems(usable))
    return problems


def type_in_gold(entry: Scorer, key: str) -> Any:
    """Return the type of a parameter in a gold file; for `gold` of a file scorer the type of file names."""
    if key == "gold" and entry.marker.gold_files is not None:
        return entry.marker.gold_files
    return entry.parameters[key].annotation


def fits(value: object, annotation: Any, *, is_bounded: bool = True) -> bool:
    """Return whether a JSON value is of the annotated type. A bool is no number, an int fits float. `Within` counts if `is_bounded`."""
    return _type_check(annotation, is_bounded)(value)


@cache
def _type_check(annotation: Any, is_bounded: bool) -> Callable[[Any], bool]:
    """Return a type check for an annotation. Cached, because it runs for every parameter of 100,000 checks."""
    if annotation is Any or annotation is object:
        return lambda _: True
    if annotation is None or annotation is type(None):
        return lambda value: value is None
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return lambda value: value in parts
    if isinstance(ends := getattr(annotation, "__metadata__", (None,))[0], Within):
        number = _type_check(parts[0], is_bounded)
        return lambda value: number(value) and (not is_bounded or ends.holds(value))
    if origin in (typing.Union, types.UnionType):
        ways = [_type_check(part, is_bounded) for part in parts]
        return lambda value: any(way(value) for way in ways)
    if origin in (list, Sequence, tuple):
        inner = _type_check(parts[0], is_bounded)
        return lambda value: isinstance(value, list | tuple) and all(map(inner, value))
    if origin in (dict, Mapping):
        keys, inner = _type_check(parts[0], is_bounded), _type_check(parts[1], is_bounded)
        return lambda value: isinstance(value, Mapping) and all((*map(keys, value), *map(inner, value.values())))
    if annotation in (float, int):
        numbers = (int, float) if annotation is float else int
        return lambda value: isinstance(value, numbers) and not isinstance(value, bool)
    return lambda value: isinstance(annotation, type) and isinstance(value, annotation)


SHARE: Any = float | None
"""The kind of a number in [0, 1] that may be null, for `are_rows`."""


def are_rows(rows: object, kinds: Mapping[str, Any]) -> TypeGuard[list[Mapping[str, Any]]]:
    """Return whether this is a list of objects with values of these kinds: an integer is at least 0, a `SHARE` in [0, 1].

    Details of a scorer or of an untrusted run are checked this way before they are shown.
    """

    def holds(row: object, name: str, kind: Any) -> bool:
        if not isinstance(row, Mapping) or name not in row or not fits(row[name], kind):
            return False
        value = row[name]
        return (kind is not int or value >= 0) and (kind is not SHARE or value is None or 0 <= value <= 1)

    return isinstance(rows, list) and all(isinstance(row, Mapping) and all(holds(row, *item) for item in kinds.items()) for row in rows)


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
    if isinstance(ends := getattr(annotation, "__metadata__", (None,))[0], Within):
        return f"{readable(typing.get_args(annotation)[0])} {ends}"
    plain = {str: "text", int: "integer", float: "number", bool: "true or false", type(None): "null", Any: "anything"}
    return plain.get(annotation, getattr(annotation, "__name__", str(annotation)))


def name_of(value: Any) -> str:
    """Return a plugin's own `name`, a text or (as in Arthur Bench) a static method; empty if it has none."""
    name = getattr(value, "name", "")
    return str(plugin_calls.call_plugin(f"name of {value!r}", name) if callable(name) else name)


def as_scorer(value: Any, name: str) -> Callable[..., Any]:
    """Return a marked scorer function for a marked function (unchanged), a plain function, or a class with `run_batch`.

    A plain function is called with the text of the answer and gold. `Scorer.score` checks the return values.
    """
    if hasattr(value, "__evalsuite__"):
        function: Callable[..., Any] = value
        return function
    if is_batch(value):

        @scorer(reads="batch", range=None)
        def score_batched(
            prediction: str, batch: PluginBatch | None = None, *, gold: Any = None, question: str = "", context: str = ""
        ) -> Any:
            case = Case(prediction=prediction, gold=gold, question=question, context=context)
            whole = batch or PluginBatch(name, value)
            result = whole.value_of(case)
            return result if isinstance(result, Score) or not whole.is_within else plugin_calls.with_raw(name, result)

        score_batched.__doc__ = inspect.getdoc(value)
        return score_batched

    @scorer(reads="text")
    def adapt(prediction: str, *, gold: Any = None, question: str = "", context: str = "") -> Any:
        del question, context
        return value(prediction, gold)

    adapt.__doc__ = inspect.getdoc(value)
    return adapt


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One answer with gold, question and context, as passed to `run_batch`."""

    prediction: str
    gold: Any = None
    question: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class FunctionBatch:
    """Adapter that gives a function of (answer, gold) the interface of `run_batch`."""

    function: Callable[[str, Any], Any]

    def run_batch(self, predictions: Sequence[str], golds: Sequence[Any] | None, *_: Any) -> list[Any]:
        """Return one value per answer, in order."""
        return [self.function(text, gold) for text, gold in zip(predictions, golds or [None] * len(predictions), strict=True)]


class PluginBatch:
    """All answers of a run for one plugin's `run_batch`, which is called once, when the first value is needed. Thread-safe.

    `is_within` is whether all values are in [0, 1]; if one is not, all of them count as values on the plugin's own scale.
    """

    def __init__(self, name: str, plugin: Any) -> None:
        self.name = name
        self._made = plugin
        self._cases: list[Case] = []
        self._values: dict[str, list[Any]] | None = None
        self.is_within = True
        self._lock = threading.Lock()

    def add(self, prediction: str, parameters: Mapping[str, Any]) -> None:
        """Add an answer. Call it before any `value_of`."""
        optional = {key: parameters[key] for key in ("gold", "question", "context") if key in parameters}
        self._cases.append(Case(prediction=prediction, **optional))

    def value_of(self, case: Case) -> Any:
        """Return the value of one answer; equal cases get their values in order. If the whole batch fails, cases are run one by one."""
        with self._lock:
            if inspect.isclass(self._made):
                self._made = self._made()
            if self._values is None:
                self._values = self._run_all()
            waiting = self._values.get(repr(case))
            if waiting:
                return waiting.pop(0)
        value = self._check_values([case])[0]
        self.is_within = self.is_within and plugin_calls.is_share(value)
        return value

    def _run_all(self) -> dict[str, list[Any]]:
        requests: dict[str, list[Any]] = {}
        if len(self._cases) < 2:
            return requests
        try:
            values = plugin_calls.call_plugin(self.name, self._check_values, self._cases)
        except FaultError:  # Cases are then run one by one, so that a bad answer does not affect the others.
            return requests
        self.is_within = all(map(plugin_calls.is_share, values))
        for case, value in zip(self._cases, values, strict=True):
            requests.setdefault(repr(case), []).append(value)
        return requests

    def _check_values(self, cases: Sequence[Case]) -> Sequence[Any]:
        golds = [case.gold for case in cases]
        result = self._made.run_batch(
            [case.prediction for case in cases],
            None if all(gold is None for gold in golds) else golds,
            [case.question for case in cases],
            [case.context for case in cases],
        )
        values = list(result)
        if len(values) != len(cases):
            raise FaultError(
                "SCORER_ERROR", f"{self.name}: run_batch gave {count_words(len(values), 'value')} for {count_words(len(cases), 'answer')}"
            )
        return values


def is_batch(value: Any) -> bool:
    """Return whether the object scores all answers at once, by a method `run_batch`."""
    return callable(getattr(value, "run_batch", None))


def is_own(value: Any, module: ModuleType) -> bool:
    """Return whether a function or class is defined in the module rather than imported into it."""
    return isinstance(value, types.FunctionType | type) and value.__module__ == module.__name__


PART_MODULES: set[str] = set()
"""Modules that register parts of scorers (comparators, transforms, post-processors): such a plugin file needs no scorer."""
PLUGIN_MODULE = "evalsuite_plugin_"


class PluginFile(NamedTuple):
    """A plugin file as it was executed: its module and its bytes."""

    module: ModuleType
    source: bytes

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes."""
        return str(hashlib.sha256(self.source).hexdigest())


_EXECUTED: dict[Path, PluginFile] = {}
# Modules that plugin files imported from their own folders: name -> (file, digest).
_NEIGHBOURS: dict[str, tuple[Path, str]] = {}


def plugin_file(path: Path, source: bytes | None = None) -> PluginFile:
    """Execute a plugin file, again only if it or a module of its folder has changed, and return it.

    The bytes themselves are compiled: Python's own cache of compiled files takes a file of the same size and time for the same code.

    Args:
        path: the file.
        source: its bytes; None to read them.

    Raises:
        UsageError: it is no file, or it fails; with the line.
    """
    if source is None:
        if not is_file(path):
            why = "not a file" if exists(path) else "no such plugin file"
            raise UsageError(f"{path}: {why}", hint="a plugin is a Python file with scorers")
        try:
            source = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}", hint="check the permissions of the plugin file") from None
    if any(_digest_of(file) != digest for file, digest in _NEIGHBOURS.values()):
        _forget(list(_NEIGHBOURS))
    executed = _EXECUTED.get(path)
    if executed is None or executed.source != source:
        executed = _EXECUTED[path] = PluginFile(_execute(path, source), source)
    return executed


def _execute(path: Path, source: bytes) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{PLUGIN_MODULE}{path.stem}_{abs(hash(path)):x}", path)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        raise UsageError(f"{path}: not a Python file", hint="the name of a plugin file ends in .py")
    loader, module, folder = spec.loader, importlib.util.module_from_spec(spec), path.parent
    _forget([name for name, (file, _) in _NEIGHBOURS.items() if _is_another_file(name, file, folder)])
    imported = {*sys.modules, module.__name__}
    sys.modules[module.__name__] = module
    try:
        with plugin_calls.neighbours_from_source(folder):
            plugin_calls.call_plugin(str(path), lambda: exec(loader.source_to_code(source, str(path)), vars(module)))
    except FaultError as fault:
        sys.modules.pop(module.__name__, None)
        error = fault.__cause__ or fault
        raise _import_error(path, error) from error
    finally:
        for name in sys.modules.keys() - imported:
            if plugin_calls.is_neighbour(file := Path(str(getattr(sys.modules[name], "__file__", None))), folder):
                _NEIGHBOURS[name] = file, _digest_of(file)
    return module


def _is_another_file(name: str, file: Path, folder: Path) -> bool:
    """Return whether a folder has a module of this name, or its package, in another place than `file`."""
    top = name.partition(".")[0]
    places = [place for place in (folder / f"{top}.py", folder / top) if exists(place)]
    return bool(places) and not any(file.is_relative_to(place) for place in places)


def _import_error(path: Path, error: BaseException) -> UsageError:
    """Return the error of a plugin file that fails when it is imported, with its line."""
    import traceback

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = (error.lineno if isinstance(error, SyntaxError) else frames and frames[-1].lineno) or 1
    if isinstance(error, EvalsuiteError):
        return UsageError(f"{path}:{line}: {error.message}", hint=error.hint)
    hint = 'write @scorer(reads="text")' if "scorer() takes 0 positional" in str(error) else "the plugin fails when it is imported"
    if isinstance(error, ModuleNotFoundError) and error.name:
        hint = f"install {error.name.partition('.')[0]!r} for the Python of this command: {sys.executable}"
    return UsageError(f"{path}:{line}: {type(error).__name__}: {error}", hint=hint)


def _digest_of(file: Path) -> str:
    try:
        return file_digest(file)
    except OSError:
        return ""


def _forget(neighbours: Sequence[str]) -> None:
    """Let the next plugins import these modules again, and execute those that have imported them."""
    for name in neighbours:
        sys.modules.pop(name, None)
        del _NEIGHBOURS[name]
    if neighbours:
        _EXECUTED.clear()


class UnknownScorerError(EvalsuiteError, ValueError):
    """No table, plugin or entry point has a scorer of this name."""


@dataclass(slots=True)
class Additions:
    """What plugin files and suites add to the bundled scorers; sent to workers.

    Attributes:
        loaded: name -> plugin file and attribute.
        parts: name -> plugin file that registers comparators and other parts.
        metrics: name -> metric with its options, as written in a suite.
        known: name -> scorer, as far as they have been used.
        files: plugin file -> what of it was executed, the same until the call ends.
        objects: name -> scorer made in this process. Workers cannot import it, so it runs here over all answers at once.
    """

    loaded: dict[str, tuple[Path, str]] = field(default_factory=dict)
    parts: dict[str, Path] = field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    known: dict[str, Scorer] = field(default_factory=dict)
    files: dict[Path, PluginFile] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)


class Registry:
    """Scorers by name. The bundled ones are entries of a table; nothing is imported until it is needed.

    Attributes:
        bundled: name -> reference to the scorer or metric.

    Args:
        bundled: the table.
        metric_scorer: a reference to the function that makes a scorer of a metric.
        group: the entry point group of installed packages with scorers.
    """

    def __init__(self, bundled: Mapping[str, ImportRef], *, metric_scorer: ImportRef, group: str) -> None:
        self.bundled = bundled
        self._metric_scorer = metric_scorer
        self._group = group
        self._last = Additions()
        self._of_call: ContextVar[Additions] = ContextVar("additions")

    @property
    def additions(self) -> Additions:
        """What this call added; in a thread that began none, what the last call of the process added."""
        return self._of_call.get(self._last)

    def begin_call(self) -> None:
        """Forget what earlier calls of this process added. Calls in other threads keep theirs."""
        self._last = Additions()
        self._of_call.set(self._last)
        # A plugin file that registers parts is executed again by the next call that names it: another's may have their names by then.
        for path in [path for path, file in _EXECUTED.items() if file.module.__name__ in PART_MODULES]:
            PART_MODULES.discard(_EXECUTED.pop(path).module.__name__)

    @contextmanager
    def using(self, objects: Mapping[str, Any]) -> Iterator[None]:
        """Use these scorers made in this process, and no others, inside the block and in this thread."""
        before = self._of_call.set(replace(self.additions, objects=dict(objects), known={}))
        try:
            yield
        finally:
            self._of_call.reset(before)

    def names(self) -> list[str]:
        """Return all scorer names: bundled ones in table order, then those of plugins and entry points in order of registration."""
        entries = (entry.name for entry in _installed_entry_points(self._group) if entry.name not in self.additions.loaded)
        return [*self.bundled, *self.additions.objects, *self.additions.loaded, *self.additions.metrics, *entries]

    def load(self, name: str) -> Scorer:
        """Return the scorer of that name. Raises `UnknownScorerError` with a suggestion if there is none."""
        known = self.additions.known
        if (entry := known.get(name)) is None:
            entry = known[name] = self._load(name)
        return entry

    def _load(self, name: str) -> Scorer:
        if name in self.bundled:
            function = self.bundled[name].load()
            if not hasattr(function, "__evalsuite__"):
                function = self._metric_scorer.load()(function)
            return Scorer(name=name, function=function, marker=function.__evalsuite__, summary=self.bundled[name].summary)
        function = self._function_of(name)
        if function is None:
            raise UnknownScorerError(f"unknown scorer {name!r}", hint=did_you_mean(name, self.names()))
        summary = (inspect.getdoc(function) or "a plugin's scorer").splitlines()[0]
        marker: Marker = function.__evalsuite__  # type: ignore[attr-defined]
        entry = Scorer(name=name, function=function, marker=marker, summary=summary, is_foreign=name not in self.additions.metrics)
        try:
            plugin_calls.call_plugin(f"{name}: its signature", lambda: entry.parameters)
        except FaultError as error:
            raise UsageError(error.fault.detail, hint="the annotations of a scorer must be names defined in its file") from error
        return entry

    def load_file(self, path: Path) -> list[str]:
        """Load a plugin file and return the names of its scorers; none if it only registers parts of scorers, such as tree comparators.

        Raises:
            UsageError: the file fails, with the line, or contains no scorer.
        """
        module = self._module_of(path.resolve())
        if module.__name__ in PART_MODULES:
            self.additions.parts[f"parts of {path.resolve()}"] = path.resolve()
        scorers = [
            name for name, value in vars(module).items() if is_own(value, module) and (hasattr(value, "__evalsuite__") or is_batch(value))
        ]
        if not scorers and module.__name__ not in PART_MODULES:
            hint = "mark a function with @scorer, write a class with run_batch, or register a comparator of trees"
            raise UsageError(f"{path}: contains no scorer", hint=hint)
        names = []
        for attribute in scorers:
            name = name_of(getattr(module, attribute)) or attribute
            self.register(name, path, attribute)
            names.append(name)
        return names

    def register(self, name: str, path: Path, attribute: str) -> None:
        """Register one attribute of a plugin file under a name. Raises `UsageError` if the name is bundled or the attribute is absent.

        The attribute `__name__` means the file itself, which registers parts of scorers.
        """
        if attribute == "__name__":
            self._module_of(path.resolve())
            self.additions.parts[name] = path.resolve()
            return
        if name in self.bundled:
            raise UsageError(f"{path}: the name {name!r} is a bundled scorer's", hint="give the plugin's scorer another name")
        registered = self.additions.loaded.get(name)
        if registered is not None and registered != (path.resolve(), attribute):
            raise UsageError(f"{path}: {registered[0]} already registers a scorer {name!r}")
        if not hasattr(self._module_of(path.resolve()), attribute):
            raise UsageError(f"{path}: the file does not define {attribute!r}")
        self.additions.loaded[name] = (path.resolve(), attribute)

    def _module_of(self, path: Path, source: bytes | None = None) -> ModuleType:
        """Return the module of a plugin file, the same until the call ends: what is edited meanwhile is code of the next call."""
        if (file := self.additions.files.get(path)) is None:
            file = self.additions.files[path] = plugin_file(path, source)
        return file.module

    def register_object(self, value: Any) -> str:
        """Register a scorer made in this process, an object with `run_batch` or a function, and return its name.

        Raises:
            UsageError: it is neither, it has no name, or the name is a bundled scorer's.
        """
        if inspect.isclass(value) or not (is_batch(value) or callable(value)):
            raise UsageError(f"{value!r} is not a scorer", hint="give a scorer's name, an object with run_batch, or a function")
        name = name_of(value) or str(getattr(value, "__name__", type(value).__name__))
        if name in self.bundled:
            hint = "give your scorer another name, or name the bundled one as text"
            raise UsageError(f"the name {name!r} is a bundled scorer's", hint=hint)
        if self.additions.objects.get(name) is not value:
            self.additions.known.pop(name, None)
        self.additions.objects[name] = value
        return name

    def register_metric(self, name: str, spec: Mapping[str, Any]) -> None:
        """Register a metric with its options, `{composite: {parts: [...]}}`, as a scorer of that name. Raises `UsageError`."""
        if name in self.bundled or name in self.additions.loaded:
            raise UsageError(f"the name {name!r} is taken by another scorer", hint="give the metric another name")
        self._metric_scorer.load()(spec)
        if self.additions.metrics.get(name) != spec:
            # Another suite in the same process may use the name for something else.
            self.additions.known.pop(name, None)
        self.additions.metrics[name] = dict(spec)

    def register_all(self, plugins: Iterable[tuple[str, str, str, bytes]], metrics: Mapping[str, Mapping[str, Any]]) -> None:
        """Register the `registered_plugins` and `metrics` of another process, whose plugin files may have been edited since."""
        for name, file, attribute, source in plugins:
            self._module_of(Path(file), source)
            self.register(name, Path(file), attribute)
        for name, spec in metrics.items():
            self.register_metric(name, spec)

    def registered_plugins(self) -> Iterator[tuple[str, str, str, bytes]]:
        """Yield (name, file, attribute, bytes of the file) of every plugin loaded here, for a worker to load."""
        for name, (path, attribute) in self.additions.loaded.items():
            yield name, str(path), attribute, self.additions.files[path].source
        for name, path in self.additions.parts.items():
            yield name, str(path), "__name__", self.additions.files[path].source

    def plugin_batch(self, name: str) -> PluginBatch | None:
        """Return an empty batch for the scorer of that name, None if it has no `run_batch`."""
        value = self._value_of(name)
        return PluginBatch(name, value) if value is not None and not hasattr(value, "__evalsuite__") and is_batch(value) else None

    def entry_point(self, name: str) -> Any:
        """Return the entry point of an installed package for the name, or None."""
        return next((entry for entry in _installed_entry_points(self._group) if entry.name == name), None)

    def code_hash(self, names: Iterable[str]) -> str:
        """Return 12 hex digits over the code of plugin scorers; empty if all scorers are bundled or made of metrics.

        A plugin file counts by the bytes that were executed, an installed package by its version, an object of this process by its source
        and its simple attributes. Modules that these import are not included.
        """
        codes = [f"{name}\0{code}" for name in sorted(set(names) - self.bundled.keys()) if (code := self._code_of(name))]
        codes += [self.additions.files[path].digest for path in self.additions.parts.values()]
        return hashlib.sha256("\0".join(codes).encode()).hexdigest()[:12] if codes else ""

    def _code_of(self, name: str) -> str:
        if name in self.additions.metrics:
            return ""  # its options are in suite.yaml, which is part of gold
        if (plugin := self.additions.objects.get(name)) is not None:
            try:
                source = inspect.getsource(plugin if inspect.isroutine(plugin) else type(plugin))
            except (OSError, TypeError):
                source = ""
            return f"{source}\0{sorted((key, value) for key, value in vars(plugin).items() if isinstance(value, str | int | float))}"
        if name in self.additions.loaded:
            path, attribute = self.additions.loaded[name]
            return f"{attribute}\0{self.additions.files[path].digest}"
        entry = self.entry_point(name)
        return f"{entry.value}\0{entry.dist.version if entry.dist is not None else ''}" if entry is not None else ""

    def _function_of(self, name: str) -> Callable[..., Score] | None:
        """Return the marked scorer function for the name of a plugin or entry point, or None."""
        if name in self.additions.metrics:
            function: Callable[..., Score] = self._metric_scorer.load()(self.additions.metrics[name])
            return function
        value = self._value_of(name)
        return None if value is None else as_scorer(value, name)

    def _value_of(self, name: str) -> Any:
        """Return the plugin's attribute or the entry point's object for a name, or None."""
        if (value := self.additions.objects.get(name)) is not None:
            return value if is_batch(value) else FunctionBatch(value)
        if name in self.additions.loaded:
            path, attribute = self.additions.loaded[name]
            return getattr(self._module_of(path), attribute)
        entry = self.entry_point(name)
        if entry is None:
            return None
        try:
            return plugin_calls.call_plugin(f"the package of {name}", entry.load)
        except FaultError as error:
            raise UsageError(error.fault.detail, hint="the plugin fails when it is imported") from error


@cache
def _installed_entry_points(group: str) -> tuple[Any, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))
