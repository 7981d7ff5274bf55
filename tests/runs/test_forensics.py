"""Notes: facts about how answers were made, which stand in results and reports and move no score."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.plan import plan
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run, with_notes
from tests.cli.test_run import write_lines

pytestmark = pytest.mark.usefixtures("shared_fork_server")

TABLE = "id,v\n1,10.5\n2,20.25\n"
TOWNS = ["Quito", "La Paz", "Oslo", "New York City", "Bern", "Lima", "Kyoto", "4711"]


def text(gold: str) -> dict[str, Any]:
    """A check for a text."""
    return {"func": "string_match", "parameters": {"gold": gold}}


def write(folder: Path, entries: list[tuple[str, dict[str, Any], Any]], files: dict[str, str], **more: Any) -> tuple[Path, Path]:
    """(submission, gold) of entries (instance, check, answer): a text that ends in .csv is a file. `more` keys go into the first line."""
    gold, submission = folder / "gold", folder / "submission"
    spec, metadata = [], []
    for at, (name, check, answer) in enumerate(entries):
        (gold / name).mkdir(parents=True)
        (submission / name).mkdir(parents=True)
        (gold / name / "g.csv").write_text(TABLE)
        spec.append({"instance_id": name, "evaluation": check})
        kind = "file" if answer.endswith(".csv") else "answer"
        metadata.append({"instance_id": name, "answer_type": kind, "answer_or_path": answer, **(more if at == 0 else {})})
    for path, content in files.items():
        (submission / path).write_text(content)
    (gold / "x_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in spec))
    (submission / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in metadata))
    return submission, gold


def notes_of(finished: Run) -> dict[str, list[str]]:
    """The notes by instance."""
    return {result.instance_id: result.details["notes"] for result in finished.results if "notes" in result.details}


CSV = {"func": "table_match", "parameters": {"gold": "g.csv"}}


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with one answer for each kind of note that files give, and honest ones between them."""
    folder = tmp_path_factory.mktemp("noted")
    wide = ",".join(f"c{n}" for n in range(40))
    files = {
        "same/a.csv": TABLE,
        "honest/a.csv": "id,v,w\n1,10.5,0\n2,20.25,0\n",
        "sized/a.csv": TABLE.replace("20.25", "20.52"),
        "sink/a.csv": f"id,v,{wide}\n" + "".join(f"{row},{','.join(['7'] * 40)}\n" for row in ("1,10.5", "2,20.25")),
    }
    names = {"same": "a.csv", "honest": "a.csv", "sized": "a.csv", "sink": "a.csv", "up": "../same/a.csv", "hard": "h.csv"}
    submission, gold = write(folder, [(name, CSV, path) for name, path in names.items()], files, score=1, evaluation={})
    os.link(gold / "hard" / "g.csv", submission / "hard" / "h.csv")
    return run(submission, gold, RunOptions(out=folder / "run"))


def test_notes_move_no_score(noted: Run) -> None:
    """An answer with a note keeps the verdict it has without: official sees the needed columns in both right tables."""
    official = {result.instance_id: result.official for result in noted.results}
    assert official == {"same": 1, "honest": 1, "sized": 0, "sink": 1, "up": 0, "hard": 0}


def test_a_missing_answer_says_whether_gold_is_absent_or_faulty(tmp_path: Path) -> None:
    """Gold whose file is not there, and gold whose spec is faulty, could score no answer, each for its own reason."""
    checks = {
        "file": ("table_match", {"gold": "g.csv"}),
        "spec": ("number_match", {"gold": "forty"}),
        "fine": ("number_match", {"gold": 40}),
    }
    rows = [{"instance_id": id_, "evaluation": {"func": func, "parameters": given}} for id_, (func, given) in checks.items()]
    write_lines(tmp_path / "gold/x_eval.jsonl", *rows)
    write_lines(tmp_path / "sub/results_metadata.jsonl", {"instance_id": "fine", "answer_type": "answer", "answer_or_path": "40"})
    notes = notes_of(run(tmp_path / "sub", tmp_path / "gold", RunOptions(save=False)))
    assert notes == {"file": ["gold is absent: no answer could be scored"], "spec": ["gold is faulty: no answer could be scored"]}


@pytest.mark.parametrize(("answer", "n"), [("; ".join(TOWNS), 7), ("Quito, La Paz, New York", 0), ("QUITO la paz OSLO bern LIMA kyoto", 5)])
def test_an_answer_that_lists_golds(answer: str, n: int, tmp_path: Path) -> None:
    """Five golds of other instances in one text are many, whole words in any case; fewer, and the instance's own, are not counted."""
    entries = [(f"i{at}", text(town), answer if at == 0 else town) for at, town in enumerate(TOWNS)]
    submission, gold = write(tmp_path, entries, {})
    many = [f"many golds: the answer contains the gold of {n} other instances"]
    assert notes_of(run(submission, gold, RunOptions(save=False))) == ({"i0": many} if n else {})


def test_a_gold_that_many_share_is_no_list(tmp_path: Path) -> None:
    """`yes` is the gold of many instances and says nothing about any of them; nor does a single digit."""
    entries = [(f"y{at}", text("yes"), f"yes, {at} 1 2 3 4 5 6 7 8") for at in range(8)] + [
        (f"d{at}", text(str(at)), "none") for at in range(4)
    ]
    submission, gold = write(tmp_path, entries, {})
    assert notes_of(run(submission, gold, RunOptions(save=False))) == {}


def test_a_gold_that_many_share_is_looked_at_once(tmp_path: Path) -> None:
    """The instances that share a gold are not gone through again for each answer: n answers compare some n names, not n x n."""

    class Name(str):
        n_compared = 0

        def __lt__(self, other: str) -> bool:
            Name.n_compared += 1
            return str.__lt__(self, other)

    entries = [(f"y{at}", text("yes" if at % 2 else "no"), "yes and no and so on") for at in range(60)]
    submission, gold = write(tmp_path, entries, {})
    tasks = plan(read_gold(gold), read_submission(submission), rules="official", limits=resolve_limits())
    named = [replace(task, instance=replace(task.instance, instance_id=Name(task.instance.instance_id))) for task in tasks]
    results = run(submission, gold, RunOptions(save=False)).results
    assert len(with_notes(named, results, frozenset())) == 60
    assert Name.n_compared <= 2 * 60


def test_notes_are_the_same_each_time(noted: Run) -> None:
    """Notes depend on tasks and results alone: made again they are equal, in the same order."""
    tasks = plan(read_gold(noted.gold.folder), read_submission(noted.submission.folder), rules="official", limits=resolve_limits())
    assert with_notes(tasks, noted.results, frozenset()) == noted.results
