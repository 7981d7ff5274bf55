"""What may be changed in a condition or in a value that is computed: a bound, a comparison, an aggregate, a division."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from evalsuite.sql.clause_changes import Change, in_place, shown

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

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


def condition_changes(node: "Expr", dialect: str) -> Iterator[Change]:
    """A comparison that is another one."""
    from sqlglot import exp

    name = type(node).__name__
    if name in _COMPARED:
        yield from in_place("bound", node, getattr(exp, _COMPARED[name])(**_children(node)), dialect)
    if isinstance(node, exp.GT | exp.GTE | exp.LT | exp.LTE | exp.EQ | exp.Between):
        yield from _shifted(node, dialect)
    if isinstance(node, exp.EQ | exp.NEQ) and not isinstance(node.parent, exp.Join):
        yield from in_place("condition", node, (exp.NEQ if isinstance(node, exp.EQ) else exp.EQ)(**_children(node)), dialect)
    if isinstance(node, exp.And | exp.Or) and not isinstance(node.parent, exp.Join):
        yield from in_place("condition", node, (exp.Or if isinstance(node, exp.And) else exp.And)(**_children(node)), dialect)
    if isinstance(node, exp.Between):
        this, low, high = (node.args[key] for key in ("this", "low", "high"))
        for left, right in ((exp.GTE, exp.LT), (exp.GT, exp.LTE), (exp.GT, exp.LT)):
            new = exp.and_(left(this=this.copy(), expression=low.copy()), right(this=this.copy(), expression=high.copy()))
            yield from in_place("bound", node, exp.Paren(this=new), dialect)
    if isinstance(node, exp.Not):
        yield from in_place("condition", node, node.this.copy(), dialect)
    elif isinstance(node, exp.Is | exp.In | exp.Like | exp.ILike | exp.Exists) and not isinstance(node.parent, exp.Not):
        yield from in_place("condition", node, exp.Not(this=node.copy()), dialect)
    if isinstance(node, exp.In) and len(node.expressions) > 1:
        for one in node.expressions:
            new = node.copy()
            new.set("expressions", [item.copy() for item in node.expressions if item is not one])
            yield from in_place("condition", node, new, dialect)
    if isinstance(node, exp.Like | exp.ILike) and isinstance(node.expression, exp.Literal):
        bare = node.expression.this.strip("%")
        for pattern in (f"%{bare}%", f"{bare}%", f"%{bare}", bare):
            if pattern != node.expression.this:
                new = type(node)(this=node.this.copy(), expression=exp.Literal.string(pattern))
                yield from in_place("condition", node, new, dialect)


def _children(node: "Expr") -> dict[str, Any]:
    return {key: node.args[key].copy() for key in ("this", "expression")}


def _shifted(node: "Expr", dialect: str) -> Iterator[Change]:
    """A bound that is one more or one less: a whole number, or a day."""
    from sqlglot import exp

    for i, literal in enumerate(node.find_all(exp.Literal)):
        try:
            moved = [_moved(literal, step) for step in (1, -1)]
        except (ValueError, OverflowError):
            continue
        for new in filter(None, moved):
            changed = node.copy()
            list(changed.find_all(exp.Literal))[i].replace(new)
            yield from in_place("bound", node, changed, dialect)


def _moved(literal: Any, step: int) -> Any:
    """A whole number or a day so much later; None for any other literal. Raises ValueError, OverflowError."""
    from sqlglot import exp

    if literal.is_int:
        return exp.Literal.number(int(literal.this) + step)
    if not _DAY.fullmatch(literal.this):
        return None
    return exp.Literal.string(str(date.fromisoformat(literal.this) + timedelta(days=step)))


def expression_changes(node: "Expr", dialect: str) -> Iterator[Change]:
    """A value that is computed in another way."""
    from sqlglot import exp

    name = type(node).__name__
    for other in _INSTEAD.get(name, ()):
        ranks = name.endswith(("Rank", "Number"))
        if not ranks and (not isinstance(node.this, exp.Expr) or isinstance(node.this, exp.Star | exp.Distinct)):
            continue
        new = getattr(exp, other)() if ranks else getattr(exp, other)(this=node.this.copy())
        yield from in_place("expression" if ranks else "aggregate", node, new, dialect)
    if isinstance(node, exp.Round | exp.Coalesce) and isinstance(node.this, exp.Expr):
        yield from in_place("expression", node, node.this.copy(), dialect)
    if isinstance(node, exp.Round):
        for places in (0, 1, 2):
            yield from in_place("expression", node, exp.Round(this=node.this.copy(), decimals=exp.Literal.number(places)), dialect)
    if isinstance(node, exp.Cast) and node.parent is not None:
        yield from in_place("expression", node, node.this.copy(), dialect)
    if isinstance(node, exp.Mul | exp.Div) and isinstance(node.expression, exp.Literal):
        yield from in_place("expression", node, node.this.copy(), dialect)
    if isinstance(node, exp.Mul) and isinstance(node.this, exp.Literal):
        yield from in_place("expression", node, node.expression.copy(), dialect)
    if isinstance(node, exp.Div):
        real = exp.Mul(this=node.this.copy(), expression=exp.Literal.number("1.0"))
        new = node.copy()
        new.set("this", real)
        yield from in_place("expression", node, new, dialect)
    if isinstance(node, exp.Sub | exp.Div):
        turned = type(node)(this=node.expression.copy(), expression=node.this.copy())
        yield from in_place("expression", node, turned, dialect)
    if isinstance(node, exp.Window) and node.args.get("partition_by"):
        words = f"without PARTITION BY in {shown(node, dialect)}"
        yield Change("group", words, node, {"partition_by": None})
