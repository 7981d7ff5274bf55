"""What a live clone of the references says beside our rules, as a document."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from evalsuite.compare.characters import clean
from evalsuite.reports.document import Column, Document, Form, Section, Table

if TYPE_CHECKING:
    from tests.upstream.references import Checked, RuleFound

_LONGEST_TEXT = 400


def references_document(checked: "Checked", name: str) -> Document:
    """A line for each reference, then each rule that moved with an example; machines read all rules."""
    columns: list[Column[RuleFound]] = [
        Column(name="reference", role="name", value=lambda one: one.reference),
        Column(name="function", role="name", value=lambda one: one.function),
        Column(name="rule", role="name", value=lambda one: one.rule),
        Column(name="cases", value=lambda one: one.n, is_number=True, type="BIGINT"),
        Column(name="differ", value=lambda one: len(one.differing), is_number=True, type="BIGINT"),
        Column(name="problem", role="why", value=lambda one: one.problem, wraps=True),
    ]
    moved = Table(columns=columns, rows=checked.moved)

    def sections(form: Form) -> Iterator[Section]:
        marks = " " if form == "text" else ""
        yield Section(look="lines", lines=[marks + line for line in _reference_lines(checked)])
        if checked.moved:
            yield Section(title="Rules that moved", table=moved)
        for rule in checked.moved:
            if rule.differing:
                example = rule.differing[0].to_json()
                title = f"{rule.reference} · {rule.function} · {rule.rule}"
                yield Section(
                    look="part", title=f" {title}" if form == "text" else title, lines=[f"   {line}" for line in _example(example)]
                )

    every = Table(columns=columns, rows=checked.rules)
    return Document(
        name=name,
        title="",
        heading="References",
        sections=sections,
        last_line=references_verdict(checked),
        tables={"csv": every, "parquet": every},
        whole=checked.to_json(),
    )


def references_verdict(checked: "Checked") -> str:
    """The last line: how many of how many rules moved, over how many cases."""
    named = [rule for rule in checked.rules if rule.rule]
    n, n_cases = sum(rule.moved for rule in named), sum(rule.n for rule in named)
    silent = [rule.reference for rule in checked.rules if not rule.rule]
    said = f"{n or 'none'} of {len(named)} rules moved, {n_cases} cases"
    if silent:
        said += f"; not all could be asked of {', '.join(silent)}"
    return f"{said} (exit 1)" if checked.moved else f"done: {said}"


def _reference_lines(checked: "Checked") -> Iterator[str]:
    for name in checked.present:
        rules = [rule for rule in checked.rules if rule.reference == name and rule.rule]
        n_moved = sum(rule.moved for rule in rules)
        yield f"{name:<9} {sum(rule.n for rule in rules)} cases of {len(rules)} rules, {n_moved} moved"
    if checked.absent:
        yield f"not in this clone: {', '.join(checked.absent)}"


def _example(example: Mapping[str, Any]) -> Iterator[str]:
    """The lines of an example: parameters, gold and answer by columns, and what either side makes of them."""
    yield f"parameters {_short(example['parameters'])}"
    for side in ("gold", "answer"):
        tables = example[side]
        for name, grid in tables.items() if isinstance(tables, Mapping) else [("", tables)]:
            yield f"{side:<10} {f'{name} ' * bool(name)}{_short(grid)}"
    theirs = example["raised"] or example["theirs"]
    yield clean(f"ours {example['ours']}, the clone {theirs}")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return clean(text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + " ...")
