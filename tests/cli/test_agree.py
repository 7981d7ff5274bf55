"""`evalsuite agree` as a person runs it."""

import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs of the example, one under each of the rules."""
    folder = tmp_path_factory.mktemp("runs")
    for rules in ("official", "strict"):
        example = [str(ROOT / "example_submission_folder"), "--gold", str(ROOT / "gold")]
        main(["run", *example, "--rules", rules, "--out", str(folder / rules), "--quiet", "--no-cache"])
    return folder


def test_two_runs_by_name(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Raw agreement with its interval, the coefficients, the confusion, and every disagreement with both reasons."""
    assert main(["agree", "official", "strict", "--runs", str(runs)]) == 0
    out = capsys.readouterr().out
    assert "raw agreement" in out
    assert "95 % CI [49.9, 78.8]" in out
    assert "Cohen's kappa" in out
    assert "13 disagreements" in out
    assert "sign: the answer contains -5, gold is 5" in " ".join(out.split())


def test_labels_of_people_and_json(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run against a CSV file; hostile labels reach the terminal escaped, and the list is cut with an honest count."""
    labels = tmp_path / "people.csv"
    labels.write_text("instance_id,label,reason\nsales_001,wrong,\x1b[31mred\nsales_002,wrong,no\nhr_003,right,yes\n", encoding="utf-8")
    assert main(["agree", str(runs / "official"), str(labels), "--most", "1"]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[31mred" in out
    assert "... 1 more (--most 2 shows all)" in out
    assert main(["agree", str(runs / "official"), str(labels), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["n"], shown["n_equal"]) == (3, 1)
    assert shown["confusion"] == {"labels": [0.0, 1.0], "counts": [[0, 0], [2, 1]]}
    found = shown["corrected"]
    assert (found["cheap"], found["dear"], found["n"]) == ("official", "people.csv", 3)
    assert found["n_others"] > 20
    assert found["low"] < found["estimate"] < found["plain"]
    assert "mean, corrected by people.csv" in out


def test_what_cannot_be_compared(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown run, a file that is not there, and two sides without a common instance are usage errors."""
    other = tmp_path / "other.csv"
    other.write_text("instance_id,label\nz,1\n")
    refused = {"nowhere": "no finished run", "nowhere.csv": "cannot be read as CSV", str(other): "no labelled instance in common"}
    for second, message in refused.items():
        assert main(["agree", str(runs / "official"), second]) == 2
        assert message in capsys.readouterr().err
