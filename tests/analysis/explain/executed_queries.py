"""Gold and submissions of real SQL with one mistake each; only running the queries can prove the cause."""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.analysis.explain.planted_queries import answered, database


@dataclass(frozen=True)
class Planted:
    """A right query, a wrong one, and the names that the cause may have."""

    right: str
    wrong: str
    names: Sequence[str]


_ORDERS = "SELECT count(*) AS n, sum(amount) AS total, avg(quantity) AS mean FROM orders"
_CITIES = "SELECT city, count(*) AS n, sum(amount) AS total FROM orders JOIN customers USING (customer)"
_FILTER = ("missing filter", "wrong condition", "wrong join")
_BOUND, _JOIN, _GROUP = ("wrong bound", "wrong condition"), ("wrong join", "join lost", "missing filter"), ("wrong grouping level",)
_VALUE, _ONCE = (
    ("wrong expression", "wrong aggregate", "rounding", "times 100", "sign"),
    ("rows duplicated", "distinct too many", "wrong aggregate"),
)


def planted() -> Iterator[Planted]:
    """One mistake each, the right query first."""
    for clause in (
        *("region = 'N'", "state <> 'void'", "amount > 100", "quantity BETWEEN 3 AND 6", "discount IS NULL", "product LIKE 'Desk%'"),
        *("channel IN ('web', 'shop')", "ordered >= '2022-03-01'"),
    ):
        yield Planted(f"{_ORDERS} WHERE {clause}", _ORDERS, _FILTER)
        yield Planted(f"{_ORDERS} WHERE {clause} AND region <> 'E'", f"{_ORDERS} WHERE region <> 'E'", _FILTER)
        grouped = "SELECT region, sum(amount) AS total FROM orders {} GROUP BY region"
        yield Planted(grouped.format(""), grouped.format(f"WHERE {clause}"), ("filter too many", "missing rows", "wrong condition"))
    yield Planted(f"{_CITIES} WHERE segment = 'A' GROUP BY city", f"{_CITIES} GROUP BY city", _FILTER)
    yield Planted(f"{_CITIES} GROUP BY city HAVING count(*) > 40", f"{_CITIES} GROUP BY city", (*_FILTER, "extra rows"))
    for right, wrong in (
        ("amount > 150", "amount >= 100"),
        ("quantity > 3", "quantity >= 3"),
        ("quantity < 9", "quantity <= 9"),
        ("quantity BETWEEN 3 AND 6", "quantity > 3 AND quantity < 6"),
        ("quantity >= 4", "quantity >= 5"),
        ("ordered >= '2022-05-01'", "ordered >= '2022-05-02'"),
        ("ordered < '2022-01-01'", "ordered < '2022-01-02'"),
        ("year(ordered) = 2022", "year(ordered) = 2021"),
        ("region = 'N' AND state = 'paid'", "region = 'N' OR state = 'paid'"),
        ("region = 'N'", "region <> 'N'"),
        ("product LIKE 'Lamp%'", "product LIKE '%Lamp'"),
        ("product LIKE '%small'", "NOT product LIKE '%small'"),
        ("channel IN ('web', 'shop')", "channel IN ('web')"),
        ("discount IS NOT NULL", "discount IS NULL"),
        ("region IN ('N', 'S') AND quantity > 2", "region IN ('N', 'S') AND quantity > 1"),
    ):
        yield Planted(f"{_ORDERS} WHERE {right}", f"{_ORDERS} WHERE {wrong}", (*_BOUND, "missing filter", "wrong condition"))
    inner = "SELECT count(*) AS n, sum(o.amount) AS total FROM orders o {} c ON o.customer = c.customer"
    yield Planted(inner.format("JOIN customers"), inner.format("LEFT JOIN customers"), _JOIN)
    yield Planted(inner.format("LEFT JOIN customers"), inner.format("JOIN customers"), _JOIN)
    on = "SELECT count(*) AS n, sum(o.amount) AS total FROM orders o JOIN customers c ON o.customer = c.customer {}"
    yield Planted(on.format("AND c.segment = 'A'"), on.format(""), _JOIN)
    yield Planted(on.format("WHERE c.segment = 'B'"), on.format("WHERE c.segment = 'C'"), _FILTER)
    both = "SELECT city, count(*) AS n FROM customers c {} orders o ON o.customer = c.customer GROUP BY city"
    yield Planted(both.format("LEFT JOIN"), both.format("FULL JOIN"), _JOIN)
    yield Planted("SELECT count(DISTINCT customer) AS n FROM orders", "SELECT count(customer) AS n FROM orders", _ONCE)
    yield Planted(
        "SELECT count(customer) AS n, sum(cost) AS c FROM orders", "SELECT count(DISTINCT customer) AS n, sum(cost) AS c FROM orders", _ONCE
    )
    yield Planted("SELECT DISTINCT product, state FROM orders", "SELECT product, state FROM orders", _ONCE)
    union = "SELECT region, state FROM orders WHERE amount > 300 UNION{} SELECT region, state FROM orders WHERE quantity > 9"
    yield Planted(union.format(""), union.format(" ALL"), _ONCE)
    yield Planted(union.format(" ALL"), union.format(""), (*_ONCE, "missing rows"))
    fine = "SELECT region, channel, sum(amount) AS total FROM orders GROUP BY region, channel"
    coarse = "SELECT region, sum(amount) AS total FROM orders GROUP BY region"
    yield Planted(fine, coarse, _GROUP)
    yield Planted(coarse, "SELECT region, avg(amount) AS total FROM orders GROUP BY region", _VALUE)
    yield Planted(
        "SELECT region, count(*) AS n FROM orders WHERE state = 'paid' GROUP BY region",
        "SELECT region, count(*) AS n FROM orders WHERE state = 'paid' GROUP BY region, state, channel",
        _GROUP,
    )
    for right, wrong in (
        ("sum(amount)", "avg(amount)"),
        ("max(amount)", "min(amount)"),
        ("median(amount)", "avg(amount)"),
        ("sum(quantity)", "count(quantity)"),
        ("count(discount)", "count(*)"),
        ("sum(amount - cost)", "sum(cost - amount)"),
        ("avg(coalesce(discount, 0))", "avg(discount)"),
        ("sum(amount) / sum(cost)", "sum(cost) / sum(amount)"),
        ("round(avg(amount))", "avg(amount)"),
        ("100 * avg(discount)", "avg(discount)"),
        ("sum(amount * quantity)", "sum(amount)"),
    ):  # fmt: skip
        yield Planted(
            f"SELECT region, {right} AS x FROM orders GROUP BY region", f"SELECT region, {wrong} AS x FROM orders GROUP BY region", _VALUE
        )
    ranked = "SELECT id, amount FROM orders ORDER BY amount {} LIMIT {}"
    yield Planted(ranked.format("DESC", 5), ranked.format("ASC", 5), ("wrong order",))
    yield Planted(ranked.format("DESC", 5), ranked.format("DESC", 6), ("wrong limit", "extra rows", "missing filter"))
    yield Planted(ranked.format("DESC", 5), ranked.format("DESC", 10), ("wrong limit", "extra rows", "missing filter"))
    yield Planted(ranked.format("DESC", 10), ranked.format("DESC", 1), ("wrong limit", "missing rows"))
    over = "SELECT id, {} OVER (ORDER BY quantity DESC) AS place FROM orders WHERE id < 10040"
    yield Planted(over.format("rank()"), over.format("dense_rank()"), _VALUE)


def write_folders(root: Path, cases: Sequence[Planted], turns: Sequence[int] = (0, 1, 2)) -> None:
    """Make `gold`, `sub` and `dbs` below `root`.

    In turn, or as `turns` say, gold's query stands beside an answer's table, beside an answer's query, and the answer's query is alone (but
    where a filter is missing, which nothing but gold's query names).
    """
    for name in ("gold", "sub", "dbs"):
        (root / name).mkdir()
    connection = database()
    connection.execute(f"ATTACH '{root / 'dbs' / 'shop.duckdb'}' AS made")
    for table in ("customers", "orders"):
        connection.execute(f"CREATE TABLE made.{table} AS FROM {table}")
    connection.execute("DETACH made")
    lines, handed_in = [], []
    for i, case in enumerate(cases):
        id_, turn = f"q{i:03}", turns[i % len(turns)]
        answer = "a.sql" if turn else "a.csv"
        for side in ("gold", "sub"):
            (root / side / id_).mkdir()
        _write(case.right, root / "gold" / id_ / "g.csv")
        if turn != 2 or case.names is _FILTER:
            (root / "gold" / id_ / "gold.sql").write_text(case.right, encoding="utf-8")
        if answer == "a.csv":
            _write(case.wrong, root / "sub" / id_ / answer)
        else:
            (root / "sub" / id_ / answer).write_text(case.wrong, encoding="utf-8")
        parameters = {"gold": "g.csv", "ignore_order": "ORDER BY" not in case.right}
        lines.append({"instance_id": id_, "connection": "shop", "evaluation": {"func": "table_match", "parameters": parameters}})
        handed_in.append({"instance_id": id_, "answer_type": "file", "answer_or_path": answer})
    for place, rows in (("gold/s_eval.jsonl", lines), ("sub/results_metadata.jsonl", handed_in)):
        (root / place).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (root / "gold" / "suite.yaml").write_text("connections:\n  shop: {engine: duckdb, database: shop.duckdb}\n", encoding="utf-8")


def _write(query: str, place: Path) -> None:
    table = answered(query)
    with place.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([table.header, *zip(*table.columns, strict=True)])
