"""Runs in progress: the growing journal and the stream of its events."""

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from evalsuite.core.types import Result
from evalsuite.reports.viewer import library
from evalsuite.reports.viewer.library import Journals, open_library
from evalsuite.runs.history import find_runs
from evalsuite.runs.run_folder import RunFolder
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.cli.test_run import lacks
from tests.reports.viewer.served import ask, gold, served, submission

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def result(name: str, score: float | None) -> Result:
    """A result with that score."""
    status = "unscored" if score is None else "scored"
    return Result(instance_id=name, status=status, score=score, official=score, strict=score, scorer="f1", reason="", fault=None)


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[tuple[Path, RunFolder]]:
    """(project, a run folder being written) of a suite with one finished run of the same gold."""
    runs = tmp_path / ".evalsuite" / "runs"
    gold(tmp_path / "gold")
    run(submission(tmp_path / "s", text="Paris", number="42", people="700"), tmp_path / "gold",
        RunOptions(runs_folder=runs, isolation="none", jobs=1))  # fmt: skip
    (entry,) = find_runs(runs)
    plan = {"signature": entry.run["signature"], "submission": "x", "options": {"only": [], "filter": None, "group": None}}
    folder = RunFolder(runs / "20261121-120000-growing").open(plan)
    yield tmp_path, folder
    folder.close()


def test_progress_follows_the_journal(growing: tuple[Path, RunFolder]) -> None:
    """Counts and the mean of what is judged grow line by line; a half-written line does not count; suite and total come from before."""
    project, folder = growing
    journals = Journals(open_library(project, {}))
    (before,) = journals.all()
    assert (before.name, before.suite_name, before.n_done, before.n_total, before.score) == ("20261121-120000-growing", "demo", 0, 3, None)
    for name, score in (("text_1", 1.0), ("number_1", 0.5), ("table_1", None)):
        folder.append(result(name, score))
    with (folder.path / "results.jsonl").open("ab") as journal:
        journal.write(b'{"instance_id": "half')
    (after,) = journals.all()
    assert (after.n_done, after.n_right, after.score, after.started_at) == (3, 1, 0.75, "2026-11-21T12:00:00+00:00")


def test_a_run_that_nobody_writes_is_interrupted(growing: tuple[Path, RunFolder], monkeypatch: pytest.MonkeyPatch) -> None:
    """While its process holds the folder it runs; after that it is interrupted. Where locks cannot be seen, a quiet journal counts so."""
    project, folder = growing
    journals = Journals(open_library(project, {}))
    if library.LOCKS.exists():
        assert journals.all()[0].state == "running"
    folder.close()
    if library.LOCKS.exists():
        assert journals.all()[0].state == "interrupted"
    monkeypatch.setattr(library, "LOCKS", project / "no-locks")
    assert journals.all()[0].state == "running"
    long_ago = time.time() - 10 * library.QUIET_SECONDS
    os.utime(folder.path / "results.jsonl", (long_ago, long_ago))
    assert journals.all()[0].state == "interrupted"


def test_a_page_and_a_stream_follow_a_run_to_its_end(growing: tuple[Path, RunFolder], monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream says at once what is there, then what is new, then that a run has ended; its page becomes the run's."""
    project, folder = growing
    run_id = folder.path.name
    monkeypatch.setattr(library, "TICK_SECONDS", 0.1)
    with served(project) as address:
        page = ask(address, f"/runs/{run_id}")
        assert not lacks(page.body, "0 of 3", 'http-equiv="refresh"')
        with events(address) as stream:
            assert next(stream) == ("progress", 0)
            folder.append(result("text_1", 1.0))
            assert next(stream) == ("progress", 1)
            (entry,) = find_runs(project / ".evalsuite" / "runs")
            results = entry.results()
            folder.finish(results, dict(entry.run))
            at_end, seen = {("changed", None), ("progress", None)}, set[tuple[str, int | None]]()
            while not at_end <= seen:
                seen.add(next(stream))
        # A look between the run's last two files counts what the first contains.
        assert seen - at_end <= {("progress", len(results))}
        assert ask(address, "/api/v1/progress").json == {"runs": []}
        assert "Instances" in ask(address, f"/runs/{run_id}").body


class events:  # noqa: N801 - reads as a word in `with events(address) as stream`
    """The events of a viewer one by one: (event, results so far of the one unfinished run, None where there is none)."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self._socket = socket.create_connection((place.hostname, place.port), timeout=30)
        self._socket.sendall(f"GET /events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
        self._lines = self._socket.makefile("r", encoding="utf-8")

    def __enter__(self) -> Iterator[tuple[str, int | None]]:
        return self._events()

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def _events(self) -> Iterator[tuple[str, int | None]]:
        event = ""
        for line in self._lines:
            if line.startswith("event: "):
                event = line.removeprefix("event: ").strip()
            elif line.startswith("data: "):
                runs = json.loads(line.removeprefix("data: "))
                yield event, runs[0]["n_done"] if runs else None
