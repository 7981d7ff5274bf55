"""How likely the gold of each instance is wrong, from the answers of several submissions, with gold as one more voter.

Item response with latent truth: submission j of ability t_j is right on an instance of difficulty d with probability
1 / (1 + exp(d - t_j)), d normal; those who are wrong, gold among them, sit down to answers as in a Chinese restaurant: some instances have
one wrong answer that many give, others as many as there are voters (a mixture of concentrations). Gold is right with one probability for
all instances. Abilities, the spread of d, the mixture and that probability are fitted by expectation and maximisation. A submission that
gives another one's answers counts by the chance that an answer is its own (see `copied_answers`).
Source: Dawid and Skene (1979), "Maximum Likelihood Estimation of Observer Error-Rates"; Rasch (1960) for abilities and difficulties;
Aldous (1985), "Exchangeability and related topics", for the restaurant.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evalsuite.audit.copied_answers import MOST_LOOKED, Copies, chance_of_same, evidence_needed, find_copies, own_weights

GOLD: Final = ""
_ROUNDS: Final = 25
# The rounds after which it is asked who copies whom: each time what is known of gold and of abilities is better.
_ASKED: Final = (5, 9, 13, 17, 21)
# What gold is taken for before anything is seen: right in 19 of 20 instances.
_RIGHT, _WRONG = 19.0, 1.0
# Concentrations of wrong answers: from one that nearly all give to one for each.
_CONCENTRATIONS: Final = (0.5, 2.0, 8.0, 32.0)
# The deviation of difficulties before anything is seen, as of so many instances; where it may lie; the difficulties that are looked at.
_SPREAD, _SEEN, _LEAST_SPREAD, _MOST_SPREAD = 1.2, 10.0, 0.4, 2.5
_HARDEST, _N_DIFFICULTIES = 4.0, 11
_MOST_ABLE: Final = 5.0


@dataclass(frozen=True, slots=True)
class Posterior:
    """P(gold is wrong) of an instance in [0, 1], the likeliest answer of a submission if it is ("" where nobody gave it), and by
    submission P(its answer is right)."""

    p_wrong: float
    likeliest: str
    right: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Fit:
    """The posterior of each instance, and by (submission, the one whose answers it gives) the share of its answers that are not its own."""

    posteriors: Mapping[str, Posterior]
    copies: Mapping[tuple[str, str], float]


def posteriors(votes: Mapping[str, Mapping[str, str]]) -> Mapping[str, Posterior]:
    """The posterior of each instance, see `fit`."""
    return fit(votes).posteriors


def fit(votes: Mapping[str, Mapping[str, str]]) -> Fit:
    """What the votes say. `votes`: instance -> submission -> its answer, `GOLD` for gold's; equal texts are equal answers."""
    import numpy as np

    voters = list(dict.fromkeys(name for own in votes.values() for name in own))
    places = {name: at for at, name in enumerate(voters)}
    given = [{places[name]: answer for name, answer in own.items()} for own in votes.values()]
    # Copies that are many look like the truth: asked for from gold's side first they may be the better account of all votes.
    items, copies, _ = max((_fitted(given, len(voters), gold_first=first) for first in (False, True)), key=lambda fitted: fitted[2])
    found = {}
    for name, item in zip(votes, items, strict=True):
        others = item.truth[1 : 1 + len(item.classes)]
        likeliest = item.classes[int(np.argmax(others))] if len(others) and max(others) > item.truth[-1] else ""
        right = {voters[j]: float(p) for j, p in zip(item.voters, item.right, strict=True)}
        found[name] = Posterior(float(1 - item.truth[0]), likeliest, right)
    return Fit(found, {(voters[a], voters[b]): share for (a, b), share in copies.items()})


def _fitted(given: Sequence[Mapping[int, str]], n_voters: int, *, gold_first: bool) -> tuple[Sequence["_Item"], Copies, float]:
    """(the weighed items, who copies whom, the evidence for both); `gold_first`: who copies is asked before anybody doubts gold, and
    where nobody seems to there is no evidence for that."""
    import numpy as np

    items = [_Item(answers) for answers in given]
    grid = np.linspace(-_HARDEST, _HARDEST, _N_DIFFICULTIES)
    p_right, spread = _RIGHT / (_RIGHT + _WRONG), _SPREAD
    ability: Any = np.zeros(n_voters)
    mixture: Any = np.full(len(_CONCENTRATIONS), 1 / len(_CONCENTRATIONS))
    copies = Copies()
    if gold_first:
        for item in items:
            item.trust_gold(p_right, grid, mixture)
        by_gold, n_given = np.ones(n_voters), np.full(n_voters, 2.0)
        for item in items:
            by_gold[item.voters] += item.own == 0
            n_given[item.voters] += 1
        copies = _copies(items, np.repeat((by_gold / n_given)[:, None], len(grid), axis=1))
        if not copies:
            return items, copies, -math.inf
    for round_ in range(_ROUNDS):
        able = 1 / (1 + np.exp(grid[None, :] - ability[:, None]))
        weights = np.exp(-0.5 * (grid / spread) ** 2)
        shared = _Shared(np.log(able), np.log(1 - able), np.log(weights / weights.sum()), np.log(mixture), p_right)
        n_right, hard, of_mixture = np.zeros(n_voters), np.zeros((n_voters, len(grid))), np.ones(len(mixture))
        n_gold, squares = _RIGHT, _SEEN * _SPREAD**2
        for item in items:
            item.weigh(shared)
            n_gold += item.truth[0]
            n_right[item.voters] += item.weights * item.right
            hard[item.voters] += item.weights[:, None] * item.difficulty
            squares += float(item.difficulty @ grid**2)
            of_mixture += item.concentration
        p_right = n_gold / (len(items) + _RIGHT + _WRONG)
        mixture = of_mixture / of_mixture.sum()
        spread = min(_MOST_SPREAD, max(_LEAST_SPREAD, math.sqrt(squares / (len(items) + _SEEN))))
        ability = _abilities(ability, n_right, hard, grid)
        if round_ in _ASKED:
            copies = _copies(items, able)
    return items, copies, sum(item.evidence for item in items) - len(copies) * evidence_needed(n_voters)


def _copies(items: Sequence["_Item"], able: Any) -> Copies:
    """Who gives whose answers; each item then counts its voters by that."""
    looked = [(item.voters, item.own, item.same(able)) for item in items[:MOST_LOOKED]]
    copies = find_copies(len(able), looked)
    for item in items if copies or any(item.weights.min() < 1 for item in items) else ():
        item.weigh_voters(*own_weights(item.voters, item.own, item.same(able), copies))
    return copies


@dataclass(frozen=True, slots=True)
class _Shared:
    """The parameters of a round: the logarithms of P(right) and P(wrong) by voter and difficulty, and of the weights of difficulties and
    concentrations; P(gold is right)."""

    right: Any
    wrong: Any
    difficulties: Any
    mixture: Any
    p_right: float


class _Item:
    """The answers to one instance; `truth` are the probabilities that gold, each class of answers, or none of them is right."""

    def __init__(self, answers: Mapping[int, str]) -> None:
        import numpy as np

        self.voters = np.array(list(answers), dtype=np.int64)
        self.classes = [answer for answer in dict.fromkeys(answers.values()) if answer != GOLD]
        tables = {answer: at for at, answer in enumerate((GOLD, *self.classes))}
        self.own = np.array([tables[answer] for answer in answers.values()], dtype=np.int64)
        # A row for each thing that may be right: gold, each class, none of them; a column for each voter.
        self.agrees = self.own == np.arange(len(tables) + 1)[:, None]
        self.truth: Any = np.zeros(len(tables) + 1)
        self.right: Any = np.zeros(len(answers))
        self.difficulty: Any = None
        self.concentration: Any = None
        self.weigh_voters(np.ones(len(answers)), 0.0)

    def weigh_voters(self, weights: Any, of_copies: float) -> None:
        """Let each voter count so much, 0 to 1, of those with one answer one whole; `of_copies`: see `own_weights`."""
        self.weights, self.of_copies = weights, of_copies
        self.counts = self.agrees[:-1] @ weights
        self.counts[0] += 1
        self.seated = _seated(self.counts.tolist())

    def trust_gold(self, p_right: float, grid: Any, mixture: Any) -> None:
        """Set `truth` and the rest as if nothing but gold were known."""
        import numpy as np

        self.truth = np.array([p_right, *[(1 - p_right) / len(self.counts)] * len(self.counts)])
        self.difficulty, self.concentration = np.full(len(grid), 1 / len(grid)), mixture

    def same(self, able: Any) -> Any:
        """Voter x voter the chance of one answer, see `chance_of_same`; `able` is P(right) by voter and difficulty."""
        import numpy as np

        seats = self.counts, np.array(_CONCENTRATIONS), self.concentration
        return chance_of_same(self.own, self.truth, able[self.voters] @ self.difficulty, self.weights, seats)

    def weigh(self, shared: _Shared) -> None:
        """Set `truth`, by voter P(right), the weights of difficulties and concentrations, and `evidence`, the logarithm of the chance of
        these answers, from the present parameters."""
        import numpy as np

        own_right, own_wrong = (self.weights[:, None] * one[self.voters] for one in (shared.right, shared.wrong))
        by_voters = self.agrees @ own_right + (~self.agrees) @ own_wrong + shared.difficulties
        prior = np.log([shared.p_right, *[1 - shared.p_right] * (len(self.classes) + 1)])
        joint = by_voters[:, :, None] + (self.seated + shared.mixture)[:, None, :] + prior[:, None, None]
        most = float(joint.max())
        joint = np.exp(joint - most)
        total = float(joint.sum())
        self.evidence = most + math.log(total) + self.of_copies
        joint /= total
        self.truth = joint.sum(axis=(1, 2))
        self.right = self.truth @ self.agrees
        self.difficulty, self.concentration = joint.sum(axis=(0, 2)), joint.sum(axis=(0, 1))


def _seated(counts: Sequence[float]) -> Any:
    """Answer that is right (then: none) x concentration: the logarithm of the chance that the wrong ones are given so often as they are."""
    import numpy as np

    n, shared, found = sum(counts), sum(map(math.lgamma, counts)), []
    for one, count in [*((math.lgamma(count), count) for count in counts), (None, 0.0)]:
        n_wrong, n_answers = n - count, len(counts) - (one is not None)
        found.append([
            n_answers * math.log(theta) + math.lgamma(theta) - math.lgamma(theta + n_wrong) + shared - (one or 0.0)
            for theta in _CONCENTRATIONS
        ])  # fmt: skip
    return np.array(found)


def _abilities(ability: Any, n_right: Any, hard: Any, grid: Any) -> Any:
    """Abilities under which as many answers are right as there seem to be, each with one more right and one more wrong answer."""
    import numpy as np

    low, high = np.full_like(ability, -_MOST_ABLE), np.full_like(ability, _MOST_ABLE)
    for _ in range(30):
        middle = (low + high) / 2
        expected = (hard / (1 + np.exp(grid[None, :] - middle[:, None]))).sum(axis=1) + 2 / (1 + np.exp(-middle))
        more = expected < n_right + 1
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return (low + high) / 2
