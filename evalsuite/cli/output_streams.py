"""Make stdout and stderr safe for any encoding, a closed pipe or a full disk; print errors to stderr."""

import codecs
import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# One character each, to keep the columns of tables aligned.
SIGNS = {
    "✓": "v", "✗": "x", "·": "|", "…": "~", "–": "-", "—": "-", "−": "-", "¦": "|", "’": "'",
    "█": "#", "░": ".", "◐": "/", "▲": "^", "▼": "v",
}  # fmt: skip
# Python's defaults; another choice (`PYTHONIOENCODING=ascii:replace`) is kept.
_DEFAULT_ANSWERS = frozenset({"strict", "surrogateescape", "backslashreplace"})


class _SafeFile(FileIO):
    """A file descriptor that stores its first write error instead of raising it, so that a command reaches its exit code."""

    failure: OSError | None = None

    def write(self, data: "Any") -> int:
        """Write all bytes, or discard them after an error."""
        rest = memoryview(data).cast("B")
        while self.failure is None and rest:
            try:
                written = super().write(rest)
            except OSError as error:
                self.failure = error
            else:
                if written is None:
                    # A full non-blocking pipe.
                    import select

                    select.select([], [self], [])
                rest = rest[written or 0 :]
        return memoryview(data).nbytes


def make_streams_safe() -> None:
    """Make printing never raise: characters outside the encoding are replaced from `SIGNS` or escaped."""
    codecs.register_error("evalsuite", _replace_unencodable)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by the caller (`>&-`).
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif isinstance(stream, TextIOWrapper) and type(getattr(stream.buffer, "raw", stream.buffer)) is FileIO:
            stream.flush()
            steady: Any = _SafeFile(stream.fileno(), "wb", closefd=False)
            steady = steady if isinstance(stream.buffer, FileIO) else BufferedWriter(steady)
            errors = "evalsuite" if stream.errors in _DEFAULT_ANSWERS else stream.errors
            flushes = {"line_buffering": stream.line_buffering, "write_through": stream.write_through}
            setattr(sys, name, TextIOWrapper(steady, stream.encoding, errors, None, **flushes))


def stdout_failure() -> OSError | None:
    """Return the first write error of stdout: `BrokenPipeError` if the reader (head, less) has exited, None without error."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    failure: OSError | None = getattr(getattr(buffer, "raw", buffer), "failure", None)
    return failure


def final_exit_code(code: int) -> int:
    """Return the exit code of a command: at least 1, with an error, if a full disk cut its output.

    A closed pipe (head, less) is no failure.
    """
    failure = stdout_failure()
    if failure is None or isinstance(failure, BrokenPipeError):
        return code
    print(f"error: cannot write to stdout: {failure.strerror}\nhint: free some space; a saved run is complete", file=sys.stderr)
    return code or 1


def complain(message: str, hint: str) -> None:
    """Print an error to stderr, with a hint if there is one."""
    from evalsuite.compare.characters import clean

    print(f"error: {clean(message)}", file=sys.stderr)
    if hint:
        print(f"hint: {clean(hint)}", file=sys.stderr)


def _replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    texts = (SIGNS.get(char) or char.encode("ascii", "backslashreplace").decode() for char in error.object[error.start : error.end])
    return "".join(texts), error.end
