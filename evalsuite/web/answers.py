"""The texts that were handed in, as the run recorded them or as its submission still has them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.errors import EvalsuiteError
from evalsuite.store.history import CONTEXTS, LONGEST, read_contexts, submission_folder
from evalsuite.store.run_folder import RUN
from evalsuite.web.kept import Kept, stamp_of

if TYPE_CHECKING:
    from evalsuite.reports.record import Record

METADATA = "results_metadata.jsonl"
_kept, _contexts = Kept(16), Kept(16)


def submission_of(record: "Record") -> Path:
    """The submission's folder: as the run names it, seen from where runs are usually started."""
    if record.folder is None:
        return Path(str(record.run["submission"]["folder"]))
    return submission_folder(record.folder, record.run)


def outputs(record: "Record") -> Mapping[str, str]:
    """Instance id -> the text that was handed in, cut at 20,000 characters; files, and a submission changed since the run, have none."""
    recorded = {r.instance_id: out[:LONGEST] for r in record.results if isinstance(out := r.details.get("output"), str)}
    if recorded or record.folder is None:
        return recorded
    metadata = submission_of(record) / METADATA
    stamp = stamp_of(metadata, record.folder / RUN)
    return _kept.get(record.folder, stamp, lambda: _read(record, metadata))


def contexts(record: "Record") -> Mapping[str, str]:
    """Instance id -> the context that a suite's run kept beside its answer, cut at 20,000 characters; empty where it kept none."""
    if record.folder is None:
        return {}
    folder = submission_of(record)
    return _contexts.get(record.folder, stamp_of(folder / CONTEXTS), lambda: read_contexts(folder))


def _read(record: "Record", metadata: Path) -> Mapping[str, str]:
    from evalsuite.gold.layouts import read_submission
    from evalsuite.readers.limits import resolve_limits

    assert record.folder is not None
    try:
        if metadata.stat().st_mtime_ns > (record.folder / RUN).stat().st_mtime_ns:
            return {}
        handed_in = read_submission(metadata.parent, resolve_limits({}, record.run["options"].get("limits") or {}))
    except (OSError, EvalsuiteError):
        return {}
    return {
        id_: str(answer.value)[:LONGEST]
        for id_, answer in handed_in.answers.items()
        if answer.fault is None and answer.answer_type == "answer"
    }
