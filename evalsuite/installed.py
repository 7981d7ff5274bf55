"""How this evalsuite was installed, and so how more is installed beside it."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path


def extra_line(extra: str, *, package: Path | None = None) -> str:
    """The command that adds an extra to this installation, for the folder one stands in and for the Python that runs.

    Only what came from an index is found there by its name; a checkout, an archive or a repository is named as what it is. `package` is
    where the package lies, by default this one.
    """
    root = (package or Path(__file__).resolve().parent).parent
    if (root / "pyproject.toml").is_file():
        place = "." if root == Path.cwd() else str(root)
        return f"{_pip()} install -e {shlex.quote(f'{place}[{extra}]')}"
    origin = _origin()
    return f"{_pip()} install {shlex.quote(f'evalsuite[{extra}]' + (f' @ {origin}' if origin else ''))}"


def _pip() -> str:
    """`pip` where that is the one of this Python, else this Python's by its path."""
    own, first = Path(sys.executable), shutil.which("pip")
    if first is not None and Path(first).parent == own.parent:
        return "pip"
    place = own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own
    return f"{shlex.quote(os.fspath(place))} -m pip"


def _origin() -> str:
    """Where the installer took a package from that came from no index (PEP 610), empty where it came from one."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        said = json.loads(distribution("evalsuite").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    from_repository = said.get("vcs_info")
    url = str(said.get("url", ""))
    return f"{from_repository['vcs']}+{url}@{from_repository['commit_id']}" if from_repository else url
