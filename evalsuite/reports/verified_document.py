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


def verified_document(found: "Verified") -> Document:
    """The findings about a run, and the verdict as the last line."""
    columns: list[Column[Finding]] = [
        Column(name="finding", role="name", value=lambda one: one.name),
        Column(name="good", role="mark", type="BOOLEAN", value=lambda one: one.good, words=_finding_sign),
        Column(name="says", role="why", value=lambda one: one.says, wraps=True),
        Column(name="differs", role="why", value=lambda one: "; ".join(one.differs[:MOST_DIFFERENCES]) or None, wraps=True),
    ]
    table = Table(columns=columns, rows=found.findings, lines=lambda one: list(_finding_lines(one)))

    def sections(form: Form) -> Iterator[Section]:
        yield Section(prose=[Strong(verification_verdict(found))] if form != "text" else ())
        yield Section(look="lines", table=table)
        more = [f"--seed {found.seed} takes the same sample again"] if found.seed is not None else []
        said = []
        for title, pairs in (("claimed only", found.claimed), ("not checked", found.left_out.items())):
            lines = [f"{', '.join(names)} not verified: {value}" for value, names in _by_what_is_said(pairs)]
            said += [f"{title}:", *(f"  {line}" for line in lines)] if lines else []
        notes = [*(f"note: {note}" for note in found.notes), *more]
        marked = [*(f" - {line}" for line in said), *(f"   {line}" for line in notes)]
        yield Section(look="lines", lines=marked if form == "text" else [*said, *notes])

    return Document(
        name=found.name,
        title="",
        heading=("Verification of ", Code(found.name, 80)),
        sections=sections,
        last_line=verification_verdict(found),
        tables={"csv": table, "parquet": table},
        whole=found.to_json(),
        suites=lambda: [Suite(name=found.name, cases=[_finding_case(found.name, one) for one in found.findings], properties=found.claimed)],
        last_stands_apart=False,
    )


def verification_verdict(found: "Verified") -> str:
    """The last line: whether the run is what it says, as far as it was verified."""
    wrong = [finding.name for finding in found.findings if not finding.good]
    verdict = f"no: {', '.join(wrong)} (exit 1)" if wrong else "yes"
    if found.exit_code == EXIT_UNSCORABLE:
        verdict = f"as far as that goes, {len(found.left_out)} not verified (exit 4)"
    counted = f"verified {found.n_verified} of {found.n_gold}: " if found.n_gold else ""
    return f"{counted}{found.name} is what it says: {verdict}"


def _finding_sign(one: "Finding") -> str:
    return KINDS["right" if one.good else "wrong"].sign


def _finding_lines(one: "Finding") -> Iterator[str]:
    yield f" {_finding_sign(one)} {one.name:<14} {one.says}"
    yield from (f"     {text}" for text in one.differs[:MOST_DIFFERENCES])
    if len(one.differs) > MOST_DIFFERENCES:
        yield f"     ... {len(one.differs) - MOST_DIFFERENCES} more"


def _finding_case(run: str, one: "Finding") -> Case:
    return Case(
        name=one.name,
        classname=run,
        kind="passed" if one.good else "failure",
        type="differs",
        message="; ".join([one.says, *one.differs[:MOST_DIFFERENCES]]),
        level="" if one.good else "error",
    )


def _by_what_is_said(said: Iterable[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """The names of which the same is said, with what it is, in the order of the first."""
    found: dict[str, list[str]] = {}
    for name, value in said:
        found.setdefault(value, []).append(name)
    return found.items()
