"""The references by date: which commit each was recorded from, and whether a live clone still says what our rules say."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from evalsuite.compare.official_cells import Reference
from evalsuite.core.errors import FaultError, UsageError, describe
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.sandbox.rpc_client import RpcClient
from evalsuite.sandbox.temp_dirs import TempDir
from evalsuite.sandbox.worker_sandbox import expected_features
from tests.upstream.reference_cases import Case, made_cases, write_cases


class Place(NamedTuple):
    """Where a reference lies in a clone of Spider 2.0; the commit whose functions our rules say, and its day."""

    file: str
    commit: str
    day: str


PLACES: Final[dict[Reference, Place]] = {
    "original": Place("spider2/evaluation_suite/eval_utils.py", "db1d8e1b4c054b8f36d72e118ec2ef62e2f2b9ac", "2025-05-22"),
    "lite": Place("spider2-lite/evaluation_suite/evaluate.py", "5fa8a5179c411c22ff8fd902c9e01c5bc2bf6c47", "2025-11-02"),
    "snow": Place("spider2-snow/evaluation_suite/evaluate.py", "76b85e5d225fdae2c8f335a8f2eac30ee17d617c", "2025-10-30"),
    "dbt": Place("spider2-dbt/evaluation_suite/eval_utils.py", "e12c5f1e6550a5df88995520c3bf00bbe7bad2d2", "2025-11-07"),
}
# Without these a stranger's code could read the user's files, or tell them to somebody.
_NEEDED: Final = ("namespaces", "landlock", "seccomp")
# The worker may list this folder and no parent of it, so `clone_functions` is a module of its own there.
_OWN_CODE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One case on which a clone and our rules do not agree: both scores (None: it gives none), and what the clone raised."""

    case: Case
    ours: float | None
    theirs: float | None
    raised: str

    def to_json(self) -> dict[str, Any]:
        return {**self.case.shown(), "ours": self.ours, "theirs": self.theirs, "raised": self.raised}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFound:
    """What became of one rule of one reference: of `n` cases those that differ. One without a name has the `problem` of them all."""

    reference: Reference
    function: str
    rule: str
    n: int
    differing: Sequence[Difference] = field(default=())
    problem: str = ""

    @property
    def moved(self) -> bool:
        """Whether the clone does not say what our rule says."""
        return bool(self.differing or self.problem)

    def to_json(self) -> dict[str, Any]:
        """One object of `rules` in `references check --json`."""
        example = self.differing[0].to_json() if self.differing else None
        named = {"reference": self.reference, "function": self.function, "rule": self.rule}
        return {**named, "n": self.n, "n_differ": len(self.differing), "problem": self.problem, "example": example}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a clone says beside our rules: the references that it holds and those that it has not, each rule of the first."""

    present: Sequence[Reference]
    rules: Sequence[RuleFound]
    absent: Sequence[Reference]

    @property
    def moved(self) -> list[RuleFound]:
        """The rules that moved."""
        return [rule for rule in self.rules if rule.moved]

    def to_json(self) -> dict[str, Any]:
        """The object that `references check --json` prints."""
        found = {"references": {name: PLACES[name].commit for name in self.present}, "absent": list(self.absent)}
        counts = {"n_rules": len(self.rules), "n_moved": len(self.moved), "n_cases": sum(rule.n for rule in self.rules)}
        return {**found, **counts, "rules": [rule.to_json() for rule in self.rules]}


def check_references(clone: Path, *, n: int, seed: int, seconds: float, unwalled: bool = False) -> Checked:
    """What the comparison functions of `clone` say of `n` made cases a rule, beside ours. It runs the clone's code, behind walls.

    `seconds` are those of one reference's functions for all cases. `unwalled` runs them where this machine does not give every wall too.
    Raises `UsageError` where the folder is no clone, or the machine lacks a wall.
    """
    files = {name: clone / place.file for name, place in PLACES.items() if (clone / place.file).is_file()}
    if not files:
        places = ", ".join(place.file for place in PLACES.values())
        raise UsageError(f"{clone} is no clone of Spider 2.0: it holds none of {places}", hint="--against names the folder of a checkout")
    lacking = [wall for wall in _NEEDED if wall not in expected_features()]
    if lacking and not unwalled:
        message = f"this machine does not wall a stranger's code: no {', no '.join(lacking)}"
        raise UsageError(message, hint="--allow-programs runs it all the same: for a clone that you trust")
    cases = [case for case in made_cases(seed, n) if files.keys() & set(case.references)]
    with TempDir() as folder:
        write_cases(cases, folder)
        rules = [rule for name, file in files.items() for rule in _of_one(name, file, cases, folder, seconds)]
    absent = [name for name in PLACES if name not in files]
    return Checked(present=list(files), rules=rules, absent=absent)


def _of_one(reference: Reference, file: Path, cases: Sequence[Case], folder: Path, seconds: float) -> Iterator[RuleFound]:
    """What became of each rule of one reference, after what kept the clone from saying it of all cases: a death, its time limit."""
    own = [case for case in cases if reference in case.references]
    theirs: dict[str, tuple[float | None, str]] = {}
    try:
        if str(_OWN_CODE) not in sys.path:
            sys.path.append(str(_OWN_CODE))
        limits = resolve_limits({"seconds": seconds})
        with RpcClient(readable=[file.parent, folder, _OWN_CODE], hostile=file.parent, limits=limits) as calls:
            told = calls.stream("clone_functions:verdicts", str(file.resolve()), str(folder), [case.id for case in own])
            for id_, score, raised in told:
                theirs[id_] = score, raised
    except FaultError as error:
        late = f"its functions took longer than {seconds:g} s for {len(own)} cases (--seconds)"
        problem = late if error.fault.code == "TIMEOUT" else describe(error.fault)
        yield RuleFound(reference=reference, function="", rule="", n=0, problem=problem)
    if not theirs:
        return
    ours = _our_scores(reference, list(theirs), folder)
    for function, rule in dict.fromkeys((case.function, case.rule) for case in own):
        asked = [case for case in own if (case.function, case.rule) == (function, rule) and case.id in theirs]
        found = [Difference(case=case, ours=ours[case.id], theirs=theirs[case.id][0], raised=theirs[case.id][1]) for case in asked]
        differing = [one for one in found if (one.ours or 0) != (one.theirs or 0)]
        yield RuleFound(reference=reference, function=function, rule=rule, n=len(asked), differing=differing)


def _our_scores(reference: Reference, ids: Sequence[str], folder: Path) -> dict[str, float | None]:
    """Our official scores of made cases under a reference's rules: of our own making, so that no wall stands between."""
    (folder / "gold" / "suite.yaml").write_text(f"reference: {reference}\n", encoding="utf-8")
    options = RunOptions(save=False, isolation="none", only=tuple(ids))
    return {result.instance_id: result.official for result in run(folder / "submission", folder / "gold", options).results}
