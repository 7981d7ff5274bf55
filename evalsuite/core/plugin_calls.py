"""Call code of plugins and callers (scorers, comparators, transforms, post-processors, metrics, judges), and check what it returns.

The result is a value or a `FaultError` SCORER_ERROR with file and line: a failure never becomes a number, and never ends a worker or the
command. The raw text of an exception goes to the debug log only, because it can contain answers.

Answers that are programs are such code too; the metrics for programs run them in a sandbox. Context variables carry the permission and the
time budget to these metrics, because they may be nested in composites, trees and plugins.
"""

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn, TypeVar

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FAULTS, FaultError, describe
from evalsuite.core.scores import Fault, Score

T = TypeVar("T")
# The largest number on a scorer's own scale that a run's files may have.
MOST_RAW = 1e300
PACKAGE = f"{Path(__file__).resolve().parents[1]}/"


class _SourceLoader(SourceFileLoader):
    """Compiles the source: Python's own cache of compiled files takes a file of the same size and second for the same code."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


class _NeighbourFinder:
    """Finds the modules in a plugin's folder for `_SourceLoader`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if path is not None and not any(is_neighbour(Path(place), self._folder) for place in path):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or not is_neighbour(Path(spec.loader.path), self._folder):
            return None
        spec.loader = _SourceLoader(spec.loader.name, spec.loader.path)
        return spec


def is_neighbour(file: Path, folder: Path) -> bool:
    """Whether a file in or below a plugin's folder is of the plugin, not of this package or an installed one."""
    is_installed = str(file).startswith(PACKAGE) or {"site-packages", "dist-packages"} & {*file.parts}
    return file.is_relative_to(folder) and not is_installed


@contextmanager
def neighbours_from_source(folder: Path) -> Iterator[None]:
    """Meanwhile, compile the modules of a folder that are imported, whatever compiled files are there."""
    finder: Any = _NeighbourFinder(folder)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def call_plugin(what: str, function: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
    """Return what `function` returns; `what` names it in the fault.

    Raises:
        FaultError: SCORER_ERROR if it raises anything, including `SystemExit` and `MemoryError`; its own `FaultError` is passed on
            unchanged.
        KeyboardInterrupt: the user interrupts the run, in the main thread of a process that handles signals.
    """
    try:
        return function(*arguments, **named)
    except FaultError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and _handles_signals():
            raise
        raise failure(what, error) from error


def failure(what: str, error: BaseException) -> FaultError:
    """Return the fault for code that raised: its name, the class of the error, and the line of its own file."""
    import logging

    logging.getLogger("evalsuite.core.plugin_calls").debug("%s failed", what, exc_info=error)
    place = _line_of_error(error)
    return FaultError("SCORER_ERROR", f"{what} raised {type(error).__name__}" + (f" at {place}" if place else ""))


def unit(what: str, value: Any) -> float:
    """Return the value as a float in [0, 1]. Raises `FaultError` for anything else."""
    share = number(what, value, expected="a number in [0, 1]")
    if not 0 <= share <= 1:
        _refuse_score(f"{what} gave {share:g}, expected a number in [0, 1]")
    return share


def number(what: str, value: Any, *, expected: str = "a number") -> float:
    """Return the value as a float, NaN included; booleans and numpy scalars are numbers. Raises `FaultError` for anything else."""
    from numbers import Real

    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, Real):
        _refuse_score(f"{what} gave {type(value).__name__}, expected {expected}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def score_of(name: str, value: Any, ends: tuple[float, float] | None = (0.0, 1.0)) -> Score:
    """Convert the return value of a scorer to a checked `Score`.

    Args:
        name: the name of the scorer, for messages.
        value: a `Score`, an object with `.score`, or a number between `ends`.
        ends: the ends that map to 0 and 1; None keeps the number on its own scale.

    Returns:
        The score. A None without a fault gets the fault SCORER_ERROR.

    Raises:
        FaultError: any other value, or a field of the wrong type.
    """
    if not isinstance(value, Score):
        return _number_score(name, value, ends)
    for key in ("reason", "strict_reason", "flip"):
        if not isinstance(getattr(value, key), str):
            _refuse_score(f"{name} gave {key} as {type(getattr(value, key)).__name__}, expected text")
    for fault in (value.fault, value.strict_fault):
        if fault is not None and not (isinstance(fault, Fault) and fault.code in FAULTS):
            _refuse_score(f"{name} gave a fault that is none of the known codes")
    details = _as_json(name, value.details)
    if ends is None and value.official is None and value.fault is None and details.get("raw") is not None:
        return replace(value, details=details)
    silent = Fault(code="SCORER_ERROR", detail=f"{name} gave no value")
    official, strict = (None if verdict is None else unit(name, verdict) for verdict in (value.official, value.strict))
    return Score(
        official=official,
        strict=strict,
        reason=value.reason,
        strict_reason=value.strict_reason,
        flip=value.flip,
        fault=value.fault or (silent if official is None else None),
        strict_fault=value.strict_fault or (silent if strict is None else None),
        details=details,
    )


def _number_score(name: str, value: Any, ends: tuple[float, float] | None) -> Score:
    """Return the score of a number, or of an object with `.score` and perhaps `.category`."""
    category = getattr(value, "category", None)
    details: dict[str, Any] = {"category": str(getattr(category, "name", category))} if category is not None else {}
    raw = number(name, getattr(value, "score", value))
    if ends is None:
        if not abs(raw) <= MOST_RAW:
            _refuse_score(f"{name} gave {raw:g}, expected a finite number" + (f" up to {MOST_RAW:g}" if math.isfinite(raw) else ""))
        return Score(official=None, reason=f"{name} says {raw:g}", details={"raw": raw, **details})
    low, high = ends
    if not low <= raw <= high:
        declared = "; range=None in @scorer keeps its own scale, range=(low, high) names another" if ends == (0, 1) else ""
        _refuse_score(f"{name} gave {raw:g}, expected a number in [{low:g}, {high:g}]{declared}")
    share = (raw - low) / (high - low)
    if ends != (0, 1):
        details["raw"] = raw
    return Score(official=share, strict=share, reason=f"{name} says {details.get('raw', share):g}", details=details)


def with_raw(name: str, value: Any) -> Score:
    """Return the score of a value in [0, 1], with the value in `details.raw`: other runs of the same scorer may have values outside."""
    score = score_of(name, value)
    return replace(score, details={"raw": score.official, **score.details})


def is_share(value: Any) -> bool:
    """Return whether a value is a number in [0, 1] or not a number at all."""
    if isinstance(value, Score):
        return True
    try:
        share = number("", getattr(value, "score", value))
        return 0 <= share <= 1 or not math.isfinite(share)
    except FaultError:
        return True


def _as_json(name: str, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details as JSON data; other types become text. A key that reports read has their type: else no report could be made."""
    if not isinstance(details, Mapping):
        _refuse_score(f"{name} gave details as {type(details).__name__}, expected a mapping")
    copy: dict[str, Any] = json.loads(json.dumps(dict(details), default=str), parse_constant=str)
    for key in copy.keys() & _REPORTED:
        has_type, expected = _REPORTED[key]
        if not has_type(copy[key]):
            _refuse_score(f"{name} gave details[{key!r}] as {type(copy[key]).__name__}, expected {expected}")
    return copy


def _are_texts(values: Any, kind: type[Any]) -> bool:
    return isinstance(values, kind) and all(isinstance(text, str) for text in (values.values() if kind is dict else values))


# Keys of `details` that reports read: a test of the type, and its words.
_REPORTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "flip": (lambda value: isinstance(value, str), "text"),
    "reasons": (lambda value: _are_texts(value, dict), "an object of texts"),
    "notes": (lambda value: _are_texts(value, list), "a list of texts"),
    "warnings": (lambda value: _are_texts(value, list), "a list of texts"),
    "raw": (
        lambda value: value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST_RAW),
        f"a finite number up to {MOST_RAW:g}",
    ),
    "beside": (lambda _: False, "another key: this one is for the suite's further scorers"),
}


def _refuse_score(detail: str) -> NoReturn:
    raise FaultError("SCORER_ERROR", detail)


def _handles_signals() -> bool:
    """Return whether an interruption can come from the user: workers ignore stop signals, and threads never receive them."""
    import signal
    import threading

    handles = any(signal.getsignal(stop) is not signal.SIG_IGN for stop in (signal.SIGINT, signal.SIGTERM))
    return handles and threading.current_thread() is threading.main_thread()


def _line_of_error(error: BaseException) -> str:
    """Return `my.py:12`, the last line of the traceback outside this package and the libraries; empty if there is none."""
    import sysconfig
    import traceback

    paths = sysconfig.get_paths()
    library = (PACKAGE, "<", *(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")))
    passed = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    plugin_lines = [(file, line) for file, line in passed if not file.startswith(library)]
    # An installed plugin package is located among the libraries.
    plugin_lines = plugin_lines or [(file, line) for file, line in passed if not file.startswith((PACKAGE, "<", paths["stdlib"]))]
    return f"{plugin_lines[-1][0].replace(chr(92), '/').rpartition('/')[2]}:{plugin_lines[-1][1]}" if plugin_lines else ""


class ProgramBudget:
    """The remaining seconds for all programs of one answer."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds


_TRUSTED_FOLDERS: ContextVar[frozenset[Path]] = ContextVar("_TRUSTED_FOLDERS", default=frozenset())


@contextmanager
def trusting_plugins(*folders: Path) -> Iterator[None]:
    """Allow plugin files named by the suites of these gold folders to run inside the block, because the user named the folders."""
    before = _TRUSTED_FOLDERS.set(_TRUSTED_FOLDERS.get().union(map(_folder_of, folders)))
    try:
        yield
    finally:
        _TRUSTED_FOLDERS.reset(before)


def is_trusted(folder: Path) -> bool:
    """Return whether the user named this gold folder or its spec file. A folder named only by a saved run executes nothing."""
    return _folder_of(folder) in _TRUSTED_FOLDERS.get()


def _folder_of(gold: Path) -> Path:
    # `is_file` raises OSError for a path that the system refuses; the reader of gold reports that error later.
    return (gold.parent if os.path.isfile(gold) else gold).resolve()  # noqa: PTH113


PROGRAMS_ALLOWED: ContextVar[bool] = ContextVar("PROGRAMS_ALLOWED", default=False)
PROGRAM_BUDGET: ContextVar[ProgramBudget | None] = ContextVar("PROGRAM_BUDGET", default=None)


# Called with the official part of a score before the strict rules run. It may raise `OfficialError` to skip the strict rules.
OFFICIAL_CALLBACK: ContextVar[Callable[[Score], None] | None] = ContextVar("OFFICIAL_CALLBACK", default=None)


class OfficialError(Exception):
    """Ends a scorer as soon as its official verdict is known."""

    def __init__(self, score: Score) -> None:
        super().__init__(score.reason)
        self.score = score


def report_official(score: Score) -> Score:
    """Report the official part of a score early, so that a strict verdict that takes too long does not lose it. Returns the score."""
    callback = OFFICIAL_CALLBACK.get()
    if callback is not None:
        callback(score)
    return score


def late_strict(official: Score) -> Score:
    """Return the official part of a score with a TIMEOUT fault for the strict part."""
    fault = Fault(code="TIMEOUT", detail="the strict verdict took too long; the official one is known (limit seconds)", side="setup")
    return replace(official, strict=None, strict_reason=describe(fault), strict_fault=fault)


@contextmanager
def official_only() -> Iterator[None]:
    """Stop scorers after their official verdict, by `OfficialError`, inside the block and in this thread."""

    def stop(score: Score) -> None:
        raise OfficialError(score)

    before = OFFICIAL_CALLBACK.set(stop)
    try:
        yield
    finally:
        OFFICIAL_CALLBACK.reset(before)


@contextmanager
def allowing_programs(allowed: bool, *, seconds: float | None = None) -> Iterator[None]:
    """Allow programs to run without a sandbox inside the block, in this thread.

    Args:
        allowed: whether they may run.
        seconds: the time limit of all programs together; None for no limit.
    """
    before = PROGRAMS_ALLOWED.set(allowed)
    budget = PROGRAM_BUDGET.set(ProgramBudget(seconds)) if seconds is not None else None
    try:
        yield
    finally:
        PROGRAMS_ALLOWED.reset(before)
        if budget is not None:
            PROGRAM_BUDGET.reset(budget)
