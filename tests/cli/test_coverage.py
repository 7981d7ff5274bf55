"""A part of gold never looks whole: the first and last line and every format name how much was scored."""

import json
from pathlib import Path

import pytest

from tests.cli.test_run import called, quick, text_gold, text_submission, write_lines

pytestmark = pytest.mark.usefixtures("shared_fork_server")
PART = "2 of 5 instances"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A working folder with gold of five instances, two of them in a group, and a submission that gets `a` and `b` right."""
    text_gold(tmp_path / "gold", a="Paris", b="Rome", c="Oslo", d="Bern", e="Wien")
    (tmp_path / "gold" / "suite.yaml").write_text("groups: {hard: [a, c]}\n", encoding="utf-8")
    text_submission(tmp_path / "sub", a="Paris", b="Rome", c="Turin", d="Turin", e="Turin")
    return tmp_path


@pytest.mark.parametrize(
    "words", ["--only a,c", "--shard 2/2", *(pytest.param(one, marks=pytest.mark.slow) for one in ("--filter [ac]", "--group hard"))]
)
def test_a_part_says_so_first_and_last(words: str, place: Path) -> None:
    """Whatever chose the part: the first and the last line name it, and so do the saved run's."""
    done = quick("run", "sub", "--gold", "gold", *words.split(), "--out", "part", cwd=place)
    first, *_, last = done.stdout.splitlines()
    assert f"gold ({PART}) · sub" in first
    assert last == f"done: 50.0 % on {PART} (no gate set)"
    again = quick("report", "part", cwd=place).stdout.splitlines()
    assert (again[0], again[-1]) == (first, last)
    assert quick("rescore", "part", "-q", cwd=place).stdout == f"done: 50.0 % on {PART}, 0 of 2 verdicts changed\n"
    assert f" on {PART}" in quick("runs", cwd=place).stdout
    assert f"are {PART} that gold needs" in quick("verify", "part", cwd=place).stdout


def test_every_format_says_what_was_scored(place: Path) -> None:
    """Markdown, page, JUnit and GitHub's lines of a part name it, JSON has both numbers; those of all of gold do not speak of parts."""
    files = [f"report{ending}" for ending in (".md", ".html", ".json", ".xml")]
    outputs = [word for file in files for word in ("-o", file)]
    done = quick("run", "sub", "--gold", "gold", "--only", "a,c", "--github", *outputs, cwd=place)
    assert f"::notice::{PART} scored" in done.stdout
    for file in ("report.md", "report.html", "report.xml"):
        assert PART in (place / file).read_text(encoding="utf-8"), file
    report = json.loads((place / "report.json").read_text(encoding="utf-8"))
    assert (report["summary"]["n_gold"], report["gold"]["n_instances"]) == (2, 5)
    assert (place / "report.md").read_text(encoding="utf-8").splitlines()[0].endswith(f" · {PART}")
    whole = quick("run", "sub", "--gold", "gold", "--github", *outputs, cwd=place).stdout
    assert "of 5 instances" not in whole
    assert whole.splitlines()[-2] == "done: 40.0 % (no gate set)"


def test_what_failed_in_any_shard_is_scored_again(place: Path) -> None:
    """--lf after the shards of a run scores what was not right in any of them, not in the last one only."""
    for i in (1, 2):
        quick("run", "sub", "--gold", "gold", "--shard", f"{i}/2", cwd=place)
    assert quick("run", "sub", "--gold", "gold", "--lf", "-q", cwd=place).stdout == "done: 0.0 % on 3 of 5 instances (no gate set)\n"


def test_shards_that_are_merged_are_whole(place: Path) -> None:
    """Two halves are parts; what merge makes of them is all of gold."""
    for i in (1, 2):
        quick("run", "sub", "--gold", "gold", "--shard", f"{i}/2", "--out", f"shard{i}", cwd=place)
    merged = quick("merge", "shard1", "shard2", "--out", "all", cwd=place).stdout.splitlines()
    assert "gold (5 instances) · " in merged[0]
    assert merged[-1] == "done: 40.0 % from 2 shards"


def test_what_a_limit_of_the_run_cut_off_is_part_of_what_was_asked_for(place: Path) -> None:
    """It counts 0 by name, the coverage is that of what was asked for, and the run verifies as far as it goes."""
    lines = [{"instance_id": name, "evaluation": {"func": "table_match", "parameters": {"gold": "t.csv"}}} for name in "abcde"]
    write_lines(place / "gold" / "toy_eval.jsonl", *lines)
    rows = [{"instance_id": name, "answer_type": "file", "answer_or_path": "t.csv"} for name in "abcde"]
    write_lines(place / "sub" / "results_metadata.jsonl", *rows)
    for side in ("gold", "sub"):
        for name in "abcde":
            (place / side / name).mkdir(exist_ok=True)
            (place / side / name / "t.csv").write_text("n\n1\n2\n")
    done = called("run", "sub", "--gold", "gold", "--only", "a,c", "--limit", "run_bytes=1", "--jobs", "1", "--out", "cut", cwd=place)
    first, *_, last = done.stdout.splitlines()
    assert f"gold ({PART}) · sub" in first
    summary = json.loads((place / "cut" / "run.json").read_text())["summary"]
    n = summary["over_budget"]["run_bytes"]
    assert n == summary["counts"]["timeout"] > 0
    assert last == f"done: {(2 - n) * 50:.1f} %, {n} instance{'s' * (n > 1)} out of the run's budget (run_bytes) on {PART} (no gate set)"
    verified = called("verify", "cut", "--jobs", "1", cwd=place)
    assert (verified.returncode, f"are {PART} that gold needs" in verified.stdout) == (4, True)


def test_annotations_of_a_green_job_are_warnings(place: Path) -> None:
    """What is wrong is an error where the job fails of it, and a warning where it does not."""
    green = quick("run", "sub", "--gold", "gold", "--github", "--no-save", cwd=place)
    red = quick("run", "sub", "--gold", "gold", "--github", "--no-save", "--fail-under", "0.9", cwd=place)
    assert (green.returncode, green.stdout.count("::error "), green.stdout.count("::warning ")) == (0, 0, 3)
    assert (red.returncode, red.stdout.count("::error "), red.stdout.count("::warning ")) == (1, 3, 0)
