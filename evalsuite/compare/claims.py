"""What an answer in text says about gold: asserts, denies, takes back, leaves open or only mentions it. One reading for texts and numbers.

Denied by the clause around it: what an odd number of words denies, what follows a word of comparison (`a suburb of Paris`),
what is asked or open, `❌ Paris`. Taken back: `I first thought Paris, but it is Lyon`. Left open: `Paris or Lyon`, `Paris (maybe Lyon)`.
An answer claims what it names with a verb or a label (`so it is Paris`, `Result: Paris`) or says the most of. If it claims something else
of gold's kind (a name with a capital or with digits, as gold is), a gold that it only mentions is not its answer. Nor is one in an answer
that has none (`I could not run WHERE city = 'Paris'`), unless gold is named on its own (`Paris. I could not check 2019.`).
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from itertools import dropwhile, takewhile
from typing import Final, Literal

from evalsuite.core.import_ref import lazy_pattern

Doubt = Literal["", "negated", "hedged"]

# How far a doubt may be from its place, and a list of alternatives from its first item.
REACH: Final = 160
_LONGEST_LIST: Final = 400
# How far around a number is read: no identifier and no run of underscores is longer.
NEAR: Final = 64
# How many places near words of denial, and claims, concessions and words of a sentence, are read.
_MOST_READ, _MOST = 2000, 400
CURRENCY: Final = r"[$€£¥]|US\$|USD|EUR|GBP"
_OPEN: Final = r"[\"'*_`(\[{«“„‘ \t]*(?:US(?=\$)|(?:USD|EUR|GBP) )?[-+]?[$€£¥]?[-+]?"
_CLOSE: Final = r"[\"'*_`)\]}»”’]*"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What is said to be one of these is not the answer.
_WRONG: Final = _words("""incorrect wrong false untrue mistaken invalid inaccurate erroneous impossible unlikely improbable doubtful
    rejected excluded discarded eliminated dismissed disqualified refuted denied dropped removed absent missing unrelated irrelevant myth
    possibility contender bogus fake fabricated fictional hoax typo obsolete outdated deprecated superseded stale placeholder decoy
    distractor trap unconfirmed unverified unproven ineligible void cancelled canceled withdrawn nonexistent inapplicable unavailable loser
    runner-up incorrectly wrongly mistakenly falsely erroneously""")
# Each is one denial; two in one clause are none (`none other than Paris`).
_NOT: Final = _words("""not never no none nobody nothing neither nor nowhere without cannot hardly scarcely barely rarely seldom nicht kein
    keine keinen nie niemals weder pas jamais aucun sans ohne außer sauf excepto ni nunca sin não niet geen inte ikke не нет ни""")
# What follows one of these is not the answer but something that the answer is compared with, lies apart from or is chosen before.
_APART: Final = _words("""than over unlike minus less outside beyond against near nearby besides except excepting excluding excludes barring
    opposite toward towards regarding concerning despite lacks lacking missing around behind beneath alongside amid beat beats defeat
    defeats defeated surpasses surpassed outsold outsells outranks outranked outperforms outperformed overtook overtakes exceeds exceeded
    precedes preceded avoid avoids avoided reject rejects rejected rejecting discard discards discarded discarding dismiss dismissed omit
    omits omitted omitting skip skips skipped skipping ignore ignores ignored ignoring eliminate eliminated eliminating exclude excluded
    replace replaces replaced replacing scratch denies denied forget remove removes removing drop drops dropping delete deletes deleting
    trumps tops leads statt anstatt bordering before after""")
# The same with a preposition behind it: `ahead of Paris`, `next to Paris`, `followed by Paris`, `a suburb of Paris`.
_RELATIONS: Final = _words("""rival competitor subsidiary sister brother sibling mother father parent son daughter child wife husband spouse
    cousin nephew niece uncle aunt friend colleague coworker neighbour neighbor boss manager supervisor assistant secretary deputy successor
    predecessor suburb outskirts vicinity capital opponent partner client supplier owner founder ceo president mayor employee student
    teacher pupil author fan critic twin namesake variant fork clone border edge half portion branch enemy ally""")
_APART_WITH: Final = _RELATIONS | _words("""instead ahead short front place lieu north south east west independent irrespective regardless
    exception apart aside away far different differs differ distinct separate distinguished next close prior preferred opposed compared
    comparable similar adjacent contrary contrast alternative reports competes confused followed preceded succeeded mistaken rid opposite
    ported migrated fail fails failed failing refuse refuses refused declines declined except save ruled rule ruling wrong nothing further
    farther edged edges knocked cry vez invece anstelle plutôt such""")
# Labels of what is no answer: `"runner_up": "Paris"`.
_KEYS: Final = _words("""alt runner-up runner_up second previous old former loser distractor distractors alternative alternatives excluded
    rejected other others competitor rival""")
# What was before: `down from 80`.
_CHANGED: Final = _words("up down dropped rose fell increased decreased grew reduced changed went improved declined corrected revised")
# What follows one of these is open to the end of its clause: `it is unclear whether it is Paris`, `if Paris counts`.
_OPENS: Final = _words("if unless whether wish suppose supposing assuming unclear uncertain unsure unknown unable")
# Denials that may be denied in turn at any distance: `there is no doubt that it is Paris`.
_DOUBT: Final = _words("doubt doubts doubted doubtful unlikely improbable unconvinced")
# Verbs and nouns of belief: a denial of one reaches as far: `I cannot confirm that it is Paris`, `no evidence that it was Paris`.
_BELIEF: Final = _words("""think believe know say tell confirm verify determine decide establish guarantee conclude claim mean sure certain
    clear known true convinced evident proven evidence proof indication sign signs record records mention mentions reason way case
    circumstances match trace see find""")
_IS: Final = _words("is was are were equals leaves gives makes there it's that's he's she's")
_ENDS: Final = _words("""but so however sondern mais pero sino aber because therefore thus hence and or then while , ; : ( ) [ ] | - — – … ⇒
    → -> / ? ! .""") | {"\n"}
_PREPOSITIONS: Final = _words("of to from with by for than out about de di von que as")
_ALL: Final = _words("""any every anything everything anyone everyone anybody everybody anywhere everywhere all nothing none nobody no
    nowhere""")
# Behind a denial these make it none.
_HARMLESS: Final = _words("""only just merely simply question exception contest wonder problem further hesitation surprisingly unexpectedly
    surprise mistake denying deny""")
_FINE: Final = _words("bad beaten surpassed matched exceeded miss lack far disputed worse competitors alone")
_AUXILIARIES: Final = _words("""is was are were does did do has had have can could will would should may might must ca wo seems seem looks
    turned came proved never cannot""")
_BEATEN: Final = _words("""outsold outranked outperformed outscored outnumbered overtaken beaten defeated surpassed edged eliminated
    replaced succeeded preceded topped bested passed exceeded eclipsed trailed""")
_LOSES: Final = _words("lost loses lose fails failed fail trails trailed lags lagged misses missed withdrew fell short")
_DENYING: Final = _WRONG | _LOSES | _DOUBT
_LINKS: Final = _words("a an the to that it it's this is was be would say answer choose pick call think claim")
_BRACKETS: Final = frozenset("\"'*_`“”„«»‘’([{")
_ASIDE: Final = frozenset("\"'*_`“”„«»‘’") | _words("also just quite really simply very")
_NO_ITEMS: Final = _words("but so because then is are . ; : ? !") | {"\n"}
_TOKENS: Final = lazy_pattern(r"\w+(?:['.-]\w+)*|->|[^\w\s]|\n")
# A gold that is a denial itself is not denied by one behind it (`No, never.`), nor one of these by its opposite before it.
_NEGATIVE: Final = frozenset({"no", "not", "none", "never", "nope", "false", "wrong", "incorrect"})
_OPPOSITE: Final = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
# Without one of these words or signs nothing near is denied.
_CUE_WORDS = _NOT | _WRONG | _APART | _APART_WITH | _CHANGED | _OPENS | _DOUBT | _LOSES | _BEATEN | _KEYS
_CUE_WORDS |= _words("""nope nah but first initially initial originally original previously previous formerly earlier old used would was
    wait sorry oops strike hold back thought thoughts mean correct corrected correction edit my er uh actually fact now yet right reflection
    what error excl case almost nearly due told wish others too any every waiting need needs mistake misconception second third fourth last
    runner considered merely only just before after since until till by prior through bar out off partly partially""")
_CUE: Final = lazy_pattern(
    r"(?P<word>[^\W\d]\w*)|(?<=n)['’]t\b|(?<=\d) to\b|(?<=about) to be\b|[-–—] (?=\d)|!=|≠|<>|¬|!(?=[\w\"'])|[?❌❎✗✘✖⛔🚫👎☐]|\[ \]"
)


class _Around:
    """What casts doubt on a place `@`: a pattern before it, one behind it, or both; quotes and signs may be between."""

    def __init__(self, rule: str) -> None:
        before, _, behind = _PART.sub(lambda match: _PARTS[match[1]], rule).partition("@")
        self._before = lazy_pattern(rf"(?:{before}){_OPEN}\Z", re.IGNORECASE) if before else None
        self._behind = lazy_pattern(rf"{_CLOSE}(?:{behind})", re.IGNORECASE) if behind else None

    def find(self, text: str, start: int, end: int, reach: int = REACH, *, before: int = REACH) -> list[re.Match[str]]:
        """The matches around a place, none unless both are there; `before` and `reach` characters of the text are read on its sides."""
        found: list[re.Match[str] | None] = []
        if self._before is not None:
            found.append(self._before.search(text, max(0, start - before), start))
        if self._behind is not None and None not in found:
            found.append(self._behind.match(text, end, end + reach))
        return [match for match in found if match is not None] if None not in found else []


def _lines_of(table: str) -> list[str]:
    """The lines of a table without comments; one that is indented by more goes on."""
    lines = re.sub(r"\n {5,}", "", table).split("\n")
    return [line.removeprefix("    ") for line in lines if line.strip() and not line.startswith("    #")]


def _rules(table: str) -> tuple[_Around, ...]:
    return tuple(map(_Around, _lines_of(table)))


def _pattern(table: str) -> re.Pattern[str]:
    return lazy_pattern(_PART.sub(lambda match: _PARTS[match[1]], "|".join(_lines_of(table))), re.IGNORECASE)


_PART: Final = re.compile(r"\{([A-Z]+)\}")
# Parts of the rules by their names.
_PARTS: Final = {"REFUSED": rf"(?:{'|'.join(sorted(_WRONG))}|mistake|error|misconception)", "RELATION": "|".join(sorted(_RELATIONS))}
for _line in _lines_of(r"""
    WORD [^\s,.;:!?()]+
    END (?=["'*_`]*[ \t]*(?:[)\].,;!}\n]|$))
    NOUN (?:answer|guess|option|choice|result|value|one|candidate|solution|count|mistake|error)(?:e?s)?
    IDEA (?:thought|idea|assumption|impression|estimate|{NOUN})
    ADVERB (?: (?:\w+ly|of course|just|simply|very|quite|also|in fact|a))*
    RIGHT (?:(?:correct|right|true|valid|accurate|it|possible|plausible|likely|acceptable
        |an? (?!mistake|error)(?:\w+ )?{NOUN}|option|the|my|one of|what you)\b|["'*_`)\]}»”’]*{END})
    BEING (?:['’]s| (?:is|was|are|were|(?:has|have|had) been|seems?|looks?|sounds?|(?:would|must|might|could|can|will|may|should) be
        |turned out to be|proved))
    NOT (?:n['’]t| not)
    WILL (?: now)? (?:check|query|run|look|need|compute|start|try)
    CANNOT (?:does|do|did|will|wo|would|ca|can|could|should|must)(?:n['’]t| ?not)
    WHICH (?:\s?[-–—,.;:?!]*\s(?:which|that|this|but (?:that|this|it))|,)?
    LABEL (?: ?[:=–—,→] ?| --?>? ?| ?[(\[]x?[)\]]? ?)["'*_`]*(?:\w+ly |of course )?
    SAID (?:th(?:ought|ink)|believed?|assumed?|guess(?:ed)?|sa(?:id|ys?)|told|answer(?:ed)?|wrote|got|had|count(?:ed)?|found|calculated
        |computed|expected?)
    THATITIS (?: (?:that|it['’]s|(?:it|this)(?: (?:is|was|would be|might be))?|is|was|of))*
    PLACED (?: (?:in|an?|the|at|my|is|being|just|only|merely|close|distant|coming|trailing|following))*
        [ ](?:second|third|fourth|last|2nd|3rd|runner-?up|behind|next|follow(?:s|ing)|trail(?:s|ing))\b
    FIRST \b(?:won|wins|winner|leads|led|first|tops|ahead)\b
    ELSE (?:(?:less|more) likely,?\s)?(?:else |perhaps |maybe |possibly |probably |was it |even |it's |it is |it could be |is it ){0,3}
    OR (?:(?:and/)?x?or|oder|ou|eller|o|(?<=[,;]\s)else|vs\.?|versus|или|otherwise|alternatively:?|failing that|if not
        |unless(?: it['’]?s?(?: is)?)?)
    MAYBE (?:maybe|perhaps|possibly|(?:could|might|may)(?: also)? be)
    ITEM [ ](?!but\b|so\b|because\b|then\b|is\b|are\b){WORD}
    CHOICE (?:\b(?:one|either|any) of:?|\bbetween|\b(?:undecided|unsure|options?|candidates?|choices?|possibilities):)
        (?:\s(?:these|those|the following)(?:\s\w+)?:?)?
"""):
    _PARTS[_line.split(" ")[0]] = _PART.sub(lambda match: _PARTS[match[1]], _line.partition(" ")[2])
_PARTS["OTHER"] = rf"{_OPEN}({_PARTS['WORD']})"

_DENIALS: Final = _rules(r"""
    \[ \]|☐@
    # `I first thought Paris`, `my first guess was Paris`, `corrected from Paris`
    \b(?:initially|originally|at first(?: glance| sight)?|previously|formerly|naively|on paper|used to be|would have been|was:
        |(?:first|initial(?:ly)?|original(?:ly)?|at first|previous(?:ly)?|formerly|old|earlier),? (?:i |we )?(?:had )?
        (?:{SAID}|{IDEA})(?:{THATITIS}|:| \()|tempting to (?:say|think|answer|pick|choose)
        |(?:you|one) (?:might|may|would|could) {SAID}{THATITIS})@
    \b(?:{SAID}(?<!\bth.nk)(?<!\bsay)|(?:might|could|may|would|to|almost|people|many|most|some|they|others)(?: \w+)? {SAID}
        |(?:would|could|might|should) be|(?:seem(?:s|ed)|appear(?:s|ed)|used) to be|look(?:s|ed) like
        |(?:obvious|natural|common|usual) {NOUN}){THATITIS}@(?: {WORD}){0,3}(?:,? (?:but|yet)
        [ ](?!i(?:['’]m| am| cannot| can)\b|not\b|it(?:['’]s| is) (?:not|hard|difficult|un\w+|only|just|my|possible|close)\b)
        |[;,.] (?:it(?:['’]s| is)|the (?:right|correct|real|true|answer)|now|actually|however
        |others|the \w+ (?:is|was|says?|shows?|returned|gave))\b)
    # A question that is not answered with yes.
    (?:^|[.!?;:\n("“] ?|\b(?:or|and|so|but) )(?:is|was|are|were|isn['’]t|did|does|do|could|can|might|may|would|should|will|has|have
        |what about|how about|what if)\s(?!be\b)[^.?!\n]*@[^.?!\n]{0,60}\?
        (?![\s"'*_`)]*(?:yes|yep|yeah|correct|indeed|right|exactly|sure|absolutely|definitely|it is)\b)
""")
# The same where gold is no denial itself.
_DENIALS_OF_OTHERS: Final = _rules(r"""
    # `Paris is wrong`, `Paris, which is wrong`, `Paris. That's a mistake`
    @{WHICH}{BEING}{ADVERB}(?: the| an?)? (?:(?:(?!not\b|never\b|an?\b|the\b)[\w-]+ )?{REFUSED}\b(?! to\b)
        |ruled out\b|out of the question|too (?:high|low|many|few|much|little)(?!\w)|(?:out|off){END}|no (?:longer|{NOUN})\b|anything but\b)
    # `Paris is not right`, `Paris cannot be chosen`
    @(?:{WHICH}{BEING}{ADVERB} (?:not|never)| (?:is|was|are|were)n['’]t| {CANNOT} be| never (?:is|was))
        (?: {RIGHT}| (?:chosen|picked|selected|used)\b|{END})
        | {CANNOT} (?:\w+ly )?(?:fit|match|qualify|apply|count|work|do|satisfy|meet|win|make sense|belong|suffice)\b
    # `Paris? No.`
    @\s?\?[\s?!"'*_`)]*(?:let me\b[^.?!…\n]{0,30}[.!…]+ )?
        (?:(?:that(?:['’]s| is)|it(?:['’]s| is)|\w+ly|wait|hm+|er|well|of course|on reflection)[,.…]* ){0,2}
        (?:no(?:pe)?\b(?! (?:doubt|question|idea|one|other))|nah\b|never\b|hardly\b|on reflection\b|wrong\b|incorrect\b|false\b
        |impossible\b|i doubt|i do(?:n['’]t| not) (?:think|believe)|i['’]m afraid not
        |not (?:really|at all|quite|likely|so|it|a chance)\b|not{END})
    # `Paris, no.`, `Paris: wrong`, `Paris (incorrect)`
    @{LABEL}(?:{REFUSED}(?: {NOUN})?|no|nope|no way|not(?: (?:correct|right|true|it|really|likely|the answer))?|never
        |ruled out|out of the question){END}| ?[:=–—] ?["']?(?:n/a|none|null|false)\b|[.…]+ ?no{END}
        | no, {WORD}(?: {WORD})? yes\b|[.…!]+ no, (?!not\b)\w
    # `Paris. No wait, Lyon`, `Paris, sorry, Lyon`, `Paris, in fact Lyon`, `Paris, but it is now Lyon`
    @[ .,;:…!?(\n–—-]+(?:no,? wait|wait|sorry|oops|scratch that|strike that|hold on|never ?mind|on second thoughts?|i mean
        |correction|edit|my (?:mistake|bad)|i was (?:wrong|mistaken)|i stand corrected|let me correct(?: myself| that)?|er|uh)\b
        [ ,:.…–—-]*\s(?!let|yes|for|about|if|that|no \w|i (?!mean|mis|count|forg|made|over|had|was)|to\b)\w
        |[.,;…(–—-]+ ?(?:in fact|actually),? (?!(?:the(?! (?:answer|right|correct)\b)|in|is|its|yes|right|correct|that|this|not|one|i
        |an?|it(?:['’]?s| is)? (?:the|an?|in|right|correct|not|also|true|one))\b)\w|[.;…]+ (?:in fact|actually), an? \w
        |,? but (?:(?:it )?(?:is |has |are )?(?:now|since|no longer)|(?:it(?:['’]s| is| was) )?(?:actually|really|in fact)
        |the (?:right|correct|real|true|actual)|i was wrong|wrong)\b| was (?:my|the|our|an?) (?:first|initial|original|earl\w+) {IDEA}\b
        | is (?:(?:the|an?|my) (?:obvious|natural|common|first|popular|usual) {IDEA},? but|what (?:i|we|people|many|most) {SAID})\b
        |,? (?:unless|only if|until)\b(?! i['’]m| i am)|,? (?:though|but|although) i can(?:not|['’]t) (?:exclude|rule out)\b
""")
_DENIALS_OF_DATES: Final = _rules(r"""
    (?:\b(?:before|after|since|until|till|by|prior to)(?: the)?|\d (?:to|until|through|-|–|—)) @
    @ (?:to|until|through|-|–|—|and) (?:[a-z]{3,9} )?\d| (?:at the latest|or (?:later|earlier|before|after))\b
""")
_DENIALS_OF_TEXTS: Final = _rules(r"""
    @['’]s? (?:\w+ )?(?:{RELATION})s?\b
    @(?<=\bno) (?:idea|answer|data|information|results?|rows?|records?|doubt|one|clue|way|evidence|matter|problem)\b
    # What another one is ahead of.
    @ (?:came|finish(?:ed|es)|is|was|ranks?|ranked|placed){PLACED}(?=.*{FIRST})
    {FIRST}.*@ (?:came|finish(?:ed|es)|is|was|ranks?|ranked|placed){PLACED}
    @ (?:is|was) (?:only|merely|just) (?:an? )?(?:considered|mentioned|listed|guess|example|placeholder|second|third)\b
""")
# Words without one of which a text in ASCII has no rule of the next two tables.
_ASIDE_WORDS = _words("would could might may where filter having when with that then and its his her their ist est n'est es ausser falsch:")
# A place behind another one, a part of a query, a hypothesis, `its neighbour is Paris`, `that Paris ... is wrong`.
_ASIDES: Final = _rules(r"""
    (?:,|\band) (?:with|then|and)@,?{PLACED}
    \b(?:where|and|or|when|having|filter)\b[^\n;]*(?:=|<>|\blike|\bin ?\() ?['"][^'"]*@
    @ (?:might|could|would|may)(?: also| well)? (?:be|have|win)\b[^.;!?\n]*?[, ](?:if|but|unless|had|though|although|except)\b
    \b(?:would|could|might)(?: have)? (?:be|been)(?: the)?@[^.;!?\n]{0,20} (?:if|but|unless|had)\b
    \b(?:its|his|her|their) (?:\w+ )?(?:{RELATION})s? (?:is|was)(?: the| an?)?@
    \bthat@[^.;!?\n]* (?:is|was) (?:an? |the )?{REFUSED}\b
    (?:或者?|还是|還是|または|それとも)\s?@
    @\s?(?:或|还是|還是|または|か[、?？]|吗|嗎)
""")
_DENIALS_ABROAD: Final = _rules(r"""
    (?:不是|并非|並非|而非|没有|沒有|\b(?:au(?:ß|ss)er|sauf|excepto|salvo)\s|\b(?:falsch|faux|falso|неверно):\s?)\s?@
    @\s?(?:ではな|ではあり|じゃな|でない|不是|不对|不對|是?错|是?錯|[がは]?(?:違|間違)|(?:이|가)?\s?아(?:니|닙|닌))
    @ (?:(?:ist|wäre|war|est|était|es|era|è|é) )?(?:falsch|inkorrekt|faux|fausse|fals[oa]|incorrect[oa]?|sbagliat[oa]|errad[oa]|неверно)\b
    @ (?:(?:ist|war) (?:es )?nicht|n['’]est pas|no es|non è|não é|не)(?:{END}| (?:richtig|korrekt|wahr|corr?e[ct]|verdad|vra))
""")
# Alternatives. Where a rule has a group, gold is open only if what it contains is not gold too.
_ALTERNATIVES: Final = _rules(r"""
    # `Paris, Lyon or Nice`; `or so` and `or not` are no alternatives
    @(?:\s(?:perhaps|maybe|possibly|probably))?(?:\s/|\s?\|(?=[^|\n]*\?)|[?!.…]{0,3}(?:,\s(?!(?:the|an?|its|which|who|that)\b)
        {WORD}(?:\s{WORD}){0,2}){0,8}(?:,? right\?+)?[,;.–—-]{0,3}\s[-–—….\s]{0,4}[(\[]?{OR},?)\s
        (?!(?:so|not|at least|take|less(?!,? likely)|more(?! likely)|another|other|others|in other words|main|two|something|whatever
        |similar|better|worse|later|sooner)\b){ELSE}{OTHER}
    (?:([^\s,(]+)[,.;?!]*\s[(\[]?{OR}|(\w)["'*_`)]*\s/),?\s{ELSE}@
    # `Paris if sorted by name, Lyon otherwise`, `if not Paris, then Lyon`, `55 % Paris, 45 % Lyon`
    @\sif\s[^.;\n]{1,50},\s({WORD})[^.;\n]{0,30}\sotherwise\b
    \bif (?:it(?:['’]s| is) )?not [^,.;\n]{1,40},(?: then)? @
    \d ?%(?: chance| likely)?(?: of| for)? ?@[^%]*%
    # `one of Paris and Lyon`, `between Paris and Lyon`, `candidates: Paris, Lyon`
    {CHOICE}(?:{ITEM}){1,3}(?:,(?:{ITEM}){1,3}){0,4}(?:,|,?\sand|,?\sor)@
    {CHOICE}@(?:,|,?\sand|,?\sor|\s\|)\s{OTHER}
    # `Lyon (maybe Paris)`, `Paris, maybe Lyon`, `Paris, though Lyon could also be`
    (?:\b{MAYBE}\b.*\b|\w\s?[(\[](?:or |and )?){MAYBE}@
    \b{MAYBE}@.*\b{MAYBE}\b
    @,?\s{MAYBE}\b(?!\s\w).*\b{MAYBE}\b
    @(?:[.,;]?\s(?:[-–—/]+\s)?(?:(?:and|or|but|though|although|while) )?|\s?[(\[])(?:it |this )?
        {MAYBE}\s(?!(?:the|an?|with|without|because|due|also|even|not|wrong|more|less|right|better|as|in|at|for)\b){OTHER}
    @[^.;!?\n]{0,30},? (?:though|but|although|while|or|and) {OTHER}(?: {WORD}){0,2} (?:could|might|may|can)(?: also| well| equally)? be\b
    # `Paris? Lyon?`
    @\s?\?+\s{OTHER}(?:\s{WORD}){0,2}["'*_`)]*\s?\?
    (?:^|[.!?]\s)(?!(?:what|which|who|where|when|how|why|is|are|was|does|do|did)\b){WORD}(?:\s{WORD}){0,2}\s?\?+\s@ ?\?
""")
# Bounds of numbers: `more than 42`, `<42`; `-> 42` is the number.
_BOUNDS_BEFORE: Final = _rules(r"""
    \b(?:almost|nearly|barely|(?:short|shy) of|not (?:exactly|quite)|(?:more|less|fewer|greater|higher|lower|larger|smaller) than
        (?: or equal to)?|at (?:the )?(?:least|most)|over|under|above|below|beyond|past|(?:lower|upper) (?:bound|limit)(?: of| is|:)
        |up to|exceed(?:s|ed|ing)?|starting (?:at|from)|(?<!\d[^\S\n])(?:max|min)(?:imum|\.)?|(?:minimum|maximum|upwards|north|south
        |excess) of|as (?:many|much|few|little|high|low) as|(?:mehr|weniger) als|mindestens|minst|höchstens|plus de|moins de
        |au (?:moins|plus)|m[áa]s de|menos de|al menos|pi[ùu] di|meno di|более|больше|менее|меньше|bis zu|unter|über|knapp|jusqu['’]à
        |presque|hasta|casi|como m[áa]ximo|fino a|almeno|até|minder dan|meer dan|near(?:s|ing)?|approach(?:es|ing))(?=[^\S\n])@
    (?:超过|超過|大于|小于|不到|至少|最多|(?<!\d)(?<!\d )±|[\u2264\u2265]|<=|<(?!-)|(?<![\w"'/=-])>=?)\s?@
    \b(?:before|after|prior to)\s@(?<=1[5-9]\d\d|2[01]\d\d)(?!\d)
""")
_BOUNDS_BEHIND: Final = _rules(r"""
    @\s?\+(?!\s?[\d(])|\s?(?:[<>]=?|[\u2264\u2265])\s?[a-z]\b|(?:\s[^\W\d]+)?\splus\s*$|(?:\s[^\W\d]+)?\s(?:or (?:more|less
        |fewer|greater|higher|lower|above|below|over|under)|at (?:least|most|(?:a )?minimum|(?:a )?maximum)|minimum|maximum|max
        |onwards?|upwards?|(?:oder|und) mehr|o m[áa]s)\b|\sand (?:up|above|over|more|counting){END}|\s?(?:以上|以下|未满|未滿|以内)
    \bfrom @ (?:on|up)\b
""")
# Words behind which what follows is denied, unless they are denied themselves: `not to be confused with`, `≠`.
_OFF_BEFORE: Final = lazy_pattern(
    r"(?:(?<!\bor )\bnot ?:|\bexcl\.|\btake back|\bin (?:which|that) case"
    r"|\bnot to be confused with|\bnone of(?: these| them| the following)?:[^.;\n]*"
    rf"|\b(?:almost|nearly|(?:needs?|yet|about|due|waiting) to be)|!=|≠|<>|¬|(?<![\w!])!) ?{_OPEN}\Z",
    re.IGNORECASE,
)


class Claims:
    """What a text says about gold.

    `text` is the answer, folded unless it is read for numbers, `golds` are folded, `read_cased` returns the answer in its own capitals; a
    text of another length is not read. After `_MOST_READ` places near words of denial, every further one near a word is denied without
    being read: a text of a megabyte that says `not 42` again and again must not take a minute.
    """

    def __init__(self, text: str, golds: Collection[str] = (), read_cased: Callable[[], str] = str) -> None:
        self._text, self._golds, self._read_cased = text, tuple(golds), read_cased
        self._n_read = 0
        self._readings: dict[str, _Reading] = {}

    @cached_property
    def _cues(self) -> list[int]:
        found = _CUE.finditer(self._text)
        return [match.start() for match in found if match["word"] is None or match["word"].lower() in _CUE_WORDS]

    @cached_property
    def _has_asides(self) -> bool:
        return not self._text.isascii() or not _ASIDE_WORDS.isdisjoint(self._text.lower().split())

    @cached_property
    def _given_up(self) -> int:
        """Where a text ends to have no answer whatever it named before."""
        return max((match.end() for match in _GIVES_UP.finditer(self._text)), default=0) if _MAY_HAVE_NONE.search(self._text) else 0

    @cached_property
    def _has_none(self) -> bool:
        """Whether the text says that it has no answer; golds such as `not found` say nothing."""
        said = (match[0].casefold() for match in _NO_ANSWER.finditer(self._text)) if _MAY_HAVE_NONE.search(self._text) else ()
        return self._given_up > 0 or any(not any(words in gold for gold in self._golds) for words in said)

    def denies(self, start: int, end: int) -> bool:
        """Whether the text denies or takes back what is between a start and an end."""
        cue = bisect_left(self._cues, start - REACH)
        if cue == len(self._cues) or self._cues[cue] >= end + REACH:
            return False
        self._n_read += 1
        return self._n_read > _MOST_READ or self._is_denied(start, end)

    def leaves_out(self, start: int, end: int) -> bool:
        """Whether the text does not state a number: it is a bound or denied, or only mentioned where there is no answer."""
        if is_bound(self._text, start, end) or self.denies(start, end) or self._finds(_DENIALS_ABROAD, start, end):
            return True
        return self._has_none and not _STATED_BEFORE.search(self._text, max(0, start - REACH), start)

    def doubt(self, start: int, end: int) -> Doubt:
        """Whether the text denies what is at this place, or names it as one of several alternatives that are not all gold."""
        if self.denies(start, end) or (_BEGINS_AS_NUMBER.match(self._text, start) and is_bound(self._text, start, end)):
            return "negated"
        for rule in _ALTERNATIVES:
            found = rule.find(self._text, start, end, _LONGEST_LIST)
            if found and not any(match.lastindex and self._names_gold(*match.span(match.lastindex)) for match in found):
                return "hedged"
        return ""

    def overrules(self, start: int, end: int, gold: str) -> bool:
        """Whether the text claims something else of gold's kind than what is at this place, or has no answer."""
        if end < self._given_up or self._finds(_ASIDES + _DENIALS_ABROAD, start, end):
            return True
        kind = _kind_of(gold)
        if kind not in self._readings:
            cased = self._read_cased()
            self._readings[kind] = _Reading(cased if len(cased) == len(self._text) else self._text, self._text, self._golds, kind)
        return self._readings[kind].overrules(start, end, has_none=self._has_none)

    def _finds(self, rules: tuple[_Around, ...], start: int, end: int) -> bool:
        return self._has_asides and any(rule.find(self._text, start, end) for rule in rules)

    def _names_gold(self, start: int, end: int) -> bool:
        return self._text.startswith(self._golds, start) or self._text.endswith(self._golds, 0, end)

    def _is_denied(self, start: int, end: int) -> bool:
        before, place = self._text[max(0, start - REACH) : start], self._text[start:end].lower()
        words, off = _words_before(before, place), _OFF_BEFORE.search(before)
        at = _wrong_word(words) if off is None else len(_words_before(before[: off.start()], ""))
        at = _denied_list(words) if at is None else at
        if _denies_before(words, before, place) if at is None else not _denies_before(words[:at], before, ""):
            return True
        behind = self._text[end : end + REACH]
        rules = _DENIALS if place in _NEGATIVE else _DENIALS + _DENIALS_OF_OTHERS
        rules += _DENIALS_OF_DATES if _HAS_DATE.match(place) else ()
        if not place[:1].isdigit():  # `42 were not sent` can be the answer to how many were not
            rules += _DENIALS_OF_TEXTS
            opposite = _OPPOSITE.get(place, "(?!)")
            both = rf"\W*(?:(?:and|or|but also) |(?:wait|actually|sorry)\b\W*(?:it['’]s )?){opposite}\b|\s?\?\W*{opposite}\b"
            if (
                (place not in _NEGATIVE and _denies_behind(behind))
                or re.match(both, behind)
                or re.match(rf"\W*{opposite}(?:[,.;:!]| and\b)", self._text)
                or (place in _OPPOSITE and re.search(r"\bpart(?:ly|ially)\s\Z", before))
            ):
                return True
        return _is_crossed(before, behind) or any(rule.find(self._text, start, end) for rule in rules)


# A date (`5 May 2021`), but no number with spaces or a sign (`1 234`, `50 %`, `-3 million`).
_UNIT: Final = "%|percent|per cent|pct|[a-z]+illion|thousand|lakh|crore|[kmb]n?"
_HAS_DATE: Final = lazy_pattern(rf"(?=.*\d)(?=.*[-/ ])(?![-+(]*[$€£¥]?\d[\d.,' ]*(?:{_UNIT})?\)*\Z)")
_BEGINS_AS_NUMBER: Final = lazy_pattern(r"[-+]?[$€£¥]?\d")


def _words_before(before: str, place: str) -> list[str]:
    """The words before a place without the brackets, quotes and signs that belong to it."""
    words = _TOKENS.findall(before.lower().replace("’", "'"))
    while words and (words[-1] in _BRACKETS or (words[-1] in "-+$€£¥" and (place[:1].isdigit() or before[-1] in "-+$€£¥"))):
        words.pop()
    return words


def _wrong_word(words: list[str]) -> int | None:
    """Where the word begins that calls what follows wrong (`Wrong:`, `the wrong answer is`), None if there is none."""
    end, is_label = len(words), words[-1:] in ([":"], ["="])
    while end and (words[end - 1] in _LINKS if not is_label else end == len(words)):
        end -= 1
    if words[end - 1 : end] in (["mistake"], ["error"]) and not is_label and end < len(words):
        return end - 1
    end -= end > 0 and re.fullmatch(_PARTS["NOUN"], words[end - 1]) is not None
    if words[end - 1 : end] and words[end - 1] in _WRONG:
        start = end - 1
    elif words[max(0, end - 2) : end] in (["not", "correct"], ["not", "right"], ["not", "true"], ["ruled", "out"]):
        start = end - 2
    else:
        return None
    # At the beginning this is the label's own sign.
    is_said = is_label and (words[start - 1] in ("is", "was", "am", "are") or words[start - 1].endswith("'s"))
    return None if is_said else start


def _denied_list(words: list[str]) -> int | None:
    """Where a list begins that is denied as a whole: `neither Paris nor`, `except Paris and`; None if there is none."""
    if not words or words[-1] not in ("or", "nor", "and", ","):
        return None
    for k in range(len(words) - 2, max(-1, len(words) - 20), -1):
        if words[k] in _NO_ITEMS:
            return None
        is_denial = (
            words[k] == "neither"
            if words[-1] == ","
            else _is_negative(words[k]) or words[k] in ("except", "excepting", "excluding", "besides")
        )
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
        elif is_reached and len(words) - k <= 3 and (n_words := _n_words_apart(words, k, is_number=is_number)):
            n_denials += 1
            k -= n_words - 1
        is_reached = is_reached and not (word in _IS or word.endswith("n't"))
    return n_denials % 2 == 1


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
    words = _TOKENS.findall(behind.lower().replace("’", "'"))
    words = list(takewhile(lambda word: word not in _ENDS, words))
    words = list(dropwhile(lambda word: word in _ASIDE or word.endswith("ly"), words))
    if words[:1] in (["almost"], ["nearly"]):
        return True
    if not words or (words[0] not in (_AUXILIARIES | _LOSES) and not words[0].endswith("n't")):
        return False
    is_negated = any(map(_is_negative, words[:3]))
    if "by" in words[:5] and not _BEATEN.isdisjoint(words[:4]):
        return not is_negated
    is_about = words[0] in ("has", "have", "had") and "been" not in words[:3]
    if is_about or (is_negated and not _HARMLESS.isdisjoint(words[1:3])):
        return False  # `has no returns` says something about the answer
    n_denials = is_negated + sum(word in _DENYING for word in words[:6])
    n_denials += n_denials and sum(word in _FINE for word in words[:6])
    return n_denials % 2 == 1


_CROSSES: Final = "❌❎✗✘✖⛔🚫👎"
_MARKS: Final = lazy_pattern(f"[{_CROSSES}✅✔✓☑👍]")
_AROUND_MARK: Final = " \t*_\"'`(:.,[|→-"
# A mark behind one of these begins its part of the line.
_WORD_ENDS: Final = ("\n", ":", ";", ",", "-", "|", ".")


def _is_crossed(before: str, behind: str) -> bool:
    """Whether a cross belongs to the place between the two: before it where marks begin the lines, else behind it."""
    mark, next_mark = before.rstrip(_AROUND_MARK + "\n")[-1:], behind.lstrip(_AROUND_MARK)[:1]
    first = _MARKS.search(before)
    if first is not None and not before[: first.start()].rstrip(" \t*_").endswith(_WORD_ENDS) and before[: first.start()].strip():
        return next_mark != "" and next_mark in _CROSSES
    if first is not None and _MARKS.fullmatch(mark):
        return mark in _CROSSES
    return next_mark != "" and next_mark in _CROSSES


def is_bound(text: str, start: int, end: int) -> bool:
    """Whether a number is a bound; `<42>` is the number, and `> 42` in a text of several lines a quotation."""
    if any(rule.find(text, start, end) for rule in _BOUNDS_BEHIND):
        return True
    near = text[max(0, start - NEAR) : start]
    if not ends_with(near, ".:<>=\u2264\u2265±\"'*_`([{") or text[end : end + 1] == ">":
        return False
    return not (near.endswith(("\n> ", "\n>")) or ("\n" in text and near in ("> ", ">"))) and any(
        rule.find(text, start, end, before=NEAR) for rule in _BOUNDS_BEFORE
    )


def ends_with(before: str, signs: str) -> bool:
    """Whether a letter or one of the signs is the last thing before the sign and currency of a number: only there a pattern is searched."""
    last = before.rstrip("-+$€£¥ \t\u00a0")[-1:]
    return last.isalpha() or (last != "" and last in signs)


# Words of claims.
_RESULTS: Final = _words("answer result winner verdict conclusion output choice pick correction")
_THE: Final = _RESULTS | _words("the my our its their his her this that it it's that's so")
_SHOWS: Final = _words("returned returns gave gives shows showed named names")
_HAS: Final = _words("has had is was")
_LABELS: Final = _words(": = → ->")
_COPULAS: Final = _SHOWS | _LABELS | _words("is was are were remains becomes it's that's")
_ADVERBS: Final = _words("however therefore though then thus instead actually hence overall indeed finally so only just clearly now")
_CONTRASTS: Final = _words("but yet however")
_CONCESSIONS: Final = _words("while whereas although though")
_CLAIM_ENDS: Final = _CONCESSIONS | _CONTRASTS | _words("because and followed ahead , ; ( ) — –") | {"\n"}
_CLAUSE_STARTS: Final = _ADVERBS | _BRACKETS | _CONCESSIONS | _CONTRASTS | _words("and because since as # - | : – — that")
_PRONOUNS: Final = _RESULTS | _words("it it's that's one more only right")
_SUPERLATIVES: Final = _words("""most least fewest top first best worst leader won wins leads led tops topped peaked ahead higher larger
    bigger greater stronger better""")
_NOUNS_IN_EST: Final = _words("""interest forest request guest test latest west suggest harvest rest midwest northwest southwest modest
    honest""")
_NO_NAMES: Final = _words("this it that these those which he she they so i i'm i'd i've we there what who")
_BEFORE_OBJECT: Final = _words("at in by with from for of to on near than over like between about against into")
_MODALS: Final = _words("would could might may if not looks look seems seem appears")
# What is said about one of these is not the answer.
_OTHERS: Final = _words("""previous other others old former original first initial earlier alternative alternatives runner-up runner loser
    rest reason source table column question user note if would could might may period currency unit not""")
_ORDINALS: Final = _words("second third fourth next second-highest second-best second-largest second-most")

_Token = tuple[str, int, int]


def _kind_of(gold: str) -> str:
    """The kind of names that gold is one of: yes and no, digits with or without letters, or names with a capital."""
    if gold in _OPPOSITE:
        return "yes or no"
    if any(map(str.isdigit, gold)):
        return "code" if any(map(str.isalpha, gold)) else "figure"
    return "name"


def _is_like(kind: str, word: str) -> bool:
    """Whether a word may begin a name of a kind."""
    if kind == "name":
        return word[:1].isupper()
    return word.lower() in _OPPOSITE if kind == "yes or no" else any(map(str.isdigit, word)) and _kind_of(word) == kind


class _Reading:
    """What a text, as it is and folded, claims to be the answer, and what of a kind of gold it only mentions."""

    def __init__(self, text: str, folded: str, golds: tuple[str, ...], kind: str) -> None:
        self._text, self._folded, self._golds, self._kind = text, folded, golds, kind
        self._claims: list[tuple[int, int]] = []
        self._contrast = 0
        self._is_rivalled = False
        tokens = [(match[0], *match.span()) for match in _TOKENS.finditer(text.replace("’", "'"))]
        start = 0
        for k in range(len(tokens) + 1):
            if k == len(tokens) or _ends_sentence(tokens, k) or k - start > _MOST:
                if k == len(tokens) or tokens[k][0] != "?":
                    self._read_sentence(tokens[start:k])
                start = k + 1

    def overrules(self, start: int, end: int, *, has_none: bool) -> bool:
        """Whether the text claims something else than what is at this place, or has no answer and only mentions it."""
        if any(start < claim_end and end > claim_start for claim_start, claim_end in self._claims):
            return False
        return (self._is_rivalled or has_none or start < self._contrast) and not self._is_apart(start, end)

    def _is_apart(self, start: int, end: int) -> bool:
        """Whether a place is a sentence or a line of its own, an attribute of something (`directed by Ann`) or chosen."""
        near = self._text[max(0, start - REACH) : start]
        before, behind = near.rstrip(" \"'*_`“„«"), self._text[end : end + REACH].lstrip("\"'*_`”» ")
        if _ATTRIBUTE_BEFORE.search(near) or (near[-1:] == "(" and self._text[end : end + 1] == ")"):
            return True
        begins = not before or before[-1] in ".\n:;!" or before.lower().endswith(("yes,", ", so", ", hence", ", thus", ", therefore"))
        return begins and (not behind or behind[0] in ".\n,;!(-–—") and re.search(r"\n\W*(?:[2-9]|\d\d)[.):]\Z", before) is None

    def _read_sentence(self, tokens: Sequence[_Token]) -> None:
        words = [word.lower() for word, _, _ in tokens]
        for k, word in enumerate(words):
            if word in _COPULAS and k + 1 < len(words):
                self._read_verb(tokens, words, k)
        start = 0
        for k in range(len(words) + 1):
            if k == len(words) or (words[k] in _CLAIM_ENDS and not (words[k] == "," and not _HAS.isdisjoint(words[k + 1 : k + 2]))):
                self._read_clause(tokens[start:k], words[start:k], words[start - 1] if start else "")
                start = k + 1

    def _read_verb(self, tokens: Sequence[_Token], words: list[str], k: int) -> None:
        """Read `the winner is Paris`, `Result: Paris` and `Paris is the winner`."""
        name, behind = k + 1, words[k + 2 : k + 4]
        if words[name] in ("the", "my") and not _RESULTS.isdisjoint(behind):
            if words[0] not in _NO_NAMES and any(_is_like(self._kind, word) for word, _, _ in tokens[:k]) and _OTHERS.isdisjoint(behind):
                self._add(tokens[0][1], tokens[k - 1][2])
            return
        subject = _subject_of(words, k)
        while name < len(words) and (words[name] in _BRACKETS or words[name] in _ADVERBS or words[name] == "the"):
            name += 1
        if not subject or name == len(words) or not (_OTHERS if words[k] in _SHOWS else _OTHERS | _ORDINALS).isdisjoint(subject):
            return
        is_superlative = any(map(_is_superlative, subject))
        if words[k] not in _LABELS or is_superlative or not _PRONOUNS.isdisjoint(subject):
            self._read_complement(tokens, words, name, may_be_small=is_superlative and words[k] not in _LABELS)

    def _read_complement(self, tokens: Sequence[_Token], words: list[str], name: int, *, may_be_small: bool) -> None:
        """Read what is behind a verb or label; `may_be_small` takes one or two words in small letters for a name, too."""
        end = next((at for at in range(name + 1, len(words)) if words[at] in _CLAIM_ENDS), len(words))
        if _is_like(self._kind, tokens[name][0]) or (may_be_small and end - name <= 2 and words[name].isalpha()):
            self._add(tokens[name][1], tokens[end - 1][2])

    def _read_clause(self, tokens: Sequence[_Token], words: list[str], before: str) -> None:
        """Read `Paris has the most orders` and `but Paris was closed`; `before` is the word between this clause and the last one."""
        if before in _CONCESSIONS:
            return
        first = 0
        while first < len(words):
            last = first
            while last < len(words) and _is_like(self._kind, tokens[last][0]):
                last += 1
            start = tokens[first][1]
            if last == first and self._folded.startswith(self._golds, start):
                last += 1
            if last > first and _BEFORE_OBJECT.isdisjoint(words[first - 1 : first]):
                self._read_name(tokens, words, (first, last), before)
            elif last > first and self._is_gold(start, tokens[last - 1][2]) and any(map(_is_superlative, words)):
                # `orders from Paris were the highest` claims Paris, unless something else is named in the clause
                others = [*tokens[0 if before else 1 : first], *tokens[last:]]
                if not any(_is_like(self._kind, word) for word, _, _ in others):
                    self._add(start, tokens[last - 1][2])
            first = last + 1

    def _read_name(self, tokens: Sequence[_Token], words: list[str], name: tuple[int, int], before: str) -> None:
        first, last = name
        is_subject = last < len(words) and (words[last].isalpha() or words[last] in _BRACKETS or words[last] == ",")
        is_open = not _OTHERS.isdisjoint(words[:first]) or not (_MODALS | _WRONG).isdisjoint(words[last:])
        if not is_subject or is_open or words[first] in _NO_NAMES:
            return
        is_gold = self._is_gold(tokens[first][1], tokens[last - 1][2])
        if any(map(_is_superlative, words[last:])) and _ORDINALS.isdisjoint(words):
            # A first word may have its capital for that reason alone.
            is_capital_only = last == 1 and not before and words[0].isalpha()
            if is_gold or (not is_capital_only and before != "and"):
                self._add(tokens[first][1], tokens[last - 1][2])
        elif before in _CONTRASTS and not is_gold:
            sentence = self._text[max(0, tokens[0][1] - REACH) : tokens[0][1]].lower()
            if "not just" not in sentence and "not only" not in sentence:
                self._contrast = tokens[0][1]

    def _add(self, start: int, end: int) -> None:
        if not self._is_gold(start, end):
            self._is_rivalled = True
        elif len(self._claims) < _MOST:
            self._claims.append((start, end))

    def _is_gold(self, start: int, end: int) -> bool:
        name = self._folded[start:end]
        return any(gold in name or name in gold for gold in self._golds)


def _is_superlative(word: str) -> bool:
    return word in _SUPERLATIVES or (len(word) > 4 and word.endswith("est") and word not in _NOUNS_IN_EST)


def _ends_sentence(tokens: Sequence[_Token], k: int) -> bool:
    """Whether a sentence ends at a token: not at the point of `St.`."""
    if tokens[k][0] == "." and k:
        before = tokens[k - 1][0]
        return len(before) > 3 or not before.isalpha() or before.islower()
    return tokens[k][0] in (";", "!", "?", "\n")


def _subject_of(words: list[str], k: int) -> list[str]:
    """The words of the clause before a verb, from `the` on; none if there is no such subject."""
    if words[k] in ("it's", "that's") or words[k - 1 : k] == ["it"]:
        return ["it"]
    for first in range(k - 1, -1, -1):
        if words[first] in _THE and _begins_clause(words, first):
            return words[first:k]
    return words[:k] if k <= 4 and any(_is_superlative(word) or word in _PRONOUNS for word in words[:k]) else []


def _begins_clause(words: list[str], k: int) -> bool:
    return k == 0 or words[k - 1] in _CLAUSE_STARTS or words[k - 1] in _CLAIM_ENDS


_ATTRIBUTE_BEFORE: Final = lazy_pattern(
    r"(?:(?:[,(] ?(?:which (?:is|was) )?|\b(?:it|this|he|she|they) (?:is|was|were) )(?:\w+e[dn]|made|led|run|held|won) (?:by|in|at)"
    rf"(?: the)? |\b(?:go(?:ing)? with|choose|pick) ){_OPEN}\Z",
    re.IGNORECASE,
)

# An answer that says so has none, unless it names one on its own or claims it.
_NO_ANSWER: Final = _pattern(r"""
    \b(?:i|we)(?:(?: \w+ly| also)? (?:can(?:not|{NOT})|could{NOT}|ca{NOT}|(?:am|was|were|are)(?:{NOT}| unable)(?! sorry)
        |do{NOT} (?:know|have)|did{NOT} (?:find|manage|get|have|run|finish|complete)|have no (?!doubt|question)|(?:would )?need to|lack
        |would need|gave up|failed|will{WILL})|['’]ll{WILL})\b
    \blet me (?:check|look|query|run|verify|start|try)\b
    \bit depends\b
    \bplease (?:confirm|clarify|provide|specify|upload|share)\b
    \b(?:unable|it(?: is|['’]s)(?: not)? (?:im)?possible|no way|not enough|insufficient) (?:\w+ )?to\b
    \b(?:could|can)(?:{NOT}|not) be (?:found|determined|answered|identified|computed|calculated|verified|run|executed|read|loaded|opened
        |accessed|reached)
    \b(?:timed out|timeout|query failed(?!;)|(?:is|was|are|were) empty|error(?=[:"']| on | at | \d| code)|traceback)
    \b(?:not|n['’]t) (?:stated|specified|mentioned|available|answerable|found|provided|recorded)\b
    (?:merely|only|just|a wild|pure|would be) (?:an? |my )?guess
    \bdo(?:es)?{NOT} (?:specify|state|mention|say|provide|exist)\b
    ["']\s?:\s?null\b
""")
# An answer that says so has none, whatever it names before.
_GIVES_UP: Final = _pattern(r"""
    \b(?:i|we) (?:retract|withdraw|take (?:it|that|this) back)\b
    \bi(?: do{NOT} know| have no idea|(?: am|['’]m) not (?:sure|certain)| cannot say)[.!]
""")
# A text without one of these is not searched.
_MAY_HAVE_NONE: Final = lazy_pattern(
    "n['’]t|not |['’]ll|will | no |unable|error|timed|timeout|fail|null|guess|depends|let me|please|possible|retract|withdraw|empty|back"
    "|lack|need|gave up|insufficient|traceback",
    re.IGNORECASE,
)


_STATED_BEFORE: Final = lazy_pattern(
    r"(?:^|[\n:=→>|]|\b(?:is|are|was|were|of|be|to|so|get|got|answer|total|count|returned|returns|gives|equals|found|has|have|had"
    r"|contains|shows|exactly|about|around|roughly|approx(?:imately|\.)?)|~),?[\s\"'*_`(\[]*[$€£-]*\Z",
    re.IGNORECASE,
)
