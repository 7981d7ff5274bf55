"""The official number rule, written out plainly: the model `matching.number` is held to."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import regex


def score_number(
    answer: str, gold: Any, percentage: bool = False, precision: int = 4, conj: str = "or", exclude: Sequence[str] = ()
) -> int:
    """1 or 0 as the reference gives it."""
    for text in exclude:
        if text.lower() in answer.lower():
            return 0
    numbers = []
    for found in regex.finditer(r"\b\d{1,3}(,\d{3})+\b(\.\d+)?%?|\b\d+\b(\.\d+)?%?", answer):
        # The reference raises where `regex` knows a digit that this Python does not; here that is no number.
        with suppress(ValueError):
            numbers.append(to_number(found.group()))
    one_gold = isinstance(gold, (str, float)) or (isinstance(gold, list) and len(gold) == 1)
    if one_gold and len(numbers) != 1:
        return 0
    golds = [to_number(item) if isinstance(item, str) else float(item) for item in (gold if isinstance(gold, list) else [gold])]
    if percentage:
        golds = golds + [item * 100 for item in golds]
    hits = []
    for item in golds:
        hits.append(any(abs(number - item) <= 10**-precision for number in numbers))
    return int(any(hits)) if conj == "or" else int(all(hits))


def to_number(text: str) -> float:
    """`1,234.5%` -> 12.345."""
    text = text.replace(",", "")
    if text.endswith("%"):
        return float(text[:-1]) / 100
    return float(text)
