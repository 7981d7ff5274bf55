"""`evalsuite rescore`: score a saved run's submission again."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.options import RUNS, Quiet, Scoring
from evalsuite.cli.showing import ProgressBar
from evalsuite.errors import EXIT_OK

if TYPE_CHECKING:
    from evalsuite.run.rescoring import Rescored

MOST_CHANGES = 20


def command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="a run's name, or its folder")],
    how: Scoring,
    scorer_version: Annotated[
        str | None,
        typer.Option(
            "--scorer-version",
            help="refuse unless this version of evalsuite is installed; `same` is the run's own. Scorers have no version of their own",
            metavar="VERSION|same",
        ),
    ] = None,
    submission: Annotated[Path | None, typer.Option(help="where the submission folder lies now", metavar="DIR")] = None,
    gold: Annotated[Path | None, typer.Option(help="where the gold folder lies now", metavar="DIR")] = None,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs; the new one is saved there")] = RUNS,
    json_: Annotated[bool, typer.Option("--json", help="print the new run.json object and nothing else")] = False,
    quiet: Quiet = False,
) -> int:
    """Score a saved run's submission again, under other rules or with what is installed now, and save that as a new run.

    Submission and gold must hold what the run scored. Metadata and label stay; the new run says from which one it comes.
    """
    from evalsuite.run.rescoring import rescore
    from evalsuite.run.scoring import Options
    from evalsuite.store.history import one_run

    how.load()
    options = Options(runs_folder=runs, **how.options())
    with ProgressBar(hidden=json_ or quiet or not sys.stderr.isatty()) as progress:
        done = rescore(
            one_run(run, runs),
            rules=options.rules,
            submission=submission,
            gold=gold,
            version=scorer_version,
            options=options,
            progress=progress,
        )
    for note in done.notes:
        print(f"note: {note}", file=sys.stderr)
    _print(done, as_json=json_, quiet=quiet)
    return EXIT_OK


def _print(done: "Rescored", *, as_json: bool, quiet: bool) -> None:
    from evalsuite.reports.clean import clean
    from evalsuite.reports.words import score_words

    if as_json:
        import json

        print(json.dumps(done.run.to_json(), indent=2, default=str))
        return
    if not quiet:
        for text in done.signature_changes:
            print(clean(f" {text}"))
        for name, before, after in done.changed[:MOST_CHANGES]:
            print(clean(f" {name}: {_score(before)} -> {_score(after)}"))
        if len(done.changed) > MOST_CHANGES:
            print(f" ... {len(done.changed) - MOST_CHANGES} more")
        print(f" saved {done.run.folder}")
    print(f"done: {score_words(done.run.summary)}, {len(done.changed)} of {len(done.run.results)} verdicts changed")


def _score(value: float | None) -> str:
    return "not judged" if value is None else f"{value:g}"
