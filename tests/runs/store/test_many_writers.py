"""Many processes write runs into one history at once while another one asks it: nothing is lost and nobody is locked out."""

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.test_run import evalsuite, text_gold, text_submission
from tests.command_server import command_server
from tests.processes import started

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
