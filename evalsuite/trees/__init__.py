"""Trees: extracted JSON against gold JSON, leaf by leaf. Two engines: fields along a schema (`evaluate`), and Treeval.

Names are imported when they are asked for; a new public name is one line in `NAMES`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalsuite.trees.annotate import annotate_xeval, reset_type_defaults, set_type_default
    from evalsuite.trees.batch import BatchItem
    from evalsuite.trees.compound import CompoundComparator
    from evalsuite.trees.gold_check import GoldValidationError, validate_gold
    from evalsuite.trees.infer import infer_schema
    from evalsuite.trees.json_files import JsonFiles, load_json_files
    from evalsuite.trees.limits import TreeLimitError, TreeLimits
    from evalsuite.trees.post import NullHandling, chain, propagate_batch_errors, reclassify_nulls
    from evalsuite.trees.registries import register, unregister
    from evalsuite.trees.resolve import resolve_schema_references
    from evalsuite.trees.resolve_compat import JsonRefError
    from evalsuite.trees.results import ComparatorResult, FieldAggregation, FieldResult, RecordResult, RunResult, Summary
    from evalsuite.trees.schema import SchemaError, SchemaNode, parse_eval_schema
    from evalsuite.trees.scoring import evaluate, evaluate_stream, rows_of
    from evalsuite.trees.semantic import FakeJudge, JudgeItem, PromptJudge, SemanticBatchComparator
    from evalsuite.trees.treeval import TreevalResult, treeval_score
    from evalsuite.trees.treeval_metrics import Metric, PairMetric
    from evalsuite.trees.treeval_schema import create_tree_metrics

__all__ = [
    "BatchItem",
    "ComparatorResult",
    "CompoundComparator",
    "FakeJudge",
    "FieldAggregation",
    "FieldResult",
    "GoldValidationError",
    "JsonFiles",
    "JsonRefError",
    "JudgeItem",
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
    "annotate_xeval",
    "chain",
    "create_tree_metrics",
    "evaluate",
    "evaluate_stream",
    "infer_schema",
    "load_json_files",
    "parse_eval_schema",
    "propagate_batch_errors",
    "reclassify_nulls",
    "register",
    "reset_type_defaults",
    "resolve_schema_references",
    "rows_of",
    "set_type_default",
    "treeval_score",
    "unregister",
    "validate_gold",
]

_BY_MODULE = {
    "annotate": ("annotate_xeval", "reset_type_defaults", "set_type_default"),
    "batch": ("BatchItem",),
    "compound": ("CompoundComparator",),
    "scoring": ("evaluate", "evaluate_stream", "rows_of"),
    "gold_check": ("GoldValidationError", "validate_gold"),
    "infer": ("infer_schema",),
    "json_files": ("JsonFiles", "load_json_files"),
    "treeval": ("TreevalResult", "treeval_score"),
    "treeval_metrics": ("Metric", "PairMetric"),
    "treeval_schema": ("create_tree_metrics",),
    "limits": ("TreeLimitError", "TreeLimits"),
    "post": ("NullHandling", "chain", "propagate_batch_errors", "reclassify_nulls"),
    "registries": ("register", "unregister"),
    "resolve": ("resolve_schema_references",),
    "resolve_compat": ("JsonRefError",),
    "results": ("ComparatorResult", "FieldAggregation", "FieldResult", "RecordResult", "RunResult", "Summary"),
    "schema": ("SchemaError", "SchemaNode", "parse_eval_schema"),
    "semantic": ("FakeJudge", "JudgeItem", "PromptJudge", "SemanticBatchComparator"),
}
NAMES = {name: module for module, names in _BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return getattr(import_module(f"evalsuite.trees.{NAMES[name]}"), name)
    raise AttributeError(f"module 'evalsuite.trees' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
