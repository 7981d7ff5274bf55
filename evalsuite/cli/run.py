"""`evalsuite run`: score a submission folder against gold."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.options import GoldDir, ResultDir, Rules, job_count, limits_of, load_plugins, one_of, rule, share
from evalsuite.errors import EXIT_GATE, EXIT_NOTHING, EXIT_OK, EXIT_UNSCORABLE, UsageError

if TYPE_CHECKING:
    from evalsuite.runner.run import Run


CACHE_FOLDER = Path(".evalsuite/cache")


def command(
    submission: Annotated[Path | None, typer.Argument(help="the submission folder", show_default=False)] = None,
    result_dir: ResultDir = None,
    gold: GoldDir = Path("gold"),
    rules: Rules = None,
    only: Annotated[str, typer.Option(help="only these instances, separated by commas", metavar="ID,...")] = "",
    filter_: Annotated[str | None, typer.Option("--filter", help="only instances whose id fits the pattern", metavar="GLOB")] = None,
    group: Annotated[str | None, typer.Option(help="only instances of this group of suite.yaml", metavar="TAG")] = None,
    out: Annotated[Path | None, typer.Option(help="the run folder [default: a new one under .evalsuite/runs]", metavar="DIR")] = None,
    output: Annotated[
        list[Path] | None, typer.Option("-o", "--output", help="also write a report; the ending says the format; may be repeated")
    ] = None,
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
    limit: Annotated[
        list[str] | None, typer.Option(help="set a limit, for example seconds=30; may be repeated", metavar="NAME=VALUE")
    ] = None,
    plugin: Annotated[list[Path] | None, typer.Option(help="a Python file that brings scorers; may be repeated", metavar="FILE.py")] = None,
    resume: Annotated[Path | None, typer.Option(help="go on with the run in this folder, which was interrupted", metavar="RUN")] = None,
) -> int:
    """Score a submission folder against gold, show the report, and save the run."""
    from evalsuite.reports import check_output, write
    from evalsuite.runner.run import Options, run

    load_plugins(plugin)
    for path in output or ():
        check_output(path)
    share(fail_under, "--fail-under")
    options = Options(
        rules=rule(rules),
        only=_ids(only),
        pattern=filter_,
        group=group,
        out=out,
        save=not no_save,
        isolation=one_of(isolation, ("process", "none"), "--isolation"),
        jobs=job_count(jobs),
        limits=limits_of(limit or ()),
        resume=resume,
        cache=None if no_cache else CACHE_FOLDER,
    )
    with _progress(hidden=json_ or quiet) as progress:
        finished = run(_one_folder(submission, result_dir), gold, options, progress=progress)
    if not quiet:
        for note in finished.receipt.get("resume", ()):
            print(f"note: {note}", file=sys.stderr)
    for path in output or ():
        write(finished, path)
    code, line = verdict(finished, fail_under=fail_under, strict=strict, fail_on_unscorable=fail_on_unscorable)
    _print(finished, line, as_json=json_, quiet=quiet)
    return code


def verdict(run: "Run", *, fail_under: float | None, strict: bool, fail_on_unscorable: bool) -> tuple[int, str]:
    """The exit code and the last line that agrees with it; a gate of `suite.yaml` holds where none was given."""
    from evalsuite.reports.words import caused_by, percent

    s = run.summary
    if s.n_submitted == 0:
        return EXIT_NOTHING, f"nothing to score: none of the {s.n_gold} instances was handed in (exit 5)"
    assert s.score is not None
    done = f"done: {percent(s.score)}"
    unjudged = caused_by(s)
    if fail_on_unscorable and unjudged:
        return EXIT_UNSCORABLE, f"{done}, {unjudged} (exit 4)"
    gate = run.gold.suite.fail_under if fail_under is None else fail_under
    if gate is not None and s.score < gate:
        return EXIT_GATE, f"{done}, below the gate of {percent(gate)} (exit 1)"
    faults = sum(r.fault is not None and r.status != "missing" for r in run.results)
    if strict and (faults or run.warnings):
        return EXIT_GATE, f"{done}, {faults} faults and {len(run.warnings)} warnings under --strict (exit 1)"
    return EXIT_OK, f"{done} ({'no gate set' if gate is None else f'gate {percent(gate)} met'})"


def _print(run: "Run", line: str, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        import json

        print(json.dumps(run.to_json(), ensure_ascii=True, indent=2, default=str))
    elif quiet:
        print(line)
    else:
        from rich.console import Console

        from evalsuite.reports.terminal import show

        width = None if sys.stdout.isatty() else 150
        show(run, Console(width=width, highlight=False, soft_wrap=False), last_line=line)


def _ids(only: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in only.split(",") if part.strip())


def _one_folder(submission: Path | None, result_dir: Path | None) -> Path:
    if submission is not None and result_dir is not None:
        raise UsageError("the submission folder is given twice", hint="name it once: `evalsuite run FOLDER` or --result_dir FOLDER")
    folder = submission or result_dir
    if folder is None:
        raise UsageError("no submission folder given", hint="evalsuite run FOLDER --gold gold")
    return folder


def _progress(*, hidden: bool) -> "ProgressBar":
    return ProgressBar(hidden=hidden or not sys.stderr.isatty())


class ProgressBar:
    """A bar with rate and time left on stderr; drawn only on a terminal and only once a run takes longer than a second."""

    def __init__(self, *, hidden: bool) -> None:
        import time

        self._hidden = hidden
        self._started = time.monotonic()
        self._bar: object | None = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()  # type: ignore[attr-defined]

    def __call__(self, done: int, total: int) -> None:
        import time

        if self._hidden or (self._bar is None and time.monotonic() - self._started < 1):
            return
        if self._bar is None:
            self._bar = _rich_bar(total)
        self._bar.update(self._bar.task_ids[0], completed=done)  # type: ignore[attr-defined]


def _rich_bar(total: int) -> object:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("scoring"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.speed:.0f}/s", justify="right"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("scoring", total=total)
    bar.start()
    return bar
