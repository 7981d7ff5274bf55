"""`evalsuite suite` with the options that the first walk does not need: parameters, a judge, plugins, contexts."""

from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import EXIT_OK, EXIT_UNSCORABLE, EXIT_USAGE
from evalsuite.suites.stored_suites import load_suite
from tests.cli.test_run import lacks, said
from tests.scorers.judge.conftest import Serve, serve

pytestmark = pytest.mark.usefixtures("shared_fork_server")

__all__ = ["serve"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CSV of questions and one of answers with contexts, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.csv").write_text("input,reference_output\nCapital of France?,Paris\nCapital of Italy?,Rome\n")
    (tmp_path / "a.csv").write_text("candidate_output,seen\nparis,France and Paris\nMilan,Italy\n")
    return tmp_path


def test_parameters_reach_the_scorer() -> None:
    """`--parameter` takes JSON or text, is kept with the suite, and decides."""
    create = ["suite", "create", "capitals", "--from", "q.csv", "--scorer", "exact_match"]
    assert main([*create, "--parameter", "ignore_case=true", "--parameter", "variant=arthur"]) == EXIT_OK
    assert load_suite("capitals").scoring_method["config"] == {"ignore_case": True, "variant": "arthur"}
    assert "a: done: 50.0 %" in said("suite run capitals --from a.csv")


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--parameter", "ignore_cas=true"], "did you mean 'ignore_case'?"),
        (["--parameter", "ignore_case"], "--parameter cannot be 'ignore_case'"),
        (["--parameter", "ignore_case=5"], "must be true or false"),
        (["--reference-column", "answer"], "the data has no reference column 'answer'"),
        (["--judge", "suite.yaml"], "suite.yaml: no such file"),
    ],
)
def test_what_cannot_be_meant_makes_no_suite(place: Path, option: list[str], says: str) -> None:
    """Each wrong option is named, and nothing is written."""
    assert says in said("suite create capitals --from q.csv --scorer exact_match", *option, code=EXIT_USAGE)
    assert not (place / ".evalsuite").exists()


def test_a_judge_sees_the_contexts(place: Path, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """`--judge` of another suite and `--context-column` are all that hallucination needs; each missing one is said."""
    server = serve(lambda *_: "none")
    assert main(["suite", "create", "bare", "--from", "q.csv", "--scorer", "qa_correctness"]) == EXIT_OK
    assert main(["suite", "run", "bare", "--from", "a.csv"]) == EXIT_USAGE
    assert main(["suite", "run", "bare", "--from", "a.csv", "--context-column", "seen"]) == EXIT_UNSCORABLE
    out = capsys.readouterr().out
    assert not lacks(out, "a: done: nothing judged (0 of 2)", "not scored: NO_JUDGE: judge.model is not set")
    (place / "suite.yaml").write_text(f"judge: {{base_url: '{server.base_url}', model: m, concurrency: 1}}\n")
    assert main(["suite", "create", "judged", "--from", "q.csv", "--scorer", "qa_correctness", "--judge", "suite.yaml"]) == EXIT_OK
    server.rule = lambda body, _: "1" if "France and Paris" in str(body["messages"]) else "0"
    assert "a: done: 50.0 %" in said("suite run judged --from a.csv --context-column seen")


def test_a_plugin_scores_a_suite(place: Path) -> None:
    """`--plugin` brings the scorer for both commands; without it the run says what is not here."""
    (place / "own.py").write_text(
        "class Long:\n    def run_batch(self, candidates, references, inputs, contexts):\n"
        "        return [float(len(text) > 4) for text in candidates]\n"
    )
    assert main(["suite", "create", "own", "--from", "q.csv", "--scorer", "Long", "--plugin", "own.py"]) == EXIT_OK
    assert load_suite("own").scoring_method == {"name": "Long", "type": "plugin", "config": {}}
    assert "100.0 %" in said("suite run own --from a.csv --plugin own.py")
