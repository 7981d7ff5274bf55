"""The command line: a table of commands, loaded one by one. What needs nothing, `--version` and `--help`, is answered at once."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# name -> (module with a function `command`, one-line summary); a new command is one file and one line here.
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("evalsuite.cli.run", "score a submission folder against gold"),
    "check": ("evalsuite.cli.check", "score one instance, or one prediction with a scorer, and show everything known about it"),
    "explain": (
        "evalsuite.cli.explain",
        "say why an answer is wrong: the cause that the scorer confirms, the difference, SQL that shows it",
    ),
    "scorers": ("evalsuite.cli.scorers", "list the scorers, or explain one: parameters, both rules, an example"),
    "validate": ("evalsuite.cli.validate", "say whether a submission folder is ready to hand in"),
    "schema": ("evalsuite.cli.schema", "schemas of tree scorers: infer from gold, resolve, annotate, check against gold"),
    "suite": ("evalsuite.cli.suite", "suites by name: make one from a file, run candidates against it"),
    "leaderboard": ("evalsuite.cli.leaderboard", "score many submissions and rank them"),
    "report": ("evalsuite.cli.report", "show a saved run again, or write it as HTML, Markdown, CSV, JSON, JUnit XML, Parquet"),
    "merge": ("evalsuite.cli.merge", "join the runs of all shards of one submission to one run"),
    "rescore": ("evalsuite.cli.rescore", "score a saved run's submission again: other rules, or what is installed now"),
    "verify": ("evalsuite.cli.verify", "say whether a saved run is what it says: files, gold, submission, verdicts"),
    "bundle": ("evalsuite.cli.bundle", "shrink an instance to the smallest case with its verdict, ready to paste into an issue"),
    "runs": ("evalsuite.cli.runs", "the saved runs: list, show, tag, delete"),
    "compare": ("evalsuite.cli.compare", "compare runs or submission folders: difference, interval, p-value, flips"),
    "view": ("evalsuite.cli.view", "look at suites, runs, comparisons and leaderboards in a browser"),
    "sql": ("evalsuite.cli.sql", "ask the saved runs a question in SQL"),
    "connections": ("evalsuite.cli.connections", "the databases that SQL answers run against: list, test"),
    "agree": ("evalsuite.cli.agree", "say how far two raters agree: two runs, or a run and labels of people"),
    "gold": ("evalsuite.cli.gold", "look at gold itself: check, lint, audit, contamination"),
}


def main(argv: "Sequence[str] | None" = None) -> int:
    """The exit code of one command line; see `gate` for what happens on the way."""
    from evalsuite.cli.streams import ended, steady_streams

    steady_streams()
    return ended(_answered(list(sys.argv[1:] if argv is None else argv)))


def _answered(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        from evalsuite import __version__

        print(f"evalsuite {__version__}")
        return 0
    if arguments in (["--help"], ["-h"]):
        from evalsuite.cli.front import page

        print(page(), end="")
        return 0
    from evalsuite.cli.gate import guarded

    return guarded(arguments)
