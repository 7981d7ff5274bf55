"""Several samples per question: the mean, the chance that one of k or all k are right, and the sources of variance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evalsuite.stats.intervals import Interval, score_interval
from evalsuite.stats.samples import StatsError, checked, mean, pass_at_k, sample_sd


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """Over n questions: the chance that at least one of k samples is right (`any`), that all k are (`all`), and their standard errors.

    Errors are over questions, None for one question. A sample is right where its score is 1.
    """

    k: int
    any: float
    any_se: float | None
    all: float
    all_se: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """n questions with `n_samples` scores each (least, most); `interval` is that of the mean over questions.

    `question_variance` is how far the questions' true means lie apart, `sample_variance` how far the samples of one question do, both None
    where no question has two samples; `question_share` in [0, 1] is how much of the mean's variance comes from the questions. Half the
    width of the interval takes `questions_to_halve` more questions of as many samples, or `samples_to_halve` more samples of each
    question, None where no number of samples does.
    """

    n_questions: int
    n_samples: tuple[int, int]
    interval: Interval
    passes: tuple[Passes, ...]
    question_variance: float | None
    sample_variance: float | None
    question_share: float | None
    questions_to_halve: int
    samples_to_halve: int | None


def repeated(questions: Sequence[Sequence[float]]) -> Repeats:
    """The numbers of n questions with at least one score each. Each question counts once, however many samples it has.

    `pass@k` is the unbiased 1 - C(n - c, k) / C(n, k) and `pass^k` C(c, k) / C(n, k), for k up to the least number of samples. The split
    is that of a one-way analysis of variance, `question_variance` not below 0.
    """
    rows = [checked(row) for row in questions]
    if not rows:
        raise StatsError("no questions")
    means = [mean(row) for row in rows]
    least, most = min(map(len, rows)), max(map(len, rows))
    n = len(rows)
    spreads = [sd * sd for row in rows if (sd := sample_sd(row)) is not None]
    within = mean(spreads) if spreads else None
    samples = n / math.fsum(1 / len(row) for row in rows)
    between = part = more = None
    apart = sample_sd(means)
    if within is not None and apart is not None:
        between = max(0.0, apart * apart - within / samples)
        whole = between + within / samples
        part = between / whole if whole else None
        # Variance that the samples may add to that of the questions if a quarter of the whole is left.
        rest = whole / 4 - between
        more = math.ceil(within / rest - samples - 1e-9) if rest > 0 and within else None
    return Repeats(
        n_questions=n,
        n_samples=(least, most),
        interval=score_interval(means),
        passes=tuple(_passes(rows, k) for k in range(1, least + 1)),
        question_variance=between,
        sample_variance=within,
        question_share=part,
        questions_to_halve=3 * n,
        samples_to_halve=more,
    )


def _passes(rows: Sequence[Sequence[float]], k: int) -> Passes:
    counts = [(len(row), sum(score == 1 for score in row)) for row in rows]
    any_right = [pass_at_k(n, c, k) for n, c in counts]
    # All k are right if not one of k is wrong.
    all_right = [1 - pass_at_k(n, n - c, k) for n, c in counts]

    def error(values: Sequence[float]) -> float | None:
        return None if (sd := sample_sd(values)) is None else sd / math.sqrt(len(values))

    return Passes(k=k, any=mean(any_right), any_se=error(any_right), all=mean(all_right), all_se=error(all_right))
