"""A number that a query gives as gold, on each engine: the format's own example, with no parameters and a `gold.sql` beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite import evaluate
from tests.sql.conftest import Made

QUERY = "SELECT sum(weight) + 1 FROM items"
# parameters, answer, what it is worth; the query gives 0.25.
CASES: tuple[tuple[dict[str, Any], str, float], ...] = (
    ({}, "It is 0.25", 1),
    ({}, "It is 0.26", 0),
    ({}, "It is 25", 0),
    ({"percentage": True}, "It is 25", 1),
    ({"percentage": True}, "It is 26", 0),
    ({"precision": 1}, "It is 0.3", 1),
    ({"precision": 2}, "It is 0.3", 0),
    ({"percentage": True, "precision": 1}, "It is 25.05", 1),
    ({"exclude": ["about"]}, "It is about 0.25", 0),
)


@pytest.mark.parametrize("made", ["duckdb", pytest.param("folder", marks=pytest.mark.slow), "sqlite", "postgres"], indirect=True)
@pytest.mark.usefixtures("shared_fork_server")
def test_scores_on_every_engine(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing but `"parameters": {}`, and with percentage and precision too, answers are right and wrong under both rules."""
    monkeypatch.chdir(tmp_path)
    gold, submission = tmp_path / "gold", tmp_path / "handed_in"
    submission.mkdir()
    evaluation = {"func": "number_match", "temporal": True}
    ids = [f"q{at}" for at in range(len(CASES))]
    for id_ in ids:
        (gold / id_).mkdir(parents=True)
        (gold / id_ / "gold.sql").write_text(QUERY)
    entries = [
        {"instance_id": id_, "evaluation": {**evaluation, "parameters": parameters}}
        for id_, (parameters, _, _) in zip(ids, CASES, strict=True)
    ]
    answers = [
        {"instance_id": id_, "answer_type": "answer", "answer_or_path": answer} for id_, (_, answer, _) in zip(ids, CASES, strict=True)
    ]
    (gold / "living_eval.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    (submission / "results_metadata.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    connection = {"engine": made.engine, "database": made.connection.database, "prefix": "q", **made.connection.options}
    (tmp_path / "connections.yaml").write_text(json.dumps({"house": connection}))
    run = evaluate(submission, gold, save=False, jobs=1)
    worth = [case[2] for case in CASES]
    assert [(result.official, result.strict) for result in run.results] == [(value, value) for value in worth]
