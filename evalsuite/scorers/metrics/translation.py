"""BLEU, chrF and TER by sacrebleu, for one segment and for a corpus."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import MissingExtraError
from evalsuite.core.metric import Direction, Measure, Metric, MetricError, text_of
from evalsuite.core.scores import Within


def sacrebleu_metrics() -> Any:
    """Import `sacrebleu.metrics`, also in a sandbox without a writable folder.

    A dependency of sacrebleu requires a temporary folder at import, and fails without one.
    """
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        tempfile.tempdir = os.sep
        try:
            return import_module("sacrebleu.metrics")
        finally:
            tempfile.tempdir = None
    return import_module("sacrebleu.metrics")


Order = Annotated[int, Within(1, 1000)]


@dataclass(frozen=True, kw_only=True)
class SacreMetric(Metric):
    """A metric computed by sacrebleu. The corpus score is not the mean of the segments' scores: see `evaluate_corpus`."""

    parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    def build(self, *, corpus: bool) -> Any:
        """Return the sacrebleu object with these options, for single segments or for a corpus."""
        del corpus
        return getattr(sacrebleu_metrics(), self.name.upper())(**self.options)

    def details_of(self, score: Any) -> dict[str, Any]:
        """Return the attributes of a sacrebleu score that `parts` lists."""
        return {name: convert(getattr(score, name)) for name, convert in self.parts.items()}

    @property
    def options(self) -> dict[str, Any]:
        """Return the options under sacrebleu's names."""
        return {option.name: getattr(self, option.name) for option in fields(self) if option.name != "field"}

    @cached_property
    def sentence_scorer(self) -> Any:
        """The sacrebleu object for single segments, created once."""
        return self.build(corpus=False)

    @cached_property
    def corpus_scorer(self) -> Any:
        """The sacrebleu object for a corpus, created once."""
        return self.build(corpus=True)

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the segment's score on sacrebleu's scale."""
        score = self.sentence_scorer.sentence_score(prediction, list(references))
        return Measure(value=float(score.score), details=self.details_of(score))

    def evaluate_corpus(self, predictions: Sequence[Any], references: Sequence[Any]) -> Measure:
        """Return the score of n segments together. Each reference is one text or a list; lists may have different lengths.

        Raises `MetricError` if there is no segment or the lengths differ.
        """
        pairs = self.pairs(predictions, references)
        if not pairs:
            raise MetricError("no segments to score", code="empty")
        lists = [self.references_of(reference) for _, reference in pairs]
        if not all(lists):
            raise MetricError(f"{self.name} needs a reference for every segment", code="no_reference")
        most = max(map(len, lists))
        # sacrebleu needs one stream per reference position; None fills in for a segment with fewer.
        streams = [[texts[i] if i < len(texts) else None for texts in lists] for i in range(most)]
        score = self.corpus_scorer.corpus_score([text_of(p, self.field) for p, _ in pairs], streams)
        return Measure(value=float(score.score), details=self.details_of(score))

    def versions(self) -> list[str]:
        """Return sacrebleu's version and our own."""
        from importlib.metadata import version

        return [f"sacrebleu:{version('sacrebleu')}", *super().versions()]


@dataclass(frozen=True, kw_only=True)
class Bleu(SacreMetric):
    """The answer's sentence BLEU divided by 100; `details.raw` has the raw 0 to 100.

    The mean over instances is not the corpus BLEU, which `metrics.bleu` gives.

    Range: 0 to 1, higher is better. Source: sacrebleu.

    Args:
        tokenize: sacrebleu's tokenizer; `13a` takes a Chinese sentence as one token.
        lowercase: lower-case both sides.
        smooth_method: the smoothing of n-gram orders without a match.
        smooth_value: its constant for `floor` and `add-k`.
        max_ngram_order: the longest n-gram.
        effective_order: leave out orders longer than the answer, so that "the cat" against itself is 1.

    Example:
        `{"func": "bleu", "parameters": {"gold": ["the cat is on the mat", "there is a cat on the mat"]}}`
    """

    name: ClassVar[str] = "bleu"
    high: ClassVar[float | None] = 100.0
    # Precisions, brevity penalty and both lengths in tokens.
    parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "precisions": lambda values: list(map(float, values)),
        **{"bp": float, "sys_len": int, "ref_len": int},
    }

    tokenize: Literal["13a", "none", "zh", "intl", "char", "ja-mecab", "ko-mecab"] = "13a"
    lowercase: bool = False
    smooth_method: Literal["exp", "floor", "add-k", "none"] = "exp"
    smooth_value: Annotated[float, Within(0, 1000)] | None = None
    max_ngram_order: Order = 4
    effective_order: bool = True

    def build(self, *, corpus: bool) -> Any:
        """Return a sacrebleu `BLEU`; as in sacrebleu, a corpus never uses the effective order."""
        try:
            return sacrebleu_metrics().BLEU(**self.options | {"effective_order": self.effective_order and not corpus})
        except RuntimeError as error:
            # The two mecab tokenizers are separate packages.
            hint = f"pip install 'sacrebleu[{self.tokenize[:2]}]'"
            raise MissingExtraError(f"bleu needs a package for the tokenizer {self.tokenize}", other=hint) from error


@dataclass(frozen=True, kw_only=True)
class Chrf(SacreMetric):
    """The answer's chrF divided by 100; `details.raw` has the raw 0 to 100.

    Range: 0 to 1, higher is better. Source: sacrebleu.

    Args:
        char_order: the longest character n-gram.
        word_order: the longest word n-gram; 2 is chrF++.
        beta: how much more recall counts than precision.
        lowercase: lower-case both sides.
        whitespace: count white space as a character.
        eps_smoothing: the smoothing of nltk and Moses instead of the effective order.

    Example:
        `{"func": "chrf", "parameters": {"gold": "the cat is on the mat", "word_order": 2}}`
    """

    name: ClassVar[str] = "chrf"
    high: ClassVar[float | None] = 100.0

    char_order: Order = 6
    word_order: Annotated[int, Within(0, 1000)] = 0
    beta: Annotated[int, Within(0, 1000)] = 2
    lowercase: bool = False
    whitespace: bool = False
    eps_smoothing: bool = False


@dataclass(frozen=True, kw_only=True)
class Ter(SacreMetric):
    """The translation edit rate mapped by `scale`, 1 at its low end; null without a scale, because the rate is unbounded.

    With `scale: [0, 100]` a rate of 25 is 0.75.

    Range: 0 or more, in percent of the reference's words, lower is better; 0 to 1 with `scale`. Source: sacrebleu.

    Args:
        normalized: split punctuation off first.
        no_punct: drop punctuation.
        asian_support: treat characters of Asian scripts as words.
        case_sensitive: keep case.
        scale: the rates that count as 1 and as 0.

    Example:
        `{"func": "ter", "parameters": {"gold": "the cat is on the mat", "scale": [0, 100]}}`
    """

    name: ClassVar[str] = "ter"
    high: ClassVar[float | None] = None
    direction: ClassVar[Direction] = "lower"
    # Edits, and the mean length of the references in words.
    parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"num_edits": int, "ref_length": float}

    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
    case_sensitive: bool = False
