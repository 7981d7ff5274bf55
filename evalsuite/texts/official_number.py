"""Whether the numbers in an answer are gold's, under the official rules (Spider2 `eval_utils.number_match`).

The arithmetic is the reference's, float noise at the edge of the tolerance included: 100.0001 - 100 is a little more than 1e-4,
5.0001 - 5 a little less.
"""

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, Literal

from evalsuite.texts.number_reading import MOST_PLACES
from evalsuite.texts.text_rules import excluded_text, shorten
from evalsuite.types import Score

NUMBER: Final = r"\b\d{1,3}(?:,\d{3})*\b(?:\.\d+)?%?|\b\d+\b(?:\.\d+)?%?"
# The same numbers in a text of ASCII, three times as fast: a search for a digit skips everything else, and only there looks behind it.
_ASCII_NUMBER: Final = r"[0-9](?<!\w[0-9])(?:[0-9]{0,2}(?:,[0-9]{3})*\b(?:\.[0-9]+)?%?|[0-9]*\b(?:\.[0-9]+)?%?)"
MAX_LISTED: Final = 5

Golds = str | float | Sequence[str | float]


def match_number(
    answer: str,
    gold: Golds,
    *,
    percentage: bool = False,
    precision: int = 4,
    conj: Literal["and", "or"] = "or",
    exclude: str | Sequence[str] = (),
) -> Score:
    """1 where a number in the answer lies within 10**-precision of a gold (of each gold with `conj="and"`), else 0.

    A gold that is text, a float or a list of one takes exactly one number in the answer; an integer or several golds take any.
    Signs are not seen, `%` divides by 100, and `percentage` accepts 100 times each gold too. Raises ValueError for a gold that is no
    number: `gold_numbers` finds those before.
    """
    forbidden = excluded_text(answer, exclude)
    if forbidden is not None:
        return Score(official=0.0, reason=f"the answer holds the excluded text {shorten(forbidden)}")
    numbers = find_numbers(answer)
    details: dict[str, Any] = {"numbers": [_json_safe(number) for number in numbers[:MAX_LISTED]], "n_numbers": len(numbers)}
    if not numbers:
        return Score(official=0.0, reason="no number in the answer", details=details)
    if takes_one_number(gold) and len(numbers) != 1:
        reason = f"{len(numbers)} numbers in the answer, this gold takes exactly one: {_listed(numbers)}"
        return Score(official=0.0, reason=reason, details=details)
    golds = gold_numbers(gold)
    accepted = [*golds, *(100 * value for value in golds)] if percentage else golds
    tolerance = 10 ** -max(precision, -2 * MOST_PLACES)
    missed = [value for value in accepted if not any(abs(number - value) <= tolerance for number in numbers)]
    if not missed or (conj == "or" and len(missed) < len(accepted)):
        found = "every gold" if conj == "and" and len(accepted) > 1 else next(_shortest(v) for v in accepted if v not in missed)
        return Score(official=1.0, reason=f"the answer holds {found}", details=details)
    nearest = min(numbers, key=lambda number: abs(number - missed[0]))
    reason = f"no number within {_shortest(tolerance)} of gold {_shortest(missed[0])}: nearest is {_shortest(nearest)}"
    return Score(official=0.0, reason=reason, details=details)


def find_numbers(text: str) -> list[float]:
    """The numbers in a text, in order: digits at word boundaries with groups of thousands, decimals and percent."""
    found = (_find_ascii if text.isascii() else _find_any())(text)
    if "," in text or "%" in text:
        return [_value(number) for number in found]
    return [*map(float, found)]


def gold_numbers(gold: Golds) -> list[float]:
    """Gold's numbers as floats; raises ValueError where one is no finite number."""
    if type(gold) is float and math.isfinite(gold):
        return [gold]
    values = [_value(item) if isinstance(item, str) else float(item) for item in ([gold] if isinstance(gold, str | int | float) else gold)]
    if not all(map(math.isfinite, values)):
        raise ValueError("a gold number must be finite")
    return values


def takes_one_number(gold: Golds) -> bool:
    """Whether the answer must hold exactly one number: not for an integer gold, nor for several."""
    return isinstance(gold, str | float) or (not isinstance(gold, int) and len(gold) == 1)


def _value(text: str) -> float:
    text = text.replace(",", "")
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


_find_ascii: Callable[[str], list[str]] = re.compile(_ASCII_NUMBER, re.ASCII).findall


@cache
def _find_any() -> Callable[[str], list[str]]:
    """`findall` of the pattern with the package the reference uses, which knows digits and word characters beyond ASCII."""
    import regex

    return regex.compile(NUMBER).findall


def _listed(numbers: Sequence[float]) -> str:
    more = ", ..." if len(numbers) > MAX_LISTED else ""
    return ", ".join(map(_shortest, numbers[:MAX_LISTED])) + more


def _shortest(number: float) -> str:
    return repr(int(number)) if math.isfinite(number) and number == int(number) and abs(number) < 1e15 else repr(number)


def _json_safe(number: float) -> float | None:
    return number if math.isfinite(number) else None
