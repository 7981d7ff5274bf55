"""What every search for a cause shares: the scorer as judge of each try, a counted budget, the causes, and their chance.

The chance of a cause says how often a hypothesis fits unrelated values, which separates a coincidence from a proof. Gold's values are
replaced by others of the same kind: those of its column, and generated ones with as many digits and the same exponent (years: nearby years;
days: nearby days; times: others as round). If at most three values are wrong, any hypothesis that fits counts, because any would have been
named. One of two booleans is right by accident in every second try.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from evalsuite.analysis.causes import ERROR_HYPOTHESES, general_sentence
from evalsuite.analysis.causes.error_hypotheses import ErrorHypothesis, truth
from evalsuite.analysis.causes.table_alignment import Alignment
from evalsuite.analysis.causes.values import DAY, Pair, cell, decimals, is_near, write_number
from evalsuite.compare.messages import verdicts_only
from evalsuite.compare.strict_columns import key
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import FaultError
from evalsuite.core.registry import Scorer
from evalsuite.core.scores import Rule, Table

TRIES, TRIES_OF_MANY = 1000, 150
# With so few wrong values any hypothesis that fits would have been named.
MOST_OF_ANY: Final = 3
MOST_PAIRS: Final = 8
FEWEST_VALUES: Final = 5
# A cause is proved below the first share of tries, fits up to the second, and is not named above it; for hypotheses on values up to the
# third.
PROVED, FITS, FITS_VALUES = 0.001, 0.005, 0.025
_YEARS: Final = range(1900, 2101)
_SMALL: Final = range(-99, 100)
_FEWEST_CLOSE: Final = 8
_NEAR, _HALF_A_YEAR = 20, 183
_MOST_LETTERS: Final = 60
_TWO_DAYS: Final = 2 * 24 * 3600
# A single number with fewer digits is right by accident too often for a proof. By the hypotheses in `_NEVER_OF_ONE`, a number of any length
# is.
FEWEST_DIGITS: Final = 5
_FEWEST_OF_FACTOR: Final = 3
# Fewer different rows than this prove no wrong combination of their cells.
_FEWEST_SCRAMBLED: Final = 6
_SHIFTS: Final = ("off by one", "off by one day")
_NEVER_OF_ONE: Final = ("off by one", "unit", "fan-out")
_NUMBER_ERRORS: Final = ("number in text", "sign", "times 100", "unit", "off by one", "rounding", "fan-out", "constant factor",
                        "leading zeros")  # fmt: skip
_NULL_ERRORS: Final = ("null and zero", "null word")
_TRUTH_ERRORS: Final = ("true and false", "inverted")
_TIME_ERRORS: Final = ("off by one day", "day and month", "time zone", "time cut off")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?")


def chance_of(hypothesis: ErrorHypothesis, pairs: Sequence[Pair], column: Sequence[Any]) -> float:
    """Return the share of tries, 0 to 1, in which the hypothesis fits n pairs whose gold is another value of the same kind.

    `column` are gold's values in the column of the pairs. The draws are deterministic: the same pairs have the same share.
    """
    if hypothesis.name in _TRUTH_ERRORS:
        # A wrong boolean is always the other one, so only a whole column counts as inverted.
        some_right = hypothesis.name == "inverted" and len(pairs) < sum(value is not None for value in column)
        return 1.0 if some_right else 0.5 ** len(pairs)
    if hypothesis.name == "value lost":
        # The loss is visible, whatever the value was.
        return 0.0
    telling = _choose_telling_pairs(hypothesis, pairs[:MOST_PAIRS])
    if hypothesis.name == "fan-out" and not telling:
        return 1.0
    chance = _chance_under_any_name(hypothesis, telling, column)
    if hypothesis.name in _NULL_ERRORS:
        # A fill value for NULL is a habit of the writer, however many NULLs there are; one or two are no proof.
        return max(min(chance, FITS), PROVED if len(pairs) < MOST_OF_ANY else 0.0)
    return max(chance, PROVED) if _is_never_proof(hypothesis, telling) else chance


def _choose_telling_pairs(hypothesis: ErrorHypothesis, pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Return the pairs that say something about the hypothesis: the others fit whenever these do, or always."""
    if hypothesis.name in _SHIFTS and _is_gapless(pairs):
        # Consecutive ranks, years and days are all off by one together.
        return pairs[:1]
    if hypothesis.name == "fan-out":
        # Any whole number is a multiple of 1.
        return [pair for pair in pairs if abs(pair.gold_number or 0) != 1]
    return pairs


def _chance_under_any_name(hypothesis: ErrorHypothesis, pairs: Sequence[Pair], column: Sequence[Any]) -> float:
    """Return the share of tries in which the hypothesis fits; for few pairs, any hypothesis that would have been named instead."""
    chance = _chance([hypothesis], pairs, column)
    for family in (_NUMBER_ERRORS, _TIME_ERRORS):
        if chance <= FITS and len(pairs) <= MOST_OF_ANY and hypothesis.name in family:
            chance = max(chance, _chance([entry for entry in ERROR_HYPOTHESES if entry.name in family], pairs, column))
    return chance


def _is_never_proof(hypothesis: ErrorHypothesis, pairs: Sequence[Pair]) -> bool:
    """Whether numbers are too few or too small for a proof by this hypothesis, however rarely it fits others."""
    if hypothesis.name == "constant factor" and _is_factor_of_small_numbers(pairs):
        return True
    if hypothesis.name in (*_SHIFTS, "rounding") and _are_few_and_close(pairs):
        return True
    predicted = pairs[0].predicted_number if len(pairs) == 1 else None
    return predicted is not None and (hypothesis.name in _NEVER_OF_ONE or _n_digits(predicted) < FEWEST_DIGITS)


def _are_few_and_close(pairs: Sequence[Pair]) -> bool:
    """Whether gold's values are fewer than eight different years or whole numbers of two digits: those of one table often differ by one."""
    values = {pair.gold_number for pair in pairs}
    return len(values) < _FEWEST_CLOSE and all(value is not None and (value in _YEARS or value in _SMALL) for value in values)


def _is_factor_of_small_numbers(pairs: Sequence[Pair]) -> bool:
    """Whether some of up to three numbers have few digits, or all of more without an exact factor: a rounded rate fits most."""
    sizes = [_n_digits(pair.predicted_number) for pair in pairs]
    if len(pairs) <= MOST_OF_ANY:
        return min(sizes) < _FEWEST_OF_FACTOR
    ratios = [Decimal(pair.predicted_number or 0) / (pair.gold_number or 1) for pair in pairs]
    return max(sizes) < _FEWEST_OF_FACTOR and not all(is_near(ratio, ratios[0]) for ratio in ratios)


def _is_gapless(pairs: Sequence[Pair]) -> bool:
    """Whether gold's values are numbers or days that cover at least half of their range."""
    names = {key(cell(pair.gold, native=pair.native)) for pair in pairs}
    return len(names) == 1 or _share_by_steps(names) * len(names) > 0.499 * (len(names) - 1) / (len(names) + 1)


def _n_digits(number: Decimal | None) -> int:
    return 0 if number is None else len(number.normalize().as_tuple().digits)


def chance_of_rows(a: Alignment, *, without_key: bool = False, of_list: bool = False) -> float:
    """Return how likely unrelated tables have as many equal cells in paired rows, 0 to 1.

    The product over the pairs of rows of min(1, n * s1 * s2 * ...): n is the larger number of rows, because a row could have met any of
    them, and s the share of unrelated values that equal the cell (`_share`). An answer without any value cannot match by accident.
    `without_key` leaves out the most informative column without wrong cells: tables that were grouped by the same key share it. Texts alone
    are never a proof: they come from lists that both tables may know; `of_list` asks how likely such a list is (`_chance_of_list`).
    """
    if _is_empty(a):
        return FITS
    if not a.pairs:
        return 1.0
    wrong = [set(rows) for rows in a.unrelated]
    places = [j for j, k in enumerate(a.partners) if k is not None]

    def chance(chosen: Sequence[int], *, by_letters: bool) -> float:
        columns = [(wrong[j], _Shares(a, j, by_letters=by_letters)) for j in chosen]
        n, logarithm = max(a.gold.n_rows, a.prediction.n_rows), 0.0
        for g, p in a.pairs:
            met = sum(math.log(shares.share_of_row(g, p)) for not_equal, shares in columns if (g, p) not in not_equal)
            logarithm += min(0.0, met + math.log(n))
        return math.exp(logarithm)

    if without_key:
        keys = [j for j in places if not wrong[j] and len(a.columns.gold_bags[j]) == a.gold.n_rows]
        if keys:
            places.remove(min(keys, key=lambda j: chance([j], by_letters=True)))
    most = _chance_of_list(a) if of_list else PROVED
    return max(chance(places, by_letters=True), min(most, chance(places, by_letters=False)))


def chance_of_columns(a: Alignment) -> float:
    """Return how likely columns contain the same cells as gold's in other rows by accident: see `chance_of_rows`."""

    def chance(*, by_letters: bool) -> float:
        logarithm = 0.0
        for j, k in enumerate(a.partners):
            if k is not None and a.columns.gold_keys[j] != a.columns.predicted_keys[k]:
                shares, counts = _Shares(a, j, by_letters=by_letters), a.columns.gold_bags[j]
                ways = math.lgamma(counts.total() + 1) - sum(math.lgamma(n + 1) for n in counts.values())
                # Gapless ranks, months or years are the same in all tables.
                if shares.by_steps * len(counts) <= 0.5:
                    drawn = [shares.share_of_row(row) for row in range(a.gold.n_rows)]
                    if len(counts) == len(drawn):
                        # Values that occur once are drawn without being put back.
                        drawn = [1 / max(1.0, 1 / share - i) for i, share in enumerate(sorted(drawn))]
                    logarithm += min(0.0, ways + sum(map(math.log, drawn)))
        return math.exp(logarithm)

    # Few rows of small columns can be combined in few ways only.
    least = PROVED if len(set(map(a.gold_row, range(a.gold.n_rows)))) < _FEWEST_SCRAMBLED else 0.0
    return max(least, chance(by_letters=True), min(_chance_of_list(a), chance(by_letters=False)))


def _chance_of_list(a: Alignment) -> float:
    """Return how likely both sides take their texts from one closed list, as weekdays are: 1 in n (n + 1) for n texts.

    These chances add up to 1 over all sizes. Only words make a closed list, and at least two of them; for other texts it is `PROVED`.
    """
    n = 1
    for j, k in enumerate(a.partners):
        names = {key(cell) for cell in (*a.columns.gold[j].cells, *(() if k is None else a.columns.predicted[k].cells))}
        texts = [name[1] for name in names if isinstance(name, tuple) and name[0] == "text"]
        n = max(n, len(texts)) if all(map(str.isalpha, texts)) else n
    return max(PROVED, 1 / (n * (n + 1))) if n > 1 else PROVED


def chance_of_copies(a: Alignment) -> float:
    """Return how likely rows added at random are copies of gold's rows: see `chance_of_rows`."""
    golds = {a.gold_row(row): row for row in range(a.gold.n_rows)}
    columns = [_Shares(a, j, by_letters=False) for j, k in enumerate(a.partners) if k is not None]
    # Copies of the same row say no more than one of them.
    rows = {golds[name] for p in a.extra if (name := a.predicted_row(p)) in golds}
    return math.exp(sum(min(0.0, sum(math.log(shares.share_of_row(g)) for shares in columns) + math.log(len(golds))) for g in rows))


def chance_of_headers(a: Alignment) -> float:
    """Return how likely as many headers equal gold's by accident: each letter or digit of them halves it."""
    gold_names, names = ({name.strip().casefold() for name in table.header} for table in (a.gold, a.prediction))
    return 0.5 ** sum(sum(map(str.isalnum, name)) for name in gold_names & names)


def _is_empty(a: Alignment) -> bool:
    """Whether the answer has no value, and gold has one in each of the cells."""
    names = [name for k in a.partners if k is not None for name in a.columns.predicted_keys[k]]
    golds = (name for keys in a.columns.gold_keys for name in keys)
    return None not in a.partners and a.gold.n_rows > 0 and (not names or (set(names) == {None} and None not in golds))


class _Shares:
    """The share of unrelated values that equal a gold cell: the largest of three estimates.

    - by its kind: a number of d digits 10^-d, a year 1/41, a day 1/365, an hour or minute of it 1/24 or 1/1440 of that, a text of d letters
      4^(3 - d) (or, not `by_letters`, 1/2), a boolean, NULL or a short text 1/2;
    - its frequency in the other cells of its column;
    - for numbers or days, one by the steps from the smallest to the largest of both sides.
    """

    def __init__(self, a: Alignment, j: int, *, by_letters: bool) -> None:
        self._a, self._j, self._by_letters = a, j, by_letters
        self._keys = [key(cell) for cell in a.columns.gold[j].cells]
        k = a.partners[j]
        predicted_keys = [] if k is None else [key(cell) for cell in a.columns.predicted[k].cells]
        self._counts, self.by_steps = Counter(self._keys), _share_by_steps({*self._keys, *predicted_keys} - {None})

    def share_of_row(self, g: int, p: int | None = None) -> float:
        """Return the share of gold row g; with the predicted row p, by all of its digits if both cells have them."""
        a, j = self._a, self._j
        name, rounded, n, k = self._keys[g], a.columns.gold_keys[j][g], a.gold.n_rows, a.partners[j]
        count = self._counts[name]
        if isinstance(rounded, float) and (p is None or k is None or key(a.columns.predicted[k].cells[p]) != name):
            name, count = ("decimal", Decimal(str(rounded))), a.columns.gold_bags[j][rounded]
        return max(self._draw_by_kind(name), (count - 1) / (n - 1) if n > 1 else 0.0, self.by_steps)

    def _draw_by_kind(self, name: Any) -> float:
        kind, value = name if isinstance(name, tuple) else ("decimal", name)
        if isinstance(value, int) and value in _YEARS:
            return 1 / (2 * _NEAR + 1)
        if isinstance(value, int | Decimal) and not isinstance(value, bool) and kind == "decimal":
            return 10.0 ** -_n_digits(Decimal(value)) if value else 0.5
        if kind == "instant":
            return 1 / 365 if value % DAY == 0 else 1 / (365 * 24) if value % (DAY // 24) == 0 else 1 / (365 * 1440)
        if kind != "text" or truth(value) is not None:
            return 0.5
        return min(0.5, 4.0 ** (3 - min(_MOST_LETTERS, sum(map(str.isalnum, value))))) if self._by_letters else 0.5


def _share_by_steps(names: Collection[Any]) -> float:
    """Return one by the steps from the smallest to the largest of n numbers or days, widened by (n + 1) / (n - 1); 0 for texts."""
    values = [name[1] if isinstance(name, tuple) and name[0] in ("decimal", "instant") else name for name in names]
    if len(values) < 2 or not all(isinstance(value, int | Decimal) and not isinstance(value, bool) for value in values):
        return 0.0
    is_days = all(isinstance(name, tuple) and name[0] == "instant" and name[1] % DAY == 0 for name in names)
    unit = Decimal(DAY) if is_days else Decimal(1).scaleb(-max(decimals(Decimal(value)) for value in values))
    n_steps = int((max(values) - min(values)) / unit) + 1
    n = len(values)
    return (n - 1) / ((n + 1) * n_steps)


def _chance(hypotheses: Sequence[ErrorHypothesis], pairs: Sequence[Pair], column: Sequence[Any]) -> float:
    """Return the share of tries in which any of the hypotheses fits, for the way of drawing that it fits more often."""
    random_ = random.Random(f"{hypotheses[0].name} {len(pairs)} {pairs[0].gold!r}")
    n_tries = TRIES if len(pairs) <= MOST_OF_ANY else TRIES_OF_MANY
    share, others = 0.0, [[value for value in column if str(value) != str(pair.gold)] for pair in pairs]
    if all(len(set(map(str, values))) >= FEWEST_VALUES for values in others):
        share = _share(hypotheses, pairs, ([random_.choice(values) for values in others] for _ in range(n_tries)))
    return max(share, _share_of_kind(hypotheses, pairs, n_tries, random_))


def _share_of_kind(hypotheses: Sequence[ErrorHypothesis], pairs: Sequence[Pair], n_tries: int, random_: random.Random) -> float:
    """Return the share of tries among generated values of the same kind, 0 if the pairs are neither all numbers nor all times."""
    numbers = [pair.gold_number for pair in pairs]
    if all(number is not None for number in numbers):
        kinds = [list(_draw_similar(number, random_)) for number in numbers if number is not None]
        return _share(hypotheses, pairs, _draws(kinds, pairs, n_tries, random_))
    if all(isinstance(pair.gold, str) and _INSTANT.fullmatch(pair.gold) for pair in pairs):
        n_days = _NEAR if any(hypothesis.name in _TIME_ERRORS for hypothesis in hypotheses) else _HALF_A_YEAR
        moments = [list(_moments(pair.gold, n_days, random_)) for pair in pairs]
        return _share(hypotheses, pairs, ([random_.choice(kind) for kind in moments] for _ in range(n_tries)))
    return 0.0


def _moments(text: str, n_days: int, random_: random.Random) -> Iterator[str]:
    """Return days within `n_days` of one; for a time, others within two days that are as round: to half an hour, a minute, a second."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        yield text
        return
    if len(text) == len("2024-05-31"):
        steps = (timedelta(days=n) for n in range(-n_days, n_days + 1))
    else:
        unit = 1 if moment.second else 60 if moment.minute % 30 else 1800
        steps = (timedelta(seconds=unit * random_.randint(-_TWO_DAYS // unit, _TWO_DAYS // unit)) for _ in range(TRIES))
    separator = text[len("2024-05-31") : len("2024-05-31") + 1]
    yield from ((moment + step).isoformat(separator or "T")[: len(text)] for step in steps)


def _share(hypotheses: Sequence[ErrorHypothesis], pairs: Sequence[Pair], draws: Iterator[list[Any]]) -> float:
    n_fits = n = 0
    for golds in draws:
        drawn = [Pair(gold, pair.predicted, pair.native) for gold, pair in zip(golds, pairs, strict=True)]
        # Only values that differ count: one that equals the answer's would be no error.
        if all(str(pair.gold) != str(pair.predicted) for pair in drawn):
            n += 1
            n_fits += any(hypothesis.fix(drawn) is not None for hypothesis in hypotheses)
    return n_fits / n if n else 0.0


def _draws(kinds: Sequence[Sequence[Decimal]], pairs: Sequence[Pair], n_tries: int, random_: random.Random) -> Iterator[list[Any]]:
    """Return values of the kinds, one for each pair; for a single pair each value of its kind once."""
    likes = [pair.gold for pair in pairs]
    if len(kinds) == 1:
        yield from ([write_number(value, likes[0])] for value in kinds[0])
        return
    for _ in range(n_tries):
        yield [write_number(random_.choice(kind), like) for kind, like in zip(kinds, likes, strict=True)]


def _draw_similar(number: Decimal, random_: random.Random) -> Iterator[Decimal]:
    """Return at most `TRIES` numbers with the sign, the significant digits and the exponent of a number, all of them if there are fewer."""
    if number == number.to_integral_value() and int(number) in _YEARS:
        yield from (number + step for step in range(-_NEAR, _NEAR + 1))
        return
    sign, digits, exponent = number.normalize().as_tuple() if not number.as_tuple().exponent else number.as_tuple()
    n = len(digits)
    lowest, limit = 10 ** (n - 1), 10**n
    n_values = limit - lowest
    # One from each of as many equal parts: independent draws would miss a share of 2 % by half a percent.
    drawn = (lowest + random_.randrange(n_values * i // TRIES, n_values * (i + 1) // TRIES) for i in range(TRIES))
    for value in range(lowest, limit) if n_values <= TRIES else drawn:
        yield (Decimal(value) * (-1 if sign else 1)).scaleb(int(exponent))


MOST_ATTEMPTS: Final = 400
MOST_CELLS: Final = 20_000_000
SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: its name, its sentence (counts and places, no values), and where (headers, values).

    `hypothesis` made `pairs` of values wrong, `column` are gold's values around them. `puts_gold_in`: undoing it takes values from gold
    that the answer lacks. `chance` in [0, 1] is the share of unrelated values that it would fit, `in_common` the share of unrelated answers
    with as many other cells of gold's. `patch` are the keys by path with which a schema accepts the answer, `scores` the score before and
    after for a cause of only a part.
    """

    name: str
    says: str = ""
    where: str = ""
    hypothesis: ErrorHypothesis | None = field(default=None, compare=False)
    pairs: Sequence[Pair] = field(default=(), compare=False)
    column: Sequence[Any] = field(default=(), compare=False)
    puts_gold_in: bool = False
    chance: float = 0.0
    in_common: float = 1.0
    patch: Mapping[str, Any] = field(default_factory=dict, compare=False)
    scores: tuple[float, float] | None = None

    def weigh(self) -> "Cause":
        """The cause with its chance."""
        if self.hypothesis is None or not self.pairs:
            return self
        return replace(self, chance=max(self.chance, chance_of(self.hypothesis, self.pairs, self.column)), pairs=())

    @property
    def is_named(self) -> bool:
        """Whether unrelated rows show it in at most 0.5 % of tries, values in 2.5 %; or unrelated answers with all they share in 0.1 %."""
        if self.hypothesis is None:
            return self.chance * self.in_common <= FITS
        return self.chance <= FITS_VALUES or self.chance * self.in_common <= PROVED

    @property
    def why_not_named(self) -> str:
        """The note of a weighed cause that is not named."""
        return f"{self.name} fits, but it also fits unrelated values in {self.chance:.0%} of tries: not named"

    @property
    def standing(self) -> str:
        """`proved`, or `fits` if undoing the cause needs gold, or if it fits unrelated values in 0.1 % of tries or more."""
        return "fits" if self.puts_gold_in or self.chance >= PROVED else "proved"

    def to_json(self) -> dict[str, Any]:
        """Return the cause as data; `general` is its meaning without values of either side, `text` all of it in one line."""
        says = self.says or general_sentence(self.name)
        return {
            "name": self.name,
            "standing": self.standing,
            "proved": self.standing == "proved",
            "chance": self.chance,
            "general": general_sentence(self.name),
            "says": says,
            "where": self.where,
            "text": f"{says}: {self.where}" if self.where else says,
            **({"patch": self.patch} if self.patch else {}),
            **({"scores": list(self.scores)} if self.scores else {}),
        }


@dataclass(slots=True)
class Budget:
    """The remaining calls of the scorer, and cells in total; counted rather than timed, so that load changes no answer."""

    attempts: int = MOST_ATTEMPTS
    cells: int = MOST_CELLS
    n_used: int = 0
    used_cells: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def is_spent(self) -> bool:
        """Whether the search has to end; the reason is noted once."""
        if self.n_used >= self.attempts:
            self.note(f"no cause found in {tries(self.attempts)}")
        elif self.used_cells >= self.cells:
            self.note(f"no cause found in {tries(self.n_used)} of {self.used_cells:,} cells together")
        else:
            return False
        return True

    def note(self, text: str) -> None:
        """Note something that was not searched."""
        if text not in self.notes:
            self.notes.append(text)


@dataclass(frozen=True, slots=True)
class Judge:
    """The scorer of one check with its parameters (gold read), under one rule."""

    scorer: Scorer
    parameters: Mapping[str, Any]
    rules: Rule
    budget: Budget

    def passes(self, prediction: Any) -> bool:
        """Whether the scorer gives a full score; False if the budget is spent, or if the scorer cannot judge the answer."""
        return self.value(prediction) == 1.0

    def value(self, prediction: Any) -> float | None:
        """Return the score; None if the budget is spent, or if the scorer cannot judge the answer."""
        if self.budget.is_spent:
            return None
        self.budget.n_used += 1
        self.budget.used_cells += n_cells(prediction)
        try:
            with verdicts_only():
                return self.scorer.score(prediction, **self.parameters).value(self.rules)
        except (FaultError, ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError):
            # A repaired answer is generated: a scorer that cannot read it proves nothing.
            return None

    def set_parameters(self, **changed: Any) -> "Judge":
        """Return the same judge with some parameters changed."""
        return Judge(self.scorer, {**self.parameters, **changed}, self.rules, self.budget)


Passes = Callable[[Any], bool]


def n_cells(form: Any) -> int:
    """Return how many cells an answer has: those of its tables, 1 for everything else."""
    if isinstance(form, Table):
        return form.n_rows * len(form.columns)
    if isinstance(form, Mapping):
        return sum(map(n_cells, form.values()))
    return sum(map(n_cells, form)) if isinstance(form, list | tuple) else 1


def show(value: Any) -> str:
    """Return a value as it is shown in a sentence."""
    text = "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def tries(n: int) -> str:
    """`1 try`, `2 tries`."""
    return "1 try" if n == 1 else f"{n} tries"


def join_names(causes: Sequence[Cause]) -> str:
    """Return the names of several causes as one."""
    return " and ".join(dict.fromkeys(cause.name for cause in causes))
