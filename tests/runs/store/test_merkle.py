"""The root of a run: RFC 6962's tree over what is saved, the same when rows come back from a folder."""

from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.runs import scoring
from evalsuite.runs.run_folder import root_of, tree_root
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.runs.made import write_sides

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def test_rows_without_what_was_read_have_the_same_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are right, absent, or refused by their path: what was read is what lies there, so the root is the same."""
    gold, submission = tmp_path / "gold", tmp_path / "submission"
    named = {"q1": "../x.csv", "q2": "absent.csv", "q3": "g.csv", "q4": "g.csv/../../q3/g.csv"}
    for folder in (gold, submission):
        for name in named:
            (folder / name).mkdir(parents=True)
            (folder / name / "g.csv").write_text("a\n1\n")
    write_sides(submission, gold, {name: ("table_match", {"gold": "g.csv"}, Path(file)) for name, file in named.items()})
    given: list[Any] = []

    def root_as_it_is_asked(*arguments: Any) -> str:
        given[:] = arguments
        return root_of(*arguments)

    monkeypatch.setattr(scoring, "root_of", root_as_it_is_asked)
    whole = run(submission, gold, RunOptions(runs_folder=tmp_path / "runs"))
    tasks, results, digests, contents = given
    assert [result.fault for result in results] == ["BAD_PATH", "MISSING_FILE", None, "BAD_PATH"]
    assert any(result.digests for result in results)
    assert root_of(tasks, [replace(result, digests={}) for result in results], digests, contents) == whole.root


# The leaves and roots of the tests of Certificate Transparency, whose tree RFC 6962 describes.
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


@pytest.mark.parametrize("n", range(9))
def test_the_tree_is_that_of_rfc_6962(n: int) -> None:
    """No leaf to eight of them."""
    assert tree_root(map(bytes.fromhex, LEAVES[:n])).hex() == ROOTS[n]


def test_the_root_of_a_small_run_is_fixed(tmp_path: Path) -> None:
    """A text, a table with one check, a wrong path and a missing answer: another root would end the proof of every saved run."""
    gold, submission = tmp_path / "gold", tmp_path / "submission"
    for folder, cells in ((gold, "a,b\n1,x\n"), (submission, "a,b\n2,x\n")):
        (folder / "t").mkdir(parents=True)
        (folder / "t" / "r.csv").write_text(cells)
    (gold / "p").mkdir()
    (gold / "p" / "q.csv").write_text("a\n1\n")
    table = {"gold": "r.csv", "condition_cols": [1]}
    cases: dict[str, Any] = {
        "s": ("string_match", {"gold": "Zürich"}, "It is Zürich"),
        "t": ("table_match", table, Path("r.csv")),
        "p": ("table_match", {"gold": "q.csv"}, Path("../t/r.csv")),
        "m": ("table_match", table, None),
    }
    write_sides(submission, gold, cases)
    done = run(submission, gold, RunOptions(save=False))
    verdicts = [(one.instance_id, one.status, one.score) for one in done.results]
    assert verdicts == [("s", "scored", 1), ("t", "scored", 1), ("p", "submission_fault", 0), ("m", "missing", 0)]
    assert done.root == "d483b7fdbf6b129ed0f039ce6df801d15cdb09a2cc52ac5cd1765b659eeab368"
