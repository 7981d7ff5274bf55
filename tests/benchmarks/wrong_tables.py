"""Tables that are wrong, moved or many: whole processes with isolation on, in units of the CPU of one that reads both files with pandas.

Both verdicts and the reason are included.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.big_tables import READ, frame, make_case, measured, wide

Change = Callable[[Any], Any]


def one_cell(table: Any) -> Any:
    """The table with one price changed, near its end."""
    table.loc[len(table) * 5 // 6, "price"] = 123456.78
    return table


def two_swapped(table: Any) -> Any:
    """The table with two amounts in each other's rows."""
    first, second = len(table) // 3, len(table) // 2
    table.loc[[first, second], "amount"] = table.loc[[second, first], "amount"].to_numpy()
    return table


def thousand(table: Any) -> Any:
    """The table with a price changed in one row of a thousand."""
    import numpy as np

    rows = np.random.default_rng(5).choice(len(table), len(table) // 1000, replace=False)
    table.loc[rows, "price"] += 1.5
    return table


def moved(table: Any) -> Any:
    """The rows in another order."""
    return table.sample(frac=1, random_state=3)


ANY_ORDER: dict[str, Any] = {"ignore_order": True}
CASES: dict[str, tuple[int, dict[str, Any], Change]] = {
    "60k equal": (60_000, {}, lambda table: table),
    "60k, one cell": (60_000, {}, one_cell),
    "60k, rows moved, any order": (60_000, ANY_ORDER, moved),
    "20k, two cells swapped, any order": (20_000, ANY_ORDER, lambda table: moved(two_swapped(table))),
    "100k, one cell, any order": (100_000, ANY_ORDER, lambda table: moved(one_cell(table))),
    "100k, two cells swapped, any order": (100_000, ANY_ORDER, lambda table: moved(two_swapped(table))),
    "1M, 1,000 rows differ, any order": (1_000_000, ANY_ORDER, lambda table: moved(thousand(table))),
}


def run(scratch: Path, *, n: int = 3) -> dict[str, Any]:
    """Each case: ratio, seconds, peak and verdicts."""
    found = {}
    for at, (name, (n_rows, parameters, change)) in enumerate(CASES.items()):
        table = frame(n_rows)
        folder = scratch / str(at)
        pair = make_case(folder, "table_match", ".csv", parameters)
        table.to_csv(pair[0], index=False)
        change(table.copy()).to_csv(pair[1], index=False)
        found[name] = measured(folder, READ, pair, n)
        for path in pair:
            path.unlink()
    gold, _ = wide()
    folder = scratch / "wide"
    pair = make_case(folder, "table_match", ".csv", {})
    gold.to_csv(pair[0], index=False)
    gold.iloc[500, 1000] += 1
    gold.to_csv(pair[1], index=False)
    found["1,000 x 2,000, one cell"] = measured(folder, READ, pair, n)
    return found | {"50 golds": _golds(scratch / "golds", n)}


def _golds(folder: Path, n: int) -> dict[str, Any]:
    """One answer against 50 golds of 10,000 rows, in units of 50 times the answer against one of them."""
    table = frame(10_000)
    single = measured_case(folder / "one", table, [1], n)
    several = measured_case(folder / "all", table, list(range(50)), n)
    ratio = several["cpu_seconds"] / (50 * single["cpu_seconds"])
    return {"ratio": round(ratio, 3), "cpu_seconds": several["cpu_seconds"], "peak_mib": several["peak_mib"]}


def measured_case(folder: Path, table: Any, seeds: list[int], n: int) -> dict[str, Any]:
    """An answer against golds that each differ in a price."""
    pair = make_case(folder, "table_match", ".csv", {})
    names = [f"t{seed}.csv" for seed in seeds]
    for seed, name in zip(seeds, names, strict=True):
        gold = table.copy()
        gold.loc[100 * seed + 7, "price"] = -1.25
        gold.to_csv(pair[0].parent / name, index=False)
    spec = folder / "gold" / "big_eval.jsonl"
    check = {"func": "table_match", "parameters": {"gold": names}}
    spec.write_text(json.dumps({"instance_id": "big", "evaluation": check}) + "\n")
    table.to_csv(pair[1], index=False)
    return measured(folder, READ, (pair[0].parent / names[0], pair[1]), n)
