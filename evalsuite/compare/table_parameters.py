"""Parameters of a table check, as far as they need no table: the needed columns and the lengths of lists.

The needed gold columns are as the references of Spider 2.0 read `condition_cols`: original (and dbt), lite and snow. Lite and snow share
the comparison of the original except for an empty cell, which is the number 0 on both sides. They differ from it, and from each other, in
what `condition_cols` means (spider2-lite and spider2-snow `evaluate.py`, `compare_multi_pandas_table` and `compare_pandas_table` of 2025):
only they take a flat list for several golds. An entry that does not fit its gold, or that is missing, is only reached, and only fatal, when
that gold is compared.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from evalsuite.compare.official_cells import RESULT_SUITES, Reference
from evalsuite.core.errors import count_words
from evalsuite.core.scores import Fault

Labels = Literal["judge", "ignore"]

# "Not ASCII" instead of a range of all planes, which takes `re` milliseconds to compile.
_PLAIN_NAME = re.compile(r"([A-Za-z_]|[^\0-\x7f])([A-Za-z0-9_$]|[^\0-\x7f])*")
_RESERVED_WORDS = """
    all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case cast check collate collation
    column concurrently constraint create cross default deferrable desc describe distinct do else end except false fetch for foreign
    freeze from full glob group having ilike in initially inner intersect into is isnull join lambda lateral leading left like limit
    natural not notnull null offset on only or order outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify
    references returning right select semi show similar some summarize symmetric table tablesample then to trailing true union unique
    unpack unpivot using variadic verbose when where window with
"""
_RESERVED: Final = frozenset(_RESERVED_WORDS.split())


def needed_columns(condition_cols: Any, n_golds: int | None, reference: Reference) -> list[list[int] | int | Fault]:
    """The needed columns of each gold table, [] = all; a Fault if the reference raises when it reaches that gold.

    `n_golds` None means that gold is one name and not a list: then a bare number stays one for the original and dbt, which read it as a
    column without its table and compare it cell by cell.
    """
    if n_golds is None:
        bare = is_bare(condition_cols) and reference not in RESULT_SUITES
        return [int(condition_cols) if bare else _find_needed_columns(condition_cols, reference)]
    if is_bare(condition_cols):
        detail = f"condition_cols cannot be {condition_cols} for a list of gold tables: the reference takes a list"
        return [Fault(code="BAD_SPEC", detail=detail) for _ in range(n_golds)]
    if condition_cols is None or list(condition_cols) in ([], [[]], [None]):
        return [[] for _ in range(n_golds)]
    is_flat = not all(isinstance(item, list | tuple) for item in condition_cols)
    if reference in RESULT_SUITES and n_golds > 1 and is_flat:
        return [_find_needed_columns(condition_cols, reference) for _ in range(n_golds)]
    missing = Fault(
        code="BAD_SPEC",
        detail=f"condition_cols contains {count_words(len(condition_cols), 'list')} for {count_words(n_golds, 'gold table')}",
    )
    return [_find_needed_columns(condition_cols[i], reference) if i < len(condition_cols) else missing for i in range(n_golds)]


def is_bare(condition_cols: Any) -> bool:
    """Whether `condition_cols` is one column and not a list."""
    return isinstance(condition_cols, int) and not isinstance(condition_cols, bool)


def _find_needed_columns(columns: Any, reference: Reference) -> list[int] | Fault:
    """The needed columns of one gold table. A bare number is one column, but lite reads a bare 0, like null, as "all"."""
    if reference == "lite" and not columns:
        return []
    is_list = isinstance(columns, list | tuple)
    items = list(columns) if is_list else [columns]
    if all(isinstance(item, int) for item in items) and (is_list or reference in RESULT_SUITES):
        return items
    return Fault(code="BAD_SPEC", detail=f"condition_cols cannot be {columns} for one gold table: the reference takes a flat list for each")


def list_problem(n_tables: int, needed: Sequence[Any] | None, ignore_orders: Sequence[Any] | None) -> str:
    """An error message if a list of parameters does not have one entry per table, else ""."""
    for key, values in (("condition_cols", needed), ("ignore_orders", ignore_orders)):
        if values and len(values) != n_tables:
            return f"{key} has {count_words(len(values), 'value')} for {count_words(n_tables, 'table')}"
    return ""


def fold_name(name: str) -> str:
    """The name of a table as duckdb compares names: without case, which only ASCII letters have there."""
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def needs_quotes(name: str) -> bool:
    """Whether `SELECT * FROM name`, which the reference writes without quotes, is a syntax error."""
    plain = _PLAIN_NAME.fullmatch(name) is not None and not any(character.isspace() for character in name)
    return not plain or name.lower() in _RESERVED
