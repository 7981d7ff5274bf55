"""What the shell may complete after a word: options' choices, and the names of runs, suites, scorers, limits, groups and instances."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from evalsuite.errors import EvalsuiteError

Values = Callable[[Any], Iterable[str]]


def add_values(command: Any, name: str) -> None:
    """Have each parameter of the command of that name offer its values; files are left to the shell."""
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
            # Nothing to offer from a folder that cannot be read: a key pressed in a shell shows no error.
            return []

    return complete


def _run_names(context: Any) -> Iterator[str]:
    from evalsuite.cli.options import RUNS
    from evalsuite.store.run_folder import RUN

    root = Path(context.params.get("runs") or RUNS)
    # By their folders alone: ten thousand of them are not opened for one key.
    return (folder.name for folder in root.iterdir() if (folder / RUN).exists())


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
    return iter(read_gold(Path(given[0] if isinstance(given, list) else given)).instances)


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
    "ID": _instance_ids,
    "ID,...": _instance_ids,
    "ID|GOLD": _instance_ids,
    "ID|SCORER": _instance_ids_and_scorers,
    "TAG": _group_names,
}
# By command and parameter, where the metavar says less.
_OF_PARAMETERS: dict[tuple[str, str], Values] = {
    ("scorers", "name"): _scorers,
    ("run", "limit"): _limit_names,
    ("leaderboard", "limit"): _limit_names,
    ("agree", "rater_a"): _run_names,
    ("agree", "rater_b"): _run_names,
    ("suite run", "run_name"): lambda _: (),
    **{(f"suite {command}", "name"): _suite_names for command in ("show", "run", "export", "delete", "rename")},
}
