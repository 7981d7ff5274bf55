"""Groups of options: a command takes a dataclass as one parameter, and the parser sees its fields."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.cli.commands import COMMANDS
from evalsuite.cli.options import Option, Spread
from evalsuite.cli.parser import for_typer, load_command
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


def test_an_option_cannot_stand_in_two_groups_of_a_command() -> None:
    """Two groups with one option are a mistake that nobody can overlook."""

    def twice(one: Base, other: More) -> None: ...

    with pytest.raises(ValueError, match="loud"):
        for_typer(twice)
