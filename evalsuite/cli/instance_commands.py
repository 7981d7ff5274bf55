"""`evalsuite explain` and `evalsuite bundle`: explain the verdict of one instance, or reduce it to a minimal case."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalsuite.cli.options import (
    RUNS,
    Databases,
    GoldOfRun,
    Isolation,
    Json,
    OfRun,
    Plugins,
    Questions,
    ResultDir,
    Rules,
    RunsFolder,
    load_plugins,
    one_of,
    rule,
    trusted,
)
from evalsuite.cli.showing import Outputs, Reveal, print_document, write_all
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, OutputError, UsageError, write_error
from evalsuite.core.types import EVALUATORS

if TYPE_CHECKING:
    from evalsuite.analysis.explain.smallest_case import Bundle
    from evalsuite.core.types import Gold, Result, Rule
    from evalsuite.runs.history import RunEntry


# The search has its own budget of scorer calls, which ends it long before this limit.
SECONDS_OF_FILES = 300


def explain_command(
    instance_id: Annotated[str, typer.Argument(metavar="ID|GOLD", help="the instance to explain; or a file with the right answer")],
    prediction: Annotated[
        Path | None, typer.Argument(metavar="[PREDICTION]", help="the file to compare with the file GOLD", show_default=False)
    ] = None,
    run: OfRun = None,
    result_dir: ResultDir = None,
    gold: GoldOfRun = None,
    rules: Rules = None,
    reveal: Reveal = None,
    runs: RunsFolder = RUNS,
    plugin: Plugins = None,
    databases: Databases = None,
    questions: Questions = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN", help="two files: a key column to match rows by; may be repeated"),
    ] = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="two files: the order of the rows counts")] = False,
    table: Annotated[str | None, typer.Option("--table", metavar="NAME", help="two files: the table of a .duckdb file")] = None,
    output: Outputs = None,
    json_: Json = False,
) -> int:
    """Explain why an instance is wrong, or how two files differ: the cause that the scorer confirms, and the differences.

        evalsuite explain sales_004 --run 20261121-102205-example

        evalsuite explain sales_004 --result_dir FOLDER --gold gold

        evalsuite explain right.csv mine.csv --key id

    Files are .csv, .parquet, .json or .duckdb; exit 1 if the two differ.
    """
    if prediction is not None:
        if run is not None or result_dir is not None or gold is not None:
            raise UsageError(
                "two files have no run and no folders", hint="evalsuite explain GOLD.csv PREDICTION.csv, or explain ID --run RUN"
            )
        return explain_files(Path(instance_id), prediction, key or (), ordered=ordered, table=table, outputs=output or (), as_json=json_)
    if key or ordered or table is not None:
        raise UsageError("--key, --ordered and --table are for two files", hint="evalsuite explain GOLD.csv PREDICTION.csv --key id")
    from evalsuite.core.redaction import level_for
    from evalsuite.gold.layouts import read_gold
    from evalsuite.reports.explain_documents import explanation_document
    from evalsuite.runs.rescoring import questions_of
    from evalsuite.runs.run_options import RunOptions
    from evalsuite.runs.scoring import run as score

    load_plugins(plugin)
    entry = _named_run("explain", instance_id, run, runs, result_dir)
    saved: Mapping[str, Any] = entry.run if entry is not None else {}
    submission = result_dir or Path(str(saved.get("submission", {}).get("folder", "")))
    gold_folder = gold or Path(str(saved.get("gold", {}).get("folder", "gold")))
    asked = saved.get("options", {})
    # An evaluator of query pairs is a layout of gold. Otherwise the rules of the run's options, or each scorer's own.
    evaluator = rules if rules in EVALUATORS else None
    chosen, limits = rule(None if evaluator else rules) or rule(asked.get("rules")), dict(asked.get("limits") or {})
    layout, mode = evaluator or saved.get("gold", {}).get("layout"), asked.get("mode")
    questions = questions_of(entry, questions) if entry is not None else questions
    with trusted(*([gold_folder] if entry is None else [])):
        known = read_gold(gold_folder, layout=layout, questions=questions)
        level = level_for(known, reveal)
        result = {one.instance_id: one for one in entry.results()}.get(instance_id) if entry is not None else None
        if result is None:
            places: dict[str, Any] = {"databases": databases, "questions": questions}
            how = RunOptions(rules=chosen, only=(instance_id,), limits=limits, save=False, layout=layout, mode=mode, **places)
            result = score(submission, gold_folder, how).results[0]
    about = {"rules": chosen, "level": level, "result": result, "limits": limits, "databases": databases, "mode": mode}
    found = evidence(instance_id, submission, known, **about)
    document = explanation_document(instance_id, found)
    if json_:
        print(json.dumps({"instance_id": instance_id, "reveal": level, **found}, ensure_ascii=True))
    else:
        print_document(document)
    return EXIT_GATE if write_all(document, output or ()) else EXIT_OK


def explain_files(
    gold: Path, prediction: Path, key: Sequence[str], *, ordered: bool, table: str | None, outputs: Iterable[Path], as_json: bool
) -> int:
    """Print and write the differences of two files, read in a worker. Raises `UsageError` for other files, `FaultError` for a bad one."""
    from contextlib import ExitStack

    from evalsuite.cli.showing import check_showing
    from evalsuite.readers.duckdb_connections import unnamed_copy
    from evalsuite.readers.limits import resolve_limits
    from evalsuite.readers.load_table import DATABASES, ENDINGS, ending_of
    from evalsuite.readers.paths import open_trusted
    from evalsuite.reports.explain_documents import files_document
    from evalsuite.sandbox.rpc_client import RpcClient

    files = (gold, prediction)
    for file in files:
        if not ending_of(file):
            raise UsageError(f"{file} is no file that can be compared", hint=f"its name ends in one of {', '.join(ENDINGS)}")
        if not file.is_file():
            raise UsageError(f"no such file: {file}", hint="evalsuite explain GOLD.csv PREDICTION.csv")
    check_showing(outputs, None)
    names = [name.strip() for given in key for name in given.split(",") if name.strip()]
    limits = resolve_limits()
    n_bytes = sum(file.stat().st_size for file in files)
    with ExitStack() as stack:
        roomy = {**limits, "seconds": SECONDS_OF_FILES}
        calls = stack.enter_context(RpcClient(readable=files, hostile=prediction, limits=roomy))
        copy = None
        if ending_of(prediction) in DATABASES:
            source = stack.enter_context(open_trusted(prediction, limit_bytes=limits["file_bytes"]))
            copy = stack.enter_context(unnamed_copy(source, int(limits["file_bytes"])))
        places = [str(file.absolute()) for file in files]
        found = calls.call(
            "evalsuite.analysis.explain.file_comparison:compare_files", *places, table, names, ordered, copy=copy, n_bytes=n_bytes
        )
    document = files_document(str(gold), str(prediction), found)
    if as_json:
        print(json.dumps(document.whole, ensure_ascii=True))
    else:
        print_document(document)
    n_lost = write_all(document, outputs)
    return EXIT_OK if found["equal"] and not n_lost else EXIT_GATE


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
) -> dict[str, Any]:
    """Return why an instance is wrong, as data at a reveal level. Raises what reading the submission raises."""
    from evalsuite.analysis.explain.instance_evidence import explain_results
    from evalsuite.core.redaction import redact_evidence

    saved = {instance_id: result}
    how: dict[str, Any] = {"rules": rules, "results": saved, "databases": databases, "mode": mode, "known": gold}
    collected = explain_results(gold.folder, submission, [instance_id], limits, edits=True, **how)
    found = dict(collected)[instance_id]
    return redact_evidence(found, level, result=result)


def bundle_command(
    instance_id: Annotated[str, typer.Argument(metavar="ID", help="the instance to shrink")],
    run: OfRun = None,
    result_dir: ResultDir = None,
    gold: GoldOfRun = None,
    rules: Rules = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="FILE.md, or a folder for the files too [default: print]", metavar="FILE.md|DIR")
    ] = None,
    reveal: Annotated[str | None, typer.Option(metavar="cells", help="required if gold is hidden: a bundle shows its cells")] = None,
    runs: RunsFolder = RUNS,
    isolation: Isolation = "process",
    plugin: Plugins = None,
) -> int:
    """Reduce an instance to the fewest rows, columns, words or fields with the same verdicts, written as Markdown.

        evalsuite bundle sales_004 --run 20261121-102205-example -o issue.md

    The case is written to files and scored again; exit 1 if its verdict differs.
    """
    from evalsuite.analysis.explain.smallest_case import bundle, scored, verdict, write
    from evalsuite.sandbox.temp_dirs import TempDir

    load_plugins(plugin)
    _check_place(output)
    entry = _named_run("bundle", instance_id, run, runs, result_dir)
    asked = entry.run.get("options", {}) if entry is not None else {}
    if entry is not None and any(one.instance_id == instance_id and one.detail("gold_from") == "query" for one in entry.results()):
        hint = f"evalsuite explain {instance_id} --run {entry.name}"
        raise UsageError(f"{instance_id} was scored by the result of a gold query, and a bundle holds gold of files", hint=hint)
    chosen = rule(rules)
    with trusted(*([gold or Path("gold")] if entry is None else [])):
        submission, gold_folder = _sides_to_show(entry, result_dir, gold, reveal)
        found = bundle(
            gold_folder,
            submission,
            instance_id,
            rules=chosen or rule(asked.get("rules")),
            isolation=one_of(isolation, ("process", "none"), "--isolation"),
            **{name: asked.get(name) for name in ("limits", "layout", "mode")},
        )
    with TempDir() as scratch:
        write(found, scratch)
        again = scored(scratch, rules=chosen)
    _write_bundle(found, output, signature=str(entry.run.get("signature", "")) if entry is not None else "")
    if again != verdict(found):
        print(f"as files the case is {again[0]} under official and {again[1]} under strict: another verdict (exit 1)", file=sys.stderr)
        return EXIT_GATE
    return EXIT_OK


def _named_run(command: str, instance_id: str, run: str | None, runs: Path, result_dir: Path | None) -> "RunEntry | None":
    """Return the named run, None if none is named. Raises `UsageError` without a submission, or for an unknown run."""
    from evalsuite.runs.history import one_run

    if run is None and result_dir is None:
        hint = f"evalsuite {command} {instance_id} --run RUN, or --result_dir FOLDER"
        raise UsageError("no run and no submission given", hint=hint)
    return one_run(run, runs) if run is not None else None


def _sides_to_show(entry: "RunEntry | None", result_dir: Path | None, gold: Path | None, reveal: str | None) -> tuple[Path, Path]:
    """Return the submission and gold folders. Raises `UsageError` if one is gone, or gold's cells must not be shown."""
    from evalsuite.core.redaction import level_for
    from evalsuite.gold.layouts import read_gold
    from evalsuite.readers.paths import SPEC_PATTERN
    from evalsuite.runs.rescoring import place_of

    if entry is None:
        assert result_dir is not None
        submission, gold = result_dir, gold or Path("gold")
    else:
        submission = place_of(entry, entry.run.get("submission", {}).get("folder"), result_dir, "*", "result-dir")
        gold = place_of(entry, entry.run.get("gold", {}).get("folder"), gold, SPEC_PATTERN, "gold")
    if level_for(read_gold(gold), reveal) != "cells":
        raise UsageError("a bundle shows cells of gold, which suite.yaml keeps hidden", hint="--reveal cells, if you may show them")
    return submission, gold


def _is_file(output: Path) -> bool:
    return output.suffix.lower() in (".md", ".markdown")


def _check_place(output: Path | None) -> None:
    """Raise `OutputError` if the bundle cannot be written, before the search starts."""
    from evalsuite.reports import check_writable

    if output is None:
        return
    if not _is_file(output) and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise OutputError(f"{output} is not an empty folder", hint="name a new folder, or FILE.md")
    check_writable(output if _is_file(output) else output / "README.md")


def _write_bundle(found: "Bundle", output: Path | None, *, signature: str) -> None:
    """Print the bundle, or write it and print its path. Raises `OutputError`."""
    from evalsuite.analysis.explain.smallest_case import files_of, write
    from evalsuite.reports.explain_documents import bundle_document
    from evalsuite.reports.markdown import as_markdown

    text = as_markdown(bundle_document(found, files_of(found), signature=signature))
    if output is None:
        sys.stdout.write(text)
        return
    try:
        if not _is_file(output):
            write(found, output)
        place = output if _is_file(output) else output / "README.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise write_error(output, error) from error
    sizes = ", ".join(f"{before:,} to {after:,} {what}" for what, before, after in found.sizes)
    print(f"{found.instance_id}: {sizes}, saved {place}")
