"""What comes of records: rows, numbers and reasons of every kind of pair, reports that stay short, and limits at their exact bounds."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from evalsuite import score
from evalsuite.core.errors import FaultError
from evalsuite.core.scores import BROKEN_RECORD
from evalsuite.scorers.tree_scorers import tree_match, tree_score
from evalsuite.trees import (
    FieldResult,
    GoldValidationError,
    NullHandling,
    SchemaError,
    TreeLimitError,
    TreeLimits,
    chain,
    comparators,
    evaluate,
    evaluate_stream,
    reclassify_nulls,
    resolve_schema_references,
    treeval,
    treeval_score,
)
from evalsuite.trees.field_matching import UPSTREAM_MAX_PAIRS
from evalsuite.trees.field_results import PathTotals, Tally, Totals, field_reason, tally
from evalsuite.trees.json_schema import MAX_NODES, shorten, type_key
from evalsuite.trees.json_values import ABSENT, Margin, canonical, canonical_order, inspect, number_in_text
from evalsuite.trees.record_scoring import Lost, Scoring, in_step, read_broken
from tests.trees.test_xeval import TEXT, a_list, an_object

TABLE = Path(__file__).with_name("records.txt")


def rounded(value: float | None) -> float | None:
    """Six decimals."""
    return None if value is None else round(value, 6)


def said_of(case: Any, *, compat: bool) -> str:
    """Everything that is said of one run."""
    schema, gold, answer, options = json.loads(case)
    try:
        result = evaluate(gold, answer, schema, compat=compat, notify=lambda _: None, **options)
    except (GoldValidationError, KeyError, TypeError, ValueError) as error:
        return f"=> ! {type(error).__name__}: {error}"
    records = [
        [
            *(one.record_id, rounded(one.precision), rounded(one.recall), rounded(one.f1), one.reason),
            [[row.path, row.found_path, row.status, rounded(row.score), row.comparator, row.reason] for row in one.field_results],
        ]
        for one in result.records
    ]
    counts = [result.total_fields, result.total_omissions, result.total_hallucinations]
    averages = [getattr(each, key) for each in (result.micro, result.macro) for key in ("precision", "recall", "f1")]
    averages += [result.mean_precision, result.mean_recall, result.mean_f1]
    return "=> " + json.dumps([records, [*map(rounded, averages), *counts]])


def test_records_of_every_kind() -> None:
    """The table: containers, nulls, keys, alternatives, transforms, required and unknown fields, ids; sound and as the reference."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for case, *expected in zip(*[iter(lines)] * 3, strict=True):
        assert [said_of(case, compat=compat) for compat in (False, True)] == expected, case


@pytest.mark.parametrize(("gold", "answer", "options", "expected"), [
    (None, None, {}, ("skipped", 0.0, "both absent")),
    (None, None, {"both_absent_skip": False}, ("match", 1.0, "both absent (counted as match)")),
    (None, "x", {}, ("hallucination", 0.0, "gold is absent")),
    ("x", None, {}, ("omission", 0.0, "extracted is absent")),
    ("x", "y", {}, ("mismatch", 0.25, "why")),
    ("", "x", {"absent_values": [None, "", 0]}, ("hallucination", 0.0, "gold is absent")),
    ("x", 0, {"absent_values": [None, "", 0]}, ("omission", 0.0, "extracted is absent")),
    (False, "x", {"absent_values": [0]}, ("mismatch", 0.25, "why")),
    (math.nan, "x", {"absent_values": [math.nan]}, ("hallucination", 0.0, "gold is absent")),
])  # fmt: skip
def test_nulls_that_count_as_absent(gold: Any, answer: Any, options: Any, expected: Any) -> None:
    """Of rows with both sides; those of one side and those without a verdict stay as they are."""
    rows = [
        FieldResult("a", 0.25, "own", gold, answer, status, "why", gold, answer) for status in ("mismatch", "omission", "error", "skipped")
    ]
    found = reclassify_nulls(rows, NullHandling(**options))
    assert found is rows
    assert [(row.status, row.score, row.reason) for row in found] == [expected, *((row.status, 0.25, "why") for row in rows[1:])]
    assert rows[1:] == [FieldResult("a", 0.25, "own", gold, answer, row.status, "why", gold, answer) for row in rows[1:]]
    both = chain([lambda rows: rows[1:], lambda rows: rows[:1]])(rows)
    assert both == rows[1:2]


def test_sums_of_rows_have_no_order() -> None:
    """Weights and partial scores add up without rounding; a path counts its rows by status, and a status that is none is an error."""
    statuses = ("match", "match", "mismatch", "omission", "hallucination", "hallucination", "skipped", "batch_error", "error")
    scores = (1.0, 0.75, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    rows = [
        FieldResult("a", each, "own", status=status, schema_path="a", weight=0.5) for status, each in zip(statuses, scores, strict=True)
    ]
    assert tally(rows) == Tally(1.0, 1.5, 0.5, 1.0)
    totals = Totals()
    assert totals.add(rows) == (0.4, 0.5, pytest.approx(4 / 9))
    assert totals.add(rows, failed=True) == (0, 0, 0)
    assert totals.add(rows, undecided=True) == totals.add(rows[7:8]) == (None, None, None)
    assert totals.add(rows[7:8], failed=True) == (0, 0, 0)
    assert Totals(compat=True).add(rows[7:8]) == (1, 1, 1)
    numbers = totals.numbers()
    counts = [numbers[f"total_{key}"] for key in ("records", "fields", "omissions", "hallucinations", "batch_errors")]
    assert counts == [5, 18, 3, 6, 5]
    assert (numbers["undecided_records"], numbers["coverage"], numbers["mean_precision"]) == (2, 18 / 26, pytest.approx(0.4 / 3))
    assert numbers["micro"].f1 == pytest.approx(4 / 9)
    path = totals.paths["a"]
    assert (path.weight, path.columns()) == (0.5, {"matches": 6, "mismatches": 3, "omissions": 3, "hallucinations": 6})
    assert path.share() == pytest.approx(2 * 6 / 27)
    assert PathTotals().tally() == Tally(0, 0, 0, 0)
    with pytest.raises(KeyError, match="odd"):
        totals.add([FieldResult("a", 1.0, "own", status="odd")])  # type: ignore[arg-type]


def test_a_stream_shows_each_record() -> None:
    """With its id, or its place; the numbers are those of the run."""
    gold, answer = [{"id": "p", "a": "x"}, {"id": "q", "a": "y"}], [{"id": "p", "a": "x"}, {"id": "q", "a": "z"}]
    for id_field, labels in (("id", ["p", "q"]), (None, [0, 1])):
        shown: list[Any] = []
        evaluate_stream(zip(gold, answer, strict=True), an_object(id=TEXT, a=TEXT), id_field, each=shown.append)
        assert [(one.record_id, one.f1 == 1) for one in shown] == [(labels[0], True), (labels[1], False)]


def test_reasons_of_runs() -> None:
    """Why a record failed, then the five worst fields, none of which is shown as right; a record of several is named by its id."""
    gold = {name: {"x": "a"} for name in "abcdefg"}
    answer = {name: {"x": "a" if name == "g" else "b"} for name in "abcdefg"}
    assert tree_match(answer, gold=gold).strict_reason == (
        "worst fields by F1: " + ", ".join(f"{name}.x 0.00" for name in "abcde")
    )  # fmt: skip
    assert tree_match("x", gold="y", schema={"type": "string"}).strict_reason == "worst fields by F1: (root) 0.00"
    many = [{"id": n, "a": "x"} for n in range(400)]
    assert tree_match([{"id": 0, "a": "y"}, *many[1:]], gold=many, id_field="id").strict_reason == "worst fields by F1: a 0.99"
    assert tree_match(gold, gold=gold).strict_reason == "all 7 fields right"
    required = {"type": "object", "properties": {"a": {**TEXT, "x-eval-required": True}, "b": {**TEXT, "x-eval-required": True}}}
    two = [{"id": "p", "a": "x", "b": "y"}, {"id": "q", "a": "x", "b": "y"}]
    for answers, start in (
        (two[:1], "record q: gold's record was not submitted; worst"),
        ([two[0], {"id": "q", "c": 1}], "record q: required and missing: a, b; "),
    ):
        assert tree_match(answers, gold=two, schema=required, id_field="id").strict_reason.startswith(start)
    result = evaluate([{"a": "x"}], [{"a": "y"}], an_object(a={**TEXT, "x-eval-compare": "own"}), comparators={"own": lambda *_: 2})
    assert field_reason(result) == "undecided: no verdict from the judge on any of 0 fields"


def test_what_treeval_says_in_one_sentence() -> None:
    """The factors of the score, how many leaves differ, and the first by its record and path."""
    schema = {"a": "string", "o": {"b c": "integer"}}
    gold = [{"a": "x", "o": {"b c": 1}}] * 2
    for answer, words in (
        (gold, "leaf metrics 1 x F1 of nodes 1 x F1 of non-null leaves 1; all 4 leaves agree"),
        (
            [gold[0], {"a": "y", "o": {"b c": 2}}],
            "leaf metrics 0.5 x F1 of nodes 1 x F1 of non-null leaves 1; 2 of 4 leaves differ, first at [1].a: mismatch",
        ),
        ([gold[0], 5], "leaf metrics 1 x F1 of nodes 0.6 x F1 of non-null leaves 0.8; 1 of 3 leaves differ, first at [1]: mismatch"),
        (
            [{"a": "x", "o": {"b c": 2}}, gold[1]],
            "leaf metrics 0.75 x F1 of nodes 1 x F1 of non-null leaves 1; 1 of 4 leaves differ, first at [0].o['b c']: mismatch",
        ),
    ):
        assert score("tree_score", answer, gold=gold, schema=schema).strict_reason == words
    assert score("tree_score", {"x y": 2}, gold={"x y": 1}, schema={"x y": "integer"}).strict_reason.endswith(
        "first at [0]['x y']: mismatch"
    )


@pytest.mark.parametrize(("pairs", "margin"), [
    ([(1, 1.5), (2, 2.25), (3, 3)], 0.5), ([], None), ([(0.1, 0.3)], 0.2), ([("a", "a")], None), ([("a", "b")], None), ([(1, 2),
    ("a", "b"), (3, 4)], None),
    ([(2**53 + 2, 2.0**53)], 2.0), ([(2.0**60, 2**60 + 1)], 23.0), ([(2**60 + 1, 2.0**60)], 23.0), ([(2**60, 2**60 + 3)], 3.0),
    ([(2**60 + 100, 2.0**60)], 100.0), ([(2.0**60, 2**60 + 100)], 100.0), ([(2**53 + 3, 2.0**53 + 2)], 1.0),
    ([(True, 1)], None), ([(1, math.inf)], None),
    ([(2**70 + 1, 0)], float(2**70 * (1 + 2**-52))), ([(0.30000000000000004, 0.3)], 5.551115123125783e-17),
    ([(2311, 58.3)], 2252.7), ([(58.3, 2311)], 2252.7),
])  # fmt: skip
def test_the_margin_that_numbers_need(pairs: Any, margin: float | None) -> None:
    """The largest distance, as written and as compared, whichever is larger; none where a text or no tolerance decides."""
    found = Margin()
    for gold, answer in pairs:
        found.add(gold, answer, is_right=gold == answer and type(gold) is type(answer))
    assert found.value == margin


@pytest.mark.parametrize(("value", "limits", "message"), [
    ([[1]], {"max_depth": 2}, ""), ([[[1]]], {"max_depth": 2}, "nested deeper than 2 levels"), ([[[]]], {"max_depth": 2}, ""),
    ([1, [2, 3]], {"max_nodes": 5}, ""), ([1, [2, 3]], {"max_nodes": 4}, "more than 4 values"), ({"a": "xyz"}, {"max_string": 3}, ""),
    ({"a": "xyzw"}, {"max_string": 3}, "a text of 4 characters, the limit is 3"), ({"a": 1, "b": [{}]}, {"max_keys": 2}, ""),
    ({"a": [{"b": 1, "c": 2, "d": 3}]}, {"max_keys": 2}, "an object of 3 keys, the limit is 2"),
])  # fmt: skip
def test_limits_of_values(value: Any, limits: Any, message: str) -> None:
    """Each is inclusive; what is above it is named with its place."""
    if message:
        with pytest.raises(TreeLimitError) as raised:
            inspect(value, TreeLimits(**limits), where="record 7")
        assert (str(raised.value.fault.detail), raised.value.path, raised.value.message) == (f"record 7: {message}", "record 7", message)
    else:
        assert inspect(value, TreeLimits(**limits)) is False
        assert inspect([value, {"x-eval-any-of": [1]}, {"b": 1}]) is True
    assert [*asdict(TreeLimits()).values()] == [10**7, 4 * 10**8, 250_000, 100, 10**6, 100_000, 10**6]
    assert (comparators.MAX_CELLS, comparators.PATTERN_SECONDS, treeval.MAX_CELLS, UPSTREAM_MAX_PAIRS) == (4 * 10**8, 1, 4 * 10**7, 2500)


def test_limits_of_alignments() -> None:
    """Pairs of elements, through a judge, and with alternatives: as many as the limit are aligned, one more is an error with both sizes."""
    best = a_list(an_object(a=TEXT, b={**TEXT, "x-eval-compare": "own"}), align={"match_by": "hungarian"})
    plain = a_list(TEXT, align={"match_by": "hungarian"})

    def own(items: list[Any]) -> list[Any]:
        return [1.0] * len(items)

    own.is_batch = True  # type: ignore[attr-defined]
    two, three = [{"a": "x"}] * 2, [{"a": "x"}] * 3
    either, run = [{"x-eval-any-of": ["a", "b"]}] * 2, {"comparators": {"own": own}}
    for schema, gold, answer, limits, message in (
        (plain, ["a"] * 2, ["a"] * 3, {"max_pairs": 5}, "t: 2 x 3 elements to align, the limit is 5 pairs"),
        (best, two, three, {"max_row_pairs": 5}, "t: 2 x 3 elements to align through a judge, the limit is 5 pairs"),
        (plain, either, ["a"] * 3, {"max_row_pairs": 5}, r"t\[\]: 2 x 3 elements with alternatives to align, the limit is 5 pairs"),
    ):
        [(name, most)] = limits.items()
        evaluate([{"t": gold}], [{"t": answer}], an_object(t=schema), limits=TreeLimits(**{name: most + 1}), **run)
        with pytest.raises(TreeLimitError, match=f"^{message}$"):
            evaluate([{"t": gold}], [{"t": answer}], an_object(t=schema), limits=TreeLimits(**limits), **run)
    both = an_object(t=plain, b={**TEXT, "x-eval-compare": "own"})
    assert evaluate([{"t": ["a"] * 2}], [{"t": ["a"] * 3}], both, limits=TreeLimits(max_row_pairs=5), **run).mean_f1 == 0.8
    objects, schema = [{"x": n, "y": n} for n in range(4)], {"a": [{"x": "integer", "y": "integer"}], "b": ["string"]}
    for field, items, n in (("a", objects, 32), ("b", ["a"] * 4, 16)):
        treeval_score([{field: items}], [{field: items}], {field: schema[field]}, max_cells=n)
        with pytest.raises(TreeLimitError, match=f"{field}: 4 x 4 items x {n // 16} leaves are more than the {n - 1} cells"):
            treeval_score([{field: items}], [{field: items}], {field: schema[field]}, max_cells=n - 1)
    single = [{"x": n} for n in range(4)]
    assert treeval_score([{"a": single}], [{"a": single}], {"a": [{"x": "integer"}]}, max_cells=16).score == 1


def test_texts_that_do_not_tell_orders_apart() -> None:
    """Two values share one if they differ only in the order of keys and of items; numbers, texts, NaN and null are told apart."""
    alike = [{"a": [1, {"b": 2}], "c": None}, {"c": None, "a": [{"b": 2}, 1]}]
    others = [1, 1.5, True, None, math.nan, "1", "nan", [1], [[1]], {"1": 1}, {}, [], {"a": math.nan}, {"a": None}]
    for more in ([], ["\ud800", 10**30]):
        texts = canonical([*alike, *others, *more])
        assert texts[0] == texts[1]
        assert len({*texts}) == len(others) + len(more) + 1
    assert (canonical_order([3, 1, 2, 1]), canonical_order([["é"], ["z"], ["a"]])) == ([1, 3, 2, 0], [2, 1, 0])
    deep: list[Any] = [1, 2]
    for _ in range(255):
        deep = [[each] for each in deep]
    assert len({*canonical([[[each]] for each in deep])}) == 2
    assert len({*canonical([[[[each]]] for each in deep])}) == 1
    assert [str(number_in_text(text)) for text in ("-1.50e+2", "0", "007", "1.", ".5", "+5", "1e5", "1e12345", 5)] == [
        "-150", "0", "None", "None", "None", "None", "1E+5", "None", "None",
    ]  # fmt: skip


BLANK, CUT = Lost(3, ""), Lost(5, "not JSON")


@pytest.mark.parametrize(("records", "n", "expected"), [
    ([1, BLANK, 2], 2, [1, 2]), ([1, BLANK, 2], 3, [1, BLANK, 2]), ([BLANK, 1, BLANK], 2, [1, BLANK]), ([1, CUT, CUT, 2], 3, [1, CUT, 2]),
    ([CUT, CUT], 1, [CUT]), ([1, CUT, CUT, 2], 4, [1, CUT, CUT, 2]), ([1, CUT, 2], 4, [1, CUT, CUT, 2]), ([CUT], 2, [CUT, CUT]),
    ([1, 2, CUT], 4, [1, 2, CUT, CUT]), ([1, 2], 3, [1, 2]), ([1, 2, 3], 2, [1, 2, 3]), ([CUT, 1, CUT], 2, [CUT, 1, CUT]),
    ([CUT, CUT, CUT], 1, [CUT]), ([CUT, CUT], 4, [CUT] * 4), ([CUT, CUT], 3, [CUT] * 3), ([BLANK, BLANK, 1], 1, [1]),
])  # fmt: skip
def test_records_keep_their_places(records: list[Any], n: int, expected: list[Any]) -> None:
    """Blank lines too many are none, of two broken neighbours too many one is, and a broken line too few counts twice."""
    assert in_step(records, n) == expected


def test_records_that_cannot_be_read() -> None:
    """Alone they are a fault, among others they are lost with their line and cause; with `repair` they are what they say."""

    def broken(**parts: Any) -> Any:
        return {BROKEN_RECORD: parts}

    repaired, lost = broken(repaired={"a": 1}, line=2), broken(line=7, cause="not JSON")
    assert read_broken(repaired, repair=True) == ({"a": 1}, 1)
    assert read_broken({"a": 1}, repair=True) == ({"a": 1}, 0)
    assert read_broken([1, repaired, lost, repaired, broken(cause="x")], repair=True) == (
        [1, {"a": 1}, Lost(7, "not JSON"), {"a": 1}, Lost(0, "x")],
        2,
    )
    assert read_broken([repaired, {**lost, "b": 1}], repair=False) == ([Lost(2, ""), {**lost, "b": 1}], 0)
    for value, repair in ((lost, True), (repaired, False)):
        with pytest.raises(FaultError) as raised:
            read_broken(value, repair=repair)
        assert (raised.value.fault.code, raised.value.fault.detail) == ("BAD_JSON", "not JSON" if value is lost else "")
    assert (BLANK.reason, CUT.reason) == ("line 3 is blank", "line 5: not JSON")
    for gold, rows in ((ABSENT, []), ({"a": "x"}, [("a", "omission", "x", None)])):
        for record in (CUT, BLANK):
            found = Scoring(an_object(a=TEXT)).record("r", gold, record, Totals())
            assert (found.record_id, found.precision, found.recall, found.f1, found.reason) == ("r", 0, 0, 0, record.reason)
            assert [(row.path, row.status, row.gold_value, row.extracted_value) for row in found.field_results] == rows


def test_every_part_of_a_report() -> None:
    """Two records under both scorers, number by number: by field, by record, by confusion, row by row."""
    schema = {"a": "string", "t": [{"n": "integer"}]}
    gold = [{"a": "abcd", "t": [{"n": 1}, {"n": 2}]}, {"a": None, "t": [{"n": 3}]}]
    answer = [{"a": "abcx", "t": [{"n": 1}, {"n": 5}]}, {"a": "new", "t": [], "u": 1}]
    third, part, lacks, new = 1 / 3, 0.5833333333333334, "omission", "hallucination"
    for scorer, expected in (
        (tree_score, {
            "counts": [7, 6, 1, 5, 0, 1], "n_leaves": 6, "n_records": 2, "n_fields": 3, "n_wrong": 5, "margin": None,
            "per_metric": {"exact_match": 0.5, "levenshtein": 0.75},
            "fields": [["u", 0, 1, 0, 0, 0, 0, 1], ["t[].n", 0.5, third, 0.4, 1, 1, 1, 0], ["a", 0.375, 0.75, 0.5, 0, 1, 0, 1]],
            "records": [[0, part, part, part], [1, 0, 0, 0]],
            "confusions": [["u", new, None, 1, 1], ["a", new, None, "new", 1], ["a", "mismatch", "abcd", "abcx", 1],
                           ["t[].n", lacks, 3, None, 1], ["t[].n", "mismatch", 2, 5, 1]],
            "rows": [[0, "a", "partial", "abcd", "abcx", 0.75, None, None, ""], [0, "t[1].n", "mismatch", 2, 5, 0, 1, 1, ""],
                     [1, "u", new, None, 1, None, None, None, "unknown key"], [1, "a", new, None, "new", 0, None, None, ""],
                     [1, "t[0].n", lacks, 3, None, 0, 0, None, "missing item"]],
            "units": [2, [part, 0], {"u": [None, 0], "a": [0.75, 0], "t[].n": [0.5, 0]}],
        }),
        (tree_match, {
            "precision": 1 / 6, "recall": 1 / 6, "f1": 1 / 6, "micro_f1": 0.20000000000000004, "macro_f1": 0.4 / 3,
            "coverage": 1, "margin": None, "tree": {"*": 0, "a": 0, "t[]": {"n": 0.4}}, "per_type": {"integer": 1, "null": 0, "string": 0},
            "counts": [1, 2, 2, 2], "n_records": 2, "n_rows": 7, "n_fields": 3, "n_wrong": 6,
            "fields": [["*", 0, 1, 0, 0, 0, 0, 1], ["a", 0, 0, 0, 0, 2, 0, 0], ["t[].n", 0.5, third, 0.4, 1, 0, 2, 1]],
            "records": [[0, third, third, third], [1, 0, 0, 0]],
            "confusions": [["a", "mismatch", "abcd", "abcx", 1], ["t[].n", lacks, 2, None, 1], ["t[].n", new, None, 5, 1],
                           ["a", "mismatch", None, "new", 1], ["t[].n", lacks, 3, None, 1], ["*", new, None, 1, 1]],
            "wrong": [[0, "a", "a", "a", "mismatch", 0, "exact", "abcd", "abcx", "mismatch"],
                      [0, "t[1].n", None, "t[].n", lacks, 0, "numeric", 2, None, None],
                      [0, "t[-1].n", "t[1].n", "t[].n", new, 0, "numeric", None, 5, None],
                      [1, "a", "a", "a", "mismatch", 0, "exact", None, "new", "mismatch"],
                      [1, "t[0].n", None, "t[].n", lacks, 0, "numeric", 3, None, None],
                      [1, "u", "*", "*", new, 0, "", None, 1, None]],
            "units": [2, [third, 0], {"a": [0, 0], "t[].n": [0.5, 0], "*": [None, 0]}],
        }),
    ):  # fmt: skip
        details = scorer(answer, gold=gold, schema=schema).details
        for key, value in expected.items():
            found = [[*row.values()] for row in details[key]] if isinstance(details[key], list) else details[key]
            assert ([*found.values()] if key in ("counts", "units") else found) == value, key


def test_means_by_branch() -> None:
    """A branch counts as one value next to the leaves of its parent, a list of objects too; without any value there is none."""
    schema: dict[str, Any] = {"a": "integer", "b": {"c": "integer", "d": {"e": "integer", "f": "integer"}}}
    schema |= {"l": [{"g": "integer", "h": "integer"}], "s": "string"}
    gold = {"a": 1, "b": {"c": 1, "d": {"e": 1, "f": 1}}, "l": [{"g": 1, "h": 1}], "s": "x"}
    answer = {"a": 0, "b": {"c": 1, "d": {"e": 0, "f": 1}}, "l": [{"g": 1, "h": 0}], "s": "x"}
    result = treeval_score([answer], [gold], schema, hierarchical=True)
    assert result.per_metric["exact_match"] == pytest.approx((0 + (1 + 0.5) / 2 + 0.5) / 3)
    assert result.per_metric["levenshtein"] == 1
    flat = treeval_score([answer], [gold], schema)
    assert flat.per_metric["exact_match"] == pytest.approx(3 / 6)
    assert flat.per_leaf_type["integer"] == {"exact_match": pytest.approx(3 / 6)}
    assert treeval_score([{"s": None}], [{"s": None}], {"s": "string"}).per_metric["levenshtein"] is None
    assert treeval_score([{}], [{"s": "x"}], {"s": "string"}, hierarchical=True).score == 0


def test_paths_of_messages() -> None:
    """A long path keeps its beginning and its end; keys that are no names are quoted; types have names of JSON and of Python."""
    assert (shorten("x" * 80), shorten("a" * 61 + "b" * 20)) == ("x" * 80, "a" * 60 + "..." + "b" * 15)
    names = [type_key(key) for key in ((), "choice", int, float, bool, str, "date", bytes)]
    assert names == ["()", "()", "integer", "number", "boolean", "string", "date", str(bytes)]
    assert MAX_NODES == 100_000
    flat = an_object(**{key: {"type": "string"} for key in "abcd"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.trees.json_schema.MAX_NODES", 5)
        assert resolve_schema_references(flat, notify=lambda _: None) == flat
        patch.setattr("evalsuite.trees.json_schema.MAX_NODES", 4)
        with pytest.raises(SchemaError, match=r"^d: the schema unfolds to more than 4 fields"):
            resolve_schema_references(flat, notify=lambda _: None)
