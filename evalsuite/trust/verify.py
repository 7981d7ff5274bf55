"""A run folder as a receipt: is everything as it was when the run was saved, and does scoring it again give the same?

Nothing is asked of the network: instances that a judge decided are not scored again, and are counted.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from evalsuite.errors import EvalsuiteError, UsageError
from evalsuite.readers.answers import is_sql
from evalsuite.readers.errata import ERRATA_FILE, read_errata
from evalsuite.readers.gold import SPEC_PATTERN, find_spec, gold_hash
from evalsuite.readers.layouts import read_gold, read_submission
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.submission import METADATA, submission_hash
from evalsuite.runner.corrections import sum_up
from evalsuite.runner.rescore import chosen_rules, place_of
from evalsuite.runner.run import Options, Progress, Run, run
from evalsuite.scorers import SCORERS
from evalsuite.store.history import RunEntry, refuse_submission
from evalsuite.store.run_folder import RESULTS, RUN, result_line
from evalsuite.store.seal import is_intact
from evalsuite.store.signature import signature
from evalsuite.summary import summarise
from evalsuite.types import Gold, GoldInstance, Result, Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at: whether it is as it was, and what was seen. `differs` names what is not."""

    name: str
    good: bool
    says: str
    differs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The finding as data."""
        return {"name": self.name, "good": self.good, "says": self.says, "differs": list(self.differs)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """All findings about a run, and notes without weight. `seed` repeats the sample, None where all was scored again."""

    name: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    seed: int | None

    @property
    def good(self) -> bool:
        """Whether the run is what it says."""
        return all(finding.good for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The verdict as data."""
        findings = [finding.to_json() for finding in self.findings]
        return {"run": self.name, "good": self.good, "findings": findings, "notes": list(self.notes), "seed": self.seed}


def verify(
    folder: Path,
    *,
    submission: Path | None = None,
    gold: Path | None = None,
    sample: int | None = None,
    seed: int | None = None,
    isolation: str = "process",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Verified:
    """What is known of the finished run in `folder`: its own two files, gold, the submission, the numbers, and a second scoring.

    `submission` and `gold` say where the folders lie now. `sample` is how many instances are scored again (None: all), chosen by `seed`
    (None: a new one). Where gold or the submission is not what was scored, nothing is scored again.

    Raises:
        UsageError: no finished run there, or a folder of either side is gone.
    """
    own, entry = _own_files(folder)
    if entry is None:
        why = f"nothing else was looked at: {RUN} says what and where"
        return Verified(name=folder.resolve().name, findings=tuple(own), notes=(why,), seed=None)
    layout = entry.run.get("gold", {}).get("layout", "original")
    gold_folder = place_of(entry, entry.run.get("gold", {}).get("folder"), gold, SPEC_PATTERN, "gold")
    pattern = METADATA if layout == "original" else "*"
    handed_in = place_of(entry, entry.run.get("submission", {}).get("folder"), submission, pattern, "submission")
    of_gold = _gold(entry, gold_folder)
    sides = [of_gold, _submission(entry, handed_in, _read_gold(entry, gold_folder).suite.limits if of_gold.good else {})]
    findings, notes = [*own, *sides], list[str]()
    if own[1].good:
        findings.append(_numbers(entry))
    if not all(found.good for found in (own[1], *sides)):
        notes.append("nothing was scored again: what there is now is not what was scored")
        return Verified(name=entry.name, findings=tuple(findings), notes=tuple(notes), seed=None)
    chosen, skipped, seed = _chosen(entry, handed_in, gold_folder, sample, seed)
    if skipped:
        notes.append(f"{skipped} not scored again: a judge or a database has to be asked")
    if chosen:
        again = _score(entry, handed_in, gold_folder, chosen, isolation, jobs, progress)
        findings += _compared(entry, again, whole=seed is None)
    notes += _installed(entry)
    return Verified(name=entry.name, findings=tuple(findings), notes=tuple(notes), seed=seed)


def _own_files(folder: Path) -> tuple[list[Finding], RunEntry | None]:
    """The findings about run.json and results.jsonl by their bytes, and the run, None where it cannot be read at all."""
    refuse_submission(folder)
    try:
        run_bytes, result_bytes = (folder / RUN).read_bytes(), (folder / RESULTS).read_bytes()
    except OSError:
        raise UsageError(f"no finished run in {folder}", hint=f"a run folder holds {RUN} and {RESULTS}") from None
    intact = is_intact(run_bytes, result_bytes)
    if intact is None:
        says = "holds no digests: changed at its end, or written by an earlier version"
        found = [Finding(name=RUN, good=False, says=says), Finding(name=RESULTS, good=False, says="cannot be told: no digest of it")]
    else:
        words = ("is not what was written", "as it was written")
        found = [Finding(name=name, good=good, says=words[good]) for name, good in zip((RUN, RESULTS), intact, strict=True)]
    # What a changed run.json says of folders and options is nothing to go by.
    return found, RunEntry(folder=folder, run=json.loads(run_bytes), tags=()) if found[0].good else None


def _gold(entry: RunEntry, folder: Path) -> Finding:
    then, corrections = entry.run.get("gold", {}).get("hash"), entry.run.get("corrections")
    spec = find_spec(folder)
    now = gold_hash(spec.parent, spec)
    if now != then:
        return Finding(name="gold", good=False, says=f"{folder} does not hold what was scored ({then} then, {now} now)")
    if corrections and (errata := _errata_hash(entry, folder)) != corrections.get("hash"):
        says = f"{ERRATA_FILE} is not what the corrected score was made with ({corrections.get('hash')} then, {errata or 'absent'} now)"
        return Finding(name="gold", good=False, says=says)
    return Finding(name="gold", good=True, says=f"{then}, as it was scored")


def _errata_hash(entry: RunEntry, folder: Path) -> str:
    """The hash of the errata of now; empty where they are gone, or cannot be read."""
    try:
        errata = read_errata(_read_gold(entry, folder))
    except EvalsuiteError:
        return "unreadable"
    return errata.hash if errata is not None else ""


def _read_gold(entry: RunEntry, folder: Path) -> Gold:
    return read_gold(folder, layout=entry.run.get("gold", {}).get("layout"))


def _submission(entry: RunEntry, folder: Path, limits: Mapping[str, int | float]) -> Finding:
    then = entry.run.get("submission", {}).get("hash")
    try:
        now = submission_hash(_read_submission(entry, folder, limits))
    except EvalsuiteError as error:
        return Finding(name="submission", good=False, says=f"cannot be read: {error.message}")
    if not then or now != then:
        says = f"{folder} does not hold what was scored ({then or 'not recorded'} then, {now} now)"
        return Finding(name="submission", good=False, says=says)
    return Finding(name="submission", good=True, says=f"{then}, as it was handed in")


def _read_submission(entry: RunEntry, folder: Path, limits: Mapping[str, int | float]) -> Submission:
    options, layout = entry.run.get("options", {}), entry.run.get("gold", {}).get("layout", "original")
    return read_submission(folder, resolve_limits(limits, options.get("limits") or {}), layout=layout, mode=options.get("mode"))


def _numbers(entry: RunEntry) -> Finding:
    """Whether the numbers of run.json follow from the results, the corrected ones too."""
    said, rules = entry.run.get("summary", {}), entry.run["options"]["rules"]
    tags: dict[str, list[str]] = {}
    for tag, names in entry.run.get("groups", {}).items():
        for name in names:
            tags.setdefault(name, []).append(tag)
    results = entry.results()
    made = summarise(results, rules=rules, groups=tags, clusters=entry.run["gold"].get("clusters", ())).to_json()
    wrong = [key for key, value in _plain(made).items() if said.get(key) != value]
    if corrections := entry.run.get("corrections"):
        sums = _plain(sum_up(results, corrections["applied"], rules=rules))
        wrong += [f"corrected {key}" for key, value in sums.items() if corrections.get(key) != value]
    says = "do not follow from the results" if wrong else f"follow from the {len(results)} results"
    return Finding(name="numbers", good=not wrong, says=says, differs=tuple(wrong))


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(value))
    return plain


def _chosen(
    entry: RunEntry, submission: Path, gold_folder: Path, sample: int | None, seed: int | None
) -> tuple[list[str], int, int | None]:
    """(the instances to score again, how many cannot be scored offline, the seed of the sample)."""
    gold, results = _read_gold(entry, gold_folder), entry.results()
    asked = {instance.instance_id for instance in gold.instances if _is_judged(instance, gold)}
    asked |= {name.partition("/")[0] for name in entry.run.get("living_gold", {})}
    answers = _read_submission(entry, submission, gold.suite.limits).answers.values()
    asked |= {answer.instance_id for answer in answers if is_sql(answer.answer_type, answer.value)}
    names = [result.instance_id for result in results if result.instance_id not in asked]
    n_skipped = len(results) - len(names)
    if sample is None or sample >= len(names):
        return names, n_skipped, None
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    picked = set(random.Random(seed).sample(names, sample))
    return [name for name in names if name in picked], n_skipped, seed


def _is_judged(instance: GoldInstance, gold: Gold) -> bool:
    """Whether a judge may be asked: by a scorer that does nothing else, or where the suite names one for a part of a scorer's work."""
    markers = [SCORERS.load(check.scorer).marker for check in instance.checks]
    return any(marker.reads == "batch" or (marker.asks is not None and "judge" in gold.suite.extra) for marker in markers)


def _score(
    entry: RunEntry, submission: Path, gold: Path, ids: Sequence[str], isolation: str, jobs: int | None, progress: Progress | None
) -> Run:
    said, old, day = entry.run.get("gold", {}), entry.run.get("options", {}), entry.run.get("corrections", {}).get("day")
    options = Options(
        rules=chosen_rules(old.get("rules"), entry.results()),
        only=tuple(ids),
        limits=old.get("limits") or {},
        layout=said.get("layout"),
        mode=old.get("mode"),
        save=False,
        isolation=isolation,
        jobs=jobs,
        errata_day=date.fromisoformat(day) if day else None,
    )
    return run(submission, gold, options, progress=progress)


def _compared(entry: RunEntry, again: Run, *, whole: bool) -> Iterator[Finding]:
    before = {result.instance_id: _row(result) for result in entry.results()}
    wrong = [f"{now.instance_id}: {', '.join(keys)}" for now in again.results if (keys := _differing(before[now.instance_id], _row(now)))]
    corrected = {row["instance_id"]: row["corrected"] for row in entry.run.get("corrections", {}).get("applied", ())}
    for row in again.corrections.get("applied", ()) if corrected else ():
        if _plain(row)["corrected"] != corrected.get(row["instance_id"]):
            wrong.append(f"{row['instance_id']}: corrected")
    said = f"{len(again.results)} of {len(before)}"
    if wrong:
        yield Finding(name="scored again", good=False, says=f"{said}: not as it was", differs=tuple(wrong))
    else:
        yield Finding(name="scored again", good=True, says=f"{said}{'' if whole else ', a sample'}: the same verdicts, reasons and details")


def _row(result: Result) -> dict[str, Any]:
    """A result as its line says it, without what the clock says and what hangs on the other instances of a run."""
    row: dict[str, Any] = json.loads(result_line(result))
    row.pop("seconds")
    row["details"] = {name: part for name, part in row["details"].items() if name != "notes"}
    return row


def _differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The keys in which two results differ."""
    return [key for key in before if before[key] != now[key]]


def _installed(entry: RunEntry) -> Iterator[str]:
    """What is installed in another version than the run was made with."""
    lines = str(entry.run.get("signature", "")), signature(rules="strict", gold_hash="", limits={})
    then, now = (dict(part.partition(":")[::2] for part in line.split("|")) for line in lines)
    for name in now.keys() - {"rules", "gold"}:
        if then.get(name) != now[name]:
            yield f"{name} {then.get(name, 'none')} then, {now[name]} now"
