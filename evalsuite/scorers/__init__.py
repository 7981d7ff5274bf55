"""The names a gold file may use in `func`. A new scorer is one file in this folder and one line in this table; a text metric is a scorer
by its line in `METRICS`.
"""

from collections.abc import Mapping
from typing import Any

from evalsuite.core.import_ref import ImportRef
from evalsuite.core.registry import Registry
from evalsuite.scorers.metrics import METRICS

BUNDLED: dict[str, ImportRef] = {
    "string_match": ImportRef("evalsuite.scorers.string_match:string_match", "the answer holds the gold text"),
    "number_match": ImportRef("evalsuite.scorers.number_match:number_match", "the answer holds the gold number"),
    "table_match": ImportRef("evalsuite.scorers.table_match:table_match", "a CSV table holds the gold columns"),
    "tables_match": ImportRef("evalsuite.scorers.table_match:tables_match", "several CSV tables, each against its own gold"),
    "duckdb_match": ImportRef("evalsuite.scorers.duckdb_match:duckdb_match", "tables of a DuckDB database against a gold database"),
    "sql_match": ImportRef(
        "evalsuite.scorers.sql_match:sql_match", "a query gives what gold's query gives, as BIRD or Spider's test suite has it"
    ),
    # A metric is a scorer where its line says what is judged.
    **{name: line for name, line in METRICS.items() if line.summary},
    "qa_correctness": ImportRef("evalsuite.scorers.judge.scorers:qa_correctness", "a model says whether a context bears the answer out"),
    "summary_quality": ImportRef(
        "evalsuite.scorers.judge.scorers:summary_quality", "a model compares the summary with a reference summary"
    ),
    "hallucination": ImportRef("evalsuite.scorers.judge.scorers:hallucination", "a model says whether a context supports every claim"),
    "tree_match": ImportRef("evalsuite.scorers.tree_match:tree_match", "extracted JSON records against gold records, field by field"),
    "tree_score": ImportRef("evalsuite.scorers.tree_score:tree_score", "JSON records against gold records, by structure and metrics"),
}

SCORERS = Registry(BUNDLED, metric_scorer=ImportRef("evalsuite.scorers.metrics.scorer:metric_scorer"), group="evalsuite.scorers")


def worker_setup() -> dict[str, Any]:
    """What the set-up of a worker needs for it to have the scorers and metrics that plugins and suites brought here."""
    return {"prepare": "evalsuite.scorers:prepare_worker", "plugins": list(SCORERS.registered_plugins()), "metrics": dict(SCORERS.metrics)}


def prepare_worker(setup: Mapping[str, Any]) -> None:
    """Register in a worker the scorers and metrics of `worker_setup`."""
    SCORERS.register_all(setup["plugins"], setup["metrics"])
