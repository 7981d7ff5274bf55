"""n-grams of gold in other texts, held to a plain model that reads everything at once."""

import gzip
import json
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from evalsuite.analysis.gold_checks import contamination as subject
from evalsuite.analysis.gold_checks.contamination import GoldText, contamination, gold_texts, text_files
from evalsuite.cli import main
from evalsuite.core.errors import UsageError
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.limits import resolve_limits
from evalsuite.reports import encode
from evalsuite.reports.analysis_documents import contamination_document
from tests.conftest import ROOT
from tests.properties import examples

pytestmark = pytest.mark.usefixtures("shared_fork_server")

QUESTION = "What revenue did each sales region bring in during the last fiscal year of all?"


def text(*pieces: str, part: str = "question") -> GoldText:
    """A text of gold."""
    return GoldText(instance_id="q1", part=part, where="gold.jsonl:1", pieces=pieces)


def plain(pieces: tuple[str, ...], content: str, n: int) -> tuple[int, int, int]:
    """(n-grams, found ones, longest stretch) by looking every one up in a list of all n-grams of the file."""
    words = [w for piece in pieces for w in re.findall(r"\w+", piece.lower())]
    size = min(n, len(words))
    if size < min(n, subject.SHORTEST):
        return 0, 0, 0
    grams = {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}
    there = re.findall(r"\w+", content.lower())
    hits = [tuple(there[i : i + size]) in grams for i in range(len(there) - size + 1)]
    longest = run = 0
    for hit in hits:
        run = run + 1 if hit else 0
        longest = max(longest, run + size - 1 if run else 0)
    found = {tuple(there[i : i + size]) for i, hit in enumerate(hits) if hit}
    return len(grams), len(found), longest


words = st.lists(st.sampled_from(["a", "b", "c", "B", "x", "y,", "\n", "z\n"]), max_size=40).map(" ".join)


@examples(200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    golds=st.lists(words, min_size=1, max_size=4),
    content=words,
    n=st.integers(1, 10),
    chunk=st.sampled_from([1, 3, 7, 1 << 20]),
    few=st.sampled_from([0, 1, 16]),
)
def test_the_streaming_search_finds_what_a_plain_one_finds(
    tmp_path: Path, golds: list[str], content: str, n: int, chunk: int, few: int
) -> None:
    """Shares equal the plain model's whatever the size of the pieces and however many texts share them; so does the longest stretch,
    where none is cut.
    """
    file = tmp_path / "t.txt"
    file.write_text(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subject, "_CHUNK", chunk)
        patch.setattr(subject, "_FEW_TEXTS", few)
        found = contamination([text(gold, part=str(at)) for at, gold in enumerate(golds)], [file], n_words=n)
    overlaps = {one.part: one for one in found.overlaps}
    for at, gold in enumerate(golds):
        n_grams, n_found, longest = plain((gold,), content, n)
        one = overlaps.get(str(at))
        assert (one.n_grams, one.n_found) == (n_grams, n_found) if one is not None else n_found == 0
        if chunk == 1 << 20:
            assert (one.longest.n_words if one is not None else 0) == longest


def test_an_introduction_that_all_questions_share_costs_each_once(tmp_path: Path) -> None:
    """Twice the questions, in a file of twice as many, cost hardly more than twice the lines of the program."""

    def n_lines(n: int) -> int:
        questions = [f"{QUESTION} Answer for the shop with the number {at}." for at in range(n)]
        (tmp_path / "c.txt").write_text("\n".join(f"{question} a" for question in questions))
        count = 0

        def look(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal count
            count += event == "line"
            return look if frame.f_code.co_filename == subject.__file__ else None

        before = sys.gettrace()
        sys.settrace(look)
        try:
            contamination([text(question) for question in questions], [tmp_path / "c.txt"])
        finally:
            sys.settrace(before)
        return count

    assert n_lines(60) < 2.2 * n_lines(30)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    """What an archive or UTF-16 contains was not searched, and the report says so; a folder without a file is an error."""
    (tmp_path / "c.zip").write_bytes(b"PK\3\4\0\0" * 9)
    (tmp_path / "d.txt").write_text(QUESTION, encoding="utf-16")
    (tmp_path / "e.txt").write_text("nothing")
    found = contamination([text(QUESTION)], text_files([tmp_path]))
    assert (found.n_files, found.not_text) == (3, (str(tmp_path / "c.zip"), str(tmp_path / "d.txt")))
    assert "2 of 3 files not searched, no UTF-8 text: " in b"".join(encode(contamination_document(found, "gold"), ".md")).decode()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no file in"):
        text_files([tmp_path / "empty"])


def test_layout_case_and_punctuation_do_not_hide(tmp_path: Path) -> None:
    """The question in capitals, broken over lines and without its marks is found whole, at its first line."""
    file = tmp_path / "corpus.txt"
    file.write_text("nothing here\n\n" + QUESTION.upper().replace(" ", "\n").replace("?", "") + "\n")
    (found,) = contamination([text(QUESTION)], [file]).overlaps
    assert (found.share, found.longest.n_words, found.longest.line) == (1.0, 15, 3)


def test_a_stretch_over_two_texts_of_the_file_is_no_hit(tmp_path: Path) -> None:
    """Twelve words in a row and the thirteenth elsewhere are not thirteen in a row."""
    file = tmp_path / "corpus.txt"
    first = QUESTION.split()
    file.write_text(" ".join(first[:8]) + " but " + " ".join(first[8:]))
    assert contamination([text(QUESTION)], [file]).overlaps == ()


def test_short_texts_are_counted_not_sought(tmp_path: Path) -> None:
    """`Paris` stands in every corpus; it says nothing, and the report says how many texts are like it."""
    file = tmp_path / "corpus.txt"
    file.write_text("Paris")
    found = contamination([text("Paris")], [file])
    assert (found.overlaps, found.n_too_short) == ((), 1)
    assert contamination([text("Paris")], [file], n_words=1).overlaps[0].share == 1


def test_packed_files_folders_and_odd_bytes(tmp_path: Path) -> None:
    """A gzip file in a folder is read; bytes that are no UTF-8 do no harm."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "c.txt.gz").write_bytes(gzip.compress(b"\xff\xfe \n" + QUESTION.encode()))
    (found,) = contamination([text(QUESTION)], text_files([tmp_path])).overlaps
    assert found.longest.line == 2


def test_a_broken_packed_file_is_named(tmp_path: Path) -> None:
    """A file that cannot be unpacked is a usage error with its name."""
    (tmp_path / "c.gz").write_bytes(b"no gzip")
    with pytest.raises(UsageError, match=r"c\.gz"):
        contamination([text(QUESTION)], [tmp_path / "c.gz"])


def test_the_examples_gold_gives_its_questions_and_tables() -> None:
    """Questions, answers and table cells of the project's own gold are texts; the file it lacks is a fault with a line."""
    gold = read_gold(ROOT / "gold")
    parts = list(gold_texts(gold, resolve_limits()))
    texts = [part for part in parts if isinstance(part, GoldText)]
    assert len(parts) - len(texts) == 1
    assert {one.instance_id for one in texts} == {one.instance_id for one in gold.instances}
    assert any(one.part == "readings.csv" and "line_speed" in one.pieces for one in texts)
    assert any(one.part == "number_match gold" and one.pieces == ("48215.75",) for one in texts)


ROWS = [("Bergen", "1204", "north"), ("Oslo", "3377", "east"), ("Roma", "5120", "south"), ("Lyon", "8816", "west")]


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("", "| city | total | side |\n| --- | --- | --- |\n" + "\n".join("| " + " | ".join(row) + " |" for row in ROWS)),
        (", columns reversed", "side,total,city\n" + "\n".join(",".join(row[::-1]) for row in ROWS)),
        (", as JSON records", json.dumps([dict(zip(("city", "total", "side"), row, strict=True)) for row in ROWS], indent=1)),
    ],
)
def test_tables_are_found_in_other_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, content: str) -> None:
    """A gold table is found as a Markdown table, with its columns turned round, and as JSON records."""
    found = searched(tmp_path, capsys, content)
    best = found["overlaps"][0]
    assert (best["part"], best["share"]) == (f"g.csv{form}", 1.0)


def test_canaries_are_found_however_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A GUID of an instance, or one that is named, is found; a text of its length that is no canary is not sought."""
    found = searched(tmp_path, capsys, "... BENCHMARK 26b5c67b-86a9-4aaa-bbbb-0123456789ab and red-herring ...", "--canary", "red herring")
    assert {(one["instance_id"], one["part"]) for one in found["overlaps"]} == {("q", "canary"), ("(suite)", "canary")}


def searched(folder: Path, capsys: pytest.CaptureFixture[str], content: str, *words: str) -> dict[str, Any]:
    """What of a gold folder with one table and a canary stands in a file, as data."""
    (folder / "gold" / "q").mkdir(parents=True)
    (folder / "gold" / "q" / "g.csv").write_text("city,total,side\n" + "\n".join(map(",".join, ROWS)) + "\n")
    line = {"instance_id": "q", "canary": "26b5c67b-86a9-4aaa-bbbb-0123456789ab", "note": "red herring"}
    check = {"func": "table_match", "parameters": {"gold": "g.csv"}}
    (folder / "gold" / "a_eval.jsonl").write_text(json.dumps({**line, "evaluation": check}) + "\n")
    (folder / "web.txt").write_text(content)
    assert main(["gold", "contamination", str(folder / "gold"), "--against", str(folder / "web.txt"), "--json", *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found
