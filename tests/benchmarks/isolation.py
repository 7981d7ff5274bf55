"""What isolation costs: the recorded `exact` folder with `--isolation process` in units of `--isolation none`, two answers side by side."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import side_by_side
from tests.conftest import ROOT, conformance_folder

# The most that keeping answers apart may cost (safety.md).
MOST = 1.7


def run(scratch: Path, *, n: int = 5, jobs: int = 2) -> dict[str, Any]:
    """The ratio of the wall clocks, whether it is within what is allowed, that of the CPU seconds, and both medians."""
    base = conformance_folder() / "spider2"
    commands = {
        isolation: [
            *(sys.executable, str(ROOT / "evaluate.py"), "--result_dir", str(base / "submissions" / "exact")),
            *("--gold_dir", str(base / "gold"), "--isolation", isolation, "--jobs", str(jobs)),
            *("--out", str(scratch / f"run-{isolation}"), "--no-cache", "--quiet"),
        ]
        for isolation in ("none", "process")
    }
    costs = side_by_side(commands, n=n)
    ratio = costs["process"].wall_seconds / costs["none"].wall_seconds
    return {
        "process / none": round(ratio, 2),
        # On a busy machine more processes win more of the clock; the seconds of computing do not depend on that.
        "process / none, cpu": round(costs["process"].cpu_seconds / costs["none"].cpu_seconds, 2),
        "allowed": MOST,
        "kept": ratio <= MOST,
        "medians": {name: asdict(cost) for name, cost in costs.items()},
    }
