"""Somebody else's code - a scorer, comparator, transform, post-processor, metric or judge of a plugin or a caller - is called here.

What comes back is a value or a `FaultError` SCORER_ERROR with file and line, whatever the code did: a failure never becomes a number,
and never ends a worker or the command. The raw text of an exception goes to the debug log only: it can carry answers.

Answers that are programs are such code too, run in a jail by the metrics for them. What they may do here and now goes around the judging of
one answer instead of through it, for such a metric may stand deep in composites, trees and plugins.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from evalsuite.core.errors import FAULTS, FaultError, describe
from evalsuite.core.types import Fault, Score

T = TypeVar("T")
PACKAGE = f"{Path(__file__).resolve().parents[1]}/"


def call_plugin(what: str, function: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
    """What `function` returns; `what` names it in the fault.

    Raises:
        FaultError: SCORER_ERROR where it raises anything at all, `SystemExit` and `MemoryError` too; a `FaultError` of its own as it is.
        KeyboardInterrupt: the user wants to stop, which only the main thread of a process that hears signals can be told.
    """
    try:
        return function(*arguments, **named)
    except FaultError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and _hears_the_user():
            raise
        raise failure(what, error) from error


def failure(what: str, error: BaseException) -> FaultError:
    """The fault of code that raised: its name, the kind of error, and where in its own file that was."""
    import logging

    logging.getLogger("evalsuite.core.plugin_calls").debug("%s failed", what, exc_info=error)
    place = _line_of_error(error)
    return FaultError("SCORER_ERROR", f"{what} raised {type(error).__name__}" + (f" at {place}" if place else ""))


def unit(what: str, value: Any) -> float:
    """The value as a float in [0, 1]. Raises `FaultError` for anything else."""
    found = number(what, value, expected="a number in [0, 1]")
    if not 0 <= found <= 1:
        _refuse_score(f"{what} gave {found:g}, expected a number in [0, 1]")
    return found


def number(what: str, value: Any, *, expected: str = "a number") -> float:
    """The value as a float, NaN too; bools and the scalars of numpy are numbers. Raises `FaultError` for anything else."""
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
    """What a scorer gave as a `Score` that every later room can trust: a `Score`, something with `.score`, or a number between `ends`.

    `ends` None keeps the number on its own scale. A value of None without a fault is one (SCORER_ERROR). Raises `FaultError` for anything
    else, and for a field of another type.
    """
    if not isinstance(value, Score):
        category = getattr(value, "category", None)
        details: dict[str, Any] = {"category": str(getattr(category, "name", category))} if category is not None else {}
        said = getattr(value, "score", value)
        raw = number(name, said)
        if ends is None:
            if not math.isfinite(raw):
                _refuse_score(f"{name} gave {raw:g}, expected a finite number")
            return Score(official=None, reason=f"{name} says {raw:g}", details={"raw": raw, **details})
        low, high = ends
        if not low <= raw <= high:
            declared = "; range=None in @scorer keeps its own scale, range=(low, high) names another" if ends == (0, 1) else ""
            _refuse_score(f"{name} gave {raw:g}, expected a number in [{low:g}, {high:g}]{declared}")
        found = (raw - low) / (high - low)
        if ends != (0, 1):
            details["raw"] = raw
        return Score(official=found, strict=found, reason=f"{name} says {details.get('raw', found):g}", details=details)
    for key in ("reason", "strict_reason", "flip"):
        if not isinstance(getattr(value, key), str):
            _refuse_score(f"{name} gave {key} as {type(getattr(value, key)).__name__}, expected text")
    for fault in (value.fault, value.strict_fault):
        if fault is not None and not (isinstance(fault, Fault) and fault.code in FAULTS):
            _refuse_score(f"{name} gave a fault that is none of the known codes")
    details = _as_json(name, value.details)
    if ends is None and value.official is None and value.fault is None and "raw" in details:
        return replace(value, details=details)
    silent = Fault(code="SCORER_ERROR", detail=f"{name} gave no value")
    official, strict = (None if given is None else unit(name, given) for given in (value.official, value.strict))
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


def with_raw(name: str, value: Any) -> Score:
    """The score of a value in [0, 1], with the value itself in `details.raw`: in another run of the same scorer some may lie outside."""
    found = score_of(name, value)
    return replace(found, details={"raw": found.official, **found.details})


def is_share(value: Any) -> bool:
    """Whether a value that some code gave is one from 0 to 1, or none that could be a number."""
    if isinstance(value, Score):
        return True
    try:
        found = number("", getattr(value, "score", value))
        return 0 <= found <= 1 or not math.isfinite(found)
    except FaultError:
        return True


def _as_json(name: str, details: Mapping[str, Any]) -> dict[str, Any]:
    """The details as JSON holds them, what it does not know as text."""
    if not isinstance(details, Mapping):
        _refuse_score(f"{name} gave details as {type(details).__name__}, expected a mapping")
    found: dict[str, Any] = json.loads(json.dumps(dict(details), default=str), parse_constant=str)
    return found


def _refuse_score(detail: str) -> NoReturn:
    raise FaultError("SCORER_ERROR", detail)


def _hears_the_user() -> bool:
    """Whether an interruption can come from outside: workers ignore the signals that stop a run, and threads never get any."""
    import signal
    import threading

    heard = any(signal.getsignal(stop) is not signal.SIG_IGN for stop in (signal.SIGINT, signal.SIGTERM))
    return heard and threading.current_thread() is threading.main_thread()


def _line_of_error(error: BaseException) -> str:
    """`my.py:12`, the last line outside this package and the libraries that the error passed; empty where it passed none."""
    import sysconfig
    import traceback

    paths = sysconfig.get_paths()
    ours = (PACKAGE, "<", *(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")))
    passed = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [(file, line) for file, line in passed if not file.startswith(ours)]
    # A plugin that is an installed package lies among the libraries.
    own = own or [(file, line) for file, line in passed if not file.startswith((PACKAGE, "<", paths["stdlib"]))]
    return f"{own[-1][0].replace(chr(92), '/').rpartition('/')[2]}:{own[-1][1]}" if own else ""


class ProgramBudget:
    """The seconds that are left for all programs of one answer."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds


_TRUSTED_FOLDERS: ContextVar[frozenset[Path]] = ContextVar("_TRUSTED_FOLDERS", default=frozenset())


@contextmanager
def trusting_plugins(*folders: Path) -> Iterator[None]:
    """Inside, the plugin files that the suites of these gold folders name may be executed, because the user named the folders."""
    before = _TRUSTED_FOLDERS.set(_TRUSTED_FOLDERS.get().union(map(_folder_of, folders)))
    try:
        yield
    finally:
        _TRUSTED_FOLDERS.reset(before)


def is_trusted(folder: Path) -> bool:
    """Whether the user named this gold folder, or its spec file: a folder that only a saved run names executes nothing."""
    return _folder_of(folder) in _TRUSTED_FOLDERS.get()


def _folder_of(gold: Path) -> Path:
    # Of a path that the system refuses, `is_file` of pathlib raises OSError: the reader of gold says why it cannot be read.
    return (gold.parent if os.path.isfile(gold) else gold).resolve()  # noqa: PTH113


PROGRAMS_ALLOWED: ContextVar[bool] = ContextVar("PROGRAMS_ALLOWED", default=False)
PROGRAM_BUDGET: ContextVar[ProgramBudget | None] = ContextVar("PROGRAM_BUDGET", default=None)


# Who hears what the official rules say before the strict ones are asked; it may raise `OfficialError`, and then they are not asked.
OFFICIAL_HEARD: ContextVar[Callable[[Score], None] | None] = ContextVar("OFFICIAL_HEARD", default=None)


class OfficialError(Exception):
    """Ends a scorer whose official verdict is known."""

    def __init__(self, score: Score) -> None:
        super().__init__(score.reason)
        self.score = score


def tell_official(score: Score) -> Score:
    """The official part of a score, told to who waits for it: a strict verdict that takes too long does not take this one with it."""
    heard = OFFICIAL_HEARD.get()
    if heard is not None:
        heard(score)
    return score


def late_strict(official: Score) -> Score:
    """The official part of a score where the strict verdict took too long."""
    fault = Fault(code="TIMEOUT", detail="the official verdict was known, and the strict one not yet (limit seconds)", side="setup")
    return replace(official, strict=None, strict_reason=describe(fault), strict_fault=fault)


@contextmanager
def official_alone() -> Iterator[None]:
    """Inside, in this thread, scorers that tell their official verdict end with it: `OfficialError`."""

    def stop(score: Score) -> None:
        raise OfficialError(score)

    before = OFFICIAL_HEARD.set(stop)
    try:
        yield
    finally:
        OFFICIAL_HEARD.reset(before)


@contextmanager
def allowing_programs(allowed: bool, *, seconds: float | None = None) -> Iterator[None]:
    """Inside, in this thread, programs are run without a jail where `allowed`, and all of them together for at most `seconds`."""
    before = PROGRAMS_ALLOWED.set(allowed)
    budget = PROGRAM_BUDGET.set(ProgramBudget(seconds)) if seconds is not None else None
    try:
        yield
    finally:
        PROGRAMS_ALLOWED.reset(before)
        if budget is not None:
            PROGRAM_BUDGET.reset(budget)
