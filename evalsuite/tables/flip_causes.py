"""In a few words, why the two rules differ on a table: what the reference overlooked, or what it stumbled on."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from evalsuite.tables.columns import Column, Matching
from evalsuite.tables.evidence import Evidence
from evalsuite.tables.outlines import place
from evalsuite.tables.strict_cells import Cell, Percent, is_written_form
from evalsuite.texts.numbers import Number
from evalsuite.texts.verdict import TableCause


def cause_of_refusal(gold: Cell, predicted: Cell) -> str:
    """Why the reference may have called these cells equal."""
    if (gold is None) != (predicted is None):
        return "null against a value"
    a, b = place(gold), place(predicted)
    if a is not None and b is not None:
        if (a == 0) != (b == 0):
            return "value taken for zero"
        if a == -b:
            return "sign"
        return "large integers" if isinstance(gold, int) and abs(a) >= 1e9 else "tolerance by size"
    return "leading zeros" if _same_with_zeros(gold, predicted) else "typed by column"


def likest(gold: Cell, predicted: Sequence[Cell]) -> Cell:
    """The predicted cell that is most like gold: the same but for leading zeros, else the nearest number, else the first."""
    zeros = next((cell for cell in predicted if _same_with_zeros(gold, cell)), None)
    if zeros is not None:
        return zeros
    at = place(gold)
    numbers = [cell for cell in predicted if place(cell) is not None]
    if at is not None and numbers:
        return min(numbers, key=lambda cell: abs((place(cell) or 0.0) - at))
    return predicted[0] if predicted else None


def _same_with_zeros(gold: Cell, predicted: Cell) -> bool:
    """Whether one is digits that begin with zeros, kept as text, and both are the same number."""
    texts = [
        cell[1] for cell in (gold, predicted) if isinstance(cell, tuple) and cell[0] == "text" and cell[1].lstrip("+-").startswith("0")
    ]
    if not texts:
        return False
    try:
        values = [float(cell[1]) if isinstance(cell, tuple) and cell[0] == "text" else place(cell) for cell in (gold, predicted)]
    except ValueError:
        return False
    return values[0] is not None and values[0] == values[1]


def cause_of_acceptance(
    matching: Matching, gold: Sequence[Column], predicted: Sequence[Column], evidence: Evidence | None, *, ordered: bool
) -> TableCause:
    """Why the reference may refuse what strict accepts, read off the first cells that are equal but not written alike."""
    if matching.moved:
        return "tie order"
    for column, k in zip(gold, matching.assignment, strict=False):
        pair = _differently_written(column, predicted[k], evidence, ordered) if k is not None and evidence is not None else None
        if pair is not None and k is not None:
            cells = column.read(pair[0]), predicted[k].read(pair[1])
            return kind_of_form(*cells, pair, ordered=ordered, own_tolerance=column.tolerance.own)
    return "dtype of other columns" if ordered else "row pairing"


def _differently_written(gold: Column, predicted: Column, evidence: Evidence, ordered: bool) -> tuple[Any, Any] | None:
    """A gold and a predicted cell, as they are written, that stand against each other and are not written alike."""
    i, k = gold.position, predicted.position
    if ordered:
        return next(((a, b) for _, a, b in evidence.cells(i, k, evidence.unlike(i, k)[:1])), None)
    if evidence.packed is not None:
        rows = evidence.spare([i], [k])
        left = [evidence.written(side, (i, k)[side], rows[side]) for side in (0, 1)]
        return (min(left[0]), min(left[1])) if all(left) else None
    a, b = evidence.gold.columns[i], evidence.predicted.columns[k]
    only_gold, only_predicted = Counter(map(str, a)) - Counter(map(str, b)), Counter(map(str, b)) - Counter(map(str, a))
    if not (only_gold and only_predicted):
        return None
    least = min(only_gold), min(only_predicted)
    return tuple(next(cell for cell in side if str(cell) == text) for side, text in zip((a, b), least, strict=True))


def kind_of_form(gold: Cell, predicted: Cell, written: tuple[Any, Any], *, ordered: bool, own_tolerance: bool) -> TableCause:
    """What the reference may stumble on in two cells that strict takes for one, with how they are written."""
    if gold is None or predicted is None:
        return "null words"
    texts = [text.strip() for text in written if isinstance(text, str)]
    if len(texts) == 2 and texts[0] == texts[1]:
        return "spaces"
    if any(text.lower() in ("true", "false") for text in texts):
        return "true and false"
    if isinstance(gold, Percent) or isinstance(predicted, Percent):
        return "percent form"
    if isinstance(gold, int | Number) and isinstance(predicted, int | Number):
        if any(is_written_form(text) for text in texts):
            return "written form"
        if own_tolerance:
            return "own tolerance"
        return "typed by column" if ordered else "row pairing"
    if isinstance(gold, tuple) and gold[0] == "instant":
        return "same instant"
    return "spelling form" if len(texts) == 2 else "native types"
