"""The JSON API over a real server: every route answers as the OpenAPI document says, and faults are faults."""

import json
from typing import Any

import pytest

from evalsuite.reports.viewer.app import ENDPOINTS, PREFIXES, openapi_document
from tests.reports.viewer.served import Answer, ask

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


def test_document_is_served_and_names_every_route(address: str) -> None:
    """`/openapi.json` is the document, and has each endpoint once."""
    served = ask(address, "/openapi.json")
    assert served.json == json.loads(json.dumps(openapi_document()))
    assert list(served.json["paths"]) == [endpoint.path for endpoint in ENDPOINTS]
    assert served.json["openapi"].startswith("3.1")


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


def test_a_run_of_another_suite_and_an_unknown_case_are_404s(address: str) -> None:
    """A run answers under its own suite only."""
    demo, capitals = suite_id(address, "demo"), suite_id(address, "capitals")
    run = run_ids(address, capitals)["good"]
    assert ask(address, f"{V1}/test_suites/{capitals}/runs/{run}").status == 200
    assert ask(address, f"{V1}/test_suites/{demo}/runs/{run}").status == 404
    assert ask(address, f"{V1}/test_suites/{capitals}/runs/{run}/cases/none").status == 404


def test_bench_words_for_sorting_go_on_working(address: str) -> None:
    """`avg_score` is the same as `score`."""
    path = f"{BENCH}/test_suites/{suite_id(address, 'capitals')}/runs"
    assert ask(address, f"{path}?sort=avg_score").json == ask(address, f"{path}?sort=score").json
    assert [run["name"] for run in ask(address, f"{path}?sort=avg_score").json["test_runs"]] == ["poor", "middling", "good"]


def test_summary_counts_every_case_once(address: str) -> None:
    """Average and 20 bars of each run; chosen runs only where some are named."""
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


def test_results_are_filtered_and_sorted(address: str) -> None:
    """By outcome, scorer, group and words; by score, best first."""
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


def test_leaderboard_ranks_runs_of_one_signature(address: str) -> None:
    """The best run first, each row with the id of its run; an unknown signature is a 422."""
    id_ = suite_id(address, "capitals")
    board = ask(address, f"{V1}/test_suites/{id_}/leaderboard").json
    assert [(row["rank"], row["name"]) for row in board["rows"]] == [(1, "good"), (2, "middling"), (3, "poor")]
    assert {row["run_id"] for row in board["rows"]} == set(run_ids(address, id_).values())
    assert ask(address, f"{V1}/test_suites/{id_}/leaderboard?signature=x").status == 422
    assert ask(address, f"{V1}/test_suites/{suite_id(address, 'untried')}/leaderboard").json["rows"] == []
