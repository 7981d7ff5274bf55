"""`duckdb_match`: compare tables of a DuckDB database with a gold database. The comparison code is imported late, as in `table_match`."""

from collections.abc import Iterator, Mapping
from typing import Any

from evalsuite.compare.messages import shorten
from evalsuite.compare.official_cells import Reference
from evalsuite.compare.table_parameters import Labels, fold_name, list_problem, needs_quotes
from evalsuite.core.dataclasses import replace
from evalsuite.core.plugin_calls import report_official
from evalsuite.core.registry import scorer
from evalsuite.core.scores import Distance, Fault, Problem, Score, Table
from evalsuite.scorers.table_match import OFFICIAL_ONLY

_A_VIEW = Fault(code="NOT_A_TABLE", detail="found a view, expected a table: today's reference (dbt) and strict read it")


def problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """Return problems of the parameters: no table, lists of different lengths, a name that the reference cannot write in SQL."""
    tables = parameters.get("condition_tabs")
    if tables is None:
        return
    if not tables:
        yield Problem(code="BAD_SPEC", message="condition_tabs names no table", hint="leave it out to compare all tables of gold")
        return
    for name in filter(needs_quotes, tables):
        message = f"the name {shorten(name)} needs quotes, which the reference does not write"
        yield Problem(code="BAD_SPEC", message=message, hint="the strict rules quote names", blocks=OFFICIAL_ONLY)
    message = list_problem(len(tables), parameters.get("condition_cols"), parameters.get("ignore_orders"))
    if message:
        yield Problem(code="BAD_SPEC", message=message, hint="one entry for each of condition_tabs", blocks=OFFICIAL_ONLY)


@scorer(reads="database", validate=problems, gold_files=str)
def duckdb_match(
    prediction: Mapping[str, Table | Fault],
    *,
    gold: Mapping[str, Table | Fault],
    condition_tabs: list[str] | None = None,
    condition_cols: list[list[int]] | None = None,
    ignore_orders: list[bool] | None = None,
    abs_tol: Distance | dict[str, Distance] | None = None,
    rel_tol: Distance | dict[str, Distance] | None = None,
    labels: Labels = "judge",
    reference: Reference = "original",
) -> Score:
    """1 if each of gold's tables (`condition_tabs`, or all) matches the answer's table of that name, as in `table_match`; else 0.

    Names are compared without case. Types count: a DATE does not equal the text of a date.
    Official: columns as in `table_match`; the meaning of NULL depends on the type of its column.
    Strict: native values, NULL equals NULL, exact decimals, rows stay together.

    Range: 0 or 1. Source: Spider 2.0.

    Args:
        prediction: the submitted DuckDB file.
        gold: the gold DuckDB file.
        condition_tabs: the tables that count; none means all base tables of gold.
        condition_cols: for each table the gold columns that count, from 0; [] means all.
        ignore_orders: for each table whether rows may be in any order.
        abs_tol: strict only, allowed difference from gold, integers too: one value, or per gold column by header or position.
        rel_tol: strict only, the same as a fraction of gold.
        labels: strict only, `ignore` if columns may have each other's headers.
        reference: official only, the reference implementation, as in `table_match`: original, or dbt, its code since July 2025.

    Example:
        `{"func": "duckdb_match", "parameters": {"gold": "gold.duckdb", "condition_tabs": ["orders"], "ignore_orders": [true]}}`
    """
    from evalsuite.compare.margins import with_margin
    from evalsuite.compare.official_databases import match_database
    from evalsuite.compare.strict_columns import Terms
    from evalsuite.compare.strict_tables import judge_each
    from evalsuite.compare.table_diff import Comparisons
    from evalsuite.compare.verdict import join

    names, seen = list(gold) if condition_tabs is None else condition_tabs, Comparisons()
    terms = Terms(abs_tol=abs_tol, rel_tol=rel_tol, heeds_labels=labels != "ignore")
    orders: dict[str, Any] = {"needed": condition_cols, "ignore_orders": ignore_orders, "comparisons": seen}
    views = [name for name, table in prediction.items() if isinstance(table, Table) and table.is_view]
    # The reference's code since July 2025 reads views, as strict does.
    plain = prediction if reference == "dbt" else {**prediction, **dict.fromkeys(views, _A_VIEW)}
    official = match_database(plain, gold, tables=names, reference=reference, **orders)
    if not names:
        return official
    report_official(official)
    submitted, expected = ({fold_name(name): table for name, table in side.items()} for side in (prediction, gold))
    answer_tables = [submitted.get(fold_name(name), Fault(code="MISSING_TABLE", detail=f"no table {name!r}")) for name in names]
    gold_tables = [expected.get(fold_name(name), Fault(code="BAD_SPEC", detail=f"gold has no table {name!r}")) for name in names]
    strict = judge_each(answer_tables, gold_tables, terms, names=names, **orders, official=official, reference=reference)
    score = join(official, strict)
    clocks = [name for name, table in zip(names, answer_tables, strict=True) if isinstance(table, Table) and table.reads_clock]
    return _with_clock(with_margin(score, answer_tables, gold_tables, terms=terms, **orders), clocks)


def _with_clock(score: Score, views: list[str]) -> Score:
    """The score with a note on views that read the time: another day may give another verdict, which is therefore not cached."""
    if not views:
        return score
    note = f"{views[0]!r} is a view that may read the clock: another day may give it other rows"
    strict = score.strict_reason and f"{score.strict_reason}; {note}"
    return replace(score, reason=f"{score.reason}; {note}", strict_reason=strict, details={**score.details, "reads_clock": views})
