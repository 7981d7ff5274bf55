"""`evalsuite suite try`: from one file of questions, references and answers to a verdict on who is better."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.options import Json, Quiet, load_parameters
from evalsuite.cli.showing import Outputs, ProgressBar, check_showing, print_document, with_lost, write_all
from evalsuite.errors import EXIT_OK, EXIT_UNSCORABLE, UsageError
from evalsuite.reports.clean import clean

if TYPE_CHECKING:
    from evalsuite.reports.document import Document
    from evalsuite.run.scoring import Run

_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?([eE][-+]?\d+)?")


def suite_try(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="a CSV, TSV, JSONL, JSON, Parquet or Excel file with a row per question")],
    candidates: Annotated[list[str], typer.Option("--candidate", help="a column of answers; may be repeated, the first is the baseline")],
    input_column: Annotated[str, typer.Option("--input", help="the column of questions")] = "input",
    reference_column: Annotated[str, typer.Option("--reference", help="the column of right answers")] = "reference",
    scorer: Annotated[
        str | None,
        typer.Option(help="the scorer [default: number_match where every reference is a number, else string_match]", show_default=False),
    ] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("--parameter", metavar="NAME=VALUE", help="a parameter of the scorer; may be repeated")
    ] = None,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="NAME", help="keep the suite under this name and the runs in the history")
    ] = None,
    alpha: Annotated[float, typer.Option(help="the chance of a false call that is accepted", metavar="0-1")] = 0.05,
    all_: Annotated[bool, typer.Option("--all", help="list every instance that was lost or won")] = False,
    output: Outputs = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Score columns of answers against a column of references and compare them: both percentages, which differ, and the exact p.

    Nothing is kept unless `--keep` names a suite.
    """
    from evalsuite.suites.case_data import reference_data_of
    from evalsuite.suites.stored_suites import ROOT
    from evalsuite.suites.test_suite import TestSuite
    from evalsuite.walls.scratch import ScratchFolder

    check_showing(output or (), None)
    if len(set(candidates)) < len(candidates):
        raise UsageError("--candidate names a column twice", hint="each candidate is a column of its own")
    data = reference_data_of(None, source, None, None, input_column, reference_column, False)
    references = data.references if data is not None and data.references else []
    chosen = scorer or ("number_match" if all(_NUMBER.fullmatch(text.strip()) for text in references) else "string_match")
    with ScratchFolder() as scratch:
        suite = TestSuite(
            keep or source.stem,
            chosen,
            reference_data_path=source,
            input_column=input_column,
            reference_column=reference_column,
            config=load_parameters(parameters or ()),
            root=ROOT if keep else scratch,
        )
        runs = []
        for name in candidates:
            with ProgressBar(hidden=json_ or quiet) as progress:
                made = suite.run(name, candidate_data_path=source, candidate_column=name, save=keep is not None, progress=progress)
            runs.append(made.run)
        document, line = _told(dict(zip(candidates, runs, strict=True)), alpha, everything=all_)
        unjudged = any(result.score is None and result.fault != "UNDEFINED" for run in runs for result in run.results)
        code, line = with_lost(EXIT_UNSCORABLE if unjudged else EXIT_OK, line, write_all(document, output or ()))
        if json_:
            print_document(document, "json")
        elif quiet:
            print(line)
        else:
            by = "" if scorer else "; --scorer chooses another, `evalsuite scorers` lists them"
            print(clean(f"scored by {chosen}{by}"))
            print_document(document, last_line="")
            if keep is None:
                asked = {"--input": [input_column], "--reference": [reference_column], "--candidate": candidates}
                asked |= {"--scorer": [scorer] if scorer else [], "--parameter": parameters or [], "--keep": [source.stem]}
                again = [word for option, values in asked.items() for one in values for word in (option, one)]
                print(clean(f"next: evalsuite {shlex.join(['suite', 'try', str(source), *again])}"))
            elif candidates[1:]:
                # A run alone says by itself what comes next.
                print(clean(f"next: evalsuite {shlex.join(['report', f'{keep}/{candidates[0]}'])}"))
            print(clean(line))
    return code


def _told(runs: "Mapping[str, Run]", alpha: float, *, everything: bool) -> "tuple[Document, str]":
    """What there is to say of the runs by candidate, and its last line: how they compare, or the report of the only one."""
    from evalsuite.board import compare
    from evalsuite.board.sides import side_of
    from evalsuite.gold.exchanges import exchanges_of
    from evalsuite.reports.comparison_document import comparison_document
    from evalsuite.reports.comparison_sections import comparison_verdict
    from evalsuite.reports.record import record_of_run
    from evalsuite.reports.run_document import run_document

    if len(runs) == 1:
        document = run_document(record_of_run(next(iter(runs.values()))))
        return document, str(document.last_line)
    sides = [side_of(name, run.to_json(), run.results, exchanges=exchanges_of(run.gold, run.submission)) for name, run in runs.items()]
    found = compare(sides, alpha=alpha)
    return comparison_document(found, everything=everything), comparison_verdict(found)
