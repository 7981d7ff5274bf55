"""The memo: what was worked out once is known to the next process, and a memo that is broken or foreign costs time only."""

import sys
from pathlib import Path

import pytest

from evalsuite.store import memo
from evalsuite.store.memo import FILE, Memo
from tests.processes import side_by_side


def test_the_next_one_knows(tmp_path: Path) -> None:
    """A value is known at once, and after closing to the next memo of the folder, each under its own kind."""
    first = Memo(tmp_path)
    first.put("a", "key", {"n": [1, None, "ü"]})
    assert first.get("a", "key") == {"n": [1, None, "ü"]}
    assert first.get("b", "key") is None
    first.close()
    assert Memo(tmp_path).get("a", "key") == {"n": [1, None, "ü"]}


def test_another_code_knows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the package's code forgets everything, and what it writes takes the place of the old."""
    first = Memo(tmp_path)
    first.put("a", "key", 1)
    first.close()
    monkeypatch.setattr(memo, "code_stamp", lambda: "later")
    second = Memo(tmp_path)
    assert second.get("a", "key") is None
    second.put("a", "other", 2)
    second.close()
    monkeypatch.undo()
    assert Memo(tmp_path).get("a", "key") is None


@pytest.mark.parametrize("what", ["junk", "folder", "none"])
def test_a_broken_memo_remembers_until_it_is_closed(tmp_path: Path, what: str) -> None:
    """Junk in its file, a folder in its place, or no place at all: no error."""
    if what == "junk":
        (tmp_path / FILE).write_bytes(b"junk" * 1000)
    elif what == "folder":
        (tmp_path / FILE).mkdir()
    one = Memo(None if what == "none" else tmp_path)
    one.put("a", "key", 1)
    assert one.get("a", "key") == 1
    one.close()


def test_many_processes_write_one_memo(tmp_path: Path) -> None:
    """Eight processes write at once and nothing is lost."""
    code = "import sys; from pathlib import Path; from evalsuite.store.memo import Memo; m = Memo(Path('.')); m.put('n', sys.argv[1], 1); m.close()"  # noqa: E501
    writers = side_by_side([[sys.executable, "-c", code, n] for n in range(8)], cwd=tmp_path)
    assert [writer.returncode for writer in writers] == [0] * 8
    assert [Memo(tmp_path).get("n", str(n)) for n in range(8)] == [1] * 8
