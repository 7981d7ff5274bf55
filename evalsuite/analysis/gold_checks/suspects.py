"""Suspects: which golds to check first, from the results of several submissions, the likeliest wrong gold first.

Three signs, none of them a proof: submissions give the same answer and gold calls it wrong; no submission is right; the better
submissions do worse than the rest. Also: the expected scores and ranks if the likely wrong golds were corrected, and the value of each
check.

The posterior treats gold as one more voter. Item response with latent truth: submission j of ability t_j is right on an instance of
difficulty d with probability 1 / (1 + exp(d - t_j)), d normal; wrong answers, gold among them, follow a Chinese restaurant process: some
instances have one wrong answer that many give, others as many as there are voters (a mixture of concentrations). Gold is right with one
probability for all instances. Abilities, the spread of d, the mixture and that probability are fitted by expectation and maximisation. A
submission that copies another one counts by the chance that an answer is its own.
Source: Dawid and Skene (1979), "Maximum Likelihood Estimation of Observer Error-Rates"; Rasch (1960) for abilities and difficulties;
Aldous (1985), "Exchangeability and related topics", for the restaurant process.

Copies: one of a pair of submissions may copy the other, with one probability for all instances, else it gives its own answer. Equal wrong
answers are evidence, more so the rarer they are; equal right answers prove little. The likeliest pairs without a circle are taken. Source:
Dong, Berti-Equille, Srivastava (2009), "Integrating Conflicting Data: The Role of Source Dependence"; Chow and Liu (1968) for the tree.
"""

import hashlib
import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from evalsuite.compare.numbers import exact_of
from evalsuite.compare.values import find_numbers, read_number
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import EvalsuiteError, MachineError, UsageError, count_words
from evalsuite.core.import_ref import np
from evalsuite.core.types import METADATA_ARRAY, Fault, Result, Rule, Table, Task
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.paths import SPEC_PATTERN
from evalsuite.readers.submission_files import submission_hash
from evalsuite.runs.batch_scoring import is_batch
from evalsuite.runs.history import RunEntry
from evalsuite.runs.instance_checks import skip_unscorable
from evalsuite.runs.plan import plan
from evalsuite.runs.rescoring import place_of
from evalsuite.runs.submission_reader import read_submission_in_worker
from evalsuite.runs.task_execution import Prediction
from evalsuite.runs.worker_pool import Pool
from evalsuite.stats.units import units_of

# Instances that are searched for pairs, and the shares of copied answers that are tried.
MOST_LOOKED: Final = 1000
_SHARES: Final = tuple(i / 20 for i in range(1, 20))
_LEAST_CHANCE: Final = 1e-4
# (voter, its source) -> the share of its answers that are copied.
Copies = dict[tuple[int, int], float]


def chance_of_same(answers: Any, truth: Any, able: Any, weights: Any, seats: tuple[Any, Any, Any]) -> Any:
    """Return voter x voter the chance that one gives the answer of the other by itself, 0.0001 to 1.

    `answers` is the index of each voter's answer among all (gold's is the first), `truth` the chance of each answer, then of none, to
    be right, `able` by voter that of being right, `weights` the weight of each voter. `seats`: the weight of each answer, the
    concentrations of wrong answers, the chance of each.
    """
    counts, thetas, of_thetas = seats
    # The last column: no answer is right.
    others = np.zeros((len(answers), len(truth)))
    others[:, : len(counts)] = counts
    others[np.arange(len(answers)), answers] -= weights
    n_wrong = others.sum(axis=1)[:, None] - others
    a_seat = (of_thetas / (thetas + n_wrong[:, :, None])).sum(axis=2) * truth
    as_wrong = others[:, answers] * (a_seat.sum(axis=1)[:, None] - a_seat[:, answers])
    same = able[:, None] * truth[answers] + (1 - able)[:, None] * as_wrong
    return np.clip(same, _LEAST_CHANCE, 1)


def find_copies(n_voters: int, items: Sequence[tuple[Any, Any, Any]]) -> Copies:
    """Return the copies, without a circle: each voter has at most one source.

    `items`: by instance its voters, the indexes of their answers, and `chance_of_same`. A pair is taken if its evidence is more than
    `log_odds_needed`.
    """
    shares = np.array(_SHARES)
    evidence = np.zeros((n_voters, n_voters, len(shares)))
    for voters, answers, chances in items:
        equal = np.log(shares / chances[:, :, None] + 1 - shares)
        evidence[np.ix_(voters, voters)] += np.where((answers[:, None] == answers)[:, :, None], equal, np.log(1 - shares))
    best = evidence.max(axis=2)
    best = np.minimum(best, best.T)
    pairs = sorted(((float(best[i, j]), i, j) for i in range(n_voters) for j in range(i)), reverse=True)
    group, neighbours = list(range(n_voters)), dict[int, list[int]]()
    for value, i, j in pairs:
        if value <= log_odds_needed(n_voters):
            break
        if group[i] != group[j]:
            group = [group[i] if member == group[j] else member for member in group]
            neighbours.setdefault(i, []).append(j)
            neighbours.setdefault(j, []).append(i)
    return {(voter, source): float(shares[evidence[voter, source].argmax()]) for voter, source in _edges_of_trees(neighbours)}


def log_odds_needed(n_voters: int) -> float:
    """Return the prior log odds against a pair: about one of all pairs is expected to copy, at most one of 20."""
    return math.log(max(20, n_voters * (n_voters - 1) / 2))


def _edges_of_trees(neighbours: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """Yield (voter, its predecessor) along each tree, from its lowest number."""
    seen, edges = set[int](), []
    for root in sorted(neighbours):
        todo = [] if root in seen else [root]
        seen.add(root)
        while todo:
            source = todo.pop()
            for voter in neighbours[source]:
                if voter not in seen:
                    seen.add(voter)
                    todo.append(voter)
                    edges.append((voter, source))
    return edges


def independent_weights(voters: Any, answers: Any, same: Any, copies: Mapping[tuple[int, int], float]) -> tuple[Any, float]:
    """Return (by voter of an instance the chance that its answer is its own, 0 to 1; the log chance of all copies)."""
    weights, chance = np.ones(len(voters)), 0.0
    places = {int(voter): at for at, voter in enumerate(voters)}
    for (voter, source), share in copies.items():
        a, b = places.get(voter), places.get(source)
        if a is None or b is None:
            continue
        if answers[a] != answers[b]:
            chance += math.log(1 - share)
            continue
        copied = share / (share + (1 - share) * same[a, b])
        weights[a] = 1 - copied
        chance += copied * math.log(share / copied) + (1 - copied) * math.log((1 - share) / (1 - copied))
    return weights, chance


GOLD: Final = ""
_ROUNDS: Final = 25
# The rounds after which copies are searched: each time gold and abilities are known better.
_ASKED: Final = (5, 9, 13, 17, 21)
# The prior of gold: right in 19 of 20 instances.
_RIGHT, _WRONG = 19.0, 1.0
# Concentrations of wrong answers: from one that nearly all give to one for each.
_CONCENTRATIONS: Final = (0.5, 2.0, 8.0, 32.0)
# The prior deviation of difficulties, with the weight of so many instances; its range; the grid of difficulties.
_SPREAD, _SEEN, _LEAST_SPREAD, _MOST_SPREAD = 1.2, 10.0, 0.4, 2.5
_HARDEST, _N_DIFFICULTIES = 4.0, 11
_MOST_ABLE: Final = 5.0
# Two explanations are about as likely if their log evidence differs by less; real submissions follow the model less closely than simulated
# ones. They are different if the expected numbers of wrong golds differ by more than a few, and by more than this part of all.
_CLOSE, _FEW, _SMALL_PART = 15.0, 2.0, 0.05


@dataclass(frozen=True, slots=True)
class Posterior:
    """P(gold is wrong) of an instance in [0, 1], the likeliest answer of a submission in that case ("" if there is none), and by submission
    P(its answer is right).
    """

    p_wrong: float
    likeliest: str
    right: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Fit:
    """The posterior of each instance, and by (submission, its source) the share of its answers that are copied.

    If two explanations fit about as well, the posterior is their mean, and `n_wrong` the expected number of wrong golds by each.
    """

    posteriors: Mapping[str, Posterior]
    copies: Mapping[tuple[str, str], float]
    n_wrong: tuple[int, int] | None = None


def fit(votes: Mapping[str, Mapping[str, str]]) -> Fit:
    """Fit the votes. `votes`: instance -> submission -> its answer, `GOLD` for gold's; equal texts are equal answers."""
    voters = list(dict.fromkeys(name for own in votes.values() for name in own))
    places = {name: at for at, name in enumerate(voters)}
    answers = [{places[name]: answer for name, answer in own.items()} for own in votes.values()]
    # Many copies look like the truth: searching copies before doubting gold may explain all votes better.
    shown, n_wrong = _likely(*(_fit_items(answers, len(voters), gold_first=first) for first in (False, True)))
    by_instance = {}
    for name, *items in zip(votes, *(items for items, *_ in shown), strict=True):
        truth, right = (sum(getattr(item, what) for item in items) / len(items) for what in ("truth", "right"))
        classes, others = items[0].classes, truth[1:-1]
        likeliest = classes[int(np.argmax(others))] if len(others) and max(others) > truth[-1] else ""
        by_instance[name] = Posterior(
            float(1 - truth[0]), likeliest, {voters[j]: float(p) for j, p in zip(items[0].voters, right, strict=True)}
        )
    copies = max((copies for _, copies, _ in shown), key=len)
    shares = {(voters[a], voters[b]): share for (a, b), share in copies.items()}
    return Fit(by_instance, shares, n_wrong)


# The items, the copies, and the evidence for both.
_Fitted = tuple[Sequence["_Item"], Copies, float]


def _likely(by_votes: _Fitted, by_gold: _Fitted) -> tuple[Sequence[_Fitted], tuple[int, int] | None]:
    """Return the likelier explanation, or both with their numbers of wrong golds.

    If half of the submissions resemble each other, and so do the rest, the votes do not tell which half is right: an explanation by many
    wrong golds is not taken alone if the one that trusts gold is about as likely.
    """
    many, few = (math.fsum(1 - float(item.truth[0]) for item in items) for items, *_ in (by_votes, by_gold))
    if 0 < by_votes[2] - by_gold[2] < _CLOSE and many - few > max(_FEW, _SMALL_PART * len(by_votes[0])):
        return (by_votes, by_gold), (round(few), round(many))
    return [max(by_votes, by_gold, key=lambda fitted: fitted[2])], None


def _fit_items(answers_of_instances: Sequence[Mapping[int, str]], n_voters: int, *, gold_first: bool) -> _Fitted:
    """Return (the weighted items, the copies, the evidence for both). With `gold_first` copies are searched before gold is doubted; without
    copies there is then no evidence.
    """
    items = [_Item(answers) for answers in answers_of_instances]
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
        shared = _Shared(np.log(able) - np.log(1 - able), np.log(1 - able), np.log(weights / weights.sum()), mixture, p_right)
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
    return items, copies, sum(item.evidence for item in items) - len(copies) * log_odds_needed(n_voters)


def _copies(items: Sequence["_Item"], able: Any) -> Copies:
    """Find the copies; each item then weights its voters by them."""
    looked = [(item.voters, item.own, item.chances_of_same(able)) for item in items[:MOST_LOOKED]]
    copies = find_copies(len(able), looked)
    for item in items if copies or any(item.weights.min() < 1 for item in items) else ():
        item.weigh_voters(*independent_weights(item.voters, item.own, item.chances_of_same(able), copies))
    return copies


@dataclass(frozen=True, slots=True)
class _Shared:
    """The parameters of a round: the log odds of right and log P(wrong) by voter and difficulty, log weights of difficulties, weights of
    concentrations, P(gold is right).
    """

    odds: Any
    wrong: Any
    difficulties: Any
    mixture: Any
    p_right: float


class _Item:
    """The answers to one instance; `truth` are the probabilities that gold, each class of answers, or none of them is right."""

    def __init__(self, answers: Mapping[int, str]) -> None:
        self.voters = np.array(list(answers), dtype=np.int64)
        self.classes = [answer for answer in dict.fromkeys(answers.values()) if answer != GOLD]
        tables = {answer: at for at, answer in enumerate((GOLD, *self.classes))}
        self.own = np.array([tables[answer] for answer in answers.values()], dtype=np.int64)
        # A row for each possible truth: gold, each class, none of them; a column for each voter.
        self.agrees = self.own == np.arange(len(tables) + 1)[:, None]
        self.truth: Any = np.zeros(len(tables) + 1)
        self.right: Any = np.zeros(len(answers))
        self.difficulty: Any = None
        self.concentration: Any = None
        self.weigh_voters(np.ones(len(answers)), 0.0)

    def weigh_voters(self, weights: Any, of_copies: float) -> None:
        """Set the weight of each voter, 0 to 1, with one whole weight per answer class; `of_copies`: see `independent_weights`."""
        self.weights, self.of_copies = weights, of_copies
        self.counts = self.agrees[:-1] @ weights
        self.counts[0] += 1
        self.weighted, seated = self.agrees * weights, _log_chances(self.counts.tolist())
        self.most_seated = seated.max(axis=1)
        self.seated = np.exp(seated - self.most_seated[:, None])

    def trust_gold(self, p_right: float, grid: Any, mixture: Any) -> None:
        """Set `truth` and the rest as if only gold were known."""
        self.truth = np.array([p_right, *[(1 - p_right) / len(self.counts)] * len(self.counts)])
        self.difficulty, self.concentration = np.full(len(grid), 1 / len(grid)), mixture

    def chances_of_same(self, able: Any) -> Any:
        """Return voter x voter the chance of the same answer, see `chance_of_same`; `able` is P(right) by voter and difficulty."""
        seats = self.counts, np.array(_CONCENTRATIONS), self.concentration
        return chance_of_same(self.own, self.truth, able[self.voters] @ self.difficulty, self.weights, seats)

    def weigh(self, shared: _Shared) -> None:
        """Set `truth`, by voter P(right), the weights of difficulties and concentrations, and `evidence`, the log chance of these answers,
        from the current parameters.
        """
        by_voters = self.weighted @ shared.odds[self.voters] + self.weights @ shared.wrong[self.voters] + shared.difficulties
        most_by_voters = by_voters.max(axis=1)
        by_voters = np.exp(by_voters - most_by_voters[:, None])
        seated, most = self.seated * shared.mixture, most_by_voters + self.most_seated
        # Each truth's chance is that of the voters, summed over difficulties, times that of the wrong answers, over concentrations.
        scale = np.exp(most - most.max())
        scale[0] *= shared.p_right
        scale[1:] *= 1 - shared.p_right
        of_voters, of_seats = by_voters.sum(axis=1), seated.sum(axis=1)
        joint = scale * of_voters * of_seats
        total = float(joint.sum())
        self.evidence = float(most.max()) + math.log(total) + self.of_copies
        self.truth = joint / total
        self.right = self.truth @ self.agrees
        self.difficulty, self.concentration = (scale * of_seats) @ by_voters / total, (scale * of_voters) @ seated / total


def _log_chances(counts: Sequence[float]) -> Any:
    """Return answer that is right (then: none) x concentration: the log chance of the frequencies of the wrong answers."""
    n, shared, rows = sum(counts), sum(map(math.lgamma, counts)), []
    for log_gamma, count in [*((math.lgamma(count), count) for count in counts), (None, 0.0)]:
        n_wrong, n_answers = n - count, len(counts) - (log_gamma is not None)
        rows.append([
            n_answers * math.log(theta) + math.lgamma(theta) - math.lgamma(theta + n_wrong) + shared - (log_gamma or 0.0)
            for theta in _CONCENTRATIONS
        ])  # fmt: skip
    return np.array(rows)


def _abilities(ability: Any, n_right: Any, hard: Any, grid: Any) -> Any:
    """Return abilities under which as many answers are right as estimated, each with one more right and one more wrong answer."""
    low, high = np.full_like(ability, -_MOST_ABLE), np.full_like(ability, _MOST_ABLE)
    for _ in range(30):
        middle = (low + high) / 2
        expected = (hard / (1 + np.exp(grid[None, :] - middle[:, None]))).sum(axis=1) + 2 / (1 + np.exp(-middle))
        more = expected < n_right + 1
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return (low + high) / 2


Votes = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A submission's share of right answers and its rank (from 1) by gold, and as expected under P(gold is wrong)."""

    run: str
    score: float
    rank: int
    expected_score: float
    expected_rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """All submissions, the best by gold first; `n_wrong` golds are expected to be wrong, and `says` is the effect of correcting them."""

    submissions: tuple[Expected, ...] = ()
    n_wrong: int = 0
    says: str = ""


def outlook(votes: Votes, posteriors: Mapping[str, Posterior]) -> Outlook:
    """Return the expectation for each submission, and which ranks change if the expected number of golds, the likeliest ones, are wrong."""
    voters = list(dict.fromkeys(name for answers in votes.values() for name in answers))
    by_gold = {name: [float(answers[name] == GOLD) for answers in votes.values() if name in answers] for name in voters}
    expected = {name: [posteriors[item].right[name] for item, answers in votes.items() if name in answers] for name in voters}
    n_wrong = round(math.fsum(posterior.p_wrong for posterior in posteriors.values()))
    likeliest = set(sorted(posteriors, key=lambda item: -posteriors[item].p_wrong)[:n_wrong])
    mended = {
        name: [
            float(answers[name] == (posteriors[item].likeliest or None) if item in likeliest else answers[name] == GOLD)
            for item, answers in votes.items()
            if name in answers
        ]
        for name in voters
    }
    means, ranks = zip(*map(_means_and_ranks, (by_gold, expected, mended)), strict=True)
    order = sorted(voters, key=lambda name: ranks[0][name])
    submissions = tuple(
        Expected(run=name, score=means[0][name], rank=ranks[0][name], expected_score=means[1][name], expected_rank=ranks[1][name])
        for name in order
    )
    return Outlook(submissions=submissions, n_wrong=n_wrong, says=_effect_of_corrections(order, ranks[0], ranks[2], n_wrong))


def _means_and_ranks(values: Mapping[str, Sequence[float]]) -> tuple[dict[str, float], dict[str, int]]:
    means = {name: math.fsum(scores) / len(scores) if scores else 0.0 for name, scores in values.items()}
    rounded = [round(mean, 12) for mean in means.values()]
    return means, {name: 1 + sum(other > mean for other in rounded) for name, mean in zip(means, rounded, strict=True)}


def value_of_review(answers: Mapping[str, str], posterior: Posterior) -> float:
    """Return P(gold is wrong) times the share of submissions whose verdict would change, at least one of them: 0 to 1."""
    turned = sum(answer in (GOLD, posterior.likeliest) for answer in answers.values())
    return posterior.p_wrong * max(1, turned) / len(answers)


def _effect_of_corrections(order: Sequence[str], before: Mapping[str, int], after: Mapping[str, int], n_wrong: int) -> str:
    if not n_wrong:
        return "no gold is expected to be wrong"
    golds = "the likeliest gold is" if n_wrong == 1 else f"the {n_wrong} likeliest golds are"
    swapped = [f"{a} and {b}" for at, a in enumerate(order) for b in order[at + 1 :] if before[a] < before[b] and after[a] > after[b]]
    if not swapped:
        return f"if {golds} wrong, no two submissions change places"
    more = f" and {len(swapped) - 5} pairs more" if len(swapped) > 5 else ""
    return f"if {golds} wrong, {'; '.join(swapped[:5])}{more} change places"


COLLECT: Final = f"{__name__}:collect_answer"
ANSWER: Final = "answer"
# Records that are checked one by one: so many posteriors take about ten seconds.
MOST_RECORDS: Final = 10_000
_SHOWN: Final = 60

Scores = dict[str, dict[str, float | None]]
Answers = dict[str, dict[str, tuple[str, str]]]


def group_by_record(
    scores: Scores, answers: Answers, units: Mapping[str, Mapping[str, Sequence[float | None] | None]], notes: list[str]
) -> tuple[Scores, Answers]:
    """Return (run -> row -> score, run -> row -> wrong answer), a row `instance#record` for each record of an instance with many records.

    `units` are the scores of the records by run and instance. Runs with one answer per instance have that answer for each of its records;
    the answers of others to single records are not distinguished. Extra records that a run invented are not rows. Above `MOST_RECORDS` the
    last instances stay whole, and a note says so.
    """
    lengths: dict[str, int] = {}
    for units_of_instance in units.values():
        for name, scores_of in units_of_instance.items():
            if scores_of is not None:
                lengths[name] = min(len(scores_of), lengths.get(name, len(scores_of)))
    split, n_rows = dict[str, int](), 0
    for name, n in lengths.items():
        if n_rows + n > MOST_RECORDS:
            notes.append(f"the {n} records of {name} were checked as one: at most {MOST_RECORDS} are checked one by one")
            continue
        split[name], n_rows = n, n_rows + n
    rows: Scores = {run: {} for run in scores}
    wrong_answers: Answers = {run: {} for run in scores}
    for run, own_scores in scores.items():
        for name, score in own_scores.items():
            n_records = split.get(name)
            of_units = [score] if n_records is None or score is None else units[run].get(name) or [score]
            for at in range(n_records or 1):
                row = name if n_records is None else f"{name}#{at + 1}"
                value = rows[run][row] = of_units[at if len(of_units) > 1 else 0]
                if value is not None and value < 1 and name in answers[run]:
                    wrong_answers[run][row] = answers[run][name]
    return rows, wrong_answers


def collect_answer(task: Task, prediction: Prediction) -> Result:
    """Return a result whose details contain the digest and the words of an answer. Runs in a worker; gold is not opened."""
    form = next((form for form in prediction.payloads.values() if not isinstance(form, Fault)), None)
    name = task.instance.instance_id
    bare = Result(instance_id=name, status="scored", score=None, official=None, strict=None, scorer=None, reason="", fault=None)
    if form is None:
        return bare
    are_numbers = False
    for check in task.instance.checks:
        # If every accepted answer is a number, the words around one do not count.
        with suppress(ValueError, TypeError, ArithmeticError, AttributeError):
            are_numbers |= all(read_number(item) is not None for item in check.golds)
    content, words = _content(form, numbers=are_numbers)
    digest = hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()[:32]
    return replace(bare, details={ANSWER: [digest, words]})


def _content(form: Any, *, numbers: bool = False) -> tuple[str, str]:
    """Return (a key that equal answers share, the answer in a few words); the key ignores order, headers and the spelling of numbers."""
    if isinstance(form, Table):
        columns = sorted((list(map(_canonical_text, column)) for column in form.columns), key=lambda column: (sorted(column), column))
        return json.dumps(
            sorted(zip(*columns, strict=True))
        ), f"a table of {count_words(form.n_rows, 'row')}, {count_words(len(form.columns), 'column')}"
    if isinstance(form, str):
        return _text_key(form, numbers=numbers), form.strip()[:_SHOWN]
    tables: list[Any] = list(form.values() if isinstance(form, Mapping) else form) if isinstance(form, Mapping | list) else [None]
    if not all(isinstance(table, Table | Fault) for table in tables):
        return json.dumps(form, sort_keys=True, default=str), "a tree"
    keys = [[_content(table)[0] if isinstance(table, Table) else table.code] for table in tables]
    by_name = sorted(zip(form, keys, strict=True)) if isinstance(form, Mapping) else []
    return json.dumps([[name.lower(), *key] for name, key in by_name] if by_name else keys), count_words(len(form), "table")


def _text_key(text: str, *, numbers: bool) -> str:
    """Return the numbers of a text, or its words without punctuation."""
    written = [number for number in find_numbers(text) if not number.role] if numbers else []
    bare = ("".join(c for c in word if c.isalnum() or c in ".,-%").strip(".,-") for word in text.casefold().split())
    return " ".join(sorted({format(float(exact_of(number.candidates[0])), ".10g") for number in written}) or filter(None, bare))


def _canonical_text(value: Any) -> str:
    """Return a cell as text that other spellings of it share: numbers by 10 significant digits."""
    text = "" if value is None else str(value).strip()
    try:
        return format(float(text), ".10g")
    except ValueError:
        return text.casefold()


# An item-rest correlation of fewer runs is mostly chance.
FEWEST_RUNS: Final = 4
WORTH_NAMING: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """An instance, or a record of one (`inv#17`), with the evidence against its gold.

    `rank_value` in [0, 2.5] is the sum of the three signs, see `suspects`.
    `p_wrong` in [0, 1] is P(gold is wrong), by which the list is sorted; `worth` in [0, 1] the value of a check (see `value_of_review`).
    `n_voices` submissions were scored on it, `n_right` of them right; `agreeing` are the runs of the largest group with one
    wrong answer, `shown` that answer. `item_rest` in [-1, 1] is None if it is not defined.
    """

    instance_id: str
    rank_value: float
    n_voices: int
    n_right: int
    agreeing: tuple[str, ...]
    shown: str
    item_rest: float | None
    reasons: tuple[str, ...]
    p_wrong: float = 0.0
    worth: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """The suspects, the most suspicious first, and notes on what was not checked. `n_units` counts records one by one."""

    suspects: tuple[Suspect, ...]
    n_instances: int
    n_units: int
    n_runs: int
    n_voices: int
    notes: tuple[str, ...]
    outlook: Outlook = field(default_factory=Outlook)


def _notes_of_fit(fitted: Fit) -> Iterator[str]:
    """Yield which submissions copy, and that two explanations are open."""
    for (copy, other), share in fitted.copies.items():
        yield f"{copy} shares {share:.0%} of its answers with {other} beyond chance: they are not two voices"
    if fitted.n_wrong is not None:
        few, many = fitted.n_wrong
        golds = f"{few} wrong golds and more copied answers, or {many} and fewer"
        yield f"two explanations fit the answers about as well: {golds}; the suspicion is their mean"


def suspects(
    entries: Sequence[RunEntry],
    *,
    rules: Rule | None = None,
    gold: Path | None = None,
    isolation: str = "process",
    jobs: int = 1,
    records: bool = True,
) -> Suspects:
    """Find suspect golds from the results of k runs, with the answers read again from the submissions that still exist.

    Runs are one voice if they scored the same files, or name the same model. `rank_value` adds: the share of the other voices that join the
    first in one wrong answer; 0.5 if none is right; and how far the item-rest correlation is below 0. Each record of an instance with many
    records is checked by itself (`inv#17`: gold's 17th), unless `records` is off. Listed are instances with a sign, and those whose gold is
    wrong with a probability of at least 0.1; the likeliest first.

    Raises:
        UsageError: fewer than two voices, or runs of different golds.
    """
    firsts = _named(_independent(entries))
    results = {name: entry.results() for name, entry in firsts.items()}

    def score(result: Result) -> float | None:
        """Return the score of an answer that was compared; a missing or unreadable one is no evidence about gold."""
        return {None: result.score, "official": result.official, "strict": result.strict}[rules] if result.status == "scored" else None

    scores = {run: {result.instance_id: score(result) for result in run_results} for run, run_results in results.items()}
    notes = list(_different_rules(firsts.values())) if rules is None else []
    answers = {name: _answers(name, entry, gold, scores[name], notes, isolation=isolation, jobs=jobs) for name, entry in firsts.items()}
    n_instances = len({name for run_results in scores.values() for name in run_results})
    if records:
        units = {run: {result.instance_id: units_of(result, rules) for result in run_results} for run, run_results in results.items()}
        scores, answers = group_by_record(scores, answers, units, notes)
    ids = list(dict.fromkeys(name for run_scores in scores.values() for name in run_scores))
    correlations = item_rest(scores, ids)
    if len(firsts) < FEWEST_RUNS:
        notes.append(f"item-rest correlations need {FEWEST_RUNS} submissions, there are {len(firsts)}")
    # An instance without any verdict is no evidence.
    votes = {name: run_results for name in ids if (run_results := _votes(name, scores, answers))}
    fitted = fit(votes)
    posteriors = fitted.posteriors
    notes += _notes_of_fit(fitted)
    notes += _pairs_without_difference(list(firsts), votes, fitted.copies)
    found_suspects = []
    for name, run_results in votes.items():
        suspect = _suspect(name, scores, answers, correlations.get(name))
        suspect = replace(suspect, p_wrong=posteriors[name].p_wrong, worth=value_of_review(run_results, posteriors[name]))
        if suspect.rank_value > 0 or suspect.p_wrong >= WORTH_NAMING:
            found_suspects.append(suspect)
    return Suspects(
        suspects=tuple(sorted(found_suspects, key=lambda copy: (-round(copy.p_wrong, 9), -copy.rank_value, copy.instance_id))),
        n_instances=n_instances,
        n_units=len(ids),
        n_runs=len(entries),
        n_voices=len(firsts),
        notes=tuple(dict.fromkeys(notes)),
        outlook=outlook(votes, posteriors),
    )


def _different_rules(entries: Collection[RunEntry]) -> Iterator[str]:
    """Yield a note if the runs were not judged by the same rules."""
    judged_by = {str(entry.run.get("options", {}).get("rules")) for entry in entries}
    if len(judged_by) > 1:
        yield f"the runs were judged by {' and '.join(sorted(judged_by))} rules: --rules judges all by the same"


def _pairs_without_difference(
    names: Sequence[str], votes: Mapping[str, Mapping[str, str]], copies: Collection[tuple[str, str]]
) -> Iterator[str]:
    """Yield a note for each two submissions with the same answer, right or wrong, to all instances of both."""
    for a, b in combinations(names, 2):
        pairs = [(own[a], own[b]) for own in votes.values() if a in own and b in own]
        if sum(mine != GOLD for mine, _ in pairs) > 1 and all(mine == other for mine, other in pairs) and (b, a) not in copies:
            yield f"{a} and {b} give the same answer to all {len(pairs)} instances of both: their agreement says little of gold"


def _votes(
    name: str, scores: Mapping[str, Mapping[str, float | None]], answers: Mapping[str, Mapping[str, tuple[str, str]]]
) -> dict[str, str]:
    """Return the vote of each judged run: `GOLD`, or its answer; an unreadable one agrees with no other."""
    votes = {}
    for run, run_scores in scores.items():
        if (score := run_scores.get(name)) is not None:
            votes[run] = GOLD if score == 1 else answers[run].get(name, (f"? {run}", ""))[0]
    return votes


def _independent(entries: Sequence[RunEntry]) -> list[RunEntry]:
    """Return the first run of each voice. Raises `UsageError` for fewer than two, or runs of different golds."""
    for entry in entries[1:]:
        if entry.run.get("gold", {}).get("hash") != entries[0].run.get("gold", {}).get("hash"):
            raise UsageError(f"{entries[0].name} and {entry.name} scored different golds", hint="compare runs of one gold hash")
    voices = _voices(entries)
    if len(set(voices)) < 2:
        raise UsageError("suspects needs runs of at least two submissions", hint="runs of the same files or of one model count once")
    return [entry for i, entry in enumerate(entries) if voices[i] not in voices[:i]]


def _named(entries: Sequence[RunEntry]) -> dict[str, RunEntry]:
    """Return the entries by name, those of one name by folder: `a/out` and `b/out`."""
    counts = Counter(entry.name for entry in entries)
    return {entry.name if counts[entry.name] == 1 else str(entry.folder): entry for entry in entries}


def _voices(entries: Sequence[RunEntry]) -> list[int]:
    """Return a number for each run: the same for runs of the same files, or of the same model."""
    numbers: list[int] = []
    voice_of: dict[tuple[str, str], int] = {}
    for i, entry in enumerate(entries):
        model = str(entry.metadata.get("model_name") or "")
        recorded = entry.run.get("submission", {})
        marks = [("files", str(recorded.get("hash") or recorded.get("folder"))), *([("model", model)] if model else [])]
        number = next((voice_of[mark] for mark in marks if mark in voice_of), i)
        voice_of.update(dict.fromkeys(marks, number))
        numbers.append(number)
    return numbers


def item_rest(scores: Mapping[str, Mapping[str, float | None]], ids: Sequence[str]) -> dict[str, float]:
    """Return per instance Pearson's r, over k runs, of its score with the mean score of the other instances (corrected item-total
    correlation).

    In [-1, 1]; only for instances on which at least `FEWEST_RUNS` runs were judged, and where both vary. For 0/1 scores this is the
    point-biserial correlation. Source: Nunnally, Psychometric Theory (1978), item analysis.
    """
    totals = {run: [value for value in run_scores.values() if value is not None] for run, run_scores in scores.items()}
    sums = {run: math.fsum(values) for run, values in totals.items()}
    correlations = {}
    for name in ids:
        pairs = [
            (value, (sums[run] - value) / (len(totals[run]) - 1))
            for run, run_scores in scores.items()
            if (value := run_scores.get(name)) is not None and len(totals[run]) > 1
        ]
        if len(pairs) >= FEWEST_RUNS and all(len({round(x, 12) for x in side}) > 1 for side in zip(*pairs, strict=True)):
            # The last digits are other ones in other versions of Python.
            correlations[name] = round(statistics.correlation(*map(list, zip(*pairs, strict=True))), 12)
    return correlations


def _suspect(
    name: str,
    scores: Mapping[str, Mapping[str, float | None]],
    answers: Mapping[str, Mapping[str, tuple[str, str]]],
    correlation: float | None,
) -> Suspect:
    judged = [run for run, run_scores in scores.items() if run_scores.get(name) is not None]
    right = sum(scores[run][name] == 1 for run in judged)
    groups: dict[str, list[str]] = defaultdict(list)
    for run in judged:
        if name in answers[run]:
            groups[answers[run][name][0]].append(run)
    group = max(groups.values(), key=len, default=[])
    agreeing = tuple(group) if len(group) > 1 else ()
    reasons = []
    value = 0.0
    if agreeing:
        value += (len(agreeing) - 1) / (len(judged) - 1)
        reasons.append(f"{len(agreeing)} of {len(judged)} submissions give the same answer, and gold calls it wrong")
    if len(judged) > 1 and all(scores[run][name] == 0 for run in judged):
        value += 0.5
        reasons.append(f"none of {len(judged)} submissions is right")
    if correlation is not None and correlation < 0:
        value -= correlation
        reasons.append(f"the better submissions do worse here: item-rest r = {correlation:.2f}")
    return Suspect(
        instance_id=name,
        rank_value=round(value, 6),
        n_voices=len(judged),
        n_right=right,
        agreeing=agreeing,
        shown=answers[agreeing[0]][name][1] if agreeing else "",
        item_rest=correlation,
        reasons=tuple(reasons),
    )


def _answers(
    run: str, entry: RunEntry, gold: Path | None, scores: Mapping[str, float | None], notes: list[str], *, isolation: str, jobs: int
) -> dict[str, tuple[str, str]]:
    """Return instance id -> (digest, words) of each wrong readable answer of a run; a note if the submission is gone or has changed."""
    recorded, options = entry.run.get("gold", {}), entry.run.get("options", {})
    try:
        gold_folder = place_of(entry, recorded.get("folder"), gold, SPEC_PATTERN, "gold")
        pattern = f"{METADATA_ARRAY}*" if recorded.get("layout", "original") == "original" else "*"
        folder = place_of(entry, entry.run.get("submission", {}).get("folder"), None, pattern, "submission")
        read = read_gold(gold_folder, layout=recorded.get("layout"))
        limits = resolve_limits(read.suite.limits, options.get("limits") or {})
        submission = read_submission_in_worker(folder, read, limits, mode=options.get("mode"), isolation=isolation)
    except MachineError:
        raise
    except EvalsuiteError as error:
        notes.append(f"the answers of {run} were not compared: {error.message}")
        return {}
    if submission_hash(submission) != entry.run.get("submission", {}).get("hash"):
        notes.append(f"the answers of {run} were not compared: its submission has changed since")
        return {}
    ids = {instance.instance_id for instance in read.instances}
    wrong = [name for name, value in scores.items() if value is not None and value < 1 and name in ids]
    tasks = [task for task in plan(read, submission, rules=None, limits=limits, only=wrong) if not is_batch(task)] if wrong else []
    with closing(Pool(jobs=jobs, isolation=isolation, gold_inodes=gold_inodes(read.folder), order=COLLECT)) as pool:
        results = list(pool.results([task for task in tasks if skip_unscorable(task) is None]))
    return {result.instance_id: (answer[0], answer[1]) for result in results if isinstance(answer := result.details.get(ANSWER), list)}
