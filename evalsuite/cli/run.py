"""`evalsuite run`: score a submission folder against gold."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.database_options import AsOf, Databases, GoldCache
from evalsuite.cli.layout_options import Layout, Mode, ReferenceFiles, check_reference_files, write_reference_files
from evalsuite.cli.options import AllowPrograms, GoldDir, Plugins, Rules, job_count, limits_of, load_plugins, one_of, rule, share
from evalsuite.cli.progress import ProgressBar as ProgressBar
from evalsuite.cli.showing import Durations, Failures, Outputs, Reveal, Verbose
from evalsuite.errors import EXIT_GATE, EXIT_NOTHING, EXIT_OK, EXIT_UNSCORABLE, UsageError

if TYPE_CHECKING:
    from evalsuite.cli.again import FirstFailure
    from evalsuite.reports.record import Record
    from evalsuite.runner.run import Options, Run


CACHE_FOLDER = Path(".evalsuite/cache")


def command(
    submission: Annotated[str | None, typer.Argument(help="the submission folder, or its URL", show_default=False)] = None,
    result_dir: Annotated[str | None, typer.Option("--result-dir", "--result_dir", help="the submission folder, or its URL")] = None,
    gold: GoldDir = Path("gold"),
    rules: Rules = None,
    only: Annotated[str | None, typer.Option(help="only these instances, separated by commas", metavar="ID,...")] = None,
    filter_: Annotated[str | None, typer.Option("--filter", help="only instances whose id fits the pattern", metavar="GLOB")] = None,
    group: Annotated[str | None, typer.Option(help="only instances of this group of suite.yaml", metavar="TAG")] = None,
    out: Annotated[Path | None, typer.Option(help="the run folder [default: a new one under .evalsuite/runs]", metavar="DIR")] = None,
    output: Outputs = None,
    reveal: Reveal = None,
    no_save: Annotated[bool, typer.Option("--no-save", help="write no run folder")] = False,
    json_: Annotated[bool, typer.Option("--json", help="print the run.json object and nothing else")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print the last line only")] = False,
    fail_under: Annotated[
        float | None, typer.Option("--fail-under", "--fail_under", help="exit 1 where the score is lower", metavar="0-1")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="exit 1 on any fault or warning (not the strict rules: --rules strict)")] = False,
    fail_on_unscorable: Annotated[
        bool, typer.Option("--fail-on-unscorable", help="exit 4 where gold or the tool kept an instance from being judged")
    ] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="score everything anew")] = False,
    isolation: Annotated[str, typer.Option(help="how answers are kept apart while they are read", metavar="process|none")] = "process",
    jobs: Annotated[
        str, typer.Option(help="answers scored side by side: a number, or auto for the cores there are", metavar="N|auto")
    ] = "auto",
    executor: Annotated[str, typer.Option(help="who scores: this machine, or a dask cluster", metavar="local|dask")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="the dask scheduler [default: workers of its own on this machine]", metavar="tcp://HOST:PORT")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(help="only the i-th of n parts; `evalsuite merge` joins their runs", metavar="i/n", show_default=False)
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option(help="set a limit, for example seconds=30; may be repeated", metavar="NAME=VALUE")
    ] = None,
    plugin: Plugins = None,
    allow_programs: AllowPrograms = False,
    resume: Annotated[Path | None, typer.Option(help="go on with the run in this folder, which was interrupted", metavar="RUN")] = None,
    verbose: Verbose = False,
    failures: Failures = False,
    durations: Durations = 0,
    exitfirst: Annotated[bool, typer.Option("-x", "--exitfirst", help="stop at the first instance that is not right and exit 1")] = False,
    lf: Annotated[bool, typer.Option("--lf", "--last-failed", help="only what was not right in the last run of this gold")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="score again whenever a file changes; saves no run unless --out names one")
    ] = False,
    databases: Databases = None,
    gold_cache: GoldCache = None,
    as_of: AsOf = None,
    layout: Layout = None,
    mode: Mode = None,
    reference_files: ReferenceFiles = False,
    github: Annotated[bool, typer.Option("--github", help="also print GitHub annotations, and write the summary of the job")] = False,
) -> int:
    """Score a submission folder against gold, show the report, and save the run."""
    from functools import partial

    from evalsuite.cli.again import last_failed
    from evalsuite.cli.again import watch as keep_watching
    from evalsuite.cli.showing import check_showing
    from evalsuite.runner.run import Options
    from evalsuite.runner.shards import parse_shard

    load_plugins(plugin)
    check_showing(output or (), reveal)
    share(fail_under, "--fail-under")
    if json_ and (github or watch):
        raise UsageError(f"--json and {'--github' if github else '--watch'} exclude each other", hint="-o FILE.json writes a file")
    if watch and resume is not None:
        raise UsageError("--watch and --resume exclude each other", hint="finish the run with --resume first")
    if gold_cache is not None and gold_cache.exists() and not gold_cache.is_dir():
        raise UsageError(f"--gold-cache {gold_cache}: not a folder", hint="name a folder; it is made where there is none")
    place, ids = _one_folder(submission, result_dir), _ids(only)
    if lf and (ids or filter_ or group or resume):
        raise UsageError("--lf chooses the instances itself", hint="leave out --only, --filter, --group and --resume")
    if lf and not (ids := last_failed(gold)):
        print("done: nothing failed in the last run of this gold")
        return EXIT_OK
    options = Options(
        rules=rule(rules),
        only=ids,
        pattern=filter_,
        group=group,
        out=out,
        save=not no_save and (out is not None or not watch),
        isolation=one_of(isolation, ("process", "none"), "--isolation"),
        jobs=job_count(jobs),
        limits=limits_of(limit or ()),
        resume=resume,
        databases=databases,
        gold_cache=gold_cache,
        as_of=as_of,
        layout=layout,
        mode=mode,
        cache=None if no_cache else CACHE_FOLDER,
        executor=executor,
        scheduler=scheduler,
        shard=parse_shard(shard),
        allow_programs=allow_programs,
    )
    gates = Gates(fail_under=fail_under, strict=strict, fail_on_unscorable=fail_on_unscorable)
    shown = Shown(tuple(output or ()), reveal, json_, quiet, verbose, failures, durations, github, reference_files)
    with _local(place, gold, options) as (folder, options):
        if reference_files:
            check_reference_files(folder)
        once = partial(score_once, folder, gold, options, gates, shown, exitfirst=exitfirst)
        if watch and options.origin:
            raise UsageError("--watch cannot look at a URL", hint="watch a folder")
        return keep_watching([folder, gold], once) if watch else once()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """What makes the exit code of a scored run other than 0."""

    fail_under: float | None
    strict: bool
    fail_on_unscorable: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """What to show of a run, and where."""

    outputs: tuple[Path, ...]
    reveal: str | None
    as_json: bool
    quiet: bool
    verbose: bool
    failures: bool
    durations: int
    github: bool
    reference_files: bool


def score_once(folder: Path, gold: Path, options: "Options", gates: Gates, shown: Shown, *, exitfirst: bool) -> int:
    """Score, write and print as asked; the exit code."""
    from evalsuite.cli.again import FirstFailure
    from evalsuite.cli.showing import lost, with_lost, write_all
    from evalsuite.reports.github import add_to_summary
    from evalsuite.reports.record import of_run, revealed

    try:
        with _progress(hidden=shown.as_json or shown.quiet) as progress:
            finished = _run(folder, gold, options, progress, exitfirst=exitfirst)
    except FirstFailure as failure:
        return _stopped(failure, gold, shown.reveal)
    if not shown.quiet:
        for note in finished.receipt.get("resume", ()):
            print(f"note: {note}", file=sys.stderr)
    record = of_run(finished)
    n_lost = write_all(record, shown.outputs, shown.reveal)
    if shown.reference_files:
        n_lost += lost(lambda: write_reference_files(record, folder, shown.reveal))
    if shown.github:
        n_lost += lost(lambda: add_to_summary(revealed(record, shown.reveal)))
    code, line = verdict(finished, fail_under=gates.fail_under, strict=gates.strict, fail_on_unscorable=gates.fail_on_unscorable)
    code, line = with_lost(code, line, n_lost)
    _print(finished, record, line, shown)
    return code


def _run(folder: Path, gold: Path, options: "Options", progress: ProgressBar, *, exitfirst: bool) -> "Run":
    from evalsuite.runner.run import run

    if not exitfirst:
        return run(folder, gold, options, progress=progress)
    from tempfile import TemporaryDirectory

    from evalsuite.cli.again import StopAtFirst, with_known_folder

    with TemporaryDirectory(prefix="evalsuite-") as spare:
        known = with_known_folder(options, folder.resolve().name, Path(spare) / "run")
        place = known.resume or known.out
        assert place is not None
        stop = StopAtFirst(place, progress, saved=options.save, resumed=known.resume is not None)
        finished = run(folder, gold, known, progress=stop)
        return finished if options.save else replace(finished, folder=None)


def _stopped(failure: "FirstFailure", gold: Path, level: str | None) -> int:
    """Show the instance that ended the run; the exit code is that of a gate not met."""
    from evalsuite.readers.layouts import read_gold
    from evalsuite.reports.clean import clean
    from evalsuite.reports.instance import render_instance
    from evalsuite.reports.record import default_level
    from evalsuite.reveal import reveal
    from evalsuite.types import Result

    hidden = bool(read_gold(gold).suite.extra.get("hidden"))
    result = reveal(Result(**failure.row), level or default_level(hidden=hidden))
    print(render_instance(result))
    on = f"; go on with --resume {failure.folder}" if failure.folder is not None else ""
    print(clean(f"done: stopped at {result.instance_id}, which is not right, after {failure.n_scored} scored (exit {EXIT_GATE}){on}"))
    return EXIT_GATE


def verdict(run: "Run", *, fail_under: float | None, strict: bool, fail_on_unscorable: bool) -> tuple[int, str]:
    """The exit code and the last line that agrees with it; a gate of `suite.yaml` holds where none was given."""
    from evalsuite.reports.words import caused_by, percent, score_words

    s = run.summary
    if s.n_submitted == 0:
        return EXIT_NOTHING, f"nothing to score: none of the {s.n_gold} instances was handed in (exit 5)"
    done = f"done: {score_words(s)}"
    unjudged = caused_by(s)
    if fail_on_unscorable and unjudged:
        return EXIT_UNSCORABLE, f"{done}, {unjudged} (exit 4)"
    gate = run.gold.suite.fail_under if fail_under is None else fail_under
    if gate is not None and (s.score is None or s.score < gate):
        return EXIT_GATE, f"{done}, below the gate of {percent(gate)} (exit 1)"
    faults = sum(r.fault is not None and r.status != "missing" for r in run.results)
    if strict and (faults or run.warnings):
        return EXIT_GATE, f"{done}, {faults} faults and {len(run.warnings)} warnings under --strict (exit 1)"
    return EXIT_OK, f"{done} ({'no gate set' if gate is None else f'gate {percent(gate)} met'})"


def _print(run: "Run", record: "Record", line: str, shown: Shown) -> None:
    from evalsuite.cli.showing import print_record
    from evalsuite.reports.record import revealed

    seen = revealed(record, shown.reveal)
    with _for_github(run, seen) if shown.github else nullcontext():
        if shown.as_json:
            import json

            print(json.dumps(seen.run, ensure_ascii=True, indent=2, default=str))
        elif shown.quiet:
            print(line)
        else:
            print_record(seen, line, verbose=shown.verbose, failures=shown.failures, durations=shown.durations)


@contextmanager
def _for_github(run: "Run", record: "Record") -> Iterator[None]:
    """Annotations first, then whatever is printed inside, fenced from GitHub's commands."""
    from evalsuite.reports.github import annotations, fenced, places_of

    for command in annotations(record, places_of(run)):
        print(command)
    with fenced(sys.stdout):
        yield


def _ids(only: str | None) -> tuple[str, ...]:
    ids = tuple(part.strip() for part in (only or "").split(",") if part.strip())
    if only is not None and not ids:
        raise UsageError(f"--only {only!r} names no instance", hint="instance ids with commas between them; without --only all are scored")
    return ids


@contextmanager
def _local(place: str, gold: Path, options: "Options") -> Iterator[tuple[Path, "Options"]]:
    """The submission as a folder of this machine while inside, with the options that know where it came from."""
    from evalsuite.readers.remote import copied, is_remote

    if not is_remote(place):
        yield Path(place), options
        return
    from evalsuite.readers.gold import find_spec
    from evalsuite.readers.limits import resolve_limits
    from evalsuite.readers.suite import read_suite

    with copied(place, resolve_limits(read_suite(find_spec(gold).parent).limits, options.limits)) as folder:
        yield folder, replace(options, origin=place)


def _one_folder(submission: str | None, result_dir: str | None) -> str:
    if submission is not None and result_dir is not None:
        raise UsageError("the submission folder is given twice", hint="name it once: `evalsuite run FOLDER` or --result_dir FOLDER")
    folder = submission or result_dir
    if folder is None:
        raise UsageError("no submission folder given", hint="evalsuite run FOLDER --gold gold")
    return folder


def _progress(*, hidden: bool) -> ProgressBar:
    return ProgressBar(hidden=hidden or not sys.stderr.isatty())
