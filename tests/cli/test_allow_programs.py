"""Without a program sandbox every command reports NO_JAIL, and scores programs with `--allow-programs`."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from tests.cli.test_run import write_lines

pytestmark = pytest.mark.usefixtures("shared_fork_server")

UNIT = {"func": "python_unit_testing", "parameters": {"gold": "assert x == 1"}}
GOLD: dict[str, Any] = {
    "text": {"func": "string_match", "parameters": {"gold": "Oslo"}},
    "unit": UNIT,
    "pass": {"func": "pass_at_k", "parameters": {"gold": "assert x == 1", "k": 1}},
    "parts": {"func": "composite", "parameters": {"gold": "assert x == 1", "parts": ["python_unit_testing"], "on_missing": "zero"}},
    "named": {"func": "tested", "parameters": {"gold": "assert x == 1"}},
    "either": {**UNIT, "also": {"func": "string_match", "parameters": {"gold": "x = 1"}}},
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine of these tests gives programs no jail."""
    monkeypatch.setattr("evalsuite.scorers.metrics.programs.can_sandbox_programs", lambda: False)


PROGRAMS = ["unit", "pass", "parts", "named"]
RUN = ["run", "sub", "-q", "--no-cache", "--jobs", "1", "--isolation"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gold with programs in every shape that a check may have, and a submission that is right in all; commands run here."""
    monkeypatch.chdir(tmp_path)
    entries = [
        {"instance_id": name, "evaluation": [one, also] if (also := one.pop("also", None)) else one} for name, one in _copy().items()
    ]
    write_lines(tmp_path / "gold" / "programs_eval.jsonl", *entries)
    (tmp_path / "gold" / "suite.yaml").write_text("name: programs\nscorers: {tested: {composite: {parts: [python_unit_testing]}}}\n")
    hand_in(tmp_path / "sub", "x = 1")
    hand_in(tmp_path / "bad", "x = 2")
    return tmp_path


def _copy() -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(GOLD))
    return copy


def hand_in(folder: Path, program: str) -> None:
    """A submission of this program everywhere."""
    texts = dict.fromkeys(GOLD, program) | {"text": "Oslo"}
    rows = [{"instance_id": name, "answer_type": "answer", "answer_or_path": text} for name, text in texts.items()]
    write_lines(folder / "results_metadata.jsonl", *rows)


def rows_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The lines of a run's results by id."""
    return {row["instance_id"]: row for row in map(json.loads, (folder / "results.jsonl").read_text().splitlines())}


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_run(place: Path, isolation: str) -> None:
    """Without permission each program is `unscored` with NO_JAIL, never a 0 and never the submission's fault; the rest is scored."""
    assert main([*RUN, isolation, "--out", "plain"]) == 4
    rows = rows_of(place / "plain")
    for name in PROGRAMS:
        assert (rows[name]["status"], rows[name]["fault"]) == ("unscored", "NO_JAIL"), name
        assert [rows[name][key] for key in ("score", "official", "strict")] == [None] * 3
        assert "--allow-programs" in rows[name]["reason"]
    assert [rows[name]["score"] for name in ("text", "either")] == [1, 1]
    assert main([*RUN, isolation, "--allow-programs", "--out", "allowed"]) == 0
    assert [row["score"] for row in rows_of(place / "allowed").values()] == [1] * len(GOLD)
    plain, allowed = (json.loads((place / name / "run.json").read_text()) for name in ("plain", "allowed"))
    assert "programs:allowed" in allowed["signature"].split("|")
    assert "programs" not in plain["signature"]
    assert (plain["options"].get("allow_programs"), allowed["options"]["allow_programs"]) == (None, True)


def test_a_verdict_is_never_taken_over_without_permission(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the score cache nor a finished run of a leaderboard gives a later call without the option what it did not allow."""
    board = ["leaderboard", "sub", "bad", "--jobs", "1", "--isolation", "none", "--json"]
    for options, expected in (([], [None, None]), (["--allow_programs"], [1, 0]), ([], [None, None])):
        assert main(["run", "sub", "-q", "--jobs", "1", "--isolation", "none", *options, "--out", "again"]) == (0 if options else 4)
        assert rows_of(place / "again")["unit"]["score"] == expected[0]
        capsys.readouterr()
        assert main([*board, *options]) == (0 if options else 4)
        found = json.loads(capsys.readouterr().out)
        assert all(("programs:allowed" in line) == bool(options) for line in found["signatures"])
        counts = {row["name"]: row["faults"].get("unscored", 0) for row in found["rows"]}
        assert counts == dict.fromkeys(("sub", "bad"), 0 if options else len(PROGRAMS)) | ({} if options else {"bad": 1 + len(PROGRAMS)})


def test_rescore_and_compare(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that was allowed programs does not allow them again: whoever scores says so each time."""
    assert main([*RUN, "none", "--allow-programs", "--out", "allowed"]) == 0
    for options, expected in (([], None), (["--allow-programs"], 1)):
        capsys.readouterr()
        assert main(["rescore", "allowed", "--json", "--jobs", "1", "--isolation", "none", *options]) == (0 if expected else 4)
        name = json.loads(capsys.readouterr().out)["summary"]["counts"]
        assert name["unscored"] == (0 if expected else len(PROGRAMS))
    assert main(["compare", "allowed", "sub", "--json", "--jobs", "1", "--no-cache", "--allow-programs"]) == 0
    total = json.loads(capsys.readouterr().out)["candidates"][0]["total"]
    assert (total["a"], total["b"]) == (1, 1)
    assert main(["compare", "allowed", "sub", "--json", "--jobs", "1", "--no-cache"]) == 2
    assert "programs" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["python_unit_testing"], ["pass_at_k"], ["composite", "--parts", '["python_unit_testing"]']])
def test_check(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One prediction with one scorer, in both spellings of the option."""
    call = ["check", *words, "--prediction", "x = 1", "--gold", "assert x == 1", "--json"]
    assert main(call) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["official"], found["strict"]) == (None, None)
    assert "--allow-programs" in json.dumps(found)
    for option in ("--allow-programs", "--allow_programs"):
        assert main([*call, option]) == 0
        assert json.loads(capsys.readouterr().out)["official"] == 1


def test_check_of_an_instance(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One instance of a submission."""
    call = ["check", "unit", "--result_dir", str(place / "sub"), "--gold_dir", "gold", "--json"]
    assert main(call) == 0
    assert json.loads(capsys.readouterr().out)["fault"] == "NO_JAIL"
    assert main([*call, "--allow-programs"]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == 1


def test_suites(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`suite run` exits 4 and names the option where a candidate was not run; `TestSuite.run` takes the permission as a keyword."""
    import evalsuite

    (place / "cases.csv").write_text("input,reference_output\nset x,assert x == 1\n")
    (place / "made.csv").write_text("candidate_output\nx = 1\n")
    assert main(["suite", "create", "tests", "--from", "cases.csv", "--scorer", "python_unit_testing"]) == 0
    assert main(["suite", "run", "tests", "one", "--from", "made.csv"]) == 4
    assert "--allow-programs" in capsys.readouterr().out
    assert main(["suite", "run", "tests", "two", "--from", "made.csv", "--allow-programs"]) == 0
    suite = evalsuite.TestSuite("tests")
    assert suite.run("three", candidate_output_list=["x = 1"]).scores == [None]
    assert suite.run("four", candidate_output_list=["x = 1"], allow_programs=True).scores == [1]
    # Here and not above: a run in this process would not notice.
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    assert evalsuite.score("python_unit_testing", "x = 1", gold="assert x == 1").official is None


def test_from_python(place: Path) -> None:
    """`evaluate(..., allow_programs=True)` is the same as the option."""
    import evalsuite

    plain = evalsuite.evaluate(place / "sub", place / "gold", save=False, jobs=1, isolation="none")
    assert {r.instance_id for r in plain.results if r.fault == "NO_JAIL"} == set(PROGRAMS)
    allowed = evalsuite.evaluate(place / "sub", place / "gold", save=False, jobs=1, isolation="none", allow_programs=True)
    assert allowed.summary.score == 1


def test_behind_other_walls_there_is_no_jail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leaf of a tree that is judged by a program's tests: its worker can build no jail, so nobody judges it, and it is no 0."""
    monkeypatch.chdir(tmp_path)
    parameters = {"gold": {"code": "assert x == 1"}, "schema": {"code": "string"}, "types_metrics": {"string": "python_unit_testing"}}
    write_lines(tmp_path / "gold" / "x_eval.jsonl", {"instance_id": "tree", "evaluation": {"func": "tree_score", "parameters": parameters}})
    row = {"instance_id": "tree", "answer_type": "answer", "answer_or_path": '{"code": "x = 1"}'}
    write_lines(tmp_path / "sub" / "results_metadata.jsonl", row)
    for place, options in (("plain", []), ("allowed", ["--allow-programs"]), ("walls", ["--allow-programs", "--isolation", "none"])):
        main(["run", "sub", "-q", "--no-cache", "--jobs", "1", "--out", place, *options])
    plain, allowed, trusted = (rows_of(tmp_path / place)["tree"] for place in ("plain", "allowed", "walls"))
    assert [(row["status"], row["fault"]) for row in (plain, allowed)] == [("unscored", "NO_JAIL")] * 2
    assert "--allow-programs" in plain["reason"]
    assert "--allow-programs needs --isolation none" in allowed["reason"]
    assert trusted["score"] == 1
