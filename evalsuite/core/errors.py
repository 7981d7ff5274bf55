"""Closed lists of errors: the exception classes with their exit codes, and the fault codes with message and hint.

An exception here is a user's or a set-up error and ends the command with its exit code. A failed instance is data, never an exception:
readers raise `FaultError`, and the worker turns it into that instance's `Result`. Raw texts of libraries never appear in either, because
they can contain paths and submission text; they go to the debug log.
"""

import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.scores import Fault

EXIT_OK = 0
EXIT_GATE = 1
EXIT_USAGE = 2
EXIT_INTERNAL = 3
EXIT_UNSCORABLE = 4
EXIT_NOTHING = 5
EXIT_INTERRUPTED = 130


class EvalsuiteError(Exception):
    """An error shown as `error: message` and `hint: hint`.

    Attributes:
        message: what is wrong, one sentence.
        hint: what to do about it; empty if there is nothing to suggest.
        exit_code: the exit code of the command.
    """

    exit_code = EXIT_USAGE

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(EvalsuiteError, ValueError):
    """Invalid arguments. Also a `ValueError`, which callers of the Python API expect."""


class MachineError(UsageError):
    """The machine gives a process less than a run needs: neither the submission nor gold can be blamed for it."""


class UntrustedPluginError(UsageError):
    """A gold folder that the user did not name contains plugin code. Plugins run only from folders that the user named."""


class GoldError(EvalsuiteError):
    """The gold folder as a whole cannot be read."""


class SubmissionError(EvalsuiteError):
    """The submission folder as a whole cannot be read."""


class OutputError(EvalsuiteError):
    """A run folder or report cannot be written."""


class MissingExtraError(EvalsuiteError):
    """A required optional package is not installed.

    Args:
        message: what needs the package.
        extra: the extra of evalsuite that installs it; the hint is its pip command.
        other: the hint if the package is not one of our extras.
    """

    def __init__(self, message: str, *, extra: str = "", other: str = "") -> None:
        from evalsuite.core.runtime import extra_line

        super().__init__(message, hint=other or extra_line(extra))


def reason_of(error: OSError) -> str:
    """Return the reason that the operating system gives for an error."""
    if isinstance(error, FileExistsError):
        return "expected a folder, found a file"
    if isinstance(error, IsADirectoryError):
        return "expected a file, found a folder"
    if error.errno == errno.ELOOP:
        return "a link that leads to itself"
    return error.strerror or type(error).__name__


@contextmanager
def naming_lost_folder() -> Iterator[None]:
    """Raise `UsageError` in place of an error of the block that comes from a working folder that was deleted."""
    try:
        yield
    except FileNotFoundError:
        import os

        try:
            os.getcwd()  # noqa: PTH109 - pathlib is not imported here
        except FileNotFoundError:
            raise UsageError("the current folder does not exist any more", hint="change to another folder") from None
        raise


# The disk, the user's part of it or the largest file is full.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CHECK_HINT = "check free space and write permission"


def write_error(path: object, error: OSError, *, hint: str = CHECK_HINT) -> OutputError:
    """Return the error for a file or folder that cannot be written."""
    return OutputError(f"cannot write {path}: {reason_of(error)}", hint=hint)


def raise_no_room(path: object, error: Exception) -> None:
    """Raise the OSError behind an error of DuckDB that a full disk caused, whose text contains the reason of the system."""
    for number in NO_ROOM:
        if (reason := os.strerror(number)) in str(error):
            raise OSError(number, reason, str(path)) from error


# Responsible party. `setup`: something that the grader has to provide is absent. `nobody`: everything worked, but the answer has no value.
Side = Literal["submission", "gold", "tool", "setup", "nobody"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """Message and hint of a fault code, and the party responsible by default."""

    message: str
    hint: str
    side: Side = "submission"


FAULTS: dict[str, FaultKind] = {
    "BAD_PATH": FaultKind(message="the path is not allowed", hint="give a plain relative path inside the instance's own folder"),
    "MISSING_FILE": FaultKind(message="the file is not there", hint="paths are relative to <submission>/<instance_id>/"),
    "NOT_REGULAR_FILE": FaultKind(message="not a regular file", hint="use a plain file: no folder, link, pipe or device"),
    "TOO_LARGE": FaultKind(message="the file is larger than the limit", hint="use a smaller file, or raise the limit by its name"),
    "BAD_ARCHIVE": FaultKind(
        message="the archive cannot be unpacked", hint="pack plain files again, as .zip, .tar or .tar.gz, without a password"
    ),
    "LIMIT": FaultKind(
        message="a limit was reached", hint="the reason names the limit; set it in suite.yaml or by `evalsuite run --limit`"
    ),
    "TIMEOUT": FaultKind(
        message="the time limit was reached", hint="the reason names the limit: suite.yaml or `evalsuite run --limit` sets it"
    ),
    "WORKER_DIED": FaultKind(message="the worker that read this answer died", hint="the file makes its reader crash; write it again"),
    "BAD_CSV": FaultKind(
        message="the file is not a readable CSV table",
        hint="one header line, the same number of comma-separated fields in each row; no other delimiter",
    ),
    "BAD_DUCKDB": FaultKind(message="the file is not a readable DuckDB database", hint="write it with duckdb and close the connection"),
    "NOT_A_TABLE": FaultKind(message="found a view, expected a table", hint="submit a table"),
    "MISSING_TABLE": FaultKind(message="the database lacks a table", hint="table names are compared without case, in schema main"),
    "BAD_METADATA": FaultKind(
        message="the metadata entry cannot be used",
        hint='one JSON object a line: {"instance_id": "...", "answer_type": "answer|file|files", "answer_or_path": ...}',
    ),
    "BAD_ENCODING": FaultKind(message="the text is not UTF-8", hint="save the file as text in UTF-8"),
    "BAD_JSON": FaultKind(message="the file is not valid JSON", hint="check it with `python -m json.tool`"),
    "MISSING_INSTANCE": FaultKind(message="missing", hint="add a line for this instance to results_metadata.jsonl"),
    "WRONG_ANSWER_TYPE": FaultKind(
        message="no check of this instance takes this answer type",
        hint="answer: text, number and tree checks; file: table and database checks, tree checks (.json, .jsonl); files: tables_match",
    ),
    "DUPLICATE_ID": FaultKind(
        message="the instance was submitted more than once",
        hint="keep one line for each instance_id; `run --samples N` reads N lines of an id as samples",
    ),
    "UNKNOWN_ID": FaultKind(message="the id is not in gold", hint="compare the spelling with gold's instance_id"),
    "SQL_NOT_ALLOWED": FaultKind(
        message="SQL answers are not accepted here", hint="submit one SELECT that queries its own database, or the result as a CSV file"
    ),
    "SQL_ERROR": FaultKind(message="the SQL statement failed", hint="run it against the database by hand"),
    "NEEDS_CONNECTION": FaultKind(
        message="a query must be run through a connection",
        hint="the reason names what is missing; `evalsuite doctor GOLD` checks all instances",
        side="setup",
    ),
    "NEEDS_EXTRA": FaultKind(message="a package is not installed", hint="the reason contains the command that installs it", side="setup"),
    "NOT_FROZEN": FaultKind(message="the query reads a clock that --frozen-clock cannot freeze", hint="use current_date for the day"),
    "BAD_SPEC": FaultKind(message="the gold entry cannot be used", hint="`evalsuite gold scorers NAME` shows the parameters", side="gold"),
    "BAD_GOLD_FILE": FaultKind(message="a gold file cannot be read", hint="gold files are in <gold>/<instance_id>/", side="gold"),
    "NO_JUDGE": FaultKind(
        message="no judge is configured",
        hint="set `judge: {base_url: ..., model: ..., key_env: ...}` in suite.yaml, and the environment variable that `key_env` names",
        side="setup",
    ),
    "JUDGE_FAILED": FaultKind(
        message="the request to the judge failed",
        hint="check judge.base_url, the key and the network, then run again: replies are cached",
        side="setup",
    ),
    "NO_VERDICT": FaultKind(
        message="the judge gave no verdict",
        hint="details.judge contains its reply; another prompt may help; `evalsuite run X --invalid-as zero` counts it wrong",
        side="setup",
    ),
    "NO_JAIL": FaultKind(
        message="no program sandbox is available here; programs run only with --allow-programs (in Python allow_programs=True)",
        hint="`evalsuite run --allow-programs`, for programs you trust or inside a container: they can read and write what you can, "
        "and pass any test; a test that cannot run in a separate process must not use what the reason names",
        side="setup",
    ),
    "UNDEFINED": FaultKind(
        message="the metric has no value for this answer",
        hint="see the details; a metric without a fixed range needs `scale`",
        side="nobody",
    ),
    "SCORER_ERROR": FaultKind(message="the scorer failed", hint="run with --debug and report it with `evalsuite check`", side="tool"),
}

_MACHINE_HINT = (
    "score it again with more memory, --jobs 1, or when the disk answers: `evalsuite run X --resume RUN_FOLDER` scores what is left"
)

# Faults with the status `unscored`: neither the submission nor gold is at fault, and there is no score.
UNSCORED = frozenset(code for code, kind in FAULTS.items() if kind.side in ("setup", "nobody"))


class FaultError(Exception):
    """A fault of one instance, raised by readers and scorers and turned into its `Result`.

    Args:
        code: a key of `FAULTS`.
        detail: one sentence about this case; by default the code's message.
        where: `file:line`, if known.
        side: the responsible party, if it differs from the code's default.
    """

    def __init__(self, code: str, detail: str = "", *, where: str = "", side: Side | None = None) -> None:
        super().__init__(detail or FAULTS[code].message)
        self.side: Side = side or FAULTS[code].side
        self.fault = Fault(code=code, detail=detail, where=where, side="setup" if side == "setup" != FAULTS[code].side else "")

    @property
    def is_of_machine(self) -> bool:
        """Whether a machine that lacks something is responsible where otherwise the submission or gold is."""
        return self.fault.side == "setup"


def side_of(fault: Fault) -> Side:
    """Return the responsible party of a fault."""
    return fault.side or FAULTS[fault.code].side


def hint_of(fault: Fault) -> str:
    """Return what to do about a fault. A limit of the machine has its own hint, because the answer is not at fault."""
    return _MACHINE_HINT if fault.side and fault.code == "LIMIT" else FAULTS[fault.code].hint


def machine_error(place: object, fault: Fault) -> MachineError:
    """Return the error of a command that cannot go on without a file (`place`, or that of the fault) that this machine does not read."""
    return MachineError(
        ": ".join(filter(None, (str(place or fault.where), fault.detail))), hint="call it again with more memory, or when the disk answers"
    )


def reading_error(place: object, error: OSError) -> MachineError:
    """Return the error of a command that cannot go on without the file or folder `place`, which cannot be read here."""
    failed = machine_error(place, machine_fault(reason_of(error)))
    if isinstance(error, PermissionError):
        failed.hint = "make it readable for this user"
    elif isinstance(error, IsADirectoryError):
        failed.hint = "a folder is where a file is needed: copy it again"
    return failed


def timeout_error(over: str, what: str, seconds: float) -> FaultError:
    """Return the error for an exceeded time limit.

    Args:
        over: `delayed` if the process mostly waited for a CPU: then the machine is at fault (LIMIT), otherwise the answer (TIMEOUT).
        what: the name of the work.
        seconds: the limit.
    """
    if over == "delayed":
        return FaultError("LIMIT", f"{what} was stopped: it mostly waited for a CPU (limit seconds)", side="setup")
    return FaultError("TIMEOUT", f"{what} took longer than {seconds:g} seconds (limit seconds)")


def machine_fault(detail: str) -> Fault:
    """Return the fault for a resource that this machine lacks. The answer is not at fault and stays unscored."""
    return Fault(code="LIMIT", detail=detail, side="setup")


def describe(fault: Fault) -> str:
    """Return a fault as one sentence: `CODE: detail`, with its place in front if known."""
    text = fault.detail or FAULTS[fault.code].message
    place = f"{fault.where}: " if fault.where else ""
    return f"{fault.code}: {place}{text}"


def error_sentence(error: Exception) -> str:
    """Return an error and its hint as one sentence. For errors of other libraries only the class name, because their text may contain
    anything.
    """
    if isinstance(error, EvalsuiteError):
        return error.message + (f"; {error.hint}" if error.hint else "")
    return str(error) if isinstance(error, FaultError) else type(error).__name__


# A hint names at most this many equally close words; a list of all known words is cut at this many characters.
_MAX_NEAR, _MAX_CHARACTERS = 3, 400
# Minimum length of a word that may match by its beginning.
_MIN_CHARACTERS = 3


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return a hint that names the closest known words, or all known words if none is close."""
    names = list(dict.fromkeys(candidates))
    near = _closest_names(word.casefold(), names)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {join_names(names)}"


def unicode_form_hint(word: str, candidates: Iterable[str], what: str) -> str:
    """Return a hint if a candidate has a word's letters in another Unicode form; else empty text."""
    if word.isascii():
        return ""
    import unicodedata

    composed = unicodedata.normalize("NFC", word)
    if not any(name != word and unicodedata.normalize("NFC", name) == composed for name in candidates):
        return ""
    return f"{what} has the same letters in another Unicode form (macOS uses NFD, others NFC): write both in the same form"


def count_words(n: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def join_names(names: Sequence[str]) -> str:
    """Return `a, b, c`; a long list is cut and ends with the number of further names."""
    n, length = 0, 0
    while n < len(names) and (n == 0 or length + len(names[n]) + 2 <= _MAX_CHARACTERS):
        length += len(names[n]) + 2
        n += 1
    return ", ".join(names[:n]) + (f" and {len(names) - n:,} more" if len(names) > n else "")


def _closest_names(word: str, names: Sequence[str]) -> list[str]:
    """Return the names that a lower-case word may stand for: an equal name in other case, else names that contain it as a word, else names
    that begin with it, else the one name that it contains as a word, else the most similar one.
    """
    by_folded_name = {name.casefold(): name for name in reversed(names)}
    if word in by_folded_name:
        return [by_folded_name[word]]
    bare = word.strip("-")
    holding = [name for name in names if bare in re.split(r"[\W_]+", name.casefold())] if bare else []
    beginning = [name for name in names if name.casefold().startswith(word)] if len(bare) >= _MIN_CHARACTERS else []
    if holding:
        return holding if len(holding) <= _MAX_NEAR else []
    if 0 < len(beginning) <= _MAX_NEAR:
        return beginning
    within = [name for name in names if name.casefold() in re.split(r"[\W_]+", word)]
    if len(within) == 1 and len(within[0]) >= _MIN_CHARACTERS:
        return within
    import difflib

    # The dashes that all options begin with make none of them nearer.
    similar = {name.lstrip("-"): by_folded_name[name] for name in by_folded_name}
    return [similar[similar_name] for similar_name in difflib.get_close_matches(bare, similar, n=1)]
