"""`evalsuite run`: score a submission folder against gold."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.cli.inner_loop import FirstFailure, Moves, StopAtFirst, watch, with_known_folder
from evalsuite.cli.options import GoldDir, Scoring
from evalsuite.cli.run_options import Choice, Gates, Place, Printing, Reading, Saving, Upstream
from evalsuite.cli.showing import ProgressBar, lost, run_report, with_lost, write_all
from evalsuite.errors import EXIT_GATE, EXIT_OK, UsageError
from evalsuite.reports.clean import clean

if TYPE_CHECKING:
    from evalsuite.reports.record import Record
    from evalsuite.run.asked import Options
    from evalsuite.run.finished import Run
    from evalsuite.workers.start import Zygote


def run_command(
    place: Place,
    gold: GoldDir = Path("gold"),
    *,
    which: Choice,
    how: Scoring,
    reading: Reading,
    saving: Saving,
    shown: Printing,
    gates: Gates,
    upstream: Upstream,
) -> int:
    """Score a submission folder against gold, show the report, and save the run."""
    from evalsuite.run.asked import Options

    how.load()
    shown.check()
    gates.check()
    if shown.json_ and (shown.github or saving.watch):
        hint = "-o FILE.json writes a file"
        raise UsageError(f"--json and {'--github' if shown.github else '--watch'} exclude each other", hint=hint)
    place.named_once()
    if which.lf and saving.resume:
        raise UsageError("--lf chooses the instances itself", hint="leave out --only, --filter, --group and --resume")
    asked = {**which.options(gold), **how.options(), **reading.options(), **saving.options()}
    options = upstream.over(Options(**asked | {"layout": how.evaluator or reading.layout}))
    if which.lf and not options.only:
        print("done: nothing failed in the last run of this gold")
        return EXIT_OK
    with _started(place, saving) as zygote, place.local(gold, options, samples=reading.samples) as (folder, options):
        if shown.reference_files:
            _check_reference_files(folder)
        if reading.samples is not None:
            from evalsuite.cli.sample_runs import refuse_with_samples, score_samples

            refuse_with_samples(which, saving, shown)
            return score_samples(folder, gold, options, gates, shown, reading.samples, zygote)
        once = partial(score_once, folder, gold, options, gates, shown, zygote, exitfirst=saving.exitfirst, sign=saving.sign)
        if not saving.watch:
            return once()
        if options.origin:
            raise UsageError("--watch cannot look at a URL", hint="watch a folder")
        beside = [place for place in (options.judge, options.questions) if place is not None]
        written = [*(shown.output or ()), *([saving.out] if saving.out is not None else ())]
        return watch([folder, gold, *beside], partial(once, moves=Moves()), written=written)


@contextmanager
def _started(place: Place, saving: Saving) -> Iterator["Zygote | None"]:
    """The zygote of the command's runs: it starts while this process imports what a run needs."""
    from evalsuite.garbage import give_back_large_pieces
    from evalsuite.workers.start import forking

    give_back_large_pieces()
    with forking(Path(place.named_once())) as zygote:
        try:
            import evalsuite.reports.record
            import evalsuite.run.scoring  # noqa: F401 - each function imports what it needs of them
        except KeyboardInterrupt:
            raise KeyboardInterrupt("" if saving.resume is not None else "interrupted: nothing is saved") from None
        yield zygote


def score_once(
    folder: Path,
    gold: Path,
    options: "Options",
    gates: Gates,
    shown: Printing,
    zygote: "Zygote | None",
    *,
    exitfirst: bool,
    sign: Path | None = None,
    moves: Moves | None = None,
) -> int:
    """Score, write and print as asked, with what moved where there are `moves`; the exit code."""
    from evalsuite.reports.record import record_of_run, revealed
    from evalsuite.store.signing import read_key, sign_run

    key = read_key(sign) if sign is not None else None
    try:
        with ProgressBar(hidden=shown.json_ or shown.quiet) as progress:
            finished = _finished(folder, gold, options, progress, zygote, exitfirst=exitfirst)
    except FirstFailure as failure:
        return _stopped(failure, gold, shown.reveal)
    if key is not None and finished.folder is not None:
        sign_run(finished.folder, key)
    if not shown.quiet:
        for note in finished.receipt.get("resume", ()):
            print(f"note: {note}", file=sys.stderr)
    record = record_of_run(finished, shown.labels)
    if shown.labels is not None and finished.folder is not None:
        from evalsuite.store.given_labels import keep_labels

        keep_labels(shown.labels, finished.folder)
    n_lost = write_all(run_report(record, shown.reveal), shown.output) if shown.output else 0
    if shown.reference_files:
        n_lost += lost(lambda: _write_reference_files(record, folder, shown.reveal))
    if shown.github:
        from evalsuite.reports.ci_files import add_to_summary

        n_lost += lost(lambda: add_to_summary(revealed(record, shown.reveal)))
    code, line = with_lost(*gates.verdict(finished), n_lost)
    seen = revealed(record, shown.reveal)
    moved = moves.since_last(seen) if moves is not None else []
    with _for_github(finished, seen, is_green=code == EXIT_OK) if shown.github else nullcontext():
        if shown.json_:
            print(json.dumps(seen.run, ensure_ascii=True, indent=2, default=str))
        elif shown.quiet:
            print(*map(clean, moved), line, sep="\n")
        else:
            shown.print(seen, line, moved, options.databases)
    return code


def _finished(folder: Path, gold: Path, options: "Options", progress: ProgressBar, zygote: "Zygote | None", *, exitfirst: bool) -> "Run":
    """The whole run. Raises `FirstFailure` under `exitfirst`, where one is found."""
    from evalsuite.run.scoring import run

    if not exitfirst:
        return run(folder, gold, options, progress=progress, zygote=zygote)
    from evalsuite.walls.scratch import ScratchFolder

    with ScratchFolder() as spare:
        known = with_known_folder(options, folder.resolve().name, spare / "run")
        place = known.resume or known.out
        assert place is not None
        stop = StopAtFirst(place, progress, saved=options.save, resumed=known.resume is not None)
        finished = run(folder, gold, known, progress=stop, zygote=zygote)
        return finished if options.save else replace(finished, folder=None)


def _stopped(failure: FirstFailure, gold: Path, level: str | None) -> int:
    """Show the instance that ended the run; the exit code is that of a gate not met."""
    from evalsuite.gold.layouts import read_gold
    from evalsuite.reports.instance import instance_text
    from evalsuite.reveal import default_level, reveal
    from evalsuite.types import Result

    hidden = bool(read_gold(gold).suite.extra.get("hidden"))
    result = reveal(Result(**failure.row), level or default_level(hidden=hidden))
    print(instance_text(result))
    on = f"; go on with --resume {failure.folder}" if failure.folder is not None else ""
    print(clean(f"done: stopped at {result.instance_id}, which is not right, after {failure.n_scored} scored (exit {EXIT_GATE}){on}"))
    return EXIT_GATE


@contextmanager
def _for_github(run: "Run", record: "Record", *, is_green: bool) -> Iterator[None]:
    """Annotations first, then whatever is printed inside, fenced from GitHub's commands."""
    from evalsuite.reports.ci_files import annotations, fenced, places_of, workflow_command
    from evalsuite.reports.run_document import run_document
    from evalsuite.reports.words import coverage

    for command in annotations(run_document(record, places=places_of(run)), is_green=is_green):
        print(command)
    if record.summary.is_part:
        print(workflow_command("notice", f"{coverage(record.summary)} scored"))
    with fenced(sys.stdout):
        yield


def _check_reference_files(folder: Path) -> None:
    """Raise what writing the reference's files would raise at the end."""
    from evalsuite.reports import check_writable
    from evalsuite.reports.reference_files import reference_places

    for path in reference_places(folder):
        check_writable(path)


def _write_reference_files(record: "Record", result_dir: Path, level: str | None) -> None:
    """Write the files that the reference leaves behind, and say where; what `level` hides of gold stands in none of them."""
    from evalsuite.reports.record import revealed
    from evalsuite.reports.reference_files import write_reference_files

    for path in write_reference_files(revealed(record, level), result_dir):
        print(clean(f"wrote {path}"), file=sys.stderr)
