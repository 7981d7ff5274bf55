"""`evalsuite gold audit`, `suspects`, `review` and `errata`: which checks are too easy, which gold to look at, what was corrected."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.options import (
    RUNS,
    Databases,
    GoldNow,
    Isolation,
    Json,
    Plugins,
    Rules,
    RunsFolder,
    Workers,
    job_count,
    load_plugins,
    one_of,
    rule,
    share,
)
from evalsuite.cli.showing import ProgressBar, print_document
from evalsuite.errors import EXIT_GATE, EXIT_OK, UsageError, cannot_write
from evalsuite.reports.clean import clean

if TYPE_CHECKING:
    from evalsuite.types import Gold

GoldFolder = Annotated[Path, typer.Argument(metavar="GOLD", help="the gold folder, or its spec file")]


@dataclass(frozen=True, kw_only=True)
class GoldWorkers(Workers):
    """How gold is scored as its own answer."""

    isolation: Annotated[str, typer.Option(help="how files are kept apart while they are read", metavar="process|none")] = "process"
    jobs: Annotated[str, typer.Option(help="answers scored side by side: a number, or auto", metavar="N|auto")] = "auto"


def gold_audit(
    gold: GoldFolder,
    rules: Rules = None,
    only: Annotated[list[str] | None, typer.Option("--only", help="only this instance; may be repeated", metavar="ID")] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="how many answers are made for a check at most", metavar="N")] = 24,
    seconds: Annotated[float | None, typer.Option(help="score no further answer after this time", metavar="S", show_default=False)] = None,
    seed: Annotated[int, typer.Option(help="what chooses the rows and cells that are changed")] = 0,
    top: Annotated[int, typer.Option("--top", min=0, help="how many of the weakest checks are shown", metavar="N")] = 20,
    form: Annotated[str, typer.Option("--format", help="how the audit is written", metavar="text|json|md")] = "text",
    fail_under: Annotated[
        float | None, typer.Option("--fail-under", help="exit 1 where less than this share of the wrong answers is caught", metavar="0-1")
    ] = None,
    *,
    workers: GoldWorkers,
    plugin: Plugins = None,
    databases: Databases = None,
    json_: Json = False,
) -> int:
    """Make wrong and right answers from gold and say which each check takes: the holes of a spec, and what closes them."""
    from evalsuite.audit.mutation import audit_gold
    from evalsuite.reports.audit_document import AUDIT_FORMATS, audit_document

    share(fail_under, "--fail-under")
    if seconds is not None and seconds <= 0:
        raise UsageError(f"--seconds cannot be {seconds:g}", hint="a number of seconds above 0")
    load_plugins(plugin)
    form = one_of("json" if json_ else form, AUDIT_FORMATS, "--format")
    chosen = rule(rules) or "official"
    with ProgressBar() as progress:
        how = workers.options()
        found = audit_gold(
            gold, only=tuple(only or ()), most=most, seconds=seconds, seed=seed, progress=progress, databases=databases, **how
        )
    print_document(audit_document(found, rules=chosen, most=top), form)
    caught = found.caught(chosen)
    if fail_under is not None and caught is not None and caught < fail_under:
        print(f"below the gate of {fail_under * 100:.1f} % (exit 1)", file=sys.stdout if form == "text" else sys.stderr)
        return EXIT_GATE
    return EXIT_OK


def gold_suspects(
    run: Annotated[list[str], typer.Argument(metavar="RUN...", help="runs of one gold, by name or folder")],
    rules: Rules = None,
    gold: GoldNow = None,
    most: Annotated[int, typer.Option("--most", help="how many suspects to show", metavar="N")] = 20,
    runs: RunsFolder = RUNS,
    isolation: Isolation = "process",
    jobs: Annotated[str, typer.Option(help="answers read side by side: a number, or auto", metavar="N|auto")] = "1",
    plugin: Plugins = None,
    json_: Json = False,
) -> int:
    """List the instances whose gold may be wrong: submissions agree against it, nobody solves it, or better submissions do worse."""
    from evalsuite.audit.suspects import suspects
    from evalsuite.reports.gold_documents import suspects_document
    from evalsuite.store.history import one_run

    load_plugins(plugin)
    entries = [one_run(name, runs) for name in run]
    how = one_of(isolation, ("process", "none"), "--isolation")
    found = suspects(entries, rules=rule(rules), gold=gold, isolation=how, jobs=job_count(jobs) or 1)
    print_document(suspects_document(found, most=most), "json" if json_ else "text")
    return EXIT_OK


def gold_review(
    run: Annotated[list[str], typer.Argument(metavar="RUN...", help="runs of one gold, by name or folder")],
    author: Annotated[str, typer.Option(help="who looks, as entries name it", metavar="NAME")],
    evidence: Annotated[str, typer.Option(help="where it is shown why a gold is wrong", metavar="https://...")],
    rules: Rules = None,
    gold: GoldNow = None,
    most: Annotated[int, typer.Option("--most", min=1, help="how many instances to look at", metavar="N")] = 20,
    runs: RunsFolder = RUNS,
    isolation: Isolation = "process",
    plugin: Plugins = None,
) -> int:
    """Walk through the golds that may be wrong, in the order of what a look is worth; one key writes the entry of gold.errata.yaml.

    Keys: w the gold is wrong (waive it), r it is right, s skip, q quit.
    """
    from evalsuite.audit.suspects import suspects
    from evalsuite.gold.errata import ERRATA_FILE, read_errata
    from evalsuite.gold.layouts import read_gold
    from evalsuite.store.history import one_run

    if not evidence.startswith(("http://", "https://")):
        raise UsageError(f"evidence must be a link, found {evidence!r}", hint="--evidence https://... to where it is shown")
    if not author.strip():
        raise UsageError("--author is empty", hint="--author 'M. Rossi'")
    load_plugins(plugin)
    entries = [one_run(name, runs) for name in run]
    read = read_gold(gold or Path(str(entries[0].run.get("gold", {}).get("folder", "gold"))))
    how = one_of(isolation, ("process", "none"), "--isolation")
    # An entry of gold.errata.yaml is about a whole instance.
    found = suspects(entries, rules=rule(rules), gold=gold, isolation=how, records=False)
    known = read_errata(read)
    done = {one.id for one in known.entries} if known is not None else set()
    listed = [one for one in sorted(found.suspects, key=lambda one: (-one.worth, one.instance_id)) if one.instance_id not in done][:most]
    n_written = 0
    for at, one in enumerate(listed, 1):
        print(clean(f"{at}/{len(listed)}  {one.instance_id}  right {one.n_right}/{one.n_voices}  P(gold is wrong) {one.p_wrong:.2f}"))
        for line in (*one.reasons, *([f"the answer: {one.shown}  ({', '.join(one.agreeing)})"] if one.agreeing else ())):
            print(clean(f"   {line}"))
        key = _asked_key("   gold is [w]rong, [r]ight, [s]kip, [q]uit: ", "wrsq")
        if key == "q":
            break
        if key == "w":
            says = {"author": author, "reason": "; ".join(one.reasons) or f"P(gold is wrong) = {one.p_wrong:.2f}", "evidence": evidence}
            _append(read.folder / ERRATA_FILE, _new_entry(read, one.instance_id, says))
            n_written += 1
            print(f"   written to {clean(str(read.folder / ERRATA_FILE))}")
    print(f"{n_written} entr{'y' if n_written == 1 else 'ies'} written, of {len(listed)} instances to look at")
    return EXIT_OK


def _asked_key(question: str, keys: str) -> str:
    """The first of the keys that a person gives; `q` where nobody answers any more."""
    while True:
        try:
            given = input(question).strip().lower()[:1]
        except EOFError:
            print()
            return "q"
        if given and given in keys:
            return given


def _append(file: Path, entry: str) -> None:
    """Put an entry at the end of a file, which begins then where there is none. Raises `OutputError`."""
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        with file.open("a", encoding="utf-8") as handle:
            handle.write(("" if not before or before.endswith("\n") else "\n") + entry)
    except OSError as error:
        raise cannot_write(file, error) from error


def gold_errata(
    gold: GoldFolder,
    entry: Annotated[str | None, typer.Option("--entry", help="print an entry for this instance, to be filled in", metavar="ID")] = None,
    plugin: Plugins = None,
    json_: Json = False,
) -> int:
    """Say which entries of gold.errata.yaml are applied, stale or expired; or print a new one for an instance."""
    from evalsuite.gold.errata import ERRATA_FILE, read_errata
    from evalsuite.gold.layouts import read_gold

    load_plugins(plugin)
    read = read_gold(gold)
    if entry is not None:
        print(_new_entry(read, entry), end="")
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


def _new_entry(gold: "Gold", instance_id: str, says: Mapping[str, str] | None = None) -> str:
    """An entry for an instance with its hash; what `says` does not say of author, reason and evidence is to be filled in."""
    from datetime import UTC, datetime, timedelta

    from evalsuite.gold.errata import instance_hash
    from evalsuite.gold.spec import check_ids

    check_ids(gold, [instance_id])
    known = {instance.instance_id: instance for instance in gold.instances}
    until = (datetime.now(UTC) + timedelta(days=365)).date()
    name = json.dumps(instance_id, ensure_ascii=False)
    if says is not None:
        filled = "".join(f"  {key}: {json.dumps(text, ensure_ascii=False)}\n" for key, text in says.items())
        waived = f"- id: {name}\n  gold: {json.dumps(instance_hash(gold, known[instance_id]))}\n  waive: true\n"
        return f"{waived}{filled}  expires: {until.isoformat()}\n"
    return (
        f"- id: {name}\n  gold: {json.dumps(instance_hash(gold, known[instance_id]))}\n"
        "  waive: true            # or patch: {gold: ...}, or evaluation: {func: ..., parameters: {...}}\n"
        f"  author:\n  reason:\n  evidence: https://\n  expires: {until.isoformat()}\n"
    )
