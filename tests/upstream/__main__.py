"""`python -m tests.upstream`: the references by date, and whether a clone of them still gives the official verdicts."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from evalsuite.cli.showing import print_document
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, EXIT_USAGE, EvalsuiteError
from tests.upstream.document import references_document, references_verdict
from tests.upstream.references import PLACES, check_references


def main(words: Sequence[str] | None = None) -> int:
    """Run one of the two commands.

    Args:
        words: the command line without the program's name; None means `sys.argv`.

    Returns:
        0 where no rule moved, 1 where one did or could not be asked, 2 where the folder is no clone.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.upstream", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    listed = commands.add_parser("list", help="list the references: day, commit and file of each")
    listed.add_argument("--json", action="store_true", help="print one JSON object")
    check = commands.add_parser("check", help="run the comparison functions of a clone on generated cases and list every rule that moved")
    check.add_argument(
        "--against", type=Path, metavar="CLONE", required=True, help="a checkout of Spider 2.0; its code runs in the sandbox"
    )
    check.add_argument("--cases", type=int, default=8, metavar="N", help="cases generated for each rule (8)")
    check.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the cases (0)")
    check.add_argument("--seconds", type=float, default=300.0, help="wall clock of the functions of each reference, for all cases (300)")
    check.add_argument("--allow-programs", action="store_true", help="run the code of a clone you trust where the sandbox is incomplete")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(words)
    if given.command == "list":
        if given.json:
            print(json.dumps({name: place._asdict() for name, place in PLACES.items()}, indent=2))
        else:
            print("\n".join(f" {name:<9} {place.day}  {place.commit[:12]}  {place.file}" for name, place in PLACES.items()))
        return EXIT_OK
    try:
        checked = check_references(given.against, n=given.cases, seed=given.seed, seconds=given.seconds, unwalled=given.allow_programs)
    except EvalsuiteError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return EXIT_USAGE
    print_document(
        references_document(checked, given.against.name), "json" if given.json else "text", last_line=references_verdict(checked)
    )
    return EXIT_GATE if checked.moved else EXIT_OK


if __name__ == "__main__":
    raise SystemExit(main())
