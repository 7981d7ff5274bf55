"""The whole recorded suite, in units of the yardstick: start python, import pandas, read every CSV of gold and submission once."""

import csv
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import python, side_by_side
from tests.conftest import ROOT, conformance_folder

YARDSTICK = """
import pathlib, pandas
for folder in ({gold!r}, {submission!r}):
    for path in pathlib.Path(folder).rglob("*.csv"):
        try:
            pandas.read_csv(path, low_memory=False)
        except Exception:
            pass
"""


def resave(source: Path, target: Path) -> Path:
    """A copy of a submission with every CSV written anew, all fields quoted and CRLF line ends: no byte-equal shortcut."""
    shutil.copytree(source, target)
    for path in target.rglob("*.csv"):
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.reader(lines))
        path.chmod(0o644)
        with path.open("w", encoding="utf-8", newline="") as lines:
            csv.writer(lines, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(rows)
    return target


def run(scratch: Path, *, n: int = 5, submissions: tuple[str, ...] = ("exact", "resaved")) -> dict[str, Any]:
    """Ratios to the yardstick's wall clock, and all medians."""
    base = conformance_folder() / "spider2"
    resaved = resave(base / "submissions" / "exact", scratch / "resaved")
    folders = {name: resaved if name == "resaved" else base / "submissions" / name for name in submissions}
    commands = {"yardstick": python(YARDSTICK.format(gold=str(base / "gold"), submission=str(base / "submissions" / "exact")))}
    for name, folder in folders.items():
        for isolation in ("none", "process"):
            commands[f"{name}, isolation {isolation}"] = [
                *(sys.executable, str(ROOT / "evaluate.py"), "--result_dir", str(folder), "--gold_dir", str(base / "gold")),
                *("--isolation", isolation, "--out", str(scratch / f"run-{name}-{isolation}"), "--no-cache"),
            ]
    costs = side_by_side(commands, n=n)
    unit = costs["yardstick"].wall_seconds
    return {
        "ratios": {name: round(cost.wall_seconds / unit, 2) for name, cost in costs.items() if name != "yardstick"},
        "medians": {name: asdict(cost) for name, cost in costs.items()},
    }
