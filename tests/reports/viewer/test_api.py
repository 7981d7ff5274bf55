"""The JSON API over a real server: every route answers as the OpenAPI document says, and faults are faults."""

import json
from pathlib import Path
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


def test_suites_of_both_kinds_are_listed_sorted_and_filtered(address: str) -> None:
    """A suite made by name, one that was never run and a gold folder are all there."""
    found = ask(address, f"{V1}/test_suites?sort=name").json
    assert [(suite["name"], suite["kind"], suite["num_runs"]) for suite in found["test_suites"]] == [
        ("capitals", "suite", 3), ("demo", "gold", 3), ("untried", "suite", 0),
    ]  # fmt: skip
    backward = ask(address, f"{V1}/test_suites?sort=-name").json["test_suites"]
    assert backward == found["test_suites"][::-1]
    by_scorer = ask(address, f"{V1}/test_suites?scoring_method=exact_match&scoring_method=number_match&sort=name").json["test_suites"]
    assert [suite["name"] for suite in by_scorer] == ["demo", "untried"]
    assert ask(address, f"{V1}/test_suites?q=FOUR").json["test_suites"][0]["name"] == "capitals"


def test_pages_hold_their_share_and_one_past_the_end_is_empty(address: str) -> None:
    """Three suites in pages of two."""
    pages = [ask(address, f"{V1}/test_suites?sort=name&page_size=2&page={number}").json for number in (1, 2, 3)]
    assert [[suite["name"] for suite in page["test_suites"]] for page in pages] == [["capitals", "demo"], ["untried"], []]
    assert {(page["total_pages"], page["total_count"], page["page_size"]) for page in pages} == {(2, 3, 2)}


def test_everything_said_of_a_suite_and_its_runs_is_returned(address: str) -> None:
    """What Bench dropped: the description, model, version, foundation model and prompt template."""
    id_ = suite_id(address, "capitals")
    suite = ask(address, f"{V1}/test_suites/{id_}?page_size=3").json
    assert (suite["description"], suite["scoring_method"]["name"], len(suite["test_cases"])) == ("four of them", "string_match", 3)
    assert suite["test_cases"][0]["reference_output"] == "Paris"
    (best, *_) = ask(address, f"{V1}/test_suites/{id_}/runs?sort=-score").json["test_runs"]
    assert (best["name"], best["avg_score"], best["model_name"]) == ("good", 1.0, "model good")
    assert (best["model_version"], best["foundation_model"], best["prompt_template"]) == ("2", "base", "Q: {input}")


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


def test_one_case_shows_the_configuration_of_its_scorer(address: str) -> None:
    """Checks with their parameters, the input, and everything the scorer noted."""
    id_ = suite_id(address, "demo")
    run = next(iter(run_ids(address, id_).values()))
    case = ask(address, f"{V1}/test_suites/{id_}/runs/{run}/cases/text_1").json
    assert case["checks"] == [{"scorer": "string_match", "parameters": {"gold": "Paris"}}]
    assert (case["input"], case["reference_output"], case["output"]) == ("Capital of France?", "Paris", "Paris it is")
    assert case["details"] != {}


def test_leaderboard_ranks_runs_of_one_signature(address: str) -> None:
    """The best run first, each row with the id of its run; an unknown signature is a 422."""
    id_ = suite_id(address, "capitals")
    board = ask(address, f"{V1}/test_suites/{id_}/leaderboard").json
    assert [(row["rank"], row["name"]) for row in board["rows"]] == [(1, "good"), (2, "middling"), (3, "poor")]
    assert {row["run_id"] for row in board["rows"]} == set(run_ids(address, id_).values())
    assert ask(address, f"{V1}/test_suites/{id_}/leaderboard?signature=x").status == 422
    assert ask(address, f"{V1}/test_suites/{suite_id(address, 'untried')}/leaderboard").json["rows"] == []


def test_compare_pairs_runs_with_the_first_as_baseline(address: str) -> None:
    """Differences have the sign of candidate less baseline, and flips name the instances."""
    runs = run_ids(address, suite_id(address, "capitals"))
    found = ask(address, f"{V1}/compare?run_ids={runs['middling']}&run_ids={runs['good']}&run_ids={runs['poor']}").json
    assert (found["baseline"], [one["label"] for one in found["candidates"]]) == ("middling", ["good", "poor"])
    assert [one["total"]["difference"] for one in found["candidates"]] == [0.5, -0.25]
    assert [len(one["flips"]) for one in found["candidates"]] == [2, 1]


def test_nothing_is_written(address: str, project: Path) -> None:
    """Having answered all of this, the project's files are as they were, and nothing but reading is answered."""

    def files() -> dict[str, tuple[int, int]]:
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in project.rglob("*") if path.is_file()}

    before = files()
    for endpoint in ENDPOINTS:
        assert ask(address, V1 + filled(address, endpoint.path)).status == 200
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert ask(address, f"{V1}/test_suites", method=method).status == 405
        assert ask(address, "/", method=method).status == 405
    assert files() == before
