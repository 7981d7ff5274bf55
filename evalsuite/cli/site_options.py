"""The options by which `evalsuite leaderboard` publishes a board as a site."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.errors import UsageError

if TYPE_CHECKING:
    from evalsuite.site import SiteOrder


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """Where a board is published, and by which rules."""

    site: Annotated[Path | None, typer.Option(help="also build a site of static pages in this folder", metavar="DIR")] = None
    since: Annotated[
        str | None,
        typer.Option(
            help="show who moved since this day, last, a board.json or a site [default: last]", metavar="LAST", show_default=False
        ),
    ] = None
    board: Annotated[
        Path | None,
        typer.Option(help="phases, quotas and what is hidden [default: board.yaml in the gold folder, else here]", metavar="FILE.yaml"),
    ] = None
    private: Annotated[
        Path | None,
        typer.Option(help="where you keep what is not published: feedback, when what was taken [default: DIR.private]", metavar="DIR"),
    ] = None
    reveal: Annotated[
        str | None,
        typer.Option(
            "--reveal",
            metavar="none|status|class|shape|cells",
            help="how much of gold the site's pages show [default: board.yaml's, else none]",
        ),
    ] = None

    def check(self) -> None:
        """Raise `UsageError` for options that have no meaning together."""
        given = {"--since": self.since, "--board": self.board, "--private": self.private, "--reveal": self.reveal}
        if self.site is None and (named := [name for name, value in given.items() if value is not None]):
            raise UsageError(f"{named[0]} is said of a site", hint="add --site DIR")
        if self.site is not None and self.private_folder.is_relative_to(self.site.resolve()):
            raise UsageError("the private folder lies in the site", hint="name another by --private: what lies in the site is published")

    @property
    def private_folder(self) -> Path:
        """What the host keeps to itself."""
        assert self.site is not None
        site = self.site.resolve()
        return (self.private or site.with_name(f"{site.name}.private")).resolve()

    def order(self, gold: Path, teams: Mapping[str, str]) -> "SiteOrder":
        """What is to be built now, all of it checked. Raises `UsageError` and `GoldError`."""
        from evalsuite.board.admission import Admission
        from evalsuite.board.board_yaml import BOARD_FILE, BoardRules, read_board_rules
        from evalsuite.site import SiteOrder, board_before, check_site
        from evalsuite.site.building import RECEIVED

        assert self.site is not None
        folder, now = self.site.resolve(), _now()
        check_site(folder)
        beside = [place / BOARD_FILE for place in (gold if gold.is_dir() else gold.parent, Path())]
        file = self.board or next((place for place in beside if place.is_file()), None)
        rules = read_board_rules(file) if file is not None else BoardRules()
        return SiteOrder(
            folder=folder,
            private=self.private_folder,
            rules=rules,
            level=self.reveal or rules.reveal,
            now=now,
            before=board_before(folder, self.since, now.strftime("%Y-%m-%d")),
            admission=Admission(rules, self.private_folder / RECEIVED, now, teams=teams),
        )


def _now() -> datetime:
    """The moment that a site is of: SOURCE_DATE_EPOCH, by which builds are repeated, or now."""
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(said), UTC) if said.isdecimal() else datetime.now(UTC)
