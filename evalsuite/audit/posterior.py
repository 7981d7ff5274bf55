"""How likely the gold of each instance is wrong, from the answers of several submissions, with gold as one more voter.

Item response with latent truth: submission j of ability t_j is right on an instance of difficulty d with probability
1 / (1 + exp(d - t_j)), d normal; those who are wrong, gold among them, sit down to answers as in a Chinese restaurant: some instances have
one wrong answer that many give, others as many as there are voters (a mixture of concentrations). Gold is right with one probability for
all instances. Abilities, the spread of d, the mixture and that probability are fitted by expectation and maximisation.
Source: Dawid and Skene (1979), "Maximum Likelihood Estimation of Observer Error-Rates"; Rasch (1960) for abilities and difficulties;
Aldous (1985), "Exchangeability and related topics", for the restaurant.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

GOLD: Final = ""
_ROUNDS: Final = 25
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


def posteriors(votes: Mapping[str, Mapping[str, str]]) -> dict[str, Posterior]:
    """The posterior of each instance. `votes`: instance -> submission -> its answer, `GOLD` for gold's; equal texts are equal answers."""
    import numpy as np

    voters = list(dict.fromkeys(name for own in votes.values() for name in own))
    places = {name: at for at, name in enumerate(voters)}
    items = [_Item({places[name]: answer for name, answer in own.items()}) for own in votes.values()]
    grid = np.linspace(-_HARDEST, _HARDEST, _N_DIFFICULTIES)
    ability, p_right, spread = np.zeros(len(voters)), _RIGHT / (_RIGHT + _WRONG), _SPREAD
    mixture = np.full(len(_CONCENTRATIONS), 1 / len(_CONCENTRATIONS))
    for _ in range(_ROUNDS):
        able = 1 / (1 + np.exp(grid[None, :] - ability[:, None]))
        weights = np.exp(-0.5 * (grid / spread) ** 2)
        shared = _Shared(np.log(able), np.log(1 - able), np.log(weights / weights.sum()), np.log(mixture), p_right)
        n_right, hard, of_mixture = np.zeros(len(voters)), np.zeros((len(voters), len(grid))), np.ones(len(mixture))
        n_gold, squares = _RIGHT, _SEEN * _SPREAD**2
        for item in items:
            item.weigh(shared)
            n_gold += item.truth[0]
            n_right[item.voters] += item.right
            hard[item.voters] += item.difficulty
            squares += float(item.difficulty @ grid**2)
            of_mixture += item.concentration
        p_right = n_gold / (len(items) + _RIGHT + _WRONG)
        mixture = of_mixture / of_mixture.sum()
        spread = min(_MOST_SPREAD, max(_LEAST_SPREAD, math.sqrt(squares / (len(items) + _SEEN))))
        ability = _abilities(ability, n_right, hard, grid)
    found = {}
    for name, item in zip(votes, items, strict=True):
        others = item.truth[1 : 1 + len(item.classes)]
        likeliest = item.classes[int(np.argmax(others))] if len(others) and max(others) > item.truth[-1] else ""
        right = {voters[j]: float(p) for j, p in zip(item.voters, item.right, strict=True)}
        found[name] = Posterior(float(1 - item.truth[0]), likeliest, right)
    return found


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
        given = list(answers.values())
        self.classes = [answer for answer in dict.fromkeys(given) if answer != GOLD]
        # A row for each thing that may be right: gold, each class, none of them; a column for each voter.
        maybe: list[str | None] = [GOLD, *self.classes, None]
        self.agrees = np.array([[answer == one for answer in given] for one in maybe], dtype=bool)
        self.seated = np.array([_seated(Counter(a for a in (GOLD, *given) if a != one)) for one in maybe])
        self.truth: Any = np.zeros(len(maybe))
        self.right: Any = np.zeros(len(given))
        self.difficulty: Any = None
        self.concentration: Any = None

    def weigh(self, shared: _Shared) -> None:
        """Set `truth`, by voter P(right), and the weights of difficulties and concentrations, from the present parameters."""
        import numpy as np

        own_right, own_wrong = shared.right[self.voters], shared.wrong[self.voters]
        by_voters = self.agrees @ own_right + (~self.agrees) @ own_wrong + shared.difficulties
        prior = np.log([shared.p_right, *[1 - shared.p_right] * (len(self.classes) + 1)])
        joint = by_voters[:, :, None] + (self.seated + shared.mixture)[:, None, :] + prior[:, None, None]
        joint = np.exp(joint - joint.max())
        joint /= joint.sum()
        self.truth = joint.sum(axis=(1, 2))
        self.right = self.truth @ self.agrees
        self.difficulty, self.concentration = joint.sum(axis=(0, 2)), joint.sum(axis=(0, 1))


def _seated(wrong: Mapping[str, int]) -> list[float]:
    """By concentration the logarithm of the chance that those who are wrong agree as they do: so many give each answer."""
    n = sum(wrong.values())
    return [
        len(wrong) * math.log(theta) + math.lgamma(theta) - math.lgamma(theta + n) + sum(map(math.lgamma, wrong.values()))
        for theta in _CONCENTRATIONS
    ]


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
