"""The commands by name: each is a module with a function `command`. A new command is one file and one line here."""

from evalsuite.lazy import Lazy

COMMANDS: dict[str, Lazy] = {
    "run": Lazy("evalsuite.cli.run", "score a submission folder against gold"),
    "check": Lazy("evalsuite.cli.check", "score one instance, or one prediction with a scorer, and show everything known about it"),
    "explain": Lazy(
        "evalsuite.cli.explain", "say why an answer is wrong: the cause that the scorer confirms, the difference, SQL that shows it"
    ),
    "scorers": Lazy("evalsuite.cli.scorers", "list the scorers, or explain one: parameters, both rules, an example"),
    "validate": Lazy("evalsuite.cli.validate", "say whether a submission folder is ready to hand in"),
    "schema": Lazy("evalsuite.cli.schema", "schemas of tree scorers: infer from gold, resolve, annotate, check against gold"),
    "suite": Lazy("evalsuite.cli.suite", "suites by name: make one from a file, run candidates against it"),
    "leaderboard": Lazy("evalsuite.cli.leaderboard", "score many submissions and rank them"),
    "report": Lazy("evalsuite.cli.report", "show a saved run again, or write it as HTML, Markdown, CSV, JSON, JUnit XML, Parquet"),
    "merge": Lazy("evalsuite.cli.merge", "join the runs of all shards of one submission to one run"),
    "rescore": Lazy("evalsuite.cli.rescore", "score a saved run's submission again: other rules, or what is installed now"),
    "verify": Lazy("evalsuite.cli.verify", "say whether a saved run is what it says: files, gold, submission, verdicts"),
    "bundle": Lazy("evalsuite.cli.bundle", "shrink an instance to the smallest case with its verdict, ready to paste into an issue"),
    "runs": Lazy("evalsuite.cli.runs", "the saved runs: list, show, tag, delete"),
    "compare": Lazy("evalsuite.cli.compare", "compare runs or submission folders: difference, interval, p-value, flips"),
    "view": Lazy("evalsuite.cli.view", "look at suites, runs, comparisons and leaderboards in a browser"),
    "sql": Lazy("evalsuite.cli.sql", "ask the saved runs a question in SQL"),
    "connections": Lazy("evalsuite.cli.connections", "the databases that SQL answers run against: list, test"),
    "agree": Lazy("evalsuite.cli.agree", "say how far two raters agree: two runs, or a run and labels of people"),
    "doctor": Lazy("evalsuite.cli.doctor", "say which walls round hostile answers this machine gives"),
    "gold": Lazy("evalsuite.cli.gold", "look at gold itself: check, lint, audit, contamination"),
}
