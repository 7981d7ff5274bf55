"""A run is written as other tools write theirs, and comes back by `import` as it was."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalsuite
from evalsuite.cli import main
from evalsuite.core.errors import EXIT_OK, EXIT_USAGE

pytestmark = pytest.mark.usefixtures("shared_fork_server")

QUESTIONS = ["Capital of France?", "Capital of Italy?", "Hôtel, “quoted”?"]
REFERENCES = ["Paris", "Rome", "oui\nnon"]
ANSWERS = ["Paris", "Milan", "\udcff oui\nnon"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A saved run of three cases, the second wrong, in the working folder."""
    monkeypatch.chdir(tmp_path)
    suite = evalsuite.TestSuite("capitals", "string_match", input_text_list=QUESTIONS, reference_output_list=REFERENCES)
    suite.run("mine", candidate_output_list=ANSWERS, model_name="some/model")
    return "mine"


@pytest.mark.parametrize(("file", "form"), [("log.json", "inspect"), ("samples_capitals.jsonl", "lm-eval")])
def test_what_is_written_is_read_again(run: str, file: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Questions, references, answers and verdicts of each case are those that were written."""
    assert main(["export", run, file]) == EXIT_OK
    assert f"done: wrote 3 samples to {file} in the format of {form}" in capsys.readouterr().out
    assert main(["import", file, "--name", "back", "--json"]) == EXIT_OK
    found = json.loads(capsys.readouterr().out)
    assert found["format"] == form
    cases = found["runs"][0]["cases"]
    assert [case["input"] for case in cases] == QUESTIONS
    assert [case["reference"] for case in cases] == REFERENCES
    assert [case["output"] for case in cases][:2] == ANSWERS[:2]
    assert [case["theirs"] for case in cases] == [1, 0, 1]


@pytest.mark.parametrize("file", ["log.json", "log.jsonl", "suite.json"])
def test_a_written_file_is_as_it_looks(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters that turn a line round or are not seen are escaped, and are read back."""
    monkeypatch.chdir(tmp_path)
    answer = "x \u202egnp.exe\u200b"
    suite = evalsuite.TestSuite("odd", "string_match", input_text_list=["what?"], reference_output_list=["x"])
    suite.run("mine", candidate_output_list=[answer])
    assert main(["suite", "export", "odd", file] if file == "suite.json" else ["export", "mine", file]) == EXIT_OK
    written = Path(file).read_text(encoding="utf-8")
    assert ("\u202e" in written, "\u200b" in written, "x \\u202egnp.exe\\u200b" in written) == (False, False, True)


def test_inspects_own_reader_takes_the_log(run: str, tmp_path: Path) -> None:
    """Where Inspect is installed its reader finds the three samples, the verdicts and the model."""
    inspect_log = pytest.importorskip("inspect_ai.log", reason="needs inspect-ai, which no extra brings")
    assert main(["export", run, "log.json"]) == EXIT_OK
    log: Any = inspect_log.read_eval_log(str(tmp_path / "log.json"))
    assert (log.status, log.eval.task, log.eval.model) == ("success", "capitals", "some/model")
    assert [sample.scores["string_match"].value for sample in log.samples] == [1, 0, 1]
    assert log.samples[1].output.completion == "Milan"


def test_what_has_no_place_in_a_log_is_said(run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of files alone is refused, and so are an ending without a form and gold that may not be seen."""
    assert main(["export", run, "log.txt"]) == EXIT_USAGE
    assert "--as inspect, or --as lm-eval" in capsys.readouterr().err
    assert main(["export", run, "log.txt", "--as", "lm-eval"]) == EXIT_OK
    assert "wrote 3 samples to log.txt in the format of lm-eval" in capsys.readouterr().out
    assert main(["export", run, "log.json", "--reveal", "class"]) == EXIT_USAGE
    assert "questions and references of a log are gold's, which is hidden here" in capsys.readouterr().err
    assert not (tmp_path / "log.json").exists()
