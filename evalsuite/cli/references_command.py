"""`evalsuite references`: whether the references whose verdicts are called official still say what our rules say."""

import json
from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import Group, Json
from evalsuite.cli.showing import Outputs, check_showing, print_document, with_lost, write_all
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, UsageError


def references_check(
    against: Annotated[
        Path | None, typer.Option(help="a checkout of Spider 2.0; code of it is run", metavar="CLONE", show_default=False)
    ] = None,
    cases: Annotated[int, typer.Option(help="how many cases are made for each rule", metavar="N", min=1, max=1000)] = 8,
    seed: Annotated[int, typer.Option(help="the seed of the cases", metavar="N")] = 0,
    seconds: Annotated[float, typer.Option(help="wall clock of the functions of each reference, for all cases", min=0.1)] = 300.0,
    allow_programs: Annotated[
        bool, typer.Option("--allow-programs", help="run the clone's code where this machine does not give every wall: one you trust")
    ] = False,
    output: Outputs = None,
    json_: Json = False,
) -> int:
    """Ask the comparison functions of a clone of Spider 2.0 about made cases, and list every rule that moved against ours.

    This runs the clone's code, which is a stranger's: in a process of its own without network, that writes nothing, reads the clone and
    the cases alone, and has a time limit. Packages that do not compare (clients of databases) are left out. Exit code 0 where no rule
    moved, 1 where one did or could not be asked, 2 where the folder is no clone.
    """
    from evalsuite.audit.references import check_references
    from evalsuite.reports.references_document import references_document, references_verdict

    if against is None:
        raise UsageError("no clone to compare with", hint="--against CLONE: a checkout of Spider 2.0")
    check_showing(output or (), None)
    checked = check_references(against, n=cases, seed=seed, seconds=seconds, unwalled=allow_programs)
    document = references_document(checked, against.name)
    n_lost = write_all(document, output or ())
    code, line = with_lost(EXIT_GATE if checked.moved else EXIT_OK, references_verdict(checked), n_lost)
    print_document(document, "json" if json_ else "text", last_line=line)
    return code


def references_list(json_: Json = False) -> int:
    """List the references by date: the commit of Spider 2.0 whose comparison functions are the official rules of each, and its file."""
    from evalsuite.audit.references import PLACES

    if json_:
        print(json.dumps({name: place._asdict() for name, place in PLACES.items()}, indent=2))
        return EXIT_OK
    for name, place in PLACES.items():
        print(f" {name:<9} {place.day}  {place.commit[:12]}  {place.file}")
    print("`reference: NAME` in suite.yaml, or in the parameters of a table check, says whose rules are official; `original` without it")
    return EXIT_OK


references_commands = Group({"list": references_list, "check": references_check})
