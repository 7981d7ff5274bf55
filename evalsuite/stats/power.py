"""Power of the paired tests of this package, exact McNemar and sign flips, for n units.

The model: some fraction of units differs, by a size drawn from the observed sizes, in favour of one side with a given chance. A mean
difference that this fraction cannot produce raises the fraction. Equal sizes (0/1 scores) are summed exactly. For other sizes the chance of
each outcome is exact for given sizes, and the sizes are a stratified sample; above 500 units the normal approximation is used.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.import_ref import NDArray, np, special
from evalsuite.stats.samples import SEED, decimals, mean, z_value
from evalsuite.stats.significance import in_units

POWER = 0.8
MOST_EXACT = 500
_N_DRAWN, _N_SETS = 4096, 128
_N_PLACES, _FEW = 2048, 32
_MOST_UNITS = 100_000_000
_CLOSE, _MOST_GUESSES = 0.001, 16
# Beyond this many standard deviations the sum is always significant.
_FAR = 6


@dataclass(frozen=True, slots=True)
class Units:
    """Differences of n paired units: the sizes that are not 0, their mean and mean square, and the fraction of units that differ."""

    n: int
    sizes: tuple[float, ...]
    size: float
    square: float
    share: float

    def power(self, difference: float, alpha: float, n: int | None = None) -> float:
        """The chance that the two-sided test of n such units gives p <= alpha when the mean difference is `difference`."""
        n = n or self.n
        reach = min(1.0, abs(difference) / self.size)
        share = max(self.share, reach)
        ahead = (1 + reach / share) / 2
        if self.sizes[0] == self.sizes[-1]:
            return _equal_power(n, share, ahead, alpha)
        if n > MOST_EXACT or reach * self.size * math.sqrt(n / (share * self.square)) > _FAR:
            square, centre = share * self.square, reach * self.size
            critical, middle = z_value(1 - alpha) * math.sqrt(square), centre * math.sqrt(n)
            sd = math.sqrt(max(1e-12, square - centre**2))
            return NormalDist().cdf((middle - critical) / sd) + NormalDist().cdf((-middle - critical) / sd)
        return _graded_power(self.sizes, n, share, ahead, alpha)


def power_units(differences: Sequence[float], *, binary: bool = False) -> Units | None:
    """Return the summary of n differences; None if none differs, unless `binary` says that the only size is 1."""
    sizes = tuple(sorted(abs(value) for value in differences if value))
    if not sizes and not binary:
        return None
    share, sizes = len(sizes) / len(differences), sizes or (1.0,)
    return Units(len(differences), sizes, mean(sizes), mean([size * size for size in sizes]), share)


def can_show(n: int, alpha: float) -> bool:
    """Return whether n units can show anything: flipping n signs gives no p below 2 / 2^n."""
    return 2.0 ** (1 - n) <= alpha + 1e-12


@lru_cache(maxsize=64)
def detectable(units: Units, alpha: float, power: float = POWER) -> float | None:
    """Return the smallest mean difference that so many units, differing like these, show with this power; None if none can be shown."""
    if not can_show(units.n, alpha):
        return None
    low, at_low, high, at_high = 0.0, alpha, 1.0, 1.0
    z = z_value(1 - alpha) + NormalDist().inv_cdf(power)
    guess = z * math.sqrt(units.share * units.square / units.n) / units.size
    # At least what a difference takes of which every unit that differs is a part: from too far above, the guesses do not reach it.
    guess = max(guess, z**2 * units.square / (units.n * units.size**2))
    for _ in range(_MOST_GUESSES):
        guess = guess if low < guess < high else low + (high - low) * min(0.9, max(0.1, (power - at_low) / max(1e-9, at_high - at_low)))
        reached = units.power(guess * units.size, alpha)
        if abs(reached - power) < _CLOSE or high - low < _CLOSE * guess:
            break
        low, at_low, high, at_high = (guess, reached, high, at_high) if reached < power else (low, at_low, guess, reached)
    return guess * units.size


@lru_cache(maxsize=64)
def n_needed(units: Units, difference: float, alpha: float, power: float = POWER) -> int | None:
    """Return the number of units, differing like these, that show this mean difference with the power; None for 0, or above 100 million."""
    if not difference or not can_show(units.n, alpha):
        return None
    share = max(units.share, abs(difference) / units.size)
    z = z_value(1 - alpha) + NormalDist().inv_cdf(power)
    start = max(2, math.ceil(z**2 * max(0.0, share * units.square - difference**2) / difference**2))
    if start > _MOST_UNITS:
        return None
    low, high = 1, start
    while units.power(difference, alpha, high) < power:
        low, high = high, math.ceil(high * 1.1) + 1
    while low == 1 and high > 2:
        lower = max(2, math.floor(high / 1.1) - 1)
        low, high = (1, lower) if units.power(difference, alpha, lower) >= power else (lower, high)
    while high - low > max(1, high // 500):
        middle = (low + high) // 2
        low, high = (low, middle) if units.power(difference, alpha, middle) >= power else (middle, high)
    return high


def _counts_of(n: int, share: float) -> "tuple[NDArray[Any], NDArray[Any]]":
    """Return (how many of n units may differ, the chance of each number): all within ten standard deviations."""
    around = 10 * math.sqrt(n * share * (1 - share)) + 10
    counts = np.arange(max(0, math.floor(n * share - around)), min(n, math.ceil(n * share + around)) + 1, dtype=float)
    gammaln = special.gammaln
    logs = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    logs += special.xlogy(counts, share) + special.xlog1py(n - counts, -share)
    chances = np.exp(logs)
    return counts, chances / chances.sum()


def _equal_power(n: int, share: float, ahead: float, alpha: float) -> float:
    """The power of McNemar's exact test, summed over how many units differ and which way."""
    counts, chances = _counts_of(n, share)
    counts, chances = counts[counts > 0], chances[counts > 0]
    most = np.floor(np.nan_to_num(special.bdtrik(alpha / 2, counts, 0.5), nan=-1.0)) + 1
    counts = counts.astype(np.intp)
    for _ in range(3):
        # The largest number on the smaller side with p at most alpha; -1 if there is none.
        most = np.where((most >= 0) & (2 * special.bdtr(np.maximum(most, 0), counts, 0.5) > alpha * (1 + 1e-12)), most - 1, most)
    inside = np.clip(most, 0, counts)
    rejects = np.where(most >= 0, special.bdtr(inside, counts, ahead) + special.bdtr(inside, counts, 1 - ahead), 0.0)
    return float((chances * rejects).sum())


def _graded_power(sizes: Sequence[float], n: int, share: float, ahead: float, alpha: float) -> float:
    """The power of the sign-flip test over sets of sizes: in each the chance of a sum beyond the one that its flips call rare."""
    cosines, sines, sets, rare, weights = _sets(tuple(sizes), n, share, alpha)
    # One unit's sum is its size with the chance `ahead`, else minus it; rare sums lie alike on both sides, so that the real part decides.
    sines = (2 * ahead - 1) * sines
    shape = np.exp(sets @ (np.log(cosines**2 + sines**2 + 1e-300) / 2)) * np.cos(sets @ np.arctan2(sines, cosines))
    return float(np.clip((shape * rare).sum(axis=1), 0, 1) @ weights)


@lru_cache(maxsize=4)
def _sets(sizes: tuple[float, ...], n: int, share: float, alpha: float) -> "tuple[NDArray[Any], ...]":
    """Return (cosines and sines of each size's turns, number of each size in each set, transform of its sums that are rare, weights)."""
    units = in_units(sizes, decimals(sizes))
    n_places = 1 << (2 * n * max(units) + 2).bit_length()
    if n_places > _N_PLACES:
        n_places = _N_PLACES
        step = min(2.1 * n * max(sizes), 20 * math.sqrt(n * mean([size * size for size in sizes]))) / n_places
        units = [round(size / step) for size in sizes]
    steps, kind = np.unique(units, return_inverse=True)
    kinds = _drawn_kinds(np.asarray(sizes), kind, n, share, len(steps))
    sets = np.stack([(kinds == k).sum(axis=1) for k in range(len(steps))], axis=1).astype(float)
    angles = 2 * np.pi / n_places * np.arange(n_places // 2 + 1) * steps[:, None]
    cosines = np.cos(angles)
    logs = sets @ np.log(np.abs(cosines) + 1e-300)
    shape = np.where(sets @ (cosines < 0) % 2, -1, 1) * np.exp(logs)
    flips = np.fft.irfft(shape, n_places)[:, : n_places // 2]
    tail = np.cumsum(flips[:, ::-1], axis=1)[:, ::-1]
    # Sums from the first significant one on are rare, on either side; a set without one can show nothing.
    reachable = (sets @ steps)[:, None] >= np.arange(n_places // 2)
    above = np.logical_or.accumulate((2 * tail <= alpha + 1e-9) & reachable, axis=1)
    is_rare = np.concatenate([above, above[:, -1:], above[:, :0:-1]], axis=1)
    rare = np.fft.rfft(is_rare).real / n_places
    rare[:, 1:-1] *= 2
    return cosines, np.sin(angles), sets, rare, _weights(sets.sum(axis=1).astype(int), n, share)


def _weights(n_differ: "NDArray[Any]", n: int, share: float) -> "NDArray[Any]":
    """The weight of each set: of few units how many differ decides most, so that each number of them has exactly its chance."""
    if n > _FEW:
        return np.full(len(n_differ), 1 / len(n_differ))
    counts, chances = _counts_of(n, share)
    chance_of = np.zeros(n + 1)
    chance_of[counts.astype(int)] = chances
    weights: NDArray[Any] = chance_of[n_differ] / np.bincount(n_differ)[n_differ]
    weights /= weights.sum()
    return weights


def _drawn_kinds(sizes: "NDArray[Any]", kind: "NDArray[Any]", n: int, share: float, nothing: int) -> "NDArray[Any]":
    """Return sets of n units as the kinds of their sizes, `nothing` for a unit that does not differ.

    Of many drawn sets, those are chosen that are evenly spaced in the order of the sum of their sizes against its deviation, on which
    power depends most, so that few of them give the mean over all.
    """
    rng = np.random.default_rng(SEED)
    differs = rng.random((_N_DRAWN, n), dtype=np.float32) < share
    drawn = rng.integers(len(sizes), size=(_N_DRAWN, n))
    values = np.where(differs, sizes[drawn], 0.0)
    pull = values.sum(axis=1) / np.sqrt(np.maximum(1e-300, (values**2).sum(axis=1)))
    step = _N_DRAWN // _N_SETS
    order = np.argsort(pull, kind="stable")[step // 2 :: step]
    kinds: NDArray[Any] = np.where(differs[order], kind[drawn[order]], nothing)
    return kinds
