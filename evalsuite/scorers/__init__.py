"""Table of the scorers that a gold file may name in `func`.

A new scorer is one file in this folder and one entry in this table; a text metric becomes a scorer by its entry in `METRICS`.
"""

from collections.abc import Mapping
from typing import Any

from evalsuite.core.import_ref import ImportRef
from evalsuite.core.registry import Registry
from evalsuite.scorers.metrics import METRICS

BUNDLED: dict[str, ImportRef] = {
    "string_match": ImportRef("evalsuite.scorers.text_match:string_match", "the answer contains the gold text"),
    "number_match": ImportRef("evalsuite.scorers.text_match:number_match", "the answer contains the gold number"),
    "table_match": ImportRef("evalsuite.scorers.table_match:table_match", "a CSV table contains the gold columns"),
    "tables_match": ImportRef("evalsuite.scorers.table_match:tables_match", "several CSV tables, each against its own gold"),
    "duckdb_match": ImportRef("evalsuite.scorers.duckdb_match:duckdb_match", "tables of a DuckDB database against a gold database"),
    "sql_match": ImportRef(
        "evalsuite.scorers.sql_match:sql_match", "a query gives what gold's query gives, as BIRD or Spider's test suite has it"
    ),
    # A metric with a summary is a scorer.
    **{name: line for name, line in METRICS.items() if line.summary},
    "qa_correctness": ImportRef("evalsuite.scorers.judge.judge:qa_correctness", "a model decides whether a context supports the answer"),
    "summary_quality": ImportRef("evalsuite.scorers.judge.judge:summary_quality", "a model compares the summary with a reference summary"),
    "hallucination": ImportRef("evalsuite.scorers.judge.judge:hallucination", "a model decides whether a context supports every claim"),
    "tree_match": ImportRef("evalsuite.scorers.tree_scorers:tree_match", "extracted JSON records against gold records, field by field"),
    "tree_score": ImportRef("evalsuite.scorers.tree_scorers:tree_score", "JSON records against gold records, by structure and metrics"),
}

SCORERS = Registry(BUNDLED, metric_scorer=ImportRef("evalsuite.scorers.metrics.scorer:metric_scorer"), group="evalsuite.scorers")


def worker_setup() -> dict[str, Any]:
    """Return the set-up data with which a worker registers the scorers and metrics of plugins and suites."""
    return {
        "prepare": "evalsuite.scorers:prepare_worker",
        "plugins": list(SCORERS.registered_plugins()),
        "metrics": dict(SCORERS.additions.metrics),
    }


def prepare_worker(setup: Mapping[str, Any]) -> None:
    """Register the scorers and metrics of `worker_setup` in a worker, and fill its cache of gold files."""
    SCORERS.register_all(setup["plugins"], setup["metrics"])
    if setup.get("cached_gold"):
        from evalsuite.readers.load_answer import FILE_CACHE

        FILE_CACHE.take(setup["cached_gold"])
