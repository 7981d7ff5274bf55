"""`evalsuite compare`, `samples`, `leaderboard` and `agree`: several runs or raters side by side."""

import math
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalsuite.cli.options import RUNS, AllowUnscored, GoldDir, Json, Limit, PublicKey, Quiet, RunsFolder, Scoring, limits_of, one_of
from evalsuite.cli.showing import Outputs, ProgressBar, Reveal, check_showing, console, print_document, with_lost, write_all
from evalsuite.errors import EXIT_GATE, EXIT_OK, EXIT_UNSCORABLE, EvalsuiteError, UsageError
from evalsuite.reports.clean import clean

if TYPE_CHECKING:
    from evalsuite.board.ranking import Leaderboard
    from evalsuite.memo import Memo
    from evalsuite.run.entries import Entry

Rater = Annotated[str, typer.Argument(help="a run's name or folder, or a .csv file with the columns instance_id and label")]


class NotRankedError(EvalsuiteError):
    """Submissions that were scored and saved, and cannot be ranked: exit code 2 would say that nothing was saved."""

    exit_code = EXIT_GATE


def compare_command(
    names: Annotated[
        list[str],
        typer.Argument(metavar="A B [C ...]", help="runs (SUITE/RUN too) or submission folders; A is the baseline; A1+A2: samples"),
    ],
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold", "--gold-dir", "--gold_dir", help="the gold to score submission folders against [default: the runs' own, else gold]"
        ),
    ] = None,
    runs: RunsFolder = RUNS,
    alpha: Annotated[
        float, typer.Option(help="the chance of a false call that is accepted; intervals hold 1 - alpha", metavar="0-1")
    ] = 0.05,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="exit 1 where a candidate is worse than the baseline at alpha")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="compare runs of different signatures, with a warning in every report")] = False,
    cluster: Annotated[
        str | None,
        typer.Option(help="groups that begin with this are clusters [default: the clusters of suite.yaml]", metavar="TAG-PREFIX"),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(help="the names are of runs of this suite: A is SUITE/A", metavar="SUITE", show_default=False)
    ] = None,
    shift: Annotated[
        bool, typer.Option("--shift", help="also test whether scores are distributed differently, by field or by scorer")
    ] = False,
    labels: Annotated[
        list[Path] | None,
        typer.Option("--labels", metavar="FILE.csv", help="what people said of answers, a file for each run in order", show_default=False),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="list every flip and every field")] = False,
    output: Outputs = None,
    reveal: Reveal = None,
    json_: Annotated[bool, typer.Option("--json", help="print the comparison as JSON and nothing else")] = False,
    quiet: Quiet = False,
    *,
    how: Scoring,
) -> int:
    """Compare runs or submission folders on the same instances: difference, interval, p-value, and which instances flipped.

    Pairs instances by id. Exact McNemar for 0/1 scores, sign-flip permutation for graded ones, Holm over several candidates.
    """
    from evalsuite.board import compare
    from evalsuite.board.repeats import load_samples
    from evalsuite.board.sides import with_labels
    from evalsuite.reports.comparison_document import comparison_document
    from evalsuite.reports.comparison_sections import comparison_verdict
    from evalsuite.reports.data_files import as_json
    from evalsuite.reports.terminal import show
    from evalsuite.store.history import last_suite_of

    how.load()
    check_showing(output or (), reveal)
    scoring = how.options()
    chosen = scoring.pop("rules")
    load = partial(load_samples, runs=runs, gold=gold, rules=chosen, how=scoring)
    try:
        sides, notes = load(_of_suite(suite, names) if suite is not None else names)
    except UsageError:
        last = last_suite_of({own for name in names for own in name.split("+")}, runs) if suite is None else None
        if last is None:
            raise
        sides, notes = load(_of_suite(last, names))
        notes = [*notes, f"several suites have runs of these names: compared are those of {last}, which ran last (--suite says another)"]
    for note in notes:
        print(f"note: {clean(note)}", file=sys.stderr)
    found = compare(with_labels(sides, labels or ()), rules=chosen, alpha=alpha, force=force, cluster=cluster, shift=shift, reveal=reveal)
    fails = fail_on_regression and (found.regressions or found.undecided)
    code, line = EXIT_GATE if fails else EXIT_OK, comparison_verdict(found, gate=fail_on_regression)
    code, line = with_lost(code, line, write_all(comparison_document(found), output or ()))
    if json_:
        print(*as_json(comparison_document(found)), sep="", end="")
    elif quiet:
        print(line)
    else:
        show(comparison_document(found, everything=all_), console(), last_line=line)
    return code


def _of_suite(suite: str, names: Sequence[str]) -> list[str]:
    """The names as runs of a suite."""
    return ["+".join(f"{suite}/{own}" for own in name.split("+")) for name in names]


def samples_command(
    names: Annotated[list[str], typer.Argument(metavar="RUN RUN [RUN ...]", help="runs or submission folders of one model, or of several")],
    gold: Annotated[
        Path | None, typer.Option("--gold", help="the gold to score submission folders against [default: the runs' own, else gold]")
    ] = None,
    runs: RunsFolder = RUNS,
    output: Outputs = None,
    json_: Annotated[bool, typer.Option("--json", help="print the numbers as JSON and nothing else")] = False,
    *,
    how: Scoring,
) -> int:
    """Read several runs as samples of the same questions: mean, pass@k, pass^k, and how much noise is the questions' and the samples'.

    Runs that each say a `model_name` are the samples of that model; otherwise all are of one. `compare A1+A2 B1+B2` compares samples.
    """
    from evalsuite.board import load_sides
    from evalsuite.board.repeats import samples_of
    from evalsuite.reports.samples_document import samples_document

    how.load()
    check_showing(output or (), None)
    scoring = how.options()
    document = samples_document(samples_of(load_sides(names, runs=runs, gold=gold, rules=scoring.pop("rules"), how=scoring)))
    n_lost = write_all(document, output or ())
    print_document(document, "json" if json_ else "text")
    return EXIT_GATE if n_lost else EXIT_OK


def leaderboard_command(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="submissions, runs by folder or name, or folders of them", show_default=False)
    ],
    gold: GoldDir = Path("gold"),
    by: Annotated[
        str | None, typer.Option(help="also a column for each scorer, or each group of the suite", metavar="scorer|group")
    ] = None,
    metadata: Annotated[
        Path | None,
        typer.Option(help="what is known of the models: a CSV with a column `submission` and any of model_name, ...", metavar="FILE.csv"),
    ] = None,
    receipts: Annotated[
        bool,
        typer.Option(
            "--receipts",
            help="the DIRs are (also) runs of others, folders or their run.json: ranked where they verify against --gold, or by --key",
        ),
    ] = False,
    key: PublicKey = None,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", "--anonymize", help="letters for names: no name, path or metadata of a submission in any output")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="rank runs that were not scored alike, and say so on the board")] = False,
    samples: Annotated[
        bool, typer.Option("--samples", help="submissions of one model_name are samples of it: a row a model, with pass@k and pass^k")
    ] = False,
    *,
    how: Scoring,
    output: Outputs = None,
    json_: Annotated[bool, typer.Option("--json", help="print the board as one JSON object and nothing else")] = False,
    quiet: Quiet = False,
    allow_unscored: AllowUnscored = False,
    limit: Limit = None,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs, where finished ones are looked up and new ones saved")] = RUNS,
) -> int:
    """Score every submission under the folders, rank them with intervals and shared ranks, and save the new runs.

    A submission that did not change since a finished run of the same signature is not scored again.
    """
    from evalsuite.gold.layouts import layout_of
    from evalsuite.memo import Memo, code_stamp
    from evalsuite.readers.gold_files import find_spec
    from evalsuite.reports.data_files import as_json
    from evalsuite.reports.leaderboard_document import board_last_line, leaderboard_document
    from evalsuite.reports.terminal import show
    from evalsuite.run.entries import Settings, score_places
    from evalsuite.run.places import find_places
    from evalsuite.store.history import named_run

    how.load()
    check_showing(output or (), None)
    if by is not None:
        one_of(by, ("scorer", "group"), "--by")
    if how.evaluator is not None and layout_of(find_spec(gold)) != how.evaluator:
        hint = "a board goes by the ending of gold: gold.sql is bird-ex, gold.txt test-suite"
        raise UsageError(f"--rules {how.evaluator} is not what {gold} says", hint=hint)
    settings = Settings(runs_folder=runs, limits=limits_of(limit or ()), **how.options())
    if receipts:
        folders = [folder.parent if folder.name == "run.json" and folder.is_file() else folder for folder in folders]
    known = {folder: named_run(str(folder), runs) for folder in folders if not folder.exists()}
    places, notes = find_places([entry.folder if (entry := known.get(folder)) else folder for folder in folders], gold)
    if receipts or key is not None:
        from evalsuite.audit.receipts import only_trusted

        places = only_trusted(places, gold, key=key, isolation=how.options()["isolation"])
    about = _metadata_by_submission(metadata) if metadata is not None else {}
    strangers = sorted(set(about) - {place.name for place in places})
    notes += [f"{metadata}: no submission {name!r}" for name in strangers]
    memo = Memo(how.cache, stamp=code_stamp())
    try:
        with ProgressBar(hidden=json_ or quiet) as progress:
            entries = score_places(places, gold, settings, memo, metadata=about, anew=how.no_cache, progress=progress)
        shown: dict[str, Any] = {
            "by": by,
            "force": force,
            "anonymous": anonymise,
            "notes": notes,
            "allow_unscored": allow_unscored,
            "samples": samples,
        }
        board = _ranked(entries, memo, runs, **shown)
    finally:
        memo.close()
    code = EXIT_GATE if any(row.fault for row in board.rows) else EXIT_OK
    if code == EXIT_OK and not allow_unscored and any(row.rank is None for row in board.rows):
        code = EXIT_UNSCORABLE
    line = board_last_line(board) + (f" (exit {code})" if code != EXIT_OK else "")
    code, line = with_lost(code, line, write_all(leaderboard_document(board), output or ()))
    document = leaderboard_document(board)
    if json_:
        print(*as_json(document), sep="", end="")
        return code
    if not quiet:
        show(document, console(document.width), last_line="")
        print()
    for difference in board.forced:
        print(f"note: forced: ranked although they differ in {difference}", file=sys.stderr)
    print(line)
    return code


def _ranked(entries: Sequence["Entry"], memo: "Memo", runs: Path, *, by: str | None, **how: Any) -> "Leaderboard":
    """The board of these entries. Raises `UsageError`, and `NotRankedError` where new runs were saved on the way."""
    from evalsuite.board.ranking import make_leaderboard

    try:
        return make_leaderboard(entries, memo, by="scorer" if by == "scorer" else "group" if by else None, **how)
    except UsageError as error:
        if not (n := sum(entry.is_new for entry in entries)):
            raise
        message = f"{error.message}; {n} new run{'s' * (n > 1)} saved in {runs} (exit {EXIT_GATE})"
        raise NotRankedError(message, hint=error.hint) from None


def _metadata_by_submission(path: Path) -> dict[str, dict[str, str]]:
    """Submission name -> its metadata, from a CSV with a column `submission`. Raises `UsageError`."""
    from evalsuite.readers.csv_table import read_named_rows

    header, rows = read_named_rows(path)
    if "submission" not in header:
        raise UsageError(f"{path}: no column 'submission'", hint=f"found: {', '.join(header)}; `submission` holds the folders' names")
    found: dict[str, dict[str, str]] = {}
    for line, cells in rows:
        row = dict(zip(header, cells, strict=False))
        name = row.pop("submission", "")
        if not name:
            raise UsageError(f"{path}:{line}: no submission is named", hint="the column `submission` holds the folder's name")
        if name in found:
            raise UsageError(f"{path}:{line}: {name!r} stands twice", hint="one line a submission")
        found[name] = {str(key): str(value) for key, value in row.items() if key and value}
    return found


def agree_command(
    rater_a: Rater,
    rater_b: Rater,
    runs: RunsFolder = RUNS,
    threshold: Annotated[float | None, typer.Option(help="count labels of at least this as 1, others as 0", metavar="NUMBER")] = None,
    most: Annotated[int, typer.Option(help="how many disagreements are shown")] = 20,
    json_: Json = False,
) -> int:
    """Say how far two raters agree beyond chance, and where they do not: two runs (two judges), or a run and labels of people."""
    from evalsuite.board.raters import agree, read_rater
    from evalsuite.reports.raters_document import raters_document

    if threshold is not None and math.isnan(threshold):
        raise UsageError("--threshold cannot be nan", hint="a number; labels of at least this count as 1")
    if most < 0:
        raise UsageError(f"--most cannot be {most}", hint="a number from 0")
    found = agree(read_rater(rater_a, runs), read_rater(rater_b, runs), threshold=threshold)
    print_document(raters_document(found, most=most), "json" if json_ else "text")
    return EXIT_OK
