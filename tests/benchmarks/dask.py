"""100,000 text answers on a LocalCluster of two workers, in units of the local pool; the cluster's start is left out."""

import statistics
import time
from pathlib import Path
from typing import Any

from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.gold_files import gold_hash
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.executors import Work, open_executor
from evalsuite.runs.plan import plan
from tests.runs.workers.test_executors import texts

N_ANSWERS = 100_000


def run(scratch: Path, *, n: int = 5) -> dict[str, Any]:
    """The ratio of wall clocks (bound 2), both medians in seconds, and milliseconds for 1,000 answers on each side."""
    from distributed import LocalCluster

    from evalsuite.core.dataclasses import replace

    submission, gold_folder = texts(scratch, N_ANSWERS)
    gold = read_gold(gold_folder)
    gold = replace(gold, hash=gold_hash(gold.folder, gold.spec_file))
    tasks = plan(gold, read_submission(submission), rules=None, limits=resolve_limits())
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        seconds: dict[str, list[float]] = {"local": [], "dask": []}
        for turn in range(n + 1):
            for name, address in (("local", None), ("dask", cluster.scheduler_address)):
                work = Work(jobs=2, isolation="process", gold=gold, gold_inodes=frozenset(), scheduler=address)
                started = time.perf_counter()
                assert sum(1 for _ in open_executor(name, work).results(tasks)) == N_ANSWERS
                # The first turn warms the workers up.
                if turn:
                    seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        "ratio": round(medians["dask"] / medians["local"], 2),
        "seconds": medians,
        "ms_per_1000": {name: round(value * 1e6 / N_ANSWERS, 1) for name, value in medians.items()},
    }
