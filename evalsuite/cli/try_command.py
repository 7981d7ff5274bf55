"""`evalsuite suite try`: from one file of questions, references and answers to a verdict on who is better."""

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import Json, Quiet, load_parameters
from evalsuite.cli.showing import Outputs, check_showing, print_document, with_lost, write_all
from evalsuite.errors import EXIT_OK, EXIT_UNSCORABLE, UsageError
from evalsuite.reports.clean import clean

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
    from evalsuite.board import compare
    from evalsuite.board.sides import side_of
    from evalsuite.gold.exchanges import exchanges_of
    from evalsuite.reports.comparison_document import comparison_document
    from evalsuite.reports.comparison_sections import comparison_verdict
    from evalsuite.reports.record import record_of_run
    from evalsuite.reports.run_document import run_document
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
        runs = [suite.run(name, candidate_data_path=source, candidate_column=name, save=keep is not None).run for name in candidates]
        if len(runs) > 1:
            sides = [
                side_of(name, run.to_json(), run.results, exchanges=exchanges_of(run.gold, run.submission))
                for name, run in zip(candidates, runs, strict=True)
            ]
            found = compare(sides, alpha=alpha)
            document, line = comparison_document(found, everything=all_), comparison_verdict(found)
        else:
            document = run_document(record_of_run(runs[0]))
            line = str(document.last_line)
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
            again = f"evalsuite report {shlex.quote(candidates[0])}" if keep else f"--keep {shlex.quote(source.stem)} saves the runs"
            print(clean(f"next: {again}"))
            print(clean(line))
    return code
