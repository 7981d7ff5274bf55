"""Official and compat verdicts equal what the live references said of made cases: `tests/data/recorded`, in every clone of the project.

`python -m tests.upstream.record` writes these files.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.conformance.recorded import of_each_kind
from tests.conformance.test_treeval import close
from tests.conformance.test_treeval import score as treeval_of
from tests.conformance.test_xeval import differs
from tests.models import results_table
from tests.properties import is_full
from tests.upstream.clone_functions import verdicts
from tests.upstream.queries import make_databases
from tests.upstream.record import N_OF_A_SUITE, PLACES, RECORDED, REFERENCES, SEED, SUITES, make_suite, moved
from tests.upstream.reference_cases import Case, write_cases

pytestmark = pytest.mark.usefixtures("shared_fork_server")
Row = dict[str, Any]


@cache
def recorded(name: str) -> list[Row]:
    """The cases of one reference, with its verdicts."""
    return [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def test_there_are_enough_of_them() -> None:
    """Each reference has cases, 1,500 together, and they stay below 5 MB."""
    assert {path.stem for path in RECORDED.iterdir()} == set(REFERENCES)
    counts = {name: len(recorded(name)) for name in REFERENCES if name != "statistics"}
    assert min(counts.values()) >= 100
    assert sum(counts.values()) >= 1500
    assert sum(path.stat().st_size for path in RECORDED.parent.rglob("*") if path.is_file()) < 5_000_000


@cache
def asked() -> list[Row]:
    """The cases of Spider 2.0's functions that are asked: those that the references score otherwise, and two of each rule.

    Of databases one of each rule: to write and to open them costs most.
    """
    kinds: list[list[Row]] = [[], []]
    for row in recorded("spider2"):
        if is_alike(row):
            kinds[row["function"] == "duckdb_match"].append(row)
    alike = [row for n, own in zip((2, 1), kinds, strict=True) for row in of_each_kind(own, lambda row: (row["function"], row["rule"]), n)]
    return [row for row in recorded("spider2") if not is_alike(row)] + alike


@pytest.fixture(scope="module")
def spider2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gold and submission of the cases that are asked."""
    folder = tmp_path_factory.mktemp("spider2")
    kept = ("id", "function", "rule", "parameters", "gold", "answer")
    write_cases([Case(references=(), **{name: row[name] for name in kept}) for row in asked()], folder)
    return folder


def is_alike(row: Row) -> bool:
    """Whether all references give a case one score."""
    return len(set(row["expected"].values())) == 1


@pytest.mark.parametrize("reference", PLACES)
def test_spider2(reference: str, spider2_folder: Path) -> None:
    """Every score of the functions of one suite is our official one under its rules; both scores occur."""
    own = [row for row in asked() if reference in row["expected"]]
    if reference != "original":
        # What all references score alike was asked of the first one; a part of it is asked of each.
        alike = of_each_kind((row for row in own if is_alike(row)), lambda row: (row["function"], row["rule"]))
        own = [row for row in own if not is_alike(row)] + alike
    theirs = {row["id"]: row["expected"][reference] or 0 for row in own}
    gold = spider2_folder / "gold"
    (gold / "suite.yaml").write_text(f"reference: {reference}\n", encoding="utf-8")
    done = run(spider2_folder / "submission", gold, RunOptions(save=False, isolation="none", only=tuple(theirs)))
    ours = {result.instance_id: result.official or 0 for result in done.results}
    assert {id_: (ours[id_], score) for id_, score in theirs.items() if ours[id_] != score} == {}
    assert set(theirs.values()) == {0, 1}


# What the files of a clone do besides when they are imported: packages that are not here, a log, other streams.
OF_A_CLONE = """
import sys
import cloud_of_nobody.client
from progress_of_nobody import bar
sys.stdout = open("log.txt", "w")
client = cloud_of_nobody.client.Client()

def compare_pandas_table(pred, gold, condition_cols=None, ignore_order=False):
    return _one(pred, gold, condition_cols, ignore_order, "lite")

def compare_multi_pandas_table(pred, multi_gold, multi_condition_cols=None, multi_ignore_order=False):
    return _several(pred, multi_gold, multi_condition_cols, multi_ignore_order, "lite")
"""


@pytest.mark.parametrize("tolerance", ["1e-2", "0.5"])
def test_a_rule_that_moved_is_named(tolerance: str, spider2_folder: Path, tmp_path: Path) -> None:
    """A clone whose functions are our plain model says what was recorded; with a wider tolerance the rule about it differs, and no copy."""
    source = Path(results_table.__file__).read_text(encoding="utf-8")
    assert "abs_tol=1e-2" in source
    (tmp_path / "clone.py").write_text(source.replace("abs_tol=1e-2", f"abs_tol={tolerance}") + OF_A_CLONE, encoding="utf-8")
    own = [row for row in asked() if "lite" in row["expected"]]
    rows = {row["id"]: row | {"expected": row["expected"]["lite"] or 0} for row in own}
    said = [rows[id_] | {"expected": score or 0} for id_, score in verdicts(str(tmp_path / "clone.py"), str(spider2_folder), list(rows))]
    found = moved(rows.values(), said)
    assert len(said) == len(rows)
    assert any(line.startswith("table_match, numbers within 0.01: ") for line in found) == (tolerance == "0.5")
    assert not any("a copy" in line for line in found)
    assert found == [] or tolerance == "0.5"


@pytest.mark.parametrize("name", SUITES)
def test_suites(name: str, tmp_path: Path) -> None:
    """Every score that a suite's own program gave is our official one; an answer whose path leaves its folder we refuse."""
    gold, submission = make_suite(name, tmp_path)
    layout, _, queries = name.partition(", ")
    if layout == "dbt":
        (gold / "suite.yaml").write_text("reference: dbt\n", encoding="utf-8")
    places = {"databases": tmp_path / "databases", "mode": "sql"} if queries else {}
    rows = of_each_kind((row for row in recorded("suites") if row["suite"] == name), lambda row: row["expected"], 15)
    only = tuple(row["id"] for row in rows)
    results = run(submission, gold, RunOptions(save=False, isolation="none", only=only, **places)).results
    ours = {result.instance_id: result.official or 0 for result in results if result.fault != "BAD_PATH"}
    theirs = {row["id"]: row["expected"] for row in rows if row["id"] in ours}
    assert ours == theirs
    assert len(theirs) >= 0.8 * (N_OF_A_SUITE if is_full() else 30)
    assert set(theirs.values()) == {0, 1}


def test_treeval() -> None:
    """Results, rates, score and means per metric of every batch, of which none raised."""
    differing = []
    for case in recorded("treeval"):
        found, want = treeval_of(case, compat=True), case["expected"]
        is_close = close({**found.tree, **found.summary}, want["results"]) and close(found.per_metric, want["per_metric"])
        if not is_close or found.reference_raises:
            differing.append(case["id"])
    assert differing == []


def test_xeval() -> None:
    """Records, means, totals and fields of every run, or its error."""
    assert {case["id"]: text for case in recorded("xeval") if (text := differs(case))} == {}


@pytest.mark.parametrize("name", ["bird", "test-suite"])
def test_queries(name: str, tmp_path: Path) -> None:
    """Every pair of queries, handed in as each evaluator takes them; where it dies any verdict will do."""
    rows = recorded(name)
    make_databases(tmp_path / "databases", SEED)
    gold, handed_in = (tmp_path / ("gold.sql" if name == "bird" else "gold.txt"), tmp_path / ("pred.json" if name == "bird" else "p.txt"))
    gold.write_text("".join(f"{row['gold']}\t{row['db_id']}\n" for row in rows), encoding="utf-8")
    if name == "bird":
        handed_in.write_text(json.dumps({str(row["id"]): f"{row['predicted']}\t----- bird -----\t{row['db_id']}" for row in rows}))
    else:
        handed_in.write_text("".join(f"{row['predicted']}\n" for row in rows), encoding="utf-8")
    options = RunOptions(save=False, isolation="none", databases=tmp_path / "databases")
    results = run(handed_in, gold, options).results
    differing = [
        (row["predicted"], row["gold"], row["expected"], result.official, result.reason)
        for row, result in zip(rows, results, strict=True)
        if row["expected"] is not None and result.official != row["expected"]
    ]
    assert differing == []
    assert {row["expected"] for row in rows} >= {0, 1}
