"""P(gold is wrong) is as good as an oracle's list, near the share of wrong gold, and finds copied submissions."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp
from typing import Any

import pytest

from evalsuite.analysis.gold_checks.suspects import GOLD, Posterior, _notes_of_fit, fit, log_odds_needed, outlook, value_of_review
from tests.analysis.gold_checks.gold_worlds import N_WRONG, WORLDS, World
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@dataclass
class Measured:
    """Of some draws of a world: precision at 10 and Brier score of the oracle and of the model, and (P(wrong), whether it is)."""

    precision: tuple[float, float]
    brier: tuple[float, float]
    said: list[tuple[float, bool]] = field(default_factory=list)


def measured(name: str, seeds: Iterable[int]) -> Measured:
    """The means over these draws of a world."""
    precision, squares, said = ([0.0], [0.0]), ([0.0], [0.0]), []
    for seed in seeds:
        votes, wrong, abilities = WORLDS[name].draw(seed)
        model = {item: one.p_wrong for item, one in fit(votes).posteriors.items()}
        for at, found in enumerate((WORLDS[name].oracle(votes, abilities), model)):
            listed = sorted(found, key=lambda item: -found[item])[:N_WRONG]
            precision[at].append(len(wrong & set(listed)) / N_WRONG)
            squares[at].extend((p - (item in wrong)) ** 2 for item, p in found.items())
        said += [(p, item in wrong) for item, p in model.items()]
    means = [tuple(sum(of) / (len(of) - 1) for of in both) for both in (precision, squares)]
    return Measured((means[0][0], means[0][1]), (means[1][0], means[1][1]), said)


def off_by(said: list[tuple[float, bool]], edges: tuple[float, ...] = (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.01)) -> float:
    """How far at most the mean of P(wrong) in a part of the scale is from the share that is wrong; parts of 50 instances and more."""
    parts = ([one for one in said if low <= one[0] < high] for low, high in pairwise(edges))
    return max(abs(sum(p for p, _ in part) - sum(wrong for _, wrong in part)) / len(part) for part in parts if len(part) >= 50)


@pytest.mark.slow
def test_no_world_is_read_worse_than_an_oracle_would() -> None:
    """In nine kinds of worlds, 40 draws each: 9 of the first 10 are wrong golds, or as many as the oracle's first 10 hold.

    The oracle knows the abilities, the spread of difficulties, how wrong answers agree, who copies whom and how often gold is wrong, and
    ranks by the exact probability: its precision is what the votes can give. Where that is below 0.9 (three wrong answers 0.88, wide
    difficulties 0.81, weak submissions 0.78) no model reaches 0.9; there, what is lost by not knowing the parameters is at most 0.04.
    """
    said = []
    for name in WORLDS:
        found = measured(name, range(40))
        assert found.precision[1] >= min(0.9, found.precision[0] - 0.04), (name, found.precision)
        assert found.brier[1] <= found.brier[0] + 0.015, (name, found.brier)
        said += found.said
    assert off_by(said) < 0.1


@pytest.mark.parametrize(
    ("name", "n_draws"), [("weak", 1), *(pytest.param(name, 3, marks=pytest.mark.slow) for name in ("plain", "two copy", "weak"))]
)
def test_the_list_is_as_good_as_the_votes_allow(name: str, n_draws: int) -> None:
    """A short version: a few draws of three worlds, one where the oracle itself finds fewer than 9 of 10."""
    found = measured(name, range(n_draws))
    assert found.precision[1] >= min(0.9, found.precision[0] - 0.07), found.precision
    assert found.brier[1] <= found.brier[0] + 0.02, found.brier


def test_copies_count_as_less_than_two() -> None:
    """Who copies is found with about the share that is copied, and nobody else: not those who only make popular errors together."""
    votes, _, _ = WORLDS["two copy"].draw(0)
    copies = fit(votes).copies
    assert {frozenset(pair) for pair in copies} == {frozenset(("run2", "run0")), frozenset(("run5", "run4"))}
    assert all(0.6 < share < 0.95 for share in copies.values())
    assert not fit(WORLDS["three wrong answers"].draw(0)[0]).copies
    assert [round(exp(log_odds_needed(n))) for n in (2, 6, 7, 8)] == [20, 20, 21, 28]


def test_a_check_changes_one_verdict_at_least() -> None:
    """Where no answer is gold's or the likeliest one, a check counts as if one verdict changed."""
    wrong = Posterior(0.5, "b", {})
    assert [value_of_review(votes, wrong) for votes in ({"x": "a"}, {"x": "a", "y": "b"}, {"x": "b", "y": GOLD})] == [0.5, 0.25, 0.5]


def test_a_family_cannot_outvote_gold() -> None:
    """Three that copy nine of ten answers of a fourth are half of all voters: found from gold's side, they are one voice, not the truth."""
    world = World(copies=((1, 0), (2, 0), (3, 0)), copied=0.9)
    votes, wrong, _ = world.draw(1)
    found = fit(votes)
    assert {name for pair in found.copies for name in pair} == {f"run{j}" for j in range(4)}
    assert wrong == set(sorted(votes, key=lambda item: -found.posteriors[item].p_wrong)[:N_WRONG])


def test_two_halves_that_agree_leave_gold_open() -> None:
    """Where many wrong golds explain the votes of two halves a little better than copies do, no right gold is called wrong for certain."""
    copies = ((1, 0), (2, 0), (3, 0), (5, 4), (6, 4), (7, 4))
    votes, wrong, _ = World(copies=copies, copied=0.9).draw(5)
    found = fit(votes)
    few, many = found.n_wrong or (0, 0)
    assert 0 < few <= N_WRONG < many
    assert f"{few} wrong golds and more copied answers, or {many} and fewer" in list(_notes_of_fit(found))[-1]
    assert max(found.posteriors[item].p_wrong for item in votes if item not in wrong) < 0.7
    assert max(found.posteriors[item].p_wrong for item in wrong) > 0.9


def fitted(row: dict[str, Any]) -> dict[str, Any]:
    """What is said of the first instances of a drawn world: words apart from numbers."""
    world = World(**{**row["world"], "copies": tuple(map(tuple, row["world"].get("copies", ())))})
    drawn = list(world.draw(row["seed"])[0].items())[: row["n"]]
    # Not every submission answers every instance.
    votes = {name: {run: vote for run, vote in own.items() if (int(name[1:]) + int(run[3:])) % 9} for name, own in drawn}
    found = fit(votes)
    seen = outlook(votes, found.posteriors)
    numbers = [number for one in found.posteriors.values() for number in (one.p_wrong, *one.right.values())] + [*found.copies.values()]
    numbers += [value_of_review(votes[name], one) for name, one in found.posteriors.items()]
    numbers += [number for one in seen.submissions for number in (one.score, one.expected_score)]
    ranks = [f"{one.run} {one.rank} {one.expected_rank}" for one in seen.submissions]
    likeliest = " ".join(one.likeliest or "-" for one in found.posteriors.values())
    words = [likeliest, *map(str, found.copies), str(found.n_wrong), *_notes_of_fit(found), *ranks, f"{seen.n_wrong} {seen.says}"]
    return {"numbers": numbers, "words": words}


@pytest.mark.parametrize("at", range(4))
def test_the_fit_is_the_recorded_one(at: int) -> None:
    """Each probability, share of copies, value of a check and expected rank, to five digits."""
    row = json.loads((ROOT / "tests/data/values/posteriors.jsonl").read_text(encoding="utf-8").splitlines()[at])
    found = fitted(row)
    assert found["words"] == row["words"]
    assert found["numbers"] == pytest.approx(row["numbers"], rel=1e-5, abs=1e-9)
