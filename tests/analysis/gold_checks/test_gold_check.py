"""`gold check` scores gold as its own answer by the pipeline of runs."""

import json
import shutil
from pathlib import Path

import pytest

from evalsuite.analysis.gold_checks.readiness import GoldCheck, check_gold, needs_of
from evalsuite.runs.history import GoldSelfScore, load_self_score, save_self_score, signature_of
from evalsuite.sql import ENGINES
from tests.analysis.gold_checks.gold_folders import clean, entry
from tests.conftest import ROOT, corpus, is_default_corpus

pytestmark = pytest.mark.usefixtures("shared_fork_server")

UNSATISFIABLE = {"sf_bq036", "sf_bq166", "made_duckdb_types_list", "made_duckdb_quoted_name"}


def lowering(found: GoldCheck, rule: str) -> set[str]:
    """The instances that gold's own answer does not reach under a rule."""
    return {one.instance_id for one in found.unsatisfied if rule in one.rules and rule not in one.reached}


def test_clean_gold_reaches_everything(tmp_path: Path) -> None:
    """Every kind of check takes its own gold under both rules: texts, numbers, tables, alternatives, databases, trees."""
    found = check_gold(clean().write(tmp_path))
    assert (found.ceiling.n, found.ceiling.official, found.ceiling.strict) == (7, 7, 7)
    assert (found.unsatisfied, found.untried, found.n_checks) == ((), (), 7)


def part_of(gold: Path, folder: Path, step: int) -> Path:
    """The folder with every so manieth instance of a gold, and those that cannot be satisfied."""
    lines = (gold / "spider2_eval.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = {json.loads(line)["instance_id"]: line for line in lines}
    kept = {name: line for at, (name, line) in enumerate(kept.items()) if at % step == 0 or name in UNSATISFIABLE}
    for name in kept:
        if (gold / name).is_dir():
            shutil.copytree(gold / name, folder / name)
    (folder / "spider2_eval.jsonl").write_text("".join(kept.values()), encoding="utf-8")
    return folder


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_recorded_gold_has_the_known_ceiling(step: int, tmp_path: Path) -> None:
    """579 of 583 under official and all under strict; exactly the known golds cannot be satisfied; in the line of every twelfth."""
    whole = corpus("spider2") / "gold"
    gold = whole if step == 1 else part_of(whole, tmp_path / "gold", step)
    found = check_gold(gold, isolation="none", jobs=1)
    if not is_default_corpus():
        assert found.ceiling.n > 0
        return
    names = [json.loads(line)["instance_id"] for line in (gold / "spider2_eval.jsonl").read_text(encoding="utf-8").splitlines()]
    n = len(names)
    assert n >= 583 // step
    assert found.ceiling.words() == f"gold scores {n - 4}/{n} under official, {n}/{n} under strict"
    assert lowering(found, "official") == set(found.ceiling.unsatisfied) == UNSATISFIABLE
    assert lowering(found, "strict") == set()
    places = {one.instance_id: one.where for one in found.unsatisfied}
    assert places["sf_bq036"] == f"gold/spider2_eval.jsonl:{names.index('sf_bq036') + 1}"


def test_the_example_is_reached_but_for_what_it_shows() -> None:
    """Two golds of the example show what official cannot see: a sign, and NULL in a column of integers."""
    found = check_gold(ROOT / "gold", isolation="none", jobs=1)
    assert set(found.ceiling.unsatisfied) == {"ops_002", "geo_005"}
    assert found.ceiling.strict == found.ceiling.n == 40


def test_what_gold_cannot_do(tmp_path: Path) -> None:
    """An exclusion that kills its gold, a file that is not there, both alternatives where both are needed, any where one is."""
    made = clean()
    made.parameters("t1").update(gold=["Portugal", "Spain"], exclude=["Port"])
    made.parameters("n1").update(gold=[5, 0.00001], conj="and")
    del made.files["c1/cities.csv"]
    del made.files["c2/a.csv"]
    made.parameters("r1")["gold"] = "records.json"
    found = check_gold(made.write(tmp_path), isolation="none", jobs=1)
    assert lowering(found, "official") == lowering(found, "strict") == {"c1", "r1"}
    reasons = {one.instance_id: (one.code, one.reason) for one in found.unsatisfied}
    assert reasons["c1"] == ("MISSING_FILE", "the file is not there")
    assert reasons["r1"][0] == "BAD_GOLD_FILE"


def test_a_text_that_no_answer_can_pass(tmp_path: Path) -> None:
    """Where every alternative is excluded the instance is out of reach under both rules."""
    made = clean()
    made.parameters("t1").update(gold="New York", exclude=["York"])
    found = check_gold(made.write(tmp_path), isolation="none", jobs=1)
    assert [(one.instance_id, one.rules) for one in found.unsatisfied] == [("t1", ("official", "strict"))]


def test_a_second_check_that_refuses_its_gold_does_not_lower_the_ceiling(tmp_path: Path) -> None:
    """Gold's own answer to an instance is its file; a text check beside it that fails is named and counted apart."""
    made = clean()
    made.entries["c1"]["evaluation"] = [made.evaluation("c1"), {"func": "number_match", "parameters": {"gold": -5}}]
    found = check_gold(made.write(tmp_path), isolation="none", jobs=1)
    assert found.ceiling.official == 7
    assert [(one.scorer, one.rules, one.lowers) for one in found.unsatisfied] == [("number_match", ("official",), False)]


def test_what_is_not_tried_is_said(tmp_path: Path) -> None:
    """A judge is not asked, tests are no program, and a metric without gold has no answer of its own."""
    made = clean()
    made.entries["j1"] = entry("j1", "llm_judge", "Why?", gold="because")
    made.entries["p1"] = entry("p1", "python_unit_testing", "Write add.", gold="assert add(1, 2) == 3")
    made.entries["w1"] = entry("w1", "readability", "Write simply.", scale=[0, 100])
    found = check_gold(made.write(tmp_path), isolation="none", jobs=1)
    assert {one.instance_id: one.reason for one in found.untried} == {
        "j1": "needs a judge",
        "p1": "gold is a test, not an answer",
        "w1": "has no gold",
    }
    assert (found.ceiling.n, found.ceiling.n_untried) == (7, 3)


def test_the_ceiling_is_kept_by_hash_and_version(tmp_path: Path) -> None:
    """It is found again for the same gold, not for another one, not by another version, and not where the file is broken."""
    ceiling = GoldSelfScore(
        gold_hash="abc", name="made", n=3, n_untried=0, official=2, strict=3, unsatisfied=("x",), made_by=signature_of("abc")
    )
    path = save_self_score(ceiling, [], tmp_path)
    assert load_self_score("abc", tmp_path) == ceiling
    assert load_self_score("abd", tmp_path) is None
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "made_by": "evalsuite:0.0"}))
    assert load_self_score("abc", tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"gold_hash": 1, "unsatisfied": []}', '{"unsatisfied": 3}'])
def test_a_broken_ceiling_is_none(tmp_path: Path, text: str) -> None:
    """A file nobody can read is as good as none."""
    (tmp_path / "abc.json").write_text(text)
    assert load_self_score("abc", tmp_path) is None


def test_what_this_machine_lacks_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal needs of several instances are one, the need of most comes first; and gold is checked as far as it can be."""
    import duckdb

    monkeypatch.setattr(type(ENGINES["postgres"]), "has_client", property(lambda engine: not engine.client))
    made, bases = clean(), {"shop": "duckdb", "away": "postgres", "gone": "sqlite", "broken": "sqlite", "parts": "duckdb"}
    made.suite = f"name: made\nconnections: {json.dumps({name: {'engine': of, 'database': f'{name}.db'} for name, of in bases.items()})}\n"
    made.parameters("t1")["goldd"] = "x"
    made.entries |= {name: entry(name, "llm_judge", "Why?", gold="x") for name in ("j1", "j2")}
    for name in (*bases, "nobody"):
        made.entries[name] = {**entry(name, "table_match", "", gold="g.csv"), "connection": name}
        made.files[f"{name}/g.csv"] = "a\n1\n"
    made.entries["q"] = entry("q", "table_match", "", gold="gold.sql")
    made.files |= {"q/gold.sql": "SELECT 1", "base/broken.db": "no" * 600, "base/parts.db/x.csv": "a\n1\n"}
    folder = made.write(tmp_path)
    duckdb.connect(str(folder / "base/shop.db")).close()
    found = needs_of(folder, databases=folder / "base")[1]
    assert [(need.what, need.instances, need.only_queries) for need in found] == [
        ("no judge is configured", ("j1", "j2"), False),
        ("unknown parameter 'goldd' of string_match", ("t1",), False),
        ("postgres needs its client library", ("away",), True),
        ("connection '<id>': no gold/<id>.db", ("gone",), True),
        ("broken.db is not an SQLite database", ("broken",), True),
        ("no connection '<id>'", ("nobody",), True),
        ("its gold is a query, and no connection is configured for it", ("q",), False),
    ]
    assert all(need.mend for need in found)
    checked = check_gold(folder, isolation="none", jobs=1)
    assert checked.failing_ids == ["t1"]
    told = checked.to_json()
    assert {key: told[key] for key in ("n_instances", "n_checks", "n_tried", "official", "strict", "below", "by_the_day")} == {
        **{"n_instances": 16, "n_checks": 16, "n_tried": 13, "official": 12, "strict": 13, "below": ["t1"], "by_the_day": []}
    }
    (refused,) = told["unsatisfied"]
    assert (refused["rules"], refused["code"], refused["reached"]) == (("official",), "BAD_SPEC", ())
    assert [one["reason"] for one in told["untried"]] == ["needs a judge"] * 2 + ["gold.sql has no connection to run through"]
