"""`evalsuite gold`, `init`, `example` and `schema`: check gold, make a suite without writing a spec, manage schemas of tree scorers."""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evalsuite.cli import options as opt
from evalsuite.cli.commands import commands_of_group
from evalsuite.cli.options import Argument, Option
from evalsuite.cli.showing import ProgressBar, console, print_document, print_step
from evalsuite.compare.characters import clean
from evalsuite.core.disk_cache import append_whole
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, GoldError, OutputError, UsageError, count_words, write_error
from evalsuite.core.files import exists, is_dir
from evalsuite.gold.layouts import convert, read_gold
from evalsuite.gold.spec import check_ids
from evalsuite.gold.suite_yaml import class_schema, names_class
from evalsuite.readers.gold_files import find_spec
from evalsuite.readers.json_text import read_named_json
from evalsuite.readers.limits import resolve_limits
from evalsuite.reports.document import percent
from evalsuite.runs.history import SELF_SCORES_FOLDER, WITHOUT, one_run, save_self_score
from evalsuite.sandbox.temp_dirs import lock

if TYPE_CHECKING:
    from evalsuite.analysis.gold_checks.mutation import Inferred
    from evalsuite.core.types import Gold
    from evalsuite.trees.field_results import Notice


GoldFolder = Annotated[Path, Argument(metavar="GOLD", help="the gold folder, or its spec file")]


def gold_audit(
    gold: GoldFolder,
    rules: opt.TwoRules = None,
    only: opt.Only = None,
    most: Annotated[int, Option(min=1, help="at most this many answers per check", metavar="N")] = 24,
    seconds: Annotated[float | None, Option(help="score no further answer after this time", metavar="S")] = None,
    seed: Annotated[int, Option(help="the seed that chooses the rows and cells to change")] = 0,
    top: Annotated[
        int, Option(min=0, help="how many of the weakest checks are shown; those with the same findings are one", metavar="N")
    ] = 20,
    form: Annotated[str, Option("--format", help="how the audit is written", metavar="text|json|md")] = "text",
    fail_under: Annotated[float | None, Option(help="exit 1 if less than this share of the wrong answers is caught", metavar="0-1")] = None,
    *,
    workers: opt.Workers,
    plugin: opt.Plugins = None,
    databases: opt.Databases = None,
    json_: opt.Json = False,
) -> int:
    """Make wrong and right answers from gold and show which ones each check accepts, with verified fixes of lenient checks."""
    from evalsuite.analysis.gold_checks.mutation import audit_gold
    from evalsuite.reports.analysis_documents import AUDIT_FORMATS, audit_document

    opt.check_share(fail_under, "--fail-under")
    if seconds is not None and seconds <= 0:
        raise UsageError(f"--seconds cannot be {seconds:g}", hint="a number of seconds above 0")
    opt.load_plugins(plugin)
    form = opt.check_choice("json" if json_ else form, AUDIT_FORMATS, "--format")
    given = opt.parse_rules(rules)
    with ProgressBar() as progress:
        how = {"seconds": seconds, "seed": seed, "progress": progress, "databases": databases, **workers.options()}
        audit = audit_gold(gold, only=opt.parse_ids(only), most=most, **how)
    audit = audit.under(given)
    print_document(audit_document(audit, most=top), form)
    caught = audit.share_caught()
    if fail_under is not None and caught is not None and caught < fail_under:
        print(f"below the gate of {percent(fail_under)} (exit 1)", file=sys.stdout if form == "text" else sys.stderr)
        return EXIT_GATE
    return EXIT_OK


def gold_suspects(
    run: Annotated[list[str], Argument(metavar="RUN...", help="runs of one gold, by name or folder")],
    rules: opt.TwoRules = None,
    gold: opt.GoldNow = None,
    most: Annotated[int, Option(help="how many suspects to show", metavar="N")] = 20,
    runs: opt.RunsFolder = opt.RUNS,
    isolation: opt.Isolation = "process",
    jobs: Annotated[str, Option(help="answers read in parallel: a number, or auto", metavar="N|auto")] = "1",
    plugin: opt.Plugins = None,
    json_: opt.Json = False,
) -> int:
    """List instances with possibly wrong gold: submissions agree against it, none solves it, or better submissions do worse."""
    from evalsuite.analysis.gold_checks.suspects import suspects
    from evalsuite.reports.analysis_documents import suspects_document

    opt.load_plugins(plugin)
    entries = [one_run(name, runs) for name in run]
    how = opt.check_choice(isolation, ("process", "none"), "--isolation")
    report = suspects(entries, rules=opt.parse_rules(rules), gold=gold, isolation=how, jobs=opt.parse_jobs(jobs) or 1)
    print_document(suspects_document(report, most=most), "json" if json_ else "text")
    return EXIT_OK


def gold_review(
    run: Annotated[list[str], Argument(metavar="RUN...", help="runs of one gold, by name or folder")],
    author: Annotated[str, Option(help="the reviewer's name, written to the entries", metavar="NAME")],
    evidence: Annotated[str, Option(help="a link to the evidence that a gold is wrong", metavar="https://...")],
    rules: opt.TwoRules = None,
    gold: opt.GoldNow = None,
    most: Annotated[int, Option(min=1, help="how many instances to review", metavar="N")] = 20,
    runs: opt.RunsFolder = opt.RUNS,
    isolation: opt.Isolation = "process",
    plugin: opt.Plugins = None,
) -> int:
    """Review possibly wrong gold, the most likely first; one key writes an entry to gold.errata.yaml.

    Keys: w the gold is wrong (waive it), r it is right (not asked again unless it changes), s skip, q quit.
    """
    from evalsuite.analysis.gold_checks.suspects import suspects
    from evalsuite.gold.errata import ERRATA_FILE, keep_right, read_errata, reviewed_right
    from evalsuite.reports import check_writable

    if not evidence.startswith(("http://", "https://")):
        raise UsageError(f"evidence must be a link, found {evidence!r}", hint="--evidence https://... to where it is shown")
    if not author.strip():
        raise UsageError("--author is empty", hint="--author 'M. Rossi'")
    opt.load_plugins(plugin)
    entries = [one_run(name, runs) for name in run]
    read = read_gold(gold or Path(str(entries[0].run.get("gold", {}).get("folder", "gold"))))
    how = opt.check_choice(isolation, ("process", "none"), "--isolation")
    # An entry of gold.errata.yaml covers a whole instance.
    report = suspects(entries, rules=opt.parse_rules(rules), gold=gold, isolation=how, records=False)
    file = read.folder / ERRATA_FILE
    check_writable(file)
    errata = read_errata(read)
    done = reviewed_right(read) | ({entry.id for entry in errata.entries} if errata is not None else set())
    by_worth = sorted(report.suspects, key=lambda suspect: (-suspect.worth, suspect.instance_id))
    to_review = [suspect for suspect in by_worth if suspect.instance_id not in done][:most]
    n_written = 0
    for at, suspect in enumerate(to_review, 1):
        votes = f"right {suspect.n_right}/{suspect.n_voices}  suspicion {suspect.p_wrong:.2f}"
        print(clean(f"{at}/{len(to_review)}  {suspect.instance_id}  {votes}"))
        answer = [f"the answer: {suspect.shown}  ({', '.join(suspect.agreeing)})"] if suspect.agreeing else []
        for line in (*suspect.reasons, *answer):
            print(clean(f"   {line}"))
        key = _read_key("   gold is [w]rong, [r]ight, [s]kip, [q]uit: ", "wrsq")
        if key == "q":
            break
        if key == "r":
            keep_right(read, suspect.instance_id, author)
        if key == "w":
            reason = "; ".join(suspect.reasons) or f"suspicion {suspect.p_wrong:.2f}"
            is_new = _append_erratum(read, suspect.instance_id, {"author": author, "reason": reason, "evidence": evidence})
            n_written += is_new
            print(f"   {'written to' if is_new else 'another review has written it to'} {clean(str(file))}")
    print(f"{n_written} entr{'y' if n_written == 1 else 'ies'} written, of {len(to_review)} instances to look at")
    return EXIT_OK


def _read_key(question: str, keys: str) -> str:
    """Return the first valid key that the user enters; `q` at the end of the input."""
    while True:
        try:
            key = input(question).strip().lower()[:1]
        except EOFError:
            print()
            return "q"
        if key and key in keys:
            return key


def _append_erratum(gold: "Gold", instance_id: str, fields: Mapping[str, str]) -> bool:
    """Append an entry to `gold.errata.yaml`; return False if another review has written one for the instance meanwhile.

    The file stays as it was if the disk is full, or if it would not be valid any more. Raises `OutputError`.
    """
    from evalsuite.gold.errata import ERRATA_FILE, read_errata

    file = gold.folder / ERRATA_FILE
    try:
        with file.open("ab") as held:
            lock(held.fileno(), wait=True)
            errata, before = read_errata(gold), file.read_bytes()
            if errata is not None and any(entry.id == instance_id for entry in errata.entries):
                return False
            separator = "" if not before or before.endswith(b"\n") else "\n"
            append_whole(file, (separator + _new_entry(gold, instance_id, fields)).encode())
            try:
                read_errata(gold)
            except GoldError:
                held.truncate(len(before))
                message = f"cannot add an entry to {file}: its entries do not stand one after another, each from `- id: ` on"
                raise OutputError(message, hint="write them so, then review again") from None
    except OSError as error:
        raise write_error(file, error) from error
    return True


def gold_errata(
    gold: GoldFolder,
    entry: Annotated[str | None, Option(help="print a template entry for this instance", metavar="ID")] = None,
    plugin: opt.Plugins = None,
    json_: opt.Json = False,
) -> int:
    """Show which entries of gold.errata.yaml are applied, stale or expired; or print a template entry for an instance."""
    from evalsuite.gold.errata import ERRATA_FILE, read_errata

    opt.load_plugins(plugin)
    read = read_gold(gold)
    if entry is not None:
        print(_new_entry(read, entry), end="")
        return EXIT_OK
    errata = read_errata(read)
    entries = errata.entries if errata is not None else ()
    if json_:
        print(json.dumps([{**erratum.to_json(), "state": erratum.state, "gold_now": erratum.gold_now} for erratum in entries], indent=2))
        return EXIT_OK
    for erratum in entries:
        why = f": {erratum.words()}" if erratum.state != "applied" else f" until {erratum.expires.isoformat()}"
        print(clean(f" {erratum.id}  {'waived' if erratum.waives else 'patched'}  {erratum.state}{why}"))
        print(clean(f"   {erratum.author}: {erratum.reason}  ({erratum.evidence})"))
    counts = [(len(errata.of_state(state)), state) for state in ("applied", "stale", "expired")] if errata is not None else []
    print(", ".join(f"{count} {state}" for count, state in counts) or f"no {ERRATA_FILE} in {read.folder}")
    return EXIT_OK


def _new_entry(gold: "Gold", instance_id: str, fields: Mapping[str, str] | None = None) -> str:
    """Return an entry that waives an instance, with its hash; without `fields` author, reason and evidence are left blank."""
    from evalsuite.gold.errata import instance_hash

    check_ids(gold, [instance_id])
    instances = {instance.instance_id: instance for instance in gold.instances}
    until = (datetime.now(UTC) + timedelta(days=365)).date()
    name = json.dumps(instance_id, ensure_ascii=False)
    waived = "  waive: true            # or patch: {gold: ...}, or evaluation: {func: ..., parameters: {...}}"
    lines = [waived, "  author:", "  reason:", "  evidence: https://"]
    if fields is not None:
        lines = ["  waive: true", *(f"  {key}: {json.dumps(text, ensure_ascii=False)}" for key, text in fields.items())]
    head = [f"- id: {name}", f"  gold: {json.dumps(instance_hash(gold, instances[instance_id]))}"]
    return "\n".join([*head, *lines, f"  expires: {until.isoformat()}", ""])


def gold_check(
    gold: GoldFolder,
    fail_under: Annotated[
        float | None,
        Option(
            help="exit 1 if gold scores less than this under official [default: if an instance lacks full marks under its own rules]",
            metavar="0-1",
        ),
    ] = None,
    databases: opt.Databases = None,
    frozen_clock: opt.FrozenClock = None,
    no_save: Annotated[bool, Option("--no-save", help="do not save gold's own score for later reports")] = False,
    *,
    workers: opt.Workers,
    json_: opt.Json = False,
) -> int:
    """Score gold as its own answer: the suite's highest possible score under both rules, and each check that refuses its own gold.

    Exit code 1 if an instance's gold does not get full marks under its own rules, or a gold file is missing, and neither gold.errata.yaml
    nor the instance's lint_ignore excuses it.
    """
    from evalsuite.analysis.gold_checks.readiness import check_gold
    from evalsuite.reports import check_writable
    from evalsuite.reports.analysis_documents import gold_check_document, gold_check_verdict
    from evalsuite.reports.terminal import print_last_line

    opt.check_share(fail_under, "--fail-under")
    how, limits = workers.options(), opt.parse_limits(None, frozen_clock)
    # A score at a fixed day does not apply to reports of other days.
    no_save = no_save or bool(limits)
    find_spec(gold)
    if not no_save:
        check_writable(SELF_SCORES_FOLDER / "ceiling.json", hint=WITHOUT)
    report = check_gold(gold, databases=databases, limits=limits, **how)
    saved_file = None if no_save else save_self_score(report.ceiling, [asdict(finding) for finding in report.unsatisfied])
    print_document(gold_check_document(report, gold.name), "json" if json_ else "text", last_line="")
    if not json_:
        print(clean(f"saved {saved_file}: later reports of this gold show it" if saved_file else "not saved"))
    ceiling = report.ceiling
    if fail_under is None:
        fails, line = bool(report.failing_ids), gold_check_verdict(report)
    else:
        fails = bool(ceiling.n) and ceiling.official / ceiling.n < fail_under
        line = f"{'below the' if fails else 'done:'} gate of {percent(fail_under)} {'(exit 1)' if fails else 'met'}"
    if not json_:
        print_last_line(console(), line)
    return EXIT_GATE if fails else EXIT_OK


def gold_lint(
    gold: GoldFolder,
    form: Annotated[str, Option("--format", help="how findings are written", metavar="text|json|github")] = "text",
    ignore: Annotated[str, Option(help="codes to leave out, separated by commas", metavar="CODE,...")] = "",
    strict: Annotated[bool, Option("--strict", help="exit 1 on warnings too")] = False,
    fix: Annotated[bool, Option("--fix", help="print the safe repairs of the spec as a diff to review, and nothing else")] = False,
    write: Annotated[bool, Option("--write", help="with --fix: apply the repairs")] = False,
    plugin: opt.Plugins = None,
    json_: opt.Json = False,
) -> int:
    """Find problems of gold without scoring: errors, likely mistakes, and values that official rules misread."""
    from evalsuite.analysis.gold_checks import lint as fixes
    from evalsuite.analysis.gold_checks.lint import CODES, lint
    from evalsuite.reports.analysis_documents import LINT_FORMATS, lint_document

    opt.load_plugins(plugin)
    form = opt.check_choice("json" if json_ else form, LINT_FORMATS, "--format")
    codes = [code.strip() for code in ignore.split(",") if code.strip()]
    for code in codes:
        opt.check_choice(code, tuple(CODES), "--ignore")
    if write and not fix:
        raise UsageError("--write needs --fix", hint="look at the diff of --fix first")
    report = lint(gold, ignore=codes)
    if fix:
        patch = fixes.diff(report)
        sys.stdout.write(patch)
        if not patch:
            print("nothing here can be repaired without a choice", file=sys.stderr)
        elif write:
            print(f"{count_words(fixes.write(report), 'finding')} repaired", file=sys.stderr)
        return EXIT_OK
    fails = bool(report.count("error") or (strict and report.count("warning")))
    print_document(lint_document(report, fails=fails), form)
    return EXIT_GATE if fails else EXIT_OK


def gold_contamination(
    gold: GoldFolder,
    against: Annotated[list[Path] | None, Option(help="a text file, or a folder of them; may be repeated", metavar="FILE|DIR")] = None,
    words: Annotated[int, Option(help="how many words an n-gram has", metavar="N")] = 13,
    fail_over: Annotated[float | None, Option(help="exit 1 if more than this share of a text is found", metavar="0-1")] = None,
    canary: Annotated[list[str] | None, Option(help="a text to search for, of any length; may be repeated", metavar="TEXT")] = None,
    json_: opt.Json = False,
) -> int:
    """Measure how much of gold (questions, answers, tables in any format) and its canaries is in text files, such as training data."""
    from evalsuite.analysis.gold_checks.contamination import CANARY, GoldText, contamination, gold_texts, text_files
    from evalsuite.reports.analysis_documents import contamination_document

    opt.check_share(fail_over, "--fail-over")
    if not against:
        raise UsageError("no file to compare with", hint="--against FILE, once for each file or folder")
    files = text_files(against)
    read = read_gold(gold)
    texts = list(gold_texts(read, resolve_limits(read.suite.limits)))
    texts += [GoldText(instance_id="(suite)", part=CANARY, where="--canary", pieces=(text,), any_length=True) for text in canary or ()]
    report = contamination([text for text in texts if isinstance(text, GoldText)], files, n_words=words)
    faults = [text for text in texts if not isinstance(text, GoldText)]
    if json_:
        print(json.dumps({**report.to_json(), "unread": [{"where": fault.where, "detail": fault.detail} for fault in faults]}, indent=2))
    else:
        print_document(contamination_document(report, gold.name), last_line="")
    for fault in faults:
        print(clean(f"warning: {fault.where}: {fault.detail}"), file=sys.stderr)
    over = report.instances_over(fail_over) if fail_over is not None else []
    if over and not json_:
        print(clean(f"more than {fail_over:g} of a text found in {len(over)} instance{'' if len(over) == 1 else 's'} (exit 1)"))
    return EXIT_GATE if over else EXIT_OK


def gold_convert(
    gold: GoldFolder, out: Annotated[Path, Option(help="the folder to write, new or empty", metavar="DIR")], layout: opt.Layout = None
) -> int:
    """Convert gold of the Spider 2.0 Lite or Snow layout to the original layout, with identical verdicts."""
    done = convert(gold, out, layout=layout)
    for note in done.notes:
        print(clean(f"note: {note}"))
    n_written = f"{count_words(done.n_instances, 'instance')} and {count_words(done.n_files, 'file')}"
    print(clean(f"{n_written}, read as {done.layout}, written to {done.folder}"))
    return EXIT_OK


gold_commands = opt.Group.from_class(
    *(gold_check, gold_audit, gold_lint, gold_suspects, gold_review, gold_errata, gold_contamination, gold_convert),
    more=commands_of_group("gold"),
)


_MOST_FINDINGS = 5


def init_command(
    gold_from: Annotated[Path | None, Option(metavar="DIR", help="a folder of CSV files, each the right answer of an instance")] = None,
    questions: Annotated[Path | None, Option(metavar="FILE.csv", help="the questions: a CSV with the columns id and question")] = None,
    good: Annotated[
        Path | None, Option(metavar="DIR", help="answers to accept (ID.csv, ID_*.csv, ID/*.csv); parameters are chosen to accept them")
    ] = None,
    bad: Annotated[Path | None, Option(metavar="DIR", help="answers to reject, named in the same way")] = None,
    to: Annotated[Path | None, Option("--out", "--to", metavar="DIR", help="the gold folder to make [default: gold]")] = None,
    name: Annotated[
        str | None, Option(help="the suite's name, the title of its leaderboard [default: DIR; of gold the folder above]")
    ] = None,
) -> int:
    """Make a gold folder from CSV files: the spec, a suite.yaml, a submission template; then check and lint it.

    Asks for the folder and the name on a terminal; otherwise `--gold-from` is required.
    """
    from evalsuite.analysis.gold_checks.mutation import infer_suite
    from evalsuite.gold.scaffold import gold_tables, make_gold, read_questions

    is_asked = gold_from is None and sys.stdin.isatty() and sys.stdout.isatty()
    if is_asked:
        gold_from = Path(input("folder of CSV files with the right answers: ").strip() or ".")
    if gold_from is None:
        raise UsageError(
            "no folder of gold given",
            hint="evalsuite init --gold-from DIR, a folder of CSV files; `evalsuite example DIR` makes an example",
        )
    tables = gold_tables(gold_from)
    texts = read_questions(questions, list(tables)) if questions is not None else {}
    target = _target(gold_from, to)
    template = target.with_name("submission_template")
    default = target.resolve().parent.name if target.name == "gold" else target.name
    if name is None and is_asked:
        name = input(f"name of the suite [{default}]: ").strip()
    rules, chosen = infer_suite(tables, good, bad)
    parameters = {id_: choice.parameters for id_, choice in chosen.items()}
    stays = exists(template)
    new = make_gold(tables, target, template, questions=texts, parameters=parameters, rules=rules, name=name or default)
    n = len(new.ids)
    state = "was there and stays as it is" if stays else "is a submission to fill in"
    print(clean(f"made {new.folder}: {count_words(n, 'instance')}, a table check each; {template} {state}"))
    if others := sorted(f"{path.name}{'/' * is_dir(path)}" for path in gold_from.iterdir() if path not in tables.values()):
        print(clean(f"note: no CSV files, left out: {', '.join(others[:_MOST_FINDINGS])}{' ...' * (len(others) > _MOST_FINDINGS)}"))
    if texts and new.unasked:
        print(clean(f"note: no question for {', '.join(new.unasked[:_MOST_FINDINGS])}{' ...' * (len(new.unasked) > _MOST_FINDINGS)}"))
    for note in (*_choice_notes(rules, chosen), *_dialect_notes(tables)):
        print(clean(note))
    _print_state(new.folder)
    if not parameters:
        print("decide: ignore_order (now true), condition_cols (now all columns), abs_tol and rel_tol (now the rules' own)")
    print(clean(f"fill in: the answer to each question is the file {template}/ID/ID.csv"))
    print_step("next:", ["validate", str(template), "--gold", str(new.folder)])
    print(clean(f"done: {new.folder} is a suite of {count_words(n, 'instance')}"))
    return EXIT_OK


def _dialect_notes(tables: "Mapping[str, Path]") -> Iterator[str]:
    """Yield which gold tables are not written with commas in UTF-8, so that their checks read answers in another way too."""
    from evalsuite.readers.load_table import dialect_parameters

    written = {id_: ", ".join(f"{name} {value!r}" for name, value in dialect_parameters(path).items()) for id_, path in tables.items()}
    for words in dict.fromkeys(filter(None, written.values())):
        ids = [id_ for id_, own in written.items() if own == words]
        names = f"{', '.join(ids[:_MOST_FINDINGS])}{' ...' * (len(ids) > _MOST_FINDINGS)}"
        yield f"note: {names}: gold has {words}, so the check reads answers in the same way"


def _print_state(gold: Path) -> None:
    """Print what `gold check` and `gold lint` find in a new gold folder."""
    from evalsuite.analysis.gold_checks.lint import lint
    from evalsuite.analysis.gold_checks.readiness import check_gold
    from evalsuite.reports.analysis_documents import gold_check_verdict

    print(clean(gold_check_verdict(check_gold(gold)).removeprefix("done: ").join(("gold check: ", ""))))
    findings = lint(gold).findings
    for finding in findings[:_MOST_FINDINGS]:
        print(clean(f"gold lint: {finding.where}: {finding.code}: {finding.message}"))
    if findings[_MOST_FINDINGS:]:
        print(clean(f"gold lint: {len(findings) - _MOST_FINDINGS} more, see `evalsuite gold lint {gold}`"))


def _target(source: Path, to: Path | None) -> Path:
    """Return the path of the new gold folder, which must be outside its source folder. Raises `UsageError`."""
    target = to or Path("gold")
    if to is None and exists(target):
        target = Path(f"{source.resolve().name}_gold")
    if target.resolve().is_relative_to(source.resolve()):
        raise UsageError(f"{target} would be inside {source}", hint="run the command in another folder, or name one by --out")
    if exists(target):
        raise UsageError(f"{target} exists already", hint="--out names another folder")
    return target


def _choice_notes(rules: str, choices: "Mapping[str, Inferred]") -> Iterator[str]:
    """Yield sentences on the parameters chosen from examples, and on open ones."""
    if rules == "strict":
        yield "rules: strict by the examples (suite.yaml says so): official rules have no tolerance but 0.01 and let values change rows"
    for id_, choice in choices.items():
        proposed = ", ".join(
            f"{key} {str(value).lower() if isinstance(value, bool) else value}" for key, value in choice.parameters.items()
        )
        yield f"{id_}: {proposed} by {choice.n_good} good and {count_words(choice.n_bad, 'bad example')}"
        yield from (f"{id_}: open: {text}" for text in choice.open)
        yield from (f"{id_}: no parameters accept {name}" for name in choice.refused_good)
        yield from (f"{id_}: no parameters refuse {name} and accept the good ones" for name in choice.accepted_bad)


def example_command(folder: Annotated[Path, Argument(metavar="DIR", help="a new folder for the example gold and submission")]) -> int:
    """Write a small suite and a submission to a new folder, to try every command on."""
    from evalsuite.gold.scaffold import make_gold

    if exists(folder):
        raise UsageError(f"{folder} exists already", hint="name a new folder")
    tables = {"orders": "customer,total\nAbebe,120.5\nBruun,80.0\nCosta,61.25\n", "stock": "item,left\nlamp,4\ndesk,0\n"}
    answers = {"orders": "customer,total\nCosta,61.25\nAbebe,120.5\nBruun,80.0\n", "stock": "item,left\nlamp,4\ndesk,1\n"}
    texts = {"orders": "What did each customer order, in EUR?", "stock": "How many of each item are left?"}
    source, submission = folder / "tables", folder / "submission"
    try:
        source.mkdir(parents=True)
        for id_, text in tables.items():
            (source / f"{id_}.csv").write_text(text, encoding="utf-8")
        sources = {id_: source / f"{id_}.csv" for id_ in tables}
        make_gold(sources, folder / "gold", submission, questions=texts, parameters={}, name=folder.name)
        for id_, text in answers.items():
            (submission / id_ / f"{id_}.csv").write_text(text, encoding="utf-8")
        shutil.rmtree(source)
    except (OSError, OutputError) as error:
        # The folder is new, and the next try needs it to be.
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OutputError):
            raise
        raise write_error(folder, error) from error
    print(clean(f"made {folder}: gold of 2 instances, and a submission that is right in one of them"))
    print_step("next:", ["run", str(submission), "--gold", str(folder / "gold")])
    return EXIT_OK


GoldFile = Annotated[Path, Argument(metavar="GOLD", help="records: a .jsonl, or a .json with one record or a list")]
SchemaFile = Annotated[str, Argument(metavar="SCHEMA", help="a .json file with a JSON Schema, or a class, `python:models.py:Invoice`")]


def schema_infer(
    gold: GoldFile,
    widen: Annotated[
        bool, Option("--widen", help="use all values, not only the first: integers with numbers are numbers; nulls, unions, enums")
    ] = False,
    id_field: Annotated[str | None, Option("--id-field", help="the key that names a record; not part of the schema")] = None,
) -> int:
    """Print the JSON Schema inferred from gold's records."""
    from evalsuite.trees.json_schema import infer_schema

    with _format_case(gold):
        schema = infer_schema(_records_of_file(gold), widen=widen, notify=_notice_line)
    schema.get("properties", {}).pop(id_field, None)
    return _print_schema(schema)


def schema_resolve(schema: SchemaFile) -> int:
    """Print a schema with references resolved, allOf merged and unions converted to types."""
    from evalsuite.trees.json_schema import resolve_schema_references

    with _format_case(schema):
        resolved = resolve_schema_references(_schema(schema), notify=_notice_line)
    return _print_schema(resolved)


def schema_annotate(schema: SchemaFile) -> int:
    """Print a schema with the comparator of every leaf and the alignment of every list, chosen by types, and the reasons on stderr."""
    from evalsuite.trees.eval_schema import annotate_xeval

    with _format_case(schema):
        annotated = annotate_xeval(_schema(schema), types=True, notify=_notice_line)
    return _print_schema(annotated)


def schema_check(
    schema: SchemaFile,
    gold: Annotated[Path, Option(help="the gold records", metavar="FILE")],
    id_field: Annotated[str | None, Option("--id-field", help="the key that names a record")] = None,
    strict_types: Annotated[bool, Option("--strict-types", help="each value must be of its declared type")] = False,
    allow_missing: Annotated[bool, Option("--allow-missing", help="do not report fields that a record lacks")] = False,
    plugin: opt.Plugins = None,
    json_: opt.Json = False,
) -> int:
    """Print where gold's records and the schema disagree, with record and path; exit 1 if they do."""
    from evalsuite.trees.gold_validation import gold_findings

    opt.load_plugins(plugin)
    plain, records = _schema(schema), _records_of_file(gold)
    with _format_case(schema):
        findings = gold_findings(records, plain, id_field, warn_missing=not allow_missing, strict_types=strict_types)
    if json_:
        print(json.dumps({"n_records": len(records), "findings": [finding._asdict() for finding in findings]}, indent=2))
        return EXIT_GATE if findings else EXIT_OK
    for finding in findings:
        subject = "schema" if finding.record is None else f"record {finding.record}"
        print(clean(f"{subject}: {finding.path or '(root)'}: {finding.message}"))
    end = " (exit 1)" if findings else ": gold fits the schema" + "; declared types were not checked (--strict-types)" * (not strict_types)
    print(f"{count_words(len(records), 'record')}, {count_words(len(findings), 'finding')}{end}")
    return EXIT_GATE if findings else EXIT_OK


def _records_of_file(path: Path) -> list[Any]:
    """Return the records of a file: a list, or a single one."""
    records = read_named_json(path)
    return records if isinstance(records, list) else [records]


def _schema(place: str) -> dict[str, Any]:
    """Return the JSON Schema of a file, or of a class."""
    value = class_schema(place, Path(), "SCHEMA", is_named=True) if names_class({"schema": place}) else read_named_json(Path(place))
    if not isinstance(value, dict):
        raise UsageError(f"{place}: a schema is a JSON object", hint="evalsuite gold schema infer GOLD makes one")
    return value


@contextmanager
def _format_case(path: Path | str) -> Iterator[None]:
    """Turn errors of a schema or its records into usage errors with the file's name."""
    from evalsuite.trees.json_schema import JsonRefError, SchemaError
    from evalsuite.trees.json_values import TreeLimitError

    try:
        yield
    except JsonRefError as error:
        raise UsageError(f"{path}: {error}", hint="only references inside the file are followed: #/$defs/NAME") from None
    except UsageError:
        raise
    except (SchemaError, TreeLimitError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None


def _notice_line(notice: "Notice") -> None:
    print(clean(f"note: {notice.path or '(root)'}: {notice.message}"), file=sys.stderr)


def _print_schema(schema: dict[str, Any]) -> int:
    # ASCII only, so that names in a schema cannot control the terminal.
    print(json.dumps(schema, indent=2))
    return EXIT_OK


schema_commands = opt.Group.from_class(schema_infer, schema_resolve, schema_annotate, schema_check)
