"""`evalsuite explain`: why an answer is wrong, proved where it can be."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalsuite.cli.options import ResultDir, Rules, load_plugins, rule
from evalsuite.cli.showing import Reveal
from evalsuite.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalsuite.store.history import RunEntry
    from evalsuite.types import Result, Rule


def command(
    instance_id: Annotated[str, typer.Argument(metavar="ID", help="the instance to explain")],
    run: Annotated[str | None, typer.Option("--run", help="a saved run, by name or folder", metavar="RUN")] = None,
    result_dir: ResultDir = None,
    gold: Annotated[
        Path | None, typer.Option("--gold", "--gold-dir", "--gold_dir", help="the gold folder [default: the run's, else gold]")
    ] = None,
    rules: Rules = None,
    reveal: Reveal = None,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs")] = Path(".evalsuite/runs"),
    plugin: Annotated[list[Path] | None, typer.Option(help="a Python file that brings scorers; may be repeated", metavar="FILE.py")] = None,
    json_: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False,
) -> int:
    """Say why an instance is wrong: the cause that the scorer itself confirms, the difference, and SQL that shows it.

    evalsuite explain sales_004 --run 20261121-102205-example

    evalsuite explain sales_004 --result_dir FOLDER --gold gold
    """
    load_plugins(plugin)
    entry = _entry(run, runs) if run is not None else None
    if entry is None and result_dir is None:
        raise UsageError("no run and no submission given", hint=f"evalsuite explain {instance_id} --run RUN, or --result_dir FOLDER")
    submission = result_dir or Path(str((entry.run if entry else {}).get("submission", {}).get("folder", "")))
    gold_folder = gold or (Path(str(entry.run.get("gold", {}).get("folder", "gold"))) if entry is not None else Path("gold"))
    show(instance_id, submission, gold_folder, rules=rule(rules) or _rules_of(entry), level=reveal, entry=entry, as_json=json_)
    return EXIT_OK


def show(
    instance_id: str,
    submission: Path,
    gold: Path,
    *,
    rules: "Rule | None",
    level: str | None,
    entry: "RunEntry | None" = None,
    as_json: bool = False,
) -> None:
    """Print the evidence of one instance, cut to what may be shown."""
    from evalsuite.gold.layouts import read_gold
    from evalsuite.reports.explain import evidence_text
    from evalsuite.reveal import level_for

    level = level_for(read_gold(gold), level)
    saved = {result.instance_id: result for result in entry.results()} if entry is not None else {}
    limits = _limits_of(entry)
    result = saved.get(instance_id) or _scored(instance_id, submission, gold, rules, limits)
    cut = evidence(instance_id, submission, gold, rules=rules, level=level, result=result, limits=limits)
    if as_json:
        print(json.dumps({"instance_id": instance_id, "reveal": level, **cut}, ensure_ascii=True))
    else:
        print(evidence_text(instance_id, cut), end="")


def evidence(
    instance_id: str,
    submission: Path,
    gold: Path,
    *,
    rules: "Rule | None",
    level: str,
    result: "Result",
    limits: "Mapping[str, int | float] | None" = None,
) -> dict[str, Any]:
    """Why an instance is wrong, as data cut to a level."""
    from evalsuite.reveal import reveal_evidence
    from evalsuite.trust.evidence import explain_results

    saved = {instance_id: result}
    found = dict(explain_results(gold, submission, [instance_id], limits, rules=rules, results=saved))[instance_id]
    return reveal_evidence(found, level, result=result)


def _scored(instance_id: str, submission: Path, gold: Path, rules: "Rule | None", limits: dict[str, int | float]) -> "Result":
    from evalsuite.run.scoring import Options, run

    return run(submission, gold, Options(rules=rules, only=(instance_id,), limits=limits, save=False)).results[0]


def _entry(run: str, runs: Path) -> "RunEntry":
    from evalsuite.store.history import one_run

    return one_run(run, runs)


def _rules_of(entry: "RunEntry | None") -> "Rule | None":
    """The rules that the run was asked for; those of each scorer where it was asked for none."""
    options: dict[str, Any] = entry.run.get("options", {}) if entry is not None else {}
    return rule(options.get("rules"))


def _limits_of(entry: "RunEntry | None") -> dict[str, int | float]:
    options: dict[str, Any] = entry.run.get("options", {}) if entry is not None else {}
    return dict(options.get("limits") or {})
