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
    "bipartite_matching._push": (109, 109), "bipartite_matching.bipartite_matching": (495, 495), "columns.Arrays.make_room": (2283, 1800),
    "columns.Arrays.once": (6527, 4710), "columns.Arrays.put": (2224, 1794), "columns.Column.are_null": (143, 0),
    "columns.Column.has_long_integer": (170, 0), "columns.Column.once": (11937, 9507), "columns.Column.summary": (540, 305),
    "columns.PackedColumn._read": (816, 0), "columns.PackedColumn.cells": (521, 0), "columns.PackedColumn.rows_of": (24, 0),
    "columns.PackedColumn.texts": (621, 0), "columns._has_long": (481, 1090), "margins._Work.take": (1369280, 580600),
    "margins._column_margin": (348, 350), "margins._distance": (1045, 996), "margins._smallest_margin": (230, 226),
    "messages.cells_differ": (336, 336), "number_columns._any_number": (2660, 822), "number_columns._are_tight": (209, 206),
    "number_columns._parse": (489, 239), "number_columns.differ_officially": (97, 0), "number_columns.in_order": (782, 704),
    "number_columns.join_blocks": (554, 313), "number_columns.number_groups": (275, 272), "number_columns.numbers_of": (613, 371),
    "number_columns.officially_equal": (118, 0), "number_columns.surely_strictly_equal": (219, 218),
    "number_columns.surely_unequal": (303, 0), "number_columns.widest": (869, 857), "numbers._by_floats": (306, 306),
    "numbers.equal_but_for_noise": (117, 117), "numbers.is_rounding": (52, 52), "numbers.numbers_equal": (2355, 2354),
    "numbers.reach": (145, 145), "official_cells._typed_numbers": (532, 1046), "official_cells.cells_equal": (383, 586),
    "official_cells.columns_equal": (80, 409), "official_cells.differing_rows": (212, 281), "official_cells.official_frame": (148, 198),
    "official_cells.raw_column": (1332, 2437), "official_cells.typed_column": (553, 1067),
    "official_tables.OfficialColumns._kind": (491, 0), "official_tables.OfficialColumns._numbers_as_bags": (54, 0),
    "official_tables.OfficialColumns._unequal": (137, 0), "official_tables.OfficialColumns._unequal_cells": (27, 0),
    "official_tables.OfficialColumns.are_equal": (510, 0), "official_tables.OfficialColumns.kind": (1343, 0),
    "official_tables.Side.fingerprint": (51, 794), "official_tables.Side.unsorted_column": (583, 1485),
    "official_tables.compare_sides": (27, 268), "official_tables.is_safe_text": (269, 655), "packed_text.Block.hashes": (706, 678),
    "packed_text.Block.texts": (988, 2), "packed_text.Keys.of_rows": (350, 299), "packed_text.Packed.rows": (1456, 0),
    "packed_text._unpack": (562, 210), "packed_text.equal_cells": (263, 13), "packed_text.is_same_run": (94, 0),
    "row_multisets.CodedColumns._are_apart": (190, 186), "row_multisets.CodedColumns._can_pair": (109, 109),
    "row_multisets.CodedColumns._compute_codes": (275, 272), "row_multisets.CodedColumns._distance": (50, 50),
    "row_multisets.CodedColumns._is_pair": (62, 62), "row_multisets.CodedColumns._tighten": (275, 272),
    "row_multisets.CodedColumns.agree_in_order": (98, 97), "row_multisets.CodedColumns.options": (255, 255),
    "row_multisets.CodedColumns.unequal_in_order": (182, 180), "row_multisets.RowCodes.split": (201, 198),
    "row_multisets.Work.connect": (17500, 17500), "row_multisets.Work.look": (74400, 74400), "row_multisets.Work.walk": (2400, 2400),
    "row_multisets._flows": (62, 62), "row_multisets.class_agrees": (54, 54), "strict_columns.StrictColumn.arrays": (1524, 1517),
    "strict_columns.StrictColumn.cell": (411, 313), "strict_columns.StrictColumn.cells_at": (1341, 1153),
    "strict_columns.StrictColumn.sketch": (1024, 1025), "strict_columns._greedy": (8, 8), "strict_columns._spans": (133, 130),
    "strict_columns.all_pairs_equal": (146, 143), "strict_columns.can_pair": (60, 60), "strict_columns.equal": (2787, 2786),
    "strict_columns.key": (2569, 2712), "strict_matching.FirstRows.possible_columns": (328, 328),
    "strict_matching._first_fitting": (296, 296), "strict_matching.explain": (192, 192), "strict_matching.heads_fit": (1381, 1381),
    "strict_matching.unequal_rows": (571, 571), "table_diff.BulkDiff._without_equal": (297, 0),
    "table_diff.TableDiff.cells": (1302, 1286), "table_diff.TableDiff.head": (2660, 2238), "table_diff.TableDiff.identical": (287, 287),
    "table_diff.TableDiff.is_same_text": (436, 394), "table_diff.TableDiff.look": (1857, 1427),
    "table_diff.TableDiff.row_by_key": (199, 199), "table_diff._are_texts_in_place": (302, 302), "table_diff.compare": (286, 286),
    "table_hashes.HashedRows._same_columns": (0, 0), "table_hashes.HashedRows.are_confirmed": (212, 156),
    "table_hashes.HashedRows.compare": (858, 742), "table_hashes.HashedRows.rows": (590, 444), "table_hashes._spare_hashes": (59, 6),
    "values.plain_amounts": (59, 58), "values.read_cell": (5503, 5393),
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
    """In order and in any order, each kind of difference; a short-cut that is lost shows in the number of calls alone."""
    rows, name = [row for row in ROWS if row["scorer"] not in ANSWERS], ("low" if packed_cells else "low packed") if are_low else "score"
    with limits(packed_cells, are_low=are_low), nullcontext() if are_low else counted() as calls:
        found = [(row["answer"], row["gold"], score_of(row)) for row in rows]
    assert found == [(row["answer"], row["gold"], row.get(name, row["score"])) for row in rows]
    assert all(row.get(name, row["score"])[:2] == row["score"][:2] for row in rows)
    assert are_low or calls == {name: counts[packed_cells > 0] for name, counts in WORK.items()}
