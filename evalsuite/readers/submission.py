"""Read a submission folder: the answers of `results_metadata.jsonl`, each checked, none trusted.

Exactly three keys are read. A note names all others (such as its own `evaluation` or `score`), and they are never used. A small submission
is a dict by instance id, a very large one a sorted index over joined text.
"""

import codecs
import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, ValuesView
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, Final

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import FAULTS, FaultError, SubmissionError, count_words, describe, did_you_mean, join_names, machine_error
from evalsuite.core.import_ref import np
from evalsuite.core.types import METADATA, METADATA_ARRAY, Answer, Fault, Submission
from evalsuite.readers.json_text import Block, Entry, Layout, Number, Obj, PlainLines, line_of, quote_value, read_array, read_objects
from evalsuite.readers.json_text import place as _where
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import (
    SPEC_PATTERN,
    FileDigest,
    metadata_like,
    metadata_name,
    open_confined,
    open_digesting,
    relative_to_instance,
    why_no_folder,
)

# From this many answers on, a dict would take half a kilobyte each.
COMPACT_FROM: Final = 50_000
SHOWN_LINES: Final = 5
MOST_SHOWN_OF_ID: Final = 200

MarkDuplicate = Callable[[Answer, list[int]], Answer]


@dataclass(slots=True)
class AnswerList:
    """Answers that were read one by one, with their lines."""

    answers: list[Answer] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.answers)

    def instance_id(self, at: int) -> str:
        """The id of one answer."""
        return self.answers[at].instance_id

    def line(self, at: int) -> int:
        """The line of one answer, from 1."""
        return self.lines[at]

    def answer(self, at: int) -> Answer:
        """One answer."""
        return self.answers[at]


class AnswerCollector:
    """The answers read so far, in file order."""

    def __init__(self) -> None:
        self._segments: list[Block | AnswerList] = []
        self._hashes = array("q")

    def add(self, answer: Answer, line: int) -> None:
        """Add one answer."""
        if not self._segments or not isinstance(self._segments[-1], AnswerList):
            self._segments.append(AnswerList())
        last = self._segments[-1]
        assert isinstance(last, AnswerList)
        last.answers.append(answer)
        last.lines.append(line)
        self._hashes.append(hash(answer.instance_id))

    def add_block(self, block: Block) -> None:
        """Add a block of answers."""
        self._segments.append(block)
        self._hashes.extend(block.hashes)

    def answers(self, mark: MarkDuplicate, *, compact_from: int = COMPACT_FROM) -> Mapping[str, Answer]:
        """One answer per id in file order; for a repeated id the first, marked with all lines."""
        if len(self._hashes) >= compact_from:
            return CompactAnswers(self._segments, self._hashes, mark)
        answers: dict[str, Answer] = {}
        lines: dict[str, list[int]] = {}
        for segment in self._segments:
            for at in range(len(segment)):
                answer = segment.answer(at)
                answers.setdefault(answer.instance_id, answer)
                lines.setdefault(answer.instance_id, []).append(segment.line(at))
        for name, line_numbers in lines.items():
            if len(line_numbers) > 1:
                answers[name] = mark(answers[name], line_numbers)
        return answers


class GoldAnswerCollector:
    """The answers read so far to gold's ids; of others only their number and the lines of the first few are kept."""

    def __init__(self, ids: Collection[str], *, most_shown: int) -> None:
        self._ids, self._most_shown = frozenset(ids), most_shown
        self._answers: dict[str, Answer] = {}
        self._lines: dict[str, list[int]] = {}
        self.n_unknown = 0
        self.unknown: list[tuple[str, str]] = []

    def add(self, answer: Answer, line: int) -> None:
        """Add one answer."""
        name = answer.instance_id
        if name not in self._ids:
            self.n_unknown += 1
            if len(self.unknown) < self._most_shown:
                self.unknown.append((answer.where, name[:MOST_SHOWN_OF_ID]))
        else:
            self._keep(answer, line)

    def _keep(self, answer: Answer, line: int) -> None:
        if answer.instance_id not in self._answers:
            self._answers[answer.instance_id] = answer
            return
        # Only as many lines are kept as are shown, plus one that shows that there are more.
        lines = self._lines.setdefault(answer.instance_id, [])
        if len(lines) < SHOWN_LINES:
            lines.append(line)

    def add_block(self, block: Block) -> None:
        """Add a block of answers."""
        for at in range(len(block)):
            if block.instance_id(at) in self._ids or len(self.unknown) < self._most_shown:
                self.add(block.answer(at), block.line(at))
            else:
                self.n_unknown += 1

    def answers(self, mark: MarkDuplicate) -> Mapping[str, Answer]:
        """One answer per id in file order; for a repeated id the first, marked with all lines."""
        for name, later in self._lines.items():
            self._answers[name] = mark(self._answers[name], [line_of(self._answers[name].where), *later])
        return self._answers


class SampleCollector(GoldAnswerCollector):
    """One sample of several: for each id the `sample`-th line, from 1; an id with more than `n_samples` lines is marked with them."""

    def __init__(self, ids: Collection[str], sample: int, n_samples: int, *, most_shown: int) -> None:
        super().__init__(ids, most_shown=most_shown)
        self._sample, self._n_samples = sample, n_samples

    def _keep(self, answer: Answer, line: int) -> None:
        name = answer.instance_id
        lines = self._lines.setdefault(name, [])
        if len(lines) <= self._n_samples:
            lines.append(line)
        if len(lines) == self._sample or name not in self._answers:
            self._answers[name] = answer

    def answers(self, mark: MarkDuplicate) -> Mapping[str, Answer]:
        """The answers of this sample in file order: without the ids that have fewer, and those with too many marked."""
        answers = {name: answer for name, answer in self._answers.items() if len(self._lines[name]) >= self._sample}
        too_many = {name: mark(answer, self._lines[name]) for name, answer in answers.items() if len(self._lines[name]) > self._n_samples}
        return answers | too_many

    def unequal(self) -> Iterator[tuple[int, str, int]]:
        """(last line, id, number of lines) of each id whose number of lines differs from the number of samples, in file order; at most
        one too many.
        """
        for name, lines in self._lines.items():
            if len(lines) != self._n_samples:
                yield lines[-1], name[:MOST_SHOWN_OF_ID], len(lines)


class CompactAnswers(Mapping[str, Answer]):
    """A mapping that creates each answer on access: some 20 bytes each in addition to their text.

    A sorted array of hashes finds an id; comparing the ids themselves separates equal hashes.
    """

    def __init__(self, segments: Sequence[Block | AnswerList], hashes: "array[int]", mark: MarkDuplicate) -> None:
        self._segments = segments
        self._starts: list[int] = []
        n = 0
        for segment in segments:
            self._starts.append(n)
            n += len(segment)
        # Sorted, with the original position of each one; equal ones by position.
        values = np.frombuffer(hashes, dtype=np.int64)
        order = np.argsort(values, kind="stable").astype(np.uint32)
        self._hashes, self._order = array("q", values[order].tobytes()), array("I", order.tobytes())
        self._later: set[int] = set()
        self._marked: dict[str, Answer] = {}
        self._find_duplicates(mark)
        self._n = n - len(self._later)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, name: object) -> Answer:
        key = hash(name)
        at = bisect_left(self._hashes, key)
        while at < len(self._hashes) and self._hashes[at] == key:
            segment, inner = self._place(self._order[at])
            if segment.instance_id(inner) == name:
                return self._marked.get(str(name)) or segment.answer(inner)
            at += 1
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (segment.instance_id(at) for segment, at in self._kept_answers())

    def values(self) -> ValuesView[Answer]:
        """The answers in file order."""
        return _Values(self)

    def in_order(self) -> Iterator[Answer]:
        """The answers in file order, without looking each one up."""
        for segment, at in self._kept_answers():
            answer = segment.answer(at)
            yield self._marked.get(answer.instance_id, answer) if self._marked else answer

    def __reduce__(self) -> tuple[type[dict[str, Answer]], tuple[Any]]:
        # Hashes of texts differ from process to process.
        return dict, (dict(zip(self, self.in_order(), strict=True)),)

    def _kept_answers(self) -> Iterator[tuple[Block | AnswerList, int]]:
        for start, segment in zip(self._starts, self._segments, strict=True):
            for at in range(len(segment)):
                if start + at not in self._later:
                    yield segment, at

    def _place(self, position: int) -> tuple[Block | AnswerList, int]:
        at = bisect_right(self._starts, position) - 1
        return self._segments[at], position - self._starts[at]

    def _find_duplicates(self, mark: MarkDuplicate) -> None:
        """Find duplicate ids among neighbours with the same hash."""
        for first, last in _runs(self._hashes):
            by_id: dict[str, list[int]] = {}
            for position in self._order[first:last]:
                segment, at = self._place(position)
                by_id.setdefault(segment.instance_id(at), []).append(position)
            for name, positions in by_id.items():
                if len(positions) > 1:
                    places = [self._place(position) for position in positions]
                    self._marked[name] = mark(places[0][0].answer(places[0][1]), [segment.line(at) for segment, at in places])
                    self._later.update(positions[1:])


class _Values(ValuesView[Answer]):
    """The values of `CompactAnswers`."""

    def __init__(self, answers: CompactAnswers) -> None:
        super().__init__(answers)
        self._answers = answers

    def __iter__(self) -> Iterator[Answer]:
        return self._answers.in_order()


def _runs(hashes: "array[int]") -> Iterator[tuple[int, int]]:
    """(first, last + 1) of each run of equal hashes of at least two."""
    values = np.frombuffer(hashes, dtype=np.int64)
    equal = np.flatnonzero(values[1:] == values[:-1])
    last = -1
    for at in equal.tolist():
        if at >= last:
            first, last = at, at + 2
            while last < len(hashes) and hashes[last] == hashes[first]:
                last += 1
            yield first, last


KEYS = ("instance_id", "answer_type", "answer_or_path")
ANSWER_TYPES = ("answer", "file", "files")
_SHOWN_KEYS = 5
_BLOCK = 1 << 16


def read_metadata(
    folder: Path, limits: Limits = DEFAULT_LIMITS, ids: Collection[str] | None = None, *, sample: tuple[int, int] | None = None
) -> Submission:
    """The submission that results_metadata.jsonl describes; of answers to other `ids` (None: there are none) only their number.

    `sample` (i, k): k lines of one id are k samples of its answer, and the submission is the i-th of them; it needs `ids`.

    Raises SubmissionError like `read_submission`.
    """
    seen, name = FileDigest(), metadata_name(folder)
    with open_digesting(_open(folder, limits, name), seen) as handle:
        submission = _MetadataReader(folder, limits, ids, sample).read(handle, is_array=name == METADATA_ARRAY)
    # A file that changed while it was read gets a unique hash: no two of them are taken for the same.
    submission = replace(submission, digest=seen.digest or os.urandom(32).hex())
    return submission if name == METADATA else _with_metadata_name(submission, name)


def _with_metadata_name(submission: Submission, name: str) -> Submission:
    """The submission of a metadata file of another name. Raises `SubmissionError` if nothing in it is an answer."""
    folder = submission.folder
    if submission.n_objects and not (submission.answers or submission.n_unknown):
        raise SubmissionError(f"{folder.name}/{name}: no object in it has an instance_id", hint=f"write {METADATA}: one object per line")

    def rename(where: str) -> str:
        return where.replace(METADATA, name, 1)

    def rename_answer(answer: Answer) -> Answer:
        fault = answer.fault and replace(answer.fault, where=rename(answer.fault.where), detail=rename(answer.fault.detail))
        return replace(answer, where=rename(answer.where), fault=fault)

    return replace(
        submission,
        metadata=name,
        answers={id_: rename_answer(answer) for id_, answer in submission.answers.items()},
        unknown=tuple((rename(where), id_) for where, id_ in submission.unknown),
        notes=(f"{name} is read as {METADATA}, one object per line", *map(rename, submission.notes)),
    )


def _open(folder: Path, limits: Limits, name: str) -> BinaryIO:
    """The open metadata file."""
    if why := why_no_folder(folder, "submission folder"):
        other = f"; to run a file of answers against a suite: `evalsuite suite run SUITE --from {folder}`"
        raise SubmissionError(f"{folder}: {why}", hint=f"give the folder that contains {METADATA}{other if why == 'not a folder' else ''}")
    try:
        handle = open_confined(folder, name, limit_bytes=limits["metadata_bytes"])
    except FaultError as error:
        if not os.path.lexists(folder / name):
            raise no_metadata(folder, f" ({error.fault.code})") from None
        if error.is_of_machine:
            raise machine_error(f"{folder.name}/{name}", error.fault) from None
        raise _unreadable(folder, name, error.fault) from None
    if handle.read(2) in (b"\xff\xfe", b"\xfe\xff"):
        handle.close()
        raise _unreadable(folder, name, Fault(code="BAD_ENCODING", detail="the text is UTF-16, not UTF-8"))
    return handle


def _unreadable(folder: Path, name: str, fault: Fault) -> SubmissionError:
    hint = FAULTS[fault.code].hint
    if fault.code == "MISSING_FILE":
        hint = f"{name} must be a file that you may read"
    elif fault.code == "TOO_LARGE":
        hint = "raise the limit metadata_bytes"
    elif fault.code == "BAD_PATH":
        hint = f"{name} must be a regular file, not a link"
    return SubmissionError(f"{folder.name}/{name}: {describe(fault)}", hint=hint)


def no_metadata(folder: Path, why: str = "") -> SubmissionError:
    """The error of a folder without metadata, which names what it contains instead."""
    if like := metadata_like(folder):
        return SubmissionError(f"{folder}: found {join_names(like)}, expected {METADATA}", hint=f"name the file of answers {METADATA}")
    return SubmissionError(f"no {METADATA} in {folder}{why}", hint=what_there_is(folder, f"{METADATA} and one folder per instance"))


def what_there_is(folder: Path, expected: str) -> str:
    """A hint for a folder that is not a submission: it is gold, it contains submissions or is part of one, or else its content."""
    names = sorted(item.name for item in folder.iterdir())
    if any(fnmatchcase(name, SPEC_PATTERN) for name in names):
        return f"{folder} contains {SPEC_PATTERN}, so it is gold: name the folder of answers instead"
    near = [folder / name for name in names if metadata_like(folder / name)]
    if folder.name not in ("", "..") and metadata_like(folder.parent):
        near.append(folder.parent)
    if near:
        return f"did you mean {' or '.join(repr(str(place)) for place in near[:3])}?"
    return f"a submission is a folder with {expected}; this one contains {join_names(names) or 'nothing'}"


class _MetadataReader:
    """The state of one pass over a metadata file."""

    def __init__(self, folder: Path, limits: Limits, ids: Collection[str] | None, sample: tuple[int, int] | None) -> None:
        self.folder = folder
        self.limits = limits
        self.n_samples = sample[1] if sample is not None else 1
        most_shown = int(limits["notes"])
        self.collected: AnswerCollector | GoldAnswerCollector
        if sample is not None:
            self.collected = SampleCollector(ids or (), *sample, most_shown=most_shown)
        else:
            self.collected = AnswerCollector() if ids is None else GoldAnswerCollector(ids, most_shown=most_shown)
        self.notes: list[str] = []
        self.n_more_notes = 0
        self.unknown_keys: dict[str, list[int]] = {}
        self.n_objects = 0

    def read(self, handle: BinaryIO, *, is_array: bool) -> Submission:
        """The submission of an open metadata file; for one that may be an array, the layout of its objects is not a note."""
        layout = Layout()
        for entry in self._entries(handle, layout, is_array=is_array):
            if isinstance(entry, Block):
                self.n_objects += len(entry)
                self.collected.add_block(entry)
            else:
                self.n_objects += 1
                self._take(entry)
        for text, line in () if is_array else layout.notes.items():
            self._note(line, text)
        for key, (line, count) in self.unknown_keys.items():
            near = did_you_mean(key.strip("'"), KEYS)
            meant = f"; {near}" if near.startswith("did") else ""
            self._note(line, f"key {key} is not read ({count} {'entry' if count == 1 else 'entries'}){meant}")
        if isinstance(self.collected, SampleCollector):
            for line, name, n in self.collected.unequal():
                few = f"{n} of {self.n_samples} samples: missing ones count as wrong"
                many = f"more than {self.n_samples} samples: all of them count as wrong"
                self._note(line, f"{quote_value(name)} has {few if n < self.n_samples else many}")
        if self.n_more_notes:
            self.notes.append(f"{METADATA}: {count_words(self.n_more_notes, 'more note')} not shown")
        gold_answers = self.collected if isinstance(self.collected, GoldAnswerCollector) else None
        return Submission(
            folder=self.folder,
            answers=self.collected.answers(_duplicate),
            n_unknown=gold_answers.n_unknown if gold_answers is not None else 0,
            unknown=tuple(gold_answers.unknown) if gold_answers is not None else (),
            notes=tuple(self.notes),
            n_objects=self.n_objects,
            limit_bytes=self.limits["file_bytes"],
        )

    def _entries(self, handle: BinaryIO, layout: Layout, *, is_array: bool) -> Iterator[Entry | Block]:
        if is_array and _begins_with_bracket(handle):
            try:
                yield from read_array(handle.read().decode("utf-8-sig"), limits=self.limits, numbers="text", layout=layout)
            except UnicodeDecodeError as error:
                fault = Fault(code="BAD_ENCODING", detail=f"byte {error.start + 1} is not UTF-8")
                raise _unreadable(self.folder, METADATA_ARRAY, fault) from None
            return
        yield from read_objects(handle, limits=self.limits, numbers="text", layout=layout, plain=PlainLines(self.limits))

    def _take(self, entry: Entry) -> None:
        """Keep one entry as an answer, or as a note if it has no usable id."""
        if entry.value is None:
            id_: Any = entry.instance_id
            assert entry.fault is not None
            code = "BAD_METADATA" if entry.fault.code == "BAD_JSON" else entry.fault.code
            fault = Fault(code=code, detail=f"{entry.fault.detail}; {entry.hint}" if entry.hint else entry.fault.detail)
            self._note(entry.line, describe(fault))
            if not id_:
                return
            fault = replace(fault, where=_where(entry.line))
            self.collected.add(Answer(instance_id=id_, answer_type="", value="", where=_where(entry.line), fault=fault), entry.line)
            return
        self._note_keys(entry.value, entry.line)
        if isinstance(entry.value.get("answer_type"), list) and _kind(entry.value) in ANSWER_TYPES:
            self._note(entry.line, "answer_type is a list of one, read as its item")
        id_ = entry.value.get("instance_id")
        if not isinstance(id_, str) or isinstance(id_, Number) or not id_:
            problem = "instance_id is missing" if "instance_id" not in entry.value else "instance_id must be a non-empty text"
            self._note(entry.line, f"BAD_METADATA: {problem}")
            return
        unread = tuple(quote_value(key) for key in entry.value if key not in KEYS)[:_SHOWN_KEYS]
        answer = read_answer(id_, entry.value, where=_where(entry.line), limits=self.limits)
        self.collected.add(replace(answer, value=self._value(answer), unread=unread), entry.line)

    def _value(self, answer: Answer) -> str | tuple[str, ...]:
        """The value of an answer, absolute paths into its own folder as relative ones."""
        if isinstance(answer.value, tuple):
            return tuple(relative_to_instance(self.folder, answer.instance_id, path) for path in answer.value)
        return relative_to_instance(self.folder, answer.instance_id, answer.value) if answer.answer_type == "file" else answer.value

    def _note_keys(self, value: Obj, line: int) -> None:
        for key in value:
            if key in KEYS:
                continue
            name = quote_value(key)
            if name in self.unknown_keys:
                self.unknown_keys[name][1] += 1
            elif len(self.unknown_keys) < self.limits["notes"]:
                self.unknown_keys[name] = [line, 1]

    def _note(self, line: int, text: str) -> None:
        if len(self.notes) < self.limits["notes"]:
            self.notes.append(f"{_where(line)}: {text}")
        else:
            self.n_more_notes += 1


def _begins_with_bracket(handle: BinaryIO) -> bool:
    """Whether the first character of an open file that is not blank opens an array; the file is rewound."""
    while (block := handle.read(_BLOCK)) and not block.removeprefix(codecs.BOM_UTF8).strip():
        pass
    handle.seek(0)
    return block.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"["


def read_answer(instance_id: str, entry: Obj, *, where: str, limits: Limits) -> Answer:
    """The answer of an entry for an instance, or one with the fault that prevents its use."""
    kind, paths = _kind(entry), entry.get("answer_or_path")
    problem = _type_problem(entry, kind) or _value_problem(kind, entry)
    fault = Fault(code="BAD_METADATA", detail=problem, where=where) if problem else None
    if fault is not None:
        return Answer(instance_id=instance_id, answer_type=str(kind) if kind in ANSWER_TYPES else "", value="", where=where, fault=fault)
    value = tuple(str(path) for path in paths) if isinstance(paths, list) else str(paths)
    if isinstance(value, tuple) and len(value) > limits["files"]:
        detail = f"the answer names {len(value)} files, the limit files is {int(limits['files'])}"
        return Answer(
            instance_id=instance_id, answer_type=str(kind), value="", where=where, fault=Fault(code="LIMIT", detail=detail, where=where)
        )
    size = len("".join(value).encode("utf-8", "surrogatepass"))
    if size > limits["answer_bytes"]:
        detail = f"the answer has {size} bytes, the limit answer_bytes is {int(limits['answer_bytes'])}"
        fault, value = Fault(code="TOO_LARGE", detail=detail, where=where), ""
    return Answer(instance_id=instance_id, answer_type=str(kind), value=value, where=where, fault=fault)


def _kind(entry: Obj) -> Any:
    """The answer_type of an entry; of a list of one (the form that the reference's README shows) its item."""
    kind = entry.get("answer_type")
    return kind[0] if isinstance(kind, list) and len(kind) == 1 else kind


def _type_problem(entry: Obj, kind: Any) -> str:
    """The error in an entry's answer_type, or an empty text."""
    if "answer_type" not in entry:
        return "the key 'answer_type' is missing"
    if isinstance(kind, str) and not isinstance(kind, Number):
        return "" if kind in ANSWER_TYPES else f"answer_type must be answer, file or files, found {quote_value(kind)}"
    return f"answer_type must be answer, file or files, found {_json_word(kind)}"


def _value_problem(kind: Any, entry: Obj) -> str:
    """The error in an entry's answer_or_path for its type, or an empty text."""
    if "answer_or_path" not in entry:
        return "the key 'answer_or_path' is missing"
    value = entry["answer_or_path"]
    if kind == "files":
        good = isinstance(value, list) and bool(value) and all(_is_text(path) for path in value)
        return "" if good else f"answer_or_path must be a list of paths for 'files', found {_json_word(value)}"
    if kind == "file":
        return "" if _is_text(value) else f"answer_or_path must be a path for 'file', found {_json_word(value)}"
    return "" if isinstance(value, str) else f"answer_or_path must be a text for 'answer', found {_json_word(value)}"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)


def _json_word(value: object) -> str:
    """A JSON value's kind in plain words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Number):
        return "a number"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "an object" if isinstance(value, dict) else "a text"


def _duplicate(answer: Answer, lines: list[int]) -> Answer:
    """The one answer of an id that was submitted several times."""
    shown_lines = [str(line) for line in lines[:SHOWN_LINES]]
    line_words = " and ".join(filter(None, [", ".join(shown_lines[:-1]), shown_lines[-1]]))
    if len(lines) > SHOWN_LINES:
        line_words += " and more"
    return replace(answer, fault=Fault(code="DUPLICATE_ID", detail=f"the instance is on lines {line_words}", where=answer.where))
