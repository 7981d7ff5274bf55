"""`-o` is checked before scoring; a later write failure hides neither the score nor where the run is saved."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsuite import reports
from evalsuite.cli import main
from evalsuite.core.import_ref import ImportRef
from tests.cli.test_run import lacks, said, text_gold, text_submission
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def make_runs(folder: Path) -> None:
    """Gold of two texts, two submissions and a run of each."""
    text_gold(folder / "gold", a="Paris", b="Rome")
    for name in ("one", "two"):
        text_submission(folder / "subs" / name, a="Paris", b="Rome")
        assert main(["run", f"subs/{name}", "--isolation", "none", "-q", "--out", name]) == 0


place = copy_of(make_runs)


COMMANDS = [
    ["run", "subs/one", "--isolation", "none"],
    ["leaderboard", "subs", "--isolation", "none"],
    ["compare", "one", "two"],
    ["report", "one"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("output", ["gold/toy_eval.jsonl/x.md", "taken.md", "/proc/nobody/x.md"])
def test_what_cannot_be_written_is_said_before(place: Path, capsys: pytest.CaptureFixture[str], command: list[str], output: str) -> None:
    """Exit code 2, nothing scored, no run saved, and not one of the other outputs written."""
    (place / "taken.md").mkdir()
    capsys.readouterr()
    assert main([*command, "-o", "good.md", "-o", output]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"error: cannot write {output}: ")
    assert not (place / ".evalsuite" / "runs").exists()
    assert not (place / "good.md").exists()


def test_trying_leaves_nothing_behind(place: Path) -> None:
    """A place that can be written looks as before, be it a new file, one in new folders, or one that is there."""
    (place / "old.md").write_text("old")
    before = sorted(place.iterdir())
    for output in ("new.md", "new/folder/new.md", "old.md"):
        reports.check_output(Path(output))
    assert sorted(place.iterdir()) == before
    assert (place / "old.md").read_text() == "old"
    os.mkfifo(place / "pipe.md")
    reports.check_output(Path("pipe.md"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_what_fails_when_it_is_written(
    place: Path, capsys: pytest.CaptureFixture[str], command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1 and the name of the file; the score, the run and the other outputs stand, and the last line says the same."""
    capsys.readouterr()
    code = main([*command, "-o", "a.md", "-o", "a.md/b.html", "-o", "c.csv"])
    said = capsys.readouterr()
    assert code == 1
    assert "error: cannot write a.md/b.html: expected a folder, found a file" in said.err
    assert (place / "a.md").exists()
    assert (place / "c.csv").exists()
    if command[0] == "report":
        assert said.out == "wrote a.md\nwrote c.csv\n"
        return
    assert said.out.splitlines()[-1].startswith("done: ")
    assert said.out.splitlines()[-1].endswith(", 1 output could not be written (exit 1)")
    if command[0] == "run":
        assert "100.0 %" in said.out
        saved = next(line for line in said.out.splitlines() if line.startswith(" saved")).split()[1]
        assert main(["report", saved]) == 0


def test_merge_keeps_the_whole_run(place: Path) -> None:
    """The joined run is saved and shown before its report fails."""
    for i in (1, 2):
        assert main(["run", "subs/one", "--isolation", "none", "-q", "--shard", f"{i}/2", "--out", f"part{i}"]) == 0
    assert said("merge part1 part2 --out whole -q -o a.md -o a.md/b.md", code=1).endswith(
        "done: 100.0 % from 2 shards, 1 output could not be written (exit 1)\n"
    )
    assert main(["report", "whole"]) == 0
    assert main(["merge", "part1", "part2", "--out", "other", "-o", "gold/toy_eval.jsonl/x.md"]) == 2
    assert not (place / "other").exists()


def test_a_gate_that_is_not_met_speaks_first(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line of a gate stays the last one: the lost output is on stderr."""
    text_submission(place / "half", a="Paris", b="Bern")
    command = ["run", "half", "--isolation", "none", "-q", "--fail-under", "0.9", "-o", "a.md", "-o", "a.md/b.md"]
    capsys.readouterr()
    assert main(command) == 1
    said = capsys.readouterr()
    assert said.out == "done: 50.0 %, below the gate of 90.0 % (exit 1)\n"
    assert "cannot write a.md/b.md" in said.err


def test_a_full_disk(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that fills up while the report is written is exit code 1 too."""
    monkeypatch.setitem(reports.FORMATS, ".md", ImportRef("tests.cli.test_outputs:_half"))
    capsys.readouterr()
    assert main(["run", "subs/one", "--isolation", "none", "-q", "-o", "a.md"]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("error: cannot write a.md: No space left on device")
    assert said.out.startswith("done: 100.0 %")


def _half(_record: object) -> Iterator[str]:
    """Half a report, on a disk that is then full."""
    yield "begun"
    raise OSError(28, "No space left on device")


def test_the_files_of_the_reference_and_of_github(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference's files are tried before too; a job summary that cannot be written costs no score."""
    (place / "log.txt").mkdir()
    assert said("run subs/one --isolation none --reference-files", code=2).startswith("error: cannot write log.txt: expected a file")
    assert not (place / "subs" / "one-ids.csv").exists()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    assert main(["run", "subs/one", "--isolation", "none", "--github", "-q"]) == 1
    shown = capsys.readouterr()
    assert "done: 100.0 % (no gate set), 1 output could not be written (exit 1)" in shown.out
    assert "error: cannot write the summary of the job" in shown.err


def test_an_executor_that_is_not_there_makes_no_folder(place: Path) -> None:
    """What is wrong with the options is said before a run folder is made."""
    assert main(["run", "subs/one", "--executor", "spark"]) == 2
    assert main(["run", "subs/one", "--executor", "dask", "--scheduler", "nonsense"]) == 2
    assert not (place / ".evalsuite" / "runs").exists()


def test_several_files_of_a_suite(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file that cannot be run costs the others nothing, and the exit code says so; none at all is exit code 2."""
    (place / "q.csv").write_text("input,reference_output\nCapital of France?,Paris\n")
    (place / "good.csv").write_text("candidate_output\nParis\n")
    (place / "bad.csv").write_text("answers|notes\nParis|x\n")
    assert main(["suite", "create", "s", "--from", "q.csv", "--scorer", "string_match"]) == 0
    capsys.readouterr()
    assert main(["suite", "run", "s", "--from", "bad.csv", "--from", "good.csv"]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines()[0].startswith("good: done: 100.0 %")
    assert said.out.splitlines()[-1] == "1 of 2 files could not be run (exit 1)"
    assert not lacks(said.err, "no candidate column 'candidate_output'", "name another with --candidate\n")
    assert main(["suite", "run", "s", "--from", "bad.csv", "--from", "bad.csv"]) == 2
