"""Pairs of SQLite queries, whole process with isolation on, in units of the CPU of a bare loop that runs both queries of each."""

import json
import random
import sqlite3
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import side_by_side

_LOOP = """
import json, sqlite3, sys
gold, predictions, database = sys.argv[1:]
answers = json.load(open(predictions))
connection = sqlite3.connect(database)
right = 0
for number, line in enumerate(open(gold)):
    rows = connection.execute(line.rpartition("\\t")[0]).fetchall()
    right += set(connection.execute(answers[str(number)].partition("\\t")[0]).fetchall()) == set(rows)
print(right)
"""
# What is asked of the sales: most read the whole table, some give many rows.
_QUERIES = (
    "SELECT count(*), sum(amount) FROM sale WHERE shop = {a} AND amount > {b}",
    "SELECT product, round(avg(amount), 2) FROM sale WHERE shop < {a} GROUP BY product ORDER BY 2 DESC",
    "SELECT day, count(*) FROM sale WHERE product = 'p{a}' GROUP BY day",
    "SELECT s.name, max(x.amount) FROM sale AS x JOIN shop AS s ON s.id = x.shop WHERE x.amount < {b} GROUP BY s.name",
    "SELECT id, amount FROM sale WHERE amount BETWEEN {b} AND {b} + 5",
)


def write_pairs(folder: Path, *, n_pairs: int, rows: int) -> tuple[Path, Path, Path]:
    """(gold.sql, pred.json, the database) of so many pairs in BIRD's layout, half of them right."""
    rng = random.Random(7)
    place = folder / "databases" / "shop" / "shop.sqlite"
    place.parent.mkdir(parents=True)
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("CREATE TABLE sale (id INTEGER PRIMARY KEY, shop INTEGER, product TEXT, day TEXT, amount REAL)")
        connection.executemany("INSERT INTO shop VALUES (?, ?)", [(i, f"shop {i}") for i in range(40)])
        sales = (
            (
                rng.randrange(40),
                f"p{rng.randrange(60)}",
                f"2025-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
                round(rng.random() * 500, 2),
            )
            for _ in range(rows)
        )
        connection.executemany("INSERT INTO sale (shop, product, day, amount) VALUES (?, ?, ?, ?)", sales)
    connection.close()
    gold, answers = [], {}
    for i in range(n_pairs):
        query = _QUERIES[i % len(_QUERIES)].format(a=rng.randrange(1, 40), b=rng.randrange(500))
        answer = query.replace("amount", "x.amount").replace("FROM sale WHERE", "FROM sale AS x WHERE") if "JOIN" not in query else query
        gold.append(f"{query}\tshop")
        answers[str(i)] = (answer if i % 2 else answer.replace("sum(", "max(").replace(">", ">=")) + "\t----- bird -----\tshop"
    (folder / "gold.sql").write_text("\n".join(gold) + "\n", encoding="utf-8")
    (folder / "pred.json").write_text(json.dumps(answers), encoding="utf-8")
    return folder / "gold.sql", folder / "pred.json", place


def run(scratch: Path, *, n: int = 5, n_pairs: int = 740, rows: int = 30_000) -> dict[str, Any]:
    """The ratio and both CPU seconds."""
    gold, answers, place = write_pairs(scratch, n_pairs=n_pairs, rows=rows)
    run_one = ["run", str(answers), "--gold", str(gold), "--databases", str(place.parents[1]), "--rules", "bird-ex", "--no-save", "--quiet"]
    commands = {
        "loop": [sys.executable, "-c", _LOOP, str(gold), str(answers), str(place)],
        "evalsuite": [sys.executable, "-m", "evalsuite", *run_one],
    }
    costs = side_by_side(commands, n=n)
    loop, own = (costs[name].cpu_seconds for name in ("loop", "evalsuite"))
    return {"ratio": round(own / loop, 2), "loop_seconds": round(loop, 2), "own_seconds": round(own, 2), "n_pairs": n_pairs}
