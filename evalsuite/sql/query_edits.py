"""Edits of a query with one change each, like typical mistakes in queries: a filter left out, another join, a bound one off.

    for edit in edits("SELECT count(*) FROM t WHERE test = 0", "duckdb"):
        print(edit.kind, edit.words, edit.sql)

`explain` uses them to prove why an answer is wrong, and the gold checks to test whether a check accepts wrong queries.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import FaultError
from evalsuite.core.import_ref import LazyModule
from evalsuite.sql.session import sql_error

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.expressions import Expr
else:
    exp = LazyModule("sqlglot.expressions")

# Parts of a clause that are changed together, in every combination.
MOST_PARTS: Final = 4
_SHOWN: Final = 120
_SIDES: Final = {"": ("LEFT",), "LEFT": ("", "FULL"), "RIGHT": ("", "LEFT"), "FULL": ("", "LEFT", "RIGHT")}


@dataclass(frozen=True, slots=True)
class Change:
    """New arguments for a node; `fewer` are the changes that equal this one without one of its parts."""

    kind: str
    words: str
    node: "Expr"
    arguments: Mapping[str, Any]
    fewer: Sequence["Change"] = ()


def quote_sql(node: "Expr", dialect: str) -> str:
    text = " ".join(node.sql(dialect).split())
    return f"`{text if len(text) <= _SHOWN else text[: _SHOWN - 3] + '...'}`"


# (the kind of a change, a node in place of another one).
Replacement = tuple[str, "Expr"]


def in_place(old: "Expr", replacements: Iterable[Replacement], dialect: str) -> Iterator[Change]:
    """A node replaced by each of some others in place."""
    parent, key = old.parent, old.arg_key
    if parent is None or key is None:
        return
    value = parent.args[key]
    for kind, new in replacements:
        put = [new if item is old else item for item in value] if isinstance(value, list) else new
        yield Change(kind, f"with {quote_sql(new, dialect)} for {quote_sql(old, dialect)}", parent, {key: put})


def _conditions(node: "Expr") -> list[Any]:
    """The conditions joined by AND."""
    return list(node.flatten()) if isinstance(node, exp.And) else [node]


def filter_changes(select: "Expr", dialect: str) -> Iterator[Change]:
    for key in ("where", "having", "qualify"):
        clause = select.args.get(key)
        if clause is None:
            continue
        parts = _conditions(clause.this)
        whole = Change("filter removed", f"without {quote_sql(clause, dialect)}", select, {key: None})
        if len(parts) == 1:
            yield whole
            continue
        changes: dict[tuple[int, ...], Change] = {}
        for n in range(1, len(parts) if len(parts) <= MOST_PARTS else 2):
            for removed in combinations(range(len(parts)), n):
                rest = exp.and_(*(part.copy() for i, part in enumerate(parts) if i not in removed))
                words = f"without {' and '.join(quote_sql(parts[i], dialect) for i in removed)} in its {key.upper()}"
                changes[removed] = Change("filter removed", words, clause, {"this": rest}, leave_one_out(removed, changes))
        yield from changes.values()
        yield replace(whole, fewer=leave_one_out(tuple(range(len(parts))), changes))


def leave_one_out(parts: tuple[int, ...], changes: Mapping[tuple[int, ...], Change]) -> list[Change]:
    """The changes that leave one of several parts unchanged."""
    return [changes[fewer] for left in parts if (fewer := tuple(i for i in parts if i != left)) in changes]


def join_changes(select: "Expr", dialect: str) -> Iterator[Change]:
    joins = select.args.get("joins") or []
    for i, join in enumerate(joins):
        held = join.args.get("on") is not None or join.args.get("using")
        if held and join.args.get("kind", "").upper() in ("", "INNER", "OUTER"):
            for side in _SIDES.get((join.args.get("side") or "").upper(), ()):
                changed = {"side": side or None, "kind": None}
                new = join.copy()
                for key, value in changed.items():
                    new.set(key, value)
                yield Change("join", f"with {quote_sql(new, dialect)} for {quote_sql(join, dialect)}", join, changed)
        parts = _conditions(join.args["on"]) if join.args.get("on") is not None else []
        for part in parts if len(parts) > 1 else ():
            rest = exp.and_(*(other for other in parts if other is not part))
            yield Change("join", f"without {quote_sql(part, dialect)} in its join", join, {"on": rest})
        yield Change("join", f"without {quote_sql(join, dialect)}", select, {"joins": joins[:i] + joins[i + 1 :]})


def distinct_changes(select: "Expr", dialect: str) -> Iterator[Change]:
    if select.args.get("distinct"):
        yield Change("distinct removed", "without DISTINCT", select, {"distinct": None})
    else:
        yield Change("distinct added", "with DISTINCT", select, {"distinct": exp.Distinct()})
    for call in select.find_all(exp.AggFunc):
        inner = call.this
        if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
            yield from in_place(call, [("distinct removed", type(call)(this=inner.expressions[0].copy()))], dialect)
        elif isinstance(call, exp.Count) and isinstance(inner, exp.Column):
            distinct = exp.Count(this=exp.Distinct(expressions=[inner.copy()]))
            yield from in_place(call, [("distinct added", distinct), ("aggregate", exp.Count(this=exp.Star()))], dialect)


def limit_changes(select: "Expr", dialect: str) -> Iterator[Change]:
    limit, offset, order = (select.args.get(key) for key in ("limit", "offset", "order"))
    for ordered in order.expressions if order is not None else ():
        desc = bool(ordered.args.get("desc"))
        words = f"with {'ASC' if desc else 'DESC'} in `ORDER BY {ordered.this.sql(dialect)}`"
        yield Change("order", words, ordered, {"desc": not desc, "nulls_first": None})
    if limit is not None:
        yield Change("limit", f"without {quote_sql(limit, dialect)}", select, {"limit": None})
        if isinstance(limit.expression, exp.Literal) and limit.expression.is_int:
            n = int(limit.expression.this)
            for other in (n + 1, n - 1, 1, 10):
                if other > 0:
                    yield Change("limit", f"with `LIMIT {other}` for `LIMIT {n}`", limit, {"expression": exp.Literal.number(other)})
        if order is not None:
            yield Change("order", f"without {quote_sql(order, dialect)}", select, {"order": None})
    if offset is not None:
        yield Change("limit", f"without {quote_sql(offset, dialect)}", select, {"offset": None})


def group_changes(select: "Expr", dialect: str) -> Iterator[Change]:
    """One grouping key fewer, or one more."""
    group = select.args.get("group")
    if group is None or not group.expressions:
        return
    yield from _fewer_keys(select, group.expressions, dialect)
    present = {
        expression.sql(dialect)
        for key in group.expressions
        for expression in (key, _projection(key, select.expressions))
        if expression is not None
    }
    present |= {key.name for key in group.expressions if isinstance(key, exp.Column)}
    for column in dict.fromkeys(column.sql(dialect) for column in select.find_all(exp.Column)):
        if column not in present and column.rpartition(".")[2] not in present:
            more = exp.Group(expressions=[*(key.copy() for key in group.expressions), exp.maybe_parse(column, dialect=dialect)])
            yield Change("group", f"with `{column}` in its GROUP BY", select, {"group": more})


def _fewer_keys(select: "Expr", keys: list[Any], dialect: str) -> Iterator[Change]:
    selected = select.expressions
    for i, key in enumerate(keys):
        left = [other for other in keys if other is not key]
        selected_key = _projection(key, selected)
        at = selected.index(selected_key) + 1 if selected_key is not None else 0
        # Ordinals count the selected columns before them.
        if selected_key is not None and any(_ordinal(other) > at for other in left):
            continue
        rest = [column for column in selected if column is not selected_key]
        changed = {"group": exp.Group(expressions=[other.copy() for other in left]) if left else None}
        if rest:
            words = f"without {quote_sql(selected_key if selected_key is not None and _ordinal(key) else key, dialect)} in its GROUP BY"
            yield Change("group", words, select, {**changed, "expressions": rest})
        if i == 0 and selected_key is not None and left:
            yield Change("group", f"without {quote_sql(key, dialect)} in its GROUP BY, but selected", select, changed)


def _ordinal(key: "Expr") -> int:
    return int(key.this) if isinstance(key, exp.Literal) and key.is_int else 0


def _projection(key: "Expr", selected: list[Any]) -> Any:
    """The selected expression of a grouping key, found by its number, its text or its alias; None if it is not selected."""
    if at := _ordinal(key):
        return selected[at - 1] if at <= len(selected) else None
    return next((expression for expression in selected if expression.unalias() == key or expression.alias_or_name == key.name != ""), None)


_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_COMPARED: Final = {"GT": "GTE", "GTE": "GT", "LT": "LTE", "LTE": "LT"}
_INSTEAD: Final = {
    "Sum": ("Avg", "Max", "Count"),
    "Avg": ("Sum", "Max", "Median"),
    "Max": ("Min", "Avg"),
    "Min": ("Max", "Avg"),
    "Count": ("Sum",),
    "Median": ("Avg",),
    "RowNumber": ("Rank", "DenseRank"),
    "Rank": ("RowNumber", "DenseRank"),
    "DenseRank": ("Rank", "RowNumber"),
}


def changed_conditions(node: "Expr") -> Iterator[Replacement]:
    """Other comparisons in place of one."""
    yield from _change_bound(node)
    yield from _opposites(node)
    yield from _change_members(node)


def _change_bound(node: "Expr") -> Iterator[Replacement]:
    """Another bound, or the same bound included or excluded."""
    name = type(node).__name__
    if name in _COMPARED:
        yield "bound", getattr(exp, _COMPARED[name])(**_children(node))
    if isinstance(node, exp.GT | exp.GTE | exp.LT | exp.LTE | exp.EQ | exp.Between):
        yield from _shift_bound(node)
    if isinstance(node, exp.Between):
        this, low, high = (node.args[key] for key in ("this", "low", "high"))
        for left, right in ((exp.GTE, exp.LT), (exp.GT, exp.LTE), (exp.GT, exp.LT)):
            new = exp.and_(left(this=this.copy(), expression=low.copy()), right(this=this.copy(), expression=high.copy()))
            yield "bound", exp.Paren(this=new)


def _opposites(node: "Expr") -> Iterator[Replacement]:
    """The opposite condition, or AND and OR exchanged."""
    for kind, other in ((exp.EQ, exp.NEQ), (exp.NEQ, exp.EQ), (exp.And, exp.Or), (exp.Or, exp.And)):
        if isinstance(node, kind) and not isinstance(node.parent, exp.Join):
            yield "condition", other(**_children(node))
    if isinstance(node, exp.Not):
        yield "condition", node.this.copy()
    elif isinstance(node, exp.Is | exp.In | exp.Like | exp.ILike | exp.Exists) and not isinstance(node.parent, exp.Not):
        yield "condition", exp.Not(this=node.copy())


def _change_members(node: "Expr") -> Iterator[Replacement]:
    """A list without one of its items, or a pattern with other wildcards."""
    if isinstance(node, exp.In) and len(node.expressions) > 1:
        for left_out in node.expressions:
            new = node.copy()
            new.set("expressions", [item.copy() for item in node.expressions if item is not left_out])
            yield "condition", new
    if isinstance(node, exp.Like | exp.ILike) and isinstance(node.expression, exp.Literal):
        bare = node.expression.this.strip("%")
        for pattern in (f"%{bare}%", f"{bare}%", f"%{bare}", bare):
            if pattern != node.expression.this:
                yield "condition", type(node)(this=node.this.copy(), expression=exp.Literal.string(pattern))


def _children(node: "Expr") -> dict[str, Any]:
    return {key: node.args[key].copy() for key in ("this", "expression")}


def _shift_bound(node: "Expr") -> Iterator[Replacement]:
    """A bound increased or decreased by one: a whole number, or a day."""
    for i, literal in enumerate(node.find_all(exp.Literal)):
        try:
            shifted = [_move_literal(literal, step) for step in (1, -1)]
        except (ValueError, OverflowError):
            continue
        for new in filter(None, shifted):
            changed = node.copy()
            list(changed.find_all(exp.Literal))[i].replace(new)
            yield "bound", changed


def _move_literal(literal: Any, step: int) -> Any:
    """A whole number or a day moved by a step; None for any other literal. Raises ValueError, OverflowError."""
    if literal.is_int:
        return exp.Literal.number(int(literal.this) + step)
    if not _DAY.fullmatch(literal.this):
        return None
    return exp.Literal.string(str(date.fromisoformat(literal.this) + timedelta(days=step)))


def changed_expressions(node: "Expr") -> Iterator[Replacement]:
    """Values computed in another way: by another function, without one, with other operands, as decimals."""
    name = type(node).__name__
    for other in _INSTEAD.get(name, ()):
        if name.endswith(("Rank", "Number")):
            yield "expression", getattr(exp, other)()
        elif isinstance(node.this, exp.Expr) and not isinstance(node.this, exp.Star | exp.Distinct):
            yield "aggregate", getattr(exp, other)(this=node.this.copy())
    if (isinstance(node, exp.Round | exp.Coalesce) and isinstance(node.this, exp.Expr)) or isinstance(node, exp.Cast):
        yield "expression", node.this.copy()
    for places in (0, 1, 2) if isinstance(node, exp.Round) else ():
        yield "expression", exp.Round(this=node.this.copy(), decimals=exp.Literal.number(places))
    if isinstance(node, exp.Mul | exp.Div) and isinstance(node.expression, exp.Literal):
        yield "expression", node.this.copy()
    if isinstance(node, exp.Mul) and isinstance(node.this, exp.Literal):
        yield "expression", node.expression.copy()
    if isinstance(node, exp.Div):
        decimals = node.copy()
        decimals.set("this", exp.Mul(this=node.this.copy(), expression=exp.Literal.number("1.0")))
        yield "expression", decimals
    if isinstance(node, exp.Sub | exp.Div):
        yield "expression", type(node)(this=node.expression.copy(), expression=node.this.copy())


# Clauses that are taken from the other query whole, with the kind of that edit.
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
    """A query with one change: its kind, `words` that complete "the query ...", the statement, and whether it is closer to another query.

    `fewer` are the statements of the edits that equal this one without one of its parts, if it has several.
    """

    kind: str
    words: str
    sql: str
    nearer: bool = False
    fewer: Sequence[str] = ()


def edits(sql: str, dialect: str, other: str = "", owner: str = "the answer's") -> list[QueryEdit]:
    """Each edit of a query once, those closer to the `other` query first; clauses taken from that one are called `owner`.

    `dialect` is an engine's name in `ENGINES`. Raises `FaultError` SQL_ERROR for text that cannot be parsed.
    """
    tree, goal_tree = _parse(sql, dialect), _parse(other, dialect) if other else None
    by_text: dict[str, QueryEdit] = {}
    own_text = tree.sql(dialect)
    goal = _tokens(goal_tree.sql(dialect)) if goal_tree is not None else Counter[str]()
    distance = _count_unlike_tokens(_tokens(own_text), goal)
    changes = [*_changes(tree, dialect), *(_take_over_clauses(tree, goal_tree, dialect, owner) if goal_tree is not None else ())]
    for change in changes:
        text = _apply_change(tree, change, dialect)
        if text != own_text and text not in by_text:
            nearer = goal_tree is not None and _count_unlike_tokens(_tokens(text), goal) < distance
            fewer = [_apply_change(tree, other, dialect) for other in change.fewer]
            by_text[text] = QueryEdit(change.kind, change.words, text, nearer, fewer)
    return sorted(by_text.values(), key=lambda edit: not edit.nearer)


def _apply_change(tree: "Expr", change: Change, dialect: str) -> str:
    before = {key: change.node.args.get(key) for key in change.arguments}
    for key, value in change.arguments.items():
        change.node.set(key, value)
    text = str(tree.sql(dialect))
    for key, value in before.items():
        change.node.set(key, value)
    return text


def one_row_short(sql: str, dialect: str) -> list[QueryEdit]:
    """The query over its table without one of the rows that it reads; empty if it reads no plain table. Raises like `edits`."""
    tree = _parse(sql, dialect)
    source = tree.args.get("from_") or tree.args.get("from")
    table = source.this if source is not None else None
    if not isinstance(tree, exp.Select) or not isinstance(table, exp.Table):
        return []
    name, alias = table.copy(), table.alias_or_name
    inner = exp.select("*").from_(name)
    # The data of another table cannot be queried inside.
    if tree.args.get("where") is not None and not tree.args.get("joins"):
        inner = inner.where(tree.args["where"].this.copy())
    inner = inner.limit(2**31 - 1).offset(1)
    table.replace(inner.subquery(alias))
    return [QueryEdit("source row dropped", f"without one row of {quote_sql(name, dialect)}", tree.sql(dialect))]


def edits_as_data(sql: str, dialect: str, other: str = "", owner: str = "the answer's") -> list[list[Any]]:
    """`edits` as lists, for a worker to send; if the other query cannot be parsed, only the edits that do not need it."""
    try:
        all_edits = edits(sql, dialect, other, owner)
    except FaultError:
        if not other:
            raise
        all_edits = edits(sql, dialect)
    return [[edit.kind, edit.words, edit.sql, edit.nearer, list(edit.fewer)] for edit in all_edits]


def _parse(sql: str, dialect: str) -> "Expr":
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(sql, read=dialect)
    except SqlglotError:
        raise sql_error("syntax") from None
    return tree


def _tokens(sql: str) -> Counter[str]:
    return Counter(re.findall(r"'[^']*'|[\w.]+|[^\w\s]", sql.casefold()))


def _count_unlike_tokens(a: Counter[str], b: Counter[str]) -> int:
    return (a - b).total() + (b - a).total()


def _changes(tree: "Expr", dialect: str) -> Iterator[Change]:
    """The possible changes, the likeliest mistakes first."""
    selects = list(tree.find_all(exp.Select))
    for find in (filter_changes, join_changes, distinct_changes, limit_changes):
        for select in selects:
            yield from find(select, dialect)
    for union in tree.find_all(exp.Union):
        distinct = bool(union.args.get("distinct"))
        kind, words = ("distinct removed", "UNION ALL for UNION") if distinct else ("distinct added", "UNION for UNION ALL")
        yield Change(kind, f"with {words}", union, {"distinct": not distinct})
    for node in list(tree.walk()):
        yield from in_place(node, changed_conditions(node), dialect)
    for select in selects:
        yield from group_changes(select, dialect)
    for node in list(tree.walk()):
        yield from in_place(node, changed_expressions(node), dialect)
        if isinstance(node, exp.Window) and node.args.get("partition_by"):
            yield Change("group", f"without PARTITION BY in {quote_sql(node, dialect)}", node, {"partition_by": None})


def _take_over_clauses(tree: "Expr", other: "Expr", dialect: str, owner: str) -> Iterator[Change]:
    """The differing parts of the other query's clauses, each in place of the query's own, then several of a clause together."""
    if not (isinstance(tree, exp.Select) and isinstance(other, exp.Select)):
        return
    for key, kind in _CLAUSES.items():
        own, new = _clause_parts(tree, key), _clause_parts(other, key)
        if key == "expressions" and len(own) != len(new):
            text = ", ".join(quote_sql(column, dialect) for column in new)
            yield Change(kind, f"with {owner} columns {text}", tree, {key: [column.copy() for column in new]})
            continue
        parts = _different_parts(own, new, in_place=key == "expressions")
        if not 0 < len(parts) <= MOST_PARTS:
            continue
        changes: dict[tuple[int, ...], Change] = {}
        for n in range(1, len(parts) + 1):
            for chosen in combinations(range(len(parts)), n):
                chosen_parts = [parts[i] for i in chosen]
                exchanged = {i: come for i, _, come in chosen_parts if i >= 0}
                kept = [*(exchanged.get(i, part) for i, part in enumerate(own)), *(come for i, _, come in chosen_parts if i < 0)]
                arguments = {key: _clause_of(key, [part.copy() for part in kept if part is not None])}
                words = _in_words(chosen_parts, key, dialect, owner)
                changes[chosen] = Change(kind, words, tree, arguments, leave_one_out(chosen, changes))
        yield from changes.values()


# (the index of the removed part, -1 for none; the removed part; the added part).
_Part = tuple[int, "Expr | None", "Expr | None"]


def _clause_parts(select: "Expr", key: str) -> list["Expr"]:
    """The conditions, columns, joins or keys of a clause; the whole of an ORDER BY and a LIMIT."""
    clause = select.args.get(key)
    if isinstance(clause, exp.Where | exp.Having):
        return _conditions(clause.this)
    if key == "group" and clause is not None and not set(clause.args) - {"expressions"}:
        return list(clause.expressions)
    return list(clause) if isinstance(clause, list) else [] if clause is None else [clause]


def _different_parts(own: Sequence["Expr"], new: Sequence["Expr"], *, in_place: bool) -> list[_Part]:
    """The removed and the added part for each part of a clause that differs in more than its alias."""
    if in_place:
        return [(i, a, b) for i, (a, b) in enumerate(zip(own, new, strict=True)) if a.unalias() != b.unalias()]
    removed, come = [(i, a) for i, a in enumerate(own) if a not in new], [b for b in new if b not in own]
    if len(removed) == len(come) == 1:
        return [(*removed[0], come[0])]
    return [*((i, a, None) for i, a in removed), *((-1, None, b) for b in come)]


def _clause_of(key: str, parts: list["Expr"]) -> Any:
    """The value of a SELECT's key: the parts as its clause, None if there are none."""
    if key in ("joins", "expressions"):
        return parts or None
    if not parts:
        return None
    if key in ("where", "having"):
        return (exp.Where if key == "where" else exp.Having)(this=exp.and_(*parts))
    if key == "group" and not isinstance(parts[0], exp.Group):
        return exp.Group(expressions=parts)
    return parts[0]


def _in_words(parts: Sequence[_Part], key: str, dialect: str, owner: str) -> str:
    """`with `b` for `a` in its WHERE, as the answer's`: the words that complete "the query ..."."""
    words = []
    for _, removed, come in parts:
        new = f"with {quote_sql(come, dialect)}" if come is not None else ""
        old = quote_sql(removed, dialect) if removed is not None else ""
        words.append(f"{new} for {old}" if new and old else new or f"without {old}")
    clause = {"expressions": "columns", "joins": "joins"}.get(key, f"{key.upper()} BY" if key in ("group", "order") else key.upper())
    return f"{' and '.join(words)} in its {clause}, as {owner}"
