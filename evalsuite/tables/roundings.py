"""Which numbers are surely others rounded, seen by their digits: a table that was rounded costs no reading of its numbers."""

from typing import TYPE_CHECKING, Any, Final

from evalsuite.tables.blocks import WORD, Block, masks, side_by_side
from evalsuite.tables.packed import Packed
from evalsuite.texts.numbers import FEWEST_DECIMALS

if TYPE_CHECKING:
    import numpy as np

# What stands in each byte of a word.
_ONES, _TOPS, _POINTS, _ZEROS, _HIGH, _SIXES = (
    int.from_bytes(bytes([byte]) * WORD, "little") for byte in (0x01, 0x80, ord("."), ord("0"), 0xF0, 0x06)
)
# Times 1 << 8 * k, the highest byte is k.
_COUNTER: Final = 0x0001020304050607
_MINUS, _ZERO = b"-0"
# More decimals than fit into words that are looked at.
_MOST_DECIMALS: Final = 3 * WORD


def doubtful_rows(packed: tuple[Packed, Packed], i: int, k: int, rows: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Some rows without those in which the predicted cell surely is gold's, rounded to two decimals or more.

    Of these, those whose cells are farthest apart are left in, so that the rows that are left hold the farthest of all.
    """
    import numpy as np

    kept, begin, start, widest = [rows[:0]], 0, 0, 0
    for gold, predicted in side_by_side(*(side.blocks() for side in packed)):
        # A number of another type would have all rows copied.
        cut = int(np.searchsorted(rows, rows.dtype.type(start + len(gold))))
        if cut > begin:
            part = rows[begin:cut]
            inside = part - start if len(part) < len(gold) else slice(None)
            sure, apart = _roundings(gold, i, predicted, k, inside)
            widest = max(widest, int(apart[sure].max(initial=0)))
            kept.append(part[~sure | (apart >= widest - 1)])
        begin, start = cut, start + len(gold)
    return np.concatenate(kept)


def _roundings(gold: Block, i: int, predicted: Block, k: int, rows: Any) -> tuple[Any, Any]:
    """(Whether each predicted cell surely is gold's rounded, how far it is from it in units of 1e-8, rounded down.)

    Both are written plainly, with the same digits before the point, and the predicted one has from two to seven decimals.
    """
    import numpy as np

    starts = gold.starts[:, i][rows], predicted.starts[:, k][rows]
    lengths = gold.lengths[:, i][rows], predicted.lengths[:, k][rows]
    first = gold.words(starts[0], lengths[0])
    points = _places_of_points(first)
    is_minus = (first & np.uint64(0xFF)) == _MINUS
    n_whole = points - is_minus
    lead = np.where(is_minus, first >> np.uint64(8), first) & np.uint64(0xFF)
    sure = ((first ^ predicted.words(starts[1], lengths[1])) & masks().take(points + 1, mode="clip")) == 0
    sure &= _are_digits(_filled(first ^ is_minus * np.uint64(_MINUS ^ _ZERO), points))
    sure &= (n_whole == 1) | ((n_whole > 1) & (lead != _ZERO))
    decimals = [length - points - 1 for length in lengths]
    sure &= (decimals[1] >= FEWEST_DECIMALS) & (decimals[1] < WORD) & (decimals[0] > decimals[1]) & (decimals[0] <= _MOST_DECIMALS)
    behind = [start + points + 1 for start in starts]
    tails = [_filled(gold.words(behind[0], decimals[0], at), decimals[0] - at * WORD) for at in range(_MOST_DECIMALS // WORD)]
    other = _filled(predicted.words(behind[1], decimals[1]), decimals[1])
    for word in (*tails, other):
        sure &= _are_digits(word)
    mine, theirs = _number_of(tails[0]), _number_of(other)
    apart = np.abs(mine - theirs)
    unit = (10 ** np.arange(WORD, -1, -1)).take(decimals[1], mode="clip")
    sure &= (2 * (apart + 1) <= unit) & (mine > 0) & (theirs > 0) & ((lead != _ZERO) | (theirs >= 10 * unit))
    return sure, apart


def _places_of_points(words: Any) -> Any:
    """The place of the first point in each word, 8 where there is none."""
    import numpy as np

    differing = words ^ np.uint64(_POINTS)
    # The lowest byte marked is the first that is a point; a borrow can mark only bytes above it.
    marks = (differing - np.uint64(_ONES)) & ~differing & np.uint64(_TOPS)
    lowest = (marks & (~marks + np.uint64(1))) >> np.uint64(7)
    return np.where(marks != 0, lowest * np.uint64(_COUNTER) >> np.uint64(56), np.uint64(WORD)).astype(np.int32)


def _filled(words: Any, lengths: Any) -> Any:
    """The first bytes of words with zeros as digits behind them."""
    import numpy as np

    kept = masks().take(lengths, mode="clip")
    return (words & kept) | (np.uint64(_ZEROS) & ~kept)


def _are_digits(words: Any) -> Any:
    """Whether all bytes of a word are digits."""
    import numpy as np

    high, zeros = np.uint64(_HIGH), np.uint64(_ZEROS)
    return ((words & high) == zeros) & (((words + np.uint64(_SIXES)) & high) == zeros)


def _number_of(words: Any) -> Any:
    """The numbers that words of eight digits are, by taking pairs, fours and eights of them together."""
    import numpy as np

    found = words
    for step, kept in ((8, 0x0F0F0F0F0F0F0F0F), (16, 0x00FF00FF00FF00FF), (32, 0x0000FFFF0000FFFF)):
        factor = np.uint64(10 ** (step // 8) << step | 1)
        found = (found & np.uint64(kept)) * factor >> np.uint64(step)
    return found.astype(np.int64)
