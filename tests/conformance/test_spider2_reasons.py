"""Every reason on the recorded tables is true: cells stand where it says, differ, and are as many as it counts."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from evalsuite.types import Result
from tests.conformance import predicates as p
from tests.conformance.reasons import PREFIX, Claim, untrue
from tests.conformance.recorded import expected, scored, submissions

pytestmark = pytest.mark.conformance
FOLDERS = submissions()
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
        if handed_in := re.fullmatch(r"(\d+) tables? handed in, gold has (\d+)", reason):
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


@pytest.mark.parametrize("name", FOLDERS)
def test_reasons_on_tables_are_true(name: str) -> None:
    """Of every result that a table check decided, both reasons hold on the files."""
    results = {result.instance_id: result for result in scored(name).results}
    wrong, right = [], Counter[str]()
    for row in expected(name):
        result = results[row["instance_id"]]
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
