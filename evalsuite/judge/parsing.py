"""A judge's reply -> a verdict. What cannot be read is None and never a number: silence is neither praise nor blame.

JSON is what is asked for; fences, text around it and statements in words (`[[4]]`, `Score: 4`, `4/5`, a lone `4`) are read too. Where a
reply says two different things it says nothing. Thoughts (`<think>`) are removed first. The named variants give what earlier tools made
of the same text, faults included.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsuite.judge.stated_scores import stated_score
from evalsuite.judge.statements import BREAKS_OFF, LONGEST, UNFINISHED, Stated, plain, stated_answer, unreadable, without_thoughts
from evalsuite.registry import foreign

_MOST_OBJECTS = 200
_ASCII_SPACE = " \t\n\v\f\r\0"
# Keys are compared in lower case without spaces and underscores; where an object has several, the first one here is the verdict.
_SCORE_KEYS = ("score", "rating", "finalscore", "finalrating", "overallscore", "overallrating", "overall", "grade", "verdict")
_VERDICT_KEYS = ("verdict", "answer", "finalverdict", "finalanswer", "decision", "judgment", "judgement", "score", "result")
_SCALE_KEYS = ("max", "maxscore", "maximum", "outof", "scale", "top", "scalemax", "scoremax", "maxrating", "range")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a reply says: a value in [0, 1] or None, its label, and the judge's own reason. `details` is JSON-safe.

    `why` says what could not be read. `declines`: the judge says, in the form that was offered, that it cannot decide.
    """

    value: float | None
    label: str = ""
    reason: str = ""
    why: str = ""
    declines: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_read(self) -> bool:
        """Whether the reply could be read, so that it is kept and not asked for again."""
        return self.value is not None or self.declines


Reading = Callable[[str], Verdict]
NOTHING = Verdict(value=None, why="it is not the JSON that was asked for")


def json_objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(begin, end, object) of each JSON object in a text, outermost first; the ones inside an object follow it.

    A key that an object gives two different values counts as null. A flat Python dict counts as an object.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    text = text[:LONGEST]
    for begin in [match.start() for match in re.finditer(r"\{", text)][:_MOST_OBJECTS]:
        try:
            value, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            end = text.find("}", begin) + 1
            value = _python_dict(text[begin:end])
        if isinstance(value, dict):
            yield begin, end, value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    return made if len(made) == len(pairs) else {key: made[key] if _same([v for k, v in pairs if k == key]) else None for key in made}


def _python_dict(text: str) -> object:
    try:
        return ast.literal_eval(text) if "'" in text else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _same(values: Sequence[Any]) -> bool:
    return len({json.dumps(value, default=str) for value in values}) <= 1


@dataclass(slots=True)
class _Fields:
    """What the JSON objects with one of some keys say: `values` of each one's first key, `others` of its further keys, its scale."""

    values: list[Any] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)
    scales: list[Any] = field(default_factory=list)
    reason: str = ""
    rest: str = ""


def _fields(text: str, keys: Sequence[str]) -> _Fields:
    """The fields of a text. An object inside one that has a key is part of it and says nothing of its own."""
    found, passed = _Fields(), 0
    for begin, end, entry in json_objects(text):
        if begin < passed:
            continue
        named = {re.sub(r"[\W_]", "", str(key)).lower(): value for key, value in entry.items()}
        present = [named[key] for key in keys if key in named]
        if present:
            found.rest += text[passed:begin] + "\n"
            passed = end
            found.values.append(present[0])
            found.others.extend(present[1:])
            found.scales.extend(named[key] for key in _SCALE_KEYS if key in named)
            reason = named.get("reason") or named.get("explanation")
            found.reason = found.reason or (reason if isinstance(reason, str) else "")
    found.rest += text[passed:]
    return found


def field_of(text: str, keys: Sequence[str]) -> tuple[bool, Any, str]:
    """(whether a JSON object of the text has one of the keys, its value, the object's `reason`); two different values count as null."""
    found = _fields(text, keys)
    return bool(found.values), found.values[0] if found.values and _same(found.values) else None, found.reason


def score_reading(
    *, scale: tuple[float, float] = (1, 5), from_zero: bool = False, variant: str = "tolerant", extractor: str | Callable[[str], Any] = ""
) -> Reading:
    """A reading of scores on a scale: n becomes n/top as the seed has it, or (n - bottom)/(top - bottom) with `from_zero`.

    A number off the scale is no verdict. `extractor` is a regular expression whose first group (or the whole match) is the number, or a
    function of the reply. `variant` issue_default: the first lone digit from 1 to 5, by 5; 0.0 where there is none.
    """
    low, high = scale

    def verdict(number: float | None, reason: str = "", why: str = "it holds no number") -> Verdict:
        if number is None:
            return Verdict(value=None, reason=reason, why=why)
        value = (number - low) / (high - low) if from_zero else number / high
        if not (low <= number <= high and 0 <= value <= 1):
            return Verdict(value=None, reason=reason, why=f"its number {number:g} is not on the scale")
        return Verdict(value=value, label=f"{number:g}", reason=reason)

    def read(text: str) -> Verdict:
        if variant == "issue_default" and not extractor:
            match = re.search(r"\b[1-5]\b", text)
            return Verdict(value=int(match[0]) / 5 if match else 0.0, label=match[0] if match else "")
        said = without_thoughts(text)
        if said is None:
            return Verdict(value=None, why=UNFINISHED)
        if extractor:
            return verdict(_number(_extracted(extractor, said)), why="nothing in it has the form that is read")
        found = _fields(said, _SCORE_KEYS)
        stated = stated_score(found.rest, low, high)
        if not found.values:
            return verdict(stated.number, why=stated.why)
        numbers = [_score_in(value, low, high) for value in found.values]
        others = [number for number in (_score_in(value, low, high) for value in found.others) if number is not None]
        why = _spoilt(stated, numbers[0] if numbers[0] == stated.number else None)
        if any(not _is_scale(value, low, high) for value in found.scales):
            why = "it names another scale"
        if None in numbers:
            why = "its JSON holds no score"
        elif len({*numbers, *others}) > 1:
            why = "it gives more than one score"
        return verdict(None if why else numbers[0], found.reason, why)

    return read


def yes_no_reading(*, variant: str = "tolerant") -> Reading:
    """A reading of yes and no: 1.0, 0.0, or None. `variant` issue_literal: 1.0 for a bare YES in any case, 0.0 for all else."""

    def read(text: str) -> Verdict:
        if variant == "issue_literal":
            return Verdict(value=float(text.strip(_ASCII_SPACE).upper() == "YES"))
        said = without_thoughts(text)
        if said is None:
            return Verdict(value=None, why=UNFINISHED)
        found = _fields(said, _VERDICT_KEYS)
        stated = stated_answer(found.rest)
        word, why = stated.word, stated.why
        if found.values:
            words = {_word_in(value) for value in found.values} | {_word_in(value) for value in found.others} - {""}
            word = "" if len(words) > 1 else words.pop()
            why = _spoilt(stated, word if word == stated.word else None) or ("" if word else "its JSON says neither yes nor no, or both")
        if why or not word:
            return Verdict(value=None, reason=found.reason, why=why)
        return Verdict(value=float(word == "yes"), label=word, reason=found.reason)

    return read


def choice_reading(choices: Mapping[str, tuple[float | None, str]], *, upstream_length: int | None = None) -> Reading:
    """A reading of one word out of `choices`: word -> (value, label), compared without case, quotes and a closing dot.

    In words it is the whole reply, or a line of its own. A word without a value declines. `upstream_length` compares the reply's first n
    characters (0: all of them) exactly, and what is no choice is -1.0 `invalid`.
    """

    def read(text: str) -> Verdict:
        if upstream_length is not None:
            value, label = choices.get(text[: upstream_length or None], (None, ""))
            return Verdict(value=-1.0, label="invalid") if value is None else Verdict(value=value, label=label)
        said = without_thoughts(text)
        if said is None:
            return Verdict(value=None, why=UNFINISHED)
        found = _fields(said, _VERDICT_KEYS)
        given = [_choice_in(value) for value in found.values]
        rest = plain(found.rest)
        given += [word for word in map(_choice_in, rest.splitlines()) if word in choices]
        refusal = unreadable(rest)
        if len(set(given)) > 1 or (refusal and refusal != BREAKS_OFF):
            return Verdict(value=None, reason=found.reason, why=refusal or "it gives more than one verdict")
        if not given or given[0] not in choices:
            return Verdict(value=None, reason=found.reason, why="it is none of the words that were offered")
        value, label = choices[given[0]]
        return Verdict(value=value, label=label, reason=found.reason, declines=value is None)

    return read


def claims_reading() -> Reading:
    """A reading of claims: 1.0 where each is supported, 0.0 where one is not. An overall verdict that contradicts them is none."""

    def read(text: str) -> Verdict:
        said = without_thoughts(text)
        if said is None:
            return Verdict(value=None, why=UNFINISHED)
        _, claims, _ = field_of(said, ("claims",))
        _, overall, reason = field_of(said, ("verdict",))
        word = str(overall).strip().lower() if overall is not None else ""
        stated = {"supported": 1.0, "no hallucination": 1.0, "hallucination": 0.0, "not supported": 0.0}.get(word)
        if not isinstance(claims, list):
            return NOTHING
        usable = [claim for claim in claims if isinstance(claim, dict) and isinstance(claim.get("supported"), bool)]
        if len(usable) != len(claims):
            return Verdict(value=None, why="a claim in it is neither supported nor not")
        listed = float(all(claim["supported"] for claim in usable)) if usable else stated
        if listed is None or (stated is not None and stated != listed):
            return Verdict(value=None, why="its claims and its verdict disagree, or it has neither")
        rows = [{"claim": str(claim.get("claim", "")), "supported": claim["supported"]} for claim in usable]
        label = "no hallucination" if listed else "hallucination"
        return Verdict(value=listed, label=label, reason=reason, details={"claims": rows})

    return read


def read_results(text: str) -> list[float | None] | None:
    """The list `results` of a reply with each entry as 1.0, 0.0 or None; None where there is no such list."""
    _, results, _ = field_of(without_thoughts(text) or "", ("results",))
    return [_zero_or_one(value) for value in results] if isinstance(results, list) else None


def _zero_or_one(value: Any) -> float | None:
    word = value.strip().lower() if isinstance(value, str) else value
    if word in (1, "1", "true"):
        return 1.0
    return 0.0 if word in (0, "0", "false") else None


def _spoilt(stated: Stated, same: object) -> str:
    """Why the text around a JSON verdict takes it back; empty where it says nothing or `same`. It may end where the JSON begins."""
    if stated.is_silent or stated.why == BREAKS_OFF:
        return ""
    return stated.why or ("" if same else "its text contradicts its JSON")


def _score_in(value: Any, low: float, high: float) -> float | None:
    number = _number(value)
    return stated_score(value, low, high).number if number is None and isinstance(value, str) else number


def _is_scale(value: Any, low: float, high: float) -> bool:
    numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", str(value))]
    return not numbers or (numbers[-1] == high and (len(numbers) == 1 or numbers[0] == low))


def _word_in(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return {"true": "yes", "false": "no"}.get(str(value).strip().lower()) or stated_answer(str(value)).word


def _choice_in(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = re.sub(r"(?i)^\W*(?:(?:final\s+)?(?:verdict|answer)\s*[:=])", "", str(value))
    return "" if isinstance(value, bool) else text.strip().strip("\"'`*.!()[]").strip().lower()


def _extracted(extractor: str | Callable[[str], Any], text: str) -> Any:
    if callable(extractor):
        return foreign.call("extractor", extractor, text)
    match = re.search(extractor, text[:LONGEST])
    return match and match[1 if match.re.groups else 0]


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
