"""What the first bytes of a file say about its format, for the reason why it is not the one that is needed."""

import re
from typing import Final

_FORMATS: Final = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow or Feather",
    b"ORC": "ORC",
    b"Obj\x01": "Avro",
    b"SQLite format 3\0": "an SQLite database",
    b"PK\x03\x04": "a ZIP archive, as Excel writes",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel file (.xls)",
    b"\x1f\x8b": "packed by gzip",
    b"\xfd7zXZ\0": "packed by xz",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"%PDF-": "PDF",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
# Of formats that begin with letters, which a text may begin with too, a file has one of the bytes that no text has; bzip2's second mark.
_LETTERS: Final = (b"PAR1", b"ARROW1", b"ORC")
_LOOKED_AT: Final = 4096
_NO_TEXT: Final = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")
_BZIP2: Final = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
# Git LFS writes less than 1024 bytes for a file that it has not fetched.
_LFS_BEGINNING, _LONGEST_POINTER = b"version https://git-lfs.github.com/spec/", 1024
LFS_POINTER: Final = "a pointer of Git LFS, not the file itself: `git lfs pull` fetches it"


def format_of(data: bytes) -> str:
    """The known format, with its article, that begins like this data; empty for none."""
    has_no_text = not _NO_TEXT.isdisjoint(data[:_LOOKED_AT])
    if data[8:12] == b"DUCK" and has_no_text:
        return "a DuckDB database"
    if _BZIP2.match(data):
        return "packed by bzip2"
    return next((words for magic, words in _FORMATS.items() if data.startswith(magic) and (has_no_text or magic not in _LETTERS)), "")


def is_lfs_pointer(data: bytes) -> bool:
    """Whether a whole file is what Git LFS leaves in the place of a file that it has not fetched."""
    return data.startswith(_LFS_BEGINNING) and len(data) < _LONGEST_POINTER
