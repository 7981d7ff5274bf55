"""The scripts of action.yml, run as GitHub runs them."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsuite.core.errors import OutputError
from evalsuite.reports import write
from evalsuite.reports.document import Document
from tests.cli.test_run import text_gold, text_submission
from tests.command_server import command_server
from tests.conftest import ROOT, copy_of
from tests.processes import finished

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
N = 24


def step(name: str) -> dict[str, Any]:
    """The step of the action with that id."""
    found: dict[str, Any] = next(step for step in ACTION["runs"]["steps"] if step.get("id") == name)
    return found


def called(name: str, folder: Path, inputs: dict[str, str], *, is_real: bool = False, **more: str) -> subprocess.CompletedProcess[str]:
    """A step with these inputs, in a checkout; its `python -I -m evalsuite` is a fork of the command server unless `is_real`."""
    given = {key: str(value.get("default", "")) for key, value in ACTION["inputs"].items()} | inputs
    script = step(name)
    # Inputs reach a script as variables: a text in it would be part of it.
    assert not re.search(r"\$\{\{", script["run"])
    variables = {key: given[re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", r"\1", value)] for key, value in script["env"].items()}
    files = {key: str(folder.parent / key) for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    words = Path(sys.executable).parent if is_real else forked_python(folder.parent / "bin")
    where = f"{words}{os.pathsep}{os.environ['PATH']}"
    (folder.parent / "runner").mkdir(exist_ok=True)
    files |= {"GITHUB_WORKSPACE": str(folder), "RUNNER_TEMP": str(folder.parent / "runner"), "TMPDIR": str(folder.parent)}
    environment = {**os.environ, **variables, **files, "PATH": where, "GITHUB_BASE_REF": "", **more}
    return finished(["bash", "-eo", "pipefail", "-c", script["run"]], cwd=folder, env=environment)


def forked_python(folder: Path) -> Path:
    """Fills a folder with a `python` that takes `-I -m evalsuite` to the command server, and everything else to Python itself."""
    folder.mkdir(exist_ok=True)
    file = folder / "python"
    script, python = command_server().script, sys.executable
    file.write_text(f'#!/bin/sh\ncase "$*" in "-I -m evalsuite "*) shift 3; exec "{script}" "$@" ;; *) exec "{python}" "$@" ;; esac\n')
    file.chmod(0o755)
    return folder


def test_it_scores_and_gates(tmp_path: Path) -> None:
    """The score step writes reports and outputs and ends with the gate's code."""
    folder = tmp_path / "checkout"
    text_gold(folder / "gold", a="Paris", b="Rome")
    text_submission(folder / "my sub", a="Paris", b="Bern")
    done = called("score", folder, {"submission": "my sub", "fail-under": "0.6"})
    assert done.returncode == 1, done.stderr
    assert "::error file=my sub/results_metadata.jsonl,line=2,title=b%3A wrong::" in done.stdout
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "score=0.5\nreports=evalsuite-reports\n"
    assert "**1/2 = 50.0 %**" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text(encoding="utf-8")
    made = {path.name for path in (folder / "evalsuite-reports").iterdir()}
    assert made == {"report.html", "report.md", "results.csv", "results.json", "junit.xml"}


@copy_of
def made(folder: Path) -> None:
    """A repository whose base branch has 16 of 24 answers right, on a branch that has the same, and its origin."""
    text_gold(folder / "checkout/gold", **{f"q{at:02}": f"city {at}" for at in range(N)})
    answered(folder / "checkout", 16)
    for words in ("init -q -b main", "add -A", "-c user.name=a -c user.email=a@b commit -qm base", "clone -q --bare . ../origin",
                  "remote add origin ../origin"):  # fmt: skip
        finished(["git", *words.split()], cwd=folder / "checkout", check=True)


@pytest.fixture
def checkout(made: Path) -> Path:
    """A copy of that repository."""
    return made / "checkout"


def answered(folder: Path, n_right: int) -> None:
    """Answer so many questions right, the others wrong."""
    text_submission(folder / "answers", **{f"q{at:02}": f"city {at}" if at < n_right else "no" for at in range(N)})


@pytest.mark.parametrize(
    ("inputs", "base", "said"),
    [
        ({"submission": "answers", "compare-to": "base"}, "", "no pull request"),
        ({"submission": "new", "compare-to": "main"}, "main", "holds no new"),
    ],
)
def test_nothing_to_compare_with(inputs: dict[str, str], base: str, said: str, checkout: Path) -> None:
    """Outside of a pull request, and for answers that are new, the step says so and passes."""
    done = called("compare", checkout, inputs, GITHUB_BASE_REF=base)
    assert done.returncode == 0
    assert said in done.stdout


def test_reports_of_an_earlier_job_are_not_taken_for_those_of_this_one(checkout: Path) -> None:
    """Where nothing can be scored or compared, no score, comparison or `regression` is put out, whatever lies in the reports' folder."""
    left = checkout / "evalsuite-reports"
    left.mkdir()
    for name in ("results.json", "comparison.md"):
        (left / name).write_text('{"summary": {"score": 1.0}}')
    (checkout / "answers/results_metadata.jsonl").unlink()
    for name in ("score", "compare"):
        done = called(name, checkout, {"submission": "answers", "compare-to": "main"})
        assert done.returncode not in (0, 1), done.stdout
        assert "no results_metadata.jsonl" in done.stderr
    assert not (checkout.parent / "GITHUB_OUTPUT").exists()
    assert not (checkout.parent / "GITHUB_STEP_SUMMARY").exists()


@pytest.mark.parametrize("name", ["score", "compare"])
def test_no_module_of_the_checkout_is_imported(name: str, checkout: Path) -> None:
    """Modules of a pull request that are called like those of Python and of the command stay where they are."""
    for module in ("json", "sys", "evalsuite", "sitecustomize", "usercustomize", "yaml", "pip", "typer"):
        (checkout / f"{module}.py").write_text(f"open({str(checkout.parent / 'EXECUTED')!r}, 'w')\n")
    done = called(
        name, checkout, {"submission": "answers", "compare-to": "main"}, is_real=True, PYTHONPATH=str(checkout), PYTHONSTARTUP="json.py"
    )
    assert done.returncode == 0, done.stderr
    assert not (checkout.parent / "EXECUTED").exists()
    assert not (checkout / ".evalsuite").exists()
    assert all("python -I " in line or "python" not in line for one in ACTION["runs"]["steps"] for line in one.get("run", "").splitlines())


@pytest.mark.parametrize(
    ("link", "refused"), [("", ("score", "compare")), ("/report.html", ("score",)), ("/comparison.html", ("compare",))]
)
def test_reports_are_written_through_no_link(link: str, refused: tuple[str, ...], checkout: Path) -> None:
    """A pull request whose folder of reports, or a report in it, is a link elsewhere ends the step, and what lies there stays."""
    target, reports = checkout.parent / "elsewhere", checkout / "evalsuite-reports"
    target.mkdir()
    kept = dict.fromkeys(("report.html", "comparison.html", "results.json", "comparison.md"), "kept")
    for file, text in kept.items():
        (target / file).write_text(text)
    if link:
        reports.mkdir()
    Path(f"{reports}{link}").symlink_to(f"{target}{link}")
    # A link to a report of the other step is in nobody's way.
    for name in ("score", "compare") if link == "/report.html" else refused:
        done = called(name, checkout, {"submission": "answers", "compare-to": "main"})
        assert (done.returncode, "is a link" in done.stderr) == ((2, True) if name in refused else (0, False)), done.stderr
        assert {file.name: file.read_text() for file in target.iterdir()} == kept


def test_what_the_action_uses_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that became a link after the look is an error, and what it leads to stays; what the action uses stands at a commit."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "work"))
    monkeypatch.setattr("evalsuite.reports._refuse_links", lambda _: None)
    for folder in ("work/real", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "elsewhere/r.md").write_text("kept")
    (tmp_path / "work/folder").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "work/real/r.md").symlink_to(tmp_path / "elsewhere/r.md")
    document = Document(name="a", title="a")
    for name in ("folder/r.md", "real/r.md"):
        with pytest.raises(OutputError):
            write(document, tmp_path / "work" / name)
    assert (tmp_path / "elsewhere/r.md").read_text() == "kept"
    write(document, tmp_path / "work/new/deep/r.md")
    assert (tmp_path / "work/new/deep/r.md").is_file()
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name) for name in used)
