"""`evalsuite verify`: a saved run as a receipt."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.options import RUNS, Code, Workers
from evalsuite.cli.showing import ProgressBar
from evalsuite.errors import EXIT_UNSCORABLE, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalsuite.trust.verify import Verified

MOST_SHOWN = 10


def command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="a run's name, or its folder")],
    workers: Workers,
    code: Code,
    sample: Annotated[
        int | None, typer.Option(help="score this many instances again, chosen at random [default: all]", metavar="N")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="the seed of the sample [default: a new one, printed]", metavar="N")] = None,
    submission: Annotated[Path | None, typer.Option(help="where the submission folder lies now", metavar="DIR")] = None,
    gold: Annotated[Path | None, typer.Option(help="where the gold folder lies now", metavar="DIR")] = None,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs")] = RUNS,
    json_: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False,
) -> int:
    """Say whether a saved run is what it says: its rows those that gold asks for, each the same when scored again, its numbers theirs.

    Works offline. Exit 0 where every row of gold was verified, 1 where anything differs, 4 where rows had to be left out. What is only
    the run's own word is listed as not verified.
    """
    from evalsuite.trust.verify import verify

    code.load()
    if sample is not None and sample < 1:
        raise UsageError(f"--sample must be at least 1, found {sample}", hint="leave it out to score all again")
    folder = Path(run) if Path(run).is_dir() else runs / run
    with ProgressBar(hidden=json_ or not sys.stderr.isatty()) as progress:
        found = verify(
            folder,
            submission=submission,
            gold=gold,
            sample=sample,
            seed=seed,
            allow_programs=code.allow_programs,
            progress=progress,
            **workers.options(),
        )
    if json_:
        print(json.dumps(found.to_json()))
    else:
        _print(found)
    return found.exit_code


def _grouped(said: "Iterable[tuple[str, str]]") -> "Iterable[tuple[str, list[str]]]":
    """The names of which the same is said, with what it is, in the order of the first."""
    found: dict[str, list[str]] = {}
    for name, value in said:
        found.setdefault(value, []).append(name)
    return found.items()


def _print(found: "Verified") -> None:
    from evalsuite.reports.clean import clean

    for finding in found.findings:
        print(clean(f" {'✓' if finding.good else '✗'} {finding.name:<14} {finding.says}"))
        for text in finding.differs[:MOST_SHOWN]:
            print(clean(f"     {text}"))
        if len(finding.differs) > MOST_SHOWN:
            print(f"     ... {len(finding.differs) - MOST_SHOWN} more")
    for value, names in _grouped(found.claimed):
        print(clean(f" - {', '.join(names)} not verified: {value}"))
    for reason, names in _grouped(found.left_out.items()):
        print(clean(f" - {', '.join(names)} not verified: {reason}"))
    for note in found.notes:
        print(clean(f"   note: {note}"))
    if found.seed is not None:
        print(f"   --seed {found.seed} takes the same sample again")
    wrong = [finding.name for finding in found.findings if not finding.good]
    verdict = f"no: {', '.join(wrong)} (exit 1)" if wrong else "yes"
    if found.exit_code == EXIT_UNSCORABLE:
        verdict = f"as far as that goes, {len(found.left_out)} not verified (exit 4)"
    counted = f"verified {found.n_verified} of {found.n_gold}: " if found.n_gold else ""
    print(clean(f"{counted}{found.name} is what it says: {verdict}"))
