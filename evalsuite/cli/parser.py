"""The typer application of the command table, and shell completion; a command's module is imported only when it is called."""

import functools
import inspect
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from evalsuite.cli.commands import ABOUT, COMMANDS, GROUPED, MEANT, MEANT_OPTIONS, REMOVED, grouped_name, page, plain_name
from evalsuite.cli.options import RUNS, Argument, Group, Option, Parameter, Row, Spread, percent_hint
from evalsuite.core.errors import EvalsuiteError, UsageError, did_you_mean
from evalsuite.core.files import exists
from evalsuite.core.import_ref import ImportRef


class StoppedError(Exception):
    """An interruption that passes through the parser, which would otherwise replace its message."""


class LazyGroup(TyperGroup):
    """A group that has commands by name and summary, and imports only the called one."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an interruption becomes `StoppedError`."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise StoppedError(str(stop)) from stop

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in table order."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name, or raise a usage error with a "did you mean"."""
        if cmd_name in REMOVED:
            raise UsageError(f"`evalsuite {cmd_name}` is no longer a command", hint=REMOVED[cmd_name])
        if cmd_name not in COMMANDS:
            if Path(cmd_name).suffix or os.sep in cmd_name:
                names = sorted(place.name for place in Path().iterdir())
                raise UsageError(f"no command and no file {cmd_name!r}", hint=did_you_mean(cmd_name, [*names, *COMMANDS]))
            hint = _nearest_command(cmd_name, COMMANDS)
            ungrouped = [name for name in COMMANDS if name not in GROUPED]
            hint = hint if hint.startswith("did") else f"known: {', '.join(ungrouped)}; `evalsuite help --all` explains them"
            raise UsageError(f"no command {cmd_name!r}", hint=hint)
        return load_command(cmd_name)

    def get_help(self, ctx: Any) -> str:
        """Return the page of all commands without importing them."""
        return page().rstrip()


def _nearest_command(word: str, names: Iterable[str]) -> str:
    """Return a hint that names the command that a word may stand for, also one of a group."""
    names = list(names)
    groups = {name: group for name in names if name in COMMANDS and isinstance(group := COMMANDS[name].load(), Group)}
    inner = [f"{name} {word}" for name, group in groups.items() if word in group.commands]
    meant = MEANT.get(word.casefold()) or (inner[0] if len(inner) == 1 else "")
    if meant.partition(" ")[0] in (*names, "--version"):
        return f"did you mean {meant!r}?"
    spelled = {repr(name): repr(grouped_name(name)) for name in names if names == [*COMMANDS]}
    near = did_you_mean(word, names)
    return "".join(spelled.get(part, part) for part in re.split("('[^']*')", near)) if near.startswith("did") else near


class NamedGroup(TyperGroup):
    """A command with subcommands; its error lists them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve the first word as click does; raises `UsageError` for an unknown command."""
        if args and self.get_command(ctx, args[0]) is None:
            # `evalsuite gold answers`, where both are folders.
            folders = f"; the folder is ./{self.name}: `evalsuite ./{self.name} {args[0]}`"
            are_paths = all(exists(Path(word)) for word in (str(self.name), args[0]))
            hint = _nearest_command(args[0], self.list_commands(ctx)) + folders * are_paths
            raise UsageError(f"{self.name} has no command {args[0]!r}", hint=hint)
        return super().resolve_command(ctx, args)


# The options that `--help` shows of commands with more than twelve; `--help-all` shows all.
MAIN_OPTIONS = {
    "run": "gold rules only lf databases jobs resume output failures json quiet fail-under",
    "check": "prediction gold result-dir run rules judge explain reveal databases output json fail-under",
    "explain": "run result-dir gold rules key ordered table databases reveal output json",
    "compare": "gold rules fail-under fail-on-regression suite labels all databases jobs output json quiet",
    "leaderboard": "gold rules by metadata receipts site board private jobs output json quiet",
    "rescore": "rules scorer-version result-dir gold judge databases jobs no-cache plugin runs json quiet",
    "samples": "gold rules databases judge jobs isolation plugin no-cache runs output json",
    "verify": "sample seed result-dir gold databases questions key runs jobs plugin allow-programs json",
    "suite run": "from candidate input model-name description plugin allow-unscored fail-under fail-on-regression output json quiet",
    "suite try": "candidate input reference scorer parameter keep all fail-under fail-on-regression output json quiet",
    "gold audit": "rules only most seconds seed top format fail-under jobs databases isolation json",
}
# Two examples of each command, without `evalsuite` and its name.
EXAMPLES = {
    "init": ("--gold-from tables", "--gold-from tables --questions asked.csv --out gold"),
    "what": ("answers.csv", "right.csv mine.csv --json"),
    "example": ("play", "play/again"),
    "suite create": (
        "capitals --from qa.csv --scorer string_match",
        "geo --from geo.xlsx --scorer number_match --reference answer",
    ),
    "suite list": ("", "| grep capitals"),
    "suite show": ("capitals", "'my suite'"),
    "suite run": ("capitals --from model_a.csv", "capitals --from answers.csv --candidate gpt --candidate claude --fail-on-regression"),
    "suite try": (
        "qa.csv --reference answer --candidate gpt --candidate claude",
        "qa.csv --input question --reference answer --candidate gpt --scorer number_match",
    ),
    "suite export": ("capitals capitals.json", "'my suite' shared/suite.json"),
    "suite import": ("capitals.json", "bench_folder --force-new-version"),
    "suite delete": ("capitals", "'my suite'"),
    "suite rename": ("capitals capital_cities", "'my suite' mine"),
    "import": ("results.json --compare", "samples_geo_a.jsonl samples_geo_b.jsonl --scorer string_match"),
    "run": ("answers --gold gold", "answers --gold gold --rules strict -o report.html"),
    "check": ("sales_001 --result-dir answers --gold gold", "number_match --prediction 'about 17.5%' --gold 0.175 --percentage"),
    "validate": ("answers", "answers --gold gold"),
    "scorers": ("", "table_match"),
    "merge": ("part_1 part_2 --out whole", "parts/* --out whole -o report.html --fail-under 0.8"),
    "rescore": ("mine --rules strict", "mine --gold gold --scorer-version same"),
    "explain": ("sales_004 --run mine", "right.csv mine.csv --key id"),
    "report": ("20261121-102205-example", "mine -o report.html -o results.csv"),
    "margins": ("", "mine --rules strict -o margins.html"),
    "bundle": ("sales_004 --run mine -o issue.md", "sales_004 --result-dir answers --gold gold -o case"),
    "view": ("--open", "results --port 8080"),
    "export": ("mine log.json", "mine samples.jsonl --as lm-eval"),
    "compare": ("base new --fail-on-regression", "answers_a answers_b --gold gold"),
    "leaderboard": ("submissions --gold gold", "submissions --gold gold --site site -o board.html"),
    "samples": ("first second third", "answers_1 answers_2 --gold gold --json"),
    "agree": ("judge_a judge_b", "mine labels.csv --threshold 0.5"),
    "runs list": ("", "--suite 'geo*' --since 2026-11-01"),
    "runs show": ("mine", "20261121-102205-example --runs shared/runs"),
    "runs tag": ("mine --add release", "mine --add good --remove draft"),
    "runs rm": ("mine", "20261121-102205-example"),
    "runs prune": ("--keep 5", "--keep 5 --before 2026-11-01 --yes"),
    "sql": ("'SELECT name, official FROM runs'", "'SELECT scorer, avg(strict) FROM results GROUP BY ALL' --json"),
    "verify": ("mine", "mine --result-dir answers --gold gold --sample 20"),
    "drift": ("", "mine --fail-on-drift"),
    "gold check": ("gold", "gold --fail-under 1 --databases databases"),
    "gold audit": ("gold", "gold --only sales_001,sales_002 --rules strict --format md"),
    "gold lint": ("gold", "gold --fix"),
    "gold suspects": ("first second third", "first second --rules strict --most 5"),
    "gold review": (
        "first second --author 'M. Rossi' --evidence https://example.org/1",
        "first --author me --evidence https://example.org/1 --most 5",
    ),
    "gold errata": ("gold", "gold --entry sales_004"),
    "gold contamination": ("gold --against corpus", "gold --against corpus.txt --words 8 --fail-over 0.5"),
    "gold convert": ("lite_gold --out gold", "evaluation_suite/gold --out gold --layout snow"),
    "schema infer": ("gold.jsonl", "gold.jsonl --id-field id --widen"),
    "schema resolve": ("schema.json", "python:models.py:Invoice"),
    "schema annotate": ("schema.json", "python:models.py:Invoice"),
    "schema check": ("schema.json --gold gold.jsonl", "schema.json --gold gold.jsonl --id-field id --strict-types"),
    "connections list": ("", "--gold gold --databases databases"),
    "connections test": ("", "warehouse --gold gold --seconds 5"),
    "judge test": ("", "--judge judge.yaml"),
    "judge probe": ("", "--judge judge.yaml --json"),
    "keys new": ("", "keys/host"),
    "keys show": ("evalsuite_key", "keys/host"),
    "doctor": ("", "gold"),
}
# Title -> the options below it, by their first long spelling.
SECTIONS = {
    "Selection": "only filter group lf shard samples result-dir run runs suite model tag since until key ordered table prediction sample "
    "seed from candidate input reference context against entry before keep unfinished drop-best receipts metadata private",
    "Rules": "rules gold layout mode questions live-gold as-of ves labels alpha cluster force shift by scorer scorer-version parameter",
    "Databases": "databases gold-cache max-bytes-billed frozen-clock sql",
    "Judge": "judge invalid-as",
    "Limits": "limit isolation jobs allow-programs plugin no-cache seconds most",
    "Gates": "fail-under fail-on-regression fail-on-drift fail-over strict fail-on-unscorable allow-unscored exitfirst",
    "Output": "out no-save sign resume watch output verbose failures durations json quiet github reference-files all explain site board "
    "reveal as format top compare name description",
    "Cluster": "executor scheduler",
}
_SECTION_OF = {option: title for title, options in SECTIONS.items() for option in options.split()}
# Spellings that work and are not shown: those of earlier versions.
_TWIN = re.compile(r", --(?:[a-z]+-column|gold-dir|submission|to)\b")


class HelpCommand(TyperCommand):
    """A command whose `--help` shows its main options in sections, and with `everything` all of them."""

    everything = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words as click does, `--gold_dir` as `--gold-dir`.

        Raises `UsageError` for an empty path, which would be the working folder.
        """
        ctx.token_normalize_func = _with_hyphens
        rest = super().parse_args(ctx, args)
        for parameter in self.params:
            value = ctx.params.get(parameter.name)
            if hasattr(parameter.type, "readable") and "" in (value if isinstance(value, list | tuple) else (value,)):
                raise UsageError(f"{_long_spelling(parameter)} is empty", hint="name a file or folder; . is the working folder")
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options, each in its first spelling."""
        name = plain_name(ctx.command_path.removeprefix("evalsuite "))
        with formatter.section("Examples"):
            for words in EXAMPLES.get(name, ()):
                # Not wrapped, so that it can be pasted.
                formatter.write(f"  evalsuite {grouped_name(name)} {words}".rstrip() + "\n")
        main = MAIN_OPTIONS.get(name, "").split()
        records: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        n_hidden = 0
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name = _long_spelling(parameter).removeprefix("--")
            if not _is_option(parameter):
                records["Arguments"].append(record)
            elif main and not self.everything and name not in main and name != "help":
                n_hidden += 1
            else:
                records.setdefault(_SECTION_OF.get(name, "Options"), []).append((_TWIN.sub("", record[0]), record[1]))
        if n_hidden:
            records.setdefault("Options", []).append(("--help-all", f"Show {n_hidden} more option{'s' * (n_hidden > 1)} and exit."))
        for title in ("Arguments", *SECTIONS, "Options"):
            if rows := records.get(title):
                with formatter.section(title):
                    formatter.write_dl(rows)


def _with_hyphens(name: str) -> str:
    return name.replace("_", "-")


@functools.cache
def load_command(name: str) -> TyperCommand | TyperGroup:
    """Return the click command of a name in the table. A command with the parser's context parses unknown options itself.

    The commands that an error may propose are parsed several times.
    """
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    entry = COMMANDS[name].load()
    if isinstance(entry, Group):
        app = _typer_group(COMMANDS[name].summary, entry)
    else:
        reads_the_rest = typer.Context in get_type_hints(entry).values()
        settings = {"allow_extra_args": True, "ignore_unknown_options": True} if reads_the_rest else None
        app.command(name, cls=HelpCommand, context_settings=settings)(for_typer(entry))
    command = get_command(app)
    assert isinstance(command, TyperCommand | TyperGroup)
    command.name = name
    for full_name, leaf in leaves(command, name):
        add_values(leaf, plain_name(full_name))
        for parameter in leaf.params:
            if hasattr(parameter.type, "readable"):
                # The code that opens a path reports its errors; one unreadable folder may be one of many.
                parameter.type.readable = False
    return command


def _typer_group(summary: str, group: Group) -> typer.Typer:
    """Return the application of a group; a group in it has one of its own."""
    about = summary[:1].upper() + summary[1:] + "." * (group.default is None)
    app = typer.Typer(cls=NamedGroup, rich_markup_mode=None, add_completion=False, no_args_is_help=group.default is None, help=about)
    for command_name, function in group.commands.items():
        entry = group.command(command_name)
        if isinstance(function, ImportRef):
            short = function.summary
        else:
            # The first sentence of the docstring, in the form of the summaries; click would cut it.
            first = " ".join((inspect.getdoc(function) or "").split()).partition(". ")[0].rstrip(".")
            short = first[:1].lower() + first[1:]
        if isinstance(entry, Group):
            app.add_typer(_typer_group(short, entry), name=command_name, short_help=short)
        else:
            app.command(command_name, cls=HelpCommand, short_help=short)(for_typer(entry))
    if group.default is not None:
        alone = next(info.callback for info in app.registered_commands if info.name == group.default)
        assert alone is not None

        @app.callback(invoke_without_command=True, help=f"{about}; without a command: {group.default}.")
        def run_default(ctx: typer.Context) -> Any:
            return alone() if ctx.invoked_subcommand is None else None

    return app


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield each command of a group, and of the groups in it, with its full name; a command that is no group yields itself."""
    if not isinstance(command, TyperGroup):
        yield name, command
        return
    for command_name, inner in command.commands.items():
        yield from leaves(inner, f"{name} {command_name}")


def for_typer(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with one parameter for each option, as typer reads them."""
    spread = Spread(command)

    @functools.wraps(command)
    def call(**values: Any) -> Any:
        return spread(**values)

    kind, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    rows = [
        inspect.Parameter(row.name, kind, default=empty if row.default is ... else row.default, annotation=_typer_hint(row))
        for row in spread.parameters
    ]
    call.__signature__ = inspect.Signature(rows)  # type: ignore[attr-defined]
    return call


# Type of an option -> what stands for its value if nothing more specific does.
_NUMBERS = {int: "N", float: "NUMBER"}


def _typer_hint(parameter_of_command: Parameter) -> Any:
    hint, row = parameter_of_command.hint, Row.from_parameter(parameter_of_command)
    about = getattr(hint, "__metadata__", ())
    if not about or not isinstance(about[0], Option):
        return hint
    number = None if row is None else _NUMBERS.get(row.kind)
    how = {**({"metavar": number} if number else {}), **about[0].how}
    parameter = (typer.Argument if isinstance(about[0], Argument) else typer.Option)(*about[0].names, **how)
    return Annotated[hint.__origin__, parameter]


def find_command(arguments: Sequence[str]) -> tuple[Any, list[str], list[str]]:
    """Return the called command with the words that name it and the rest; a group if its command is unknown, None if no command is."""
    start = next((at for at, word in enumerate(arguments) if not word.startswith("-")), len(arguments))
    names, rest = list(arguments[start : start + 1]), list(arguments[start + 1 :])
    command: Any = load_command(names[0]) if names and names[0] in COMMANDS else None
    while rest and (inner := getattr(command, "commands", {}).get(rest[0])) is not None:
        command = inner
        names.append(rest.pop(0))
    return command, names, rest


def options_of_call(arguments: Sequence[str]) -> list[str]:
    """Return the options of the called command; for `check` also the scorer's parameters."""
    command = find_command(arguments)[0]
    if command is None:
        return []
    options = options_of(command)
    if command.name == "check":
        from evalsuite.cli.prediction import spell
        from evalsuite.scorers import SCORERS

        options += [spell(parameter) for word in arguments if word in SCORERS.names() for parameter in SCORERS.load(word).parameters]
    return options


@functools.cache
def build() -> TyperGroup:
    """Build the application as a click group."""
    app = typer.Typer(
        cls=LazyGroup,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(help=ABOUT)
    def root(
        version: Annotated[bool, typer.Option("--version", "-V", help="print the version and exit")] = False,
        debug: Annotated[bool, typer.Option("--debug", help="show tracebacks and the debug log")] = False,
    ) -> None:
        # Both are removed from the arguments before parsing; they are declared here for --help.
        del version, debug

    @app.command("_", hidden=True)
    def placeholder() -> None: ...

    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return group


def usage_errors() -> tuple[type[Exception], ...]:
    """Return the parser's exceptions for invalid arguments and for an abort."""
    base = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
    return (base, typer.Abort)


def options_of(command: Any) -> list[str]:
    """Return all spellings of a command's options, including its subcommands', with hyphens and with underscores."""
    return [
        spelled for _, leaf in leaves(command, "") for parameter in leaf.params if _is_option(parameter) for spelled in spellings(parameter)
    ]


def spellings(option: Any) -> list[str]:
    """Return what calls an option: its names with hyphens, and each with underscores."""
    return [word for spelled in option.opts for word in dict.fromkeys((spelled, spelled[:2] + spelled[2:].replace("-", "_")))]


_PERCENT = re.compile(r"'([\d.]+ ?%)' is not a number")
_INVALID = re.compile(r"Invalid value for [^:]*: (.*)", re.DOTALL)
_NO_NUMBER = re.compile(r"is not a valid (int|float)\w*( range)?$")
_UNEXPECTED = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)")


def parser_message(error: Any, arguments: Sequence[str]) -> tuple[str, str]:
    """Return (message, hint) of a parser's exception about a command line."""
    context, parameter, option = (getattr(error, name, None) for name in ("ctx", "param", "option_name"))
    message = error.format_message().partition(" (Possible options: ")[0].rstrip(".")
    command = context.command if context is not None else find_command(arguments)[0]
    if command is None:
        return message, "`--help` after the command lists its options"
    options = [row for row in command.params if _is_option(row)]
    if option is not None:
        parameter = next((row for row in options if option in row.opts), None)
        if parameter is None:
            spellings = [*map(_long_spelling, options), "--help"]
            meant = MEANT_OPTIONS.get(option.lstrip("-"), "")
            return message, f"did you mean '--{meant}'?" if f"--{meant}" in spellings else did_you_mean(option, spellings)
    if context is not None and (parameter is None or not _is_option(parameter)):
        if extra := _UNEXPECTED.fullmatch(message):
            message = f"unexpected argument {extra[1].split()[0]!r}"
        return message, " ".join(context.get_usage().removeprefix("Usage:").split())
    if invalid := _INVALID.fullmatch(message):
        words = _NO_NUMBER.sub(lambda found: f"is not a {'whole ' if found[1] == 'int' else ''}number", invalid[1])
        message = f"{_long_spelling(parameter)}: {words}"
    if share := _PERCENT.search(message):
        return message, percent_hint(share[1])
    metavar, about = (getattr(parameter, name, None) or "" for name in ("metavar", "help"))
    return message, f"{_long_spelling(parameter)} {metavar}".rstrip() + f": {about}"


def _is_option(parameter: Any) -> bool:
    return any(spelled.startswith("-") for spelled in parameter.opts)


def _long_spelling(parameter: Any) -> str:
    """Return the first long spelling of an option."""
    return next((str(spelled) for spelled in parameter.opts if spelled.startswith("--")), str(parameter.opts[0]))


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
    from evalsuite.runs.history import find_runs
    from evalsuite.runs.run_folder import RUN

    root = Path(context.params.get("runs") or RUNS)
    folders = [folder for folder in root.iterdir() if exists(folder / RUN)]
    yield from (folder.name for folder in folders)
    if len(folders) <= _MOST_OPENED:
        yield from (str(name) for entry in find_runs(root) if (name := entry.metadata.get("run_name")))


def _tags(context: Any) -> Iterator[str]:
    from evalsuite.runs.history import find_runs

    return (tag for entry in find_runs(Path(context.params.get("runs") or RUNS)) for tag in entry.tags)


def _columns(context: Any) -> Iterator[str]:
    """Return the columns of the row files on the command line."""
    from evalsuite.suites.stored_suites import FILE_KINDS, read_columns

    # If the line ends in an option without a value, the parser keeps no arguments; the shell's words are used instead.
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    files = context.params.get("sources") or [word for word in shlex.split(line) if word.lower().endswith(FILE_KINDS)]
    return (name for path in files for name in read_columns(Path(path)))


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

    folder = context.params.get("gold_dir") or context.params.get("gold") or "gold"
    return iter(read_gold(Path(folder[0] if isinstance(folder, list) else folder), plugins=False).instances)


def _instance_ids(context: Any) -> Iterator[str]:
    return (instance.instance_id for instance in _instances(context))


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
    "ID|SCORER": lambda context: (*_scorers(context), *_instance_ids(context)),
    "TAG": lambda context: (group for instance in _instances(context) for group in instance.groups),
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
