"""`evalsuite scorers`: what a gold file may use in `func`, and how."""

import json
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.options import Plugins, load_plugins
from evalsuite.errors import EXIT_OK

if TYPE_CHECKING:
    from evalsuite.registry import Scorer
    from evalsuite.reports.scorer_help import Help


def command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="explain this scorer", show_default=False)] = None,
    plugin: Plugins = None,
    json_: Annotated[bool, typer.Option("--json", help="print JSON and nothing else")] = False,
) -> int:
    """List the scorers, or explain one: its parameters, what both rules ask, an example."""
    load_plugins(plugin)
    from evalsuite.reports.scorer_help import help_of, scorer_help_text, scorer_list_text
    from evalsuite.scorers import SCORERS

    entries = [SCORERS.load(name)] if name is not None else [SCORERS.load(known) for known in SCORERS.names()]
    helps = [help_of(entry) for entry in entries]
    if json_:
        print(json.dumps(helps[0].to_json() if name is not None else [about.to_json() for about in helps], indent=2))
    elif name is None:
        print(scorer_list_text(helps), end="")
        print("`evalsuite scorers NAME` explains one")
    else:
        print(scorer_help_text(helps[0], command=command_line(entries[0], helps[0])), end="")
    return EXIT_OK


def command_line(entry: "Scorer", about: "Help") -> str:
    """The scorer's own example as an `evalsuite check` command; empty where it has none."""
    from evalsuite.cli.scorer_options import as_words

    parameters = about.example.get("parameters")
    if parameters is None:
        return ""
    gold = parameters.get("gold")
    files = entry.marker.gold_files is not None and entry.marker.reads != "tree"
    golds = gold if isinstance(gold, list) else [gold]
    n_predictions = len(golds) if entry.marker.reads == "tables" else 1
    predictions = [f"answer{i}" if n_predictions > 1 else "answer" for i in range(1, n_predictions + 1)] if files else ["the answer"]
    ending = golds[0].rpartition(".")[2] if files else ""
    shown = [word for text in predictions for word in ("--prediction", f"{text}.{ending}" if files else text)]
    return shlex.join(["evalsuite", "check", entry.name, *shown, *as_words(entry, parameters)])
