"""The numbers of a leaderboard, also of values on a metric's own scale, and the agreement of two raters."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.analysis.leaderboard.pairing import SharedInstances
from evalsuite.analysis.leaderboard.ranking import Leaderboard, make_leaderboard
from evalsuite.analysis.leaderboard.reliability import agree, rater_of_run
from evalsuite.cli import main
from evalsuite.core.dataclasses import replace
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import UsageError
from evalsuite.reports.html import as_html
from evalsuite.reports.leaderboard_documents import board_facts, leaderboard_document
from evalsuite.reports.test_suite import TestSuite
from evalsuite.runs.corrected_scores import Rater, read_labels
from evalsuite.runs.history import one_run
from evalsuite.runs.history_index import RunScores
from evalsuite.runs.leaderboard_entries import Entry
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.scorers import SCORERS
from evalsuite.stats import ranking
from evalsuite.stats.intervals import score_interval, wilson_interval
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


def test_what_a_board_notes() -> None:
    """The same answers under two names, each with a rank and a letter of its own; clusters that do not part the instances; other versions.

    A submission without a hash is not known to be another; what a receipt does not record is no difference.
    """
    runs = [entry(name, [1.0, 0.0], submission_hash=digest) for name, digest in (("a", "x"), ("b", "y"), ("c", "x"), ("d", ""), ("e", ""))]
    assert board(*runs).notes == ("the same answers under several names: a, c",)
    same = board(runs[0], runs[2], anonymous=True)
    assert (len({row.name for row in same.rows}), [row.rank for row in same.rows]) == (2, [1, 1])
    made = board(entry("a", [1.0, 0.0, 1.0], groups={"x": ["q0"], "y": ["q1"]}, clusters=["x", "y"]))
    assert any("instance 'q2' is in none of the clusters" in note for note in made.notes)
    versions = {
        "a": {"python": "3.11.2", "regex": "1"},
        "b": {"python": "3.11.9"},
        "c": {"python": "3.13.0"},
        "d": {"python": "3.11.2 and 3.13.0"},
    }
    made = board(*(entry(name, [1.0, 0.0, at / 4], versions=each) for at, (name, each) in enumerate(versions.items())))
    assert [note for note in made.notes if "versions" in note] == [
        "a and c, d were scored with other versions of python: verdicts on rare texts can differ"
    ]


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
    assert [totals[row.name] for row in made.rows] == sorted(totals.values(), reverse=True)


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


@pytest.mark.parametrize(("units", "expected"), [
    ([(1.0, 0.0, 0.5), (0.0, None, 1.0)], [[1.0, 0.5], [0.0, 1.0]]),
    ([(1.0, 0.0), ()], [[1.0, 0.0], [0.25, 0.25]]), ([(None, 0.0), (1.0, None)], None), ([(), ()], None),
])  # fmt: skip
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


def rater(name: str, *labels: float | str) -> Rater:
    """A rater with labels for the instances 0, 1, 2 ..."""
    return Rater(name=name, labels={str(i): label for i, label in enumerate(labels)}, reasons={"0": f"{name} says so"})


def test_coefficients_of_a_known_table() -> None:
    """The textbook table 20, 5, 10, 15 has raw agreement 0.7 and kappa 0.4 (Wikipedia, Cohen's kappa)."""
    a = rater("a", *[1.0] * 25, *[0.0] * 25)
    b = rater("b", *[1.0] * 20, *[0.0] * 5, *[1.0] * 10, *[0.0] * 15)
    found = agree(a, b)
    assert found.observed == 0.7
    assert [c.method for c in found.coefficients] == ["Cohen's kappa", "Krippendorff's alpha (nominal)"]
    assert found.coefficients[0].value == pytest.approx(0.4)
    assert found.confusion.counts == ((15, 10), (5, 20))
    assert len(found.disagreements) == 15
    assert 0.56 < found.interval[0] < 0.7 < found.interval[1] < 0.82


def test_clusters_of_a_run_are_independent_and_not_its_instances() -> None:
    """The interval of the agreement and that of the corrected mean are wider over clusters that agree or err as a whole."""
    judge, people = (rater(name, *[1.0] * 60, *[0.0] * 20) for name in ("judge", "people"))
    people = replace(
        people, labels={name: 1 - label if int(name) < 20 else label for name, label in people.labels.items() if int(name) % 2}
    )
    clustered = replace(judge, clusters={name: f"c{int(name) // 10}" for name in judge.labels})
    apart, together = agree(judge, people), agree(people, clustered)
    assert apart.interval == wilson_interval(30, 40)
    assert together.interval[0] < apart.interval[0] < apart.interval[1] < together.interval[1]
    assert together.corrected.estimate == apart.corrected.estimate
    assert together.corrected.high - together.corrected.low > 1.5 * (apart.corrected.high - apart.corrected.low)
    part = replace(judge, clusters=dict.fromkeys(list(judge.labels)[:-1], "c"))
    assert agree(part, people).interval == apart.interval


@pytest.mark.parametrize(("text", "message"), [
    ("instance_id,label\nq1,1\nq1,0\n", "labels.csv:3: 'q1' stands twice"),
    ("instance_id,label\n,1\n", "labels.csv:2: no instance_id"), ("question,label\nq1,1\n", "no column 'instance_id'"),
    ("instance_id,mark\nq1,1\n", "no column 'label'"), ("", "no column"),
])  # fmt: skip
def test_bad_label_files(tmp_path: Path, text: str, message: str) -> None:
    """A file that cannot be meant says so with its line; text and numbers are not compared."""
    (tmp_path / "labels.csv").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_labels(tmp_path / "labels.csv")
    assert message in caught.value.message
    with pytest.raises(UsageError, match="good"):
        agree(rater("a", "good", "bad"), rater("b", 1.0, 0.0))


@pytest.mark.parametrize(("n", "n_differ"), [(10, 2), pytest.param(40, 13, marks=pytest.mark.slow)])
def test_two_runs_of_the_example(n: int, n_differ: int, tmp_path: Path, example: tuple[Path, Path]) -> None:
    """Official against strict on the project's example: the flips are the disagreements, and nothing unjudged counts."""
    for rules in ("official", "strict"):
        run(*example, RunOptions(rules=rules, out=tmp_path / rules, jobs=1))  # type: ignore[arg-type]
    official, strict = (rater_of_run(one_run(rules, tmp_path)) for rules in ("official", "strict"))
    found = agree(official, strict)
    assert found.n + sum(found.left_out.values()) == n
    assert found.n - found.n_equal == len(found.disagreements) == n_differ
    assert all(one.reasons[0] != one.reasons[1] for one in found.disagreements)


EASY, HARD = "The cat sat. The dog ran.", "Notwithstanding considerable institutional opposition, deregulation accelerated."
PLUGIN = """
from evalsuite.core.registry import scorer

@scorer(reads="text", range=None)
def words(prediction, *, gold=None):
    return len(prediction.split())

@scorer(reads="text", range=(0, 10))
def marks(prediction, *, gold=None):
    return len(prediction.split())

@scorer(reads="text")
def bare(prediction, *, gold=None):
    return len(prediction.split())
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(capsys: pytest.CaptureFixture[str], words: str | list[str], code: int = 0) -> list[str]:
    """The lines that a command prints, which must end with this code."""
    capsys.readouterr()
    assert main(words.split() if isinstance(words, str) else words) == code, capsys.readouterr().err
    return capsys.readouterr().out.splitlines()


def answered(capsys: pytest.CaptureFixture[str], words: str) -> Any:
    """What a command prints as JSON."""
    return json.loads("\n".join(called(capsys, words + " --json")))


def suite_of_own(
    place: Path, capsys: pytest.CaptureFixture[str], checks: dict[str, dict[str, Any]], subs: dict[str, dict[str, int]]
) -> list[str]:
    """Gold of these checks and, for each submission, a run of its answers of so many words; the last lines that the runs print."""
    (place / "own.py").write_text(PLUGIN)
    (place / "gold").mkdir()
    lines = [{"instance_id": name, "evaluation": check} for name, check in checks.items()]
    (place / "gold/x_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    last = []
    for sub, answers in subs.items():
        rows = [{"instance_id": name, "answer_type": "answer", "answer_or_path": "w " * n} for name, n in answers.items()]
        (place / sub).mkdir()
        (place / sub / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        last.append(called(capsys, f"run {sub} --plugin own.py --out runs/{sub} --isolation none")[-1])
    return last


class Length:
    """A scorer of Bench's shape that counts words."""

    name = "length"

    def run_batch(self, outputs: list[str], references: Any, inputs: Any, contexts: Any) -> list[float]:
        """The number of words of each output."""
        return [float(len(text.split())) for text in outputs]


@pytest.mark.parametrize("scorer", ["readability", Length()])
def test_a_suite_without_a_range_gives_values(scorer: Any, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scores of a run are raw, its mean too; two runs are compared and ranked by them, and nothing shows a percent."""
    suite = TestSuite("prose", scorer, input_text_list=["a", "b", "c"], reference_output_list=["x", "y", "z"])
    easy = suite.run("easy", candidate_output_list=[EASY, EASY + " It slept.", "One two."])
    hard = suite.run("hard", candidate_output_list=[HARD, HARD + " Indeed it did so.", HARD + " Yes."])
    if isinstance(scorer, Length):
        assert easy.scores == [6.0, 8.0, 2.0]
    means = [mean(value for value in made.scores if value is not None) for made in (easy, hard)]
    assert [made.run.summary.score for made in (easy, hard)] == [None, None]
    assert [made.run.summary.raw["mean"] for made in (easy, hard)] == pytest.approx(means)  # type: ignore[index]
    whole = answered(capsys, "compare easy hard")
    total = whole["candidates"][0]["total"]
    assert (total["n"], total["a"], total["b"], total["is_raw"]) == (3, pytest.approx(means[0]), pytest.approx(means[1]), True)
    runs = [str(made.run.folder) for made in (easy, hard)]
    board = answered(capsys, f"leaderboard {' '.join(runs)}")
    assert [row["score"] for row in board["rows"]] == pytest.approx(sorted(means, reverse=True))
    assert [row["rank"] for row in board["rows"]] == [1, 2]
    table = called(capsys, ["compare", "easy", "hard"])
    assert any("difference" in line and "baseline" not in line for line in table), table
    assert not any("points" in line for line in table), table
    shown = [
        *called(capsys, ["runs", "list"]),
        *called(capsys, ["compare", "easy", "hard"]),
        *[line.partition("  first in")[0] for line in called(capsys, ["leaderboard", *runs]) if "stability" not in line],
        *called(capsys, ["suite", "show", "prose"]),
        *called(capsys, ["report", runs[0]]),
    ]
    assert [line for line in shown if re.search(r"\d\.\d %", line)] == []
    assert f"mean {means[0]:.4g}" in shown[0]
    called(capsys, ["leaderboard", *runs, "-o", "board.html"])
    tips = re.findall(r"95 % interval \[([^]]*)\]", (place / "board.html").read_text())
    assert set(tips) == {f"{row['interval'][0]:.4g}, {row['interval'][1]:.4g}" for row in board["rows"]}


def test_values_without_a_range_are_no_zeros_beside_scores(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a suite of both kinds every report has the score of the run, and calls the other instances neither wrong nor unjudged."""
    checks = {name: {"func": func, "parameters": {}} for name, func in {"a": "marks", "b": "marks", "c": "words", "d": "words"}.items()}
    subs = {"one": {"a": 10, "b": 5, "c": 7}, "two": {"a": 10, "b": 5, "c": 9, "d": 2}, "three": {"a": 10}, "four": {"b": 10, "d": 1}}
    assert [line.startswith("done: 75.0 %") for line in suite_of_own(place, capsys, checks, subs)[:2]] == [True, True]
    board = answered(capsys, "leaderboard runs/one runs/two --plugin own.py")
    assert [(row["rank"], row["score"], row["n_judged"]) for row in board["rows"]] == [(1, 0.75, 2), (1, 0.75, 2)]
    assert "in no score: 2 instances measured on a scale without a range" in board["notes"]
    candidate = answered(capsys, "compare runs/one runs/two")["candidates"][0]
    assert (candidate["unjudged"], candidate["bounds"]) == (["d"], None)
    for candidate in answered(capsys, "compare runs/one runs/three runs/four --shift")["candidates"]:
        assert (candidate["total"]["n"], candidate["total"]["b"], candidate["total"]["is_raw"]) == (2, 0.5, False)
        assert [(shift["name"], shift["mean_a"]) for shift in candidate["shift"]] == [("marks", 0.75)]
    candidate = answered(capsys, "compare runs/three runs/four")["candidates"][0]
    assert (candidate["total"]["n"], candidate["total"]["wins"], candidate["total"]["losses"]) == (2, 1, 1)
    samples = answered(capsys, "samples runs/one runs/two")
    assert (samples["models"][0]["mean"], samples["models"][0]["n_questions"], samples["notes"]) == (0.75, 2, [])
    assert "left out: 1 measured on a scale without a range in one" in called(capsys, "agree runs/one runs/two")
    (place / "models.csv").write_text("submission,model_name\none,m\ntwo,m\n")
    (model,) = answered(capsys, "leaderboard runs/one runs/two --plugin own.py --samples --metadata models.csv")["rows"]
    assert (model["score"], model["samples"]["n_questions"]) == (0.75, 2)
    called(capsys, ["report", "runs/two", "-o", "two.html", "-o", "two.md"])
    page = re.sub(r"<[^>]*>|\s+", " ", (place / "two.html").read_text())
    assert re.search(r"1 +right +1 +partly right +2 +measured", page)
    assert "words: mean 5.5" in page
    assert "not judged" not in page + (place / "two.md").read_text()


def test_the_declaration_of_a_scale_decides_without_any_value(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of an instance on a scale of its own a missing answer is in no score of the run, as on a board; next to a `scale` it counts 0."""
    checks: dict[str, dict[str, Any]] = {"a": {"func": "marks", "parameters": {}}, "b": {"func": "words", "parameters": {}}}
    for name, scale in (("c", {"scale": [0, 100]}), ("d", {})):
        checks[name] = {"func": "readability", "parameters": {"gold": "x", **scale}}
    suite_of_own(place, capsys, checks, {"one": {"a": 10}, "two": {"b": 10, "d": 10}})
    for names, scores in ((("one",), [0.5]), (("two",), [0.0]), (("one", "two"), [0.5, 0.0])):
        runs = [f"runs/{name}" for name in names]
        summaries = [json.loads((place / run / "run.json").read_text())["summary"] for run in runs]
        board = answered(capsys, f"leaderboard {' '.join(runs)} --plugin own.py")
        assert [(row["score"], row["n_judged"]) for row in board["rows"]] == [(score, 2) for score in scores]
        assert [(summary["score"], summary["n_judged"]) for summary in summaries] == [(score, 2) for score in scores]
        assert any(note == "without an answer to any of these instances: two" for note in board["notes"]) is ("two" in names)
    (candidate,) = answered(capsys, "compare runs/one runs/two")["candidates"]
    assert (candidate["total"]["a"], candidate["total"]["b"], candidate["total"]["n"]) == (0.5, 0.0, 2)


def test_samples_and_questions_read_the_values(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs as samples of one side are their mean, `sql` has the values beside the empty scores, and no sample is called wrong."""
    suite = TestSuite("counted", Length(), input_text_list=["a", "b"], reference_output_list=["x", "y"])
    for name, outputs in (("one", ["1", "1 2"]), ("two", ["1 2 3", "1 2"]), ("three", ["1", "1 2 3 4"])):
        suite.run(name, candidate_output_list=outputs)
    total = answered(capsys, "compare one+two three")["candidates"][0]["total"]
    assert (total["a"], total["b"], total["is_raw"]) == (2.0, 2.5, True)
    (shift,) = answered(capsys, "compare one three --shift")["candidates"][0]["shift"]
    assert (shift["mean_a"], shift["mean_b"], shift["distance"], shift["is_raw"]) == (1.5, 2.5, 1.0, True)
    assert any(
        line.split()[:5] == ["length", "2", "1.5", "2.5", "1.000"] for line in called(capsys, ["compare", "one", "three", "--shift"])
    )
    listed = called(capsys, ["sql", "SELECT score, raw, n_judged, n_gold FROM runs ORDER BY raw"])
    assert [line.split("\t") for line in listed[1:]] == [["", "1.5", "2", "2"], ["", "2.5", "2", "2"], ["", "2.5", "2", "2"]]
    assert called(capsys, ["sql", "SELECT count(score), sum(raw) FROM results"])[1:] == ["0\t13.0"]
    called(capsys, ["samples", "one", "two"], 2)


def test_columns_by_scorer_and_by_group() -> None:
    """A column holds the mean over its instances alone."""
    mixed = entry("a", [1.0, 0.0, 1.0, 1.0], scorer="x")
    assert mixed.scores is not None
    mixed = replace(mixed, scores=replace(mixed.scores, scorer=["number_match", "string_match"] * 2))
    assert dict(board(mixed, by="scorer").rows[0].by) == {"number_match": 1.0, "string_match": 0.5}
    assert dict(board(mixed, by="group").rows[0].by) == {"even": 1.0}


def test_left_out_is_counted_by_reason() -> None:
    """What only one side labelled is no item, and every such instance is counted once."""
    a = Rater(name="a", labels={"x": 1.0, "y": 0.0}, silent={"z": "not handed in"})
    b = Rater(name="b", labels={"x": 1.0, "z": 1.0, "v": 0.0}, silent={"y": "no label", "w": "no label"})
    assert agree(a, b).left_out == {"no label in b": 1, "not handed in in a": 1, "only in b": 2}
    assert agree(b, a).left_out == {"no label in b": 2, "not handed in in a": 1, "only in b": 1}


def test_ordered_labels_get_weights_and_fill_their_scale() -> None:
    """On 1 to 5 a near miss costs less, and a grade nobody gave still lies between two others."""
    found = agree(rater("a", 1.0, 2.0, 5.0, 4.0), rater("b", 1.0, 2.0, 4.0, 4.0))
    assert found.confusion is not None
    assert found.confusion.labels == (1, 2, 3, 4, 5)
    values = {c.method: c.value for c in found.coefficients}
    assert values["Cohen's kappa"] < values["Cohen's kappa (linear)"] < values["Cohen's kappa (quadratic)"]  # type: ignore[operator]
    assert "Krippendorff's alpha (interval)" in values
    for labels, n in (((0.0, 1.0), 2), ((0.0, 0.5, 1.0), 6), ((0.0, 2.0), 6), (("a", "b", "c"), 2)):
        assert len(agree(rater("a", *labels), rater("b", *reversed(labels))).coefficients) == n
