"""Runs in Python: a frame, a report, a repr, the public names, and an assertion for tests."""

from importlib.resources import files
from pathlib import Path

import pytest

import evalsuite

pytestmark = pytest.mark.usefixtures("shared_fork_server")

EXAMPLE = Path(__file__).parent.parent / "example_submission_folder"
GOLD = Path(__file__).parent.parent / "gold"


def test_a_run_is_a_frame_a_report_and_a_line(tmp_path: Path) -> None:
    """Rows as in the CSV, a page by its ending, a repr of one line, and HTML for a notebook."""
    run = evalsuite.evaluate(EXAMPLE, GOLD, save=False)
    frame = run.to_frame()
    assert list(frame["instance_id"]) == [result.instance_id for result in run.results]
    assert {"question", "reference", "answer", "score"} <= set(frame.columns)
    assert run.write(tmp_path / "x.html").read_text().startswith("<!")
    assert repr(run).startswith("<Run of 'example_submission_folder'")
    assert "\n" not in repr(run)
    assert "<table>" in run._repr_html_()


def test_a_run_of_a_suite_is_read_the_same_way(tmp_path: Path) -> None:
    """A frame with question, reference and answer, a page, and one line each for suite and run."""
    suite = evalsuite.TestSuite("t", "exact_match", input_text_list=["a?", "b?"], reference_output_list=["x", "y"], root=tmp_path)
    run = suite.run("first", candidate_output_list=["x", "z"])
    frame = run.to_frame()
    assert frame[["question", "reference", "answer", "score"]].to_numpy().tolist() == [["a?", "x", "x", 1], ["b?", "y", "z", 0]]
    assert run.write(tmp_path / "x.html").read_text().startswith("<!")
    assert (repr(suite), repr(run)) == (
        "<TestSuite 't': 2 cases, exact_match>",
        "<TestRun 'first' of 't': done: 50.0 % (no gate set)>",
    )
    assert "<table>" in run._repr_html_()


def test_a_test_asserts_scores() -> None:
    """What is good enough passes; what is not names its instances."""
    assert evalsuite.assert_scores(EXAMPLE, GOLD, at_least=0.5).summary.score
    with pytest.raises(AssertionError, match=r"is less than 0\.99[\s\S]*hr_004: "):
        evalsuite.assert_scores(EXAMPLE, GOLD, at_least=0.99)


def test_the_package_shows_its_names_and_its_types() -> None:
    """`dir` gives the public names, and `py.typed` lies in the package."""
    assert set(evalsuite.__all__) <= set(dir(evalsuite))
    assert (files("evalsuite") / "py.typed").is_file()
