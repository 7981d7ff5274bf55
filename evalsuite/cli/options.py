"""Options shared by several commands, with one spelling, help text and default each.

A group of options is a frozen dataclass with the options as fields. A command takes the group as one parameter; `Spread` shows its fields
to the parser, and parses plain calls itself, because importing typer would take a third of the time of a small command.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_type_hints

from evalsuite.core.dataclasses import dataclass, fields
from evalsuite.core.errors import UsageError, did_you_mean
from evalsuite.core.files import is_file
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.scores import EVALUATORS, RULES, Rule

if TYPE_CHECKING:
    from evalsuite.runs.history import RunEntry


class Option:
    """How an option is spelled and explained: the arguments of `typer.Option`. typer is imported only where it parses."""

    def __init__(self, *names: str, **how: Any) -> None:
        self.names, self.how = names, how


class Argument(Option):
    """The same for an argument."""


GoldDir = Annotated[Path, Option("--gold", "--gold-dir", help="the gold folder", metavar="DIR", show_default=True)]
ResultDir = Annotated[
    Path | None, Option("--result-dir", "--submission", help="the submission: a folder, or an archive of it", metavar="DIR")
]
Only = Annotated[list[str] | None, Option("--only", help="only these instances, separated by commas; may be repeated", metavar="ID,...")]
_WHICH = "which verdict is the score [default: what the run or suite.yaml says, else official; trees: strict]"
Rules = Annotated[str | None, Option("--rules", metavar="official|strict|bird-ex|test-suite", help=_WHICH)]
TwoRules = Annotated[str | None, Option("--rules", metavar="official|strict", help=_WHICH)]
Databases = Annotated[
    Path | None, Option(help="the folder of the databases that gold names for SQL answers", metavar="DIR", show_default=False)
]
Layout = Annotated[
    str | None, Option("--layout", help="the layout of the gold folder [default: detected from its spec]", metavar="original|lite|snow")
]
Questions = Annotated[
    Path | None,
    Option(help="the file of questions with the database of each [default: spider2-*.jsonl next to gold]", metavar="FILE.jsonl"),
]
LiveGold = Annotated[bool, Option("--live-gold", help="take gold from its query if it has one, even if it also has a table")]
Mode = Annotated[
    str | None, Option("--mode", help="lite and snow: the kind of answers [default: detected from the files]", metavar="sql|exec_result")
]
Limit = Annotated[list[str] | None, Option(help="set a limit, for example seconds=30; may be repeated", metavar="NAME=VALUE")]
FrozenClock = Annotated[
    str | None,
    Option("--frozen-clock", help="the day, or the time in UTC, that queries use as the current time", metavar="DAY"),
]
Quiet = Annotated[bool, Option("--quiet", "-q", help="print the last line only")]
AllowUnscored = Annotated[
    bool, Option("--allow-unscored", help="do not exit 4 for instances that cannot be judged here: no judge, connection, database or extra")
]
JudgeFile = Annotated[
    Path | None,
    Option("--judge", help="a file of judge settings; they override those of the suite", metavar="FILE.yaml", show_default=False),
]
InvalidAs = Annotated[str, Option("--invalid-as", help="the score of an answer without a verdict of the judge", metavar="null|zero")]
FailUnder = Annotated[float | None, Option("--fail-under", help="exit 1 if the score is lower", metavar="0-1")]
Plugins = Annotated[
    list[Path] | None, Option("--plugin", help="a Python file with scorers or parts of them; may be repeated", metavar="FILE.py")
]
Isolation = Annotated[str, Option(help="how answers are isolated while they are read", metavar="process|none")]
Json = Annotated[bool, Option("--json", help="print one JSON object and nothing else")]
RunsFolder = Annotated[Path, Option("--runs", help="the folder of runs", metavar="DIR")]
RunName = Annotated[str, Argument(metavar="RUN", help="a run's name, or its folder")]
LastRun = Annotated[str | None, Argument(metavar="[RUN]", help="a run's name, or its folder [default: the last run]")]
OfRun = Annotated[str | None, Option("--run", help="a saved run, by name or folder [default: the last run]", metavar="RUN")]

GoldOfRun = Annotated[
    Path | None,
    Option("--gold", "--gold-dir", help="the gold folder; its plugins may be executed [default: the run's, else gold]", metavar="DIR"),
]
SubmissionNow = Annotated[
    Path | None,
    Option("--result-dir", "--submission", help="where the submission is now: a folder, or an archive of it", metavar="DIR"),
]
PublicKey = Annotated[
    Path | None, Option("--key", help="the public key that must verify the run's signature, see `evalsuite runs keys`", metavar="FILE.pub")
]
GoldNow = Annotated[Path | None, Option("--gold", help="where the gold folder is now; its plugins may be executed", metavar="DIR")]
RUNS = Path(".evalsuite/runs")
CACHE_FOLDER = Path(".evalsuite/cache")


class Group(NamedTuple):
    """A command with subcommands by name; `default` is the one that runs without a subcommand.

    A subcommand may be a reference to a command of another module, which is imported when the group is parsed.
    """

    commands: Mapping[str, "Callable[..., int] | ImportRef"]
    default: str | None = None

    @classmethod
    def from_class(
        cls, *functions: Callable[..., int], default: str | None = None, more: "Mapping[str, ImportRef] | None" = None
    ) -> "Group":
        """Return the group of functions that are named after group and command: `gold_check` is `check`; `more` are those by name."""
        return cls({function.__name__.partition("_")[2]: function for function in functions} | dict(more or {}), default)

    def command(self, name: str) -> "Callable[..., int] | Group":
        """Return the function of a subcommand, imported if it is one of another module; a group for a group in this one."""
        entry = self.commands[name]
        loaded: Callable[..., int] | Group = entry.load() if isinstance(entry, ImportRef) else entry
        return loaded


class Parameter(NamedTuple):
    """A parameter of a command for the command line; `default` is `...` if it must be given."""

    name: str
    hint: Any
    default: Any


class Spread:
    """A command with its groups of options spread: callable with one value per option.

    While the command runs, plugins may be executed only of gold folders that the user named.
    """

    def __init__(self, command: Callable[..., Any]) -> None:
        self.command, self.parameters = command, list[Parameter]()
        hints = get_type_hints(command, include_extras=True)
        self._groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and "__dataclass_fields__" in vars(hint)}
        code, defaults = command.__code__, command.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        default_of = {**dict(zip(names[code.co_argcount - len(defaults) :], defaults, strict=False)), **(command.__kwdefaults__ or {})}
        for name in names:
            if (group := self._groups.get(name)) is None:
                self.parameters.append(Parameter(name, hints[name], default_of.get(name, ...)))
            else:
                of_group = get_type_hints(group, include_extras=True)
                self.parameters += [Parameter(field, of_group[field], default) for field, default in defaults_of(group).items()]

    def __call__(self, **values: Any) -> Any:
        """Call the command with a value for each of the parameters."""
        groups = {name: group(**{field: values.pop(field) for field in defaults_of(group)}) for name, group in self._groups.items()}
        folders = [value for name in ("gold", "gold_dir") if isinstance(value := values.get(name), Path)]
        with trust(*folders):
            return self.command(**values, **groups)

    def quick_values(self, words: Sequence[str]) -> dict[str, Any] | None:
        """Return the parameters' values in these words without typer; None if it must parse them: for help, an error, a rare form."""
        rows = [row for parameter in self.parameters if (row := Row.from_parameter(parameter)) is not None]
        values: dict[str, Any] = {parameter.name: parameter.default for parameter in self.parameters}
        try:
            lists_of_values = _parse_values(rows, words)
        except (IndexError, KeyError, StopIteration, ValueError):
            return None
        lists = {row.name for row in rows if row.is_list}
        values |= {name: texts if name in lists else texts[-1] for name, texts in lists_of_values.items()}
        return None if len(rows) < len(self.parameters) or ... in values.values() else values


def _parse_values(rows: Sequence["Row"], words: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values of each parameter in these words, in order. Raises one of several errors for words that typer must parse."""
    arguments = [row for row in rows if not row.names]
    options = {name: row for row in rows for name in row.names}
    values: dict[str, list[Any]] = {}
    waiting = iter(words)
    for word in waiting:
        name, assigned, value = word.partition("=")
        if not word:
            raise ValueError(word)
        if not word.startswith("-"):
            row, value = arguments[0], word
            del arguments[: not row.is_list]
        else:
            row = options.get(name) or options[name.replace("_", "-")]
            if assigned and (row.kind is bool or not name.startswith("--")):
                raise ValueError(word)
            value = "yes" if row.kind is bool else value if assigned else next(waiting)
            if not value or (value.startswith("-") and not assigned):
                raise ValueError(word)
        values.setdefault(row.name, []).append(row.check_range(row.kind(value)))
    return values


class Row(NamedTuple):
    """A parameter as `quick_values` reads it; an argument has no `names`."""

    name: str
    names: Sequence[str]
    kind: type[Any]
    is_list: bool
    how: Mapping[str, Any]

    @classmethod
    def from_parameter(cls, parameter: Parameter) -> "Row | None":
        """Return the row of a parameter; None if typer must read it."""
        about: Sequence[Any] = getattr(parameter.hint, "__metadata__", ())
        hint: Any = getattr(parameter.hint, "__origin__", None)
        inner: Any = next((part for part in hint.__args__ if part is not NoneType), None) if type(hint) is UnionType else hint
        is_list = type(inner) is GenericAlias and inner.__origin__ is list
        kind = inner.__args__[0] if is_list else inner
        if len(about) != 1 or not isinstance(about[0], Option) or kind not in (str, int, float, bool, Path):
            return None
        spelled = f"--{parameter.name.replace('_', '-')}"
        names = () if isinstance(about[0], Argument) else about[0].names or (spelled,)
        return cls(parameter.name, names, kind, is_list, about[0].how)

    def check_range(self, value: Any) -> Any:
        """Return the value; raises `ValueError` if it is outside the range of the option."""
        if value < self.how.get("min", value) or value > self.how.get("max", value):
            raise ValueError(value)
        return value


def defaults_of(group: type[Any]) -> dict[str, Any]:
    """Return the defaults of a group of options by field."""
    return {field.name: field.default for field in fields(group)}


def trust(*gold: Path) -> AbstractContextManager[None]:
    """Allow plugins of these gold folders to be executed inside this context; without a folder the registry is not loaded."""
    if not gold:
        return nullcontext()
    from evalsuite.core.plugin_calls import trusting_plugins

    return trusting_plugins(*gold)


@dataclass(frozen=True, kw_only=True)
class Code:
    """Options of code other than evalsuite's own."""

    plugin: Plugins = None
    allow_programs: Annotated[
        bool,
        Option("--allow-programs", help="run answers that are programs (python_unit_testing, pass_at_k) without a sandbox"),
    ] = False

    def load(self) -> None:
        """Load the scorers of the plugin files; raises `UsageError` with the plugin's line if one fails."""
        load_plugins(self.plugin)


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Options of workers and parallelism."""

    isolation: Isolation = "process"
    jobs: Annotated[str, Option(help="answers scored in parallel: a number, or auto for the number of cores", metavar="N|auto")] = "auto"

    def options(self) -> dict[str, Any]:
        """Return the fields of `RunOptions`. Raises `UsageError`."""
        return {"isolation": check_choice(self.isolation, ("process", "none"), "--isolation"), "jobs": parse_jobs(self.jobs)}


@dataclass(frozen=True, kw_only=True)
class Scoring(Code, Workers):
    """Options of every command that scores whole submissions."""

    rules: Rules = None
    databases: Databases = None
    invalid_as: InvalidAs = "null"
    judge: JudgeFile = None
    no_cache: Annotated[bool, Option("--no-cache", help="score everything again; ignore the cache")] = False

    @property
    def cache(self) -> Path | None:
        """Return the cache folder, None if it must not be used."""
        return None if self.no_cache else CACHE_FOLDER

    @property
    def evaluator(self) -> str | None:
        """Return the evaluator of query pairs named by --rules (a layout of gold), None for other rules."""
        return self.rules if self.rules in EVALUATORS else None

    def check_evaluator(self, used: str | None, name: str) -> None:
        """Raise `UsageError` if an evaluator of query pairs is requested for a gold or a run with another one."""
        if self.evaluator is not None and self.evaluator != used:
            hint = "the ending of the gold file decides: gold.sql is bird-ex, gold.txt test-suite"
            raise UsageError(f"--rules {self.evaluator} is not what {name} says", hint=hint)

    def options(self) -> dict[str, Any]:
        """Return the fields of `RunOptions`. Raises `UsageError`, also for a judge file or a databases folder that cannot be read."""
        rules = "official" if self.evaluator else parse_rules(self.rules)
        if self.judge is not None:
            from evalsuite.gold.suite_yaml import judge_section

            judge_section(self.judge)
        if self.databases is not None:
            from evalsuite.gold.connection_files import databases_folder

            databases_folder(self.databases)
        same = {name: getattr(self, name) for name in ("cache", "databases", "allow_programs", "judge")}
        return {**Workers.options(self), **same, "rules": rules, "invalid_as": parse_invalid_as(self.invalid_as)}


def run_or_last(name: str | None, runs: Path = RUNS) -> "RunEntry":
    """Return the run of a name, without one the last run, which a note names. Raises `UsageError`."""
    from evalsuite.runs.history import find_runs, one_run

    if name is not None:
        return one_run(name, runs)
    if not (entries := find_runs(runs)):
        raise UsageError(f"no run is named, and there is none in {runs}", hint="evalsuite run FOLDER --gold gold")
    print(f"note: the last run, {entries[-1].name}", file=sys.stderr)
    return entries[-1]


def parse_ids(only: Sequence[str] | None) -> tuple[str, ...]:
    """Return the ids that --only names, none without it. Raises `UsageError` if it names none."""
    ids = tuple(part.strip() for words in only or () for part in words.split(",") if part.strip())
    if only and not ids:
        hint = "instance ids with commas between them; without --only all are scored"
        raise UsageError(f"--only {','.join(only)!r} names no instance", hint=hint)
    return ids


def parse_invalid_as(value: str) -> Literal["zero"] | None:
    """Return the value of `--invalid-as`, None for null; raises `UsageError` for any other word."""
    return "zero" if check_choice(value, ("null", "zero"), "--invalid-as") == "zero" else None


def local_folder(place: Path | None) -> Path | None:
    """Return the folder of a submission; an archive is unpacked by a worker into the cache. Raises `SubmissionError`."""
    from evalsuite.readers.archives import is_archive

    if place is None or not is_archive(place.name) or not is_file(place):
        return place
    from evalsuite.runs.leaderboard_entries import unpack
    from evalsuite.runs.run_options import RunOptions

    with unpack(place, RunOptions(cache=CACHE_FOLDER)) as folder:
        return folder


def parse_rules(value: str | None) -> Rule | None:
    """Return the rules by name; raises `UsageError` for an unknown name."""
    for name in RULES:
        if value == name:
            return name
    if value is None:
        return None
    more = "; bird-ex and test-suite are rules of `evalsuite run`" if value in EVALUATORS else ""
    raise UsageError(f"no rules {value!r}", hint=_hint_of_choices(value, (*RULES, *([] if more else EVALUATORS))) + more)


def _hint_of_choices(value: str, words: Sequence[str]) -> str:
    """Return a hint with the nearest of a few known words, if one is near, and all of them."""
    near, all_words = did_you_mean(value, words), "known: " + ", ".join(words)
    return all_words if near.startswith("known") else f"{near} {all_words}"


def check_choice(value: str, choices: tuple[str, ...], option: str) -> str:
    """Return the value if it is allowed; raises `UsageError` with the spelling of the option if not."""
    if value not in choices:
        raise UsageError(f"{option} cannot be {value!r}", hint=_hint_of_choices(value, choices))
    return value


def percent_hint(text: str) -> str:
    """Return a hint for a share that was perhaps written as a percentage."""
    try:
        value = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        value = 0.0
    return f"did you mean '{value:g}'? 0.8 means 80 %" if 0.01 < value <= 1 else "0.8 means 80 %"


def check_share(value: float | None, option: str) -> float | None:
    """Return a number in [0, 1]; raises `UsageError` with the spelling of the option if it is not."""
    if value is not None and not 0 <= value <= 1:
        raise UsageError(f"{option} must be between 0 and 1, found {value:g}", hint=percent_hint(str(value)))
    return value


def parse_jobs(value: str) -> int | None:
    """Return the number of jobs, None for `auto`; raises `UsageError` for any other value than `auto` or a number from 1."""
    if value == "auto":
        return None
    if not value.isdecimal() or not 1 <= int(value) <= 256:
        raise UsageError(f"--jobs cannot be {value!r}", hint="a number from 1 to 256, or auto")
    return int(value)


def parse_limits(settings: Iterable[str] | None, frozen_clock: str | None = None) -> dict[str, int | float]:
    """Parse limits from `name=value` texts, and add the clock of queries; names are checked with all other limits.

    Raises `UsageError` for a text in another format.
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
    """Load the scorers of plugin files; raises `UsageError` with the plugin's line if one fails."""
    for file in files or ():
        from evalsuite.scorers import SCORERS

        SCORERS.load_file(file)


def load_parameters(settings: Iterable[str]) -> dict[str, Any]:
    """Parse parameters from `name=value` texts; a value that is valid JSON is parsed, any other is a text."""
    config: dict[str, Any] = {}
    for setting in settings:
        name, assigned, value = setting.partition("=")
        if not assigned:
            raise UsageError(f"--parameter cannot be {setting!r}", hint="write NAME=VALUE, for example ignore_case=true")
        try:
            config[name.strip()] = json.loads(value)
        except ValueError:
            config[name.strip()] = value
    return config
