"""Our official verdicts beside the evaluators of Spider 2.0 themselves, run live on the same files; the network is cut for ours."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.upstream_suites import extract, scores
from tests.cut_network import run_cut
from tests.gold.checkouts import FORMS, Checkout, make_checkout, make_folders, submit

pytestmark = pytest.mark.upstream


def ours(submission: Path, gold: Path, place: Path) -> dict[str, dict[str, Any]]:
    """The rows of a run by id, made without the network, of which nothing was asked."""
    line = ["run", str(submission), "--gold", str(gold), "--out", str(place), "--no-cache", "--jobs", "2", "-q"]
    ((done,),) = run_cut(([line], place.parent))
    assert (done["code"], done["events"]) == (0, []), done["errors"]
    return {row["instance_id"]: row for row in map(json.loads, (place / "results.jsonl").read_text().splitlines())}


def differing(rows: dict[str, dict[str, Any]], theirs: dict[str, int]) -> dict[str, tuple[Any, int]]:
    """Ours and theirs of each submitted instance on which they differ; where the reference dies of gold we give no verdict, and it 0."""
    handed_in = {id_: row["official"] for id_, row in rows.items() if row["status"] != "missing"}
    return {id_: (score, theirs.get(id_, 0)) for id_, score in handed_in.items() if (score or 0) != theirs.get(id_, 0)}


@pytest.mark.parametrize("layout", ["lite", "snow"])
@pytest.mark.parametrize("seed", range(3))
def test_a_checkout_of_our_own_scores_as_upstream_scores_it(layout: str, seed: int, tmp_path: Path) -> None:
    """All instances, with the credentials that are handed out, gold queries beside gold tables, and temporal instances."""
    made = make_checkout(tmp_path, layout, 240, seed=seed)
    submission = submit(made, tmp_path / "sub", seed=seed + 10, leave_out=20)
    extract(layout, made.suite)
    theirs = scores(layout, made.suite, made.gold_folder, submission)
    rows = ours(submission, made.gold_folder, tmp_path / "out")
    assert theirs.keys() == {id_ for id_, row in rows.items() if row["status"] != "missing"}
    assert len(theirs) == 220
    assert 0 < sum(theirs.values()) < 220
    assert differing(rows, theirs) == {}
    assert {row["details"].get("gold_from", "none") for row in rows.values()} == {"file", "none"}
    assert not [id_ for id_, row in rows.items() if row["status"] == "unscored"]


@pytest.mark.parametrize("layout", ["lite", "snow"])
def test_the_benchmarks_own_gold_scores_as_upstream_scores_it(layout: str, tmp_path: Path) -> None:
    """Gold's own tables as the submission, every fifth of them changed, of all instances whose tables the clone holds."""
    made = Checkout(tmp_path, layout)
    extract(layout, made.suite, "gold", "snowflake_credential.json", "bigquery_credential.json")
    # The evaluator opens it, and reads it for queries alone.
    (made.suite.parent / f"spider2-{layout}.jsonl").write_text("")
    (tmp_path / "sub").mkdir()
    rng = random.Random(5)
    for line in (made.gold_folder / f"spider2{layout}_eval.jsonl").read_text().splitlines():
        id_ = json.loads(line)["instance_id"]
        files = sorted((made.gold_folder / "exec_result").glob(f"{id_}.csv")) or sorted(
            (made.gold_folder / "exec_result").glob(f"{id_}_[a-z].csv")
        )
        if files:
            rows = files[0].read_bytes().splitlines(keepends=True)
            kept = rows if rng.random() < 0.8 else rows[: max(1, len(rows) - 1)]
            (tmp_path / "sub" / f"{id_}.csv").write_bytes(b"".join(kept))
    theirs = scores(layout, made.suite, made.gold_folder, tmp_path / "sub")
    rows = ours(tmp_path / "sub", made.gold_folder, tmp_path / "out")
    assert len(theirs) > 500
    assert differing(rows, theirs) == {}
    assert {row["details"]["gold_from"] for row in rows.values() if row["status"] == "scored"} == {"file"}


@pytest.mark.parametrize("seed", range(3))
def test_the_original_suite(seed: int, tmp_path: Path) -> None:
    """Paths in every form, bare numbers for columns, temporal checks that name their table; a path with `..` alone differs, by design."""
    gold, folder = make_folders(tmp_path, 200, seed=seed)
    (tmp_path / "suite").mkdir()
    extract("original", tmp_path / "suite")
    theirs = scores("original", tmp_path / "suite", gold, folder)
    rows = ours(folder, gold, tmp_path / "out")
    leaving = {id_ for at, id_ in enumerate(rows) if FORMS[at % len(FORMS)].startswith("..")}
    assert {rows.pop(id_)["fault"] for id_ in leaving} == {"BAD_PATH"}
    assert differing(rows, theirs) == {}
    assert sum(theirs.values()) > 50
    assert {row["details"].get("gold_from", row["status"]) for row in rows.values()} <= {"file", "gold_fault"}
