"""stdout and stderr that stop no command: cp1252, ASCII, closed, full, or with nobody left who reads; and what stderr says."""

import codecs
import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# One character each, so that the columns of a table stay where they are.
SIGNS = {
    "✓": "v", "✗": "x", "·": "|", "…": "~", "–": "-", "—": "-", "−": "-", "¦": "|", "’": "'",
    "█": "#", "░": ".", "◐": "/", "▲": "^", "▼": "v",
}  # fmt: skip
# What Python sets by itself; whoever chose another answer (`PYTHONIOENCODING=ascii:replace`) keeps it.
_DEFAULT_ANSWERS = frozenset({"strict", "surrogateescape", "backslashreplace"})


class _Steady(FileIO):
    """A file descriptor whose first failure is kept, not raised: a command goes on to its verdict and its exit code."""

    failure: OSError | None = None

    def write(self, data: "Any") -> int:
        """Write all of it, or pretend to."""
        rest = memoryview(data).cast("B")
        while self.failure is None and rest:
            try:
                written = super().write(rest)
            except OSError as error:
                self.failure = error
            else:
                if written is None:
                    # A pipe that does not block, and is full.
                    import select

                    select.select([], [self], [])
                rest = rest[written or 0 :]
        return memoryview(data).nbytes


def steady_streams() -> None:
    """From now on no print raises: where the encoding lacks a character, a sign of ours degrades to `SIGNS` and any other is escaped."""
    codecs.register_error("evalsuite", _degraded)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by the caller (`>&-`).
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif isinstance(stream, TextIOWrapper) and type(getattr(stream.buffer, "raw", stream.buffer)) is FileIO:
            stream.flush()
            steady: Any = _Steady(stream.fileno(), "wb", closefd=False)
            steady = steady if isinstance(stream.buffer, FileIO) else BufferedWriter(steady)
            errors = "evalsuite" if stream.errors in _DEFAULT_ANSWERS else stream.errors
            flushes = {"line_buffering": stream.line_buffering, "write_through": stream.write_through}
            setattr(sys, name, TextIOWrapper(steady, stream.encoding, errors, None, **flushes))


def stdout_failure() -> OSError | None:
    """Why stdout could not be written so far: `BrokenPipeError` where the reader (head, less) went away, None where all is well."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    failure: OSError | None = getattr(getattr(buffer, "raw", buffer), "failure", None)
    return failure


def ended(code: int) -> int:
    """The exit code of a command that would end with `code`: at least 1, with an error, where a full disk cut what it printed.

    Who closes a pipe (head, less) has read enough: that is no failure, and the code stands.
    """
    failure = stdout_failure()
    if failure is None or isinstance(failure, BrokenPipeError):
        return code
    print(f"error: cannot write to stdout: {failure.strerror}\nhint: make room; a run that was saved stands", file=sys.stderr)
    return code or 1


def complain(message: str, hint: str) -> None:
    """Say on stderr what is wrong, and what to do about it where that is known."""
    from evalsuite.compare.characters import clean

    print(f"error: {clean(message)}", file=sys.stderr)
    if hint:
        print(f"hint: {clean(hint)}", file=sys.stderr)


def _degraded(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    texts = (SIGNS.get(char) or char.encode("ascii", "backslashreplace").decode() for char in error.object[error.start : error.end])
    return "".join(texts), error.end
