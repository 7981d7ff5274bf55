"""Readability, specificity, hedging language and bertscore."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalsuite.core.errors import MissingExtraError
from evalsuite.core.metric import MetricError
from evalsuite.core.runtime import extra_line
from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.bertscore import TinyEmbedder, TransformersEmbedder
from evalsuite.scorers.metrics.prose import DISCLAIMER, proper
from tests.scorers.metrics.hash_embedder import HashEmbedder


def test_readability_of_nothing() -> None:
    """A text without words has no reading ease; upstream gave it 206.84."""
    assert get_metric("readability").evaluate("...") is None
    assert get_metric("readability", variant="upstream").evaluate("") == 206.84


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met Anna in Oslo", 1.0),
        ("See Oslo soon", 1.0),
        ("Nobody came to us. Nothing happened then", 0.0),
        ("He paid 5 of all his many coins now ok", 0.5),
    ],
)
def test_names_and_numbers(text: str, expected: float) -> None:
    """A capital counts unless it begins a sentence; a digit always does."""
    assert proper(text) == pytest.approx(expected)


def test_specificity_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without wordfreq there is an error with the pip line; a text without words is undefined either way."""
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(MissingExtraError) as caught:
        get_metric("specificity").evaluate("Oslo is a city")
    assert caught.value.hint == extra_line("wordfreq")
    assert get_metric("specificity").evaluate("...") is None


@pytest.mark.parametrize(("options", "value"), [({}, 0), ({"match": "word"}, 1)])
def test_vague_words_inside_others(options: dict[str, str], value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The "some" of "something" counts as Arthur Bench counts it, not if whole words are asked for."""
    monkeypatch.setitem(sys.modules, "wordfreq", SimpleNamespace(word_frequency=lambda *_, **__: 0))
    assert get_metric("specificity", **options).detailed_evaluate("He said something").details["vague"] == value


def test_hedging_by_vectors() -> None:
    """With vectors the disclaimer itself is 1, and the threshold decides the category."""
    metric = get_metric("hedging_language", embedder=HashEmbedder(), threshold=0.9)
    assert metric(DISCLAIMER) == pytest.approx(1)
    near = metric.detailed_evaluate("As an AI language model, I don't have any view.")
    assert near.value is not None
    assert 0.3 < near.value < 0.9
    assert near.details["category"] == "no hedging"


def test_bertscore_with_a_hash_embedder() -> None:
    """Equal words match whatever their order; a text without words matches only another one."""
    metric = get_metric("bertscore", embedder=HashEmbedder(size=256), precision_weight=None)
    assert metric("the cat sat", "sat the cat") == pytest.approx(1)
    assert metric("the cat sat", "dogs ran home") < 0.5
    assert (metric("...", "!"), metric("", "cat")) == (1, 0)
    assert "embedder:hash-256" in metric.signature


def test_bertscore_downloads_nothing(tmp_path: Path) -> None:
    """Without a model, or with one that is no local folder, there is an error before anything is loaded."""
    with pytest.raises(MetricError, match="needs `model`"):
        get_metric("bertscore").evaluate("a", "a")
    with pytest.raises(MetricError, match="no local folder"):
        get_metric("bertscore", model="microsoft/deberta-v3-base").evaluate("a", "a")
    for name in ("bertscore", "hedging_language"):
        assert get_metric(name, model="models/m", layer=3).signature != get_metric(name, model="models/m").signature
        assert TransformersEmbedder("models/m").signature == "m-L-1"
        assert "|layer:-1|" in get_metric(name, model="models/m").signature


def test_bertscore_with_a_tiny_model(tmp_path: Path) -> None:
    """A randomly initialised model from a local folder gives 1 for a text against itself and less for another."""
    pytest.importorskip("torch", reason="needs the extra bertscore")
    transformers = pytest.importorskip("transformers", reason="needs the extra bertscore")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "dog", "ran"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    transformers.BertTokenizerFast(vocab_file=str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    transformers.BertModel(transformers.BertConfig(vocab_size=len(words), **size)).save_pretrained(tmp_path)
    metric = get_metric("bertscore", model=str(tmp_path))
    assert metric("the cat sat", "the cat sat") == pytest.approx(1, abs=1e-4)
    assert metric("the dog ran", "the cat sat") < 0.9999
    assert metric("", "the cat") == 0


def test_letters_of_words() -> None:
    """Each word has the counts of its runs of three letters, in any case."""
    rows = TinyEmbedder(size=7).embed("Aa, aaa é")
    assert rows.shape == (3, 7)
    assert rows.sum(axis=1).tolist() == [2, 3, 1]
    assert (TinyEmbedder().signature, TinyEmbedder().embed("...").shape) == ("tiny-256", (0, 256))
    assert TinyEmbedder().embed("AB").tolist() == TinyEmbedder().embed("ab").tolist()
