"""No command asks the network where answers are files: an audit hook listens to every one of them, with credentials that look true."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli.commands import COMMANDS
from tests.cli.test_run import write_lines
from tests.cut_network import run_cut
from tests.gold.checkouts import Checkout, make_checkout, submit
from tests.terminal.commands import COMMANDS as EVERY_LINE
from tests.terminal.commands import make_place

# What asks a model does so on request; its other lines are those of the table of all commands.
ASKING = frozenset({"judge"})
LOGINS = {
    "bigquery": {"engine": "bigquery", "credentials": "service.json", "prefix": ["bq", "ga"]},
    "snowflake": {"engine": "snowflake", "account": "acme-1", "user": "reader", "password": "p4ss", "prefix": ["sf"]},
    "postgres": {"engine": "postgres", "host": "db.example.org", "user": "reader", "password": "p4ss", "prefix": ["local"]},
}
SERVICE = {"type": "service_account", "project_id": "acme", "client_email": "r@acme.iam.gserviceaccount.com", "private_key": "-----BEGIN"}
# HERE is `--isolation none`: workers have walls of their own, and what they do is heard in this process alone.
LINES = """
    run sub --gold GOLD --out .evalsuite/runs/first
    run sub --gold GOLD HERE --no-cache --jobs 1 --out .evalsuite/runs/second
    run sub --gold GOLD --shard 1/2 --out parts/1 -q HERE
    run sub --gold GOLD --shard 2/2 --out parts/2 -q HERE
    check ID --result_dir sub --gold_dir GOLD --explain
    check ID --run .evalsuite/runs/first
    explain ID --run .evalsuite/runs/first
    validate sub --gold GOLD
    leaderboard sub other --gold GOLD HERE
    report .evalsuite/runs/first -o report.html -o report.json
    margins .evalsuite/runs/first
    merge parts/1 parts/2 --out whole
    rescore .evalsuite/runs/first --rules strict HERE
    verify .evalsuite/runs/first HERE
    drift .evalsuite/runs/first HERE
    bundle ID --run .evalsuite/runs/first
    runs list
    compare .evalsuite/runs/first other HERE
    samples .evalsuite/runs/first .evalsuite/runs/second
    agree .evalsuite/runs/first .evalsuite/runs/second
    export .evalsuite/runs/first log.json
    import samples_cities.jsonl
    run other --gold GOLD --out .evalsuite/runs/third -q HERE
    sql "select count(*) from results"
    view
    doctor GOLD
    what sub
    connections list --gold GOLD
    gold check GOLD HERE
    gold lint GOLD
    gold audit GOLD --seconds 2 --top 2 HERE
    gold suspects .evalsuite/runs/first .evalsuite/runs/third HERE
    gold errata GOLD
    gold contamination GOLD --against sub
    gold convert GOLD --out plain
    init --gold-from sub --to begun
    example play
    scorers table_match
    suite list
    schema infer service.json
    keys new key
"""


def lines_of(made: Checkout) -> list[list[str]]:
    """The lines, about the gold and an instance of a checkout."""
    gold, id_ = str(made.gold_folder.relative_to(made.root)), next(iter(made.gold))
    texts = [line.replace("GOLD", gold).replace("ID", id_).replace("HERE", "--isolation none") for line in LINES.strip().splitlines()]
    return [shlex.split(text) for text in texts]


def with_logins(made: Checkout) -> Checkout:
    """The checkout with a login for each engine that nothing tells from a true one, and a log."""
    sample = {"doc_id": 0, "doc": {"q": "Capital?"}, "target": "Paris", "arguments": [["Capital?"]], "resps": [["Paris"]]}
    (made.root / "samples_cities.jsonl").write_text(json.dumps({**sample, "filtered_resps": ["Paris"], "exact_match": 1.0}) + "\n")
    (made.root / "connections.yaml").write_text(json.dumps(LOGINS))
    (made.root / "service.json").write_text(json.dumps(SERVICE))
    return made


RUN = "run sub --gold GOLD --no-save --jobs 1 -q"


def files_scene(folder: Path, layout: str) -> tuple[list[list[str]], Path]:
    """Every command, on files; what is explained is wrong, so that its gold query could be tried."""
    made = with_logins(make_checkout(folder, layout, 6))
    submit(made, folder / "sub")
    submit(made, folder / "other", seed=2, leave_out=3)
    (folder / "sub" / f"{next(iter(made.gold))}.csv").write_text("wrong\nno\n")
    lines = lines_of(made)
    assert {line[0] for line in lines} == COMMANDS.keys() - ASKING
    return lines, folder


def queries_scene(folder: Path) -> tuple[list[list[str]], Path, int]:
    """Runs in which one submitted instance has a query as its gold, with --live-gold, without that instance, and of queries."""
    made = with_logins(make_checkout(folder, "lite", 6))
    write_lines(made.gold_folder / "spider2lite_eval.jsonl", *({"instance_id": id_, "condition_cols": []} for id_ in made.gold))
    submit(made, folder / "sub")
    ids = [id_ for id_ in made.gold if (made.gold_folder / "sql" / f"{id_}.sql").is_file()]
    for table in (made.gold_folder / "exec_result").glob(f"{ids[0]}[._]*csv"):
        table.unlink()
    run = RUN.replace("GOLD", shlex.quote(str(made.gold_folder)))
    (folder / "queries").mkdir()
    (folder / "queries" / f"{ids[1]}.sql").write_text("SELECT 1")
    lines = (run, f"{run} --live-gold", f"{run} --filter '[!{ids[0][0]}]*'", f"{run.replace(' sub', ' queries')} --mode sql")
    return [shlex.split(line) for line in lines], folder, len(ids)


def placeholders_scene(folder: Path) -> tuple[list[list[str]], Path]:
    """Runs that need a query, and the test of the logins, with the credentials that are handed out."""
    made = make_checkout(folder, "lite", 6)
    for table in (made.gold_folder / "exec_result").iterdir():
        table.unlink()
    submit(made, folder / "sub")
    (folder / "queries").mkdir()
    for id_ in made.gold:
        (folder / "queries" / f"{id_}.sql").write_text("SELECT 1")
    runs = [f"run {name} --gold GOLD --isolation {how} --no-save" for how, name in (("none", "sub"), ("process", "queries"))]
    return [
        [word.replace("GOLD", str(made.gold_folder)) for word in line.split()] for line in (*runs, "connections test --gold GOLD")
    ], folder


def check_files(found: list[dict[str, Any]], folder: Path) -> None:
    """Each line ended without a look-up and without a connection, though every instance has a query and a login that could be tried."""
    assert {one["line"]: one["events"] for one in found if one["events"]} == {}
    # Tables cannot be told as a log.
    assert {one["line"]: one["errors"] for one in found if one["code"] not in (0, 1) and "export" not in one["line"]} == {}
    rows = [json.loads(line) for line in (folder / ".evalsuite/runs/first/results.jsonl").read_text().splitlines()]
    assert {row["details"].get("gold_from", row["status"]) for row in rows} <= {"file", "gold_fault"}


def test_a_connection_is_opened_for_what_needs_a_query_alone(tmp_path: Path) -> None:
    """No command asks the network about files.

    The hook hears: an answer that is a query, and a submitted instance whose gold only a query gives, and --live-gold. No other.
    With the credentials that are handed out nobody is asked, even where gold is a query, or the answer, or the login is tested.
    """
    for name in ("files", "queries", "placeholders"):
        (tmp_path / name).mkdir()
    *asking, n_queries = queries_scene(tmp_path / "queries")
    files, (whole, live, others, queries), (*done, tested) = run_cut(
        files_scene(tmp_path / "files", "lite"), (asking[0], asking[1]), placeholders_scene(tmp_path / "placeholders")
    )
    check_files(files, tmp_path / "files")
    assert (whole["code"], len(whole["events"])) == (4, 1)
    assert [len(one["events"]) for one in (live, others, queries)] == [n_queries, 0, 1]
    assert [(one["events"], one["code"]) for one in (*done, tested)] == [([], 4), ([], 4), ([], 2)]
    assert "absent, empty or a placeholder: password, user" in done[1]["out"]


@pytest.mark.slow
def test_no_line_of_any_command_asks_the_network(tmp_path: Path) -> None:
    """The same of the table of all commands, but for those that ask a judge on this machine, and of files in the layout snow."""
    lines = [shlex.split(command.line) for command in EVERY_LINE]
    for name in ("snow", "all"):
        (tmp_path / name).mkdir()
    files, found = run_cut(
        files_scene(tmp_path / "snow", "snow"), ([line for line in lines if line[0] not in ASKING], make_place(tmp_path / "all"))
    )
    check_files(files, tmp_path / "snow")
    assert {one["line"]: one["events"] for one in found if one["events"]} == {}
