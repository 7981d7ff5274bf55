"""Errata of gold: the optional `gold.errata.yaml`, with corrections that change no gold file.

    - id: sales_004
      gold: 3f9c1e20ab47           # `evalsuite gold errata GOLD --entry sales_004` prints it
      patch: {gold: 48215.75}      # or `waive: true`, or `evaluation: {func: ..., parameters: {...}}`
      author: M. Rossi
      reason: the third quarter ends on 30 September
      evidence: https://example.org/issues/12
      expires: 2027-06-30

`.errata/reviewed.jsonl` keeps which gold a review found right; it is no part of the errata.

Files named in a patch are in `.errata/<id>/`, or among gold's own. An entry applies to the gold it was written for: it is stale if its gold
has changed, and expired after its last day; neither is applied.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, Literal

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.disk_cache import append_whole
from evalsuite.core.errors import GoldError, did_you_mean, reading_error, write_error
from evalsuite.core.files import is_file
from evalsuite.core.types import Gold, GoldInstance
from evalsuite.gold.spec import MOST_COMPARED, check_of, with_further_scorers, with_own_files
from evalsuite.gold.suite_yaml import yaml_nodes
from evalsuite.readers.gold_files import is_bytecode
from evalsuite.readers.paths import FromRoot, Inode

ERRATA_FILE: Final = "gold.errata.yaml"
ERRATA_FOLDER: Final = ".errata"
REVIEWED_FILE: Final = f"{ERRATA_FOLDER}/reviewed.jsonl"
ACTIONS: Final = ("waive", "patch", "evaluation")
TEXTS: Final = ("author", "reason", "evidence")
KEYS: Final = ("id", "gold", *ACTIONS, *TEXTS, "expires")
_HEX: Final = 12

State = Literal["applied", "stale", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """One entry. `instance` is the patched instance, None for a waived or unapplied one; `gold_now` is the current hash of its gold."""

    id: str
    gold: str
    gold_now: str
    waives: bool
    author: str
    reason: str
    evidence: str
    expires: date
    where: str
    state: State
    instance: GoldInstance | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the entry as in `run.json`."""
        return {
            "instance_id": self.id,
            "action": "waive" if self.waives else "patch",
            "gold": self.gold,
            "author": self.author,
            "reason": self.reason,
            "evidence": self.evidence,
            "expires": self.expires.isoformat(),
            "where": self.where,
        }

    def words(self) -> str:
        """Why it is not applied: `gold has changed since (3f9c1e20ab47 then, 77aa0b12cd34 now)`."""
        if self.state == "stale":
            return f"gold has changed since it was written ({self.gold} then, {self.gold_now} now)"
        return f"it expired on {self.expires.isoformat()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Errata:
    """The n entries of a gold folder in file order, with their states on a day; `hash` is over the file and the files of `.errata`."""

    entries: tuple[Erratum, ...]
    day: date
    hash: str
    inodes: frozenset[Inode]

    def of_state(self, state: State) -> tuple[Erratum, ...]:
        """Return the entries that are applied, stale or expired."""
        return tuple(entry for entry in self.entries if entry.state == state)


def read_errata(gold: Gold, *, day: date | None = None) -> Errata | None:
    """Return the errata next to a gold's spec, with states on a day (default: today, UTC); None if there is no file.

    An entry that is stale and expired is stale. Raises `GoldError` with file and line for an invalid entry.
    """
    folder = gold.spec_file.parent
    file = folder / ERRATA_FILE
    if not is_file(file):
        return None
    day = day or datetime.now(UTC).date()
    name = f"{folder.resolve().name}/{ERRATA_FILE}"
    by_id = {instance.instance_id: instance for instance in gold.instances}
    entries: dict[str, Erratum] = {}
    for fields, lines in _mappings(file, name):
        entry = _entry_of(fields, lines, gold, by_id, day)
        if (first := entries.get(entry.id)) is not None:
            line = first.where.rpartition(":")[2]
            raise GoldError(f"{entry.where}: {entry.id!r} is repeated, first on line {line}", hint="keep one entry for each instance")
        entries[entry.id] = entry
    files = [file, *sorted(place for place in (folder / ERRATA_FOLDER).rglob("*") if is_file(place))]
    inodes = frozenset((state.st_dev, state.st_ino) for state in map(Path.stat, files))
    # What a review found right corrects nothing.
    files = [place for place in files if place != folder / REVIEWED_FILE]
    return Errata(entries=tuple(entries.values()), day=day, hash=_hash_of(files, folder), inodes=inodes)


def reviewed_right(gold: Gold) -> set[str]:
    """Return the instances whose gold a review found right, if it has not changed since. Raises `GoldError` for a damaged line."""
    file = gold.spec_file.parent / REVIEWED_FILE
    lines = file.read_bytes().splitlines() if is_file(file) else []
    then: dict[str, set[str]] = {}
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            then.setdefault(entry["id"], set()).add(entry["gold"])
        except (ValueError, TypeError, KeyError):
            hint = "remove the line; the instance is then shown again"
            raise GoldError(f"{file}:{number}: not an entry of `gold review` with id and gold", hint=hint) from None
    reviewed = [instance for instance in gold.instances if instance.instance_id in then]
    return {instance.instance_id for instance in reviewed if instance_hash(gold, instance) in then[instance.instance_id]}


def keep_right(gold: Gold, instance_id: str, author: str) -> None:
    """Append to the reviewed instances one whose gold is right as it is now. Raises `OutputError`."""
    (instance,) = (instance for instance in gold.instances if instance.instance_id == instance_id)
    day = datetime.now(UTC).date().isoformat()
    entry = {"id": instance_id, "gold": instance_hash(gold, instance), "author": author, "day": day}
    file = gold.spec_file.parent / REVIEWED_FILE
    try:
        file.parent.mkdir(exist_ok=True)
        append_whole(file, (json.dumps(entry) + "\n").encode())
    except OSError as error:
        raise write_error(file, error) from error


def instance_hash(gold: Gold, instance: GoldInstance) -> str:
    """Return 12 hex digits over the gold of one instance: its entry in the spec, with the suite's defaults, and its gold files.

    Its files are those in its own folder and others named in a check. White space in the spec, hidden files and compiled Python do not
    count.
    """
    content = {
        "instance_id": instance.instance_id,
        "checks": [[check.scorer, dict(check.parameters), dict(check.extra)] for check in instance.own_checks],
        "extra": dict(instance.extra),
    }
    instance_folder = gold.folder / instance.instance_id
    files = [place for place in sorted(instance_folder.rglob("*")) if is_file(place)]
    files = [place for place in files if not any(part.startswith(".") for part in place.relative_to(instance_folder).parts)]
    files = [place for place in files if not is_bytecode(place.relative_to(instance_folder).as_posix())]
    values = [value for check in instance.checks for value in check.parameters.values()]
    file_names = sorted({str(n) for value in values for n in (value if isinstance(value, list) else [value]) if isinstance(n, FromRoot)})
    files += [place for name in file_names if is_file(place := gold.folder / name)]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode("utf-8", "backslashreplace"))
    digest.update(_hash_of(files, gold.folder).encode())
    return digest.hexdigest()[:_HEX]


def _hash_of(files: list[Path], folder: Path) -> str:
    """Return 12 hex digits over names and contents."""
    digest = hashlib.sha256()
    for file in files:
        name = file.relative_to(folder).as_posix().encode("utf-8", "surrogateescape")
        try:
            content = file.read_bytes()
        except OSError as error:
            raise reading_error(file, error) from None
        digest.update(len(name).to_bytes(8, "big") + name + hashlib.sha256(content).digest())
    return digest.hexdigest()[:_HEX]


def _mappings(file: Path, name: str) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Yield (the entry, key -> "file:line" with "" for the entry itself) of each entry in the file."""
    with yaml_nodes(file, name) as (loader, node):
        if node is None:
            return
        if node.id != "sequence":
            raise GoldError(f"{name}:{node.start_mark.line + 1}: not a list", hint="write one entry after another, each from `- id: ` on")
        for item in node.value:
            lines = {"": f"{name}:{item.start_mark.line + 1}"}
            if item.id != "mapping":
                raise GoldError(f"{lines['']}: an entry must be a mapping", hint=f"its keys: {', '.join(KEYS)}")
            fields = {}
            for key, value in item.value:
                lines[str(key.value)] = f"{name}:{key.start_mark.line + 1}"
                # YAML would read hashes like 123456789012 and 12e456789012 as numbers; ids and hashes are taken as texts.
                raw = key.value in ("id", "gold") and value.id == "scalar"
                fields[str(key.value)] = value.value if raw else loader.construct_object(value, deep=True)
            yield fields, lines


def _entry_of(fields: Mapping[str, Any], lines: Mapping[str, str], gold: Gold, by_id: Mapping[str, GoldInstance], day: date) -> Erratum:
    """Return one entry, checked key by key."""
    where = lines[""]
    for key in fields:
        if key not in KEYS:
            raise GoldError(f"{lines[key]}: unknown key {key!r}", hint=did_you_mean(key, KEYS))
    for key in ("id", "gold", *TEXTS, "expires"):
        if key not in fields:
            raise GoldError(f"{where}: the key {key!r} is missing", hint=f"needed: id, gold, {', '.join(TEXTS)}, expires, an action")
    for key in ("id", "gold", *TEXTS):
        if not isinstance(fields[key], str) or not fields[key].strip():
            raise GoldError(f"{lines[key]}: {key} must be a text that is not empty, found {fields[key]!r}")
    if len(fields["gold"]) != _HEX or set(fields["gold"]) - set("0123456789abcdef"):
        hint = f"`evalsuite gold errata GOLD --entry {fields['id']}` prints the instance's hash"
        raise GoldError(f"{lines['gold']}: gold must be {_HEX} hex digits, found {fields['gold']!r}", hint=hint)
    if not fields["evidence"].startswith(("http://", "https://")):
        value = fields["evidence"]
        raise GoldError(f"{lines['evidence']}: evidence must be a link, found {value!r}", hint="https://... to where it is shown")
    if type(fields["expires"]) is not date:
        value = fields["expires"]
        raise GoldError(f"{lines['expires']}: expires must be a day, found {value!r}", hint="write 2027-06-30")
    actions = [key for key in ACTIONS if key in fields]
    if len(actions) != 1:
        action_words = " and ".join(actions) or "none"
        raise GoldError(f"{where}: an entry needs exactly one of {', '.join(ACTIONS)}, found {action_words}")
    if fields["id"] not in by_id:
        hint = did_you_mean(fields["id"], sorted(by_id)[:MOST_COMPARED])
        raise GoldError(f"{lines['id']}: no instance {fields['id']!r} in gold", hint=hint)
    return _apply_state(fields, lines, gold, by_id[fields["id"]], actions[0], day)


def _apply_state(
    fields: Mapping[str, Any], lines: Mapping[str, str], gold: Gold, instance: GoldInstance, action: str, day: date
) -> Erratum:
    """Return the entry with its state, and with the patched instance if it is to be applied."""
    now = instance_hash(gold, instance)
    state: State = "stale" if now != fields["gold"] else "expired" if day > fields["expires"] else "applied"
    patched = None
    if action == "waive":
        if (value := fields["waive"]) is not True:
            raise GoldError(f"{lines['waive']}: waive can only be true, found {value!r}", hint="remove an entry to count it again")
    elif state == "applied":
        patched = _patch_instance(fields[action], lines[action], gold, instance, action)
    return Erratum(
        id=fields["id"],
        gold=fields["gold"],
        gold_now=now,
        waives=action == "waive",
        expires=fields["expires"],
        where=lines[""],
        state=state,
        instance=patched,
        **{key: fields[key].strip() for key in TEXTS},
    )


def _patch_instance(value: Any, where: str, gold: Gold, instance: GoldInstance, action: str) -> GoldInstance:
    """Return the instance with its check's parameters changed (`patch`), or with other checks (`evaluation`)."""
    if action == "patch":
        if len(instance.own_checks) != 1:
            hint = "write the whole `evaluation` instead"
            raise GoldError(f"{where}: {instance.instance_id!r} has {len(instance.own_checks)} checks, and patch fits one", hint=hint)
        if not isinstance(value, dict) or not value:
            raise GoldError(f"{where}: patch must be a mapping of parameters, found {value!r}", hint="patch: {gold: 48215.75}")
        (old,) = instance.own_checks
        evaluations: list[Any] = [{"func": old.scorer, "parameters": {**old.parameters, **value}, **old.extra}]
    else:
        evaluations = value if isinstance(value, list) else [value]
        if not evaluations:
            raise GoldError(f"{where}: evaluation is empty", hint="give one {func, parameters} or a list of them")
    id_ = instance.instance_id
    checks = [check_of(evaluation, id_, where, gold.suite) for evaluation in evaluations]
    checks = [with_own_files(check, id_, gold.folder, inside=f"{ERRATA_FOLDER}/") for check in checks]
    for problem in (problem for check in checks for problem in check.problems if problem.blocks):
        raise GoldError(f"{where}: {problem.message}", hint=problem.hint)
    return replace(instance, checks=with_further_scorers(tuple(checks), id_, where, gold.suite), where=where)
