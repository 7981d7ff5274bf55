"""Code that is imported on demand: custom scorers of a file, a suite or a package, and modules on their first use."""

import json
import re
import shlex
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evalsuite.core.errors import UntrustedPluginError
from evalsuite.core.import_ref import ImportRef, LazyModule
from evalsuite.core.plugin_calls import is_trusted, trusting_plugins
from evalsuite.gold.layouts import read_gold
from tests.cli.test_run import called, check, text_submission, write_answers, write_gold
from tests.processes import finished

pytestmark = pytest.mark.usefixtures("shared_fork_server")


PLUGIN = '''
from evalsuite.core.registry import scorer
from evalsuite.core.types import Score


@scorer(reads="text")
def shout_match(prediction: str, *, gold: str) -> Score:
    """1 if the answer is the gold text in capitals."""
    value = float(prediction == gold.upper())
    return Score(official=value, strict=value, reason="in capitals" if value else "not in capitals")


@scorer(reads="table")
def row_count(prediction, *, gold: int) -> Score:
    """1 if the table has so many rows."""
    value = float(prediction.n_rows == gold)
    return Score(official=value, strict=value, reason=f"{prediction.n_rows} rows")


class Half:
    """Half a point for everybody, in Arthur Bench's way."""

    def run_batch(self, candidates, references, inputs, contexts):
        return [0.5 for _ in candidates]


@scorer(reads="text")
def broken_match(prediction: str, *, gold: str) -> Score:
    """Fails on purpose."""
    return Score(official=1 / (len(gold) - len(gold)), reason="never")
'''


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A gold folder and a submission that use the plugin's scorers, beside `my.py`."""
    (tmp_path / "my.py").write_text(PLUGIN)
    golds = {"shout_match": "Paris", "row_count": 2, "Half": "x", "broken_match": "x"}
    write_gold(tmp_path / "gold", **{name: check(func, gold=gold) for name, (func, gold) in zip("abcd", golds.items(), strict=True)})
    (tmp_path / "sub" / "b").mkdir(parents=True)
    (tmp_path / "sub" / "b" / "t.csv").write_text("n\n1\n2\n")
    answers = [("a", "answer", "PARIS"), ("b", "file", "t.csv"), ("c", "answer", "anything"), ("d", "answer", "x")]
    write_answers(tmp_path / "sub", *answers)
    return tmp_path


def results(place: Path, *arguments: object) -> dict[str, dict[str, object]]:
    """The results of a run by instance id."""
    done = called("run", "sub", "--gold", "gold", "--out", "out", "--quiet", *arguments, cwd=place)
    assert done.returncode == 0, done.stderr
    return {row["instance_id"]: row for row in map(json.loads, (place / "out" / "results.jsonl").read_text().splitlines())}


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_a_plugin_file_brings_scorers(place: Path, isolation: str) -> None:
    """Functions and a `run_batch` class of `--plugin my.py` score texts and tables, in workers and without; a fault names file and line."""
    rows = results(place, "--plugin", "my.py", "--isolation", isolation)
    assert {name: row["score"] for name, row in rows.items()} == {"a": 1, "b": 1, "c": 0.5, "d": None}
    assert rows["d"]["status"] == "scorer_fault"
    line = PLUGIN.splitlines().index('    return Score(official=1 / (len(gold) - len(gold)), reason="never")') + 1
    assert rows["d"]["reason"] == f"SCORER_ERROR: broken_match raised ZeroDivisionError at my.py:{line}"


def test_a_suite_names_its_scorers(place: Path) -> None:
    """`scorers:` in suite.yaml brings functions of a file beside gold, with no option on the command line."""
    (place / "gold" / "my.py").write_text(PLUGIN)
    names = ("shout_match", "row_count", "Half", "broken_match")
    lines = "".join(f'  {name}: "python:my.py:{name}"\n' for name in names)
    (place / "gold" / "suite.yaml").write_text(f"scorers:\n{lines}")
    assert results(place)["a"]["score"] == 1


def test_installed_packages_and_verified_runs(place: Path) -> None:
    """An entry point of `evalsuite.scorers` is found by its name; a run with a plugin is confirmed only with it."""
    site = place / "site"
    (site / "shouting-1.0.dist-info").mkdir(parents=True)
    (site / "shouting.py").write_text(PLUGIN)
    (site / "shouting-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    (site / "shouting-1.0.dist-info" / "entry_points.txt").write_text("[evalsuite.scorers]\nshout_match = shouting:shout_match\n")
    code = f"import sys; sys.path.insert(0, {str(site)!r}); import evalsuite; print(evalsuite.score('shout_match', 'A', gold='a').official)"
    assert finished([sys.executable, "-c", code], check=True).stdout == "1.0\n"
    assert called("run", "sub", "--gold", "gold", "--plugin", "my.py", "--out", "own", "--quiet", cwd=place).returncode == 0
    codes = [called("verify", "own", *words, cwd=place).returncode for words in ((), ("--plugin", "my.py"))]
    assert codes == [1, 0]


WHOLE = '''
class Ranked:
    """1 for the longest answer of the whole run, 0 for all others; refuses an answer that is `bad`."""

    def run_batch(self, candidates, references, inputs, contexts):
        if "bad" in candidates:
            raise ValueError("bad")
        with open(__file__ + ".log", "a") as log:
            log.write(f"{len(candidates)} {references} {contexts}\\n")
        return [float(text == max(candidates, key=len)) for text in candidates]
'''


@pytest.mark.parametrize("bad", [False, True])
def test_run_batch_sees_all_answers_at_once(tmp_path: Path, bad: bool) -> None:
    """A class with `run_batch` is called once with all answers in gold order; where that fails, each is asked alone and pays for itself."""
    (tmp_path / "my.py").write_text(WHOLE)
    write_gold(tmp_path / "gold", **{f"q{n}": check("Ranked", gold=f"g{n}", context="c") for n in range(3)})
    text_submission(tmp_path / "sub", q0="a", q1="bad" if bad else "bb", q2="ccc")
    scores = {name: row["score"] for name, row in results(tmp_path, "--plugin", "my.py").items()}
    log = (tmp_path / "my.py.log").read_text().splitlines()
    if bad:
        assert scores == {"q0": 1, "q1": None, "q2": 1}
        assert sorted(log) == ["1 ['g0'] ['c']", "1 ['g2'] ['c']"]
    else:
        assert scores == {"q0": 0, "q1": 0, "q2": 1}
        assert log == ["3 ['g0', 'g1', 'g2'] ['c', 'c', 'c']"]


def test_a_changed_plugin_is_another_signature(place: Path) -> None:
    """Runs scored by other code are not compared as if they were alike; the same code is the same signature."""
    names = []
    for text in (PLUGIN, PLUGIN, PLUGIN.replace("gold.upper()", "gold.title()")):
        (place / "my.py").write_text(text)
        done = called("run", "sub", "--gold", "gold", "--plugin", "my.py", "--json", cwd=place)
        names.append(json.loads(done.stdout)["signature"])
    assert names[0] == names[1] != names[2]
    assert [name.partition("|plugins:")[0] for name in names] == [names[0].partition("|plugins:")[0]] * 3
    runs = sorted(folder.name for folder in (place / ".evalsuite" / "runs").iterdir())
    assert called("compare", *runs[:2], cwd=place).returncode == 0
    refused = called("compare", *runs[1:], cwd=place)
    assert refused.returncode == 2
    assert "not comparable: plugins" in refused.stderr


def test_a_clean_copy_of_gold_is_what_was_scored(place: Path) -> None:
    """What importing and running a plugin writes into the gold folder is no part of it: a copy without it verifies and is scored again."""
    writes = "from pathlib import Path\nPath(__file__).with_name('times.log').open('a').write('x')\n"
    (place / "gold" / "code").mkdir()
    (place / "gold" / "code" / "my.py").write_text(PLUGIN + writes)
    names = ("shout_match", "row_count", "Half", "broken_match")
    lines = "".join(f'  {name}: "python:code/my.py:{name}"\n' for name in names)
    (place / "gold" / "suite.yaml").write_text(f"scorers:\n{lines}")
    shutil.copytree(place / "gold", place / "clean" / "gold")
    results(place)
    assert (place / "gold" / "code" / "times.log").exists()
    # The first of these leaves compiled Python in the copy.
    assert called("verify", "out", "--gold", "clean/gold", cwd=place).returncode == 0
    again = called("rescore", "out", "--gold", "clean/gold", cwd=place)
    assert again.returncode == 0, again.stderr


def test_gold_is_read_without_its_plugins(place: Path, tmp_path: Path) -> None:
    """Of a folder that the user did not name the suite is refused, or read without its plugin; trust ends with its block."""
    (place / "gold" / "my.py").write_text(PLUGIN.replace("shout_match", "loud_match"))
    lines = ('scorers: [f1, {loud_match: "python:my.py:loud_match"}]', "defaults: {loud_match: {}, f1: {}}", "score: loud_match")
    (place / "gold" / "suite.yaml").write_text("\n".join(lines))
    row = {"instance_id": "a", "evaluation": [{"func": name, "parameters": {"gold": "Paris"}} for name in ("loud_match", "f1")]}
    (place / "gold" / "toy_eval.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(UntrustedPluginError, match=re.escape(f"--gold {shlex.quote(str(place / 'gold'))}")):
        read_gold(place / "gold")
    [instance] = read_gold(place / "gold", plugins=False).instances
    assert [(check.scorer, check.parameters["gold"], len(check.problems)) for check in instance.checks] == [
        ("loud_match", "Paris", 1),
        ("f1", "Paris", 0),
    ]
    with trusting_plugins(place / "gold" / "toy_eval.jsonl"):
        [instance] = read_gold(place / "gold", plugins=False).instances
    assert not any(check.problems for check in instance.checks)
    outer, inner = tmp_path / "outer", tmp_path / "inner"
    for folder in (outer, inner):
        folder.mkdir()

    def trusted() -> list[bool]:
        return [is_trusted(outer), is_trusted(tmp_path / "inner" / ".." / "inner")]

    assert trusted() == [False, False]
    with trusting_plugins(outer):
        assert trusted() == [True, False]
        with trusting_plugins(inner):
            assert trusted() == [True, True]
        assert trusted() == [True, False]
    assert trusted() == [False, False]


met = threading.Event()


PACKAGE = {"whole/__init__.py": "", "whole/below/__init__.py": "from .part import *\nname = 'own'", "whole/below/part.py": "name = 'part'"}


@pytest.mark.parametrize(
    ("files", "value", "is_whole"),
    [
        ({}, "part", False),
        ({"whole/below/part.py": "from . import other\nname = other.name", "whole/below/other.py": "name = 'other'"}, "other", False),
        ({"whole/below/part.py": "from . import k", "whole/below/__init__.py": "k = 1\nfrom .part import *\nname = 'own'"}, "own", True),
        ({"whole/below/part.py": "title = 1"}, "own", True),
        ({"whole/below/part.py": None, "whole/below/__init__.py": "name = 'own'"}, "own", True),
        ({"whole/below/part.py": None, "whole/below/__init__.py": None}, None, False),
        ({"whole/below/part.py": None, "whole/below/__init__.py": None, "whole/__init__.py": None}, None, False),
    ],
)
def test_a_part_is_imported_without_its_package(
    files: dict[str, str | None], value: str | None, is_whole: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it has is taken from there; the package is imported where the part is missing, needs it or lacks the name."""
    write_package(tmp_path, files, monkeypatch)
    below = LazyModule("whole.below", "part")
    if value is None:
        with pytest.raises(ImportError, match="whole"):
            _ = below.name
    else:
        assert below.name == value
    assert ("whole.below" in sys.modules) is is_whole


def test_references_and_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another thread waits for the import that it meets; equal references are one key, one without a colon is the module."""
    part = "import threading, time\nfrom tests.core import test_plugins\ntest_plugins.met.set()\ntime.sleep(0.05)\nname = 'part'"
    write_package(tmp_path, {"whole/below/part.py": part, "whole/below/__init__.py": "name = 'own'"}, monkeypatch)

    def other() -> str:
        met.wait(60)
        from whole.below import name  # type: ignore[import-not-found]

        return str(name)

    with ThreadPoolExecutor() as pool:
        theirs = pool.submit(other)
        assert LazyModule("whole.below", "part").name == "part"
        assert theirs.result(60) == "own"
    assert LazyModule("whole.below", "part").name == "own"
    ref = ImportRef("colorsys:rgb_to_hls", "a colour")
    assert {ref: 1}[ImportRef("colorsys:rgb_to_hls", "a colour")] == 1
    assert ref not in (ImportRef("colorsys:rgb_to_hls"), ImportRef("colorsys", "a colour"), "colorsys:rgb_to_hls")
    assert repr(ref) == "ImportRef('colorsys:rgb_to_hls', 'a colour')"
    assert (ref.load(), ImportRef("colorsys").load()) == (sys.modules["colorsys"].rgb_to_hls, sys.modules["colorsys"])


def write_package(folder: Path, changes: dict[str, str | None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Write `PACKAGE` with changed or absent files to a folder from which modules are imported."""
    for place, text in (PACKAGE | changes).items():
        if text is not None:
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text)
    monkeypatch.syspath_prepend(folder)
    for name in ("whole", "whole.below", "whole.below.part", "whole.below.other"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)
