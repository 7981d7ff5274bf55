"""`evalsuite sql` and `agree` quote as little of hidden gold as reports do."""

import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import EXIT_USAGE
from tests.cli.test_run import lacks, said, text_submission, write_lines
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")

SECRET = 987654.25


def make_place(folder: Path) -> None:
    """A run of one wrong number against hidden gold."""
    write_lines(folder / "gold/x_eval.jsonl", {"instance_id": "n1", "evaluation": {"func": "number_match", "parameters": {"gold": SECRET}}})
    (folder / "gold/suite.yaml").write_text("hidden: true\n")
    text_submission(folder / "sub", n1="17")
    said("run sub --quiet --isolation none")


place = copy_of(make_place)


@pytest.fixture
def run_name(place: Path) -> str:
    """The name of a copy of it, in the working folder."""
    return next((place / ".evalsuite" / "runs").iterdir()).name


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
