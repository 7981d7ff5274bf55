"""The comparison on terminals of any width, and its words."""

import re

import pytest

from evalsuite.analysis.leaderboard import compare
from evalsuite.core.dataclasses import replace
from evalsuite.reports.comparison_documents import comparison_document
from evalsuite.reports.document import points
from evalsuite.reports.terminal import as_text
from tests.analysis.leaderboard.made import side
from tests.cli.test_run import lacks

pytestmark = pytest.mark.usefixtures("shared_fork_server")

LONG = "20261121-102205-a-submission-with-a-long-name"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 150])
def test_no_number_is_ever_cut(width: int) -> None:
    """On a narrow terminal rows become blocks of lines; every number and every instance stands whole, and the verdict is one line."""
    sides = [side("a", [1] * 20), side(LONG, [0] * 9 + [1] * 11), side("c", [1] * 20)]
    shown = as_text(comparison_document(compare(sides)), width=width)
    *lines, last = shown.splitlines()
    assert max(map(len, lines)) <= width
    assert last.startswith("done: ")
    for number in ("-45.0", "0.0078", "100.0 %", "55.0 %", "0 / 11 / 9"):
        assert number in shown
    assert set(re.findall(r"q\d+", shown)) >= {f"q{i}" for i in range(9)}


def test_a_brief_report_fits_a_screen() -> None:
    """Ten flips take at most 22 lines of 80 columns, lost ones first and half of them won ones; totals and verdict stand last."""
    right, wrong = [1.0] * 7 + [0.0] * 3, [0.0] * 7 + [1.0] * 3
    found = compare([side("a", right), side("b", wrong)])
    lines = as_text(comparison_document(found, brief=True), width=80).splitlines()
    assert len(lines) <= 22
    assert max(map(len, lines)) <= 80
    assert " b against a: 7 instances lost, 3 instances won" in lines
    assert [line.split()[1:4] for line in lines if line.startswith(" q")] == [["1", "->", "0"]] * 7 + [["0", "->", "1"]] * 3
    assert [line.split()[:4] for line in lines if line.startswith(" b ")][-1] == ["b", "70.0", "%", "30.0"]
    assert lines[-1].startswith("done: ")
    for n_lost, n_won, shown in ((24, 19, 5), (24, 2, 8), (3, 30, 3), (4, 0, 4)):
        found = compare([side("a", [1.0] * n_lost + [0.0] * n_won), side("b", [0.0] * n_lost + [1.0] * n_won)])
        rows = [line.split()[1] for line in as_text(comparison_document(found, brief=True)).splitlines() if line.startswith(" q")]
        assert rows == ["1"] * shown + ["0"] * min(n_won, 10 - shown)


def test_answers_are_shown_where_there_are_any() -> None:
    """The line of both answers follows an answer that is a text, and none that is a file on both sides; a short one leaves its room."""
    found = compare([side("a", [1.0, 1.0]), side("b", [0.0, 0.0])])
    text, file = found.candidates[0].flips
    flips = (replace(text, answer_a="Paris", answer_b=""), replace(file, answer_a="", answer_b=""))
    shown = as_text(comparison_document(replace(found, candidates=(replace(found.candidates[0], flips=flips),)), brief=True))
    assert [line.strip() for line in shown.splitlines() if line.strip().startswith("a ") and "·" in line] == ["a Paris · b -"]
    for answers in (("The capital of Canada is Ottawa, in Ontario", "Toronto"), ("Toronto", "The capital of Canada is Ottawa, in Ontario")):
        flips = (replace(text, answer_a=answers[0], answer_b=answers[1]),)
        shown = as_text(comparison_document(replace(found, candidates=(replace(found.candidates[0], flips=flips),)), brief=True), width=64)
        assert f"   a {answers[0]} · b {answers[1]}\n" in shown


def test_the_seed_and_the_tests_are_printed() -> None:
    """Tests of means draw nothing and say so, graded scores on no grid too; the p of a shift that was drawn says its seed and number."""
    exact = as_text(comparison_document(compare([side("a", [0, 1]), side("b", [1, 1])])))
    assert not lacks(exact, "exact McNemar", "12345, no random numbers used")
    graded = [i / 997 for i in range(150)]
    sides = [side("a", graded), side("b", [value * (1 + 0.9e-6 * i) for i, value in enumerate(graded)])]
    assert "12345, no random numbers used" in as_text(comparison_document(compare(sides)))
    assert "12345, 10000 resamples" in as_text(comparison_document(compare(sides, shift=True)))


@pytest.mark.parametrize(("value", "shown"), [(0.025, "+2.5"), (-0.125, "-12.5"), (0.0, "0.0"), (-1e-12, "0.0"), (None, "-")])
def test_points_carry_their_sign(value: float | None, shown: str) -> None:
    """A difference is shown in points; nothing is no minus zero."""
    assert points(value) == shown
