"""Each word of a score: both verdicts, both reasons, the cause of a flip, all details.

A table is written as `a,b;1,x;2,y`, one of a database as `a:BIGINT,b:VARCHAR;1,x;2,y`. Tables are compared cell by cell and as packed
text, and again with low limits, which may change what a reason compares, but no verdict.
"""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import date, datetime
from decimal import Decimal
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

from evalsuite.compare import columns as columns_module
from evalsuite.compare.columns import packed_table
from evalsuite.compare.packed_text import NULL, frame_of
from evalsuite.core.types import Table
from evalsuite.scorers import SCORERS
from tests.compare.texts.test_values import CORPUS

ROWS = [json.loads(line) for line in (CORPUS / "scores.jsonl").read_text(encoding="utf-8").splitlines()]
ANSWERS = ("number_match", "string_match")
LOW = {
    "columns": {"HEAD_ROWS": 2, "_MOST_BYTES": 0},
    "margins": {"_MOST_READ": 1, "_MOST_TRIED": 2, "_MOST_MOVED": 2},
    "number_columns": {"_AT_ONCE": 2, "_CHUNK": 1, "_N_RANKS": 3, "_FIRST_CELLS": 1},
    "official_tables": {"_ROWS_TRIED": 1, "_WIDE": 2},
    "packed_text": {"_CELLS_KEPT": 1, "_ROWS_AT_ONCE": 2},
    "row_multisets": {"_FEW": 1, "_MOST_TIGHTENED": 1, "_AT_ONCE": 2},
    "strict_columns": {"_PAIRS_LOOKED_AT": 1},
    "strict_matching": {"MOST_EDGES": 2, "MOST_NUMBERS": 2, "MOST_COUNTED": 2, "MOST_PARTNERS": 1, "MOST_UNLIKE": 0, "MOST_LEFT": 2}
    | {"_TWINS_TRIED": 1, "_ROWS_TRIED": 1},
    "table_diff": {"_RANKED_CELLS": 4, "_AT_ONCE": 2, "_MOST_SEARCHED": 6, "_MOST_ALIKE": 1},
    "table_hashes": {"_AT_ONCE": 2, "_MOST_CELLS": 2, "_SAMPLED": 2, "_FEW": 1, "_LOWEST": 1},
}


@contextmanager
def limits(packed_cells: int, *, are_low: bool) -> Iterator[None]:
    """The size from which tables are packed, and low limits of all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.compare.columns.PACKED_CELLS", packed_cells)
        for module, values in LOW.items() if are_low else ():
            for name, value in values.items():
                patch.setattr(f"evalsuite.compare.{module}.{name}", value)
        yield


READ: dict[str, Any] = {"BIGINT": int, "DOUBLE": float, "DATE": date.fromisoformat, "TIMESTAMP": datetime.fromisoformat}
READ |= {"BOOLEAN": "true".__eq__, "VARCHAR": str, "DECIMAL(9": Decimal}


def table(text: str, name: str = "t.csv") -> Table:
    """The table that a text writes; of a database with a type behind each name, packed where small tables are."""
    header, *rows = (line.split(",") for line in text.split(";"))
    names, types = zip(*(name.partition(":")[::2] for name in header), strict=True)
    columns: list[list[Any]] = list(map(list, zip(*rows, strict=True))) if rows else [[] for _ in header]
    if not types[0]:
        return Table(header=names, columns=tuple(columns), n_rows=len(rows), name=name)
    types = tuple(f"{type_},2)" if type_.startswith("DECIMAL") else type_ for type_ in types)
    if not columns_module.PACKED_CELLS:
        cells = [[cell.encode() or NULL for cell in row] for row in rows]
        lengths = np.array([list(map(len, row)) for row in cells], np.uint32).reshape(-1, len(names))
        return packed_table(names, name, [frame_of(b"".join(cell + b"\n" for row in cells for cell in row), lengths)], types)
    columns = [[READ[type_[:9]](cell) if cell else None for cell in column] for type_, column in zip(types, columns, strict=True)]
    return Table(header=names, columns=tuple(columns), n_rows=len(rows), name=name, types=types)


def tables(form: Any) -> Any:
    """The table or tables of a text, a list or a mapping of texts."""
    if isinstance(form, dict):
        return {name: table(text, name) for name, text in form.items()}
    return table(form) if isinstance(form, str) else [table(text, f"{at}.csv") for at, text in enumerate(form)]


def score_of(row: dict[str, Any]) -> list[Any]:
    """The score of a row's answer as a list."""
    answer, gold = (row[side] if row["scorer"] in ANSWERS else tables(row[side]) for side in ("answer", "gold"))
    score = SCORERS.load(row["scorer"]).function(answer, gold=gold, **row["options"])
    return [score.official, score.strict, score.reason, score.strict_reason, score.flip, score.details]


def test_answers() -> None:
    """Numbers and texts."""
    rows = [row for row in ROWS if row["scorer"] in ANSWERS]
    assert [(row["answer"], row["gold"], score_of(row)) for row in rows] == [(row["answer"], row["gold"], row["score"]) for row in rows]


SUMS = {"margins._Work.take", *(f"row_multisets.Work.{name}" for name in ("look", "connect", "walk"))}
# How often all rows that are tables call each function, packed and cell by cell.
WORK: dict[str, tuple[int, int]] = {
    "bipartite_matching._push": (101, 101), "bipartite_matching.bipartite_matching": (456, 456), "columns.Arrays.make_room": (2024, 1585),
    "columns.Arrays.once": (5870, 4292), "columns.Arrays.put": (1975, 1581), "columns.Column.are_null": (122, 0),
    "columns.Column.has_long_integer": (156, 0), "columns.Column.once": (10991, 8808), "columns.Column.summary": (493, 270),
    "columns.PackedColumn._read": (746, 0), "columns.PackedColumn.cells": (468, 0), "columns.PackedColumn.rows_of": (24, 0),
    "columns.PackedColumn.texts": (552, 0), "columns._has_long": (438, 1010), "margins._Work.take": (1209980, 540200),
    "margins._column_margin": (305, 307), "margins._distance": (984, 942), "margins._smallest_margin": (202, 200),
    "messages.cells_differ": (312, 312), "number_columns._any_number": (2455, 743), "number_columns._are_tight": (193, 192),
    "number_columns._parse": (438, 208), "number_columns.differ_officially": (81, 0), "number_columns.in_order": (692, 632),
    "number_columns.join_blocks": (503, 278), "number_columns.number_groups": (250, 249), "number_columns.numbers_of": (556, 330),
    "number_columns.officially_equal": (110, 0), "number_columns.surely_strictly_equal": (211, 210),
    "number_columns.surely_unequal": (291, 0), "number_columns.widest": (811, 805), "numbers._by_floats": (282, 282),
    "numbers.equal_but_for_noise": (110, 110), "numbers.is_rounding": (49, 49), "numbers.numbers_equal": (2207, 2206),
    "numbers.reach": (136, 136), "official_cells._typed_numbers": (490, 977), "official_cells.cells_equal": (378, 576),
    "official_cells.columns_equal": (67, 369), "official_cells.differing_rows": (207, 273), "official_cells.official_frame": (130, 170),
    "official_cells.raw_column": (1212, 2250), "official_cells.typed_column": (506, 993),
    "official_tables.OfficialColumns._kind": (441, 0), "official_tables.OfficialColumns._numbers_as_bags": (42, 0),
    "official_tables.OfficialColumns._unequal": (128, 0), "official_tables.OfficialColumns._unequal_cells": (26, 0),
    "official_tables.OfficialColumns.are_equal": (461, 0), "official_tables.OfficialColumns.kind": (1225, 0),
    "official_tables.Side.fingerprint": (39, 732), "official_tables.Side.unsorted_column": (542, 1379),
    "official_tables.compare_sides": (19, 239), "official_tables.is_safe_text": (232, 586), "packed_text.Block.hashes": (612, 587),
    "packed_text.Block.texts": (885, 0), "packed_text.Keys.of_rows": (310, 258), "packed_text.Packed.rows": (1282, 0),
    "packed_text._unpack": (492, 176), "packed_text.equal_cells": (234, 13), "packed_text.is_same_run": (83, 0),
    "row_multisets.CodedColumns._are_apart": (169, 167), "row_multisets.CodedColumns._can_pair": (104, 104),
    "row_multisets.CodedColumns._compute_codes": (250, 249), "row_multisets.CodedColumns._distance": (50, 50),
    "row_multisets.CodedColumns._is_pair": (58, 58), "row_multisets.CodedColumns._tighten": (250, 249),
    "row_multisets.CodedColumns.agree_in_order": (98, 97), "row_multisets.CodedColumns.options": (238, 238),
    "row_multisets.CodedColumns.unequal_in_order": (182, 180), "row_multisets.RowCodes.split": (179, 178),
    "row_multisets.Work.connect": (16500, 16500), "row_multisets.Work.look": (70400, 70400), "row_multisets.Work.walk": (2200, 2200),
    "row_multisets._flows": (55, 55), "row_multisets.class_agrees": (49, 49), "strict_columns.StrictColumn.arrays": (1406, 1405),
    "strict_columns.StrictColumn.cell": (369, 285), "strict_columns.StrictColumn.cells_at": (1239, 1075),
    "strict_columns.StrictColumn.sketch": (954, 959), "strict_columns._greedy": (8, 8), "strict_columns._spans": (118, 117),
    "strict_columns.all_pairs_equal": (130, 129), "strict_columns.can_pair": (58, 58), "strict_columns.equal": (2606, 2605),
    "strict_columns.key": (2434, 2565), "strict_matching.FirstRows.possible_columns": (292, 292),
    "strict_matching._first_fitting": (260, 260), "strict_matching.explain": (175, 175), "strict_matching.heads_fit": (1267, 1267),
    "strict_matching.unequal_rows": (528, 528), "table_diff.BulkDiff._without_equal": (262, 0),
    "table_diff.TableDiff.cells": (1183, 1175), "table_diff.TableDiff.head": (2464, 2064), "table_diff.TableDiff.identical": (251, 251),
    "table_diff.TableDiff.is_same_text": (380, 342), "table_diff.TableDiff.look": (1684, 1284),
    "table_diff.TableDiff.row_by_key": (185, 185), "table_diff._are_texts_in_place": (264, 264), "table_diff.compare": (250, 250),
    "table_hashes.HashedRows._same_columns": (0, 0), "table_hashes.HashedRows.are_confirmed": (193, 145),
    "table_hashes.HashedRows.compare": (768, 672), "table_hashes.HashedRows.rows": (528, 399), "table_hashes._spare_hashes": (49, 4),
    "values.plain_amounts": (53, 52), "values.read_cell": (5117, 5001),
}  # fmt: skip


def code_of(name: str) -> CodeType:
    """The code of a function or method of `compare`."""
    module, *parts = name.split(".")
    found: Any = importlib.import_module(f"evalsuite.compare.{module}")
    for part in parts:
        found = found.__dict__[part]
    code: CodeType = getattr(found, "func", found).__code__
    return code


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """How often each function of `WORK` is called inside."""
    names, calls = {code_of(name): name for name in WORK}, dict.fromkeys(WORK, 0)

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (name := names.get(frame.f_code)):
            # What counts work is told how much.
            calls[name] += round(100 * frame.f_locals.get("n", frame.f_locals.get("n_cells"))) if name in SUMS else 1

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("packed_cells", [0, 1 << 60])
@pytest.mark.parametrize("are_low", [False, True])
def test_tables(packed_cells: int, are_low: bool) -> None:
    """In order and in any order, each kind of difference; a short-cut that is lost shows in the number of calls alone."""
    rows, name = [row for row in ROWS if row["scorer"] not in ANSWERS], ("low" if packed_cells else "low packed") if are_low else "score"
    with limits(packed_cells, are_low=are_low), nullcontext() if are_low else counted() as calls:
        found = [(row["answer"], row["gold"], score_of(row)) for row in rows]
    assert found == [(row["answer"], row["gold"], row.get(name, row["score"])) for row in rows]
    assert all(row.get(name, row["score"])[:2] == row["score"][:2] for row in rows)
    assert are_low or calls == {name: counts[packed_cells > 0] for name, counts in WORK.items()}
