"""Field evaluation: best fit by columns against best fit by the rows of every pair, long lists against short ones, long files in bounded
memory, and beside upstream.

`EVALSUITE_OTHERS` is a Python that has struct_extract_eval (it is no part of the project); without it that line is left out.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalsuite.trees import annotate_xeval, evaluate, infer_schema
from evalsuite.trees.field_matching import assign
from evalsuite.trees.field_results import tally
from evalsuite.trees.record_scoring import Scoring, Walk
from tests.benchmarks.big_tables import tree_run
from tests.benchmarks.measure import python

STREAM = """
from evalsuite.trees import evaluate_stream
from tests.benchmarks.xeval import leaves, schema_of
schema = schema_of([record for record in leaves(20)])
{body}
"""
FURTHER_SCORERS = """
import random, sys, time
try: from {module} import annotate_xeval, evaluate, infer_schema
except ImportError: sys.exit(0)
source = random.Random(2)
def near(value): return value if source.random() < 0.9 else None if source.random() < 0.5 else value + type(value)(1)
gold = [{{f"k{{at}}": source.random() if at % 2 else str(source.random()) for at in range(20)}} for _ in range(10_000)]
found = [{{key: near(value) for key, value in record.items()}} for record in gold]
schema = infer_schema(gold[:20])
schema = annotate_xeval(schema) or schema
evaluate(gold[:5], found[:5], schema)
started = time.process_time()
result = evaluate(gold, found, schema)
print(time.process_time() - started, result.mean_f1)
"""
SCORE_STREAM = "assert evaluate_stream(((record, dict(record)) for record in leaves(10_000)), schema).mean_f1 == 1.0"


def lists(n_records: int = 200, n: int = 60, seed: int = 1) -> tuple[list[Any], list[Any]]:
    """Gold and shuffled answers: n_records records with one list of n objects of six leaves."""
    source = random.Random(seed)
    gold = [{"items": [_element(source) for _ in range(n)]} for _ in range(n_records)]
    return gold, [{"items": source.sample(record["items"], n)} for record in gold]


def _element(source: random.Random) -> dict[str, Any]:
    return {
        "name": f"n{source.randrange(1000)}",
        "a": source.random(),
        "b": source.randrange(100),
        "c": source.choice("abc"),
        "d": source.choice([True, False]),
        "e": f"x{source.randrange(50)}",
    }


def leaves(n_records: int, n: int = 20) -> Any:
    """Records of n leaves, one after the other."""
    source = random.Random(2)
    for _ in range(n_records):
        yield {f"k{place}": source.random() if place % 2 else str(source.random()) for place in range(n)}


def schema_of(records: list[Any]) -> dict[str, Any]:
    """The eval schema of records, their list `items` aligned by best fit."""
    schema = annotate_xeval(infer_schema(records))
    if "items" in schema["properties"]:
        schema["properties"]["items"]["x-eval-align"] = {"match_by": "hungarian"}
    return schema


def by_rows(gold: list[Any], extracted: list[Any], schema: Any) -> int:
    """Score every pair by writing its rows, then assign; the number of matched pairs."""
    scoring = Scoring(schema)
    items = scoring.node.children[0].item
    matched = 0
    for record, answer in zip(gold, extracted, strict=True):
        walk = Walk(scoring, alternatives=False)
        fits: list[list[float]] = []
        for expected in record["items"]:
            fits.append([])
            for found in answer["items"]:
                fits[-1].append(tally(walk.pair(items, expected, found, items.path, ())).f1)
        matched += len(assign(fits))
    return matched


def cpu(call: Callable[[], Any]) -> float:
    """CPU seconds of a call."""
    started = time.process_time()
    call()
    return time.process_time() - started


def nested(n: int, source: random.Random) -> dict[str, Any]:
    """A record of n objects with two lists of five in each."""
    return {"items": [_element(source) | {key: [source.randrange(9) for _ in range(5)] for key in "pq"} for _ in range(n)]}


def four_times_as_long(n: int) -> float:
    """The CPU of aligning 80 nested objects with 80, in units of 20 with 20."""
    source, costs = random.Random(3), []
    for size in (20, 80):
        gold = [nested(size, source) for _ in range(3)]
        found = [{"items": source.sample(record["items"], size)} for record in gold]
        schema = schema_of(gold)
        for key in "pq":
            schema["properties"]["items"]["items"]["properties"][key]["x-eval-align"] = {"match_by": "hungarian"}
        evaluate(gold[:1], found[:1], schema)
        costs.append(min(cpu(lambda: evaluate(gold, found, schema)) for _ in range(n)))  # noqa: B023 (called at once)
    return round(costs[1] / costs[0], 1)


def beside_upstream(n: int) -> float | None:
    """CPU of 10,000 records of 20 leaves in units of upstream's, the runs alternating; None without it."""
    costs: dict[str, list[float]] = {}
    for _ in range(n):
        for module, interpreter in (("struct_extract_eval", os.environ.get("EVALSUITE_OTHERS")), ("evalsuite.trees", sys.executable)):
            if interpreter is None:
                return None
            command = [interpreter, "-c", FURTHER_SCORERS.format(module=module)]
            words = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout.split()
            if not words:
                return None
            costs.setdefault(module, []).append(float(words[0]))
    theirs, ours = (statistics.median(values) for values in costs.values())
    return round(ours / theirs, 2)


def whole_file(scratch: Path, scorer: str, n: int) -> dict[str, float]:
    """`check` on a JSONL of 20,000 records: CPU in units of a Python that reads both files, and the peak memory in MiB."""
    source = random.Random(4)
    gold = [_element(source) | {"paid": True, "amount": source.randrange(1000)} for _ in range(20_000)]
    paths = scratch / "gold.jsonl", scratch / "answer.jsonl"
    answers = [record | {"amount": record["amount"] + (at % 9 == 0)} for at, record in enumerate(gold)]
    for path, records in zip(paths, (gold, answers), strict=True):
        path.write_text("\n".join(map(json.dumps, records)))
    command = [sys.executable, "-m", "evalsuite", "check", scorer, "--prediction", str(paths[1]), "--gold", str(paths[0])]
    read = python(f"import json\nfor path in {list(map(str, paths))}: [json.loads(line) for line in open(path)]")
    costs = [[tree_run(one)[:2] for _ in range(n)] for one in (read, command)]
    (yardstick, _), (ours, peak) = (map(statistics.median, zip(*runs, strict=True)) for runs in costs)
    return {"ratio": round(ours / yardstick, 1), "peak_mib": round(peak, 1)}


def run(scratch: Path, *, n: int = 5) -> dict[str, Any]:
    """Ratios of CPU (rows of every pair over columns: at least 20 is wanted) and peak memories in MiB."""
    gold, extracted = lists()
    schema = schema_of(gold)
    evaluate(gold[:2], extracted[:2], schema)
    columns = statistics.median(cpu(lambda: evaluate(gold, extracted, schema)) for _ in range(n))
    rows = 10 * cpu(lambda: by_rows(gold[:20], extracted[:20], schema))
    bare, full = (tree_run(python(STREAM.format(body=body))) for body in ("", SCORE_STREAM))
    return {
        "200 x 60 x 60 best fit": {"columns_cpu_seconds": columns, "rows_cpu_seconds": rows, "ratio": round(rows / columns, 1)},
        "80 nested objects": {"ratio": four_times_as_long(n)},
        "beside upstream": {"ratio": beside_upstream(n)},
        **{scorer: whole_file(scratch, scorer, n) for scorer in ("tree_match", "tree_score")},
        "10,000 x 20 stream": {"cpu_seconds": full[0] - bare[0], "mib_above_import": round(full[1] - bare[1], 1)},
        "python": sys.version.split()[0],
    }
