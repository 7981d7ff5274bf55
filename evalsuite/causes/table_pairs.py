"""The tables of an answer beside the gold tables that a check holds them to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsuite.causes.table_alignment import Alignment, align
from evalsuite.tables.strict_columns import PLAIN_TERMS, Terms
from evalsuite.tables.strict_tables import columns_for, order_for
from evalsuite.types import Fault, Rule, Table


@dataclass(frozen=True, slots=True)
class TablePair:
    """A predicted table and the gold table it is held to, with what gold says of columns and order.

    `terms` are the tolerances of cells; rows are paired by the gold columns `key`, where there are such.
    """

    prediction: Table
    gold: Table
    needed: tuple[int, ...]
    ordered: bool
    name: str = ""
    terms: Terms = PLAIN_TERMS
    key: tuple[int, ...] = ()
    _aligned: dict[Rule, Alignment | None] = field(init=False, default_factory=dict, repr=False, compare=False)

    def align(self, rules: Rule) -> Alignment | None:
        """The two side by side, worked out once; None where they are too large."""
        if rules not in self._aligned:
            self._aligned[rules] = align(
                self.gold, self.prediction, needed=self.needed, ordered=self.ordered, rules=rules, terms=self.terms, key_columns=self.key
            )
        return self._aligned[rules]


def table_pairs(form: Any, parameters: Mapping[str, Any], reads: str, rules: Rule) -> list[TablePair]:
    """The pairs of tables that a check compares; of several accepted golds each is one. Faults stand for no table and are left out."""
    gold = parameters["gold"]
    terms = Terms(
        abs_tol=parameters.get("abs_tol"), rel_tol=parameters.get("rel_tol"), percentage=bool(parameters.get("percentage", False))
    )
    if reads == "table":
        golds = [gold] if isinstance(gold, Table | Fault) else list(gold)
        order = parameters.get("ignore_order", False)
        pairs = [(form, item, i, "") for i, item in enumerate(golds)]
    elif reads == "tables":
        golds, order = list(gold), parameters.get("ignore_orders")
        pairs = [(p, g, i, getattr(g, "name", "")) for i, (p, g) in enumerate(zip(form, golds, strict=False))]
    else:
        names = list(parameters.get("condition_tabs") or gold)
        handed_in, expected = ({name.lower(): table for name, table in side.items()} for side in (form, gold))
        golds, order = names, parameters.get("ignore_orders")
        pairs = [(handed_in.get(name.lower()), expected.get(name.lower()), i, name) for i, name in enumerate(names)]
    found = []
    for p, g, i, name in pairs:
        if isinstance(p, Table) and isinstance(g, Table):
            free = bool(order) if rules == "official" and reads == "table" else order_for(order, i)
            needed = tuple(columns_for(parameters.get("condition_cols"), i, len(golds)))
            found.append(TablePair(p, g, needed, not free, name, terms))
    return found
