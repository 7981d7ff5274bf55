"""The walk of a whole batch down the schema: counters, leaf scores, alignment of lists, one row for each expected or predicted leaf."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

from evalsuite.trees.assignment import best_assignment
from evalsuite.trees.json_values import ABSENT, canonical_order
from evalsuite.trees.treeval_counts import (
    NOTHING,
    BranchOutcome,
    Counts,
    LeafOutcome,
    Outcome,
    bookkeeping,
    fits,
    item_size,
    leaf_entries,
    not_an_object,
    pick,
    scalars,
)
from evalsuite.trees.treeval_cross import Options, cross_array, pair_weights
from evalsuite.trees.treeval_metrics import CorpusMetric, measured, normalise, worst
from evalsuite.trees.treeval_reference import Letters, see_as_reference, surplus_raises
from evalsuite.trees.treeval_rows import Row, Rows, RowStatus
from evalsuite.trees.treeval_schema import Branch, DictArray, Leaf, LeafArray, Node, join

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FLAG_CONTAINER, FLAG_TYPE, FLAG_OBJECT = "wrong container", "wrong type", "not an object"
_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}


_make_row: Callable[[tuple[Any, ...]], Row] = partial(tuple.__new__, Row)  # Row._make without a Python call for each of many rows


class Pairs(NamedTuple):
    """n pairs side by side: the record, the path, the positions in the innermost list, the expected and the predicted value."""

    records: list[int]
    paths: list[str]
    expected_index: list[int | None]
    got_index: list[int | None]
    want: list[Any]
    got: list[Any]
    ending: str = ""

    def path(self, i: int) -> str:
        """The path of one pair."""
        return self.paths[i] + self.ending if self.paths[i] else self.ending.removeprefix(".")

    def child(self, key: str) -> "Pairs":
        """The same pairs one key further, `ABSENT` where a prediction lacks it."""
        want, got = [value.get(key) for value in self.want], [value.get(key, ABSENT) for value in self.got]
        return self._replace(want=want, got=got, ending=self.ending + join("x", key)[1:])

    def select(self, chosen: Sequence[int]) -> "Pairs":
        """Some of the pairs."""
        if len(chosen) == len(self.want):
            return self
        records, paths = [self.records[i] for i in chosen], [self.paths[i] for i in chosen]
        at, got_at = ([column[i] for i in chosen] for column in (self.expected_index, self.got_index))
        return Pairs(records, paths, at, got_at, list(pick(self.want, chosen)), list(pick(self.got, chosen)), self.ending)


@dataclass(slots=True)
class Walk:
    """One scoring of one batch."""

    options: Options
    counts: list[float] = field(default_factory=lambda: list(NOTHING))
    rows: Rows = field(default_factory=Rows)
    reference_raises: str = ""

    def add(self, counts: Iterable[float]) -> None:
        """Add six counters."""
        self.counts = [a + b for a, b in zip(self.counts, counts, strict=True)]

    def items(self, branch: Branch, pairs: Pairs, *, in_array: bool) -> BranchOutcome:
        """Score records, or items of lists: null against null agrees, anything else that is no object lacks every key."""
        objects = [i for i, value in enumerate(pairs.got) if isinstance(value, dict)]
        for i in sorted(set(range(len(pairs.got))) - set(objects)):
            agreed = in_array and pairs.want[i] is None and pairs.got[i] is None
            self.add(Counts(predicted=1, tp_node=1) if agreed else not_an_object(branch))
            if self.options.compat and isinstance(pairs.got[i], str | list):  # its letters or items are counted as keys
                self.add([len(pairs.got[i]) - 1, 0, 0, 0, 0, 0])
            self._row(pairs, i, "both_null" if agreed else "mismatch", None if agreed else 0.0, "" if agreed else FLAG_OBJECT)
        chosen = pairs.select(objects)
        for i, value in enumerate(chosen.want):
            if value is not None and not isinstance(value, dict):
                raise ValueError(f"reference {chosen.records[i]}: {chosen.path(i) or 'the record'} must be an object")
        chosen = chosen._replace(want=[{} if value is None else value for value in chosen.want])
        return self.branch(branch, chosen, in_array=in_array)

    def branch(self, branch: Branch, pairs: Pairs, *, in_array: bool) -> BranchOutcome:
        """Score objects key by key."""
        self.add([sum(map(len, pairs.got)), 0, 0, 0, 0, 0])
        for i, value in enumerate(pairs.got):
            if not value.keys() <= branch.children.keys():
                self._unknown(branch, pairs, i)
        children: dict[str, Outcome | None] = {}
        for key, node in branch.children.items():
            child = pairs.child(key)
            chosen, bad = self._present(node, child)
            if isinstance(node, Branch):
                below = child.select(chosen)
                children[key] = self.branch(node, below, in_array=in_array) if chosen or bad else None
            elif isinstance(node, Leaf):
                chosen = sorted(chosen + bad) if bad else chosen
                children[key] = self._leaf(node, child.select(chosen), in_array=in_array) if chosen else None
            else:
                children[key] = self._array(node, child.select(chosen), in_array=in_array) if chosen or bad else None
        return BranchOutcome(children)

    def _present(self, node: Node, pairs: Pairs) -> tuple[list[int], list[int]]:
        """The pairs with a value on both sides, of the right container and of a wrong one; the others are settled here."""
        container = dict if isinstance(node, Branch) else list if not isinstance(node, Leaf) else None
        kinds_w, kinds_g = set(map(type, pairs.want)), set(map(type, pairs.got))
        everything = list(range(len(pairs.want)))
        if container is None and not kinds_w & {type(None), dict, list} and not kinds_g & {type(None), type(ABSENT), dict, list}:
            self.add([0, len(everything), 0, len(everything), 0, 0])
            return everything, []
        if kinds_w == kinds_g == {container}:
            self.add([0, len(everything), 0, len(everything) if container is list else 0, 0, 0])
            return everything, []
        if self.options.compat:
            see_as_reference(node, pairs.want, pairs.got)
        chosen: list[int] = []
        bad: list[int] = []
        for i, (want, got) in enumerate(zip(pairs.want, pairs.got, strict=True)):
            if want is not None and not fits(node, want):
                kind = "an object" if container is dict else "a list" if container is list else "a plain value"
                raise ValueError(f"reference {pairs.records[i]}: {pairs.path(i)} must be {kind}")
            if isinstance(got, Letters):
                self.add(got.counts)
                self._row(pairs, i, "mismatch", 0.0, FLAG_CONTAINER)
                continue
            self.add(bookkeeping(node, got, want))
            if want is not None and got is not None and got is not ABSENT:
                (chosen if fits(node, got) else bad).append(i)
            self._settle(node, pairs, i, want, got)
        return chosen, bad

    def _settle(self, node: Node, pairs: Pairs, i: int, want: Any, got: Any) -> None:
        """The row of a pair that has no value on one side, or a container of the wrong kind for an object or a list."""
        if got is ABSENT or got is None:
            self._row(pairs, i, "both_null" if want is None else "omission", None if want is None else 0.0, "")
        elif want is None:
            self._row(pairs, i, "hallucination", 0.0, "")
        elif not isinstance(node, Leaf) and not fits(node, got):
            self._row(pairs, i, "mismatch", 0.0, FLAG_CONTAINER)

    def _unknown(self, branch: Branch, pairs: Pairs, i: int) -> None:
        for key, value in pairs.got[i].items():
            if key not in branch.children:
                at = (pairs.expected_index[i], pairs.got_index[i])
                self.rows.append(
                    Row(pairs.records[i], join(pairs.path(i), str(key)), "hallucination", None, value, None, *at, "unknown key")
                )

    def _row(self, pairs: Pairs, i: int, status: RowStatus, score: float | None, flag: str) -> None:
        got = pairs.got[i]
        got = None if got is ABSENT else got.value if isinstance(got, Letters) else got
        at = (pairs.expected_index[i], pairs.got_index[i])
        self.rows.append(Row(pairs.records[i], pairs.path(i), status, pairs.want[i], got, score, *at, flag))

    def _leaf(self, leaf: Leaf, pairs: Pairs, *, in_array: bool, sizes: list[int] | None = None) -> LeafOutcome:
        """Score pairs of values, all in one call of each metric; write their rows. `sizes` cuts them into groups of one mean each."""
        import numpy as np

        fine = scalars(pairs.got)
        want, got = pick(pairs.want, fine), pick(pairs.got, fine)
        means: dict[str, float | None] = {}
        shown: dict[str, dict[str, float | None]] = {}
        pooled: dict[str, tuple[CorpusMetric, Sequence[Any], Sequence[Any]]] = {}
        total = np.zeros(len(pairs.got))
        for metric in leaf.metrics:
            raw = np.full(len(pairs.got), worst(metric), dtype=np.float64)
            raw[fine] = np.nan_to_num(measured(metric, "scores", want, got))
            total += normalise(metric, raw)
            mean = _mean(raw.tolist(), sizes)
            if isinstance(metric, CorpusMetric):
                pooled[metric.name] = metric, pairs.want, pairs.got
                mean = metric.pooled(pairs.want, pairs.got)
            means[metric.name] = mean
            shown[metric.name] = {metric.name: mean} if in_array else metric.summary(want, got, mean)
        self.rows.later(partial(_leaf_rows, leaf, pairs, total / len(leaf.metrics)))
        return LeafOutcome(leaf, means, shown, pooled)

    def _array(self, node: LeafArray | DictArray, pairs: Pairs, *, in_array: bool) -> Outcome:
        """Align the items of each pair of lists, settle what is left over, score what was matched in one go.

        A list of values inside an item of another list gives one value, its mean, for each pair of items.
        """
        sizes: list[int] = []
        matched = Pairs([], [], [], [], [], [])
        for i, (record, want, got) in enumerate(zip(pairs.records, pairs.want, pairs.got, strict=True)):
            path = pairs.path(i)
            aligned = self.align(node, want, got)
            sizes.append(len(aligned))
            if self.options.compat and isinstance(node, DictArray) and surplus_raises([b for _, b in aligned], len(got)):
                self.reference_raises = f"surplus objects matched out of order at {node.path}"
            self._left_over(record, path, want, got, aligned)
            left, right = [a for a, _ in aligned], [b for _, b in aligned]
            matched.records.extend(repeat(record, len(aligned)))
            matched.paths.extend([f"{path}[{a}]" for a in left])
            matched.expected_index.extend(left)
            matched.got_index.extend(right)
            matched.want.extend([want[a] for a in left])
            matched.got.extend([got[b] for b in right])
        if isinstance(node, DictArray):
            return self.items(node.item, matched, in_array=True)
        return self._leaf(node.item, matched, in_array=True, sizes=sizes if in_array else None)

    def align(self, node: LeafArray | DictArray, want: list[Any], got: list[Any]) -> list[tuple[int, int]]:
        """The pairs (expected position, predicted position) of the assignment that is worth most.

        Ties: compat takes the first by position; sound sorts both lists first, so that their order cannot matter.
        """
        if not want or not got:
            return []
        if self.options.compat:
            return best_assignment(pair_weights(node, cross_array(node, want, got, self.options), self.options))
        order_w, order_g = canonical_order(want), canonical_order(got)
        cross = cross_array(node, [want[i] for i in order_w], [got[j] for j in order_g], self.options)
        found = best_assignment(pair_weights(node, cross, self.options))
        return sorted((order_w[a], order_g[b]) for a, b in found)

    def invented(self, record: int, path: str, item: Any, position: int | None) -> None:
        """Count an item, or a whole record, that nothing stands against: its nodes are predicted, and none is right."""
        self.add([item_size(item) if position is not None else max(1, item_size(item)), 0, 0, 0, 0, 0])
        flag = "surplus record" if position is None else "surplus item"
        for here, value in leaf_entries(item, path):
            self.rows.append(Row(record, here, "hallucination", None, value, 0.0, None, position, flag))

    def _left_over(self, record: int, path: str, want: list[Any], got: list[Any], aligned: list[tuple[int, int]]) -> None:
        if len(aligned) < len(got):
            taken = {b for _, b in aligned}
            for j in (j for j in range(len(got)) if j not in taken):
                self.invented(record, f"{path}[{j}]", got[j], j)
        if len(aligned) < len(want):
            taken = {a for a, _ in aligned}
            for i in (i for i in range(len(want)) if i not in taken):
                self.add([0, 0, item_size(want[i]), 0, 0, 0])
                for here, value in leaf_entries(want[i], f"{path}[{i}]"):
                    self.rows.append(Row(record, here, "omission", value, None, 0.0, i, None, "missing item"))


def _leaf_rows(leaf: Leaf, pairs: Pairs, worth: "Floats") -> Iterator[Row]:
    scores = worth.tolist()
    statuses: list[RowStatus] = ["match" if s == 1 else "mismatch" if s == 0 else "partial" for s in scores]
    types = _TYPES.get(leaf.type, ())
    odd = set(map(type, pairs.got)) - set(types)
    flags: Iterable[str] = repeat("") if not odd or not (types or odd & {dict, list}) else [_flag(value, types) for value in pairs.got]
    paths = map(pairs.path, range(len(pairs.paths)))
    columns = (pairs.records, paths, statuses, pairs.want, pairs.got, scores, pairs.expected_index, pairs.got_index)
    return map(_make_row, zip(*columns, flags))  # noqa: B905 (flags may repeat for ever)


def _mean(values: list[float], sizes: list[int] | None) -> float | None:
    """The mean of the values, or of the means of their groups; None where there is none. Exact sums, so that order never matters."""
    if sizes is not None:
        rest = iter(values)
        values = [fsum(next(rest) for _ in range(size)) / size for size in sizes if size]
    return fsum(values) / len(values) if values else None


def _flag(value: Any, types: tuple[type, ...]) -> str:
    if isinstance(value, dict | list):
        return FLAG_CONTAINER
    wrong = bool(types) and value is not None and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types))
    return FLAG_TYPE if wrong else ""
