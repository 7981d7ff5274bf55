"""Rules of ranking and pairing that decide rarely, each on the smallest case that shows it."""

from dataclasses import replace
from typing import Any

import pytest

from evalsuite.analysis.leaderboard.comparison import compare
from evalsuite.analysis.leaderboard.pairing import is_lower_better
from evalsuite.analysis.leaderboard.reliability import models_of, newest_samples
from evalsuite.runs.leaderboard_entries import Entry
from tests.analysis.leaderboard.made import result, side
from tests.analysis.leaderboard.test_leaderboard import board, entry


@pytest.mark.parametrize(
    ("sides", "raw", "is_lower"),
    [
        # A stored score is turned already: more is better.
        ([{"scorer": "ter"}, {"scorer": "ter"}], False, False),
        ([{"scorer": "ter"}, {"scorer": "ter"}], True, True),
        ([{"scorer": "string_match"}, {"scorer": "string_match"}], True, False),
        ([{"details": {"better": "lower"}}, {"details": {"better": "lower"}}], False, True),
        ([{"details": {"better": "lower"}}, {}], False, False),
        ([{"details": {"better": "higher"}}, {"details": {"better": "lower"}}], False, False),
    ],
)
def test_whether_less_is_better(sides: list[dict[str, Any]], raw: bool, is_lower: bool) -> None:
    """On the scorer's own scale its direction decides, on that of scores only what an imported run says of both sides."""
    a, b = (result("q", 0.5, **more) for more in sides)
    assert is_lower_better([(a, b)], raw=raw) is is_lower
    assert is_lower_better([], raw=False) is False


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


@pytest.mark.parametrize(
    ("counts", "notes"),
    [
        ([{}, {}], []),
        ([{"stale": 1}, {}], ["1 stale entry of gold.errata.yaml not applied"]),
        ([{"stale": 1, "expired": 1}, {"stale": 3}], ["3 stale entries", "1 expired entry"]),
    ],
)
def test_errata_that_were_not_applied(counts: list[dict[str, int]], notes: list[str]) -> None:
    """The largest number of all runs is named, for each state; without one nothing is said of errata."""
    made = board(*(entry(f"e{at}", [1.0, 0.0], n_unapplied=count) for at, count in enumerate(counts)))
    said = [note for note in made.notes if "gold.errata.yaml" in note]
    assert len(said) == len(notes)
    assert all(note.startswith(begin) for note, begin in zip(said, notes, strict=True))


def test_an_unreadable_entry_is_no_sample() -> None:
    """Two runs of a model are its samples; a submission that names the model and could not be read stays by itself."""
    alike = {"metadata": {"model_name": "m"}}
    unread = Entry(name="unread", scores=None, fault="BAD_METADATA", metadata={"model_name": "m"})
    models, samples = models_of([entry("a", [1.0, 0.0], **alike), unread, entry("b", [1.0, 1.0], **alike)])
    assert [model.name for model in models if model.scores is not None] == ["m"]
    assert "m" in samples
    alone, _ = models_of([unread, entry("a", [1.0, 0.0], **alike)])
    assert [model.name for model in alone if model.scores is not None] == ["a"]


def test_runs_that_name_each_other_as_their_first() -> None:
    """Two forged runs, each rescored from the other, come to an end and are both kept or counted once."""
    others = {"a": "b", "b": "a"}
    made = [replace(entry(a, [1.0], metadata={"model_name": "m", "rescored_from": b}), is_run=True) for a, b in others.items()]
    kept, _ = newest_samples(made)
    assert 1 <= len(kept) <= 2


@pytest.mark.parametrize(
    ("first", "second", "n"), [([1.0, 0.0], [1.0, 1.0], 2), ([None, 0.0], [1.0, 1.0], 1), ([1.0, 0.0], [None, 1.0], 1)]
)
def test_pairs_are_judged_on_both_sides(first: list[float | None], second: list[float | None], n: int) -> None:
    """A gold fault on either side leaves the pair out."""
    found = compare([side("a", first), side("b", second)])
    assert found.candidates[0].total.n == n
