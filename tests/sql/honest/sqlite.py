"""SQLite's functions and forms."""

from tests.sql.honest.forms import FRAMES, INT, NUMBER, RANKS, TEXT, TRUTH, Forms, calls

PRAGMAS = calls(
    "table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check collation_list "
    "function_list module_list pragma_list compile_options integrity_check quick_check application_id data_version encoding "
    "freelist_count page_count page_size schema_version user_version journal_mode foreign_keys cache_size ",
    "f",
)
_OF_A_TABLE = calls("table_info table_xinfo index_list foreign_key_list index_info index_xinfo", "f")
_SCALARS = [
    *calls("abs ceil floor round sign trunc exp degrees radians sin cos tan atan sinh cosh tanh asinh hex quote typeof unlikely", "f({n})"),
    *calls("acos asin atanh", "f(price / 10)"),
    *calls("sqrt ln log log10 log2", "f(abs({n}) + 1)"),
    *("acosh(2 + qty)", "round({n}, 1)", "atan2({n}, 2)", "mod({i}, 3)", "pow(qty, 2)", "power(2, qty)", "log(2, qty + 1)", "pi()"),
    *calls("upper lower trim ltrim rtrim length unicode soundex", "f({t})"),
    *("replace({t}, 'a', 'b')", "substr({t}, 2)", "substring({t}, 1, 2)", "instr({t}, 'a')", "char(65, 66)", "trim({t}, 'n')"),
    *("format('%05d', {i})", "printf('%.2f|%s', {n}, {t})", "glob('n*', {t})", "like('n%', {t})", "{t} GLOB '*a*'", "likelihood({b}, 0.5)"),
    *("coalesce(NULL, {t})", "ifnull(NULL, {n})", "iif({b}, 1, 0)", "nullif({i}, 1)", "max({n}, 1)", "min({n}, 1, 2)", "likely({b})"),
    *("date({d}, '+1 month')", "time(moment)", "datetime({d}, 'start of month')", "julianday({d})", "unixepoch({d})"),
    "strftime('%Y-%m', {d})",
    *("zeroblob(3)", "length(randomblob(4))", "random() IS NULL", "last_insert_rowid()", "changes()", "total_changes()"),
    "sqlite_version()",
    *("sqlite_source_id()", "sqlite_compileoption_used('THREADSAFE')", "sqlite_compileoption_get(0)", "CAST({n} AS INTEGER)"),
    *("json('[1, 2]')", "json_array({n}, {t})", "json_array_length('[1, 2]')", "json_extract('{\"a\": 1}', '$.a')"),
    "json_object('a', {n})",
    *("json_insert('{\"a\": 1}', '$.b', {n})", "json_patch('{\"a\": 1}', '{\"b\": 2}')", "json_quote({t})"),
    "json_remove('[1, 2]', '$[0]')",
    *("json_replace('{\"a\": 1}', '$.a', {n})", "json_set('{\"a\": 1}', '$.c', {n})", "json_type('[1]')", "json_valid({t})"),
    *("'{\"a\": 1}' -> '$.a'", "'[1, 2]' ->> 1", "(SELECT note ->> '$.age' FROM person WHERE person.id = sale.id)", "{t} COLLATE NOCASE"),
]
FORMS = Forms(
    plain={
        "n": NUMBER,
        "i": INT,
        "i2": ["1", "2", "3", "4", "5", "6"],
        "t": TEXT,
        "d": ["day", "moment", "'2024-02-29'"],
        "b": [*TRUTH, "product GLOB 't*'", "day < '2024-02-01'"],
    },
    nested={
        "n": ["abs({n})", "round({n}, 2)", "CAST({n} AS REAL)", "length({t})", "julianday({d})"],
        "i": ["abs({i})", "length({t})", "instr({t}, 'e')", "CAST(strftime('%m', {d}) AS INTEGER)"],
        "t": ["upper({t})", "substr({t}, 1, 3)", "replace({t}, 'o', '0')", "printf('%s/%d', {t}, {i})", "strftime('%Y', {d})"],
        "d": ["date({d}, '-1 day')", "datetime({d}, 'weekday 1')"],
        "b": ["({b} OR {b})", "({b} AND {n} > 1)", "{t} IN ('north', 'tea')", "length({t}) > 3"],
    },
    scalars=_SCALARS,
    aggregates=[
        *calls("avg count max min sum total group_concat", "f({n})"),
        *("count(*)", "count(DISTINCT {t})", "group_concat({t}, ', ')", "json_group_array({n})", "json_group_object({t}, {n})"),
    ],
    windows=[*RANKS, f"group_concat(product, '+') OVER ({FRAMES[1]})", f"json_group_array(id) OVER ({FRAMES[0]})"],
    tables=[
        *("json_each('[1, [2, 3]]')", 'json_tree(\'{"a": [1, {"b": 2}]}\')', "json_each('{\"a\": {\"b\": [1]}}', '$.a')"),
        *("json_tree('[1, 2]', '$[0]')", "person AS p, json_each(p.note, '$.tags') AS t"),
        "person AS p JOIN json_tree(p.note) AS t ON t.atom > {i2}",
        *("pragma_table_info('sale')", "sqlite_master AS m JOIN pragma_table_info(m.name) AS c", "sqlite_schema", "dbstat"),
        "sqlite_master",
        *(f"pragma_{name}" for name in PRAGMAS if name not in _OF_A_TABLE),
        *(f"pragma_{name}('sale')" for name in _OF_A_TABLE[:4]),
        *("pragma_index_info('by_region')", "pragma_index_xinfo('by_region')", "found WHERE found MATCH 'tea OR salt'"),
        "found('tea') ORDER BY rank",
        *("older WHERE older MATCH 'tea'", "area WHERE x0 < 5", "terms", "area AS a JOIN sale AS s ON s.id = a.id"),
    ],
    shapes=[
        "SELECT key, value, type FROM person, json_each(person.note) WHERE {i2} = {i2}",
        "SELECT p.id, count(t.value) AS n FROM person AS p LEFT JOIN json_each(p.note, '$.tags') AS t GROUP BY p.id HAVING {i2} < 9",
        "SELECT fullkey, atom FROM person, json_tree(person.note) WHERE atom IS NOT NULL AND {i2} > 0",
        "SELECT name, type FROM pragma_table_info('sale') WHERE pk = 0 AND {i2} > 0 ORDER BY cid",
        "SELECT m.name, c.name AS col FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE length(c.name) > {i2}",
        "SELECT highlight(found, 0, '<', '>') AS a, bm25(found) AS b, snippet(found, 0, '[', ']', '...', {i2}) AS c FROM found('tea')",
        "SELECT id, {t} AS a FROM sale NOT INDEXED WHERE {b} ORDER BY {t} COLLATE NOCASE, id LIMIT 3",
        "SELECT id FROM sale INDEXED BY by_region WHERE region = 'north' AND {b}",
        "WITH RECURSIVE s(x) AS (VALUES (1) UNION ALL SELECT x + {i2} FROM s WHERE x < 30) SELECT x FROM s",
        "WITH c AS MATERIALIZED (SELECT {n} AS x FROM sale), d AS NOT MATERIALIZED (SELECT x FROM c) SELECT sum(x) AS s FROM d",
        "SELECT id, {n} AS x FROM sale GROUP BY region HAVING max(price)",
        "SELECT iif({b}, {t}, NULL) AS a, {t} IS NOT DISTINCT FROM {t} AS b FROM sale",
        "SELECT (qty, price) > (2, {n}) AS a, 5 % 3 AS b, qty << 1 | 1 AS c, x'00ff' AS raw FROM sale",
        "SELECT s.id FROM sale AS s FULL JOIN person AS p ON p.id = s.id AND s.qty > {i2} WHERE s.region <> p.name ORDER BY 1",
        "SELECT rowid, {t} AS t FROM sale WHERE rowid < 3 AND {b}",
    ],
    more_tables=[
        "CREATE INDEX by_region ON sale(region)",
        "CREATE VIRTUAL TABLE found USING fts5(word)",
        "INSERT INTO found VALUES ('green tea'), ('salt'), ('tea and salt')",
        "CREATE VIRTUAL TABLE older USING fts4(word)",
        "INSERT INTO older VALUES ('green tea')",
        "CREATE VIRTUAL TABLE area USING rtree(id, x0, x1)",
        "INSERT INTO area VALUES (1, 1, 2), (2, 3, 9)",
        "CREATE VIRTUAL TABLE terms USING fts5vocab(found, 'row')",
    ],
)
