"""Files of queries, one a question, as BIRD and Spider 1 have them.

Gold is a text file with `SQL<TAB>database` a line (`gold.sql`, `gold.txt`); what is known of the questions lies beside it (`dev.json`).
Answers are either such a file with a query a line (`predict.txt`), or JSON (`pred.json`): an object with a query for each number of a line,
or a list of them, behind each of which `<TAB>----- bird -----<TAB>database` may stand. The database is always gold's: an answer has no say
in where it runs.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from evalsuite.errors import FAULTS, FaultError, SubmissionError, describe
from evalsuite.readers.answer_files import Seen, watched
from evalsuite.readers.gold_files import questions_beside
from evalsuite.readers.json_text import parse_tree, read_text
from evalsuite.readers.jsonl import Entry
from evalsuite.readers.jsonl import Layout as Met
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import open_trusted
from evalsuite.types import Answer, Fault, Submission

# What ends a query of BIRD's, before the name of the database that the answer was made for.
_SEPARATOR = "\t----- bird -----\t"
_ENDS = re.compile(r"\r\n?|\n")
_SHOWN = 5


def read_gold_pairs(handle: BinaryIO, *, limits: Limits, layout: Met | None = None) -> Iterator[Entry]:
    """An entry `{"instance_id", "gold", "database"}` a line, blank lines left out; ids count from 0 as in BIRD's files."""
    try:
        text = read_text(handle, limit_bytes=limits["metadata_bytes"])
    except FaultError as error:
        yield Entry(line=1, fault=error.fault, hint=FAULTS[error.fault.code].hint)
        return
    for number, line in enumerate(_ENDS.split(text)):
        if not line.strip():
            continue
        query, _, database = line.strip().rpartition("\t")
        if query:
            yield Entry(line=number + 1, value={"instance_id": str(number), "gold": query.strip(), "database": database.strip()})
        else:
            fault = Fault(code="BAD_SPEC", detail="no database behind the query")
            yield Entry(line=number + 1, fault=fault, hint="SQL, a tab, and the name of its database; one pair a line")
    if layout is not None and not text.strip():
        layout.note("the file is empty", 1)


def read_questions(spec: Path, databases: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """(what is known of each question beside gold, a note): n objects in gold's order, empty ones where there is no such file.

    A file counts that holds as many objects as gold has pairs, each for the same database.
    """
    for place in questions_beside(spec):
        try:
            with open_trusted(place, limit_bytes=DEFAULT_LIMITS["metadata_bytes"]) as handle:
                text = read_text(handle, limit_bytes=DEFAULT_LIMITS["metadata_bytes"])
            found = parse_tree(text, limits={**DEFAULT_LIMITS, "json_records": 1 << 30})
        except FaultError as error:
            return [{} for _ in databases], f"{place.name} is not read: {describe(error.fault)}"
        fits = isinstance(found, list) and len(found) == len(databases) and all(isinstance(item, dict) for item in found)
        if not fits or any(item.get("db_id", own) != own for item, own in zip(found, databases, strict=True)):
            note = f"{place.name} is not read: it has not one object for each of gold's {len(databases)} pairs, in their order"
            return [{} for _ in databases], note
        return found, ""
    return [{} for _ in databases], ""


def read_predictions(path: Path, limits: Limits, ids: Collection[str] | None) -> Submission:
    """The submission in one file of queries; answers to other `ids` than gold's are counted. Raises `SubmissionError`."""
    seen = Seen()
    try:
        with watched(open_trusted(path, limit_bytes=limits["metadata_bytes"]), seen) as handle:
            text = read_text(handle, limit_bytes=limits["metadata_bytes"])
            handle.read(1)
        if text.lstrip()[:1] in ("{", "["):
            given, notes = _of_json(text, limits, ids)
        else:
            # A blank line is no answer; what stands behind a tab is not read.
            lines = enumerate(_ENDS.split(text))
            given, notes = [(str(number), line.split("\t")[0].strip() or None) for number, line in lines], []
    except FaultError as error:
        hint = FAULTS[error.fault.code].hint
        raise SubmissionError(f"{path.name}: {describe(error.fault)}", hint=hint) from None
    answers = {name: _answer(name, query, limits) for name, query in given if query is not None}
    unknown = [(answers[name].where, name) for name in answers if ids is not None and name not in ids]
    for _, name in unknown:
        del answers[name]
    return Submission(
        folder=path,
        answers=answers,
        notes=tuple(notes),
        n_objects=len(answers) + len(unknown),
        limit_bytes=limits["file_bytes"],
        digest=seen.digest,
        n_unknown=len(unknown),
        unknown=tuple(unknown[: int(limits["notes"])]),
    )


def _of_json(text: str, limits: Limits, ids: Collection[str] | None) -> tuple[list[tuple[str, str | None]], list[str]]:
    """(id, query) of each member of a JSON object or list, None for what is no text, and notes."""
    found = parse_tree(text, limits=limits)
    if isinstance(found, list):
        found = {str(number): value for number, value in enumerate(found)}
    names, notes = list(found), []
    if ids is not None and len(names) == len(ids) and not set(names) <= set(ids):
        notes.append("the keys are no numbers of gold's lines: answers are taken in their order, as BIRD's evaluator takes them")
        names = sorted(ids, key=int)
    given = [(name, _without_database(value)) for name, value in zip(names, found.values(), strict=True)]
    odd = [name for name, value in found.items() if value is not None and not isinstance(value, str)]
    if odd:
        notes.append(f"no text stands for {', '.join(map(repr, odd[:_SHOWN]))}{' and others' if len(odd) > _SHOWN else ''}: not handed in")
    return given, notes


def _without_database(value: Any) -> str | None:
    return value.split(_SEPARATOR)[0].rstrip("\t") if isinstance(value, str) else None


def _answer(name: str, query: str, limits: Limits) -> Answer:
    size = len(query.encode("utf-8", "surrogatepass"))
    where = f"pair {name}"
    if size <= limits["answer_bytes"]:
        return Answer(instance_id=name, answer_type="answer", value=query, where=where)
    detail = f"the query has {size} bytes, the limit answer_bytes is {int(limits['answer_bytes'])}"
    return Answer(instance_id=name, answer_type="answer", value="", where=where, fault=Fault(code="TOO_LARGE", detail=detail, where=where))
