"""Beside twenty busy processes every verdict is the one that an answer has alone; the wall clock of the machine decides none."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.conformance.recorded import gold_folder, submission_folder, submissions
from tests.conftest import ROOT, is_default_corpus
from tests.runs.made import write_sides
from tests.sandbox.test_clock import busy, linux

EXAMPLE, GOLD = ROOT / "example_submission_folder", ROOT / "gold"
Verdict = tuple[str, str | None, float | None, float | None]


def verdicts(submission: Path, gold: Path, **limits: float) -> dict[str, Verdict]:
    """Status, fault and both verdicts of each instance."""
    done = run(submission, gold, RunOptions(save=False, jobs=2, limits=limits))
    return {one.instance_id: (one.status, one.fault, one.official, one.strict) for one in done.results}


@pytest.fixture
def load() -> Iterator[None]:
    """Twenty processes that compute for as long as a test lasts."""
    with busy(20):
        yield


@linux
@pytest.mark.slow
def test_the_example_beside_a_load(tmp_path: Path) -> None:
    """Every answer of the example ends as it does alone, also with a limit that the wall clock passes while it waits for a CPU."""
    alone = verdicts(EXAMPLE, GOLD)
    with busy(20):
        assert verdicts(EXAMPLE, GOLD, seconds=3) == alone


def shuffled(folder: Path, n_rows: int) -> tuple[Path, Path]:
    """(submission, gold) of one large table: rounded, in another order, and right."""
    random_ = random.Random(5)
    rows = [(at, 100 + 899 * random_.random(), random_.choice("abcdef") * 5, random_.randint(1, 10**6)) for at in range(n_rows)]
    gold, submission = folder / "gold", folder / "submission"
    for side in (gold, submission):
        (side / "t").mkdir(parents=True)
    (gold / "t" / "t.csv").write_text("id,v,w,n\n" + "".join(f"{a},{b!r},{c},{d}\n" for a, b, c, d in rows))
    random_.shuffle(rows)
    (submission / "t" / "t.csv").write_text("id,v,w,n\n" + "".join(f"{a},{b:.2f},{c},{d}\n" for a, b, c, d in rows))
    return write_sides(submission, gold, {"t": ("table_match", {"gold": "t.csv", "ignore_order": True}, Path("t.csv"))})


@pytest.mark.parametrize("n_rows", [pytest.param(20_000, id="20k"), pytest.param(200_000, id="200k")])
@linux
@pytest.mark.slow
def test_a_large_right_answer_beside_a_load(n_rows: int, tmp_path: Path, load: None) -> None:
    """An answer that needs seconds of a CPU has them, though on the wall its limit passes many times."""
    seconds = 4 if n_rows < 200_000 else 20
    assert verdicts(*shuffled(tmp_path, n_rows), seconds=seconds) == {"t": ("scored", None, 1, 1)}


@pytest.mark.slow
@pytest.mark.conformance
@linux
def test_the_recorded_suite_beside_a_load() -> None:
    """All recorded submissions end as they do alone."""
    alone = {name: verdicts(submission_folder(name), gold_folder()) for name in submissions()}
    with busy(20):
        beside = {name: verdicts(submission_folder(name), gold_folder()) for name in submissions()}
    assert beside == alone
    assert sum(map(len, alone.values())) > (500 if is_default_corpus() else 0)
