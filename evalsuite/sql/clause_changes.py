"""What may be changed in the clauses of a SELECT: filters, joins, DISTINCT, groups, order and limit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

# Parts of a clause that are changed together, in every choice of them.
MOST_PARTS: Final = 4
_SHOWN: Final = 120
_SIDES: Final = {"": ("LEFT",), "LEFT": ("", "FULL"), "RIGHT": ("", "LEFT"), "FULL": ("", "LEFT", "RIGHT")}


@dataclass(frozen=True, slots=True)
class Change:
    """Arguments of a node to be set; `fewer` are the changes that are this one but for one of its parts."""

    kind: str
    words: str
    node: "Expr"
    arguments: Mapping[str, Any]
    fewer: Sequence["Change"] = ()


def shown(node: "Expr", dialect: str) -> str:
    text = " ".join(node.sql(dialect).split())
    return f"`{text if len(text) <= _SHOWN else text[: _SHOWN - 3] + '...'}`"


def in_place(kind: str, old: "Expr", new: "Expr", dialect: str) -> Iterator[Change]:
    """A node exchanged for another one where it stands."""
    parent, key = old.parent, old.arg_key
    if parent is None or key is None:
        return
    value = parent.args[key]
    put = [new if item is old else item for item in value] if isinstance(value, list) else new
    yield Change(kind, f"with {shown(new, dialect)} for {shown(old, dialect)}", parent, {key: put})


def _parts(node: "Expr") -> list[Any]:
    """The conditions that AND joins."""
    from sqlglot import exp

    return list(node.flatten()) if isinstance(node, exp.And) else [node]


def filter_changes(select: "Expr", dialect: str) -> Iterator[Change]:
    from sqlglot import exp

    for key in ("where", "having", "qualify"):
        clause = select.args.get(key)
        if clause is None:
            continue
        parts = _parts(clause.this)
        whole = Change("filter removed", f"without {shown(clause, dialect)}", select, {key: None})
        if len(parts) == 1:
            yield whole
            continue
        made: dict[tuple[int, ...], Change] = {}
        for n in range(1, len(parts) if len(parts) <= MOST_PARTS else 2):
            for gone in combinations(range(len(parts)), n):
                rest = exp.and_(*(part.copy() for i, part in enumerate(parts) if i not in gone))
                words = f"without {' and '.join(shown(parts[i], dialect) for i in gone)} in its {key.upper()}"
                made[gone] = Change("filter removed", words, clause, {"this": rest}, one_less(gone, made))
        yield from made.values()
        yield replace(whole, fewer=one_less(tuple(range(len(parts))), made))


def one_less(some: tuple[int, ...], made: Mapping[tuple[int, ...], Change]) -> list[Change]:
    """The changes that leave one of some parts as it is."""
    return [made[fewer] for left in some if (fewer := tuple(i for i in some if i != left)) in made]


def join_changes(select: "Expr", dialect: str) -> Iterator[Change]:
    from sqlglot import exp

    joins = select.args.get("joins") or []
    for i, join in enumerate(joins):
        held = join.args.get("on") is not None or join.args.get("using")
        if held and join.args.get("kind", "").upper() in ("", "INNER", "OUTER"):
            for side in _SIDES.get((join.args.get("side") or "").upper(), ()):
                changed = {"side": side or None, "kind": None}
                new = join.copy()
                for key, value in changed.items():
                    new.set(key, value)
                yield Change("join", f"with {shown(new, dialect)} for {shown(join, dialect)}", join, changed)
        parts = _parts(join.args["on"]) if join.args.get("on") is not None else []
        for part in parts if len(parts) > 1 else ():
            rest = exp.and_(*(other for other in parts if other is not part))
            yield Change("join", f"without {shown(part, dialect)} in its join", join, {"on": rest})
        yield Change("join", f"without {shown(join, dialect)}", select, {"joins": joins[:i] + joins[i + 1 :]})


def distinct_changes(select: "Expr", dialect: str) -> Iterator[Change]:
    from sqlglot import exp

    if select.args.get("distinct"):
        yield Change("distinct removed", "without DISTINCT", select, {"distinct": None})
    else:
        yield Change("distinct added", "with DISTINCT", select, {"distinct": exp.Distinct()})
    for call in select.find_all(exp.AggFunc):
        inner = call.this
        if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
            plain = type(call)(this=inner.expressions[0].copy())
            yield from in_place("distinct removed", call, plain, dialect)
        elif isinstance(call, exp.Count) and isinstance(inner, exp.Column):
            yield from in_place("distinct added", call, exp.Count(this=exp.Distinct(expressions=[inner.copy()])), dialect)
            yield from in_place("aggregate", call, exp.Count(this=exp.Star()), dialect)


def limit_changes(select: "Expr", dialect: str) -> Iterator[Change]:
    from sqlglot import exp

    limit, offset, order = (select.args.get(key) for key in ("limit", "offset", "order"))
    for ordered in order.expressions if order is not None else ():
        desc = bool(ordered.args.get("desc"))
        words = f"with {'ASC' if desc else 'DESC'} in `ORDER BY {ordered.this.sql(dialect)}`"
        yield Change("order", words, ordered, {"desc": not desc, "nulls_first": None})
    if limit is not None:
        yield Change("limit", f"without {shown(limit, dialect)}", select, {"limit": None})
        if isinstance(limit.expression, exp.Literal) and limit.expression.is_int:
            n = int(limit.expression.this)
            for other in (n + 1, n - 1, 1, 10):
                if other > 0:
                    yield Change("limit", f"with `LIMIT {other}` for `LIMIT {n}`", limit, {"expression": exp.Literal.number(other)})
        if order is not None:
            yield Change("order", f"without {shown(order, dialect)}", select, {"order": None})
    if offset is not None:
        yield Change("limit", f"without {shown(offset, dialect)}", select, {"offset": None})


def group_changes(select: "Expr", dialect: str) -> Iterator[Change]:
    """One key of the groups less, or one more."""
    from sqlglot import exp

    group = select.args.get("group")
    if group is None or not group.expressions:
        return
    keys, selected = group.expressions, select.expressions
    for i, key in enumerate(keys):
        left = [other for other in keys if other is not key]
        own = _projection(key, selected)
        at = selected.index(own) + 1 if own is not None else 0
        # Ordinals count what is selected before them.
        if own is not None and any(_ordinal(other) > at for other in left):
            continue
        rest = [one for one in selected if one is not own]
        changed = {"group": exp.Group(expressions=[other.copy() for other in left]) if left else None}
        if rest:
            words = f"without {shown(own if own is not None and _ordinal(key) else key, dialect)} in its GROUP BY"
            yield Change("group", words, select, {**changed, "expressions": rest})
        if i == 0 and own is not None and left:
            yield Change("group", f"without {shown(key, dialect)} in its GROUP BY, but selected", select, changed)
    there = {one.sql(dialect) for key in keys for one in (key, _projection(key, selected)) if one is not None}
    there |= {key.name for key in keys if isinstance(key, exp.Column)}
    for column in dict.fromkeys(column.sql(dialect) for column in select.find_all(exp.Column)):
        if column not in there and column.rpartition(".")[2] not in there:
            more = exp.Group(expressions=[*(key.copy() for key in keys), exp.maybe_parse(column, dialect=dialect)])
            yield Change("group", f"with `{column}` in its GROUP BY", select, {"group": more})


def _ordinal(key: "Expr") -> int:
    from sqlglot import exp

    return int(key.this) if isinstance(key, exp.Literal) and key.is_int else 0


def _projection(key: "Expr", selected: list[Any]) -> Any:
    """What is selected of a group's key, by its number, its text or its alias; None where it is not selected."""
    if at := _ordinal(key):
        return selected[at - 1] if at <= len(selected) else None
    return next((one for one in selected if one.unalias() == key or one.alias_or_name == key.name != ""), None)
