"""ruff, mypy and the limits of a function, which run while the other tests do."""

import ast
import sys
from collections import Counter

import pytest

from tests.conftest import ROOT
from tests.meta import MODULES, nodes_of
from tests.processes import finished


@pytest.mark.parametrize("words", ["mypy", "ruff check .", "ruff format --check ."])
def test_checker_finds_nothing(words: str) -> None:
    """The linter, the formatter and the type checker accept the whole project."""
    done = finished([sys.executable, "-m", *words.split()], cwd=ROOT, seconds=600)
    assert done.returncode == 0, done.stdout + done.stderr


def branches(node: ast.AST) -> int:
    """What a node adds to McCabe's complexity as radon counts it."""
    match node:
        case ast.If() | ast.IfExp() | ast.Assert():
            return 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case ast.For() | ast.AsyncFor() | ast.While():
            return 1 + bool(node.orelse)
        case ast.Try():
            return len(node.handlers) + bool(node.orelse)
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.Match():
            return len(node.cases)
    return 0


def test_functions_are_short_and_simple() -> None:
    """No function is above complexity 20, or longer than 50 lines without its docstring."""
    too_much, n_functions = [], 0
    for file in MODULES:
        complexity = Counter[ast.AST | None]()
        functions = []
        for node, scope in nodes_of(file):
            complexity[scope] += branches(node)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(node)
        n_functions += len(functions)
        for node in functions:
            doc = node.body[0] if ast.get_docstring(node) is not None else None
            n_lines = (node.end_lineno or 0) - node.lineno + 1 - ((doc.end_lineno or 0) - doc.lineno + 1 if doc else 0)
            if n_lines > 50 or complexity[node] >= 20:
                too_much.append((file.name, node.name, n_lines, complexity[node] + 1))
    assert n_functions > 1_000
    assert too_much == []


def test_files_have_one_subject() -> None:
    """No module has more than 800 lines."""
    lengths = {file.name: len(file.read_text(encoding="utf-8").splitlines()) for file in MODULES}
    assert len(lengths) > 150
    assert {name: n for name, n in lengths.items() if n > 800} == {}
