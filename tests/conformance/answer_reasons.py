"""Whether a reason on a text or number answer is true: each of its statements, worked out again from the answer and gold."""

import ast
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from evalsuite.compare.answer_messages import in_part
from evalsuite.compare.answer_rules import declared_answer
from evalsuite.core.dataclasses import replace
from tests.models import official_number

QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""

IN_PART = in_part("")


@dataclass(frozen=True)
class Said:
    """A reason under one rule, about an answer and one check's parameters."""

    answer: str
    parameters: Mapping[str, Any]
    reason: str
    official: bool

    @property
    def golds(self) -> Sequence[Any]:
        """The accepted values."""
        gold = self.parameters["gold"]
        return gold if isinstance(gold, list) else [gold]

    def holds(self, text: str) -> bool:
        """Whether a text, maybe cut, lies in the answer: under strict in its folded form."""
        text = text[:-3] if text.endswith("...") and len(text) == 60 else text
        if self.official:
            return text.lower() in self.answer.lower()
        return squeezed(text) in squeezed(self.answer)

    @property
    def numbers(self) -> list[float]:
        """The numbers that the official rules see."""
        pattern = r"\b\d{1,3}(,\d{3})+\b(\.\d+)?%?|\b\d+\b(\.\d+)?%?"
        return [official_number.to_number(found.group()) for found in regex.finditer(pattern, self.answer)]


def squeezed(text: str) -> str:
    """A text without what strict folds away: forms of letters and minus signs, hidden characters, case, spaces."""
    text = unicodedata.normalize("NFKC", re.sub("[\u00ad\u200b-\u200f\u2060\ufeff]", "", text)).casefold().replace("\u2212", "-")
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def holds_text(said: Said, found: re.Match[str]) -> str:
    """The quoted text lies in the answer."""
    return "" if said.holds(ast.literal_eval(found["text"])) else "it does not"


def no_more(said: Said, found: re.Match[str]) -> str:
    """Nothing is named that could be looked up."""
    return ""


def lacks(said: Said, found: re.Match[str]) -> str:
    """At least one gold text is missing, as many as said: official exactly, strict those that lie nowhere and maybe more."""
    missing = sum(not said.holds(str(gold)) for gold in said.golds)
    stated = int(found["n"]) if found["n"] else len(said.golds)
    return "" if stated == missing or (not said.official and missing <= stated <= len(said.golds)) else f"{missing} missing"


def part_of_a_word(said: Said, found: re.Match[str]) -> str:
    """The gold text lies in the named word, the word in the answer, and the word is longer."""
    part, word = squeezed(ast.literal_eval(found["text"])).rstrip("."), squeezed(ast.literal_eval(found["word"])).rstrip(".")
    return "" if word in squeezed(said.answer) and part != word else "no such word"


def no_number_near(said: Said, found: re.Match[str]) -> str:
    """The nearest number is one of the answer's, and none is within tolerance of that gold."""
    gold, nearest = float(found["gold"]), float(found["nearest"])
    near = [number for number in said.numbers if abs(number - gold) <= 1e-4]
    return "" if nearest in said.numbers and not near else f"{said.numbers[:5]}"


def too_many(said: Said, found: re.Match[str]) -> str:
    """As many numbers as counted."""
    return "" if int(found["n"]) == len(said.numbers) else f"{len(said.numbers)} numbers"


def no_number(said: Said, found: re.Match[str]) -> str:
    """The official rules see none; strict sees no digits that stand by themselves."""
    alone = re.search(r"(?<![\w.,/:-])\d+(?![\w.,/:-])", said.answer) if not said.official else said.numbers
    return "a number" if alone else ""


def names_gold(said: Said, found: re.Match[str]) -> str:
    """The named number is a gold number."""
    golds = [official_number.to_number(str(gold)) for gold in said.golds]
    golds += [100 * gold for gold in golds] if said.parameters.get("percentage") else []
    return "" if any(float(found["gold"]) == gold for gold in golds) else "no gold number"


def says_number(said: Said, found: re.Match[str]) -> str:
    """The quoted number stands in the answer, and gold is a gold number."""
    shown = squeezed(found["shown"]).lstrip("-").rstrip("%")
    return names_gold(said, found) if shown in squeezed(said.answer) else "not in the answer"


def hedged(said: Said, found: re.Match[str]) -> str:
    """More different numbers than golds; each listed one stands in the answer."""
    listed = [item for item in found["listed"].split(", ") if item != "..."]
    missing = [item for item in listed if squeezed(item).lstrip("-").rstrip("%") not in squeezed(said.answer)]
    few = int(found["n"]) <= len({str(gold) for gold in said.golds}) or int(found["n"]) < len(listed)
    return f"not in the answer: {missing}" if missing else "too few" if few else ""


def is_doubted(said: Said, found: re.Match[str]) -> str:
    """The text that is denied, or one of several, stands in the answer next to such a word."""
    words = (
        r"\b(?:not|never|neither|nor|wrong|incorrect|false|instead|rather|other|except|doubt)\b|n't"
        if found["doubt"] == "negated"
        else r"\bor\b|\bmaybe\b"
    )
    return holds_text(said, found) or ("" if re.search(words, said.answer, re.IGNORECASE) else "no such word")


def is_denied_number(said: Said, found: re.Match[str]) -> str:
    """The number that is denied, or a bound, stands in the answer next to such a word."""
    words = r"\b(?:not|never|than|least|most|over|under|above|below|up to|exceed\w*|instead|except|more|less|fewer)\b|n't|[<>+\u2264\u2265]"
    there = found["gold"].lstrip("-").split(".")[0] in re.sub(r"[, ]", "", said.answer)
    return "" if there and re.search(words, said.answer, re.IGNORECASE) else "no such number or word"


NUMBER = r"-?[\d.]+(?:[eE][+-]?\d+)?"
CHECKS: list[tuple[str, Callable[[Said, re.Match[str]], str]]] = [
    (rf"contains (?:the excluded text )?(?P<text>{QUOTED})", holds_text),
    (r"contains every gold(?: number| text)?", no_more),
    (r"the answer lacks (?:the gold text|all \d+ gold texts|(?P<n>\d+) of \d+ gold texts)", lacks),
    (rf"(?P<doubt>negated|hedged): the answer (?:denies|names alternatives to) (?P<text>{QUOTED})", is_doubted),
    (rf"negated: the answer denies (?P<gold>{NUMBER}) or states it as a bound", is_denied_number),
    (rf"part of a word: (?P<text>{QUOTED}) occurs only inside (?P<word>{QUOTED})", part_of_a_word),
    (rf"no number within \S+ of gold (?P<gold>{NUMBER}): closest is (?P<nearest>{NUMBER})", no_number_near),
    (r"(?P<n>\d+) numbers in the answer, this gold takes exactly one: .*", too_many),
    (r"no number in the answer", no_number),
    (rf"contains (?P<gold>{NUMBER})", names_gold),
    (rf"gold (?P<gold>{NUMBER}) is missing: closest is (?P<shown>\S+)", says_number),
    (rf"gold (?P<gold>{NUMBER}) occurs only as context, next to too many other numbers: (?P<shown>\S+)", says_number),
    (rf"(?:sign|percent form): the answer contains (?P<shown>\S+), gold is (?P<gold>{NUMBER})", says_number),
    (r"hedged: found (?P<n>\d+) different numbers, (?:one was|at most \d+ were) expected: (?P<listed>.*)", hedged),
]


def untrue_of_answer(said: Said) -> str:
    """What is wrong with a reason, empty where it is true."""
    reason = said.reason.removesuffix(IN_PART)
    if reason != said.reason:
        said = replace(said, answer=declared_answer(said.answer))
    for pattern, check in CHECKS:
        found = re.fullmatch(pattern, reason, re.DOTALL)
        if found is not None:
            return check(said, found)
    return "a reason nobody checks"
