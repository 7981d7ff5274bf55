"""The numbers of a comparison, on sides made of plain scores, of records, and of distributions."""

import itertools
import json
import math
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.analysis.leaderboard import compare, comparison
from evalsuite.analysis.leaderboard.comparison import paired_difference, score_shift
from evalsuite.analysis.leaderboard.pairing import RunSide, side_of
from evalsuite.analysis.leaderboard.reliability import mean_side, samples_of
from evalsuite.cli.showing import ComparisonGates
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import UsageError
from evalsuite.core.types import Answer, Check, Gold, GoldInstance, Result, Status, Submission, Suite
from evalsuite.gold.spec import exchanges_of
from evalsuite.reports.comparison_documents import comparison_sections
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run
from evalsuite.stats import significance_test
from evalsuite.stats.intervals import ONE_CLUSTER, clustered_difference_interval
from evalsuite.stats.significance import difference_interval
from evalsuite.stats.units import unit_details
from tests.analysis.leaderboard.made import result, side
from tests.properties import examples, is_full

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@examples(200)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, 1.0, None]), st.sampled_from([0.0, 1.0, 1.0, None, "no judge"])), min_size=1, max_size=24
    ),
    st.sampled_from([None, 0.0, 0.5, 0.8, 1.0]),
    st.booleans(),
)
def test_gates_of_a_comparison_are_a_plain_model(scores: list[tuple[Any, Any]], gate: float | None, regression: bool) -> None:
    """Exit 1 if a gate is not met over what both sides have; 4 if it is not with the candidate's answers without a score as wrong ones."""

    def missed(pairs: list[tuple[float, float]]) -> bool:
        lost, changed = sum(a > b for a, b in pairs), sum(a != b for a, b in pairs)
        p = sum(math.comb(changed, k) for k in range(changed + 1) if abs(2 * k - changed) >= abs(2 * lost - changed)) / 2**changed
        is_worse = 2 * lost > changed and p <= 0.05
        is_below = gate is not None and (not pairs or sum(b for _, b in pairs) / len(pairs) < gate - 1e-9)
        return is_below or (regression and (is_worse or not pairs))

    named = [(f"q{at}", a, b) for at, (a, b) in enumerate(scores)]
    sides: list[dict[str, Result]] = [{}, {}]
    for name, *of_sides in named:
        for side_, score in zip(sides, of_sides, strict=True):
            is_score = isinstance(score, float)
            fault = "UNDEFINED" if score is None else "NO_JUDGE"
            side_[name] = result(name, score) if is_score else result(name, None, status="unscored", fault=fault)
    judged = [(a, b) for _, a, b in named if isinstance(a, float) and isinstance(b, float)]
    worst = judged + [(a or 0.0, 0.0) for _, a, b in named if not isinstance(b, float)]
    comparison = compare([RunSide(label=label, results=results) for label, results in zip("ab", sides, strict=True)])
    for allowed in (False, True):
        code, line = ComparisonGates(fail_under=gate, fail_on_regression=regression, allow_unscored=allowed).verdict(comparison)
        assert code == (1 if missed(judged) else 4 if missed(worst) and not allowed else 0)
        assert (f"(exit {code})" in line) == (code > 0)


@pytest.mark.parametrize("clusters", [None, ["x", "x", "y"], ["x", "y", "z"]])
@pytest.mark.parametrize("change", [0.0, 0.5, 17.0])
def test_equal_differences_on_a_scale_of_their_own_have_no_interval(change: float, clusters: list[str] | None) -> None:
    """Their spread is not known, and the scale has no widest one: it was +-0, or that of shares."""
    a = [5.0, 80.0, 3.0]
    row = paired_difference("b", a, [value + change for value in a], alpha=0.05, clusters=clusters, is_raw=True)
    assert (row.difference, row.low, row.high, row.interval_method) == (change, None, None, "")
    assert row.note
    # What differs by more than rounding has a spread.
    assert paired_difference("b", [0.0, 0.0], [0.0, 1e-9], is_raw=True).low is not None


@given(
    st.lists(st.tuples(st.sampled_from([None, 0.0, 0.5, 1.0]), st.sampled_from([None, 0.0, 0.5, 1.0])), min_size=1, max_size=5).filter(
        lambda pairs: any(a is not None and b is not None for a, b in pairs)
    )
)
@examples(60)
def test_bounds_hold_every_filling_in(pairs: list[tuple[float | None, float | None]]) -> None:
    """No scores for the unjudged give a difference outside the bounds, and 0 and 1 reach them."""
    found = compare([side("a", [a for a, _ in pairs]), side("b", [b for _, b in pairs])]).candidates[0]
    holes = [value for pair in pairs for value in pair].count(None)
    means = []
    for filling in itertools.product([0.0, 1.0], repeat=holes):
        left = iter(filling)
        filled = [tuple(next(left) if value is None else value for value in pair) for pair in pairs]
        means.append(math.fsum(b - a for a, b in filled) / len(filled))
    expected = (min(means), max(means)) if holes else None
    assert found.bounds == (pytest.approx(expected) if expected else None)


@pytest.mark.parametrize("which", ["gold", "pandas", "rules"])
def test_other_signatures_are_refused(which: str) -> None:
    """Whatever part differs is named with both values; --force goes on and says so in the comparison."""
    parts = {"evalsuite": "1", "rules": "official", "gold": "aa", "pandas": "3"}
    a = side("a", [1, 0], signature="|".join(f"{k}:{v}" for k, v in parts.items()))
    b = side("b", [1, 1], signature="|".join(f"{k}:{v}" for k, v in {**parts, which: "other"}.items()))
    with pytest.raises(UsageError, match=f"{which} {parts[which]} against other") as raised:
        compare([a, b])
    assert "--force" in raised.value.hint
    assert f"{which} {parts[which]} against other" in compare([a, b], force=True).to_json()["warnings"][0]


def test_chosen_rules_make_other_rules_comparable() -> None:
    """Under --rules both sides give their value for it, whichever rules they were run under."""
    a = side("a", [1], signature="rules:official|gold:x")
    b = side("b", [1], signature="rules:strict|gold:x")
    b = type(b)(label="b", results={"q0": result("q0", 1.0, official=0.0, details={"reasons": {"official": "not there"}})})
    b = type(b)(label="b", results=b.results, signature="rules:strict|gold:x")
    found = compare([a, b], rules="official").candidates[0]
    assert found.total.difference == -1
    assert found.flips[0].reason_b == "not there"


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])), min_size=2, max_size=12))
@examples(60)
def test_clustered_p_is_that_of_all_exchanges(items: list[tuple[str, float]]) -> None:
    """The p-value is the share of exchanges of whole clusters whose sum is as far out, counted one by one."""
    names = [name for name, _ in items]
    a, b = [max(0.0, -value) for _, value in items], [max(0.0, value) for _, value in items]
    totals = [sum(value for name, value in items if name == cluster) for cluster in sorted(set(names))]
    sums = [sum(s * t for s, t in zip(signs, totals, strict=True)) for signs in itertools.product([-1, 1], repeat=len(totals))]
    below, above = (sum(1 for s in sums if s <= sum(totals)) / len(sums), sum(1 for s in sums if s >= sum(totals)) / len(sums))
    assert paired_difference("r", a, b, clusters=names).p == pytest.approx(min(1.0, 2 * min(below, above)))


def test_what_can_be_detected_is_near_the_formula_for_many_instances() -> None:
    """About 2.80 deviations of the difference over the root of n at 80 % power, and n grows with the square of what is missing."""
    rng = np.random.default_rng(5)
    a, b = rng.random(200), rng.random(200)
    found = compare([side("a", a.tolist()), side("b", b.tolist())]).candidates[0]
    root = math.sqrt(np.mean((b - a) ** 2) / 200)
    assert found.detectable == pytest.approx((1.959964 + 0.841621) * root, rel=0.02)
    assert found.n_needed == pytest.approx(200 * (found.detectable / found.total.difference) ** 2, rel=0.05)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("n", "others", "says"), [(4, 1, "with 4 instances this test cannot show any difference"), (6, 2, "of 2 comparisons cannot show")]
)
def test_too_few_instances_can_show_nothing(n: int, others: int, says: str) -> None:
    """Where no p-value reaches alpha whatever comes out, the plan is null and the report says so; one more comparison costs one more."""
    found = compare([side("a", [0.0] * n), *(side(f"b{i}", [1.0] * n) for i in range(others))])
    plans = [(one["detectable"], one["n_needed"]) for one in found.to_json()["candidates"]]
    assert plans == [(None, None)] * others
    assert says in "\n".join(line for section in comparison_sections(found) for line in section.lines)


def test_fields_are_compared_path_by_path() -> None:
    """Precision, recall and F1 by schema path over the instances that both have; what was not handed in counts 0."""

    def tree(name: str, **f1: float) -> object:
        rows = [{"path": path, "precision": value, "recall": value / 2, "f1": value} for path, value in f1.items()]
        return result(name, 0.5, scorer="tree_match", details={"fields": rows})

    a, b = side("a", [1]), side("b", [1])
    a = type(a)(label="a", results={"q0": tree("q0", title=1.0, year=1.0), "q1": tree("q1", year=1.0, title=0.5)})  # type: ignore[dict-item]
    b = type(b)(label="b", results={"q0": tree("q0", year=0.5, more=1.0), "q1": result("q1", 0.0, status="missing")})  # type: ignore[dict-item]
    fields = {field.path: field for field in compare([a, b]).candidates[0].fields}
    assert {path: (field.f1.n, field.f1.a, field.f1.b) for path, field in fields.items()} == {
        "year": (2, 1.0, 0.25),
        "title": (1, 0.5, 0.0),
    }
    assert fields["year"].recall == (0.5, 0.125)
    assert min(fields, key=lambda path: fields[path].f1.difference or 0) == next(iter(fields)) == "year"


@pytest.mark.parametrize(("kind", "n", "n_draws", "cluster"), [
    *((kind, 30, 200, None) for kind in ("0/1", "grades", "any")),
    ("any", 75, 100, "c"), pytest.param("any", 75, 4000, "c", marks=pytest.mark.slow),
    *(
        pytest.param(kind, n, draws, None, marks=pytest.mark.slow)
        for kind in ("0/1", "grades", "any")
        for n, draws in ((10, 10_000), (30, 10_000), (100, 4000))
    ),
])  # fmt: skip
def test_no_difference_is_rarely_called_one(kind: str, n: int, n_draws: int, cluster: str | None) -> None:
    """Two equally good submissions are told apart (p <= 0.05) in at most 6 % of draws, also where whole clusters of five favour one side.

    The exact level is 5 %, so that many draws leave three standard errors and more between.
    """
    rng = np.random.default_rng(20261121)
    groups = {f"c{i}": [f"q{j}" for j in range(n) if j % 15 == i] for i in range(15)} if cluster else {}
    calls = 0
    for _ in range(n_draws):
        # What is hard is hard for both; in clusters whole clusters favour one side.
        hard, lean = rng.random(n), rng.normal(0, 0.25, 15)[np.arange(n) % 15] if cluster else np.zeros(n)
        drawn = [np.clip(hard + sign * lean / 2 + rng.normal(0, 0.3, n), 0, 1) for sign in (1, -1)]
        sides = [
            side(
                name, ((x > 0.5).astype(float) if kind == "0/1" else np.round(x * 4) / 4 if kind == "grades" else x).tolist(), groups=groups
            )
            for name, x in zip("ab", drawn, strict=True)
        ]
        calls += compare(sides, cluster=cluster).candidates[0].total.is_significant(0.05)
    assert calls / n_draws <= 0.06


@pytest.mark.parametrize(("scale", "names", "note"), [
    (1.0, "aabbccdd", "4 clusters: no test can reach 0.05"), (2.0, "aabbccdd", "4 clusters: no test can reach 0.05"),
    (1.0, "aaaaaaaa", ONE_CLUSTER), (3.0, "aaaaaaaa", ONE_CLUSTER), (1.0, "abcdefgh", ""), (2.0, "abcdefgh", ""),
])  # fmt: skip
@pytest.mark.parametrize("changes", [[1, 1, 1, 1, 1, 1, 1, 1], [1, 0, 0, 1, 0.5, 0.5, 1, 0], [0.5, -0.5] * 4, [0.75, 0.25] * 4])
def test_the_limits_over_clusters(scale: float, names: str, note: str, changes: list[float]) -> None:
    """By the spread between clusters; where they show none within -1..1 each counts as one pair, and beyond that none is made up."""
    a, b = [0.0] * 8, [scale * change for change in changes]
    found = paired_difference("r", a, b, clusters=list(names))
    interval = clustered_difference_interval(b, list(names))
    counts_once = not interval.se and max(map(abs, b)) <= 1
    if counts_once:
        interval = difference_interval(b, a, effective=len({*names}))
    assert (found.low, found.high, found.se, found.interval_method) == (interval.low, interval.high, interval.se, interval.method)
    assert (found.n, found.n_clusters, found.seed, found.n_resamples) == (8, len({*names}), None, None)
    assert found.method.endswith("sign-flip permutation of clusters")
    assert found.note.startswith(note)


RULES, GOLD, BOTH = "rules official against strict", "gold x against y", "gold x against y, rules official against strict"
ALIKE = "score them again under one signature, or compare them as they are with --force"
UNDER_ONE = "--rules official or --rules strict compares both under one, or compare them as they are with --force"


@pytest.mark.parametrize(("others", "message", "hint"), [
    (["gold:x|rules:strict"], f"a and b are not comparable: {RULES}", UNDER_ONE),
    (["gold:x|rules:strict"] * 2, f"a and b are not comparable: {RULES}", UNDER_ONE),
    (["gold:y|rules:official"], f"a and b are not comparable: {GOLD}: 1 of 2 cases differs, first 'q1'", "{scored}"),
    (["gold:y|rules:strict"], f"a and b are not comparable: {BOTH}: 1 of 2 cases differs, first 'q1'", ALIKE),
    (["gold:x|rules:strict", "gold:y|rules:official"], f"a and b are not comparable: {RULES}", ALIKE),
    (["gold:x|rules:official", "gold:x|rules:strict"], f"a and c are not comparable: {RULES}", UNDER_ONE),
])  # fmt: skip
def test_the_way_out_for_sides_that_differ(tmp_path: Path, others: list[str], message: str, hint: str) -> None:
    """Other rules are chosen for both; on another gold both are scored, if all folders are there; else they are scored again."""
    for name in ("a sub", "b", "g"):
        (tmp_path / name).mkdir()
    base = side("a", [1], signature="gold:x|rules:official", submission_folder=str(tmp_path / "a sub"))
    rest = [
        side(name, [1, 0], signature=own, submission_folder=str(tmp_path / "b"), gold_folder=str(tmp_path / "g"))
        for name, own in zip("bc", others, strict=False)
    ]
    with pytest.raises(UsageError) as refused:
        compare([base, *rest])
    own, other, gold = (shlex.quote(str(tmp_path / name)) for name in ("a sub", "b", "g"))
    command = f"`evalsuite compare {own} {other} --gold {gold}` scores both on one gold"
    scored = f"{command}, or compare them as they are with --force"
    assert (refused.value.message, refused.value.hint) == (message, hint.format(scored=scored))
    if hint == "{scored}":
        for folder in ("submission_folder", "gold_folder"):
            with pytest.raises(UsageError) as refused:
                compare([base, replace(rest[0], **{folder: str(tmp_path / "none")})])
            assert refused.value.hint == ALIKE


@pytest.mark.parametrize(("faults", "better", "groups", "open_sides", "worst"), [
    (" NEEDS_EXTRA", "higher", {}, "b", (0.75, 0.5, 0.5)), (" UNDEFINED", "higher", {}, "b", (0.75, 0.5, 0.5)),
    (" NEEDS_EXTRA", "lower", {}, "b", (0.75, 0.75, 0.75)),
    (" NEEDS_EXTRA", "higher", {"c_x": ("q0", "q2"), "c_y": ("q3",)}, "b", (0.75, 0.5, 0.5)),
    (" SCORER_ERROR", "higher", {}, "", None),
    ("JUDGE_FAILED NEEDS_EXTRA", "higher", {}, "ab", (0.75, 0.5, 0.5)),
    ("JUDGE_FAILED UNDEFINED", "lower", {}, "ab", (0.5, 0.75, 0.75)),
    ("UNDEFINED UNDEFINED", "higher", {}, "b", (0.5, 0.5, 0.5)),
    ("SCORER_ERROR NEEDS_EXTRA", "higher", {}, "b", (0.5, 0.5, 0.5)),
    ("NEEDS_EXTRA SCORER_ERROR", "higher", {}, "", None), ("NEEDS_EXTRA ", "higher", {}, "a", (0.75, 0.625, 2 / 3)),
    ("UNDEFINED ", "higher", {}, "", None), ("SCORER_ERROR ", "higher", {}, "", None),
])  # fmt: skip
def test_an_answer_without_a_value_may_have_been_wrong(
    faults: str, better: str, groups: dict[str, Any], open_sides: str, worst: tuple[float, float, float] | None
) -> None:
    """The difference if the candidate's were wrong, and the baseline's that nobody could judge right, is known next to that of the judged
    answers, also if one is in no cluster; no bug counts as one. The candidate's score is that without answers that it alone has.
    """
    base, other = side("a", [1.0, 1.0, 1.0, 0.0], groups=groups), side("b", [1.0, 0.5, 0.0, 1.0])
    for one, fault in zip((base, other), faults.split(" "), strict=True):
        status: Status = "scorer_fault" if fault == "SCORER_ERROR" else "unscored"
        one.results["q1"] = result("q1", None, status=status, fault=fault) if fault else one.results["q1"]
    sides = [
        replace(one, results={name: replace(row, details={"better": better}) for name, row in one.results.items()}) for one in (base, other)
    ]
    (candidate,) = compare(sides, cluster="c_" if groups else None).candidates
    assert (candidate.total.n, candidate.total.a, candidate.open_sides) == (3, pytest.approx(2 / 3), tuple(open_sides))
    case = candidate.worst_case
    assert (case and (case.a, case.b, candidate.worst_score)) == worst
    assert case is None or case.n_clusters == (3 if groups else None)


def test_an_answer_without_a_value_on_an_own_scale_has_no_worst() -> None:
    """It leaves a gate open, whatever the others show."""
    base, other = (side(name, [None] * 3) for name in "ab")
    for one, values in ((base, (60.0, 70.0, 80.0)), (other, (61.0, 71.0, None))):
        for name, value in zip(one.results, values, strict=True):
            details = {} if value is None else {"raw": value}
            fault, status = ("UNDEFINED", "unscored") if value is None else (None, "scored")
            one.results[name] = result(name, None, scorer="readability", status=status, fault=fault, details=details)
    compared = compare([base, other])
    (candidate,) = compared.candidates
    assert (candidate.total.is_raw, candidate.total.n, candidate.open_sides, candidate.worst_case) == (True, 2, ("b",), None)
    assert compared.possible_regressions == (candidate,)


@pytest.mark.parametrize(("level", "seen", "reasons"), [
    ("none", False, ("", "")), ("status", True, ("", "")), ("class", True, ("right", "BAD_CSV")),
    ("shape", True, ("right: rows 3", "the file is not a readable CSV table")),
    ("cells", True, ("77 is there", "no 77")),
])  # fmt: skip
def test_what_a_comparison_shows_at_each_level(level: str, seen: bool, reasons: tuple[str, str]) -> None:
    """No score of an instance at `none`, kinds at `class`, counts and fields at `shape`, texts at `cells`."""
    fields = [{"path": "n", "precision": 1, "recall": 1, "f1": 1}]
    first = {
        "q0": result("q0", 1.0, reason="77 is there", details={"n_rows": 3, "fields": fields}),
        "q1": result("q1", None),
        "q2": result("q2", 0.5, details={"fields": fields}),
    }
    second = {
        "q0": result("q0", 0.0, status="submission_fault", fault="BAD_CSV", reason="no 77"),
        "q1": result("q1", 1.0),
        "q2": result("q2", 0.5, details={"fields": fields}),
    }
    check = Check(scorer="string_match", parameters={"gold": "77"})
    asked = GoldInstance(instance_id="q0", checks=(check,), extra={"question": "what is q0"})
    answer = Answer(instance_id="q0", answer_type="answer", value="it is 77")
    gold = Gold(folder=Path(), spec_file=Path(), instances=(asked,), suite=Suite(name="s"))
    known = exchanges_of(gold, Submission(folder=Path(), answers={"q0": answer}))
    base, other = replace(side("a", [], hidden=True), results=first), replace(side("b", [], exchanges=known), results=second)
    found = compare([base, other], reveal=level, shift=True)
    one = found.candidates[0]
    assert (found.level, one.unjudged, bool(one.fields)) == (level, ("q1",) if seen else (), level in ("shape", "cells"))
    assert [(paired.a, paired.b) for paired in one.instances] == ([(1, 0), (None, 1), (0.5, 0.5)] if seen else [(None, None)] * 3)
    assert (one.instances[0].reason_a, one.instances[0].reason_b) == reasons
    assert [paired.instance_id for paired in one.flips] == (["q0"] if seen else [])
    assert [shift.name for shift in one.shift] == (["n"] if level in ("shape", "cells") else ["string_match"])
    if level == "cells":
        (flip,) = one.flips
        assert (flip.question, flip.reference, flip.answer_a, flip.answer_b) == ("what is q0", "77", "", "it is 77")
        back = compare([other, base], reveal=level).candidates[0].flips[0]
        assert (back.question, back.reference, back.answer_a, back.answer_b) == ("what is q0", "77", "it is 77", "")
    hidden = compare([base, other])
    assert (hidden.level, "77" in json.dumps(hidden.to_json())) == ("class", False)
    assert compare([other, replace(base, hidden=False)]).level == "cells"


def test_what_is_said_of_the_sides() -> None:
    """The most errata of any side, the size of gold if a side has less, labels that cannot be read by their kind below `cells`."""
    sides = [
        side("a", [1, 0], n_unapplied=1),
        side("b", [1], n_unapplied=3, n_instances=4, unread="odd: 77"),
        side("c", [0, 0], n_instances=2),
    ]
    found = compare(sides)
    assert (found.n_unapplied, found.part_of, found.warnings) == (3, 4, ("b: odd: 77",))
    assert compare(sides, reveal="shape").warnings == ("b: odd",)
    assert compare(sides[::2]).part_of is None
    receipts = ({"python": "3.11.2", "regex": "1"}, {"python": "3.11.9", "pyphen": "2"}, {"python": "3.13.0", "regex": "2", "jobs": 2})
    warned = compare([replace(one, receipt=receipt, unread="") for one, receipt in zip(sides, receipts, strict=True)]).warnings
    assert warned == ("a and c were scored with other versions of python, regex: verdicts on rare texts can differ",)
    of_code = [replace(one, receipt={"evalsuite_code": one.label, "regex": one.label}, unread="") for one in sides[:2]]
    assert compare(of_code).warnings == ("a and b were scored with other versions of evalsuite's code, regex: verdicts can differ",)
    nothing = compare([*sides[:1], side("d", [None, None]), side("e", [0.0, 0.0])])
    assert (nothing.undecided_names, nothing.regressions, nothing.to_json()["regressions"]) == (("d",), (), [])
    for alpha in (0, 1, -0.1, 1.5):
        with pytest.raises(UsageError, match=r"alpha must be between 0 and 1, found "):
            compare(sides, alpha=alpha)
    with pytest.raises(UsageError, match="--reveal cannot be 'cell'"):
        compare(sides, reveal="cell")
    with pytest.raises(UsageError, match="a comparison needs two runs"):
        compare(sides[:1])
    worse = compare([side("a", [1.0] * 9), side("b", [0.0] * 9)])
    assert (worse.regressions, worse.candidates[0].n_needed, worse.candidates[0].plan.n_needed) == (("b",), None, 6)
    data = worse.to_json()["candidates"][0]
    assert (data["n_needed"], data["detectable"]) == (None, worse.candidates[0].detectable)
    assert not {"plan", "instances"} & data.keys()


@pytest.mark.parametrize(("prefix", "groups", "message", "hint"), [
    ("q", {"pp:1": ["q0"], "topic": ["q1"]}, "no group begins with 'q'", "known: pp:1, topic"),
    ("topik", {"pp:1": ["q0"], "topic": ["q1"]}, "no group begins with 'topik'", "did you mean 'topic'?"),
    ("q", {}, "no group begins with 'q'", "groups are set in suite.yaml"),
    ("", {}, "no group begins with ''", "groups are set in suite.yaml"),
    ("p:", {"p:1": ["q0"]}, "'q1' is in none of the clusters", None),
    ("p:", {"p:1": ["q0", "q1"], "p:2": ["q1"]}, "'q1' is in p:1 and p:2 of the clusters", None),
])  # fmt: skip
def test_clusters_must_part_the_instances(prefix: str, groups: dict[str, list[str]], message: str, hint: str | None) -> None:
    """Every paired instance is in exactly one cluster; of a prefix without a group the nearest is named, or all, or where they are set."""
    with pytest.raises(UsageError, match=message) as refused:
        compare([side("a", [0, 1], groups=groups), side("b", [1, 1])], cluster=prefix)
    assert hint in (None, refused.value.hint)


Change = Callable[[int, dict[str, Any]], dict[str, Any] | None]
N = 200


def invoices(folder: Path, change: Change, *, func: str = "tree_match", n: int = N, n_files: int = 1, **parameters: Any) -> Run:
    """A run of `n_files` files with n records each, every record as gold has it but for what `change` makes of it (None: left out)."""
    gold, answers = folder / "gold", folder / "answers"
    specs, lines = [], []
    for file in range(n_files):
        name = f"inv{file}"
        records = [{"id": f"r{i}", "vendor": f"V{i % 7}", "total": 3 * i + 1, "day": f"2026-01-{i % 28 + 1:02d}"} for i in range(n)]
        found = [made for i, record in enumerate(records) if (made := change(i, dict(record))) is not None]
        for where, rows in ((gold / name, records), (answers / name, found)):
            where.mkdir(parents=True)
            (where / "records.jsonl").write_text("\n".join(map(json.dumps, rows)))
        specs.append({"instance_id": name, "evaluation": {"func": func, "parameters": {"gold": "records.jsonl", **parameters}}})
        lines.append({"instance_id": name, "answer_type": "file", "answer_or_path": "records.jsonl"})
    (gold / "x_eval.jsonl").write_text("\n".join(map(json.dumps, specs)))
    (answers / "results_metadata.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return run(answers, gold, RunOptions(save=False, isolation="none"))


def side_of_run(label: str, done: Run) -> RunSide:
    """The side of a run."""
    return side_of(label, done.to_json(), done.results)


def of_units(label: str, *instances: Sequence[float | None], **more: Any) -> RunSide:
    """A side of instances with these units."""
    results = {}
    for at, units in enumerate(instances):
        known = [score for score in units if score is not None]
        results[f"q{at}"] = result(f"q{at}", sum(known) / len(known), details=unit_details(units), scorer="tree_match")
    return RunSide(label=label, results=results, **more)


def test_units_of_several_instances_are_clustered_by_instance() -> None:
    """Ten instances of 20 records each: 200 units in ten clusters, flipped together; a unit that one side lacks is left out."""
    a, b = [[1.0] * 20] * 10, [[1.0] * 15 + [0.0] * 5] * 10
    total = compare([of_units("a", *a), of_units("b", *b)]).candidates[0].total
    assert (total.n, total.n_clusters, total.p) == (200, 10, pytest.approx(2 / 2**10))
    few = compare([of_units("a", *a[:4]), of_units("b", *b[:4])]).candidates[0].total
    assert few.note == "4 clusters: no test can reach 0.05"
    judged = compare([of_units("a", [1.0, None, 0.5, 1.0]), of_units("b", [1.0, 1.0, None, 0.0])]).candidates[0].total
    assert (judged.n, judged.losses) == (2, 1)


@pytest.mark.parametrize("n", [100, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["0/1", "F1"])
def test_equal_runs_have_no_small_p_too_often(kind: str, n: int) -> None:
    """Pairs of equally good runs of 200 records: at no level is p below it more often than chance lets it be (Kolmogorov, 1 %)."""
    rng = np.random.default_rng(7)
    drawn = []
    for _ in range(n):
        hard = rng.random(N)
        rows = [np.clip(hard + rng.normal(0, 0.3, N), 0, 1) for _ in "ab"]
        scores = [np.round(row * 4) / 4 if kind == "F1" else (row > 0.4).astype(float) for row in rows]
        drawn.append(compare([of_units(name, row.tolist()) for name, row in zip("ab", scores, strict=True)]).candidates[0].total.p)
    levels = np.sort(drawn)
    above = np.arange(1, n + 1) / n - levels
    assert above.max() <= 1.52 / n**0.5


def test_samples_of_one_file_are_samples_of_its_records(tmp_path: Path) -> None:
    """Two samples a model: 200 questions and not one, compared record by record and field by field by their means."""

    def every(step: int, first: int) -> Change:
        return lambda i, record: record | {"vendor": "?"} if i % step == first else record

    sides = [
        side_of_run(f"{step}.{first}", invoices(tmp_path / f"{step}.{first}", every(step, first))) for step in (40, 4) for first in (0, 1)
    ]
    numbers = samples_of(sides[:2]).models[0].numbers
    assert (numbers.n_questions, numbers.n_samples) == (N, (2, 2))
    assert numbers.passes[1].all == pytest.approx(1 - 10 / N)
    found = compare([mean_side(sides[:2]), mean_side(sides[2:])]).candidates[0]
    assert (found.total.n, found.total.p < 1e-6, found.is_regression) == (N, True, True)
    by_field = {row.f1.name: (row.f1.n, row.f1.difference) for row in found.fields}
    assert by_field["vendor"] == (N, pytest.approx(0.025 - 0.25))
    assert by_field["total"] == (N, 0.0)


GRADES = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@given(st.lists(st.tuples(GRADES, GRADES), min_size=1, max_size=7 if is_full() else 5), st.integers(1, 7))
@examples(60)
def test_paired_shift_counts_all_exchanges(pairs: list[tuple[float, float]], n_clusters: int) -> None:
    """Distance as scipy's, p as the share of all exchanges within instances, or whole clusters of them, that move the scores as far."""
    left, right = dict(enumerate(a for a, _ in pairs)), dict(enumerate(b for _, b in pairs))
    found = score_shift("s", left, right, clusters=None if n_clusters == 7 else {i: f"c{i % n_clusters}" for i in left})
    distances = [
        scipy.stats.wasserstein_distance(
            [pair[swaps[i % n_clusters]] for i, pair in enumerate(pairs)], [pair[1 - swaps[i % n_clusters]] for i, pair in enumerate(pairs)]
        )
        for swaps in itertools.product([0, 1], repeat=n_clusters)
    ]
    assert found.distance == pytest.approx(distances[0])
    assert found.p == pytest.approx(np.mean(np.asarray(distances) >= distances[0] - 1e-9))
    assert found.seed is None


def test_two_sets_of_instances_are_pooled() -> None:
    """Without a shared instance the two samples are exchanged as a whole; equal samples have distance 0, a side without scores none."""
    found = score_shift("s", {"a1": 0.0, "a2": 1.0}, {"b1": 0.0, "b2": 1.0, "b3": 0.0, "b4": 1.0})
    assert (found.paired, found.distance, found.p) == (False, pytest.approx(0), 1)
    assert score_shift("s", {"x": 1.0}, {}) is score_shift("s", {}, {"x": 1.0}) is score_shift("s", {}, {}) is None
    same = score_shift("s", {"x": 1.0, "y": 0.5}, {"y": 0.5, "x": 1.0, "z": 0.0})
    assert (same.distance, same.p, same.seed, same.n_b, same.mean_b) == (0.0, 1.0, None, 2, 0.75)


def test_a_drawn_shift_repeats_itself() -> None:
    """The same seed gives the same p, close to another's."""
    rng = np.random.default_rng(1)
    a, b = ({str(i): value for i, value in enumerate(rng.random(40))} for _ in range(2))
    first, again, other = score_shift("s", a, b), score_shift("s", a, b), score_shift("s", a, b, seed=1)
    assert first == again
    assert first.p == pytest.approx(other.p, abs=0.03)
    assert (first.seed, other.seed, first.n_resamples) == (12345, 1, 10_000)


@pytest.mark.parametrize("cells", [1, 40, 4_000_000])
def test_draws_in_blocks_are_the_same_draws(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """Exchanges are counted one by one or at once: all 2^7 of them, or as many as were asked for, drawn by plain loops."""
    monkeypatch.setattr(comparison, "CELLS_AT_ONCE", cells)
    rng = np.random.default_rng(2)
    a, b = ({str(i): value for i, value in enumerate(rng.integers(0, 5, 7) / 4)} for _ in range(2))
    pairs = [(x, b[key]) for key, x in a.items()]
    observed = scipy.stats.wasserstein_distance(list(a.values()), list(b.values()))

    def is_far(left: list[float], right: list[float]) -> bool:
        return bool(scipy.stats.wasserstein_distance(left, right) >= observed - 1e-9)

    far = [
        is_far(*zip(*(pair[::sign] for pair, sign in zip(pairs, signs, strict=True)), strict=True))
        for signs in itertools.product((1, -1), repeat=7)
    ]
    found = score_shift("s", a, b, n_resamples=2 ** sum(x != y for x, y in pairs))
    assert (found.p, found.n_resamples, found.distance) == (pytest.approx(np.mean(far)), None, pytest.approx(observed))
    apart = score_shift("s", {f"a{key}": value for key, value in a.items()}, b, n_resamples=30, seed=3)
    weights = np.repeat([1 / 7, -1 / 7], 7)
    values = np.array([*a.values(), *b.values()])
    order = np.argsort(values, kind="stable")
    rng = np.random.default_rng(3)
    rows = [rng.permuted(weights[order][None, :], axis=1)[0] for _ in range(30)]
    n_far = sum(is_far(list(values[order][row > 0]), list(values[order][row < 0])) for row in rows)
    assert (apart.p, apart.n_resamples, apart.seed, apart.n_a) == (pytest.approx((n_far + 1) / 31), 30, 3, 7)


def test_an_interval_that_leaves_0_out_beside_no_difference_has_its_half_sentence() -> None:
    """By its own approximation, beside few flips, and because it is not adjusted for the number of candidates."""
    few = compare([side("a", [0.0] * 30), side("b", [1.0] * 5 + [0.0] * 25)]).candidates[0]
    assert (few.verdict, few.total.low is not None and few.total.low > 0) == ("no difference shown", True)
    assert "no p below 0.0625 is possible; the interval is approximate and leaves 0 out" in few.total.note
    others = [side("c", [1.0] * 6 + [0.0] * 24), side("d", [1.0, 0.0] * 15), side("e", [0.0] * 30)]
    first = compare([side("a", [0.0] * 30), *others]).candidates[0]
    assert (first.verdict, first.total.p) == ("no difference shown", 0.03125)
    assert (
        first.total.note
        == "the interval leaves 0 out because it is for this comparison alone, the test is adjusted for all: the test decides"
    )
    assert "the interval is approximate and leaves 0 out" in significance_test([1] * 5 + [0] * 25, [0] * 30).note
