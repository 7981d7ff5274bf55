"""A submission that turned hostile after its run: whatever reads it again does so in a worker, and goes on without what it cannot read."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.types import METADATA
from evalsuite.reports.record import record_of_entry
from evalsuite.reports.viewer.library import submitted_contexts, submitted_texts
from evalsuite.runs.history import CONTEXTS, read_run

pytestmark = pytest.mark.usefixtures("shared_fork_server")

SECRET = "S3CRET-of-gold"
ANSWERS = {"q1": "Paris it is", "q2": "Rome it is"}
LINES = [json.dumps({"instance_id": name, "answer_type": "answer", "answer_or_path": text}) + "\n" for name, text in ANSWERS.items()]
HOSTILE: dict[str, Callable[[Path], object]] = {
    "broken UTF-8": lambda path: path.write_bytes(b"\xff\n" * 20_000),
    "deep nesting": lambda path: path.write_text(LINES[0] + '{"a":' + "[" * 100_000),
    "one long line": lambda path: path.write_bytes(b'{"instance_id": "' + bytes(9_000_000)),
    "a pipe": os.mkfifo,
    "gold itself": lambda path: path.symlink_to(path.parent.parent / "gold" / "x_eval.jsonl"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with gold that asks, and a saved run of each of two submissions: `runs/a` of `team`, `runs/b` of `other`."""
    monkeypatch.chdir(tmp_path)
    spec = [
        {"instance_id": name, "question": "Which city?", "evaluation": {"func": "string_match", "parameters": {"gold": gold}}}
        for name, gold in (("q1", "Paris"), ("q2", SECRET))
    ]
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "x_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in spec))
    how = ["--gold", "gold", "--isolation", "none", "--no-cache", "--quiet", "--limit", "seconds=0.2"]
    for name, lines, folder in (("team", LINES, "runs/a"), ("other", [LINES[0], LINES[1].replace("Rome", SECRET)], "runs/b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / METADATA).write_text("".join(lines))
        assert main(["run", name, "--out", folder, *how]) == 0
    return tmp_path


def turned(project: Path, name: str, make: Callable[[Path], object]) -> None:
    """Put something else in the place of a file of the submission, dated before the runs."""
    path = project / "team" / name
    path.unlink(missing_ok=True)
    make(path)
    if path.is_file() and not path.is_symlink():
        os.utime(path, (0, 0))


def asked_again(project: Path) -> dict[str, str]:
    """What the viewer shows of the answers of a run, by instance id."""
    entry = read_run(project / "runs" / "a")
    assert entry is not None
    return dict(submitted_texts(record_of_entry(entry)))


def test_nothing_of_it_is_parsed_by_the_command(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Viewer, report, comparison and copy have the answers, and no metadata file was opened in this process."""
    fsspec: Any = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    store = fsspec.filesystem("memory")
    store.store.clear()
    store.pipe(f"/team/{METADATA}", "".join(LINES).encode())

    def opened(*_: object) -> None:
        raise AssertionError("metadata were opened in the process of the command")

    monkeypatch.setattr("evalsuite.readers.submission._open", opened)
    assert asked_again(project) == ANSWERS
    assert main(["report", "runs/a", "-o", "r.html"]) == 0
    assert ANSWERS["q1"] in Path("r.html").read_text()
    assert main(["compare", "runs/a", "runs/b", "-o", "c.html"]) == 0
    assert all(text in Path("c.html").read_text() for text in (ANSWERS["q2"], f"{SECRET} it is"))
    assert main(["run", "memory://team", "--gold", "gold", "--no-save", "--no-cache", "-q"]) == 0
    store.store.clear()


def test_hostile_metadata_cost_their_texts(project: Path) -> None:
    """The report and the viewer are as they are for a submission that is gone, and follow no link to gold."""
    for kind, make in HOSTILE.items():
        turned(project, METADATA, make)
        assert main(["report", "runs/a", "-o", "r.json", "-o", "r.md"]) == 0, kind
        assert ANSWERS["q2"] not in "".join(Path(name).read_text() for name in ("r.json", "r.md")), kind
        shown = asked_again(project)
        assert set(shown) <= {"q1"}, kind
        assert SECRET not in str(shown), kind


def test_hostile_contexts_cost_themselves(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands where a suite's run keeps its contexts stops neither `runs show` nor the viewer, and no link is followed."""
    turned(project, CONTEXTS, lambda path: path.write_text(json.dumps({"q1": "of old", "q2": 7, "other": "x"})))
    entry = read_run(project / "runs" / "a")
    assert entry is not None
    assert submitted_contexts(record_of_entry(entry)) == {"q1": "of old", "q2": "7"}
    for kind in ("a pipe", "deep nesting", "gold itself"):
        turned(project, CONTEXTS, HOSTILE[kind])
        assert submitted_contexts(record_of_entry(entry)) == {}, kind
    capsys.readouterr()
    assert main(["runs", "show", "runs/a"]) == 0
    assert "context" not in capsys.readouterr().out
