"""Groups of options: a command takes a dataclass as one parameter, and the parser sees its fields."""

import inspect
from dataclasses import dataclass, fields
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.cli.commands import COMMANDS
from evalsuite.cli.options import Option, Scoring, Spread
from evalsuite.cli.parser import for_typer, leaves, load_command
from tests.properties import examples

RUN: Any = load_command("run")


@dataclass(frozen=True, kw_only=True)
class Base:
    """A group."""

    loud: Annotated[bool, Option("--loud", "-l", help="shout")] = False


@dataclass(frozen=True, kw_only=True)
class More(Base):
    """A group that adds to another."""

    times: Annotated[int, Option(help="how often")] = 1


def greet(name: str, more: More, end: str = "!") -> str:
    """Greet somebody."""
    text = f"hello {name}{end}" * more.times
    return text.upper() if more.loud else text


def test_the_parser_sees_the_fields_and_the_command_its_group() -> None:
    """Fields stand where the group stood, with annotation and default; the call builds the group; what has none stays as it is."""
    command = Spread(greet)
    assert [one.name for one in command.parameters] == ["name", "loud", "times", "end"]
    assert [one.default for one in command.parameters] == [..., False, 1, "!"]
    assert command.parameters[1].hint.__metadata__[0].how["help"] == "shout"
    assert command(name="Ada", loud=True, times=2, end=".") == "HELLO ADA.HELLO ADA."


WORDS = (
    "answers gold --gold --gold=gold --only a,b --json --no-save --quiet -q -x -o page.html -oa.md --output=b.html --jobs 2 --limit "
    "seconds=3 --limit=memory_mib=9 --samples 1 3 --fail-under 0.5 --max_workers 300 --verbose -v -qv --durations 4 --durations=-1 -- - "
    "--only= --help --unknown --strict=1 --result_dir --watch --timeout 1e3 nan _1 --reveal é 0.001  ' '"
)


@examples(500)
@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=7))
def test_what_is_read_without_typer_is_read_as_typer_does(words: list[str]) -> None:
    """Where `quick_values` returns values of `run`, the parser gives the same ones."""
    values = Spread(COMMANDS["run"].load()).quick_values(words)
    if values is not None:
        context = RUN.make_context("run", list(words))
        assert not context.args
        assert {name: _comparable(context.params[name]) for name in values} == {name: _comparable(value) for name, value in values.items()}


def _comparable(value: Any) -> Any:
    """The parser's values are converted once more when the command is called: paths, and lists."""
    return str([*map(str, value)] or None) if isinstance(value, list | tuple) else str(value)


@pytest.mark.parametrize(
    "words", [["a"], ["a", "--gold", "g", "--no-save"], ["--result_dir=a", "-q", "-o", "b.md", "--fail-under", "0.5"], ["a", "--no_cache"]]
)
def test_usual_calls_of_run_need_no_typer(words: list[str]) -> None:
    """Usual words are read at once; the values are those of the parser."""
    values = Spread(COMMANDS["run"].load()).quick_values(words)
    assert values is not None
    params = RUN.make_context("run", list(words)).params
    assert {name: _comparable(value) for name, value in values.items()} == {name: _comparable(params[name]) for name in values}


def test_an_option_cannot_stand_in_two_groups_of_a_command() -> None:
    """Two groups with one option are a mistake that nobody can overlook."""

    def twice(one: Base, other: More) -> None: ...

    with pytest.raises(ValueError, match="loud"):
        for_typer(twice)


def test_shared_options_are_the_same_everywhere() -> None:
    """Every command that knows an option of `Scoring` has it in the same spellings, with the same help and default."""
    of_run = {option.name: _told(option) for option in load_command("run").params}
    shared = {one.name for one in fields(Scoring)}
    assert shared <= set(of_run)
    for name in ("leaderboard", "rescore", "compare", "verify", "check"):
        found = {option.name: _told(option) for option in load_command(name).params if option.name in shared}
        assert found == {option: of_run[option] for option in found}, name
        assert {"plugin", "allow_programs"} <= set(found)


def test_the_value_of_an_option_has_one_word_for_its_kind() -> None:
    """A path is a DIR or a FILE (or a word of the benchmark), a number N or NUMBER: nowhere the name of a type."""
    params = [param for name in COMMANDS for _, command in leaves(load_command(name), name) for param in command.params]
    assert not {param.metavar for param in params} & {"PATH", "FOLDER", "INTEGER", "FLOAT"}
    # An argument without a word of its own has its name.
    unnamed = {
        type(param.type).__name__ for param in params if param.metavar is None and param.opts[0].startswith("-") and not param.hidden
    }
    assert not {"TyperPath", "IntRange", "FloatRange", "IntParamType", "FloatParamType"} & unnamed


def test_no_command_takes_many_parameters_beside_its_groups() -> None:
    """A command with more than 20 options takes them in groups."""
    for name in COMMANDS:
        for own, command in leaves(load_command(name), name):
            assert len(inspect.signature(inspect.unwrap(command.callback)).parameters) <= 20, own


def _told(option: Any) -> tuple[Any, ...]:
    return option.opts, option.help, option.default, option.metavar
