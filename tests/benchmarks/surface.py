"""The cost of `table_match` as a surface: kinds of difference x order x rows x columns, in units of pandas reading both files.

Both verdicts and the reason are included, and the margin if a run computes it; imports and start are not, on either side. Every point is
scored in a process of its own, which also gives the peak memory. `EVALSUITE_SURFACE=60000x10,1000000x3` selects sizes,
`EVALSUITE_SURFACE_KINDS=equal,shuffled` kinds.
"""

import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.big_tables import frame

MOST, MEDIAN, FREE_SECONDS = 6.0, 3.0, 0.003
SIZES = "1000x3,1000x10,1000x200,60000x3,60000x10,60000x200,1000000x3,1000000x10"

Tables = tuple[Any, Any]
Kind = Callable[[Any], Tables]


def _random() -> Any:
    import numpy as np

    return np.random.default_rng(3)


def table_of(n_rows: int, n_columns: int) -> Any:
    """A table of this size: integers, texts, dates and numbers of all sizes, in turn."""
    import pandas as pd

    if n_columns == 3:
        return frame(n_rows)[["key", "city", "price"]]
    blocks = [frame(n_rows, seed=7 + at).add_suffix(f"_{at}" if at else "") for at in range(n_columns // 10)]
    return pd.concat(blocks, axis=1)


def _texts(table: Any) -> list[str]:
    return [name for name in table.columns if name.startswith(("city", "code"))]


def _numbers(table: Any) -> list[str]:
    return [name for name in table.columns if name.startswith(("price", "amount", "ratio", "score"))]


def _integers(table: Any) -> list[str]:
    return [name for name in table.columns if name.startswith(("id", "key", "qty"))]


def _with(table: Any, names: list[str], change: Callable[[Any], Any]) -> Any:
    return table.assign(**{name: change(table[name]) for name in names})


def _cell(table: Any) -> Any:
    changed = table.copy()
    changed.loc[len(table) * 5 // 6, _numbers(table)[0]] = 123456.78
    return changed


def _some(table: Any, share: float) -> Any:
    """The table with a number changed in a share of its rows."""
    changed, rows = table.copy(), _random().choice(len(table), max(1, int(len(table) * share)), replace=False)
    changed.loc[rows, _numbers(table)[0]] += 1.5
    return changed


def _swapped(table: Any) -> Any:
    changed, name, (a, b) = table.copy(), _numbers(table)[0], (len(table) // 3, len(table) // 2)
    changed.loc[[a, b], name] = changed.loc[[b, a], name].to_numpy()
    return changed


def _moved(table: Any) -> Any:
    return table.iloc[_random().permutation(len(table))]


def _rounded(table: Any) -> Any:
    return _with(table, _numbers(table), lambda column: column.round(1))


def _jittered(table: Any) -> Any:
    return _with(table, _numbers(table), lambda column: column * (1 + _random().uniform(-5e-10, 5e-10, len(column))))


def _scrambled(table: Any) -> Any:
    name = _numbers(table)[0]
    return table.assign(**{name: _random().permutation(table[name].to_numpy())})


def _empty(table: Any, word: str) -> Any:
    """Every tenth number is NULL, written as `word`."""
    name = _numbers(table)[0]
    return table.assign(**{name: table[name].astype(str).mask(_random().random(len(table)) < 0.1, word)})


def _lines(table: Any) -> Any:
    return _with(table, _texts(table), lambda column: column + "\nsecond line, with a comma")


def _long(table: Any) -> Any:
    return _with(table, _texts(table)[:1], lambda column: column.str.repeat(40))


# A kind gives (gold, answer) from a table.
KINDS: dict[str, Kind] = {
    "equal": lambda table: (table, table),
    "one cell": lambda table: (table, _cell(table)),
    "one row in a thousand": lambda table: (table, _some(table, 0.001)),
    "one row in ten": lambda table: (table, _some(table, 0.1)),
    "two cells swapped": lambda table: (table, _swapped(table)),
    "one column off": lambda table: (table, _with(table, _numbers(table)[:1], lambda column: column + 1)),
    "one column scrambled": lambda table: (table, _scrambled(table)),
    "rows moved": lambda table: (table, _moved(table)),
    "rows moved, one cell": lambda table: (table, _moved(_cell(table))),
    "rounded": lambda table: (table, _rounded(table)),
    "moved and rounded": lambda table: (table, _moved(_rounded(table))),
    "jittered": lambda table: (table, _jittered(table)),
    "moved and jittered": lambda table: (table, _moved(_jittered(table))),
    "extra rows": lambda table: (table.iloc[: len(table) * 9 // 10], table),
    "missing rows": lambda table: (table, table.iloc[: len(table) * 9 // 10]),
    "rows twice": lambda table: (table, table.iloc[sorted([*range(len(table)), *range(0, len(table), 10)])[: len(table)]]),
    "columns permuted": lambda table: (table, table[table.columns[::-1]]),
    "columns permuted, rows moved": lambda table: (table, _moved(table[table.columns[::-1]])),
    "columns renamed": lambda table: (table, table.set_axis([f"x{at}" for at in range(table.shape[1])], axis=1)),
    "extra column": lambda table: (table, table.assign(more=range(len(table)))),
    "missing column": lambda table: (table, table[table.columns[:-1]]),
    "integers as floats": lambda table: (table, _with(table, _integers(table), lambda column: column.astype(float))),
    "thousands separators": lambda table: (table, _with(table, _integers(table), lambda column: column.map("{:,}".format))),
    "numbers as money": lambda table: (table, _with(table, _numbers(table), lambda column: column.map("${:.2f}".format))),
    "shares as percent": lambda table: (table, _with(table, _numbers(table)[:1], lambda column: column * 100)),
    "sign flipped": lambda table: (table, _with(table, _numbers(table)[:1], lambda column: -column)),
    "newlines in cells": lambda table: (_lines(table), _lines(table)),
    "newlines in cells, moved": lambda table: (_lines(table), _moved(_lines(table))),
    "long texts": lambda table: (_long(table), _with(_long(table), _texts(table)[:1], lambda column: column + " and more")),
    "upper case": lambda table: (table, _with(table, _texts(table), lambda column: column.str.upper())),
    "spaces around texts": lambda table: (table, _with(table, _texts(table), lambda column: " " + column + " ")),
    "dates in another form": lambda table: (_dates(table, "%Y-%m-%d"), _dates(table, "%d %b %Y")),
    "NULL spellings": lambda table: (_empty(table, ""), _empty(table, "NULL")),
    "unrelated": lambda table: (
        table,
        _with(_scrambled(table), _numbers(table), lambda column: _random().random(len(column))),
    ),
}


def _dates(table: Any, form: str) -> Any:
    import pandas as pd

    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(table[_integers(table)[0]] % 1000, unit="D")
    return table.assign(when=days.dt.strftime(form))


def in_child(work: Callable[[], Any]) -> dict[str, Any]:
    """The CPU seconds of a function in a forked process, its peak MiB above what the fork had, and what it returned (JSON)."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read)
            before, started = _mib("VmRSS"), time.process_time()
            value = work()
            report = {"seconds": time.process_time() - started, "mib": _mib("VmHWM") - before, "value": value}
            os.write(write, json.dumps(report).encode()[:60_000])
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(text)  # type: ignore[no-any-return]


def _mib(name: str) -> float:
    return int(Path("/proc/self/status").read_text().split(f"{name}:")[1].split()[0]) / 1024


def point(folder: Path, kind: str, n_rows: int, n_columns: int, n: int) -> dict[str, dict[str, Any]]:
    """The ratio, seconds, peak and verdicts of a kind at a size, by order."""
    import pandas as pd

    import evalsuite
    from evalsuite.compare.messages import cheap_margins

    gold, answer = (folder / name for name in ("gold.csv", "answer.csv"))
    tables = KINDS[kind](table_of(n_rows, n_columns))
    for table, path, options in zip(
        tables, (gold, answer), ({}, {"quoting": 1, "lineterminator": "\r\n"} if kind == "equal" else {}), strict=True
    ):
        table.to_csv(path, index=False, **options)

    def read() -> None:
        for path in (gold, answer):
            pd.read_csv(path, low_memory=False)

    def verdict(ignore_order: bool) -> Any:
        with cheap_margins():
            found = evalsuite.score("table_match", str(answer), gold=str(gold), ignore_order=ignore_order)
        return [found.official, found.strict, found.reason[:160]]

    yardstick = statistics.median(in_child(read)["seconds"] for _ in range(n))
    found = {}
    for order, ignores in (("ordered", False), ("any order", True)):
        runs = [in_child(lambda ignores=ignores: verdict(ignores)) for _ in range(n)]  # type: ignore[misc]
        seconds = statistics.median(one["seconds"] for one in runs)
        ratio = max(0.0, seconds - FREE_SECONDS) / yardstick
        found[order] = {"ratio": round(ratio, 2), "seconds": round(seconds, 3), "mib": round(runs[0]["mib"]), "value": runs[0]["value"]}
    return found


def _warm(scratch: Path) -> None:
    """Import everything that a comparison needs, so that no point pays for it."""
    import pandas as pd

    import evalsuite

    gold, answer, table = scratch / "gold.csv", scratch / "answer.csv", table_of(12_000, 3)
    for kind in ("equal", "one cell", "moved and jittered", "unrelated", "dates in another form", "integers as floats"):
        for frame_, path in zip(KINDS[kind](table), (gold, answer), strict=True):
            frame_.to_csv(path, index=False)
            pd.read_csv(path, low_memory=False)
        for ignores in (False, True):
            evalsuite.score("table_match", str(answer), gold=str(gold), ignore_order=ignores)


def run(scratch: Path, *, n: int = 1) -> dict[str, Any]:
    """Each point of the surface, the median ratio, the largest one and the ten worst points."""
    sizes = [tuple(map(int, size.split("x"))) for size in os.environ.get("EVALSUITE_SURFACE", SIZES).split(",")]
    kinds = os.environ.get("EVALSUITE_SURFACE_KINDS", ",".join(KINDS)).split(",")
    kinds = [kind for kind in KINDS if kind in kinds or kind.split(",")[0] in kinds]
    _warm(scratch)
    points = {}
    for n_rows, n_columns in sizes:
        for kind in kinds:
            for order, found in point(scratch, kind, n_rows, n_columns, n).items():
                points[f"{n_rows} x {n_columns}, {kind}, {order}"] = found
    worst = sorted(points, key=lambda name: -points[name]["ratio"])[:10]
    ratios = [found["ratio"] for found in points.values()]
    return {
        "points": {name: [found["ratio"], found["mib"]] for name, found in points.items()},
        "median": round(statistics.median(ratios), 2),
        "largest": max(ratios),
        "worst": {name: points[name] for name in worst},
    }
