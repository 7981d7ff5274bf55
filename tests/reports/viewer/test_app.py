"""The viewer answers only allowed requests, its pages load only allowed files, and the command starts and fails cleanly."""

import json
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.reports.test_suite import TestSuite
from evalsuite.reports.viewer.library import open_library
from evalsuite.reports.viewer.pages import STATIC
from tests.cli.test_run import said
from tests.processes import started
from tests.reports.viewer.served import ask, bench_folder, gold, served, submission

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "", "[evil]", "x@localhost"]
)
def test_a_foreign_host_is_refused(address: str, host: str) -> None:
    """A page of another site that has its name point here gets nothing."""
    for path in ("/", "/api/v1/test_suites", "/events"):
        answer = ask(address, path, headers={"Host": host})
        assert (answer.status, "demo" in answer.body) == (421, False)


def test_it_listens_on_loopback_only(address: str) -> None:
    """No other address of this machine answers."""
    assert address.startswith("http://127.0.0.1:")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", int(address.rpartition(":")[2])), timeout=5)


def test_pages_load_nothing_from_elsewhere(address: str) -> None:
    """Every link, script and style of every page is the viewer's own, and so is what they import."""
    import re

    bodies = [ask(address, path).body for path in ("/", f"{suite_page(address)}", *(f"/static/{name}" for name in STATIC))]
    found = [url for body in bodies for url in re.findall(r"https?://[^\s\"'<>)]+", body)]
    assert set(found) <= {"http://www.w3.org/2000/svg"}
    assert not any("<script>" in body or " onclick" in body or "style=" in body for body in bodies[:2])


def suite_page(address: str) -> str:
    """The address of the first suite's page."""
    return f"/suites/{ask(address, '/api/v1/test_suites?sort=name').json['test_suites'][0]['id']}"


def test_faults_of_pages_are_pages(address: str) -> None:
    """404 and 422 as a page with words and a way back; the status says it too."""
    faults = (
        ("/nope", 404, "no such page"),
        ("/runs/none", 404, "no finished run"),
        ("/compare?run_ids=a", 422, "choose"),
        ("/?sort=updated_at", 422, "cannot sort"),
        ("/static/../app.py", 404, ""),
    )
    for path, status, words in faults:
        answer = ask(address, path)
        assert answer.status == status
        assert "All suites" in answer.body
        assert words in answer.body


def test_a_bench_folder_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Suites, runs with their outputs, a leaderboard and a comparison, of scores of any range."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_FILE_DIR", str(bench_folder(tmp_path / "bench")))
    with served(None) as address:
        assert all(name in ask(address, "/").body for name in ("capitals", "prose", "typos"))
        for suite in ask(address, "/api/v1/test_suites").json["test_suites"]:
            for tail in ("", "/cases", "/leaderboard"):
                assert ask(address, f"/suites/{suite['id']}{tail}").status == 200
            for one in ask(address, f"/api/v1/test_suites/{suite['id']}/runs").json["test_runs"]:
                assert ask(address, f"/runs/{one['id']}").status == 200
        capitals = "11111111-1111-4111-8111-111111111111"
        runs = [one["id"] for one in ask(address, f"/api/v1/test_suites/{capitals}/runs").json["test_runs"]]
        page = ask(address, f"/compare?run_ids={runs[0]}&run_ids={runs[1]}")
        assert (page.status, "Milan" in page.body) == (200, True)
        # By a word that stands in the reference alone.
        found = ask(address, f"/compare?run_ids={runs[0]}&run_ids={runs[1]}&q=rome").body
        assert ("1 instance<" in found, "Capital of Italy?" in found, "Capital of Peru?" in found) == (True, True, False)
        case = ask(address, f"/runs/{runs[0]}/instances/3f0c9f2e-0000-4000-8000-000000000001").body
        assert all(text in case for text in ("Capital of Italy?", "Rome", "Milan", "threshold"))


def test_a_folder_that_is_not_there_and_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both are said in a sentence, with exit code 2."""
    assert "no such folder" in said("view", tmp_path / "gone", code=2)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["view", str(tmp_path), "--port", str(taken.getsockname()[1])]) == 2
    assert "cannot listen" in capsys.readouterr().err


def test_another_host_is_served_with_a_warning(tmp_path: Path) -> None:
    """`--host` beyond loopback says that there is no password; a machine's address is answered."""
    command = [sys.executable, "-m", "evalsuite", "view", str(tmp_path), "--host", "0.0.0.0"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = process.stdout.readline().split()[2].rstrip("/")
        assert "0.0.0.0" in address
        assert "no password" in process.stderr.readline()
        assert ask(address.replace("0.0.0.0", "127.0.0.2"), "/").status == 200
        assert ask(address.replace("0.0.0.0", "127.0.0.1"), "/", headers={"Host": "evil.example"}).status == 421


def test_each_scorer_of_several_has_its_column_and_its_reason(tmp_path: Path) -> None:
    """A run's table has a column a scorer; an instance's page says why for each of them, and how each one scores.

    Links inside a page lead somewhere.
    """
    scorers, place = ["f1", "exact_match", "levenshtein"], tmp_path / ".evalsuite"
    suite = TestSuite("seas", scorers, input_text_list=["Which sea?"], reference_output_list=["the Black Sea"], root=place)
    suite.run("first", candidate_output_list=["the Red Sea"])
    with served(tmp_path) as address:
        [seas] = ask(address, "/api/v1/test_suites").json["test_suites"]
        [made] = ask(address, f"/api/v1/test_suites/{seas['id']}/runs").json["test_runs"]
        [case] = ask(address, f"/api/v1/test_suites/{seas['id']}").json["test_cases"]
        table = ask(address, f"/runs/{made['id']}").body
        page = ask(address, f"/runs/{made['id']}/instances/{case['id']}").body
    assert seas["scorers"] == scorers
    assert [check["scorer"] for check in case["checks"]] == scorers
    assert all(f'class="mid">{name}</th>' in table for name in scorers)
    assert "the answer is not &#39;the Black Sea&#39;" in page
    assert all(f'id="{place}"' in shown for shown in (table, page) for place in re.findall(r'href="#([^"]*)"', shown))


def test_a_damaged_run_is_one_line_beside_the_others(tmp_path: Path) -> None:
    """What cannot be read is named, on its own page and on those of its suite, and the other runs are listed there. A run without a number
    of gold's instances is shown.
    """
    gold(tmp_path / "gold")
    handed_in = submission(tmp_path / "s", text="Paris", number="42", people="700")
    runs = tmp_path / ".evalsuite" / "runs"
    whole, cut, other, lost, gone_file, bare = (str(runs / f"20260101-00000{n}-demo") for n in range(6))
    assert main(["run", str(handed_in), "--gold", str(tmp_path / "gold"), "--out", whole, "--quiet", "--isolation", "none"]) == 0
    for folder in (cut, other, lost, gone_file, bare):
        shutil.copytree(whole, folder)
    # A disk that fails: a regular file that cannot be read.
    for path in (Path(lost, "results.jsonl"), Path(gone_file, "run.json")):
        path.unlink()
        path.symlink_to("/proc/self/mem")
    results = Path(cut, "results.jsonl")
    results.write_text(results.read_text()[:-40])
    run = json.loads(Path(bare, "run.json").read_text())
    del run["gold"]["n_instances"]
    Path(bare, "run.json").write_text(json.dumps(run))
    Path(other, "run.json").write_text("{}")
    [suite] = open_library(runs, {}).suites()
    with served(tmp_path) as address:
        first = ask(address, "/")
        pages = {path: ask(address, path) for path in (f"/runs/{Path(cut).name}", f"/suites/{suite.id}", f"/suites/{suite.id}/leaderboard")}
        shown, gone = ask(address, f"/runs/{Path(whole).name}"), ask(address, f"/runs/{Path(other).name}")
    assert f"{Path(other).name}&#39; is damaged" in first.body
    if sys.platform.startswith("linux"):
        assert f"{Path(gone_file).name}&#39; cannot be read on this machine; check the disk and the permissions" in first.body
        assert f"{Path(lost).name}&#39; cannot be read on this machine" in pages[f"/suites/{suite.id}"].body
    assert [pages[path].status for path in pages] == [404, 200, 200]
    for path, page in pages.items():
        assert page.body.count(f"{Path(cut).name}&#39; is damaged") == 1, path
        assert all(f'href="/runs/{Path(run_folder).name}"' in page.body for run_folder in (whole, bare)), path
    assert (shown.status, gone.status) == (200, 404)
    assert "is damaged" in gone.body


def test_the_page_of_a_failure_has_the_headers_of_the_others(tmp_path: Path) -> None:
    """It passes no middleware, which adds them elsewhere; a page that is not there gets them only once, from the middleware."""
    from starlette.exceptions import HTTPException
    from starlette.requests import Request

    from evalsuite.reports.viewer.app import HEADERS, make_app

    handlers = make_app(tmp_path).exception_handlers
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""})
    failed, absent = (handlers[status](request, error) for status, error in ((500, ValueError()), (404, HTTPException(404))))
    assert HEADERS.items() <= dict(failed.headers).items()
    assert failed.status_code == 500
    assert not HEADERS.keys() & absent.headers.keys()
