"""The root of a run: one digest over what each instance was held to, what was handed in for it, and what came out."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import reduce

from evalsuite.errors import FaultError
from evalsuite.readers.paths import inside
from evalsuite.types import Result, Task


def root_of(tasks: Sequence[Task], results: Sequence[Result], gold: Mapping[str, str], contents: Mapping[str, str]) -> str:
    """The Merkle root (64 hex digits) over n leaves in gold order: instance, gold digest, answer digest, verdict.

    `gold` has the digest of each file below the gold folder, `contents` that of each file of the submission; of a file that was read, what
    was read counts. Leaves and nodes are hashed apart (a byte in front), a node without a neighbour goes up as it is: as in RFC 6962.
    """
    of_instance: dict[str, list[tuple[str, str]]] = {}
    for name, digest in sorted(gold.items()):
        of_instance.setdefault(name.partition("/")[0], []).append((name, digest))
    # Height and root of the whole trees so far, each higher than the next.
    trees: list[tuple[int, bytes]] = []
    for task, result in zip(tasks, results, strict=True):
        height, node = 0, _leaf(task, result, of_instance, contents)
        while trees and trees[-1][0] == height:
            height, node = height + 1, _hash(b"\x01" + trees.pop()[1] + node)
        trees.append((height, node))
    nodes = [node for _, node in trees] or [_hash(b"")]
    return reduce(lambda right, left: _hash(b"\x01" + left + right), reversed(nodes)).hex()


def _leaf(task: Task, result: Result, gold: Mapping[str, Sequence[tuple[str, str]]], contents: Mapping[str, str]) -> bytes:
    name, answer = task.instance.instance_id, task.answer
    checks = [[check.scorer, dict(check.parameters)] for check in task.instance.checks]
    handed_in: list[object] = [] if answer is None else [answer.answer_type, answer.value]
    if answer is not None and answer.fault is None and answer.answer_type != "answer":
        for path in [answer.value] if isinstance(answer.value, str) else answer.value:
            # A path that is refused as such is never opened.
            with suppress(FaultError):
                file = inside(name, path)
                handed_in.append(result.digests.get(path) or contents.get(file))
    # A row that was read back says 1 where it was 1.0.
    numbers = [None if value is None else float(value) for value in (result.score, result.official, result.strict)]
    verdict = [result.status, *numbers, result.fault]
    leaf = [name, _digest([checks, gold.get(name, [])]), _digest(handed_in), verdict]
    return _hash(b"\x00" + _as_leaf(leaf).encode("utf-8", "surrogatepass"))


def _digest(value: object) -> str:
    return _hash(_sorted(value).encode("utf-8", "surrogatepass")).hex()


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


# Made once: of a hundred thousand leaves each would make three encoders of its own.
_as_leaf, _sorted = json.JSONEncoder(default=str).encode, json.JSONEncoder(sort_keys=True, default=str).encode
