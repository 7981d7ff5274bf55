"""Big tables through a real worker pair: the reader streams, the judge compares, faults stay those of their side."""

from pathlib import Path
from typing import Any

import pytest

from evalsuite.readers.limits import BIG_BYTES, resolve_limits
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.runs.made import write_sides

ROWS = 20_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gold file of 2 MB and answers that are equal, unlike, odd in the last line and not UTF-8 in the last line."""
    place = tmp_path_factory.mktemp("big")
    lines = [f"{row},name {row % 977:090d},{row * 0.37:.3f}" for row in range(ROWS)]
    body = "id,name,value\n" + "\n".join(lines) + "\n"
    answers = {
        "equal": body.replace("\n", "\r\n").encode(),
        "unlike": body.replace(lines[-1], f"{ROWS - 1},name x,1.0").encode(),
        "odd": body.replace(lines[-1], lines[-1].replace("name", '"na""me"', 1)).encode(),
        "latin": body.encode() + b"1,\xff\xff,2\n",
        "shuffled": ("id,name,value\n" + "\n".join(reversed(lines)) + "\n").encode(),
        "small": b"id,name,value\n1,a,2\n",
    }
    cases: dict[str, Any] = {}
    for name, data in answers.items():
        for side in ("gold", "submission"):
            (place / side / name).mkdir(parents=True)
        (place / "gold" / name / "t.csv").write_text(body)
        (place / "submission" / name / "t.csv").write_bytes(data)
        cases[name] = ("table_match", {"gold": "t.csv", "ignore_order": name == "shuffled"}, Path("t.csv"))
    write_sides(place / "submission", place / "gold", cases)
    return place


@pytest.mark.parametrize("isolation", ["process", pytest.param("none", marks=pytest.mark.slow)])
def test_verdicts_of_a_lane(folder: Path, isolation: str, tmp_path: Path) -> None:
    """Each answer gets its own verdict and none disturbs the next."""
    assert (folder / "gold" / "equal" / "t.csv").stat().st_size > BIG_BYTES
    options = RunOptions(isolation=isolation, jobs=1, limits=resolve_limits({"seconds": 120}), save=False)
    found = run(folder / "submission", folder / "gold", options=options)
    results: dict[str, Any] = {result.instance_id: result for result in found.results}
    verdicts = {name: (result.official, result.strict) for name, result in results.items()}
    assert verdicts["equal"] == verdicts["shuffled"] == (1, 1)
    assert verdicts["unlike"] == verdicts["odd"] == verdicts["small"] == (0, 0)
    assert results["latin"].status == "submission_fault"
    assert results["latin"].fault == "BAD_ENCODING"
    assert results["equal"].details["n_columns"] == 3
