"""A judge's reply -> a verdict. What cannot be read is None and never a number: silence is neither praise nor blame.

JSON is what is asked for; fences, chatter round it and the older forms (`[[4]]`, `Score: 4`, `4/5`, a lone `4`) are read too. Where a
reply says two different things it says nothing. The named variants give what earlier tools made of the same text, faults included.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsuite.registry import foreign

# A verdict is short; what a model writes beyond this is not searched.
_LONGEST = 20_000
_MOST_OBJECTS = 200
_NUMBER = r"(?<![\w.,+-])[+-]?\d+(?:\.\d+)?(?![\w]|[.,]\d)"
_BRACKETS = re.compile(r"\[\[\s*([+-]?\d+(?:\.\d+)?)\s*\]\]")
_LABEL = re.compile(r"\b(?:score|rating)\b[^\w+-]{0,12}([+-]?\d+(?:\.\d+)?)(?![\w]|[.,]\d)", re.IGNORECASE)
_OF = re.compile(rf"({_NUMBER})\s*(?:/|out of)\s*(\d+(?:\.\d+)?)(?!\w)", re.IGNORECASE)
_LONE = re.compile(_NUMBER)
# The words stand in ASCII letters, whatever comes before them: Unicode case folding would read a long s as one.
_YES_NO = re.compile(r"\W*(?:(?:[Aa][Nn][Ss][Ww][Ee][Rr]|[Vv][Ee][Rr][Dd][Ii][Cc][Tt])\s*:\W*)?([Yy][Ee][Ss]|[Nn][Oo])\b")
_ASCII_SPACE = " \t\n\v\f\r\0"
_SCORE_KEYS = ("score", "rating")
_VERDICT_KEYS = ("verdict", "answer", "score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a reply says: a value in [0, 1] or None, its label, and the judge's own reason. `details` is JSON-safe."""

    value: float | None
    label: str = ""
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


Reading = Callable[[str], Verdict]
NOTHING = Verdict(value=None)


def json_objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(begin, end, object) of each JSON object in a text, outermost first; the ones inside an object follow it."""
    decoder = json.JSONDecoder()
    text = text[:_LONGEST]
    for begin in [match.start() for match in re.finditer(r"\{", text)][:_MOST_OBJECTS]:
        try:
            value, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield begin, end, value


def field_of(text: str, keys: Sequence[str]) -> tuple[bool, Any, str]:
    """(whether a JSON object of the text has one of the keys, its value, the object's `reason`); two different values count as null.

    An object inside one that has the key is part of it and says nothing of its own.
    """
    found: list[tuple[Any, str]] = []
    passed = 0
    for begin, end, entry in json_objects(text):
        if begin < passed:
            continue
        plain = {str(key).strip().lower(): value for key, value in entry.items()}
        key = next((key for key in keys if key in plain), None)
        if key is not None:
            passed = end
            reason = plain.get("reason") or plain.get("explanation") or ""
            found.append((plain[key], reason if isinstance(reason, str) else ""))
    if not found:
        return False, None, ""
    same = all(json.dumps(value, default=str) == json.dumps(found[0][0], default=str) for value, _ in found)
    return True, found[0][0] if same else None, found[0][1]


def score_reading(
    *, scale: tuple[float, float] = (1, 5), from_zero: bool = False, variant: str = "tolerant", extractor: str | Callable[[str], Any] = ""
) -> Reading:
    """A reading of scores on a scale: n becomes n/top as the seed has it, or (n - bottom)/(top - bottom) with `from_zero`.

    A number off the scale is no verdict. `extractor` is a regular expression whose first group (or the whole match) is the number, or a
    function of the reply. `variant` issue_default: the first lone digit from 1 to 5, by 5; 0.0 where there is none.
    """
    low, high = scale

    def value_of(number: float | None) -> float | None:
        if number is None or not low <= number <= high:
            return None
        value = (number - low) / (high - low) if from_zero else number / high
        return value if 0 <= value <= 1 else None

    def read(text: str) -> Verdict:
        if extractor:
            number = _number(_extracted(extractor, text))
            return Verdict(value=value_of(number), label=_label(number))
        if variant == "issue_default":
            match = re.search(r"\b[1-5]\b", text)
            return Verdict(value=int(match[0]) / 5 if match else 0.0, label=match[0] if match else "")
        there, given, reason = field_of(text, _SCORE_KEYS)
        number = _number(given) if there else _written_number(text, high)
        value = value_of(number)
        return Verdict(value=value, label=_label(number) if value is not None else "", reason=reason)

    return read


def yes_no_reading(*, variant: str = "tolerant") -> Reading:
    """A reading of yes and no: 1.0, 0.0, or None. `variant` issue_literal: 1.0 for a bare YES in any case, 0.0 for all else."""

    def read(text: str) -> Verdict:
        if variant == "issue_literal":
            return Verdict(value=float(text.strip(_ASCII_SPACE).upper() == "YES"))
        there, given, reason = field_of(text, _VERDICT_KEYS)
        if isinstance(given, bool):
            given = "yes" if given else "no"
        match = _YES_NO.match(str(given) if there else text[:_LONGEST])
        if match is None:
            return Verdict(value=None, reason=reason)
        word = match[1].lower()
        return Verdict(value=float(word == "yes"), label=word, reason=reason)

    return read


def choice_reading(choices: Mapping[str, tuple[float | None, str]], *, upstream_length: int | None = None) -> Reading:
    """A reading of one word out of `choices`: word -> (value, label), compared without case, quotes and a closing dot.

    `upstream_length` compares the reply's first n characters (0: all of them) exactly, and what is no choice is -1.0 `invalid`.
    """

    def read(text: str) -> Verdict:
        if upstream_length is not None:
            value, label = choices.get(text[: upstream_length or None], (None, ""))
            return Verdict(value=-1.0, label="invalid") if value is None else Verdict(value=value, label=label)
        there, given, reason = field_of(text, _VERDICT_KEYS)
        if not there:
            given = text
        if isinstance(given, float) and given.is_integer():
            given = int(given)
        word = "" if isinstance(given, bool) else str(given).strip().strip("\"'`*.!()[]").strip().lower()
        value, label = choices.get(word, (None, ""))
        return Verdict(value=value, label=label, reason=reason)

    return read


def claims_reading() -> Reading:
    """A reading of claims: 1.0 where each is supported, 0.0 where one is not. An overall verdict that contradicts them is none."""

    def read(text: str) -> Verdict:
        there, claims, _ = field_of(text, ("claims",))
        _, overall, reason = field_of(text, ("verdict",))
        word = str(overall).strip().lower() if overall is not None else ""
        stated = {"supported": 1.0, "no hallucination": 1.0, "hallucination": 0.0, "not supported": 0.0}.get(word)
        if not there or not isinstance(claims, list):
            return NOTHING
        usable = [claim for claim in claims if isinstance(claim, dict) and isinstance(claim.get("supported"), bool)]
        if len(usable) != len(claims):
            return NOTHING
        listed = float(all(claim["supported"] for claim in usable)) if usable else stated
        if listed is None or (stated is not None and stated != listed):
            return NOTHING
        rows = [{"claim": str(claim.get("claim", "")), "supported": claim["supported"]} for claim in usable]
        label = "no hallucination" if listed else "hallucination"
        return Verdict(value=listed, label=label, reason=reason, details={"claims": rows})

    return read


def read_results(text: str) -> list[float | None] | None:
    """The list `results` of a reply with each entry as 1.0, 0.0 or None; None where there is no such list."""
    there, results, _ = field_of(text, ("results",))
    return [_zero_or_one(value) for value in results] if there and isinstance(results, list) else None


def _zero_or_one(value: Any) -> float | None:
    word = value.strip().lower() if isinstance(value, str) else value
    if word in (1, "1", "true"):
        return 1.0
    return 0.0 if word in (0, "0", "false") else None


def _written_number(text: str, high: float) -> float | None:
    """The number a reply without JSON states, by the first form that stands in it."""
    text = text[:_LONGEST]
    of_top = [n for n, top in _OF.findall(text) if float(top) == high]
    for stated in (_BRACKETS.findall(text), _LABEL.findall(text), of_top, _LONE.findall(text)):
        if stated:
            numbers = {float(n) for n in stated}
            return numbers.pop() if len(numbers) == 1 else None
    return None


def _extracted(extractor: str | Callable[[str], Any], text: str) -> Any:
    if callable(extractor):
        return foreign.call("extractor", extractor, text)
    match = re.search(extractor, text[:_LONGEST])
    return match[1 if match.re.groups else 0] if match else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _label(number: float | None) -> str:
    return "" if number is None else f"{number:g}"
