"""A run's score against the tolerance, as a document."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalsuite.reports.clean import clean
from evalsuite.reports.document import Column, Document, Form, Picture, Section, Table

if TYPE_CHECKING:
    from evalsuite.board.margin_curve import Margins

_BAR = 50
_MOST = 10
Near = tuple[str, float, float]
Step = tuple[float, float]


def margins_document(margins: "Margins", *, names_instances: bool = True) -> Document:
    """The curve, and the instances that are nearest to another verdict unless gold is hidden."""
    columns: list[Column[Near]] = [
        Column(name="instance_id", title="instance", role="name", value=lambda one: one[0]),
        Column(name="score", title=margins.rules, value=lambda one: one[1], is_number=True, type="DOUBLE"),
        Column(name="margin", title="margin", value=lambda one: one[2], words=lambda one: f"{one[2]:.6g}", is_number=True, type="DOUBLE"),
    ]
    steps: list[Column[Step]] = [
        Column(name="tolerance", value=lambda one: one[0], words=lambda one: f"{one[0]:.3g}", is_number=True, type="DOUBLE"),
        Column(name="score", value=lambda one: one[1], words=lambda one: f"{100 * one[1]:.1f} %", is_number=True, type="DOUBLE"),
    ]
    near = margins.near if names_instances else ()

    def sections(form: Form) -> Iterator[Section]:
        hang = f"{len(margins.near)} of {margins.n} verdicts hang on a tolerance"
        yield Section(look="lines", prose=[f"{clean(margins.name)} · rules {margins.rules} · {hang}"])
        if form == "text":
            yield Section(look="part", title=" score against tolerance", lines=[_margin_line(*step) for step in margins.shown()])
        elif form == "html":
            from markupsafe import Markup

            from evalsuite.reports.pictures import draw_steps

            yield Section(pictures=[Picture("Score against tolerance", Markup(draw_steps(margins.steps, title="Score against tolerance")))])
            yield Section(title="Score against tolerance", table=Table(columns=steps, rows=margins.shown()))
        else:
            yield Section(title="Score against tolerance", table=Table(columns=steps, rows=margins.shown()))
        if near:
            more = [f"   ... {len(near) - _MOST} more"] if len(near) > _MOST else []
            yield Section(
                look="part",
                title=" nearest to another verdict",
                table=Table(
                    columns=columns, rows=near[:_MOST], lines=lambda one: [f"   {clean(one[0])}  {one[1]:g}, turns at {one[2]:.6g}"]
                ),
                below=more,
            )

    every = Table(columns=steps, rows=margins.steps)
    whole = margins.to_json() if names_instances else {**margins.to_json(), "near": []}
    return Document(
        name=margins.name,
        title="",
        heading="Score against tolerance",
        sections=sections,
        tables={"csv": every, "parquet": every},
        whole=whole,
    )


def _margin_line(tolerance: float, score: float) -> str:
    return f" {tolerance:>9.3g}  {100 * score:5.1f} %  {'█' * round(_BAR * score)}"
