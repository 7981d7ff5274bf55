"""What the scores and ranks of submissions would be if the golds that are likely wrong were mended, and what a look at each is worth."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalsuite.audit.posterior import GOLD, Posterior

Votes = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A submission's share of right answers and its rank (from 1) as gold says, and as expected under P(gold is wrong)."""

    run: str
    score: float
    rank: int
    expected_score: float
    expected_rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """All submissions, the best by gold first; `n_wrong` golds are expected to be wrong, and `says` what mending these would change."""

    submissions: tuple[Expected, ...] = ()
    n_wrong: int = 0
    says: str = ""

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {"submissions": [asdict(one) for one in self.submissions], "n_wrong": self.n_wrong, "says": self.says}


def outlook(votes: Votes, found: Mapping[str, Posterior]) -> Outlook:
    """What is to be expected of each submission, and whose ranks change places if as many golds as expected are wrong, the likeliest."""
    voters = list(dict.fromkeys(name for own in votes.values() for name in own))
    by_gold = {name: [float(own[name] == GOLD) for own in votes.values() if name in own] for name in voters}
    expected = {name: [found[item].right[name] for item, own in votes.items() if name in own] for name in voters}
    n_wrong = round(math.fsum(one.p_wrong for one in found.values()))
    likeliest = set(sorted(found, key=lambda item: -found[item].p_wrong)[:n_wrong])
    mended = {
        name: [
            float(own[name] == (found[item].likeliest or None) if item in likeliest else own[name] == GOLD)
            for item, own in votes.items()
            if name in own
        ]
        for name in voters
    }
    ranks = [_ranks(values) for values in (by_gold, expected, mended)]
    order = sorted(voters, key=lambda name: ranks[0][name])
    submissions = tuple(
        Expected(
            run=name,
            score=_mean(by_gold[name]),
            rank=ranks[0][name],
            expected_score=_mean(expected[name]),
            expected_rank=ranks[1][name],
        )
        for name in order
    )
    return Outlook(submissions=submissions, n_wrong=n_wrong, says=_says(order, ranks[0], ranks[2], n_wrong))


def worth_of_a_look(own: Mapping[str, str], posterior: Posterior) -> float:
    """P(gold is wrong) times the share of submissions whose verdict would turn, at least one of them: 0 to 1."""
    turned = sum(answer in (GOLD, posterior.likeliest) for answer in own.values())
    return posterior.p_wrong * max(1, turned) / max(1, len(own))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _ranks(values: Mapping[str, Sequence[float]]) -> dict[str, int]:
    means = {name: round(_mean(own), 12) for name, own in values.items()}
    return {name: 1 + sum(other > mean for other in means.values()) for name, mean in means.items()}


def _says(order: Sequence[str], before: Mapping[str, int], after: Mapping[str, int], n_wrong: int) -> str:
    if not n_wrong:
        return "no gold is expected to be wrong"
    golds = "the likeliest gold is" if n_wrong == 1 else f"the {n_wrong} likeliest golds are"
    swapped = [f"{a} and {b}" for at, a in enumerate(order) for b in order[at + 1 :] if before[a] < before[b] and after[a] > after[b]]
    if not swapped:
        return f"if {golds} wrong, no two submissions change places"
    more = f" and {len(swapped) - 5} pairs more" if len(swapped) > 5 else ""
    return f"if {golds} wrong, {'; '.join(swapped[:5])}{more} change places"
