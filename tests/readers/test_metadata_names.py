"""A metadata file under another name is read or refused by name, and never passed over for what else lies in the folder."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import EXIT_USAGE
from evalsuite.core.types import METADATA
from tests.properties import is_full

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture
def answers(example: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of the example's answers, databases among them, beside its gold."""
    (tmp_path / "gold").symlink_to(example[1])
    return Path(shutil.copytree(example[0], tmp_path / "answers"))


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The objects of the metadata."""
    return [json.loads(line) for line in (folder / METADATA).read_text(encoding="utf-8").splitlines()]


def verdicts(folder: Path, out: Path) -> list[tuple[Any, ...]]:
    """What a run says of each instance, and its warnings' number."""
    assert main(["run", str(folder), "--gold", str(folder.parent / "gold"), "--out", str(out), "--no-cache", "-q"]) in (0, 1, 4)
    results = [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    return [(row["instance_id"], row["status"], row["score"], row["fault"]) for row in results]


def layouts(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The same objects as people write them into a `.json` file."""
    lines = [json.dumps(row) for row in rows]
    return {
        "array in one line": json.dumps(rows),
        "indented array": json.dumps(rows, indent=4),
        "a line each in brackets": "[\n" + ",\n".join(lines) + "\n]\n",
        "lines": "\n".join(lines) + "\n",
        "after a mark and blanks": "\ufeff \n\n " + json.dumps(rows),
    }


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_an_array_or_lines_in_json_are_the_same_submission(step: int, answers: Path, tmp_path: Path) -> None:
    """`results_metadata.json` in each layout gives the verdicts of `.jsonl`, one note that says so, and a run that verifies.

    The test line tries the first and the last layout, with every second answer.
    """
    rows = rows_of(answers)[:: 1 if is_full() else 2]
    (answers / METADATA).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    wanted = verdicts(answers, tmp_path / "wanted")
    (answers / METADATA).unlink()
    for number, (name, text) in enumerate(list(layouts(rows).items())[::step]):
        (answers / "results_metadata.json").write_text(text, encoding="utf-8")
        out = tmp_path / f"run{number}"
        assert verdicts(answers, out) == wanted, name
        warnings = json.loads((out / "run.json").read_text(encoding="utf-8"))["warnings"]
        assert len([text for text in warnings if "is read as" in text]) == 1
        assert not [text for text in warnings if "array" in text or "several lines" in text]
        assert main(["verify", str(out), "--gold", str(answers.parent / "gold")]) == 0


def test_two_like_names_are_not_chosen_between(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where `.json` lies beside another one nobody can say which is meant; beside `.jsonl` none of them counts."""
    shutil.copy(answers / METADATA, answers / "results_metadata.json")
    shutil.copy(answers / METADATA, answers / "results_metadata.json.bak")
    assert main(["run", str(answers), "--gold", str(answers.parent / "gold"), "--no-save", "-q"]) == 0
    (answers / METADATA).unlink()
    assert main(["run", str(answers), "--gold", str(answers.parent / "gold"), "--no-save", "-q"]) == EXIT_USAGE
    assert f"found results_metadata.json, results_metadata.json.bak, expected {METADATA}" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"q1": "x", "q2": "y"}', '[["q1", "x"]]', '{"answers": [{"instance_id": "q1"}]}', '"text"'])
def test_json_without_answers_ends_the_run(answers: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is neither an array nor lines of answers is no submission of nothing."""
    (answers / METADATA).unlink()
    (answers / "results_metadata.json").write_text(text)
    assert main(["run", str(answers), "--gold", str(answers.parent / "gold"), "--no-save", "-q"]) == EXIT_USAGE
    assert "results_metadata.json: no object in it has an instance_id" in capsys.readouterr().err


def test_databases_are_a_submission_for_gold_of_databases_only(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without metadata the example's databases are not taken for its answers: its gold asks for more than databases."""
    (answers / METADATA).unlink()
    assert any(answers.glob("*/*.duckdb"))
    for isolation in ("process", "none"):
        line = ["run", str(answers), "--gold", str(answers.parent / "gold"), "--no-save", "-q", "--isolation", isolation]
        assert main(line) == EXIT_USAGE
        assert f"no {METADATA} in" in capsys.readouterr().err


def test_made_up_names_never_score_in_silence(answers: Path) -> None:
    """Ten names that begin alike: the right one and `.json` are read, each other one ends with exit 2."""
    draw, rows = random.Random(33), (answers / METADATA).read_text(encoding="utf-8")
    (answers / METADATA).unlink()
    for _ in range(10):
        ending = "".join(draw.choices([".json", ".jsonl", ".txt", "_v2", " copy", "s", "~", ".bak", "l"], k=draw.randint(0, 3)))
        place = answers / f"results_metadata{ending}"
        place.write_text(rows, encoding="utf-8")
        done = main(["validate", str(answers)])
        assert (done == EXIT_USAGE) == (ending not in (".json", ".jsonl")), ending
        place.unlink()
