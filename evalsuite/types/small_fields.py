"""Fields of dataclasses that take little room: gold, answers and results of a hundred thousand instances stand in memory at once."""

import threading
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Final

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
