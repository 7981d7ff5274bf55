"""The Markdown report as GitHub shows it: rendered by a CommonMark parser, then looked at as HTML."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evalsuite.reports.file_formats import MOST_BYTES, as_markdown, code_span
from evalsuite.reports.run_document import run_document
from tests.properties import examples
from tests.reports import made


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
    """No tag, link, mention, heading or workflow command comes out of a text; all of it stands in code spans."""
    text = as_markdown(run_document(made.hostile()))
    page = Page(text)
    assert page.tags <= OWN_TAGS
    assert page.links == []
    assert re.findall(r"[@#]|http|script|onerror", page.outside) == []
    assert "<script>alert(1)</script>" in "".join(page.codes)
    assert sorted({char for char in text if not char.isprintable()} - {"\n"}) == []


@examples(100)
@given(st.text(alphabet=st.one_of(st.sampled_from("`|\\ <>&@#*_[]()!\n"), st.characters()), max_size=40))
def test_no_text_leaves_its_code_span(text: str) -> None:
    """A code span renders as exactly one `<code>` with the cleaned text, alone and as a cell of a table."""
    from evalsuite.compare.characters import clean

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


def test_ids_of_any_script_keep_it_small() -> None:
    """The size is counted in bytes: 400 long ids of four bytes a character stay below the limit too."""
    results = [made.result("𝔘" * 200 + str(at), 0.0, reason="𝔘" * 400, strict=1.0, details={"flip": "𝔘" * 400}) for at in range(400)]
    groups = {"𝔊" * 90 + str(at): [results[at].instance_id] for at in range(50)}
    assert len(as_markdown(run_document(made.record(*results, groups=groups))).encode()) < MOST_BYTES
