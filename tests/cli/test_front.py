"""The page of `--help`: written without the parser, and the same with it."""

import sys

import pytest

from evalsuite.cli import main
from evalsuite.cli.commands import COMMANDS, OPTIONS, page
from evalsuite.cli.parser import build
from tests.processes import finished

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_page(width: int) -> None:
    """Every command, option and word of a summary stands there, in lines no wider than the terminal."""
    shown = page(width, everything=True)
    assert max(map(len, (shown + page(width)).splitlines())) <= width
    words = set(shown.split())
    assert all(set(f"{name} {line.summary}".split()) <= words for name, line in COMMANDS.items())


def test_options_are_the_parsers() -> None:
    """The options on the page are those of the parser, and --help through either is one page."""
    command = build()
    context = command.make_context("evalsuite", [], resilient_parsing=True)
    named = {name for option in command.get_params(context) for name in option.opts}
    assert {name for names, _ in OPTIONS for name in names.split(", ")} == named
    assert command.get_help(context) == page().rstrip()


def test_start_loads_next_to_nothing() -> None:
    """`--version` and `--help` load no parser, no dataclasses, no typing, no re."""
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom evalsuite.cli import main\n"
        "assert main(['--version']) == 0 and main(['--help']) == 0\n"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('evalsuite')))"
    )
    shown = finished([sys.executable, "-c", code], check=True).stdout
    assert shown.splitlines()[-1] == "[]"


def test_a_reader_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """`evalsuite --help | head -0` ends well."""
    done = finished(f'"{sys.executable}" -m evalsuite --help | head -0', shell=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert main(["--help"]) == 0
