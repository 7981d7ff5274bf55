"""ruff, mypy and the limits of a function, which run while the other tests do."""

import ast
import sys
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT
from tests.processes import finished


@pytest.mark.parametrize("words", ["mypy", "ruff check .", "ruff format --check ."])
def test_checker_finds_nothing(words: str) -> None:
    """The linter, the formatter and the type checker accept the whole project."""
    done = finished([sys.executable, "-m", *words.split()], cwd=ROOT, seconds=600)
    assert done.returncode == 0, done.stdout + done.stderr


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """What is inside a function, without the functions and classes in it."""
    inside = [node]
    while inside:
        children = [child for child in ast.iter_child_nodes(inside.pop()) if not isinstance(child, (*FUNCTIONS, ast.ClassDef))]
        inside += children
        yield from children


def _complexity(function: ast.AST) -> int:
    """McCabe's complexity as radon counts it: one for each branch, loop, handler, `else` of a loop, operand of `and` and `or`."""
    n = 1
    for node in _within(function):
        if isinstance(node, ast.If | ast.IfExp | ast.Assert):
            n += 1
        elif isinstance(node, ast.comprehension):
            n += 1 + len(node.ifs)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            n += 1 + bool(node.orelse)
        elif isinstance(node, ast.Try):
            n += len(node.handlers) + bool(node.orelse)
        elif isinstance(node, ast.BoolOp):
            n += len(node.values) - 1
        elif isinstance(node, ast.Match):
            n += len(node.cases)
    return n


def test_functions_are_short_and_simple() -> None:
    """No function is above complexity 20, or longer than 50 lines without its docstring."""
    too_much = []
    functions = [
        (file.name, node)
        for file in (ROOT / "evalsuite").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, FUNCTIONS)
    ]
    for name, node in functions:
        doc = node.body[0] if ast.get_docstring(node) is not None else None
        n_lines = (node.end_lineno or 0) - node.lineno + 1 - ((doc.end_lineno or 0) - doc.lineno + 1 if doc else 0)
        if n_lines > 50 or _complexity(node) > 20:
            too_much.append((name, node.name, n_lines, _complexity(node)))
    assert len(functions) > 1_000
    assert too_much == []


def test_files_have_one_subject() -> None:
    """No module has more than 800 lines."""
    lengths = {file.name: len(file.read_text(encoding="utf-8").splitlines()) for file in (ROOT / "evalsuite").rglob("*.py")}
    assert len(lengths) > 150
    assert {name: n for name, n in lengths.items() if n > 800} == {}
