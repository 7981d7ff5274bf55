"""A run folder as a receipt: an untouched one is confirmed, each single changed byte is found."""

import json
import math
import os
import re
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalsuite.analysis.receipts import verification
from evalsuite.analysis.receipts.verification import (
    Claims,
    Verified,
    are_numbers,
    expected_rows,
    plain,
    read_claims,
    replay_of,
    verify,
    verify_receipt,
)
from evalsuite.cli import main
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import MachineError, UntrustedPluginError, UsageError
from evalsuite.core.version import __version__
from evalsuite.gold.connection_files import Connections, Entry
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.limits import clock_of, resolve_limits
from evalsuite.runs.plan import plan
from evalsuite.runs.run_folder import RESULTS, RUN, STARTED
from evalsuite.runs.run_options import RunOptions, chosen_rules
from evalsuite.runs.submission_reader import read_submission_in_worker
from evalsuite.scorers import SCORERS
from tests.analysis.gold_checks.small import make_run, scored
from tests.analysis.gold_checks.test_forgery import contents, forge
from tests.analysis.leaderboard.made import result
from tests.conftest import copy_of
from tests.gold.test_errata import entry, write

pytestmark = pytest.mark.usefixtures("shared_fork_server")


made = copy_of(make_run)


def checked(made: Path, **more: Any) -> Verified:
    """What verify says of the run."""
    return verify(made / "run", isolation="none", jobs=1, **more)


def said(found: Verified, name: str) -> str:
    """What a finding says."""
    return next(finding.says for finding in found.findings if finding.name == name)


def wrong(found: Verified) -> dict[str, tuple[str, ...]]:
    """What is not as it must be, with what differs."""
    return {finding.name: finding.differs for finding in found.findings if not finding.good}


def test_an_untouched_run_is_confirmed(made: Path) -> None:
    """Every finding is good, and all instances come out the same again."""
    found = checked(made)
    assert [(finding.name, finding.good) for finding in found.findings] == [
        (name, True) for name in (RUN, RESULTS, "gold", "submission", "rows", "scored again", "numbers", "the rest")
    ]
    assert "4 of 4" in said(found, "scored again")
    assert said(found, "rows") == "are the 4 that gold needs"
    assert (found.n_verified, found.n_gold, dict(found.left_out), found.exit_code) == (4, 4, {}, 0)
    assert found.good


@pytest.mark.parametrize("where", ["option", "suite"])
def test_chosen_rules_are_those_of_the_receipt(made: Path, where: str) -> None:
    """Strict rules, by the option or by the suite, are in the signature, and the run is confirmed under them."""
    if where == "suite":
        with (made / "gold" / "suite.yaml").open("a") as suite:
            suite.write("rules: strict\n")
    done = scored(made / "sub", made / "gold", made / "run", **({"rules": "strict"} if where == "option" else {}))
    assert "|rules:strict|" in done.signature
    found = checked(made)
    assert wrong(found) == {}
    assert [said(found, name) for name in ("numbers", "the rest")] == ["follow from the rows", "is what such a run writes"]


def test_a_submission_and_an_unfinished_run_are_no_receipts(made: Path) -> None:
    """Either is told by its name, not by the file that it lacks; nor is a run without the digests, or with gold that cannot be read."""
    (made / "gold" / "suite.yaml").write_text("limits: 5")
    found = checked(made)
    assert {"gold", "submission"} <= wrong(found).keys()
    assert said(found, "submission") == "was not checked: gold cannot be read"
    recorded = json.loads((made / "run" / RUN).read_text())
    recorded.pop("digests")
    (made / "run" / RUN).write_text(json.dumps(recorded, indent=2) + "\n")
    found = checked(made)
    assert "contains no digests" in found.findings[0].says
    assert [finding.good for finding in found.findings] == [False, False]
    with pytest.raises(UsageError, match="sub is a submission, not a run"):
        verify(made / "sub")
    (made / "run" / RUN).unlink()
    (made / "run" / STARTED).write_text("{}")
    with pytest.raises(UsageError, match=r"not finished|unfinished"):
        verify(made / "run")


def test_values_are_equal_in_any_order_of_keys() -> None:
    """Whole floats are their integers; true is no number."""
    assert plain([0.1 + 0.2, 0.3000000001]) == plain([0.3, 0.3000000001]) != plain([0.3, 0.3])
    assert plain({"a": 1.0, "b": [True]}) == plain({"b": [True], "a": 1}) != plain({"a": 1, "b": [1]})


FILES = {
    RUN: ("run/run.json",),
    RESULTS: ("run/results.jsonl",),
    "gold": ("gold/small_eval.jsonl", "gold/suite.yaml", "gold/table/table.csv"),
    "submission": ("sub/results_metadata.jsonl", "sub/table/answer.csv"),
}


@pytest.mark.parametrize("n_places", [6, pytest.param(14, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "path"), [(name, path) for name, paths in FILES.items() for path in paths])
def test_each_changed_byte_is_found(made: Path, name: str, path: str, n_places: int) -> None:
    """One byte changed anywhere, to its neighbour or to a blank, is a no that names the side; so is one more or less; put back, a yes."""
    file = made / path
    data = file.read_bytes()
    step = max(1, len(data) // n_places)
    for offset in sorted({*range(0, len(data), step), len(data) - 1, len(data) - 2}):
        for byte in {data[offset] ^ 1, data[offset] ^ 0x20, 0x20} - {data[offset]}:
            file.write_bytes(data[:offset] + bytes([byte]) + data[offset + 1 :])
            found = checked(made)
            assert not found.good, f"byte {offset} of {path}: {data[offset : offset + 1]!r} to {bytes([byte])!r}"
            assert name in [finding.name for finding in found.findings if not finding.good]
    for changed in (data + b"\n", data[:-1]):
        if not path.endswith((".jsonl", ".yaml")) or path == "run/results.jsonl":
            file.write_bytes(changed)
            assert not checked(made).good
    file.write_bytes(data)
    assert checked(made).good


def reseal(run: Path, change: Any) -> None:
    """Change the run and give it the digests that then fit, as a forger who knows the format would."""
    recorded, rows = contents(run)
    change(recorded, rows)
    forge(run, recorded, rows)


def test_forged_results_come_out_differently(made: Path) -> None:
    """Numbers that were raised with a new seal are found by adding up; a verdict and numbers changed to fit by scoring again."""
    reseal(made / "run", lambda said, _: said["summary"].update(score=1.0))
    found = checked(made)
    assert (wrong(found), found.exit_code) == ({"numbers": ("summary.score",)}, 1)

    def change(said: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        from evalsuite.core.types import Result
        from evalsuite.runs.summary import summarise

        rows[1].update(score=1, official=1, strict=1)
        groups = {name: [tag] for tag, names in said["groups"].items() for name in names}
        said["summary"] = summarise([Result(**row) for row in rows], rules="official", groups=groups).to_json()

    reseal(made / "run", change)
    found = checked(made)
    assert wrong(found)["scored again"] == ("total: score, official, strict",)
    assert "summary.score" in wrong(found)["numbers"]
    assert (found.n_verified, found.exit_code) == (3, 1)


def test_a_row_of_another_form_is_named_by_its_line(made: Path) -> None:
    """With a new seal the digests fit, and the file that is not as a run writes it is not read further; the other one is as it was."""
    reseal(made / "run", lambda _, rows: rows[1].clear())
    found = checked(made)
    assert wrong(found) == {RESULTS: ("line 2: not a result line",)}
    told = ["as it was written", "is not as a run writes it"]
    findings = [
        {"name": name, "good": not differs, "says": says, "differs": differs}
        for name, says, differs in zip((RUN, RESULTS), told, ((), ("line 2: not a result line",)), strict=True)
    ]
    notes = ["nothing else was checked: the run's own files cannot be trusted"]
    counts = {"good": False, "exit_code": 1, "n_verified": 0, "n_gold": 0, "seed": None}
    assert found.to_json() == {"run": "run", **counts, "not_verified": {}, "claimed": {}, "findings": findings, "notes": notes}
    assert (said(found, RUN), said(found, RESULTS)) == ("as it was written", "is not as a run writes it")


@pytest.mark.parametrize(("order", "differs"), [
    ([1, 0, 2, 3], ["total: out of order", "capital: out of order"]),
    ([0, 1, 2], ["table: missing"]), ([0, 1, 2, 2, 3], ["share: more than once"]),
    ([0, 1, 1, 2, 2], ["table: missing", "total: more than once", "share: more than once"]),
])  # fmt: skip
def test_rows_are_those_of_gold_in_its_order(made: Path, order: list[int], differs: list[str]) -> None:
    """Each row that is missing, extra, doubled or moved is named, and nothing is scored again."""

    def change(_: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        rows[:] = [rows[at] for at in order]

    reseal(made / "run", change)
    found = checked(made)
    assert wrong(found) == {"rows": tuple(differs)}
    assert (said(found, "rows"), found.notes) == ("are not those that gold needs", ("nothing was scored again",))
    reseal(made / "run", lambda _, rows: rows.append({**rows[0], "instance_id": "stranger"}))
    assert "stranger: not needed by gold" in wrong(checked(made))["rows"]


def test_a_part_is_named_by_its_numbers(made: Path) -> None:
    """The rows of a part are as many as it has, of all that gold has; the option that left the others out is named with each."""
    scored(made / "sub", made / "gold", made / "run", only=("total", "share"))
    found = checked(made)
    assert said(found, "rows") == "are 2 of 4 instances that gold needs"
    assert (found.n_verified, found.n_gold, found.exit_code) == (2, 4, 4)
    assert dict(found.left_out) == dict.fromkeys(("capital", "table"), "not in this run (--only)")


@pytest.mark.parametrize(("layout", "official"), [("original", "official"), ("lite", "official-lite"), ("bird-ex", "bird-ex")])
def test_the_chosen_rules_are_those_of_the_signature(layout: str, official: str) -> None:
    """Chosen, or left to the scorers; a word that names none of this gold's rules is refused. Rules of an evaluator are chosen always."""
    words = {official.replace("official", "default"): None, official: "official", "strict": "strict"}
    assert {word: chosen_rules(f"x:1|rules:{word}", layout) for word in words} == words
    for text in ("x:1", "rules:lenient"):
        with pytest.raises(UsageError, match="names no rules of this gold"):
            chosen_rules(text, layout)


def test_a_ratio_of_times_is_the_claim_of_a_right_query(made: Path) -> None:
    """Of a right answer that was a query, and a finite number above 0; any other is not taken over."""
    gold = read_gold(made / "gold")
    _, claims = read_claims(made / "run")
    replay = replay_of(claims, gold, read_submission_in_worker(made / "sub", gold, resolve_limits(), isolation="none"))

    def kept(ratio: object, **more: Any) -> object:
        row = replace(claims.rows[0], **{"official": 1, "scorer": "sql_match", **more}, details={"x": 1, "notes": ["n"]})
        claimed = replace(claims, rows=(replace(row, seconds=7.0, details={"time_ratio": ratio}), *claims.rows[1:]))
        first = expected_rows(replay, {row.instance_id: row}, claimed)[0]
        assert (first.details["x"], first.seconds, "notes" in first.details) == (1, 7.0, False)
        return first.details.get("time_ratio")

    assert [kept(ratio) for ratio in (0.5, 1, 9.25)] == [0.5, 1, 9.25]
    assert [kept(ratio) for ratio in (0, -1.0, math.inf, math.nan, "2", None)] == [None] * 6
    assert [kept(2.0, official=0), kept(2.0, scorer="string_match")] == [None, None]


def test_rows_are_scored_again_without_a_trace(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what has to be scored, under the run's options; nothing is saved, and times of queries are not measured again."""
    seen: list[RunOptions] = []
    monkeypatch.chdir(made)
    score = verification.run
    monkeypatch.setattr(verification, "run", lambda *sides, progress: seen.append(sides[2]) or score(*sides, progress=progress))
    look, allowed = verification._find_unscorable, list[bool]()
    looked = lambda *sides, programs: allowed.append(programs) or look(*sides, programs=programs)  # noqa: E731
    monkeypatch.setattr(verification, "_find_unscorable", looked)
    before = sorted(made.rglob("*"))
    assert checked(made).good
    assert allowed == [False]
    assert sorted(made.rglob("*")) == before
    (how,) = seen
    assert (how.save, how.ves, how.metadata, how.only, how.isolation) == (False, False, {}, ("capital", "total", "share", "table"), "none")


@pytest.mark.parametrize(("fault", "then", "now", "programs", "why"), [
    ("NEEDS_CONNECTION", "scored", "unscored", False, "NEEDS_CONNECTION: because None"),
    ("NEEDS_EXTRA", "scored", "unscored", False, "NEEDS_EXTRA: because None"),
    ("NO_JAIL", "scored", "unscored", True, "a program is run only with --allow-programs"),
    # What the run said too, and what is the answer's fault, is a verdict like any other.
    ("NO_JAIL", "scored", "unscored", False, None), ("NEEDS_EXTRA", "unscored", "unscored", False, None),
    ("BAD_CSV", "scored", "submission_fault", True, None), (None, "scored", "missing", False, None),
])  # fmt: skip
def test_what_only_the_run_could_judge(made: Path, fault: str | None, then: Any, now: Any, programs: bool, why: str | None) -> None:
    """A row that lacks here what the run had is neither confirmed nor refuted."""
    fresh = result("capital", None, status=now, fault=fault)
    claims = Claims(folder=made, run={}, rows=(result("capital", None, status=then), result("other", 1.0)))
    assert verification._find_unscorable({"capital": fresh}, claims, programs=programs) == ({"capital": why} if why else {})


def test_a_link_to_gold_is_noted_again(made: Path) -> None:
    """What a run says of an answer that is a link to a gold file is checked, with errata and without."""
    (made / "sub" / "table" / "answer.csv").unlink()
    os.link(made / "gold" / "table" / "table.csv", made / "sub" / "table" / "answer.csv")
    for _ in range(2):
        scored(made / "sub", made / "gold", made / "run")
        assert contents(made / "run")[1][3]["details"]["notes"]
        assert wrong(checked(made)) == {}
        write(made / "gold", entry(made / "gold", "capital"))


def test_what_verifying_needs(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both files of a run, the file of questions if the run had one, a submission that can be read, and trust in plugins of gold."""
    (made / "part").mkdir()
    (made / "part" / RUN).write_text((made / "run" / RUN).read_text())
    with pytest.raises(UsageError, match=f"no finished run in {made / 'part'}"):
        read_claims(made / "part")
    reseal(made / "run", lambda said, _: said["options"].update(questions="q.json"))
    with pytest.raises(UsageError, match=r"made with the questions of q\.json") as lacks:
        checked(made)
    assert lacks.value.hint == "--questions FILE: one that you trust"
    (made / "other.jsonl").write_text('{"instance_id": "capital", "question": "Which?"}\n')
    assert checked(made, questions=made / "other.jsonl").good
    reseal(made / "run", lambda said, _: said["options"].pop("questions"))
    assert checked(made).good
    with pytest.raises(UsageError, match=r"--databases .*none: no such folder"):
        checked(made, databases=made / "none")
    metadata = made / "sub" / "results_metadata.jsonl"
    metadata.write_bytes(b"\xff\xfe")
    found = checked(made)
    assert said(found, "submission").startswith("cannot be read: ")
    assert (found.exit_code, found.notes) == (1, ("nothing was scored again",))

    def distrust(*_: object, **__: object) -> None:
        raise UntrustedPluginError("my.py is not trusted")

    monkeypatch.setattr(verification, "read_gold", distrust)
    with pytest.raises(UntrustedPluginError):
        checked(made)


@pytest.mark.parametrize("reader", ["read_gold", "read_submission_in_worker"])
def test_a_machine_that_cannot_read_a_side_denies_nothing(made: Path, monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    """It is an error of the command, not a finding about the run."""

    def fail(*_: object, **__: object) -> None:
        raise MachineError("too many open files")

    monkeypatch.setattr(verification, reader, fail)
    with pytest.raises(MachineError, match="too many open files"):
        checked(made)


def test_what_a_judge_or_a_connection_says_is_left_out(made: Path) -> None:
    """A batch that a plugin scores needs no judge, but no sample has a part of it; where connections cannot be read, a query may lead
    anywhere, else to a server, or to a file that is not in the folder of databases.
    """
    gold = read_gold(made / "gold")
    claims = read_claims(made / "run")[1]
    assert claims is not None
    replay = replay_of(claims, gold, read_submission_in_worker(made / "sub", gold, resolve_limits(), isolation="none"))
    task = replay.tasks[0]
    check = task.instance.checks[0]
    batch = replace(task, instance=replace(task.instance, checks=(replace(check, scorer="summary_quality"),)))

    class Whole:
        """A plugin that scores all answers at once."""

        name = "whole_run"

        def run_batch(self, predictions: list[str], *_: Any) -> list[float]:
            return [1.0] * len(predictions)

    class NoDatabases:
        def connections(self) -> Any:
            raise UsageError("connections.yaml is broken")

    name = SCORERS.register_object(Whole())
    own = replace(task, instance=replace(task.instance, checks=(replace(check, scorer=name),)))
    try:
        databases: Any = NoDatabases()
        reasons = [verification._reason_not_replayable([one], databases, live=False) for one in (task, batch, own)]
        assert reasons == ["", "it needs a judge", ""]
        assert verification._leads_away(task, databases)
        assert verification._leads_away(task, databases, gold=True)
        sampled = replace(replay, tasks=(own, *replay.tasks[1:]))
        ids, left_out, seed = verification._draw_sample(sampled, 2, 5)
        assert (len(ids), left_out.pop(task.instance.instance_id), [*left_out.values()]) == (
            2,
            "scored with all answers at once",
            ["not in the sample"],
        )
        assert (seed, verification._draw_sample(sampled, 3, 5)[0]) == (5, replay.ids[1:])
        assert verification._draw_sample(sampled, 4, 5) == (replay.ids, {}, None)
    finally:
        SCORERS.additions.objects.pop(name)


@pytest.mark.parametrize(("engine", "has_folder", "answer_leads_away", "gold_leads_away"), [
    ("", True, False, False), ("sqlite", False, True, True), ("sqlite", True, False, True), ("postgres", True, True, True),
])  # fmt: skip
def test_where_a_query_leads(
    made: Path, engine: str, has_folder: bool, answer_leads_away: bool, gold_leads_away: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a server, or to a file: one in the folder of databases counts for gold's own queries only, which then are not asked again."""
    login = {"host": "db", "user": "u", "password": "p"} if engine == "postgres" else {"database": "x.sqlite"}
    known = {"x": Entry(name="x", engine=engine, where="", folder=made, options=login, instances=("capital",))} if engine else {}
    databases: Any = SimpleNamespace(connections=lambda: Connections(entries=known, databases=made if has_folder else None))
    gold = read_gold(made / "gold")
    submission = read_submission_in_worker(made / "sub", gold, resolve_limits(), isolation="none")
    task = plan(gold, submission, rules="official", limits=resolve_limits())[0]
    assert (verification._leads_away(task, databases), verification._leads_away(task, databases, gold=True)) == (
        answer_leads_away,
        gold_leads_away,
    )
    for from_query in (False, True):
        monkeypatch.setattr(verification, "query_files", lambda *_, found=from_query, **__: [Path("q.sql")] if found else [])
        reason = verification._reason_not_replayable([task], databases, live=False)
        assert reason == ("its gold comes from a query" if from_query and gold_leads_away else "")


def test_units_of_a_foreign_run_are_parsed_in_a_worker(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the user asked for no isolation."""
    readers: list[Any] = []
    monkeypatch.setattr(verification, "whole_units", lambda *places, read: readers.append(read) or places[1])
    for isolation in ("process", "none"):
        read_claims(made / "run", isolation)
    assert readers == [verification.read_unit_columns, None]


def test_what_a_run_says_of_itself(made: Path) -> None:
    """The claims that nobody can check later: all of its making, its places where they are not those checked, its tags and its day."""
    recorded = json.loads((made / "run" / RUN).read_text())
    making = {f"receipt.{key}" for key in recorded["receipt"]} | {"seconds"}
    found = dict(checked(made).claimed)
    assert {name for name in found if not name.startswith("metadata.")} == making
    assert {text for name, text in found.items() if name.startswith("metadata.")} == {"not recorded"}
    assert main(["runs", "tag", str(made / "run"), "--add", "first"]) == 0
    (made / "gold").rename(made / "moved")
    signature = re.sub("evalsuite:[^|]*", "evalsuite:0.0.1", recorded["signature"])
    reseal(made / "run", lambda said, _: said.update(metadata={"model_name": "small"}, signature=signature))
    again = checked(made, gold=made / "moved")
    found = dict(again.claimed)
    assert (again.exit_code, {name for name in found if name.startswith("signature")}) == (0, {"signature.evalsuite"})
    assert found["signature.evalsuite"] == f"0.0.1 then, {__version__} now"
    assert found["metadata.model_name"] == "small"
    assert found["gold.folder"] == f"gold, checked was {made / 'moved'}"
    assert found["tags"] == "#first"
    assert "submission.folder" not in found
    assert again.notes == ()


def test_a_verdict_of_other_versions(made: Path) -> None:
    """A row that differs stays a difference; a note names the versions of the run that are not those here, and none without any."""
    for python in (sys.version.split()[0], "3.0"):
        reseal(made / "run", lambda said, rows, python=python: (said["receipt"].update(python=python), rows[0].update(reason="another")))
        found = checked(made)
        others = f"{python} then, {sys.version.split()[0]} now"
        assert (found.exit_code, dict(found.claimed)["receipt.python"]) == (1, others if python == "3.0" else python)
        assert found.notes == ((f"other versions than the run's may judge otherwise: receipt.python {others}",) if python == "3.0" else ())


def test_a_receipt_is_scored_under_its_options(made: Path) -> None:
    """The clock and the 0 of an invalid answer are those of its signature; what neither side confirms stays a claim."""
    done = scored(made / "sub", made / "gold", made / "run", invalid_as="zero", limits={"clock": clock_of("2026-05-31")})
    receipt = {"submission": "s", "seal": "x", "received": "y", "n_instances": 4, "score": done.summary.score}
    receipt |= {"submission_hash": done.submission_hash, "signature": done.signature, "root": done.root}
    file, options = made / "receipt.json", RunOptions(isolation="none", jobs=1)

    def of(**more: Any) -> Verified:
        file.write_text(json.dumps({**receipt, **more}))
        return verify_receipt(file, submission=made / "sub", gold=made / "gold", key=None, options=options)

    found = of()
    assert wrong(found) == {}
    assert (found.exit_code, found.n_verified, found.n_gold) == (0, 4, 4)
    assert dict(found.claimed) == {"submission": "s", "seal": "x", "received": "y"}
    parts = re.findall(r"\|(?:invalid|clock):[^|]*", done.signature)
    assert len(parts) == 2
    for part in parts:
        assert of(signature=done.signature.replace(part, "")).exit_code == 0
    for text in ("[]", json.dumps({**receipt, "n_instances": "4"}), json.dumps({**receipt, "seal": None})):
        file.write_text(text)
        with pytest.raises(UsageError, match="is no receipt"):
            verify_receipt(file, submission=None, gold=None, key=None, options=options)


@pytest.mark.parametrize(("n", "is_read"), [(200, True), (201, False)])
def test_how_deep_a_claim_may_be(n: int, is_read: bool) -> None:
    """As deep as any answer that is read; each key stands once, and the whole is an object."""
    assert (verification._object(b'{"x": ' + b"[" * n + b"]" * n + b"}") is not None) is is_read
    assert verification._object(b'{"x": {"a": 1, "b": 1}}') == {"x": {"a": 1, "b": 1}}
    assert [verification._object(text) for text in (b'{"x": {"a": 1, "a": 1}}', b"[]", b"\xff", b"{")] == [None] * 4


def test_a_sample_can_be_repeated(made: Path) -> None:
    """A sample scores so many instances again, its seed takes the same ones, and the others are named as not verified."""
    first = checked(made, sample=2)
    assert first.seed is not None
    assert "2 of 4" in said(first, "scored again")
    assert (first.n_verified, len(first.left_out), first.exit_code, wrong(first)) == (2, 2, 4, {})
    assert set(first.left_out.values()) == {"not in the sample"}
    assert checked(made, sample=2, seed=first.seed) == first
    assert checked(made, sample=9).seed is None
    assert checked(made, sample=9).exit_code == 0


def test_corrected_scores_are_checked_too(made: Path) -> None:
    """The errata that a corrected score was made with are gold as well, and what it says must add up and come out again."""
    gold, run = made / "gold", made / "run"
    write(gold, entry(gold, "capital"), entry(gold, "total", "patch: {gold: 47}"))
    scored(made / "sub", gold, run, errata_day=date(2026, 11, 21))
    assert checked(made).good
    original = {name: (run / name).read_bytes() for name in (RUN, RESULTS)}
    reseal(run, lambda said, _: said["corrections"].update(score=1.0))
    assert wrong(checked(made)) == {"numbers": ("corrections.score",)}
    reseal(run, lambda said, _: said["corrections"].update(day="soon"))
    assert said(checked(made), "plan") == "corrections.day is not a day: 'soon'"
    for name, data in original.items():
        (run / name).write_bytes(data)
    file = gold / "gold.errata.yaml"
    file.write_text(file.read_text().replace("A. Person", "B. Person"))
    assert [finding.name for finding in checked(made).findings if not finding.good] == ["gold"]
    for text, now in ((None, "absent"), ("{", "unreadable")):
        file.unlink() if text is None else file.write_text(text)
        found = checked(made)
        assert said(found, "gold").startswith("gold.errata.yaml is not what the run used (")
        assert said(found, "gold").endswith(f" then, {now} now)")
    # A run is confirmed as of its own day: entries that have expired since were in force then.
    write(gold, entry(gold, "total", "patch: {gold: 47}").replace("2027-06-30", "2001-01-31"))
    scored(made / "sub", gold, made / "old", errata_day=date(2001, 1, 1))
    assert verify(made / "old", isolation="none", jobs=1).good
    file.unlink()
    (gold / "suite.yaml").write_text("{")
    assert "is not what was scored" in said(checked(made), "gold")
    assert said(checked(made), "submission") == "was not checked: gold cannot be read"


def test_what_has_moved_can_be_named(made: Path) -> None:
    """Folders that lie elsewhere now are given; without that the command says which one is gone."""
    (made / "gold").rename(made / "moved")
    with pytest.raises(UsageError, match="the gold of run is no longer in"):
        checked(made)
    assert checked(made, gold=made / "moved").good
    for side in ("gold", "submission"):
        with pytest.raises(UsageError, match=f"nowhere: no such {side} folder"):
            checked(made, **{"gold": made / "moved", side: made / "nowhere"})


def test_the_command_answers_yes_or_no(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0 and `yes`, exit 1 and `no` with what differs; `--json` says the same."""
    run = str(made / "run")
    assert main(["verify", run, "--jobs", "1"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("run matches its claims: yes")
    (made / "sub" / "table" / "answer.csv").write_text("id\n1\n")
    assert main(["verify", run, "--isolation", "none"]) == 1
    out = capsys.readouterr().out
    assert "✗ submission" in out
    assert out.rstrip().endswith("no: submission (exit 1)")
    assert main(["verify", run, "--isolation", "none", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["good"] is False
    assert main(["verify", str(made / "sub")]) == 2
    assert main(["verify", run, "--sample", "0"]) == 2


@pytest.mark.parametrize(("recorded", "fits"), [
    ({"status": "scored", "score": 1.0, "official": 0.0, "strict": None}, True),
    ({"status": "scored", "score": 1.0, "official": 0.0}, False),
    ({"status": "scored", "score": 1.0, "official": 0.0, "strict": None, "more": 1}, False),
    ({"status": "scored", "score": "1", "official": 0.0, "strict": None}, False),
    ({"status": "great", "score": 1.0, "official": 0.0, "strict": None}, False),
    ({"status": "scored", "score": True, "official": 0.0, "strict": None}, False),
])  # fmt: skip
def test_corrected_numbers_have_one_form(recorded: dict[str, Any], fits: bool) -> None:
    """A status and three numbers or nulls, no more and no less."""
    assert are_numbers(recorded) == fits
