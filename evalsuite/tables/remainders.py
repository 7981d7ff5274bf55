"""What is left of two packed columns when cells written alike are taken away, and how near to each other their numbers are.

A column is *plain* where all its cells are integers, dates, words or empty in the one form in which two different texts are never equal.
"""

from collections.abc import Sequence
from typing import Any, Final

from evalsuite.tables.columns import Column
from evalsuite.tables.evidence import Evidence
from evalsuite.tables.number_blocks import SAFE_WHOLE, Numbers, in_order, in_parts
from evalsuite.tables.number_columns import Summary
from evalsuite.tables.strict_cells import Cell
from evalsuite.texts.numbers import FEWEST_DECIMALS, NOISE_BEYOND, NOISE_FLOOR, NOISE_REL, Number, Tolerance

# More rows than this are no remainder: the exact search has to look at the whole tables.
MOST_LEFT: Final = 20_000
_CHUNK: Final = 65_536
_WORDS: Final = (b"na", b"n/a", b"null", b"none", b"nan", b"true", b"false", b"inf", b"infinity")
_LONGEST_WORD: Final = 8
_DATE_LENGTH: Final = 10


def cells_of(evidence: Evidence, side: int, column: Column, rows: Any) -> list[Cell]:
    """The cells of a column in some rows, equal texts as the same object."""
    if evidence.packed is None:
        return list(column.cells)
    known: dict[str, Cell] = {}
    texts = evidence.written(side, column.position, rows)
    return [known[text] if text in known else known.setdefault(text, column.read(text)) for text in texts]


def remainder(evidence: Evidence, gold: Column, predicted: Column) -> tuple[Any, Any] | None:
    """The rows of two columns whose cells matter when they are paired: those left without one that is written alike, and all numbers in
    reach of one that is left. None where they are too many, or cannot be told."""
    import numpy as np

    rows = evidence.spare([gold.position], [predicted.position])
    if len(rows[0]) > MOST_LEFT:
        return None
    a, b = evidence.numbers.column(0, gold.position), evidence.numbers.column(1, predicted.position)
    if a is None or b is None:
        sides = zip((0, 1), (gold, predicted), rows, strict=True)
        cells = (column.read(text) for side, column, part in sides for text in evidence.written(side, column.position, part))
        if not any(isinstance(cell, int | Number) for cell in cells):
            # Of what is no number, equal cells have equal keys, and those taken away matter to nobody.
            return rows
        every = np.arange(evidence.n_rows)
        return (every, every) if evidence.n_rows <= MOST_LEFT else None
    chains = _chains(a, b, rows, gold.tolerance)
    found = [np.union1d(part, inside(side.values, *chains)) for side, part in zip((a, b), rows, strict=True)]
    return (found[0], found[1]) if max(map(len, found)) <= MOST_LEFT else None


def _chains(a: Numbers, b: Numbers, rows: tuple[Any, Any], tolerance: Tolerance) -> tuple[Any, Any]:
    """The first and the last number of each chain with a number that is left; between chains is more than anything is equal over."""
    import numpy as np

    left = np.concatenate([a.values[rows[0]], b.values[rows[1]]])
    values = in_order(np.concatenate([a.values, b.values]))
    # Where each chain begins; room for as many as there may be takes memory only as it is filled.
    decimals, begin, n = _fewest_decimals(a, b), np.empty(len(values) + 1, np.int32), 1
    begin[0] = 0
    for start in range(1, len(values), _CHUNK):
        part = values[start - 1 : start + _CHUNK]
        found = np.flatnonzero(np.diff(part) > widest(tolerance, part[1:], decimals)) + start
        begin[n : n + len(found)] = found
        n += len(found)
    begin = begin[:n]
    places = np.searchsorted(values, left[~np.isnan(left)]).astype(np.int32)
    touched = np.unique(np.searchsorted(begin, places, "right"))
    after = np.where(touched < n, begin.take(touched, mode="clip"), len(values))
    return values[begin[touched - 1]], values[after - 1]


def inside(values: Any, first: Any, last: Any) -> Any:
    """The rows with a value in one of the stretches, which are apart from each other and ascend."""
    import numpy as np

    found = [np.empty(0, np.int64)]
    for start in range(0, len(values) if len(first) else 0, _CHUNK):
        part = values[start : start + _CHUNK]
        at = np.searchsorted(first, part, "right") - 1
        found.append(np.flatnonzero((at >= 0) & (part <= last[at])) + start)
    return np.concatenate(found)


def _fewest_decimals(a: Numbers, b: Numbers) -> int:
    """How many decimals each number of two columns shows at least."""
    import numpy as np

    return min(0 if side.digits is None else int(side.digits[~np.isnan(side.values)].min(initial=100)) for side in (a, b))


def widest(tolerance: Tolerance, values: Any, decimals: int = FEWEST_DECIMALS) -> Any:
    """How far two equal numbers can be apart near these values, where each shows at least so many decimals; bounded generously."""
    import numpy as np

    size = np.abs(values) * 1.1 + 0.01
    if tolerance.own:
        share = tolerance.rel / (1 - tolerance.rel) if tolerance.rel < 1 else np.inf
        return np.maximum(np.maximum(tolerance.abs, share * size), 1e-9) * 1.001 + 1e-15 * size
    rounding = 0.5 * 10.0 ** -max(FEWEST_DECIMALS, decimals)
    noise = np.minimum(NOISE_REL * size, np.maximum(NOISE_FLOOR, NOISE_BEYOND * size))
    # Beyond 2^53 an integer may be another one as a double.
    return (np.maximum(rounding, noise) + np.where(size >= SAFE_WHOLE, 1e-12 * size, 0) + 1e-9) * 1.001 + 1e-15 * size


def far(mine: Summary, theirs: Summary, tolerance: Tolerance) -> bool:
    """Whether the first or the last numbers of two columns cannot be equal."""
    ends = (mine.low, theirs.low), (mine.high, theirs.high)
    return any(abs(x - y) > float(widest(tolerance, max(abs(x), abs(y)))) for x, y in ends)


def apart(evidence: Evidence, gold: Column, predicted: Column) -> bool:
    """Whether two columns of as many numbers cannot be paired: if they can at all, then the i-th smallest with the i-th smallest."""
    import numpy as np

    places = (0, gold.position), (1, predicted.position)
    a, b = (evidence.numbers.column(*place) for place in places)
    if a is None or b is None:
        return False
    decimals = _fewest_decimals(a, b)
    sides = [ordered for place in places if (ordered := evidence.numbers.ordered(*place)) is not None]
    parts = ((np.abs(x - y), np.maximum(np.abs(x), np.abs(y))) for x, y in in_parts(*sides))
    return any(bool((distance > widest(gold.tolerance, size, decimals)).any()) for distance, size in parts)


def plain_columns(block: Any, columns: Sequence[int]) -> set[int]:
    """Which columns of a block hold plain cells alone."""
    import numpy as np

    if not columns or not block.data[int(block.starts[0, 0]) :].isascii():
        return set()
    data = np.frombuffer(block.data, np.uint8)
    starts, lengths = block.starts[:, columns], block.lengths[:, columns]
    first, last = data[starts], data[starts + np.maximum(lengths, 1) - 1]
    digits = (data >= ord("0")) & (data <= ord("9"))
    # How many digits stand before each place.
    sums = np.zeros(len(digits) + 1, np.int32)
    np.cumsum(digits, dtype=np.int32, out=sums[1:])
    n_other = lengths - (sums[starts + lengths] - sums[starts])
    is_negative = (first == ord("-")) & (n_other == 1) & (lengths > 1) & ~((lengths == 2) & (last == ord("0")))
    at_dashes = np.minimum(starts + 4, len(data) - 1), np.minimum(starts + 7, len(data) - 1)
    is_date = (lengths == _DATE_LENGTH) & (n_other == 2) & (data[at_dashes[0]] == ord("-")) & (data[at_dashes[1]] == ord("-"))
    lowered = first | 0x20
    is_word = (lowered >= ord("a")) & (lowered <= ord("z")) & (last > ord(" "))
    short = is_word & (lengths <= _LONGEST_WORD)
    if short.any():
        words = block.words(starts[short], lengths[short])
        blanks = np.array([int.from_bytes(b" " * n + b"\0" * (8 - n), "little") for n in range(9)], np.uint64)
        special = np.array([int.from_bytes(word.ljust(8, b"\0"), "little") for word in _WORDS], np.uint64)
        is_word[short] = ~np.isin(words | blanks[lengths[short]], special)
    plain = (n_other == 0) | is_negative | is_date | is_word
    return {column for column, fits in zip(columns, plain.all(axis=0).tolist(), strict=True) if fits}
