"""The JSON report follows its schema and equals the run folder."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import evalsuite
from evalsuite.core.status import LEVELS
from evalsuite.reports.file_formats import as_json, schema
from evalsuite.reports.record import Record, record_of_entry, redact_record
from evalsuite.reports.run_document import run_document
from evalsuite.runs.history import read_run
from evalsuite.runs.submission_reader import saved_exchanges
from tests.conftest import ROOT
from tests.reports import made

pytestmark = pytest.mark.usefixtures("shared_fork_server")


BUILT: dict[str, Callable[[], Record]] = {
    "example": made.example_record,
    "graded": made.graded,
    "hostile": made.hostile,
    "empty": made.record,
}
# Each kind of run and each level in the line.
IN_LINE = {("example", "class"), ("example", "cells"), ("graded", "none"), ("hostile", "status"), ("hostile", "shape"), ("empty", "none")}


@pytest.mark.parametrize(
    ("build", "level"),
    [pytest.param(*one, marks=[pytest.mark.slow] * (one not in IN_LINE)) for one in product(BUILT, LEVELS)],
)
def test_every_report_keeps_to_the_schema(build: str, level: str) -> None:
    """The schema of the package is itself valid and holds for runs of every kind at every level."""
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(json.loads("".join(as_json(run_document(redact_record(BUILT[build](), level))))))


@pytest.mark.parametrize(
    ("where", "key", "value"),
    [
        ((), "results", None),
        ((), "surprise", 1),
        (("summary",), "score", 1.5),
        (("summary", "counts"), "lost", 1),
        (("results", 0), "status", "fine"),
        (("results", 0), "score", "1"),
        (("results", 0), "fault", "not a code"),
    ],
)
def test_the_schema_can_say_no(where: tuple[str | int, ...], key: str, value: object) -> None:
    """A key that is unknown and a value out of its range are refused."""
    report = json.loads("".join(as_json(run_document(made.graded()))))
    part = report
    for step in where:
        part = part[step]
    part[key] = value
    assert not Draft202012Validator(schema()).is_valid(report)


def test_it_says_what_the_run_folder_says(tmp_path: Path) -> None:
    """The keys of run.json and the lines of results.jsonl stand in it as they are in the folder."""
    evalsuite.evaluate(ROOT / "example_submission_folder", ROOT / "gold", out=tmp_path / "run", only=("sales_001", "sales_004", "ops_007"))
    entry = read_run(tmp_path / "run")
    assert entry is not None
    report = json.loads("".join(as_json(run_document(record_of_entry(entry, exchanges=saved_exchanges(entry))))))
    lines = (tmp_path / "run" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert report.pop("results") == [json.loads(line) for line in lines]
    assert (report.pop("name"), report.pop("tags")) == ("run", [])
    assert report == entry.run


def test_it_comes_in_pieces_of_plain_ascii() -> None:
    """No piece holds more than one result, and no character needs an encoding."""
    pieces = list(as_json(run_document(made.hostile())))
    assert len(pieces) == 2 * len(made.HOSTILE) + 2
    assert "".join(pieces).isascii()
