"""The root of a run is one of what is saved: rows that come back from a folder have the root that the run had."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalsuite.runs import scoring
from evalsuite.runs.run_folder import root_of
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def test_rows_without_what_was_read_have_the_same_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are right, absent, or refused by their path: what was read is what lies there, so the root is the same."""
    gold, submission = tmp_path / "gold", tmp_path / "submission"
    named = {"q1": "../x.csv", "q2": "absent.csv", "q3": "g.csv", "q4": "g.csv/../../q3/g.csv"}
    for folder in (gold, submission):
        for name in named:
            (folder / name).mkdir(parents=True)
            (folder / name / "g.csv").write_text("a\n1\n")
    check = {"func": "table_match", "parameters": {"gold": "g.csv"}}
    answers = [{"instance_id": name, "answer_type": "file", "answer_or_path": file} for name, file in named.items()]
    (gold / "a_eval.jsonl").write_text("".join(json.dumps({"instance_id": name, "evaluation": check}) + "\n" for name in named))
    (submission / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    given: list[Any] = []

    def root_as_it_is_asked(*arguments: Any) -> str:
        given[:] = arguments
        return root_of(*arguments)

    monkeypatch.setattr(scoring, "root_of", root_as_it_is_asked)
    whole = run(submission, gold, RunOptions(runs_folder=tmp_path / "runs"))
    tasks, results, digests, contents = given
    assert [result.fault for result in results] == ["BAD_PATH", "MISSING_FILE", None, "BAD_PATH"]
    assert any(result.digests for result in results)
    assert root_of(tasks, [replace(result, digests={}) for result in results], digests, contents) == whole.root
