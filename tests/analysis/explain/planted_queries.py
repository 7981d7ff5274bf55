"""Real SQL over a made database: right queries next to wrong ones, each with its cause."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

from evalsuite.analysis.explain.instance_evidence import explain
from evalsuite.core.types import Table
from evalsuite.scorers import SCORERS

REGIONS, CHANNELS, STATES = ("N", "E", "S", "W"), ("web", "shop", "phone"), ("paid", "open", "void", "returned", "lost")
PRODUCTS = tuple(f"{kind} {size}" for kind in ("Lamp", "Chair", "Desk", "Rug") for size in ("small", "medium", "large"))


@cache
def database() -> Any:
    """A connection to 400 orders of 60 customers, made with a fixed seed; some have no customer, city, discount or day of shipping."""
    import duckdb

    random_, connection = random.Random(4), duckdb.connect()
    connection.execute("CREATE TABLE customers (customer INTEGER, name VARCHAR, city VARCHAR, segment VARCHAR)")
    customers, orders = list[list[Any]](), list[list[Any]]()
    for n in range(1, 61):
        city = None if n % 9 == 0 else random_.choice(["Bergen", "Oslo", "Roma", "Lyon", "Graz"])
        customers.append([1000 + n, f"Customer {n:03}", city, random_.choice("ABC")])
    connection.execute(
        "CREATE TABLE orders (id INTEGER, customer INTEGER, product VARCHAR, region VARCHAR, channel VARCHAR, state VARCHAR,"
        " quantity INTEGER, amount DECIMAL(10, 2), cost DECIMAL(10, 2), discount DECIMAL(4, 2), ordered TIMESTAMP, shipped DATE)"
    )
    for n in range(1, 401):
        day = datetime(2021, 1, 4, 8) + timedelta(hours=random_.randrange(3 * 365 * 24), minutes=random_.randrange(60))
        amount = round(random_.lognormvariate(5, 1), 2)
        row: list[Any] = [10_000 + n, 1000 + random_.randint(1, 66), random_.choice(PRODUCTS), random_.choice(REGIONS)]
        row += [
            random_.choice(CHANNELS),
            random_.choice(STATES),
            random_.randint(1, 12),
            amount,
            round(amount * random_.uniform(0.4, 1.2), 2),
        ]
        row += [None if n % 7 == 0 else random_.choice([0.05, 0.1, 0.15]), day, None if n % 11 == 0 else day.date() + timedelta(days=n % 9)]
        orders.append(row)
    for name, rows in (("customers", customers), ("orders", orders)):
        places = f"({', '.join('?' * len(rows[0]))})"
        connection.execute(f"INSERT INTO {name} VALUES {', '.join([places] * len(rows))}", [value for row in rows for value in row])
    return connection


def answered(query: str) -> Table:
    """What the query gives, as a CSV file would hold it."""
    cursor = database().execute(query)
    header = tuple(column[0] for column in cursor.description)
    rows = [[None if value is None else str(value) for value in row] for row in cursor.fetchall()]
    return Table(header=header, columns=tuple(map(list, zip(*rows, strict=True))) if rows else tuple([] for _ in header), n_rows=len(rows))


@dataclass(frozen=True)
class Wrong:
    """A right query and a wrong one, the names that its cause may have, and words that its text holds."""

    right: str
    wrong: str
    causes: Sequence[str]
    words: Sequence[str] = ()
    ordered: bool = False

    def explained(self) -> dict[str, Any]:
        """What the search says of it."""
        gold, answer = answered(self.right), answered(self.wrong)
        return explain(SCORERS.load("table_match"), answer, {"gold": gold, "ignore_order": not self.ordered}, rules="strict")

    def is_named(self, found: dict[str, Any]) -> bool:
        """Whether a cause of one of the names is told, with all the words in one line."""
        named = [cause for cause in found["causes"] if cause["name"] in self.causes]
        return any(all(word in cause["text"] for word in self.words) for cause in named)


def dropped_filters(n: int, seed: int = 1) -> Iterator[Wrong]:
    """n queries whose WHERE clause, of one condition or two, is left out."""
    random_ = random.Random(seed)
    while n:
        first, second = random_.sample(list(_conditions(random_)), 2)
        both = random_.random() < 0.3 and not set(first[1]) & set(second[1])
        clause = f"{first[0]} AND {second[0]}" if both else first[0]
        columns = [*first[1], *(second[1] if both else ())]
        shown = random_.choice(["*", ", ".join(dict.fromkeys(("id", "product", "amount", *columns)))])
        right = f"SELECT {shown} FROM orders WHERE {clause}"
        if 5 <= answered(right).n_rows <= 390:
            n -= 1
            yield Wrong(right, f"SELECT {shown} FROM orders", ("missing filter",), columns)


def _conditions(random_: random.Random) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(condition, its columns) of each form that people write."""
    region, state, channel, product = (random_.choice(values) for values in (REGIONS, STATES, CHANNELS, PRODUCTS))
    start = date(2021, 1, 1) + timedelta(days=random_.randrange(100, 900))
    low, n = random_.choice([20, 50, 100, 150, 200, 400]), random_.randint(2, 10)
    yield f"region = '{region}'", ("region",)
    yield f"region <> '{region}'", ("region",)
    yield f"state = '{state}'", ("state",)
    yield f"state IN ('{state}', '{random_.choice(STATES)}')", ("state",)
    yield f"state NOT IN ('{state}', '{random_.choice(STATES)}')", ("state",)
    yield f"channel = '{channel}'", ("channel",)
    yield f"product = '{product}'", ("product",)
    yield f"product LIKE '{product.split()[0]}%'", ("product",)
    yield f"product LIKE '%{product.split()[1]}'", ("product",)
    yield f"amount > {low}", ("amount",)
    yield f"amount <= {low}", ("amount",)
    yield f"amount BETWEEN {low} AND {3 * low}", ("amount",)
    yield f"quantity >= {n}", ("quantity",)
    yield f"quantity = {n}", ("quantity",)
    yield "discount IS NULL", ("discount",)
    yield "discount IS NOT NULL", ("discount",)
    yield "discount > 0.05", ("discount",)
    yield "shipped IS NOT NULL", ("shipped",)
    yield f"ordered >= '{start}'", ("ordered",)
    yield f"ordered < '{start}'", ("ordered",)
    yield f"ordered >= '{start}' AND ordered < '{start + timedelta(days=90)}'", ("ordered",)
    yield f"year(ordered) = {start.year}", ("ordered",)
    yield "cost > amount", ("cost",)


def planted() -> Iterator[Wrong]:
    """Pairs of queries with one mistake each, as people make them."""
    by_region = "SELECT region, sum(amount) AS total, count(*) AS n FROM orders {} GROUP BY region"
    by_city = "SELECT city, count(*) AS n, sum(amount) AS total FROM customers JOIN orders USING (customer) {} GROUP BY city"
    listed = "SELECT {} FROM orders WHERE id <= 10080"
    # Filters, and rows that a join drops or adds.
    for clause in (
        *("region = 'N'", "state <> 'void'", "amount > 100", "quantity BETWEEN 3 AND 6", "product LIKE 'Desk%'", "discount IS NULL"),
    ):
        column = clause.split()[0]
        yield Wrong(f"SELECT * FROM orders WHERE {clause}", "SELECT * FROM orders", ("missing filter",), (column,))
        yield Wrong("SELECT * FROM orders", f"SELECT * FROM orders WHERE {clause}", ("missing rows", "join lost"), (column,))
    left = "SELECT id, amount, o.customer, name FROM orders o {} JOIN customers c ON o.customer = c.customer"
    yield Wrong(left.format("LEFT"), left.format("INNER"), ("join lost",), ("NULL", "name"))
    yield Wrong(left.format("INNER"), left.format("LEFT"), ("missing filter",), ("NULL", "name"))
    vip = "(SELECT customer FROM customers WHERE segment = 'A')"
    yield Wrong(
        "SELECT id, customer, amount FROM orders", f"SELECT id, customer, amount FROM orders WHERE customer IN {vip}", ("join lost",)
    )
    yield Wrong(
        f"SELECT id, customer, amount FROM orders WHERE customer IN {vip}", "SELECT id, customer, amount FROM orders", ("join lost",)
    )
    yield Wrong(by_city.format(""), by_city.format("WHERE city IS NOT NULL"), ("NULL group",), ("city", "NULL"))
    yield Wrong(by_city.format("WHERE city IS NOT NULL"), by_city.format(""), ("NULL group",), ("city", "NULL"))
    # Rows that stand several times.
    yield Wrong("SELECT id, amount FROM orders", "SELECT id, amount FROM orders, range(2)", ("rows duplicated",), ("400 rows",))
    twice = "SELECT id, amount FROM orders UNION ALL SELECT id, amount FROM orders WHERE region = 'N'"
    yield Wrong("SELECT id, amount FROM orders", twice, ("rows duplicated",), ("rows are repeated",))
    yield Wrong("SELECT DISTINCT product, region FROM orders", "SELECT product, region FROM orders", ("rows duplicated",), ("repeated",))
    fans = "SELECT o.id, o.amount, p.product AS other FROM orders o JOIN orders p ON p.id = o.id OR (p.id = o.id + 1 AND o.region = 'S')"
    yield Wrong("SELECT id, amount, product AS other FROM orders", fans, ("rows duplicated",), ("repeated",))
    # Sums that a join fans out, in all groups and in some.
    doubled = "(SELECT * FROM orders UNION ALL SELECT * FROM orders WHERE region = 'E')"
    yield Wrong(by_region.format(""), by_region.format("").replace("FROM orders", f"FROM {doubled}"), ("fan-out",), ("2 times", "total"))
    threefold = "(SELECT o.* FROM orders o, range(3) t(n) WHERE o.region <> 'N' OR n = 0)"
    yield Wrong(by_region.format(""), by_region.format("").replace("FROM orders", f"FROM {threefold}"), ("fan-out",), ("3 times",))
    one = "SELECT product, sum(amount) AS total FROM {} GROUP BY product"
    some = "(SELECT * FROM orders UNION ALL SELECT * FROM orders WHERE product IN ('Rug small', 'Desk small'))"
    yield Wrong(one.format("orders"), one.format(some), ("fan-out",), ("2 times",))
    # Another level of grouping.
    fine = "SELECT region, channel, sum(amount) AS total FROM orders GROUP BY region, channel"
    coarse = "SELECT region, sum(amount) AS total FROM orders GROUP BY region"
    yield Wrong(coarse, fine, ("wrong grouping level",), ("region", "sum"))
    yield Wrong(fine, coarse, ("wrong grouping level",), ("region", "sum"))
    yield Wrong(coarse, "SELECT sum(amount) AS total FROM orders", ("wrong grouping level",), ("sum",))
    monthly = "SELECT strftime(ordered, '{}') AS period, sum(quantity) AS n FROM orders GROUP BY 1 ORDER BY 1"
    yield Wrong(
        "SELECT region, max(amount) AS top FROM orders GROUP BY region",
        fine.replace("sum(amount) AS total", "max(amount) AS top"),
        ("wrong grouping level",),
        ("maximum",),
    )
    yield Wrong(monthly.format("%Y"), monthly.format("%Y").replace("sum(quantity)", "100 * sum(quantity)"), ("times 100",), ("n",))
    # Numbers.
    for changed, causes, words in (
        ("amount * 100", ("times 100",), ("100", "amount")),
        ("amount / 1000", ("unit",), ("1000", "amount")),
        ("round(amount, 1)", ("rounding",), ("1 decimal", "amount")),
        ("round(amount)::INTEGER", ("rounding",), ("whole", "amount")),
        ("floor(amount)::INTEGER", ("rounding",), ("whole", "amount")),
        ("-amount", ("sign",), ("amount",)),
        ("-round(amount, 1)", ("sign",), ("amount",)),
        ("round(amount * 1.08, 2)", ("constant factor",), ("1.08", "amount")),
        ("round(amount / 1.19, 2)", ("constant factor",), ("1.19", "amount")),
        ("round(amount * 0.925, 2)", ("constant factor",), ("0.925", "amount")),
        ("amount * 1.1", ("constant factor",), ("1.1", "amount")),
        ("amount || ' pieces'", ("number in text",), ("amount",)),
        ("amount::VARCHAR || ' units'", ("number in text",), ("amount",)),
        ("format('{:,.2f} EUR', amount::DOUBLE)", ("number in text",), ("amount",)),
    ):  # fmt: skip
        yield Wrong(listed.format("id, amount"), listed.format(f"id, {changed} AS amount"), causes, words)
    yield Wrong(listed.format("id, quantity"), listed.format("id, quantity + 1 AS quantity"), ("off by one",), ("quantity",))
    yield Wrong(listed.format("id, discount"), listed.format("id, coalesce(discount, 0) AS discount"), ("null and zero",), ("discount",))
    yield Wrong(
        listed.format("id, discount"),
        listed.format("id, coalesce(discount::VARCHAR, 'unknown') AS discount"),
        ("null word",),
        ("discount",),
    )
    yield Wrong(listed.format("id, discount"), listed.format("id, coalesce(discount, 0.5) AS discount"), ("default value",), ("discount",))
    # Dates and times.
    whole = "date_trunc('second', ordered)"
    for right, changed, causes in (
        (whole, f"{whole} + INTERVAL 2 HOUR", ("time zone",)),
        (whole, f"{whole} - INTERVAL 330 MINUTE", ("time zone",)),
        (whole, f"timezone('Europe/Berlin', timezone('UTC', {whole}))", ("time zone",)),
        (whole, f"timezone('America/New_York', timezone('UTC', {whole}))", ("time zone",)),
        (whole, f"timezone('Europe/Berlin', timezone('UTC', {whole})) - INTERVAL 1 HOUR", ("summer time",)),
        (whole, f"epoch({whole})::BIGINT", ("epoch time",)),
        (whole, f"epoch_ms({whole})", ("epoch time",)),
        (whole, f"{whole}::DATE", ("time cut off",)),
        (whole, f"date_trunc('hour', {whole})", ("time cut off",)),
        ("ordered::DATE", "year(ordered)", ("time cut off",)),
        ("ordered::DATE", "strftime(ordered, '%Y-%m')", ("time cut off",)),
        ("ordered::DATE", "ordered::DATE + 1", ("off by one day",)),
        ("ordered::DATE", "strftime(ordered, '%d/%m/%Y')", ("date form",)),
        ("ordered::DATE", "strftime(ordered, '%m/%d/%Y')", ("date form",)),
    ):
        yield Wrong(listed.format(f"id, {right} AS day"), listed.format(f"id, {changed} AS day"), causes, ("day",))
    # Texts.
    for changed, cause in (("upper(product)", "case"), ("replace(product, ' ', '_')", "spaces"), ("'\"' || product || '\"'", "quotes")):
        yield Wrong(listed.format("id, product"), listed.format(f"id, {changed} AS product"), (cause,), ("product",))
    # Order, the last places, columns.
    top = "SELECT id, quantity FROM orders ORDER BY quantity DESC, {} LIMIT 50"
    yield Wrong(top.format("id"), top.format("id DESC"), ("tie at the cut",))
    ranked = "SELECT id, quantity FROM orders WHERE id < 10060 ORDER BY quantity DESC{}"
    yield Wrong(ranked.format(", id"), ranked.format(", id DESC"), ("ties in another order",), ("quantity",), ordered=True)
    yield Wrong(ranked.format(", id"), ranked.format("").replace("DESC", "ASC"), ("wrong order",), (), ordered=True)
    yield Wrong(
        listed.format("id, amount") + " ORDER BY id", listed.format("id, amount") + " ORDER BY id LIMIT 50", ("missing rows",), ("LIMIT",)
    )
    yield Wrong(listed.format("id, amount, region"), listed.format("id, amount"), ("missing column",), ("region",))
    mixed = "id, CASE WHEN region = 'N' THEN cost ELSE amount END AS amount, CASE WHEN region = 'N' THEN amount ELSE cost END AS cost"
    yield Wrong(listed.format("id, amount, cost"), listed.format(mixed), ("columns swapped",), ("amount", "cost"))
