"""Compare two query results like the evaluators of text-to-SQL: as sets of rows (BIRD), or as multisets under some order of columns.

Cells are what SQLite returns (None, int, float, str, bytes) and compare as in Python: 1 = 1.0, 'a' is not 'A', None = None.
"""

from collections import Counter
from collections.abc import Hashable, Sequence

from evalsuite.compare.bipartite_matching import assignments
from evalsuite.core.errors import FaultError

Row = tuple[Hashable, ...]
# The class of each row of both sides: rows with equal cells so far are in one class.
Classes = tuple[list[int], list[int]]
# The limit on row visits in the search for an order of columns; real pairs of results stay far below it.
_MOST_STEPS = 5_000_000


def equal_as_sets(gold: Sequence[Row], predicted: Sequence[Row]) -> bool:
    """Whether both results have the same distinct rows, columns in the same order (bird-bench/mini_dev `evaluation_ex`)."""
    return gold is predicted or set(gold) == set(predicted)


def equal_as_bags(gold: Sequence[Row], predicted: Sequence[Row], *, ordered: bool) -> bool:
    """Whether some order of the predicted columns makes both the same multiset of rows, or with `ordered` the same list.

    As in taoyds/test-suite-sql-eval `result_eq`: two empty results are equal whatever their columns; and each row's cells, sorted by their
    text and type, must agree first, so that 1 instead of 1.0 is a different cell if that changes its place in the row. The evaluator tries
    every permutation; here columns are chosen one by one, and a choice ends as soon as the rows so far differ, with the same verdict.

    Raises:
        FaultError: LIMIT if the search takes too many steps.
    """
    if gold is predicted or (not gold and not predicted):
        return True
    if len(gold) != len(predicted) or len(gold[0]) != len(predicted[0]):
        return False
    gold_rows, predicted_rows = ([tuple(sorted(row, key=lambda cell: f"{cell}{type(cell)}")) for row in side] for side in (gold, predicted))
    if (gold_rows != predicted_rows) if ordered else (set(gold_rows) != set(predicted_rows)):
        return False
    if gold == predicted:
        return True
    gold_columns, predicted_columns = list(zip(*gold, strict=True)), list(zip(*predicted, strict=True))
    if ordered:
        return Counter(gold_columns) == Counter(predicted_columns)
    if Counter(map(_bag, gold_columns)) != Counter(map(_bag, predicted_columns)):
        return False
    return _has_assignment(gold_columns, predicted_columns)


def _bag(column: Row) -> frozenset[tuple[Hashable, int]]:
    return frozenset(Counter(column).items())


def _has_assignment(gold_columns: Sequence[Row], predicted_columns: Sequence[Row]) -> bool:
    """Whether some order of the offered columns makes the rows the same multiset; both sides have the same multisets of columns."""
    n_rows, n_steps = len(gold_columns[0]), 0
    bags = list(map(_bag, predicted_columns))
    fitting = [[k for k, bag in enumerate(bags) if bag == gold_bag] for gold_bag in map(_bag, gold_columns)]

    def split(classes: Classes, i: int, k: int) -> Classes | None:
        nonlocal n_steps
        n_steps += n_rows
        if n_steps > _MOST_STEPS:
            raise FaultError("LIMIT", f"no matching order of {len(gold_columns)} columns was found within {_MOST_STEPS:,} steps")
        names: dict[tuple[int, Hashable], int] = {}
        gold_names = [names.setdefault(pair, len(names)) for pair in zip(classes[0], gold_columns[i], strict=True)]
        predicted_names = [names.setdefault(pair, len(names)) for pair in zip(classes[1], predicted_columns[k], strict=True)]
        return (gold_names, predicted_names) if Counter(gold_names) == Counter(predicted_names) else None

    start = [0] * n_rows, [0] * n_rows
    firsts: dict[Row, int] = {}
    twins = [firsts.setdefault(column, k) for k, column in enumerate(predicted_columns)]
    return next(assignments(fitting, start, split, twins.__getitem__, len(twins)), None) is not None


def soft_f1(gold: Sequence[Row], predicted: Sequence[Row]) -> float:
    """BIRD's soft F1 of two results in [0, 1]: the i-th distinct rows are compared with each other; a cell counts if the other row contains
    it.

    Distinct rows keep the order of the results; BIRD's own are ordered by the hash of their texts, so that its value changes between runs.
    """
    if gold is predicted:
        return 1.0
    gold_rows, predicted_rows = list(dict.fromkeys(gold)), list(dict.fromkeys(predicted))
    if gold_rows == predicted_rows:
        return 1.0
    n_equal = extra = lost = 0.0
    for row, other in zip(gold_rows, predicted_rows, strict=False):
        if row == other:
            n_equal += 1
            continue
        width = len(row) or 1
        gold_cells, predicted_cells = set(row), set(other)
        n_equal += sum(cell in gold_cells for cell in other) / width
        extra += sum(cell not in gold_cells for cell in other) / width
        lost += sum(cell not in predicted_cells for cell in row) / width
    extra += max(0, len(predicted_rows) - len(gold_rows))
    lost += max(0, len(gold_rows) - len(predicted_rows))
    return 2 * n_equal / (2 * n_equal + extra + lost) if n_equal else 0.0
