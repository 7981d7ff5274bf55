"""One project and one viewer for all tests of this folder that only read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reports.viewer.served import make_project, viewer

pytest.importorskip("starlette", reason="the viewer's packages are not installed (extra: view)")


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's folder."""
    return make_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="session")
def address(project: Path) -> Iterator[str]:
    """The address of the viewer over the project."""
    with viewer(project) as found:
        yield found
