"""Lint of values (text golds, numbers, table cells, compared columns), and the lenient reading of gold that all lint shares.

Text golds that match too much or never match; cells that the official rules type unexpectedly; values within one tolerance; columns that
are out of range, repeated, empty, an index, or equal to one another. One broken line does not hide the findings on the others.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import combinations, groupby, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evalsuite.analysis.causes.values import DAY
from evalsuite.compare.answer_rules import gold_numbers
from evalsuite.compare.dates import CALENDAR, date_readings
from evalsuite.compare.numbers import Number
from evalsuite.compare.official_cells import ABS_TOL
from evalsuite.compare.strict_columns import read_native
from evalsuite.compare.table_parameters import is_bare, needs_quotes
from evalsuite.compare.values import Percent, is_null_word, is_written_form, number_gold, read_cell
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import EvalsuiteError, FaultError, GoldError, count_words, describe, machine_error
from evalsuite.core.files import is_file
from evalsuite.core.types import Check, Fault, GoldInstance, Suite, Table
from evalsuite.gold import spec as gold_reader
from evalsuite.gold.layouts import entries_of, layout_named, layout_of
from evalsuite.gold.suite_yaml import read_suite
from evalsuite.readers.gold_files import find_spec, is_alone
from evalsuite.readers.json_text import Layout, Obj
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_answer import read_gold_files
from evalsuite.readers.paths import open_trusted, resolve_in_side
from evalsuite.scorers import SCORERS

Severity = Literal["error", "warning", "note"]
TABLE_FORMS = ("table", "tables", "database")
# Key next to `evaluation`: a list of finding codes that are not reported for the instance.
IGNORE_KEY = "lint_ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A safe repair: `apply` changes the `check`-th evaluation object of the instance in place."""

    check: int
    apply: Callable[[Obj], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One finding. An empty `severity` means the severity of its code; `about` names the gold file, if the finding is in one."""

    code: str
    where: str
    instance_id: str
    message: str
    hint: str = ""
    severity: Severity | Literal[""] = ""
    change: Change | None = None
    about: str = ""

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        fields = {key: getattr(self, key) for key in ("code", "severity", "where", "instance_id", "message", "hint")}
        return {**fields, "fixable": self.change is not None}


class Kind(NamedTuple):
    """One row of a lint table: severity, the function that finds it, and a one-line summary."""

    severity: Severity
    function: Callable[..., Iterator[LintFinding]]
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """One check of one instance; `index` is its position among the instance's checks."""

    instance: GoldInstance
    check: Check
    index: int

    @property
    def reads(self) -> str:
        """What the scorer reads: text, table, tables, database, tree or batch."""
        return SCORERS.load(self.check.scorer).marker.reads

    @property
    def is_living(self) -> bool:
        """Whether queries produce the gold when a run starts, so that nothing about its values is known before."""
        return gold_reader.names_queries(self.check)

    def finding(self, code: str, message: str, *, hint: str = "", severity: Severity | Literal[""] = "", change: Any = None) -> LintFinding:
        """Return a finding at this check; `change` repairs its evaluation object."""
        repair = Change(check=self.index, apply=change) if change is not None else None
        place = {"where": self.check.where, "instance_id": self.instance.instance_id}
        return LintFinding(code=code, message=message, hint=hint, severity=severity, change=repair, **place)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTable:
    """One gold table that was read: a CSV file, or the table `part` of a database. `needed` are the compared columns, all in range."""

    spot: Spot
    file: str
    part: str
    table: Table
    needed: tuple[int, ...]
    ordered: bool
    place: Path
    # Digest of a table that was read before -> (its instance, its file).
    earlier: dict[str, tuple[str, str]]

    @property
    def is_csv(self) -> bool:
        """Whether cells are the text of a file rather than native values."""
        return self.table.types is None

    def finding(self, code: str, message: str, *, hint: str = "", severity: Severity | Literal[""] = "") -> LintFinding:
        """Return a finding in this table, located at its check; the message begins with the file."""
        name = f"{self.file} {self.part}".strip()
        return replace(self.spot.finding(code, f"{name}: {message}", hint=hint, severity=severity), about=name)

    def column(self, index: int) -> str:
        """Return a column for people: `column 2 'revenue'`, counted from 1."""
        return f"column {index + 1} {self.table.header[index]!r}"

    def texts(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each needed column of a CSV file with its texts that are not empty."""
        for index in self.needed if self.is_csv else ():
            yield index, [cell for cell in self.table.columns[index] if cell is not None and cell.strip()]


@dataclass(slots=True)
class LintedGold:
    """The readable part of a gold folder: instances with their raw objects, the suite, and the lines that could not be read.

    `headers` are those of the tables that were read, by instance id and check.
    """

    folder: Path
    spec: Path
    name: str
    suite: Suite = field(default_factory=lambda: Suite(name=""))
    limits: Mapping[str, int | float] = field(default_factory=resolve_limits)
    instances: list[GoldInstance] = field(default_factory=list)
    raw: dict[str, tuple[int, Obj]] = field(default_factory=dict)
    broken: list[LintFinding] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    unread: list[tuple[Spot, str, Fault]] = field(default_factory=list)
    headers: dict[tuple[str, int], list[Sequence[str]]] = field(default_factory=dict)
    make: gold_reader.MakeInstance = gold_reader.instance_of

    def add_broken(self, code: str, where: str, id_: str | None, message: str, hint: str) -> None:
        """Add a finding on a line that could not be read."""
        self.broken.append(LintFinding(code=code, where=where, instance_id=id_ or "", message=message, hint=hint))

    def spots(self) -> Iterator[Spot]:
        """Yield every check of every instance, in file order."""
        for instance in self.instances:
            for index, check in enumerate(instance.checks):
                yield Spot(instance=instance, check=check, index=index)

    def tables(self) -> Iterator[GoldTable]:
        """Yield every readable gold table, one at a time; add unreadable tables and absent queries to `unread`."""
        earlier = dict[str, tuple[str, str]]()
        for spot in self.spots():
            if spot.is_living:
                self._look_for_queries(spot)
            elif spot.reads in TABLE_FORMS:
                yield from self._tables_of(spot, earlier)

    def _look_for_queries(self, spot: Spot) -> None:
        for name in spot.check.golds:
            try:
                if not is_file(self.folder / resolve_in_side(spot.instance.instance_id, name)):
                    self.unread.append((spot, name, Fault(code="MISSING_FILE")))
            except FaultError as error:
                self.unread.append((spot, name, error.fault))

    def _tables_of(self, spot: Spot, earlier: dict[str, tuple[str, str]]) -> Iterator[GoldTable]:
        for at, file in enumerate(spot.check.gold_names):
            for number, (part, table) in enumerate(self._read(spot, file)):
                place = at if spot.reads != "database" else number
                columns = spec_columns(spot, place)
                n = len(table.columns)
                self.headers.setdefault((spot.instance.instance_id, spot.index), []).append(table.header)
                needed = tuple(dict.fromkeys(i % n for i in columns if -n <= i < n)) if columns and n else ()
                yield GoldTable(
                    spot=spot,
                    file=file,
                    part=part,
                    table=table,
                    needed=needed or tuple(range(n)),
                    ordered=not ignores_order(spot, place),
                    place=self.folder / spot.instance.instance_id / file,
                    earlier=earlier,
                )

    def _read(self, spot: Spot, file: str) -> Iterator[tuple[str, Table]]:
        """Yield (name in a database, table) of one gold file."""
        tabs = spot.check.parameters.get("condition_tabs")
        is_named = isinstance(tabs, list) and all(isinstance(name, str) for name in tabs)
        parameters = {**spot.check.parameters, "gold": file, "condition_tabs": tabs if is_named else None}
        form, id_ = "database" if spot.reads == "database" else "table", spot.instance.instance_id
        try:
            read = read_gold_files(form, parameters, folder=self.folder, instance_id=id_, limits=self.limits)["gold"]
        except FaultError as error:
            self.unread.append((spot, file, reader_fault(error, self.folder / id_ / file)))
            return
        for part, table in read.items() if isinstance(read, Mapping) else [("", read)]:
            if isinstance(table, Fault):
                self.unread.append((spot, f"{file} {part}".strip(), table))
            else:
                yield part, table


def reader_fault(error: FaultError, place: Path) -> Fault:
    """Return the reader's own fault behind the gold fault of a file. Raises `MachineError` if this machine does not read it."""
    while isinstance(error.__cause__, FaultError):
        error = error.__cause__
    if error.is_of_machine:
        raise machine_error(place, error.fault) from None
    return error.fault


def spec_columns(spot: Spot, at: int) -> list[int]:
    """Return the columns that the spec names for the `at`-th gold table; an empty list means all."""
    columns = spot.check.parameters.get("condition_cols")
    columns = [columns] if is_bare(columns) else columns
    if not isinstance(columns, list):
        return []
    if columns and all(isinstance(item, list) for item in columns):
        columns = columns[at] if at < len(columns) else []
    return [item for item in columns if isinstance(item, int) and not isinstance(item, bool)]


def ignores_order(spot: Spot, at: int) -> bool:
    """Whether the `at`-th gold table is compared without regard to row order."""
    key = "ignore_order" if spot.reads == "table" else "ignore_orders"
    free = spot.check.parameters.get(key, False)
    return bool(free) if not isinstance(free, list) else at < len(free) and bool(free[at])


def read_linted_gold(folder: Path) -> LintedGold:
    """Read a gold folder although single lines of it may be broken.

    Raises:
        GoldError: there is no spec file that can be opened.
    """
    spec = find_spec(folder)
    name = f"{spec.resolve().parent.name}/{spec.name}"
    laid_out, layout = layout_named(layout_of(spec)), Layout()
    linted = LintedGold(folder=spec if is_alone(spec) else spec.parent, spec=spec, name=name, make=laid_out.maker(spec))
    try:
        linted.suite = read_suite(spec.parent)
        linted.limits = resolve_limits(linted.suite.limits)
    except EvalsuiteError as error:
        where, _, message = error.message.partition(": ")
        linted.add_broken("bad-suite", where, "", message, error.hint)
        linted.suite = Suite(name=spec.resolve().parent.name)
    limits = linted.limits
    try:
        handle = open_trusted(spec, limit_bytes=limits["metadata_bytes"])
    except FaultError as error:
        raise GoldError(f"{name}: {describe(error.fault)}") from None
    with handle:
        for entry in entries_of(laid_out)(handle, limits=limits, layout=layout):
            if entry.fault is not None:
                linted.add_broken("unreadable-line", f"{name}:{entry.line}", entry.instance_id, describe(entry.fault), entry.hint)
            else:
                _add_instance(linted, entry.line, entry.value or {})
    linted.notes = [(line, text) for text, line in layout.notes.items()]
    return linted


def _add_instance(linted: LintedGold, line: int, value: Obj) -> None:
    where = f"{linted.name}:{line}"
    id_ = value.get("instance_id")
    try:
        instance = linted.make(value, where, linted.suite)
    except EvalsuiteError as error:
        code = "unknown-scorer" if "unknown scorer" in error.message else "bad-entry"
        linted.add_broken(code, where, id_ if isinstance(id_, str) else "", error.message.removeprefix(f"{where}: "), error.hint)
        return
    if instance.instance_id in linted.raw:
        message = f"duplicate instance, first on line {linted.raw[instance.instance_id][0]}"
        linted.add_broken("duplicate-id", where, instance.instance_id, message, "give each instance its own id")
        return
    linted.instances.append(instance)
    linted.raw[instance.instance_id] = (line, value)


SHORT = 2
LONG = 200
LONGEST_NUMBER = 4
QUESTIONS = ("instruction", "question", "prompt")
# A requested percentage, not one that the question mentions itself ("a 10% discount", "5 percentage points").
_PERCENT = re.compile(r"(?P<amount>\d\s*)?(?:%|\bper\s?cent\b|\bpercentages?\b(?!\s+points?\b))", re.IGNORECASE)
# The question states the wanted form.
_FORM_NAMED = re.compile(r"\b(?:in|as)\s+(?:a\s+)?(?:%|per\s?cent|percentages?|fraction|share)|\(%\)", re.IGNORECASE)
_HIDDEN = ("Cf", "Cc", "Zl", "Zp", "Co", "Cn")


def golds_of(spot: Spot) -> list[str]:
    """Return the text golds of a check, empty if they have another type."""
    return list(filter(None, spot.check.gold_names))


def _texts_of(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [item for item in texts if isinstance(item, str) and item]


def find_short_golds(spot: Spot) -> Iterator[LintFinding]:
    """Golds of one or two characters, which occur inside other words, and numbers as text."""
    if spot.check.scorer != "string_match":
        return
    for gold in golds_of(spot):
        if len(gold.strip()) <= SHORT and gold.strip().isalnum():
            message = f"gold {gold!r} occurs inside many other words, and the official rules search everywhere"
            yield spot.finding("short-gold", message, hint="use number_match, a longer gold, or the strict rules")
        elif number_gold(gold) is not None and len(gold.strip()) <= LONGEST_NUMBER:
            message = f"gold {gold!r} is a number searched as text: 1{gold.strip()} contains it too"
            yield spot.finding("number-as-text", message, hint="use number_match")


def find_golds_in_question(spot: Spot) -> Iterator[LintFinding]:
    """A gold that the question contains: repeating the question is enough."""
    if spot.check.scorer != "string_match":
        return
    question = _question(spot).lower()
    resolve_in_side = [gold for gold in golds_of(spot) if gold.lower() in question]
    needed = len(golds_of(spot)) if spot.check.parameters.get("conj") == "and" else 1
    if (
        resolve_in_side
        and len(resolve_in_side) >= needed
        and not any(item.lower() in question for item in _texts_of(spot.check.parameters.get("exclude")))
    ):
        message = f"the question contains gold {resolve_in_side[0]!r}: an answer that repeats the question is right"
        yield spot.finding("gold-in-question", message, hint="exclude the other candidates, or rephrase the question without the answer")


def _question(spot: Spot) -> str:
    return " ".join(str(fields.get(key, "")) for fields in (spot.instance.extra, spot.instance.question_entry) for key in QUESTIONS)


def find_excluded_golds(spot: Spot) -> Iterator[LintFinding]:
    """An exclusion that its own gold contains."""
    golds = golds_of(spot)
    for item in _texts_of(spot.check.parameters.get("exclude")):
        dead = [gold for gold in golds if item.lower() in gold.lower()]
        if not dead:
            continue
        kills_all = len(dead) == len(golds) or spot.check.parameters.get("conj") == "and"
        code = "exclude-kills-gold" if kills_all else "exclude-kills-one"
        yield spot.finding(code, f"exclude {item!r} occurs inside gold {dead[0]!r}", hint="exclude a longer text, or remove it")


def find_odd_spelling(spot: Spot) -> Iterator[LintFinding]:
    """Golds with surrounding spaces or invisible characters: the official rules compare letter by letter."""
    if spot.check.scorer != "string_match":
        return
    padded = next((gold for gold in golds_of(spot) if gold != gold.strip() and gold.strip()), None)
    if padded is not None:
        message = f"gold {padded!r} begins or ends with a space, which the answer must contain too"

        def strip(evaluation: Obj) -> None:
            gold = evaluation["parameters"]["gold"]
            bare = [item.strip() if isinstance(item, str) else item for item in (gold if isinstance(gold, list) else [gold])]
            evaluation["parameters"]["gold"] = bare if isinstance(gold, list) else bare[0]

        yield spot.finding("padded-gold", message, hint="remove the space", change=strip)
    for gold in golds_of(spot):
        odd = next((char for char in gold if unicodedata.category(char) in _HIDDEN or char == "\u00a0"), None)
        if odd is not None or unicodedata.normalize("NFC", gold) != gold:
            what = f"the character U+{ord(odd):04X}" if odd is not None else "letters made of several characters (not NFC)"
            message = f"gold {gold!r} contains {what}"
            yield spot.finding("odd-characters", message, hint="type it again; the official rules compare character by character")
        if len(gold) > LONG:
            message = f"the answer must contain a gold of {len(gold)} characters letter by letter"
            yield spot.finding("long-gold", message, hint="use f1 or rouge")


def find_repeated_golds(spot: Spot) -> Iterator[LintFinding]:
    """A gold that is named twice, and a gold inside another one: one of them has no effect."""
    if spot.check.scorer == "number_match" or spot.reads not in ("text", "number"):
        return
    golds = golds_of(spot)
    folded_golds = [gold.strip().casefold() for gold in golds]
    if len(set(folded_golds)) < len(folded_golds):
        twice = next(gold for at, gold in enumerate(golds) if folded_golds[at] in folded_golds[:at])
        yield spot.finding("repeated-gold", f"gold {twice!r} occurs twice", hint="remove one", change=_drop_repeated)
    if spot.check.scorer != "string_match":
        return
    for inner, outer in ((a, b) for a in golds for b in golds if a.lower() != b.lower() and a.lower() in b.lower()):
        both = spot.check.parameters.get("conj") == "and"
        why = f"one mention of {outer!r} counts for both" if both else f"{outer!r} has no effect"
        severity: Severity = "warning" if both else "note"
        yield spot.finding("gold-inside-gold", f"gold {inner!r} occurs inside gold {outer!r}: {why}", severity=severity)


def _drop_repeated(evaluation: Obj) -> None:
    seen: dict[Any, Any] = {}
    for item in evaluation["parameters"]["gold"]:
        seen.setdefault(item.strip().casefold() if isinstance(item, str) else item, item)
    evaluation["parameters"]["gold"] = list(seen.values())


def _gold_numbers(spot: Spot) -> list[float]:
    if spot.check.scorer != "number_match":
        return []
    try:
        return gold_numbers(spot.check.parameters["gold"])
    except (ValueError, OverflowError, TypeError, KeyError):
        return []


def find_swallowed_numbers(spot: Spot) -> Iterator[LintFinding]:
    """Numbers within the tolerance of zero or of one another, and a tolerance of whole numbers."""
    numbers, precision = _gold_numbers(spot), spot.check.parameters.get("precision", 4)
    tolerance = float(10.0**-precision) if isinstance(precision, int) and abs(precision) < 300 else 1e-4
    for number in numbers:
        if 0 < abs(number) <= tolerance:
            message = f"gold {number:g} is within the tolerance {tolerance:g} of 0: the official rules accept a 0"
            yield spot.finding("number-near-zero", message, hint="raise precision")
    for lower, upper in combinations(sorted(set(numbers)), 2):
        if upper - lower <= tolerance:
            message = f"golds {lower!r} and {upper!r} are within the tolerance {tolerance:g} of one another"
            yield spot.finding("golds-in-tolerance", message, hint="remove one, or raise precision")
    if numbers and tolerance >= 1:
        precision = spot.check.parameters.get("precision")
        message = f"precision {precision} accepts anything within {tolerance:g} of gold"
        yield spot.finding("coarse-precision", message, hint="precision counts decimal places")


def find_negative_numbers(spot: Spot) -> Iterator[LintFinding]:
    """Negative golds: the official rules ignore signs, so they never find them."""
    for number in _gold_numbers(spot):
        if number < 0:
            message = f"gold {number:g} is negative, and the official rules ignore signs"
            yield spot.finding("negative-number", message, hint="the strict rules read signs")


def find_odd_percentages(spot: Spot) -> Iterator[LintFinding]:
    """`percentage` without an effect, with too strict a demand, or accepting a hundred times the value."""
    numbers = _gold_numbers(spot)
    if not spot.check.parameters.get("percentage"):
        return
    if any(number == 0 for number in numbers):
        yield spot.finding("percentage-zero", "percentage has no effect for a gold of 0", hint="remove it")
    if spot.check.parameters.get("conj") == "and":
        message = "percentage with conj 'and' needs each gold both as share and as percent under the official rules"
        yield spot.finding("percentage-and", message, hint="write the golds in one form and remove percentage")
    big = next((number for number in numbers if abs(number) > 100), None)
    if big is not None:
        message = f"gold {big:g} is over 100: the official rules accept {100 * big:g} too"
        yield spot.finding("percentage-large", message, hint="is it really a percentage?")


def find_missing_percentage(spot: Spot) -> Iterator[LintFinding]:
    """A question that wants a percentage, without `percentage` in the check: 12.5, 0.125 and 12.5% are then different answers."""
    if spot.check.scorer not in ("number_match", "table_match") or "percentage" in spot.check.parameters:
        return
    question = _question(spot)
    if any(not match["amount"] for match in _PERCENT.finditer(question)):
        message = "the question wants a percentage, and the check has no percentage: 0.125 and 12.5% are then different answers"
        hint = "set percentage: true, or percentage: false if the question states the form"
        is_open = spot.check.scorer == "number_match" and _FORM_NAMED.search(question) is None
        severity: Severity = "warning" if is_open else "note"
        yield spot.finding("percentage-missing", message, hint=hint, severity=severity)


BIG = 10**10
_LEADING_ZERO = re.compile(r"0\d+")
# The length of YYYY-MM-DD.
_DATE = 10
_MOSTLY = 0.8


@lru_cache(maxsize=1 << 16)  # several findings read the same cells
def _read(cell: str) -> Any:
    """Return the cell as the strict rules read it; numbers with groups or currency signs stay text, as under the official rules."""
    return ("text", cell) if is_written_form(cell.strip()) else read_cell(cell)


def _date_forms(cell: str) -> dict[str, int]:
    """Return each form that the text of a date may have with the time that it then names; empty for any other text."""
    return {form: at for at, form in date_readings(cell)}


def _numbers(cells: list[str]) -> list[Any]:
    return [value for value in map(_read, cells) if isinstance(value, int | Number)]


def find_null_words(table: GoldTable) -> Iterator[LintFinding]:
    """Cells that are text to a person and NULL to a reader: NA for Namibia, None for a name."""
    for index, cells in table.texts():
        null = next((cell for cell in cells if is_null_word(cell.strip())), None)
        others = [cell for cell in cells if not is_null_word(cell.strip())]
        if null is not None and len(_numbers(others)) < len(others):
            message = f"{table.column(index)} is text and contains {null!r}, which is read as empty"
            yield table.finding("literal-null", message, hint="use another word if it is a value, an empty cell if it is none")


def find_padded_cells(table: GoldTable) -> Iterator[LintFinding]:
    """Text cells with surrounding spaces: the official rules compare letter by letter."""
    for index, cells in table.texts():
        padded = next((cell for cell in cells if cell != cell.strip() and not isinstance(_read(cell), int | Number)), None)
        if padded is not None:
            message = f"{table.column(index)} contains {padded!r} with a surrounding space"
            yield table.finding("padded-cells", message, hint="remove the space")


def find_mixed_columns(table: GoldTable) -> Iterator[LintFinding]:
    """Number columns that a few cells turn into text, so that the official rules compare 1.0 and 1 as text."""
    for index, texts in table.texts():
        cells = [cell for cell in texts if not is_null_word(cell.strip())]
        # Numbers with groups, a currency or a percent sign.
        formatted = [
            cell for cell in cells if is_written_form(cell.strip()) or isinstance(read_cell(cell.strip(), percentage=True), Percent)
        ]
        n_numbers = len(_numbers(cells))
        is_mostly = n_numbers >= _MOSTLY * len(cells)
        if formatted and not is_mostly and len(formatted) + n_numbers >= len(cells):
            message = f"{table.column(index)} contains formatted numbers such as {formatted[0]!r}, which the official rules compare as text"
            yield table.finding("formatted-numbers", message, hint="write plain numbers")
            continue
        if is_mostly and n_numbers < len(cells) >= 3:
            odd = next(cell for cell in cells if not isinstance(_read(cell), int | Number))
            message = f"{table.column(index)} contains numbers and {odd!r}: the official rules compare the whole column as text"
            yield table.finding("mixed-column", message, hint="leave the cell empty, or replace it by a number")


def find_leading_zeros(table: GoldTable) -> Iterator[LintFinding]:
    """Codes such as 007, which the official rules read as numbers."""
    for index, cells in table.texts():
        code = next((cell for cell in cells if _LEADING_ZERO.fullmatch(cell.strip())), None)
        if code is not None:
            message = f"{table.column(index)} contains {code!r}, which the official rules read as {int(code)}"
            yield table.finding("leading-zeros", message, hint="the strict rules read text")


def find_indistinct_numbers(table: GoldTable) -> Iterator[LintFinding]:
    """Numbers that are too large, or too close together, for the official tolerance."""
    for index, cells in _cells(table):
        values = [cell for cell in cells if isinstance(cell, int | Number)]
        if table.is_csv and any(isinstance(cell, tuple) and cell[0] == "huge" for cell in cells):
            message = f"{table.column(index)} contains a number beyond the range of floats"
            yield table.finding("overflow", message, hint="the official rules read it as infinity")
        finite = sorted({float(Decimal(value) if isinstance(value, int) else value.exact) for value in values} - {math.inf})
        if any(isinstance(value, int) and abs(value) >= BIG for value in values):
            message = f"{table.column(index)} contains integers from 10,000,000,000 on: the official rules treat neighbours as equal"
            yield table.finding("large-integers", message, hint="the strict rules compare every digit")
        if len(finite) > 1 and finite[-1] - finite[0] <= ABS_TOL:
            message = f"{table.column(index)}: all values are within {ABS_TOL:g} of one another, equal under the official rules"
            yield table.finding("values-in-tolerance", message, hint="use a larger unit or the strict rules")
        elif small := next((value for value in finite if 0 < abs(value) <= ABS_TOL), 0):
            message = f"{table.column(index)}: {small:g} is within {ABS_TOL:g} of 0, equal under the official rules"
            yield table.finding("value-near-zero", message)


def _cells(table: GoldTable) -> Iterator[tuple[int, list[Any]]]:
    """Yield each needed column with its cells as the strict rules read them, but for booleans and empty cells."""
    native = ((k, [value for value in table.table.columns[k] if not isinstance(value, bool)]) for k in table.needed)
    for index, raw in table.texts() if table.is_csv else native:
        yield index, list(map(_read if table.is_csv else read_native, raw))


def find_odd_dates(table: GoldTable) -> Iterator[LintFinding]:
    """Dates in a form that only the same spelling matches."""
    for index, cells in table.texts():
        forms = list(map(_date_forms, cells))
        if cells and all(form and not form.keys() & {"ISO text", "YYYYMMDD"} for form in forms):
            unclear = next((cell for cell, form in zip(cells, forms, strict=True) if len(set(form.values())) > 1), None)
            strict = f"; {unclear!r} has two meanings" if unclear is not None else ""
            message = f"{table.column(index)} writes dates as {cells[0]!r}: the official rules compare them as text{strict}"
            yield table.finding("date-format", message, hint="write YYYY-MM-DD")
        elif cells and all(form.get("ISO text", 1) % DAY == 0 for form in forms) and min(len(cell.strip()) for cell in cells) > _DATE:
            message = f"{table.column(index)} writes days with a time of 00:00: a plain date is another text under the official rules"
            yield table.finding("midnight-times", message, hint="the strict rules compare instants")


# With fewer rows a column is too often sorted by chance.
FEWEST_ROWS = 4
# More sort keys are unlikely, and trying all of them takes too long on wide tables.
MOST_KEYS = 4


def find_order_ties(table: GoldTable) -> Iterator[LintFinding]:
    """An order that cannot be reproduced: sorted by a column with ties, and no other column breaks them."""
    if not table.ordered or table.table.n_rows < FEWEST_ROWS or table.spot.check.parameters.get("order_by"):
        return
    ranks = [rank for index in table.needed if (rank := _ranks(table, index)) is not None]
    rows = list(zip(*ranks, strict=True)) if ranks else []
    if not rows or len(set(rows)) < 2:
        return
    # A column of one value is sorted and proves nothing.
    sorted_by = [at for at, column in enumerate(ranks) if len(set(column)) > 1 and _direction(column)]
    if not sorted_by:
        message = "row order counts, and no needed column is sorted"
        yield table.finding("no-order", message, hint="does the question state the order?")
        return
    if any(_explains_order(rows, at, list(range(len(rows)))) for at in sorted_by):
        return
    index = table.needed[sorted_by[0]]
    message = f"row order counts; {table.column(index)} is sorted but has ties, and nothing defines their order"
    line = f'add "order_by": [{index}] to the parameters' if table.spot.check.scorer == "table_match" else "set ignore_orders"
    yield table.finding("order-ties", message, hint=f"{line}, or break the ties in the question")


def _ranks(table: GoldTable, index: int) -> list[int] | None:
    """Return the cells of a column as ranks, empty ones first; None if they cannot be sorted."""
    read = read_cell if table.is_csv else read_native

    def key(cell: Any) -> tuple[int, Any]:
        if isinstance(cell, int | Number):
            return 1, cell if isinstance(cell, int) else cell.exact
        return (0, 0) if cell is None else (2, (str(cell[0]), cell[1]))

    keys = [key(read(cell)) for cell in table.table.columns[index]]
    for names in CALENDAR:
        if all(key[0] == 2 and str(key[1][1])[:3].lower() in names for key in keys):
            return [names.index(str(key[1][1])[:3].lower()) for key in keys]
    try:
        order = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    except TypeError:
        return None
    return [order[key] for key in keys]


def _direction(ranks: Sequence[int]) -> int:
    """Return 1 for a rising column, -1 for a falling one, 0 for neither; ties are allowed."""
    pairs = list(pairwise(ranks))
    if all(x <= y for x, y in pairs):
        return 1
    return -1 if all(x >= y for x, y in pairs) else 0


def _explains_order(rows: Sequence[tuple[int, ...]], by: int, group: Sequence[int], used: frozenset[int] = frozenset()) -> bool:
    """Whether sorting a group of rows by column `by`, then by others, reproduces their order; equal rows have no order to explain."""
    column = [rows[at][by] for at in group]
    if not _direction(column):
        return False
    used |= {by}
    # The column is sorted, so equal values are adjacent.
    tied = [list(part) for _, part in groupby(group, key=lambda at: rows[at][by])]
    open_ = [part for part in tied if len({rows[at] for at in part}) > 1]
    if not open_:
        return True
    others = [other for other in range(len(rows[0])) if other not in used] if len(used) < MOST_KEYS else []
    return any(all(_explains_order(rows, other, part, used) for part in open_) for other in others)


def find_columns_out_of_range(table: GoldTable) -> Iterator[LintFinding]:
    """Columns that gold does not have, and columns that are named twice or by a negative number."""
    n = len(table.table.columns)
    positions = _named_columns(table)
    for index in dict.fromkeys(positions):
        if not -n <= index < n:
            message = f"condition_cols names column {index}, but the last one is {n - 1}"
            yield table.finding("column-out-of-range", message, hint="columns count from 0")
        elif index < 0:
            message = f"condition_cols names column {index}, which is column {index + n}"
            yield table.finding("negative-column", message, hint=f"write {index + n}")
    if len({index % n for index in positions if -n <= index < n}) < sum(-n <= index < n for index in positions):
        yield table.finding("repeated-column", f"condition_cols {positions} names a column twice", hint="name it once")


def _named_columns(table: GoldTable) -> list[int]:
    """Return the columns that the spec names for this table."""
    gold, tabs = table.spot.check.parameters.get("gold"), table.spot.check.parameters.get("condition_tabs")
    names = tabs if table.part and isinstance(tabs, list) else gold if isinstance(gold, list) else [gold]
    table_name = table.part or table.file
    at = next((i for i, name in enumerate(names) if str(name).lower() == table_name.lower()), 0)
    return spec_columns(table.spot, at)


def find_tiny_tables(table: GoldTable) -> Iterator[LintFinding]:
    """Gold without rows, of one row, and of a single cell."""
    if table.table.n_rows == 0:
        yield table.finding("no-rows", "no rows: every table without rows is right", hint="is an empty result intended?")
    elif table.table.n_rows == 1 and len(table.needed) == 1:
        yield table.finding("one-cell", "one row and one needed column: any table of one row that contains the value is right")
    elif table.table.n_rows == 1:
        yield table.finding("one-row", "one row: neither row order nor the combination of rows is tested")


def find_equal_columns(table: GoldTable) -> Iterator[LintFinding]:
    """Two needed columns with equal cells: under the official rules one predicted column matches both."""
    seen: dict[tuple[str, ...], int] = {}
    for index in table.needed if table.table.n_rows > 1 else ():
        cells = tuple(map(str, table.table.columns[index]))
        first = seen.setdefault(cells, index)
        if first != index:
            both = f"{table.column(first)} and {table.column(index)}"
            message = f"{both} are equal: one predicted column matches both under the official rules"
            yield table.finding("equal-columns", message, hint="is one of them an accidental copy?")


def find_empty_columns(table: GoldTable) -> Iterator[LintFinding]:
    """A needed column without a value."""
    if table.table.n_rows == 0:
        return
    for index in table.needed:
        if all(cell is None or (table.is_csv and not str(cell).strip()) for cell in table.table.columns[index]):
            message = f"{table.column(index)} has no value: any empty column is right"
            yield table.finding("empty-column", message, hint="leave it out of condition_cols")


def find_odd_headers(table: GoldTable) -> Iterator[LintFinding]:
    """Header names that occur twice, and a first column that is a library's row index."""
    names = [name.strip().lower() for name in table.table.header]
    twice = next((name for at, name in enumerate(names) if name and name in names[:at]), None)
    if twice is not None:
        yield table.finding("repeated-header", f"two columns are named {twice!r}", hint="give them different names")
    if 0 in table.needed and len(names) > 1 and table.table.n_rows > 1 and (not names[0] or names[0] in ("index", "unnamed: 0")):
        numbers = [str(cell).strip() for cell in table.table.columns[0]]
        if numbers == [str(i) for i in range(len(numbers))]:
            hint = "write the table without its index, or leave column 0 out of condition_cols"
            yield table.finding("index-column", f"{table.column(0)} counts the rows and is needed", hint=hint)


def find_repeated_rows(table: GoldTable) -> Iterator[LintFinding]:
    """Rows that occur twice in the whole table: often a wrong join."""
    rows = list(zip(*(map(str, column) for column in table.table.columns), strict=True)) if len(table.table.columns) > 1 else []
    n_more = len(rows) - len(set(rows))
    if n_more:
        yield table.finding(
            "repeated-rows",
            f"{count_words(n_more, 'row')} {'repeats' if n_more == 1 else 'repeat'} an earlier row",
            hint="did a join duplicate them?",
        )


def find_flat_columns(spot: Spot) -> Iterator[LintFinding]:
    """One list of columns for several gold tables: it applies to each of them."""
    columns, gold = spot.check.parameters.get("condition_cols"), spot.check.parameters.get("gold")
    if not isinstance(columns, list) or not isinstance(gold, list) or spot.check.scorer != "table_match":
        return
    if len(gold) > 1 and columns and all(isinstance(item, int) for item in columns):
        message = f"one list of columns for {len(gold)} gold tables is used for each of them"
        changed = {"condition_cols": [list(columns) for _ in gold]}
        change = lambda evaluation: evaluation["parameters"].update(changed)  # noqa: E731
        yield spot.finding("flat-columns", message, hint="write a list for each table", change=change)


_NULLABLE = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BOOLEAN)")
_NESTED = re.compile(r"(.*\[\d*\]|LIST.*|STRUCT.*|MAP.*|UNION.*)", re.DOTALL)


def find_odd_types(table: GoldTable) -> Iterator[LintFinding]:
    """Columns on which an exact copy fails under the official rules, and dates as text."""
    for index in table.needed if table.table.types is not None else ():
        assert table.table.types is not None
        type_, cells = table.table.types[index], table.table.columns[index]
        if _NESTED.fullmatch(type_):
            message = f"{table.column(index)} is {type_}: the official rules cannot compare it, an exact copy fails"
            yield table.finding("nested-type", message, hint="unnest it")
        elif _NULLABLE.fullmatch(type_) and any(cell is None for cell in cells):
            message = f"{table.column(index)} is {type_} and contains NULL: an exact copy fails under the official rules"
            yield table.finding("typed-null", message, hint="the strict rules compare NULL with NULL")
        elif type_ == "VARCHAR":
            texts = [cell for cell in cells if cell is not None]
            if texts and all("ISO text" in _date_forms(text) for text in texts):
                message = f"{table.column(index)} stores dates as VARCHAR: a table with DATE differs under both rules"
                yield table.finding("date-as-text", message, hint="make it DATE or TIMESTAMP")


def find_quoted_names(table: GoldTable) -> Iterator[LintFinding]:
    """A gold table without `condition_tabs` whose name the reference cannot quote."""
    tables = table.spot.check.parameters.get("condition_tabs")
    if table.part and tables is None and needs_quotes(table.part):
        yield table.finding("quoted-name", "its name needs quotes, which the reference does not write", hint="rename the table")


def find_lists_without_tables(spot: Spot) -> Iterator[LintFinding]:
    """Lists by table without the tables they belong to."""
    parameters = spot.check.parameters
    if spot.check.scorer == "duckdb_match" and not parameters.get("condition_tabs"):
        per_table = [key for key in ("condition_cols", "ignore_orders") if parameters.get(key)]
        if per_table and max(len(parameters[key]) for key in per_table) > 1:
            message = f"{' and '.join(per_table)} follow the order in which the tables were created"
            yield spot.finding("lists-without-tables", message, hint="name the tables in condition_tabs")
