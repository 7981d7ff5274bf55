"""A CSV file that a person wrote for a command (test cases, labels, facts about models) -> its header and rows."""

import csv
from pathlib import Path

from evalsuite.errors import UsageError, reason_of
from evalsuite.matching.wording import other_delimiter

_HINT = "a CSV file in UTF-8, its first line the names of the columns, the delimiter a comma"


def read_rows(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """(column names, the rows as (line, cells)); blank lines are left out.

    Raises:
        UsageError: the file is not there, cannot be read as CSV, is empty, has another delimiter, or a row longer than the header.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.reader(lines)
            header = next(reader, [])
            rows = [(reader.line_num, row) for row in reader if row]
    except FileNotFoundError:
        raise UsageError(f"{path}: cannot be read as CSV: no such file", hint=_HINT) from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read as CSV: {reason_of(error)}", hint=_HINT) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: cannot be read as CSV: not UTF-8", hint=_HINT) from None
    except csv.Error as error:
        raise UsageError(f"{path}: cannot be read as CSV: {error}", hint=_HINT) from None
    if not header:
        raise UsageError(f"{path}: empty, with no column at all", hint=_HINT)
    if other := other_delimiter(header):
        raise UsageError(f"{path}: {other}", hint=_HINT)
    for line, row in rows:
        if len(row) > len(header):
            raise UsageError(f"{path}:{line}: {len(row)} fields, the header has {len(header)}", hint="quote fields that hold commas")
    return header, rows
