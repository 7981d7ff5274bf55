"""The needed gold columns as the references of Spider 2.0 read `condition_cols`: original (and dbt), lite and snow.

Lite and snow share the comparison of the original but for an empty cell, which is the number 0 on both sides. They differ from it, and
from each other, in what `condition_cols` means (spider2-lite and spider2-snow `evaluate.py`, `compare_multi_pandas_table` and
`compare_pandas_table` of 2025): only they take a flat list for several golds. An entry that does not fit its gold, or that is missing, is
only met, and only fatal, when that gold's turn comes.
"""

from typing import Any

from evalsuite.tables.official_cells import RESULT_SUITES, Reference
from evalsuite.tables.wording import count
from evalsuite.types import Fault


def needed_columns(condition_cols: Any, n_golds: int | None, reference: Reference) -> list[list[int] | Fault]:
    """The needed columns of each gold table, [] = all; a Fault where the reference dies when it comes to that gold.

    `n_golds` None means that gold is one name and no list.
    """
    if n_golds is None:
        return [_for_one(condition_cols, reference)]
    if condition_cols is None or list(condition_cols) in ([], [[]], [None]):
        return [[] for _ in range(n_golds)]
    is_flat = not all(isinstance(item, list | tuple) for item in condition_cols)
    if reference in RESULT_SUITES and n_golds > 1 and is_flat:
        return [_for_one(condition_cols, reference) for _ in range(n_golds)]
    missing = Fault(code="BAD_SPEC", detail=f"condition_cols holds {count(len(condition_cols), 'list')} for {n_golds} gold tables")
    return [_for_one(condition_cols[i], reference) if i < len(condition_cols) else missing for i in range(n_golds)]


def _for_one(columns: Any, reference: Reference) -> list[int] | Fault:
    """What one gold table is asked for. A bare number is one column, but lite takes a bare 0, as it takes null, for "all".

    The original takes a list and nothing else: of a bare number it makes a column without its table, which it then reads cell by cell.
    """
    if reference == "lite" and not columns:
        return []
    is_list = isinstance(columns, list | tuple)
    listed = list(columns) if is_list else [columns]
    if all(isinstance(item, int) for item in listed) and (is_list or reference in RESULT_SUITES):
        return listed
    return Fault(code="BAD_SPEC", detail=f"condition_cols cannot be {columns} for one gold table: the reference takes a flat list for each")
