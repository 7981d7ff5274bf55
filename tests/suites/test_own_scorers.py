"""A suite's user-defined scorer gets references, inputs and contexts from the run."""

from pathlib import Path
from typing import Any

import pytest

from evalsuite.api import evaluate
from evalsuite.core.errors import EvalsuiteError, UsageError
from evalsuite.reports import test_suite
from evalsuite.reports.test_suite import TestSuite
from evalsuite.runs.history import find_runs
from evalsuite.scorers import SCORERS
from evalsuite.suites.stored_suites import SuiteError
from tests.runs.made import write_sides
from tests.scorers.judge.conftest import Serve, serve
from tests.scorers.judge.server import prompt_of
from tests.suites.made import INPUTS, REFERENCES, Typos

pytestmark = pytest.mark.usefixtures("shared_fork_server")

__all__ = ["serve"]


def test_a_scorer_of_ones_own(tmp_path: Path) -> None:
    """An object with `run_batch` sees all cases at once; its name alone, another scorer and other settings are refused on reload."""
    scorer = Typos()
    suite = TestSuite("own", scorer, input_text_list=INPUTS, reference_output_list=REFERENCES, root=tmp_path)
    made = suite.run("r", candidate_output_list=["Paris", "R#me", "#sl#"], context_list=["x", "y", "z"])
    assert made.scores == [1, 0.5, 0.25]
    assert scorer.seen == [(["Paris", "R#me", "#sl#"], REFERENCES, INPUTS, ["x", "y", "z"])]
    assert suite.suite.scoring_method == {"name": "typos", "type": "custom", "config": {"base": 0.5}}
    for other, message in (("typos", "uses the user-defined scorer"), (Typos(0.9), "another configuration"), (_equal, "not _equal")):
        with pytest.raises(SuiteError, match=message):
            TestSuite("own", other, root=tmp_path)
    with pytest.raises(UsageError, match="typos compares with a reference output"):
        TestSuite("bare", scorer, input_text_list=INPUTS, root=tmp_path)


def test_scorers_of_one_name_are_those_of_their_suites(tmp_path: Path) -> None:
    """Two functions of one name, as lambdas, and gold with a plugin of that name: each suite, reloaded too, and gold have theirs."""
    data: dict[str, Any] = {"input_text_list": INPUTS, "reference_output_list": REFERENCES, "root": tmp_path}
    suites = [TestSuite(f"suite {value}", lambda *_, value=value: value, **data) for value in (0.25, 0.5)]
    runs = [suite.run("r", candidate_output_list=INPUTS) for suite in suites]
    runs += [TestSuite("suite 0.25", root=tmp_path).run("again", candidate_output_list=INPUTS)]
    assert [run.scores[0] for run in runs] == [0.25, 0.5, 0.25]
    assert [suite.scorer.score("a", gold="a").official for suite in suites] == [0.25, 0.5]
    submission, gold = write_sides(tmp_path / "sub", tmp_path / "gold", {"q": ("own", {"gold": "x"}, "x")})
    (gold / "suite.yaml").write_text("scorers: {own: 'python:my.py:own'}\n")
    (gold / "my.py").write_text("def own(prediction, gold):\n    return 0.75\n")

    def own(prediction: str, reference: str) -> float:
        return 0.0

    TestSuite("of the same name", own, **data)
    assert evaluate(submission, gold, save=False).summary.score == 0.75
    (gold / "suite.yaml").unlink()
    with pytest.raises(EvalsuiteError, match="unknown scorer 'own'"):
        evaluate(submission, gold, save=False)


def test_a_suite_without_its_own_scorer_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another process the scorer is not there: the suite is read, a run of it names what to give."""
    TestSuite("own", Typos(), input_text_list=INPUTS, reference_output_list=REFERENCES, root=tmp_path)
    monkeypatch.setattr(test_suite, "_OBJECTS", {})
    SCORERS.begin_call()
    suite = TestSuite("own", root=tmp_path)
    with pytest.raises(SuiteError, match="the suite's scorer 'typos' is not loaded"):
        suite.run("r", candidate_output_list=["a", "b", "c"])


def test_contexts_reach_a_scorer_that_takes_one(tmp_path: Path, serve: Serve) -> None:
    """The judge is shown each case's context; runs with other contexts have another signature, and none is an error."""
    server = serve(lambda *_: '{"claims": [], "verdict": "yes"}')
    judge = {"base_url": server.base_url, "model": "m", "cache": False, "concurrency": 1}
    suite = TestSuite("claims", "hallucination", input_text_list=INPUTS, judge=judge, root=tmp_path)
    with pytest.raises(UsageError, match="hallucination needs a context"):
        suite.run("r", candidate_output_list=["a", "b", "c"])
    runs = [suite.run(str(n), candidate_output_list=["a", "b", "c"], context_list=[f"x{n}", "y", "z"]) for n in (1, 2)]
    asked = "".join(prompt_of(body) for body in server.asked)
    assert all(context in asked for context in ("x1", "x2", "y", "z"))
    assert runs[0].run.signature != runs[1].run.signature
    assert [entry.suite for entry in find_runs(tmp_path / "runs")] == ["claims", "claims"]


def _equal(prediction: str, reference: str) -> float:
    return float(prediction == reference)
