"""Trees: extracted JSON against gold JSON, leaf by leaf. Two engines: fields along a schema (`evaluate`), and Treeval.

Names are imported when they are asked for; a new public name is one line in `NAMES`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalsuite.trees.comparators import register, unregister
    from evalsuite.trees.eval_schema import (
        JsonRefError,
        SchemaError,
        SchemaNode,
        annotate_xeval,
        infer_schema,
        parse_eval_schema,
        reset_type_defaults,
        resolve_schema_references,
        set_type_default,
    )
    from evalsuite.trees.field_results import ComparatorResult, FieldAggregation, FieldResult, RecordResult, RunResult, Summary
    from evalsuite.trees.field_totals import NullHandling, chain, propagate_batch_errors, reclassify_nulls
    from evalsuite.trees.gold_validation import GoldValidationError, validate_gold
    from evalsuite.trees.json_values import TreeLimitError, TreeLimits
    from evalsuite.trees.record_scoring import BatchItem, CompoundComparator, evaluate, evaluate_stream, rows_of
    from evalsuite.trees.semantic_judges import FakeJudge, JudgeItem, PromptJudge, SemanticBatchComparator
    from evalsuite.trees.treeval import (
        JsonFiles,
        TreevalResult,
        aggregate_results_per_leaf_type,
        aggregate_results_per_metric,
        create_treeval_score_default_tree_metrics,
        json_schema_of,
        load_json_files,
        treeval_schema_of,
        treeval_score,
    )
    from evalsuite.trees.treeval_metrics import ExactMatch, Levenshtein, Metric, PairMetric
    from evalsuite.trees.treeval_schema import create_tree_metrics


__all__ = [
    "BatchItem",
    "ComparatorResult",
    "CompoundComparator",
    "ExactMatch",
    "FakeJudge",
    "FieldAggregation",
    "FieldResult",
    "GoldValidationError",
    "JsonFiles",
    "JsonRefError",
    "JudgeItem",
    "Levenshtein",
    "Metric",
    "NullHandling",
    "PairMetric",
    "PromptJudge",
    "RecordResult",
    "RunResult",
    "SchemaError",
    "SchemaNode",
    "SemanticBatchComparator",
    "Summary",
    "TreeLimitError",
    "TreeLimits",
    "TreevalResult",
    "aggregate_results_per_leaf_type",
    "aggregate_results_per_metric",
    "annotate_xeval",
    "chain",
    "create_tree_metrics",
    "create_treeval_score_default_tree_metrics",
    "evaluate",
    "evaluate_stream",
    "infer_schema",
    "json_schema_of",
    "load_json_files",
    "parse_eval_schema",
    "propagate_batch_errors",
    "reclassify_nulls",
    "register",
    "reset_type_defaults",
    "resolve_schema_references",
    "rows_of",
    "set_type_default",
    "treeval_schema_of",
    "treeval_score",
    "unregister",
    "validate_gold",
]

_BY_MODULE = {
    "batch_comparators": "BatchItem CompoundComparator",
    "eval_schema": "SchemaError SchemaNode parse_eval_schema",
    "field_results": "ComparatorResult FieldAggregation FieldResult RecordResult RunResult Summary",
    "field_totals": "NullHandling chain propagate_batch_errors reclassify_nulls",
    "gold_validation": "GoldValidationError validate_gold",
    "json_values": "TreeLimitError TreeLimits",
    "leaf_metrics": "ExactMatch Levenshtein",
    "registries": "register unregister",
    "resolve": "resolve_schema_references",
    "resolve_compat": "JsonRefError",
    "schema_conversion": "json_schema_of treeval_schema_of",
    "schema_sources": "annotate_xeval infer_schema reset_type_defaults set_type_default",
    "record_scoring": "evaluate evaluate_stream rows_of",
    "semantic_judges": "FakeJudge JudgeItem PromptJudge SemanticBatchComparator",
    "treeval": "TreevalResult treeval_score",
    "treeval_metrics": "Metric PairMetric",
    "treeval_schema": "create_tree_metrics",
    "treeval_tools": "JsonFiles aggregate_results_per_leaf_type aggregate_results_per_metric"
    " create_treeval_score_default_tree_metrics load_json_files",
}
NAMES = {name: module for module, names in _BY_MODULE.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return getattr(import_module(f"evalsuite.trees.{NAMES[name]}"), name)
    raise AttributeError(f"module 'evalsuite.trees' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
