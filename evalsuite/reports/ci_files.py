"""Render documents for continuous integration: JUnit XML, and GitHub workflow commands with the job summary in Markdown.

All other output of a job is fenced by a random token, so that a line of an answer that looks like a workflow command stays plain text.
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
    """Yield the pieces of the XML of a document's suites, with the counts of each suite and of all."""
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
    # Rounded like the times of the cases and of a saved run.
    timed = [round(case.seconds, 6) for case in cases if case.seconds is not None]
    total = _time_attribute(sum(timed) if len(timed) == len(cases) else None)
    return "".join(f' {name}="{count}"' for name, count in counts.items()) + total


def _time_attribute(seconds: float | None) -> str:
    return "" if seconds is None else f' time="{seconds:.6f}"'


def _case_element(case: Case) -> str:
    head = f"    <testcase classname={_xml_attribute(case.classname)} name={_xml_attribute(case.name)}{_time_attribute(case.seconds)}"
    inside = _properties_element(case.properties, "      ") if case.properties else ""
    if case.kind != "passed":
        # `skipped` has no type in the schemas of CI systems.
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
    """Quote a text as an XML attribute. Only printable characters are left, because XML does not allow the others."""
    # Imported here because it loads URL modules that other formats do not need.
    from xml.sax.saxutils import quoteattr

    return quoteattr(clean(text))


# GitHub shows at most ten of each level per step.
MOST_OF_A_KIND = 10
Places = Mapping[str, str]


def annotations(document: Document, *, most: int | None = MOST_OF_A_KIND, is_green: bool = False) -> Iterator[str]:
    """Yield `::error file=...,line=...,title=...::reason` for the document's cases, at the lines of the submission.

    At most `most` errors and as many warnings, unjudged instances first; None yields all of them in order. In a job that `is_green`, errors
    become warnings.
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
    """Format one workflow command. Empty properties are left out; escaping keeps texts from ending the command or starting another."""
    said = ",".join(f"{key}={_github_escaped(clean(value), ':,')}" for key, value in properties.items() if value)
    return f"::{name}{' ' if said else ''}{said}::{_github_escaped(clean(message))}"


def _github_escaped(text: str, more: str = "") -> str:
    """Escape a text as `@actions/core` does (escapeData and escapeProperty): percent first, then line ends and `more`."""
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text


@contextmanager
def fence_commands(stream: TextIO) -> Iterator[None]:
    """Keep GitHub from reading printed lines as workflow commands inside this context."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", file=stream, flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", file=stream, flush=True)


def submission_lines(run: "Run") -> dict[str, str]:
    """Map each instance to `file:line` in the submission, or in gold if gold is at fault; paths are relative to the workspace."""
    metadata = _seen_from_here(run.submission.folder)
    found = {name: f"{metadata}/{answer.where}" for name, answer in run.submission.answers.items() if answer.where}
    spec = _seen_from_here(run.gold.spec_file)
    asked = {instance.instance_id: f"{spec}:{instance.where.rpartition(':')[2]}" for instance in run.gold.instances}
    blamed = {result.instance_id for result in run.results if result.status == "gold_fault"}
    return {name: asked[name] if name in blamed or name not in found else found[name] for name in asked}


def add_to_summary(record: "Record") -> bool:
    """Append the Markdown report to the job summary; False if there is no summary file (`GITHUB_STEP_SUMMARY`). Raises `OutputError`."""
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
