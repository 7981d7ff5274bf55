"""`evalsuite runs`, `report`, `margins`, `sql`, `view`, `rescore`, `drift`, `verify` and `merge`: commands on saved runs."""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from evalsuite.cli import options as opt
from evalsuite.cli.commands import commands_of_group
from evalsuite.cli.options import Argument, Option
from evalsuite.cli.showing import (
    Outputs,
    ProgressBar,
    Reveal,
    Showing,
    add_write_failures,
    apply_gate,
    check_showing,
    is_open,
    print_document,
    run_report,
    write_all,
)
from evalsuite.compare.characters import clean
from evalsuite.core.errors import EXIT_GATE, EXIT_NOTHING, EXIT_OK, EXIT_UNSCORABLE, UsageError, count_words, reason_of
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.scores import Rule
from evalsuite.core.status import check_level, default_level, redact
from evalsuite.core.types import Result
from evalsuite.reports.document import grade, percent
from evalsuite.reports.record import record_of_entry, redact_record, score_words, submission_place, unjudged_words
from evalsuite.runs.history import (
    Policy,
    find_left_behind,
    find_named_run,
    find_outdated,
    find_runs,
    find_unreadable,
    is_changed,
    one_run,
    reading_failure,
    remove,
    remove_run,
    submission_folder,
    tag_run,
)
from evalsuite.runs.run_folder import MAY_BE_WRONG, NOT_AS_WRITTEN, RUN, is_held, prune_command
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.summary import Summary, judged_words

_LOOPBACK = "127.0.0.1"
_DAY = re.compile(r"\d{4}(-?\d{2}){0,2}")


def _filter_words(*values: str | None) -> str:
    """Return the filters of `runs list` as they are typed; an empty text is a filter too."""
    options = ("--suite", "--model", "--tag", "--since", "--until")
    return " ".join(f"{option} {value!r}" for option, value in zip(options, values, strict=True) if value is not None)


def runs_list(
    runs: opt.RunsFolder = opt.RUNS,
    suite: Annotated[str | None, Option(help="only runs of suites that match the pattern", metavar="GLOB")] = None,
    model: Annotated[str | None, Option(help="only runs of models that match the pattern", metavar="GLOB")] = None,
    tag: Annotated[str | None, Option(help="only runs with this tag")] = None,
    since: Annotated[str, Option(help="only runs from this day on", metavar="YYYY-MM-DD", show_default=False)] = "",
    until: Annotated[str, Option(help="only runs up to this day", metavar="YYYY-MM-DD", show_default=False)] = "~",
) -> int:
    """List the saved runs, oldest first, with suite, scores under both rules, model and tags."""
    _check_day("--since", since)
    _check_day("--until", until)
    entries = find_runs(runs, suite=suite, model=model, tag=tag, since=since, until=until)
    for entry in entries:
        summary = entry.run.get("summary", {})
        official, strict = ("-" if (share := summary.get(rules)) is None else percent(share) for rules in ("official", "strict"))
        scores = f"official {official}  strict {strict}"
        if raw := summary.get("raw"):
            scores = f"{raw['scorer']} mean {raw['mean']:.4g}"
        n, n_gold = summary.get("n_gold"), entry.run.get("gold", {}).get("n_instances")
        part = f"on {n} of {n_gold} instances  " if n is not None and n_gold is not None and n < n_gold else ""
        part += f"{judged}  " if (judged := judged_words(summary)) else ""
        about = " ".join(str(entry.metadata.get(key, "")) for key in ("model_name", "model_version")).strip()
        tags = " ".join(f"#{tag}" for tag in entry.tags)
        print(clean(f"{entry.name}  {entry.suite}  {scores}  {part}{about} {tags}".rstrip()))
    if not entries:
        filter_words = _filter_words(suite, model, tag, since or None, until.rstrip("~") or None)
        n = len(find_runs(runs)) if filter_words else 0
        print(clean(f"none of {n} runs in {runs} matches {filter_words}" if n else f"no runs in {runs}"))
    _print_unreadable(runs, {entry.name for entry in entries})
    _print_note([entry.name for entry in entries if is_changed(entry.folder)], f"{RUN} {NOT_AS_WRITTEN}{MAY_BE_WRONG}")
    return EXIT_OK


def runs_show(run: opt.RunName, runs: opt.RunsFolder = opt.RUNS) -> int:
    """Show one run: its metadata, its numbers, and the contexts of its answers if saved."""
    from evalsuite.reports.run_document import number_lines
    from evalsuite.runs.submission_reader import read_contexts

    entry = one_run(run, runs)
    gold, submission = entry.run["gold"], entry.run["submission"]
    rows = [("run", entry.name), ("tags", " ".join(f"#{name}" for name in entry.tags) or "none")]
    scored = f"{submission_place(entry.run)} ({submission.get('hash', 'no digest')})"
    rows += [("submission", scored), ("gold", f"{gold['name']} in {gold['folder']}")]
    rows += [(key.replace("_", " "), str(value)) for key, value in entry.metadata.items()]
    rows += number_lines(record_of_entry(entry))
    for key, value in rows:
        print(clean(f" {key:<18} {value}"))
    ids = [result.instance_id for result in entry.results()]
    for name, context in read_contexts(submission_folder(entry.folder, entry.run), ids).items():
        print(clean(f" {'context':<18} {name}: {context}"))
    return EXIT_OK


def runs_tag(
    run: opt.RunName,
    add: Annotated[list[str] | None, Option(help="a tag to add; may be repeated")] = None,
    remove: Annotated[list[str] | None, Option(help="a tag to remove; may be repeated")] = None,
    runs: opt.RunsFolder = opt.RUNS,
) -> int:
    """Add tags to a run or remove them, and show its tags."""
    if not all(name.strip() for name in add or ()):
        raise UsageError("a tag cannot be blank", hint="--add release")
    tags = tag_run(one_run(run, runs), add=add or (), remove=remove or ())
    print(clean(" ".join(f"#{name}" for name in tags)) or "no tags")
    return EXIT_OK


def runs_rm(run: opt.RunName, runs: opt.RunsFolder = opt.RUNS) -> int:
    """Delete a run folder."""
    entry = one_run(run, runs)
    remove_run(entry)
    print(f"deleted {entry.folder}")
    return EXIT_OK


def runs_prune(
    keep: Annotated[
        int | None, Option(help="how many of the newest runs of each suite and model to keep [default: with --unfinished all]", metavar="N")
    ] = None,
    before: Annotated[str, Option(help="delete only runs from before this day", metavar="YYYY-MM-DD", show_default=False)] = "",
    drop_best: Annotated[bool, Option("--drop-best", help="also delete the best run of a suite")] = False,
    unfinished: Annotated[bool, Option("--unfinished", help="also delete unfinished runs")] = False,
    yes: Annotated[bool, Option("--yes", help="delete them; without it they are only listed")] = False,
    runs: opt.RunsFolder = opt.RUNS,
) -> int:
    """List the runs that a policy would delete, or with --yes delete them. Tagged runs and the best run of each suite are kept."""
    _check_day("--before", before)
    if keep is None and not unfinished:
        raise UsageError("no policy given", hint="--keep N, --unfinished or both")
    policy = Policy(keep=keep or 0, before=before.replace("-", ""), keeps_best=not drop_best, unfinished=unfinished)
    entries, folders = [] if keep is None else find_outdated(runs, policy), find_left_behind(runs, policy)
    for entry in entries:
        print(clean(f"{entry.name}  {entry.suite}"))
    for folder in folders:
        print(clean(f"{folder.name}  not finished"))
    n = len(entries) + len(folders)
    if not yes:
        print(f"{count_words(n, 'run')} would be deleted: add --yes" if n else clean(f"no run in {runs} would be deleted"))
        return EXIT_OK
    remaining = list(remove(entries, folders))
    for why in remaining:
        print(clean(f"kept: {why}"), file=sys.stderr)
    print(f"deleted {count_words(n - len(remaining), 'run')}")
    return EXIT_GATE if remaining else EXIT_OK


def _check_day(option: str, day: str) -> None:
    if day not in ("", "~") and not _DAY.fullmatch(day):
        raise UsageError(f"{option} cannot be {day!r}", hint="write a day as 2026-11-21, a month as 2026-11")


def _print_unreadable(runs: Path, names: set[str]) -> None:
    """Print to stderr which folders of a list are unreadable, and what to do."""
    unfinished, damaged = find_unreadable(runs, names)
    running = [folder.name for folder in unfinished if is_held(folder)]
    stopped = [folder.name for folder in unfinished if folder.name not in running]
    _print_note(running, "being written by another run")
    _print_note(stopped, f"not finished: `evalsuite run ... --resume DIR` continues, `{prune_command(runs)} --yes` deletes")
    _warn_of_damage(runs, [folder.name for folder in damaged])


def _warn_of_damage(runs: Path, names: Sequence[str]) -> None:
    failures = {name: reading_failure(runs / name) for name in names}
    _print_note([name for name in names if failures[name] is None], "no run that can be read: damaged, or not written by evalsuite")
    for reason in dict.fromkeys(reason_of(failure) for failure in failures.values() if failure is not None):
        cannot_read = [name for name, failure in failures.items() if failure is not None and reason_of(failure) == reason]
        _print_note(cannot_read, f"this machine cannot read the run: {reason}")


def _tell(runs: Path, left_out: Sequence[str], changed: Mapping[str, str]) -> None:
    _warn_of_damage(runs, left_out)
    _print_note([*changed], f"{' or '.join(sorted({*changed.values()}))} {NOT_AS_WRITTEN}{MAY_BE_WRONG}")


def _print_note(names: Sequence[str], is_what: str) -> None:
    if names:
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        print(clean(f"note: {', '.join(names[:3])}{more}: {is_what}"), file=sys.stderr)


def report_command(printing: Showing, run: opt.LastRun = None, runs: opt.RunsFolder = opt.RUNS) -> int:
    """Show a saved run, or with -o write it to files in the format of their ending."""
    from evalsuite.runs.submission_reader import saved_exchanges

    printing.check()
    entry = opt.run_or_last(run, runs)
    record = record_of_entry(entry, printing.labels, exchanges=saved_exchanges(entry))
    n_lost, document = 0, run_report(record, printing.reveal)
    for path in printing.output or ():
        if write_all(document, [path]):
            n_lost += 1
        else:
            print(f"wrote {path}")
    if not printing.output:
        printing.print(redact_record(record, printing.reveal), None)
    return EXIT_GATE if n_lost else EXIT_OK


def margins_command(
    run: opt.LastRun = None,
    runs: opt.RunsFolder = opt.RUNS,
    rules: Annotated[Rule | None, Option(help="which verdict is the score [default: the run's]")] = None,
    output: Outputs = None,
    reveal: Reveal = None,
    json_: Annotated[bool, Option("--json", help="print the curve as JSON and nothing else")] = False,
) -> int:
    """Show how a saved run's score depends on the tolerance of numbers, and which verdicts are close.

    Each table, number and tree result stores in `details.margin` the smallest tolerance at which its verdict changes. A margin that
    the run left out, because it costs more than a tenth of a verdict, is computed here.
    """
    from evalsuite.analysis.explain.instance_evidence import add_margins
    from evalsuite.analysis.leaderboard.reliability import find_margins
    from evalsuite.reports.analysis_documents import margins_document

    check_showing(output or (), reveal)
    record = record_of_entry(opt.run_or_last(run, runs))
    level = reveal or default_level(hidden=record.hides_gold)
    results, note = add_margins(record)
    margins = find_margins(record.name, results, rules, label=record.rules_label, note=note)
    document = margins_document(margins, names_instances=level == "cells")
    n_lost = write_all(document, output or ())
    print_document(document, "json" if json_ else "text")
    return EXIT_GATE if n_lost else EXIT_OK


def sql_command(
    statement: Annotated[str, Argument(metavar="SELECT", help="one SELECT over the tables runs, results and fields")],
    runs: opt.RunsFolder = opt.RUNS,
    json_: Annotated[bool, Option("--json", help="print one JSON object a row")] = False,
    level: Reveal = None,
) -> int:
    """Query the saved runs with SQL, read-only."""
    from evalsuite.runs.history_index import holds_runs, query

    check_level(level)

    def cut(hidden: bool) -> Callable[["Result"], "Result"] | None:
        allowed = level or default_level(hidden=hidden)
        return None if allowed == "cells" else lambda result: redact(result, allowed)

    names, rows = query(statement, runs, cut=cut, tell=partial(_tell, runs))
    if not holds_runs(runs):
        print(clean(f"note: no runs in {runs}"), file=sys.stderr)
    if not json_:
        print("\t".join(clean(name) for name in names))
    for row in rows:
        if json_:
            print(json.dumps(dict(zip(names, row, strict=True)), default=str))
        else:
            print("\t".join("" if value is None else clean(str(value)) for value in row))
    return EXIT_OK


def view_command(
    folder: Annotated[
        Path | None,
        Argument(
            metavar="[DIR]", help="a run, `.evalsuite`, a folder of runs, or a Bench folder [default: .evalsuite and $BENCH_FILE_DIR]"
        ),
    ] = None,
    port: Annotated[int, Option(help="the port to listen on; 0 takes a free one", metavar="PORT", min=0, max=65535)] = 0,
    host: Annotated[str, Option(help="the address to listen on; any other than loopback lets others read everything shown")] = _LOOPBACK,
    browser: Annotated[bool, Option("--open", help="also open it in the browser")] = False,
) -> int:
    """Show suites and runs in a browser, from this machine only; it writes only the labels that you give.

    Without a folder it also names the page of the last run, which --open opens.
    """
    from evalsuite.reports.viewer.app import serve
    from evalsuite.reports.viewer.library import safe_id

    last = [f"runs/{safe_id(entry.name)}" for entry in find_runs()[-1:] if folder is None]
    if folder is not None and not exists(folder) and (entry := find_named_run(str(folder))):
        folder, last = entry.folder, []

    def show_address(address: str) -> None:
        if host not in (_LOOPBACK, "localhost", "::1"):
            print(f"warning: whoever reaches {clean(host)} can read every run and its gold; there is no password", file=sys.stderr)
        print(f"viewer at {clean(address)}  (Ctrl-C ends it)", *(f"last run  {address}{page}" for page in last), sep="\n", flush=True)
        if browser:
            import webbrowser

            webbrowser.open("".join([address, *last]))

    try:
        serve(folder, host=host, port=port, announce=show_address)
    except KeyboardInterrupt:
        # Ctrl-C is the usual end, not a failure.
        print("viewer ended")
    return EXIT_OK


# Most changed verdicts that `rescore` prints.
_MOST_CHANGES = 20


def rescore_command(
    run: opt.RunName,
    scorer_version: Annotated[
        str | None,
        Option(
            help="fail unless this version of evalsuite is installed; `same` is the run's. Scorers have no version of their own",
            metavar="VERSION|same",
        ),
    ] = None,
    submission: opt.SubmissionNow = None,
    gold: opt.GoldNow = None,
    questions: opt.Questions = None,
    *,
    how: opt.Scoring,
    runs: Annotated[Path, Option(help="the folder of runs; the new one is saved there", metavar="DIR")] = opt.RUNS,
    json_: Annotated[bool, Option("--json", help="print the new run.json object and nothing else")] = False,
    quiet: opt.Quiet = False,
    allow_unscored: opt.AllowUnscored = False,
) -> int:
    """Score a saved run's submission again, under other rules or with the installed versions, and save it as a new run.

    Submission and gold must be unchanged since the run. Metadata and label are kept; the new run names the old one.
    """
    from evalsuite.runs.rescoring import rescore

    how.load()
    options, entry = RunOptions(runs_folder=runs, questions=questions, **how.options()), one_run(run, runs)
    how.check_evaluator(entry.run.get("gold", {}).get("layout"), entry.name)
    with ProgressBar(hidden=json_ or quiet) as progress:
        sides: dict[str, Any] = {"submission": opt.local_folder(submission), "gold": gold, "version": scorer_version}
        done = rescore(entry, rules=options.rules, options=options, progress=progress, **sides)
    for note in done.notes:
        print(clean(f"note: {note}"), file=sys.stderr)
    code, open_note = _verdict_on_unjudged(done.run.results, done.run.summary, allowed=allow_unscored)
    if json_:
        print(json.dumps(done.run.to_json(), indent=2, default=str))
        return code
    if not quiet:
        for text in done.signature_changes:
            print(clean(f" {text}"))
        for name, *scores in done.changed[:_MOST_CHANGES]:
            before, after = map(grade, scores)
            print(clean(f" {name}: {before} -> {after}"))
        if len(done.changed) > _MOST_CHANGES:
            print(f" ... {len(done.changed) - _MOST_CHANGES} more")
        print(f" saved {done.run.folder}")
    print(f"done: {score_words(done.run.summary)}, {len(done.changed)} of {len(done.run.results)} verdicts changed{open_note}")
    return code


def drift_command(
    run: Annotated[list[str] | None, Argument(metavar="[RUN]...", help="runs by name or folder [default: all]")] = None,
    fail_on_drift: Annotated[
        bool, Option("--fail-on-drift", help="exit 1 if a verdict changed, 4 if one could not be scored again")
    ] = False,
    runs: opt.RunsFolder = opt.RUNS,
    gold: opt.GoldNow = None,
    databases: opt.Databases = None,
    frozen_clock: opt.FrozenClock = None,
    output: Outputs = None,
    json_: opt.Json = False,
    *,
    workers: opt.Workers,
    code: opt.Code,
) -> int:
    """Score saved runs again with the installed versions; show which verdicts changed and which parts of the signature.

    Nothing is saved. A run with a missing or changed submission is reported and skipped. With --fail-on-drift the exit code is 1 if a
    verdict changed, 4 if a run or verdict could not be scored again, 5 if there is no run.
    """
    from evalsuite.reports.analysis_documents import drift_document
    from evalsuite.runs.rescoring import FROM, by_component, find_drifts

    check_showing(output or (), None)
    code.load()
    entries = [one_run(name, runs) for name in run] if run else [entry for entry in find_runs(runs) if FROM not in entry.metadata]
    limits = opt.parse_limits(None, frozen_clock)
    options = RunOptions(allow_programs=code.allow_programs, databases=databases, limits=limits, **workers.options())
    with ProgressBar(hidden=json_) as progress:
        changes = list(find_drifts(entries, options, gold=gold, progress=progress))
    document = drift_document(changes, by_component(changes))
    n_lost = write_all(document, output or ())
    print_document(document, "json" if json_ else "text")
    n_moved, n_open = sum(len(change.moved) for change in changes), sum(bool(change.problem) for change in changes)
    note = f", {n_open} not scored again" if n_open else ""
    # A gate without complete data is not met.
    missed = EXIT_GATE if n_moved else EXIT_UNSCORABLE if n_open else EXIT_OK if changes else EXIT_NOTHING
    gate = missed if fail_on_drift else EXIT_OK
    ends = f" (exit {gate})" if gate else ""
    code_, line = add_write_failures(
        gate, f"done: {count_words(n_moved, 'verdict')} moved in {count_words(len(changes), 'run')}{note}{ends}", n_lost
    )
    if not json_:
        print(line)
    return code_


def _verdict_on_unjudged(results: Sequence["Result"], summary: "Summary", *, allowed: bool, gate: float | None = None) -> tuple[int, str]:
    """Return the exit code and the end of the last line if unjudged instances leave the outcome open."""
    ends_so = not allowed and is_open(summary, results, gate)
    return (EXIT_UNSCORABLE, f", {unjudged_words(summary)} (exit {EXIT_UNSCORABLE})") if ends_so else (EXIT_OK, "")


def verify_command(
    run: opt.RunName,
    sample: Annotated[int | None, Option(help="score this many instances again, chosen at random [default: all]", metavar="N")] = None,
    seed: Annotated[int | None, Option(help="the seed of the sample [default: a new one, printed]", metavar="N")] = None,
    submission: opt.SubmissionNow = None,
    gold: opt.GoldNow = None,
    databases: opt.Databases = None,
    questions: opt.Questions = None,
    key: opt.PublicKey = None,
    runs: opt.RunsFolder = opt.RUNS,
    json_: opt.Json = False,
    *,
    workers: opt.Workers,
    code: opt.Code,
) -> int:
    """Verify a saved run: its rows cover gold, each row is the same when scored again, and its numbers follow from its rows.

    RUN may also be a receipt of a leaderboard's site, `submissions/NAME-*.json`.

    Works offline. Exit 0 if every row of gold was verified, 1 if anything differs, 4 if rows were left out. Claims that cannot be checked
    are listed as not verified.
    """
    from evalsuite.analysis.receipts.verification import verify, verify_receipt
    from evalsuite.reports.analysis_documents import verified_document

    code.load()
    if sample is not None and sample < 1:
        raise UsageError(f"--sample must be at least 1, found {sample}", hint="leave it out to score all again")
    sides: dict[str, Any] = {"submission": opt.local_folder(submission), "gold": gold, "key": key}
    how = {"databases": databases, "questions": questions, "allow_programs": code.allow_programs, **workers.options()}
    with ProgressBar(hidden=json_) as progress:
        if is_file(Path(run)):
            if sample is not None or seed is not None:
                raise UsageError("--sample needs a run", hint="of a receipt all is scored again: leave it out")
            verified = verify_receipt(Path(run), options=RunOptions(**how), **sides, progress=progress)
        else:
            folder = next((place for place in (Path(run), runs / run) if is_dir(place)), None) or one_run(run, runs).folder
            verified = verify(folder, sample=sample, seed=seed, **sides, **how, progress=progress)
    if json_:
        print(json.dumps(verified.to_json()))
    else:
        print_document(verified_document(verified))
    return verified.exit_code


def merge_command(
    runs: Annotated[list[Path], Argument(help="the run folders of all shards, in any order", metavar="RUN...")],
    out: Annotated[Path, Option(help="the folder of the whole run", metavar="DIR")],
    output: Outputs = None,
    reveal: Reveal = None,
    fail_under: opt.FailUnder = None,
    allow_unscored: opt.AllowUnscored = False,
    quiet: opt.Quiet = False,
) -> int:
    """Merge the runs of `run --shard 1/n` to `run --shard n/n` into one run, and show its report.

    The merged run equals a run of the whole. Shards of different gold, submissions, options or versions are refused, and so are missing or
    repeated shards.
    """
    from evalsuite.runs.rescoring import merge
    from evalsuite.runs.submission_reader import saved_exchanges

    opt.check_share(fail_under, "--fail-under")
    check_showing(output or (), reveal)
    whole = merge(runs, out)
    record = record_of_entry(whole, exchanges=saved_exchanges(whole))
    n_lost = write_all(run_report(record, reveal), output or ())
    done = f"done: {score_words(record.summary)} from {count_words(len(runs), 'shard')}"
    code, line = apply_gate(done, record.summary.score, fail_under)
    unjudged, open_note = _verdict_on_unjudged(record.results, record.summary, allowed=allow_unscored, gate=fail_under)
    if code == EXIT_OK and (unjudged or fail_under is None):
        code, line = unjudged, done + open_note
    code, line = add_write_failures(code, clean(line), n_lost)
    if quiet:
        print(line)
    else:
        Showing().print(redact_record(record, reveal), line)
    return code


runs_commands = opt.Group.from_class(runs_list, runs_show, runs_tag, runs_rm, runs_prune, default="list", more=commands_of_group("runs"))
