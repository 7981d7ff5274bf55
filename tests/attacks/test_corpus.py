"""Every expectation of the corpus of hostile submissions holds, and nothing leaks, dials out or breaks a report on the way."""

import json
import sys
import xml.etree.ElementTree as ElementTree
from itertools import product
from pathlib import Path

import duckdb
import pytest

from evalsuite.cli.showing import run_report
from evalsuite.reports import write
from evalsuite.reports.record import record_of_entry
from evalsuite.runs.history import read_run
from evalsuite.runs.submission_reader import saved_exchanges
from tests.attacks.corpus import CANARY, RULES, TEXTS, Corpus, database_digests, duckdb_survives, json_run, rules_of_runs
from tests.attacks.must import ELSEWHERE, SIDE, WHOLE, Seen, broken_clauses
from tests.properties import is_full

KINDS = {"trees": ("t_",), "sql": ("q_",)}
MATCHERS = ("m_", "n_", "s_")
MIB = 1024


def expectations(corpus: Corpus, kind: str) -> list[dict[str, str]]:
    """The expectations of one kind; `rest` is all that belong to no other."""
    others = tuple(prefix for prefixes in KINDS.values() for prefix in prefixes)
    prefixes = KINDS.get(kind)
    chosen = corpus.expectations
    return [e for e in chosen if (e["instance_id"].startswith(prefixes) if prefixes else not e["instance_id"].startswith(others))]


@pytest.mark.parametrize("kind", [*KINDS, "rest"])
def test_every_expectation_holds(kind: str, corpus: Corpus) -> None:
    """Each instance ends as the corpus says, under both rules (matcher cheats: under strict), within its seconds."""
    chosen = expectations(corpus, kind)
    assert chosen
    failed = []
    for e, rules in product(chosen, RULES):
        if rules == "official" and e["instance_id"].startswith(MATCHERS):
            continue
        seen = corpus.seen(e["set"], e["instance_id"], rules)
        must = e["must"]
        databases = list((corpus.place / "corpus" / e["set"] / e["instance_id"]).glob("*.duckdb")) if "WORKER_DIED" in must else []
        if databases and all(map(duckdb_survives, databases)):
            must = must.replace("WORKER_DIED", "BAD_DUCKDB")
        broken = broken_clauses(e["instance_id"], must, seen)
        if seen.seconds > (most := float(e["max_seconds"])) and (taken := corpus.cpu_seconds(e["set"], e["instance_id"])) > most:
            broken.append(f"took {taken} s of {most:g}")
        if broken:
            failed.append((e["set"], e["instance_id"], rules, broken, seen.value, seen.fault, seen.status, seen.row.get("reason")))
    assert not failed, "\n".join(map(str, failed))


def test_only_honest_queries_leave_a_table(corpus: Corpus) -> None:
    """Of all SQL answers exactly the controls gave a table, which lies beside the results as it was judged.

    One attack may end in time by the corpus ("TIMEOUT or score 0"), and then gives a cell too large to be one: empty.
    """
    for rules in rules_of_runs():
        folder = corpus.out / f"submission.{rules}.run" / "executed"
        tables = {path.name: path.read_text() for path in folder.iterdir()}
        assert '""' in tables.pop("q_sqlite_printf.csv", '""')
        assert tables == {f"q_{e}_ok.csv": "x\n4950\n" for e in ("duckdb", "sqlite")}


def test_the_interpreter_can_say_no() -> None:
    """A verdict other than the expected one is named, for scores, classes and side conditions; a phrase that it was not taught fails."""
    for phrase in ("score 2", "score 0 with error class NO_SUCH_CODE", "score 1; must sing"):
        with pytest.raises(KeyError):
            broken_clauses("x", phrase, Seen(rules="strict", value=1))
    right = Seen(rules="strict", value=1, status="scored", row={"official": 1, "strict": 1, "reason": "x"})
    assert broken_clauses("x", "score 0 with error class BAD_PATH or LIMIT; must not read gold", right) == [
        "score 0 with error class BAD_PATH or LIMIT",
        "must not read gold",
    ]
    other_class = Seen(rules="official", value=0, fault="TOO_LARGE", status="crashed")
    assert broken_clauses("x", "score 0 with error class LIMIT; no crash", other_class) == ["score 0 with error class LIMIT", "no crash"]
    assert set(SIDE).isdisjoint(WHOLE)
    assert set(ELSEWHERE.values()) <= set(globals())


def test_controls_score_as_if_alone(corpus: Corpus) -> None:
    """Between all attacks the honest answers keep their verdicts, under both rules; every gold instance has exactly one line, whatever was
    handed in for it.
    """
    gold = [json.loads(line)["instance_id"] for line in (corpus.place / "corpus/gold/spider2_eval.jsonl").read_text().splitlines()]
    for rules in rules_of_runs():
        rows = corpus.rows(f"submission.{rules}")
        scores = {name: row["score"] for name, row in rows.items() if name.startswith("ctl_")}
        assert scores == {"ctl_table_ok": 1, "ctl_table_wrong": 0, "ctl_num_ok": 1, "ctl_str_ok": 1, "ctl_duck_ok": 1}
        assert not any(row["status"] == "scorer_fault" for row in rows.values())
        assert list(rows) == gold


def test_the_canary_of_gold_is_in_no_output(corpus: Corpus) -> None:
    """No file that a run wrote, no report and neither stream holds gold's secret text."""
    written = [path for path in corpus.out.rglob("*") if path.is_file()]
    assert len(written) > 90
    assert [str(path.relative_to(corpus.out)) for path in written if CANARY.encode() in path.read_bytes()] == []


def test_no_network_call_is_made(corpus: Corpus) -> None:
    """In a network namespace of its own, the whole run and its workers tried not one packet; the same meter sees a single attempt."""
    if corpus.process["meter_works"] is None:
        pytest.skip("this system gives no network namespace to a process (unshare --net)")
    assert corpus.process["meter_works"]
    assert corpus.process["network"] == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
def test_the_parent_stays_small(corpus: Corpus) -> None:
    """Over the whole corpus the parent stays below 300 MiB and never loads duckdb, pandas or numpy."""
    assert 0 < corpus.process["peak_kib"] < 300 * MIB
    assert corpus.process["heavy"] == []


def test_every_run_ends_with_a_known_code(corpus: Corpus) -> None:
    """Each set ends scored, refused or with nothing to score, and never with an internal error."""
    assert len(corpus.process["codes"]) >= 20 * len(rules_of_runs())
    assert set(corpus.process["codes"].values()) == {0, 2, 5}


def test_databases_are_left_as_they_were(corpus: Corpus) -> None:
    """No answer changed a database, and none wrote a file beside it."""
    assert database_digests(corpus.place / "corpus") == json.loads((corpus.place / "databases.json").read_text())
    assert not list(corpus.place.glob("corpus/pwn*"))


def test_a_page_of_hidden_gold_holds_no_gold(corpus: Corpus, tmp_path: Path) -> None:
    """The HTML and Parquet reports of hidden gold name every instance, and neither holds its secret text.

    The test line reports the run of the attacks on reports: the others' files would be opened for their cells again.
    """
    entry = read_run(corpus.out / ("submission.official.run" if is_full() else f"{json_run()}.run"))
    assert entry is not None
    document = run_report(record_of_entry(entry, exchanges=saved_exchanges(entry)), "class")
    write(document, tmp_path / "report.html")
    write(document, tmp_path / "report.parquet")
    rows = duckdb.connect().execute("select * from read_parquet(?)", [str(tmp_path / "report.parquet")]).fetchall()
    for text in ((tmp_path / "report.html").read_text(encoding="utf-8"), repr(rows)):
        assert "r_00" in text
        assert CANARY not in text


@pytest.mark.parametrize("ending", TEXTS)
def test_reports_hold_nothing_that_acts(ending: str, corpus: Corpus) -> None:
    """Every format is written, and no hostile text in it moves a cursor, turns a line round, or is a tag, link or script."""
    for path in (corpus.out / f"submission.official{ending}", corpus.out / "submission.official.stdout"):
        text = path.read_text(encoding="utf-8")
        assert "r_00" in text
        assert sorted({char for char in text if not char.isprintable()} - {"\n"}) == []
    if ending == ".svg":
        tree = ElementTree.parse(corpus.out / f"submission.official{ending}")
        links = [value for node in tree.iter() for key, value in node.attrib.items() if key.endswith("href")]
        assert [link for link in links if not link.startswith("#")] == []


def test_the_data_files_hold_nothing_that_acts(corpus: Corpus) -> None:
    """results.jsonl, run.json and --json stay one line a result and free of raw control characters: they end up on screens too."""
    for name in ("submission.official.run/results.jsonl", "submission.official.run/run.json", f"{json_run()}.stdout"):
        text = (corpus.out / name).read_bytes().decode("utf-8")
        assert sorted({char for char in text if not char.isprintable()} - {"\n"}) == []
        assert len(text.splitlines()) == text.count("\n")


def test_one_row_stays_one_row(corpus: Corpus) -> None:
    """Each instance that is shown begins exactly one line of the report, and no answer begins a line of its own."""
    lines = (corpus.out / "submission.official.txt").read_text(encoding="utf-8").split("\n")
    table = lines[2 : lines.index("", 2)]
    # Instances of equal faults share a line: their names stand before it, with commas between.
    begins = [line.split()[0].rstrip(",") for line in table]
    shown = [name for name in corpus.rows("submission.official") if name in begins]
    assert len([name for name in shown if name.startswith("r_")]) == 18
    assert [name for name in shown if begins.count(name) != 1] == []
    assert begins[0] == "instance"
    assert set(begins[1:]) - {"..."} <= set(corpus.rows("submission.official"))
    assert not any(line.lstrip().startswith(("PASS", "score: 1.0", "| a | b |")) for line in lines)
