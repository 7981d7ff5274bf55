"""The difference of an answer and gold as HTML: what `trust.difference` found, in the form in which people read it.

Tables stand side by side, numbers with their distance over the tolerance, texts as insertions and deletions, trees by JSON path, a
judge's words as a quotation. What `reveal` cut away is not there to be drawn; every cut is said with its count.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from evalsuite.reports.html import environment

if TYPE_CHECKING:
    from markupsafe import Markup

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
KINDS = ("table", "tables", "number", "text", "tree", "judge", "none")


def render_difference(difference: Mapping[str, Any]) -> "Markup":
    """The difference as a block of HTML; empty for a kind that is not known or of which only the kind may be shown."""
    from markupsafe import Markup

    kind = difference.get("kind")
    if kind not in KINDS or len(difference) < 2:
        return Markup()
    values = {"d": difference, "cell": cell, "is_null": is_null, "times": times, "counted": counted, "by_word": by_word}
    return Markup(environment().get_template("difference.html").render(values))


def cell(value: object) -> str:
    """A value as a cell shows it: NULL for none, text in quotes where spaces at its ends would not be seen or nothing is in it."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"'{value}'" if value != value.strip() or not value else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def is_null(value: object) -> bool:
    """Whether the cell is the database's NULL or an empty one."""
    return value is None


def times(number: Mapping[str, Any], tolerance: float) -> str:
    """How far a number is beyond the tolerance: `✓ within`, or `✗ 34 times` the tolerance."""
    if number["within"]:
        return "✓ within"
    distance = number["distance"]
    if not isinstance(distance, int | float) or not tolerance:
        return "✗ beyond"
    beyond = distance / tolerance
    return f"✗ {beyond:,.0f} times" if 10 <= beyond < 1e9 else f"✗ {beyond:.3g} times"


def by_word(segments: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """How gold becomes the answer, word by word: ("equal" | "gold" | "answer", text) pairs in reading order.

    Empty where less than half of the shorter text is shared: marks would then hide more than they show.
    """
    gold, answer = ("".join(one[side] for one in segments) for side in ("gold", "predicted"))
    a, b = _WORDS.findall(gold), _WORDS.findall(answer)
    pairs: list[tuple[str, str]] = []
    shared = 0
    for op, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if op == "equal":
            pairs.append(("equal", "".join(a[i:j])))
            shared += len(pairs[-1][1])
            continue
        pairs += [(side, "".join(part)) for side, part in (("gold", a[i:j]), ("answer", b[k:m])) if part]
    return pairs if 2 * shared >= min(len(gold), len(answer)) > 0 else []


def counted(n: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
