"""What every scorer of the table does, and what scorers say to the letter: both verdicts, reasons, flips, details, and problems."""

import inspect
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalsuite
from evalsuite.core.errors import FAULTS, EvalsuiteError, FaultError
from evalsuite.core.registry import Scorer, check_parameters
from evalsuite.core.scores import SQLITE_CELLS
from evalsuite.core.types import Score, Table
from evalsuite.reports.score_text import help_of
from evalsuite.scorers import SCORERS
from evalsuite.scorers.judge.client import PROVIDERS
from evalsuite.scorers.judge.transport import Request
from evalsuite.scorers.metrics.rouge import stem
from tests.duckdb_files import opened
from tests.properties import LETTERS, examples

JUNK = {
    "empty": b"",
    "one line end": b"\n",
    "NUL": b"\0" * 64,
    "not UTF-8": b"a,b\n\xff\xfe,1\n",
    "quote left open": b'a,b\n"1,2\n',
    "ragged": b"a,b\n1,2,3,4\n5\n",
    "only a header": b"a,b\n",
    "magic of DuckDB and no more": b"\0" * 8 + b"DUCK" + b"\0" * 200,
    "magic of gzip": b"\x1f\x8b\x08\x00rest",
    "JSON": b'{"a": [1, 2, {"b": null}]}',
}


def csv_file(folder: Path) -> Path:
    """A small table of texts, numbers, a date and an empty cell."""
    path = folder / "gold.csv"
    path.write_text("city,n,share,day\nOslo,1,0.25,2024-01-31\nRome,2,12.5,\nLima,-3,1e6,2024-02-29\n")
    return path


def database(folder: Path) -> Path:
    """A small database of one table with several types and a NULL."""
    path = folder / "gold.duckdb"
    if not path.exists():
        with opened(path) as connection:
            connection.execute("CREATE TABLE t (city VARCHAR, n INTEGER, share DECIMAL(8, 2), day DATE)")
            connection.execute("INSERT INTO t VALUES ('Oslo', 1, 0.25, DATE '2024-01-31'), ('Rome', 2, 12.50, NULL)")
    return path


def sqlite(folder: Path) -> Path:
    """A small SQLite database, of the name that the example has, with one table."""
    place = folder / "shop.sqlite"
    if not place.exists():
        connection = sqlite3.connect(place)
        connection.execute("create table sale (day text)")
        connection.close()
    return place


# Parameters of an example that go with the example's own files.
OF_ONE_FILE = ("condition_cols", "condition_tabs", "ignore_order", "ignore_orders")
# Each call starts an interpreter: too slow for 60 examples, and tested in its own room.
RUNS_CODE = ("python_unit_testing", "pass_at_k")
# What a scorer reads -> how to make one answer that is gold itself.
GOLD: dict[str, Callable[[Path], Any]] = {
    "text": lambda _: "17.5",
    "table": csv_file,
    "tables": lambda folder: [csv_file(folder), csv_file(folder)],
    "database": database,
    "query": lambda folder: "SELECT day FROM sale" if sqlite(folder).exists() else "",
}


def as_parameter(value: Any) -> Any:
    """Paths as the texts a gold file would hold; a tree as it is."""
    if isinstance(value, dict):
        return value
    return [str(item) for item in value] if isinstance(value, list) else str(value)


def reading(*, files: bool) -> list[str]:
    """The scorers that read files, or those that read texts."""
    known = [name for name in SCORERS.names() if name not in RUNS_CODE]
    wanted = {"table", "tables", "database"} if files else {"text", "number"}
    return [name for name in known if SCORERS.load(name).marker.reads in wanted]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the small files of this module lie."""
    return tmp_path_factory.mktemp("contract")


@pytest.fixture(params=SCORERS.names())
def entry(request: pytest.FixtureRequest) -> Scorer:
    """Each scorer of the table."""
    return SCORERS.load(request.param)


def test_it_explains_itself(entry: Scorer) -> None:
    """It has a one-line summary, a docstring that says what comes back under both rules, a meaning for each parameter, a good example."""
    about = help_of(entry)
    assert about.summary
    assert "\n" not in about.summary
    assert about.says
    assert set(about.rules) == {"official", "strict"}
    assert [parameter.name for parameter in about.parameters if not parameter.meaning] == []
    assert [parameter.name for parameter in about.parameters] == list(entry.parameters)
    assert about.example["func"] == entry.name
    assert check_parameters(entry, about.example["parameters"]) == []


def options(entry: Scorer) -> dict[str, Any]:
    """The parameters of the scorer's own example, gold left out; skips where they name an extra that is not installed."""
    if entry.name == "bertscore":
        pytest.importorskip("torch", reason="needs the extra bertscore")
    return {key: value for key, value in help_of(entry).example["parameters"].items() if key not in ("gold", *OF_ONE_FILE)}


def test_gold_is_right(entry: Scorer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold handed in as the answer gets 1 under both rules, without a flip or a fault; what has no gold gets some score or none."""
    if entry.marker.reads == "batch":
        pytest.skip("needs a judge: tests/scorers/judge asks one over HTTP")
    if entry.marker.reads == "query":
        # Its example names a database from where one stands.
        monkeypatch.chdir(folder)
    answer = GOLD[entry.marker.reads](folder) if entry.marker.reads != "tree" else help_of(entry).example["parameters"]["gold"]
    given = {"gold": as_parameter(answer)} if "gold" in entry.parameters else {}
    score = evalsuite.score(entry.name, answer, allow_programs=True, **options(entry), **given)
    # What compares with gold has no default for it.
    if "gold" in entry.parameters and entry.parameters["gold"].default is inspect.Parameter.empty:
        assert (score.official, score.strict, score.flip, score.fault, score.strict_fault) == (1, 1, "", None, None)
    else:
        assert holds_the_contract(score)


def holds_the_contract(score: Score) -> bool:
    """Whether a score is one: values in [0, 1], or None with a fault or a raw value without bounds; and a reason."""
    judged = all(value is None or 0 <= value <= 1 for value in (score.official, score.strict))
    told = score.official is not None or score.fault is not None or "raw" in score.details
    return judged and bool(score.reason) and told


@pytest.mark.parametrize("name", reading(files=False))
@examples(60)
@given(text=st.one_of(st.text(LETTERS), st.text(alphabet="0123456789.,-+%eE/: $€٣½", max_size=40)))
def test_any_text_gets_a_score(name: str, text: str) -> None:
    """No text makes a text scorer raise, whatever it holds."""
    entry = SCORERS.load(name)
    given_gold = {"gold": "17.5"} if "gold" in entry.parameters else {}
    assert holds_the_contract(evalsuite.score(name, text, **options(entry), **given_gold))


@pytest.mark.parametrize("junk", JUNK, ids=str)
@pytest.mark.parametrize("name", reading(files=True))
def test_any_file_gets_a_score_or_a_fault(name: str, junk: str, folder: Path, tmp_path: Path) -> None:
    """A junk file handed in is scored, or refused with a fault code; it is never right."""
    reads = SCORERS.load(name).marker.reads
    gold = GOLD[reads](folder)
    path = tmp_path / ("junk.duckdb" if reads == "database" else "junk.csv")
    path.write_bytes(JUNK[junk])
    try:
        score = evalsuite.score(name, [path] * len(gold) if isinstance(gold, list) else path, gold=as_parameter(gold))
    except FaultError as error:
        score = Score(official=0, strict=0, reason=FAULTS[error.fault.code].message)
    assert holds_the_contract(score)
    assert (score.official, score.strict) == (0, 0)


TABLE = Path(__file__).with_name("scores.txt")
OF_TREES = ("n_records", "n_rows", "n_wrong", "n_repaired", "warnings", "per_type", "counts", "margin")


def rounded(value: Any) -> Any:
    """Numbers with six decimals, at any depth."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


def said_of(score: Score) -> list[Any]:
    """Verdicts, reasons, flip and faults."""
    faults = [fault and fault.code for fault in (score.fault, score.strict_fault)]
    return [score.official, score.strict, score.reason, score.strict_reason, score.flip, *faults]


def result_of(header: list[str], rows: list[list[Any]]) -> Table:
    """The result of a query."""
    columns = tuple(tuple(row[at] for row in rows) for at in range(len(header)))
    return Table(header=tuple(header), columns=columns, n_rows=len(rows), types=(SQLITE_CELLS,) * len(header))


def score_tree(name: str, answer: Any, parameters: Any) -> list[Any]:
    """What a scorer of trees says."""
    score = SCORERS.load(name).function(answer, **parameters)
    details = {key: score.details[key] for key in OF_TREES if key in score.details}
    return [*said_of(score), details, score.details.get("units", {}).get("scores")]


def score_query(gold: str, answers: Any, golds: Any, evaluator: str) -> list[Any]:
    """What `sql_match` says of results."""
    results = [result_of(*each) for each in answers], [result_of(*each) for each in golds]
    score = SCORERS.load("sql_match").score(results, gold=gold, database="d", evaluator=evaluator)
    return [*said_of(score), score.details["soft_f1"]]


def check(name: str, parameters: Any) -> list[Any]:
    """The problems of parameters, with the rules that they block."""
    problems = check_parameters(SCORERS.load(name), parameters)
    return [[each.code, each.message, each.hint, sorted(each.blocks)] for each in problems]


def make_requests(name: str, requests: Any, addresses: list[str]) -> Any:
    """The bodies of requests to a provider, where they go, and its headers."""
    provider = PROVIDERS[name].load()
    bodies = [provider.body(Request(model=model, messages=tuple(messages), parameters=each)) for model, messages, each in requests]
    return [bodies, [provider.address(base, "m/1") for base in addresses], provider.key_header, dict(provider.headers), provider.limit_key]


def read_reply(name: str, data: Any) -> Any:
    """The reply in what a provider sends."""
    reply = PROVIDERS[name].load().reply(json.dumps(data).encode())
    return reply and reply.to_json()


SAY = {
    "score": lambda name, answer, how: [*said_of(score := SCORERS.load(name).score(answer, **how)), dict(score.details)],
    "trees": score_tree,
    "queries": score_query,
    "problems": check,
    "defaults": lambda name: {key: each.default for key, each in SCORERS.load(name).parameters.items()},
}
SAY |= {"requests": make_requests, "replies": read_reply, "lines": lambda name, data: PROVIDERS[name].load().batches.line(data)}


@pytest.mark.parametrize("section", SAY)
def test_what_is_said(section: str) -> None:
    """Of each input of the table: verdicts and reasons under both rules with the details, or the problems, or the error."""
    text = TABLE.read_text(encoding="utf-8").partition(f"\n[{section}]\n")[2].partition("\n\n[")[0]
    for source, expected in zip(*[iter(text.splitlines())] * 2, strict=True):
        try:
            found = "=> " + json.dumps(rounded(SAY[section](*json.loads(source))), ensure_ascii=False, default=lambda _: "needed")
        except FaultError as error:
            found = f"=> ! {error.side} {error.fault.code}: {error.fault.detail}"
        except (EvalsuiteError, ValueError, TypeError, KeyError) as error:
            found = f"=> ! {type(error).__name__}: {error}"
        assert found == expected, source


def test_stems_of_porter_s_examples() -> None:
    """Each rule with and without its condition, and the exceptions of nltk."""
    pairs = TABLE.read_text(encoding="utf-8").partition("\n[stems]\n")[2].split()
    assert [stem(word) for word in pairs[::2]] == pairs[1::2]
