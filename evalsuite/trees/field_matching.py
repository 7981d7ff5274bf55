"""Compare single values, and match two lists: in order, by key, or by best fit.

The best fit maximises the record's F1. F1 is 2 x scores / weight, so a pair of elements is worth what it adds at the rate F1 (2 x scores -
rate x weight) beyond the cost of both unmatched; the record is computed at a rate, and again at the resulting F1, until that no longer
rises (Dinkelbach's method; `Scoring.record`). Among equally good fits, the first one when both lists are sorted by content is taken, so
that the order of such a list has no effect.

Fits are computed without writing rows, as n x m matrices of scores and weights of fields; columns of values are compared at once, by arrays
if the comparator allows it. Lists inside the elements are compared all against all, followed by a small assignment for each pair.

Code that is not the reference's own is called by `call_plugin`: its failure is a `FaultError`, which leaves the record undecided.
"""

import copy
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from evalsuite.compare.bipartite_matching import best_assignment, block_sums
from evalsuite.core import plugin_calls
from evalsuite.core.errors import FaultError
from evalsuite.trees.all_pairs import Cells, Chosen, Floats, Grid, InnerLists, Names, matched_sums, np, pick
from evalsuite.trees.comparators import (
    TRANSFORMS,
    compat_exact,
    compat_numeric,
    exact,
    fold_text,
    nfc,
    numeric,
)
from evalsuite.trees.eval_schema import SchemaNode
from evalsuite.trees.field_results import ComparatorResult, FieldResult, RowStatus, Tally, tally
from evalsuite.trees.json_values import (
    ABSENT,
    ANY_OF,
    ByObject,
    TreeLimitError,
    are_identical,
    choices,
    exact_text,
    inspect,
    unordered_text,
)

if TYPE_CHECKING:
    from evalsuite.trees.record_scoring import Aligned, Attempt, Rows, Walk


LONGEST_REASON = 200
# What the built-in transforms raise at a value that they cannot take.
_CANNOT_TAKE = (TypeError, ValueError, ArithmeticError)


def apply_transforms(node: SchemaNode, value: Any) -> Any:
    """Return the value after the field's transforms, left to right. Exceptions of built-in ones are raised; others are a `FaultError`."""
    for name, function, params in node.steps:
        value = _transform(name, function, value, params)
    return value


def try_transformed(node: SchemaNode, value: Any) -> tuple[Any, str]:
    """Return (value after the transforms, "") or (the value itself, why a built-in transform could not take it). Raises `FaultError`."""
    result = value
    for name, function, params in node.steps:
        try:
            result = _transform(name, function, result, params)
        except _CANNOT_TAKE as error:
            return value, f"transform {name}: {error}"[:LONGEST_REASON]
    return result, ""


def _transform(name: str, function: Any, value: Any, params: Mapping[str, Any]) -> Any:
    if name in TRANSFORMS:
        return function(value, params)
    return plugin_calls.call_plugin(f"transform {name}", function, value, params)


def compare(node: SchemaNode, gold: Any, extracted: Any) -> ComparatorResult:
    """Return the comparator's result with its score in [0, 1]. Raises `FaultError` if a comparator of a plugin fails."""
    function = node.compare
    assert function is not None
    if node.is_own:
        result: ComparatorResult = function(gold, extracted, node.params)
        return result
    what = f"comparator {node.uses}"
    return check_result(what, plugin_calls.call_plugin(what, function, gold, extracted, node.params), node.uses)


def judge(node: SchemaNode, gold: Any, extracted: Any) -> ComparatorResult:
    """Return the result of `compare` after the field's threshold."""
    result, threshold = compare(node, gold, extracted), node.threshold
    if threshold is None or not 0 < result.score < 1:
        return result
    reason = f"score {result.score:.3g} {'reaches' if result.score >= threshold else 'is below'} the threshold {threshold:g}"
    return ComparatorResult(float(result.score >= threshold), node.uses, reason, result.skip)


def check_result(what: str, result: Any, name: str) -> ComparatorResult:
    """Return a comparator's result with a score in [0, 1]; plain numbers and bools are scores. Raises `FaultError` for all else."""
    if not isinstance(result, ComparatorResult):
        return ComparatorResult(plugin_calls.unit(what, result), name)
    return ComparatorResult(plugin_calls.unit(what, result.score), result.comparator, result.reason, result.skip)


LONE: tuple[RowStatus, RowStatus] = ("omission", "hallucination")
Keyed = tuple[list[tuple[int, int | None]], list[int], list[int]]


def how_aligned(node: SchemaNode) -> str:
    """Return `ordered`, `key_field`, `hungarian` (best fit), or `unique_key`: by a key that is unique in both lists, else by best fit."""
    align = node.align or {}
    if node.falls_back:
        return "unique_key"
    return "ordered" if align.get("ordered") is True else str(align.get("match_by") or "ordered")


class ContentOrder:
    """The order of a list's elements by their content, independent of their order and that of unordered lists inside them."""

    def __init__(self) -> None:
        self.known: ByObject[tuple[list[int], list[str]]] = ByObject()

    def sort(self, node: SchemaNode, values: list[Any]) -> tuple[list[int], list[str]]:
        """Return (positions of the elements in order of content, their texts in that order)."""

        def sort() -> tuple[list[int], list[str]]:
            texts = [self.text(node.item, value) for value in values]
            places = sorted(range(len(values)), key=texts.__getitem__)
            return places, [texts[place] for place in places]

        return self.known.get(node.path, (values,), sort)

    def text(self, node: SchemaNode, value: Any) -> str:
        """Return a text that two values share if they differ only in orders that this field ignores."""
        if not isinstance(value, dict | list) or not node.ignores_order:
            return exact_text(value)
        if not node.structural:
            return unordered_text(value)
        if isinstance(value, dict):
            by_key = {child.key: child for child in node.fields} if ANY_OF not in value else {}
            parts = [f"{exact_text(k)}:{self.text(by_key[k], v) if k in by_key else exact_text(v)}" for k, v in sorted(value.items())]
            return "{" + ",".join(parts) + "}"
        if not node.is_array:
            return exact_text(value)
        texts = [self.text(node.item, v) for v in value] if how_aligned(node) == "ordered" else self.sort(node, value)[1]
        return "[" + ",".join(texts) + "]"


def keyed_pairs(walk: "Walk", node: SchemaNode, gold: list[Any], extracted: list[Any]) -> Keyed:
    """Return ([(gold index, extracted index or None)], extracted elements with a key that gold lacks, those without a key of their own).

    The first of several elements with one key counts: in the reference by position, else by content.
    """
    places = [list(range(len(side))) if walk.compat else walk.order.sort(node, side)[0] for side in (gold, extracted)]
    first: dict[Any, int] = {}
    rest = []
    for j in places[1]:
        key = key_of(walk, node, extracted[j])
        if key is None or key in first:
            rest.append(j)
        else:
            first[key] = j
    claimed: set[Any] = set()
    pairs: list[tuple[int, int | None]] = []
    for i in places[0]:
        key = key_of(walk, node, next(choices(gold[i])) if walk.alternatives else gold[i])
        pairs.append((i, first.get(key) if key is not None and key not in claimed else None))
        claimed.add(key)
    left = [j for key, j in first.items() if key not in claimed]
    return sorted(pairs), sorted(left), sorted(rest)


def key_of(walk: "Walk", node: SchemaNode, element: Any) -> Any:
    """Return the element's key, None if it cannot serve as one; unless in compat mode after the key field's transforms."""
    name = (node.align or {})["key"]
    key = element.get(name) if isinstance(element, dict) else None
    field = next((child for child in node.item.children if child.key == name), None)
    if not walk.compat and field is not None and field.steps:
        try:
            key, _ = try_transformed(field, key)
        except FaultError as error:
            walk.faults.append(error.fault)
    if node.falls_back and field is not None and field.uses == "text" and isinstance(key, str):
        key = fold_text(key)
    return key if isinstance(key, str | int | float) and not isinstance(key, bool) and key == key else None


def has_unique_keys(walk: "Walk", node: SchemaNode, gold: list[Any], extracted: list[Any]) -> bool:
    """Return whether every element of both lists has a key that no other element of its list has."""
    keys = [key_of(walk, node, next(choices(element)) if walk.alternatives else element) for element in gold]
    others = [key_of(walk, node, element) for element in extracted]
    return all(None not in side and len(set(side)) == len(side) for side in (keys, others))


def lone_weights(walk: "Walk", items: SchemaNode, values: Sequence[Any], status: RowStatus) -> Floats:
    """Return the cost of each element without a partner."""
    counts = [tally(walk.one_sided(items, value, status, "", ())) for value in values]
    return np.array([count.omitted + count.invented for count in counts], dtype=np.float64)


_SCALARS = frozenset((str, int, float, bool, type(None)))
_LARGEST = 2**53


def score_matrix(node: SchemaNode, gold: Sequence[Any], extracted: Sequence[Any], *, compat: bool) -> Floats:
    """Return scores n x m in [0, 1] of a field that is a unit; NaN for a pair that the comparator skips.

    Raises `FaultError` if a comparator or transform of a plugin fails.
    """
    raw = gold, extracted
    failed_rows: list[int] = []
    failed_columns: list[int] = []
    if node.steps and compat:
        gold, extracted = [apply_transforms(node, value) for value in gold], [apply_transforms(node, value) for value in extracted]
    elif node.steps:
        gold, failed_rows = _try_all(node, gold)
        extracted, failed_columns = _try_all(node, extracted)
    scores = None
    if node.compare in (exact, compat_exact):
        scores = _exact(gold, extracted, compat)
    elif node.compare in (numeric, compat_numeric):
        scores = _numeric(node, gold, extracted)
    if scores is None:
        scores = _score_each(node, gold, extracted, compat)
    scores[failed_rows, :] = 0.0
    scores[:, failed_columns] = 0.0
    for i in failed_rows if node.accepts_itself else ():
        for j in failed_columns:
            scores[i, j] = float(are_identical(raw[0][i], raw[1][j]))
    return scores


def _try_all(node: SchemaNode, values: Sequence[Any]) -> tuple[list[Any], list[int]]:
    results = [try_transformed(node, value) for value in values]
    return [value for value, _ in results], [place for place, (_, problem) in enumerate(results) if problem]


def _exact(gold: Sequence[Any], extracted: Sequence[Any], compat: bool) -> Floats | None:
    """Return the equality of plain values by numbering the different ones; None if a list or object is among them."""
    kinds = {*map(type, gold), *map(type, extracted)}
    if not kinds <= _SCALARS:
        return None
    nans = [place for place, value in enumerate(gold) if value != value] if float in kinds else []
    if not compat:
        gold, extracted = [nfc(value) for value in gold], [nfc(value) for value in extracted]
    if len(kinds) > 1:
        gold, extracted = list(zip(map(type, gold), gold, strict=True)), list(zip(map(type, extracted), extracted, strict=True))
    places = {value: place for place, value in enumerate(gold)}
    gold_codes, codes = [places[value] for value in gold], [places.get(value, -1) for value in extracted]
    scores: Floats = np.array(gold_codes)[:, None] == np.array(codes)[None, :]
    if nans:
        scores[nans, :] = 0.0
    return scores


def _numeric(node: SchemaNode, gold: Sequence[Any], extracted: Sequence[Any]) -> Floats | None:
    """Return the tolerance rule on arrays; None if a value is not a plain number of at most 2**53 (a float represents it exactly)."""
    if not {*map(type, gold), *map(type, extracted)} <= {int, float}:
        return None
    if not all(-_LARGEST <= value <= _LARGEST for side in (gold, extracted) for value in (min(side), max(side))):
        return None
    if any(value != value for side in (gold, extracted) for value in side if type(value) is float):
        return None
    tolerance = node.params.get("tolerance") or {}
    if not isinstance(tolerance, dict):
        return None
    relative, absolute = tolerance.get("rel"), tolerance.get("abs")
    if any(bound is not None and not isinstance(bound, int | float) for bound in (relative, absolute)):
        return None
    g, e = np.array(gold, dtype=np.float64)[:, None], np.array(extracted, dtype=np.float64)[None, :]
    if relative is None and absolute is None:
        return np.asarray(g == e)
    with np.errstate(over="ignore"):
        distance = np.abs(g - e)
        near = np.ones(distance.shape, dtype=bool)
        if relative is not None:
            near &= distance / np.where(g == 0, 1.0, np.abs(g)) <= relative
    if absolute is not None:
        near &= distance <= absolute
    return near


def _score_each(node: SchemaNode, gold: Sequence[Any], extracted: Sequence[Any], compat: bool) -> Floats:
    """Return the score of every pair by the comparator itself; repeated plain values are compared once."""
    different, places = zip(*(_distinct(side) for side in (gold, extracted)), strict=True)
    scores = np.zeros((len(different[0]), len(different[1])))
    for i, value in enumerate(different[0]):
        for j, element in enumerate(different[1]):
            result = compare(node, value, element) if compat else judge(node, value, element)
            scores[i, j] = float("nan") if result.skip and not compat else result.score
    everywhere: Floats = scores[np.ix_(*places)]
    return everywhere


def _distinct(values: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return (the different values, the place of each value among them); lists and objects each count as different."""
    places: dict[Any, int] = {}
    different: list[Any] = []
    positions = []
    for number, value in enumerate(values):
        key = (type(value), value if type(value) in _SCALARS else number)
        place = places.setdefault(key, len(different))
        if place == len(different):
            different.append(value)
        positions.append(place)
    return different, positions


def compat_fits(walk: "Walk", items: SchemaNode, gold: list[Any], extracted: list[Any]) -> Floats:
    """Return the reference's n x m fits in [0, 1]: the F1 of every pair's rows, 1 if nothing counts."""
    grid = FieldGrid(walk, items, gold, extracted)
    scored, weight = (np.broadcast_to(grid.sums.get(name, 0.0), grid.shape) for name in (SCORED, WEIGHT))
    fits: Floats = np.divide(2 * scored, weight, out=np.ones(grid.shape), where=weight != 0)
    return fits


SCORED, WEIGHT = "scored", "weight"


class FieldGrid(Grid):
    """n gold x m extracted elements: the scores of each pair's fields, and their weight (a field on both sides counts twice).

    Raises `FaultError` if a comparator or transform of a plugin fails, `TreeLimitError` for more elements with alternatives, or more
    cells, than the limits allow.
    """

    def __init__(self, walk: "Walk", items: SchemaNode, gold: Sequence[Any], extracted: Sequence[Any]) -> None:
        super().__init__(len(gold), len(extracted))
        self.walk, self.items, self.extracted = walk, items, extracted
        self.choosing = [(i, value) for i, value in enumerate(gold) if walk.alternatives and inspect(value, walk.limits)]
        if len(self.choosing) * len(extracted) > walk.limits.max_row_pairs:
            sizes, limit = f"{len(self.choosing):,} x {len(extracted):,}", walk.limits.max_row_pairs
            raise TreeLimitError(f"{sizes} elements with alternatives to align, the limit is {limit:,} pairs", items.path)
        plain = sorted(set(range(len(gold))) - {i for i, _ in self.choosing})
        self.field(items, [gold[i] for i in plain], plain, extracted, range(len(extracted)))

    def totals(self) -> dict[Any, Cells]:
        """Return the sums; those of elements with alternatives by the rows of each pair, at the walk's rate."""
        sums = super().totals()
        if not self.choosing:
            return sums
        whole = Grid(*self.shape)
        whole.sums.update(sums)
        for i, value in self.choosing:
            counts = [self.count(self.items, value, element) for element in self.extracted]
            record_sums = {SCORED: np.array([[count.scored for count in counts]]), WEIGHT: np.array([[count.weight for count in counts]])}
            whole.add(record_sums, [i], range(len(counts)))
        return whole.sums

    def values(self) -> Floats:
        """Return what each pair is worth at the walk's rate, its inner lists aligned at their best."""
        sums = self.totals()
        worth = 2 * np.asarray(sums.get(SCORED, 0.0)) - self.walk.rate * np.asarray(sums.get(WEIGHT, 0.0))
        whole: Floats = np.broadcast_to(worth, self.shape)
        return whole

    def count(self, node: SchemaNode, gold: Any, extracted: Any) -> Tally:
        """Return the tally of one pair, by its rows."""
        return tally(self.walk.attempt(node, gold, extracted, node.path, ())[0])

    def present(self, node: SchemaNode, gold: Any, rows: Sequence[int], answered: Any, columns: Sequence[int]) -> Chosen | None:
        """Count omissions, inventions and containers of another kind, and return the places of the values to compare."""
        if node.skip and not (self.walk.compat and node.structural):
            return None
        left, right = ([i for i, value in enumerate(side) if value is not ABSENT] for side in (gold, answered))
        gaps = [[places[i] for i, value in enumerate(side) if value is ABSENT] for side, places in ((gold, rows), (answered, columns))]
        if gaps[1]:
            self.add({WEIGHT: lone_weights(self.walk, node, pick(gold, left), "omission")[:, None]}, pick(rows, left), gaps[1])
        if gaps[0]:
            lone = lone_weights(self.walk, node, pick(answered, right), "hallucination")
            self.add({WEIGHT: lone[None, :]}, gaps[0], pick(columns, right))
        if node.structural:
            left, right = self.containers(node, gold, left, rows, answered, right, columns)
        return (left, right) if left and right else None

    def containers(
        self, node: SchemaNode, gold: Any, left: list[int], rows: Sequence[int], answered: Any, right: list[int], columns: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """Count the pairs with a value of another kind one by one, and those of two empty containers; return the places of the others."""
        fits = node.expects if not self.walk.compat or node.expects is dict else ()
        find_best_pairs = [i for i in left if isinstance(gold[i], fits)], [j for j in right if isinstance(answered[j], fits)]
        odd = set(left).difference(find_best_pairs[0]), sorted(set(right).difference(find_best_pairs[1]))
        for i in left:
            for j in right if i in odd[0] else odd[1]:
                counts = self.count(node, gold[i], answered[j])
                self.add({SCORED: counts.scored, WEIGHT: counts.weight}, [rows[i]], [columns[j]])
        empty = [rows[i] for i in find_best_pairs[0] if not gold[i]], [columns[j] for j in find_best_pairs[1] if not answered[j]]
        self.add({SCORED: node.weight, WEIGHT: 2 * node.weight}, *empty)
        return find_best_pairs

    def leaf(self, node: SchemaNode, gold: Sequence[Any], rows: Sequence[int], answered: Sequence[Any], columns: Sequence[int]) -> None:
        """Count the scores of a field that is a unit."""
        scores = score_matrix(node, gold, answered, compat=self.walk.compat)
        weight: Cells = 2 * node.weight
        if node.trusted is None and (uncounted := np.isnan(scores)).any():
            scores, weight = np.where(uncounted, 0.0, scores), np.where(uncounted, 0.0, weight)
        self.add({SCORED: scores * node.weight if node.weight != 1 else scores, WEIGHT: weight}, rows, columns)

    def array(self, node: SchemaNode, gold: Sequence[Any], rows: Sequence[int], answered: Sequence[Any], columns: Sequence[int]) -> None:
        """Count lists by their alignment."""
        if how_aligned(node) == "ordered":
            self.in_order(node.item, gold, rows, answered, columns)
        else:
            self.lists.append((rows, columns, FieldLists(self.walk, node, gold, answered)))

    def objects(self, node: SchemaNode, gold: Sequence[Any], rows: Sequence[int], answered: Sequence[Any], columns: Sequence[int]) -> None:
        """Count keys that the schema does not know as invented, except those that gold has too."""
        in_gold: dict[str, list[int]] = {}
        for value, row in zip(gold, rows, strict=True):
            for key in value.keys() - node.by_key.keys():
                in_gold.setdefault(key, []).append(row)
        for value, column in zip(answered, columns, strict=True):
            keys = value.keys() - node.by_key.keys()
            unknown_keys = [key for key in keys if self.walk.unknown_status(node, key, {})[0] == "hallucination"]
            self.add({WEIGHT: float(len(unknown_keys))}, rows, [column])
            for key in unknown_keys if not self.walk.compat else ():
                self.add({WEIGHT: -1.0}, in_gold.get(key, ()), [column])

    def in_order(
        self, items: SchemaNode, gold: Sequence[Any], rows: Sequence[int], extracted: Sequence[Any], columns: Sequence[int]
    ) -> None:
        """Count lists with elements compared by position; the surplus of the longer side has no partner."""
        lengths = [np.array(list(map(len, side))) for side in (gold, extracted)]
        for k in range(int(min(lengths[0].max(), lengths[1].max()))):
            left, right = ([i for i, n in enumerate(side) if n > k] for side in lengths)
            shared = [gold[i][k] for i in left], [extracted[j][k] for j in right]
            self.field(items, shared[0], [rows[i] for i in left], shared[1], [columns[j] for j in right])
        for i, value in enumerate(gold):
            sums = np.array([0.0, *accumulate(lone_weights(self.walk, items, value, "omission"))])
            self.add({WEIGHT: (sums[-1] - sums[np.minimum(lengths[1], len(value))])[None, :]}, [rows[i]], columns)
        for j, value in enumerate(extracted):
            sums = np.array([0.0, *accumulate(lone_weights(self.walk, items, value, "hallucination"))])
            self.add({WEIGHT: (sums[-1] - sums[np.minimum(lengths[0], len(value))])[:, None]}, rows, [columns[j]])


class FieldLists(InnerLists):
    """Gold lists against extracted ones under one array of the schema that is aligned by key or by best fit.

    `places` are the positions of the elements of all lists, each list in order of content.
    """

    def __init__(self, walk: "Walk", node: SchemaNode, gold: Sequence[list[Any]], extracted: Sequence[list[Any]]) -> None:
        self.walk, self.node, self.items = walk, node, node.item
        ordered = [[walk.order.sort(node, values) for values in side] for side in (gold, extracted)]
        self.places = [[place for places, _ in side for place in places] for side in ordered]
        self.texts = [[text for _, texts in side for text in texts] for side in ordered]
        self.how = how_aligned(node)
        keyed = self.how in ("key_field", "unique_key")
        self.codes = [self._codes(lists, side) for lists, side in zip((gold, extracted), (1, 2), strict=True)] if keyed else []
        n_cells = len(self.places[0]) * len(self.places[1])
        if n_cells > walk.limits.max_cells:
            raise TreeLimitError(f"{n_cells:,} pairs of elements to align, the limit is {walk.limits.max_cells:,}", node.path)
        in_order = [
            [[values[place] for place in places] for values, (places, _) in zip(lists, side, strict=True)]
            for lists, side in zip((gold, extracted), ordered, strict=True)
        ]
        super().__init__(*in_order)
        weights = (lone_weights(walk, self.items, side, status) for side, status in zip(self.elements, LONE, strict=True))
        self.weights = list(weights)

    def cross(self, gold: Sequence[Any], answered: Sequence[Any]) -> FieldGrid:
        """Return the grid of some elements."""
        return FieldGrid(self.walk, self.items, gold, answered)

    def lone(self, side: int) -> Mapping[Any, Floats]:
        """Return the cost of each element without a partner."""
        return {WEIGHT: self.weights[side]}

    def sum_matches(self, sums: Names, layers: Floats, part: slice, lists: slice) -> Floats:
        """Return the sums of matched elements: those of one key, or those of the best fit at the walk's rate."""
        bounds = self.bounds(lists)
        if self.codes:
            same_key = self.codes[0][part, None] == self.codes[1][None, :]
            by_key = np.array([block_sums(layer * same_key, *bounds) for layer in layers])
        if self.how != "key_field":
            factors = {SCORED: 2.0, WEIGHT: -self.walk.rate}
            gains = sum(factors[name] * layer for name, layer in zip(sums, layers, strict=True))
            by_fit = matched_sums(layers, np.maximum(gains, 0.0), bounds)
        if self.how == "unique_key":
            return np.where(self.unique(0)[lists, None] & self.unique(1)[None, :], by_key, by_fit)
        return by_key if self.how == "key_field" else by_fit

    def _codes(self, lists: Sequence[list[Any]], side: int) -> Floats:
        """Return a number for each element's key, the same for equal keys; a negative number of its side if it has none or is not the
        first."""
        codes: list[int] = []
        for values in lists:
            first: set[Any] = set()
            for place in self.walk.order.sort(self.node, values)[0]:
                element = next(choices(values[place])) if self.walk.alternatives else values[place]
                key = key_of(self.walk, self.node, element)
                code = self.walk.key_codes.setdefault(key, len(self.walk.key_codes)) if key is not None and key not in first else -side
                first.add(key)
                codes.append(code)
        return np.array(codes)

    def unique(self, side: int) -> Any:
        """Return for each list whether every element has a key of its own."""
        return block_sums((self.codes[side] < 0).astype(np.float64)[None, :], np.array([0, 1]), self.ends[side])[0] == 0

    def gains(self) -> Floats:
        """Return the gain of every pair of elements over both without partner, at the walk's rate; one gold list against one extracted."""
        assert isinstance(self.whole, FieldGrid)
        gains: Floats = self.whole.values() + self.walk.rate * (self.weights[0][:, None] + self.weights[1][None, :])
        return gains

    def same_content(self) -> Any:
        """Return n x m flags: which elements have the same content."""
        codes: dict[str, int] = {}
        left, right = (np.array([codes.setdefault(text, len(codes)) for text in side]) for side in self.texts)
        return left[:, None] == right[None, :]


UPSTREAM_MAX_PAIRS = 2500
# As a share of the largest gain: what is less is rounding, and what two elements of the same content are worth beyond their fields.
NOISE, SAME_CONTENT = 1e-11, 1e-10
Pairs = list[tuple[int, int]]


def array_rows(walk: "Walk", node: SchemaNode, gold: list[Any], extracted: list[Any], path: str, aligned: "Aligned") -> "Rows":
    """Yield the rows of two lists by the alignment of the schema. Raises `TreeLimitError` for more pairs than the limit.

    Indexes in paths are gold's, and -1, -2, ... for extracted elements without a partner.
    """
    if not gold and not extracted:
        yield walk.row(node, gold, extracted, "match", path, aligned, whole=True)
        return
    items = node.item
    pairs, lone, attempts = _aligned_pairs(walk, node, gold, extracted, path, aligned)
    for i, j in pairs:
        item_path = f"{path}[{i}]"
        if j is None:
            yield from walk.one_sided(items, gold[i], "omission", item_path, (*aligned, None))
        elif not attempts:
            yield from walk.pair(items, gold[i], extracted[j], item_path, (*aligned, j))
        else:
            rows, missing = attempts[i * len(extracted) + j]
            walk.missing.extend(item_path + place[len(items.path) :] for place in missing)
            for row in map(copy.copy, rows):
                row.path = item_path + row.path[len(items.path) :]
                yield row
    for n, j in enumerate(lone, 1):
        yield from walk.one_sided(items, extracted[j], "hallucination", f"{path}[{-n}]", (*aligned, j))


def _aligned_pairs(
    walk: "Walk", node: SchemaNode, gold: list[Any], extracted: list[Any], path: str, aligned: "Aligned"
) -> "tuple[list[tuple[int, int | None]], list[int], list[Attempt]]":
    """Return (gold's elements with their partners, extracted elements without one, the judged rows of all pairs as in `_best_fit`)."""
    how = how_aligned(node)
    if how == "unique_key":
        how = "key_field" if has_unique_keys(walk, node, gold, extracted) else "hungarian"
    if how == "key_field":
        pairs, surplus, without_key = keyed_pairs(walk, node, gold, extracted)
        return pairs, [*surplus, *without_key], []
    matched: Pairs = [(i, i) for i in range(min(len(gold), len(extracted)))]
    attempts: list[Attempt] = []
    if how == "hungarian" and matched and not (walk.compat and len(gold) * len(extracted) > UPSTREAM_MAX_PAIRS):
        matched, attempts = _best_fit(walk, node, gold, extracted, path, aligned) or (matched, attempts)
    left, right = {i for i, _ in matched}, {j for _, j in matched}
    lone = [j for j in range(len(extracted)) if j not in right]
    return [*matched, *((i, None) for i in range(len(gold)) if i not in left)], lone, attempts


def _best_fit(
    walk: "Walk", node: SchemaNode, gold: list[Any], extracted: list[Any], path: str, aligned: "Aligned"
) -> "tuple[Pairs, list[Attempt]] | None":
    """Return the pairs of the best fit, and the judged rows of every pair, row-major, if a batch comparator judges fields of the elements.

    None if a plugin's comparator failed: the best fit is unknown, the rows are in order, and the record stays undecided.
    """
    walk.has_chosen = True
    n, m, limits, items = len(gold), len(extracted), walk.limits, node.item
    if n * m > limits.max_pairs:
        message = f"{n:,} x {m:,} elements to align, the limit is {limits.max_pairs:,} pairs"
        raise TreeLimitError(message, path, of_gold=n * n > limits.max_pairs)
    if walk.any_batch and items.has_batch():
        if n * m > limits.max_row_pairs:
            message = f"{n:,} x {m:,} elements to align through a judge, the limit is {limits.max_row_pairs:,} pairs"
            raise TreeLimitError(message, path, of_gold=n * n > limits.max_row_pairs)
        # Written and judged once per record, for all rates: lists inside these elements keep their first alignment.
        scored = walk.judged.get(aligned, (gold, extracted), lambda: _judge_rows(walk, items, gold, extracted, aligned))
        rows = [rows for rows, _ in scored]
        if walk.compat:
            return assign([[tally(rows[i * m + j]).f1 for j in range(m)] for i in range(n)]), scored
        return _best_judged(walk, node, gold, extracted, rows), scored
    try:
        if walk.compat:
            return assign(compat_fits(walk, items, gold, extracted)), []
        lists = walk.lists_of(node, gold, extracted)
        left, right = lists.places
        return sorted((left[i], right[j]) for i, j in find_best_pairs(lists.gains(), lists.same_content())), []
    except TreeLimitError:
        raise
    except FaultError as error:
        walk.faults.append(error.fault)
        return None


def _judge_rows(walk: "Walk", items: SchemaNode, gold: list[Any], extracted: list[Any], aligned: "Aligned") -> "list[Attempt]":
    scored = []
    for expected in gold:
        for j, element in enumerate(extracted):
            scored.append(walk.attempt(items, expected, element, items.path, (*aligned, j)))
            if walk.compat:
                walk.dispatch(scored[-1][0])
    if not walk.compat:
        # A comparator that judges each item alone (`independent = True`) is called once for all pairs, others pair by pair.
        pending = [row for rows, _ in scored for row in rows if row.status == "pending"]
        comparator_of = walk.dispatch.registry.comparator
        walk.dispatch([row for row in pending if getattr(comparator_of(row.comparator), "independent", False) is True])
        for rows, _ in scored:
            walk.dispatch(rows)
    return scored


def _best_judged(walk: "Walk", node: SchemaNode, gold: list[Any], extracted: list[Any], scored: "list[list[FieldResult]]") -> Pairs:
    """Return the pairs of the best fit by their rows. Fields without a verdict count as mismatches, so an outage gains nothing."""
    shape = (len(gold), len(extracted))
    places = [walk.order.sort(node, side)[0] for side in (gold, extracted)]
    lone = [lone_weights(walk, node.item, side, status) for side, status in zip((gold, extracted), LONE, strict=True)]
    gains, is_same = np.zeros(shape), np.zeros(shape, dtype=bool)
    for (i, j), rows in zip(np.ndindex(shape), scored, strict=True):
        unknown = sum(row.weight for row in rows if row.status in ("batch_error", "error"))
        gains[i, j] = walk.gain_of(tally(rows)) + walk.rate * (lone[0][i] + lone[1][j] - 2 * unknown)
        is_same[i, j] = bool(unknown) or are_identical(gold[i], extracted[j])
    cells = np.ix_(*places)
    return sorted((places[0][i], places[1][j]) for i, j in find_best_pairs(gains[cells], is_same[cells]))


def find_best_pairs(gains: Any, is_same: Any) -> Pairs:
    """Return the pairs of an assignment with the largest sum of gains, without gains of 0; of equal sums one with more of `is_same`."""
    scale = float(np.abs(gains).max()) or 1.0
    gains = np.maximum(gains, 0.0) + is_same * (SAME_CONTENT * scale)
    return [(i, j) for i, j in best_assignment(gains, ties="solver") if gains[i, j] > NOISE * scale]


def assign(fits: Any) -> Pairs:
    """Return the pairs (gold, extracted) of the reference's assignment: the largest sum of fits, those that fit at all, by gold index."""
    n, m = len(fits), len(fits[0])
    if n == 1 or m == 1:
        cells = [(float(fits[i][j]), i, j) for i in range(n) for j in range(m)]
        fit, i, j = max(cells, key=lambda cell: cell[0])
        return [(i, j)] if fit > 0 else []
    return [(i, j) for i, j in best_assignment(fits, ties="solver") if fits[i][j] > 0]
