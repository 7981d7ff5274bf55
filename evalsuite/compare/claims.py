"""What an answer in text claims to be its answer, and whether it says that it has none.

An answer claims what it names with a verb or a label (`the city with the most orders is Paris`, `so it is Paris`, `Result: Paris`, `Paris
is the answer`) or says the most of (`Paris has the most orders`). If it claims something else of gold's kind (a name with a capital or with
digits, as gold is), a gold that it only mentions is not its answer: `Paris is close, but the answer is Lyon`. Nor is one in an answer that
has none (`I could not run WHERE city = 'Paris'`), unless gold is named on its own (`Paris. I could not check 2019.`).

An answer that declares its answer (`Final answer:`, `so the winner is`, `\\boxed{}`, `<answer>`, a JSON key) is what it declares; what it
works out before, strikes through or thinks aloud does not count.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

from evalsuite.compare.doubts import (
    BRACKETS,
    CLOSE,
    CONCESSIONS,
    OPEN,
    OPPOSITE,
    REACH,
    RELATIONS,
    TOKENS,
    WRONG_WORDS,
    Denials,
    is_bound,
    word_set,
)
from evalsuite.core.import_ref import lazy_pattern

# How many claims, concessions and words of a sentence are read.
_MOST: Final = 400
_RESULTS: Final = word_set("answer result winner verdict conclusion output choice pick correction")
_THE: Final = _RESULTS | word_set("the my our its their his her this that it it's that's so")
_POSSESSIVES: Final = word_set("its his her their")
_SHOWS: Final = word_set("returned returns gave gives shows showed named names")
_HAS: Final = word_set("has had is was")
_LABELS: Final = word_set(": = → ->")
_COPULAS: Final = _SHOWS | _LABELS | word_set("is was are were remains becomes it's that's")
_ADVERBS: Final = word_set("however therefore though then thus instead actually hence overall indeed finally so only just clearly now")
_CONTRASTS: Final = word_set("but yet however")
_CLAIM_ENDS: Final = CONCESSIONS | _CONTRASTS | word_set("because and followed ahead , ; ( ) — –") | {"\n"}
_CLAUSE_STARTS: Final = _ADVERBS | BRACKETS | CONCESSIONS | _CONTRASTS | word_set("and because since as # - | : – — that")
_PRONOUNS: Final = _RESULTS | word_set("it it's that's one more only right")
_SUPERLATIVES: Final = word_set("""most least fewest top first best worst leader won wins leads led tops topped peaked ahead higher larger
    bigger greater stronger better""")
_NOUNS_IN_EST: Final = word_set(
    "interest forest request guest test latest west suggest harvest rest midwest northwest southwest modest honest"
)
_CHOSEN: Final = word_set("chosen selected picked correct right")
_NO_NAMES: Final = word_set("this it that these those which he she they so i i'm i'd i've we there what who")
_PLACES: Final = word_set("at in by with from for")
_NO_COMPLEMENTS: Final = _PLACES | word_set("a an not")
_BEFORE_OBJECT: Final = _PLACES | word_set("of to on near than over like between about against into")
_MODALS: Final = word_set("would could might may if not looks look seems seem appears")
# What is said about one of these is not the answer.
_OTHERS: Final = word_set("""previous other others old former original first initial earlier alternative alternatives runner-up runner loser
    rest reason source table column question user note if would could might may period currency unit not""")
_ORDINALS: Final = word_set("second third fourth next")

Token = tuple[str, int, int]


def kind_of(gold: str) -> Callable[[str], bool]:
    """Whether a word may begin a name of gold's kind: one of yes and no, with digits, or with a capital."""
    if gold.casefold() in OPPOSITE:
        return lambda word: word.lower() in OPPOSITE
    if any(map(str.isdigit, gold)):
        has_letter = any(map(str.isalpha, gold))
        return lambda word: any(map(str.isdigit, word)) and any(map(str.isalpha, word)) == has_letter
    return lambda word: word[:1].isupper()


class Claims:
    """What a text claims to be the answer.

    Args:
        text: the answer, in its own capitals, with line breaks.
        golds: the folded golds.
        is_like: whether a word may begin a name of gold's kind.
    """

    def __init__(self, text: str, golds: Collection[str], is_like: Callable[[str], bool]) -> None:
        self._text, self._golds, self._is_like = text, golds, is_like
        self._claims: list[tuple[int, int]] = []
        self._concessions: list[tuple[int, int]] = []
        self._contrast = 0
        self._is_rivalled = self._begins_with_rival = False
        self._has_none = has_no_answer(text, golds)
        self._given_up = max((match.end() for match in _GIVES_UP.finditer(text)), default=0) if self._has_none else 0
        tokens = [(match[0], *match.span()) for match in TOKENS.finditer(text.replace("’", "'"))]
        self._words = {word.lower() for word, _, _ in tokens}
        start = 0
        for k in range(len(tokens) + 1):
            if k == len(tokens) or _ends_sentence(tokens, k) or k - start > _MOST:
                if start < k and (k == len(tokens) or tokens[k][0] != "?"):
                    self._read_sentence(tokens[start:k])
                start = k + 1

    def overrule(self, start: int, end: int) -> bool:
        """Whether the answer claims something else than what is at this place, or has none."""
        if end < self._given_up or self._is_aside(self._text[max(0, start - REACH) : start], self._text[end : end + REACH]):
            return True
        if any(start < claim_end and end > claim_start for claim_start, claim_end in self._claims):
            return False
        if (self._is_rivalled or self._begins_with_rival) and any(begin <= start < stop for begin, stop in self._concessions):
            return True
        is_doubtful = self._is_rivalled or self._has_none or start < self._contrast
        return is_doubtful and not self._is_apart(start, end)

    def _is_aside(self, before: str, behind: str) -> bool:
        """Whether a place between the two is a hypothesis, part of a query, what another one is ahead of, or said to be wrong."""
        if not self._text.isascii() and (_DENIED_BEFORE.search(before) or _DENIED_BEHIND.match(behind)):
            return True
        if _CUES.isdisjoint(self._words):
            return False
        if _IN_QUERY.search(before) or _MIGHT_BE.match(behind) or (_WOULD_BE.search(before) and _IF_BEHIND.match(behind)):
            return True
        is_second = _WITH_BEFORE.search(before) and _SECOND_BEHIND.match(behind)
        is_wrong = _THAT_BEFORE.search(before) and (called := _CALLED.match(behind)) and called["word"].lower() in WRONG_WORDS
        return bool(is_second or is_wrong)

    def _is_apart(self, start: int, end: int) -> bool:
        """Whether a place is a sentence or a line of its own, an attribute of something (`directed by Ann`) or chosen."""
        near = self._text[max(0, start - REACH) : start]
        before, behind = near.rstrip(" \"'*_`“„«"), self._text[end : end + REACH].lstrip("\"'*_`”» ")
        if _ATTRIBUTE_BEFORE.search(near) or (near[-1:] == "(" and self._text[end : end + 1] == ")"):
            return True
        begins = not before or before[-1] in ".\n:;!" or before.lower().endswith(_LAST_BEFORE)
        return begins and (not behind or behind[0] in ".\n,;!(-–—") and not _LIST_ITEM.search(before)

    def _read_sentence(self, tokens: Sequence[Token]) -> None:
        words = [word.lower() for word, _, _ in tokens]
        if not tokens[0][1] and len(tokens) <= 4 and all(self._is_like(word) for word, _, _ in tokens):
            self._begins_with_rival = not self._is_gold(0, tokens[-1][2])
        for k, word in enumerate(words):
            if word in _COPULAS and k + 1 < len(words):
                self._read_verb(tokens, words, k)
        start = 0
        for k in range(len(words) + 1):
            if k == len(words) or (words[k] in _CLAIM_ENDS and not (words[k] == "," and not _HAS.isdisjoint(words[k + 1 : k + 2]))):
                if start < k:
                    self._read_clause(tokens[start:k], words[start:k], words[start - 1] if start else "")
                start = k + 1

    def _read_verb(self, tokens: Sequence[Token], words: list[str], k: int) -> None:
        """Read `the winner is Paris`, `Result: Paris` and `Paris is the winner`."""
        name, behind = k + 1, words[k + 2 : k + 4]
        if words[name] in _CHOSEN or (words[name] in ("the", "my") and not _RESULTS.isdisjoint(behind)):
            if words[0] not in _NO_NAMES and any(self._is_like(word) for word, _, _ in tokens[:k]) and _OTHERS.isdisjoint(behind):
                self._add(tokens[0][1], tokens[k - 1][2])
            return
        subject = _subject_of(words, k)
        while name < len(words) and (words[name] in BRACKETS or words[name] in _ADVERBS or words[name] == "the"):
            name += 1
        if not subject or name == len(words):
            return
        if _is_about_others(subject, words[k]):
            self._concede(tokens[name:])
            return
        is_superlative = any(map(_is_superlative, subject))
        if words[k] not in _LABELS or is_superlative or not _PRONOUNS.isdisjoint(subject):
            self._read_complement(tokens, words, name, may_be_small=is_superlative and words[k] not in _LABELS)

    def _read_complement(self, tokens: Sequence[Token], words: list[str], name: int, *, may_be_small: bool) -> None:
        """Read what is behind a verb or label; `may_be_small` takes one or two words in small letters for a name, too."""
        name += may_be_small and words[name] in _PLACES and name + 1 < len(words)
        end = next((at for at in range(name + 1, len(words)) if words[at] in _CLAIM_ENDS), len(words))
        is_short = end - name <= 2 and words[name].isalpha() and words[name] not in _NO_COMPLEMENTS
        if self._is_like(tokens[name][0]) or (may_be_small and is_short):
            self._add(tokens[name][1], tokens[end - 1][2])

    def _read_clause(self, tokens: Sequence[Token], words: list[str], before: str) -> None:
        """Read `Paris has the most orders` and `but Paris was closed`; `before` is the word between this clause and the last one."""
        if before in CONCESSIONS:
            self._concede(tokens)
            return
        first = 0
        while first < len(words):
            last = first
            while last < len(words) and self._is_like(tokens[last][0]):
                last += 1
            start = tokens[first][1]
            if last == first and any(self._text[start : start + len(gold)].casefold() == gold for gold in self._golds):
                last += 1
            if last > first and _BEFORE_OBJECT.isdisjoint(words[first - 1 : first]):
                self._read_name(tokens, words, (first, last), before)
            elif last > first and self._is_gold(start, tokens[last - 1][2]) and any(map(_is_superlative, words)):
                # `orders from Paris were the highest` claims Paris, unless something else is named in the clause
                others = [*tokens[0 if before else 1 : first], *tokens[last:]]
                if not any(self._is_like(word) for word, _, _ in others):
                    self._add(start, tokens[last - 1][2])
            first = last + 1

    def _read_name(self, tokens: Sequence[Token], words: list[str], name: tuple[int, int], before: str) -> None:
        first, last = name
        is_subject = last < len(words) and (words[last].isalpha() or words[last] in BRACKETS or words[last] == ",")
        is_open = not _OTHERS.isdisjoint(words[:first]) or not (_MODALS | WRONG_WORDS).isdisjoint(words[last:])
        if not is_subject or is_open or words[first] in _NO_NAMES:
            return
        is_gold = self._is_gold(tokens[first][1], tokens[last - 1][2])
        if any(map(_is_superlative, words[last:])) and not _has_ordinal(words):
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

    def _concede(self, tokens: Sequence[Token]) -> None:
        if len(self._concessions) < _MOST:
            self._concessions.append((tokens[0][1], tokens[-1][2]))

    def _is_gold(self, start: int, end: int) -> bool:
        name = self._text[start:end].casefold()
        return any(gold in name or name in gold for gold in self._golds)


def _is_superlative(word: str) -> bool:
    return word in _SUPERLATIVES or (len(word) > 4 and word.endswith("est") and word not in _NOUNS_IN_EST)


def _is_about_others(subject: list[str], verb: str) -> bool:
    """Whether a subject is not the answer: `the runner-up`, `its neighbour`, `the second`."""
    is_related = subject[0] in _POSSESSIVES and not RELATIONS.isdisjoint(subject)
    return not _OTHERS.isdisjoint(subject) or is_related or (verb not in _SHOWS and _has_ordinal(subject))


def _has_ordinal(words: list[str]) -> bool:
    return any(word.partition("-")[0] in _ORDINALS for word in words)


def _ends_sentence(tokens: Sequence[Token], k: int) -> bool:
    """Whether a sentence ends at a token: not at the point of `St.`."""
    if tokens[k][0] == "." and k:
        before = tokens[k - 1][0]
        return len(before) > 3 or not before.isalpha() or before.islower()
    return tokens[k][0] in (";", "!", "?", "\n")


def _subject_of(words: list[str], k: int) -> list[str]:
    """The words of the clause before a verb, from `the` on; none if there is no such subject."""
    if words[k] in ("it's", "that's") or words[k - 1 : k] == ["it"]:
        return ["it"]
    if k > 1 and words[k - 1] == "," and words[k - 2] not in _ADVERBS:
        return []
    for first in range(k - 1, -1, -1):
        if words[first] in _THE and _begins_clause(words, first):
            return words[first:k]
    return words[:k] if k <= 4 and any(_is_superlative(word) or word in _PRONOUNS for word in words[:k]) else []


def _begins_clause(words: list[str], k: int) -> bool:
    before = k - 1
    while before >= 0 and words[before] in _CLAUSE_STARTS:
        before -= 1
    return before < k - 1 or before < 0 or words[before] in _CLAIM_ENDS


_LAST_BEFORE: Final = ("yes,", ", so", ", hence", ", thus", ", therefore")
_LIST_ITEM: Final = lazy_pattern(r"\n\W*(?:[2-9]|\d\d)[.):]\Z")
_ATTRIBUTE_BEFORE: Final = lazy_pattern(
    r"(?:(?:[,(] ?(?:which (?:is|was) )?|\b(?:it|this|he|she|they) (?:is|was|were) )(?:\w+e[dn]|made|led|run|held|won) (?:by|in|at)"
    rf"(?: the)? |\b(?:go(?:ing)? with|choose|pick) ){OPEN}\Z",
    re.IGNORECASE,
)
# Words without which a place is no aside.
_CUES: Final = word_set("would could might may where filter having when with that then")
_IN_QUERY: Final = lazy_pattern(r"\b(?:where|and|or|when|having|filter)\b[^\n;]*(?:=|<>|\blike|\bin ?\() ?['\"][^'\"]*\Z", re.IGNORECASE)
_MIGHT_BE: Final = lazy_pattern(
    rf"{CLOSE} (?:might|could|would|may)(?: also| well)? (?:be|have|win)\b[^.;!?\n]*?[, ](?:if|but|unless|had|though|although|except)\b",
    re.IGNORECASE,
)
_WOULD_BE: Final = lazy_pattern(rf"\b(?:would|could|might)(?: have)? (?:be|been)(?: the)? ?{OPEN}\Z", re.IGNORECASE)
_IF_BEHIND: Final = lazy_pattern(rf"{CLOSE}[^.;!?\n]{{0,20}} (?:if|but|unless|had)\b", re.IGNORECASE)
_WITH_BEFORE: Final = lazy_pattern(rf"(?:,|\band) (?:with|then|and) {OPEN}\Z", re.IGNORECASE)
_SECOND_BEHIND: Final = lazy_pattern(
    rf"{CLOSE},? (?:(?:an?|in|at|is|being|just|only|merely|close|distant|coming|trailing|following) )*"
    r"(?:second|third|runner-?up|behind|next|follow(?:s|ing)|trail(?:s|ing))\b",
    re.IGNORECASE,
)
_THAT_BEFORE: Final = lazy_pattern(rf"\bthat {OPEN}\Z", re.IGNORECASE)
_CALLED: Final = lazy_pattern(r"[^.;!?\n]* (?:is|was) (?:an? |the )?(?P<word>\w+)", re.IGNORECASE)
# Chinese, Japanese and Korean denials and alternatives.
_DENIED_BEFORE: Final = lazy_pattern(r"(?:不是|并非|並非|而非|没有|沒有|或者?|还是|還是|または|それとも)\s?\Z")
_DENIED_BEHIND: Final = lazy_pattern(
    r"\s?(?:ではな|ではあり|じゃな|でない|或|还是|還是|または|か[、?？]|吗|嗎|不是|不对|不對|[がは]?(?:違|間違)|(?:이|가) 아)"
)

_NOT: Final = r"(?:n['’]t| not)"
_FINDS: Final = "determined|answered|identified|computed|calculated|verified|run|executed|read|loaded|opened|accessed|reached"
_WILL: Final = "(?: now)? (?:check|query|run|look|need|compute|start|try)"
# An answer that says so has none, unless it names one on its own or claims it.
_NO_ANSWER: Final = lazy_pattern(
    rf"\b(?:i|we)(?:(?: \w+ly| also)? (?:can(?:not|{_NOT})|could{_NOT}|ca{_NOT}|(?:am|was|were|are)(?:{_NOT}| unable)(?! sorry)"
    rf"|do{_NOT} (?:know|have)|did{_NOT} (?:find|manage|get|have|run|finish|complete)|have no (?!doubt|question)|(?:would )?need to|lack"
    rf"|would need|gave up|failed|will{_WILL})|['’]ll{_WILL})\b|\blet me (?:check|look|query|run|verify|start|try)\b|\bit depends\b"
    r"|\bplease (?:confirm|clarify|provide|specify|upload|share)\b"
    r"|\b(?:unable|it(?: is|['’]s)(?: not)? (?:im)?possible|no way|not enough|insufficient) (?:\w+ )?to\b"
    rf"|\b(?:could|can)(?:{_NOT}|not) be (?:found|{_FINDS})"
    r"|\b(?:timed out|timeout|query failed(?!;)|(?:is|was|are|were) empty|error(?=[:\"']| on | at | \d| code)|traceback)"
    r"|\b(?:not|n['’]t) (?:stated|specified|mentioned|available|answerable|found|provided|recorded)\b"
    rf"|(?:merely|only|just|a wild|pure|would be) (?:an? |my )?guess|\bdo(?:es)?{_NOT} (?:specify|state|mention|say|provide|exist)\b"
    r"|[\"']\s?:\s?null\b",
    re.IGNORECASE,
)
# An answer that says so has none, whatever it names before.
_GIVES_UP: Final = lazy_pattern(
    rf"\b(?:i|we) (?:retract|withdraw|take (?:it|that|this) back)\b"
    rf"|\bi(?: do{_NOT} know| have no idea|(?: am|['’]m) not (?:sure|certain)| cannot say)[.!]",
    re.IGNORECASE,
)
# A text without one of these is not searched.
_MAY_HAVE_NONE: Final = lazy_pattern(
    "n['’]t|not |['’]ll|will | no |unable|error|timed|timeout|fail|null|guess|depends|let me|please|possible|retract|withdraw|empty|back"
    "|lack|need|gave up|insufficient|traceback",
    re.IGNORECASE,
)


def has_no_answer(text: str, golds: Collection[str] = ()) -> bool:
    """Whether a text says that it has no answer; golds such as `not found` say nothing."""
    if not _MAY_HAVE_NONE.search(text):
        return False
    found = (match[0].casefold() for match in _NO_ANSWER.finditer(text))
    return any(not any(words in gold for gold in golds) for words in found) or _GIVES_UP.search(text) is not None


_STATED_BEFORE: Final = lazy_pattern(
    r"(?:^|[\n:=→>|]|\b(?:is|are|was|were|of|be|to|so|get|got|answer|total|count|returned|returns|gives|equals|found|has|have|had"
    r"|contains|shows|exactly|about|around|roughly|approx(?:imately|\.)?)|~),?[\s\"'*_`(\[]*[$€£-]*\Z",
    re.IGNORECASE,
)


class UnstatedNumbers(Denials):
    """Which numbers of a text it does not state: bounds, what it denies, and what it only mentions if it has no answer."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._has_none = has_no_answer(text)

    def __contains__(self, place: tuple[int, int]) -> bool:
        if is_bound(self._text, *place) or super().__contains__(place):
            return True
        return self._has_none and not _STATED_BEFORE.search(self._text[max(0, place[0] - REACH) : place[0]])


# What an answer declares.
_STRUCK: Final = lazy_pattern(r"~~[^~\n]{1,80}~~|<(del|s|strike)>[^<\n]{1,80}</\1>", re.IGNORECASE)
_THOUGHT: Final = lazy_pattern(r"</(?:think|thinking|thought|reasoning|scratchpad)>", re.IGNORECASE)
_DECLARED: Final = lazy_pattern(
    r"<answer>(?P<tag>[^<]{1,400})</answer>"
    r"|\\boxed\{(?P<box>(?:[^{}\n]|\{[^{}\n]{0,100}\}){1,200})\}"
    r"|[\"'](?:final_?)?answer[\"']\s?:\s?(?P<value>\"(?:[^\"\\\n]|\\.){0,400}\"|'(?:[^'\\\n]|\\.){0,400}'|[^\s\"',}\[{]+)"
    r"|^####[^\S\n]+(?P<hash>[^\n]+)\s*\Z"
    r"|[,;]?\s(?:(?:and|so|which|that)\s)?(?:leaves|leaving|makes|making|gives|giving|yields|yielding|totall?ing|for a total of)\s"
    r"(?P<sum>[^\s,;]+(?: [a-z]+)?)[.!]?\s*\Z"
    r"|(?:^|[.;,]\s|\b(?:so|but|and)\s)it(?:['’]s|\sis)\s(?P<it>[$€£]?-?\d[^\s;]*)[.!]?\s*\Z"
    r"|(?:^|[.!?;]\s)\W*(?:total|count|sum|result)\s?[:=](?P<label>(?!\s?- )[^\n;:=]*)\Z"
    r"|(?:\bfinal answer\b|(?:^|[.!?;,:]\s|\b(?:so|but|and)\s)\W{0,12}(?:(?:so|thus|therefore|hence|the|my),? )*"
    r"(?:correct |right |real |actual )?answer\b"
    r"|(?:^|[.!?;,]\s|\b(?:so|but|and)\s)\W{0,4}(?:(?:so|thus|therefore|hence|in conclusion|overall),? (?:the|my|our) (?:\w+ )?\w+"
    r"|the (?:correct|right|real|actual|true) (?:\w+ )?\w+)(?= (?:is|was|should be|must be)\b(?! not| wrong| in | un| clear\b(?!:))))"
    r"(?=[\s*_`]*(?:[:=–—-]|(?:is|was|should|must)\b|\d|\*\*|\Z)|\n)(?P<rest>)",
    re.IGNORECASE | re.MULTILINE,
)


_MAY_DECLARE: Final = lazy_pattern(
    r"\\boxed|####|answer|\b(?:leav|mak|giv|yield|totall?)(?:es|s|ing)\b|for a total"
    r"|\bit(?:['’]s| is) [$€£]?-?\d|\b(?:total|count|sum|result)\s?[:=]"
    r"|\b(?:so|thus|therefore|hence|conclusion|summary|overall|correct|right|real|actual|true)\b",
    re.IGNORECASE,
)


def declared_answer(answer: str) -> str:
    """The part of an answer that counts: what it declares as its answer where it does, else all of it but what is struck through."""
    text = answer
    if "~~" in text or "</" in text:
        text = _STRUCK.sub(" ", text)
        behind_thoughts = _THOUGHT.split(text)[-1]
        text = behind_thoughts if behind_thoughts.strip() else text
    if not _MAY_DECLARE.search(text):
        return text
    last: re.Match[str] | None = None
    for match in _DECLARED.finditer(text):
        last = match
    if last is None:
        return text
    if last["rest"] is None:
        answer_text = last[last.lastgroup or 0]
    else:
        line = re.split(r"\n|(?<=[.!]) (?=\()", text[last.end() :], maxsplit=1)[0]
        is_whole = any(map(str.isalnum, line)) and not line.rstrip(" \t*_").endswith(":")
        answer_text = line if is_whole else text[last.end() :]
    return answer_text if any(map(str.isalnum, answer_text)) else text
