"""What checks of gold found, line by line: gold against itself, lint (as JSON and for GitHub too), contamination, suspects."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalsuite.reports.ci_files import workflow_command
from evalsuite.reports.clean import clean
from evalsuite.reports.words import counted, percent

if TYPE_CHECKING:
    from evalsuite.audit.contamination import Contamination
    from evalsuite.audit.lint import Lint
    from evalsuite.audit.lint.book import Found
    from evalsuite.audit.own_gold import GoldCheck, Unsatisfied
    from evalsuite.audit.suspects import Suspects

LINT_FORMATS = ("text", "json", "github")
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
MOST_REFUSED = 100
MOST_NAMED = 10
MOST_OVERLAPS = 50
MOST_RUNS = 5


def gold_check_lines(found: "GoldCheck") -> Iterator[str]:
    """The instances that gold itself cannot answer, then single checks that refuse their gold, then the ceiling."""
    lowering = [one for one in found.unsatisfied if one.lowers]
    others = [one for one in found.unsatisfied if not one.lowers]
    if lowering:
        yield "gold's own answer is refused"
        yield from _refused(lowering)
    if others:
        yield "refused, while another answer to the same instance is accepted"
        yield from _refused(others)
    if found.untried:
        yield "not tried"
        yield from _refused(found.untried)
    if found.excused:
        yield "answered for"
        yield from (f"   {clean(id_)}: {clean(place)}" for id_, place in found.excused.items())
    yield found.ceiling.words()


def gold_check_verdict(found: "GoldCheck") -> str:
    """The last line: which instances do not get full marks though nobody answers for them."""
    failing = [clean(id_) for id_ in found.failing]
    if not failing:
        others = f", but for {len(found.excused)} answered for by lint_ignore or errata" if found.excused else ""
        tried = " that was tried" if found.untried else ""
        return f"done: every gold{tried} gets full marks under its own rules{others}"
    more = f" and {len(failing) - MOST_NAMED} more" if len(failing) > MOST_NAMED else ""
    return f"failed: no full marks under its own rules: {', '.join(failing[:MOST_NAMED])}{more} (exit 1)"


def _refused(findings: Sequence["Unsatisfied"]) -> Iterator[str]:
    for one in findings[:MOST_REFUSED]:
        rules = "+".join(one.rules)
        code = f"{one.code}: " if one.code else ""
        yield (
            f"   {clean(one.where)}: {clean(one.instance_id)}: {one.scorer}"
            + (f", {rules}" if rules else "")
            + f": {code}{clean(one.reason)}"
        )
    if len(findings) > MOST_REFUSED:
        yield f"   ... {len(findings) - MOST_REFUSED} more (--json lists all)"


def lint_text(found: "Lint", form: str) -> str:
    """All findings in one of `LINT_FORMATS`, without a line end."""
    if form == "json":
        return json.dumps(found.to_json(), indent=2)
    return "\n".join(
        [_annotation(found, one) for one in found.findings] if form == "github" else [*map(_finding, found.findings), lint_summary(found)]
    )


def _finding(one: "Found") -> str:
    owner = f"{one.instance_id}: " if one.instance_id else ""
    hint = f" ({one.hint})" if one.hint else ""
    return clean(f"{one.where}: {one.severity} {one.code}: {owner}{one.message}{hint}")


def _annotation(found: "Lint", one: "Found") -> str:
    """A workflow command; the file is given as it can be found from here, not as findings name it."""
    name, _, line = one.where.rpartition(":")
    file = str(found.book.folder / (name or one.where).rpartition("/")[2])
    owner = f"{one.instance_id}: " if one.instance_id else ""
    text = f"{owner}{one.message}" + (f" ({one.hint})" if one.hint else "")
    return workflow_command(_LEVELS[one.severity], text, file=file, line=line if line.isdigit() else "", title=f"gold lint: {one.code}")


def lint_summary(found: "Lint") -> str:
    """`40 instances: 1 error, 0 warnings, 5 notes`; what was told to keep quiet and what --fix can mend is added."""
    counts = [counted(found.count(severity), severity) for severity in ("error", "warning", "note")]
    n_fixable = sum(one.change is not None for one in found.findings)
    more = [f"{found.n_ignored} ignored"] if found.n_ignored else []
    more += [f"--fix shows a repair of {n_fixable}"] if n_fixable else []
    return f"{len(found.book.instances)} instances: {', '.join([*counts, *more])}"


def contamination_lines(found: "Contamination", *, most: int = MOST_OVERLAPS) -> Iterator[str]:
    """One row for each text of gold of which something was found, the largest share first, then the count."""
    for one in found.overlaps[:most]:
        hit = one.longest
        yield f" {percent(one.share):>7}  {clean(one.instance_id)}  {clean(one.part)}  {one.n_found} of {one.n_grams} n-grams"
        yield f"          longest: {hit.n_words} words at {clean(hit.file)}:{hit.line}: {clean(hit.text)}"
    if len(found.overlaps) > most:
        yield f" ... {len(found.overlaps) - most} more (--json lists all)"
    n_hit = len({one.instance_id for one in found.overlaps})
    yield f"{n_hit} of {found.n_instances} instances share n-grams of {found.n_words} words with the files"
    if found.n_too_short:
        yield f"{found.n_too_short} of {found.n_texts} texts of gold are too short to tell (--words asks for shorter n-grams)"


def suspects_lines(found: "Suspects", *, most: int = 20) -> Iterator[str]:
    """The first `most` suspects with their reasons, then what was looked at."""
    for number, one in enumerate(found.suspects[:most], start=1):
        yield f"{number:>3}  {one.instance_id}  right {one.n_right}/{one.n_voices}"
        yield from (f"       {reason}" for reason in one.reasons)
        if one.agreeing:
            runs = ", ".join(one.agreeing[:MOST_RUNS]) + (
                f" and {len(one.agreeing) - MOST_RUNS} more" if len(one.agreeing) > MOST_RUNS else ""
            )
            yield f"       the answer: {one.shown}  ({runs})"
    if len(found.suspects) > most:
        yield f"     ... {len(found.suspects) - most} more"
    yield from (f"note: {note}" for note in found.notes)
    n_voices = f"{found.n_voices} independent submissions in {found.n_runs} runs"
    yield f"{len(found.suspects)} of {found.n_instances} instances to look at, from {n_voices}"
