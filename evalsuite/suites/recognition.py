"""What a path is: a submission, gold, a checkout of a benchmark, tables, records, a log, a run or an archive.

Names and file listings decide where they can. Otherwise `look_inside` reads the beginning of the file, in a sandboxed worker.
"""

import itertools
import json
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from evalsuite.compare.values import number_gold
from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.core.files import exists, is_dir, is_file, is_symlink
from evalsuite.core.types import METADATA
from evalsuite.gold.layouts import holds_answers, read_gold
from evalsuite.readers.archives import DAMAGE, is_archive
from evalsuite.readers.json_text import json_problem
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_table import DATABASES, WORKBOOKS, ending_of
from evalsuite.readers.paths import SPEC_PATTERN, metadata_like
from evalsuite.runs.run_folder import RESULTS, RUN, STARTED
from evalsuite.sandbox.temp_dirs import TempDir
from evalsuite.suites.stored_suites import FILE_KINDS, TEXT_KIND, FileLimitError, read_columns

Kind = Literal["submission", "gold", "checkout", "sql_pairs", "table", "records", "candidates", "log", "run", "archive", "unknown"]

# The number of members of an archive that are examined.
_MOST_MEMBERS: Final = 20_000
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
# Files that say something about a folder and are no part of its content.
_LITTER: Final = re.compile(r"(readme|license|licence|notice|changelog)(\..*)?|.*\.md|thumbs\.db|desktop\.ini|__MACOSX", re.IGNORECASE)
_RECORD_ENDINGS: Final = (".json", ".jsonl", ".ndjson", ".eval")
# The depth of folders, and the number of files of a folder, that are examined.
_MOST_DEPTH: Final = 4
_MOST_LOGS: Final = 50
# The number of folders examined for the gold queries of a benchmark: itself, its subfolders and theirs.
_MOST_FOLDERS: Final = 500
_QUERY: Final = re.compile(
    r"\s*+(?:--[^\n]*+\n\s*+|(?>/\*.*?\*/)\s*+|\(\s*+)*+(?:select|with|insert|update|delete|create|values)\b", re.IGNORECASE | re.DOTALL
)
_PAIR: Final = re.compile(r".*\S\t[\w .-]+\s*")
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "input": ("input", "question", "prompt", "query", "instruction", "problem", "task", "utterance", "q"),
    "reference": (
        "reference", "reference_output", "reference_answer", "gold", "gold_answer", "golden", "answer", "expected", "expected_output",
        "expected_answer", "target", "ground_truth", "groundtruth", "correct_answer", "correct", "label", "truth", "solution", "ideal",
    ),
    "candidate": (
        "candidate", "candidate_output", "prediction", "predicted", "pred", "output", "response", "completion", "model",
        "generated", "answer", "llm", "gpt", "claude", "gemini", "llama", "mistral", "qwen", "deepseek", "baseline",
    ),
}  # fmt: skip
_NO_CANDIDATE: Final = re.compile(
    r"(.*_)?(id|index|idx|no|nr|number|category|type|topic|difficulty|level|split|source|tags?|date|time|url|notes?|comments?|context|"
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
    """A path with its kind; `facts` are those of `look_inside`, `benchmarks` the suites of a checkout.

    `parts` are the things in a folder that is none itself, or the file of a folder with a single one.
    """

    path: Path
    kind: Kind
    facts: Mapping[str, Any] = field(default_factory=dict)
    benchmarks: Sequence[Benchmark] = ()
    parts: "Sequence[Thing]" = ()


def recognise(path: Path, depth: int = 0) -> Thing:
    """Return what an existing path is, `unknown` with the reason if nothing fits. Nothing of it is executed.

    A folder that contains only one folder, apart from hidden files, is replaced by that folder.

    Raises:
        EvalsuiteError: the path cannot be read.
    """
    if is_dir(path):
        return _recognise_folder(path, depth)
    if is_symlink(path) and not exists(path):
        return Thing(path=path, kind="unknown", facts={"why": "it is a link to nothing"})
    if not is_file(path):
        return Thing(path=path, kind="unknown", facts={"why": "it is no file and no folder"})
    return _recognise_file(path)


def _recognise_folder(path: Path, depth: int) -> Thing:
    names = {place.name for place in path.iterdir()}
    if RUN in names and RESULTS in names:
        return Thing(path=path, kind="run")
    if metadata_like(path):
        return Thing(path=path, kind="submission")
    if any(path.glob(SPEC_PATTERN)):
        return Thing(path=path, kind="gold")
    if STARTED in names:
        return Thing(path=path, kind="unknown", facts={"why": "it is an unfinished run", "is_unfinished": True})
    visible = _content_names(path, names)
    is_alone = len(visible) == 1 and path.name != "evaluation_suite" and is_dir(path / visible[0])
    if depth < _MOST_DEPTH and is_alone:
        inner = recognise(path / visible[0], depth + 1)
        if inner.kind != "unknown":
            return inner
    if depth < _MOST_DEPTH and (parts := _parts(path, visible)):
        return Thing(path=path, kind=parts[0].kind if len({part.kind for part in parts}) == 1 else "unknown", parts=parts)
    if benchmarks := benchmarks_of(path):
        return Thing(path=path, kind="checkout", benchmarks=benchmarks)
    return _folder_of_files(path, visible)


def _content_names(path: Path, names: Iterable[str]) -> list[str]:
    """Return the names in a folder that are content: not hidden, no README; of `.evalsuite` the runs."""
    visible = sorted(name for name in names if not name.startswith(".") and not _LITTER.fullmatch(name))
    return ["runs"] if path.name == ".evalsuite" and "runs" in visible else visible


def _parts(path: Path, names: Sequence[str]) -> list[Thing]:
    """Return the gold folders, submissions and runs right in a folder; empty if it is a checkout, or has none."""
    folders = [path / name for name in names[:_MOST_FOLDERS] if is_dir(path / name)]
    if "evaluation_suite" in (path.name, *names) or any(is_dir(folder / "evaluation_suite") for folder in folders):
        return []
    readers: dict[Kind, Any] = {
        "gold": lambda folder: any(folder.glob(SPEC_PATTERN)),
        "submission": metadata_like,
        "run": lambda folder: is_file(folder / RUN) and is_file(folder / RESULTS),
    }
    return [Thing(path=folder, kind=kind) for kind, fits in readers.items() for folder in folders if fits(folder)]


def _folder_of_files(path: Path, names: Sequence[str]) -> Thing:
    """Return what a folder without a file of a known name is: records, logs, or answers by id."""
    files = [name for name in names if is_file(path / name)]
    endings = {Path(name).suffix.lower() for name in files}
    if endings <= set(_RECORD_ENDINGS):
        logs = _logs_below(path)
        if files or logs:
            return Thing(path=path, kind="log" if logs else "records", facts={"files": logs or files})
    facts: dict[str, Any] = {"files": files, "endings": sorted(endings)}
    has_projects = any(place.suffix == ".duckdb" for name in names if is_dir(path / name) for place in (path / name).iterdir())
    only = [_recognise_file(path / files[0])] if len(names) == len(files) == 1 else []
    if holds_answers(path) or has_projects:
        return Thing(path=path, kind="submission", facts=facts, parts=only)
    return only[0] if only else Thing(path=path, kind="unknown", facts={**facts, **_explain_unknown(names)})


def _explain_unknown(names: Sequence[str]) -> dict[str, str]:
    """Return the fact `why` of a folder of these names that is nothing known; empty if there is no reason but that."""
    upper = next((name for name in names if name.lower().endswith("_eval.jsonl") or Path(name).suffix in (".CSV", ".SQL")), "")
    if upper:
        return {"why": f"it contains {upper}; names of gold and of answers end in lower case"}
    return {} if names else {"why": "it is empty"}


def _logs_below(path: Path) -> list[str]:
    """Return the logs of other tools among the first files in a folder and in its folders, as names below it."""
    files = (place for depth in ("*", "*/*") for place in sorted(path.glob(depth)) if place.suffix.lower() in _RECORD_ENDINGS)
    logs = [place for place in itertools.islice(files, _MOST_LOGS) if is_file(place) and not place.name.startswith(".")]
    first = [place for place in logs if _look_inside_in_worker(place).get("kind") == "log"] if logs and _may_be_log(logs) else []
    return [str(place.relative_to(path)) for place in first]


def _may_be_log(files: Sequence[Path]) -> bool:
    """Return whether one of the first files, or one with a name of lm-eval's samples, is a log."""
    sample_files = [file for file in files if file.name.startswith("samples_")]
    return any(_look_inside_in_worker(file).get("kind") == "log" for file in [*files[:1], *sample_files[:1]])


def benchmarks_of(path: Path) -> list[Benchmark]:
    """Return the suites in a checkout of Spider 2.0 (Lite, Snow, dbt), BIRD or Spider 1, with what their runs need."""
    benchmarks = []
    bases = [path.parent] if path.name == "evaluation_suite" else [path / name for name in _SUITES]
    for base in bases:
        gold = base / "evaluation_suite" / "gold"
        if is_dir(gold) and any(gold.glob(SPEC_PATTERN)):
            benchmarks.append(Benchmark(name=base.resolve().name, gold=gold, databases=_databases_of(base)))
    for base in () if benchmarks else _folders_below(path):
        gold_file = next((file for pattern in _PAIRED_GOLD for file in sorted(base.glob(pattern)) if is_file(file)), None)
        around = (base, base.parent, path)
        kind = next((name for name in ("dev_databases", "database") for place in around if is_dir(place / name)), None)
        if gold_file is not None and kind is not None:
            databases = next(filter(None, map(_databases_of, around)), None)
            rules = "bird-ex" if kind == "dev_databases" else "test-suite"
            benchmarks.append(Benchmark(name=path.resolve().name, gold=gold_file, rules=rules, databases=databases))
            break
    return benchmarks


def _folders_below(path: Path) -> Iterator[Path]:
    """Yield a folder, its visible folders and theirs, at most `_MOST_FOLDERS`."""
    level, n = [path], 0
    for _ in range(3):
        for folder in level:
            if (n := n + 1) <= _MOST_FOLDERS:
                yield folder
        below = (place for folder in level for place in sorted(folder.iterdir()) if not place.name.startswith("."))
        level = [place for place in itertools.islice(below, 10 * _MOST_FOLDERS) if is_dir(place) and not is_symlink(place)]


def _databases_of(base: Path) -> Path | None:
    """Return the first known folder with database files in it or in its folders."""

    def has_files(folder: Path) -> bool:
        return any(next(folder.glob(f"{depth}*{ending}"), None) for depth in ("", "*/") for ending in _DATABASE_ENDINGS)

    return next((base / name for name in _DATABASES if is_dir(base / name) and has_files(base / name)), None)


def ids_of_gold(gold: Path) -> set[str]:
    """Return the ids of a gold folder or spec file, empty if it is not readable."""
    try:
        return {instance.instance_id for instance in read_gold(gold, plugins=False).instances}
    except EvalsuiteError:
        return set()


def ids_of_answers(answer: Thing) -> set[str]:
    """Return names that may be ids of a submission: of its metadata's first lines, of its files, of its folders."""
    if not is_dir(answer.path):
        return set()
    ids = {place.stem if is_file(place) else place.name for place in answer.path.iterdir()}
    if names := metadata_like(answer.path):
        ids |= set(_look_inside_in_worker(answer.path / names[0]).get("ids", ()))
    return ids


def _recognise_file(path: Path) -> Thing:
    name, folder = path.name.lower(), path.absolute().parent
    if name in (RUN, RESULTS) and is_file(folder / RUN):
        return Thing(path=folder, kind="run")
    if name.startswith("results_metadata.json"):
        return Thing(path=folder, kind="submission")
    if path.match(SPEC_PATTERN):
        return Thing(path=path, kind="gold")
    inside: Mapping[str, Any] = _look_inside_in_worker(path) if path.stat().st_size else {"why": "it is empty"}
    kind: Kind = inside.get("kind", "unknown")
    if (kind == "submission" and not metadata_like(folder)) or (kind == "run" and not is_file(folder / RUN)):
        needed = METADATA if kind == "submission" else f"{RESULTS}, next to {RUN}"
        return Thing(path=path, kind="unknown", facts={"why": f"its lines are those of {needed}: give it that name"})
    return Thing(path=folder if kind in ("run", "submission") else path, kind=kind, facts=inside)


def zip_is_log(path: Path) -> bool:
    """Return whether an archive is a log of Inspect, by the names in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "header.json" in archive.namelist() or "_journal/start.json" in archive.namelist()
    except DAMAGE:
        return False


def _look_inside_in_worker(path: Path) -> dict[str, Any]:
    """Return what `look_inside` finds, asked in a worker."""
    from evalsuite.sandbox.rpc_client import RpcClient

    with RpcClient(readable=[path], hostile=path, limits=resolve_limits()) as calls:
        content: dict[str, Any] = calls.call("evalsuite.suites.recognition:look_inside", str(path.absolute()), n_bytes=path.stat().st_size)
    return content


def look_inside(path: str) -> dict[str, Any]:
    """Return JSON-safe facts about a file: `kind`; of a table `columns` (names) and, if it has candidates, `input`, `reference` (or None)
    and `candidates`. Runs in a worker.
    """
    place = Path(path)
    with place.open("rb") as handle:
        head = handle.read(HEAD_BYTES)
    if not head.strip():
        return {"kind": "unknown", "why": "it is empty"}
    return _recognise_magic(place, head) or _recognise_content(place, head)


def _recognise_magic(place: Path, head: bytes) -> dict[str, Any]:
    """Return the kind of an archive or a database by its first bytes, empty for other files."""
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06") and ending_of(place) not in WORKBOOKS:
        return {"kind": "log" if zip_is_log(place) else "archive", "is_submission": _has_metadata(place)}
    is_packed = head[:2] == b"\x1f\x8b" or head[:3] == b"BZh" or head[:6] == b"\xfd7zXZ\0"
    if head[257:262] == b"ustar" or is_archive(place.name) or (is_packed and not ending_of(place)):
        return {"kind": "archive", "is_submission": _has_metadata(place)}
    return {"kind": "table"} if ending_of(place) in DATABASES else {}


def _has_metadata(place: Path) -> bool:
    """Return whether an archive contains a file of answers in its main folder; True for one that cannot be read, as scoring says why."""
    try:
        if zipfile.is_zipfile(place):
            with zipfile.ZipFile(place) as zip_file:
                names = zip_file.namelist()
        else:
            with tarfile.open(place) as archive:
                names = [member.name for member in itertools.islice(archive, _MOST_MEMBERS)]
    except DAMAGE:
        return True
    parts = [name.removeprefix("./").split("/") for name in names]
    return any(path_parts[-1].casefold().startswith("results_metadata") and len(path_parts) <= 2 for path_parts in parts)


def _recognise_content(place: Path, head: bytes) -> dict[str, Any]:
    text = head.decode("utf-8-sig", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and _QUERY.match(lines[0]) and place.suffix.lower() not in (".csv", ".tsv"):
        return {"kind": "sql_pairs", "is_gold": all(_PAIR.fullmatch(line) for line in lines[:_HEAD_ROWS])}
    ending = ending_of(place)
    if ending in (".json", ".jsonl"):
        if encoding := _detect_encoding(head):
            return {"kind": "unknown", **encoding}
        if ending == ".jsonl":
            return _recognise_lines(text, is_whole=len(head) < HEAD_BYTES)
        return _recognise_json(place)
    if ending not in FILE_KINDS:
        is_text = not ending and place.suffix.lower() == TEXT_KIND and not _detect_encoding(head)
        facts = {"why": "it is text, perhaps one answer per line", "is_text": True} if is_text else {}
        return {"kind": "table"} if ending else {"kind": "unknown", **facts}
    columns = _head_of_columns(place, head)
    if not columns and ending in _PACKED:
        return {"kind": "unknown", "why": f"its name ends in {ending}, but it is no {_PACKED[ending]} file"}
    if not columns and ending in (".csv", ".tsv"):
        return {"kind": "unknown", **_detect_encoding(head)} if _detect_encoding(head) else {"kind": "table"}
    return _recognise_columns(columns)


_PACKED: Final = {".parquet": "Parquet", ".xlsx": "Excel"}


def _detect_encoding(head: bytes) -> dict[str, str]:
    """Return why a text is not UTF-8 and its likely encoding; empty if it is UTF-8 (a last character may be cut)."""
    try:
        head[: len(head) - 3 * (len(head) == HEAD_BYTES)].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if b"\0" in head and head[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            return {"why": "it is no text"}
        encoding = "UTF-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "LATIN1"
        return {"why": f"its text is not UTF-8, first in line {head.count(bytes([10]), 0, error.start) + 1}", "encoding": encoding}
    return {}


def _head_of_columns(place: Path, head: bytes) -> Mapping[str, Sequence[Any]]:
    """Return the columns of a file, for a large CSV only those of its first rows; empty for one that cannot be read."""
    try:
        if len(head) == HEAD_BYTES and place.suffix.lower() in (".csv", ".tsv"):
            with TempDir() as scratch:
                short = scratch / place.name
                short.write_bytes(head[: head.rfind(b"\n") + 1])
                return read_columns(short)
        return read_columns(place)
    except FileLimitError as error:
        raise FaultError("LIMIT", error.message) from None
    except (EvalsuiteError, FaultError, OSError, ValueError):
        return {}


def _recognise_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    guess = guess_columns({name: list(cells[:_HEAD_ROWS]) for name, cells in columns.items()})
    return {
        "kind": "candidates" if guess else "table",
        "columns": list(columns),
        "n_rows": max(map(len, columns.values()), default=0),
        **guess,
    }


def _recognise_json(place: Path) -> dict[str, Any]:
    try:
        value = json.loads(place.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and error.lineno > 1:
            return {
                "kind": "unknown",
                "why": "it contains several JSON values, a line each, so its name should end in .jsonl",
                "ending": ".jsonl",
            }
        problem = json_problem(error.doc, error) or f": {error.msg[:1].lower() + error.msg[1:]}"
        return {"kind": "unknown", "why": f"line {error.lineno}, column {error.colno} is not valid JSON{problem}"}
    except (ValueError, RecursionError, OSError):
        return {"kind": "unknown", "why": "not valid JSON"}
    if isinstance(value, dict):
        return _recognise_object(value)
    if not isinstance(value, list):
        return {"kind": "unknown"}
    return {"kind": "sql_pairs", "is_gold": False} if _are_queries(value) else _recognise_rows(value)


def _recognise_object(value: Mapping[str, Any]) -> dict[str, Any]:
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
    if cells and all(isinstance(cell, list) and not _is_nested(cell) for cell in cells) and len(set(map(len, cells))) == 1:
        return _recognise_columns(value)
    return {"kind": "records"}


def _are_queries(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, str) for value in values) and all(map(_QUERY.match, values[:5]))


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


def _recognise_lines(text: str, *, is_whole: bool) -> dict[str, Any]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    rows = []
    for number, line in lines[:_HEAD_ROWS]:
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            if number != lines[-1][0] or is_whole:
                problem = json_problem(line, error) if isinstance(error, json.JSONDecodeError) else ""
                return {"kind": "unknown", "why": f"line {number} is not valid JSON{problem}"}
    if lines and not rows:
        return {"kind": "unknown", "why": f"its first record is longer than {HEAD_BYTES >> 20} MiB"}
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    kind = next((kind for keys, kind in _LINE_KINDS if keys <= first.keys()), None)
    if kind is not None:
        return {"kind": kind, "ids": [row["instance_id"] for row in rows if isinstance(row, dict) and "instance_id" in row]}
    return _recognise_rows(rows)


def _recognise_rows(rows: Sequence[Any]) -> dict[str, Any]:
    if not rows or not all(isinstance(row, dict) for row in rows):
        return {"kind": "records"} if rows else {"kind": "unknown", "why": "it contains no record"}
    if any(_is_nested(row.values()) for row in rows[:_HEAD_ROWS]):
        return {"kind": "records"}
    names = dict.fromkeys(name for row in rows[:_HEAD_ROWS] for name in row)
    return _recognise_columns({name: [row.get(name) for row in rows[:_HEAD_ROWS]] for name in names})


def _is_nested(values: Iterable[Any]) -> bool:
    return any(isinstance(value, dict | list) for value in values)


def guess_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return `input`, `reference` and `candidates` of a table of answers by the names and the cells of its columns; empty if it is none.

    The reference has a name that people use for it. Candidates are named like one, or have cells equal to the reference's; without such
    columns a table is no table of answers.
    """
    reference = _find_column(columns, "reference")
    if reference is None:
        return {}
    question = _find_column([name for name in columns if name != reference], "input")
    rest = [name for name in columns if name not in (reference, question) and not is_label(name)]
    similar = [name for name in rest if _is_like_candidate(name) or _share_of_equal(columns[name], columns[reference]) >= _MOSTLY_EQUAL]
    stems = {_stem(name) for name in similar}
    similar = [name for name in rest if _stem(name) in stems]
    candidates = similar or (rest if question is not None else [])
    return {"input": question, "reference": reference, "candidates": candidates} if candidates else {}


def _find_column(names: Iterable[str], role: str) -> str | None:
    """Return the column that people call by the first word of a role that any has."""
    by_word: dict[str, str] = {}
    for name in names:
        by_word.setdefault(_fold_name(name), name)
    return next((by_word[word] for word in _WORDS[role] if word in by_word), None)


def _is_like_candidate(name: str) -> bool:
    return any(part in _WORDS["candidate"] for part in re.split(r"[_\s.-]+|(?<=\D)(?=\d)", _fold_name(name)))


def _stem(name: str) -> str:
    return re.split(r"[_\d]", _fold_name(name))[0] or _fold_name(name)


def _fold_name(name: str) -> str:
    return re.sub(r"[\s-]+", "_", str(name).strip()).casefold()


def is_label(name: str) -> bool:
    """Whether a column of this name numbers or describes the rows: it contains neither questions nor answers."""
    return _NO_CANDIDATE.fullmatch(_fold_name(name)) is not None


def _share_of_equal(cells: Sequence[Any], reference: Sequence[Any]) -> float:
    """Return the share of rows in which a cell is the reference's as text, or the same number."""

    def form(cell: Any) -> object:
        text = str("" if cell is None else cell).strip().casefold()
        number = number_gold(text)
        return text if number is None else float(number)

    pairs = [(form(a), form(b)) for a, b in zip(cells, reference, strict=False) if b is not None]
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else 0.0
