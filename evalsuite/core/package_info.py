"""Information about this installation: missing packages, and the commands that install evalsuite and its extras."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

# Import names of the packages that pyproject.toml requires.
REQUIRED = (
    "typer", "pandas", "rapidfuzz", "duckdb", "rich", "yaml", "msgspec", "numpy", "regex", "confusable_homoglyphs", "sacrebleu", "pyphen",
    "scipy", "jinja2", "sqlglot",
)  # fmt: skip


def missing_packages() -> list[str]:
    """Return the import names of required packages that are not installed."""
    from importlib.util import find_spec

    return [name for name in REQUIRED if find_spec(name) is None]


def install_line() -> str:
    """Return the command that installs evalsuite with all requirements; in a checkout, the README's."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "pyproject.toml").is_file():
        return extra_line("")
    change = "" if root == Path.cwd() else f"cd {shlex.quote(str(root))} && "
    return f"{change}python3 -m venv .venv && .venv/bin/pip install -q -e . (then start it by .venv/bin/python or .venv/bin/evalsuite)"


def extra_line(extra: str, *, package: Path | None = None) -> str:
    """Return the command that adds an extra to this installation, for the current folder and the running Python.

    An installation from an index is named `evalsuite`; a checkout, an archive or a repository is named by its path or URL.

    Args:
        extra: the name of the extra; empty for none.
        package: the folder of the package, by default this one.
    """
    root, extra = (package or Path(__file__).resolve().parents[1]).parent, extra and f"[{extra}]"
    if (root / "pyproject.toml").is_file():
        place = "." if root == Path.cwd() else str(root)
        return f"{_pip()} install -e {shlex.quote(f'{place}{extra}')}"
    origin = _origin()
    return f"{_pip()} install {shlex.quote(f'evalsuite{extra}' + (f' @ {origin}' if origin else ''))}"


def _pip() -> str:
    """Return `pip` if that belongs to the running Python, else `<python> -m pip`."""
    own, first = Path(sys.executable), shutil.which("pip")
    if first is not None and Path(first).parent == own.parent:
        return "pip"
    place = own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own
    return f"{shlex.quote(os.fspath(place))} -m pip"


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
