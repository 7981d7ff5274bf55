"""Every planted fault is found under its code, and clean gold gives no finding."""

import json
import shutil
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evalsuite.analysis.gold_checks.lint import CODES, diff, lint, ways_wider, write
from evalsuite.core.errors import GoldError
from evalsuite.core.types import Check
from tests.analysis.gold_checks.gold_folders import CITIES, Made, clean
from tests.analysis.gold_checks.lint_plants import PLANTED, Plant
from tests.conftest import ROOT, corpus, is_default_corpus

TODAY = date.today().toordinal()
pytestmark = pytest.mark.usefixtures("shared_fork_server")


def test_clean_gold_gives_nothing(tmp_path: Path) -> None:
    """Gold without a fault: not even a note. Where the example is broken on purpose it says so itself (`lint_ignore`): no alarm."""
    assert lint(clean().write(tmp_path)).findings == ()
    found = lint(ROOT / "gold")
    assert [(one.code, one.instance_id) for one in found.findings if one.severity != "note"] == []


def said(folder: Path) -> list[str]:
    """The findings of a gold folder, each with all that it says."""
    found = (one.to_json().values() for one in lint(folder).findings)
    return [" | ".join(str(part) for part in one if part not in ("", False)).replace(str(folder), "gold") for one in found]


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """By name what was recorded of planted faults; rows without a name change the made gold themselves."""
    rows = map(json.loads, (ROOT / "tests/data/values/lint.jsonl").read_text(encoding="utf-8").splitlines())
    return {row.get("name") or f"row {at}": row for at, row in enumerate(rows)}


@pytest.mark.parametrize(("name", "plant", "code"), PLANTED, ids=[name for name, _, _ in PLANTED])
def test_a_planted_fault_is_found(tmp_path: Path, name: str, plant: Plant, code: str) -> None:
    """The fault is found under its code, at a place in the folder, in the recorded words, and nothing else is."""
    made = clean()
    plant(made)
    found = said(made.write(tmp_path))
    assert any(one.startswith(f"{code} | ") for one in found)
    assert found == recorded()[name]["found"]


def changed(row: dict[str, Any]) -> Made:
    """The made gold as a recorded row changes it; a parameter without a value is taken out."""
    made = clean()
    for id_, func in row.get("func", {}).items():
        made.evaluation(id_)["func"] = func
    for id_ in row.keys() & made.entries.keys():
        made.evaluation(id_)["parameters"] = {
            key: value for key, value in {**made.parameters(id_), **row[id_]}.items() if value is not None
        }
    for id_, question in row.get("question", {}).items():
        made.entries[id_]["instruction"] = question
    made.files |= {"c1/cities.csv": row.get("cities") or CITIES, **row.get("files", {})}
    made.more_lines, made.suite, made.database = row.get("lines", []), row.get("suite", made.suite), row.get("database", made.database)
    return made


@pytest.mark.parametrize("part", range(8))
def test_each_limit_is_where_it_is_said_to_be(tmp_path: Path, part: int) -> None:
    """Values on both sides of each limit give the recorded findings, and none else."""
    for name, row in list(recorded().items())[part::8]:
        if "name" not in row:
            (tmp_path / name).mkdir()
            assert said(changed(row).write(tmp_path / name)) == row["found"], row


def test_every_code_is_planted() -> None:
    """No code without a planted fault, and at least forty kinds of them."""
    assert {code for _, _, code in PLANTED} == set(CODES)
    assert len({code for _, _, code in PLANTED}) >= 40


@pytest.mark.parametrize("step", [48, pytest.param(1, marks=pytest.mark.slow)])
def test_recorded_gold(step: int, tmp_path: Path) -> None:
    """On the recorded gold the errors are the known ones; in the line on those instances and every 48th other one, others each day."""
    recorded = corpus("spider2") / "gold"
    gold = tmp_path / "gold"
    known = {("column-out-of-range", "sf_bq166"), ("unknown-parameter", "sf_bq036"), ("quoted-name", "made_duckdb_quoted_name")}
    if is_default_corpus():
        known.add(("ragged-row", "bq202"))
    kept = {id_ for _, id_ in known} | {"sf_bq213"}
    (spec,) = recorded.glob("*_eval.jsonl")
    lines = [
        line for i, line in enumerate(spec.read_text().splitlines()) if (i + TODAY) % step == 0 or json.loads(line)["instance_id"] in kept
    ]
    names = {json.loads(line)["instance_id"] for line in lines}
    unwanted = {path.name for path in recorded.iterdir() if path.is_dir()} - names | {spec.name}
    shutil.copytree(recorded, gold, ignore=lambda folder, _: unwanted if Path(folder) == recorded else ())
    gold.chmod(0o755)  # the recorded cases may be read-only
    (gold / spec.name).write_text("".join(f"{line}\n" for line in lines))
    found = {(one.code, one.severity, one.instance_id) for one in lint(gold).findings}
    errors = {(code, id_) for code, severity, id_ in found if severity == "error"}
    if is_default_corpus():
        assert errors == known
        assert ("misplaced-key", "sf_bq213") in {(code, id_) for code, _, id_ in found}
    else:
        assert {entry for entry in known if entry[1] in names} <= errors


def test_one_broken_line_does_not_hide_the_others(tmp_path: Path) -> None:
    """Three broken entries are three findings, and the sound ones are still looked at."""
    made = clean()
    made.more_lines = ["{", '{"instance_id": "y"}', '{"instance_id": "z", "evaluation": {"func": "no_match"}}']
    made.parameters("t1")["gold"] = "7"
    codes = [one.code for one in lint(made.write(tmp_path)).findings]
    assert sorted(codes) == ["bad-entry", "short-gold", "unknown-scorer", "unreadable-line"]


def test_findings_can_be_told_to_keep_quiet(tmp_path: Path) -> None:
    """`lint_ignore` beside evaluation silences a code there, `ignore` everywhere; both are counted."""
    made = clean()
    made.parameters("t1")["gold"] = "7"
    made.entries["t1"]["lint_ignore"] = ["short-gold"]
    made.parameters("n1")["gold"] = -1
    found = lint(made.write(tmp_path), ignore=["negative-number"])
    assert (found.findings, found.n_ignored) == ((), 2)


def test_a_folder_without_a_spec_is_an_error(tmp_path: Path) -> None:
    """There is nothing to lint; nor is there in a spec that is larger than the limit of the suite."""
    with pytest.raises(GoldError):
        lint(tmp_path)
    made = clean()
    made.suite = "name: made\nlimits: {metadata_bytes: 100}\n"
    with pytest.raises(GoldError, match=r"TOO_LARGE: .* the limit is 100"):
        lint(made.write(tmp_path))


def test_safe_repairs_are_a_diff_and_can_be_applied(tmp_path: Path) -> None:
    """The diff changes the planted lines only; applied, nothing fixable is left and a second diff is empty."""
    made = clean()
    made.parameters("c1").pop("ignore_order")
    made.parameters("c1")["ignore_ordr"] = True
    made.parameters("t1").update(gold=["Portugal ", "Portugal"], exclude="Spain", pred="x")
    made.parameters("c2")["condition_cols"] = [0]
    made.entries["n1"]["evaluation"] = [{"func": "number_match", "parameters": {"gold": 5}, "precision": 2}]
    gold = made.write(tmp_path)
    before = (gold / "made_eval.jsonl").read_text().splitlines()
    shown = diff(lint(gold))
    changed = [line for line in shown.splitlines() if line.startswith(("-{", "+{"))]
    assert len(changed) == 8
    assert (gold / "made_eval.jsonl").read_text().splitlines() == before
    assert write(lint(gold)) == 7
    after = (gold / "made_eval.jsonl").read_text().splitlines()
    assert [line for line in changed if line[0] == "+"] == ["+" + line for line, old in zip(after, before, strict=True) if line != old]
    assert diff(lint(gold)) == ""
    assert '"exclude": ["Spain"]' in after[0]
    assert '"gold": ["Portugal"]' in after[0]
    assert {one.code for one in lint(gold).findings} == set()


def test_a_line_in_an_own_style_is_left_alone(tmp_path: Path) -> None:
    """A line that JSON would not write like this gets no repair: the diff would show more than the repair."""
    made = clean()
    made.more_lines = ['{"instance_id":  "z", "evaluation": {"func": "string_match", "parameters": {"gold": ["Lisbon "]}}}']
    gold = made.write(tmp_path)
    found = lint(gold)
    assert [one.code for one in found.findings] == ["padded-gold"]
    assert diff(found) == ""


@pytest.mark.parametrize(
    ("scorer", "before", "after", "ways"),
    [
        ("string_match", {"exclude": ["a", "b"]}, {"exclude": ["c"]}, ["exclude"]),
        ("string_match", {"exclude": ["a"]}, {"exclude": ["b"]}, []),
        ("string_match", {"exclude": ["a"]}, {"exclude": ["a", "b"]}, []),
        ("string_match", {"gold": "a"}, {"gold": ["a", "b"]}, ["gold"]),
        ("string_match", {"gold": ["a", "b"]}, {"gold": ["b", "c", "d"]}, []),
        ("string_match", {"gold": ["a", "b"]}, {"gold": ["b", "a"]}, []),
        ("table_match", {"condition_cols": [0, 1]}, {"condition_cols": [0]}, ["condition_cols"]),
        ("table_match", {"condition_cols": [0]}, {"condition_cols": [1]}, []),
        ("table_match", {"condition_cols": [0]}, {"condition_cols": []}, []),
        ("table_match", {}, {"condition_cols": [1, 2, 3]}, ["condition_cols"]),
        ("table_match", {"order_by": [0, 1]}, {"order_by": [1]}, ["order_by"]),
        ("table_match", {"ignore_order": False}, {"ignore_order": [False, True]}, ["ignore_order"]),
        ("table_match", {"ignore_order": [True, True]}, {"ignore_order": True}, []),
        ("number_match", {"rel_tol": 0.1, "precision": 3}, {"rel_tol": 0.2, "precision": 2}, ["precision", "rel_tol"]),
        ("number_match", {"rel_tol": 0.2, "precision": 2}, {"rel_tol": 0.1, "precision": 3}, []),
    ],
)
def test_which_parameters_accept_more(scorer: str, before: dict[str, Any], after: dict[str, Any], ways: list[str]) -> None:
    """A larger tolerance, more golds beside those there were, fewer columns and words that count; another one in its place is not more."""
    checks = [Check(scorer=scorer, parameters=parameters, where="") for parameters in (before, after)]
    assert [way.partition(" ")[0] for way in ways_wider(checks[0], checks[1])] == ways
    assert list(ways_wider(checks[0], Check(scorer="f1", parameters=after, where=""))) == []
