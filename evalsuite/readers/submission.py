"""A submission folder -> `Submission`: the answers of `results_metadata.jsonl`, each checked, none trusted.

Exactly three keys are read. Whatever else a line says (its own `evaluation`, its own `score`) is named in a note and never used.
"""

import codecs
import os
import secrets
from collections.abc import Collection, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO

from evalsuite.errors import FAULTS, FaultError, SubmissionError, describe, listed
from evalsuite.readers.answer_files import Seen, watched
from evalsuite.readers.answer_store import SHOWN_LINES, Collected, KnownAnswers, SampledAnswers
from evalsuite.readers.json_text import Number, Obj, shown
from evalsuite.readers.jsonl import Entry, Layout, read_array, read_objects
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import SPEC_PATTERN, metadata_like, metadata_name, open_confined, own_path, why_no_folder
from evalsuite.readers.plain_lines import Block, PlainLines
from evalsuite.readers.plain_lines import place as _where
from evalsuite.types import METADATA, METADATA_ARRAY, Answer, Fault, Submission

KEYS = ("instance_id", "answer_type", "answer_or_path")
ANSWER_TYPES = ("answer", "file", "files")
_SHOWN_KEYS = 5
_BLOCK = 1 << 16


def read_metadata(
    folder: Path, limits: Limits = DEFAULT_LIMITS, ids: Collection[str] | None = None, *, sample: tuple[int, int] | None = None
) -> Submission:
    """The submission that results_metadata.jsonl describes, of answers to other `ids` (None: there are none) but their number.

    `sample` (i, k): k lines of one id are k samples of its answer, and the submission is the i-th of them; it needs `ids`.

    Raises SubmissionError as `read_submission` does.
    """
    seen, name = Seen(), metadata_name(folder)
    with watched(_open(folder, limits, name), seen) as handle:
        submission = _Reading(folder, limits, ids, sample).read(handle, is_array=name == METADATA_ARRAY)
    # What changed while it was read is like nothing else: no two of them are taken for the same.
    submission = replace(submission, digest=seen.digest or secrets.token_hex())
    return submission if name == METADATA else _renamed(submission, name)


def _renamed(submission: Submission, name: str) -> Submission:
    """The submission of a metadata file of another name. Raises `SubmissionError` where nothing in it is an answer."""
    folder = submission.folder
    if submission.n_objects and not (submission.answers or submission.n_unknown):
        raise SubmissionError(f"{folder.name}/{name}: no object in it has an instance_id", hint=f"write {METADATA}: one object a line")

    def own(where: str) -> str:
        return where.replace(METADATA, name, 1)

    def moved(answer: Answer) -> Answer:
        fault = answer.fault and replace(answer.fault, where=own(answer.fault.where), detail=own(answer.fault.detail))
        return replace(answer, where=own(answer.where), fault=fault)

    return replace(
        submission,
        metadata=name,
        answers={id_: moved(answer) for id_, answer in submission.answers.items()},
        unknown=tuple((own(where), id_) for where, id_ in submission.unknown),
        notes=(f"{name} is read as {METADATA}, each of its objects as a line", *map(own, submission.notes)),
    )


def _open(folder: Path, limits: Limits, name: str) -> BinaryIO:
    """The open metadata file."""
    if why := why_no_folder(folder, "submission folder"):
        other = f"; a file of answers is run against a suite: `evalsuite suite run SUITE --from {folder.name}`"
        raise SubmissionError(f"{folder}: {why}", hint=f"give the folder that holds {METADATA}{other if why == 'not a folder' else ''}")
    try:
        handle = open_confined(folder, name, limit_bytes=limits["metadata_bytes"])
    except FaultError as error:
        if not os.path.lexists(folder / name):
            raise no_metadata(folder, f" ({error.fault.code})") from None
        raise _unreadable(folder, name, error.fault) from None
    if handle.read(2) in (b"\xff\xfe", b"\xfe\xff"):
        handle.close()
        raise _unreadable(folder, name, Fault(code="BAD_ENCODING", detail="the text is UTF-16, not UTF-8"))
    handle.seek(0)
    return handle


def _unreadable(folder: Path, name: str, fault: Fault) -> SubmissionError:
    hint = FAULTS[fault.code].hint
    if fault.code == "MISSING_FILE":
        hint = f"{name} must be a file that you may read"
    elif fault.code == "TOO_LARGE":
        hint = "raise the limit metadata_bytes"
    elif fault.code == "BAD_PATH":
        hint = f"{name} must be a plain file, no link"
    return SubmissionError(f"{folder.name}/{name}: {describe(fault)}", hint=hint)


def no_metadata(folder: Path, why: str = "") -> SubmissionError:
    """The error of a folder without metadata, which names what lies there in its place."""
    if like := metadata_like(folder):
        return SubmissionError(f"{folder}: found {listed(like)}, expected {METADATA}", hint=f"name the file of answers {METADATA}")
    return SubmissionError(f"no {METADATA} in {folder}{why}", hint=_what_there_is(folder))


def _what_there_is(folder: Path) -> str:
    """A hint for a folder that is no submission: gold in its place, the submissions that lie in it, or else its content."""
    names = sorted(item.name for item in folder.iterdir())
    if any(fnmatchcase(name, SPEC_PATTERN) for name in names):
        return f"{folder} holds {SPEC_PATTERN}, so it is gold: name the folder of answers in its place"
    if inner := [name for name in names if metadata_like(folder / name)]:
        return f"did you mean {' or '.join(repr(str(folder / name)) for name in inner[:3])}?"
    return f"a submission is a folder with {METADATA} and one folder an instance; here is {listed(names) or 'nothing'}"


class _Reading:
    """One pass over a metadata file: what is known so far."""

    def __init__(self, folder: Path, limits: Limits, ids: Collection[str] | None, sample: tuple[int, int] | None) -> None:
        self.folder = folder
        self.limits = limits
        self.n_samples = sample[1] if sample is not None else 1
        most_shown = int(limits["notes"])
        self.collected: Collected | KnownAnswers
        if sample is not None:
            self.collected = SampledAnswers(ids or (), *sample, most_shown=most_shown)
        else:
            self.collected = Collected() if ids is None else KnownAnswers(ids, most_shown=most_shown)
        self.notes: list[str] = []
        self.n_more_notes = 0
        self.unknown_keys: dict[str, list[int]] = {}
        self.n_objects = 0

    def read(self, handle: BinaryIO, *, is_array: bool = False) -> Submission:
        """The submission of an open metadata file; of one that may be an array, how its objects are laid out is no note."""
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
            self._note(line, f"key {key} is not read ({count} {'entry' if count == 1 else 'entries'})")
        if isinstance(self.collected, SampledAnswers):
            for line, name, n in self.collected.unequal():
                few = f"{n} of {self.n_samples} samples: what was not handed in counts as wrong"
                many = f"more than {self.n_samples} samples: all of them count as wrong"
                self._note(line, f"{shown(name)} has {few if n < self.n_samples else many}")
        if self.n_more_notes:
            self.notes.append(f"{METADATA}: {self.n_more_notes} more notes are not kept")
        known = self.collected if isinstance(self.collected, KnownAnswers) else None
        return Submission(
            folder=self.folder,
            answers=self.collected.answers(_duplicate),
            n_unknown=known.n_unknown if known is not None else 0,
            unknown=tuple(known.unknown) if known is not None else (),
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
        """Keep one entry as an answer, or as a note where it has no usable id."""
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
            self._note(entry.line, "answer_type is a list of one, read as what is in it")
        id_ = entry.value.get("instance_id")
        if not isinstance(id_, str) or isinstance(id_, Number) or not id_:
            problem = "instance_id is missing" if "instance_id" not in entry.value else "instance_id must be a text that is not empty"
            self._note(entry.line, f"BAD_METADATA: {problem}")
            return
        unread = tuple(shown(key) for key in entry.value if key not in KEYS)[:_SHOWN_KEYS]
        answer = read_answer(id_, entry.value, where=_where(entry.line), limits=self.limits)
        self.collected.add(replace(answer, value=self._value(answer), unread=unread), entry.line)

    def _value(self, answer: Answer) -> str | tuple[str, ...]:
        """What an answer names, absolute paths into its own folder as relative ones."""
        if isinstance(answer.value, tuple):
            return tuple(own_path(self.folder, answer.instance_id, path) for path in answer.value)
        return own_path(self.folder, answer.instance_id, answer.value) if answer.answer_type == "file" else answer.value

    def _note_keys(self, value: Obj, line: int) -> None:
        for key in value:
            if key in KEYS:
                continue
            name = shown(key)
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
    """Whether the first character of an open file that is no blank opens an array; what was looked at is read again."""
    while (block := handle.read(_BLOCK)) and not block.removeprefix(codecs.BOM_UTF8).strip():
        pass
    handle.seek(0)
    return block.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"["


def read_answer(instance_id: str, entry: Obj, *, where: str, limits: Limits) -> Answer:
    """The answer an entry gives for an instance, or one with the fault that keeps it from being used."""
    kind, given = _kind(entry), entry.get("answer_or_path")
    problem = _type_problem(entry, kind) or _value_problem(kind, entry)
    fault = Fault(code="BAD_METADATA", detail=problem, where=where) if problem else None
    if fault is not None:
        return Answer(instance_id=instance_id, answer_type=str(kind) if kind in ANSWER_TYPES else "", value="", where=where, fault=fault)
    value = tuple(str(path) for path in given) if isinstance(given, list) else str(given)
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
    """The answer_type of an entry; of a list of one, the form that the reference's README prints, what is in it."""
    kind = entry.get("answer_type")
    return kind[0] if isinstance(kind, list) and len(kind) == 1 else kind


def _type_problem(entry: Obj, kind: Any) -> str:
    """What is wrong with an entry's answer_type, or an empty text."""
    if "answer_type" not in entry:
        return "the key 'answer_type' is missing"
    if isinstance(kind, str) and not isinstance(kind, Number):
        return "" if kind in ANSWER_TYPES else f"answer_type must be answer, file or files, found {shown(kind)}"
    return f"answer_type must be answer, file or files, found {_json_word(kind)}"


def _value_problem(kind: Any, entry: Obj) -> str:
    """What is wrong with an entry's answer_or_path for its type, or an empty text."""
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
    """The one answer of an id that was handed in several times."""
    shown_lines = [str(line) for line in lines[:SHOWN_LINES]]
    named = " and ".join(filter(None, [", ".join(shown_lines[:-1]), shown_lines[-1]]))
    if len(lines) > SHOWN_LINES:
        named += " and more"
    return replace(answer, fault=Fault(code="DUPLICATE_ID", detail=f"the instance stands on lines {named}", where=answer.where))
