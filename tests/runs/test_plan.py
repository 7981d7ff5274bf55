"""What is planned: the selected instances, the rules of each, and the warnings that concern no single instance."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import EvalsuiteError, GoldError
from evalsuite.core.scores import Problem
from evalsuite.core.types import Answer, Check, Gold, GoldInstance, Result, Submission, Suite
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.paths import FromRoot
from evalsuite.runs import plan as runs_plan
from evalsuite.runs.plan import by_tag, plan, plan_run, refuse_changes, renamed, rules_of, signature_word, warn_of_changes, warnings_of
from evalsuite.runs.run_options import RunOptions, rules_name
from evalsuite.sandbox.fork_server import fork_server_for
from tests.runs.made import write_sides

IDS = {"sales_1": ("easy", "sales"), "sales_2": ("hard", "sales"), "caf\xe9": ("easy",)}


def gold_of(*scorers: str) -> Gold:
    """Gold with these ids and groups, each with the scorer of its place."""
    checks = [Check(scorer=name, parameters={}, where="") for name in scorers or ["string_match"] * 3]
    instances = [
        GoldInstance(instance_id=name, checks=(check,), groups=groups) for (name, groups), check in zip(IDS.items(), checks, strict=False)
    ]
    return Gold(folder=Path("g"), spec_file=Path("g/x.jsonl"), instances=tuple(instances), suite=Suite(name="x"), notes=("gold's note",))


def submission_of(folder: Path, **more: Any) -> Submission:
    """A submission with one answer."""
    return Submission(folder=folder, answers={"sales_1": Answer(instance_id="sales_1", answer_type="answer", value="x")}, **more)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["sales_1", "sales_2", "caf\xe9"]),
        ({"only": ["caf\xe9", "sales_1"]}, ["sales_1", "caf\xe9"]),
        ({"group": "easy"}, ["sales_1", "caf\xe9"]),
        ({"pattern": "sales_*"}, ["sales_1", "sales_2"]),
        ({"pattern": "sales_*", "group": "easy"}, ["sales_1"]),
        ({"only": ["sales_9"]}, "sales_9"),
        ({"group": "eazy"}, "no group 'eazy' in this suite; did you mean 'easy'?"),
        ({"only": ["caf\xe9"], "group": "hard"}, "none of the requested instances is in the group 'hard'"),
        ({"pattern": "x*"}, "no instance in gold matches 'x*'; known: sales_1, sales_2, caf\xe9"),
        ({"pattern": "x*", "group": "sales"}, "no instance of those named by --only or --group matches 'x*'; known: sales_1, sales_2"),
    ],
)
def test_which_instances_are_planned(tmp_path: Path, filters: dict[str, Any], found: list[str] | str) -> None:
    """Those that all filters let through, in gold order, with their answers; a filter that nothing fits is an error that says which."""
    if isinstance(found, str):
        with pytest.raises(EvalsuiteError) as told:
            plan(gold_of(), submission_of(tmp_path), rules=None, limits=resolve_limits(), **filters)
        assert found in f"{told.value.message}; {told.value.hint}"
        return
    tasks = plan(gold_of(), submission_of(tmp_path), rules=None, limits=resolve_limits(), **filters)
    assert ([task.instance.instance_id for task in tasks], any(task.allow_programs for task in tasks)) == (found, False)
    assert [task.instance.instance_id for task in tasks if task.answer is not None] == ["sales_1"] * ("sales_1" in found)
    assert by_tag(tasks).get("easy", []) == [name for name in found if "easy" in IDS[name]]


def test_many_ids_are_not_read_again_for_each_instance(tmp_path: Path) -> None:
    """`verify` asks for all instances of a run by their ids."""

    class Ids(list[str]):
        n_read = 0

        def __iter__(self) -> Iterator[str]:
            self.n_read += 1
            return super().__iter__()

    ids = Ids(IDS)
    assert len(plan(gold_of(), submission_of(tmp_path), rules=None, limits={}, only=ids)) == 3
    assert ids.n_read <= 2


@pytest.mark.parametrize(
    ("scorers", "defaults", "of_run", "word"),
    [
        (["string_match", "number_match"], ["official", "official"], "official", "official"),
        (["tree_score", "tree_score"], ["strict", "strict"], "strict", "default"),
        (["string_match", "tree_score"], ["official", "strict"], "official", "default"),
    ],
)
def test_the_rules_of_a_run(tmp_path: Path, scorers: list[str], defaults: list[Any], of_run: str, word: str) -> None:
    """Strict for trees, official for the rest; requested rules count for all."""
    gold = gold_of(*scorers)
    assert [task.rules for task in plan(gold, submission_of(tmp_path), rules=None, limits={})] == defaults
    assert (rules_of(gold, None), signature_word(None, defaults)) == (of_run, word)
    assert {task.rules for task in plan(gold, submission_of(tmp_path), rules="strict", limits={})} == {"strict"}
    assert (rules_of(gold, "strict"), signature_word("strict", defaults)) == ("strict", "strict")
    assert [rules_name(rules, "lite") for rules in ("official", "strict", "default")] == ["official-lite", "strict", "default-lite"]


@pytest.mark.parametrize(
    ("of_suite", "asked", "expected"),
    [("", None, "official"), ("", "strict", "strict"), ("strict", None, "strict"), ("strict", "official", "official")],
)
def test_requested_rules_come_before_those_of_the_suite(tmp_path: Path, of_suite: str, asked: Any, expected: str) -> None:
    """For each task, the score of the run and its signature."""
    submission, gold = write_sides(tmp_path / "submission", tmp_path / "gold", {"a": ("string_match", {"gold": "a"}, "a")})
    if of_suite:
        (gold / "suite.yaml").write_text(f"name: x\nrules: {of_suite}\n")
    with plan_run(submission, gold, RunOptions(rules=asked, isolation="none"), None) as planned:
        assert ([task.rules for task in planned.tasks], planned.rules) == ([expected], expected)
        assert f"|rules:{expected}|" in planned.signature


@pytest.mark.parametrize(
    ("unknown", "n_more", "said"),
    [
        ((), 0, []),
        ((("m:1", "Sales_1 "),), 0, ["m:1: 'Sales_1 ' is not in gold (UNKNOWN_ID); did you mean 'sales_1'?"]),
        ((("m:1", "cafe\u0301"),), 0, ["has the same letters in another Unicode form"]),
        ((("m:1", "x"),), 1, ["m:1: 'x' is not in gold (UNKNOWN_ID)", "1 more answer is to ids that gold does not have (UNKNOWN_ID)"]),
        ((("m:1", "x"),), 2, ["m:1: 'x' is not in gold (UNKNOWN_ID)", "2 more answers are to ids that gold does not have (UNKNOWN_ID)"]),
    ],
)
def test_answers_to_unknown_ids(tmp_path: Path, unknown: tuple[tuple[str, str], ...], n_more: int, said: list[str]) -> None:
    """Each is named with gold's similar id, the rest are counted; between the notes of gold and nothing else."""
    submission = submission_of(tmp_path, unknown=unknown, n_unknown=len(unknown) + n_more)
    tasks = plan(gold_of(), submission, rules=None, limits={})
    first, *found = warnings_of(gold_of(), submission, tasks, [])
    assert first == "gold's note"
    assert [text in line for text, line in zip(said, found, strict=True)] == [True] * len(said)


def test_files_that_are_missing(tmp_path: Path) -> None:
    """A folder of almost the id's name is named if a file is missing; files that may not be read are those of their instances."""
    for name in ("Sales_1", "sales_3"):
        (tmp_path / name).mkdir()
    gold, submission = gold_of(), Submission(folder=tmp_path, answers={})
    tasks = plan(gold, submission, rules=None, limits={})

    def said(fault: str | None, reason: str = "no such file") -> list[str]:
        result = Result(
            instance_id="sales_1", status="missing", score=0, official=0, strict=0, scorer="", reason=reason, fault=fault, details={}
        )
        return warnings_of(gold, submission, tasks, [result])[1:]

    assert said(None) == said("BAD_CSV") == []
    [near] = said("MISSING_FILE")
    assert near.endswith(": 'Sales_1' for 'sales_1'; rename it to the id")
    (tmp_path / "sales_1").mkdir()
    assert said("MISSING_FILE") == []
    (tmp_path / "sales_1/R.csv").touch()
    submission.answers["sales_1"] = Answer(instance_id="sales_1", answer_type="files", value=("x.csv", "r.csv"))
    assert said("MISSING_FILE") == ["no file has the name that the answer gives, but almost (MISSING_FILE): sales_1: did you mean 'R.csv'?"]
    (tmp_path / "sales_1/x.csv").touch()
    (tmp_path / "sales_1/r.csv").touch()
    assert said("MISSING_FILE") == []
    [locked] = said("MISSING_FILE", "r.csv: the file may not be read")
    assert locked.startswith("this user may not read files of sales_1 (MISSING_FILE)")


def test_what_gold_is_warned_of(tmp_path: Path) -> None:
    """A problem of gold is said once, at its line, not for the answers too; one that a query would solve where there is an answer."""
    problems = (
        Problem(code="BAD_SPEC", message="odd", hint="mend it", where="x:1", blocks=frozenset()),
        Problem(code="NEEDS_CONNECTION", message="q"),
    )
    gold = gold_of()
    instances = [replace(one, checks=tuple(replace(check, problems=problems) for check in one.checks)) for one in gold.instances]
    gold = replace(gold, instances=tuple(instances))
    result = Result(
        instance_id="sales_1", status="scored", score=1, official=1, strict=1, scorer="", reason="", fault=None,
        details={"warnings": ["odd", "in a file"]},
    )  # fmt: skip
    tasks = plan(gold, submission_of(tmp_path), rules=None, limits={}, only=["sales_1", "sales_2"])
    assert warnings_of(gold, submission_of(tmp_path), tasks, [result]) == [
        "gold's note", "x:1: odd (mend it)", ": q", "x:1: odd (mend it)", "sales_1: in a file"
    ]  # fmt: skip


def test_gold_that_changes() -> None:
    """A run warns with the names of the files, a check of gold ends; without a change neither says anything."""
    assert (list(warn_of_changes([])), refuse_changes([])) == ([], None)  # type: ignore[func-returns-value]
    [warning] = warn_of_changes(["a.csv", "b.csv"])
    assert warning.startswith("gold changed while it was scored: a.csv, b.csv; ")
    with pytest.raises(GoldError, match=r"gold changed while it was read: a\.csv$"):
        refuse_changes(["a.csv"])


@pytest.mark.parametrize(
    ("answer_type", "value", "expected"),
    [
        ("answer", "r.csv", "r.csv"),
        ("sql", "r.sql", "r.sql"),
        ("file", "r.csv", FromRoot("sales_1/r.csv")),
        ("file", FromRoot("r.csv"), FromRoot("r.csv")),
        ("files", ("r.csv", FromRoot("s.csv")), (FromRoot("sales_1/r.csv"), FromRoot("s.csv"))),
    ],
)
@pytest.mark.parametrize(
    ("scorer", "gold"), [("string_match", "g.csv"), ("table_match", FromRoot("sales_1/g.csv")), ("tree_score", FromRoot("sales_1/g.csv"))]
)
def test_an_instance_under_another_name(tmp_path: Path, answer_type: str, value: Any, expected: Any, scorer: str, gold: str) -> None:
    """It reads the same files: those of the answer, and those of gold where the check has some."""
    (tmp_path / "g/sales_1").mkdir(parents=True)
    (tmp_path / "g/sales_1/g.csv").write_text("{}")
    (task,) = plan(replace(gold_of(), folder=tmp_path / "g"), submission_of(tmp_path), rules=None, limits={}, only=["sales_1"])
    assert task.answer is not None
    task = replace(task, answer=replace(task.answer, answer_type=answer_type, value=value))
    found = renamed(task, "variant", Check(scorer=scorer, parameters={"gold": "g.csv"}, where=""))
    assert found.answer is not None
    assert (found.instance.instance_id, found.answer.instance_id) == ("variant", "variant")
    assert (found.answer.value, type(found.answer.value)) == (expected, type(expected))
    assert (check := found.instance.checks[0]).parameters == {"gold": gold}
    assert isinstance(check.parameters["gold"], FromRoot) is isinstance(gold, FromRoot)


@pytest.mark.parametrize("jobs", [3, 1000])
def test_jobs_elsewhere_are_those_requested(tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of this machine limits only what runs on it, where it is said that there are fewer."""
    submission, gold = write_sides(tmp_path / "submission", tmp_path / "gold", {"a": ("string_match", {"gold": "a"}, "a")})
    monkeypatch.setattr(runs_plan, "jobs_that_fit", lambda *_: (2, "2 MiB of memory left"))
    read, told, kept = runs_plan.read_submission_in_worker, list[str](), list[Any]()

    def noted(*args: Any, **more: Any) -> Submission:
        kept.append(more["idle_readers"])
        return read(*args, **more)

    monkeypatch.setattr(runs_plan, "read_submission_in_worker", noted)
    with plan_run(submission, gold, RunOptions(executor="dask", isolation="none", jobs=jobs, tell=told.append), None) as planned:
        assert (planned.options.jobs, planned.links, told) == (jobs, [], [])
    with plan_run(submission, gold, RunOptions(isolation="none", jobs=jobs), None) as planned:
        assert planned.options.jobs == 2
    with plan_run(submission, gold, RunOptions(isolation="none", jobs=jobs, tell=told.append), None):
        assert told == [f"--jobs 2 instead of {jobs}: 2 MiB of memory left"]
    # Without a fork server no reader is kept for a pair.
    assert kept == [None] * 3


@pytest.mark.parametrize(("answer", "n_readers"), [(Path("r.csv"), 1), (Path("missing.csv"), 1), ("a,b", 0)])
@pytest.mark.usefixtures("shared_fork_server")
def test_the_reader_that_no_pair_takes_over_is_closed(
    tmp_path: Path, answer: Path | str, n_readers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker that read the metadata is kept for the first pair, not for texts, and ends with the block if nothing took it.

    The databases of the run are closed then too.
    """
    closed = list[Any]()
    monkeypatch.setattr(runs_plan.Databases, "close", lambda databases: closed.append(databases))
    check = ("table_match", {"gold": "g.csv"}) if isinstance(answer, Path) else ("string_match", {"gold": "a"})
    submission, gold = write_sides(tmp_path / "submission", tmp_path / "gold", {"a": (*check, answer)})
    for file in (submission / "a/r.csv", gold / "a/g.csv"):
        file.parent.mkdir()
        file.write_text("a\n1\n")
    (gold / "gold.errata.yaml").touch()
    (tmp_path / "away").mkdir()
    (gold / "a/linked").symlink_to(tmp_path / "away")
    with fork_server_for(submission) as server, plan_run(submission, gold, RunOptions(), server) as planned:
        readers = [*planned.idle_readers]
        assert (len(readers), closed, planned.links) == (n_readers, [], [tmp_path / "away"])
        assert [task.answer.value for task in planned.tasks if task.answer] == [str(answer)]
        gold_files = [gold / name for name in ("made_eval.jsonl", "a/g.csv", "gold.errata.yaml")]
        assert {(status.st_dev, status.st_ino) for status in map(Path.stat, gold_files)} <= planned.gold_inodes
    assert (planned.idle_readers, closed) == ([], [planned.databases])


@pytest.mark.usefixtures("shared_fork_server")
def test_the_reader_of_a_plan_that_fails_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a filter fits nothing, the worker that read the metadata ends too."""
    submission, gold = write_sides(tmp_path / "submission", tmp_path / "gold", {"a": ("string_match", {"gold": "a"}, "a")})
    read, seen = runs_plan.read_submission_in_worker, list[list[Any]]()

    def noted(*args: Any, idle_readers: list[Any], **more: Any) -> Submission:
        found = read(*args, idle_readers=idle_readers, **more)
        seen.extend([[*idle_readers], idle_readers])
        return found

    monkeypatch.setattr(runs_plan, "read_submission_in_worker", noted)
    with (
        fork_server_for(submission) as server,
        pytest.raises(EvalsuiteError, match="zz"),
        plan_run(submission, gold, RunOptions(only=("zz",)), server),
    ):
        pass
    assert [len(readers) for readers in seen] == [1, 0]


def test_no_room_for_the_lines_of_all_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that lets a process write less than the results of a run take, a KiB for each, is told before anything is scored."""
    cases = {name: ("string_match", {"gold": "a"}, "a") for name in "abc"}
    submission, gold = write_sides(tmp_path / "submission", tmp_path / "gold", cases)
    most = {"FSIZE": 3 * 1024}
    monkeypatch.setattr("evalsuite.sandbox.limits._soft_limit", most.get)
    with plan_run(submission, gold, RunOptions(isolation="none"), None) as planned:
        assert len(planned.tasks) == 3
    most["FSIZE"] -= 1
    with pytest.raises(EvalsuiteError, match="this run writes one of 3072 bytes"), plan_run(submission, gold, RunOptions(), None):
        pass
