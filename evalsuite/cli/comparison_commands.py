"""`evalsuite compare`, `samples`, `agree` and `leaderboard`: compare runs or raters, rank submissions, publish the ranking as a site."""

import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evalsuite.cli import options as opt
from evalsuite.cli.options import Argument, Option
from evalsuite.cli.showing import (
    ComparisonGates,
    Outputs,
    ProgressBar,
    Reveal,
    add_write_failures,
    check_showing,
    console,
    print_document,
    write_all,
    write_fails,
)
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, EXIT_UNSCORABLE, EvalsuiteError, UsageError, count_words, join_names
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.gold.layouts import layout_of, read_gold
from evalsuite.readers.gold_files import find_spec
from evalsuite.reports.terminal import show
from evalsuite.runs.history import find_named_run, last_suite_of
from evalsuite.runs.run_options import RunOptions, signature_parts
from evalsuite.sandbox.temp_dirs import TempDir

if TYPE_CHECKING:
    from evalsuite.analysis.leaderboard.pairing import RunSide
    from evalsuite.analysis.leaderboard.ranking import Leaderboard
    from evalsuite.core.disk_cache import DiskCache
    from evalsuite.core.scores import Rule
    from evalsuite.reports.site import SiteOrder
    from evalsuite.runs.leaderboard_entries import Entry, Place


SidesGold = Annotated[
    Path | None,
    Option("--gold", "--gold-dir", help="the gold of submission folders [default: the runs' own, else gold]", metavar="DIR"),
]
Rater = Annotated[str, Argument(help="a run's name or folder, or a .csv file with the columns instance_id and label")]


def compare_command(
    names: Annotated[
        list[str], Argument(metavar="A B [C ...]", help="runs (SUITE/RUN too) or submission folders; A is the baseline; A1+A2: samples")
    ],
    gold: SidesGold = None,
    runs: opt.RunsFolder = opt.RUNS,
    alpha: Annotated[float, Option(help="the accepted rate of false positives; intervals cover 1 - alpha", metavar="0-1")] = 0.05,
    force: Annotated[bool, Option("--force", help="compare runs of different signatures, with a warning in every report")] = False,
    cluster: Annotated[
        str | None, Option(help="groups with this prefix are clusters [default: the clusters of suite.yaml]", metavar="TAG-PREFIX")
    ] = None,
    suite: Annotated[str | None, Option(help="the names are of runs of this suite: A is SUITE/A", metavar="SUITE")] = None,
    shift: Annotated[bool, Option("--shift", help="also test whether scores are distributed differently, by field or by scorer")] = False,
    labels: Annotated[list[Path] | None, Option(metavar="FILE.csv", help="human labels of answers, one file for each run in order")] = None,
    all_: Annotated[bool, Option("--all", help="list every flip, group and field")] = False,
    verbose: Annotated[
        bool, Option("--verbose", "-v", help="show both reasons of each flip, the tests, the seed and the signature")
    ] = False,
    output: Outputs = None,
    reveal: Reveal = None,
    json_: Annotated[bool, Option("--json", help="print the comparison as JSON and nothing else")] = False,
    quiet: opt.Quiet = False,
    *,
    gates: ComparisonGates,
    how: opt.Scoring,
) -> int:
    """Compare runs or submission folders on the same instances: difference, interval, p-value, and which instances flipped.

    Pairs instances by id. Exact McNemar for 0/1 scores, sign-flip permutation for graded ones, Holm over several candidates.
    """
    from evalsuite.analysis.leaderboard import compare
    from evalsuite.analysis.leaderboard.pairing import set_labels
    from evalsuite.reports.comparison_documents import comparison_document

    how.load()
    opt.check_share(gates.fail_under, "--fail-under")
    check_showing(output or (), reveal)
    chosen = (scoring := how.options()).pop("rules")
    sides, notes = _load_sides(names, suite, runs, gold=gold, rules=chosen, how=scoring)
    _check_evaluator(how, sides)
    for note in notes:
        print(f"note: {clean(note)}", file=sys.stderr)
    outcome = compare(set_labels(sides, labels or ()), rules=chosen, alpha=alpha, force=force, cluster=cluster, shift=shift, reveal=reveal)
    code, line = gates.verdict(outcome)
    code, line = add_write_failures(code, line, write_all(comparison_document(outcome), output or ()))
    if json_:
        print_document(comparison_document(outcome), "json")
    elif quiet:
        print(line)
    else:
        show(comparison_document(outcome, everything=all_, brief=not verbose), console(), last_line=line)
    return code


def _load_sides(names: Sequence[str], suite: str | None, runs: Path, **how: Any) -> "tuple[list[RunSide], list[str]]":
    """Return (sides, notes) of runs of a suite or of any runs; of the suite that ran last if several have runs of these names."""
    from evalsuite.analysis.leaderboard.reliability import load_samples

    def load(suite: str | None) -> "tuple[list[RunSide], list[str]]":
        run_names = names if suite is None else ["+".join(f"{suite}/{part}" for part in name.split("+")) for name in names]
        return load_samples(run_names, runs=runs, **how)

    try:
        return load(suite)
    except UsageError:
        last = last_suite_of({run_name for name in names for run_name in name.split("+")}, runs) if suite is None else None
        if last is None:
            raise
    sides, notes = load(last)
    return sides, [*notes, f"several suites have runs of these names: compared are those of {last}, which ran last (--suite names another)"]


def _check_evaluator(how: opt.Scoring, sides: "Sequence[RunSide]") -> None:
    """Raise `UsageError` if an evaluator of query pairs is requested and one of the sides was scored by another."""
    for side in sides:
        how.check_evaluator(signature_parts(side.signature).get("rules"), side.label)


def samples_command(
    names: Annotated[list[str], Argument(metavar="RUN RUN [RUN ...]", help="runs or submission folders of one model, or of several")],
    gold: SidesGold = None,
    runs: opt.RunsFolder = opt.RUNS,
    output: Outputs = None,
    json_: Annotated[bool, Option("--json", help="print the numbers as JSON and nothing else")] = False,
    *,
    how: opt.Scoring,
) -> int:
    """Analyse several runs as samples of the same questions: mean, pass@k, pass^k, and the noise of questions and of samples.

    Runs that each have a `model_name` are the samples of that model; otherwise all belong to one. `compare A1+A2 B1+B2` compares samples.
    """
    from evalsuite.analysis.leaderboard import load_sides
    from evalsuite.analysis.leaderboard.reliability import samples_of
    from evalsuite.reports.analysis_documents import samples_document

    how.load()
    check_showing(output or (), None)
    scoring = how.options()
    sides = load_sides(names, runs=runs, gold=gold, rules=scoring.pop("rules"), how=scoring)
    _check_evaluator(how, sides)
    document = samples_document(samples_of(sides))
    n_lost = write_all(document, output or ())
    print_document(document, "json" if json_ else "text")
    return EXIT_GATE if n_lost else EXIT_OK


def agree_command(
    rater_a: Rater,
    rater_b: Rater,
    runs: opt.RunsFolder = opt.RUNS,
    threshold: Annotated[float | None, Option(help="count labels of at least this as 1, others as 0", metavar="NUMBER")] = None,
    most: Annotated[int, Option(help="how many disagreements are shown")] = 20,
    json_: opt.Json = False,
) -> int:
    """Measure how far two raters agree beyond chance, and list where they do not: two runs (two judges), or a run and human labels."""
    from evalsuite.analysis.leaderboard.reliability import agree, read_rater
    from evalsuite.reports.analysis_documents import raters_document

    if threshold is not None and math.isnan(threshold):
        raise UsageError("--threshold cannot be nan", hint="a number; labels of at least this count as 1")
    if most < 0:
        raise UsageError(f"--most cannot be {most}", hint="a number from 0")
    agreement = agree(read_rater(rater_a, runs), read_rater(rater_b, runs), threshold=threshold)
    print_document(raters_document(agreement, most=most), "json" if json_ else "text")
    return EXIT_OK


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """Options of the published site."""

    site: Annotated[Path | None, Option(help="also build a site of static pages in this folder", metavar="DIR")] = None
    since: Annotated[
        str | None, Option(help="show rank changes since this day, last, a board.json or a site [default: last]", metavar="LAST")
    ] = None
    board: Annotated[
        Path | None,
        Option(
            help="phases, quotas and what is hidden [default: board.yaml in the gold folder, else in the working directory]",
            metavar="FILE.yaml",
        ),
    ] = None
    private: Annotated[
        Path | None, Option(help="the folder of what is not published: feedback, submission times [default: DIR.private]", metavar="DIR")
    ] = None
    reveal: Annotated[
        str | None,
        Option(metavar="none|status|class|shape|cells", help="how much of gold the site's pages show [default: board.yaml's, else none]"),
    ] = None

    def check(self) -> None:
        """Raise `UsageError` for options that exclude each other."""
        values = {"--since": self.since, "--board": self.board, "--private": self.private, "--reveal": self.reveal}
        if self.site is None and (options_given := [name for name, value in values.items() if value is not None]):
            raise UsageError(f"{options_given[0]} is an option of a site", hint="add --site DIR")
        if self.site is not None and self.private_folder.is_relative_to(self.site.resolve()):
            raise UsageError("the private folder is in the site", hint="name another by --private: everything in the site is published")

    @property
    def private_folder(self) -> Path:
        """Return the folder of the host's private data."""
        assert self.site is not None
        site = self.site.resolve()
        return (self.private or site.with_name(f"{site.name}.private")).resolve()

    def order(self, gold: Path, metadata: Mapping[str, Mapping[str, str]], opened: ExitStack) -> "SiteOrder":
        """Return the checked inputs of the site, which no other build may use until `opened` ends. Raises `UsageError` and `GoldError`."""
        from evalsuite.analysis.leaderboard.ranking import BOARD_FILE, Admission, BoardRules, read_board_rules
        from evalsuite.reports.site import RECEIVED, SiteOrder, build_lock, check_site, find_previous_board

        assert self.site is not None
        opened.enter_context(build_lock(self.private_folder))
        teams = {name: row["team"] for name, row in metadata.items() if row.get("team")}
        # SOURCE_DATE_EPOCH makes builds repeatable.
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        folder, now = self.site.resolve(), datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
        check_site(folder)
        candidates = [place / BOARD_FILE for place in (gold if is_dir(gold) else gold.parent, Path())]
        file = self.board or next((place for place in candidates if is_file(place)), None)
        rules = read_board_rules(file) if file is not None else BoardRules()
        return SiteOrder(
            folder=folder,
            private=self.private_folder,
            rules=rules,
            level=self.reveal or rules.reveal,
            now=now,
            before=find_previous_board(folder, self.since, now.strftime("%Y-%m-%d")),
            admission=Admission(rules, self.private_folder / RECEIVED, now, teams=teams),
        )


class NotRankedError(EvalsuiteError):
    """Submissions were scored and saved, but cannot be ranked: exit code 2 would mean that nothing was saved."""

    exit_code = EXIT_GATE


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Options of the ranking."""

    by: Annotated[str | None, Option(help="also a column for each scorer, or each group of the suite", metavar="scorer|group")] = None
    metadata: Annotated[
        Path | None, Option(help="metadata of the models: a CSV with a column `submission` and any of model_name, ...", metavar="FILE.csv")
    ] = None
    anonymise: Annotated[
        bool, Option("--anonymise", "--anonymize", help="replace names by letters: no name, path or metadata of a submission in any output")
    ] = False
    force: Annotated[bool, Option("--force", help="rank runs of different signatures, with a note on the leaderboard")] = False
    samples: Annotated[
        bool, Option("--samples", help="submissions of one model_name are its samples: one row per model, with pass@k and pass^k")
    ] = False
    allow_unscored: opt.AllowUnscored = False

    def options(self) -> dict[str, Any]:
        """Return the keywords of `make_leaderboard`. Raises `UsageError`."""
        if self.by is not None:
            opt.check_choice(self.by, ("scorer", "group"), "--by")
        same = {name: getattr(self, name) for name in ("by", "force", "allow_unscored", "samples")}
        return {**same, "anonymous": self.anonymise}


def leaderboard_command(
    folders: Annotated[
        list[Path],
        Argument(metavar="DIR...", help="submissions (.zip, .tar too), runs by folder or name, or folders of them", show_default=False),
    ],
    gold: opt.GoldDir = Path("gold"),
    receipts: Annotated[
        bool,
        Option("--receipts", help="DIRs may be runs of others, folders or run.json: ranked if they verify against --gold, or by --key"),
    ] = False,
    key: opt.PublicKey = None,
    *,
    ranking: Ranking,
    publishing: Publishing,
    how: opt.Scoring,
    output: Outputs = None,
    json_: Annotated[bool, Option("--json", help="print the leaderboard as one JSON object and nothing else")] = False,
    quiet: opt.Quiet = False,
    limit: opt.Limit = None,
    runs: Annotated[Path, Option(help="the folder of runs: finished runs are reused, new ones saved", metavar="DIR")] = opt.RUNS,
) -> int:
    """Score every submission in the folders, rank them with intervals and shared ranks, and save the new runs.

    A submission unchanged since a finished run of the same signature is not scored again.
    """
    from evalsuite.core.disk_cache import DiskCache, code_stamp
    from evalsuite.runs.leaderboard_entries import score_places

    how.load()
    check_showing(output or (), publishing.reveal)
    publishing.check()
    ranking_options, scoring = ranking.options(), how.options()
    if how.evaluator is not None:
        how.check_evaluator(layout_of(find_spec(gold)), str(gold))
    about = _metadata_by_submission(ranking.metadata) if ranking.metadata is not None else {}
    with ExitStack() as opened:
        order = publishing.order(gold, about, opened) if publishing.site is not None else None
        settings = RunOptions(runs_folder=runs, limits=opt.parse_limits(limit), only=_ids_to_score(order, gold), **scoring)
        places, notes = _find_entries(folders, gold, runs, receipts=receipts, key=key, isolation=settings.isolation)
        notes += [f"{ranking.metadata}: no submission {name!r}" for name in sorted(set(about) - {place.name for place in places})]
        memo = DiskCache(how.cache or opened.enter_context(TempDir()), stamp=code_stamp())
        opened.callback(memo.close)
        with ProgressBar(hidden=json_ or quiet) as progress:
            admit = order.admission if order is not None else None
            entries = score_places(places, gold, settings, memo, metadata=about, no_cache=how.no_cache, admit=admit, progress=progress)
        turned_away = admit.notes if admit is not None else []
        if turned_away and not entries:
            board = _board_without_entries(gold, settings.rules, [*notes, *turned_away])
        else:
            board = _rank(entries, memo, runs, notes=[*notes, *turned_away], **ranking_options)
        n_lost, built = _publish(board, entries, order)
    return _print_board(board, output or (), n_lost, built, json_=json_, quiet=quiet, allow_unscored=ranking.allow_unscored)


def _ids_to_score(order: "SiteOrder | None", gold: Path) -> tuple[str, ...]:
    """Return the ids to score now, empty for all."""
    if order is None or not order.rules.hides_half:
        return ()
    return order.rules.ids_to_score([instance.instance_id for instance in read_gold(gold).instances], order.now)


def _find_entries(
    folders: Sequence[Path], gold: Path, runs: Path, *, receipts: bool, key: Path | None, isolation: str
) -> "tuple[list[Place], list[str]]":
    """Return (submissions to rank, notes on those left out); runs of others only if they can be trusted."""
    from evalsuite.runs.leaderboard_entries import find_places

    if receipts:
        folders = [folder.parent if folder.name == "run.json" and is_file(folder) else folder for folder in folders]
    runs_by_folder = {folder: find_named_run(str(folder), runs) for folder in folders if not exists(folder)}
    places, notes = find_places([entry.folder if (entry := runs_by_folder.get(folder)) else folder for folder in folders], gold)
    if receipts or key is not None:
        from evalsuite.analysis.leaderboard.ranking import check_trust

        places = check_trust(places, gold, key=key, isolation=isolation)
    return places, notes


def _publish(board: "Leaderboard", entries: "Sequence[Entry]", order: "SiteOrder | None") -> tuple[int, str]:
    """Return (number of sites that could not be written, message about the written one); the runs are already saved."""
    if order is None:
        return 0, ""
    from evalsuite.reports.site import build_site

    messages: list[str] = []

    def build() -> None:
        built = build_site(board, entries, order)
        messages.append(f"site in {order.folder}: {count_words(built.n_pages, 'page')} of submissions, {built.n_written} of them rewritten")

    return int(write_fails(build)), "".join(messages)


def _print_board(
    board: "Leaderboard", output: Sequence[Path], n_lost: int, built: str, *, json_: bool, quiet: bool, allow_unscored: bool
) -> int:
    """Write and print the board; return the exit code."""
    from evalsuite.reports.file_formats import as_json
    from evalsuite.reports.leaderboard_documents import board_last_line, leaderboard_document

    code = EXIT_GATE if any(row.fault for row in board.rows) else EXIT_OK
    if code == EXIT_OK and not allow_unscored and any(row.rank is None for row in board.rows):
        code = EXIT_UNSCORABLE
    line = board_last_line(board) + (f" (exit {code})" if code != EXIT_OK else "")
    document = leaderboard_document(board)
    code, line = add_write_failures(code, line, n_lost + write_all(document, output))
    if json_:
        print(*as_json(document), sep="", end="")
        return code
    if not quiet:
        show(document, console(document.width), last_line="")
        print()
        if built:
            print(clean(built))
    for difference in board.forced:
        print(clean(f"note: forced: ranked although they differ in {difference}"), file=sys.stderr)
    print(line)
    return code


def _board_without_entries(gold: Path, rules: "Rule | None", notes: Sequence[str]) -> "Leaderboard":
    from evalsuite.analysis.leaderboard.ranking import empty_board

    known = read_gold(gold)
    return empty_board(known.suite.name, rules or known.suite.rules or "official", len(known.instances), notes)


def _rank(entries: Sequence["Entry"], memo: "DiskCache", runs: Path, *, by: str | None, **how: Any) -> "Leaderboard":
    """Return the board of these entries. Raises `UsageError`, and `NotRankedError` if new runs were saved before the error."""
    from evalsuite.analysis.leaderboard.ranking import make_leaderboard

    try:
        return make_leaderboard(entries, memo, by="scorer" if by == "scorer" else "group" if by else None, **how)
    except UsageError as error:
        if not (n := sum(entry.is_new for entry in entries)):
            raise
        message = f"{error.message}; {count_words(n, 'new run')} saved in {runs} (exit {EXIT_GATE})"
        raise NotRankedError(message, hint=error.hint) from None


def _metadata_by_submission(path: Path) -> dict[str, dict[str, str]]:
    """Return submission name -> metadata, from a CSV with a column `submission`. Raises `UsageError`."""
    from evalsuite.compare.messages import cut
    from evalsuite.readers.csv_table import read_named_rows

    header, rows = read_named_rows(path)
    if "submission" not in header:
        raise UsageError(
            f"{path}: no column 'submission'", hint=f"found: {join_names(list(map(cut, header)))}; `submission` contains the folders' names"
        )
    metadata: dict[str, dict[str, str]] = {}
    for line, cells in rows:
        row = dict(zip(header, cells, strict=False))
        name = row.pop("submission", "")
        if not name:
            raise UsageError(f"{path}:{line}: no submission is named", hint="the column `submission` contains the folder's name")
        if name in metadata:
            raise UsageError(f"{path}:{line}: {name!r} occurs twice", hint="one line a submission")
        metadata[name] = {str(key): str(value) for key, value in row.items() if key and value}
    return metadata
