"""One field of n gold and m extracted elements: all n x m scores, by arrays where the comparator allows it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalsuite.trees.comparators import compat_exact, compat_numeric, exact, nfc, numeric
from evalsuite.trees.field_plan import Plan, compare, judge, transformed, try_transformed
from evalsuite.trees.json_values import same

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]  # scores: float64, or bool where the comparator knows only 0 and 1


_SCALARS = frozenset((str, int, float, bool, type(None)))
_LARGEST = 2**53


def score_matrix(plan: Plan, gold: Sequence[Any], extracted: Sequence[Any], *, compat: bool) -> "Floats":
    """Scores n x m in [0, 1] of a field that is a unit; NaN where the comparator says that the pair does not count.

    Raises:
        FaultError: somebody's comparator or transform failed.
    """
    import numpy as np

    raw = gold, extracted
    failed_rows: list[int] = []
    failed_columns: list[int] = []
    if plan.transforms and compat:
        gold, extracted = [transformed(plan, value) for value in gold], [transformed(plan, value) for value in extracted]
    elif plan.transforms:
        gold, failed_rows = _try_all(plan, gold)
        extracted, failed_columns = _try_all(plan, extracted)
    scores = None
    if plan.compare in (exact, compat_exact):
        scores = _exact(gold, extracted, compat)
    elif plan.compare in (numeric, compat_numeric):
        scores = _numeric(plan, gold, extracted)
    if scores is None:
        scores = _each(plan, gold, extracted, compat)
    elif plan.threshold is not None:
        scores = np.where(scores >= plan.threshold, 1.0, 0.0)
    scores[failed_rows, :] = 0.0
    scores[:, failed_columns] = 0.0
    for i in failed_rows if plan.accepts_itself else ():
        for j in failed_columns:
            scores[i, j] = float(same(raw[0][i], raw[1][j]))
    return scores


def _try_all(plan: Plan, values: Sequence[Any]) -> tuple[list[Any], list[int]]:
    tried = [try_transformed(plan, value) for value in values]
    return [value for value, _ in tried], [place for place, (_, problem) in enumerate(tried) if problem]


def _exact(gold: Sequence[Any], extracted: Sequence[Any], compat: bool) -> "Floats | None":
    """Equality of plain values by numbering the different ones; None where a list or object is among them."""
    import numpy as np

    kinds = {*map(type, gold), *map(type, extracted)}
    if not kinds <= _SCALARS:
        return None
    nans = [place for place, value in enumerate(gold) if value != value] if float in kinds else []
    if not compat:
        gold, extracted = [nfc(value) for value in gold], [nfc(value) for value in extracted]
    if len(kinds) > 1:
        gold, extracted = list(zip(map(type, gold), gold, strict=True)), list(zip(map(type, extracted), extracted, strict=True))
    places = {value: place for place, value in enumerate(gold)}
    gold_codes, codes = [places[value] for value in gold], [places.get(value, -1) for value in extracted]
    scores: Floats = np.array(gold_codes)[:, None] == np.array(codes)[None, :]
    if nans:
        scores[nans, :] = 0.0
    return scores


def _numeric(plan: Plan, gold: Sequence[Any], extracted: Sequence[Any]) -> "Floats | None":
    """The tolerance rule on arrays; None where a value is not a plain number of at most 2**53 (a float holds it exactly)."""
    import numpy as np

    if not {*map(type, gold), *map(type, extracted)} <= {int, float}:
        return None
    if not all(-_LARGEST <= value <= _LARGEST for side in (gold, extracted) for value in (min(side), max(side))):
        return None
    if any(value != value for side in (gold, extracted) for value in side if type(value) is float):
        return None
    tolerance = plan.params.get("tolerance") or {}
    if not isinstance(tolerance, dict):
        return None
    relative, absolute = tolerance.get("rel"), tolerance.get("abs")
    if any(bound is not None and not isinstance(bound, int | float) for bound in (relative, absolute)):
        return None
    g, e = np.array(gold, dtype=np.float64)[:, None], np.array(extracted, dtype=np.float64)[None, :]
    if relative is None and absolute is None:
        return np.asarray(g == e)
    with np.errstate(over="ignore"):
        apart = np.abs(g - e)
        near = np.ones(apart.shape, dtype=bool)
        if relative is not None:
            near &= apart / np.where(g == 0, 1.0, np.abs(g)) <= relative
    if absolute is not None:
        near &= apart <= absolute
    return near


def _each(plan: Plan, gold: Sequence[Any], extracted: Sequence[Any], compat: bool) -> "Floats":
    """Every pair by the comparator itself; plain values that stand there more than once are asked about once."""
    import numpy as np

    different, places = zip(*(_distinct(side) for side in (gold, extracted)), strict=True)
    scores = np.zeros((len(different[0]), len(different[1])))
    for i, value in enumerate(different[0]):
        for j, element in enumerate(different[1]):
            result = compare(plan, value, element) if compat else judge(plan, value, element)
            scores[i, j] = float("nan") if result.skip and not compat else result.score
    everywhere: Floats = scores[np.ix_(*places)]
    return everywhere


def _distinct(values: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """(the different values, the place of each value among them); lists and objects each stand for themselves."""
    places: dict[Any, int] = {}
    different: list[Any] = []
    found = []
    for number, value in enumerate(values):
        key = (type(value), value if type(value) in _SCALARS else number)
        place = places.setdefault(key, len(different))
        if place == len(different):
            different.append(value)
        found.append(place)
    return different, found
