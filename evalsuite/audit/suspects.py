"""Which instances of gold to look at first, from how several submissions did on them: the likeliest to be wrong (see `posterior`) first.

Three signs, none of them a proof: submissions that have nothing to do with each other give the same answer and gold calls it wrong; no
submission is right; the better submissions do worse than the rest.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from evalsuite.audit.collected_answers import ANSWER, COLLECT, by_record
from evalsuite.audit.expected_ranks import Outlook, outlook, worth_of_a_look
from evalsuite.audit.posterior import GOLD, fit
from evalsuite.errors import EvalsuiteError, UsageError
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.paths import SPEC_PATTERN
from evalsuite.readers.submission_files import submission_hash
from evalsuite.run.handed_in import read_handed_in
from evalsuite.run.judged import is_batch
from evalsuite.run.plan import plan
from evalsuite.run.rescoring import place_of
from evalsuite.stats.units import units_of
from evalsuite.store.history import RunEntry
from evalsuite.types import METADATA_ARRAY, Result, Rule
from evalsuite.workers.pool import Pool
from evalsuite.workers.requests import settle_early

# An item-rest correlation of fewer runs is mostly chance.
FEWEST_RUNS: Final = 4
WORTH_NAMING: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """An instance, or a record of one (`inv#17`), with what speaks against its gold.

    `rank_value` in [0, 2.5] adds up the three signs, see `suspects`.
    `p_wrong` in [0, 1] is P(gold is wrong), which the list is sorted by; `worth` in [0, 1] what a look is worth (see `expected_ranks`).
    `n_voices` independent submissions were scored on it, `n_right` of them right; `agreeing` are the runs of the largest group with one
    wrong answer, `shown` that answer. `item_rest` in [-1, 1] is None where it is not defined.
    """

    instance_id: str
    rank_value: float
    n_voices: int
    n_right: int
    agreeing: tuple[str, ...]
    shown: str
    item_rest: float | None
    reasons: tuple[str, ...]
    p_wrong: float = 0.0
    worth: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The suspect as data."""
        return {**{name: getattr(self, name) for name in self.__slots__}, "agreeing": list(self.agreeing), "reasons": list(self.reasons)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """The suspects, the most suspicious first, and notes on what could not be looked at. `n_units` counts records one by one."""

    suspects: tuple[Suspect, ...]
    n_instances: int
    n_runs: int
    n_voices: int
    n_units: int
    notes: tuple[str, ...]
    outlook: Outlook = field(default_factory=Outlook)

    def to_json(self) -> dict[str, Any]:
        """The list as data."""
        rest = {name: getattr(self, name) for name in ("n_instances", "n_units", "n_runs", "n_voices")}
        return {"suspects": [one.to_json() for one in self.suspects], **rest, "notes": list(self.notes), "outlook": self.outlook.to_json()}


def suspects(
    entries: Sequence[RunEntry],
    *,
    rules: Rule | None = None,
    gold: Path | None = None,
    isolation: str = "process",
    jobs: int = 1,
    records: bool = True,
) -> Suspects:
    """What k runs of one gold say of its instances, the answers read again from the submissions where they still lie.

    Runs are one voice where they scored the same files, or name the same model. `rank_value` adds: the share of the other voices that
    join the first in one wrong answer; 0.5 where nobody is right; and how far the item-rest correlation lies below 0.
    Of an instance with many records each is looked at by itself (`inv#17`: gold's 17th), unless `records` is off.
    Listed are those with a sign, and those whose gold is wrong with a probability of 0.1 or more; the likeliest first.

    Raises `UsageError` for fewer than two voices, and for runs of different golds.
    """
    for entry in entries[1:]:
        if entry.run.get("gold", {}).get("hash") != entries[0].run.get("gold", {}).get("hash"):
            raise UsageError(f"{entries[0].name} and {entry.name} scored different golds", hint="compare runs of one gold hash")
    voices = _voices(entries)
    if len(set(voices)) < 2:
        raise UsageError("suspects needs runs of at least two independent submissions", hint="runs of one model count once")
    firsts = [entry for i, entry in enumerate(entries) if voices[i] not in voices[:i]]
    results = {entry.name: entry.results() for entry in firsts}
    scores = {run: {result.instance_id: _score_under(result, rules) for result in own} for run, own in results.items()}
    notes: list[str] = []
    answers = {entry.name: _answers(entry, gold, scores[entry.name], notes, isolation=isolation, jobs=jobs) for entry in firsts}
    n_instances = len({name for own in scores.values() for name in own})
    if records:
        units = {run: {result.instance_id: units_of(result, rules) for result in own} for run, own in results.items()}
        scores, answers = by_record(scores, answers, units, notes)
    ids = list(dict.fromkeys(name for entry in firsts for name in scores[entry.name]))
    correlations = item_rest(scores, ids)
    if len(firsts) < FEWEST_RUNS:
        notes.append(f"item-rest correlations need {FEWEST_RUNS} independent submissions, there are {len(firsts)}")
    # What nobody was judged on says nothing.
    votes = {name: own for name in ids if (own := _votes(name, scores, answers))}
    fitted = fit(votes)
    likely = fitted.posteriors
    notes += [
        f"{one} shares {share:.0%} of its answers with {other} beyond chance: they are not two voices"
        for (one, other), share in fitted.copies.items()
    ]
    found = [
        replace(
            _suspect(name, firsts, scores, answers, correlations.get(name)),
            p_wrong=likely[name].p_wrong,
            worth=worth_of_a_look(votes[name], likely[name]),
        )
        for name in votes
    ]
    named = (one for one in found if one.rank_value > 0 or one.p_wrong >= WORTH_NAMING)
    listed = sorted(named, key=lambda one: (-round(one.p_wrong, 9), -one.rank_value, one.instance_id))
    return Suspects(
        suspects=tuple(listed),
        n_instances=n_instances,
        n_units=len(ids),
        n_runs=len(entries),
        n_voices=len(firsts),
        notes=tuple(dict.fromkeys(notes)),
        outlook=outlook(votes, likely),
    )


def _votes(
    name: str, scores: Mapping[str, Mapping[str, float | None]], answers: Mapping[str, Mapping[str, tuple[str, str]]]
) -> dict[str, str]:
    """What each run that was judged says: `GOLD`, or its answer; one that could not be read agrees with nobody."""
    given = {}
    for run, own in scores.items():
        if (score := own.get(name)) is not None:
            given[run] = GOLD if score == 1 else answers[run].get(name, (f"? {run}", ""))[0]
    return given


def _voices(entries: Sequence[RunEntry]) -> list[int]:
    """A number for each run: the same for runs of the same files, or of the same model."""
    numbers: list[int] = []
    known: dict[tuple[str, str], int] = {}
    for i, entry in enumerate(entries):
        model = str(entry.metadata.get("model_name") or "")
        said = entry.run.get("submission", {})
        marks = [("files", str(said.get("hash") or said.get("folder"))), *([("model", model)] if model else [])]
        number = next((known[mark] for mark in marks if mark in known), i)
        known.update(dict.fromkeys(marks, number))
        numbers.append(number)
    return numbers


def _score_under(result: Result, rules: Rule | None) -> float | None:
    """The score of an answer that was compared; what was not handed in or not readable says nothing of gold."""
    return {None: result.score, "official": result.official, "strict": result.strict}[rules] if result.status == "scored" else None


def item_rest(scores: Mapping[str, Mapping[str, float | None]], ids: Sequence[str]) -> dict[str, float]:
    """Per instance Pearson's r, over k runs, of its score with the mean score of the other instances (corrected item-total correlation).

    In [-1, 1]; only for instances that at least `FEWEST_RUNS` runs were judged on, and where both vary. For 0/1 scores this is the
    point-biserial correlation. Source: Nunnally, Psychometric Theory (1978), item analysis.
    """
    totals = {run: [value for value in own.values() if value is not None] for run, own in scores.items()}
    sums = {run: math.fsum(values) for run, values in totals.items()}
    found = {}
    for name in ids:
        pairs = [
            (value, (sums[run] - value) / (len(totals[run]) - 1))
            for run, own in scores.items()
            if (value := own.get(name)) is not None and len(totals[run]) > 1
        ]
        if len(pairs) >= FEWEST_RUNS and all(len({round(x, 12) for x in side}) > 1 for side in zip(*pairs, strict=True)):
            found[name] = statistics.correlation(*map(list, zip(*pairs, strict=True)))
    return found


def _suspect(
    name: str,
    entries: Sequence[RunEntry],
    scores: Mapping[str, Mapping[str, float | None]],
    answers: Mapping[str, Mapping[str, tuple[str, str]]],
    correlation: float | None,
) -> Suspect:
    judged = [entry for entry in entries if scores[entry.name].get(name) is not None]
    right = sum(scores[entry.name][name] == 1 for entry in judged)
    groups: dict[str, list[str]] = defaultdict(list)
    for entry in judged:
        if name in answers[entry.name]:
            groups[answers[entry.name][name][0]].append(entry.name)
    group = max(groups.values(), key=len, default=[])
    agreeing = tuple(group) if len(group) > 1 else ()
    reasons = []
    value = 0.0
    if agreeing:
        value += (len(agreeing) - 1) / (len(judged) - 1)
        reasons.append(f"{len(agreeing)} of {len(judged)} independent submissions give the same answer, and gold calls it wrong")
    if len(judged) > 1 and all(scores[entry.name][name] == 0 for entry in judged):
        value += 0.5
        reasons.append(f"none of {len(judged)} submissions is right")
    if correlation is not None and correlation < 0:
        value -= correlation
        reasons.append(f"the better submissions do worse here: item-rest r = {correlation:.2f}")
    return Suspect(
        instance_id=name,
        rank_value=round(value, 6),
        n_voices=len(judged),
        n_right=right,
        agreeing=agreeing,
        shown=answers[agreeing[0]][name][1] if agreeing else "",
        item_rest=correlation,
        reasons=tuple(reasons),
    )


def _answers(
    entry: RunEntry, gold: Path | None, scores: Mapping[str, float | None], notes: list[str], *, isolation: str, jobs: int
) -> dict[str, tuple[str, str]]:
    """Instance id -> (digest, words) of each wrong answer of a run that could be read; a note where the submission is gone or changed."""
    said, options = entry.run.get("gold", {}), entry.run.get("options", {})
    try:
        gold_folder = place_of(entry, said.get("folder"), gold, SPEC_PATTERN, "gold")
        pattern = f"{METADATA_ARRAY}*" if said.get("layout", "original") == "original" else "*"
        folder = place_of(entry, entry.run.get("submission", {}).get("folder"), None, pattern, "submission")
        read = read_gold(gold_folder, layout=said.get("layout"))
        limits = resolve_limits(read.suite.limits, options.get("limits") or {})
        submission = read_handed_in(folder, read, limits, mode=options.get("mode"), isolation=isolation)
    except EvalsuiteError as error:
        notes.append(f"the answers of {entry.name} were not compared: {error.message}")
        return {}
    if submission_hash(submission) != entry.run.get("submission", {}).get("hash"):
        notes.append(f"the answers of {entry.name} were not compared: its submission has changed since")
        return {}
    known = {instance.instance_id for instance in read.instances}
    wrong = [name for name, value in scores.items() if value is not None and value < 1 and name in known]
    tasks = [task for task in plan(read, submission, rules=None, limits=limits, only=wrong) if not is_batch(task)] if wrong else []
    pool = Pool(jobs=jobs, isolation=isolation, gold_inodes=gold_inodes(read.folder), order=COLLECT)
    try:
        results = list(pool.results([task for task in tasks if settle_early(task) is None]))
    finally:
        pool.close()
    return {result.instance_id: (found[0], found[1]) for result in results if isinstance(found := result.details.get(ANSWER), list)}
