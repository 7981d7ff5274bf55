"""The tools that Treeval's documentation names beside the score: files side by side, default metrics, a result by metric or by type."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalsuite.trees.treeval import TreevalResult
from evalsuite.trees.treeval_metrics import Metric, all_metrics
from evalsuite.trees.treeval_schema import DEFAULT_METRICS, create_tree_metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFiles:
    """The records of n files in step with their ids: `values[i]` is None where `failures` names `ids[i]` with the reason."""

    ids: list[str]
    values: list[Any]
    failures: dict[str, str] = field(default_factory=dict)


def create_treeval_score_default_tree_metrics(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Metric]]:
    """(the names of the default metrics in the schema's shape, the metrics by name).

    exact_match for integer, number and choice, boolean_accuracy for boolean, levenshtein for string. Raises ValueError for another type.
    """
    chosen = create_tree_metrics(schema, None, DEFAULT_METRICS)
    return chosen, {name: metric for name, metric in all_metrics(None).items() if any(name in names for names in DEFAULT_METRICS.values())}


def aggregate_results_per_metric(result: TreevalResult) -> dict[str, float | None]:
    """Each metric's mean over the leaves (by branch where the score was `hierarchical`), beside the seven numbers of the whole."""
    return dict(result.per_metric)


def aggregate_results_per_leaf_type(result: TreevalResult) -> dict[str, Any]:
    """Each leaf type's mean per metric, None for a type without a scored leaf, beside the seven numbers of the whole."""
    return dict(result.per_leaf_type)


def load_json_files(paths: Iterable[str | Path] | Mapping[str, str | Path], *, ids: Iterable[str] | None = None) -> JsonFiles:
    """The values of JSON files, none dropped: a file that is missing, no UTF-8 or no JSON counts as null and keeps its reason.

    With `ids`, the values stand in that order, an id without a file failed as well; so two folders of files stay in step:
    `load_json_files(predictions, ids=references.ids)`.

    Args:
        paths: files whose id is the name without its ending, or id -> file. A byte order mark is tolerated.
        ids: the ids wanted, in order; by default those of `paths`.

    Raises:
        ValueError: two files of the same id.
    """
    by_id: dict[str, Path] = {}
    named = paths.items() if isinstance(paths, Mapping) else ((Path(path).stem, path) for path in paths)
    for name, path in named:
        if name in by_id:
            raise ValueError(f"two files have the id {name!r}")
        by_id[name] = Path(path)
    wanted = list(by_id if ids is None else ids)
    values, failures = [], {}
    for name in wanted:
        value, reason = _read(by_id[name]) if name in by_id else (None, "no file")
        values.append(value)
        if reason:
            failures[name] = reason
    return JsonFiles(ids=wanted, values=values, failures=failures)


def _read(path: Path) -> tuple[Any, str]:
    """(value, "") or (None, why it cannot be had)."""
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig")), ""
    except OSError as error:
        return None, error.strerror or "cannot be read"
    except UnicodeDecodeError:
        return None, "not UTF-8"
    except RecursionError:
        return None, "nested too deep"
    except ValueError as error:
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        return None, f"not JSON{where}"
