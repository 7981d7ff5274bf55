"""The recorded statistics: paired tests, intervals, clustered errors, corrections, ranks, agreement, aggregates, sample sizes, pages."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy

from evalsuite.reports.viewer.views import paginate
from evalsuite.stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from evalsuite.stats.intervals import (
    Interval,
    bootstrap_interval,
    clustered_se,
    normal_interval,
    proportion_interval,
    resampled_totals,
    segment_bootstrap,
    t_interval,
)
from evalsuite.stats.samples import aggregate, competition_ranks, histogram, mean, pass_at_k, sample_sd
from evalsuite.stats.significance import (
    PairedTest,
    adjust,
    approximate_randomisation,
    detectable_difference,
    effect_size,
    mcnemar_counts,
    paired_sample_size,
    paired_t,
    segment_bootstrap_test,
    sign_flip,
    wilcoxon,
)
from tests.conformance.recorded import STATISTICS_KINDS, cases_of, is_in_part, of_each_kind, some_cases_of
from tests.conftest import is_default_corpus

pytestmark = pytest.mark.conformance
Case = dict[str, Any]


def ends(interval: Interval) -> list[float | None]:
    """Both ends of an interval, as the records hold them."""
    return [interval.low, interval.high]


def named(found: object, **names: str) -> Case:
    """Attributes of a result under the names of the records."""
    return {name: getattr(found, ours) for name, ours in names.items()}


def of_mean(case: Case) -> Case:
    """mean_ci: mean, sd, se and two intervals; the two degenerate shapes have mean and sd only."""
    scores, confidence = case["prediction"], case["params"]["confidence"]
    found: Case = {"mean": mean(scores), "sd": sample_sd(scores)}
    if "t_ci" in case["expected"]:
        t, z = t_interval(scores, confidence=confidence), normal_interval(scores, confidence=confidence)
        found |= {"se": t.se, "t_ci": ends(t), "normal_ci": ends(z)}
    return found


def of_proportion(case: Case) -> Case:
    """proportion_ci: five intervals; statsmodels calls Clopper-Pearson "beta"."""
    names = {"wilson": "wilson", "beta": "clopper_pearson", "agresti_coull": "agresti_coull", "normal": "normal", "jeffreys": "jeffreys"}
    counts, confidence = case["prediction"], case["params"]["confidence"]
    return {name: ends(proportion_interval(**counts, confidence=confidence, method=ours)) for name, ours in names.items()}


def of_paired_t(case: Case) -> Case:
    """paired_t: the test and its interval; without differences t is None and p 1."""
    test = paired_t(case["prediction"], case["references"], **case["params"])
    found: Case = {"t": test.statistic, "p": test.p, "mean_diff": test.difference}
    if "df" in case["expected"]:
        found |= {"df": test.details["df"], "ci95": ends(test.interval), "se": test.interval.se}
    return found


def of_family(case: Case) -> Case:
    """multiple_testing: five corrections, adjusted and decided at alpha."""
    names = {"holm": "holm", "bonferroni": "bonferroni", "fdr_bh": "bh", "fdr_by": "by", "holm-sidak": "holm_sidak"}
    found: Case = {}
    for name, ours in names.items():
        adjusted = adjust(case["prediction"], ours)
        found[name] = {"adjusted": adjusted, "reject": [p <= case["params"]["alpha"] for p in adjusted]}
    return found


def of_rank_correlation(case: Case) -> Case:
    """rank_correlation: tau-b and Spearman, which are scipy's, as far as a list has an order."""
    pair = case["prediction"], case["references"]
    has_order = all(len(set(side)) > 1 for side in pair)
    return {
        "kendall_tau_b": float(scipy.stats.kendalltau(*pair).statistic) if has_order else None,
        "spearman": float(scipy.stats.spearmanr(*pair).statistic) if has_order else None,
    }


def of_test(test: Callable[..., PairedTest], case: Case, taken: Iterable[str], **names: str) -> Case:
    """wilcoxon, permutation_paired: p and what is named; drawing nothing is part of the claim."""
    options = {{"zero_method": "zeros"}.get(name, name): case["params"][name] for name in taken}
    found = test(case["prediction"], case["references"], **options)
    assert found.seed is None
    return named(found, p="p", **names)


def of_page(total: int, page: int, page_size: int) -> Case:
    """paginate: the items of a page and the counts."""
    found = paginate(range(total), page=page, page_size=page_size)
    return {"items": list(found.items), **named(found, total_pages="total_pages", total_count="total_count")}


def of_sample_size(case: Case) -> Case:
    """paired_sample_size: n, and what n can show."""
    options = {"alpha": case["params"]["alpha"], "power": case["params"]["power"], "sd_difference": case["params"]["sd_diff"]}
    n = paired_sample_size(difference=case["params"]["min_diff"], **options)
    return {"n": n, "mde_at_n": detectable_difference(n=n, **options)}


def of_bootstrap(case: Case) -> Case:
    """bootstrap_ci: mean difference, interval and standard error, at the records' own resamples."""
    differences = [x - y for x, y in zip(case["prediction"], case["references"], strict=True)]
    options = case["params"]
    found = bootstrap_interval(
        differences, confidence=options["confidence"], method=options["method"].lower(), n_resamples=options["n_resamples"]
    )
    return {"mean_diff": found.estimate, "ci": ends(found), "se": found.se}


def of_kappa(case: Case) -> float | None:
    """cohen_kappa: the coefficient; the raw agreement where it was recorded."""
    found = cohen_kappa(case["prediction"], case["references"], **case["params"])
    assert found.observed == pytest.approx(case.get("observed_agreement", found.observed))
    assert bool(found.note) == (found.value is None)
    return found.value


def of_run_summary(case: Case) -> Case:
    """run_summary: Arthur's mean and histogram, negative scores left out of the bars."""
    scores, options = case["prediction"], case["params"]
    bars: list[Case]
    if options["categorical"]:
        bars = [{"count": scores.count(i), "category": name} for i, name in enumerate(options["categories"])]
    else:
        bars = [{"count": b.count, "low": b.low, "high": b.high} for b in histogram(scores, n_bins=options["bins"])]
    return {"avg_score": aggregate(scores).mean, "histogram": bars, "dropped": sum(score < 0 for score in scores)}


DEVIATIONS = {"std_sample": "sd", "std_population": "sd_population", "count": "n"}
ERRORS = {"naive_se": "naive", "cr0": "cr0", "cr1": "cr1", "clt_plus_cross": "miller"}
ANSWERS: dict[str, Callable[[Case], Any]] = {
    "aggregate": lambda case: named(aggregate(case["prediction"]), mean="mean", min="min", max="max", median="median", **DEVIATIONS),
    "bootstrap_ci": of_bootstrap,
    "clustered_se": lambda case: named(clustered_se(**case["prediction"]), mean="mean", **ERRORS),
    "cohen_kappa": of_kappa,
    "cohens_d": lambda case: named(effect_size(case["prediction"], case["references"]), **{name: name for name in case["expected"]}),
    "competition_ranks": lambda case: {
        how: competition_ranks(case["prediction"], method=how, **case["params"]) for how in ("min", "dense", "average")
    },
    "fleiss_kappa": lambda case: fleiss_kappa(case["prediction"]).value,
    "krippendorff_alpha": lambda case: krippendorff_alpha(case["prediction"], **case["params"]).value,
    "mcnemar": lambda case: {name: mcnemar_counts(case["prediction"][0][1], case["prediction"][1][0])[name] for name in case["expected"]},
    "mean_ci": of_mean,
    "multiple_testing": of_family,
    "paginate": lambda case: of_page(**case["params"]),
    "paired_sample_size": of_sample_size,
    "paired_t": of_paired_t,
    "pass_at_k": lambda case: pass_at_k(case["prediction"]["n"], case["prediction"]["c"], case["params"]["k"]),
    "permutation_paired": lambda case: of_test(sign_flip, case, ("alternative",), mean_diff="difference"),
    "proportion_ci": of_proportion,
    "rank_correlation": of_rank_correlation,
    "run_summary": of_run_summary,
    "wilcoxon": lambda case: of_test(wilcoxon, case, case["params"], statistic="statistic"),
}
# Of these a part is replayed in the line.
DEAR = {"bootstrap_ci", "multiple_testing"}


def differing(found: Any, expected: Any, tol: float, where: str = "") -> Iterator[str]:
    """Each place where an answer is not the recorded one: numbers to `tol`, absolute or relative, everything else equal."""
    if isinstance(expected, dict):
        if not isinstance(found, dict) or found.keys() != expected.keys():
            yield f"{where}: {found} for {expected}"
            return
        for key in expected:
            yield from differing(found[key], expected[key], tol, f"{where}.{key}")
    elif isinstance(expected, list):
        if len(found) != len(expected):
            yield f"{where}: {found} for {expected}"
        for i, (x, y) in enumerate(zip(found, expected, strict=False)):
            yield from differing(x, y, tol, f"{where}[{i}]")
    elif isinstance(expected, float) and not isinstance(found, str | None):
        if not math.isclose(found, expected, abs_tol=tol, rel_tol=tol):
            yield f"{where}: {found} for {expected}"
    elif found != expected:
        yield f"{where}: {found} for {expected}"


@pytest.mark.parametrize("kind", sorted(ANSWERS))
def test_answers_equal_the_record(kind: str) -> None:
    """Every recorded case of a kind is answered within its tolerance; the public corpus holds 439 cases of 18 kinds."""
    assert set(ANSWERS) | {"bootstrap_exact", "corpus_paired_test"} >= STATISTICS_KINDS
    assert not is_default_corpus() or sum(len(cases_of(kind)) for kind in STATISTICS_KINDS) == 439
    wrong = []
    for case in (case for case in some_cases_of(kind) if kind not in DEAR or is_in_part(json.dumps(case))):
        found = list(differing(ANSWERS[kind](case), case["expected"], case["tol"]))
        if found:
            wrong.append((case["id"], found))
    assert wrong == []


def test_drawn_bootstraps_fall_in_the_brackets_of_the_full_enumeration() -> None:
    """bootstrap_exact: 20,000 draws end between the enumerated quantiles around 2.5 and 97.5 %; mean and standard error are exact."""
    for case in cases_of("bootstrap_exact"):
        expected = case["expected"]
        differences = [x - y for x, y in zip(case["prediction"], case["references"], strict=True)]
        found = bootstrap_interval(differences, confidence=case["params"]["confidence"], method="percentile", n_resamples=20_000)
        assert found.estimate == pytest.approx(expected["mean_diff"], abs=1e-6)
        assert found.se == pytest.approx(expected["boot_se"], abs=1e-6)
        assert expected["low_bracket"][0] - 1e-9 <= found.low <= expected["low_bracket"][1] + 1e-9, case["id"]
        assert expected["high_bracket"][0] - 1e-9 <= found.high <= expected["high_bracket"][1] + 1e-9, case["id"]


@cache
def segments(metric: Any, texts: tuple[str, ...], references: tuple[str, ...]) -> Any:
    """A sacrebleu metric's per-segment statistics."""
    return metric._extract_corpus_statistics(texts, [references])


def close(found: float | None, expected: float | None, tol: float) -> bool:
    """Equal to the record's own tolerance, absolute or relative."""
    return found is not None and expected is not None and math.isclose(found, expected, abs_tol=tol, rel_tol=tol)


def test_corpus_tests_equal_sacrebleu() -> None:
    """corpus_paired_test: scores, p and, for the bootstrap, mean and half width of the interval, from per-segment statistics only."""
    sacrebleu = pytest.importorskip("sacrebleu.metrics")
    metrics = {"BLEU": sacrebleu.BLEU(), "chrF2": sacrebleu.CHRF()}
    for case in of_each_kind(cases_of("corpus_paired_test"), lambda case: case["params"]["test"]):
        options, tol, texts = case["params"], case["tol"], case["prediction"]
        drawn = {"n_resamples": options["n_samples"], "seed": options["seed"]}
        for name, metric in metrics.items():

            def score(sums: Any, metric: Any = metric) -> Any:
                return np.asarray([metric._compute_score_from_stats(list(row)).score for row in sums])

            baseline, system = (segments(metric, tuple(texts[side]), tuple(case["references"])) for side in ("baseline", "system"))
            recorded_baseline, recorded = case["expected"][name]
            test = approximate_randomisation if options["test"] == "ar" else segment_bootstrap_test
            found = test(system, baseline, score, **drawn)
            assert found.difference == pytest.approx(recorded["score"] - recorded_baseline["score"], abs=1e-6)
            assert close(found.p, recorded["p"], tol), (case["id"], name, found.p, recorded["p"])
            if recorded["ci"] is not None:
                low_high = segment_bootstrap(system, score, **drawn)
                assert low_high.estimate == pytest.approx(recorded["score"], abs=1e-6)
                assert close(float(score(resampled_totals(system, **drawn)).mean()), recorded["mean"], tol)
                assert (low_high.high - low_high.low) / 2 == pytest.approx(recorded["ci"], rel=0.05)
