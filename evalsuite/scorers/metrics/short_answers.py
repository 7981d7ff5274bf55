"""Metrics of a short answer: exact match, token F1, edit distance and Jaro-Winkler. Each variant reproduces a known implementation.

Exact match: 1 if both are equal after normalisation. `recommended`: NFC, casefold with `ignore_case`, punctuation dropped with
`ignore_punctuation`, Unicode spaces collapsed and stripped with `normalize_whitespace`. `issue_literal`: the order of the Desiru issue,
ASCII spaces, always stripped: "hello !" keeps its blank. `squad`: lower case, no ASCII punctuation, no a/an/the. `arthur`: plain equality,
lower-cased with `ignore_case` (Arthur Bench's code inverts that flag; this is what it documents).

Token F1: the words that both share. `squad`: SQuAD's normal form, multiset overlap; no tokens on both sides 1, on one side 0. `multiset`:
lower case, split on spaces. `issue_set`: the Desiru issue's set overlap over list lengths, so "a a" against itself is 0.5. `desiru_repo`:
the same over runs of ASCII letters and digits; two empty texts give 0.

Edits count code points. `damerau` swaps neighbours without restriction; `indel` is `rapidfuzz.fuzz.ratio / 100` and at most difflib's
ratio. Two empty texts are equal.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from evalsuite.compare.answer_messages import shorten
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.metric import Direction, Measure, Metric, MetricError, best
from evalsuite.core.scores import Within
from evalsuite.scorers.metrics.rouge import NO_PUNCTUATION, squad, unicode_tokens

ASCII_SPACES: Final = " \t\n\v\f\r\0"
# Characters of Ruby's [[:punct:]] outside Unicode's category P.
RUBY_SYMBOLS: Final = frozenset("$+<=>^`|~")


@dataclass(frozen=True, kw_only=True)
class ExactMatch(Metric):
    """1 if the answer equals a reference after normalisation, else 0.

    With no flag "Paris " equals "Paris" but "paris" does not.

    Range: 0 or 1. Source: the variants name it.

    Args:
        gold: the reference or references, the best one counts.
        variant: `recommended` (NFC, Unicode); `issue_literal` (the Desiru issue's order, ASCII spaces); `squad`; `arthur` (plain equality).
        ignore_case: fold case on both sides, as `squad` always does.
        ignore_punctuation: drop punctuation on both sides; `squad` always drops ASCII's, `arthur` none.
        normalize_whitespace: collapse white space; `recommended` also strips it. `squad` always does, `arthur` never.

    Example:
        `{"func": "exact_match", "parameters": {"gold": "Paris", "ignore_case": true}}`
    """

    name: ClassVar[str] = "exact_match"

    variant: Literal["recommended", "issue_literal", "squad", "arthur"] = "recommended"
    ignore_case: bool = False
    ignore_punctuation: bool = False
    normalize_whitespace: bool = True

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return 1.0 or 0.0, with the category `match` or `non match`."""
        return best([self._against(prediction, reference) for reference in references])

    def normal(self, text: str) -> str:
        """Return the normalised text."""
        if self.variant == "squad":
            return squad(text)
        if self.variant == "arthur":
            return text.lower() if self.ignore_case else text
        if self.variant == "issue_literal":
            text = text.strip(ASCII_SPACES)
            text = text.lower() if self.ignore_case else text
            text = re.sub(r"\s+", " ", text, flags=re.ASCII) if self.normalize_whitespace else text
            return without_punctuation(text) if self.ignore_punctuation else text
        text = unicodedata.normalize("NFC", text)
        text = text.casefold() if self.ignore_case else text
        text = without_punctuation(text) if self.ignore_punctuation else text
        return " ".join(text.split()) if self.normalize_whitespace else text

    def _against(self, prediction: str, reference: str) -> Measure:
        answer, other = self.normal(prediction), self.normal(reference)
        # Two texts of punctuation only are equal after dropping it; the details say so, because it is rarely intended.
        note = {"note": "both texts are empty after normalisation"} if not answer and not other and prediction != reference else {}
        reason = f"the answer is {'' if answer == other else 'not '}{shorten(reference)}"
        return Measure(
            value=float(answer == other), reason=reason, details={"category": "match" if answer == other else "non match"} | note
        )


def without_punctuation(text: str) -> str:
    """Return the text without Unicode punctuation and ``$+<=>^`|~``, which Ruby counts as punctuation."""
    return "".join(letter for letter in text if letter not in RUBY_SYMBOLS and not unicodedata.category(letter).startswith("P"))


@dataclass(frozen=True, kw_only=True)
class TokenF1(Metric):
    """The harmonic mean of token precision and recall, the best over several references.

    "the Eiffel Tower" against "Eiffel Tower" is 1: `squad` drops articles.

    Range: 0 to 1, higher is better. Source: SQuAD's evaluation script; the other variants name theirs.

    Args:
        variant: `squad`, `multiset` (lower case, split on spaces), `issue_set` or `desiru_repo` (both set overlap).
        tokens: `char` for scripts without spaces, `regex` for Unicode words (articles stay, punctuation goes); `squad`, `multiset` only.
        ignore_case: whether case is ignored, null as the variant does (`squad` and `multiset` fold it); those two only.
        ignore_punctuation: whether punctuation is dropped first, null as the variant does (`squad` drops ASCII's); those two only.
        normalize_whitespace: whether a run of white space separates words like one blank; without it each blank separates two.

    Example:
        `{"func": "f1", "parameters": {"gold": "in the Eiffel Tower"}}`
    """

    name: ClassVar[str] = "f1"

    variant: Literal["squad", "multiset", "issue_set", "desiru_repo"] = "squad"
    tokens: Literal["word", "char", "regex"] = "word"
    ignore_case: bool | None = None
    ignore_punctuation: bool | None = None
    normalize_whitespace: bool = True

    def __post_init__(self) -> None:
        """Raise `MetricError` for an unknown choice, or for other tokens in a variant with fixed tokens."""
        super().__post_init__()
        has_own_options = (self.tokens, self.ignore_case, self.ignore_punctuation, self.normalize_whitespace) != ("word", None, None, True)
        if has_own_options and self.variant in ("issue_set", "desiru_repo"):
            raise MetricError(f"f1: the variant {self.variant} fixes its tokens", code="bad_option")

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return F1, with precision and recall in the details."""
        tokens = self.tokens_of(prediction)
        return best([self._against(tokens, self.tokens_of(reference)) for reference in references])

    def tokens_of(self, text: str) -> list[str]:
        """Return the tokens of a text under this variant."""
        if self.variant == "desiru_repo":
            return [token for token in re.split(r"\W+", text.lower(), flags=re.ASCII) if token]
        if self.variant == "issue_set":
            # Ruby's `split(/\s+/)` keeps a leading empty token and drops trailing ones.
            tokens = re.split(r"\s+", text.lower(), flags=re.ASCII)
            while tokens and not tokens[-1]:
                tokens.pop()
            return tokens
        if self.tokens == "regex":
            return unicode_tokens(text, fold=self.ignore_case is not False)
        normal = self._normal(text)
        if self.tokens == "char":
            return [c for c in normal if not c.isspace()]
        return normal.split() if self.normalize_whitespace else re.split(r"\s", normal)

    def _normal(self, text: str) -> str:
        """Return the text before tokenisation: with no option set in SQuAD's form."""
        is_squad = self.variant == "squad"
        text = text if self.ignore_case is False else text.lower()
        if self.ignore_punctuation is None and is_squad:
            text = text.translate(NO_PUNCTUATION)
        elif self.ignore_punctuation:
            text = without_punctuation(text)
        return re.sub(r"\b(a|an|the)\b", " " if self.normalize_whitespace else "", text, flags=re.IGNORECASE) if is_squad else text

    def _against(self, tokens: list[str], other: list[str]) -> Measure:
        if self.variant in ("squad", "multiset"):
            overlap = (Counter(tokens) & Counter(other)).total()
        else:
            overlap = len(set(tokens) & set(other))
        # Two empty texts are equal, but for the Desiru repository.
        precision = recall = f1 = float(not tokens and not other and self.variant != "desiru_repo")
        if overlap:
            precision, recall = overlap / len(tokens), overlap / len(other)
            f1 = 2 * precision * recall / (precision + recall)
        more = f", {len(tokens) - overlap} more" if len(tokens) > overlap > 0 else ""
        reason = f"{overlap} of {len(other)} {'characters' if self.tokens == 'char' else 'words'}{more}"
        return Measure(value=f1, reason=reason, details={"precision": precision, "recall": recall})


Edits = Literal["levenshtein", "damerau", "indel"]


@dataclass(frozen=True, kw_only=True)
class Levenshtein(Metric):
    """1 - edits / longest text, the best over several references.

    "kitten" against "sitting" is 1 - 3/7.

    Range: 0 to 1, higher is better.

    Args:
        edits: `damerau` also swaps neighbours; `indel` has no substitution and divides by both lengths.

    Example:
        `{"func": "levenshtein", "parameters": {"gold": "Reykjavik"}}`
    """

    name: ClassVar[str] = "levenshtein"

    edits: Edits = "levenshtein"

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the similarity, with the distance in the details."""
        how = _module(self.edits)
        measures = [
            Measure(value=float(how.normalized_similarity(prediction, other)), details={"distance": int(how.distance(prediction, other))})
            for other in references
        ]
        return best(measures)


@dataclass(frozen=True, kw_only=True)
class LevenshteinDistance(Metric):
    """The number of edits mapped by `scale`, 1 at its low end; null without a scale, because it is unbounded.

    Range: 0 or more edits, lower is better; 0 to 1 with `scale`.

    Args:
        gold: the reference or references, the nearest counts.
        edits: `damerau` also swaps neighbours; `indel` has no substitution.
        scale: the numbers of edits that count as 1 and as 0.

    Example:
        `{"func": "levenshtein_distance", "parameters": {"gold": "Reykjavik", "scale": [0, 3]}}`
    """

    name: ClassVar[str] = "levenshtein_distance"
    high: ClassVar[float | None] = None
    direction: ClassVar[Direction] = "lower"

    edits: Edits = "levenshtein"

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the distance as a float."""
        how = _module(self.edits)
        return Measure(value=float(min(how.distance(prediction, other) for other in references)))


def _module(edits: Edits) -> Any:
    from rapidfuzz import distance

    return {"levenshtein": distance.Levenshtein, "damerau": distance.DamerauLevenshtein, "indel": distance.Indel}[edits]


@dataclass(frozen=True, kw_only=True)
class JaroWinkler(Metric):
    """The Jaro-Winkler similarity, the best over several references.

    Range: 0 to 1, higher is better.

    Args:
        prefix_weight: the bonus of each of the first 4 common characters, 0 to 0.25.

    Example:
        `{"func": "jaro_winkler", "parameters": {"gold": "MARTHA"}}`
    """

    name: ClassVar[str] = "jaro_winkler"

    prefix_weight: Annotated[float, Within(0, 0.25)] = 0.1

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the similarity, with the plain Jaro value in the details."""
        from rapidfuzz.distance import Jaro
        from rapidfuzz.distance import JaroWinkler as Winkler

        return best(
            [
                Measure(
                    value=Winkler.similarity(prediction, other, prefix_weight=self.prefix_weight),
                    details={"jaro": Jaro.similarity(prediction, other)},
                )
                for other in references
            ]
        )
