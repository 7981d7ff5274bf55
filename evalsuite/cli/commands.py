"""Table of the commands, and the page of `evalsuite --help`, written from the table without loading a parser or a command."""

import os

from evalsuite.core.import_ref import ImportRef

COMMANDS: dict[str, ImportRef] = {
    "init": ImportRef(
        "evalsuite.cli.gold_commands:init_command", "make a gold folder from CSV files, also from examples of good and bad answers"
    ),
    "example": ImportRef("evalsuite.cli.gold_commands:example_command", "write a small example suite to a new folder"),
    "run": ImportRef("evalsuite.cli.run_command:run_command", "score a submission folder against gold"),
    "check": ImportRef(
        "evalsuite.cli.instance_commands:check_command",
        "score one instance, or one prediction with a scorer, and show everything known about it",
    ),
    "explain": ImportRef(
        "evalsuite.cli.instance_commands:explain_command",
        "explain why an answer is wrong: the cause that the scorer confirms, the difference, SQL that shows it",
    ),
    "scorers": ImportRef(
        "evalsuite.cli.setup_commands:scorers_command", "list the scorers, or explain one: parameters, both rules, an example"
    ),
    "validate": ImportRef("evalsuite.cli.instance_commands:validate_command", "check whether a submission folder is ready to submit"),
    "schema": ImportRef(
        "evalsuite.cli.gold_commands:schema_commands",
        "manage schemas of tree scorers: infer from gold, resolve, annotate, check against gold",
    ),
    "suite": ImportRef(
        "evalsuite.cli.suite_commands:suite_commands", "manage named suites: make one from a file, run candidates against it"
    ),
    "import": ImportRef("evalsuite.cli.suite_commands:import_command", "read logs of promptfoo, Inspect and lm-eval as suites and runs"),
    "export": ImportRef("evalsuite.cli.suite_commands:export_command", "write a saved run as a log of Inspect or as samples of lm-eval"),
    "leaderboard": ImportRef(
        "evalsuite.cli.comparison_commands:leaderboard_command", "score and rank many submissions, publish the leaderboard"
    ),
    "report": ImportRef(
        "evalsuite.cli.runs_commands:report_command", "show a saved run again, or write it as HTML, Markdown, CSV, JSON, JUnit XML, Parquet"
    ),
    "margins": ImportRef("evalsuite.cli.runs_commands:margins_command", "draw a saved run's score against the tolerance of numbers"),
    "merge": ImportRef("evalsuite.cli.runs_commands:merge_command", "merge the runs of all shards of one submission into one run"),
    "rescore": ImportRef(
        "evalsuite.cli.runs_commands:rescore_command",
        "score a saved run's submission again: under other rules, or with the installed versions",
    ),
    "verify": ImportRef("evalsuite.cli.runs_commands:verify_command", "verify a saved run: its files, gold, submission and verdicts"),
    "judge": ImportRef("evalsuite.cli.setup_commands:judge_commands", "test the judge model: ask it one question, measure its biases"),
    "keys": ImportRef("evalsuite.cli.setup_commands:keys_commands", "manage the keys that sign runs: new, show"),
    "drift": ImportRef(
        "evalsuite.cli.runs_commands:drift_command", "score saved runs with the installed versions: which verdicts changed, and why"
    ),
    "bundle": ImportRef(
        "evalsuite.cli.instance_commands:bundle_command",
        "shrink an instance to the smallest case with its verdict, ready to paste into an issue",
    ),
    "runs": ImportRef("evalsuite.cli.runs_commands:runs_commands", "manage saved runs: list, show, tag, delete"),
    "compare": ImportRef(
        "evalsuite.cli.comparison_commands:compare_command", "compare runs or submission folders: difference, interval, p-value, flips"
    ),
    "samples": ImportRef(
        "evalsuite.cli.comparison_commands:samples_command", "analyse runs as samples of the same questions: pass@k, pass^k, noise"
    ),
    "view": ImportRef("evalsuite.cli.runs_commands:view_command", "show suites, runs, comparisons and leaderboards in a browser"),
    "sql": ImportRef("evalsuite.cli.runs_commands:sql_command", "query the saved runs in SQL"),
    "connections": ImportRef(
        "evalsuite.cli.setup_commands:connections_commands", "manage the databases that SQL answers run against: list, test"
    ),
    "agree": ImportRef(
        "evalsuite.cli.comparison_commands:agree_command", "measure how far two raters agree: two runs, or a run and human labels"
    ),
    "doctor": ImportRef("evalsuite.cli.setup_commands:doctor_command", "check which sandbox features this machine supports"),
    "gold": ImportRef("evalsuite.cli.gold_commands:gold_commands", "check gold itself: check, lint, audit, contamination"),
}
# Removed commands of earlier versions, each with its replacement.
REMOVED: dict[str, str] = {"references": "python -m tests.upstream, in a checkout of evalsuite (see CONTRIBUTING.md)"}
# Groups of commands, in the order in which a new user needs them.
GROUPS: dict[str, tuple[str, ...]] = {
    "Begin": ("init", "example", "suite", "import"),
    "Score": ("run", "check", "validate", "scorers", "merge", "rescore"),
    "Understand": ("explain", "report", "margins", "bundle", "view", "export"),
    "Compare": ("compare", "leaderboard", "samples", "agree", "runs", "sql", "verify", "drift"),
    "Check gold": ("gold", "schema"),
    "Set up": ("connections", "judge", "keys", "doctor"),
}
ABOUT = "Score a folder of answers against a folder of gold: each answer's score, the reason, and the confidence interval."
OPTIONS = (
    ("-V, --version", "print the version and exit"),
    ("--debug", "show tracebacks and the debug log"),
    ("--install-completion", "install the completion of commands in this shell"),
    ("--show-completion", "print the completion, to install it by hand"),
    ("-h, --help", "show this message and exit"),
)
_WIDEST = 100


def page(width: int | None = None) -> str:
    """Return the page, lines of at most `width` characters; None is the terminal's width, at most 100."""
    width = max(40, min(_WIDEST, (width or _terminal_width()) - 2))
    commands = [(name, line.summary) for name, line in COMMANDS.items()]
    column = max(len(name) for name, _ in (*OPTIONS, *commands)) + 4
    lines = ["Usage: evalsuite [OPTIONS] COMMAND [ARGS]...", "", *("  " + line for line in _lines_of_words(ABOUT, width - 2))]
    by_name = dict(commands)
    rest = [name for name in COMMANDS if not any(name in names for names in GROUPS.values())]
    named = {**GROUPS, **({"More": rest} if rest else {})}
    groups = [(title, [(name, by_name[name]) for name in names]) for title, names in named.items()]
    for title, rows in (("Options", OPTIONS), *groups):
        lines += ["", f"{title}:"]
        for name, text in rows:
            first, *rest = _lines_of_words(text, width - column)
            lines += [f"  {name:<{column - 2}}{first}", *(" " * column + line for line in rest)]
    return "\n".join([*lines, "", "`evalsuite help COMMAND` explains a command.", ""])


def _terminal_width() -> int:
    """Return the columns of the terminal, 80 without one."""
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
    except (ValueError, OSError):
        return 80


def _lines_of_words(text: str, width: int) -> list[str]:
    """Wrap a text to lines of at most `width` characters; a longer word has its own line."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
