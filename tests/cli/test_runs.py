"""`evalsuite runs show`: everything that a suite's run keeps."""

import csv
import json
import os
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.sandbox.temp_dirs import lock
from tests.cli.test_run import lacks, said

pytestmark = pytest.mark.usefixtures("shared_fork_server")

METADATA = {
    "model_name": "model m", "model_version": "2", "foundation_model": "base", "prompt_template": "Say {input}", "description": "a try",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a suite's run with all metadata, whose contexts hold an escape and a line end."""
    monkeypatch.chdir(tmp_path)
    for name, head, rows in (
        ("q.csv", ("input", "reference_output"), [("where?", "here"), ("when?", "now")]),
        ("m.csv", ("candidate_output", "page"), [("here", "page one"), ("then", "page\n\x1b[31mtwo")]),
    ):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([head, *rows])
    assert main(["suite", "create", "s", "--from", "q.csv", "--scorer", "string_match"]) == 0
    options = ["--model-name", "model m", "--model-version", "2", "--foundation-model", "base"]
    options += ["--prompt-template", "Say {input}", "--description", "a try"]
    assert main(["suite", "run", "s", "first", "--from", "m.csv", "--context-column", "page", *options]) == 0
    (folder,) = (tmp_path / ".evalsuite" / "runs").iterdir()
    return folder


def test_show_says_all_metadata_and_every_context(run: Path) -> None:
    """By its given name and by its folder: name, tags, each piece of metadata, the numbers, and each context on one printable line."""
    assert main(["runs", "tag", "first", "--add", "best"]) == 0
    shown = said("runs show first")
    rows = [(line[1:19].strip(), line[20:]) for line in shown.splitlines()]
    metadata = {key.replace(" ", "_"): value for key, value in rows}
    assert {key: metadata[key] for key in METADATA} == METADATA
    assert {("run", run.name), ("run name", "first"), ("tags", "#best"), ("score", "1/2 = 50.0 %, 95 % CI 9.5-90.5")} <= set(rows)
    ids = [json.loads(line)["instance_id"] for line in (run / "results.jsonl").read_text().splitlines()]
    assert [value for key, value in rows if key == "context"] == [f"{ids[0]}: page one", f"{ids[1]}: page\\n\\x1b[31mtwo"]
    assert said("runs show", run.name) == shown


def test_two_runs_of_one_name_are_told_apart(run: Path) -> None:
    """A name that two runs were given is an error that names their folders."""
    other = run.with_name("zz-copy")
    other.mkdir()
    for file in run.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    error = said("runs show first", code=2)
    assert not lacks(error, "2 runs are named 'first'", "zz-copy")


def test_a_run_that_another_process_writes_is_no_stopped_one(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No command proposes to continue or delete it; after that process has ended, they do."""
    place = run.with_name("zz-now")
    place.mkdir()
    (place / ".started.json").write_text("{}")
    descriptor = os.open(place, os.O_RDONLY)
    lock(descriptor)
    for words, code, text in (
        (["runs"], 0, "note: zz-now: being written by another run"),
        (["runs", "rm", "zz-now"], 2, "is being written"),
    ):
        assert main(words) == code
        assert text in (error := capsys.readouterr().err)
        assert "resume" not in error
    assert "no run in .evalsuite/runs would be deleted" in said("runs prune --unfinished")
    os.close(descriptor)
    assert main(["runs", "rm", "zz-now"]) == 2
    assert main(["runs"]) == 0
    assert "zz-now is an unfinished run" in (error := capsys.readouterr().err)
    assert "note: zz-now: not finished" in error
