"""The HTML report: its content, what it leaves out, and the look of each difference."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evalsuite.cli.showing import run_report
from evalsuite.core.status import LEVELS, RANKS, kind_of, redact_difference
from evalsuite.reports import html
from evalsuite.reports.html import as_html
from evalsuite.reports.record import Record
from evalsuite.sandbox.fork_server import ForkServer, share
from tests.reports import suites

pytestmark = pytest.mark.usefixtures("shared_fork_server")


class Reader(HTMLParser):
    """The elements, texts and JSON blocks of a document."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: list[str] = []
        self.texts: list[str] = []
        self._script: str | None = None
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the element."""
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self._script = dict(attrs).get("type")

    def handle_endtag(self, tag: str) -> None:
        """Leave a script."""
        if tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        """Keep the text, JSON apart."""
        (self.blocks if self._script == "application/json" else self.texts).append(data)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, session_fork_server: ForkServer | None) -> Record:
    """A run with an answer of every kind."""
    with share(session_fork_server):
        return suites.every_kind(tmp_path_factory.mktemp("every"))


@pytest.fixture(scope="module")
def document(record: Record) -> str:
    """Its report."""
    return as_html(run_report(record))


def test_the_worst_stand_first_and_each_kind_of_difference(document: str) -> None:
    """Rows of a table, a number's distance, a text's marks and a tree's paths; what is wrong comes before what is right."""
    order = re.findall(r'<details class="instance k-(\w+)" id="[^"]', document)
    assert [RANKS[kind] for kind in order] == sorted(RANKS[kind] for kind in order)
    opened = bodies(document)
    assert opened["table"].count('<tr class="missing">') == opened["table"].count('<tr class="extra">') + 2 == 6
    assert 'class="wrong"' in opened["table"]
    assert "360,000 times" in opened["number"]
    assert "<del>Lamp</del><ins>Lam</ins>" in opened["text"]
    assert re.search(r"born</td><td><span class=\"status mismatch\">mismatch</span></td><td>1815</td><td>1816</td>", opened["tree"])
    assert "Fields, worst first" in opened["tree"]
    assert 'data-kind="number"' in opened["sign"], "a flip is explained by the rule that fails it"
    assert 'class="difference"' not in opened["text_right"] + opened["missing"]


def bodies(document: str) -> dict[str, str]:
    """The opened row of each instance, from the JSON blocks."""
    blocks = [json.loads(block) for block in Reader(document).blocks]
    return dict(zip((row[0] for row in blocks[0]["rows"]), (body for block in blocks[1:] for body in block), strict=True))


def test_hostile_texts_make_no_element(tmp_path: Path) -> None:
    """Hostile answers give the elements of harmless ones; an unknown kind makes no block, and no text ends a JSON block."""
    document = as_html(run_report(suites.hostile(tmp_path)))
    reader = Reader(document)
    assert {tag for tag, _ in reader.elements} & {"img", "iframe", "object", "embed", "base"} == set()
    assert sum(tag == "script" and a.get("type") is None for tag, a in reader.elements) == 1
    assert sum(tag == "style" for tag, _ in reader.elements) == 1
    assert not set(document) & set("\x1b\u202e\x07")
    for body in bodies(document).values():
        for tag, attributes in Reader(body).elements:
            assert tag in {
                "dl", "div", "dt", "dd", "section", "h4", "h5", "p", "ul", "li", "code", "blockquote", "details", "summary", "pre", "a",
                "table", "thead", "tbody", "tr", "th", "td", "span", "del", "ins",
            }, tag  # fmt: skip
            assert not any(name.startswith("on") or name == "style" for name in attributes)
    text = " ".join(bodies(document)["r_00"].split())
    assert "&lt;script&gt;window.pwned=1&lt;/script&gt;" in text
    assert html.difference_html({"kind": "hologram", "x": 1}) == ""
    assert html.difference_html(redact_difference(DIFFERENCES["tree"], "class")) == ""
    assert json.loads(html.json_block("</script><!--&\u2028")) == "</script><!--&\u2028"
    assert not set(html.json_block("</script><!--&\u2028")) & set("<>&\u2028")


def test_many_instances_are_cut_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies beyond a size are left out with a word, the worst of a huge run are listed of so many; an empty run says so."""
    monkeypatch.setattr("evalsuite.reports.run_page.MOST_BODIES", 5_000)
    opened = bodies(as_html(run_report(suites.many(60))))
    left_out = [name for name, body in opened.items() if "Left out to keep this file small" in body]
    assert 0 < len(left_out) < 60
    assert "case_00003" not in left_out
    record = suites.many(200)
    everything = bodies(as_html(run_report(record)))
    monkeypatch.setattr("evalsuite.reports.run_page.MOST_LISTED", 60)
    document = as_html(run_report(record))
    opened, listed = bodies(document), json.loads(Reader(document).blocks[0])["rows"]
    assert "Of 200 instances the worst 60 are listed here" in document
    assert len(opened) == len(listed) == 60
    assert opened == {name: everything[name] for name in opened}
    kinds = {result.instance_id: RANKS[kind_of(result).name] for result in record.results}
    assert max(kinds[name] for name in opened) <= min(rank for name, rank in kinds.items() if name not in opened)
    assert "There was nothing to score." in as_html(run_report(suites.many(0)))


@pytest.mark.parametrize("level", [pytest.param(one, marks=[pytest.mark.slow] * (one in ("status", "class"))) for one in LEVELS])
def test_what_may_be_seen(record: Record, level: str) -> None:
    """Below `cells` no value of gold is in the document, and it says so; the totals stay."""
    document = as_html(run_report(record, level))
    secrets = ("286930", "1284", "Aurora Desk Lamp", "1815", "the cat sat on the mat")
    shown = [secret for secret in secrets if secret in document]
    assert shown == (list(secrets) if level == "cells" else [])
    assert ("Gold&#39;s values are not shown here" in document) == (level != "cells")
    assert f"{(record.summary.score or 0) * 100:.1f} %" in document


DIFFERENCES = {
    "judge": {"kind": "judge", "verdict": 0, "reason": "the judge says no", "judge": {"reply": "No <b>way</b>", "model": "m"}},
    "none": {"kind": "none", "note": "the file is not there"},
    "tables": {"kind": "tables", "tables": [], "n_tables": {"gold": 2, "predicted": 1}, "missing": ["orders"]},
    "text": {
        "kind": "text", "gold": [{"text": "a b", "found": False}], "n_gold": 30, "conj": "or", "excluded": ["x"], "segments": [],
        "answer": "q", "n_characters": 1,
    },
    "tree": {"kind": "tree", "rows": [{"path": "a[0]", "status": "omission", "expected": None, "got": None}], "n_rows": 400,
             "n_rows_shown": 1, "note": "in step"},
}  # fmt: skip
SAID = {
    "judge": ["the judge says no", "No &lt;b&gt;way&lt;/b&gt;"],
    "none": ["the file is not there"],
    "tables": ["not in the answer", "orders"],
    "text": ["1 of 30 accepted texts shown", "Excluded, yet in the answer"],
    "tree": ["1 of 400 differing fields shown", "omission", "a[0]", "in step"],
}


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_differences_say_what_they_cut(kind: str) -> None:
    """Each kind shows its texts escaped and its counts whole."""
    shown = html.difference_html(DIFFERENCES[kind])
    assert all(words in shown for words in SAID[kind])


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "NULL"), ("", "''"), (" a", "' a'"), ("a", "a"), (True, "true"), (1284.0, "1284"), (0.1, "0.1")]
)
def test_cells(value: object, shown: str) -> None:
    """What a cell holds can be told from what it looks like."""
    assert html.cell_text(value) == shown


def test_evidence_is_of_the_run(tmp_path: Path) -> None:
    """A changed gold file ends the differences with a note, for they would be of another question; a changed answer leaves out its own."""
    record = suites.every_kind(tmp_path)
    (tmp_path / "submission" / "tree" / "a.json").write_text("{", encoding="utf-8")
    document = as_html(run_report(record))
    assert "1 answer changed since the run" in document
    assert 'class="difference"' in bodies(document)["table"]
    assert 'class="difference"' not in bodies(document)["tree"]
    (tmp_path / "gold" / "table" / "g.csv").write_text("city,people,rank\nOslo,1,1\n", encoding="utf-8")
    document = as_html(run_report(record))
    assert "gold has changed since the run" in document
    assert 'class="difference"' not in bodies(document)["table"]
