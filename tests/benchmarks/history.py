"""What a history of 3,000 and 10,000 runs of 100 results costs whoever looks at it, in CPU seconds of whole commands and of the viewer."""

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import one_run

SIZES, N_RESULTS = (3_000, 10_000), 100
COMMANDS = {
    "runs list": ("runs", "list"),
    "second sql": ("sql", "select count(*) as n, avg(score) as score from results"),
    "board with nothing new": ("leaderboard", "submission", "--gold", "gold", "--isolation", "none", "--jobs", "1", "-q"),
}


def run(scratch: Path, *, n: int = 3) -> dict[str, Any]:
    """The median CPU seconds (of n) of each command over so many runs, after one call that is not counted, and of the viewer's list."""
    found: dict[str, Any] = {}
    for size in SIZES:
        place = scratch / str(size)
        make(place, size)
        seconds = {}
        for name, words in COMMANDS.items():
            command = [sys.executable, "-m", "evalsuite", *words]
            spent = [one_run(command, cwd=str(place))[1] for _ in range(n + 1)]
            seconds[name] = sorted(spent[1:])[n // 2]
        seconds["viewer, a page again"] = _viewer(place / ".evalsuite" / "runs")
        found[f"{size:,} runs"] = {name: round(value, 2) for name, value in seconds.items()}
        shutil.rmtree(place)
    return found


def make(place: Path, size: int) -> None:
    """`gold`, a `submission`, its run, and so many copies of that under other names."""
    for file, key in ((place / "gold" / "made_eval.jsonl", None), (place / "submission" / "results_metadata.jsonl", "answer")):
        file.parent.mkdir(parents=True)
        with file.open("w", encoding="utf-8") as lines:
            for i in range(N_RESULTS):
                check = {"evaluation": {"func": "string_match", "parameters": {"gold": f"city {i}"}}}
                answer = {"answer_type": "answer", "answer_or_path": f"it is city {i}" if i % 3 else "no idea"}
                lines.write(json.dumps({"instance_id": f"made_{i:04}", **(check if key is None else answer)}) + "\n")
    one_run([sys.executable, "-m", "evalsuite", "run", "submission", "--gold", "gold", "--isolation", "none", "-q"], cwd=str(place))
    runs = place / ".evalsuite" / "runs"
    first = next(runs.iterdir())
    for i in range(1, size):
        shutil.copytree(first, runs / f"20261101-{i // 3600:02}{i // 60 % 60:02}{i % 60:02}-copy")


def _viewer(runs: Path) -> float:
    from evalsuite.reports.viewer.library import RunsFolder

    source = RunsFolder(runs, None)
    list(source.suites())
    began = time.process_time()
    list(source.suites())
    return time.process_time() - began
