"""A run damaged at random (bytes, no UTF-8, missing keys, values of other types) costs one line: its readers go on with the others."""

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


@pytest.mark.parametrize(("seeds", "n", "n_each"), [([1], 4, 2), pytest.param(range(2, 14), 25, 100, marks=pytest.mark.slow, id="all")])
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
