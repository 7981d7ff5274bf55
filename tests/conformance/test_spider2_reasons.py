"""Every reason on the recorded tables is true: cells stand where it says, differ, and are as many as it counts."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Result
from tests.conformance import predicates as p
from tests.conformance.answer_reasons import Said, untrue_of_answer
from tests.conformance.reasons import PREFIX, Claim, untrue
from tests.conformance.recorded import cases, replayed_submissions

pytestmark = pytest.mark.conformance
SCORERS = ("table_match", "tables_match")
# These speak of a check as a whole or of a fault, not of two tables.
ELSEWHERE = ("BAD_", "LIMIT", "MISSING_", "condition_cols", "WRONG_", "TOO_LARGE", "all ")


def claims(name: str, result: Result) -> Iterator[Claim]:
    """The reasons of a result under both rules, each beside the tables it speaks of."""
    reasons = result.details.get("reasons", {})
    for rule in ("official", "strict"):
        reason = reasons.get(rule, result.reason)
        details: dict[str, Any] = dict(result.details if rule == "official" else result.details.get("strict", {}))
        prefix = PREFIX.match(reason)
        tables = p.pairs(name, result.instance_id)
        at = int(prefix["at"]) - 1 if prefix and prefix["at"] else 0
        if prefix and reason.startswith("table ") and not prefix["at"]:
            at = next(i for i, pair in enumerate(tables) if repr(pair.gold.name) == prefix[2])
        reason = reason[prefix.end() :] if prefix else reason
        if handed_in := re.fullmatch(r"(\d+) tables? submitted, gold has (\d+)", reason):
            assert (int(handed_in[1]), int(handed_in[2])) == p.n_tables(name, result.instance_id)
        elif not reason.startswith(ELSEWHERE) or "needed columns have" in reason:
            pair = pair_of(name, result.instance_id, tables, at, reason_of_gold=bool(prefix))
            if rule == "official":
                pair = replace(pair, ignores_order=pair.ignores_order or p.sorts_apart(result.instance_id))
            yield Claim(pair, reason, details, rule == "official")


def pair_of(name: str, instance_id: str, tables: list[p.Pair], at: int, *, reason_of_gold: bool) -> p.Pair:
    """The tables a reason speaks of: for several accepted golds the one it names."""
    check = next(c for c in p.gold_instances()[instance_id].checks if c.scorer in SCORERS)
    if check.scorer == "tables_match":
        return tables[at]
    parameters = check.parameters
    if not reason_of_gold or isinstance(parameters["gold"], str):
        return tables[0]
    gold = p.gold_table(instance_id, parameters["gold"][at])
    assert gold is not None
    order = p.per_gold(parameters.get("ignore_order", False), at)
    return p.Pair(tables[0].prediction, gold, p.needed(parameters.get("condition_cols"), at, gold), order)


@pytest.mark.parametrize("name", replayed_submissions())
def test_reasons_on_tables_are_true(name: str) -> None:
    """Of every result that a table check decided, both reasons hold on the files."""
    wrong, right = [], Counter[str]()
    for row, result in cases(name):
        if result.scorer not in SCORERS or result.fault or result.status != "scored" or "checks" in result.details:
            continue
        for claim in claims(name, result):
            said = untrue(claim)
            if said:
                wrong.append((row["instance_id"], row["mutation"], claim.official, claim.reason, said))
            else:
                right["official" if claim.official else "strict"] += 1
    print(f"\n{name}: true {dict(right)}")
    assert wrong == []
    assert right.total() > 0


@pytest.mark.parametrize("name", replayed_submissions())
def test_reasons_on_answers_are_true(name: str) -> None:
    """Of every result that a single text or number check decided, both reasons hold on the answer and gold."""
    wrong, n_right = [], 0
    for row, result in cases(name):
        checks = [c for c in p.gold_instances()[row["instance_id"]].checks if c.scorer in ("string_match", "number_match")]
        if result.scorer not in ("string_match", "number_match") or result.fault or len(checks) != 1:
            continue
        answer = str(p.submission(name).answers[row["instance_id"]].value)
        for rule in ("official", "strict"):
            reason = result.details.get("reasons", {}).get(rule, result.reason)
            said = untrue_of_answer(Said(answer, checks[0].parameters, reason, rule == "official"))
            n_right += not said
            if said:
                wrong.append((row["instance_id"], row["mutation"], rule, reason, said, answer[:80]))
    print(f"\n{name}: true {n_right}")
    assert wrong == []


@pytest.mark.parametrize("name", replayed_submissions())
def test_reasons_on_databases_are_true(name: str) -> None:
    """Of every result on a database the named table, columns, numbers of rows and gold's cell are there."""
    wrong, n_right = [], 0
    for row, result in cases(name):
        if result.scorer != "duckdb_match" or result.fault or "table" not in result.details.get("strict", {}):
            continue
        details = result.details["strict"]
        gold, prediction = p.database_tables(name, row["instance_id"], details["table"])
        said = ""
        if "gold_cell" in details:
            cell = gold.columns[details["gold_column"] - 1][details["first_row"] - 1]
            said = "" if shown_natively(cell, details["gold_cell"]) else f"gold's cell there is {cell!r}"
            said = said or ("" if details["predicted_column"] <= len(prediction.columns) else "no such column")
        if "n_gold_rows" in details and (prediction.n_rows, gold.n_rows) != (details["n_rows"], details["n_gold_rows"]):
            said = f"{prediction.n_rows} rows, {gold.n_rows} in gold"
        if any(k > len(prediction.columns) or i > len(gold.columns) for i, k in details.get("assignment", [])):
            said = "no such column"
        n_right += not said
        if said:
            wrong.append((row["instance_id"], row["mutation"], result.reason, said))
    print(f"\n{name}: true {n_right}")
    assert wrong == []


def shown_natively(cell: Any, shown: str) -> bool:
    """Whether a reason may show a database cell so."""
    if cell is None or shown.endswith("..."):
        return cell is not None or shown == "null"
    return shown in (str(cell), repr(cell), f"{cell} 00:00:00", str(int(cell)) if isinstance(cell, bool | float) else "")
