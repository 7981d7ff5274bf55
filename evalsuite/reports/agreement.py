"""Two raters and what they agree on, as lines for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalsuite.reports.clean import clean
from evalsuite.reports.words import percent

if TYPE_CHECKING:
    from evalsuite.board.raters import Label, RaterAgreement
    from evalsuite.stats.agreement import Confusion

MOST_SHOWN = 20


def agreement_lines(found: "RaterAgreement", *, most: int = MOST_SHOWN) -> Iterator[str]:
    """The report line by line; at most `most` disagreements, and how many more there are."""
    a, b = map(clean, found.names)
    yield f"A {a}"
    yield f"B {b}"
    if found.threshold is not None:
        yield f"labels of at least {found.threshold:g} count as 1, others as 0"
    for why, count in found.left_out.items():
        yield f"left out: {count} {clean(why)}"
    yield ""
    low, high = found.interval
    ratio = f"{found.n_equal}/{found.n} = {percent(found.observed)}"
    yield f" {'raw agreement':<34} {ratio}   95 % CI [{percent(low, '')}, {percent(high, '')}]"
    for one in found.coefficients:
        value = f"{one.value:.3f}" if one.value is not None else f"undefined: {one.note}"
        yield f" {one.method:<34} {value}"
    yield ""
    if found.confusion is not None:
        yield from _table(found.confusion)
        yield ""
    yield from _disagreements(found, most)


def _table(table: "Confusion") -> Iterator[str]:
    names = [shown(label) for label in table.labels]
    width = max(4, *(len(name) for name in names), *(len(str(count)) for row in table.counts for count in row))
    yield " " + " " * (width + 3) + "  ".join(f"{name:>{width}}" for name in names) + "   <- B"
    for name, row in zip(names, table.counts, strict=True):
        yield f" A {name:>{width}} " + "  ".join(f"{count:>{width}}" for count in row)


def _disagreements(found: "RaterAgreement", most: int) -> Iterator[str]:
    n = len(found.disagreements)
    yield f" {n} disagreement{'' if n == 1 else 's'}"
    for one in found.disagreements[:most]:
        yield f"   {clean(one.instance_id)}"
        for side, label, reason in zip("AB", one.labels, one.reasons, strict=True):
            yield f"     {side} {shown(label)}" + (f"  {clean(reason)}" if reason else "")
    if n > most:
        yield f"   ... {n - most} more (--most {n} shows all)"


def shown(label: "Label") -> str:
    """A label in a table: whole numbers without decimals, long texts cut."""
    if isinstance(label, float):
        return f"{label:g}"
    text = clean(label)
    return text if len(text) <= 16 else text[:15] + "…"
