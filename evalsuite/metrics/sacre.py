"""What BLEU, chrF and TER share: a sacrebleu metric behind this room's base, for one segment and for a corpus."""

import os
import tempfile
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from evalsuite.metrics.base import Measure, Metric, MetricError, text_of


def sacrebleu_metrics() -> Any:
    """The module `sacrebleu.metrics`, also behind walls where nothing can be written.

    A package below sacrebleu asks for the temporary folder when it is imported, and finding none is an error there.
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


@dataclass(frozen=True, kw_only=True)
class SacreMetric(Metric):
    """A metric that sacrebleu computes. The corpus score is not the mean of the segments' scores: see `evaluate_corpus`."""

    @abstractmethod
    def build(self, *, corpus: bool) -> Any:
        """The sacrebleu object with these options, for single segments or for a corpus."""

    @abstractmethod
    def details_of(self, score: Any) -> dict[str, Any]:
        """What the details show of a sacrebleu score."""

    @cached_property
    def sentence_scorer(self) -> Any:
        """The sacrebleu object for single segments, made once."""
        return self.build(corpus=False)

    @cached_property
    def corpus_scorer(self) -> Any:
        """The sacrebleu object for a corpus, made once."""
        return self.build(corpus=True)

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The segment's score on sacrebleu's scale."""
        score = self.sentence_scorer.sentence_score(prediction, list(references))
        return Measure(value=float(score.score), details=self.details_of(score))

    def evaluate_corpus(self, predictions: Sequence[Any], references: Sequence[Any]) -> Measure:
        """The score of n segments together; each reference is one text or a list, as long as the longest where they differ.

        Raises `MetricError` where there is no segment or the lengths differ.
        """
        pairs = self.pairs(predictions, references)
        if not pairs:
            raise MetricError("no segments to score", code="empty")
        lists = [self.references_of(reference) for _, reference in pairs]
        if not all(lists):
            raise MetricError(f"{self.name} needs a reference for every segment", code="no_reference")
        most = max(map(len, lists))
        # sacrebleu wants one stream a reference position; None stands for a segment that has fewer.
        streams = [[texts[i] if i < len(texts) else None for texts in lists] for i in range(most)]
        score = self.corpus_scorer.corpus_score([text_of(p, self.field) for p, _ in pairs], streams)
        return Measure(value=float(score.score), details=self.details_of(score))

    def versions(self) -> list[str]:
        """sacrebleu's version beside our own."""
        from importlib.metadata import version

        return [f"sacrebleu:{version('sacrebleu')}", *super().versions()]
