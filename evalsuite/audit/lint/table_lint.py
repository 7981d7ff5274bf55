"""Lint of the columns that count: out of range, twice, empty, an index, or equal to one another."""

import re
from collections.abc import Iterator

from evalsuite.audit.lint.book import Found, GoldTable, Kind, Spot, wanted_columns
from evalsuite.tables.condition_columns import needs_quotes


def find_columns_out_of_range(table: GoldTable) -> Iterator[Found]:
    """Columns that gold does not have, and columns named twice or by a negative number."""
    n = len(table.table.columns)
    wanted = _wanted(table)
    for index in dict.fromkeys(wanted):
        if not -n <= index < n:
            message = f"condition_cols names column {index}, the last one is {n - 1}"
            yield table.finding("column-out-of-range", message, hint="columns count from 0")
        elif index < 0:
            message = f"condition_cols names column {index}, which is column {index + n}"
            yield table.finding("negative-column", message, hint=f"write {index + n}")
    if len({index % n for index in wanted if -n <= index < n}) < sum(-n <= index < n for index in wanted):
        yield table.finding("repeated-column", f"condition_cols {wanted} names a column twice", hint="name it once")


def _wanted(table: GoldTable) -> list[int]:
    """The columns as the spec names them for this table."""
    gold, tabs = table.spot.check.parameters.get("gold"), table.spot.check.parameters.get("condition_tabs")
    names = tabs if table.part and isinstance(tabs, list) else gold if isinstance(gold, list) else [gold]
    wanted = table.part or table.file
    at = next((i for i, name in enumerate(names) if str(name).lower() == wanted.lower()), 0)
    return wanted_columns(table.spot, at)


def find_tiny_tables(table: GoldTable) -> Iterator[Found]:
    """Gold of no row, and gold of a single cell."""
    if table.table.n_rows == 0:
        yield table.finding("no-rows", "no rows: every table without rows is right", hint="is the empty result meant?")
    elif table.table.n_rows == 1 and len(table.needed) == 1:
        yield table.finding("one-cell", "one row and one needed column: any table of one row that holds the value is right")
    elif table.table.n_rows == 1:
        yield table.finding("one-row", "one row: its order and rows that stay together are not tested")


def find_equal_columns(table: GoldTable) -> Iterator[Found]:
    """Two needed columns of the same cells: under official one predicted column serves both."""
    seen: dict[tuple[str, ...], int] = {}
    for index in table.needed if table.table.n_rows > 1 else ():
        cells = tuple(map(str, table.table.columns[index]))
        first = seen.setdefault(cells, index)
        if first != index:
            message = f"{table.column(first)} and {table.column(index)} are equal: official takes one predicted column for both"
            yield table.finding("equal-columns", message, hint="is one of them a copy by mistake?")


def find_empty_columns(table: GoldTable) -> Iterator[Found]:
    """A needed column without a value."""
    if table.table.n_rows == 0:
        return
    for index in table.needed:
        if all(cell is None or (table.is_csv and not str(cell).strip()) for cell in table.table.columns[index]):
            message = f"{table.column(index)} has no value: any empty column is right"
            yield table.finding("empty-column", message, hint="leave it out of condition_cols")


def find_odd_headers(table: GoldTable) -> Iterator[Found]:
    """Names that stand twice, and a first column that is the index some library wrote."""
    names = [name.strip().lower() for name in table.table.header]
    twice = next((name for at, name in enumerate(names) if name and name in names[:at]), None)
    if twice is not None:
        yield table.finding("repeated-header", f"two columns are named {twice!r}", hint="name them apart")
    if 0 in table.needed and len(names) > 1 and table.table.n_rows > 1 and (not names[0] or names[0] in ("index", "unnamed: 0")):
        numbers = [str(cell).strip() for cell in table.table.columns[0]]
        if numbers == [str(i) for i in range(len(numbers))]:
            hint = "write the table without its index, or leave column 0 out of condition_cols"
            yield table.finding("index-column", f"{table.column(0)} counts the rows and is asked for", hint=hint)


def find_repeated_rows(table: GoldTable) -> Iterator[Found]:
    """Rows that stand twice in the whole table: often the sign of a join that went wrong."""
    rows = list(zip(*(map(str, column) for column in table.table.columns), strict=True)) if len(table.table.columns) > 1 else []
    n_more = len(rows) - len(set(rows))
    if n_more:
        yield table.finding("repeated-rows", f"{n_more} rows stand there more than once", hint="did a join double them?")


def find_flat_columns(spot: Spot) -> Iterator[Found]:
    """One list of columns where gold is several tables: it holds for each of them."""
    given, gold = spot.check.parameters.get("condition_cols"), spot.check.parameters.get("gold")
    if not isinstance(given, list) or not isinstance(gold, list) or spot.check.scorer != "table_match":
        return
    if len(gold) > 1 and given and all(isinstance(item, int) for item in given):
        message = f"one list of columns for {len(gold)} gold tables is used for each of them"
        yield spot.finding(
            "flat-columns",
            message,
            hint="write a list for each table",
            change=lambda evaluation: evaluation["parameters"].update(condition_cols=[list(given) for _ in gold]),
        )


_NULLABLE = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BOOLEAN)")
_NESTED = re.compile(r"(.*\[\d*\]|LIST.*|STRUCT.*|MAP.*|UNION.*)", re.DOTALL)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?")


def find_odd_types(table: GoldTable) -> Iterator[Found]:
    """Columns that an exact copy fails on under the official rules, and dates that are text."""
    for index in table.needed if table.table.types is not None else ():
        assert table.table.types is not None
        type_, cells = table.table.types[index], table.table.columns[index]
        if _NESTED.fullmatch(type_):
            message = f"{table.column(index)} is {type_}: official cannot compare it, an exact copy fails"
            yield table.finding("nested-type", message, hint="unnest it")
        elif _NULLABLE.fullmatch(type_) and any(cell is None for cell in cells):
            message = f"{table.column(index)} is {type_} and holds NULL: under official an exact copy fails"
            yield table.finding("typed-null", message, hint="the strict rules compare NULL with NULL")
        elif type_ == "VARCHAR":
            texts = [cell for cell in cells if cell is not None]
            if texts and all(_ISO.fullmatch(text) for text in texts):
                message = f"{table.column(index)} keeps dates as VARCHAR: a table with DATE is another one under both rules"
                yield table.finding("date-as-text", message, hint="make it DATE or TIMESTAMP")


def find_quoted_names(table: GoldTable) -> Iterator[Found]:
    """A table that stands in gold by itself and whose name the reference cannot write."""
    asked = table.spot.check.parameters.get("condition_tabs")
    if table.part and asked is None and needs_quotes(table.part):
        yield table.finding("quoted-name", "its name needs quotes, which the reference does not write", hint="rename the table")


def find_lists_without_tables(spot: Spot) -> Iterator[Found]:
    """Lists by table without the tables they go with."""
    parameters = spot.check.parameters
    if spot.check.scorer == "duckdb_match" and not parameters.get("condition_tabs"):
        given = [key for key in ("condition_cols", "ignore_orders") if parameters.get(key)]
        if given and max(len(parameters[key]) for key in given) > 1:
            message = f"{' and '.join(given)} go by the order in which the tables were made"
            yield spot.finding("lists-without-tables", message, hint="name the tables in condition_tabs")


PER_CHECK = {
    "flat-columns": Kind("note", find_flat_columns, "one list of columns for several gold tables"),
    "lists-without-tables": Kind("warning", find_lists_without_tables, "lists by table, and no `condition_tabs` that says which tables"),
}


PER_TABLE = {
    "column-out-of-range": Kind("error", find_columns_out_of_range, "a needed column that gold does not have: no answer can pass"),
    "negative-column": Kind("warning", find_columns_out_of_range, "a needed column counted from the end"),
    "repeated-column": Kind("warning", find_columns_out_of_range, "a needed column named twice"),
    "no-rows": Kind("warning", find_tiny_tables, "gold without rows: every empty table is right"),
    "one-row": Kind("note", find_tiny_tables, "gold of one row"),
    "one-cell": Kind("note", find_tiny_tables, "gold of one cell"),
    "equal-columns": Kind("note", find_equal_columns, "two needed columns hold the same cells"),
    "empty-column": Kind("warning", find_empty_columns, "a needed column without a value"),
    "repeated-header": Kind("warning", find_odd_headers, "two columns have the same name"),
    "index-column": Kind("warning", find_odd_headers, "a needed column that only counts the rows"),
    "repeated-rows": Kind("note", find_repeated_rows, "rows that stand in a table more than once"),
}
PER_DATABASE = {
    "typed-null": Kind("note", find_odd_types, "NULL in a column of integers or booleans, on which official fails"),
    "nested-type": Kind("note", find_odd_types, "a list or struct column, which official cannot compare"),
    "date-as-text": Kind("warning", find_odd_types, "dates kept as text in a database"),
    "quoted-name": Kind("error", find_quoted_names, "a table's name needs quotes, which the reference does not write"),
}
