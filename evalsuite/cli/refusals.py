"""What a person is told whose command cannot be carried out: the parser's complaints in our words, and hints that fit the command."""

import re
import sys
from collections.abc import Collection
from typing import Any

from evalsuite.errors import did_you_mean

_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
# The text of a command names options of that command.
_COMMAND = re.compile(r"`[a-z][^`]*`|\bevalsuite [a-z].*")
_EVERYWHERE = frozenset({"--debug", "--help", "--version"})


def complain(message: str, hint: str) -> None:
    """Say on stderr what is wrong, and what to do about it where that is known."""
    from evalsuite.reports.clean import clean

    print(f"error: {clean(message)}", file=sys.stderr)
    if hint:
        print(f"hint: {clean(hint)}", file=sys.stderr)


def fitting(hint: str, known: Collection[str]) -> str:
    """The ways out that a hint names, parted by `, or `, without those that need an option which is not among the known ones.

    One place that cannot write is reached by many commands: its hint names the ways of all of them.
    """
    ways = hint.split(", or ")
    return ", or ".join(way for way in ways if options_in(way) <= _EVERYWHERE.union(known))


def options_in(text: str) -> set[str]:
    """The long options that a text names, those of whole commands left out."""
    return set(_OPTION.findall(_COMMAND.sub("", text)))


def options_of(command: Any) -> list[str]:
    """The options of a command in every spelling, those of its commands too where it is a group."""
    inner = [command.get_command(None, name) for name in command.list_commands(None)] if hasattr(command, "list_commands") else []
    return [spelled for one in (command, *inner) for parameter in one.params if _is_option(parameter) for spelled in parameter.opts]


def retold(error: Any) -> tuple[str, str]:
    """(message, hint) of an exception by which the parser says that it cannot understand the arguments."""
    context, parameter, option = (getattr(error, name, None) for name in ("ctx", "param", "option_name"))
    message = error.format_message().partition(" (Possible options: ")[0].rstrip(".")
    if context is None:
        return message, "`--help` after the command lists its options"
    own = [one for one in context.command.params if _is_option(one)]
    if option is not None and not any(option in one.opts for one in own):
        return message, did_you_mean(option, [*map(_spelled, own), "--help"])
    if parameter is None or not _is_option(parameter):
        return message, " ".join(context.get_usage().removeprefix("Usage:").split())
    return message, f"{_spelled(parameter)} {parameter.metavar or ''}".rstrip() + f": {parameter.help}"


def _is_option(parameter: Any) -> bool:
    return any(spelled.startswith("-") for spelled in parameter.opts)


def _spelled(parameter: Any) -> str:
    """The first long spelling of an option."""
    return next((str(spelled) for spelled in parameter.opts if spelled.startswith("--")), str(parameter.opts[0]))
