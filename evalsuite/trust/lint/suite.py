"""Lint of what holds the instances together: groups, gates, and judges."""

from collections.abc import Iterator

from evalsuite.errors import did_you_mean
from evalsuite.readers.gold_files import SUITE_FILE
from evalsuite.trust.lint.book import Book, Found, Kind


def groups(book: Book) -> Iterator[Found]:
    """Ids in a group that gold lacks, and groups that hold nobody."""
    where = f"{book.spec.resolve().parent.name}/{SUITE_FILE}"
    for tag, ids in book.suite.groups.items():
        for id_ in ids:
            if id_ not in book.raw:
                near = did_you_mean(id_, book.raw)
                hint = near if near.startswith("did") else ""
                message = f"group {tag!r} names {id_!r}, which gold lacks"
                yield Found(code="unknown-group-id", where=where, instance_id="", message=message, hint=hint)
        prefixes = book.suite.group_prefixes.get(tag, ())
        if not any(instance.instance_id in ids or instance.instance_id.startswith(prefixes) for instance in book.instances):
            message = f"group {tag!r} holds no instance"
            yield Found(code="empty-group", where=where, instance_id="", message=message, hint="look at its prefix")


def judges(book: Book) -> Iterator[Found]:
    """Judged checks without a judge, and beside a tree check, where they cannot run."""
    for spot in book.spots():
        if spot.reads != "batch":
            continue
        if "judge" not in book.suite.extra:
            hint = "add `judge: {base_url: ..., model: ..., key_env: ...}` to suite.yaml"
            yield spot.found("no-judge", f"{spot.check.scorer} needs a judge, and suite.yaml names none", hint=hint)
        if any(other.instance is spot.instance and other.reads == "tree" for other in book.spots()):
            message = f"{spot.check.scorer} cannot stand beside a tree check in one instance"
            yield spot.found("judge-beside-tree", message, hint="give each an instance of its own")


def empty(book: Book) -> Iterator[Found]:
    """A spec without instances."""
    if not book.instances and not book.broken:
        yield Found(code="no-instances", where=f"{book.name}:1", instance_id="", message="the spec holds no instance")


PER_BOOK = {
    "unknown-group-id": Kind("warning", groups, "a group of suite.yaml names an instance that gold lacks"),
    "empty-group": Kind("warning", groups, "a group of suite.yaml holds no instance"),
    "no-judge": Kind("warning", judges, "a judged check, and no judge in suite.yaml"),
    "judge-beside-tree": Kind("error", judges, "a judged check beside a tree check in one instance"),
    "no-instances": Kind("error", empty, "a spec without instances"),
}
