"""Random tables with one or two planted causes, and unrelated tables, on which the sentences of `explain` are executed."""

import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_DOWN,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    ROUND_UP,
    Decimal,
)
from typing import Any
from zoneinfo import ZoneInfo

from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Table

Random = random.Random
Change = Callable[[str], str | None]
_TOWNS = ("São Paulo", "New York", "Zürich", "Rio de Janeiro", "Port-au-Prince", "Saint Helena", "Łódź", "Oslo", "Bad Ems", "L'Aquila")
_MODES = (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_HALF_DOWN, ROUND_DOWN, ROUND_FLOOR, ROUND_CEILING, ROUND_UP)


ROW_KINDS = (
    "filter missing", "filter missing", "filter too many", "filter too many", "two filters", "repeated", "some repeated",
    "repeated with others", "totals", "totals", "subtotals", "totals missing", "limit", "join", "one row more", "some missing",
    "columns swapped", "column missing", "scrambled", "order", "finer", "coarser", "NULL group",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Gold, an answer, and what was planted in it, in order."""

    planted: tuple[str, ...]
    gold: Table
    answer: Table


def table(header: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Table:
    """A table of texts."""
    columns = tuple(map(list, zip(*rows, strict=True))) if rows else tuple([] for _ in header)
    return Table(header=tuple(header), columns=columns, n_rows=len(rows))


def table_in_line(text: str, types: Sequence[str] = ()) -> Table:
    """A table of recorded values: rows stand between `/`, cells between `,`; with types its cells are numbers where they can be."""
    header, *rows = [line.split(",") for line in text.split("/")]

    def cell(written: str) -> Any:
        if types and re.fullmatch(r"-?\d+(\.\d+)?", written):
            return float(written) if "." in written else int(written)
        return {"true": True, "false": False}.get(written, written or None) if types else written or None

    made = table(header, [[cell(written) for written in (*row, *[""] * len(header))[: len(header)]] for row in rows])
    return replace(made, types=tuple(types[: len(header)]) if types else None)


def made_gold(random_: Random) -> Table:
    """A small or middle table: a key, categories, numbers of several kinds, days, times, names, truths, some NULLs."""
    n, places = random_.choice([1, 2, 3, 5, 8, 12, 20, 40, 80]), random_.choice([1, 2, 2, 3, 4])
    signed, halves = random_.random() < 0.4, random_.random() < 0.25
    start = datetime(2023, 1, 1)
    ids = random_.sample(range(1000, 9999), n)
    rows = []
    for i in range(n):
        amount = Decimal(random_.randint(1, 10 ** random_.randint(3, 6))).scaleb(-places)
        if halves and random_.random() < 0.6:
            amount = Decimal(random_.randint(0, 60)) + Decimal("0.5")
        amount *= -1 if signed and random_.random() < 0.5 else 1
        day = start + timedelta(days=random_.randrange(700))
        time = day + timedelta(seconds=random_.randrange(86400))
        null = random_.random() < 0.15
        rows.append(
            [
                str(ids[i]),
                random_.choice("NESW"),
                random_.choice(["web", "shop", "phone"]),
                None if null else random_.choice(["0", "3", "12", "40"]),
                format(amount, "f"),
                str(random_.randint(1, 400)),
                f"{random_.random():.4f}",
                day.date().isoformat(),
                time.isoformat(" "),
                f"{random_.choice(_TOWNS)} {chr(65 + i % 26)}",
                random_.choice(["true", "false"]),
            ]
        )
    header = ["id", "region", "channel", "discount", "amount", "quantity", "rate", "day", "at", "town", "paid"]
    kept = [0, *sorted(random_.sample(range(1, len(header)), random_.randint(3, 8)))] if random_.random() < 0.85 else [0, 4, 7]
    order = random_.sample(kept, len(kept)) if random_.random() < 0.3 else kept
    return table([header[k] for k in order], [[row[k] for k in order] for row in rows])


def _number(change: Callable[[Decimal], Decimal]) -> Change:
    return lambda cell: format(change(Decimal(cell)), "f")


def _rounded(exponent: int, mode: str) -> Change:
    def change(cell: str) -> str:
        value = Decimal(cell).quantize(Decimal(1).scaleb(exponent), mode)
        return format(value, "f")

    return change


def _significant(n: int, mode: str) -> Change:
    def change(cell: str) -> str:
        value = Decimal(cell)
        return cell if not value else format(value.quantize(Decimal(1).scaleb(value.adjusted() - n + 1), mode), "f")

    return change


def _floats(exponent: int) -> Change:
    return lambda cell: str(round(float(cell), exponent))


def _turned(cell: str) -> str:
    return cell if int(cell[8:10]) > 12 else f"{cell[:5]}{cell[8:10]}-{cell[5:7]}{cell[10:]}"


def _moved(**shift: int) -> Change:
    def change(cell: str) -> str:
        at = datetime.fromisoformat(cell) + timedelta(**shift)
        return at.isoformat(" ") if len(cell) > 10 else at.date().isoformat()

    return change


def _in_zone(name: str) -> Change:
    return lambda cell: datetime.fromisoformat(f"{cell}+00:00").astimezone(ZoneInfo(name)).replace(tzinfo=None).isoformat(" ")


def _bare(cell: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", cell) if not unicodedata.combining(c))


def value_changes(random_: Random) -> tuple[str, str, Change]:
    """(what is planted, column, the change of a cell), at random."""
    mode, exponent = random_.choice(_MODES), random_.choice([-3, -2, -1, -1, 0, 0, 1, 2])
    numbers = random_.choice(["amount", "amount", "rate", "quantity"])
    factor = Decimal(random_.choice(["1.19", "7", "0.85", "1.1", "3", "-100", "0.333333"]))
    days, shown = (
        random_.choice(["day", "at"]),
        random_.choice(["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%Y%m%d", "%b %d, %Y", "%d %B %Y"]),
    )
    since = 10 ** random_.choice([0, 3])
    return random_.choice(
        [
            *[("rounding", numbers, _rounded(exponent, mode))] * 6,
            *[("significant digits", numbers, _significant(random_.choice([1, 2, 3, 4]), mode))] * 3,
            ("rounded floats", numbers, _floats(random_.choice([0, 1, 2]))),
            ("sign", numbers, _number(lambda v: -v)),
            ("sign and rounding", "amount", _number(lambda v: (-v).quantize(Decimal(1).scaleb(min(exponent, 0)), mode))),
            ("times 100", numbers, _number(lambda v: v * 100)),
            ("percent rounded", "rate", _number(lambda v: (v * 100).quantize(Decimal("0.1"), mode))),
            ("unit", numbers, _number(lambda v: v / 1000)),
            ("unit rounded", "amount", _number(lambda v: (v / 1000).quantize(Decimal("0.01"), mode))),
            ("factor", numbers, _number(lambda v: v * factor)),
            ("factor rounded", numbers, _number(lambda v: (v * factor).quantize(Decimal("0.01"), mode))),
            ("fan-out", "quantity", _number(lambda v: v * 3)),
            ("off by one", "quantity", _number(lambda v: v + 1)),
            ("number in text", numbers, lambda cell: f"${cell}"),
            ("number in text", "amount", lambda cell: cell.replace(".", ",")),
            *[("day and month", days, _turned)] * 3,
            ("day off", "day", _moved(days=random_.choice([1, -1]))),
            ("time zone", "at", _moved(minutes=random_.choice([60, -330, 120, 600]))),
            ("time zone", "at", _in_zone(random_.choice(["Europe/Berlin", "America/New_York"]))),
            ("time cut off", "at", lambda cell: cell[:random_cut] if (random_cut := 10) else cell),
            ("time cut off", "at", lambda cell: f"{cell[:14]}00:00"),
            ("time cut off", "day", lambda cell: cell[:7]),
            ("epoch time", "at", lambda cell: str(int((datetime.fromisoformat(cell) - datetime(1970, 1, 1)).total_seconds()) * since)),
            *[("date form", "day", lambda cell: datetime.fromisoformat(cell).strftime(shown))] * 2,
            ("case", "town", random_.choice([str.upper, str.lower])),
            ("spaces", "town", lambda cell: cell.replace(" ", random_.choice(["_", "-", "  "]))),
            ("case and spaces", "town", lambda cell: cell.upper().replace(" ", "_")),
            ("accents", "town", _bare),
            ("accents and case", "town", lambda cell: _bare(cell).lower()),
            ("quotes", "town", lambda cell: f'"{cell}"'),
            ("punctuation", "town", lambda cell: f"{cell}."),
            ("encoding", "town", lambda cell: cell.encode().decode("latin-1")),
            ("characters lost", "town", lambda cell: cell.encode("ascii", "ignore").decode()),
            ("true and false", "paid", lambda cell: {"true": "yes", "false": "no"}[cell]),
            ("inverted", "paid", lambda cell: {"true": "false", "false": "true"}[cell]),
            ("value lost", numbers, lambda _: ""),
            ("NULL to 0", "discount", lambda cell: cell or "0"),
            ("0 to NULL", "discount", lambda cell: "" if cell == "0" else cell),
            ("NULL word", "discount", lambda cell: cell or "unknown"),
            ("default value", "discount", lambda cell: cell or "99"),
        ]
    )


def plant_values(random_: Random, answer: Table, column: str, change: Change, *, all_cells: bool) -> Table | None:
    """The table with a change in all cells of a column, or in some of them; None where it does not have the column."""
    if column not in answer.header:
        return None
    k, some = answer.header.index(column), not all_cells and random_.random() < 0.25
    cells = []
    for cell in answer.columns[k]:
        touched = (not some or random_.random() < 0.6) and (cell is not None or column == "discount")
        try:
            cells.append(change(cell or "") if touched else cell)
        except (ArithmeticError, ValueError, KeyError):
            # Another cause was planted here before.
            return None
    return replace(answer, columns=(*answer.columns[:k], cells, *answer.columns[k + 1 :]))


def _with(source: Table, rows: Sequence[Sequence[str | None]]) -> Table:
    return table(source.header, rows)


def plant_rows(random_: Random, gold: Table) -> tuple[str, Table, Table] | None:
    """(what is planted, gold, answer) with rows made wrong; None where this gold cannot have it."""
    rows = [list(row) for row in zip(*gold.columns, strict=True)]
    if len(rows) < 3:
        return None
    kind = random_.choice(ROW_KINDS)
    shuffled = random_.sample(rows, len(rows))
    answer: Sequence[Sequence[str | None]] = rows
    names = {name: k for k, name in enumerate(gold.header)}
    if kind in ("filter missing", "filter too many", "two filters"):
        meets = _filter(random_, gold)
        if kind == "two filters":
            one, other = meets, _filter(random_, gold)
            meets = lambda row: one(row) and other(row)  # noqa: E731
        some = [row for row in rows if meets(row)]
        if not 0 < len(some) < len(rows):
            return None
        return (kind, _with(gold, some), gold) if random_.random() < 0.5 else (kind, gold, _with(gold, some))
    if kind == "repeated":
        answer = [row for row in rows for _ in range(2)]
    elif kind == "some repeated":
        answer = [*rows, *random_.sample(rows, random_.randint(1, len(rows) - 1))]
    elif kind == "repeated with others" and len(gold.header) > 2:
        answer = [*rows, *([row[0], *random_.choice(rows)[1:]] for row in random_.sample(rows, 2))]
    elif kind in ("totals", "totals missing", "subtotals"):
        return _with_totals(random_, kind, gold, names)
    elif kind == "limit":
        answer = rows[: random_.randint(1, len(rows) - 1)]
    elif kind == "join" and "town" in names:
        gone = set(random_.sample([row[names["town"]][:3] for row in rows if row[names["town"]]], 1))
        answer = [row for row in rows if (row[names["town"]] or "")[:3] not in gone]
    elif kind == "one row more":
        answer = [*rows, [f"{cell}9" if cell and cell.isdecimal() else cell for cell in random_.choice(rows)]]
    elif kind == "some missing":
        answer = random_.sample(rows, random_.randint(1, len(rows) - 1))
    elif kind == "columns swapped" and {"amount", "rate"} <= set(names):
        for row in (answer := [list(row) for row in rows]):
            if random_.random() < 0.5:
                row[names["amount"]], row[names["rate"]] = row[names["rate"]], row[names["amount"]]
    elif kind == "column missing" and len(gold.header) > 2:
        gone_k = random_.choice([k for k, name in enumerate(gold.header) if name != "id"])
        header = [name for k, name in enumerate(gold.header) if k != gone_k]
        return kind, gold, table(header, [[cell for k, cell in enumerate(row) if k != gone_k] for row in rows])
    elif kind == "scrambled":
        k = random_.randrange(len(gold.header))
        answer = [[*row[:k], other[k], *row[k + 1 :]] for row, other in zip(rows, [*rows[1:], rows[0]], strict=True)]
    elif kind == "order":
        answer = shuffled
    elif kind in ("finer", "coarser", "NULL group"):
        return _grouped(random_, kind, names, rows)
    return kind, gold, _with(gold, answer)


def _filter(random_: Random, gold: Table) -> Callable[[Sequence[str | None]], bool]:
    k = random_.randrange(len(gold.header))
    name, value = gold.header[k], random_.choice(gold.columns[k])
    if value is None:
        return lambda row: row[k] is None
    if name in ("amount", "quantity", "rate"):
        low, up = Decimal(value), random_.random() < 0.5
        return lambda row: (Decimal(row[k] or 0) > low) is up
    if name in ("day", "at"):
        return lambda row: (row[k] or "") >= value
    if name == "town":
        return random_.choice([lambda row: (row[k] or "").startswith(value[:4]), lambda row: (row[k] or "").endswith(value[-1])])
    wanted = {value, random_.choice(gold.columns[k])}
    return lambda row: row[k] in wanted


def _groups(
    rows: Sequence[Sequence[str | None]], keys: Sequence[int], numbers: Sequence[int]
) -> dict[tuple[str | None, ...], list[Decimal]]:
    found: dict[tuple[str | None, ...], list[Decimal]] = {}
    for row in rows:
        sums = found.setdefault(tuple(row[k] for k in keys), [Decimal(0)] * len(numbers))
        for i, k in enumerate(numbers):
            sums[i] += Decimal(row[k] or 0)
    return found


def _with_totals(random_: Random, kind: str, gold: Table, names: dict[str, int]) -> tuple[str, Table, Table] | None:
    if not {"region", "channel", "amount"} <= set(names):
        return None
    keys, numbers = [names["region"], names["channel"]], [k for name, k in names.items() if name in ("amount", "quantity")]
    header = ["region", "channel", *(gold.header[k] for k in numbers)]
    rows = list(zip(*gold.columns, strict=True))
    means = random_.random() < 0.2
    divisor = Decimal(random_.choice([3, 7])) if means else Decimal(1)

    def written(sums: Sequence[Decimal]) -> list[str | None]:
        return [format((value / divisor).quantize(Decimal("0.01")) if means else value, "f") for value in sums]

    fine = [[*key, *written(sums)] for key, sums in _groups(rows, keys, numbers).items()]
    label: str | None = random_.choice([None, None, "", "Total"])
    whole = [[label, label, *written(sums)] for sums in _groups(rows, [], numbers).values()]
    halves = [[key[0], label, *written(sums)] for key, sums in _groups(rows, keys[:1], numbers).items()]
    more = [*fine, *(halves if kind == "subtotals" else []), *(whole if kind != "subtotals" or random_.random() < 0.7 else [])]
    sides = table(header, fine), table(header, more)
    return (f"{kind} of means" if means else kind, *(sides[::-1] if kind == "totals missing" else sides))


def _grouped(random_: Random, kind: str, names: dict[str, int], rows: Sequence[Sequence[str | None]]) -> tuple[str, Table, Table] | None:
    if not {"region", "channel", "amount"} <= set(names):
        return None
    numbers = [names["amount"]]
    fine = [[*key, format(sums[0], "f")] for key, sums in _groups(rows, [names["region"], names["channel"]], numbers).items()]
    coarse = [[*key, format(sums[0], "f")] for key, sums in _groups(rows, [names["region"]], numbers).items()]
    fine_table, coarse_table = table(["region", "channel", "amount"], fine), table(["region", "amount"], coarse)
    if kind == "NULL group":
        more = [*coarse, [None, format(Decimal(random_.randint(1, 99999)).scaleb(-2), "f")]]
        sides = coarse_table, table(["region", "amount"], more)
        return kind, *(sides if random_.random() < 0.5 else sides[::-1])
    return (kind, coarse_table, fine_table) if kind == "finer" else (kind, fine_table, coarse_table)


def cases(n: int, seed: object) -> Iterator[Case]:
    """n random cases of one planted cause or two; the answer differs from gold in a cell at least."""
    random_ = Random(f"planted {seed}")
    while n:
        gold = made_gold(random_)
        answer, planted = gold, list[str]()
        if random_.random() < 0.4 and (found := plant_rows(random_, gold)) is not None:
            planted, (gold, answer) = [found[0]], found[1:]
        # Two causes of rows without a key cannot be told apart.
        wanted = random_.choice([1, 1, 1, 2]) if "id" in gold.header else 1
        for _ in range(200):
            if len(planted) >= wanted:
                break
            name, column, change = value_changes(random_)
            if (made := plant_values(random_, answer, column, change, all_cells=bool(planted))) is None:
                continue
            answer, planted = made, [*planted, name]
        if answer.columns != gold.columns:
            n -= 1
            yield Case(tuple(planted), gold, answer)


def unrelated(n: int, seed: object) -> Iterator[Case]:
    """n pairs of tables of the same columns that were made independently; some have the same keys."""
    random_ = Random(f"unrelated {seed}")
    while n:
        gold, answer = made_gold(random_), made_gold(random_)
        names = [name for name in gold.header if name in answer.header and (name != "id" or random_.random() < 0.5)]
        names = random_.sample(names, random_.randint(1, len(names))) if names else []
        if not names:
            continue
        rows = random_.choice([None, min(gold.n_rows, answer.n_rows)])
        sides = []
        for one in (gold, answer):
            columns = [one.columns[one.header.index(name)][:rows] for name in names]
            sides.append(table(names, list(zip(*columns, strict=True))))
        if "id" in names and sides[0].n_rows == sides[1].n_rows:
            k = names.index("id")
            sides[1] = replace(sides[1], columns=tuple(sides[0].columns[k] if i == k else c for i, c in enumerate(sides[1].columns)))
        if sides[0].columns != sides[1].columns:
            n -= 1
            yield Case((), sides[0], sides[1])


_SMALL: dict[str, Callable[[Random], str | None]] = {
    "region": lambda r: r.choice("NESW"),
    "channel": lambda r: r.choice(["web", "shop", "phone"]),
    "country": lambda r: r.choice(["Germany", "France", "Spain", "Italy", "Poland", "Norway", "Sweden", "Austria"]),
    "count": lambda r: str(r.randint(0, 20)),
    "rank": lambda r: str(r.randint(1, 5)),
    "amount": lambda r: f"{r.randint(1, 9999) / 100:.2f}",
    "year": lambda r: str(r.randint(2019, 2024)),
    "day": lambda r: f"2024-{r.randint(1, 12):02}-{r.randint(1, 28):02}",
    "paid": lambda r: r.choice(["true", "false"]),
    "one": lambda _: "7",
    "note": lambda r: r.choice([None, "x", "late"]),
}


def _small_rows(random_: Random, names: Sequence[str], n: int, *, keyed: bool) -> list[list[str | None]]:
    """At most n rows of 1 to 3 columns; `keyed`: no two with the same first cell."""
    rows = [[_SMALL[name](random_) for name in names] for _ in range(n if not keyed else 4 * n)]
    return list({row[0]: row for row in rows}.values())[:n] if keyed else rows


def unrelated_small(n: int, seed: object) -> Iterator[Case]:
    """n pairs of tables of 1 to 3 columns and 1 to 9 rows, made independently over the same few values."""
    random_ = Random(f"small {seed}")
    while n:
        names, keyed = random_.sample(list(_SMALL), random_.randint(1, 3)), random_.random() < 0.5
        n_gold = random_.choice([1, 2, 3, 4, 6, 9])
        n_answer = n_gold if random_.random() < 0.6 else random_.choice([1, 2, 3, 4, 6, 9])
        gold, answer = (table(names, _small_rows(random_, names, size, keyed=keyed)) for size in (n_gold, n_answer))
        if gold.columns != answer.columns:
            n -= 1
            yield Case(("order",) if random_.random() < 0.3 else (), gold, answer)


def edited_small(n: int, seed: object) -> Iterator[Case]:
    """n small tables and the same with one edit that means nothing: a row more or less, or another cell."""
    random_ = Random(f"edited {seed}")
    while n:
        names = random_.sample(list(_SMALL), random_.randint(1, 3))
        rows = _small_rows(random_, names, random_.choice([2, 3, 4, 6, 9]), keyed=random_.random() < 0.5)
        edited, i, k = [list(row) for row in rows], random_.randrange(len(rows)), random_.randrange(len(names))
        kind = random_.choice(["row more", "row less", "cell"])
        if kind == "row more":
            edited[i:i] = _small_rows(random_, names, 1, keyed=False)
        elif kind == "row less":
            edited.pop(i)
        else:
            edited[i][k] = _SMALL[names[k]](random_)
        if edited != rows and edited:
            n -= 1
            yield Case((kind,), table(names, rows), table(names, edited))
