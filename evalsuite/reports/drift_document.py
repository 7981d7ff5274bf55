"""What stored runs drifted to, as a document."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalsuite.reports.clean import clean
from evalsuite.reports.document import Column, Document, Form, Section, Table

if TYPE_CHECKING:
    from evalsuite.run.drift import Drift

_MOST = 10
Component = tuple[str, int, int, int]


def drift_document(drifts: "Sequence[Drift]", components: Sequence[Component]) -> Document:
    """A row a run, and the matrix of what of the signature changed with how many verdicts moved beside it."""
    runs: list[Column[Drift]] = [
        Column(name="run", role="name", value=lambda one: one.name),
        Column(name="verdicts", value=lambda one: one.n, is_number=True, type="BIGINT"),
        Column(name="moved", value=lambda one: len(one.moved), is_number=True, type="BIGINT"),
        Column(name="changed", title="what changed since", value=lambda one: ", ".join(one.components)),
        Column(name="problem", value=lambda one: one.problem),
    ]
    matrix: list[Column[Component]] = [
        Column(name="component", title="changed since", role="name", value=lambda one: one[0]),
        Column(name="runs", value=lambda one: one[1], is_number=True, type="BIGINT"),
        Column(name="verdicts", value=lambda one: one[2], is_number=True, type="BIGINT"),
        Column(name="moved", value=lambda one: one[3], is_number=True, type="BIGINT"),
    ]

    def sections(form: Form) -> Iterator[Section]:
        told = Table(columns=runs, rows=drifts, lines=_drift_lines)
        yield Section(look="part", title=" runs scored again", table=told) if form == "text" else Section(title="Runs", table=told)
        if components:
            matrix_table = Table(columns=matrix, rows=components, lines=_component_row)
            plain = Section(title="By what changed", table=matrix_table)
            yield Section(look="part", title=" by what changed", table=matrix_table) if form == "text" else plain

    every = Table(columns=runs, rows=drifts)
    return Document(
        name="drift",
        title="",
        heading="Drift",
        sections=sections,
        tables={"csv": every, "parquet": every},
        whole={"runs": [one.to_json() for one in drifts], "components": [dict(zip(_KEYS, row, strict=True)) for row in components]},
    )


_KEYS = ("component", "n_runs", "n", "n_moved")


def _drift_lines(drift: "Drift") -> list[str]:
    if drift.problem and not drift.n:
        return [f" {clean(drift.name)}  not scored again: {clean(drift.problem)}"]
    lines = [f" {clean(drift.name)}  {len(drift.moved)} of {drift.n} verdicts moved" + (f": {clean(drift.blamed)}" if drift.moved else "")]
    lines += [f"   {clean(drift.problem)}"] if drift.problem else []
    for name, *scores in drift.moved[:_MOST]:
        then, now = ("not judged" if score is None else f"{score:g}" for score in scores)
        lines.append(f"   {clean(name)}: {then} -> {now}")
    return [*lines, *([f"   ... {len(drift.moved) - _MOST} more"] if len(drift.moved) > _MOST else [])]


def _component_row(component: Component) -> list[str]:
    name, n_runs, n_verdicts, n_moved = component
    return [f"   {clean(name)}: {n_moved} of {n_verdicts} verdicts moved in {n_runs} {'run' if n_runs == 1 else 'runs'}"]
