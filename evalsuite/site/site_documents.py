"""The pages of a site as documents: the board as it is or was, the archive, and one a submission."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.reports.document import Column, Document, Section, Table
from evalsuite.reports.leaderboard_document import leaderboard_document
from evalsuite.reports.record import record_of_entry, revealed
from evalsuite.reports.run_document import run_document
from evalsuite.site.movement import Before
from evalsuite.store.history import read_run

if TYPE_CHECKING:
    from evalsuite.board.ranking import Leaderboard, RankedRow
    from evalsuite.run.entries import Entry

_LONGEST_SLUG = 40


def slug_of(name: str) -> str:
    """The name of a page: letters, digits and hyphens of the submission's name, and a digest that tells equal ones apart."""
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower())
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{plain.strip('-')[:_LONGEST_SLUG].strip('-') or 'submission'}-{digest}"


def board_document(
    board: "Leaderboard",
    before: Before | None,
    *,
    title: str,
    day: str,
    about: Sequence[tuple[str, str]],
    link: "Callable[[RankedRow], str] | None" = None,
    is_archived: bool = False,
) -> Document:
    """The board of a day; as it stands in the archive it leads to no submission, whose pages are those of today."""
    moved: list[Column[RankedRow]] = []
    if before is not None:
        moved = [Column(name=f"since {before.day}", words=before.words, forms=frozenset({"html"}))]
    facts = [("day", day), *about]
    found = leaderboard_document(board, title=title, about=facts, more=moved, link=None if is_archived else link)
    root = "../" if is_archived else ""
    places = [("Board", f"{root}index.html"), ("Archive", f"{root}archive/index.html"), ("JSON", f"{day if is_archived else 'board'}.json")]
    return replace(found, links=[*places, ("RSS", f"{root}feed.xml")], feed=f"{root}feed.xml")


def archive_document(days: Sequence[Mapping[str, Any]], *, title: str) -> Document:
    """A row for each day that has a board, the newest first."""
    columns: list[Column[Mapping[str, Any]]] = [
        Column(name="day", words=lambda day: str(day["day"]), role="name"),
        Column(name="submissions", words=lambda day: str(day["n"]), is_number=True),
        Column(name="news", words=lambda day: " ".join(map(str, day["news"])), wraps=True),
    ]
    table = Table(columns=columns, rows=list(reversed(days)), link=lambda day: f"{day['day']}.html", is_long=True)
    head = Section(look="head", title=title, prose=["The board of each day"], values={"about": "archive", "tab": f"{title}: archive"})
    places = [("Board", "../index.html"), ("RSS", "../feed.xml")]
    return Document(name=title, title=title, sections=lambda _: [head, Section(table=table)], links=places, feed="../feed.xml")


def submission_document(entry: "Entry", row: "RankedRow", level: str, *, places: Sequence[tuple[str, str]]) -> Document | None:
    """The run of a submission as it may be seen, under the name and with the metadata of the board; None where it is gone.

    Neither gold nor the submission is opened for it: what a page shows beside a wrong answer elsewhere is left out.
    """
    assert entry.scores is not None
    run = read_run(Path(entry.scores.folder))
    if run is None:
        return None
    record = record_of_entry(run)
    own = {**run.run, "submission": {**run.run["submission"], "folder": row.name}, "metadata": dict(row.metadata)}
    record = replace(record, name=row.name, run=own, tags=())
    return replace(run_document(revealed(record, level)), links=places)
