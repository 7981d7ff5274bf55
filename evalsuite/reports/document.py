"""Document model of all reports: sections of tables with typed cells, lines, facts and pictures.

Each kind of report builds a `Document` in its own module (`run_document.py`, `analysis_documents.py` ...); each renderer (`terminal.py`,
`html.py`, the functions of `file_formats.py`) renders any document. Texts are stored unescaped; each renderer escapes them for its format.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

from evalsuite.core.dataclasses import dataclass, field

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
    """A text that a submission or gold can influence, set in code style where the format can: at most `longest` characters of it."""

    text: str
    longest: int = LONGEST


@dataclass(frozen=True, slots=True)
class Strong:
    """Emphasised words of evalsuite's own."""

    text: str


@dataclass(frozen=True, slots=True)
class Own:
    """Words of evalsuite's own, mostly numbers. They need no escaping."""

    text: str


# A plain `str` may come from anywhere and is escaped; a tuple is a sequence of pieces.
Piece = str | Code | Strong | Own
Words = Piece | tuple[Piece, ...]


def pieces(words: Words) -> tuple[Piece, ...]:
    """Return the pieces of some words."""
    return words if isinstance(words, tuple) else (words,)


def text_of(words: Words) -> str:
    """Join the words to one unescaped text."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces(words))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[R]):
    """One column of a table: its `name` in files for programs, its `title` for people, and its cell in a row.

    `value` returns what programs read (None for absent values), `words` what people read, by default the value. `spelled` is the value in a
    CSV if it needs a special form; `type` is DuckDB's type for Parquet, `JSON` for anything.

    A column with the role `name` identifies the row, a `mark` is a sign, a `why` is long and is shown last. Numbers are aligned right, and
    a cell that `wraps` may take several lines. `short` is the title if space is short, `style` the style of a cell on a terminal. `forms`
    lists the forms that show the column, by default all.
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
        """The title for people."""
        return self.title or self.name

    def cell(self, row: R) -> Words:
        """Return the words of a row for people."""
        if self.words is not None:
            return self.words(row)
        value = self.value(row)
        return "" if value is None else Code(value) if isinstance(value, str) else Own(str(value))


_ROLES: Final = ("name", "mark", "more", "why")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[R]):
    """Rows under columns. `is_long` marks tables with any number of rows; `style` returns a row's style: dim, or none.

    In a `listed` table each row takes one line (or bullet): reasons are cut, names are not. `lines` returns the lines of a row for a
    terminal that shows it as lines instead of columns; `link` the address of a row's page (relative, empty for none); `below` the texts
    below a listed row: (label, text, other text), where words that the other text lacks are marked.
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

    def columns_of(self, form: Form) -> list[Column[R]]:
        """Return the columns of a form; for people names first, then marks, and reasons last."""
        columns = [column for column in self.columns if form in column.forms]
        return sorted(columns, key=lambda column: _ROLES.index(column.role)) if form in ("text", "html") else columns

    def head(self, form: Form) -> list[str]:
        """Return the titles of the columns of a form for people."""
        return [column.head for column in self.columns_of(form)]

    def cells(self, form: Form) -> Iterator[list[Words]]:
        """Yield the cells of each row in a form for people."""
        columns = self.columns_of(form)
        return ([column.cell(row) for column in columns] for row in self.rows)

    def values(self, form: Form) -> Iterator[list[Any]]:
        """Yield the values of each row in a form for programs."""
        columns = self.columns_of(form)
        return ([column.value(row) for column in columns] for row in self.rows)


class Picture(NamedTuple):
    """A picture of an HTML page, with its title and a note below it."""

    title: str
    svg: "Markup"
    note: str = ""


class Tile(NamedTuple):
    """A large count with its colour class (a kind of `status.KINDS`, or none)."""

    n: int
    words: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a document. Its fields are shown in their order; a section without content is not shown.

    `prose` is one paragraph of lines; `pairs` are (label, text); `lines` are separate lines; `below` counts what was left out. A folded
    section opens on demand if the format supports it. `kind` names the rows and `of` their subject, for programs that search for a part;
    `look` selects the layout of a page or terminal, `values` are its parameters. With the look `lines`, or `part` after an empty line, each
    line is printed unwrapped; a `block` keeps its line ends and spaces in every format.
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

    `points` precedes the message of a partly right answer; `seconds` is None if not timed. `place` is `file:line` (or `file`) of an
    annotation, `level` its level (error, warning, notice; empty: none), `title` its title if it differs from name and type; `body` are
    further lines.
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
    """A test suite: its cases, and the properties of all of them."""

    name: str
    cases: Sequence[Case]
    properties: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A report: `name` of its subject, first line (and `heading` of Markdown and of a page's tab), sections, last line.

    Sections are built when a renderer asks for its form, because the evidence of a page takes seconds and the text of 100,000 results much
    memory. `tables` are the rows for programs, `whole` is the JSON object, with its rows under `rows_key`. `width` is the width of the
    plain text in columns. `links` are (words, relative address) of other pages, `feed` is the address of the site's feed.
    """

    name: str
    title: Words = ""
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
        """Return the rows for programs; for a document without rows its facts, as label and text."""
        if form in self.tables:
            return self.tables[form]
        facts = [(text_of(label), text_of(text)) for part in self.parts("markdown") for label, text in part.pairs]
        columns: list[Column[tuple[str, str]]] = [
            Column(name="label", value=lambda pair: pair[0]),
            Column(name="text", value=lambda pair: pair[1]),
        ]
        return Table(columns=columns, rows=facts)

    def parts(self, form: Form) -> Iterator[Section]:
        """Yield the sections of a form that are not empty."""
        for section in self.sections(form):
            filled = (
                section.prose,
                section.table,
                section.pairs,
                section.lines,
                section.below,
                section.pictures,
                section.tiles,
                section.values,
            )
            if any(filled):
                yield section


# Formats of numbers and lists in cells and sentences; a number has the same form in every report.
MOST_IDS = 8
# Smaller p-values are printed as a bound.
_LEAST_P = 0.0001


_NOISE = 1e-7


def rounded(value: float, digits: int, *bounds: float, sign: str = "") -> str:
    """Format with so many decimals, and with more where they would make the value one of the bounds: 99.97 is not 100.0."""
    for more in range(digits, 8):
        text = f"{value:{sign}.{more}f}"
        if float(text) not in bounds or abs(value - float(text)) < _NOISE:
            break
    return text


def percent(value: float, unit: str = " %") -> str:
    """Format a share in [0, 1] as percent with one decimal: `70.8 %`; only 0 is `0.0 %`, and only 1 is `100.0 %`."""
    return f"{rounded(value * 100, 1, 0, 100)}{unit}"


def points(value: float | None) -> str:
    """Format a difference of shares in percentage points with its sign: `+2.5`, and `0.0` for no difference; a dash for none."""
    return "-" if value is None else rounded(value * 100, 1, 0, 100, -100, sign="+") if abs(value) * 100 >= _NOISE else "0.0"


def grade(value: float | None) -> str:
    """Format a score with four digits, with more where they would make it 1; `not judged` for none."""
    if value is None:
        return "not judged"
    return text if (text := f"{value:.4g}") != "1" else f"{value:.9g}"


def p_value(value: float | None) -> str:
    """Format a p-value with three digits, more where they would make it a usual level, very small ones as a bound."""
    if value is None:
        return "-"
    return f"< {_LEAST_P}" if value < _LEAST_P else f"{value:.4f}" if value < 0.01 else rounded(value, 3, 0.01, 0.05, 0.1)


def interval_words(ends: Sequence[float] | None) -> str:
    """`[58.9, 83.0]`, in percent; empty for none."""
    return f"[{percent(ends[0], '')}, {percent(ends[1], '')}]" if ends else ""


def range_words(ends: Sequence[float]) -> str:
    """`52.0-79.9`: the two ends of an interval in [0, 1], in percent."""
    return f"{percent(ends[0], '')}-{percent(ends[1], '')}"


def id_list(ids: Sequence[str]) -> str:
    """List the first ids, and how many more there are."""
    names = ", ".join(ids[:MOST_IDS])
    return names if len(ids) <= MOST_IDS else f"{names} and {len(ids) - MOST_IDS} more"


def and_more(n: int, what: str = "", how: str = "", *, indent: str = "") -> tuple[str, ...]:
    """`... 3 more fields (--json lists all)` in a tuple; an empty one if nothing was left out."""
    return (f"{indent}... {n} more{what and f' {what}'}{how and f' ({how})'}",) if n > 0 else ()


def cut_text(text: str, most: int) -> str:
    """Return a text of at most `most` characters; a longer one ends in an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"
