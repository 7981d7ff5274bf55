"""How well each gold element fits each extracted one, without writing rows: whole columns of values are compared at once.

The result is what the rows of every pair would add to a record: scores, and the weight of their fields, as n x m matrices. Lists inside
the elements are crossed as one: all their elements against all, then a small assignment for every pair of lists.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from evalsuite.trees.block_assignments import best_sums, block_sums
from evalsuite.trees.field_columns import score_matrix
from evalsuite.trees.field_order import how_aligned, key_of, lone_weights
from evalsuite.trees.field_plan import Plan
from evalsuite.trees.field_totals import Tally, tally
from evalsuite.trees.json_values import ANY_OF, TreeLimitError, choices

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evalsuite.trees.field_rows import Walk

    Floats = NDArray[np.float64]

CELLS_AT_ONCE = 2_000_000


def compat_fits(walk: "Walk", items: Plan, gold: list[Any], extracted: list[Any]) -> "Floats":
    """The reference's n x m fits in [0, 1]: the F1 of every pair's rows, 1 where nothing counts."""
    import numpy as np

    cross = Cross(walk, items, gold, extracted)
    return np.divide(2 * cross.scored, cross.weight, out=np.ones(cross.scored.shape), where=cross.weight != 0)


class Cross:
    """n gold x m extracted elements: the scores of each pair's fields, and their weight (a field on both sides counts twice).

    Raises:
        FaultError: somebody's comparator or transform failed.
        TreeLimitError: more elements with alternatives, or more cells, than the limits allow.
    """

    def __init__(self, walk: "Walk", items: Plan, gold: Sequence[Any], extracted: Sequence[Any]) -> None:
        import numpy as np

        self.walk, self.items, self.extracted = walk, items, extracted
        self.shape = len(gold), len(extracted)
        self.scored, self.weight = np.zeros(self.shape), np.zeros(self.shape)
        self.lists: list[tuple[Sequence[int], Sequence[int], Lists]] = []
        self.choosing = [(i, value) for i, value in enumerate(gold) if walk.alternatives and _holds_alternatives(value)]
        if len(self.choosing) * len(extracted) > walk.limits.max_row_pairs:
            sizes, limit = f"{len(self.choosing):,} x {len(extracted):,}", walk.limits.max_row_pairs
            raise TreeLimitError(f"{sizes} elements with alternatives to align, the limit is {limit:,} pairs", items.path)
        plain = sorted(set(range(len(gold))) - {i for i, _ in self.choosing})
        self.both(items, [gold[i] for i in plain], plain, extracted, range(len(extracted)))

    def values(self) -> "Floats":
        """What each pair is worth at the walk's rate, its inner lists aligned at their best."""
        import numpy as np

        worth: Floats = 2 * self.scored - self.walk.rate * self.weight
        for rows, columns, lists in self.lists:
            worth[np.ix_(rows, columns)] += lists.values()
        for i, value in self.choosing:
            worth[i] = [self.walk.gain_of(self.count(self.items, value, element)) for element in self.extracted]
        return worth

    def count(self, plan: Plan, gold: Any, extracted: Any) -> Tally:
        """The tally of one pair, by its rows."""
        rows: list[Any] = []
        before = self.walk.missing
        self.walk.missing = []
        self.walk.pair(plan, gold, extracted, plan.path, (), rows)
        self.walk.missing = before
        return tally(rows)

    def add(self, rows: Sequence[int], columns: Sequence[int], scored: Any, weight: Any) -> None:
        """Add numbers or matrices to the cells rows x columns."""
        import numpy as np

        if not len(rows) or not len(columns):
            return
        where = np.s_[:, :] if (len(rows), len(columns)) == self.shape else np.ix_(rows, columns)
        if scored is not None:
            self.scored[where] += scored
        self.weight[where] += weight

    def both(self, plan: Plan, gold: Sequence[Any], rows: Sequence[int], extracted: Sequence[Any], columns: Sequence[int]) -> None:
        """Count a field that all of these elements have; `rows` and `columns` are their places in the matrix."""
        import numpy as np

        if not gold or not extracted or (plan.skip and not (self.walk.compat and plan.structural)):
            return
        if not plan.structural:
            scores = score_matrix(plan, gold, extracted, compat=self.walk.compat)
            uncounted = np.isnan(scores) if not plan.trusted else None
            if uncounted is not None and uncounted.any():
                self.add(rows, columns, np.where(uncounted, 0.0, scores * plan.weight), np.where(uncounted, 0.0, 2 * plan.weight))
            else:
                self.add(rows, columns, scores * plan.weight if plan.weight != 1 else scores, 2 * plan.weight)
            return
        if self.walk.compat and plan.expects is not dict:
            self.one_by_one(plan, gold, rows, extracted, columns)
            return
        left, left_rows, others, other_rows = _split(gold, rows, plan.expects)
        right, right_columns, strangers, strange_columns = _split(extracted, columns, plan.expects)
        self.one_by_one(plan, others, other_rows, extracted, columns)
        self.one_by_one(plan, left, left_rows, strangers, strange_columns)
        if not left or not right:
            return
        empty_rows = [row for value, row in zip(left, left_rows, strict=True) if not value]
        empty_columns = [column for value, column in zip(right, right_columns, strict=True) if not value]
        self.add(empty_rows, empty_columns, plan.weight, 2 * plan.weight)
        if not plan.is_array:
            for child in plan.children:
                if not child.skip:
                    self.child(child, left, left_rows, right, right_columns)
            self.unknown(plan, left, left_rows, right, right_columns)
        elif how_aligned(plan) == "ordered":
            self.in_order(plan.children[0], left, left_rows, right, right_columns)
        else:
            self.lists.append((left_rows, right_columns, Lists(self.walk, plan, left, right)))

    def one_by_one(self, plan: Plan, gold: Sequence[Any], rows: Sequence[int], extracted: Sequence[Any], columns: Sequence[int]) -> None:
        for value, row in zip(gold, rows, strict=True):
            for element, column in zip(extracted, columns, strict=True):
                counts = self.count(plan, value, element)
                self.scored[row, column] += counts.scored
                self.weight[row, column] += counts.weight

    def child(self, child: Plan, gold: list[Any], rows: list[int], extracted: list[Any], columns: list[int]) -> None:
        """A field of objects; where only one side has it, an omission or invention."""
        sides, lacking = [], []
        for values, places in ((gold, rows), (extracted, columns)):
            having = [(value[child.key], place) for value, place in zip(values, places, strict=True) if child.key in value]
            sides.append(([value for value, _ in having], [place for _, place in having]))
            lacking.append([place for value, place in zip(values, places, strict=True) if child.key not in value])
        self.both(child, *sides[0], *sides[1])
        if lacking[1]:
            self.add(sides[0][1], lacking[1], None, lone_weights(self.walk, child, sides[0][0], "omission")[:, None])
        if lacking[0]:
            self.add(lacking[0], sides[1][1], None, lone_weights(self.walk, child, sides[1][0], "hallucination")[None, :])

    def unknown(self, plan: Plan, gold: list[Any], rows: list[int], extracted: list[Any], columns: list[int]) -> None:
        """Keys that the schema does not know: invented, but where gold has them too."""
        in_gold: dict[str, list[int]] = {}
        for value, row in zip(gold, rows, strict=True):
            for key in value.keys() - plan.by_key.keys():
                in_gold.setdefault(key, []).append(row)
        for value, column in zip(extracted, columns, strict=True):
            keys = value.keys() - plan.by_key.keys() if not value.keys() <= plan.by_key.keys() else ()
            counted = [key for key in keys if self.walk.unknown_status(plan, key, {})[0] == "hallucination"]
            if counted:
                self.add(rows, [column], None, float(len(counted)))
                for key in counted if not self.walk.compat else ():
                    self.add(in_gold.get(key, ()), [column], None, -1.0)

    def in_order(self, items: Plan, gold: list[Any], rows: list[int], extracted: list[Any], columns: list[int]) -> None:
        """Lists whose elements stand against each other by position; what is longer on one side stands alone."""
        import numpy as np

        lengths = [np.array(list(map(len, side))) for side in (gold, extracted)]
        for k in range(int(min(lengths[0].max(), lengths[1].max()))):
            left, right = ([i for i, n in enumerate(side) if n > k] for side in lengths)
            shared = [gold[i][k] for i in left], [extracted[j][k] for j in right]
            self.both(items, shared[0], [rows[i] for i in left], shared[1], [columns[j] for j in right])
        for i, value in enumerate(gold):
            sums = np.array([0.0, *accumulate(lone_weights(self.walk, items, value, "omission"))])
            self.add([rows[i]], columns, None, sums[-1] - sums[np.minimum(lengths[1], len(value))])
        for j, value in enumerate(extracted):
            sums = np.array([0.0, *accumulate(lone_weights(self.walk, items, value, "hallucination"))])
            self.add(rows, [columns[j]], None, (sums[-1] - sums[np.minimum(lengths[0], len(value))])[:, None])


class Lists:
    """n gold lists against m extracted ones under one array of the schema that is aligned by key or by best fit.

    `places` are the positions of the elements of all lists, each list in order of content.
    """

    def __init__(self, walk: "Walk", plan: Plan, gold: list[list[Any]], extracted: list[list[Any]]) -> None:
        import numpy as np

        self.walk, self.plan, self.items = walk, plan, plan.children[0]
        ordered = [[walk.order.of(plan, values) for values in side] for side in (gold, extracted)]
        self.places = [[place for places, _ in side for place in places] for side in ordered]
        self.texts = [[text for _, texts in side for text in texts] for side in ordered]
        self.elements = [
            [values[place] for values, (places, _) in zip(lists, side, strict=True) for place in places]
            for lists, side in zip((gold, extracted), ordered, strict=True)
        ]
        self.ends = [np.array([0, *accumulate(map(len, side))]) for side in (gold, extracted)]
        n_cells = len(self.elements[0]) * len(self.elements[1])
        if n_cells > walk.limits.max_cells:
            raise TreeLimitError(f"{n_cells:,} pairs of elements to align, the limit is {walk.limits.max_cells:,}", plan.path)
        self.lone = [
            lone_weights(walk, self.items, self.elements[0], "omission"),
            lone_weights(walk, self.items, self.elements[1], "hallucination"),
        ]
        self.keyed = how_aligned(plan) == "key_field"
        self.codes = [self._codes(lists, side) for lists, side in zip((gold, extracted), (1, 2), strict=True)] if self.keyed else []
        self.whole = Cross(walk, self.items, *self.elements) if n_cells <= CELLS_AT_ONCE or len(gold) == 1 else None

    def _codes(self, lists: list[list[Any]], side: int) -> "Floats":
        """A number for each element's key, the same for equal keys; its own negative number where it has none or is not the first."""
        import numpy as np

        codes: list[int] = []
        for values in lists:
            first: set[Any] = set()
            for place in self.walk.order.of(self.plan, values)[0]:
                element = next(choices(values[place])) if self.walk.alternatives else values[place]
                key = key_of(self.walk, self.plan, element)
                known = self.walk.key_codes.setdefault(key, len(self.walk.key_codes)) if key is not None and key not in first else -side
                first.add(key)
                codes.append(known)
        return np.array(codes)

    def gains(self) -> "Floats":
        """What every pair of elements is worth beyond both standing alone, at the walk's rate; one gold list against one extracted."""
        assert self.whole is not None
        gains: Floats = self.whole.values() + self.walk.rate * (self.lone[0][:, None] + self.lone[1][None, :])
        return gains

    def same_content(self) -> Any:
        """n x m flags: which elements have the same content."""
        import numpy as np

        codes: dict[str, int] = {}
        left, right = (np.array([codes.setdefault(text, len(codes)) for text in side]) for side in self.texts)
        return left[:, None] == right[None, :]

    def values(self) -> "Floats":
        """What each pair of lists is worth at the walk's rate, aligned at its best, n x m."""
        import numpy as np

        rate, (ends_gold, ends) = self.walk.rate, self.ends
        alone = [block_sums(lone[None, :], np.array([0, 1]), bounds)[0] for lone, bounds in zip(self.lone, self.ends, strict=True)]
        found = np.zeros((len(ends_gold) - 1, len(ends) - 1))
        for first, last, cross in self._blocks():
            part = slice(ends_gold[first], ends_gold[last])
            gains = cross.values() + rate * (self.lone[0][part, None] + self.lone[1][None, :])
            bounds = ends_gold[first : last + 1] - ends_gold[first]
            if self.keyed:
                found[first:last] = block_sums(gains * (self.codes[0][part, None] == self.codes[1][None, :]), bounds, ends)
            else:
                found[first:last] = best_sums(np.maximum(gains, 0.0), bounds, ends)
        result: Floats = found - rate * (alone[0][:, None] + alone[1][None, :])
        return result

    def _blocks(self) -> "Iterator[tuple[int, int, Cross]]":
        """(first gold list, last + 1, their elements crossed with all extracted ones), as many at once as memory should hold."""
        n = len(self.ends[0]) - 1
        if self.whole is not None:
            yield 0, n, self.whole
            return
        first = 0
        while first < n:
            last = first + 1
            while last < n and (self.ends[0][last + 1] - self.ends[0][first]) * self.ends[1][-1] <= CELLS_AT_ONCE:
                last += 1
            part = self.elements[0][self.ends[0][first] : self.ends[0][last]]
            yield first, last, Cross(self.walk, self.items, part, self.elements[1])
            first = last


def _holds_alternatives(value: Any) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if ANY_OF in item:
                return True
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False


def _split(values: Sequence[Any], places: Sequence[int], kind: type) -> tuple[list[Any], list[int], list[Any], list[int]]:
    """(values of a kind, their places, other values, their places)."""
    own = [(value, place) for value, place in zip(values, places, strict=True) if isinstance(value, kind)]
    others = [(value, place) for value, place in zip(values, places, strict=True) if not isinstance(value, kind)]
    return [v for v, _ in own], [p for _, p in own], [v for v, _ in others], [p for _, p in others]
