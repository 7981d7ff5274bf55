"""Lint of text golds: what matches too much, and what can never match."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from evalsuite.audit.lint.book import Found, Kind, Severity, Spot
from evalsuite.readers.json_text import Obj
from evalsuite.texts.official_number import gold_numbers

SHORT = 2
LONG = 200
LONGEST_NUMBER = 4
QUESTIONS = ("instruction", "question", "prompt")
# A percentage that is asked for, and not one that the question names itself ("a 10% discount", "5 percentage points").
_PERCENT = re.compile(r"(?P<amount>\d\s*)?(?:%|\bper\s?cent\b|\bpercentages?\b(?!\s+points?\b))", re.IGNORECASE)
# The question says which form it wants.
_FORM_NAMED = re.compile(r"\b(?:in|as)\s+(?:a\s+)?(?:%|per\s?cent|percentages?|fraction|share)|\(%\)", re.IGNORECASE)
_HIDDEN = ("Cf", "Cc", "Zl", "Zp", "Co", "Cn")


def golds_of(spot: Spot) -> list[str]:
    """The text golds of a check, none where they are of another type."""
    gold = spot.check.parameters.get("gold")
    listed = [gold] if isinstance(gold, str) else gold if isinstance(gold, list) else []
    return [item for item in listed if isinstance(item, str) and item]


def _excluded(spot: Spot) -> list[str]:
    given = spot.check.parameters.get("exclude", ())
    listed = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [item for item in listed if isinstance(item, str) and item]


def find_short_golds(spot: Spot) -> Iterator[Found]:
    """Golds of one or two characters stand inside other words; numbers are better asked for as numbers."""
    if spot.check.scorer != "string_match":
        return
    for gold in golds_of(spot):
        if len(gold.strip()) <= SHORT and gold.strip().isalnum():
            message = f"gold {gold!r} stands inside many other words, and official looks for it anywhere"
            yield spot.finding("short-gold", message, hint="use number_match, a longer gold, or the strict rules")
        elif _is_number(gold) and len(gold.strip()) <= LONGEST_NUMBER:
            message = f"gold {gold!r} is a number looked for as text: 1{gold.strip()} holds it too"
            yield spot.finding("number-as-text", message, hint="use number_match")


def _is_number(text: str) -> bool:
    return text.strip().replace(",", "").replace(".", "", 1).lstrip("-").isdigit()


def find_golds_in_question(spot: Spot) -> Iterator[Found]:
    """A gold that stands in the question: repeating the question is enough."""
    if spot.check.scorer != "string_match":
        return
    question = _question(spot).lower()
    inside = [gold for gold in golds_of(spot) if gold.lower() in question]
    needed = len(golds_of(spot)) if spot.check.parameters.get("conj") == "and" else 1
    if inside and len(inside) >= needed and not any(item.lower() in question for item in _excluded(spot)):
        message = f"gold {inside[0]!r} stands in the question: an answer that repeats the question is right"
        yield spot.finding("gold-in-question", message, hint="exclude the other candidates, or ask so that the answer is not named")


def _question(spot: Spot) -> str:
    return " ".join(str(said.get(key, "")) for said in (spot.instance.extra, spot.instance.asked) for key in QUESTIONS)


def find_excluded_golds(spot: Spot) -> Iterator[Found]:
    """An exclusion that its own gold holds."""
    golds = golds_of(spot)
    for item in _excluded(spot):
        dead = [gold for gold in golds if item.lower() in gold.lower()]
        if not dead:
            continue
        every = len(dead) == len(golds) or spot.check.parameters.get("conj") == "and"
        code = "exclude-kills-gold" if every else "exclude-kills-one"
        yield spot.finding(code, f"exclude {item!r} stands inside gold {dead[0]!r}", hint="exclude a longer text, or remove it")


def find_odd_spelling(spot: Spot) -> Iterator[Found]:
    """Spaces round golds and characters that cannot be seen: official compares them letter by letter."""
    if spot.check.scorer != "string_match":
        return
    padded = next((gold for gold in golds_of(spot) if gold != gold.strip() and gold.strip()), None)
    if padded is not None:
        message = f"gold {padded!r} begins or ends with a space, which the answer must hold too"
        yield spot.finding("padded-gold", message, hint="remove the space", change=_stripped)
    for gold in golds_of(spot):
        odd = next((char for char in gold if unicodedata.category(char) in _HIDDEN or char == "\u00a0"), None)
        if odd is not None or unicodedata.normalize("NFC", gold) != gold:
            what = f"the character U+{ord(odd):04X}" if odd is not None else "letters made of several characters (not NFC)"
            message = f"gold {gold!r} holds {what}"
            yield spot.finding("odd-characters", message, hint="type it anew; official compares character by character")
        if len(gold) > LONG:
            message = f"a gold of {len(gold)} characters must stand in the answer letter by letter"
            yield spot.finding("long-gold", message, hint="use f1 or rouge")


def _stripped(evaluation: Obj) -> None:
    gold = evaluation["parameters"]["gold"]
    bare = [item.strip() if isinstance(item, str) else item for item in (gold if isinstance(gold, list) else [gold])]
    evaluation["parameters"]["gold"] = bare if isinstance(gold, list) else bare[0]


def find_repeated_golds(spot: Spot) -> Iterator[Found]:
    """A gold named twice, and one inside another: then one of them decides nothing."""
    if spot.check.scorer == "number_match" or spot.reads not in ("text", "number"):
        return
    golds = golds_of(spot)
    folded = [gold.strip().casefold() for gold in golds]
    if len(set(folded)) < len(folded):
        twice = next(gold for at, gold in enumerate(golds) if folded[at] in folded[:at])
        yield spot.finding("repeated-gold", f"gold {twice!r} stands twice", hint="keep one", change=_once)
    if spot.check.scorer != "string_match":
        return
    for inner, outer in ((a, b) for a in golds for b in golds if a.lower() != b.lower() and a.lower() in b.lower()):
        both = spot.check.parameters.get("conj") == "and"
        why = f"one mention of {outer!r} is enough for both" if both else f"{outer!r} adds nothing"
        severity: Severity = "warning" if both else "note"
        yield spot.finding("gold-inside-gold", f"gold {inner!r} stands inside gold {outer!r}: {why}", severity=severity)


def _once(evaluation: Obj) -> None:
    seen: dict[Any, Any] = {}
    for item in evaluation["parameters"]["gold"]:
        seen.setdefault(item.strip().casefold() if isinstance(item, str) else item, item)
    evaluation["parameters"]["gold"] = list(seen.values())


def _numbers(spot: Spot) -> list[float]:
    if spot.check.scorer != "number_match":
        return []
    try:
        return gold_numbers(spot.check.parameters["gold"])
    except (ValueError, OverflowError, TypeError, KeyError):
        return []


def find_swallowed_numbers(spot: Spot) -> Iterator[Found]:
    """Numbers that the tolerance cannot tell from zero or from one another, and a tolerance of whole numbers."""
    numbers, precision = _numbers(spot), spot.check.parameters.get("precision", 4)
    tolerance = float(10.0**-precision) if isinstance(precision, int) and abs(precision) < 300 else 1e-4
    for number in numbers:
        if 0 < abs(number) <= tolerance:
            message = f"gold {number:g} lies within the tolerance {tolerance:g} of 0: official takes a 0 for it"
            yield spot.finding("number-near-zero", message, hint="raise precision")
    for one, other in combinations(sorted(set(numbers)), 2):
        if other - one <= tolerance:
            message = f"golds {one!r} and {other!r} lie within the tolerance {tolerance:g} of one another"
            yield spot.finding("golds-in-tolerance", message, hint="keep one, or raise precision")
    if numbers and tolerance >= 1:
        precision = spot.check.parameters.get("precision")
        message = f"precision {precision} accepts anything within {tolerance:g} of gold"
        yield spot.finding("coarse-precision", message, hint="precision counts decimal places")


def find_negative_numbers(spot: Spot) -> Iterator[Found]:
    """Negative golds: official reads no sign, so it never finds them."""
    for number in _numbers(spot):
        if number < 0:
            message = f"gold {number:g} is negative, and the official rules read no sign"
            yield spot.finding("negative-number", message, hint="the strict rules do")


def find_odd_percentages(spot: Spot) -> Iterator[Found]:
    """`percentage` where it changes nothing, asks too much, or takes a hundred times what is meant."""
    numbers = _numbers(spot)
    if not spot.check.parameters.get("percentage"):
        return
    if any(number == 0 for number in numbers):
        yield spot.finding("percentage-zero", "percentage changes nothing for a gold of 0", hint="remove it")
    if spot.check.parameters.get("conj") == "and":
        message = "percentage with conj 'and' asks for each gold as share and as percent under the official rules"
        yield spot.finding("percentage-and", message, hint="give the golds in one form and leave percentage out")
    big = next((number for number in numbers if abs(number) > 100), None)
    if big is not None:
        message = f"gold {big:g} is over 100: official takes {100 * big:g} for it too"
        yield spot.finding("percentage-large", message, hint="is it a percentage at all?")


def find_missing_percentage(spot: Spot) -> Iterator[Found]:
    """A question that asks for a percentage, where the check says nothing of it: 12.5, 0.125 and 12.5% are then different answers."""
    if spot.check.scorer not in ("number_match", "table_match") or "percentage" in spot.check.parameters:
        return
    question = _question(spot)
    if any(not match["amount"] for match in _PERCENT.finditer(question)):
        message = "the question asks for a percentage, and the check has no percentage: a share and percent are not one answer"
        hint = "set percentage: true, or percentage: false where the question says which form it wants"
        is_open = spot.check.scorer == "number_match" and _FORM_NAMED.search(question) is None
        severity: Severity = "warning" if is_open else "note"
        yield spot.finding("percentage-missing", message, hint=hint, severity=severity)


PER_CHECK = {
    "short-gold": Kind("note", find_short_golds, "a text gold of one or two characters stands inside other words"),
    "number-as-text": Kind("note", find_short_golds, "a number is looked for as text"),
    "gold-in-question": Kind("warning", find_golds_in_question, "the question holds the gold text: repeating it is enough"),
    "exclude-kills-gold": Kind("error", find_excluded_golds, "an excluded text stands inside the gold itself: no answer can pass"),
    "exclude-kills-one": Kind("warning", find_excluded_golds, "an excluded text stands inside one of several golds"),
    "padded-gold": Kind("warning", find_odd_spelling, "a text gold begins or ends with a space"),
    "odd-characters": Kind("warning", find_odd_spelling, "a text gold holds characters that cannot be seen or typed"),
    "long-gold": Kind("warning", find_odd_spelling, "a text gold so long that no answer will hold it letter by letter"),
    "repeated-gold": Kind("warning", find_repeated_golds, "the same gold stands twice in a list"),
    "gold-inside-gold": Kind("note", find_repeated_golds, "one gold text stands inside another of the list"),
    "number-near-zero": Kind("warning", find_swallowed_numbers, "a number within the tolerance of 0: a 0 is right"),
    "golds-in-tolerance": Kind("warning", find_swallowed_numbers, "two golds within the tolerance of one another"),
    "coarse-precision": Kind("warning", find_swallowed_numbers, "a precision that accepts whole numbers beside gold"),
    "negative-number": Kind("note", find_negative_numbers, "a negative number, whose sign the official rules do not read"),
    "percentage-missing": Kind("warning", find_missing_percentage, "the question asks for a percentage, and the check has no `percentage`"),
    "percentage-zero": Kind("warning", find_odd_percentages, "`percentage` for a gold of 0"),
    "percentage-and": Kind("warning", find_odd_percentages, "`percentage` with `conj: and` asks for both forms of each gold"),
    "percentage-large": Kind("warning", find_odd_percentages, "`percentage` for a gold over 100"),
}
