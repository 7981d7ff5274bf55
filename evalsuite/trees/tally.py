"""Precision, recall and F1 from rows: sums of scores and weights by status."""

from collections.abc import Iterable
from dataclasses import dataclass

from evalsuite.trees.results import FieldResult


@dataclass(slots=True)
class Tally:
    """Weighted sums over rows: the scores reached, fields on both sides, omissions, hallucinations."""

    scored: float = 0.0
    both: float = 0.0
    omitted: float = 0.0
    invented: float = 0.0

    def merge(self, other: "Tally") -> None:
        """Add the sums of another tally."""
        self.scored += other.scored
        self.both += other.both
        self.omitted += other.omitted
        self.invented += other.invented

    @property
    def total(self) -> float:
        """The weight of all rows that count."""
        return self.both + self.omitted + self.invented

    @property
    def precision(self) -> float:
        """Of what was extracted, the share that is right; 1.0 where nothing was."""
        found = self.both + self.invented
        return self.scored / found if found else 1.0

    @property
    def recall(self) -> float:
        """Of what gold expects, the share that was found; 1.0 where it expects nothing."""
        expected = self.both + self.omitted
        return self.scored / expected if expected else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 1.0 where no row counts."""
        if not self.total:
            return 1.0
        precision, recall = self.precision, self.recall
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def tally(rows: Iterable[FieldResult]) -> Tally:
    """The tally of some rows."""
    scored = both = omitted = invented = 0.0
    for row in rows:
        status = row.status
        if status == "match" or status == "mismatch":
            scored += row.score * row.weight
            both += row.weight
        elif status == "omission":
            omitted += row.weight
        elif status == "hallucination":
            invented += row.weight
    return Tally(scored, both, omitted, invented)
