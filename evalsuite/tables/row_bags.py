"""Rows of packed tables in any order under the strict rules: rows written alike are taken away as bags, and only the rest is judged.

A column is *plain* where all its cells are integers, dates, words or empty in the one form in which two different texts are never equal.
Rows that differ in a plain column never pair, so of the rows taken away only those matter that agree with a left one in every such column.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from evalsuite.tables.clusters import pair_columns
from evalsuite.tables.columns import Column, Matching, decided, in_likely_order, likely_columns, matched_as
from evalsuite.tables.evidence import Evidence
from evalsuite.tables.number_blocks import is_surely_text, surely_strictly_equal
from evalsuite.tables.outlines import Outline, place
from evalsuite.tables.remainders import MOST_LEFT, apart, cells_of, far, inside, plain_columns, remainder, widest
from evalsuite.tables.row_search import CapReachedError, RowSearch, Work


def match_bags(gold: Sequence[Column], predicted: Sequence[Column], evidence: Evidence, heeds_labels: bool) -> Matching | None:
    """The verdict on columns of packed tables, None where the exact search over the whole tables has to give it."""
    if any(column.has_percent for column in (*gold, *predicted)):
        return None
    bench = Bench(gold, predicted, evidence, heeds_labels)
    partners = bench.partners()
    # A column whose partner holds the same texts has a candidate: more are looked for where all have one.
    settled = {i: [k] for i, k in enumerate(partners or ()) if bench.is_alike(i, k)}
    hopeless = any(bench.fits_none(i) for i in range(len(gold)) if i not in settled)
    agree = bench.rows_agree(partners) if partners is not None and not hopeless else False
    if partners is not None and agree:
        return matched_as(partners)
    options = [settled.get(i) or bench.candidates(i) for i in range(len(gold))]
    if any(own is not None and not own for own in options):
        return decided([own if own is not None else [0] for own in options], "limit")
    if agree is None:
        return None
    options = [bench.candidates(i) if i in settled else own for i, own in enumerate(options)]
    known = [own for own in options if own is not None]
    if len(known) < len(options):
        return None
    found = decided([in_likely_order(column, predicted, own) for column, own in zip(gold, known, strict=True)], "rows")
    if found.verdict != "rows":
        return found
    # Only the assignment that was tried is possible, but for columns that hold the same texts.
    only = partners is not None and all(bench.is_twin(k, partners[i]) for i, own in enumerate(known) for k in own)
    return replace(found, assignment=tuple(partners), n_tried=1) if only and partners is not None else None


class Bench:
    """The columns of two packed tables side by side, for rows in any order."""

    def __init__(self, gold: Sequence[Column], predicted: Sequence[Column], evidence: Evidence, heeds_labels: bool) -> None:
        self.gold, self.predicted, self.evidence, self.heeds_labels = gold, predicted, evidence, heeds_labels
        self._apart: dict[tuple[int, int], bool] = {}

    def partners(self) -> list[int] | None:
        """For each gold column a predicted one of its own: the likely one, or another that holds the same texts where that one does not."""
        likely = likely_columns(self.gold, self.predicted)
        if likely is not None and all(map(self.may_be, range(len(self.gold)), likely)):
            self.evidence.hashes.know_bags(0, [column.position for column in self.gold])
            self.evidence.hashes.know_bags(1, [self.predicted[k].position for k in likely])
            self.compare(enumerate(likely))
            if all(map(self.is_alike, range(len(self.gold)), likely)):
                return likely
        self.evidence.hashes.know_bags(1, [column.position for column in self.predicted])
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

    def may_be(self, i: int, k: int) -> bool:
        """Whether labels, where they count, let a predicted column be a gold column."""
        return not (self.heeds_labels and self.gold[i].contradicts(self.predicted[k]))

    def is_alike(self, i: int, k: int) -> bool:
        """Whether a gold and a predicted column hold the same texts."""
        return self.evidence.hashes.are_alike(self.gold[i].position, self.predicted[k].position)

    def compare(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Have `is_alike` found out for several pairs at once."""
        self.evidence.hashes.compare([(self.gold[i].position, self.predicted[k].position) for i, k in pairs])

    def is_twin(self, k: int, other: int) -> bool:
        """Whether two predicted columns hold the same texts, row by row."""
        return k == other or self.evidence.hashes.are_twins(self.predicted[k].position, self.predicted[other].position)

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
            self.evidence.hashes.rows(side, [columns[at].position for at in chosen])
            for side, columns, chosen in ((0, self.gold, [i for i, _ in alike]), (1, self.predicted, [k for _, k in alike]))
        ]
        orders = [np.argsort(side, kind="stable") for side in keys]
        ordered = keys[0][orders[0]]
        if not np.array_equal(ordered, keys[1][orders[1]]):
            return False
        for at, (i, k) in enumerate(others):
            a, b = self.evidence.numbers.column(0, self.gold[i].position), self.evidence.numbers.column(1, self.predicted[k].position)
            if a is None or b is None or np.isnan(a.values).any():
                return False
            if not at and (ordered[1:] == ordered[:-1]).any():
                # Rows alike in the key are paired in order of their first numbers.
                orders = [np.lexsort((side.values, key)) for side, key in zip((a, b), keys, strict=True)]
            if not bool(surely_strictly_equal(a.at(orders[0]), b.at(orders[1]), self.gold[i].tolerance).all()):
                return False
        return True

    def has_text(self, side: int, column: Column) -> bool:
        """Whether the first cells of a column say that it does not hold numbers alone."""
        head = self.evidence.heads[side].columns[column.position]
        return any(is_surely_text(text) and isinstance(column.read(text), tuple) for text in head)

    def fits_none(self, i: int) -> bool:
        """Whether a cheap look rules out every predicted column for gold column i."""
        return all(not self.may_be(i, k) or (not self.is_alike(i, k) and self.cannot_pair(i, k)) for k in range(len(self.predicted)))

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

    def cannot_pair(self, i: int, k: int) -> bool:
        """Whether numbers stand against text, or are apart from each other in order of size."""
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
        """Whether one of the first predicted cells is text or a number that no number of gold column i is near."""
        import numpy as np

        cells = list(map(predicted.read, self.evidence.heads[1].columns[predicted.position]))
        if any(cell is not None and place(cell) is None for cell in cells):
            return True
        numbers = np.array([at for cell in cells if (at := place(cell)) is not None], np.float64)
        return self.evidence.numbers.has_no_neighbour(self.gold[i].position, numbers, widest(self.gold[i].tolerance, numbers))

    def can_pair(self, i: int, k: int) -> bool | None:
        """Whether two columns that hold other texts can be paired cell by cell, None where too much is left to say."""
        gold, predicted = self.gold[i], self.predicted[k]
        # What is plain is asked first: the numbers that the other look holds are as long as the table.
        if (self.is_anchor(i) and predicted.position in self.plain(1)) or self.cannot_pair(i, k):
            return False
        rows = remainder(self.evidence, gold, predicted)
        if rows is None:
            return None
        left = cells_of(self.evidence, 0, gold, rows[0]), cells_of(self.evidence, 1, predicted, rows[1])
        return pair_columns(Outline(left[0]), Outline(left[1]), gold.tolerance) is not None
