"""Compare extracted JSON with gold JSON, leaf by leaf. Two engines: fields along a schema (`evaluate`), and Treeval.

Names are imported on first use; a new public name is one word in `_DEFINITIONS` and one in `__all__`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalsuite.trees.batch_comparators import BatchItem, CompoundComparator, FakeJudge, JudgeItem, PromptJudge, SemanticBatchComparator
    from evalsuite.trees.comparators import register, unregister
    from evalsuite.trees.eval_schema import (
        SchemaNode,
        annotate_xeval,
        parse_eval_schema,
        reset_type_defaults,
        set_type_default,
        treeval_schema_of,
    )
    from evalsuite.trees.field_results import (
        ComparatorResult,
        FieldAggregation,
        FieldResult,
        NullHandling,
        RecordResult,
        RunResult,
        Summary,
        chain,
        propagate_batch_errors,
        reclassify_nulls,
        rows_of,
    )
    from evalsuite.trees.gold_validation import validate_gold
    from evalsuite.trees.json_schema import (
        JsonRefError,
        SchemaError,
        infer_schema,
        json_schema_of,
        resolve_schema_references,
    )
    from evalsuite.trees.json_values import TreeLimitError, TreeLimits
    from evalsuite.trees.record_scoring import GoldValidationError, evaluate, evaluate_stream
    from evalsuite.trees.treeval import (
        JsonFiles,
        TreevalResult,
        aggregate_results_per_leaf_type,
        aggregate_results_per_metric,
        create_treeval_score_default_tree_metrics,
        load_json_files,
        treeval_score,
    )
    from evalsuite.trees.treeval_metrics import ExactMatch, Levenshtein, Metric, PairMetric, create_tree_metrics

__all__ = [
    "BatchItem", "ComparatorResult", "CompoundComparator", "ExactMatch", "FakeJudge", "FieldAggregation", "FieldResult",
    "GoldValidationError", "JsonFiles", "JsonRefError", "JudgeItem", "Levenshtein", "Metric", "NullHandling", "PairMetric", "PromptJudge",
    "RecordResult", "RunResult", "SchemaError", "SchemaNode", "SemanticBatchComparator", "Summary", "TreeLimitError", "TreeLimits",
    "TreevalResult", "aggregate_results_per_leaf_type", "aggregate_results_per_metric", "annotate_xeval", "chain", "create_tree_metrics",
    "create_treeval_score_default_tree_metrics", "evaluate", "evaluate_stream", "infer_schema", "json_schema_of", "load_json_files",
    "parse_eval_schema", "propagate_batch_errors", "reclassify_nulls", "register", "reset_type_defaults", "resolve_schema_references",
    "rows_of", "set_type_default", "treeval_schema_of", "treeval_score", "unregister", "validate_gold",
]  # fmt: skip

# Each module of this package with the public names that it defines.
_DEFINITIONS = {
    "batch_comparators": "BatchItem CompoundComparator FakeJudge JudgeItem PromptJudge SemanticBatchComparator",
    "comparators": "register unregister",
    "eval_schema": "SchemaNode annotate_xeval parse_eval_schema reset_type_defaults set_type_default treeval_schema_of",
    "field_results": (
        "ComparatorResult FieldAggregation FieldResult NullHandling RecordResult RunResult Summary chain propagate_batch_errors "
        "reclassify_nulls rows_of"
    ),
    "gold_validation": "validate_gold",
    "json_schema": "JsonRefError SchemaError infer_schema json_schema_of resolve_schema_references",
    "json_values": "TreeLimitError TreeLimits",
    "record_scoring": "GoldValidationError evaluate evaluate_stream",
    "treeval": (
        "JsonFiles TreevalResult aggregate_results_per_leaf_type aggregate_results_per_metric "
        "create_treeval_score_default_tree_metrics load_json_files treeval_score"
    ),
    "treeval_metrics": "ExactMatch Levenshtein Metric PairMetric create_tree_metrics",
}
NAMES = {name: module for module, names in _DEFINITIONS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return getattr(import_module(f"evalsuite.trees.{NAMES[name]}"), name)
    raise AttributeError(f"module 'evalsuite.trees' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *NAMES]
