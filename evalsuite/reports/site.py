"""Write a leaderboard as a folder of static pages: board, archive, a page per submission, an RSS 2.0 feed, JSON.

Only pages of new runs or a new reveal level are written; the others are reused. The folder is replaced as a whole: readers see the old or
the new one, and a killed build leaves the old one.
"""

import ctypes
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from evalsuite.analysis.leaderboard.ranking import Admission, BoardRules, Leaderboard, RankedRow, format_moment
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.disk_cache import code_stamp
from evalsuite.core.errors import UsageError, count_words, reason_of, write_error
from evalsuite.core.files import exists, is_dir, is_file, is_symlink
from evalsuite.core.version import __version__
from evalsuite.reports.document import Column, Document, Section, Table, percent
from evalsuite.reports.html import as_html
from evalsuite.reports.leaderboard_documents import leaderboard_document
from evalsuite.reports.record import record_of_entry, redact_record
from evalsuite.reports.run_document import run_document
from evalsuite.runs.history import read_run
from evalsuite.runs.leaderboard_entries import Entry
from evalsuite.runs.run_files import escape_invisible, json_safe, read_json, seal_of, sync_folder, write_atomically
from evalsuite.runs.run_folder import RUN, SIGNATURE
from evalsuite.runs.summary import score_or_mean
from evalsuite.sandbox.temp_dirs import lock

ARCHIVE: Final = "archive"
BOARD: Final = "board.json"
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
# Most news items.
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The previous board: its day (or other name) and the rank of each submission, None for unranked ones."""

    day: str
    ranks: Mapping[str, int | None] = field(default_factory=dict)

    def places_up(self, row: "RankedRow") -> int | None:
        """Return how many ranks a row rose, below 0 if it fell; None without two ranks."""
        was = self.ranks.get(row.name)
        return None if was is None or row.rank is None else was - row.rank

    def is_new(self, row: "RankedRow") -> bool:
        """Return whether a ranked row is not in the previous board."""
        return row.rank is not None and row.name not in self.ranks

    def words(self, row: "RankedRow") -> str:
        """`▲ 2`, `▼ 1`, `=`, `new`, or a dash."""
        up = self.places_up(row)
        if up is None:
            return "new" if self.is_new(row) else "-"
        return f"▲ {up}" if up > 0 else f"▼ {-up}" if up else "="


def days_of(site: Path) -> list[str]:
    """Return the days of a site's archive, oldest first."""
    folder = site / ARCHIVE
    return sorted(file.stem for file in folder.glob("*.json") if _DAY.fullmatch(file.stem)) if is_dir(folder) else []


def find_previous_board(site: Path, since: str | None, today: str) -> Before | None:
    """Return the previous board: of the newest day up to `since`, of a file or site, or of the last day before today (None, `last`).

    None if the site is built for the first time. Raises `UsageError` if `since` is neither a board nor a day.
    """
    days = days_of(site)
    if since in (None, "last"):
        earlier = [day for day in days if day < today]
        return _read(site / ARCHIVE / f"{earlier[-1]}.json", earlier[-1]) if earlier else None
    assert since is not None
    if _DAY.fullmatch(since):
        if earlier := [day for day in days if day <= since]:
            return _read(site / ARCHIVE / f"{earlier[-1]}.json", earlier[-1])
        raise UsageError(f"--since {since}: {site} has no board of that day or before", hint=f"it has {count_words(len(days), 'board')}"
                         + (f" from {days[0]} on" if days else ""))  # fmt: skip
    place = Path(since)
    file = place / BOARD if is_dir(place) else place
    if not is_file(file):
        raise UsageError(f"--since {since}: no day, no board and no site", hint="write 2026-11-21, last, or name a board.json")
    return _read(file, "")


def _read(file: Path, day: str) -> Before:
    board = read_json(file)
    rows = board.get("rows") if isinstance(board, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows):
        raise UsageError(f"{file}: no board that `evalsuite leaderboard` wrote as JSON", hint="leave --since out, or name another")
    ranks = {row["name"]: rank if isinstance(rank := row.get("rank"), int) else None for row in rows}
    about = board.get("site")
    return Before(day=day or str(about.get("day", "before") if isinstance(about, dict) else "before"), ranks=ranks)


def news(board: "Leaderboard", before: Before | None) -> list[str]:
    """Return the news of a board as sentences: the leader, new submissions, the largest rank changes."""
    ranked = [row for row in board.rows if row.rank is not None]
    if not ranked:
        return ["No submission is ranked."]
    score = ranked[0].score or 0.0
    leaders = [row.name for row in ranked if row.rank == 1]
    lead = f"{_name_rows(leaders)} lead{'s' * (len(leaders) == 1)} with {f'{score:.4g}' if board.is_raw else percent(score)}."
    if before is None:
        return [lead, f"{count_words(len(ranked), 'submission')} ranked."]
    new = [row.name for row in ranked if before.is_new(row)]
    moves = sorted(((up, row.name) for row in ranked if (up := before.places_up(row))), key=lambda move: (-abs(move[0]), move[1]))
    risen, fallen = ([f"{name} by {abs(up)}" for up, name in moves if (up > 0) is rose] for rose in (True, False))
    return [lead, *(f"{words}: {_name_rows(names)}." for words, names in (("New", new), ("Up", risen), ("Down", fallen)) if names)]


def _name_rows(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def moves_of(board: "Leaderboard", before: Before | None) -> dict[str, dict[str, Any]]:
    """Map each submission to its previous rank, its rank change, and whether it is new; empty without a previous board."""
    if before is None:
        return {}
    return {
        row.name: {"was_rank": before.ranks.get(row.name), "places_up": before.places_up(row), "is_new": before.is_new(row)}
        for row in board.rows
    }


# All files of a new version are made durable together, before it takes its place.
_write = partial(write_atomically, sync=False)
_AT_HERE, _EXCHANGE = -100, 2
_INDEX: Final = "index.html"


def check_site(folder: Path) -> None:
    """Raise `UsageError` if a folder (absolute, without links) contains anything other than a site."""
    if (exists(folder) and not is_dir(folder)) or Path.cwd().is_relative_to(folder):
        raise UsageError(f"{folder} cannot be a site", hint="a site is a folder of its own, below or next to the current one")
    if exists(folder / _INDEX) and not exists(folder / BOARD):
        raise UsageError(f"{folder} contains pages that evalsuite did not write", hint="name a folder of its own for the site")


@contextmanager
def new_version(folder: Path) -> Iterator[Path]:
    """Yield a copy of the folder that replaces it if the block succeeds.

    Files are hard-linked until they are replaced by `write_atomically`, never written in place. Raises what `check_site` raises, and
    `OutputError` if it cannot be written.
    """
    new, old = (folder.with_name(f".{folder.name}.{what}") for what in ("new", "old"))
    check_site(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Left by a killed build.
        if exists(old) and not exists(folder):
            old.rename(folder)
        for remnant in (new, old):
            shutil.rmtree(remnant, ignore_errors=True)
        if exists(folder):
            shutil.copytree(folder, new, symlinks=True, copy_function=_share)
        else:
            new.mkdir()
        yield new
        _sync_tree(new)
        if exists(folder):
            _exchange(new, folder, old)
        else:
            new.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise write_error(folder, error) from error
    finally:
        for remnant in (new, old):
            shutil.rmtree(remnant, ignore_errors=True)


@contextmanager
def build_lock(folder: Path) -> Iterator[None]:
    """Lock the private folder for one build at a time. Raises `UsageError` if another build uses it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise write_error(folder, error) from error
    try:
        try:
            lock(held)
        except BlockingIOError:
            raise UsageError(f"another build uses {folder}", hint="wait until it ends") from None
        except OSError as error:
            raise UsageError(f"{folder} cannot be locked: {reason_of(error)}", hint="name a local folder by --private") from None
        yield
    finally:
        os.close(held)


def _sync_tree(folder: Path) -> None:
    """Make what is new in a folder survive a power cut; files of the version before, which are linked, do already."""
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            if not is_symlink(path) and path.stat().st_nlink == 1:
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        sync_folder(Path(place))


def _share(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        # The file system has no links.
        shutil.copy2(source, target)


def _exchange(new: Path, folder: Path, old: Path) -> None:
    """Replace the existing folder by the new one: atomically if the system supports it, else in two steps."""
    with suppress(OSError, AttributeError):
        if sys.platform == "linux":
            rename = ctypes.CDLL(None, use_errno=True).renameat2
            if rename(_AT_HERE, os.fsencode(new), _AT_HERE, os.fsencode(folder), _EXCHANGE) == 0:
                return
    folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        old.rename(folder)
        raise


MOST_ITEMS = 30


def feed_text(title: str, days: Sequence[Mapping[str, Any]], *, url: str) -> str:
    """Return the feed of the newest of these days (in archive order, oldest first); without `url` its links are relative."""
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    for name, text in (("title", title), ("link", f"{url}index.html"), ("description", f"{title}: who leads, who is new, who moved")):
        ElementTree.SubElement(channel, name).text = clean(text)
    for day in reversed(days[-MOST_ITEMS:]):
        item = ElementTree.SubElement(channel, "item")
        lines = [clean(str(line)) for line in day["news"]]
        ElementTree.SubElement(item, "title").text = f"{day['day']}: {lines[0] if lines else clean(title)}"
        ElementTree.SubElement(item, "link").text = f"{url}archive/{day['day']}.html"
        # Feed readers interpret the description as HTML.
        ElementTree.SubElement(item, "description").text = " ".join(escape(line) for line in lines)
        ElementTree.SubElement(item, "guid", isPermaLink="false").text = clean(f"{title} {day['day']}")
        noon = datetime.strptime(f"{day['day']} 12", "%Y-%m-%d %H").replace(tzinfo=UTC)
        ElementTree.SubElement(item, "pubDate").text = format_datetime(noon)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


_LONGEST_SLUG = 40


def slug_of(name: str) -> str:
    """Return the name of a page: letters, digits and hyphens of the submission's name, and a digest that makes it unique."""
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
    """Build the board of a day; in the archive it has no links, because the pages of submissions show today's state."""
    move_columns: list[Column[RankedRow]] = []
    if before is not None:
        move_columns = [Column(name=f"since {before.day}", words=before.words, forms=frozenset({"html"}))]
    facts = [("day", day), *about]
    document = leaderboard_document(board, title=title, about=facts, more=move_columns, link=None if is_archived else link)
    root = "../" if is_archived else ""
    places = [("Board", f"{root}index.html"), ("Archive", f"{root}archive/index.html"), ("JSON", f"{day if is_archived else 'board'}.json")]
    return replace(document, links=[*places, ("RSS", f"{root}feed.xml")], feed=f"{root}feed.xml")


def archive_document(days: Sequence[Mapping[str, Any]], *, title: str) -> Document:
    """Build a table with one row per archived day, the newest first."""
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
    """Build the report of a submission's run with the board's name and metadata; None if the run is gone.

    Neither gold nor the submission is opened, so evidence of wrong answers is left out.
    """
    assert entry.scores is not None
    run = read_run(Path(entry.scores.folder))
    if run is None:
        return None
    record = record_of_entry(run)
    public = {**run.run, "submission": {**run.run["submission"], "folder": row.name}, "metadata": dict(row.metadata)}
    record = replace(record, name=row.name, run=public, tags=())
    return replace(run_document(redact_record(record, level)), links=places)


SUBMISSIONS: Final = "submissions"
# Private data of the host: submission times, and the inputs of each page.
RECEIVED, _MADE = "received.json", "pages.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOrder:
    """Inputs of a site: the public `folder`, the `private` one, board rules, reveal `level`, time, and the previous board.

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
    """Result of a build: the number of submission pages, and of those written now."""

    n_pages: int
    n_written: int


def build_site(board: "Leaderboard", entries: "Sequence[Entry]", order: SiteOrder) -> Built:
    """Build the site of a board. Raises `UsageError` for an unusable folder, `OutputError` for a failed write."""
    day, title = order.now.strftime("%Y-%m-%d"), order.rules.title or board.suite
    before = order.before
    runs = [] if board.anonymous else _add_runs(board, entries)
    with new_version(order.folder) as site:
        pages = _Pages(site, order)
        for entry, row in runs:
            pages.add(entry, row)
        pages.delete_old_pages()
        link = {row.name: f"{SUBMISSIONS}/{slug_of(row.name)}.html" for _, row in runs}
        about = _describe_board(order)
        today = {"title": title, "day": day, "news": news(board, before)}
        rows = {
            name: {**move, "page": link.get(name), "received": pages.received.get(name)}
            for name, move in {**{row.name: {} for row in board.rows}, **moves_of(board, before)}.items()
        }
        since = before.day if before is not None else None
        whole = {**board.to_json(), "site": {**today, "made": order.now.isoformat(), "since": since, "rows": rows}}
        text = escape_invisible(json.dumps(whole, ensure_ascii=False, default=json_safe)) + "\n"
        (site / ARCHIVE).mkdir(exist_ok=True)
        for is_archived, name in ((False, "index"), (True, f"{ARCHIVE}/{day}")):
            how: dict[str, Any] = {"title": title, "day": day, "about": about, "link": lambda row: link.get(row.name, "")}
            _write(site / f"{name}.html", as_html(board_document(board, before, is_archived=is_archived, **how)))
            _write(site / (f"{name}.json" if is_archived else BOARD), text)
        days = _list_of_days(site, {"day": day, "n": len(board.rows), "news": today["news"]})
        _write(site / ARCHIVE / "index.html", as_html(archive_document(days, title=title)))
        _write(site / "feed.xml", feed_text(title, days, url=order.rules.url and order.rules.url.rstrip("/") + "/"))
    pages.remember()
    return Built(n_pages=len(runs), n_written=pages.n_written)


def _add_runs(board: "Leaderboard", entries: "Sequence[Entry]") -> "list[tuple[Entry, RankedRow]]":
    """Return the rows with a page and their entries; runs of others and models with several submissions have none."""
    rows = {row.name: row for row in board.rows if not row.fault and row.samples is None}
    return [(entry, rows[entry.name]) for entry in entries if entry.name in rows and entry.scores is not None and not entry.is_foreign]


def _describe_board(order: SiteOrder) -> list[tuple[str, str]]:
    """Yield (label, text) of the board's rules."""
    rules, facts = order.rules, []
    for phase in rules.phases:
        ends = [f"from {format_moment(phase.opens)}"] * bool(phase.opens) + [f"until {format_moment(phase.closes)}"] * bool(phase.closes)
        facts.append((f"phase {phase.name}".strip(), " ".join(ends) + (", now" if phase.contains(order.now) else "")))
    if rules.per_day is not None:
        facts.append(("per day", f"{rules.per_day} new submissions of a team"))
    if rules.hides_half:
        facts.append(("hidden", f"a half of the instances is scored at {format_moment(rules.phases[-1].closes)}"))
    return facts


class _Pages:
    """Submission pages of a site and of the private folder, with their receipts."""

    def __init__(self, site: Path, order: SiteOrder) -> None:
        self._site, self._order = site / SUBMISSIONS, order
        self._site.mkdir(exist_ok=True)
        saved = read_json(order.private / _MADE)
        self._made: Mapping[str, Any] = saved if isinstance(saved, dict) else {}
        self._stamp = f"{__version__} {code_stamp()}"
        self._known: dict[str, str] = {}
        self.received: dict[str, str] = {}
        self.n_written = 0

    def add(self, entry: "Entry", row: "RankedRow") -> None:
        """Write the pages of a submission if its run, name or reveal level is new."""
        assert entry.scores is not None
        slug, run = slug_of(row.name), Path(entry.scores.folder)
        self.received[row.name] = self._order.admission.time_received(entry.scores.submission_hash)
        feedback = self._order.private / slug
        for folder, stem, level, places in (
            (self._site, slug, self._order.level, [("Board", "../index.html"), ("Receipt", f"{slug}.json")]),
            (feedback, "index", self._order.rules.feedback, [("Receipt", "index.json")]),
        ):
            page, name = folder / f"{stem}.html", f"{folder.name}/{stem}"
            try:
                state = (run / RUN).stat()
            except FileNotFoundError:
                continue
            inputs = [
                str(self._order.folder),
                str(run.resolve()),
                state.st_mtime_ns,
                state.st_size,
                level,
                row.name,
                dict(row.metadata),
                self._stamp,
            ]
            inputs.append(self.received[row.name])
            key = hashlib.sha256(json.dumps(inputs, default=str).encode()).hexdigest()
            if self._made.get(name) != key or not exists(page):
                document = submission_document(entry, row, level, places=places)
                if document is None:
                    continue
                folder.mkdir(mode=0o700 if folder is feedback else 0o777, parents=True, exist_ok=True)
                _write(page, as_html(document))
                _write(folder / f"{stem}.json", json.dumps(self._receipt(run, row), indent=2) + "\n")
                self.n_written += folder is self._site
            self._known[name] = key

    def _receipt(self, run: Path, row: "RankedRow") -> dict[str, Any]:
        """Return a submitter's receipt: the submission, its time, the scoring signature, and the digests of the run."""
        entry = read_run(run)
        saved = entry.run if entry is not None else {}
        submission, summary = saved.get("submission", {}), saved.get("summary", {})
        counts = [submission.get("n_objects"), summary.get("n_submitted")]
        return {
            "submission": row.name,
            "received": self.received[row.name] or None,
            "submission_hash": submission.get("hash"),
            # Entries to no scored instance: if there are none, the hash is over all files of the submission.
            "n_other": counts[0] - counts[1] if None not in counts else None,
            "score": score_or_mean(summary),
            "n_instances": summary.get("n_gold"),
            "signature": saved.get("signature"),
            "root": saved.get("root"),
            "seal": seal_of((run / RUN).read_bytes()),
            "signed": read_json(run / SIGNATURE),
        }

    def delete_old_pages(self) -> None:
        """Delete the pages of submissions that left the board."""
        for page in self._site.iterdir():
            if f"{SUBMISSIONS}/{page.stem}" not in self._known:
                page.unlink()

    def remember(self) -> None:
        """Save the inputs of each page; if this file is lost, all pages are written again."""
        file = self._order.private / _MADE
        try:
            write_atomically(file, json.dumps(self._known, indent=1) + "\n")
        except OSError as error:
            raise write_error(file, error) from error


def _list_of_days(site: Path, today: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the news of each archived day, oldest first, cached in one file so that old boards are not read again."""
    file = site / ARCHIVE / "index.json"
    cached = read_json(file)
    days_listed: dict[str, Mapping[str, Any]] = (
        {str(day.get("day")): day for day in cached if isinstance(day, dict)} if isinstance(cached, list) else {}
    )
    days_listed[str(today["day"])] = today
    days: list[Mapping[str, Any]] = []
    for name in days_of(site):
        day = days_listed.get(name)
        if day is None or not isinstance(day.get("news"), list):
            board = read_json(site / ARCHIVE / f"{name}.json") or {}
            day = {"day": name, "n": len(board.get("rows", ())), "news": board.get("site", {}).get("news", [])}
        days.append(day)
    write_atomically(file, escape_invisible(json.dumps(days, ensure_ascii=False, indent=1)) + "\n")
    return days
