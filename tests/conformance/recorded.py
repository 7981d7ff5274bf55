"""The recorded cases of the reference: which submissions there are, and what each mutation scored."""

import json
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run
from tests.conftest import conformance_folder

# Mutations whose verdict differs from the reference by design, each with its reason. Never an id.
EXEMPT = {
    "dotdot_path": "a path that leaves its instance folder is refused (BAD_PATH); the reference reads it",
    "db_as_view": "a submitted view can read outside files and is refused (NOT_A_TABLE); the reference runs it",
}
UNUSED = {"sql_path": "the record is an artefact of a stubbed cloud client"}


def submissions() -> list[str]:
    """The names of the recorded submissions that have both a folder and an expectation."""
    base = conformance_folder() / "spider2"
    return sorted(p.stem.removeprefix("expected_") for p in (base / "expected").glob("expected_*.jsonl"))


def expected(name: str) -> list[dict[str, Any]]:
    """The recorded rows of one submission: instance_id, funcs, answer_type, mutation, score, error."""
    path = conformance_folder() / "spider2" / "expected" / f"expected_{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def gold_folder() -> Path:
    """The recorded gold."""
    return conformance_folder() / "spider2" / "gold"


def submission_folder(name: str) -> Path:
    """One recorded submission."""
    return conformance_folder() / "spider2" / "submissions" / name


# Set by the fixture of `conftest.py`: the bytes that `keep` wrote for a submission.
kept: Callable[[str], bytes] | None = None


@cache
def scored(name: str) -> Run:
    """A recorded submission, scored once for all tests of a test run; nobody may change it."""
    assert kept is not None, "only within a test"
    found = pickle.loads(kept(name))
    assert isinstance(found, Run)
    return found


def keep(name: str, file: Path) -> None:
    """Score a recorded submission and write the run to a file."""
    file.write_bytes(pickle.dumps(run(submission_folder(name), gold_folder(), RunOptions(save=False, isolation="none"))))
