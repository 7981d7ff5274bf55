"""A schema prepared for scoring (functions looked up, children by name), and the comparison of one pair of values.

Code that is not the reference's own is called by `call_plugin`: its failure is a `FaultError`, which leaves the record undecided.
"""

from collections.abc import Callable, Mapping
from typing import Any

from evalsuite.core import plugin_calls
from evalsuite.trees.comparators import BUILTIN, PROTECTED, SHIPPED, TRANSFORMS, Registry
from evalsuite.trees.eval_schema import SchemaNode
from evalsuite.trees.field_results import ComparatorResult

Transforms = tuple[tuple[str, Callable[[Any, Mapping[str, Any]], Any], dict[str, Any]], ...]


class Plan:
    """One field, compiled. `structural` fields are walked into, all others are units that one comparator judges.

    `is_own` comparators are the reference's three; a `trusted` one of these neither fails, skips nor leaves [0, 1], and takes the values as
    they are. `key` is the name under which
    the value stands in its object; in compat mode what follows the last dot of the path.
    """

    __slots__ = (
        "_children", "_registry", "_unordered", "accepts_itself", "any_batch", "batch", "by_key", "compare", "expects", "field",
        "is_array", "is_own", "key", "name", "node", "optional", "params", "path", "required", "skip",
        "structural", "suffix", "threshold", "transforms", "trusted", "weight",
    )  # fmt: skip

    def __init__(self, node: SchemaNode, registry: Registry, any_batch: bool, parent_path: str = "") -> None:
        self.node = node
        self.path = node.path
        self.field = node.name
        self.suffix = node.path[len(parent_path) :]
        self.key = node.path.rsplit(".", 1)[-1] if registry.compat else node.name
        self.name, self.params = node.comparator
        self.skip = node.skip
        self.weight, self.threshold = node.weight, node.threshold
        self.required, self.optional = node.required, node.optional
        self.any_batch = any_batch
        self.compare: Callable[..., Any] | None = None
        self.batch = False
        if self.name and not node.skip:
            self.compare = registry.comparator(self.name)
            self.batch = registry.is_batch(self.name)
        self.is_own = self.name in PROTECTED
        self.transforms: Transforms = tuple((name, registry.transform(name), params) for name, params in node.transforms)
        trusted = self.compare is BUILTIN.get(self.name) and node.threshold is None and not self.transforms
        self.trusted = self.compare if trusted else None
        # Whatever is identical to gold is right there: only somebody's own comparator or transform may say otherwise.
        shipped = self.compare is not None and self.compare in (BUILTIN.get(self.name), SHIPPED.get(self.name))
        self.accepts_itself = shipped and all(name in TRANSFORMS for name, _, _ in self.transforms)
        self.structural = node.has_children and not self.name
        self._registry = registry
        self._children: tuple[Plan, ...] | None = None
        self.by_key: dict[str, Plan] = {}
        self._unordered: bool | None = None
        self.is_array = node.json_type == "array"
        self.expects: type = list if self.is_array or (registry.compat and node.json_type != "object") else dict

    @property
    def children(self) -> "tuple[Plan, ...]":
        """The children, made on first use: a recursive schema has no end of them."""
        if self._children is None:
            nodes = self.node.expand() if self.node.expand else self.node.children
            self._children = tuple(Plan(child, self._registry, self.any_batch, self.path) for child in nodes)
            self.by_key = {child.key: child for child in self._children}
        return self._children

    @property
    def unordered(self) -> bool:
        """Whether this field, or one below it, heeds no order of a list; a recursive schema answers yes."""
        if self._unordered is None:
            align = self.node.align or {}
            here = (self.structural and align.get("ordered") is not True and bool(align.get("match_by"))) or self.name == "set"
            self._unordered = here or self.node.expand is not None or any(child.unordered for child in self.children)
        return self._unordered

    def has_batch(self) -> bool:
        """Whether a batch comparator judges anything at or below this field; a recursive schema answers for the whole."""
        if not self.any_batch:
            return False
        waiting = [self]
        while waiting:
            plan = waiting.pop()
            if plan.batch or plan.node.expand is not None:
                return True
            waiting.extend(plan.children)
        return False


def compile_plan(root: SchemaNode, registry: Registry) -> Plan:
    """The plan of a parsed schema."""
    return Plan(root, registry, _any_batch(root, registry))


def _any_batch(root: SchemaNode, registry: Registry) -> bool:
    waiting, expanded = [root], 0
    while waiting:
        node = waiting.pop()
        if node.comparator[0] and not node.skip and registry.is_batch(node.comparator[0]):
            return True
        waiting.extend(node.children)
        if node.expand is not None and expanded < 50:
            expanded += 1
            waiting.extend(node.expand())
    return False


LONGEST_REASON = 200
# What the built-in transforms raise at a value that they cannot take.
_CANNOT_TAKE = (TypeError, ValueError, ArithmeticError)


def transformed(plan: Plan, value: Any) -> Any:
    """The value after the field's transforms, left to right. What a built-in one raises comes through; of another it is a `FaultError`."""
    for name, function, params in plan.transforms:
        value = _transform(name, function, value, params)
    return value


def try_transformed(plan: Plan, value: Any) -> tuple[Any, str]:
    """(value after the transforms, "") or (the value itself, why a built-in transform could not take it). Raises `FaultError`."""
    found = value
    for name, function, params in plan.transforms:
        try:
            found = _transform(name, function, found, params)
        except _CANNOT_TAKE as error:
            return value, f"transform {name}: {error}"[:LONGEST_REASON]
    return found, ""


def _transform(name: str, function: Any, value: Any, params: Mapping[str, Any]) -> Any:
    if name in TRANSFORMS:
        return function(value, params)
    return plugin_calls.call_plugin(f"transform {name}", function, value, params)


def compare(plan: Plan, gold: Any, extracted: Any) -> ComparatorResult:
    """The comparator's answer with its score in [0, 1]. Raises `FaultError` where one that is not the reference's own fails."""
    function = plan.compare
    assert function is not None
    if plan.is_own:
        result: ComparatorResult = function(gold, extracted, plan.params)
        return result
    what = f"comparator {plan.name}"
    return checked(what, plugin_calls.call_plugin(what, function, gold, extracted, plan.params), plan.name)


def judge(plan: Plan, gold: Any, extracted: Any) -> ComparatorResult:
    """The same with the field's threshold applied."""
    result, threshold = compare(plan, gold, extracted), plan.threshold
    if threshold is None or not 0 < result.score < 1:
        return result
    reason = f"score {result.score:.3g} {'reaches' if result.score >= threshold else 'is below'} the threshold {threshold:g}"
    return ComparatorResult(float(result.score >= threshold), plan.name, reason, result.skip)


def checked(what: str, result: Any, name: str) -> ComparatorResult:
    """A comparator's answer as a result in [0, 1]; plain numbers and bools are scores. Raises `FaultError` for all else."""
    if not isinstance(result, ComparatorResult):
        return ComparatorResult(plugin_calls.unit(what, result), name)
    return ComparatorResult(plugin_calls.unit(what, result.score), result.comparator, result.reason, result.skip)
