"""How long the command line takes to start, in units of `python -c pass`."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.benchmarks.crossings import made_folders
from tests.benchmarks.measure import python, side_by_side

_CHECK = ("check", "string_match", "--prediction", "It is Paris", "--gold", "Paris")
_NUMBER = ("check", "number_match", "--prediction", "about 17.5%", "--gold", "17.5", "--percentage")
COMMANDS = {"--version": ("--version",), "--help": ("--help",), "check string_match": _CHECK, "check number_match": _NUMBER}


def run(scratch: Path, *, n: int = 5) -> dict[str, Any]:
    """Ratios of wall clock and of CPU to `python -c pass`, and all medians; a run is isolated, and its CPU that of all its processes."""
    runs = {}
    for kind in ("number", "csv"):
        submission, gold = made_folders(kind, scratch / kind)
        runs[f"run {kind}"] = ("run", str(submission), "--gold", str(gold), "--no-save", "--no-cache")
    commands: dict[str, Any] = {"pass": python("pass")}
    commands |= {name: [sys.executable, "-m", "evalsuite", *words] for name, words in {**COMMANDS, **runs}.items()}
    costs = side_by_side(commands, n=4 * n)
    bare = costs["pass"]
    return {
        "ratios": {name: round(cost.wall_seconds / bare.wall_seconds, 2) for name, cost in costs.items()},
        "cpu_ratios": {name: round(cost.cpu_seconds / bare.cpu_seconds, 2) for name, cost in costs.items()},
        "medians": {name: asdict(cost) for name, cost in costs.items()},
    }
