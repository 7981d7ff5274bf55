"""What is compared: a saved run, or a submission folder that is scored now."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalsuite.errors import UsageError
from evalsuite.gold.exchanges import Exchanges, exchanges_of
from evalsuite.store.given_labels import known_labels, labels_of
from evalsuite.store.history import RUNS_FOLDER, RunEntry, named_run, one_run
from evalsuite.store.run_folder import STARTED, is_submission
from evalsuite.types import Result, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One scored submission: its n results by instance id in gold order, and what `run.json` says of it.

    `clusters` are the groups that the suite names as clusters; `hidden` says that gold is secret, so that no reason may be shown.
    `n_instances` are those of all of gold, 0 where nobody knows; `exchanges` what was asked and answered.
    `corrected` is the score after gold's errata, None without any; `n_unapplied` of these are stale or expired. `labels` are
    what people said of its answers, by instance id; `unread` is why those beside it are not used.
    """

    label: str
    results: Mapping[str, Result]
    signature: str = ""
    suite: str = ""
    rules: str = "official"
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    clusters: tuple[str, ...] = ()
    hidden: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    n_instances: int = 0
    exchanges: Exchanges | None = None
    corrected: float | None = None
    n_unapplied: int = 0
    labels: Mapping[str, float] = field(default_factory=dict)
    unread: str = ""

    @property
    def is_part(self) -> bool:
        """Whether less than all of gold was scored."""
        return len(self.results) < self.n_instances


def side_of(label: str, run: Mapping[str, Any], results: Iterable[Result], *, source: str = "", exchanges: Exchanges | None = None) -> Side:
    """The side made of a `run.json` object and its results; keys that an older run lacks are left empty."""
    gold = run.get("gold", {})
    return Side(
        label=label,
        results={result.instance_id: result for result in results},
        signature=str(run.get("signature", "")),
        suite=str(gold.get("name", "")),
        rules=str(run.get("options", {}).get("rules") or "official"),
        groups=run.get("groups") or {},
        clusters=tuple(gold.get("clusters") or ()),
        hidden=bool(gold.get("hidden", False)),
        metadata=run.get("metadata") or {},
        source=source,
        n_instances=int(gold.get("n_instances") or 0),
        exchanges=exchanges,
        corrected=(run.get("corrections") or {}).get("score"),
        n_unapplied=sum(len((run.get("corrections") or {}).get(state, ())) for state in ("stale", "expired")),
    )


def load_sides(
    names: Sequence[str],
    *,
    runs: Path = RUNS_FOLDER,
    gold: Path | None = None,
    rules: Rule | None = None,
    how: Mapping[str, Any] | None = None,
) -> list[Side]:
    """The side behind each name: a run's folder, its name under `runs`, the name it was given in its suite, or a submission.

    A submission (a folder, or a file of answers) is scored against `gold` (default: the gold of the first run that was named, else `gold`)
    under the limits of that run, and adds no run to the history; `how` are further options of a run, by name. Raises `UsageError` for a
    name that is none of these.
    """
    from evalsuite.run.handed_in import saved_exchanges

    saved = [_saved(name, runs) for name in names]
    like = next((entry for entry in saved if entry is not None), None)
    sides = []
    for name, entry in zip(names, saved, strict=True):
        if entry is not None:
            label = str(entry.metadata.get("run_name") or entry.name or entry.folder.resolve().name)
            side = side_of(label, entry.run, entry.results(), source=str(entry.folder), exchanges=saved_exchanges(entry))
            labels, unread = known_labels(entry.folder)
            sides.append(replace(side, labels=labels, unread=unread))
        else:
            sides.append(_scored(Path(name), gold, like, rules, how or {}))
    # Where several share a label, the number in the order given is added.
    n_with = Counter(side.label for side in sides)
    return [replace(side, label=f"{side.label} #{at}") if n_with[side.label] > 1 else side for at, side in enumerate(sides, 1)]


def with_labels(sides: Sequence[Side], files: Sequence[Path]) -> Sequence[Side]:
    """The sides with the labels of a file each, in their order; as they are without files. Raises `UsageError`."""
    if files and len(files) != len(sides):
        raise UsageError(f"{len(files)} files of labels for {len(sides)} runs", hint="--labels once for each run, in their order")
    return [replace(side, labels=labels_of(file), unread="") for side, file in zip(sides, files, strict=True)] if files else sides


def _saved(name: str, runs: Path) -> RunEntry | None:
    """The saved run of that name, None where it is a folder, or a file of answers, to be scored."""
    if (entry := named_run(name, runs)) is not None:
        return entry
    folder = Path(name)
    if (folder / STARTED).exists() and not is_submission(folder):
        raise UsageError(f"{folder} is an unfinished run", hint=f"finish it with `evalsuite run ... --resume {folder}`")
    return None if folder.exists() else one_run(name, runs)


def _scored(folder: Path, gold: Path | None, like: RunEntry | None, rules: Rule | None, how: Mapping[str, Any]) -> Side:
    from evalsuite.registry import trusting_plugins
    from evalsuite.run.scoring import Options, run

    options = like.run.get("options", {}) if like is not None else {}
    of_run = Path(str(like.run.get("gold", {}).get("folder"))) if gold is None and like is not None else None
    place = of_run if of_run is not None and of_run.is_dir() else gold or Path("gold")
    # A run under default rules says `official` too, and gives tree scorers their own default: only `strict` was surely chosen.
    chosen = rules or ("strict" if options.get("rules") == "strict" else None)
    # The user named this gold, or left it at its default; what a saved run names is not to be executed.
    with trusting_plugins(*([] if place is of_run else [place])):
        done = run(folder, place, Options(rules=chosen, limits=options.get("limits") or {}, save=False, **how))
    if not done.summary.n_submitted:
        raise UsageError(
            f"{folder} has handed in none of the {len(done.results)} instances of {done.gold.folder}", hint="name its gold by --gold"
        )
    texts = exchanges_of(done.gold, done.submission)
    return side_of(folder.resolve().name, done.to_json(), done.results, source=str(folder), exchanges=texts)


def what_differs(a: Side, b: Side, *, rules: Rule | None = None) -> list[str]:
    """The parts of the signatures that differ, as `gold 3f9c1e against 77ab01`; the rules do not count where they are chosen now."""
    left, right = (dict(part.partition(":")[::2] for part in side.signature.split("|") if part) for side in (a, b))
    return [
        f"{name} {left.get(name, 'absent')} against {right.get(name, 'absent')}"
        for name in {**left, **right}
        if left.get(name) != right.get(name) and not (name == "rules" and rules is not None)
    ]
