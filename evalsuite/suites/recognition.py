"""What a path is: a submission, gold, a checkout of a benchmark, tables, records, a log, a run or an archive.

Names and file listings decide where they can. Otherwise `look_inside` reads the beginning of the file, in a sandboxed worker.
"""

import itertools
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from evalsuite.compare.values import number_gold
from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.gold.layouts import holds_answers
from evalsuite.readers.archives import is_archive
from evalsuite.readers.load_table import DATABASES, WORKBOOKS, ending_of
from evalsuite.readers.paths import SPEC_PATTERN, metadata_like
from evalsuite.runs.run_folder import RESULTS, RUN
from evalsuite.suites.stored_suites import FILE_KINDS, read_columns

Kind = Literal["submission", "gold", "checkout", "sql_pairs", "table", "records", "candidates", "log", "run", "archive", "unknown"]

# Bytes and rows that are read of a file to recognise it.
HEAD_BYTES: Final = 1 << 20
_HEAD_ROWS: Final = 200
# Share of cells that are the reference's from which a column is taken for answers.
_MOSTLY_EQUAL: Final = 0.2
# Folders below a checkout that may contain `evaluation_suite`, and the gold folder in it.
_SUITES: Final = ("", "spider2-lite", "spider2-snow", "spider2-dbt", "spider2")
# Where a benchmark keeps its databases: BIRD, Spider 1, Spider 2.0.
_DATABASES: Final = (
    "dev_databases",
    "database",
    "databases",
    "resource/databases/spider2-localdb",
    "resource/databases/sqlite/spider2-localdb",
    "resource/databases/sqlite",
    "resource/databases",
)
_DATABASE_ENDINGS: Final = (".sqlite", ".sqlite3", ".duckdb", ".db")
_PAIRED_GOLD: Final = ("gold.sql", "gold.txt", "*sqlite_gold.sql", "*gold*.sql", "*gold*.txt", "dev.sql")
# Folders that are looked at for the gold queries of a benchmark, itself, its folders and theirs.
_MOST_FOLDERS: Final = 500
_QUERY: Final = re.compile(
    r"\s*(--.*\n\s*|/\*.*?\*/\s*|\(\s*)*(select|with|insert|update|delete|create|values)\b", re.IGNORECASE | re.DOTALL
)
_PAIR: Final = re.compile(r".*\S\t[\w .-]+\s*")
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "input": ("input", "question", "prompt", "query", "instruction", "problem", "task", "utterance"),
    "reference": (
        "reference", "reference_output", "reference_answer", "gold", "gold_answer", "golden", "answer", "expected", "expected_output",
        "expected_answer", "target", "ground_truth", "groundtruth", "correct_answer", "correct", "label", "truth", "solution",
    ),
    "candidate": (
        "candidate", "candidate_output", "prediction", "predicted", "output", "response", "completion", "model",
        "generated", "answer",
    ),
}  # fmt: skip
_NO_CANDIDATE: Final = re.compile(
    r"(.*_)?(id|index|idx|no|number|category|type|topic|difficulty|level|split|source|tags?|date|time|url|notes?|comments?|context|"
    r"latency\w*|tokens?|cost|score|model_name|language|domain|subject)s?",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A suite of a known benchmark: its gold, the rules or layout that read it, its databases (None if there are none)."""

    name: str
    gold: Path
    rules: str | None = None
    databases: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A path with its kind; `facts` are those of `look_inside`, `benchmarks` the suites of a checkout."""

    path: Path
    kind: Kind
    facts: Mapping[str, Any] = field(default_factory=dict)
    benchmarks: Sequence[Benchmark] = ()


def recognise(path: Path) -> Thing:
    """Return what an existing path is, `unknown` if nothing fits. Nothing of it is executed.

    Raises:
        EvalsuiteError: the path cannot be read.
    """
    return _folder(path) if path.is_dir() else _file(path)


def _folder(path: Path) -> Thing:
    names = {place.name for place in path.iterdir()}
    if RUN in names and RESULTS in names:
        return Thing(path=path, kind="run")
    if metadata_like(path):
        return Thing(path=path, kind="submission")
    if any(path.glob(SPEC_PATTERN)):
        return Thing(path=path, kind="gold")
    if benchmarks := benchmarks_of(path):
        return Thing(path=path, kind="checkout", benchmarks=benchmarks)
    return _folder_of_files(path, sorted(name for name in names if not name.startswith(".")))


def _folder_of_files(path: Path, names: Sequence[str]) -> Thing:
    """Return what a folder without a file of a known name is: records, logs, or answers by id."""
    files = [name for name in names if (path / name).is_file()]
    endings = {Path(name).suffix.lower() for name in files}
    if files and endings <= {".json", ".jsonl", ".eval"}:
        is_log = _inside(path / files[0]).get("kind") == "log"
        return Thing(path=path, kind="log" if is_log else "records", facts={"files": files})
    facts = {"files": files, "endings": sorted(endings)}
    has_projects = any(place.suffix == ".duckdb" for name in names if (path / name).is_dir() for place in (path / name).iterdir())
    return Thing(path=path, kind="submission" if holds_answers(path) or has_projects else "unknown", facts=facts)


def benchmarks_of(path: Path) -> list[Benchmark]:
    """Return the suites in a checkout of Spider 2.0 (Lite, Snow, dbt), BIRD or Spider 1, with what their runs need."""
    found = []
    bases = [path.parent] if path.name == "evaluation_suite" else [path / name for name in _SUITES]
    for base in bases:
        gold = base / "evaluation_suite" / "gold"
        if gold.is_dir() and any(gold.glob(SPEC_PATTERN)):
            found.append(Benchmark(name=base.resolve().name, gold=gold, databases=_databases_of(base)))
    for base in () if found else _folders_below(path):
        gold_file = next((file for pattern in _PAIRED_GOLD for file in sorted(base.glob(pattern)) if file.is_file()), None)
        around = (base, base.parent, path)
        kind = next((name for name in ("dev_databases", "database") for place in around if (place / name).is_dir()), None)
        if gold_file is not None and kind is not None:
            databases = next(filter(None, map(_databases_of, around)), None)
            rules = "bird-ex" if kind == "dev_databases" else "test-suite"
            found.append(Benchmark(name=path.resolve().name, gold=gold_file, rules=rules, databases=databases))
            break
    return found


def _folders_below(path: Path) -> Iterator[Path]:
    """Yield a folder, its visible folders and theirs, at most `_MOST_FOLDERS`."""
    level, n = [path], 0
    for _ in range(3):
        for folder in level:
            if (n := n + 1) <= _MOST_FOLDERS:
                yield folder
        below = (place for folder in level for place in sorted(folder.iterdir()) if not place.name.startswith("."))
        level = [place for place in itertools.islice(below, 10 * _MOST_FOLDERS) if place.is_dir() and not place.is_symlink()]


def _databases_of(base: Path) -> Path | None:
    """Return the first known folder with database files in it or in its folders."""

    def has_files(folder: Path) -> bool:
        return any(next(folder.glob(f"{depth}*{ending}"), None) for depth in ("", "*/") for ending in _DATABASE_ENDINGS)

    return next((base / name for name in _DATABASES if (base / name).is_dir() and has_files(base / name)), None)


def ids_of_gold(gold: Path) -> set[str]:
    """Return the ids of a gold folder or spec file, empty if it is not readable."""
    from evalsuite.gold.layouts import read_gold

    try:
        return {one.instance_id for one in read_gold(gold, plugins=False).instances}
    except EvalsuiteError:
        return set()


def ids_of_answers(answer: Thing) -> set[str]:
    """Return names that may be ids of a submission: of its metadata's first lines, of its files, of its folders."""
    if not answer.path.is_dir():
        return set()
    found = {place.stem if place.is_file() else place.name for place in answer.path.iterdir()}
    if names := metadata_like(answer.path):
        found |= set(_inside(answer.path / names[0]).get("ids", ()))
    return found


def _file(path: Path) -> Thing:
    name, folder = path.name.lower(), path.absolute().parent
    if name in (RUN, RESULTS) and (folder / RUN).is_file():
        return Thing(path=folder, kind="run")
    if name.startswith("results_metadata.json"):
        return Thing(path=folder, kind="submission")
    if path.match(SPEC_PATTERN):
        return Thing(path=path, kind="gold")
    inside = _inside(path)
    if is_archive(name) and inside.get("kind") != "log":
        return Thing(path=path, kind="archive")
    kind: Kind = inside.get("kind", "unknown")
    return Thing(path=folder if kind in ("run", "submission") else path, kind=kind, facts=inside)


def zip_is_log(path: Path) -> bool:
    """Return whether an archive is a log of Inspect, by the names in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "header.json" in archive.namelist() or "_journal/start.json" in archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError):
        return False


def _inside(path: Path) -> dict[str, Any]:
    """Return what `look_inside` finds, asked in a worker."""
    from evalsuite.readers.limits import resolve_limits
    from evalsuite.sandbox.rpc_client import RpcClient

    with RpcClient(readable=[path], hostile=path, limits=resolve_limits()) as calls:
        found: dict[str, Any] = calls.call("evalsuite.suites.recognition:look_inside", str(path.absolute()), n_bytes=path.stat().st_size)
    return found


def look_inside(path: str) -> dict[str, Any]:
    """Return JSON-safe facts about a file: `kind`; of a table `columns` (names) and, if it has candidates, `input`, `reference` (or None)
    and `candidates`. Runs in a worker.
    """
    place = Path(path)
    with place.open("rb") as handle:
        head = handle.read(HEAD_BYTES)
    return _of_magic(place, head) or _of_content(place, head)


def _of_magic(place: Path, head: bytes) -> dict[str, Any]:
    """Return the kind of an archive or a database by its first bytes, empty for other files."""
    if head[:4] == b"PK\x03\x04" and place.suffix.lower() not in WORKBOOKS:
        return {"kind": "log" if zip_is_log(place) else "archive"}
    if head[:2] == b"\x1f\x8b" or head[257:262] == b"ustar":
        return {"kind": "table" if ending_of(place) else "archive"}
    is_database = head[8:12] == b"DUCK" or head.startswith(b"SQLite format 3\0")
    return {"kind": "table"} if is_database or place.suffix.lower() in DATABASES else {}


def _of_content(place: Path, head: bytes) -> dict[str, Any]:
    ending, text = place.suffix.lower(), head.decode("utf-8-sig", "replace")
    if ending == ".jsonl":
        return _of_lines(text, is_whole=len(head) < HEAD_BYTES)
    if ending == ".json" or (ending not in (".sql", ".txt", ".csv", ".tsv") and text.lstrip()[:1] in ("{", "[")):
        return _of_json(place)
    if ending in FILE_KINDS:
        return _of_columns(_head_of_columns(place, head))
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and _QUERY.match(lines[0]):
        return {"kind": "sql_pairs", "is_gold": all(_PAIR.fullmatch(line) for line in lines[:_HEAD_ROWS])}
    return {"kind": "table"} if ending_of(place) else {"kind": "unknown"}


def _head_of_columns(place: Path, head: bytes) -> Mapping[str, Sequence[Any]]:
    """Return the columns of a file, for a large CSV only those of its first rows; empty for one that cannot be read."""
    try:
        if len(head) == HEAD_BYTES and place.suffix.lower() in (".csv", ".tsv"):
            from evalsuite.sandbox.temp_dirs import TempDir

            with TempDir() as scratch:
                short = scratch / place.name
                short.write_bytes(head[: head.rfind(b"\n") + 1])
                return read_columns(short)
        return read_columns(place)
    except (EvalsuiteError, FaultError, OSError, ValueError):
        return {}


def _of_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    guess = guess_columns({name: list(cells[:_HEAD_ROWS]) for name, cells in columns.items()})
    return {"kind": "candidates" if guess else "table", "columns": list(columns), **guess}


def _of_json(place: Path) -> dict[str, Any]:
    try:
        value = json.loads(place.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError, OSError):
        return {"kind": "unknown", "why": "not valid JSON"}
    if isinstance(value, dict):
        return _of_object(value)
    if not isinstance(value, list):
        return {"kind": "unknown"}
    return {"kind": "sql_pairs", "is_gold": False} if _are_queries(value) else _of_rows(value)


def _of_object(value: Mapping[str, Any]) -> dict[str, Any]:
    results = value.get("results")
    rows = results.get("results") if isinstance(results, dict) else results
    of_inspect = isinstance(value.get("eval"), dict) and "samples" in value
    if of_inspect or (isinstance(rows, list) and rows and isinstance(rows[0], dict) and {"provider", "prompt"} <= rows[0].keys()):
        return {"kind": "log"}
    if {"signature", "summary"} <= value.keys():
        return {"kind": "run"}
    cells = list(value.values())
    if _are_queries(cells):
        return {"kind": "sql_pairs", "is_gold": False}
    if cells and all(isinstance(one, list) and not _is_nested(one) for one in cells) and len(set(map(len, cells))) == 1:
        return _of_columns(value)
    return {"kind": "records"}


def _are_queries(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(one, str) for one in values) and all(map(_QUERY.match, values[:5]))


# Keys of the first line of a JSONL file -> its kind.
_LINE_KINDS: Final[Sequence[tuple[frozenset[str], Kind]]] = (
    (frozenset({"doc_id", "resps"}), "log"),
    (frozenset({"doc", "filtered_resps"}), "log"),
    (frozenset({"instance_id", "evaluation"}), "gold"),
    (frozenset({"instance_id", "condition_cols"}), "gold"),
    (frozenset({"instance_id", "status", "fault"}), "run"),
    (frozenset({"instance_id", "answer_type"}), "submission"),
    (frozenset({"instance_id", "answer_or_path"}), "submission"),
)


def _of_lines(text: str, *, is_whole: bool) -> dict[str, Any]:
    lines = [line for line in text.split("\n") if line.strip()]
    rows = []
    for line in lines[:_HEAD_ROWS]:
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError):
            if line is not lines[-1] or is_whole:
                return {"kind": "unknown", "why": "not valid JSON"}
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    kind = next((kind for keys, kind in _LINE_KINDS if keys <= first.keys()), None)
    if kind is not None:
        return {"kind": kind, "ids": [row["instance_id"] for row in rows if isinstance(row, dict) and "instance_id" in row]}
    return _of_rows(rows)


def _of_rows(rows: Sequence[Any]) -> dict[str, Any]:
    if not rows or not all(isinstance(row, dict) for row in rows):
        return {"kind": "records" if rows else "unknown"}
    if any(_is_nested(row.values()) for row in rows[:_HEAD_ROWS]):
        return {"kind": "records"}
    names = dict.fromkeys(name for row in rows[:_HEAD_ROWS] for name in row)
    return _of_columns({name: [row.get(name) for row in rows[:_HEAD_ROWS]] for name in names})


def _is_nested(values: Iterable[Any]) -> bool:
    return any(isinstance(value, dict | list) for value in values)


def guess_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return `input`, `reference` and `candidates` of a table of answers by the names and the cells of its columns; empty if it is none.

    The reference has a name that people use for it. Candidates are named like one, or have cells equal to the reference's; without such
    columns a table is no table of answers.
    """
    reference = _named(columns, "reference")
    if reference is None:
        return {}
    question = _named([name for name in columns if name != reference], "input")
    rest = [name for name in columns if name not in (reference, question) and not _NO_CANDIDATE.fullmatch(_folded(name))]
    alike = [name for name in rest if _is_like_candidate(name) or _share_of_equal(columns[name], columns[reference]) >= _MOSTLY_EQUAL]
    candidates = alike or (rest if question is not None else [])
    return {"input": question, "reference": reference, "candidates": candidates} if candidates else {}


def _named(names: Iterable[str], role: str) -> str | None:
    """Return the column that people call by the first word of a role that any has."""
    names = list(names)
    return next((name for word in _WORDS[role] for name in names if _folded(name) == word), None)


def _is_like_candidate(name: str) -> bool:
    return any(part in _WORDS["candidate"] for part in re.split(r"[_\s.-]+|(?<=\D)(?=\d)", _folded(name)))


def _folded(name: str) -> str:
    return re.sub(r"[\s-]+", "_", str(name).strip()).casefold()


def _share_of_equal(cells: Sequence[Any], reference: Sequence[Any]) -> float:
    """Return the share of rows in which a cell is the reference's as text, or the same number."""

    def form(cell: Any) -> object:
        text = str("" if cell is None else cell).strip().casefold()
        number = number_gold(text)
        return text if number is None else float(number)

    pairs = [(form(a), form(b)) for a, b in zip(cells, reference, strict=False) if b is not None]
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else 0.0
