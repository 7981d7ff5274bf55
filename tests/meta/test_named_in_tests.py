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


def named(*patterns: str) -> bool:
    """Whether one module has all of these."""
    return any(all(re.search(pattern, text) for pattern in patterns) for text in texts())


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
        spelled = "|".join(rf"{word}(?![\w-])" if word.startswith("--") else rf"[\s\"']{word}[\s\"']" for word in words)
        if not named(rf"\b{name}\b", rf"\b{own}\b", spelled):
            without.add((name, own, words[0]))
    without |= {("fault", code) for code in FAULTS if not named(rf"\b{code}\b")}
    without |= {("suite.yaml", key) for key in _FIELDS if not named(r"suite\.yaml", rf"\b{key}:|[\"']{key}[\"']")}
    for name in SCORERS.bundled:
        parameters = SCORERS.load(name).parameters
        without |= {(name, key) for key in parameters if not named(rf"\b{name}\b", rf"[\"']{key}[\"']|\b{key}[=:]")}
    assert without == set()
