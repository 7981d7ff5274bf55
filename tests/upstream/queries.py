"""Made pairs of queries, gold and predicted, for the evaluators of BIRD and of the Spider test suite, and the databases they run on."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

NAMES: Final = ("Ada", "Bo", "Cem", "Dana", "Eli", "Fay")
# Columns as SQL expressions on one table, and conditions: gold and prediction differ in one of the parts.
_COLUMNS: Final = ("name", "amount", "id", "day", "amount * 1.0", "count(*)", "sum(amount)", "max(day)", "avg(amount)", "lower(name)")
_CONDITIONS: Final = (
    *("", " WHERE amount > 10", " WHERE amount >= 10", " WHERE name = 'Ada'", " WHERE name LIKE 'a%'", " WHERE day IS NOT NULL"),
)
_ENDS: Final = ("", " GROUP BY name", " ORDER BY amount", " ORDER BY amount DESC", " ORDER BY id LIMIT 2", " ORDER BY amount LIMIT 1")
_BROKEN: Final = ("SELECT nothing FROM sales", "SELEC 1", "SELECT 1 WHERE 0")


def make_databases(folder: Path, seed: int) -> list[str]:
    """Write two databases below `folder/<name>/<name>.sqlite`, one of them with a second file of other rows; their names."""
    rng = random.Random(f"{seed} databases")
    for name, files in (("shop", ("shop", "shop_other")), ("club", ("club",))):
        (folder / name).mkdir(parents=True)
        for file in files:
            with sqlite3.connect(folder / name / f"{file}.sqlite") as connection:
                connection.execute("CREATE TABLE sales (id INTEGER, name TEXT, amount REAL, day TEXT)")
                rows = [
                    (i, rng.choice(NAMES), rng.choice((None, 5, 10, 10.5, 20, 99)), rng.choice((None, f"2026-01-{i + 1:02}")))
                    for i in range(12)
                ]
                connection.executemany("INSERT INTO sales VALUES (?, ?, ?, ?)", rows)
            connection.close()
    return ["shop", "club"]


def query_pairs(seed: int, n: int, databases: list[str]) -> Iterator[dict[str, Any]]:
    """`n` pairs with the database of each: a copy, a query with one part changed, one that is written otherwise, or one that fails."""
    rng = random.Random(f"{seed} queries")
    for i in range(n):
        parts = [rng.choice(_COLUMNS), rng.choice(_CONDITIONS), rng.choice(_ENDS)]
        other = list(parts)
        at = rng.randrange(4)
        if at < 3:
            other[at] = rng.choice((_COLUMNS, _CONDITIONS, _ENDS)[at])
        predicted = _query(rng, other) if rng.random() > 0.1 else rng.choice(_BROKEN)
        yield {"id": i, "db_id": rng.choice(databases), "gold": _query(None, parts), "predicted": predicted}


def _query(rng: random.Random | None, parts: list[str]) -> str:
    """The query of these parts; with a generator perhaps in other words."""
    columns, condition, end = parts
    text = f"SELECT {columns} FROM sales{condition}{end}"
    if rng is None or rng.random() < 0.5:
        return text
    return rng.choice(
        (
            f"SELECT DISTINCT {columns} FROM sales{condition}{end}",
            f"SELECT {columns}, id FROM sales{condition}{end}",
            f"select {columns} from sales as s{condition.lower() if 'A' not in condition else condition}{end}",
            f"SELECT * FROM ({text})",
            f"{text};",
        )
    )
