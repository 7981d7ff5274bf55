"""`sql_match`: compare the results of the answer's query and of gold's query, by the rules of a known evaluator and by strict rules."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from evalsuite.compare.result_sets import equal_as_bags, equal_as_sets, soft_f1
from evalsuite.compare.strict_columns import PLAIN_TERMS
from evalsuite.compare.strict_tables import judge_table, prove_cause
from evalsuite.compare.verdict import Cause, Strict, join
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError, count_words
from evalsuite.core.plugin_calls import report_official
from evalsuite.core.registry import scorer
from evalsuite.core.scores import Problem, Score, Table
from evalsuite.sql.query_pairs import order_columns

Name = Literal["bird-ex", "test-suite"]
# (result of the answer on each database, result of gold's query there)
Results = tuple[Sequence[Table], Sequence[Table]]
Rows = Sequence[tuple[Any, ...]]


def query_problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """Return problems that prevent running a pair: an empty query or database name."""
    for key, hint in (("gold", "give gold's SQL"), ("database", "the name of a folder or file below --databases")):
        if not str(parameters.get(key, "?")).strip(" \0"):
            yield Problem(code="BAD_SPEC", message=f"{key} is empty", hint=hint)


@scorer(reads="query", validate=query_problems)
def sql_match(prediction: Results, *, gold: str, database: str, evaluator: Name = "bird-ex") -> Score:
    """1 if the answer's query has the same result as gold's query on the same SQLite database, else 0.

    Official: as in the named evaluator. `bird-ex` compares sets of rows on one database; `test-suite` removes DISTINCT from both
    queries and compares multisets of rows under some order of columns, in gold's order if its text contains ORDER BY, on each file of the
    database's folder.
    Strict: on each of these files all rows as often as in gold, each gold column by its own column, kept together in a row; in
    gold's order if its outermost query has ORDER BY.

    Range: 0 or 1. Source: BIRD and Spider's test suite.

    Args:
        prediction: the query.
        gold: gold's query.
        database: the name of the database: `<name>/<name>.sqlite` or `<name>.sqlite` below --databases.
        evaluator: the official rules: `bird-ex` (BIRD) or `test-suite` (Spider).

    Example:
        `{"func": "sql_match", "parameters": {"gold": "SELECT count(*) FROM sale", "database": "shop"}}`
    """
    predicted, expected = prediction
    rows = [list(zip(*table.columns, strict=True)) for table in expected]
    submitted = rows if predicted is expected else [list(zip(*table.columns, strict=True)) for table in predicted]
    official, refused_at = _official(predicted, expected, rows, submitted, gold=gold, evaluator=evaluator)
    report_official(official)
    strict, at = _strict(predicted, expected, [gold_rows == other for gold_rows, other in zip(rows, submitted, strict=True)], gold)
    if refused_at is not None and strict.value == 1:
        tables = expected[refused_at], predicted[refused_at]
        strict = replace(strict, cause=_cause_of_acceptance(tables, rows[refused_at], submitted[refused_at], gold, evaluator))
    elif refused_at is None and strict.value == 0 and at is not None:
        strict = _refusal_of_equal_rows(strict, rows[at], submitted[at], where=_place(at, len(expected)))
    details = {"soft_f1": round(soft_f1(rows[0], submitted[0]), 6), "evaluator": evaluator, "database": database}
    score = join(official, strict)
    return replace(score, details={**score.details, **details})


def _official(
    predicted: Sequence[Table], expected: Sequence[Table], rows: Sequence[Rows], submitted: Sequence[Rows], *, gold: str, evaluator: Name
) -> tuple[Score, int | None]:
    """Return the evaluator's verdict and the first database that refuses, None if none does; each table comes with its rows."""
    ordered = evaluator == "test-suite" and "order by" in gold.lower()
    for at, (gold_rows, others) in enumerate(zip(rows, submitted, strict=True)):
        is_equal = equal_as_bags(gold_rows, others, ordered=ordered) if evaluator == "test-suite" else equal_as_sets(gold_rows, others)
        if not is_equal:
            return Score(
                official=0.0,
                reason=_place(at, len(expected)) + _difference(expected[at], predicted[at], gold_rows, others, ordered=ordered),
            ), at
    on = f" on {len(expected)} databases" if len(expected) > 1 else ""
    how = "rows in gold's order" if ordered else "the same rows" if evaluator == "test-suite" else "the same set of rows"
    return Score(official=1.0, reason=f"{how}: {count_words(expected[0].n_rows, 'row')}{on}"), None


def _difference(gold: Table, predicted: Table, rows: Sequence[Any], submitted: Sequence[Any], *, ordered: bool) -> str:
    if len(gold.header) != len(predicted.header):
        return f"{count_words(len(predicted.header), 'column')}, gold's query gives {len(gold.header)}"
    golds, others = set(rows), set(submitted)
    if golds != others:
        lost, extra = len(golds - others), len(others - golds)
        return (
            f"{lost} of gold's {count_words(len(golds), 'distinct row')} {'is' if lost == 1 else 'are'} not "
            f"among the answer's, {extra} of its own"
        )
    if gold.n_rows != predicted.n_rows:
        return f"{count_words(predicted.n_rows, 'row')}, gold's query gives {gold.n_rows}: the distinct ones are the same"
    is_permuted = ordered and Counter(rows) == Counter(submitted)
    return "the same rows in another order than gold's" if is_permuted else "the same distinct rows, in other numbers"


def _cause_of_acceptance(tables: tuple[Table, Table], rows: Rows, submitted: Rows, gold: str, evaluator: Name) -> Cause:
    """Return why the evaluator refuses rows that strict accepts; strict reads columns by their values, and rounded numbers."""
    expected, predicted = tables
    if len(expected.header) != len(predicted.header):
        return "more columns"
    order, is_test_suite = order_columns(gold, expected.header), evaluator == "test-suite"
    other_order: Cause = "row order" if order is None else "tie order"
    if Counter(rows) == Counter(submitted):
        return other_order
    with suppress(FaultError):
        if equal_as_bags(rows, submitted, ordered=False):
            return other_order if is_test_suite else "column order"
        judged = judge_table(predicted, expected, PLAIN_TERMS, ignore_order=order is None, order_by=order or ())
        cause = prove_cause(
            predicted,
            expected,
            PLAIN_TERMS,
            judged.details["assignment"],
            lambda answer, wanted, _: _is_accepted(wanted, answer, gold=gold, evaluator=evaluator),
            ignore_order=order is None,
            order_by=order or (),
        )
        return "rounding" if cause in ("typed by column", "row pairing") else cause
    return "no cause found"


def _is_accepted(gold_result: Table, answer: Table, *, gold: str, evaluator: Name) -> bool:
    rows = [[list(zip(*table.columns, strict=True))] for table in (gold_result, answer)]
    return _official([answer], [gold_result], *rows, gold=gold, evaluator=evaluator)[1] is None


def _place(at: int, n: int) -> str:
    return f"database {at + 1} of {n}: " if n > 1 else ""


def _refusal_of_equal_rows(strict: Strict, gold: Rows, predicted: Rows, *, where: str) -> Strict:
    """Return the strict refusal of rows that are gold's to the evaluator, with what differs: their order, or how often each occurs."""
    counts = Counter(gold), Counter(predicted)
    if not gold:
        return strict
    if counts[0] == counts[1]:
        return replace(strict, kind="row order", reason=f"{where}the same rows in another order than gold's")
    is_repeated = len(gold) == len(predicted) and counts[0].keys() == counts[1].keys()
    return replace(strict, kind="repeated rows") if is_repeated else strict


def _strict(predicted: Sequence[Table], expected: Sequence[Table], are_same: Sequence[bool], gold: str) -> tuple[Strict, int | None]:
    """Return the strict verdict and the first database that refuses, None if none does. `are_same` marks those with identical rows."""
    order = order_columns(gold, expected[0].header)
    verdicts = []
    for at, (answer, gold_result) in enumerate(zip(predicted, expected, strict=True)):
        if are_same[at] and len(answer.header) == len(gold_result.header):
            verdict = Strict(value=1.0, reason=f"the very same {count_words(gold_result.n_rows, 'row')}")
        else:
            verdict = judge_table(answer, gold_result, PLAIN_TERMS, ignore_order=order is None, order_by=order or ())
        if verdict.value != 1:
            return replace(verdict, reason=_place(at, len(expected)) + verdict.reason), at
        verdicts.append(verdict)
    return verdicts[0], None
