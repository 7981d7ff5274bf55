"""Forged runs and invented excuses: every field edited, rows dropped, added, doubled and moved, with digests and numbers that fit."""

import contextlib
import copy
import io
import json
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.runs.rescoring import Shard, merge
from evalsuite.runs.run_files import read_results, seal
from evalsuite.runs.run_folder import RESULTS, RUN
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run as Scored
from evalsuite.runs.scoring import by_kind, run
from evalsuite.runs.scoring import run as score
from evalsuite.runs.summary import summarise
from evalsuite.sandbox.fork_server import ForkServer, share
from evalsuite.sandbox.program_sandbox import can_sandbox_programs
from tests.analysis.gold_checks.small import ANSWERS, GOLD, TABLE, make_run, scored, write_gold, write_submission
from tests.conftest import copy_of
from tests.gold.test_errata import TAIL, entry, write
from tests.runs import test_gold_queries, test_sql_answers

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


JUDGED = {"func": "llm_judge", "parameters": {"gold": "because"}}
PROGRAM = {"func": "python_unit_testing", "parameters": {"gold": "assert x == 1"}}


made = copy_of(make_run)


def make(place: Path, name: str, spec: dict[str, Any], answer: str, **options: Any) -> Path:
    """The same with one more instance."""
    gold, submission = write_gold(place / "gold", {**GOLD, name: spec}), write_submission(place / "sub", {**ANSWERS, name: answer})
    scored(submission, gold, place / "run", **options)
    return place


def forged(place: Path, row: int = -1, run: str = "run", **more: Any) -> Path:
    """The run with one row made right, its numbers and digests refitted."""
    said, rows = contents(place / run)
    rows[row].update(**{"score": 1, "official": 1, "strict": 1, **more})
    refit(place / "forged", said, rows)
    forge(place / "forged", said, rows)
    return place


def left_out(out: str) -> dict[str, str]:
    """Instance id -> why it was left out, as printed."""
    lines = [line.partition(" not verified: ") for line in out.splitlines() if " not verified: " in line]
    return {
        name.strip(" -"): why for names, _, why in lines for name in names.split(", ") if "." not in name and name.strip(" -") != "seconds"
    }


def test_a_judged_row_is_named(tmp_path: Path) -> None:
    """What only a judge can say is not verified, by name, and the exit code is 4; the rest is, and still refused where it is forged."""
    place = make(tmp_path, "why", JUDGED, "because of it")
    code, out = verified(place, "run")
    assert code == 4
    assert left_out(out) == {"why": "it needs a judge"}
    assert out.splitlines()[-1] == "verified 4 of 5: run matches its claims: in part, 1 not verified (exit 4)"
    assert verified(forged(place, 1))[0] == 1


EXCUSES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "living gold": lambda said: said.update(living_gold={"total": {"hash": "1" * 12, "computed_at": "2026-11-21", "sql_hash": "2" * 12}}),
    "nothing living": lambda said: said.update(living_gold={}),
    "a judge": lambda said: said.update(judge={"models": ["m"], "calls": 3}),
    "a database": lambda said: said.update(sql={"statements": 1, "failed": 0, "known": 0}),
    "a key of its own": lambda said: said.update(skipped=["total"]),
    "programs": lambda said: said["options"].update(allow_programs=True),
    "a shard": lambda said: said["options"].update(shard="1/1"),
    "a day": lambda said: said["options"].update(as_of="2026-11-21"),
    "other rules": lambda said: said.update(signature=said["signature"].replace("rules:official", "rules:default")),
    "unknown rules": lambda said: said.update(signature=said["signature"].replace("rules:official", "rules:lenient")),
    "a plugin": lambda said: said.update(signature=said["signature"] + "|plugins:123456789012"),
    "errata": lambda said: said.update(corrections={"day": "2026-11-21", "hash": "1" * 12, "applied": []}),
}


@pytest.mark.usefixtures("once")
def test_an_excuse_is_refused(made: Path) -> None:
    """Excused are a right row, a wrong one, and a wrong one that is left out: each is a no, but for options that change nothing at all."""
    for name, (at, dropped) in product(EXCUSES, ((0, False), (1, False), (1, True))):
        said, rows = contents(made / "run")
        if at:
            rows[at].update(score=1, official=1, strict=1)
        if dropped:
            rows.pop(at)
        EXCUSES[name](said)
        if at:
            refit(made / "forged", said, rows)
        forge(made / "forged", said, rows)
        code, out = verified(made)
        assert code == (0 if name in ("a shard", "a day") and not at else 1), (name, out)
    # Nor is a wrong answer of which a run says that nobody could judge it: gold says that everybody can.
    for status in ("unscored", "gold_fault", "scorer_fault", "missing", "timeout", "crashed"):
        forged(made, 1, score=None, official=None, strict=None, status=status, fault="JUDGE_FAILED")
        assert verified(made)[0] == 1, status


def test_a_part_of_gold_is_named_as_such(made: Path) -> None:
    """A run of some instances is not one of all: the others are named, whatever option left them out."""
    for options, word in (({"only": ("capital", "share")}, "--only"), ({"pattern": "*ta*"}, "--filter"), ({"group": "rest"}, "--group")):
        scored(made / "sub", made / "gold", made / "part", **options)
        code, out = verified(made, "part")
        there = {row["instance_id"] for row in contents(made / "part")[1]}
        assert code == 4
        assert left_out(out) == {name: f"not in this run ({word})" for name in GOLD if name not in there}
        assert f"verified {len(there)} of 4: part" in out
        said, rows = contents(made / "part")
        forge(made / "forged", {**said, "options": {**said["options"], "only": [], "filter": None, "group": None}}, rows)
        assert verified(made)[0] == 1


def test_shards_and_their_whole(made: Path) -> None:
    """A shard is a part; merged shards are verified as the run of the whole is, with their warnings and errata."""
    # Each check has a warning, which shards write in their own order.
    specs = {name: {**spec, "parameters": {**spec["parameters"], "result": "x"}} for name, spec in GOLD.items()}
    gold = write_gold(made / "gold", specs)
    write(
        gold,
        entry(gold, "total", "patch: {gold: 47}"),
        entry(gold, "capital"),
        entry(gold, "share", tail=TAIL.replace("2027-06-30", "2001-01-31")),
    )
    file = made / "sub" / "results_metadata.jsonl"
    file.write_text(file.read_text() + '{"instance_id": "stranger", "answer_type": "answer", "answer_or_path": "x"}\n')
    for i in (1, 2):
        run(made / "sub", gold, RunOptions(out=made / f"shard{i}", shard=Shard(i, 2), isolation="none", jobs=1))
    assert verified(made, "shard1")[0] == 4
    merge([made / "shard1", made / "shard2"], made / "merged")
    code, out = verified(made, "merged")
    assert code == 0, out


@pytest.mark.skipif(not can_sandbox_programs(), reason="this machine gives no jail: namespaces, Landlock or seccomp are missing")
def test_programs_are_run_again_in_their_jail(tmp_path: Path) -> None:
    """Where there is a jail a run of programs is verified like any other, and a forged score is found."""
    place = make(tmp_path, "code", PROGRAM, "x = 2")
    assert verified(place, "run")[0] == 0
    assert verified(forged(place), "forged")[0] == 1


def test_programs_are_run_again_with_permission_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a jail a run that was allowed programs is verified with the option, and leaves them out without; a forged one is refused.

    That nothing ran is a verdict like any other; a score in its place is forged, with the option too.
    """
    monkeypatch.setattr("evalsuite.scorers.metrics.programs.can_sandbox_programs", lambda: False)
    place = make(tmp_path, "code", PROGRAM, "x = 2", allow_programs=True)
    assert verified(place, "run", "--allow-programs")[0] == 0
    forged(place)
    for name, expected in (("run", 4), ("forged", 1)):
        code, out = verified(place, name)
        assert (code, left_out(out)) == (expected, {"code": "a program is run only with --allow-programs"})
    assert verified(place, "forged", "--allow-programs")[0] == 1
    place = make(tmp_path, "code", PROGRAM, "x = 1")
    assert verified(place, "run")[0] == verified(place, "run", "--allow-programs")[0] == 0
    forged(place, status="scored", fault=None)
    assert verified(place)[0] == verified(place, "forged", "--allow-programs")[0] == 1


def test_living_gold_is_said_by_gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance whose gold a query gives is named; without a connection its gold file counts, and it is scored again."""
    monkeypatch.chdir(tmp_path)
    place = test_gold_queries.Place(tmp_path)
    folder = place.run()[1]["place"]
    code, out = verified(tmp_path, str(folder))
    assert (code, left_out(out)["q1"]) == (4, "its gold comes from a query")
    said, rows = contents(folder)
    said.pop("living_gold")
    forge(tmp_path / "forged", said, rows)
    assert verified(tmp_path)[0] == 1
    (place.gold / "connections.yaml").unlink()
    place.spec({"func": "table_match", "parameters": {"gold": "r.csv"}, "temporal": True})
    (place.gold / "q1" / "r.csv").write_text("region,total\nnorth,40\n")
    code, out = verified(tmp_path, str(place.run()[1]["place"]))
    assert (code, left_out(out)) == (0, {})


def test_a_query_handed_in_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where gold maps it to a database; where gold maps it to none it is refused as it was, and so verified."""
    monkeypatch.chdir(tmp_path)
    place = test_sql_answers.Place(tmp_path)
    place.ask("mapped", test_sql_answers.RIGHT)
    place.ask("plain", test_sql_answers.RIGHT)
    place.connect("shop: {engine: sqlite, database: shop.sqlite, prefix: mapped}\n")
    rows = place.run()
    assert (rows["mapped"]["score"], rows["plain"]["fault"]) == (1, "SQL_NOT_ALLOWED")
    code, out = verified(tmp_path, "run")
    # What ran, and on which database, is the run's own word.
    said = {name: why for name, why in left_out(out).items() if name not in ("sql", "databases")}
    assert (code, said) == (4, {"mapped": "its answer is a query"})
    assert "verified 1 of 2" in out


def test_errata_written_after_the_run(made: Path) -> None:
    """They are gold as well: a run from before them is no longer what is scored. A patch may need a judge where its instance needs none."""
    write(made / "gold", entry(made / "gold", "capital", "evaluation: {func: llm_judge, parameters: {gold: Lisbon}}"))
    code, out = verified(made, "run")
    assert code == 1
    assert re.search(r"✗ gold +gold.errata.yaml is not what the run used \(absent then", out)
    scored(made / "sub", made / "gold", made / "run")
    code, out = verified(made, "run")
    assert (code, left_out(out)) == (4, {"capital": "it needs a judge"})


@pytest.mark.parametrize("layout", ["lite", "snow"])
def test_other_layouts(tmp_path: Path, layout: str) -> None:
    """Folders without metadata are verified like any other."""
    gold, submission = tmp_path / "gold", tmp_path / "sub"
    (gold / "exec_result").mkdir(parents=True)
    submission.mkdir()
    (gold / f"{layout}_eval.jsonl").write_text('{"instance_id": "q", "condition_cols": [], "ignore_order": true}\n')
    for file in (gold / "exec_result" / "q.csv", submission / "q.csv"):
        file.write_text(TABLE)
    assert main(["run", str(submission), "--gold", str(gold), "--layout", layout, "-q", "--out", str(tmp_path / "run")]) == 0
    assert verified(tmp_path, "run")[0] == 0


def _line(change: Callable[[str], str]) -> Callable[[Path], None]:
    """Change the first line of the results, with digests that fit."""

    def changed(folder: Path) -> None:
        from evalsuite.runs.run_files import seal

        first, rest = (folder / RESULTS).read_text().split("\n", 1)
        text = change(first) + "\n" + rest
        (folder / RESULTS).write_bytes(text.encode("utf-8", "surrogateescape"))
        (folder / RUN).write_text(seal(json.loads((folder / RUN).read_text()), text), errors="surrogateescape")

    return changed


def _record(change: Callable[[str], str]) -> Callable[[Path], None]:
    """Change the text of run.json after which its digest is taken."""

    def changed(folder: Path) -> None:
        import hashlib

        text = change((folder / RUN).read_text())
        blank = re.sub(r'("run": ")[0-9a-f]{64}', rf"\g<1>{'0' * 64}", text)
        (folder / RUN).write_text(blank.replace("0" * 64, hashlib.sha256(blank.encode()).hexdigest()))

    return changed


HOSTILE: dict[str, Callable[[Path], None]] = {
    "a key twice in a row": _line(lambda line: line.replace('"score": 1', '"score": 0, "score": 1')),
    "a key twice by an escape": _line(lambda line: line.replace('"score": 1', '"\\u0073core": 0, "score": 1')),
    "a line end in a row": _line(lambda line: line.replace(', "score"', ',\r "score"')),
    "no row": _line(lambda _: "[]"),
    "no JSON": _line(lambda line: line[:-5]),
    "an empty line": _line(lambda line: line + "\n"),
    "too deep": _line(lambda line: line.replace('"details": {', '"details": {"x": ' + "[" * 900 + "]" * 900 + ", ")),
    "a number for a text": _line(lambda line: line.replace('"capital"', "17")),
    "truth for one": _line(lambda line: line.replace('"score": 1', '"score": true')),
    "a key twice in run.json": _record(lambda text: text.replace('"seconds"', '"summary": {}, "seconds"', 1)),
    "no object in run.json": _record(lambda text: text.replace('"summary": {', '"summary": [], "x": {', 1)),
    "run.json too deep": _record(lambda text: text.replace('"seconds"', '"metadata": ' + "[" * 5000 + "]" * 5000 + ', "seconds"', 1)),
}


@pytest.mark.parametrize("name", [*HOSTILE])
def test_hostile_texts_are_refused(made: Path, name: str) -> None:
    """What two readers could read in two ways, or no run writes, is a no and never a crash."""
    shutil.copytree(made / "run", made / "forged")
    HOSTILE[name](made / "forged")
    code, out = verified(made)
    assert code == 1, out
    assert "is not as a run writes it" in out
