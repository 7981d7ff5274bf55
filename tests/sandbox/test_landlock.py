"""The walls round a worker, tried from inside: what a process behind them can still do."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import UsageError
from evalsuite.readers.gold_files import gold_links
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.runs.worker_pool import set_up
from evalsuite.sandbox.linux_layers import landlock_version, parts_without
from tests.conftest import ROOT
from tests.processes import finished

landlock = pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
# Runs behind the walls of a reader; each line tries one thing and says what came of it.
TRIES = """
import json, os, sys
from evalsuite.sandbox.linux_layers import restrict_files
readable, tries = json.loads(sys.argv[1])
assert restrict_files(readable)
found = {}
def attempt(name, action):
    try:
        found[name] = repr(action())
    except OSError as error:
        found[name] = type(error).__name__
for name in tries:
    attempt(name, lambda: open(name, 'rb').read(5))
    attempt('list ' + name, lambda: sorted(os.listdir(name)))
print(json.dumps(found))
"""


def behind_walls(readable: list[str], tries: list[Path]) -> dict[str, Any]:
    """What a process that may read only below `readable` found when it tried to read some paths."""
    words = json.dumps([readable, [str(path) for path in tries]])
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}]\n{TRIES}"
    done = finished([sys.executable, "-c", code, words], check=True, cwd="/")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def readable_by(role: str, submission: Path, gold: Path) -> list[str]:
    """What a role of a run may read."""
    setup = set_up(isolation="process", limits=resolve_limits(), submission_folder=submission, gold_folder=gold, gold_inodes=frozenset())
    return list(setup.readable[role])


def two_sides(folder: Path, gold: str) -> tuple[Path, Path]:
    """(submission, gold) with one file each; gold lies at a path relative to the submission's parent."""
    submission = folder / "submission"
    for place, text in ((submission / "q", "mine!"), (folder / gold / "q", "gold!")):
        place.mkdir(parents=True)
        (place / "f.csv").write_text(text)
    return submission, folder / gold


@landlock
@pytest.mark.parametrize("place", ["gold", "submission/gold", "submission/q/deep/gold"])
def test_a_reader_cannot_read_gold_wherever_it_lies(place: str, tmp_path: Path) -> None:
    """The kernel keeps gold from the reader, in a folder of the submission too, and lets it read the submission around it."""
    submission, gold = two_sides(tmp_path, place)
    files = [submission / "q/f.csv", gold / "q/f.csv", gold]
    found = behind_walls(readable_by("reader", submission, gold), files)
    assert found[str(files[0])] == "b'mine!'"
    assert found[str(files[1])] == "PermissionError"
    assert found[f"list {gold}"] == "PermissionError"


@landlock
def test_a_judge_reads_gold_behind_links_and_no_submission(tmp_path: Path) -> None:
    """Gold may be a folder of links: where they lead is open to the judge and closed to the reader; the submission is the reverse."""
    submission, gold = two_sides(tmp_path, "gold")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f.csv").write_text("link!")
    (gold / "linked").symlink_to(elsewhere)
    files = [gold / "q/f.csv", gold / "linked/f.csv", submission / "q/f.csv"]
    judge = behind_walls(readable_by("judge", submission, gold), files)
    assert [judge[str(file)] for file in files] == ["b'gold!'", "b'link!'", "PermissionError"]
    reader = behind_walls(readable_by("reader", submission, gold), files)
    assert [reader[str(file)] for file in files] == ["PermissionError", "PermissionError", "b'mine!'"]


@landlock
def test_sources_and_the_current_folder_open_only_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Gold beside the sources, as in a clone of this project, is not readable because the sources are on the import path."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", ["", str(ROOT), *sys.path])
    submission, _ = two_sides(tmp_path, "gold")
    spec = next((ROOT / "gold").glob("*_eval.jsonl"))
    found = behind_walls(
        readable_by("reader", submission, ROOT / "gold"), [spec, ROOT / "pyproject.toml", ROOT / "evalsuite/core/types.py"]
    )
    assert found[str(spec)] == found[str(ROOT / "pyproject.toml")] == "PermissionError"
    assert found[str(ROOT / "evalsuite/core/types.py")].startswith("b'")


def test_around_leaves_out_what_is_hidden(tmp_path: Path) -> None:
    """A folder without anything hidden stands for itself; one that holds it is taken apart, and links in it are never followed."""
    (tmp_path / "a/b/secret").mkdir(parents=True)
    (tmp_path / "a/b/open").mkdir()
    (tmp_path / "a/file").write_text("x")
    (tmp_path / "a/link").symlink_to("/")
    root = tmp_path.resolve()
    secret = str(root / "a/b/secret")
    assert parts_without(str(tmp_path / "a/b/open"), [secret]) == [str(root / "a/b/open")]
    assert parts_without(str(tmp_path), [secret]) == [str(root / "a/b/open"), str(root / "a/file")]
    assert parts_without(secret, [secret]) == []
    assert parts_without(f"{secret}/below", [secret]) == [f"{secret}/below"]
    assert parts_without(str(tmp_path), []) == [str(root)]


def test_where_links_of_gold_lead(tmp_path: Path) -> None:
    """Links to files and folders at any depth are followed once; a broken one leads nowhere."""
    gold, other = tmp_path / "gold", tmp_path / "other"
    (gold / "q").mkdir(parents=True)
    other.mkdir()
    (other / "f").write_text("x")
    (gold / "q/f").symlink_to(other / "f")
    (gold / "q/broken").symlink_to(other / "nothing")
    (gold / "p").symlink_to(other)
    assert gold_links(gold) == [other.resolve(), (other / "f").resolve()]


def test_a_submission_in_the_gold_folder_is_refused(tmp_path: Path) -> None:
    """Its files would be gold's own files: nothing is scored, and the message says what to do."""
    gold = tmp_path / "gold"
    (gold / "mine").mkdir(parents=True)
    (gold / "x_eval.jsonl").write_text('{"instance_id": "a", "evaluation": {"func": "string_match", "parameters": {"gold": "x"}}}\n')
    (gold / "mine/results_metadata.jsonl").write_text("")
    with pytest.raises(UsageError, match="is in the gold folder"):
        run(gold / "mine", gold, RunOptions(save=False))
