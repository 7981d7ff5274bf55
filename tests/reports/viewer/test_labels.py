"""A person labels answers in the viewer; the file is a rater for `agree`, and no other site or machine writes it."""

import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode

import pytest

import evalsuite
from evalsuite.runs.history import find_runs
from tests.cli.test_run import as_json, lacks
from tests.reports.viewer.served import CAPITALS, QUESTIONS, ask, served

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a suite and one run of it, half right."""
    folder = tmp_path_factory.mktemp("labelled")
    suite = evalsuite.TestSuite(
        "capitals", "string_match", input_text_list=QUESTIONS, reference_output_list=CAPITALS, root=folder / ".evalsuite"
    )
    suite.run("mine", candidate_output_list=["Paris", "Milan", "Oslo, of course", "Quito"])
    return folder


@pytest.fixture(scope="module")
def address(place: Path) -> Iterator[str]:
    """The viewer over it."""
    with served(place) as found:
        yield found


def label(address: str, path: str, given: Mapping[str, str], **headers: str) -> int:
    """The status of a label that was sent as a form sends it."""
    sent = {"Origin": address, **{name.replace("_", "-"): value for name, value in headers.items()}}
    request = urllib.request.Request(address + path, data=urlencode(given).encode(), headers=sent, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def run_id(address: str) -> str:
    """The id of the one run."""
    suite = ask(address, "/api/v1/test_suites").json["test_suites"][0]["id"]
    return str(ask(address, f"/api/v1/test_suites/{suite}/runs").json["test_runs"][0]["id"])


def test_labels_are_a_rater(address: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was chosen and noted stands on the page and in a CSV that `agree` holds against the run."""
    id_ = run_id(address)
    for case, given in (("case_1", "1"), ("case_2", "1"), ("case_3", "1"), ("case_4", "0"), ("case_4", "0")):
        assert label(address, f"/runs/{id_}/labels/{case}", {"label": given, "note": 'says "why", <b>\nat length'}) == 200
    page = ask(address, f"/runs/{id_}/instances/case_2").body
    assert not lacks(page, '<option value="1" selected>right</option>', "says &#34;why&#34;, &lt;b&gt;")
    assert "4 labels by you" in ask(address, f"/runs/{id_}").body
    folder = find_runs(place / ".evalsuite/runs")[0].folder
    monkeypatch.chdir(place)
    found = as_json("agree", folder.name, f".evalsuite/runs/{folder.name}.labels.csv")
    assert found["n"] == 4
    assert label(address, f"/runs/{id_}/labels/case_1", {"label": "", "note": ""}) == 200
    assert "3 labels by you" in ask(address, f"/runs/{id_}").body


def test_nobody_else_writes(address: str, place: Path) -> None:
    """Another site, an unknown label, instance or run, and a note without end leave the file as it was."""
    id_ = run_id(address)

    def kept() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (place / ".evalsuite/runs").glob("*.labels.csv")}

    before, case = kept(), f"/runs/{id_}/labels/case_1"
    assert label(address, case, {"label": "1"}, Origin="https://elsewhere.example") == 403
    assert label(address, case, {"label": "1"}, Origin="null") == 403
    assert label(address, case, {"label": "1"}, Origin="http://[") == 403
    assert label(address, case, {"label": "1"}, Sec_Fetch_Site="cross-site") == 403
    assert label(address, case, {"label": "perfect"}) == 422
    assert label(address, case, {"label": "1", "note": "x" * 70_000}) == 422
    assert label(address, f"/runs/{id_}/labels/nothing", {"label": "1"}) == 404
    assert label(address, "/runs/nothing/labels/case_1", {"label": "1"}) == 404
    assert ask(address, case).status in (404, 405)
    assert kept() == before


def test_a_broken_file_is_not_written_over(address: str, place: Path) -> None:
    """What somebody broke by hand stays as it is, the refusal names its line, and the page of the run says that it is not used."""
    id_, folder = run_id(address), find_runs(place / ".evalsuite/runs")[0].folder
    path = folder.with_name(f"{folder.name}.labels.csv")
    before = path.read_text() if path.exists() else None
    path.write_text(broken := "instance_id,label\ncase_1,1\ncase_1,0\n")
    assert label(address, f"/runs/{id_}/labels/case_2", {"label": "1"}) == 422
    assert path.read_text() == broken
    assert "labels.csv:3: &#39;case_1&#39; stands twice" in ask(address, f"/runs/{id_}").body
    path.unlink() if before is None else path.write_text(before)


def test_words_are_found_and_reports_saved(address: str) -> None:
    """Question, reference and answer are searched and stand in the row; the report comes as a file in each form."""
    id_ = run_id(address)
    for words, case in (("of italy", "case_2"), ("lima", "case_4"), ("of course", "case_3")):
        page = ask(address, f"/runs/{id_}?{urlencode({'q': words})}").body
        assert not lacks(page, f"/instances/{case}", "1 of 4 instances")
    assert "<b>gold</b> Lima" in ask(address, f"/runs/{id_}").body
    for ending in ("csv", "html", "json", "md", "xml"):
        saved = ask(address, f"/runs/{id_}/report.{ending}")
        assert saved.status == 200
        assert saved.headers["content-disposition"] == f'attachment; filename="{id_}.{ending}"'
        assert "case_4" in saved.body
    assert ask(address, f"/runs/{id_}/report.exe").status == 404
