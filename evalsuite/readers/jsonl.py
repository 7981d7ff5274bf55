"""JSON objects of a file, one by one: strict about each object, forgiving about how they are laid out.

One object a line is the fast path. A JSON array, objects over several lines and objects joined by commas are read too, with a note,
because the reference's own README shows its example that way. What cannot be read is an entry with a fault, and the rest still counts.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, overload

from evalsuite.readers.json_text import JsonError, Obj, decode_object, depth_change, skip_broken
from evalsuite.readers.limits import Limits
from evalsuite.readers.plain_lines import BLOCK_BYTES, Block, PlainLines, block_of
from evalsuite.types import Fault

MAX_BROKEN = 100
_SEPARATORS = re.compile(r"[\s,]*")
# Possessive: what is repeated without would be remembered character by character, a gigabyte for seven megabytes.
_ID = re.compile(r'"instance_id"\s*:\s*("[^"\\]*+(?:\\.[^"\\]*+)*+")')
_UNQUOTED = re.compile(r'"\w+"\s*:\s*([^\s"\[{][^\s",}\]]*)(?=[\s,}\]]|$)')
# Many lines of nothing but `{}`, of nothing but `{`, or of nothing: each by itself would cost what a whole answer does.
_ALIKE = re.compile(r"^(?:((?:[ \t]*\{[ \t]*\}[ \t\r]*\n){8,}+)|(?:[ \t]*\{[ \t\r]*\n){8,}+|(?:[ \t\r]*\n){8,}+)", re.MULTILINE)
_JSON_WORD = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One object of the file: its first line (1-based) and its value, or the fault that stands in its place.

    `instance_id` and `hint` belong to a fault: the id where it could still be read, and what to change.
    """

    line: int
    value: Obj | None = None
    fault: Fault | None = None
    hint: str = ""
    instance_id: str | None = None


class _EmptyObjects(str):
    """Lines of nothing but `{}` where no other object is open: what they are is known."""

    __slots__ = ()


@dataclass(slots=True)
class Layout:
    """What the reader met that is not one object a line; each becomes one note."""

    notes: dict[str, int] = field(default_factory=dict)
    array: bool = False
    begun: bool = False

    def note(self, text: str, line: int) -> None:
        """Keep the first line where `text` holds."""
        self.notes.setdefault(text, line)


@overload
def read_objects(handle: BinaryIO, *, limits: Limits, numbers: str = ..., layout: Layout | None = ...) -> Iterator[Entry]: ...
@overload
def read_objects(
    handle: BinaryIO, *, limits: Limits, numbers: str = ..., layout: Layout | None = ..., plain: PlainLines
) -> Iterator[Entry | Block]: ...
def read_objects(
    handle: BinaryIO, *, limits: Limits, numbers: str = "value", layout: Layout | None = None, plain: PlainLines | None = None
) -> Iterator[Entry | Block]:
    """The objects of an open file in file order, streaming; no more than one object's lines are held at a time.

    `numbers` is "value" (int and float) or "text": then a number is a `json_text.Number`, the characters as they stand in the file.
    `layout` collects notes on the layout; read it after the last entry. With `plain`, runs of lines that it knows come as one block.
    """
    layout = layout if layout is not None else Layout()
    pending = _Pending()
    for line, text, fault in _lines(handle, int(limits["line_bytes"]), plain, lambda: not pending.lines):
        if isinstance(text, Block):
            layout.begun = True
            yield text
            continue
        if isinstance(text, _EmptyObjects):
            layout.begun = True
            _note_empty({}, line, layout)
            continue
        if not pending.lines and fault is None:
            if not text.strip():
                continue
            entry = _whole_line(line, text, numbers, limits, layout)
            if entry is not None:
                if entry.value != {}:
                    yield entry
                continue
        if fault is not None and fault.code == "TOO_LARGE":
            yield from _scan(pending.take(), numbers, limits, layout)
            yield Entry(line=line, fault=fault, hint="one object a line", instance_id=_recover_id(text))
            continue
        if pending.restarts_at(text):
            yield from _scan(pending.take(), numbers, limits, layout)
        pending.add(line, text, fault, layout)
        if pending.depth <= 0 or pending.size > limits["line_bytes"]:
            yield from _scan(pending.take(), numbers, limits, layout)
    yield from _scan(pending.take(), numbers, limits, layout)


def read_array(text: str, *, limits: Limits, numbers: str, layout: Layout) -> Iterator[Entry]:
    """The objects of a text that is one JSON array, wherever its lines break."""
    layout.array = layout.begun = True
    yield from _scan(_Pending(lines=[text.replace("[", " ", 1)], first=1), numbers, limits, layout)


def _lines(
    handle: BinaryIO, cap: int, plain: PlainLines | None, is_between: Callable[[], bool]
) -> Iterator[tuple[int, str | Block, Fault | None]]:
    """(number, text, fault) of each line; an over-long one is cut at `cap` bytes and the rest of it skipped unread.

    A block of plain lines comes in the place of their texts, but only while `is_between` objects.
    """
    number = 0
    while True:
        if plain is not None and plain.is_usable and (block := _whole_lines(handle, first=number == 0)):
            try:
                text = block.decode()
            except UnicodeDecodeError:
                yield from (_decoded(number + at, line + b"\n") for at, line in enumerate(block.split(b"\n")[:-1], start=1))
            else:
                yield from ((line, found, None) for line, found in _in_parts(block, text, number + 1, plain, is_between))
            number += block.count(b"\n")
            continue
        raw = handle.readline(cap + 1)
        if not raw:
            return
        number += 1
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if len(raw) > cap:
            piece = raw
            while piece and not piece.endswith(b"\n"):
                piece = handle.readline(1 << 20)
            detail = f"the line is longer than {cap} bytes"
            yield number, raw[:4096].decode("utf-8", "replace"), Fault(code="TOO_LARGE", detail=detail)
            continue
        yield _decoded(number, raw)


def _decoded(number: int, raw: bytes) -> tuple[int, str, Fault | None]:
    """A line with its text, and the fault of one that is not UTF-8."""
    try:
        return number, raw.decode(), None
    except UnicodeDecodeError as error:
        fault = Fault(code="BAD_ENCODING", detail=f"byte {error.start + 1} of line {number} is not UTF-8")
        return number, raw.decode("utf-8", "replace"), fault


def _whole_lines(handle: BinaryIO, *, first: bool) -> bytes:
    """The whole lines in the next block of an open file; empty, with the file's position as it was, where none is whole."""
    start = handle.tell()
    raw = handle.read(BLOCK_BYTES)
    end = raw.rfind(b"\n") + 1
    handle.seek(start + end)
    return raw[:end].removeprefix(b"\xef\xbb\xbf") if first else raw[:end]


def _in_parts(raw: bytes, text: str, first: int, plain: PlainLines, is_between: Callable[[], bool]) -> Iterator[tuple[int, str | Block]]:
    """What `_parted` gives, but for long runs of equal lines: those of `{` as one text, those of `{}` as `_EmptyObjects`."""
    at = 0
    for match in _ALIKE.finditer(text):
        if between := text[at : match.start()]:
            yield from _parted(between.encode(), between, first, plain, is_between)
        run, first = match[0], first + between.count("\n")
        at = match.end()
        while match[1] and run and not is_between():
            line, _, run = run.partition("\n")
            yield first, line + "\n"
            first += 1
        if run:
            yield first, _EmptyObjects(run) if match[1] else run
        first += run.count("\n")
    if not at:
        yield from _parted(raw, text, first, plain, is_between)
    elif rest := text[at:]:
        yield from _parted(rest.encode(), rest, first, plain, is_between)


def _parted(raw: bytes, text: str, first: int, plain: PlainLines, is_between: Callable[[], bool]) -> Iterator[tuple[int, str | Block]]:
    """(number, block) of each run of plain lines that begins between objects, (number, text) of each other line; `first` is the first's."""
    rows, others = plain.rows(raw, text)
    if not others and is_between():
        yield first, block_of(first, rows)
        return
    lines = text.split("\n")
    at = n_passed = 0
    while at < len(rows):
        if rows[at][0] and is_between():
            while n_passed < len(others) and others[n_passed] < at:
                n_passed += 1
            end = others[n_passed] if n_passed < len(others) else len(rows)
            yield first + at, block_of(first + at, rows[at:end])
            at = end
        else:
            yield first + at, lines[at] + "\n"
            at += 1


def _whole_line(line: int, text: str, numbers: str, limits: Limits, layout: Layout) -> Entry | None:
    """The entry of a line that is one whole object, or None: then it is looked at more closely."""
    try:
        value, end = decode_object(text, text.index("{"), numbers=numbers, limits=limits)
    except ValueError:
        return None
    if text[end:].strip() or not text.startswith("{"):
        return None
    layout.begun = True
    _note_empty(value, line, layout)
    return Entry(line=line, value=value)


def _note_empty(value: Obj, line: int, layout: Layout) -> None:
    if not value:
        layout.note("an empty object {} is skipped", line)


@dataclass(slots=True)
class _Pending:
    """Lines that belong together until their brackets close."""

    lines: list[str] = field(default_factory=list)
    first: int = 0
    depth: int = 0
    size: int = 0
    fault: Fault | None = None

    def add(self, line: int, text: str, fault: Fault | None, layout: Layout) -> None:
        """Take one more line in; the bracket that opens a JSON array round everything is not counted."""
        if not self.lines:
            self.first = line
            if not layout.begun and text.lstrip().startswith("["):
                layout.array = True
                layout.note("a JSON array is read as one object an element", line)
                text = text.replace("[", " ", 1)
        if self.lines or "\n" in text[:-1]:
            layout.note("an object over several lines is read as one", self.first)
        layout.begun = True
        self.lines.append(text)
        self.size += len(text)
        self.fault = self.fault or fault
        self.depth += depth_change(text)

    def restarts_at(self, text: str) -> bool:
        """Whether a line opens a new object although the lines held are not closed: they are broken, the new one may be whole."""
        bare = text.lstrip()
        if not self.lines or not bare.startswith("{"):
            return False
        before = self.lines[0].lstrip()
        if len(text) - len(bare) > len(self.lines[0]) - len(before):
            return False
        return '"instance_id"' in bare or not self.lines[-1].rstrip().endswith((",", ":", "[", "{"))

    def take(self) -> "_Pending":
        """What is held, leaving nothing behind."""
        taken = _Pending(lines=self.lines, first=self.first, depth=self.depth, size=self.size, fault=self.fault)
        self.lines, self.depth, self.size, self.fault = [], 0, 0, None
        return taken


def _scan(pending: _Pending, numbers: str, limits: Limits, layout: Layout) -> Iterator[Entry]:
    """Each object of lines that belong together; a broken one becomes an entry with a fault, at most `MAX_BROKEN` of them."""
    text, line, position, n_broken = "".join(pending.lines), pending.first, 0, 0
    while n_broken <= MAX_BROKEN:
        start = _skip_separators(text, position, layout)
        line += text.count("\n", position, start)
        if "," in text[position:start]:
            layout.note("commas between objects are skipped", line)
        if start >= len(text):
            return
        if pending.fault is not None:
            yield Entry(line=line, fault=pending.fault, hint="save the file as UTF-8", instance_id=_recover_id(text))
            return
        try:
            value, position = decode_object(text, start, numbers=numbers, limits=limits)
        except JsonError as error:
            n_broken += 1
            position = skip_broken(text, start)
            yield _broken(text[start:position], line, error)
        else:
            _note_empty(value, line, layout)
            if value:
                yield Entry(line=line, value=value)
        line += text.count("\n", start, position)
    yield Entry(line=line, fault=Fault(code="BAD_JSON", detail=f"more than {MAX_BROKEN} broken objects stand here; the rest is skipped"))


def _skip_separators(text: str, position: int, layout: Layout) -> int:
    """Where the next object begins: past white space, commas and the bracket that closes an array round everything."""
    while True:
        match = _SEPARATORS.match(text, position)
        position = match.end() if match else position
        if not (layout.array and text.startswith("]", position)):
            return position
        layout.array = False
        position += 1


def _broken(text: str, line: int, error: JsonError) -> Entry:
    """The entry of an object that is not valid JSON, with its id where that can still be read."""
    hint = error.hint
    unquoted = next((m.group(1) for m in _UNQUOTED.finditer(text) if not _JSON_WORD.match(m.group(1))), None)
    if error.code == "BAD_JSON" and not hint and unquoted:
        hint = f'put quotes round the value: "{unquoted[:60]}"'
    return Entry(line=line, fault=Fault(code=error.code, detail=error.detail), hint=hint, instance_id=_recover_id(text))


def _recover_id(text: str) -> str | None:
    """The last instance_id that stands in a broken object's text, or None."""
    found = _ID.findall(text)
    if not found:
        return None
    try:
        value, _ = decode_object('{"id":' + found[-1] + "}", 0, numbers="value", limits={"json_depth": 2})
    except ValueError:
        return None
    # A replaced byte means that nobody knows the id.
    return None if "\ufffd" in value["id"] else str(value["id"])
