"""The options of `evalsuite run`, each once: a new one is a field of the group that it belongs to."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalsuite.cli.options import AllowUnscored, FailUnder, FrozenClock, Layout, Limit, LiveGold, Mode, Questions, Quiet, limits_of, share
from evalsuite.cli.showing import Showing
from evalsuite.errors import EXIT_GATE, EXIT_NOTHING, EXIT_OK, EXIT_UNSCORABLE, UsageError

if TYPE_CHECKING:
    from evalsuite.run.asked import Options
    from evalsuite.run.finished import Run
    from evalsuite.types import Submission


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the submission lies."""

    submission: Annotated[str | None, typer.Argument(help="the submission folder, or its URL", show_default=False)] = None
    result_dir: Annotated[str | None, typer.Option("--result-dir", "--result_dir", help="the submission folder, or its URL")] = None

    def named_once(self) -> str:
        """The folder or URL. Raises `UsageError` where none or two are named."""
        if self.submission is not None and self.result_dir is not None:
            raise UsageError("the submission folder is given twice", hint="name it once: `evalsuite run FOLDER` or --result_dir FOLDER")
        folder = self.submission or self.result_dir
        if folder is None:
            raise UsageError("no submission folder given", hint="evalsuite run FOLDER --gold gold")
        return folder

    @contextmanager
    def local(self, gold: Path, options: "Options", *, samples: int | None = None) -> Iterator[tuple[Path, "Options"]]:
        """The submission, with the files of all its samples, as a folder of this machine while inside, and options that know its origin."""
        from evalsuite.readers.submission_files import copied, is_remote

        place = self.named_once()
        if not is_remote(place):
            yield Path(place), options
            return
        from evalsuite.gold.layouts import read_gold
        from evalsuite.readers.limits import resolve_limits
        from evalsuite.run.handed_in import read_handed_in

        wanted = read_gold(gold, layout=options.layout)
        limits = resolve_limits(wanted.suite.limits, options.limits)
        modes = [f"sample {at} of {samples}" for at in range(1, samples + 1)] if samples else [None]

        def read(folder: Path) -> "Iterator[Submission]":
            return (read_handed_in(folder, wanted, limits, mode=mode, isolation=options.isolation) for mode in modes)

        with copied(place, limits, read=read) as folder:
            yield folder, replace(options, origin=place)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which instances are scored."""

    only: Annotated[str | None, typer.Option(help="only these instances, separated by commas", metavar="ID,...")] = None
    filter_: Annotated[str | None, typer.Option("--filter", help="only instances whose id fits the pattern", metavar="GLOB")] = None
    group: Annotated[str | None, typer.Option(help="only instances of this group of suite.yaml", metavar="TAG")] = None
    lf: Annotated[bool, typer.Option("--lf", "--last-failed", help="only what was not right in the last run of this gold")] = False
    shard: Annotated[
        str | None, typer.Option(help="only the i-th of n parts; `evalsuite merge` joins their runs", metavar="i/n", show_default=False)
    ] = None

    def options(self, gold: Path) -> dict[str, Any]:
        """The fields of `Options` that these are; under --lf `only` is empty where nothing failed. Raises `UsageError`."""
        from evalsuite.cli.inner_loop import last_failed

        ids = tuple(part.strip() for part in (self.only or "").split(",") if part.strip())
        if self.only is not None and not ids:
            hint = "instance ids with commas between them; without --only all are scored"
            raise UsageError(f"--only {self.only!r} names no instance", hint=hint)
        if self.lf:
            if ids or self.filter_ or self.group:
                raise UsageError("--lf chooses the instances itself", hint="leave out --only, --filter, --group and --resume")
            ids = last_failed(gold)
        shard = None
        if self.shard is not None:
            from evalsuite.run.shards import parse_shard

            shard = parse_shard(self.shard)
        return {"only": ids, "pattern": self.filter_, "group": self.group, "shard": shard}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How gold and answers are read, within which limits, and by whom."""

    limit: Limit = None
    frozen_clock: FrozenClock = None
    layout: Layout = None
    mode: Mode = None
    questions: Questions = None
    live_gold: LiveGold = False
    gold_cache: Annotated[
        Path | None,
        typer.Option("--gold-cache", "--gold_cache", help="keep gold that queries give here, and take it from here", metavar="DIR"),
    ] = None
    as_of: Annotated[
        str | None, typer.Option("--as-of", "--as_of", help="the day that gold queries ask about [default: today]", metavar="YYYY-MM-DD")
    ] = None
    max_bytes_billed: Annotated[
        int | None,
        typer.Option("--max-bytes-billed", help="the most that one BigQuery answer may bill: --limit billed_bytes=N", metavar="N", min=1),
    ] = None
    ves: Annotated[
        bool, typer.Option("--ves", help="also time right answers that are queries beside gold's, as BIRD's VES and R-VES do")
    ] = False
    samples: Annotated[
        int | None,
        typer.Option(help="N lines of results_metadata.jsonl with one id are N samples of its answer: a run each", metavar="N", min=2),
    ] = None
    executor: Annotated[str, typer.Option(help="who scores: this machine, or a dask cluster", metavar="local|dask")] = "local"
    scheduler: Annotated[
        str | None, typer.Option(help="the dask scheduler [default: workers of its own on this machine]", metavar="tcp://HOST:PORT")
    ] = None

    def options(self) -> dict[str, Any]:
        """The fields of `Options` that these are. Raises `UsageError`."""
        if self.gold_cache is not None and self.gold_cache.exists() and not self.gold_cache.is_dir():
            raise UsageError(f"--gold-cache {self.gold_cache}: not a folder", hint="name a folder; it is made where there is none")
        names = ("layout", "mode", "questions", "live_gold", "gold_cache", "as_of", "ves", "executor", "scheduler")
        same = {name: getattr(self, name) for name in names}
        billed = {} if self.max_bytes_billed is None else {"billed_bytes": self.max_bytes_billed}
        return {**same, "limits": {**limits_of(self.limit, self.frozen_clock), **billed}, "tell": _tell}


def _tell(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """The words of the reference's own command that have others here, or no meaning; `--help` leaves them out."""

    max_workers: Annotated[
        int | None, typer.Option("--max_workers", "--max-workers", help="the reference's word for --jobs", min=1, max=256, hidden=True)
    ] = None
    timeout: Annotated[float | None, typer.Option(help="the reference's word for --limit seconds=N", min=0.001, hidden=True)] = None
    temp_dir: Annotated[
        Path | None,
        typer.Option("--temp_dir", "--temp-dir", help="taken and not used: TMPDIR is the folder for temporary files", hidden=True),
    ] = None
    is_sql_debug: Annotated[
        bool, typer.Option("--is_sql_debug", "--is-sql-debug", help="taken and not used: --debug shows what an engine says", hidden=True)
    ] = False

    def over(self, options: "Options") -> "Options":
        """The options with what these say; says so on stderr for those that nothing comes of."""
        for name, given, instead in (
            ("--temp_dir", self.temp_dir, "TMPDIR names the folder"),
            ("--is_sql_debug", self.is_sql_debug, "--debug"),
        ):
            if given:
                print(f"note: {name} has no meaning here: {instead}", file=sys.stderr)
        seconds = {} if self.timeout is None else {"seconds": self.timeout}
        return replace(options, jobs=self.max_workers or options.jobs, limits={**seconds, **options.limits})


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Where the run is saved, and how often and how far it goes."""

    out: Annotated[Path | None, typer.Option(help="the run folder [default: a new one under .evalsuite/runs]", metavar="DIR")] = None
    no_save: Annotated[bool, typer.Option("--no-save", help="write no run folder")] = False
    sign: Annotated[Path | None, typer.Option(help="sign the run with this private key, see `evalsuite keys`", metavar="KEY")] = None
    resume: Annotated[Path | None, typer.Option(help="go on with the run in this folder, which was interrupted", metavar="RUN")] = None
    exitfirst: Annotated[bool, typer.Option("-x", "--exitfirst", help="stop at the first instance that is not right and exit 1")] = False
    watch: Annotated[bool, typer.Option("--watch", help="score again whenever a file changes; saves no run unless --out names one")] = False

    def options(self) -> dict[str, Any]:
        """The fields of `Options` that these are. Raises `UsageError`."""
        if self.watch and self.resume is not None:
            raise UsageError("--watch and --resume exclude each other", hint="finish the run with --resume first")
        if self.sign is not None:
            from evalsuite.store.signing import read_key

            if self.no_save or self.watch:
                raise UsageError("--sign needs a run that is saved once", hint="leave out --no-save and --watch")
            read_key(self.sign)
        return {"out": self.out, "resume": self.resume, "save": not self.no_save and (self.out is not None or not self.watch)}


@dataclass(frozen=True, kw_only=True)
class Printing(Showing):
    """What is shown of the run, and where."""

    json_: Annotated[bool, typer.Option("--json", help="print the run.json object and nothing else")] = False
    quiet: Quiet = False
    github: Annotated[bool, typer.Option("--github", help="also print GitHub annotations, and write the summary of the job")] = False
    reference_files: Annotated[
        bool,
        typer.Option("--reference-files", "--reference_files", help="also write the reference's files: RESULT_DIR-ids.csv and log.txt"),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Gates:
    """What makes the exit code of a scored run other than 0."""

    fail_under: FailUnder = None
    strict: Annotated[bool, typer.Option("--strict", help="exit 1 on any fault or warning (not the strict rules: --rules strict)")] = False
    fail_on_unscorable: Annotated[
        bool, typer.Option("--fail-on-unscorable", help="exit 4 where gold or the tool kept an instance from being judged")
    ] = False
    allow_unscored: AllowUnscored = False

    def check(self) -> None:
        """Raise `UsageError` for a gate that nothing could meet."""
        share(self.fail_under, "--fail-under")

    def verdict(self, run: "Run") -> tuple[int, str]:
        """The exit code and the last line that agrees with it; a gate of `suite.yaml` holds where none was given.

        A gate that is not met comes first: then what nobody could judge here, where a judge, connection, database or extra is absent.
        """
        from evalsuite.outcome import lacks_setup
        from evalsuite.reports.words import caused_by, coverage, percent, score_words

        s = run.summary
        if s.n_submitted == 0:
            return EXIT_NOTHING, f"nothing to score: none of the {coverage(s)} was handed in (exit 5)"
        done = f"done: {score_words(s)}"
        gate = run.gold.suite.fail_under if self.fail_under is None else self.fail_under
        if gate is not None and (s.score is None or s.score < gate):
            return EXIT_GATE, f"{done}, below the gate of {percent(gate)} (exit 1)"
        faults = sum(r.fault is not None and r.status != "missing" for r in run.results)
        if self.strict and (faults or run.warnings):
            return EXIT_GATE, f"{done}, {faults} faults and {len(run.warnings)} warnings under --strict (exit 1)"
        unjudged = caused_by(s)
        if unjudged and (self.fail_on_unscorable or (not self.allow_unscored and any(map(lacks_setup, run.results)))):
            return EXIT_UNSCORABLE, f"{done}, {unjudged} (exit 4)"
        return EXIT_OK, f"{done} ({'no gate set' if gate is None else f'gate {percent(gate)} met'})"
