"""The recorded cases of the reference: which submissions there are, and what each mutation scored."""

import json
import pickle
import zlib
from collections.abc import Callable
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from evalsuite.core.types import Result
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run
from tests.conftest import conformance_folder, is_default_corpus
from tests.properties import is_full

# The test line replays a third of each recorded corpus, another one each day; `slow`, and a corpus that the user names, all of it.
_PARTS = 3
_TODAY = date.today().toordinal()


def is_in_part(case: str, parts: int = _PARTS) -> bool:
    """Whether a recorded case belongs to the part of today, chosen by its content and the date."""
    if is_full() or not is_default_corpus():
        return True
    return (zlib.crc32(case.encode()) + _TODAY) % parts == 0


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
    """All recorded rows of one submission: instance_id, funcs, answer_type, mutation, score, error."""
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


def cases(name: str) -> list[tuple[dict[str, Any], Result]]:
    """The recorded rows of one submission that are replayed, each with our result."""
    results = {result.instance_id: result for result in scored(name).results}
    return [(row, results[row["instance_id"]]) for row in expected(name) if row["instance_id"] in results]


def keep(name: str, file: Path) -> None:
    """Score what is replayed of a recorded submission and write the run to a file."""
    chosen = tuple(row["instance_id"] for row in expected(name) if is_in_part(json.dumps(row)))
    options = RunOptions(save=False, isolation="none", only=chosen)
    file.write_bytes(pickle.dumps(run(submission_folder(name), gold_folder(), options)))
