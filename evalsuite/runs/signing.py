"""Sign a run with the Ed25519 key of its host, so that others can verify its origin.

Keys are OpenSSH files, such as those of `ssh-keygen -t ed25519`. The signature covers the digest of `run.json`, which contains the digest
of `results.jsonl` and the root over all instances. The root of a run is one digest over gold, answer and verdict of each instance.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.core.errors import FaultError, MissingExtraError, OutputError, UsageError, write_error
from evalsuite.core.types import Result, Task
from evalsuite.readers.paths import inside
from evalsuite.runs.run_files import read_json, seal_of, write_atomically
from evalsuite.runs.run_folder import RUN

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def root_of(tasks: Sequence[Task], results: Sequence[Result], gold: Mapping[str, str], contents: Mapping[str, str]) -> str:
    """Return the Merkle root (64 hex digits) over n leaves in gold order: instance, gold digest, answer digest, verdict.

    `gold` has the digest of each file below the gold folder, `contents` that of each file of the submission; for a file that was read, the
    bytes that were read count. As in RFC 6962, leaves and nodes have different prefix bytes, and a node without a sibling moves up
    unchanged.
    """
    of_instance: dict[str, list[tuple[str, str]]] = {}
    for name, digest in sorted(gold.items()):
        of_instance.setdefault(name.partition("/")[0], []).append((name, digest))
    # Height and root of the complete trees so far, each higher than the next.
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
            # A path that is refused is never opened.
            with suppress(FaultError):
                file = inside(name, path)
                handed_in.append(result.digests.get(path) or contents.get(file))
    # A row that was read back has 1 instead of 1.0.
    numbers = [None if value is None else float(value) for value in (result.score, result.official, result.strict)]
    verdict = [result.status, *numbers, result.fault]
    leaf = [name, _digest([checks, gold.get(name, [])]), _digest(handed_in), verdict]
    return _hash(b"\x00" + _as_leaf(leaf).encode("utf-8", "surrogatepass"))


def _digest(value: object) -> str:
    return _hash(_sorted(value).encode("utf-8", "surrogatepass")).hex()


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


# Created once: a hundred thousand leaves would each create three encoders.
_as_leaf, _sorted = json.JSONEncoder(default=str).encode, json.JSONEncoder(sort_keys=True, default=str).encode


SIGNATURE = "signature.json"
_WHAT = b"evalsuite run\0"


def new_key(path: Path) -> Path:
    """Create a key pair and return the file of the public key, `path` with `.pub` appended; only the owner can read the private one.

    Raises `OutputError` if a file of either name exists already, or cannot be written.
    """
    _need_library()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key, public = Ed25519PrivateKey.generate(), path.with_name(f"{path.name}.pub")
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
    shown = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for place, data, mode in ((path, private, 0o600), (public, shown + b" evalsuite\n", 0o644)):
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(data)
    except FileExistsError as error:
        raise OutputError(f"{error.filename} is there already", hint="a key is never replaced: name another file") from None
    except OSError as error:
        raise write_error(path, error) from error
    return public


def read_key(path: Path) -> "Ed25519PrivateKey":
    """Return the private key in a file. Raises `UsageError` for any other file, and for one with a passphrase."""
    _need_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    data = _bytes_of(path)
    try:
        key = load_ssh_private_key(data, None)
    except Exception as error:  # the library raises many kinds for what is no key
        raise UsageError(f"{path}: not a private key without a passphrase", hint="`evalsuite keys new FILE` makes one") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{path}: not an Ed25519 key", hint="`evalsuite keys new FILE` makes one")
    return key


def read_public_key(path: Path) -> "Ed25519PublicKey":
    """Return the public key in a file. Raises `UsageError` for any other file."""
    _need_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    hint = "give the .pub file that `evalsuite keys new` wrote"
    data = _bytes_of(path)
    try:
        key = load_ssh_public_key(data)
    except Exception as error:  # the library raises many kinds for what is no key
        raise UsageError(f"{path}: not a public key", hint=hint) from error
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(f"{path}: not an Ed25519 key", hint=hint)
    return key


def sign_run(folder: Path, key: "Ed25519PrivateKey") -> None:
    """Write the signature of a finished run next to it."""
    seal = seal_of((folder / RUN).read_bytes())
    assert seal is not None, "a run that was just finished is sealed"
    made = {"public_key": public_text(key.public_key()), "signature": key.sign(_WHAT + seal.encode()).hex()}
    try:
        write_atomically(folder / SIGNATURE, json.dumps(made, indent=2) + "\n")
    except OSError as error:
        raise write_error(folder / SIGNATURE, error) from error


def claimed_signer(folder: Path) -> str:
    """Return the public key that the run in a folder claims to be signed with, unverified; empty if there is none."""
    said = read_json(folder / SIGNATURE)
    return str(said.get("public_key", "")) if isinstance(said, dict) else ""


def why_not_signed(folder: Path, key: "Ed25519PublicKey") -> str:
    """Return why the run in a folder is not verified as signed with this public key; empty if it is."""
    try:
        seal = seal_of((folder / RUN).read_bytes())
    except OSError:
        seal = None
    return why_not_sealed(read_json(folder / SIGNATURE), seal or "", key)


def why_not_sealed(said: Any, seal: str, key: "Ed25519PublicKey") -> str:
    """Return why signature `said` is not one by this key over the seal of a run; empty if it is."""
    from cryptography.exceptions import InvalidSignature

    if said is None:
        return "not signed"
    try:
        key.verify(bytes.fromhex(said["signature"]), _WHAT + seal.encode())
    except (InvalidSignature, KeyError, TypeError, ValueError):
        return "not signed with this key, or changed since"
    return ""


def public_text(key: "Ed25519PublicKey") -> str:
    """Return the public key as one line of text, as in its file."""
    from cryptography.hazmat.primitives import serialization

    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: no key can be read there", hint="`evalsuite keys new FILE` makes one") from error


def _need_library() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("signatures need the package cryptography", extra="sign") from error
