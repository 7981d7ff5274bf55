"""Whether two runs' scores are distributed differently, field by field: a mean may stay where the scores have moved."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evalsuite.stats.samples import N_RESAMPLES, SEED
from evalsuite.stats.significance import holm

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How far the scores of one field (or scorer) have moved from a to b.

    `distance` in [0, 1] is the area between both cumulative distributions (Wasserstein's first distance): 0.1 says that scores moved by
    ten points on average. `p` comes from exchanging a and b within instances, or, where no instance is in both, between all of
    them: exact up to 13 instances that differ, else drawn.
    """

    name: str
    n_a: int
    n_b: int
    mean_a: float
    mean_b: float
    distance: float
    p: float
    p_adjusted: float | None = None
    paired: bool = True
    seed: int | None = None
    n_resamples: int | None = None


def shift(name: str, a: Mapping[str, float], b: Mapping[str, float], *, n_resamples: int = N_RESAMPLES, seed: int = SEED) -> Shift | None:
    """The shift between scores by instance id; None where a side has none. Instances in one side only count where none is in both."""
    shared = [key for key in a if key in b]
    left, right = ([a[key] for key in shared], [b[key] for key in shared]) if shared else (list(a.values()), list(b.values()))
    if not left or not right:
        return None
    distance, p, drawn = _paired(left, right, n_resamples, seed) if shared else _pooled(left, right, n_resamples, seed)
    return Shift(
        name=name,
        n_a=len(left),
        n_b=len(right),
        mean_a=sum(left) / len(left),
        mean_b=sum(right) / len(right),
        distance=distance,
        p=p,
        paired=bool(shared),
        seed=seed if drawn else None,
        n_resamples=n_resamples if drawn else None,
    )


def adjusted(shifts: Sequence[Shift]) -> list[Shift]:
    """The shifts with Holm's p-values over all of them."""
    return [replace(one, p_adjusted=p) for one, p in zip(shifts, holm([one.p for one in shifts]), strict=True)]


def _paired(a: Sequence[float], b: Sequence[float], n_resamples: int, seed: int) -> tuple[float, float, bool]:
    """(distance, p, whether p was drawn) under exchanges within pairs; equal pairs move nothing and are left out."""
    import numpy as np

    values = np.asarray([pair for pair in zip(a, b, strict=True) if pair[0] != pair[1]], dtype=np.float64).ravel()
    m = len(values) // 2
    if not m:
        return 0.0, 1.0, False
    order = np.argsort(values, kind="stable")
    gaps, pair, side = np.diff(values[order]), order // 2, np.where(order % 2 == 0, 1.0, -1.0) / len(a)
    observed = float(_areas(side[None, :], gaps)[0])
    exact = 2**m <= n_resamples
    rng = np.random.default_rng(seed)
    far = 0
    for size, start in _blocks(2**m if exact else n_resamples, len(values)):
        bits = (np.arange(start, start + size)[:, None] >> np.arange(m)) & 1 if exact else rng.integers(2, size=(size, m))
        signs = bits * 2.0 - 1.0
        far += int((_areas(signs[:, pair] * side, gaps) >= observed - 1e-12).sum())
    return observed, far / 2**m if exact else (far + 1) / (n_resamples + 1), not exact


def _pooled(a: Sequence[float], b: Sequence[float], n_resamples: int, seed: int) -> tuple[float, float, bool]:
    """(distance, p, True) under exchanges between all instances of both sides."""
    import numpy as np

    values = np.asarray([*a, *b], dtype=np.float64)
    order = np.argsort(values, kind="stable")
    gaps, weights = np.diff(values[order]), np.where(order < len(a), 1 / len(a), -1 / len(b))
    observed = float(_areas(weights[None, :], gaps)[0])
    rng = np.random.default_rng(seed)
    far = 0
    for size, _ in _blocks(n_resamples, len(values)):
        drawn = rng.permuted(np.tile(weights, (size, 1)), axis=1)
        far += int((_areas(drawn, gaps) >= observed - 1e-12).sum())
    return observed, (far + 1) / (n_resamples + 1), True


def _areas(weights: "NDArray[Any]", gaps: "NDArray[Any]") -> "NDArray[Any]":
    """R areas between two cumulative distributions, from R rows of weights over N sorted values and the N - 1 gaps between them."""
    import numpy as np

    areas: NDArray[Any] = np.abs(np.cumsum(weights, axis=1))[:, :-1] @ gaps
    return areas


def _blocks(total: int, width: int) -> Iterator[tuple[int, int]]:
    """(size, start) of blocks of rows that stay within about 32 MB each."""
    block = max(1, CELLS_AT_ONCE // width)
    for start in range(0, total, block):
        yield min(block, total - start), start
