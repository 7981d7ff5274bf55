"""Import and export of suites: our own export, Arthur Bench's `suite.json`, and whole Bench folders with their runs."""

import json
import math
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import UsageError, write_error
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.registry import UnknownScorerError
from evalsuite.core.status import own_value
from evalsuite.core.types import Result
from evalsuite.readers.paths import refuse_endless
from evalsuite.runs.history import METADATA_KEYS, RUNS_FOLDER, TAGS, RunEntry, find_runs
from evalsuite.runs.run_files import SCHEMA_VERSION, escape_invisible, result_line, result_of, write_atomically
from evalsuite.runs.run_folder import RunFolder, new_folder
from evalsuite.runs.summary import summarise
from evalsuite.scorers import SCORERS
from evalsuite.suites.stored_suites import (
    ROOT,
    StoredSuite,
    SuiteError,
    check_values,
    folder_of,
    from_json,
    has_suite,
    list_suites,
    load_suite,
    new_suite,
    recorded_result,
    save_suite,
    slug,
)

# Scorers for which a larger Bench value is worse; the value is not inverted.
LOWER_IS_BETTER = frozenset({"hedging_language"})
# Bench's placeholder score if there is no verdict; of the unbounded metrics only one has values below 0.
NO_VERDICT, GOES_BELOW_0 = -1, "readability"
# Files of our submissions next to the answers.
_PARTS = ("results_metadata.jsonl", "contexts.json")
# Argument of `new_suite` -> key of a Bench suite.
_SUITE_TEXTS = {"suite_id": "id", "created_at": "created_at", "updated_at": "updated_at"}
# The pattern of run folder names; other names are not taken over.
_RUN_NAME = re.compile(r"\d{8}-\d{6}-[A-Za-z0-9._-]{1,60}")


def export_suite(name: str, path: Path, root: Path = ROOT) -> None:
    """Write one suite with all its runs, their candidates and contexts to a JSON file, for `import_suites` on another machine.

    Raises:
        SuiteError: no such suite.
        OutputError: the file cannot be written.
    """
    suite = load_suite(name, root)
    runs = [_bench_run_json(entry) for entry in find_runs(root / "runs") if entry.metadata.get("suite_id") == suite.id]
    data = {"evalsuite_suite": SCHEMA_VERSION, "suite": suite.to_json(), "runs": runs}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, escape_invisible(json.dumps(data, ensure_ascii=False, indent=2)) + "\n")
    except OSError as error:
        raise write_error(path, error) from error


def _bench_run_json(entry: RunEntry) -> dict[str, Any]:
    folder = Path(str(entry.run["submission"]["folder"]))
    parts = {part: (folder / part).read_text(encoding="utf-8") for part in _PARTS if is_file(folder / part)}
    results = [json.loads(result_line(result)) for result in entry.results()]
    return {"name": entry.name, "run": dict(entry.run), "results": results, "tags": list(entry.tags), "submission": parts}


def import_suites(path: Path, root: Path = ROOT, *, force_new_version: bool = False) -> list[str]:
    """Import suites from a Bench folder, a Bench suite JSON, or our own export, and return their names.

    Existing suites stay: a suite of the same cases and scorer gets its missing runs. A different suite of the same name is refused, or with
    `force_new_version` kept under the name with a number.

    Raises:
        UsageError: nothing that can be read.
        SuiteError: a suite of that name has other cases, or another scorer.
    """
    if is_dir(path):
        return _import_bench_folder(path, root, force_new_version)
    data = _read_bench_json(path)
    if "evalsuite_suite" in data:
        try:
            suite = from_json(data["suite"])
            runs = [(_exported_run(item), [result_of(json.dumps(row)) for row in item["results"]]) for item in data.get("runs", ())]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path}: not a complete export of a suite", hint="write it again with `evalsuite suite export`") from error
        suite = _store_suite(suite, root, force_new_version)
        run_ids = _run_keys(suite, root)
        for item, results in runs:
            if _key_of(item["run"].get("metadata", {})) not in run_ids:
                _take_run(suite, item, results, root)
        return [suite.name]
    return [_store_suite(bench_suite(data, path), root, force_new_version).name]


def _exported_run(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a run of our own export. Raises KeyError, AttributeError or TypeError if a part is missing or of another type."""
    run, texts = item["run"], item.get("submission", {})
    mappings = (run["submission"], run.get("metadata", {}), texts)
    if not all(isinstance(part, dict) for part in mappings) or not all(isinstance(text, str) for text in texts.values()):
        raise TypeError("a mapping is expected")
    if not isinstance(item.get("tags", []), list):
        raise TypeError("a list is expected")
    return item


def _store_suite(suite: StoredSuite, root: Path, force_new_version: bool) -> StoredSuite:
    """Return the stored suite: saved if its name is free, the existing one if it is the same. Raises `SuiteError`."""
    name, number = suite.name, 1
    while has_suite(name, root):
        stored = load_suite(name, root)
        if (stored.test_cases, stored.scorers) == (suite.test_cases, suite.scorers):
            return stored
        if not force_new_version:
            hint = "--force-new-version keeps both, the new one under a name with a number"
            raise SuiteError(f"there is a suite {name!r} already, with other cases or another scorer", hint=hint)
        number += 1
        name = f"{suite.name} {number}"
    ids = {stored.id for stored in list_suites(root)}
    stored_suite = replace(suite, name=name, id=str(uuid.uuid4()) if suite.id in ids else suite.id)
    save_suite(stored_suite, root)
    return stored_suite


def _key_of(metadata: Mapping[str, Any]) -> str:
    """Return the identity of a run within its suite, wherever it was scored."""
    return str(metadata.get("bench_id") or metadata.get("run_name", ""))


def _run_keys(suite: StoredSuite, root: Path) -> set[str]:
    return {_key_of(entry.metadata) for entry in find_runs(root / "runs") if entry.metadata.get("suite_id") == suite.id}


def _take_run(suite: StoredSuite, item: Mapping[str, Any], results: list[Result], root: Path) -> None:
    """Import a run of our own export unchanged: folder name, tags, candidates and contexts too, as far as the export contains them."""
    run = dict(item["run"])
    parts = {part: text for part, text in item.get("submission", {}).items() if part in _PARTS}
    if parts:
        submission = folder_of(suite.name, root) / "submissions" / slug(str(run.get("metadata", {}).get("run_name", "imported")))
        submission.mkdir(parents=True, exist_ok=True)
        for part, text in parts.items():
            write_atomically(submission / part, text)
        run["submission"] = {**run["submission"], "folder": str(submission)}
    folder = _write_run(run, results, root, name=str(item.get("name", "")))
    if item.get("tags"):
        write_atomically(folder / TAGS, json.dumps(list(map(str, item["tags"]))) + "\n")


def bench_suite(data: Mapping[str, Any], where: Path, *, allows_nulls: bool = False) -> StoredSuite:
    """Return the suite of a Bench `suite.json` object. Raises `UsageError` if it is not one, or for some null references."""
    try:
        cases, (name, config) = data["test_cases"], _bench_method(data["scoring_method"])
        inputs = [case["input"] for case in cases]
        references = [case.get("reference_output") for case in cases]
        ids = [str(case.get("id") or "") for case in cases]
        n_null = references.count(None)
        bench_keys = {key: value for key, value in data.items() if key in ("last_run_time", "num_runs", "created_by")}
        suite = new_suite(
            data["name"],
            name,
            config=_bench_config(name, config),
            inputs=inputs,
            references=None if n_null and n_null == len(references) else references,
            description=data.get("description") or "",
            extra={**bench_keys, "bench_config": config} if config else bench_keys,
            case_ids=ids if all(ids) else None,
            foreign=True,
            **{key: str(data[old]) for key, old in _SUITE_TEXTS.items() if data.get(old)},
        )
        check_values(suite)
    except UsageError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{where}: not a Bench suite", hint="expected name, scoring_method and test_cases") from error
    if not allows_nulls and 0 < n_null < len(references):
        raise UsageError(f"{where}: some references are null and some are not", hint="all or none")
    return suite


def _bench_method(method: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and the options of a scoring method, which may be its name alone."""
    return (method, {}) if isinstance(method, str) else (method["name"], dict(method.get("config") or {}))


def _bench_config(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that give our scorer Bench's documented meaning; its own config is kept too."""
    if name == "exact_match":
        return {"variant": "arthur", **({"ignore_case": True} if config.get("case_sensitive") is False else {})}
    return {"variant": "upstream"} if name == "readability" else {}


def _import_bench_folder(folder: Path, root: Path, force_new_version: bool) -> list[str]:
    """Import every `<suite>/suite.json` below a Bench folder, and every `<suite>/<run>/run.json` as a run of ours."""
    names = []
    for path in sorted(folder.glob("*/suite.json")):
        suite = _store_suite(bench_suite(_read_bench_json(path), path), root, force_new_version)
        run_ids = _run_keys(suite, root)
        for run_path in sorted(path.parent.glob("*/run.json")):
            data = _read_bench_json(run_path)
            run, results = bench_run(suite, data, run_path)
            if _key_of(run["metadata"]) in run_ids:
                continue
            try:
                now = datetime.fromisoformat(str(data.get("created_at")))
            except ValueError:
                now = None
            _write_run(run, results, root, now=now)
        names.append(suite.name)
    if not names:
        raise UsageError(f"{folder}: no suite in it", hint="a Bench folder contains <suite>/suite.json")
    return names


def bench_run(suite: StoredSuite, data: Mapping[str, Any], where: Path) -> tuple[dict[str, Any], list[Result]]:
    """Return (a `run.json` object, the n results in case order) of a Bench `run.json` object. Raises `UsageError` if it is not one."""
    try:
        outputs = {str(case["id"]): case for case in data.get("test_cases") or data["test_case_outputs"]}
        metadata = {key: data[key] for key in METADATA_KEYS if data.get(key)}
        metadata |= {f"bench_{key}": data[key] for key in ("id", "created_at", "updated_at") if data.get(key)}
        run_name = data["name"]
        results = [_bench_result(suite, case.id, outputs.get(case.id)) for case in suite.test_cases]
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{where}: not a Bench run", hint="expected name and test_cases, each with id, output and score") from error
    values = [value for result in results if (value := own_value(result)) is not None]
    if _is_unbounded(suite.scorer) or not all(0 <= value <= 1 or value == NO_VERDICT for value in values):
        least = None if _goes_below_0(suite.scorer, values) else NO_VERDICT
        measured = {row.instance_id for row in results if row.details.get("raw", least) != least}
        results = [
            replace(row, score=None, official=None, strict=None, status="scored") if row.instance_id in measured else row for row in results
        ]
    summary = summarise(results, rules="strict")
    run = {
        "schema_version": SCHEMA_VERSION,
        "signature": f"bench|scorer:{suite.scorer}|data:{suite.data_hash}",
        "options": {"rules": "strict"},
        "submission": {"folder": str(where.parent), "n_objects": len(outputs)},
        "gold": {"folder": str(where.parent.parent), "name": suite.name, "hash": suite.data_hash, "n_instances": len(results)},
        "summary": summary.to_json(),
        "metadata": {**metadata, "run_name": run_name, "suite_id": suite.id, "imported_from": "bench"},
        "warnings": [],
    }
    return run, results


def _goes_below_0(scorer: str, values: Sequence[float]) -> bool:
    """Whether -1 is a value as others are."""
    return scorer == GOES_BELOW_0 or any(value < 0 and value != NO_VERDICT for value in values)


def _is_unbounded(scorer: str) -> bool:
    """Whether the scorer is one of ours whose values have no fixed range."""
    try:
        return SCORERS.load(scorer).marker.range is None
    except UnknownScorerError:
        return False


def _bench_result(suite: StoredSuite, case_id: str, case: Mapping[str, Any] | None) -> Result:
    """Return a recorded score as a result; Bench's -1 for "no verdict", and what is not finite, are unscored and no number."""
    if case is None:
        return recorded_result(case_id, suite.scorer, 0.0, "missing", is_missing=True)
    result = case.get("score_result") or {}
    score = result.get("score") if result.get("score") is not None else case.get("score")
    score = None if score is None or not math.isfinite(score := float(score)) else score
    category = (result.get("category") or {}).get("name") if isinstance(result.get("category"), dict) else result.get("category")
    is_inverse = suite.scorer in LOWER_IS_BETTER
    details = {
        "output": case.get("output", ""),
        **({"category": category} if category else {}),
        **({"raw": score} if score is not None else {}),
        **({"better": "lower"} if is_inverse else {}),
    }
    value = score if score is not None and 0 <= score <= 1 else None
    reason = "recorded by Bench: 1 is hedging, less is better" if is_inverse else "recorded by Bench"
    return recorded_result(case_id, suite.scorer, value, reason, details)


def _write_run(run: Mapping[str, Any], results: list[Result], root: Path, *, name: str = "", now: datetime | None = None) -> Path:
    """Write the folder of a run that was scored elsewhere: under its old name if that is free, else under a new one."""
    runs = root / RUNS_FOLDER.name
    if _RUN_NAME.fullmatch(name) and not exists(runs / name):
        folder = runs / name
    else:
        folder = new_folder(runs, slug(str(run.get("metadata", {}).get("run_name", "imported"))), now=now)
    RunFolder(folder).open({"submission": run["submission"].get("hash", "")}).finish(results, run)
    return folder


def _read_bench_json(path: Path) -> dict[str, Any]:
    refuse_endless(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, ValueError, RecursionError):
        raise UsageError(f"{path}: not a JSON file") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path}: not a JSON object")
    return data
