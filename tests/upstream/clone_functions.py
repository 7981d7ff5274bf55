"""The comparison functions of a clone of the references, called on made cases."""

import ast
import importlib.abc
import importlib.machinery
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

# What the functions compare with; any other package of a clone is left out, be it here or not.
_REAL = {"pandas", "numpy", "duckdb", *sys.stdlib_module_names}


def verdicts(file: str, folder: str, ids: Sequence[str]) -> Iterator[tuple[str, float | None]]:
    """(id, score) of each of the cases in `folder` by the functions in a clone's `file`; None where it gives no number."""
    gold, submission = Path(folder, "gold"), Path(folder, "submission")
    wanted = frozenset(ids)
    answers = {row["instance_id"]: row["answer_or_path"] for row in _rows(next(iter(submission.glob("*.jsonl"))))}
    functions = _functions_of(Path(file))
    for row in _rows(next(iter(gold.glob("*_eval.jsonl")))):
        id_, check = row["instance_id"], row["evaluation"]
        if id_ in wanted:
            yield id_, _score(functions, check["func"], dict(check["parameters"]), answers[id_], gold / id_, submission / id_)


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _score(functions: Mapping[str, Any], name: str, parameters: dict[str, Any], answer: Any, gold: Path, handed_in: Path) -> float | None:
    """The score as the callers in a clone ask: a name of a file becomes its path, a table by itself is read by pandas."""
    try:
        if name in ("string_match", "number_match"):
            score = functions[name](answer, **parameters)
        else:
            golds = parameters.pop("gold")
            paths = str(gold / golds) if isinstance(golds, str) else [str(gold / one) for one in golds]
            answers = str(handed_in / answer) if isinstance(answer, str) else [str(handed_in / one) for one in answer]
            if name in functions:
                score = functions[name](answers, paths, **parameters)
            else:
                score = _compare(functions, answers, paths, parameters)
        return float(score)
    except Exception:  # a stranger's function dies of some cases
        return None


def _compare(functions: Mapping[str, Any], answer: Any, golds: Any, parameters: Mapping[str, Any]) -> Any:
    """What the suites say that have no `table_match`: one gold file is compared by itself, several by the function for several."""
    import pandas as pd

    columns, order = parameters.get("condition_cols", []), parameters.get("ignore_order", False)
    if isinstance(golds, str):
        return functions["compare_pandas_table"](pd.read_csv(answer), pd.read_csv(golds), columns, order)
    return functions["compare_multi_pandas_table"](pd.read_csv(answer), [pd.read_csv(gold) for gold in golds], columns, order)


def _functions_of(file: Path) -> dict[str, Any]:
    """The names of a clone's file once it has run. What it writes goes nowhere, and of its packages only those that compare are real."""
    source = file.read_bytes()
    own = {place.stem for place in file.parent.glob("*.py")}
    finder = _Stubs(_packages_of(source) - _REAL - own - ({"regex"} if find_spec("regex") else set()))
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, str(file.parent))
    streams = sys.stdout, sys.stderr

    def open_(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        return Path(path).open(mode, *arguments, **options) if set(mode) <= set("rbt") else io.StringIO()

    space: dict[str, Any] = {"__name__": "clone", "__file__": str(file), "open": open_}
    try:
        exec(compile(source, file.name, "exec"), space)
    finally:
        sys.stdout, sys.stderr = streams
    return space


def _packages_of(source: bytes) -> set[str]:
    """What a program imports anywhere, by the first part of the name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


class _Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an empty module for the packages named and all below them: clients of databases, progress bars. For `regex` it is `re`."""

    def __init__(self, packages: set[str]) -> None:
        self._packages = packages

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in self._packages:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return re if spec.name == "regex" else _Stub(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: a stub has no code."""


class _Stub(ModuleType):
    """A module in which every name is something that can be called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})
