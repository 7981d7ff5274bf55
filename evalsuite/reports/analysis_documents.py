"""Documents of the analyses of gold (its own score, lint, contamination, suspects, audit) and of saved runs.

Of saved runs: verification, drift, tolerance margins, agreement of raters, and samples.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import EXIT_UNSCORABLE, count_words
from evalsuite.core.scores import RULES, Rule
from evalsuite.core.status import KINDS
from evalsuite.reports.document import (
    MACHINES,
    PEOPLE,
    Case,
    Code,
    Column,
    Document,
    Form,
    Own,
    Picture,
    Section,
    Strong,
    Suite,
    Table,
    and_more,
    cut_text,
    grade,
    id_list,
    interval_words,
    percent,
)
from evalsuite.reports.pictures import IntervalRow, draw_bars, draw_intervals, draw_steps, share_bar

if TYPE_CHECKING:
    from evalsuite.analysis.gold_checks.contamination import Contamination, Overlap
    from evalsuite.analysis.gold_checks.lint import Lint
    from evalsuite.analysis.gold_checks.lint_values import LintFinding
    from evalsuite.analysis.gold_checks.mutation import Audit, Audited
    from evalsuite.analysis.gold_checks.readiness import GoldCheck, Unsatisfied
    from evalsuite.analysis.gold_checks.suspects import Suspect, Suspects
    from evalsuite.analysis.leaderboard.reliability import Disagreement, Margins, ModelSamples, RaterAgreement, Samples
    from evalsuite.analysis.receipts.verification import Finding, Verified
    from evalsuite.runs.corrected_scores import Label
    from evalsuite.runs.rescoring import Drift
    from evalsuite.stats.agreement import Confusion
    from evalsuite.stats.intervals import Passes


LINT_FORMATS = ("text", "json", "github")
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
MOST_REFUSED = 100
MOST_NAMED = 10
MOST_OVERLAPS = 50
MOST_RUNS = 5


def gold_check_document(check: "GoldCheck", name: str) -> Document:
    """Build the report of gold scored as its own answer: refused instances first, then refused checks, then gold's own score."""
    parts = {
        "gold's own answer is refused": [refusal for refusal in check.unsatisfied if refusal.lowers],
        "refused, while another answer to the same instance is accepted": [refusal for refusal in check.unsatisfied if not refusal.lowers],
        "not tried": list(check.untried),
    }
    state = {row: title for title, rows in parts.items() for row in rows}
    columns: list[Column[Unsatisfied]] = [
        Column(name="state", value=lambda row: state[row], forms=MACHINES),
        Column(name="instance_id", title="instance", role="name", value=lambda row: row.instance_id),
        Column(name="where", value=lambda row: row.where),
        Column(name="scorer", value=lambda row: row.scorer),
        Column(name="rules", value=lambda row: "+".join(row.rules)),
        Column(name="code", value=lambda row: row.code or None),
        Column(name="reason", title="why", role="why", value=lambda row: row.reason, wraps=True),
    ]

    def sections(form: Form) -> Iterator[Section]:
        yield Section(prose=[Strong(gold_check_verdict(check))] if form != "text" else ())
        for title, rows in parts.items():
            table = Table(columns=columns, rows=rows[:MOST_REFUSED], lines=_refused_lines)
            if rows:
                yield Section(
                    look="lines", title=title, table=table, below=and_more(len(rows) - MOST_REFUSED, how="--json lists all", indent="   ")
                )
        if check.excused:
            answered = [f"   {id_}: {place}" for id_, place in check.excused.items()]
            yield Section(look="lines", title="excused", lines=answered)
        if check.by_the_day:
            title = "gold that depends on the current date: its verdicts change from day to day; --frozen-clock DAY fixes the date"
            id_lines = [f"   {id_}" for id_ in check.by_the_day[:MOST_REFUSED]]
            below = and_more(len(check.by_the_day) - MOST_REFUSED, how="--json lists all", indent="   ")
            yield Section(look="lines", title=title, lines=id_lines, below=below)
        yield Section(look="lines", lines=[check.ceiling.words()])

    all_rows = Table(columns=columns, rows=list(state))
    return Document(
        name=name,
        heading=("Gold check of ", Code(name, 80)),
        sections=sections,
        last_line=gold_check_verdict(check),
        tables={"csv": all_rows, "parquet": all_rows},
        whole=check.to_json(),
        suites=lambda: [Suite(name=name, cases=[_refused_case(check, row) for row in all_rows.rows])],
    )


def _refused_lines(refused: "Unsatisfied") -> list[str]:
    rules = f", {'+'.join(refused.rules)}" if refused.rules else ""
    code = f"{refused.code}: " if refused.code else ""
    return [f"   {refused.where}: {refused.instance_id}: {refused.scorer}{rules}: {code}{refused.reason}"]


def _refused_case(check: "GoldCheck", refused: "Unsatisfied") -> Case:
    """Build a test case: a failure if a refusal lowers gold's own score and nothing excuses it; untried or harmless ones are skipped."""
    fails = refused.instance_id in check.failing_ids and bool(refused.rules) and refused.lowers
    return Case(
        name=refused.instance_id,
        classname=f"{refused.scorer}.{'+'.join(refused.rules) or 'not tried'}",
        kind="failure" if fails else "skipped",
        type=refused.code or "refused",
        message=refused.reason,
        place=refused.where,
        level="error" if fails else "notice",
    )


def gold_check_verdict(check: "GoldCheck") -> str:
    """Return the last line: the instances without full marks that nothing excuses."""
    failing = [clean(id_) for id_ in check.failing_ids]
    if not failing:
        others = f", except {len(check.excused)} that lint_ignore or errata excuse" if check.excused else ""
        tried_words = " that was tried" if check.untried else ""
        return f"done: every gold{tried_words} gets full marks under its own rules{others}"
    more = f" and {len(failing) - MOST_NAMED} more" if len(failing) > MOST_NAMED else ""
    return f"failed: no full marks under its own rules: {', '.join(failing[:MOST_NAMED])}{more} (exit 1)"


def lint_document(lint: "Lint", *, fails: bool = False) -> Document:
    """Build the report of all findings, one line each, then their counts and whether they end in exit 1."""
    columns: list[Column[LintFinding]] = [
        Column(name="where", role="name", value=lambda row: row.where),
        Column(name="severity", role="name", value=lambda row: row.severity, words=lambda row: Own(row.severity)),
        Column(name="code", role="name", value=lambda row: row.code),
        Column(name="instance_id", title="instance", value=lambda row: row.instance_id or None),
        Column(name="message", role="why", value=lambda row: row.message, wraps=True),
        Column(name="hint", role="why", value=lambda row: row.hint or None, wraps=True),
        Column(name="fixable", type="BOOLEAN", value=lambda row: row.change is not None, forms=MACHINES),
    ]
    name = lint.gold.folder.name
    table = Table(
        columns=columns,
        rows=lint.findings,
        is_long=True,
        lines=lambda row: [f"{row.where}: {row.severity} {row.code}: {_finding_text(row)}"],
    )
    counts = lint_summary(lint) + (" (exit 1)" if fails else "")
    return Document(
        name=name,
        heading=("Lint of ", Code(name, 80)),
        sections=lambda _: [Section(look="lines", table=table), Section(look="lines", lines=[counts])],
        tables={"csv": table, "parquet": table},
        whole=lint.to_json(),
        suites=lambda: [Suite(name=name, cases=[_lint_case(lint, finding) for finding in lint.findings])],
    )


def _finding_text(finding: "LintFinding") -> str:
    return (f"{finding.instance_id}: " if finding.instance_id else "") + finding.message + (f" ({finding.hint})" if finding.hint else "")


def _lint_case(lint: "Lint", finding: "LintFinding") -> Case:
    """Build a test case: an error is a failure, anything else is skipped. Its place is relative to the working directory."""
    name, _, line = finding.where.rpartition(":")
    file = str(lint.gold.folder / (name or finding.where).rpartition("/")[2])
    return Case(
        name=f"{finding.where}: {finding.code}",
        classname=f"{lint.gold.folder.name}.{finding.severity}",
        kind="failure" if finding.severity == "error" else "skipped",
        type=finding.code,
        message=_finding_text(finding),
        place=f"{file}:{line}" if line.isdigit() else file,
        level=_LEVELS[finding.severity],
        title=f"gold lint: {finding.code}",
    )


def lint_summary(lint: "Lint") -> str:
    """`40 instances: 1 error, 0 warnings, 5 notes`; plus the number of suppressed findings and of findings that --fix can repair."""
    counts = [count_words(lint.count(severity), severity) for severity in ("error", "warning", "note")]
    n_fixable = sum(finding.change is not None for finding in lint.findings)
    more = [f"{lint.n_ignored} ignored"] if lint.n_ignored else []
    more += [f"--fix shows a repair of {n_fixable}"] if n_fixable else []
    return f"{count_words(len(lint.gold.instances), 'instance')}: {', '.join([*counts, *more])}"


def contamination_document(contamination: "Contamination", name: str) -> Document:
    """Build a report with one row per text of gold that was found, the largest share first, then the count."""
    columns: list[Column[Overlap]] = [
        Column(name="instance_id", title="instance", role="name", value=lambda row: row.instance_id),
        Column(name="part", role="name", value=lambda row: row.part),
        Column(name="share", type="DOUBLE", value=lambda row: row.share, words=lambda row: Own(percent(row.share)), is_number=True),
        Column(name="n_found", title="n-grams", type="BIGINT", value=lambda row: row.n_found, is_number=True),
        Column(name="n_grams", title="of", type="BIGINT", value=lambda row: row.n_grams, is_number=True),
        Column(name="file", title="longest in", value=lambda row: f"{row.longest.file}:{row.longest.line}"),
        Column(name="text", title="longest", role="why", value=lambda row: row.longest.text, wraps=True),
    ]

    def sections(_: Form) -> Iterator[Section]:
        if contamination.overlaps:
            table = Table(columns=columns, rows=contamination.overlaps[:MOST_OVERLAPS], lines=_overlap_lines)
            below = and_more(len(contamination.overlaps) - MOST_OVERLAPS, how="--json lists all", indent=" ")
            yield Section(look="lines", table=table, below=below)
        n_hit = len({overlap.instance_id for overlap in contamination.overlaps})
        lines = [f"{n_hit} of {contamination.n_instances} instances share n-grams of {contamination.n_words} words with the files"]
        if contamination.n_too_short:
            few = f"{contamination.n_too_short} of {contamination.n_texts} texts of gold"
            lines.append(f"{few} are too short to check (--words sets shorter n-grams)")
        if files := contamination.not_text:
            lines.append(f"{len(files)} of {count_words(contamination.n_files, 'file')} not searched, no UTF-8 text: {id_list(files)}")
        yield Section(look="lines", lines=lines)

    tables: dict[Form, Table[Overlap]] = dict.fromkeys(("csv", "parquet"), Table(columns=columns, rows=contamination.overlaps))
    heading = ("Contamination of ", Code(name, 80))
    return Document(name=name, heading=heading, sections=sections, tables=tables, whole=contamination.to_json())


def _overlap_lines(overlap: "Overlap") -> Sequence[str]:
    hit = overlap.longest
    return (
        f" {percent(overlap.share):>7}  {overlap.instance_id}  {overlap.part}  {overlap.n_found} of {overlap.n_grams} n-grams",
        f"          longest: {hit.n_words} words at {hit.file}:{hit.line}: {hit.text}",
    )


def suspects_document(suspects: "Suspects", *, most: int = 20) -> Document:
    """Build the report of the first `most` suspects with their reasons, then the inputs."""
    numbers = {entry.instance_id: at for at, entry in enumerate(suspects.suspects, start=1)}
    columns: list[Column[Suspect]] = [
        Column(name="place", role="name", type="BIGINT", value=lambda row: numbers[row.instance_id], is_number=True),
        Column(name="instance_id", title="instance", role="name", value=lambda row: row.instance_id),
        Column(name="n_right", title="right", type="BIGINT", value=lambda row: row.n_right, is_number=True),
        Column(name="n_voices", title="of", type="BIGINT", value=lambda row: row.n_voices, is_number=True),
        Column(name="p_wrong", title="suspicion", type="DOUBLE", value=lambda row: row.p_wrong, is_number=True),
        Column(name="answer", title="the answer", value=lambda row: row.shown if row.agreeing else None),
        Column(name="reasons", title="why", role="why", value=lambda row: "; ".join(row.reasons), wraps=True),
    ]

    def lines(suspect: "Suspect") -> Iterator[str]:
        right = f"right {suspect.n_right}/{suspect.n_voices}"
        yield f"{numbers[suspect.instance_id]:>3}  {suspect.instance_id}  {right}  suspicion {suspect.p_wrong:.2f}"
        yield from (f"       {reason}" for reason in suspect.reasons)
        if suspect.agreeing:
            more = f" and {len(suspect.agreeing) - MOST_RUNS} more" if len(suspect.agreeing) > MOST_RUNS else ""
            yield f"       the answer: {suspect.shown}  ({', '.join(suspect.agreeing[:MOST_RUNS])}{more})"

    def sections(_: Form) -> Iterator[Section]:
        if suspects.suspects:
            table = Table(columns=columns, rows=suspects.suspects[:most], lines=lambda row: list(lines(row)))
            yield Section(look="lines", table=table, below=and_more(len(suspects.suspects) - most, indent="     "))
        n_voices = f"{count_words(suspects.n_voices, 'submission')} in {count_words(suspects.n_runs, 'run')}"
        n_units, n_instances = suspects.n_units, suspects.n_instances
        total_words = (
            f"{n_units} records in {count_words(n_instances, 'instance')}"
            if n_units > n_instances
            else count_words(n_instances, "instance")
        )
        count = f"{len(suspects.suspects)} of {total_words} to look at, from {n_voices}"
        expected = [f"expected: {suspects.outlook.says}"] if suspects.outlook.says else []
        yield Section(look="lines", lines=[*(f"note: {note}" for note in suspects.notes), *expected, count])

    tables: dict[Form, Table[Suspect]] = dict.fromkeys(("csv", "parquet"), Table(columns=columns, rows=suspects.suspects))
    heading = "Instances whose gold may be wrong"
    return Document(name="suspects", heading=heading, sections=sections, tables=tables, whole=asdict(suspects))


AUDIT_FORMATS: Final = ("text", "json", "md")
MOST_SHOWN: Final = 20
_TITLES: Final = (("wrong answers caught", False), ("right answers refused", True))
KindRow = tuple[str, str, str, str]


def audit_document(audit: "Audit", *, most: int = MOST_SHOWN) -> Document:
    """Build the audit report with the `most` weakest checks; files for programs contain all."""
    weakest = audit.weakest()

    def holes(check: "Audited") -> str:
        return "; ".join(_hole_lines(check))

    columns: list[Column[Audited]] = [
        Column(name="instance_id", title="instance", role="name", value=lambda row: row.instance_id),
        Column(name="scorer", title="check", role="name", value=lambda row: row.scorer),
        Column(name="where", role="name", value=lambda row: row.where),
        Column(name="verdict", words=_verdict_words, forms=PEOPLE),
        Column(name="weakness", type="DOUBLE", value=lambda row: row.weakness(row.rules), forms=MACHINES),
        Column(name="holes", title="suggested fix", role="why", value=lambda row: holes(row) or None, words=holes, wraps=True),
    ]

    def sections(form: Form) -> Iterator[Section]:
        summary = (
            f"{audit.name}: {count_words(audit.n_answers, 'answer')} made for {count_words(len(audit.checks), 'check')}, seed {audit.seed}"
        )
        yield Section(look="lines", prose=[summary])
        for title, right in _TITLES:
            kinds = [(kind, by_rule) for (kind, is_right), by_rule in audit.kinds().items() if is_right is right]
            if kinds:
                yield _kinds_section(title, [(kind, *_shares_of_kind(by_rule, right=right)) for kind, by_rule in kinds])
        if sizes := audit.sizes():
            sized = [(size, *_shares_of_kind(by_rule, right=False)) for size, by_rule in sizes.items()]
            yield _kinds_section("numbers changed by, caught", sized)
        first = ", the weakest first" if weakest else ""
        sentence = f"{len(weakest)} of {len(audit.checks)} checks misjudge answers under {audit.rules} rules{first}"
        yield _weak_checks(sentence, columns, weakest, most, is_text=form == "text")
        yield Section(look="lines", prose=list(_audit_notes(audit)))

    all_rows = Table(columns=columns, rows=audit.checks)
    return Document(
        name=audit.name,
        heading=("Audit of ", Code(audit.name, 80)),
        sections=sections,
        tables={"csv": all_rows, "parquet": all_rows},
        whole=audit.to_json(),
        suites=lambda: [Suite(name=audit.name, cases=[_check_case(audit, check) for check in audit.checks])],
    )


def _weak_checks(sentence: str, columns: "Sequence[Column[Audited]]", weakest: "Sequence[Audited]", most: int, *, is_text: bool) -> Section:
    """Build the list of the weakest checks. A text shows checks with the same findings once, with the names of all instances."""

    def findings(check: "Audited") -> tuple[str, ...]:
        return (check.scorer, _verdict_words(check), *_hole_lines(check))

    groups: dict[tuple[str, ...], list[Audited]] = {}
    for check in weakest:
        groups.setdefault(findings(check), []).append(check)
    rows = ([group[0] for group in groups.values()] if is_text else weakest)[:most]

    def lines(check: "Audited") -> list[str]:
        return _weak_lines(check, [other.instance_id for other in groups[findings(check)][1:]])

    n_shown = sum(len(groups[findings(check)]) for check in rows) if is_text else len(rows)
    table = Table(columns=columns, rows=rows, lines=lines) if rows else None
    below = and_more(len(weakest) - n_shown, how="--top N, --format json lists all", indent="   ")
    return Section(look="part", prose=[sentence], table=table, below=below)


def _kinds_section(title: str, rows: Sequence[KindRow]) -> Section:
    """Build the table of answer kinds: how many were made, and how many were caught or refused under each rule."""
    columns: list[Column[KindRow]] = [
        Column(name=head, words=itemgetter(at), role="more" if at else "name", is_number=at > 0)
        for at, head in enumerate((title, "made", "official", "strict"))
    ]
    return Section(table=Table(columns=columns, rows=rows))


def _shares_of_kind(by_rule: Mapping[Rule, tuple[int, int]], *, right: bool) -> tuple[str, str, str]:
    """Return how many were made, and how many of them were caught, or refused, under official and strict rules."""
    parts = ((failed if right else n - failed, n) for failed, n in (by_rule[rule] for rule in RULES))
    official, strict = (f"{part}/{n} = {percent(part / n)}" if n else "-" for part, n in parts)
    return str(max(n for _, n in by_rule.values())), official, strict


def _verdict_words(check: "Audited") -> str:
    """Describe what the check catches and refuses, by rule."""
    words = []
    for rule in RULES:
        if rule in check.unfit:
            words.append(f"{rule}: refuses gold itself")
            continue
        wrong, right = check.verdicts_under(rule, right=False), check.verdicts_under(rule, right=True)
        parts = [f"catches {sum(not variant.fails(rule) for variant in wrong)}/{len(wrong)}"] if wrong else []
        parts += [f"refuses {sum(variant.fails(rule) for variant in right)}/{len(right)} right ones"] if right else []
        words.append(f"{rule}: {', '.join(parts) or 'nothing counts'}")
    return " · ".join(words)


def _hole_lines(check: "Audited") -> Iterator[str]:
    """Yield each kind of accepted wrong answer, under the rules of the check, with the verified fix."""
    found = check.holes(check.rules)
    holes = {(hole.kind, hole.right): hole for hole in reversed(found)}
    for kind, right in dict.fromkeys((hole.kind, hole.right) for hole in found):
        yield f"{'refuses' if right else 'accepts'} {kind} -> {check.advice(holes[kind, right], check.rules)}"


def _weak_lines(check: "Audited", alike: Sequence[str]) -> list[str]:
    """Return the lines of a check that misjudges answers, and of the instances with the same findings."""
    head = f"   {check.instance_id}  {check.scorer}  {check.where}  {_verdict_words(check)}"
    same = [f"      the same: {id_list(alike)}"] if alike else []
    return [head, *(f"      {line}" for line in _hole_lines(check)), *same]


def _check_case(audit: "Audit", check: "Audited") -> Case:
    """Build a test case: a check that accepts wrong answers under its rules is a failure."""
    holes = list(_hole_lines(check))
    return Case(
        name=check.instance_id,
        classname=f"{audit.name}.{check.scorer}",
        kind="failure" if holes else "skipped" if check.rules in check.unfit else "passed",
        type="hole" if holes else "unfit",
        message="; ".join(holes) or f"{check.rules} refuses gold itself",
        place=check.where,
        level="warning" if holes else "",
    )


def _audit_notes(audit: "Audit") -> Iterator[str]:
    for rule in RULES:
        if n := sum(rule in check.unfit for check in audit.checks):
            yield f"{count_words(n, 'check')} left out under {rule} rules, which refuse gold itself: evalsuite gold check"
    for why, n in audit.reasons().items():
        yield f"{count_words(n, 'check')} not audited: {why}"
    if audit.n_left:
        yield f"{count_words(audit.n_left, 'check')} not audited within the time limit: --seconds"


_MOST = 10
Component = tuple[str, int, int, int, int]


def drift_document(drifts: "Sequence[Drift]", components: Sequence[Component]) -> Document:
    """Build the drift report: one row per run, and a matrix of changed signature parts with the number of changed verdicts."""
    runs: list[Column[Drift]] = [
        Column(name="run", role="name", value=lambda row: row.name),
        Column(name="verdicts", value=lambda row: row.n, is_number=True, type="BIGINT"),
        Column(name="moved", value=lambda row: len(row.moved), is_number=True, type="BIGINT"),
        Column(name="unscored", value=lambda row: len(row.unscored), is_number=True, type="BIGINT"),
        Column(name="changed", title="what changed since", value=lambda row: ", ".join(row.components)),
        Column(name="problem", value=lambda row: row.problem),
    ]

    def count(name: str, at: int) -> Column[Component]:
        return Column(name=name, value=lambda row: row[at], is_number=True, type="BIGINT")

    changed: Column[Component] = Column(name="component", title="changed since", role="name", value=lambda row: row[0])
    all_rows = Table(columns=runs, rows=drifts, lines=_drift_lines)
    matrix = Table(columns=[changed, count("runs", 1), count("verdicts", 2), count("moved", 3), count("unscored", 4)], rows=components)

    def sections(form: Form) -> Iterator[Section]:
        is_text = form == "text"
        yield Section(look="part" if is_text else "", title=" runs scored again" if is_text else "Runs", table=all_rows)
        if components:
            yield Section(title="by what changed" if is_text else "By what changed", table=matrix)

    keys = ("component", "n_runs", "n", "n_moved", "n_unscored")
    return Document(
        name="drift",
        heading="Drift",
        sections=sections,
        tables={"csv": all_rows, "parquet": all_rows},
        whole={"runs": [drift.to_json() for drift in drifts], "components": [dict(zip(keys, row, strict=True)) for row in components]},
    )


def _drift_lines(drift: "Drift") -> list[str]:
    if drift.problem and not drift.n:
        return [f" {clean(drift.name)}  not scored again: {clean(drift.problem)}"]
    unscored = f", {len(drift.unscored)} unscored" if drift.unscored else ""
    blamed = f": {clean(drift.suspected_causes)}" if drift.moved else ""
    lines = [f" {clean(drift.name)}  {len(drift.moved)} of {drift.n} verdicts moved{unscored}{blamed}"]
    lines += [f"   {clean(drift.problem)}"] if drift.problem else []
    lines += [f"   unscored: {clean(id_list(drift.unscored))}"] if drift.unscored else []
    for name, *scores in drift.moved[:_MOST]:
        then, now = map(grade, scores)
        lines.append(f"   {clean(name)}: {then} -> {now}")
    return [*lines, *and_more(len(drift.moved) - _MOST, indent="   ")]


_MARGIN_BAR = 50
Near = tuple[str, float, float]
Step = tuple[float, float]


def margins_document(margins: "Margins", *, names_instances: bool = True) -> Document:
    """Build the report of a run's score against the tolerance; lists the instances closest to another verdict unless gold is hidden."""
    columns: list[Column[Near]] = [
        Column(name="instance_id", title="instance", role="name", value=lambda row: row[0]),
        Column(name="score", title=margins.rules, value=itemgetter(1), words=lambda row: grade(row[1]), is_number=True, type="DOUBLE"),
        Column(
            name="margin", title="changes at", value=lambda row: row[2], words=lambda row: f"{row[2]:.6g}", is_number=True, type="DOUBLE"
        ),
    ]
    steps: list[Column[Step]] = [
        Column(name="tolerance", value=lambda row: row[0], words=lambda row: f"{row[0]:,.6g}", is_number=True, type="DOUBLE"),
        Column(name="score", value=lambda row: row[1], words=lambda row: percent(row[1]), is_number=True, type="DOUBLE"),
    ]
    near = margins.near if names_instances else ()

    def sections(form: Form) -> Iterator[Section]:
        hang = f"{len(margins.near)} of {count_words(margins.n, 'instance')} depend on a tolerance"
        yield Section(
            look="lines", prose=[f"{clean(margins.name)} · rules {margins.rules} · {hang}", *([margins.note] if margins.note else [])]
        )
        if form == "text":
            bars = [f" {step:>9.3g}  {percent(score):>7}  {'█' * round(_MARGIN_BAR * score)}" for step, score in margins.steps_to_show()]
            yield Section(look="part", title=" score against tolerance", lines=bars)
        else:
            title = "Score against tolerance"
            yield Section(pictures=[Picture(title, draw_steps(margins.steps, title=title))] if form == "html" else ())
            yield Section(title=title, table=Table(columns=steps, rows=margins.steps_to_show()))
        if near:
            table = Table(columns=columns, rows=near[:_MOST])
            yield Section(title="closest to another verdict", table=table, below=and_more(len(near) - _MOST))

    all_rows = Table(columns=steps, rows=margins.steps)
    whole = margins.to_json() if names_instances else {**margins.to_json(), "near": []}
    return Document(
        name=margins.name,
        heading="Score against tolerance",
        sections=sections,
        tables={"csv": all_rows, "parquet": all_rows},
        whole=whole,
    )


def raters_document(agreement: "RaterAgreement", *, most: int = MOST_SHOWN) -> Document:
    """Build the agreement report: raw agreement, coefficients, the confusion of labels, and at most `most` disagreements."""
    a, b = agreement.names
    low, high = agreement.interval
    ratio = f"{agreement.n_equal}/{agreement.n} = {percent(agreement.observed)}   95 % CI [{percent(low, '')}, {percent(high, '')}]"
    values = {
        coefficient.method: f"{coefficient.value:.3f}" if coefficient.value is not None else f"undefined: {coefficient.note}"
        for coefficient in agreement.coefficients
    }
    pairs = [("raw agreement", ratio), *values.items()]
    if (mean := agreement.corrected) is not None:
        estimate = f"{mean.estimate:.3f}   95 % CI [{mean.low:.3f}, {mean.high:.3f}]"
        pairs.append((f"mean, corrected by {mean.dear}", f"{estimate}; {mean.cheap} alone {mean.plain:.3f} over {mean.n + mean.n_others}"))
    columns: list[Column[Disagreement]] = [
        Column(name="instance_id", title="instance", role="name", value=lambda row: row.instance_id),
        Column(name="label_a", title="A", value=lambda row: label_words(row.labels[0])),
        Column(name="label_b", title="B", value=lambda row: label_words(row.labels[1])),
        Column(name="reason_a", title="why A", role="why", value=lambda row: row.reasons[0] or None, wraps=True),
        Column(name="reason_b", title="why B", role="why", value=lambda row: row.reasons[1] or None, wraps=True),
    ]

    def sections(_: Form) -> Iterator[Section]:
        head = [f"A {a}", f"B {b}"]
        if agreement.threshold is not None:
            head.append(f"labels of at least {agreement.threshold:g} count as 1, others as 0")
        head += [f"left out: {count} {why}" for why, count in agreement.left_out.items()]
        yield Section(look="lines", prose=head)
        yield Section(pairs=pairs)
        if agreement.confusion is not None:
            yield _confusion_section(agreement.confusion)
        n = len(agreement.disagreements)
        table = Table(columns=columns, rows=agreement.disagreements[:most]) if n else None
        yield Section(
            title=count_words(n, "disagreement"), table=table, below=and_more(n - most, how=f"--most {n} shows all", indent="   ")
        )

    all_rows = Table(columns=columns, rows=agreement.disagreements)
    return Document(
        name=f"{a} and {b}",
        heading="Agreement of two raters",
        sections=sections,
        tables={"csv": all_rows, "parquet": all_rows},
        whole=agreement.to_json(),
        suites=lambda: [Suite(name=f"{a} and {b}", cases=list(map(_disagreement_case, agreement.disagreements)), properties=pairs)],
    )


def _confusion_section(table: "Confusion") -> Section:
    """Build the confusion table: A's labels are rows, B's are columns."""
    names = [label_words(label) for label in table.labels]
    columns = [
        Column[Sequence[str]](name=name, words=itemgetter(at), role="more" if at else "name", is_number=at > 0)
        for at, name in enumerate(("A \\ B", *names))
    ]
    return Section(table=Table(columns=columns, rows=[(name, *map(str, row)) for name, row in zip(names, table.counts, strict=True)]))


def _disagreement_case(disagreement: "Disagreement") -> Case:
    reasons = " / ".join(filter(None, disagreement.reasons))
    message = " against ".join(map(label_words, disagreement.labels)) + (f": {reasons}" if reasons else "")
    return Case(name=disagreement.instance_id, classname="agreement", kind="failure", type="disagreement", message=message)


def label_words(label: "Label") -> str:
    """Format a label for a table: whole numbers without decimals, long texts cut."""
    if isinstance(label, float):
        return f"{label:g}"
    return cut_text(clean(label), 16)


_BAR = 40


@dataclass(frozen=True, slots=True)
class PassRow:
    """One model's pass@k and pass^k at one k."""

    model: str
    passes: "Passes"


def samples_document(samples: "Samples") -> Document:
    """Build the report of samples: one row per model, and one row per k."""
    rows = [PassRow(clean(model.model), passes) for model in samples.models for passes in model.numbers.passes]

    def sections(form: Form) -> Iterator[Section]:
        yield Section(title="samples", table=Table(columns=_model_columns(), rows=samples.models))
        yield Section(title="right in k samples", table=Table(columns=_pass_columns(), rows=rows))
        if form == "html":
            yield Section(look="cards", pictures=list(_pictures(samples)))
        lines = [line for model in samples.models for line in noise_words(model, with_bar=form == "text")]
        yield Section(title="where the width comes from", lines=lines)
        if samples.notes:
            yield Section(title="notes", lines=[clean(note) for note in samples.notes])

    all_rows = Table(columns=_pass_columns(), rows=rows)
    return Document(
        name=samples.suite,
        title=f"{clean(samples.suite)} · samples · rules {samples.rules}",
        heading="Samples",
        sections=sections,
        tables={"csv": all_rows, "parquet": all_rows},
        whole=samples.to_json(),
    )


def _model_columns() -> "list[Column[ModelSamples]]":
    def samples_words(samples: "ModelSamples") -> str:
        least, most = samples.numbers.n_samples
        return str(most) if least == most else f"{least} to {most}"

    def interval(samples: "ModelSamples") -> str:
        ends = samples.numbers.interval.low, samples.numbers.interval.high
        return "-" if None in ends else interval_words(ends)  # type: ignore[arg-type]

    return [
        Column(name="model", words=lambda row: clean(row.model), role="name"),
        Column(name="questions", words=lambda row: str(row.numbers.n_questions), is_number=True),
        Column(name="samples", title="samples each", words=samples_words, is_number=True),
        Column(name="mean", words=lambda row: percent(row.numbers.interval.estimate), is_number=True),
        Column(name="95 % CI", words=interval, is_number=True),
    ]


def _pass_columns() -> list[Column[PassRow]]:
    def share(name: str, title: str) -> list[Column[PassRow]]:
        def words(row: PassRow) -> str:
            return f"{percent(getattr(row.passes, name))} {interval_words(getattr(row.passes, f'{name}_interval_95'))}"

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
    source = "questions" if part >= 0.5 else "samples"
    if with_bar:
        yield f"{label}  questions {percent(part)} {share_bar(part, _BAR)} {percent(1 - part)} samples"
    yield f"{label}: most of the width comes from the {source} ({percent(max(part, 1 - part))} of the variance)"
    where = " in new clusters" if numbers.n_clusters else ""
    halved = f"{count_words(numbers.questions_to_halve, 'more question')}{where} halve the width"
    if numbers.samples_to_halve is None:
        yield f"{label}: {halved}; no number of samples does"
    else:
        yield f"{label}: {halved}, or {count_words(numbers.samples_to_halve, 'more sample')} of each question"


def _pictures(samples: "Samples") -> Iterator[Picture]:
    rows = []
    for name, passes in ((model.model, passes) for model in samples.models for passes in model.numbers.passes):
        rows.append(IntervalRow(f"{name}: pass@{passes.k}", passes.any, *passes.any_interval_95))
        rows.append(IntervalRow(f"{name}: pass^{passes.k}", passes.all, *passes.all_interval_95))
    title = "Right in k samples"
    note = "at least one of k right (pass@k), all k right (pass^k), with 95 % intervals over questions"
    yield Picture(title, draw_intervals(rows, title=title), note)
    split = [
        (model.model, {"questions": part, "samples": 1 - part})
        for model in samples.models
        if (part := model.numbers.question_share) is not None
    ]
    if split:
        title = "Where the width comes from"
        yield Picture(title, draw_bars(split, title=title), "shares of the variance of the mean")


MOST_DIFFERENCES = 10


def verified_document(verified: "Verified") -> Document:
    """Build the verification report: the findings about a run, with the verdict as the last line."""
    columns: list[Column[Finding]] = [
        Column(name="finding", role="name", value=lambda row: row.name),
        Column(name="good", role="mark", type="BOOLEAN", value=lambda row: row.good, words=_finding_sign),
        Column(name="says", role="why", value=lambda row: row.says, wraps=True),
        Column(name="differs", role="why", value=lambda row: "; ".join(row.differs[:MOST_DIFFERENCES]) or None, wraps=True),
    ]
    table = Table(columns=columns, rows=verified.findings, lines=lambda row: list(_finding_lines(row)))

    def sections(form: Form) -> Iterator[Section]:
        yield Section(prose=[Strong(verification_verdict(verified))] if form != "text" else ())
        yield Section(look="lines", table=table)
        more = [f"--seed {verified.seed} takes the same sample again"] if verified.seed is not None else []
        open_ = list[str]()
        for title, pairs in (("claimed only", verified.claimed), ("not checked", verified.left_out.items())):
            lines = [f"{', '.join(names)} not verified: {value}" for value, names in _names_by_value(pairs)]
            open_ += [f"{title}:", *(f"  {line}" for line in lines)] if lines else []
        notes = [*(f"note: {note}" for note in verified.notes), *more]
        marked = [*(f" - {line}" for line in open_), *(f"   {line}" for line in notes)]
        yield Section(look="lines", lines=marked if form == "text" else [*open_, *notes])

    return Document(
        name=verified.name,
        heading=("Verification of ", Code(verified.name, 80)),
        sections=sections,
        last_line=verification_verdict(verified),
        tables={"csv": table, "parquet": table},
        whole=verified.to_json(),
        suites=lambda: [
            Suite(
                name=verified.name,
                cases=[_finding_case(verified.name, finding) for finding in verified.findings],
                properties=verified.claimed,
            )
        ],
        last_stands_apart=False,
    )


def verification_verdict(verified: "Verified") -> str:
    """Return the last line: whether the run was verified, and what could not be checked."""
    wrong = [finding.name for finding in verified.findings if not finding.good]
    verdict = f"no: {', '.join(wrong)} (exit 1)" if wrong else "yes"
    if verified.exit_code == EXIT_UNSCORABLE:
        verdict = f"in part, {len(verified.left_out)} not verified (exit 4)"
    count_words = f"verified {verified.n_verified} of {verified.n_gold}: " if verified.n_gold else ""
    return f"{count_words}{verified.name} matches its claims: {verdict}"


def _finding_sign(finding: "Finding") -> str:
    return KINDS["right" if finding.good else "wrong"].sign


def _finding_lines(finding: "Finding") -> Iterator[str]:
    yield f" {_finding_sign(finding)} {finding.name:<14} {finding.says}"
    yield from (f"     {text}" for text in finding.differs[:MOST_DIFFERENCES])
    yield from and_more(len(finding.differs) - MOST_DIFFERENCES, indent="     ")


def _finding_case(run: str, finding: "Finding") -> Case:
    return Case(
        name=finding.name,
        classname=run,
        kind="passed" if finding.good else "failure",
        type="differs",
        message="; ".join([finding.says, *finding.differs[:MOST_DIFFERENCES]]),
        level="" if finding.good else "error",
    )


def _names_by_value(pairs: Iterable[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """Group names by value, in the order of the first name of each."""
    names: dict[str, list[str]] = {}
    for name, value in pairs:
        names.setdefault(value, []).append(name)
    return names.items()
