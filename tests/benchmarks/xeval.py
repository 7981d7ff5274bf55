"""Field evaluation: best fit by columns against best fit by the rows of every pair, and a long stream in bounded memory."""

import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalsuite.trees import annotate_xeval, evaluate, infer_schema
from evalsuite.trees.field_arrays import assign
from evalsuite.trees.field_totals import tally
from evalsuite.trees.record_scoring import Scoring
from tests.benchmarks.measure import one_run, python

STREAM = """
from evalsuite.trees import evaluate_stream
from tests.benchmarks.xeval import leaves, schema_of
schema = schema_of([record for record in leaves(20)])
{body}
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
    items = scoring.plan.children[0].children[0]
    matched = 0
    for record, answer in zip(gold, extracted, strict=True):
        walk = scoring.walk(False)
        fits = []
        for expected in record["items"]:
            fits.append([])
            for found in answer["items"]:
                rows: list[Any] = []
                walk.pair(items, expected, found, items.path, (), rows)
                fits[-1].append(tally(rows).f1)
        matched += len(assign(fits, compat=False))
    return matched


def cpu(call: Callable[[], Any]) -> float:
    """CPU seconds of a call."""
    started = time.process_time()
    call()
    return time.process_time() - started


def run(scratch: Path, *, n: int = 5) -> dict[str, Any]:
    """Ratio of CPU (rows of every pair over columns; at least 20 is wanted) and the peak memory of a stream of 10,000 records in MiB."""
    gold, extracted = lists()
    schema = schema_of(gold)
    evaluate(gold[:2], extracted[:2], schema)
    columns = statistics.median(cpu(lambda: evaluate(gold, extracted, schema)) for _ in range(n))
    rows = cpu(lambda: by_rows(gold, extracted, schema))
    bare, full = (one_run(python(STREAM.format(body=body))) for body in ("", SCORE_STREAM))
    return {
        "200 x 60 x 60 best fit": {"columns_cpu_seconds": columns, "rows_cpu_seconds": rows, "ratio": round(rows / columns, 1)},
        "10,000 x 20 stream": {"cpu_seconds": full[1] - bare[1], "mib_above_import": round(full[2] - bare[2], 1)},
        "python": sys.version.split()[0],
    }
