"""Numbers and NULL words are read by `compare/values.py`, dates by `compare/dates.py`, and by no other file.

How a column is stored is known to three files of `compare/` and to the two readers that build big tables.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.meta import MODULES, PACKAGE, nodes_of

READERS = {"groups of thousands": {"compare/values.py"}, "months": {"compare/dates.py"}, "null words": {"compare/values.py"}}
# The references' own expressions.
OFFICIAL = {"groups of thousands": {"compare/answer_rules.py"}}
SIGNS = {
    "groups of thousands": re.compile(r"[,. '\]](?:\\d|\[0-9\])\{3\}|\bthousand\\b"),
    "months": re.compile(r"\bjan(?:uary)?\b.*\bfeb(?:ruary)?\b|%d[ /.-]%[bB]|%[bB] %d", re.DOTALL | re.IGNORECASE),
}
NULL_WORDS = {"null", "none", "nan", "na", "n/a", "#na", "#n/a"}
FEWEST_WORDS = 3


def _texts(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str | bytes):
            yield one.value if isinstance(one.value, str) else one.value.decode("latin-1")


def readers(file: Path) -> set[str]:
    """What a file contains a reader of."""
    found = set()
    nodes = [node for node, _ in nodes_of(file) if isinstance(node, ast.Constant | ast.Set | ast.Tuple | ast.List | ast.Expr)]
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and node not in docstrings:
            found |= {name for name, sign in SIGNS.items() if any(sign.search(text) for text in _texts(node))}
        elif isinstance(node, ast.Set | ast.Tuple | ast.List) and len(NULL_WORDS & set(map(str.lower, _texts(node)))) >= FEWEST_WORDS:
            found.add("null words")
    return found


def test_values_have_one_reader() -> None:
    """Each kind of value is read in one file, and under the official rules in one more."""
    found: dict[str, set[str]] = {}
    for file in MODULES:
        for name in readers(file):
            found.setdefault(name, set()).add(file.relative_to(PACKAGE).as_posix())
    assert found == {name: files | OFFICIAL.get(name, set()) for name, files in READERS.items()}


# Names of the stores of tables, and the files that may use them: they build, pack, hash or compare the cells of big tables.
STORES = {"Block", "Packed", "PackedColumn", "ListColumn", "PACKED_CELLS", "packed", "packed_of", "NULL"}
BUILDERS = {"readers/csv_table.py", "readers/duckdb_tables.py"}
STORAGE = {"compare/columns.py", "compare/number_columns.py", "compare/table_diff.py"}
# What the reference's frame cannot hold no packed table holds either, so that its cells need not be looked at.
FRAME = {"compare/duckdb_fetchdf_compat.py"}


def questions(file: Path) -> set[str]:
    """The names of a store that a file uses: imported, or read from another value."""
    found = set()
    for node, _ in nodes_of(file):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evalsuite.compare"):
            found |= {name.name for name in node.names} & STORES
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("table", "evidence", "column"):
            found |= {node.attr} & STORES
    return found


def test_nothing_else_asks_how_a_column_is_stored() -> None:
    """Neither rule does: both ask for cells that are written differently, spare rows, numbers and hashes."""
    asking = {file.relative_to(PACKAGE).as_posix() for file in MODULES if questions(file)}
    assert asking == BUILDERS | STORAGE | FRAME


def test_no_rule_asks_how_big_tables_are() -> None:
    """Margins, both rules and reasons ask a `TableDiff`, and its columns."""
    asking = set()
    for file in MODULES:
        names = {node.attr for node, _ in nodes_of(file) if isinstance(node, ast.Attribute)}
        if names & {"is_big", "in_bulk"}:
            asking.add(file.relative_to(PACKAGE).as_posix())
    assert not asking
