"""Read gold leniently for lint: one broken line does not hide the findings on the others."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evalsuite.compare.table_parameters import is_bare
from evalsuite.core.errors import EvalsuiteError, FaultError, GoldError, describe
from evalsuite.core.types import Check, Fault, GoldInstance, Suite, Table
from evalsuite.gold import spec as gold_reader
from evalsuite.gold.layouts import entries_of, layout_named, layout_of
from evalsuite.gold.suite_yaml import read_suite
from evalsuite.readers.gold_files import find_spec, is_alone
from evalsuite.readers.json_text import Obj
from evalsuite.readers.jsonl import Layout
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_answer import read_gold_files
from evalsuite.readers.paths import inside, open_trusted
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
        kept = {key: getattr(self, key) for key in ("code", "severity", "where", "instance_id", "message", "hint")}
        return {**kept, "fixable": self.change is not None}


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
        return LintFinding(
            code=code,
            where=self.check.where,
            instance_id=self.instance.instance_id,
            message=message,
            hint=hint,
            severity=severity,
            change=Change(check=self.index, apply=change) if change is not None else None,
        )


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

    @property
    def is_csv(self) -> bool:
        """Whether cells are the text of a file rather than native values."""
        return self.table.types is None

    def finding(self, code: str, message: str, *, hint: str = "", severity: Severity | Literal[""] = "") -> LintFinding:
        """Return a finding in this table, located at its check; the message begins with the file."""
        named = f"{self.file} {self.part}".strip()
        return replace(self.spot.finding(code, f"{named}: {message}", hint=hint, severity=severity), about=named)

    def column(self, index: int) -> str:
        """Return a column for people: `column 2 'revenue'`, counted from 1."""
        return f"column {index + 1} {self.table.header[index]!r}"


@dataclass(slots=True)
class Book:
    """The readable part of a gold folder: instances with their raw objects, the suite, and the lines that could not be read."""

    folder: Path
    spec: Path
    name: str
    suite: Suite
    limits: Mapping[str, int | float]
    instances: list[GoldInstance] = field(default_factory=list)
    raw: dict[str, tuple[int, Obj]] = field(default_factory=dict)
    broken: list[LintFinding] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    unread: list[tuple[Spot, str, Fault]] = field(default_factory=list)
    make: gold_reader.MakeInstance = gold_reader.instance_of

    def spots(self) -> Iterator[Spot]:
        """Yield every check of every instance, in file order."""
        for instance in self.instances:
            for index, check in enumerate(instance.checks):
                yield Spot(instance=instance, check=check, index=index)

    def tables(self) -> Iterator[GoldTable]:
        """Yield every readable gold table, one at a time; add unreadable tables and absent queries to `unread`."""
        for spot in self.spots():
            if spot.is_living:
                self._look_for_queries(spot)
            elif spot.reads in TABLE_FORMS:
                yield from self._tables_of(spot)

    def _look_for_queries(self, spot: Spot) -> None:
        given = spot.check.parameters["gold"]
        for name in given if isinstance(given, list) else [given]:
            try:
                there = (self.folder / inside(spot.instance.instance_id, name)).is_file()
            except FaultError as error:
                self.unread.append((spot, name, error.fault))
            else:
                if not there:
                    self.unread.append((spot, name, Fault(code="MISSING_FILE")))

    def _tables_of(self, spot: Spot) -> Iterator[GoldTable]:
        given = spot.check.parameters.get("gold")
        names = [given] if isinstance(given, str) else [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
        for at, file in enumerate(names):
            for number, (part, table) in enumerate(self._read(spot, file)):
                place = at if spot.reads != "database" else number
                columns = wanted_columns(spot, place)
                n = len(table.columns)
                needed = tuple(dict.fromkeys(i % n for i in columns if -n <= i < n)) if columns and n else ()
                yield GoldTable(
                    spot=spot,
                    file=file,
                    part=part,
                    table=table,
                    needed=needed or tuple(range(n)),
                    ordered=not ignores_order(spot, place),
                    place=self.folder / spot.instance.instance_id / file,
                )

    def _read(self, spot: Spot, file: str) -> Iterator[tuple[str, Table]]:
        """Yield (name in a database, table) of one gold file."""
        tabs = spot.check.parameters.get("condition_tabs")
        parameters = {"gold": file, "condition_tabs": tabs if _are_names(tabs) else None}
        id_ = spot.instance.instance_id
        form = "database" if spot.reads == "database" else "table"
        try:
            read = read_gold_files(form, parameters, folder=self.folder, instance_id=id_, limits=self.limits)["gold"]
        except FaultError as error:
            self.unread.append((spot, file, reader_fault(error)))
            return
        for part, table in read.items() if isinstance(read, Mapping) else [("", read)]:
            if isinstance(table, Fault):
                self.unread.append((spot, f"{file} {part}".strip(), table))
            else:
                yield part, table


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def reader_fault(error: FaultError) -> Fault:
    """Return the reader's own fault behind the gold fault."""
    while isinstance(error.__cause__, FaultError):
        error = error.__cause__
    return error.fault


def wanted_columns(spot: Spot, at: int) -> list[int]:
    """Return the columns that the spec names for the `at`-th gold table; an empty list means all."""
    given = spot.check.parameters.get("condition_cols")
    given = [given] if is_bare(given) else given
    if not isinstance(given, list):
        return []
    nested = bool(given) and all(isinstance(item, list) for item in given)
    if nested:
        given = given[at] if at < len(given) else []
    return [item for item in given if isinstance(item, int) and not isinstance(item, bool)]


def ignores_order(spot: Spot, at: int) -> bool:
    """Whether the `at`-th gold table is compared without regard to row order."""
    key = "ignore_order" if spot.reads == "table" else "ignore_orders"
    given = spot.check.parameters.get(key, False)
    if isinstance(given, list):
        return bool(given[at]) if at < len(given) else False
    return bool(given)


def open_book(folder: Path) -> Book:
    """Read a gold folder although single lines of it may be broken.

    Raises:
        GoldError: there is no spec file that can be opened.
    """
    spec = find_spec(folder)
    name = f"{spec.resolve().parent.name}/{spec.name}"
    broken: list[LintFinding] = []
    try:
        suite = read_suite(spec.parent)
        limits = resolve_limits(suite.limits)
    except EvalsuiteError as error:
        where, _, message = error.message.partition(": ")
        broken.append(LintFinding(code="bad-suite", where=where, instance_id="", message=message, hint=error.hint))
        suite, limits = Suite(name=spec.resolve().parent.name), resolve_limits()
    laid_out = layout_named(layout_of(spec))
    make = laid_out.maker(spec)
    book = Book(folder=spec if is_alone(spec) else spec.parent, spec=spec, name=name, suite=suite, limits=limits, broken=broken, make=make)
    layout = Layout()
    try:
        handle = open_trusted(spec, limit_bytes=limits["metadata_bytes"])
    except FaultError as error:
        raise GoldError(f"{name}: {describe(error.fault)}") from None
    with handle:
        for entry in entries_of(laid_out)(handle, limits=limits, layout=layout):
            if entry.fault is not None:
                where = f"{name}:{entry.line}"
                broken.append(
                    LintFinding(
                        code="unreadable-line",
                        where=where,
                        instance_id=entry.instance_id or "",
                        message=describe(entry.fault),
                        hint=entry.hint,
                    )
                )
            else:
                _take(book, entry.line, entry.value or {})
    book.notes = [(line, text) for text, line in layout.notes.items()]
    return book


def _take(book: Book, line: int, value: Obj) -> None:
    where = f"{book.name}:{line}"
    id_ = value.get("instance_id")
    try:
        instance = book.make(value, where, book.suite)
    except EvalsuiteError as error:
        code = "unknown-scorer" if "unknown scorer" in error.message else "bad-entry"
        message = error.message.removeprefix(f"{where}: ")
        book.broken.append(
            LintFinding(code=code, where=where, instance_id=id_ if isinstance(id_, str) else "", message=message, hint=error.hint)
        )
        return
    if instance.instance_id in book.raw:
        first = book.raw[instance.instance_id][0]
        book.broken.append(
            LintFinding(
                code="duplicate-id",
                where=where,
                instance_id=instance.instance_id,
                message=f"duplicate instance, first on line {first}",
                hint="give each instance its own id",
            )
        )
        return
    book.instances.append(instance)
    book.raw[instance.instance_id] = (line, value)
