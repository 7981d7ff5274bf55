"""The same pair of files gets the same score, reason and details by every door: a run in processes of its own or in one, `check` of an
instance or of two files, `explain`, Python, a file that is small enough for Python values or comes as packed text, and a query's result
that holds the same cells."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import evalsuite
from evalsuite.analysis.explain.instance_evidence import explain_results
from evalsuite.cli import main
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Result, Score, Table
from evalsuite.readers import csv_table
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.conformance import predicates as p
from tests.conformance.recorded import gold_folder, submission_folder, submissions
from tests.conftest import is_default_corpus
from tests.properties import is_full
from tests.sql.csv_model import csv_form

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("shared_fork_server")]
FOLDERS = submissions()
# The mixed folders are draws of the same mutations, a copy of gold among them: the line looks at one.
IN_LINE = FOLDERS if is_full() else FOLDERS[1:2] or FOLDERS
# What a run adds to a score's own details.
ADDED = ("gold_from", "n_columns", "flip", "reasons", "warnings", "fault", "hint", "forensics", "notes")


def table_cases(name: str) -> dict[str, tuple[Path, dict[str, Any]]]:
    """(answer file, parameters with gold as a path) by instance, of every answer that one table check alone judges."""
    found = {}
    for instance_id, answer in p.submission(name).answers.items():
        instance = p.gold_instances().get(instance_id)
        checks = [check for check in instance.checks if check.scorer == "table_match"] if instance is not None else []
        if answer.answer_type != "file" or len(checks) != 1 or checks[0].problems or not isinstance(answer.value, str):
            continue
        gold = checks[0].parameters["gold"]
        paths = [str(gold_folder() / instance_id / file) for file in (gold if isinstance(gold, list) else [gold])]
        path = submission_folder(name) / instance_id / answer.value
        if path.suffix == ".csv" and path.is_file() and all(Path(file).is_file() for file in paths):
            found[instance_id] = (path, {**checks[0].parameters, "gold": paths if isinstance(gold, list) else paths[0]})
    return found


def by_check(path: Path, parameters: dict[str, Any]) -> Score | None:
    """The score of a single check, None for a file that cannot be read."""
    try:
        return evalsuite.score("table_match", str(path), **parameters)
    except FaultError:
        return None


def as_query(table: Table) -> Table:
    """The cells of a file as a query over texts gives them."""
    columns = tuple([cell or None for cell in column] for column in table.columns)
    return csv_form(Table(header=table.header, columns=columns, n_rows=table.n_rows, types=("VARCHAR",) * len(columns), name=table.name))


def says(result: Result, score: Score) -> str:
    """What a run says otherwise than a single check, empty where nothing."""
    return differs({name: getattr(result, name) for name in ("official", "strict", "reason", "details")}, score)


def differs(told: Mapping[str, Any], score: Score) -> str:
    """What somebody tells otherwise than a score, empty where nothing; a margin that costs too much in a run may be left out."""
    details = {key: value for key, value in told["details"].items() if key not in ADDED}
    wanted = {key: value for key, value in score.details.items() if key in details or key != "margin"}
    stated = (told["official"], told["strict"], told["reason"], json.dumps(details, sort_keys=True))
    expected = (score.official, score.strict, score.reason, json.dumps(wanted, sort_keys=True))
    return "" if stated == expected else f"{stated} instead of {expected}"


def assert_doors(name: str, step: int) -> None:
    """Every `step`-th case by every door."""
    cases = dict(list(table_cases(name).items())[::step])
    scores = {instance_id: score for instance_id, case in cases.items() if (score := by_check(*case)) is not None}
    wrong = []
    for isolation in ("process", "none"):
        options = RunOptions(save=False, isolation=isolation, jobs=1, only=tuple(scores), limits={"seconds": 120})
        results = {result.instance_id: result for result in run(submission_folder(name), gold_folder(), options=options).results}
        for instance_id, score in scores.items():
            if results[instance_id].status == "scored" and (said := says(results[instance_id], score)):
                wrong.append((instance_id, isolation, said))
    for instance_id, score in scores.items():
        path, parameters = cases[instance_id]
        with path.open("rb") as handle:
            table = csv_table.read_csv_table(handle, name=path.name, limits=resolve_limits())
        if table.ragged_line is None and (other := evalsuite.score("table_match", as_query(table), **parameters)) != score:
            wrong.append((instance_id, "query", f"{other} instead of {score}"))
    assert wrong == []
    assert len(scores) > (5 if is_default_corpus() else 0)


def assert_commands(name: str, step: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Every `step`-th case by both forms of `check`, and by `explain`, which says the reason of the rule that fails."""
    cases = dict(list(table_cases(name).items())[::step])
    scores = {instance_id: score for instance_id, case in cases.items() if (score := by_check(*case)) is not None}
    wrong = []
    for instance_id, score in scores.items():
        path, parameters = cases[instance_id]
        golds = parameters["gold"] if isinstance(parameters["gold"], list) else [parameters["gold"]]
        options = [word for key, value in parameters.items() if key != "gold" for word in (f"--{key}", json.dumps(value))]
        files = ["table_match", "--prediction", str(path), *(word for gold in golds for word in ("--gold", gold)), *options]
        folders = [instance_id, "--result_dir", str(submission_folder(name)), "--gold_dir", str(gold_folder())]
        for arguments in (files, folders):
            assert main(["check", *arguments, "--json"]) == 0, arguments
            told = json.loads(capsys.readouterr().out)
            if told.get("status", "scored") == "scored" and (said := differs(told, score)):
                wrong.append((arguments, said))
    limits = {"seconds": 120}
    for instance_id, told in explain_results(gold_folder(), submission_folder(name), list(scores), limits, ("difference",)):
        score, rules = scores[instance_id], told["rules"]
        expected = {"official": score.reason, "strict": score.strict_reason or score.reason, None: score.reason}[rules]
        is_rule = rules is None if (score.official, score.strict) == (1, 1) else rules is not None and score.value(rules) != 1
        if told["status"] == "scored" and not (is_rule and told["reason"] == expected):
            wrong.append((instance_id, f"explain says {told['rules']}, {told['reason']} instead of {expected}"))
    assert wrong == []
    assert scores


@pytest.mark.parametrize("name", IN_LINE)
def test_commands(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A few of the recorded cases, more under `slow`: each `check` of an instance is a whole run."""
    assert_commands(name, 11 if is_full() else 301, capsys)


@pytest.mark.parametrize("name", IN_LINE)
def test_doors(name: str) -> None:
    """Some of the recorded cases, all under `slow`."""
    assert_doors(name, 1 if is_full() else 47)


@pytest.mark.parametrize("name", IN_LINE)
def test_how_a_file_came_does_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that comes as packed text gets the very score of one that comes as Python values."""
    for path, parameters in list(table_cases(name).values())[::17]:
        monkeypatch.undo()
        score = by_check(path, parameters)
        monkeypatch.setattr(csv_table, "PACKED_BYTES", 1)
        assert by_check(path, parameters) == score, path


@pytest.mark.parametrize("name", IN_LINE)
def test_how_cells_are_looked_at_does_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of cells at a time or one by one: both verdicts are the same; of big tables the reasons count less."""
    for path, parameters in list(table_cases(name).values())[::23]:
        found = []
        for most in (0, 1 << 60):
            monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", most)
            score = by_check(path, parameters)
            found.append((score.official, score.strict) if score is not None else None)
        assert found[0] == found[1], path
