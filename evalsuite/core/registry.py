"""Name -> thing, plugins included, without knowing any of the things.

    @scorer(reads="text")
    def shout_match(prediction: str, *, gold: str | list[str]) -> Score: ...

is a scorer: a plain function whose keyword names are the keys of gold's `parameters`.

Somebody else's code as a scorer: a plugin file's functions marked with `@scorer`, its classes with `run_batch` (Arthur Bench's way),
and plain functions that a suite names. Plugins are trusted code, like gold.

Name -> scorer: a bundled table, then what this process, plugin files, suites and installed packages bring.
"""

import hashlib
import importlib.util
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from evalsuite.core import plugin_calls
from evalsuite.core.errors import EvalsuiteError, FaultError, UsageError, did_you_mean
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.plugin_calls import (
    OFFICIAL_HEARD,
    PROGRAM_BUDGET,
    PROGRAMS_ALLOWED,
    OfficialError,
    allowing_programs,
    is_trusted,
    late_strict,
    official_alone,
    tell_official,
    trusting_plugins,
)
from evalsuite.core.scorer_contract import CONNECTION_PARAMETERS, Marker, Scorer, check_parameters, fits, readable, scorer
from evalsuite.core.types import Score


def name_of(value: Any) -> str:
    """The name a plugin gives itself by `name`, a text or (Arthur Bench's way) a static method; empty where it has none."""
    given = getattr(value, "name", "")
    return str(plugin_calls.call_plugin(f"name of {value!r}", given) if callable(given) else given)


def as_scorer(value: Any, name: str) -> Callable[..., Any]:
    """A marked scorer function made of a marked function (as it is), a plain function, or a class with `run_batch`.

    A plain function gets the text of the answer and, as `gold`, what gold says. `Scorer.score` checks what any of them gives.
    """
    if hasattr(value, "__evalsuite__"):
        function: Callable[..., Any] = value
        return function
    if is_batch(value):

        @scorer(reads="batch", range=None)
        def batched(prediction: str, batch: WholeBatch | None = None, *, gold: Any = None, question: str = "", context: str = "") -> Any:
            case = Case(prediction=prediction, gold=gold, question=question, context=context)
            whole = batch or WholeBatch(name, value)
            said = whole.value_of(case)
            return said if isinstance(said, Score) or not whole.is_within else plugin_calls.with_raw(name, said)

        batched.__doc__ = inspect.getdoc(value)
        return batched

    @scorer(reads="text")
    def adapted(prediction: str, *, gold: Any = None, question: str = "", context: str = "") -> Any:
        del question, context
        return value(prediction, gold)

    adapted.__doc__ = inspect.getdoc(value)
    return adapted


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What `run_batch` is told of one answer."""

    prediction: str
    gold: Any = None
    question: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class OneByOne:
    """A function of (answer, gold) with the face of a whole batch."""

    function: Callable[[str, Any], Any]

    def run_batch(self, predictions: Sequence[str], golds: Sequence[Any] | None, *_: Any) -> list[Any]:
        """One value per answer, in order."""
        return [self.function(text, gold) for text, gold in zip(predictions, golds or [None] * len(predictions), strict=True)]


class WholeBatch:
    """All answers of a run for one plugin's `run_batch`, which is called once, when the first value is asked for. Threads may share it.

    Once values are asked for, `is_within` says whether all of them lie in [0, 1]: one that does not makes all of them values on the
    plugin's own scale.
    """

    def __init__(self, name: str, made: Any) -> None:
        self.name = name
        self._made = made
        self._cases: list[Case] = []
        self._values: dict[str, list[Any]] | None = None
        self.is_within = True
        self._lock = threading.Lock()

    def add(self, prediction: str, parameters: Mapping[str, Any]) -> None:
        """One more answer, before any value is asked for."""
        said = {key: parameters[key] for key in ("gold", "question", "context") if key in parameters}
        self._cases.append(Case(prediction=prediction, **said))

    def value_of(self, case: Case) -> Any:
        """What `run_batch` gave this answer; equal cases get their values in order. What fails as a whole is asked one by one."""
        with self._lock:
            if inspect.isclass(self._made):
                self._made = self._made()
            if self._values is None:
                self._values = self._run_all()
            waiting = self._values.get(repr(case))
            if waiting:
                return waiting.pop(0)
        value = self._checked_values([case])[0]
        self.is_within = self.is_within and plugin_calls.is_share(value)
        return value

    def _run_all(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        if len(self._cases) < 2:
            return found
        try:
            values = plugin_calls.call_plugin(self.name, self._checked_values, self._cases)
        except FaultError:  # one bad answer must not cost the others theirs: each is asked for alone, and its own error is its fault
            return found
        self.is_within = all(map(plugin_calls.is_share, values))
        for case, value in zip(self._cases, values, strict=True):
            found.setdefault(repr(case), []).append(value)
        return found

    def _checked_values(self, cases: Sequence[Case]) -> Sequence[Any]:
        golds = [case.gold for case in cases]
        given = self._made.run_batch(
            [case.prediction for case in cases],
            None if all(gold is None for gold in golds) else golds,
            [case.question for case in cases],
            [case.context for case in cases],
        )
        values = list(given)
        if len(values) != len(cases):
            raise FaultError("SCORER_ERROR", f"{self.name}: run_batch gave {len(values)} values for {len(cases)} answers")
        return values


def is_batch(value: Any) -> bool:
    """Whether it judges all answers at once, by a method `run_batch`."""
    return callable(getattr(value, "run_batch", None))


def is_own(value: Any, module: ModuleType) -> bool:
    """Whether a function or class was written in that module rather than imported into it."""
    return (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__ == module.__name__


PART_MODULES: set[str] = set()
"""The modules that brought parts of scorers (comparators, transforms, post-processors): a plugin file of these needs no scorer."""


@cache
def module_of(path: Path) -> ModuleType:
    """The module of a plugin file, run once. Raises `UsageError` that names the line at which it fails."""
    if not path.is_file():
        raise UsageError(f"{path}: no such plugin file", hint="a plugin is a Python file with scorers")
    spec = importlib.util.spec_from_file_location(f"evalsuite_plugin_{path.stem}_{abs(hash(path)):x}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file", hint="the name of a plugin file ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    try:
        plugin_calls.call_plugin(str(path), spec.loader.exec_module, module)
    except FaultError as fault:
        sys.modules.pop(module.__name__, None)
        error = fault.__cause__ or fault
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else frames[-1].lineno if frames else 1
        raise UsageError(f"{path}:{line}: {type(error).__name__}: {error}", hint="the plugin fails when it is imported") from error
    return module


class UnknownScorerError(EvalsuiteError, ValueError):
    """A name that no table, plugin or entry point knows."""


class Registry:
    """The scorers by name. It knows none of them: the bundled ones are lines of a table, and nothing is imported until it is asked for.

    `loaded` (name -> file and attribute), `parts` (files that bring comparators and the like) and
    `metrics` (name -> a metric with its options, as a suite writes it down) are what a worker
    has to be told; `objects` were made in this process, which no worker can import, so they are run here, over all answers at once.
    `metric_scorer` makes a scorer of a metric: of one that a line of the table names, and of one that a suite writes down. `group` names
    the entry points by which installed packages bring theirs.
    """

    def __init__(self, bundled: Mapping[str, ImportRef], *, metric_scorer: ImportRef, group: str) -> None:
        self.bundled = bundled
        self.loaded: dict[str, tuple[Path, str]] = {}
        self.parts: dict[str, Path] = {}
        self.metrics: dict[str, dict[str, Any]] = {}
        self.objects: dict[str, Any] = {}
        self._metric_scorer = metric_scorer
        self._group = group
        self._known: dict[str, Scorer] = {}

    def names(self) -> list[str]:
        """All scorer names, bundled ones first, in table order, then those of plugins and entry points as they came."""
        entries = (entry.name for entry in _installed(self._group) if entry.name not in self.loaded)
        return [*self.bundled, *self.objects, *self.loaded, *self.metrics, *entries]

    def load(self, name: str) -> Scorer:
        """The scorer of that name; raises `UnknownScorerError` with a "did you mean" where there is none."""
        if name not in self._known:
            self._known[name] = self._load(name)
        return self._known[name]

    def _load(self, name: str) -> Scorer:
        if name in self.bundled:
            function = self.bundled[name].load()
            if not hasattr(function, "__evalsuite__"):
                function = self._metric_scorer.load()(function)
            return Scorer(name=name, function=function, marker=function.__evalsuite__, summary=self.bundled[name].summary)
        brought = self._function_of(name)
        if brought is None:
            raise UnknownScorerError(f"unknown scorer {name!r}", hint=did_you_mean(name, self.names()))
        summary = (inspect.getdoc(brought) or "a plugin's scorer").splitlines()[0]
        marker: Marker = brought.__evalsuite__  # type: ignore[attr-defined]
        entry = Scorer(name=name, function=brought, marker=marker, summary=summary, is_foreign=name not in self.metrics)
        try:
            plugin_calls.call_plugin(f"{name}: its signature", lambda: entry.parameters)
        except FaultError as error:
            raise UsageError(error.fault.detail, hint="the annotations of a scorer must be names that its file knows") from error
        return entry

    def load_file(self, path: Path) -> list[str]:
        """The names of the scorers that a plugin file brings; none where it brings parts of scorers only, such as comparators of trees.

        Raises:
            UsageError: with the file's own line where it fails.
        """
        module = module_of(path.resolve())
        if module.__name__ in PART_MODULES:
            self.parts[f"parts of {path.name}"] = path.resolve()
        found = [
            name for name, value in vars(module).items() if is_own(value, module) and (hasattr(value, "__evalsuite__") or is_batch(value))
        ]
        if not found and module.__name__ not in PART_MODULES:
            hint = "mark a function with @scorer, write a class with run_batch, or register a comparator of trees"
            raise UsageError(f"{path}: no scorer in it", hint=hint)
        names = []
        for attribute in found:
            name = name_of(getattr(module, attribute)) or attribute
            self.bring(name, path, attribute)
            names.append(name)
        return names

    def bring(self, name: str, path: Path, attribute: str) -> None:
        """Register one attribute of a plugin file under a name. Raises `UsageError` where the name is bundled or the attribute absent.

        The attribute `__name__` stands for the file itself, which brings parts of scorers.
        """
        if attribute == "__name__":
            module_of(path.resolve())
            self.parts[name] = path.resolve()
            return
        if name in self.bundled:
            raise UsageError(f"{path}: the name {name!r} is a bundled scorer's", hint="give the plugin's scorer another name")
        known = self.loaded.get(name)
        if known is not None and known != (path.resolve(), attribute):
            raise UsageError(f"{path}: {known[0]} brings a scorer {name!r} already")
        if not hasattr(module_of(path.resolve()), attribute):
            raise UsageError(f"{path}: nothing is called {attribute!r} in it")
        self.loaded[name] = (path.resolve(), attribute)

    def bring_object(self, value: Any) -> str:
        """The name under which a scorer made in this process can be used from here on: something with `run_batch`, or a function.

        Raises:
            UsageError: it is neither, it has no name, or the name is a bundled scorer's.
        """
        if inspect.isclass(value) or not (is_batch(value) or callable(value)):
            raise UsageError(f"{value!r} is no scorer", hint="give a scorer's name, an object with run_batch, or a function")
        name = name_of(value) or str(getattr(value, "__name__", type(value).__name__))
        if name in self.bundled:
            hint = "give your scorer another name, or name the bundled one as text"
            raise UsageError(f"the name {name!r} is a bundled scorer's", hint=hint)
        if self.objects.get(name) is not value:
            self._known.pop(name, None)
        self.objects[name] = value
        return name

    def bring_metric(self, name: str, spec: Mapping[str, Any]) -> None:
        """Register a metric with its options, `{composite: {parts: [...]}}`, as a scorer of that name. Raises `UsageError`."""
        if name in self.bundled or name in self.loaded:
            raise UsageError(f"the name {name!r} is taken by another scorer", hint="give the metric another name")
        self._metric_scorer.load()(spec)
        if self.metrics.get(name) != spec:
            # Another suite in the same process may mean something else by the name.
            self._known.pop(name, None)
        self.metrics[name] = dict(spec)

    def bring_all(self, plugins: Iterable[tuple[str, str, str]], metrics: Mapping[str, Mapping[str, Any]]) -> None:
        """Register what `brought` and `metrics` of another process say."""
        for name, file, attribute in plugins:
            self.bring(name, Path(file), attribute)
        for name, spec in metrics.items():
            self.bring_metric(name, spec)

    def brought(self) -> Iterator[tuple[str, str, str]]:
        """(name, file, attribute) of every plugin loaded here, for a worker to load the same."""
        for name, (path, attribute) in self.loaded.items():
            yield name, str(path), attribute
        for name, path in self.parts.items():
            yield name, str(path), "__name__"

    def whole_batch(self, name: str) -> WholeBatch | None:
        """An empty batch for the scorer of that name, None where it has no `run_batch`."""
        value = self._value_of(name)
        return WholeBatch(name, value) if value is not None and not hasattr(value, "__evalsuite__") and is_batch(value) else None

    def entry_point(self, name: str) -> Any:
        """The entry point of an installed package that brings the name, None where none does."""
        return next((entry for entry in _installed(self._group) if entry.name == name), None)

    def code_hash(self, names: Iterable[str]) -> str:
        """12 hex digits over the code behind the scorers that plugins bring; empty where all are bundled or made of metrics.

        A plugin file counts by its bytes, an installed package by its version, an object of this process by its source and what it was made
        with. What these import in turn is not seen.
        """
        codes = [f"{name}\0{code}" for name in sorted(set(names) - self.bundled.keys()) if (code := self._code_of(name))]
        codes += [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.parts.values()]
        return hashlib.sha256("\0".join(codes).encode()).hexdigest()[:12] if codes else ""

    def _code_of(self, name: str) -> str:
        if name in self.metrics:
            return ""  # its options stand in suite.yaml, which is part of gold
        if name in self.objects:
            made = self.objects[name]
            try:
                source = inspect.getsource(made if inspect.isroutine(made) else type(made))
            except (OSError, TypeError):
                source = ""
            return f"{source}\0{sorted((key, value) for key, value in vars(made).items() if isinstance(value, str | int | float))}"
        if name in self.loaded:
            path, attribute = self.loaded[name]
            return f"{attribute}\0{hashlib.sha256(path.read_bytes()).hexdigest()}"
        found = self.entry_point(name)
        return f"{found.value}\0{found.dist.version if found.dist is not None else ''}" if found is not None else ""

    def _function_of(self, name: str) -> Callable[..., Score] | None:
        """The scorer function behind a plugin's or an entry point's name, marked; None where no plugin has that name."""
        if name in self.metrics:
            made: Callable[..., Score] = self._metric_scorer.load()(self.metrics[name])
            return made
        value = self._value_of(name)
        return None if value is None else as_scorer(value, name)

    def _value_of(self, name: str) -> Any:
        """The attribute of a plugin file or the entry point's object behind a name, None where there is none."""
        if name in self.objects:
            value = self.objects[name]
            return value if is_batch(value) else OneByOne(value)
        if name in self.loaded:
            path, attribute = self.loaded[name]
            return getattr(module_of(path), attribute)
        entry = self.entry_point(name)
        if entry is None:
            return None
        try:
            return plugin_calls.call_plugin(f"the package of {name}", entry.load)
        except FaultError as error:
            raise UsageError(error.fault.detail, hint="the plugin fails when it is imported") from error


@cache
def _installed(group: str) -> tuple[Any, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


__all__ = [
    "CONNECTION_PARAMETERS",
    "OFFICIAL_HEARD",
    "PROGRAMS_ALLOWED",
    "PROGRAM_BUDGET",
    "Marker",
    "OfficialError",
    "Registry",
    "Scorer",
    "UnknownScorerError",
    "WholeBatch",
    "allowing_programs",
    "check_parameters",
    "fits",
    "is_trusted",
    "late_strict",
    "official_alone",
    "readable",
    "scorer",
    "tell_official",
    "trusting_plugins",
]
