"""Two bare files as a document: equal or not, the cause, how many rows and cells of each column differ, and the first of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from evalsuite.reports.case_documents import difference_lines
from evalsuite.reports.document import MACHINES, Case, Column, Document, Form, Own, Picture, Section, Suite, Table

Data = Mapping[str, Any]
MOST_NOTES = 10


def files_document(gold: str, prediction: str, found: Data) -> Document:
    """What `explain.bare_files` found of two files, by their names."""
    columns: list[Column[Data]] = [
        Column(name="column", role="name", value=lambda one: one["gold"]),
        Column(name="prediction", title="beside it", role="name", value=lambda one: one["prediction"]),
        Column(name="n_compared", type="BIGINT", value=lambda one: one["n_compared"], forms=MACHINES),
        Column(name="n_different", title="differ", type="BIGINT", is_number=True, value=lambda one: one["n_different"]),
        Column(
            name="n_null_differences",
            title="NULL on one side",
            type="BIGINT",
            is_number=True,
            value=lambda one: one["n_null_differences"] or None,
        ),
        Column(
            name="max_difference",
            title="largest difference",
            type="DOUBLE",
            is_number=True,
            value=lambda one: one["max_difference"],
            words=lambda one: Own("" if one["max_difference"] is None else f"{one['max_difference']:g}"),
        ),
    ]
    every = Table(columns=columns, rows=found["columns"])
    differing = [one for one in found["columns"] if one["n_different"] or one["prediction"] is None]
    lines = list(difference_lines(found["difference"]))

    def sections(form: Form) -> Iterator[Section]:
        facts = list(_facts(found))
        if form == "text":
            yield Section(look="lines", lines=[f" {label:<10}  {text}" for label, text in facts])
        else:
            yield Section(pairs=facts)
        if differing:
            yield Section(title="Columns that differ", table=Table(columns=columns, rows=differing))
        if form == "html":
            from evalsuite.reports.html import difference_html

            if drawn := difference_html(found["difference"]):
                yield Section(pictures=[Picture("Difference", drawn)])
        elif form == "text":
            yield Section(look="lines", lines=lines)
        else:
            yield Section(look="block", title="Difference", lines=[line for line in lines if line])
        if sql := str(found["sql"]).splitlines():
            shown = [" show the rows with DuckDB:", *(f"   {line}" for line in sql)]
            is_text = form == "text"
            yield Section(look="part" if is_text else "block", title="" if is_text else "SQL", lines=shown if is_text else sql)

    case = Case(
        name=prediction,
        classname="explanation",
        kind="passed" if found["equal"] else "failure",
        type="" if found["equal"] else "different",
        message=str(found["reason"]),
    )
    return Document(
        name=prediction,
        title=(prediction, Own(" against "), gold),
        heading=("Difference of ", prediction, " and ", gold),
        sections=sections,
        last_line="equal" if found["equal"] else "different (exit 1)",
        tables={"csv": every, "parquet": every},
        whole={"gold": gold, "prediction": prediction, **found},
        rows_key="",
        suites=lambda: [Suite(name="explanation", cases=[case], properties=())],
    )


def _facts(found: Data) -> Iterator[tuple[str, str]]:
    """(label, text) of the verdict, each cause, the rows and the columns that one side has alone."""
    if found["reason"]:
        yield "why", str(found["reason"])
    for cause in found["causes"]:
        share = f" (unrelated values fit in {cause['chance']:.1%} of draws)" if cause["chance"] else ""
        yield cause["standing"], f"{cause['name']}: {cause['text']}{share}"
    if not found["causes"] and not found["equal"]:
        tries = "1 try" if found["n_attempts"] == 1 else f"{found['n_attempts']} tries"
        yield "cause", f"no cause found in {tries}"
    if rows := found["rows"]:
        words = {"only_in_gold": "only in gold", "only_in_prediction": "only in the prediction"}
        yield "rows", ", ".join(f"{n:,} {words.get(name, name)}" for name, n in rows.items())
    for side, lone in (("gold", "only in gold"), ("prediction", "only in the prediction")):
        if names := found[f"columns_only_in_{side}"]:
            yield "columns", f"{lone}: {', '.join(map(repr, names))}"
    for note in found["notes"][:MOST_NOTES]:
        yield "note", str(note)
