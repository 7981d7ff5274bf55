"""Metrics of texts by tables of cases, against plain models, and the facts people trip over."""

import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.errors import MissingExtraError
from evalsuite.core.metric import MetricError
from evalsuite.core.runtime import extra_line
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.bertscore import TinyEmbedder, TransformersEmbedder, greedy_match
from evalsuite.scorers.metrics.prose import DISCLAIMER, proper, words
from evalsuite.scorers.metrics.rouge import lcs_length, lcs_places
from evalsuite.scorers.metrics.translation import Bleu
from tests.models.subsequence import f_measure, lcs, union_places
from tests.processes import finished
from tests.properties import examples
from tests.scorers.metrics.hash_embedder import HashEmbedder

EXACT: list[tuple[str, str, dict[str, Any], float]] = [
    ("Paris", "Paris", {}, 1), ("paris", "Paris", {}, 0), ("paris", "Paris", {"ignore_case": True}, 1), (" Paris\u00a0", "Paris", {}, 1),
    (" Paris", "Paris", {"normalize_whitespace": False}, 0), ("cafe\u0301", "café", {}, 1),
    ("cafe\u0301", "café", {"variant": "issue_literal"}, 0), ("STRASSE", "straße", {"ignore_case": True}, 1),
    ("hello !", "hello", {"ignore_punctuation": True}, 1),
    ("hello !", "hello", {"ignore_punctuation": True, "variant": "issue_literal"}, 0), ("a \n b", "a b", {"variant": "issue_literal"}, 1),
    ("a  b", "a b", {"variant": "issue_literal", "normalize_whitespace": False}, 0), ("«Да»", "Да", {"ignore_punctuation": True}, 1),
    ("价格：5$", "价格5", {"ignore_punctuation": True}, 1), ("5 €", "5", {"ignore_punctuation": True}, 0), ("ﬁn", "fin", {}, 0),
    ("the Paris!", "Paris", {"variant": "squad"}, 1), ("Paris", "paris", {"variant": "arthur", "ignore_case": True}, 1),
    ("Paris ", "Paris", {"variant": "arthur"}, 0),
]  # fmt: skip
F1: list[tuple[str, str, dict[str, Any], float]] = [
    ("the cat sat", "a cat sat", {}, 1), ("Paris.", "paris", {}, 1), ("", "", {}, 1), ("the", "a", {}, 1), ("", "x", {}, 0),
    ("Paris.", "paris", {"variant": "multiset"}, 0), ("a a", "a a", {"variant": "multiset"}, 1),
    ("a a", "a a", {"variant": "issue_set"}, 0.5), ("a b  ", "a b", {"variant": "issue_set"}, 1),
    (" a b", "a b", {"variant": "issue_set"}, 0.8), ("the cat", "cat", {"normalize_whitespace": False}, 2 / 3),
    ("the  cat", "the cat", {"normalize_whitespace": False}, 0.8), ("The Cat", "cat", {"ignore_case": False}, 0),
    ("The cat", "cat", {"ignore_case": False}, 1), ("cat!", "cat", {"ignore_punctuation": False}, 0),
    ("cat!", "cat", {"variant": "multiset", "ignore_punctuation": True}, 1), ("the cat", "cat", {"variant": "multiset"}, 2 / 3),
    ("", "", {"variant": "desiru_repo"}, 0), ("日本語", "日本", {}, 0), ("日本語", "日本", {"tokens": "char"}, 0.8),
    ("日本 go", "日本", {"tokens": "regex"}, 0.8), ("Ёлка!", "ёлка", {"tokens": "regex"}, 1),
    ("Ёлка!", "ёлка", {"tokens": "regex", "ignore_case": False}, 0), ("“Paris”, I", "paris, i", {}, 0.5),
    ("“Paris”, I", "paris, i", {"ignore_case": True}, 0.5), ("“Paris”, I", "Paris, I", {"ignore_case": False}, 0.5),
    ("“Paris”, I", "paris, i", {"ignore_punctuation": True}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("prediction", "reference", "options", "expected"), EXACT)
def test_exact_match(prediction: str, reference: str, options: dict[str, Any], expected: float) -> None:
    """Each flag and variant does what it says."""
    assert get_metric("exact_match", **options)(prediction, reference) == expected


def test_two_texts_of_punctuation_are_equal_with_a_note() -> None:
    """Dropping punctuation can empty both sides: that match is said."""
    found = get_metric("exact_match", ignore_punctuation=True).detailed_evaluate("!!!", "???")
    assert found.value == 1
    assert found.details == {"category": "match", "note": "both texts are empty after normalisation"}


@pytest.mark.parametrize(("prediction", "reference", "options", "expected"), F1)
def test_f1(prediction: str, reference: str, options: dict[str, Any], expected: float) -> None:
    """Each variant and way of cutting gives its own value."""
    assert get_metric("f1", **options)(prediction, reference) == pytest.approx(expected)


@pytest.mark.parametrize(("text", "expected"), [
    ("don't stop", ["don't", "stop"]), ("'quoted' words", ["quoted", "words"]), ("well-known fact", ["wellknown", "fact"]),
    ("we'll, they've", ["we'll", "they've"]), ("rock 'n' roll", ["rock", "n", "roll"]), ("a - b", ["a", "b"]), ("...", []),
])  # fmt: skip
def test_words(text: str, expected: list[str]) -> None:
    """Apostrophes of contractions stay, other signs go without leaving a space."""
    assert words(text) == expected


@pytest.mark.parametrize(("edits", "distance", "similarity"), [("levenshtein", 2, 0.5), ("damerau", 1, 0.75), ("indel", 2, 0.75)])
def test_edits(edits: str, distance: float, similarity: float) -> None:
    """A swap of neighbours is two edits, one with damerau; indel divides by both lengths."""
    assert get_metric("levenshtein_distance", edits=edits)("abdc", "abcd") == distance
    assert get_metric("levenshtein", edits=edits)("abdc", "abcd") == similarity


TOKENS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=14)
LINES = st.lists(TOKENS, max_size=4)


@examples(200)
@given(first=TOKENS, second=TOKENS)
def test_subsequence_equals_the_plain_table(first: list[str], second: list[str]) -> None:
    """Length and places of the longest common subsequence are those of the textbook."""
    assert lcs_length(first, second) == lcs(first, second)
    assert set(lcs_places(first, second)) == union_places(first, [second])


@examples(100)
@given(prediction=TOKENS, reference=TOKENS)
def test_rouge_l_and_n_equal_the_plain_model(prediction: list[str], reference: list[str]) -> None:
    """ROUGE-L and ROUGE-1 are the F-measures of a plain table and of plain counts."""
    a, b = " ".join(prediction), " ".join(reference)
    sizes = (len(prediction), len(reference))
    assert get_metric("rougeL")(a, b) == pytest.approx(f_measure(lcs(prediction, reference), *sizes))
    shared = sum(min(count, Counter(reference)[token]) for token, count in Counter(prediction).items())
    assert get_metric("rouge1")(a, b) == pytest.approx(f_measure(shared, *sizes))


@examples(100)
@given(prediction=LINES, reference=LINES)
def test_rouge_lsum_equals_the_plain_model(prediction: list[list[str]], reference: list[list[str]]) -> None:
    """ROUGE-Lsum unites the subsequences of each line and counts a token at most as often as it stands on either side."""
    a, b = ("\n".join(" ".join(line) for line in lines) for lines in (prediction, reference))
    united = Counter(line[place] for line in reference for place in union_places(line, prediction))
    own, other = (Counter(token for line in lines for token in line) for lines in (prediction, reference))
    hits = (united & own & other).total()
    assert get_metric("rougeLsum")(a, b) == pytest.approx(f_measure(hits, own.total(), other.total()))


def test_the_reference_with_the_best_f_is_taken_whatever_part_is_asked() -> None:
    """Precision is that of the reference with the best F, not the best precision."""
    references = ["a b c d e f g h", "a b x"]
    assert get_metric("rouge1", part="precision")("a b c", references) == pytest.approx(2 / 3)
    assert get_metric("rouge1")("a b c", references) == pytest.approx(2 / 3)
    assert get_metric("rouge1").score("a b c", references).reason.startswith("rouge1 0.6667")


def test_a_short_text_against_itself() -> None:
    """The effective order makes "the cat" 100 against itself; without it the score is 0. Signatures name tokenizer and sacrebleu."""
    assert get_metric("bleu")("the cat", "the cat") == pytest.approx(100)
    assert get_metric("bleu", effective_order=False)("the cat", "the cat") == 0
    assert get_metric("bleu")("", "") == 0
    assert "tokenize:zh" in get_metric("bleu", tokenize="zh").signature
    assert "sacrebleu:" in get_metric("chrf").signature


def test_the_corpus_score_is_not_the_mean() -> None:
    """The corpus score pools the n-grams of all segments, each with its references; without a segment or a reference there is an error."""
    metric = Bleu()
    predictions = ["the cat sat on the mat today", "all wrong"]
    references = [["the cat sat on a mat today", "the cat sat on the mat today"], "a dog ran home"]
    whole = metric.evaluate_corpus(predictions, references)
    mean = metric.aggregate(metric.evaluate_batch(predictions, references)).mean
    assert whole.value is not None
    assert abs(whole.value - mean) > 1
    assert whole.details["sys_len"] == 9
    for predictions, references in (([], []), (["a"], ["a", "b"]), (["a"], [None])):  # type: ignore[assignment]
        with pytest.raises(MetricError):
            metric.evaluate_corpus(predictions, references)


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


def test_readability_of_nothing() -> None:
    """A text without words has no reading ease; upstream gave it 206.84."""
    assert get_metric("readability").evaluate("...") is None
    assert get_metric("readability", variant="upstream").evaluate("") == 206.84


@pytest.mark.parametrize(("text", "expected"), [
    ("We met Anna in Oslo", 1.0),
    ("See Oslo soon", 1.0),
    ("Nobody came to us. Nothing happened then", 0.0),
    ("He paid 5 of all his many coins now ok", 0.5),
])  # fmt: skip
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


@pytest.mark.parametrize(("name", "lines"), [
    ("readability", ["    scale: the values that count as 0 and as 1.", "    gold: not used."]),
    ("bleu", ["    gold: the reference or references."]),
])  # fmt: skip
def test_what_a_scorers_help_says_of_gold_and_scale(name: str, lines: list[str]) -> None:
    """As the metric uses them."""
    documented = (SCORERS.load(name).function.__doc__ or "").splitlines()
    assert [line for line in documented if line.startswith(("    gold: ", "    scale: "))] == lines
