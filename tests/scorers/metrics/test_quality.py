"""Readability, specificity, hedging language and bertscore."""

import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalsuite.core.errors import MissingExtraError
from evalsuite.core.metric import MetricError
from evalsuite.core.runtime import extra_line
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.bertscore import TinyEmbedder, TransformersEmbedder, greedy_match
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


def test_rounding_leaves_no_value_above_1() -> None:
    """The cosine of this vector with itself is 1.0000000000000002."""
    one = SimpleNamespace(embed=lambda _: [[0.1, 0.7, 0.5]], signature="one")
    assert greedy_match(one.embed(""), one.embed("")).f1 > 1
    assert (get_metric("bertscore", embedder=one)("a", "b"), get_metric("hedging_language", embedder=one)("a")) == (1, 1)


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


class Vectors(list[Any]):
    """Stands in for the arrays of a library: what it holds, as numpy."""

    def numpy(self) -> Any:
        """The array."""
        import numpy as np

        return np.array(list(self))


@pytest.mark.parametrize(("longest", "of_the_model", "layer"), [(4, 512, -1), (10**30, 6, 0), (7, None, 1)])
def test_what_a_local_model_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, longest: int, of_the_model: Any, layer: int) -> None:
    """Texts are cut at the smaller of both limits, special tokens are left out, and the named layer gives the vectors."""
    asked: list[Any] = []

    def tokenize(text: str, **options: Any) -> Any:
        asked.append((text, options))
        return {"ids": [1, 2, 3], "special_tokens_mask": [Vectors([1, 0, 1])]}

    def run(**encoded: Any) -> Any:
        asked.append(encoded)
        return SimpleNamespace(hidden_states=[[Vectors([[at, 0.5], [at, 1.5], [at, 2.5]])] for at in range(3)])

    tokenize.model_max_length = longest  # type: ignore[attr-defined]
    run.config = SimpleNamespace(**({"max_position_embeddings": of_the_model} if of_the_model else {}))  # type: ignore[attr-defined]
    model = SimpleNamespace(eval=lambda: run)
    loaded: list[Any] = []
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(inference_mode=nullcontext))
    made = {"AutoTokenizer": tokenize, "AutoModel": model}

    def load(one: Any) -> Any:
        return SimpleNamespace(from_pretrained=lambda *args, **keys: loaded.append((args, keys)) or one)

    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(**{name: load(one) for name, one in made.items()}))
    embedder = TransformersEmbedder(str(tmp_path), layer)
    assert embedder.embed("a text").tolist() == [[layer % 3, 1.5]]
    options = {"return_tensors": "pt", "truncation": True, "return_special_tokens_mask": True}
    options["max_length"] = min(longest, of_the_model or 512)
    assert asked == [("a text", options), {"ids": [1, 2, 3], "output_hidden_states": True}]
    assert loaded == [((str(tmp_path),), {"local_files_only": True})] * 2
    assert embedder.signature == f"{tmp_path.name}-L{layer}"
    assert embedder.embed("b").shape == (1, 2)
    assert len(loaded) == 2


def test_letters_of_words() -> None:
    """Each word has the counts of its runs of three letters, in any case."""
    rows = TinyEmbedder(size=7).embed("Aa, aaa é")
    assert rows.shape == (3, 7)
    assert rows.sum(axis=1).tolist() == [2, 3, 1]
    assert (TinyEmbedder().signature, TinyEmbedder().embed("...").shape) == ("tiny-256", (0, 256))
    assert TinyEmbedder().embed("AB").tolist() == TinyEmbedder().embed("ab").tolist()


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("readability", ["    scale: the values that count as 0 and as 1.", "    gold: not used."]),
        ("bleu", ["    gold: the reference or references."]),
    ],
)
def test_what_a_scorers_help_says_of_gold_and_scale(name: str, lines: list[str]) -> None:
    """As the metric uses them."""
    documented = (SCORERS.load(name).function.__doc__ or "").splitlines()
    assert [line for line in documented if line.startswith(("    gold: ", "    scale: "))] == lines
