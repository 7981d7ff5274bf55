"""Gold decides what `verify` may leave out: judged and queried rows and refused programs are named, an invented excuse is refused."""

import json
import re
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.runs.rescoring import Shard, merge
from evalsuite.runs.run_folder import RESULTS, RUN
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.sandbox.program_sandbox import can_sandbox_programs
from tests.analysis.gold_checks.small import ANSWERS, GOLD, TABLE, make_run, scored, write_gold, write_submission
from tests.analysis.gold_checks.test_forgery import contents, forge, once, refit, verified  # noqa: F401
from tests.conftest import copy_of
from tests.gold.test_errata import entry, write
from tests.runs import test_gold_queries, test_sql_answers

pytestmark = pytest.mark.usefixtures("shared_fork_server")

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


def test_an_erratum_that_asks_a_judge(tmp_path: Path) -> None:
    """A patch may need a judge where its instance needs none: nothing is asked, and the row is left out."""
    gold = write_gold(tmp_path / "gold")
    write(gold, entry(gold, "capital", "evaluation: {func: llm_judge, parameters: {gold: Lisbon}}"))
    scored(write_submission(tmp_path / "sub"), gold, tmp_path / "run")
    code, out = verified(tmp_path, "run")
    assert (code, left_out(out)) == (4, {"capital": "it needs a judge"})


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


@pytest.mark.usefixtures("once")
def test_a_row_is_not_excused_by_its_status(made: Path) -> None:
    """Who says that nobody could judge a wrong answer is refused: gold says that everybody can."""
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
    write(gold, entry(gold, "total", "patch: {gold: 47}"), entry(gold, "capital"), entry(gold, "share", tail=_expired()))
    file = made / "sub" / "results_metadata.jsonl"
    file.write_text(file.read_text() + '{"instance_id": "stranger", "answer_type": "answer", "answer_or_path": "x"}\n')
    for i in (1, 2):
        run(made / "sub", gold, RunOptions(out=made / f"shard{i}", shard=Shard(i, 2), isolation="none", jobs=1))
    assert verified(made, "shard1")[0] == 4
    merge([made / "shard1", made / "shard2"], made / "merged")
    code, out = verified(made, "merged")
    assert code == 0, out


def _expired() -> str:
    from tests.gold.test_errata import TAIL

    return TAIL.replace("2027-06-30", "2001-01-31")


@pytest.fixture
def no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that gives programs no jail."""
    monkeypatch.setattr("evalsuite.scorers.metrics.programs.can_sandbox_programs", lambda: False)


@pytest.mark.skipif(not can_sandbox_programs(), reason="this machine gives no jail: namespaces, Landlock or seccomp are missing")
def test_programs_are_run_again_in_their_jail(tmp_path: Path) -> None:
    """Where there is a jail a run of programs is verified like any other, and a forged score is found."""
    place = make(tmp_path, "code", PROGRAM, "x = 2")
    assert verified(place, "run")[0] == 0
    assert verified(forged(place), "forged")[0] == 1


@pytest.mark.usefixtures("no_jail")
def test_programs_are_run_again_with_permission_only(tmp_path: Path) -> None:
    """A run that was allowed programs is verified with the option, and leaves them out without; a forged one is refused by its root."""
    place = make(tmp_path, "code", PROGRAM, "x = 2", allow_programs=True)
    assert verified(place, "run", "--allow-programs")[0] == 0
    forged(place)
    for name, expected in (("run", 4), ("forged", 1)):
        code, out = verified(place, name)
        assert (code, left_out(out)) == (expected, {"code": "a program is run only with --allow-programs"})
    assert verified(place, "forged", "--allow-programs")[0] == 1


@pytest.mark.usefixtures("no_jail")
def test_a_run_without_programs_is_verified_without(tmp_path: Path) -> None:
    """That nothing ran is a verdict like any other; a score in its place is forged, with the option too."""
    place = make(tmp_path, "code", PROGRAM, "x = 1")
    assert verified(place, "run")[0] == 0
    assert verified(place, "run", "--allow-programs")[0] == 0
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
    """They are gold as well: a run from before them is no longer what is scored."""
    write(made / "gold", entry(made / "gold", "capital"))
    code, out = verified(made, "run")
    assert code == 1
    assert re.search(r"✗ gold +gold.errata.yaml is not what the run used \(absent then", out)


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
