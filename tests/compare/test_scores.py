"""Each word of a score: both verdicts, both reasons, the cause of a flip, all details.

A table is written as `a,b;1,x;2,y`, one of a database as `a:BIGINT,b:DECIMAL(9/2);1,2.50`. Tables are compared cell by cell and as packed
text, and again with low limits, which may change what a reason compares, but no verdict.
"""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import date, datetime
from decimal import Decimal
from random import Random
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
READ |= {"BOOLEAN": "true".__eq__, "VARCHAR": str, "DECIMAL": Decimal}


def table(text: str, name: str = "t.csv") -> Table:
    """The table that a text writes; of a database with a type behind each name, packed where small tables are."""
    header, *rows = (line.split(",") for line in text.split(";"))
    names, types = zip(*(name.partition(":")[::2] for name in header), strict=True)
    columns: list[list[Any]] = list(map(list, zip(*rows, strict=True))) if rows else [[] for _ in header]
    if not types[0]:
        return Table(header=names, columns=tuple(columns), n_rows=len(rows), name=name)
    types = tuple(type_.replace("/", ",") for type_ in types)
    if not columns_module.PACKED_CELLS:
        cells = [[cell.encode() or NULL for cell in row] for row in rows]
        lengths = np.array([list(map(len, row)) for row in cells], np.uint32).reshape(-1, len(names))
        return packed_table(names, name, [frame_of(b"".join(cell + b"\n" for row in cells for cell in row), lengths)], types)
    columns = [
        [READ[type_.partition("(")[0]](cell) if cell else None for cell in column] for type_, column in zip(types, columns, strict=True)
    ]
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
# How often all rows that are tables call each function at most, packed and cell by cell.
WORK: dict[str, tuple[int, int]] = {
    "bipartite_matching._push": (133, 133), "bipartite_matching.bipartite_matching": (591, 591), "columns.Arrays.make_room": (2838, 2221),
    "columns.Arrays.once": (8260, 5913), "columns.Arrays.put": (2764, 2213), "columns.Column.are_null": (169, 0),
    "columns.Column.has_long_integer": (195, 0), "columns.Column.once": (14357, 11357), "columns.Column.summary": (664, 376),
    "columns.PackedColumn._read": (868, 0), "columns.PackedColumn.cells": (555, 0), "columns.PackedColumn.rows_of": (24, 0),
    "columns.PackedColumn.texts": (667, 0), "margins._Work.take": (1564040, 673700),
    "margins._column_margin": (411, 413), "margins._distance": (1160, 1092), "margins._smallest_margin": (271, 266),
    "messages.cells_differ": (400, 400), "number_columns._any_number": (3153, 979), "number_columns._are_tight": (257, 253),
    "number_columns._parse": (613, 304), "number_columns.differ_officially": (129, 0), "number_columns.in_order": (1087, 983),
    "number_columns.join_blocks": (680, 384), "number_columns.number_groups": (342, 338), "number_columns.numbers_of": (746, 449),
    "number_columns.officially_equal": (147, 0), "number_columns.surely_strictly_equal": (259, 258),
    "number_columns.surely_unequal": (352, 0), "number_columns.widest": (1067, 1052), "numbers._are_far_apart": (367, 367),
    "numbers.equal_but_for_noise": (204, 204), "numbers.is_rounding": (56, 56), "numbers.numbers_equal": (2881, 2877),
    "numbers.reach": (169, 169), "official_cells._typed_numbers": (640, 1262), "official_cells.cells_equal": (431, 658),
    "official_cells.columns_equal": (94, 495), "official_cells.differing_rows": (240, 322), "official_cells.official_frame": (182, 250),
    "official_cells.raw_column": (1732, 3085), "official_cells.typed_column": (667, 1289),
    "official_tables.OfficialColumns._kind": (586, 0), "official_tables.OfficialColumns._numbers_as_bags": (70, 0),
    "official_tables.OfficialColumns._unequal": (164, 0), "official_tables.OfficialColumns._unequal_cells": (28, 0),
    "official_tables.OfficialColumns.are_equal": (598, 0), "official_tables.OfficialColumns.kind": (1616, 0),
    "official_tables.Side.fingerprint": (59, 964), "official_tables.Side.unsorted_column": (699, 1772),
    "official_tables.compare_sides": (35, 323), "official_tables.is_safe_text": (346, 820), "packed_text.Block.hashes": (898, 859),
    "packed_text.Block.texts": (1079, 4), "packed_text.Keys.of_rows": (435, 365), "packed_text.Packed.rows": (1596, 0),
    "packed_text._unpack": (706, 262), "packed_text.equal_cells": (329, 19), "packed_text.is_same_run": (108, 0),
    "row_multisets.CodedColumns._are_apart": (228, 223), "row_multisets.CodedColumns._can_pair": (115, 115),
    "row_multisets.CodedColumns._compute_codes": (342, 338), "row_multisets.CodedColumns._distance": (89, 89),
    "row_multisets.CodedColumns._is_pair": (67, 67), "row_multisets.CodedColumns._tighten": (342, 338),
    "row_multisets.CodedColumns.agree_in_order": (119, 118), "row_multisets.CodedColumns.options": (309, 309),
    "row_multisets.CodedColumns.unequal_in_order": (224, 222), "row_multisets.RowCodes.split": (285, 281),
    "row_multisets.Work.connect": (20200, 20200), "row_multisets.Work.look": (101100, 101100), "row_multisets.Work.walk": (2400, 2400),
    "row_multisets._flows": (73, 73), "row_multisets.class_agrees": (65, 65), "strict_columns.StrictColumn.arrays": (1959, 1952),
    "strict_columns.StrictColumn.cell": (513, 377), "strict_columns.StrictColumn.cells_at": (1630, 1394),
    "strict_columns.StrictColumn.sketch": (1265, 1264), "strict_columns._greedy": (9, 9),
    "strict_columns.all_pairs_equal": (159, 156), "strict_columns.can_pair": (64, 64), "strict_columns.equal": (3359, 3355),
    "strict_columns.key": (2856, 3051), "strict_matching.FirstRows.possible_columns": (398, 398),
    "strict_matching._first_fitting": (364, 364), "strict_matching.explain": (227, 227), "strict_matching.heads_fit": (1634, 1634),
    "strict_matching.unequal_rows": (668, 668), "table_diff.BulkDiff._without_equal": (376, 0),
    "table_diff.TableDiff.cells": (1518, 1502), "table_diff.TableDiff.head": (3298, 2797), "table_diff.TableDiff.identical": (358, 358),
    "table_diff.TableDiff.is_same_text": (542, 491), "table_diff.TableDiff.look": (2245, 1733),
    "table_diff.TableDiff.row_by_key": (238, 238), "table_diff._are_texts_in_place": (379, 379), "table_diff.compare": (358, 358),
    "table_hashes.HashedRows._same_columns": (0, 0),
    "table_hashes.HashedRows._same_texts": (91, 72), "table_hashes.HashedRows.are_confirmed": (241, 170),
    "table_hashes.HashedRows.compare": (621, 483), "table_hashes.HashedRows.rows": (720, 533), "table_hashes._spare_hashes": (74, 8),
    "values.plain_amounts": (66, 65), "values.read_cell": (6519, 6391),
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
    """How often each function of `WORK` is called inside, with the same keys of hashes each time."""
    names, calls = {code_of(name): name for name in WORK}, dict.fromkeys(WORK, 0)

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (name := names.get(frame.f_code)):
            # What counts work is told how much.
            calls[name] += round(100 * frame.f_locals.get("n", frame.f_locals.get("n_cells"))) if name in SUMS else 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.compare.packed_text.urandom", Random(7).randbytes)
        sys.setprofile(count)
        try:
            yield calls
        finally:
            sys.setprofile(None)


@pytest.mark.parametrize("packed_cells", [0, 1 << 60])
@pytest.mark.parametrize("are_low", [False, True])
def test_tables(packed_cells: int, are_low: bool) -> None:
    """In order and in any order, each kind of difference; no function is called more often: a lost short-cut shows in that alone."""
    rows, name = [row for row in ROWS if row["scorer"] not in ANSWERS], ("low" if packed_cells else "low packed") if are_low else "score"
    with limits(packed_cells, are_low=are_low), nullcontext() if are_low else counted() as calls:
        found = [(row["answer"], row["gold"], score_of(row)) for row in rows]
    assert found == [(row["answer"], row["gold"], row.get(name, row["score"])) for row in rows]
    assert all(row.get(name, row["score"])[:2] == row["score"][:2] for row in rows)
    assert are_low or {name: n for name, n in (calls or {}).items() if n > WORK[name][packed_cells > 0]} == {}
