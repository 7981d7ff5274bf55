"""BIRD's measures of query pairs in addition to right and wrong: soft F1, and the speed of right answers (VES, R-VES)."""

import math
from collections.abc import Sequence
from typing import Any

from evalsuite.core.types import Result

SCORER = "sql_match"
# BIRD's reward for a right answer by gold's time over its own: (at least, reward), the first that holds counts. BIRD's own step to 1 lies
# at 1 itself, where noise alone would decide about a query that equals gold's.
_REWARDS = ((2.0, 1.25), (0.95, 1.0), (0.5, 0.75), (0.25, 0.5), (0.0, 0.25))


def reward_of(ratio: float) -> float:
    """BIRD's reward in [0.25, 1.25] for a right answer that takes gold's time divided by `ratio` (mini_dev `evaluation_ves`)."""
    return next(reward for least, reward in _REWARDS if ratio >= least)


def pair_numbers(results: Sequence[Result]) -> dict[str, Any]:
    """{n, soft_f1} over the n judged pairs, with {n_timed, ves, r_ves} where right ones were timed; empty where there is no pair.

    `soft_f1` is in [0, 1]. `ves` and `r_ves` are in percent, as BIRD gives them: 100 times the mean of the roots of ratio and reward. What
    is wrong, fails or was not handed in is 0 in all; a right answer that could not be timed is in neither of the last two.
    """
    judged = [result for result in results if result.scorer == SCORER and result.official is not None]
    if not judged:
        return {}
    soft = [_number(result.details.get("soft_f1")) or 0.0 for result in judged]
    numbers: dict[str, Any] = {"n": len(judged), "soft_f1": sum(soft) / len(soft)}
    ratios = [_number(result.details.get("time_ratio")) if result.official == 1 else 0.0 for result in judged]
    known = [ratio for ratio in ratios if ratio is not None]
    if not any(known):
        return numbers
    rewards = [reward_of(ratio) if ratio else 0.0 for ratio in known]
    measured = {name: 100 * sum(map(math.sqrt, values)) / len(known) for name, values in (("ves", known), ("r_ves", rewards))}
    return {**numbers, "n_timed": sum(ratio > 0 for ratio in known), **measured}


def _number(value: Any) -> float | None:
    """A detail that a scorer left, None where it is no finite number of at least 0: a run may be a stranger's."""
    try:
        return float(value) if isinstance(value, int | float) and 0 <= value < math.inf else None
    except OverflowError:
        return None
