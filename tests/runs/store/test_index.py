"""The index beside the runs: it says what the folders say, whatever became of it or of them since, and whoever writes runs meanwhile."""

import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsuite.cli import main
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import UsageError
from evalsuite.runs import history_index
from evalsuite.runs.history_index import _STATE, INDEX, index_of, query
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.cli.test_run import evalsuite, text_gold, text_submission
from tests.command_server import command_server
from tests.conftest import copy_of
from tests.processes import started

pytestmark = pytest.mark.usefixtures("shared_fork_server")

ALL = "SELECT run, instance_id, score FROM results ORDER BY ALL"


def make(folder: Path) -> None:
    """Three runs of two instances, with their submissions and gold."""
    gold = text_gold(folder / "gold", a="Paris", b="Rome")
    for name, answer in (("r1", "Paris"), ("r2", "Oslo"), ("r3", "Paris")):
        submission = text_submission(folder / name, a=answer, b="Rome")
        run(submission, gold, RunOptions(out=folder / "runs" / name, isolation="none"))


place = copy_of(make)


@pytest.fixture
def runs(place: Path) -> Path:
    """A copy of the folder of the three runs."""
    return place / "runs"


def as_it_is(root: Path) -> list[tuple[Any, ...]]:
    """What the folders say, read plainly."""
    lines = []
    for folder in sorted(root.iterdir()):
        if (folder / "run.json").exists():
            results = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
            lines += [(folder.name, result["instance_id"], result["score"]) for result in results]
    return sorted(lines)


def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs whose folders are read from here on."""
    names: list[str] = []
    plainly = history_index.read_run

    def noted(folder: Path) -> Any:
        names.append(folder.name)
        return plainly(folder)

    monkeypatch.setattr(history_index, "read_run", noted)
    return names


# Half a line, no UTF-8, half a run, no run, the first line alone: some of a run that the index knows.
DAMAGES = (
    *((False, "results.jsonl", b'{"instance_id": "a", "sco'), (True, "results.jsonl", b"\xff\xfe\n")),
    *((True, "run.json", b'{"gold"'), (False, "run.json", b"[]"), (False, "results.jsonl", None)),
)


@pytest.mark.parametrize(
    ("known", "name", "content"), [*DAMAGES, *(pytest.param(not known, *what, marks=pytest.mark.slow) for known, *what in DAMAGES)]
)
def test_a_damaged_run_is_told_and_left_out(
    known: bool, name: str, content: bytes | None, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are answered for, one line on stderr names it, and again no run is read."""
    if known:
        query(ALL, runs)
    place = runs / "r2" / name
    place.write_bytes(place.read_bytes().splitlines(keepends=True)[0] if content is None else content)
    for _ in range(2):
        assert main(["sql", ALL, "--runs", str(runs)]) == 0
        told = capsys.readouterr()
        assert told.err == "note: r2: no run that can be read: damaged, or not written by evalsuite\n"
        assert {line.split("\t")[0] for line in told.out.splitlines()[1:]} == {"r1", "r3"}
    names = read(monkeypatch)
    assert {row[0] for row in query(ALL, runs)[1]} == {"r1", "r3"}
    assert names == []


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that cannot be read is one of /proc")
@pytest.mark.parametrize("name", ["run.json", "results.jsonl"])
def test_a_run_that_this_machine_does_not_read_is_tried_again(name: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not called damaged, and the index does not keep that it could not be read: the disk may answer again with the same files."""
    place = runs / "r2" / name
    place.unlink()
    place.symlink_to("/proc/self/mem")
    for _ in range(2):
        assert main(["sql", ALL, "--runs", str(runs)]) == 0
        told = capsys.readouterr()
        assert told.err == "note: r2: this machine cannot read the run: Input/output error\n"
        assert {line.split("\t")[0] for line in told.out.splitlines()[1:]} == {"r1", "r3"}
        with duckdb.connect(str(index_of(runs)), read_only=True) as index:
            assert index.execute(f"SELECT run FROM {_STATE} ORDER BY run").fetchall() == [("r1",), ("r3",)]
    if name == "run.json":
        assert main(["runs", "list", "--runs", str(runs)]) == 0
        assert capsys.readouterr().err == told.err


def test_half_of_a_pair_in_a_result_is_shown_as_its_escape(runs: Path) -> None:
    """A line that names half of a surrogate pair, which no database takes, ends no question."""
    place = runs / "r2/results.jsonl"
    place.write_text(place.read_text(encoding="utf-8").replace('"scorer": "string_match"', '"scorer": "\\ud800"', 1), encoding="utf-8")
    assert ("r2", "\\ud800") in query("SELECT run, scorer FROM results", runs)[1]


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_a_block_that_the_disk_lost_is_made_anew(step: int, runs: Path) -> None:
    """Blocks that a power cut left as zeros: whichever of them it is (of every 13th, and of all under `slow`), the answer is right."""
    query(ALL, runs)
    whole, wrong = (runs / INDEX).read_bytes(), []
    filled = [at for at in range(0, len(whole), 4096) if any(whole[at : at + 4096])]
    for at in filled[::step]:
        (runs / INDEX).write_bytes(whole[:at] + bytes(len(whole[at : at + 4096])) + whole[at + 4096 :])
        if query(ALL, runs)[1] != as_it_is(runs):
            wrong.append(at)
    assert len(filled) > 3
    assert wrong == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes anywhere")
def test_a_folder_that_may_only_be_read(runs: Path) -> None:
    """Without the right to write there is no index, and the same answer."""
    runs.chmod(0o555)
    try:
        assert query(ALL, runs)[1] == as_it_is(runs)
    finally:
        runs.chmod(0o755)
    assert not (runs / INDEX).exists()


def test_many_at_once(runs: Path) -> None:
    """Questions asked side by side, with no index at first, all get the answer."""
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(query(ALL, runs)[1])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [as_it_is(runs)] * 3


def test_somebody_else_writes_it(runs: Path) -> None:
    """While another process holds the index for writing, the answer comes without it."""
    query(ALL, runs)
    shutil.rmtree(runs / "r1")
    code = f"import duckdb; c = duckdb.connect({str(runs / INDEX)!r}); print('held', flush=True); input()"
    with started([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert query(ALL, runs)[1] == as_it_is(runs)


def test_what_is_hidden_stays_so(runs: Path) -> None:
    """What `cut` takes from the results of hidden gold is in no table that can be asked, under no name."""
    document = json.loads((runs / "r2/run.json").read_text(encoding="utf-8"))
    document["gold"]["hidden"] = True
    (runs / "r2/run.json").write_text(json.dumps(document), encoding="utf-8")
    query(ALL, runs)

    def cut(hidden: bool) -> Any:
        return (lambda result: replace(result, reason="", details={})) if hidden else None

    shown = dict(query("SELECT run, string_agg(reason, '') FROM results GROUP BY run", runs, cut=cut)[1])
    assert shown["r2"] == ""
    assert shown["r1"] != ""
    for table in ("index.results", "index.main.results", "memory.state_1"):
        with pytest.raises(UsageError):
            query(f"SELECT * FROM {table}", runs, cut=cut)
    assert all("r2" not in str(row) or "Rome" not in str(row) for row in query("SELECT * FROM results", runs, cut=cut)[1])


N_INSTANCES = 12
QUESTION = "SELECT runs.run, count(*) AS n, sum(results.score) AS points FROM runs JOIN results USING (run) GROUP BY ALL"


def ask(place: Path) -> list[dict[str, float]]:
    """What the history says now: a row for each run; the question itself must never fail."""
    asked = evalsuite("sql", QUESTION, "--json", cwd=place)
    assert asked.returncode == 0, asked.stderr
    return [json.loads(line) for line in asked.stdout.splitlines()]


@pytest.mark.parametrize("n_writers", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_many_writers_and_a_reader(n_writers: int, tmp_path: Path) -> None:
    """All runs go by one name, each with a score of its own; every answer shows whole runs only, ever more, and in the end all of them."""
    gold = {f"q{i:02}": f"city {i}" for i in range(N_INSTANCES)}
    text_gold(tmp_path / "gold", **gold)
    for number in range(n_writers):
        right = number % (N_INSTANCES + 1)
        answers = {key: text if at < right else "no" for at, (key, text) in enumerate(gold.items())}
        text_submission(tmp_path / str(number) / "same", **answers)
    commands = [[command_server().script, "run", f"{number}/same", "--quiet", "--jobs", "1"] for number in range(n_writers)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with ExitStack() as stack:
        writers = [stack.enter_context(started(command, cwd=tmp_path, **pipes)) for command in commands]
        seen = [0]
        while any(writer.poll() is None for writer in writers):
            rows = ask(tmp_path)
            assert all(row["n"] == N_INSTANCES for row in rows)
            seen.append(len(rows))
        said = [writer.communicate()[1] for writer in writers]
    assert [(writer.returncode, err) for writer, err in zip(writers, said, strict=True)] == [(0, "")] * n_writers
    assert seen == sorted(seen)
    rows = ask(tmp_path)
    assert sorted(row["points"] for row in rows) == sorted(number % (N_INSTANCES + 1) for number in range(n_writers))
    assert len({row["run"] for row in rows}) == n_writers
    kept = sorted((tmp_path / ".evalsuite" / "runs").iterdir())
    assert [sorted(file.name for file in run.iterdir()) for run in kept] == [["results.jsonl", "run.json"]] * n_writers
