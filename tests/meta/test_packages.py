"""Packages: who may import whom, what stays out of start-up, every command explained."""

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TypeGuard

import pytest

from evalsuite.cli.commands import COMMANDS
from tests.command_server import command_server
from tests.conftest import ROOT
from tests.meta import MODULES, nodes_of
from tests.processes import finished

# What a plain run never loads: it is imported when a command or gold needs it.
UNUSED = ("sql", "suites", "analysis", "scorers.judge", "reports.viewer", "reports.site")
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
    "sqlglot",
    "markupsafe",
}
FILES = {path.relative_to(ROOT).with_suffix("").as_posix().removesuffix("/__init__").replace("/", "."): path for path in MODULES}
# The one table from which nothing inside imports: the public names, loaded when a user asks for them.
PUBLIC_NAMES = "evalsuite"
_PLACE = re.compile(r"evalsuite(\.\w+)+(:[\w.]+)?")


def packages_in_order() -> list[str]:
    """The packages in the order of the table in CONTRIBUTING.md; `api` comes before `cli`, its only importer."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Packages")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)/`", table, re.M)


ORDER = {name: at for at, name in enumerate([*packages_in_order()[:-1], "api", packages_in_order()[-1], "__main__"])}


def package(module: str) -> str:
    """The package of a module, or the module's own name at the top."""
    return module.partition(".")[2].partition(".")[0]


def _file_of(dotted: str) -> str | None:
    """The module of a dotted name: itself, or the one it is an attribute of."""
    return dotted if dotted in FILES else parent if (parent := dotted.rpartition(".")[0]) in FILES else None


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of this package that a module imports: lazily and by a text `evalsuite.a:b` too, but not for the type checker alone."""
    found: set[str | None] = set()
    nodes = [node for node, _ in nodes_of(FILES[module])]
    typing_only = {node for block in nodes if is_for_types(block) for node in ast.walk(block)}
    for node in (node for node in nodes if isinstance(node, ast.ImportFrom | ast.Import | ast.Constant) and node not in typing_only):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "evalsuite":
            found |= {_file_of(f"{node.module}.{alias.name}") for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {_file_of(alias.name) for alias in node.names if alias.name.startswith("evalsuite.")}
        elif module != PUBLIC_NAMES and _is_place(node):
            found.add(_file_of(node.value.partition(":")[0]))
    return frozenset(name for name in found if name is not None and name not in (module, PUBLIC_NAMES))


def _is_place(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _PLACE.fullmatch(node.value) is not None


def is_for_types(node: ast.AST) -> bool:
    """Whether a node is a block under TYPE_CHECKING, which does not run on import."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def test_contributing_names_every_package() -> None:
    """The table in CONTRIBUTING.md names the fourteen packages; the only other modules are the API."""
    assert len(packages_in_order()) == 14
    assert {package(module) for module in FILES} - {""} == set(ORDER)


def test_imports_follow_the_order() -> None:
    """A file imports only from packages above its own in the table, or from its own; lazily and by name in a text too."""
    pairs = [(module, name) for module in FILES if module != PUBLIC_NAMES for name in imports(module)]
    wrong = [(module, name) for module, name in pairs if ORDER[package(name)] > ORDER[package(module)]]
    wrong += [(module, name) for module, name in pairs if name == "evalsuite.api" and package(module) not in ("cli", "api")]
    assert wrong == [], "the order: " + " ".join(ORDER)


def test_no_files_import_each_other() -> None:
    """No files import each other in a circle, inside a package either."""
    sorter = TopologicalSorter({module: imports(module) for module in FILES})
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_a_plain_run_loads_no_optional_package(tmp_path: Path) -> None:
    """Scoring texts and tables imports no judge, database engine, analysis, suite or viewer."""
    words = ["run", "example_submission_folder", "--quiet", "--no-save", "--no-cache", "--isolation", "none", "-o", str(tmp_path / "x.md")]
    code = (
        f"import sys\nfrom evalsuite.cli import main\nmain({words!r})\n"
        f"print(sorted(name for name in sys.modules if name.startswith('evalsuite.') and name.partition('.')[2].startswith({UNUSED!r})))"
    )
    shown = finished([sys.executable, "-c", code], check=True, cwd=ROOT, seconds=60)
    assert shown.stdout.splitlines()[-1] == "[]"


# Functions that tell objects apart by identity, all of which they hold for as long as they look.
BY_IDENTITY = {
    "_replace_environment",
    "_by_loop",
    "_distinct",
    "annotate_xeval",
    "_candidates",
    "refuse_ambiguous",
    "_pairs",
    "_identity",
    "_size_with_aliases",
}


def _called(node: ast.AST) -> str:
    """The name `f` or `a.f` that a call calls, empty for everything else."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


def test_what_is_frozen_stays_so() -> None:
    """Nothing writes past `frozen` but a `__post_init__`, and nothing is kept under an `id`, which may be another object's tomorrow."""
    found = []
    for path in MODULES:
        functions = [node for node, _ in nodes_of(path) if isinstance(node, ast.FunctionDef)]
        for node, _ in nodes_of(path):
            if not isinstance(node, ast.Call | ast.Attribute):
                continue
            dictionary = isinstance(node, ast.Attribute) and node.attr == "__dict__"
            called = _called(node)
            if not dictionary and called not in ("object.__setattr__", "id"):
                continue
            around = {function.name for function in functions if function.lineno <= node.lineno <= (function.end_lineno or 0)}
            allowed = {"object.__setattr__": {"__post_init__"}, "id": BY_IDENTITY}.get(called, set())
            if around - allowed:
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    """No module imports a heavy package when it is itself imported, but for that of messages, for which the next test says where."""
    found = []
    for path, node in [(file, node) for file in MODULES for node in nodes_of(file)[0][0].body if not is_for_types(node)]:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and node.level == 0 else []
        found += [f"{path.name} {name}" for name in names if name.split(".")[0] in HEAVY - {"msgspec"}]
    assert found == []


def test_start_up_loads_nothing_heavy() -> None:
    """After importing the command line no heavy package is loaded; after importing what scores an answer, only that of messages."""
    code = (
        "import sys, evalsuite, evalsuite.cli, evalsuite.cli.parser, evalsuite.cli.run_command, evalsuite.cli.instance_commands\n"
        f"print(sorted(set(sys.modules) & {HEAVY!r}))\n"
        "import evalsuite.runs.task_execution\n"
        f"print(sorted(set(sys.modules) & {HEAVY!r}))"
    )
    assert finished([sys.executable, "-c", code], check=True).stdout.splitlines() == ["[]", "['msgspec']"]


def test_a_string_check_loads_nothing_heavy() -> None:
    """Scoring one text through the API needs neither pandas nor duckdb nor rich."""
    code = (
        "import sys, evalsuite\n"
        "assert evalsuite.score('string_match', 'It was Paris', gold='Paris').official == 1\n"
        f"print(sorted(set(sys.modules) & {HEAVY!r}))"
    )
    assert finished([sys.executable, "-c", code], check=True).stdout.strip() == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    """`evalsuite COMMAND --help` says what it does and explains every option."""
    shown = command_server().run([name, "--help"])
    assert shown.returncode == 0, shown.stderr
    assert "Usage: evalsuite" in shown.stdout
    from evalsuite.cli.parser import load_command

    command = load_command(name)
    for one in getattr(command, "commands", {name: command}).values():
        assert one.help, f"{name} {one.name} does not say what it does"
        for option in one.params:
            assert getattr(option, "help", None), f"{name} {one.name}: {option.name} has no help"


def test_help_lists_every_command() -> None:
    """`evalsuite help --all` names each command of the table."""
    shown = finished([sys.executable, "-m", "evalsuite", "help", "--all"], check=True).stdout
    assert all(name in shown for name in COMMANDS)


def test_version_is_one() -> None:
    """The package, `--version` and pyproject name one version."""
    import tomllib

    from evalsuite import __version__

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    shown = finished([sys.executable, "-m", "evalsuite", "--version"], check=True).stdout
    assert declared == __version__
    assert shown.strip() == f"evalsuite {__version__}"
