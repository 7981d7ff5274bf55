"""A place for a cell in an order that scaling, rounding, signs, cases and spaces leave as it is."""

from functools import lru_cache
from typing import Final

from evalsuite.causes.value_pairs import decorated_number, instants
from evalsuite.tables.outlines import place
from evalsuite.tables.strict_cells import Cell

LONGEST_NUMBER: Final = 40


def step(cell: Cell) -> tuple[int, float, str]:
    """Where a cell stands among others, whatever its unit, sign, rounding, case, spaces or form of date."""
    if isinstance(cell, tuple) and cell[0] == "text" and len(cell[1]) <= LONGEST_NUMBER:
        return _step_of_text(cell[1])
    at = place(cell)
    if at is not None:
        return 0, abs(at), ""
    if isinstance(cell, tuple) and cell[0] == "instant":
        return 1, float(cell[1]), ""
    return 2, 0.0, _bare(str(cell[1] if isinstance(cell, tuple) else cell))


@lru_cache(maxsize=1 << 14)
def _step_of_text(text: str) -> tuple[int, float, str]:
    if any(map(str.isdigit, text)):
        moment = next(instants(text), None)
        if moment is not None:
            return 1, float(moment[0]), ""
        number = next(decorated_number(text), None)
        if number is not None:
            return 0, abs(float(number[0])), ""
    return 2, 0.0, _bare(text)


def _bare(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())
