"""Which test holds which kind of recorded text case: four sets that together name every kind of the corpus."""

import json
from functools import cache
from typing import Any

import pytest

from tests.conftest import corpus, is_default_corpus

METRIC_KINDS = frozenset(
    {
        "aggregate", "arthur_exact_match", "bertscore_greedy", "bleu_corpus", "bleu_sentence", "chrf_corpus", "chrf_sentence", "composite",
        "exact_match", "f1", "jaro_winkler", "levenshtein", "pass_at_k", "python_unit_testing", "readability", "rouge", "specificity",
        "specificity_vague", "specificity_wordfreq", "squad_em", "squad_f1", "ter_corpus", "ter_sentence", "word_count_match",
    }
)  # fmt: skip
JUDGE_KINDS = frozenset({"judge_parse", "judge_score_1_5", "judge_yes_no"})
STATISTICS_KINDS = frozenset(
    {
        "bootstrap_ci", "bootstrap_exact", "clustered_se", "cohen_kappa", "cohens_d", "competition_ranks", "corpus_paired_test",
        "fleiss_kappa", "krippendorff_alpha", "mcnemar", "mean_ci", "multiple_testing", "paired_sample_size", "paired_t",
        "permutation_paired", "proportion_ci", "rank_correlation", "wilcoxon",
    }
)  # fmt: skip
SUITE_KINDS = frozenset({"paginate", "run_summary"})
ALL_KINDS = METRIC_KINDS | JUDGE_KINDS | STATISTICS_KINDS | SUITE_KINDS


@cache
def recorded_cases() -> tuple[dict[str, Any], ...]:
    """Every recorded text case, in file order; skips the calling test where the corpus is absent."""
    lines = (corpus("text") / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines if line.strip())


def cases_of(kind: str) -> list[dict[str, Any]]:
    """The recorded cases of one kind."""
    return [case for case in recorded_cases() if case["metric"] == kind]


def some_cases_of(kind: str) -> list[dict[str, Any]]:
    """The same; skips the calling test where a named corpus holds none of the kind."""
    cases = cases_of(kind)
    if not cases and not is_default_corpus():
        pytest.skip(f"no recorded case of {kind!r}")
    assert cases
    return cases
