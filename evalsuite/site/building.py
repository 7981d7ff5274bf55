"""A board -> its site: only pages whose run or level is new are written, the rest is taken over, and the folder is replaced as a whole."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evalsuite import __version__
from evalsuite.board.admission import Admission
from evalsuite.board.board_yaml import BoardRules, spelled
from evalsuite.errors import cannot_write
from evalsuite.memo import code_stamp
from evalsuite.reports.html import as_html
from evalsuite.site.feed import feed_text
from evalsuite.site.movement import ARCHIVE, BOARD, Before, days_of, moves_of, news
from evalsuite.site.publishing import new_version
from evalsuite.site.site_documents import archive_document, board_document, slug_of, submission_document
from evalsuite.store.history import read_run
from evalsuite.store.run_files import json_safe, read_json, seal_of, write_atomically
from evalsuite.store.run_folder import RUN
from evalsuite.store.signing import SIGNATURE

if TYPE_CHECKING:
    from evalsuite.board.ranking import Leaderboard, RankedRow
    from evalsuite.run.entries import Entry

SUBMISSIONS: Final = "submissions"
# What the host keeps to itself: when what was taken, and which page was made of what.
RECEIVED, _MADE = "received.json", "pages.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOrder:
    """What is to be built: the public `folder`, the `private` one, the board's rules, the `level` of pages, now, and the board before.

    The folders are absolute, without links.
    """

    folder: Path
    private: Path
    rules: BoardRules
    level: str
    now: datetime
    before: Before | None
    admission: Admission


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What was built: how many pages of submissions there are, and how many of them were written now."""

    n_pages: int
    n_written: int


def build_site(board: "Leaderboard", entries: "Sequence[Entry]", order: SiteOrder) -> Built:
    """Build the site of a board. Raises `UsageError` for a folder that cannot be meant, `OutputError`."""
    day, title = order.now.strftime("%Y-%m-%d"), order.rules.title or board.suite
    before = order.before
    shown = [] if board.anonymous else _with_runs(board, entries)
    with new_version(order.folder) as site:
        pages = _Pages(site, order)
        for entry, row in shown:
            pages.add(entry, row)
        pages.drop_others()
        link = {row.name: f"{SUBMISSIONS}/{slug_of(row.name)}.html" for _, row in shown}
        about = _about(order)
        told = {"title": title, "day": day, "news": news(board, before)}
        rows = {
            name: {**move, "page": link.get(name), "received": pages.received.get(name)}
            for name, move in {**{row.name: {} for row in board.rows}, **moves_of(board, before)}.items()
        }
        since = before.day if before is not None else None
        whole = {**board.to_json(), "site": {**told, "made": order.now.isoformat(), "since": since, "rows": rows}}
        text = json.dumps(whole, ensure_ascii=False, default=json_safe) + "\n"
        (site / ARCHIVE).mkdir(exist_ok=True)
        for is_archived, name in ((False, "index"), (True, f"{ARCHIVE}/{day}")):
            how: dict[str, Any] = {"title": title, "day": day, "about": about, "link": lambda row: link.get(row.name, "")}
            write_atomically(site / f"{name}.html", as_html(board_document(board, before, is_archived=is_archived, **how)))
            write_atomically(site / (f"{name}.json" if is_archived else BOARD), text)
        days = _list_of_days(site, {"day": day, "n": len(board.rows), "news": told["news"]})
        write_atomically(site / ARCHIVE / "index.html", as_html(archive_document(days, title=title)))
        write_atomically(site / "feed.xml", feed_text(title, days, url=order.rules.url and order.rules.url.rstrip("/") + "/"))
    pages.remember()
    return Built(n_pages=len(shown), n_written=pages.n_written)


def _with_runs(board: "Leaderboard", entries: "Sequence[Entry]") -> "list[tuple[Entry, RankedRow]]":
    """The rows that have a page, with their entries: runs of strangers have none, nor models that are several submissions."""
    rows = {row.name: row for row in board.rows if not row.fault and row.samples is None}
    return [(entry, rows[entry.name]) for entry in entries if entry.name in rows and entry.scores is not None and not entry.is_foreign]


def _about(order: SiteOrder) -> list[tuple[str, str]]:
    """(label, text) of what the host laid down."""
    rules, found = order.rules, []
    for phase in rules.phases:
        ends = [f"from {spelled(phase.opens)}"] * bool(phase.opens) + [f"until {spelled(phase.closes)}"] * bool(phase.closes)
        found.append((f"phase {phase.name}".strip(), " ".join(ends) + (", now" if phase.holds(order.now) else "")))
    if rules.per_day is not None:
        found.append(("per day", f"{rules.per_day} new submissions of a team"))
    if rules.hides_half:
        found.append(("hidden", f"a half of the instances is scored at {spelled(rules.phases[-1].closes)}"))
    return found


class _Pages:
    """The pages of submissions in a site and in the private folder, with the receipts beside them."""

    def __init__(self, site: Path, order: SiteOrder) -> None:
        self._site, self._order = site / SUBMISSIONS, order
        self._site.mkdir(exist_ok=True)
        said = read_json(order.private / _MADE)
        self._made: Mapping[str, Any] = said if isinstance(said, dict) else {}
        self._stamp = f"{__version__} {code_stamp()}"
        self._known: dict[str, str] = {}
        self.received: dict[str, str] = {}
        self.n_written = 0

    def add(self, entry: "Entry", row: "RankedRow") -> None:
        """The pages of a submission: written where its run, its name or what may be shown of it is new."""
        assert entry.scores is not None
        slug, run = slug_of(row.name), Path(entry.scores.folder)
        self.received[row.name] = self._order.admission.received(entry.scores.submission_hash)
        feedback = self._order.private / slug
        for folder, stem, level, places in (
            (self._site, slug, self._order.level, [("Board", "../index.html"), ("Receipt", f"{slug}.json")]),
            (feedback, "index", self._order.rules.feedback, [("Receipt", "index.json")]),
        ):
            page, name = folder / f"{stem}.html", f"{folder.name}/{stem}"
            try:
                found = (run / RUN).stat()
            except FileNotFoundError:
                continue
            asked = [
                str(self._order.folder),
                str(run.resolve()),
                found.st_mtime_ns,
                found.st_size,
                level,
                row.name,
                dict(row.metadata),
                self._stamp,
            ]
            asked.append(self.received[row.name])
            key = hashlib.sha256(json.dumps(asked, default=str).encode()).hexdigest()
            if self._made.get(name) != key or not page.exists():
                document = submission_document(entry, row, level, places=places)
                if document is None:
                    continue
                folder.mkdir(mode=0o700 if folder is feedback else 0o777, parents=True, exist_ok=True)
                write_atomically(page, as_html(document))
                write_atomically(folder / f"{stem}.json", json.dumps(self._receipt(run, row), indent=2) + "\n")
                self.n_written += folder is self._site
            self._known[name] = key

    def _receipt(self, run: Path, row: "RankedRow") -> dict[str, Any]:
        """What a submitter keeps: what was handed in, when it was taken, what it was scored under, and the digests of the run."""
        entry = read_run(run)
        said = entry.run if entry is not None else {}
        return {
            "submission": row.name,
            "received": self.received[row.name] or None,
            "submission_hash": said.get("submission", {}).get("hash"),
            "score": said.get("summary", {}).get("score"),
            "n_instances": said.get("summary", {}).get("n_gold"),
            "signature": said.get("signature"),
            "root": said.get("root"),
            "seal": seal_of((run / RUN).read_bytes()),
            "signed": read_json(run / SIGNATURE),
        }

    def drop_others(self) -> None:
        """Take away the pages of those who are not on the board any more."""
        for page in self._site.iterdir():
            if f"{SUBMISSIONS}/{page.stem}" not in self._known:
                page.unlink()

    def remember(self) -> None:
        """Note what each page was made of; where that is lost they are written anew."""
        file = self._order.private / _MADE
        try:
            write_atomically(file, json.dumps(self._known, indent=1) + "\n")
        except OSError as error:
            raise cannot_write(file, error) from error


def _list_of_days(site: Path, today: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What is told of each day of the archive, oldest first; kept in one file, so that no board of before is read again."""
    file = site / ARCHIVE / "index.json"
    said = read_json(file)
    known: dict[str, Mapping[str, Any]] = (
        {str(day.get("day")): day for day in said if isinstance(day, dict)} if isinstance(said, list) else {}
    )
    known[str(today["day"])] = today
    days: list[Mapping[str, Any]] = []
    for name in days_of(site):
        day = known.get(name)
        if day is None or not isinstance(day.get("news"), list):
            board = read_json(site / ARCHIVE / f"{name}.json") or {}
            day = {"day": name, "n": len(board.get("rows", ())), "news": board.get("site", {}).get("news", [])}
        days.append(day)
    write_atomically(file, json.dumps(days, ensure_ascii=False, indent=1) + "\n")
    return days
