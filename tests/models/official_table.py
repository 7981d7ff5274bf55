"""The official table rule on pandas itself, written out plainly: the model `matching.table` and `matching.database` are held to."""

import csv
import io
import locale
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd


def frame_of(columns: Sequence[Sequence[str]]) -> pd.DataFrame:
    """The frame pandas reads from a CSV file with these columns of text; every field is quoted.

    In Turkish, pandas takes `-Infinity` for a text: its letter i has a dot.
    """
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([f"c{index}" for index in range(len(columns))])
    writer.writerows(zip(*columns, strict=True))
    of_user = locale.setlocale(locale.LC_CTYPE)
    locale.setlocale(locale.LC_CTYPE, "C")
    try:
        return pd.read_csv(io.StringIO(text.getvalue()), low_memory=False)
    finally:
        locale.setlocale(locale.LC_CTYPE, of_user)


def lists_of(frame: pd.DataFrame, needed: Sequence[int] = ()) -> list[list[Any]]:
    """The columns as the reference compares them."""
    chosen = frame.iloc[:, list(needed)] if needed else frame
    return chosen.transpose().values.tolist()


def score_tables(
    predicted: pd.DataFrame, gold: pd.DataFrame, needed: Sequence[int] = (), ignore_order: bool = False, *, reference: str = "original"
) -> int:
    """1 or 0 as the reference gives it; what makes it raise is a 0, in dbt for the two columns alone."""
    match = lists_match_or_raise if reference == "original" else lists_match
    try:
        candidates = lists_of(predicted)
        for column in lists_of(gold, needed):
            if not any(match(column, candidate, ignore_order) for candidate in candidates):
                return 0
    except Exception:
        return 0
    return 1


def lists_match(gold: list[Any], predicted: list[Any], ignore_order: bool) -> bool:
    """As `lists_match_or_raise`, where two columns that cannot be compared are not equal."""
    try:
        return lists_match_or_raise(gold, predicted, ignore_order)
    except Exception:
        return False


def lists_match_or_raise(gold: list[Any], predicted: list[Any], ignore_order: bool) -> bool:
    """Whether two columns are equal cell by cell, sorted before where the order does not count."""
    if ignore_order:
        gold = sorted(gold, key=lambda x: (x is None, str(x), isinstance(x, (int, float))))
        predicted = sorted(predicted, key=lambda x: (x is None, str(x), isinstance(x, (int, float))))
    if len(gold) != len(predicted):
        return False
    for a, b in zip(gold, predicted, strict=True):
        if pd.isna(a) and pd.isna(b):
            continue
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            if not math.isclose(float(a), float(b), abs_tol=1e-2):
                return False
        elif a != b:
            return False
    return True


def of_bare_number(predicted: pd.DataFrame, gold: pd.DataFrame, column: int, ignore_order: bool) -> int:
    """1 or 0 where `condition_cols` is a number by itself: `iloc` makes a column of it, whose cells are then compared as columns are."""
    try:
        cells = gold.iloc[:, column].transpose().values.tolist()
        columns = predicted.transpose().values.tolist()
        return int(all(any(lists_match_or_raise(cell, one, ignore_order) for one in columns) for cell in cells))
    except Exception:
        return 0
