"""Compare extracted JSON with gold JSON, leaf by leaf. Two engines: fields along a schema (`evaluate`), and Treeval.

Names are imported on first use; a new public name is one entry in `NAMES`.
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

# Each public name and the module of this package that defines it.
NAMES = {
    "BatchItem": "record_scoring",
    "ComparatorResult": "field_results",
    "CompoundComparator": "record_scoring",
    "ExactMatch": "treeval_metrics",
    "FakeJudge": "semantic_judges",
    "FieldAggregation": "field_results",
    "FieldResult": "field_results",
    "GoldValidationError": "gold_validation",
    "JsonFiles": "treeval",
    "JsonRefError": "eval_schema",
    "JudgeItem": "semantic_judges",
    "Levenshtein": "treeval_metrics",
    "Metric": "treeval_metrics",
    "NullHandling": "field_totals",
    "PairMetric": "treeval_metrics",
    "PromptJudge": "semantic_judges",
    "RecordResult": "field_results",
    "RunResult": "field_results",
    "SchemaError": "eval_schema",
    "SchemaNode": "eval_schema",
    "SemanticBatchComparator": "semantic_judges",
    "Summary": "field_results",
    "TreeLimitError": "json_values",
    "TreeLimits": "json_values",
    "TreevalResult": "treeval",
    "aggregate_results_per_leaf_type": "treeval",
    "aggregate_results_per_metric": "treeval",
    "annotate_xeval": "eval_schema",
    "chain": "field_totals",
    "create_tree_metrics": "treeval_schema",
    "create_treeval_score_default_tree_metrics": "treeval",
    "evaluate": "record_scoring",
    "evaluate_stream": "record_scoring",
    "infer_schema": "eval_schema",
    "json_schema_of": "treeval",
    "load_json_files": "treeval",
    "parse_eval_schema": "eval_schema",
    "propagate_batch_errors": "field_totals",
    "reclassify_nulls": "field_totals",
    "register": "comparators",
    "reset_type_defaults": "eval_schema",
    "resolve_schema_references": "eval_schema",
    "rows_of": "record_scoring",
    "set_type_default": "eval_schema",
    "treeval_schema_of": "treeval",
    "treeval_score": "treeval",
    "unregister": "comparators",
    "validate_gold": "gold_validation",
}


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return getattr(import_module(f"evalsuite.trees.{NAMES[name]}"), name)
    raise AttributeError(f"module 'evalsuite.trees' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
