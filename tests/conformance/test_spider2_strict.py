"""Strict verdicts on the recorded folders: what a careful judge must refuse and must accept, per mutation."""

from collections import Counter
from collections.abc import Callable

import pytest

from evalsuite.compare.verdict import CAUSES
from tests.conformance import predicates as p
from tests.conformance.recorded import cases, expected, replayed_submissions, scored, submissions
from tests.conftest import corpus, is_default_corpus

pytestmark = pytest.mark.conformance
FOLDERS = submissions()

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
    """Every mutation that changes what was asked for gets a strict 0."""
    failed, _ = judged(name, REFUSED, 0)
    assert failed == []


@pytest.mark.parametrize("name", replayed_submissions())
def test_strict_accepts_what_is_right(name: str) -> None:
    """Every mutation that changes only the writing gets a strict 1."""
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
