"""The command line. `--version` and `--help` are answered without loading the parser."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command line, by default the process's own, and return its exit code; see `gate` for errors and signals."""
    from evalsuite.cli.output_streams import final_exit_code, make_streams_safe

    make_streams_safe()
    return final_exit_code(_run(list(sys.argv[1:] if argv is None else argv), ends_process=argv is None))


def _collect_garbage_rarely() -> None:
    """Collect garbage rarely: most objects of a short command are modules, and scanning them takes a quarter of its time."""
    import atexit

    from evalsuite.core.runtime import collect_rarely

    collect_rarely()
    atexit.unregister(_skip_collection_at_exit)
    atexit.register(_skip_collection_at_exit)


def _skip_collection_at_exit() -> None:
    """Skip the garbage collection at exit; only duckdb needs its destructors."""
    if "duckdb" not in sys.modules:
        import gc

        gc.freeze()


def _run(arguments: list[str], *, ends_process: bool) -> int:
    if arguments in (["--version"], ["-V"]):
        from evalsuite.core.version import __version__

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
