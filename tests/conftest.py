"""Shared fixtures: the recorded cases and the project's own folders."""

import compileall
import contextlib
import gc
import importlib
import io
import json
import os
import shutil
import signal
import sys
import time
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.runtime import collect_rarely
from evalsuite.sandbox.fork_server import ForkServer, fork_server_for, share
from tests.command_server import close_command_server, forked_fork_servers
from tests.properties import is_full, load_profile, read_constants

ROOT = Path(__file__).resolve().parent.parent
BEGIN = time.monotonic()
# Threads of several test processes that wait for each other take more time than they save. What tests start decides for itself.
with pytest.MonkeyPatch.context() as one_thread:
    one_thread.setenv("OPENBLAS_NUM_THREADS", "1")
    importlib.import_module("numpy")
DEFAULT_CONFORMANCE = ROOT.parent / "shared" / "conformance"
# As after `activate`: commands that are proposed to a user begin with `evalsuite`.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


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


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--part 2/7`: the second of seven parts of the tests, of about equal numbers; all parts together are all tests."""
    parser.addoption("--part", metavar="I/N", help="run only part I of N parts of the tests")
    parser.addoption("--begin-within", metavar="SECONDS", type=float, help="skip the tests that have not begun by then")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package once where Python keeps no bytecode: else every command that a test starts would do so again.

    And look for garbage as seldom as a command does: what some thousand tests leave behind is large.
    """
    load_profile(full=_is_slow(config))
    collect_rarely()
    if sys.dont_write_bytecode and not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "evalsuite", quiet=2)


def pytest_sessionfinish() -> None:
    """End what the tests of this process shared."""
    close_command_server()


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder that `make` fills, once for all processes of a parallel test run; tests must not change it."""
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


def copy_of(make: Callable[[Path], object]) -> Any:
    """A fixture: a copy, as the working folder of a test, of the folder that `make` fills once for all tests of a file."""
    made: list[Path] = []

    def place(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        if not made:
            folder = tmp_path_factory.mktemp("made")
            with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
                make(folder)
            made.append(folder)
        shutil.copytree(made[0], tmp_path, symlinks=True, dirs_exist_ok=True)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return pytest.fixture(place)


def copy_example(folder: Path, ids: Collection[str]) -> None:
    """Copy the example's gold and answers of these instances to `gold` and `example_submission_folder` in a folder."""
    for name, list_ in (("gold", "demo_eval.jsonl"), ("example_submission_folder", "results_metadata.jsonl")):
        (folder / name).mkdir()
        for path in (ROOT / name).iterdir():
            if path.is_file():
                shutil.copy(path, folder / name)
            elif path.name in ids:
                shutil.copytree(path, folder / name / path.name)
        lines = (ROOT / name / list_).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / name / list_).write_text("".join(line for line in lines if json.loads(line)["instance_id"] in ids), encoding="utf-8")


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(submission, gold) of the example, not to be changed: in the test line one or two instances of each kind, else all."""
    if is_full():
        return ROOT / "example_submission_folder", ROOT / "gold"
    some = {"sales_001", "sales_003", "sales_004", "sales_005", "sales_010", "hr_007", "ops_001", "ops_007", "geo_005", "fin_004"}
    folder = made_once(tmp_path_factory, "some_of_the_example", lambda place: copy_example(place, some))
    return folder / "example_submission_folder", folder / "gold"


def _is_whole(config: pytest.Config) -> bool:
    """Whether a parallel run was given no files or folders: the whole line, or the whole of a marker."""
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS


# These use `tests.meta.nodes_of`.
PARSING = tuple(f"tests/meta/test_{name}." for name in ("style", "packages", "readers", "hints", "foreign_code"))
# These take longest; begun last they would run alone.
LONG = ("attacks/test_corpus", "meta/test_style", "runs/workers/", "terminal/", "runs/", "attacks/", "cli/", "analysis/", "conformance/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A whole run gives each file to one process, so that what its tests share is made once; the long ones first."""
    if not _is_whole(config) or config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        """The tests that look into the package's modules go to one process, which parses them once."""

        def _split_scope(self, nodeid: str) -> str:
            scope = str(super()._split_scope(nodeid))
            return PARSING[0] if scope.startswith(PARSING) else scope

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Each process of a parallel run compiles its share of the test files first, and then finds what the others compiled.

    So it does with the package's constants. What is there after the collection stays to the end, and is not searched for garbage.
    """
    asked, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    gc.disable()
    if "PYTEST_XDIST_WORKER" in os.environ and _is_whole(session.config):
        at, n = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        for path in sorted((ROOT / "tests").rglob("test_*.py"))[at::n]:
            # What fails here, or skips, does so again when it is collected, and is reported then.
            with contextlib.suppress(Exception, pytest.skip.Exception):
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        read_constants(sorted((ROOT / "evalsuite").rglob("*.py"))[at::n])
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = asked
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def session_fork_server() -> Iterator[ForkServer | None]:
    """One fork server for the whole test process; only its own start is a quick one."""
    with contextlib.ExitStack() as stack:
        with forked_fork_servers():
            server = stack.enter_context(fork_server_for())
        yield server


@pytest.fixture
def shared_fork_server(session_fork_server: ForkServer | None) -> Iterator[None]:
    """Runs of the test fork their workers from one server. For tests that test neither the start nor the end of workers."""
    with share(session_fork_server), forked_fork_servers():
        yield


@pytest.fixture
def quick_fork_servers() -> Iterator[None]:
    """Each run of the test has fork servers of its own, forked from a process that has imported what workers need."""
    with forked_fork_servers():
        yield


@pytest.fixture(scope="module", autouse=True)
def no_plugins_of_other_files() -> Iterator[None]:
    """What a file of tests adds to the scorers of this process ends with it."""
    yield
    if (scorers := sys.modules.get("evalsuite.scorers")) is not None:
        scorers.SCORERS.begin_call()


@pytest.fixture(scope="session", autouse=True)
def no_cache_in_the_checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the cache of commands that tests call in the checkout in a folder of the session; elsewhere it is where a user's is."""
    from evalsuite.cli.options import Scoring

    folder, usual = tmp_path_factory.mktemp("cache"), Scoring.cache
    with pytest.MonkeyPatch.context() as patch:
        in_checkout = property(lambda how: folder if not how.no_cache and Path().samefile(ROOT) else usual.fget(how))  # type: ignore[misc]
        patch.setattr(Scoring, "cache", in_checkout)
        yield


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


# What these fixtures and parameters name is installed by the extra `test-all` alone.
NEEDS_EXTRAS = {"browser", "chromium", "cluster", "postgres", "snowflake", "stub"}
WAREHOUSES = {"bigquery", "postgres", "snowflake"}
METRICS = {"specificity", "specificity_wordfreq"}


def _needs_extras(item: pytest.Item) -> bool:
    """Whether a test asks for a fixture of `NEEDS_EXTRAS`, for a database of `WAREHOUSES`, or for a metric of `METRICS`."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    names = {value for value in parameters.values() if isinstance(value, str)}
    return (
        not NEEDS_EXTRAS.isdisjoint(getattr(item, "fixturenames", ()))
        or parameters.get("made") in tuple(WAREHOUSES)
        or not METRICS.isdisjoint(names)
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the markers that the test line does not run, unless `-m` names them; `-m slow` runs every property in full as well."""
    expression = config.getoption("-m")
    for item in items:
        if _needs_extras(item):
            item.add_marker("extras")
        # The corpus of attacks is run under both rules and with its full limits there.
        if _is_slow(config) and (hasattr(getattr(item, "obj", None), "hypothesis") or "corpus" in getattr(item, "fixturenames", ())):
            item.add_marker("slow")
    left_out = {name for name in ("slow", "upstream", "extras", "benchmark") if name not in expression}
    part, n_parts = map(int, (config.getoption("--part") or "1/1").split("/"))
    chosen, others = [], []
    for item in items:
        is_chosen = is_in_part(item.nodeid, part, n_parts) and left_out.isdisjoint(mark.name for mark in item.iter_markers())
        (chosen if is_chosen else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = sorted(chosen, key=_turn)


def _turn(item: pytest.Item) -> int:
    """The place of a test's file in `LONG`; that of all others is behind them."""
    name = item.nodeid.removeprefix("tests/")
    return next((at for at, begin in enumerate(LONG) if name.startswith(begin)), len(LONG))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no test after the seconds of `--begin-within`: the summary says how many had no time."""
    if (seconds := item.config.getoption("--begin-within")) and time.monotonic() - BEGIN > seconds:
        pytest.skip("no time was left")


def is_in_part(name: str, part: int, n_parts: int) -> bool:
    """Whether a test belongs to part `part` (from 1) of `n_parts`, decided by its name alone."""
    return zlib.crc32(name.encode()) % n_parts == part - 1


def _is_slow(config: pytest.Config) -> bool:
    """Whether `-m` asks for the slow tests."""
    expression = config.getoption("-m")
    return "slow" in expression and "not slow" not in expression
