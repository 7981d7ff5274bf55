"""Shell completion: choices of options, and the names of runs, suites, scorers, limits, groups and instances."""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from evalsuite.core.errors import EvalsuiteError

Values = Callable[[Any], Iterable[str]]
# With more runs only folder names are completed, without opening the runs.
_MOST_OPENED = 500


def add_values(command: Any, name: str) -> None:
    """Add completion to each parameter of a command; the shell completes files."""
    for parameter in command.params:
        values = _values_of(name, parameter)
        if values is not None:
            parameter._custom_shell_complete = _completer(values)


def _values_of(command: str, parameter: Any) -> Values | None:
    name, metavar = parameter.name, str(parameter.metavar or "")
    if (command, name) in _OF_PARAMETERS:
        return _OF_PARAMETERS[command, name]
    if metavar in _BY_METAVAR:
        return _BY_METAVAR[metavar]
    choices = metavar.split("|")
    return (lambda _: choices) if len(choices) > 1 and metavar.islower() and ":" not in metavar else None


def _completer(values: Values) -> Callable[[Any, Any, str], list[str]]:
    def complete(context: Any, _: Any, incomplete: str) -> list[str]:
        try:
            return sorted({value for value in values(context) if value.startswith(incomplete)})
        except (EvalsuiteError, OSError, ValueError):
            # Nothing is completed from an unreadable folder: a key press must not print an error.
            return []

    return complete


def _run_names(context: Any) -> Iterator[str]:
    from evalsuite.cli.options import RUNS
    from evalsuite.runs.history import find_runs
    from evalsuite.runs.run_folder import RUN

    root = Path(context.params.get("runs") or RUNS)
    folders = [folder for folder in root.iterdir() if (folder / RUN).exists()]
    yield from (folder.name for folder in folders)
    if len(folders) <= _MOST_OPENED:
        yield from (str(name) for entry in find_runs(root) if (name := entry.metadata.get("run_name")))


def _tags(context: Any) -> Iterator[str]:
    from evalsuite.cli.options import RUNS
    from evalsuite.runs.history import find_runs

    return (tag for entry in find_runs(Path(context.params.get("runs") or RUNS)) for tag in entry.tags)


def _columns(context: Any) -> Iterator[str]:
    """Return the columns of the row files on the command line."""
    from evalsuite.suites.case_data import FILE_KINDS, read_columns

    # If the line ends in an option without a value, the parser keeps no arguments; the shell's words are used instead.
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    given = context.params.get("sources") or [word for word in shlex.split(line) if word.lower().endswith(FILE_KINDS)]
    return (name for path in given for name in read_columns(Path(path)))


def _suite_names(_: Any) -> Iterator[str]:
    from evalsuite.suites.stored_suites import list_suites

    return (suite.name for suite in list_suites())


def _scorers(_: Any) -> Iterable[str]:
    from evalsuite.scorers import SCORERS

    return SCORERS.names()


def _limit_names(_: Any) -> Iterator[str]:
    from evalsuite.readers.limits import LIMITS

    return (f"{name}=" for name in LIMITS)


def _instances(context: Any) -> Iterator[Any]:
    from evalsuite.gold.layouts import read_gold

    given = context.params.get("gold_dir") or context.params.get("gold") or "gold"
    return iter(read_gold(Path(given[0] if isinstance(given, list) else given), plugins=False).instances)


def _instance_ids(context: Any) -> Iterator[str]:
    return (instance.instance_id for instance in _instances(context))


def _group_names(context: Any) -> Iterator[str]:
    return (group for instance in _instances(context) for group in instance.groups)


def _instance_ids_and_scorers(context: Any) -> Iterator[str]:
    yield from _scorers(context)
    yield from _instance_ids(context)


_BY_METAVAR: dict[str, Values] = {
    "RUN": _run_names,
    "[RUN]": _run_names,
    "RUN...": _run_names,
    "[RUN]...": _run_names,
    "A B [C ...]": _run_names,
    "RUN RUN [RUN ...]": _run_names,
    "ID": _instance_ids,
    "ID,...": _instance_ids,
    "ID|GOLD": _instance_ids,
    "ID|SCORER": _instance_ids_and_scorers,
    "TAG": _group_names,
}
# By command and parameter, if the metavar is not specific enough.
_OF_PARAMETERS: dict[tuple[str, str], Values] = {
    ("scorers", "name"): _scorers,
    ("run", "limit"): _limit_names,
    ("leaderboard", "limit"): _limit_names,
    ("agree", "rater_a"): _run_names,
    ("agree", "rater_b"): _run_names,
    ("suite run", "run_name"): lambda _: (),
    ("import", "scorer"): _scorers,
    ("suite try", "scorer"): _scorers,
    ("suite create", "scorers"): _scorers,
    ("suite try", "candidates"): _columns,
    ("suite run", "candidate_columns"): _columns,
    **{(f"suite {command}", f"{column}_column"): _columns for command in ("create", "run", "try") for column in ("input", "reference")},
    ("compare", "suite"): _suite_names,
    ("runs list", "suite"): _suite_names,
    ("runs list", "tag"): _tags,
    ("runs tag", "remove"): _tags,
    **{(f"suite {command}", "name"): _suite_names for command in ("show", "run", "export", "delete", "rename")},
}
