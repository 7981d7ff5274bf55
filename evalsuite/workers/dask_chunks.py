"""The inside of a dask worker: a chunk of tasks passes the same pool as on one machine, its workers and walls included.

What a score hangs on is checked once a run: a worker with other packages, another gold or without the folders scores nothing.
"""

import hashlib
import pickle
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evalsuite.errors import EvalsuiteError, GoldError, SubmissionError
from evalsuite.garbage import not_looking
from evalsuite.readers.gold_files import gold_hash, gold_inodes, gold_links
from evalsuite.readers.paths import Inode
from evalsuite.scorers import SCORERS
from evalsuite.store.signature import signature
from evalsuite.workers.packing import pack_results, unpack_tasks
from evalsuite.workers.pool import Pool
from evalsuite.workers.start import Zygote


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all chunks of a run have in common, and what a worker checks once before it scores any of them.

    `versions` is the part of the signature that says what is installed; `needs_files` whether a task opens files of either side.
    `gold_seen` is for workers of this machine that are made for the run: what the parent saw of the very files that it hashed, pickled
    once (their inodes, and where links lead). Others look for themselves.
    """

    token: str
    isolation: str
    versions: str
    gold_folder: Path
    gold_spec: Path
    gold_hash: str
    gold_seen: bytes
    submission_folder: Path
    needs_files: bool
    plugins: tuple[tuple[str, Path, str], ...]
    digests: tuple[str, ...]
    metrics: tuple[tuple[str, dict[str, Any]], ...]

    def __hash__(self) -> int:
        return hash(self.token)


def score_chunk(payload: bytes) -> bytes:
    """The packed results of a packed chunk, in order of completion. Raises `EvalsuiteError` where this worker is no place for it."""
    shared, packed = pickle.loads(payload)
    with _ONE_AT_A_TIME:
        inodes, links = _prepared(shared)
    pool = Pool(jobs=1, isolation=shared.isolation, gold_inodes=inodes, links=links, zygote=_zygote_of(shared.submission_folder))
    with not_looking():
        return pack_results(list(pool.results(unpack_tasks(packed))))


def _zygote_of(submission_folder: Path) -> Zygote:
    """The zygote of this thread, with which it would die: one for all chunks of a submission, and none for what was scored before."""
    known: tuple[Path, Zygote] | None = getattr(_HERE, "zygote", None)
    if known is None or known[0] != submission_folder or not known[1].alive:
        if known is not None:
            known[1].close()
        known = _HERE.zygote = submission_folder, Zygote(submission_folder)
    return known[1]


_ONE_AT_A_TIME, _HERE = threading.Lock(), threading.local()
_DIGESTS: dict[Path, str] = {}


@cache
def _prepared(shared: Shared) -> tuple[frozenset[Inode], list[Path]]:
    """The inodes of gold's files as this machine sees them, and where links in it lead.

    First all that a score hangs on is known to be the same here as in the parent: a worker without the shared folders would find every
    answer's file missing.
    """
    if shared.versions != (own := signature(rules="official", gold_hash="", limits={})):
        raise EvalsuiteError(f"a dask worker has other packages installed: {own}", hint=f"the run has {shared.versions}")
    for (name, file, attribute), digest in zip(shared.plugins, shared.digests, strict=True):
        if not file.is_file() or digest_of(file) != digest or _DIGESTS.setdefault(file, digest) != digest:
            raise EvalsuiteError(f"a dask worker has another {file}", hint="share its folder, and restart the workers after a change")
        SCORERS.bring(name, file, attribute)
    for name, spec in shared.metrics:
        SCORERS.bring_metric(name, spec)
    if not shared.needs_files:
        return frozenset(), []
    if not shared.submission_folder.exists():
        raise SubmissionError(f"a dask worker does not see {shared.submission_folder}", hint="share the folder under the same path")
    if shared.gold_seen:
        seen: tuple[frozenset[Inode], list[Path]] = pickle.loads(shared.gold_seen)
        return seen
    try:
        found = gold_hash(shared.gold_folder, shared.gold_spec)
    except (GoldError, OSError):
        raise GoldError(f"a dask worker does not see {shared.gold_folder}", hint="share the folder under the same path") from None
    if found != shared.gold_hash:
        raise GoldError(f"a dask worker sees another gold in {shared.gold_folder}: {found}", hint=f"the run has {shared.gold_hash}")
    return gold_inodes(shared.gold_folder), gold_links(shared.gold_folder)


def digest_of(file: Path) -> str:
    """The SHA-256 of a plugin's file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
