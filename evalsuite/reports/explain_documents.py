"""Documents that explain a verdict: one instance, two files without a run, and the bundle of a minimal case.

The texts of a bundle come from a submission: they are fenced, and a shell command is only shown if every character of the files can be
pasted.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evalsuite.compare.characters import clean
from evalsuite.compare.values import number_gold
from evalsuite.core.errors import count_words, join_names
from evalsuite.core.version import __version__
from evalsuite.reports.document import (
    MACHINES,
    Case,
    Code,
    Column,
    Document,
    Form,
    Own,
    Picture,
    Section,
    Suite,
    Table,
    Words,
    cut_text,
    percent,
)

if TYPE_CHECKING:
    from evalsuite.analysis.explain.smallest_case import Bundle, File


MOST_ROWS: Final = 10
# Of two files: with its SQL the report fits 40 lines of 80 columns.
MOST_FILE_ROWS: Final = 4
_MOST_SQL_LINES: Final = 15
# Columns that a terminal shows of two files.
_MOST_COLUMNS: Final = 12
_WIDTH: Final = 74
MOST_COLUMNS: Final = 8
WIDEST: Final = 28
_LANGUAGES: Final = {"csv": "csv", "json": "json", "jsonl": "json", "duckdb": "sql"}

Data = Mapping[str, Any]


def explanation_document(instance_id: str, evidence: Data) -> Document:
    """Build the explanation of an instance: the cause and its proof, the difference, and SQL that shows it.

    `evidence` is already redacted.
    """
    facts = [("instance", instance_id), *_evidence_facts(evidence)]
    sql = str(evidence.get("sql") or "").splitlines()
    # If answers are queries, the SQL is both queries in the dialect of their engine.
    title = {"-- gold": "Both queries", "-- answer": "The query"}.get(sql[0] if sql else "", "")

    def sections(form: Form) -> Iterator[Section]:
        if form == "text":
            yield Section(look="lines", lines=[f" {label:<11} {text}" for label, text in facts])
        else:
            yield Section(pairs=_joined_facts(facts))
        yield from _difference_sections(form, evidence.get("difference") or {}, sql, title)

    kind, status, reason = "failure" if evidence.get("rules") else "passed", str(evidence.get("status", "")), evidence.get("reason")
    case = Case(name=instance_id, classname="explanation", kind=kind, type=status, message=str(reason or ""))
    return Document(
        name=instance_id,
        heading=("Explanation of ", Code(instance_id, 80)),
        sections=sections,
        whole={"instance_id": instance_id, **evidence},
        suites=lambda: [Suite(name="explanation", cases=[case])],
    )


def _difference_sections(form: Form, difference: Data, sql: Sequence[str], title: str = "") -> Iterator[Section]:
    """Yield a difference, then the SQL that shows it under its `title`."""
    lines = list(difference_lines(difference))
    if form == "text":
        yield Section(look="lines", lines=lines)
        if sql:
            query = [f" {title.lower() or 'show the rows with DuckDB'}:", *(f"   {line}" for line in sql)]
            # A literal of several lines may not be wrapped.
            yield Section(look="part", lines=query, values={} if any(line.count("'") % 2 for line in sql) else {"language": "sql"})
        return
    if form == "html":
        from evalsuite.reports.html import difference_html

        if drawn := difference_html(difference):
            yield Section(pictures=[Picture("Difference", drawn)])
    else:
        yield Section(look="block", title="Difference", lines=[line for line in lines if line])
    if sql:
        yield Section(look="block", title=title or "SQL that shows the rows in DuckDB", lines=sql, values={"language": "sql"})


def _evidence_facts(evidence: Data) -> Iterator[tuple[str, str]]:
    """Yield (label, text): status, reason and proved causes. A continuation line has an empty label."""
    if evidence.get("status"):
        yield "status", f"{evidence['status']}" + (f", not right under {evidence['rules']} rules" if evidence.get("rules") else "")
    if evidence.get("reason"):
        yield "why", str(evidence["reason"])
    if evidence.get("hint"):
        yield "hint", str(evidence["hint"])
    yield from (("note", str(note)) for note in evidence.get("notes", ()))
    explanation = evidence.get("explanation")
    if not explanation:
        return
    tries = "1 try" if explanation["n_attempts"] == 1 else f"{explanation['n_attempts']} tries"
    if n := explanation.get("n_executions"):
        tries = f"{tries}, {'1 query' if n == 1 else f'{n} queries'} run"
    if explanation["causes"]:
        share = max(cause.get("chance", 0.0) for cause in explanation["causes"])
        counts = f"{tries}; {_chance_words(share)}" if share else tries
        if explanation["proved"]:
            yield "proved", f"{explanation['cause']}: without this error the scorer accepts the answer ({counts})"
        else:
            yield "fits", f"{explanation['cause']}: without this error {_unproved_effect(explanation['causes'])} ({counts})"
        for cause in explanation["causes"]:
            yield "", f"- {cause.get('says') or cause['general']}"
            if cause.get("where"):
                yield "", f"  {cause['where']}"
    elif explanation["n_attempts"]:
        yield "cause", f"none found in {tries}"
    for note in explanation.get("notes", ()):
        yield "note", str(note)


def _unproved_effect(causes: Sequence[Data]) -> str:
    scores = [cause["scores"][1] for cause in causes if cause.get("scores")]
    return (
        f"the score only rises to {max(scores):.2f}"
        if scores and max(scores) < 1
        else "the scorer accepts the answer, but this is no proof"
    )


def _chance_words(share: float) -> str:
    return f"unrelated values fit in {percent(share) if share >= 0.001 else 'less than 0.1 %'} of draws"


def _joined_facts(facts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Join continuation lines to the fact before them."""
    pairs: list[tuple[str, str]] = []
    for label, text in facts:
        if label:
            pairs.append((label, text))
        else:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]} {text.strip()}")
    return pairs


def difference_lines(data: Data) -> Iterator[str]:
    """Yield a difference as terminal lines after an empty line; nothing if there is no difference to show."""
    kind = data.get("kind")
    lines = _LINES_OF_KIND.get(str(kind))
    if lines is not None and len(data) > 1:
        yield ""
        yield from lines(data)


def _table_lines(data: Data) -> Iterator[str]:
    name = f"table {clean(str(data['name']))}: " if data.get("name") else ""
    rows = data.get("n_rows", {})
    order = "in order" if data.get("ordered") else "in any order"
    yield f" {name}{count_words(rows.get('predicted', 0), 'row')} submitted, gold has {rows.get('gold')}; rows are compared {order}"
    counts = data.get("counts")
    if counts is None:
        yield f"   {data.get('note', '')}"
        return
    yield "   " + ", ".join(f"{count_words(n, key.partition('s_')[0])} {key.partition('_')[2]}" for key, n in counts.items())
    for column in data["columns"]:
        column_words = f"   gold column {column['gold']}{_header_words(column, 'gold')}"
        if column["predicted"] is None:
            yield f"{column_words} has no match"
        elif n := column["n_wrong"]:
            other = f"column {column['predicted']}{_header_words(column, 'predicted')}"
            yield f"{column_words} compared with {other}: {count_words(n, 'cell')} {'differs' if n == 1 else 'differ'}"
    if data.get("note"):
        yield f"   {data['note']}"
    if any("gold" in cell and (cell["gold"] is not None or cell["predicted"] is not None) for row in data["rows"] for cell in row["cells"]):
        yield from _differing_rows(data)


def _row_lines(data: Data) -> Iterator[str]:
    """Yield the first differing rows of two files, and what the rows cannot show."""
    if data.get("counts") is None or data.get("note"):
        yield f"   {data.get('note', '')}"
    if data.get("rows"):
        yield from _differing_rows(data, most=MOST_FILE_ROWS)


def _header_words(column: Data, side: str) -> str:
    name = column.get(f"{side}_header")
    return f" '{clean(str(name))}'" if name is not None else ""


def _differing_rows(data: Data, most: int = MOST_ROWS) -> Iterator[str]:
    """Yield the first differing rows: gold above, the answer below with a mark at each wrong cell."""
    gold, answer = data.get("sides", ("gold", "answer"))
    headers = ["row", ""] + [clean(str(column["gold_header"])) for column in data["columns"][:MOST_COLUMNS]]
    lines: list[Sequence[str]] = [headers]
    for row in data["rows"][:most]:
        cells = row["cells"][:MOST_COLUMNS]
        if row["gold_row"] is not None:
            lines.append([str(row["gold_row"]), gold, *(_cell_words(cell["gold"]) for cell in cells)])
        if row["predicted_row"] is not None:
            mark = " " if row["status"] == "extra" else "*"
            marked = (_cell_words(cell["predicted"]) + ("" if cell["equal"] else mark).rstrip() for cell in cells)
            lines.append([str(row["predicted_row"]), answer, *marked])
    widths = [min(WIDEST, max(len(line[i]) for line in lines)) for i in range(len(headers))]
    for line in lines:
        yield "   " + "  ".join(cut_text(text, width).ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
    cut = data["n_rows_cut"] + max(0, len(data["rows"]) - most)
    if cut:
        yield f"   ... {cut} more rows differ"


def _cell_words(value: Any) -> str:
    return "NULL" if value is None else clean(str(value))


def _tables_lines(data: Data) -> Iterator[str]:
    for name in data.get("missing", ()):
        yield f" table {clean(str(name))} is missing"
    for table in data["tables"]:
        counts = table.get("counts")
        if counts is None or counts["rows_changed"] or counts["rows_missing"] or counts["rows_extra"]:
            yield from _table_lines(table)


def _number_lines(data: Data) -> Iterator[str]:
    if "numbers" not in data:
        yield f" {data['n_numbers']} numbers in the answer; gold has {data['n_gold']}"
        return
    yield f" gold        {clean(', '.join(data['gold']))}  (within {data['tolerance']:.4g})"
    for row in data["numbers"][:MOST_ROWS]:
        far = "within" if row["within"] else f"off by {row['distance']:.4g}" if isinstance(row["distance"], float) else "off"
        yield f" number      {clean(row['text'])}  {far}"


def _text_lines(data: Data) -> Iterator[str]:
    if "gold" not in data:
        yield f" {sum(data['found'])} of {data['n_gold']} accepted texts found"
        return
    for item in data["gold"][:MOST_ROWS]:
        yield f" gold        {clean(item['text'])}  ({'found' if item['found'] else 'not found'})"
    for text in data["excluded"][:MOST_ROWS]:
        yield f" excluded    {clean(text)}  (is in the answer)"
    yield f" answer      {clean(data['answer'][:400])}"
    for key in ("missing", "extra"):
        if data.get(key):
            yield f" {key:<11} {clean(', '.join(data[key])[:400])}"
    for item in data.get("nearest", ())[:MOST_ROWS]:
        if item["similarity"] > 0:
            yield f" closest     {clean(item['phrase'])}  ({item['similarity']:.0%} like {clean(item['gold'])})"
    if data.get("segments"):
        yield f" words       {clean(''.join(map(_mark_segment, data['segments'])))}"


def _mark_segment(segment: Data) -> str:
    """Mark `[-gold's-]` and `{+the answer's+}` words in a part of a text."""
    if segment["op"] == "equal":
        return str(segment["gold"])
    lost, more = segment["gold"], segment["predicted"]
    return (f"[-{lost}-]" if lost else "") + (f"{{+{more}+}}" if more else "")


def _tree_lines(data: Data) -> Iterator[str]:
    record = None
    for row in data["rows"][: 2 * MOST_ROWS]:
        if row.get("record") is not None and row["record"] != record:
            record = row["record"]
            yield f" record {clean(str(record))}"
        yield f"   {row['status']:<14} {clean(str(row['path']))}{_leaf_values(row) if 'expected' in row else ''}"
    if data["n_rows"] > 2 * MOST_ROWS:
        yield f"   ... {data['n_rows'] - 2 * MOST_ROWS} more"


def _leaf_values(row: Mapping[str, Any]) -> str:
    """Return both values; as JSON where they look alike: 1 and "1", or the texts "12.5" and "12.50"; nothing for a NULL of one side."""
    values = [_cell_words(row[side]) for side in ("expected", "got")]
    if values[0] == values[1] or all(isinstance(row[side], str) and number_gold(row[side]) is not None for side in ("expected", "got")):
        values = [clean(json.dumps(row[side], ensure_ascii=False)) for side in ("expected", "got")]
    return f": gold {values[0]}, answer {values[1]}" if values[0] != values[1] else ""


def _judge_lines(data: Data) -> Iterator[str]:
    for key, value in data.get("judge", {}).items():
        yield f" {clean(key):<11} {clean(str(value))}"


_LINES_OF_KIND: Final = {
    "table": _table_lines,
    "rows": _row_lines,
    "tables": _tables_lines,
    "number": _number_lines,
    "text": _text_lines,
    "tree": _tree_lines,
    "judge": _judge_lines,
}


def bundle_document(bundle: "Bundle", files: "Sequence[File]", *, signature: str = "") -> Document:
    """Build a bundle: a summary, its `files` (gold's spec first), and one command that scores it."""
    spec = json.loads(files[0].text)
    place = f"/{spec['instance_id']}/"

    def sections(form: Form) -> Iterator[Section]:
        yield _bundle_reasons(bundle)
        sizes = ", ".join(f"{before:,} to {after:,} {what}" for what, before, after in bundle.sizes)
        yield Section(prose=[Own(f"The smallest case with that verdict: {sizes} ({count_words(bundle.n_calls, 'call')} of the scorer).")])
        for note in bundle.notes:
            yield Section(prose=[Own(note)])
        yield _block_of("Spec", json.dumps(spec["evaluation"], ensure_ascii=False), "json")
        if bundle.reads in ("text", "number"):
            yield _block_of("Answer", bundle.answer, "text")
        for file in files:
            if place in file.path:
                yield _block_of(Code(file.path), file.text, _LANGUAGES[file.path.rpartition(".")[2]])
        yield _command_section(files, spec["instance_id"])
        footer = (Own(f"evalsuite {__version__} · "), Code(signature)) if signature else Own(f"evalsuite {__version__}")
        yield Section(look="foot", pairs=[("made with", footer)] if form == "html" else (), lines=[footer] if form != "html" else ())

    case = Case(name=bundle.instance_id, classname=bundle.scorer, kind="failure", type="bundle", message=bundle.reason)
    return Document(
        name=bundle.instance_id,
        heading=(Code(bundle.instance_id, 80), Own(f": {bundle.scorer} says {_bundle_verdict(bundle)}")),
        sections=sections,
        whole={"instance_id": bundle.instance_id, "files": {file.path: file.text for file in files}},
        suites=lambda: [Suite(name="bundle", cases=[case])],
    )


def _bundle_verdict(bundle: "Bundle") -> str:
    if bundle.official == bundle.strict:
        return f"{bundle.official} under both rules"
    cause = f" ({bundle.flip})" if bundle.flip else ""
    return f"{bundle.official} under official, {bundle.strict} under strict rules{cause}"


def _bundle_reasons(bundle: "Bundle") -> Section:
    if bundle.reason == bundle.strict_reason:
        return Section(prose=[Code(bundle.reason)] if bundle.reason else ())
    return Section(pairs=[("official", Code(bundle.reason)), ("strict", Code(bundle.strict_reason))])


def _block_of(title: str | Code, text: str, language: str) -> Section:
    """Build a section of a text with its line ends."""
    return Section(look="block", title=title, lines=text.rstrip("\n").split("\n"), values={"language": language})


def _command_section(files: "Sequence[File]", case: str) -> Section:
    """Build the section of the one command that writes and scores the files, or of the alternative if a character cannot be pasted."""
    texts = "".join(file.text for file in files)
    if any(clean(line) != line for line in texts.split("\n")):
        text = "The files contain characters that cannot be pasted: `evalsuite runs bundle ... -o DIR` writes them."
        return Section(prose=[Own(text)])
    end = "END"
    while end in texts:
        end += "_"
    lines = [f"mkdir -p {' '.join(sorted({file.path.rpartition('/')[0] for file in files}))}"]
    for file in files:
        to = f"cat > {file.path}"
        if file.is_sql:
            to = f"python -c 'import duckdb, sys; duckdb.connect(sys.argv[1]).execute(sys.stdin.read())' {file.path}"
        lines += [f"{to} <<'{end}'", *file.text.rstrip("\n").split("\n"), end]
    lines.append(f"evalsuite check {case} --result_dir submission --gold_dir {files[0].path.partition('/')[0]}")
    return Section(look="block", title="One command, in an empty folder", lines=lines, is_folded=True, values={"language": "sh"})


def files_document(gold: str, prediction: str, comparison: Data) -> Document:
    """Build the report of the differences of two files, from the result of `compare_files` of `explain.file_comparison`."""
    all_rows = Table(columns=_FILE_COLUMNS, rows=comparison["columns"])
    differing = [column for column in comparison["columns"] if column["n_different"] or column["prediction"] is None]

    def sections(form: Form) -> Iterator[Section]:
        yield _fact_section(form, _facts(comparison, gold, prediction), "lines")
        rows = differing[:_MOST_COLUMNS] if form == "text" else differing
        if rows:
            yield Section(title="Columns that differ", table=Table(columns=_FILE_COLUMNS, rows=rows))
        if n_more := len(differing) - len(rows):
            yield Section(look="lines", lines=[f" ... {count_words(n_more, 'more column')} not shown: -o FILE.md lists all"])
        if fields := comparison.get("fields"):
            yield Section(title="Fields", table=Table(columns=_FIELD_COLUMNS, rows=fields))
        difference, sql = dict(comparison["difference"]), str(comparison["sql"]).splitlines()
        if difference.get("kind") == "table":
            # Counts and columns are above.
            sides = [Path(gold).name, Path(prediction).name]
            difference |= {"kind": "rows", "sides": sides if sides[0] != sides[1] else ["gold", "answer"]}
        yield from _difference_sections(form, difference, ())
        yield _fact_section(form, _cause_facts(comparison), "part")
        if form == "text" and sum(-(-len(line) // _WIDTH) for line in sql) > _MOST_SQL_LINES:
            yield Section(look="lines", lines=["", " -o FILE.md also writes the SQL that shows all rows"])
        else:
            yield from _difference_sections(form, {}, sql)

    kind, type_ = ("passed", "") if comparison["equal"] else ("failure", "different")
    case = Case(name=prediction, classname="explanation", kind=kind, type=type_, message=str(comparison["reason"]))
    return Document(
        name=prediction,
        title=(prediction, Own(" against "), gold),
        heading=("Difference of ", prediction, " and ", gold),
        sections=sections,
        last_line="equal" if comparison["equal"] else "different (exit 1)",
        tables={"csv": all_rows, "parquet": all_rows},
        whole={"gold": gold, "prediction": prediction, **comparison},
        suites=lambda: [Suite(name="explanation", cases=[case])],
    )


def _number_column(name: str, title: str, type_: str, words: Callable[[Data], Words] | None = None) -> Column[Data]:
    return Column(name=name, title=title, type=type_, is_number=True, value=lambda row: row[name], words=words)


def _header_column(name: str, title: str, side: str) -> Column[Data]:
    return Column(name=name, title=title, role="name", value=lambda row: row[side], words=lambda row: Code(row[side] or "", _WIDTH))


def _share_column(name: str) -> Column[Data]:
    return _number_column(name, name, "DOUBLE", lambda row: Own(f"{row[name]:.4g}"))


_FILE_COLUMNS: Final[Sequence[Column[Data]]] = (
    _header_column("column", "", "gold"),
    _header_column("prediction", "compared with", "prediction"),
    Column(name="n_compared", type="BIGINT", value=lambda row: row["n_compared"], forms=MACHINES),
    _number_column("n_different", "differ", "BIGINT"),
    Column(
        name="n_null_differences",
        title="NULL on one side",
        type="BIGINT",
        is_number=True,
        value=lambda row: row["n_null_differences"] or None,
    ),
    _number_column(
        "max_difference", "largest difference", "DOUBLE", lambda row: Own("" if (most := row["max_difference"]) is None else f"{most:.4g}")
    ),
)


def _row_words(rows: Mapping[str, int], gold: str, prediction: str) -> str:
    """Return how many rows (or records) both files have, and how many only one."""
    if "equal" not in rows:
        return f"{rows['gold']:,} in {gold}, {rows['prediction']:,} in {prediction}"
    differ = rows.get("different", rows["gold"] - rows["only_in_gold"] - rows["equal"])
    words = f"{rows['equal'] + differ:,} in both, {differ:,} of them with other values"
    return f"{words}; {rows['only_in_gold']:,} only in {gold}, {rows['only_in_prediction']:,} only in {prediction}"


_FIELD_COLUMNS: Final[Sequence[Column[Data]]] = (
    Column(name="field", role="name", value=lambda row: row["field"]),
    _number_column("matches", "matches", "BIGINT"),
    _number_column("mismatches", "wrong", "BIGINT"),
    _number_column("omissions", "missing", "BIGINT"),
    _number_column("hallucinations", "extra", "BIGINT"),
    *(_share_column(name) for name in ("precision", "recall", "f1")),
)


def _facts(comparison: Data, gold: str, prediction: str) -> Iterator[tuple[str, str]]:
    """Yield (label, text): how many rows and columns both files have, and how many only one; the files by their names."""
    if scores := comparison.get("scores"):
        yield "fields", ", ".join(f"{name} {value:.4g}" for name, value in scores.items() if value is not None) + ", over all values"
    if rows := comparison["rows"]:
        yield "rows", _row_words(rows, gold, prediction)
        if comparison["columns"] and not comparison["equal"]:
            by = f", paired by {', '.join(map(repr, comparison['paired_by']))}" if comparison["paired_by"] else ""
            order = "in order" if comparison["difference"].get("ordered") else "in any order"
            yield "compared", f"rows {order}{by}; numbers within 1e-9 (relative), dates and texts by value, in any form"
    for side, file in (("gold", gold), ("prediction", prediction)):
        if names := comparison[f"columns_only_in_{side}"]:
            yield "columns", f"only in {file}: {join_names([repr(cut_text(str(name), _WIDTH)) for name in names])}"


def _cause_facts(comparison: Data) -> Iterator[tuple[str, str]]:
    """Yield (label, text): each cause and note; the reason where no columns are shown, which say more."""
    for cause in comparison["causes"]:
        share = f" ({_chance_words(cause['chance'])})" if cause["chance"] else ""
        yield cause["standing"], f"{cause['name']}: {cause['text']}{share}"
    if comparison["reason"] and not comparison["columns"]:
        yield "why", str(comparison["reason"])
    # The difference above has the note that the tables are too large.
    for note in [note for note in comparison["notes"] if note != comparison["difference"].get("note")][:10]:
        yield "note", str(note)


def _fact_section(form: Form, facts: Iterable[tuple[str, str]], look: str) -> Section:
    """Build a section of (label, text), in a text one line each."""
    if form != "text":
        return Section(pairs=list(facts))
    lines = [f" {label:<10}  {text}" for label, text in facts]
    return Section(look=look, lines=lines)
