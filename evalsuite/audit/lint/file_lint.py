"""Lint of gold's files: what is named and not there, there and not named, or there and not readable."""

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

from evalsuite.audit.lint.book import TABLE_FORMS, Book, Found, GoldTable, Kind, Spot
from evalsuite.audit.lint.text_lint import QUESTIONS
from evalsuite.errors import FAULTS, FaultError, describe
from evalsuite.gold.spec import GOLD_QUERY
from evalsuite.readers.csv_table import csv_rows
from evalsuite.readers.gold_files import SUITE_FILE, find_spec, is_bytecode
from evalsuite.readers.paths import FromRoot, inside
from evalsuite.scorers import SCORERS
from evalsuite.tables.wording import other_delimiter
from evalsuite.types import Fault

_UNREAD = {"MISSING_FILE": "missing-file", "BAD_PATH": "bad-path", "BAD_ENCODING": "bad-encoding", "MISSING_TABLE": "missing-table"}
_UNREAD |= {"NOT_A_TABLE": "gold-view"}
_MOST_STRAY = 20


def find_unread_files(book: Book) -> Iterator[Found]:
    """Gold files that the tables' reader could not read, each under the code of its fault."""
    for spot, file, fault in book.unread:
        code = _UNREAD.get(fault.code, "unreadable-file")
        yield spot.finding(code, f"{file}: {fault.detail or FAULTS[fault.code].message}", hint=_unread_hint(book, spot, file, fault))


def _unread_hint(book: Book, spot: Spot, file: str, fault: Fault) -> str:
    if fault.code != "MISSING_FILE":
        return FAULTS[fault.code].hint
    folder = book.folder / spot.instance.instance_id
    near = [place.name for place in folder.iterdir() if place.name.lower() == file.lower()] if folder.is_dir() else []
    return f"there is {near[0]!r}: names keep their case" if near else f"gold files lie in <gold>/{spot.instance.instance_id}/"


def find_repeated_files(spot: Spot) -> Iterator[Found]:
    """A list of gold files with one of them twice."""
    gold = spot.check.parameters.get("gold")
    if spot.reads == "table" and isinstance(gold, list) and len(set(map(str, gold))) < len(gold):
        yield spot.finding("repeated-file", "gold names a file twice among its alternatives", hint="keep one")


def find_stray_files(book: Book) -> Iterator[Found]:
    """Folders that belong to no instance, and files that no check names."""
    used = _named_files(book)
    # In other layouts than the original all instances share a folder of tables, and one of queries.
    shared = {name.split("/")[0] for names in used.values() for name in names if isinstance(name, FromRoot)}
    shared |= {"sql"} if shared else set()
    # Gold that is one file has no folder of its own, and nothing stands in it.
    for folder in sorted(place for place in book.folder.glob("*") if place.is_dir() and not place.name.startswith(".")):
        if folder.name in shared or is_bytecode(folder.name):
            continue
        if folder.name not in book.raw:
            yield _found_at(book, "stray-folder", "", f"{folder.name}/ belongs to no instance", "remove it, or add the instance")
            continue
        if folder.name not in used:
            # A scorer of the user's own may read what it likes.
            continue
        files = [place for place in sorted(folder.rglob("*")) if place.is_file() and not place.name.startswith(".")]
        strays = [place for place in files if place.relative_to(folder).as_posix() not in used[folder.name]]
        for place in strays[:_MOST_STRAY]:
            name = place.relative_to(book.folder).as_posix()
            yield _found_at(book, "stray-file", folder.name, f"no check names {name}", "remove it, or name it in gold")


def _named_files(book: Book) -> dict[str, set[str]]:
    """The files each instance's checks name; an instance with a scorer that is not bundled is left out."""
    from evalsuite.scorers import SCORERS

    used: dict[str, set[str]] = {instance.instance_id: set() for instance in book.instances}
    for spot in book.spots():
        if spot.check.scorer not in SCORERS.bundled:
            used.pop(spot.instance.instance_id, None)
        query = [GOLD_QUERY] if spot.check.extra.get("temporal") is True else []
        for value in (*spot.check.parameters.values(), query):
            names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
            if spot.instance.instance_id in used:
                used[spot.instance.instance_id].update(name for name in names if isinstance(name, str))
    return used


def find_misplaced_files(book: Book) -> Iterator[Found]:
    """Files at the top of the folder that nobody reads as gold: a second spec in the making, a table that lies one folder too high."""
    wanted = {str(name) for names in _named_files(book).values() for name in names}
    for place in sorted(book.folder.glob("*")):
        if place.is_file() and place.name in wanted and place not in (find_spec(book.spec), book.folder / SUITE_FILE):
            yield _found_at(book, "misplaced-file", "", f"{place.name} lies beside the spec", "gold files lie in <gold>/<instance_id>/")


def find_linked_files(book: Book) -> Iterator[Found]:
    """Gold files that are links out of the folder: the hash holds, a copy of the folder does not."""
    for place in sorted(book.folder.rglob("*")):
        if place.is_symlink() and not place.resolve().is_relative_to(book.folder.resolve()):
            owner = place.relative_to(book.folder).parts[0]
            id_ = owner if owner in book.raw else ""
            yield _found_at(
                book,
                "linked-file",
                id_,
                f"{place.relative_to(book.folder).as_posix()} leads out of the gold folder",
                "put the file itself there",
            )


def _found_at(book: Book, code: str, id_: str, message: str, hint: str) -> Found:
    where = f"{book.name}:{book.raw[id_][0]}" if id_ in book.raw else f"{book.name}:1"
    return Found(code=code, where=where, instance_id=id_, message=message, hint=hint)


def find_odd_ids(book: Book) -> Iterator[Found]:
    """Ids that are no folder name, and ids that differ only in case: one folder on many systems."""
    seen: dict[str, str] = {}
    for spot in book.spots():
        id_ = spot.instance.instance_id
        if spot.index:
            continue
        try:
            inside(id_, "x")
            reason = "it begins or ends with a space" if id_ != id_.strip() else ""
        except FaultError as error:
            reason = describe(error.fault)
        if reason:
            files = any(SCORERS.load(check.scorer).marker.reads in TABLE_FORMS for check in spot.instance.checks)
            message = f"the id {id_!r} is no good folder name: {reason}"
            yield spot.finding("bad-id", message, hint="letters, digits, _ and -", severity="error" if files else "warning")
        first = seen.setdefault(id_.casefold(), id_)
        if first != id_:
            message = f"the ids {first!r} and {id_!r} differ only in case"
            yield spot.finding("id-case", message, hint="their folders are one on some systems")


def find_odd_rows(table: GoldTable) -> Iterator[Found]:
    """Lines that are longer or shorter than the header, and blank ones: all of them are read as something else than they look."""
    if not table.is_csv:
        return
    if other := other_delimiter(table.table.header):
        yield table.finding("odd-delimiter", other, hint="save the table with commas between the fields")
    if table.table.ragged_line is not None:
        message = f"line {table.table.ragged_line} has more fields than the header, so its first field is taken for an index"
        yield table.finding("ragged-row", message, hint="quote fields that hold commas")
    short = next((at for at, cell in enumerate(table.table.columns[-1]) if cell is None), None)
    if short is not None:
        yield table.finding("short-row", f"row {short + 1} has fewer fields than the header", hint="write the empty fields")
    blank = _blank_line(table.place)
    if blank:
        yield table.finding("blank-line", f"line {blank} is blank and skipped", hint='an empty cell in a table of one column is written ""')


def _blank_line(place: Path) -> int:
    """The first blank line of a CSV file between its rows, 0 where there is none; blank lines inside quotes and at the end do not count."""
    try:
        text = place.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return 0
    if "\n\n" not in text.replace("\r\n", "\n").rstrip("\n"):
        return 0
    return next((line for line, row in csv_rows(io.StringIO(text.rstrip("\r\n"), newline="")) if not row), 0)


class Twins:
    """Looks for gold that stands in two instances; it remembers the digests of the tables it has seen."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[str, str]] = {}

    def table(self, table: GoldTable) -> Iterator[Found]:
        """A table of at least four cells that equals one seen before."""
        content = table.table
        if content.n_rows * len(content.columns) < 4:
            return
        digest = hashlib.sha256(repr((content.header, [list(column) for column in content.columns])).encode("utf-8", "backslashreplace"))
        here = (table.spot.instance.instance_id, f"{table.file} {table.part}".strip())
        id_, file = self.seen.setdefault(digest.hexdigest(), here)
        if id_ != here[0]:
            yield table.finding("equal-golds", f"the same table is gold of {id_} ({file})", hint="is one of them a copy by mistake?")
        elif file != here[1]:
            yield table.finding("equal-alternatives", f"the same table as {file}", hint="keep one")


def find_equal_questions(book: Book) -> Iterator[Found]:
    """Two instances that ask the same."""
    seen: dict[str, str] = {}
    for spot in book.spots():
        if spot.index:
            continue
        for key in QUESTIONS:
            text = spot.instance.extra.get(key)
            if isinstance(text, str) and text.strip():
                first = seen.setdefault(" ".join(text.casefold().split()), spot.instance.instance_id)
                if first != spot.instance.instance_id:
                    yield spot.finding("equal-questions", f"the same {key} as {first}", hint="is one of them a copy by mistake?")


def found_by_twins(_table: GoldTable) -> Iterator[Found]:
    """Found by `Twins`, which must remember."""
    yield from ()


PER_BOOK = {
    "bad-id": Kind("warning", find_odd_ids, "an instance_id that cannot be a folder name"),
    "id-case": Kind("warning", find_odd_ids, "two ids that differ only in case"),
    "stray-folder": Kind("warning", find_stray_files, "a folder that belongs to no instance"),
    "stray-file": Kind("warning", find_stray_files, "a file that no check names"),
    "misplaced-file": Kind("warning", find_misplaced_files, "a gold file that lies beside the spec and not in its instance's folder"),
    "linked-file": Kind("warning", find_linked_files, "a link that leads out of the gold folder"),
    "equal-questions": Kind("warning", find_equal_questions, "two instances ask the same question"),
}
PER_CHECK = {"repeated-file": Kind("warning", find_repeated_files, "a gold file stands twice among the alternatives")}
PER_TABLE = {
    "odd-delimiter": Kind("warning", find_odd_rows, "a table of one column whose name holds another delimiter than the comma"),
    "ragged-row": Kind("error", find_odd_rows, "a row longer than the header: the columns shift"),
    "short-row": Kind("warning", find_odd_rows, "a row shorter than the header"),
    "blank-line": Kind("warning", find_odd_rows, "a blank line inside a table: it is skipped, though it may be a row"),
    "equal-golds": Kind("warning", found_by_twins, "the same table is gold of two instances"),
    "equal-alternatives": Kind("warning", found_by_twins, "two accepted tables are equal"),
}
# Known only once every table was read.
AFTER_TABLES = {
    "missing-file": Kind("error", find_unread_files, "a gold file is not there"),
    "bad-path": Kind("error", find_unread_files, "a gold file's name leaves the instance's folder"),
    "bad-encoding": Kind("error", find_unread_files, "a gold file is not UTF-8"),
    "unreadable-file": Kind("error", find_unread_files, "a gold file cannot be read as a table or database"),
    "missing-table": Kind("error", find_unread_files, "a gold database lacks a table that is asked for"),
    "gold-view": Kind("error", find_unread_files, "a view stands where a gold table is needed"),
}
