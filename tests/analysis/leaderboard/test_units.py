"""Records are the units of every number: 200 invoices in one file count as 200."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsuite.analysis.leaderboard import compare
from evalsuite.analysis.leaderboard.pairing import RunSide, side_of
from evalsuite.analysis.leaderboard.reliability import mean_side, samples_of
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run
from evalsuite.stats.units import unit_details
from tests.analysis.leaderboard.made import result

pytestmark = pytest.mark.usefixtures("shared_fork_server")

Change = Callable[[int, dict[str, Any]], dict[str, Any] | None]
N = 200


def invoices(folder: Path, change: Change, *, func: str = "tree_match", n: int = N, n_files: int = 1, **parameters: Any) -> Run:
    """A run of `n_files` files with n records each, every record as gold has it but for what `change` makes of it (None: left out)."""
    gold, answers = folder / "gold", folder / "answers"
    specs, lines = [], []
    for file in range(n_files):
        name = f"inv{file}"
        records = [{"id": f"r{i}", "vendor": f"V{i % 7}", "total": 3 * i + 1, "day": f"2026-01-{i % 28 + 1:02d}"} for i in range(n)]
        found = [made for i, record in enumerate(records) if (made := change(i, dict(record))) is not None]
        for where, rows in ((gold / name, records), (answers / name, found)):
            where.mkdir(parents=True)
            (where / "records.jsonl").write_text("\n".join(map(json.dumps, rows)))
        specs.append({"instance_id": name, "evaluation": {"func": func, "parameters": {"gold": "records.jsonl", **parameters}}})
        lines.append({"instance_id": name, "answer_type": "file", "answer_or_path": "records.jsonl"})
    (gold / "x_eval.jsonl").write_text("\n".join(map(json.dumps, specs)))
    (answers / "results_metadata.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return run(answers, gold, RunOptions(save=False, isolation="none"))


def side(label: str, done: Run) -> RunSide:
    """The side of a run."""
    return side_of(label, done.to_json(), done.results)


def made(label: str, *instances: Sequence[float | None], **more: Any) -> RunSide:
    """A side of instances with these units."""
    results = {}
    for at, units in enumerate(instances):
        known = [score for score in units if score is not None]
        results[f"q{at}"] = result(f"q{at}", sum(known) / len(known), details=unit_details(units), scorer="tree_match")
    return RunSide(label=label, results=results, **more)


def test_units_of_several_instances_are_clustered_by_instance() -> None:
    """Ten instances of 20 records each: 200 units in ten clusters, whose signs are flipped together."""
    a, b = [[1.0] * 20] * 10, [[1.0] * 15 + [0.0] * 5] * 10
    total = compare([made("a", *a), made("b", *b)]).candidates[0].total
    assert (total.n, total.n_clusters, total.p) == (200, 10, pytest.approx(2 / 2**10))
    few = compare([made("a", *a[:4]), made("b", *b[:4])]).candidates[0].total
    assert few.note == "4 clusters: no test can reach 0.05"


def test_a_unit_that_nobody_judged_is_left_out() -> None:
    """None on a side takes the pair out."""
    total = compare([made("a", [1.0, None, 0.5, 1.0]), made("b", [1.0, 1.0, None, 0.0])]).candidates[0].total
    assert (total.n, total.losses) == (2, 1)


@pytest.mark.parametrize("n", [100, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["0/1", "F1"])
def test_equal_runs_have_no_small_p_too_often(kind: str, n: int) -> None:
    """Pairs of equally good runs of 200 records: at no level is p below it more often than chance lets it be (Kolmogorov, 1 %)."""
    rng = np.random.default_rng(7)
    drawn = []
    for _ in range(n):
        hard = rng.random(N)
        rows = [np.clip(hard + rng.normal(0, 0.3, N), 0, 1) for _ in "ab"]
        scores = [np.round(row * 4) / 4 if kind == "F1" else (row > 0.4).astype(float) for row in rows]
        drawn.append(compare([made(name, row.tolist()) for name, row in zip("ab", scores, strict=True)]).candidates[0].total.p)
    levels = np.sort(drawn)
    above = np.arange(1, n + 1) / n - levels
    assert above.max() <= 1.52 / n**0.5


def test_samples_of_one_file_are_samples_of_its_records(tmp_path: Path) -> None:
    """Two samples a model: 200 questions and not one, compared record by record and field by field by their means."""

    def every(step: int, first: int) -> Change:
        return lambda i, record: record | {"vendor": "?"} if i % step == first else record

    sides = [side(f"{step}.{first}", invoices(tmp_path / f"{step}.{first}", every(step, first))) for step in (40, 4) for first in (0, 1)]
    numbers = samples_of(sides[:2]).models[0].numbers
    assert (numbers.n_questions, numbers.n_samples) == (N, (2, 2))
    assert numbers.passes[1].all == pytest.approx(1 - 10 / N)
    found = compare([mean_side(sides[:2]), mean_side(sides[2:])]).candidates[0]
    assert (found.total.n, found.total.p < 1e-6, found.is_regression) == (N, True, True)
    by_field = {row.f1.name: (row.f1.n, row.f1.difference) for row in found.fields}
    assert by_field["vendor"] == (N, pytest.approx(0.025 - 0.25))
    assert by_field["total"] == (N, 0.0)
