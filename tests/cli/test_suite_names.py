"""Runs of several suites that were given the same names, commands that take runs by name, and `--judge` wherever submissions are scored."""

import json
import shutil
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.cli.test_run import as_json, said
from tests.conftest import ROOT
from tests.scorers.judge.conftest import Serve, serve

pytestmark = pytest.mark.usefixtures("shared_fork_server")

__all__ = ["serve"]

DATA = ROOT / "docs" / "example"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two suites with runs of the same candidates, as README's commands make them; in the second both answer like the first."""
    folder = tmp_path_factory.mktemp("suites")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for suite, candidates in (("capitals", ("model_a", "model_b")), ("second", ("model_a", "model_a"))):
            assert main(["suite", "create", suite, "--from", str(DATA / "questions.csv"), "--scorer", "string_match"]) == 0
            (folder / "named").mkdir(exist_ok=True)
            for name, source in zip(("model_a", "model_b"), candidates, strict=True):
                (folder / "named" / f"{name}.csv").write_bytes((DATA / f"{source}.csv").read_bytes())
            assert main(["suite", "run", suite, "--from", "named/model_a.csv", "--from", "named/model_b.csv"]) == 0
    return folder


def compared(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[float, str]:
    """(the difference, what stands on stderr) of a comparison."""
    capsys.readouterr()
    assert main(["compare", *words, "--json"]) == 0
    shown = capsys.readouterr()
    return json.loads(shown.out)["candidates"][0]["total"]["difference"], shown.err


def test_compare_takes_suite_and_run(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`suite/run` and `--suite` say which; the bare names are of the suite that ran last, with a note; a name of neither is an error."""
    monkeypatch.chdir(place)
    apart, told = compared(capsys, "capitals/model_a", "capitals/model_b")
    assert apart != 0
    assert told == ""
    assert compared(capsys, "model_a", "model_b", "--suite", "capitals") == (apart, "")
    assert compared(capsys, "model_a", "model_b", "--suite", "second")[0] == 0
    same, told = compared(capsys, "model_a", "model_b")
    assert same == 0
    assert "compared are those of second, which ran last" in told
    assert main(["compare", "model_a", "nobody"]) == 2
    assert main(["compare", "model_a", "model_b", "--suite", "third"]) == 2
    capsys.readouterr()
    assert "say which: capitals/model_a, second/model_a" in said("report model_a", code=2)
    assert main(["report", "second/model_a"]) == 0


def test_a_leaderboard_takes_runs_by_name(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Names stand beside folders; one that is nothing is said to be none."""
    monkeypatch.chdir(place)
    capsys.readouterr()
    gold = ".evalsuite/suites/capitals/gold"
    code = main(["leaderboard", "capitals/model_a", "capitals/model_b", "--gold", gold, "--json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    assert len(json.loads(shown.out)["rows"]) == 2
    assert main(["leaderboard", "capitals/nobody", "--gold", gold]) == 2


def test_judge_of_a_leaderboard_and_of_rescore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    """`--judge` goes before what gold says there too; another model is another signature, so nothing known is taken over."""
    monkeypatch.chdir(tmp_path)
    server = serve(lambda body, _: json.dumps({"score": 5 if body["model"] == "kind" else 1}))
    entry = {"instance_id": "q", "question": "Who?", "evaluation": {"func": "llm_judge", "parameters": {"gold": "Goethe"}}}
    answer = {"instance_id": "q", "answer_type": "answer", "answer_or_path": "It was Goethe"}
    for path, line in (("gold/x_eval.jsonl", entry), ("answers/results_metadata.jsonl", answer)):
        Path(path).parent.mkdir()
        Path(path).write_text(json.dumps(line))
    for model in ("harsh", "kind"):
        Path(f"{model}.yaml").write_text(json.dumps({"base_url": server.base_url, "model": model, "cache": False}))
    assert main(["run", "answers", "--gold", "gold", "--judge", "harsh.yaml", "--out", "first", "--quiet"]) == 0
    found = {}
    for model in ("kind", "harsh", "kind"):
        found[model] = as_json("leaderboard answers --gold gold --isolation none --judge", f"{model}.yaml")["rows"][0]["score"]
    assert found == {"kind": 1.0, "harsh": 0.2}
    assert [body["model"] for body in server.asked] == ["harsh", "kind", "harsh"]
    assert as_json("rescore first --isolation none --judge kind.yaml")["summary"]["score"] == 1
    shutil.copytree("answers", "others")
    both = "answers others --gold gold --isolation none --judge"
    for model in ("kind", "harsh"):
        assert as_json(f"samples {both}", f"{model}.yaml")["models"][0]["mean"] == found[model]
        assert as_json(f"compare {both}", f"{model}.yaml")["candidates"][0]["total"]["b"] == found[model]
