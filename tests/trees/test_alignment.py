"""The assignment against trying them all."""

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare import bipartite_matching as module
from evalsuite.compare.bipartite_matching import EQUAL_SUMS, best_assignment, best_sparse_assignment
from tests.conftest import ROOT
from tests.properties import examples

FEW_VALUES = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1 / 3, -1.0])
NEAR_TIES = st.sampled_from([0.5, 0.5 + 4e-10, 0.5 - 3.1e-10, 0.5 + 2e-9, 1.0])


def matrices(values: st.SearchStrategy[float], most: int) -> st.SearchStrategy[list[list[float]]]:
    """Lists of n rows x m columns, n and m from 1 to `most`."""
    sizes = st.tuples(st.integers(1, most), st.integers(1, most))
    return sizes.flatmap(lambda size: st.lists(st.lists(values, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]))


def by_trying(weights: list[list[float]]) -> list[tuple[int, int]]:
    """The lexicographically smallest of all assignments within 1e-9 of the best sum."""
    n_rows, n_columns = len(weights), len(weights[0])
    if n_rows <= n_columns:
        every = [list(enumerate(choice)) for choice in permutations(range(n_columns), n_rows)]
    else:
        every = [sorted(zip(choice, range(n_columns), strict=True)) for choice in permutations(range(n_rows), n_columns)]
    sums = [sum(weights[row][column] for row, column in pairs) for pairs in every]
    best = max(sums)
    return min(pairs for pairs, total in zip(every, sums, strict=True) if total >= best - EQUAL_SUMS)


@examples(600)
@given(weights=matrices(FEW_VALUES, 6) | matrices(NEAR_TIES, 5))
def test_ties_go_to_the_first_list_of_pairs(weights: list[list[float]]) -> None:
    """The answer is the smallest list of pairs among all best ones; differences below 1e-9 are ties while they do not add up to more."""
    assert best_assignment(weights) == by_trying(weights)


@examples(300)
@given(edges=st.lists(st.dictionaries(st.integers(0, 5), st.sampled_from([0.25, 1.0, 1.5, 3.0]), max_size=4), max_size=6))
def test_a_sparse_assignment_has_the_largest_sum(edges: list[dict[int, float]]) -> None:
    """Only given pairs, each side once, and no selection of pairs has a larger sum."""
    found = best_sparse_assignment(edges)
    assert all(right in edges[left] for left, right in found)
    assert len({left for left, _ in found}) == len({right for _, right in found}) == len(found)

    def best(left: int, free: frozenset[int]) -> float:
        if left == len(edges):
            return 0.0
        return max(
            [best(left + 1, free), *(weight + best(left + 1, free - {right}) for right, weight in edges[left].items() if right in free)]
        )

    assert sum(edges[left][right] for left, right in found) == pytest.approx(best(0, frozenset(range(6))))


MANY_LARGEST = st.sampled_from([1.0, 1.0, 0.25, 0.5, 0.75, 1 / 3])


@examples(300)
@given(weights=matrices(MANY_LARGEST, 6))
def test_a_guess_is_taken_only_where_it_is_proved(weights: list[list[float]]) -> None:
    """What large matrices begin with, the largest weights where they stand, gives the same list of pairs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.compare.bipartite_matching.GUESS_FROM", 2)
        assert best_assignment(weights) == by_trying(weights)


@examples(100)
@given(weights=matrices(st.floats(-5, 5, allow_nan=False), 5))
def test_any_weights(weights: list[list[float]]) -> None:
    """The sum is the largest there is, whatever the weights, and the solver's own choice has the same sum."""
    found = best_assignment(weights)
    best = sum(weights[row][column] for row, column in by_trying(weights))
    assert len(found) == min(len(weights), len(weights[0]))
    assert sum(weights[row][column] for row, column in found) == pytest.approx(best, abs=3e-9)
    assert sum(weights[row][column] for row, column in best_assignment(weights, ties="solver")) == pytest.approx(best, abs=3e-9)


def test_equal_weights_pair_in_order() -> None:
    """Where everything is equal, item i goes to item i, also for many items."""
    assert best_assignment(np.ones((400, 300))) == [(i, i) for i in range(300)]
    assert best_assignment(np.ones((300, 400))) == [(i, i) for i in range(300)]


def test_long_exchanges() -> None:
    """Of two best assignments that differ in every row the first is taken, also where the other is larger by less than a tie."""
    n = 60
    ring = np.full((n, n), -1.0)
    for i in range(n):
        ring[i, i], ring[i, (i + 1) % n] = 1.0, 1.0 + 1e-12
    assert best_assignment(ring, ties="solver") == [(i, (i + 1) % n) for i in range(n)]
    assert best_assignment(ring) == [(i, i) for i in range(n)]


def test_nothing_to_assign() -> None:
    """No rows or no columns give no pairs."""
    assert best_assignment([]) == []
    assert best_assignment([[], []]) == []


def test_a_weight_that_is_no_number() -> None:
    """NaN and infinity are refused."""
    with pytest.raises(ValueError, match="not a finite number"):
        best_assignment([[float("nan")]])


def result_of(name: str, arguments: list[Any], patch: pytest.MonkeyPatch) -> Any:
    """What a function returns, with its limits as low as the row says."""
    first, *rest = arguments
    match name:
        case "best" | "best by a guess":
            patch.setattr(module, "GUESS_FROM", 2 if name == "best by a guess" else 128)
            return [best_assignment(first), best_assignment(first, ties="solver")]
        case "sparse":
            patch.setattr(module, "PART_CELLS", *rest)
            return best_sparse_assignment([{int(right): weight for right, weight in row.items()} for row in first])
        case "match":
            return module.bipartite_matching(first)
        case "flow":
            looks: list[int] = []
            return [module.saturating_flow(first, *rest, looks.append), looks, module.largest_flow(first, *rest), rest[0]]
        case "blocks":
            patch.setattr(module, "BLOCK_CELLS", rest.pop())
            return [[part.tolist() for part in parts] for parts in module.block_assignments(*map(np.array, arguments[:3]))]
        case "sums":
            return module.block_sums(*map(np.array, arguments)).tolist()

    def split(state: int, left: int, right: int) -> int | None:
        following = (3 * state + 2 * left + right) % 7
        return None if following == rest[1] else following

    return list(module.assignments(first, 0, split, rest[0].__getitem__, len(rest[0])))


def test_recorded_assignments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each function the very pairs, flows, blocks and looks, in their order."""
    rows = [json.loads(line) for line in (ROOT / "tests/data/values/assignments.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [json.loads(json.dumps([*row[:2], result_of(*row[:2], monkeypatch)])) for row in rows] == rows
