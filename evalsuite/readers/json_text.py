"""Parse untrusted JSON strictly: no duplicate key, no NaN or infinity, no number too long, no value too deep.

- *within*, `decode_object` and `decode_value`: a value that begins at a position of a text, for readers of many objects.
  Numbers are values, or with `numbers="text"` their characters, because an answer `17.50` is scored as it was written.
- *whole*, `parse_tree` and `read_tree`: the one value of a text or a file, a JSONL as the list of its records, because trees
  are compared whole; `read_named_json` the same for a file that a person names, because a fault in it is then the command's error.
- *records*, `jsonl.read_objects`: one object after another in any layout, because a broken one must not affect the others;
  `PlainLines` reads runs of plain ones at once with the same result.

`runs.run_files` reads what this program wrote itself, the judge's own parser reads replies of models.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from evalsuite.core.errors import FAULTS, FaultError, UsageError, describe
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import open_trusted

Obj = dict[str, Any]

MAX_DIGITS = 4300
# A string without closing quote ends with its line, so that the search stays linear for every text.
_TOKEN = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|[{}\[\]]')
_NEXT = re.compile(r"[\n{]")


class Number(str):
    """A JSON number as the characters in the file: `17.50` stays `17.50`."""

    __slots__ = ()


class JsonError(ValueError):
    """A text that is not a strict JSON object; `detail` and `hint` are fixed texts of this module."""

    def __init__(self, detail: str, *, code: str = "BAD_JSON", hint: str = "", line: int | None = None) -> None:
        super().__init__(detail)
        self.code, self.detail, self.hint, self.line = code, detail, hint, line


def _pairs(pairs: list[tuple[str, Any]]) -> Obj:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JsonError(f"the key {shown(twice)} is repeated", hint="keep each key once")
    return made


def _constant(text: str) -> Any:
    raise JsonError(f"{text} is not a JSON number", hint=f'put quotes around the value: "{text}"')


def _float(text: str) -> float:
    value = float(_short(text))
    if not math.isfinite(value):
        raise JsonError("a number is too large for a float", hint="put quotes around it")
    return value


def _number(text: str) -> Number:
    if not text.lstrip("-").isdigit():
        _float(text)
    return Number(_short(text))


def _short(text: str) -> str:
    if len(text) > MAX_DIGITS:
        raise JsonError(f"a number has more than {MAX_DIGITS} digits", hint="put quotes around it")
    return text


def _decoder(integer: Callable[[str], Any], decimal: Callable[[str], Any]) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_pairs, parse_int=integer, parse_float=decimal, parse_constant=_constant)


_DECODERS = {"value": _decoder(lambda text: int(_short(text)), _float), "text": _decoder(_number, _number)}


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
        raise JsonError(f"not valid JSON at column {error.colno}", line=error.lineno) from None
    except RecursionError:
        raise JsonError("the JSON is nested too deeply", code="LIMIT") from None
    limit = int(limits["json_depth"])
    # A value has at least as many brackets as levels: most objects need no walk.
    if text.count("{", start, end) + text.count("[", start, end) > limit:
        check_depth(value, limit)
    return value, end


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
        raise FaultError("BAD_ENCODING") from None


def parse_tree(text: str, *, limits: Limits, where: str = "") -> Any:
    """The JSON value of a text, with optional white space around it. Raises FaultError BAD_JSON, LIMIT."""
    start = len(text) - len(text.lstrip())
    try:
        value, end = decode_value(text, start, numbers="value", limits=limits)
        if text[end:].strip():
            raise JsonError("there is text after the JSON value")
        _check_sizes(value, int(limits["json_keys"]), int(limits["json_records"]))
    except JsonError as error:
        place = where or (f"line {error.line}: " if error.line is not None else "")
        raise FaultError(error.code, place + error.detail) from None
    return value


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


def shown(value: object, width: int = 60) -> str:
    """A submitted value for use in a message: quoted, unprintable characters escaped, cut at `width`."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= width else text[: width - 1] + "…")
