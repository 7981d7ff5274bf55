"""How likely the gold of each instance is wrong, from the answers of several submissions, with gold as one more voter.

Item response with latent truth: submission j of ability t_j is right on an instance of difficulty d with probability
1 / (1 + exp(d - t_j)), d normal with deviation 1.5; who is wrong gives one of 1/c wrong answers, where c is the share of pairs of wrong
answers that agree. Gold is right with one probability for all instances. Abilities, c and that probability are fitted by expectation and
maximisation.
Source: Dawid and Skene (1979), "Maximum Likelihood Estimation of Observer Error-Rates"; Rasch (1960) for abilities and difficulties.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

GOLD: Final = ""
_ROUNDS: Final = 25
# What gold is taken for before anything is seen: right in 19 of 20 instances, and one of 20 pairs of wrong answers agree.
_RIGHT, _WRONG = 19.0, 1.0
_AGREE, _APART = 1.0, 19.0
# The share of wrong golds whose right answer nobody gave.
_UNSEEN: Final = 0.3
_SPREAD: Final = 1.5
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
    grid = np.linspace(-2 * _SPREAD, 2 * _SPREAD, 9)
    weights = np.exp(-0.5 * (grid / _SPREAD) ** 2)
    log_weights = np.log(weights / weights.sum())
    ability = np.zeros(len(voters))
    places = {name: at for at, name in enumerate(voters)}
    items = [_Item({places[name]: answer for name, answer in own.items()}) for own in votes.values()]
    p_right, collision = _RIGHT / (_RIGHT + _WRONG), _AGREE / (_AGREE + _APART)
    for _ in range(_ROUNDS):
        able = 1 / (1 + np.exp(grid[None, :] - ability[:, None]))
        log_right, log_wrong = np.log(able), np.log(1 - able) + np.log(collision)
        n_right, hard = np.zeros(len(voters)), np.zeros((len(voters), len(grid)))
        n_gold, same, pairs = 0.0, 0.0, 0.0
        for item in items:
            item.weigh(log_right, log_wrong, log_weights, p_right)
            n_gold += item.truth[0]
            n_right[item.voters] += item.right
            hard[item.voters] += item.difficulty
            for p, (own_same, own_pairs) in zip(item.truth, item.collisions, strict=True):
                same, pairs = same + p * own_same, pairs + p * own_pairs
        p_right = (n_gold + _RIGHT) / (len(items) + _RIGHT + _WRONG)
        collision = (same + _AGREE) / (pairs + _AGREE + _APART)
        ability = _abilities(ability, n_right, hard, grid)
    found = {}
    for name, item in zip(votes, items, strict=True):
        others = item.truth[1 : 1 + len(item.classes)]
        likeliest = item.classes[int(np.argmax(others))] if len(others) and max(others) > item.truth[-1] else ""
        right = {voters[j]: float(p) for j, p in zip(item.voters, item.right, strict=True)}
        found[name] = Posterior(float(1 - item.truth[0]), likeliest, right)
    return found


class _Item:
    """The answers to one instance; `truth` are the probabilities that gold, each class of answers, or none of them is right."""

    def __init__(self, answers: Mapping[int, str]) -> None:
        import numpy as np

        self.voters = np.array(list(answers), dtype=np.int64)
        given = list(answers.values())
        self.classes = [answer for answer in dict.fromkeys(given) if answer != GOLD]
        # A row for each thing that may be right: gold, each class, none of them; a column for each voter.
        self.agrees = np.array([[answer == one for answer in given] for one in (GOLD, *self.classes)] + [[False] * len(given)], dtype=bool)
        self.collisions = [self._pairs(given, one) for one in (GOLD, *self.classes, None)]
        self.truth: Any = np.zeros(len(self.agrees))
        self.right: Any = np.zeros(len(given))
        self.difficulty: Any = None

    @staticmethod
    def _pairs(given: Sequence[str], right: str | None) -> tuple[int, int]:
        """(pairs of wrong answers that agree, pairs of wrong answers) where one answer is right."""
        wrong = [answer for answer in given if answer != right]
        n = len(wrong)
        return sum(wrong.count(one) * (wrong.count(one) - 1) // 2 for one in set(wrong)), n * (n - 1) // 2

    def weigh(self, log_right: Any, log_wrong: Any, log_weights: Any, p_right: float) -> None:
        """Set `truth`, and by voter P(right) and the weight of each difficulty, from the present parameters."""
        import numpy as np

        own_right, own_wrong = log_right[self.voters], log_wrong[self.voters]
        joint = log_weights + self.agrees @ own_right + (~self.agrees) @ own_wrong
        n = len(self.classes)
        prior = [p_right, *([(1 - p_right) * (1 - _UNSEEN) / max(n, 1)] * n), (1 - p_right) * (_UNSEEN if n else 1.0)]
        joint = joint + np.log(prior)[:, None]
        joint = np.exp(joint - joint.max())
        joint /= joint.sum()
        self.truth = joint.sum(axis=1)
        self.right = self.truth @ self.agrees
        self.difficulty = np.broadcast_to(joint.sum(axis=0), (len(self.voters), joint.shape[1]))


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
