"""The statements in the test files of SQLite, DuckDB and PostgreSQL themselves: what builds their tables, and what only reads."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from evalsuite.core.errors import FaultError
from evalsuite.sql import ENGINES
from evalsuite.sql.session import blank_out

FILES = {"sqlite": "*.test", "duckdb": "*.test", "postgres": "*.sql"}
# Tables stay until the last question: what takes away, or opens something else, is left out.
_BUILDS = re.compile(r"\s*(?:create|insert|update|alter|replace|comment)\b", re.IGNORECASE)
_READS = re.compile(r"[\s(]*(?:select|with|values)\b", re.IGNORECASE)
_READS_IN = {
    "postgres": re.compile(r"[\s(]*(?:select|with|values|table)\b", re.IGNORECASE),
    "duckdb": re.compile(r"[\s(]*(?:select|with|values|table|from|pivot|unpivot|summarize|describe|show)\b", re.IGNORECASE),
}
_TCL = re.compile(r"(?:do_execsql_test\s+\S+|execsql|db\s+eval)\s+\{")
_TCL_PARTS = re.compile(r"[$\[]|\\")
_BLOCK = re.compile(r"^(statement ok|query\b[^\n]*)\n(.*?)(?=^----|^\s*$|\Z)", re.MULTILINE | re.DOTALL)
_COPIED = re.compile(r"^copy\b[^;]*\bfrom\s+stdin\b[^;]*;.*?^\\\.$", re.IGNORECASE | re.MULTILINE | re.DOTALL)


def statements(engine: str, file: Path) -> tuple[list[str], list[str]]:
    """(what builds, what reads) of a file, in its order; what a test's own language would fill in is left out."""
    text = file.read_text(encoding="utf-8", errors="replace")
    found = {"sqlite": _of_tcl, "duckdb": _of_blocks, "postgres": _of_script}[engine](text)
    reads = _READS_IN.get(engine, _READS)
    builds: list[str] = []
    asked: list[str] = []
    for one in found:
        if reads.match(_without_comments(one, engine)):
            asked.append(one)
        elif _BUILDS.match(_without_comments(one, engine)):
            builds.append(one)
    return builds, asked


def _without_comments(sql: str, engine: str) -> str:
    try:
        return blank_out(sql, ENGINES[engine].dialect)
    except FaultError:
        return sql


def _of_tcl(text: str) -> Iterator[str]:
    for found in _TCL.finditer(text):
        depth, place = 1, found.end()
        while depth and place < len(text):
            depth += (text[place] == "{") - (text[place] == "}")
            place += 1
        body = text[found.end() : place - 1]
        if not _TCL_PARTS.search(body):
            yield from _split(body)


def _split(body: str) -> Iterator[str]:
    held = ""
    for part in re.split(r"(?<=;)", body):
        held += part
        if sqlite3.complete_statement(held):
            yield held.strip().removesuffix(";")
            held = ""
    if held.strip():
        yield held.strip()


def _of_blocks(text: str) -> Iterator[str]:
    for found in _BLOCK.finditer(text):
        if "${" not in found[2] and "__" not in found[2] and "{" + "DATA" not in found[2]:
            yield found[2].strip().removesuffix(";")


def _of_script(text: str) -> Iterator[str]:
    text = re.sub(r"^\\.*$", ";", _COPIED.sub(";", text), flags=re.MULTILINE)
    try:
        blank = blank_out(text, ENGINES["postgres"].dialect)
    except FaultError:
        return
    start = 0
    for end in [*(found.start() for found in re.finditer(";", blank)), len(text)]:
        one = text[start:end].strip()
        start = end + 1
        # What psql fills in, or runs a second time.
        if (
            one
            and not re.search(r":['\"]?[A-Za-z_]\w*(?!\w*\s*:)", re.sub(r"::\s*\w+", "", blank[max(0, end - len(one)) : end]))
            and "\\" not in one
        ):
            yield one
