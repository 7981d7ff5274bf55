"""GitHub's workflow commands, read back by the runner's own rules."""

import re
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.characters import clean
from evalsuite.core.errors import OutputError
from evalsuite.reports.file_formats import MOST_OF_A_KIND, add_to_summary, annotations, fence_commands, submission_lines, workflow_command
from evalsuite.reports.run_document import run_document
from tests.conftest import ROOT
from tests.properties import LETTERS, examples
from tests.reports import made


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


def test_the_report_is_fenced() -> None:
    """What is printed inside stands between stop-commands and its token, which is another one each time."""
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


def test_the_summary_of_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Markdown report is added to the file that GitHub names; without one nothing is written; a bad one is an error."""
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
