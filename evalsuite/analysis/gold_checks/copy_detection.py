"""Find submissions that share answers more often than their abilities explain, so that each such pair counts as less than two voices.

One of a pair may copy the other: with one probability for all instances, else it gives its own answer. Equal wrong answers are evidence,
more so the rarer they are; equal right answers prove little. The likeliest pairs without a circle are taken. Source: Dong,
Berti-Equille, Srivastava (2009), "Integrating Conflicting Data: The Role of Source Dependence"; Chow and Liu (1968) for the tree.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

# Instances that are searched for pairs, and the shares of copied answers that are tried.
MOST_LOOKED: Final = 1000
_SHARES: Final = tuple(i / 20 for i in range(1, 20))
_LEAST_CHANCE: Final = 1e-4
# (voter, its source) -> the share of its answers that are copied.
Copies = dict[tuple[int, int], float]


def chance_of_same(own: Any, truth: Any, able: Any, weights: Any, seats: tuple[Any, Any, Any]) -> Any:
    """Return voter x voter the chance that one gives the answer of the other by itself, 0.0001 to 1.

    `own` is the index of each voter's answer among the answers (gold's is the first), `truth` the chance of each answer, then of none, to
    be
    right, `able` by voter that of being right, `weights` the weight of each voter. `seats`: the weight of each answer, the concentrations
    of
    wrong answers, the chance of each.
    """
    import numpy as np

    counts, thetas, of_thetas = seats
    taken = np.repeat(counts[None, :], len(own), axis=0)
    taken[np.arange(len(own)), own] -= weights
    same = np.zeros((len(own), len(own)))
    for at, chance in enumerate(truth):
        left = taken.copy()
        if at < len(counts):
            left[:, at] = 0
        a_seat = (of_thetas / (thetas + left.sum(axis=1)[:, None])).sum(axis=1)
        as_wrong = left[:, own] * (a_seat * (1 - able))[:, None]
        same += chance * np.where(own == at, able[:, None], as_wrong)
    return np.clip(same, _LEAST_CHANCE, 1)


def find_copies(n_voters: int, items: Sequence[tuple[Any, Any, Any]]) -> Copies:
    """Return the copies, without a circle: each voter has at most one source.

    `items`: by instance its voters, the indexes of their answers, and `chance_of_same`. A pair is taken if its evidence is more than
    `evidence_needed`.
    """
    import numpy as np

    shares = np.array(_SHARES)
    evidence = np.zeros((n_voters, n_voters, len(shares)))
    for voters, own, same in items:
        equal = np.log(shares / same[:, :, None] + 1 - shares)
        evidence[np.ix_(voters, voters)] += np.where((own[:, None] == own)[:, :, None], equal, np.log(1 - shares))
    best = evidence.max(axis=2)
    best = np.minimum(best, best.T)
    pairs = sorted(((float(best[i, j]), i, j) for i in range(n_voters) for j in range(i)), reverse=True)
    group, beside = list(range(n_voters)), dict[int, list[int]]()
    for value, i, j in pairs:
        if value <= evidence_needed(n_voters):
            break
        if group[i] != group[j]:
            group = [group[i] if one == group[j] else one for one in group]
            beside.setdefault(i, []).append(j)
            beside.setdefault(j, []).append(i)
    return {(voter, source): float(shares[evidence[voter, source].argmax()]) for voter, source in _downwards(beside)}


def evidence_needed(n_voters: int) -> float:
    """Return the prior log odds against a pair: about one of all pairs is expected to copy, at most one of 20."""
    return math.log(max(20, n_voters * (n_voters - 1) / 2))


def _downwards(beside: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """Yield (voter, its predecessor) along each tree, from its lowest number."""
    seen, found = set[int](), []
    for root in sorted(beside):
        todo = [] if root in seen else [root]
        seen.add(root)
        while todo:
            source = todo.pop()
            for voter in beside[source]:
                if voter not in seen:
                    seen.add(voter)
                    todo.append(voter)
                    found.append((voter, source))
    return found


def own_weights(voters: Any, own: Any, same: Any, copies: Mapping[tuple[int, int], float]) -> tuple[Any, float]:
    """Return (by voter of an instance the chance that its answer is its own, 0 to 1; the log chance of all copies)."""
    import numpy as np

    weights, chance = np.ones(len(voters)), 0.0
    places = {int(voter): at for at, voter in enumerate(voters)}
    for (voter, source), share in copies.items():
        a, b = places.get(voter), places.get(source)
        if a is None or b is None:
            continue
        if own[a] != own[b]:
            chance += math.log(1 - share)
            continue
        copied = share / (share + (1 - share) * same[a, b])
        weights[a] = 1 - copied
        chance += copied * math.log(share / copied) + (1 - copied) * math.log((1 - share) / (1 - copied))
    return weights, chance
