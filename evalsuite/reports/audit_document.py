"""What an audit of specs found, as a document: how many of each kind of answer are caught or refused, and the weakest checks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from evalsuite.reports.document import MACHINES, PEOPLE, Case, Code, Column, Document, Form, Section, Suite, Table
from evalsuite.types import RULES, Rule

if TYPE_CHECKING:
    from evalsuite.audit.holes import Audit, Audited

# The forms in which an audit is printed.
AUDIT_FORMATS: Final = ("text", "json", "md")
MOST_SHOWN: Final = 20
_TITLES: Final = (("wrong answers caught", False), ("right answers refused", True))
KindRow = tuple[str, str, str, str]


def audit_document(audit: "Audit", *, rules: Rule, most: int = MOST_SHOWN) -> Document:
    """The audit with the `most` weakest checks under `rules`; files for programs hold all."""
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
    """How many answers of each kind were made, and how many were caught or refused under each rule."""
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
    """A row for each kind: its name, how many were made, and by rule how many were caught (wrong ones) or refused (right ones)."""
    rows = []
    for (kind, is_right), by_rule in audit.kinds().items():
        if is_right is right:
            rows.append((kind, *_shares_of_kind(by_rule, right=right)))
    return rows


def _shares_of_kind(by_rule: Mapping[Rule, tuple[int, int]], *, right: bool) -> tuple[str, str, str]:
    """How many were made, and how many of them were caught, or refused, under official and strict rules."""
    official, strict = (_part_of(failed if right else n - failed, n) for failed, n in (by_rule[rule] for rule in RULES))
    return str(max(n for _, n in by_rule.values())), official, strict


def _part_of(part: int, n: int) -> str:
    return f"{part}/{n} = {100 * part / n:.1f} %" if n else "-"


def _verdict_words(check: "Audited") -> str:
    """What the check catches and refuses, by rule."""
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
    """Each kind of hole with what closes it."""
    holes = {(one.kind, one.right): one for one in reversed(check.holes(rules))}
    for kind, right in dict.fromkeys((one.kind, one.right) for one in check.holes(rules)):
        yield f"{'refuses' if right else 'takes'} {kind} -> {check.advice(holes[kind, right], rules)}"


def _weak_lines(check: "Audited", rules: Rule) -> list[str]:
    head = f"   {check.instance_id}  {check.scorer}  {check.where}  {_verdict_words(check)}"
    return [head, *(f"      {line}" for line in _hole_lines(check, rules))]


def _check_case(audit: "Audit", check: "Audited", rules: Rule) -> Case:
    """A check with a hole under these rules is a failure."""
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
