"""Lint: faults of gold that are visible without a submission, and safe repairs of the spec as a diff.

Severities: an `error` prevents a check from scoring, or makes it score something unintended under every reading; a `warning` is probably
a mistake; a `note` is sound gold that the official rules misread, or that tests little. Notes never fail a gate.

A new finding is one function and one row in a table of `lint_files` or `lint_values`. Repairs change only spec lines that hold one object
each and that one of the known JSON styles reproduces exactly.
"""

import copy
import difflib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalsuite.analysis.gold_checks import lint_files, lint_values
from evalsuite.analysis.gold_checks.lenient_gold import IGNORE_KEY, Book, Kind, LintFinding, Severity, open_book
from evalsuite.core.errors import did_you_mean, write_error
from evalsuite.readers.json_text import Obj
from evalsuite.runs.run_files import write_atomically


def _ignored(book: Book) -> Iterator[LintFinding]:
    """Ignored codes that do not exist."""
    for instance in book.instances:
        given = instance.extra.get(IGNORE_KEY, [])
        for code in given if isinstance(given, list) else [given]:
            if code not in CODES:
                message = f"{IGNORE_KEY} names {code!r}, which is not a finding code"
                hint = did_you_mean(str(code), CODES)
                yield LintFinding(
                    code="unknown-ignore", where=instance.where, instance_id=instance.instance_id, message=message, hint=hint[:200]
                )


_PER_BOOK: dict[str, Kind] = {
    **lint_files.PER_BOOK,
    "unknown-ignore": Kind("warning", _ignored, "`lint_ignore` names a code that does not exist"),
}
_PER_CHECK: dict[str, Kind] = {**lint_files.PER_CHECK, **lint_values.PER_CHECK}
_PER_TABLE: dict[str, Kind] = {**lint_files.PER_TABLE, **lint_values.PER_TABLE}
# code -> (severity, function, summary)
CODES: dict[str, Kind] = {**_PER_BOOK, **_PER_CHECK, **lint_files.AFTER_TABLES, **_PER_TABLE}
# Besides errors: findings under which a rule can refuse gold's own answer.
REFUSING = frozenset(
    {"exclude-text", "flat-columns", "lists-without-tables", "negative-number", "nested-type", "percentage-and", "typed-null"}
)
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """The findings of a gold folder in the order of its lines; `ignored` are the suppressed ones."""

    book: Book
    findings: tuple[LintFinding, ...]
    ignored: tuple[LintFinding, ...] = ()

    @property
    def n_ignored(self) -> int:
        """The number of suppressed findings."""
        return len(self.ignored)

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(found.severity == severity for found in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        counts = {severity: self.count(severity) for severity in SEVERITIES}
        return {
            "n_instances": len(self.book.instances),
            "counts": counts,
            "n_ignored": self.n_ignored,
            "findings": [found.to_json() for found in self.findings],
        }


def lint(folder: Path, *, ignore: Iterable[str] = ()) -> Lint:
    """Check a gold folder without scoring anything.

    Args:
        folder: a gold folder or its spec file.
        ignore: codes to suppress everywhere; an instance's `lint_ignore` (a list of codes next to `evaluation`) suppresses them there.

    Raises:
        GoldError: there is no spec file that can be opened.
    """
    book = open_book(folder)
    found = sorted((one if one.severity else replace(one, severity=CODES[one.code].severity) for one in _findings(book)), key=_place_of)
    unwanted = set(ignore)
    quiet = dict[str, set[str]]()
    for instance in book.instances:
        codes = instance.extra.get(IGNORE_KEY)
        quiet[instance.instance_id] = {code for code in (codes if isinstance(codes, list) else [codes]) if isinstance(code, str)}

    def is_quiet(one: LintFinding) -> bool:
        return one.code in unwanted or one.code in quiet.get(one.instance_id, ())

    kept = _joined(one for one in found if not is_quiet(one))
    return Lint(book=book, findings=tuple(kept), ignored=tuple(filter(is_quiet, found)))


def _joined(findings: Iterable[LintFinding]) -> Iterator[LintFinding]:
    """Join findings of one code in one check and file: twenty empty columns are one finding."""
    groups: dict[tuple[str, ...], list[LintFinding]] = {}
    for at, one in enumerate(findings):
        # Findings with repairs are not joined: each has its own repair.
        key = (one.code, one.where, one.about, str(at) if one.change is not None else "")
        groups.setdefault(key, []).append(one)
    for first, *more in groups.values():
        yield replace(first, message=f"{first.message} (and {len(more)} more)") if more else first


def _findings(book: Book) -> Iterator[LintFinding]:
    """Yield every finding; an empty severity means the severity of its code."""
    for look in _functions(_PER_BOOK):
        yield from look(book)
    for spot in book.spots():
        for look in _functions(_PER_CHECK):
            yield from look(spot)
    twins, looks = lint_files.Twins(), _functions(_PER_TABLE)
    for table in book.tables():
        for look in looks:
            yield from look(table)
        yield from twins.table(table)
    for look in _functions(lint_files.AFTER_TABLES):
        yield from look(book)


def _functions(kinds: dict[str, Kind]) -> list[Callable[..., Iterator[LintFinding]]]:
    """Return each function of a table once, in table order: one function may find several codes."""
    return list(dict.fromkeys(kind.function for kind in kinds.values()))


def _place_of(found: LintFinding) -> tuple[str, int]:
    name, _, line = found.where.rpartition(":")
    return (name, int(line)) if line.isdigit() else (found.where, 0)


_STYLES: tuple[Callable[[Obj], str], ...] = (
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False),
    lambda value: json.dumps(value, separators=(",", ":")),
    lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
)


def repaired(lint: Lint) -> tuple[str, str, list[LintFinding]]:
    """Return (the spec as it is, the spec with every safe repair, the findings that the repairs fix)."""
    before = lint.book.spec.read_bytes().decode("utf-8")
    lines = before.splitlines(keepends=True)
    mended: list[LintFinding] = []
    by_line: dict[int, list[LintFinding]] = {}
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
    """Return the unified diff of the safe repairs, empty if there are none."""
    before, after, _ = repaired(lint)
    name = lint.book.spec.as_posix().lstrip("/")
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{name}", f"b/{name}", n=1)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def write(lint: Lint) -> int:
    """Apply the safe repairs to the spec and return how many findings they fix. Raises `OutputError`."""
    _, after, mended = repaired(lint)
    try:
        if mended:
            write_atomically(lint.book.spec, after)
    except OSError as error:
        raise write_error(lint.book.spec, error) from error
    return len(mended)


def _style(body: str) -> Callable[[Obj], str] | None:
    """Return the JSON style that reproduces this line exactly. None if no known style does: a diff would then show more than the repair."""
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return next((style for style in _STYLES if style(value) == body), None)
