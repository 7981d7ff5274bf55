"""Runs damaged at random cost one line, and a submission that turned hostile after its run its own texts: their readers go on without."""

import json
import math
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.types import METADATA
from evalsuite.reports.record import record_of_entry
from evalsuite.reports.viewer.library import submitted_contexts, submitted_texts
from evalsuite.runs.history import CONTEXTS, read_run
from evalsuite.runs.run_files import seal, units_digest
from evalsuite.runs.run_folder import RESULTS, RUN
from tests.cli.test_run import called
from tests.conftest import made_once

pytestmark = pytest.mark.usefixtures("shared_fork_server")

RUNS = ("first", "second")
# What a value may become: of every type, large, deep, and what no JSON can say.
STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 2, 10**30, 0.5, -1e308, math.nan, math.inf, "", "x", "\ud800", "\x1b[31m\x00", "a\nb", "9" * 400,
    [], [None], ["x"], [1], [[]], [{}], {}, {"x": None}, {"x": 1}, {"x": []}, {"scores": 1}, {"sha256": "x"},
)  # fmt: skip

# What scorers other than those of `make_runs` tell of a result, and readers look for.
TOLD = (
    "verdicts", "transcript", "judge", "checks", "reasons", "fault", "hint", "flip", "warnings", "notes", "raw", "category", "better",
    "per_field", "fields", "confusions", "records", "output", "soft_f1", "time_ratio", "budget", "units", "beside", "sql", "strict",
    "n_wrong", "wrong", "rows", "tree", "numbers", "margin", "n_needed", "n_fields", "n_records", "source_id",
)  # fmt: skip


def make_runs(folder: Path) -> None:
    """In `folder`: gold of texts, numbers, tables and trees with groups, errata and a second scorer, a submission, and two runs of it."""
    checks: dict[str, Any] = {
        "t1": {"func": "string_match", "parameters": {"gold": "Paris"}},
        "t2": {"func": "f1", "parameters": {"gold": "the river Seine"}},
        "n1": {"func": "number_match", "parameters": {"gold": 17.5, "percentage": True}},
        "d1": {"func": "table_match", "parameters": {"gold": "t.csv"}},
        "j1": {"func": "tree_match", "parameters": {"gold": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]}},
        "r1": {"func": "readability", "parameters": {"gold": "A short text."}},
    }
    gold, answers = folder / "gold", folder / "answers"
    for side, cells in ((gold, "1,2\n3,4\n"), (answers, "1,2\n3,5\n")):
        (side / "d1").mkdir(parents=True)
        (side / "d1" / "t.csv").write_text("a,b\n" + cells)
    (answers / "j1").mkdir()
    (answers / "j1" / "j.json").write_text(json.dumps([{"a": 1, "b": "z"}, {"a": 2, "b": "y"}]))
    rows = [{"instance_id": name, "question": f"What is {name}?", "evaluation": check} for name, check in checks.items()]
    (gold / "x_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (gold / "suite.yaml").write_text("groups: {texts: [t1, t2, r1], rest: [n1, d1, j1]}\nclusters: [texts, rest]\nscorers: [f1, bleu]\n")
    about = 'author: a, reason: r, evidence: "https://example.org", expires: 2999-01-01'
    (gold / "gold.errata.yaml").write_text(f"- {{id: t1, gold: '{'0' * 12}', waive: true, {about}}}\n")
    said = {"t1": "Lyon", "t2": "river Seine", "n1": "about 0.175", "r1": "Another text, a bit longer."}
    lines = [{"instance_id": name, "answer_type": "answer", "answer_or_path": text} for name, text in said.items()]
    lines += [{"instance_id": f, "answer_type": "file", "answer_or_path": name} for f, name in (("d1", "t.csv"), ("j1", "j.json"))]
    (answers / "results_metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name in RUNS:
        assert main(["run", "answers", "--gold", "gold", "--out", f"runs/{name}", "--quiet", "--isolation", "none"]) in (0, 4)
        (folder / "runs" / name / "tags.json").write_text('["kept"]')


def damaged(folder: Path, source: Path, rng: random.Random) -> str:
    """Put a damaged copy of the run `source` into `folder`; in words what is wrong with it."""
    shutil.copytree(source, folder)
    file = folder / rng.choice(["run.json", "run.json", "results.jsonl", "results.jsonl", "tags.json"])
    way = rng.choice([_value, _value, _value, _no_key, _no_key, _bytes, _cut, _other_file])
    return f"{file.name}: {way(file, rng)}"


def sealed_again(folder: Path, source: Path, rng: random.Random) -> str:
    """Put a copy of the run `source` into `folder`, with another value or without a key below `details`, and a seal that fits; what is
    other, in words.
    """
    shutil.copytree(source, folder)
    told = rng.choice([_value, _value, _value, _no_key, _new_key])(folder / RESULTS, rng, "details")
    run = json.loads((folder / RUN).read_text())
    (folder / RUN).write_text(seal(run, (folder / RESULTS).read_text(), units=units_digest(folder)))
    return told


# Commands that show runs, and execute nothing of theirs.
OF_ONE = (
    "report RUN -o r.html -o r.json -o r.md -o r.xml -o r.csv -o r.txt -o r.svg -o r.parquet",
    *("report RUN --reveal class -o r.html -o r.md", "compare whole/first RUN --force -o c.html -o c.md -o c.json"),
    *("samples whole/first RUN", "agree whole/first RUN", "margins RUN", "explain t2 --run RUN", "explain n1 --run RUN"),
    *("explain j1 --run RUN --json", "check j1 --run RUN", "verify RUN --isolation none"),
)
# Further ones that read them.
OF_DAMAGED = (
    *("runs show RUN", "runs tag RUN --add x", "compare whole/first RUN --force --shift -o c.html -o c.md"),
    *("compare whole/first RUN --force --json", "export RUN e.json", "export RUN e.jsonl", "explain d1 --run RUN --json"),
    *("check d1 --run RUN", "bundle n1 --run RUN", "rescore RUN --runs others --isolation none", "drift RUN --isolation none"),
    *("gold suspects whole/first RUN --isolation none", "merge RUN whole/first --out merged", "run answers --gold gold --lf --no-save"),
    "run answers --gold gold --resume RUN",
)


def _value(file: Path, rng: random.Random, below: str = "") -> str:
    def change(holder: Any, key: Any) -> str:
        before, holder[key] = holder[key], rng.choice(STRANGE)
        return f"{key} {json.dumps(before)[:30]} -> {json.dumps(holder[key])[:30]}"

    return _in_json(file, rng, change, below)


def _no_key(file: Path, rng: random.Random, below: str = "") -> str:
    def remove(holder: Any, key: Any) -> str:
        holder.pop(key)
        return f"without {key}"

    return _in_json(file, rng, remove, below)


def _new_key(file: Path, rng: random.Random, below: str = "") -> str:
    def add(holder: Any, key: Any) -> str:
        if not isinstance(holder, dict):
            return "nothing"
        name = rng.choice(TOLD)
        holder[name] = rng.choice([*STRANGE, [{"value": "x"}], {"official": 1}, [{"asked": [1]}]])
        return f"with {name} {json.dumps(holder[name])[:30]}"

    return _in_json(file, rng, add, below)


def _in_json(file: Path, rng: random.Random, change: Callable[[Any, Any], str], below: str) -> str:
    """Change one place of the JSON of a file, or of one of its lines; with `below` one inside that key of the line."""
    lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
    at = rng.randrange(len(lines))
    whole = [json.loads(lines[at])]
    holder, key, path = whole, 0, ""
    if below:
        holder, path = whole[0][below], f".{below}"
        key = rng.choice(list(holder))
    # Down the tree, so that places near the top come up as often as those of a long list below.
    while holder[key] and isinstance(holder[key], dict | list) and rng.random() < 0.8:
        holder = holder[key]
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        path += f".{key}"
    told = change(holder, key)
    lines[at] = json.dumps(whole[0]) if whole else ""
    file.write_text("\n".join(lines) + "\n")
    return f"line {at + 1}{path}: {told}"


def _bytes(file: Path, rng: random.Random) -> str:
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice([1, 3, 30])):
        data[rng.randrange(len(data))] = rng.choice([0x00, 0xFF, 0x80, 0x22, 0x7B, 0x0A, 0x0D, rng.randrange(256)])
    file.write_bytes(data)
    return "other bytes"


def _cut(file: Path, rng: random.Random) -> str:
    data = file.read_bytes()
    file.write_bytes(data[: rng.randrange(len(data))])
    return "cut off"


def _other_file(file: Path, rng: random.Random) -> str:
    content = rng.choice([b"", b"\n\n", b"null\n", b"[" * 5000, b"\xff\xfe\x00", b'{"a": 1}\n', b"[]\n" * 3])
    file.write_bytes(content)
    return f"{content[:10]!r}"


N_SLOW = int(os.environ.get("EVALSUITE_FUZZ", "10000"))
BATCH = 50
INTERNAL = ("internal error", "Traceback")


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds two whole runs and what they scored."""

    def make(folder: Path) -> None:
        with monkeypatch.context() as there:
            there.chdir(folder)
            make_runs(folder)

    whole = made_once(tmp_path_factory, "whole_runs", make)
    for name in ("gold", "answers"):
        (tmp_path / name).symlink_to(whole / name)
    (tmp_path / "whole").symlink_to(whole / "runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ended(line: Sequence[str], told: object, codes: Sequence[int] = (0, 1, 2, 4, 5)) -> subprocess.CompletedProcess[str]:
    """A command of this process that ends as it may; `told` says in a failure which runs it read."""
    done = called(*line, cwd=Path())
    assert "\x1b" not in done.stdout + done.stderr, (line, "what a run says reached the terminal as it stands")
    assert done.returncode in codes, (line, told, done.stderr)
    assert not any(word in done.stderr for word in INTERNAL), (line, told, done.stderr)
    return done


def of_many(root: Path, *options: str) -> list[list[str]]:
    """Commands that read all runs of a folder."""
    board = ["leaderboard", "whole/first", *(f"{root.name}/{name.name}" for name in sorted(root.iterdir())), *options, "--force"]
    query = "select * from runs left join results using (run)"
    return [["runs", "list", "--runs", root.name], ["sql", query, "--runs", root.name], board]


N_BATCHES = N_SLOW // BATCH


@pytest.mark.parametrize(
    ("seeds", "n", "n_more"), [([1], 12, 4), pytest.param(range(100, 100 + N_BATCHES), BATCH, 10, marks=pytest.mark.slow, id="all")]
)
def test_a_damaged_run_is_one_line(seeds: Sequence[int], n: int, n_more: int, place: Path) -> None:
    """12 damaged runs, with `-m slow` 10,000 (EVALSUITE_FUZZ): no command ends in an internal error, and those of many runs show the
    others; `report` of each, and some other commands of some.
    """
    for seed in seeds:
        rng, root = random.Random(seed), place / f"runs{seed}"
        root.mkdir()
        told = {f"2026{at:04}-000000-bad": "" for at in range(n)}
        for name in told:
            told[name] = damaged(root / name, place / "whole" / "first", rng)
        for line in of_many(root, "--gold", "gold"):
            done = ended(line, seed)
            # Ids that are others leave a board of many runs nothing in common, which is no damage that could be told.
            assert done.returncode != 2 or "no instance in common" in done.stderr, (line[:1], seed, done.stderr)
            # A board that was forced says of each difference that it was: a signature that is another differs in many. Each damaged run has
            # a line.
            said = [text for text in done.stderr.splitlines() if not text.startswith("note: forced: ranked although they differ in ")]
            notes = [text for text in said if not (text.startswith("warning: ") and text.endswith("; its numbers may be wrong"))]
            assert len(said) - len(notes) <= n
            assert len(notes) <= 2, (line[:1], seed, done.stderr)
            assert done.stdout or done.returncode == 2
        for name, what in told.items():
            done = ended(["report", f"{root.name}/{name}"], (seed, what), (0, 2))
            assert len(done.stderr.splitlines()) <= 2, (seed, what, done.stderr)
        for _ in range(n_more):
            name = rng.choice(list(told))
            ended(rng.choice(OF_ONE + OF_DAMAGED).replace("RUN", f"{root.name}/{name}").split(), (seed, told[name]))


@pytest.mark.parametrize(
    ("seeds", "n", "n_each"), [([1], 4, 2), *(pytest.param(range(at, at + 3), 25, 100, marks=pytest.mark.slow) for at in (2, 5, 8, 11))]
)
def test_a_sealed_run_with_other_details(seeds: Sequence[int], n: int, n_each: int, place: Path) -> None:
    """Details that no scorer of ours writes, in runs that are whole otherwise: no command that shows runs ends in an internal error."""
    for seed in seeds:
        rng, root = random.Random(seed), place / f"sealed{seed}"
        root.mkdir()
        told = {f"{root.name}/2026{at:04}-000000-bad": "" for at in range(n)}
        for folder in told:
            told[folder] = sealed_again(place / folder, place / "whole" / "first", rng)
        for line in of_many(root):
            ended(line, seed)
        for folder, what in told.items():
            for words in rng.sample(OF_ONE, min(n_each, len(OF_ONE))):
                ended(words.replace("RUN", folder).split(), (seed, what))


SECRET = "S3CRET-of-gold"
ANSWERS = {"q1": "Paris it is", "q2": "Rome it is"}
LINES = [json.dumps({"instance_id": name, "answer_type": "answer", "answer_or_path": text}) + "\n" for name, text in ANSWERS.items()]
HOSTILE: dict[str, Callable[[Path], object]] = {
    "broken UTF-8": lambda path: path.write_bytes(b"\xff\n" * 20_000),
    "deep nesting": lambda path: path.write_text(LINES[0] + '{"a":' + "[" * 100_000),
    "one long line": lambda path: path.write_bytes(b'{"instance_id": "' + bytes(9_000_000)),
    "a pipe": os.mkfifo,
    "gold itself": lambda path: path.symlink_to(path.parent.parent / "gold" / "x_eval.jsonl"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with gold that asks, and a saved run of each of two submissions: `runs/a` of `team`, `runs/b` of `other`."""
    monkeypatch.chdir(tmp_path)
    spec = [
        {"instance_id": name, "question": "Which city?", "evaluation": {"func": "string_match", "parameters": {"gold": gold}}}
        for name, gold in (("q1", "Paris"), ("q2", SECRET))
    ]
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "x_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in spec))
    how = ["--gold", "gold", "--isolation", "none", "--no-cache", "--quiet", "--limit", "seconds=0.2"]
    for name, lines, folder in (("team", LINES, "runs/a"), ("other", [LINES[0], LINES[1].replace("Rome", SECRET)], "runs/b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / METADATA).write_text("".join(lines))
        assert main(["run", name, "--out", folder, *how]) == 0
    return tmp_path


def turned(project: Path, name: str, make: Callable[[Path], object]) -> None:
    """Put something else in the place of a file of the submission, dated before the runs."""
    path = project / "team" / name
    path.unlink(missing_ok=True)
    make(path)
    if path.is_file() and not path.is_symlink():
        os.utime(path, (0, 0))


def asked_again(project: Path) -> dict[str, str]:
    """What the viewer shows of the answers of a run, by instance id."""
    entry = read_run(project / "runs" / "a")
    assert entry is not None
    return dict(submitted_texts(record_of_entry(entry)))


def test_nothing_of_it_is_parsed_by_the_command(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Viewer, report, comparison and copy have the answers, and no metadata file was opened in this process."""
    fsspec: Any = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    store = fsspec.filesystem("memory")
    store.store.clear()
    store.pipe(f"/team/{METADATA}", "".join(LINES).encode())

    def opened(*_: object) -> None:
        raise AssertionError("metadata were opened in the process of the command")

    monkeypatch.setattr("evalsuite.readers.submission._open", opened)
    assert asked_again(project) == ANSWERS
    assert main(["report", "runs/a", "-o", "r.html"]) == 0
    assert ANSWERS["q1"] in Path("r.html").read_text()
    assert main(["compare", "runs/a", "runs/b", "-o", "c.html"]) == 0
    assert all(text in Path("c.html").read_text() for text in (ANSWERS["q2"], f"{SECRET} it is"))
    assert main(["run", "memory://team", "--gold", "gold", "--no-save", "--no-cache", "-q"]) == 0
    store.store.clear()


def test_hostile_metadata_cost_their_texts(project: Path) -> None:
    """The report and the viewer are as they are for a submission that is gone, and follow no link to gold."""
    for kind, make in HOSTILE.items():
        turned(project, METADATA, make)
        assert main(["report", "runs/a", "-o", "r.json", "-o", "r.md"]) == 0, kind
        assert ANSWERS["q2"] not in "".join(Path(name).read_text() for name in ("r.json", "r.md")), kind
        shown = asked_again(project)
        assert set(shown) <= {"q1"}, kind
        assert SECRET not in str(shown), kind


def test_hostile_contexts_cost_themselves(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands where a suite's run keeps its contexts stops neither `runs show` nor the viewer, and no link is followed."""
    turned(project, CONTEXTS, lambda path: path.write_text(json.dumps({"q1": "of old", "q2": 7, "other": "x"})))
    entry = read_run(project / "runs" / "a")
    assert entry is not None
    assert submitted_contexts(record_of_entry(entry)) == {"q1": "of old", "q2": "7"}
    for kind in ("a pipe", "deep nesting", "gold itself"):
        turned(project, CONTEXTS, HOSTILE[kind])
        assert submitted_contexts(record_of_entry(entry)) == {}, kind
    capsys.readouterr()
    assert main(["runs", "show", "runs/a"]) == 0
    assert "context" not in capsys.readouterr().out
