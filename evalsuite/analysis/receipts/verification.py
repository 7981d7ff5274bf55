"""Verify runs as receipts: a run folder against gold and submission, and a site's receipt against a team's own files.

What a run must contain is recomputed from gold and the submission; everything else is named as not verified. A board accepts only runs that
were verified, or that its owner signed.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from evalsuite.analysis.receipts import run_claims as replaying
from evalsuite.analysis.receipts.run_claims import OWN_WORDS, VERSIONS, Claims, Finding, Replay, chosen_in, own_words, plain, read_claims
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, EXIT_UNSCORABLE, EvalsuiteError, UntrustedPluginError, UsageError
from evalsuite.core.types import METADATA_ARRAY, Gold, Result, Submission
from evalsuite.gold.errata import ERRATA_FILE, read_errata
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.gold_files import find_spec, gold_hash
from evalsuite.readers.limits import CLOCK, clock_of, resolve_limits
from evalsuite.readers.paths import SPEC_PATTERN
from evalsuite.readers.submission_files import submission_hash
from evalsuite.runs.leaderboard_entries import Place
from evalsuite.runs.rescoring import place_of
from evalsuite.runs.run_files import read_json, result_line
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.run_result import Run
from evalsuite.runs.scoring import Progress, run
from evalsuite.runs.signing import read_public_key, why_not_sealed, why_not_signed
from evalsuite.runs.submission_reader import read_submission_in_worker
from evalsuite.sandbox.temp_dirs import TempDir
from evalsuite.scorers import SCORERS

# Faults for which the grader's side of this machine may lack something: then the row can be neither confirmed nor refuted.
_ABSENT: Final = frozenset({"NEEDS_CONNECTION", "NEEDS_EXTRA"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """All findings about a run: `n_verified` of the `n_gold` rows that gold needs were scored again and are equal.

    `left_out` says by instance id why a row was not scored again, `claimed` are the run's unverified claims, as (name, value). `seed`
    reproduces
    the sample, None if nothing was drawn.
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
        """1 if anything is not as it must be, 4 if rows had to be left out, 0 if every row of gold was verified."""
        if not all(finding.good for finding in self.findings):
            return EXIT_GATE
        return EXIT_UNSCORABLE if self.left_out else EXIT_OK

    @property
    def good(self) -> bool:
        """Whether every row that gold needs was scored again, and all is as it must be."""
        return self.exit_code == EXIT_OK

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as data."""
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
    """Verify the finished run in `folder`: its two files, gold, the submission, its rows scored again, and its numbers.

    Args:
        folder: the run folder.
        submission: where the submission is now.
        gold: where gold is now.
        sample: how many instances are scored again (None: all), chosen by `seed` (None: a new one).
        databases: --databases; answers that are queries of files in it are run again.
        questions: the file of questions if it is not in gold's folder. The one that the run names is not read, because it decides what may
            run
            where.
        key: the public key with which the run must be signed.

    If gold, the submission or the list of rows is not as it must be, nothing is scored again.

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
        return Verified(name=name, findings=tuple(found), notes=("nothing else was checked: the run's own files cannot be trusted",))
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
    """Check whether gold is what was scored, and the errata (possibly none) what the corrected score used; return gold if readable."""
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
        says = f"{folder} is not what was scored ({then} then, {now} now)"
    elif errata_now != errata_then:
        says = f"{ERRATA_FILE} is not what the run used ({errata_then} then, {errata_now} now)"
    else:
        return Finding(name="gold", good=True, says=f"{folder} is as it was scored ({then})"), gold
    return Finding(name="gold", good=False, says=says), gold


def _check_submission(claims: Claims, folder: Path, gold: Gold | None, isolation: str) -> tuple[Finding, Submission | None]:
    """Check whether the submission is what was scored; return it if readable."""
    said, then = claims.run["options"], claims.run["submission"]["hash"]
    if gold is None:
        return Finding(name="submission", good=False, says="was not checked: gold cannot be read"), None
    try:
        limits = resolve_limits(gold.suite.limits, said["limits"])
        read = read_submission_in_worker(folder, gold, limits, mode=said.get("mode"), isolation=isolation)
        now = submission_hash(read)
    except EvalsuiteError as error:
        return Finding(name="submission", good=False, says=f"cannot be read: {error.message}"), None
    if now != then:
        says = f"{folder} is not what was scored ({then or 'not recorded'} then, {now} now)"
        return Finding(name="submission", good=False, says=says), read
    return Finding(name="submission", good=True, says=f"{folder} is as it was submitted ({then})"), read


def _check_rows(claims: Claims, replay: Replay) -> Finding:
    """Check whether the rows are those that gold needs: none missing, extra or repeated, in gold's order."""
    wanted, there = replay.ids, [row.instance_id for row in claims.rows]
    seen: set[str] = set()
    twice = [name for name in there if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    differs = [f"{name}: missing" for name in wanted if name not in seen]
    differs += [f"{name}: not needed by gold" for name in dict.fromkeys(there) if name not in set(wanted)]
    differs += [f"{name}: more than once" for name in dict.fromkeys(twice)]
    if not differs and wanted != there:
        differs = [f"{name}: out of order" for name, other in zip(there, wanted, strict=True) if name != other]
    n_gold = len(replay.gold.instances)
    part = f"the {n_gold}" if len(wanted) == n_gold else f"{len(wanted)} of {n_gold} instances"
    says = f"are {part} that gold needs"
    if differs:
        says = "are not those that gold needs"
    return Finding(name="rows", good=not differs, says=says, differs=tuple(differs))


def _draw_sample(replay: Replay, sample: int | None, seed: int | None) -> tuple[list[str], dict[str, str], int | None]:
    """Return (the instances to score again, why the others are not, the seed of the sample)."""
    left_out = dict(replay.outside)
    names = [name for name in replay.ids if name not in left_out]
    if sample is None or sample >= len(names):
        return names, left_out, None
    together = {
        task.instance.instance_id for task in replay.tasks if any(SCORERS.plugin_batch(check.scorer) for check in task.instance.checks)
    }
    left_out |= {name: replaying.AT_ONCE for name in names if name in together}
    names = [name for name in names if name not in together]
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    picked = set(random.Random(seed).sample(names, min(sample, len(names))))
    left_out |= {name: replaying.UNPICKED for name in names if name not in picked}
    return [name for name in names if name in picked], left_out, seed


def _beyond_this_machine(fresh: Mapping[str, Result], claims: Claims, *, programs: bool) -> dict[str, str]:
    """Return the instances that cannot be scored here because the grader's side lacks something that the run had."""
    absent = _ABSENT | ({"NO_JAIL"} if programs else set())
    claimed = {row.instance_id: row for row in claims.rows}
    return {
        name: replaying.NO_JAIL if row.fault == "NO_JAIL" else f"{row.fault}: {row.reason}"
        for name, row in fresh.items()
        if row.fault in absent and claimed[name].status != row.status
    }


def _differing_rows(claimed: Sequence[Result], expected: Sequence[Result]) -> dict[str, list[str]]:
    """Return instance id -> the keys in which a row is not what it must be."""
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
    """Check whether the numbers follow from the rows, and whether the rest is what a run of this gold and submission writes."""
    wrong = sorted(_differing(_comparable(expected), _comparable(said)))
    numbers = [key for key in wrong if key.partition(".")[0] in ("summary", "corrections", "groups")]
    others = [key for key in wrong if key not in numbers]
    says = "do not follow from the rows" if numbers else "follow from the rows"
    yield Finding(name="numbers", good=not numbers, says=says, differs=tuple(numbers))
    says = "is not what such a run writes" if others else "is what such a run writes"
    yield Finding(name="the rest", good=not others, says=says, differs=tuple(others))


def _comparable(run_: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run.json object without what it says of its making, and without the order of shards."""
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
    """Return the keys in which two objects differ, with those of nested objects: `summary.score`."""
    for key in {**expected, **said}:
        a, b = expected.get(key), said.get(key)
        if key in expected and key in said and plain(a) == plain(b):
            continue
        if isinstance(a, dict) and isinstance(b, dict) and not above:
            yield from _differing(a, b, f"{key}.")
        else:
            yield f"{above}{key}"


_TEXTS: Final = ("submission", "submission_hash", "signature", "root", "seal")
_WITHOUT: Final = {"submission": "name the submission: --submission DIR", "gold": "scoring needs gold: --gold DIR"}


def verify_receipt(
    file: Path, *, submission: Path | None, gold: Path | None, key: Path | None, options: RunOptions, progress: Progress | None = None
) -> Verified:
    """Verify a receipt: who signed it, which submission it is about, and whether gold gives the same root and score today.

    Nothing in the receipt is trusted: what neither a folder nor a key can confirm is reported as claimed. Raises `UsageError` for a file of
    another form, and what reading and scoring both folders raises.
    """
    said = _read(file)
    findings = []
    if key is not None:
        why = why_not_sealed(said.get("signed"), str(said["seal"]), read_public_key(key))
        findings.append(Finding(name="signature", good=not why, says=why or f"the seal was made with the key of {key}"))
    shown = {"seal"} if findings else set[str]()
    verified = Verified(name=file.name, findings=tuple(findings), n_gold=int(said["n_instances"]))
    if submission is None or gold is None:
        left = {"rows": next(hint for side, hint in _WITHOUT.items() if {"submission": submission, "gold": gold}[side] is None)}
        if submission is not None:
            now = submission_hash(read_submission_in_worker(submission, None, resolve_limits(), isolation=options.isolation))
            findings.append(_is_submission(said, now, submission))
            shown.add("submission_hash")
        return replace(verified, findings=tuple(findings), left_out=left, claimed=tuple(_claims(said, shown)))
    with TempDir() as scratch:
        again = run(submission, gold, _options_of(said, gold, replace(options, out=scratch / "run")), progress=progress)
    findings.append(_is_submission(said, again.submission_hash or "", submission))
    left_out = {}
    then, now_ = (dict(part.partition(":")[::2] for part in line.split("|")) for line in (str(said["signature"]), again.signature))
    moved = [
        f"{name} {then.get(name, 'none')} then, {now_.get(name, 'none')} now"
        for name in {**then, **now_}
        if then.get(name) != now_.get(name)
    ]
    others = [text for text in moved if text.partition(" ")[0] not in VERSIONS]
    findings.append(
        Finding(
            name="scored under", good=not others, says="the same gold and rules" if not others else "something else", differs=tuple(others)
        )
    )
    if again.summary.n_gold != said["n_instances"]:
        left_out["rows"] = f"the receipt is about {said['n_instances']} of {again.summary.n_gold} instances: a part of gold was hidden then"
    elif findings[-1].good and findings[-2].good:
        if moved and again.root != said["root"]:
            left_out["rows"] = f"they were scored by other versions: {', '.join(moved)}"
        else:
            findings.append(_is_same(said, again))
            verified = replace(verified, n_verified=again.summary.n_gold if findings[-1].good else 0)
            shown |= {"root", "score"}
    claimed = tuple(_claims(said, shown | {"submission_hash", "signature"}))
    return replace(verified, findings=tuple(findings), left_out=left_out, claimed=claimed)


def _read(file: Path) -> Mapping[str, Any]:
    said = read_json(file)
    if isinstance(said, dict) and all(isinstance(said.get(name), str) for name in _TEXTS) and isinstance(said.get("n_instances"), int):
        return said
    raise UsageError(
        f"{file} is no receipt", hint="a receipt is the .json next to a page of `leaderboard --site`; for a run name its folder"
    )


def _options_of(said: Mapping[str, Any], gold: Path, options: RunOptions) -> RunOptions:
    """Return the options of the receipt's run, as far as its signature contains them."""
    parts = dict(part.partition(":")[::2] for part in str(said["signature"]).split("|"))
    limits = {CLOCK: clock_of(parts["clock"])} if parts.get("clock") else {}
    return replace(
        options, rules=chosen_in(said, read_gold(gold)), limits=limits, invalid_as="zero" if parts.get("invalid") == "zero" else None
    )


def _is_submission(said: Mapping[str, Any], now: str, place: Path) -> Finding:
    good = now == said["submission_hash"]
    return Finding(
        name="submission", good=good, says=f"{place} is what was submitted" if good else f"{place} is not what was submitted ({now})"
    )


def _is_same(said: Mapping[str, Any], again: Run) -> Finding:
    differs = [
        f"{name}: {then} then, {now} now"
        for name, then, now in (("root", said["root"], again.root), ("score", said.get("score"), again.summary.score))
        if then != now
    ]
    says = "gives the same verdict for every instance, and the same score" if not differs else "gives something else"
    return Finding(name="scored again", good=not differs, says=says, differs=tuple(differs))


def _claims(said: Mapping[str, Any], shown: set[str]) -> Iterator[tuple[str, str]]:
    for name in (*_TEXTS, "score", "received"):
        if name not in shown and said.get(name) is not None:
            yield name, str(said[name])


def only_trusted(places: Sequence[Place], gold: Path, *, key: Path | None, isolation: str) -> list[Place]:
    """Return the places with the fault of each untrusted run; submissions are unchanged, because they are scored here.

    With a public key, a run is trusted if its owner signed it over this gold and it was not changed since: nothing is scored again. Without
    one, every row of gold must be verified, so the submission must be where the run says. Raises `UsageError` for an invalid key.
    """
    if key is not None:
        read_public_key(key)
    found = []
    for place in places:
        why = _why_not(place.folder, gold, key, isolation) if place.is_run and not place.fault else ""
        foreign = replace(place, is_foreign=place.is_run and isolation != "none")
        found.append(replace(foreign, fault=f"not verified: {why}") if why else foreign)
    return found


def _why_not(folder: Path, gold: Path, key: Path | None, isolation: str) -> str:
    try:
        if key is None:
            verified = verify(folder, gold=gold, isolation=isolation)
            wrong = [one.name for one in verified.findings if not one.good]
            left = f"{len(verified.left_out)} rows could not be scored again" if verified.left_out else ""
            return ", ".join(wrong) or left
        findings, claims = read_claims(folder, isolation)
        if claims is None:
            return ", ".join(f"{one.name} {one.says}" for one in findings if not one.good)
        if why := why_not_signed(folder, read_public_key(key)):
            return why
        spec = find_spec(gold)
        there = gold_hash(spec.parent, spec)
    except EvalsuiteError as error:
        return error.message
    said = claims.run["gold"]["hash"]
    return "" if said == there else f"made with another gold ({said}, not {there})"
