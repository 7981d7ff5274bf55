"""`evalsuite merge`: the shards of a run, scored apart, as the one run they are."""

from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import FailUnder, Quiet, share
from evalsuite.cli.showing import Outputs, Reveal, Showing, check_showing, with_lost, write_all
from evalsuite.errors import EXIT_GATE, EXIT_OK


def command(
    runs: Annotated[list[Path], typer.Argument(help="the run folders of all shards, in any order", metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="the folder of the whole run", metavar="DIR")],
    output: Outputs = None,
    reveal: Reveal = None,
    fail_under: FailUnder = None,
    quiet: Quiet = False,
) -> int:
    """Join the runs made with `run --shard 1/n` to `run --shard n/n` to one run, and show its report.

    The joined run is the one that scoring everything at once gives. Shards of different gold, submissions, options or versions are refused,
    and so are shards that are missing or given twice.
    """
    from evalsuite.reports.clean import clean
    from evalsuite.reports.record import record_of_entry, revealed
    from evalsuite.reports.words import percent, score_words
    from evalsuite.run.shards import merge

    share(fail_under, "--fail-under")
    check_showing(output or (), reveal)
    record = record_of_entry(merge(runs, out))
    n_lost = write_all(record, output or (), reveal)
    score = record.summary.score
    missed = fail_under is not None and (score is None or score < fail_under)
    gate = ""
    if fail_under is not None:
        gate = f", below the gate of {percent(fail_under)} (exit 1)" if missed else f" (gate {percent(fail_under)} met)"
    line = clean(f"done: {score_words(record.summary)} from {len(runs)} shards{gate}")
    code, line = with_lost(EXIT_GATE if missed else EXIT_OK, line, n_lost)
    if quiet:
        print(line)
    else:
        Showing().print(revealed(record, reveal), line)
    return code
