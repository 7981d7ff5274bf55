"""The only place that turns errors into messages and exit codes, and signals into an interruption."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

from evalsuite.cli.commands import COMMANDS, REMOVED
from evalsuite.core.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    FAULTS,
    EvalsuiteError,
    FaultError,
    UsageError,
    describe,
    join_names,
    machine_error,
    naming_lost_folder,
    reason_of,
)
from evalsuite.core.files import exists
from evalsuite.core.runtime import install_line, missing_packages, program

# What `Path.resolve` raises a `RuntimeError` with, up to Python 3.12.
_LINK_LOOP = "Symlink loop from "
# Seconds in which a second signal counts as the same.
_CLEANING_SECONDS = 2.0


def run_command_line(arguments: list[str], *, ends_process: bool) -> int:
    """Run one command line and return its exit code; prints `error:` and `hint:` lines on stderr if the user must act.

    With `ends_process`, the process ends afterwards and ignores further signals.
    """
    debug = "--debug" in arguments
    if debug:
        arguments.remove("--debug")
    fixes = "--fix" in arguments and arguments[:2] != ["gold", "lint"]
    if fixes:
        arguments.remove("--fix")
    try:
        with _debug_log() if debug else nullcontext(), _stop_on_signals(ends_process=ends_process), naming_lost_folder():
            _prepare(arguments, ends_process=ends_process)
            code = _dispatch_with_cure(arguments) if fixes else _dispatch(arguments)
            _warn_of_damaged_runs()
            return code
    except (EvalsuiteError, FaultError) as error:
        _complain(*_message_and_hint(error), arguments)
        return error.exit_code if isinstance(error, EvalsuiteError) else EXIT_USAGE
    except KeyboardInterrupt as stop:
        from evalsuite.compare.characters import clean

        print(clean(str(stop) or "interrupted"), file=sys.stderr)
        _note_unfinished(str(stop))
        return EXIT_INTERRUPTED
    except OSError as error:
        # Fallback for OS errors: an invalid path, missing permissions, a full disk.
        if debug:
            raise
        place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes | os.PathLike) else ""
        hint = "check the name, the free space and your permissions" if place else "--debug shows where"
        _complain(f"{place}{reason_of(error)}", hint, arguments)
        return EXIT_USAGE
    except Exception as error:  # the gate: an unexpected error gets its own exit code
        if debug:
            raise
        if known := _known_reason(error):
            _complain(*known, arguments)
            return EXIT_USAGE
        _complain(f"internal error: {type(error).__name__}", "run again with --debug and report what it prints", arguments)
        return EXIT_INTERNAL


def _known_reason(error: Exception) -> tuple[str, str] | None:
    """Return the message and hint for an unexpected error that a damaged run, the machine or a link explains."""
    history = sys.modules.get("evalsuite.runs.history")
    if damaged := history.why_damaged() if history is not None else "":
        return damaged, "copy it again, or score the submission again"
    if isinstance(error, MemoryError):
        return "this machine has too little memory for what the command reads", "name a smaller file"
    if isinstance(error, RuntimeError) and str(error).startswith(_LINK_LOOP):
        return f"{str(error).removeprefix(_LINK_LOOP)} is a link that leads to itself", "name what it should lead to"
    return None


def _warn_of_damaged_runs() -> None:
    """Say on stderr which runs, whose numbers the command printed, are not what was written."""
    if (history := sys.modules.get("evalsuite.runs.history")) is not None:
        from evalsuite.compare.characters import clean

        for warning in history.warn_of_damage():
            print(clean(f"warning: {warning}"), file=sys.stderr)


@contextmanager
def _debug_log() -> Iterator[None]:
    """Print the debug log on stderr while the command runs."""
    import logging

    root = logging.getLogger()
    level, handlers = root.level, [*root.handlers]
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(name)s: %(message)s")
    for noisy in ("asyncio", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


class _Interruption:
    """Handler of termination signals: raises `KeyboardInterrupt`, a moment later where Python would lose it."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        self.number = signal.SIGINT
        self.has_alarm = hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL

    def __call__(self, number: int, frame: FrameType | None) -> None:
        # A second signal at once must not interrupt the cleanup after the first; a later one may.
        if self.seconds is not None and time.monotonic() - self.seconds <= _CLEANING_SECONDS:
            return
        self.number = signal.Signals(number)
        while self.has_alarm and frame is not None:
            # Python loses an interruption in this code: `__set_name__` (up to 3.11 a RuntimeError), a callback of the import system, the
            # hook for lost exceptions itself.
            is_callback = frame.f_code.co_name == "cb" and frame.f_code.co_filename.startswith("<frozen importlib")
            if is_callback or frame.f_code.co_name in ("__set_name__", "repeat_lost_interruption"):
                self.repeat_soon()
                return
            frame = frame.f_back
        self.seconds = time.monotonic()
        raise KeyboardInterrupt

    def repeat_soon(self) -> None:
        """Send the signal again in a millisecond. The alarm only sends it, so that code that blocks the signal blocks it still."""
        self.seconds = None
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(self.number))
        signal.setitimer(signal.ITIMER_REAL, 0.001)

    @contextmanager
    def repeat_lost(self) -> Iterator[None]:
        """In the block, an interruption that Python drops, because a callback or a destructor raised it, is repeated."""
        hook = sys.unraisablehook

        def repeat_lost_interruption(lost: "sys.UnraisableHookArgs") -> None:
            if self.has_alarm and self.seconds is not None and lost.exc_type is KeyboardInterrupt:
                self.repeat_soon()
            else:
                hook(lost)

        sys.unraisablehook = repeat_lost_interruption
        try:
            yield
        finally:
            sys.unraisablehook = hook
            if self.has_alarm and signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)


@contextmanager
def _stop_on_signals(*, ends_process: bool) -> Iterator[None]:
    """SIGTERM and SIGHUP (a closed terminal) end the block like Ctrl-C; signals that the caller ignores or handles are left alone."""
    caught = _default_handlers() if threading.current_thread() is threading.main_thread() else {}
    if not caught:
        yield
        return
    interruption = _Interruption()
    for stop in caught:
        signal.signal(stop, interruption)
    try:
        with interruption.repeat_lost():
            yield
    except RuntimeError as error:
        # What an interruption became on its way, in class creation or an event loop.
        if interruption.seconds is None:
            raise
        raise KeyboardInterrupt from error
    finally:
        was_interrupted = interruption.seconds is not None
        if was_interrupted:
            # CPython treats an interruption that passed through an `exec` (as in an imported dataclass) as uncaught, and
            # would end the process by a signal instead of the exit code, until the next `exec` has finished.
            exec("")
        if not (was_interrupted and ends_process):
            # The work is saved. A signal during interpreter shutdown must not change the exit code.
            for stop, before in caught.items():
                signal.signal(stop, signal.SIG_IGN if ends_process else before)


def _default_handlers() -> dict[signal.Signals, Any]:
    """Return the termination signals with default handling, each with its handler."""
    stops = [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__]
    return {stop: before for stop in stops if (before := signal.getsignal(stop)) in (signal.SIG_DFL, signal.default_int_handler)}


def _prepare(arguments: list[str], *, ends_process: bool) -> None:
    """Check that all packages are installed, forget what earlier commands read, and start the fork server of a `run`."""
    if missing := missing_packages():
        # Checked before scoring: a package missing in a worker is not the answer's fault.
        raise EvalsuiteError(f"{sys.executable} lacks packages that evalsuite needs: {join_names(missing)}", hint=install_line())
    if (history := sys.modules.get("evalsuite.runs.history")) is not None:
        history.forget_runs_read()
    if (scorers := sys.modules.get("evalsuite.scorers")) is not None:
        scorers.SCORERS.begin_call()
    if (run_folder := sys.modules.get("evalsuite.runs.run_folder")) is not None:
        run_folder.UNFINISHED.clear()
    if ends_process and hasattr(signal, "SIGCHLD"):
        # A parent that ignores it makes this process ignore it too: its children would leave no exit status.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if ends_process and arguments[:1] == ["run"] and not {"--help", "--help-all"} & {*arguments}:
        from evalsuite.runs import SHARED_MODULES
        from evalsuite.sandbox.fork_server import fork_ahead

        fork_ahead(SHARED_MODULES)


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["check"]:
        from evalsuite.cli.prediction import quick_check

        if (code := quick_check(arguments[1:])) is not None:
            return code
    if (code := _quick_call(arguments)) is not None:
        return code
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS and arguments[0] not in REMOVED:
        from evalsuite.cli.entrance import enter, is_thing

        if is_thing(arguments[0]):
            return enter(arguments, _dispatch)
    from evalsuite.cli.parser import HelpCommand, StoppedError, build, parser_message, usage_errors

    HelpCommand.everything = "--help-all" in arguments
    arguments = ["--help" if word == "--help-all" else word for word in arguments]
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

        message, hint = parser_message(error, arguments)
        raise UsageError(message, hint=hint) from None
    if code == EXIT_INTERRUPTED:
        # The parser was interrupted before any command started.
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _dispatch_with_cure(arguments: list[str]) -> int:
    """Run the command line, or the one that its error proposes (`--fix`)."""
    try:
        return _dispatch(list(arguments))
    except (EvalsuiteError, FaultError) as error:
        _, cure = _advice(*_message_and_hint(error), arguments)
        if cure is None:
            raise
    from evalsuite.cli.showing import print_step

    print_step("$", cure, sys.stderr)
    return _dispatch(cure)


def _quick_call(arguments: Sequence[str]) -> int | None:
    """Run a command whose arguments need no typer; return its exit code, None if typer must parse them."""
    if not arguments or arguments[0] not in COMMANDS or {"--help", "--help-all"} & {*arguments}:
        return None
    from evalsuite.cli.options import Group, Spread

    entry, words = COMMANDS[arguments[0]].load(), arguments[1:]
    while isinstance(entry, Group):
        if not words or words[0] not in entry.commands:
            return None
        entry, words = entry.command(words[0]), words[1:]
    command = Spread(entry)
    values = command.quick_values(words)
    return None if values is None else int(command(**values) or 0)


def _message_and_hint(error: EvalsuiteError | FaultError) -> tuple[str, str]:
    if isinstance(error, EvalsuiteError):
        return error.message, error.hint
    if error.is_of_machine:
        error = machine_error("", error.fault)
        return error.message, error.hint
    return describe(error.fault), FAULTS[error.fault.code].hint


def _advice(message: str, hint: str, arguments: Sequence[str]) -> tuple[str, list[str] | None]:
    """Return the part of a hint that applies to the called command, and the words of the command line that it proposes."""
    from evalsuite.cli.cures import cure_of, filter_hint

    try:
        if "--" in hint:
            from evalsuite.cli.parser import options_of_call

            hint = filter_hint(hint, options_of_call(arguments))
        return cure_of(message, hint, arguments)
    except Exception:  # missing packages, a path that cannot be looked at: the error itself is printed in any case
        import logging

        logging.getLogger(__name__).debug("no cure was found for: %s", message, exc_info=True)
        return hint, None


def _complain(message: str, hint: str, arguments: Sequence[str]) -> None:
    """Print an error with the parts of the hint that apply to the called command."""
    from evalsuite.cli.output_streams import complain

    hint, cure = _advice(message, hint, arguments)
    complain(message, hint)
    if cure is not None:
        import shlex

        from evalsuite.compare.characters import clean

        print(clean(f"try: {program()} {shlex.join(cure)}"), file=sys.stderr)
    _note_unfinished(hint)


def _note_unfinished(words: str) -> None:
    """Print how to finish or delete each run that the command began and left, unless the printed words say it."""
    if (run_folder := sys.modules.get("evalsuite.runs.run_folder")) is None:
        return
    from evalsuite.compare.characters import clean

    for folder in sorted(run_folder.UNFINISHED):
        if exists(folder / run_folder.STARTED) and f"--resume {folder}" not in words:
            print(clean(f"note: {folder} is an unfinished run: {run_folder.unfinished_hint(folder)}"), file=sys.stderr)
