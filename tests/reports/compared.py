"""Comparisons and leaderboards for the tests of their formats: usual, hostile, at every level, large."""

from typing import Any

from evalsuite.analysis.leaderboard import Comparison, compare
from evalsuite.analysis.leaderboard.ranking import Leaderboard
from evalsuite.runs.leaderboard_entries import Entry
from tests.analysis.leaderboard.made import result, side
from tests.analysis.leaderboard.test_leaderboard import board, entry
from tests.reports.made import HOSTILE

GROUPS = {"early": ["q0", "q1", "q2"], "late": ["q3", "q4"]}


def usual(**more: Any) -> Comparison:
    """Baseline `a` against `b` (two lost, one won, two tied, one not judged) and `c` (the same as `a`)."""
    scores: list[float | None] = [1, 1, 0, 1, 0, 1]
    return compare([side("a", scores, groups=GROUPS), side("b", [0, 0.5, 1, 1, 0, None]), side("c", scores)], **more)


def trees(**more: Any) -> Comparison:
    """A comparison with fields and shifts."""
    sides = []
    for label, value in (("a", 1.0), ("b", 0.25)):
        rows = [{"path": path, "precision": value, "recall": value, "f1": value} for path in ("year", "title")]
        results = {f"q{i}": result(f"q{i}", value, scorer="tree_match", details={"fields": rows}) for i in range(6)}
        sides.append(side(label, {}, **more))
        sides[-1].results.update(results)  # type: ignore[attr-defined]
    return compare(sides, shift=True)


def hostile() -> Comparison:
    """Every hostile text as an id, a reason, a scorer, a group, a label, the suite's name and a warning."""
    sides = []
    for at, (label, score) in enumerate(((HOSTILE[0], 1.0), (HOSTILE[2], 0.0))):
        made = side(label, {}, groups={text: [text] for text in HOSTILE}, suite=HOSTILE[1], signature=f"{HOSTILE[4]}:{at}")
        made.results.update({text: result(text, score, reason=text, scorer=text) for text in HOSTILE})  # type: ignore[attr-defined]
        sides.append(made)
    return compare(sides, force=True)


def large(n: int) -> Comparison:
    """n instances lost, each in a group of its own."""
    sides = []
    for label, score in (("a", 1.0), ("b", 0.0)):
        results = {f"q{i}": result(f"q{i}", score, reason=f"reason {i} é " * 20) for i in range(n)}
        sides.append(side(label, {}, groups={f"group_{i} {'x' * 50}": [f"q{i}"] for i in range(n)}))
        sides[-1].results.update(results)  # type: ignore[attr-defined]
    return compare(sides)


def ranked(*more: Entry) -> Leaderboard:
    """A board of two submissions with a column each for two groups, and those given."""
    return board(entry("good", [1.0, 1.0, 0.0, None], status=["scored"] * 3 + ["gold_fault"]), entry("bad", [0.0] * 4), *more, by="group")


def hostile_board() -> Leaderboard:
    """Every hostile text as the name of a submission, ranked or not, and as its metadata."""
    entries = [entry(text, [1.0, 0.0], metadata={"model_name": text, text: text}) for text in HOSTILE]
    broken = [Entry(name=f"broken {text}", scores=None, fault=f"BAD_CSV: {text}") for text in HOSTILE]
    return board(*entries, *broken)
