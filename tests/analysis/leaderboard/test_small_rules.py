"""Rules of ranking and pairing that decide rarely, each on the smallest case that shows it."""

import hashlib
import json
import os
import re
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.analysis.leaderboard.comparison import (
    Candidate,
    Comparison,
    PairedDifference,
    Plan,
    ScoreShift,
    compare,
    fields_by_unit,
    paired_difference,
    plan_of,
)
from evalsuite.analysis.leaderboard.pairing import (
    Paired,
    PairingOptions,
    RunSide,
    SharedInstances,
    _find_saved_run,
    differing_cases,
    fields_of,
    is_lower_better,
    load_sides,
    paired_instances,
    pairs_by_further_scorer,
    pairs_by_scorer,
    set_labels,
    side_of,
)
from evalsuite.analysis.leaderboard.ranking import Admission, BoardRules, RankedRow, check_trust, read_board_rules
from evalsuite.analysis.leaderboard.reliability import (
    _parts,
    agree,
    find_margins,
    mean_side,
    models_of,
    newest_samples,
    rater_of_run,
    samples_of,
    unequal_samples,
)
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import GoldError, OutputError, UntrustedPluginError, UsageError
from evalsuite.core.plugin_calls import trusting_plugins
from evalsuite.core.status import further_result_row
from evalsuite.core.types import RULES, Result, Rule
from evalsuite.gold.spec import Exchanges
from evalsuite.readers.gold_files import find_spec, gold_hash
from evalsuite.runs.corrected_scores import Rater
from evalsuite.runs.leaderboard_entries import Entry, Place
from evalsuite.runs.run_folder import new_key, read_key, sign_run
from evalsuite.runs.summary import summarise
from evalsuite.scorers import SCORERS
from evalsuite.stats.intervals import corrected_mean
from evalsuite.stats.units import unit_details
from tests.analysis.gold_checks.small import scored, write_gold, write_submission
from tests.analysis.leaderboard.made import result, side
from tests.analysis.leaderboard.test_leaderboard import WORTH, board, entry
from tests.properties import examples


@pytest.mark.parametrize(("sides", "raw", "is_lower"), [
    # A stored score is turned already: more is better.
    ([{"scorer": "ter"}, {"scorer": "ter"}], False, False), ([{"scorer": "ter"}, {"scorer": "ter"}], True, True),
    ([{"scorer": "string_match"}, {"scorer": "string_match"}], True, False),
    ([{"details": {"better": "lower"}}, {"details": {"better": "lower"}}], False, True),
    ([{"details": {"better": "lower"}}, {}], False, False),
    ([{"details": {"better": "higher"}}, {"details": {"better": "lower"}}], False, False),
])  # fmt: skip
def test_whether_less_is_better(sides: list[dict[str, Any]], raw: bool, is_lower: bool) -> None:
    """On the scorer's own scale its direction decides, on that of scores only what an imported run says of both sides."""
    a, b = (result("q", 0.5, **more) for more in sides)
    assert is_lower_better([(a, b)], raw=raw) is is_lower
    assert is_lower_better([], raw=False) is False


@pytest.mark.parametrize(("counts", "notes"), [
    ([{}, {}], []),
    ([{"stale": 1}, {}], ["1 stale entry of gold.errata.yaml not applied"]),
    ([{"stale": 1, "expired": 1}, {"stale": 3}], ["3 stale entries", "1 expired entry"]),
])  # fmt: skip
def test_errata_that_were_not_applied(counts: list[dict[str, int]], notes: list[str]) -> None:
    """The largest number of all runs is named, for each state; without one nothing is said of errata."""
    made = board(*(entry(f"e{at}", [1.0, 0.0], n_unapplied=count) for at, count in enumerate(counts)))
    said = [note for note in made.notes if "gold.errata.yaml" in note]
    assert len(said) == len(notes)
    assert all(note.startswith(begin) for note, begin in zip(said, notes, strict=True))


def test_an_unreadable_entry_is_no_sample() -> None:
    """Two runs of a model are its samples, with means of further scorers; one that could not be read stays by itself, forged pairs end."""
    alike = {"metadata": {"model_name": "m"}}
    ters: list[dict[str, float | None]] = [{"ter": 0.25, "chrf": None}, {"ter": 0.75, "bleu": 0.5}]
    (joint,), _ = models_of([entry(name, [1.0], further=further, **alike) for name, further in zip("ab", ters, strict=True)])
    assert joint.scores.further == {"ter": 0.5, "chrf": None, "bleu": 0.5}
    unread = Entry(name="unread", scores=None, fault="BAD_METADATA", metadata={"model_name": "m"})
    models, samples = models_of([entry("a", [1.0, 0.0], **alike), unread, entry("b", [1.0, 1.0], **alike)])
    assert [model.name for model in models if model.scores is not None] == ["m"]
    assert "m" in samples
    assert models[-1] is unread
    alone, _ = models_of([unread, entry("a", [1.0, 0.0], **alike)])
    assert [model.name for model in alone if model.scores is not None] == ["a"]
    others = {"a": "b", "b": "a"}
    made = [replace(entry(a, [1.0], metadata={"model_name": "m", "rescored_from": b}), is_run=True) for a, b in others.items()]
    kept, _ = newest_samples(made)
    assert 1 <= len(kept) <= 2


SAMPLE = st.lists(st.tuples(st.sampled_from([*WORTH]), st.sampled_from([0.0, 0.5, 1.0])), min_size=4, max_size=4)


@examples(60)
@given(st.lists(SAMPLE, min_size=1, max_size=3), st.booleans())
def test_a_model_is_the_plain_mean_of_its_samples(samples: list[list[tuple[str, float]]], has_less: bool) -> None:
    """On each instance that all have: the mean of the judged samples, a missing or faulty answer counts 0; a status that is not that of
    all is `scored`. The last sample's instances stand in another order, or are fewer."""
    runs = []
    for at, answers in enumerate(samples):
        status = [name for name, _ in answers]
        score = [None if WORTH[name] is None else value * WORTH[name] for name, value in answers]
        order = [*range(4)] if at < len(samples) - 1 else [*[2, 0, 3][: 3 - has_less], 1]
        columns = {"ids": [f"q{i}" for i in order], "status": [status[i] for i in order], "metadata": {"model_name": "m", "at": at}}
        runs.append(entry(f"r{at}", [score[i] for i in order], groups={}, **columns))
    (model,), numbers = models_of(runs)
    shared = [name for name in runs[0].scores.ids if all(name in run.scores.ids for run in runs)]  # type: ignore[union-attr]
    assert list(model.scores.ids) == shared
    rows = [[samples[at][int(name[1:])] for at in range(len(samples))] for name in shared]
    judged = [[value * (WORTH[name] or 0) for name, value in row if WORTH[name] is not None] for row in rows]
    expected = [sum(row) / len(row) if row else None for row in judged]
    for column in (model.scores.score, model.scores.official, model.scores.strict):
        assert list(column) == expected
    assert (model.scores.folder, model.scores.submission) == ("runs/r0", "r0")
    assert list(model.scores.scorer) == ["string_match"] * len(shared)
    if len(samples) > 1:
        kinds = [{name for name, _ in row} for row in rows]
        alike = [min(kind) if len(kind) == 1 or not row else "scored" for kind, row in zip(kinds, judged, strict=True)]
        assert list(model.scores.status) == alike
        assert model.scores.metadata == {"model_name": "m"}
    assert (model.name, [*numbers]) == ("m" if len(samples) > 1 else "r0", [model.name] if any(judged) else [])
    if any(judged):
        questions = [row for row in judged if row]
        assert numbers[model.name].numbers.interval.estimate == pytest.approx(
            sum(sum(row) / len(row) for row in questions) / len(questions)
        )


@pytest.mark.parametrize(("named", "newest"), [
    # Names of a history say when a run began; under other names the file that was written last counts.
    (("20260101-000000-b", "20260102-000000-a"), 1), (("20260102-000000-a", "20260101-000000-b"), 0), (("later", "earlier"), 0),
    (("20260102-000000-a", "earlier"), 0), (("20260101-000000-b", "zz"), 0),
])  # fmt: skip
def test_the_newest_run_is_the_sample(tmp_path: Path, named: tuple[str, str], newest: int) -> None:
    """Of two runs of the same answers; the first of them was written last. One without a hash of its answers is by itself."""
    runs = []
    for at, name in enumerate(named):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").touch()
        os.utime(tmp_path / name / "run.json", (100 - at, 100 - at))
        runs.append(replace(entry(name, [1.0], folder=str(tmp_path / name), submission="s", submission_hash="h"), is_run=True))
    other = replace(entry("20260103-000000-c", [1.0], submission="s", submission_hash=""), is_run=True)
    assert runs[0].scores is not None
    runs = [replace(run, scores=replace(run.scores, metadata={"model_name": "m"})) for run in runs]  # type: ignore[type-var]
    kept, notes = newest_samples([*runs, other])
    assert [run.name for run in kept] == [named[newest], other.name]
    assert notes == [f"{named[1 - newest]}: scored again in a newer run, which is the sample that counts"]


def test_sides_that_are_no_samples() -> None:
    """One run of a model, runs without a judged question, and values on a scale of their own are refused, each for its reason."""
    raw = [side(name, []) for name in "ab"]
    for at, one in enumerate(raw):
        raw[at] = replace(one, results={"q": result("q", None, status="scored", fault=None, details={"raw": 3.0})})
    for sides, why in (
        ([side("a", [1.0])], "one run of a: samples"),
        ([side("a", [None]), side("b", [None])], "no question of a was judged"),
        (raw, "scale of its own"),
    ):
        with pytest.raises(UsageError, match=why):
            samples_of(sides)
    unlike = [side(name, [1.0], signature=f"rules:{name}") for name in ("official", "strict")]
    with pytest.raises(UsageError, match="are not samples of one model: rules official against strict"):
        samples_of(unlike)
    found = samples_of([side(name, [1.0, None], suite=f"suite {name}", rules=f"rules {name}") for name in "ab"], notes=["first"])
    assert (found.suite, found.rules) == ("suite a", "rules a")
    assert (found.models[0].model, found.models[0].runs) == ("2 runs", ("a", "b"))
    assert found.notes == ("first", "fewer than 2 samples were judged of q1 (0)")


def test_the_mean_that_a_few_labels_correct() -> None:
    """The rater with more labels is corrected by the other, in either order, to a share; not on one shared label, or by words."""
    many = {str(at): float(at % 3 == 0) for at in range(12)}
    few = {str(at): 1.0 for at in range(5)}
    expected = corrected_mean([(many[name], few[name]) for name in few], [many[name] for name in many if name not in few])
    raters = Rater(name="cheap", labels=many), Rater(name="dear", labels=few)
    for a, b in (raters, raters[::-1]):
        found = agree(a, b).corrected
        assert (found.cheap, found.dear, found.n, found.n_others) == ("cheap", "dear", 5, 7)
        assert (found.estimate, found.low, found.high, found.plain) == (expected.estimate, expected.low, 1.0, 4 / 12)
    words = Rater(name="a", labels={"0": "x", "1": "y", "2": "x"}), Rater(name="b", labels={"0": "x", "1": "x"})
    assert agree(*words).corrected is None
    for name in ("dear", "cheap"):
        assert agree(raters[0], Rater(name=name, labels=many if name == "dear" else few)).corrected is None
    assert agree(raters[0], Rater(name="dear", labels={"0": 1.0})).corrected is None


@examples(60)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, None]), st.sampled_from([None, 0.0, 0.01, 0.3, 40])), max_size=5))
def test_the_score_under_a_tolerance_is_a_plain_count(answers: list[tuple[float | None, float | None]]) -> None:
    """What is as near as the tolerance is right; what was right only by its tolerance is not, under a smaller one; the rest stays, and what
    gold prevented counts 0, as in the run.
    """
    results = [result(f"q{at}", score, details={} if margin is None else {"margin": margin}) for at, (score, margin) in enumerate(answers)]
    found = find_margins("run", results, "official")
    judged = [(0.0, None) if score is None else (score, margin) for score, margin in answers]
    assert found.n == len(judged)
    assert found.score == (pytest.approx(summarise(results, rules="official").score) if judged else None)

    def worth(score: float, margin: float | None, tolerance: float) -> float:
        return score if margin is None else 1.0 if margin <= tolerance else 0.0 if score == 1 else score

    for tolerance in (0, 0.005, 0.01, 0.3, 1, 40, 99):
        expected = sum(worth(score, margin, tolerance) for score, margin in judged) / len(judged) if judged else 0
        assert found.score_at(tolerance) == pytest.approx(expected)
    assert [name for name, _, _ in found.near] == sorted(
        (f"q{at}" for at, (score, margin) in enumerate(answers) if score is not None and margin is not None),
        key=lambda name: (answers[int(name[1:])][1], name),
    )
    assert found.steps_to_show()[0] == (0.0, found.score_at(0))
    apart = [result("q", 1.0, official=0.25, strict=0.75)]
    assert [find_margins("run", apart, rules).score for rules in RULES] == [0.25, 0.75]


def test_the_side_of_a_run_of_any_version() -> None:
    """Keys that an older run lacks are empty; those of a new one are taken as they are."""
    assert side_of("x", {}, []) == RunSide(label="x", results={}, rules="official")
    gold = {"name": "s", "folder": "g", "clusters": ["a"], "hidden": True, "n_instances": 3}
    corrections = {"score": 0.5, "stale": [1], "expired": [1, 2]}
    run = {"signature": "rules:strict", "gold": gold, "submission": {"folder": "f"}, "options": {"rules": "strict"}}
    found = side_of("x", {**run, "groups": {"a": ["q"]}, "metadata": {"m": 1}, "corrections": corrections}, [result("q", 1.0)], source="r")
    places = {"gold_folder": "g", "submission_folder": "f", "source": "r", "suite": "s"}
    more: dict[str, Any] = {"groups": {"a": ["q"]}, "metadata": {"m": 1}, "clusters": ("a",), "corrected": 0.5, "n_unapplied": 3, **places}
    more |= {"signature": "rules:strict", "rules": "strict", "hidden": True, "n_instances": 3}
    expected = RunSide(label="x", results={"q": result("q", 1.0)}, **more)
    assert found == expected
    assert (found.is_part, replace(found, n_instances=1).is_part) == (True, False)


@pytest.mark.usefixtures("shared_fork_server")
def test_which_runs_are_trusted(tmp_path: Path) -> None:
    """By a key: signed over this gold and unchanged, nothing is scored again; without one: each row comes out the same again."""
    pytest.importorskip("cryptography", reason="cryptography is not installed (pip install 'evalsuite[sign]')")
    gold, submission = write_gold(tmp_path / "gold"), write_submission(tmp_path / "sub")
    public = new_key(tmp_path / "host")
    runs = {}
    for name, more in {"whole": {}, "part": {"only": ("capital",)}, "changed": {}, "bare": {}}.items():
        scored(submission, gold, tmp_path / name, **more)
        if name != "bare":
            sign_run(tmp_path / name, read_key(tmp_path / "host"))
        runs[name] = Place(name=name, folder=tmp_path / name, is_run=True)
    results = tmp_path / "changed" / "results.jsonl"
    results.write_text(results.read_text().replace("Lisbon", "Lisboa"))
    places = [*runs.values(), replace(runs["bare"], fault="BAD"), Place(name="sub", folder=submission, is_run=False)]
    changed, rows = "not verified: results.jsonl is not what was written", "not verified: 3 rows could not be scored again"
    found = check_trust(places, gold, key=None, isolation="none")
    assert [place.fault for place in found] == ["", rows, "not verified: results.jsonl", "", "BAD", ""]
    found = check_trust(places, gold, key=public, isolation="process")
    assert [place.fault for place in found] == ["", "", changed, "not verified: not signed", "BAD", ""]
    assert [place.is_foreign for place in found] == [True] * 5 + [False]
    assert not any(place.is_foreign for place in check_trust(places[:1], gold, key=public, isolation="none"))
    (gold / "suite.yaml").write_text("name: other\n")
    (other,) = check_trust(places[:1], gold, key=public, isolation="none")
    assert re.fullmatch(r"not verified: made with another gold \([0-9a-f]{12}, not [0-9a-f]{12}\)", other.fault)
    (gold / "small_eval.jsonl").unlink()
    (absent,) = check_trust(places[:1], gold, key=public, isolation="none")
    assert absent.fault.startswith(f"not verified: {gold}: no ")
    with pytest.raises(UsageError):
        check_trust([], gold, key=tmp_path / "host", isolation="none")


def test_what_cannot_be_compared_or_ranked() -> None:
    """Sides without a shared instance, unless only their distributions are asked for; runs of which no instance was judged in all."""
    apart = [side("a", {"x": 1.0}), side("b", {"y": 1.0})]
    with pytest.raises(UsageError, match="a and b have no instance in common"):
        compare(apart)
    assert compare(apart, shift=True).candidates[0].shift[0].n_a == 1
    runs = [entry("a", [None, 1.0], status=["unscored", "scored"]), entry("b", [1.0, None], status=["scored", "unscored"])]
    with pytest.raises(UsageError, match="no instance was judged in all"):
        board(*runs, allow_unscored=True)
    unread = Entry(name="a", scores=None, fault="BAD_METADATA")
    for entries, anonymous, why in (
        ([unread], False, "1 submission could be read: a: BAD_METADATA"),
        ([unread], True, "1 submission could be read"),
    ):
        with pytest.raises(UsageError, match=f"none of {why}$"):
            board(*entries, anonymous=anonymous)
    with pytest.raises(UsageError, match=r"none of 0 submissions could be read$"):
        board()
    nobody = board(entry("a", [None], status=["unscored"]))
    assert [(row.rank, row.score, row.n_judged) for row in nobody.rows] == [(None, None, 0)]
    assert (nobody.test, nobody.family, nobody.tau) == ("", 0, None)
    words = Rater(name="w", labels={"q": "x"})
    with pytest.raises(UsageError, match="the labels of w are text"):
        agree(words, Rater(name="n", labels={"q": 1.0}), threshold=0.5)


@pytest.mark.parametrize(("lower", "worse"), [(False, (True, False)), (True, (False, True))])
def test_a_regression_is_a_significant_change_for_the_worse(lower: bool, worse: tuple[bool, bool]) -> None:
    """Where less is better a rise is one; at alpha itself it is significant."""
    for difference, is_worse in zip((-0.5, 0.5), worse, strict=True):
        row = PairedDifference(name="x", n=8, difference=difference, p=0.05, p_adjusted=0.05, lower_is_better=lower)
        assert (row.is_regression(0.05), row.is_regression(0.04), replace(row, p_adjusted=None).is_regression(0.05)) == (
            is_worse,
            False,
            False,
        )
    for difference in (None, 0.0):
        row = PairedDifference(name="x", n=8, difference=difference, p_adjusted=0.01, lower_is_better=lower)
        assert (row.is_significant(0.05), row.is_regression(0.05)) == (True, False)


# What is not set of a kind, but for None and empty texts.
DEFAULTS: dict[Any, str] = {
    PairedDifference: "wins=0 ties=0 losses=0 lower_is_better=False is_raw=False",
    Plan: "difference=0.0 alpha=0.05 size=1.0",
    ScoreShift: "paired=True is_raw=False",
    Candidate: "is_regression=False open_sides=()",
    Comparison: "level='cells' n_unapplied=0 seed=12345 n_resamples=10000",
    RunSide: "rules='official' clusters=() hidden=False n_instances=0 n_unapplied=0",
    Paired: "lower_is_better=False",
    PairingOptions: "raw=False",
    BoardRules: "phases=() hides_half=False seed=12345 reveal='none' feedback='class'",
    RankedRow: "",
}


def test_what_is_not_counted_is_empty() -> None:
    """The rows of nothing; files of every kind say which form they have."""
    nothing = compare([side("a", [None]), side("b", [1.0])]).candidates[0].total
    assert nothing == PairedDifference(name="b", n=0, note="no instance in common that both were judged on")
    forms = compare([side("a", [1.0]), side("b", [1.0])]), board(entry("a", [1.0])), samples_of([side(name, [1.0]) for name in "ab"])
    assert [form.to_json()["schema_version"] for form in forms] == [1, 1, 1]
    for kind, defaults in DEFAULTS.items():
        known = {one.name: one.default for one in fields(kind) if one.default not in (MISSING, None, "")}
        assert " ".join(f"{name}={value!r}" for name, value in known.items()) == defaults


@pytest.mark.parametrize(("units", "scores", "rows"), [
    # Of one instance the records are the questions; a sample without it has its score in each.
    ([{"q0": (1.0, 0.0, 1.0)}, {"q0": (1.0, 0.0, 0.0)}], [[2 / 3], [1 / 3]], [[1, 1], [0, 0], [1, 0]]),
    ([{"q0": (1.0, 0.0)}, {}], [[0.5], [None]], [[1, 0], [0, 0]]),
    # Of several each is one question, whatever its records.
    ([{"q0": (1.0, 0.0)}, {"q0": (1.0, 1.0)}], [[0.5, 0.0], [1.0, 0.0]], [[0.5, 1], [0, 0]]),
])  # fmt: skip
def test_questions_of_a_models_samples(
    units: list[dict[str, tuple[float, ...]]], scores: list[list[float | None]], rows: list[list[float]]
) -> None:
    """The means of all samples, and those of each record."""
    status = [["missing" if score is None else "scored" for score in column] for column in scores]
    runs = [
        entry(f"r{at}", column, units=own, status=status[at], metadata={"model_name": "m"})
        for at, (own, column) in enumerate(zip(units, scores, strict=True))
    ]
    (model,), numbers = models_of(runs)
    found = numbers["m"].numbers
    assert (found.n_questions, found.interval.estimate) == (len(rows), pytest.approx(sum(map(sum, rows)) / len(rows) / 2))
    columns = [own.get("q0") or [0.0] * 2 for own in units]
    assert {name: list(column) for name, column in model.scores.units.items()} == {
        "q0": [sum(pair) / 2 for pair in zip(*columns, strict=True)]
    }


def test_the_mean_of_samples_that_nobody_judged() -> None:
    """It is the first of them; of values on a scale of their own, and of scores, it is their mean, in words too.

    What is of one sample alone (its answers, their labels, its corrected score) is not of the mean.
    """
    unjudged = mean_side([side("a", [None, 1.0]), side("b", [None, 0.0])])
    assert unjudged.label == "a+b"
    assert unjudged.results["q0"] == result("q0", None)
    means = unjudged.results["q1"]
    assert (means.score, means.official, means.strict, means.reason, means.details) == (0.5, 0.5, 0.5, "1 of 2 samples right", {})
    raw = [result("q", None, status="scored", fault=None, details={"raw": value}) for value in (3.0, 6.0)]
    own = {"corrected": 1.0, "labels": {"q0": 1.0}, "unread": "damaged", "exchanges": Exchanges(lambda: (None, None))}
    joint = mean_side([side("a", [1.0], source="runs/a", **own), side("b", [0.0], source="runs/b")])
    assert joint.source == "runs/a+runs/b"
    assert (joint.corrected, joint.labels, joint.unread, joint.exchanges is own["exchanges"]) == (None, {}, "", False)
    found = mean_side([replace(side(name, []), results={"q": one}) for name, one in zip("ab", raw, strict=True)]).results["q"]
    assert (found.status, found.score, found.details, found.reason) == ("scored", None, {"raw": 4.5}, "4.5, the mean of 2 samples")


def test_parts_of_pairs() -> None:
    """Further scorers have their own pairs, paths of fields only what is in the form of one, values of their own what was judged."""
    further = {name: further_result_row(result("q0", score, scorer=name)) for name, score in (("bleu", 0.25), ("ter", 0.75))}
    both, one = result("q0", 1.0, details={"beside": further}), result("q0", 0.0, details={"beside": {"bleu": further["bleu"]}})
    found = pairs_by_further_scorer([(both, one), (result("q1", 1.0), result("q1", 1.0))])
    assert {name: [(a.score, b.score) for a, b in pairs] for name, pairs in found.items()} == {"bleu": [(0.25, 0.25)], "ter": []}
    assert pairs_by_further_scorer([(result("q", 1.0), result("q", 1.0))]) == pairs_by_further_scorer([]) == {}
    row = {"path": "n", "precision": 1, "recall": 0.5, "f1": 0.75}
    odd = [{**row, "path": 3}, {"path": "less"}, "n", None, {**row, "path": "high", "f1": 1.5}, {**row, "path": "low", "f1": -1}]
    for rows in ([row, *odd], {"n": row, "less": {}, "text": "n"}):
        assert fields_of(result("q", 1.0, details={"fields": rows})) == {"n": (1.0, 0.5, 0.75)}
    assert fields_of(result("q", 1.0, details={"per_field": {"n": row}})) == {"n": (1.0, 0.5, 0.75)}
    assert fields_of(result("q", 1.0, details={"fields": "n"})) == {}
    raw = entry("raw", [None, None], raw=[2.0, None], status=["scored", "missing"]), entry("none", [None, None], status=["missing"] * 2)
    table = SharedInstances([run.scores for run in raw if run.scores is not None])
    assert table.is_raw
    assert [(run.score, run.status) for run in table.runs] == [([2.0, None], ["scored", "unscored"]), ([None, None], ["unscored"] * 2)]


def test_fields_that_one_side_has() -> None:
    """The other is right there, but has nothing where its answer is missing; without a shared instance a shift is one of fields too."""

    def of(name: str, **fields: list[float | None]) -> Result:
        return result(name, 1.0, details=unit_details([1.0, 1.0], fields=fields))

    absent = result("q", 0.0, status="missing")
    for a, b, expected in (
        (of("q", x=[1, 0.5]), of("q", y=[None, 0.25]), {"x": ([1, 0.5], [1, 1]), "y": ([1], [0.25])}),
        (of("q", x=[1, 0.5]), absent, {"x": ([1, 0.5], [0, 0])}),
        (absent, of("q", x=[1, 0.5]), {"x": ([0, 0], [1, 0.5])}),
    ):
        assert {path: (units.a, units.b) for path, units in fields_by_unit([(a, b)]).items()} == expected
        assert all(set(units.instances) == {"q"} for units in fields_by_unit([(a, b)]).values())
    rows = [[{"path": "n", "precision": 1, "recall": 1, "f1": f1}] for f1 in (0.75, 0.25)]
    apart = [
        replace(side(name, []), results={name: result(name, 1.0, details={"fields": row})}) for name, row in zip("ab", rows, strict=True)
    ]
    (found,) = compare(apart, shift=True).candidates[0].shift
    assert (found.name, found.mean_a, found.mean_b, found.paired) == ("n", 0.75, 0.25, False)
    (hidden,) = compare(apart, shift=True, reveal="class").candidates[0].shift
    assert (hidden.name, hidden.mean_a) == ("string_match", 1.0)
    plain = replace(side("b", []), results={"a": result("a", 0.0)})
    assert [shift.name for shift in compare([apart[0], plain], shift=True).candidates[0].shift] == ["string_match"]


def test_which_way_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a further scorer on a scale of its own that of the scale; where less is better a missing sample is the worst, 1."""
    for raw, direction in ((["ter"], "lower"), ([], "higher")):
        assert board(entry("a", [1.0], further={"ter": 0.4}, further_raw=raw)).by_direction == {"ter": direction}
    down = replace(SCORERS.load("string_match"), marker=replace(SCORERS.load("string_match").marker, direction="lower"))
    monkeypatch.setattr(SCORERS.additions, "known", {"string_match": down})
    runs = [
        entry(str(score), [score], status=[status], metadata={"model_name": "m"}) for score, status in ((0.5, "scored"), (0.0, "missing"))
    ]
    (model,), _ = models_of(runs)
    assert list(model.scores.score) == [0.75]


@pytest.mark.usefixtures("shared_fork_server")
def test_whose_plugins_run(tmp_path: Path) -> None:
    """Those of the gold that the user named; those of the gold that a run names do not."""
    gold, submission = write_gold(tmp_path / "gold"), write_submission(tmp_path / "sub")
    (gold / "my.py").write_text("def mine(prediction, gold):\n    return 1.0\n")
    (gold / "suite.yaml").write_text("scorers: [string_match, {mine: 'python:my.py:mine'}]\n")
    with trusting_plugins(gold):
        scored(submission, gold, tmp_path / "run")
    how = {"isolation": "none", "jobs": 1}
    (named,) = load_sides([str(submission)], gold=gold, how=how)
    assert named.results["capital"].score == 1
    with pytest.raises(UntrustedPluginError):
        load_sides([str(tmp_path / "run"), str(submission)], how=how)


@pytest.mark.usefixtures("shared_fork_server")
@pytest.mark.parametrize("rules", RULES)
def test_the_rules_of_a_folder_next_to_a_saved_run(tmp_path: Path, rules: Rule) -> None:
    """A folder of answers is scored under the rules of the run, on its gold, unless others are asked for."""
    gold, submission = write_gold(tmp_path / "gold"), write_submission(tmp_path / "sub")
    scored(submission, gold, tmp_path / "run", rules=rules)
    names, how = [str(tmp_path / "run"), str(submission)], {"isolation": "none", "jobs": 1}
    saved, new = load_sides(names, how=how)
    assert (saved.rules, new.rules) == (rules, rules)
    assert {name: result.score for name, result in new.results.items()} == {name: result.score for name, result in saved.results.items()}
    assert load_sides(names, rules="strict", how=how)[1].rules == "strict"


def test_an_admission_that_cannot_be_saved(tmp_path: Path) -> None:
    """It is an error that names the file; what was accepted is saved at once, else."""
    (tmp_path / "file").touch()
    moment = datetime(2026, 11, 22, 14, 30, tzinfo=UTC)
    with pytest.raises(OutputError, match="accepted"):
        Admission(BoardRules(), tmp_path / "file" / "accepted.json", moment)({"a": "hash"})
    assert Admission(BoardRules(), tmp_path / "of" / "board" / "accepted.json", moment)({"a": "hash"}) == []
    assert json.loads((tmp_path / "of" / "board" / "accepted.json").read_text()) == {"hash": ["2026-11-22T14:30:00Z", "a"]}


def test_labels_of_a_confusion() -> None:
    """Whole numbers are filled up; others, and words, are those that were given, in order."""
    for first, second, labels in (
        ([1.0, 3.0], [3.0, 1.0], (1, 2, 3)),
        ([15.0, 17.0], [17.0, 15.0], (15, 16, 17)),
        ([-1.0, 18.0], [18.0, -1.0], tuple(range(-1, 19))),
        ([-1.0, 19.0], [19.0, -1.0], (-1, 19)),
        ([1.0, 2.5], [0.25, 1.0], (0.25, 1.0, 2.5)),
        (["b", "a"], ["a", "c"], ("a", "b", "c")),
        ([0.0, 99.0], [99.0, 0.0], (0.0, 99.0)),
    ):
        raters = (Rater(name=name, labels={str(at): label for at, label in enumerate(own)}) for name, own in (("a", first), ("b", second)))
        found = agree(*raters).confusion
        assert tuple(found.labels) == labels


def test_cases_that_differ_between_two_golds(tmp_path: Path) -> None:
    """They are named if both golds are as the runs were scored on; of one that is gone or was changed nothing is known."""
    sides = []
    for name, answers in (("a", ("x", "y", "z")), ("b", ("x", "Y", "z"))):
        (tmp_path / name).mkdir()
        checks = [
            {"instance_id": f"q{at}", "evaluation": {"func": "string_match", "parameters": {"gold": text}}}
            for at, text in enumerate(answers)
        ]
        (tmp_path / name / "x_eval.jsonl").write_text("\n".join(map(json.dumps, checks)))
        # Its code is not needed, and not executed.
        (tmp_path / name / "suite.yaml").write_text("name: s\nscorers: {own: 'python:my.py:own'}\n")
        (tmp_path / name / "my.py").write_text("1 / 0\n")
        spec = find_spec(tmp_path / name)
        sides.append(side(name, [1.0, 1.0, 1.0], gold_folder=str(tmp_path / name), signature=f"gold:{gold_hash(spec.parent, spec)}"))
    named = differing_cases(*sides)
    assert "q1" in named
    assert "q0" not in named
    assert differing_cases(sides[0], replace(sides[1], signature="gold:0")) == ""
    (tmp_path / "a" / "q2").mkdir()
    (tmp_path / "a" / "q2" / "r.csv").write_text("n\n1\n")
    spec = find_spec(tmp_path / "a")
    sides[0] = replace(sides[0], signature=f"gold:{gold_hash(spec.parent, spec)}")
    assert differing_cases(*sides) == "2 of 3 cases differ, first 'q1'"
    assert differing_cases(side("a", {"x": 1.0}), side("b", {"x": 1.0, "y": 0.0})) == "1 of 2 cases differs, first 'y'"
    assert differing_cases(sides[0], replace(sides[1], gold_folder=str(tmp_path / "none"))) == ""


@pytest.mark.parametrize(("status", "score", "fault", "words"), [
    ("scored", 1.0, None, "right"), ("scored", 0.0, None, "wrong"), ("scored", 0.5, None, "partly right"),
    ("scored", 0.0, "BAD_CSV", "BAD_CSV"), ("scored", None, None, "wrong"), ("missing", 0.0, "MISSING_INSTANCE", "missing"),
    ("timeout", 0.0, "TIMEOUT", "TIMEOUT"), ("crashed", 0.0, None, "crashed"), ("gold_fault", None, "BAD_GOLD_FILE", "gold fault"),
    ("unscored", None, "NO_JUDGE", "unscored"),
])  # fmt: skip
def test_the_kind_of_an_answer_in_a_comparison(status: Any, score: float | None, fault: str | None, words: str) -> None:
    """The fault of the submission, else the kind of the score under the compared rules; never the grader's fault."""
    one = result("q", score, status=status, fault=fault, official=1.0, strict=score)
    how = PairingOptions("strict", 0.05, None, False, "class")
    (paired,) = paired_instances([(one, one)], {"g": ["q"], "h": ["r"]}, how)
    assert (paired.reason_a, paired.reason_b, paired.groups, paired.a) == (words, words, ("g",), score)
    for first, second, scorer in (("a", "b", "a"), (None, "b", "b"), ("a", None, "a"), (None, None, "")):
        pair = result("q", 1.0, scorer=first), result("q", 0.0, scorer=second)
        assert paired_instances([pair], {}, how)[0].scorer == scorer
        assert list(pairs_by_scorer([pair])) == [scorer]
    said = result("q", 1.0, details={"reasons": {"strict": "under strict", "official": 3}})
    for rules, reason in (("strict", "under strict"), ("official", "because 1.0"), (None, "because 1.0")):
        (paired,) = paired_instances([(said, result("q", 0.0))], {}, replace(how, rules=rules, level="cells"))
        assert (paired.reason_a, paired.reason_b) == (reason, "because 0.0")


def test_names_of_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts between plus signs, unless there is a file or a run of the whole name; each part has a name; labels are one file a run."""
    monkeypatch.chdir(tmp_path)
    assert [_parts(name, tmp_path) for name in ("a", "a+b+c")] == [["a"], ["a", "b", "c"]]
    (tmp_path / "a+b").mkdir()
    (tmp_path / "c+d").mkdir()
    (tmp_path / "c+d" / "run.json").write_text("{}")
    assert [_parts(name, tmp_path / "none") for name in ("a+b", "c+d")] == [["a+b"], ["c+d"]]
    for name in ("a+", "+a", "a++b"):
        with pytest.raises(UsageError, match="a sample has no name"):
            _parts(name, tmp_path)
    # What is there and is no run is a submission to score; what is nowhere is an error.
    assert _find_saved_run("a+b", tmp_path) is None
    with pytest.raises(UsageError, match="absent"):
        _find_saved_run("absent", tmp_path)
    sides = [side(name, [1.0]) for name in "ab"]
    assert set_labels(sides, []) is sides
    with pytest.raises(UsageError, match="1 file of labels for 2 runs"):
        set_labels(sides, [tmp_path / "x.csv"])


@pytest.mark.parametrize(("n", "more"), [(1, ""), (5, ""), (6, ", and 1 more"), (9, ", and 4 more")])
def test_questions_with_fewer_samples(n: int, more: str) -> None:
    """Five of them are named with the number of their judged samples."""
    sides = [side("a", [None] * n + [1.0]), side("b", [1.0] * (n + 1))]
    named = ", ".join(f"q{at} (1)" for at in range(min(n, 5)))
    assert unequal_samples(sides) == [f"fewer than 2 samples were judged of {named}{more}"]
    assert unequal_samples(sides[1:]) == []
    found = samples_of([replace(one, metadata={"model_name": "m"}) for one in sides])
    assert found.notes == (f"m: fewer than 2 samples were judged of {named}{more}",)
    data = found.to_json()["models"][0]
    assert (data["model"], data["runs"], data["mean"], len(data["interval_95"]), data["n_questions"]) == ("m", ["a", "b"], 1.0, 2, n + 1)
    mixed = samples_of([replace(one, metadata={"model_name": name}) for one, name in zip(sides, ("m", ""), strict=True)])
    assert [model.model for model in mixed.models] == ["2 runs"]


@pytest.mark.parametrize(("margins", "shown"), [
    ([], [0.0]), ([0.0], [0.0, 0.0]), ([0.05], [0.0, 0.01, 0.1]), ([0.01], [0.0, 0.01]), ([0.001, 3.0], [0.0, 0.001, 0.01, 0.1, 1.0, 10.0]),
    ([1e-12], [0.0, 1e-12]), ([True, 0.05], [0.0, 0.01, 0.1]), (["0.5", None], [0.0]),
])  # fmt: skip
def test_tolerances_that_are_shown(margins: list[Any], shown: list[float]) -> None:
    """Powers of ten around the margins, or the smallest of them if none is near; a truth value or a text is no margin."""
    found = find_margins("run", [result(f"q{at}", 0.0, details={"margin": margin}) for at, margin in enumerate(margins)], "official")
    assert [tolerance for tolerance, _ in found.steps_to_show()] == pytest.approx(shown)
    assert (found.n, len(found.near)) == (len(margins), sum(type(margin) is float for margin in margins))
    absent = find_margins("run", [result("q", None, status="missing"), result("r", None), result("s", 1.0)], "strict")
    assert (absent.n, absent.score, absent.to_json()["n"]) == (3, 1 / 3, 3)


def test_what_a_run_says_as_a_rater() -> None:
    """Scores are labels; what is missing or was not judged has none, each by its word; of hidden gold no reason is quoted."""
    results = [result("a", 1.0), result("b", 0.0, status="missing"), result("c", None), result("d", 0.5)]
    for hidden, reasons in ((False, ["because 1.0", "because 0.5"]), (True, ["right", "partly right"])):
        run = {"gold": {"hidden": True}} if hidden else {}
        found = rater_of_run(SimpleNamespace(name="n", run=run, results=lambda: results))  # type: ignore[arg-type]
        assert (found.name, found.labels, found.silent) == ("n", {"a": 1.0, "d": 0.5}, {"b": "missing", "c": "not judged"})
        assert list(found.reasons.values()) == reasons


def test_one_run_is_its_own_model() -> None:
    """Of a single run nothing is averaged: its records, or its instances, are the questions; a new one of several makes the model new."""
    for units, n in (({"q0": (1.0, 0.0, 1.0)}, 3), ({}, 1)):
        ((model,), numbers) = models_of([entry("a", [0.5], units=units)])
        assert (model.name, numbers["a"].numbers.n_questions) == ("a", n)
    alike = [replace(entry(name, [1.0], metadata={"model_name": "m"}), is_new=name == "b") for name in "ab"]
    assert [[model.is_new for model in models_of(alike[:n])[0]] for n in (1, 2)] == [[False], [True]]
    unmodelled = [entry(name, [1.0], metadata={}) for name in "ab"]
    assert [model.name for model in models_of(unmodelled)[0]] == ["a", "b"]
    named = [replace(one, metadata={"model_name": "n"}) for one in unmodelled]
    assert [model.name for model in models_of(named)[0]] == ["n"]
    (mean,), _ = models_of([entry(name, [1.0], metadata={"model_name": "m"}, raw=[3.0], corrected=0.5) for name in "ab"])
    expected = hashlib.sha256(b"hash of a|hash of b").hexdigest()
    assert (mean.scores.raw, mean.scores.corrected, mean.scores.submission_hash) == ([3.0], None, expected)


def test_what_is_planned_of_equal_scores(tmp_path: Path) -> None:
    """Of 0/1 scores their size is known, of clusters of them it is not; a list in place of a text of the host's rules is shown whole."""
    ones = [1.0, 0.0]
    plans = [plan_of(ones, ones, alpha=0.05, clusters=clusters) for clusters in (None, ["a", "b"])]
    assert [plan.units is None for plan in plans] == [False, True]
    wide = [paired_difference("x", [0.5, 0.5], [0.5, 1.0], is_raw=is_raw) for is_raw in (False, True)]
    assert (wide[0].low, wide[0].high) == (-1, 1), "no difference of two shares is larger"
    assert (round(wide[1].low or 0, 1), round(wide[1].high or 0, 1), wide[1].is_raw) == (-2.9, 3.4, True)
    assert [paired_difference("x", scores, scores).note for scores in (ones, [0.5, 0.0])] == ["", "no differences"]
    (tmp_path / "board.yaml").write_text("title: [a, [b]]\n")
    with pytest.raises(GoldError, match=r"board\.yaml:1: title must be text, found \['a', \['b'\]\]"):
        read_board_rules(tmp_path / "board.yaml")


def test_what_the_graders_side_left_unjudged() -> None:
    """A run with an unscored instance has no rank; with `allow_unscored` all are ranked over what each was judged on, by a note."""
    first = entry("first", [1.0, 1.0, 0.0, None], status=["scored", "scored", "scored", "unscored"])
    second = entry("second", [1.0, 0.0, 0.0, 1.0])
    assert [(row.name, row.rank, row.score) for row in board(first, second).rows] == [("second", 1, 0.5), ("first", None, 2 / 3)]
    made = board(first, second, allow_unscored=True)
    assert [(row.name, row.score) for row in made.rows if row.rank] == [("first", 2 / 3), ("second", 1 / 3)]
    assert [note for note in made.notes if "judged" in note] == ["ranked over the 3 of 4 instances on which each of them was judged"]
    # What gold or the submission prevented from being scored counts as it does in the score.
    whole = board(entry("first", [1.0, None], status=["scored", "gold_fault"]), entry("second", [0.0, 0.0], status=["scored", "missing"]))
    assert all(row.rank for row in whole.rows)
    assert [note for note in whole.notes if "judged" in note] == []
