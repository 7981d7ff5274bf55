"""Whether a reason on tables is true: each of its statements, worked out again from the files by plain means."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Table
from tests.conformance.predicates import MANY_ROWS, Pair, pairable
from tests.models import official_table, strict_table

Texts = Sequence[str | None]


@dataclass(frozen=True)
class Claim:
    """A reason with its details under one rule, about one pair of CSV tables."""

    pair: Pair
    reason: str
    details: Mapping[str, Any]
    official: bool

    @property
    def ordered(self) -> bool:
        """Whether the order of rows counts."""
        return not self.pair.ignores_order

    def gold(self, number: int) -> Texts:
        """A gold column by its number from 1."""
        return [cell or "" for cell in self.pair.gold.columns[number - 1]]

    def predicted(self, number: int) -> Texts:
        """A predicted column by its number from 1."""
        return [cell or "" for cell in self.pair.prediction.columns[number - 1]]

    def typed(self, number: int, *, gold: bool) -> list[Any]:
        """A column as the reference types it."""
        table = self.pair.gold if gold else self.pair.prediction
        needed = tuple(self.pair.needed) if gold else tuple(range(len(table.columns)))
        return typed_columns(Identity(table), needed)[needed.index(number - 1)]

    def by_reference(self, number: int, *, gold: bool) -> list[Any]:
        """A column as the reference compares it, sorted where the order does not count."""
        cells = self.typed(number, gold=gold)
        return cells if self.ordered else sorted(cells, key=lambda x: (x is None, str(x), isinstance(x, (int, float))))


class Identity:
    """A table as a key of a cache: itself."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __hash__(self) -> int:
        return id(self.table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.table is self.table


@lru_cache(maxsize=8)
def typed_columns(key: Identity, needed: tuple[int, ...]) -> list[list[Any]]:
    """The needed columns of a table as pandas types them."""
    frame = official_table.frame_of([[cell or "" for cell in column] for column in key.table.columns])
    return official_table.lists_of(frame, needed)


def part_of(text: str, shown: str) -> bool:
    """Whether dots stand for what a text has before and after what is shown."""
    if not shown.startswith("...") and not shown.endswith("..."):
        return text == shown
    pattern = re.escape(shown.removeprefix("...").removesuffix("..."))
    return bool(re.fullmatch(f"{'.+' * shown.startswith('...')}{pattern}{'.+' * shown.endswith('...')}", text, re.DOTALL))


def shown_as(cell: str | None, shown: str) -> bool:
    """Whether a reason may show this cell so: null, a quoted text, a number or a moment, cut where it is long."""
    meaning = strict_table.meaning(cell)
    if meaning is None:
        return shown == "null"
    if shown.startswith("...") or shown.endswith("..."):
        return part_of(repr(meaning) if isinstance(meaning, str) else str(cell).strip(), shown)
    if shown[:1] in ("'", '"'):
        text = ast.literal_eval(shown)
        return cell == text or (isinstance(meaning, str) and strict_table.cells_equal(text, cell))
    if isinstance(meaning, Fraction):
        return strict_table.meaning(shown) == meaning
    return isinstance(meaning, float) or strict_table.meaning(shown) == meaning


def n_without_partner(gold: Texts, predicted: Texts) -> int | None:
    """How many gold cells stay without a partner when as many as possible have one; None where that is too much to look at."""
    if not any(map(strict_table.has_decimals, {*gold, *predicted})):
        return (Counter(map(strict_table.meaning, gold)) - Counter(map(strict_table.meaning, predicted))).total()
    return most_paired(gold, predicted, strict_table.cells_equal)


def most_paired(gold: Sequence[Any], predicted: Sequence[Any], equal: Callable[[Any, Any], bool]) -> int | None:
    """How many gold cells stay without a partner in a largest pairing of equal cells; None where that is too much to look at."""
    left = Counter(gold) - Counter(predicted)
    if not left or len(gold) > MANY_ROWS:
        return None if left else 0
    rows, owner = [*(Counter(gold) & Counter(predicted)).elements(), *left.elements()], dict[int, int]()

    def place(row: int, seen: set[int]) -> bool:
        for k, other in enumerate(predicted):
            if k not in seen and equal(rows[row], other):
                seen.add(k)
                if k not in owner or place(owner[k], seen):
                    owner[k] = row
                    return True
        return False

    return sum(not place(row, set()) for row in range(len(rows)))


def column_fits(claim: Claim, gold: Texts, predicted: Texts) -> bool | None:
    """Whether a predicted column fits a gold one under the strict rule, None where that is too much to look at."""
    if claim.ordered:
        return all(map(strict_table.cells_equal, gold, predicted))
    missing = n_without_partner(gold, predicted)
    return None if missing is None else missing == 0


def no_match(claim: Claim, found: re.Match[str]) -> str:
    """The named columns exist, the count is right, and the named cells stand where said and differ."""
    details = claim.details
    i, k, n = int(found["gold"]), details["predicted_column"], int(found["n"])
    if (details["gold_column"], details["n_differ"]) != (i, n):
        return "details say otherwise"
    header = claim.pair.prediction.header
    is_unique = bool(header[k - 1]) and header.count(header[k - 1]) == 1
    if found["predicted"] != (None if is_unique else str(k)):
        return "a number where the name is enough, or none where it is not"
    if i - 1 not in claim.pair.needed or not named(claim.pair.gold.header[i - 1], found["gold_name"]):
        return "no such gold column"
    if not named(claim.pair.prediction.header[k - 1], found["predicted_name"]):
        return "no such predicted column"
    if int(found["rows"]) != claim.pair.gold.n_rows:
        return "another number of rows"
    return differ_officially(claim, i, k, n, found) if claim.official else differ_strictly(claim, i, k, n, found)


def differ_officially(claim: Claim, i: int, k: int, n: int, found: re.Match[str]) -> str:
    """In order: the number of typed cells that differ and the first row are the model's; else how many find no partner."""
    gold, predicted = claim.typed(i, gold=True), claim.typed(k, gold=False)

    def equal(a: Any, b: Any) -> bool:
        return official_table.lists_match([a], [b], False)

    if not claim.ordered:
        missing = most_paired(*(["" if cell != cell else cell for cell in side] for side in (gold, predicted)), equal)
        return f"{missing} find no partner" if missing not in (None, n) else has_that_key(claim, i, k, found)
    rows = [row for row, (a, b) in enumerate(zip(gold, predicted, strict=True)) if not equal(a, b)]
    if len(rows) != n:
        return f"{len(rows)} typed cells differ"
    return "" if rows[0] + 1 == claim.details["first_row"] else f"first at row {rows[0] + 1}"


def has_that_key(claim: Claim, i: int, k: int, found: re.Match[str]) -> str:
    """The gold row has the named key, and so has a predicted row with the named cell, which is another one than gold's.

    Without a key gold's cell has no partner, or it is the only one, and stands beside the only predicted one.
    """
    row = claim.details["first_row"] - 1
    gold = claim.gold(i)[row]
    if found["key"] is None and not found["partner"]:
        own, _, theirs = found["lone"].partition(" vs ")
        is_only = len(claim.predicted(k)) == len(claim.gold(i)) == 1
        return "" if is_only and typed_as(gold, own) and typed_as(claim.predicted(k)[0], theirs) else "no example"
    if found["key"] is None:
        return "" if typed_as(gold, found["lone"]) else "no example"
    key = {str(ast.literal_eval(text[0])) if not text[0].isdecimal() else text[0] for text in re.finditer(rf"{QUOTED}|\d+", found["key"])}
    others = [column for at, column in enumerate(claim.pair.prediction.columns) if at != k - 1]
    if not all(any(cut_alike(column[row], text) for column in claim.pair.gold.columns) for text in key):
        return "gold's row has another key"
    fitting = [
        at
        for at in range(claim.pair.prediction.n_rows)
        if all(any(cut_alike(column[at], text) for column in others) for text in key) and typed_as(claim.predicted(k)[at], found["theirs"])
    ]
    return "" if fitting and typed_as(gold, found["own"]) and found["own"] != found["theirs"] else f"no such row: {found['key']}"


def cut_alike(cell: str | None, shown: str) -> bool:
    """Whether a cell is written so, or begins so if the text is cut."""
    return cell == shown or (shown != "..." and part_of(cell or "", shown))


def typed_as(cell: str | None, shown: str) -> bool:
    """Whether a reason may show this cell so under either rule."""
    if shown == "empty":
        return strict_table.meaning(cell) is None
    if shown[:1] in ("'", '"'):
        return shown_as(cell, shown) or cut_alike(cell, ast.literal_eval(shown))
    try:
        return shown_as(cell, shown) or float(cell or "") == float(shown)
    except ValueError:
        return False


def differ_strictly(claim: Claim, i: int, k: int, n: int, found: re.Match[str]) -> str:
    """In order: the rows that differ, and both cells; else how many find no partner, and a cell by its key or gold's alone."""
    gold, predicted, row = claim.gold(i), claim.predicted(k), claim.details["first_row"]
    if not shown_as(gold[row - 1], claim.details["gold_cell"]):
        return f"gold's cell there is {gold[row - 1]!r}"
    if not claim.ordered:
        missing = n_without_partner(gold, predicted)
        right = missing is None or (n >= missing if claim.details.get("at_most") else n == missing)
        return has_that_key(claim, i, k, found) if right else f"{missing} find no partner"
    rows = [at for at, (a, b) in enumerate(zip(gold, predicted, strict=True)) if not strict_table.cells_equal(a, b)]
    if (len(rows), rows[0] + 1) != (n, row):
        return f"{len(rows)} differ, first at row {rows[0] + 1}"
    return "" if shown_as(predicted[row - 1], claim.details["predicted_cell"]) else f"the predicted cell there is {predicted[row - 1]!r}"


def sorted_apart(claim: Claim, found: re.Match[str]) -> str:
    """Every gold cell has a partner, and yet the sorted columns differ."""
    i, k = claim.details["gold_column"], claim.details["predicted_column"]
    gold, predicted = claim.by_reference(i, gold=True), claim.by_reference(k, gold=False)
    if claim.ordered or official_table.lists_match(gold, predicted, False):
        return "the columns match"
    missing = most_paired(gold, predicted, lambda a, b: official_table.lists_match([a], [b], False))
    return "" if missing in (None, 0) else f"{missing} find no partner"


def named(header: str, shown: str) -> bool:
    """Whether a quoted, maybe cut name is this header."""
    name = ast.literal_eval(shown)
    return bool(header == name or (name.endswith("...") and header.startswith(name[:-3])))


def crossed(claim: Claim, found: re.Match[str]) -> str:
    """The predicted column fits gold's but bears the name of another gold column, and gold's name stands on the third one."""
    i, k, own = (int(found[group]) - 1 for group in ("gold", "predicted", "own"))
    mine, theirs = ([re.sub(r"[\s_-]", "", name.casefold()) for name in side.header] for side in (claim.pair.gold, claim.pair.prediction))
    if column_fits(claim, claim.gold(i + 1), claim.predicted(k + 1)) is False:
        return "the column does not fit"
    return "" if theirs[own] == mine[i] != theirs[k] and theirs[k] in mine else "the names do not cross"


def rows_submitted(claim: Claim, found: re.Match[str]) -> str:
    """Both numbers of rows."""
    counted = (claim.pair.prediction.n_rows, claim.pair.gold.n_rows)
    stated = (int(found["n"]), int(found["m"]))
    return "" if counted == stated and stated == (claim.details["n_rows"], claim.details["n_gold_rows"]) else f"{counted}"


def all_equal(claim: Claim, found: re.Match[str]) -> str:
    """Every needed column is paired with a column that the model calls equal."""
    stated = claim.details["pairs"]
    if sorted(i - 1 for i, _ in stated) != sorted(claim.pair.needed) or int(found["rows"]) != claim.pair.gold.n_rows:
        return "not every needed column"
    if claim.pair.prediction.columns == claim.pair.gold.columns and all(i == k for i, k in stated):
        return ""
    wrong = [
        (i, k)
        for i, k in stated
        if not official_table.lists_match(claim.by_reference(i, gold=True), claim.by_reference(k, gold=False), False)
    ]
    return f"unequal: {wrong}" if wrong else ""


def rows_agree(claim: Claim, found: re.Match[str]) -> str:
    """Under the named assignment, each gold column with a column of its own, the rows pair off."""
    stated = claim.details["assignment"]
    if sorted(i - 1 for i, _ in stated) != sorted(claim.pair.needed) or len({k for _, k in stated}) != len(stated):
        return "no assignment"
    if (int(found["rows"]), int(found["n"])) != (claim.pair.gold.n_rows, len(stated)):
        return "another number of rows or columns"
    gold, predicted = rows_of(claim)
    if claim.ordered:
        return "" if all(all(map(strict_table.cells_equal, a, b)) for a, b in zip(gold, predicted, strict=True)) else "rows differ"
    left, right = list((Counter(gold) - Counter(predicted)).elements()), list((Counter(predicted) - Counter(gold)).elements())
    return "" if len(left) > MANY_ROWS or pairable(left, right) else "rows do not pair off"


def rows_of(claim: Claim) -> tuple[list[tuple[str | None, ...]], list[tuple[str | None, ...]]]:
    """The rows of both sides in the columns of the named assignment."""
    stated = claim.details["assignment"]
    gold, predicted = [claim.gold(i) for i, _ in stated], [claim.predicted(k) for _, k in stated]
    return list(zip(*gold, strict=True)), list(zip(*predicted, strict=True))


def scrambled(claim: Claim, found: re.Match[str]) -> str:
    """Every column agrees by itself, and so many rows, the named one among them, have no partner."""
    gold, predicted = rows_of(claim)
    row = gold[claim.details["first_row"] - 1]
    by_column = dict(zip((i for i, _ in claim.details["assignment"]), row, strict=True))
    shown = claim.details["gold_row"]
    if not all(shown_as(by_column[i + 1], text) for i, text in zip(claim.pair.needed, shown, strict=True)):
        return f"the gold row is {row}"
    if int(found["rows"]) != claim.pair.gold.n_rows or int(found["n"]) != claim.details["n_rows_disagree"]:
        return "details say otherwise"
    left, right = list((Counter(gold) - Counter(predicted)).elements()), list((Counter(predicted) - Counter(gold)).elements())
    if len(left) > MANY_ROWS:
        return ""
    fits = [[all(map(strict_table.cells_equal, a, b)) for b in right] for a in left]
    n_hopeless = sum(not any(row) for row in fits)
    return "" if n_hopeless <= int(found["n"]) <= len(left) or found["least"] else f"{n_hopeless} to {len(left)} rows"


def one_for_two(claim: Claim, found: re.Match[str]) -> str:
    """Gold columns that are more than the predicted columns that fit any of them."""
    wanting, offered = claim.details["gold_columns"], claim.details["predicted_columns"]
    if len(wanting) <= len(offered) or int(found["n"]) != len(offered) or not {i - 1 for i in wanting} <= set(claim.pair.needed):
        return "as many columns"
    for k in range(1, len(claim.pair.prediction.columns) + 1):
        fits = [column_fits(claim, claim.gold(i), claim.predicted(k)) for i in wanting]
        if (k in offered and not any(fit in (True, None) for fit in fits)) or (k not in offered and any(fit is True for fit in fits)):
            return f"predicted column {k} is named or left out wrongly"
    return ""


def too_few_columns(claim: Claim, found: re.Match[str]) -> str:
    """Both numbers of columns."""
    counted = (len(claim.pair.needed), len(claim.pair.prediction.columns))
    return "" if counted == (int(found["n"]), int(found["m"])) else f"{counted}"


def ragged(claim: Claim, found: re.Match[str]) -> str:
    """The prediction is marked as ragged at that line."""
    return "" if claim.pair.prediction.ragged_line == int(found["line"]) else f"line {claim.pair.prediction.ragged_line}"


QUOTED = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
CHECKS: list[tuple[str, Callable[[Claim, re.Match[str]], str]]] = [
    (
        rf"gold column (?P<gold>\d+) (?P<gold_name>{QUOTED}) has no match; closest(?: in the first rows| by name)? is "
        rf"(?:column (?P<predicted>\d+) )?(?P<predicted_name>{QUOTED}) \((?:at most )?(?P<n>\d+) of (?P<rows>\d+) cells? differs?, "
        r"first (?:at row \d+: (?P<lone>.*?)(?P<partner> has no partner)?|"
        rf"(?:\w+|{QUOTED}) of (?P<key>.*): (?P<theirs>.*), gold (?P<own>.*))\)",
        no_match,
    ),
    (
        rf"gold column \d+ {QUOTED} has no match; closest(?: in the first rows| by name)? is (?:column \d+ )?{QUOTED} "
        r"\(the cells match, but not in the order in which the reference sorts them as text\)",
        sorted_apart,
    ),
    (
        rf"labels: gold column (?P<gold>\d+) {QUOTED} matches only predicted column (?P<predicted>\d+) {QUOTED}, "
        rf"but predicted column (?P<own>\d+) {QUOTED} has its name",
        crossed,
    ),
    (r"(?P<n>\d+) rows? submitted, gold has (?P<m>\d+)", rows_submitted),
    (r"(?:all \d+ needed columns have|the needed column has) a match, (?P<rows>\d+) rows?", all_equal),
    (r"(?P<rows>\d+) rows? match(?:es)? in (?P<n>\d+) needed columns?", rows_agree),
    (
        r"rows scrambled: each column matches alone, but (?P<least>at least )?(?P<n>\d+) of (?P<rows>\d+) rows? differ, "
        r"first gold row \d+: .*",
        scrambled,
    ),
    (r"one column for two: gold columns .* match only (?P<n>\d+) predicted columns?: .*", one_for_two),
    (r"(?:one column for two|header only): gold needs (?P<n>\d+) columns?, (?P<m>\d+) submitted", too_few_columns),
    (r"ragged rows: line (?P<line>\d+) has more fields than the header", ragged),
]
PREFIX = re.compile(rf"(?:gold|table) (?:(?P<at>\d+) of \d+ )?{QUOTED}: ", re.DOTALL)


DELIMITER = re.compile(
    rf"(?P<rest>.*); {QUOTED} is one column: is the delimiter an? (?P<sign>.*)\? fields must be separated by commas", re.DOTALL
)
RAGGED = re.compile(r"(?P<rest>.*); line (?P<line>\d+) has more fields than the header, so the first fields .*", re.DOTALL)
FORMAT = re.compile(rf"(?P<rest>.*); the file begins like (?P<form>.*), not like a CSV: (?P<first>{QUOTED})", re.DOTALL)
NO_ROW = re.compile(
    r"(?P<rest>.*); (?:the first line, which is read as the names of the columns, has the values of row (?P<row>\d+) of gold"
    r"|the last line '\((?P<n>\d+) rows?.*\)', which is read as a row, is the number of the rows above it)",
    re.DOTALL,
)
OTHER_WORDS = re.compile(rf"(?P<rest>.*); each cell of (?P<name>{QUOTED}) that differs is (?P<words>.*)", re.DOTALL)
MARKS = {"JSON": "[{", "HTML or XML": "<", "a Markdown table": "|", "a Markdown code block": "`"}
SIGNS = {"semicolon": ";", "tab": "\t", "bar": "|", "caret": "^"}


def untrue(claim: Claim) -> str:
    """What is wrong with a reason, empty where it is true."""
    noted = DELIMITER.fullmatch(claim.reason)
    if noted is not None:
        header = claim.pair.prediction.header
        if len(header) != 1 or SIGNS[noted["sign"]] not in header[0]:
            return "the delimiter that it names stands nowhere"
        return untrue(replace(claim, reason=noted["rest"]))
    if other := FORMAT.fullmatch(claim.reason):
        first = claim.pair.prediction.header[0]
        if not named(first, other["first"]) or first.lstrip()[0] not in MARKS[other["form"]]:
            return "the file begins in another way"
        return untrue(replace(claim, reason=other["rest"]))
    if longer := RAGGED.fullmatch(claim.reason):
        if claim.pair.prediction.ragged_line != int(longer["line"]):
            return "no line is longer"
        return untrue(replace(claim, reason=longer["rest"]))
    if no_row := NO_ROW.fullmatch(claim.reason):
        header, n_rows = claim.pair.prediction.header, claim.pair.prediction.n_rows
        row = [column[int(no_row["row"]) - 1] for column in claim.pair.gold.columns] if no_row["row"] else []
        if len(row) != len(header) if row else int(no_row["n"]) != n_rows - 1:
            return "the line is a row"
        return untrue(replace(claim, reason=no_row["rest"]))
    if words := OTHER_WORDS.fullmatch(claim.reason):
        at = next(at for at, name in enumerate(claim.pair.gold.header) if named(name, words["name"]))
        if not any(repr(cell) in words["words"] for column in claim.pair.prediction.columns for cell in column if cell):
            return f"no cell of column {at + 1} is that"
        return untrue(replace(claim, reason=words["rest"]))
    for pattern, check in CHECKS:
        found = re.fullmatch(pattern, claim.reason, re.DOTALL)
        if found is not None:
            return check(claim, found)
    return "a reason nobody checks"
