"""Reasons of the comparison of texts and numbers: every sentence that a person reads about an answer."""

from collections.abc import Sequence
from typing import Final, Literal

MAX_SHOWN: Final = 60
MAX_LISTED: Final = 5
# Replaces the one gold text in a reason; a report that may show gold replaces it with the text.
LACKED: Final = "the gold text"
NO_NUMBER: Final = "no number in the answer"
EXCLUDED: Final = "contains the excluded text"


def cut(text: str) -> str:
    """Text of at most 60 characters."""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def shorten(text: str) -> str:
    """Quoted text of at most 60 characters."""
    return repr(cut(text))


def contains(what: str) -> str:
    """The answer contains a gold text or number, or all of them."""
    return f"contains {what}"


def contains_excluded(text: str) -> str:
    """The answer contains an excluded text."""
    return f"{EXCLUDED} {shorten(text)}"


def lacks(n_missing: int, n_golds: int, conj: Literal["and", "or"]) -> str:
    """The answer lacks gold texts. A text gold is the answer itself, so a reason that submitters may see never quotes it."""
    if n_golds == 1:
        return f"the answer lacks {LACKED}"
    return f"the answer lacks {f'all {n_golds} gold texts' if conj == 'or' else f'{n_missing} of {n_golds} gold texts'}"


def in_part(reason: str) -> str:
    """A reason that is about what the answer declares (`Final answer: ...`), not about the rest of it."""
    return f"{reason}, in the part of the answer that counts"


def part_of_word(text: str, word: str) -> str:
    """The answer contains a gold text only as a part of a longer word."""
    return f"part of a word: {shorten(text)} occurs only inside {shorten(word)}"


def is_doubted(text: str, doubt: str) -> str:
    """The answer contains a gold text, but denies it or names it as one of several alternatives."""
    return f"{doubt}: the answer {'denies' if doubt == 'negated' else 'names alternatives to'} {shorten(text)}"


def is_denied(number: str) -> str:
    """A gold number is in the answer, but only as a bound (`at least 42`) or denied."""
    return f"negated: the answer denies {number} or states it as a bound"


def too_many_numbers(n_numbers: int, first: Sequence[str]) -> str:
    """The answer contains several numbers, but gold takes one; `first` are more than are listed, if there are more."""
    return f"{n_numbers} numbers in the answer, this gold takes exactly one: {_join_items(first)}"


def no_number_near(tolerance: str, gold: str, closest: str) -> str:
    """No number is within the official tolerance of gold."""
    return f"no number within {tolerance} of gold {gold}: closest is {closest}"


def hedged(candidates: Sequence[str], n_golds: int, most: int) -> str:
    """The answer contains more different numbers than golds; beyond `most` they were not counted."""
    expected = "one was expected" if n_golds == 1 else f"at most {n_golds} were expected"
    number = len(candidates) if len(candidates) <= most else f"more than {most}"
    return f"hedged: found {number} different numbers, {expected}: {_join_items(candidates)}"


def other_form(kind: Literal["sign", "percent form"], number_text: str, gold: str) -> str:
    """The answer contains gold with another sign, or a hundredfold of it."""
    return f"{kind}: the answer contains {number_text}, gold is {gold}"


def only_context(gold: str, number_text: str) -> str:
    """The answer contains gold, but only as context among other numbers."""
    return f"gold {gold} occurs only as context, next to too many other numbers: {number_text}"


def missing_number(gold: str, closest: str) -> str:
    """The answer does not contain a gold number."""
    return f"gold {gold} is missing: closest is {closest}"


def _join_items(items: Sequence[str]) -> str:
    return ", ".join(items[:MAX_LISTED]) + (", ..." if len(items) > MAX_LISTED else "")
