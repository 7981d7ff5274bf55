"""The numbers of a run: what is divided by what, and what nobody could judge."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import OutputError
from evalsuite.core.status import further_result_row
from evalsuite.core.types import Result, Status
from evalsuite.runs.summary import clusters_by_id, judged_words, score_or_mean, summarise, tags_by_instance
from evalsuite.stats import intervals
from evalsuite.stats.intervals import clustered_score_interval, score_interval
from tests.properties import examples


def result(name: str, score: float | None, *, strict: float | None = None, status: Status = "scored", **more: Any) -> Result:
    """The outcome of one instance under official rules."""
    given = {"scorer": "string_match", "reason": "r", "fault": None, **more}
    return Result(instance_id=name, status=status, score=score, official=score, strict=score if strict is None else strict, **given)


RIGHT, WRONG, HALF = result("a", 1.0, strict=0.0), result("b", 0.0), result("c", 0.5)
MISSING = result("d", 0.0, status="missing")
UNJUDGED = result("e", None, status="gold_fault", fault="BAD_SPEC")


def test_the_order_of_instances_moves_no_number() -> None:
    """Nor does the Python that sums: the mean of seven tenths is 0.7, and the same scores in another order have the same mean."""
    scores = [0.5, 1.0, 0.3, 0.3, 0.0, 0.6, 0.5]
    forth, back = (summarise([result(f"q{i}", x) for i, x in enumerate(some)], rules="official") for some in (scores, scores[::-1]))
    assert forth.score == back.score == 3.2 / 7
    assert summarise([result(f"q{i}", 0.1) for i in range(10)], rules="official").score == 0.1


def test_what_a_list_of_runs_says_of_the_judged_part() -> None:
    """Only a verdict counts as judged: not what gold prevented, which counts 0, but a value on a scale of its own. The headline is the
    score, else the mean on a metric's own scale.
    """
    own, unscored = result("f", None, scorer="own", details={"raw": 7.0}), result("g", None, status="unscored")
    for results, words in (
        ([RIGHT, WRONG, MISSING], ""),
        ([RIGHT, UNJUDGED], ""),
        ([RIGHT, own], ""),
        ([RIGHT, MISSING, UNJUDGED, unscored], "judged 2/4"),
        ([RIGHT, own, unscored], "judged 2/3"),
        ([own, result("h", 0.0, status="missing", scorer="own")], "judged 1/2"),
        ([own], ""),
    ):
        assert judged_words(summarise(results, rules="official").to_json()) == words
    assert judged_words({}) == ""
    raw = {"mean": 3}
    assert (score_or_mean({"score": 0.0, "raw": raw}), score_or_mean({"score": None, "raw": raw})) == (0.0, 3)
    assert score_or_mean({"score": None, "raw": None}) is score_or_mean({}) is None


KINDS: dict[Status, float | None] = {"scored": 1.0, "missing": 0.0, "submission_fault": 0.0, "gold_fault": None, "unscored": None}


@examples(120)
@given(st.lists(st.tuples(st.sampled_from([*KINDS]), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 1.0, None])), max_size=7))
def test_numbers_are_plain_counts(answers: list[tuple[Status, float, float | None]]) -> None:
    """Of all results and of those of one scorer; what the grader's side left unjudged is in no mean, what gold prevented counts 0."""
    results = []
    for at, (status, grade, strict) in enumerate(answers):
        worth = KINDS[status]
        score = None if worth is None else worth * grade
        made = result(f"q{at}", score, status=status)
        results.append(replace(made, strict=None if score is None else strict if status == "scored" else 0.0))
    found = summarise(results, rules="official")
    scored = [one for one in results if one.status == "scored"]
    assert (found.n_right, found.n_wrong) == (sum(one.score == 1 for one in scored), sum(one.score == 0 for one in scored))
    submitted = [one for one in results if one.status not in ("missing", "unscored")]
    known = any(one.official is not None for one in submitted)
    assert found.reference_ratio == (sum(one.official == 1 for one in submitted) / len(submitted) if known else None)
    assert found.n_submitted == sum(one.status != "missing" for one in results)
    part = found.by_scorer.get("string_match", {})
    assert part.get("n", 0) == len(results)
    for name, count in (("official", "n_right_official"), ("strict", "n_right_strict")):
        values = [getattr(one, name) for one in results]
        judged = [value or 0 for one, value in zip(results, values, strict=True) if one.status != "unscored"]
        # Strict rules that judged none of the scored answers have no mean.
        of_scored = [value for one, value in zip(results, values, strict=True) if one.status == "scored"] if name == "strict" else []
        is_known = any(value is not None for value in of_scored or values)
        assert part.get(name) == (pytest.approx(sum(judged) / len(judged)) if is_known else None)
        assert part.get(count) == (values.count(1.0) if is_known else None)
    assert found.score == part.get("score") == (part.get("official") if results else None)


def test_parts_have_their_own_rows() -> None:
    """By scorer and by group the same numbers over fewer instances; a flip is named with its cause; of graded scores each falls into one
    of ten bins, 1 into the last, and rights and wrongs alone have none.
    """
    assert summarise([RIGHT, WRONG], rules="official").histogram is None
    assert summarise([RIGHT, WRONG, HALF], rules="official").histogram == (1, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    assert clusters_by_id(["page"], {"page": ["f"], "hard": ["b"]}) == {"f": "page"}
    flipped = result("f", 1.0, strict=0.0, details={"flip": "case: Oslo"})
    summary = summarise([flipped, WRONG], rules="official", groups=tags_by_instance([("hard", "fb"), ("easy", "b")]))
    assert {tag: (row["n"], row["score"]) for tag, row in summary.by_group.items()} == {"hard": (2, 0.5), "easy": (1, 0.0)}
    assert (summary.by_scorer["string_match"]["n_right_official"], summary.by_scorer["string_match"]["n_right_strict"]) == (1, 0)
    assert [(flip["instance_id"], flip["kind"]) for flip in summary.flips] == [("f", "case")]
    row = summarise([replace(flipped, score=0.0), WRONG], rules="strict").by_scorer["string_match"]
    assert (row["n_right"], row["n_right_official"], row["n_right_strict"]) == (0, 1, 0)


def test_each_instance_is_in_one_cluster() -> None:
    """Clusters widen the interval; an instance in none of them is an error of the run's file: gold is checked as it is read.

    One without an instance that was judged is in no interval.
    """
    groups = {"a": ("x",), "b": ("y",), "c": ("x",), "g": ("z",)}
    unscored = result("g", None, status="unscored")
    for results in ([RIGHT, WRONG, HALF], [RIGHT, WRONG, HALF, unscored]):
        clusters = summarise(results, rules="official", groups=groups, clusters=("x", "y", "z")).clusters
        assert clusters is not None
        assert clusters["n_clusters"] == 2
    with pytest.raises(OutputError, match=r"^r/run\.json: instance 'd' is in none of the clusters"):
        summarise([RIGHT, MISSING], rules="official", groups=groups, clusters=("x", "y"), where="r/run.json")


def test_rows_are_over_clusters_where_they_have_several() -> None:
    """By scorer and by group, and the mean on a metric's own scale; the row of one cluster is that cluster's own mean."""
    scores = [1.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    groups = {str(at): ("x" if at < 3 else "y", *(("hard",) if at % 2 else ())) for at in range(6)}
    results = [result(str(at), score) for at, score in enumerate(scores)]
    found = summarise(results, rules="official", groups=groups, clusters=("x", "y")).to_json()
    over, hard, x = clustered_score_interval(scores, "xxxyyy"), clustered_score_interval([1, 0, 0], "xyy"), score_interval(scores[:3])
    for row, interval in ((found["by_scorer"]["string_match"], over), (found["by_group"]["hard"], hard), (found["by_group"]["x"], x)):
        assert (row["se"], row["interval_95"]) == (interval.se, [interval.low, interval.high])
    assert found["interval_95"] != found["clusters"]["interval_95"] == [over.low, over.high]
    measured = [replace(one, score=None, official=None, strict=None, details={"raw": 5 * scores[int(one.instance_id)]}) for one in results]
    spread = intervals.clustered_interval([5 * score for score in scores], "xxxyyy")
    found = summarise(measured, rules="official", groups=groups, clusters=("x", "y")).to_json()
    assert found["raw"]["interval_95"] == found["by_scorer"]["string_match"]["raw_interval_95"] == [spread.low, spread.high]


def row(**values: Any) -> dict[str, Any]:
    """A row of `by_scorer` or `by_group`: nothing scored, but for these values."""
    nothing = dict.fromkeys(("n_right_official", "n_right_strict", "score", "score_low", "score_high", "se", "interval_95", "official"))
    return {"n": 0, "n_units": 0, "n_judged": 0, "n_right": 0, **nothing, "strict": None, "raw": None, **values}


def test_every_number_of_a_run() -> None:
    """All of the object in `run.json`, number by number: what is divided by what, under which rules."""
    over = result("g", 0.0, status="timeout", fault="TIMEOUT", details={"budget": "reader"})
    late = result("h", 0.0, status="timeout", fault="TIMEOUT")
    odd = result("i", None, status="unscored", details={"budget": "no"})
    results = [RIGHT, WRONG, HALF, MISSING, UNJUDGED, over, late, odd]
    groups = {"a": ("x",), "b": ("y",), "c": ("x",), "d": ("y",), "e": ("x",), "g": ("y",), "h": ("y",), "i": ("x",)}
    submitted = ["a", "b", "c", "e", "g", "i"]
    found = summarise(results, rules="official", groups=groups, clusters=("x", "y"), n_instances=9, submitted=submitted)
    assert (found.is_part, found.rules, found.other_rules, found.other and found.other.value) == (True, "official", "strict", 0.5 / 7)
    assert summarise(results, rules="official", n_instances=8).is_part is False
    under_strict = summarise(results, rules="strict")
    assert (under_strict.other_rules, under_strict.other and under_strict.other.value) == ("official", 1.5 / 7)
    assert (found.n_right, found.n_wrong) == (1, 1)
    # What gold prevented counts as 0, what the grader's side prevented is in no mean.
    scores = [1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    spread, wide = score_interval(scores), clustered_score_interval(scores, ["x", "y", "x", "y", "x", "y", "y"])
    told = found.to_json()
    counts = {name: n for name, n in told["counts"].items() if n}
    assert counts == {"scored": 3, "missing": 1, "gold_fault": 1, "timeout": 2, "unscored": 1}
    cause = {"instance_id": "a", "official": 1.0, "strict": 0.0, "kind": "", "cause": ""}
    own = {
        "score": pytest.approx(1.5 / 7),
        "n_judged": 7,
        "score_low": pytest.approx(1.5 / 8),
        "score_high": pytest.approx(3.5 / 8),
        "official": pytest.approx(1.5 / 7),
        "strict": pytest.approx(0.5 / 7),
        "se": spread.se,
        "interval_95": [spread.low, spread.high],
        "interval_method": spread.method,
        "n_units": 8,
        "histogram": [4, 0, 0, 0, 0, 1, 0, 0, 0, 1],
        "reference_ratio": 1 / 5,
        "n_gold": 8,
        "n_submitted": 6,
        "over_budget": {"reader": 1},
        "flips": [cause],
        "by_field": {},
    }
    assert found.n_reference == 5
    assert {name: told[name] for name in own} == own
    assert told["clusters"] == {
        **{"n_clusters": 2, "se": wide.se, "interval_95": [wide.low, wide.high]},
        "note": wide.note or intervals.few_clusters_note(2),
    }
    assert set(told) == {*own, "counts", "clusters", "by_scorer", "by_group"}
    x = score_interval([1.0, 0.5, 0.0])
    assert told["by_group"]["x"] == row(
        **{"n": 4, "n_units": 4, "n_judged": 3, "n_right": 1, "n_right_official": 1, "n_right_strict": 0, "score": 1.5 / 3},
        **{"score_low": 1.5 / 4, "score_high": 3.5 / 4, "official": 1.5 / 3, "strict": pytest.approx(0.5 / 3)},
        **{"se": x.se, "interval_95": [x.low, x.high]},
    )
    assert list(told["by_scorer"]) == ["string_match"]
    assert told["by_scorer"]["string_match"]["n"] == 8
    assert "over_budget" not in summarise([RIGHT, late, odd], rules="official").to_json()
    assert summarise([UNJUDGED, MISSING], rules="official").to_json()["strict"] == 0.0


def test_only_what_was_scored_under_strict_rules_has_a_strict_mean() -> None:
    """Where no strict verdict is known there is none; the flips need both."""
    official = [replace(result(name, 1.0), strict=None) for name in "ab"]
    found = summarise(official, rules="official")
    assert (found.strict, found.other, found.flips, found.to_json()["strict"]) == (None, None, (), None)
    assert found.by_scorer["string_match"]["n_right_strict"] is None
    # A missing answer is wrong under both rules, but makes no strict mean of others that strict rules did not judge.
    absent = replace(MISSING, scorer="string_match")
    row = summarise([*official, absent], rules="official").by_scorer["string_match"]
    assert (row["official"], row["strict"], row["n_right_strict"]) == (pytest.approx(2 / 3), None, None)
    assert summarise([absent], rules="official").by_scorer["string_match"]["strict"] == 0.0


def test_one_answer_of_many_units() -> None:
    """Alone it has the interval of its units; beside another it counts as one score."""
    units = {"units": {"n": 4, "scores": [1, 0, 1, None]}}
    one = result("t", 0.6, details=units)
    alone, two = summarise([one], rules="official"), summarise([one, RIGHT], rules="official")
    expected = intervals.interval_of_units(0.6, [1.0, 0.0, 1.0])
    assert (alone.interval, alone.interval_method, alone.n_units) == ((expected.low, expected.high), expected.method, 4)
    pair = score_interval([0.6, 1.0])
    assert (two.interval, two.n_units) == ((pair.low, pair.high), 5)


def test_a_scale_without_a_range() -> None:
    """What a metric measured on its own scale makes no score; its mean has a row and, where there is nothing else, the summary."""
    measured = [
        replace(result(name, None, scorer="perplexity", details={"raw": raw}), status="scored") for name, raw in (("r", 0.25), ("s", 0.5))
    ]
    absent = result("t", 0.0, status="missing", scorer="perplexity")
    found = summarise([*measured, absent, RIGHT, WRONG], rules="official", groups={"t": ["late"], "b": ["late", "text"]})
    # A group has the same instances in its score as the whole: the missing answer is in none.
    assert [(row["score"], row["n"]) for row in (found.by_group["late"], found.by_group["text"])] == [(0.0, 1)] * 2
    only = summarise([*measured, absent], rules="official", groups={"t": ["late"]}).by_group["late"]
    assert (only["score"], only["n"]) == (None, 0)
    spread = intervals.t_interval([0.25, 0.5])
    assert (found.score, found.raw, found.chosen.n) == (0.5, None, 2)
    assert (found.n_measured, found.n_partial) == (2, 0)
    # A scorer whose metric measured some answers, and scored another: that one makes the score.
    mixed = summarise([*measured, absent, result("u", 1.0, scorer="perplexity")], rules="official")
    assert (mixed.score, mixed.chosen.n) == (1.0, 1)
    own = found.by_scorer["perplexity"]
    assert {name: own[name] for name in ("n", "n_units", "raw", "n_measured", "raw_interval_95", "score")} == {
        **{"n": 3, "n_units": 3, "raw": 0.375, "n_measured": 2, "raw_interval_95": [spread.low, spread.high], "score": None}
    }
    alone = summarise([*measured, absent], rules="official").raw
    ends = [spread.low, spread.high]
    assert alone == {"scorer": "perplexity", "n": 3, "n_measured": 2, "mean": 0.375, "se": spread.se, "interval_95": ends}
    assert summarise([measured[0], replace(measured[1], scorer="ter")], rules="official").raw is None
    # Scores that a metric mapped from its own scale have the mean of its values in their row; of texts there is none.
    mapped = [result(name, score, scorer="bleu", details={"raw": raw}) for name, score, raw in (("a", 0.2, 20), ("b", 0.5, 50.0))]
    rows = summarise([*mapped, RIGHT], rules="official").by_scorer
    assert (rows["bleu"]["raw"], rows["bleu"]["score"], rows["string_match"]["raw"]) == (35, 0.35, None)


def test_nothing_could_be_judged() -> None:
    """Where the grader's side failed everywhere, or the suite is empty, there are no numbers, of clusters neither, and none is 0."""
    empty = summarise([], rules="official").to_json()
    names = ("score", "score_low", "score_high", "official", "strict", "se", "interval_95", "histogram", "reference_ratio")
    assert [empty[name] for name in names] == [None] * len(names)
    failed = [result(name, None, status="unscored") for name in "ab"]
    found = summarise(failed, rules="official", groups={"a": ("x",), "b": ("y",)}, clusters=("x", "y"))
    told = found.to_json()
    assert told["clusters"] == {"n_clusters": 2, "se": None, "interval_95": None, "note": ""}
    assert [told[name] for name in ("score", "n_judged", "se", "interval_95", "interval_method")] == [None, 0, None, None, ""]
    assert told["by_group"]["x"]["n_judged"] == 0


def test_each_scorer_of_several_has_a_row() -> None:
    """The first makes the score; the others are in the details, and a missing answer is 0 for each."""
    other = further_result_row(result("a", 0.5, scorer="bleu"))
    scored = result("a", 1.0, scorer="f1", details={"beside": {"bleu": other}})
    found = summarise([scored, result("b", 0.0, status="missing", scorer="f1")], rules="official")
    assert found.scorers == ("f1", "bleu")
    assert {name: (row["n"], row["score"]) for name, row in found.by_scorer.items()} == {"f1": (2, 0.5), "bleu": (2, 0.25)}
    assert found.to_json()["scorers"] == ["f1", "bleu"]
    # An answer that both measure without a score was measured once.
    row = further_result_row(result("a", None, scorer="ter", details={"raw": 0.5}))
    twice = result("a", None, scorer="perplexity", details={"raw": 2.0, "beside": {"ter": row}})
    found = summarise([twice], rules="official")
    assert [row["n_measured"] for row in found.by_scorer.values()] == [1, 1]
    assert (found.n_measured, found.n_partial) == (1, 0)
