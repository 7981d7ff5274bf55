"""What a report says, whatever its form: sections of tables with typed cells, lines, facts and pictures.

What there is to report builds a `Document` in a file named for it (`run_document.py`, `gold_documents.py` ...); a renderer
(`terminal.py`, `markdown.py`, `html.py`, `data_files.py`, `ci_files.py`) sets any document in its form. Texts are as they were said:
each renderer makes them safe for itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from markupsafe import Markup


Form = Literal["text", "markdown", "html", "csv", "json", "junit", "parquet"]
PEOPLE: Final[frozenset[Form]] = frozenset({"text", "markdown", "html"})
MACHINES: Final[frozenset[Form]] = frozenset({"csv", "json", "parquet"})
EVERYWHERE: Final[frozenset[Form]] = PEOPLE | MACHINES | {"junit"}
LONGEST = 300
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Code:
    """A text that a submission or gold has a say in, set apart where a form can: at most `longest` characters of it."""

    text: str
    longest: int = LONGEST


@dataclass(frozen=True, slots=True)
class Strong:
    """Words of our own that stand out."""

    text: str


@dataclass(frozen=True, slots=True)
class Own:
    """Words of our own, numbers above all: nothing in them needs to be made safe."""

    text: str


# A plain text may be anybody's; several pieces stand side by side.
Piece = str | Code | Strong | Own
Words = Piece | tuple[Piece, ...]


def pieces(words: Words) -> tuple[Piece, ...]:
    """The pieces of some words."""
    return words if isinstance(words, tuple) else (words,)


def text_of(words: Words) -> str:
    """The words as one text, as they were said."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces(words))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[R]):
    """One column of a table: its `name` in files for machines, its `title` for people, and its cell in a row.

    `value` gives what machines read (None for what there is not), `words` what people read, by default the value; `spelled` is the value in
    a CSV where that needs a form of its own, and `type` DuckDB's for Parquet, `JSON` for anything. A `name` says which row it is, a
    `mark` is a sign, a `why` is long and goes last; a number stands to the right, and a cell that `wraps` may take several lines. `short`
    is the title where there is little room, `style` how a cell looks on a terminal. The column stands in the forms named, by default in
    all.
    """

    name: str
    value: Callable[[R], Any] = lambda _: None
    words: Callable[[R], Words] | None = None
    title: str = ""
    short: str = ""
    role: Literal["name", "mark", "more", "why"] = "more"
    type: str = "VARCHAR"
    spelled: Callable[[Any], str] | None = None
    style: Callable[[R], str] | None = None
    is_number: bool = False
    wraps: bool = False
    forms: frozenset[Form] = EVERYWHERE

    @property
    def head(self) -> str:
        """What people read above the column."""
        return self.title or self.name

    def cell(self, row: R) -> Words:
        """What people read in a row."""
        if self.words is not None:
            return self.words(row)
        value = self.value(row)
        return "" if value is None else Code(value) if isinstance(value, str) else Own(str(value))


_ROLES: Final = ("name", "mark", "more", "why")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[R]):
    """Rows under columns. `is_long` says that there may be any number of rows; `style` gives a row's look: dim, or nothing.

    In a `listed` table no row needs more than a line (or a bullet): its reasons are cut, its names are not. `lines` says how a row reads
    on a terminal where it stands in lines of its own instead of columns, `link` is the address that its name leads to on a page (relative,
    empty for none), `below` what stands under a listed row: (label, text, another text), the words marked that the other one lacks.
    """

    columns: Sequence[Column[R]]
    rows: Iterable[R]
    style: Callable[[R], str] = lambda _: ""
    anchor: Callable[[R], str] | None = None
    link: Callable[[R], str] | None = None
    is_long: bool = False
    is_listed: bool = False
    lines: Callable[[R], Sequence[str]] | None = None
    below: Callable[[R], Sequence[tuple[str, str, str]]] | None = None

    def of(self, form: Form) -> list[Column[R]]:
        """The columns of a form; side by side, a person reads names first, then marks, and reasons last."""
        found = [column for column in self.columns if form in column.forms]
        return sorted(found, key=lambda column: _ROLES.index(column.role)) if form in ("text", "html") else found

    def head(self, form: Form) -> list[str]:
        """The titles of the columns of a form for people."""
        return [column.head for column in self.of(form)]

    def cells(self, form: Form) -> Iterator[list[Words]]:
        """The cells of each row in a form for people."""
        columns = self.of(form)
        return ([column.cell(row) for column in columns] for row in self.rows)

    def values(self, form: Form) -> Iterator[list[Any]]:
        """The values of each row in a form for machines."""
        columns = self.of(form)
        return ([column.value(row) for column in columns] for row in self.rows)


class Picture(NamedTuple):
    """A picture for a page, with its title and a note below it."""

    title: str
    svg: "Markup"
    note: str = ""


class Tile(NamedTuple):
    """A count in large, with the class of its colour (a kind of `outcome.KINDS`, or none)."""

    n: int
    words: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a document: whatever of this it has, in this order. Without any of it, it is not shown.

    `prose` is one paragraph of lines; `pairs` are (label, text); `lines` stand one by one, `below` them what was left out. A folded
    section opens on demand where a form can do that. `kind` says what its rows are and `of` whom it is about, for who looks for a part;
    `look` is how a page and a terminal set it, `values` what a look needs besides. What has the look `lines`, or `part` behind an empty
    line, stands on a terminal as it is, a line each however wide that is; a `block` keeps its line ends and spaces everywhere.
    """

    title: Words = ""
    kind: str = ""
    of: str = ""
    look: str = ""
    prose: Sequence[Words] = ()
    table: Table[Any] | None = None
    pairs: Sequence[tuple[Words, Words]] = ()
    lines: Sequence[Words] = ()
    below: Sequence[Words] = ()
    pictures: Sequence[Picture] = ()
    tiles: Sequence[Tile] = ()
    is_folded: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test case: `kind` is passed, failure, error or skipped; `type` and `message` say why it did not pass. Texts may be hostile.

    `points` stands before the message of what is partly right, `seconds` is None where nothing was timed. `place` is `file:line` (or
    `file`) for an annotation, `level` how bad it is there (error, warning, notice; empty: none), `title` its title where that is not
    name and type; `body` are further lines.
    """

    name: str
    classname: str
    kind: str = "passed"
    type: str = ""
    message: str = ""
    points: str = ""
    place: str = ""
    level: str = ""
    title: str = ""
    body: str = ""
    seconds: float | None = None
    properties: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A test suite: n cases, and what is said of all of them."""

    name: str
    cases: Sequence[Case]
    properties: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A report: `name` of what it is about, its first line (and a `heading` of Markdown and of a page's tab), its parts, its last line.

    Parts are made when a renderer asks for its form: the evidence of a page takes seconds, the text of 100,000 results space. `tables`
    are the rows that files for machines hold, `whole` is the object of its JSON, with the rows of a JSON table under `rows_key`. `width` is
    that of its plain text, in columns. `links` are (words, relative address) of pages beside this one, `feed` is that of its news.
    """

    name: str
    title: Words
    heading: Words = ""
    sections: Callable[[Form], Iterable[Section]] = lambda _: ()
    last_line: Words = ""
    tables: Mapping[Form, Table[Any]] = field(default_factory=dict)
    whole: Mapping[str, Any] = field(default_factory=dict)
    rows_key: str = ""
    suites: Callable[[], Sequence[Suite]] = lambda: ()
    width: int = 150
    last_stands_apart: bool = True
    has_script: bool = False
    links: Sequence[tuple[str, str]] = ()
    feed: str = ""

    def table(self, form: Form) -> Table[Any]:
        """The rows for machines; of a document without rows its facts, as label and text."""
        if form in self.tables:
            return self.tables[form]
        facts = [(text_of(label), text_of(text)) for part in self.parts("markdown") for label, text in part.pairs]
        columns: list[Column[tuple[str, str]]] = [
            Column(name="label", value=lambda pair: pair[0]),
            Column(name="text", value=lambda pair: pair[1]),
        ]
        return Table(columns=columns, rows=facts)

    def parts(self, form: Form) -> Iterator[Section]:
        """The sections of a form that have anything to show."""
        for one in self.sections(form):
            if any((one.prose, one.table, one.pairs, one.lines, one.below, one.pictures, one.tiles, one.values)):
                yield one
