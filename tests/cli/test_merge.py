"""`evalsuite merge`, as it is typed after `evalsuite run --shard`."""

import json
from pathlib import Path

import pytest

from tests.cli.test_run import said
from tests.conftest import copy_example, copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")
place = copy_of(lambda folder: copy_example(folder, {"sales_001", "sales_004", "hr_001", "hr_004"}))


def test_merge(place: Path) -> None:
    """The report is the whole's, -o writes it, a gate gives exit 1, and a missing shard exit 2 with its name."""
    for i in (1, 2):
        said(f"run example_submission_folder --isolation none --quiet --shard {i}/2 --out shard-{i}")
    shown = said("merge shard-1 shard-2 --out whole -o report.json")
    assert "from 2 shards" in shown.splitlines()[-1]
    assert json.loads((place / "whole/run.json").read_text())["summary"]["n_gold"] == 4
    assert "(4 instances)" in shown
    assert len(json.loads((place / "report.json").read_text())["results"]) == 4
    assert len((place / "whole/results.jsonl").read_text().splitlines()) == 4
    assert "below the gate of 99.0 % (exit 1)" in said("merge shard-1 shard-2 --out whole --quiet --fail-under 0.99", code=1)
    assert said("merge shard-1 --out never", code=2).splitlines()[0] == "error: missing shards: 2/2"
