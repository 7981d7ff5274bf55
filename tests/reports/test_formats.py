"""The table of formats: any document in any form."""

import errno
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evalsuite import reports
from evalsuite.core.errors import OutputError, UsageError
from evalsuite.reports import FORMATS, check_output, write
from evalsuite.reports.document import Document


def test_every_name_leads_to_a_function() -> None:
    """Each format has its function."""
    for name in FORMATS.values():
        assert callable(name.load())


@pytest.mark.parametrize("ending", [ending for ending in FORMATS if ending not in (".csv", ".parquet")])
def test_a_document_with_nothing_in_it_has_every_form(ending: str) -> None:
    """A renderer asks nothing of its subject but a name and a first line; files of rows need a table."""
    rendered = FORMATS[ending].load()(Document(name="n", title="the first line", last_line="done"))
    text = rendered if isinstance(rendered, str) else "".join(rendered)
    assert text


def test_an_unknown_ending_is_refused() -> None:
    """One sentence for all subjects, with the endings there are."""
    with pytest.raises(UsageError, match=r"no report format for 'x\.htm'") as caught:
        check_output(Path("x.htm"))
    assert ".html" in str(caught.value.hint)


def open_but_no_new_file(open_: Callable[..., int], failure: BaseException, name: str, flags: int, *more: Any, **how: Any) -> int:
    """`os.open` on a disk that has no inode left."""
    if str(name).endswith(".part"):
        raise failure
    return open_(name, flags, *more, **how)


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError("x")], ids=repr)
def test_half_a_report_never_replaces_a_whole_one(failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that fails in the middle, or for which no new file can be made, leaves the old file as it was, and nothing else."""
    path = tmp_path / "page.html"
    path.write_text("the old report")
    path.chmod(0o640)

    def pieces(*_: object) -> Iterator[bytes]:
        yield b"half"
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(reports, "encode", pieces)
        with pytest.raises(OutputError if isinstance(failure, OSError) else type(failure)):
            write(Document(name="n", title="the new report", last_line="done"), path)
        patch.setattr(reports.os, "open", partial(open_but_no_new_file, os.open, failure))
        with pytest.raises(OutputError if isinstance(failure, OSError) else type(failure)):
            write(Document(name="n", title="the new report", last_line="done"), path)
    assert ([one.name for one in tmp_path.iterdir()], path.read_text()) == (["page.html"], "the old report")
    write(Document(name="n", title="the new report", last_line="done"), path)
    assert "the new report" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_report_goes_through_a_link_and_into_a_pipe(tmp_path: Path) -> None:
    """A link stays a link to the file that is replaced; a pipe is written in place."""
    document = Document(name="n", title="the new report", last_line="done")
    (tmp_path / "link.md").symlink_to(tmp_path / "page.md")
    write(document, tmp_path / "link.md")
    assert (tmp_path / "link.md").is_symlink()
    assert "the new report" in (tmp_path / "page.md").read_text()
    os.mkfifo(tmp_path / "pipe.md")
    reader = os.open(tmp_path / "pipe.md", os.O_RDONLY | os.O_NONBLOCK)
    write(document, tmp_path / "pipe.md")
    assert b"the new report" in os.read(reader, 1 << 16)
    os.close(reader)
