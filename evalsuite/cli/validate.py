"""`evalsuite validate`: is this folder ready to hand in?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.options import Layout, Mode
from evalsuite.errors import EXIT_GATE, EXIT_OK

if TYPE_CHECKING:
    from evalsuite.trust.validate import Validation


def command(
    submission: Annotated[Path, typer.Argument(help="the submission folder", show_default=False)],
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold", "--gold-dir", "--gold_dir", help="the gold folder; its *_eval.jsonl is enough [default: look at the submission alone]"
        ),
    ] = None,
    layout: Layout = None,
    mode: Mode = None,
    json_: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False,
) -> int:
    """Say whether a submission folder is ready to hand in: lines, ids, answer types, and whether each file can be read."""
    from evalsuite.trust.validate import validate

    found = validate(submission, gold, layout=layout, mode=mode)
    if json_:
        import json

        print(json.dumps(found.to_json(), indent=2))
    else:
        _print(found)
    return EXIT_OK if found.ready else EXIT_GATE


def _print(found: "Validation") -> None:
    from evalsuite.reports.clean import clean
    from evalsuite.trust.validate import told

    for problem in found.problems:
        print(clean(told(problem)))
    for note in found.notes:
        print(clean(f"note: {note}"))
    kinds = " · ".join(f"{count} {kind}" for kind, count in found.n_answers.items() if count)
    n_answers = sum(found.n_answers.values())
    of = "" if found.n_gold is None else f" of {found.n_gold}"
    print(f"{n_answers}{of} answers" + (f" ({kinds})" if kinds else "") + f", {found.n_ready} ready")
    n_problems = f"{len(found.problems)} problem{'s' if len(found.problems) != 1 else ''}"
    print("ready to hand in" if found.ready else f"not ready: {n_problems} (exit 1)")
