"""What a reply says in words: its text without thoughts, markup and quotations, whether it refuses, and the yes or no that it states.

Only a statement counts. `No problem`, `no errors` and `the answer says yes` state nothing about the answer; a yes and a no in one reply,
a refusal and a reply that breaks off are no verdict. `stated_scores` reads numbers out of the same text.
"""

import re
from dataclasses import dataclass

# A verdict is short; a longer reply is not read.
LONGEST = 20_000
UNFINISHED = "its thoughts do not end"
BREAKS_OFF = "it breaks off"
_THOUGHT = re.compile(r"<(/?)(?:think|thinking|thought|thoughts|reasoning|scratchpad)\b[^<>]{0,80}>", re.IGNORECASE)
_MARKUP = (
    (re.compile(r"```[\w-]*"), "\n"),
    (re.compile(r"\\(?:boxed|text|textbf|mathbf|mathrm)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"<(score|rating|grade|verdict|answer|result|final_answer|final_score)\s*>", re.IGNORECASE), r"\n\1: "),
    (re.compile(r"<(\d+(?:\.\d+)?)>"), r"\1"),
    (re.compile(r"</?[A-Za-z][\w-]*[^<>\n]{0,80}>"), "\n"),
    (re.compile(r"(?m)^[ \t]*#{1,6}[ \t]+"), ""),
    (re.compile(r"(?<![\w])_+(?=\w)|(?<=\w)_+(?!\w)"), ""),
    (re.compile(r"\$([^$\n]*)\$"), r"\1"),
    (re.compile(r"[*`\u200b\ufeff]|~~~"), ""),
    (re.compile(r"final_(?=score|rating|answer|verdict)", re.IGNORECASE), "final "),
    (re.compile(r"[\u00a0\u2009\u202f]"), " "),
    (re.compile(r"[\u2018\u2019]"), "'"),
    (re.compile(r"[^\S\n]+"), " "),
    (re.compile(r" ?\n[ \n]*"), "\n"),
)
# A quotation of more than one word says what somebody else said.
_QUOTED = re.compile(r"\"[^\"\n]*\s[^\"\n]*\"|\u201c[^\u201d\n]*\s[^\u201d\n]*\u201d|\u00ab[^\u00bb\n]*\s[^\u00bb\n]*\u00bb")
_QUOTED_LINE = re.compile(r"(?m)^[ \t]*>.*$")
_UNABLE = (
    r"(?:can\s?not|can't|could\s?n[o']t|could not|won't|will not|am not|'m not|unable|not able|refuse|decline|not possible|impossible"
    r"|not comfortable)"
)
_JUDGING = (
    r"(?:rate|score|grade|judge|evaluate|assess|compare|choose|answer|comply|help|assist|decide|determine|(?:give|provide|assign|offer|make|produce)\s+"
    r"(?:you\s+)?(?:it\s+)?(?:an?\s+|any\s+|the\s+|this\s+|your\s+)?(?:\w+\s+)?(?:scores?|ratings?|grades?|verdicts?|judge?ments?|assessments?|"
    r"evaluations?|numbers?|decisions?)(?!\s+of\s+\d))"
)
_REFUSAL = re.compile(
    rf"\b{_UNABLE}\b(?:\s+(?:to|able|in|a|position|really|fairly|reliably|comfortable|with|be|yet|properly|please|you)\b){{0,5}}\s*\b"
    rf"(?:{_JUDGING}\b(?!(?:\s+\w+){{0,2}}\s+(?:higher|lower|better)\b)|rating\b|scoring\b|grading\b|judging\b|evaluating\b|assessing\b|(?:giving|providing|assigning)\b)"
    r"|\bas an ai\b|\b(?:score|rating|verdict|answer|grade|it)\s+(?:can\s?not|could not)\s+be\s+\w+|\bnot enough information\s+to\b"
    r"|\binsufficient (?:information|context)\s+to\b|\bcannot be (?:determined|rated|scored|graded|judged|evaluated|assessed)\b",
    re.IGNORECASE,
)
_ECHO = re.compile(r"\b(?:yes\s*(?:/|or|\|)\s*no|no\s*(?:/|or|\|)\s*yes)\b", re.IGNORECASE)
_WORD = re.compile(r"(?<![\w'-])([Yy][Ee][Ss]|[Nn][Oo])(?![\w']|-\w)", re.ASCII)
# What stands before a yes or no that is the judge's own: a begin of a clause, or words that announce it.
_ANNOUNCED = re.compile(
    r"(?:^|[.!?:;,\n\u2014\u2013(\[{|>\"\u201c=]|(?:^|\s)-|\b(?:so|thus|hence|therefore|well|then|again|still|but|and|actually|wait|rather)"
    r"|\b(?:answer|verdict|judge?ment|conclusion|decision|result|this|that|it|final)\s*(?:is|'s|would be|=)"
    r"(?:\s+(?:an?|clearly|clear|definite|simply))*"
    r"|\b(?:answer|verdict|judge?ment|conclusion|decision|result)"
    r"|\bI(?:'d| would| will|'ll)?(?: have to)?\s+(?:say|mean|answer|vote|conclude|judge|reply|respond|go with)"
    r"(?:\s+(?:an?|it is|that))?)\s*$",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\bnot|n't|\bcannot|\bnever|\bneither|\bnor|\bif|\bwhether|\bno way|\bno reason|\bmaybe|\bperhaps|\bprobably)\b[^.!?\n;]{0,25}$",
    re.IGNORECASE,
)
# `no` before another word is its article ("no errors"), unless a clause of its own begins there ("no it is not").
_CLAUSE = re.compile(
    r"[ \t]+(?:it|its|the|this|that|these|those|they|he|she|there|because|since|as|i|we|you|"
    r"and|but|so|sorry|both|not|does|from me|wait|actually|hold on)\b",
    re.IGNORECASE,
)
_SPOKEN_OF = re.compile(r"[ \t]+(?:would|is|was|could|might|may|should|seems|means)\b", re.IGNORECASE)
_DOUBT = re.compile(
    r"\s*\?|[\s,]+(?:and no\b|if\b|unless\b|assuming\b|provided\b|depending\b|"
    r"partially\b|partly\b|in part\b|to some extent\b|maybe\b|perhaps\b)",
    re.IGNORECASE,
)
_SUBJECT = r"(?:it|this|that|answer|response|prediction|candidate|they)"
_WRONG = re.compile(
    r"(?<!nothing )(?<!none )\b(?:is|are|was|were|seems|'s)\s+(?:\w+ly\s+)?"
    r"(?:wrong|incorrect|inaccurate|false|mistaken|not (?:correct|right|accurate))\b"
    rf"|\b{_SUBJECT}\s+(?:isn't|does not|doesn't|do not|don't|did not|didn't|fails to)\s+(?:\w+ly\s+)?"
    r"(?:correct|right|accurate|agree|match|answer)"
    rf"|\b{_SUBJECT}\s+(?:\w+ly\s+)?(?:contradicts|disagrees)\b"
    r"|\b(?:but|however|although|though|except|yet)\b[^.!?\n]*"
    r"(?:\bnot\b|n't\b|\bwrong\b|\bincorrect\b|\bmissing\b|\blacks\b|\bomits\b|\bmisses\b|\bonly\b)",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    rf"\b{_SUBJECT}\s+(?:is|are|was|seems)\s+(?:\w+ly\s+)?(?:correct|right|accurate)\b|\b{_SUBJECT}\s+(?:\w+ly\s+)?(?:agrees|matches)\b",
    re.IGNORECASE,
)
_OPEN_END = re.compile(
    r"(?:[:=,(\[{/\u2192]|->|=>|[-\u2013\u2014]|\b(?:is|are|the|an?|of|to|and|or|because|but|with|for))\s*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Stated:
    """What a text states: `number` or `word`, or why it states nothing that can be read. `is_silent`: it does not touch the verdict."""

    number: float | None = None
    word: str = ""
    why: str = ""
    is_silent: bool = False


def without_thoughts(text: str) -> str | None:
    """The text without its finished `<think>...</think>`; None where one does not end.

    An end without a begin is the end of thoughts that began in the prompt, as some chat templates have it.
    """
    kept: list[str] = []
    depth = begin = 0
    for tag in _THOUGHT.finditer(text):
        if not tag[1]:
            kept += [text[begin : tag.start()]] if not depth else []
            depth += 1
        elif depth:
            depth -= 1
        else:
            kept.clear()
        begin = tag.end()
    return None if depth else "".join(kept) + text[begin:]


def plain(text: str) -> str:
    """The text without markup, and without quotations where more than these is said."""
    for pattern, by in _MARKUP:
        text = pattern.sub(by, text)
    for pattern in (_QUOTED, _QUOTED_LINE):
        less = pattern.sub(" ", text)
        text = less if re.search(r"\w", less) else text
    return text.strip()


def unreadable(text: str) -> str:
    """Why a whole text gives no verdict whatever it names: it refuses, or breaks off; empty where neither is so."""
    if len(text) > LONGEST:
        return "it is too long"
    if _REFUSAL.search(text):
        return "it refuses"
    open_marks = any(text.count(begin) > text.count(end) for begin, end in ("()", "[]", "{}"))
    return BREAKS_OFF if open_marks or _OPEN_END.search(text) else ""


def stated_answer(text: str) -> Stated:
    """The yes or no of a text, out of the places where it is the judge's own answer."""
    text = plain(text)
    if why := unreadable(text):
        return Stated(why=why)
    echoes = bool(_ECHO.search(text))
    text = _ECHO.sub(lambda match: " " * len(match[0]), text)
    said = [match for match in _WORD.finditer(text) if _is_answer(text, match)]
    words = {match[1].lower() for match in said}
    if len(words) > 1:
        return Stated(why="it says both yes and no")
    if not words:
        return Stated(why="it names both yes and no" if echoes else "it holds no yes or no", is_silent=not echoes)
    word, after = words.pop(), text[said[0].end() :]
    if any(_DOUBT.match(text, match.end()) for match in said):
        return Stated(why=f"its {word} is in doubt")
    if (_WRONG if word == "yes" else _RIGHT).search(after):
        return Stated(why=f"its {word} is contradicted by what follows")
    return Stated(word=word)


def _is_answer(text: str, match: re.Match[str]) -> bool:
    before, after = text[max(0, match.start() - 120) : match.start()], text[match.end() : match.end() + 120]
    if match.start() > 120:
        before = f"x{before}"
    if not _ANNOUNCED.search(before) or _NEGATED.search(before):
        return False
    if _SPOKEN_OF.match(after):
        return False
    if match[1].lower() == "no":
        is_article = re.match(r"[ \t]+\w", after) and not _CLAUSE.match(after)
        if is_article or re.match(r"-\w|\.?\s*\d", after):
            return False
    return True
