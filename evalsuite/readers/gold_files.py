"""Find, hash and list the files of gold: its spec, its subfolders, and files of query pairs as in BIRD and Spider 1.

Gold of pairs is a text file with `SQL<TAB>database` on each line (`gold.sql`, `gold.txt`); data about the questions is in the same folder
(`dev.json`). Answers are either such a file with one query per line (`predict.txt`), or JSON (`pred.json`): an object with a query for each
line number, or a list of queries, each optionally followed by `<TAB>----- bird -----<TAB>database`. The database is always gold's: an
answer cannot choose where it runs.
"""

import contextlib
import json
import os
import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.disk_cache import file_state
from evalsuite.core.errors import FAULTS, FaultError, GoldError, SubmissionError, describe, machine_error, reason_of
from evalsuite.core.files import exists, is_file
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.types import METADATA, Answer, Fault, Submission
from evalsuite.readers.json_text import Entry, parse_tree, read_text
from evalsuite.readers.json_text import Layout as Met
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import SPEC_PATTERN, FileDigest, Inode, content_digest, open_digesting, open_trusted, why_no_folder

SUITE_FILE = "suite.yaml"
# Keys of suite.yaml that name a plugin, and the folders of gold in layouts without one folder per instance.
_PLUGIN = lazy_pattern(rb"python:[^\n\"']*")
_SHARED = frozenset({"exec_result", "sql"})
# Endings of files of query pairs: BIRD's gold.sql, Spider's gold.txt.
PAIR_ENDINGS = (".sql", ".txt")
# The gold folder inside the folder of a benchmark.
_IN_CHECKOUTS = ("gold", "evaluation_suite/gold")


def find_spec(folder: Path) -> Path:
    """The spec file of a gold folder; if a file is given instead, the file itself."""
    if why := why_no_folder(folder, "gold folder"):
        if why == "not a folder" and is_file(folder):
            return folder
        raise GoldError(f"{folder}: {why}", hint=f"give the folder that contains {SPEC_PATTERN}, or name it with --gold")
    specs = sorted(folder.glob(SPEC_PATTERN))
    if not specs:
        above = folder / ".." if folder.name in ("", "..") else folder.parent
        near = next((place for place in (*(folder / name for name in _IN_CHECKOUTS), above) if any(place.glob(SPEC_PATTERN))), None)
        hint = f"did you mean {str(near)!r}?" if near is not None else "give the gold folder itself, or the spec file"
        if os.path.lexists(folder / METADATA):
            hint = f"it contains {METADATA}, so it is a submission: name the gold folder instead"
        raise GoldError(f"{folder}: no {SPEC_PATTERN} file", hint=hint)
    if len(specs) > 1:
        names = ", ".join(file.name for file in specs)
        raise GoldError(f"{folder}: several {SPEC_PATTERN} files: {names}", hint=f"name one: {folder / specs[0].name}")
    return specs[0]


def is_alone(spec: Path) -> bool:
    """Whether gold is a single file of query pairs: its folder can contain anything, answers too."""
    return spec.suffix.lower() in PAIR_ENDINGS and is_file(spec)


def find_questions(spec: Path) -> list[Path]:
    """The file about the questions of a file of pairs, if there is one: its own name without `_gold`, or `dev.json`."""
    names = dict.fromkeys((f"{spec.stem.removesuffix('_gold')}.json", f"{spec.stem}.json", "dev.json"))
    return [place for name in names if is_file(place := spec.with_name(name))][:1]


@dataclass(frozen=True, slots=True)
class GoldFiles:
    """A snapshot of a gold folder: every file was opened once, for its digest and its file status.

    `digests` are the SHA-256 (64 hex digits) of the spec file, suite.yaml and every file in gold's subfolders except hidden ones and those
    that running plugins creates (see `_written_by_plugins`), by name below the folder; `inodes` are those of its files, which no submission
    may contain as links.
    """

    root: str
    digests: Mapping[str, str]
    inodes: frozenset[Inode]
    _stamps: Mapping[str, tuple[int, ...]]

    @property
    def hash(self) -> str:
        """12 hex digits over names and contents. Equal folders give equal hashes wherever they are."""
        import hashlib

        total = hashlib.sha256()
        for name, content in self.digests.items():
            encoded = name.encode("utf-8", "surrogateescape")
            total.update(len(encoded).to_bytes(8, "big") + encoded + bytes.fromhex(content))
        return total.hexdigest()[:12]

    def to_cache(self) -> bytes:
        """The digests, for `FileCache.take`."""
        return pickle.dumps(
            {(os.path.join(self.root, name), "digest", self._stamps[name]): (digest, len(digest)) for name, digest in self.digests.items()}
        )

    def find_changed(self, names: Iterable[str] | None = None) -> list[str]:
        """The files (None: all) that have changed since. File status is enough here, because gold belongs to the grader."""
        return [name for name in (self.digests if names is None else names) if self._stamp_now(name) != self._stamps[name]]

    def _stamp_now(self, name: str) -> tuple[int, ...]:
        try:
            return file_state(os.path.join(self.root, name))
        except OSError:
            return ()


def read_gold_files(folder: Path, spec_file: Path | None = None) -> GoldFiles:
    """The files of a gold folder as they are now. Raises `GoldError` if it has no spec file."""
    spec = spec_file or find_spec(folder)
    root = os.fspath(spec.parent)
    suite = os.path.join(root, SUITE_FILE)
    digests, stamps = {}, {}
    nested = [os.path.join(root, place.name) for place in find_questions(spec)] if is_alone(spec) else list(_nested_files(root))
    left = _written_by_plugins(root, spec, nested)
    others = [file for file in nested if file not in left]
    for file in [os.path.join(root, spec.name), *([suite] if os.path.isfile(suite) else []), *others]:
        name = file[len(root) :].lstrip(os.sep).replace(os.sep, "/")
        try:
            with open(file, "rb", buffering=0) as handle:
                stamps[name] = file_state(handle.fileno())
                digests[name] = _digest_of_suite(handle.read()) if file == suite else content_digest(handle).hexdigest()
        except OSError as error:
            raise _unreadable(file, error) from None
    # The folder of a file of pairs can contain anything.
    around = [] if is_alone(spec) else [*left, *(entry.path for entry in os.scandir(root) if entry.is_file())]
    inodes = _inodes(around).union((stamp[0], stamp[1]) for stamp in stamps.values())
    return GoldFiles(root, digests, inodes, stamps)


def is_bytecode(path: str) -> bool:
    """Whether a file below gold is compiled Python, which is not part of gold."""
    return path.endswith((".pyc", ".pyo")) or "__pycache__" in path.split("/")


def _written_by_plugins(root: str, spec: Path, files: Iterable[str]) -> set[str]:
    """The files below gold that running its plugins may have written: a copy without them is the same gold.

    Compiled Python always counts. If suite.yaml names plugins, so does everything except Python sources in a folder that neither an
    instance nor suite.yaml names, except as the folder of a plugin: data that a plugin keeps there is not part of gold, like files next to
    the spec.
    """
    names = {file: file[len(root) :].lstrip(os.sep).replace(os.sep, "/") for file in files}
    left = {file for file, name in names.items() if is_bytecode(name)}
    suite = Path(root, SUITE_FILE)
    try:
        content = suite.read_bytes() if is_file(suite) else b""
    except OSError as error:
        raise _unreadable(suite, error) from None
    if _PLUGIN.search(content) and not is_alone(spec):
        entries, rest = spec.read_bytes(), _PLUGIN.sub(b"", content)
        of_gold = {top: _is_named(top, entries, rest) for top in {name.partition("/")[0] for name in names.values()}}
        left |= {file for file, name in names.items() if not of_gold[name.partition("/")[0]] and not name.endswith(".py")}
    return left


def _is_named(folder: str, entries: bytes, suite: bytes) -> bool:
    """Whether a folder belongs to an instance, to all of them, or to something that suite.yaml names."""
    written = [name.encode("utf-8", "surrogateescape") for name in (folder, json.dumps(folder)[1:-1])]
    return folder in _SHARED or any(b'"%b"' % name in entries or b'"%b/' % name in entries or name in suite for name in written)


def _digest_of_suite(content: bytes) -> str:
    """The digest of a suite.yaml without its judge: the signature contains the judge's settings that affect a verdict, not retries and
    addresses.
    """
    import hashlib

    if b"judge" in content:
        import yaml

        # Keys of several types have no order.
        with contextlib.suppress(yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError, TypeError):
            keys = yaml.safe_load(content.decode("utf-8-sig"))
            if isinstance(keys, dict) and keys.pop("judge", None) is not None:
                content = json.dumps(keys, sort_keys=True, default=str).encode()
    return hashlib.sha256(content).hexdigest()


def gold_hash(folder: Path, spec_file: Path | None = None) -> str:
    """The hash of gold's files as they are now."""
    return read_gold_files(folder, spec_file).hash


def gold_inodes(folder: Path) -> frozenset[Inode]:
    """(st_dev, st_ino) of each file directly in the gold folder and in its subfolders: files that no submission may contain as links."""
    if is_alone(folder):
        return _inodes(map(os.fspath, [folder, *find_questions(folder)]))
    root = os.fspath(folder.parent if is_file(folder) else folder)
    return _inodes([*(entry.path for entry in os.scandir(root) if entry.is_file()), *_nested_files(root)])


def gold_links(folder: Path) -> list[Path]:
    """The targets of links in a gold folder: files and folders outside it that belong to gold all the same."""
    if is_alone(folder):
        return []
    folder = folder.parent if is_file(folder) else folder
    # Folders that links at the top level lead to are gold's own.
    pending = [os.fspath(folder), *(entry.path for entry in os.scandir(folder) if entry.is_symlink() and entry.is_dir())]
    targets = set()
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    targets.add(Path(entry.path).resolve())
                elif entry.is_dir():
                    pending.append(entry.path)
    return sorted(place for place in targets if exists(place))


def _inodes(files: Iterable[str]) -> frozenset[Inode]:
    return frozenset((status.st_dev, status.st_ino) for status in map(os.stat, files))


def _unreadable(file: object, error: OSError) -> GoldError:
    return GoldError(f"{file} cannot be read: {reason_of(error)}", hint="check the disk and your permissions")


def _refuse_unreadable(error: OSError) -> None:
    raise _unreadable(error.filename, error) from None


def _nested_files(folder: str) -> Iterator[str]:
    """The files below each subfolder, sorted by name, without hidden ones; linked folders are gold's own and followed.

    Raises `GoldError` for a folder that cannot be read: without its files gold would have another hash. A disk's `lost+found` is no part.
    Paths are plain texts: for a thousand files `Path` objects would take more time than reading the directory.
    """
    seen: set[Inode] = set()
    own = (entry for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith(".") and entry.name != "lost+found")
    for top in sorted(entry.path for entry in own):
        for root, folders, files in os.walk(top, followlinks=True, onerror=_refuse_unreadable):
            status = os.stat(root)
            # A link to a parent folder would loop.
            if (status.st_dev, status.st_ino) in seen:
                folders.clear()
                continue
            seen.add((status.st_dev, status.st_ino))
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            paths = (os.path.join(root, name) for name in sorted(files) if not name.startswith("."))
            yield from (path for path in paths if os.path.isfile(path))


# The text after a query of BIRD's, before the name of the database that the answer was made for.
_SEPARATOR = "\t----- bird -----\t"
_ENDS = lazy_pattern(r"\r\n?|\n")
_SHOWN = 5


def read_gold_pairs(handle: BinaryIO, *, limits: Limits, layout: Met | None = None) -> Iterator[Entry]:
    """An entry `{"instance_id", "gold", "database"}` for each line, without blank lines; ids count from 0 as in BIRD's files."""
    try:
        text = read_text(handle, limit_bytes=limits["metadata_bytes"])
    except FaultError as error:
        yield Entry(line=1, fault=error.fault, hint=FAULTS[error.fault.code].hint)
        return
    for number, line in enumerate(_ENDS.split(text)):
        if not line.strip():
            continue
        query, _, database = line.strip().rpartition("\t")
        if query:
            yield Entry(line=number + 1, value={"instance_id": str(number), "gold": query.strip(), "database": database.strip()})
        else:
            fault = Fault(code="BAD_SPEC", detail="no database after the query")
            yield Entry(line=number + 1, fault=fault, hint="SQL, a tab, and the name of its database; one pair per line")
    if layout is not None and not text.strip():
        layout.note("the file is empty", 1)


def read_questions(spec: Path, databases: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """(data about each question from gold's folder, a note): n objects in gold's order, empty ones if there is no such file.

    A file is used if it contains as many objects as gold has pairs, each for the same database.
    """
    for place in find_questions(spec):
        try:
            with open_trusted(place, limit_bytes=DEFAULT_LIMITS["metadata_bytes"]) as handle:
                text = read_text(handle, limit_bytes=DEFAULT_LIMITS["metadata_bytes"])
            questions = parse_tree(text, limits={**DEFAULT_LIMITS, "json_records": len(text)})
        except FaultError as error:
            return [{} for _ in databases], f"{place.name} is not read: {describe(error.fault)}"
        fits = isinstance(questions, list) and len(questions) == len(databases) and all(isinstance(item, dict) for item in questions)
        if not fits or any(item.get("db_id", database) != database for item, database in zip(questions, databases, strict=True)):
            note = f"{place.name} is not read: it does not have one object for each of gold's {len(databases)} pairs, in their order"
            return [{} for _ in databases], note
        return questions, ""
    return [{} for _ in databases], ""


def read_predictions(path: Path, limits: Limits, ids: Collection[str] | None) -> Submission:
    """The submission in one file of queries; answers to `ids` that gold does not have are counted. Raises `SubmissionError`."""
    seen = FileDigest()
    try:
        with open_digesting(open_trusted(path, limit_bytes=limits["metadata_bytes"]), seen) as handle:
            text = read_text(handle, limit_bytes=limits["metadata_bytes"])
        if text.lstrip()[:1] in ("{", "["):
            predictions, notes = _of_json(text, limits, ids)
        else:
            # A blank line is not an answer; text after a tab is not read.
            lines = enumerate(_ENDS.split(text))
            predictions, notes = [(str(number), line.split("\t")[0].strip() or None) for number, line in lines], []
    except FaultError as error:
        if error.is_of_machine:
            raise machine_error(path.name, error.fault) from None
        hint = FAULTS[error.fault.code].hint
        raise SubmissionError(f"{path.name}: {describe(error.fault)}", hint=hint) from None
    answers = {name: _answer(name, query, limits) for name, query in predictions if query is not None}
    return Submission.of_answers(path, answers, ids, limits, notes=tuple(notes), digest=seen.digest)


def _of_json(text: str, limits: Limits, ids: Collection[str] | None) -> tuple[list[tuple[str, str | None]], list[str]]:
    """(id, query) of each member of a JSON object or list, None for values other than text, and notes."""
    values = parse_tree(text, limits=limits)
    if isinstance(values, list):
        values = {str(number): value for number, value in enumerate(values)}
    names, notes = list(values), []
    if ids is not None and len(names) == len(ids) and not set(names) <= set(ids):
        notes.append("the keys are not numbers of gold's lines: answers are used in their order, as BIRD's evaluator does")
        names = sorted(ids, key=int)
    predictions = [(name, _without_database(value)) for name, value in zip(names, values.values(), strict=True)]
    odd = [name for name, value in values.items() if value is not None and not isinstance(value, str)]
    if odd:
        notes.append(f"no text for {', '.join(map(repr, odd[:_SHOWN]))}{' and others' if len(odd) > _SHOWN else ''}: missing")
    return predictions, notes


def _without_database(value: Any) -> str | None:
    return value.split(_SEPARATOR)[0].rstrip("\t") if isinstance(value, str) else None


def _answer(name: str, query: str, limits: Limits) -> Answer:
    size = len(query.encode("utf-8", "surrogatepass"))
    where = f"pair {name}"
    if size <= limits["answer_bytes"]:
        return Answer(instance_id=name, answer_type="answer", value=query, where=where)
    detail = f"the query has {size} bytes, the limit answer_bytes is {int(limits['answer_bytes'])}"
    return Answer(instance_id=name, answer_type="answer", value="", where=where, fault=Fault(code="TOO_LARGE", detail=detail, where=where))
