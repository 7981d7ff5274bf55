"""Made submissions and gold, some of it wrong, and an oracle that knows everything except what is true in each instance."""

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalsuite.analysis.gold_checks.suspects import GOLD

N_INSTANCES, N_WRONG, N_VOTERS = 100, 10, 8
_HARDNESSES = [-5 + 0.25 * i for i in range(41)]
Votes = dict[str, dict[str, str]]


@dataclass(frozen=True)
class World:
    """What votes are drawn from: abilities from a range, difficulties of a spread, `n_wrong` wrong answers to each instance.

    In a share of instances (`trapped`) six of ten of those who are wrong give one answer, which is not gold's. Where gold is wrong it holds
    one of the wrong answers, or one that is `alone` its own. Each of the pairs in `copies`, (voter, source), copies four answers of five.
    """

    n_wrong: int = 12
    abilities: tuple[float, float] = (0.2, 2.2)
    spread: float = 1.0
    trapped: float = 0.0
    trap: float = 0.6
    alone: bool = False
    copies: tuple[tuple[int, int], ...] = ()
    copied: float = 0.8

    def draw(self, seed: int) -> tuple[Votes, set[str], list[float]]:
        """(the votes, the instances whose gold is wrong, the abilities)."""
        random_ = random.Random(seed)
        names = [f"q{i}" for i in range(N_INSTANCES)]
        wrong, abilities = set(random_.sample(names, N_WRONG)), [random_.uniform(*self.abilities) for _ in range(N_VOTERS)]
        votes = {}
        for name in names:
            hard, own, trap = random_.gauss(0, self.spread), list[str](), random_.random() < self.trapped
            for able in abilities:
                answer = f"w{random_.randrange(self.n_wrong)}"
                if random_.random() < 1 / (1 + math.exp(hard - able)):
                    answer = "right"
                elif trap and random_.random() < self.trap:
                    answer = "w1"
                own.append(answer)
            for voter, source in self.copies:
                if random_.random() < self.copied:
                    own[voter] = own[source]
            gold = "right" if name not in wrong else "alone" if self.alone else "w0"
            votes[name] = {f"run{j}": GOLD if answer == gold else answer for j, answer in enumerate(own)}
        return votes, wrong, abilities

    def oracle(self, votes: Mapping[str, Mapping[str, str]], abilities: Sequence[float]) -> dict[str, float]:
        """By instance P(gold is wrong), with the parameters of the world and each ability known: nobody who sees the votes ranks better."""
        return {name: self._wrong(list(own.values()), abilities) for name, own in votes.items()}

    def _wrong(self, own: Sequence[str], abilities: Sequence[float]) -> float:
        classes = [answer for answer in dict.fromkeys(own) if answer != GOLD]
        share = N_WRONG / N_INSTANCES
        gold_right = (1 - share) * self._likelihood(own, GOLD, abilities, gold_wrong=False)
        gold_wrong = share * sum(self._likelihood(own, true, abilities, gold_wrong=True) for true in (*classes, "?"))
        return gold_wrong / (gold_right + gold_wrong)

    def _likelihood(self, own: Sequence[str], true: str, abilities: Sequence[float], *, gold_wrong: bool) -> float:
        """The density of the answers, equal or not, where `true` is the class of those who are right."""
        total = 0.0
        for weight, asked in self._not_copied(own):
            errors = Counter(own[j] for j in asked if own[j] != true)
            partition = self._partition(errors, gold_wrong=gold_wrong)
            if not partition:
                continue
            by_hard = 0.0
            for hard in _HARDNESSES:
                able = [1 / (1 + math.exp(hard - abilities[j])) for j in asked]
                chance = math.prod(p if own[j] == true else 1 - p for p, j in zip(able, asked, strict=True))
                by_hard += math.exp(-0.5 * (hard / self.spread) ** 2) * chance
            total += weight * partition * by_hard
        return total

    def _not_copied(self, own: Sequence[str]) -> Iterator[tuple[float, list[int]]]:
        """(probability, the voters that answered by themselves) of each way in which the answers may have been copied."""
        for ways in range(1 << len(self.copies)):
            did = [pair for i, pair in enumerate(self.copies) if ways >> i & 1]
            if all(own[voter] == own[source] for voter, source in did):
                weight = self.copied ** len(did) * (1 - self.copied) ** (len(self.copies) - len(did))
                yield weight, [j for j in range(len(own)) if j not in {voter for voter, _ in did}]

    def _partition(self, errors: Counter[str], *, gold_wrong: bool) -> float:
        """The chance that those who are wrong give equal answers as they do; GOLD is the answer that is gold's."""
        if gold_wrong and self.alone and errors[GOLD]:
            return 0.0
        k, counts = self.n_wrong, [n for answer, n in errors.items() if answer != GOLD and n]
        n_gold, free = errors[GOLD], self.n_wrong - (gold_wrong and not self.alone)
        n = sum(counts) + n_gold
        if len(counts) > free:
            return 0.0
        plain: float = math.perm(free, len(counts)) / k**n
        if not self.trapped:
            return plain
        # One of the answers that is not gold's is the trap: one that was given, or none of them.
        other, held = (1 - self.trap) / k, self.trap + (1 - self.trap) / k
        within = sum(math.perm(free - 1, len(counts) - 1) * held**c * other ** (n - c) for c in counts)
        within += math.perm(free - 1, len(counts)) * other**n if free > len(counts) else 0.0
        return (1 - self.trapped) * plain + self.trapped * within


WORLDS = {
    "plain": World(),
    "gold's error is its own": World(alone=True),
    "40 wrong answers": World(n_wrong=40),
    "two copy": World(copies=((2, 0), (5, 4))),
    "three wrong answers": World(n_wrong=3, trapped=0.3),
    "wide difficulties": World(trapped=0.3, spread=2.0),
    "very weak to very strong": World(abilities=(-2.0, 3.0)),
    "strong": World(abilities=(1.5, 3.5)),
    "weak": World(abilities=(-0.6, 0.6)),
}
