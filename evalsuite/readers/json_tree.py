"""JSON files and texts -> plain values for the tree scorers: strict, capped, a JSONL as the list of its records."""

from typing import Any, BinaryIO

from evalsuite.errors import FaultError
from evalsuite.readers.json_text import JsonError, decode_value
from evalsuite.readers.limits import Limits


def read_tree(handle: BinaryIO, *, name: str, limits: Limits) -> Any:
    """The JSON value of a file; of a .jsonl the list of its n records, blank lines left out.

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


def read_text(handle: BinaryIO, *, limit_bytes: float) -> str:
    """The UTF-8 text of a file, its BOM left out. Raises FaultError BAD_ENCODING, TOO_LARGE."""
    data = handle.read(int(limit_bytes) + 1)
    if len(data) > limit_bytes:
        raise FaultError("TOO_LARGE", f"the text is longer than {int(limit_bytes)} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FaultError("BAD_ENCODING") from None


def parse_tree(text: str, *, limits: Limits, where: str = "") -> Any:
    """The JSON value that a text is, white space around it allowed. Raises FaultError BAD_JSON, LIMIT."""
    start = len(text) - len(text.lstrip())
    try:
        value, end = decode_value(text, start, numbers="value", limits=limits)
        if text[end:].strip():
            raise JsonError("text stands after the JSON value")
        _check_sizes(value, int(limits["json_keys"]), int(limits["json_records"]))
    except JsonError as error:
        place = where or (f"line {error.line}: " if error.line is not None else "")
        raise FaultError(error.code, place + error.detail) from None
    return value


def _check_sizes(value: Any, limit: int, n_records: int) -> None:
    if isinstance(value, list) and len(value) > n_records:
        raise JsonError(f"a list of {len(value)} records (limit json_records: {n_records}); as JSONL it may be longer", code="LIMIT")
    level = [value]
    while level:
        for item in level:
            if isinstance(item, dict) and len(item) > limit:
                raise JsonError(f"an object has {len(item)} keys (limit json_keys: {limit})", code="LIMIT")
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
