"""Nothing hostile in the parent: metadata, texts and scorers in workers with a clock; what a whole run may take."""

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from evalsuite.core.errors import EvalsuiteError, MachineError, SubmissionError
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.runs.submission_reader import read_submission_in_worker
from evalsuite.sandbox.fork_server import ForkServer, Worker
from tests.cli.test_run import said, write_lines
from tests.processes import finished
from tests.runs.made import KilledClient, load_scorer, write_sides

pytestmark = pytest.mark.usefixtures("quick_fork_servers")

N = 40
HEAVY = ("numpy", "pandas", "duckdb")


def texts(folder: Path, *, func: str = "string_match", n: int = N) -> tuple[Path, Path]:
    """(submission, gold) of n texts, all right."""
    gold, submission = folder / "gold", folder / "submission"
    return write_sides(submission, gold, {f"q{at}": (func, {"gold": f"answer q{at}"}, f"answer q{at}") for at in range(n)})


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_ids_that_gold_lacks_are_counted(isolation: str, tmp_path: Path) -> None:
    """A hundred of them are named, of the rest their number is told; an id of gold that stands among them twice is told as such."""
    submission, gold = texts(tmp_path)
    lines = (submission / "results_metadata.jsonl").read_text()
    (submission / "results_metadata.jsonl").write_text(lines.replace('"q0"', '"Q0 "'))
    (warning,) = run(submission, gold, RunOptions(save=False, isolation=isolation, only=("q0",))).warnings
    assert warning.endswith(":1: 'Q0 ' is not in gold (UNKNOWN_ID); did you mean 'q0'?")
    unknown = "".join(lines.splitlines(keepends=True)[0].replace("q0", f"z{at}", 1) for at in range(500))
    (submission / "results_metadata.jsonl").write_text(lines + unknown + lines.splitlines(keepends=True)[1])
    found = run(submission, gold, RunOptions(save=False, isolation=isolation))
    assert len(found.submission.answers) == N
    assert {result.instance_id: result.fault for result in found.results if result.score != 1} == {"q1": "DUPLICATE_ID"}
    named = [warning for warning in found.warnings if "UNKNOWN_ID" in warning]
    assert len(named) == 101
    assert named[-1].startswith("400 more answers")
    assert named[0] == f"results_metadata.jsonl:{N + 1}: 'z0' is not in gold (UNKNOWN_ID)"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the kernel for peaks")
def test_hostile_metadata_costs_little_memory(tmp_path: Path) -> None:
    """Neither the parent nor a worker takes much for six megabytes of nothing, and the parent loads nothing to read them."""
    lines = {
        "open braces": "{\n",
        "one broken line": '{"instance_id": "' + 'a\\"' * 2_000_000 + "\n",
        "ids that gold lacks": '{"instance_id": "z", "answer_type": "answer", "answer_or_path": ""}\n',
    }
    for name, line in lines.items():
        with (texts(tmp_path / name)[0] / "results_metadata.jsonl").open("a") as file:
            file.write(line * max(1, 6_000_000 // len(line)))
    code = (
        "import sys, json, resource\nfrom pathlib import Path\nfrom evalsuite.runs.run_options import RunOptions\n"
        "from evalsuite.runs.scoring import run\n"
        f"found = [run(Path(name, 'submission'), Path(name, 'gold'), RunOptions(save=False)) for name in {[*lines]}]\n"
        # The peak that a process is said to have may be that of the one it was forked from; its memory's own high mark is not.
        "own = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "peaks = [kib // 1024 for kib in (own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)]\n"
        "n_right = [sum(r.score for r in run.results) for run in found]\n"
        f"print(json.dumps([n_right, peaks, [name for name in {HEAVY} if name in sys.modules]]))"
    )
    n_right, peaks, loaded = json.loads(finished([sys.executable, "-c", code], check=True, cwd=tmp_path, seconds=100).stdout)
    assert n_right == [N] * 3
    assert max(peaks) < 150
    assert loaded == []


def test_metadata_that_take_too_long_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker that reads them has a clock, which grows with their size; on a busy machine it may have waited."""
    monkeypatch.setattr("evalsuite.sandbox.limits._BYTES_PER_SECOND", 1e12)
    submission, gold = texts(tmp_path)
    with (submission / "results_metadata.jsonl").open("a") as file:
        file.write('{"a":[[[[[[[[[[0]]]]]]]]]]}\n' * 200_000)
    with pytest.raises((SubmissionError, MachineError), match=r"results_metadata\.jsonl: (TIMEOUT|.* waited for a CPU)"):
        read_submission_in_worker(submission, read_gold(gold), resolve_limits({"seconds": 0.01}))


@pytest.mark.parametrize(("limit", "value"), [("run_seconds", 0.001), ("run_bytes", 60)])
def test_a_whole_run_has_a_budget(limit: str, value: float, tmp_path: Path) -> None:
    """What is left when it is spent is a time-out that says which limit it was; no answer is lost or scored in part."""
    submission, gold = texts(tmp_path)
    found = run(submission, gold, RunOptions(save=False, limits={limit: value}))
    left = [result for result in found.results if result.status == "timeout"]
    assert len(found.results) == N
    assert {result.details["budget"] for result in left} == {limit}
    assert all(f"limit {limit}" in result.reason and result.fault == "TIMEOUT" for result in left)
    assert len(left) == N if limit == "run_seconds" else 0 < len(left) < N
    assert all(result.score == 1 for result in found.results if result not in left)


def test_what_ran_out_stands_in_the_headline(tmp_path: Path) -> None:
    """The counts and the last line say how many instances there was nothing left for, and which limit that was."""
    submission, gold = texts(tmp_path)
    shown = said(f"run {submission} --gold {gold} --no-save --limit run_seconds=0.001")
    assert f"{N} of them out of the run's budget (run_seconds)" in shown
    assert shown.splitlines()[-1] == f"done: 0.0 %, {N} instances out of the run's budget (run_seconds) (no gate set)"


class DoomedClient(KilledClient):
    """A client whose worker is killed in a phase: while it starts, before its order, or when it has sent its first batch."""

    def _request(self, order: bytes, copy: IO[bytes] | None, seconds: float) -> Iterator[Any]:
        self._worker = self._worker or self._start()
        self._meet("order")
        for sent in super()._request(order, copy, seconds):
            self._meet("batch")
            yield sent


class DoomedForkServer(ForkServer):
    """A fork server whose worker is killed before it is set up."""

    def fork(self, data: socket.socket | None = None, **how: Any) -> Worker:
        """A worker that is dead where the phase says so."""
        worker = super().fork(data, **how)
        if DoomedClient.phases[:1] == ["starting"]:
            os.kill(worker.pid, signal.SIGKILL)
            DoomedClient.phases.pop(0)
        return worker


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked")
@pytest.mark.parametrize("phases", [["starting"], ["batch"], ["starting", "starting"], ["order", "order"]], ids="-".join)
def test_a_killed_reader_of_metadata_is_no_zero(phases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill from outside costs a second try; the second, or one amid the answers, ends the command: no answer counts as missing."""
    monkeypatch.setattr("evalsuite.runs.submission_reader.RpcClient", DoomedClient)
    monkeypatch.setattr("evalsuite.sandbox.rpc_client.ForkServer", DoomedForkServer)
    monkeypatch.setattr(DoomedClient, "phases", list(phases))
    submission, gold = texts(tmp_path, n=600)
    # What is left after the first batch is more than a socket takes.
    long = [{"instance_id": f"q{at}", "answer_type": "answer", "answer_or_path": "long " * 800} for at in range(600)]
    write_lines(submission / "results_metadata.jsonl", *long)
    limits = resolve_limits()
    if phases == ["starting"]:
        found = read_submission_in_worker(submission, read_gold(gold), limits)
        assert found == read_submission(submission, limits, ids={f"q{at}" for at in range(600)})
    else:
        with pytest.raises(EvalsuiteError, match=r"cannot be started|operating system killed the worker"):
            read_submission_in_worker(submission, read_gold(gold), limits)
    assert DoomedClient.phases == []


def test_a_scorer_of_texts_that_never_ends_costs_its_answer(tmp_path: Path) -> None:
    """Texts are compared in workers: an answer that keeps a scorer busy for ever is a time-out, and the others are right."""
    load_scorer(tmp_path, "endless", 'while prediction.endswith(" q3"): pass\nreturn Score(official=1.0, strict=1.0)')
    submission, gold = texts(tmp_path, func="endless")
    found = run(submission, gold, RunOptions(save=False, limits={"seconds": 0.3}))
    (late,) = [result for result in found.results if result.score != 1]
    assert late.instance_id == "q3"
    assert late.status == "timeout" or "waited for a CPU" in (late.reason or ""), late
