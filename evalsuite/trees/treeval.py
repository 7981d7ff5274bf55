"""Treeval: how well predicted JSON records follow their references, as one score in [0, 1] and as a tree of metric results.

Also converts between Treeval's types ({"total": "number", "tags": ["string"]}) and JSON Schema, and offers the tools of Treeval's
documentation: side-by-side files, default metrics, results by metric or by type.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalsuite.core.errors import did_you_mean
from evalsuite.core.gc_tuning import without_collection
from evalsuite.trees.eval_schema import as_json_schema, effective_type, needs_resolving, resolve_schema_references
from evalsuite.trees.treeval_counts import (
    Counts,
    Row,
    flat_means,
    hierarchical_means,
    leaf_outcomes,
    per_leaf_type,
    reference_raises,
    results_tree,
    total_score,
    used_metrics,
)
from evalsuite.trees.treeval_metrics import Metric, all_metrics, text_metric
from evalsuite.trees.treeval_schema import (
    CHOICE,
    DEFAULT_METRICS,
    ROOT_KEYS,
    Branch,
    check_reference,
    check_schema,
    compile_schema,
    create_tree_metrics,
    is_array,
    is_choice,
    is_of_shape,
    names_of,
    type_of,
    with_defaults,
)
from evalsuite.trees.treeval_walk import Options, Pairs, Walk

MAX_CELLS = 40_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TreevalResult:
    """What a batch of n records is worth.

    `score` is the mean over metrics times `f1_node` times `f1_leaf`. `tree` has the schema's shape with {metric: result} at each leaf, None
    where no pair had a value on both sides. `per_metric` and `per_leaf_type` carry the seven numbers of the whole beside their means.
    `counts` pools all records; `rows` hold one line for each expected or predicted leaf. `reference_raises` says, under compat, why the
    reference has no number for this batch ("" where it has one).
    """

    score: float
    precision_node: float
    recall_node: float
    f1_node: float
    precision_leaf: float
    recall_leaf: float
    f1_leaf: float
    tree: dict[str, Any]
    per_metric: dict[str, float | None]
    per_leaf_type: dict[str, Any]
    counts: Counts
    rows: Sequence[Row]
    signature: str
    reference_raises: str

    @property
    def summary(self) -> dict[str, float]:
        """The seven numbers of the whole by the names that the reference gives them."""
        return {key: self.score if key == "treeval_score" else getattr(self, key) for key in ROOT_KEYS}

    @property
    def flagged(self) -> list[Row]:
        """The rows with a wrong container, a wrong type, an unknown key, a surplus or a missing item."""
        return [row for row in self.rows if row.flag]


def treeval_score(
    predictions: Sequence[Any],
    references: Sequence[Mapping[str, Any]],
    schema: Mapping[str, Any],
    *,
    metrics: Mapping[str, Any] | Sequence[Any] | None = None,
    types_metrics: Mapping[Any, Any] | None = None,
    leaves_metrics: Mapping[str, Any] | None = None,
    exclusive: bool = False,
    hierarchical: bool = False,
    compat: bool = False,
    invented: Sequence[Any] = (),
    max_cells: int = MAX_CELLS,
) -> TreevalResult:
    """The Treeval score of n predicted records against n references, and everything behind it.

    Any JSON value may be predicted: what does not fit the schema scores 0 and is flagged in the rows. The order of the batch, of keys and
    of list items never matters. `compat` gives the reference implementation's numbers instead (ties by position, a list or text in the
    place of an object counted as it does, no clipping to (0, 1)); where the reference raises, it gives the sound ones.

    Args:
        predictions: n predicted records.
        references: n expected records; every key may be null.
        schema: a Treeval schema.
        metrics: more metrics by name, or metric objects: a function (prediction, reference) -> number in [0, 1]; one of `get_metric`, or
            as gold writes it (`{"bertscore": {"model": "folder"}}`); one of a whole corpus, with `compute(predictions=, references=)`.
        types_metrics: leaf type -> metric names, over the defaults: exact_match for integer, number and choice ("()"), boolean_accuracy
            for boolean, levenshtein for string.
        leaves_metrics: metric names for single leaves, in the schema's shape; added to their type's.
        exclusive: whether an entry of `leaves_metrics` replaces the type's metrics.
        hierarchical: whether each branch counts as one value beside the leaves next to it.
        compat: whether to score as the reference implementation does.
        invented: predicted records that no reference stands against: each costs precision by its nodes.
        max_cells: the most cells (item pairs x leaves) of one pair of lists.

    Raises:
        ValueError: no records, sequences of unequal length, a schema or metrics that cannot be used, a reference of the wrong shape.
        TreeLimitError: two lists too long for `max_cells`.
        FaultError: a metric of your own failed.
    """
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions for {len(references)} references")
    if not references:
        raise ValueError("no records")
    branch, signature = prepare(schema, metrics, types_metrics, leaves_metrics, exclusive=exclusive, compat=compat)
    signature += f"|hierarchical:{str(hierarchical).lower()}|compat:{str(compat).lower()}"
    options = Options(compat=compat, max_cells=max_cells)
    with without_collection():
        return _score(branch, references, predictions, options, invented, hierarchical=hierarchical, signature=signature)


def _score(
    branch: Branch,
    references: Sequence[Any],
    predictions: Sequence[Any],
    options: Options,
    invented: Sequence[Any],
    *,
    hierarchical: bool,
    signature: str,
) -> TreevalResult:
    walk, compat = Walk(options), options.compat
    n = len(references)
    for i, reference in enumerate(references if None in references or not is_of_shape(branch, references) else ()):
        check_reference(branch, reference, f"reference {i}")
    raises = reference_raises(branch, references, predictions) if compat else ""
    outcome = walk.items(
        branch, Pairs(list(range(n)), [""] * n, [None] * n, [None] * n, list(references), list(predictions)), in_array=False
    )
    for number, record in enumerate(invented, n):
        walk.invented(number, "", record, None)
    counts, used = Counts(*walk.counts), used_metrics(branch)
    means = hierarchical_means(used, outcome) if hierarchical else flat_means(used, leaf_outcomes(outcome))
    score = total_score(means, used, counts, clip=not compat)
    rates = counts.rates()
    whole: dict[str, float | None] = {**rates, "treeval_score": score}
    kept = {key: value for key, value in whole.items() if value or not compat}
    if compat and all(mean is None for mean in means.values()):
        raises = raises or "nothing to score"
    tree = results_tree(outcome)
    assert isinstance(tree, dict)
    return TreevalResult(
        score=score,
        **rates,
        tree=tree,
        per_metric={**means, **kept, "treeval_score": score},
        per_leaf_type={**per_leaf_type(branch, outcome), **kept},
        counts=counts,
        rows=walk.rows,
        signature=signature,
        reference_raises=raises or walk.reference_raises,
    )


def prepare(
    schema: Mapping[str, Any],
    metrics: Mapping[str, Any] | Sequence[Any] | None = None,
    types_metrics: Mapping[Any, Any] | None = None,
    leaves_metrics: Mapping[str, Any] | None = None,
    *,
    exclusive: bool = False,
    compat: bool = False,
) -> tuple[Branch, str]:
    """The schema with its metrics, and what made them as a signature (`string=levenshtein|...`).

    Raises:
        ValueError: a schema or metrics that cannot be used, an unknown metric with the nearest known one.
    """
    check_schema(schema)
    known, by_type = all_metrics(metrics, compat=compat), with_defaults(types_metrics)
    for name, entry in by_type.items():
        for metric in names_of(entry, f"types_metrics[{name!r}]"):
            _known(metric, known, f"types_metrics[{name!r}]")
    chosen = create_tree_metrics(schema, leaves_metrics, by_type, exclusive)
    todo: list[Any] = [chosen]
    while todo:
        for entry in todo.pop().values():
            if isinstance(entry, dict):
                todo.append(entry)
            else:
                for metric in sorted(entry):
                    _known(metric, known, "leaves_metrics")
    listed = "|".join(f"{name}={'+'.join(names_of(entry, name))}" for name, entry in sorted(by_type.items()))
    listed += "".join(
        f"|{name}:{text}" for name, metric in known.items() if name in (metrics or ()) and (text := getattr(metric, "signature", ""))
    )
    return compile_schema(schema, chosen, known), listed


def _known(name: str, metrics: dict[str, Metric], where: str) -> None:
    """Make sure that a metric of that name is among `metrics`, taken from the text room where it is one of those."""
    if name in metrics:
        return
    from evalsuite import METRICS, get_metric

    if name not in METRICS:
        raise ValueError(f"{where}: unknown metric {name!r}; {did_you_mean(name, [*metrics, *METRICS])}")
    metrics[name] = text_metric(name, get_metric(name))


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


UNORDERED = {"match_by": "hungarian"}
_KEYWORDS = ("type", "anyOf", "oneOf", "allOf", "enum", "const")
_TYPES = ("string", "integer", "number", "boolean")


def is_json_schema(schema: Any) -> bool:
    """Whether this is a JSON Schema of an object (or a Pydantic model), and not a Treeval schema with a key called `type`."""
    if hasattr(schema, "model_json_schema"):
        return True
    if not isinstance(schema, Mapping):
        return False
    described = isinstance(schema.get("properties"), Mapping) and schema.get("type", "object") in ("object", ["object"], ["object", "null"])
    return described or isinstance(schema.get("$ref"), str) or "$schema" in schema


def is_treeval_schema(schema: Mapping[str, Any]) -> bool:
    """Whether every key names a type of its own, so that this can be no JSON Schema."""
    if not schema or is_json_schema(schema) or any(key in _KEYWORDS or key.startswith(("x-eval-", "$")) for key in schema):
        return False
    return all(isinstance(node, Mapping | list | tuple) or node in _TYPES for node in schema.values())


def treeval_schema_of(schema: Any, id_field: str | None = None) -> Any:
    """The Treeval schema of a JSON Schema or a Pydantic model, a Treeval schema as it is; `id_field` at the root left out.

    A list of values (`enum`) is a choice, several types are text, a list without items one of texts; an object without properties is text,
    as Treeval has no such leaf. Fields that are skipped (`x-eval-skip`) are left out.
    """
    if not is_json_schema(schema):
        return schema
    plain = as_json_schema(schema)
    if needs_resolving(plain):
        plain = resolve_schema_references(plain, notify=lambda _: None)
    found = _treeval_type(plain)
    if isinstance(found, dict):
        found.pop(id_field, None)
    return found


def _treeval_type(node: Mapping[str, Any]) -> Any:
    options = node.get("enum")
    if isinstance(options, list) and len(options) > 1 and not any(isinstance(option, dict | list) for option in options):
        return [str(option) for option in options if option is not None]
    kind = effective_type(node)[0]
    properties = node.get("properties")
    if kind == "object" and isinstance(properties, Mapping) and properties:
        return {
            name: _treeval_type(sub) for name, sub in properties.items() if isinstance(sub, Mapping) and sub.get("x-eval-skip") is not True
        }
    if kind == "array":
        items = node.get("items")
        found = _treeval_type(items) if isinstance(items, Mapping) else "string"
        return [CHOICE if is_choice(found) else found]
    return kind if kind in _TYPES else "string"


def json_schema_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a Treeval schema: lists in no order, a choice as an `enum`, a type of your own as text."""
    return {"type": "object", "properties": {name: _json_type(node) for name, node in schema.items()}}


def _json_type(node: Any) -> dict[str, Any]:
    if isinstance(node, Mapping):
        return json_schema_of(node)
    if is_array(node):
        return {"type": "array", "x-eval-align": dict(UNORDERED), "items": _json_type(node[0])}
    if is_choice(node):
        return {"type": "string", "enum": list(node)}
    name = type_of(node)
    return {"type": name if name in _TYPES else "string"}
