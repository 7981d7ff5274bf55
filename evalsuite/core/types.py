"""Types of a run: gold and submission as dataclasses; what travels between processes as msgspec Structs, which copy and pickle fast.

Values are validated once, in `readers/`, where file and line are known, and trusted afterwards. Some fields are stored in a compact form,
because gold, answers and results of 100,000 instances are in memory at once.
"""

import json
import zlib
from collections.abc import Callable, Collection, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.runtime import load_msgspec
from evalsuite.core.scores import (
    BROKEN_RECORD,
    EVALUATORS,
    METADATA,
    METADATA_ARRAY,
    RULES,
    SQLITE_CELLS,
    Fault,
    Problem,
    Reads,
    Rule,
    Score,
    Status,
    Table,
)

load_msgspec()
from msgspec import Struct  # noqa: E402 - imported without what it does not need

__all__ = [
    "BROKEN_RECORD", "EVALUATORS", "METADATA", "METADATA_ARRAY", "PLACES", "RULES", "SQLITE_CELLS", "Answer", "Check", "Fault", "Gold",
    "GoldInstance", "Problem", "Reads", "Result", "Rule", "Score", "Status", "Submission", "Suite", "Table", "Task",
]  # fmt: skip

# Files by the number that stands for their name, and how many may have one.
PLACES: Final[dict[int, str]] = {}
_MAX_FILES: Final = 1 << 10
_LINE_BITS: Final = 40


class _CompactField:
    """A field of a Struct that is read in another form than it is stored."""

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
        stored = self.place.__get__(owner)
        return _decoder()(stored) if isinstance(stored, bytes) else stored


@cache
def _decoder() -> Callable[[bytes], Any]:
    from msgspec.json import Decoder

    return Decoder().decode


class PlaceField(_CompactField):
    """A text field that stores `file:line` as one number, in a third of the memory. `PLACES` has the names of the files."""

    def __get__(self, owner: Any, _: type[Any] | None = None) -> Any:
        if owner is None:
            return self
        stored = self.place.__get__(owner)
        return stored if isinstance(stored, str) else f"{PLACES[stored >> _LINE_BITS]}:{stored & (1 << _LINE_BITS) - 1}"

    def compact(self, owner: Any) -> None:
        """Store the number of a new object's text."""
        self.place.__set__(owner, _line_number(self.place.__get__(owner)))


# Objects of the same line are created one after the other, so a small cache is enough.
@lru_cache(maxsize=4)
def _line_number(place: str | int) -> str | int:
    """Return the number of a `file:line` text; any other value is returned unchanged."""
    if isinstance(place, int):
        return place
    file, _, line = place.rpartition(":")
    if not (file and line.isdecimal() and line.isascii() and len(line) < 12 and line[0] != "0"):
        return place
    number = _file_number(file)
    return place if number is None else number << _LINE_BITS | int(line)


@lru_cache(maxsize=_MAX_FILES)
def _file_number(file: str) -> int | None:
    """Return the number of a file, the same in each process; None if another file has it or too many have one."""
    number = zlib.crc32(file.encode("utf-8", "surrogatepass"))
    is_full = len(PLACES) >= _MAX_FILES and number not in PLACES
    return None if is_full or PLACES.setdefault(number, file) != file else number


class Message(Struct, frozen=True, gc=False):
    """A record that travels between processes. Equal are records of equal values, whatever form they are stored in."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __repr__(self) -> str:
        values = zip(self.__struct_fields__, _values(self), strict=True)
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in values)})"


def _values(message: Any) -> tuple[Any, ...]:
    return tuple([getattr(message, name) for name in message.__struct_fields__])


class Check(Message, frozen=True, kw_only=True):
    """One scorer with its parameters for one instance: an entry of gold's `evaluation`.

    `computed` is the folder that replaces gold's own if a query computed the gold of this run. `is_further` marks a further scorer of the
    suite: it fills that scorer's column and does not change the score.
    """

    scorer: str
    parameters: Mapping[str, Any]
    where: str = ""
    extra: Mapping[str, Any] = {}
    problems: tuple[Problem, ...] = ()
    computed: Path | None = None
    is_further: bool = False

    def __post_init__(self) -> None:
        _CHECK_PLACE.compact(self)

    @property
    def golds(self) -> list[Any]:
        """Its gold as a list: that of its parameters, or the one."""
        gold = self.parameters.get("gold")
        return gold if isinstance(gold, list) else [gold]

    @property
    def gold_names(self) -> list[str]:
        """The texts among its gold: the names of files, for a scorer that reads gold from files."""
        return [name for name in self.golds if isinstance(name, str)]


class GoldInstance(Message, frozen=True, kw_only=True):
    """One question of the suite: its checks, further top-level keys of gold, and its groups.

    `question_entry` is its entry in a file of questions: `db`, `question`, and the `engine` of its database.
    """

    instance_id: str
    checks: tuple[Check, ...]
    where: str = ""
    extra: Mapping[str, Any] = {}
    groups: tuple[str, ...] = ()
    question_entry: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        _GOLDINSTANCE_PLACE.compact(self)

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
    # Length of a prefix (-1: whole ids) -> text -> (place in the file, tag) of its groups: a search of all groups for each id is quadratic.
    _groups_of_text: dict[int, dict[str, list[tuple[int, str]]]] = field(init=False, default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for place, (tag, ids) in enumerate(self.groups.items()):
            for length, text in (*((-1, id_) for id_ in ids), *((len(text), text) for text in self.group_prefixes.get(tag, ()))):
                self._groups_of_text.setdefault(length, {}).setdefault(text, []).append((place, tag))

    def groups_of(self, instance_id: str) -> tuple[str, ...]:
        """Return the groups of an instance, by id or by prefix, in the order of the file."""
        found = [
            group
            for length, groups in self._groups_of_text.items()
            for group in groups.get(instance_id if length < 0 else instance_id[:length], ())
        ]
        return tuple([tag for _, tag in sorted(set(found))])


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


class Answer(Message, frozen=True, kw_only=True):
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

    def __post_init__(self) -> None:
        _ANSWER_PLACE.compact(self)

    @property
    def is_query(self) -> bool:
        """Whether the answer is SQL: by its type, or as a file with a name that ends in .sql."""
        return self.answer_type == "sql" or (self.answer_type == "file" and str(self.value).lower().endswith(".sql"))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it names; none for a text."""
        return () if self.answer_type == "answer" else (self.value,) if isinstance(self.value, str) else tuple(self.value)


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

    @classmethod
    def of_answers(
        cls, folder: Path, answers: Mapping[str, Answer], ids: Collection[str] | None, limits: Mapping[str, int | float], **more: Any
    ) -> "Submission":
        """Return the submission of these answers; those to other `ids` are counted, and some of them named."""
        known = {name: answer for name, answer in answers.items() if ids is None or name in ids}
        unknown = [(answer.where, name) for name, answer in answers.items() if name not in known]
        more |= {"n_unknown": len(unknown), "unknown": tuple(unknown[: int(limits["notes"])])}
        return cls(folder=folder, answers=known, n_objects=len(answers), limit_bytes=limits["file_bytes"], **more)


class Task(Message, frozen=True, kw_only=True):
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
    limits: Mapping[str, int | float] = {}
    executed: Path | None = None
    allow_programs: bool = False
    databases: tuple[str, ...] = ()


class Result(Message, frozen=True, kw_only=True):
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
    details: Mapping[str, Any] = {}
    seconds: float = 0.0
    digests: Mapping[str, str] = {}
    strict_fault: Fault | None = None

    @property
    def is_right(self) -> bool:
        """Whether the instance is judged with the full score."""
        return self.status == "scored" and self.score == 1

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
_CHECK_PLACE, _GOLDINSTANCE_PLACE, _ANSWER_PLACE = (PlaceField(kind, "where") for kind in (Check, GoldInstance, Answer))
