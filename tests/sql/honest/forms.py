"""The forms that honest statements are made of, for each engine: `{n}` stands for a number, `{i}` an integer, `{t}` a text, `{d}` a day,
`{b}` a condition, `{j}` a JSON, `{l}` a list of integers, `{agg}` and `{win}` for an aggregate and a window function.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Forms:
    """What an engine has: expressions of each kind, its functions, its tables that are functions, its statements."""

    plain: dict[str, list[str]]
    nested: dict[str, list[str]]
    scalars: list[str]
    aggregates: list[str]
    windows: list[str]
    tables: list[str]
    shapes: list[str]
    fixed: list[str] = field(default_factory=list)
    more_tables: list[str] = field(default_factory=list)


SHAPES = [
    "SELECT * FROM sale WHERE {b} ORDER BY id",
    "SELECT id, {t} AS a, {n} AS b FROM sale WHERE {b} ORDER BY 1 DESC LIMIT 4 OFFSET 1",
    "SELECT DISTINCT {t} AS a FROM sale",
    "SELECT region, {agg} AS a, count(*) AS n FROM sale WHERE {b} GROUP BY region HAVING count(*) > 0 ORDER BY n DESC, region",
    "SELECT CASE WHEN {b} THEN {t} ELSE 'none' END AS a, {n} + {n} AS b FROM sale",
    "WITH c AS (SELECT region, {n} AS x FROM sale) SELECT region, sum(x) AS total FROM c GROUP BY region",
    "WITH a AS (SELECT * FROM sale WHERE {b}), b AS (SELECT product, {agg} AS x FROM a GROUP BY product) SELECT * FROM b ORDER BY product",
    "WITH RECURSIVE tree(id, depth) AS (SELECT id, 0 FROM person WHERE boss IS NULL UNION ALL SELECT p.id, depth + 1 FROM person AS p"
    " JOIN tree AS t ON p.boss = t.id) SELECT id, depth FROM tree WHERE id IN (SELECT id FROM sale WHERE {b}) ORDER BY id",
    "SELECT p.name, b.name AS boss FROM person AS p LEFT JOIN person AS b ON b.id = p.boss ORDER BY 1",
    "SELECT id FROM sale WHERE {n} > (SELECT avg(price) FROM sale) AND {b}",
    "SELECT id FROM sale AS s WHERE EXISTS (SELECT 1 FROM sale AS o WHERE o.region = s.region AND o.id <> s.id) AND {b}",
    "SELECT product FROM sale WHERE {b} UNION SELECT region FROM sale WHERE {b}",
    "SELECT {t} AS a FROM sale INTERSECT SELECT {t} FROM sale",
    "SELECT id FROM sale EXCEPT SELECT id FROM sale WHERE {b} ORDER BY 1",
    "SELECT id, {win} AS w FROM sale ORDER BY id",
    "SELECT * FROM (SELECT id, region, row_number() OVER (PARTITION BY region ORDER BY {n}, id) AS place FROM sale) AS r WHERE place = 1",
    "SELECT id, sum(qty) OVER (PARTITION BY region ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a, {win} AS b FROM sale",
    "SELECT id, avg(price) OVER w AS a, max({n}) OVER w AS b FROM sale WINDOW w AS (PARTITION BY product ORDER BY id)",
    "SELECT count(*) FILTER (WHERE {b}) AS a, sum(qty) FILTER (WHERE region = 'north') AS b FROM sale",
    "SELECT s.id, r.worth FROM sale AS s JOIN rate AS r ON r.thing = s.product AND r.since <= s.moment WHERE {b}",
    "SELECT * FROM sale CROSS JOIN (SELECT {agg} AS total FROM sale) AS t WHERE {b}",
    "VALUES (1, 'a'), (2, 'b')",
    "SELECT x + 1 AS y FROM (SELECT {i} AS x FROM sale UNION ALL SELECT {i} FROM sale) AS v WHERE x > 0",
    "SELECT coalesce({t}, 'x') AS a, nullif({n}, 0) AS b FROM sale",
    "SELECT region || '-' || product AS both, {t} AS t FROM cheap WHERE region LIKE '%th' AND {b}",
    "SELECT id FROM sale WHERE id IN (1, 2, 3) AND qty BETWEEN 1 AND 9 AND NOT ({b})",
    "SELECT region, product, count(*) AS n FROM sale GROUP BY 1, 2 ORDER BY n DESC NULLS LAST, 1, 2",
    'SELECT "id" AS "the id", {n} AS "x;y" FROM "sale" WHERE region <> \'a;b -- c\'',
]
NUMBER = ["price", "qty", "(price * qty)", "(qty - 1)", "(-price)", "2.5", "(id + qty)", "((price + 1) / 2)"]
INT = ["id", "qty", "1", "(qty + id)", "3"]
TEXT = ["region", "product", "'abc'", "(region || product)", "'it''s'"]
TRUTH = ["qty > 2", "region = 'north'", "price BETWEEN 1 AND 4", "product IN ('tea', 'rice')", "region IS NOT NULL", "product LIKE 't%'"]
FRAMES = ("ORDER BY id", "PARTITION BY region ORDER BY id", "PARTITION BY product ORDER BY price DESC, id")
RANKS = [f"{name}() OVER ({FRAMES[1]})" for name in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")]
RANKS += [f"ntile(2) OVER ({FRAMES[0]})", f"lag(price) OVER ({FRAMES[1]})", f"lead(qty, 1, 0) OVER ({FRAMES[0]})"]
RANKS += [
    f"first_value(id) OVER ({FRAMES[2]})",
    f"last_value(id) OVER ({FRAMES[2]} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
]
RANKS += [f"nth_value(id, 2) OVER ({FRAMES[1]})", f"sum({{n}}) OVER ({FRAMES[1]})", f"count(*) OVER ({FRAMES[2]})"]
RANKS += ["sum(qty) OVER (ORDER BY id GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW)"]
RANKS += ["avg(price) OVER (ORDER BY qty RANGE BETWEEN 2 PRECEDING AND CURRENT ROW)", "min(price) OVER ()"]


def calls(names: str, form: str) -> list[str]:
    """The form once for each name, in the place of its first `f`."""
    return [form.replace("f", name, 1) for name in names.split()]
