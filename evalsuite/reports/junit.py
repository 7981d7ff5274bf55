"""JUnit XML, which every CI system shows as tests: failed is not error."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import quoteattr

from evalsuite.reports.clean import clean
from evalsuite.reports.document import Case, Document

_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def as_junit(document: Document) -> Iterator[str]:
    """Pieces of the XML of a document's suites, with the counts that belong to each and to all."""
    suites = document.suites()
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites name={_attribute(document.name)}{_numbers([case for suite in suites for case in suite.cases])}>\n"
    for suite in suites:
        yield f"  <testsuite name={_attribute(suite.name)}{_numbers(suite.cases)}>\n"
        yield _properties(suite.properties, "    ")
        yield from map(_element, suite.cases)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _numbers(cases: Sequence[Case]) -> str:
    counts = {"tests": len(cases), **{name: sum(case.kind == kind for case in cases) for name, kind in _COUNTED.items()}}
    # Rounded as each case shows them, and as a saved run has them.
    timed = [round(case.seconds, 6) for case in cases if case.seconds is not None]
    return "".join(f' {name}="{count}"' for name, count in counts.items()) + _time(sum(timed) if len(timed) == len(cases) else None)


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f' time="{seconds:.6f}"'


def _element(case: Case) -> str:
    head = f"    <testcase classname={_attribute(case.classname)} name={_attribute(case.name)}{_time(case.seconds)}"
    inside = _properties(case.properties, "      ") if case.properties else ""
    if case.kind != "passed":
        # `skipped` has no type in the schemas that CI systems check against.
        skipped = case.kind == "skipped"
        named = f"{case.type}: {case.message}" if skipped else case.message
        typed = "" if skipped else f" type={_attribute(case.type)}"
        inside += f"      <{case.kind}{typed} message={_attribute(named)}/>\n"
    return f"{head}>\n{inside}    </testcase>\n" if inside else f"{head}/>\n"


def _properties(pairs: Sequence[tuple[str, str]], margin: str) -> str:
    lines = (f"{margin}  <property name={_attribute(label)} value={_attribute(value)}/>\n" for label, value in pairs)
    return f"{margin}<properties>\n{''.join(lines)}{margin}</properties>\n"


def _attribute(text: str) -> str:
    """The text as a quoted attribute: printable, so that no character is left that XML does not allow."""
    return quoteattr(clean(text))
