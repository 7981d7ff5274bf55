"""An explanation on a terminal: the cause and how it was proved, the difference, and the statement that shows it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evalsuite.reports.clean import clean

MOST_ROWS: Final = 10
MOST_COLUMNS: Final = 8
WIDEST: Final = 28

Data = Mapping[str, Any]


def evidence_text(instance_id: str, evidence: Data) -> str:
    """Plain lines of one instance's evidence, already cut to what may be shown; every value made printable."""
    lines = [f" instance    {clean(instance_id)}"]
    if evidence.get("status"):
        lines.append(
            f" status      {evidence['status']}" + (f", not right under {evidence['rules']} rules" if evidence.get("rules") else "")
        )
    if evidence.get("reason"):
        lines.append(f" why         {clean(str(evidence['reason']))}")
    lines += _cause(evidence)
    lines += _difference(evidence.get("difference") or {})
    if evidence.get("sql"):
        lines += ["", " show the rows with DuckDB:", *("   " + clean(line) for line in str(evidence["sql"]).splitlines())]
    return "\n".join(lines) + "\n"


def _cause(evidence: Data) -> Iterator[str]:
    found = evidence.get("explanation")
    if not found:
        return
    if found["proved"]:
        yield f" proved      {clean(found['cause'])}: undone, the scorer accepts the answer ({_tries(found['n_attempts'])})"
        for cause in found["causes"]:
            yield "             - " + clean(cause.get("says") or cause["general"])
            if cause.get("where"):
                yield "               " + clean(cause["where"])
    else:
        yield f" proved      no single cause ({_tries(found['n_attempts'])}); the smallest difference is what the reason names"
    for note in found.get("notes", ()):
        yield f" note        {clean(note)}"


def _tries(n: int) -> str:
    return "1 try" if n == 1 else f"{n} tries"


def _difference(data: Data) -> Iterator[str]:
    kind = data.get("kind")
    shown = _KINDS.get(str(kind))
    if shown is not None and len(data) > 1:
        yield ""
        yield from shown(data)


def _table(data: Data) -> Iterator[str]:
    name = f"table {clean(str(data['name']))}: " if data.get("name") else ""
    rows = data.get("n_rows", {})
    order = "in order" if data.get("ordered") else "in any order"
    yield f" {name}{rows.get('predicted')} rows handed in, gold has {rows.get('gold')}; rows are compared {order}"
    counts = data.get("counts")
    if counts is None:
        yield f"   {data.get('note', '')}"
        return
    yield "   " + ", ".join(f"{n} {key.replace('_', ' ')}" for key, n in counts.items())
    for column in data["columns"]:
        if column["predicted"] is None or column["n_wrong"]:
            yield f"   gold column {column['gold']}{_header(column, 'gold')} " + (
                "has no column beside it"
                if column["predicted"] is None
                else f"beside column {column['predicted']}{_header(column, 'predicted')}: {column['n_wrong']} cells differ"
            )
    if data.get("note"):
        yield f"   {data['note']}"
    if any("gold" in cell and (cell["gold"] is not None or cell["predicted"] is not None) for row in data["rows"] for cell in row["cells"]):
        yield from _rows(data)


def _header(column: Data, side: str) -> str:
    name = column.get(f"{side}_header")
    return f" '{clean(str(name))}'" if name is not None else ""


def _rows(data: Data) -> Iterator[str]:
    """The first differing rows: gold above, the answer below it with a mark at each wrong cell."""
    headers = ["row", ""] + [clean(str(column["gold_header"])) for column in data["columns"][:MOST_COLUMNS]]
    lines: list[Sequence[str]] = [headers]
    for row in data["rows"][:MOST_ROWS]:
        cells = row["cells"][:MOST_COLUMNS]
        if row["gold_row"] is not None:
            lines.append([str(row["gold_row"]), "gold", *(_cell(cell["gold"]) for cell in cells)])
        if row["predicted_row"] is not None:
            mark = " " if row["status"] == "extra" else "*"
            lines.append(
                [str(row["predicted_row"]), "answer", *(_cell(c["predicted"]) + ("" if c["equal"] else mark).rstrip() for c in cells)]
            )
    widths = [min(WIDEST, max(len(line[i]) for line in lines)) for i in range(len(headers))]
    for line in lines:
        yield "   " + "  ".join(_fit(text, width) for text, width in zip(line, widths, strict=True)).rstrip()
    cut = data["n_rows_cut"] + max(0, len(data["rows"]) - MOST_ROWS)
    if cut:
        yield f"   ... {cut} more rows differ"


def _cell(value: Any) -> str:
    return "NULL" if value is None else clean(str(value))


def _fit(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "\u2026"


def _tables(data: Data) -> Iterator[str]:
    for name in data.get("missing", ()):
        yield f" table {clean(str(name))} was not handed in"
    for table in data["tables"]:
        counts = table.get("counts")
        if counts is None or counts["rows_changed"] or counts["rows_missing"] or counts["rows_extra"]:
            yield from _table(table)


def _number(data: Data) -> Iterator[str]:
    if "numbers" not in data:
        yield f" {data['n_numbers']} numbers in the answer; gold has {data['n_gold']}"
        return
    yield f" gold        {clean(', '.join(data['gold']))}  (within {data['tolerance']:g})"
    for row in data["numbers"][:MOST_ROWS]:
        far = "within" if row["within"] else f"off by {row['distance']:g}" if isinstance(row["distance"], float) else "off"
        yield f" number      {clean(row['text'])}  {far}"


def _text(data: Data) -> Iterator[str]:
    if "gold" not in data:
        yield f" {sum(data['found'])} of {data['n_gold']} accepted texts found"
        return
    for item in data["gold"][:MOST_ROWS]:
        yield f" gold        {clean(item['text'])}  ({'found' if item['found'] else 'not found'})"
    for text in data["excluded"][:MOST_ROWS]:
        yield f" excluded    {clean(text)}  (stands in the answer)"
    yield f" answer      {clean(data['answer'][:400])}"


def _tree(data: Data) -> Iterator[str]:
    for row in data["rows"][: 2 * MOST_ROWS]:
        values = f": gold {_cell(row['expected'])}, answer {_cell(row['got'])}" if "expected" in row else ""
        yield f"   {row['status']:<14} {clean(str(row['path']))}{values}"
    if data["n_rows"] > 2 * MOST_ROWS:
        yield f"   ... {data['n_rows'] - 2 * MOST_ROWS} more"


def _judge(data: Data) -> Iterator[str]:
    for key, value in data.get("judge", {}).items():
        yield f" {clean(key):<11} {clean(str(value))}"


_KINDS: Final = {"table": _table, "tables": _tables, "number": _number, "text": _text, "tree": _tree, "judge": _judge}
