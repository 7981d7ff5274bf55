"""Whether a saved run is what it says, as a document: each finding, what is only claimed, and what was left out."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from evalsuite.errors import EXIT_UNSCORABLE
from evalsuite.outcome import KINDS
from evalsuite.reports.document import Case, Code, Column, Document, Form, Section, Strong, Suite, Table

if TYPE_CHECKING:
    from evalsuite.audit.claims import Finding
    from evalsuite.audit.verification import Verified

MOST_DIFFERENCES = 10


def verified_document(verified: "Verified") -> Document:
    """The findings about a run, and the verdict as the last line."""
    columns: list[Column[Finding]] = [
        Column(name="finding", role="name", value=lambda one: one.name),
        Column(name="good", role="mark", type="BOOLEAN", value=lambda one: one.good, words=_finding_sign),
        Column(name="says", role="why", value=lambda one: one.says, wraps=True),
        Column(name="differs", role="why", value=lambda one: "; ".join(one.differs[:MOST_DIFFERENCES]) or None, wraps=True),
    ]
    table = Table(columns=columns, rows=verified.findings, lines=lambda one: list(_finding_lines(one)))

    def sections(form: Form) -> Iterator[Section]:
        yield Section(prose=[Strong(verification_verdict(verified))] if form != "text" else ())
        yield Section(look="lines", table=table)
        more = [f"--seed {verified.seed} takes the same sample again"] if verified.seed is not None else []
        said = []
        for title, pairs in (("claimed only", verified.claimed), ("not checked", verified.left_out.items())):
            lines = [f"{', '.join(names)} not verified: {value}" for value, names in _by_what_is_said(pairs)]
            said += [f"{title}:", *(f"  {line}" for line in lines)] if lines else []
        notes = [*(f"note: {note}" for note in verified.notes), *more]
        marked = [*(f" - {line}" for line in said), *(f"   {line}" for line in notes)]
        yield Section(look="lines", lines=marked if form == "text" else [*said, *notes])

    return Document(
        name=verified.name,
        title="",
        heading=("Verification of ", Code(verified.name, 80)),
        sections=sections,
        last_line=verification_verdict(verified),
        tables={"csv": table, "parquet": table},
        whole=verified.to_json(),
        suites=lambda: [
            Suite(name=verified.name, cases=[_finding_case(verified.name, one) for one in verified.findings], properties=verified.claimed)
        ],
        last_stands_apart=False,
    )


def verification_verdict(verified: "Verified") -> str:
    """The last line: whether the run is what it says, as far as it was verified."""
    wrong = [finding.name for finding in verified.findings if not finding.good]
    verdict = f"no: {', '.join(wrong)} (exit 1)" if wrong else "yes"
    if verified.exit_code == EXIT_UNSCORABLE:
        verdict = f"as far as that goes, {len(verified.left_out)} not verified (exit 4)"
    counted = f"verified {verified.n_verified} of {verified.n_gold}: " if verified.n_gold else ""
    return f"{counted}{verified.name} is what it says: {verdict}"


def _finding_sign(finding: "Finding") -> str:
    return KINDS["right" if finding.good else "wrong"].sign


def _finding_lines(finding: "Finding") -> Iterator[str]:
    yield f" {_finding_sign(finding)} {finding.name:<14} {finding.says}"
    yield from (f"     {text}" for text in finding.differs[:MOST_DIFFERENCES])
    if len(finding.differs) > MOST_DIFFERENCES:
        yield f"     ... {len(finding.differs) - MOST_DIFFERENCES} more"


def _finding_case(run: str, finding: "Finding") -> Case:
    return Case(
        name=finding.name,
        classname=run,
        kind="passed" if finding.good else "failure",
        type="differs",
        message="; ".join([finding.says, *finding.differs[:MOST_DIFFERENCES]]),
        level="" if finding.good else "error",
    )


def _by_what_is_said(said: Iterable[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """The names of which the same is said, with what it is, in the order of the first."""
    found: dict[str, list[str]] = {}
    for name, value in said:
        found.setdefault(value, []).append(name)
    return found.items()
