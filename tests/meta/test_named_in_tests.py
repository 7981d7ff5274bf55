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

# No test of the line, of `slow` or of `extras` names them. The list may only become shorter.
WITHOUT_A_TEST: set[tuple[str, ...]] = {
    ("bundle", "", "--gold-dir"),
    ("drift", "", "--allow-programs"),
    ("drift", "", "--plugin"),
    ("gold", "audit", "--seed"),
    ("gold", "contamination", "--words"),
    ("gold", "review", "--most"),
    ("gold", "review", "--plugin"),
    ("gold", "review", "--rules"),
    ("gold", "review", "--runs"),
    ("judge", "probe", "--gold-dir"),
    ("judge", "test", "--gold-dir"),
    ("samples", "", "--allow-programs"),
    ("samples", "", "--invalid-as"),
    ("view", "", "--open"),
    ("fault", "NEEDS_EXTRA"),
    # The layout gives it (recorded verdicts of both), no gold file.
    ("sql_match", "evaluator"),
    # The layer of a model: no test has one with several.
    ("bertscore", "layer"),
    ("hedging_language", "layer"),
}


@cache
def texts() -> list[str]:
    """The tests' modules, without those of this folder and the benchmarks."""
    files = [path for path in (ROOT / "tests").rglob("*.py") if not {"meta", "benchmarks"} & {*path.parts}]
    return [path.read_text(encoding="utf-8") for path in files]


def named(*patterns: str) -> bool:
    """Whether one module has all of these."""
    return any(all(re.search(pattern, text) for pattern in patterns) for text in texts())


def options() -> Iterator[tuple[str, str, str, str]]:
    """Command, its own command or an empty text, an option in one spelling, and its letter: with `_` is the same option as with `-`."""
    for name in COMMANDS:
        command = load_command(name)
        for own, one in getattr(command, "commands", {"": command}).items():
            if f"{name} {own}" in GROUPED.values():
                continue  # the command of the same name outside the group
            for option in one.params:
                spelled = [*getattr(option, "opts", ()), *getattr(option, "secondary_opts", ())]
                letter = next((word for word in spelled if len(word) == 2), "")
                yield from ((name, own, word, letter) for word in spelled if word.startswith("--") and "_" not in word)


def test_what_has_no_test() -> None:
    """Exactly what is listed above."""
    found: set[tuple[str, ...]] = set()
    for name, own, word, letter in options():
        written = rf"{word}(?![\w-])" + (rf"|[\s\"']{letter}[\s\"']" if letter and letter != word else "")
        if not named(rf"\b{name}\b", rf"\b{own}\b", written):
            found.add((name, own, word))
    found |= {("fault", code) for code in FAULTS if not named(rf"\b{code}\b")}
    found |= {("suite.yaml", key) for key in _FIELDS if not named(r"suite\.yaml", rf"\b{key}:|[\"']{key}[\"']")}
    for name in SCORERS.bundled:
        parameters = SCORERS.load(name).parameters
        found |= {(name, key) for key in parameters if not named(rf"\b{name}\b", rf"[\"']{key}[\"']|\b{key}[=:]")}
    assert found == WITHOUT_A_TEST
