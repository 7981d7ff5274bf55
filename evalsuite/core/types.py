"""Shared data types as frozen dataclasses: what readers make, scorers return and runs contain.

They are pickled to workers, import in a few milliseconds and import nothing else of evalsuite. Values are validated once, in `readers/`,
where file and line are known, and trusted afterwards. Some fields are stored in a compact form, because gold, answers and results of
100,000 instances are in memory at once.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from evalsuite.core.dataclasses import dataclass, field, replace

# Maximum number of files for which places are stored as numbers, and the bits for the line number.
_MAX_FILES: Final = 1 << 10
_LINE_BITS: Final = 40
_files: list[str] = []
_numbers: dict[str, int] = {}
_lock = threading.Lock()


class _CompactField:
    """A dataclass field that is stored in another form than it is set and read."""

    def __init__(self, kind: type[Any], name: str) -> None:
        # The slot descriptor that this field replaces.
        self.place: Any = vars(kind)[name]
        setattr(kind, name, self)


class JsonField(_CompactField):
    """A field with a JSON object that may be set as UTF-8 bytes and is then parsed at each read.

    Gold and results of 100,000 instances take half the memory this way, and most results are written without parsing.
    """

    def __get__(self, owner: Any, _: type[Any] | None = None) -> Any:
        if owner is None:
            return self
        value = self.place.__get__(owner)
        return _decoder()(value) if isinstance(value, bytes) else value

    def __set__(self, owner: Any, value: Mapping[str, Any] | bytes) -> None:
        self.place.__set__(owner, value)


@cache
def _decoder() -> Callable[[bytes], Any]:
    from msgspec.json import Decoder

    return Decoder().decode


class PlaceField(_CompactField):
    """A text field that stores `file:line` as one number, in a third of the memory."""

    def __get__(self, owner: Any, _: type[Any] | None = None) -> Any:
        if owner is None:
            return self
        value = self.place.__get__(owner)
        return value if isinstance(value, str) else f"{_files[value >> _LINE_BITS]}:{value & (1 << _LINE_BITS) - 1}"

    def __set__(self, owner: Any, value: str) -> None:
        self.place.__set__(owner, _line_number(value))


# Objects of the same line are created one after the other, so a small cache is enough.
@lru_cache(maxsize=4)
def _line_number(place: str) -> str | int:
    """Return the number of a `file:line` text; any other text is returned unchanged."""
    file, _, line = place.rpartition(":")
    if not (file and line.isdecimal() and line.isascii() and len(line) < 12 and line[0] != "0"):
        return place
    if file not in _numbers:
        with _lock:
            if len(_files) == _MAX_FILES:
                return place
            _files.append(file)
            _numbers[file] = len(_files) - 1
    return _numbers[file] << _LINE_BITS | int(line)


Rule = Literal["official", "strict"]
Status = Literal["scored", "missing", "submission_fault", "gold_fault", "scorer_fault", "timeout", "crashed", "unscored"]
Reads = Literal["text", "number", "table", "tables", "database", "tree", "batch", "query"]

RULES: tuple[Rule, ...] = ("official", "strict")
# Evaluators of query pairs: names of gold layouts, and of rules under which they give the official verdict.
EVALUATORS = ("bird-ex", "test-suite")
# Type of a column with SQLite values: None, 64-bit integers, floats, texts and bytes, mixed.
SQLITE_CELLS = "SQLITE"
# The file that makes a folder a submission.
METADATA = "results_metadata.jsonl"
# Read if no METADATA file exists.
METADATA_ARRAY = "results_metadata.json"
# The only key of an object that replaces an unreadable record of an answer: {"line", "cause"}, and "repaired" if it can be repaired.
BROKEN_RECORD = "x-eval-broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A coded reason why something could not be scored.

    Attributes:
        code: a key of `errors.FAULTS`.
        detail: one sentence about this case.
        where: `file:line`, if known.
        side: the responsible party, if it differs from the code's default: `setup` if the machine, not the answer, reached a limit.
    """

    code: str
    detail: str = ""
    where: str = ""
    side: Literal["", "setup"] = ""

    def to_json(self) -> dict[str, str]:
        """Return the value of a `strict_fault` in JSON."""
        return {"code": self.code, "detail": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem of one gold check, and the rules under which it prevents a verdict. Empty `blocks` is a warning."""

    code: str
    message: str
    hint: str = ""
    where: str = ""
    blocks: frozenset[Rule] = frozenset(RULES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table from a reader: n_columns sequences of n_rows cells each.

    Attributes:
        header: n_columns names.
        columns: the cells. From CSV, the text in the file, or None where a short row has no field; types are inferred in `compare/`. From a
            database, native Python values, None for NULL.
        n_rows: the number of rows.
        types: each column's database type; None for CSV.
        ragged_line: the first line (1-based) with more fields than the header, or None.
        name: the name of the table.
        is_view: whether the rows come from a view over tables of the same database.
    """

    header: tuple[str, ...]
    columns: tuple[Sequence[Any], ...]
    n_rows: int
    types: tuple[str, ...] | None = None
    ragged_line: int | None = None
    name: str = ""
    is_view: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Return value of a scorer: the value under both rules, and the reasons.

    Attributes:
        official: in [0, 1]; None if the official rules cannot judge.
        strict: in [0, 1]; None if the strict rules cannot judge.
        reason: one sentence about the official verdict.
        strict_reason: one sentence about the strict verdict; empty if it is the same.
        flip: the cause if the two verdicts differ, else empty.
        fault: why `official` is None, or the submission's fault behind a 0.
        strict_fault: the same for `strict`.
        details: JSON-safe details.
    """

    official: float | None
    strict: float | None = None
    reason: str = ""
    strict_reason: str = ""
    flip: str = ""
    fault: Fault | None = None
    strict_fault: Fault | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def value(self, rule: Rule = "official") -> float | None:
        """Return the value under `rule`: a number in [0, 1], or None if that rule cannot judge."""
        return self.official if rule == "official" else self.strict

    def fault_under(self, rule: Rule = "official") -> Fault | None:
        """Return the fault under `rule`; None for a plain verdict."""
        return self.fault if rule == "official" else self.strict_fault

    def reason_for(self, rule: Rule = "official") -> str:
        """Return the one-sentence reason of the verdict under `rule`."""
        return self.strict_reason or self.reason if rule == "strict" else self.reason

    why = reason_for  # the name in version 0.2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One scorer with its parameters for one instance: an entry of gold's `evaluation`.

    `computed` is the folder that replaces gold's own if a query computed the gold of this run. `is_further` marks a further scorer of the
    suite: it fills that scorer's column and does not change the score.
    """

    scorer: str
    parameters: Mapping[str, Any]
    where: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    computed: Path | None = None
    is_further: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldInstance:
    """One question of the suite: its checks, further top-level keys of gold, and its groups.

    `question_entry` is its entry in a file of questions: `db`, `question`, and the `engine` of its database.
    """

    instance_id: str
    checks: tuple[Check, ...]
    where: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    question_entry: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_checks(self) -> tuple[Check, ...]:
        """The checks that make the score, without those of the suite's further scorers."""
        return tuple(check for check in self.checks if not check.is_further)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Contents of `suite.yaml` and its folder; every field has a default, because the file is optional."""

    name: str
    description: str = ""
    rules: Rule | None = None
    limits: Mapping[str, int | float] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group_prefixes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fail_under: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """A loaded gold folder: n instances in file order, the suite, and notes about reading it.

    `layout` is the name of the folder's layout, a key of `gold.layouts.LAYOUTS`.
    """

    folder: Path
    spec_file: Path
    instances: tuple[GoldInstance, ...]
    suite: Suite
    notes: tuple[str, ...] = ()
    hash: str = ""
    layout: str = "original"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One line of a submission.

    Attributes:
        value: text for `answer`, a relative path for `file`, several for `files`, one SQL text for `sql`.
        unread: the keys of the line that were ignored.
    """

    instance_id: str
    answer_type: str
    value: str | tuple[str, ...]
    where: str = ""
    fault: Fault | None = None
    unread: tuple[str, ...] = ()

    @property
    def is_query(self) -> bool:
        """Whether the answer is SQL: by its type, or as a file with a name that ends in .sql."""
        return self.answer_type == "sql" or (self.answer_type == "file" and str(self.value).lower().endswith(".sql"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A loaded submission folder: answers by instance id, and notes (bad lines, unknown keys).

    Attributes:
        limit_bytes: no larger file is read, not even for hashing: a sparse file can claim a terabyte.
        digest: SHA-256 of the metadata file with these answers; None if they come from elsewhere.
        metadata: the name of that file; empty if the folder contains only databases.
        n_unknown: the number of answers to ids that gold lacks; they are not in `answers`.
        unknown: the first few of them, place and id.
    """

    folder: Path
    answers: Mapping[str, Answer]
    notes: tuple[str, ...] = ()
    n_objects: int = 0
    limit_bytes: float = float("inf")
    digest: str | None = None
    metadata: str = METADATA
    n_unknown: int = 0
    unknown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Everything a worker needs to score one instance; no file is open yet.

    Attributes:
        executed: the table that an SQL answer gave.
        allow_programs: whether an answer that is a program may be run.
        databases: the files on which a query answer runs.
    """

    instance: GoldInstance
    answer: Answer | None
    gold_folder: Path
    submission_folder: Path
    rules: Rule = "official"
    limits: Mapping[str, int | float] = field(default_factory=dict)
    executed: Path | None = None
    allow_programs: bool = False
    databases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one instance: one line of `results.jsonl`, in this order of keys.

    Attributes:
        score: follows the run's rules. Numbers are 0 for missing, submission_fault, timeout and crashed, and None for other faults.
        digests: what was read of each opened file, as in `AnswerFiles.digests`; finished runs do not keep it.
        strict_fault: why there is no strict verdict if it took too long (TIMEOUT); most lines lack it.
    """

    instance_id: str
    status: Status
    score: float | None
    official: float | None
    strict: float | None
    scorer: str | None
    reason: str
    fault: str | None
    details: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    digests: Mapping[str, str] = field(default_factory=dict)
    strict_fault: Fault | None = None

    def detail(self, key: str) -> Any:
        """Return the value of a key in `details`, or None. The JSON text is parsed only if it contains the key."""
        stored = _stored_details(self)
        return None if isinstance(stored, bytes) and _quoted(key) not in stored else self.details.get(key)

    def with_detail(self, key: str, value: Any) -> "Result":
        """Return a copy with this value in `details`. Details stored as text stay text if they do not contain the key."""
        text = self.details_text
        if text is None or _quoted(key) in text:
            return replace(self, details={**self.details, key: value})
        more = json.dumps({key: value}).encode()
        return replace(self, details=more if text == b"{}" else text[:-1] + b", " + more[1:])  # type: ignore[arg-type]

    @property
    def details_text(self) -> bytes | None:
        """The JSON text of `details`; None if they are stored as an object."""
        stored = _stored_details(self)
        return stored if isinstance(stored, bytes) else None


@cache
def _quoted(key: str) -> bytes:
    return b'"%b"' % key.encode()


_stored_details: Callable[[Result], Any] = JsonField(Result, "details").place.__get__
JsonField(Check, "parameters")
for _kind in (Check, GoldInstance, Answer):
    PlaceField(_kind, "where")
