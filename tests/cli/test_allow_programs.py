"""Without a program sandbox every command reports NO_JAIL, and scores programs with `--allow-programs`."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_run import as_json, check, said, text_submission, write_gold
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")

UNIT = {"func": "python_unit_testing", "parameters": {"gold": "assert x == 1"}}
GOLD: dict[str, Any] = {
    "text": {"func": "string_match", "parameters": {"gold": "Oslo"}},
    "unit": UNIT,
    "pass": {"func": "pass_at_k", "parameters": {"gold": "assert x == 1", "k": 1}},
    "parts": {"func": "composite", "parameters": {"gold": "assert x == 1", "parts": ["python_unit_testing"], "on_missing": "zero"}},
    "named": {"func": "tested", "parameters": {"gold": "assert x == 1"}},
    "either": [UNIT, {"func": "string_match", "parameters": {"gold": "x = 1"}}],
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine of these tests gives programs no jail."""
    monkeypatch.setattr("evalsuite.scorers.metrics.programs.can_sandbox_programs", lambda: False)


PROGRAMS = ["unit", "pass", "parts", "named"]
RUN = "run sub -q --no-cache --jobs 1 --isolation"


@copy_of
def place(folder: Path) -> None:
    """Gold with programs in every shape that a check may have, a submission that is right in all, and one that is wrong."""
    write_gold(folder / "gold", **GOLD)
    (folder / "gold" / "suite.yaml").write_text("name: programs\nscorers: {tested: {composite: {parts: [python_unit_testing]}}}\n")
    for name, program in (("sub", "x = 1"), ("bad", "x = 2")):
        text_submission(folder / name, **(dict.fromkeys(GOLD, program) | {"text": "Oslo"}))


@pytest.fixture
def two(place: Path) -> Path:
    """The place with two of the instances: a text, and a program."""
    write_gold(place / "gold", text=GOLD["text"], unit=GOLD["unit"])
    return place


def rows_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The lines of a run's results by id."""
    return {row["instance_id"]: row for row in map(json.loads, (folder / "results.jsonl").read_text().splitlines())}


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_run(place: Path, isolation: str) -> None:
    """Without permission each program is `unscored` with NO_JAIL, never a 0 and never the submission's fault; the rest is scored."""
    said(f"{RUN} {isolation} --out plain", code=4)
    rows = rows_of(place / "plain")
    for name in PROGRAMS:
        assert (rows[name]["status"], rows[name]["fault"]) == ("unscored", "NO_JAIL"), name
        assert [rows[name][key] for key in ("score", "official", "strict")] == [None] * 3
        assert "--allow-programs" in rows[name]["reason"]
    assert [rows[name]["score"] for name in ("text", "either")] == [1, 1]
    said(f"{RUN} {isolation} --allow-programs --out allowed")
    assert [row["score"] for row in rows_of(place / "allowed").values()] == [1] * len(GOLD)
    plain, allowed = (json.loads((place / name / "run.json").read_text()) for name in ("plain", "allowed"))
    assert "programs:allowed" in allowed["signature"].split("|")
    assert "programs" not in plain["signature"]
    assert (plain["options"].get("allow_programs"), allowed["options"]["allow_programs"]) == (None, True)


def test_permission_is_given_each_time(two: Path) -> None:
    """No cache, finished run or earlier permission gives a call without the option what it did not allow: whoever scores says so."""
    for options, expected in (("", [None, None]), ("--allow_programs", [1, 0]), ("", [None, None])):
        code = 0 if options else 4
        said(f"run sub -q --jobs 1 --isolation none --out again {options}", code=code)
        assert rows_of(two / "again")["unit"]["score"] == expected[0]
        found = as_json(f"leaderboard sub bad --jobs 1 --isolation none {options}", code=code)
        assert all(("programs:allowed" in line) == bool(options) for line in found["signatures"])
        counts = {row["name"]: row["faults"].get("unscored", 0) for row in found["rows"]}
        assert counts == dict.fromkeys(("sub", "bad"), 0 if options else 1)
    said(f"{RUN} none --allow-programs --out allowed")
    for options, unscored in (("", 1), ("--allow-programs", 0)):
        counts = as_json(f"rescore allowed --jobs 1 --isolation none {options}", code=4 if unscored else 0)["summary"]["counts"]
        assert counts["unscored"] == unscored
    compare = "compare allowed sub --jobs 1 --isolation none"
    total = as_json(f"{compare} --allow-programs")["candidates"][0]["total"]
    assert (total["a"], total["b"]) == (1, 1)
    assert "programs" in said(compare, code=2)


@pytest.mark.parametrize("words", ["python_unit_testing", "pass_at_k", "composite --parts '[\"python_unit_testing\"]'"])
def test_check(words: str) -> None:
    """One prediction with one scorer, in both spellings of the option."""
    call = f"check {words} --prediction 'x = 1' --gold 'assert x == 1'"
    found = as_json(call)
    assert (found["official"], found["strict"]) == (None, None)
    assert "--allow-programs" in json.dumps(found)
    for option in ("--allow-programs", "--allow_programs"):
        assert as_json(call, option)["official"] == 1


def test_other_entrances(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One instance, a tree's leaf (whose worker can build no jail: nobody judges it, and it is no 0), `suite run` and `TestSuite.run`."""
    call = "check unit --result_dir sub --gold_dir gold"
    assert as_json(call)["fault"] == "NO_JAIL"
    assert as_json(call, "--allow-programs")["score"] == 1
    parameters = {"gold": {"code": "assert x == 1"}, "schema": {"code": "string"}, "types_metrics": {"string": "python_unit_testing"}}
    write_gold(place / "t", tree=check("tree_score", **parameters))
    text_submission(place / "trees", tree='{"code": "x = 1"}')
    found = {}
    for name, options, code in (("plain", "", 4), ("allowed", "--allow-programs", 4), ("walls", "--allow-programs --isolation none", 0)):
        said(f"run trees --gold t -q --no-cache --jobs 1 --out {name} {options}", code=code)
        found[name] = rows_of(place / name)["tree"]
    assert [(found[name]["status"], found[name]["fault"]) for name in ("plain", "allowed")] == [("unscored", "NO_JAIL")] * 2
    assert "--allow-programs" in found["plain"]["reason"]
    assert "--allow-programs needs --isolation none" in found["allowed"]["reason"]
    assert found["walls"]["score"] == 1
    import evalsuite

    (place / "cases.csv").write_text("input,reference_output\nset x,assert x == 1\n")
    (place / "made.csv").write_text("candidate_output\nx = 1\n")
    said("suite create tests --from cases.csv --scorer python_unit_testing")
    assert "--allow-programs" in said("suite run tests one --from made.csv", code=4)
    said("suite run tests two --from made.csv --allow-programs")
    suite = evalsuite.TestSuite("tests")
    assert suite.run("three", candidate_output_list=["x = 1"]).scores == [None]
    assert suite.run("four", candidate_output_list=["x = 1"], allow_programs=True).scores == [1]
    # Here and not above: a run in this process would not notice.
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    assert evalsuite.score("python_unit_testing", "x = 1", gold="assert x == 1").official is None
