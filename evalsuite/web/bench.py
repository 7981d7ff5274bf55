"""An Arthur Bench folder read where it lies: its suites and runs as ours, nothing written."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsuite.errors import EvalsuiteError
from evalsuite.reports.record import Record
from evalsuite.store.history import RunEntry
from evalsuite.store.run_files import read_json
from evalsuite.suites.stored_suites import data_hash
from evalsuite.suites.suite_record import Case, ScoringMethod, StoredSuite
from evalsuite.suites.transfer import bench_run
from evalsuite.summary import summarise
from evalsuite.web.query import safe_id, utc
from evalsuite.web.shelf import Kept, Kind, ShownCase, ShownRun, ShownSuite, stamp_of

INDEX, SUITE, RUN = "suite_id_to_name.json", "suite.json", "run.json"


def is_bench(folder: Path) -> bool:
    """Whether a folder looks like Bench's: its index, or a `<suite>/suite.json` without a gold folder beside it."""
    return (folder / INDEX).is_file() or any(not (path.parent / "gold").is_dir() for path in folder.glob(f"*/{SUITE}"))


class BenchFolder:
    """The suites of one Bench folder; `notes` says what in it could not be read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept = Kept(2048)

    def watched(self) -> list[Path]:
        """The folders and files whose change means that there is something new."""
        return [self.folder, *sorted(self.folder.glob("*")), *sorted(self.folder.glob("*/*/run.json"))]

    def suites(self) -> Iterator[ShownSuite]:
        """Every suite that can be read, in the order of their folders."""
        for path in sorted(self.folder.glob(f"*/{SUITE}")):
            stored = self._kept.get(path, stamp_of(path), lambda path=path: _read_suite(path))  # type: ignore[misc]
            if stored is not None:
                yield shown_suite(stored, "bench", path.parent, self._runs_of_suite(stored, path.parent))

    def _runs_of_suite(self, suite: StoredSuite, folder: Path) -> tuple[ShownRun, ...]:
        found = []
        for path in sorted(folder.glob(f"*/{RUN}")):
            run = self._kept.get((suite.id, path), stamp_of(path), lambda path=path: _read_run(suite, path))  # type: ignore[misc]
            if run is not None:
                found.append(run)
        return tuple(sorted(found, key=lambda run: run.created_at, reverse=True))


def _read_suite(path: Path) -> StoredSuite | None:
    """The suite as it stands, whatever its scorer; None for a file that is no suite."""
    data = _read_object(path)
    try:
        method = data["scoring_method"]
        method = ScoringMethod(name=method, type="built_in", config={}) if isinstance(method, str) else ScoringMethod(method)
        method["name"] = str(method["name"])
        cases = tuple(
            Case(
                id=str(case.get("id") or f"case_{i}"),
                input=str(case["input"]),
                reference_output=None if (reference := case.get("reference_output")) is None else str(reference),
            )
            for i, case in enumerate(data["test_cases"], start=1)
        )
        name = str(data["name"])
    except (AttributeError, KeyError, TypeError):
        return None
    made = str(data.get("created_at") or "") or utc(path.stat().st_mtime)
    references = [case.reference_output for case in cases]
    return StoredSuite(
        id=safe_id(str(data.get("id") or f"bench:{path.parent.name}")),
        name=name,
        description=str(data.get("description") or ""),
        scoring_method=method,
        test_cases=cases,
        created_at=made,
        updated_at=str(data.get("updated_at") or made),
        data_hash=data_hash([case.input for case in cases], [text or "" for text in references]),
    )


def _read_run(suite: StoredSuite, path: Path) -> ShownRun | None:
    data = _read_object(path)
    try:
        run, results = bench_run(suite, data, path)
    except (EvalsuiteError, AttributeError, KeyError, TypeError, ValueError):
        return None
    created = str(data.get("created_at") or "") or utc(path.stat().st_mtime)
    entry = RunEntry(folder=path.parent, run=run, tags=())
    record = Record(
        name=str(data["name"]), run=entry.run, results=tuple(results), summary=summarise(results, rules="strict"), folder=None
    )  # fmt: skip
    return ShownRun(
        id=safe_id(str(data.get("id") or f"bench:{path.parent}")),
        name=str(data["name"]),
        suite_id=suite.id,
        suite_name=suite.name,
        created_at=created,
        run=run,
        folder=path.parent,
        tags=(),
        record=lambda: record,
    )


def shown_suite(suite: StoredSuite, kind: Kind, folder: Path, runs: tuple[ShownRun, ...]) -> ShownSuite:
    """A suite that was made by name, by us or by Bench, whose gold lies in the folder."""
    return ShownSuite(
        id=safe_id(suite.id),
        name=suite.name,
        kind=kind,
        description=suite.description,
        scoring_method=suite.scoring_method,
        created_at=suite.created_at,
        updated_at=suite.updated_at,
        runs=runs,
        scorers=suite.scorers,
        folder=folder,
        cases=lambda: _cases_of(suite),
    )


def _cases_of(suite: StoredSuite) -> Sequence[ShownCase]:
    """The cases of a suite that was made by name."""
    checks = tuple({"scorer": name, "parameters": dict(suite.method(name).get("config") or {})} for name in suite.scorers)
    return [ShownCase(id=case.id, input=case.input, reference_output=case.reference_output, checks=checks) for case in suite.test_cases]


def _read_object(path: Path) -> Mapping[str, Any]:
    data = read_json(path)
    return data if isinstance(data, dict) else {}
