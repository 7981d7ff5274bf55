"""The viewer answers only allowed requests, its pages load only allowed files, and every route of its API is as its document says."""

import json
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.reports.test_suite import TestSuite
from evalsuite.reports.viewer.app import ENDPOINTS, PREFIXES, openapi_document
from evalsuite.reports.viewer.library import open_library
from evalsuite.reports.viewer.pages import STATIC
from tests.cli.test_run import said
from tests.processes import started
from tests.reports.viewer.served import Answer, ask, bench_folder, gold, served, submission

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "", "[evil]", "x@localhost"]
)
def test_a_foreign_host_is_refused(address: str, host: str) -> None:
    """A page of another site that has its name point here gets nothing."""
    for path in ("/", "/api/v1/test_suites", "/events"):
        answer = ask(address, path, headers={"Host": host})
        assert (answer.status, "demo" in answer.body) == (421, False)


def test_faults_of_pages_are_pages_and_nothing_is_loaded(address: str) -> None:
    """404 and 422 are pages; every page loads the viewer's own files alone, and no other address of this machine answers."""
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
    bodies = [ask(address, path).body for path in ("/", f"/suites/{suite_id(address, 'demo')}", *(f"/static/{name}" for name in STATIC))]
    found = [url for body in bodies for url in re.findall(r"https?://[^\s\"'<>)]+", body)]
    assert set(found) <= {"http://www.w3.org/2000/svg"}
    assert not any("<script>" in body or " onclick" in body or "style=" in body for body in bodies[:2])
    assert address.startswith("http://127.0.0.1:")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", int(address.rpartition(":")[2])), timeout=5)


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


def test_where_it_listens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An absent folder and a taken port are exit 2; beyond loopback there is a warning, and a foreign name is still refused."""
    assert "no such folder" in said("view", tmp_path / "gone", code=2)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["view", str(tmp_path), "--port", str(taken.getsockname()[1])]) == 2
    assert "cannot listen" in capsys.readouterr().err
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
    """A column a scorer in the table, the reason of each on an instance's page; links inside a page lead somewhere."""
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
    """What cannot be read is named on every page it belongs to, beside the other runs; one without a number of instances is shown."""
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


V1, BENCH = PREFIXES
NOBODY = "00000000-0000-4000-8000-000000000000"


def suite_id(address: str, name: str) -> str:
    """The id of the suite of that name."""
    (found,) = ask(address, f"{V1}/test_suites?name={name}").json["test_suites"]
    return str(found["id"])


def run_ids(address: str, suite: str, sort: str = "created_at") -> dict[str, str]:
    """Run name -> id."""
    found = ask(address, f"{V1}/test_suites/{suite}/runs?sort={sort}&page_size=50").json["test_runs"]
    return {run["name"]: run["id"] for run in found}


def schema_of(name: str) -> dict[str, Any]:
    """A schema of the document that stands alone."""
    return {"$ref": f"#/components/schemas/{name}", "components": openapi_document()["components"]}


def filled(address: str, path: str) -> str:
    """A path of the document with real ids in it, and the query it cannot do without."""
    suite = suite_id(address, "demo")
    runs = list(run_ids(address, suite).values())
    path = path.replace("{suite_id}", suite).replace("{run_id}", runs[1]).replace("{case_id}", "table_1")
    return path + (f"?run_ids={runs[0]}&run_ids={runs[1]}" if path == "/compare" else "")


def test_documents_unknown_runs_and_results(address: str) -> None:
    """`/openapi.json` names each endpoint, a run answers under its suite only, results are filtered and sorted."""
    served = ask(address, "/openapi.json")
    assert served.json == json.loads(json.dumps(openapi_document()))
    assert list(served.json["paths"]) == [endpoint.path for endpoint in ENDPOINTS]
    assert served.json["openapi"].startswith("3.1")
    demo, capitals = suite_id(address, "demo"), suite_id(address, "capitals")
    run = run_ids(address, capitals)["good"]
    assert ask(address, f"{V1}/test_suites/{capitals}/runs/{run}").status == 200
    assert ask(address, f"{V1}/test_suites/{demo}/runs/{run}").status == 404
    assert ask(address, f"{V1}/test_suites/{capitals}/runs/{run}/cases/none").status == 404
    id_ = suite_id(address, "demo")
    path = f"{V1}/test_suites/{id_}/runs/{next(id_ for name, id_ in run_ids(address, id_).items() if 'second' in name)}"

    def ids(query: str) -> list[str]:
        return [row["id"] for row in ask(address, f"{path}?{query}").json["test_case_runs"]]

    assert ids("") == ["text_1", "number_1", "table_1"]
    assert ids("sort=name") == ["number_1", "table_1", "text_1"]
    assert ids("scorer=table_match&scorer=string_match") == ["text_1", "table_1"]
    assert ids("group=easy") == ["text_1", "number_1"]
    assert ids("status=wrong&q=TABLE") == ["table_1"]
    assert ids("status=right") == []


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
def test_every_route_answers_as_described(address: str, prefix: str, endpoint: Any) -> None:
    """The answer fits its schema, under the prefix of Arthur Bench too."""
    jsonschema = pytest.importorskip("jsonschema")
    answer = ask(address, prefix + filled(address, endpoint.path))
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/json"
    jsonschema.validate(answer.json, schema_of(endpoint.answer))


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
def test_every_sort_word_and_filter_of_the_document_is_taken(address: str, endpoint: Any) -> None:
    """Each sort word with and without its minus, and each filter, is answered; any other key is a 422."""
    path = V1 + filled(address, endpoint.path)
    mark = "&" if "?" in path else "?"
    for word in endpoint.sorts:
        assert {ask(address, f"{path}{mark}sort={sign}{word}").status for sign in ("", "-")} == {200}
    assert ask(address, f"{path}{mark}sort=updated_at").status == 422
    for name in endpoint.filters:
        if name not in ("run_ids", "signature"):
            assert ask(address, f"{path}{mark}{name}=x").status == 200
    assert fault(ask(address, f"{path}{mark}colour=red"))["message"] == "no parameter 'colour'"


def fault(answer: Answer) -> dict[str, Any]:
    """The error object of a 422 or 404 answer."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(answer.json, schema_of("Error"))
    error: dict[str, Any] = answer.json["error"]
    assert error["status"] == answer.status
    return error


@pytest.mark.parametrize("query", ["page=0", "page=-1", "page=x", "page=1.5", "page_size=0", "page_size=501", "page=٣", "sort=--name"])
def test_a_bad_query_is_a_422(address: str, query: str) -> None:
    """Pages count from 1, sizes have an end, and a sort word is one of the list's."""
    answer = ask(address, f"{V1}/test_suites?{query.replace('٣', '%D9%A3')}")
    assert (answer.status, fault(answer)["hint"] != "") == (422, True)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/test_suites/{NOBODY}", 404),
        (f"/test_suites/{NOBODY}/runs", 404),
        (f"/test_suites/{NOBODY}/runs/summary", 404),
        (f"/test_suites/{NOBODY}/runs/{NOBODY}", 404),
        (f"/test_suites/{NOBODY}/leaderboard", 404),
        ("/test_suites/..%2e", 422),
        ("/test_suites/a%00b", 422),
        ("/test_suites/a%20b", 422),
        (f"/compare?run_ids={NOBODY}&run_ids=other", 404),
        ("/compare?run_ids=a", 422),
        ("/compare?run_ids=a&run_ids=b&run_ids=c&run_ids=d&run_ids=e", 422),
        ("/elsewhere", 404),
    ],
)
def test_what_is_not_there_is_a_404_and_what_is_no_id_a_422(address: str, path: str, status: int) -> None:
    """Never an empty 200, and the body says what is wrong."""
    for prefix in PREFIXES:
        answer = ask(address, prefix + path)
        assert answer.status == status
        assert fault(answer)["message"]


def test_summary_results_and_leaderboard(address: str) -> None:
    """Averages and 20 bars of chosen runs; the best run first, an unknown signature is a 422; `avg_score` sorts as `score`."""
    id_ = suite_id(address, "capitals")
    runs = run_ids(address, id_)
    found = ask(address, f"{V1}/test_suites/{id_}/runs/summary").json
    by_name = {item["name"]: item for item in found["summary"]}
    assert {name: item["avg_score"] for name, item in by_name.items()} == {"good": 1.0, "poor": 0.25, "middling": 0.5}
    assert [bar["count"] for bar in by_name["poor"]["histogram"]] == [3, *[0] * 18, 1]
    assert (found["num_test_cases"], found["categorical"]) == (4, False)
    one = ask(address, f"{V1}/test_suites/{id_}/runs/summary?run_ids={runs['poor']}").json
    assert [item["name"] for item in one["summary"]] == ["poor"]
    assert ask(address, f"{V1}/test_suites/{id_}/runs/summary?run_ids={NOBODY}").status == 404
    board = ask(address, f"{V1}/test_suites/{id_}/leaderboard").json
    assert [(row["rank"], row["name"]) for row in board["rows"]] == [(1, "good"), (2, "middling"), (3, "poor")]
    assert {row["run_id"] for row in board["rows"]} == set(run_ids(address, id_).values())
    assert ask(address, f"{V1}/test_suites/{id_}/leaderboard?signature=x").status == 422
    assert ask(address, f"{V1}/test_suites/{suite_id(address, 'untried')}/leaderboard").json["rows"] == []
    path = f"{BENCH}/test_suites/{suite_id(address, 'capitals')}/runs"
    assert ask(address, f"{path}?sort=avg_score").json == ask(address, f"{path}?sort=score").json
    assert [run["name"] for run in ask(address, f"{path}?sort=avg_score").json["test_runs"]] == ["poor", "middling", "good"]
