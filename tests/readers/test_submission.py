"""Submission folders: three keys are read, in blocks as line by line; each entry is judged alone, and a folder fails with a clear word."""

import json
import os
import pickle
import re
from array import array
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.cli import main
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError, MachineError, SubmissionError
from evalsuite.core.types import METADATA, Answer, Submission
from evalsuite.gold.layouts import read_submission
from evalsuite.readers import submission
from evalsuite.readers.json_text import BLOCK_BYTES, PlainLines
from evalsuite.readers.json_text import place as where_of
from evalsuite.readers.limits import DEFAULT_LIMITS, resolve_limits
from evalsuite.readers.submission import AnswerCollector, AnswerList, CompactAnswers, GoldAnswerCollector, SampleCollector, read_metadata
from evalsuite.readers.submission_files import read_projects, submission_hash
from tests.duckdb_files import opened
from tests.properties import examples
from tests.readers.test_json_text import README_EXAMPLE

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def folder(tmp_path: Path, *entries: object) -> Path:
    """A submission folder whose metadata holds the entries, a text as it stands."""
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    (tmp_path / METADATA).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def entry(id_: Any, kind: Any = "answer", value: Any = "x", **more: Any) -> dict[str, Any]:
    """One line of a submission."""
    return {"instance_id": id_, "answer_type": kind, "answer_or_path": value, **more}


def fault(submission: Submission, id_: str) -> tuple[str, str]:
    """Code and detail of an answer's fault."""
    found = submission.answers[id_].fault
    assert found is not None
    assert found.where == submission.answers[id_].where
    return found.code, found.detail


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path / "nope", "{path}/nope: no such submission folder"),
        (lambda path: path / "file.txt", "{path}/file.txt: not a folder"),
        (lambda path: path / "empty", "no results_metadata.jsonl in {path}/empty (MISSING_FILE)"),
        (lambda path: path / "utf16", "utf16/results_metadata.jsonl: BAD_ENCODING: the text is UTF-16, not UTF-8"),
        (lambda path: path / "utf16be", "utf16be/results_metadata.jsonl: BAD_ENCODING: the text is UTF-16, not UTF-8"),
        (lambda path: path / "folder", "folder/results_metadata.jsonl: NOT_REGULAR_FILE: a folder is where a file is needed"),
        (lambda path: path / "large", "large/results_metadata.jsonl: TOO_LARGE: 2000000 bytes, the limit is 1000000"),
    ],
)
def test_a_folder_that_cannot_be_read_says_why(tmp_path: Path, make: Any, message: str) -> None:
    """The whole submission is unreadable: exit code 2, one sentence, one hint."""
    (tmp_path / "file.txt").write_text("x")
    for name in ("empty", "utf16", "folder", "large"):
        (tmp_path / name).mkdir()
    (tmp_path / "utf16" / METADATA).write_text("{}", encoding="utf-16")
    (tmp_path / "utf16be").mkdir()
    (tmp_path / "utf16be" / METADATA).write_text("\ufeff{}", encoding="utf-16-be")
    (tmp_path / "folder" / METADATA).mkdir()
    with (tmp_path / "large" / METADATA).open("wb") as handle:
        handle.truncate(2_000_000)
    with pytest.raises(SubmissionError) as caught:
        read_submission(make(tmp_path), resolve_limits({"metadata_bytes": 1_000_000}))
    assert caught.value.message == message.format(path=tmp_path)
    assert caught.value.hint
    assert (caught.value.hint == "raise the limit metadata_bytes") is ("TOO_LARGE" in message)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ((), "this one contains nothing"),
        (("b.txt", "a.csv"), "and one folder per instance; this one contains a.csv, b.txt"),
        (("x_eval.jsonl",), "{0} contains *_eval.jsonl, so it is gold: name the folder of answers instead"),
        (tuple(f"s{at}/{METADATA}" for at in range(4)), "did you mean '{0}/s0' or '{0}/s1' or '{0}/s2'?"),
        ((f"../{METADATA}",), "did you mean '{0.parent}'?"),
    ],
)
def test_what_is_there_in_place_of_metadata(tmp_path: Path, files: tuple[str, ...], hint: str) -> None:
    """Gold, a folder of submissions, a file of another name, or anything else is named, so that the right place is found."""
    here = tmp_path / "here"
    here.mkdir()
    for name in files:
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).touch()
    with pytest.raises(SubmissionError) as refused:
        read_submission(here)
    assert refused.value.hint.endswith(hint.format(here))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no links on this system")
def test_the_metadata_may_be_no_link(tmp_path: Path) -> None:
    """A link could show gold's own lines."""
    (tmp_path / "gold.jsonl").write_text("{}")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / METADATA).symlink_to(tmp_path / "gold.jsonl")
    with pytest.raises(SubmissionError, match=r"sub/results_metadata\.jsonl: BAD_PATH: the path goes through a link") as refused:
        read_submission(tmp_path / "sub")
    assert refused.value.hint == f"{METADATA} must be a regular file, not a link"


@pytest.mark.parametrize(
    ("kind", "value", "detail"),
    [
        ("answer", None, "answer_or_path must be a text for 'answer', found null"),
        ("answer", ["x"], "answer_or_path must be a text for 'answer', found a list"),
        ("answer", True, "answer_or_path must be a text for 'answer', found true"),
        ("answer", {"a": 1}, "answer_or_path must be a text for 'answer', found an object"),
        ("file", None, "answer_or_path must be a path for 'file', found null"),
        ("file", ["r.csv"], "answer_or_path must be a path for 'file', found a list"),
        ("file", 5, "answer_or_path must be a path for 'file', found a number"),
        ("files", "r.csv", "answer_or_path must be a list of paths for 'files', found a text"),
        ("files", [], "answer_or_path must be a list of paths for 'files', found an empty list"),
        ("files", ["r.csv", 5], "answer_or_path must be a list of paths for 'files', found a list"),
        ("File", "r.csv", "answer_type must be answer, file or files, found 'File'"),
        ("csv", "r.csv", "answer_type must be answer, file or files, found 'csv'"),
        (["answer", "file"], "x", "answer_type must be answer, file or files, found a list"),
        (None, "x", "answer_type must be answer, file or files, found null"),
        (1, "x", "answer_type must be answer, file or files, found a number"),
    ],
)
def test_an_entry_of_the_wrong_shape_is_that_instances_fault(tmp_path: Path, kind: Any, value: Any, detail: str) -> None:
    """The instance is faulty, the others are not."""
    read = read_submission(folder(tmp_path, entry("bad", kind, value), entry("good")))
    assert fault(read, "bad") == ("BAD_METADATA", detail)
    assert (read.answers["bad"].value, read.answers["bad"].answer_type) == ("", kind if kind in ("answer", "file", "files") else "")
    assert read.answers["good"].fault is None


@pytest.mark.parametrize("key", ["answer_type", "answer_or_path"])
def test_a_missing_key_is_that_instances_fault(tmp_path: Path, key: str) -> None:
    """There is no default for either."""
    given = {name: value for name, value in entry("q").items() if name != key}
    assert fault(read_submission(folder(tmp_path, given)), "q") == ("BAD_METADATA", f"the key '{key}' is missing")


def test_repeated_and_unknown_ids_and_large_answers(tmp_path: Path) -> None:
    """No one of a repeated id wins, others are counted with their lines, an unquoted value is its own fault; limits count bytes."""
    read = read_submission(folder(tmp_path, entry("a", value="1"), entry("b"), entry("a", value="2")))
    assert fault(read, "a") == ("DUPLICATE_ID", "the instance is on lines 1 and 3")
    assert list(read.answers) == ["a", "b"]
    many = read_submission(folder(tmp_path, *[entry("a")] * 9))
    assert fault(many, "a") == ("DUPLICATE_ID", "the instance is on lines 1, 2, 3, 4 and 5 and more")
    five = read_submission(folder(tmp_path, *[entry("a")] * 5))
    assert fault(five, "a") == ("DUPLICATE_ID", "the instance is on lines 1, 2, 3, 4 and 5")
    read = read_submission(folder(tmp_path, README_EXAMPLE))
    assert list(read.answers) == ["aaa-1", "aaa-2", "aaa-3"]
    assert fault(read, "aaa-1") == ("BAD_METADATA", 'not valid JSON at column 33; put quotes around the value: "17.5056918%"')
    assert [read.answers[id_].value for id_ in ("aaa-2", "aaa-3")] == ["Google Ring", "output.csv"]
    assert read.notes[1:] == (
        f"{METADATA}:1: an object over several lines is read as one",
        f"{METADATA}:6: commas between objects are skipped",
        f"{METADATA}:16: an empty object {{}} is skipped",
    )
    here = folder(tmp_path, entry("a", value="é" * 6), entry("b", "files", ["ab.csv", "c.csv"]), entry("c", "file", "x" * 11))
    most = read_submission(here, resolve_limits({"answer_bytes": 12, "files": 2}))
    assert [answer.fault for answer in most.answers.values()] == [None] * 3
    less = read_submission(here, resolve_limits({"answer_bytes": 11, "files": 1}))
    assert fault(less, "a") == ("TOO_LARGE", "the answer has 12 bytes, the limit answer_bytes is 11")
    assert fault(less, "b") == ("LIMIT", "the answer names 2 files, the limit files is 1")
    assert less.answers["c"].fault is None
    assert {answer.value for answer in less.answers.values() if answer.fault} == {""}
    assert fault(read_submission(here, resolve_limits({"answer_bytes": 10})), "b")[0] == "TOO_LARGE"
    size = (here / METADATA).stat().st_size
    assert read_submission(here, resolve_limits({"metadata_bytes": size})).n_objects == 3
    with pytest.raises(SubmissionError, match=f"TOO_LARGE: {size} bytes, the limit is {size - 1}"):
        read_submission(here, resolve_limits({"metadata_bytes": size - 1}))
    entries = [*(entry(f"x{at}") for at in range(4)), entry("b"), entry("a"), *[entry("b")] * 7]
    for limits in ({"notes": 2}, {"notes": 2, "line_bytes": BLOCK_BYTES - 1}):
        read = read_metadata(folder(tmp_path, *entries), resolve_limits(limits), ["a", "b", "c"])
        assert (list(read.answers), read.n_unknown, read.n_objects) == (["b", "a"], 4, 13)
        assert read.unknown == (("results_metadata.jsonl:1", "x0"), ("results_metadata.jsonl:2", "x1"))
        assert fault(read, "b") == ("DUPLICATE_ID", "the instance is on lines 5, 7, 8, 9 and 10 and more")
        assert read.answers["a"].fault is None
    twice = read_metadata(folder(tmp_path, entry("a"), entry("b"), entry("a")), ids=["a", "b"])
    assert fault(twice, "a") == ("DUPLICATE_ID", "the instance is on lines 1 and 3")


def test_what_is_not_read_is_noted(tmp_path: Path) -> None:
    """Other keys change nothing but the notes, which are few and printable; so much is kept of ids that nobody asked for."""
    read = read_submission(folder(tmp_path, entry("a"), entry("b", evaluation={"func": "x"}), entry("c", evaluation=1, score=1)))
    assert read.notes == (
        "results_metadata.jsonl:2: key 'evaluation' is not read (2 entries)",
        "results_metadata.jsonl:3: key 'score' is not read (1 entry)",
    )
    assert read.answers["b"].fault is None
    read = read_submission(folder(tmp_path, *["junk"] * 8), resolve_limits({"notes": 5}))
    assert len(read.notes) == 6
    assert read.notes[-1] == "results_metadata.jsonl: 3 more notes not shown"
    read = read_submission(folder(tmp_path, entry("a", **{"\x1b[2J": 1})))
    assert read.notes == ("results_metadata.jsonl:1: key '\\x1b[2J' is not read (1 entry)",)
    keys = {f"k{at}": 1 for at in range(7)}
    read = read_metadata(folder(tmp_path, entry("a", **keys), entry("x" * 300)), resolve_limits({"notes": 2}), ["a"])
    assert read.answers["a"].unread == tuple(f"'k{at}'" for at in range(5))
    assert read.notes == tuple(f"results_metadata.jsonl:1: key 'k{at}' is not read (1 entry)" for at in range(2))
    assert read.unknown == (("results_metadata.jsonl:2", "x" * 200),)
    sampled = SampleCollector(["x" * 300], 1, 2, most_shown=1)
    sampled.add(Answer(instance_id="x" * 300, answer_type="answer", value="", where=where_of(7)), 7)
    assert list(sampled.unequal()) == [(7, "x" * 200, 1)]


@pytest.mark.parametrize("id_", [5, None, ["a"], "", {}])
def test_an_entry_without_a_usable_id_is_a_note(tmp_path: Path, id_: Any) -> None:
    """It can be nobody's answer."""
    read = read_submission(folder(tmp_path, entry("good"), entry(id_)))
    assert list(read.answers) == ["good"]
    assert read.notes == ("results_metadata.jsonl:2: BAD_METADATA: instance_id must be a non-empty text",)


def marked(answer: Answer, lines: list[int]) -> Answer:
    """An answer that says on which lines its id is."""
    return replace(answer, value=f"{answer.value}: {lines}")


@examples(300)
@given(st.lists(st.sampled_from("abcdx" + "é" * 2), max_size=14), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2))
def test_what_is_kept_of_lines(ids: list[str], sample: int, more: int, most_shown: int) -> None:
    """Of all answers, of those to gold's ids, and of one sample of several: one for each id, in file order; the others are counted."""
    n_samples, gold = sample + more - 1, "abc"
    lines: dict[str, list[int]] = {}
    for line, name in enumerate(ids, start=1):
        lines.setdefault(name, []).append(line)
    everyone, of_gold = AnswerCollector(), GoldAnswerCollector(gold, most_shown=most_shown)
    of_sample = SampleCollector(gold, sample, n_samples, most_shown=most_shown)
    for line, name in enumerate(ids, start=1):
        for collected in (everyone, of_gold, of_sample):
            collected.add(Answer(instance_id=name, answer_type="answer", value=str(line), where=where_of(line)), line)
    said = {name: f"{at[0]}: {at}" if len(at) > 1 else str(at[0]) for name, at in lines.items()}
    for compact_from in (0, 100):
        found = everyone.answers(marked, compact_from=compact_from)
        assert [(name, answer.value) for name, answer in found.items()] == list(said.items())
        assert (len(found), found.get("none")) == (len(said), None)
    asked = {name: at for name, at in lines.items() if name in gold}
    kept = {name: f"{at[0]}: {at[:6]}" if len(at) > 1 else str(at[0]) for name, at in asked.items()}
    assert [(name, answer.value) for name, answer in of_gold.answers(marked).items()] == list(kept.items())
    samples = {name: str(at[sample - 1]) for name, at in asked.items() if len(at) >= sample}
    samples |= {name: f"{value}: {asked[name][: n_samples + 1]}" for name, value in samples.items() if len(asked[name]) > n_samples}
    assert {name: answer.value for name, answer in of_sample.answers(marked).items()} == samples
    unequal = [(at[: n_samples + 1][-1], name, min(len(at), n_samples + 1)) for name, at in asked.items() if len(at) != n_samples]
    assert list(of_sample.unequal()) == unequal
    others = [(where_of(line), name) for line, name in enumerate(ids, start=1) if name not in gold]
    for collector in (of_gold, of_sample):
        assert (collector.n_unknown, collector.unknown) == (len(others), others[:most_shown])


def test_ids_of_one_hash_are_not_one_id() -> None:
    """Of answers with equal hashes only those of one id are marked as repeated."""
    answers = [Answer(instance_id=name, answer_type="answer", value=name, where=where_of(line)) for line, name in enumerate("abca", 1)]
    found = CompactAnswers([AnswerList(answers, [1, 2, 3, 4])], array("q", [7] * 4), marked)
    assert [answer.value for answer in found.in_order()] == ["a: [1, 4]", "b", "c"]
    collected = AnswerCollector()
    for answer in answers:
        collected.add(answer, 1)
    assert [type(collected.answers(marked, compact_from=n)) for n in (4, 5)] == [CompactAnswers, dict]


def test_an_array_in_place_of_lines(tmp_path: Path) -> None:
    """`results_metadata.json` is read with one note, behind any blanks, with its own places; one without answers is refused."""
    for blanks in (1, 65_533, 65_536, 65_537, 200_000):
        (tmp_path / "results_metadata.json").write_text("\ufeff" + " " * blanks + json.dumps([entry("a"), entry("b")]), encoding="utf-8")
        read = read_submission(tmp_path)
        assert ([*read.answers], len(read.notes)) == (["a", "b"], 1), blanks
    other = tmp_path / "results_metadata.json"
    for text, where in ((json.dumps([entry("a"), entry("a"), entry("b"), {"x": 1}], indent=0), 1), ("\n\n" + json.dumps(entry("b")), 3)):
        other.write_text("\ufeff" + text, encoding="utf-8")
        read = read_submission(tmp_path)
        assert (read.metadata, read.notes[0]) == (other.name, f"{other.name} is read as {METADATA}, one object per line")
        assert all(METADATA not in f"{answer.where} {answer.fault}" for answer in read.answers.values())
        assert all(note.startswith(f"{other.name}:") for note in read.notes[1:])
        assert read.answers["b" if where > 1 else "a"].where.startswith(f"{other.name}:")
    other.write_text(json.dumps([entry("a", "files", ["x.csv"]), {"instance_id": "b"}]))
    read = read_submission(tmp_path)
    assert [(answer.value, answer.where) for answer in read.answers.values()] == [(("x.csv",), f"{other.name}:1"), ("", f"{other.name}:1")]
    other.write_text(json.dumps([entry("a", **{METADATA: 1})]))
    assert read_submission(tmp_path).notes[1:] == (f"{other.name}:1: key '{METADATA}' is not read (1 entry)",)
    for content, why in (
        (b"[{}]", ""),
        (b'[{"x": 1}]', "no object in it has an instance_id"),
        (b"[\xff]", "BAD_ENCODING: byte 2 is not UTF-8"),
    ):
        other.write_bytes(content)
        if why:
            with pytest.raises(SubmissionError, match=why):
                read_submission(tmp_path)
    other.unlink()
    (tmp_path / "results.jsonl").write_text("{}")
    with pytest.raises(SubmissionError) as unlike:
        read_submission(tmp_path)
    assert unlike.value.hint


def test_a_file_above_the_limit_is_not_read_to_hash_it(tmp_path: Path) -> None:
    """A file with a hole of a terabyte costs nothing: it counts by its fault, and mending it changes the hash."""
    (tmp_path / "a").mkdir()
    (tmp_path / "results_metadata.jsonl").write_text('{"instance_id": "a", "answer_type": "file", "answer_or_path": "r.csv"}\n')
    with (tmp_path / "a" / "r.csv").open("wb") as file:
        file.truncate(1 << 40)
    huge = submission_hash(read_submission(tmp_path))
    (tmp_path / "a" / "r.csv").write_bytes(b"x\n1\n")
    assert submission_hash(read_submission(tmp_path)) != huge


@pytest.mark.skipif(os.name != "posix", reason="absolute paths begin with a slash")
@pytest.mark.parametrize("root", ["{}", "\\/tmp", "\\u002Ftmp"])
def test_an_absolute_path_into_the_own_folder_is_read_as_a_relative_one(root: str, tmp_path: Path) -> None:
    """Of every spelling that JSON has for its first slash; texts, and paths that lead elsewhere, stay as they are."""
    (tmp_path / "sub" / "q1").mkdir(parents=True)
    place = str(tmp_path / "sub")
    spelled = place if root == "{}" else root.replace("tmp", place[1:])
    lines = [f'{{"instance_id": "q1", "answer_type": "{kind}", "answer_or_path": "{spelled}/q1/a/r.csv"}}\n' for kind in ("file", "answer")]
    listed = f'{{"instance_id": "q1", "answer_type": "files", "answer_or_path": ["{spelled}/q1/r.csv", "{spelled}/q2/r.csv", "x.csv"]}}\n'
    expected = ["a/r.csv", f"{place}/q1/a/r.csv", ("r.csv", f"{place}/q2/r.csv", "x.csv")]
    for line, value in zip([*lines, listed], expected, strict=True):
        (tmp_path / "sub" / METADATA).write_text(line)
        assert read_submission(tmp_path / "sub").answers["q1"].value == value
        # Beside lines that are read many at a time.
        plain = "".join(json.dumps(entry(f"p{i}", "file", "r.csv")) + "\n" for i in range(50))
        (tmp_path / "sub" / METADATA).write_text(plain + line + plain.replace('"p', '"s'))
        answers = read_submission(tmp_path / "sub").answers
        assert (answers["q1"].value, len(answers)) == (value, 101)


@pytest.mark.parametrize("sample", [1, 2, 3])
def test_a_sample_has_one_line_of_each_id(tmp_path: Path, sample: int) -> None:
    """The i-th line is the i-th sample; who has fewer is absent, who has more is wrong in each, and both are named."""
    lines = ["a", "b", "a", "c", "a", "b", "c", "c", "c"]
    place = folder(tmp_path, *(entry(id_, value=f"{id_}{line}") for line, id_ in enumerate(lines, 1)))
    read = read_metadata(place, ids=["a", "b", "c"], sample=(sample, 3))
    expected = {1: {"a": "a1", "b": "b2"}, 2: {"a": "a3", "b": "b6"}, 3: {"a": "a5"}}[sample]
    assert {id_: answer.value for id_, answer in read.answers.items() if id_ != "c"} == expected
    assert fault(read, "c")[0] == "DUPLICATE_ID"
    few, many = "'b' has 2 of 3 samples: missing ones count as wrong", "'c' has more than 3 samples: all of them count as wrong"
    assert sorted(note.partition(": ")[2] for note in read.notes) == [few, many]


def test_databases_in_place_of_metadata(tmp_path: Path) -> None:
    """One in the folder of an instance is its answer, several are nobody's; of other instances only their number is kept."""
    databases = ("a/x", "b/1", "b/2", "c/3", "c/4", "c/5", "c/6", "d/.x")
    for name in ("e/x.csv", *(f"{place}.duckdb" for place in databases)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    read = read_projects(tmp_path, DEFAULT_LIMITS, None)
    assert read is not None
    assert [(name, answer.value, answer.where) for name, answer in read.answers.items()] == [
        ("a", "x.duckdb", "a/x.duckdb"),
        ("b", "", "b/1.duckdb"),
        ("c", "", "c/3.duckdb"),
    ]
    assert (read.n_unknown, read.n_objects, read.metadata) == (0, 3, "")
    several = "databases ({}) and no results_metadata.jsonl that names one"
    assert [fault(read, name)[1] for name in "bc"] == [
        f"2 {several.format('1.duckdb, 2.duckdb')}",
        f"4 {several.format('3.duckdb, 4.duckdb, 5.duckdb, ...')}",
    ]
    some = read_projects(tmp_path, resolve_limits({"notes": 1}), ["a", "x"])
    assert some is not None
    assert ([*some.answers], some.unknown, some.n_unknown, some.n_objects) == (["a"], (("b/1.duckdb", "b"),), 2, 3)
    assert read_projects(tmp_path, DEFAULT_LIMITS, ["x"]) is None
    (tmp_path / "x_eval.jsonl").touch()
    assert read_projects(tmp_path, DEFAULT_LIMITS, None) is None


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


def test_many_lines_and_large_answers_in_blocks(tmp_path: Path) -> None:
    """Planted faults are found on their lines, an answer over its limit as alone; small line limits need the other reader."""
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
    rows = [
        json.dumps({"instance_id": f"i{at}", "answer_type": "answer", "answer_or_path": "é" * size}, ensure_ascii=False)
        for at, size in enumerate((5, 40_000, 20_000))
    ]
    plain, blocks, compact = read_in_every_way(tmp_path, ("\n".join(rows) + "\n").encode())
    assert same(plain, blocks)
    assert same(plain, compact)
    assert [answer.fault.code if answer.fault else None for answer in blocks.answers.values()] == [None, "TOO_LARGE", None]
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


def database(place: Path, n: int) -> None:
    """A database with a table `base data` of n rows and dbt's view `mart` over it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with opened(place) as writer:
        writer.execute(f'CREATE TABLE "base data" AS SELECT i FROM range({n}) AS t(i)')
        writer.execute(f'CREATE VIEW mart AS SELECT i * 2 AS twice FROM "{place.stem}"."main"."base data"')


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """(projects, gold) of three instances: one right, one with two databases, one not handed in."""
    gold, projects = tmp_path / "gold", tmp_path / "projects"
    specs = []
    for name in ("shop001", "shop002", "shop003"):
        (gold / name).mkdir(parents=True)
        with opened(gold / name / "shop.duckdb") as writer:
            writer.execute("CREATE TABLE mart AS SELECT i * 2 AS twice FROM range(3) AS t(i)")
        check = {"func": "duckdb_match", "parameters": {"gold": "shop.duckdb", "ignore_orders": [True], "reference": "dbt"}}
        specs.append(json.dumps({"instance_id": name, "evaluation": check}))
    (gold / "made_eval.jsonl").write_text("\n".join(specs) + "\n")
    database(projects / "shop001" / "my shop.duckdb", 3)
    (projects / "shop001" / "models").mkdir()
    (projects / "shop001" / "dbt_project.yml").write_text("name: shop\n")
    for name in ("a", "b"):
        database(projects / "shop002" / f"{name}.duckdb", 3)
    database(projects / "elsewhere" / "shop.duckdb", 3)
    return projects, gold


def test_projects_are_a_submission(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The one database of a folder is its answer, several are a fault; gold or a folder without any is no submission."""
    projects, gold = folders
    assert main(["run", str(projects), "--gold", str(gold), "--out", str(tmp_path / "out"), "--no-cache"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text().splitlines()]
    assert [(row["status"], row["score"]) for row in rows] == [("scored", 1), ("submission_fault", 0), ("missing", 0)]
    assert "2 databases (a.duckdb, b.duckdb)" in rows[1]["reason"]
    assert "no results_metadata.jsonl" in capsys.readouterr().out
    _, gold = folders
    (tmp_path / "empty" / "shop001").mkdir(parents=True)
    other = tmp_path / "other gold"
    other.mkdir()
    (other / "made_eval.jsonl").write_text((gold / "made_eval.jsonl").read_text())
    database(other / "shop001" / "shop.duckdb", 3)
    for place in (other, tmp_path / "empty"):
        assert main(["run", str(place), "--gold", str(gold), "--no-save", "-q"]) == 2
        assert "no results_metadata.jsonl" in capsys.readouterr().err


def test_a_machine_that_opens_nothing_is_not_the_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is told apart from metadata that cannot be read."""
    (tmp_path / METADATA).write_text("")
    monkeypatch.setattr(submission, "open_confined", Mock(side_effect=FaultError("LIMIT", "too many open files", side="setup")))
    with pytest.raises(MachineError, match="too many open files"):
        read_submission(tmp_path)
