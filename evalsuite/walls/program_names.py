"""What a test says of the names that it does not define: which are the program's, and which are Python's whatever the program defines."""

import ast
import builtins
import re
import symtable
import sys
from collections.abc import Iterator
from typing import Any, Final

_WORD: Final = re.compile(r"[^\W\d]\w*")
_ANY_NAME: Final = re.compile(r"\b(?:globals|vars|locals|dir|getmembers|__main__|__dict__)\b")
_BUILTINS: Final = frozenset(vars(builtins))
# With these a test finds a program's names that it does not say.
_LOOKS_UP: Final = frozenset({"eval", "exec", "compile", "globals", "locals", "vars", "getattr", "__import__"})
# Short names under which everybody imports a package.
_ALIASES: Final = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "dt": "datetime"}


class TestNames:
    """The names of a test, read from its text."""

    __test__ = False

    def __init__(self, text: str) -> None:
        self.text, self.tree = text, ast.parse(text)
        table = symtable.symtable(text, "<test>", "exec")
        self.bound = {one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported() or one.is_namespace()}
        self.imported = {one.get_name() for one in table.get_symbols() if one.is_imported()}
        self.read = set(_names_read(table))
        self.free = self.read - self.bound

    def wanted(self) -> tuple[str, ...] | None:
        """The names that may be the program's: every word of the test, or all names where it looks through them."""
        return None if _ANY_NAME.search(self.text) else tuple(sorted({*_WORD.findall(self.text)}))

    def tested_builtin(self) -> str | None:
        """The one name of a built-in that this test is about, as `sum` in `assert sum(1, 2) == 3`; None where it is about other names."""
        used = self.free & _BUILTINS
        if not used or used & _LOOKS_UP or self.free - _BUILTINS:
            return None
        if len(used) == 1:
            return next(iter(used))
        passed = [one.id for call in self._calls_of_own() for one in call.args if isinstance(one, ast.Name) and one.id in used]
        if passed:
            return passed[0]
        called = [
            node.func.id
            for part in ast.walk(self.tree)
            if isinstance(part, ast.Assert)
            for node in ast.walk(part.test)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in used
        ]
        # `ast.walk` gives the outermost call first.
        return called[0] if called else None

    def _calls_of_own(self) -> Iterator[ast.Call]:
        """Calls in the module itself of functions that the test defines, such as `check(candidate)`."""
        for statement in self.tree.body:
            for node in ast.walk(statement) if isinstance(statement, ast.Expr) else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.bound:
                    yield node

    def own_module(self, name: str) -> str | None:
        """The module that a free name stands for, where the test uses the name for nothing but what that module has."""
        module = _ALIASES.get(name, name if name in sys.stdlib_module_names else None)
        if module is None or name not in self.free:
            return None
        attributes = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
                attributes.append(node.attr)
        uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(self.tree))
        if uses != len(attributes):
            return None
        try:
            found: Any = __import__(module, fromlist=["*"])
        except ImportError:
            return None
        return module if all(hasattr(found, one) for one in attributes) else None

    def modules(self) -> set[str]:
        """The modules that the test imports or names in a text such as `time.sleep`."""
        found = {"builtins", "sys"}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
                parts = node.value.split(".")
                found |= {".".join(parts[:end]) for end in range(1, len(parts)) if parts[0].isidentifier()}
        return {name for name in found if name.partition(".")[0] in sys.stdlib_module_names or name in sys.modules}

    def set_for_program(self) -> set[str]:
        """Names that the test sets and never reads: nothing but the program can use them. What it also reads stays with the test."""
        return self.bound - self.read - self.imported - self._defined()

    def _defined(self) -> set[str]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return {node.name for node in self.tree.body if isinstance(node, kinds)}


def _names_read(table: symtable.SymbolTable) -> Iterator[str]:
    """The names of the module that any part of it reads."""
    for one in table.get_symbols():
        if one.is_referenced() and (table.get_type() == "module" or one.is_global()):
            yield one.get_name()
    for child in table.get_children():
        yield from _names_read(child)
