"""ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum, equal to rouge-score 0.1.2 with its tokenizer; and the normal forms and stemmer of all metrics.

The stemmer is that of rouge-score, with nltk's differences from M. F. Porter (1980), "An algorithm for suffix stripping": an irregular
list, short words unchanged, "ies" and "ied" of four letters, y after a consonant only.
"""

import re
import string
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, Final, Literal

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.metric import Measure, Metric, best

# Scripts without spaces: each character is a token.
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
UNICODE_TOKEN: Final = rf"[{_UNSPACED}]\p{{M}}*|(?:(?![{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}])+"
NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def squad(text: str) -> str:
    """Lower-case the text, drop ASCII punctuation and the words a, an, the, collapse spaces: "The Eiffel Tower." -> "eiffel tower".

    Source: the evaluation script of SQuAD 1.1 and 2.0. English articles only.
    """
    text = text.lower().translate(NO_PUNCTUATION)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def unicode_tokens(text: str, *, fold: bool = True) -> list[str]:
    """Return runs of letters, marks and digits, NFC and, with `fold`, case-folded; each character of an unspaced script (Han, Kana,
    Thai ...) is a token.
    """
    import regex

    text = unicodedata.normalize("NFC", text)
    tokens: list[str] = regex.findall(UNICODE_TOKEN, text.casefold() if fold else text)
    return tokens


VOWELS: Final = frozenset("aeiou")
IRREGULAR: Final = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "innings": "inning", "inning": "inning",
    "outings": "outing", "outing": "outing", "cannings": "canning", "canning": "canning", "howe": "howe", "proceed": "proceed",
    "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip
Rule = tuple[str, str]
_STEP_2: Final[tuple[Rule, ...]] = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"), ("alli", "al"),
    ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"),
    ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"),
    ("logi", "log"),
)  # fmt: skip
_STEP_3: Final[tuple[Rule, ...]] = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4: Final = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a lower-case word: "relational" -> "relat", "skies" -> "sky"; words of one or two letters are unchanged."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and len(word) > 2 and not _kinds(word[:-1])[-1]:
        word = word[:-1] + "i"
    word = _step_4(_replace_suffix(_step_2(word), _STEP_3))
    short = word[:-1]
    if word.endswith("e") and (_measure(short) > 1 or (_measure(short) == 1 and not _ends_cvc(short))):
        word = short
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _measure(stem: str) -> int:
    """Return how often a consonant follows a vowel."""
    kinds = _kinds(stem)
    return sum(a and not b for a, b in pairwise(kinds))


def _kinds(stem: str) -> list[bool]:
    """Return for each letter whether it is a vowel, in one pass, because a run of y would make the definition quadratic."""
    is_vowel: list[bool] = []
    for place, letter in enumerate(stem):
        is_vowel.append(letter in VOWELS or (letter == "y" and place > 0 and not is_vowel[-1]))
    return is_vowel


def _ends_cvc(word: str) -> bool:
    kinds = _kinds(word)
    if len(word) >= 3:
        return kinds[-3:] == [False, True, False] and word[-1] not in "wxy"
    return len(word) == 2 and kinds == [True, False]


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    for suffix, new in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix):
            return word[: -len(suffix)] + new
    return word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and any(_kinds(short := word[: -len(suffix)])):
            # Repair a stem after removal of -ed or -ing: "hopp" -> "hop", "fil" -> "file".
            if short.endswith(("at", "bl", "iz")):
                return short + "e"
            if short[-1:] == short[-2:-1] and short and not _kinds(short)[-1]:
                return short if short[-1] in "lsz" else short[:-1]
            return short + "e" if _measure(short) == 1 and _ends_cvc(short) else short
    return word


def _step_2(word: str) -> str:
    # "-alli" becomes "-al" and the step starts again: "hopefulli".
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(word[:-4] + "al")
    return _replace_suffix(word, _STEP_2)


def _replace_suffix(word: str, rules: tuple[Rule, ...]) -> str:
    """Return the word with the first matching suffix replaced, if the part before it contains a syllable; before -logi with its l."""
    for suffix, new in rules:
        if word.endswith(suffix):
            return word[: -len(suffix)] + new if _measure(word[:-3] if suffix == "logi" else word[: -len(suffix)]) > 0 else word
    return word


def _step_4(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            short = word[: -len(suffix)]
            fits = _measure(short) > 1 and (suffix != "ion" or short[-1] in "st")
            return short if fits else word
    return word


MIN_STEMMED: Final = 4
_ASCII_TOKEN: Final = re.compile("[a-z0-9]+")
Overlap = tuple[int, int, int]
Kind = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]


@dataclass(frozen=True, kw_only=True)
class Rouge(Metric):
    """ROUGE of the answer against the reference with the best F.

    The tokenizer `rouge` keeps a-z and 0-9 only, as rouge-score does: for any other script use `unicode`.

    Range: 0 to 1, higher is better. Source: Lin (2004), as in rouge-score 0.1.2.

    Args:
        kind: `rouge1` words, `rouge2` word pairs, `rougeL` longest common subsequence, `rougeLsum` the same line by line.
        part: which of the three numbers is the score.
        tokenizer: `rouge`, or `unicode` for every script.
        use_stemmer: stem words of more than 3 letters (English).

    Example:
        `{"func": "rouge", "parameters": {"gold": "the cat is on the mat", "kind": "rouge1"}}`
    """

    name: ClassVar[str] = "rouge"

    kind: Kind = "rougeL"
    part: Literal["fmeasure", "precision", "recall"] = "fmeasure"
    tokenizer: Literal["rouge", "unicode"] = "rouge"
    use_stemmer: bool = False

    @property
    def label(self) -> str:
        """The kind."""
        return self.kind

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the chosen part, with precision, recall and F in the details."""
        measures = [self._against(prediction, reference) for reference in references]
        return best(measures, key=[m.details["fmeasure"] for m in measures])

    def tokens_of(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        tokens = unicode_tokens(text) if self.tokenizer == "unicode" else _ASCII_TOKEN.findall(text.lower())
        return [stem(token) if len(token) >= MIN_STEMMED else token for token in tokens] if self.use_stemmer else tokens

    def _against(self, prediction: str, reference: str) -> Measure:
        hits, n_prediction, n_reference = self._overlap(prediction, reference)
        precision = hits / n_prediction if n_prediction else 0.0
        recall = hits / n_reference if n_reference else 0.0
        fmeasure = 2 * precision * recall / (precision + recall) if hits else 0.0
        details = {"precision": precision, "recall": recall, "fmeasure": fmeasure}
        return Measure(value=details[self.part], details=details)

    def _overlap(self, prediction: str, reference: str) -> Overlap:
        """Return (matches, size of the prediction, size of the reference) for the kind."""
        if self.kind == "rougeLsum":
            return _line_by_line(*([self.tokens_of(line) for line in text.split("\n") if line] for text in (prediction, reference)))
        answer, reference_tokens = self.tokens_of(prediction), self.tokens_of(reference)
        if self.kind == "rougeL":
            return lcs_length(answer, reference_tokens), len(answer), len(reference_tokens)
        n = 1 if self.kind == "rouge1" else 2
        own_counts, other_counts = (Counter(zip(*(tokens[i:] for i in range(n)), strict=False)) for tokens in (answer, reference_tokens))
        return (own_counts & other_counts).total(), own_counts.total(), other_counts.total()


def _line_by_line(answer: list[list[str]], reference_lines: list[list[str]]) -> Overlap:
    """Match each line of the reference with the union of its common subsequences with all lines; a word counts at most as often as in
    either text.
    """
    left = [Counter(token for line in lines for token in line) for lines in (answer, reference_lines)]
    hits = 0
    for line in reference_lines:
        places: set[int] = set().union(*(lcs_places(line, candidate) for candidate in answer))
        for token in (line[place] for place in places):
            if all(counter[token] > 0 for counter in left):
                hits += 1
                for counter in left:
                    counter[token] -= 1
    return hits, sum(map(len, answer)), sum(map(len, reference_lines))


@dataclass(frozen=True, kw_only=True)
class Rouge1(Rouge):
    """ROUGE-1: single words."""

    name: ClassVar[str] = "rouge1"
    kind: Literal["rouge1"] = "rouge1"


@dataclass(frozen=True, kw_only=True)
class Rouge2(Rouge):
    """ROUGE-2: pairs of neighbouring words."""

    name: ClassVar[str] = "rouge2"
    kind: Literal["rouge2"] = "rouge2"


@dataclass(frozen=True, kw_only=True)
class RougeL(Rouge):
    """ROUGE-L: the longest common subsequence of words, line ends ignored."""

    name: ClassVar[str] = "rougeL"
    kind: Literal["rougeL"] = "rougeL"


@dataclass(frozen=True, kw_only=True)
class RougeLsum(Rouge):
    """ROUGE-Lsum: the longest common subsequences line by line."""

    name: ClassVar[str] = "rougeLsum"
    kind: Literal["rougeLsum"] = "rougeLsum"


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, by rapidfuzz over integer ids of the tokens."""
    from rapidfuzz.distance import LCSseq

    number: dict[str, int] = {}
    numbers = [[number.setdefault(token, len(number)) for token in tokens] for tokens in (first, second)]
    return LCSseq.similarity(*numbers)


def lcs_places(first: Sequence[str], second: Sequence[str]) -> list[int]:
    """Return the positions in `first` of a longest common subsequence with `second`, ascending; with ties the one of rouge-score.

    Columns of the dynamic programme are big integers (Hyyro 2004): bit i of column j is 0 if row i adds one to the length. The
    backtracking prefers a match, then left if this row adds, else up: the tie-breaking of rouge-score, which affects Lsum.
    """
    matches: defaultdict[str, int] = defaultdict(int)
    for i, token in enumerate(first):
        matches[token] |= 1 << i
    everything = (1 << len(first)) - 1
    column, columns = everything, []
    for token in second:
        hit = column & matches.get(token, 0)
        column = ((column + hit) | (column - hit)) & everything
        columns.append(column)
    places = []
    i, j = len(first) - 1, len(second) - 1
    while i >= 0 and j >= 0:
        if first[i] == second[j]:
            places.append(i)
            i, j = i - 1, j - 1
        elif columns[j] >> i & 1:
            i -= 1
        else:
            j -= 1
    return places[::-1]
