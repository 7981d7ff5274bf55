"""The house rules: who may import whom, what stays out of start-up, every command explained."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsuite.cli.commands import COMMANDS
from tests.conftest import ROOT

PACKAGE = ROOT / "evalsuite"
FLOORS = {
    "types": 0, "errors": 0, "registry": 0, "plugins": 0,
    "matching": 1, "trees": 1, "metrics": 1, "judge": 1, "stats": 1, "sql": 1,
    "readers": 2, "scorers": 2,
    "runner": 3, "store": 3, "suites": 3, "summary": 3,
    "trust": 4, "leaderboard": 4, "comparing": 4, "reports": 4,
    "web": 5, "cli": 6, "api": 6, "__main__": 6,
}  # fmt: skip
# A registry looks its bundled table up by name, inside a function, when asked: the one look upward.
LOOKS_UP = {("registry", "scorers"), ("plugins", "scorers")}
HEAVY = {
    "pandas",
    "numpy",
    "duckdb",
    "scipy",
    "rich",
    "yaml",
    "pydantic",
    "sacrebleu",
    "rapidfuzz",
    "regex",
    "msgspec",
    "httpx",
    "jinja2",
    "markupsafe",
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    """The room of a module: its folder, or its own name at the top of the package."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0].removesuffix(".py") if len(parts) > 1 or parts[0] != "__init__.py" else ""


def imported_rooms(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each room of this package that a module imports, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "evalsuite":
            parts = node.module.split(".")
            for name in [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]:
                yield name, node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("evalsuite."):
                    yield alias.name.split(".")[1], node.lineno


def at_module_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements that run on import; those under TYPE_CHECKING do not."""
    for node in tree.body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    """A module imports from a lower floor or its own room, never upward or sideways into a higher one."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    own = room(path)
    if own == "":
        return
    assert own in FLOORS, f"room {own!r} has no floor: add it to the design and to this table"
    upward = [
        f"{path.name}:{line} imports {name}"
        for name, line in imported_rooms(tree)
        if name in FLOORS and FLOORS[name] > FLOORS[own] and (own, name) not in LOOKS_UP
    ]
    assert upward == []


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_packages_are_imported_where_they_are_used(path: Path) -> None:
    """No module imports a heavy package when it is itself imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in at_module_level(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and node.level == 0 else []
        found += [f"{path.name}:{node.lineno} {name}" for name in names if name.split(".")[0] in HEAVY]
    assert found == []


def test_start_up_loads_nothing_heavy() -> None:
    """After importing the command line and every light room, no heavy package is loaded."""
    code = (
        "import sys, evalsuite, evalsuite.cli, evalsuite.cli.app, evalsuite.cli.run, evalsuite.cli.check, evalsuite.runner.worker\n"
        f"print(sorted(set(sys.modules) & {HEAVY!r}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_string_check_loads_nothing_heavy() -> None:
    """Scoring one text through the API needs neither pandas nor duckdb nor rich."""
    code = (
        "import sys, evalsuite\n"
        "assert evalsuite.score('string_match', 'It was Paris', gold='Paris').official == 1\n"
        f"print(sorted(set(sys.modules) & {HEAVY!r}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    """`evalsuite COMMAND --help` says what it does and explains every option."""
    shown = subprocess.run([sys.executable, "-m", "evalsuite", name, "--help"], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert "Usage: evalsuite" in shown.stdout
    from evalsuite.cli.app import load_command

    command = load_command(name)
    for one in getattr(command, "commands", {name: command}).values():
        assert one.help, f"{name} {one.name} does not say what it does"
        for option in one.params:
            assert getattr(option, "help", None), f"{name} {one.name}: {option.name} has no help"


def test_help_lists_every_command() -> None:
    """`evalsuite --help` names each command of the table."""
    shown = subprocess.run([sys.executable, "-m", "evalsuite", "--help"], capture_output=True, text=True, check=True).stdout
    assert all(name in shown for name in COMMANDS)


def test_version_is_one() -> None:
    """The package, `--version` and pyproject name one version."""
    import tomllib

    from evalsuite import __version__

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    shown = subprocess.run([sys.executable, "-m", "evalsuite", "--version"], capture_output=True, text=True, check=True).stdout
    assert declared == __version__
    assert shown.strip() == f"evalsuite {__version__}"
