"""When a number of an answer is a gold number under the strict rule, written out plainly in exact fractions."""

import math
from fractions import Fraction


def numbers_equal(gold: str, shown: str, percentage: bool = False) -> bool:
    """Whether `shown` (digits, maybe a sign and a %) is the gold number, with `percentage` in either form of a share."""
    g = Fraction(gold)
    forms = [g]
    if percentage and g != 0:
        forms.append(g * 100 if abs(g) <= 1 else g / 100)
    value, decimals, digits = read(shown)
    return any(near(form, value, decimals, digits) for form in forms)


def near(gold: Fraction, value: Fraction, decimals: int, digits: int) -> bool:
    """Within a millionth of gold, or gold rounded to the decimals shown if two digits count; zero only equals zero."""
    if gold == value:
        return True
    if gold == 0 or value == 0:
        return False
    if abs(gold - value) <= abs(gold) / 10**6:
        return True
    shifted = gold * 10**decimals
    half_up = int(math.copysign(1, shifted)) * math.floor(abs(shifted) + Fraction(1, 2))
    return digits >= 2 and value * 10**decimals in (round(shifted), half_up)


def read(shown: str) -> tuple[Fraction, int, int]:
    """Value, decimals and digits that count; a % moves the point by two."""
    text = shown.rstrip("%")
    decimals = len(text.partition(".")[2])
    digits = len(text.lstrip("+-").replace(".", "").lstrip("0"))
    if shown.endswith("%"):
        return Fraction(text) / 100, decimals + 2, digits
    return Fraction(text), decimals, digits
