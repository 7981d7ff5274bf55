"""`evalsuite check`, `validate`, `explain` and `bundle`: score, explain or shrink one instance, check a submission folder."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalsuite.cli import options as opt
from evalsuite.cli.options import Argument, Option
from evalsuite.cli.showing import Outputs, Reveal, check_showing, print_document, write_all
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, FAULTS, OutputError, UsageError, count_words, did_you_mean, write_error
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.scores import EVALUATORS, Rule, reaches
from evalsuite.core.status import check_level, level_for, redact, redact_evidence, shows
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.run_options import RunOptions, requested_rules

if TYPE_CHECKING:
    from evalsuite.analysis.explain.smallest_case import Bundle
    from evalsuite.core.types import Gold, Result, Rule
    from evalsuite.reports.document import Document
    from evalsuite.runs.history import RunEntry


def explain_command(
    instance_id: Annotated[str, Argument(metavar="ID|GOLD", help="the instance to explain; or a file with the right answer")],
    prediction: Annotated[Path | None, Argument(metavar="[PREDICTION]", help="the file to compare with the file GOLD")] = None,
    run: opt.OfRun = None,
    result_dir: opt.ResultDir = None,
    gold: opt.GoldOfRun = None,
    rules: opt.Rules = None,
    reveal: Reveal = None,
    runs: opt.RunsFolder = opt.RUNS,
    plugin: opt.Plugins = None,
    databases: opt.Databases = None,
    questions: opt.Questions = None,
    key: Annotated[list[str] | None, Option(metavar="COLUMN", help="two files: a key column to match rows by; may be repeated")] = None,
    ordered: Annotated[bool, Option("--ordered", help="two files: the order of the rows counts")] = False,
    table: Annotated[str | None, Option(metavar="NAME", help="two files: the table of a .duckdb file")] = None,
    output: Outputs = None,
    json_: opt.Json = False,
) -> int:
    """Explain why an instance is wrong, or how two files differ: the cause that the scorer confirms, and the differences.

    Files are .csv, .tsv, .xlsx, .parquet, .json, .jsonl, .duckdb or .sqlite; folders contain one JSON file a record. Exit 1 if the two
    differ.
    """
    if prediction is not None:
        if any(option is not None for option in (run, result_dir, gold)):
            hint = "evalsuite explain GOLD.csv PREDICTION.csv, or explain ID --run RUN"
            raise UsageError("two files have no run and no folders", hint=hint)
        return explain_files(Path(instance_id), prediction, key or (), ordered=ordered, table=table, outputs=output or (), as_json=json_)
    if key or ordered or table is not None:
        raise UsageError("--key, --ordered and --table are for two files", hint="evalsuite explain GOLD.csv PREDICTION.csv --key id")
    from evalsuite.reports.explain_documents import explanation_document

    check_showing(output or (), reveal)
    opt.load_plugins(plugin)
    entry = _named_run(run, runs, result_dir)
    level, explanation = _explain_instance(instance_id, entry, opt.local_folder(result_dir), gold, rules, reveal, databases, questions)
    document = explanation_document(instance_id, explanation)
    if json_:
        print(json.dumps({"instance_id": instance_id, "reveal": level, **explanation}, ensure_ascii=True))
    else:
        print_document(document)
    return EXIT_GATE if write_all(document, output or ()) else EXIT_OK


def explain_files(
    gold: Path, prediction: Path, key: Sequence[str], *, ordered: bool, table: str | None, outputs: Iterable[Path], as_json: bool
) -> int:
    """Print and write the differences of two files, read in a worker. Raises `UsageError` for other files, `FaultError` for a bad one."""
    from evalsuite.readers.duckdb_tables import unnamed_copy
    from evalsuite.readers.load_table import DATABASES, ending_of, is_sqlite
    from evalsuite.readers.paths import open_trusted
    from evalsuite.reports.explain_documents import files_document
    from evalsuite.sandbox.rpc_client import RpcClient

    files = (gold, prediction)
    are_folders = is_dir(gold) or is_dir(prediction)
    _check_pair(files)
    check_showing(outputs, None)
    names = [name.strip() for words in key for name in words.split(",") if name.strip()]
    limits = resolve_limits()
    n_bytes = sum(file.stat().st_size for file in files)
    with ExitStack() as stack:
        # The search has its own budget of scorer calls, which ends it long before 300 seconds.
        roomy = {**limits, "seconds": 300}
        calls = stack.enter_context(RpcClient(readable=files, hostile=prediction, limits=roomy))
        copy = None
        # SQLite opens a file in place as immutable, so that it needs no copy.
        if not are_folders and ending_of(prediction) in DATABASES and not is_sqlite(prediction):
            source = stack.enter_context(open_trusted(prediction, limit_bytes=limits["file_bytes"]))
            copy = stack.enter_context(unnamed_copy(source, int(limits["file_bytes"])))
        places = [str(file.absolute()) for file in files]
        compared = "evalsuite.analysis.explain.file_comparison:"
        if are_folders:
            comparison = calls.call(f"{compared}compare_folders", *places)
        else:
            comparison = calls.call(f"{compared}compare_files", *places, table, names, ordered, copy=copy, n_bytes=n_bytes)
    document = files_document(str(gold), str(prediction), comparison)
    if as_json:
        print(json.dumps(document.whole, ensure_ascii=True))
    else:
        print_document(document)
    n_lost = write_all(document, outputs)
    return EXIT_OK if comparison["equal"] and not n_lost else EXIT_GATE


def _check_pair(files: tuple[Path, Path]) -> None:
    """Raise `UsageError` for a pair that cannot be compared: two tables can, two folders of records, a folder and a file of records."""
    from evalsuite.readers.load_table import ENDINGS, ending_of
    from evalsuite.readers.paths import refuse_endless
    from evalsuite.runs.history import find_named_run, read_run

    has_folder = any(map(is_dir, files))
    if all((read_run(file) if exists(file) else find_named_run(str(file))) is not None for file in files):
        raise UsageError(f"'explain' compares files: {files[0]} and {files[1]} are runs", hint="did you mean 'compare'?")
    for file in files:
        refuse_endless(file)
        if has_folder and is_file(file) and ending_of(file) not in (".json", ".jsonl"):
            raise UsageError(f"{file} is a file, the other side is a folder", hint="compare two files, or two folders of .json files")
        if has_folder and exists(file):
            continue
        if not ending_of(file):
            raise UsageError(f"{file} is no file that can be compared", hint=f"its name ends in one of {', '.join(ENDINGS)}")
        if not is_file(file):
            raise UsageError(f"no such file: {file}", hint="evalsuite explain GOLD.csv PREDICTION.csv")


def _explain_instance(
    instance_id: str,
    entry: "RunEntry | None",
    submission: Path | None,
    gold: Path | None,
    rules: str | None,
    reveal: str | None,
    databases: Path | None,
    questions: Path | None,
) -> tuple[str, dict[str, Any]]:
    """Return (reveal level, why an instance is wrong, as data); its saved result counts, or it is scored now."""
    from evalsuite.gold.layouts import read_gold
    from evalsuite.runs.rescoring import day_of_gold, questions_of
    from evalsuite.runs.scoring import run

    saved: Mapping[str, Any] = entry.run if entry is not None else {}
    submission, gold = _sides_of(entry, submission, gold)
    options = saved.get("options", {})
    # An evaluator of query pairs is a layout of gold. Otherwise the rules of the run's options, or each scorer's own.
    evaluator = rules if rules in EVALUATORS else None
    chosen = opt.parse_rules(None if evaluator else rules) or requested_rules(saved)
    limits = dict(options.get("limits") or {})
    read: dict[str, Any] = {"rules": chosen, "limits": limits, "databases": databases, "mode": options.get("mode")}
    read |= {"as_of": day_of_gold(entry) if entry is not None else None}
    layout = evaluator or saved.get("gold", {}).get("layout")
    questions = questions_of(entry, questions) if entry is not None else questions
    with opt.trust(*([gold] if entry is None else [])):
        gold_spec = read_gold(gold, layout=layout, questions=questions)
        level = level_for(gold_spec, reveal)
        result = _saved_result(entry, instance_id) if entry is not None else None
        if result is None:
            how = RunOptions(only=(instance_id,), save=False, layout=layout, questions=questions, **read)
            result = run(submission, gold, how).results[0]
    data = evidence(instance_id, submission, gold_spec, level=level, result=result, **read)
    # Under other rules than the run's another check may decide.
    note = _note_of_change(result, data, level) if entry is not None and rules is None else {}
    return level, data | note | _advice(result, submission, level)


def _advice(result: "Result", submission: Path, level: str) -> dict[str, Any]:
    """Return what to do about a fault or a missing answer (`hint`), and the notes of the run on the answer, as the level allows."""
    if result.fault not in FAULTS or not shows(level, "class"):
        return {}
    where = f"{submission} has no answer to this instance; `evalsuite validate` says what it contains"
    hint = where if result.status == "missing" else result.detail("hint") or FAULTS[result.fault].hint
    notes = result.detail("notes") if level == "cells" else None
    return ({"hint": hint} if hint else {}) | ({"notes": notes} if notes else {})


def evidence(
    instance_id: str,
    submission: Path,
    gold: "Gold",
    *,
    rules: "Rule | None",
    level: str,
    result: "Result",
    limits: Mapping[str, int | float] | None = None,
    databases: Path | None = None,
    mode: str | None = None,
    as_of: str | None = None,
) -> dict[str, Any]:
    """Return why an instance is wrong, as data at a reveal level. Raises what reading the submission raises."""
    from evalsuite.analysis.explain.instance_evidence import explain_results

    saved = {instance_id: result}
    how: dict[str, Any] = {"rules": rules, "results": saved, "databases": databases, "mode": mode, "as_of": as_of, "spec": gold}
    collected = explain_results(gold.folder, submission, [instance_id], limits, edits=True, **how)
    data = dict(collected)[instance_id]
    return redact_evidence(data, level, result=result)


def _note_of_change(result: "Result", data: Mapping[str, Any], level: str) -> dict[str, Any]:
    """Return a note if an answer that a run scored is judged now for another reason than its saved result gives; else nothing."""
    reasons = result.detail("reasons")
    said = reasons.get(data["rules"], result.reason) if isinstance(reasons, Mapping) else result.reason
    if result.status != "scored" or (data["status"], data["reason"]) == ("scored", said) or not shows(level, "class"):
        return {}
    return {"notes": [f"the saved run gives another reason: {_CHANGED}"]}


_CHANGED = "its answer or gold has changed since, or another version scored it"


def _say_changed(
    saved: "Result | None", official: object, strict: object, read: Callable[[float | None], object] = lambda score: score
) -> None:
    """Say on stderr if the saved result of a run has other scores than its files have now, both as `read` gives them."""
    if saved is not None and (read(saved.official), read(saved.strict)) != (official, strict):
        print(f"note: the saved run gives another verdict: {_CHANGED}", file=sys.stderr)


def _saved_result(entry: "RunEntry", instance_id: str) -> "Result | None":
    return {result.instance_id: result for result in entry.results()}.get(instance_id)


def bundle_command(
    instance_id: Annotated[str, Argument(metavar="ID", help="the instance to shrink")],
    run: opt.OfRun = None,
    result_dir: opt.ResultDir = None,
    gold: opt.GoldOfRun = None,
    rules: opt.TwoRules = None,
    output: Annotated[
        Path | None, Option("-o", "--output", help="FILE.md, or a folder for the files too [default: print]", metavar="FILE.md|DIR")
    ] = None,
    reveal: Annotated[str | None, Option(metavar="cells", help="required if gold is hidden: a bundle shows its cells")] = None,
    runs: opt.RunsFolder = opt.RUNS,
    isolation: opt.Isolation = "process",
    plugin: opt.Plugins = None,
) -> int:
    """Reduce an instance to the fewest rows, columns, words or fields with the same verdicts, written as Markdown.

    The case is written to files and scored again; exit 1 if its verdict differs.
    """
    from evalsuite.analysis.explain.smallest_case import bundle, score_bundle, verdict, word, write
    from evalsuite.sandbox.temp_dirs import TempDir

    opt.load_plugins(plugin)
    _check_place(output)
    entry = _named_run(run, runs, result_dir)
    options = entry.run.get("options", {}) if entry is not None else {}
    saved = _saved_result(entry, instance_id) if entry is not None else None
    if entry is not None and saved is not None and saved.detail("gold_from") == "query":
        hint = f"evalsuite explain {instance_id} --run {entry.name}"
        raise UsageError(f"{instance_id} was scored by the result of a gold query, and a bundle contains gold files", hint=hint)
    chosen = opt.parse_rules(rules)
    with opt.trust(*([gold or Path("gold")] if entry is None else [])):
        submission, gold_folder = _sides_to_show(entry, opt.local_folder(result_dir), gold, reveal)
        how: dict[str, Any] = {name: options.get(name) for name in ("limits", "layout", "mode")}
        how |= {
            "rules": chosen or (requested_rules(entry.run) if entry is not None else None),
            "isolation": opt.check_choice(isolation, ("process", "none"), "--isolation"),
        }
        case = bundle(gold_folder, submission, instance_id, **how)
    if gold is None and result_dir is None:
        _say_changed(saved, case.official, case.strict, word)
    with TempDir() as scratch:
        write(case, scratch)
        second = score_bundle(scratch, rules=chosen, isolation=how["isolation"])
    _write_bundle(case, output, signature=str(entry.run.get("signature", "")) if entry is not None else "")
    if second != verdict(case):
        print(f"as files the case is {second[0]} under official and {second[1]} under strict: another verdict (exit 1)", file=sys.stderr)
        return EXIT_GATE
    return EXIT_OK


def _named_run(run: str | None, runs: Path, result_dir: Path | None) -> "RunEntry | None":
    """Return the named run, without a name the last one; None for a submission. Raises `UsageError` for an unknown run."""
    return opt.run_or_last(run, runs) if run is not None or result_dir is None else None


def _sides_to_show(entry: "RunEntry | None", result_dir: Path | None, gold: Path | None, reveal: str | None) -> tuple[Path, Path]:
    """Return the submission and gold folders. Raises `UsageError` if one is gone, or gold's cells must not be shown."""
    from evalsuite.gold.layouts import read_gold

    submission, gold = _sides_of(entry, result_dir, gold)
    if level_for(read_gold(gold), reveal) != "cells":
        raise UsageError("a bundle shows cells of gold, which suite.yaml keeps hidden", hint="--reveal cells, if you may show them")
    return submission, gold


def _sides_of(entry: "RunEntry | None", submission: Path | None, gold: Path | None) -> tuple[Path, Path]:
    """Return the submission and gold: as given, else those of the run; a note says where, if it is not the path that the run recorded.

    Raises `UsageError` if one is gone.
    """
    from evalsuite.readers.paths import SPEC_PATTERN
    from evalsuite.runs.rescoring import place_of

    if entry is None:
        assert submission is not None
        return submission, gold or Path("gold")
    recorded = {side: str(entry.run.get(side, {}).get("folder") or "") for side in ("submission", "gold")}
    places = (
        place_of(entry, recorded["submission"], submission, "*", "submission"),
        place_of(entry, recorded["gold"], gold, SPEC_PATTERN, "gold"),
    )
    for side, place, given in zip(recorded, places, (submission, gold), strict=True):
        if given is None and place != Path(recorded[side]):
            print(clean(f"note: the {side} of {entry.name} is read from {place}"), file=sys.stderr)
    return places


def _is_file(output: Path) -> bool:
    return output.suffix.lower() in (".md", ".markdown")


def _check_place(output: Path | None) -> None:
    """Raise `OutputError` if the bundle cannot be written, before the search starts."""
    from evalsuite.reports import check_writable

    if output is None:
        return
    if not _is_file(output) and exists(output) and (not is_dir(output) or any(output.iterdir())):
        raise OutputError(f"{output} is not an empty folder", hint="name a new folder, or FILE.md")
    check_writable(output if _is_file(output) else output / "README.md")


def _write_bundle(case: "Bundle", output: Path | None, *, signature: str) -> None:
    """Print the bundle, or write it and print its path. Raises `OutputError`."""
    import shutil

    from evalsuite.analysis.explain.smallest_case import files_of, write
    from evalsuite.reports import replace_atomically
    from evalsuite.reports.explain_documents import bundle_document
    from evalsuite.reports.file_formats import as_markdown

    text = as_markdown(bundle_document(case, files_of(case), signature=signature))
    if output is None:
        sys.stdout.write(text)
        return
    place = output if _is_file(output) else output / "README.md"
    try:
        if not _is_file(output):
            write(case, output)
        with replace_atomically(place) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        if not _is_file(output):
            # The folder was new, and the next try needs it to be.
            shutil.rmtree(output, ignore_errors=True)
        raise write_error(output, error) from error
    sizes = ", ".join(f"{before:,} to {after:,} {what}" for what, before, after in case.sizes)
    print(f"{case.instance_id}: {sizes}, saved {place}")


@dataclass(frozen=True, kw_only=True)
class InstanceReading:
    """Options of how gold and the answer of one instance are read."""

    databases: opt.Databases = None
    questions: opt.Questions = None
    frozen_clock: opt.FrozenClock = None
    live_gold: opt.LiveGold = False
    layout: opt.Layout = None
    mode: opt.Mode = None

    def options(self) -> dict[str, Any]:
        """Return the fields of `RunOptions`. Raises `UsageError`."""
        same = {name: getattr(self, name) for name in ("databases", "questions", "live_gold", "layout", "mode")}
        return {**same, "limits": opt.parse_limits(None, self.frozen_clock)}

    def check_unused(self, name: str, gold_dir: Path | None, *, explain: bool, reveal: str | None) -> None:
        """Raise `UsageError` for options that need a submission."""
        values = {"--explain": explain, "--databases": self.databases, "--frozen-clock": self.frozen_clock}
        values |= {"--live-gold": self.live_gold, "--reveal": reveal}
        if option := next((option for option, value in values.items() if value), None):
            raise UsageError(f"{option} needs a submission", hint=f"evalsuite check ID {option} ... --result_dir FOLDER, not {name}")
        if gold_dir is not None:
            raise UsageError("no submission folder given", hint=f"evalsuite check {name} --result_dir FOLDER --gold_dir {gold_dir}")


def check_command(
    ctx: typer.Context,
    name: Annotated[str, Argument(metavar="ID|SCORER", help="an instance with --result_dir, else a scorer")],
    result_dir: opt.ResultDir = None,
    gold_dir: Annotated[Path | None, Option("--gold-dir", help="the gold folder [default: gold]", metavar="DIR")] = None,
    gold: Annotated[list[str] | None, Option(help="an accepted answer, with --result-dir the gold folder; may be repeated")] = None,
    prediction: Annotated[
        list[str] | None,
        Option(help="the answer: a text, @FILE or - for stdin; a path if the scorer reads files or JSON, then it may be repeated"),
    ] = None,
    run_name: opt.OfRun = None,
    rules: opt.Rules = None,
    judge: opt.JudgeFile = None,
    output: Outputs = None,
    json_: opt.Json = False,
    explain: Annotated[bool, Option("--explain", help="with --result-dir: also explain why the answer is wrong")] = False,
    reveal: Reveal = None,
    *,
    code: opt.Code,
    fail_under: opt.FailUnder = None,
    reading: InstanceReading,
) -> int:
    """Score one instance of a submission, or one prediction with a scorer, and show every detail.

    The options of a scorer are its parameters; `evalsuite gold scorers NAME` explains them. A name that is no scorer is an instance of the
    last run, if no folder and no run is named.
    """
    opt.check_share(fail_under, "--fail-under")
    check_showing(output or (), reveal)
    if name.startswith("-"):
        raise UsageError(f"{name!r} is before the name", hint="the name of the scorer or instance comes first, then its options")
    code.load()
    run_name = run_name if run_name is not None or result_dir or prediction else _last_run_with(name)
    if result_dir is None and run_name is None:
        reading.check_unused(name, gold_dir, explain=explain, reveal=reveal)
        from evalsuite.cli.prediction import check_prediction

        how: dict[str, Any] = {"as_json": json_, "allow_programs": code.allow_programs}
        value, document = check_prediction(name, prediction or [], gold or [], ctx.args, opt.parse_rules(rules), judge, **how)
    else:
        if unused := [*ctx.args, *["--prediction"] * bool(prediction)]:
            raise UsageError(f"{unused[0]!r} is not used with an instance", hint="options of a scorer: evalsuite check SCORER ...")
        folders = [*([gold_dir] if gold_dir is not None else []), *map(_named_folder, gold or ())]
        read = {**reading.options(), "allow_programs": code.allow_programs, "judge": judge}
        submission, gold_folder, chosen, read = _sides_to_check(opt.local_folder(result_dir), run_name, folders, rules, read)
        more: dict[str, Any] = {"level": reveal, "explain": explain, "as_json": json_, "of_run": _only(run_name, folders, result_dir)}
        # The user named the gold folder unless it is that of a run.
        with opt.trust(*(folders if run_name is not None else [gold_folder])):
            value, document = _check_instance(name, submission, gold_folder, chosen, read, **more)
    code_of_files = EXIT_GATE if write_all(document, output or ()) else EXIT_OK
    if fail_under is None or (value is not None and reaches(value, fail_under)):
        return code_of_files
    if not json_:
        print(f"below the gate of {fail_under:g} (exit 1)")
    return EXIT_GATE


def _only(run_name: str | None, folders: Sequence[Path], submission: Path | None) -> str | None:
    """Return the run whose own files are scored, None if there is none or another gold or submission is named."""
    return None if folders or submission is not None else run_name


def _named_folder(text: str) -> Path:
    """Return the path of --gold. Raises `UsageError` for an empty one, which would be the working folder."""
    if not text:
        raise UsageError("--gold is empty", hint="name the gold folder; . is the working folder")
    return Path(text)


def _last_run_with(name: str) -> str | None:
    """Return the folder of the last run, which a note names, if it has this instance; None for another name.

    Raises `UsageError` for a name that is near to one of the run's instances, and to no scorer.
    """
    from evalsuite.runs.history import find_runs
    from evalsuite.scorers import SCORERS

    if name in SCORERS.names() or not (entries := find_runs(opt.RUNS)):
        return None
    ids = [result.instance_id for result in entries[-1].results()]
    if name in ids:
        return str(opt.run_or_last(None).folder)
    near, other = (did_you_mean(name, names) for names in (ids, SCORERS.names()))
    if near.startswith("did you mean") and not other.startswith("did you mean"):
        raise UsageError(f"{name!r} is no scorer, and no instance of the last run, {entries[-1].name}", hint=near)
    return None


def _sides_to_check(
    submission: Path | None, run_name: str | None, folders: Sequence[Path], rules: str | None, read: dict[str, Any]
) -> tuple[Path, Path, Rule | None, dict[str, Any]]:
    """Return (submission, gold, rules, options of reading), those of the named run if none are given. Raises `UsageError`."""
    from evalsuite.runs.history import one_run

    if len(folders) > 1:
        raise UsageError("the gold folder is given twice", hint="name it once: --gold_dir FOLDER")
    if run_name is None:
        assert submission is not None
        # An evaluator of query pairs is a layout of gold; its verdict is the official one.
        evaluator = rules if rules in EVALUATORS else None
        read["layout"] = evaluator or read["layout"]
        return submission, (*folders, Path("gold"))[0], "official" if evaluator else opt.parse_rules(rules), read
    from evalsuite.runs.rescoring import day_of_gold, questions_of

    entry = one_run(run_name)
    options, layout = entry.run["options"], entry.run["gold"].get("layout")
    saved = {"questions": questions_of(entry, read["questions"]), "layout": layout}
    saved |= {"mode": options.get("mode"), "live_gold": options.get("live_gold", False)}
    chosen = opt.parse_rules(rules) or requested_rules(entry.run)
    read = read | {key: read[key] or value for key, value in saved.items()} | {"as_of": day_of_gold(entry)}
    return *_sides_of(entry, submission, folders[0] if folders else None), chosen, read


def _check_instance(
    name: str,
    submission: Path,
    gold: Path,
    rules: Rule | None,
    read: dict[str, Any],
    *,
    of_run: str | None,
    level: str | None,
    explain: bool,
    as_json: bool,
) -> "tuple[float | None, Document]":
    """Score an instance, print it at its reveal level, with `explain` also the explanation; return its score and the document.

    `of_run` is the run whose files these are: a note says if its result differs.
    """
    from evalsuite.reports.explain_documents import explanation_document
    from evalsuite.reports.score_text import instance_document
    from evalsuite.runs.history import one_run
    from evalsuite.runs.run_files import result_line
    from evalsuite.runs.scoring import run

    check_level(level)
    finished = run(submission, gold, RunOptions(rules=rules, only=(name,), save=False, **read))
    result = finished.results[0]
    name, level = result.instance_id, level_for(finished.gold, level)
    about = {"rules": rules, "level": level, "result": result, "databases": read["databases"]}
    about |= {"mode": read["mode"], "as_of": read.get("as_of")}
    data = evidence(name, submission, finished.gold, **about) if explain else {}
    row = json.loads(result_line(redact(result, level)))
    more = {key: value for key, value in data.items() if key not in row and key != "rules"}
    whole = row | ({"reveal": level, **more} if explain else {})
    # The spec contains the accepted answers, or their file names.
    instance = next(i for i in finished.gold.instances if i.instance_id == name) if level == "cells" else None
    document = instance_document(redact(result, level), instance=instance, submission=finished.submission, whole=whole)
    if explain:
        why, alone = explanation_document(name, data), document
        document = replace(alone, sections=lambda form: [*alone.sections(form), *why.sections(form)])
    if as_json:
        print(json.dumps(whole))
    else:
        print_document(document)
    if of_run is not None and shows(level, "class"):
        _say_changed(_saved_result(one_run(of_run), name), result.official, result.strict)
    return result.score, document


def validate_command(
    submission: Annotated[Path, Argument(help="the submission: a folder, or an archive of it", show_default=False)],
    gold: Annotated[
        Path | None,
        Option(
            "--gold", "--gold-dir", help="the gold folder; its *_eval.jsonl is enough [default: check the submission alone]", metavar="DIR"
        ),
    ] = None,
    layout: opt.Layout = None,
    mode: opt.Mode = None,
    json_: opt.Json = False,
) -> int:
    """Check whether a submission folder is ready to submit: lines, ids, answer types, and whether each file can be read."""
    from evalsuite.analysis.gold_checks.readiness import finding_line, validate

    report = validate(submission, gold, layout=layout, mode=mode)
    if json_:
        print(json.dumps(report.to_json(), indent=2))
        return EXIT_OK if report.ready else EXIT_GATE
    for problem in report.problems:
        print(clean(finding_line(problem)))
    for note in report.notes:
        print(clean(f"note: {note}"))
    kinds = " · ".join(f"{count} {kind}" for kind, count in report.n_answers.items() if count)
    n_answers = sum(report.n_answers.values())
    of = "" if report.n_gold is None else f" of {report.n_gold}"
    print(f"{n_answers}{of} answers" + (f" ({kinds})" if kinds else "") + f", {report.n_ready} ready")
    n_problems = count_words(len(report.problems), "problem")
    print("ready to submit" if report.ready else f"not ready: {n_problems} (exit 1)")
    return EXIT_OK if report.ready else EXIT_GATE
