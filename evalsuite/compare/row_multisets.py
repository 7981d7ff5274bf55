"""Strict comparison of rows in any order: pair off rows that are written alike, then search for an assignment of columns and rows.

Packed tables: rows that are written alike are paired off as multisets, and only the rest is compared cell by cell. A column is *plain* if
all its cells are integers, dates, words or empty in the one form in which two different texts are never equal. Rows that differ in a plain
column never pair, so of the paired rows only those matter that agree with a remaining row in every such column.

The search assigns columns one by one, fewest candidates first, and counts its work. After each choice rows are split into classes by their
keys so far, and the choice is dropped if the two sides' multisets of classes differ. At the end, if a group of near numbers contained cells
that are not all equal to each other, a maximum flow between the rows of each class decides.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from evalsuite.compare.bipartite_matching import saturating_flow
from evalsuite.compare.number_columns import SAFE_WHOLE, Numbers, Summary, in_order, in_parts, is_surely_text, surely_strictly_equal
from evalsuite.compare.numbers import FEWEST_DECIMALS, NOISE_BEYOND, NOISE_FLOOR, NOISE_REL, Number, Tolerance
from evalsuite.compare.strict_columns import (
    Column,
    ColumnPair,
    ColumnProfile,
    Matching,
    equal,
    in_likely_order,
    key,
    likely_columns,
    matched_as,
    pair_columns,
    place,
    verdict_of_candidates,
    windows_of,
)
from evalsuite.compare.table_diff import TableDiff
from evalsuite.compare.values import STARTS_OF_VALUES, WORDS_WITH_VALUE, Cell

# With more remaining rows than this, the exact search has to compare the whole tables.
MOST_LEFT: Final = 20_000
_CHUNK: Final = 65_536
_WORDS: Final = [word.encode() for word in WORDS_WITH_VALUE]
_LONGEST_WORD: Final = 8
_DATE_LENGTH: Final = 10


def cells_of(evidence: TableDiff, side: int, column: Column, rows: Any) -> list[Cell]:
    """The cells of a column in some rows; equal texts share one object."""
    if evidence.packed is None:
        return list(column.cells)
    known: dict[str, Cell] = {}
    texts = evidence.written(side, column.position, rows)
    return [known[text] if text in known else known.setdefault(text, column.read(text)) for text in texts]


def remainder(evidence: TableDiff, gold: Column, predicted: Column) -> tuple[Any, Any] | None:
    """The rows of two columns that matter for pairing: those without a partner that is written alike, and all numbers within reach of
    such a row. None if there are too many, or they cannot be determined.
    """
    import numpy as np

    rows = evidence.spare([gold.position], [predicted.position])
    if len(rows[0]) > MOST_LEFT:
        return None
    a, b = evidence.numbers.column(0, gold.position), evidence.numbers.column(1, predicted.position)
    if a is None or b is None:
        sides = zip((0, 1), (gold, predicted), rows, strict=True)
        cells = (column.read(text) for side, column, part in sides for text in evidence.written(side, column.position, part))
        if not any(isinstance(cell, int | Number) for cell in cells):
            # Cells other than numbers are equal only with equal keys, and the paired ones affect no other cell.
            return rows
        every = np.arange(evidence.n_rows)
        return (every, every) if evidence.n_rows <= MOST_LEFT else None
    chains = _chains(a, b, rows, gold.tolerance)
    found = [np.union1d(part, inside(side.values, *chains)) for side, part in zip((a, b), rows, strict=True)]
    return (found[0], found[1]) if max(map(len, found)) <= MOST_LEFT else None


def _chains(a: Numbers, b: Numbers, rows: tuple[Any, Any], tolerance: Tolerance) -> tuple[Any, Any]:
    """The first and the last number of each chain that contains a remaining number; gaps between chains exceed every tolerance."""
    import numpy as np

    left = np.concatenate([a.values[rows[0]], b.values[rows[1]]])
    values = in_order(np.concatenate([a.values, b.values]))
    # The start of each chain; the allocated memory is used only as it is filled.
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
    """The rows with a value in one of the intervals, which are disjoint and ascending."""
    import numpy as np

    found = [np.empty(0, np.int64)]
    for start in range(0, len(values) if len(first) else 0, _CHUNK):
        part = values[start : start + _CHUNK]
        at = np.searchsorted(first, part, "right") - 1
        found.append(np.flatnonzero((at >= 0) & (part <= last[at])) + start)
    return np.concatenate(found)


def _fewest_decimals(a: Numbers, b: Numbers) -> int:
    """The minimum number of decimals that each number of two columns shows."""
    import numpy as np

    return min(0 if side.digits is None else int(side.digits[~np.isnan(side.values)].min(initial=100)) for side in (a, b))


def widest(tolerance: Tolerance, values: Any, decimals: int = FEWEST_DECIMALS) -> Any:
    """How far two equal numbers near these values can be apart if each shows at least so many decimals; a generous upper bound."""
    import numpy as np

    size = np.abs(values) * 1.1 + 0.01
    if tolerance.own:
        share = tolerance.rel / (1 - tolerance.rel) if tolerance.rel < 1 else np.inf
        return np.maximum(np.maximum(tolerance.abs, share * size), 1e-9) * 1.001 + 1e-15 * size
    rounding = 0.5 * 10.0 ** -max(FEWEST_DECIMALS, decimals)
    noise = np.minimum(NOISE_REL * size, np.maximum(NOISE_FLOOR, NOISE_BEYOND * size))
    # Beyond 2^53 an integer may be a different one as a double.
    return (np.maximum(rounding, noise) + np.where(size >= SAFE_WHOLE, 1e-12 * size, 0) + 1e-9) * 1.001 + 1e-15 * size


def far(mine: Summary, theirs: Summary, tolerance: Tolerance) -> bool:
    """Whether the first or the last numbers of two columns cannot be equal."""
    ends = (mine.low, theirs.low), (mine.high, theirs.high)
    return any(abs(x - y) > float(widest(tolerance, max(abs(x), abs(y)))) for x, y in ends)


def apart(evidence: TableDiff, gold: Column, predicted: Column) -> bool:
    """Whether two columns of equally many numbers cannot be paired: if they can at all, then the i-th smallest with the i-th smallest."""
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
    """The columns of a block that contain only plain cells."""
    import numpy as np

    if not columns or not block.data[int(block.starts[0, 0]) :].isascii():
        return set()
    data = np.frombuffer(block.data, np.uint8)
    starts, lengths = block.starts[:, columns], block.lengths[:, columns]
    first, last = data[starts], data[starts + np.maximum(lengths, 1) - 1]
    digits = (data >= ord("0")) & (data <= ord("9"))
    # How many digits precede each position.
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
    with_digits = is_word & (n_other < lengths)
    if with_digits.any():
        is_word[with_digits] = ~_may_be_values(block.words(starts[with_digits], lengths[with_digits]))
    plain = (n_other == 0) | is_negative | is_date | is_word
    return {column for column, fits in zip(columns, plain.all(axis=0).tolist(), strict=True) if fits}


def _may_be_values(words: Any) -> Any:
    """Whether words with digits, given by their first bytes, may be dates or amounts of money; true also for some that are text."""
    import numpy as np

    known = np.zeros(1 << 15, bool)
    # Five bits tell letters apart without their case.
    known[[sum((ord(letter) & 31) << 5 * at for at, letter in enumerate(start)) for start in STARTS_OF_VALUES]] = True
    a, b, c = (words >> np.uint64(8 * at) & np.uint64(31) for at in range(3))
    return known[a | b << np.uint64(5) | c << np.uint64(10)]


CELL_CAP: Final = 5_000_000
EDGE_CAP: Final = 3_000_000
FLOW_CAP: Final = 10_000_000
# The approximate work per cell for grouping rows, pairing equal ones and finding windows.
_LOOKS_AT_END: Final = 4

Rows = Counter[tuple[Cell, ...]]


class CapReachedError(Exception):
    """The counted work reached its limit."""


@dataclass(slots=True)
class Work:
    """Counted work: compared cells (`free` of them beyond the limit), edges between rows, edges visited by flows, assignments tried."""

    free: int = 0
    cells: int = 0
    edges: int = 0
    walked: int = 0
    assignments: int = 0

    def look(self, n: int) -> None:
        """Count n cells; raises `CapReachedError` above the limit."""
        self.cells += n
        if self.cells > CELL_CAP + self.free:
            raise CapReachedError

    def connect(self, n: int) -> None:
        """Count n possible edges; raises `CapReachedError` above the limit."""
        self.edges += n
        if self.edges > EDGE_CAP:
            raise CapReachedError

    def walk(self, n: int) -> None:
        """Count n edges that a flow visited; raises `CapReachedError` above the limit."""
        self.walked += n
        if self.walked > FLOW_CAP:
            raise CapReachedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """A partition of the rows: the class of each gold and of each predicted row, n classes in all, equally large on both sides."""

    gold: list[int]
    predicted: list[int]
    n: int

    def split(self, pair: ColumnPair) -> "Classes | None":
        """The classes split by the pair's keys, or None if the multisets of classes differ."""
        names: dict[tuple[int, Any], int] = {}
        gold = [names.setdefault(item, len(names)) for item in zip(self.gold, pair.gold_keys, strict=True)]
        n_names = len(names)
        predicted = [names.setdefault(item, len(names)) for item in zip(self.predicted, pair.predicted_keys, strict=True)]
        if len(names) != n_names or Counter(gold) != Counter(predicted):
            return None
        return self if n_names == self.n else Classes(gold=gold, predicted=predicted, n=n_names)


class RowSearch:
    """Depth-first search over assignments. `options[i]` contains the predicted columns that gold column i may take, in the order of trying.

    `classes` gives for each row the class of rows with which it may change places; `twin[k]` is equal for predicted columns with identical
    cells, of which only one needs to be tried.
    """

    def __init__(
        self,
        options: Sequence[Mapping[int, ColumnPair]],
        *,
        classes: Sequence[int],
        tolerances: Sequence[Tolerance],
        twin: Mapping[int, int],
        work: Work,
    ) -> None:
        self.options, self.classes, self.tolerances, self.twin, self.work = options, list(classes), tolerances, twin, work
        self.order = sorted(range(len(options)), key=lambda i: len(options[i]))
        self._widths: dict[tuple[int, int], int] = {}

    def run(self) -> tuple[int, ...] | None:
        """The predicted column of each gold column, or None if no assignment makes the rows agree. Raises `CapReachedError`."""
        start = Classes(gold=self.classes, predicted=self.classes, n=len(set(self.classes)))
        levels = [self._steps((), start)]
        while levels:
            step = next(levels[-1], None)
            if step is None:
                levels.pop()
                continue
            chosen, classes = step
            if len(chosen) < len(self.order):
                levels.append(self._steps(chosen, classes))
                continue
            self.work.assignments += 1
            assignment = dict(zip(self.order, chosen, strict=True))
            if self._rows_agree(assignment, classes):
                return tuple(assignment[i] for i in range(len(self.options)))
        return None

    def _steps(self, chosen: tuple[int, ...], classes: Classes) -> Iterator[tuple[tuple[int, ...], Classes]]:
        """The choices for the next column that keep the multisets of classes equal."""
        tried: set[int] = set()
        for k, pair in self.options[self.order[len(chosen)]].items():
            if k in chosen or self.twin[k] in tried:
                continue
            tried.add(self.twin[k])
            self.work.look(len(classes.gold))
            refined = classes.split(pair)
            if refined is not None:
                yield (*chosen, k), refined
            elif len(chosen) + 1 == len(self.order):
                self.work.assignments += 1

    def _rows_agree(self, assignment: Mapping[int, int], classes: Classes) -> bool:
        """Whether the rows of every class can be paired one to one; the multisets of classes are known to be equal."""
        loose = [i for i in assignment if not self.options[i][assignment[i]].complete]
        if not loose:
            return True
        self.work.look(_LOOKS_AT_END * len(loose) * len(classes.gold))
        loose.sort(key=lambda i: self._width(i, assignment[i]))
        pairs = [self.options[i][assignment[i]] for i in loose]
        gold_rows = _grouped(classes.gold, [pair.gold.cells for pair in pairs])
        predicted_rows = _grouped(classes.predicted, [pair.predicted.cells for pair in pairs])
        tolerances = [self.tolerances[i] for i in loose]
        return all(self._class_agrees(rows, predicted_rows[name], tolerances) for name, rows in gold_rows.items())

    def _width(self, i: int, k: int) -> int:
        """How many predicted cells are near enough to a gold cell to be compared, summed over the distinct cells of a pair."""
        if (i, k) not in self._widths:
            pair = self.options[i][k]
            windows = windows_of(list(pair.gold.distinct), list(pair.predicted.distinct), self.tolerances[i])
            self._widths[i, k] = windows.width if windows is not None else len(pair.gold.cells) ** 2
        return self._widths[i, k]

    def _class_agrees(self, gold: Rows, predicted: Rows, tolerances: Sequence[Tolerance]) -> bool:
        """Pair off plainly equal rows first. That can only confirm a match, not refute it: {0, 1} and {1, 2} agree at tolerance 1."""
        gold_left, predicted_left = _without_equal_rows(gold, predicted)
        if not gold_left or self._flows(gold_left, predicted_left, tolerances):
            return True
        return gold_left.total() < gold.total() and self._flows(gold, predicted, tolerances)

    def _flows(self, gold: Rows, predicted: Rows, tolerances: Sequence[Tolerance]) -> bool:
        gold_rows, predicted_rows = list(gold), list(predicted)
        windows = windows_of([row[0] for row in gold_rows], [row[0] for row in predicted_rows], tolerances[0])
        edges: list[list[int]] = []
        for row, g in enumerate(gold_rows):
            window = windows[row] if windows is not None else range(len(predicted_rows))
            self.work.connect(len(window))
            edges.append([k for k in window if all(map(equal, g, predicted_rows[k], tolerances))])
            if not edges[-1]:
                return False
        supply, demand = [gold[g] for g in gold_rows], [predicted[p] for p in predicted_rows]
        return saturating_flow(supply, demand, edges, self.work.walk)


def _grouped(classes: Sequence[int], columns: Sequence[Sequence[Cell]]) -> dict[int, Rows]:
    """For each class the distinct rows of these columns with their counts."""
    groups: dict[int, Rows] = {}
    for name, row in zip(classes, zip(*columns, strict=True), strict=True):
        groups.setdefault(name, Counter())[row] += 1
    return groups


def _without_equal_rows(gold: Rows, predicted: Rows) -> tuple[Rows, Rows]:
    """The rows of both sides that remain when rows with equal keys are paired off."""
    by_key: dict[tuple[Any, ...], list[tuple[Cell, ...]]] = {}
    for row in predicted:
        by_key.setdefault(tuple(map(key, row)), []).append(row)
    gold_left, predicted_left = Counter(gold), Counter(predicted)
    for row in gold:
        partners = by_key.get(tuple(map(key, row)), [])
        while partners and gold_left[row]:
            used = min(gold_left[row], predicted_left[partners[-1]])
            gold_left[row] -= used
            predicted_left[partners[-1]] -= used
            if not predicted_left[partners[-1]]:
                partners.pop()
    return +gold_left, +predicted_left


def match_bags(gold: Sequence[Column], predicted: Sequence[Column], evidence: TableDiff, heeds_labels: bool) -> Matching | None:
    """The verdict on columns of packed tables, None if the exact search over the whole tables has to decide."""
    if any(column.has_percent for column in (*gold, *predicted)):
        return None
    bench = PackedColumns(gold, predicted, evidence, heeds_labels)
    partners = bench.partners()
    # A column whose partner contains the same texts has a candidate: more are searched only if every column has one.
    settled = {i: [k] for i, k in enumerate(partners or ()) if bench.is_alike(i, k)}
    hopeless = any(bench.fits_none(i) for i in range(len(gold)) if i not in settled)
    agree = bench.rows_agree(partners) if partners is not None and not hopeless else False
    if partners is not None and agree:
        return matched_as(partners)
    options = [settled.get(i) or bench.candidates(i) for i in range(len(gold))]
    if [] in options:
        return verdict_of_candidates([own if own is not None else [0] for own in options], "limit")
    if agree is None:
        return None
    return _match_candidates(bench, partners, [bench.candidates(i) if i in settled else own for i, own in enumerate(options)])


def _match_candidates(bench: "PackedColumns", partners: Sequence[int] | None, options: Sequence[list[int] | None]) -> Matching | None:
    """The verdict from the candidates of each gold column (None: undecided) after the tried assignment was wrong."""
    known = [own for own in options if own is not None]
    if len(known) < len(options):
        return None
    ordered = [in_likely_order(column, bench.predicted, own) for column, own in zip(bench.gold, known, strict=True)]
    found = verdict_of_candidates(ordered, "rows")
    if found.verdict != "rows":
        return found
    # Only the tried assignment is possible, except for columns that contain the same texts.
    only = partners is not None and all(bench.is_twin(k, partners[i]) for i, own in enumerate(known) for k in own)
    return replace(found, assignment=tuple(partners), n_tried=1) if only and partners is not None else None


class PackedColumns:
    """The columns of two packed tables, compared with rows in any order."""

    def __init__(self, gold: Sequence[Column], predicted: Sequence[Column], evidence: TableDiff, heeds_labels: bool) -> None:
        self.gold, self.predicted, self.evidence, self.heeds_labels = gold, predicted, evidence, heeds_labels
        self._apart: dict[tuple[int, int], bool] = {}

    def partners(self) -> list[int] | None:
        """For each gold column a predicted one of its own: the likely one, or another that contains the same texts if the likely one
        does not.
        """
        likely = likely_columns(self.gold, self.predicted)
        if likely is not None and self._are_all_alike(likely):
            return likely
        self.evidence.hashes.compute_bags(1, [column.position for column in self.predicted])
        by_bag: dict[int, list[int]] = {}
        for k, column in enumerate(self.predicted):
            by_bag.setdefault(self.evidence.hashes.bag(1, column.position), []).append(k)
        taken: dict[int, int] = {}
        if likely is not None:
            self.compare(enumerate(likely))
        for i, column in enumerate(self.gold):
            alike = [k for k in by_bag.get(self.evidence.hashes.bag(0, column.position), ()) if k not in taken and self.may_be(i, k)]
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

    def _are_all_alike(self, likely: Sequence[int]) -> bool:
        """Whether each gold column contains the same texts as its likely predicted column."""
        if not all(map(self.may_be, range(len(self.gold)), likely)):
            return False
        self.evidence.hashes.compute_bags(0, [column.position for column in self.gold])
        self.evidence.hashes.compute_bags(1, [self.predicted[k].position for k in likely])
        self.compare(enumerate(likely))
        return all(map(self.is_alike, range(len(self.gold)), likely))

    def may_be(self, i: int, k: int) -> bool:
        """Whether the labels, if they count, allow a predicted column to match a gold column."""
        return not (self.heeds_labels and self.gold[i].contradicts(self.predicted[k]))

    def is_alike(self, i: int, k: int) -> bool:
        """Whether a gold and a predicted column contain the same texts."""
        return self.evidence.hashes.are_alike(self.gold[i].position, self.predicted[k].position)

    def compare(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Compute `is_alike` for several pairs at once."""
        self.evidence.hashes.compare([(self.gold[i].position, self.predicted[k].position) for i, k in pairs])

    def is_twin(self, k: int, other: int) -> bool:
        """Whether two predicted columns contain the same texts, row by row."""
        return k == other or self.evidence.hashes.are_twins(self.predicted[k].position, self.predicted[other].position)

    def rows_agree(self, partners: Sequence[int]) -> bool | None:
        """Whether the rows can be paired one to one under an assignment, None if too many rows remain to decide."""
        import numpy as np

        places = [column.position for column in self.gold], [self.predicted[k].position for k in partners]
        rows = self.evidence.spare(*places)
        if not len(rows[0]):
            return True
        anchors = [(i, k) for i, k in enumerate(partners) if self.is_alike(i, k) and self.is_anchor(i)]
        if len(rows[0]) > MOST_LEFT:
            return True if self.numbers_agree(partners) else None
        if not anchors:
            every = np.arange(min(self.evidence.n_rows, MOST_LEFT + 1))
            return self._exactly(partners, every, every) if len(every) <= MOST_LEFT else None
        keys = [
            self.evidence.hashes.rows(side, [columns[at].position for at in chosen])
            for side, columns, chosen in ((0, self.gold, [i for i, _ in anchors]), (1, self.predicted, [k for _, k in anchors]))
        ]
        touched = np.unique(np.concatenate([keys[0][rows[0]], keys[1][rows[1]]]))
        mine, theirs = (inside(side, touched, touched) for side in keys)
        if not np.array_equal(np.sort(keys[0][mine]), np.sort(keys[1][theirs])):
            return False
        return self._exactly(partners, mine, theirs) if len(mine) <= MOST_LEFT else None

    def _exactly(self, partners: Sequence[int], mine: Any, theirs: Any) -> bool | None:
        """The result of the exact search among some rows, None if it reaches a limit."""
        pairs = []
        for column, k in zip(self.gold, partners, strict=True):
            pair = pair_columns(
                ColumnProfile(cells_of(self.evidence, 0, column, mine)),
                ColumnProfile(cells_of(self.evidence, 1, self.predicted[k], theirs)),
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
        """Whether rows joined on the columns with the same texts are certainly equal in all others, which contain numbers."""
        import numpy as np

        alike = [(i, k) for i, k in enumerate(partners) if self.is_alike(i, k)]
        others = [(i, k) for i, k in enumerate(partners) if (i, k) not in alike]
        if not alike or len(others) > len(alike) + 8:
            return False
        keys = self._row_keys(alike)
        orders = [np.argsort(side, kind="stable") for side in keys]
        ordered = keys[0][orders[0]]
        if not np.array_equal(ordered, keys[1][orders[1]]):
            return False
        has_ties = (ordered[1:] == ordered[:-1]).any()
        for at, (i, k) in enumerate(others):
            a, b = self.evidence.numbers.column(0, self.gold[i].position), self.evidence.numbers.column(1, self.predicted[k].position)
            if a is None or b is None or np.isnan(a.values).any():
                return False
            if not at and has_ties:
                # Rows with the same key are paired in the order of their first numbers.
                orders = [np.lexsort((side.values, key)) for side, key in zip((a, b), keys, strict=True)]
            if not bool(surely_strictly_equal(a.at(orders[0]), b.at(orders[1]), self.gold[i].tolerance).all()):
                return False
        return True

    def _row_keys(self, alike: Sequence[tuple[int, int]]) -> list[Any]:
        """The hashes of gold's and of the predicted rows over pairs of columns."""
        gold = self.evidence.hashes.rows(0, [self.gold[i].position for i, _ in alike])
        return [gold, self.evidence.hashes.rows(1, [self.predicted[k].position for _, k in alike])]

    def has_text(self, side: int, column: Column) -> bool:
        """Whether the first cells of a column show that it does not contain only numbers."""
        head = self.evidence.heads[side].columns[column.position]
        return any(is_surely_text(text) and (cell := column.read(text)) is not None and place(cell) is None for text in head)

    def fits_none(self, i: int) -> bool:
        """Whether a cheap test rules out every predicted column for gold column i."""
        return all(not self.may_be(i, k) or (not self.is_alike(i, k) and self.cannot_pair(i, k)) for k in range(len(self.predicted)))

    def candidates(self, i: int) -> list[int] | None:
        """The predicted columns that contain gold's cells in some order, None if undecided."""
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

    def cannot_pair(self, i: int, k: int) -> bool:
        """Whether numbers would be paired with text, or are too far apart in ascending order."""
        if (i, k) not in self._apart:
            gold, predicted = self.gold[i], self.predicted[k]
            mine = self.evidence.numbers.summary(0, gold.position)
            if mine.are_plain and self._head_is_apart(i, predicted):
                return self._apart.setdefault((i, k), True)
            theirs = self.evidence.numbers.summary(1, predicted.position)
            is_apart = (mine.are_plain and self.has_text(1, predicted)) or (theirs.are_plain and self.has_text(0, gold))
            if mine.are_numbers and theirs.are_numbers:
                is_apart = mine.n_empty != theirs.n_empty or far(mine, theirs, gold.tolerance)
                if not is_apart:
                    is_apart = apart(self.evidence, gold, predicted)
            self._apart[i, k] = is_apart
        return self._apart[i, k]

    def _head_is_apart(self, i: int, predicted: Column) -> bool:
        """Whether one of the first predicted cells is text or a number that is near no number of gold column i."""
        import numpy as np

        cells = list(map(predicted.read, self.evidence.heads[1].columns[predicted.position]))
        if any(cell is not None and place(cell) is None for cell in cells):
            return True
        numbers = np.array([at for cell in cells if (at := place(cell)) is not None], np.float64)
        return self.evidence.numbers.has_no_neighbour(self.gold[i].position, numbers, widest(self.gold[i].tolerance, numbers))

    def can_pair(self, i: int, k: int) -> bool | None:
        """Whether two columns with different texts can be paired cell by cell, None if too many cells remain to decide."""
        gold, predicted = self.gold[i], self.predicted[k]
        # Plain columns are tested first: the numbers that the other test caches are as long as the table.
        if (self.is_anchor(i) and predicted.position in self.plain(1)) or self.cannot_pair(i, k):
            return False
        rows = remainder(self.evidence, gold, predicted)
        if rows is None:
            return None
        left = cells_of(self.evidence, 0, gold, rows[0]), cells_of(self.evidence, 1, predicted, rows[1])
        return pair_columns(ColumnProfile(left[0]), ColumnProfile(left[1]), gold.tolerance) is not None
