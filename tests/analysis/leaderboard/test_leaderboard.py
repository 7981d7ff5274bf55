"""The numbers of a leaderboard: order, polarity, shared ranks, faults, refusals and letters for names."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.analysis.leaderboard.pairing import SharedInstances
from evalsuite.analysis.leaderboard.ranking import Leaderboard, make_leaderboard
from evalsuite.core.dataclasses import replace
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import UsageError
from evalsuite.reports.html import as_html
from evalsuite.reports.leaderboard_documents import board_facts, leaderboard_document
from evalsuite.runs.history_index import RunScores
from evalsuite.runs.leaderboard_entries import Entry
from evalsuite.scorers import SCORERS
from evalsuite.stats import ranking
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
        own_scale=[f"q{i}" for i in range(n) if "raw" in more],
    )
    return Entry(name=name, scores=replace(columns, **more) if more else columns)  # type: ignore[arg-type]


def board(*entries: Entry, **options: object) -> Leaderboard:
    """The leaderboard of these entries."""
    return make_leaderboard(entries, DiskCache(None), **options)  # type: ignore[arg-type]


def names(made: Leaderboard) -> list[str]:
    """The names from the top down."""
    return [row.name for row in made.rows]


def test_the_same_submission_under_two_names_is_noted() -> None:
    """Each has a rank of its own, and the reader is told; a submission without a hash is not known to be one of them."""
    runs = [entry(name, [1.0, 0.0], submission_hash=digest) for name, digest in (("a", "x"), ("b", "y"), ("c", "x"), ("d", ""), ("e", ""))]
    assert board(*runs).notes == ("the same answers under several names: a, c",)


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
    with pytest.raises(UsageError, match="differ in instances: 3 each, not the same"):
        board(one, entry("x", [1.0] * 3, ids=["q0", "q1", "elsewhere"]))
    with pytest.raises(UsageError, match="no instance in common"):
        board(one, entry("x", [1.0], ids=["elsewhere"]), force=True)
    # The same instances in another order are the same.
    assert [(row.name, row.score) for row in board(one, entry("x", [0.0, 0.0, 1.0], ids=["q2", "q1", "q0"])).rows] == [
        ("one", 2 / 3),
        ("x", 1 / 3),
    ]


def test_two_of_the_same_content_get_two_letters() -> None:
    """A copy under another name has its own row."""
    made = board(entry("a", [1.0], submission_hash="same"), entry("b", [1.0], submission_hash="same"), anonymous=True)
    assert len(set(names(made))) == 2
    assert [row.rank for row in made.rows] == [1, 1]


def test_few_clusters_leave_every_place_open_and_it_is_said() -> None:
    """Two submissions that differ on every instance of three clusters share their ranks; of one cluster nothing is known at all."""
    groups = {tag: [f"q{6 * at + i}" for i in range(6)] for at, tag in enumerate("abc")}
    made = board(*(entry(name, [score] * 18, groups=groups, clusters=list("abc")) for name, score in (("a", 1.0), ("b", 0.0))))
    assert [row.shared_ranks for row in made.rows] == [(1, 2), (1, 2)]
    assert made.test == "sign flips of whole clusters"
    assert "3 clusters: no test can reach 0.05" in made.notes
    assert "of 10000 resamples of whole clusters, " in dict(board_facts(made))["stability"]
    whole = {"a": [f"q{i}" for i in range(18)]}
    one = board(*(entry(name, [score] * 18, groups=whole, clusters=["a"]) for name, score in (("a", 1.0), ("b", 0.0))))
    assert {(row.shared_ranks, row.rank_interval) for row in one.rows} == {((1, 2), (1, 2))}
    assert any(note.startswith("one cluster") for note in one.notes)


def test_an_instance_in_no_cluster_is_named() -> None:
    """Clusters that do not part the instances are not used, and the board says so."""
    made = board(entry("a", [1.0, 0.0, 1.0], groups={"x": ["q0"], "y": ["q1"]}, clusters=["x", "y"]))
    assert any("instance 'q2' is in none of the clusters" in note for note in made.notes)


def test_what_a_board_says_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules, signatures and columns of all, the largest gold, records; how many were scored now, before and elsewhere."""
    down = replace(SCORERS.load("string_match"), marker=replace(SCORERS.load("string_match").marker, direction="lower"))
    monkeypatch.setattr(SCORERS.additions, "known", {"string_match": down})
    more = {"groups": {"none": ["x"], "two": ["q3", "q1", "x"]}, "units": {"q1": (1.0, 0.0, 1.0)}}
    runs = [
        replace(entry("new", [1.0, 0.0, 1.0, 0.0], metadata={"n": 3, "m": "run"}, **more), is_new=True, metadata={"m": "own"}),
        replace(entry("run", [0.0] * 4, n_instances=9, **more, further={"ter": 2.5}, further_raw=["ter"]), is_run=True),
        entry("old", [0.0, 0.0, 1.0, 0.0], **more, rules="strict", signature="evalsuite:1|rules:strict", corrected=0.25),
    ]
    scorers = ["string_match", None, "number_match", "absent_plugin"]
    runs = [replace(run, scores=replace(run.scores, scorer=scorers)) for run in runs if run.scores is not None]
    broken = [Entry(name=name, scores=None, fault="f", is_new=name == "z") for name in "zy"]
    made = board(*runs, *broken, force=True, by="scorer")
    assert (made.suite, made.rules, made.n_instances, made.part_of) == ("toy", "official and strict", 4, 9)
    assert made.signatures == ("evalsuite:1|rules:official|gold:abc", "evalsuite:1|rules:strict")
    assert (made.n_new, made.n_reused, made.n_runs, made.anonymous, made.is_raw) == (2, 1, 1, False, False)
    assert (made.n_units, made.raw_columns, made.direction, made.by) == (6, ("ter",), "higher", "scorer")
    assert made.by_direction == {
        "string_match": "lower",
        "none": "higher",
        "number_match": "higher",
        "absent_plugin": "higher",
        "ter": "lower",
    }
    few, both = (
        "4 instances: no test can reach 0.05 over 3 pairs",
        "scores of both polarities are averaged: less is better for string_match",
    )
    assert made.notes == (few, both)
    assert made.forced == ("rules: official (2), strict (1)", "gold: abc (2), none (1)")
    assert [(row.name, row.rank, row.run) for row in made.rows] == [
        *[("new", 1, "new"), ("old", 2, "old"), ("run", 3, "run")],
        *[("y", None, ""), ("z", None, "")],
    ]
    assert [row.corrected for row in made.rows] == [None, 0.25, None, None, None]
    assert (made.rows[0].metadata, made.rows[2].by["ter"]) == ({"n": "3", "m": "own"}, 2.5)
    groups = board(*runs, force=True, by="group")
    assert [dict(row.by) for row in groups.rows[:2]] == [{"two": 0.0}, {"two": 0.0}]
    assert (groups.by_direction["two"], (made.seed, made.n_resamples, made.confidence)) == ("higher", (12345, 10_000, 0.95))
    alone = board(entry("a", [1.0], n_instances=1))
    assert (alone.part_of, alone.family, alone.notes) == (None, 0, ())


def test_other_versions_are_noted() -> None:
    """A board of runs that other versions scored says so, and who; what a receipt does not record is no difference."""
    versions: list[dict[str, str]] = [
        {"python": "3.11.2", "regex": "1"},
        {"python": "3.11.9"},
        {"python": "3.13.0"},
        {"python": "3.11.2 and 3.13.0"},
    ]
    made = board(
        *(entry(name, [1.0, 0.0, value], versions=each) for name, value, each in zip("abcd", (0, 1, 0.5, 0.2), versions, strict=True))
    )
    assert [note for note in made.notes if "versions" in note] == [
        "a and c, d were scored with other versions of python: verdicts on rare texts can differ"
    ]


def test_samples_of_other_signatures_are_no_model() -> None:
    """They are refused; forced, or alike, a row is a model with its numbers, or has a letter and none of them."""
    alike = [entry(name, [1.0, score], metadata={"model_name": "m"}) for name, score in (("a", 1.0), ("b", 0.0))]
    other = entry("c", [0.0, 0.0], metadata={"model_name": "m"}, signature="evalsuite:1|rules:strict|gold:abc")
    with pytest.raises(UsageError, match="differ in rules"):
        board(*alike, other, samples=True)
    assert [row.name for row in board(*alike, other, samples=True, force=True).rows] == ["m"]
    unread = Entry(name="unread", scores=None, fault="f")
    (row, last) = board(*alike, unread, samples=True).rows
    assert (row.name, row.score, row.samples and row.samples["runs"], last.name) == ("m", 0.75, ["a", "b"], "unread")
    assert board(*alike, samples=True, anonymous=True, notes=["n"]).rows[0].samples is None
    with pytest.raises(UsageError, match="none of 1 submission could be read: unread: f"):
        board(unread, samples=True)


def test_a_ranking_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same scores, means and clusters are ranked once, others again; kept numbers are the same board."""
    memo, calls = DiskCache(tmp_path), list[int]()
    real = ranking.rank_submissions
    monkeypatch.setattr(ranking, "rank_submissions", lambda *words, **more: calls.append(1) or real(*words, **more))
    groups = {"x": ["q0", "q1"], "y": ["q2"]}
    kinds: list[dict[str, object]] = [{}, {}, {"groups": groups}, {"groups": groups, "clusters": ["x", "y"]}, {"units": {"q0": (1.0, 0.0)}}]
    made = [make_leaderboard([entry("a", [1.0, 0.0, 0.0], **more), entry("b", [0.0] * 3, **more)], memo) for more in kinds]
    assert len(calls) == 2
    assert made[1].to_json() == made[0].to_json()
    for score in (0.25, 0.75):
        make_leaderboard([entry("a", [score], units={"q0": (1.0, 0.0)})], memo)
    assert len(calls) == 4


def test_a_missing_answer_stays_missing_on_a_scale_of_its_own() -> None:
    """Its row counts it as not submitted, it was unscored; means that are all 0 can be drawn, and follow no rules."""
    status = ["scored", "missing", "submission_fault"]
    made = board(*(entry(name, [None] * 3, raw=[0.0, None, None], status=status, scorer="ter") for name in "ab"))
    assert [(row.n_handed_in, dict(row.faults), row.score) for row in made.rows] == [(2, {"submission_fault": 1}, 0.0)] * 2
    page = as_html(leaderboard_document(made))
    assert ("official" in page.partition("<tbody")[0].rpartition("<thead")[2], "2/3" in page) == (False, True)


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ([(1.0, 0.0, 0.5), (0.0, None, 1.0)], [[1.0, 0.5], [0.0, 1.0]]),
        ([(1.0, 0.0), ()], [[1.0, 0.0], [0.25, 0.25]]),
        ([(None, 0.0), (1.0, None)], None),
        ([(), ()], None),
    ],
)
def test_records_of_the_only_instance(units: list[tuple[float | None, ...]], expected: list[list[float]] | None) -> None:
    """Those that all runs were judged on; a run without records has its score in each; of two instances none."""
    runs = [entry(name, [score], units={"q0": own} if own else {}) for name, score, own in zip("ab", (0.75, 0.25), units, strict=True)]
    table = SharedInstances([run.scores for run in runs if run.scores is not None])
    assert table.unit_values([0, 1]) == expected
    assert table.n_units() == max(1, *map(len, units))
    both = [entry(name, [1.0, 1.0], units={"q0": own}) for name, own in zip("ab", units, strict=True)]
    of_two = SharedInstances([run.scores for run in both if run.scores is not None])
    assert of_two.unit_values([0, 1]) is None
    # What few units can show is said of instances where several hold them.
    assert (table.cluster_note(2, 0.05), bool(of_two.cluster_note(2, 0.05))) == ("", True)
