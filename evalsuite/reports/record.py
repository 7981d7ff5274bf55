"""The input of every report: the `run.json` object of a run with its results and summary, live or read from disk."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.core.errors import UsageError
from evalsuite.core.types import METADATA_ARRAY, Result, Rule
from evalsuite.gold.question_texts import NOTHING, Exchange, Exchanges, exchanges_of
from evalsuite.runs.run_folder import labels_beside
from evalsuite.runs.summary import Summary, summarise

if TYPE_CHECKING:
    from evalsuite.runs.history import RunEntry
    from evalsuite.runs.run_result import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A finished run for reports: n results in gold order. `name` is the run folder's name, or the submission's if the run was not saved.

    `level` is how much of gold it contains, one of `redaction.LEVELS`.
    """

    name: str
    run: Mapping[str, Any]
    results: tuple[Result, ...]
    summary: Summary
    folder: Path | None
    tags: tuple[str, ...] = ()
    level: str = "cells"
    exchanges: Exchanges | None = None

    def exchange(self, instance_id: str) -> Exchange:
        """Return question, reference and answer; empty if gold's values are hidden."""
        return NOTHING if self.exchanges is None or self.level != "cells" else self.exchanges.of(instance_id)

    @property
    def suite(self) -> str:
        """The suite's name."""
        return str(self.run["gold"]["name"])

    @property
    def submission(self) -> str:
        """The name of the submission folder."""
        folder = str(self.run["submission"]["folder"])
        return Path(folder).name or folder

    @property
    def rules(self) -> Rule:
        """The rules of the score."""
        found: Rule = self.run["options"]["rules"]
        return found

    @property
    def layout(self) -> str:
        """The layout of gold: a key of `gold.layouts.LAYOUTS`."""
        return str(self.run["gold"].get("layout", "original"))

    @property
    def hidden(self) -> bool:
        """Whether the suite keeps its gold secret."""
        return bool(self.run["gold"].get("hidden"))

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Instance id -> its tags, for instances with tags."""
        found: dict[str, list[str]] = {}
        for tag, names in self.run.get("groups", {}).items():
            for name in names:
                found.setdefault(name, []).append(tag)
        return {name: tuple(tags) for name, tags in found.items()}


def record_of_run(run: "Run", labels: Path | None = None) -> Record:
    """Return the record of a run that has just ended; `labels` is a CSV of human labels of its answers."""
    name = run.folder.name if run.folder is not None else run.submission.folder.name or str(run.submission.folder)
    exchanges = exchanges_of(run.gold, run.submission)
    bare = Record(name=name, run=run.to_json(), results=run.results, summary=run.summary, folder=run.folder, exchanges=exchanges)
    return _with_people(bare, labels)


def record_of_entry(entry: "RunEntry", labels: Path | None = None, *, exchanges: Exchanges | None = None) -> Record:
    """Return the record of a saved run; its summary is computed again from the n results by the same code.

    `labels` is a CSV of human labels, by default the file next to the run; `exchanges` are questions and answers, None if they must not be
    shown.
    """
    results = tuple(entry.results())
    bare = Record(name=entry.name, run=entry.run, results=results, summary=summarise((), rules="official"), folder=entry.folder)
    gold = entry.run["gold"]
    part = {"clusters": gold.get("clusters", ()), "n_instances": gold.get("n_instances")}
    summary = summarise(results, rules=bare.rules, groups=bare.groups, **part)
    return _with_people(replace(bare, summary=summary, tags=entry.tags, exchanges=exchanges), labels)


def _with_people(record: Record, labels: Path | None) -> Record:
    """Add the score estimated from human labels (`people` of its `run`), if there are labels.

    Raises `UsageError` for labels that do not match the run.
    """
    if labels is None and (record.folder is None or not labels_beside(record.folder).is_file()):
        return record
    from evalsuite.runs.human_labels import human_score, known_labels, labels_of

    given, told = (labels_of(labels), "") if labels is not None else known_labels(record.folder)
    if told:
        return replace(record, run={**record.run, "warnings": [*record.run.get("warnings", ()), told]})
    found = human_score(record.results, given) if given or labels is not None else None
    if found is None and labels is not None:
        raise UsageError(f"{labels} labels less than two answers that were scored", hint="a row for each: instance_id,label")
    return record if found is None else replace(record, run={**record.run, "people": asdict(found)})


def redact_record(record: Record, level: str | None = None) -> Record:
    """Return the record cut to a reveal level, None for its default. Every report is rendered from such a record.

    The totals remain those of the full results. Raises `UsageError` for an unknown level.
    """
    from evalsuite.core.redaction import check_level, default_level, redact, redact_corrections, shows

    check_level(level)
    level = level or default_level(hidden=record.hidden)
    if level == "cells":
        return record
    results = tuple(redact(result, level) for result in record.results)
    causes = {result.instance_id: str(result.detail("flip") or "") for result in results}
    flips = tuple({**flip, "kind": (cause := causes[flip["instance_id"]]), "cause": cause} for flip in record.summary.flips)
    summary = replace(record.summary, flips=() if level == "none" else flips)
    if not shows(level, "shape"):
        # The paths of a schema show the structure of gold.
        summary = replace(summary, by_field={})
    own = {"flips": list(summary.flips), "by_field": dict(summary.by_field)}
    run = {**record.run, "summary": {**record.run["summary"], **own}, "warnings": _own_warnings(record, level)}
    if run.get("corrections"):
        run["corrections"] = redact_corrections(run["corrections"])
    if level == "none":
        # A note on the answer can reveal that it equals gold's.
        run["notes"] = {}
    return replace(record, run=run, results=results, summary=summary, level=level)


def _own_warnings(record: Record, level: str) -> list[str]:
    """Return the warnings about the submission, and count the others, because warnings about gold quote it."""
    own = [text for text in record.run.get("warnings", ()) if text.startswith(METADATA_ARRAY)]
    n_more = len(record.run.get("warnings", ())) - len(own)
    return [*own, f"{n_more} about gold, not shown at --reveal {level}"] if n_more else own
