"""Whether the numbers in an answer are gold's, under the official rules (Spider2 `eval_utils.number_match`).

The arithmetic is the reference's, float noise at the edge of the tolerance included: 100.0001 - 100 is a little more than 1e-4,
5.0001 - 5 a little less.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from math import inf, isfinite
from typing import Final, Literal

from evalsuite.texts.number_reading import MOST_PLACES
from evalsuite.texts.text_rules import excluded_text, shorten
from evalsuite.texts.verdict import Official

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
) -> Official:
    """1 where a number in the answer lies within 10**-precision of a gold (of each gold with `conj="and"`), else 0.

    A gold that is text, a float or a list of one takes exactly one number in the answer; an integer or several golds take any.
    Signs are not seen, `%` divides by 100, and `percentage` accepts 100 times each gold too. Raises ValueError for a gold that is no
    number: `gold_numbers` finds those before.
    """
    if exclude and (forbidden := excluded_text(answer, exclude)) is not None:
        return Official(0.0, f"the answer holds the excluded text {shorten(forbidden)}")
    numbers = find_numbers(answer)
    listed = numbers if len(numbers) <= MAX_LISTED else numbers[:MAX_LISTED]
    details = {"numbers": [None if one == inf else one for one in listed] if inf in listed else listed, "n_numbers": len(numbers)}
    if not numbers:
        return Official(0.0, "no number in the answer", details)
    if len(numbers) > 1 and takes_one_number(gold):
        return Official(0.0, f"{len(numbers)} numbers in the answer, this gold takes exactly one: {_listed(numbers)}", details)
    accepted = gold_numbers(gold)
    if percentage:
        accepted += [100 * value for value in accepted]
    tolerance, shown = _tolerance(precision)
    met, missed = [], []
    for value in accepted:
        for number in numbers:
            if abs(number - value) <= tolerance:
                met.append(value)
                break
        else:
            missed.append(value)
    if not missed or (met and conj == "or"):
        return Official(1.0, f"the answer holds {'every gold' if conj == 'and' and len(met) > 1 else _shortest(met[0])}", details)
    first = missed[0]
    nearest = numbers[0] if len(numbers) == 1 else _nearest(numbers, first)
    return Official(0.0, f"no number within {shown} of gold {_shortest(first)}: nearest is {_shortest(nearest)}", details)


def _nearest(numbers: Sequence[float], value: float) -> float:
    return min(numbers, key=lambda number: abs(number - value))


@cache
def _tolerance(precision: int) -> tuple[float, str]:
    """How far a number may be from gold, and how that is written."""
    distance = 10 ** -max(precision, -2 * MOST_PLACES)
    return distance, _shortest(distance)


def find_numbers(text: str) -> list[float]:
    """The numbers in a text, in order: digits at word boundaries with groups of thousands, decimals and percent."""
    numbers = []
    for number in _find_ascii(text) if text.isascii() else _find_any()(text):
        plain = number.replace(",", "") if "," in number else number
        numbers.append(float(plain[:-1]) / 100 if plain[-1] == "%" else float(plain))
    return numbers


def gold_numbers(gold: Golds) -> list[float]:
    """Gold's numbers as floats; raises ValueError where one is no finite number."""
    if type(gold) is float and isfinite(gold):
        return [gold]
    values = [_value(item) if isinstance(item, str) else float(item) for item in ([gold] if isinstance(gold, str | int | float) else gold)]
    if not all(map(isfinite, values)):
        raise ValueError("a gold number must be finite")
    return values


def takes_one_number(gold: Golds) -> bool:
    """Whether the answer must hold exactly one number: not for an integer gold, nor for several."""
    return isinstance(gold, str | float) or (not isinstance(gold, int) and len(gold) == 1)


def _value(text: str) -> float:
    text = text.replace(",", "")
    return float(text[:-1]) / 100 if text[-1:] == "%" else float(text)


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
    text = repr(number)
    return str(int(number)) if text.endswith(".0") and abs(number) < 1e15 else text
