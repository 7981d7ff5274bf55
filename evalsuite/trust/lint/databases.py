"""Lint of gold databases: types the reference cannot compare, and dates kept as text."""

import re
from collections.abc import Iterator

from evalsuite.tables.database_rules import needs_quotes
from evalsuite.trust.lint.book import Found, GoldTable, Kind, Spot

_NULLABLE = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BOOLEAN)")
_NESTED = re.compile(r"(.*\[\d*\]|LIST.*|STRUCT.*|MAP.*|UNION.*)", re.DOTALL)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?")


def types(table: GoldTable) -> Iterator[Found]:
    """Columns that an exact copy fails on under the official rules, and dates that are text."""
    for index in table.needed if table.table.types is not None else ():
        assert table.table.types is not None
        type_, cells = table.table.types[index], table.table.columns[index]
        if _NESTED.fullmatch(type_):
            message = f"{table.column(index)} is {type_}: official cannot compare it, an exact copy fails"
            yield table.found("nested-type", message, hint="unnest it")
        elif _NULLABLE.fullmatch(type_) and any(cell is None for cell in cells):
            message = f"{table.column(index)} is {type_} and holds NULL: under official an exact copy fails"
            yield table.found("typed-null", message, hint="the strict rules compare NULL with NULL")
        elif type_ == "VARCHAR":
            texts = [cell for cell in cells if cell is not None]
            if texts and all(_ISO.fullmatch(text) for text in texts):
                message = f"{table.column(index)} keeps dates as VARCHAR: a table with DATE is another one under both rules"
                yield table.found("date-as-text", message, hint="make it DATE or TIMESTAMP")


def names(table: GoldTable) -> Iterator[Found]:
    """A table that stands in gold by itself and whose name the reference cannot write."""
    asked = table.spot.check.parameters.get("condition_tabs")
    if table.part and asked is None and needs_quotes(table.part):
        yield table.found("quoted-name", "its name needs quotes, which the reference does not write", hint="rename the table")


def all_tables(spot: Spot) -> Iterator[Found]:
    """Lists by table without the tables they go with."""
    parameters = spot.check.parameters
    if spot.check.scorer == "duckdb_match" and not parameters.get("condition_tabs"):
        given = [key for key in ("condition_cols", "ignore_orders") if parameters.get(key)]
        if given and max(len(parameters[key]) for key in given) > 1:
            message = f"{' and '.join(given)} go by the order in which the tables were made"
            yield spot.found("lists-without-tables", message, hint="name the tables in condition_tabs")


PER_CHECK = {"lists-without-tables": Kind("warning", all_tables, "lists by table, and no `condition_tabs` that says which tables")}
PER_TABLE = {
    "typed-null": Kind("note", types, "NULL in a column of integers or booleans, on which official fails"),
    "nested-type": Kind("note", types, "a list or struct column, which official cannot compare"),
    "date-as-text": Kind("warning", types, "dates kept as text in a database"),
    "quoted-name": Kind("error", names, "a table's name needs quotes, which the reference does not write"),
}
