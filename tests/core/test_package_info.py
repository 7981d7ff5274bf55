"""The line that installs an extra fits the way evalsuite was installed, the folder, and the running Python."""

import gc
import json
import re
import shlex
import shutil
import signal
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from evalsuite.core import runtime
from evalsuite.core.runtime import extra_line
from evalsuite.runs.run_options import VERDICT_PACKAGES, signature
from tests.conftest import ROOT
from tests.processes import finished


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder without a checkout, and a `pip` on the path that is this Python's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _name: str(Path(sys.executable).parent / "pip"))
    return tmp_path


def packaged(folder: Path, monkeypatch: pytest.MonkeyPatch, direct_url: object) -> Path:
    """A package folder as in site-packages, and what its installer noted of where it came from."""

    class Distribution:
        def read_text(self, _name: str) -> str | None:
            return None if direct_url is None else json.dumps(direct_url)

    monkeypatch.setattr(metadata, "distribution", lambda _name: Distribution())
    package = folder / "site-packages" / "evalsuite"
    package.mkdir(parents=True)
    return package


@pytest.mark.parametrize(
    ("direct_url", "place"),
    [
        (None, ""),
        ({"url": "file:///tmp/evalsuite-0.1.0-py3-none-any.whl", "archive_info": {}}, " @ file:///tmp/evalsuite-0.1.0-py3-none-any.whl"),
        ({"url": "file:///src/evalsuite", "dir_info": {}}, " @ file:///src/evalsuite"),
        ({"url": "https://x/y.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}, " @ git+https://x/y.git@abc"),
    ],
)
def test_as_a_package(elsewhere: Path, monkeypatch: pytest.MonkeyPatch, direct_url: object, place: str) -> None:
    """From an index by its name; from a wheel, a folder or a repository by where it came from (PEP 610)."""
    package = packaged(elsewhere, monkeypatch, direct_url)
    assert extra_line("view", package=package) == f"pip install 'evalsuite[view]{place}'"


def test_a_note_that_cannot_be_read(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package nobody installed is taken for one of the index."""

    def nobody(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    package = packaged(elsewhere, monkeypatch, None)
    monkeypatch.setattr(metadata, "distribution", nobody)
    assert extra_line("dask", package=package) == "pip install 'evalsuite[dask]'"


def test_for_the_python_that_runs(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `pip` is another Python's (the README starts `.venv/bin/python` without activating it), the line names this one."""
    monkeypatch.setattr(shutil, "which", lambda _name: "/usr/bin/pip")
    assert extra_line("view").startswith(f"{shlex.quote(sys.executable)} -m pip install -e ")
    monkeypatch.setattr(runtime.sys, "executable", str(elsewhere / ".venv" / "bin" / "python"))
    assert extra_line("view").startswith(".venv/bin/python -m pip install -e ")
    monkeypatch.chdir("/")  # as in a worker, whose lines the user runs elsewhere
    assert extra_line("view").startswith(f"{elsewhere}/.venv/bin/python -m pip install -e ")


def bare_python(folder: Path, *but: str) -> Path:
    """A Python of its own that has what this one has but for some packages, or (none named) nothing at all."""
    finished([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    place = next((folder / "lib").glob("python*")) / "site-packages"
    for found in Path(metadata.distribution("typer").locate_file("")).iterdir() if but else ():
        if found.name.partition("-")[0].partition(".")[0].strip("_") not in (*but, "evalsuite"):
            (place / found.name).symlink_to(found)
    return folder / "bin" / "python"


@pytest.mark.skipif(sys.platform == "win32", reason="folders of an environment have other names")
def test_a_clone_that_was_not_installed_says_how(tmp_path: Path) -> None:
    """Whatever is called with a Python that lacks packages: one sentence and the README's line, exit 2; help and version are told."""
    bare, line = bare_python(tmp_path / "bare"), "python3 -m venv .venv && .venv/bin/pip install -q -e ."
    assert line in (ROOT / "README.md").read_text(encoding="utf-8")
    calls = (
        ["evaluate.py", "--result_dir", "example_submission_folder", "--gold_dir", "gold"],
        ["-m", "evalsuite"],
        ["-m", "evalsuite", "doctor"],
    )
    for words in calls:
        shown = finished([bare, *words], cwd=ROOT)
        assert (shown.returncode, shown.stdout) == (2, "")
        sentence, hint = shown.stderr.splitlines()
        assert sentence == f"error: {bare} lacks packages that evalsuite needs: {', '.join(runtime.REQUIRED)}"
        assert hint.startswith(f"hint: {line}")
    elsewhere = finished([bare, ROOT / "evaluate.py", "--result_dir", "x"], cwd=tmp_path)
    assert f"hint: cd {shlex.quote(str(ROOT))} && {line}" in elsewhere.stderr
    assert finished([bare, "-m", "evalsuite", "--help"], cwd=ROOT).returncode == 0
    assert finished([bare, "-m", "evalsuite", "--version"], cwd=ROOT).returncode == 0


def test_what_is_required_is_looked_for() -> None:
    """The table of what is imported is pyproject's, name by name."""
    required = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = [re.split("[<>=]", line)[0] for line in required]
    assert [{"pyyaml": "yaml"}.get(name, name.replace("-", "_")) for name in names] == list(runtime.REQUIRED)


def test_no_page_sends_anybody_to_an_index() -> None:
    """README and docs are read in a checkout: no line asks an index for `evalsuite[...]`, and no name waits to be replaced unsaid."""
    pages = [ROOT / "README.md", ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "install 'evalsuite[" not in text, page
        assert "OWNER" not in text, page
    told = [page.name for page in pages if "example/evalsuite" in page.read_text(encoding="utf-8")]
    assert told == ["install.md", "reports.md"]


def test_the_signature_names_what_is_installed() -> None:
    """The versions that are found by their folders are those that the packages say of themselves; one that is not there is absent."""
    parts = dict(part.split(":", 1) for part in signature(rules="official", gold_hash="", limits={}).split("|"))
    assert {name: parts[name] for name in VERDICT_PACKAGES} == {name: metadata.version(name) for name in VERDICT_PACKAGES}


def test_an_empty_place_is_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `sys.path`; a place that cannot be read has no names. The version in the first folder counts, if it is the only one there."""
    monkeypatch.chdir(tmp_path)
    for version in ("1.5", "1.6"):
        (tmp_path / f"some_thing-{version}.dist-info").mkdir()
        (tmp_path / f"some_thing-{version}.dist-info" / "METADATA").write_text(f"Name: some_thing\nVersion: {version}\n")
    (tmp_path / "some_thing-1.6.dist-info").rename("later")
    monkeypatch.setattr(sys, "path", ["nowhere", ""])
    monkeypatch.setattr(runtime, "_names_in", runtime._names_in.__wrapped__)
    assert (sorted(runtime._names_in("")), runtime._names_in("nowhere")) == (["later", "some_thing-1.5.dist-info"], ())
    version_of = runtime.package_version.__wrapped__
    assert (version_of("some_thing"), version_of("some")) == ("1.5", "absent")
    Path("later").rename("some_thing-1.6.dist-info")
    assert version_of("some_thing") in ("1.5", "1.6")


def test_an_installed_package_is_installed_again_by_its_extra_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a checkout there is no environment to make."""
    monkeypatch.setattr(runtime, "__file__", str(tmp_path / "lib" / "evalsuite" / "core" / "runtime.py"))
    monkeypatch.setattr(runtime, "_origin", lambda: "")
    assert runtime.install_line() == runtime.extra_line("")
    assert runtime.install_line().endswith(" install evalsuite")


def test_packages_without_a_folder_of_their_name_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that the import system finds elsewhere is there; where all have a folder nothing is imported."""
    monkeypatch.setattr(runtime, "REQUIRED", ("duckdb", "sys", "no_such_package"))
    assert runtime.missing_packages() == ["no_such_package"]
    monkeypatch.setattr(runtime, "REQUIRED", ("duckdb",))
    assert runtime.missing_packages() == []


def test_what_starts_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name if PATH leads to it, else its path, below the current folder without that; Python where no command is installed."""
    monkeypatch.chdir(tmp_path)
    tools, other = tmp_path / "my tools", tmp_path / "other"
    for folder in (tools, other):
        folder.mkdir()
        (folder / "evalsuite").touch()
    monkeypatch.setattr(sys, "executable", str(tools / "python"))
    for on_path, word in (
        (tools / "evalsuite", "evalsuite"),
        (other / "evalsuite", "'my tools/evalsuite'"),
        (None, "'my tools/evalsuite'"),
    ):
        monkeypatch.setattr(shutil, "which", lambda _, on_path=on_path: on_path and str(on_path))
        assert runtime.program() == word
    monkeypatch.chdir(other)
    assert runtime.program() == shlex.quote(str(tools / "evalsuite"))
    (tools / "evalsuite").unlink()
    assert runtime.program() == f"{shlex.quote(str(tools / 'python'))} -m evalsuite"
    monkeypatch.setattr(shutil, "which", lambda _: str(other / "evalsuite"))
    assert runtime.program() == "evalsuite"


def test_msgspec_is_imported_without_typing_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only in a process of one thread that has imported none of four modules; the others can be imported afterwards."""
    seen: list[tuple[str, bool]] = []
    monkeypatch.setattr(runtime, "import_module", lambda name: seen.append((name, sys.modules.get("typing_extensions", 1) is None)))
    names = ("msgspec", "typing_extensions", "platform", "uuid")
    for n_threads, known in ((2, ()), *((1, (name,)) for name in names), (1, ())):
        monkeypatch.setattr(runtime.threading, "active_count", lambda n_threads=n_threads: n_threads)
        with monkeypatch.context() as patch:
            for name in names:
                patch.delitem(sys.modules, name, raising=False)
            for name in known:
                patch.setitem(sys.modules, name, sys)
            runtime.load_msgspec()
            assert ("typing_extensions" in sys.modules) is ("typing_extensions" in known)
        assert seen == ([("msgspec", True)] if (n_threads, known) == (1, ()) else [])


def test_blocks_end_as_they_began() -> None:
    """Signals are blocked, and garbage is left, inside the block alone."""
    for was_on in (True, False):
        (gc.enable if was_on else gc.disable)()
        with runtime.without_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
    gc.enable()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with runtime.signals_blocked():
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) - before == {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} - before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
