"""What can go wrong, in one closed list: the exception tree with its exit codes, and the fault codes with message and hint.

An exception here is a user's or a set-up fault and ends the command with its exit code. A failed instance is data, never an exception:
readers raise `FaultError`, the worker turns it into that instance's `Result`. Raw texts of libraries never appear in either, because
they can carry paths and submission text; they go to the debug log.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from evalsuite.core.types import Fault

EXIT_OK = 0
EXIT_GATE = 1
EXIT_USAGE = 2
EXIT_INTERNAL = 3
EXIT_UNSCORABLE = 4
EXIT_NOTHING = 5
EXIT_INTERRUPTED = 130


class EvalsuiteError(Exception):
    """An error a person sees as `error: message` and `hint: hint`; `exit_code` is what the command ends with."""

    exit_code = EXIT_USAGE

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(EvalsuiteError, ValueError):
    """Arguments that cannot be meant; a `ValueError`, as callers of Python code know it."""


class UntrustedPluginError(UsageError):
    """A gold folder that the user did not name brings plugin code, which is executed only where it was named."""


class GoldError(EvalsuiteError):
    """A gold folder that cannot be read as a whole."""


class SubmissionError(EvalsuiteError):
    """A submission folder that cannot be read as a whole."""


class OutputError(EvalsuiteError):
    """A run folder or report that cannot be written."""


class MissingExtraError(EvalsuiteError):
    """An optional package is needed and absent: one of our extras, or what `other` says is to be installed. The hint is the pip line."""

    def __init__(self, message: str, *, extra: str = "", other: str = "") -> None:
        from evalsuite.core.package_info import extra_line

        super().__init__(message, hint=other or extra_line(extra))


def reason_of(error: OSError) -> str:
    """What kept the system from doing it, in a person's words."""
    if isinstance(error, FileExistsError):
        return "a file stands where a folder is needed"
    return error.strerror or type(error).__name__


LOOK = "look whether there is room and you may write there"


def cannot_write(path: object, error: OSError, *, hint: str = LOOK) -> OutputError:
    """The error of a file or folder that cannot be written."""
    return OutputError(f"cannot write {path}: {reason_of(error)}", hint=hint)


# `setup`: something that the grader has to provide is not here. `nobody`: all was done, and the answer just has no value.
Side = Literal["submission", "gold", "tool", "setup", "nobody"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """A fault code's fixed message and hint, and whose fault it is by default."""

    message: str
    hint: str
    side: Side = "submission"


FAULTS: dict[str, FaultKind] = {
    "BAD_PATH": FaultKind(
        message="the path is not allowed",
        hint="give a plain relative path inside the instance's own folder",
    ),
    "MISSING_FILE": FaultKind(message="the file is not there", hint="paths are relative to <submission>/<instance_id>/"),
    "NOT_REGULAR_FILE": FaultKind(message="not a regular file", hint="hand in a plain file: no folder, link, pipe or device"),
    "TOO_LARGE": FaultKind(message="the file is larger than the limit", hint="hand in a smaller file, or raise the limit by its name"),
    "BAD_ARCHIVE": FaultKind(
        message="the archive cannot be unpacked", hint="pack plain files anew, as .zip, .tar or .tar.gz, without a password"
    ),
    "LIMIT": FaultKind(
        message="a limit was reached", hint="the reason names the limit; set it in suite.yaml or by `evalsuite run --limit`"
    ),
    "TIMEOUT": FaultKind(
        message="the time limit was reached", hint="the reason names the limit: suite.yaml or `evalsuite run --limit` sets it"
    ),
    "WORKER_DIED": FaultKind(message="the worker that read this answer died", hint="the file makes its reader crash; write it anew"),
    "BAD_CSV": FaultKind(
        message="the file is not a readable CSV table",
        hint="one header line, the same number of comma-separated fields in each row; no other delimiter",
    ),
    "BAD_DUCKDB": FaultKind(message="the file is not a readable DuckDB database", hint="write it with duckdb and close the connection"),
    "NOT_A_TABLE": FaultKind(message="a view stands where a table is needed", hint="hand in a table"),
    "MISSING_TABLE": FaultKind(message="the database lacks a table", hint="table names are compared without case, in schema main"),
    "BAD_METADATA": FaultKind(
        message="the metadata entry cannot be used",
        hint='one JSON object a line: {"instance_id": "...", "answer_type": "answer|file|files", "answer_or_path": ...}',
    ),
    "BAD_ENCODING": FaultKind(message="the text is not UTF-8", hint="save the file as UTF-8"),
    "BAD_JSON": FaultKind(message="the file is not valid JSON", hint="check it with `python -m json.tool FILE`"),
    "MISSING_INSTANCE": FaultKind(message="not handed in", hint="add a line for this instance to results_metadata.jsonl"),
    "WRONG_ANSWER_TYPE": FaultKind(
        message="no check of this instance takes this answer type",
        hint="answer: text and number checks; file: table and database checks; files: tables_match",
    ),
    "DUPLICATE_ID": FaultKind(
        message="the instance was handed in more than once",
        hint="keep one line for each instance_id; `run --samples N` reads N lines of an id as samples",
    ),
    "UNKNOWN_ID": FaultKind(message="the id is not in gold", hint="compare the spelling with gold's instance_id"),
    "SQL_NOT_ALLOWED": FaultKind(
        message="SQL answers are not accepted here", hint="hand in one SELECT that asks its own database, or the result as a CSV file"
    ),
    "SQL_ERROR": FaultKind(message="the SQL statement failed", hint="run it against the database by hand"),
    "NEEDS_CONNECTION": FaultKind(
        message="a query must be run through a connection",
        hint="the reason says what is not there; `evalsuite doctor GOLD` says it of all instances",
        side="setup",
    ),
    "NEEDS_EXTRA": FaultKind(message="a package is not installed", hint="the reason holds the line that installs it", side="setup"),
    "NOT_FROZEN": FaultKind(message="the query asks a clock that --frozen-clock cannot stop", hint="ask for the day with current_date"),
    "BAD_SPEC": FaultKind(message="the gold entry cannot be used", hint="see `evalsuite scorers NAME` for the parameters", side="gold"),
    "BAD_GOLD_FILE": FaultKind(message="a gold file cannot be read", hint="gold files lie in <gold>/<instance_id>/", side="gold"),
    "NO_JUDGE": FaultKind(
        message="no judge is configured",
        hint="add `judge: {base_url: ..., model: ..., key_env: ...}` to suite.yaml",
        side="setup",
    ),
    "JUDGE_FAILED": FaultKind(
        message="the judge could not be asked",
        hint="look at judge.base_url, the key and the network, then run again: known replies are kept",
        side="setup",
    ),
    "NO_VERDICT": FaultKind(
        message="the judge gave no verdict",
        hint="details.judge holds its reply; another prompt may help; `evalsuite run X --invalid-as zero` counts it wrong",
        side="setup",
    ),
    "NO_JAIL": FaultKind(
        message="no jail can be had here, so a program is run with --allow-programs only (in Python allow_programs=True)",
        hint="`evalsuite run --allow-programs`, for programs you trust or inside a container: they can read and write what you can, "
        "and pass any test; a test that cannot be run in a process apart from the program must be written without what the reason names",
        side="setup",
    ),
    "UNDEFINED": FaultKind(
        message="the metric has no value for this answer",
        hint="details say why; a metric without a fixed range needs `scale`",
        side="nobody",
    ),
    "SCORER_ERROR": FaultKind(message="the scorer failed", hint="run with --debug and report it with `evalsuite check`", side="tool"),
}

_OF_MACHINE = "score it again with more room or less beside it (--jobs 1): `evalsuite run X --resume RUN_FOLDER` takes what is left"

# Nobody is at fault, and yet nobody said what the answer is worth: status `unscored`.
UNSCORED = frozenset(code for code, kind in FAULTS.items() if kind.side in ("setup", "nobody"))


class FaultError(Exception):
    """Raised by readers and scorers for one instance's fault; `side` overrides the code's own side."""

    def __init__(self, code: str, detail: str = "", *, where: str = "", side: Side | None = None) -> None:
        super().__init__(detail or FAULTS[code].message)
        self.side: Side = side or FAULTS[code].side
        self.fault = Fault(code=code, detail=detail, where=where, side="setup" if side == "setup" != FAULTS[code].side else "")


def side_of(fault: Fault) -> Side:
    """Whose fault it is."""
    return fault.side or FAULTS[fault.code].side


def hint_of(fault: Fault) -> str:
    """What to do about it; where the machine reached a limit that is nothing about the answer."""
    return _OF_MACHINE if fault.side and fault.code == "LIMIT" else FAULTS[fault.code].hint


def out_of_time(over: str, what: str, seconds: float) -> FaultError:
    """What is raised when `seconds` are over: TIMEOUT, or, where they were `delayed` by what the machine did else, its limit."""
    if over == "delayed":
        return FaultError("LIMIT", f"{what} was given up: most of its time it waited for a CPU (limit seconds)", side="setup")
    return FaultError("TIMEOUT", f"{what} took longer than {seconds:g} seconds (limit seconds)")


def machine_fault(detail: str) -> Fault:
    """The fault of what this machine could not give: the answer is no part of it, and nobody says what it is worth."""
    return Fault(code="LIMIT", detail=detail, side="setup")


def describe(fault: Fault) -> str:
    """The one-sentence text of a fault: `CODE: detail` with the place in front where it is known."""
    text = fault.detail or FAULTS[fault.code].message
    place = f"{fault.where}: " if fault.where else ""
    return f"{fault.code}: {place}{text}"


def in_one_sentence(error: Exception) -> str:
    """What an error says, with its hint; of one that is not of this list the kind alone, because its text may hold anything."""
    if isinstance(error, EvalsuiteError):
        return error.message + (f"; {error.hint}" if error.hint else "")
    return str(error) if isinstance(error, FaultError) else type(error).__name__


# A hint names at most this many words that are equally near, and of all that are known as many as fit into these characters.
_MOST_NEAR, _MOST_CHARACTERS = 3, 400
# From this length on, the beginning of a word is a sign of what was meant.
_LEAST_CHARACTERS = 3


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known words, or what is known where none is near."""
    names = list(dict.fromkeys(known))
    near = _nearest(word.casefold(), names)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """`a, b, c`; of many the first, and how many more there are."""
    n, length = 0, 0
    while n < len(names) and (n == 0 or length + len(names[n]) + 2 <= _MOST_CHARACTERS):
        length += len(names[n]) + 2
        n += 1
    return ", ".join(names[:n]) + (f" and {len(names) - n:,} more" if len(names) > n else "")


def _nearest(word: str, names: Sequence[str]) -> list[str]:
    """The names a word in lower case may stand for: itself in other case, those that hold it, begin with it, or at last look like it."""
    folded = {name.casefold(): name for name in reversed(names)}
    if word in folded:
        return [folded[word]]
    bare = word.strip("-")
    holding = [name for name in names if bare in re.split(r"[\W_]+", name.casefold())] if bare else []
    beginning = [name for name in names if name.casefold().startswith(word)] if len(bare) >= _LEAST_CHARACTERS else []
    if holding:
        return holding if len(holding) <= _MOST_NEAR else []
    if 0 < len(beginning) <= _MOST_NEAR:
        return beginning
    import difflib

    return [folded[near] for near in difflib.get_close_matches(word, folded, n=1)]
