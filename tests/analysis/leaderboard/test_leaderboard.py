"""The numbers of a leaderboard: order, polarity, shared ranks, faults, refusals and letters for names."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.analysis.leaderboard.ranking import Leaderboard, make_leaderboard
from evalsuite.core.dataclasses import replace
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import UsageError
from evalsuite.runs.history_index import RunScores
from evalsuite.runs.leaderboard_entries import Entry
from evalsuite.scorers import SCORERS
from evalsuite.stats.intervals import score_interval
from tests.properties import examples

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def entry(name: str, scores: Sequence[float | None], *, status: Sequence[str] = (), scorer: str = "string_match", **more: object) -> Entry:
    """An entry with these scores, the same under both rules."""
    n = len(scores)
    columns = RunScores(
        folder=f"runs/{name}",
        signature="evalsuite:1|rules:official|gold:abc",
        submission_hash=f"hash of {name}",
        submission=name,
        suite="toy",
        rules="official",
        is_whole=True,
        metadata={"model_name": f"model of {name}"},
        groups={"even": [f"q{i}" for i in range(0, n, 2)]},
        clusters=(),
        ids=[f"q{i}" for i in range(n)],
        score=scores,
        official=scores,
        strict=scores,
        status=status or ["scored"] * n,
        scorer=[scorer] * n,
    )
    return Entry(name=name, scores=replace(columns, **more) if more else columns)  # type: ignore[arg-type]


def board(*entries: Entry, **options: object) -> Leaderboard:
    """The leaderboard of these entries."""
    return make_leaderboard(entries, DiskCache(None), **options)  # type: ignore[arg-type]


def names(made: Leaderboard) -> list[str]:
    """The names from the top down."""
    return [row.name for row in made.rows]


@examples(30)
@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=5, max_size=5), min_size=1, max_size=5))
def test_the_order_is_that_of_the_plain_means(vectors: list[list[float]]) -> None:
    """Rows stand by falling mean, a rank is one more than how many are better, and the interval is the one of every report."""
    made = board(*(entry(f"s{i}", vector) for i, vector in enumerate(vectors)))
    totals = {f"s{i}": sum(vector) for i, vector in enumerate(vectors)}
    for row in made.rows:
        assert row.rank == 1 + sum(total > totals[row.name] for total in totals.values())
        assert row.score == pytest.approx(totals[row.name] / 5)
        expected = score_interval(vectors[int(row.name[1:])])
        assert row.interval == pytest.approx((expected.low, expected.high))
    assert [totals[name] for name in names(made)] == sorted(totals.values(), reverse=True)


def test_who_cannot_be_told_apart_shares_ranks() -> None:
    """Two near equals share the first two places; a third that is far behind keeps its own."""
    good, near, far = [1.0] * 36 + [0.0] * 4, [1.0] * 35 + [0.0] * 5, [0.0] * 40
    made = board(entry("far", far), entry("near", near), entry("good", good))
    assert [(row.name, row.rank, row.shared_ranks) for row in made.rows] == [("good", 1, (1, 2)), ("near", 2, (1, 2)), ("far", 3, (3, 3))]
    assert made.test == "exact McNemar"
    assert made.rows[2].rank_interval == (3, 3)


def test_a_scorer_that_counts_down_turns_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where less is better the smallest mean leads, the title says so, and what was not handed in is the worst, not the best."""
    down = replace(SCORERS.load("string_match"), marker=replace(SCORERS.load("string_match").marker, direction="lower"))
    monkeypatch.setattr(SCORERS.additions, "known", {"string_match": down})
    absent = entry("absent", [0.0, 0.0, 0.0], status=["missing"] * 3)
    made = board(entry("many", [0.9, 0.8, 0.7]), absent, entry("few", [0.1, 0.2, 0.3]), by="scorer")
    assert names(made) == ["few", "many", "absent"]
    assert made.score_title == "score (lower is better)"
    assert made.by_direction == {"string_match": "lower"}
    assert made.rows[2].score == 1


# Status -> its score: what the submission failed at is 0, what was not judged is None.
WORTH = {"scored": 1.0, "missing": 0.0, "submission_fault": 0.0, "timeout": 0.0, "gold_fault": None, "unscored": None}


@examples(60)
@given(st.lists(st.tuples(st.sampled_from([*WORTH]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=6))
def test_each_number_of_a_row_is_a_plain_count(answers: list[tuple[str, float]]) -> None:
    """A gold fault counts 0 and makes the upper end; what the grader's side left unjudged has no part in the means, and leaves no rank.

    The strict column says what those rules gave, also for what only they could read.
    """
    status = [name for name, _ in answers]
    score = [None if WORTH[name] is None else value * WORTH[name] for name, value in answers]
    strict = [None if WORTH[name] is None or name == "missing" else value for name, value in answers]
    row = board(entry("a", score, status=status, strict=strict, scorer="x"), entry("b", [0.0] * len(status)), by="group").rows
    (found,) = (one for one in row if one.name == "a")
    n, own = len(status), [at for at, name in enumerate(status) if name != "unscored"]
    judged = bool([at for at in own if score[at] is not None])
    assert (found.rank is None) == (len(own) < n or not judged)
    assert (found.score_low, found.score_high) == pytest.approx(
        (sum(value or 0 for value in score) / n, sum(1 if value is None else value for value in score) / n)
    )
    for found_mean, values in ((found.score, score), (found.official, score), (found.strict, strict)):
        values = [values[at] for at in own]
        expected = sum(value or 0 for value in values) / len(values) if any(value is not None for value in values) else None
        assert found_mean == (expected if expected is None else pytest.approx(expected))
    assert found.n_judged == (len(own) if judged else 0)
    assert (found.n_handed_in, found.coverage) == (n - status.count("missing"), pytest.approx(1 - status.count("missing") / n))
    assert dict(found.faults) == {name: status.count(name) for name in {*status} - {"scored", "missing"}}
    even = [score[at] or 0 for at in own if at % 2 == 0]
    assert dict(found.by) == {"even": pytest.approx(sum(even) / len(even)) if even else None}


def test_columns_by_scorer_and_by_group() -> None:
    """A column holds the mean over its instances alone."""
    mixed = entry("a", [1.0, 0.0, 1.0, 1.0], scorer="x")
    assert mixed.scores is not None
    mixed = replace(mixed, scores=replace(mixed.scores, scorer=["number_match", "string_match"] * 2))
    assert dict(board(mixed, by="scorer").rows[0].by) == {"number_match": 1.0, "string_match": 0.5}
    assert dict(board(mixed, by="group").rows[0].by) == {"even": 1.0}


def test_an_unreadable_submission_is_the_last_row() -> None:
    """It has its fault and no numbers; a board of such alone is an error."""
    broken = Entry(name="broken", scores=None, fault="no such file")
    made = board(broken, entry("a", [1.0]))
    assert [(row.name, row.rank, row.fault) for row in made.rows] == [("a", 1, ""), ("broken", None, "no such file")]
    with pytest.raises(UsageError, match="none of 1 submissions could be read: broken: no such file"):
        board(broken)


def test_other_signatures_are_refused_and_forced_only_over_what_they_share() -> None:
    """Other rules or instances are named; with force the board covers the shared instances and says what it ignored."""
    one = entry("one", [1.0, 0.0, 1.0])
    other = entry("other", [1.0, 1.0], signature="evalsuite:1|rules:strict|gold:abc")
    with pytest.raises(UsageError, match=r"differ in rules: official \(1\), strict \(1\); instances: 3 \(1\), 2 \(1\)"):
        board(one, other)
    made = board(one, other, force=True)
    assert made.n_instances == 2
    assert [(row.name, row.score) for row in made.rows] == [("other", 1.0), ("one", 0.5)]
    assert made.forced == ("rules: official (1), strict (1)", "instances: 3 (1), 2 (1)")
    with pytest.raises(UsageError, match="no instance in common"):
        board(one, entry("x", [1.0], ids=["elsewhere"]), force=True)


def test_letters_stay_and_say_nothing() -> None:
    """Letters do not change when others come, and no name, path or metadata is anywhere in the object."""
    some = [entry("alice", [1.0, 0.0]), entry("bob", [0.0, 0.0]), Entry(name="carol", scores=None, fault="carol/x: broken")]
    before = board(*some, anonymous=True, notes=["alice"])
    after = board(entry("dave", [1.0, 1.0]), *some, anonymous=True)
    assert set(names(before)) < set(names(after))
    assert len(set(names(after))) == 4
    assert not any(word in json.dumps(after.to_json()) + json.dumps(before.to_json()) for word in ("alice", "bob", "carol", "model of"))


def test_two_of_the_same_content_get_two_letters() -> None:
    """A copy under another name has its own row."""
    made = board(entry("a", [1.0], submission_hash="same"), entry("b", [1.0], submission_hash="same"), anonymous=True)
    assert len(set(names(made))) == 2
    assert [row.rank for row in made.rows] == [1, 1]


def test_clusters_of_the_suite_widen_the_interval() -> None:
    """Where the suite names clusters, the interval is that over clusters."""
    scores = [1.0] * 6 + [0.0] * 6 + [1.0] * 6
    groups = {tag: [f"q{6 * at + i}" for i in range(6)] for at, tag in enumerate("abc")}
    plain, clustered = board(entry("a", scores)).rows[0], board(entry("a", scores, groups=groups, clusters=list("abc"))).rows[0]
    assert plain.interval is not None
    assert clustered.interval is not None
    assert clustered.interval[1] - clustered.interval[0] > plain.interval[1] - plain.interval[0]


def test_few_clusters_leave_every_place_open_and_it_is_said() -> None:
    """Two submissions that differ on every instance of three clusters share their ranks; of one cluster nothing is known at all."""
    groups = {tag: [f"q{6 * at + i}" for i in range(6)] for at, tag in enumerate("abc")}
    made = board(*(entry(name, [score] * 18, groups=groups, clusters=list("abc")) for name, score in (("a", 1.0), ("b", 0.0))))
    assert [row.shared_ranks for row in made.rows] == [(1, 2), (1, 2)]
    assert made.test == "sign flips of whole clusters"
    assert "3 clusters: no test can reach 0.05" in made.notes
    whole = {"a": [f"q{i}" for i in range(18)]}
    one = board(*(entry(name, [score] * 18, groups=whole, clusters=["a"]) for name, score in (("a", 1.0), ("b", 0.0))))
    assert {(row.shared_ranks, row.rank_interval) for row in one.rows} == {((1, 2), (1, 2))}
    assert any(note.startswith("one cluster") for note in one.notes)


def test_an_instance_in_no_cluster_is_named() -> None:
    """Clusters that do not part the instances are not used, and the board says so."""
    made = board(entry("a", [1.0, 0.0, 1.0], groups={"x": ["q0"], "y": ["q1"]}, clusters=["x", "y"]))
    assert any("instance 'q2' is in none of the clusters" in note for note in made.notes)


def test_records_of_one_file_tell_submissions_apart() -> None:
    """One instance of 100 records: shared ranks and intervals are over the records, and ranks by the score of the instance."""
    rows = {"a": [1.0] * 100, "b": [1.0] * 75 + [0.0] * 25, "c": [1.0, 0.0] * 50}
    entries = []
    for name, units in rows.items():
        one = entry(name, [sum(units) / 100])
        entries.append(replace(one, scores=replace(one.scores, units={"q0": units})))
    made = board(*entries, entry("missing", [0.0]))
    assert [(row.name, row.rank, row.shared_ranks) for row in made.rows] == [
        ("a", 1, (1, 1)), ("b", 2, (2, 2)), ("c", 3, (3, 3)), ("missing", 4, (4, 4)),
    ]  # fmt: skip
    low, high = made.rows[1].interval or (0, 0)
    assert 0.6 < low < 0.75 < high < 0.85
