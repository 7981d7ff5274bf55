"""Read a judge's reply as a verdict. An unreadable reply is None, never a number.

The requested form is JSON; fences, text around it and statements in words (`[[4]]`, `Score: 4`, `4/5`, a single `4`) are read too. A reply
with two different verdicts is unreadable. Thoughts (`<think>`) are removed first. The named variants reproduce earlier tools with errors.

Yes and no: only a statement of the judge counts. `No problem`, `no errors` and `the answer says yes` state nothing about the answer; a yes
and a no in one reply, a refusal and an incomplete reply are not verdicts.

Scores in words: `Score: 4`, `Rating (1-5): 4`, `I would give it a 4`, `4/5`, a line with only the number. A number that counts something
else (`3 errors`, `item 3`, `3 out of 5 facts`), a range, an arrow, a guess, or one on another scale is not a verdict.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from evalsuite.core import plugin_calls
from evalsuite.core.dataclasses import dataclass, field

# Verdicts are short; longer replies are not read.
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
# A quotation of more than one word is not the judge's own statement.
_QUOTED = re.compile(
    r"\"[^\"\n]*\s[^\"\n]*\"|\u201c[^\u201d\n]*\s[^\u201d\n]*\u201d|\u00ab[^\u00bb\n]*\s[^\u00bb\n]*\u00bb|(?<![\w'])'[^'\n]*\s[^'\n]*'(?![\w'])"
)
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
# Text before a yes or no that is the judge's own: the beginning of a clause, or an introduction.
_ANNOUNCED = re.compile(
    r"(?:^|[.!?:;,\n\u2014\u2013(\[{|>\"\u201c=]|(?:^|\s)-|\b(?:so|thus|hence|therefore|well|then|again|still|but|and|actually|wait|rather)"
    r"|\b(?:answer|verdict|judge?ment|conclusion|decision|result|this|that|it|final)\s*(?:is|'s|would be|=)"
    r"(?:\s+(?:an?|clearly|clear|definite|simply))*"
    r"|\b(?:answer|verdict|judge?ment|conclusion|decision|result)"
    r"|\bI(?:'d| would| will|'ll)?(?: have to)?\s+(?:say|mean|answer|vote|conclude|judge|reply|respond|go with)"
    r"(?:\s+(?:an?|it is|that))?)\s*$",
    re.IGNORECASE,
)
# A yes or no that another text gives: the reference, an answer next to it, or a side of `yes = yes`.
_NOUN = r"\s+(?:answers?|responses?|values?|labels?|results?|one)"
_OF_OTHERS = re.compile(
    r"(?:^|[.!?;,\n(\[|>\u2022-]|\b(?:and|but|while|whereas|where|because|since|as|so))\s*(?:(?:the|its?|an?)\s+)?"
    rf"(?:(?:reference|gold|expected|ground truth|candidate|predicted|student)(?:'s)?(?:{_NOUN})?"
    rf"|(?:true|right|correct|submitted|model|user|given|court)(?:'s)?(?:{_NOUN}|\s+decision)"
    r"|prediction|got|response|submission|answer given)\s*(?:\b(?:is|was|says?|said|has|gives?)\b|[:=])*\s*[\"'(\[]?\s*$"
    r"|(?:\b(?:the|its?)\s+answers?|\b(?:both|reference|gold))(?:\s*[(\[,\"']){1,2}\s*$",
    re.IGNORECASE,
)
_OF_ANSWER = re.compile(r"(?<!final )\banswers?\s*(?:\b(?:is|was|are)\b|[:=])*\s*[\"'(]?\s*$", re.IGNORECASE)
_SIDES = re.compile(
    r"\b(?P<a>yes|no)[\"')]*\s*(?:==?|\u2260|!=|(?:vs\.?|versus|match(?:es)?|equals|agrees with)(?=\W))\s*[\"'(]*(?P<b>yes|no)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\bnot|n't|\bcannot|\bnever|\bneither|\bnor|\bif|\bwhether|\bno way|\bno reason|\bmaybe|\bperhaps|\bprobably)\b[^.!?\n;]{0,25}$",
    re.IGNORECASE,
)
# `no` before another word is a determiner ("no errors"), unless a new clause begins there ("no it is not").
_CLAUSE = re.compile(
    r"[ \t]+(?:it|its|the|this|that|these|those|they|he|she|there|because|since|as|i|we|you|"
    r"and|but|so|sorry|both|not|does|from me|wait|actually|hold on)\b",
    re.IGNORECASE,
)
_SPOKEN_OF = re.compile(r"[ \t]+(?:would|is|was|could|might|may|should|seems|means)\b", re.IGNORECASE)
_DOUBT = re.compile(
    r"\s*\?|[\s,]+(?:and no\b|if\b|unless\b|assuming\b|provided\b|depending\b|"
    r"partially\b|partly\b|in part\b|to some extent\b|maybe\b|perhaps\b|mostly\b|largely\b|almost\b|except\b)",
    re.IGNORECASE,
)
# A yes or no of a conversation, which is about the task and not about the answer.
_CHATTED = re.compile(
    r"[\s,.!:;\u2014\u2013-]*(?:I\s+(?:can|could|will)\s+(?:\w+ly\s+)?(?:help|assist|do|rate|judge|evaluate|compare|provide|read)\b|I\s+understand\b"
    r"|I(?:'m|\s+am)\s+(?:ready|happy|glad|here|an?\s+(?:ai|(?:large\s+)?language)\b)|please\s+(?:provide|send|share|give|paste|tell)\b)",
    re.IGNORECASE,
)
_SUBJECT = r"(?:it|this|that|answers?|responses?|predictions?|candidates?|they|both)"
_WRONG = re.compile(
    r"(?<!nothing )(?<!none )\b(?:is|are|was|were|seems|'s)\s+(?:\w+ly\s+)?"
    r"(?:wrong|incorrect|inaccurate|false|mistaken|not (?:correct|right|accurate))\b"
    rf"|\b{_SUBJECT}\s+(?:isn't|does not|doesn't|do not|don't|did not|didn't|fails to)\s+(?:\w+ly\s+)?"
    r"(?:correct|right|accurate|agree|match|answer)"
    rf"|\b{_SUBJECT}\s+(?:\w+ly\s+)?(?:contradicts?|disagrees?|differs?|fails?|omits?|misses|lacks)\b(?!\s+(?:only|just|nothing|no)\b)"
    rf"|\b{_SUBJECT}\s+(?:is|are)\s+(?:\w+ly\s+)?(?:different|incomplete|unlike)\b(?!\s+(?:only|just|words|wording)\b)"
    r"|\A[\s,.:;\u2014\u2013-]*(?:wrong|incorrect|inaccurate|false)\b"
    r"|\b(?:but|however|although|though|except|yet)\b[^.!?\n]*"
    r"(?:\bnot\b|n't\b|\bwrong\b|\bincorrect\b|\bmissing\b|\blacks\b|\bomits\b|\bmisses\b|\bonly\b|\bincomplete\b)",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    rf"\b{_SUBJECT}(?:\s+(?:is|are|was|seems)|'s)\s+(?:\w+ly\s+)?(?:correct|right|accurate|identical|equivalent|equal|the same)\b"
    rf"|\b{_SUBJECT}\s+(?:\w+ly\s+)?(?:agrees?|match|matches|does (?:agree|match)|do (?:agree|match))\b"
    rf"|\b{_SUBJECT}\s+(?:do|does)(?: not|n't)\s+(?:contradict|differ|disagree)\b",
    re.IGNORECASE,
)
_OPEN_END = re.compile(
    r"(?:[:=,(\[{/\u2192]|->|=>|[-\u2013\u2014]|\b(?:is|are|the|an?|of|to|and|or|because|but|with|for))\s*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Stated:
    """The statement in a text: `number` or `word`, or the reason why it is unreadable. `is_silent`: the text does not mention a verdict."""

    number: float | None = None
    word: str = ""
    why: str = ""
    is_silent: bool = False


def without_thoughts(text: str) -> str | None:
    """Return the text without complete `<think>...</think>` parts; None if one is incomplete.

    An end without a beginning ends thoughts that began in the prompt, as in some chat templates.
    """
    parts: list[str] = []
    depth = begin = 0
    for tag in _THOUGHT.finditer(text):
        if not tag[1]:
            parts += [text[begin : tag.start()]] if not depth else []
            depth += 1
        elif depth:
            depth -= 1
        else:
            parts.clear()
        begin = tag.end()
    return None if depth else "".join(parts) + text[begin:]


def plain(text: str) -> str:
    """Return the text without markup, and without quotations unless these are everything."""
    for pattern, by in _MARKUP:
        text = pattern.sub(by, text)
    for pattern in (_QUOTED, _QUOTED_LINE):
        less = pattern.sub(" ", text)
        text = less if re.search(r"\w", less) else text
    return text.strip()


def unreadable(text: str) -> str:
    """Return why a whole text is not a verdict: it refuses, or is incomplete; empty if neither."""
    if len(text) > LONGEST:
        return "it is too long"
    if _REFUSAL.search(text):
        return "it refuses"
    open_marks = any(text.count(begin) > text.count(end) for begin, end in ("()", "[]", "{}"))
    return BREAKS_OFF if open_marks or _OPEN_END.search(text) else ""


def stated_answer(text: str) -> Stated:
    """Return the yes or no of a text, from the places where it is the judge's own answer."""
    text = plain(text)
    if why := unreadable(text):
        return Stated(why=why)
    echoes = bool(_ECHO.search(text))
    text = _ECHO.sub(lambda match: " " * len(match[0]), text)
    answers = _own_answers(text)
    words = {match[1].lower() for match in answers}
    if len(words) > 1:
        return Stated(why="it says both yes and no")
    if not words:
        return Stated(why="it names both yes and no" if echoes else "it holds no yes or no", is_silent=not echoes)
    word, after = words.pop(), text[answers[0].end() :]
    if any(_DOUBT.match(text, match.end()) for match in answers):
        return Stated(why=f"its {word} is in doubt")
    if _CHATTED.match(after):
        return Stated(why=f"its {word} is not about the answer")
    if (_WRONG if word == "yes" else _RIGHT).search(after):
        return Stated(why=f"its {word} is contradicted by what follows")
    return Stated(word=word)


def _own_answers(text: str) -> list[re.Match[str]]:
    words = list(_WORD.finditer(text))
    of_others = {match.start() for match in words if _OF_OTHERS.search(text, max(0, match.start() - 120), match.start())}
    of_others |= {match.start(side) for match in _SIDES.finditer(text) for side in "ab"}
    own = [match for match in words if match.start() not in of_others and _is_answer(text, match)]
    # Next to the reference's word, that after `answer` is the rated one's.
    return [match for match in own if not (of_others and _OF_ANSWER.search(text, max(0, match.start() - 40), match.start()))]


def _is_answer(text: str, match: re.Match[str]) -> bool:
    before = "x" * (match.start() > 120) + text[max(0, match.start() - 120) : match.start()]
    after = text[match.end() : match.end() + 120]
    if not _ANNOUNCED.search(before) or _NEGATED.search(before) or _SPOKEN_OF.match(after):
        return False
    is_article = re.match(r"[ \t]+\w", after) and not _CLAUSE.match(after)
    return match[1].lower() == "yes" or not (is_article or re.match(r"-\w|\.?\s*\d", after))


_DIGITS = r"\d+(?:\.\d+)?"
_NUMBER = (
    rf"(?P<n>(?<![\w.,/#$\u20ac\u00a3<>~\u2248\u2264\u2265+\u2212-])-?{_DIGITS}"
    r"(?![^\W\u5206\u70b9\uc810]|[%\u2030\u00b0\u00bd+]|[.,:]\d|\s*%))"
)
_TO = r"\s*(?:-|\u2013|\u2014|\u2212|to|through|and|\.\.+|\u2026)\s*"
_LABEL = (
    r"score|rating|grade|mark|verdict|judge?ment|evaluation|assessment|overall|final|total|bewertung|punktzahl|wertung|puntuaci\u00f3n|"
    r"calificaci\u00f3n|puntaje|punteggio|valutazione|pontua\u00e7\u00e3o|note|nota|\u043e\u0446\u0435\u043d\u043a\u0430|"
    r"\u8bc4\u5206|\u5f97\u5206|\u5206\u6570|\u8a55\u4fa1|\uc810\uc218"
)
_ARTICLES = r"(?:(?:an?|the|just|exactly|only|clearly|definitely|solid|strong|clear|full|perfect|good|firm)\s+)*"
_LINK = (
    r"[\"']?(?:\s*[(\[][^()\[\]\n]{0,80}[)\]])?\s*"
    r"(?:(?:[:\uff1a=|\u2192\u21d2\u2794]|->|=>|[-\u2013\u2014](?=\s)|\b(?:is|was|of|would be|should be|will be|must be|be)\b)\s*)*"
)
_BEFORE = r"(?:(?<!\w)(?P<before>[^\W\d_]{1,20}(?:'s)?)[ \t-]+)?"
_LABELLED = re.compile(
    rf"{_BEFORE}\b(?P<label>{_LABEL})\b(?:\s+(?:given|assigned|awarded|for\s+(?:the|this)\s+\w+)(?=\s*[:=]|\s+is\b))?"
    rf"{_LINK}{_ARTICLES}[(\[\"']*{_NUMBER}",
    re.IGNORECASE,
)
_ANSWER = re.compile(rf"(?:\A|\n)\s*(?P<label>(?:my\s+)?(?:final\s+)?answer)\s*[:=]\s*{_NUMBER}(?=[ \t.!]*\Z)", re.IGNORECASE)
_RATED = (
    r"rat(?:e[sd]?|ing)|giv(?:e|ing)|gave|assign(?:ed)?|award(?:ed)?|grade[sd]?|scored?|mark(?:ed)?|say|judged?|go with|went with|"
    r"settled? on|choose|chose|picked|pick|consider|put|call"
)
_OWN = re.compile(
    rf"\bI(?:'d|'ll|'m|'ve| would| will| shall| have| must| am going to)?(?: \w+ly| hereby| therefore| thus| hence)? (?:{_RATED})\b"
    rf"(?P<middle>[^.\n;:\d]{{0,60}}?){_NUMBER}",
    re.IGNORECASE,
)
_EARNED = re.compile(
    rf"\b(?:deserves?|merits?|warrants?|earns?|earned|receives?|gets(?: an?)?|rated|rating it|scores?|worth"
    rf"|(?:this|that|it)(?:'s| is) an?|makes? (?:it|this|that) an?)\s+(?:at\s+|as\s+)?{_ARTICLES}{_NUMBER}",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    rf"\b(?:so|thus|hence|therefore|conclusion|finally|altogether|or rather|(?<=\. )or|make (?:it|that))\b[,:]?\s*"
    rf"(?:it is|it's|i'd say|i say)?\s*{_ARTICLES}{_NUMBER}(?=\s*(?:[.!\n]|\Z|/|out of))",
    re.IGNORECASE,
)
_LINE = re.compile(rf"(?m)^[ \t]*(?:[-\u2022|>:(\[\"']+[ \t]*)?{_NUMBER}(?=(?P<rest>[^\n]*)$)")
_BRACKETS = re.compile(rf"\[\[\s*(?P<n>[+-]?{_DIGITS})\s*\]\]")
_FRACTION = re.compile(rf"{_NUMBER}\s*(?:/|out of)\s*{_DIGITS}", re.IGNORECASE)

_UNIT = r"(?:\s*-?\s*(?:points?|stars?|pts?|marks?)\b|\s*[\u2605\u2b50\u5206\u70b9\uc810])?"
_OF = re.compile(
    rf"{_UNIT}(?:\s*,?\s*(?:/|out of|of|von|sur|de|di)\s*(?:a\s+)?(?:possible\s+|maximum\s+(?:of\s+)?|total\s+(?:of\s+)?)?"
    rf"(?P<top>{_DIGITS})(?![\w%]|[.,]\d|\s*/)){{0,1}}{_UNIT}",
    re.IGNORECASE,
)
# A range, an arrow or a second number: the number before it is not the verdict, or not all of it.
_AND_MORE = re.compile(
    rf"[ \t]*(?:(?P<tight>[-\u2013\u2014\u2212/]|\u2192|->|=>|\u27f6|\u21d2|\u2794|~|\u00b1|\.\.+|\u2026|\bto\b|\bthrough\b)[ \t]*"
    rf"|(?:[,;(&|]|\.(?=[ \t])|[ \t][-\u2013\u2014][ \t]|\band\b|\b)[ \t]*"
    r"(?:(?:or|maybe|perhaps|possibly|even|almost|nearly|close to|rather|and|probably|arguably|borderline|bordering on"
    r"|leaning(?:\s+(?:to|towards?))?|(?:but\s+)?(?:it\s+)?(?:could|might|may|can)(?:\s+(?:also|even|well|as|just))*\s+be)\s+)*(?:an?\s+)?)"
    rf"[+-]?(?P<more>{_DIGITS})(?!\d|\.\d|\s*%)"
    rf"(?P<noun>\s+(?!(?:or|and|to|out|of|points?|stars?|pts|marks?)\b)[^\W\d_]{{2,}})?",
    re.IGNORECASE,
)
# Further on in its line, another number that would do as well.
_WOULD_DO = (
    re.compile(
        r"\b(?:(?:would|could|might|may|can)\s+(?:\w+\s+){0,3}?(?:say|give|rate|score|grade|accept|award|assign|justify|object to)"
        r"|(?:case|argument)\b[^.\n]{0,20}\bfor|argued? for|tempted to (?:say|give|award)|as (?:high|low) as|closer to|nearer(?: to)?"
        rf"|rounded(?: up| down)? to)\s+(?:it\s+)?(?:an?\s+)?(?P<more>{_DIGITS})(?=\s*(?:[.,;:)!\n]|\Z|as well\b|too\b))",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\w.,/-])(?P<more>{_DIGITS})\s*(?:[(,]\s*)?(?:at (?:best|most|worst|a)\b|on a good\b|(?:if (?:\w+ )?)?"
        r"(?:lenient|generous|strict)|if you ignor|(?:is|would|could|might|may|can|seems) (?:\w+ ){0,2}?"
        r"(?:defen|fair|possib|plausib|acceptab|justif|argu))",
        re.IGNORECASE,
    ),
)
# Words that may follow a verdict in its clause; after any other word the number is a count or part of another sentence.
_MAY_FOLLOW = re.compile(
    r"\s*(?:\Z|!(?!=)|[.,;:)\]}|\"'\u201d\n\u3002\uff0c]|[-\u2013\u2014](?=\s)|\(|=\s*\d"
    r"|(?:because|since|as|but|with|due|given|overall|while|though|although|which|from me|"
    r"to (?:it|this|the)|on (?:the|a|this)|is (?:fair|appropriate|warranted|justified|my|the right|what|given|deserved)|"
    r"and (?:the|it|this|that|i|not))\b)",
    re.IGNORECASE,
)
# Words before `4/5` in a sentence that make it the verdict rather than a page or count.
_GIVES = re.compile(
    r"(?:\b(?:is|are|be|an?|at|as|makes|it|this|that|worth|say|with|of|solid|stars?|gets?|scores?)|[,=(\u2605\u2606\u2b50\u2013\u2014-])\s*$",
    re.I,
)
_COUNTS = re.compile(
    r"\b(?:cover|includ|mention|has\b|have\b|had\b|get|got|list|contain|miss|match|name|identif|captur|correct|right\b|fact|found|find|"
    r"answered|errors?|claims?|items?|steps?|points?\b)[^.!?\n;:]*$",
    re.IGNORECASE,
)
_DOUBTED_SCORE = re.compile(
    r"\b(?:not|never|cannot|neither|nor|if|unless|otherwise|had|might|may|could|say between|instead of|rather than|less than|more than|"
    r"at least|at most|above|below|up to|almost|nearly|around|about|approximately|roughly|between|somewhere|closer)\b|n't\b",
    re.IGNORECASE,
)
# Persons or things that give or receive a number other than the judge's score of this answer.
_OTHERS = re.compile(
    r"\b(?:reference|gold|expected|maximum|max|confidence|other|says|said|"
    r"according to|report(?:s|ed)?|(?:demand|ask|request|claim|want|tell|instruct|order|insist)(?:s|ed|ing)?)\b",
    re.IGNORECASE,
)
_FINAL = frozenset({"final", "overall", "definitive", "ultimate", "total", "combined"})
_NOT_MINE = re.compile(
    r"confidence|certainty|maximum|max|minimum|min|highest|lowest|top|best|worst|possible|perfect|full|passing|reference|"
    r"reference's|gold|expected|previous|prior|initial|first|earlier|old|original|baseline|average|mean|human|credit|f1|bleu|"
    r"rouge|sub|user's|other|true|no|any|each|every|what|which|whose|default|starting|tentative|draft|demanded|requested|"
    r"claimed"
)
_NEUTRAL = re.compile(
    r"my|the|a|an|this|that|its|of|with|it|is|i|and|so|thus|hence|therefore|as|to|give|gives|given|giving|assign|assigned|"
    r"assigns|award|awarded|deserves|deserve|receives|receive|merits|earns|gets|numeric|numerical|suggested|recommended|judge|"
    r"judge's|answer's|response's|here|resulting|quality|correctness|agreement|similarity|your|get|was"
)
_NEEDS_LINK = re.compile(rf"(?:note|nota|mark|verdict|judge?ment|evaluation|assessment)\s+{_DIGITS}", re.IGNORECASE)
_ON = r"(?:\b(?:on|using|by|with|per|from)\s+(?:an?|the|your|this)\s+(?:given\s+)?)?"
_SCALES = (
    re.compile(
        rf"{_ON}\bscale\b\s*(?:\(|is|of|from|:|=|goes|runs)?\s*(?:from\s+|of\s+)?(?P<low>{_DIGITS}){_TO}(?P<high>{_DIGITS})(?!\w)",
        re.IGNORECASE,
    ),
    re.compile(rf"{_ON}(?<![\w.])(?P<low>{_DIGITS}){_TO}(?P<high>{_DIGITS})[\s-]+(?:scale|range)\b", re.IGNORECASE),
    re.compile(
        rf"(?P<adjacent>\b(?:{_LABEL})\s*|\d\s*)[(\[]\s*(?:from\s+)?(?P<low>{_DIGITS}){_TO}(?P<high>{_DIGITS})\s*[)\]]", re.IGNORECASE
    ),
    re.compile(rf"[(\[]\s*(?:out of|of|max(?:imum)?\.?|/)\s*(?P<high>{_DIGITS})\s*(?:points?|stars?)?\s*[)\]]", re.IGNORECASE),
    re.compile(rf"{_ON}(?<![\w.])(?P<high>{_DIGITS})[\s-]points?\s+(?:\w+\s+)?scale\b", re.IGNORECASE),
    re.compile(rf"(?:\A|\n|[.;] )out of (?P<high>{_DIGITS})(?=\s*[,:])", re.IGNORECASE),
    re.compile(rf"\bmax(?:imum)?(?:\s+(?:score|points))?\s*[:=]\s*(?P<high>{_DIGITS})(?!\w)", re.IGNORECASE),
    re.compile(rf"{_ON}\bscale of (?P<high>{_DIGITS})(?!\w|\s*(?:to|-|\u2013))", re.IGNORECASE),
)
_SAME_SCALE = re.compile(rf"(?:\bfrom\s+)?(?<![\w.,+-])(?P<low>{_DIGITS}){_TO}(?P<high>{_DIGITS})(?![\w%]|[.,]\d)", re.IGNORECASE)
_CORRECTION = re.compile(
    r"\b(?:wait|actually|sorry|i mean|no(?=,)|hmm|on reflection|on second thoughts?|scratch that|correction|reconsider\w*|revis\w+|"
    r"changed my mind|should be)\b",
    re.IGNORECASE,
)
_LONGEST_CLAUSE = 200
_SENTENCE_END = re.compile(r"[.!?;\n](?=\s|$)|\n")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A number that may be the verdict; `rank`: 0 is marked as final, 1 is the judge's own, 2 is one of several kinds."""

    value: float
    top: float | None
    rank: int
    end: int


def stated_score(text: str, low: float, high: float) -> Stated:
    """Return the only number that a text gives as its verdict on the scale from `low` to `high`; it may be outside the scale."""
    text = plain(text)
    if why := unreadable(text):
        return Stated(why=why)
    text, other_scale = _without_scales(text, low, high)
    if other_scale:
        return Stated(why="it names another scale")
    candidates = list(_candidates(text))
    if any(candidate.top not in (None, high) for candidate in candidates):
        return Stated(why="its number is on another scale")
    if any(_is_followed_by_number(text, candidate.end) or _is_torn(text, candidate, low, high) for candidate in candidates):
        return Stated(why="it names more than one number")
    if not candidates:
        return Stated(why="it states no score", is_silent=True)
    best_rank = min(candidate.rank for candidate in candidates)
    ranked = [candidate for candidate in candidates if candidate.rank == best_rank]
    last = max(candidate.end for candidate in ranked)
    ranked += [candidate for candidate in candidates if candidate.rank == 1 and candidate.end > last]
    if len({candidate.value for candidate in ranked}) > 1 or _is_corrected(text, ranked[0].value, last, low, high):
        return Stated(why="it gives more than one score")
    return Stated(number=ranked[0].value)


def _is_torn(text: str, candidate: _Candidate, low: float, high: float) -> bool:
    rest = text[candidate.end : candidate.end + _LONGEST_CLAUSE].partition("\n")[0]
    return any(candidate.value != float(m["more"]) <= high and float(m["more"]) >= low for p in _WOULD_DO for m in p.finditer(rest))


def _is_corrected(text: str, value: float, last: int, low: float, high: float) -> bool:
    later = (float(match["n"]) for match in re.compile(_NUMBER).finditer(text, last) if _MAY_FOLLOW.match(text, match.end()))
    return _CORRECTION.search(text, last) is not None and any(number != value and low <= number <= high for number in later)


def _without_scales(text: str, low: float, high: float) -> tuple[str, bool]:
    """Return (the text with mentions of the scale blanked out, whether it names another scale)."""
    other = False

    def blank_out(match: re.Match[str]) -> str:
        nonlocal other
        groups = match.groupdict()
        bottom = groups.get("low")
        other |= float(match["high"]) != high or (bottom is not None and float(bottom) != low)
        return str(groups.get("adjacent", "")).ljust(len(match[0]))

    for pattern in _SCALES:
        text = pattern.sub(blank_out, text)
    text = _SAME_SCALE.sub(lambda match: " " if (float(match["low"]), float(match["high"])) == (low, high) else match[0], text)
    return re.sub(r"[(\[]\s*[)\]]", " ", text), other


def _candidates(text: str) -> Iterator[_Candidate]:
    """Yield the numbers that may be the score: in brackets, after a label, in a sentence, or alone on a line."""
    for match in _BRACKETS.finditer(text):
        yield _Candidate(float(match["n"]), None, 0, match.end())
    yield from _find_labelled(text)
    yield from _in_sentences(text)
    first_place = re.match(r"[ \t\n\u2022|>:(\[\"'-]*", text)
    for match in _LINE.finditer(text):
        first = first_place is not None and match.start("n") <= first_place.end()
        if first or not match["rest"].strip(" \t.!)]|\"'") or _OF.fullmatch(match["rest"].strip(" .!")):
            yield from _keep_verdict(text, match, 1, is_line=True)


def _find_labelled(text: str) -> Iterator[_Candidate]:
    for match in _LABELLED.finditer(text):
        before = (match["before"] or "").lower()
        if _NEEDS_LINK.fullmatch(text, match.start("label"), match.end()):
            continue
        rank = 0 if before in _FINAL or match["label"].lower() in _FINAL else 1 if not before or _NEUTRAL.fullmatch(before) else 2
        clause = _clause(text, match.start())
        if not _NOT_MINE.fullmatch(before) and not _DOUBTED_SCORE.search(clause) and not _OTHERS.search(clause):
            yield from _keep_verdict(text, match, rank)


def _in_sentences(text: str) -> Iterator[_Candidate]:
    for match in _OWN.finditer(text):
        about = _clause(text, match.start()) + match["middle"]
        end = _SENTENCE_END.search(text, match.end(), match.end() + _LONGEST_CLAUSE)
        after = text[match.end() : min(match.end() + 40, end.start() if end else len(text))]
        if not _DOUBTED_SCORE.search(about) and not _OTHERS.search(match["middle"]) and not _DOUBTED_SCORE.search(after):
            yield from _keep_verdict(text, match, 1)
    for pattern in (_ANSWER, _EARNED, _CONCLUDED, _FRACTION):
        for match in pattern.finditer(text):
            clause = _clause(text, match.start())
            clause = clause.rpartition(":")[2] if pattern is _FRACTION else clause
            counts = pattern is _FRACTION and clause.strip() and (_COUNTS.search(clause) or not _GIVES.search(clause))
            if not counts and not _DOUBTED_SCORE.search(clause) and not _OTHERS.search(clause.rpartition(",")[2]):
                yield from _keep_verdict(text, match, 2 if pattern is _FRACTION and clause.strip() else 1)


def _keep_verdict(text: str, match: re.Match[str], rank: int, *, is_line: bool = False) -> Iterator[_Candidate]:
    """Yield the number of a match, unless the text after it shows that it is not a verdict."""
    of = _OF.match(text, match.end("n"))
    end = of.end() if of is not None else match.end("n")
    if is_line and of is not None and re.match(r"\s*of\b", text[match.end("n") :]):
        return
    top = float(of["top"]) if of is not None and of["top"] else None
    begins_list = (
        is_line
        and (
            (re.match(r"[.)]\s*\w", text[end:]) and (match["n"] == "1" or re.search(rf"(?m)^\s*{int(float(match['n'])) - 1}[.)]", text)))
            # A rubric: `1: poor, 2: fair`.
            or (re.match(r"\s*[:=]", text[end:]) and re.search(rf"\b{int(float(match['n'])) + 1}\s*[:=]", text[end:]))
        )
    )
    if (_MAY_FOLLOW.match(text, end) and not begins_list) or _is_followed_by_number(text, end):
        yield _Candidate(float(match["n"]), top, rank, end)


def _is_followed_by_number(text: str, end: int) -> bool:
    """Return whether a second number follows that makes the first part of a range, a change or a choice."""
    return (match := _AND_MORE.match(text, end)) is not None and (bool(match["tight"]) or not match["noun"])


def _clause(text: str, start: int) -> str:
    """Return the text before a position in its sentence."""
    begin = max(0, start - _LONGEST_CLAUSE)
    ends = [match.end() for match in _SENTENCE_END.finditer(text, begin, start)]
    return text[ends[-1] if ends else begin : start]


_MOST_OBJECTS = 200
_ASCII_SPACE = " \t\n\v\f\r\0"
# Keys are compared in lower case without spaces and underscores; if an object has several, the first one in this list counts.
_SCORE_KEYS = ("score", "rating", "finalscore", "finalrating", "overallscore", "overallrating", "overall", "grade", "verdict")
_VERDICT_KEYS = ("verdict", "answer", "finalverdict", "finalanswer", "decision", "judgment", "judgement", "score", "result")
_SCALE_KEYS = ("max", "maxscore", "maximum", "outof", "scale", "top", "scalemax", "scoremax", "maxrating", "range")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict in a reply: a value in [0, 1] or None, in words as `label`, with the judge's own `reason`.

    `why` is why the reply is unreadable; `declines`: the judge said, in the offered form, that it cannot decide. `details` are JSON-safe.
    """

    value: float | None
    label: str = ""
    reason: str = ""
    why: str = ""
    declines: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_read(self) -> bool:
        """Whether the reply is readable, so that it is cached and not requested again."""
        return self.value is not None or self.declines


Reading = Callable[[str], Verdict]
NOTHING = Verdict(value=None, why="it is not the JSON that was asked for")


def json_objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield (begin, end, object) of each JSON object in a text, outermost first, followed by its inner objects.

    A key with two different values in an object counts as null. A flat Python dict counts as an object.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    text = text[:LONGEST]
    for begin in [match.start() for match in re.finditer(r"\{", text)][:_MOST_OBJECTS]:
        try:
            value, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            end, value = text.find("}", begin) + 1, None
            with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                value = ast.literal_eval(text[begin:end]) if "'" in text[begin:end] else None
        if isinstance(value, dict):
            yield begin, end, value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) == len(pairs):
        return mapping
    return {key: mapping[key] if _all_equal([v for k, v in pairs if k == key]) else None for key in mapping}


def _all_equal(values: Sequence[Any]) -> bool:
    return len({json.dumps(value, default=str) for value in values}) <= 1


@dataclass(slots=True)
class _Fields:
    """Contents of the JSON objects with one of some keys: `values` of each one's first key, `others` of its further keys, its scale."""

    values: list[Any] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)
    scales: list[Any] = field(default_factory=list)
    reason: str = ""
    rest: str = ""
    after: str = ""


def _fields(text: str, keys: Sequence[str]) -> _Fields:
    """Return the fields of a text. An object inside one that has a key is part of it and is not read separately."""
    fields, passed = _Fields(), 0
    for begin, end, entry in json_objects(text):
        if begin < passed:
            continue
        by_plain_key = {re.sub(r"[\W_]", "", str(key)).lower(): value for key, value in entry.items()}
        present = [by_plain_key[key] for key in keys if key in by_plain_key]
        if present:
            fields.rest += text[passed:begin] + "\n"
            passed = end
            fields.values.append(present[0])
            fields.others.extend(present[1:])
            fields.scales.extend(by_plain_key[key] for key in _SCALE_KEYS if key in by_plain_key)
            reason = by_plain_key.get("reason") or by_plain_key.get("explanation")
            fields.reason = fields.reason or (reason if isinstance(reason, str) else "")
    fields.after = text[passed:] if fields.values else ""
    fields.rest += text[passed:]
    return fields


def score_reading(
    *, scale: tuple[float, float] = (1, 5), from_zero: bool = False, variant: str = "tolerant", extractor: str | Callable[[str], Any] = ""
) -> Reading:
    """Return a reader of scores on a scale: n becomes n/top as in the Desiru issue, or (n - bottom)/(top - bottom) with `from_zero`.

    A number outside the scale is not a verdict.

    Args:
        scale: bottom and top.
        from_zero: whether the bottom is worth 0.
        variant: `tolerant`, or `issue_default`: the first single digit from 1 to 5, divided by 5; 0.0 if there is none.
        extractor: a regular expression whose first group (or the whole match) is the number, or a function of the reply.
    """
    low, high = scale

    def verdict(number: float | None, reason: str = "", why: str = "it holds no number") -> Verdict:
        if number is None:
            return Verdict(value=None, reason=reason, why=why)
        value = (number - low) / (high - low) if from_zero else number / high
        if not (low <= number <= high and 0 <= value <= 1):
            return Verdict(value=None, reason=reason, why=f"its number {number:g} is not on the scale")
        return Verdict(value=value or 0.0, label=f"{number or 0.0:g}", reason=reason)

    def read(text: str) -> Verdict:
        if variant == "issue_default" and not extractor:
            match = re.search(r"\b[1-5]\b", text)
            return Verdict(value=int(match[0]) / 5 if match else 0.0, label=match[0] if match else "")
        answer = without_thoughts(text)
        if answer is None:
            return Verdict(value=None, why=UNFINISHED)
        if extractor:
            return verdict(_number(_extract(extractor, answer)), why="nothing in it has the form that is read")
        fields = _fields(answer, _SCORE_KEYS)
        stated = stated_score(fields.rest, low, high)
        if not fields.values:
            return verdict(stated.number, why=stated.why)
        numbers = [_score_in(value, low, high) for value in fields.values]
        others = [number for number in (_score_in(value, low, high) for value in fields.others) if number is not None]
        why = _spoilt(stated, numbers[0] if numbers[0] == stated.number else None)
        if any(not _is_scale(value, low, high) for value in fields.scales):
            why = "it names another scale"
        if None in numbers:
            why = "its JSON holds no score"
        elif len({*numbers, *others}) > 1:
            why = "it gives more than one score"
        return verdict(None if why else numbers[0], fields.reason, why)

    return read


def yes_no_reading(*, variant: str = "tolerant") -> Reading:
    """Return a reader of yes and no as 1.0, 0.0 or None.

    Args:
        variant: `tolerant`, or `issue_literal`: 1.0 for a bare YES in any case, 0.0 for everything else.

    Returns:
        A function from the text of a reply to a `Verdict`.
    """

    def read(text: str) -> Verdict:
        if variant == "issue_literal":
            return Verdict(value=float(text.strip(_ASCII_SPACE).upper() == "YES"))
        answer = without_thoughts(text)
        if answer is None:
            return Verdict(value=None, why=UNFINISHED)
        fields = _fields(answer, _VERDICT_KEYS)
        stated = stated_answer(fields.rest)
        word, why = stated.word, stated.why
        if fields.values:
            words = {_word_in(value) for value in fields.values} | {_word_in(value) for value in fields.others} - {""}
            word = "" if len(words) > 1 else words.pop()
            why = _spoilt(stated, word if word == stated.word else None) or ("" if word else "its JSON says neither yes nor no, or both")
            if word and (_WRONG if word == "yes" else _RIGHT).search(fields.after):
                why = "its text contradicts its JSON"
        if why or not word:
            return Verdict(value=None, reason=fields.reason, why=why)
        return Verdict(value=float(word == "yes"), label=word, reason=fields.reason)

    return read


_PREFERRED = re.compile(r"\bsummary[\s-]([01])\s+(?:is|was)\s+(?:\w+ly\s+)?(?:the\s+)?(?:better|best|preferable)\b", re.IGNORECASE)


def choice_reading(choices: Mapping[str, tuple[float | None, str]], *, upstream_length: int | None = None) -> Reading:
    """Return a reader of one word of `choices`: word -> (value, label), compared without case, quotes and a final dot.

    In words it must be the whole reply or a line. A word without a value means that the judge declines. `upstream_length` compares the
    reply's first n characters (0: all of them) exactly; anything else is -1.0 `invalid`.
    """

    def read(text: str) -> Verdict:
        if upstream_length is not None:
            value, label = choices.get(text[: upstream_length or None], (None, ""))
            return Verdict(value=-1.0, label="invalid") if value is None else Verdict(value=value, label=label)
        answer = without_thoughts(text)
        if answer is None:
            return Verdict(value=None, why=UNFINISHED)
        fields = _fields(answer, _VERDICT_KEYS)
        stated_choices = [_choice_in(value) for value in fields.values]
        rest = plain(fields.rest)
        stated_choices += [word for word in map(_choice_in, fields.others) if word in choices]
        stated_choices += [word for word in map(_choice_in, rest.splitlines()) if word in choices or word.isdecimal()]
        stated_choices += [word for word in _PREFERRED.findall(rest) if word in choices]
        refusal = unreadable(rest)
        if len(set(stated_choices)) > 1 or (refusal and refusal != BREAKS_OFF):
            return Verdict(value=None, reason=fields.reason, why=refusal or "it gives more than one verdict")
        if not stated_choices or stated_choices[0] not in choices:
            return Verdict(value=None, reason=fields.reason, why="it is none of the words that were offered")
        value, label = choices[stated_choices[0]]
        return Verdict(value=value, label=label, reason=fields.reason, declines=value is None)

    return read


_SUPPORT = {"supported": 1.0, "no hallucination": 1.0, "hallucination": 0.0, "not supported": 0.0, "unsupported": 0.0}
_UNSUPPORTED = re.compile(
    r"\b(?P<no>(?:no|not|none|nothing|never|without|free of)\b(?:(?!supported)[^.!?\n;,]){0,25}?\b)?"
    r"(?:not supported|unsupported|hallucinat\w+|not (?:all|every)\b[^.!?\n;]{0,25}\bsupported)",
    re.IGNORECASE,
)


def claims_reading() -> Reading:
    """Return a reader of claims: 1.0 if each is supported, 0.0 if one is not. An overall verdict that contradicts them is unreadable."""

    def read(text: str) -> Verdict:
        answer = without_thoughts(text)
        if answer is None:
            return Verdict(value=None, why=UNFINISHED)
        fields = _fields(answer, ("claims", "verdict"))
        stated = [*fields.values, *fields.others]
        lists = [value for value in stated if isinstance(value, list)]
        if not lists or not _all_equal(lists):
            return NOTHING
        claims, overall = lists[0], {_SUPPORT.get(str(value).strip().lower()) for value in stated if not isinstance(value, list)}
        if not all(isinstance(claim, dict) and isinstance(claim.get("supported"), bool) for claim in claims):
            return Verdict(value=None, why="a claim in it is neither supported nor not")
        shares = overall | ({float(all(claim["supported"] for claim in claims))} if claims else set())
        if len(shares) != 1 or None in shares:
            return Verdict(value=None, why="its claims and its verdict disagree, or it has neither")
        if (share := shares.pop()) and any(match["no"] is None for match in _UNSUPPORTED.finditer(fields.after)):
            return Verdict(value=None, why="its text contradicts its JSON")
        rows = [{"claim": str(claim.get("claim", "")), "supported": claim["supported"]} for claim in claims]
        return Verdict(value=share, label="no hallucination" if share else "hallucination", reason=fields.reason, details={"claims": rows})

    return read


def read_results(text: str) -> list[float | None] | None:
    """Return the list `results` of a reply with each entry as 1.0, 0.0 or None; None if there is no such list."""
    found = _fields(without_thoughts(text) or "", ("results",)).values
    if not found or not isinstance(found[0], list) or not _all_equal(found):
        return None
    words = [value.strip().lower() if isinstance(value, str) else value for value in found[0]]
    return [1.0 if word in (1, "1", "true") else 0.0 if word in (0, "0", "false") else None for word in words]


def _spoilt(stated: Stated, same: object) -> str:
    """Return why the text around a JSON verdict contradicts it; empty if it states nothing or `same`. It may end at the JSON."""
    says_nothing = stated.is_silent or stated.why == BREAKS_OFF
    return "" if says_nothing else stated.why or ("" if same else "its text contradicts its JSON")


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


def _extract(extractor: str | Callable[[str], Any], text: str) -> Any:
    if callable(extractor):
        return plugin_calls.call_plugin("extractor", extractor, text)
    match = re.search(extractor, text[:LONGEST])
    return match and match[1 if match.re.groups else 0]


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
