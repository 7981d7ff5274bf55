"""The shared words of the house as frozen dataclasses: what readers make, scorers return and runs hold.

They pickle to workers, cost a few milliseconds to import and need nothing. Values are validated once, in `readers/`, where file and
line are known; from there on these types are trusted.

Fields of dataclasses that take little room: gold, answers and results of a hundred thousand instances stand in memory at once.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal

# Files of which places are kept as numbers, and lines that fit beside the number of one.
_MOST_FILES: Final = 1 << 10
_LINE_BITS: Final = 40
_files: list[str] = []
_numbers: dict[str, int] = {}
_lock = threading.Lock()


class _Field:
    """A field of a class that is kept in another form than it is given and taken."""

    def __init__(self, kind: type[Any], name: str) -> None:
        # The place of the field in an object, which the field now asks.
        self.place: Any = vars(kind)[name]
        setattr(kind, name, self)


class AsText(_Field):
    """A field of a class that is a JSON object, which may be given as its UTF-8 and is then read each time it is asked for.

    So gold and results of a hundred thousand instances take half the memory, and most results are written as they came.
    """

    def __get__(self, owner: Any, _: type[Any] | None = None) -> Any:
        if owner is None:
            return self
        kept = self.place.__get__(owner)
        return _decoder()(kept) if isinstance(kept, bytes) else kept

    def __set__(self, owner: Any, value: Mapping[str, Any] | bytes) -> None:
        self.place.__set__(owner, value)


@cache
def _decoder() -> Callable[[bytes], Any]:
    from msgspec.json import Decoder

    return Decoder().decode


class AsPlace(_Field):
    """A field that is a text, of which `file:line` is kept as one number: a third of the room."""

    def __get__(self, owner: Any, _: type[Any] | None = None) -> Any:
        if owner is None:
            return self
        kept = self.place.__get__(owner)
        return kept if isinstance(kept, str) else f"{_files[kept >> _LINE_BITS]}:{kept & (1 << _LINE_BITS) - 1}"

    def __set__(self, owner: Any, value: str) -> None:
        self.place.__set__(owner, _numbered(value))


# What stands on one line is made one after the other, and has one number together.
@lru_cache(maxsize=4)
def _numbered(place: str) -> str | int:
    """The number of a place, which gives back the very text; a text that is no such place stays."""
    file, _, line = place.rpartition(":")
    if not (file and line.isdecimal() and line.isascii() and len(line) < 12 and line[0] != "0"):
        return place
    if file not in _numbers:
        with _lock:
            if len(_files) == _MOST_FILES:
                return place
            _files.append(file)
            _numbers[file] = len(_files) - 1
    return _numbers[file] << _LINE_BITS | int(line)


Rule = Literal["official", "strict"]
Status = Literal["scored", "missing", "submission_fault", "gold_fault", "scorer_fault", "timeout", "crashed", "unscored"]
Reads = Literal["text", "number", "table", "tables", "database", "tree", "batch", "query"]

RULES: tuple[Rule, ...] = ("official", "strict")
# Evaluators of pairs of queries: layouts of gold, and names of rules under which the official verdict is theirs.
EVALUATORS = ("bird-ex", "test-suite")
# The type of a column whose cells are what SQLite has: None, whole numbers of 64 bits, floats, texts and bytes, mixed.
SQLITE_CELLS = "SQLITE"
# The file whose presence makes a folder a submission.
METADATA = "results_metadata.jsonl"
# What is read in its place where nothing else begins with the same name.
METADATA_ARRAY = "results_metadata.json"
# The one key of what stands in an answer for a record that could not be read: {"line", "cause"}, and "repaired" where it can be mended.
BROKEN_RECORD = "x-eval-broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A coded reason why something could not be scored; `code` is a key of `errors.FAULTS`.

    `side` says whose fault this one is where that is not the side of its code: `setup` where the machine reached a limit, not the answer.
    """

    code: str
    detail: str = ""
    where: str = ""
    side: Literal["", "setup"] = ""

    def to_json(self) -> dict[str, str]:
        """The value of a `strict_fault` in JSON."""
        return {"code": self.code, "detail": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something wrong with one check of gold, and under which rules it keeps the check from being judged.

    `blocks` empty means a warning only.
    """

    code: str
    message: str
    hint: str = ""
    where: str = ""
    blocks: frozenset[Rule] = frozenset(RULES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as a reader hands it over: n_columns sequences of n_rows cells each.

    From CSV (`types` is None) every cell is the text that stood in the file, or None where a short row had no field; typing happens in
    `tables/`. From a database `types` names each column's type and cells are native Python values, None for NULL.
    `ragged_line` is the first line (1-based) whose number of fields differs upward from the header, or None.
    `is_view`: it is what a view over tables of the same database gives.
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
    """What a scorer returns: the value under both rules and why.

    `official` and `strict` lie in [0, 1], or are None where that rule cannot judge; `fault` and `strict_fault` say why, or
    name the submission's fault behind a 0. `reason` belongs to the
    official verdict, `strict_reason` to the strict one (empty: the same). `flip` names the cause where the two differ. `details` is
    JSON-safe.
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
        """The value under `rule`: a number in [0, 1], or None where that rule cannot judge."""
        return self.official if rule == "official" else self.strict

    def fault_under(self, rule: Rule = "official") -> Fault | None:
        """The fault behind the verdict under `rule`, None for a plain verdict."""
        return self.fault if rule == "official" else self.strict_fault

    def why(self, rule: Rule = "official") -> str:
        """The one-sentence reason of the verdict under `rule`."""
        return self.strict_reason or self.reason if rule == "strict" else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One scorer with its parameters for one instance: an entry of gold's `evaluation`.

    `computed` is the folder of its gold where a query gave it in this run, in place of gold's own folder. One that stands `beside` the
    score is of a further scorer of the suite: it fills that scorer's column, and moves no score.
    """

    scorer: str
    parameters: Mapping[str, Any]
    where: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    computed: Path | None = None
    beside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldInstance:
    """One question of the suite: its checks, the extra top-level keys gold gives it, and its groups.

    `asked` is what a file of questions says of it: `db`, `question`, and the `engine` of its database.
    """

    instance_id: str
    checks: tuple[Check, ...]
    where: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_checks(self) -> tuple[Check, ...]:
        """The checks that make the score: without those of the suite's further scorers."""
        return tuple(check for check in self.checks if not check.beside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """What `suite.yaml` says of a gold folder; every field has a default, so the file is optional."""

    name: str
    description: str = ""
    rules: Rule | None = None
    limits: Mapping[str, int | float] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group_prefixes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fail_under: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """A gold folder, read: n instances in file order, its suite, and notes on how the files had to be read.

    `layout` is the name of how the folder is laid out, a key of `readers.layouts.LAYOUTS`.
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
    """One line of a submission. `value` is text for `answer`, a relative path for `file`, several for `files`, one of SQL text for `sql`.

    `unread` names the keys of the line that were not read.
    """

    instance_id: str
    answer_type: str
    value: str | tuple[str, ...]
    where: str = ""
    fault: Fault | None = None
    unread: tuple[str, ...] = ()

    @property
    def is_query(self) -> bool:
        """Whether it is SQL: its type says so, or it is a file whose name ends in .sql."""
        return self.answer_type == "sql" or (self.answer_type == "file" and str(self.value).lower().endswith(".sql"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A submission folder, read: answers by instance id, and notes (bad lines, unknown keys).

    No file of it above `limit_bytes` is ever read, not even to hash it: a file can say that it holds a terabyte. `digest` is the SHA-256
    of the metadata file whose lines these answers are, None where they do not come from one; `metadata` is its name, empty where databases
    alone lay there. Where it was read for a gold, answers to ids
    that gold lacks are not among `answers`: there are `n_unknown` of them, the first few with their place and id in `unknown`.
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
    """All a worker needs to score one instance; nothing is opened yet. `executed` is where the table lies that an SQL answer gave.

    `allow_programs` says that an answer that is a program may be run. `databases` are the files that an answer which is a query runs on.
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
    """The outcome of one instance: one line of `results.jsonl`, in this order of keys.

    `score` follows the run's rules. Numbers are 0 for missing, submission_fault, timeout and crashed, and None where nobody can judge.
    `strict_fault`, which most lines lack, says why there is no strict verdict where it took too long (TIMEOUT).
    `digests`, which finished runs do not keep, says what was read of each file that was opened, as `AnswerFiles.digests` has it.
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
        """What stands in `details` under a key, None where nothing does. Of a text that does not hold the word nothing is read."""
        text = self.details_text
        return self.details.get(key) if text is None or b'"%b"' % key.encode() in text else None

    def with_detail(self, key: str, value: Any) -> "Result":
        """The same with this in its `details`, in the place of what stood there; what is kept as text, and lacks the word, stays text."""
        text = self.details_text
        if text is None or b'"%b"' % key.encode() in text:
            return replace(self, details={**self.details, key: value})
        more = json.dumps({key: value}).encode()
        return replace(self, details=more if text == b"{}" else text[:-1] + b", " + more[1:])  # type: ignore[arg-type]

    @property
    def details_text(self) -> bytes | None:
        """The JSON text of `details`, None where they are held as an object."""
        kept = _DETAILS.place.__get__(self)
        return kept if isinstance(kept, bytes) else None


_DETAILS = AsText(Result, "details")
AsText(Check, "parameters")
for _kind in (Check, GoldInstance, Answer):
    AsPlace(_kind, "where")
