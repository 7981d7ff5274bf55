"""The text metrics that compare an answer with references, usable as `func` in gold; and the table of all metric scorers."""

from typing import Any, Literal

from evalsuite.registry import scorer
from evalsuite.scorers.metric_score import score_by, valid
from evalsuite.types import Score


@scorer(reads="text", validate=valid("exact_match"))
def exact_match(
    prediction: str,
    *,
    gold: str | list[str],
    variant: Literal["recommended", "issue_literal", "squad", "arthur"] = "recommended",
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    normalize_whitespace: bool = True,
) -> Score:
    """1 where the answer equals a reference after normalisation, else 0.

    With no flag "Paris " equals "Paris" but "paris" does not. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references, the best one counts.
        variant: `recommended` (NFC, Unicode); `issue_literal` (the Desiru issue's order, ASCII spaces); `squad`; `arthur` (plain equality).
        ignore_case: fold case on both sides.
        ignore_punctuation: drop punctuation on both sides.
        normalize_whitespace: collapse white space; `recommended` also strips it.

    Example:
        `{"func": "exact_match", "parameters": {"gold": "Paris", "ignore_case": true}}`
    """
    return score_by(
        "exact_match",
        prediction,
        gold,
        variant=variant,
        ignore_case=ignore_case,
        ignore_punctuation=ignore_punctuation,
        normalize_whitespace=normalize_whitespace,
    )


@scorer(reads="text", validate=valid("f1"))
def f1(
    prediction: str,
    *,
    gold: str | list[str],
    variant: Literal["squad", "multiset", "issue_set", "desiru_repo"] = "squad",
    tokens: Literal["word", "char", "regex"] = "word",
) -> Score:
    """The harmonic mean of token precision and recall, the best over several references.

    "the Eiffel Tower" against "Eiffel Tower" is 1: `squad` drops articles. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references.
        variant: `squad`, `multiset` (lower case, split on spaces), `issue_set` or `desiru_repo` (both set overlap).
        tokens: `char` for scripts without spaces, `regex` for Unicode words; `squad` and `multiset` only.

    Example:
        `{"func": "f1", "parameters": {"gold": "in the Eiffel Tower"}}`
    """
    return score_by("f1", prediction, gold, variant=variant, tokens=tokens)


@scorer(reads="text", validate=valid("bleu"))
def bleu(
    prediction: str,
    *,
    gold: str | list[str],
    tokenize: Literal["13a", "none", "zh", "intl", "char", "ja-mecab", "ko-mecab"] = "13a",
    lowercase: bool = False,
    smooth_method: Literal["exp", "floor", "add-k", "none"] = "exp",
    smooth_value: float | None = None,
    max_ngram_order: int = 4,
    effective_order: bool = True,
) -> Score:
    """The answer's sentence BLEU divided by 100; the raw 0..100 stands in `details.raw`.

    The mean over instances is not the corpus BLEU, which `metrics.bleu` gives. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references.
        tokenize: sacrebleu's tokenizer; `13a` takes a Chinese sentence as one token.
        lowercase: lower-case both sides.
        smooth_method: what to do with an n-gram order without a match.
        smooth_value: its constant for `floor` and `add-k`.
        max_ngram_order: the longest n-gram.
        effective_order: leave out orders longer than the answer, so that "the cat" against itself is 1.

    Example:
        `{"func": "bleu", "parameters": {"gold": ["the cat is on the mat", "there is a cat on the mat"]}}`
    """
    return score_by(
        "bleu",
        prediction,
        gold,
        tokenize=tokenize,
        lowercase=lowercase,
        smooth_method=smooth_method,
        smooth_value=smooth_value,
        max_ngram_order=max_ngram_order,
        effective_order=effective_order,
    )


@scorer(reads="text", validate=valid("chrf"))
def chrf(
    prediction: str,
    *,
    gold: str | list[str],
    char_order: int = 6,
    word_order: int = 0,
    beta: int = 2,
    lowercase: bool = False,
    whitespace: bool = False,
    eps_smoothing: bool = False,
) -> Score:
    """The answer's chrF divided by 100; the raw 0..100 stands in `details.raw`.

    Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references.
        char_order: the longest character n-gram.
        word_order: the longest word n-gram; 2 is chrF++.
        beta: how much more recall counts than precision.
        lowercase: lower-case both sides.
        whitespace: count white space as a character.
        eps_smoothing: the smoothing of nltk and Moses instead of the effective order.

    Example:
        `{"func": "chrf", "parameters": {"gold": "the cat is on the mat", "word_order": 2}}`
    """
    options: dict[str, Any] = {"lowercase": lowercase, "whitespace": whitespace, "eps_smoothing": eps_smoothing}
    return score_by("chrf", prediction, gold, char_order=char_order, word_order=word_order, beta=beta, **options)


@scorer(reads="text", validate=valid("ter"))
def ter(
    prediction: str,
    *,
    gold: str | list[str],
    normalized: bool = False,
    no_punct: bool = False,
    asian_support: bool = False,
    case_sensitive: bool = False,
    scale: list[float] | None = None,
) -> Score:
    """The translation edit rate on `scale`, 1 at its low end; null without a scale, because the rate has no upper end.

    With `scale: [0, 100]` a rate of 25 is 0.75. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references.
        normalized: split punctuation off first.
        no_punct: drop punctuation.
        asian_support: take characters of Asian scripts one by one.
        case_sensitive: keep case.
        scale: the rates that count as 1 and as 0.

    Example:
        `{"func": "ter", "parameters": {"gold": "the cat is on the mat", "scale": [0, 100]}}`
    """
    return score_by(
        "ter",
        prediction,
        gold,
        scale=scale,
        normalized=normalized,
        no_punct=no_punct,
        asian_support=asian_support,
        case_sensitive=case_sensitive,
    )


@scorer(reads="text", validate=valid("rouge"))
def rouge(
    prediction: str,
    *,
    gold: str | list[str],
    kind: Literal["rouge1", "rouge2", "rougeL", "rougeLsum"] = "rougeL",
    part: Literal["fmeasure", "precision", "recall"] = "fmeasure",
    tokenizer: Literal["rouge", "unicode"] = "rouge",
    use_stemmer: bool = False,
) -> Score:
    """ROUGE of the answer against the reference with the best F.

    The tokenizer `rouge` keeps a-z and 0-9 only, as rouge-score does: for any other script name `unicode`. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references.
        kind: `rouge1` words, `rouge2` word pairs, `rougeL` longest common subsequence, `rougeLsum` the same line by line.
        part: which of the three numbers is the score.
        tokenizer: `rouge`, or `unicode` for every script.
        use_stemmer: stem words of more than 3 letters (English).

    Example:
        `{"func": "rouge", "parameters": {"gold": "the cat is on the mat", "kind": "rouge1"}}`
    """
    return score_by(kind, prediction, gold, part=part, tokenizer=tokenizer, use_stemmer=use_stemmer)


@scorer(reads="text", validate=valid("levenshtein"))
def levenshtein(prediction: str, *, gold: str | list[str], edits: Literal["levenshtein", "damerau", "indel"] = "levenshtein") -> Score:
    """1 - edits / longest text, the best over several references.

    "kitten" against "sitting" is 1 - 3/7. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references.
        edits: `damerau` also swaps neighbours; `indel` has no substitution and divides by both lengths.

    Example:
        `{"func": "levenshtein", "parameters": {"gold": "Reykjavik"}}`
    """
    return score_by("levenshtein", prediction, gold, edits=edits)


@scorer(reads="text", validate=valid("levenshtein_distance"))
def levenshtein_distance(
    prediction: str,
    *,
    gold: str | list[str],
    edits: Literal["levenshtein", "damerau", "indel"] = "levenshtein",
    scale: list[float] | None = None,
) -> Score:
    """The number of edits on `scale`, 1 at its low end; null without a scale, because it has no upper end.

    Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references, the nearest counts.
        edits: `damerau` also swaps neighbours; `indel` has no substitution.
        scale: the numbers of edits that count as 1 and as 0.

    Example:
        `{"func": "levenshtein_distance", "parameters": {"gold": "Reykjavik", "scale": [0, 3]}}`
    """
    return score_by("levenshtein_distance", prediction, gold, scale=scale, edits=edits)


@scorer(reads="text", validate=valid("jaro_winkler"))
def jaro_winkler(prediction: str, *, gold: str | list[str], prefix_weight: float = 0.1) -> Score:
    """The Jaro-Winkler similarity, the best over several references.

    Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references.
        prefix_weight: what each of the first 4 common characters adds, 0 to 0.25.

    Example:
        `{"func": "jaro_winkler", "parameters": {"gold": "MARTHA"}}`
    """
    return score_by("jaro_winkler", prediction, gold, prefix_weight=prefix_weight)
