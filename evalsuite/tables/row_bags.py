"""Rows of packed tables in any order under the strict rules: rows written alike are taken away as bags, and only the rest is judged.

A column is *plain* where all its cells are integers, dates, words or empty in the one form in which two different texts are never equal.
Rows that differ in a plain column never pair, so of the rows taken away only those matter that agree with a left one in every such column.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from evalsuite.tables.clusters import pair_columns
from evalsuite.tables.columns import Column, Matching, decided, in_likely_order, likely_columns, matched_as
from evalsuite.tables.evidence import Evidence
from evalsuite.tables.number_blocks import SAFE_WHOLE, Numbers, is_surely_text, surely_strictly_equal
from evalsuite.tables.outlines import Outline
from evalsuite.tables.row_search import CapReachedError, RowSearch, Work
from evalsuite.tables.strict_cells import Cell
from evalsuite.texts.numbers import FEWEST_DECIMALS, NOISE_BEYOND, NOISE_FLOOR, NOISE_REL, Number, Tolerance

# More rows than this are no remainder: the exact search has to look at the whole tables.
MOST_LEFT: Final = 20_000
_WORDS: Final = (b"na", b"n/a", b"null", b"none", b"nan", b"true", b"false", b"inf", b"infinity")
_LONGEST_WORD: Final = 8
_DATE_LENGTH: Final = 10


def match_bags(gold: Sequence[Column], predicted: Sequence[Column], evidence: Evidence, heeds_labels: bool) -> Matching | None:
    """The verdict on columns of packed tables, None where the exact search over the whole tables has to give it."""
    if any(column.has_percent for column in (*gold, *predicted)):
        return None
    bench = Bench(gold, predicted, evidence, heeds_labels)
    partners = bench.partners()
    if partners is not None:
        agree = bench.rows_agree(partners)
        if agree:
            return matched_as(partners)
        if agree is None:
            return None
    options = [bench.candidates(i) for i in range(len(gold))]
    known = [found for found in options if found is not None]
    if len(known) < len(options):
        # A column that has no candidate refuses the table whatever the open ones have.
        return decided([found if found is not None else [0] for found in options], "limit") if not all(known) else None
    found = decided([in_likely_order(column, predicted, own) for column, own in zip(gold, known, strict=True)], "rows")
    if found.verdict != "rows":
        return found
    # Only the assignment that was tried is possible, but for columns that hold the same texts.
    only = partners is not None and all(bench.is_twin(k, partners[i]) for i, own in enumerate(known) for k in own)
    return replace(found, assignment=tuple(partners), n_tried=1) if only and partners is not None else None


class Span(NamedTuple):
    """Whether a packed column holds numbers and empty cells alone, whether it surely holds a text, how many numbers, the first and last."""

    are_numbers: bool
    has_text: bool
    n_numbers: int
    low: float
    high: float


class Bench:
    """The columns of two packed tables side by side, for rows in any order."""

    def __init__(self, gold: Sequence[Column], predicted: Sequence[Column], evidence: Evidence, heeds_labels: bool) -> None:
        self.gold, self.predicted, self.evidence, self.heeds_labels = gold, predicted, evidence, heeds_labels

    def partners(self) -> list[int] | None:
        """For each gold column a predicted one of its own: the likely one, or another that holds the same texts where that one does not."""
        likely = likely_columns(self.gold, self.predicted)
        if likely is not None and all(map(self.may_be, range(len(self.gold)), likely)):
            self.evidence.rows_hashed(0, [column.position for column in self.gold])
            self.evidence.rows_hashed(1, [self.predicted[k].position for k in likely])
            if all(map(self.is_alike, range(len(self.gold)), likely)):
                return likely
        self.evidence.rows_hashed(1, [column.position for column in self.predicted])
        by_bag: dict[tuple[int, int], list[int]] = {}
        for k, column in enumerate(self.predicted):
            by_bag.setdefault(self.evidence.bag(1, column.position), []).append(k)
        taken: dict[int, int] = {}
        for i, column in enumerate(self.gold):
            alike = [k for k in by_bag.get(self.evidence.bag(0, column.position), ()) if k not in taken and self.may_be(i, k)]
            if alike:
                taken[in_likely_order(column, self.predicted, alike)[0]] = i
        for i in sorted(set(range(len(self.gold))) - set(taken.values())):
            free = [k for k in range(len(self.predicted)) if k not in taken and self.may_be(i, k)]
            if not free:
                return None
            wish = likely[i] if likely is not None else -1
            taken[wish if wish in free else in_likely_order(self.gold[i], self.predicted, free)[0]] = i
        partner = {i: k for k, i in taken.items()}
        return [partner[i] for i in range(len(self.gold))]

    def may_be(self, i: int, k: int) -> bool:
        """Whether labels, where they count, let a predicted column be a gold column."""
        return not (self.heeds_labels and self.gold[i].contradicts(self.predicted[k]))

    def is_alike(self, i: int, k: int) -> bool:
        """Whether a gold and a predicted column hold the same texts."""
        return self.evidence.bag(0, self.gold[i].position) == self.evidence.bag(1, self.predicted[k].position)

    def is_twin(self, k: int, other: int) -> bool:
        """Whether two predicted columns hold the same texts, row by row."""
        if k == other:
            return True
        a, b = (self.evidence.rows_hashed(1, [self.predicted[column].position]) for column in (k, other))
        return bool((a == b).all())

    def rows_agree(self, partners: Sequence[int]) -> bool | None:
        """Whether the rows can be paired one to one under an assignment, None where too many are left to say."""
        import numpy as np

        places = [column.position for column in self.gold], [self.predicted[k].position for k in partners]
        rows = self.evidence.spare(*places)
        if not len(rows[0]):
            return True
        anchors = [(i, k) for i, k in enumerate(partners) if self.is_alike(i, k) and self.is_anchor(i)]
        if len(rows[0]) > MOST_LEFT:
            return True if self.numbers_agree(partners) else None
        every = np.arange(self.evidence.n_rows)
        if not anchors:
            return self._exactly(partners, every, every) if len(every) <= MOST_LEFT else None
        keys = [
            self.evidence.rows_hashed(side, [columns[at].position for at in chosen])
            for side, columns, chosen in ((0, self.gold, [i for i, _ in anchors]), (1, self.predicted, [k for _, k in anchors]))
        ]
        touched = np.unique(np.concatenate([keys[0][rows[0]], keys[1][rows[1]]]))
        mine, theirs = (np.flatnonzero(np.isin(side, touched)) for side in keys)
        if not np.array_equal(np.sort(keys[0][mine]), np.sort(keys[1][theirs])):
            return False
        return self._exactly(partners, mine, theirs) if len(mine) <= MOST_LEFT else None

    def _exactly(self, partners: Sequence[int], mine: Any, theirs: Any) -> bool | None:
        """The exact search among some rows, None where it reaches a cap."""
        pairs = []
        for column, k in zip(self.gold, partners, strict=True):
            pair = pair_columns(
                Outline(cells_of(self.evidence, 0, column, mine)),
                Outline(cells_of(self.evidence, 1, self.predicted[k], theirs)),
                column.tolerance,
            )
            if pair is None:
                return False
            pairs.append(pair)
        tolerances = [column.tolerance for column in self.gold]
        options = [{i: pair} for i, pair in enumerate(pairs)]
        twin = {i: i for i in range(len(pairs))}
        try:
            search = RowSearch(
                options, classes=[0] * len(mine), tolerances=tolerances, twin=twin, work=Work(free=12 * len(mine) * len(pairs))
            )
            return search.run() is not None
        except CapReachedError:
            return None

    def is_anchor(self, i: int) -> bool:
        """Whether different texts of a gold column are never equal."""
        return not self.gold[i].tolerance.own and self.gold[i].position in self.plain(0)

    def plain(self, side: int) -> frozenset[int]:
        """The plain columns of one side."""
        assert self.evidence.packed is not None
        name = ("plain", side)
        if name not in self.evidence.known:
            found = set(range(self.evidence.packed[side].width))
            for block in self.evidence.packed[side].blocks():
                found &= plain_columns(block, sorted(found))
            self.evidence.known[name] = frozenset(found)
        known: frozenset[int] = self.evidence.known[name]
        return known

    def numbers_agree(self, partners: Sequence[int]) -> bool:
        """Whether rows joined on the columns that hold the same texts are surely equal in all others, which hold numbers."""
        import numpy as np

        alike = [(i, k) for i, k in enumerate(partners) if self.is_alike(i, k)]
        others = [(i, k) for i, k in enumerate(partners) if (i, k) not in alike]
        if not alike or len(others) > len(alike) + 8:
            return False
        keys = [
            self.evidence.rows_hashed(side, [columns[at].position for at in chosen])
            for side, columns, chosen in ((0, self.gold, [i for i, _ in alike]), (1, self.predicted, [k for _, k in alike]))
        ]
        orders = [np.argsort(side, kind="stable") for side in keys]
        ordered = keys[0][orders[0]]
        if not np.array_equal(ordered, keys[1][orders[1]]):
            return False
        for at, (i, k) in enumerate(others):
            a, b = numbers_in(self.evidence, 0, self.gold[i]), numbers_in(self.evidence, 1, self.predicted[k])
            if a is None or b is None:
                return False
            if not at and (ordered[1:] == ordered[:-1]).any():
                # Rows alike in the key are paired in order of their first numbers.
                orders = [np.lexsort((side.values, key)) for side, key in zip((a, b), keys, strict=True)]
            if not bool(surely_strictly_equal(a.at(orders[0]), b.at(orders[1]), self.gold[i].tolerance).all()):
                return False
        return True

    def span(self, side: int, column: Column) -> Span:
        """What a column holds, in short."""
        import numpy as np

        name = ("span", side, column.position)
        if name not in self.evidence.known:
            numbers, head = numbers_in(self.evidence, side, column), self.evidence.heads[side].columns[column.position]
            is_text = numbers is None and any(is_surely_text(text) and isinstance(column.read(text), tuple) for text in head)
            values = numbers.values[~np.isnan(numbers.values)] if numbers is not None else np.empty(0)
            ends = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
            self.evidence.known[name] = Span(numbers is not None, is_text, len(values), *ends)
        found: Span = self.evidence.known[name]
        return found

    def candidates(self, i: int) -> list[int] | None:
        """The predicted columns that hold gold's cells in some order, None where that is open."""
        found = []
        for k in range(len(self.predicted)):
            if not self.may_be(i, k):
                continue
            fits = self.is_alike(i, k) or self.can_pair(i, k)
            if fits is None:
                return None
            if fits:
                found.append(k)
        return found

    def can_pair(self, i: int, k: int) -> bool | None:
        """Whether two columns that hold other texts can be paired cell by cell, None where too much is left to say."""
        gold, predicted = self.gold[i], self.predicted[k]
        if self.is_anchor(i) and predicted.position in self.plain(1):
            return False
        mine, theirs = self.span(0, gold), self.span(1, predicted)
        if (mine.are_numbers and theirs.has_text) or (mine.has_text and theirs.are_numbers):
            return False
        a = b = None
        if mine.are_numbers and theirs.are_numbers:
            if mine.n_numbers != theirs.n_numbers or far(mine, theirs, gold.tolerance):
                return False
            a, b = numbers_in(self.evidence, 0, gold), numbers_in(self.evidence, 1, predicted)
            assert a is not None
            assert b is not None
            if _apart(a, b, gold.tolerance):
                return False
        rows = remainder(self.evidence, gold, predicted, a, b)
        if rows is None:
            return None
        left = cells_of(self.evidence, 0, gold, rows[0]), cells_of(self.evidence, 1, predicted, rows[1])
        return pair_columns(Outline(left[0]), Outline(left[1]), gold.tolerance) is not None


def cells_of(evidence: Evidence, side: int, column: Column, rows: Any) -> list[Cell]:
    """The cells of a column in some rows, equal texts as the same object."""
    if evidence.packed is None:
        return list(column.cells)
    known: dict[str, Cell] = {}
    texts = evidence.written(side, column.position, rows)
    return [known[text] if text in known else known.setdefault(text, column.read(text)) for text in texts]


def numbers_in(evidence: Evidence, side: int, column: Column) -> Numbers | None:
    """A packed column as numbers, NaN where empty; None where a cell is something else, or no double holds it."""
    import numpy as np

    found = evidence.numbers(side, column.position, np.arange(evidence.n_rows))
    return found if found is not None and found.are_safe and not bool(np.isinf(found.values).any()) else None


def remainder(evidence: Evidence, gold: Column, predicted: Column, a: Numbers | None, b: Numbers | None) -> tuple[Any, Any] | None:
    """The rows of two columns whose cells matter when they are paired: those left without one that is written alike, and all numbers in
    reach of one that is left. None where they are too many, or cannot be told."""
    import numpy as np

    rows = evidence.spare([gold.position], [predicted.position])
    if len(rows[0]) > MOST_LEFT:
        return None
    if a is None or b is None:
        sides = zip((0, 1), (gold, predicted), rows, strict=True)
        cells = (column.read(text) for side, column, part in sides for text in evidence.written(side, column.position, part))
        if not any(isinstance(cell, int | Number) for cell in cells):
            # Of what is no number, equal cells have equal keys, and those taken away matter to nobody.
            return rows
        every = np.arange(evidence.n_rows)
        return (every, every) if evidence.n_rows <= MOST_LEFT else None
    values = np.concatenate([a.values, b.values])
    matters = np.zeros(len(values), bool)
    matters[rows[0]] = True
    matters[rows[1] + len(a.values)] = True
    order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
    ordered = values[order]
    if len(order):
        # Numbers farther from their neighbour than anything is equal over are in another chain.
        gaps = np.diff(ordered) > _widest(a, b, gold.tolerance, ordered[1:])
        chains = np.concatenate([[0], np.cumsum(gaps)])
        touched = np.zeros(int(chains[-1]) + 1, bool)
        touched[chains[matters[order]]] = True
        matters[order] = touched[chains]
    mine, theirs = np.flatnonzero(matters[: len(a.values)]), np.flatnonzero(matters[len(a.values) :])
    return (mine, theirs) if max(len(mine), len(theirs)) <= MOST_LEFT else None


def _widest(a: Numbers, b: Numbers, tolerance: Tolerance, values: Any) -> Any:
    """How far two equal numbers can be apart whose larger one is near these values."""
    import numpy as np

    shown = [0 if side.digits is None else int(side.digits[~np.isnan(side.values)].min(initial=100)) for side in (a, b)]
    return widest(tolerance, values, min(shown))


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


def far(mine: Span, theirs: Span, tolerance: Tolerance) -> bool:
    """Whether the first or the last numbers of two columns cannot be equal."""
    ends = (mine.low, theirs.low), (mine.high, theirs.high)
    return mine.n_numbers > 0 and any(abs(x - y) > float(widest(tolerance, max(abs(x), abs(y)))) for x, y in ends)


def _apart(a: Numbers, b: Numbers, tolerance: Tolerance) -> bool:
    """Whether as many numbers cannot be paired: if they can at all, then the i-th smallest with the i-th smallest."""
    import numpy as np

    x, y = np.sort(a.values[~np.isnan(a.values)]), np.sort(b.values[~np.isnan(b.values)])
    return bool((np.abs(x - y) > _widest(a, b, tolerance, np.maximum(np.abs(x), np.abs(y)))).any())


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
    sums = np.concatenate([[0], np.cumsum(digits, dtype=np.int32)])
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
