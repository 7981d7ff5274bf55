"""A small project with suites and runs of every kind, and the real viewer over it as a process of its own."""

import contextlib
import json
import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalsuite.reports.test_suite import TestSuite
from evalsuite.reports.viewer.app import make_app
from evalsuite.runs.history import find_runs, tag_run
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.processes import started

ADDRESS = re.compile(r"viewer at (http://[^ ]+/)")
QUESTIONS = ["Capital of France?", "Capital of Italy?", "Capital of Norway?", "Capital of Peru?"]
CAPITALS = ["Paris", "Rome", "Oslo", "Lima"]
# A text that does harm where it is taken for markup, and looks odd where it is not made printable.
HOSTILE = "<script>window.owned=1</script><img src=x onerror=window.owned=1>\"'><svg onload=window.owned=1>\x1b[31m\u202e{{7*7}}"
CSV = "city,people\nOslo,700\nBergen,290\nTromsø,77\n"


@dataclass(frozen=True)
class Answer:
    """What the server said: status, headers, and the body as text."""

    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def make_project(folder: Path) -> Path:
    """A folder with `gold`, three submissions, a suite made by name with three runs, and a suite that was never run."""
    gold(folder / "gold")
    submission(folder / "first", text="Paris it is", number="42", people="700")
    submission(folder / "second", text="Lyon", number="41", people="705")
    submission(folder / "hostile", text=HOSTILE, number=HOSTILE, people=HOSTILE)
    runs = folder / ".evalsuite" / "runs"
    for name in ("first", "second", "hostile"):
        run(folder / name, folder / "gold", RunOptions(runs_folder=runs, isolation="none", jobs=1))
    tag_run(find_runs(runs)[0], add=["best"])
    capitals = TestSuite(
        "capitals", "string_match", "four of them", input_text_list=QUESTIONS, reference_output_list=CAPITALS, root=folder / ".evalsuite"
    )
    for name, answers in (("good", CAPITALS), ("poor", ["Paris", "Milan", "Bergen", "Quito"]), ("middling", ["Paris", "Rome", "x", "y"])):
        capitals.run(
            name, candidate_output_list=answers, context_list=[f"{name} context {q}" for q in QUESTIONS],
            model_name=f"model {name}", model_version="2", prompt_template="Q: {input}",
            foundation_model="base", description="a try",
        )  # fmt: skip
    TestSuite("untried", "exact_match", input_text_list=["a"], reference_output_list=["b"], root=folder / ".evalsuite")
    return folder


def gold(folder: Path, *, hidden: bool = False) -> Path:
    """A gold folder with a text, a number and a table; every text of the gold file is its own."""
    rows = [
        {
            "instance_id": "text_1",
            "question": "Capital of France?",
            "evaluation": {"func": "string_match", "parameters": {"gold": "Paris"}},
        },
        {"instance_id": "number_1", "evaluation": {"func": "number_match", "parameters": {"gold": "42"}}},
        {"instance_id": "table_1", "evaluation": {"func": "table_match", "parameters": {"gold": "people.csv"}}},
    ]
    (folder / "table_1").mkdir(parents=True)
    (folder / "table_1" / "people.csv").write_text(CSV)
    (folder / "demo_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    groups = "groups:\n  easy: [text_1, number_1]\n"
    (folder / "suite.yaml").write_text(f"name: demo\n{groups}" + ("hidden: true\n" if hidden else ""))
    return folder


def submission(folder: Path, *, text: str, number: str, people: str) -> Path:
    """A submission to that gold folder; `people` stands in one cell of its table."""
    rows = [("text_1", "answer", text), ("number_1", "answer", number), ("table_1", "file", "people.csv")]
    (folder / "table_1").mkdir(parents=True)
    (folder / "table_1" / "people.csv").write_text(CSV.replace("700", '"' + people.replace('"', '""') + '"'))
    keys = ("instance_id", "answer_type", "answer_or_path")
    lines = [json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows]
    (folder / "results_metadata.jsonl").write_text("".join(lines))
    return folder


def bench_folder(folder: Path) -> Path:
    """A Bench folder: an exact-match suite with two runs, an unbounded one, a custom scorer, and files that are none."""
    ids = [f"3f0c9f2e-0000-4000-8000-00000000000{i}" for i in range(4)]
    for name, id_, method, scores in (
        ("capitals", "11111111-1111-4111-8111-111111111111", "exact_match", {"one": [1.0, 0.0, 1.0, 1.0], "two": [0.0, 0.0, 1.0, -1.0]}),
        ("prose", "22222222-2222-4222-8222-222222222222", "readability", {"plain": [44.4, 91.2, -3.0, 64.4]}),
        ("typos", "33333333-3333-4333-8333-333333333333", "my_own_scorer", {"mine": [0.5, 0.25, 1.0, 0.125]}),
    ):
        cases = [{"id": i, "input": q, "reference_output": r} for i, q, r in zip(ids, QUESTIONS, CAPITALS, strict=True)]
        about = {"name": method, "type": "built_in", "config": {"threshold": 0.5}}
        suite = {"id": id_, "name": name, "description": "from Bench", "scoring_method": about, "test_cases": cases}
        suite |= {"created_at": "2023-09-01T10:00:00", "updated_at": "2023-09-02T10:00:00"}
        _write(folder / name / "suite.json", suite)
        for day, (run_name, values) in enumerate(scores.items(), start=3):
            rows = [{"id": i, "output": o, "score": s} for i, o, s in zip(ids, ["Paris", "Milan", "Oslo", "?"], values, strict=True)]
            data = {"id": f"{id_[:-1]}{day}", "name": run_name, "test_suite_id": id_, "model_name": "gpt", "test_cases": rows}
            _write(folder / name / run_name / "run.json", {**data, "created_at": f"2023-09-0{day}T10:00:00"})
    _write(folder / "suite_id_to_name.json", {"11111111-1111-4111-8111-111111111111": "capitals"})
    (folder / "broken").mkdir()
    (folder / "broken" / "suite.json").write_text("{")
    return folder


def _write(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


@contextlib.contextmanager
def viewer(cwd: Path, *arguments: object, environ: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a real `evalsuite view` started in a folder; it is ended by Ctrl-C and must end well."""
    import os
    import signal

    command = [sys.executable, "-m", "evalsuite", "view", *map(str, arguments)]
    env = {**{key: value for key, value in os.environ.items() if key != "BENCH_FILE_DIR"}, **(environ or {})}
    # One viewer may serve the tests of a whole session; each question has a time limit of its own.
    with started(command, seconds=21_600, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = ADDRESS.match(line)
        assert found, line + (process.stderr.read() if process.stderr else "")
        yield found[1].rstrip("/")
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=120)
        assert code == 0, code


@contextlib.contextmanager
def served(folder: Path | None) -> Iterator[str]:
    """The address of the viewer over a folder, in a thread of this process: for tests of pages, not of the command."""
    uvicorn = pytest.importorskip("uvicorn", reason="the viewer's packages are not installed (extra: view)")
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(folder), log_level="error", lifespan="off", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listener.close()


def ask(address: str, path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> Answer:
    """What the server answers, faults included."""
    request = urllib.request.Request(address + path, method=method, headers=dict(headers or {}))
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return Answer(response.status, dict(response.headers.items()), response.read().decode())
    except urllib.error.HTTPError as error:
        return Answer(error.code, dict(error.headers.items()), error.read().decode())
