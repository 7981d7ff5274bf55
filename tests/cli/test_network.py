"""No command asks the network where answers are files: an audit hook listens to every one of them, with credentials that look true."""

import json
import shlex
from pathlib import Path

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
LINES = """
    run sub --gold GOLD --out .evalsuite/runs/first
    run sub --gold GOLD --isolation none --no-cache --jobs 1 --out .evalsuite/runs/second
    run sub --gold GOLD --shard 1/2 --out parts/1 -q
    run sub --gold GOLD --shard 2/2 --out parts/2 -q
    check ID --result_dir sub --gold_dir GOLD --explain
    check ID --run .evalsuite/runs/first
    explain ID --run .evalsuite/runs/first
    validate sub --gold GOLD
    leaderboard sub other --gold GOLD
    report .evalsuite/runs/first -o report.html -o report.json
    margins .evalsuite/runs/first
    merge parts/1 parts/2 --out whole
    rescore .evalsuite/runs/first --rules strict
    verify .evalsuite/runs/first
    drift .evalsuite/runs/first
    bundle ID --run .evalsuite/runs/first
    runs list
    compare .evalsuite/runs/first other
    samples .evalsuite/runs/first .evalsuite/runs/second
    agree .evalsuite/runs/first .evalsuite/runs/second
    export .evalsuite/runs/first log.json
    import samples_cities.jsonl
    run other --gold GOLD --out .evalsuite/runs/third -q
    sql "select count(*) from results"
    view
    doctor GOLD
    what sub
    connections list --gold GOLD
    gold check GOLD
    gold lint GOLD
    gold audit GOLD --seconds 2 --top 2
    gold suspects .evalsuite/runs/first .evalsuite/runs/third
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
    texts = [line.replace("GOLD", gold).replace("ID", id_) for line in LINES.strip().splitlines()]
    return [shlex.split(text) for text in texts]


def with_logins(made: Checkout) -> Checkout:
    """The checkout with a login for each engine that nothing tells from a true one, and a log."""
    sample = {"doc_id": 0, "doc": {"q": "Capital?"}, "target": "Paris", "arguments": [["Capital?"]], "resps": [["Paris"]]}
    (made.root / "samples_cities.jsonl").write_text(json.dumps({**sample, "filtered_resps": ["Paris"], "exact_match": 1.0}) + "\n")
    (made.root / "connections.yaml").write_text(json.dumps(LOGINS))
    (made.root / "service.json").write_text(json.dumps(SERVICE))
    return made


@pytest.mark.parametrize("layout", ["lite", pytest.param("snow", marks=pytest.mark.slow)])
def test_no_command_asks_the_network_about_files(layout: str, tmp_path: Path) -> None:
    """Each line ends without a look-up and without a connection, though every instance has a query and a login that could be tried."""
    made = with_logins(make_checkout(tmp_path, layout, 6))
    submit(made, tmp_path / "sub")
    submit(made, tmp_path / "other", seed=2, leave_out=3)
    lines = lines_of(made)
    # What is explained is wrong, so that its gold query could be tried.
    (tmp_path / "sub" / f"{next(iter(made.gold))}.csv").write_text("wrong\n-77\n")
    assert {line[0] for line in lines} == COMMANDS.keys() - ASKING
    found = run_cut(lines, tmp_path)
    assert {one["line"]: one["events"] for one in found if one["events"]} == {}
    # Tables cannot be told as a log.
    assert {one["line"]: one["errors"] for one in found if one["code"] not in (0, 1) and "export" not in one["line"]} == {}
    rows = [json.loads(line) for line in (tmp_path / ".evalsuite/runs/first/results.jsonl").read_text().splitlines()]
    assert {row["details"].get("gold_from", row["status"]) for row in rows} <= {"file", "gold_fault"}


def test_a_connection_is_opened_for_what_needs_a_query_alone(tmp_path: Path) -> None:
    """The hook hears: an answer that is a query, and a submitted instance whose gold only a query gives, and --live-gold. No other."""
    made = with_logins(make_checkout(tmp_path, "lite", 6))
    write_lines(made.gold_folder / "spider2lite_eval.jsonl", *({"instance_id": id_, "condition_cols": []} for id_ in made.gold))
    submit(made, tmp_path / "sub")
    ids = [id_ for id_ in made.gold if (made.gold_folder / "sql" / f"{id_}.sql").is_file()]
    for table in (made.gold_folder / "exec_result").glob(f"{ids[0]}[._]*csv"):
        table.unlink()
    run = ["run", "sub", "--gold", str(made.gold_folder), "--no-save", "--jobs", "1", "-q"]
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / f"{ids[1]}.sql").write_text("SELECT 1")
    whole, live, others, queries = run_cut(
        [run, [*run, "--live-gold"], [*run, "--filter", f"[!{ids[0][0]}]*"], ["run", "queries", *run[2:], "--mode", "sql"]], tmp_path
    )
    assert (whole["code"], len(whole["events"])) == (4, 1)
    assert len(live["events"]) == len(ids)
    assert others["events"] == []
    assert len(queries["events"]) == 1


def test_placeholders_are_no_login(tmp_path: Path) -> None:
    """With the credentials that are handed out nobody is asked, even where gold is a query, or the answer, or the login is tested."""
    made = make_checkout(tmp_path, "lite", 6)
    for table in (made.gold_folder / "exec_result").iterdir():
        table.unlink()
    submit(made, tmp_path / "sub")
    (tmp_path / "queries").mkdir()
    for id_ in made.gold:
        (tmp_path / "queries" / f"{id_}.sql").write_text("SELECT 1")
    gold = ["--gold", str(made.gold_folder)]
    runs = [["run", name, *gold, "--isolation", how, "--no-save"] for how, name in (("none", "sub"), ("process", "queries"))]
    *done, tested = run_cut([*runs, ["connections", "test", *gold]], tmp_path)
    assert [(one["events"], one["code"]) for one in done] == [([], 4)] * 2
    assert (tested["events"], tested["code"]) == ([], 2)
    assert all("absent, empty or a placeholder: password, user" in one["out"] for one in done[1::2])


@pytest.mark.slow
def test_no_line_of_any_command_asks_the_network(tmp_path: Path) -> None:
    """The same of the table of all commands; those that ask a judge do so of this machine, where the table says that it is."""
    lines = [shlex.split(command.line) for command in EVERY_LINE]
    found = run_cut([line for line in lines if line[0] not in ASKING], make_place(tmp_path))
    assert {one["line"]: one["events"] for one in found if one["events"]} == {}
