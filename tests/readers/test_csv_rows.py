"""CSV files that people write for a command: read as they stand, and refused in words."""

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import UsageError
from evalsuite.readers.csv_table import read_named_rows


def test_rows_keep_their_lines(tmp_path: Path) -> None:
    """Blank lines are left out, an empty quoted cell is a row, short rows stay short, a BOM is no part of a name; CR alone ends
    lines, and a cell may be long.
    """
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeffa,b\n1,2\n\n"",\n"x\ny"\n'.encode())
    assert read_named_rows(path) == (["a", "b"], [(2, ["1", "2"]), (4, ["", ""]), (6, ["x\ny"])])
    path.write_bytes("a,b\n1,é\n".encode("utf-16"))
    assert read_named_rows(path) == (["a", "b"], [(2, ["1", "é"])])
    path.write_bytes(b"a,b\r1,2\r3,%b\r" % (b"x" * 200_000))
    assert read_named_rows(path) == (["a", "b"], [(2, ["1", "2"]), (3, ["3", "x" * 200_000])])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"a;b\n1;2\n", "'a;b' is one column: is the delimiter a semicolon?"),
        (b"a\tb\n1\t2\n", "is the delimiter a tab?"),
        (b"a|b\n", "is the delimiter a bar?"),
        (b"\xff\xfea", "cannot be read as CSV: not UTF-8"),
        ("name,city\na,Wien\nb,Köln\n".encode("cp1252"), "cannot be read as CSV: not UTF-8, first in line 3"),
        (b"a,b\n1,2,3\n", "a.csv:2: 3 fields, the header has 2"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes, message: str) -> None:
    """One sentence with the file, and what a file has to look like."""
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_named_rows(path)
    assert str(path) in caught.value.message
    assert message in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("packer", [gzip, bz2, lzma])
def test_a_damaged_archive(tmp_path: Path, packer: Any) -> None:
    """Cut, with other bytes in the middle, or no archive at all: the same sentence."""
    text = b"id,label\n" + b"x,1\n" * 3000
    whole = packer.compress(text)
    path = tmp_path / {gzip: "a.csv.gz", bz2: "a.csv.bz2", lzma: "a.csv.xz"}[packer]
    for content in (whole[: len(whole) // 2], whole[:20] + b"\xff" * 3 + whole[23:], text):
        path.write_bytes(content)
        with pytest.raises(UsageError, match="cannot be read as CSV: the compressed file cannot be unpacked"):
            read_named_rows(path)


def test_what_is_not_there(tmp_path: Path) -> None:
    """No file, and a folder in its place."""
    for path, why in ((tmp_path / "b.csv", "no such file"), (tmp_path, "expected a file, found a folder")):
        with pytest.raises(UsageError, match=f"cannot be read as CSV: {why}"):
            read_named_rows(path)
