"""One comparison of two tables by evalsuite and by what else is there: whole processes, in units of the CPU of pandas reading both.

`EVALSUITE_OTHERS` is a Python that has datacompy and polars (they are no part of the project); without it they are left out. "The
reference's way" is the plain model of its rules on pandas, column by column, as `tests/models` has it.
"""

import os
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.big_tables import READ, frame, make_case, measured, tree_run
from tests.benchmarks.measure import python
from tests.benchmarks.wrong_tables import ANY_ORDER, Change, moved, one_cell, two_swapped
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "comparison.md"
BEGIN, END = "<!-- comparison -->\n", "<!-- end of comparison -->"
EVALSUITE = "evalsuite, both rules, reason and walls"
CASES: dict[str, tuple[int, dict[str, Any], Change]] = {
    "60k equal": (60_000, {}, lambda table: table),
    "60k, one cell": (60_000, {}, one_cell),
    "60k, rows moved": (60_000, ANY_ORDER, moved),
    "60k, two cells swapped": (60_000, ANY_ORDER, lambda table: moved(two_swapped(table))),
}
_READ = "import pandas\ngold, answer = (pandas.read_csv(path, low_memory=False) for path in ({gold!r}, {answer!r}))\n"
_REFERENCE = (
    "import sys; sys.path.insert(0, {root!r})\n" + _READ + "from tests.models.official_table import score_tables\n"
    "print(score_tables(answer, gold, ignore_order={any_order}))"
)
_PANDAS = _READ + (
    "if {any_order}: gold, answer = (t.sort_values(list(t.columns), ignore_index=True) for t in (gold, answer))\n"
    "print(int(gold.equals(answer)))"
)
_DATACOMPY = _READ + (
    "import datacompy\n"
    "compared = datacompy.PandasCompare(gold, answer, **({{'join_columns': ['id']}} if {any_order} else {{'on_index': True}}))\n"
    "print(int(compared.matches())); compared.report()"
)
_POLARS = (
    "import polars\nfrom polars.testing import assert_frame_equal\n"
    "gold, answer = (polars.read_csv(path, infer_schema_length=None) for path in ({gold!r}, {answer!r}))\n"
    "try: assert_frame_equal(gold, answer, check_row_order=not {any_order}); print(1)\nexcept AssertionError: print(0)"
)
OTHERS = {
    "the reference's way": _REFERENCE,
    "pandas, sorted and `equals`": _PANDAS,
    "datacompy, with its report": _DATACOMPY,
    "polars": _POLARS,
}
_ELSEWHERE = ("datacompy, with its report", "polars")


def run(scratch: Path, *, n: int = 3) -> dict[str, Any]:
    """For each case and each tool the ratio of CPU, and what it said."""
    elsewhere = os.environ.get("EVALSUITE_OTHERS")
    found: dict[str, Any] = {}
    for at, (name, (n_rows, parameters, change)) in enumerate(CASES.items()):
        table, folder = frame(n_rows), scratch / str(at)
        pair = make_case(folder, "table_match", ".csv", parameters)
        table.to_csv(pair[0], index=False)
        change(table.copy()).to_csv(pair[1], index=False)
        own = measured(folder, READ, pair, n)
        found[name] = {EVALSUITE: {"ratio": own["ratio"], "says": own["verdicts"]}}
        for tool, code in OTHERS.items():
            if tool in _ELSEWHERE and not elsewhere:
                continue
            filled = code.format(gold=str(pair[0]), answer=str(pair[1]), any_order=bool(parameters), root=str(ROOT))
            command = [elsewhere, "-c", filled] if tool in _ELSEWHERE and elsewhere else python(filled)
            runs = [tree_run(command) for _ in range(n)]
            ratio = statistics.median(cpu for cpu, _, _ in runs) / own["yardstick_seconds"]
            found[name][tool] = {"ratio": round(ratio, 2), "says": runs[0][2].strip().splitlines()[-1][:20]}
        for path in pair:
            path.unlink()
    return found


def keep(found: Mapping[str, Any]) -> None:
    """Write the table of the page from what was measured."""
    tools = list(next(iter(found.values())))
    lines = [f"| x 10 columns | {' | '.join(tools)} |", "|---" * (len(tools) + 1) + "|"]
    for name, by_tool in found.items():
        cells = (f"{by_tool[tool]['ratio']:.3g} x, says {_said(by_tool[tool]['says'])}" for tool in tools)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:begin] + "\n".join(lines) + "\n" + text[end:], encoding="utf-8")


def _said(says: Any) -> str:
    return " and ".join(f"{value:g}" for value in says) if isinstance(says, list) else str(says)
