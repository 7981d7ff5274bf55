"""One instance of a run: what was asked and handed in, why it has its score, and the difference worked out while the files are there."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from evalsuite.explain.run_evidence import RunEvidence, evidence_of_run
from evalsuite.reports.page_list import opened_row
from evalsuite.web import figures, views
from evalsuite.web.shelf import Kept, ShownSuite, handed_in_contexts, handed_in_texts, stamp_of, submission_of

if TYPE_CHECKING:
    from evalsuite.reports.record import Record
    from evalsuite.types import Result

_evidence = Kept(256)
# Evidence is worked out by worker processes: one instance at a time is enough for the one person who looks.
_one_at_a_time = Lock()


def instance_values(suite: ShownSuite, record: "Record", result: "Result") -> dict[str, Any]:
    """What the page of an instance shows."""
    case = views.case_by_id(suite).get(result.instance_id)
    shown = views.case_object(case, hidden=suite.hidden) if case is not None else None
    evidence = _evidence_now(suite, record, result)
    groups = record.groups.get(result.instance_id, ())
    checks = [
        {
            "scorer": check["scorer"],
            "parameters": [(key, value if isinstance(value, str) else views.as_json(value)) for key, value in check["parameters"].items()],
        }
        for check in (shown["checks"] if shown else ())
    ]
    return {
        "row": figures.result_row(record, result),
        "input": shown["input"] if shown else "",
        "reference": shown["reference_output"] if shown else None,
        "output": handed_in_texts(record).get(result.instance_id),
        "context": handed_in_contexts(record).get(result.instance_id),
        "body": opened_row(result, evidence.found.get(result.instance_id), groups=groups),
        "note": evidence.note[:1].upper() + evidence.note[1:] + "." if evidence.note else "",
        "checks": checks,
    }


def _evidence_now(suite: ShownSuite, record: "Record", result: "Result") -> RunEvidence:
    """The evidence of an instance that is not right under both rules; none for recorded scores and for what was not handed in."""
    settled = result.official == 1 and result.strict in (1, None)
    if settled or result.status == "missing" or suite.kind == "bench" or record.folder is None:
        return RunEvidence()
    here = _with_folders(suite, record)
    gold, submission = Path(here.run["gold"]["folder"]), Path(here.run["submission"]["folder"])
    stamp = stamp_of(record.folder / "run.json", gold, gold / result.instance_id, submission, submission / result.instance_id)
    with _one_at_a_time:
        return _evidence.get((record.folder, result.instance_id), stamp, lambda: evidence_of_run(here, [result.instance_id]))


def _with_folders(suite: ShownSuite, record: "Record") -> "Record":
    """The record with the folders that it names as they are seen from here."""
    gold = suite.folder if suite.folder is not None else Path(str(record.run["gold"]["folder"]))
    submission = submission_of(record)
    sides: Mapping[str, Any] = {
        "gold": {**record.run["gold"], "folder": str(gold)},
        "submission": {**record.run["submission"], "folder": str(submission)},
    }
    return replace(record, run={**record.run, **sides})
