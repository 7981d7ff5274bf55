"""The samples of one or more models as a document: means, pass@k and pass^k, and where the noise comes from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalsuite.reports.clean import clean
from evalsuite.reports.document import Column, Document, Form, Picture, Section, Table
from evalsuite.reports.drawn_lines import share_bar
from evalsuite.reports.words import counted, interval_words, percent

if TYPE_CHECKING:
    from evalsuite.board.repeats import ModelSamples, Samples
    from evalsuite.stats.repeated_samples import Passes, Repeats

_BAR = 40


@dataclass(frozen=True, slots=True)
class PassRow:
    """A model's chances at one k."""

    model: str
    passes: "Passes"


def samples_document(samples: "Samples") -> Document:
    """The report; a row a model and a row for each k."""
    rows = [PassRow(clean(one.model), passes) for one in samples.models for passes in one.numbers.passes]

    def sections(form: Form) -> Iterator[Section]:
        yield Section(title="samples", table=Table(columns=_model_columns(), rows=samples.models))
        yield Section(title="right in k samples", table=Table(columns=_pass_columns(), rows=rows))
        if form == "html":
            yield Section(look="cards", pictures=list(_pictures(samples)))
        lines = [line for one in samples.models for line in noise_words(one, with_bar=form == "text")]
        yield Section(title="where the width comes from", lines=lines)
        if samples.notes:
            yield Section(title="notes", lines=[clean(note) for note in samples.notes])

    every = Table(columns=_pass_columns(), rows=rows)
    return Document(
        name=samples.suite,
        title=f"{clean(samples.suite)} · samples · rules {samples.rules}",
        heading="Samples",
        sections=sections,
        tables={"csv": every, "parquet": every},
        whole=samples.to_json(),
    )


def _model_columns() -> "list[Column[ModelSamples]]":
    def samples_words(samples: "ModelSamples") -> str:
        least, most = samples.numbers.n_samples
        return str(most) if least == most else f"{least} to {most}"

    return [
        Column(name="model", words=lambda one: clean(one.model), role="name"),
        Column(name="questions", words=lambda one: str(one.numbers.n_questions), is_number=True),
        Column(name="samples", title="samples each", words=samples_words, is_number=True),
        Column(name="mean", words=lambda one: percent(one.numbers.interval.estimate), is_number=True),
        Column(name="95 % CI", words=lambda one: _interval_ends(one.numbers), is_number=True),
    ]


def _interval_ends(numbers: "Repeats") -> str:
    low, high = numbers.interval.low, numbers.interval.high
    return "-" if low is None or high is None else interval_words((low, high))


def _pass_columns() -> list[Column[PassRow]]:
    def share(name: str, title: str) -> list[Column[PassRow]]:
        def words(row: PassRow) -> str:
            error = getattr(row.passes, f"{name}_se")
            return percent(getattr(row.passes, name)) + ("" if error is None else f" ± {100 * error:.1f}")

        return [
            Column(name=title, value=lambda row: getattr(row.passes, name), words=words, is_number=True, type="DOUBLE"),
            Column(
                name=f"{title}_se", value=lambda row: getattr(row.passes, f"{name}_se"), type="DOUBLE", forms=frozenset({"csv", "parquet"})
            ),
        ]

    return [
        Column(name="model", value=lambda row: row.model, role="name"),
        Column(name="k", value=lambda row: row.passes.k, is_number=True, type="BIGINT"),
        *share("any", "pass@k"),
        *share("all", "pass^k"),
    ]


def noise_words(samples: "ModelSamples", *, with_bar: bool = False) -> Iterator[str]:
    """How much of the interval's width is the questions', and what would halve it."""
    numbers, label = samples.numbers, clean(samples.model)
    if numbers.question_share is None:
        yield f"{label}: no variance to split"
        return
    part = numbers.question_share
    whose = "questions" if part >= 0.5 else "samples"
    if with_bar:
        yield f"{label}  questions {percent(part)} {share_bar(part, _BAR)} {percent(1 - part)} samples"
    yield f"{label}: most of the width comes from the {whose} ({percent(max(part, 1 - part))} of the variance)"
    halved = f"{counted(numbers.questions_to_halve, 'more question')} halve the width"
    if numbers.samples_to_halve is None:
        yield f"{label}: {halved}; no number of samples does"
    else:
        yield f"{label}: {halved}, or {counted(numbers.samples_to_halve, 'more sample')} of each question"


def _pictures(samples: "Samples") -> Iterator[Picture]:
    from markupsafe import Markup

    from evalsuite.reports.pictures import IntervalRow, draw_bars, draw_intervals

    def interval_of(value: float, error: float | None) -> tuple[float | None, float | None]:
        return (None, None) if error is None else (max(0.0, value - 1.96 * error), min(1.0, value + 1.96 * error))

    rows = []
    for one in samples.models:
        for passes in one.numbers.passes:
            rows.append(IntervalRow(f"{one.model}: pass@{passes.k}", passes.any, *interval_of(passes.any, passes.any_se)))
            rows.append(IntervalRow(f"{one.model}: pass^{passes.k}", passes.all, *interval_of(passes.all, passes.all_se)))
    title = "Right in k samples"
    found: Markup = Markup(draw_intervals(rows, title=title))
    yield Picture(title, found, "at least one of k right (pass@k), all k right (pass^k), with 95 % intervals over questions")
    split = [
        (one.model, {"questions": part, "samples": 1 - part}) for one in samples.models if (part := one.numbers.question_share) is not None
    ]
    if split:
        title = "Where the width comes from"
        yield Picture(title, Markup(draw_bars(split, title=title)), "shares of the variance of the mean")
