"""The JUnit report as a CI system reads it."""

import xml.etree.ElementTree as ElementTree

from evalsuite.reports.file_formats import as_junit
from evalsuite.reports.run_document import run_document
from tests.reports import made


def parse(text: str) -> ElementTree.Element:
    """The `testsuite` of a document."""
    suite = ElementTree.fromstring(text).find("testsuite")
    assert suite is not None
    return suite


def test_failed_is_not_error() -> None:
    """Wrong, partly right and missing are failures; faults are errors with their code; what has no verdict is skipped."""
    suite = parse("".join(as_junit(run_document(made.graded()))))
    found = {case.get("name"): [(child.tag, child.get("type")) for child in case] for case in suite.iter("testcase")}
    assert found == {
        "right": [],
        "half": [("failure", "partly_right")],
        "wrong": [("failure", "wrong")],
        "s_missing": [("failure", "missing")],
        "s_submission_fault": [("error", "BAD_CSV")],
        "s_gold_fault": [("error", "BAD_SPEC")],
        "s_scorer_fault": [("error", "SCORER_ERROR")],
        "s_timeout": [("error", "TIMEOUT")],
        "s_crashed": [("error", "WORKER_DIED")],
        "s_unscored": [("skipped", None)],
    }
    messages = {case.get("name"): case[0].get("message") for case in suite.iter("testcase") if len(case)}
    assert messages["half"] == "0.50: half of it"
    assert messages["s_unscored"] == "NO_VERDICT: said of unscored"


def test_hostile_texts_stay_attributes() -> None:
    """The document is well formed and has no element that this report did not make."""
    text = "".join(as_junit(run_document(made.hostile())))
    root = ElementTree.fromstring(text)
    assert {node.tag for node in root.iter()} == {"testsuites", "testsuite", "properties", "property", "testcase", "failure"}
    assert sorted({char for char in text if not char.isprintable()} - {"\n"}) == []
