"""Execute the sentences of `explain` on rows: conditions, repeated rows, totals, joins, order, groups."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from evalsuite.core.types import Table
from tests.analysis.explain.stated_values import near, number
from tests.models import strict_table

Cell = str | None
Row = tuple[Cell, ...]
_PART = re.compile(
    r"(?:(?P<column>'(?:[^'\\]|\\.)*') )?(?:is |(?=begins|ends|contains))?"
    r"(?P<verb>not NULL|NULL|one of|none of|not|at least|at most|more than|less than|before|begins with|ends with|contains)? ?"
    r"(?P<rest>column '(?:[^'\\]|\\.)*'|(?:(?:'(?:[^'\\]|\\.)*'|\"[^\"]*\"|NULL)(?:, )?)*)"
)


def rows_of(table: Table) -> list[Row]:
    """The rows of a table."""
    return list(zip(*table.columns, strict=True)) if table.columns else []


def plain(cell: Cell) -> Any:
    """A cell as something that is equal for equal cells."""
    meaning = strict_table.meaning(cell)
    return meaning.replace(tzinfo=None) if isinstance(meaning, datetime) else meaning


def same(a: Cell, b: Cell) -> bool:
    """Whether two cells are equal."""
    x, y = plain(a), plain(b)
    return near(x, y) if isinstance(x, Fraction) and isinstance(y, Fraction) else bool(x == y)


def condition(words: str, header: Sequence[str]) -> Callable[[Row], bool]:
    """A condition in words as a function of a row. Raises LookupError for one that cannot be executed."""
    tests: list[Callable[[Row], bool]] = []
    column, at = "", 0
    while at < len(words):
        match = _PART.match(words, at)
        if match is None or match.end() == at:
            raise LookupError(words[at:])
        column = match["column"] or column
        tests.append(_test(header.index(_text(column) or ""), match["verb"] or "", match["rest"], header))
        at = match.end()
        if at < len(words):
            if not words.startswith(" and ", at):
                raise LookupError(words[at:])
            at += len(" and ")
    return lambda row: all(test(row) for test in tests)


def _text(shown: str) -> Cell:
    return None if shown == "NULL" else str(eval(shown, {}, {}))


def _test(k: int, verb: str, rest: str, header: Sequence[str]) -> Callable[[Row], bool]:
    if verb in ("NULL", "not NULL"):
        return lambda row: (plain(row[k]) is None) is (verb == "NULL")
    if rest.startswith("column "):
        other = header.index(_text(rest.removeprefix("column ")) or "")
        return lambda row: _compared(verb, plain(row[k]), plain(row[other]))
    values = [_text(one) for one in re.findall(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|NULL", rest)]
    if not values:
        raise LookupError(rest)
    if verb in ("one of", "none of"):
        return lambda row: any(same(row[k], value) for value in values) is (verb == "one of")
    if verb in ("begins with", "ends with", "contains"):
        part = values[0] or ""
        checks = {"begins with": str.startswith, "ends with": str.endswith, "contains": str.__contains__}
        return lambda row: row[k] is not None and bool(checks[verb](row[k] or "", part))
    return lambda row: _compared(verb, plain(row[k]), plain(values[0]))


def _compared(verb: str, a: Any, b: Any) -> bool:
    if verb in ("", "not"):
        return (a == b) is (verb == "")
    if a is None or b is None or type(a) is not type(b):
        return False
    return bool({"at least": a >= b, "at most": a <= b, "more than": a > b, "less than": a < b, "before": a < b}[verb])


class Sides:
    """Gold and an answer; rows of the answer are those of gold with the same `id`, where both have one, else those with equal cells."""

    def __init__(self, gold: Table, answer: Table) -> None:
        self.gold, self.answer = gold, answer
        self.common = [(gold.header.index(name), k) for k, name in enumerate(answer.header) if name in gold.header]
        ids = [(j, k) for j, k in self.common if gold.header[j] == "id"]
        chosen = ids or self.common
        self.golds = [tuple(plain(row[j]) for j, _ in chosen) for row in rows_of(gold)]
        self.answers = [tuple(plain(row[k]) for _, k in chosen) for row in rows_of(answer)]

    @property
    def extra(self) -> list[Row]:
        """The answer's rows beyond gold's."""
        return self._beyond(self.answers, self.golds, self.answer)

    @property
    def missing(self) -> list[Row]:
        """Gold's rows that the answer lacks."""
        return self._beyond(self.golds, self.answers, self.gold)

    @property
    def wanted(self) -> list[Row]:
        """The answer's rows that gold has."""
        known = set(self.golds)
        return [row for row, name in zip(rows_of(self.answer), self.answers, strict=True) if name in known]

    @property
    def there(self) -> list[Row]:
        """Gold's rows that the answer has."""
        known = set(self.answers)
        return [row for row, name in zip(rows_of(self.gold), self.golds, strict=True) if name in known]

    @staticmethod
    def _beyond(own: Sequence[Any], others: Sequence[Any], table: Table) -> list[Row]:
        left, found = Counter(others), []
        for row, name in zip(rows_of(table), own, strict=True):
            left[name] -= 1
            if left[name] < 0:
                found.append(row)
        return found


def _told_apart(words: str, table: Table, inside: Sequence[Row], outside: Sequence[Row]) -> bool:
    meets = condition(words, table.header)
    return bool(inside) and all(map(meets, inside)) and not any(map(meets, outside))


def _n(match: re.Match[str]) -> int:
    return 1 if match["n"] == "one" else int(match["n"])


def _filter_missing(m: re.Match[str], s: Sides) -> bool:
    return len(s.extra) == _n(m) and _told_apart(m["words"], s.answer, s.extra, s.wanted)


def _filter_missing_by_others(m: re.Match[str], s: Sides) -> bool:
    return len(s.extra) == _n(m) and _told_apart(m["words"], s.answer, s.wanted, s.extra)


def _filter_too_many(m: re.Match[str], s: Sides) -> bool:
    at_end = "the last ones" not in m[0] or s.golds[: len(s.answers)] == s.answers or set(s.golds[-_n(m) :]).isdisjoint(s.answers)
    return at_end and len(s.missing) == _n(m) and _told_apart(m["words"], s.gold, s.missing, s.there)


def _filter_too_many_by_others(m: re.Match[str], s: Sides) -> bool:
    return len(s.missing) == _n(m) and _told_apart(m["words"], s.gold, s.there, s.missing)


def _whole_values(rows: Sequence[Row], others: Sequence[Row], k: int, n: int) -> bool:
    own, rest = {plain(row[k]) for row in rows}, {plain(row[k]) for row in others}
    return len(own) == n and not own & rest


def _every_row(m: re.Match[str], s: Sides) -> bool:
    golds, answers = Counter(s.golds), Counter(s.answers)
    once = m["often"] is not None or max(golds.values()) == 1
    return once and len(s.extra) == _n(m) and all(answers[name] == int(m["times"]) * count for name, count in golds.items())


def _more_often(m: re.Match[str], s: Sides) -> bool:
    return len(s.answers) - len(s.golds) == _n(m) and set(s.answers) <= set(s.golds) and not s.missing


def _repeated(m: re.Match[str], s: Sides) -> bool:
    j = int(m["column"]) - 1
    counts = Counter(plain(cell) for cell in s.gold.columns[j])
    k = next(k for a, k in s.common if a == j)
    return len(s.extra) == _n(m) and all(counts[plain(row[k])] == 1 for row in s.extra)


def _totals(m: re.Match[str], s: Sides, *, of_gold: bool) -> bool:
    table, rows, others = (s.gold, s.missing, s.there) if of_gold else (s.answer, s.extra, s.wanted)
    if len(rows) != _n(m):
        return False
    header = table.header
    keys = [header.index(_text(name) or "") for name in re.findall(r"'[^']*'", m["keys"] or "")]
    ways: dict[str, Callable[[list[Fraction]], Fraction]] = {
        "sum": lambda v: sum(v, Fraction(0)), "maximum": max, "minimum": min, "mean": lambda v: sum(v, Fraction(0)) / len(v),
        "sum but for rounding": lambda v: sum(v, Fraction(0)),
    }  # fmt: skip
    for name, way in re.findall(r"('[^']*') is the (sum but for rounding|\w+)", m["sums"]):
        k = header.index(_text(name) or "")
        for row in rows:
            group = [one for one in others if all(_open(row[c]) or plain(one[c]) == plain(row[c]) for c in keys)]
            values = [number(one[k]) for one in group if plain(one[k]) is not None]
            away = abs(ways[way](values) - number(row[k])) if values else 1
            if not values or away > (Fraction(len(values) + 1, 20) if "rounding" in way else Fraction(1, 10**6)):
                return False
    return True


def _open(cell: Cell) -> bool:
    return plain(cell) is None or re.search(r"(?i)\b(total|subtotal|all|sum|overall)\b", cell or "") is not None


def _stand_for(m: re.Match[str], s: Sides, *, of_gold: bool) -> bool:
    table, rows, others = (s.gold, s.missing, s.there) if of_gold else (s.answer, s.extra, s.wanted)
    n_told = 0
    for held, left in re.findall(
        r"one(?: for each ((?:'[^']*'(?: and )?)+))? with NULL or a label in ((?:'[^']*'(?: and )?)+)", m["places"]
    ):
        own = [table.header.index(name) for name in re.findall(r"'([^']*)'", held)]
        unheld = [table.header.index(name) for name in re.findall(r"'([^']*)'", left)]
        here = [row for row in rows if all(_open(row[k]) for k in unheld) and not any(_open(row[k]) for k in own)]
        if Counter(tuple(row[k] for k in own) for row in here) != Counter({tuple(row[k] for k in own) for row in others}):
            return False
        n_told += len(here)
    return n_told == _n(m) == len(rows)


def _tied(m: re.Match[str], s: Sides) -> bool:
    j = int(m["column"]) - 1
    k = next(k for a, k in s.common if a == j)
    rows = Sides._beyond(*([tuple(map(plain, row)) for row in rows_of(t)] for t in (s.answer, s.gold)), s.answer)
    last = s.gold.columns[j][-1]
    return len(rows) == _n(m) and all(same(row[k], last) for row in rows) and same(last, _text(m["value"]))


def _exchanged(m: re.Match[str], s: Sides) -> bool:
    names = [_text(m["one"]) or "", _text(m["other"]) or ""]
    a, b = (s.gold.header.index(name) for name in names)
    x, y = (s.answer.header.index(name) for name in names)
    golds = dict(zip(s.golds, rows_of(s.gold), strict=True))
    wrong = [(golds[name], row) for name, row in zip(s.answers, rows_of(s.answer), strict=True) if name in golds]
    wrong = [(g, p) for g, p in wrong if not (same(g[a], p[x]) and same(g[b], p[y]))]
    return len(wrong) == _n(m) and all(same(g[a], p[y]) and same(g[b], p[x]) for g, p in wrong)


def _same_columns(m: re.Match[str], s: Sides) -> bool:
    bags = [
        [Counter(map(plain, table.columns[i])) for i in side]
        for table, side in zip((s.gold, s.answer), zip(*s.common, strict=True), strict=True)
    ]
    rows = [Counter(tuple(map(plain, row)) for row in rows_of(table)) for table in (s.gold, s.answer)]
    return bags[0] == bags[1] and rows[0] != rows[1]


def _grouped(m: re.Match[str], s: Sides) -> bool:
    fine, coarse = (s.answer, s.gold) if "finely" in m[0] else (s.gold, s.answer)
    names, said = re.findall(r"column \d+ '([^']*)'", m["by"] or ""), m["ways"] or m["ways2"]
    ways: dict[str, Callable[[list[Fraction]], Fraction]] = {"sum": lambda v: sum(v, Fraction(0)), "maximum": max, "minimum": min}
    sides = [[table.header.index(name) for name in names] for table in (fine, coarse)]
    for k, name in enumerate(coarse.header):
        if name in names or name not in fine.header:
            continue
        told = [way for way in ways if way in said]
        for row in rows_of(coarse):
            key = [plain(row[i]) for i in sides[1]]
            values = [number(one[fine.header.index(name)]) for one in rows_of(fine) if [plain(one[i]) for i in sides[0]] == key]
            if not values or not any(near(ways[way](values), number(row[k])) for way in told):
                return False
    return (len(s.answers), len(s.golds)) == (int(m["own"]), int(m["golds"]))


_IN_EACH, _BESIDE = r"(?P<words>.*) in each of them and in no wanted row", r"(?P<words>.*) in each wanted row, and in none of them"
_GONE = r"(?P<words>.*) in each of them and in no row that is present"
_TOTALS = r"(?P<sums>'.*) over (?:all other rows|the other rows with the same (?P<keys>.*), where NULL or a label means all)"
_SUBTOTALS = r"(?:is the total|are totals|is a subtotal|are subtotals) of the others(?:, as ROLLUP adds them)?"
STATEMENTS: list[tuple[str, Callable[[re.Match[str], Sides], bool]]] = [
    (rf"(?P<n>\d+) extra rows (?:share one value of|meet one condition on) column \d+: a filter is missing: {_IN_EACH}", _filter_missing),
    (
        rf"(?P<n>\d+) extra rows fail a condition on column \d+ that all wanted rows meet: a filter is missing: {_BESIDE}",
        _filter_missing_by_others,
    ),
    (
        r"(?P<n>\d+) extra rows are all those of (?P<m>\d+) values of column (?P<k>\d+), which no wanted row has: a join is missing: .*",
        lambda m, s: len(s.extra) == _n(m) and _whole_values(s.extra, s.wanted, int(m["k"]) - 1, int(m["m"])),
    ),
    (r"(?P<n>\d+) extra rows?", lambda m, s: len(s.extra) == _n(m) and not s.missing),
    (
        r"(?P<n>one) extra row with a NULL key: a group of NULL, or a total: (?P<words>'.*)",
        lambda m, s: len(s.extra) == 1 and _told_apart(m["words"], s.answer, s.extra, s.wanted),
    ),
    (
        r"(?P<n>one) row of gold with a NULL key is missing: a group of NULL, or a total: (?P<words>'.*)",
        lambda m, s: len(s.missing) == 1 and _told_apart(m["words"], s.gold, s.missing, s.there),
    ),
    (rf"(?P<n>\d+) extra rows? {_SUBTOTALS}: {_TOTALS}", lambda m, s: _totals(m, s, of_gold=False)),
    (rf"(?P<n>\d+) rows? of gold (?:is|are) missing: (?:it|they) {_SUBTOTALS}: {_TOTALS}", lambda m, s: _totals(m, s, of_gold=True)),
    (r"(?P<n>\d+) extra rows? (?:is|are) where ROLLUP adds subtotals: (?P<places>.*)", lambda m, s: _stand_for(m, s, of_gold=False)),
    (
        r"(?P<n>\d+) rows? of gold are missing: they are where ROLLUP adds subtotals: (?P<places>.*)",
        lambda m, s: _stand_for(m, s, of_gold=True),
    ),
    (
        rf"all (?P<n>\d+) rows of gold that meet one condition on its column \d+ are missing"
        rf"(?:, the last ones: an extra filter or LIMIT|: an extra filter): {_GONE}",
        _filter_too_many,
    ),
    (
        r"(?P<n>\d+) rows of gold are missing, all that fail one condition on its column \d+: an extra filter:"
        r" (?P<words>.*) in each row that is present, and in none of them",
        _filter_too_many_by_others,
    ),
    (
        rf"all (?P<n>\d+) rows of gold whose column \d+ is NULL are missing, as by an inner join instead of a left one: {_GONE}",
        _filter_too_many,
    ),
    (
        r"all (?P<n>\d+) rows of gold of (?P<m>\d+) values of its column (?P<k>\d+) are missing, as by a join that lacks them: .*",
        lambda m, s: len(s.missing) == _n(m) and _whole_values(s.missing, s.there, int(m["k"]) - 1, int(m["m"])),
    ),
    (
        r"(?P<n>\d+) rows? of gold (?:is|are) missing(?P<end> at the end, as by a LIMIT)?",
        lambda m, s: len(s.missing) == _n(m) and not s.extra and (not m["end"] or s.missing == rows_of(s.gold)[-_n(m) :]),
    ),
    (
        r"every row occurs (?P<times>\d+) times(?P<often> as often as in gold)?: (?P<n>\d+) rows? (?:are|is) repeated,"
        r" as after a join that fans out",
        _every_row,
    ),
    (
        r"(?P<n>\d+) rows? (?:is|are) repeated: (?:it occurs|they occur) more often than in gold, as after a join that"
        r" fans out",
        _more_often,
    ),
    (
        r"(?P<n>\d+) rows? (?:is|are) repeated with other cells: the values? of gold's column (?P<column>\d+) occurs? once there,"
        r" as after a join that fans out: .*",
        _repeated,
    ),
    (
        r"(?P<n>\d+) rows? ties? with gold's last place, and (?:other tied rows were taken|there are more rows than gold has): column"
        r" (?P<column>\d+) '.*' is (?P<value>'.*') in all of them",
        _tied,
    ),
    (r"two columns are exchanged in (?P<n>\d+) rows?: column \d+ (?P<one>'.*') and column \d+ (?P<other>'.*')", _exchanged),
    (r"each column contains gold's cells, but the rows are combined wrongly", _same_columns),
    (
        r"the rows are gold's in another order",
        lambda _, s: s.answers != s.golds and Counter(s.answers) == Counter(s.golds),
    ),
    (
        r"(?P<n>\d+) rows that tie in gold's column (?P<column>\d+) are in another order: .*",
        lambda m, s: (
            s.gold.columns[int(m["column"]) - 1] == s.answer.columns[int(m["column"]) - 1] and Counter(s.answers) == Counter(s.golds)
        ),
    ),
    (
        r"(?P<n>\d+) needed columns? (?:is|are) missing: gold's (?P<names>.*)",
        lambda m, s: not set(re.findall(r"column \d+ '([^']*)'", m["names"])) & set(s.answer.header),
    ),
    (
        r"(?P<own>\d+) rows? instead of gold's (?P<golds>\d+): (?:their (?P<ways>.*) by group equals gold's, so they are grouped too finely"
        r"|the (?P<ways2>.*) of gold's by group, grouped too coarsely): (?:by (?P<by>.*)|all rows together)",
        lambda m, s: _grouped(m, s),
    ),
]


def holds(sentence: str, sides: Sides) -> bool:
    """Whether a sentence on rows holds for the tables. Raises LookupError for one that cannot be executed."""
    for pattern, check in STATEMENTS:
        match = re.fullmatch(pattern, sentence)
        if match is not None:
            return check(match, sides)
    raise LookupError(sentence)
