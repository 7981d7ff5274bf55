"""Our official verdicts beside the evaluators of Spider 2.0 themselves, run live on the same files; the network is cut for ours."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.upstream_suites import extract, scores
from tests.cut_network import run_cut
from tests.gold.checkout_made import Checkout, as_text, make_checkout, submit, table_of

pytestmark = pytest.mark.upstream
FORMS = ("r.csv", "./r.csv", "a/./r.csv", "a//r.csv", "{folder}/{id}//r.csv", "{folder}/{id}/a/./r.csv", "../{id}/r.csv")


def ours(submission: Path, gold: Path, place: Path) -> dict[str, dict[str, Any]]:
    """The rows of a run by id, made without the network, of which nothing was asked."""
    (done,) = run_cut([["run", str(submission), "--gold", str(gold), "--out", str(place), "--no-cache", "--jobs", "2", "-q"]], place.parent)
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
    rng, folder, gold = random.Random(seed), tmp_path / "sub", tmp_path / "gold"
    entries, lines = [], []
    for i in range(200):
        id_, table, form = f"q{i:03}", table_of(rng), FORMS[i % len(FORMS)]
        (gold / id_).mkdir(parents=True)
        (folder / id_ / "a").mkdir(parents=True)
        (gold / id_ / "gold.sql").write_text("SELECT 1 AS another_gold")
        (gold / id_ / "g.csv").write_text(as_text(table))
        for place in ("r.csv", "a/r.csv"):
            (folder / id_ / place).write_text(as_text(table if rng.random() < 0.8 else table_of(rng)))
        columns = rng.choice(([], [], [0], 0, 1, -1, 0))
        check = {"func": "table_match", "parameters": {"gold": "g.csv", "condition_cols": columns, "ignore_order": rng.random() < 0.5}}
        entries.append({"instance_id": id_, "evaluation": {**check, "temporal": i % 4 == 0}})
        path = form.format(folder=folder, id=id_)
        lines.append({"instance_id": id_, "answer_type": "file", "answer_or_path": path})
    for file, objects in ((gold / "spider2_eval.jsonl", entries), (folder / "results_metadata.jsonl", lines)):
        file.write_text("".join(json.dumps(one) + os.linesep for one in objects))
    (tmp_path / "suite").mkdir()
    extract("original", tmp_path / "suite")
    theirs = scores("original", tmp_path / "suite", gold, folder)
    rows = ours(folder, gold, tmp_path / "out")
    leaving = {line["instance_id"] for line in lines if line["answer_or_path"].startswith("..")}
    assert {rows.pop(id_)["fault"] for id_ in leaving} == {"BAD_PATH"}
    assert differing(rows, theirs) == {}
    assert sum(theirs.values()) > 50
    assert {row["details"].get("gold_from", row["status"]) for row in rows.values()} <= {"file", "gold_fault"}
