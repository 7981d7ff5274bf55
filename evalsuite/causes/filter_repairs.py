"""Rows too many or too few, and what they share: a filter, a join, a group of NULL. See `row_repairs` for the form of a repair."""

from collections.abc import Iterator, Sequence
from math import exp, lgamma
from typing import Any

from evalsuite.causes.predicates import predicate_of
from evalsuite.causes.row_repairs import MOST_CHANCE, Repaired, as_predicted, gold_header, pick, rows_of, with_rows
from evalsuite.causes.table_alignment import Alignment


def missing_filter(a: Alignment) -> Iterator[Repaired]:
    """Extra rows that a condition tells from all wanted rows: a filter was left out, or a join that would have dropped them."""
    if not a.extra or a.missing or not a.pairs:
        return
    kept, n = sorted(p for _, p in a.pairs), len(a.extra)
    table = pick(a.prediction, kept)
    keys = a.columns.predicted_keys
    if (group := _null_group(keys, a.prediction.header, a.extra, kept)) is not None:
        yield Repaired(
            table, "one row too many, whose key is NULL: a group of NULL, or a total", group, chance=MOST_CHANCE, name="NULL group"
        )
        return
    if n < 2:
        return
    found = predicate_of(a.prediction, a.extra, kept)
    # Few rows that share a value are named all the same, as what fits and is no proof.
    if found is not None and (found.chance <= MOST_CHANCE or (found.size == 1 and not found.of_others)):
        at = f"column {found.column + 1}"
        if found.of_others:
            says, where = (
                f"{n} extra rows fail a condition on {at} that all wanted rows meet",
                f"{found.words} in each wanted row, and in none of them",
            )
        else:
            shared = "share one value of" if found.size == 1 else "meet one condition on"
            says, where = f"{n} extra rows {shared} {at}", f"{found.words} in each of them and in no wanted row"
        yield Repaired(table, f"{says}: a filter is missing", where, chance=min(found.chance, MOST_CHANCE))
    elif (lone := _lone_keys(keys, a.extra, kept)) is not None:
        k, n_values, chance = lone
        says = f"{n} extra rows are all those of {n_values} values of column {k + 1}, which no wanted row has: a join is missing"
        yield Repaired(table, says, repr(a.prediction.header[k]), chance=chance, name="join lost")


def extra_rows(a: Alignment) -> Iterator[Repaired]:
    """Rows too many."""
    if a.extra and not a.missing and len(a.pairs) == a.gold.n_rows:
        kept = sorted(p for _, p in a.pairs)
        yield Repaired(pick(a.prediction, kept), f"{len(a.extra)} row{'s are' if len(a.extra) > 1 else ' is'} too many")


def missing_rows(a: Alignment) -> Iterator[Repaired]:
    """Rows too few, all that are there are gold's: by a LIMIT, a filter, a join that dropped rows, or for no reason that can be seen."""
    if not a.missing or a.extra or (not a.pairs and a.prediction.n_rows) or all(k is None for k in a.partners):
        return
    rows, partner, n = rows_of(a.prediction), dict(a.pairs), len(a.missing)
    whole = with_rows(a.prediction, [rows[partner[row]] if row in partner else as_predicted(a, row) for row in range(a.gold.n_rows)])
    says, where, name = _why_missing(a)
    if not says:
        kind = " at the end, as by a LIMIT" if a.missing[0] == len(a.pairs) and n > 1 else ""
        says = f"{n} row{'s' if n > 1 else ''} of gold {'are' if n > 1 else 'is'} missing{kind}"
    yield Repaired(whole, says, where, puts_gold_in=True, name=name)


def _why_missing(a: Alignment) -> tuple[str, str, str]:
    """(what was found, where, the name of a cause of its own) of the rows that are missing; empty where they have nothing in common."""
    n, there = len(a.missing), [g for g, _ in a.pairs]
    if (group := _null_group(a.columns.gold_keys, [a.gold.header[i] for i in a.needed], a.missing, there)) is not None:
        return "one row of gold is missing, whose key is NULL: a group of NULL, or a total", group, "NULL group"
    if n < 2:
        return "", "", ""
    found = predicate_of(a.gold, a.missing, there)
    if found is not None and found.chance < MOST_CHANCE:
        at = f"column {found.column + 1}"
        if found.of_others:
            return (
                f"{n} rows of gold are missing, all that fail one condition on its {at}: a filter too many",
                f"{found.words} in each row that is there, and in none of them",
                "",
            )
        where = f"{found.words} in each of them and in no row that is there"
        if found.words.endswith(" is NULL"):
            return f"all {n} rows of gold whose {at} is NULL are missing, as by an inner join for a left one", where, "join lost"
        what = "the last ones: a filter or a LIMIT" if a.missing[0] == len(a.pairs) else "a filter"
        return f"all {n} rows of gold that meet one condition on its {at} are missing, {what} too many", where, ""
    if (lone := _lone_keys(a.columns.gold_keys, a.missing, there)) is not None:
        j, n_values, _ = lone
        says = (
            f"all {n} rows of gold of {n_values} values of its column {a.needed[j] + 1} are missing, as by a join that does not have them"
        )
        return says, gold_header(a, j), "join lost"
    return "", "", ""


def _null_group(keys: Sequence[Sequence[Any]], header: Sequence[str], rows: Sequence[int], others: Sequence[int]) -> str | None:
    """The column in which a single row has NULL and all others have a value each of their own, as groups do; None where there is none."""
    if len(rows) != 1 or len(others) < 2:
        return None
    for j, column in enumerate(keys):
        values = {column[row] for row in others}
        if _is_null_key(column[rows[0]]) and len(values) == len(others) and not any(map(_is_null_key, values)):
            return f"{header[j]!r} is NULL"
    return None


def _is_null_key(value: Any) -> bool:
    return value is None


def _lone_keys(keys: Sequence[Sequence[Any]], rows: Sequence[int], others: Sequence[int]) -> tuple[int, int, float] | None:
    """(column, number of values, chance) where the rows are all those of some values of a column whose values repeat; None for no column.

    The chance is that whole values are taken where rows are taken at random: C(values, theirs) of C(rows, theirs), for each column.
    """
    best: tuple[float, int, int] | None = None
    for j, column in enumerate(keys):
        own, rest = {column[row] for row in rows}, {column[row] for row in others}
        if own & rest:
            continue
        n_keys, n_rows = len(own) + len(rest), len(rows) + len(others)
        chance = len(keys) * exp(min(0.0, _log_comb(n_keys, len(own)) - _log_comb(n_rows, len(rows))))
        if chance <= MOST_CHANCE and (best is None or (chance, len(own)) < best[:2]):
            best = chance, len(own), j
    return None if best is None else (best[2], best[1], best[0])


def _log_comb(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
