"""JSON of answers and of gold: how large it may be, what is wrong with it, and one bad entry never takes another with it."""

import io
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.types import BROKEN_RECORD, Fault
from evalsuite.readers import json_text
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_answer import read_answer_tree
from tests.properties import LETTERS


def test_too_many_records_and_json_that_a_person_named(tmp_path: Path) -> None:
    """A list holds at most json_records, a JSONL more; a person's file is refused in one sentence with its place."""
    limits = resolve_limits({"json_records": 3})
    records = [{"a": n} for n in range(4)]
    assert json_text.parse_tree(json.dumps(records[:3]), limits=limits) == records[:3]
    with pytest.raises(FaultError, match=r"4 records .limit json_records: 3") as refused:
        json_text.parse_tree(json.dumps(records), limits=limits)
    assert refused.value.fault.code == "LIMIT"
    lines = "\n".join(map(json.dumps, records)).encode()
    assert json_text.read_tree(io.BytesIO(lines), name="x.jsonl", limits=limits) == records
    assert json_text.parse_tree(json.dumps({"a": [1, 2, 3, 4]}), limits=limits) == {"a": [1, 2, 3, 4]}
    for name, text, value in (("a.json", "[1]", [1]), ("a.jsonl", '1\n\n{"a": 2}\n', [1, {"a": 2}])):
        (tmp_path / name).write_text(text)
        assert json_text.read_named_json(tmp_path / name) == value
    (tmp_path / "b.jsonl").write_text("1\n{")
    for name, why, has_hint in (("b.jsonl", "BAD_JSON: {}/b.jsonl: line 2: ", True), ("none", "MISSING_FILE: {}/none", False)):
        with pytest.raises(UsageError) as refused:
            json_text.read_named_json(tmp_path / name)
        assert refused.value.message.startswith(why.format(tmp_path))
        assert bool(refused.value.hint) is has_hint


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
            json_text.parse_tree(text, limits=resolve_limits(limits))
        assert refused.value.fault.detail == why
    else:
        json_text.parse_tree(text, limits=resolve_limits(limits))
    later = json.JSONDecodeError("Illegal trailing comma before end of array", "[1, ]", 2)
    assert json_text.json_problem("[1, ]", later) == ": a comma before ]", "as Python 3.13 says it"


TEXTS = st.text(LETTERS)
VALUES = st.recursive(st.none() | st.booleans() | TEXTS | st.integers(), st.lists, max_leaves=4)
README_EXAMPLE = """{
    "instance_id": "aaa-1",
    "answer_type": "answer",
    "answer_or_path": 17.5056918%
},
{
    "instance_id": "aaa-2",
    "answer_type": "answer",
    "answer_or_path": "Google Ring"
},
{
    "instance_id": "aaa-3",
    "answer_type": "file",
    "answer_or_path": "output.csv"
},
{

}
"""
GOOD = '{"instance_id": "good", "v": 1}'


def read(content: str | bytes, numbers: str = "value", **limits: int) -> tuple[list[json_text.Entry], json_text.Layout]:
    """All entries and the layout notes of a content."""
    layout = json_text.Layout()
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return list(json_text.read_objects(io.BytesIO(raw), limits=resolve_limits(limits), numbers=numbers, layout=layout)), layout


def values(content: str | bytes) -> list[object]:
    """The values of a content all of whose entries are good."""
    entries, _ = read(content)
    assert [entry.fault for entry in entries] == [None] * len(entries)
    return [entry.value for entry in entries]


def test_the_readme_example_and_lines_of_broken_objects() -> None:
    """Only the entry with 17.5056918% suffers; a line of nothing but broken objects is given up after a hundred."""
    entries, layout = read(README_EXAMPLE)
    bad, *good = entries
    assert (bad.line, bad.instance_id) == (1, "aaa-1")
    assert bad.hint == 'put quotes around the value: "17.5056918%"'
    assert bad.fault is not None
    assert (bad.fault.code, bad.fault.detail) == ("BAD_JSON", "not valid JSON at column 33")
    assert [(entry.line, (entry.value or {})["instance_id"]) for entry in good] == [(6, "aaa-2"), (11, "aaa-3")]
    assert layout.notes == {
        "an object over several lines is read as one": 1,
        "commas between objects are skipped": 6,
        "an empty object {} is skipped": 16,
    }
    entries, _ = read("{]" * 100_000 + f"\n{GOOD}\n")
    assert len(entries) == 103
    assert entries[-1].value == {"instance_id": "good", "v": 1}


@pytest.mark.parametrize("indent", [None, 0, 1, 4])
@pytest.mark.parametrize("separator", ["\n", ",\n", ",", "", "\n\n"])
@pytest.mark.parametrize("closing", ["", ",\n", "\n{}\n"])
def test_objects_are_read_however_they_are_laid_out(indent: int | None, separator: str, closing: str) -> None:
    """Indented or not, with or without commas and a closing empty object."""
    objects = [{"instance_id": f"q{i}", "evaluation": [{"func": "f", "parameters": {"gold": ["]}", '{["']}}]} for i in range(3)]
    assert values(separator.join(json.dumps(value, indent=indent) for value in objects) + closing) == objects


@given(st.lists(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3), max_size=4))
def test_what_json_writes_comes_back_in_every_layout(objects: list[dict[str, object]]) -> None:
    """Lines, array, pretty array and pretty objects say the same."""
    for text in (
        "\n".join(map(json.dumps, objects)),
        json.dumps(objects),
        json.dumps(objects, indent=1),
        ",\n".join(json.dumps(value, indent=2) for value in objects),
    ):
        assert values(text) == objects


@pytest.mark.parametrize(
    ("bad", "code", "detail"),
    [
        ("{bad", "BAD_JSON", "not valid JSON at column 2"),
        ('{"b": 1, "a": 1, "a": 2}', "BAD_JSON", "the key 'a' is repeated"),
        ('{"x": {"a": 1, "a": 2}}', "BAD_JSON", "the key 'a' is repeated"),
        ('{"a": NaN}', "BAD_JSON", "NaN is not a JSON number"),
        ('{"a": -Infinity}', "BAD_JSON", "-Infinity is not a JSON number"),
        ('{"a": 1e400}', "BAD_JSON", "a number is too large for a float"),
        ('{"a": ' + "9" * 5000 + "}", "BAD_JSON", "a number has more than 4300 digits"),
        ('{"a": ' + "[" * 101 + "]" * 101 + "}", "LIMIT", "the JSON is nested deeper than 100 levels"),
        ('{"a": ' + "[" * 100_000, "LIMIT", "the JSON is nested too deeply"),
        ("{'a': 1}", "BAD_JSON", "not valid JSON at column 2: texts need double quotes"),
        ('{"a": "open}', "BAD_JSON", "not valid JSON at column 13: it ends early, as if it was cut"),
        ("7", "BAD_JSON", "not a JSON object"),
        ("null", "BAD_JSON", "not a JSON object"),
        ("[]", "BAD_JSON", "not a JSON object"),
        ('"x"', "BAD_JSON", "not a JSON object"),
        ("hello", "BAD_JSON", "not valid JSON at column 1"),
        ("}", "BAD_JSON", "not valid JSON at column 1"),
    ],
)
@pytest.mark.parametrize("numbers", ["value", "text"])
def test_a_bad_line_is_reported_with_its_number_and_its_neighbours_count(bad: str, code: str, detail: str, numbers: str) -> None:
    """Nothing that stands on one line takes the next line with it."""
    entries, _ = read(f"{GOOD}\n{bad}\n{GOOD}\n", numbers)
    before, broken, after = entries
    assert before.value is not None
    assert after.value is not None
    assert (before.line, broken.line, after.line) == (1, 2, 3)
    assert broken.fault is not None
    assert (broken.fault.code, broken.fault.detail) == (code, detail)


def test_long_lines_and_numbers() -> None:
    """A line over its limit is skipped unread with its id kept; lines, objects over lines and numbers are read at their limits."""
    entries, _ = read('{"instance_id": "long", "v": "' + "x" * 5000 + f'"}}\n{GOOD}\n', line_bytes=1000)
    assert entries[0].fault is not None
    assert (entries[0].fault.code, entries[0].instance_id, entries[0].hint) == ("TOO_LARGE", "long", "one object a line")
    assert entries[1].value == {"instance_id": "good", "v": 1}
    assert entries[1].line == 2
    for size, name in ((4096, "long"), (4097, None)):
        head = '", "instance_id": "long"'.rjust(size - len('{"v": "'), "x")
        entries, _ = read('{"v": "' + head + ', "w": "' + "x" * 5000, line_bytes=5000)
        assert [entry.instance_id for entry in entries] == [name], "as much of the line is kept"
    line = f"{GOOD}\n"
    assert read(line * 2, line_bytes=len(line))[0][1] == json_text.Entry(line=2, value=json.loads(GOOD))
    assert [entry.fault and entry.fault.code for entry in read(f"{GOOD} \n{line}", line_bytes=len(line))[0]] == ["TOO_LARGE", None]
    for numbers, digits in product(("value", "text"), ("9" * 4300, "0." + "9" * 4298)):
        assert read(f'{{"a": {digits}}}', numbers)[0][0].fault is None
        assert read(f'{{"a": {digits}9}}', numbers)[0][0].fault == Fault(code="BAD_JSON", detail="a number has more than 4300 digits")
    assert (json_text.quote_value("x" * 60), json_text.quote_value("x" * 61)) == (repr("x" * 60), repr("x" * 59 + "…"))
    assert json_text.quote_value(12) == "'12'"
    text = '{"a": "' + "x" * 40 + '",\n"b": "y"\n'
    for most, is_whole in ((len(text), True), (len(text) - 1, False)):
        (first, second, *_, last), _ = read(f'{{"z":\n1}}\n{text}}}\n{GOOD}\n', line_bytes=most)
        assert (first.value, second.value is not None, last) == ({"z": 1}, is_whole, json_text.Entry(line=6, value=json.loads(GOOD)))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ('{"a": x} {', 0, 8),
        ('{"a": "}" x} {', 0, 12),
        ("[{]} ] x", 0, 4),
        ("[[x] x", 0, 6),
        ("{x", 0, 2),
        ("x {y}", 0, 2),
        ("x\n{y}", 0, 1),
        ("xy", 0, 2),
        ("{} {x} y", 3, 6),
        ("{} {x y}]", 3, 8),
        ("{}x", 0, 2),
        ("}{x", 1, 3),
    ],
)
def test_where_a_broken_value_ends(text: str, start: int, end: int) -> None:
    """After its closing bracket, or without one before the next object or line."""
    assert json_text.skip_broken(text, start) == end


SEVERAL, EMPTY = "an object over several lines is read as one", "an empty object {} is skipped"
COMMAS, ARRAY = "commas between objects are skipped", "a JSON array is read as one object per element"
QUOTE, NO_OBJECT = "put quotes around the value: ", (None, "not a JSON object", "one JSON object per line", None)


@pytest.mark.parametrize(
    ("text", "expected", "notes"),
    [
        ('[\n{"a": 1}\n]\n]', [(2, {"a": 1}), (4, None, "not valid JSON at column 1", "", None)], {ARRAY: 1}),
        ('{"a":\n1}\n[\n{"b": 2}\n]\n', [(1, {"a": 1}), (3, *NO_OBJECT)], {SEVERAL: 1}),
        ('{}\n[\n{"b": 2}\n]\n', [(2, *NO_OBJECT)], {EMPTY: 1, SEVERAL: 2}),
        ('x\n[\n{"b": 2}\n]\n', [(1, None, "not valid JSON at column 1", "", None), (2, *NO_OBJECT)], {SEVERAL: 2}),
        ('{"a":\n1},\n\n{},{"b": 2}\n', [(1, {"a": 1}), (4, {"b": 2})], {SEVERAL: 1, COMMAS: 3, EMPTY: 4}),
        ('{"a": 1} {"b": 2}\n,{"c": 3}\n {} \n', [(1, {"a": 1}), (1, {"b": 2}), (2, {"c": 3})], {COMMAS: 2, EMPTY: 3}),
        ('\n\n  {"a":\n"x"\n', [(3, None, "not valid JSON at column 1: it ends early, as if it was cut", "", None)], {SEVERAL: 3}),
        (
            '{"instance_id": "\\q", "v": 0.50, "w": x1}\n{"instance_id": "a", "instance_id": "b", "v": z}\n',
            [(1, None, "not valid JSON at column 18", f'{QUOTE}"x1"', None), (2, None, "not valid JSON at column 47", f'{QUOTE}"z"', "b")],
            {},
        ),
        (
            '{"instance_id": "\ufffd", "v": x}\n{"v": true, "w": -1.5e3, "x": nope}\n{"v": ' + "y" * 61 + "}",
            [
                (1, None, "not valid JSON at column 27", f'{QUOTE}"x"', None),
                (2, None, "not valid JSON at column 31", f'{QUOTE}"nope"', None),
                (3, None, "not valid JSON at column 7", f'{QUOTE}"{"y" * 60}"', None),
            ],
            {},
        ),
        ('x {"a": 1}\n  {"b": 2}\n', [(1, None, "not valid JSON at column 1", "", None), (1, {"a": 1}), (2, {"b": 2})], {}),
        (
            '{\n  "instance_id": "a",\n  "v": 1\n{\n  "b": 2\n}',
            [(1, None, "not valid JSON at column 1: it ends early, as if it was cut", "", "a"), (4, {"b": 2})],
            {SEVERAL: 1},
        ),
        ('{"v": NaN, "v": x}', [(1, None, "NaN is not a JSON number", f'{QUOTE}"NaN"', None)], {}),
    ],
)
def test_what_is_said_of_a_layout(text: str, expected: list[tuple[Any, ...]], notes: dict[str, int]) -> None:
    """The line of each entry, of a broken one what is wrong, how to mend it and the id that is still certain; and each note's line."""
    entries, layout = read(text)
    found = [(entry.line, entry.value, *((entry.fault.detail, entry.hint, entry.instance_id) if entry.fault else ())) for entry in entries]
    assert (found, layout.notes) == (expected, notes)


@given(st.binary(max_size=200) | st.text(alphabet='{}[],:"\\ \na1é', max_size=60).map(str.encode))
def test_no_content_raises(content: bytes) -> None:
    """Whatever the bytes: entries that are either a value or a fault, on lines that exist."""
    entries, _ = read(content)
    assert all((entry.value is None) == (entry.fault is not None) for entry in entries)
    assert all(1 <= entry.line <= content.count(b"\n") + 1 for entry in entries)
