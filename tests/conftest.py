"""Shared fixtures: the recorded cases where they stand, and the project's own folders."""

import compileall
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from evalsuite.garbage import look_seldom
from evalsuite.workers.start import Zygote, forking

# The folders of tests whose subject is neither the start of processes nor their end.
SHARING = (
    "audit",
    "board",
    "cli",
    "conformance",
    "explain",
    "gold",
    "judge",
    "metrics",
    "reports",
    "scorers",
    "site",
    "store",
    "suites",
    "trees",
    "web",
)
ROOT = Path(__file__).resolve().parent.parent
DEFAULT_CONFORMANCE = ROOT.parent / "shared" / "conformance"


def conformance_folder() -> Path:
    """The folder of recorded cases: EVALSUITE_CONFORMANCE, by default ../shared/conformance."""
    return Path(os.environ.get("EVALSUITE_CONFORMANCE", DEFAULT_CONFORMANCE))


def corpus(name: str) -> Path:
    """The folder of one corpus of recorded cases; skips the calling test where it is absent."""
    folder = conformance_folder() / name
    if not folder.is_dir():
        pytest.skip(f"no recorded cases {name!r} in {conformance_folder()} (set EVALSUITE_CONFORMANCE)")
    return folder


def is_default_corpus() -> bool:
    """Whether fixed totals may be asserted: only on the folder that this project was shown."""
    return conformance_folder().resolve() == DEFAULT_CONFORMANCE.resolve()


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package once where Python keeps no bytecode: else every command that a test starts would do so again.

    And look for garbage as seldom as a command does: what some thousand tests leave behind is large.
    """
    look_seldom()
    if sys.dont_write_bytecode and not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "evalsuite", quiet=2)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder that `make` was told to fill, once for all processes of a parallel test run; nobody may change it."""
    import fcntl

    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    place, done = shared / name, shared / f"{name}.done"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            # What a process left that failed on the way.
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            make(place)
            done.touch()
    return place


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote | None]:
    """What workers are forked from, started once."""
    with forking() as found:
        yield found


@pytest.fixture(autouse=True)
def one_zygote(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process fork their workers from one zygote, so that none starts an interpreter; not where the start is the subject."""
    if request.path.parent.name not in SHARING:
        return
    zygote = request.getfixturevalue("zygote")
    for module in ("evalsuite.run.scoring", "evalsuite.run.handed_in", "evalsuite.run.unpacked", "evalsuite.audit.readiness"):
        monkeypatch.setattr(f"{module}.forking", lambda *_: nullcontext(zygote))


@pytest.fixture(scope="session", autouse=True)
def children_hear_signals() -> Iterator[None]:
    """What the caller ignores (SIGINT of a background job, SIGHUP under nohup) is ignored by the tests, not by what they start.

    An ignored signal stays ignored in a child, one that is caught does not.
    """
    ignored = [stop for stop in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT) if signal.getsignal(stop) == signal.SIG_IGN]
    for stop in ignored:
        signal.signal(stop, lambda *_: None)
    yield
    for stop in ignored:
        signal.signal(stop, signal.SIG_IGN)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave longer versions (marker `slow`) and live references (`upstream`) out of the test line: they run only where `-m` names them."""
    left_out = [
        item
        for item in items
        for marker in ("slow", "upstream")
        if marker not in config.getoption("-m") and item.get_closest_marker(marker)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
