"""When a number of an answer is a gold number under the strict rule, written out plainly in exact fractions."""

from fractions import Fraction

from tests.models import strict_table


def numbers_equal(gold: str, shown: str, percentage: bool = False) -> bool:
    """Whether `shown` (digits, maybe a sign and a %) is the gold number, with `percentage` in either form of a share."""
    g, given = Fraction(gold), len(gold.partition(".")[2])
    forms = [(g, given)]
    if percentage and g != 0:
        forms.append((g * 100, given - 2) if abs(g) <= 1 else (g / 100, given + 2))
    text, shift = (shown[:-1], 2) if shown.endswith("%") else (shown, 0)
    # A percentage is compared in the units in which it is written.
    return any(
        near(form * 10**shift, max(0, decimals - shift), Fraction(text), len(text.partition(".")[2]), exactly=g.denominator == 1)
        for form, decimals in forms
    )


def near(gold: Fraction, given: int, value: Fraction, shown: int, *, exactly: bool) -> bool:
    """Whether a value with `shown` decimals is gold with `given` ones; `exactly` for a whole gold, which takes noise alone."""
    if gold == value:
        return True
    if gold == 0 or value == 0:
        return gold == 0 and abs(value) <= Fraction(1, 10**9)
    if not (gold.denominator == value.denominator == 1) and strict_table.is_noise(gold, value):
        return True
    return not exactly and is_rounding(gold, given, value, shown)


def is_rounding(gold: Fraction, given: int, value: Fraction, shown: int) -> bool:
    """Whether the answer rounds gold to what it shows, or gold is the answer's rounding."""

    def apart(decimals: int) -> bool:
        return abs(gold - value) > Fraction(1, 2 * 10**decimals)

    if shown > given:
        return not apart(max(2, given))
    if shown == given:
        return False
    digits_count = abs(value) >= Fraction(10, 10**shown) if shown >= 1 else abs(value) >= 1000
    if digits_count and not apart(shown):
        return True
    return shown < 2 and abs(value) >= Fraction(1, 10) and not apart(2)
