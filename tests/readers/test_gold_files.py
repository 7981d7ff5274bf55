"""Gold's files by themselves: the spec of a folder, files of query pairs, the questions beside them, and answers in one file."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import GoldError, SubmissionError
from evalsuite.core.types import METADATA
from evalsuite.readers import gold_files
from evalsuite.readers.json_text import Layout
from evalsuite.readers.limits import DEFAULT_LIMITS, resolve_limits


@pytest.mark.parametrize(
    ("files", "message", "hint"),
    [
        ([], "{gold}: no *_eval.jsonl file", "give the gold folder itself, or the spec file"),
        (["gold/a_eval.jsonl"], "{gold}: no *_eval.jsonl file", "did you mean '{gold}/gold'?"),
        (["evaluation_suite/gold/a_eval.jsonl"], "{gold}: no *_eval.jsonl file", "did you mean '{gold}/evaluation_suite/gold'?"),
        (["../a_eval.jsonl"], "{gold}: no *_eval.jsonl file", "did you mean '{gold.parent}'?"),
        ([METADATA], "{gold}: no *_eval.jsonl file", f"it contains {METADATA}, so it is a submission: name the gold folder instead"),
        (
            ["b_eval.jsonl", "a_eval.jsonl"],
            "{gold}: several *_eval.jsonl files: a_eval.jsonl, b_eval.jsonl",
            "name one: {gold}/a_eval.jsonl",
        ),
        (None, "{gold}: no such gold folder", "give the folder that contains *_eval.jsonl, or name it with --gold"),
    ],
)
def test_a_folder_without_one_spec(tmp_path: Path, files: list[str] | None, message: str, hint: str) -> None:
    """None or several: the message names the folder, the hint where to look."""
    gold = tmp_path / "here"
    for name in files or ():
        (gold / name).parent.mkdir(parents=True, exist_ok=True)
        (gold / name).touch()
    if files == []:
        gold.mkdir()
    with pytest.raises(GoldError) as refused:
        gold_files.find_spec(gold)
    assert (refused.value.message, refused.value.hint) == (message.format(gold=gold), hint.format(gold=gold))
    (tmp_path / "x.sql").touch()
    assert gold_files.find_spec(tmp_path / "x.sql") == tmp_path / "x.sql"
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(GoldError, match=r"pipe: not a folder$"):
            gold_files.find_spec(tmp_path / "pipe")


def test_pairs_and_answers_in_one_file(tmp_path: Path) -> None:
    """Ids count all lines from 0; a line without a tab is gold's fault, too long a query its answer's, too long a file the submission's."""
    layout = Layout()
    text = "SELECT 1 \t shop\r\n\r\n\tshop\rSELECT\t2\tdb\nx"
    found = list(gold_files.read_gold_pairs(io.BytesIO(text.encode()), limits=DEFAULT_LIMITS, layout=layout))
    assert [(entry.line, entry.value) for entry in found if entry.value] == [
        (1, {"instance_id": "0", "gold": "SELECT 1", "database": "shop"}),
        (4, {"instance_id": "3", "gold": "SELECT\t2", "database": "db"}),
    ]
    assert [(entry.line, entry.fault and entry.fault.code, entry.fault and entry.fault.detail) for entry in found if entry.fault] == [
        (3, "BAD_SPEC", "no database after the query"),
        (5, "BAD_SPEC", "no database after the query"),
    ]
    assert layout.notes == {}
    assert list(gold_files.read_gold_pairs(io.BytesIO(b" \n"), limits=DEFAULT_LIMITS, layout=layout)) == []
    assert layout.notes == {"the file is empty": 1}
    for data, limits, code in ((b"\xff", DEFAULT_LIMITS, "BAD_ENCODING"), (b"a\tb", resolve_limits({"metadata_bytes": 2}), "TOO_LARGE")):
        (entry,) = gold_files.read_gold_pairs(io.BytesIO(data), limits=limits)
        assert (entry.line, entry.fault and entry.fault.code, bool(entry.hint)) == (1, code, True)
    file = tmp_path / "predict.sql"
    file.write_text("SELECT 1\nSELECT 22")
    read = gold_files.read_predictions(file, resolve_limits({"answer_bytes": 8}), None)
    assert [answer.fault and answer.fault.detail for answer in read.answers.values()] == [
        None,
        "the query has 9 bytes, the limit answer_bytes is 8",
    ]
    few = resolve_limits({"notes": 1})
    assert (len(gold_files.read_predictions(file, few, []).unknown), gold_files.read_predictions(file, few, []).n_unknown) == (1, 2)
    for limits, text, why in (({"metadata_bytes": 5}, "SELECT", "TOO_LARGE"), ({}, "{", "BAD_JSON")):
        file.write_text(text)
        with pytest.raises(SubmissionError, match=rf"predict\.sql: {why}") as refused:
            gold_files.read_predictions(file, resolve_limits(limits), None)
        assert refused.value.hint


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("dev.json", [{"q": 1}, {"db_id": "b"}], ""),
        ("dev_gold.json", [{"db_id": "a"}, {}], ""),
        ("dev.json", [{}, {"db_id": "a"}], "dev.json is not read: it does not have one object for each of gold's 2 pairs, in their order"),
        ("dev.json", [{}], "dev.json is not read: it does not have one object for each of gold's 2 pairs, in their order"),
        ("dev.json", [{}, 1], "dev.json is not read: it does not have one object for each of gold's 2 pairs, in their order"),
        ("dev.json", {"a": {}, "b": {}}, "dev.json is not read: it does not have one object for each of gold's 2 pairs, in their order"),
        ("dev.json", "{", "dev.json is not read: BAD_JSON: "),
        ("other.json", [{}, {}], ""),
    ],
)
def test_questions_beside_pairs(tmp_path: Path, name: str, content: Any, note: str) -> None:
    """As many objects as pairs, each of the same database if it names one; else none is used, and a note says why."""
    (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    found, why = gold_files.read_questions(tmp_path / "dev_gold.sql", ["a", "b"])
    assert found == (content if not note and name != "other.json" else [{}, {}])
    assert why == note or (note.endswith(": ") and why.startswith(note))


@pytest.mark.parametrize(
    ("text", "answers", "unknown", "notes"),
    [
        ("SELECT 1\tdb\n\nSELECT 3 \n", {"0": "SELECT 1", "2": "SELECT 3"}, [], []),
        ("a\nb\nc\nd", {"0": "a", "1": "b", "2": "c"}, ["3"], []),
        ('{"0": "a\\t----- bird -----\\tshop", "2": "c\\t"}', {"0": "a", "2": "c"}, [], []),
        (' ["a", null, 7]', {"0": "a"}, [], ["no text for '2': missing"]),
        (
            '{"q1": "a", "q2": "b", "q3": {}}',
            {"0": "a", "1": "b"},
            [],
            [
                "the keys are not numbers of gold's lines: answers are used in their order, as BIRD's evaluator does",
                "no text for 'q3': missing",
            ],
        ),
        ('{"q1": "a", "q2": "b"}', {}, ["q1", "q2"], []),
        (json.dumps(list(range(7))), {}, [], ["no text for '0', '1', '2', '3', '4' and others: missing"]),
        (json.dumps(list(range(5))), {}, [], ["no text for '0', '1', '2', '3', '4': missing"]),
    ],
)
def test_answers_in_one_file(tmp_path: Path, text: str, answers: dict[str, str], unknown: list[str], notes: list[str]) -> None:
    """Lines, a list or an object of queries; what gold does not ask for is counted; without gold's ids all are answers."""
    (tmp_path / "predict.json").write_text(text)
    read = gold_files.read_predictions(tmp_path / "predict.json", DEFAULT_LIMITS, ["0", "1", "2"])
    assert {name: answer.value for name, answer in read.answers.items()} == answers
    assert (read.unknown, read.n_unknown) == (tuple((f"pair {name}", name) for name in unknown), len(unknown))
    assert (list(read.notes), read.n_objects) == (notes, len(answers) + len(unknown))
    alone = gold_files.read_predictions(tmp_path / "predict.json", DEFAULT_LIMITS, None)
    assert (len(alone.answers), alone.n_unknown, alone.digest) == (len(answers) + len(unknown), 0, read.digest)


def test_files_of_gold_and_their_hash(tmp_path: Path) -> None:
    """Whatever hidden ones, links back and the judge's settings say each file counts, in twelve digits; changed ones are named."""
    gold = tmp_path / "gold"
    (gold / "q").mkdir(parents=True)
    (gold / "a_eval.jsonl").write_text("{}")
    (gold / "suite.yaml").write_text("rules: strict\n")
    (gold / "q" / "r.csv").write_text("a\n")
    for name in ("back", "again"):
        (gold / "q" / name).symlink_to(gold / "q")
    first = gold_files.gold_hash(gold)
    assert first == "4775ec028e0d", "another hash would part published runs from their gold"
    (gold / "q" / ".hidden").mkdir()
    (gold / "q" / ".hidden" / "x").write_text("x")
    (gold / "q" / ".x").write_text("x")
    (gold / ".git").mkdir()
    (gold / ".git" / "x").write_text("x")
    assert gold_files.gold_hash(gold) == first
    (gold / "suite.yaml").write_text("rules: strict\njudge: {url: a}\n")
    judged = gold_files.gold_hash(gold)
    (gold / "suite.yaml").write_text("rules: strict\njudge: {url: b}\n")
    assert gold_files.gold_hash(gold) == judged
    hashes = [first, judged]
    for text in (
        "rules: official\njudge: {url: b}\n",
        "# judge\nrules: strict\n",
        "[judge]\n",
        "name: a\njudge: {url: b}\nrules: strict\n",
    ):
        (gold / "suite.yaml").write_text(text)
        hashes.append(gold_files.gold_hash(gold))
    assert len({*hashes}) == len(hashes)
    (gold / "suite.yaml").write_text("rules: strict\nname: a\n")
    hashes.append(gold_files.gold_hash(gold))
    (gold / "suite.yaml").write_text("rules: strict\nname: a\njudge: {url: c}\n")
    assert gold_files.gold_hash(gold) == hashes[-2], "whatever their order"
    (gold / "q" / "s").mkdir()
    before = gold_files.gold_hash(gold)
    (gold / "q" / "s" / "r.csv").write_text("a\n")
    assert gold_files.gold_hash(gold) != before
    gold = tmp_path / "changed"
    (gold / "q").mkdir(parents=True)
    for name in ("a_eval.jsonl", "q/r.csv", "q/s.csv"):
        (gold / name).write_text("{}")
    files = gold_files.read_gold_files(gold)
    assert (files.find_changed(), len(files.hash), files.hash == gold_files.gold_hash(gold)) == ([], 12, True)
    (gold / "q/r.csv").write_text("other")
    (gold / "q/s.csv").unlink()
    assert files.find_changed() == ["q/r.csv", "q/s.csv"]
    assert files.find_changed(["a_eval.jsonl", "q/s.csv"]) == ["q/s.csv"]
    found = {name: (gold / name).stat() for name in ("a_eval.jsonl", "q/r.csv")}
    assert {(status.st_dev, status.st_ino) for status in found.values()} <= gold_files.gold_inodes(gold)
    (gold / "notes.txt").touch()
    assert gold_files.read_gold_files(gold).inodes == gold_files.gold_inodes(gold) == gold_files.gold_inodes(gold / "a_eval.jsonl")
    assert (gold / "notes.txt").stat().st_ino in {inode for _, inode in gold_files.gold_inodes(gold)}
    with pytest.raises(GoldError, match=r"none_eval.jsonl cannot be read: No such file or directory") as refused:
        gold_files.read_gold_files(gold, gold / "none_eval.jsonl")
    assert refused.value.hint == "check the disk and your permissions"
    assert [gold_files.is_bytecode(name) for name in ("q/a.pyc", "q/a.pyo", "q/__pycache__/x", "q/pycache/x.py")] == [
        True,
        True,
        True,
        False,
    ]
    (tmp_path / "away").mkdir()
    (gold / "q/linked").symlink_to(tmp_path / "away")
    (gold / "q/dead").symlink_to(tmp_path / "none")
    assert gold_files.gold_links(gold) == gold_files.gold_links(gold / "a_eval.jsonl") == [tmp_path / "away"]


@pytest.mark.parametrize(
    ("folder", "entries", "suite", "is_of_gold"),
    [
        ("a", b'{"instance_id": "a"}', b"", True), ("a", b'{"gold": "a/g.csv"}', b"", True), ("a", b"{}", b"from: a", True),
        ("a", b'{"gold": "b/a", "x": "aa"}', b"", False), ("\u00e4", b'{"instance_id": "\\u00e4"}', b"", True),
        ("\u00e4", b"{}", b"from: \xc3\xa4", True), ("sql", b"", b"", True), ("exec_result", b"", b"", True), ("x", b"", b"", False),
    ],
)  # fmt: skip
def test_folders_next_to_a_plugin(tmp_path: Path, folder: str, entries: bytes, suite: bytes, is_of_gold: bool) -> None:
    """One that an instance or suite.yaml names is part of gold; of another one only its sources are, and of none compiled Python."""
    (tmp_path / folder).mkdir()
    for name in ("g.csv", "p.py", "p.pyc"):
        (tmp_path / folder / name).touch()
    (tmp_path / "x_eval.jsonl").write_bytes(entries)
    (tmp_path / "suite.yaml").write_bytes(b"scorers: [python:plugin/p.py]\n" + suite)
    names = [name for name in gold_files.read_gold_files(tmp_path).digests if "/" in name]
    assert names == [f"{folder}/g.csv"] * is_of_gold + [f"{folder}/p.py"]
    (tmp_path / "suite.yaml").write_bytes(suite)
    assert [name for name in gold_files.read_gold_files(tmp_path).digests if "/" in name] == [f"{folder}/g.csv", f"{folder}/p.py"]


def test_files_next_to_pairs(tmp_path: Path) -> None:
    """One file of questions belongs to gold, by the first of its names; whatever else is in the folder does not."""
    spec = tmp_path / "a_gold.sql"
    for name in ("a_gold.sql", "other.csv"):
        (tmp_path / name).write_text("SELECT 1\tdb")
    assert gold_files.find_questions(spec) == []
    for name in ("dev.json", "a_gold.json", "a.json"):
        (tmp_path / name).write_text("[]")
        assert gold_files.find_questions(spec) == [tmp_path / name]
        files = gold_files.read_gold_files(spec, spec)
        stats = [(tmp_path / part).stat() for part in ("a_gold.sql", name)]
        assert (list(files.digests), files.inodes) == (["a_gold.sql", name], {(status.st_dev, status.st_ino) for status in stats})
        assert (gold_files.gold_inodes(spec), gold_files.gold_links(spec)) == (files.inodes, [])
