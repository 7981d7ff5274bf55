"""How often a law would fit values that have nothing to do with each other: what keeps a coincidence from being called a proof.

Gold's values are exchanged for others of the same kind: those of its column, and made ones with as many digits and the same exponent
(of years: years nearby; of days: days nearby; of times: others as round). Where up to three values are wrong any law that would fit counts,
for any would have been named. Of two truths each is met by accident in every second try.
"""

import math
import random
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from evalsuite.causes import LAWS
from evalsuite.causes.laws import Law
from evalsuite.causes.table_alignment import Alignment
from evalsuite.causes.value_pairs import Pair, write_number

TRIES, TRIES_OF_MANY = 1000, 150
# Of so few wrong values any law that fits would have been named.
MOST_OF_ANY: Final = 3
MOST_PAIRS: Final = 8
FEWEST_VALUES: Final = 5
# A cause is proved below the first share of tries, fits up to the second, and is not named above it.
PROVED, FITS = 0.001, 0.005
_YEARS: Final = range(1900, 2101)
_NEAR: Final = 20
_TWO_DAYS: Final = 2 * 24 * 3600
# A single number of fewer digits is met by accident too often for a proof, and so is one of any digits by these laws.
FEWEST_DIGITS: Final = 5
_NEVER_OF_ONE: Final = ("off by one", "unit", "fan-out")
_NUMBER_LAWS: Final = ("number in text", "sign", "times 100", "unit", "off by one", "rounding", "fan-out", "constant factor",
                        "leading zeros")  # fmt: skip
_NULL_LAWS: Final = ("null and zero", "null word")
_TRUTH_LAWS: Final = ("true and false", "inverted")
_TIME_LAWS: Final = ("off by one day", "day and month", "time zone", "time cut off")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?")


def chance_of(law: Law, pairs: Sequence[Pair], column: Sequence[Any]) -> float:
    """The share of tries, 0 to 1, in which the law fits n pairs whose gold is another value of the same kind.

    `column` are gold's values where the pairs stand. The draws repeat themselves: the same pairs have the same share.
    """
    n_wrong, pairs = len(pairs), pairs[:MOST_PAIRS]
    if law.name in _TRUTH_LAWS:
        # A wrong truth is always the other one: only where all of a column are wrong it is turned around.
        some_right = law.name == "inverted" and n_wrong < sum(value is not None for value in column)
        return 1.0 if some_right else 0.5**n_wrong
    chance = _chance([law], pairs, column)
    for family in (_NUMBER_LAWS, _TIME_LAWS):
        if chance <= FITS and len(pairs) <= MOST_OF_ANY and law.name in family:
            # It would have been named by any other name too.
            chance = max(chance, _chance([one for one in LAWS if one.name in family], pairs, column))
    if law.name in _NULL_LAWS:
        # What stands where gold has NULL is a habit of the writer, however many NULLs there are; of one or two it is no proof.
        return max(min(chance, FITS), PROVED if n_wrong < MOST_OF_ANY else 0.0)
    predicted = pairs[0].predicted_number if len(pairs) == 1 else None
    if predicted is not None and (law.name in _NEVER_OF_ONE or len(predicted.normalize().as_tuple().digits) < FEWEST_DIGITS):
        return max(chance, PROVED)
    return chance


def chance_of_rows(a: Alignment) -> float:
    """How likely tables that have nothing to do with each other have as many rows in common, 0 to 1.

    A cell is met as often as it stands in its column on both sides, a number at most as often as there are numbers of its digits.
    """
    if not a.pairs:
        return 1.0
    wrong = [set(rows) for rows in a.wrong]
    places = [(j, k, _shares(a, j, k)) for j, k in enumerate(a.partners) if k is not None]
    n, logarithm = max(a.gold.n_rows, a.prediction.n_rows), 0.0
    for g, p in a.pairs:
        met = sum(math.log(shares[a.columns.gold_keys[j][g]]) for j, _, shares in places if (g, p) not in wrong[j])
        logarithm += min(0.0, met + math.log(n))
    return math.exp(logarithm)


def chance_of_columns(a: Alignment) -> float:
    """How likely the columns whose cells stand in other rows than gold's hold the same cells by accident."""
    logarithm = 0.0
    for j, k in enumerate(a.partners):
        if k is not None and a.columns.gold_keys[j] != a.columns.predicted_keys[k]:
            shares, counts = _shares(a, j, k), a.columns.gold_bags[j]
            ways = math.lgamma(counts.total() + 1) - sum(math.lgamma(n + 1) for n in counts.values())
            logarithm += ways + sum(n * math.log(shares[name]) for name, n in counts.items())
    return math.exp(min(0.0, logarithm))


def _shares(a: Alignment, j: int, k: int) -> dict[Any, float]:
    counts = a.columns.gold_bags[j] + a.columns.predicted_bags[k]
    return {name: min(n / counts.total(), _share_of_kind(name)) for name, n in counts.items()}


def _share_of_kind(name: Any) -> float:
    """How often a value is met among its like: a number by its digits, anything else in one of two."""
    value = name[1] if isinstance(name, tuple) and name[0] == "decimal" else name
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        digits = len(Decimal(str(value)).normalize().as_tuple().digits) if math.isfinite(value) else 1
        return 10.0**-digits
    return 0.5


def _chance(laws: Sequence[Law], pairs: Sequence[Pair], column: Sequence[Any]) -> float:
    """The share of tries in which any of the laws fits, of the two ways of drawing the one that it fits more often."""
    random_ = random.Random(f"{laws[0].name} {len(pairs)} {pairs[0].gold!r}")
    shares, n_tries = [0.0], TRIES if len(pairs) <= MOST_OF_ANY else TRIES_OF_MANY
    others = [[value for value in column if str(value) != str(pair.gold)] for pair in pairs]
    if all(len(set(map(str, values))) >= FEWEST_VALUES for values in others):
        shares.append(_share(laws, pairs, ([random_.choice(values) for values in others] for _ in range(n_tries))))
    numbers = [pair.gold_number for pair in pairs]
    if all(number is not None for number in numbers):
        kinds = [list(_of_its_kind(number, random_)) for number in numbers if number is not None]
        shares.append(_share(laws, pairs, _draws(kinds, pairs, n_tries, random_)))
    elif all(isinstance(pair.gold, str) and _INSTANT.fullmatch(pair.gold) for pair in pairs):
        moments = [list(_moments(pair.gold, random_)) for pair in pairs]
        shares.append(_share(laws, pairs, ([random_.choice(kind) for kind in moments] for _ in range(n_tries))))
    return max(shares)


def _moments(text: str, random_: random.Random) -> Iterator[str]:
    """Days within 20 days of one; of a time others within two days that are as round: to half an hour, a minute, a second."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        yield text
        return
    if len(text) == len("2024-05-31"):
        steps = (timedelta(days=n) for n in range(-_NEAR, _NEAR + 1))
    else:
        unit = 1 if moment.second else 60 if moment.minute % 30 else 1800
        steps = (timedelta(seconds=unit * random_.randint(-_TWO_DAYS // unit, _TWO_DAYS // unit)) for _ in range(TRIES))
    separator = text[len("2024-05-31") : len("2024-05-31") + 1]
    yield from ((moment + step).isoformat(separator or "T")[: len(text)] for step in steps)


def _share(laws: Sequence[Law], pairs: Sequence[Pair], draws: Iterator[list[Any]]) -> float:
    n_fits = n = 0
    for golds in draws:
        drawn = [Pair(gold, pair.predicted, pair.native) for gold, pair in zip(golds, pairs, strict=True)]
        # What differs is looked at: a value that is the answer's own would be no error.
        if all(str(pair.gold) != str(pair.predicted) for pair in drawn):
            n += 1
            n_fits += any(one.fix(drawn) is not None for one in laws)
    return n_fits / n if n else 0.0


def _draws(kinds: Sequence[Sequence[Decimal]], pairs: Sequence[Pair], n_tries: int, random_: random.Random) -> Iterator[list[Any]]:
    """Values of the kinds, one for each pair: of a single pair each value of its kind once."""
    likes = [pair.gold for pair in pairs]
    if len(kinds) == 1:
        yield from ([write_number(value, likes[0])] for value in kinds[0])
        return
    for _ in range(n_tries):
        yield [write_number(random_.choice(kind), like) for kind, like in zip(kinds, likes, strict=True)]


def _of_its_kind(number: Decimal, random_: random.Random) -> Iterator[Decimal]:
    """At most `TRIES` numbers with the sign, the significant digits and the exponent of a number, all of them where there are no more."""
    if number == number.to_integral_value() and int(number) in _YEARS:
        yield from (number + step for step in range(-_NEAR, _NEAR + 1))
        return
    sign, digits, exponent = number.normalize().as_tuple() if not number.as_tuple().exponent else number.as_tuple()
    n = len(digits)
    lowest, beyond = 10 ** (n - 1), 10**n
    values = range(lowest, beyond) if beyond - lowest <= TRIES else (random_.randrange(lowest, beyond) for _ in range(TRIES))
    for value in values:
        yield (Decimal(value) * (-1 if sign else 1)).scaleb(int(exponent))
