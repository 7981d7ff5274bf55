"""Queries for reading: both sides of an answer beside each other, long ones with a line for each clause."""

from typing import Final

_LONGEST_LINE: Final = 100


def both_queries(gold: str, answer: str, dialect: str) -> str:
    """Gold's query and the answer's, each behind a line that says whose it is; one that is empty is left out.

    `dialect` is an engine's name in `ENGINES`, empty where none is known.
    """
    sides = {"gold": gold, "answer": answer}
    return "\n\n".join(f"-- {whose}\n{laid_out(sql, dialect)};" for whose, sql in sides.items() if sql.strip())


def laid_out(sql: str, dialect: str) -> str:
    """The same statement with a line for each clause; as it is written where its lines are short, or where it cannot be taken apart."""
    written = sql.strip().rstrip(";").rstrip()
    if all(len(line) <= _LONGEST_LINE for line in written.splitlines()):
        return written
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(written, read=dialect)
        shown: str = tree.sql(dialect, pretty=True)
        return shown if sqlglot.parse_one(shown, read=dialect) == tree else written
    except (SqlglotError, RecursionError, ValueError):
        return written
