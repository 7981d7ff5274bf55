"""`evalsuite merge`, as it is typed after `evalsuite run --shard`."""

import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def shards(folder: Path, n: int) -> list[str]:
    """The run folders of the n shards of the project's example."""
    folders = []
    for i in range(1, n + 1):
        folders.append(str(folder / f"shard-{i}"))
        words = ["run", str(ROOT / "example_submission_folder"), "--gold", str(ROOT / "gold"), "--no-cache", "--isolation", "none"]
        assert main([*words, "--quiet", "--shard", f"{i}/{n}", "--out", folders[-1]]) == 0
    return folders


def test_merge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report is the whole's, -o writes it, a gate gives exit 1, and a missing shard exit 2 with its name."""
    folders = shards(tmp_path, 2)
    capsys.readouterr()
    out, page = tmp_path / "whole", tmp_path / "report.json"
    assert main(["merge", *folders, "--out", str(out), "-o", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "from 2 shards" in shown.splitlines()[-1]
    assert f"({json.loads((out / 'run.json').read_text())['summary']['n_gold']} instances)" in shown
    assert len(json.loads(page.read_text())["results"]) == len((out / "results.jsonl").read_text().splitlines())
    assert main(["merge", *folders, "--out", str(out), "--quiet", "--fail-under", "0.99"]) == 1
    assert "below the gate of 99.0 % (exit 1)" in capsys.readouterr().out
    assert main(["merge", folders[0], "--out", str(tmp_path / "never")]) == 2
    assert capsys.readouterr().err.splitlines()[0] == "error: missing shards: 2/2"
