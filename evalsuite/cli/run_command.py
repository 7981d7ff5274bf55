"""`evalsuite run`: score a submission folder against gold.

Options are grouped in dataclasses; a new option is a field of its group. `--lf`, `--exitfirst` and `--watch` shorten repeated scoring;
`--samples N` scores N answers per question as N runs.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evalsuite.cli import options as opt
from evalsuite.cli.options import Argument, Option
from evalsuite.cli.showing import (
    ProgressBar,
    Showing,
    add_write_failures,
    apply_gate,
    is_open,
    print_document,
    run_report,
    write_all,
    write_fails,
)
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import EXIT_GATE, EXIT_NOTHING, EXIT_OK, EXIT_UNSCORABLE, EXIT_USAGE, EvalsuiteError, UsageError, count_words
from evalsuite.core.files import exists, is_dir
from evalsuite.core.scores import reaches
from evalsuite.core.status import default_level, has_open_verdict, kind_of, redact, sign_of

if TYPE_CHECKING:
    from evalsuite.core.types import Submission
    from evalsuite.reports.record import Record
    from evalsuite.runs.run_options import RunOptions
    from evalsuite.runs.scoring import FirstFailure, Run
    from evalsuite.sandbox.fork_server import ForkServer


# Scanning the files takes at most about a tenth of the time between scans.
_SECONDS_BETWEEN = 0.3
_SHARE_OF_LOOKING = 10
Snapshot = dict[str, tuple[int, int]]


def find_last_failed(gold: Path, runs: Path = opt.RUNS) -> tuple[str, ...]:
    """Return the ids that were not right in their last scoring against this gold folder, in gold order.

    A run of a part of gold counts for its part: each instance is taken from the newest run that contains it, back to the last run of all of
    gold. Raises `UsageError` if this gold has no run.
    """
    from evalsuite.runs.history import find_runs, selected_part

    right: dict[str, bool] = {}
    entries = [entry for entry in find_runs(runs) if Path(str(entry.run.get("gold", {}).get("folder"))).resolve() == gold.resolve()]
    if not entries:
        raise UsageError(f"no earlier run of {gold} in {runs}", hint="run without --lf first")
    for entry in reversed(entries):
        for result in entry.results():
            right.setdefault(result.instance_id, result.is_right)
        if not selected_part(entry.run.get("options", {})):
            break
    return tuple(name for name, was_right in right.items() if not was_right)


class Moves:
    """Changes between two rounds of `--watch`. The first round has none."""

    def __init__(self) -> None:
        self._before: tuple[dict[str, str], str] | None = None

    def update(self, record: "Record") -> list[str]:
        """Return lines of changed instances (`moved: sales_004 wrong to right`) and of the score."""
        from evalsuite.reports.document import id_list
        from evalsuite.reports.record import score_words

        kinds = [(result.instance_id, kind_of(result), result.score) for result in record.results]
        now = {id_: sign_of(score) if kind.name == "partial" else kind.words for id_, kind, score in kinds}
        score = score_words(record.summary)
        last, self._before = self._before, (now, score)
        if last is None:
            return []
        before, score_before = last
        lines = [f"{id_} {before.get(id_, 'absent')} to {words}" for id_, words in now.items() if before.get(id_) != words]
        lines += [f"{id_} is gone" for id_ in before if id_ not in now]
        return [f"moved: {id_list(lines)}", f"score: {score_before} to {score}"] if lines else ["moved: nothing"]


def watch(places: Sequence[Path], once: Callable[[], int], *, written: Sequence[Path] = ()) -> int:
    """Call `once`, and again when a file of the places changes, until KeyboardInterrupt or a closed output.

    Files that `once` writes (`written`) do not count. User errors are printed and do not end the watch, because files may be half-written.
    """
    from evalsuite.cli.output_streams import stdout_failure

    look = partial(snapshot, places, frozenset(map(os.path.realpath, written)))
    code, seen = EXIT_OK, look()
    while True:
        try:
            code = once()
        except EvalsuiteError as error:
            print(f"error: {clean(error.message)}", flush=True)
        if stdout_failure() is not None:
            return code
        try:
            print("watching for changes; Ctrl-C stops", flush=True)
            changed, seen = _next_change(look, seen)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"stopped watching; the last run ended with exit code {code}") from None
        print(f"\nchanged: {clean(', '.join(changed[:3]))}{' ...' if len(changed) > 3 else ''}\n", flush=True)


def snapshot(places: Sequence[Path], but: Collection[str] = ()) -> Snapshot:
    """Map each file among or below the places to (modification time in ns, size in bytes).

    Links are not followed; the real paths of `but` and everything below them are left out.
    """
    stamps: Snapshot = {}
    for path in _files(places, but):
        with suppress(OSError):
            stat = os.lstat(path)
            stamps[path] = (stat.st_mtime_ns, stat.st_size)
    return stamps


def _files(places: Sequence[Path], but: Collection[str]) -> Iterator[str]:
    for root in places:
        if not is_dir(root):
            yield str(root)
        for place, inner, names in os.walk(root):
            real = os.path.realpath(place) if but else place
            # Databases and editors leave files next to a submission; hidden folders contain no answers.
            inner[:] = [name for name in inner if not name.startswith(".") and os.path.join(real, name) not in but]  # noqa: PTH118
            yield from (
                os.path.join(place, name)  # noqa: PTH118 - asked often
                for name in names
                if not name.startswith(".") and os.path.join(real, name) not in but  # noqa: PTH118
            )


def _next_change(look: Callable[[], Snapshot], before: Snapshot) -> tuple[list[str], Snapshot]:
    """Wait for a change and then for quiet; return the changed paths and the new snapshot."""
    last = before
    while True:
        started = time.monotonic()
        now = look()
        if now == last and now != before:
            return sorted(path for path in now.keys() | before.keys() if now.get(path) != before.get(path)), now
        last = now
        time.sleep(max(_SECONDS_BETWEEN, _SHARE_OF_LOOKING * (time.monotonic() - started)))


@dataclass(frozen=True, kw_only=True)
class Place:
    """Options of the submission's location."""

    submission: Annotated[str | None, Argument(help="the submission folder, or its URL")] = None
    result_dir: Annotated[str | None, Option("--result-dir", "--submission", help="the submission folder, or its URL", metavar="DIR")] = (
        None
    )

    def name(self) -> str:
        """Return the folder or URL. Raises `UsageError` if none or two are given."""
        if self.submission is not None and self.result_dir is not None:
            raise UsageError("the submission folder is given twice", hint="name it once: `evalsuite run FOLDER` or --result_dir FOLDER")
        folder = self.submission or self.result_dir
        if not folder:
            raise UsageError("no submission folder given", hint="evalsuite run FOLDER --gold gold")
        return folder

    @contextmanager
    def local(self, gold: Path, options: "RunOptions", *, samples: int | None = None) -> Iterator[tuple[Path, "RunOptions"]]:
        """Provide the submission with the files of all its samples as a local folder, and options with its origin."""
        from evalsuite.readers.submission_files import is_remote, local_copy

        place = self.name()
        if not is_remote(place):
            if not os.path.isfile(place):  # noqa: PTH113 - False for a name that is too long
                yield Path(place), options
                return
            from evalsuite.readers.archives import is_archive, without_ending

            if is_archive(place):
                from evalsuite.runs.leaderboard_entries import unpack

                with unpack(Path(place), options) as folder:
                    yield folder, replace(options, archive=place, label=options.label or without_ending(Path(place).name))
            else:
                yield Path(place), options
            return
        from evalsuite.gold.layouts import read_gold
        from evalsuite.readers.limits import resolve_limits
        from evalsuite.runs.submission_reader import read_submission_in_worker

        local_gold = read_gold(gold, layout=options.layout)
        limits = resolve_limits(local_gold.suite.limits, options.limits)
        modes = [f"sample {at} of {samples}" for at in range(1, samples + 1)] if samples else [None]

        def read(folder: Path) -> "Iterator[Submission]":
            return (read_submission_in_worker(folder, local_gold, limits, mode=mode, isolation=options.isolation) for mode in modes)

        with local_copy(place, limits, read=read) as folder:
            yield folder, replace(options, origin=place)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Options that choose the instances."""

    only: opt.Only = None
    filter_: Annotated[str | None, Option("--filter", help="only instances with an id that matches the pattern", metavar="GLOB")] = None
    group: Annotated[str | None, Option(help="only instances of this group of suite.yaml", metavar="TAG")] = None
    lf: Annotated[bool, Option("--lf", "--last-failed", help="only instances that were not right in the last run of this gold")] = False
    shard: Annotated[str | None, Option(help="only the i-th of n parts; `evalsuite runs merge` joins their runs", metavar="i/n")] = None

    def options(self, gold: Path) -> dict[str, Any]:
        """Return the fields of `RunOptions`; with --lf `only` is empty if nothing failed. Raises `UsageError`."""
        ids = opt.parse_ids(self.only)
        if self.lf:
            if ids or self.filter_ or self.group:
                raise UsageError("--lf chooses the instances itself", hint="remove --only, --filter, --group and --resume")
            ids = find_last_failed(gold)
        shard = None
        if self.shard is not None:
            from evalsuite.runs.rescoring import parse_shard

            shard = parse_shard(self.shard)
        return {"only": ids, "pattern": self.filter_, "group": self.group, "shard": shard}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options of how gold and answers are read, of limits, and of executors."""

    limit: opt.Limit = None
    frozen_clock: opt.FrozenClock = None
    layout: opt.Layout = None
    mode: opt.Mode = None
    questions: opt.Questions = None
    live_gold: opt.LiveGold = False
    gold_cache: Annotated[
        Path | None, Option("--gold-cache", help="read and write results of gold queries in this folder", metavar="DIR")
    ] = None
    as_of: Annotated[str | None, Option("--as-of", help="the day that gold queries are about [default: today]", metavar="YYYY-MM-DD")] = (
        None
    )
    max_bytes_billed: Annotated[
        int | None, Option(help="the most that one BigQuery answer may bill: --limit billed_bytes=N", metavar="N", min=1)
    ] = None
    ves: Annotated[bool, Option("--ves", help="also time right answers that are queries against gold's, as BIRD's VES and R-VES do")] = (
        False
    )
    samples: Annotated[
        int | None,
        Option(help="N lines of results_metadata.jsonl with one id are N samples of its answer; each sample is a run", metavar="N", min=2),
    ] = None
    executor: Annotated[str, Option(help="where to score: this machine, or a dask cluster", metavar="local|dask")] = "local"
    scheduler: Annotated[
        str | None, Option(help="the dask scheduler [default: workers of its own on this machine]", metavar="tcp://HOST:PORT")
    ] = None

    def options(self) -> dict[str, Any]:
        """Return the fields of `RunOptions`. Raises `UsageError`."""
        if self.gold_cache is not None and exists(self.gold_cache) and not is_dir(self.gold_cache):
            raise UsageError(f"--gold-cache {self.gold_cache}: not a folder", hint="name a folder; it is created if needed")
        names = ("layout", "mode", "questions", "live_gold", "gold_cache", "as_of", "ves", "executor", "scheduler")
        same = {name: getattr(self, name) for name in names}
        billed = {} if self.max_bytes_billed is None else {"billed_bytes": self.max_bytes_billed}
        return {**same, "limits": {**opt.parse_limits(self.limit, self.frozen_clock), **billed}, "tell": _print_note}


def _print_note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """Options of the reference's command with other names here, or without effect; hidden in `--help`."""

    max_workers: Annotated[int | None, Option("--max-workers", help="the reference's name of --jobs", min=1, max=256, hidden=True)] = None
    timeout: Annotated[float | None, Option(help="the reference's name of --limit seconds=N", min=0.001, hidden=True)] = None
    temp_dir: Annotated[
        Path | None, Option("--temp-dir", help="accepted and ignored: TMPDIR is the folder for temporary files", hidden=True)
    ] = None
    is_sql_debug: Annotated[
        bool, Option("--is-sql-debug", help="accepted and ignored: --debug shows the engine's messages", hidden=True)
    ] = False

    def apply_to(self, options: "RunOptions") -> "RunOptions":
        """Apply these options; print a note on stderr for those without effect."""
        for name, value, instead in (
            ("--temp_dir", self.temp_dir, "TMPDIR names the folder"),
            ("--is_sql_debug", self.is_sql_debug, "--debug"),
        ):
            if value:
                print(f"note: {name} has no meaning here: {instead}", file=sys.stderr)
        seconds = {} if self.timeout is None else {"seconds": self.timeout}
        return replace(options, jobs=self.max_workers or options.jobs, limits={**seconds, **options.limits})


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Options of where the run is saved, and of repeated or partial runs."""

    out: Annotated[Path | None, Option(help="the run folder [default: a new one under .evalsuite/runs]", metavar="DIR")] = None
    no_save: Annotated[bool, Option("--no-save", help="write no run folder")] = False
    sign: Annotated[Path | None, Option(help="sign the run with this private key, see `evalsuite runs keys`", metavar="FILE")] = None
    resume: Annotated[Path | None, Option(help="resume the interrupted run in this folder", metavar="RUN")] = None
    exitfirst: Annotated[bool, Option("-x", "--exitfirst", help="stop at the first instance that is not right and exit 1")] = False
    watch: Annotated[bool, Option("--watch", help="score again when a file changes; saves no run unless --out names one")] = False

    def options(self) -> dict[str, Any]:
        """Return the fields of `RunOptions`. Raises `UsageError`."""
        if self.watch and self.resume is not None:
            raise UsageError("--watch and --resume exclude each other", hint="finish the run with --resume first")
        if self.sign is not None:
            from evalsuite.runs.run_folder import read_key

            if self.no_save or self.watch:
                raise UsageError("--sign needs a run that is saved once", hint="remove --no-save and --watch")
            read_key(self.sign)
        return {"out": self.out, "resume": self.resume, "save": not self.no_save and (self.out is not None or not self.watch)}


@dataclass(frozen=True, kw_only=True)
class Printing(Showing):
    """Options of the output."""

    json_: Annotated[bool, Option("--json", help="print the run.json object and nothing else")] = False
    quiet: opt.Quiet = False
    github: Annotated[bool, Option("--github", help="also print GitHub annotations, and write the summary of the job")] = False
    reference_files: Annotated[
        bool, Option("--reference-files", help="also write the reference's files: RESULT_DIR-ids.csv (Snow: RESULT_DIR.csv) and log.txt")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Gates:
    """Options that change the exit code of a scored run."""

    fail_under: opt.FailUnder = None
    strict: Annotated[bool, Option("--strict", help="exit 1 on any fault or warning (not the strict rules: --rules strict)")] = False
    fail_on_unscorable: Annotated[
        bool, Option("--fail-on-unscorable", help="exit 4 if gold or the tool kept an instance from being judged")
    ] = False
    allow_unscored: opt.AllowUnscored = False

    def check(self) -> None:
        """Raise `UsageError` for a gate outside its range."""
        opt.check_share(self.fail_under, "--fail-under")

    def verdict(self, run: "Run") -> tuple[int, str]:
        """Return the exit code and the matching last line; a gate of `suite.yaml` applies if none is given.

        A missed gate has precedence over instances that cannot be judged here because a judge, connection, database or extra is missing.
        """
        from evalsuite.reports.record import coverage, score_words, unjudged_words

        s = run.summary
        if s.n_submitted == 0:
            return EXIT_NOTHING, f"nothing to score: no answer to any of {coverage(s)} (exit 5)"
        done = f"done: {score_words(s)}"
        gate = run.gold.suite.fail_under if self.fail_under is None else self.fail_under
        code, line = apply_gate(done, s.score, gate)
        if code != EXIT_OK:
            return code, line
        if s.n_gold and s.counts["gold_fault"] == s.n_gold:
            return EXIT_USAGE, f"{done}: gold is faulty in every instance (exit {EXIT_USAGE})"
        faults = sum(r.fault is not None and r.status != "missing" for r in run.results)
        if self.strict and (faults or run.warnings):
            return (
                EXIT_GATE,
                f"{done}, {count_words(faults, 'fault')} and {count_words(len(run.warnings), 'warning')} under --strict (exit 1)",
            )
        unjudged = unjudged_words(s)
        if unjudged and (self.fail_on_unscorable or (not self.allow_unscored and is_open(s, run.results, gate))):
            return EXIT_UNSCORABLE, f"{done}, {unjudged} (exit 4)"
        return code, line

    def verdict_of_samples(self, runs: "Sequence[Run]", mean: float) -> tuple[int, str]:
        """Return the exit code and the last line: a gate applies to the mean of all samples, other exit codes follow from each run."""
        from evalsuite.reports.document import percent

        code, line = max((replace(self, fail_under=0.0).verdict(done) for done in runs), key=lambda verdict: verdict[0])
        if code != EXIT_OK:
            return code, line
        gate = runs[0].gold.suite.fail_under if self.fail_under is None else self.fail_under
        done = f"done: {percent(mean)}, the mean of {len(runs)} samples"
        code, line = apply_gate(done, mean, gate)
        is_met_at_worst = gate is None or reaches(sum(run.summary.chosen.low for run in runs) / len(runs), gate)
        n_open = sum(has_open_verdict(result) for run in runs for result in run.results)
        if code != EXIT_OK or is_met_at_worst or self.allow_unscored or not n_open:
            return code, line
        return EXIT_UNSCORABLE, f"{done}, {n_open} unscored (exit 4)"


def refuse_with_samples(which: Choice, saving: Saving, printing: Printing) -> None:
    """Raise `UsageError` for options of a single run."""
    values = {
        "--lf": which.lf,
        "--watch": saving.watch,
        "--exitfirst": saving.exitfirst,
        "--resume": saving.resume is not None,
        "--sign": saving.sign is not None,
        "--github": printing.github,
        "--reference-files": printing.reference_files,
    }
    if names := [name for name, value in values.items() if value]:
        raise UsageError(f"--samples and {names[0]} exclude each other", hint="`evalsuite runs samples RUN RUN ...` reads several runs")


def score_samples(
    folder: Path, gold: Path, options: "RunOptions", gates: Gates, printing: Printing, n_samples: int, fork_server: "ForkServer | None"
) -> int:
    """Score each sample as its own run (`DIR/sample_1`, ... under --out) and show them together; return the exit code."""
    from evalsuite.analysis.leaderboard.pairing import side_of
    from evalsuite.analysis.leaderboard.reliability import samples_of
    from evalsuite.reports.analysis_documents import samples_document

    if options.mode is not None:
        raise UsageError("--samples and --mode exclude each other", hint="samples are lines of results_metadata.jsonl")
    runs = _runs_of_samples(folder, gold, options, n_samples, fork_server, hidden=printing.json_ or printing.quiet)
    sides = [
        side_of(done.folder.name if done.folder is not None else f"sample_{at}", done.to_json(), done.results)
        for at, done in enumerate(runs, 1)
    ]
    warnings = tuple(dict.fromkeys(warning for done in runs for warning in done.warnings))
    samples = samples_of(sides, notes=warnings)
    document = samples_document(samples)
    code, line = gates.verdict_of_samples(runs, samples.models[0].numbers.interval.estimate)
    code, line = add_write_failures(code, line, write_all(document, printing.output or ()))
    if printing.json_:
        print_document(document, "json")
        return code
    if not printing.quiet:
        print_document(document)
        for done in runs:
            if done.folder is not None:
                print(clean(f"saved {done.folder}"))
    print(clean(line))
    return code


def _runs_of_samples(
    folder: Path, gold: Path, options: "RunOptions", n_samples: int, fork_server: "ForkServer | None", *, hidden: bool
) -> "list[Run]":
    from evalsuite.runs.scoring import run

    name = options.label or folder.resolve().name
    runs = []
    with ProgressBar(hidden=hidden) as progress:
        for at in range(1, n_samples + 1):

            def report_progress(done: int, total: int, before: int = at - 1) -> None:
                progress(before * total + done, n_samples * total)

            sample_options = replace(
                options,
                mode=f"sample {at} of {n_samples}",
                label=f"{name}.sample_{at}",
                out=options.out / f"sample_{at}" if options.out is not None else None,
                metadata={"model_name": name, **options.metadata, "sample": f"{at} of {n_samples}"},
            )
            runs.append(run(folder, gold, sample_options, progress=report_progress, fork_server=fork_server))
    return runs


def run_command(
    place: Place,
    gold: opt.GoldDir = Path("gold"),
    *,
    which: Choice,
    how: opt.Scoring,
    reading: Reading,
    saving: Saving,
    printing: Printing,
    gates: Gates,
    upstream: Upstream,
) -> int:
    """Score a submission folder against gold, show the report, and save the run."""
    from evalsuite.runs.run_options import RunOptions

    how.load()
    printing.check()
    gates.check()
    if printing.json_ and (printing.github or saving.watch):
        hint = "-o FILE.json writes a file"
        raise UsageError(f"--json and {'--github' if printing.github else '--watch'} exclude each other", hint=hint)
    place.name()
    if which.lf and saving.resume:
        raise UsageError("--lf chooses the instances itself", hint="remove --only, --filter, --group and --resume")
    values = {**which.options(gold), **how.options(), **reading.options(), **saving.options()}
    options = upstream.apply_to(RunOptions(**values | {"layout": how.evaluator or reading.layout}))
    if which.lf and not options.only:
        print("done: nothing failed in the last run of this gold")
        return EXIT_OK
    with _start_fork_server(place, saving) as fork_server, place.local(gold, options, samples=reading.samples) as (folder, options):
        if printing.reference_files:
            from evalsuite.gold.layouts import layout_of
            from evalsuite.readers.gold_files import find_spec
            from evalsuite.reports import check_writable
            from evalsuite.reports.file_formats import reference_places

            for path in reference_places(folder, layout_of(find_spec(gold), options.layout)):
                check_writable(path)
        if reading.samples is not None:
            refuse_with_samples(which, saving, printing)
            return score_samples(folder, gold, options, gates, printing, reading.samples, fork_server)
        once = partial(score_once, folder, gold, options, gates, printing, fork_server, exitfirst=saving.exitfirst, sign=saving.sign)
        if not saving.watch:
            return once()
        if options.origin:
            raise UsageError("--watch cannot watch a URL", hint="watch a folder")
        settings = [place for place in (options.judge, options.questions) if place is not None]
        written = [*(printing.output or ()), *([saving.out] if saving.out is not None else ())]
        return watch([folder, gold, *settings], partial(once, moves=Moves()), written=written)


@contextmanager
def _start_fork_server(place: Place, saving: Saving) -> Iterator["ForkServer | None"]:
    """Start the fork server of the command's runs while this process imports the rest."""
    from evalsuite.core.runtime import return_freed_memory
    from evalsuite.runs import WORKER_MODULES
    from evalsuite.sandbox.fork_server import fork_server_for

    return_freed_memory()
    with fork_server_for(Path(place.name()), modules=WORKER_MODULES) as fork_server:
        try:
            import evalsuite.reports.record
            import evalsuite.runs.scoring  # noqa: F401 - each function imports what it needs of them
        except KeyboardInterrupt:
            raise KeyboardInterrupt("" if saving.resume is not None else "interrupted: nothing is saved") from None
        yield fork_server


def score_once(
    folder: Path,
    gold: Path,
    options: "RunOptions",
    gates: Gates,
    printing: Printing,
    fork_server: "ForkServer | None",
    *,
    exitfirst: bool,
    sign: Path | None = None,
    moves: Moves | None = None,
) -> int:
    """Score, write and print, with the changes of `moves`; return the exit code."""
    from evalsuite.reports.record import record_of_run, redact_record
    from evalsuite.runs.run_folder import read_key, sign_run
    from evalsuite.runs.scoring import FirstFailure, run

    key = read_key(sign) if sign is not None else None
    try:
        with ProgressBar(hidden=printing.json_ or printing.quiet) as progress:
            finished = run(folder, gold, options, progress=progress, fork_server=fork_server, exitfirst=exitfirst)
    except FirstFailure as failure:
        return _report_first_failure(failure, gold, printing.reveal)
    if key is not None and finished.folder is not None:
        sign_run(finished.folder, key)
    if not printing.quiet:
        for note in finished.receipt.get("resume", ()):
            print(f"note: {note}", file=sys.stderr)
    record = record_of_run(finished, printing.labels)
    if printing.labels is not None and finished.folder is not None:
        from evalsuite.runs.corrected_scores import keep_labels

        keep_labels(printing.labels, finished.folder)
    n_lost = write_all(run_report(record, printing.reveal), printing.output) if printing.output else 0
    if printing.reference_files:
        n_lost += write_fails(lambda: _write_reference_files(record, folder, printing.reveal))
    if printing.github:
        from evalsuite.reports.file_formats import add_to_summary

        n_lost += write_fails(lambda: add_to_summary(redact_record(record, printing.reveal)))
    code, line = add_write_failures(*gates.verdict(finished), n_lost)
    seen = redact_record(record, printing.reveal)
    moves_seen = moves.update(seen) if moves is not None else []
    with _for_github(finished, seen, is_green=code == EXIT_OK) if printing.github else nullcontext():
        if printing.json_:
            print(json.dumps(seen.run, ensure_ascii=True, indent=2, default=str))
        elif printing.quiet:
            print(*map(clean, moves_seen), line, sep="\n")
        else:
            printing.print(seen, line, moves_seen, options.databases)
    return code


def _report_first_failure(failure: "FirstFailure", gold: Path, level: str | None) -> int:
    """Show the instance that ended the run; return the exit code of a missed gate."""
    from evalsuite.gold.layouts import read_gold
    from evalsuite.reports.score_text import instance_text

    hidden = bool(read_gold(gold).suite.extra.get("hidden"))
    result = redact(failure.result, level or default_level(hidden=hidden))
    print(instance_text(result))
    on = f"; continue with --resume {failure.folder}" if failure.folder is not None else ""
    print(clean(f"done: stopped at {result.instance_id}, which is not right, after {failure.n_scored} scored (exit {EXIT_GATE}){on}"))
    return EXIT_GATE


@contextmanager
def _for_github(run: "Run", record: "Record", *, is_green: bool) -> Iterator[None]:
    """Print annotations first, then fence the output against workflow commands."""
    from evalsuite.reports.file_formats import annotations, fence_commands, submission_lines, workflow_command
    from evalsuite.reports.record import coverage
    from evalsuite.reports.run_document import run_document

    for command in annotations(run_document(record, places=submission_lines(run)), is_green=is_green):
        print(command)
    if record.summary.is_part:
        print(workflow_command("notice", f"{coverage(record.summary)} scored"))
    with fence_commands(sys.stdout):
        yield


def _write_reference_files(record: "Record", result_dir: Path, level: str | None) -> None:
    """Write the reference's files and print their paths; they respect the reveal `level`."""
    from evalsuite.reports.file_formats import write_reference_files
    from evalsuite.reports.record import redact_record

    for path in write_reference_files(redact_record(record, level), result_dir):
        print(clean(f"wrote {path}"), file=sys.stderr)
