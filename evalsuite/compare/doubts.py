"""What an answer denies, takes back, leaves open or declares to be its answer: one reading for texts and numbers.

The clause around a place decides. Denied: what an odd number of words denies (`not Paris`, `Paris was not chosen`;
`none other than Paris` has two), what follows a word of comparison (`than Paris`, `next to Paris`, `a suburb of Paris`), what is asked or
open (`Is it Paris?`, `unclear whether it is Paris`), `Paris? No.`, `❌ Paris`. Taken back: `I first thought Paris, but it is Lyon`,
`Paris, sorry, Lyon`. Left open: `Paris or Lyon`, `Paris (maybe Lyon)`, `one of Paris and Lyon`. An answer that declares its answer (`Final
answer:`, `so the winner is`, `\\boxed{}`, `<answer>`, a JSON key) is what it declares; what it works out before, strikes through or thinks
aloud does not count.
"""

import re
from collections.abc import Callable
from itertools import dropwhile, takewhile
from typing import Final, Literal

from evalsuite.core.import_ref import lazy_pattern

Doubt = Literal["", "negated", "hedged"]

# How far a doubt may be from its place.
REACH: Final = 160
# How many places near words of denial are read.
MOST_READ: Final = 2000
OPEN: Final = r"[\"'*_`(\[{«“„‘ \t]*(?:US(?=\$)|(?:USD|EUR|GBP) )?[-+]?[$€£¥]?[-+]?"
CLOSE: Final = r"[\"'*_`)\]}»”’]*"
_WORD: Final = r"[^\s,.;:!?()]+"
_END: Final = r"(?=[\"'*_`]*[ \t]*(?:[)\].,;!}\n]|$))"


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What is said to be one of these is not the answer.
WRONG_WORDS: Final = word_set("""incorrect wrong false untrue mistaken invalid inaccurate erroneous impossible unlikely improbable
    doubtful rejected excluded discarded eliminated dismissed disqualified refuted denied dropped removed absent missing unrelated
    irrelevant myth possibility contender bogus fake fabricated fictional hoax typo obsolete outdated deprecated superseded stale
    placeholder decoy distractor trap unconfirmed unverified unproven ineligible void cancelled canceled withdrawn nonexistent
    inapplicable unavailable loser runner-up incorrectly wrongly mistakenly falsely erroneously""")
# Each is one denial; two in one clause are none (`none other than Paris`).
_NOT: Final = word_set("""not never no none nobody nothing neither nor nowhere without cannot hardly scarcely barely rarely seldom nicht
    kein keine keinen nie niemals weder pas jamais aucun sans ohne außer sauf excepto ni nunca sin não niet geen inte ikke не нет ни""")
# What follows one of these is not the answer but something that the answer is compared with, lies apart from or is chosen before.
_APART: Final = word_set("""than over unlike minus less outside beyond against near nearby besides except excepting excluding excludes
    barring opposite toward towards regarding concerning despite lacks lacking missing around behind beneath alongside amid beat beats
    defeat defeats defeated surpasses surpassed outsold outsells outranks outranked outperforms outperformed overtook overtakes exceeds
    exceeded precedes preceded avoid avoids avoided reject rejects rejected rejecting discard discards discarded discarding dismiss
    dismissed omit omits omitted omitting skip skips skipped skipping ignore ignores ignored ignoring eliminate eliminated eliminating
    exclude excluded replace replaces replaced replacing scratch denies denied forget remove removes removing drop drops dropping delete
    deletes deleting trumps tops leads statt anstatt bordering before after""")
# The same with a preposition behind it: `ahead of Paris`, `next to Paris`, `followed by Paris`, `a suburb of Paris`.
RELATIONS: Final = word_set("""rival competitor subsidiary sister brother sibling mother father parent son daughter child wife husband
    spouse cousin nephew niece uncle aunt friend colleague coworker neighbour neighbor boss manager supervisor assistant secretary
    deputy successor predecessor suburb outskirts vicinity capital opponent partner client supplier owner founder ceo president mayor
    employee student teacher pupil author fan critic twin namesake variant fork clone border edge half portion branch enemy ally""")
_APART_WITH: Final = RELATIONS | word_set("""instead ahead short front place lieu north south east west independent irrespective regardless
    exception apart aside away far different differs differ distinct separate distinguished next close prior preferred opposed compared
    comparable similar adjacent contrary contrast alternative reports competes confused followed preceded succeeded mistaken rid
    opposite ported migrated fail fails failed failing refuse refuses refused declines declined except save ruled rule ruling wrong
    nothing further farther edged edges knocked cry vez invece anstelle plutôt such""")
# Labels of what is no answer: `"runner_up": "Paris"`.
_KEYS: Final = word_set("""alt runner-up runner_up second previous old former loser distractor distractors alternative alternatives
    excluded rejected other others competitor rival""")
# What was before: `down from 80`.
_CHANGED: Final = word_set("up down dropped rose fell increased decreased grew reduced changed went improved declined")
# What follows one of these is open to the end of its clause: `it is unclear whether it is Paris`, `if Paris counts`.
_OPENS: Final = word_set("if unless whether wish suppose supposing assuming unclear uncertain unsure unknown unable")
# Denials that may be denied in turn at any distance: `there is no doubt that it is Paris`.
_DOUBT: Final = word_set("doubt doubts doubted doubtful unlikely improbable unconvinced")
# Verbs and nouns of belief: a denial of one reaches as far: `I cannot confirm that it is Paris`, `no evidence that it was Paris`.
_BELIEF: Final = word_set("""think believe know say tell confirm verify determine decide establish guarantee conclude claim mean sure
    certain clear known true convinced evident proven evidence proof indication sign signs record records mention mentions reason way
    case circumstances match trace see find""")
_IS: Final = word_set("is was are were equals leaves gives makes there it's that's he's she's")
_ENDS: Final = word_set("""but so however sondern mais pero sino aber because therefore thus hence and or then while , ; : ( ) [ ] | - — –
    … ⇒ → -> / ? ! .""") | {"\n"}
_PREPOSITIONS: Final = word_set("of to from with by for than out about de di von que as")
_ALL: Final = word_set(
    "any every anything everything anyone everyone anybody everybody anywhere everywhere all nothing none nobody no nowhere"
)
# Behind a denial these make it none.
_HARMLESS: Final = word_set("""only just merely simply question exception contest wonder problem further hesitation surprisingly
    unexpectedly surprise mistake denying deny""")
_FINE: Final = word_set("bad beaten surpassed matched exceeded miss lack far disputed worse competitors alone")
_AUXILIARIES: Final = word_set("""is was are were does did do has had have can could will would should may might must ca wo seems seem
    looks turned came proved never cannot""")
_BEATEN: Final = word_set("""outsold outranked outperformed outscored outnumbered overtaken beaten defeated surpassed edged eliminated
    replaced succeeded preceded topped bested passed exceeded eclipsed trailed""")
CONCESSIONS: Final = word_set("while whereas although though")
_LOSES: Final = word_set("lost loses lose fails failed fail trails trailed lags lagged misses missed withdrew fell short")
_MOST: Final = word_set("most least fewest lowest highest")
_PREDICATES: Final = _AUXILIARIES | _LOSES
_DENYING: Final = WRONG_WORDS | _LOSES | _DOUBT
_ASIDE: Final = frozenset("\"'*_`“”„«»‘’") | word_set("also just quite really simply very")
BRACKETS: Final = frozenset("\"'*_`“”„«»‘’([{")
_SIGNS: Final = frozenset("-+$€£¥")
TOKENS: Final = lazy_pattern(r"\w+(?:['.-]\w+)*|->|[^\w\s]|\n")
_NOUN: Final = r"(?:answer|guess|option|choice|result|value|one|candidate|solution|count|mistake|error)(?:e?s)?"
_NOUNS: Final = word_set("""answer answers guess guesses option options choice choices result results value values one candidate candidates
    solution count mistake error""")
_LINKS: Final = word_set("a an the to that it it's this is was be would say answer choose pick call think claim")
_WRONG_PAIRS: Final = (["not", "correct"], ["not", "right"], ["not", "true"], ["ruled", "out"])
_OFF_BEFORE: Final = lazy_pattern(
    r"(?:(?<!\bor )\bnot ?:|\bexcl\.|\btake back|\bin (?:which|that) case"
    r"|\bnot to be confused with|\bnone of(?: these| them| the following)?:[^.;\n]*"
    rf"|\b(?:almost|nearly|(?:needs?|yet|about|due|waiting) to be)|!=|≠|<>|¬|(?<![\w!])!) ?{OPEN}\Z",
    re.IGNORECASE,
)
_LISTS: Final = word_set("except excepting excluding besides")
_NO_ITEMS: Final = word_set("but so because then is are . ; : ? !") | {"\n"}
_LONGEST_DENIED: Final = 20
_ADVERB: Final = r"(?: (?:\w+ly|of course|just|simply|very|quite|also|in fact|a))*"
_RIGHT: Final = (
    r"(?:(?:correct|right|true|valid|accurate|it|possible|plausible|likely|acceptable"
    rf"|an? (?!mistake|error)(?:valid |correct |right |possible )?{_NOUN}|(?:an )?option|the|my|one of|what you)\b|{CLOSE}{_END})"
)
_BEING: Final = (
    r"(?:['’]s| (?:is|was|are|were|(?:has|have|had) been|seems?|looks?|sounds?|(?:would|must|might|could|can|will|may|should) be"
    r"|turned out to be|proved))"
)
_CAN: Final = r"(?:does|do|did|will|wo|would|ca|can|could|should|must)"
_WHICH: Final = r"(?:\s?[-–—,.;:?!]*\s(?:which|that|this|but (?:that|this|it))|,)?"
_APART_BEHIND: Final = r"(?: ?[:=–—,→] ?| --?>? ?| ?[(\[]x?[)\]]? ?)[\"'*_`]*(?:\w+ly |of course )?"
# `Paris is wrong`, `Paris, which is wrong`, `Paris. That's wrong`, `Paris: wrong`, `Paris (incorrect)`
_CALLED_BEHIND: Final = lazy_pattern(
    rf"{CLOSE}(?:{_WHICH}{_BEING}(?: (?:of course|in fact|just|simply|very|quite|also))* (?:(?:the|an?) )?"
    r"(?P<words>(?:\w+ly )?(?:(?:the|an?) )?[\w-]+(?: [\w-]+)?)"
    rf"|{_APART_BEHIND}(?P<label>[\w-]+)(?: {_NOUN})?{_END})",
    re.IGNORECASE,
)
_MISTAKES: Final = WRONG_WORDS | word_set("mistake error misconception")
_DENIED_BEHIND: Final = lazy_pattern(
    rf"{CLOSE}(?:"
    rf"{_WHICH}{_BEING}{_ADVERB} (?:ruled out\b|out of the question|too (?:high|low|many|few|much|little)(?!\w)|(?:out|off){_END}"
    rf"|no (?:longer|{_NOUN})\b|anything but\b)"
    # `Paris is not right`, `Paris cannot be chosen`
    rf"|(?:{_WHICH}{_BEING}{_ADVERB} (?:not|never)| (?:is|was|are|were)n['’]t| {_CAN}(?:not| not|n['’]t|['’]t) be| never (?:is|was))"
    rf"(?: {_RIGHT}| (?:chosen|picked|selected|used)\b|{_END})"
    rf"| {_CAN}(?:n['’]t| not|not) (?:\w+ly )?(?:fit|match|qualify|apply|count|work|do|satisfy|meet|win|make sense|belong|suffice)\b"
    # `Paris? No.`
    r"|\s?\?[\s?!\"'*_`)]*(?:let me\b[^.?!…\n]{0,30}[.!…]+ )?"
    r"(?:(?:that(?:['’]s| is)|it(?:['’]s| is)|absolutely|certainly|definitely|clearly|actually|probably|sadly|wait|hm+|er"
    r"|well|of course|on reflection)[,.…]* ){0,2}"
    r"(?:no(?:pe)?\b(?! (?:doubt|question|idea|one|other))|nah\b|never\b|hardly\b|on reflection\b|wrong\b|incorrect\b|false\b"
    r"|impossible\b|i doubt"
    rf"|i do(?:n['’]t| not) (?:think|believe)|i['’]m afraid not|not (?:really|at all|quite|likely|so|it|a chance)\b|not{_END})"
    # `Paris, no.`, `Paris: no, because it is small`
    rf"|{_APART_BEHIND}(?:no|nope|no way|not|not (?:correct|right|true|it|really|likely|the answer)|never|ruled out"
    rf"|out of the question){_END}"
    # `Paris. No wait, Lyon`, `Paris, sorry, Lyon`
    r"|[ .,;:…!?(\n–—-]+(?:no,? wait|wait|sorry|oops|scratch that|strike that|hold on|never ?mind|on second thoughts?|i mean"
    r"|correction|edit|my (?:mistake|bad)|i was (?:wrong|mistaken)"
    r"|i stand corrected|let me correct(?: myself| that)?|er|uh)\b"
    r"[ ,:.…–—-]*\s(?!let|yes|for|about|if|that|no \w|i (?!mean|mis|miss|count|forg|made|over|had|was)|to\b)\w"
    rf"|[.…]+ ?no{_END}| no, {_WORD}(?: {_WORD})? yes\b"
    r"|[.,;…(–—-]+ ?(?:in fact|actually),? (?!(?:the|an?|it['’]?s?|its|in|is|yes|right|correct|that|this|not|one|i)\b)\w"
    r"|[.;…]+ (?:in fact|actually), an? \w"
    r"|[.,;…–—-]+ ?(?:in fact|actually),? (?:it(?:['’]s| is) (?!(?:the|an?|in|right|correct|not|also|true|one)\b)"
    r"|the (?:answer|right|correct))"
    r"|[.…!]+ no, (?!not\b)\w"
    r"|,? but (?:(?:it )?(?:is |has |are )?(?:now|since|no longer)\b|it(?:['’]s| is| was) (?:actually|really|in fact)\b"
    r"|the (?:right|correct|real|true|actual)\b|actually\b|in fact\b|i was wrong\b|wrong\b)"
    rf"| was (?:my|the|our|an?) (?:first|initial|original|early|earlier) (?:thought|idea|assumption|impression|{_NOUN})\b"
    rf"| is (?:the|an?|my) (?:obvious|natural|common|first|popular|usual) (?:thought|idea|{_NOUN}),? but\b"
    r"| is what (?:i|we|people|many|most) (?:thought|think|said|say|had)\b"
    r"| (?:at first|initially|originally|to begin with)(?:[,;.] | but )\w|,? (?:unless|only if|until)\b(?! i['’]m| i am)"
    r"|,? (?:though|but|although) i can(?:not|['’]t) (?:exclude|rule out)\b"
    r"| (?:could|should|would|might) have\b| ?[:=–—] ?[\"']?(?:n/a|none|null|false)\b"
    r")",
    re.IGNORECASE,
)
# What was said earlier: denied where something else is said now.
_SAID: Final = (
    r"(?:th(?:ought|ink)|believed?|assumed?|guess(?:ed)?|sa(?:id|ys?)|told|answer(?:ed)?|wrote|got|had|count(?:ed)?|found|calculated"
    r"|computed|expected?)"
)
_THAT_IT_IS: Final = r"(?: (?:that|it['’]s|(?:it|this)(?: (?:is|was|would be|might be))?|of))*"
_TAKEN_BACK: Final = lazy_pattern(
    rf"(?:\b(?:first|initially|originally|at first|previously|formerly|earlier),? (?:i |we )?(?:had )?{_SAID}{_THAT_IT_IS}"
    rf"|\b(?:initially|originally|previously|formerly|at first(?: glance| sight)?|naively|on paper|used to be|would have been|was:"
    r"|tempting to (?:say|think|answer|pick|choose)|(?:you|one) (?:might|may|would|could) (?:think|say|expect|assume|guess|believe)"
    r"(?: that)?(?: it(?:['’]s| is))?)"
    rf"|\b(?:first|initial|original|previous|old|earlier) (?:thought|idea|assumption|estimate|{_NOUN})(?: (?:is|was)|:| \()"
    r"|\b(?:changed|corrected|updated|revised|moved|switched)(?: (?:it|this|my answer))? from"
    rf"){OPEN}\Z",
    re.IGNORECASE,
)
_SAID_BEFORE: Final = lazy_pattern(
    rf"\b(?:{_SAID}(?<!\bth.nk)(?<!\bsay)|(?:might|could|may|would|going to|to|almost|people|many|most|some|they|others) (?:\w+ )?{_SAID}"
    rf"|(?:some|many|most|others) \w+ {_SAID}|(?:would|could|might|should) be|(?:seem(?:s|ed)|appear(?:s|ed)|used) to be|look(?:s|ed) like"
    rf"|(?:obvious|natural|common|usual) {_NOUN}(?: (?:is|was|would be))?){_THAT_IT_IS}{OPEN}\Z",
    re.IGNORECASE,
)
_SAID_NOW: Final = lazy_pattern(
    rf"{CLOSE}(?: {_WORD}){{0,3}}(?:,? (?:but|yet) (?!i(?:['’]m| am| cannot| can)\b|not\b|it(?:['’]s| is) (?:not|hard"
    rf"|difficult|un\w+|only|just|my|possible|close)\b)"
    r"|[;,.] (?:it(?:['’]s| is)|the (?:right|correct|real|true|answer)|now|actually|however"
    r"|others|the \w+ (?:is|was|says?|shows?|returned|gave))\b)",
    re.IGNORECASE,
)
_CROSSES: Final = "❌❎✗✘✖⛔🚫👎"
_MARKS: Final = lazy_pattern(f"[{_CROSSES}✅✔✓☑👍]")
_AROUND_MARK: Final = " \t*_\"'`(:.,[|→-"
# A mark behind one of these begins its part of the line.
_WORD_ENDS: Final = ("\n", ":", ";", ",", "-", "|", ".")
_UNCHECKED: Final = lazy_pattern(rf"(?:\[ \]|☐){OPEN}\Z")
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
            for match in _CUE.finditer(self._text[at:end].lower()):
                if match["word"] is None or match["word"] in _CUE_WORDS:
                    self._cue = at + match.start()
            self._searched = end
        return self._cue


# Words and signs without which nothing near them is denied; none is longer than the limit.
_LONGEST_CUE: Final = 16
_CUE_WORDS = _NOT | WRONG_WORDS | _APART | _APART_WITH | _CHANGED | _OPENS | _DOUBT | _LOSES | _BEATEN | _KEYS
_CUE_WORDS |= word_set("""nope nah but first initial initially original originally previous previously formerly earlier old used would was
    wait sorry oops strike hold back thought thoughts mean correct corrected correction edit my er uh actually fact now yet right
    reflection what error excl case almost nearly due told wish others too any every waiting need needs mistake misconception
    second third fourth last runner considered merely only just before after since until till by prior through bar""")
_CUE: Final = lazy_pattern(
    r"(?P<word>\w+)|(?<=n)['’]t\b|(?<=\d) to\b|(?<=about) to be\b|[-–—] (?=\d)|!=|≠|<>|¬|!(?=[\w\"'])|[?❌❎✗✘✖⛔🚫👎☐]|\[ \]"
)
# An answer that begins with a word of these names the other one only to deny it: `No, although the summary says yes`.
OPPOSITE: Final = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
# A question that is not answered with yes, and a place behind the first where another one is first.
_ASKED_BEFORE: Final = lazy_pattern(
    r"(?:^|[.!?;:\n(\"“] ?|\b(?:or|and|so|but) )(?:is|was|are|were|isn['’]t|did|does|do|could|can|might|may|would|should|will|has|have"
    r"|what about|how about|what if)\s(?!be\b)[^.?!\n]*\Z",
    re.IGNORECASE,
)
_ASKED_BEHIND: Final = lazy_pattern(
    r"[^.?!\n]{0,60}\?(?![\s\"'*_`)]*(?:yes|yep|yeah|correct|indeed|right|exactly|sure|absolutely|definitely|it is)\b)", re.IGNORECASE
)
_SECOND: Final = lazy_pattern(
    rf"{CLOSE} (?:came|finish(?:ed|es)|is|was|ranks?|ranked|placed)(?: (?:in|an?|the|close|distant|my|(?P<only>only|merely|just)))*"
    r" (?:(?:second|third|fourth|last|2nd|3rd|runner-?up)|(?(only)(?:considered|mentioned|listed|guess|example|placeholder)|(?!)))\b",
    re.IGNORECASE,
)
_FIRST: Final = lazy_pattern(r"\b(?:won|wins|winner|leads|led|first|tops|ahead)\b", re.IGNORECASE)
_POSSESSIVE: Final = lazy_pattern(rf"['’]s? (?:\w+ )?(?:{'|'.join(sorted(RELATIONS))})s?\b", re.IGNORECASE)
_DATE_BEFORE: Final = lazy_pattern(
    r"(?:\b(?:before|after|since|until|till|by|prior to)(?: the)?|\d (?:to|until|through|-|–|—)) \Z", re.IGNORECASE
)
_DATE_BEHIND: Final = lazy_pattern(
    r" (?:to|until|through|-|–|—|and) (?:[a-z]{3,9} )?\d| (?:at the latest|or (?:later|earlier|before|after))\b",
    re.IGNORECASE,
)
_HAS_DATE: Final = lazy_pattern(r"(?=.*\d)(?=.*[-/ ])")


def _is_denied(text: str, start: int, end: int) -> bool:
    before, behind, place = text[max(0, start - REACH) : start], text[end : end + REACH], text[start:end].lower()
    words, off = _words_of(before, place), _OFF_BEFORE.search(before)
    at = _wrong_word(words) if off is None else len(_words_of(before[: off.start()], ""))
    at = _denied_list(words) if at is None else at
    if _denies_before(words, before, place) if at is None else not _denies_before(words[:at], before, ""):
        return True
    if _UNCHECKED.search(before) or _is_crossed(before, behind) or _TAKEN_BACK.search(before):
        return True
    if _ASKED_BEFORE.search(before) and _ASKED_BEHIND.match(behind):
        return True
    if _HAS_DATE.match(place) and (_DATE_BEFORE.search(before) or _DATE_BEHIND.match(behind)):
        return True
    if place not in _NEGATIVE and (_DENIED_BEHIND.match(behind) or _is_called_wrong(behind)):
        return True
    if not place[:1].isdigit() and _is_text_denied(text, place, behind):
        return True
    return _SAID_BEFORE.search(before) is not None and _SAID_NOW.match(behind) is not None


def _is_called_wrong(behind: str) -> bool:
    """Whether a text begins by calling what is before it wrong: ` is wrong`, `: incorrect`, but not ` is impossible to miss`."""
    match = _CALLED_BEHIND.match(behind)
    words = (match["words"] or match["label"]).lower().split() if match else []
    is_to = words[1:] == ["to"] or (match is not None and behind.startswith(" to ", match.end()))
    return bool(words) and words[0] not in ("not", "never") and not is_to and not _MISTAKES.isdisjoint(words)


def _is_text_denied(text: str, place: str, behind: str) -> bool:
    """What denies a text, but not a number: `42 were not sent` can be the answer to how many were not."""
    opposite = OPPOSITE.get(place)
    if place == "no" and re.match(
        r" (?:idea|answer|data|information|results?|rows?|records?|doubt|one|clue|way|evidence|matter|problem)\b", behind, re.I
    ):
        return True
    if opposite and (
        re.match(rf"\W*(?:and|or|but also) {opposite}\b", behind, re.I)
        or re.match(rf"\W*{opposite}[,.;:!]", text, re.I)
        or re.match(rf"\s?\?\W*{opposite}\b", behind, re.I)
    ):
        return True
    if _POSSESSIVE.match(behind) or ((second := _SECOND.match(behind)) and (second["only"] or _FIRST.search(text))):
        return True
    return place not in _NEGATIVE and _denies_behind(behind)


def _words_of(before: str, place: str) -> list[str]:
    """The words before a place without the brackets, quotes and signs that belong to it."""
    words = TOKENS.findall(before.lower().replace("’", "'"))
    while words and (words[-1] in BRACKETS or (words[-1] in _SIGNS and (place[:1].isdigit() or before[-1] in _SIGNS))):
        words.pop()
    return words


def _wrong_word(words: list[str]) -> int | None:
    """Where the word begins that calls what follows wrong (`Wrong:`, `the wrong answer is`), None if there is none."""
    end, is_label = len(words), words[-1:] in ([":"], ["="])
    while end and (words[end - 1] in _LINKS if not is_label else end == len(words)):
        end -= 1
    if words[end - 1 : end] in (["mistake"], ["error"]) and not is_label and end < len(words):
        return end - 1
    end -= end > 0 and words[end - 1] in _NOUNS
    if words[end - 1 : end] and words[end - 1] in WRONG_WORDS:
        start = end - 1
    elif words[max(0, end - 2) : end] in _WRONG_PAIRS:
        start = end - 2
    else:
        return None
    is_said = is_label and start > 0 and (words[start - 1] in ("is", "was", "am", "are") or words[start - 1].endswith("'s"))
    return None if is_said else start


def _denied_list(words: list[str]) -> int | None:
    """Where a list begins that is denied as a whole: `neither Paris nor`, `except Paris and`; None if there is none."""
    if not words or words[-1] not in ("or", "nor", "and", ","):
        return None
    for k in range(len(words) - 2, max(-1, len(words) - _LONGEST_DENIED), -1):
        if words[k] in _NO_ITEMS:
            return None
        is_denial = words[k] == "neither" if words[-1] == "," else _is_negative(words[k]) or words[k] in _LISTS
        if is_denial and k < len(words) - 2 and words[k] != "nor":
            return k
    return None


def _denies_before(words: list[str], before: str, place: str) -> bool:
    """Whether the clause of words that ends before a place denies it."""
    is_number, name = place[:1].isdigit(), place.split()[:1]
    is_bracketed = before.rstrip("\"'*_`“”„«»‘’ -+$€£¥")[-1:] in tuple("([{")
    if (is_number and words[-1:] == ["no"]) or (is_bracketed and words[-1:] == ["none"]):
        return False  # `no 8` is number 8, and `none (0)` is 0
    if words[-1:] == [":"] and not _KEYS.isdisjoint(words[-3:-1]) and "no" not in words:
        return True
    for k in range(len(words) - 1, -1, -1):
        is_said_again = [words[k]] == name or (is_number and words[k].isdigit())
        if _ends_clause(words, k) or (k < len(words) - 1 and (is_bracketed or is_said_again)):
            return _is_denial(words[k + 1 :], is_number=is_number)
    return _is_denial(words, is_number=is_number)


def _is_denial(words: list[str], *, is_number: bool) -> bool:
    """Whether an odd number of the words of a clause deny what follows it and reach so far."""
    n_denials, is_reached, k = 0, True, len(words)
    while k > 0:
        k -= 1
        word, behind = words[k], words[k + 1 : k + 5]
        is_negative = _is_negative(word) and _HARMLESS.isdisjoint(behind[:2])
        if word in _OPENS or (is_negative and not _BELIEF.isdisjoint(behind)):
            return True
        if word in _DOUBT or _is_all_but(words, k):
            n_denials += 1
        elif is_negative:
            n_denials += is_reached or not _DOUBT.isdisjoint(behind) or (k == 0 and word not in ("not", "without"))
        elif is_reached and len(words) - k <= _FAR + 1 and (n_words := _n_words_apart(words, k, is_number=is_number)):
            n_denials += 1
            k -= n_words - 1
        is_reached = is_reached and not (word in _IS or word.endswith("n't"))
    return n_denials % 2 == 1


# How many words may be between a word of comparison and what it compares.
_FAR: Final = 2


def _ends_clause(words: list[str], k: int) -> bool:
    """Whether a clause ends at a word: not at the `so` of `so much`, nor at the `but` of `all but`."""
    if _is_all_but(words, k):
        return False
    return words[k] in _ENDS and not (words[k] == "so" and words[k + 1 : k + 2] == ["much"])


def _is_all_but(words: list[str], k: int) -> bool:
    """Whether a word is the `but` of `all but` or of `any day but`."""
    return words[k] in ("but", "bar") and not _ALL.isdisjoint(words[max(0, k - 2) : k])


def _n_words_apart(words: list[str], k: int, *, is_number: bool) -> int:
    """How many words at a place set what follows apart from the answer: 1 for `than`, 2 for `ahead of`, 0 for none."""
    before = words[k - 1] if k else ""
    if words[k] in _PREPOSITIONS and before in _APART_WITH:
        return 2
    if words[k] == "from" and k == len(words) - 1 and before in _CHANGED:
        return 2
    is_object = _PREPOSITIONS.isdisjoint(words[k + 1 :])
    if words[k] in ("before", "after") and any(word.endswith("ing") for word in words[k + 1 :]):
        return 0
    return int(words[k] in _APART and is_object and not (is_number and words[k] in ("minus", "around", "near", "before", "after")))


def _is_negative(word: str) -> bool:
    return word in _NOT or word.endswith("n't")


def _denies_behind(behind: str) -> bool:
    """Whether the clause that begins here denies what is before it: `was not selected`, `never lost` is no denial."""
    words = TOKENS.findall(behind.lower().replace("’", "'"))
    words = list(takewhile(lambda word: word not in _ENDS, words))
    words = list(dropwhile(lambda word: word in _ASIDE or word.endswith("ly"), words))
    if words[:1] in (["almost"], ["nearly"]):
        return True
    if not words or (words[0] not in _PREDICATES and not words[0].endswith("n't")):
        return False
    is_negated = any(map(_is_negative, words[:3]))
    if "by" in words[:5] and not _BEATEN.isdisjoint(words[:4]):
        return not is_negated
    is_about = (words[0] in ("has", "have", "had") and "been" not in words[:3]) or not _MOST.isdisjoint(words[:4])
    if is_about or (is_negated and not _HARMLESS.isdisjoint(words[1:3])):
        return False  # `has no returns` and `lost the most customers` say something about the answer
    n_denials = is_negated + sum(word in _DENYING for word in words[:6])
    n_denials += n_denials and sum(word in _FINE for word in words[:6])
    return n_denials % 2 == 1


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
_OR: Final = (
    r"(?:(?:and/)?x?or|oder|ou|eller|o|(?<=[,;]\s)else|vs\.?|versus|или|otherwise|alternatively:?|failing that|if not"
    r"|unless(?: it['’]?s?(?: is)?)?)"
)
_OR_BEFORE: Final = lazy_pattern(
    rf"(?:[^\s,(]+[,.;?!]*\s[(\[]?{_OR}|\w[\"'*_`)]*\s/),?\s(?:(?:less|more) likely,?\s)?{_ELSE}{OPEN}\Z", re.IGNORECASE
)
# `if not Paris, then Lyon`, `55 % Paris, 45 % Lyon`
_ELSE_BEFORE: Final = lazy_pattern(rf"\bif (?:it(?:['’]s| is) )?not [^,.;\n]{{1,40}},(?: then)? {OPEN}\Z", re.IGNORECASE)
_SHARE_BEFORE: Final = lazy_pattern(rf"\d ?%(?: chance| likely)?(?: of| for)? ?{OPEN}\Z")
_NO_OTHER: Final = (
    r"(?:so|not|at least|take|less(?!,? likely)|more(?! likely)|another|other|others|in other words|main|two|something|whatever"
    r"|similar|better|worse|later|sooner)\b"
)
# `Lyon` and `Nice` after `Paris, Lyon or Nice`; `or so` and `or not` are no alternatives.
_OR_BEHIND: Final = lazy_pattern(
    rf"{CLOSE}(?:\s(?:perhaps|maybe|possibly|probably))?(?:\s/|\s?\|(?=[^|\n]*\?)|[?!.…]{{0,3}}(?:,\s(?!(?:the|an?|its|which|who"
    rf"|that)\b){_WORD}(?:\s{_WORD}){{0,2}}){{0,8}}(?:,? right\?+)?[,;.–—-]{{0,3}}\s[-–—….\s]{{0,4}}"
    rf"[(\[]?{_OR},?)\s(?!{_NO_OTHER})(?:(?:less|more) likely,?\s)?{_ELSE}{OPEN}(?P<other>{_WORD})"
    rf"|{CLOSE}\sif\s[^.;\n]{{1,50}},\s(?P<other_case>{_WORD})[^.;\n]{{0,30}}\sotherwise\b",
    re.IGNORECASE,
)
_MAYBE: Final = r"(?:maybe|perhaps|possibly|(?:could|might|may)(?: also)? be)"
_MAYBES: Final = lazy_pattern(rf"\b{_MAYBE}\b", re.IGNORECASE)
_MAYBE_BEFORE: Final = lazy_pattern(rf"\b{_MAYBE}{OPEN}\Z", re.IGNORECASE)
# `Lyon (maybe Paris)`
_ASIDE_BEFORE: Final = lazy_pattern(rf"\w\s?[(\[](?:or |and )?{_MAYBE}{OPEN}\Z", re.IGNORECASE)
_MAYBE_BEHIND: Final = lazy_pattern(rf"{CLOSE},?\s{_MAYBE}\b(?!\s\w)", re.IGNORECASE)
_OTHER_MAYBE: Final = lazy_pattern(
    rf"{CLOSE}(?:[.,;]?\s(?:[-–—/]+\s)?(?:(?:and|or|but|though|although|while) )?|\s?[(\[])(?:it |this )?{_MAYBE}\s"
    rf"(?!(?:the|an?|with|without|because|due|also|even|not|wrong|more|less|right|better|as|in|at|for)\b){OPEN}(?P<other>\w+)",
    re.IGNORECASE,
)
_OTHER_COULD: Final = lazy_pattern(
    rf"[^.;!?\n]{{0,30}},? (?:though|but|although|while|or|and) {OPEN}(?P<other>{_WORD})(?: {_WORD}){{0,2}}"
    r" (?:could|might|may|can)(?: also| well| equally)? be\b",
    re.IGNORECASE,
)
_QUESTION_BEHIND: Final = lazy_pattern(rf"{CLOSE}\s?\?+\s{OPEN}(?P<other>{_WORD})(?:\s{_WORD}){{0,2}}{CLOSE}\s?\?", re.IGNORECASE)
_QUESTION_BEFORE: Final = lazy_pattern(
    rf"(?:^|[.!?]\s)(?!(?:what|which|who|where|when|how|why|is|are|was|does|do|did)\b){_WORD}(?:\s{_WORD}){{0,2}}\s?\?+\s{OPEN}\Z",
    re.IGNORECASE,
)
_ITEM: Final = rf" (?!but\b|so\b|because\b|then\b|is\b|are\b){_WORD}"
# `one of Paris and Lyon`, `between Paris and Lyon`, `candidates: Paris, Lyon`
_CHOICE: Final = lazy_pattern(
    rf"(?:\b(?:one|either|any) of:?|\bbetween|\b(?:undecided|unsure|options?|candidates?|choices?"
    rf"|possibilities):)(?:\s(?:these|those|the following)(?:\s\w+)?:?)?"
    rf"(?P<others>(?:{_ITEM}){{1,3}}(?:,(?:{_ITEM}){{1,3}}){{0,4}}(?:,|,?\sand|,?\sor))?{OPEN}\Z",
    re.IGNORECASE,
)
_LISTED_BEHIND: Final = lazy_pattern(rf"{CLOSE}(?:,|,?\sand|,?\sor|\s\|)\s{OPEN}(?P<other>{_WORD})", re.IGNORECASE)


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
    for pattern in (_OR_BEHIND, _OTHER_MAYBE, _OTHER_COULD, _QUESTION_BEHIND):
        other = pattern.match(text, end, end + _LONGEST_LIST)
        if other is not None and not is_gold(other.start(other.lastgroup or 0)):
            return True
    alternative = _OR_BEFORE.search(before)
    if alternative is not None and not ends_with_gold(re.split(rf"\s[(\[]?(?:{_OR}|/),?\s", before)[-2].rstrip(", .;?!")):
        return True
    choice = _CHOICE.search(before)
    if choice is not None:
        next_item = _LISTED_BEHIND.match(text, end)
        if choice["others"] or (next_item is not None and not is_gold(next_item.start("other"))):
            return True
    is_question = text[end : end + 4].lstrip("\"'*_`) ").startswith("?")
    if _ELSE_BEFORE.search(before) or (text.count("%") > 1 and _SHARE_BEFORE.search(before)):
        return True
    if _ASIDE_BEFORE.search(before) or (is_question and _QUESTION_BEFORE.search(before)):
        return True
    is_maybe = _MAYBE_BEFORE.search(before) or _MAYBE_BEHIND.match(text, end)
    return is_maybe is not None and _n_maybes(text) > 1


def _n_maybes(text: str) -> int:
    """How many of the words `maybe`, `perhaps` ... a text contains, 2 for several."""
    first = _MAYBES.search(text)
    return 0 if first is None else 1 if _MAYBES.search(text, first.end()) is None else 2


# How far around a number is read: no identifier and no run of underscores is longer.
NEAR: Final = 64
CURRENCY: Final = r"[$€£¥]|US\$|USD|EUR|GBP"
# A number after these words is a bound: `more than 42`, `<42`; `<42>` is the number, `<b>42` and `-> 42` too.
_BOUND_BEFORE: Final = lazy_pattern(
    r"(?:\b(?:almost|nearly|barely|(?:short|shy) of|not (?:exactly|quite))[^\S\n]+"
    r"|\b(?:more|less|fewer|greater|higher|lower|larger|smaller) than(?: or equal to)?[^\S\n]+"
    r"|\b(?:at (?:the )?(?:least|most)|over|under|above|below|beyond|past|(?:lower|upper) (?:bound|limit)(?: of| is|:)|up to"
    r"|exceed(?:s|ed|ing)?|starting (?:at|from)|(?<!\d[^\S\n])(?:max|min)(?:imum|\.)?"
    r"|(?:minimum|maximum|upwards|north|south|excess) of|as (?:many|much|few|little|high|low) as)[^\S\n]+"
    r"|\b(?:(?:mehr|weniger) als|mindestens|minst|höchstens|plus de|moins de|au (?:moins|plus)"
    r"|m[áa]s de|menos de|al menos|pi[ùu] di|meno di)[^\S\n]+"
    r"|(?:более|больше|менее|меньше)[^\S\n]+|(?:超过|超過|大于|小于|不到|至少|最多|(?<!\d)(?<!\d )±|[\u2264\u2265]|<=|<(?!-)"
    rf"|(?<![\w\"'/=-])>=?)\s?)[-+]?(?:{CURRENCY})?\s?$",
    re.IGNORECASE,
)
_TIME_BOUND: Final = lazy_pattern(r"\b(?:before|after|prior to)\s$", re.IGNORECASE)
_YEAR: Final = lazy_pattern(r"(?:1[5-9]|2[01])\d\d(?!\d)")
_BOUND_BEHIND: Final = lazy_pattern(
    r"\s?\+(?!\s?[\d(])|\s?(?:[<>]=?|[\u2264\u2265])\s?[a-z]\b|(?:\s[^\W\d]+)?\splus\s*$|(?:\s[^\W\d]+)?\s(?:or (?:more|less"
    r"|fewer|greater|higher|lower|above|below|over|under)"
    r"|at (?:least|most|(?:a )?minimum|(?:a )?maximum)|minimum|maximum|max|onwards?|upwards?)\b",
    re.IGNORECASE,
)


def is_bound(text: str, start: int, end: int) -> bool:
    """Whether a number is a bound; `<42>` is the number, and `> 42` in a text of several lines a quotation."""
    if _BOUND_BEHIND.match(text, end):
        return True
    before = text[max(0, start - NEAR) : start]
    if not ends_with(before, ".:<>=\u2264\u2265±"):
        return False
    if _YEAR.match(text, start) and _TIME_BOUND.search(before):
        return True
    return (
        _BOUND_BEFORE.search(before) is not None
        and text[end : end + 1] != ">"
        and not (before.endswith(("\n> ", "\n>")) or ("\n" in text and before in ("> ", ">")))
    )


def ends_with(before: str, signs: str) -> bool:
    """Whether a letter or one of the signs is the last thing before the sign and currency of a number: only there a pattern is searched."""
    last = before.rstrip("-+$€£¥ \t\u00a0")[-1:]
    return last.isalpha() or (last != "" and last in signs)
