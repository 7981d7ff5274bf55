"""The command line. What needs nothing, `--version` and `--help`, is answered at once."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: "Sequence[str] | None" = None) -> int:
    """The exit code of one command line, by default of the process, which it ends; see `gate` for what happens on the way."""
    from evalsuite.cli.output_streams import ended, steady_streams

    steady_streams()
    return ended(_answered(list(sys.argv[1:] if argv is None else argv), ends_process=argv is None))


def _look_seldom_for_garbage() -> None:
    """Nearly all that a short command makes are modules, which stay to its end: the search among them takes a quarter of its time."""
    import atexit

    from evalsuite.core.gc_tuning import collect_rarely

    collect_rarely()
    atexit.unregister(_leave_in_place)
    atexit.register(_leave_in_place)


def _leave_in_place() -> None:
    """Spare what is left at the end its search for garbage; only duckdb would print what is then not taken down."""
    if "duckdb" not in sys.modules:
        import gc

        gc.freeze()


def _answered(arguments: list[str], *, ends_process: bool) -> int:
    if arguments in (["--version"], ["-V"]):
        from evalsuite.core.version import __version__

        print(f"evalsuite {__version__}")
        return 0
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if arguments in (["--help"], ["-h"]):
        from evalsuite.cli.commands import page

        print(page(), end="")
        return 0
    from evalsuite.cli.gate import guarded

    if ends_process:
        _look_seldom_for_garbage()
    return guarded(arguments, ends_process=ends_process)
