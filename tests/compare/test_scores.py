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
from tests.properties import is_full

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
    "bipartite_matching._push": (140, 140), "bipartite_matching.bipartite_matching": (616, 616), "columns.Arrays.make_room": (3055, 2339),
    "columns.Arrays.once": (8692, 6236), "columns.Arrays.put": (2991, 2329), "columns.Column.are_null": (217, 0),
    "columns.Column.has_long_integer": (223, 0), "columns.Column.once": (15033, 11673), "columns.Column.summary": (714, 398),
    "columns.PackedColumn._read": (869, 0), "columns.PackedColumn.cells": (555, 0), "columns.PackedColumn.rows_of": (24, 0),
    "columns.PackedColumn.texts": (667, 0), "margins._Work.take": (1580600, 683800), "margins._column_margin": (426, 428),
    "margins._distance": (1174, 1105), "margins._smallest_margin": (275, 270), "messages.cells_differ": (432, 432),
    "number_columns._any_number": (3464, 1027), "number_columns._are_tight": (268, 264), "number_columns._parse": (660, 326),
    "number_columns.differ_officially": (143, 0), "number_columns.in_order": (1155, 1047), "number_columns.join_blocks": (730, 406),
    "number_columns.number_groups": (362, 358), "number_columns.numbers_of": (796, 471), "number_columns.officially_equal": (158, 0),
    "number_columns.surely_strictly_equal": (279, 278), "number_columns.surely_unequal": (427, 0), "number_columns.widest": (1116, 1101),
    "numbers.are_far_apart": (374, 374), "numbers.equal_but_for_noise": (210, 210), "numbers.is_rounding": (57, 57),
    "numbers.numbers_equal": (3053, 3049), "numbers.reach": (177, 177), "official_cells._typed_numbers": (647, 1349),
    "official_cells.cells_equal": (434, 676), "official_cells.columns_equal": (99, 533), "official_cells.differing_rows": (243, 326),
    "official_cells.official_frame": (184, 280), "official_cells.raw_column": (1830, 3338), "official_cells.typed_column": (674, 1376),
    "official_tables.OfficialColumns._kind": (628, 0), "official_tables.OfficialColumns._numbers_as_bags": (73, 0),
    "official_tables.OfficialColumns._unequal": (170, 0), "official_tables.OfficialColumns._unequal_cells": (28, 0),
    "official_tables.OfficialColumns.are_equal": (654, 0), "official_tables.OfficialColumns.kind": (1684, 0),
    "official_tables.Side.fingerprint": (65, 1063), "official_tables.Side.unsorted_column": (712, 1840),
    "official_tables.compare_sides": (39, 349), "official_tables.is_safe_text": (576, 903), "packed_text.Block.hashes": (961, 907),
    "packed_text.Block.texts": (1126, 4), "packed_text.Keys.of_rows": (470, 373), "packed_text.Packed.rows": (1652, 0),
    "packed_text._unpack": (750, 268), "packed_text.equal_cells": (348, 19), "packed_text.is_same_run": (112, 0),
    "row_multisets.CodedColumns._are_apart": (237, 232), "row_multisets.CodedColumns._can_pair": (129, 129),
    "row_multisets.CodedColumns._compute_codes": (362, 358), "row_multisets.CodedColumns._distance": (101, 101),
    "row_multisets.CodedColumns._is_pair": (75, 75), "row_multisets.CodedColumns._tighten": (362, 358),
    "row_multisets.CodedColumns.agree_in_order": (134, 133), "row_multisets.CodedColumns.options": (315, 315),
    "row_multisets.CodedColumns.unequal_in_order": (246, 244), "row_multisets.RowCodes.split": (309, 305),
    "row_multisets.Work.connect": (21300, 21300), "row_multisets.Work.look": (108300, 108300), "row_multisets.Work.walk": (3000, 3000),
    "row_multisets._flows": (75, 75), "row_multisets.class_agrees": (67, 67), "strict_columns.StrictColumn.arrays": (2079, 2072),
    "strict_columns.StrictColumn.cell": (537, 399), "strict_columns.StrictColumn.cells_at": (1761, 1523),
    "strict_columns.StrictColumn.sketch": (1302, 1301), "strict_columns._greedy": (11, 11), "strict_columns.all_pairs_equal": (164, 161),
    "strict_columns.can_pair": (72, 72), "strict_columns.equal": (3539, 3535), "strict_columns.key": (2976, 3171),
    "strict_matching.FirstRows.possible_columns": (409, 409), "strict_matching._first_fitting": (369, 369),
    "strict_matching.explain": (231, 231), "strict_matching.heads_fit": (1692, 1692), "strict_matching.unequal_rows": (692, 692),
    "table_diff.BulkDiff._without_equal": (395, 0), "table_diff.TableDiff.cells": (1576, 1560), "table_diff.TableDiff.head": (3480, 2912),
    "table_diff.TableDiff.identical": (380, 380), "table_diff.TableDiff.is_same_text": (559, 506),
    "table_diff.TableDiff.look": (2366, 1783), "table_diff.TableDiff.row_by_key": (260, 260), "table_diff._are_texts_in_place": (415, 415),
    "table_diff.compare": (384, 384), "table_hashes.HashedRows._same_columns": (0, 0), "table_hashes.HashedRows._same_texts": (107, 82),
    "table_hashes.HashedRows.are_confirmed": (249, 177), "table_hashes.HashedRows.compare": (656, 490),
    "table_hashes.HashedRows.rows": (752, 555), "table_hashes._spare_hashes": (77, 10), "values.plain_amounts": (66, 65),
    "values.read_cell": (6745, 6623),
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
    # By identity: a code object is hashed anew, with all that it contains, each time.
    names, calls = {id(code_of(name)): name for name in WORK}, dict.fromkeys(WORK, 0)

    def count(frame: FrameType, *_: object) -> None:
        if name := names.get(id(frame.f_code)):
            # What counts work is told how much.
            calls[name] += round(100 * frame.f_locals.get("n", frame.f_locals.get("n_cells"))) if name in SUMS else 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.compare.packed_text.urandom", Random(7).randbytes)
        sys.settrace(count)
        try:
            yield calls
        finally:
            sys.settrace(None)


@pytest.mark.parametrize("packed_cells", [0, 1 << 60])
@pytest.mark.parametrize("are_low", [False, True])
def test_tables(packed_cells: int, are_low: bool) -> None:
    """In order and in any order, each kind of difference; no function is called more often: a lost short-cut shows in that alone.

    With low limits, of the rows that these do not change the line takes one half packed, the other half cell by cell.
    """
    rows, name = [row for row in ROWS if row["scorer"] not in ANSWERS], ("low" if packed_cells else "low packed") if are_low else "score"
    if are_low and not is_full():
        rows = [row for at, row in enumerate(rows) if name in row or at % 2 == (packed_cells > 0)]
    with limits(packed_cells, are_low=are_low), nullcontext() if are_low else counted() as calls:
        found = [(row["answer"], row["gold"], score_of(row)) for row in rows]
    assert found == [(row["answer"], row["gold"], row.get(name, row["score"])) for row in rows]
    assert all(row.get(name, row["score"])[:2] == row["score"][:2] for row in rows)
    assert are_low or {name: n for name, n in (calls or {}).items() if n > WORK[name][packed_cells > 0]} == {}


@pytest.mark.parametrize("decimals", [2, 4])
def test_wide_tables_whose_columns_differ_only_in_order(decimals: int) -> None:
    """Neither the columns of one number each nor their roundings cost by pairs of columns, wrong or right under other names."""
    n, random = 24, Random(1)
    cells = [f"{at * 1.37 + 0.1137:.4f}" for at in range(9)]
    gold, other = ([random.sample(cells, len(cells)) for _ in range(n)] for _ in range(2))
    order, columns = random.sample(range(len(cells)), len(cells)), random.sample(range(n), n)
    for side, value in ((other, 0), ([[gold[i][row] for row in order] for i in columns], 1)):
        predicted = [[f"{float(cell):.{decimals}f}" for cell in column] for column in side]
        sides = [
            Table(header=tuple(f"{word}{'x' * i}" for i in range(n)), columns=tuple(table), n_rows=len(cells))
            for word, table in (("as", predicted), ("gold", gold))
        ]
        with counted() as calls:
            score = SCORERS.load("table_match").function(sides[0], gold=sides[1], ignore_order=True)
        assert score.strict == value
        assert max(calls[f"row_multisets.CodedColumns.{name}"] for name in ("_is_pair", "_are_apart")) <= 2
        assert calls["row_multisets.RowCodes.split"] <= 10 * n
