"""Each word of a score: both verdicts, both reasons, the cause of a flip, all details.

A table is written as `a,b;1,x;2,y`, one of a database as `a:BIGINT,b:VARCHAR;1,x;2,y`. Tables are compared cell by cell and as packed
text, and again with low limits, which may change what a reason compares, but no verdict.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
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


@pytest.mark.parametrize("packed_cells", [0, 1 << 60])
@pytest.mark.parametrize("are_low", [False, True])
def test_tables(packed_cells: int, are_low: bool) -> None:
    """In order and in any order, each kind of difference."""
    rows, name = [row for row in ROWS if row["scorer"] not in ANSWERS], ("low" if packed_cells else "low packed") if are_low else "score"
    with limits(packed_cells, are_low=are_low):
        found = [(row["answer"], row["gold"], score_of(row)) for row in rows]
    assert found == [(row["answer"], row["gold"], row.get(name, row["score"])) for row in rows]
    assert all(row.get(name, row["score"])[:2] == row["score"][:2] for row in rows)
