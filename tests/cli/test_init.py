"""`init`, `example`, `help`, `-V` and `next:`: the first minutes, from bare files, without a spec written by hand."""

import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.cli.commands import COMMANDS, GROUPS
from evalsuite.core.errors import EXIT_OK, EXIT_USAGE
from evalsuite.gold.layouts import read_gold
from tests.cli.test_run import lacks, said
from tests.terminal.pty_harness import EVALSUITE, run

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two CSV files in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/q1.csv").write_text("a,b\n1,x\n2,y\n3,z\n")
    (tmp_path / "src/q2.csv").write_text("n\n7\n8\n")
    return tmp_path


def spec(folder: Path) -> list[dict[str, object]]:
    """The entries of the one spec below a folder."""
    (file,) = folder.glob("*_eval.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_tables_become_gold(place: Path) -> None:
    """One folder with a spec, each file in the folder of its instance; it scores its own gold 1, and a second call leaves it alone."""
    (place / "asked.csv").write_text("id;question\nq2;How many?\n")
    out = said("init --gold-from src --questions asked.csv")
    assert not lacks(out, "no question for q1", "decide: ignore_order")
    assert out.splitlines()[-1].startswith("done: ")
    assert [path.parent.name for path in place.rglob("*_eval.jsonl")] == ["gold"]
    assert (place / "gold/suite.yaml").read_text() == f'name: "{place.name}"\n'
    assert (place / "gold/q1/q1.csv").read_bytes() == (place / "src/q1.csv").read_bytes()
    assert [(entry["instance_id"], entry.get("question")) for entry in spec(place / "gold")] == [("q1", None), ("q2", "How many?")]
    for name in ("q1", "q2"):
        (place / f"submission_template/{name}/{name}.csv").write_bytes((place / f"gold/{name}/{name}.csv").read_bytes())
    assert "2/2 = 100.0 %" in said("run submission_template --gold gold")
    (place / "src/more").mkdir()
    (place / "src/notes.txt").write_text("none")
    filled = (place / "submission_template/q1/q1.csv").read_bytes()
    out = said("init --gold-from src")
    assert not lacks(out, "submission_template was there and stays as it is", "left out: more/, notes.txt")
    assert (place / "submission_template/q1/q1.csv").read_bytes() == filled
    assert (place / "src_gold/suite.yaml").read_text() == 'name: "src_gold"\n'


def test_gold_is_read_as_it_is_written(place: Path) -> None:
    """With semicolons or in UTF-16, and answers in the same way, also where examples choose the parameters; commas win over semicolons."""
    for name, data in (("q1", b"a;b\n1;x\n2;y\n"), ("q2", "a\tb\n1\tx\n".encode("utf-16")), ("q3", b"a;b;c,d\n1,2\n")):
        (place / f"src/{name}.csv").write_bytes(data)
    (place / "good").mkdir()
    (place / "good/q1.csv").write_bytes(b"b;a\ny;2\nx;1\n")
    out = said("init --gold-from src --good good")
    assert not lacks(
        out, "note: q1: gold has delimiter ';', so", "note: q2: gold has delimiter '\\t', encoding 'utf-16', so", "gets full marks"
    )
    assert "is one column" not in out
    first, second, third = (entry["evaluation"]["parameters"] for entry in spec(place / "gold"))  # type: ignore[index]
    assert (first["delimiter"], second["encoding"], third) == (";", "utf-16", {"gold": "q3.csv", "ignore_order": True})
    assert "condition_cols" not in first


@pytest.mark.parametrize(("answer", "name"), [(b"\n", None), (b"Sales: 2024\n", "Sales: 2024")])
def test_a_terminal_is_asked_for_folder_and_name(place: Path, answer: bytes, name: str | None) -> None:
    """Both questions are answered by a line; an empty one takes the default, and the name is the suite's."""
    shown = run([*EVALSUITE, "init"], cwd=place, typed=[("right answers: ", b"src\n"), (f"name of the suite [{place.name}]: ", answer)])
    assert shown.code == EXIT_OK, shown.raw
    assert read_gold(place / "gold").suite.name == (name or place.name)


def test_examples_choose_the_parameters(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Order and columns by what is accepted and refused; what no example tells is said."""
    for name, text in (
        ("good/q1.csv", "a,b\n2,other\n1,other\n3,other\n"),
        ("bad/q1_1.csv", "a,b\n1,x\n2,y\n4,z\n"),
        ("good/q2.csv", "n\n7\n8\n"),
        ("bad/q2/one.csv", "n\n8\n7\n"),
    ):
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        (place / name).write_text(text)
    assert main(["init", "--gold-from", "src", "--good", "good", "--bad", "bad"]) == EXIT_OK
    first, second = (entry["evaluation"]["parameters"] for entry in spec(place / "gold"))  # type: ignore[index]
    assert first == {"gold": "q1.csv", "ignore_order": True, "condition_cols": [0]}
    assert second == {"gold": "q2.csv", "ignore_order": False}
    assert "q1: ignore_order true, condition_cols [0] by 1 good and 1 bad example" in capsys.readouterr().out
    (place / "bad/q2/one.csv").unlink()
    assert main(["init", "--gold-from", "src", "--good", "good", "--bad", "bad", "--to", "other", "--name", "mine"]) == EXIT_OK
    assert (place / "other/suite.yaml").read_text() == 'name: "mine"\n'
    assert "q2: open: order: no example shows whether it counts" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no folder of gold given"),
        (["--gold-from", "none"], "none: no such folder"),
        (["--gold-from", "empty"], "no CSV file in it"),
        (["--gold-from", "src", "--to", "src/gold"], "src/gold would be inside src"),
        (["--gold-from", "src", "--questions", "bad.csv"], "bad.csv:2: no gold file for the id 'q9'"),
        (["--gold-from", "src", "--good", "empty"], "no example belongs to an instance"),
    ],
)
def test_what_cannot_be_meant_writes_nothing(place: Path, arguments: list[str], says: str) -> None:
    """Exit 2, what was expected, and nothing half written."""
    (place / "bad.csv").write_text("id,question\nq9,What?\n")
    (place / "empty").mkdir()
    before = sorted(place.rglob("*"))
    assert says in said("init", *arguments, code=EXIT_USAGE)
    assert sorted(place.rglob("*")) == before


def test_the_example_runs_and_says_what_is_next(place: Path) -> None:
    """`example`, then the command that it names, then the one that this names; what is kept is kept out of git."""
    assert "next: evalsuite run play/submission --gold play/gold" in said("example play")
    out = said("run play/submission --gold play/gold")
    assert " · play (2 instances) · submission (2 submitted) · " in out
    (line,) = [line.strip() for line in out.splitlines() if "next: " in line]
    assert line.startswith("next: evalsuite explain stock --run 2")
    assert len(line) < 60
    assert main(line.removeprefix("next: evalsuite ").split()) in (0, 1)
    assert (place / ".evalsuite/.gitignore").read_text() == "*\n"
    name = line.split()[-1]
    assert "stock" in said("check stock --run", name)


def test_help_and_version_by_their_short_names() -> None:
    """`help`, `help COMMAND` and `-V` say what the long forms say; every command stands in one group of the page."""
    for one, other in (("help", "--help"), ("-V", "--version"), ("help run", "run --help")):
        assert said(one) == said(other)
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
