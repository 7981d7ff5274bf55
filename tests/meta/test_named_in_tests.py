"""What a user can write has a test that writes it: options of commands, fault codes, keys of suite.yaml, parameters of scorers."""

import re
from collections.abc import Iterator
from functools import cache

from evalsuite.cli.commands import COMMANDS, GROUPED
from evalsuite.cli.parser import load_command
from evalsuite.core.errors import FAULTS
from evalsuite.gold.suite_yaml import _FIELDS
from evalsuite.scorers import SCORERS
from tests.conftest import ROOT


@cache
def texts() -> list[str]:
    """The tests' modules, without those of this folder and the benchmarks."""
    files = [path for path in (ROOT / "tests").rglob("*.py") if not {"meta", "benchmarks"} & {*path.parts}]
    return [path.read_text(encoding="utf-8") for path in files]


# Words, words with hyphens, options, options of one letter between spaces or quotes, keys, and texts in quotes that are one word.
TOKENS = (r"\w+", r"[\w.-]+", r"--[\w-]+", r"(?<=[\s\"'])-\w(?=[\s\"'])", r"\w+[=:]", r"[\"']\w+[\"']")


@cache
def tokens() -> list[set[str]]:
    """What stands in each module."""
    return [{token.replace("'", '"') for pattern in TOKENS for token in re.findall(pattern, text)} for text in texts()]


def named(*alternatives: str | list[str]) -> bool:
    """Whether one module has all of these, or one of each list."""
    wanted = [{words} if isinstance(words, str) else {*words} for words in alternatives]
    return any(all(words & module for words in wanted) for module in tokens())


def options() -> Iterator[tuple[str, str, list[str]]]:
    """Command, its own command or an empty text, and the spellings of an option; a spelling that switches it off is one of its own."""
    for name in COMMANDS:
        command = load_command(name)
        for own, part in getattr(command, "commands", {"": command}).items():
            if f"{name} {own}" in GROUPED.values():
                continue  # the command of the same name outside the group
            for option in part.params:
                for spellings in (getattr(option, "opts", ()), getattr(option, "secondary_opts", ())):
                    if words := [word for word in spellings if word.startswith("-")]:
                        yield name, own, words


def test_everything_has_a_test() -> None:
    """Nothing is without a test that names it."""
    without: set[tuple[str, ...]] = set()
    for name, own, words in options():
        if not named(name, own or name, words):
            without.add((name, own, words[0]))
    without |= {("fault", code) for code in FAULTS if not named(code)}
    without |= {("suite.yaml", key) for key in _FIELDS if not named("suite.yaml", [f"{key}:", f'"{key}"'])}
    for name in SCORERS.bundled:
        parameters = SCORERS.load(name).parameters
        without |= {(name, key) for key in parameters if not named(name, [f'"{key}"', f"{key}=", f"{key}:"])}
    assert without == set()
