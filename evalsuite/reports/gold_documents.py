"""Documents of checks of gold: gold scored against itself, lint, contamination, suspects, and the audit of specs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from evalsuite.compare.characters import clean
from evalsuite.core.types import RULES, Rule
from evalsuite.reports.document import MACHINES, PEOPLE, Case, Code, Column, Document, Form, Own, Section, Strong, Suite, Table
from evalsuite.reports.words import count_words, percent

if TYPE_CHECKING:
    from evalsuite.analysis.gold_checks.contamination import Contamination, Overlap
    from evalsuite.analysis.gold_checks.lenient_gold import LintFinding
    from evalsuite.analysis.gold_checks.lint import Lint
    from evalsuite.analysis.gold_checks.mutation import Audit, Audited
    from evalsuite.analysis.gold_checks.own_gold import GoldCheck, Unsatisfied
    from evalsuite.analysis.gold_checks.suspects import Suspect, Suspects


LINT_FORMATS = ("text", "json", "github")
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
MOST_REFUSED = 100
MOST_NAMED = 10
MOST_OVERLAPS = 50
MOST_RUNS = 5


def gold_check_document(check: "GoldCheck", name: str) -> Document:
    """Build the report of gold scored as its own answer: refused instances first, then refused checks, then gold's own score."""
    parts = {
        "gold's own answer is refused": [one for one in check.unsatisfied if one.lowers],
        "refused, while another answer to the same instance is accepted": [one for one in check.unsatisfied if not one.lowers],
        "not tried": list(check.untried),
    }
    state = {one: title for title, rows in parts.items() for one in rows}
    columns: list[Column[Unsatisfied]] = [
        Column(name="state", value=lambda one: state[one], forms=MACHINES),
        Column(name="instance_id", title="instance", role="name", value=lambda one: one.instance_id),
        Column(name="where", value=lambda one: one.where),
        Column(name="scorer", value=lambda one: one.scorer),
        Column(name="rules", value=lambda one: "+".join(one.rules)),
        Column(name="code", value=lambda one: one.code or None),
        Column(name="reason", title="why", role="why", value=lambda one: one.reason, wraps=True),
    ]

    def sections(form: Form) -> Iterator[Section]:
        yield Section(prose=[Strong(gold_check_verdict(check))] if form != "text" else ())
        for title, rows in parts.items():
            more = len(rows) - MOST_REFUSED
            if rows:
                yield Section(
                    look="lines",
                    title=title,
                    table=Table(columns=columns, rows=rows[:MOST_REFUSED], lines=lambda one: [_refused_line(one)]),
                    below=[f"   ... {more} more (--json lists all)"] if more > 0 else (),
                )
        if check.excused:
            answered = [f"   {id_}: {place}" for id_, place in check.excused.items()]
            yield Section(look="lines", title="answered for", lines=answered)
        if check.by_the_day:
            title = "gold that asks the time: its verdicts move by the day, --frozen-clock DAY stops the clock"
            more = len(check.by_the_day) - MOST_REFUSED
            named = [f"   {id_}" for id_ in check.by_the_day[:MOST_REFUSED]]
            yield Section(look="lines", title=title, lines=named, below=[f"   ... {more} more (--json lists all)"] if more > 0 else ())
        yield Section(look="lines", lines=[check.ceiling.words()])

    every = Table(columns=columns, rows=list(state))
    return Document(
        name=name,
        title="",
        heading=("Gold check of ", Code(name, 80)),
        sections=sections,
        last_line=gold_check_verdict(check),
        tables={"csv": every, "parquet": every},
        whole=check.to_json(),
        suites=lambda: [Suite(name=name, cases=[_refused_case(check, one) for one in every.rows], properties=())],
    )


def _refused_line(refused: "Unsatisfied") -> str:
    rules = f", {'+'.join(refused.rules)}" if refused.rules else ""
    code = f"{refused.code}: " if refused.code else ""
    return f"   {refused.where}: {refused.instance_id}: {refused.scorer}{rules}: {code}{refused.reason}"


def _refused_case(check: "GoldCheck", refused: "Unsatisfied") -> Case:
    """Build a test case: a failure if a refusal lowers gold's own score and nothing excuses it; untried or harmless ones are skipped."""
    fails = refused.instance_id in check.failing and bool(refused.rules) and refused.lowers
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
    failing = [clean(id_) for id_ in check.failing]
    if not failing:
        others = f", but for {len(check.excused)} answered for by lint_ignore or errata" if check.excused else ""
        tried = " that was tried" if check.untried else ""
        return f"done: every gold{tried} gets full marks under its own rules{others}"
    more = f" and {len(failing) - MOST_NAMED} more" if len(failing) > MOST_NAMED else ""
    return f"failed: no full marks under its own rules: {', '.join(failing[:MOST_NAMED])}{more} (exit 1)"


def lint_document(lint: "Lint") -> Document:
    """Build the report of all findings, one line each, with their counts; annotations use the lines of the spec."""
    columns: list[Column[LintFinding]] = [
        Column(name="where", role="name", value=lambda one: one.where),
        Column(name="severity", role="name", value=lambda one: one.severity, words=lambda one: Own(one.severity)),
        Column(name="code", role="name", value=lambda one: one.code),
        Column(name="instance_id", title="instance", value=lambda one: one.instance_id or None),
        Column(name="message", role="why", value=lambda one: one.message, wraps=True),
        Column(name="hint", role="why", value=lambda one: one.hint or None, wraps=True),
        Column(name="fixable", type="BOOLEAN", value=lambda one: one.change is not None, forms=MACHINES),
    ]
    name = lint.book.folder.name
    table = Table(
        columns=columns,
        rows=lint.findings,
        is_long=True,
        lines=lambda one: [f"{one.where}: {one.severity} {one.code}: {_finding_text(one)}"],
    )
    return Document(
        name=name,
        title="",
        heading=("Lint of ", Code(name, 80)),
        sections=lambda _: [Section(look="lines", table=table), Section(look="lines", lines=[lint_summary(lint)])],
        tables={"csv": table, "parquet": table},
        whole=lint.to_json(),
        suites=lambda: [Suite(name=name, cases=[_lint_case(lint, one) for one in lint.findings], properties=())],
    )


def _finding_text(one: "LintFinding") -> str:
    return (f"{one.instance_id}: " if one.instance_id else "") + one.message + (f" ({one.hint})" if one.hint else "")


def _lint_case(lint: "Lint", one: "LintFinding") -> Case:
    """Build a test case: an error is a failure, anything else is skipped. Its place is relative to the working directory."""
    name, _, line = one.where.rpartition(":")
    file = str(lint.book.folder / (name or one.where).rpartition("/")[2])
    return Case(
        name=f"{one.where}: {one.code}",
        classname=f"{lint.book.folder.name}.{one.severity}",
        kind="failure" if one.severity == "error" else "skipped",
        type=one.code,
        message=_finding_text(one),
        place=f"{file}:{line}" if line.isdigit() else file,
        level=_LEVELS[one.severity],
        title=f"gold lint: {one.code}",
    )


def lint_summary(lint: "Lint") -> str:
    """`40 instances: 1 error, 0 warnings, 5 notes`; plus the number of suppressed findings and of findings that --fix can repair."""
    counts = [count_words(lint.count(severity), severity) for severity in ("error", "warning", "note")]
    n_fixable = sum(one.change is not None for one in lint.findings)
    more = [f"{lint.n_ignored} ignored"] if lint.n_ignored else []
    more += [f"--fix shows a repair of {n_fixable}"] if n_fixable else []
    return f"{len(lint.book.instances)} instances: {', '.join([*counts, *more])}"


def contamination_document(contamination: "Contamination", name: str) -> Document:
    """Build a report with one row per text of gold that was found, the largest share first, then the count."""
    columns: list[Column[Overlap]] = [
        Column(name="instance_id", title="instance", role="name", value=lambda one: one.instance_id),
        Column(name="part", role="name", value=lambda one: one.part),
        Column(name="share", type="DOUBLE", value=lambda one: one.share, words=lambda one: Own(percent(one.share)), is_number=True),
        Column(name="n_found", title="n-grams", type="BIGINT", value=lambda one: one.n_found, is_number=True),
        Column(name="n_grams", title="of", type="BIGINT", value=lambda one: one.n_grams, is_number=True),
        Column(name="file", title="longest in", value=lambda one: f"{one.longest.file}:{one.longest.line}"),
        Column(name="text", title="longest", role="why", value=lambda one: one.longest.text, wraps=True),
    ]

    def sections(_: Form) -> Iterator[Section]:
        more = len(contamination.overlaps) - MOST_OVERLAPS
        if contamination.overlaps:
            yield Section(
                look="lines",
                table=Table(columns=columns, rows=contamination.overlaps[:MOST_OVERLAPS], lines=_overlap_lines),
                below=[f" ... {more} more (--json lists all)"] if more > 0 else (),
            )
        n_hit = len({one.instance_id for one in contamination.overlaps})
        said = [f"{n_hit} of {contamination.n_instances} instances share n-grams of {contamination.n_words} words with the files"]
        if contamination.n_too_short:
            few = f"{contamination.n_too_short} of {contamination.n_texts} texts of gold"
            said.append(f"{few} are too short to tell (--words asks for shorter n-grams)")
        yield Section(look="lines", lines=said)

    every = Table(columns=columns, rows=contamination.overlaps)
    tables: dict[Form, Table[Overlap]] = {"csv": every, "parquet": every}
    heading = ("Contamination of ", Code(name, 80))
    return Document(name=name, title="", heading=heading, sections=sections, tables=tables, whole=contamination.to_json())


def _overlap_lines(overlap: "Overlap") -> Sequence[str]:
    hit = overlap.longest
    return (
        f" {percent(overlap.share):>7}  {overlap.instance_id}  {overlap.part}  {overlap.n_found} of {overlap.n_grams} n-grams",
        f"          longest: {hit.n_words} words at {hit.file}:{hit.line}: {hit.text}",
    )


def suspects_document(suspects: "Suspects", *, most: int = 20) -> Document:
    """Build the report of the first `most` suspects with their reasons, then the inputs."""
    numbers = {one.instance_id: at for at, one in enumerate(suspects.suspects, start=1)}
    columns: list[Column[Suspect]] = [
        Column(name="place", role="name", type="BIGINT", value=lambda one: numbers[one.instance_id], is_number=True),
        Column(name="instance_id", title="instance", role="name", value=lambda one: one.instance_id),
        Column(name="n_right", title="right", type="BIGINT", value=lambda one: one.n_right, is_number=True),
        Column(name="n_voices", title="of", type="BIGINT", value=lambda one: one.n_voices, is_number=True),
        Column(name="p_wrong", title="P(wrong)", type="DOUBLE", value=lambda one: one.p_wrong, is_number=True),
        Column(name="answer", title="the answer", value=lambda one: one.shown if one.agreeing else None),
        Column(name="reasons", title="why", role="why", value=lambda one: "; ".join(one.reasons), wraps=True),
    ]

    def lines(suspect: "Suspect") -> Iterator[str]:
        right = f"right {suspect.n_right}/{suspect.n_voices}"
        yield f"{numbers[suspect.instance_id]:>3}  {suspect.instance_id}  {right}  P(gold is wrong) {suspect.p_wrong:.2f}"
        yield from (f"       {reason}" for reason in suspect.reasons)
        if suspect.agreeing:
            more = f" and {len(suspect.agreeing) - MOST_RUNS} more" if len(suspect.agreeing) > MOST_RUNS else ""
            yield f"       the answer: {suspect.shown}  ({', '.join(suspect.agreeing[:MOST_RUNS])}{more})"

    def sections(_: Form) -> Iterator[Section]:
        more = len(suspects.suspects) - most
        if suspects.suspects:
            table = Table(columns=columns, rows=suspects.suspects[:most], lines=lambda one: list(lines(one)))
            yield Section(look="lines", table=table, below=[f"     ... {more} more"] if more > 0 else ())
        n_voices = f"{suspects.n_voices} independent submissions in {suspects.n_runs} runs"
        n_units, n_instances = suspects.n_units, suspects.n_instances
        among = f"{n_units} records in {count_words(n_instances, 'instance')}" if n_units > n_instances else f"{n_instances} instances"
        said = f"{len(suspects.suspects)} of {among} to look at, from {n_voices}"
        expected = [f"expected: {suspects.outlook.says}"] if suspects.outlook.says else []
        yield Section(look="lines", lines=[*(f"note: {note}" for note in suspects.notes), *expected, said])

    every = Table(columns=columns, rows=suspects.suspects)
    tables: dict[Form, Table[Suspect]] = {"csv": every, "parquet": every}
    heading = "Instances whose gold may be wrong"
    return Document(name="suspects", title="", heading=heading, sections=sections, tables=tables, whole=suspects.to_json())


AUDIT_FORMATS: Final = ("text", "json", "md")
MOST_SHOWN: Final = 20
_TITLES: Final = (("wrong answers caught", False), ("right answers refused", True))
KindRow = tuple[str, str, str, str]


def audit_document(audit: "Audit", *, rules: Rule, most: int = MOST_SHOWN) -> Document:
    """Build the audit report with the `most` weakest checks under `rules`; files for programs contain all."""
    weakest = audit.weakest(rules)
    columns: list[Column[Audited]] = [
        Column(name="instance_id", title="instance", role="name", value=lambda one: one.instance_id),
        Column(name="scorer", title="check", role="name", value=lambda one: one.scorer),
        Column(name="where", role="name", value=lambda one: one.where),
        Column(name="verdict", words=_verdict_words, forms=PEOPLE),
        Column(name="weakness", type="DOUBLE", value=lambda one: one.weakness(rules), forms=MACHINES),
        Column(
            name="holes",
            title="what closes it",
            role="why",
            value=lambda one: "; ".join(_hole_lines(one, rules)) or None,
            words=lambda one: "; ".join(_hole_lines(one, rules)),
            wraps=True,
        ),
    ]

    def sections(form: Form) -> Iterator[Section]:
        yield Section(
            look="lines", prose=[f"{audit.name}: {audit.n_answers} answers made for {len(audit.checks)} checks, seed {audit.seed}"]
        )
        for title, right in _TITLES:
            if rows := _kind_rows(audit, right=right):
                yield _kinds_section(title, rows, form)
        if sizes := audit.sizes():
            sized = [(size, *_shares_of_kind(by_rule, right=False)) for size, by_rule in sizes.items()]
            yield _kinds_section("numbers changed by, caught", sized, form)
        said = f"{len(weakest)} of {len(audit.checks)} checks have a hole under {rules} rules" + (", the weakest first" if weakest else "")
        more = len(weakest) - most
        yield Section(
            look="part",
            prose=[said],
            table=Table(columns=columns, rows=weakest[:most], lines=lambda one: _weak_lines(one, rules)) if weakest[:most] else None,
            below=[f"   ... {more} more (--top N, --format json lists all)"] if more > 0 else (),
        )
        yield Section(look="lines", prose=list(_audit_notes(audit)))

    every = Table(columns=columns, rows=audit.checks)
    return Document(
        name=audit.name,
        title="",
        heading=("Audit of ", Code(audit.name, 80)),
        sections=sections,
        tables={"csv": every, "parquet": every},
        whole=audit.to_json(rules),
        suites=lambda: [Suite(name=audit.name, cases=[_check_case(audit, one, rules) for one in audit.checks], properties=())],
    )


def _kinds_section(title: str, rows: Sequence[KindRow], form: Form) -> Section:
    """Build the table of answer kinds: how many were made, and how many were caught or refused under each rule."""
    heads = (title, "made", "official", "strict")
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]

    def line(row: KindRow) -> str:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        return ("   " + "   ".join(cells)).rstrip()

    def cell(at: int) -> Callable[[KindRow], str]:
        return lambda row: row[at]

    columns: list[Column[KindRow]] = [
        Column(name=head, words=cell(at), role="name" if at == 0 else "more", is_number=at > 0) for at, head in enumerate(heads)
    ]
    head = [line(heads)] if form == "text" else ()
    return Section(look="part", prose=head, table=Table(columns=columns, rows=rows, lines=lambda row: [line(row)]))


def _kind_rows(audit: "Audit", *, right: bool) -> list[KindRow]:
    """Yield one row per kind: its name, how many were made, and by rule how many were caught (wrong) or refused (right)."""
    rows = []
    for (kind, is_right), by_rule in audit.kinds().items():
        if is_right is right:
            rows.append((kind, *_shares_of_kind(by_rule, right=right)))
    return rows


def _shares_of_kind(by_rule: Mapping[Rule, tuple[int, int]], *, right: bool) -> tuple[str, str, str]:
    """Return how many were made, and how many of them were caught, or refused, under official and strict rules."""
    official, strict = (_part_of(failed if right else n - failed, n) for failed, n in (by_rule[rule] for rule in RULES))
    return str(max(n for _, n in by_rule.values())), official, strict


def _part_of(part: int, n: int) -> str:
    return f"{part}/{n} = {100 * part / n:.1f} %" if n else "-"


def _verdict_words(check: "Audited") -> str:
    """Describe what the check catches and refuses, by rule."""
    said = []
    for rule in RULES:
        if rule in check.unfit:
            said.append(f"{rule}: refuses gold itself")
            continue
        wrong, right = check.counted(rule, right=False), check.counted(rule, right=True)
        parts = [f"catches {sum(not one.fails(rule) for one in wrong)}/{len(wrong)}"] if wrong else []
        parts += [f"refuses {sum(one.fails(rule) for one in right)}/{len(right)} right ones"] if right else []
        said.append(f"{rule}: {', '.join(parts) or 'nothing counts'}")
    return " · ".join(said)


def _hole_lines(check: "Audited", rules: Rule) -> Iterator[str]:
    """Yield each kind of accepted wrong answer with the verified fix."""
    holes = {(one.kind, one.right): one for one in reversed(check.holes(rules))}
    for kind, right in dict.fromkeys((one.kind, one.right) for one in check.holes(rules)):
        yield f"{'refuses' if right else 'takes'} {kind} -> {check.advice(holes[kind, right], rules)}"


def _weak_lines(check: "Audited", rules: Rule) -> list[str]:
    head = f"   {check.instance_id}  {check.scorer}  {check.where}  {_verdict_words(check)}"
    return [head, *(f"      {line}" for line in _hole_lines(check, rules))]


def _check_case(audit: "Audit", check: "Audited", rules: Rule) -> Case:
    """Build a test case: a check that accepts wrong answers under these rules is a failure."""
    holes = list(_hole_lines(check, rules))
    return Case(
        name=check.instance_id,
        classname=f"{audit.name}.{check.scorer}",
        kind="failure" if holes else "skipped" if rules in check.unfit else "passed",
        type="hole" if holes else "unfit",
        message="; ".join(holes) or f"{rules} refuses gold itself",
        place=check.where,
        level="warning" if holes else "",
    )


def _audit_notes(audit: "Audit") -> Iterator[str]:
    for rule in RULES:
        if n := sum(rule in check.unfit for check in audit.checks):
            yield f"{n} check{'s' if n > 1 else ''} left out under {rule} rules, which refuse gold itself: evalsuite gold check"
    for why, n in audit.reasons().items():
        yield f"{n} check{'s' if n > 1 else ''} not audited: {why}"
    if audit.n_left:
        yield f"{audit.n_left} check{'s' if audit.n_left > 1 else ''} left when the time was over: --seconds"
