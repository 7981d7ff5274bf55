"""What an answer denies, takes back, leaves open or declares to be its answer: one reading for texts and numbers.

The words directly before and after a place decide. Denied: `not Paris`, `wrong: Paris`, `Paris? No.`, `Paris is out`, `❌ Paris`. Taken
back: `I first thought Paris, but it is Lyon`, `Paris, sorry, Lyon`. Left open: `Paris or Lyon`, `Paris (maybe Lyon)`, `one of Paris and
Lyon`. Two denials are none (`no doubt it is Paris`, `nothing other than Paris`). An answer that declares its answer (`Final answer:`,
`\\boxed{}`, `<answer>`, a JSON key) is what it declares; what it works out before, strikes through or thinks aloud does not count.
"""

import re
from collections.abc import Callable
from typing import Final, Literal

from evalsuite.core.import_ref import lazy_pattern

Doubt = Literal["", "negated", "hedged"]

# How far a doubt may be from its place.
REACH: Final = 96
# How many places near words of denial are read.
MOST_READ: Final = 2000
_OPEN: Final = r"[\"'*_`(\[{«“„‘ \t]*(?:US(?=\$)|(?:USD|EUR|GBP) )?[-+]?[$€£¥]?[-+]?"
_CLOSE: Final = r"[\"'*_`)\]}»”’]*"
_WORD: Final = r"[^\s,.;:!?()]+"
_END: Final = r"(?=[\"'*_`]*[ \t]*(?:[)\].,;!}\n]|$))"

# The one list of words that deny. What is said to be one of these is not the answer.
_WRONG: Final = (
    r"(?:incorrect|not (?:correct|right|true)|wrong|false|untrue|mistaken|invalid|inaccurate|erroneous|impossible|unlikely"
    r"|improbable|doubtful"
    r"|ruled out|rejected|excluded|discarded|eliminated|dismissed|disqualified|refuted|denied|out of the question"
    r"|(?:wrong|incorrect|mistaken|false|erroneous)ly)"
)
_NOT: Final = r"(?:\b(?:not|cannot|never|neither|nor|hardly|scarcely|no longer|by no means)|n['’]t)"
_EXCLUDING: Final = (
    r"\b(?:(?:(?:any|every)(?:thing|one|body|where)|all) but|instead of|rather (?:[^\s,.;]+ ){0,3}than|except(?:ing)?(?: for)?"
    r"|(?:other|apart|aside) (?:than|from)|besides|save for|barring|(?:with the )?exception of|excl\.|lack(?:s|ing)?|missing:?"
    r"|exclud(?:e[sd]?|ing)|reject(?:s|ed|ing)?|discard(?:s|ed|ing)?|eliminat(?:e[sd]?|ing)|dismiss(?:e[sd]|ing)?"
    r"|omit(?:s|ted|ting)?|skip(?:s|ped|ping)?|ignor(?:e[sd]?|ing)|rul(?:e[sd]?|ing) out|replac(?:e[sd]?|ing)|scratch|take back"
    r"|(?:far|different|differs?) from|the opposite of|unlikely (?:to be|that it(?:['’]s| is| was)))"
)
# Words between a denial and what it denies: `not even in Paris`, `don't think that it's Paris`.
_LINK: Final = (
    r"(?:an?|the|any|go(?:es|ing)?|like|about|=|be|been|being|have|has|had|is|was|were|it|it['’]s|he|she|this|that|that['’]s"
    r"|to|in|at|on|by|from|of|with"
    r"|for|named|called|so much"
    r"|even|quite|likely|equals?|think|believe|say|answer|mean|pick|choose|use|include|contain|get|see|find|want|correct"
    r"|right|true|\w+ one|(?!only|simply|merely|surprisingly)\w+ly)"
)
_NOUN: Final = r"(?:answer|guess|option|choice|result|value|one|candidate|solution|count|mistake|error)(?:e?s)?"
_DENIED_BEFORE: Final = lazy_pattern(
    rf"(?:{_NOT}(?: {_LINK})*|\b(?:do not|don['’]t|never) (?!doubt){_WORD}(?: {_LINK})*|\b(?:no|without)(?: (?:an?|any|the))?"
    rf"|\bnothing (?:like|to do with)|\bno (?:(?:way|case|circumstances?)(?: {_LINK})*|(?:rows?|records?|entry|entries|data"
    rf"|sign|evidence|mention"
    rf"|match)(?: {_LINK})+)|\bnobody (?:named|called)|{_EXCLUDING}(?: (?:an?|the))?"
    r"|\bdoubt(?:s|ed)? (?:that )?(?:it(?:['’]s| is| was)|this is)"
    rf"|(?<!\bis )(?<!\bwas )(?<!\bam )(?<!\bare )(?<!['’]s )\b{_WRONG}(?: {_NOUN})?[ ]?[:=]"
    rf"|\b{_WRONG}(?: {_NOUN})?(?: {_LINK})*(?: would be)?"
    rf"|\b(?:mistake|error)(?: {_LINK})+|(?<!\bor ){_NOT} ?:|!=|≠|<>|¬|(?<![\w!])!)"
    rf"{_OPEN}\Z",
    re.IGNORECASE,
)
# A list that is denied as a whole: `neither Paris nor Lyon`, `except Paris and Lyon`.
_ITEM: Final = rf" (?!but\b|so\b|because\b|then\b|is\b|are\b){_WORD}"
_LIST_BEFORE: Final = lazy_pattern(
    rf"(?:(?:{_NOT}|\bwithout|{_EXCLUDING})(?:{_ITEM}){{1,4}}(?:,(?:{_ITEM}){{1,3}}){{0,4}},? (?:or|nor|and)"
    rf"|\bneither(?:{_ITEM}){{1,3}}(?:,(?:{_ITEM}){{1,3}}){{0,4}},){_OPEN}\Z",
    re.IGNORECASE,
)
# A denial of a denial.
_DENIED_TWICE: Final = lazy_pattern(
    r"(?:\b(?:no|not|never|nothing|none|nobody|nowhere|without|beyond|cannot|why)|n['’]t)"
    r"(?: (?:an?|any|(?:any|some)(?:thing|one|body|where)|the|be|been|have|is|it|one|possible|go))*\s*\Z",
    re.IGNORECASE,
)
_ADVERB: Final = r"(?: (?:\w+ly|of course|just|simply|very|quite|also|in fact|a))*"
_RIGHT: Final = (
    r"(?:(?:correct|right|true|valid|accurate|it|possible|plausible|likely|acceptable|an? (?:valid |correct |right |possible )?"
    rf"{_NOUN}|(?:an )?option|the|my|one of|what you)\b|{_CLOSE}{_END})"
)
_IS: Final = (
    r"(?:['’]s| (?:is|was|are|were|(?:has|have|had) been|seems?|looks?|sounds?|(?:would|must|might|could|can|will|may|should) be"
    r"|turned out to be|proved))"
)
_CAN: Final = r"(?:does|do|did|will|wo|would|ca|can|could|should|must)"
_DENIED_BEHIND: Final = lazy_pattern(
    rf"{_CLOSE}(?:"
    # `Paris is wrong`, `Paris, which is wrong`, `Paris. That's wrong`
    rf"(?:\s?[-–—,.;:?!]*\s(?:which|that|this|but (?:that|this|it)))?{_IS}{_ADVERB} (?:"
    rf"(?:(?:the|an?) )?(?:(?!not\b|never\b|n['’]t)\w+ )?(?:{_WRONG}(?! to\b)|mistake|error|misconception|(?:out|off){_END})(?!\w)"
    rf"|(?:not|never) {_RIGHT}|not{_END}|no (?:longer|{_NOUN})\b|anything but\b)"
    rf"| (?:is|was|are|were)n['’]t(?: {_RIGHT}|{_END})"
    rf"| {_CAN}(?:not| not|n['’]t|['’]t) be (?:{_RIGHT}|chosen\b|picked\b|selected\b|used\b)"
    rf"| {_CAN}(?:n['’]t| not|not) (?:\w+ly )?(?:fit|match|qualify|apply|count|work|do|satisfy|meet|win|make sense|belong|suffice)\b"
    rf"| never (?:is|was) {_RIGHT}"
    # `Paris? No.`
    r"|\s?\?[\s?!\"'*_`)]*(?:let me\b[^.?!…\n]{0,30}[.!…]+ )?"
    r"(?:(?:that(?:['’]s| is)|it(?:['’]s| is)|absolutely|certainly|definitely|clearly|actually|probably|sadly|wait|hm+|er"
    r"|well|of course|on reflection)[,.…]* ){0,2}"
    r"(?:no(?:pe)?\b(?! (?:doubt|question|idea|one|other))|nah\b|never\b|hardly\b|on reflection\b|wrong\b|incorrect\b|false\b"
    r"|impossible\b|i doubt"
    rf"|i do(?:n['’]t| not) (?:think|believe)|i['’]m afraid not|not (?:really|at all|quite|likely|so|it|a chance)\b|not{_END})"
    # `Paris: wrong`, `Paris (incorrect)`, `Paris, no.`, `Paris: no, because it is small`
    r"|(?: ?[:=–—,→] ?| --?>? ?| ?[(\[]x?[)\]]? ?)[\"'*_`]*(?:\w+ly |of course )?"
    rf"(?:no|nope|no way|not|not (?:correct|right|true|it|really|likely|the answer)|never|{_WRONG}(?: {_NOUN})?){_END}"
    # `Paris. No wait, Lyon`, `Paris, sorry, Lyon`
    r"|[ .,;:…!(–—-]+(?:no,? wait|wait|sorry|oops|scratch that|strike that|hold on|on second thoughts?|i mean|correction|edit"
    r"|my (?:mistake|bad)|i was (?:wrong|mistaken)"
    r"|i stand corrected|let me correct(?: myself| that)?|er|uh)\b"
    r"[ ,:.…–—-]*\s(?!let|yes|for|about|if|that|no \w|i (?!mean)|to\b)\w"
    rf"|[.…]+ ?no{_END}| no, {_WORD}(?: {_WORD})? yes\b"
    r"|[.,;…(–—-]+ ?(?:in fact|actually),? (?!(?:the|an?|it['’]?s?|its|in|is|yes|right|correct|that|this|not|one|i)\b)\w"
    r"|[.;…]+ (?:in fact|actually), an? \w"
    r"|[.,;…–—-]+ ?(?:in fact|actually),? (?:it(?:['’]s| is) (?!(?:the|an?|in|right|correct|not|also|true|one)\b)"
    r"|the (?:answer|right|correct))"
    r"|[.…!]+ no, (?!not\b)\w"
    r"|,? but (?:it(?:['’]s| is| was) (?:actually|really|in fact)\b|the (?:right|correct|real|true|actual)\b|actually\b"
    r"|in fact\b|i was wrong\b|wrong\b)"
    rf"| was (?:my|the|our|an?) (?:first|initial|original|early|earlier) (?:thought|idea|assumption|impression|{_NOUN})\b"
    rf"| is (?:the|an?|my) (?:obvious|natural|common|first|popular|usual) (?:thought|idea|{_NOUN}),? but\b"
    r"| is what (?:i|we|people|many|most) (?:thought|think|said|say|had)\b"
    r"| (?:at first|initially|originally|to begin with)(?:[,;.] | but )\w"
    r")",
    re.IGNORECASE,
)
# What was said earlier: denied where something else is said now.
_SAID: Final = (
    r"(?:th(?:ought|ink)|believed?|assumed?|guess(?:ed)?|sa(?:id|y)|answer(?:ed)?|wrote|got|had|count(?:ed)?|found|calculated"
    r"|computed|expected?)"
)
_THAT_IT_IS: Final = r"(?: (?:that|it['’]s|(?:it|this)(?: (?:is|was|would be|might be))?|of))*"
_TAKEN_BACK: Final = lazy_pattern(
    rf"(?:\b(?:first|initially|originally|at first|previously|formerly|earlier),? (?:i |we )?(?:had )?{_SAID}{_THAT_IT_IS}"
    rf"|\b(?:initially|originally|previously|formerly|at first|used to be|would have been|was:)"
    rf"|\b(?:first|initial|original|previous|old|earlier) (?:thought|idea|assumption|estimate|{_NOUN})(?: (?:is|was)|:| \()"
    r"|\b(?:changed|corrected|updated|revised|moved|switched)(?: (?:it|this|my answer))? from"
    rf"){_OPEN}\Z",
    re.IGNORECASE,
)
_SAID_BEFORE: Final = lazy_pattern(
    rf"\b(?:{_SAID}(?<!\bth.nk)(?<!\bsay)|(?:might|could|may|would|going to|to|almost|people|many|most|some|they|others) (?:\w+ )?{_SAID}"
    rf"|(?:seem(?:s|ed)|appear(?:s|ed)|used) to be|look(?:s|ed) like"
    rf"|(?:obvious|natural|common|usual) {_NOUN}(?: (?:is|was|would be))?){_THAT_IT_IS}{_OPEN}\Z",
    re.IGNORECASE,
)
_SAID_NOW: Final = lazy_pattern(
    rf"{_CLOSE}(?: {_WORD}){{0,3}}(?:,? (?:but|yet) (?!i(?:['’]m| am| cannot| can)\b|not\b|it(?:['’]s| is) (?:not|hard"
    rf"|difficult|un\w+|only|just|my|possible|close)\b)"
    r"|[;,.] (?:it(?:['’]s| is)|the (?:right|correct|real|true|answer)|now|actually|however)\b)",
    re.IGNORECASE,
)
# Words and signs without which nothing near them is denied.
_CUE: Final = lazy_pattern(
    r"n['’]t\b|\b(?:no|nope|nah|not|never|neither|nor|nobody|nothing|cannot|hardly|scarcely|without|but|instead|rather|except\w*"
    r"|other|apart|aside|besides"
    r"|save|barring|excl|lack\w*|missing|far|differ\w*|opposite|unlikely|improbable|doubt\w*|wrong\w*|incorrect\w*|false\w*"
    r"|untrue|mistake\w*"
    r"|errors?|misconception|invalid|inaccurate|erroneous\w*|impossible|out|off|exclud\w+|reject\w*|discard\w*|eliminat\w+"
    r"|dismiss\w*|disqualified"
    r"|refuted|denied|omit\w*|skip\w*|ignor\w+|rul(?:e|es|ed|ing)|replac\w+|first|initial\w*|original\w*|previous\w*|formerly"
    r"|earlier|old|used|begin"
    r"|would|was|from|wait|sorry|oops|scratch|strike|hold|back|thoughts?|mean|corrected|correction|correct|edit|my|er|uh"
    r"|actually|fact|now|however"
    r"|yet|right|reflection|what)\b|!=|≠|<>|¬|!(?=[\w\"'])|[❌❎✗✘✖⛔🚫👎]|\[ \]|☐"
)
_CROSSES: Final = "❌❎✗✘✖⛔🚫👎"
_MARKS: Final = lazy_pattern(f"[{_CROSSES}✅✔✓☑👍]")
_AROUND_MARK: Final = " \t*_\"'`(:.,[|→-"
# A mark behind one of these begins its part of the line.
_WORD_ENDS: Final = ("\n", ":", ";", ",", "-", "|", ".")
_UNCHECKED: Final = lazy_pattern(rf"(?:\[ \]|☐){_OPEN}\Z")
# A gold that is a denial itself is not denied by one behind it: `No, never.`
_NEGATIVE: Final = frozenset({"no", "not", "none", "never", "nope", "false", "wrong", "incorrect"})


class Denials:
    """Which places of a text it denies or takes back. Asked in order, the text is searched for words of denial once.

    After `MOST_READ` places near such words, every further one near a word is denied without being read: a text of a megabyte that says
    `not 42` again and again must not take a minute.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._cue = -REACH
        self._searched = self._n_read = 0

    def __contains__(self, place: tuple[int, int]) -> bool:
        """Whether the text denies what is between a start and an end."""
        start, end = place
        if self._last_cue(start - REACH, end + REACH) < start - REACH:
            return False
        self._n_read += 1
        return self._n_read > MOST_READ or _is_denied(self._text, start, end)

    def _last_cue(self, start: int, end: int) -> int:
        """Where about the last word of denial before an end begins, if that is after the start."""
        if self._cue < start or self._searched < end:
            at = max(0, start, self._searched - _LONGEST_CUE if start <= self._searched <= end else 0)
            # Ignoring case would make the search five times slower.
            for match in _CUE.finditer(self._text[at:end].lower()):
                self._cue = at + match.start()
            self._searched = end
        return self._cue


# No word of denial is longer.
_LONGEST_CUE: Final = 16


def _is_denied(text: str, start: int, end: int) -> bool:
    before, behind = text[max(0, start - REACH) : start], text[end : end + REACH]
    denied = _DENIED_BEFORE.search(before) or _LIST_BEFORE.search(before)
    if denied is not None and not _DENIED_TWICE.search(before[: denied.start()]) and not _is_number_sign(before, text[start : start + 1]):
        return True
    if _UNCHECKED.search(before) or _is_crossed(before, behind) or _TAKEN_BACK.search(before):
        return True
    if _DENIED_BEHIND.match(behind) and text[start:end].lower() not in _NEGATIVE:
        return True
    return _SAID_BEFORE.search(before) is not None and _SAID_NOW.match(behind) is not None


def _is_number_sign(before: str, first: str) -> bool:
    """Whether `no` before a digit is short for number: `no 8`."""
    return first.isdigit() and before.rstrip()[-3:].lower().strip() == "no"


def _is_crossed(before: str, behind: str) -> bool:
    """Whether a cross belongs to the place between the two: before it where marks begin the lines, else behind it."""
    mark, next_mark = before.rstrip(_AROUND_MARK + "\n")[-1:], behind.lstrip(_AROUND_MARK)[:1]
    first = _MARKS.search(before)
    if first is not None and not before[: first.start()].rstrip(" \t*_").endswith(_WORD_ENDS) and before[: first.start()].strip():
        return next_mark != "" and next_mark in _CROSSES
    if first is not None and _MARKS.fullmatch(mark):
        return mark in _CROSSES
    return next_mark != "" and next_mark in _CROSSES


# Alternatives, and how long a list of them may be.
_LONGEST_LIST: Final = 400
_ELSE: Final = r"(?:else |perhaps |maybe |possibly |probably |was it |even |it's |it is |it could be |is it ){0,3}"
_OR: Final = r"(?:(?:and/)?x?or|(?<=[,;]\s)else|vs\.?|versus|otherwise|alternatively:?|failing that|if not|unless(?: it['’]?s?(?: is)?)?)"
_OR_BEFORE: Final = lazy_pattern(
    rf"(?:[^\s,(]+[,.;?!]*\s[(\[]?{_OR}|\w[\"'*_`)]*\s/),?\s(?:(?:less|more) likely,?\s)?{_ELSE}{_OPEN}\Z", re.IGNORECASE
)
_NO_OTHER: Final = (
    r"(?:so|not|at least|take|less(?!,? likely)|more(?! likely)|another|other|others|in other words|main|two|something|whatever"
    r"|similar|better|worse|later|sooner)\b"
)
# `Lyon` and `Nice` after `Paris, Lyon or Nice`; `or so` and `or not` are no alternatives.
_OR_BEHIND: Final = lazy_pattern(
    rf"{_CLOSE}(?:\s(?:perhaps|maybe|possibly|probably))?(?:\s/|[?!.…]{{0,3}}(?:,\s(?!(?:the|an?|its|which|who"
    rf"|that)\b){_WORD}(?:\s{_WORD}){{0,2}}){{0,8}}[,;.–—-]{{0,3}}\s[-–—….\s]{{0,4}}"
    rf"[(\[]?{_OR},?)\s(?!{_NO_OTHER})(?:(?:less|more) likely,?\s)?{_ELSE}{_OPEN}(?P<other>{_WORD})"
    rf"|{_CLOSE}\sif\s[^.;\n]{{1,50}},\s(?P<other_case>{_WORD})[^.;\n]{{0,30}}\sotherwise\b",
    re.IGNORECASE,
)
_MAYBE: Final = r"(?:maybe|perhaps|possibly|(?:could|might|may)(?: also)? be)"
_MAYBES: Final = lazy_pattern(rf"\b{_MAYBE}\b", re.IGNORECASE)
_MAYBE_BEFORE: Final = lazy_pattern(rf"\b{_MAYBE}{_OPEN}\Z", re.IGNORECASE)
# `Lyon (maybe Paris)`
_ASIDE_BEFORE: Final = lazy_pattern(rf"\w\s?[(\[](?:or |and )?{_MAYBE}{_OPEN}\Z", re.IGNORECASE)
_MAYBE_BEHIND: Final = lazy_pattern(rf"{_CLOSE},?\s{_MAYBE}\b(?!\s\w)", re.IGNORECASE)
_OTHER_MAYBE: Final = lazy_pattern(
    rf"{_CLOSE}(?:[.,;]?\s(?:[-–—/]+\s)?(?:(?:and|or|but|though|although|while) )?|\s?[(\[])(?:it |this )?{_MAYBE}\s"
    rf"(?!(?:the|an?|with|without|because|due|also|even|not|wrong|more|less|right|better|as|in|at|for)\b){_OPEN}(?P<other>\w+)",
    re.IGNORECASE,
)
_QUESTION_BEHIND: Final = lazy_pattern(rf"{_CLOSE}\s?\?+\s{_OPEN}(?P<other>{_WORD})(?:\s{_WORD}){{0,2}}{_CLOSE}\s?\?", re.IGNORECASE)
_QUESTION_BEFORE: Final = lazy_pattern(
    rf"(?:^|[.!?]\s)(?!(?:what|which|who|where|when|how|why|is|are|was|does|do|did)\b){_WORD}(?:\s{_WORD}){{0,2}}\s?\?+\s{_OPEN}\Z",
    re.IGNORECASE,
)
# `one of Paris and Lyon`, `between Paris and Lyon`, `candidates: Paris, Lyon`
_CHOICE: Final = lazy_pattern(
    rf"(?:\b(?:one|either|any) of:?|\bbetween|\b(?:undecided|unsure|options?|candidates?|choices?"
    rf"|possibilities):)(?:\s(?:these|those|the following)(?:\s\w+)?:?)?"
    rf"(?P<others>(?:{_ITEM}){{1,3}}(?:,(?:{_ITEM}){{1,3}}){{0,4}}(?:,|,?\sand|,?\sor))?{_OPEN}\Z",
    re.IGNORECASE,
)
_LISTED_BEHIND: Final = lazy_pattern(rf"{_CLOSE}(?:,|,?\sand|,?\sor)\s{_OPEN}(?P<other>{_WORD})", re.IGNORECASE)


def is_left_open(text: str, start: int, end: int, is_gold: Callable[[int], bool], ends_with_gold: Callable[[str], bool]) -> bool:
    """Whether a folded answer names what is at this place as one of several alternatives that are not all gold.

    Args:
        text: the answer.
        start: where the place begins.
        end: where it ends.
        is_gold: whether a gold begins at a position.
        ends_with_gold: whether a text ends with a gold.
    """
    before = text[max(0, start - REACH) : start]
    for pattern in (_OR_BEHIND, _OTHER_MAYBE, _QUESTION_BEHIND):
        other = pattern.match(text, end, end + _LONGEST_LIST)
        if other is not None and not is_gold(other.start(other.lastgroup or 0)):
            return True
    alternative = _OR_BEFORE.search(before)
    if alternative is not None and not ends_with_gold(re.split(rf"\s[(\[]?(?:{_OR}|/),?\s", before)[-2].rstrip(", .;?!")):
        return True
    choice = _CHOICE.search(before)
    if choice is not None:
        listed = _LISTED_BEHIND.match(text, end)
        if choice["others"] or (listed is not None and not is_gold(listed.start("other"))):
            return True
    is_question = text[end : end + 4].lstrip("\"'*_`) ").startswith("?")
    if _ASIDE_BEFORE.search(before) or (is_question and _QUESTION_BEFORE.search(before)):
        return True
    is_maybe = _MAYBE_BEFORE.search(before) or _MAYBE_BEHIND.match(text, end)
    return is_maybe is not None and _n_maybes(text) > 1


def _n_maybes(text: str) -> int:
    """How many of the words `maybe`, `perhaps` ... a text contains, 2 for several."""
    first = _MAYBES.search(text)
    return 0 if first is None else 1 if _MAYBES.search(text, first.end()) is None else 2


# What an answer declares.
_STRUCK: Final = lazy_pattern(r"~~[^~\n]{1,80}~~|<(del|s|strike)>[^<\n]{1,80}</\1>", re.IGNORECASE)
_THOUGHT: Final = lazy_pattern(r"</(?:think|thinking|thought|reasoning|scratchpad)>", re.IGNORECASE)
_DECLARED: Final = lazy_pattern(
    r"<answer>(?P<tag>[^<]{1,400})</answer>"
    r"|\\boxed\{(?P<box>(?:[^{}\n]|\{[^{}\n]{0,100}\}){1,200})\}"
    r"|[\"'](?:final_?)?answer[\"']\s?:\s?(?P<value>\"(?:[^\"\\\n]|\\.){0,400}\"|'(?:[^'\\\n]|\\.){0,400}'|[^\s\"',}\[{]+)"
    r"|^####[^\S\n]+(?P<hash>[^\n]+)\s*\Z"
    r"|(?:\bfinal answer\b|(?:^|[.!?]\s)\W{0,12}(?:so |thus |therefore |hence |the |my )*(?:correct |right )?answer\b)"
    r"(?=[\s*_`]*(?:[:=–—-]|is\b|\d|\*\*|\Z)|\n)(?P<rest>)",
    re.IGNORECASE | re.MULTILINE,
)


def declared_answer(answer: str) -> str:
    """The part of an answer that counts: what it declares as its answer where it does, else all of it but what is struck through."""
    text = answer
    if "~~" in text or "</" in text:
        text = _STRUCK.sub(" ", text)
        behind_thoughts = _THOUGHT.split(text)[-1]
        text = behind_thoughts if behind_thoughts.strip() else text
    if not ("\\boxed" in text or "####" in text or "answer" in text.lower()):
        return text
    last: re.Match[str] | None = None
    for match in _DECLARED.finditer(text):
        last = match
    if last is None:
        return text
    if last["rest"] is None:
        said = last[last.lastgroup or 0]
    else:
        line, _, _ = text[last.end() :].partition("\n")
        is_whole = any(map(str.isalnum, line)) and not line.rstrip(" \t*_").endswith(":")
        said = line if is_whole else text[last.end() :]
    return said if any(map(str.isalnum, said)) else text
