"""A run of a million texts and numbers from the folders to its reports, beside smaller ones: what an instance costs, and if that grows.

`EVALSUITE_MILLION=10000,100000` names other sizes.
"""

import json
import os
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import one_run

SIZES = (10_000, 100_000, 1_000_000)
_COMMANDS = {
    "run": ["run", "a", "--gold", "gold", "--out", ".evalsuite/runs/a", "--quiet"],
    "run of another": ["run", "b", "--gold", "gold", "--out", ".evalsuite/runs/b", "--quiet"],
    "report, all forms": ["report", "a", *(f"-oa.{ending}" for ending in ("html", "md", "csv", "json", "junit.xml", "parquet"))],
    "report on the terminal": ["report", "a"],
    "compare": ["compare", "a", "b", "-ocompare.html", "-ocompare.md"],
    "runs list": ["runs", "list"],
}


def folders(place: Path, n: int) -> None:
    """Gold of n texts and numbers in turn, and two submissions: most are right, some wrong, not handed in, or of the wrong kind."""
    (place / "gold").mkdir(parents=True)
    with (place / "gold" / "million_eval.jsonl").open("w", encoding="utf-8") as gold:
        for at in range(n):
            check = (
                {"func": "string_match", "parameters": {"gold": [f"the town of {_name(at)}", _name(at)]}}
                if at % 2
                else {"func": "number_match", "parameters": {"gold": at * 1.25, "precision": 2}}
            )
            gold.write(json.dumps({"instance_id": f"q{at:07}", "evaluation": check}) + "\n")
    for number, name in enumerate("ab"):
        (place / name).mkdir()
        with (place / name / "results_metadata.jsonl").open("w", encoding="utf-8") as lines:
            for at, answer in _answers(n, number):
                lines.write(json.dumps({"instance_id": f"q{at:07}", "answer_type": "answer", "answer_or_path": answer}) + "\n")


def _name(at: int) -> str:
    return f"{'ABCDEFGHIJ'[at % 10]}{at * 2654435761 % 4294967296:x}ville"


def _answers(n: int, number: int) -> Iterator[tuple[int, str]]:
    for at in range(n):
        kind = (at * 7919 + number * 104729) % 100
        if kind < 97:
            right = f"It is {_name(at)}, as far as I know." if at % 2 else f"about {at * 1.25:.2f}"
            yield at, right if kind < 75 else f"It is {_name(at + 1)}." if kind < 90 else f"{at * 1.25 + 3:.2f}"


def run(scratch: Path, *, n: int = 1) -> dict[str, Any]:
    """Of each size: CPU and wall seconds and the peak in MiB of each command, and bytes of each report.

    Then the slopes of `run` from size to size. `n` is not heeded: a million is scored once.
    """
    found: dict[str, Any] = {}
    sizes = [int(size) for size in os.environ.get("EVALSUITE_MILLION", "").split(",") if size] or SIZES
    for size in sizes:
        place = scratch / str(size)
        folders(place, size)
        costs = {}
        for name, words in _COMMANDS.items():
            wall, cpu, peak = one_run([sys.executable, "-m", "evalsuite", *words], cwd=str(place))
            costs[name] = {"cpu_seconds": round(cpu, 2), "wall_seconds": round(wall, 2), "peak_mib": round(peak, 1)}
            print(size, name, costs[name], file=sys.stderr, flush=True)
        sizes_of = {file.name: file.stat().st_size for file in sorted(place.iterdir()) if file.is_file()}
        found[str(size)] = {**costs, "bytes": sizes_of}
    for before, after in pairwise(sizes):
        one, other = (found[str(size)]["run"] for size in (before, after))
        found[f"slope {before} to {after}"] = {
            "cpu_ms_an_instance": round((other["cpu_seconds"] - one["cpu_seconds"]) * 1e3 / (after - before), 3),
            "kib_an_instance": round((other["peak_mib"] - one["peak_mib"]) * 1024 / (after - before), 3),
        }
    return found
