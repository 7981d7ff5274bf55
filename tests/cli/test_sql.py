"""`evalsuite sql` and `agree` quote as little of hidden gold as reports do."""

import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import EXIT_OK, EXIT_USAGE
from tests.cli.test_run import lacks, said

pytestmark = pytest.mark.usefixtures("shared_fork_server")

SECRET = 987654.25


@pytest.fixture
def run_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run of one wrong number against hidden gold; the working folder is the test's."""
    monkeypatch.chdir(tmp_path)
    for folder in ("gold", "sub"):
        (tmp_path / folder).mkdir()
    (tmp_path / "gold" / "suite.yaml").write_text("hidden: true\n")
    row = {"instance_id": "n1", "evaluation": {"func": "number_match", "parameters": {"gold": SECRET}}}
    (tmp_path / "gold" / "x_eval.jsonl").write_text(json.dumps(row) + "\n")
    answer = {"instance_id": "n1", "answer_type": "answer", "answer_or_path": "17"}
    (tmp_path / "sub" / "results_metadata.jsonl").write_text(json.dumps(answer) + "\n")
    assert main(["run", "sub", "--quiet"]) == EXIT_OK
    return next((tmp_path / ".evalsuite" / "runs").iterdir()).name


QUERY = "select score, reason, details from results"


@pytest.mark.parametrize("level", [[], ["--reveal", "none"], ["--reveal", "status"], ["--reveal", "class"], ["--reveal", "shape"]])
def test_sql_quotes_no_hidden_gold(run_name: str, level: list[str]) -> None:
    """Below `cells` no cell of gold is in any column, and the row is still there."""
    out = said("sql --json", QUERY, *level)
    assert str(SECRET) not in out
    assert json.loads(out)["score"] == (None if "none" in level else 0)


def test_sql_shows_what_is_asked_for(run_name: str) -> None:
    """`--reveal cells` is the owner's word; an unknown level is an error."""
    assert str(SECRET) in said("sql", QUERY, "--reveal", "cells")
    assert main(["sql", QUERY, "--reveal", "all"]) == EXIT_USAGE


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_agree_quotes_no_hidden_gold(run_name: str, tmp_path: Path, form: list[str]) -> None:
    """A disagreement says that the answer is not gold's, and not what gold's is."""
    (tmp_path / "people.csv").write_text("instance_id,label\nn1,1\n")
    out = said("agree", run_name, "people.csv", *form)
    assert not lacks(out, "n1", "not gold's answer")
    assert str(SECRET) not in out
