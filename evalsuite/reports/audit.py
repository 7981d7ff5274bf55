"""What an audit of specs found: for a terminal, as JSON, and as Markdown."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from evalsuite.reports.clean import clean
from evalsuite.types import RULES, Rule

if TYPE_CHECKING:
    from evalsuite.audit.holes import Audit, Audited

FORMATS: Final = ("text", "json", "md")
MOST_SHOWN: Final = 20
_HEAD: Final = ("made", "official", "strict")


def audit_text(found: "Audit", form: str, *, rules: Rule, most: int = MOST_SHOWN) -> str:
    """The audit in a format of `FORMATS`, the `most` weakest checks under `rules` shown (JSON has all)."""
    if form == "json":
        return json.dumps(found.to_json(rules), indent=2)
    lines = _markdown(found, rules, most) if form == "md" else _terminal(found, rules, most)
    return "\n".join(lines)


def _terminal(found: "Audit", rules: Rule, most: int) -> Iterator[str]:
    yield f"{clean(found.name)}: {found.n_answers} answers made for {len(found.checks)} checks, seed {found.seed}"
    for title, right in _TITLES:
        rows = _kind_rows(found, right=right)
        if rows:
            yield ""
            yield from _aligned([(title, *_HEAD), *rows])
    yield ""
    weakest = found.weakest(rules)
    yield f"{len(weakest)} of {len(found.checks)} checks have a hole under {rules} rules" + (", the weakest first" if weakest else "")
    for check in weakest[:most]:
        yield f"   {clean(check.instance_id)}  {check.scorer}  {clean(check.where)}  {_verdict(check)}"
        yield from (f"      {line}" for line in _holes(check, rules))
    if len(weakest) > most:
        yield f"   ... {len(weakest) - most} more (--top N, --format json lists all)"
    yield from _notes(found)


def _markdown(found: "Audit", rules: Rule, most: int) -> Iterator[str]:
    yield f"## Audit of {_cell(found.name)}"
    yield ""
    yield f"{found.n_answers} answers made for {len(found.checks)} checks, seed {found.seed}."
    for title, right in _TITLES:
        rows = _kind_rows(found, right=right)
        if rows:
            yield ""
            yield from _table([(title, *_HEAD), *rows])
    weakest = found.weakest(rules)
    yield ""
    yield f"{len(weakest)} of {len(found.checks)} checks have a hole under {rules} rules."
    if weakest:
        yield ""
        rows = [(one.instance_id, one.scorer, one.where, _verdict(one), "; ".join(_holes(one, rules))) for one in weakest[:most]]
        yield from _table([("instance", "check", "where", "verdict", "what closes it"), *rows])
    for note in _notes(found):
        yield ""
        yield _cell(note)


_TITLES: Final = (("wrong answers caught", False), ("right answers refused", True))


def _kind_rows(found: "Audit", *, right: bool) -> list[tuple[str, ...]]:
    """A row for each kind: its name, how many were made, and by rule how many were caught (wrong ones) or refused (right ones)."""
    rows = []
    for (kind, is_right), by_rule in found.kinds().items():
        if is_right is right:
            shares = [_share(failed if right else n - failed, n) for failed, n in (by_rule[rule] for rule in RULES)]
            rows.append((kind, str(max(n for _, n in by_rule.values())), *shares))
    return rows


def _share(part: int, n: int) -> str:
    return f"{part}/{n} = {100 * part / n:.1f} %" if n else "-"


def _verdict(check: "Audited") -> str:
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


def _holes(check: "Audited", rules: Rule) -> Iterator[str]:
    """Each kind of hole with what closes it."""
    from evalsuite.audit.holes import advice

    for kind, right in dict.fromkeys((one.kind, one.right) for one in check.holes(rules)):
        yield f"{'refuses' if right else 'takes'} {kind} -> {advice(kind, rules, check.scorer, right=right)}"


def _notes(found: "Audit") -> Iterator[str]:
    from evalsuite.audit.holes import reasons

    unfit = {rule: sum(rule in check.unfit for check in found.checks) for rule in RULES}
    for rule, n in unfit.items():
        if n:
            yield f"{n} check{'s' if n > 1 else ''} left out under {rule} rules, which refuse gold itself: evalsuite gold check"
    for why, n in reasons(found).items():
        yield f"{n} check{'s' if n > 1 else ''} not audited: {clean(why)}"
    if found.n_left:
        yield f"{found.n_left} check{'s' if found.n_left > 1 else ''} left when the time was over: --seconds"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield ("   " + "   ".join(cells)).rstrip()


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for i, row in enumerate(rows):
        yield "| " + " | ".join(map(_cell, row)) + " |"
        if i == 0:
            yield "|" + " --- |" * len(row)


def _cell(text: str) -> str:
    """A text that stays in its cell and makes no link, tag or mark of its own."""
    shown = clean(text)
    for mark in "\\|`*_[]<>":
        shown = shown.replace(mark, f"\\{mark}")
    return shown
