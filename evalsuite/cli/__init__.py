"""The command line. `--version` and `--help` are answered without loading the parser."""

import sys

from evalsuite.core.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


# The exit code, as soon as the command line has ended.
_exit_codes: "list[int]" = []


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command line.

    Args:
        argv: the words after `evalsuite`; by default those of this process.

    Returns:
        The exit code, 0 to 5 or 130; docs/rules.md lists them. Errors are printed, not raised.
    """
    from evalsuite.cli.output_streams import final_exit_code, make_streams_safe

    make_streams_safe()
    try:
        code = final_exit_code(_run(list(sys.argv[1:] if argv is None else argv), ends_process=argv is None))
    except KeyboardInterrupt:
        # Before the gate was imported, which turns later ones into a message.
        print("interrupted", file=sys.stderr)
        code = 130
    _exit_codes.append(code)
    return code


def _collect_garbage_rarely() -> None:
    """Collect garbage rarely: most objects of a short command are modules, and scanning them takes a quarter of its time."""
    import atexit

    from evalsuite.core.runtime import collect_rarely

    collect_rarely()
    atexit.unregister(_end_process)
    atexit.register(_end_process)


def _end_process() -> None:
    """End the process, as the last of its exit handlers: taking its modules apart would cost another tenth of a short command.

    Only duckdb needs its destructors.
    """
    if _exit_codes and "duckdb" not in sys.modules:
        import os

        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_exit_codes[-1])


def _run(arguments: list[str], *, ends_process: bool) -> int:
    if arguments in (["--version"], ["-V"]):
        print(f"evalsuite {__version__}")
        return 0
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], *([] if "--all" in arguments or "--help-all" in arguments else ["--help"])]
    if arguments in (["--help"], ["-h"], ["--all"], ["--help-all"]):
        from evalsuite.cli.commands import page

        print(page(everything="all" in arguments[0]), end="")
        return 0
    from evalsuite.cli.gate import run_command_line

    if ends_process:
        _collect_garbage_rarely()
    return run_command_line(arguments, ends_process=ends_process)
