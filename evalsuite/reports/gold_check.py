"""What gold scores against itself, as lines for a terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalsuite.reports.clean import clean

if TYPE_CHECKING:
    from evalsuite.trust.gold_check import GoldCheck, Unsatisfied

MOST_SHOWN = 100
MOST_NAMED = 10


def lines(found: "GoldCheck") -> Iterator[str]:
    """The instances that gold itself cannot answer, then single checks that refuse their gold, then the ceiling."""
    lowering = [one for one in found.unsatisfied if one.lowers]
    others = [one for one in found.unsatisfied if not one.lowers]
    if lowering:
        yield "gold's own answer is refused"
        yield from _rows(lowering)
    if others:
        yield "refused, while another answer to the same instance is accepted"
        yield from _rows(others)
    if found.untried:
        yield "not tried"
        yield from _rows(found.untried)
    if found.excused:
        yield "answered for"
        yield from (f"   {clean(id_)}: {clean(place)}" for id_, place in found.excused.items())
    yield found.ceiling.words()


def verdict(found: "GoldCheck") -> str:
    """The last line: which instances do not get full marks though nobody answers for them."""
    failing = [clean(id_) for id_ in found.failing]
    if not failing:
        others = f", but for {len(found.excused)} answered for by lint_ignore or errata" if found.excused else ""
        tried = " that was tried" if found.untried else ""
        return f"done: every gold{tried} gets full marks under its own rules{others}"
    more = f" and {len(failing) - MOST_NAMED} more" if len(failing) > MOST_NAMED else ""
    return f"failed: no full marks under its own rules: {', '.join(failing[:MOST_NAMED])}{more} (exit 1)"


def _rows(findings: Sequence["Unsatisfied"]) -> Iterator[str]:
    for one in findings[:MOST_SHOWN]:
        rules = "+".join(one.rules)
        code = f"{one.code}: " if one.code else ""
        yield (
            f"   {clean(one.where)}: {clean(one.instance_id)}: {one.scorer}"
            + (f", {rules}" if rules else "")
            + f": {code}{clean(one.reason)}"
        )
    if len(findings) > MOST_SHOWN:
        yield f"   ... {len(findings) - MOST_SHOWN} more (--json lists all)"
