"""Gold + submission -> tasks: one task per gold instance, in gold order, nothing opened yet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from evalsuite.errors import UsageError, did_you_mean, listed
from evalsuite.gold.judge_file import judge_line
from evalsuite.gold.spec import check_ids
from evalsuite.outcome import UNJUDGED, results_beside
from evalsuite.readers.limits import moved_limits
from evalsuite.scorers import SCORERS
from evalsuite.store.signature import signature
from evalsuite.types import Gold, GoldInstance, Result, Rule, Submission, Task


def plan(
    gold: Gold,
    submission: Submission,
    *,
    rules: Rule | None,
    limits: Mapping[str, int | float],
    only: Sequence[str] = (),
    pattern: str | None = None,
    group: str | None = None,
    allow_programs: bool = False,
) -> list[Task]:
    """n tasks in gold order; raises `UsageError` for an id or group that gold does not have, and where no instance fits all that is asked.

    `rules` None takes each instance's default: official, and strict where the tree scorers judge.
    """
    gold_folder, submission_folder = gold.folder.absolute(), submission.folder.absolute()
    return [
        Task(
            instance=instance,
            answer=submission.answers.get(instance.instance_id),
            gold_folder=gold_folder,
            submission_folder=submission_folder,
            rules=rules or default_rules(instance),
            limits=limits,
            allow_programs=allow_programs,
        )
        for instance in select(gold, only=only, pattern=pattern, group=group)
    ]


def rules_of(gold: Gold, chosen: Rule | None) -> Rule:
    """The rules that a run's score follows: the chosen ones, else those of all its instances where they agree, else the official ones."""
    return chosen or ("strict" if {default_rules(instance) for instance in gold.instances} == {"strict"} else "official")


def signature_of(gold: Gold, *, chosen: Rule | None, limits: Mapping[str, int | float], living: str = "", **allowed: Any) -> str:
    """The signature of a run of this gold, whose `hash` is known, under the rules that were chosen (None: each instance's default).

    `allowed` is the rest that the signature takes.
    """
    word = signature_word(chosen, map(default_rules, gold.instances))
    plugins = SCORERS.code_hash(check.scorer for instance in gold.instances for check in instance.checks)
    more: dict[str, Any] = {"layout": gold.layout, "living": living, "plugins": plugins, "judge": judge_line(gold)}
    return signature(rules=word, gold_hash=gold.hash, limits=moved_limits(limits), **allowed, **more)


def signature_word(chosen: Rule | None, defaults: Iterable[Rule]) -> Rule | Literal["default"]:
    """What the signature calls the rules: the chosen ones; `default` where those of the instances are strict somewhere, else official."""
    return chosen or ("default" if "strict" in defaults else "official")


def default_rules(instance: GoldInstance) -> Rule:
    """The rules that give an instance's score unless some are chosen: the sound ones for trees, the compatible ones for the rest."""
    return "strict" if any(SCORERS.load(check.scorer).marker.reads == "tree" for check in instance.checks) else "official"


def select(gold: Gold, *, only: Sequence[str] = (), pattern: str | None = None, group: str | None = None) -> list[GoldInstance]:
    """The gold instances that were asked for, in gold order; all of them where nothing was asked."""
    instances: Iterable[GoldInstance] = gold.instances
    if only:
        check_ids(gold, only)
        instances = [instance for instance in instances if instance.instance_id in set(only)]
    if group is not None:
        tags = sorted({tag for instance in gold.instances for tag in instance.groups})
        if group not in tags:
            hint = did_you_mean(group, tags) if tags else "groups are set in suite.yaml"
            raise UsageError(f"no group {group!r} in this suite", hint=hint)
        instances = [instance for instance in instances if group in instance.groups]
    among = list(instances)
    chosen = among if pattern is None else [instance for instance in among if fnmatchcase(instance.instance_id, pattern)]
    if chosen or not gold.instances:
        return chosen
    if not among:
        raise UsageError(f"none of the instances asked for is in the group {group!r}", hint="an instance must fit all that is asked")
    what = "in gold" if len(among) == len(gold.instances) else "of those asked for"
    raise UsageError(f"no instance {what} fits {pattern!r}", hint=f"known: {listed([instance.instance_id for instance in among])}")


def by_tag(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """Tag -> the ids of its instances, both in gold order."""
    found: dict[str, list[str]] = {}
    for task in tasks:
        for tag in task.instance.groups:
            found.setdefault(tag, []).append(task.instance.instance_id)
    return found


def warnings_of(gold: Gold, submission: Submission, tasks: Sequence[Task], results: Sequence[Result]) -> list[str]:
    """What a person should know that is no instance's fault: notes of both readers, ids that gold lacks, lenient gold entries.

    And what a scorer said of gold's files, which nobody reads before.
    """
    unknown = [f"{where}: {name!r} is not in gold (UNKNOWN_ID)" for where, name in submission.unknown]
    if more := submission.n_unknown - len(unknown):
        unknown.append(f"{more} more {'answer is' if more == 1 else 'answers are'} to ids that gold does not have (UNKNOWN_ID)")
    problems = [
        f"{problem.where}: {problem.message}" + (f" ({problem.hint})" if problem.hint else "")
        for task in tasks
        for check in task.instance.checks
        for problem in check.problems
        # Where nothing was submitted nothing has to be computed.
        if problem.code != "NEEDS_CONNECTION" or task.answer is not None
    ]
    known = {problem.message for task in tasks for check in task.instance.checks for problem in check.problems}
    said = [f"{one.instance_id}: {text}" for one in results for text in one.detail("warnings") or () if text not in known]
    return [*gold.notes, *submission.notes, *unknown, *problems, *said, *_columns_left_open(results)]


def _columns_left_open(results: Sequence[Result]) -> Iterator[str]:
    """What a column of a further scorer lacks, and why: the score lacks nothing."""
    open_ones: dict[str, list[str]] = {}
    for result in results:
        for name, one in results_beside(result).items():
            if one.status in UNJUDGED:
                open_ones.setdefault(name, []).append(one.reason)
    for name, reasons in open_ones.items():
        yield f"{name}: {len(reasons)} of {len(results)} not judged: {reasons[0]}"
