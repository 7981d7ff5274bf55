"""Options that several commands share, so that they are spelled and explained the same everywhere.

A group of them is a frozen dataclass whose fields are the options: a command takes the group as one parameter, and `spread` shows the
parser its fields. So an option stands once, with its help, its default and what it means.
"""

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import typer

from evalsuite.core.errors import UsageError
from evalsuite.core.types import EVALUATORS, RULES, Rule

GoldDir = Annotated[Path, typer.Option("--gold", "--gold-dir", "--gold_dir", help="the gold folder", show_default=True)]
ResultDir = Annotated[Path | None, typer.Option("--result-dir", "--result_dir", help="the submission folder")]
Rules = Annotated[
    str | None,
    typer.Option("--rules", metavar="official|strict|bird-ex|test-suite", help="which verdict is the score [default: official]"),
]
Databases = Annotated[
    Path | None, typer.Option(help="where the databases lie that gold names for SQL answers", metavar="DIR", show_default=False)
]
Layout = Annotated[
    str | None,
    typer.Option("--layout", help="how the gold folder is laid out [default: what its spec shows]", metavar="original|lite|snow"),
]
Questions = Annotated[
    Path | None,
    typer.Option(
        help="the file of questions that says which database is asked [default: spider2-*.jsonl beside gold]", metavar="FILE.jsonl"
    ),
]
LiveGold = Annotated[
    bool,
    typer.Option("--live-gold", "--live_gold", help="take gold from its query wherever there is one, also where there is a gold table"),
]
Mode = Annotated[
    str | None,
    typer.Option("--mode", help="lite and snow: what the answers are [default: the files that are there]", metavar="sql|exec_result"),
]
Limit = Annotated[list[str] | None, typer.Option(help="set a limit, for example seconds=30; may be repeated", metavar="NAME=VALUE")]
FrozenClock = Annotated[
    str | None,
    typer.Option("--frozen-clock", "--frozen_clock", help="the day, or the time in UTC, that queries take for now", metavar="DAY"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="print the last line only")]
AllowUnscored = Annotated[
    bool, typer.Option("--allow-unscored", help="do not exit 4 for what cannot be judged here: no judge, connection, database or extra")
]
JudgeFile = Annotated[
    Path | None,
    typer.Option(
        "--judge",
        help="the judge.yaml, or suite.yaml, whose keys go before what gold says of the judge",
        metavar="FILE.yaml",
        show_default=False,
    ),
]
InvalidAs = Annotated[
    str,
    typer.Option("--invalid-as", "--invalid_as", help="what an answer counts as that the judge gave no verdict on", metavar="null|zero"),
]
FailUnder = Annotated[float | None, typer.Option("--fail-under", "--fail_under", help="exit 1 where the score is lower", metavar="0-1")]
Plugins = Annotated[
    list[Path] | None,
    typer.Option("--plugin", help="a Python file that brings scorers or parts of them; may be repeated", metavar="FILE.py"),
]
Isolation = Annotated[str, typer.Option(help="how answers are kept apart while they are read", metavar="process|none")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")]
RunsFolder = Annotated[Path, typer.Option("--runs", help="the folder of runs")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="a run's name, or its folder")]
OfRun = Annotated[str | None, typer.Option("--run", help="a saved run, by name or folder", metavar="RUN")]
GoldOfRun = Annotated[
    Path | None,
    typer.Option(
        "--gold", "--gold-dir", "--gold_dir", help="the gold folder, whose plugins may be executed [default: the run's, else gold]"
    ),
]
SubmissionNow = Annotated[Path | None, typer.Option("--submission", help="where the submission folder lies now", metavar="DIR")]
PublicKey = Annotated[
    Path | None, typer.Option("--key", help="the public key with which a run must be signed, see `evalsuite keys`", metavar="FILE.pub")
]
GoldNow = Annotated[Path | None, typer.Option("--gold", help="where the gold folder lies now; its plugins may be executed", metavar="DIR")]
RUNS = Path(".evalsuite/runs")
CACHE_FOLDER = Path(".evalsuite/cache")


class Group(NamedTuple):
    """A command that has commands of its own, by name; `default` is the one that it is when called without any of them."""

    commands: Mapping[str, Callable[..., int]]
    default: str | None = None


def spread(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command as the parser has to see it: in place of each parameter that is a group of options, the options of that group.

    While it runs, the plugins of the gold folders that the user named may be executed, and those of no other folder.
    """
    groups: dict[str, Any] = {name: hint for name, hint in get_type_hints(command).items() if name != "return" and is_dataclass(hint)}
    signature = inspect.signature(command, eval_str=True)
    parameters = []
    for parameter in signature.parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
        else:
            hints = get_type_hints(group, include_extras=True)
            kind = parameter.KEYWORD_ONLY
            parameters += [inspect.Parameter(one.name, kind, default=one.default, annotation=hints[one.name]) for one in fields(group)]

    @functools.wraps(command)
    def called(**given: Any) -> Any:
        made = {name: group(**{one.name: given.pop(one.name) for one in fields(group)}) for name, group in groups.items()}
        folders = [value for name in ("gold", "gold_dir") if isinstance(value := given.get(name), Path)]
        with trusted(*folders):
            return command(**given, **made)

    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return called


def trusted(*gold: Path) -> AbstractContextManager[None]:
    """Inside, the plugins of these gold folders may be executed; a command without one does not load the registry for it."""
    if not gold:
        return nullcontext()
    from evalsuite.core.plugin_calls import trusting_plugins

    return trusting_plugins(*gold)


@dataclass(frozen=True, kw_only=True)
class Code:
    """Whose code runs beside evalsuite's own."""

    plugin: Plugins = None
    allow_programs: Annotated[
        bool,
        typer.Option(
            "--allow-programs",
            "--allow_programs",
            help="run answers that are programs (python_unit_testing, pass_at_k): nothing jails them",
        ),
    ] = False

    def load(self) -> None:
        """Load the scorers of the plugin files; raises `UsageError` with the plugin's own line where one fails."""
        load_plugins(self.plugin)


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Who scores, and how much is scored side by side."""

    isolation: Isolation = "process"
    jobs: Annotated[str, typer.Option(help="answers scored side by side: a number, or auto for the cores there are", metavar="N|auto")] = (
        "auto"
    )

    def options(self) -> dict[str, Any]:
        """The fields of `Options` that these are. Raises `UsageError`."""
        return {"isolation": one_of(self.isolation, ("process", "none"), "--isolation"), "jobs": job_count(self.jobs)}


@dataclass(frozen=True, kw_only=True)
class Scoring(Code, Workers):
    """How submissions are scored, wherever whole ones are."""

    rules: Rules = None
    databases: Databases = None
    invalid_as: InvalidAs = "null"
    judge: JudgeFile = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="score everything anew: nothing that is known is taken over")] = False

    @property
    def cache(self) -> Path | None:
        """Where what is known lies, None where it is not to be used."""
        return None if self.no_cache else CACHE_FOLDER

    @property
    def evaluator(self) -> str | None:
        """The evaluator of pairs of queries whose rules are asked for, which is how gold is laid out; None where none is."""
        return self.rules if self.rules in EVALUATORS else None

    def options(self) -> dict[str, Any]:
        """The fields of `Options`, and of a leaderboard's `Settings`, that these are. Raises `UsageError`."""
        rules = "official" if self.evaluator else rule(self.rules)
        same = {name: getattr(self, name) for name in ("cache", "databases", "allow_programs", "judge")}
        return {**Workers.options(self), **same, "rules": rules, "invalid_as": invalid_as(self.invalid_as)}


def invalid_as(value: str) -> Literal["zero"] | None:
    """What `--invalid-as` asks for, None for nothing; raises `UsageError` for any other word."""
    return "zero" if one_of(value, ("null", "zero"), "--invalid-as") == "zero" else None


def rule(value: str | None) -> Rule | None:
    """The rules by name; raises `UsageError` for any other word."""
    for known in RULES:
        if value == known:
            return known
    if value is None:
        return None
    more = "; bird-ex and test-suite are rules of `evalsuite run`" if value in EVALUATORS else ""
    raise UsageError(f"no rules {value!r}", hint="known: " + ", ".join(RULES) + more)


def one_of(value: str, known: tuple[str, ...], option: str) -> str:
    """The value, if it is a known word; raises `UsageError` with the spelling of the option where it is not."""
    if value not in known:
        raise UsageError(f"{option} cannot be {value!r}", hint="known: " + ", ".join(known))
    return value


def share(value: float | None, option: str) -> float | None:
    """A number in [0, 1]; raises `UsageError` with the spelling of the option where it is not."""
    if value is not None and not 0 <= value <= 1:
        raise UsageError(f"{option} must lie between 0 and 1, found {value:g}", hint="0.8 means 80 %")
    return value


def job_count(value: str) -> int | None:
    """The number of jobs, None for `auto`; raises `UsageError` for anything but that and a number from 1."""
    if value == "auto":
        return None
    if not value.isdecimal() or not 1 <= int(value) <= 256:
        raise UsageError(f"--jobs cannot be {value!r}", hint="a number from 1 to 256, or auto")
    return int(value)


def limits_of(settings: Iterable[str] | None, frozen_clock: str | None = None) -> dict[str, int | float]:
    """Limits from `name=value` texts, and where the clock of queries stands; names are checked with all other limits.

    Raises `UsageError` for a text of another form.
    """
    from evalsuite.readers.limits import CLOCK, clock_of

    limits: dict[str, int | float] = {} if frozen_clock is None else {CLOCK: clock_of(frozen_clock)}
    for setting in settings or ():
        name, _, value = setting.partition("=")
        try:
            is_day = name.strip() == CLOCK and not value.strip().isdecimal()
            limits[name.strip()] = clock_of(value.strip()) if is_day else float(value) if "." in value else int(value)
        except ValueError:
            raise UsageError(f"--limit cannot be {setting!r}", hint="write NAME=VALUE, for example seconds=30") from None
    return limits


def load_plugins(files: Iterable[Path] | None) -> None:
    """Load the scorers of plugin files; raises `UsageError` with the plugin's own line where one fails."""
    for file in files or ():
        from evalsuite.scorers import SCORERS

        SCORERS.load_file(file)


def load_parameters(settings: Iterable[str]) -> dict[str, Any]:
    """Parameters from `name=value` texts; a value that is JSON is what it says, any other one is text."""
    config: dict[str, Any] = {}
    for setting in settings:
        name, found, value = setting.partition("=")
        if not found:
            raise UsageError(f"--parameter cannot be {setting!r}", hint="write NAME=VALUE, for example ignore_case=true")
        try:
            config[name.strip()] = json.loads(value)
        except ValueError:
            config[name.strip()] = value
    return config
