"""Pictures made of characters, for terminals: they say by form, not by colour, what the numbers beside them say."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class DrawnInterval(NamedTuple):
    """A label with a value and its interval, None where there is none."""

    label: str
    value: float | None
    low: float | None
    high: float | None


def share_bar(share: float, width: int) -> str:
    """`███████░░░`: a share in [0, 1] of `width` characters; only all of it is full, and only nothing of it empty."""
    filled = round(width * share)
    filled = min(max(filled, int(share > 0)), width - int(share < 1))
    return "█" * filled + "░" * (width - filled)


def interval_lines(rows: Sequence[DrawnInterval], *, width: int = 40) -> Iterator[str]:
    """A line a row: `├──●──┤` on one scale round 0, which `│` marks in the middle; nothing where no row has a length."""
    reach = max((abs(end) for _, *ends in rows for end in ends if end is not None), default=0.0)
    longest = min(24, max((len(row.label) for row in rows), default=0))

    def cell(value: float) -> int:
        return round(width * (value + reach) / (2 * reach))

    for label, value, low, high in rows if reach else ():
        cells = [" "] * (width + 1)
        if low is not None and high is not None:
            cells[cell(low) : cell(high) + 1] = ["├", *"─" * max(0, cell(high) - cell(low) - 1), "┤"][: cell(high) - cell(low) + 1]
        cells[width // 2] = "│" if cells[width // 2] == " " else "┼"
        if value is not None:
            cells[cell(value)] = "●"
        shown = label if len(label) <= longest else label[: longest - 1] + "…"
        yield f"{shown:<{longest}}  {''.join(cells).rstrip()}"
