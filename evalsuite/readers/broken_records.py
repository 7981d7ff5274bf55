"""Answers in JSON of which a part cannot be read: a bad line of a JSONL costs its own record, fences or prose around JSON can be mended.

What stands in the place of such a record is `{"x-eval-broken": {"line", "cause"}}`, with `"repaired"` where only what is around it, or a
comma before a bracket, keeps it from being JSON. The tree scorers decide what it is worth; no other scorer is called with one.
"""

import contextlib
import re
from typing import Any, BinaryIO

from evalsuite.errors import FaultError
from evalsuite.readers.json_text import Obj, parse_tree, read_text
from evalsuite.readers.limits import Limits
from evalsuite.types import BROKEN_RECORD

# A comma before a closing bracket, or a string, in which commas stay.
_TRAILING_COMMA = re.compile(r',\s*([}\]])|"(?:[^"\\]|\\.)*"')


def read_answer_tree(handle: BinaryIO, *, name: str, limits: Limits) -> Any:
    """The JSON value of an answer's file; of a .jsonl the list of its records, a broken one for each line that is none (blank ones too).

    Raises:
        FaultError: TOO_LARGE; BAD_ENCODING, BAD_JSON or LIMIT where nothing in the file can be read, and could not be mended.
    """
    if not name.lower().endswith(".jsonl"):
        return parse_answer_tree(read_text(handle, limit_bytes=limits["file_bytes"]), limits=limits)
    data = handle.read(int(limits["file_bytes"]) + 1)
    if len(data) > limits["file_bytes"]:
        raise FaultError("TOO_LARGE", f"the text is longer than {int(limits['file_bytes'])} bytes")
    lines = data.removeprefix(b"\xef\xbb\xbf").rstrip().split(b"\n") if data.strip() else []
    records, failures = [], []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(parse_tree(line.decode(), limits=limits) if line.strip() else broken_record(number, "", "", limits))
        except FaultError as error:
            failures.append(FaultError(error.fault.code, f"line {number}: {error.fault.detail.removeprefix('line 1: ')}"))
            records.append(broken_record(number, error.fault.detail.removeprefix("line 1: "), line.decode(), limits))
        except UnicodeDecodeError:
            failures.append(FaultError("BAD_ENCODING"))
            records.append(broken_record(number, "not UTF-8", "", limits))
    if failures and all(isinstance(record, dict) and "repaired" not in record.get(BROKEN_RECORD, {"repaired": 1}) for record in records):
        raise failures[0]
    return records


def parse_answer_tree(text: str, *, limits: Limits) -> Any:
    """The JSON value of an answer's text, a broken record where it could be mended. Raises FaultError BAD_JSON, LIMIT where not."""
    try:
        return parse_tree(text, limits=limits)
    except FaultError as error:
        broken = broken_record(1, error.fault.detail, text, limits)
        if error.fault.code == "BAD_JSON" and "repaired" in broken[BROKEN_RECORD]:
            return broken
        raise


def broken_record(line: int, cause: str, text: str, limits: Limits) -> Obj:
    """What stands for a record that could not be read; with what it says where only fences, prose or a comma keep it from being JSON."""
    broken: Obj = {"line": line, "cause": cause}
    with contextlib.suppress(FaultError):
        # The text from its first opening bracket to its last closing one, without commas before a closing bracket.
        start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=0)
        inner = text[start : max(text.rfind("}"), text.rfind("]")) + 1]
        broken["repaired"] = parse_tree(_TRAILING_COMMA.sub(lambda found: found[1] or found[0], inner), limits=limits)
    return {BROKEN_RECORD: broken}
