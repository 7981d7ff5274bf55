"""A leaderboard as a folder of static pages, built again and again: board, archive, a page a submission, news as RSS, JSON."""

from evalsuite.site.building import Built, SiteOrder, build_site
from evalsuite.site.movement import board_before
from evalsuite.site.publishing import check_site

__all__ = ["Built", "SiteOrder", "board_before", "build_site", "check_site"]
