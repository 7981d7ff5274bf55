"""`evalsuite rescore`, `drift`, `verify` and `merge`: score saved runs again, verify them, merge shards."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.options import (
    RUNS,
    AllowUnscored,
    Code,
    Databases,
    FailUnder,
    FrozenClock,
    GoldNow,
    Json,
    PublicKey,
    Questions,
    Quiet,
    RunName,
    RunsFolder,
    Scoring,
    SubmissionNow,
    Workers,
    limits_of,
    share,
)
from evalsuite.cli.showing import (
    Outputs,
    ProgressBar,
    Reveal,
    Showing,
    check_showing,
    print_document,
    run_report,
    with_write_failures,
    write_all,
)
from evalsuite.compare.characters import clean
from evalsuite.core.errors import EXIT_GATE, EXIT_NOTHING, EXIT_OK, EXIT_UNSCORABLE, UsageError
from evalsuite.reports.words import percent, score_words, unjudged_words
from evalsuite.runs.history import find_runs, one_run

if TYPE_CHECKING:
    from evalsuite.core.types import Result
    from evalsuite.runs.summary import Summary


# Most changed verdicts that `rescore` prints, and differences per finding that `verify` prints.
_MOST_CHANGES = 20
_MOST_DIFFERENCES = 10


def rescore_command(
    run: RunName,
    scorer_version: Annotated[
        str | None,
        typer.Option(
            "--scorer-version",
            help="fail unless this version of evalsuite is installed; `same` is the run's. Scorers have no version of their own",
            metavar="VERSION|same",
        ),
    ] = None,
    submission: SubmissionNow = None,
    gold: GoldNow = None,
    questions: Questions = None,
    *,
    how: Scoring,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs; the new one is saved there")] = RUNS,
    json_: Annotated[bool, typer.Option("--json", help="print the new run.json object and nothing else")] = False,
    quiet: Quiet = False,
    allow_unscored: AllowUnscored = False,
) -> int:
    """Score a saved run's submission again, under other rules or with the installed versions, and save it as a new run.

    Submission and gold must be unchanged since the run. Metadata and label are kept; the new run names the old one.
    """
    from evalsuite.runs.rescoring import rescore
    from evalsuite.runs.run_options import RunOptions

    how.load()
    options = RunOptions(runs_folder=runs, questions=questions, **how.options())
    with ProgressBar(hidden=json_ or quiet) as progress:
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
        print(clean(f"note: {note}"), file=sys.stderr)
    code, left = _unjudged(done.run.results, done.run.summary, allowed=allow_unscored)
    if json_:
        print(json.dumps(done.run.to_json(), indent=2, default=str))
        return code
    if not quiet:
        for text in done.signature_changes:
            print(clean(f" {text}"))
        for name, *scores in done.changed[:_MOST_CHANGES]:
            before, after = ("not judged" if score is None else f"{score:g}" for score in scores)
            print(clean(f" {name}: {before} -> {after}"))
        if len(done.changed) > _MOST_CHANGES:
            print(f" ... {len(done.changed) - _MOST_CHANGES} more")
        print(f" saved {done.run.folder}")
    print(f"done: {score_words(done.run.summary)}, {len(done.changed)} of {len(done.run.results)} verdicts changed{left}")
    return code


def drift_command(
    run: Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help="runs by name or folder [default: all]")] = None,
    fail_on_drift: Annotated[
        bool, typer.Option("--fail-on-drift", help="exit 1 if a verdict changed, 4 if one could not be scored again")
    ] = False,
    runs: RunsFolder = RUNS,
    gold: GoldNow = None,
    databases: Databases = None,
    frozen_clock: FrozenClock = None,
    output: Outputs = None,
    json_: Json = False,
    *,
    workers: Workers,
    code: Code,
) -> int:
    """Score saved runs again with the installed versions; show which verdicts changed and which parts of the signature.

    Nothing is saved. A run with a missing or changed submission is reported and skipped. With --fail-on-drift the exit code is 1 if a
    verdict changed, 4 if a run or verdict could not be scored again, 5 if there is no run.
    """
    from evalsuite.reports.analysis_documents import drift_document
    from evalsuite.runs.rescoring import FROM, by_component, drifted
    from evalsuite.runs.run_options import RunOptions

    code.load()
    entries = [one_run(name, runs) for name in run] if run else [one for one in find_runs(runs) if FROM not in one.metadata]
    limits = limits_of(None, frozen_clock)
    options = RunOptions(allow_programs=code.allow_programs, databases=databases, limits=limits, **workers.options())
    with ProgressBar(hidden=json_) as progress:
        found = list(drifted(entries, options, gold=gold, progress=progress))
    document = drift_document(found, by_component(found))
    n_lost = write_all(document, output or ())
    print_document(document, "json" if json_ else "text")
    n_moved, n_open = sum(len(one.moved) for one in found), sum(bool(one.problem) for one in found)
    left = f", {n_open} not scored again" if n_open else ""
    # A gate without complete data is not met.
    missed = EXIT_GATE if n_moved else EXIT_UNSCORABLE if n_open else EXIT_OK if found else EXIT_NOTHING
    gate = missed if fail_on_drift else EXIT_OK
    ends = f" (exit {gate})" if gate else ""
    code_, line = with_write_failures(gate, f"done: {n_moved} verdicts moved in {len(found)} runs{left}{ends}", n_lost)
    if not json_:
        print(line)
    return code_


def _unjudged(results: Sequence["Result"], summary: "Summary", *, allowed: bool) -> tuple[int, str]:
    """Return the exit code and the end of the last line if instances are unjudged because of missing set-up."""
    from evalsuite.core.status import lacks_setup

    ends_so = not allowed and any(map(lacks_setup, results))
    return (EXIT_UNSCORABLE, f", {unjudged_words(summary)} (exit {EXIT_UNSCORABLE})") if ends_so else (EXIT_OK, "")


def verify_command(
    run: RunName,
    sample: Annotated[
        int | None, typer.Option(help="score this many instances again, chosen at random [default: all]", metavar="N")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="the seed of the sample [default: a new one, printed]", metavar="N")] = None,
    submission: SubmissionNow = None,
    gold: GoldNow = None,
    databases: Databases = None,
    questions: Questions = None,
    key: PublicKey = None,
    runs: RunsFolder = RUNS,
    json_: Json = False,
    *,
    workers: Workers,
    code: Code,
) -> int:
    """Verify a saved run: its rows cover gold, each row is the same when scored again, and its numbers follow from its rows.

    RUN may be a receipt of a board's site (`submissions/NAME.json`), with --submission, --gold and --key if available.

    Works offline. Exit 0 if every row of gold was verified, 1 if anything differs, 4 if rows were left out. Claims that cannot be checked
    are listed as not verified.
    """
    from evalsuite.analysis.receipts.verification import verify, verify_receipt
    from evalsuite.reports.analysis_documents import verified_document
    from evalsuite.runs.run_options import RunOptions

    code.load()
    if sample is not None and sample < 1:
        raise UsageError(f"--sample must be at least 1, found {sample}", hint="leave it out to score all again")
    folder = Path(run) if Path(run).is_dir() else runs / run
    with ProgressBar(hidden=json_) as progress:
        if Path(run).is_file():
            if sample is not None or seed is not None:
                raise UsageError("--sample goes with a run", hint="of a receipt all is scored again: leave it out")
            how = RunOptions(databases=databases, questions=questions, allow_programs=code.allow_programs, **workers.options())
            found = verify_receipt(Path(run), submission=submission, gold=gold, key=key, options=how, progress=progress)
        else:
            found = verify(
                folder,
                submission=submission,
                gold=gold,
                sample=sample,
                seed=seed,
                key=key,
                databases=databases,
                questions=questions,
                allow_programs=code.allow_programs,
                progress=progress,
                **workers.options(),
            )
    if json_:
        print(json.dumps(found.to_json()))
    else:
        print_document(verified_document(found))
    return found.exit_code


def merge_command(
    runs: Annotated[list[Path], typer.Argument(help="the run folders of all shards, in any order", metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="the folder of the whole run", metavar="DIR")],
    output: Outputs = None,
    reveal: Reveal = None,
    fail_under: FailUnder = None,
    allow_unscored: AllowUnscored = False,
    quiet: Quiet = False,
) -> int:
    """Merge the runs of `run --shard 1/n` to `run --shard n/n` into one run, and show its report.

    The merged run equals a run of the whole. Shards of different gold, submissions, options or versions are refused, and so are missing or
    repeated shards.
    """
    from evalsuite.reports.record import record_of_entry, redact_record
    from evalsuite.runs.shards import merge
    from evalsuite.runs.submission_reader import saved_exchanges

    share(fail_under, "--fail-under")
    check_showing(output or (), reveal)
    whole = merge(runs, out)
    record = record_of_entry(whole, exchanges=saved_exchanges(whole))
    n_lost = write_all(run_report(record, reveal), output or ())
    score = record.summary.score
    missed = fail_under is not None and (score is None or score < fail_under)
    code, gate = _unjudged(record.results, record.summary, allowed=allow_unscored)
    if missed and fail_under is not None:
        code, gate = EXIT_GATE, f", below the gate of {percent(fail_under)} (exit 1)"
    elif code == EXIT_OK and fail_under is not None:
        gate = f" (gate {percent(fail_under)} met)"
    code, line = with_write_failures(code, clean(f"done: {score_words(record.summary)} from {len(runs)} shards{gate}"), n_lost)
    if quiet:
        print(line)
    else:
        Showing().print(redact_record(record, reveal), line)
    return code
