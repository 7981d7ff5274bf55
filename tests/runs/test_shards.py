"""Shards: parts of a run that join to the run of the whole, byte for byte, and to nothing else."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.errors import OutputError, UsageError
from evalsuite.runs.rescoring import Shard, merge, parse_shard
from evalsuite.runs.run_options import RunOptions, changed_versions
from evalsuite.runs.scoring import run
from tests.runs.made import make, without_seconds, without_times

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@given(n_items=st.integers(0, 50), n=st.integers(1, 12))
def test_shards_part_everything_once(n_items: int, n: int) -> None:
    """Each item is in exactly one shard, and no shard is more than one item larger than another."""
    parts = [Shard(i, n).select(range(n_items)) for i in range(1, n + 1)]
    assert sorted(item for part in parts for item in part) == list(range(n_items))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "1/100001", "१/२"])
def test_what_is_no_shard(text: str) -> None:
    """Anything but i/n with 1 <= i <= n is a usage error."""
    with pytest.raises(UsageError, match="--shard cannot be"):
        parse_shard(text)


@pytest.mark.parametrize("shard", [Shard(1, 1), Shard(2, 3), Shard(100000, 100000)])
def test_a_shard_as_text(shard: Shard) -> None:
    """Its text is read as itself."""
    assert (parse_shard(str(shard)), parse_shard(None)) == (shard, None)


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `whole` and its shards `1`, `2`, `3`; five equal answers make notes across shards."""
    base = tmp_path_factory.mktemp("sharded")
    submission, gold = make(base, n=15)
    (gold / "suite.yaml").write_text("groups:\n  first: [made_001, made_004, made_009]\n  last: [made_014, made_009]\n")
    metadata = submission / "results_metadata.jsonl"
    rows = [json.loads(line) for line in metadata.read_text().splitlines()]
    same = [{**row, "answer_type": "answer", "answer_or_path": "the same"} if at > 8 else row for at, row in enumerate(rows)]
    metadata.write_text("".join(json.dumps(row) + "\n" for row in same))
    run(submission, gold, RunOptions(out=base / "whole", isolation="none"))
    for i in (1, 2, 3):
        run(submission, gold, RunOptions(out=base / str(i), shard=Shard(i, 3), isolation="none"))
    return base


def test_merged_shards_are_the_whole(sharded: Path, tmp_path: Path) -> None:
    """`results.jsonl` is the same but for seconds, and `run.json` but for times and the count of shards; the order given is all one."""
    merge([sharded / name for name in "312"], tmp_path / "merged")
    whole, merged = without_times(sharded / "whole"), without_times(tmp_path / "merged")
    assert without_seconds(tmp_path / "merged") == without_seconds(sharded / "whole")
    assert any("same answer" in line for line in without_seconds(tmp_path / "merged"))
    assert merged["receipt"].pop("shards") == 3
    # The root is over what each instance was held to, which no shard's run holds of the others.
    whole.pop("root")
    assert merged == whole


def test_merged_shards_of_other_versions_say_so(sharded: Path, tmp_path: Path) -> None:
    """The receipt has what each shard was made with, and a warning names what can move verdicts."""
    receipt = json.loads((sharded / "2" / "run.json").read_text())["receipt"]
    other = {**receipt, "python": "3.99.1", "isolation": "process", "jobs": 99}
    merge([sharded / "1", copy(sharded, tmp_path / "2", {"receipt": other}), sharded / "3"], tmp_path / "merged")
    merged = json.loads((tmp_path / "merged" / "run.json").read_text())
    assert merged["receipt"]["python"] == f"{receipt['python']} and 3.99.1"
    assert (merged["receipt"]["isolation"], merged["receipt"]["regex"]) == (f"{receipt['isolation']} and process", receipt["regex"])
    warning = "the merged shards were scored with other versions of python: verdicts on rare texts can differ"
    assert [text for text in merged["warnings"] if "versions" in text] == [warning]
    assert list(changed_versions(merged["receipt"])) == ["python"]


def copy(sharded: Path, folder: Path, change: dict[str, object]) -> Path:
    """Shard 2 with other top-level parts in its `run.json`."""
    shutil.copytree(sharded / "2", folder)
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    return folder


def test_refused(sharded: Path, tmp_path: Path) -> None:
    """Missing and doubled shards, runs of no shard, other counts, signatures and submissions are named in the message."""
    one, two, three, out = (*(sharded / name for name in "123"), tmp_path / "out")
    moved = copy(sharded, tmp_path / "moved", {"signature": "evalsuite:9"})
    other = copy(sharded, tmp_path / "other", {"submission": {"folder": "x", "n_objects": 1, "hash": "0"}})
    of_four = copy(sharded, tmp_path / "four", {"options": {"rules": "official", "shard": "2/4"}})
    for folders, message in (
        ([one, three], "missing shards: 2/3"),
        ([one, two, two, three], "are both shard 2/3"),
        ([one, sharded / "whole"], "is the run of no shard"),
        ([one, moved, three], "has another signature"),
        ([one, other, three], "has another submission"),
        ([one, of_four, three], "is shard 2/4"),
        ([tmp_path / "nothing"], "no finished run"),
        ([], "no runs to merge"),
    ):
        with pytest.raises(UsageError, match=message):
            merge(folders, out)
    assert not out.exists()
    with pytest.raises(UsageError, match="is one of the shards: the merged run would replace it"):
        merge([one, two, three], one / ".." / "1")


def test_an_instance_without_a_cluster(sharded: Path, tmp_path: Path) -> None:
    """The files that it can be of are named: each shard has the groups of its own instances."""
    one, two = folders = [tmp_path / name for name in "12"]
    whole = json.loads((sharded / "2" / "run.json").read_text())
    without = {"gold": whole["gold"] | {"clusters": ["first"]}, "groups": {}, "summary": {}}
    for folder in folders:
        copy(sharded, folder, without | {"options": whole["options"] | {"shard": f"{folder.name}/2"}})
    rows = (two / "results.jsonl").read_text()
    (two / "results.jsonl").write_text(rows.replace('"made_', '"xmade_'))
    with pytest.raises(OutputError, match=f"^{one}/run.json, {two}/run.json: instance 'made_001' is in none of the clusters"):
        merge(folders, tmp_path / "out")


def test_overlap_and_loss_are_seen(sharded: Path, tmp_path: Path) -> None:
    """A shard whose results are another's, or fewer than its share, is refused."""
    double = copy(sharded, tmp_path / "double", {})
    first = (sharded / "1" / "results.jsonl").read_text().splitlines(keepends=True)
    own = (double / "results.jsonl").read_text().splitlines(keepends=True)
    (double / "results.jsonl").write_text("".join([first[0], *own[1:]]))
    with pytest.raises(UsageError, match="the shards overlap: 'made_000'"):
        merge([sharded / "1", double, sharded / "3"], tmp_path / "out")
    (double / "results.jsonl").write_text("".join(own[:-2]))
    with pytest.raises(UsageError, match="results, shard"):
        merge([sharded / "1", double, sharded / "3"], tmp_path / "out")
