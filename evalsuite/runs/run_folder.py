"""Run folder: write and resume it, and sign the finished run with its host's key.

`results.jsonl` grows during the run and is rewritten in gold order; then `run.json` is written. Both are replaced atomically. A signature
covers the digest of `run.json`, which contains the digest of `results.jsonl` and the root over gold, answer and verdict of each instance.
Keys are Ed25519 keys in OpenSSH files, such as those of `ssh-keygen -t ed25519`.
"""

import hashlib
import json
import os
import shlex
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from evalsuite.core.errors import NO_ROOM, FaultError, MissingExtraError, OutputError, UsageError, count_words, write_error
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.status import needs_rescoring
from evalsuite.core.types import Result, Task
from evalsuite.readers.paths import metadata_like, refuse_endless, resolve_in_side
from evalsuite.runs.run_files import (
    UNITS,
    is_intact,
    keep_out_of_git,
    move_units,
    read_json,
    result_line,
    result_of,
    seal,
    seal_of,
    sync_folder,
    units_digest,
    whole_line,
    whole_units,
    write_atomically,
)
from evalsuite.runs.run_options import RunOptions, changed_parts, changed_versions
from evalsuite.sandbox.temp_dirs import lock

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


RESULTS, RUN = "results.jsonl", "run.json"
# Cost of the judge: a line of tokens per request, over all attempts of a run.
JUDGE_CALLS = "judge_calls.jsonl"
# Open batches of the judge.
JUDGE_BATCHES = "judge_batches.json"
# Subfolders of a run: tables of SQL answers, and gold computed for it.
SIDE_FOLDERS = ("executed", "gold")
# Exists while a run is unfinished and records what it was started on, so that --resume can compare.
STARTED = ".started.json"
_CRC32 = lazy_pattern(rb', "crc32": "([0-9a-f]{8})"\}\Z')
# A power cut costs the results of at most this time.
_SYNC_SECONDS = 1.0
# Tells whether a submission differs from the one of these results by the digests in them; without digests, by the hash of all of it.
IsOther = Callable[[Mapping[str, Result], str], bool]
# Folders that this process began and did not finish.
UNFINISHED: set[Path] = set()


def labels_path(run_folder: Path) -> Path:
    """Return the file of human labels of a run: next to its folder, whose files are sealed."""
    return run_folder.with_name(f"{run_folder.name}.labels.csv")


def is_submission(folder: Path) -> bool:
    """Return whether a folder contains a submission's metadata under that or a similar name, as a file, a folder or a dead link.

    Then the folder is a submission and nothing else.
    """
    return bool(metadata_like(folder))


# What is said of a run's changed file, and how a warning about it ends.
NOT_AS_WRITTEN = "is not what was written"
MAY_BE_WRONG = "; its numbers may be wrong"


def changed_file(run: bytes, results: bytes) -> str:
    """Return the name of the file, `run.json` or `results.jsonl`, whose bytes do not match their seal; empty if both do, or have none."""
    intact = is_intact(run, results)
    return "" if intact is None or all(intact) else RESULTS if intact[0] else RUN


def holds_run(folder: Path) -> bool:
    """Return whether a folder is a finished run. In a submission, `run.json` is one of its author's files and never counts."""
    return is_file(folder / RUN) and not is_submission(folder)


class RunFolder:
    """A run folder being written: a journal first, then the two final files.

    Every result is flushed as one line, so a killed run leaves complete lines and at most one partial last line. `.started.json` tells the
    state after a kill: absent in an empty folder, nothing is done yet; with `replaces`, the other files belong to an earlier run; otherwise
    the journal is this run's; absent next to `run.json`, the run is finished.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self._journal: BinaryIO | None = None
        self._synced = time.monotonic()
        self._lock: int | None = None

    def open(self, plan: Mapping[str, Any]) -> "RunFolder":
        """Create the folder and an empty journal. Raises `OutputError` if that is not possible."""
        try:
            new_folders = [folder for folder in (self.path, *self.path.parents) if not exists(folder)]
            self.path.mkdir(parents=True, exist_ok=True)
            for folder in new_folders:
                sync_folder(folder.parent)
            self._lock_folder()
            for part in partial_files(self.path):
                part.unlink()
            if any(exists(self.path / name) for name in (RUN, RESULTS)):
                write_atomically(self.path / STARTED, json.dumps({**plan, "replaces": True}) + "\n")
                for name in (RUN, RESULTS, UNITS, JUDGE_CALLS, JUDGE_BATCHES):
                    (self.path / name).unlink(missing_ok=True)
                for name in SIDE_FOLDERS:
                    import shutil

                    shutil.rmtree(self.path / name, ignore_errors=True)
            UNFINISHED.add(self.path)
            write_atomically(self.path / STARTED, json.dumps(plan) + "\n")
            self._journal = (self.path / RESULTS).open("wb", buffering=0)
            sync_folder(self.path)
        except OSError as error:
            self.close()
            raise cannot_write_run(self.path, error) from error
        return self

    def reopen(self, plan: Mapping[str, Any], is_other: IsOther | None = None) -> tuple["RunFolder", dict[str, Result]]:
        """Continue an interrupted run, or one with unscored instances. Return the folder and the results to keep by instance id.

        Unscored results are not kept. An empty folder is a run that was killed before its first file: it starts from the beginning. A
        partial last line is cut off with a note.

        Raises:
            OutputError: The folder is no unfinished run of this plan, or is being written.
        """
        try:
            results = self._take_over(plan, is_other)
        except OSError as error:
            self.close()
            raise cannot_write_run(self.path, error) from error
        except OutputError:
            self.close()
            raise
        self.notes.append(f"resumed with {count_words(len(results), 'result')}")
        return self, results

    def _take_over(self, plan: Mapping[str, Any], is_other: IsOther | None) -> dict[str, Result]:
        if is_submission(self.path) or not is_dir(self.path):
            raise _resume_error(self.path, "is a submission, not a run folder" if is_dir(self.path) else "is not a run folder")
        self._lock_folder()
        if not set(self.path.iterdir()) - set(partial_files(self.path)):
            self.open(plan)
            return {}
        started, unsure = self._read_start()
        if changed := list(_list_differences(started, plan)):
            raise other_start_error(self.path, changed)
        if started.get("replaces"):
            self.open(plan)
            return {}
        path = self.path / RESULTS
        data = path.read_bytes() if exists(path) else b""
        # After a power cut a file can have zeros where its last lines were not on the disk yet.
        written = data.partition(b"\0")[0]
        whole = written[: written.rfind(b"\n") + 1]
        results = _parse_journal(path, whole)
        if is_other is not None and is_other(results, started.get("whole", "")):
            raise other_start_error(self.path, ["submission"])
        if whole != data:
            self.notes.append(f"{RESULTS}: a partial last line was removed")
        stay = {name: result for name, result in results.items() if not needs_rescoring(result) and name not in unsure}
        for part in partial_files(self.path):
            part.unlink()
        write_atomically(self.path / STARTED, json.dumps({**plan, **({"whole": started["whole"]} if "whole" in started else {})}) + "\n")
        (self.path / RUN).unlink(missing_ok=True)
        if len(stay) < len(results) or whole != data:
            write_atomically(path, map(_journal_line, stay.values()))
        self._journal = path.open("ab", buffering=0)
        return stay

    def _read_start(self) -> tuple[Mapping[str, Any], frozenset[str]]:
        """Return (what the run was started on, the instances whose verdict cannot be kept because their files may have changed)."""
        started = read_json(self.path / STARTED)
        if started is None and not exists(self.path / STARTED):
            return self._started_once()
        if not isinstance(started, dict):
            raise OutputError(f"cannot read {self.path / STARTED}", hint="start a new run")
        return started, frozenset()

    def _started_once(self) -> tuple[Mapping[str, Any], frozenset[str]]:
        """Return the same for a finished run, whose rows no longer record which bytes were read."""
        run = read_json(self.path / RUN)
        if not isinstance(run, dict):
            raise _resume_error(self.path, "is a damaged run" if exists(self.path / RUN) else "is not a run folder")
        journal = (self.path / RESULTS).read_bytes() if exists(self.path / RESULTS) else b""
        if changed := changed_file((self.path / RUN).read_bytes(), journal):
            raise OutputError(f"{self.path} is a damaged run: {changed} {NOT_AS_WRITTEN}", hint="score the submission into a new folder")
        rows = _parse_journal(self.path / RESULTS, journal).values()
        if not any(map(needs_rescoring, rows)):
            is_whole = run.get("summary", {}).get("n_gold") in (None, len(rows))
            raise _resume_error(self.path, "is a finished run with every instance scored" if is_whole else "is a damaged run")
        submission = run.get("submission", {})
        stopped = {row.instance_id for row in rows if row.status in ("timeout", "crashed")}
        started = {"signature": run.get("signature"), "whole": str(submission.get("hash")), "options": run.get("options")}
        started["versions"] = run.get("receipt")
        return started, frozenset(stopped.union(submission.get("unsure", ())))

    def _lock_folder(self) -> None:
        """Lock the folder until `close`, so that two processes never write one journal; the kernel releases the lock of a killed run."""
        try:
            self._lock = _take_lock(self.path) if self._lock is None else self._lock
        except BlockingIOError:
            raise OutputError(f"{self.path} is being written by another run", hint="wait until it ends, or name another folder") from None

    def n_saved(self) -> int:
        """Return how many results the folder has as complete lines; 0 if it cannot be read."""
        try:
            return (self.path / RESULTS).read_bytes().count(b"\n")
        except OSError:
            return 0

    @property
    def is_unfinished(self) -> bool:
        """Return whether --resume can continue it."""
        return exists(self.path / STARTED)

    def append(self, result: Result) -> None:
        """Append one result to the journal."""
        assert self._journal is not None
        line = _journal_line(result).encode("utf-8", "backslashreplace")
        try:
            while line:
                line = line[self._journal.write(line) :]
            if (now := time.monotonic()) - self._synced >= _SYNC_SECONDS:
                os.fsync(self._journal.fileno())
                self._synced = now
        except OSError as error:
            raise cannot_write_run(self.path, error, begun=True) from error

    def finish(self, results: Sequence[Result], run: Mapping[str, Any]) -> None:
        """Rewrite the results in the given (gold) order, then write `run.json`."""
        try:
            self._close_journal()
            lines = (result_line(result) + "\n" for result in move_units(self.path, results))
            digest = write_atomically(self.path / RESULTS, lines)
            write_atomically(self.path / RUN, seal(run, digest=digest, units=units_digest(self.path)))
            (self.path / STARTED).unlink(missing_ok=True)
            UNFINISHED.discard(self.path)
        except OSError as error:
            raise cannot_write_run(self.path, error, begun=True) from error

    def close(self) -> None:
        """Close the journal and unlock the folder; appended results stay."""
        self._close_journal()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _close_journal(self) -> None:
        if self._journal is not None:
            self._journal.close()


def is_held(folder: Path) -> bool:
    """Return whether a process is writing the run in a folder; False if the system has no such locks."""
    try:
        descriptor = _take_lock(folder)
    except BlockingIOError:
        return True
    if descriptor is not None:
        os.close(descriptor)
    return False


def _take_lock(folder: Path) -> int | None:
    """Lock a folder and return the descriptor that keeps the lock; None if there are no such locks, which a run can do without.

    Raises BlockingIOError if another process has the lock.
    """
    try:
        # Windows cannot open a folder.
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        lock(descriptor)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return descriptor


def other_start_error(path: Path, changed: Sequence[str]) -> OutputError:
    """Return the error for an unfinished run that was started with something else."""
    named = ["computed gold" if part == "living" else part for part in changed]
    of_day = "--as-of with the day (UTC) of its start takes that day's gold again: " if "living" in changed else ""
    return OutputError(
        f"{path} was started with other {' and '.join(named)}", hint=f"{of_day}use what it was started with, or start a new run"
    )


def partial_files(folder: Path) -> list[Path]:
    """Return the temporary files that a killed run left next to the real ones."""
    return [part for name in (RUN, RESULTS, STARTED, UNITS) for part in folder.glob(f".{name}.*.part")]


def _list_differences(started: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield what differs between the recorded plan and this one, in the user's words; the signature covers the rest."""
    yield from changed_parts(str(started.get("signature")), str(plan.get("signature")))
    yield from changed_versions(started.get("versions"))
    if "whole" not in started and started.get("submission") != plan["submission"]:
        yield "submission"
    # A database that was missing then is not another one.
    then, now = started.get("databases", {}), plan.get("databases", {})
    yield from (f"database {name}" for name in now if then.get(name, now[name]) != now[name])
    options = started.get("options")
    for name, value in plan["options"].items():
        if name not in ("rules", "limits", "as_of") and (not isinstance(options, dict) or options.get(name) != value):
            yield f"--{name}"


def _journal_line(result: Result) -> str:
    """Return the line of a result with a checksum: the bits that a disk turns would otherwise be another verdict of the resumed run."""
    line = whole_line(result)
    return f'{line[:-1]}, "crc32": "{_checksum(line.encode("utf-8", "backslashreplace"))}"}}\n'


def _checksum(line: bytes) -> str:
    return f"{zlib.crc32(line):08x}"


def _without_checksum(line: bytes) -> bytes:
    """Return a line of a journal as `whole_line` wrote it. Raises ValueError if it has another checksum; older ones have none."""
    if (found := _CRC32.search(line)) is None:
        return line
    written = line[: found.start()] + b"}"
    if found[1].decode() != _checksum(written):
        raise ValueError
    return written


def _parse_journal(path: Path, data: bytes) -> dict[str, Result]:
    """Return the results of complete journal lines by instance id. Raises `OutputError` for a malformed line and a repeated id."""
    results: dict[str, Result] = {}
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            result = result_of(_without_checksum(line))
        except (ValueError, TypeError):
            result = None
        if result is None or not isinstance(result.instance_id, str) or result.instance_id in results:
            why = f"{result.instance_id!r} is there twice" if result is not None else "not a result line"
            raise OutputError(f"{path}:{number}: {why}", hint="no run writes that; remove the line to score it again, or start a new run")
        results[result.instance_id] = result
    return {result.instance_id: result for result in whole_units(path.parent, results.values())}


def cannot_write_run(path: Path, error: OSError, *, begun: bool = False) -> OutputError:
    """Return the error for a run folder that cannot be written, or not any more."""
    again = f"continue with --resume {path}" if can_resume(path) else "call the command again"
    may_write = "check that you may write there"
    cure = (
        "free some space" if error.errno in NO_ROOM else may_write if isinstance(error, PermissionError) or not begun else "check the disk"
    )
    ways = "name another with --out, or name another folder of runs with --runs, or use --no-save"
    hint = f"{cure} and {again}" if begun else f"{ways}, or {cure}"
    return write_error(f"the run folder {path}", error, hint=hint)


def can_resume(path: Path) -> bool:
    """Return whether `run --resume` can finish the unfinished run in a folder: not one that was merged or imported."""
    return "n_instances" in (read_json(path / STARTED) or {})


def unfinished_hint(path: Path) -> str:
    """Return how an unfinished run is finished or deleted."""
    finish = f"`evalsuite run FOLDER --resume {path}` finishes it" if can_resume(path) else "the same command makes it again"
    return f"{finish}, `{prune_command(path.parent)}` lists it for deletion"


def prune_command(root: Path) -> str:
    """Return the command that lists the unfinished runs of a folder of runs, which it names unless it is the default one."""
    where = "" if root.resolve() == RunOptions().runs_folder.resolve() else f" --runs {shlex.quote(str(root))}"
    return f"evalsuite runs prune --unfinished{where}"


def _resume_error(path: Path, what: str) -> OutputError:
    return OutputError(f"{path} {what}", hint="--resume takes the folder of a run that was interrupted, or that left instances unjudged")


def claim(out: Path) -> Path:
    """Return the folder to write a run to: `out` itself. An earlier run there is replaced, any other non-empty folder refused."""
    try:
        if is_dir(out):
            held = {entry.name for entry in set(out.iterdir()) - set(partial_files(out))}
            if is_submission(out):
                raise OutputError(f"{out} is a submission, not a run folder", hint="name a new folder, or one with an earlier run")
            if held and not held & {RUN, RESULTS, STARTED}:
                raise OutputError(f"{out} is not empty and not a run folder", hint="name a new folder, or one with an earlier run")
        elif exists(out):
            raise OutputError(f"{out} is a file, not a folder", hint="--out names the run folder itself")
    except OSError as error:
        raise cannot_write_run(out, error) from error
    return out


def new_folder(root: Path, label: str, *, now: datetime | None = None) -> Path:
    """Create a free folder `<root>/<yyyymmdd-hhmmss>-<label>`; created at once, so that two runs never share one."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    slug = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in label).strip("-.")[:40] or "run"
    folder, n = root / f"{stamp}-{slug}", 1
    while True:
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            n += 1
            folder = root / f"{stamp}-{slug}-{n}"
        except OSError as error:
            raise cannot_write_run(folder, error) from error
    keep_out_of_git(root)
    return folder


def root_of(tasks: Sequence[Task], results: Sequence[Result], gold: Mapping[str, str], contents: Mapping[str, str]) -> str:
    """Return the Merkle root (64 hex digits) over n leaves in gold order: instance, gold digest, answer digest, verdict.

    `gold` has the digest of each file below the gold folder, `contents` that of each file of the submission; for a file that was read, the
    bytes that were read count.
    """
    of_instance: dict[str, list[tuple[str, str]]] = {}
    for name, digest in sorted(gold.items()):
        of_instance.setdefault(name.partition("/")[0], []).append((name, digest))
    return tree_root(_leaf(task, result, of_instance, contents) for task, result in zip(tasks, results, strict=True)).hex()


def tree_root(leaves: Iterable[bytes]) -> bytes:
    """Return the Merkle root over leaves as in RFC 6962, section 2.1."""
    # Height and root of the complete trees so far, each higher than the next.
    trees: list[tuple[int, bytes]] = []
    for leaf in leaves:
        height, node = 0, _hash(b"\x00" + leaf)
        while trees and trees[-1][0] == height:
            height, node = height + 1, _hash(b"\x01" + trees.pop()[1] + node)
        trees.append((height, node))
    nodes = [node for _, node in trees] or [_hash(b"")]
    return reduce(lambda right, left: _hash(b"\x01" + left + right), reversed(nodes))


def _leaf(task: Task, result: Result, gold: Mapping[str, Sequence[tuple[str, str]]], contents: Mapping[str, str]) -> bytes:
    name, answer = task.instance.instance_id, task.answer
    checks = [[check.scorer, dict(check.parameters)] for check in task.instance.checks]
    submitted: list[object] = [] if answer is None else [answer.answer_type, answer.value]
    for path in answer.paths if answer is not None and answer.fault is None else ():
        # A path that is refused is never opened.
        with suppress(FaultError):
            file = resolve_in_side(name, path)
            submitted.append(result.digests.get(path) or contents.get(file))
    # A row that was read back has 1 instead of 1.0.
    numbers = ", ".join(["null" if value is None else repr(float(value)) for value in (result.score, result.official, result.strict)])
    verdict = f"[{_quoted(result.status)}, {numbers}, {'null' if result.fault is None else _quoted(result.fault)}]"
    leaf = f'[{_quoted(name)}, "{_digest([checks, gold.get(name, [])])}", "{_digest(submitted)}", {verdict}]'
    return leaf.encode("utf-8", "surrogatepass")


def _digest(value: object) -> str:
    return _hash(_sorted(value).encode("utf-8", "surrogatepass")).hex()


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


_quoted = json.encoder.encode_basestring_ascii
# Created once: a hundred thousand leaves would each create two encoders.
_sorted = json.JSONEncoder(sort_keys=True, default=str).encode


SIGNATURE = "signature.json"
_WHAT = b"evalsuite run\0"


def new_key(path: Path) -> Path:
    """Create a key pair and return the file of the public key, `path` with `.pub` appended; only the owner can read the private one.

    Raises `OutputError` if a file of either name exists already, or cannot be written.
    """
    _need_library()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key, public, written = Ed25519PrivateKey.generate(), path.with_name(f"{path.name}.pub"), list[Path]()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
    line = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for place, data, mode in ((path, private, 0o600), (public, line + b" evalsuite\n", 0o644)):
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                written.append(place)
                file.write(data)
    except OSError as error:
        for place in written:
            place.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            raise OutputError(f"{error.filename} exists already", hint="a key is never replaced: name another file") from None
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
        raise UsageError(f"{path}: not a private key without a passphrase", hint="`evalsuite runs keys new FILE` makes one") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{path}: not an Ed25519 key", hint="`evalsuite runs keys new FILE` makes one")
    return key


def read_public_key(path: Path) -> "Ed25519PublicKey":
    """Return the public key in a file. Raises `UsageError` for any other file."""
    _need_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    public = Path(f"{path}.pub")
    hint = f"did you mean {str(public)!r}?" if exists(public) else "give the .pub file that was written with the private key"
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
    signature_record = {"public_key": public_text(key.public_key()), "signature": key.sign(_WHAT + seal.encode()).hex()}
    try:
        write_atomically(folder / SIGNATURE, json.dumps(signature_record, indent=2) + "\n")
    except OSError as error:
        raise write_error(folder / SIGNATURE, error) from error


def claimed_signer(folder: Path) -> str:
    """Return the public key that the run in a folder claims to be signed with, unverified; empty if there is none."""
    signature = read_json(folder / SIGNATURE)
    return str(signature.get("public_key", "")) if isinstance(signature, dict) else ""


def why_not_signed(folder: Path, key: "Ed25519PublicKey") -> str:
    """Return why the run in a folder is not verified as signed with this public key; empty if it is."""
    try:
        seal = seal_of((folder / RUN).read_bytes())
    except OSError:
        seal = None
    return why_not_sealed(read_json(folder / SIGNATURE), seal or "", key)


def why_not_sealed(signature: Any, seal: str, key: "Ed25519PublicKey") -> str:
    """Return why `signature` is not one by this key over the seal of a run; empty if it is."""
    from cryptography.exceptions import InvalidSignature

    if signature is None:
        return "not signed"
    try:
        key.verify(bytes.fromhex(signature["signature"]), _WHAT + seal.encode())
    except (InvalidSignature, KeyError, TypeError, ValueError):
        return "not signed with this key, or changed since"
    return ""


def public_text(key: "Ed25519PublicKey") -> str:
    """Return the public key as one line of text, as in its file."""
    from cryptography.hazmat.primitives import serialization

    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()


def _bytes_of(path: Path) -> bytes:
    refuse_endless(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: no key can be read there", hint="`evalsuite runs keys new FILE` makes one") from error


def _need_library() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("signatures need the package cryptography", extra="sign") from error
