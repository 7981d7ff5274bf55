"""What the viewer reads and shows: folders of every kind, runs in progress, queries and pages of a list, and labels that a person gives."""

import json
import os
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalsuite
from evalsuite.core.errors import UsageError
from evalsuite.core.types import Result
from evalsuite.reports.pictures import Strip, draw_strips, numbers
from evalsuite.reports.run_page import bars
from evalsuite.reports.viewer import library, views
from evalsuite.reports.viewer.library import ID, BadQueryError, Journals, Library, SuiteView, check_id, creation_time, open_library, safe_id
from evalsuite.reports.viewer.pages import RESULT_FILTERS
from evalsuite.reports.viewer.views import find_results, paginate, read_query
from evalsuite.runs.history import find_runs
from evalsuite.runs.run_folder import RunFolder
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.cli.test_run import as_json, lacks
from tests.properties import LETTERS
from tests.reports import made
from tests.reports.viewer.served import CAPITALS, QUESTIONS, ask, bench_folder, gold, served, submission

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def names(library: Library) -> dict[str, int]:
    """Suite name -> its number of runs."""
    return {suite.name: len(suite.runs) for suite in library.suites()}


def test_every_way_to_name_a_folder(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The project, its `.evalsuite`, none, runs, one run, Bench's of the environment; an empty place is no error, an absent one is."""
    monkeypatch.chdir(project)
    for folder in (None, project, project / ".evalsuite"):
        assert names(open_library(folder, {})) == {"capitals": 3, "untried": 0, "demo": 3}
    runs = project / ".evalsuite" / "runs"
    assert names(open_library(runs, {})) == {"capitals": 3, "demo": 3}
    assert names(open_library(find_runs(runs)[0].folder, {})) == {"demo": 1}
    monkeypatch.chdir(tmp_path)
    assert names(open_library(None, {})) == {}
    with pytest.raises(UsageError, match="no such folder"):
        open_library(tmp_path / "gone", {})
    with pytest.raises(UsageError, match="BENCH_FILE_DIR"):
        open_library(None, {"BENCH_FILE_DIR": str(tmp_path / "gone")})
    monkeypatch.chdir(project)
    bench_folder(tmp_path / "elsewhere")
    assert set(names(open_library(None, {"BENCH_FILE_DIR": str(tmp_path / "elsewhere")}))) == {
        "capitals", "untried", "demo", "prose", "typos",
    }  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").rename(tmp_path / "bench_runs")
    assert set(names(open_library(None, {}))) == {"capitals", "prose", "typos"}


def test_a_verdict_that_bench_did_not_have_is_never_averaged(tmp_path: Path) -> None:
    """-1 is no number, the raw values of an unbounded metric are, and negative ones stand in a bar too."""
    library = open_library(bench_folder(tmp_path), {})
    by_name = {run.name: run for suite in library.suites() for run in suite.runs}
    assert by_name["one"].average() == 0.75
    two = views.summary_item(by_name["two"])
    plain = views.summary_item(by_name["plain"])
    assert (two["n_unjudged"], two["mean_judged"]) == (1, pytest.approx(1 / 3))
    assert plain["avg_score"] == pytest.approx((44.4 + 91.2 - 3.0 + 64.4) / 4)
    assert sum(bar["count"] for bar in plain["histogram"]) == 4
    assert (plain["histogram"][0]["low"], plain["histogram"][-1]["high"]) == (-3.0, 91.2)


def test_a_new_run_is_seen_at_once_and_a_broken_one_passed_over(tmp_path: Path) -> None:
    """The library is asked anew each time; a `run.json` that is none does no harm."""
    runs = tmp_path / ".evalsuite" / "runs"
    library = open_library(tmp_path, {}) if runs.exists() else None
    gold(tmp_path / "gold")
    handed_in = submission(tmp_path / "s", text="Paris", number="42", people="700")
    run(handed_in, tmp_path / "gold", RunOptions(runs_folder=runs, isolation="none", jobs=1))
    library = open_library(tmp_path, {})
    assert names(library) == {"demo": 1}
    run(handed_in, tmp_path / "gold", RunOptions(runs_folder=runs, isolation="none", jobs=1))
    for number, text in enumerate(("{", "[]", "{}", '{"gold": 1, "summary": 2}', '{"gold": {}, "summary": {}, "options": {}}')):
        (runs / f"broken-{number}").mkdir()
        (runs / f"broken-{number}" / "run.json").write_text(text)
    assert names(library) == {"demo": 2}


def test_hidden_gold_stays_hidden(tmp_path: Path) -> None:
    """No reference, parameter or reason with gold in it leaves by any answer."""
    gold(tmp_path / "gold", hidden=True)
    handed_in = submission(tmp_path / "s", text="Lyon", number="41", people="701")
    run(handed_in, tmp_path / "gold", RunOptions(runs_folder=tmp_path / ".evalsuite" / "runs", isolation="none", jobs=1))
    (suite,) = open_library(tmp_path, {}).suites()
    (shown,) = suite.runs
    record = shown.record()
    cases = views.case_by_id(suite)
    said = [views.result_object(result, cases[result.instance_id], (), hidden=suite.hidden) for result in record.results]
    said += [views.case_object(case, hidden=suite.hidden) for case in cases.values()]
    said.append(views.record_object(shown, record))
    text = json.dumps(said)
    assert suite.hidden
    # Digests and times contain any three digits.
    assert not re.search(r"""Paris|'42'|"42"|gold 42|(?<![0-9a-f.])700(?![0-9a-f.])""", text)


def scored(name: str, score: float | None) -> Result:
    """A result with that score."""
    status = "unscored" if score is None else "scored"
    return Result(instance_id=name, status=status, score=score, official=score, strict=score, scorer="f1", reason="", fault=None)


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[tuple[Path, RunFolder]]:
    """(project, a run folder being written) of a suite with one finished run of the same gold."""
    runs = tmp_path / ".evalsuite" / "runs"
    gold(tmp_path / "gold")
    run(submission(tmp_path / "s", text="Paris", number="42", people="700"), tmp_path / "gold",
        RunOptions(runs_folder=runs, isolation="none", jobs=1))  # fmt: skip
    (entry,) = find_runs(runs)
    plan = {"signature": entry.run["signature"], "submission": "x", "options": {"only": [], "filter": None, "group": None}}
    folder = RunFolder(runs / "20261121-120000-growing").open(plan)
    yield tmp_path, folder
    folder.close()


def test_progress_follows_the_journal(growing: tuple[Path, RunFolder]) -> None:
    """Counts and the mean of what is judged grow line by line; a half-written line does not count; suite and total come from before."""
    project, folder = growing
    journals = Journals(open_library(project, {}))
    (before,) = journals.all()
    assert (before.name, before.suite_name, before.n_done, before.n_total, before.score) == ("20261121-120000-growing", "demo", 0, 3, None)
    for name, score in (("text_1", 1.0), ("number_1", 0.5), ("table_1", None)):
        folder.append(scored(name, score))
    with (folder.path / "results.jsonl").open("ab") as journal:
        journal.write(b'{"instance_id": "half')
    (after,) = journals.all()
    assert (after.n_done, after.n_right, after.score, after.started_at) == (3, 1, 0.75, "2026-11-21T12:00:00+00:00")


def test_a_run_that_nobody_writes_is_interrupted(growing: tuple[Path, RunFolder], monkeypatch: pytest.MonkeyPatch) -> None:
    """While its process holds the folder it runs; after that it is interrupted. Where locks cannot be seen, a quiet journal counts so."""
    project, folder = growing
    journals = Journals(open_library(project, {}))
    if library.LOCKS.exists():
        assert journals.all()[0].state == "running"
    folder.close()
    if library.LOCKS.exists():
        assert journals.all()[0].state == "interrupted"
    monkeypatch.setattr(library, "LOCKS", project / "no-locks")
    assert journals.all()[0].state == "running"
    long_ago = time.time() - 10 * library.QUIET_SECONDS
    os.utime(folder.path / "results.jsonl", (long_ago, long_ago))
    assert journals.all()[0].state == "interrupted"


def test_a_page_and_a_stream_follow_a_run_to_its_end(growing: tuple[Path, RunFolder], monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream says at once what is there, then what is new, then that a run has ended; its page becomes the run's."""
    project, folder = growing
    run_id = folder.path.name
    monkeypatch.setattr(library, "TICK_SECONDS", 0.1)
    with served(project) as address:
        page = ask(address, f"/runs/{run_id}")
        assert not lacks(page.body, "0 of 3", 'http-equiv="refresh"')
        with events(address) as stream:
            assert next(stream) == ("progress", 0)
            folder.append(scored("text_1", 1.0))
            assert next(stream) == ("progress", 1)
            (entry,) = find_runs(project / ".evalsuite" / "runs")
            results = entry.results()
            folder.finish(results, dict(entry.run))
            at_end, seen = {("changed", None), ("progress", None)}, set[tuple[str, int | None]]()
            while not at_end <= seen:
                seen.add(next(stream))
        # A look between the run's last two files counts what the first contains.
        assert seen - at_end <= {("progress", len(results))}
        assert ask(address, "/api/v1/progress").json == {"runs": []}
        assert "Instances" in ask(address, f"/runs/{run_id}").body


class events:  # noqa: N801 - reads as a word in `with events(address) as stream`
    """The events of a viewer one by one: (event, results so far of the one unfinished run, None where there is none)."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self._socket = socket.create_connection((place.hostname, place.port), timeout=30)
        self._socket.sendall(f"GET /events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
        self._lines = self._socket.makefile("r", encoding="utf-8")

    def __enter__(self) -> Iterator[tuple[str, int | None]]:
        return self._events()

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def _events(self) -> Iterator[tuple[str, int | None]]:
        event = ""
        for line in self._lines:
            if line.startswith("event: "):
                event = line.removeprefix("event: ").strip()
            elif line.startswith("data: "):
                runs = json.loads(line.removeprefix("data: "))
                yield event, runs[0]["n_done"] if runs else None


def test_queries_times_and_fields() -> None:
    """Empty fields mean the default, a near key is named; times come from names; results by fields that are not whole."""
    found = read_query([("q", ""), ("page", ""), ("sort", ""), ("scorer", ""), ("scorer", "a")], sorts=("name",), default="-name",
                       filters=("q", "scorer"))  # fmt: skip
    assert (found.page, found.page_size, found.sort, found.last("q"), found.many("scorer")) == (1, 10, "-name", "", ("a",))
    with pytest.raises(BadQueryError) as raised:
        read_query([("pagesize", "3")])
    assert "page_size" in raised.value.hint
    assert creation_time("20261121-102205-example") == "2026-11-21T10:22:05+00:00"
    assert creation_time("20261341-102205-example") is None
    assert creation_time("mine") is None
    whole, broken = {"precision": 1.0, "recall": 1.0, "f1": 1.0}, {"precision": 1.0, "recall": 0.5, "f1": 2 / 3}
    rows = {"a": (whole, broken), "b": (broken, whole), "c": (whole, whole)}
    results = [
        made.result(name, 0.5, details={"fields": [{"path": "city", **city}, {"path": "lines.sum", **lines}]})
        for name, (city, lines) in rows.items()
    ]
    suite = SuiteView(id="s", name="s", kind="gold", description="", scoring_method={}, created_at="", updated_at="", runs=(), scorers=())

    def found(*fields: str) -> list[str]:
        query = read_query([("field", field) for field in fields], filters=RESULT_FILTERS)
        return [one.instance_id for one in find_results(suite, made.record(*results), query).items]

    assert (found("city"), found("lines.sum"), found("city", "lines.sum"), found("no"), found()) == (["b"], ["a"], ["a", "b"], [], [*"abc"])


@pytest.mark.parametrize("text", ["", ".", "..", "a/b", "a..b", "a b", "ä", "-x", "x" * 201, "a\x00"])
def test_what_is_no_id(text: str) -> None:
    """Nothing that could be a path or a header passes."""
    with pytest.raises(BadQueryError):
        check_id(text)


@given(st.text(LETTERS, max_size=80))
def test_any_name_becomes_an_id(text: str) -> None:
    """Whatever a folder is called, its id can stand in an address, and an id stays as it is."""
    found = safe_id(text)
    assert check_id(found) == found
    assert safe_id(found) == found
    assert found == text or not ID.fullmatch(text) or ".." in text


def test_pages_and_strips() -> None:
    """Three pages of eleven, an empty one past the end, an error for page 0; pictures of no runs and of labels that would be markup."""
    assert paginate(range(11), page=3).items == (10,)
    assert (paginate(range(11), page=9).items, paginate(range(11), page=9).total_pages) == ((), 3)
    assert paginate([]).total_pages == 1
    for wrong in ({"page": 0}, {"page_size": 0}):
        with pytest.raises(UsageError):
            paginate([1], **wrong)
    assert "nothing to show" in draw_strips([], title="t")
    assert numbers(draw_strips([Strip("empty", (), 0)], title="t")) == []
    svg = draw_strips([Strip(HOSTILE, ((HOSTILE, 1),), 1)], title=HOSTILE, ends=(HOSTILE, HOSTILE))
    assert not any(mark.tag.endswith("script") for mark in ElementTree.fromstring(svg).iter())
    assert not any(char in svg for char in "\x1b\u202e")


@given(st.integers(0, 60), st.integers(1, 20))
def test_pages_part_the_list(n: int, size: int) -> None:
    """All pages one after the other are the list."""
    first = paginate(range(n), page_size=size)
    pages = [paginate(range(n), page=number, page_size=size).items for number in range(1, first.total_pages + 1)]
    assert [item for page in pages for item in page] == list(range(n))


HOSTILE = "<script>\x1b[2J\u202e\"'"


@given(st.lists(st.floats(-10, 200), max_size=50), st.integers(1, 30))
def test_every_value_stands_in_the_bar_that_holds_it(values: list[float], n_bins: int) -> None:
    """No value is lost, and the bars span all of [0, 1] and of what is there."""
    found = bars(values, n_bins)
    assert sum(bar["count"] for bar in found) == len(values)
    assert (found[0]["low"], found[-1]["high"]) == (min([0.0, *values]), pytest.approx(max([1.0, *values])))


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a suite and one run of it, half right."""
    folder = tmp_path_factory.mktemp("labelled")
    suite = evalsuite.TestSuite(
        "capitals", "string_match", input_text_list=QUESTIONS, reference_output_list=CAPITALS, root=folder / ".evalsuite"
    )
    suite.run("mine", candidate_output_list=["Paris", "Milan", "Oslo, of course", "Quito"])
    return folder


@pytest.fixture(scope="module")
def labelled_address(labelled: Path) -> Iterator[str]:
    """The viewer over it."""
    with served(labelled) as found:
        yield found


def label(labelled_address: str, path: str, given: Mapping[str, str], **headers: str) -> int:
    """The status of a label that was sent as a form sends it."""
    sent = {"Origin": labelled_address, **{name.replace("_", "-"): value for name, value in headers.items()}}
    request = urllib.request.Request(labelled_address + path, data=urlencode(given).encode(), headers=sent, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def run_id(labelled_address: str) -> str:
    """The id of the one run."""
    suite = ask(labelled_address, "/api/v1/test_suites").json["test_suites"][0]["id"]
    return str(ask(labelled_address, f"/api/v1/test_suites/{suite}/runs").json["test_runs"][0]["id"])


def test_labels_are_a_rater_and_nobody_else_writes(labelled_address: str, labelled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand in a CSV that `agree` reads; another site, unknown words and endless notes leave the file as it was."""
    id_ = run_id(labelled_address)
    for case, chosen in (("case_1", "1"), ("case_2", "1"), ("case_3", "1"), ("case_4", "0"), ("case_4", "0")):
        assert label(labelled_address, f"/runs/{id_}/labels/{case}", {"label": chosen, "note": 'says "why", <b>\nat length'}) == 200
    page = ask(labelled_address, f"/runs/{id_}/instances/case_2").body
    assert not lacks(page, '<option value="1" selected>right</option>', "says &#34;why&#34;, &lt;b&gt;")
    assert "4 labels by you" in ask(labelled_address, f"/runs/{id_}").body
    folder = find_runs(labelled / ".evalsuite/runs")[0].folder
    monkeypatch.chdir(labelled)
    found = as_json("agree", folder.name, f".evalsuite/runs/{folder.name}.labels.csv")
    assert found["n"] == 4
    assert label(labelled_address, f"/runs/{id_}/labels/case_1", {"label": "", "note": ""}) == 200
    assert "3 labels by you" in ask(labelled_address, f"/runs/{id_}").body

    def kept() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (labelled / ".evalsuite/runs").glob("*.labels.csv")}

    before, case = kept(), f"/runs/{id_}/labels/case_1"
    assert label(labelled_address, case, {"label": "1"}, Origin="https://elsewhere.example") == 403
    assert label(labelled_address, case, {"label": "1"}, Origin="null") == 403
    assert label(labelled_address, case, {"label": "1"}, Origin="http://[") == 403
    assert label(labelled_address, case, {"label": "1"}, Sec_Fetch_Site="cross-site") == 403
    assert label(labelled_address, case, {"label": "perfect"}) == 422
    assert label(labelled_address, case, {"label": "1", "note": "x" * 70_000}) == 422
    assert label(labelled_address, f"/runs/{id_}/labels/nothing", {"label": "1"}) == 404
    assert label(labelled_address, "/runs/nothing/labels/case_1", {"label": "1"}) == 404
    assert ask(labelled_address, case).status in (404, 405)
    assert kept() == before


def test_words_are_found_and_broken_files_kept(labelled_address: str, labelled: Path) -> None:
    """Question, reference and answer are searched; reports come in each form; a file broken by hand is named and not written over."""
    id_ = run_id(labelled_address)
    for words, case in (("of italy", "case_2"), ("lima", "case_4"), ("of course", "case_3")):
        page = ask(labelled_address, f"/runs/{id_}?{urlencode({'q': words})}").body
        assert not lacks(page, f"/instances/{case}", "1 of 4 instances")
    assert "<b>gold</b> Lima" in ask(labelled_address, f"/runs/{id_}").body
    for ending in ("csv", "html", "json", "md", "xml"):
        saved = ask(labelled_address, f"/runs/{id_}/report.{ending}")
        assert saved.status == 200
        assert saved.headers["content-disposition"] == f'attachment; filename="{id_}.{ending}"'
        assert "case_4" in saved.body
    assert ask(labelled_address, f"/runs/{id_}/report.exe").status == 404
    id_, folder = run_id(labelled_address), find_runs(labelled / ".evalsuite/runs")[0].folder
    path = folder.with_name(f"{folder.name}.labels.csv")
    before = path.read_text() if path.exists() else None
    path.write_text(broken := "instance_id,label\ncase_1,1\ncase_1,0\n")
    assert label(labelled_address, f"/runs/{id_}/labels/case_2", {"label": "1"}) == 422
    assert path.read_text() == broken
    assert "labels.csv:3: &#39;case_1&#39; stands twice" in ask(labelled_address, f"/runs/{id_}").body
    path.unlink() if before is None else path.write_text(before)
