"""The table of formats: any document in any form, which spreadsheets, CI systems and GitHub read back as it was meant."""

import csv
import errno
import html
import io
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

from evalsuite import reports
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import OutputError, UsageError
from evalsuite.core.status import LEVELS, kind_of
from evalsuite.core.types import Result, Rule
from evalsuite.reports import FORMATS, check_output, write
from evalsuite.reports.document import Document
from evalsuite.reports.file_formats import (
    MOST_BYTES,
    MOST_OF_A_KIND,
    add_to_summary,
    annotations,
    as_csv,
    as_json,
    as_junit,
    as_markdown,
    as_parquet,
    code_span,
    fence_commands,
    safe_cell,
    schema,
    submission_lines,
    workflow_command,
)
from evalsuite.reports.html import as_html
from evalsuite.reports.record import Record, redact_record
from evalsuite.reports.run_document import run_document
from evalsuite.reports.terminal import Screen, show
from tests.conftest import ROOT
from tests.properties import LETTERS, examples
from tests.reports import made
from tests.reports.made import result

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def open_but_no_new_file(open_: Callable[..., int], failure: BaseException, name: str, flags: int, *more: Any, **how: Any) -> int:
    """`os.open` on a disk that has no inode left."""
    if str(name).endswith(".part"):
        raise failure
    return open_(name, flags, *more, **how)


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError("x")], ids=repr)
def test_half_a_report_never_replaces_a_whole_one(failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that fails in the middle, or for which no new file can be made, leaves the old file as it was, and nothing else."""
    path = tmp_path / "page.html"
    path.write_text("the old report")
    path.chmod(0o640)

    def pieces(*_: object) -> Iterator[bytes]:
        yield b"half"
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(reports, "encode", pieces)
        with pytest.raises(OutputError if isinstance(failure, OSError) else type(failure)):
            write(Document(name="n", title="the new report", last_line="done"), path)
        patch.setattr(reports.os, "open", partial(open_but_no_new_file, os.open, failure))
        with pytest.raises(OutputError if isinstance(failure, OSError) else type(failure)):
            write(Document(name="n", title="the new report", last_line="done"), path)
    assert ([one.name for one in tmp_path.iterdir()], path.read_text()) == (["page.html"], "the old report")
    write(Document(name="n", title="the new report", last_line="done"), path)
    assert "the new report" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o640


def test_links_pipes_and_names_of_scorers(tmp_path: Path) -> None:
    """A link stays one, a pipe is written in place; a scorer's name is no SQL, and names that differ in case are several columns."""
    document = Document(name="n", title="the new report", last_line="done")
    (tmp_path / "link.md").symlink_to(tmp_path / "page.md")
    write(document, tmp_path / "link.md")
    assert (tmp_path / "link.md").is_symlink()
    assert "the new report" in (tmp_path / "page.md").read_text()
    os.mkfifo(tmp_path / "pipe.md")
    reader = os.open(tmp_path / "pipe.md", os.O_RDONLY | os.O_NONBLOCK)
    write(document, tmp_path / "pipe.md")
    assert b"the new report" in os.read(reader, 1 << 16)
    os.close(reader)
    written = tmp_path / "written.csv"
    sql = f"x': 'VARCHAR'}}) UNION ALL BY NAME SELECT content AS reason FROM read_text('/etc/hostname')) TO '{written}' (FORMAT csv) --"
    scorers = (sql, "it's", "bleu", "Bleu", "BLEU", "Strict", 'a"b', "\0\udc80\n", "Ä", "ä")
    record = made.record(made.result("a"))
    document = run_document(replace(record, summary=replace(record.summary, scorers=scorers)))
    (tmp_path / "r.parquet").write_bytes(as_parquet(document))
    with duckdb.connect() as connection:
        columns = connection.execute("SELECT * FROM read_parquet(?)", [str(tmp_path / "r.parquet")]).description or ()
    found = [sql, "it's", "bleu", "Bleu_2", "BLEU_3", "Strict_2", 'a"b', "\\x00\\udc80\n", "Ä", "ä_2"]
    assert ([column[0] for column in columns[6:16]], written.exists()) == (found, False)


_KINDS = "partly right|right|wrong|measured|missing|unscored|crashed|timeouts?|(?:submission|gold|scorer) faults?"
_COUNTED = re.compile(rf"(\d+)\W+({_KINDS})\b")
_DRAWN = st.sampled_from([
    *[("scored", score, strict) for score in (1.0, 0.0, 0.5, 0.9999) for strict in (1.0, 0.0, 0.5)], ("scored", 5.0, "raw"),
    ("missing", 0.0, 0.0), ("submission_fault", 0.0, 0.0), ("timeout", 0.0, 0.0), ("crashed", 0.0, 0.0), ("gold_fault", None, None),
    ("scorer_fault", None, None), ("unscored", None, None),
])  # fmt: skip


def _counts_in(text: str) -> dict[str, int]:
    """The counts by kind that a line or the tiles of a page name."""
    return {re.sub("(?<=fault|meout)s$", "", word): int(n) for n, word in _COUNTED.findall(text) if int(n)}


def _plain_mean(rows: list[Result], which: str) -> float | None:
    """The mean as the docs have it: what has no verdict for the grader's reasons is in none, what gold prevents counts 0."""
    in_score = [row for row in rows if row.scorer != "ruler"]
    values = [getattr(row, which) for row in in_score if row.status not in ("unscored", "scorer_fault")]
    return None if all(value is None for value in values) else sum(value or 0.0 for value in values) / len(values)


def _percent(value: float) -> str:
    """A share in percent as every format prints it: only 1 is 100.0 and only 0 is 0.0."""
    texts = [f"{100 * value:.{digits}f}" for digits in (1, 2, 3)]
    return next(text for text in texts if value in (0, 1) or float(text) not in (0.0, 100.0)) + " %"


@examples(150)
@given(st.lists(_DRAWN, min_size=1, max_size=9), st.sampled_from(["official", "strict"]))
def test_every_format_tells_one_story(drawn: list[Any], rules: Rule) -> None:
    """Counts, the score, values by instance and by group, and flips are in each form what plain code counts in the results."""
    rows = []
    for at, (status, official, strict) in enumerate(drawn):
        score = official if rules == "official" else strict
        verdicts = {"status": status, "official": official, "strict": strict, "fault": None if status == "scored" else "NO_VERDICT"}
        if strict == "raw":
            score, verdicts = None, {"official": None, "strict": None, "scorer": "ruler", "details": {"raw": official}}
        rows.append(result(f"q{at}", score, reason="why", **verdicts))
    ids = [row.instance_id for row in rows]
    record = made.record(*rows, groups={"even": ids[::2], "all": ids}, rules=rules)
    whole = run_document(record)
    kinds = Counter(kind_of(row).words for row in rows)
    value, n_flips = _plain_mean(rows, "score"), sum(None not in (row.official, row.strict) and row.official != row.strict for row in rows)
    summary = json.loads("".join(as_json(whole)))["summary"]
    means = [value, _plain_mean(rows, "official"), _plain_mean(rows, "strict")]
    for found in (summary, summary["by_group"]["all"]):
        assert [found[name] for name in ("score", "official", "strict")] == [mean and pytest.approx(mean) for mean in means]
    even = _plain_mean(rows[::2], "score")
    assert summary["by_group"]["even"]["score"] == (even and pytest.approx(even))
    assert len(summary["flips"]) == n_flips
    cells = list(csv.DictReader(io.StringIO("".join(as_csv(whole)))))
    assert [(row["instance_id"], row["status"], row["score"], row["official"], row["strict"]) for row in cells] == [
        (row.instance_id, row.status, *("" if v is None else f"{v:g}" for v in (row.score, row.official, row.strict))) for row in rows
    ]
    suite = ElementTree.fromstring("".join(as_junit(whole)))[0]
    failures, skipped = (sum(kinds[word] for word in words) for words in (("wrong", "partly right", "missing"), ("unscored",)))
    errors = len(rows) - failures - skipped - kinds["right"] - kinds["measured"]
    assert [int(suite.get(name) or 0) for name in ("failures", "errors", "skipped")] == [failures, errors, skipped]
    screen = io.StringIO()
    show(whole, Screen(screen, 200), last_line="")
    page = html.unescape(re.sub(r"<(style|script|svg)\b.*?</\1>|<[^>]+>", " ", as_html(whole), flags=re.S))
    comment, shown = as_markdown(whole).partition("<details>")[0], screen.getvalue()
    line = next(text for text in shown.splitlines() if re.match(rf" {len(rows)} instances? ", text)).partition("instance")[2]
    head_of_page = page.partition("By scorer")[0].partition("By group")[0]
    for text, counted in ((shown, line), (comment, comment.partition("\n\n")[2]), (page, head_of_page)):
        assert _counts_in(counted) == {word: n for word, n in kinds.items() if n}
        assert value is None or _percent(value) in text
    assert [f"{tag} ({n})" in page for tag, n in (("even", (len(rows) + 1) // 2), ("all", len(rows)))] == [True, True]


@examples(100)
@example(" =1+1")
@example("  ＋1")
@example("＠x")
@given(st.text(LETTERS, max_size=30))
def test_no_text_becomes_a_formula(text: str) -> None:
    """Whatever the text, the cell is printable and its first character is harmless; a harmless printable text is left alone."""
    made_cell = safe_cell(text)
    assert made_cell.isprintable()
    assert made_cell.strip()[:1] not in tuple("=+-@＝＋－＠")
    if text.isascii() and text.isprintable() and text.lstrip()[:1] not in tuple("=+-@"):
        assert made_cell == text


BUILT: dict[str, Callable[[], Record]] = {
    "example": made.example_record,
    "graded": made.graded,
    "hostile": made.hostile,
    "empty": made.record,
}
# Each kind of run and each level in the line.
IN_LINE = {("example", "class"), ("example", "cells"), ("graded", "none"), ("hostile", "status"), ("hostile", "shape"), ("empty", "none")}


@pytest.mark.parametrize(
    ("build", "level"), [pytest.param(*one, marks=[pytest.mark.slow] * (one not in IN_LINE)) for one in product(BUILT, LEVELS)]
)
def test_every_report_keeps_to_the_schema(build: str, level: str) -> None:
    """The schema of the package is itself valid and holds for runs of every kind at every level."""
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(json.loads("".join(as_json(run_document(redact_record(BUILT[build](), level))))))


def test_failed_is_not_error_and_comments_stay_small() -> None:
    """Wrong or missing is a failure, a fault an error, no verdict skipped; long ids of any script keep a comment small."""
    (suite,) = ElementTree.fromstring("".join(as_junit(run_document(made.graded()))))
    found = {case.get("name"): [(child.tag, child.get("type")) for child in case] for case in suite.iter("testcase")}
    assert found == {
        "right": [],
        "half": [("failure", "partly_right")],
        "wrong": [("failure", "wrong")],
        "s_missing": [("failure", "missing")],
        "s_submission_fault": [("error", "BAD_CSV")],
        "s_gold_fault": [("error", "BAD_SPEC")],
        "s_scorer_fault": [("error", "SCORER_ERROR")],
        "s_timeout": [("error", "TIMEOUT")],
        "s_crashed": [("error", "WORKER_DIED")],
        "s_unscored": [("skipped", None)],
    }
    messages = {case.get("name"): case[0].get("message") for case in suite.iter("testcase") if len(case)}
    assert messages["half"] == "0.50: half of it"
    assert messages["s_unscored"] == "NO_VERDICT: said of unscored"
    results = [made.result("𝔘" * 200 + str(at), 0.0, reason="𝔘" * 400, strict=1.0, details={"flip": "𝔘" * 400}) for at in range(400)]
    groups = {"𝔊" * 90 + str(at): [results[at].instance_id] for at in range(50)}
    assert len(as_markdown(run_document(made.record(*results, groups=groups))).encode()) < MOST_BYTES
    for name in FORMATS.values():
        assert callable(name.load())
    with pytest.raises(UsageError, match=r"no report format for 'x\.htm'") as caught:
        check_output(Path("x.htm"))
    assert ".html" in str(caught.value.hint)


class Page(HTMLParser):
    """The tags of a page, its text, and how much of the text stands outside `<code>`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.outside, self.codes = "", [""]
        self._in_code = 0
        self.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src") or name.startswith("on")]
        if tag == "code":
            self._in_code += 1
            self.codes.append("")

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a code span."""
        self._in_code -= tag == "code"

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        if self._in_code:
            self.codes[-1] += data
        else:
            self.outside += data


OWN_TAGS = {"h3", "p", "strong", "br", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "ul", "li", "code", "sub"}


def test_hostile_texts_mean_nothing() -> None:
    """Markdown, JUnit and CSV: no tag, link, mention or command comes out of a text, no cell begins as a formula."""
    text = as_markdown(run_document(made.hostile()))
    page = Page(text)
    assert page.tags <= OWN_TAGS
    assert page.links == []
    assert re.findall(r"[@#]|http|script|onerror", page.outside) == []
    assert "<script>alert(1)</script>" in "".join(page.codes)
    assert sorted({char for char in text if not char.isprintable()} - {"\n"}) == []
    text = "".join(as_junit(run_document(made.hostile())))
    root = ElementTree.fromstring(text)
    assert {node.tag for node in root.iter()} == {"testsuites", "testsuite", "properties", "property", "testcase", "failure"}
    assert sorted({char for char in text if not char.isprintable()} - {"\n"}) == []
    text = "".join(as_csv(run_document(made.hostile())))
    assert text.count("\n") == 2 * len(made.HOSTILE) + 1
    rows = list(csv.reader(StringIO(text, newline="")))
    assert {len(row) for row in rows} == {14}
    assert [field for row in rows for field in row if field.lstrip()[:1] in tuple("=+-@＝")] == []
    assert sorted({char for char in text if not char.isprintable()} - {"\n"}) == []


@examples(100)
@given(st.text(alphabet=st.one_of(st.sampled_from("`|\\ <>&@#*_[]()!\n"), st.characters()), max_size=40))
def test_no_text_leaves_its_code_span(text: str) -> None:
    """A code span renders as exactly one `<code>` with the cleaned text, alone and as a cell of a table."""
    page = Page(f"before {code_span(text)} after")
    assert page.outside.split() == ["before", "after"]
    if text:
        assert page.codes[1:] == [clean(text)]
    table = Page(f"| a | b |\n|--|--|\n| {code_span(text.replace('|', '¦'), 60)} | end |\n")
    assert table.tags <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert table.outside.split() == ["a", "b", "end"]


@pytest.mark.parametrize("n", [0, 1, 2_000])
def test_it_fits_into_a_comment(n: int) -> None:
    """Whatever the size of the run, the text stays below 60 kB, is closed, and counts what it leaves out."""
    text = as_markdown(run_document(made.large(n)))
    assert len(text.encode()) < MOST_BYTES
    assert text.count("<details>") == text.count("</details>")
    if n > 1:
        shown = len(re.findall(r"^- `instance_\d+` `string_match`", text, re.MULTILINE))
        assert f"- ... {n - shown} more" in text


def parse(line: str) -> tuple[str, dict[str, str], str]:
    """(name, properties, message) of a command line as the runner takes it apart: `::name key=value,...::message`."""
    found = re.fullmatch(r"::([a-z-]+)(?: ([^:]*))?::(.*)", line)
    assert found, line
    properties = dict(part.split("=", 1) for part in (found[2] or "").split(",") if part)
    return found[1], {key: unescape(value) for key, value in properties.items()}, unescape(found[3])


def unescape(text: str) -> str:
    """The text behind the runner's escapes, percent last."""
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


@pytest.mark.usefixtures("shared_fork_server")
def test_annotations_point_at_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each annotation names a file that is there, the line that hands the instance in, and its reason; at most ten of a kind."""
    monkeypatch.chdir(ROOT)
    run, record = made.example("official"), made.example_record()
    found = [parse(line) for line in annotations(run_document(record, places=submission_lines(run)))]
    reasons = {result.instance_id: result.reason for result in record.results}
    places = [(name, *about["title"].split(": "), about, said) for name, about, said in found if name != "notice"]
    for _, instance, _, about, said in places:
        line = Path(about["file"]).read_text(encoding="utf-8").splitlines()[int(about["line"]) - 1]
        assert f'"{instance}"' in line
        assert said == reasons[instance]
    assert [name for name, *_ in places].count("error") == MOST_OF_A_KIND
    assert [(name, instance) for name, instance, *_ in places if name == "warning"] == [("warning", "fin_004")]
    assert [instance for _, instance, *_ in places[:2]] == ["ops_001", "ops_006"]
    assert [said for name, _, said in found if name == "notice"] == ["2 more errors are in the report"]


@examples(100)
@given(st.text(LETTERS, max_size=40), st.text(LETTERS, max_size=40))
def test_no_text_ends_a_command(title: str, message: str) -> None:
    """Whatever the texts, the command is one line that reads back as the cleaned title and message."""
    line = workflow_command("error", message, title=title)
    assert "\n" not in line
    assert "\r" not in line
    assert parse(line) == ("error", {"title": clean(title)} if title else {}, clean(message))


def test_the_report_is_fenced_and_summarised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands between stop-commands and a new token; the summary goes to the file that GitHub names, a bad one is an error."""
    tokens = set()
    for _ in range(2):
        stream = StringIO()
        with fence_commands(stream):
            print("::error::made up", file=stream)
        first, inside, last = stream.getvalue().splitlines()
        token = first.removeprefix("::stop-commands::")
        assert (inside, last) == ("::error::made up", f"::{token}::")
        tokens.add(token)
    assert len(tokens) == 2
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert not add_to_summary(made.graded())
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    assert add_to_summary(made.graded())
    assert path.read_text(encoding="utf-8").startswith("before\n### `suite`")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    with pytest.raises(OutputError):
        add_to_summary(made.graded())
