"""The files of a run as they are written and read back: lines of results, JSON beside them, the seal by which `run.json` knows both."""

import hashlib
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from evalsuite.errors import OutputError
from evalsuite.store.unit_files import SEAL, Reader, whole_units
from evalsuite.texts.characters import MOST_MARKS, is_seen
from evalsuite.types import Fault, Result

RESULT_KEYS = ("instance_id", "status", "score", "official", "strict", "scorer", "reason", "fault", "details", "seconds")
_BEFORE_DETAILS: Final = RESULT_KEYS[: RESULT_KEYS.index("details")]
# Nearly every answer is a text, of which no file is read.
_NONE: Final[dict[str, str]] = {}
_BLANK: Final = "0" * 64
Text = TypeVar("Text", str, bytes)
_SHORT: Final = 1 << 10
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]+")


def result_line(result: Result) -> str:
    """One line of `results.jsonl`: the result as JSON in the documented order of keys; whole numbers are written as such."""
    row = {key: getattr(result, key) for key in _BEFORE_DETAILS}
    for key in ("score", "official", "strict"):
        row[key] = int(row[key]) if row[key] is not None and row[key] == int(row[key]) else row[key]
    if (late := result.strict_fault) is not None:
        row["strict_fault"] = late.to_json()
    text = result.details_text
    details = text.decode() if text is not None else _as_line(result.details)
    line = f'{_as_line(row)[:-1]}, "details": {details}, "seconds": {round(result.seconds, 6)!r}}}'
    return _in_sight(line)


def _in_sight(text: str) -> str:
    """A JSON text in which everything can be seen: what cannot stands as its escape of JSON, and is the same when it is read back."""
    return text if text.isascii() else _FOREIGN.sub(_as_seen, text)


def _as_seen(run: re.Match[str]) -> str:
    out, marks = [], 0
    for char in run[0]:
        marks = marks + 1 if unicodedata.category(char)[0] == "M" else 0
        out.append(char if is_seen(char) and marks <= MOST_MARKS else json.dumps(char)[1:-1])
    return "".join(out)


def whole_line(result: Result) -> str:
    """The line with what was read of the answer's files: what journals, the score cache and workers say of a result."""
    line = result_line(result)
    return f'{line[:-1]}, "digests": {json.dumps(dict(result.digests))}}}' if result.digests else line


def read_results(path: Path, *, read: Reader | None = None) -> Iterator[Result]:
    """The results of a finished `results.jsonl`, in its order, with the units that stand beside it, which `read` parses.

    Raises `OutputError` for a line that no run wrote.
    """
    # Bytes that are no UTF-8 are met by the line that holds them.
    with path.open(encoding="utf-8", errors="surrogateescape") as lines:
        yield from whole_units(path.parent, _results_of(lines, path), read=read)


def _results_of(lines: Iterable[str], path: Path) -> Iterator[Result]:
    for number, line in enumerate(lines, 1):
        try:
            result = result_of(line)
            _check_details(result)
        except (ValueError, TypeError):
            hint = "the file is damaged or half copied: copy it again, or score the submission again"
            raise OutputError(f"{path}:{number}: no result that a run wrote", hint=hint) from None
        yield result


def _check_details(result: Result) -> None:
    """Raise ValueError where a detail that readers rely on is of another type than runs write."""
    import msgspec

    from evalsuite.store.run_form import details_form, without_halves

    try:
        if (text := result.details_text) is not None:
            _details_decoder()(text)
        else:
            msgspec.convert(without_halves(result.details), details_form())
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


@cache
def _details_decoder() -> Callable[[bytes], Any]:
    import msgspec

    from evalsuite.store.run_form import details_form

    return msgspec.json.Decoder(details_form()).decode


def reported_result(frame: bytes, instance_id: str) -> Result | None:
    """The result of an instance as its worker reports it; None for a frame that is not such a result."""
    try:
        result = result_of(frame, instance_id=instance_id)
        return result if isinstance(result.details, Mapping) else None
    except (ValueError, TypeError):
        return None


def result_of(line: str | bytes, *, instance_id: str | None = None) -> Result:
    """The result of a line, its details as they stand there. Raises ValueError or TypeError for a line that no run wrote.

    With an `instance_id` it is that instance's, and has this very text for its id.
    """
    import msgspec

    if isinstance(line, bytes):
        # All of it, for the details are read by others, later.
        line = line.decode()
    try:
        said, text = _line_decoder()(line), None
    except RecursionError:
        raise ValueError("the line nests too deep") from None
    except msgspec.DecodeError:
        # A line that is no strict JSON: NaN, of which nothing but details may be, or half of a surrogate pair, as paths and texts hold it.
        said, text = _lenient_line(line)
    if instance_id not in (None, said.instance_id):
        raise ValueError("the line of another instance")
    text = bytes(said.details) if text is None else text
    return Result(
        instance_id=instance_id or said.instance_id,
        # The words of a hundred thousand results are held once.
        status=sys.intern(said.status),  # type: ignore[arg-type]
        score=said.score,
        official=said.official,
        strict=said.strict,
        scorer=None if said.scorer is None else sys.intern(said.scorer),
        reason=_once(said.reason),
        fault=None if said.fault is None else sys.intern(said.fault),
        details=_once(text) if isinstance(text, bytes) else text,  # type: ignore[arg-type]
        seconds=said.seconds,
        digests=said.digests or _NONE,
        strict_fault=None if said.strict_fault is None else Fault(**said.strict_fault),
    )


def _once(text: Text) -> Text:
    """The text, or an equal one that is held already: many answers are right or wrong in the same words."""
    return _held(text) if len(text) < _SHORT else text


@lru_cache(maxsize=1 << 12)
def _held(text: Text) -> Text:
    return text


@cache
def _line_decoder() -> Callable[[str], Any]:
    """What reads a line of the very keys and kinds that a run writes."""
    import msgspec

    from evalsuite.store.run_form import line_form

    return msgspec.json.Decoder(line_form()).decode


def _lenient_line(line: str) -> tuple[Any, Any]:
    """(the line of a run, its details) as Python's own reader has them. Raises ValueError."""
    import msgspec

    from evalsuite.store.run_form import without_halves

    try:
        whole = json.loads(line)
        details = whole.pop("details", {}) if isinstance(whole, dict) else None
        if not isinstance(details, dict):
            raise ValueError("not the line of a result")
        row = {"details": {}, "seconds": 0.0, "digests": None, "strict_fault": None, **whole}
        # The form is that of the text without halves of pairs; the values are those of the line.
        _line_decoder()(json.dumps(without_halves(row)))
        return SimpleNamespace(**row), details
    except (RecursionError, msgspec.DecodeError) as error:
        raise ValueError(str(error)) from None


def read_json(path: Path) -> Any:
    """The JSON value of a file that this program or its like wrote; None where there is none, or none that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None


def keep_out_of_git(folder: Path) -> None:
    """Write the `.gitignore` of the `.evalsuite` that a folder lies in, where it has none: what is kept there is no source."""
    for root in (folder, *folder.parents):
        if root.name == ".evalsuite" and not (root / ".gitignore").exists():
            with suppress(OSError):
                write_atomically(root / ".gitignore", "*\n")


def write_atomically(path: Path, text: str | Iterable[str]) -> str:
    """The SHA-256 of what was written: a text, or pieces of one that is held nowhere as a whole.

    It is written beside and renamed, so that a reader sees the old file or the whole new one.
    """
    beside, digest = path.with_name(f".{path.name}.{os.getpid()}.part"), hashlib.sha256()
    try:
        with beside.open("wb") as file:
            for piece in [text] if isinstance(text, str) else text:
                file.write(data := _as_written(piece))
                digest.update(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return digest.hexdigest()


def _as_written(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def sealed(run: Mapping[str, Any], results: str = "", *, digest: str = "", units: str = "") -> str:
    """The text of `run.json` with `digests` at its end: the SHA-256 of `results.jsonl`, and its own, taken with zeros in its place.

    `results` is the text of `results.jsonl` where its `digest` is not known; `units` the digest of `units.parquet`, empty without one.
    """
    digests = {"results": digest or _digest(_as_written(results)), **({"units": units} if units else {}), "run": _BLANK}
    rest = {key: value for key, value in run.items() if key != "digests"}
    text = _in_sight(json.dumps({**rest, "digests": digests}, ensure_ascii=False, indent=2, default=json_safe)) + "\n"
    before, _, after = text.rpartition(_BLANK)
    return before + _digest(_as_written(text)) + after


def seal_of(run: bytes) -> str | None:
    """The digest that a `run.json` gives itself, None where it gives none: it holds that of `results.jsonl` too."""
    found = SEAL.search(run)
    return None if found is None else found["run"].decode()


def is_intact(run: bytes, results: bytes) -> tuple[bool, bool] | None:
    """Whether `run.json` and `results.jsonl` hold the bytes that were written, each by itself; None where there is no seal."""
    found = SEAL.search(run)
    if found is None:
        return None
    own = _digest(run[: found.start("run")] + _BLANK.encode() + run[found.end("run") :])
    return own == found["run"].decode(), _digest(results) == found["results"].decode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def json_safe(value: object) -> object:
    """What JSON cannot say, as text; sets and tuples come out as lists."""
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return str(value)


# Made once: of a hundred thousand results each would make an encoder of its own.
_as_line = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), default=json_safe).encode
