"""Faults have one message, hint and responsible side; suggestions name the nearest known words, shortened to a line or two."""

from pathlib import Path

import pytest

from evalsuite.core.errors import (
    CHECK_HINT,
    FAULTS,
    FaultError,
    UsageError,
    count_words,
    describe,
    did_you_mean,
    error_sentence,
    hint_of,
    join_names,
    machine_error,
    machine_fault,
    naming_lost_folder,
    reason_of,
    side_of,
    timeout_error,
    unicode_form_hint,
    write_error,
)
from evalsuite.core.types import Fault, Score

SCORERS = ("string_match", "number_match", "table_match", "tables_match", "duckdb_match", "bleu", "llm_judge", "readability")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("table", "did you mean 'table_match'?"),
        ("tables", "did you mean 'tables_match'?"),
        ("TABLE_MATCH", "did you mean 'table_match'?"),
        ("Judge", "did you mean 'llm_judge'?"),
        ("read", "did you mean 'readability'?"),
        ("tabel_match", "did you mean 'table_match'?"),
        ("blue", "did you mean 'bleu'?"),
        ("my_bleu_score", "did you mean 'bleu'?"),
        ("match", f"known: {', '.join(SCORERS)}"),
        ("zzz", f"known: {', '.join(SCORERS)}"),
        ("", f"known: {', '.join(SCORERS)}"),
        ("_", f"known: {', '.join(SCORERS)}"),
    ],
)
def test_the_nearest(word: str, hint: str) -> None:
    """A part of a name comes before a likeness: `table` is no `bleu`; what many names share names none of them."""
    assert did_you_mean(word, SCORERS) == hint


@pytest.mark.parametrize(
    ("word", "names", "is_hinted"),
    [
        ("caf\xe9", ["cafe\u0301"], True),
        ("cafe\u0301", ["tea", "caf\xe9"], True),
        ("caf\xe9", ["caf\xe9"], False),
        ("caf\xe9", ["cafe", "tea"], False),
        ("caf\xe9", [], False),
        ("cafe", ["caf\xe9"], False),
    ],
)
def test_another_unicode_form(word: str, names: list[str], is_hinted: bool) -> None:
    """A name of the same letters in other code points is named; the word itself, other letters and none give no hint."""
    assert unicode_form_hint(word, names, "gold's id").startswith("gold's id has the same letters") is is_hinted


def test_many_names_are_counted() -> None:
    """What does not fit is told by its number; one name is always there, however long."""
    names = [f"sales_{number:04}" for number in range(2000)]
    said = join_names(names)
    assert said.startswith("sales_0000, sales_0001, ")
    assert said.endswith(" more")
    n_named = said.count("sales_")
    assert f"and {2000 - n_named:,} more" in said
    assert len(said) < 430
    assert join_names(["x" * 1000, "y"]) == f"{'x' * 1000} and 1 more"
    assert join_names([]) == ""
    assert [count_words(n, "row") for n in range(3)] == ["0 rows", "1 row", "2 rows"]
    assert did_you_mean("sale_0012", names) == "did you mean 'sales_0012'?"


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_by_its_code(code: str) -> None:
    """Its side is that of its code, unless the machine is at fault; its sentence has the code, the place and the case, or the message."""
    kind = FAULTS[code]
    assert (side_of(Fault(code=code)), hint_of(Fault(code=code))) == (kind.side, kind.hint)
    assert (FaultError(code).side, FaultError(code).fault) == (kind.side, Fault(code=code))
    machine = FaultError(code, "no disk", where="a.csv:3", side="setup")
    assert (machine.side, side_of(machine.fault)) == ("setup", "setup")
    assert describe(machine.fault) == f"{code}: a.csv:3: no disk"
    assert describe(Fault(code=code)) == f"{code}: {kind.message}"
    assert (str(FaultError(code)), str(machine)) == (kind.message, "no disk")
    assert (FaultError(code).is_of_machine, machine.is_of_machine) == (False, kind.side != "setup")
    assert (hint_of(machine.fault) == kind.hint) is (code != "LIMIT" or kind.side == "setup")


def test_who_is_at_fault_for_a_timeout() -> None:
    """A process that mostly waited for a CPU was stopped by the machine; the limit is named in the other case."""
    assert (timeout_error("delayed", "the scorer", 5).fault.code, timeout_error("delayed", "the scorer", 5).side) == ("LIMIT", "setup")
    late = timeout_error("cpu", "the scorer", 2.5)
    assert (late.fault.code, late.side, str(late)) == ("TIMEOUT", "submission", "the scorer took longer than 2.5 seconds (limit seconds)")
    assert side_of(machine_fault("no memory")) == "setup"
    placed = Fault(code="LIMIT", detail="no memory", where="a.csv", side="setup")
    said = [machine_error("", placed), machine_error("b.csv", placed), machine_error("", machine_fault("no memory"))]
    assert [error.message for error in said] == ["a.csv: no memory", "b.csv: no memory", "no memory"]


def test_errors_in_one_sentence() -> None:
    """With the hint where there is one; of another library only the class."""
    assert error_sentence(UsageError("no gold", hint="name it")) == "no gold; name it"
    assert error_sentence(UsageError("no gold")) == "no gold"
    assert error_sentence(FaultError("TIMEOUT", "late")) == "late"
    assert error_sentence(KeyError("a path")) == "KeyError"


def test_errors_of_the_operating_system() -> None:
    """Its own reason, or the class; a file in place of a folder is named as such."""
    for error, reason in (
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (FileExistsError(17, "File exists"), "expected a folder, found a file"),
        (OSError(), "OSError"),
    ):
        assert reason_of(error) == reason
        assert (write_error("out", error).message, write_error("out", error).hint) == (f"cannot write out: {reason}", CHECK_HINT)
    assert write_error("out", OSError(), hint="elsewhere").hint == "elsewhere"


def test_a_working_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named in place of the file that cannot be found then; a file that is absent elsewhere is that."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(FileNotFoundError, match="absent"), naming_lost_folder():
        Path("absent").read_text()
    (tmp_path / "here").rmdir()
    with pytest.raises(UsageError, match="the current folder does not exist any more"), naming_lost_folder():
        Path("absent").read_text()


def test_a_score_under_each_rule() -> None:
    """Value, fault and reason of the strict rules are their own; an empty reason is that of the official ones."""
    faults = {"fault": Fault(code="BAD_CSV"), "strict_fault": Fault(code="TIMEOUT")}
    score = Score(official=1.0, strict=0.0, reason="same", strict_reason="rows differ", **faults)
    assert [(score.value(rule), score.fault_under(rule), score.reason_for(rule)) for rule in ("official", "strict")] == [
        (1.0, faults["fault"], "same"),
        (0.0, faults["strict_fault"], "rows differ"),
    ]
    assert (score.value(), score.fault_under(), score.why()) == (1.0, faults["fault"], "same")
    assert Score(official=1.0, reason="same").reason_for("strict") == "same"
