"""Search the causes of wrong text answers: a number or a phrase of the answer, corrected in place."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import chain, islice
from typing import Any, Final

from evalsuite.analysis.causes import ERROR_HYPOTHESES
from evalsuite.analysis.causes.error_hypotheses import ErrorHypothesis, alphanumeric
from evalsuite.analysis.causes.values import Pair, plain, read_gold_number
from evalsuite.analysis.explain.search import Cause, Judge, show
from evalsuite.compare.values import NUMBER_TEXT, number_readings
from evalsuite.core.dataclasses import dataclass

MOST_TOKENS: Final = 12
MOST_WINDOWS: Final = 2000
LONGEST_ANSWER: Final = 20_000
_NUMBER_ERRORS: Final = ("number in text", "sign", "times 100", "unit", "off by one", "rounding")
_TEXT_ERRORS: Final = ("spaces", "case", "quotes", "accents", "characters lost", "encoding", "punctuation")
# Words may be joined by hyphens or underscores instead of spaces.
_WORD: Final = re.compile(r"[^\s_\-]+")
_PART: Final = re.compile(r"(?<=[.!?;])\s+|\n+|,\s+|\s[-\u2013\u2014]\s|:\s+")
_BESIDE: Final = " .,'\u00a0\u202f"
_SIGNS: Final = "+-\u2212"
_STOPS: Final = ",.;:!?"
_MARKS: Final = "*_`\"'()[]{}.,;:!? "


@dataclass(frozen=True, slots=True)
class _Token:
    """A number of the answer: its position and how it is written."""

    start: int
    end: int
    text: str


Tries = Iterator[tuple[list[Cause], str]]


def explain_text(judge: Judge, answer: str) -> list[Cause] | None:
    """Return the proved causes of a wrong text answer; None if nothing is proved."""
    if len(answer) > LONGEST_ANSWER:
        judge.budget.note(f"the answer is longer than {LONGEST_ANSWER} characters and was not searched")
        return None
    gold = judge.parameters.get("gold", judge.parameters.get("reference", []))
    golds = list(gold) if isinstance(gold, list | tuple) else [gold]
    tries = [
        _drop_excluded(judge, answer),
        *_correct_numbers(judge, golds, answer),
        _keep_one_part(answer),
        _correct_phrases(judge, golds, answer),
    ]
    for candidates in (*tries, _complete_answer(judge, golds, answer)):
        for causes, text in candidates:
            if text != answer and judge.passes(text):
                return causes
            if judge.budget.is_spent:
                return None
    return None


def _drop_excluded(judge: Judge, answer: str) -> Tries:
    exclude = judge.parameters.get("exclude") or ()
    words = [exclude] if isinstance(exclude, str) else [word for word in exclude if isinstance(word, str)]
    text = answer
    for word in filter(None, words):
        text = re.sub(re.escape(word), " ", text, flags=re.IGNORECASE)
    contained = [word for word in words if word and word.casefold() in answer.casefold()]
    # Strict rules exclude no text for a part of a word.
    contained = [word for word in contained if not judge.set_parameters(exclude=[word]).passes(answer)]
    if contained:
        where = ", ".join(map(show, contained[:3]))
        kept = (part for part in _PART.split(answer) if part and not any(word.casefold() in part.casefold() for word in contained))
        for right in (text, " ".join(kept)):
            yield [Cause("excluded text", f"the answer contains {len(contained)} of the texts that exclude it", where)], right


def _correct_numbers(judge: Judge, golds: Sequence[Any], answer: str) -> list[Tries]:
    numbers = [number for number in map(read_gold_number, golds) if number is not None]
    written = list[_Token]()
    for match in NUMBER_TEXT.finditer(answer):
        # Punctuation next to a number separates it from the next one.
        text, start = match.group().strip(_BESIDE), match.start() + len(match.group()) - len(match.group().lstrip(_BESIDE))
        written.append(_Token(start, start + len(text), text))
    tokens = written[:MOST_TOKENS]
    if not numbers or not tokens:
        return []
    one_by_one = [_keep_one_token(tokens, len(written), answer), _correct_in_place(judge, numbers, tokens, answer)]
    together = _correct_all(judge, numbers, tokens, answer)
    # With many numbers it is likelier that all are wrong, and 12 of them by 6 hypotheses already exceed the budget.
    return [together, *one_by_one] if len(numbers) > 1 else [*one_by_one, together]


def _keep_one_token(tokens: Sequence[_Token], n_numbers: int, answer: str) -> Tries:
    for token in tokens:
        text = token.text
        if text != answer.strip():
            says = (
                f"the answer contains {n_numbers} numbers, and one of them alone is right"
                if n_numbers > 1
                else "there is text next to the number"
            )
            yield [Cause("extra text", says, f"right alone: {show(text)}")], text


def _correct_in_place(judge: Judge, numbers: Sequence[Decimal], tokens: Sequence[_Token], answer: str) -> Tries:
    """Correct one number of the answer by one hypothesis: in place, then alone."""
    for alone in (False, True):
        for hypothesis in _hypotheses(_NUMBER_ERRORS):
            for token in tokens:
                for number in numbers:
                    mended = _mend_number(hypothesis, number, token)
                    if mended is None:
                        continue
                    where = f"gold {plain(number)}, submitted {show(token.text)}"
                    pairs = [mended.pair]
                    causes = [
                        Cause(hypothesis.name, mended.says, where, hypothesis=hypothesis, pairs=pairs, column=pairs),
                        *_name_forms(judge, [mended]),
                    ]
                    if alone:
                        yield [*causes, Cause("extra text", "there is text next to the number")], mended.text
                    else:
                        yield causes, _put_numbers(answer, [mended])


@dataclass(frozen=True, slots=True)
class _Mended:
    """A number of the answer, its corrected text, the sentence of the hypothesis, and how the number that it corrects is written."""

    token: _Token
    text: str
    says: str
    pair: Pair
    way: str = ""


def _correct_all(judge: Judge, numbers: Sequence[Decimal], tokens: Sequence[_Token], answer: str) -> Tries:
    """Correct every gold number by the same hypothesis, if all of them are required; numbers that are already right stay."""
    for hypothesis in _hypotheses(_NUMBER_ERRORS):
        mended = _mend_numbers(hypothesis, numbers, tokens)
        if not mended:
            continue
        mended = _keep_needed(judge, answer, mended)
        pairs = [number.pair for number in mended]
        together = hypothesis.fix(pairs) if len(mended) > 1 else None
        # Several numbers have the sentence that holds for them together, if there is one.
        says = mended[0].says if len(mended) == 1 else "" if together is None else together.says or hypothesis.says
        if says:
            yield (
                [Cause(hypothesis.name, says, hypothesis=hypothesis, pairs=pairs), *_name_forms(judge, mended)],
                _put_numbers(answer, mended),
            )


def _mend_numbers(hypothesis: ErrorHypothesis, numbers: Sequence[Decimal], tokens: Sequence[_Token]) -> list[_Mended]:
    """Return each number of the answer that the hypothesis turns into one of gold's."""
    mended = list[_Mended]()
    for i, token in enumerate(tokens):
        # A number in gold's position is more likely to correspond to it than another similar one.
        candidates = numbers[i : i + 1] if len(tokens) == len(numbers) else []
        fixed = (_mend_number(hypothesis, gold, token) for gold in (*candidates, *numbers))
        mended += islice((number for number in fixed if number is not None), 1)
    return mended


def _keep_needed(judge: Judge, answer: str, corrections: list[_Mended]) -> list[_Mended]:
    """Return the corrections without those that the scorer does not need, if it accepts the answer with all of several."""
    if len(corrections) < 2 or not judge.passes(_put_numbers(answer, corrections)):
        return corrections
    needed = corrections
    for correction in corrections:
        rest = [other for other in needed if other is not correction]
        if rest and judge.passes(_put_numbers(answer, rest)):
            needed = rest
    return needed


def _put_numbers(answer: str, mended: Sequence[_Mended]) -> str:
    text = answer
    for number in reversed(mended):
        text = text[: number.token.start] + number.text + text[number.token.end :]
    return text


def _name_forms(judge: Judge, mended: Sequence[_Mended]) -> list[Cause]:
    """Name the ways of writing that the scorer does not read as the number that was corrected: both are undone together."""
    ways: dict[str, list[str]] = {}
    for number in mended:
        if number.way and not _is_read(judge, number):
            ways.setdefault(number.way, []).append(number.token.text)
    return [
        Cause(
            "number in text",
            f"{'the' if len(texts) == len(mended) else f'{len(texts)} of the {len(mended)}'} numbers are written {way}",
            f"submitted {', '.join(map(show, texts[:3]))}",
        )
        for way, texts in ways.items()
    ]


def _is_read(judge: Judge, mended: _Mended) -> bool:
    """Whether the scorer reads a number as it is written; without its sign, which the official rules do not see."""
    text, number = mended.token.text.lstrip(_SIGNS), mended.pair.predicted.lstrip(_SIGNS)
    return text == number or judge.set_parameters(**{"gold" if "gold" in judge.parameters else "reference": [number]}).passes(text)


def _mend_number(hypothesis: ErrorHypothesis, gold: Decimal, token: _Token) -> _Mended | None:
    """Return the corrected token if the hypothesis holds for it."""
    written = token.text
    if hypothesis.name == "number in text":
        # The hypothesis is tried on the number as it is written, any other on each number that it can mean.
        pair = Pair(plain(gold), written)
        if (expanded := _expand_exponent(written)) is not None:
            return _Mended(token, expanded, "the numbers are written with an exponent", pair)
        fixed = hypothesis.fix([pair])
        return None if fixed is None else _Mended(token, str(fixed.values[0]), fixed.says or hypothesis.says, pair)
    for reading, way in number_readings(written):
        pair = Pair(plain(gold), plain(reading))
        fixed = hypothesis.fix([pair])
        if fixed is not None:
            return _Mended(token, str(fixed.values[0]), fixed.says or hypothesis.says, pair, way)
    return None


def _expand_exponent(token: str) -> str | None:
    """Return the digits of a number that is written with an exponent, None for any other."""
    text = token.replace("\u2212", "-")
    if not re.fullmatch(r"[+-]?\d{1,40}(?:\.\d{1,40})?[eE][+-]?\d{1,2}", text, re.ASCII):
        return None
    return plain(Decimal(text))


def _hypotheses(names: Sequence[str]) -> list[ErrorHypothesis]:
    return [hypothesis for hypothesis in ERROR_HYPOTHESES if hypothesis.name in names]


def _keep_one_part(answer: str) -> Tries:
    """Try each part of the answer by itself: a line, a sentence, the text after a colon, the text without punctuation."""
    parts = [part for part in _PART.split(answer) if part and part.strip()]
    candidates = [answer.strip(_MARKS), *(part.strip(_MARKS) for part in parts), *(part.strip() for part in parts)]
    for text in list(dict.fromkeys(filter(None, candidates)))[:MOST_TOKENS]:
        yield [Cause("extra text", "a part of the answer alone is right", f"right alone: {show(text)}")], text


def _correct_phrases(judge: Judge, golds: Sequence[Any], answer: str) -> Tries:
    """Correct a phrase of the answer that equals gold but for one hypothesis; first each gold alone, then all at once."""
    texts = [gold for gold in golds if isinstance(gold, str) and gold.strip()]
    one_is_enough = judge.parameters.get("conj") != "and"
    phrases, windows = list[tuple[str, str, Cause]](), _Windows(answer)
    for gold in texts:
        phrase = _find_wrong_phrase(windows, gold)
        if phrase is None:
            continue
        start, stop, cause = phrase
        if one_is_enough:
            yield [cause], answer[:start] + gold + answer[stop:]
        phrases.append((answer[start:stop], gold, cause))
    if len(phrases) <= one_is_enough:
        return
    # Each gold is asked for by itself: the answer with all but one of many would be read as often, and for all golds.
    needed = [phrase for phrase in phrases if not judge.set_parameters(gold=[phrase[1]]).passes(answer)]
    phrases = needed if needed and judge.passes(_put_phrases(answer, needed)) else phrases
    yield [cause for _, _, cause in phrases], _put_phrases(answer, phrases)


def _find_wrong_phrase(windows: "_Windows", gold: str) -> tuple[int, int, Cause] | None:
    """Return (start, end, cause) of the first phrase of the answer that equals gold but for one hypothesis."""
    for start, stop in islice(windows.like(gold), MOST_WINDOWS):
        window = windows.answer[start:stop]
        pairs = [Pair(gold, window)]
        for hypothesis in _hypotheses(_TEXT_ERRORS):
            fixed = hypothesis.fix(pairs)
            if fixed is not None:
                where = f"gold {show(gold)}, submitted {show(window)}"
                return start, stop, Cause(hypothesis.name, fixed.says or hypothesis.says, where, hypothesis=hypothesis, pairs=pairs)
    return None


def _put_phrases(answer: str, phrases: Sequence[tuple[str, str, Cause]]) -> str:
    for window, gold, _ in phrases:
        answer = answer.replace(window, gold)
    return answer


class _Windows:
    """The phrases of an answer by their letters and figures: an answer of many phrases is read once, not once for each gold."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self._words = [match.span() for match in _WORD.finditer(answer)]
        # By the number of words: where the phrases of these letters begin, under None those whose letters may be written differently.
        self._starts: dict[int, dict[str | None, list[int]]] = {}

    def like(self, gold: str) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of the phrases that may be gold's: about as many words, cut at words, with gold's letters in ASCII."""
        n = len(_WORD.findall(gold))
        for size in sorted({max(1, n + d) for d in (-3, -2, -1, 0, 1, 2)}, key=lambda size: abs(size - n)):
            starts = self._starts_of(size)
            alike = starts.get(alphanumeric(gold), []) + starts.get(None, []) if gold.isascii() else chain(*starts.values())
            for i in sorted(alike):
                start, stop = self._words[i][0], self._words[i + size - 1][1]
                while stop > start + 1 and self.answer[stop - 1] in _STOPS and not gold.endswith(self.answer[stop - 1]):
                    stop -= 1
                yield start, stop

    def _starts_of(self, size: int) -> dict[str | None, list[int]]:
        if size not in self._starts:
            starts = self._starts[size] = {}
            for i in range(len(self._words) - size + 1):
                window = self.answer[self._words[i][0] : self._words[i + size - 1][1]]
                starts.setdefault(alphanumeric(window) if window.isascii() else None, []).append(i)
        return self._starts[size]


def _complete_answer(judge: Judge, golds: Sequence[Any], answer: str) -> Tries:
    """Add the missing parts to an answer that contains some of several required parts."""
    texts = [gold for gold in golds if isinstance(gold, str | int | float) and not isinstance(gold, bool)]
    if judge.parameters.get("conj") != "and" or len(texts) < 2:
        return
    missing = [gold for gold in texts if not judge.set_parameters(gold=[gold]).passes(answer)]
    # If an answer lacks most of a long list, a part that it happens to contain explains nothing.
    if 0 < len(missing) < len(texts) and len(missing) <= max(2, len(texts) // 2):
        where = "missing: " + ", ".join(map(show, missing[:3]))
        yield (
            [Cause("part missing", f"{len(missing)} of {len(texts)} parts are missing", where, puts_gold_in=True)],
            f"{answer}, {', '.join(map(str, missing))}",
        )
