"""Pairs of SQLite queries, whole process with isolation on, in units of the CPU of a bare loop that runs both queries of each.

No answer has gold's own text; every fifth has it; and nothing has changed since the run before, whose verdicts are known.
"""

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
    """(gold.sql, pred.json, the database) of so many pairs in BIRD's layout, most of them right; `own.json` has gold's text for a fifth."""
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
    gold, answers, own = [], {}, {}
    for i in range(n_pairs):
        query = _QUERIES[i % len(_QUERIES)].format(a=rng.randrange(1, 40), b=rng.randrange(500))
        answer = query.replace("amount", "x.amount").replace("FROM sale WHERE", "FROM sale AS x WHERE") if "JOIN" not in query else query
        gold.append(f"{query}\tshop")
        answer = answer if i % 2 else answer.replace("sum(", "max(").replace(">", ">=")
        own[str(i)] = f"{answer}\t----- bird -----\tshop"
        answers[str(i)] = f"{answer} -- {i}\t----- bird -----\tshop"
    (folder / "gold.sql").write_text("\n".join(gold) + "\n", encoding="utf-8")
    for name, queries in (("pred.json", answers), ("own.json", own)):
        (folder / name).write_text(json.dumps(queries), encoding="utf-8")
    return folder / "gold.sql", folder / "pred.json", place


def run(scratch: Path, *, n: int = 5, n_pairs: int = 740, rows: int = 30_000) -> dict[str, Any]:
    """The ratios and the CPU seconds of the loop and of what is asked for the first time."""
    gold, answers, place = write_pairs(scratch, n_pairs=n_pairs, rows=rows)

    def command(answers: Path, *words: str) -> list[str]:
        asked = ["--gold", str(gold), "--databases", str(place.parents[1]), "--rules", "bird-ex", "--no-save", "--quiet"]
        return [sys.executable, "-m", "evalsuite", "run", str(answers), *asked, *words]

    commands = {
        "loop": [sys.executable, "-c", _LOOP, str(gold), str(answers), str(place)],
        "ratio": command(answers, "--no-cache"),
        "own_text": command(answers.with_name("own.json"), "--no-cache"),
        "again": command(answers),
    }
    seconds = {name: cost.cpu_seconds for name, cost in side_by_side(commands, n=n).items()}
    ratios = {name: round(seconds[name] / seconds["loop"], 2) for name in ("ratio", "own_text", "again")}
    return {**ratios, "loop_seconds": round(seconds["loop"], 2), "own_seconds": round(seconds["ratio"], 2), "n_pairs": n_pairs}
