"""`evalsuite agree` as a person runs it."""

from pathlib import Path

import pytest

from tests.cli.test_run import as_json, said
from tests.conftest import ROOT, copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server", "place")


def make_runs(folder: Path) -> None:
    """Two runs of the example, one under each of the rules."""
    for rules in ("official", "strict"):
        said(f"run -q --isolation none --rules {rules} --out", folder / rules, ROOT / "example_submission_folder", "--gold", ROOT / "gold")


place = copy_of(make_runs)


def test_two_runs_by_name() -> None:
    """Raw agreement with its interval, the coefficients, the confusion, and every disagreement with both reasons."""
    out = " ".join(said("agree official strict --runs .").split())
    for words in ("raw agreement", "95 % CI [49.9, 78.8]", "Cohen's kappa", "13 disagreements", "sign: the answer contains -5, gold is 5"):
        assert words in out


def test_labels_of_people_and_json() -> None:
    """A run against a CSV file; hostile labels reach the terminal escaped, and the list is cut with an honest count."""
    labels = "instance_id,label,reason\nsales_001,wrong,\x1b[31mred\nsales_002,wrong,no\nhr_003,right,yes\n"
    Path("people.csv").write_text(labels, encoding="utf-8")
    out = said("agree ./official people.csv --most 1")
    for words in ("\\x1b[31mred", "... 1 more (--most 2 shows all)", "mean, corrected by people.csv"):
        assert words in out
    shown = as_json("agree ./official people.csv")
    assert (shown["n"], shown["n_equal"]) == (3, 1)
    assert shown["confusion"] == {"labels": [0.0, 1.0], "counts": [[0, 0], [2, 1]]}
    found = shown["corrected"]
    assert (found["cheap"], found["dear"], found["n"]) == ("official", "people.csv", 3)
    assert found["n_others"] > 20
    assert found["low"] < found["estimate"] < found["plain"]


def test_what_cannot_be_compared() -> None:
    """An unknown run, a file that is not there, and two sides without a common instance are usage errors."""
    Path("other.csv").write_text("instance_id,label\nz,1\n")
    refused = {"nowhere": "no finished run", "nowhere.csv": "cannot be read as CSV", "other.csv": "no labelled instance in common"}
    for second, message in refused.items():
        assert message in said(f"agree ./official {second}", code=2)
