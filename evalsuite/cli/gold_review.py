"""`evalsuite gold suspects` and `evalsuite gold errata`: which gold to look at, and what was corrected."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.options import Rules, job_count, load_plugins, one_of, rule
from evalsuite.errors import EXIT_OK

if TYPE_CHECKING:
    from evalsuite.types import Gold

Json = Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")]
Plugin = Annotated[list[Path] | None, typer.Option(help="a Python file that brings scorers; may be repeated", metavar="FILE.py")]


def suspects(
    run: Annotated[list[str], typer.Argument(metavar="RUN...", help="runs of one gold, by name or folder")],
    rules: Rules = None,
    gold: Annotated[Path | None, typer.Option(help="where the gold folder lies now", metavar="DIR")] = None,
    most: Annotated[int, typer.Option("--most", help="how many suspects to show", metavar="N")] = 20,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs")] = Path(".evalsuite/runs"),
    isolation: Annotated[str, typer.Option(help="how answers are kept apart while they are read", metavar="process|none")] = "process",
    jobs: Annotated[str, typer.Option(help="answers read side by side: a number, or auto", metavar="N|auto")] = "1",
    plugin: Plugin = None,
    json_: Json = False,
) -> int:
    """List the instances whose gold may be wrong: submissions agree against it, nobody solves it, or better submissions do worse."""
    from evalsuite.reports.clean import clean
    from evalsuite.reports.gold import suspects_lines
    from evalsuite.store.history import one_run
    from evalsuite.trust.suspects import suspects as find

    load_plugins(plugin)
    entries = [one_run(name, runs) for name in run]
    how = one_of(isolation, ("process", "none"), "--isolation")
    found = find(entries, rules=rule(rules), gold=gold, isolation=how, jobs=job_count(jobs) or 1)
    if json_:
        print(json.dumps(found.to_json(), indent=2))
    else:
        for line in suspects_lines(found, most=most):
            print(clean(line))
    return EXIT_OK


def errata(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="the gold folder, or its spec file")],
    entry: Annotated[str | None, typer.Option("--entry", help="print an entry for this instance, to be filled in", metavar="ID")] = None,
    plugin: Plugin = None,
    json_: Json = False,
) -> int:
    """Say which entries of gold.errata.yaml are applied, stale or expired; or print a new one for an instance."""
    from evalsuite.gold.errata import ERRATA_FILE, read_errata
    from evalsuite.gold.layouts import read_gold
    from evalsuite.reports.clean import clean

    load_plugins(plugin)
    read = read_gold(gold)
    if entry is not None:
        print(_template(read, entry), end="")
        return EXIT_OK
    found = read_errata(read)
    entries = found.entries if found is not None else ()
    if json_:
        print(json.dumps([{**one.to_json(), "state": one.state, "gold_now": one.gold_now} for one in entries], indent=2))
        return EXIT_OK
    for one in entries:
        why = f": {one.words()}" if one.state != "applied" else f" until {one.expires.isoformat()}"
        print(clean(f" {one.id}  {'waived' if one.waives else 'patched'}  {one.state}{why}"))
        print(clean(f"   {one.author}: {one.reason}  ({one.evidence})"))
    counts = [(len(found.of_state(state)), state) for state in ("applied", "stale", "expired")] if found is not None else []
    print(", ".join(f"{count} {state}" for count, state in counts) or f"no {ERRATA_FILE} in {read.folder}")
    return EXIT_OK


def _template(gold: "Gold", instance_id: str) -> str:
    """An entry for an instance with its hash, all else to be filled in."""
    from datetime import UTC, datetime, timedelta

    from evalsuite.gold.errata import instance_hash
    from evalsuite.gold.spec import check_ids

    check_ids(gold, [instance_id])
    known = {instance.instance_id: instance for instance in gold.instances}
    until = (datetime.now(UTC) + timedelta(days=365)).date()
    name = json.dumps(instance_id, ensure_ascii=False)
    return (
        f"- id: {name}\n  gold: {json.dumps(instance_hash(gold, known[instance_id]))}\n"
        "  waive: true            # or patch: {gold: ...}, or evaluation: {func: ..., parameters: {...}}\n"
        f"  author:\n  reason:\n  evidence: https://\n  expires: {until.isoformat()}\n"
    )
