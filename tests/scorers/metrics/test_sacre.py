"""BLEU, chrF and TER: the facts people trip over."""

import sys

import pytest

from evalsuite.core.errors import MissingExtraError
from evalsuite.core.metric import MetricError
from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.translation import Bleu
from tests.processes import finished


def test_a_short_text_against_itself() -> None:
    """The effective order makes "the cat" 100 against itself; without it there is no 4-gram and the score is 0."""
    assert get_metric("bleu")("the cat", "the cat") == pytest.approx(100)
    assert get_metric("bleu", effective_order=False)("the cat", "the cat") == 0
    assert get_metric("bleu")("", "") == 0


def test_the_corpus_score_is_not_the_mean() -> None:
    """The corpus score pools the n-grams of all segments, and knows several references of unequal number."""
    metric = Bleu()
    predictions = ["the cat sat on the mat today", "all wrong"]
    references = [["the cat sat on a mat today", "the cat sat on the mat today"], "a dog ran home"]
    whole = metric.evaluate_corpus(predictions, references)
    mean = metric.aggregate(metric.evaluate_batch(predictions, references)).mean
    assert whole.value is not None
    assert abs(whole.value - mean) > 1
    assert whole.details["sys_len"] == 9


def test_a_corpus_needs_segments_and_references() -> None:
    """No segment, unequal lengths and a segment without a reference are errors."""
    for predictions, references in (([], []), (["a"], ["a", "b"]), (["a"], [None])):
        with pytest.raises(MetricError):
            Bleu().evaluate_corpus(predictions, references)


def test_the_signature_names_the_tokenizer_and_sacrebleu() -> None:
    """Two runs compare only under one tokenizer and one sacrebleu."""
    assert "tokenize:zh" in get_metric("bleu", tokenize="zh").signature
    assert "sacrebleu:" in get_metric("chrf").signature


def test_a_tokenizer_that_is_not_installed_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Japanese tokenizer needs a package of its own, and the error gives the pip line."""
    monkeypatch.setitem(sys.modules, "MeCab", None)
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", raising=False)
    with pytest.raises(MissingExtraError) as caught:
        get_metric("bleu", tokenize="ja-mecab").evaluate("猫", "猫")
    assert "sacrebleu[ja]" in caught.value.hint


def test_it_works_where_nothing_can_be_written() -> None:
    """Without any temporary folder, as behind a worker's walls, sacrebleu still loads, and the setting is as before."""
    code = (
        "import os, tempfile\n"
        "tempfile._get_default_tempdir = lambda *_: (_ for _ in ()).throw(FileNotFoundError())\n"
        "from evalsuite.scorers.metrics import get_metric\n"
        "print(get_metric('chrf')('a', 'a'), tempfile.tempdir)"
    )
    shown = finished([sys.executable, "-c", code], check=True).stdout
    assert shown.split() == ["100.0", "None"]
