"""Groups of options: a command takes a dataclass as one parameter, and the parser sees its fields."""

import inspect
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperGroup

from evalsuite.cli.commands import COMMANDS
from evalsuite.cli.options import Scoring, spread
from evalsuite.cli.parser import load_command


@dataclass(frozen=True, kw_only=True)
class Base:
    """A group."""

    loud: Annotated[bool, typer.Option("--loud", "-l", help="shout")] = False


@dataclass(frozen=True, kw_only=True)
class More(Base):
    """A group that adds to another."""

    times: Annotated[int, typer.Option(help="how often")] = 1


def greet(name: str, more: More, end: str = "!") -> str:
    """Greet somebody."""
    text = f"hello {name}{end}" * more.times
    return text.upper() if more.loud else text


def test_the_parser_sees_the_fields_and_the_command_its_group() -> None:
    """Fields stand where the group stood, with annotation and default; the call builds the group; what has none stays as it is."""
    command = spread(greet)
    parameters = inspect.signature(command, eval_str=True).parameters
    assert list(parameters) == ["name", "loud", "times", "end"]
    assert [one.default for one in parameters.values()] == [inspect.Parameter.empty, False, 1, "!"]
    assert parameters["loud"].annotation.__metadata__[0].help == "shout"
    assert command(name="Ada", loud=True, times=2, end=".") == "HELLO ADA.HELLO ADA."
    assert command.__doc__ == greet.__doc__


def test_an_option_cannot_stand_in_two_groups_of_a_command() -> None:
    """Two groups with one option are a mistake that nobody can overlook."""

    def twice(one: Base, other: More) -> None: ...

    with pytest.raises(ValueError, match="loud"):
        spread(twice)


def test_shared_options_are_the_same_everywhere() -> None:
    """Every command that knows an option of `Scoring` has it in the same spellings, with the same help and default."""
    of_run = {option.name: _told(option) for option in load_command("run").params}
    shared = set(inspect.signature(Scoring).parameters)
    assert shared <= set(of_run)
    for name in ("leaderboard", "rescore", "compare", "verify", "check"):
        found = {option.name: _told(option) for option in load_command(name).params if option.name in shared}
        assert found == {option: of_run[option] for option in found}, name
        assert {"plugin", "allow_programs"} <= set(found)


def test_no_command_takes_many_parameters_beside_its_groups() -> None:
    """A command with more than 20 options takes them in groups."""
    for name in COMMANDS:
        command = load_command(name)
        for one in command.commands.values() if isinstance(command, TyperGroup) else [command]:
            assert one.callback is not None
            assert len(inspect.signature(inspect.unwrap(one.callback)).parameters) <= 20, one.name


def _told(option: Any) -> tuple[Any, ...]:
    return option.opts, option.help, option.default, option.metavar
