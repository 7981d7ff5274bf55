"""How this evalsuite was installed, what it lacks, and so how more is installed beside it."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

# What pyproject.toml requires, as it is imported.
REQUIRED = (
    "typer", "pandas", "rapidfuzz", "duckdb", "rich", "yaml", "msgspec", "numpy", "regex", "confusable_homoglyphs", "sacrebleu", "pyphen",
    "scipy", "jinja2", "sqlglot",
)  # fmt: skip


def missing_packages() -> list[str]:
    """The packages that evalsuite requires and this Python lacks, as they are imported."""
    from importlib.util import find_spec

    return [name for name in REQUIRED if find_spec(name) is None]


def install_line() -> str:
    """The command that installs evalsuite with all that it requires: in a checkout that of the README."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "pyproject.toml").is_file():
        return extra_line("")
    change = "" if root == Path.cwd() else f"cd {shlex.quote(str(root))} && "
    return f"{change}python3 -m venv .venv && .venv/bin/pip install -q -e . (then start it by .venv/bin/python or .venv/bin/evalsuite)"


def extra_line(extra: str, *, package: Path | None = None) -> str:
    """The command that adds an extra (empty: none) to this installation, for the folder one stands in and for the Python that runs.

    Only what came from an index is found there by its name; a checkout, an archive or a repository is named as what it is. `package` is
    where the package lies, by default this one.
    """
    root, extra = (package or Path(__file__).resolve().parents[1]).parent, extra and f"[{extra}]"
    if (root / "pyproject.toml").is_file():
        place = "." if root == Path.cwd() else str(root)
        return f"{_pip()} install -e {shlex.quote(f'{place}{extra}')}"
    origin = _origin()
    return f"{_pip()} install {shlex.quote(f'evalsuite{extra}' + (f' @ {origin}' if origin else ''))}"


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
