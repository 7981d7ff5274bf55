"""Reading metadata in blocks gives what reading it line by line gives, whatever stands in the file."""

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.core.types import Submission
from evalsuite.gold.layouts import read_submission
from evalsuite.readers import submission
from evalsuite.readers.json_text import BLOCK_BYTES, PlainLines
from evalsuite.readers.limits import DEFAULT_LIMITS
from tests.properties import examples

# Below the size of a block nothing is read in blocks: the reader that knows everything sees each line.
LINE_BY_LINE = {**DEFAULT_LIMITS, "line_bytes": BLOCK_BYTES - 1}
TEXTS = st.text(st.sampled_from('aé"\\\n\r\t\x00\x1f\x7f\x85\u2028😀{}[],: 1'), max_size=6)
IDS = st.one_of(st.sampled_from(["a", "b", "c", "d"]), TEXTS)
PAIRS = st.fixed_dictionaries(
    {
        "instance_id": IDS,
        "answer_type": st.sampled_from(["answer", "file", "files", "x", 1]),
        "answer_or_path": st.one_of(TEXTS, st.just(1.50)),
    }
)
SPACES = st.sampled_from([(", ", ": "), (",", ":"), (" ,\t", " : ")])


@st.composite
def lines(draw: st.DrawFn) -> str:
    """One line: an object with its keys in some order and with some spaces, a key twice, or something else altogether."""
    odd = [
        "",
        " ",
        "{}",
        "[",
        "]",
        "junk",
        '{"instance_id": "a"',
        "}",
        '{"instance_id": "\\ud800", "answer_type": "answer", "answer_or_path": ""}',
    ]
    odd += [
        '{"instance_id": "a", "instance_id": "b", "answer_type": "answer", "answer_or_path": "x"}',
        '{"instance_id": "a", "answer_type":',
    ]
    odd += [
        '{"instance_id": "q", "answer_type": "answer", "answer_or_path": "\\u12"}',
        '{"instance_id": "r", "answer_type": "answer", "answer_or_path": "\\x"}',
    ]
    if draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(odd))
    pairs = draw(st.permutations(list(draw(PAIRS).items())))
    if draw(st.integers(0, 6)) == 0:
        pairs = [*pairs, draw(st.sampled_from([("score", 1), ("instance_id", "b"), ("evaluation", {"func": "x"})]))]
    comma, colon = draw(SPACES)
    ascii_only = draw(st.booleans())
    return "{" + comma.join(json.dumps(k) + colon + json.dumps(v, ensure_ascii=ascii_only) for k, v in pairs) + "}"


def same(left: Submission, right: Submission) -> bool:
    """Whether two readings agree in every answer, their order, and all notes."""
    return (
        list(left.answers) == list(right.answers)
        and list(left.answers.values()) == list(right.answers.values())
        and replace(left, answers={}) == replace(right, answers={})
    )


def read_in_every_way(folder: Path, content: bytes) -> list[Submission]:
    """What the reader makes of a file: line by line, in blocks, and in blocks into the compact store."""
    (folder / "results_metadata.jsonl").write_bytes(content)
    found = [read_submission(folder, LINE_BY_LINE), read_submission(folder)]
    with patch.object(submission.AnswerCollector.answers, "__kwdefaults__", {"compact_from": 1}):
        found.append(read_submission(folder))
    return found


PLAIN_LINE = '{"instance_id": "%s", "answer_type": "answer", "answer_or_path": "x"}'


@examples(300)
@example(content=[PLAIN_LINE % "a", "[", PLAIN_LINE % "b", "]"], end="\n", last=True, mark=b"", wild=b"")
@example(content=["{}"] * 9 + ["[", PLAIN_LINE % "b", "]"], end="\n", last=True, mark=b"", wild=b"")
@example(content=['{"instance_id":', *["{}"] * 9, "}", PLAIN_LINE % "b"], end="\n", last=True, mark=b"", wild=b"")
@given(
    content=st.lists(lines(), max_size=8),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    wild=st.sampled_from([b"", b"\xff\n", b"\n \r\n" * 9 + b"{}\n"]),
)
def test_blocks_read_what_lines_read(
    content: list[str], end: str, last: bool, mark: bytes, wild: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any file gives the same answers, faults, notes and order in each way of reading."""
    folder = tmp_path_factory.mktemp("read")
    text = end.join(content) + (end if last else "")
    plain, blocks, compact = read_in_every_way(folder, mark + text.encode("utf-8", "surrogatepass") + wild)
    assert same(plain, blocks)
    assert same(plain, compact)
    assert all(compact.answers[name] == answer for name, answer in plain.answers.items())
    assert len(compact.answers) == len(plain.answers)


def test_many_lines_with_planted_faults(tmp_path: Path) -> None:
    """Over several blocks: an id twice far apart, a key twice, an object over two lines and a broken line are found on their lines."""
    rows = [json.dumps({"instance_id": f"i{at}", "answer_type": "answer", "answer_or_path": f"x{at}"}) for at in range(12_000)]
    rows[100] = rows[11_000]
    rows[4_000] = rows[4_000].replace('"answer_type"', '"answer_or_path": "y", "answer_type"')
    rows[6_000] = rows[6_000].replace(', "answer_type"', ',\n "answer_type"')
    rows[8_000] = "{broken"
    plain, blocks, compact = read_in_every_way(tmp_path, ("\n".join(rows) + "\n").encode())
    assert same(plain, blocks)
    assert same(plain, compact)
    assert (type(blocks.answers).__name__, type(compact.answers).__name__) == ("dict", "CompactAnswers")
    answers = compact.answers
    assert "i100" not in answers
    assert answers.get("nothing") is None
    twice = answers["i11000"].fault
    assert twice is not None
    assert twice.detail == "the instance is on lines 101 and 11002"
    assert "is repeated" in str(answers["i4000"].fault)
    assert answers["i11999"].where == "results_metadata.jsonl:12001"
    assert pickle.loads(pickle.dumps(answers)) == dict(answers)


def row_of(line: str, longest: int) -> tuple[str, ...]:
    """The texts of a line that is plain: the three keys once, a known type, an id without escapes, no absolute path, not too long."""
    try:
        pairs = json.loads(line, object_pairs_hook=list) if line.startswith("{") else []
        line.encode()
        "".join(str(value) for _, value in pairs).encode()
    except ValueError:
        return ("", "", "")
    found = dict(pairs)
    keys = ("instance_id", "answer_type", "answer_or_path")
    if len(pairs) != 3 or {*found} != {*keys} or not all(isinstance(value, str) for value in found.values()):
        return ("", "", "")
    name, kind, value = (found[key] for key in keys)
    is_known = kind in ("answer", "file") and name and not re.search(r'[\x00-\x1f"\\]', name)
    return (name, kind, value) if is_known and not value.startswith("/") and len(value) <= longest else ("", "", "")


@examples(600)
@given(st.lists(lines(), max_size=8), st.integers(1, 8))
def test_exactly_the_plain_lines_are_decoded(content: list[str], longest: int) -> None:
    """Each plain line of any text has its row, and each other line none."""
    content = [line for line in "\n".join(content).encode("utf-8", "ignore").decode().split("\n") if line.strip()]
    rows = [row_of(line, longest) for line in content]
    plain = PlainLines({**DEFAULT_LIMITS, "answer_bytes": 4 * longest + 3})
    others = [at for at, row in enumerate(rows) if not row[0]]
    assert plain.rows("".join(f"{line}\n" for line in content).encode()) == (rows, others)


def test_lines_are_read_in_blocks_if_the_limits_allow_a_block() -> None:
    """A limit of lines below a block's size, or none of depth, needs the reader that looks at each line."""
    for limits, usable in (
        ({}, True),
        ({"line_bytes": BLOCK_BYTES}, True),
        ({"line_bytes": BLOCK_BYTES - 1}, False),
        ({"json_depth": 1}, True),
    ):
        assert PlainLines({**DEFAULT_LIMITS, **limits}).is_usable is usable
    assert not PlainLines({**DEFAULT_LIMITS, "json_depth": 0}).is_usable
    values = ["x", 'say "x"', "\\", '\\"']
    lines = [json.dumps({"instance_id": "a", "answer_type": "answer", "answer_or_path": value}) for value in values]
    rows = [("a", "answer", value) for value in values]
    assert PlainLines(DEFAULT_LIMITS).rows("".join(f"{line}\n" for line in lines).encode()) == (rows, [])
    mixed = "".join(f"{line}\n" for line in ["junk", *lines, '"' * 12]).encode()
    assert PlainLines(DEFAULT_LIMITS).rows(mixed) == ([("", "", ""), *rows, ("", "", "")], [0, 5])


def test_large_answers_keep_their_limit(tmp_path: Path) -> None:
    """An answer over `answer_bytes` is TOO_LARGE in a block as alone."""
    rows = [
        json.dumps({"instance_id": f"i{at}", "answer_type": "answer", "answer_or_path": "é" * size}, ensure_ascii=False)
        for at, size in enumerate((5, 40_000, 20_000))
    ]
    plain, blocks, compact = read_in_every_way(tmp_path, ("\n".join(rows) + "\n").encode())
    assert same(plain, blocks)
    assert same(plain, compact)
    assert [answer.fault.code if answer.fault else None for answer in blocks.answers.values()] == [None, "TOO_LARGE", None]
