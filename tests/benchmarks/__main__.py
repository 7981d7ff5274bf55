"""`python -m tests.benchmarks [NAME ...]`: run the benchmarks and print one JSON object; ratios of two things timed in the same run."""

import argparse
import compileall
import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from tests.benchmarks.others import keep as keep_others
from tests.benchmarks.table import keep
from tests.conftest import ROOT

BENCHMARKS = {
    "suite": "tests.benchmarks.suite",
    "mixed": "tests.benchmarks.suite:mixed",
    "cache": "tests.benchmarks.suite:cache",
    "xeval": "tests.benchmarks.xeval",
    "trees": "tests.benchmarks.trees",
    "leaderboard": "tests.benchmarks.leaderboard",
    "history": "tests.benchmarks.history",
    "big": "tests.benchmarks.big_tables",
    "surface": "tests.benchmarks.surface",
    "wrong": "tests.benchmarks.wrong_tables",
    "databases": "tests.benchmarks.big_databases",
    "pairs": "tests.benchmarks.sql_pairs",
    "results": "tests.benchmarks.sql_results",
    "start": "tests.benchmarks.start",
    "jsonl": "tests.benchmarks.jsonl",
    "matching": "tests.benchmarks.matching",
    "dask": "tests.benchmarks.dask",
    "million": "tests.benchmarks.million",
    "crossings": "tests.benchmarks.crossings",
    "others": "tests.benchmarks.others",
}


def main() -> None:
    """Run the named benchmarks, all of them by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(BENCHMARKS), help=", ".join(BENCHMARKS))
    parser.add_argument("-n", type=int, default=5, help="runs of each command, the median counts")
    parser.add_argument(
        "--readme", action="store_true", help="also renew the figures in docs/benchmarks.json and the table of docs/benchmarks.md"
    )
    arguments = parser.parse_args()
    # As an installation has it: some environments keep nothing of what Python compiles, and each start would compile a checkout anew.
    compileall.compile_dir(ROOT / "evalsuite", quiet=2)
    found = {}
    for name in arguments.names:
        with tempfile.TemporaryDirectory() as scratch:
            module, _, function = BENCHMARKS[name].partition(":")
            found[name] = getattr(import_module(module), function or "run")(Path(scratch), n=arguments.n)
    if arguments.readme:
        if (others := found.get("others")) is not None:
            keep_others(others)
        keep(found)
    try:
        print(json.dumps(found, indent=2), flush=True)
    except BrokenPipeError:
        # The reader (head) has seen enough; what is still in the buffer must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
