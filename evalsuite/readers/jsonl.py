"""JSON objects of a file, one by one: strict about each object, forgiving about how they are laid out.

One object a line is the fast path. A JSON array, objects over several lines and objects joined by commas are read too, with a note,
because the reference's own README shows its example that way. What cannot be read is an entry with a fault, and the rest still counts.

Metadata lines as nearly everybody writes them, read many at a time: the three keys once each, in one order, on a line of their own.

Such a line is told by one expression over a block of text: what fits it is strict JSON without a key twice, and what does not is left to
the reader that knows everything. Records are kept as joined text with the places where each ends, a tenth of what objects take.
"""

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from json import JSONDecoder
from operator import itemgetter
from typing import BinaryIO, Final, overload

from evalsuite.core.types import METADATA, Answer, Fault
from evalsuite.readers.json_text import JsonError, Obj, decode_object, depth_change, skip_broken
from evalsuite.readers.limits import Limits

# Small enough that the records of a block cost little, large enough that its own cost does not count.
BLOCK_BYTES: Final = 1 << 18
_KEYS: Final = ("instance_id", "answer_type", "answer_or_path")
_TEXT: Final = r'[^"\\\x00-\x1f]'
_VALUES: Final = {
    "instance_id": rf'"({_TEXT}+)"',
    "answer_type": '"(answer|file)"',
    # A path from the root needs a closer look.
    "answer_or_path": rf'"(?!\\?/|\\u002[fF])({_TEXT}*(?:\\["\\/bfnrtu]{_TEXT}*)*)"',
}
_KINDS: Final = "(answer|file)"
# Control characters but for the line end, which is counted; and the sign that begins an escape.
_NEVER_IN_TEXT: Final = bytes(range(32)) + b"\\"
_KEY: Final = re.compile(r'"(instance_id|answer_type|answer_or_path)"[ \t]*:')
# (id, type, value) of a plain line; of any other line three empty texts.
Row = tuple[str, str, str]
_OTHER: Final[Row] = ("", "", "")
_STRING: Final = JSONDecoder().raw_decode
_VALUE: Final = itemgetter(2)
Find = Callable[[str], list[Row]]


class PlainLines:
    """Tells plain lines from others; the order of their keys is that of the first line that has all three."""

    def __init__(self, limits: Limits) -> None:
        self.is_usable = limits["line_bytes"] >= BLOCK_BYTES and limits["json_depth"] >= 1
        # A character takes at most four bytes: up to here, no answer can be too large.
        self._longest = int(limits["answer_bytes"]) // 4
        self._order: tuple[str, ...] = ()
        self._find = _finder(_KEYS)
        self._find_alike: Find | None = None
        self._n_between = 0

    def rows(self, raw: bytes, text: str) -> tuple[list[Row], list[int]]:
        """(one row a line, which of them are of no plain line) of a text that ends with a line end; `raw` are its bytes."""
        if not self._order:
            self._learn(text)
        alike = self._alike(raw, text)
        rows = alike or self._find(text)
        if self._order != _KEYS:
            first, second, third = map(self._order.index, _KEYS)
            rows = [(row[first], row[second], row[third]) for row in rows]
        if max(map(len, map(_VALUE, rows)), default=0) > self._longest:
            rows = list(map(self._checked, rows))
        elif not alike and b"\\" in raw:
            rows = self._unescaped(rows)
        elif alike:
            return rows, []
        return rows, [at for at, row in enumerate(rows) if not row[0]]

    def _alike(self, raw: bytes, text: str) -> list[Row]:
        """The rows of a text whose lines are all spaced as the first one of the file, else an empty list.

        Half the time of the general expression: strings end at the next quote here, which is right where there is no backslash. That no
        line was left out, and none ran into the next, shows in the sum of their lengths.
        """
        n_lines = raw.count(b"\n")
        if self._find_alike is None or len(raw.translate(None, _NEVER_IN_TEXT)) != len(raw) - n_lines:
            return []
        rows = self._find_alike(text)
        n_inside = len("".join(map("".join, rows)))
        return rows if len(rows) == n_lines and n_inside + n_lines * self._n_between == len(text) else []

    def _learn(self, text: str) -> None:
        """Take the order of keys, and the spaces between them, from the first line."""
        line = text[: text.index("\n") + 1]
        keys = tuple(dict.fromkeys(_KEY.findall(line)))
        self._order = keys if len(keys) == len(_KEYS) else _KEYS
        self._find = _finder(self._order)
        if (match := re.fullmatch(_pattern(self._order), line)) is not None:
            ends = [0, *chain.from_iterable(match.span(group) for group in (1, 2, 3)), len(line)]
            between = [line[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]
            inside = [_KINDS if key == "answer_type" else '([^"]++)' if key == "instance_id" else '(?!/)([^"]*+)' for key in self._order]
            self._n_between = sum(map(len, between))
            self._find_alike = re.compile("".join(chain(*zip(map(re.escape, between), [*inside, ""], strict=True)))).findall

    def _unescaped(self, rows: list[Row]) -> list[Row]:
        """The rows with the escapes in their values read, all at once where every one is valid."""
        try:
            values = _STRING('["' + '","'.join(map(_VALUE, rows)) + '"]')[0]
        except ValueError:
            return list(map(self._checked, rows))
        return [(row[0], row[1], value) for row, value in zip(rows, values, strict=True)]

    def _checked(self, row: Row) -> Row:
        """The row with its escapes read; that of no plain line where this one needs a closer look."""
        name, kind, value = row
        if len(value) > self._longest:
            return _OTHER
        try:
            return name, kind, _STRING(f'"{value}"')[0] if "\\" in value else value
        except ValueError:
            return _OTHER


def _pattern(order: Sequence[str]) -> str:
    """A plain line with its keys in this order: one group a key."""
    pairs = r",[ \t]*".join(rf'"{key}"[ \t]*:[ \t]*{_VALUES[key]}[ \t]*' for key in order)
    return rf"\{{[ \t]*{pairs}\}}[ \t\r]*\n"


def _finder(order: Sequence[str]) -> Find:
    """`findall` of lines: one group a key in the order given, all empty for a line that is not plain."""
    return re.compile(rf"^(?:{_pattern(order)}|[^\n]*\n)", re.MULTILINE).findall


@dataclass(frozen=True, slots=True)
class Block:
    """n records of n lines that follow each other: joined texts with the end of each, a letter for its type, and the hash of each id."""

    first_line: int
    ids: str
    values: str
    id_ends: "array[int]"
    value_ends: "array[int]"
    kinds: bytes
    hashes: "array[int]"

    def __len__(self) -> int:
        return len(self.kinds)

    def instance_id(self, at: int) -> str:
        """The id of one record."""
        return self.ids[self.id_ends[at - 1] if at else 0 : self.id_ends[at]]

    def line(self, at: int) -> int:
        """The line of one record, from 1."""
        return self.first_line + at

    def answer(self, at: int) -> Answer:
        """One record as an answer."""
        kind = "answer" if self.kinds[at] == _ANSWER else "file"
        value = self.values[self.value_ends[at - 1] if at else 0 : self.value_ends[at]]
        return Answer(instance_id=self.instance_id(at), answer_type=kind, value=value, where=place(self.line(at)))


_ANSWER: Final = ord("a")


def block_of(first_line: int, rows: Sequence[Row]) -> Block:
    """The records of plain rows."""
    ids, kinds, values = zip(*rows, strict=True)
    return Block(
        first_line=first_line,
        ids="".join(ids),
        values="".join(values),
        id_ends=array("I", accumulate(map(len, ids))),
        value_ends=array("I", accumulate(map(len, values))),
        kinds="".join([kind[0] for kind in kinds]).encode() if kinds.count(kinds[0]) < len(kinds) else kinds[0][:1].encode() * len(kinds),
        hashes=array("q", map(hash, ids)),
    )


def place(line: int) -> str:
    """`file:line` of the metadata file."""
    return f"{METADATA}:{line}"


def line_of(where: str) -> int:
    """The line of a `place`."""
    return int(where.rpartition(":")[2])


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
