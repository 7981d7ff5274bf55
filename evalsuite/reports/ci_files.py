"""Any document as continuous integration reads it: JUnit XML, and GitHub's workflow commands with the Markdown summary of a job.

Everything else that is printed in a job is fenced by a token nobody can guess: a line of an answer that looks like a command stays a line.
"""

import html
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from evalsuite.compare.characters import clean
from evalsuite.core.errors import write_error
from evalsuite.reports.document import Case, Document
from evalsuite.reports.run_document import run_document

if TYPE_CHECKING:
    from evalsuite.reports.record import Record
    from evalsuite.runs.run_result import Run


_JUNIT_COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def as_junit(document: Document) -> Iterator[str]:
    """Pieces of the XML of a document's suites, with the counts that belong to each and to all."""
    suites = document.suites()
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites name={_xml_attribute(document.name)}{_case_counts([case for suite in suites for case in suite.cases])}>\n"
    for suite in suites:
        yield f"  <testsuite name={_xml_attribute(suite.name)}{_case_counts(suite.cases)}>\n"
        yield _properties_element(suite.properties, "    ")
        yield from map(_case_element, suite.cases)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _case_counts(cases: Sequence[Case]) -> str:
    counts = {"tests": len(cases), **{name: sum(case.kind == kind for case in cases) for name, kind in _JUNIT_COUNTS.items()}}
    # Rounded as each case shows them, and as a saved run has them.
    timed = [round(case.seconds, 6) for case in cases if case.seconds is not None]
    total = _time_attribute(sum(timed) if len(timed) == len(cases) else None)
    return "".join(f' {name}="{count}"' for name, count in counts.items()) + total


def _time_attribute(seconds: float | None) -> str:
    return "" if seconds is None else f' time="{seconds:.6f}"'


def _case_element(case: Case) -> str:
    head = f"    <testcase classname={_xml_attribute(case.classname)} name={_xml_attribute(case.name)}{_time_attribute(case.seconds)}"
    inside = _properties_element(case.properties, "      ") if case.properties else ""
    if case.kind != "passed":
        # `skipped` has no type in the schemas that CI systems check against.
        skipped = case.kind == "skipped"
        message = f"{case.points}: {case.message}" if case.points else case.message
        named = f"{case.type}: {message}" if skipped and not message.startswith(f"{case.type}: ") else message
        typed = "" if skipped else f" type={_xml_attribute(case.type)}"
        body = "\n".join(html.escape(clean(line), quote=False) for line in case.body.split("\n"))
        end = f">{body}</{case.kind}>" if body else "/>"
        inside += f"      <{case.kind}{typed} message={_xml_attribute(named)}{end}\n"
    return f"{head}>\n{inside}    </testcase>\n" if inside else f"{head}/>\n"


def _properties_element(pairs: Sequence[tuple[str, str]], margin: str) -> str:
    lines = (f"{margin}  <property name={_xml_attribute(label)} value={_xml_attribute(value)}/>\n" for label, value in pairs)
    return f"{margin}<properties>\n{''.join(lines)}{margin}</properties>\n"


def _xml_attribute(text: str) -> str:
    """The text as a quoted attribute: printable, so that no character is left that XML does not allow."""
    # It brings modules for URLs with it, which no run needs that writes no JUnit.
    from xml.sax.saxutils import quoteattr

    return quoteattr(clean(text))


# GitHub shows at most ten of each kind for a step.
MOST_OF_A_KIND = 10
Places = Mapping[str, str]


def annotations(document: Document, *, most: int | None = MOST_OF_A_KIND, is_green: bool = False) -> Iterator[str]:
    """Lines `::error file=...,line=...,title=...::reason` of the document's cases at the places they were handed in.

    At most `most` errors and as many warnings, what could not be judged first; None gives all of them in their order.
    In a job that `is_green` nothing is an error: what would be one is a warning.
    """
    cases = [case for suite in document.suites() for case in suite.cases if case.level]
    if is_green:
        cases = [replace(case, level="warning") if case.level == "error" else case for case in cases]
    if most is None:
        yield from map(_annotation, cases)
        return
    for level in ("error", "warning", "notice"):
        found = sorted((case for case in cases if case.level == level), key=lambda case: case.kind != "error")
        yield from map(_annotation, found[:most])
        if len(found) > most:
            yield workflow_command("notice", f"{len(found) - most} more {level}s are in the report")


def _annotation(case: Case) -> str:
    file, _, line = case.place.rpartition(":")
    where = {"file": file, "line": line} if line.isdecimal() else {"file": case.place}
    return workflow_command(case.level, case.message, **where, title=case.title or f"{case.name}: {case.type}")


def workflow_command(name: str, message: str, **properties: str) -> str:
    """One workflow command; empty properties are left out, and nothing of the texts can end it or begin another."""
    said = ",".join(f"{key}={_github_escaped(clean(value), ':,')}" for key, value in properties.items() if value)
    return f"::{name}{' ' if said else ''}{said}::{_github_escaped(clean(message))}"


def _github_escaped(text: str, more: str = "") -> str:
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
    """Where each instance was handed in, or where gold asks for it if gold is at fault: `file:line`, as seen from the workspace."""
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
        raise write_error("the summary of the job", error) from error
    return True


def _seen_from_here(path: Path) -> str:
    full, here = path.resolve(), Path(os.environ.get("GITHUB_WORKSPACE") or ".").resolve()
    return (full.relative_to(here) if full.is_relative_to(here) else path).as_posix()
