"""`evalsuite leaderboard`: score many submissions and rank them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalsuite.cli.options import RUNS, GoldDir, Limit, Quiet, Scoring, limits_of, one_of
from evalsuite.cli.showing import Outputs, ProgressBar, check_showing, console, with_lost, write_all
from evalsuite.errors import EXIT_GATE, EXIT_OK, EvalsuiteError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalsuite.board.ranking import Leaderboard
    from evalsuite.memo import Memo
    from evalsuite.run.entries import Entry


def command(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="submissions, runs, or folders of them", show_default=False)],
    how: Scoring,
    gold: GoldDir = Path("gold"),
    by: Annotated[
        str | None, typer.Option(help="also a column for each scorer, or each group of the suite", metavar="scorer|group")
    ] = None,
    metadata: Annotated[
        Path | None,
        typer.Option(help="what is known of the models: a CSV with a column `submission` and any of model_name, ...", metavar="FILE.csv"),
    ] = None,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", "--anonymize", help="letters for names: no name, path or metadata of a submission in any output")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="rank runs that were not scored alike, and say so on the board")] = False,
    output: Outputs = None,
    json_: Annotated[bool, typer.Option("--json", help="print the board as one JSON object and nothing else")] = False,
    quiet: Quiet = False,
    limit: Limit = None,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs, where finished ones are looked up and new ones saved")] = RUNS,
) -> int:
    """Score every submission under the folders, rank them with intervals and shared ranks, and save the new runs.

    A submission that did not change since a finished run of the same signature is not scored again.
    """
    from evalsuite.memo import Memo, code_stamp
    from evalsuite.reports.leaderboard_document import board_last_line
    from evalsuite.run.entries import Settings, find_places, score_places

    how.load()
    check_showing(output or (), None)
    column = one_of(by, ("scorer", "group"), "--by") if by is not None else None
    settings = Settings(runs_folder=runs, limits=limits_of(limit or ()), **how.options())
    places, notes = find_places(folders, gold)
    about = _metadata(metadata) if metadata is not None else {}
    strangers = sorted(set(about) - {place.name for place in places})
    notes += [f"{metadata}: no submission {name!r}" for name in strangers]
    memo = Memo(how.cache, stamp=code_stamp())
    try:
        with ProgressBar(hidden=json_ or quiet or not sys.stderr.isatty()) as progress:
            entries = score_places(places, gold, settings, memo, metadata=about, anew=how.no_cache, progress=progress)
        board = _board(entries, memo, runs, by=column, force=force, anonymous=anonymise, notes=notes)
    finally:
        memo.close()
    unread = any(row.rank is None for row in board.rows)
    code, line = (EXIT_GATE, f"{board_last_line(board)} (exit {EXIT_GATE})") if unread else (EXIT_OK, board_last_line(board))
    code, line = with_lost(code, line, write_all(board, output or (), subject="leaderboard"))
    _print(board, line, as_json=json_, quiet=quiet)
    return code


class NotRankedError(EvalsuiteError):
    """Submissions that were scored and saved, and cannot be ranked: exit code 2 would say that nothing was saved."""

    exit_code = EXIT_GATE


def _board(entries: "Sequence[Entry]", memo: "Memo", runs: Path, *, by: str | None, **how: Any) -> "Leaderboard":
    """The board of these entries. Raises `UsageError`, and `NotRankedError` where new runs were saved on the way."""
    from evalsuite.board.ranking import make_leaderboard

    try:
        return make_leaderboard(entries, memo, by="scorer" if by == "scorer" else "group" if by else None, **how)
    except UsageError as error:
        if not (n := sum(entry.is_new for entry in entries)):
            raise
        message = f"{error.message}; {n} new run{'s' * (n > 1)} saved in {runs} (exit {EXIT_GATE})"
        raise NotRankedError(message, hint=error.hint) from None


def _print(board: "Leaderboard", line: str, *, as_json: bool, quiet: bool) -> None:
    from evalsuite.reports.leaderboard_document import leaderboard_document

    document = leaderboard_document(board)
    if as_json:
        from evalsuite.reports.data_files import as_json as json_text

        print(*json_text(document), sep="", end="")
        return
    if not quiet:
        from evalsuite.reports.terminal import show

        show(document, console(document.width), last_line="")
        print()
    for difference in board.forced:
        print(f"note: forced: ranked although they differ in {difference}", file=sys.stderr)
    print(line)


def _metadata(path: Path) -> dict[str, dict[str, str]]:
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
