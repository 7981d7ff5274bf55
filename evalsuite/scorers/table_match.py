"""`table_match`: a CSV table contains the gold columns; `tables_match`: several tables, each with its own gold.

The comparison code is imported with the first table, because loading gold needs only the signatures.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsuite.compare.messages import with_form
from evalsuite.compare.official_cells import RESULT_SUITES, Reference
from evalsuite.compare.table_parameters import Labels, is_bare, list_problem, needed_columns
from evalsuite.core.errors import count_words
from evalsuite.core.plugin_calls import report_official
from evalsuite.core.registry import scorer
from evalsuite.core.scores import Distance, Fault, Problem, Rule, Score, Table
from evalsuite.readers.csv_dialect import Dialect

OFFICIAL_ONLY: frozenset[Rule] = frozenset({"official"})


def table_problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """Return problems of the parameters. Shapes of `condition_cols` on which the reference raises block only the official rules."""
    yield from _dialect_problems(parameters)
    gold = parameters.get("gold", "?")
    if not gold:
        yield Problem(code="BAD_SPEC", message="gold names no file", hint="name the gold table, or a list of accepted ones")
        return
    n_golds = None if isinstance(gold, str) else len(gold)
    columns, reference = parameters.get("condition_cols", ()), parameters.get("reference", "original")
    yield from _column_problems(columns, n_golds, reference)
    positions = [] if is_bare(columns) else list(columns or ())
    if n_golds is not None and positions and isinstance(positions[0], list) and n_golds < len(positions) and positions != [[]]:
        message = f"condition_cols has {count_words(len(positions), 'list')} for {count_words(n_golds, 'gold table')}; the rest is ignored"
        yield Problem(code="BAD_SPEC", message=message, blocks=frozenset())
    order = parameters.get("ignore_order", False)
    if isinstance(order, list) and (n_golds is None or len(order) != n_golds):
        counts = f"{count_words(len(order), 'value')} for {count_words(n_golds or 1, 'gold table')}"
        message = f"ignore_order has {counts}; the reference takes any list but [] as true"
        yield Problem(code="BAD_SPEC", message=message, hint="one value for each gold table", blocks=frozenset())
    by = parameters.get("order_by", ())
    if any(index < 0 for item in by for index in (item if isinstance(item, list) else [item])):
        message = f"order_by {list(by)} names no column: gold's columns count from 0"
        yield Problem(code="BAD_SPEC", message=message, hint="the columns that gold is ordered by, as [0, 2]", blocks=frozenset())


def _dialect_problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    if message := Dialect.from_parameters(parameters).problem():
        yield Problem(code="BAD_SPEC", message=message, hint="how the CSV files of the answer and of gold are written")


def _column_problems(columns: Any, n_golds: int | None, reference: Reference) -> Iterator[Problem]:
    """Yield why a reference cannot use `condition_cols`. It raises at the first gold that does not fit, so only that one blocks."""
    hint = "[0, 2] for one gold table, [[0, 2], [1]] for a list of two"
    needed = needed_columns(columns, n_golds, reference)
    unfit = next((item for item in needed if isinstance(item, Fault)), None)
    if unfit is not None:
        blocks = OFFICIAL_ONLY if needed[0] is unfit else frozenset[Rule]()
        yield Problem(code="BAD_SPEC", message=unfit.detail, hint=hint, blocks=blocks)
    elif is_bare(columns):
        if needed != [[columns]]:
            meant = "takes all columns" if needed == [[]] else "fails"
            yield Problem(code="BAD_SPEC", message=f"condition_cols is {columns}: the reference {meant}", hint=hint, blocks=frozenset())
    elif reference in RESULT_SUITES and n_golds == 1 and columns and isinstance(columns[0], int) and needed != [list(columns)]:
        meant = "all columns" if needed == [[]] else f"column {columns[0]}"
        message = f"the reference takes {meant}: of a list for one gold table in a list it reads the first entry alone"
        yield Problem(code="BAD_SPEC", message=message, hint=f"write [{list(columns)}]", blocks=frozenset())


@scorer(reads="table", validate=table_problems, gold_files=str | list[str])
def table_match(
    prediction: Table,
    *,
    gold: Table | Fault | Sequence[Table | Fault],
    condition_cols: Sequence[int | list[int] | None] | int | None = (),
    ignore_order: bool | list[bool] = False,
    order_by: Sequence[int | list[int]] = (),
    abs_tol: Distance | dict[str, Distance] | None = None,
    rel_tol: Distance | dict[str, Distance] | None = None,
    percentage: bool = False,
    labels: Labels = "judge",
    reference: Reference = "original",
    delimiter: str = ",",
    encoding: str = "utf-8",  # noqa: ARG001
    decimal: str = ".",  # noqa: ARG001
) -> Score:
    """1 if each needed gold column (`condition_cols`, from 0; none = all) equals some predicted column, for any accepted gold table;
    else 0.

    Headers and further columns do not count. Official: columns are compared one by one within 0.01, each sorted separately with
    `ignore_order`.
    Strict: each gold column has its own predicted column, without a contradicting header, and rows stay together; numbers are equal
    up to float noise and rounding to at least two decimals.

    Range: 0 or 1. Source: Spider 2.0.

    Args:
        prediction: the submitted CSV file.
        gold: the gold CSV file, or a list of accepted ones.
        condition_cols: the gold columns that count, from 0; none means all; a list of lists for several golds. A single number is that
            column; under the official rules each reference treats it as its code does.
        ignore_order: whether rows may be in any order; per gold under strict.
        order_by: strict only, the gold columns (from 0) that rows are ordered by: rows equal in all of them may change places.
        abs_tol: strict only, allowed difference from gold, integers too: one value, or per gold column by header or position.
        rel_tol: strict only, the same as a fraction of gold.
        percentage: strict only, whether a cell like `12.5%` may be 0.125 or 12.5, one of them for a whole column.
        labels: strict only, `ignore` if columns may have each other's headers.
        reference: official only, the reference implementation: Spider 2.0 (original), Lite, Snow or dbt. In Lite and Snow an empty cell
            is 0; in dbt two columns that cannot be compared are not equal, while the original fails.
        delimiter: the character between cells, in the answer and in gold.
        encoding: the encoding of both, by Python's name.
        decimal: the character before the decimals of a number in both.

    Example:
        `{"func": "table_match", "parameters": {"gold": "result.csv", "condition_cols": [0, 2], "ignore_order": true}}`
    """
    from evalsuite.compare.margins import with_margin
    from evalsuite.compare.official_tables import match_golds, nearest_of
    from evalsuite.compare.strict_columns import Terms
    from evalsuite.compare.strict_tables import judge_any
    from evalsuite.compare.table_diff import Comparisons
    from evalsuite.compare.verdict import join

    golds: Sequence[Table | Fault] = gold if isinstance(gold, Sequence) else [gold]
    terms = Terms(abs_tol=abs_tol, rel_tol=rel_tol, percentage=percentage, heeds_labels=labels != "ignore")
    seen = Comparisons()
    needed = needed_columns(condition_cols, None if golds is not gold else len(golds), reference)
    scores = match_golds(prediction, golds, needed=needed, ignore_order=bool(ignore_order), reference=reference, comparisons=seen)
    official = nearest_of(scores)
    report_official(official)
    orders: dict[str, Any] = {"needed": condition_cols, "ignore_order": ignore_order, "order_by": order_by}
    strict = judge_any(prediction, golds, terms, **orders, officials=scores, reference=reference, comparisons=seen)
    score = join(official, strict)
    options: dict[str, Any] = {"needed": condition_cols, "ignore_orders": ignore_order, "order_by": order_by, "terms": terms}
    return with_form(with_margin(score, [prediction], golds, **options, comparisons=seen, any_gold=True), [(prediction, golds)], delimiter)


def tables_problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """Return problems of the parameters: no gold, or lists without one entry per gold table."""
    yield from _dialect_problems(parameters)
    gold = parameters.get("gold", ["?"])
    if not gold:
        yield Problem(code="BAD_SPEC", message="gold names no file", hint="name one gold table for each table of an answer")
        return
    message = list_problem(len(gold), parameters.get("condition_cols"), parameters.get("ignore_orders"))
    if message:
        yield Problem(code="BAD_SPEC", message=message, hint="one value for each gold table", blocks=OFFICIAL_ONLY)


@scorer(reads="tables", validate=tables_problems, gold_files=list[str])
def tables_match(
    prediction: Sequence[Table | Fault],
    *,
    gold: Sequence[Table | Fault],
    condition_cols: list[list[int]] | None = None,
    ignore_orders: list[bool] | None = None,
    abs_tol: Distance | dict[str, Distance] | None = None,
    rel_tol: Distance | dict[str, Distance] | None = None,
    percentage: bool = False,
    labels: Labels = "judge",
    reference: Reference = "original",
    delimiter: str = ",",
    encoding: str = "utf-8",  # noqa: ARG001
    decimal: str = ".",  # noqa: ARG001
) -> Score:
    """1 if the i-th table of the answer matches the i-th gold table for all of them, else 0.

    Official and strict: each pair as in `table_match`, under the same rule.

    Range: 0 or 1. Source: Spider 2.0.

    Args:
        prediction: the submitted CSV files, in gold's order.
        gold: the gold CSV files.
        condition_cols: for each gold the columns that count, from 0; [] means all.
        ignore_orders: for each gold whether rows may be in any order.
        abs_tol: strict only, allowed difference from gold, integers too: one value, or per gold column by header or position.
        rel_tol: strict only, the same as a fraction of gold.
        percentage: strict only, whether a cell like `12.5%` may be 0.125 or 12.5, one of them for a whole column.
        labels: strict only, `ignore` if columns may have each other's headers.
        reference: official only, the reference implementation, as in `table_match`.
        delimiter: the character between cells, in the answer and in gold.
        encoding: the encoding of both, by Python's name.
        decimal: the character before the decimals of a number in both.

    Example:
        `{"func": "tables_match", "parameters": {"gold": ["a.csv", "b.csv"], "condition_cols": [[], [0]], "ignore_orders": [true, false]}}`
    """
    from evalsuite.compare.margins import with_margin
    from evalsuite.compare.official_tables import match_table_list
    from evalsuite.compare.strict_columns import Terms
    from evalsuite.compare.strict_tables import judge_each
    from evalsuite.compare.table_diff import Comparisons
    from evalsuite.compare.verdict import join

    names = [item.name if isinstance(item, Table) else f"gold {i}" for i, item in enumerate(gold, start=1)]
    terms = Terms(abs_tol=abs_tol, rel_tol=rel_tol, percentage=percentage, heeds_labels=labels != "ignore")
    seen = Comparisons()
    message = list_problem(len(gold), condition_cols, ignore_orders) or ("" if gold else "gold names no file")
    if message:
        official = Score(official=None, reason=message, fault=Fault(code="BAD_SPEC", detail=message))
    else:
        needed, orders = condition_cols or [[] for _ in gold], ignore_orders or [False for _ in gold]
        official = match_table_list(prediction, gold, needed=needed, ignore_orders=orders, reference=reference, comparisons=seen)
    report_official(official)
    options: dict[str, Any] = {"needed": condition_cols, "ignore_orders": ignore_orders, "comparisons": seen}
    strict = judge_each(prediction, gold, terms, names=names, **options, official=official, reference=reference)
    score = join(official, strict)
    if message:
        return score
    pairs = zip(prediction, ([table] for table in gold), strict=False)
    return with_form(with_margin(score, prediction, gold, terms=terms, **options), pairs, delimiter)
