"""Parse untrusted JSON strictly: no duplicate key, no NaN or infinity, no number too long, no value too deep.

- *within*, `decode_object` and `decode_value`: a value that begins at a position of a text, for readers of many objects.
  Numbers are values, or with `numbers="text"` their characters, because an answer `17.50` is scored as it was written.
- *whole*, `parse_tree` and `read_tree`: the one value of a text or a file, a JSONL as the list of its records, because trees
  are compared whole; `read_named_json` the same for a file that a person names, because a fault in it is then the command's error.
- *records*, `read_objects`: one object after another in any layout, because a broken one must not affect the others. One object per line
  is the fast path. A JSON array, objects over several lines and objects joined by commas are read too, with a note, because the reference's
  own README shows its example that way. An unreadable object is an entry with a fault, and the rest still counts.

Plain metadata lines (the three keys once each, on one line) are decoded many at a time by `PlainLines`; the general reader reads others.
Records are kept as joined text with the end of each, a tenth of the memory of objects.

`runs.run_files` reads what this program wrote itself, the judge's own parser reads replies of models.
"""

import json
import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, compress
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, overload

import msgspec

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import FAULTS, FaultError, UsageError, describe, machine_error
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.types import METADATA, Answer, Fault
from evalsuite.readers.file_signatures import LFS_POINTER, format_of, is_lfs_pointer
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import open_trusted

Obj = dict[str, Any]

MAX_DIGITS = 4300
# A string without closing quote ends with its line, so that the search stays linear for every text.
_TOKEN = lazy_pattern(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|[{}\[\]]')
_NEXT = lazy_pattern(r"[\n{]")


class Number(str):
    """A JSON number as the characters in the file: `17.50` stays `17.50`."""

    __slots__ = ()


class JsonError(ValueError):
    """A text that is not a strict JSON object; `detail` and `hint` are fixed texts of this module."""

    def __init__(self, detail: str, *, code: str = "BAD_JSON", hint: str = "", line: int | None = None) -> None:
        self.code, self.detail, self.hint, self.line = code, detail, hint, line


def with_distinct_keys(pairs: list[tuple[str, Any]]) -> Obj:
    """The object of these pairs, for a JSON decoder; raises JsonError for a repeated key, of which readers take different values."""
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JsonError(f"the key {quote_value(twice)} is repeated", hint="keep each key once")
    return mapping


def _constant(text: str) -> Any:
    raise JsonError(f"{text} is not a JSON number", hint=f'put quotes around the value: "{text}"')


def finite_float(text: str) -> float:
    """The number of a JSON text, for a JSON decoder; raises JsonError for one that no float holds."""
    value = float(_short(text))
    if not math.isfinite(value):
        raise JsonError("a number is too large for a float", hint="put quotes around it")
    return value


def _number(text: str) -> Number:
    if not text.lstrip("-").isdigit():
        finite_float(text)
    return Number(_short(text))


def _short(text: str) -> str:
    if len(text) > MAX_DIGITS:
        raise JsonError(f"a number has more than {MAX_DIGITS} digits", hint="put quotes around it")
    return text


def _decoder(integer: Callable[[str], Any], decimal: Callable[[str], Any]) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=with_distinct_keys, parse_int=integer, parse_float=decimal, parse_constant=_constant)


_DECODERS = {"value": _decoder(lambda text: int(_short(text)), finite_float), "text": _decoder(_number, _number)}


def decode_object(text: str, start: int, *, numbers: str, limits: Limits) -> tuple[Obj, int]:
    """The object that begins at `start` and its end in `text`; raises JsonError if there is none."""
    value, end = decode_value(text, start, numbers=numbers, limits=limits)
    if not isinstance(value, dict):
        raise JsonError("not a JSON object", hint="one JSON object per line")
    return value, end


def decode_value(text: str, start: int, *, numbers: str, limits: Limits) -> tuple[Any, int]:
    """The strict JSON value that begins at `start` and its end; raises JsonError if there is none.

    The only function that uses a JSON library.
    """
    try:
        value, end = _DECODERS[numbers].raw_decode(text, start)
    except json.JSONDecodeError as error:
        error = _at_bracket(error)
        raise JsonError(f"not valid JSON at column {error.colno}{json_problem(text, error)}", line=error.lineno) from None
    except RecursionError:
        raise JsonError("the JSON is nested too deeply", code="LIMIT") from None
    limit = int(limits["json_depth"])
    # A value has at least as many brackets as levels: most objects need no walk.
    if text.count("{", start, end) + text.count("[", start, end) > limit:
        check_depth(value, limit)
    return value, end


# What is wrong if `json.loads` raises a `ValueError` that is no `JSONDecodeError`: Python's own limit of digits.
LONG_NUMBER: Final = "a number has too many digits"


_FENCE = lazy_pattern(r"\n```")
# How texts begin that are often given in the place of JSON.
_NO_JSON: Final = {
    "```": "a Markdown code block",
    "<": "`<`, as HTML and XML do",
    "//": "a comment",
    "#": "a comment",
    "---": "`---`, as YAML does",
}


_OF_PYTHON: Final = {"None": "null", "True": "true", "False": "false"}


def json_problem(text: str, error: json.JSONDecodeError) -> str:
    """Return `: ` and what is wrong in a text that is no JSON, empty if the usual mistakes are not the cause."""
    at = _at_bracket(error).pos
    rest, before = text[at : at + 100].strip(), text[max(0, at - 100) : at].rstrip()
    if before and (not rest or error.msg.startswith("Unterminated")):
        return ": it ends early, as if it was cut"
    if rest.startswith("'"):
        return ": texts need double quotes"
    if rest[:1] in ("}", "]") and before.endswith(","):
        return f": a comma before {rest[0]}"
    if before:
        python = next((word for word in _OF_PYTHON if rest.startswith(word)), "")
        return f": {python} is Python's word, JSON's is {_OF_PYTHON[python]}" if python else ""
    if not rest:
        return ": there is no text"
    if is_lfs_pointer(text.encode("utf-8", "replace")[:1024]):
        return f": it is {LFS_POINTER}"
    if found := next((f": it begins with {words}" for mark, words in _NO_JSON.items() if rest.startswith(mark)), ""):
        return found
    return ": there is text before a Markdown code block" if _FENCE.search(text) else ""


def _at_bracket(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """Return the error of a comma before a bracket with the place of the bracket; since Python 3.13 its place is the comma."""
    comma = re.compile(r",\s*").match(error.doc, error.pos) if error.msg.startswith("Illegal trailing comma") else None
    return error if comma is None else json.JSONDecodeError(error.msg, error.doc, comma.end())


def check_depth(value: Any, limit: int) -> None:
    """Raise JsonError LIMIT if lists and objects are nested deeper than `limit` levels."""
    if any(depth > limit for depth, _ in enumerate(_levels(value))):
        raise JsonError(f"the JSON is nested deeper than {limit} levels", code="LIMIT")


def _levels(value: Any) -> Iterator[list[Obj | list[Any]]]:
    """The objects and lists of a value, level by level: the value, its members, their members."""
    level = [value] if isinstance(value, dict | list) else []
    while level:
        yield level
        inner = (item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer))
        level = [item for item in inner if isinstance(item, dict | list)]


def read_tree(handle: BinaryIO, *, name: str, limits: Limits) -> Any:
    """The JSON value of a file; for a .jsonl the list of its n records, without blank lines.

    Raises:
        FaultError: BAD_ENCODING, BAD_JSON (with the line), LIMIT (depth, keys, bytes).
    """
    text = read_text(handle, limit_bytes=limits["file_bytes"])
    if not name.lower().endswith(".jsonl"):
        return parse_tree(text, limits=limits)
    records = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            records.append(parse_tree(line, limits=limits, where=f"line {number}: "))
    return records


def read_named_json(path: Path) -> Any:
    """The JSON value of a file that a person named. Raises `UsageError` that names it."""
    try:
        with open_trusted(path, limit_bytes=DEFAULT_LIMITS["file_bytes"]) as handle:
            return read_tree(handle, name=path.name, limits=DEFAULT_LIMITS)
    except FaultError as error:
        if error.is_of_machine:
            raise machine_error(path, error.fault) from None
        hint = "" if error.fault.code == "MISSING_FILE" else FAULTS[error.fault.code].hint
        raise UsageError(describe(replace(error.fault, where=str(path))), hint=hint) from None


def read_text(handle: BinaryIO, *, limit_bytes: float) -> str:
    """The UTF-8 text of a file, without its BOM. Raises FaultError BAD_ENCODING, TOO_LARGE."""
    data = handle.read(int(limit_bytes) + 1)
    if len(data) > limit_bytes:
        raise FaultError("TOO_LARGE", f"the text is longer than {int(limit_bytes)} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        form = format_of(data)
        raise FaultError("BAD_ENCODING", f"the file is {form}, not text in UTF-8" if form else "") from None


def parse_tree(text: str, *, limits: Limits, where: str = "") -> Any:
    """The JSON value of a text, with optional white space around it. Raises FaultError BAD_JSON, LIMIT."""
    start = len(text) - len(text.lstrip())
    try:
        value, end = decode_value(text, start, numbers="value", limits=limits)
        if text[end:].strip():
            raise JsonError(_what_follows(text[end:].strip(), limits))
        _check_sizes(value, int(limits["json_keys"]), int(limits["json_records"]))
    except JsonError as error:
        place = where or (f"line {error.line}: " if error.line is not None else "")
        raise FaultError(error.code, place + error.detail) from None
    return value


def _what_follows(rest: str, limits: Limits) -> str:
    """Return what is wrong with a text after a JSON value: it begins with another one, as in JSONL, or not."""
    text = "there is text after the JSON value"
    try:
        decode_value(rest, 0, numbers="value", limits=limits)
    except JsonError:
        return text
    return "there is a second JSON value after the first; a file with one on each line is named .jsonl" if rest[0] in "[{" else text


def _check_sizes(value: Any, limit: int, n_records: int) -> None:
    if isinstance(value, list) and len(value) > n_records:
        raise JsonError(f"a list of {len(value)} records (limit json_records: {n_records}); a JSONL file may be longer", code="LIMIT")
    for level in _levels(value):
        for item in level:
            if isinstance(item, dict) and len(item) > limit:
                raise JsonError(f"an object has {len(item)} keys (limit json_keys: {limit})", code="LIMIT")


def skip_broken(text: str, start: int) -> int:
    """The end of a broken value that begins at `start`: after its closing bracket, or without one before the next object or line."""
    if text[start] not in "{[":
        following = _NEXT.search(text, start)
        return following.start() if following else len(text)
    if text.find("}", start) < 0 and text.find("]", start) < 0:
        return len(text)
    depth = 0
    for match in _TOKEN.finditer(text, start):
        depth += bracket(match.group())
        if depth == 0:
            return match.end()
    return len(text)


def depth_change(text: str) -> int:
    """How many brackets a text leaves open (closed, if negative); brackets inside strings do not count."""
    if '"' not in text:
        return text.count("{") + text.count("[") - text.count("}") - text.count("]")
    return sum(map(bracket, _TOKEN.findall(text)))


def bracket(token: str) -> int:
    """1 for an opening bracket, -1 for a closing one, else 0."""
    return (token in "{[") - (token in "}]")


def quote_value(value: object, width: int = 60) -> str:
    """A submitted value for use in a message: quoted, unprintable characters escaped, cut at `width`."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= width else text[: width - 1] + "…")


# Small enough that the records of a block take little memory, large enough that the cost per block does not matter.
BLOCK_BYTES: Final = 1 << 18
# (id, type, value) of a plain line; three empty texts for any other line.
Row = tuple[str, str, str]
_OTHER: Final[Row] = ("", "", "")
_QUOTES_OF_LINE: Final = 12
_ESCAPED: Final = lazy_pattern(r'[\x00-\x1f"\\]')


class PlainLines:
    """Decode plain lines: three texts, an id without escapes, a path that is not absolute."""

    def __init__(self, limits: Limits) -> None:
        self.is_usable = limits["line_bytes"] >= BLOCK_BYTES and limits["json_depth"] >= 1
        # A character takes at most four bytes: up to this length, no answer can be too large.
        self._longest = int(limits["answer_bytes"]) // 4

    def rows(self, raw: bytes) -> tuple[list[Row], list[int]]:
        """(One row per line, the indices of the lines that are not plain) of bytes of UTF-8 that end with a line end."""
        rows = self._row_of_each(raw.split(b"\n")[:-1])
        return rows, [at for at, row in enumerate(rows) if row == _OTHER]

    def _row_of_each(self, lines: list[bytes]) -> list[Row]:
        """The row of each line. Of lines that are not all plain, those with too many or too few quotes are left out; others are halved."""
        if not lines:
            return []
        if (rows := self._plain_rows(b"\n".join([*lines, b""]))) is not None:
            return rows
        if len(lines) == 1:
            return [_OTHER]
        may_be_plain = [line.count(b'"') == _QUOTES_OF_LINE or b"\\" in line for line in lines]
        if all(may_be_plain):
            half = len(lines) // 2
            return self._row_of_each(lines[:half]) + self._row_of_each(lines[half:])
        plain = iter(self._row_of_each(list(compress(lines, may_be_plain))))
        return [next(plain) if may_be else _OTHER for may_be in may_be_plain]

    def _plain_rows(self, raw: bytes) -> list[Row] | None:
        """The rows of lines that are all plain, None if one is not.

        Each line begins with a bracket, so none holds two objects if there are as many objects as lines. Three keys and three texts have 12
        quotes at least, so no key is repeated if there are 12 quotes for each line.
        """
        n_lines, is_escaped = raw.count(b"\n"), b"\\" in raw
        bare = raw.replace(rb"\\", b"") if is_escaped else raw
        n_quotes = bare.count(b'"') - (bare.count(rb"\"") if is_escaped else 0)
        if n_quotes != _QUOTES_OF_LINE * n_lines or not raw.startswith(b"{") or raw.count(b"\n{") != n_lines - 1:
            return None
        try:
            rows = list(map(_FIELDS, _line_decoder()(raw)))
        except ValueError:
            return None
        if len(rows) != n_lines or max(map(len, map(_VALUE, rows))) > self._longest:
            return None
        ids, _, values = zip(*rows, strict=True)
        if not all(ids) or any(value.startswith("/") for value in values) or (is_escaped and _ESCAPED.search("".join(ids))):
            return None
        return rows


_FIELDS: Final = attrgetter("instance_id", "answer_type", "answer_or_path")
_VALUE: Final = itemgetter(2)


@cache
def _line_decoder() -> Callable[[bytes], list[Any]]:
    """Decode lines with the three keys. Raises ValueError."""
    line = msgspec.defstruct("Line", [("instance_id", str), ("answer_type", Literal["answer", "file"]), ("answer_or_path", str)])
    return msgspec.json.Decoder(line).decode_lines


@dataclass(frozen=True, slots=True)
class Block:
    """n records of n consecutive lines: joined texts with the end of each, a letter for its type, and the hash of each id."""

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
        kinds="".join([kind[0] for kind in kinds]).encode(),
        hashes=array("q", map(hash, ids)),
    )


def place(line: int) -> str:
    """The position `file:line` in the metadata file."""
    return f"{METADATA}:{line}"


def line_of(where: str) -> int:
    """The line of a `place`."""
    return int(where.rpartition(":")[2])


MAX_BROKEN = 100
_SEPARATORS = lazy_pattern(r"[\s,]*")
# Possessive: a normal repetition would store a position for each character, a gigabyte for seven megabytes.
_ID = lazy_pattern(r'"instance_id"\s*:\s*("[^"\\]*+(?:\\.[^"\\]*+)*+")')
_UNQUOTED = lazy_pattern(r'"\w+"\s*:\s*([^\s"\[{][^\s",}\]]*)(?=[\s,}\]]|$)')
# Many lines of only `{}`, of only `{`, or empty: each alone would cost as much as a whole answer.
_ALIKE = lazy_pattern(r"^(?:((?:[ \t]*\{[ \t]*\}[ \t\r]*\n){8,}+)|(?:[ \t]*\{[ \t\r]*\n){8,}+|(?:[ \t\r]*\n){8,}+)", re.MULTILINE)
_JSON_WORD = lazy_pattern(r"(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One object of the file: its first line (1-based) and its value, or the fault instead of it.

    `instance_id` and `hint` belong to a fault: the id if it could still be read, and what to change.
    """

    line: int
    value: Obj | None = None
    fault: Fault | None = None
    hint: str = ""
    instance_id: str | None = None


class _EmptyObjects(str):
    """Lines of only `{}` while no other object is open."""

    __slots__ = ()


@dataclass(slots=True)
class Layout:
    """Deviations from one object per line; each becomes one note."""

    notes: dict[str, int] = field(default_factory=dict)
    array: bool = False
    begun: bool = False

    def note(self, text: str, line: int) -> None:
        """Keep the first line to which `text` applies."""
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
    """The objects of an open file in file order, streaming; at most one object's lines are in memory at a time.

    `numbers` is "value" (int and float) or "text": then a number is a `json_text.Number`, the characters in the file. `layout` collects
    notes on the layout; read it after the last entry. With `plain`, runs of plain lines come as one block.
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
    """(number, text, fault) of each line; one longer than `cap` bytes is cut there and the rest of it skipped.

    A block of plain lines replaces their texts, but only while `is_between` objects.
    """
    number = 0
    while True:
        if plain is not None and plain.is_usable and (block := _whole_lines(handle, first=number == 0)):
            try:
                text = block.decode()
            except UnicodeDecodeError:
                yield from (_decode_line(number + at, line + b"\n") for at, line in enumerate(block.split(b"\n")[:-1], start=1))
            else:
                yield from ((line, line_text, None) for line, line_text in _in_parts(block, text, number + 1, plain, is_between))
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
        yield _decode_line(number, raw)


def _decode_line(number: int, raw: bytes) -> tuple[int, str, Fault | None]:
    """A line with its text, and the fault of one that is not UTF-8."""
    try:
        return number, raw.decode(), None
    except UnicodeDecodeError as error:
        fault = Fault(code="BAD_ENCODING", detail=f"byte {error.start + 1} of line {number} is not UTF-8")
        return number, raw.decode("utf-8", "replace"), fault


def _whole_lines(handle: BinaryIO, *, first: bool) -> bytes:
    """The complete lines in the next block of an open file; empty, with the file's position unchanged, if none is complete."""
    start = handle.tell()
    raw = handle.read(BLOCK_BYTES)
    end = raw.rfind(b"\n") + 1
    handle.seek(start + end)
    return raw[:end].removeprefix(b"\xef\xbb\xbf") if first else raw[:end]


def _in_parts(raw: bytes, text: str, first: int, plain: PlainLines, is_between: Callable[[], bool]) -> Iterator[tuple[int, str | Block]]:
    """The result of `_split_lines`, with long runs of equal lines joined: those of `{` as one text, those of `{}` as `_EmptyObjects`."""
    at = 0
    for match in _ALIKE.finditer(text):
        if between := text[at : match.start()]:
            yield from _split_lines(between.encode(), between, first, plain, is_between)
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
        yield from _split_lines(raw, text, first, plain, is_between)
    elif rest := text[at:]:
        yield from _split_lines(rest.encode(), rest, first, plain, is_between)


def _split_lines(raw: bytes, text: str, first: int, plain: PlainLines, is_between: Callable[[], bool]) -> Iterator[tuple[int, str | Block]]:
    """(number, block) of each run of plain lines that begins between objects, (number, text) of each other line; `first` is the first
    number.
    """
    rows, others = plain.rows(raw)
    if not others and is_between():
        yield first, block_of(first, rows)
        return
    lines = text.split("\n")
    at = n_passed = 0
    while at < len(rows):
        if rows[at] != _OTHER and is_between():
            while n_passed < len(others) and others[n_passed] < at:
                n_passed += 1
            end = others[n_passed] if n_passed < len(others) else len(rows)
            yield first + at, block_of(first + at, rows[at:end])
            at = end
        else:
            yield first + at, lines[at] + "\n"
            at += 1


def _whole_line(line: int, text: str, numbers: str, limits: Limits, layout: Layout) -> Entry | None:
    """The entry of a line that is one whole object, or None if it needs a closer look."""
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
        """Add one more line; the bracket that opens a JSON array around everything is not counted."""
        if not self.lines:
            self.first = line
            if not layout.begun and text.lstrip().startswith("["):
                layout.array = True
                layout.note("a JSON array is read as one object per element", line)
                text = text.replace("[", " ", 1)
        if self.lines or "\n" in text.rstrip():
            layout.note("an object over several lines is read as one", self.first)
        layout.begun = True
        self.lines.append(text)
        self.size += len(text)
        self.fault = self.fault or fault
        self.depth += depth_change(text)

    def restarts_at(self, text: str) -> bool:
        """Whether a line opens a new object although the pending lines are not closed: they are broken, the new one may be whole."""
        bare = text.lstrip()
        if not self.lines or not bare.startswith("{"):
            return False
        before = self.lines[0].lstrip()
        if len(text) - len(bare) > len(self.lines[0]) - len(before):
            return False
        return '"instance_id"' in bare or not self.lines[-1].rstrip().endswith((",", ":", "[", "{"))

    def take(self) -> "_Pending":
        """Return the pending lines and clear them."""
        pending = _Pending(lines=self.lines, first=self.first, depth=self.depth, size=self.size, fault=self.fault)
        self.lines, self.depth, self.size, self.fault = [], 0, 0, None
        return pending


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
            yield _broken_entry(text[start:position], line, error)
        else:
            _note_empty(value, line, layout)
            if value:
                yield Entry(line=line, value=value)
        line += text.count("\n", start, position)
    yield Entry(line=line, fault=Fault(code="BAD_JSON", detail=f"more than {MAX_BROKEN} broken objects; the rest is skipped"))


def _skip_separators(text: str, position: int, layout: Layout) -> int:
    """The start of the next object: after white space, commas and the bracket that closes an array around everything."""
    while True:
        match = _SEPARATORS.match(text, position)
        position = match.end() if match else position
        if not (layout.array and text.startswith("]", position)):
            return position
        layout.array = False
        position += 1


def _broken_entry(text: str, line: int, error: JsonError) -> Entry:
    """The entry of an object that is not valid JSON, with its id if that can still be read."""
    hint = error.hint
    unquoted = next((m.group(1) for m in _UNQUOTED.finditer(text) if not _JSON_WORD.match(m.group(1))), None)
    if error.code == "BAD_JSON" and not hint and unquoted:
        hint = f'put quotes around the value: "{unquoted[:60]}"'
    return Entry(line=line, fault=Fault(code=error.code, detail=error.detail), hint=hint, instance_id=_recover_id(text))


def _recover_id(text: str) -> str | None:
    """The last instance_id in a broken object's text, or None."""
    ids = _ID.findall(text)
    if not ids:
        return None
    try:
        value, _ = decode_object('{"id":' + ids[-1] + "}", 0, numbers="value", limits=DEFAULT_LIMITS)
    except ValueError:
        return None
    # A replacement character means that the id is not certain.
    return None if "\ufffd" in value["id"] else str(value["id"])
