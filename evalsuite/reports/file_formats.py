"""Render any document as Markdown, CSV, JSON, Parquet or JUnit XML; GitHub workflow commands; result files of the Spider 2.0 reference.

Markdown is for comments on pull requests: the most important numbers first, everything else folded. Texts that a submission or gold can
influence are escaped or put in code spans. In a GitHub job all other output is fenced by a random token, so that a line of an answer that
looks like a workflow command stays plain text. The JSON Schemas of runs, comparisons and leaderboards are in `schema/`.

The reference files follow `evaluate.py` of spider2-lite and spider2-snow: the right ids under official rules, sorted, in lite in
`<result_dir>-ids.csv`, where ids of BigQuery, GA and SQLite questions begin with `sf_`, in snow in `<result_dir>.csv`; and `log.txt`.
"Real score" is over all of gold; the benchmark has 547 instances.
"""

import csv
import html
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import raise_no_room, write_error
from evalsuite.core.import_ref import duckdb
from evalsuite.reports.document import LONGEST, Case, Code, Column, Document, Own, Section, Strong, Table, Words, cut_text, pieces, text_of
from evalsuite.reports.run_document import run_document
from evalsuite.runs.run_files import write_atomically
from evalsuite.sandbox.temp_dirs import TempDir

if TYPE_CHECKING:
    from evalsuite.core.types import Result
    from evalsuite.reports.record import Record
    from evalsuite.runs.scoring import Run


# A comment on GitHub has at most 65,536 characters; counting bytes is safe for any script.
MOST_BYTES = 60_000
MOST_IN_A_FOLD = 50
_MARKUP = re.compile(r"([\\`*_{}\[\]|~#!$])")


def as_markdown(document: Document) -> str:
    """Return the document in less than 60 kB; what is left out is counted."""
    sections = list(document.parts("markdown"))
    head = f"### {render_words(document.heading or document.title)}"
    # If space is short, only folded sections and long tables are cut.
    never_cut = [
        section.look == "block" or not (section.is_folded or (section.table is not None and section.table.is_long)) for section in sections
    ]
    whole = {at: _opened_section(section) for at, section in enumerate(sections) if never_cut[at]}
    room = MOST_BYTES - sum(len(part.encode()) + 2 for part in (head, *whole.values()))
    share = max(0, room) // max(1, len(sections) - len(whole))
    cut = {
        at: (_folded_section if section.is_folded else _opened_section)(section, share)
        for at, section in enumerate(sections)
        if at not in whole
    }
    return "\n\n".join(filter(None, (head, *((whole | cut)[at] for at in range(len(sections)))))) + "\n"


def render_words(words: Words) -> str:
    """Render the words; only evalsuite's own markup is kept."""
    return "".join(
        code_span(piece.text, piece.longest)
        if isinstance(piece, Code)
        else f"**{escape_markdown(piece.text)}**"
        if isinstance(piece, Strong)
        else clean(piece.text)
        if isinstance(piece, Own)
        else escape_markdown(piece)
        for piece in pieces(words)
    )


def code_span(text: str, longest: int = LONGEST) -> str:
    """Return the text as a closed code span: one printable line of at most `longest` characters, fenced by enough backticks."""
    text = cut_text(clean(text), longest)
    if not text:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    # Markdown strips one space on each side; it protects a backtick or space at the ends of the text.
    pad = " " if text.strip(" ") and (text[0] in "` " or text[-1] in "` ") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def escape_markdown(text: str) -> str:
    """Escape the text outside a code span: no markup, link, mention or cell border."""
    return _MARKUP.sub(r"\\\1", escape_html(text))


def escape_html(text: str) -> str:
    """Escape the text inside an HTML element of a Markdown document, where a backslash does not escape."""
    escaped = html.escape(clean(text), quote=False)
    # Mentions and URLs become links by themselves; an invisible zero-width space prevents that.
    return escaped.replace("@", "@\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")


def _words_in_table(words: Words) -> str:
    """Render the words in a table; a bar would end the cell even in a code span and becomes a broken bar."""
    if isinstance(words, tuple):
        return "".join(map(_words_in_table, words))
    return render_words(Code(words.text.replace("|", "¦"), min(words.longest, 60)) if isinstance(words, Code) else words)


def _opened_section(section: Section, room: int = MOST_BYTES) -> str:
    if section.look == "block":
        return _fenced_section(section)
    if section.look == "foot":
        return f"<sub>{''.join(map(render_words, section.lines))}</sub>"
    parts = [f"#### {render_words(section.title)}"] if section.title else []
    # Two spaces at the end of a line are a line break.
    parts += ["  \n".join(map(render_words, section.prose))] if section.prose else []
    if section.table is not None:
        rows = list(_markdown_table(section.table))
        fitting = _lines_that_fit(rows, room, len(rows))
        # Leave out a header without rows.
        if len(rows) > 2:
            parts.append("\n".join(fitting))
        if len(fitting) < len(rows):
            parts.append(f"... {len(rows) - len(fitting)} more")
    if bullets := [f"- {render_words(label)}: {render_words(text)}" for label, text in section.pairs]:
        parts.append("\n".join(bullets))
    if bullets := [f"- {render_words(line)}" for line in section.lines if text_of(line)]:
        parts.append("\n".join(bullets))
    parts += [render_words(line) for line in section.below]
    return "\n\n".join(parts)


def _fenced_section(section: Section) -> str:
    """Render the lines unchanged in a fence that they cannot close; unprintable characters become escapes."""
    text = "\n".join(clean(text_of(line)) for line in section.lines)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    fenced = f"{fence}{section.values.get('language', '')}\n{text}\n{fence}"
    if section.is_folded:
        return f"<details><summary>{escape_html(text_of(section.title))}</summary>\n\n{fenced}\n\n</details>"
    return f"{render_words(section.title)}:\n{fenced}" if section.title else fenced


def _folded_section(section: Section, room: int) -> str:
    """Render a folded section with as many lines as fit in the bytes; what is left out is counted. Empty without content."""
    bullets = [f"- {render_words(line)}".rstrip() for line in section.lines]
    is_table = section.table is not None and not section.table.is_listed
    lines = [*(_bulleted_rows(section.table) if section.table is not None else ()), *bullets]
    if not lines:
        return ""
    fitting = _lines_that_fit(lines, room - 200, len(lines) if is_table else MOST_IN_A_FOLD)
    if len(fitting) < len(lines):
        fitting += [*([""] if is_table else []), f"- ... {len(lines) - len(fitting)} more"]
    fitting += ["", *map(render_words, section.below)] if section.below else []
    return f"<details><summary>{escape_html(text_of(section.title))}</summary>\n\n" + "\n".join(fitting) + "\n\n</details>"


def _lines_that_fit(lines: Sequence[str], room: int, most: int) -> list[str]:
    """Return the first lines, limited by number and bytes."""
    fitting: list[str] = []
    for line in lines[:most]:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        fitting.append(line)
    return fitting


def _bulleted_rows(table: Table[Any]) -> Iterator[str]:
    """Return a bullet per row of a listed table, the lines of any other."""
    if not table.is_listed:
        yield from _markdown_table(table)
        return
    columns = table.columns_of("markdown")
    for cells in table.cells("markdown"):
        label_columns = [
            f"{escape_markdown(column.head)} {text}" if column.role == "more" else text
            for column, cell in zip(columns, cells, strict=True)
            if (text := render_words(cell))
        ]
        yield f"- {' '.join(label_columns)}"


def _markdown_table(table: Table[Any]) -> Iterator[str]:
    """Return the lines of a table: texts aligned left, numbers right."""
    columns = table.columns_of("markdown")
    yield "| " + " | ".join(escape_markdown(column.head) for column in columns) + " |"
    yield "| " + " | ".join("--:" if column.is_number else ":--" for column in columns) + " |"
    for cells in table.cells("markdown"):
        yield "| " + " | ".join(map(_words_in_table, cells)) + " |"


_JUNIT_COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def as_junit(document: Document) -> Iterator[str]:
    """Yield the pieces of the XML of a document's suites, with the counts of each suite and of all."""
    suites = document.suites()
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_attributes(name=document.name, **_case_counts([case for suite in suites for case in suite.cases]))}>\n"
    for suite in suites:
        yield f"  <testsuite{_attributes(name=suite.name, **_case_counts(suite.cases))}>\n{_properties(suite.properties, '    ')}"
        yield from map(_case_element, suite.cases)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _case_counts(cases: Sequence[Case]) -> dict[str, object]:
    counts: dict[str, object] = {name: sum(case.kind == kind for case in cases) for name, kind in _JUNIT_COUNTS.items()}
    # Rounded like the times of the cases and of a saved run.
    timed = [round(case.seconds, 6) for case in cases if case.seconds is not None]
    return {"tests": len(cases), **counts, **({"time": f"{sum(timed):.6f}"} if len(timed) == len(cases) else {})}


def _case_element(case: Case) -> str:
    time = {} if case.seconds is None else {"time": f"{case.seconds:.6f}"}
    head = f"    <testcase{_attributes(classname=case.classname, name=case.name, **time)}"
    inside = _properties(case.properties, "      ") if case.properties else ""
    if case.kind != "passed":
        # `skipped` has no type in the schemas of CI systems.
        skipped = case.kind == "skipped"
        message = f"{case.points}: {case.message}" if case.points else case.message
        message = f"{case.type}: {message}" if skipped and not message.startswith(f"{case.type}: ") else message
        body = "\n".join(html.escape(clean(line), quote=False) for line in case.body.split("\n"))
        about = _attributes(**({} if skipped else {"type": case.type}), message=message)
        inside += f"      <{case.kind}{about}" + (f">{body}</{case.kind}>\n" if body else "/>\n")
    return f"{head}>\n{inside}    </testcase>\n" if inside else f"{head}/>\n"


def _properties(pairs: Sequence[tuple[str, str]], margin: str) -> str:
    lines = (f"{margin}  <property{_attributes(name=label, value=value)}/>\n" for label, value in pairs)
    return f"{margin}<properties>\n{''.join(lines)}{margin}</properties>\n"


def _attributes(**values: object) -> str:
    """Quote values as XML attributes. Only printable characters are left, because XML does not allow the others."""
    # Imported here because it loads URL modules that other formats do not need.
    from xml.sax.saxutils import quoteattr

    return "".join(f" {name}={quoteattr(clean(str(value)))}" for name, value in values.items())


# GitHub shows at most ten of each level per step.
MOST_OF_A_KIND = 10


def annotations(document: Document, *, most: int | None = MOST_OF_A_KIND, is_green: bool = False) -> Iterator[str]:
    """Yield `::error file=...,line=...,title=...::reason` for the document's cases, at the lines of the submission.

    At most `most` errors and as many warnings, unjudged instances first; None yields all of them in order. In a job that `is_green`, errors
    become warnings.
    """
    cases = [case for suite in document.suites() for case in suite.cases if case.level]
    if is_green:
        cases = [replace(case, level="warning") if case.level == "error" else case for case in cases]
    if most is None:
        yield from map(_annotation, cases)
        return
    for level in ("error", "warning", "notice"):
        cases_of_level = sorted((case for case in cases if case.level == level), key=lambda case: case.kind != "error")
        yield from map(_annotation, cases_of_level[:most])
        if len(cases_of_level) > most:
            yield workflow_command("notice", f"{len(cases_of_level) - most} more {level}s are in the report")


def _annotation(case: Case) -> str:
    file, _, line = case.place.rpartition(":")
    where = {"file": file, "line": line} if line.isdecimal() else {"file": case.place}
    return workflow_command(case.level, case.message, **where, title=case.title or f"{case.name}: {case.type}")


def workflow_command(name: str, message: str, **properties: str) -> str:
    """Format one workflow command. Empty properties are left out; escaping keeps texts from ending the command or starting another."""
    pairs = ",".join(f"{key}={_escape_for_github(clean(value), ':,')}" for key, value in properties.items() if value)
    return f"::{name}{' ' if pairs else ''}{pairs}::{_escape_for_github(clean(message))}"


def _escape_for_github(text: str, more: str = "") -> str:
    """Escape a text as `@actions/core` does (escapeData and escapeProperty): percent first, then line ends and `more`."""
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text


@contextmanager
def fence_commands(stream: TextIO) -> Iterator[None]:
    """Keep GitHub from reading printed lines as workflow commands inside this context."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", file=stream, flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", file=stream, flush=True)


def submission_lines(run: "Run") -> dict[str, str]:
    """Map each instance to `file:line` in the submission, or in gold if gold is at fault; paths are relative to the workspace."""
    metadata, spec = _relative_to_checkout(run.submission.folder), _relative_to_checkout(run.gold.spec_file)
    lines = {instance.instance_id: f"{spec}:{instance.where.rpartition(':')[2]}" for instance in run.gold.instances}
    blamed = {result.instance_id for result in run.results if result.status == "gold_fault"}
    lines_of_ids = {
        name: f"{metadata}/{answer.where}" for name, answer in run.submission.answers.items() if answer.where and name not in blamed
    }
    return lines | {name: place for name, place in lines_of_ids.items() if name in lines}


def add_to_summary(record: "Record") -> bool:
    """Append the Markdown report to the job summary; False if there is no summary file (`GITHUB_STEP_SUMMARY`). Raises `OutputError`."""

    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return False
    try:
        with Path(path).open("a", encoding="utf-8") as summary:
            summary.write(as_markdown(run_document(record)) + "\n")
    except OSError as error:
        raise write_error("the summary of the job", error) from error
    return True


def _relative_to_checkout(path: Path) -> str:
    full, checkout = path.resolve(), Path(os.environ.get("GITHUB_WORKSPACE") or ".").resolve()
    return (full.relative_to(checkout) if full.is_relative_to(checkout) else path).as_posix()


# Characters that start a formula in a spreadsheet, in both widths.
_FORMULA = frozenset("=+-@＝＋－＠")
_ROWS_A_PIECE = 1000


def as_csv(document: Document) -> Iterator[str]:
    """Yield the pieces of the CSV: a header and one line per row. List items are separated by `;`, absent values are empty."""
    table = document.table("csv")
    columns = table.columns_of("csv")
    yield _csv_lines([[safe_cell(column.name) for column in columns]])
    rows = iter(table.rows)
    while some := list(islice(rows, _ROWS_A_PIECE)):
        yield _csv_lines(zip(*(_column_cells(column, some) for column in columns), strict=True))


def safe_cell(text: str) -> str:
    """Make a text safe for a spreadsheet cell: printable, one line, a formula quoted by `'`."""
    text = clean(text)
    return f"'{text}" if text.lstrip()[:1] in _FORMULA and text.strip() else text


def _column_cells(column: Column[Any], rows: list[Any]) -> list[Any]:
    """Return a column's cells in these rows; numbers are not escaped, so that -1 stays -1."""
    values = map(column.value, rows)
    if (spelled := column.spelled) is not None:
        return [None if value is None else spelled(value) for value in values]
    texts = (";".join(map(str, value)) if isinstance(value, list | tuple) else value for value in values)
    return [value if value is None or isinstance(value, int | float) else safe_cell(str(value)) for value in texts]


def _csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def as_json(document: Document) -> Iterator[str]:
    """Yield the pieces of one JSON object in ASCII.

    Rows are written in pieces, so that the text of 100,000 results is never in memory at once.
    """
    table = document.tables.get("json")
    if table is None:
        yield json.dumps(document.whole, indent=2) + "\n"
        return
    yield json.dumps(document.whole, indent=1, default=_json_default)[:-2] + f',\n "{document.rows_key}": ['
    names = [column.name for column in table.columns_of("json")]
    before = "\n  "
    for values in table.values("json"):
        yield before + json.dumps(dict(zip(names, values, strict=True)), default=_json_default)
        before = ",\n  "
    yield "\n ]\n}\n"


@cache
def schema(subject: str = "run") -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the JSON of a `run`, a `comparison` or a `leaderboard`."""
    document: dict[str, Any] = json.loads((files(__package__) / "schema" / f"{subject}.schema.json").read_text(encoding="utf-8"))
    return document


def _json_default(value: object) -> object:
    """Convert a value that JSON does not support to text; sets become lists."""
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


_SMALLEST_OBJECT = 1 << 24


def as_parquet(document: Document) -> bytes:
    """Return the bytes of a Parquet file of a document's rows; a column of type `JSON` holds JSON text.

    DuckDB reads the rows from a file of JSON lines and writes the Parquet file, so that neither is held as Python objects.
    """
    table = document.table("parquet")
    columns = table.columns_of("parquet")
    names = _names_for_duckdb(columns)
    with TempDir() as folder:
        lines, out = folder / "rows.jsonl", folder / "rows.parquet"
        longest = _SMALLEST_OBJECT
        with lines.open("w", encoding="ascii") as file:
            for values in table.values("parquet"):
                row = {name: _for_duckdb(value, column.type) for name, column, value in zip(names, columns, values, strict=True)}
                longest = max(longest, file.write(json.dumps(row) + "\n"))
        quoted = str(out).replace("'", "''")
        with duckdb.connect(config={"threads": "2"}) as connection:
            connection.execute("SET preserve_insertion_order = true")
            types = (column.type.replace("JSON", "VARCHAR") for column in columns)
            typed = ", ".join("'{}': '{}'".format(name.replace("'", "''"), type_) for name, type_ in zip(names, types, strict=True))
            source = f"read_json(?, format = 'newline_delimited', columns = {{{typed}}}, maximum_object_size = {longest})"
            try:
                connection.execute(f"COPY (SELECT * FROM {source}) TO '{quoted}' (FORMAT parquet, COMPRESSION zstd)", [str(lines)])
            except duckdb.Error as error:
                raise_no_room(out, error)
                raise
        return out.read_bytes()


def _names_for_duckdb(columns: Sequence[Column[Any]]) -> list[str]:
    """The names of columns, which a saved run may choose; DuckDB compares them without case, so a later one may get a number."""
    names: dict[str, str] = {}
    for column in columns:
        name = plain = _for_duckdb(column.name, "VARCHAR")
        n = 1
        while name.casefold() in names:
            n += 1
            name = f"{plain}_{n}"
        names[name.casefold()] = name
    return list(names.values())


def _for_duckdb(value: Any, type_: str) -> Any:
    """Convert a value for JSON; lone surrogates and NUL in texts become their escapes, because UTF-8 cannot encode them."""
    if type_ == "JSON":
        return json.dumps(dict(value), default=str)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    if isinstance(value, list | tuple):
        return [_for_duckdb(item, "") for item in value]
    if isinstance(value, dict):
        return {_for_duckdb(key, ""): _for_duckdb(item, "") for key, item in value.items()}
    return value


LOG = "log.txt"
_TO_SNOWFLAKE = ("bq", "ga", "local")


def write_reference_files(record: "Record", result_dir: Path) -> list[Path]:
    """Write the ids next to the submission folder and the log to the working directory; return both paths. Raises `OutputError`."""
    submitted = sorted((result for result in record.results if result.status != "missing"), key=lambda result: result.instance_id)
    texts = ids_text(submitted, record.layout), log_text(submitted, record.summary.n_gold)
    places = reference_places(result_dir, record.layout)
    for path, text in zip(places, texts, strict=True):
        try:
            write_atomically(path, text)
        except OSError as error:
            raise write_error(path, error, hint="omit --reference-files, or free some space") from None
    return list(places)


def reference_places(result_dir: Path, layout: str) -> tuple[Path, Path]:
    """Return the paths of the ids file and the log."""
    whole = result_dir.absolute()
    return whole.with_name(f"{whole.name}{'' if layout == 'snow' else '-ids'}.csv"), Path(LOG)


def ids_text(submitted: Sequence["Result"], layout: str) -> str:
    """Return the CSV of the ids that are right under the official rules, with the header `instance_id`, in snow `output`."""
    right = [result.instance_id for result in submitted if result.official == 1]
    ids = [f"sf_{name}" if layout == "lite" and name.startswith(_TO_SNOWFLAKE) else name for name in right]
    return "".join(f"{name}\n" for name in ("output" if layout == "snow" else "instance_id", *map(clean, ids)))


def log_text(submitted: Sequence["Result"], n_gold: int) -> str:
    """Return the log: the reason of each wrong answer, the scores by id, and the ratios over submitted and over gold instances."""
    scores = {result.instance_id: int(result.official == 1) for result in submitted}
    n_right, n = sum(scores.values()), len(scores)
    lines = [f"{result.instance_id}: {result.reason}" for result in submitted if result.official != 1]
    lines.append(str(scores))
    lines.append(f"Final score: {n_right / n if n else 0.0}, Correct examples: {n_right}, Total examples: {n}")
    lines.append(f"Real score: {n_right / n_gold if n_gold else 0.0}, Correct examples: {n_right}, Total examples: {n_gold}")
    return "".join(f"{clean(line)}\n" for line in lines)
