"""`evalsuite gold`, `schema` and `validate`: what is wrong with gold or a submission is named line by line, before anything is scored."""

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pytest

from evalsuite.analysis.gold_checks.lint import REFUSING, lint
from evalsuite.analysis.gold_checks.readiness import check_gold
from evalsuite.cli import main
from evalsuite.core.errors import GoldError
from evalsuite.core.types import METADATA
from evalsuite.readers.gold_files import gold_hash
from evalsuite.runs.history import load_self_score
from evalsuite.sandbox.rpc_client import KilledError, RpcClient
from tests.analysis.gold_checks.gold_folders import Made, clean
from tests.analysis.gold_checks.lint_plants import PLANTED, Plant
from tests.cli.test_run import as_json, called, lacks, said, write_lines
from tests.conftest import ROOT, copy_of
from tests.processes import finished

pytestmark = pytest.mark.usefixtures("shared_fork_server")


QUESTION = "In which country was the first store abroad opened?"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Clean gold, and an empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return clean()


def only(made: Made, *ids: str) -> None:
    """Leave these instances alone in the made gold."""
    made.entries = {id_: made.entries[id_] for id_ in ids}
    made.files = {name: content for name, content in made.files.items() if name.partition("/")[0] in ids}
    made.suite, made.database = "name: made\n", made.database if "d1" in ids else []


def test_check_prints_and_keeps_the_ceiling(made: Made, tmp_path: Path) -> None:
    """What gold scores is printed, one object with --json, kept by gold's hash unless --no-save; below the gate exit 1."""
    made.parameters("n1")["gold"] = -5
    only(made, "t1", "n1", "c1")
    gold = made.write(tmp_path)
    shown = as_json("gold check gold --isolation none --no-save --fail-under 0.7", code=1)
    assert (shown["official"], shown["strict"], shown["n_tried"]) == (2, 3, 3)
    assert shown["unsatisfied"][0]["rules"] == ["official"]
    assert not (tmp_path / ".evalsuite").exists()
    assert main(["gold", "check", "gold", "--isolation", "none", "--no-save", "--fail-under", "0.6"]) == 0
    out = said("gold check gold --isolation none", code=1)
    assert "gold/made_eval.jsonl:2: n1: number_match, official: no number within" in out
    assert out.endswith("\nfailed: no full marks under its own rules: n1 (exit 1)\n")
    assert "gold scores 2/3 under official, 3/3 under strict" in out
    kept = load_self_score(gold_hash(gold))
    assert kept is not None
    assert (kept.official, kept.strict, kept.unsatisfied) == (2, 3, ("n1",))


def test_errata_answer_for_gold_while_they_are_applied(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An applied entry is enough, an expired or stale one is not."""
    made.parameters("n1")["gold"] = -5
    only(made, "n1")
    made.write(tmp_path)
    check = ["gold", "check", "gold", "--isolation", "none", "--no-save"]
    assert main(["gold", "errata", "gold", "--entry", "n1"]) == 0
    signed = "author: M. Rossi\n  reason: a loss\n  evidence: https://example.org/1"
    entry = capsys.readouterr().out.replace("author:\n  reason:\n  evidence: https://", signed)
    errata = tmp_path / "gold" / "gold.errata.yaml"
    errata.write_text(entry)
    assert "   n1: gold/gold.errata.yaml:1\n" in said(*check)
    errata.write_text(re.sub("expires: .*", "expires: 2020-01-01", entry))
    assert main(check) == 1
    errata.write_text(re.sub("gold: .*", 'gold: "0123456789ab"', entry))
    assert main(check) == 1


def test_check_computes_gold_that_is_a_query(made: Made, tmp_path: Path) -> None:
    """With a connection the query's result is handed in; without one it is not tried; a query that fails or is gone fails."""
    (tmp_path / "db").mkdir()
    with sqlite3.connect(tmp_path / "db" / "shop.sqlite") as database:
        database.execute("CREATE TABLE sales AS SELECT 7.5 AS amount")
    database.close()
    only(made, "t1")
    for id_, func in (("l1", "number_match"), ("l2", "table_match")):
        made.entries[id_] = {"instance_id": id_, "evaluation": {"func": func, "parameters": {}, "temporal": True}}
        made.files[f"{id_}/gold.sql"] = "SELECT sum(amount) AS total FROM sales"
    made.files["connections.yaml"] = "shop: {engine: sqlite, database: shop.sqlite, prefix: l}\n"
    gold = made.write(tmp_path)
    check = ["gold", "check", "gold", "--isolation", "none", "--no-save"]
    out = said(*check)
    assert "gold/made_eval.jsonl:2: l1: number_match: connection 'shop': no gold/shop.sqlite" in out
    assert "gold scores 1/1 under official, 1/1 under strict (2 more not tried)" in out
    assert "done: every gold that was tried gets full marks" in out
    assert "gold scores 3/3 under official, 3/3 under strict\n" in said(*check, "--databases", "db")
    assert main(["gold", "lint", "gold", "--strict"]) == 0
    (gold / "l1" / "gold.sql").write_text("SELECT nothing FROM nowhere")
    (gold / "l2" / "gold.sql").unlink()
    out = said(*check, "--databases", "db", code=1)
    assert not lacks(out, "failed: no full marks under its own rules: l1, l2 (exit 1)", "SQL_ERROR")
    assert "failed: no full marks under its own rules: l2 (exit 1)" in said(*check, code=1)
    assert "missing-file: l2: gold.sql" in said("gold lint gold", code=1)


@pytest.mark.parametrize(("id_", "code"), [("n1", "negative-number"), ("t1", "exclude-text"), ("n1", "percentage-and")])
def test_a_known_trait_of_official_can_be_answered_for(
    id_: str, code: str, made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Gold that official refuses fails until the instance names that finding of lint; another code does not do."""
    next(plant for _, plant, planted in PLANTED if planted == code)(made)
    only(made, id_)
    gold = made.write(tmp_path)
    for codes, end in ((["short-gold", "missing-file"], 1), ([code], 0)):
        made.entries[id_]["lint_ignore"] = codes
        (gold / "made_eval.jsonl").write_text("".join(line + "\n" for line in made.lines()))
        assert main(["gold", "check", "gold", "--isolation", "none", "--no-save", "--json"]) == end
        assert json.loads(capsys.readouterr().out)["below"] == [id_]


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant", [plant for _, plant, code in PLANTED if code != "bad-suite"], ids=[row[0] for row in PLANTED if row[2] != "bad-suite"]
)
def test_whatever_is_refused_has_a_code_to_answer_with(plant: Plant, made: Made, tmp_path: Path) -> None:
    """Wherever gold does not take itself lint finds an error there, or one of the codes that `gold check` lets an instance name."""
    plant(made)
    gold = made.write(tmp_path)
    try:
        below = set(check_gold(gold, isolation="none").below)
    except GoldError:
        return
    named = {found.instance_id for found in lint(gold).findings if found.severity == "error" or found.code in REFUSING}
    assert below <= named


def test_lint_formats_and_exit_codes(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors end with 1, warnings only under --strict; JSON is one object, annotations name a file that is there, line and code."""
    made.parameters("c1")["condition_cols"] = [7]
    made.parameters("t1")["gold"] = "Portugal\x1b[31m "
    made.write(tmp_path)
    out = said("gold lint gold", code=1)
    assert "gold/made_eval.jsonl:3: error column-out-of-range: c1: cities.csv: condition_cols names column 7, but the last one is 2" in out
    assert "\x1b" not in out
    assert out.endswith(", --fix shows a repair of 1 (exit 1)\n")
    shown = json.loads(said("gold lint gold --format json --ignore column-out-of-range"))
    assert shown["counts"]["error"] == 0
    assert shown["n_ignored"] == 1
    assert main(["gold", "lint", "gold", "--ignore", "column-out-of-range", "--strict"]) == 1
    capsys.readouterr()
    main(["gold", "lint", "gold", "--format", "github"])
    first = capsys.readouterr().out.splitlines()
    assert "::error file=gold/made_eval.jsonl,line=3,title=gold lint%3A column-out-of-range::c1: cities.csv" in "\n".join(first)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in first)


def test_the_diff_of_fix_can_be_applied_by_git(made: Made, tmp_path: Path) -> None:
    """What --fix prints is a patch that git takes, and does what --write does."""
    made.parameters("t1")["exclude"] = "Spain"
    gold = made.write(tmp_path)
    patch = said("gold lint gold --fix")
    finished(["git", "apply", "--unsafe-paths", "-"], text=patch, check=True, cwd=tmp_path)
    by_git = (gold / "made_eval.jsonl").read_bytes()
    (gold / "made_eval.jsonl").write_text("".join(line + "\n" for line in made.lines()))
    assert main(["gold", "lint", "gold", "--fix", "--write"]) == 0
    assert (gold / "made_eval.jsonl").read_bytes() == by_git
    assert b'"exclude": ["Spain"]' in by_git


def test_contamination_and_the_examples_gold(made: Made, tmp_path: Path) -> None:
    """A question in a corpus is named with file and line, 1 over the gate; the project's gold answers for what is wrong on purpose."""
    made.write(tmp_path)
    (tmp_path / "corpus.txt").write_text(f"noise\n{QUESTION}\n")
    out = said("gold contamination gold --against corpus.txt")
    assert "100.0 %  t1  instruction" in out
    assert "longest: 9 words at corpus.txt:2: in which country" in out
    assert "1 of 7 instances share n-grams of 13 words" in out
    (found,) = as_json("gold contamination gold --against corpus.txt --fail-over 0.5", code=1)["overlaps"]
    assert (found["instance_id"], found["share"], found["longest"]["line"]) == ("t1", 1.0, 2)
    assert main(["gold", "check", str(ROOT / "gold"), "--isolation", "none", "--no-save"]) == 0


Capture = pytest.CaptureFixture[str]
RECORDS = [{"id": "a", "n": 1, "phase": "solid"}, {"id": "b", "n": 2.5, "phase": None}]


def written(folder: Path, name: str, value: Any) -> str:
    """The path of a file holding a JSON value, or of a JSONL holding the values of a list."""
    path = folder / name
    texts = [json.dumps(record) for record in value] if name.endswith(".jsonl") else [json.dumps(value)]
    path.write_text("\n".join(texts) + "\n")
    return str(path)


def shown(capsys: Capture, *words: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `evalsuite schema`."""
    code = main(["schema", *words])
    return code, *capsys.readouterr()


def test_infer_and_check_of_fitting_gold(tmp_path: Path, capsys: Capture) -> None:
    """The first value decides, --widen lets all; gold that fits is exit 0 and one line, which claims no types unless they were checked."""
    gold = written(tmp_path, "gold.jsonl", RECORDS)
    code, out, _ = shown(capsys, "infer", gold)
    assert code == 0
    assert json.loads(out)["properties"] == {"id": {"type": "string"}, "n": {"type": "integer"}, "phase": {"type": "string"}}
    code, out, _ = shown(capsys, "infer", gold, "--widen", "--id-field", "id")
    assert json.loads(out)["properties"] == {"n": {"type": "number"}, "phase": {"type": ["string", "null"]}}
    schema = {"type": "object", "properties": {"n": {"type": "number"}, "phase": {"type": ["string", "null"]}}}
    words = (written(tmp_path, "s.json", schema), "--gold", written(tmp_path, "gold.jsonl", RECORDS), "--id-field", "id")
    line = "2 records, 0 findings: gold fits the schema"
    assert shown(capsys, "check", *words, "--strict-types") == (0, f"{line}\n", "")
    assert shown(capsys, "check", *words) == (0, f"{line}; declared types were not checked (--strict-types)\n", "")


def test_check_lists_every_finding(tmp_path: Path, capsys: Capture) -> None:
    """With record and path, exit 1: an id twice, a key or option that nobody reads, a value that its own comparator refuses."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "array", "items": {"type": "string"}}}}
    gold = [{"id": 7, "n": "1", "x": 0, "y": 0, "t": []}, {"id": 7, "n": 2}]
    words = (written(tmp_path, "s.json", schema), "--gold", written(tmp_path, "gold.jsonl", gold), "--id-field", "id")
    code, out, err = shown(capsys, "check", *words, "--strict-types", "--json")
    assert (code, err) == (1, "")
    found = [(finding["record"], finding["path"], finding["kind"]) for finding in json.loads(out)["findings"]]
    assert sorted(found) == [(7, "id", "id"), (7, "n", "type"), (7, "t", "missing"), (7, "x", "unknown_field"), (7, "y", "unknown_field")]
    code, out, _ = shown(capsys, "check", *words, "--allow-missing")
    *lines, last = out.splitlines()
    assert (code, [line.split(": ")[:2] for line in lines]) == (1, [["record 7", "x"], ["record 7", "y"], ["record 7", "id"]])
    assert last == "2 records, 3 findings (exit 1)"
    leaf = {"type": "number", "x-eval-compare": {"numeric": {"tolerence": {"abs": 1}}}, "x-eval-wieght": 2}
    schema = {"type": "object", "properties": {"n": leaf}}
    words = (written(tmp_path, "s.json", schema), "--gold", written(tmp_path, "gold.jsonl", [{"n": 1}]))
    code, out, _ = shown(capsys, "check", *words)
    assert (code, out.splitlines()) == (
        1,
        [
            "schema: n: unknown key 'x-eval-wieght'; did you mean 'x-eval-weight'?",
            "schema: n: numeric takes no option 'tolerence'; did you mean 'tolerance'?",
            "1 record, 2 findings (exit 1)",
        ],
    )
    code, out, _ = shown(capsys, "check", *words, "--json")
    assert (code, "x-eval-wieght" in out, "tolerence" in out) == (1, True, True)
    schema = {"type": "object", "properties": {"m": {"type": "string", "x-eval-compare": {"oneof": {"values": ["CVD", "PVD"]}}}}}
    gold = [{"m": "CVD"}, {"m": "ALD"}, {"m": {"x-eval-any-of": ["PVD", "MBE"]}}]
    code, out, _ = shown(capsys, "check", written(tmp_path, "s.json", schema), "--gold", written(tmp_path, "gold.jsonl", gold), "--json")
    found = json.loads(out)["findings"]
    assert (code, [(f["record"], f["path"], f["kind"]) for f in found]) == (1, [(1, "m", "refused"), (2, "m", "refused")])
    assert "'ALD'" in found[0]["message"]
    fitting = {"type": "object", "properties": {"q": {"type": "string", "x-eval-compare": "quantity"}}}
    words = (written(tmp_path, "q.json", fitting), "--gold", written(tmp_path, "q.jsonl", [{"q": "10 sccm"}, {"q": "about 5"}]))
    assert shown(capsys, "check", *words)[0] == 0


@pytest.mark.parametrize(
    ("words", "content", "message"),
    [
        ("infer {}", "[]", "there is no record"),
        ("infer {}", "{", "BAD_JSON"),
        ("infer nowhere.json", "", "MISSING_FILE: nowhere.json"),
        ("resolve {}", '{"$ref": "#/$defs/no"}', "#/$defs/no"),
        ("annotate {}", "[1]", "a schema is a JSON object"),
        (
            "check {} --gold {}",
            '{"type": "object", "properties": {"a": {"type": "string", "x-eval-compare": "exakt"}}}',
            "a: Unknown comparator",
        ),
    ],
)
def test_faults_exit_2(words: str, content: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    """What cannot be read or used is one `error:` line with the file, and nothing stands on stdout."""
    path = tmp_path / "x.json"
    path.write_text(content)
    code, out, err = shown(capsys, *(word.format(path) for word in words.split()))
    assert (code, out) == (2, "")
    error = next(line for line in err.splitlines() if not line.startswith("note: "))
    assert error.startswith("error: ")
    assert message in error


NAME = "results_metadata.jsonl"


def line(instance: str, value: object, kind: str = "file") -> dict[str, object]:
    """One object of results_metadata.jsonl."""
    return {"instance_id": instance, "answer_type": kind, "answer_or_path": value}


def gold_line(instance: str, func: str, **parameters: object) -> dict[str, object]:
    """One object of gold's spec."""
    return {"instance_id": instance, "evaluation": {"func": func, "parameters": parameters}}


@copy_of
def place(place: Path) -> None:
    """A submission with a text, a table, a database, two tables, all in order; gold's spec for the same, without any gold file."""
    folder = place / "sub"
    rows = [line("t", "Paris", "answer"), line("f", "r.csv"), line("d", "x.duckdb"), line("m", ["a.csv", "b.csv"], "files")]
    write_lines(folder / "results_metadata.jsonl", *rows)
    for name in ("f/r.csv", "m/a.csv", "m/b.csv", "d/none"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("a,b\n1,2\n")
    with duckdb.connect(str(folder / "d" / "x.duckdb")) as connection:
        connection.execute("CREATE TABLE orders (n INTEGER)")
        connection.execute("CREATE VIEW seen AS SELECT 1 AS n")
    spec = [
        gold_line("t", "string_match", gold="Paris"),
        gold_line("f", "table_match", gold="r.csv"),
        gold_line("d", "duckdb_match", gold="g.duckdb", condition_tabs=["orders"]),
        gold_line("m", "tables_match", gold=["a.csv", "b.csv"]),
    ]
    write_lines(place / "gold" / "toy_eval.jsonl", *spec)


@pytest.fixture
def sub(place: Path) -> Path:
    """The submission."""
    return place / "sub"


@pytest.fixture
def gold(place: Path) -> Path:
    """The folder of gold."""
    return place / "gold"


def leave(sub: Path, gold: Path, *ids: str) -> None:
    """Leave these instances alone on both sides."""
    for path in (sub / NAME, gold / "toy_eval.jsonl"):
        write_lines(path, *(text for text in path.read_text().splitlines() if json.loads(text)["instance_id"] in ids))


def found(*arguments: object) -> tuple[int, list[str]]:
    """(exit code, `place id code` of each problem) by --json."""
    done = called("validate", *arguments, "--json")
    told = json.loads(done.stdout)
    assert told["ready"] == (not told["problems"]) == (done.returncode == 0)
    return done.returncode, [f"{p['where'].rpartition('/')[2]} {p['instance_id']} {p['code']}" for p in told["problems"]]


def test_an_archive_is_checked_like_its_folder(sub: Path, gold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zipped or as a tar, with a folder around it or without; a worker that the system kills is no problem of the submission."""
    leave(sub, gold, "t", "f")
    (sub / "f" / "r.csv").write_bytes(b"a\xff\xff\n")
    faults = found(sub, "--gold", gold)
    assert faults == (1, [f"{NAME}:2 f BAD_ENCODING"])
    for name, kind, root in (("a", "zip", sub), ("b", "zip", sub.parent), ("c", "gztar", sub)):
        packed = shutil.make_archive(str(gold.parent / name), kind, root, None if root == sub else sub.name)
        assert found(packed, "--gold", gold) == faults
    (gold.parent / "a.zip").write_bytes(b"PK")
    assert "a.zip: " in said("validate", gold.parent / "a.zip", code=2)
    killed = mock.Mock(side_effect=KilledError("read the file"))
    monkeypatch.setattr(RpcClient, "call", killed)
    says = said("validate", sub, code=2)
    assert not lacks(says, "results_metadata.jsonl:2: f: the operating system killed the worker that read the file", "with more memory")


def test_a_big_table_and_an_empty_submission(sub: Path) -> None:
    """The last line of many is read; metadata without a line is a problem, a folder that no line names a note."""
    (sub / "f" / "r.csv").write_bytes(b"a,b\n" + b"1,2\n" * 100_000 + b"1,\xff\n")
    assert found(sub) == (1, ["results_metadata.jsonl:2 f BAD_ENCODING"])
    (sub / "results_metadata.jsonl").write_text("")
    out = said("validate", sub, code=1)
    assert not lacks(out, "no line with an instance_id", "note: f/: no line of results_metadata.jsonl names this folder")
    assert out.splitlines()[-1] == "not ready: 1 problem (exit 1)"


def test_lines_are_checked(sub: Path, gold: Path) -> None:
    """The first hundred ids that gold lacks are named, the rest counted; broken JSON, no id, no known type, an id twice are problems."""
    leave(sub, gold, "t")
    write_lines(sub / NAME, line("t", "Paris", "answer"), *(line(f"u{n}", "none.csv") for n in range(300)))
    code, problems = found(sub, "--gold", gold)
    assert (code, len(problems)) == (1, 101)
    assert sorted(problems) == sorted([f"{NAME}:{n + 2} u{n} UNKNOWN_ID" for n in range(100)] + [f"{METADATA}  UNKNOWN_ID"])
    out = said("validate", sub, "--gold", gold, code=1)
    assert not lacks(out, "200 more lines name such ids", "1 of 1 answers (1 answer), 1 ready")
    rows = [
        "{not json",
        {"answer_type": "answer"},
        line("k", "x", "fille"),
        line("t", "Rome", "answer"),
        line("e", "x", "answer") | {"z": 1},
    ]
    write_lines(sub / NAME, line("t", "Paris", "answer"), *rows)
    expected = [f"{NAME}:1 t DUPLICATE_ID", f"{NAME}:2  BAD_METADATA", f"{NAME}:3  BAD_METADATA", f"{NAME}:4 k BAD_METADATA"]
    assert found(sub) == (1, expected)
    assert "note: results_metadata.jsonl:6: key 'z' is not read" in said("validate", sub, code=1)


def test_names_that_look_alike_are_told_apart(sub: Path, gold: Path) -> None:
    """A folder, id or file in another Unicode form or case, or with a space, is named, unless it is another id's own."""
    ids = ("\xfc", "F", "m", "d", "D")
    write_lines(gold / "toy_eval.jsonl", *(gold_line(name, "table_match", gold="r.csv") for name in ids))
    write_lines(sub / NAME, *(line(name, "r.csv") for name in ids))
    (sub / "m").rename(sub / " m")
    (sub / "u\u0308").mkdir()
    hints = [f"rename the folder '{name}' to the id" for name in ("u\u0308", "f", " m")]
    out = said("validate", sub, "--gold", gold, code=1)
    assert not lacks(out, *hints)
    assert "rename the folder 'd'" not in out
    out = " ".join(said("run", sub, "--gold", gold, "--no-save").split())
    assert "(MISSING_FILE): 'u\u0308' for '\xfc', 'f' for 'F', ' m' for 'm'; rename it to the id" in out
    write_lines(gold / "toy_eval.jsonl", gold_line("\xfc", "table_match", gold="r.csv"), gold_line("f", "table_match", gold="r.csv"))
    (sub / "f" / "e\u0301.csv").write_text("a\n")
    for name, hint in (
        ("R.CSV", "did you mean 'r.csv'?"),
        ("r.txt", "did you mean 'r.csv'?"),
        ("f/r.csv", "did you mean 'r.csv'?"),
        ("\xe9.csv", "another Unicode form"),
    ):
        write_lines(sub / NAME, line("u\u0308", "r.csv"), line("f", name))
        same = "gold's id has the same letters in another Unicode form"
        assert not lacks(said("validate", sub, "--gold", gold, code=1), hint, same)
    assert same in said("run", sub, "--gold", gold, "--no-save")
    (sub / "f").rename(sub / "other")
    (sub / "f").symlink_to(sub / "other")
    assert "did you mean" not in said("validate", sub, "--gold", gold, code=1)


def test_gold_adds_ids_and_answer_types(sub: Path, gold: Path) -> None:
    """An id that gold lacks, a type or file that no check takes, a view for a table, a database for a CSV, an id not handed in."""
    rows = [line("t", "x", "answer"), line("f", "x.duckdb"), line("d", "x.duckdb"), line("m", ["a.csv"], "files")]
    write_lines(sub / "results_metadata.jsonl", *rows)
    (sub / "f" / "x.duckdb").write_bytes((sub / "d" / "x.duckdb").read_bytes())
    code, problems = found(sub, "--gold", gold)
    assert (code, len(problems), problems[0].split()[1]) == (1, 1, "f")
    assert found(sub) == (0, [])
    rows = [line("tt", "x", "answer"), line("f", "text", "answer"), line("d", "x.duckdb"), line("m", "a.csv")]
    write_lines(sub / "results_metadata.jsonl", *rows)
    spec = (gold / "toy_eval.jsonl").read_text().replace('"orders"', '"seen"')
    (gold / "toy_eval.jsonl").write_text(spec)
    code, problems = found(sub, "--gold", gold)
    assert code == 1
    assert problems == [
        f"{NAME}:1 tt UNKNOWN_ID",
        f"{NAME}:2 f WRONG_ANSWER_TYPE",
        f"{NAME}:3 d NOT_A_TABLE",
        f"{NAME}:4 m WRONG_ANSWER_TYPE",
        "toy_eval.jsonl:1 t MISSING_INSTANCE",
    ]


def test_no_submission_and_queries_of_instances(tmp_path: Path) -> None:
    """What is no folder is exit 2; a query is looked at as text where gold's side maps it to a connection, elsewhere SQL is refused."""
    ended = [called("validate", tmp_path / "nope"), called("validate", tmp_path)]
    write_lines(tmp_path / "results_metadata.jsonl", line("t", "x", "answer"))
    ended.append(called("validate", tmp_path, "--gold", tmp_path / "nope"))
    assert [(done.returncode, done.stdout) for done in ended] == [(2, "")] * 3
    rows = [gold_line(name, "table_match", gold="g.csv") for name in ("good", "bad", "gone", "unmapped")]
    write_lines(tmp_path / "gold" / "n_eval.jsonl", *rows)
    described = "s: {engine: duckdb, database: s.duckdb, instances: [good, bad, gone]}\n"
    (tmp_path / "gold" / "connections.yaml").write_text(described)
    sub = tmp_path / "sub"
    write_lines(sub / "results_metadata.jsonl", *(line(row["instance_id"], "q.sql") for row in rows))  # type: ignore[arg-type]
    for name, text in (("good", "```sql\nSELECT 1;\n```"), ("bad", "DROP TABLE t"), ("unmapped", "SELECT 1")):
        (sub / name).mkdir()
        (sub / name / "q.sql").write_text(text)
    found = {item["instance_id"]: item["code"] for item in as_json("validate", sub, "--gold", tmp_path / "gold", code=1)["problems"]}
    assert found == {"bad": "SQL_NOT_ALLOWED", "gone": "MISSING_FILE", "unmapped": "SQL_NOT_ALLOWED"}
    alone = as_json("validate", sub, code=1)
    assert {item["instance_id"]: item["code"] for item in alone["problems"]} == {"gone": "MISSING_FILE"}
    assert alone["notes"] == ["3 answers in SQL: only gold says whether SQL is accepted (--gold FOLDER)"]
    assert (alone["n_answers"], alone["n_ready"], alone["n_gold"]) == ({"answer": 0, "file": 4, "files": 0}, 3, None)
