"""Each row of the table of causes in docs/explain.md, planted: its standing and its sentence are as documented."""

import csv
import json
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("shared_fork_server")

Rows = list[list[str]]
HEADER = ["id", "region", "name", "day", "amount"]
ROWS = [
    [
        str(1000 + n),
        "NESW"[n * 7 % 4 if n % 9 else 3],
        f"Town {chr(65 + n % 26)}{n}",
        (date(2024, 1, 1) + timedelta(days=n * 3)).isoformat(),
        f"{(n * n * 31 % 1790) + n / 7:.2f}",
    ]
    for n in range(1, 121)
]


def _cells(k: int, change: Callable[[str], str], some: slice = slice(None)) -> Rows:
    rows = [list(row) for row in ROWS]
    for row in rows[some]:
        row[k] = change(row[k])
    return rows


def _day(change: Callable[[date], str]) -> Rows:
    return _cells(3, lambda cell: change(date.fromisoformat(cell)))


def _exchanged() -> Rows:
    return [[a, c, b, d, e] if i < 12 else [a, b, c, d, e] for i, (a, b, c, d, e) in enumerate(ROWS)]


# By what the first column of the table says: gold, the answer and its header.
PLANTS: dict[str, tuple[Rows, Rows, Sequence[str]]] = {
    "nothing": (ROWS, ROWS, HEADER),
    "rows in another order": (ROWS, ROWS[::-1], HEADER),
    "columns in another order": (ROWS, [row[::-1] for row in ROWS], HEADER[::-1]),
    "region W left out": (ROWS, [row for row in ROWS if row[1] != "W"], HEADER),
    "region W too many": ([row for row in ROWS if row[1] != "W"], ROWS, HEADER),
    "amount x 100": (ROWS, _cells(4, lambda cell: f"{float(cell) * 100:.0f}"), HEADER),
    "amount x 1.08, to cents": (ROWS, _cells(4, lambda cell: f"{float(cell) * 1.08:.2f}"), HEADER),
    "amount to whole numbers": (ROWS, _cells(4, lambda cell: f"{float(cell):.0f}"), HEADER),
    "the sign turned": (ROWS, _cells(4, lambda cell: f"-{cell}"), HEADER),
    "one amount wrong": (ROWS, _cells(4, lambda cell: f"{float(cell) + 34.4:.2f}", slice(50, 51)), HEADER),
    "9 amounts emptied": (ROWS, _cells(4, lambda _: "", slice(20, 29)), HEADER),
    "7 rows twice": (ROWS, [*ROWS, *ROWS[40:47]], HEADER),
    "every row twice": (ROWS, [*ROWS, *ROWS], HEADER),
    "names in capitals": (ROWS, _cells(2, str.upper), HEADER),
    "dates as DD.MM.YYYY": (ROWS, _day(lambda day: f"{day:%d.%m.%Y}"), HEADER),
    "dates one day late": (ROWS, _day(lambda day: (day + timedelta(days=1)).isoformat()), HEADER),
    "days and months exchanged": (ROWS, _day(lambda day: f"{day:%Y-%d-%m}" if day.day <= 12 else day.isoformat()), HEADER),
    "a total row at the end": (ROWS, [*ROWS, ["", "", "Total", "", f"{sum(float(row[4]) for row in ROWS):.2f}"]], HEADER),
    "region called area": (ROWS, ROWS, ["id", "area", *HEADER[2:]]),
    "day left out": (ROWS, [[*row[:3], row[4]] for row in ROWS], [*HEADER[:3], "amount"]),
    "region and name exchanged in 12 rows": (ROWS, _exchanged(), HEADER),
    "the first 100 rows": (ROWS, ROWS[:100], HEADER),
}


def _documented() -> dict[str, str]:
    """By what was done the cause that the table of the docs names."""
    lines = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8").partition("## Compared with datacompy")[2].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return {row[0]: row[2] for row in rows[2:]}


def test_every_documented_cause_is_planted() -> None:
    """The rows of the docs and the plants here are the same."""
    assert sorted(_documented()) == sorted(PLANTS)


@pytest.mark.parametrize("done", PLANTS)
def test_a_documented_cause_is_named(done: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cause has the standing of the docs, and its text has the words and numbers that stand there, with those of these rows."""
    gold, answer, header = PLANTS[done]
    for name, rows, head in (("gold.csv", gold, HEADER), ("answer.csv", answer, header)):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, *rows])
    code = main(["explain", str(tmp_path / "gold.csv"), str(tmp_path / "answer.csv"), "--key", "id", "--json"])
    found, told = json.loads(capsys.readouterr().out), _documented()[done]
    if told.startswith("equal"):
        assert (code, found["causes"]) == (0, [])
        return
    standing, _, words = told.partition(": ")
    assert (code, found["standing"]) == (1, "" if told == "no cause" else standing)
    text = " ".join(cause["text"] for cause in found["causes"])
    for word in re.findall(r"[a-zA-Z]{3,}|'[^']*'", words):
        assert word in text, (word, text)
