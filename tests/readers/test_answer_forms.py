"""Both sides' files in the forms that scorers take, and who is blamed for a file that cannot be read."""

from pathlib import Path
from typing import Any

import pytest

from evalsuite.errors import FaultError
from evalsuite.readers import answer_forms
from evalsuite.readers.answer_forms import read_gold_files
from evalsuite.readers.limits import DEFAULT_LIMITS


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    (tmp_path / "q").mkdir()
    (tmp_path / "q/a.csv").write_text("a\n1\n", encoding="utf-8")
    (tmp_path / "q/b.csv").write_text('a\n"1\n', encoding="utf-8")
    (tmp_path / "q/t.json").write_text("{", encoding="utf-8")
    return tmp_path


def read(folder: Path, form: str, **parameters: Any) -> dict[str, Any]:
    return read_gold_files(form, parameters, folder=folder, instance_id="q", limits=DEFAULT_LIMITS)


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_memory_that_gold_takes_is_no_limit_of_the_answer(gold: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    """Where a gold file, or the text of gold's entry, does not fit, nobody could have handed in anything better."""

    def too_much(*_: object, **__: object) -> None:
        raise error

    for name in ("read_csv_table", "read_tree", "parse_tree"):
        monkeypatch.setattr(answer_forms, name, too_much)
    for form, name, code in (("table", "a.csv", "BAD_GOLD_FILE"), ("tree", "t.json", "BAD_GOLD_FILE"), ("tree", "{}", "BAD_SPEC")):
        with pytest.raises(FaultError) as caught:
            read(gold, form, gold=name)
        assert (caught.value.fault.code, caught.value.side) == (code, "gold")


def test_one_of_several_golds_may_be_broken(gold: Path) -> None:
    """A list of golds comes with the fault in the place of the one that cannot be read; a single one raises it, with the file's place."""
    found = read(gold, "table", gold=["a.csv", "b.csv"])["gold"]
    assert (found[0].header, found[1].code) == (("a",), "BAD_GOLD_FILE")
    for form, name in (("table", "b.csv"), ("tree", "t.json"), ("table", "../a.csv")):
        with pytest.raises(FaultError, match=f"gold file q/{name}: "):
            read(gold, form, gold=name)
