"""The single place where errors become messages and exit codes, and signals an interruption."""

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from evalsuite.core.errors import EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_USAGE, EvalsuiteError, FaultError, describe, listed, reason_of
from evalsuite.core.package_info import install_line, missing_packages

# How long after a signal another one is taken for the same.
_CLEANING_SECONDS = 2.0
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
# The text of a command names options of that command.
_COMMAND = re.compile(r"`[a-z][^`]*`|\bevalsuite [a-z].*")
_EVERYWHERE = frozenset({"--debug", "--help", "--version"})


def guarded(arguments: list[str], *, ends_process: bool) -> int:
    """The exit code of one command line; prints `error:` and `hint:` lines on stderr where the user has to act.

    Where it `ends_process`, nothing comes after it, and signals are no longer heard.
    """
    debug = "--debug" in arguments
    if debug:
        arguments.remove("--debug")
        import logging

        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(name)s: %(message)s")
        for noisy in ("asyncio", "urllib3"):
            logging.getLogger(noisy).setLevel(logging.WARNING)
    try:
        with _stopped_by_signals(ends_process=ends_process):
            return _dispatch(arguments)
    except EvalsuiteError as error:
        _complain(error.message, error.hint, arguments)
        return error.exit_code
    except FaultError as error:
        from evalsuite.core.errors import FAULTS

        _complain(describe(error.fault), FAULTS[error.fault.code].hint, arguments)
        return EXIT_USAGE
    except KeyboardInterrupt as stop:
        from evalsuite.compare.characters import clean

        print(clean(str(stop) or "interrupted"), file=sys.stderr)
        return EXIT_INTERRUPTED
    except OSError as error:
        # Where nobody said it better: a path that cannot be meant, a folder without the right to read or write it, a full disk.
        if debug:
            raise
        if isinstance(error, FileNotFoundError) and _stands_nowhere():
            _complain("the folder that you stand in is gone", "change to one that is there", arguments)
            return EXIT_USAGE
        place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        hint = "look whether the name is right, there is room, and you may read and write it" if place else "--debug shows where"
        _complain(f"{place}{reason_of(error)}", hint, arguments)
        return EXIT_USAGE
    except Exception as error:  # the gate: an error nobody foresaw is told apart from a user's by its exit code
        if debug:
            raise
        if damaged := _damaged_run():
            _complain(damaged, "copy it again, or score the submission again", arguments)
            return EXIT_USAGE
        _complain(f"internal error: {type(error).__name__}", "run again with --debug and report what it prints", arguments)
        return EXIT_INTERNAL


def _damaged_run() -> str:
    """Which run that the command read is damaged, empty where none is known to be."""
    history = sys.modules.get("evalsuite.runs.history")
    return history.why_damaged() if history is not None else ""


def _stands_nowhere() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - pathlib is not imported here
    except FileNotFoundError:
        return True
    return False


@contextmanager
def _stopped_by_signals(*, ends_process: bool) -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP (a closed terminal) end the command as Ctrl-C does; what the caller has ignored or caught stays so."""
    last: list[float] = []

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        # A second one at once must not break off the cleaning up after the first; a later one is heard.
        if not last or time.monotonic() - last[-1] > _CLEANING_SECONDS:
            last.append(time.monotonic())
            raise KeyboardInterrupt

    caught = {}
    if threading.current_thread() is threading.main_thread():
        caught = _by_default()
    for stop in caught:
        signal.signal(stop, interrupt)
    try:
        yield
    finally:
        if last:
            # CPython takes an interruption that passed through an `exec` (as in a dataclass being imported) for one that nobody caught, and
            # would end the process by a signal instead of our exit code, until the next `exec` is over.
            exec("")
        else:
            # All is done and saved: what arrives while the interpreter takes itself down is too late, and must not hide the exit code.
            for stop, before in caught.items():
                signal.signal(stop, signal.SIG_IGN if ends_process else before)


def _by_default() -> dict[signal.Signals, Any]:
    """The signals that ask a command to stop and that nobody has ignored or caught, each with its handler."""
    stops = [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__]
    return {stop: before for stop in stops if (before := signal.getsignal(stop)) in (signal.SIG_DFL, signal.default_int_handler)}


def _dispatch(arguments: list[str]) -> int:
    if lacking := missing_packages():
        # Before anything is scored: what a worker cannot import would be the fault of nobody's answer.
        raise EvalsuiteError(f"{sys.executable} lacks packages that evalsuite needs: {listed(lacking)}", hint=install_line())
    if arguments[:1] == ["check"]:
        from evalsuite.cli.prediction import quick_check

        if (code := quick_check(arguments[1:])) is not None:
            return code
    from evalsuite.cli.output_streams import complain
    from evalsuite.cli.parser import StoppedError, build, retold, usage_errors

    try:
        code = build().main(args=arguments, prog_name="evalsuite", standalone_mode=False)
    except StoppedError as stop:
        raise KeyboardInterrupt(str(stop)) from stop
    except usage_errors() as error:
        if not hasattr(error, "format_message"):
            return EXIT_INTERRUPTED
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            return EXIT_USAGE

        complain(*retold(error))
        return EXIT_USAGE
    if code == EXIT_INTERRUPTED:
        # The parser itself was interrupted, before any command began.
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _complain(message: str, hint: str, arguments: Sequence[str]) -> None:
    """Say what is wrong, with what of the hint holds for the command that was called."""
    from evalsuite.cli.output_streams import complain

    if "--" in hint:
        from evalsuite.cli.parser import called

        hint = fitting(hint, called(arguments))
    complain(message, hint)


def fitting(hint: str, known: Collection[str]) -> str:
    """The ways out that a hint names, parted by `, or `, without those that need an option which is not among the known ones.

    One place that cannot write is reached by many commands: its hint names the ways of all of them.
    """
    ways = hint.split(", or ")
    return ", or ".join(way for way in ways if options_in(way) <= _EVERYWHERE.union(known))


def options_in(text: str) -> set[str]:
    """The long options that a text names, those of whole commands left out."""
    return set(_OPTION.findall(_COMMAND.sub("", text)))
