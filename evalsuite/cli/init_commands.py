"""`evalsuite init` and `evalsuite example`: make a suite without writing a spec, or an example suite."""

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.compare.characters import clean
from evalsuite.core.errors import EXIT_OK, UsageError, write_error

if TYPE_CHECKING:
    from evalsuite.analysis.gold_checks.example_answers import Inferred


_MOST_FINDINGS = 5


def init_command(
    gold_from: Annotated[
        Path | None, typer.Option("--gold-from", metavar="DIR", help="a folder of CSV files, each the right answer of an instance")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="the questions: a CSV with the columns id and question")
    ] = None,
    good: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="answers to accept (ID.csv, ID_*.csv, ID/*.csv); parameters are chosen to accept them"),
    ] = None,
    bad: Annotated[Path | None, typer.Option(metavar="DIR", help="answers to reject, named in the same way")] = None,
    to: Annotated[Path | None, typer.Option(metavar="DIR", help="the gold folder to make [default: gold]", show_default=False)] = None,
) -> int:
    """Make a gold folder from CSV files: the spec, a suite.yaml, a submission template; then check and lint it.

    Asks for the folder on a terminal; otherwise `--gold-from` is required.
    """
    from evalsuite.analysis.gold_checks.example_answers import infer_suite
    from evalsuite.analysis.gold_checks.lint import lint
    from evalsuite.analysis.gold_checks.own_gold import check_gold
    from evalsuite.gold.scaffold import gold_tables, make_gold, read_questions
    from evalsuite.reports.gold_documents import gold_check_verdict

    if gold_from is None and sys.stdin.isatty() and sys.stdout.isatty():
        gold_from = Path(input("folder of CSV files with the right answers: ").strip() or ".")
    if gold_from is None:
        raise UsageError(
            "no folder of gold given", hint="evalsuite init --gold-from DIR, a folder of CSV files; `evalsuite example DIR` plays"
        )
    tables = gold_tables(gold_from)
    asked = read_questions(questions, list(tables)) if questions is not None else {}
    target = _target(gold_from, to)
    template = target.with_name("submission_template")
    rules, chosen = infer_suite(tables, good, bad)
    parameters = {id_: one.parameters for id_, one in chosen.items()}
    stays = template.exists()
    made = make_gold(tables, target, template, questions=asked, parameters=parameters, rules=rules)
    n = len(made.ids)
    beside = "was there and stays as it is" if stays else "is a submission to fill in"
    print(clean(f"made {made.folder}: {n} instance{'s' * (n != 1)}, a table check each; {template} {beside}"))
    if left := sorted(f"{path.name}{'/' * path.is_dir()}" for path in gold_from.iterdir() if path not in tables.values()):
        print(clean(f"note: no CSV files, left out: {', '.join(left[:_MOST_FINDINGS])}{' ...' * (len(left) > _MOST_FINDINGS)}"))
    if asked and made.unasked:
        print(clean(f"note: no question for {', '.join(made.unasked[:_MOST_FINDINGS])}{' ...' * (len(made.unasked) > _MOST_FINDINGS)}"))
    for note in _choice_notes(rules, chosen):
        print(clean(note))
    print(clean(gold_check_verdict(check_gold(made.folder)).removeprefix("done: ").join(("gold check: ", ""))))
    findings = lint(made.folder).findings
    for finding in findings[:_MOST_FINDINGS]:
        print(clean(f"gold lint: {finding.where}: {finding.code}: {finding.message}"))
    if findings[_MOST_FINDINGS:]:
        print(clean(f"gold lint: {len(findings) - _MOST_FINDINGS} more, see `evalsuite gold lint {made.folder}`"))
    if not parameters:
        print("decide: ignore_order (now true), condition_cols (now all columns), abs_tol and rel_tol (now the rules' own)")
    print(clean(f"next: evalsuite {shlex.join(['run', str(template), '--gold', str(made.folder)])}"))
    print(clean(f"done: {made.folder} is a suite of {n} instance{'s' * (n != 1)}"))
    return EXIT_OK


def _target(source: Path, to: Path | None) -> Path:
    """Return the path of the new gold folder, which must be outside its source folder. Raises `UsageError`."""
    target = to or Path("gold")
    if to is None and target.exists():
        target = Path(f"{source.resolve().name}_gold")
    if target.resolve().is_relative_to(source.resolve()):
        raise UsageError(f"{target} would lie inside {source}", hint="stand in another folder, or name one by --to")
    if target.exists():
        raise UsageError(f"{target} is there already", hint="--to names another folder")
    return target


def _choice_notes(rules: str, found: "Mapping[str, Inferred]") -> Iterator[str]:
    """Yield sentences on the parameters chosen from examples, and on open ones."""
    if rules == "strict":
        yield "rules: strict by the examples (suite.yaml says so): official rules have no tolerance but 0.01 and let values change rows"
    for id_, one in found.items():
        told = ", ".join(f"{key} {str(value).lower() if isinstance(value, bool) else value}" for key, value in one.parameters.items())
        yield f"{id_}: {told} by {one.n_good} good and {one.n_bad} bad examples"
        yield from (f"{id_}: open: {text}" for text in one.open)
        yield from (f"{id_}: no parameters accept {name}" for name in one.refused_good)
        yield from (f"{id_}: no parameters refuse {name} and accept the good ones" for name in one.accepted_bad)


def example_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder for the example gold and submission")],
) -> int:
    """Write a small suite and a submission to a new folder, to try every command on."""
    from evalsuite.gold.scaffold import make_gold

    if folder.exists():
        raise UsageError(f"{folder} is there already", hint="name a new folder")
    tables = {"orders": "customer,total\nAbebe,120.5\nBruun,80.0\nCosta,61.25\n", "stock": "item,left\nlamp,4\ndesk,0\n"}
    answers = {"orders": "customer,total\nCosta,61.25\nAbebe,120.5\nBruun,80.0\n", "stock": "item,left\nlamp,4\ndesk,1\n"}
    asked = {"orders": "What did each customer order, in EUR?", "stock": "How many of each item are left?"}
    source, handed_in = folder / "tables", folder / "submission"
    try:
        source.mkdir(parents=True)
        for id_, text in tables.items():
            (source / f"{id_}.csv").write_text(text, encoding="utf-8")
        make_gold({id_: source / f"{id_}.csv" for id_ in tables}, folder / "gold", handed_in, questions=asked, parameters={})
        for id_, text in answers.items():
            (handed_in / id_ / f"{id_}.csv").write_text(text, encoding="utf-8")
        shutil.rmtree(source)
    except OSError as error:
        raise write_error(folder, error) from error
    print(clean(f"made {folder}: gold of 2 instances, and a submission that is right in one of them"))
    print(clean(f"next: evalsuite {shlex.join(['run', str(handed_in), '--gold', str(folder / 'gold')])}"))
    return EXIT_OK
