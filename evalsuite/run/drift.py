"""Drift: stored runs scored again with what is installed now, and which part of the signature the verdicts that moved belong to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalsuite.errors import EvalsuiteError
from evalsuite.outcome import lacks_setup
from evalsuite.run.rescoring import rescore
from evalsuite.run.scoring import Options, Progress
from evalsuite.store.history import RunEntry

# Where a verdict moved although the whole signature is the same.
UNNAMED = "nothing that the signature names"
Verdict = tuple[str, float | None, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What became of one run's n verdicts: `moved` holds (instance id, score then, score now).

    `components` are the parts of the signature that changed, as `name then -> now`. `problem` says why it, or some of its verdicts, could
    not be scored again; empty where all were. What nobody can judge here has not moved.
    """

    name: str
    n: int = 0
    moved: tuple[Verdict, ...] = ()
    components: tuple[str, ...] = ()
    problem: str = ""

    @property
    def blamed(self) -> str:
        """The components that changed, any of which may have moved a verdict; empty where none moved."""
        return (", ".join(self.components) or UNNAMED) if self.moved else ""

    def to_json(self) -> dict[str, Any]:
        """One object of the array that `drift --json` prints."""
        moved = [{"instance_id": name, "then": then, "now": now} for name, then, now in self.moved]
        return {
            "run": self.name,
            "n": self.n,
            "n_moved": len(moved),
            "moved": moved,
            "components": list(self.components),
            "problem": self.problem,
        }


def drifted(
    entries: Iterable[RunEntry], options: Options, *, gold: Path | None = None, progress: Progress | None = None
) -> Iterator[Drift]:
    """What each run drifted to, nothing saved and nothing taken from a cache; one that cannot be scored again says why."""
    for entry in entries:
        try:
            done = rescore(entry, gold=gold, options=replace(options, save=False, cache=None), progress=progress, as_it_lies=True)
        except EvalsuiteError as error:
            yield Drift(name=entry.name, problem=error.message)
            continue
        results = {result.instance_id: result for result in done.run.results}
        moved = tuple(one for one in done.changed if not lacks_setup(results[one[0]]))
        lost = [results[name] for name, *_ in done.changed if lacks_setup(results[name])]
        problem = f"{len(lost)} of {len(results)} verdicts cannot be judged here: {lost[0].reason}" if lost else ""
        yield Drift(name=entry.name, n=len(results), moved=moved, components=done.signature_changes, problem=problem)


def by_component(drifts: Iterable[Drift]) -> list[tuple[str, int, int, int]]:
    """(component `name then -> now`, runs, verdicts, verdicts that moved) of every change met, most moved first."""
    counts: dict[str, list[int]] = {}
    for drift in drifts:
        for component in drift.components or ((UNNAMED,) if drift.moved else ()):
            count = counts.setdefault(component, [0, 0, 0])
            for at, more in enumerate((1, drift.n, len(drift.moved))):
                count[at] += more
    return sorted(((name, *count) for name, count in counts.items()), key=lambda row: (-row[3], row[0]))  # type: ignore[misc]
