"""The names a gold file may use in `func`. A new scorer is one file in this folder and one line in this table; a text metric is a scorer
by its line in `METRICS`.
"""

from evalsuite.lazy import Lazy
from evalsuite.metrics import METRICS
from evalsuite.registry import Registry

BUNDLED: dict[str, Lazy] = {
    "string_match": Lazy("evalsuite.scorers.string_match:string_match", "the answer holds the gold text"),
    "number_match": Lazy("evalsuite.scorers.number_match:number_match", "the answer holds the gold number"),
    "table_match": Lazy("evalsuite.scorers.table_match:table_match", "a CSV table holds the gold columns"),
    "tables_match": Lazy("evalsuite.scorers.table_match:tables_match", "several CSV tables, each against its own gold"),
    "duckdb_match": Lazy("evalsuite.scorers.duckdb_match:duckdb_match", "tables of a DuckDB database against a gold database"),
    "sql_match": Lazy(
        "evalsuite.scorers.sql_match:sql_match", "a query gives what gold's query gives, as BIRD or Spider's test suite has it"
    ),
    # A metric is a scorer where its line says what is judged.
    **{name: line for name, line in METRICS.items() if line.summary},
    "qa_correctness": Lazy("evalsuite.judge.judge_scorers:qa_correctness", "a model says whether a context bears the answer out"),
    "summary_quality": Lazy("evalsuite.judge.judge_scorers:summary_quality", "a model compares the summary with a reference summary"),
    "hallucination": Lazy("evalsuite.judge.judge_scorers:hallucination", "a model says whether a context supports every claim"),
    "tree_match": Lazy("evalsuite.scorers.tree_match:tree_match", "extracted JSON records against gold records, field by field"),
    "tree_score": Lazy("evalsuite.scorers.tree_score:tree_score", "JSON records against gold records, by structure and metrics"),
}

SCORERS = Registry(BUNDLED, metric_scorer=Lazy("evalsuite.metrics.scorer:metric_scorer"), group="evalsuite.scorers")
