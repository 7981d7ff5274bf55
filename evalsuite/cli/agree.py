"""`evalsuite agree`: do two raters say the same?"""

import math
from pathlib import Path
from typing import Annotated

import typer

from evalsuite.errors import EXIT_OK, UsageError

Rater = Annotated[str, typer.Argument(help="a run's name or folder, or a .csv file with the columns instance_id and label")]


def command(
    rater_a: Rater,
    rater_b: Rater,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs")] = Path(".evalsuite/runs"),
    threshold: Annotated[float | None, typer.Option(help="count labels of at least this as 1, others as 0", metavar="NUMBER")] = None,
    most: Annotated[int, typer.Option(help="how many disagreements are shown")] = 20,
    json_: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False,
) -> int:
    """Say how far two raters agree beyond chance, and where they do not: two runs (two judges), or a run and labels of people."""
    from evalsuite.board.raters import agree, read_rater
    from evalsuite.reports.agreement import agreement_lines

    if threshold is not None and math.isnan(threshold):
        raise UsageError("--threshold cannot be nan", hint="a number; labels of at least this count as 1")
    if most < 0:
        raise UsageError(f"--most cannot be {most}", hint="a number from 0")
    found = agree(read_rater(rater_a, runs), read_rater(rater_b, runs), threshold=threshold)
    if json_:
        import json

        print(json.dumps(found.to_json(), indent=2))
    else:
        print("\n".join(agreement_lines(found, most=most)))
    return EXIT_OK
