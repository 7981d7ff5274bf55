"""Big tables through a real worker pair: the reader streams, the judge compares, faults stay those of their side."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite.readers.limits import BIG_BYTES, resolve_limits
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run

ROWS = 80_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gold file of more than 8 MB and answers that are equal, unlike, odd in the last line and not UTF-8 in the last line."""
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
    spec, metadata = [], []
    for name, data in answers.items():
        for side in ("gold", "submission"):
            (place / side / name).mkdir(parents=True)
        (place / "gold" / name / "t.csv").write_text(body)
        (place / "submission" / name / "t.csv").write_bytes(data)
        parameters = {"gold": "t.csv", "ignore_order": name == "shuffled"}
        spec.append({"instance_id": name, "evaluation": {"func": "table_match", "parameters": parameters}})
        metadata.append({"instance_id": name, "answer_type": "file", "answer_or_path": "t.csv"})
    (place / "gold" / "big_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in spec))
    (place / "submission" / "results_metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in metadata))
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
