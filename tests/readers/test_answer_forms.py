"""Both sides' files in the forms that scorers take, and who is blamed for a file that cannot be read."""

from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import FaultError
from evalsuite.readers import load_answer
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.readers.load_answer import read_gold_files


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

    for module, name in ((load_answer.csv_table, "read_csv_table"), (load_answer, "read_tree"), (load_answer, "parse_tree")):
        monkeypatch.setattr(module, name, too_much)
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


def test_of_several_golds_each_is_read_when_it_is_asked_for(gold: Path) -> None:
    """Who compares is given what is like a list: what nobody asks for is not opened, one that cannot be read is a fault in its place."""
    names = ["a.csv", "b.csv", "gone.csv"]
    found = read_gold_files("table", {"gold": names}, folder=gold, instance_id="q", limits=DEFAULT_LIMITS, as_it_comes=True)["gold"]
    (gold / "q/b.csv").write_text("a\n2\n", encoding="utf-8")
    assert (len(found), found[0].columns[0], found[1].columns[0], found[-1].code) == (3, ["1"], ["2"], "BAD_GOLD_FILE")
    (gold / "q/b.csv").unlink()
    assert [table is found[at] for at, table in enumerate(found)] == [True] * 3
    assert found[:2] == [found[0], found[1]]
    with pytest.raises(IndexError):
        found[3]
