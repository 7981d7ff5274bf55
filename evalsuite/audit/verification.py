"""A run folder as a receipt: what it must hold is worked out from gold and the submission, and everything else is named as not verified."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from evalsuite.audit import replay as replaying
from evalsuite.audit.claims import OWN_WORDS, VERSIONS, Claims, Finding, own_words, plain, read_claims
from evalsuite.audit.replay import Replay
from evalsuite.errors import EXIT_GATE, EXIT_OK, EXIT_UNSCORABLE, EvalsuiteError, UntrustedPluginError, UsageError
from evalsuite.gold.errata import ERRATA_FILE, read_errata
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.gold_files import find_spec, gold_hash
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.paths import SPEC_PATTERN
from evalsuite.readers.submission_files import submission_hash
from evalsuite.run.handed_in import read_handed_in
from evalsuite.run.rescoring import place_of
from evalsuite.run.scoring import Progress, run
from evalsuite.scorers import SCORERS
from evalsuite.store.run_files import result_line
from evalsuite.store.signing import read_public_key, why_not_signed
from evalsuite.types import METADATA_ARRAY, Gold, Result, Submission

# What the grader's side may lack when a row is scored again: then nobody can say whether the row is right.
_ABSENT: Final = frozenset({"NEEDS_CONNECTION", "NEEDS_EXTRA"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """All findings about a run: `n_verified` of the `n_gold` rows that gold asks for were scored again and are equal.

    `left_out` says by instance id why a row was not scored again, `claimed` holds what is the run's own word, as (name, value). `seed`
    repeats the sample, None where nothing was drawn.
    """

    name: str
    findings: tuple[Finding, ...]
    n_verified: int = 0
    n_gold: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)
    claimed: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def exit_code(self) -> int:
        """1 where anything is not as it must be, 4 where rows had to be left out, 0 where every row of gold was verified."""
        if not all(finding.good for finding in self.findings):
            return EXIT_GATE
        return EXIT_UNSCORABLE if self.left_out else EXIT_OK

    @property
    def good(self) -> bool:
        """Whether every row that gold asks for was scored again, and all is as it must be."""
        return self.exit_code == EXIT_OK

    def to_json(self) -> dict[str, Any]:
        """The verdict as data."""
        return {
            "run": self.name,
            "good": self.good,
            "exit_code": self.exit_code,
            "n_verified": self.n_verified,
            "n_gold": self.n_gold,
            "not_verified": dict(self.left_out),
            "claimed": dict(self.claimed),
            "findings": [finding.to_json() for finding in self.findings],
            "notes": list(self.notes),
            "seed": self.seed,
        }


def verify(
    folder: Path,
    *,
    submission: Path | None = None,
    gold: Path | None = None,
    sample: int | None = None,
    seed: int | None = None,
    isolation: str = "process",
    jobs: int | None = None,
    allow_programs: bool = False,
    key: Path | None = None,
    databases: Path | None = None,
    questions: Path | None = None,
    progress: Progress | None = None,
) -> Verified:
    """What is known of the finished run in `folder`: its two files, gold, the submission, its rows scored again, and its numbers.

    `submission` and `gold` say where the folders lie now. `sample` is how many instances are scored again (None: all), chosen by `seed`
    (None: a new one). `databases` is --databases: answers that are queries of files in it are run again. `questions` is the file of
    questions where it lies elsewhere than around gold: the one that the run names is not read, for it says what may run where. `key` is
    the public key with
    which the run must be signed. Where gold, the submission or the list of rows is not what it must be, nothing is scored again.

    Raises:
        UsageError: no finished run there, a folder of either side is gone, the run had a file of questions and none is given, or gold
            brings plugins and the user did not name it.
    """
    signer = read_public_key(key) if key is not None else None
    found, claims = read_claims(folder, isolation)
    if signer is not None:
        why = why_not_signed(folder, signer)
        found.append(Finding(name="signature", good=not why, says=why or f"made with the key of {key}"))
    name = folder.resolve().name
    if claims is None:
        return Verified(name=name, findings=tuple(found), notes=("nothing else was looked at: what the run says is nothing to go by",))
    gold_folder = place_of(claims.entry, claims.run["gold"]["folder"], gold, SPEC_PATTERN, "gold")
    pattern = f"{METADATA_ARRAY}*" if claims.run["gold"]["layout"] == "original" else "*"
    handed_in = place_of(claims.entry, claims.run["submission"]["folder"], submission, pattern, "submission")
    if (said := claims.run["options"].get("questions")) and questions is None:
        raise UsageError(f"the run was made with the questions of {said}", hint="--questions FILE: one that you trust")
    of_gold, read = _check_gold(claims, gold_folder, questions)
    of_submission, answers = _check_submission(claims, handed_in, read, isolation)
    stopped = Verified(name=name, findings=(*found, of_gold, of_submission), notes=("nothing was scored again",))
    if read is None or answers is None or not (of_gold.good and of_submission.good):
        return stopped
    try:
        replay = replaying.replay_of(claims, read, answers, databases, questions)
    except EvalsuiteError as error:
        return replace(stopped, findings=(*stopped.findings, Finding(name="plan", good=False, says=error.message)))
    stopped = replace(stopped, findings=(*stopped.findings, _check_rows(claims, replay)), n_gold=len(replay.gold.instances))
    if not stopped.findings[-1].good:
        return stopped
    permitted = allow_programs and replay.options.allow_programs
    ids, left_out, seed = _draw_sample(replay, sample, seed)
    again = None
    if unsettled := tuple(name for name in ids if name not in replay.settled):
        options = replace(
            replay.options, only=unsettled, pattern=None, group=None, shard=None, metadata={}, allow_programs=permitted, ves=False
        )
        again = run(handed_in, gold_folder, replace(options, isolation=isolation, jobs=jobs), progress=progress)
    fresh = {name: replay.settled[name] for name in ids if name in replay.settled}
    fresh |= {row.instance_id: row for row in again.results} if again is not None else {}
    left_out |= _beyond_this_machine(fresh, claims, programs=replay.options.allow_programs and not permitted)
    fresh = {name: row for name, row in fresh.items() if name not in left_out}
    rows = replaying.expected_rows(replay, fresh, claims)
    expected = replaying.expected_run(replay, rows, claims, again)
    wrong = _differing_rows(claims.rows, rows)
    return replace(
        stopped,
        findings=(*stopped.findings, _scored_again(fresh, wrong, replay), *_check_record(expected, claims.run)),
        notes=(),
        n_verified=len(fresh.keys() - wrong.keys()),
        left_out={**replay.elsewhere(), **left_out},
        claimed=tuple(own_words(claims, expected, places={"gold": gold_folder, "submission": handed_in})),
        seed=seed,
    )


def _check_gold(claims: Claims, folder: Path, questions: Path | None) -> tuple[Finding, Gold | None]:
    """Whether gold is what was scored, and the errata what the corrected score was made with, be it none; gold, where it can be read."""
    then, spec = claims.run["gold"]["hash"], find_spec(folder)
    now, gold = gold_hash(spec.parent, spec), None
    errata_then = claims.run.get("corrections", {}).get("hash", "absent")
    try:
        gold = replace(read_gold(folder, layout=claims.run["options"].get("layout"), questions=questions), hash=now)
        errata = read_errata(gold)
        errata_now = errata.hash if errata is not None else "absent"
    except UntrustedPluginError:
        raise
    except EvalsuiteError:
        errata_now = "unreadable"
    if now != then:
        says = f"{folder} does not hold what was scored ({then} then, {now} now)"
    elif errata_now != errata_then:
        says = f"{ERRATA_FILE} is not what the run was made with ({errata_then} then, {errata_now} now)"
    else:
        return Finding(name="gold", good=True, says=f"{folder} is as it was scored ({then})"), gold
    return Finding(name="gold", good=False, says=says), gold


def _check_submission(claims: Claims, folder: Path, gold: Gold | None, isolation: str) -> tuple[Finding, Submission | None]:
    """Whether the submission is what was scored; what was handed in, where it can be read."""
    said, then = claims.run["options"], claims.run["submission"]["hash"]
    if gold is None:
        return Finding(name="submission", good=False, says="was not looked at: gold cannot be read"), None
    try:
        limits = resolve_limits(gold.suite.limits, said["limits"])
        read = read_handed_in(folder, gold, limits, mode=said.get("mode"), isolation=isolation)
        now = submission_hash(read)
    except EvalsuiteError as error:
        return Finding(name="submission", good=False, says=f"cannot be read: {error.message}"), None
    if now != then:
        says = f"{folder} does not hold what was scored ({then or 'not recorded'} then, {now} now)"
        return Finding(name="submission", good=False, says=says), read
    return Finding(name="submission", good=True, says=f"{folder} is as it was handed in ({then})"), read


def _check_rows(claims: Claims, replay: Replay) -> Finding:
    """Whether the rows are those that gold asks for: none missing, none too many, none twice, in gold's order."""
    wanted, there = replay.ids, [row.instance_id for row in claims.rows]
    seen: set[str] = set()
    twice = [name for name in there if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    differs = [f"{name}: missing" for name in wanted if name not in seen]
    differs += [f"{name}: not asked for by gold" for name in dict.fromkeys(there) if name not in set(wanted)]
    differs += [f"{name}: more than once" for name in dict.fromkeys(twice)]
    if not differs and wanted != there:
        differs = [f"{name}: not in its place" for name, other in zip(there, wanted, strict=True) if name != other]
    n_gold = len(replay.gold.instances)
    part = f"the {n_gold}" if len(wanted) == n_gold else f"{len(wanted)} of {n_gold} instances"
    says = f"are {part} that gold asks for"
    if differs:
        says = "are not those that gold asks for"
    return Finding(name="rows", good=not differs, says=says, differs=tuple(differs))


def _draw_sample(replay: Replay, sample: int | None, seed: int | None) -> tuple[list[str], dict[str, str], int | None]:
    """(the instances to score again, why the others are not, the seed of the sample)."""
    left_out = dict(replay.outside)
    names = [name for name in replay.ids if name not in left_out]
    if sample is None or sample >= len(names):
        return names, left_out, None
    together = {
        task.instance.instance_id for task in replay.tasks if any(SCORERS.whole_batch(check.scorer) for check in task.instance.checks)
    }
    left_out |= {name: replaying.AT_ONCE for name in names if name in together}
    names = [name for name in names if name not in together]
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    picked = set(random.Random(seed).sample(names, min(sample, len(names))))
    left_out |= {name: replaying.UNPICKED for name in names if name not in picked}
    return [name for name in names if name in picked], left_out, seed


def _beyond_this_machine(fresh: Mapping[str, Result], claims: Claims, *, programs: bool) -> dict[str, str]:
    """The instances that nobody could judge here for want of something on the grader's side, where the run says that it was there."""
    absent = _ABSENT | ({"NO_JAIL"} if programs else set())
    claimed = {row.instance_id: row for row in claims.rows}
    return {
        name: replaying.NO_JAIL if row.fault == "NO_JAIL" else f"{row.fault}: {row.reason}"
        for name, row in fresh.items()
        if row.fault in absent and claimed[name].status != row.status
    }


def _differing_rows(claimed: Sequence[Result], expected: Sequence[Result]) -> dict[str, list[str]]:
    """Instance id -> the keys in which a row is not what it must be."""
    found = {}
    for said, wanted in zip(claimed, expected, strict=True):
        a, b = json.loads(result_line(said)), json.loads(result_line(wanted))
        if keys := [key for key in {**a, **b} if plain(a.get(key)) != plain(b.get(key))]:
            found[said.instance_id] = keys
    return found


def _scored_again(fresh: Mapping[str, Result], wrong: Mapping[str, Sequence[str]], replay: Replay) -> Finding:
    said = f"{len(fresh)} of {len(replay.tasks)}"
    if wrong:
        differs = tuple(f"{name}: {', '.join(keys)}" for name, keys in wrong.items())
        return Finding(name="scored again", good=False, says=f"{said}: not as it was", differs=differs)
    return Finding(name="scored again", good=True, says=f"{said}: the same verdicts, reasons and details")


def _check_record(expected: Mapping[str, Any], said: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether the numbers follow from the rows, and whether the rest is what a run of this gold and submission writes."""
    wrong = sorted(_differing(_comparable(expected), _comparable(said)))
    numbers = [key for key in wrong if key.partition(".")[0] in ("summary", "corrections", "groups")]
    others = [key for key in wrong if key not in numbers]
    says = "do not follow from the rows" if numbers else "follow from the rows"
    yield Finding(name="numbers", good=not numbers, says=says, differs=tuple(numbers))
    says = "is not what such a run writes" if others else "is what such a run writes"
    yield Finding(name="the rest", good=not others, says=says, differs=tuple(others))


def _comparable(run_: Mapping[str, Any]) -> dict[str, Any]:
    """A run.json object without what it says of its making, and without what shards put in another order."""
    kept = {key: value for key, value in json.loads(plain(run_)).items() if key not in (*OWN_WORDS, "seconds", "digests")}
    for side in ("gold", "submission"):
        kept[side].pop("folder")
    kept["options"].pop("questions", None)
    parts = [part.partition(":") for part in kept["signature"].split("|")]
    kept["signature"] = [name if name in VERSIONS else "".join((name, *rest)) for name, *rest in parts]
    if "shards" in run_["receipt"]:
        kept["warnings"] = sorted(set(kept["warnings"]))
        kept["submission"]["unsure"] = sorted(kept["submission"].get("unsure", ()))
    return kept


def _differing(expected: Mapping[str, Any], said: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The keys in which two objects differ, with those of an object in them: `summary.score`."""
    for key in {**expected, **said}:
        a, b = expected.get(key), said.get(key)
        if key in expected and key in said and plain(a) == plain(b):
            continue
        if isinstance(a, dict) and isinstance(b, dict) and not above:
            yield from _differing(a, b, f"{key}.")
        else:
            yield f"{above}{key}"
