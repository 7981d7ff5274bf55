"""A gold column and the predicted column that is taken to be it, compared block by block: what both rules say of the cells so far."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from evalsuite.tables.blocks import Block
from evalsuite.tables.number_blocks import Numbers, is_surely_text, numbers_of, officially_equal, surely_strictly_equal, surely_unequal
from evalsuite.tables.pandas_typing import NA_WORDS
from evalsuite.tables.strict_cells import equal, read_text
from evalsuite.texts.numbers import Tolerance

if TYPE_CHECKING:
    import numpy as np

_LOOKED_AT: Final = 64
_KNOWN: Final = 100_000


@dataclass(frozen=True, slots=True)
class Difference:
    """Two cells that stand against each other, and their row (from 0)."""

    row: int
    gold: str
    predicted: str


@dataclass(slots=True)
class Pair:
    """Gold column `gold` beside predicted column `predicted`, both as positions.

    `official` and `strict` are the first cells that are unequal under each rule, `written` the first that are not written alike.
    `numeric_from` is the row from which on all of gold's cells were read as numbers; `both_empty` says that cells were empty in two ways.
    """

    gold: int
    predicted: int
    tolerance: Tolerance
    official: Difference | None = None
    strict: Difference | None = None
    written: Difference | None = None
    both_empty: bool = False
    numeric_from: int | None = None
    unlike_text: bool = False
    only_numbers: bool = True
    has_text: bool = False
    _known: dict[tuple[str, str], bool] = field(default_factory=dict)

    @property
    def official_fits(self) -> bool | None:
        """Whether the columns are equal under the official rules, None where that is left open."""
        if self.official is not None:
            return False
        if not (self.unlike_text or self.both_empty):
            return True
        # Cells that are close as numbers are equal where both columns are numbers, and unequal where one is text.
        if self.only_numbers:
            return True if self.numeric_from == 0 else None
        return False if self.has_text and self.unlike_text else None

    def look(self, gold: Block, predicted: Block, differs: "np.ndarray[Any, Any]", first_row: int) -> None:
        """Take in a block's rows, of which these (from 0) are not written alike."""
        if not len(differs) and self.numeric_from is None:
            return
        if len(differs) and self.written is None:
            self.written = self._difference(gold, predicted, int(differs[0]), first_row)
        if self.numeric_from is None:
            self.numeric_from = first_row
        if self.official is not None and (self.strict is not None or not len(differs)):
            return
        mine = numbers_of(gold, self.gold)
        theirs = numbers_of(predicted, self.predicted, differs) if mine is not None else None
        if mine is None or theirs is None or not (mine.are_safe and theirs.are_safe):
            self._as_texts(gold, predicted, differs, first_row)
        elif len(differs):
            self._as_numbers(gold, predicted, mine.at(differs), theirs, differs, first_row)

    def _as_numbers(self, gold: Block, predicted: Block, a: Numbers, b: Numbers, rows: Any, first_row: int) -> None:
        import numpy as np

        equal_here = officially_equal(a.values, b.values)
        if self.official is None and not equal_here.all():
            self.official = self._difference(gold, predicted, int(rows[np.argmin(equal_here)]), first_row)
        empty = np.isnan(a.values) & np.isnan(b.values)
        self.both_empty |= bool(empty.any())
        self.unlike_text |= bool((equal_here & ~empty).any())
        if self.strict is None:
            self._strictly(gold, predicted, rows[~surely_strictly_equal(a, b, self.tolerance)], first_row)

    def _as_texts(self, gold: Block, predicted: Block, rows: Any, first_row: int) -> None:
        self.only_numbers = False
        if not self.has_text:
            self.has_text = any(map(is_surely_text, gold.texts(self.gold)[:_LOOKED_AT]))
        if self.official is None:
            for row in rows.tolist():
                a, b = gold.text(row, self.gold), predicted.text(row, self.predicted)
                if surely_unequal(a, b):
                    self.official = Difference(first_row + row, a, b)
                    break
                if a in NA_WORDS and b in NA_WORDS:
                    self.both_empty = True
                else:
                    self.unlike_text = True
        if self.strict is None:
            self._strictly(gold, predicted, rows, first_row)

    def _strictly(self, gold: Block, predicted: Block, rows: Any, first_row: int) -> None:
        """Compare cells one by one until two are unequal."""
        texts = zip(gold.texts(self.gold, rows), predicted.texts(self.predicted, rows), strict=True)
        for row, (a, b) in zip(rows.tolist(), texts, strict=True):
            same = self._known.get((a, b))
            if same is None:
                same = equal(read_text(a), read_text(b), self.tolerance)
                if len(self._known) < _KNOWN:
                    self._known[a, b] = same
            if not same:
                self.strict = Difference(first_row + row, a, b)
                return

    def _difference(self, gold: Block, predicted: Block, row: int, first_row: int) -> Difference:
        return Difference(first_row + row, gold.text(row, self.gold), predicted.text(row, self.predicted))
