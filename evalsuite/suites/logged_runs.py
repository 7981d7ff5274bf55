"""What a log of another tool is to us: runs of logged samples, saved as a suite with runs whose verdicts are theirs."""

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal

from evalsuite.errors import UsageError
from evalsuite.store.history import RUNS_FOLDER, RunEntry, find_runs
from evalsuite.store.new_folders import new_folder
from evalsuite.store.run_files import write_atomically
from evalsuite.store.run_folder import SCHEMA_VERSION, RunFolder
from evalsuite.suites.stored_suites import ROOT, SuiteError, data_hash, folder_of, gold_of, load_suite, new_suite, save_suite, slug
from evalsuite.suites.suite_record import StoredSuite
from evalsuite.summary import summarise
from evalsuite.types import METADATA, Result

Format = Literal["promptfoo", "inspect", "lm-eval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """One sample: `key` tells it from the others of its run, `source_id` is the tool's name; `theirs` in [0, 1], None where unjudged."""

    key: str
    source_id: str
    input: str
    reference: str | None
    output: str
    theirs: float | None


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """The samples of one provider, log or filter; the name holds its label."""

    name: str
    cases: tuple[Logged, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLog:
    """A log: its suite, its runs, and what of it could not be read; `digest` is that of its bytes, `file` its name without the ending."""

    format: Format
    suite: str
    runs: tuple[LoggedRun, ...]
    lost: tuple[str, ...]
    digest: str = ""
    file: str = ""

    @classmethod
    def of(cls, format_: Format, suite: str, runs: Sequence[LoggedRun], lost: Sequence[str], path: Path) -> "ForeignLog":
        """The log of these runs. Raises `UsageError` where none has a sample."""
        kept = tuple(run for run in runs if run.cases)
        if not kept:
            raise UsageError(f"{path}: no sample in it can be read", hint=f"it looks like a log of {format_}")
        return cls(format=format_, suite=suite, runs=kept, lost=tuple(lost))

    def to_json(self) -> dict[str, Any]:
        """The log as `import --json` prints it."""
        return {"format": self.format, "suite": self.suite, "runs": [_logged_run_json(run) for run in self.runs]}


def _logged_run_json(run: LoggedRun) -> dict[str, Any]:
    keys = ("source_id", "input", "reference", "output", "theirs")
    cases = [{key: getattr(one, key) for key in keys} for one in run.cases]
    judged = [one.theirs for one in run.cases if one.theirs is not None]
    return {"name": run.name, "n": len(run.cases), "theirs": sum(judged) / len(judged) if judged else None, "cases": cases}


def text_or_json(value: Any) -> str:
    """A text itself, anything else as JSON; nothing is an empty text."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def save_log(log: ForeignLog, scorer: str, root: Path = ROOT, *, name: str | None = None) -> tuple[ForeignLog, list[Path]]:
    """(the log with the names its runs go by, the folders of the new ones): its suite, made once, and a run for each that is not there yet.

    A log is told by its bytes, whatever its file is called: what is there already is its runs under their names, in the suite it was
    imported into, or that of `name`. A run of another log keeps its name where that is free, else it is named after the file too.

    Raises `SuiteError` where a suite of that name holds other cases.
    """
    entries = find_runs(root / RUNS_FOLDER.name)
    same = [one for one in entries if log.digest and one.metadata.get("imported_digest") == log.digest]
    log = replace(log, suite=name or next((one.suite for one in same), log.suite))
    suite = _suite_of(log, scorer, root)
    known = {str(one.metadata.get("imported_number")): one.metadata.get("run_name") for one in same if _is_of(one, suite)}
    taken = {str(one.metadata.get("run_name")) for one in entries if _is_of(one, suite)}
    runs, folders = [], []
    for at, run in enumerate(log.runs):
        runs.append(replace(run, name=str(known.get(str(at)) or _free_name(run.name, log.file, taken))))
        if str(at) not in known:
            taken.add(runs[-1].name)
            folders.append(_save_run(log, runs[-1], at, suite, root))
    return replace(log, runs=tuple(runs)), folders


def _is_of(entry: RunEntry, suite: StoredSuite) -> bool:
    return bool(entry.metadata.get("suite_id") == suite.id)


def _free_name(name: str, file: str, taken: Set[str]) -> str:
    """The name of a new run: its own, with the file's where that is taken, with a number where that is taken too."""
    longer = name if file in name else f"{name} ({file})"
    return next(one for one in chain([name, longer], (f"{longer} {n}" for n in count(2))) if one not in taken)


def _suite_of(log: ForeignLog, scorer: str, root: Path) -> StoredSuite:
    """The suite of the log, made where it is not there."""
    cases: dict[str, Logged] = {}
    for one in (one for run in log.runs for one in run.cases):
        cases.setdefault(one.key, one)
    inputs, references = [one.input for one in cases.values()], [one.reference for one in cases.values()]
    made = new_suite(
        log.suite,
        scorer,
        inputs=inputs,
        references=references if any(text is not None for text in references) else None,
        case_ids=list(cases),
        description=f"imported from {log.format}",
        foreign=True,
    )
    if not folder_of(log.suite, root).exists():
        save_suite(made, root)
        return made
    suite = load_suite(log.suite, root)
    # In any order: what is asked of several models at once is logged as it comes back.
    if _by_id(suite) != _by_id(made):
        raise SuiteError(f"the suite {log.suite!r} is there and holds other cases", hint="give the import another name by --name")
    return suite


def _by_id(suite: StoredSuite) -> dict[str, tuple[str, str | None]]:
    return {case.id: (case.input, case.reference_output) for case in suite.test_cases}


def _save_run(log: ForeignLog, run: LoggedRun, at: int, suite: StoredSuite, root: Path) -> Path:
    by_key = {one.key: one for one in run.cases}
    submission = folder_of(suite.name, root) / "submissions" / slug(run.name)
    submission.mkdir(parents=True, exist_ok=True)
    rows = [{"instance_id": key, "answer_type": "answer", "answer_or_path": one.output} for key, one in by_key.items()]
    write_atomically(submission / METADATA, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    results = [_verdict_as_result(log, case.id, by_key.get(case.id), suite.scorer) for case in suite.test_cases]
    digest = data_hash([one.input for one in run.cases], [one.output for one in run.cases])
    imported = {"imported_from": log.format, "imported_digest": log.digest, "imported_number": at}
    about = {
        "schema_version": SCHEMA_VERSION,
        "signature": f"import:{log.format}|data:{suite.data_hash}",
        "options": {"rules": "strict"},
        "submission": {"folder": str(submission), "n_objects": len(rows), "hash": digest},
        "gold": {"folder": str(gold_of(suite.name, root)), "name": suite.name, "hash": suite.data_hash, "n_instances": len(results)},
        "summary": summarise(results, rules="strict").to_json(),
        "metadata": {"run_name": run.name, "suite_id": suite.id, **imported},
        "receipt": {"isolation": "none: imported"},
        "warnings": [],
        "seconds": 0.0,
    }
    folder = new_folder(root / RUNS_FOLDER.name, slug(run.name))
    RunFolder(folder).open({"submission": digest}).finish(results, about)
    return folder


def _verdict_as_result(log: ForeignLog, case_id: str, logged: Logged | None, scorer: str) -> Result:
    """Their verdict as a result; what they did not judge is unscored and no 0."""
    value = 0.0 if logged is None else logged.theirs
    status: Any = "missing" if logged is None else "unscored" if value is None else "scored"
    shown = "no verdict" if value is None else f"{value:g}"
    reason = "not in the log" if logged is None else f"{log.format} says {shown}"
    details = {} if logged is None else {"source_id": logged.source_id, "output": logged.output}
    return Result(
        instance_id=case_id,
        status=status,
        score=value,
        official=value,
        strict=value,
        scorer=scorer,
        reason=reason,
        fault="MISSING_INSTANCE" if logged is None else None,
        details=details,
    )
