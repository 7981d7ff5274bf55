"""Safe repairs of the spec as a diff to review: only lines that are one object each, and only those that come out as they were written."""

import copy
import difflib
import json
from collections.abc import Callable

from evalsuite.audit.lint import Lint
from evalsuite.audit.lint.book import Found
from evalsuite.errors import cannot_write
from evalsuite.readers.json_text import Obj
from evalsuite.store.run_files import write_atomically

_STYLES: tuple[Callable[[Obj], str], ...] = (
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False),
    lambda value: json.dumps(value, separators=(",", ":")),
    lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
)


def repaired(lint: Lint) -> tuple[str, str, list[Found]]:
    """(the spec as it is, the spec with every safe repair, the findings that are mended by it)."""
    before = lint.book.spec.read_bytes().decode("utf-8")
    lines = before.splitlines(keepends=True)
    mended: list[Found] = []
    by_line: dict[int, list[Found]] = {}
    for found in lint.findings:
        if found.change is not None:
            by_line.setdefault(int(found.where.rpartition(":")[2]), []).append(found)
    for line, fixable in by_line.items():
        text = lines[line - 1]
        body = text.strip().removeprefix("\ufeff")
        style = _style(body)
        if style is None:
            continue
        value = json.loads(body)
        changed = copy.deepcopy(value)
        for found in fixable:
            assert found.change is not None
            evaluation = changed["evaluation"]
            found.change.apply(evaluation[found.change.check] if isinstance(evaluation, list) else evaluation)
        if changed != value or json.dumps(changed) != json.dumps(value):
            lines[line - 1] = text.replace(body, style(changed))
            mended += fixable
    return before, "".join(lines), mended


def diff(lint: Lint) -> str:
    """The unified diff of the safe repairs, empty where there are none."""
    before, after, _ = repaired(lint)
    name = lint.book.spec.as_posix().lstrip("/")
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{name}", f"b/{name}", n=1)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def write(lint: Lint) -> int:
    """Apply the safe repairs to the spec; how many findings that mended. Raises `OutputError`."""
    _, after, mended = repaired(lint)
    try:
        if mended:
            write_atomically(lint.book.spec, after)
    except OSError as error:
        raise cannot_write(lint.book.spec, error) from error
    return len(mended)


def _style(body: str) -> Callable[[Obj], str] | None:
    """The way of writing JSON that gives this very line, None where no known one does: then a diff would show more than the repair."""
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return next((style for style in _STYLES if style(value) == body), None)
