"""What functions say of texts and results that were drawn, to the letter: moments, days, quantities, characters, results of queries."""

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from evalsuite.compare.characters import clean, digits_only, is_joined, is_spaceless, is_visible, looks_like, spelled_out, visible
from evalsuite.compare.dates import CALENDAR, date_readings, days_of, instant_of, moment_of
from evalsuite.compare.official_cells import _name
from evalsuite.compare.quantities import parse_quantity
from evalsuite.compare.result_sets import equal_as_bags, equal_as_sets, soft_f1
from tests.compare.texts.test_values import CORPUS


def read_quantity(value: Any, unit: str, locale: str, extra: dict[str, Any]) -> list[Any] | None:
    """Amount, dimension, unit and factor."""
    found = parse_quantity(value, unit=unit, locale=locale, extra=extra)
    return None if found is None else [str(found.amount), dict(found.dimension), found.unit, str(found.scale)]


def describe(text: str) -> list[Any]:
    """What the first character looks like and stands for, and what it is next to others."""
    first = text[0]
    shapes = [sorted(looks_like(first)), spelled_out(first), digits_only(f"5{text}6"), visible(text)]
    return [*shapes, is_joined(first, text[1:2]), is_spaceless(first), is_visible(first)]


def compare(gold: list[Any], predicted: list[Any]) -> list[Any]:
    """Under each evaluator of SQL."""
    sides = [list(map(tuple, side)) for side in (gold, predicted)]
    bags = [equal_as_bags(*sides, ordered=ordered) for ordered in (False, True)]
    return [equal_as_sets(*sides), *bags, round(soft_f1(*sides), 9)]


def text_of(value: Any) -> str | None:
    """None stays None."""
    return None if value is None else str(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "moment": lambda *arguments: text_of(moment_of(*arguments)),
    "days": lambda *arguments: (span := days_of(*arguments)) and list(map(str, span)),
    "readings": lambda text: list(map(list, date_readings(text))),
    "instant": instant_of,
    "quantity": read_quantity,
    "clean": clean,
    "shapes": describe,
    "rows": compare,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_recorded_results(name: str) -> None:
    """Of each row the same result."""
    rows = [row for row in map(json.loads, (CORPUS / "functions.jsonl").read_text(encoding="utf-8").splitlines()) if row[0] == name]
    assert rows
    assert [[*row[:2], FUNCTIONS[name](*row[1])] for row in rows] == rows


# What bounds time and memory, how much a reason shows, and the constants of the rules.
LIMITS = {
    "answer_messages.MAX_SHOWN": 60, "answer_messages.MAX_LISTED": 5, "answer_rules._FEWEST_LOOKED_AT": 3,
    "answer_rules._MOST_PLACES": 1000, "answer_rules.DEFAULT_PRECISION": 4, "answer_rules._MOST_TRIED": 50,
    "answer_rules._LONGEST_GROUP": 12, "answer_rules.MOST_PLACES": 308, "answer_rules._MOST_DIFFERENT": 1000,
    "answer_rules.WHOLE_ROUNDING": 1000, "bipartite_matching.EQUAL_SUMS": 1e-09, "bipartite_matching.NOISE": 1e-13,
    "bipartite_matching.GUESS_FROM": 128, "bipartite_matching.PART_CELLS": 1000000, "bipartite_matching.PROOF_PASSES": 24,
    "bipartite_matching.BLOCK_CELLS": 2000000, "characters.MOST_MARKS": 8, "claims.REACH": 160, "claims._LONGEST_LIST": 400,
    "claims.NEAR": 64, "claims._MOST_READ": 2000, "claims._MOST": 400, "columns.PACKED_CELLS": 2000, "columns.HEAD_ROWS": 16,
    "columns._MOST_BYTES": 50331648, "columns._CELL_BYTES": 64, "dates._NO_YEAR": 4, "dates._LONGEST_DATE": 40,
    "margins._MOST_READ": 20000, "margins._SHARE": 0.1, "margins._MOST_TRIED": 20000, "margins._MOST_MOVED": 1000,
    "margins._MOST_COLUMNS": 3, "messages.MAX_SHOWN": 40, "messages.LONGEST_FLOAT": 308, "messages.MAX_COLUMNS": 3,
    "messages._BEFORE_DIFFERENCE": 12, "number_columns.LONGEST_NUMBER": 32, "number_columns.SAFE_NUMBER": 9e+18,
    "number_columns._NOISE": 4e-15, "number_columns.MOST_DECIMALS": 100, "number_columns._N_RANKS": 64, "number_columns._AT_ONCE": 65536,
    "number_columns._CHUNK": 131072, "number_columns._MOST_ROUNDED": 0.06, "number_columns._FIRST_CELLS": 16,
    "number_columns._LONGEST_WORD": 8, "number_columns._DATE_LENGTH": 10, "numbers.ZERO_TOL": 1e-09, "numbers.NOISE_REL": 1e-09,
    "numbers.NOISE_FLOOR": 0.005, "numbers.NOISE_BEYOND": 1e-12, "numbers.FEWEST_DECIMALS": 2, "numbers.FIRST_INEXACT": 9007199254740992,
    "numbers._MOST_DIGITS": 400, "numbers._FLOAT_ERROR": 1e-15, "numbers._MOST_ROUNDED": 0.053, "numbers.SLACK": 1.000001,
    "official_cells.FLOAT_BITS": 1024, "official_cells.SHORTEST_OVERFLOW": 19, "official_cells.ABS_TOL": 0.01,
    "official_tables._ROWS_TRIED": 5, "official_tables._WIDE": 16, "official_tables._PLAIN": 1000000000000000.0,
    "official_tables._EXACT_SCALE": 22, "packed_text.WORD": 8, "packed_text._CELLS_KEPT": 2500000, "packed_text._SHORT": 255,
    "packed_text._ROWS_AT_ONCE": 16384, "result_sets._MOST_STEPS": 5000000, "row_multisets.MOST_LEFT": 20000,
    "row_multisets._AT_ONCE": 65536, "row_multisets._FEW": 500, "row_multisets._MOST_TIGHTENED": 4000, "row_multisets.CELL_CAP": 5000000,
    "row_multisets.EDGE_CAP": 3000000, "row_multisets.FLOW_CAP": 10000000, "row_multisets._LOOKS_AT_END": 4,
    "strict_columns._DAY": 86400000000000, "strict_columns._PAIRS_LOOKED_AT": 2000, "strict_columns._MOST_DECIMALS": 12,
    "strict_matching._TWINS_TRIED": 8, "strict_matching._ROWS_TRIED": 5, "strict_matching.MOST_EDGES": 100000,
    "strict_matching.MOST_NUMBERS": 500, "strict_matching.MOST_COUNTED": 10000, "strict_matching.MOST_PARTNERS": 500,
    "strict_matching.MOST_UNLIKE": 100, "table_diff._RANKED_CELLS": 20000, "table_diff._AT_ONCE": 4096,
    "table_diff._MOST_SEARCHED": 20000000, "table_diff._MOST_ALIKE": 10000, "table_hashes._AT_ONCE": 65536,
    "table_hashes._MOST_CELLS": 4000000, "table_hashes._SAMPLED": 16, "table_hashes._LOWEST": 512, "table_hashes._FEW": 200,
    "table_hashes._WORK_BYTES": 48, "values.MAX_SHOWN": 40, "values._LONGEST_SIGN": 7, "values._MOST_KEPT": 1000,
    "values._LONGEST_NUMBER": 400, "values._SHORT": 40,
}  # fmt: skip


def test_the_limits() -> None:
    """Whoever changes one changes it here too: above them reasons, and what is undecided, are others."""
    modules = {name: importlib.import_module(f"evalsuite.compare.{name.partition('.')[0]}") for name in LIMITS}
    assert {name: getattr(modules[name], name.partition(".")[2]) for name in LIMITS} == LIMITS
    assert list(map(" ".join, CALENDAR)) == ["jan feb mar apr may jun jul aug sep oct nov dec", "mon tue wed thu fri sat sun"]
    assert [_name(value) for value in (2**1024 - 2**970 - 1, 2**1024 - 2**970)] == [sys.float_info.max, repr(2**1024 - 2**970)]
