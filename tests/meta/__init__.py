"""The package's modules, parsed once for all tests of a process that look into them, and tests by their names."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "evalsuite"
MODULES = sorted(PACKAGE.rglob("*.py"))
# Parts of a node that say no more than its kind.
_PLAIN = (ast.expr_context, ast.operator)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@cache
def nodes_of(path: Path) -> list[tuple[ast.AST, ast.AST | None]]:
    """Each node of a module with the function or class that it is directly in; the nodes of a function come after it."""
    found: list[tuple[ast.AST, ast.AST | None]] = []
    pending: list[tuple[ast.AST, ast.AST | None]] = [(ast.parse(path.read_text(encoding="utf-8")), None)]
    while pending:
        node, scope = pending.pop()
        found.append((node, scope))
        inner = node if isinstance(node, _SCOPES) else scope
        # As `ast.iter_child_nodes`, which takes twice as long.
        for value in vars(node).values():
            if isinstance(value, list):
                pending += [(child, inner) for child in value if isinstance(child, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, _PLAIN):
                pending.append((value, inner))
    return found


def absent_tests(places: Iterable[str]) -> list[str]:
    """Those of `tests/FILE::FUNCTION` that are not there."""
    parts = sorted(place.split("::") for place in places)
    texts = {file: (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else "" for file, _ in parts}
    return [f"{file}::{name}" for file, name in parts if f"def {name}(" not in texts[file]]
