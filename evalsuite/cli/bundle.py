"""`evalsuite bundle`: an instance as the smallest case with its verdict, ready to paste into an issue."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.options import ResultDir, Rules, load_plugins, one_of, rule
from evalsuite.errors import EXIT_GATE, EXIT_OK, OutputError, UsageError, cannot_write

if TYPE_CHECKING:
    from evalsuite.store.history import RunEntry
    from evalsuite.trust.bundle import Bundle


def command(
    instance_id: Annotated[str, typer.Argument(metavar="ID", help="the instance to shrink")],
    run: Annotated[str | None, typer.Option("--run", help="a saved run, by name or folder", metavar="RUN")] = None,
    result_dir: ResultDir = None,
    gold: Annotated[
        Path | None, typer.Option("--gold", "--gold-dir", "--gold_dir", help="the gold folder [default: the run's, else gold]")
    ] = None,
    rules: Rules = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="FILE.md, or a folder for the files too [default: print]", metavar="FILE.md|DIR")
    ] = None,
    reveal: Annotated[str | None, typer.Option(metavar="cells", help="needed where gold is hidden: a bundle shows its cells")] = None,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs")] = Path(".evalsuite/runs"),
    isolation: Annotated[str, typer.Option(help="how answers are kept apart while they are read", metavar="process|none")] = "process",
    plugin: Annotated[list[Path] | None, typer.Option(help="a Python file that brings scorers; may be repeated", metavar="FILE.py")] = None,
) -> int:
    """Shrink an instance to the fewest rows, columns, words or fields on which both rules still say the same, as Markdown.

    evalsuite bundle sales_004 --run 20261121-102205-example -o issue.md

    The case is written as files and scored again; exit 1 where that gives another verdict.
    """
    from tempfile import TemporaryDirectory

    from evalsuite.trust.bundle import bundle
    from evalsuite.trust.bundle_files import scored, verdict, write

    load_plugins(plugin)
    _check_place(output)
    entry, submission, gold_folder = _sides(instance_id, run, runs, result_dir, gold)
    _check_reveal(gold_folder, reveal)
    options = entry.run.get("options", {}) if entry is not None else {}
    chosen = rule(rules)
    found = bundle(
        gold_folder,
        submission,
        instance_id,
        rules=chosen or rule(options.get("rules")),
        limits=options.get("limits"),
        layout=options.get("layout"),
        mode=options.get("mode"),
        isolation=one_of(isolation, ("process", "none"), "--isolation"),
    )
    with TemporaryDirectory(prefix="evalsuite-") as scratch:
        write(found, Path(scratch))
        again = scored(Path(scratch), rules=chosen)
    _write(found, output, signature=str(entry.run.get("signature", "")) if entry is not None else "")
    if again != verdict(found):
        print(f"as files the case is {again[0]} under official and {again[1]} under strict: another verdict (exit 1)", file=sys.stderr)
        return EXIT_GATE
    return EXIT_OK


def _sides(
    instance_id: str, run: str | None, runs: Path, result_dir: Path | None, gold: Path | None
) -> "tuple[RunEntry | None, Path, Path]":
    """The run, where one is named, and the folders of both sides."""
    if run is None:
        if result_dir is None:
            raise UsageError("no run and no submission given", hint=f"evalsuite bundle {instance_id} --run RUN, or --result_dir FOLDER")
        return None, result_dir, gold or Path("gold")
    from evalsuite.readers.paths import SPEC_PATTERN
    from evalsuite.run.rescoring import place_of
    from evalsuite.store.history import one_run

    entry = one_run(run, runs)
    said = entry.run.get("gold", {}).get("folder"), entry.run.get("submission", {}).get("folder")
    return entry, place_of(entry, said[1], result_dir, "*", "result-dir"), place_of(entry, said[0], gold, SPEC_PATTERN, "gold")


def _check_reveal(gold: Path, reveal: str | None) -> None:
    from evalsuite.gold.layouts import read_gold
    from evalsuite.reveal import level_for

    if level_for(read_gold(gold), reveal) != "cells":
        raise UsageError("a bundle shows cells of gold, which suite.yaml keeps hidden", hint="--reveal cells, if you may show them")


def _is_file(output: Path) -> bool:
    return output.suffix.lower() in (".md", ".markdown")


def _check_place(output: Path | None) -> None:
    """Raise `OutputError` where the bundle cannot be written, before anything is shrunk."""
    from evalsuite.reports import check_writable

    if output is None:
        return
    if not _is_file(output) and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise OutputError(f"{output} is not an empty folder", hint="name a new folder, or FILE.md")
    check_writable(output if _is_file(output) else output / "README.md")


def _write(found: "Bundle", output: Path | None, *, signature: str) -> None:
    from evalsuite.reports.bundle import bundle_markdown
    from evalsuite.trust.bundle_files import write

    text = bundle_markdown(found, signature=signature)
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
        raise cannot_write(output, error) from error
    sizes = ", ".join(f"{before:,} to {after:,} {what}" for what, before, after in found.sizes)
    print(f"{found.instance_id}: {sizes}, saved {place}")
