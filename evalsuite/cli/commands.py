"""Table of the commands, and the page of `evalsuite --help`, written from the table without loading a parser or a command."""

import os

from evalsuite.core.import_ref import ImportRef

# Title -> command -> (function, summary), in the order in which a new user needs them.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Begin": {
        "init": ("gold_commands:init_command", "make a gold folder from CSV files, also from examples of good and bad answers"),
        "what": ("entrance:what_command", "say what a file or folder is, and which command handles it"),
        "example": ("gold_commands:example_command", "write a small example suite to a new folder"),
        "suite": ("suite_commands:suite_commands", "manage named suites: make one from a file, run candidates against it"),
        "import": ("suite_commands:import_command", "read logs of promptfoo, Inspect and lm-eval as suites and runs"),
    },
    "Score": {
        "run": ("run_command:run_command", "score a submission folder against gold"),
        "check": (
            "instance_commands:check_command",
            "score one instance, or one prediction with a scorer, and show everything known about it",
        ),
        "validate": ("instance_commands:validate_command", "check whether a submission folder is ready to submit"),
        "scorers": ("setup_commands:scorers_command", "list the scorers, or explain one: parameters, both rules, an example"),
        "merge": ("runs_commands:merge_command", "merge the runs of all shards of one submission into one run"),
        "rescore": (
            "runs_commands:rescore_command",
            "score a saved run's submission again: under other rules, or with the installed versions",
        ),
    },
    "Understand": {
        "explain": (
            "instance_commands:explain_command",
            "explain why an answer is wrong: the cause that the scorer confirms, the difference, SQL that shows it",
        ),
        "report": ("runs_commands:report_command", "show a saved run again, or write it as HTML, Markdown, CSV, JSON, JUnit XML, Parquet"),
        "margins": ("runs_commands:margins_command", "show how a saved run's score depends on the tolerance of numbers"),
        "bundle": (
            "instance_commands:bundle_command",
            "shrink an instance to the smallest case with its verdict, ready to paste into an issue",
        ),
        "view": ("runs_commands:view_command", "show suites, runs, comparisons and leaderboards in a browser"),
        "export": ("suite_commands:export_command", "write a saved run as a log of Inspect or as samples of lm-eval"),
    },
    "Compare": {
        "compare": ("comparison_commands:compare_command", "compare runs or submission folders: difference, interval, p-value, flips"),
        "leaderboard": ("comparison_commands:leaderboard_command", "score and rank many submissions, publish the leaderboard"),
        "samples": ("comparison_commands:samples_command", "analyse runs as samples of the same questions: pass@k, pass^k, noise"),
        "agree": ("comparison_commands:agree_command", "measure how far two raters agree: two runs, or a run and human labels"),
        "runs": ("runs_commands:runs_commands", "manage saved runs: list, show, tag, delete"),
        "sql": ("runs_commands:sql_command", "query the saved runs in SQL"),
        "verify": ("runs_commands:verify_command", "verify a saved run: its files, gold, submission and verdicts"),
        "drift": ("runs_commands:drift_command", "score saved runs with the installed versions: which verdicts changed, and why"),
    },
    "Check gold": {
        "gold": ("gold_commands:gold_commands", "check gold itself: check, lint, audit, contamination"),
        "schema": (
            "gold_commands:schema_commands",
            "manage schemas of tree scorers: infer from gold, resolve, annotate, check against gold",
        ),
    },
    "Set up": {
        "connections": ("setup_commands:connections_commands", "manage the databases that SQL answers run against: list, test"),
        "judge": ("setup_commands:judge_commands", "test the judge model: ask it one question, measure its biases"),
        "keys": ("setup_commands:keys_commands", "manage the keys that sign runs: new, show"),
        "doctor": ("setup_commands:doctor_command", "check which sandbox features this machine supports"),
    },
}
# The commands of `evalsuite --help`; `help --all` lists the others too.
LISTED = ("run", "check", "explain", "compare", "leaderboard", "report", "view", "validate", "init", "suite", "gold", "doctor")
# Commands that belong to a group: the first spelling works and is not listed.
_IN_GROUPS = {
    "runs": "merge rescore margins bundle import export samples agree sql verify drift keys",
    "gold": "schema scorers judge connections",
}
GROUPED = {name: f"{group} {name}" for group, names in _IN_GROUPS.items() for name in names.split()}
COMMANDS = {name: ImportRef(f"evalsuite.cli.{target}", summary) for rows in GROUPS.values() for name, (target, summary) in rows.items()}
# Removed commands of earlier versions, each with its replacement.
REMOVED: dict[str, str] = {"references": "python -m tests.upstream.record, in a checkout of evalsuite (see CONTRIBUTING.md)"}
ABOUT = "Score a folder of answers against a folder of gold: each answer's score, the reason, and the confidence interval."
OPTIONS = (
    ("-V, --version", "print the version and exit"),
    ("--debug", "show tracebacks and the debug log"),
    ("--install-completion", "install the completion of commands in this shell"),
    ("--show-completion", "print the completion, to install it by hand"),
    ("-h, --help", "show this message and exit; --help-all after a command shows all its options"),
)
ENTRANCE = (
    "A THING is a file, a folder or a URL: evalsuite recognises it, prints the command for it and runs it. "
    "`evalsuite what THING` only prints the command."
)
# Words that people type for a command, or for an option.
MEANT = {
    "diff": "explain", "score": "run", "evaluate": "run", "eval": "run", "test": "validate", "history": "runs list", "serve": "view",
    "ui": "view", "delete": "rm", "remove": "rm", "rank": "leaderboard", "ls": "list", "new": "init", "version": "--version",
    "list": "runs list", "show": "runs show", "create": "suite create", "tag": "runs tag",
}  # fmt: skip
MEANT_OPTIONS = {
    "threshold": "fail-under", "min-score": "fail-under", "report": "output", "workers": "jobs", "j": "jobs",
    "n-jobs": "jobs", "threads": "jobs", "predictions": "result-dir", "answers": "result-dir",
    "reference-dir": "gold", "ids": "only", "id": "only", "timeout": "limit", "silent": "quiet", "rule": "rules", "question": "input",
}  # fmt: skip


def commands_of_group(group: str) -> dict[str, ImportRef]:
    """Return the commands of the table that belong to a group."""
    return {name: COMMANDS[name] for name in _IN_GROUPS[group].split()}


def plain_name(full_name: str) -> str:
    """Return the name of a command without the group that it belongs to: `agree` of `runs agree`."""
    first, _, rest = full_name.partition(" ")
    return rest if rest.partition(" ")[0] in _IN_GROUPS.get(first, "").split() else full_name


def grouped_name(name: str) -> str:
    """Return the name of a command with the group that it belongs to: `runs agree` of `agree`."""
    first, space, rest = name.partition(" ")
    return GROUPED.get(first, first) + space + rest


def page(width: int | None = None, *, everything: bool = False) -> str:
    """Return the page, lines of at most `width` characters; None is the terminal's width, at most 100, or 80 without a terminal.

    With `everything`, all commands are listed, else those of `LISTED`.
    """
    try:
        width = width or int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
    except (ValueError, OSError):
        width = 80
    width = max(40, min(100, width - 2))
    names = [*COMMANDS] if everything else LISTED
    groups = [
        (title, [(GROUPED.get(name, name), summary) for name, (_, summary) in rows.items() if name in names])
        for title, rows in GROUPS.items()
    ]
    column = max(len(name) for name in (*dict(OPTIONS), *(name for _, rows in groups for name, _ in rows))) + 4
    lines = ["Usage: evalsuite THING [THING ...] [OPTIONS]", "       evalsuite COMMAND [ARGS]..."]
    for text in (ABOUT, ENTRANCE):
        lines += ["", *("  " + line for line in _lines_of_words(text, width - 2))]
    for title, rows in (("Options", OPTIONS), *groups):
        if not rows:
            continue
        lines += ["", f"{title}:"]
        for name, text in rows:
            first, *rest = _lines_of_words(text, width - column)
            lines += [f"  {name:<{column - 2}}{first}", *(" " * column + line for line in rest)]
    more = [] if everything else ["More: evalsuite help --all"]
    return "\n".join([*lines, "", *more, "`evalsuite help COMMAND` explains a command.", ""])


def _lines_of_words(text: str, width: int) -> list[str]:
    """Wrap a text to lines of at most `width` characters; a longer word has its own line."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
