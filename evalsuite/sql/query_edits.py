"""A query with one thing in it changed, as people get queries wrong: a filter left out, another join, a bound one off.

    for edit in edits("SELECT count(*) FROM t WHERE test = 0", "duckdb"):
        print(edit.kind, edit.words, edit.sql)

The same edits prove why an answer is wrong (`explain.query_proofs`) and try a check with answers that are (`audit.query_mutants`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from evalsuite.errors import FaultError
from evalsuite.sql.clause_changes import (
    MOST_PARTS,
    Change,
    distinct_changes,
    filter_changes,
    group_changes,
    join_changes,
    limit_changes,
    one_less,
    shown,
)
from evalsuite.sql.session import sql_error
from evalsuite.sql.value_changes import condition_changes, expression_changes

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

# Clauses that are taken from the other query whole, with the kind of edit that it is.
_CLAUSES: Final = {
    "where": "condition",
    "joins": "join",
    "group": "group",
    "having": "condition",
    "expressions": "expression",
    "order": "order",
    "limit": "limit",
}


@dataclass(frozen=True, slots=True)
class QueryEdit:
    """A query with one change: its kind, `words` that finish "the query ...", the statement, and whether it comes nearer to another.

    `fewer` are the statements of the edits that are this one but for one of its parts, where it has several.
    """

    kind: str
    words: str
    sql: str
    nearer: bool = False
    fewer: Sequence[str] = ()


def edits(sql: str, dialect: str, other: str = "", whose: str = "the answer's") -> list[QueryEdit]:
    """Each edit of a query once, what comes nearer to the `other` query first; clauses taken over from that one are called `whose`.

    `dialect` is an engine's name in `ENGINES`. Raises `FaultError` SQL_ERROR for what cannot be read.
    """
    tree, wanted = _parsed(sql, dialect), _parsed(other, dialect) if other else None
    found: dict[str, QueryEdit] = {}
    own = tree.sql(dialect)
    goal = _tokens(wanted.sql(dialect)) if wanted is not None else Counter[str]()
    away = _apart(_tokens(own), goal)
    changes = [*_changes(tree, dialect), *(_taken_over(tree, wanted, dialect, whose) if wanted is not None else ())]
    for change in changes:
        text = _text_with(tree, change, dialect)
        if text != own and text not in found:
            nearer = wanted is not None and _apart(_tokens(text), goal) < away
            fewer = [_text_with(tree, other, dialect) for other in change.fewer]
            found[text] = QueryEdit(change.kind, change.words, text, nearer, fewer)
    return sorted(found.values(), key=lambda edit: not edit.nearer)


def _text_with(tree: "Expr", change: Change, dialect: str) -> str:
    before = {key: change.node.args.get(key) for key in change.arguments}
    for key, value in change.arguments.items():
        change.node.set(key, value)
    text = str(tree.sql(dialect))
    for key, value in before.items():
        change.node.set(key, value)
    return text


def one_row_short(sql: str, dialect: str) -> list[QueryEdit]:
    """The query over its table without one of the rows that it reads; empty where it reads no plain table. Raises as `edits` does."""
    from sqlglot import exp

    tree = _parsed(sql, dialect)
    source = tree.args.get("from_") or tree.args.get("from")
    table = source.this if source is not None else None
    if not isinstance(tree, exp.Select) or not isinstance(table, exp.Table):
        return []
    name, alias = table.copy(), table.alias_or_name
    inner = exp.select("*").from_(name)
    # What another table says of a row cannot be asked inside.
    if tree.args.get("where") is not None and not tree.args.get("joins"):
        inner = inner.where(tree.args["where"].this.copy())
    inner = inner.limit(2**31 - 1).offset(1)
    table.replace(inner.subquery(alias))
    return [QueryEdit("source row dropped", f"without one row of {shown(name, dialect)}", tree.sql(dialect))]


def edits_as_data(sql: str, dialect: str, other: str = "", whose: str = "the answer's") -> list[list[Any]]:
    """`edits` as lists, for a worker that sends them; where the other query cannot be read those that need none."""
    try:
        found = edits(sql, dialect, other, whose)
    except FaultError:
        if not other:
            raise
        found = edits(sql, dialect)
    return [[edit.kind, edit.words, edit.sql, edit.nearer, list(edit.fewer)] for edit in found]


def _parsed(sql: str, dialect: str) -> "Expr":
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(sql, read=dialect)
    except SqlglotError:
        raise sql_error("syntax") from None
    return tree


def _tokens(sql: str) -> Counter[str]:
    return Counter(re.findall(r"'[^']*'|[\w.]+|[^\w\s]", sql.casefold()))


def _apart(a: Counter[str], b: Counter[str]) -> int:
    return (a - b).total() + (b - a).total()


def _changes(tree: "Expr", dialect: str) -> Iterator[Change]:
    """What may be changed, the likeliest mistakes first."""
    from sqlglot import exp

    selects = list(tree.find_all(exp.Select))
    for find in (filter_changes, join_changes, distinct_changes, limit_changes):
        for select in selects:
            yield from find(select, dialect)
    for union in tree.find_all(exp.Union):
        word = "UNION ALL for UNION" if union.args.get("distinct") else "UNION for UNION ALL"
        yield Change(
            "distinct removed" if union.args.get("distinct") else "distinct added",
            f"with {word}",
            union,
            {"distinct": not union.args.get("distinct")},
        )
    for node in list(tree.walk()):
        yield from condition_changes(node, dialect)
    for select in selects:
        yield from group_changes(select, dialect)
    for node in list(tree.walk()):
        yield from expression_changes(node, dialect)


def _taken_over(tree: "Expr", other: "Expr", dialect: str, whose: str) -> Iterator[Change]:
    """The parts of the other query's clauses that differ, each in the place of the own one, then several of a clause together."""
    from sqlglot import exp

    if not (isinstance(tree, exp.Select) and isinstance(other, exp.Select)):
        return
    for key, kind in _CLAUSES.items():
        own, new = _clause_parts(tree, key), _clause_parts(other, key)
        if key == "expressions" and len(own) != len(new):
            text = ", ".join(shown(one, dialect) for one in new)
            yield Change(kind, f"with {whose} columns {text}", tree, {key: [one.copy() for one in new]})
            continue
        parts = _different_parts(own, new, in_place=key == "expressions")
        if not 0 < len(parts) <= MOST_PARTS:
            continue
        made: dict[tuple[int, ...], Change] = {}
        for n in range(1, len(parts) + 1):
            for some in combinations(range(len(parts)), n):
                arguments = {key: _clause_of(key, _with_parts(own, [parts[i] for i in some]))}
                words = _in_words([parts[i] for i in some], key, dialect, whose)
                made[some] = Change(kind, words, tree, arguments, one_less(some, made))
        yield from made.values()


# (where the part that goes stands, -1 for none; that part; the part that comes).
_Part = tuple[int, "Expr | None", "Expr | None"]


def _clause_parts(select: "Expr", key: str) -> list["Expr"]:
    """The conditions, columns, joins or keys of a clause; of an ORDER BY and a LIMIT the whole."""
    from sqlglot import exp

    clause = select.args.get(key)
    if isinstance(clause, exp.Where | exp.Having):
        return list(clause.this.flatten()) if isinstance(clause.this, exp.And) else [clause.this]
    if key == "group" and clause is not None and not set(clause.args) - {"expressions"}:
        return list(clause.expressions)
    return list(clause) if isinstance(clause, list) else [] if clause is None else [clause]


def _different_parts(own: Sequence["Expr"], new: Sequence["Expr"], *, in_place: bool) -> list[_Part]:
    """What goes and what comes for each part of a clause that differs but by its alias."""
    if in_place:
        return [(i, a, b) for i, (a, b) in enumerate(zip(own, new, strict=True)) if a.unalias() != b.unalias()]
    gone, come = [(i, a) for i, a in enumerate(own) if a not in new], [b for b in new if b not in own]
    if len(gone) == len(come) == 1:
        return [(*gone[0], come[0])]
    return [*((i, a, None) for i, a in gone), *((-1, None, b) for b in come)]


def _with_parts(own: Sequence["Expr"], parts: Sequence[_Part]) -> list["Expr"]:
    exchanged = {i: come for i, _, come in parts if i >= 0}
    kept = [exchanged.get(i, a) for i, a in enumerate(own)]
    return [a.copy() for a in (*kept, *(come for i, _, come in parts if i < 0)) if a is not None]


def _clause_of(key: str, parts: list["Expr"]) -> Any:
    """What a SELECT holds under a key: the parts as its clause, None where there are none."""
    from sqlglot import exp

    if key in ("joins", "expressions"):
        return parts or None
    if not parts:
        return None
    if key in ("where", "having"):
        return (exp.Where if key == "where" else exp.Having)(this=exp.and_(*parts))
    if key == "group" and not isinstance(parts[0], exp.Group):
        return exp.Group(expressions=parts)
    return parts[0]


def _in_words(parts: Sequence[_Part], key: str, dialect: str, whose: str) -> str:
    """`with `b` for `a` in its WHERE, as the answer's`: what finishes "the query ..."."""
    words = []
    for _, gone, come in parts:
        new = f"with {shown(come, dialect)}" if come is not None else ""
        words.append(f"{new} for {shown(gone, dialect)}" if new and gone is not None else new or f"without {shown(gone, dialect)}")  # type: ignore[arg-type]
    clause = {"expressions": "columns", "joins": "joins"}.get(key, f"{key.upper()} BY" if key in ("group", "order") else key.upper())
    return f"{' and '.join(words)} in its {clause}, as {whose}"
