"""Documents of analyses of saved runs: verification, drift, tolerance margins, agreement of raters, and samples."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalsuite.compare.characters import clean
from evalsuite.core.errors import EXIT_UNSCORABLE
from evalsuite.core.status import KINDS
from evalsuite.reports.document import Case, Code, Column, Document, Form, Picture, Section, Strong, Suite, Table
from evalsuite.reports.pictures import share_bar
from evalsuite.reports.words import count_words, interval_words, percent

if TYPE_CHECKING:
    from evalsuite.analysis.leaderboard.agreement import Disagreement, RaterAgreement
    from evalsuite.analysis.leaderboard.margin_curve import Margins
    from evalsuite.analysis.leaderboard.repeated_runs import ModelSamples, Samples
    from evalsuite.analysis.receipts.run_claims import Finding
    from evalsuite.analysis.receipts.verification import Verified
    from evalsuite.runs.human_labels import Label
    from evalsuite.runs.rescoring import Drift
    from evalsuite.stats.agreement import Confusion
    from evalsuite.stats.repeated_samples import Passes, Repeats


_MOST = 10
Component = tuple[str, int, int, int]


def drift_document(drifts: "Sequence[Drift]", components: Sequence[Component]) -> Document:
    """Build the drift report: one row per run, and a matrix of changed signature parts with the number of changed verdicts."""
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


_MARGIN_BAR = 50
Near = tuple[str, float, float]
Step = tuple[float, float]


def margins_document(margins: "Margins", *, names_instances: bool = True) -> Document:
    """Build the report of a run's score against the tolerance; lists the instances closest to another verdict unless gold is hidden."""
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
    return f" {tolerance:>9.3g}  {100 * score:5.1f} %  {'█' * round(_MARGIN_BAR * score)}"


MOST_SHOWN = 20
LabelRow = tuple[str, Sequence[int]]


def raters_document(agreement: "RaterAgreement", *, most: int = MOST_SHOWN) -> Document:
    """Build the agreement report: raw agreement, coefficients, the confusion of labels, and at most `most` disagreements."""
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
    """Build the confusion table: A's labels are rows, B's are columns."""
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
    """Format a label for a table: whole numbers without decimals, long texts cut."""
    if isinstance(label, float):
        return f"{label:g}"
    text = clean(label)
    return text if len(text) <= 16 else text[:15] + "…"


_BAR = 40


@dataclass(frozen=True, slots=True)
class PassRow:
    """One model's pass@k and pass^k at one k."""

    model: str
    passes: "Passes"


def samples_document(samples: "Samples") -> Document:
    """Build the report of samples: one row per model, and one row per k."""
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
    """Describe how much of the interval's width comes from the questions, and what would halve it."""
    numbers, label = samples.numbers, clean(samples.model)
    if numbers.question_share is None:
        yield f"{label}: no variance to split"
        return
    part = numbers.question_share
    whose = "questions" if part >= 0.5 else "samples"
    if with_bar:
        yield f"{label}  questions {percent(part)} {share_bar(part, _BAR)} {percent(1 - part)} samples"
    yield f"{label}: most of the width comes from the {whose} ({percent(max(part, 1 - part))} of the variance)"
    halved = f"{count_words(numbers.questions_to_halve, 'more question')} halve the width"
    if numbers.samples_to_halve is None:
        yield f"{label}: {halved}; no number of samples does"
    else:
        yield f"{label}: {halved}, or {count_words(numbers.samples_to_halve, 'more sample')} of each question"


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


MOST_DIFFERENCES = 10


def verified_document(verified: "Verified") -> Document:
    """Build the verification report: the findings about a run, with the verdict as the last line."""
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
            lines = [f"{', '.join(names)} not verified: {value}" for value, names in _by_finding(pairs)]
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
    """Return the last line: whether the run was verified, and what could not be checked."""
    wrong = [finding.name for finding in verified.findings if not finding.good]
    verdict = f"no: {', '.join(wrong)} (exit 1)" if wrong else "yes"
    if verified.exit_code == EXIT_UNSCORABLE:
        verdict = f"as far as that goes, {len(verified.left_out)} not verified (exit 4)"
    count_words = f"verified {verified.n_verified} of {verified.n_gold}: " if verified.n_gold else ""
    return f"{count_words}{verified.name} is what it says: {verdict}"


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


def _by_finding(said: Iterable[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """Group names by finding, in the order of the first name of each."""
    found: dict[str, list[str]] = {}
    for name, value in said:
        found.setdefault(value, []).append(name)
    return found.items()
