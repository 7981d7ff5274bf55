"""The table of formats: any document in any form."""

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
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite import reports
from evalsuite.core.errors import OutputError, UsageError
from evalsuite.core.status import kind_of
from evalsuite.core.types import Result, Rule
from evalsuite.reports import FORMATS, check_output, write
from evalsuite.reports.document import Document
from evalsuite.reports.file_formats import as_csv, as_json, as_junit, as_markdown
from evalsuite.reports.html import as_html
from evalsuite.reports.run_document import run_document
from evalsuite.reports.terminal import Screen, show
from tests.properties import examples
from tests.reports import made
from tests.reports.made import result


def test_every_name_leads_to_a_function() -> None:
    """Each format has its function."""
    for name in FORMATS.values():
        assert callable(name.load())


def test_an_unknown_ending_is_refused() -> None:
    """One sentence for all subjects, with the endings there are."""
    with pytest.raises(UsageError, match=r"no report format for 'x\.htm'") as caught:
        check_output(Path("x.htm"))
    assert ".html" in str(caught.value.hint)


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


def test_a_report_goes_through_a_link_and_into_a_pipe(tmp_path: Path) -> None:
    """A link stays a link to the file that is replaced; a pipe is written in place."""
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
