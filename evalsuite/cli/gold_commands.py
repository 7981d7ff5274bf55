"""`evalsuite gold`: what can be said about gold itself."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.gold_review_commands import GoldFolder, GoldWorkers, gold_audit, gold_errata, gold_review, gold_suspects
from evalsuite.cli.options import Databases, FrozenClock, Group, Json, Layout, Plugins, limits_of, load_plugins, one_of, share
from evalsuite.cli.showing import print_document
from evalsuite.errors import EXIT_GATE, EXIT_OK, UsageError
from evalsuite.reports.clean import clean


def gold_check(
    gold: GoldFolder,
    fail_under: Annotated[
        float | None,
        typer.Option(
            "--fail-under",
            help="exit 1 where gold scores less than this under official [default: where an instance lacks full marks under its own rules]",
            metavar="0-1",
        ),
    ] = None,
    databases: Databases = None,
    frozen_clock: FrozenClock = None,
    no_save: Annotated[bool, typer.Option("--no-save", help="do not keep the ceiling for later reports")] = False,
    *,
    workers: GoldWorkers,
    json_: Json = False,
) -> int:
    """Hand gold in as its own answer: the ceiling of the suite under both rules, and each check that refuses its own gold.

    Exit code 1 where an instance's gold does not get full marks under its own rules, or a gold file is not there, and neither
    gold.errata.yaml nor the instance's lint_ignore answers for it.
    """
    from evalsuite.audit.own_gold import check_gold
    from evalsuite.readers.gold_files import find_spec
    from evalsuite.reports import check_writable
    from evalsuite.reports.gold_documents import gold_check_document, gold_check_verdict
    from evalsuite.store.ceiling import CEILINGS_FOLDER, WITHOUT, keep_ceiling

    share(fail_under, "--fail-under")
    how, limits = workers.options(), limits_of(None, frozen_clock)
    # What gold scores on one day is no ceiling of reports on others.
    no_save = no_save or bool(limits)
    find_spec(gold)
    if not no_save:
        check_writable(CEILINGS_FOLDER / "ceiling.json", hint=WITHOUT)
    found = check_gold(gold, databases=databases, limits=limits, **how)
    kept = None if no_save else keep_ceiling(found.ceiling, [one.to_json() for one in found.unsatisfied])
    print_document(gold_check_document(found, gold.name), "json" if json_ else "text", last_line="")
    if not json_:
        print(clean(f"saved {kept}: reports of this suite print it" if kept else "not saved"))
    ceiling = found.ceiling
    if fail_under is None:
        fails, line = bool(found.failing), gold_check_verdict(found)
    else:
        fails = bool(ceiling.n) and ceiling.official / ceiling.n < fail_under
        line = f"{'below the' if fails else 'done:'} gate of {fail_under * 100:.1f} % {'(exit 1)' if fails else 'met'}"
    if not json_:
        print(clean(line))
    return EXIT_GATE if fails else EXIT_OK


def gold_lint(
    gold: GoldFolder,
    form: Annotated[str, typer.Option("--format", help="how findings are written", metavar="text|json|github")] = "text",
    ignore: Annotated[str, typer.Option(help="codes that are left out, separated by commas", metavar="CODE,...")] = "",
    strict: Annotated[bool, typer.Option("--strict", help="exit 1 on warnings too")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="print the safe repairs of the spec as a diff to review, and nothing else")] = False,
    write: Annotated[bool, typer.Option("--write", help="with --fix: apply the repairs")] = False,
    plugin: Plugins = None,
) -> int:
    """Say what can be seen wrong with gold without scoring anything: errors, likely mistakes, and what official rules misread."""
    from evalsuite.audit.lint import CODES, fixes, lint
    from evalsuite.reports.gold_documents import LINT_FORMATS, lint_document

    load_plugins(plugin)
    one_of(form, LINT_FORMATS, "--format")
    codes = [code.strip() for code in ignore.split(",") if code.strip()]
    for code in codes:
        one_of(code, tuple(CODES), "--ignore")
    if write and not fix:
        raise UsageError("--write goes with --fix", hint="look at the diff of --fix first")
    found = lint(gold, ignore=codes)
    if fix:
        shown = fixes.diff(found)
        sys.stdout.write(shown)
        if not shown:
            print("nothing here can be repaired without a choice", file=sys.stderr)
        elif write:
            print(f"{fixes.write(found)} findings mended", file=sys.stderr)
        return EXIT_OK
    print_document(lint_document(found), form)
    return EXIT_GATE if found.count("error") or (strict and found.count("warning")) else EXIT_OK


def gold_contamination(
    gold: GoldFolder,
    against: Annotated[list[Path] | None, typer.Option(help="a text file, or a folder of them; may be repeated", metavar="FILE")] = None,
    words: Annotated[int, typer.Option(help="how many words an n-gram has", metavar="N")] = 13,
    fail_over: Annotated[
        float | None, typer.Option("--fail-over", help="exit 1 where more than this share of a text is found", metavar="0-1")
    ] = None,
    canary: Annotated[
        list[str] | None, typer.Option("--canary", help="a text that is sought whatever its length; may be repeated", metavar="TEXT")
    ] = None,
    json_: Json = False,
) -> int:
    """Say how much of gold (questions, answers, tables in any form) and its canaries stands in given text files, such as training data."""
    from evalsuite.audit.contamination import contamination, text_files
    from evalsuite.audit.gold_texts import CANARY, GoldText, gold_texts
    from evalsuite.gold.layouts import read_gold
    from evalsuite.readers.limits import resolve_limits
    from evalsuite.reports.gold_documents import contamination_document

    share(fail_over, "--fail-over")
    if not against:
        raise UsageError("no file to compare with", hint="--against FILE, once for each file or folder")
    files = text_files(against)
    read = read_gold(gold)
    texts = list(gold_texts(read, resolve_limits(read.suite.limits)))
    texts += [GoldText(instance_id="(suite)", part=CANARY, where="--canary", pieces=(text,), any_length=True) for text in canary or ()]
    found = contamination([text for text in texts if isinstance(text, GoldText)], files, n_words=words)
    faults = [text for text in texts if not isinstance(text, GoldText)]
    if json_:
        print(json.dumps({**found.to_json(), "unread": [{"where": fault.where, "detail": fault.detail} for fault in faults]}, indent=2))
    else:
        print_document(contamination_document(found, gold.name), last_line="")
    for fault in faults:
        print(clean(f"warning: {fault.where}: {fault.detail}"), file=sys.stderr)
    over = found.over(fail_over) if fail_over is not None else []
    if over and not json_:
        print(clean(f"more than {fail_over:g} of a text found in {len(over)} instance{'' if len(over) == 1 else 's'} (exit 1)"))
    return EXIT_GATE if over else EXIT_OK


def gold_convert(
    gold: GoldFolder,
    out: Annotated[Path, typer.Option("--out", help="the folder to write, new or empty", metavar="DIR")],
    layout: Layout = None,
) -> int:
    """Write gold in the layout of Spider 2.0 Lite or Snow as gold in the original layout: nothing is lost, every verdict stays."""
    from evalsuite.gold.conversion import convert

    done = convert(gold, out, layout=layout)
    for note in done.notes:
        print(clean(f"note: {note}"))
    print(clean(f"{done.n_instances} instances and {done.n_files} files, read as {done.layout}, written to {done.folder}"))
    return EXIT_OK


gold_commands = Group(
    {
        "check": gold_check,
        "audit": gold_audit,
        "lint": gold_lint,
        "suspects": gold_suspects,
        "review": gold_review,
        "errata": gold_errata,
        "contamination": gold_contamination,
        "convert": gold_convert,
    }
)
