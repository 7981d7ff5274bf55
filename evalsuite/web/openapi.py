"""The OpenAPI document of the API, made from the table of endpoints."""

from functools import cache
from typing import Any

from evalsuite import __version__
from evalsuite.web.endpoints import ENDPOINTS, PREFIXES, Endpoint
from evalsuite.web.query import MOST_PER_PAGE

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
OBJECT: Schema = {"type": "object"}
NUMBER: Schema = {"type": ["number", "null"]}
MAYBE: Schema = {"type": ["string", "null"]}
SHARE: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
SPAN: Schema = {"type": ["array", "null"], "items": {"type": "number"}, "minItems": 2, "maxItems": 2}


def some(**fields: Schema) -> Schema:
    """An object with all of these keys, and perhaps others."""
    return {"type": "object", "required": list(fields), "properties": fields}


def many(items: Schema | str) -> Schema:
    """A list of items, or of what a schema names."""
    return {"type": "array", "items": _ref(items) if isinstance(items, str) else items}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_PAGE = {"page": {"type": "integer", "minimum": 1}, "page_size": {"type": "integer", "minimum": 1}}
PAGED = {**_PAGE, "total_pages": {"type": "integer", "minimum": 1}, "total_count": WHOLE}
_SUITE = {
    "id": TEXT, "name": TEXT, "kind": {"enum": ["suite", "gold", "bench"]}, "description": TEXT, "scoring_method": _ref("ScoringMethod"),
    "scorers": many(TEXT), "created_at": TEXT, "updated_at": TEXT, "last_run_time": MAYBE, "num_runs": WHOLE,
}  # fmt: skip
_RUN = {
    "id": TEXT, "name": TEXT, "test_suite_id": TEXT, "created_at": TEXT, "updated_at": TEXT, "avg_score": NUMBER, "interval_95": SPAN,
    "score_high": SHARE, "n_cases": {"type": ["integer", "null"]}, "n_submitted": {"type": ["integer", "null"]}, "rules": MAYBE,
    "tags": many(TEXT), "model_name": MAYBE, "model_version": MAYBE, "foundation_model": MAYBE, "prompt_template": MAYBE,
    "description": MAYBE,
}  # fmt: skip
_CASE_RUN = {
    "id": TEXT, "status": TEXT, "outcome": TEXT, "input": MAYBE, "reference_output": MAYBE, "output": MAYBE, "score": NUMBER,
    "score_result": some(score=NUMBER, category={"type": ["object", "null"]}), "official": SHARE, "strict": SHARE, "scorer": MAYBE,
    "groups": many(TEXT), "reason": TEXT, "fault": MAYBE, "seconds": {"type": "number"},
}  # fmt: skip
SCHEMAS: dict[str, Schema] = {
    "Error": some(error=some(status={"type": "integer"}, message=TEXT, hint=TEXT)),
    "ScoringMethod": some(name=TEXT, type=TEXT, config=OBJECT, output_type=TEXT, categories={"type": ["array", "null"]}),
    "Check": some(scorer=TEXT, parameters=OBJECT),
    "TestCase": some(id=TEXT, input=TEXT, reference_output=MAYBE, checks=many("Check")),
    "TestSuiteMetadata": some(**_SUITE),
    "TestSuites": some(test_suites=many("TestSuiteMetadata"), **PAGED),
    "TestSuite": some(**_SUITE, test_cases=many("TestCase"), **PAGED),
    "TestRunMetadata": some(**_RUN),
    "TestRuns": some(test_runs=many("TestRunMetadata"), **PAGED),
    "HistogramItem": {
        "oneOf": [some(count=WHOLE, low={"type": "number"}, high={"type": "number"}), some(count=WHOLE, category=some(name=TEXT))]
    },
    "SummaryItem": some(id=TEXT, name=TEXT, avg_score=NUMBER, mean_judged=NUMBER, n_unjudged=WHOLE, histogram=many("HistogramItem")),
    "TestSuiteSummary": some(summary=many("SummaryItem"), num_test_cases=WHOLE, categorical={"type": "boolean"}, **PAGED),
    "TestCaseRun": some(**_CASE_RUN),
    "TestRun": some(
        **_RUN, signature=TEXT, submission=TEXT, summary=OBJECT, warnings=many(TEXT), test_case_runs=many("TestCaseRun"), **PAGED
    ),
    "TestCaseDetails": some(**_CASE_RUN, checks=many("Check"), details=OBJECT),
    "LeaderboardRow": some(name=TEXT, run_id=TEXT, rank={"type": ["integer", "null"]}, score=NUMBER, interval=SPAN, coverage=SHARE),
    "Leaderboard": some(rows=many("LeaderboardRow"), signature=TEXT, other_signatures=many(some(signature=TEXT, num_runs=WHOLE))),
    "Comparison": some(
        run_ids=many(TEXT),
        baseline=TEXT,
        rules=TEXT,
        warnings=many(TEXT),
        candidates=many(some(label=TEXT, verdict=TEXT, total=OBJECT, flips=many(OBJECT))),
    ),
    "RunInProgress": some(
        id=TEXT, name=TEXT, suite_name=TEXT, state={"enum": ["running", "interrupted"]}, started_at=TEXT, last_result_at=MAYBE,
        n_done=WHOLE, n_total={"type": ["integer", "null"]}, n_right=WHOLE, score=SHARE,
    ),
    "Progress": some(runs=many("RunInProgress")),
}  # fmt: skip
_MEANINGS = {
    "name": "the exact name of a suite",
    "q": "a part of a name, an id or a reason, in any case",
    "scoring_method": "the name of a scorer",
    "status": "an outcome (right, wrong, partial, missing, submission_fault, ...) or a status",
    "flip": "why both rules differ, as the report says it",
    "field": "only results in which the field of this path is not whole",
    "scorer": "the name of a scorer",
    "group": "a group of instances",
    "run_ids": "the id of a run",
    "signature": "rank the runs of this signature instead of the newest run's",
    "suite_id": "the id of a suite",
    "run_id": "the id of a run",
    "case_id": "the id of an instance; it may hold slashes",
}


@cache
def document() -> Schema:
    """The whole document, OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "evalsuite view",
            "version": __version__,
            "description": "Suites, runs and results on this machine, read only; the routes of Arthur Bench under its own prefix too",
        },
        "servers": [{"url": prefix} for prefix in PREFIXES],
        "paths": {endpoint.path: {"get": _operation(endpoint)} for endpoint in ENDPOINTS},
        "components": {"schemas": SCHEMAS},
    }


def _operation(endpoint: Endpoint) -> Schema:
    in_path = [part.strip("{}") for part in endpoint.path.split("/") if part.startswith("{")]
    parameters = [{"name": name, "in": "path", "required": True, "schema": TEXT, "description": _MEANINGS[name]} for name in in_path]
    parameters += [_filter(name, repeatable=name in endpoint.repeatable) for name in endpoint.filters]
    if endpoint.sorts:
        words = [sign + word for word in endpoint.sorts for sign in ("", "-")]
        sort: dict[str, Any] = {"type": "string", "enum": words}
        if endpoint.default_sort:
            sort["default"] = endpoint.default_sort
        parameters.append({"name": "sort", "in": "query", "schema": sort, "description": "a minus turns the order round"})
    if endpoint.is_paged:
        size = {"type": "integer", "minimum": 1, "maximum": MOST_PER_PAGE, "default": endpoint.page_size}
        parameters.append({"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1, "default": 1}})
        parameters.append({"name": "page_size", "in": "query", "schema": size})
    answers: Schema = {"200": {"description": "the answer", "content": {"application/json": {"schema": _ref(endpoint.answer)}}}}
    faults = {
        "422": "a parameter that cannot be meant",
        **({"404": "there is none of that id"} if in_path or "run_ids" in endpoint.filters else {}),
    }
    for code, said in faults.items():
        answers[code] = {"description": said, "content": {"application/json": {"schema": _ref("Error")}}}
    return {
        "operationId": endpoint.answer[0].lower() + endpoint.answer[1:],
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": answers,
    }


def _filter(name: str, *, repeatable: bool) -> Schema:
    schema = many(TEXT) if repeatable else TEXT
    return {"name": name, "in": "query", "schema": schema, "description": _MEANINGS[name], **({"explode": True} if repeatable else {})}
