"""`evalsuite check`: one instance from the shell, with everything known about it."""

from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import GoldDir, ResultDir, Rules, rule, share
from evalsuite.errors import EXIT_GATE, EXIT_OK, UsageError


def command(
    name: Annotated[str, typer.Argument(metavar="ID", help="the instance")],
    result_dir: ResultDir = None,
    gold: GoldDir = Path("gold"),
    rules: Rules = None,
    json_: Annotated[bool, typer.Option("--json", help="print the line of results.jsonl and nothing else")] = False,
    fail_under: Annotated[float | None, typer.Option("--fail-under", "--fail_under", help="exit 1 where the score is lower")] = None,
) -> int:
    """Score one instance of a submission and show everything known about it."""
    share(fail_under, "--fail-under")
    if result_dir is None:
        raise UsageError("no submission folder given", hint=f"evalsuite check {name} --result_dir FOLDER --gold_dir gold")
    from evalsuite.reports.instance import render
    from evalsuite.runner.run import Options, run
    from evalsuite.store.run_folder import result_line

    finished = run(result_dir, gold, Options(rules=rule(rules), only=(name,), save=False))
    result = finished.results[0]
    if json_:
        print(result_line(result))
    else:
        instance = next(i for i in finished.gold.instances if i.instance_id == name)
        print(render(result, instance=instance, submission=finished.submission), end="")
    below = fail_under is not None and (result.score is None or result.score < fail_under)
    return EXIT_GATE if below else EXIT_OK
