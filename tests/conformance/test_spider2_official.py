"""The recorded folders: official equals the reference, strict is a careful judge's, reasons are true, and the command agrees."""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsuite.compare.verdict import CAUSES
from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Result
from evalsuite.scorers import SCORERS
from tests.conformance import predicates as p
from tests.conformance.answer_reasons import Said, untrue_of_answer
from tests.conformance.reasons import PREFIX, Claim, untrue
from tests.conformance.recorded import (
    EXEMPT,
    UNUSED,
    cases,
    expected,
    gold_folder,
    replayed_submissions,
    scored,
    submission_folder,
    submissions,
)
from tests.conftest import corpus, is_default_corpus
from tests.processes import finished
from tests.properties import is_full

pytestmark = pytest.mark.conformance

FOLDERS = submissions()


def test_recorded_cases_are_there() -> None:
    """A present corpus holds folders with more than zero cases; the default one all eight with 4,569."""
    corpus("spider2")
    total = sum(len(expected(name)) for name in FOLDERS)
    assert total > 0
    if is_default_corpus():
        assert (len(FOLDERS), total) == (8, 4569)


@pytest.mark.parametrize("name", replayed_submissions())
def test_official_equals_the_record(name: str) -> None:
    """Every recorded 0 or 1 is our official score (a null official agrees with a 0), but for the two mutations refused by design.

    Where the record is null (the reference's run dies) there is a status and a reason.
    """
    differing, exempted, agreed = [], Counter[str](), 0
    for row, result in cases(name):
        assert result.status in {"scored", "missing", "submission_fault", "gold_fault", "timeout", "crashed", "unscored"}, row
        assert result.reason or row["score"] is not None or row["mutation"] in UNUSED, row["mutation"]
        assert set(row["funcs"]) <= set(SCORERS.names()), f"unknown scorer in {row['instance_id']}: {row['funcs']}"
        if row["mutation"] in EXEMPT:
            exempted[row["mutation"]] += 1
        elif row["score"] in (0, 1):
            if (result.official or 0) == row["score"]:
                agreed += 1
            else:
                differing.append((row["instance_id"], row["mutation"], row["score"], result.official, result.reason))
    print(f"\n{name}: {agreed} equal, exempt " + (", ".join(f"{m} {n} ({EXEMPT[m]})" for m, n in exempted.items()) or "none"))
    assert differing == []
    assert agreed > 0


Exempt = Callable[[str, str], str]


def never(name: str, instance_id: str) -> str:
    """No case is exempt."""
    return ""


def where_tables(*, says: str, when: Callable[[p.Pair], bool]) -> Exempt:
    """Exempt unless some table of the answer fulfils the predicate and no other accepted gold takes the result."""

    def exempt(name: str, instance_id: str) -> str:
        pairs = p.pairs(name, instance_id)
        if not any(when(pair) for pair in pairs):
            return says
        return "another accepted gold takes the result" if any(p.takes_another(pair) for pair in pairs) else ""

    return exempt


def unless_tables(*, says: str, when: Callable[[p.Pair], bool]) -> Exempt:
    """Exempt where some table of the answer fulfils the predicate."""
    return lambda name, instance_id: says if any(when(pair) for pair in p.pairs(name, instance_id)) else ""


def either(*rules: Exempt) -> Exempt:
    """Exempt by the first rule that exempts."""
    return lambda name, instance_id: next((said for rule in rules if (said := rule(name, instance_id))), "")


def unless(holds: Callable[[str], bool], says: str) -> Exempt:
    """Exempt where the predicate of the instance does not hold."""
    return lambda _, instance_id: "" if holds(instance_id) else says


ROWS_CHANGE = where_tables(says="the needed rows are gold's", when=p.rows_change)
CELL_CHANGES = either(ROWS_CHANGE, unless_tables(says="an unneeded column equals the needed one", when=p.has_stand_in))
NULL_LOST = where_tables(says="no needed cell was empty", when=lambda pair: p.had_needed_null(pair) and p.rows_change(pair))
NO_ZEROS = unless_tables(says="leading zeros in a needed column", when=p.has_leading_zeros)
ANY_ORDER = unless_tables(says="the order of rows counts", when=lambda pair: not pair.ignores_order)
READABLE = unless(p.golds_readable, "gold is not readable")
REFUSED: dict[str, Exempt] = {
    **dict.fromkeys(("ans_hedge_many", "dup_rows", "missing_rows", "db_dup_rows", "db_missing_rows"), never),
    **dict.fromkeys(("db_nulls", "db_perturb_far", "db_empty_table"), never),
    "break_row_assoc": ROWS_CHANGE,
    "replace_row_by_dup": ROWS_CHANGE,
    **dict.fromkeys(("null_to_zero", "null_to_false"), NULL_LOST),
    **dict.fromkeys(("int_plus_one", "num_to_zero", "negate_one", "bigint_plus1"), CELL_CHANGES),
    "ragged_all_long": where_tables(says="gold has no row", when=lambda pair: pair.gold.n_rows > 0),
    "ans_negated": unless(p.sign_matters, "a gold is 0 or another's opposite"),
}
ACCEPTED: dict[str, Exempt] = {
    **dict.fromkeys(
        ("exact_copy", "shuffle_cols", "rename_headers", "extra_cols", "index_col", "float_trailing_zeros", "bom", "crlf"), never
    ),
    **dict.fromkeys(("quote_all", "sci_notation", "db_rewritten", "db_shuffle_cols", "db_extra_table", "db_upper_table"), never),
    **dict.fromkeys(("db_exact_copy", "ans_exact", "ans_sentence", "ans_thousands", "s_ans_bold", "ans_newlines", "ans_plus"), never),
    "ans_json_number": unless(p.one_is_enough, "several golds are needed"),
    "plus_sign": NO_ZEROS,
    "int_to_float": NO_ZEROS,
    **dict.fromkeys(("currency", "thousands_sep"), NO_ZEROS),
    "combo_float_shuffle": either(NO_ZEROS, ANY_ORDER),
    "shuffle_rows": ANY_ORDER,
    **dict.fromkeys(("null_to_NaN", "null_to_NULL", "null_to_None", "null_to_NA_text"), READABLE),
}


def judged(name: str, rules: dict[str, Exempt], value: float) -> tuple[list[tuple[object, ...]], Counter[str]]:
    """The counted cases of a folder that have another strict value, and how many have it; prints the counts and exemptions."""
    failed, right, exempt = [], Counter[str](), Counter[tuple[str, str]]()
    for row, result in cases(name):
        mutation, instance_id = row["mutation"], row["instance_id"]
        if mutation not in rules:
            continue
        if said := rules[mutation](name, instance_id):
            exempt[mutation, said] += 1
        elif result.strict == value:
            right[mutation] += 1
        else:
            failed.append((instance_id, mutation, result.strict, result.details.get("reasons", {}).get("strict", result.reason)))
    print(f"\n{name}: " + ", ".join(f"{mutation} {n}" for mutation, n in sorted(right.items())))
    for (mutation, said), n in sorted(exempt.items()):
        print(f"    exempt: {mutation} {n} ({said})")
    return failed, right


@pytest.mark.parametrize("name", replayed_submissions())
def test_strict_refuses_what_is_wrong(name: str) -> None:
    """Every mutation that changes what was asked for gets a strict 0, every one that changes only the writing a strict 1."""
    failed, _ = judged(name, REFUSED, 0)
    assert failed == []
    failed, right = judged(name, ACCEPTED, 1)
    assert failed == []
    assert right.total() > 0


@pytest.mark.parametrize("name", replayed_submissions())
def test_strict_accepts_more_only_for_listed_causes(name: str) -> None:
    """Strict 1 with official 0 has a cause of the closed list, on every recorded case."""
    listed, seen = frozenset().union(*CAUSES.values()), Counter[str]()
    for result in scored(name).results:
        if (result.official, result.strict) == (0, 1):
            seen[str(result.details["flip"]).partition(":")[0]] += 1
    print(f"\n{name}: " + ", ".join(f"{cause} {n}" for cause, n in seen.most_common()))
    assert set(seen) - listed == set()
    assert "own tolerance" not in seen


def test_an_exact_copy_of_every_gold_is_accepted() -> None:
    """The folder `exact` hands in gold itself; strict accepts each one, also those the reference refuses."""
    corpus("spider2")
    if "exact" not in FOLDERS:
        pytest.skip("no folder of exact copies in this corpus")
    rows = cases("exact")
    assert [(row["instance_id"], result.reason) for row, result in rows if result.strict != 1] == []
    assert len(rows) > (30 if is_default_corpus() else 0)


def test_each_list_is_met_by_cases() -> None:
    """The shown folders hold cases of every listed mutation, so that no line of the lists is empty talk."""
    corpus("spider2")
    if not is_default_corpus():
        pytest.skip("another corpus may hold other mutations")
    found = Counter(row["mutation"] for name in FOLDERS for row in expected(name))
    assert [mutation for mutation in (*REFUSED, *ACCEPTED) if not found[mutation]] == []


OF_TABLES = ("table_match", "tables_match")
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
    check = next(c for c in p.gold_instances()[instance_id].checks if c.scorer in OF_TABLES)
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
        if result.scorer not in OF_TABLES or result.fault or result.status != "scored" or "checks" in result.details:
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


# The test line runs one folder as a user does; the tests above score all of them.
BY_COMMAND = [pytest.param(name, marks=[] if name in (FOLDERS[1:2] or FOLDERS) else [pytest.mark.slow]) for name in FOLDERS]


@pytest.mark.parametrize("name", BY_COMMAND)
def test_command_line_equals_the_api(name: str, tmp_path: Path, root: Path) -> None:
    """`python evaluate.py --result_dir X --gold_dir gold` writes the same verdicts (in the line of a fifteenth), and counts them."""
    out, known = tmp_path / "run", scored(name).results[:: 1 if is_full() else 15]
    only = ",".join(one.instance_id for one in known)
    folders = ["--result_dir", str(submission_folder(name)), "--gold_dir", str(gold_folder()), "--out", str(out)]
    done = finished([sys.executable, root / "evaluate.py", *folders, "--quiet", "--only", only], seconds=900)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(r["instance_id"], r["status"], r["official"], r["strict"]) for r in rows] == [
        (r.instance_id, r.status, r.official, r.strict) for r in known
    ]
    summary = json.loads((out / "run.json").read_text(encoding="utf-8"))["summary"]
    assert summary["n_gold"] == len(rows)
    assert summary["score"] == pytest.approx(sum(r["score"] or 0 for r in rows) / len(rows))
    assert sum(summary["counts"].values()) == len(rows)
