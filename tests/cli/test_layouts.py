"""`--layout`, `--mode`, `--reference-files` and `gold convert` as a person uses them, on gold of Spider 2.0 Lite and Snow."""

import csv
import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.cli.test_run import called, lacks, said
from tests.gold.layouts import CITIES, gold_folder, submission_folder

pytestmark = pytest.mark.usefixtures("shared_fork_server")

ANSWERS = {"bq001.csv": CITIES, "sf_bq002.csv": "x\nnone\n", "local003.csv": CITIES, "other.csv": CITIES}
ENTRIES: dict[str, dict[str, object]] = {"local003": {}, "bq001": {}, "sf_bq002": {}, "ga004": {}}
TABLES = {"bq001.csv": CITIES, "sf_bq002_a.csv": CITIES, "local003.csv": CITIES, "ga004.csv": CITIES}
RUN = ["run", "sub", "--gold", "gold", "--isolation", "none", "--no-cache"]


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold in the layout of Lite, a submission for it, and an empty working directory around them."""
    monkeypatch.chdir(tmp_path)
    gold_folder(tmp_path / "gold", ENTRIES, TABLES)
    submission_folder(tmp_path / "sub", ANSWERS)


def test_strict_rules_have_no_reference() -> None:
    """Strict is one and the same in every layout."""
    out = said(*RUN, "--no-save", "--rules", "strict")
    assert "layout lite) · sub (3 submitted) · rules strict" in out
    assert "|rules:strict|" in out.replace("evalsuite:0.2.0|", "|")


def test_queries_are_refused_without_a_connection(tmp_path: Path) -> None:
    """A folder of queries is read as such, told apart by --mode where tables lie beside them, and no query is run."""
    (tmp_path / "sub" / "bq001.sql").write_text("select 1")
    assert "both .csv and .sql" in said(*RUN, "--no-save", code=2)
    out = said(*RUN, "--no-save", "--mode", "sql")
    assert not lacks(out, "sub (1 submitted)", "SQL_NOT_ALLOWED")


def test_reference_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On request the right ids stand beside the submission as the reference writes them, and its log in the working directory."""
    assert main([*RUN, "--no-save", "--quiet"]) == 0
    assert not Path("sub-ids.csv").exists()
    assert main([*RUN, "--no-save", "--reference-files"]) == 0
    assert capsys.readouterr().err.splitlines() == [f"wrote {tmp_path / 'sub-ids.csv'}", "wrote log.txt"]
    with Path("sub-ids.csv").open(newline="") as handle:
        assert [row["instance_id"] for row in csv.DictReader(handle)] == ["sf_bq001", "sf_local003"]
    *reasons, scores, final, real = Path("log.txt").read_text().splitlines()
    assert len(reasons) == 1
    assert reasons[0].startswith("sf_bq002: ")
    assert scores == "{'bq001': 1, 'local003': 1, 'sf_bq002': 0}"
    assert final == f"Final score: {2 / 3}, Correct examples: 2, Total examples: 3"
    assert real == "Real score: 0.5, Correct examples: 2, Total examples: 4"
    assert main([*RUN, "--no-save", "--reference-files", "--layout", "snow"]) == 0
    assert Path("sub.csv").read_text() == "output\nbq001\nlocal003\n"


def test_check_and_validate() -> None:
    """One instance and a look at what is to be handed in work on the same folders."""
    out = said("check sf_bq002 --result_dir sub --gold_dir gold")
    assert not lacks(out, "sf_bq002.csv", "reference=lite")
    out = said("validate sub --gold gold", code=1)
    assert not lacks(out, "other.csv: other: UNKNOWN_ID", "ga004: MISSING_INSTANCE", "3 of 4 answers (3 file), 3 ready")
    check = "check sf_bq002 --result_dir sub --gold_dir gold"
    for words in ("validate sub --gold gold", check):
        refused = called(*f"{words} --mode sql".split(), cwd=Path())
        assert (refused.returncode, "3 ready" in refused.stdout, "sf_bq002.csv" in refused.stdout) == (2, False, False)
    assert "reference=snow" in said(f"{check} --layout snow")
    Path("sub/other.csv").unlink()
    assert main(["validate", "sub", "--layout", "lite"]) == 0
    assert not lacks(said("validate sub"), "no results_metadata.jsonl: read as a folder of <id>.csv", "3 answers (3 file), 3 ready")
    Path("sub/folder").mkdir()
    assert not lacks(said("validate sub", code=2), "no results_metadata.jsonl in sub")


@pytest.mark.parametrize("rules", ["official", "strict"])
def test_a_receipt_without_gold_is_about_the_files(rules: str) -> None:
    """Who has no gold finds out whether a receipt is about these files: its rules name the layout, or the files show it."""
    said(*RUN, "--out", "one", "--rules", rules)
    saved = json.loads(Path("one/run.json").read_text())
    names = {"submission": "sub", "seal": "", "signature": saved["signature"], "root": saved["root"]}

    def verified(code: int, **more: object) -> str:
        Path("r.json").write_text(json.dumps({**names, "n_instances": 4, "submission_hash": saved["submission"]["hash"], **more}))
        return said("runs verify r.json --result-dir sub", code=code)

    assert "files not verified: they differ, or some answer instances that gold does not have" in verified(4)
    Path("sub/other.csv").unlink()
    assert "sub is what was submitted" in verified(4)
    Path("sub/bq001.csv").write_text("x")
    assert "files not verified" in verified(4, n_other=1)
    assert "files not verified" in verified(4, n_other=0, signature=f"{saved['signature']}|limits:cells=9")
    assert "sub is not what was submitted" in verified(1, n_other=0)


def test_explain_finds_the_files() -> None:
    """The explanation of a wrong answer opens both sides where their layout puts them."""
    Path("sub/bq001.csv").write_text("city,n\nOslo,1\nRome,3\n")
    out = said("explain bq001 --result_dir sub --gold gold")
    assert not lacks(out, "sub/bq001.csv", "gold/exec_result/bq001.csv")


def test_gold_commands() -> None:
    """Gold answers its own questions, and lint does not take the folder of tables for a stray one."""
    assert "gold scores 4/4 under official, 4/4 under strict" in said("gold check gold --isolation none --no-save")
    assert "stray" not in said("gold lint gold")


def test_convert() -> None:
    """The converted folder is gold in the original layout, and a second try does not write over it."""
    assert said("gold convert gold --out plain") == "4 instances and 4 files, read as lite, written to plain\n"
    assert "gold scores 4/4 under official, 4/4 under strict" in said("gold check plain --isolation none --no-save")
    assert "not an empty folder" in said("gold convert gold --out plain", code=2)
    assert "read as snow, written to cold" in said("gold convert gold --out cold --layout snow")


def test_leaderboard_and_rescore() -> None:
    """Folders of answer files are ranked, a changed one is scored anew, and a saved run can be scored again."""
    submission_folder(Path("subs/a"), {"bq001.csv": CITIES})
    submission_folder(Path("subs/b"), {"bq001.csv": CITIES, "ga004.csv": CITIES})
    board = ["leaderboard", "subs", "--gold", "gold", "--isolation", "none", "--json"]
    first = said(*board)
    Path("subs/a/ga004.csv").write_text(CITIES)
    Path("subs/a/local003.csv").write_text(CITIES)
    assert said(*board) != first
    assert main([*RUN, "--out", ".evalsuite/runs/one"]) == 0
    assert "done: 50.0 %, 0 of 4 verdicts changed" in said("rescore one --isolation none")
    (again,) = Path(".evalsuite/runs").glob("*-one")
    assert "|rules:official-lite|" in json.loads((again / "run.json").read_text())["signature"]
