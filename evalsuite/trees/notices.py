"""Remarks that are no errors: each has a kind, a path and a sentence; by default they go to the log."""

import logging
from collections.abc import Callable
from typing import NamedTuple

LOG = logging.getLogger(__name__)


class Notice(NamedTuple):
    """A remark on a schema or on gold; `kind` is a stable word, `path` the place."""

    kind: str
    path: str
    message: str


Notify = Callable[[Notice], None]


def log_notice(notice: Notice) -> None:
    """Write a notice to the log of this room."""
    LOG.warning("%s: %s", notice.path or "<root>", notice.message)
