"""No cell of gold is shown below level `cells`, in any part of the evidence or the result."""

import json
from typing import Any

import pytest

from evalsuite.analysis.explain.instance_evidence import explain_results
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import UsageError
from evalsuite.core.status import LEVELS, level_for, redact, redact_evidence
from evalsuite.core.types import Suite
from evalsuite.reports.explain_documents import explanation_document
from evalsuite.reports.terminal import as_text
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.conftest import ROOT
from tests.properties import is_full

pytestmark = [pytest.mark.usefixtures("shared_fork_server"), *([pytest.mark.slow] if is_full() else [])]

# One of each kind: the line looks at these.
SOME = ("sales_004", "sales_007", "hr_007", "ops_001", "geo_005", "fin_004")
GOLD, ANSWERS = ROOT / "gold", ROOT / "example_submission_folder"


@pytest.fixture(scope="module")
def known() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Instances of the example, under `slow` each, with result and its evidence."""
    options = RunOptions(save=False, isolation="none", only=() if is_full() else SOME)
    results = {result.instance_id: result for result in run(ANSWERS, GOLD, options).results}
    found = dict(explain_results(GOLD, ANSWERS, list(results), isolation="none"))
    return {name: (result, found[name]) for name, result in results.items()}


def secrets() -> dict[str, set[str]]:
    """Instance -> what stands in its gold and is long enough to be told from a count: cells and headers, texts and numbers."""
    found: dict[str, set[str]] = {}
    for line in (GOLD / "demo_eval.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        checks = row["evaluation"] if isinstance(row["evaluation"], list) else [row["evaluation"]]
        words = found.setdefault(row["instance_id"], set())
        for check in checks:
            gold = check["parameters"]["gold"]
            words |= {str(item) for item in (gold if isinstance(gold, list) else [gold])}
        for file in (GOLD / row["instance_id"]).glob("*.csv") if (GOLD / row["instance_id"]).is_dir() else ():
            words |= set(file.read_text(encoding="utf-8").replace("\n", ",").split(","))
    return {name: {word.strip() for word in words if len(word.strip()) >= 4} for name, words in found.items()}


@pytest.mark.parametrize("level", [level for level in LEVELS if level != "cells"])
def test_nothing_of_gold_below_cells(known: dict[str, tuple[Any, dict[str, Any]]], level: str) -> None:
    """Neither the data, nor the terminal's text, nor the cut result holds a cell or header of gold."""
    held = secrets()
    for name, (result, evidence) in known.items():
        cut = redact_evidence(evidence, level, result=result)
        shown = (
            as_text(explanation_document(name, cut)) + json.dumps(cut) + repr(replace(redact(result, level), seconds=0.0)).replace(name, "")
        )
        assert [word for word in held[name] if word in shown] == []


def test_each_level_shows_more(known: dict[str, tuple[Any, dict[str, Any]]]) -> None:
    """Scores from `status` on, the cause from `class`, counts from `shape`, and at `cells` gold is there."""
    result, evidence = known["sales_007"]
    cut = {level: redact_evidence(evidence, level, result=result) for level in LEVELS}
    assert "explanation" not in cut["status"]
    assert cut["class"]["explanation"]["cause"] == "rows scrambled"
    assert "says" not in cut["class"]["explanation"]["causes"][0]
    assert cut["shape"]["difference"]["counts"]["cells_wrong"] == 12
    assert "sql" not in cut["shape"]
    assert redact(result, "none").official is None
    assert redact(result, "status").official == 1
    assert redact(result, "class").details["flip"] == "rows scrambled"
    result, evidence = known["sales_004"]
    shown = as_text(explanation_document("sales_004", redact_evidence(evidence, "cells", result=result)))
    assert "7353.75" in shown
    assert redact(result, "cells") is result


def test_the_default_follows_the_suite() -> None:
    """Hidden gold shows classes, other gold cells; an unknown level is an error."""
    assert level_for(Suite(name="a")) == "cells"
    assert level_for(Suite(name="a", extra={"hidden": True})) == "class"
    assert level_for(Suite(name="a", extra={"hidden": True}), "shape") == "shape"
    with pytest.raises(UsageError):
        level_for(Suite(name="a"), "cell")
