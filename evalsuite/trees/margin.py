"""Distance of a tree to gold: the smallest tolerance of numbers under which every leaf would match."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter
from typing import Any, Final

from evalsuite.compare.bipartite_matching import bipartite_matching
from evalsuite.compare.numbers import as_margin, upward
from evalsuite.trees.json_values import choices, same

_INFINITE: Final = Decimal(inf)
# So many pairs of elements of lists without order are looked at.
_MOST_PAIRS: Final = 20_000


def tree_margin(
    prediction: Any,
    gold: Any,
    id_field: str | None = None,
    *,
    schema: Mapping[str, Any] | None = None,
    right: Iterable[tuple[Any, Any]] = (),
) -> float | None:
    """The tolerance, None where none is needed or none is enough: another key, length, type or text.

    Records with an id stand beside those of the same id, others beside what stands in their place. A list in them has the order that a
    JSON Schema says; without a `schema` it has none. `right` are the leaves that the rule itself holds equal, as (gold, predicted).
    """
    sides = _by_id(prediction, id_field), _by_id(gold, id_field)
    try:
        needed = _Distance(frozenset()).records(*sides, schema=schema)
        if needed == _INFINITE and (accepted := frozenset((repr(g), repr(p)) for g, p in right if not same(g, p))):
            needed = _Distance(accepted).records(*sides, schema=schema)
        return as_margin(upward(needed))
    except (ArithmeticError, AttributeError, RecursionError, ValueError):
        # NaN, lists too long to be paired, a schema in a form of its own.
        return None


def _by_id(value: Any, id_field: str | None) -> Any:
    if id_field is None or not (isinstance(value, list) and all(isinstance(item, dict) and id_field in item for item in value)):
        return value
    return sorted(value, key=lambda item: str(item[id_field]))


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _apart(gold: Any, prediction: Any) -> Decimal:
    """How far two numbers are apart as they are written, and as `numeric` compares them."""
    written = abs(Decimal(repr(gold)) - Decimal(repr(prediction)))
    if (isinstance(gold, float) and isinstance(prediction, float)) or max(abs(gold), abs(prediction)) <= 2**53:
        return max(written, Decimal(repr(abs(float(gold) - float(prediction)))))
    exact = abs(Fraction(gold) - Fraction(prediction))
    near = float(exact)
    return max(written, Decimal(repr(near if Fraction(near) >= exact else nextafter(near, inf))))


class _Distance:
    """The tolerance that makes values equal; infinite where none does: of texts that differ, unless they are `accepted` (as `repr`)."""

    def __init__(self, accepted: frozenset[tuple[str, str]]) -> None:
        self._accepted = accepted
        self._n_pairs = 0

    def records(self, prediction: Any, gold: Any, *, schema: Mapping[str, Any] | None) -> Decimal:
        """That of one record, or of n beside n."""
        are_many = isinstance(gold, list) and isinstance(prediction, list) and (schema is None or schema.get("type") != "array")
        if not are_many:
            return self.of(prediction, gold, schema)
        if len(gold) != len(prediction):
            return _INFINITE
        return self._largest((p, g, schema) for p, g in zip(prediction, gold, strict=True))

    def _largest(self, pairs: Iterable[tuple[Any, Any, Any]]) -> Decimal:
        needed = Decimal(0)
        for pair in pairs:
            needed = max(needed, self.of(*pair))
            if needed == _INFINITE:
                break
        return needed

    def of(self, prediction: Any, gold: Any, schema: Mapping[str, Any] | None) -> Decimal:
        """That of two values; of gold's alternatives the nearest counts."""
        return min(self._plain(prediction, choice, schema) for choice in (choices(gold) if schema is not None else [gold]))

    def _plain(self, prediction: Any, gold: Any, schema: Mapping[str, Any] | None) -> Decimal:
        if isinstance(gold, dict) and isinstance(prediction, dict) and gold.keys() == prediction.keys():
            fields = None if schema is None else schema.get("properties", {})
            return self._largest((prediction[name], gold[name], None if fields is None else fields.get(name, {})) for name in gold)
        if isinstance(gold, list) and isinstance(prediction, list):
            return self._lists(prediction, gold, schema)
        if _are_numbers(gold, prediction):
            return Decimal(0) if gold == prediction else _apart(gold, prediction)
        return Decimal(0) if same(gold, prediction) or (repr(gold), repr(prediction)) in self._accepted else _INFINITE

    def _lists(self, prediction: list[Any], gold: list[Any], schema: Mapping[str, Any] | None) -> Decimal:
        if len(gold) != len(prediction):
            return _INFINITE
        items = None if schema is None else schema.get("items", {})
        align = {"match_by": "hungarian"} if schema is None else schema.get("x-eval-align", {})
        if align.get("ordered") or not align.get("match_by"):
            return self._largest((p, g, items) for p, g in zip(prediction, gold, strict=True))
        self._n_pairs += len(gold) ** 2
        if self._n_pairs > _MOST_PAIRS:
            raise ValueError("more pairs than a margin is worth")
        needed = [[self.of(p, g, items) for p in prediction] for g in gold]
        tried = sorted({distance for row in needed for distance in row if distance < _INFINITE})

        def is_enough(tolerance: Decimal) -> bool:
            near = [[k for k, distance in enumerate(row) if distance <= tolerance] for row in needed]
            return None not in bipartite_matching(near)

        at = bisect_left(tried, True, key=is_enough)
        return tried[at] if at < len(tried) else _INFINITE if gold else Decimal(0)
