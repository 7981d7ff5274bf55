"""JSON values for the tree scorers: how large they may be, what is wrong with one, and what of a broken answer is still read."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.types import BROKEN_RECORD
from evalsuite.readers.json_text import json_problem, parse_tree, read_named_json, read_tree
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_answer import read_answer_tree


def test_a_list_of_too_many_records_is_a_limit() -> None:
    """One JSON list holds at most json_records; a JSONL holds more, and so may a list inside a record."""
    limits = resolve_limits({"json_records": 3})
    records = [{"a": n} for n in range(4)]
    assert parse_tree(json.dumps(records[:3]), limits=limits) == records[:3]
    with pytest.raises(FaultError, match=r"4 records .limit json_records: 3") as refused:
        parse_tree(json.dumps(records), limits=limits)
    assert refused.value.fault.code == "LIMIT"
    lines = "\n".join(map(json.dumps, records)).encode()
    assert read_tree(io.BytesIO(lines), name="x.jsonl", limits=limits) == records
    assert parse_tree(json.dumps({"a": [1, 2, 3, 4]}), limits=limits) == {"a": [1, 2, 3, 4]}


FENCED = '```json\n{"a": [1, 2,], "b": "x,}"}\n```'


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.json", '\ufeff {"a": 1} ', {"a": 1}),
        (
            "a.json",
            FENCED,
            {
                BROKEN_RECORD: {
                    "line": 1,
                    "cause": "line 1: not valid JSON at column 1: it begins with a Markdown code block",
                    "repaired": {"a": [1, 2], "b": "x,}"},
                }
            },
        ),
        (
            "a.json",
            '{"a": [1,]}',
            {BROKEN_RECORD: {"line": 1, "cause": "line 1: not valid JSON at column 10: a comma before ]", "repaired": {"a": [1]}}},
        ),
        ("a.json", "so [1, {}] it is", {BROKEN_RECORD: {"line": 1, "cause": "line 1: not valid JSON at column 1", "repaired": [1, {}]}}),
        ("a.json", "no brackets", "BAD_JSON line 1: not valid JSON at column 1"),
        ("a.json", "[" * 200 + "]" * 200, "LIMIT the JSON is nested deeper than 100 levels"),
        ("a.jsonl", "", []),
        ("a.jsonl", '\ufeff{"a": 1}\n[2]\n\n', [{"a": 1}, [2]]),
        ("a.jsonl", '{"a": 1}\n\n3', [{"a": 1}, {BROKEN_RECORD: {"line": 2, "cause": ""}}, 3]),
        (
            "a.jsonl",
            '{"a": 1}\nx {"b": 2,}\ny',
            [
                {"a": 1},
                {BROKEN_RECORD: {"line": 2, "cause": "not valid JSON at column 1", "repaired": {"b": 2}}},
                {BROKEN_RECORD: {"line": 3, "cause": "not valid JSON at column 1"}},
            ],
        ),
        ("a.jsonl", "x\n\ny", "BAD_JSON line 1: not valid JSON at column 1"),
        ("A.JSONL", b"\xff\n\xff", "BAD_ENCODING the file is not UTF-8"),
        ("a.jsonl", b"\xff\n1", [{BROKEN_RECORD: {"line": 1, "cause": "not UTF-8"}}, 1]),
        ("a.jsonl", " " * 201, "TOO_LARGE the text is longer than 200 bytes"),
        ("a.json", " " * 201, "TOO_LARGE the text is longer than 200 bytes"),
        ("a.json", b"\xff", "BAD_ENCODING "),
        ("a.json", "1" + " " * 199, 1),
        ("a.jsonl", "1" + " " * 199, [1]),
    ],
)
def test_a_tree_that_was_submitted(name: str, text: str | bytes, expected: Any) -> None:
    """What fences, prose or a comma spoil is repaired and marked; a broken line is one record; nothing readable at all is a fault."""
    data = text if isinstance(text, bytes) else text.encode()
    if isinstance(expected, str):
        with pytest.raises(FaultError) as refused:
            read_answer_tree(io.BytesIO(data), name=name, limits=resolve_limits({"file_bytes": 200 if len(data) < 300 else 500}))
        code, _, detail = expected.partition(" ")
        assert (refused.value.fault.code, refused.value.fault.detail) == (code, detail if code != "BAD_ENCODING" else "")
        return
    assert read_answer_tree(io.BytesIO(data), name=name, limits=resolve_limits({"file_bytes": 200})) == expected


@pytest.mark.parametrize(
    ("text", "limits", "why"),
    [
        *((text, {}, "there is text after the JSON value") for text in ("[1] 2", "{} {x", "{}\nSo it is.")),
        ('{"a": 1}\n{"a": 2}\n{', {}, "there is a second JSON value after the first; a file with one on each line is named .jsonl"),
        ("[1, None]", {}, "line 1: not valid JSON at column 5: None is Python's word, JSON's is null"),
        ("Here:\n```json\n[]\n```", {}, "line 1: not valid JSON at column 1: there is text before a Markdown code block"),
        ('[{"a": 1, "b": 2}]', {"json_keys": 1}, "an object has 2 keys (limit json_keys: 1)"),
        ("[1, 2]", {"json_records": 1}, "a list of 2 records (limit json_records: 1); a JSONL file may be longer"),
        ('{"a": [1, 2]}', {"json_records": 1, "json_keys": 1, "json_depth": 2}, ""),
        ('{"a": [[1]]}', {"json_depth": 2}, ""),
        ('{"a": [[{}]]}', {"json_depth": 2}, "the JSON is nested deeper than 2 levels"),
        ("[1,", {}, "line 1: not valid JSON at column 4: it ends early, as if it was cut"),
        ('["abc', {}, "line 1: not valid JSON at column 2: it ends early, as if it was cut"),
        ("['a']", {}, "line 1: not valid JSON at column 2: texts need double quotes"),
        ('{"a": 1,\n}', {}, "line 2: not valid JSON at column 1: a comma before }"),
        ("[1,]", {}, "line 1: not valid JSON at column 4: a comma before ]"),
        ("[1 2]", {}, "line 1: not valid JSON at column 4"),
        ("[1,,2]", {}, "line 1: not valid JSON at column 4"),
        ('{"a" }', {}, "line 1: not valid JSON at column 6"),
        ("[[1,], 2]", {}, "line 1: not valid JSON at column 5: a comma before ]"),
        ('"abc', {}, "line 1: not valid JSON at column 1"),
        ("\n", {}, "line 2: not valid JSON at column 1: there is no text"),
        (" <a/>", {}, "line 1: not valid JSON at column 2: it begins with `<`, as HTML and XML do"),
        ("// a\n1", {}, "line 1: not valid JSON at column 1: it begins with a comment"),
        (f'"a\n{" " * 98}x', {}, "line 1: not valid JSON at column 3"),
        (f'"a\n{" " * 99}x', {}, "line 1: not valid JSON at column 3: it ends early, as if it was cut"),
        (f"[1,{' ' * 99}]", {}, "line 1: not valid JSON at column 103: a comma before ]"),
        (f"[1,{' ' * 100}]", {}, "line 1: not valid JSON at column 104"),
    ],
)
def test_what_is_wrong_with_a_tree(text: str, limits: dict[str, int], why: str) -> None:
    """The place and the usual mistakes are named; limits allow as much as they say."""
    if why:
        with pytest.raises(FaultError) as refused:
            parse_tree(text, limits=resolve_limits(limits))
        assert refused.value.fault.detail == why
    else:
        parse_tree(text, limits=resolve_limits(limits))
    later = json.JSONDecodeError("Illegal trailing comma before end of array", "[1, ]", 2)
    assert json_problem("[1, ]", later) == ": a comma before ]", "as Python 3.13 says it"


def test_json_that_a_person_named(tmp_path: Path) -> None:
    """One sentence with its place; a hint unless there is no such file."""
    for name, text, value in (("a.json", "[1]", [1]), ("a.jsonl", '1\n\n{"a": 2}\n', [1, {"a": 2}])):
        (tmp_path / name).write_text(text)
        assert read_named_json(tmp_path / name) == value
    (tmp_path / "b.jsonl").write_text("1\n{")
    for name, why, has_hint in (("b.jsonl", "BAD_JSON: {}/b.jsonl: line 2: ", True), ("none", "MISSING_FILE: {}/none", False)):
        with pytest.raises(UsageError) as refused:
            read_named_json(tmp_path / name)
        assert refused.value.message.startswith(why.format(tmp_path))
        assert bool(refused.value.hint) is has_hint
