"""One order for the items of a list, whatever order they stand in, so that ties never depend on it."""

from collections.abc import Sequence
from json import dumps
from typing import Any


def canonical_order(items: Sequence[Any]) -> list[int]:
    """The positions of the items, sorted by their canonical JSON; equal items keep their order."""
    keys = canonical(items)
    return sorted(range(len(items)), key=keys.__getitem__)


def canonical(items: Sequence[Any]) -> list[bytes]:
    """For each item a text that two of them share when they differ only in the order of keys and of list items, at any depth."""
    from msgspec import MsgspecError
    from msgspec.json import Encoder

    encode = Encoder(order="sorted").encode
    try:
        texts = [encode(item) for item in items]
    except (MsgspecError, TypeError, ValueError, RecursionError, OverflowError):
        return [_by_loop(item) for item in items]
    for i, text in enumerate(texts):
        if b"[" in text or (b"null" in text and "nan" in repr(items[i])):  # msgspec writes NaN as null
            texts[i] = _by_loop(items[i])
    return texts


def _by_loop(value: Any) -> bytes:
    """The canonical text, built from the bottom without recursion."""
    if not isinstance(value, dict | list):
        return _scalar(value)
    texts: dict[int, bytes] = {}
    todo: list[tuple[Any, bool]] = [(value, False)]
    while todo:
        item, ready = todo.pop()
        inner = list(item.values()) if isinstance(item, dict) else item
        if not ready:
            todo.append((item, True))
            todo.extend((child, False) for child in inner if isinstance(child, dict | list))
            continue
        parts = [texts[id(child)] if isinstance(child, dict | list) else _scalar(child) for child in inner]
        if isinstance(item, dict):
            named = sorted(_scalar(key) + b":" + part for key, part in zip(item, parts, strict=True))
            texts[id(item)] = b"{" + b",".join(named) + b"}"
        else:
            texts[id(item)] = b"[" + b",".join(sorted(parts)) + b"]"
    return texts[id(value)]


def _scalar(value: Any) -> bytes:
    return dumps(value, ensure_ascii=False, default=repr).encode("utf-8", "surrogatepass")
