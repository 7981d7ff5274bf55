"""The Python process and its installation: garbage collection, freed memory, missing packages, and the commands that install them.

Rows, tasks and results are many objects without reference cycles. By default Python searches them for cycles after every 700 new objects,
which takes a twentieth of the time of reading tables and a third of the time of scoring small records.
"""

import gc
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Final

from evalsuite.core.files import is_file
from evalsuite.core.import_ref import LazyModule

shlex = LazyModule("shlex")
# Number of new objects after which Python searches for cycles.
_THRESHOLD = 100_000
# An option of glibc's mallopt, and the size in bytes from which malloc maps a block separately.
_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 1 << 19


def collect_rarely() -> None:
    """Collect garbage rarely, for a process in which most objects either live to its end or contain no cycles."""
    gc.set_threshold(_THRESHOLD)


def load_msgspec() -> None:
    """Import msgspec without `typing_extensions`, which takes twice as long as the start of Python and is needed before Python 3.11 only.

    `uuid`, which it imports, needs of `platform` the system's name only; that module would compile nine expressions. With other threads
    running, which may import one of them meanwhile, msgspec is left to its first use.
    """
    if threading.active_count() > 1 or {"msgspec", "typing_extensions", "platform", "uuid"} & sys.modules.keys():
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    if hasattr(os, "uname"):
        sys.modules["platform"] = SimpleNamespace(system=lambda: os.uname().sysname)  # type: ignore[assignment]
    try:
        with signals_blocked():  # its C code drops an error of an import inside, an interruption too
            import_module("msgspec")
    finally:
        del sys.modules["typing_extensions"]
        sys.modules.pop("platform", None)


def return_freed_memory() -> None:
    """Return large freed blocks of memory to the operating system at once.

    By default malloc raises its threshold after the first large block and keeps such blocks for reuse. The temporary tables of names of a
    run of 100,000 instances then leave 12 MiB unused.
    """
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


@contextmanager
def without_collection() -> Iterator[None]:
    """Turn the garbage collector off inside the block."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block SIGINT, SIGTERM and SIGHUP in the block; processes started inside keep them blocked, and an interruption comes after it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    stops = {stop for stop in signal.Signals if stop.name in ("SIGINT", "SIGTERM", "SIGHUP")}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# Import names of the packages that pyproject.toml requires.
REQUIRED = (
    "typer", "pandas", "rapidfuzz", "duckdb", "rich", "yaml", "msgspec", "numpy", "regex", "confusable_homoglyphs", "sacrebleu", "pyphen",
    "scipy", "jinja2", "sqlglot",
)  # fmt: skip


def missing_packages() -> list[str]:
    """Return the import names of required packages that are not installed."""
    folders = {name for place in sys.path for name in _names_in(place)}
    unlisted = [name for name in REQUIRED if name not in folders]
    if not unlisted:
        return []
    from importlib.util import find_spec

    return [name for name in unlisted if find_spec(name) is None]


@cache
def package_version(package: str) -> str:
    """Return the installed version of a package, or `absent`: from the name of its `.dist-info`, else from `importlib.metadata`.

    Importing `importlib.metadata` costs as much as the rest of the start.
    """
    for place in sys.path:
        folders = [name for name in _names_in(place) if name.startswith(f"{package}-") and name.endswith(".dist-info")]
        if len(folders) == 1:
            return folders[0].removesuffix(".dist-info").rpartition("-")[2]
        if folders:
            break
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


@cache
def _names_in(place: str) -> tuple[str, ...]:
    """Return the names in a folder of the import path; none if it cannot be read."""
    try:
        return tuple(os.listdir(place or "."))  # noqa: PTH208 - no Path is needed
    except OSError:
        return ()


def install_line() -> str:
    """Return the command that installs evalsuite with all requirements; in a checkout, the README's."""
    root = Path(__file__).resolve().parents[2]
    if not is_file(root / "pyproject.toml"):
        return extra_line("")
    change = "" if root == Path.cwd() else f"cd {shlex.quote(str(root))} && "
    return f"{change}python3 -m venv .venv && .venv/bin/pip install -q -e . (then start it by .venv/bin/python or .venv/bin/evalsuite)"


def program() -> str:
    """Return what starts this installation in the user's shell: `evalsuite` if PATH leads to it, else its path below or from the current
    folder, or `PYTHON -m evalsuite`.
    """
    import shlex
    import shutil

    script = Path(sys.executable).parent / "evalsuite"
    path = shutil.which("evalsuite")
    if path is not None and (not is_file(script) or Path(path).resolve() == script.resolve()):
        return "evalsuite"
    word, module = (script, "") if is_file(script) else (Path(sys.executable), " -m evalsuite")
    return shlex.quote(_from_here(word)) + module


def _from_here(path: Path) -> str:
    """Return a path relative to the current folder if it is below it. Workers are in the root folder, where the user is not."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) and here != here.parent else path)


def extra_line(extra: str, *, package: Path | None = None) -> str:
    """Return the command that adds an extra to this installation, for the current folder and the running Python.

    An installation from an index is named `evalsuite`; a checkout, an archive or a repository is named by its path or URL.

    Args:
        extra: the name of the extra; empty for none.
        package: the folder of the package, by default this one.
    """
    root, extra = (package or Path(__file__).resolve().parents[1]).parent, extra and f"[{extra}]"
    if is_file(root / "pyproject.toml"):
        place = "." if root == Path.cwd() else str(root)
        return f"{_pip()} install -e {shlex.quote(f'{place}{extra}')}"
    origin = _origin()
    return f"{_pip()} install {shlex.quote(f'evalsuite{extra}' + (f' @ {origin}' if origin else ''))}"


def _pip() -> str:
    """Return `pip` if that belongs to the running Python, else `<python> -m pip`."""
    import shlex
    import shutil

    python, first = Path(sys.executable), shutil.which("pip")
    if first is not None and Path(first).parent == python.parent:
        return "pip"
    return f"{shlex.quote(_from_here(python))} -m pip"


def _origin() -> str:
    """Return the URL from which evalsuite was installed (PEP 610); empty if it came from an index."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        record = json.loads(distribution("evalsuite").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    from_repository = record.get("vcs_info")
    url = str(record.get("url", ""))
    return f"{from_repository['vcs']}+{url}@{from_repository['commit_id']}" if from_repository else url
