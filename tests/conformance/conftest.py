"""The recorded submissions are scored once for all processes of a test run."""

from collections.abc import Iterator

import pytest

from evalsuite.sandbox.fork_server import ForkServer, share
from tests.conformance import recorded
from tests.conftest import made_once
from tests.properties import is_full


def pytest_itemcollected(item: pytest.Item) -> None:
    """What the line replays in part is whole under `slow`."""
    if is_full():
        item.add_marker("slow")


@pytest.fixture(scope="session", autouse=True)
def scored_once(tmp_path_factory: pytest.TempPathFactory, session_fork_server: ForkServer | None) -> Iterator[None]:
    """Lets `recorded.scored` keep its runs in a folder of this test run."""

    def kept(name: str) -> bytes:
        with share(session_fork_server):
            place = made_once(tmp_path_factory, f"scored-{name}", lambda folder: recorded.keep(name, folder / "run"))
        return (place / "run").read_bytes()

    recorded.kept = kept
    yield
    recorded.kept = None
