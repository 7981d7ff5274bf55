"""Columns of packed text as numpy floats, and how equal they are under both rules.

Strict comparisons also need how each number was written (its decimals), and which cells are words or dates that no other text equals.
"""

from collections.abc import Iterable, Iterator
from math import isclose
from typing import Any, Final, NamedTuple

from evalsuite.compare.numbers import FEWEST_DECIMALS, FLOAT_ERROR, NOISE_BEYOND, NOISE_FLOOR, NOISE_REL, Tolerance
from evalsuite.compare.official_cells import ABS_TOL, NA_WORDS, NUMERIC, typed_column
from evalsuite.compare.packed_text import NUMBER_KINDS, WORD, Block
from evalsuite.compare.values import STARTS_OF_VALUES, WORDS_WITH_VALUE
from evalsuite.core.import_ref import np

LONGEST_NUMBER: Final = 32
# Beyond these limits pandas does not type integers as plain 64-bit integers, and floats may be confused with integers.
SAFE_WHOLE: Final = float(1 << 53)
SAFE_NUMBER: Final = 9e18
# Beyond it a float may lose more of a number's decimals than exact arithmetic forgives.
_SAFE_DECIMAL: Final = float(1 << 46)
_SPACES, _OPEN, _NULL = (int.from_bytes(word, "little") for word in (b"        ", b"       [", b"null    "))
# Turns the blank in the last byte of a word into a comma.
_COMMA: Final = (ord(" ") ^ ord(",")) << 56
_POINT, _LOWER_E, _UPPER_E, _BLANK = b".eE "
# Strict comparisons closer to the limit than this share of gold are left to exact arithmetic.
_NOISE: Final = 4e-15
WHOLE: Final = -1
# Numbers that show more decimals count as showing this many.
MOST_DECIMALS: Final = 100
# Two columns are compared at this many of their numbers in ascending order before all their cells are.
_N_RANKS: Final = 64
_AT_ONCE: Final = 65_536
_CHUNK: Final = 131_072
# Numbers of which one is a rounding of the other differ by less than this share of either.
_MOST_ROUNDED: Final = 0.06
_FIRST_CELLS: Final = 16


class Numbers(NamedTuple):
    """Some cells as floats, NaN if empty, and the number of decimals that each shows: `WHOLE` without point and exponent; an exponent
    shifts them, down to 0, which promises nothing. `digits` is None if unknown.
    """

    values: "np.ndarray[Any, Any]"
    digits: "np.ndarray[Any, Any] | None"

    @property
    def are_safe(self) -> bool:
        """Whether all numbers are small enough for pandas to make plain integers or floats of them."""
        return all(bool(np.isinf(part[np.abs(part) >= SAFE_NUMBER]).all()) for (part,) in in_parts(self.values))

    @property
    def are_exact(self) -> bool:
        """Whether numbers are equal wherever their floats are: none has more than 15 significant digits."""
        if self.digits is None:
            return False
        is_short = (self.digits != 0) & (np.abs(self.values) * 10.0 ** np.maximum(self.digits, 0) < 1e15)
        return bool((is_short | np.isnan(self.values)).all())

    def take(self, rows: "np.ndarray[Any, Any]") -> "Numbers":
        """Some of the cells."""
        return Numbers(self.values[rows], None if self.digits is None else self.digits[rows])


def _digits_of(words: Any, ends: Any, values: Any) -> "np.ndarray[Any, Any]":
    """The decimals that cells show, given their words (n x width, padded with blanks) and the number of significant bytes of each."""
    points = _byte_places(words, _POINT)
    behind = np.where(points < ends, ends - points - 1, WHOLE).astype(np.int8)
    for sign in (_LOWER_E, _UPPER_E):
        if bytes([sign]) in words.tobytes():
            places = _byte_places(words, sign)
            rows = np.flatnonzero(places < ends)
            shown = np.maximum(places[rows] - points[rows] - 1, 0) - _whole_numbers(words[rows], places[rows] + 1, ends[rows])
            # A number too small for a float reads as 0.
            behind[rows] = np.where(values[rows] == 0, 0, np.clip(shown, 0, MOST_DECIMALS))
    return behind


def in_parts(*columns: "np.ndarray[Any, Any]") -> "Iterator[tuple[np.ndarray[Any, Any], ...]]":
    """Columns of equal length in parts, so that intermediate results are never as long as the columns."""
    for start in range(0, len(columns[0]), _AT_ONCE):
        yield tuple(column[start : start + _AT_ONCE] for column in columns)


def in_order(values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """The numbers in ascending order, without NaN, which sorts last."""
    values.sort()
    return values[: len(values) - np.count_nonzero(np.isnan(values))]


def ranks_of(ordered: "np.ndarray[Any, Any]", n_rows: int) -> "np.ndarray[Any, Any]":
    """Numbers of a column in ascending order at 64 ranks, or as many as there are rows; the first and the last are among them. Zeros for no
    numbers.
    """
    n = min(n_rows, _N_RANKS)
    return ordered[np.linspace(0, len(ordered) - 1, n).astype(int)] if len(ordered) else np.zeros(n)


def _byte_places(words: "np.ndarray[Any, Any]", sign: int) -> "np.ndarray[Any, Any]":
    """The index of the first byte equal to `sign` in each row of words, or the width in bytes if there is none."""
    ones, tops = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
    # Multiplied by 1 << 8 * k, its highest byte is k.
    counter, highest = np.uint64(0x0001020304050607), np.uint64(56)
    firsts = np.full(len(words), words.shape[1] * WORD, np.int32)
    rows: Any = slice(None)
    for at in range(words.shape[1]):
        zero_there = words[rows, at] ^ np.uint64(sign * 0x0101010101010101)
        # The lowest marked byte is the first that is zero; a borrow can mark only bytes above it.
        marks = (zero_there - ones) & ~zero_there & tops
        lowest = (marks & (~marks + np.uint64(1))) >> np.uint64(WORD - 1)
        places = (lowest * counter >> highest).astype(np.int32) + at * WORD
        is_there = marks != 0
        firsts[rows] = np.where(is_there, places, firsts[rows])
        if is_there.all():
            break
        rows = np.flatnonzero(~is_there) if isinstance(rows, slice) else rows[~is_there]
    return firsts


def _whole_numbers(words: "np.ndarray[Any, Any]", starts: Any, stops: Any) -> "np.ndarray[Any, Any]":
    """The integer in the bytes from start to stop of each row of words, of at most a million."""
    text, rows, values = words.view(np.uint8), np.arange(len(words)), np.zeros(len(words), np.int64)
    for at in range(int((stops - starts).max(initial=0))):
        signs = text[rows, np.minimum(starts + at, text.shape[1] - 1)]
        is_digit = (starts + at < stops) & (signs >= ord("0"))
        values = np.where(is_digit, np.minimum(values * 10 + signs - ord("0"), 10**6), values)
    return np.where(text[rows, np.minimum(starts, text.shape[1] - 1)] == ord("-"), -values, values)


def join_blocks(parts: Iterable[Numbers | None], n: int) -> Numbers | None:
    """The n cells of several blocks in order; one part is in memory at a time.

    None if one part is None, or there is none.
    """
    values, digits, are_known, end = np.empty(n), np.empty(n, np.int8), True, 0
    for part in parts:
        if part is None:
            return None
        begin, end = end, end + len(part.values)
        values[begin:end] = part.values
        if part.digits is None:
            are_known = False
        else:
            digits[begin:end] = part.digits
    if not end:
        return None
    return Numbers(values, digits if are_known else None)


def numbers_of(block: Block, column: int, *, kind: str = "") -> Numbers | None:
    """The cells of a column of some kind as numbers, or None where one is neither a number nor empty."""
    if kind not in NUMBER_KINDS:
        return None
    starts, lengths = block.starts[:, column], block.lengths[:, column]
    if kind:
        lengths = np.where(block.empty(column), 0, lengths)
    if int(lengths.max(initial=0)) > LONGEST_NUMBER:
        return None

    def texts(n: int) -> list[str]:
        cells = zip(starts[:n].tolist(), lengths[:n].tolist(), strict=True)
        return [block.data[start : start + length].decode() for start, length in cells]

    if any(map(is_surely_text, texts(_FIRST_CELLS))):
        return None
    if (numbers := _parse(block, starts, lengths)) is not None:
        return numbers
    # Cells that begin with a letter are words for NULL or no numbers.
    words = np.flatnonzero((lengths > 0) & (np.frombuffer(block.data, np.uint8)[starts] >= ord("A")))
    if not kind and len(words) and NA_WORDS.issuperset(block.texts(column, words)):
        lengths = lengths.copy()
        lengths[words] = 0
        if (numbers := _parse(block, starts, lengths)) is not None:
            return numbers
    typed = typed_column(texts(len(block)))
    return Numbers(np.array(typed.values, np.float64), None) if typed.kind in NUMERIC else None


def _parse(block: Block, starts: Any, lengths: Any) -> Numbers | None:
    """Floats parsed as a JSON list, which accepts no number that pandas rejects; None if a cell is not a number."""
    import msgspec

    n_words = int(lengths.max(initial=0)) // WORD + 1
    text = bytearray((len(starts) * n_words + 1) * WORD)
    words = np.frombuffer(text, np.uint64)
    words[0] = _OPEN
    cells = words[1:].reshape(len(starts), n_words)
    # For 0 to 8 used bytes of a word, blanks in the remaining bytes.
    blanks = np.array([_SPACES >> 8 * n << 8 * n if n < WORD else 0 for n in range(WORD + 1)], np.uint64)
    for at in range(n_words):
        cells[:, at] = block.words(starts, lengths, at) | blanks.take(lengths - at * WORD, mode="clip")
    cells[lengths == 0, 0] = _NULL
    # Each last word has space for one more byte.
    cells[:, -1] ^= _COMMA
    text[-1:] = b"]"
    try:
        values = msgspec.json.Decoder(list[float | None]).decode(text)
    except msgspec.MsgspecError:
        return None
    numbers = np.array(values, np.float64)
    # To JSON -0 is an integer, which has no sign.
    zeros = np.flatnonzero(numbers == 0)
    signs = cells[zeros].view(np.uint8)
    numbers[zeros[np.take_along_axis(signs, (signs > _BLANK).argmax(axis=1)[:, None], axis=1)[:, 0] == ord("-")]] = -0.0
    # A null between spaces is empty to JSON and a word to pandas.
    empty = np.isnan(numbers)
    if len(values) != len(starts) or (empty & (lengths != 0) & (lengths != len("null"))).any():
        return None
    return Numbers(numbers, _digits_of(cells, _without_blanks(block, starts, lengths), numbers))


def _without_blanks(block: Block, starts: Any, lengths: Any) -> Any:
    """The lengths of cells without the white space at their ends."""
    data, ends = np.frombuffer(block.data, np.uint8), lengths
    while (is_white := (ends > 0) & (data[starts + ends - 1] <= _BLANK)).any():
        ends = ends - is_white
    return ends


def differ_officially(a: Any, b: Any) -> Any:
    """Whether numbers are farther from each other than the official tolerance, beyond all rounding."""
    return np.abs(a - b) > 1.001 * np.maximum(ABS_TOL, 1e-9 * np.maximum(np.abs(a), np.abs(b)))


def officially_equal(gold: "np.ndarray[Any, Any]", predicted: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """`math.isclose(gold, predicted, abs_tol=ABS_TOL)` for each pair, where empty equals empty."""
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(gold - predicted)
        close = (distance <= np.abs(1e-9 * predicted)) | (distance <= np.abs(1e-9 * gold)) | (distance <= ABS_TOL)
        close &= np.isfinite(gold) & np.isfinite(predicted)
    same: np.ndarray[Any, Any] = close | (gold == predicted) | (np.isnan(gold) & np.isnan(predicted))
    return same


def surely_strictly_equal(gold: Numbers, predicted: Numbers, tolerance: Tolerance) -> "np.ndarray[Any, Any]":
    """Which pairs of finite numbers are equal under the strict rules beyond all float rounding; the others need an exact comparison."""
    a, b = gold.values, predicted.values
    if gold.digits is None or predicted.digits is None:
        return np.zeros(len(a), bool)
    with np.errstate(invalid="ignore", over="ignore"):
        distance, size = np.abs(a - b), np.abs(a)
        if tolerance.own:
            near = distance + _NOISE * size < np.maximum(tolerance.rel * size, tolerance.abs)
        else:
            are_whole = (a == np.rint(a)) & (b == np.rint(b))
            near = distance + _NOISE * size < np.minimum(NOISE_REL * size, NOISE_FLOOR)
            near |= (gold.digits > 0) & _are_roundings(a, b, gold.digits, predicted.digits)
            # A number too small for a float reads as 0, and a whole float beyond 2^53 stands for several integers.
            limit = np.where((gold.digits == WHOLE) & (predicted.digits == WHOLE), SAFE_WHOLE, _SAFE_DECIMAL)
            near = np.where(are_whole, (distance == 0) & (size < limit) & (size > 0), near & (a != 0) & (b != 0))
    sure: np.ndarray[Any, Any] = near & np.isfinite(a) & np.isfinite(b)
    return sure


def _are_roundings(a: Any, b: Any, gold_digits: Any, predicted_digits: Any) -> Any:
    """Which pairs are one number rounded to the decimals that the other shows (2 to 15), with at least 2 significant digits."""
    decimals_of_prediction = np.where(predicted_digits == WHOLE, 0, predicted_digits)
    decimals = np.clip(np.minimum(decimals_of_prediction, gold_digits), FEWEST_DECIMALS, 15)
    unit = (10.0 ** -np.arange(16.0)).take(decimals)
    coarse = np.where(decimals_of_prediction < gold_digits, np.abs(b), np.abs(a))
    inside = np.abs(a - b) + _NOISE * np.maximum(np.abs(a), np.abs(b)) < 0.4999999999 * unit
    # Digits of 0 mean an exponent, which does not show how many decimals were written.
    return inside & (predicted_digits != 0) & (np.minimum(decimals_of_prediction, gold_digits) <= 15) & (coarse > 10.0000001 * unit)


def widest(tolerance: Tolerance, values: Any, decimals: Any = FEWEST_DECIMALS) -> Any:
    """How far two equal numbers near these values can be apart if each shows at least so many decimals; a generous upper bound."""
    with np.errstate(over="ignore", invalid="ignore"):  # near the largest float
        size = np.abs(values) * 1.1 + 0.01
        if tolerance.own:
            share = tolerance.rel / (1 - tolerance.rel) if tolerance.rel < 1 else np.inf
            return np.maximum(np.maximum(tolerance.abs, share * size), 1e-9) * 1.001 + FLOAT_ERROR * size
        rounding = np.minimum(0.5 * 10.0 ** -np.maximum(FEWEST_DECIMALS, decimals).astype(float), _MOST_ROUNDED * np.abs(values))
        noise = np.minimum(NOISE_REL * size, np.maximum(NOISE_FLOOR, NOISE_BEYOND * size))
        # Beyond 2^53 an integer may be a different one as a double.
        return (np.maximum(rounding, noise) + np.where(size >= SAFE_WHOLE, 1e-12 * size, 0) + 1e-9) * 1.001 + FLOAT_ERROR * size


def fewest_decimals(numbers: Numbers) -> int:
    """The fewest decimals that a number shows."""
    return 0 if numbers.digits is None else int(numbers.digits[~np.isnan(numbers.values)].min(initial=MOST_DECIMALS))


def number_groups(values: Any, digits: Any, is_gold: Any, tolerance: Tolerance) -> tuple[Any, Any]:
    """(The group of each number, whether each group may contain unequal numbers.) Equal numbers are always in one group.

    Groups are the chains whose gaps exceed every tolerance. A group is not loose if even its most distant numbers are certainly equal, at
    the most decimals that they show.
    """
    order = np.argsort(values).astype(np.int32)
    ordered = values[order]
    # Exponents do not show how many decimals were written.
    fewest = max(0, int(digits.min(initial=MOST_DECIMALS)))
    largest = max(-float(ordered[0]), float(ordered[-1])) if len(ordered) else 0.0
    if not tolerance.own and bool((digits == WHOLE).all()) and largest < SAFE_WHOLE:
        starts = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]
        loose = np.zeros(np.count_nonzero(starts), bool)
    else:
        gaps = ((b - a, np.maximum(np.abs(a), np.abs(b))) for a, b in in_parts(ordered[:-1], ordered[1:]))
        starts = np.concatenate([[True], *(gap > widest(tolerance, size, fewest) for gap, size in gaps)])[: len(ordered)]
        begins = np.append(np.flatnonzero(starts), len(ordered))
        loose = np.zeros(len(begins) - 1, bool)
        for at in range(0, len(loose), _CHUNK):
            ends = begins[at : at + _CHUNK + 1]
            rows = order[ends[0] : ends[-1]]
            tight = _are_tight(ordered[ends[0] : ends[-1]], digits[rows], is_gold[rows], ends[:-1] - ends[0], tolerance)
            loose[at : at + _CHUNK] = ~tight
    groups = np.empty(len(order), np.int32)
    groups[order] = np.cumsum(starts, dtype=np.int32) - 1
    return groups, loose


def _are_tight(values: Any, digits: Any, is_gold: Any, starts: Any, tolerance: Tolerance) -> Any:
    """Whether all gold numbers of each group certainly equal all predicted ones; groups of one side alone count as tight."""
    size, stops = np.abs(values), np.append(starts[1:], len(values)) - 1
    low, high = np.minimum.reduceat(size, starts), np.maximum.reduceat(size, starts)
    # The numbers are in ascending order, so the first and the last of a side are its ends.
    ends = [
        function.reduceat(np.where(side_mask, values, other), starts)
        for side_mask in (is_gold, ~is_gold)
        for function, other in ((np.minimum, np.inf), (np.maximum, -np.inf))
    ]
    with np.errstate(over="ignore", invalid="ignore"):  # near the largest float
        distance = np.maximum(ends[3] - ends[0], ends[1] - ends[2])
        apart = distance + _NOISE * high
    has_exponent = np.maximum.reduceat(digits == 0, starts)
    are_whole = np.minimum.reduceat(digits == WHOLE, starts)
    same = (values[starts] == values[stops]) & (high < np.where(are_whole, SAFE_WHOLE, _SAFE_DECIMAL)) & ~((high == 0) & has_exponent)
    one_sided = ~np.isfinite(distance)
    if tolerance.own:
        within = apart < np.maximum(tolerance.rel * low, tolerance.abs)
        return one_sided | within | (same & are_whole)
    near = apart < np.minimum(NOISE_REL * low, NOISE_FLOOR)
    gold_digits = np.where(is_gold, digits, MOST_DECIMALS), np.where(is_gold, digits, WHOLE)
    other_digits = np.where(is_gold, MOST_DECIMALS, digits), np.where(is_gold, WHOLE, digits)
    least = np.minimum(np.minimum.reduceat(gold_digits[0], starts), np.minimum.reduceat(other_digits[0], starts))
    most = np.minimum(np.maximum.reduceat(gold_digits[1], starts), np.maximum.reduceat(other_digits[1], starts))
    units = 10.0 ** -np.arange(16.0)
    rounded = apart < 0.4999999999 * units.take(np.clip(most, FEWEST_DECIMALS, 15))
    rounded &= (low > 10.0000001 * units.take(np.clip(least, FEWEST_DECIMALS, 15))) & (most <= 15) & ~has_exponent
    rounded &= np.minimum.reduceat(gold_digits[0], starts) > 0
    return one_sided | same | ((near | rounded) & (low > 0) & (high < SAFE_WHOLE) & (np.sign(values[starts]) == np.sign(values[stops])))


def surely_unequal(gold: str, predicted: str) -> bool:
    """Whether two texts are unequal under the official rules whatever the rest of their columns contains; empty cells (read as 0) aside."""
    if gold == predicted or (gold in NA_WORDS and predicted in NA_WORDS):
        return False
    a, b = _any_number(gold), _any_number(predicted)
    if a is None or b is None:
        return True
    return not (isclose(a, b, rel_tol=1.01e-9, abs_tol=1.01 * ABS_TOL) or a != a or b != b)


def _any_number(text: str) -> float | None:
    lowered = text.strip().lower()
    if lowered in ("true", "false"):
        return float(lowered == "true")
    try:
        return float(text)
    except ValueError:
        return None


def is_surely_text(text: str) -> bool:
    """Whether a cell makes its column a text column, whatever the other cells contain."""
    return text not in NA_WORDS and _any_number(text) is None


_WORDS: Final = [word.encode() for word in WORDS_WITH_VALUE]
_LONGEST_WORD: Final = 8
_DATE_LENGTH: Final = 10


def plain_words(block: Any) -> Any:
    """Which cells (n_rows x n_columns) are words or ISO dates in the one form in which two different texts are never equal."""
    starts, lengths = block.starts, block.lengths
    if not block.data[int(starts[0, 0]) :].isascii():
        return np.zeros(starts.shape, bool)
    data = np.frombuffer(block.data, np.uint8)
    first, last = data[starts], data[starts + np.maximum(lengths, 1) - 1]
    digits = (data >= ord("0")) & (data <= ord("9"))
    # How many digits precede each position.
    sums = np.zeros(len(digits) + 1, np.int32)
    np.cumsum(digits, dtype=np.int32, out=sums[1:])
    n_other = lengths - (sums[starts + lengths] - sums[starts])
    dashes = np.minimum(starts + 4, len(data) - 1), np.minimum(starts + 7, len(data) - 1)
    is_date = (lengths == _DATE_LENGTH) & (n_other == 2) & (data[dashes[0]] == ord("-")) & (data[dashes[1]] == ord("-"))
    lowered = first | 0x20
    is_word = (lowered >= ord("a")) & (lowered <= ord("z")) & (last > ord(" "))
    short = is_word & (lengths <= _LONGEST_WORD)
    if short.any():
        words = block.words(starts[short], lengths[short])
        blanks = np.array([int.from_bytes(b" " * n + b"\0" * (8 - n), "little") for n in range(9)], np.uint64)
        special = np.array([int.from_bytes(word.ljust(8, b"\0"), "little") for word in _WORDS], np.uint64)
        is_word[short] = ~np.isin(words | blanks[lengths[short]], special)
    with_digits = is_word & (n_other < lengths)
    if with_digits.any():
        is_word[with_digits] = ~_may_be_values(block.words(starts[with_digits], lengths[with_digits]))
    return is_date | is_word


def _may_be_values(words: Any) -> Any:
    """Whether words with digits, given by their first bytes, may be dates or amounts of money; true also for some that are text."""
    is_start = np.zeros(1 << 15, bool)
    # Five bits tell letters apart without their case.
    is_start[[sum((ord(letter) & 31) << 5 * at for at, letter in enumerate(start)) for start in STARTS_OF_VALUES]] = True
    a, b, c = (words >> np.uint64(8 * at) & np.uint64(31) for at in range(3))
    return is_start[a | b << np.uint64(5) | c << np.uint64(10)]
