"""Forged runs: every field edited, rows dropped, added, doubled and moved, excuses invented, all with digests and numbers that fit."""

import contextlib
import copy
import io
import json
import os
import random
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.runs.run_files import read_results, seal
from evalsuite.runs.run_folder import RESULTS, RUN
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run as Scored
from evalsuite.runs.scoring import by_kind
from evalsuite.runs.scoring import run as score
from evalsuite.runs.summary import summarise
from evalsuite.sandbox.fork_server import ForkServer, share
from tests.analysis.gold_checks.small import ANSWERS, GOLD, scored, write_gold, write_submission
from tests.gold.test_errata import entry, write

pytestmark = pytest.mark.usefixtures("shared_fork_server")

Run = dict[str, Any]
Rows = list[dict[str, Any]]
MORE = {
    "gone": {"func": "string_match", "parameters": {"gold": "Faro"}},
    "bare": {"func": "number_match", "parameters": {"gold": -3.2}},
    "lines": {
        "func": "tree_match",
        "parameters": {
            "gold": [{"id": "a", "n": 1}, {"id": "b", "n": 2}],
            "schema": {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}},
            "id_field": "id",
        },
    },
}
# What a run says of itself and nobody can work out afterwards: an edit is accepted where verify says so on the line that names it.
WORDS = ("metadata", "receipt", "seconds", "signature", "gold.folder", "submission.folder")
REFITTED = ("summary", "groups", "notes")
N_TRIES = int(os.environ.get("EVALSUITE_FORGE", "25"))
KNOWN: dict[str, Scored] = {}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory, session_fork_server: ForkServer | None) -> Path:
    """A folder with gold that has errata, a submission with every kind of outcome, and an honest run of it."""
    place = tmp_path_factory.mktemp("forgery")
    gold = write_gold(place / "gold", {**GOLD, **MORE})
    write(gold, entry(gold, "capital"), entry(gold, "total", "patch: {gold: 47}"))
    lines = '[{"id": "a", "n": 1}, {"id": "b", "n": 3}]'
    submission = write_submission(place / "sub", {**ANSWERS, "bare": "3.2", "lines": lines, "stranger": "x"})
    file = submission / "results_metadata.jsonl"
    file.write_text(file.read_text().replace('"answer_or_path": "12.5"', '"answer_or_path": "12.5", "score": 1'))
    with share(session_fork_server):
        scored(submission, gold, place / "run", errata_day=date(2026, 11, 21), metadata={"model_name": "small", "note": "plain"})
    return place


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scoring the same instances of the same folders under the same options a second time is what it was the first time."""

    def kept(submission: Path, gold: Path, options: RunOptions, **_: Any) -> Scored:
        key = repr((submission, gold, options))
        if key not in KNOWN:
            KNOWN[key] = score(submission, gold, options)
        return KNOWN[key]

    monkeypatch.setattr("evalsuite.analysis.receipts.verification.run", kept)


def contents(run: Path) -> tuple[Run, Rows]:
    """What a run folder says, as a forger reads it."""
    return json.loads((run / RUN).read_text()), [json.loads(line) for line in (run / RESULTS).read_text().splitlines()]


def forge(run: Path, said: Run, rows: Rows) -> None:
    """Write a run folder with digests that fit."""
    run.mkdir(exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (run / RESULTS).write_text(lines, encoding="utf-8")
    (run / RUN).write_text(seal(said, lines), encoding="utf-8")


def refit(run: Path, said: Run, rows: Rows) -> None:
    """Make the numbers, groups and notes those of the rows, as far as they are rows at all."""
    with contextlib.suppress(Exception):
        forge(run, said, rows)
        results = list(read_results(run / RESULTS))
        tags: dict[str, list[str]] = {}
        for tag, names in said["groups"].items():
            for name in names:
                tags.setdefault(name, []).append(tag)
        there = {row["instance_id"] for row in rows}
        said["summary"] = summarise(results, rules=said["options"]["rules"], groups=tags).to_json()
        said["groups"] = {tag: [name for name in names if name in there] for tag, names in said["groups"].items()}
        said["notes"] = by_kind(results)


def verified(place: Path, run: str = "forged", *options: str) -> tuple[int, str]:
    """The exit code of `verify`, and what it printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.chdir(place):
        code = main(["verify", run, "--isolation", "none", "--jobs", "1", *options])
    return code, said.getvalue()


def edits(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, the value with one thing in it changed): each leaf in several ways, each list and object with an item less, more or moved."""
    if isinstance(value, dict):
        for key, inner in value.items():
            below = f"{path}.{key}" if path else key
            yield f"{below} dropped", {name: one for name, one in value.items() if name != key}
            yield from ((where, {**value, key: made}) for where, made in edits(inner, below))
        yield f"{path}.x" if path else "x", {**value, "x": 1}
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ((where, [*value[:at], made, *value[at + 1 :]]) for where, made in edits(inner, path))
            yield path, [*value[:at], *value[at + 1 :]]
        yield path, [*value, *(value[:1] or ["x"])]
        if len(value) > 1 and value[::-1] != value:
            yield path, value[::-1]
    else:
        for made in _others(value):
            yield path, made


def _others(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value, int(value), None]
    if isinstance(value, int | float):
        return [value + 1, 1 - value if value != 0.5 else 0, -value or 7, str(value), None, bool(value)]
    if isinstance(value, str):
        return [value + "x", value[1:] or "x", 1, None, [value]]
    return [0, 1, "x", True]


def is_owned(path: str, out: str) -> bool:
    """Whether verify says of the thing at a path, on a line that names it, that it is not verified; of what is gone, of its whole."""
    name = path.partition(".")[0] if path.endswith(" dropped") else path
    return path.startswith(WORDS) and any("not verified" in line and name in line for line in out.splitlines())


def told(path: str, code: int, out: str) -> str:
    """What is wrong with verify's answer to an edit, empty where nothing is."""
    if code not in (0, 1, 2, 4) or "internal error" in out:
        return f"{path}: exit {code}\n{out}"
    return "" if code or is_owned(path, out) else f"{path}: accepted\n{out}"


def of_run(said: Run, rows: Rows) -> Iterator[tuple[str, Run, Rows]]:
    """Each edit of run.json but of its digests, which are redone."""
    for path, made in edits({key: value for key, value in said.items() if key != "digests"}):
        yield path, {**made, "digests": said["digests"]}, rows


def of_rows(said: Run, rows: Rows) -> Iterator[tuple[str, Run, Rows]]:
    """Each edit of each row."""
    for at, row in enumerate(rows):
        for path, made in edits(row):
            yield ("seconds" if path in {"seconds", "seconds dropped"} else f"row {at} {path}"), said, [*rows[:at], made, *rows[at + 1 :]]


def of_order(said: Run, rows: Rows) -> Iterator[tuple[str, Run, Rows]]:
    """Rows dropped, doubled, moved, exchanged, added, and all of them gone."""
    for at, row in enumerate(rows):
        rest = [*rows[:at], *rows[at + 1 :]]
        yield f"row {at} dropped", said, rest
        yield f"row {at} doubled", said, [*rows, row]
        yield f"row {at} doubled in place", said, [*rows[:at], row, *rows[at:]]
        yield f"row {at} moved", said, [*rest, row] if at < len(rows) - 1 else [row, *rest]
        yield f"row {at} under a new id", said, [*rows, {**row, "instance_id": f"{row['instance_id']}2"}]
        yield (
            f"row {at} in place of its neighbour",
            said,
            [row if other == (at + 1) % len(rows) else rows[other] for other in range(len(rows))],
        )
    yield "no rows", said, []


def all_forgeries(said: Run, rows: Rows) -> list[tuple[str, Run, Rows, bool]]:
    """(what was done, run.json, rows, whether the numbers are made to fit) of every forgery."""
    plain = [(*one, False) for make in (of_run, of_rows, of_order) for one in make(said, rows)]
    return plain + [(*one, True) for make in (of_rows, of_order) for one in make(said, rows)]


def test_the_honest_run_is_verified(honest: Path) -> None:
    """Written again as the forgers write, it is accepted: what is refused below is refused for the edit."""
    assert verified(honest, "run")[0] == 0
    forge(honest / "forged", *contents(honest / "run"))
    code, out = verified(honest)
    assert code == 0
    assert out.splitlines()[-1] == "verified 7 of 7: forged matches its claims: yes"
    for name in ("receipt.isolation", "receipt.python", "metadata.model_name", "seconds"):
        assert any("not verified" in line and name in line for line in out.splitlines())


def tried(honest: Path, forgeries: list[tuple[str, Run, Rows, bool]]) -> list[str]:
    """What was accepted, or ended in a crash."""
    found = []
    for path, said, rows, fits in forgeries:
        said, rows = copy.deepcopy(said), copy.deepcopy(rows)
        if fits:
            refit(honest / "forged", said, rows)
        forge(honest / "forged", said, rows)
        found.append(told(path, *verified(honest)))
    return [one for one in found if one]


@pytest.mark.usefixtures("once")
def test_no_forgery_is_verified(honest: Path) -> None:
    """A sample of every kind of edit, with digests and numbers redone: none is accepted as verified."""
    forgeries = all_forgeries(*contents(honest / "run"))
    assert len(forgeries) > 1000
    assert tried(honest, random.Random(12345).sample(forgeries, min(N_TRIES, len(forgeries)))) == []


@pytest.mark.slow
@pytest.mark.usefixtures("once")
def test_ten_thousand_forgeries_are_refused(honest: Path) -> None:
    """Every edit of one thing, and edits of two things at once until there are 10,000 (EVALSUITE_FORGERIES): none is verified."""
    said, rows = contents(honest / "run")
    single, draw = all_forgeries(said, rows), random.Random(54321)
    of_both = list(of_run(said, rows)), [*of_rows(said, rows), *of_order(said, rows)]
    n = int(os.environ.get("EVALSUITE_FORGERIES", "10000"))
    found = tried(honest, single[:n])
    for _ in range(n - len(single)):
        (path, one, _), (other, _, both) = map(draw.choice, of_both)
        said_now, rows_now = copy.deepcopy(one), copy.deepcopy(both)
        if fits := draw.random() < 0.5:
            refit(honest / "forged", said_now, rows_now)
        forge(honest / "forged", said_now, rows_now)
        code, out = verified(honest)
        # Numbers that are made to fit are those of the rows again, whatever they had been edited to.
        parts = [other] if fits and path.startswith(REFITTED) else [path, other]
        found += [wrong for part in parts if (wrong := told(part, code, out))]
    assert found == []


@pytest.mark.slow
def test_fifty_forgeries_are_refused_by_the_command(honest: Path) -> None:
    """The same through processes of their own."""
    from tests.processes import finished

    for path, said, rows, fits in random.Random(777).sample(all_forgeries(*contents(honest / "run")), 50):
        said, rows = copy.deepcopy(said), copy.deepcopy(rows)
        if fits:
            refit(honest / "forged", said, rows)
        forge(honest / "forged", said, rows)
        done = finished([sys.executable, "-m", "evalsuite", "verify", "forged", "--isolation", "none", "--jobs", "1"], cwd=honest)
        assert told(path, done.returncode, done.stdout) == ""
