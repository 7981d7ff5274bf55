"""`evalsuite gold`: check, lint and contamination as a person runs them."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

from evalsuite.analysis.gold_checks.lint import REFUSING, lint
from evalsuite.analysis.gold_checks.readiness import check_gold
from evalsuite.cli import main
from evalsuite.core.errors import GoldError
from evalsuite.readers.gold_files import gold_hash
from evalsuite.runs.history import load_self_score
from tests.analysis.gold_checks.gold_folders import Made, clean
from tests.analysis.gold_checks.lint_plants import PLANTED, Plant
from tests.cli.test_run import as_json, lacks, said
from tests.conftest import ROOT
from tests.processes import finished

pytestmark = pytest.mark.usefixtures("shared_fork_server")

QUESTION = "In which country was the first store abroad opened?"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Clean gold, and an empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return clean()


def only(made: Made, *ids: str) -> None:
    """Leave these instances alone in the made gold."""
    made.entries = {id_: made.entries[id_] for id_ in ids}
    made.files = {name: content for name, content in made.files.items() if name.partition("/")[0] in ids}
    made.suite, made.database = "name: made\n", made.database if "d1" in ids else []


def test_check_prints_and_keeps_the_ceiling(made: Made, tmp_path: Path) -> None:
    """The last lines say what gold scores and where that is kept, and reports can look it up by gold's hash.

    With --json it is one object; --no-save keeps nothing; below the gate the exit code is 1.
    """
    made.parameters("n1")["gold"] = -5
    only(made, "t1", "n1", "c1")
    gold = made.write(tmp_path)
    shown = as_json("gold check gold --isolation none --no-save --fail-under 0.7", code=1)
    assert (shown["official"], shown["strict"], shown["n_tried"]) == (2, 3, 3)
    assert shown["unsatisfied"][0]["rules"] == ["official"]
    assert not (tmp_path / ".evalsuite").exists()
    assert main(["gold", "check", "gold", "--isolation", "none", "--no-save", "--fail-under", "0.6"]) == 0
    out = said("gold check gold --isolation none", code=1)
    assert "gold/made_eval.jsonl:2: n1: number_match, official: no number within" in out
    assert out.endswith("\nfailed: no full marks under its own rules: n1 (exit 1)\n")
    assert "gold scores 2/3 under official, 3/3 under strict" in out
    kept = load_self_score(gold_hash(gold))
    assert kept is not None
    assert (kept.official, kept.strict, kept.unsatisfied) == (2, 3, ("n1",))


def test_errata_answer_for_gold_while_they_are_applied(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An applied entry is enough, an expired or stale one is not."""
    made.parameters("n1")["gold"] = -5
    only(made, "n1")
    made.write(tmp_path)
    check = ["gold", "check", "gold", "--isolation", "none", "--no-save"]
    assert main(["gold", "errata", "gold", "--entry", "n1"]) == 0
    signed = "author: M. Rossi\n  reason: a loss\n  evidence: https://example.org/1"
    entry = capsys.readouterr().out.replace("author:\n  reason:\n  evidence: https://", signed)
    errata = tmp_path / "gold" / "gold.errata.yaml"
    errata.write_text(entry)
    assert "   n1: gold/gold.errata.yaml:1\n" in said(*check)
    errata.write_text(re.sub("expires: .*", "expires: 2020-01-01", entry))
    assert main(check) == 1
    errata.write_text(re.sub("gold: .*", 'gold: "0123456789ab"', entry))
    assert main(check) == 1


def test_the_examples_gold_is_green() -> None:
    """The project's own gold answers for the three instances that show what is wrong on purpose."""
    assert main(["gold", "check", str(ROOT / "gold"), "--isolation", "none", "--no-save"]) == 0


def test_check_computes_gold_that_is_a_query(made: Made, tmp_path: Path) -> None:
    """With a connection the query's result is handed in; without one it is not tried; a query that fails or is gone fails."""
    (tmp_path / "db").mkdir()
    with sqlite3.connect(tmp_path / "db" / "shop.sqlite") as database:
        database.execute("CREATE TABLE sales AS SELECT 7.5 AS amount")
    database.close()
    only(made, "t1")
    for id_, func in (("l1", "number_match"), ("l2", "table_match")):
        made.entries[id_] = {"instance_id": id_, "evaluation": {"func": func, "parameters": {}, "temporal": True}}
        made.files[f"{id_}/gold.sql"] = "SELECT sum(amount) AS total FROM sales"
    made.files["connections.yaml"] = "shop: {engine: sqlite, database: shop.sqlite, prefix: l}\n"
    gold = made.write(tmp_path)
    check = ["gold", "check", "gold", "--isolation", "none", "--no-save"]
    out = said(*check)
    assert "gold/made_eval.jsonl:2: l1: number_match: connection 'shop': no gold/shop.sqlite" in out
    assert "gold scores 1/1 under official, 1/1 under strict (2 more not tried)" in out
    assert "done: every gold that was tried gets full marks" in out
    assert "gold scores 3/3 under official, 3/3 under strict\n" in said(*check, "--databases", "db")
    assert main(["gold", "lint", "gold", "--strict"]) == 0
    (gold / "l1" / "gold.sql").write_text("SELECT nothing FROM nowhere")
    (gold / "l2" / "gold.sql").unlink()
    out = said(*check, "--databases", "db", code=1)
    assert not lacks(out, "failed: no full marks under its own rules: l1, l2 (exit 1)", "SQL_ERROR")
    assert "failed: no full marks under its own rules: l2 (exit 1)" in said(*check, code=1)
    assert "missing-file: l2: gold.sql" in said("gold lint gold", code=1)


@pytest.mark.parametrize(("id_", "code"), [("n1", "negative-number"), ("t1", "exclude-text"), ("n1", "percentage-and")])
def test_a_known_trait_of_official_can_be_answered_for(
    id_: str, code: str, made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Gold that official refuses fails until the instance names that finding of lint; another code does not do."""
    next(plant for _, plant, planted in PLANTED if planted == code)(made)
    only(made, id_)
    gold = made.write(tmp_path)
    for codes, end in ((["short-gold", "missing-file"], 1), ([code], 0)):
        made.entries[id_]["lint_ignore"] = codes
        (gold / "made_eval.jsonl").write_text("".join(line + "\n" for line in made.lines()))
        assert main(["gold", "check", "gold", "--isolation", "none", "--no-save", "--json"]) == end
        assert json.loads(capsys.readouterr().out)["below"] == [id_]


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant", [plant for _, plant, code in PLANTED if code != "bad-suite"], ids=[row[0] for row in PLANTED if row[2] != "bad-suite"]
)
def test_whatever_is_refused_has_a_code_to_answer_with(plant: Plant, made: Made, tmp_path: Path) -> None:
    """Wherever gold does not take itself lint finds an error there, or one of the codes that `gold check` lets an instance name."""
    plant(made)
    gold = made.write(tmp_path)
    try:
        below = set(check_gold(gold, isolation="none").below)
    except GoldError:
        return
    named = {found.instance_id for found in lint(gold).findings if found.severity == "error" or found.code in REFUSING}
    assert below <= named


def test_lint_formats_and_exit_codes(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors end with 1, warnings only under --strict; JSON is one object, annotations name a file that is there, line and code."""
    made.parameters("c1")["condition_cols"] = [7]
    made.parameters("t1")["gold"] = "Portugal\x1b[31m "
    made.write(tmp_path)
    out = said("gold lint gold", code=1)
    assert "gold/made_eval.jsonl:3: error column-out-of-range: c1: cities.csv: condition_cols names column 7, but the last one is 2" in out
    assert "\x1b" not in out
    assert out.endswith(", --fix shows a repair of 1 (exit 1)\n")
    shown = json.loads(said("gold lint gold --format json --ignore column-out-of-range"))
    assert shown["counts"]["error"] == 0
    assert shown["n_ignored"] == 1
    assert main(["gold", "lint", "gold", "--ignore", "column-out-of-range", "--strict"]) == 1
    capsys.readouterr()
    main(["gold", "lint", "gold", "--format", "github"])
    first = capsys.readouterr().out.splitlines()
    assert "::error file=gold/made_eval.jsonl,line=3,title=gold lint%3A column-out-of-range::c1: cities.csv" in "\n".join(first)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in first)


def test_the_diff_of_fix_can_be_applied_by_git(made: Made, tmp_path: Path) -> None:
    """What --fix prints is a patch that git takes, and does what --write does."""
    made.parameters("t1")["exclude"] = "Spain"
    gold = made.write(tmp_path)
    patch = said("gold lint gold --fix")
    finished(["git", "apply", "--unsafe-paths", "-"], text=patch, check=True, cwd=tmp_path)
    by_git = (gold / "made_eval.jsonl").read_bytes()
    (gold / "made_eval.jsonl").write_text("".join(line + "\n" for line in made.lines()))
    assert main(["gold", "lint", "gold", "--fix", "--write"]) == 0
    assert (gold / "made_eval.jsonl").read_bytes() == by_git
    assert b'"exclude": ["Spain"]' in by_git


def test_contamination_finds_a_question_and_has_a_gate(made: Made, tmp_path: Path) -> None:
    """The question that stands in a corpus is named with file and line; exit 0, or 1 over the gate."""
    made.write(tmp_path)
    (tmp_path / "corpus.txt").write_text(f"noise\n{QUESTION}\n")
    out = said("gold contamination gold --against corpus.txt")
    assert "100.0 %  t1  instruction" in out
    assert "longest: 9 words at corpus.txt:2: in which country" in out
    assert "1 of 7 instances share n-grams of 13 words" in out
    (found,) = as_json("gold contamination gold --against corpus.txt --fail-over 0.5", code=1)["overlaps"]
    assert (found["instance_id"], found["share"], found["longest"]["line"]) == ("t1", 1.0, 2)
