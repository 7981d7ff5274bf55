"""`evalsuite gold scorers`: the list and the help of one, as a person and as a program reads them."""

import json
import shlex
from pathlib import Path

import pytest

from evalsuite.cli.prediction import parse_options
from evalsuite.scorers import SCORERS
from tests.cli.test_run import as_json, said

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.mark.parametrize("name", SCORERS.names())
def test_the_help_of_one(name: str) -> None:
    """Every parameter stands with a meaning, both rules are explained, and no line is wider than a screen but for examples."""
    out = said("scorers", name)
    body = out.split("\nexample, an entry")[0].splitlines()
    assert max(map(len, body)) <= 110
    for word in (*SCORERS.load(name).parameters, "official", "strict"):
        assert any(line.startswith(f" {word} ") for line in body), word


@pytest.mark.parametrize("name", SCORERS.names())
def test_the_example_command_means_the_example(name: str) -> None:
    """The command line shown last gives the scorer the very parameters of the gold entry above it."""
    *_, entry, _, _, line = said("scorers", name).splitlines()
    words = shlex.split(line)
    assert words[:3] == ["evalsuite", "check", name]
    rest = words[3:]
    while "--prediction" in rest:
        del rest[(at := rest.index("--prediction")) : at + 2]
    assert parse_options(SCORERS.load(name), rest) == json.loads(entry)["parameters"]


def test_json() -> None:
    """--json gives the list and one scorer as data: types, defaults, which keys are needed."""
    listed = as_json("scorers")
    assert [row["name"] for row in listed] == SCORERS.names()
    one = as_json("scorers number_match")
    parameters = {row["name"]: row for row in one["parameters"]}
    assert (parameters["gold"]["needed"], parameters["precision"]["default"], parameters["percentage"]["type"]) == (
        True,
        4,
        "true or false",
    )
    assert set(one["rules"]) == {"official", "strict"}


def test_an_unknown_name() -> None:
    """A name that is no scorer exits 2 with the near one."""
    assert said("scorers tabel_match", code=2) == (
        "error: unknown scorer 'tabel_match'\nhint: did you mean 'table_match'?\ntry: evalsuite scorers table_match\n"
    )


def test_the_help_of_a_plugin_says_what_it_has(tmp_path: Path) -> None:
    """A scorer of a few lines has a summary and perhaps parameters: no sentence twice, no empty example, no error without parameters."""
    marked = "from evalsuite import scorer\n\n@scorer(reads='text')\n"
    (tmp_path / "a.py").write_text(f'{marked}def loud(answer, *, gold: str):\n    """1 if it is loud."""\n    return 1\n')
    (tmp_path / "b.py").write_text(f"{marked}def plain(answer):\n    return 1\n")
    assert said("scorers", "loud", "--plugin", tmp_path / "a.py").splitlines() == [
        "loud: 1 if it is loud.",
        "reads a text (answer type: answer)",
        "",
        "parameters",
        " gold   text, required",
    ]
    assert said("scorers", "plain", "--plugin", tmp_path / "b.py").endswith("\n\nno parameters\n")
