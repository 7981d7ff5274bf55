"""Metadata lines as nearly everybody writes them, read many at a time: the three keys once each, in one order, on a line of their own.

Such a line is told by one expression over a block of text: what fits it is strict JSON without a key twice, and what does not is left to
the reader that knows everything. Records are kept as joined text with the places where each ends, a tenth of what objects take.
"""

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from json import JSONDecoder
from operator import itemgetter
from typing import Final

from evalsuite.readers.limits import Limits
from evalsuite.types import METADATA, Answer

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
