"""Somebody else's code as a scorer: a plugin file's functions marked with `@scorer`, its classes with `run_batch` (Arthur Bench's way),
and plain functions that a suite names. Plugins are trusted code, like gold.
"""

import importlib.util
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from evalsuite.errors import FaultError, UsageError
from evalsuite.registry import foreign
from evalsuite.registry.contract import scorer
from evalsuite.types import Score


def name_of(value: Any) -> str:
    """The name a plugin gives itself by `name`, a text or (Arthur Bench's way) a static method; empty where it has none."""
    given = getattr(value, "name", "")
    return str(foreign.call(f"name of {value!r}", given) if callable(given) else given)


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
            return said if isinstance(said, Score) or not whole.is_within else foreign.with_raw(name, said)

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
        self.is_within = self.is_within and foreign.is_share(value)
        return value

    def _run_all(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        if len(self._cases) < 2:
            return found
        try:
            values = foreign.call(self.name, self._checked_values, self._cases)
        except FaultError:  # one bad answer must not cost the others theirs: each is asked for alone, and its own error is its fault
            return found
        self.is_within = all(map(foreign.is_share, values))
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
        foreign.call(str(path), spec.loader.exec_module, module)
    except FaultError as fault:
        sys.modules.pop(module.__name__, None)
        error = fault.__cause__ or fault
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else frames[-1].lineno if frames else 1
        raise UsageError(f"{path}:{line}: {type(error).__name__}: {error}", hint="the plugin fails when it is imported") from error
    return module
