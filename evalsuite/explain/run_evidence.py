"""The evidence that a report shows beside what is not right: differences and proofs, worked out when the report is written."""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.errors import EvalsuiteError

if TYPE_CHECKING:
    from evalsuite.reports.record import Record

# Reading answers again takes about as long as scoring them; a report is written in seconds.
MOST_DIFFERENCES = 300
# A search for a cause asks the scorer up to 60 times; beyond the seconds no further one is begun.
MOST_EXPLAINED = 40
MOST_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvidence:
    """Evidence by instance id, cut to the record's level, and one sentence on what could not be had (empty: nothing)."""

    found: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    note: str = ""


# What works out the evidence for some instances of a record.
FindEvidence = Callable[["Record", Sequence[str]], RunEvidence]


def evidence_of_run(record: "Record", ids: Sequence[str]) -> RunEvidence:
    """The evidence for the first of the named instances: 300 differences, and 40 explanations within 20 s, at most.

    Needs the gold and submission folders that the run names, as they were; where they are gone or gold has changed, there is only a note.
    """
    from evalsuite.reveal import shows

    if not ids or not shows(record.level, "class"):
        return RunEvidence()
    gold, submission = Path(str(record.run["gold"]["folder"])), Path(str(record.run["submission"]["folder"]))
    if not (gold.exists() and submission.exists()):
        return RunEvidence(note="differences are not shown: the folders that the run names are not here")
    try:
        return _collected(record, ids, gold, submission)
    except EvalsuiteError as error:
        return RunEvidence(note=f"differences are not shown: {error.message}")


def _collected(record: "Record", ids: Sequence[str], gold: Path, submission: Path) -> RunEvidence:
    from evalsuite.explain.instance_evidence import explain_results
    from evalsuite.gold.layouts import read_gold
    from evalsuite.readers.gold_files import gold_hash
    from evalsuite.reveal import reveal_evidence, shows

    questions = record.run["options"].get("questions")
    known = read_gold(gold, layout=record.layout, questions=Path(questions) if questions else None, plugins=False)
    unexecuted = known.suite.extra.get("unexecuted", ())
    theirs = {one.instance_id for one in known.instances if any(check.scorer in unexecuted for check in one.checks)}.intersection(ids)
    ids = [name for name in ids if name not in theirs]
    if gold_hash(known.folder, known.spec_file) != record.run["gold"]["hash"]:
        return RunEvidence(note="differences are not shown: gold has changed since the run")
    results = {result.instance_id: result for result in record.results}
    limits, jobs, mode = record.run["options"].get("limits") or {}, min(4, os.cpu_count() or 1), record.run["options"].get("mode")
    found: dict[str, Mapping[str, Any]] = {}
    changed: set[str] = set()

    def collect(names: Sequence[str], what: Sequence[str], seconds: float = math.inf) -> None:
        end = time.monotonic() + seconds
        how: dict[str, Any] = {"rules": record.rules, "results": results, "jobs": jobs, "known": known, "mode": mode}
        for name, evidence in explain_results(gold, submission, names, limits, what, **how) if names else ():
            if evidence["status"] != results[name].status:
                changed.add(name)
            else:
                found[name] = reveal_evidence(evidence, record.level, result=results[name])
            if time.monotonic() > end:
                return

    collect(ids[:MOST_EXPLAINED], ("difference", "explain"), MOST_SECONDS)
    if shows(record.level, "shape"):
        collect([name for name in ids[:MOST_DIFFERENCES] if name not in found and name not in changed], ("difference",))
    notes = []
    if theirs:
        notes.append(f"{len(theirs)} are scored by plugins of gold: only `evalsuite explain ID --run RUN --gold {gold}` executes them")
    if len(ids) > MOST_DIFFERENCES:
        notes.append(f"differences are shown for the first {MOST_DIFFERENCES} of {len(ids)} instances that are not right")
    if changed:
        notes.append(f"{len(changed)} answer{'s' * (len(changed) > 1)} changed since the run: no difference is shown there")
    return RunEvidence(found=found, note="; ".join(notes))
