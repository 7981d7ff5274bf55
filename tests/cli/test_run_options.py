"""Options of `evalsuite run` for people who work on answers: shown rows, rescoring, GitHub output."""

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsuite.cli.run_command import snapshot
from tests.cli.test_run import quick, text_gold, text_submission
from tests.processes import started
from tests.terminal.pty_harness import EVALSUITE, run

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A working folder with gold of four instances and a submission: a and c right, b wrong, d not handed in."""
    text_gold(tmp_path / "gold", a="Paris", b="Rome", c="Oslo", d="Bern")
    text_submission(tmp_path / "sub", a="Paris", b="Turin", c="Oslo")
    return tmp_path


def runs(place: Path) -> list[Path]:
    """The saved run folders, oldest first."""
    return sorted((place / ".evalsuite" / "runs").glob("*"), key=lambda folder: (folder / "results.jsonl").stat().st_mtime_ns)


def score(place: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """`evalsuite run` there."""
    return quick("run", "sub", "--gold", "gold", *options, cwd=place)


def test_failures_and_verbose(place: Path) -> None:
    """--failures leaves the right ones out, --verbose adds each one's details, and neither changes a number."""
    plain = score(place, "--no-save").stdout
    short = score(place, "--no-save", "--failures", "--verbose").stdout
    assert [line.split()[0] for line in short.splitlines()[3:6]] == ["b", "d", "..."]
    assert short.count("\n instance ") == 3
    assert " status    missing (MISSING_INSTANCE)" in short
    assert plain.splitlines()[-9:] == short.splitlines()[-9:]


def test_stop_at_the_first_failure(place: Path) -> None:
    """-x shows the first instance that is not right and exits 1; the unfinished run goes on with --resume."""
    done = score(place, "-x", "--jobs", "1")
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("done: stopped at b, which is not right, after ")
    folder = last.rpartition(" ")[2]
    assert not (place / folder / "run.json").exists()
    resumed = score(place, "--resume", folder, "--quiet")
    assert (resumed.returncode, resumed.stdout) == (0, "done: 50.0 % (no gate set)\n")
    assert "resumed" not in resumed.stdout


def test_stop_at_first_failure_unsaved(place: Path) -> None:
    """With --no-save nothing is left behind, and nothing is offered to go on with."""
    done = score(place, "-x", "--no-save")
    assert done.returncode == 1
    assert "--resume" not in done.stdout
    assert runs(place) == []


def test_last_failed(place: Path) -> None:
    """--lf scores what was not right when last scored, over runs of parts of gold too, and says so when nothing is left."""

    def ids() -> list[str]:
        return [json.loads(line)["instance_id"] for line in (runs(place)[-1] / "results.jsonl").read_text().splitlines()]

    first = score(place, "--lf")
    assert (first.returncode, first.stderr.splitlines()[0]) == (2, "error: no earlier run of gold in .evalsuite/runs")
    score(place, "--quiet")
    text_submission(place / "sub", a="Paris", b="Rome", c="Oslo")
    assert score(place, "--lf", "--quiet").returncode == 0
    assert ids() == ["b", "d"]
    score(place, "--lf", "--quiet")
    assert ids() == ["d"]
    # A run of another gold has no say.
    text_gold(place / "other", z="Kyiv")
    text_submission(place / "sub2", z="Lviv")
    quick("run", "sub2", "--gold", "other", "-q", cwd=place)
    text_submission(place / "sub", a="Paris", b="Rome", c="Oslo", d="Bern")
    score(place, "--lf", "--quiet")
    assert ids() == ["d"]
    done = score(place, "--lf")
    assert (done.returncode, done.stdout) == (0, "done: nothing failed in the last run of this gold\n")


def test_watch_scores_again_on_change(place: Path) -> None:
    """--watch scores, waits for a changed answer or gold file, survives a broken one, and ends by Ctrl-C with exit 130."""
    command = [sys.executable, "-m", "evalsuite", "run", "sub", "--gold", "gold", "--watch", "--quiet"]
    with started(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = iter(process.stdout)
        assert verdict(lines) == "done: 50.0 % (no gate set)"
        text_submission(place / "sub", a="Paris", b="Rome", c="Oslo")
        assert verdict(lines) == "done: 75.0 % (no gate set)"
        (place / "gold" / "toy_eval.jsonl").write_text("not json\n")
        assert verdict(lines).startswith("error: gold/toy_eval.jsonl:1")
        text_gold(place / "gold", a="Paris")
        assert verdict(lines) == "done: 100.0 % (no gate set)"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert (process.returncode, "stopped watching; the last run ended with exit code 0" in errors) == (130, True)
    assert runs(place) == []


def test_watch_says_what_moved_and_does_not_watch_itself(place: Path) -> None:
    """The rows that are now something else and both scores stand above the last line; what the run writes into the folder is no change."""
    options = ["--failures", "-o", "sub/report.md", "--out", "sub/kept", "--isolation", "none"]
    command = [sys.executable, "-m", "evalsuite", "run", "sub", "--gold", "gold", "--watch", *options]
    with started(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = iter(process.stdout)
        assert verdict(lines) == "done: 50.0 % (no gate set)"
        text_submission(place / "sub", a="Lyon", b="Rome", c="Oslo")
        shown = list(itertools.takewhile(lambda line: not line.startswith("watching"), lines))
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate()
    assert "changed: sub/results_metadata.jsonl\n" in shown
    assert shown[-3:] == ["moved: a right to wrong, b wrong to right\n", "score: 50.0 % to 50.0 %\n", "done: 50.0 % (no gate set)\n"]
    assert (process.returncode, rest) == (130, "")
    assert (place / "sub/report.md").exists()


def test_a_watched_place_may_be_a_file(tmp_path: Path) -> None:
    """Answers in one file (`pred.json`) are seen to change; hidden files and what is to be left out are not looked at."""
    (tmp_path / "pred.json").write_text("{}")
    for name in ("folder/a.csv", "folder/.hidden", "folder/out/b.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    seen = snapshot([tmp_path / "pred.json", tmp_path / "folder", tmp_path / "absent"], {str(tmp_path / "folder/out")})
    assert sorted(seen) == [str(tmp_path / name) for name in ("folder/a.csv", "pred.json")]
    (tmp_path / "pred.json").write_text('{"0": ""}')
    assert snapshot([tmp_path / "pred.json"]).items().isdisjoint(seen.items())


def verdict(lines: Iterator[str]) -> str:
    """The last line before the watch waits."""
    before = ""
    for line in lines:
        if line.startswith("watching for changes"):
            return before
        before = line.rstrip("\n")
    raise AssertionError("the watch ended")


@pytest.mark.parametrize(("setting", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_is_obeyed(setting: dict[str, str], coloured: bool, place: Path) -> None:
    """On a terminal the verdicts are coloured, unless NO_COLOR or a dumb terminal says otherwise; the text is the same."""
    shown = run([*EVALSUITE, "run", "sub", "--gold", "gold", "--no-save"], columns=100, env=setting, cwd=place)
    assert shown.code == 0
    assert ("\x1b[31m" in shown.raw, shown.coloured) == (coloured, coloured)
    assert "✗" in shown.screen
