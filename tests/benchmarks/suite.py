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
    """Ratios to the yardstick's CPU with both isolations, CPU of all processes, and all medians."""
    return _in_yardsticks(scratch, n=n, submissions=submissions, isolations=("none", "process"))


def mixed(scratch: Path, *, n: int = 3) -> dict[str, Any]:
    """The same over `mixed_1` to `mixed_7`, isolation on, with their mean."""
    found = _in_yardsticks(scratch, n=n, submissions=tuple(f"mixed_{i}" for i in range(1, 8)), isolations=("process",))
    mean = sum(found["ratios"].values()) / len(found["ratios"])
    return {**found, "ratios": {**found["ratios"], "mean": round(mean, 2)}}


def cache(scratch: Path, *, n: int = 5) -> dict[str, Any]:
    """The wall clock of a second run of `exact` with the score cache warm, by that of a first one with none."""
    base = conformance_folder() / "spider2"
    first = _command(base / "submissions" / "exact", base / "gold", scratch / "first", "--no-cache")
    second = _command(base / "submissions" / "exact", base / "gold", scratch / "second")
    costs = side_by_side({"first": first, "second": second}, n=n, cwd=str(scratch))
    ratio = round(costs["second"].wall_seconds / costs["first"].wall_seconds, 2)
    return {"ratios": {"second to first": ratio}, "medians": {name: asdict(cost) for name, cost in costs.items()}}


def _in_yardsticks(scratch: Path, *, n: int, submissions: tuple[str, ...], isolations: tuple[str, ...]) -> dict[str, Any]:
    base = conformance_folder() / "spider2"
    commands = {"yardstick": python(YARDSTICK.format(gold=str(base / "gold"), submission=str(base / "submissions" / "exact")))}
    for name in submissions:
        folder = resave(base / "submissions" / "exact", scratch / "resaved") if name == "resaved" else base / "submissions" / name
        for isolation in isolations:
            out = scratch / f"run-{name}-{isolation}"
            commands[f"{name}, isolation {isolation}"] = _command(folder, base / "gold", out, "--isolation", isolation, "--no-cache")
    costs = side_by_side(commands, n=n)
    unit = costs["yardstick"].cpu_seconds
    return {
        "ratios": {name: round(cost.cpu_seconds / unit, 2) for name, cost in costs.items() if name != "yardstick"},
        "medians": {name: asdict(cost) for name, cost in costs.items()},
    }


def _command(submission: Path, gold: Path, out: Path, *more: str) -> list[str]:
    start = [sys.executable, str(ROOT / "evaluate.py"), "--result_dir", str(submission), "--gold_dir", str(gold)]
    return [*start, "--jobs", "2", "--out", str(out), *more]
