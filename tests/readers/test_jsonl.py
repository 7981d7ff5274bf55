"""JSON objects of a file: strict about each object, forgiving about the layout, and one bad entry never takes another with it."""

import io
import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.types import Fault
from evalsuite.readers.json_text import Entry, Layout, quote_value, read_objects, skip_broken
from evalsuite.readers.limits import resolve_limits
from tests.properties import LETTERS

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


def read(content: str | bytes, numbers: str = "value", **limits: int) -> tuple[list[Entry], Layout]:
    """All entries and the layout notes of a content."""
    layout = Layout()
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return list(read_objects(io.BytesIO(raw), limits=resolve_limits(limits), numbers=numbers, layout=layout)), layout


def values(content: str | bytes) -> list[object]:
    """The values of a content all of whose entries are good."""
    entries, _ = read(content)
    assert [entry.fault for entry in entries] == [None] * len(entries)
    return [entry.value for entry in entries]


def test_the_readme_example_of_the_reference_is_read_but_for_the_unquoted_value() -> None:
    """Pretty-printed, joined by commas, closed by an empty object; 17.5056918% needs quotes and only its own entry suffers."""
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


def test_a_line_over_the_cap_is_skipped_unread_and_its_id_kept() -> None:
    """A line of a gigabyte must cost no gigabyte."""
    entries, _ = read('{"instance_id": "long", "v": "' + "x" * 5000 + f'"}}\n{GOOD}\n', line_bytes=1000)
    assert entries[0].fault is not None
    assert (entries[0].fault.code, entries[0].instance_id, entries[0].hint) == ("TOO_LARGE", "long", "one object a line")
    assert entries[1].value == {"instance_id": "good", "v": 1}
    assert entries[1].line == 2
    for size, name in ((4096, "long"), (4097, None)):
        head = '", "instance_id": "long"'.rjust(size - len('{"v": "'), "x")
        entries, _ = read('{"v": "' + head + ', "w": "' + "x" * 5000, line_bytes=5000)
        assert [entry.instance_id for entry in entries] == [name], "as much of the line is kept"


def test_the_longest_line_the_longest_number_and_a_quoted_value() -> None:
    """Each is read at its limit, and one more is too much; the end of a line counts."""
    line = f"{GOOD}\n"
    assert read(line * 2, line_bytes=len(line))[0][1] == Entry(line=2, value=json.loads(GOOD))
    assert [entry.fault and entry.fault.code for entry in read(f"{GOOD} \n{line}", line_bytes=len(line))[0]] == ["TOO_LARGE", None]
    for numbers, digits in product(("value", "text"), ("9" * 4300, "0." + "9" * 4298)):
        assert read(f'{{"a": {digits}}}', numbers)[0][0].fault is None
        assert read(f'{{"a": {digits}9}}', numbers)[0][0].fault == Fault(code="BAD_JSON", detail="a number has more than 4300 digits")
    assert (quote_value("x" * 60), quote_value("x" * 61)) == (repr("x" * 60), repr("x" * 59 + "…"))
    assert quote_value(12) == "'12'"


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
    assert skip_broken(text, start) == end


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
        (
            '\n\n  {"a":\n"x"\n',
            [(3, None, "not valid JSON at column 1: it ends early, as if it was cut", "", None)],
            {SEVERAL: 3},
        ),
        (
            '{"instance_id": "\\q", "v": 0.50, "w": x1}\n{"instance_id": "a", "instance_id": "b", "v": z}\n',
            [
                (1, None, "not valid JSON at column 18", f'{QUOTE}"x1"', None),
                (2, None, "not valid JSON at column 47", f'{QUOTE}"z"', "b"),
            ],
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


def test_an_object_over_several_lines_may_be_as_long_as_a_line() -> None:
    """More than that is given up, at the line where it is too much."""
    text = '{"a": "' + "x" * 40 + '",\n"b": "y"\n'
    for most, is_whole in ((len(text), True), (len(text) - 1, False)):
        (first, second, *_, last), _ = read(f'{{"z":\n1}}\n{text}}}\n{GOOD}\n', line_bytes=most)
        assert (first.value, second.value is not None, last) == ({"z": 1}, is_whole, Entry(line=6, value=json.loads(GOOD)))


def test_a_line_of_nothing_but_broken_objects_is_given_up_after_a_hundred() -> None:
    """Otherwise each would cost a pass over the whole line."""
    entries, _ = read("{]" * 100_000 + f"\n{GOOD}\n")
    assert len(entries) == 103
    assert entries[-1].value == {"instance_id": "good", "v": 1}


@given(st.binary(max_size=200) | st.text(alphabet='{}[],:"\\ \na1é', max_size=60).map(str.encode))
def test_no_content_raises(content: bytes) -> None:
    """Whatever the bytes: entries that are either a value or a fault, on lines that exist."""
    entries, _ = read(content)
    assert all((entry.value is None) == (entry.fault is not None) for entry in entries)
    assert all(1 <= entry.line <= content.count(b"\n") + 1 for entry in entries)
