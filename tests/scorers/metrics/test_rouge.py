"""ROUGE against a plain model, its tokenizers and its stemmer."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.rouge import lcs_length, lcs_places
from tests.models.subsequence import f_measure, lcs, union_places
from tests.properties import examples

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
