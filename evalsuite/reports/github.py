"""GitHub's workflow commands: annotations at the lines that were handed in, and the Markdown report as the summary of the job.

Everything else that is printed is fenced by a token nobody can guess: a line of an answer that looks like a command stays a line.
"""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from evalsuite.errors import cannot_write
from evalsuite.outcome import UNJUDGED
from evalsuite.reports.clean import clean
from evalsuite.reports.run import run_document
from evalsuite.reports.run_columns import ci_outcome

if TYPE_CHECKING:
    from evalsuite.reports.record import Record
    from evalsuite.run.scoring import Run

# GitHub shows at most ten of each kind for a step.
MOST_OF_A_KIND = 10
Places = Mapping[str, str]


def annotations(record: "Record", places: Places) -> Iterator[str]:
    """Lines `::error file=...,line=...,title=...::reason`, at most ten errors and ten warnings, faults first.

    Errors are what whoever handed in can mend; a warning is an instance that gold or the tool kept from being judged. `places` gives
    `file:line` (or `file`) by instance id.
    """
    found: dict[str, list[tuple[int, str]]] = {"error": [], "warning": []}
    for result in record.results:
        kind, type_ = ci_outcome(result)
        if kind == "passed" or (result.status == "scored" and result.score is None):
            # Right, or nobody may know.
            continue
        level = "warning" if result.status in UNJUDGED else "error"
        file, _, line = places.get(result.instance_id, "").rpartition(":")
        where = {"file": file, "line": line} if line.isdecimal() else {"file": f"{file}:{line}".lstrip(":")}
        title = f"{result.instance_id}: {type_}"
        found[level].append((kind != "error", command(level, result.reason or type_, **where, title=title)))
    for level, lines in found.items():
        lines.sort(key=lambda line: line[0])
        yield from (line for _, line in lines[:MOST_OF_A_KIND])
        if len(lines) > MOST_OF_A_KIND:
            yield command("notice", f"{len(lines) - MOST_OF_A_KIND} more {level}s are in the report")


def command(name: str, message: str, **properties: str) -> str:
    """One workflow command; empty properties are left out, and nothing of the texts can end it or begin another."""
    said = ",".join(f"{key}={_escape(clean(value), ':,')}" for key, value in properties.items() if value)
    return f"::{name}{' ' if said else ''}{said}::{_escape(clean(message))}"


def _escape(text: str, more: str = "") -> str:
    """GitHub's own escapes (`@actions/core`, escapeData and escapeProperty): percent first, then line ends and `more`."""
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text


@contextmanager
def fenced(stream: TextIO) -> Iterator[None]:
    """Inside, no printed line is taken for a workflow command."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", file=stream, flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", file=stream, flush=True)


def places_of(run: "Run") -> dict[str, str]:
    """Where each instance was handed in, or where gold asks for it if gold is at fault: `file:line`, as seen from the working folder."""
    metadata = _seen_from_here(run.submission.folder)
    found = {name: f"{metadata}/{answer.where}" for name, answer in run.submission.answers.items() if answer.where}
    spec = _seen_from_here(run.gold.spec_file)
    asked = {instance.instance_id: f"{spec}:{instance.where.rpartition(':')[2]}" for instance in run.gold.instances}
    blamed = {result.instance_id for result in run.results if result.status == "gold_fault"}
    return {name: asked[name] if name in blamed or name not in found else found[name] for name in asked}


def add_to_summary(record: "Record") -> bool:
    """Append the Markdown report to the job's summary; False where there is no such file (`GITHUB_STEP_SUMMARY`). Raises `OutputError`."""
    from evalsuite.reports.markdown import as_markdown

    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return False
    try:
        with Path(path).open("a", encoding="utf-8") as summary:
            summary.write(as_markdown(run_document(record)) + "\n")
    except OSError as error:
        raise cannot_write("the summary of the job", error) from error
    return True


def _seen_from_here(path: Path) -> str:
    full, here = path.resolve(), Path.cwd().resolve()
    return (full.relative_to(here) if full.is_relative_to(here) else path).as_posix()
