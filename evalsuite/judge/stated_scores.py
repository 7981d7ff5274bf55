"""The score that a reply states in words: `Score: 4`, `Rating (1-5): 4`, `I would give it a 4`, `4/5`, a line that is the number alone.

A number counts where it stands in the place of a verdict and nothing takes that back. One that counts something else (`3 errors`,
`item 3`, `3 out of 5 facts`), a range, an arrow, a guess, and one on another scale are no verdict, and two different verdicts are none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evalsuite.judge.statements import Stated, plain, unreadable

_DIGITS = r"\d+(?:\.\d+)?"
_NUMBER = rf"(?P<n>(?<![\w.,/#$\u20ac\u00a3<>~\u2248\u2264\u2265+\u2212-])-?{_DIGITS}(?![\w%\u2030\u00b0\u00bd+]|[.,:]\d|\s*%))"
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
# A range, an arrow, a second number: what stands before is not the verdict, or not all of it.
_AND_MORE = re.compile(
    rf"[ \t]*(?:(?P<tight>[-\u2013\u2014\u2212/]|\u2192|->|=>|\u27f6|\u21d2|\u2794|~|\u00b1|\.\.+|\u2026|\bto\b|\bthrough\b)[ \t]*"
    rf"|(?:[,;(&|]|\.(?=[ \t])|[ \t][-\u2013\u2014][ \t]|\band\b|\b)[ \t]*"
    rf"(?:(?:or|maybe|perhaps|possibly|even|almost|nearly|close to|rather|and|probably)\s+)*(?:an?\s+)?)"
    rf"[+-]?(?P<more>{_DIGITS})(?!\d|\.\d|\s*%)"
    rf"(?P<noun>\s+(?!(?:or|and|to|out|of|points?|stars?|pts|marks?)\b)[^\W\d_]{{2,}})?",
    re.IGNORECASE,
)
# What may follow a verdict in its clause; any other word makes the number a count or part of another sentence.
_MAY_FOLLOW = re.compile(
    r"\s*(?:\Z|[.,;:!)\]}|\"'\u201d\n\u3002\uff0c]|[-\u2013\u2014](?=\s)|\(|=\s*\d"
    r"|(?:because|since|as|but|with|due|given|overall|while|though|although|which|from me|"
    r"to (?:it|this|the)|on (?:the|a|this)|is (?:fair|appropriate|warranted|justified|my|the right|what|given|deserved)|"
    r"and (?:the|it|this|that|i|not))\b)",
    re.IGNORECASE,
)
# What stands right before `4/5` in a sentence where it is the verdict and no page or count.
_GIVES = re.compile(
    r"(?:\b(?:is|are|be|an?|at|as|makes|it|this|that|worth|say|with|of|solid|stars?|gets?|scores?)|[,=(\u2605\u2606\u2b50\u2013\u2014-])\s*$",
    re.I,
)
_COUNTS = re.compile(
    r"\b(?:cover|includ|mention|has\b|have\b|had\b|get|got|list|contain|miss|match|name|identif|captur|correct|right\b|fact|found|find|"
    r"answered|errors?|claims?|items?|steps?|points?\b)[^.!?\n;:]*$",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not|never|cannot|neither|nor|if|unless|otherwise|had|might|may|could|say between|instead of|rather than|less than|more than|"
    r"at least|at most|above|below|up to|almost|nearly|around|about|approximately|roughly|between|somewhere|closer)\b|n't\b",
    re.IGNORECASE,
)
# Who says or gets the number, where it is not the judge of this answer.
_OTHERS = re.compile(
    r"\b(?:reference|gold|expected|maximum|max|confidence|other|says|said|"
    r"(?:demand|ask|request|claim|want|tell|instruct|order|insist)(?:s|ed|ing)?)\b",
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
class _Found:
    """One number in the place of a verdict; `rank`: 0 is called final, 1 is the reply's own, 2 is one of several kinds."""

    value: float
    top: float | None
    rank: int
    end: int


def stated_score(text: str, low: float, high: float) -> Stated:
    """The one number that a text gives as its verdict on the scale from `low` to `high`; it may lie off the scale."""
    text = plain(text)
    if why := unreadable(text):
        return Stated(why=why)
    text, other_scale = _without_scales(text, low, high)
    if other_scale:
        return Stated(why="it names another scale")
    found = list(_found(text))
    if any(one.top not in (None, high) for one in found):
        return Stated(why="its number stands on another scale")
    if any(_more(text, one.end) for one in found):
        return Stated(why="it names more than one number")
    if not found:
        return Stated(why="it states no score", is_silent=True)
    ranked = [one for one in found if one.rank == min(one.rank for one in found)]
    values = {one.value for one in ranked}
    value, last = ranked[-1].value, max(one.end for one in ranked)
    later = (float(match["n"]) for match in re.compile(_NUMBER).finditer(text, last) if _MAY_FOLLOW.match(text, match.end()))
    if len(values) > 1 or (_CORRECTION.search(text, last) and any(number != value and low <= number <= high for number in later)):
        return Stated(why="it gives more than one score")
    return Stated(number=value)


def _without_scales(text: str, low: float, high: float) -> tuple[str, bool]:
    """(the text with mentions of the scale blanked out, whether it names another one)."""
    other = False
    for pattern in _SCALES:
        for match in list(pattern.finditer(text)):
            bottom = match.groupdict().get("low")
            other |= float(match["high"]) != high or (bottom is not None and float(bottom) != low)
            begin = match.end("adjacent") if "adjacent" in match.groupdict() else match.start()
            text = text[:begin] + " " * (match.end() - begin) + text[match.end() :]
    text = _SAME_SCALE.sub(lambda match: " " if (float(match["low"]), float(match["high"])) == (low, high) else match[0], text)
    return re.sub(r"[(\[]\s*[)\]]", " ", text), other


def _found(text: str) -> Iterator[_Found]:
    for match in _BRACKETS.finditer(text):
        yield _Found(float(match["n"]), None, 0, match.end())
    for match in _LABELLED.finditer(text):
        before = (match["before"] or "").lower()
        is_final = before in _FINAL or match["label"].lower() in _FINAL
        own = bool(not before or _NEUTRAL.fullmatch(before) or match.start("label") == 0)
        clause = _clause(text, match.start())
        if not _NOT_MINE.fullmatch(before) and not _DOUBT.search(clause) and not _OTHERS.search(clause):
            yield from _kept(text, match, 0 if is_final else 1 if own else 2)
    for match in _OWN.finditer(text):
        about = _clause(text, match.start()) + match["middle"]
        if not _DOUBT.search(about) and not _OTHERS.search(match["middle"]) and not _DOUBT.search(_rest(text, match.end())[:40]):
            yield from _kept(text, match, 1)
    for pattern in (_ANSWER, _EARNED, _CONCLUDED, _FRACTION):
        for match in pattern.finditer(text):
            clause = _clause(text, match.start())
            clause = clause.rpartition(":")[2] if pattern is _FRACTION else clause
            counts = pattern is _FRACTION and clause.strip() and (_COUNTS.search(clause) or not _GIVES.search(clause))
            if not counts and not _DOUBT.search(clause) and not _OTHERS.search(clause.rpartition(",")[2]):
                yield from _kept(text, match, 2 if pattern is _FRACTION and clause.strip() else 1)
    first_place = re.match(r"[ \t\n\u2022|>:(\[\"'-]*", text)
    for match in _LINE.finditer(text):
        first = first_place is not None and match.start("n") <= first_place.end()
        if first or not match["rest"].strip(" \t.!)]|\"'") or _OF.fullmatch(match["rest"].strip(" .!")):
            yield from _kept(text, match, 1, is_line=True)


def _kept(text: str, match: re.Match[str], rank: int, *, is_line: bool = False) -> Iterator[_Found]:
    """The number of a match, unless what follows makes it something else than a verdict."""
    end = match.end("n")
    of = _OF.match(text, end)
    end = of.end() if of is not None else end
    if is_line and of is not None and re.match(r"\s*of\b", text[match.end("n") :]):
        return
    top = float(of["top"]) if of is not None and of["top"] else None
    begins_list = (
        is_line
        and re.match(r"[.)]\s*\w", text[end:])
        and (match["n"] == "1" or re.search(rf"(?m)^\s*{int(float(match['n'])) - 1}[.)]", text))
    )
    if (_MAY_FOLLOW.match(text, end) and not begins_list) or _more(text, end):
        yield _Found(float(match["n"]), top, rank, end)


def _more(text: str, end: int) -> bool:
    """Whether a second number follows that makes a range, a change or a choice of the first."""
    match = _AND_MORE.match(text, end)
    if match is None:
        return False
    return bool(match["tight"]) or not match["noun"]


def _clause(text: str, start: int) -> str:
    """What stands before a place in its sentence."""
    begin = max(0, start - _LONGEST_CLAUSE)
    ends = [match.end() for match in _SENTENCE_END.finditer(text, begin, start)]
    return text[ends[-1] if ends else begin : start]


def _rest(text: str, end: int) -> str:
    """What stands behind a place in its sentence."""
    match = _SENTENCE_END.search(text, end, end + _LONGEST_CLAUSE)
    return text[end : match.start() if match else end + _LONGEST_CLAUSE]
