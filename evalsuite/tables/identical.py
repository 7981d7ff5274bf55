"""Columns that hold the very same values in the same order: the honest answer costs next to nothing under either rule."""

from collections.abc import Sequence

from evalsuite.types import Table


def identical_columns(gold: Table, predicted: Table, chosen: Sequence[int]) -> list[int] | None:
    """For each chosen gold column a predicted column of its own that holds the very same values in the same order, or None.

    Such rows agree under every tolerance and order, so nothing has to be read into cells: the honest answer costs next to nothing.
    """
    if gold.n_rows != predicted.n_rows or (gold.types is None) != (predicted.types is None) or gold.n_rows == 0:
        return None
    by_name: dict[str, list[int]] = {}
    for k, name in enumerate(predicted.header):
        by_name.setdefault(name, []).append(k)
    found: dict[int, int] = {}
    for i in chosen:
        likely = [i, *by_name.get(gold.header[i], ()), *range(len(predicted.columns))]
        free = (k for k in likely if k not in found and _same_values(gold, i, predicted, k))
        partner = next(free, None)
        if partner is None:
            return None
        found[partner] = i
    return list(found)


def _same_values(gold: Table, i: int, predicted: Table, k: int) -> bool:
    if k >= len(predicted.columns) or (gold.types and predicted.types and gold.types[i] != predicted.types[k]):
        return False
    return bool(gold.columns[i] == predicted.columns[k])
