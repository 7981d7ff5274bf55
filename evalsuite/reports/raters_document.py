"""Two raters and what they agree on, as a document."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalsuite.reports.clean import clean
from evalsuite.reports.document import Case, Column, Document, Form, Section, Suite, Table
from evalsuite.reports.words import percent

if TYPE_CHECKING:
    from evalsuite.board.raters import Disagreement, RaterAgreement
    from evalsuite.stats.agreement import Confusion
    from evalsuite.store.given_labels import Label

MOST_SHOWN = 20
LabelRow = tuple[str, Sequence[int]]


def raters_document(agreement: "RaterAgreement", *, most: int = MOST_SHOWN) -> Document:
    """Raw agreement, coefficients, the confusion of labels, and at most `most` disagreements with how many more there are."""
    a, b = agreement.names
    low, high = agreement.interval
    ratio = f"{agreement.n_equal}/{agreement.n} = {percent(agreement.observed)}   95 % CI [{percent(low, '')}, {percent(high, '')}]"
    values = {one.method: f"{one.value:.3f}" if one.value is not None else f"undefined: {one.note}" for one in agreement.coefficients}
    pairs = [("raw agreement", ratio), *values.items()]
    if (said := agreement.corrected) is not None:
        told = f"{said.estimate:.3f}   95 % CI [{said.low:.3f}, {said.high:.3f}]"
        pairs.append((f"mean, corrected by {said.dear}", f"{told}; {said.cheap} says {said.plain:.3f} over {said.n + said.n_others}"))
    columns: list[Column[Disagreement]] = [
        Column(name="instance_id", title="instance", role="name", value=lambda one: one.instance_id),
        Column(name="label_a", title="A", value=lambda one: label_words(one.labels[0])),
        Column(name="label_b", title="B", value=lambda one: label_words(one.labels[1])),
        Column(name="reason_a", title="why A", role="why", value=lambda one: one.reasons[0] or None, wraps=True),
        Column(name="reason_b", title="why B", role="why", value=lambda one: one.reasons[1] or None, wraps=True),
    ]

    def sections(form: Form) -> Iterator[Section]:
        said = [f"A {a}", f"B {b}"]
        if agreement.threshold is not None:
            said.append(f"labels of at least {agreement.threshold:g} count as 1, others as 0")
        said += [f"left out: {count} {why}" for why, count in agreement.left_out.items()]
        yield Section(look="lines", prose=said)
        if form == "text":
            yield Section(look="part", lines=[f" {label:<34} {text}" for label, text in pairs])
        else:
            yield Section(pairs=pairs)
        if agreement.confusion is not None:
            yield _confusion_section(agreement.confusion, form)
        n = len(agreement.disagreements)
        yield Section(
            look="part",
            title=f" {n} disagreement{'' if n == 1 else 's'}" if form == "text" or n else "",
            prose=() if n else ("no disagreement",) if form != "text" else (),
            table=Table(columns=columns, rows=agreement.disagreements[:most], lines=_disagreement_lines),
            below=[f"   ... {n - most} more (--most {n} shows all)"] if n > most else (),
        )

    every = Table(columns=columns, rows=agreement.disagreements)
    return Document(
        name=f"{a} and {b}",
        title="",
        heading="Agreement of two raters",
        sections=sections,
        tables={"csv": every, "parquet": every},
        whole=agreement.to_json(),
        suites=lambda: [Suite(name=f"{a} and {b}", cases=list(map(_disagreement_case, agreement.disagreements)), properties=pairs)],
    )


def _confusion_section(table: "Confusion", form: Form) -> Section:
    """How often A's label (a row) met B's (a column)."""
    names = [label_words(label) for label in table.labels]
    width = max(4, *(len(name) for name in names), *(len(str(count)) for row in table.counts for count in row))
    head = " " + " " * (width + 3) + "  ".join(f"{name:>{width}}" for name in names) + "   <- B"

    def count_at(at: int) -> Callable[[LabelRow], str]:
        return lambda row: str(row[1][at])

    columns: list[Column[LabelRow]] = [Column(name="A \\ B", words=lambda row: row[0], role="name")]
    columns += [Column(name=name, words=count_at(at), is_number=True) for at, name in enumerate(names)]

    def lines(row: LabelRow) -> list[str]:
        return [f" A {row[0]:>{width}} " + "  ".join(f"{count:>{width}}" for count in row[1])]

    rows = list(zip(names, table.counts, strict=True))
    return Section(look="part", prose=[head] if form == "text" else (), table=Table(columns=columns, rows=rows, lines=lines))


def _disagreement_lines(disagreement: "Disagreement") -> list[str]:
    said = zip("AB", disagreement.labels, disagreement.reasons, strict=True)
    return [
        f"   {disagreement.instance_id}",
        *(f"     {side} {label_words(label)}" + (f"  {reason}" if reason else "") for side, label, reason in said),
    ]


def _disagreement_case(disagreement: "Disagreement") -> Case:
    reasons = " / ".join(filter(None, disagreement.reasons))
    message = " against ".join(map(label_words, disagreement.labels)) + (f": {reasons}" if reasons else "")
    return Case(name=disagreement.instance_id, classname="agreement", kind="failure", type="disagreement", message=message)


def label_words(label: "Label") -> str:
    """A label in a table: whole numbers without decimals, long texts cut."""
    if isinstance(label, float):
        return f"{label:g}"
    text = clean(label)
    return text if len(text) <= 16 else text[:15] + "…"
