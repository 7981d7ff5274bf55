"""Notes: facts about how answers were made, which stand in results and reports and move no score."""

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.plan import plan
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run, with_notes
from tests.runs.made import write_sides

pytestmark = pytest.mark.usefixtures("shared_fork_server")

TABLE = "id,v\n1,10.5\n2,20.25\n"
TOWNS = ["Quito", "La Paz", "Oslo", "New York City", "Bern", "Lima", "Kyoto", "4711"]


def texts(folder: Path, *golds: str, answers: Sequence[str]) -> tuple[Path, Path]:
    """(submission, gold) of texts."""
    cases = {f"i{at}": ("string_match", {"gold": gold}, text) for at, (gold, text) in enumerate(zip(golds, answers, strict=True))}
    return write_sides(folder / "submission", folder / "gold", cases)


def notes_of(finished: Run) -> dict[str, list[str]]:
    """The notes by instance."""
    return {result.instance_id: result.details["notes"] for result in finished.results if "notes" in result.details}


def test_notes_move_no_score(tmp_path: Path) -> None:
    """An answer with a note of its file keeps the verdict it has without, and honest ones stand between them; notes depend on tasks and
    results alone: made again they are equal, in the same order.
    """
    wide = ",".join(f"c{n}" for n in range(40))
    files = {
        "same/a.csv": TABLE,
        "honest/a.csv": "id,v,w\n1,10.5,0\n2,20.25,0\n",
        "sized/a.csv": TABLE.replace("20.25", "20.52"),
        "sink/a.csv": f"id,v,{wide}\n" + "".join(f"{row},{','.join(['7'] * 40)}\n" for row in ("1,10.5", "2,20.25")),
    }
    names = {"same": "a.csv", "honest": "a.csv", "sized": "a.csv", "sink": "a.csv", "up": "../same/a.csv", "hard": "h.csv"}
    gold, submission = tmp_path / "gold", tmp_path / "submission"
    for side, name in product((gold, submission), names):
        (side / name).mkdir(parents=True)
        (gold / name / "g.csv").write_text(TABLE)
    for path, content in files.items():
        (submission / path).write_text(content)
    write_sides(submission, gold, {name: ("table_match", {"gold": "g.csv"}, Path(path)) for name, path in names.items()})
    metadata = submission / "results_metadata.jsonl"
    metadata.write_text(metadata.read_text().replace("}", ', "score": 1, "evaluation": {}}', 1))
    os.link(gold / "hard" / "g.csv", submission / "hard" / "h.csv")
    noted = run(submission, gold, RunOptions(out=tmp_path / "run"))
    # Official sees the needed columns in both right tables.
    official = {result.instance_id: result.official for result in noted.results}
    assert official == {"same": 1, "honest": 1, "sized": 0, "sink": 1, "up": 0, "hard": 0}
    tasks = plan(read_gold(gold), read_submission(submission), rules="official", limits=resolve_limits())
    assert with_notes(tasks, noted.results, frozenset()) == noted.results


def test_a_missing_answer_says_whether_gold_is_absent_or_faulty(tmp_path: Path) -> None:
    """Gold whose file is not there, and gold whose spec is faulty, could score no answer, each for its own reason."""
    golds = {"file": ("table_match", {"gold": "g.csv"}, None), "spec": ("number_match", {"gold": "forty"}, None)}
    write_sides(tmp_path / "sub", tmp_path / "gold", {**golds, "fine": ("number_match", {"gold": 40}, "40")})
    notes = notes_of(run(tmp_path / "sub", tmp_path / "gold", RunOptions(save=False)))
    assert notes == {"file": ["gold is absent: no answer could be scored"], "spec": ["gold is faulty: no answer could be scored"]}


@pytest.mark.parametrize(
    ("golds", "answers", "n"),
    [
        *((TOWNS, [answer, *TOWNS[1:]], n) for answer, n in (("; ".join(TOWNS), 7), ("QUITO la paz OSLO bern LIMA kyoto", 5))),
        (TOWNS, ["Quito, La Paz, New York", *TOWNS[1:]], 0),
        # `yes` is the gold of many instances and says nothing about any of them; nor does a single digit.
        ([*["yes"] * 8, *"0123"], [*(f"yes, {at} 1 2 3 4 5 6 7 8" for at in range(8)), *["none"] * 4], 0),
    ],
)
def test_an_answer_that_lists_golds(golds: list[str], answers: list[str], n: int, tmp_path: Path) -> None:
    """Five golds of other instances in one text are many, whole words in any case; fewer, and the instance's own, are not counted."""
    many = [f"many golds: the answer contains the gold of {n} other instances"]
    assert notes_of(run(*texts(tmp_path, *golds, answers=answers), RunOptions(save=False))) == ({"i0": many} if n else {})


def test_a_gold_that_many_share_is_looked_at_once(tmp_path: Path) -> None:
    """The instances that share a gold are not gone through again for each answer: n answers compare some n names, not n x n."""

    class Name(str):
        n_compared = 0

        def __lt__(self, other: str) -> bool:
            Name.n_compared += 1
            return str.__lt__(self, other)

    submission, gold = texts(tmp_path, *["no", "yes"] * 30, answers=["yes and no and so on"] * 60)
    tasks = plan(read_gold(gold), read_submission(submission), rules="official", limits=resolve_limits())
    named = [replace(task, instance=replace(task.instance, instance_id=Name(task.instance.instance_id))) for task in tasks]
    results = run(submission, gold, RunOptions(save=False)).results
    assert len(with_notes(named, results, frozenset())) == 60
    assert Name.n_compared <= 2 * 60
