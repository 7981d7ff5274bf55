"""`evalsuite runs`: the history of saved runs."""

import re
from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import RUNS
from evalsuite.errors import EXIT_OK, UsageError

Folder = Annotated[Path, typer.Option("--runs", help="the folder of runs")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="a run's name, or its folder")]
_DAY = re.compile(r"\d{4}(-?\d{2}){0,2}")


def list_(
    runs: Folder = RUNS,
    suite: Annotated[str | None, typer.Option(help="only runs of suites that fit the pattern", metavar="GLOB")] = None,
    model: Annotated[str | None, typer.Option(help="only runs of models that fit the pattern", metavar="GLOB")] = None,
    tag: Annotated[str | None, typer.Option(help="only runs with this tag")] = None,
    since: Annotated[str, typer.Option(help="only runs from this day on", metavar="YYYY-MM-DD", show_default=False)] = "",
    until: Annotated[str, typer.Option(help="only runs up to this day", metavar="YYYY-MM-DD", show_default=False)] = "~",
) -> int:
    """List the saved runs, oldest first, with suite, scores under both rules, model and tags."""
    from evalsuite.reports.clean import clean
    from evalsuite.store.history import find_runs

    for option, day in (("--since", since), ("--until", until)):
        if day not in ("", "~") and not _DAY.fullmatch(day):
            raise UsageError(f"{option} cannot be {day!r}", hint="write a day as 2026-11-21, a month as 2026-11")
    found = find_runs(runs, suite=suite, model=model, tag=tag, since=since, until=until)
    for entry in found:
        summary = entry.run.get("summary", {})
        scores = f"official {_percent(summary.get('official'))}  strict {_percent(summary.get('strict'))}"
        about = " ".join(str(entry.metadata.get(key, "")) for key in ("model_name", "model_version")).strip()
        tags = " ".join(f"#{tag}" for tag in entry.tags)
        print(clean(f"{entry.name}  {entry.suite}  {scores}  {about} {tags}".rstrip()))
    if not found:
        asked = (("--suite", suite), ("--model", model), ("--tag", tag), ("--since", since), ("--until", until.rstrip("~")))
        said = " ".join(f"{option} {value!r}" for option, value in asked if value)
        n = len(find_runs(runs)) if said else 0
        print(clean(f"none of {n} runs in {runs} fits {said}" if n else f"no runs in {runs}"))
    return EXIT_OK


def show(run: RunName, runs: Folder = RUNS) -> int:
    """Show one run: what is known of it, all its metadata, its numbers, and the contexts of its answers where it keeps some."""
    import json

    from evalsuite.reports.clean import clean
    from evalsuite.store.contexts import read_contexts, submission_folder
    from evalsuite.store.history import one_run

    entry = one_run(run, runs)
    rows: list[tuple[str, object]] = [("run", entry.name), ("tags", " ".join(f"#{name}" for name in entry.tags) or "none")]
    rows += [(key, entry.run.get(key)) for key in ("signature", "options", "submission", "gold", "receipt")]
    rows += [*entry.metadata.items(), *entry.run.get("summary", {}).items()]
    for key, value in rows:
        print(clean(f" {key:<18} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"))
    for name, context in read_contexts(submission_folder(entry.folder, entry.run)).items():
        print(clean(f" {'context':<18} {name}: {context}"))
    return EXIT_OK


def tag(
    run: RunName,
    add: Annotated[list[str] | None, typer.Option("--add", help="a tag to add; may be repeated")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="a tag to take away; may be repeated")] = None,
    runs: Folder = RUNS,
) -> int:
    """Add tags to a run or take them away, and show its tags."""
    from evalsuite.store.history import one_run, tag_run

    if not all(name.strip() for name in add or ()):
        raise UsageError("a tag cannot be blank", hint="--add release")
    tags = tag_run(one_run(run, runs), add=add or (), remove=remove or ())
    print(" ".join(f"#{name}" for name in tags) or "no tags")
    return EXIT_OK


def rm(run: RunName, runs: Folder = RUNS) -> int:
    """Delete a run folder."""
    from evalsuite.store.history import one_run, remove_run

    entry = one_run(run, runs)
    remove_run(entry)
    print(f"deleted {entry.folder}")
    return EXIT_OK


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"


COMMANDS = {"list": list_, "show": show, "tag": tag, "rm": rm}
# What the bare group does.
DEFAULT = "list"
