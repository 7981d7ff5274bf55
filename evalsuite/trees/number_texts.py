"""Numbers as people write them: groups of thousands, a decimal comma, powers of ten, Unicode signs; by a locale where one is said.

Without a locale only what can be read in one way is: "1.234,5" and "1 234,5" have a decimal comma, "0,25" too, "1,234" is grouped and
"1.234" has a point, as in English.
"""

import re
import unicodedata
from collections.abc import Mapping
from fractions import Fraction

# locale -> (decimal sign, group signs); one that is not listed by its region is read by its language.
LOCALES: Mapping[str, tuple[str, str]] = {
    "en": (".", ", "), "en-IN": (".", ","), "zh": (".", ","), "ja": (".", ","), "de": (",", ". "), "de-CH": (".", "' "),
    "fr-CH": (",", "' "), "it-CH": (".", "' "), "fr": (",", " ."), "es": (",", ". "), "es-MX": (".", ", "), "it": (",", ". "),
    "pt": (",", ". "), "nl": (",", ". "), "sv": (",", " ."), "da": (",", ". "), "nb": (",", " ."), "fi": (",", " "),
    "pl": (",", " ."), "cs": (",", " ."), "ru": (",", " "),
}  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_MINUS = re.compile("[−‐‑﹣－]")
_BLANKS = re.compile(r"[\s\u00a0\u2007\u2009\u202f]+")
MANTISSA = r"\d(?:[\d.,' ]*\d)?|\.\d+"
POWER = r"(?:\s?[x×*·⋅]\s?10(?:\^|\*\*)\s?(?P<power>[+-]?\d{1,4})|[eE](?P<exponent>[+-]?\d{1,4}))"
_NUMBER = re.compile(rf"(?P<sign>[+-]?)\s?(?:10(?:\^|\*\*)\s?(?P<bare>[+-]?\d{{1,4}})|(?P<mantissa>{MANTISSA}){POWER}?)")


def plain_text(text: str) -> str:
    """The text with one form for each sign: "×10⁻⁵" as "×10^-5", "−" as "-", any blank as " ", other compatibility forms folded (NFKC)."""
    text = _RAISED.sub(lambda found: "^" + found[0].translate(_SUPERSCRIPTS), text)
    text = _MINUS.sub("-", unicodedata.normalize("NFKC", text)).replace("’", "'")
    return _BLANKS.sub(" ", text).strip()


def number_at_start(text: str, locale: str = "") -> tuple[Fraction, str] | None:
    """(the number that a plain text begins with, the rest), None where it begins with none."""
    found = _NUMBER.match(text)
    if found is None:
        return None
    if (bare := found["bare"]) is not None:
        value, end = Fraction(10) ** int(bare), found.end()
    else:
        mantissa, end = found["mantissa"], found.end()
        signs = signs_of(locale)
        while (digits := _digits(mantissa, *signs)) is None and " " in mantissa:  # the blank was no group's: "1000 1/m"
            mantissa = mantissa.rpartition(" ")[0]
            end = found.start("mantissa") + len(mantissa)
        if digits is None:
            return None
        power = int(found["power"] or found["exponent"] or 0) if end == found.end() else 0
        value = Fraction(digits) * Fraction(10) ** power
    return (-value if found["sign"] == "-" else value), text[end:]


def number_of(text: str, locale: str = "") -> Fraction | None:
    """The number that a text is as a whole, None where it is none."""
    if len(text) > 200:
        return None
    found = number_at_start(plain_text(text), locale)
    return found[0] if found is not None and not found[1] else None


def signs_of(locale: str) -> tuple[str, str]:
    """(decimal sign, group signs) of a locale such as `de` or `de-CH`, ("", "") for none and for one that is not known."""
    if not locale:
        return "", ""
    name = locale.replace("_", "-")
    return LOCALES.get(name) or LOCALES.get(name.split("-")[0], ("", ""))


def _digits(text: str, decimal: str, groups: str) -> str | None:
    """The digits with a point, None where the signs between them mean no number."""
    if not decimal:
        decimal, groups = _signs_seen(text)
    whole, _, part = text.rpartition(decimal) if decimal in text else (text, "", "")
    if text.count(decimal) > 1 or (not part.isdigit() and part):
        return None
    seen = {sign for sign in whole if not sign.isdigit()}
    if seen:
        if len(seen) > 1 or not seen <= set(groups):
            return None
        head, *rest = whole.split(seen.pop())
        lengths = [len(group) for group in rest]
        western, indian = all(n == 3 for n in lengths), lengths[-1] == 3 and all(n == 2 for n in lengths[:-1])
        if not 1 <= len(head) <= 3 or not (western or indian):
            return None
        whole = head + "".join(rest)
    return f"{whole or '0'}.{part or '0'}"


def _signs_seen(text: str) -> tuple[str, str]:
    """(decimal sign, group signs) as the text itself shows them."""
    dots, commas = text.count("."), text.count(",")
    if dots and commas:
        return (",", ". '") if text.rindex(",") > text.rindex(".") else (".", ", '")
    if commas == 1 and (len(text) - text.index(",") - 1 != 3 or text.startswith("0,") or " " in text or "'" in text):
        return ",", " '"
    return (",", ".") if dots > 1 else (".", ", '")
