"""The JSON report follows its schema and equals the run folder."""

import json
from collections.abc import Callable
from itertools import product

import pytest
from jsonschema import Draft202012Validator

from evalsuite.core.status import LEVELS
from evalsuite.reports.file_formats import as_json, schema
from evalsuite.reports.record import Record, redact_record
from evalsuite.reports.run_document import run_document
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
