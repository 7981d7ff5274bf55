"""The recorded cases of the references: which submissions and text cases there are, and what each mutation scored."""

import json
import pickle
import zlib
from collections.abc import Callable, Iterable
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from evalsuite.core.types import Result
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run
from tests.conftest import conformance_folder, corpus, is_default_corpus
from tests.properties import is_full

# The test line replays a part of each recorded corpus, another one each day; `slow`, and a corpus that the user names, all of it.
_TODAY = date.today().toordinal()
Case = TypeVar("Case")


def is_whole() -> bool:
    """Whether every recorded case is replayed."""
    return is_full() or not is_default_corpus()


def is_in_part(case: str, parts: int = 3) -> bool:
    """Whether a recorded case belongs to the part of today, chosen by its content and the date."""
    if is_whole():
        return True
    return (zlib.crc32(case.encode()) + _TODAY) % parts == 0


def of_each_kind(cases: Iterable[Case], kind: Callable[[Case], object], n: int = 1) -> list[Case]:
    """The part of today as `n` cases of each kind; of a kind that has no more all of them."""
    if is_whole():
        return list(cases)
    kinds: dict[object, list[Case]] = {}
    for case in cases:
        kinds.setdefault(kind(case), []).append(case)
    return [(own * 2)[(n * _TODAY) % len(own) + i] for own in kinds.values() for i in range(min(n, len(own)))]


# Mutations whose verdict differs from the reference by design, each with its reason. Never an id.
EXEMPT = {
    "dotdot_path": "a path that leaves its instance folder is refused (BAD_PATH); the reference reads it",
    "db_as_view": "a submitted view can read outside files and is refused (NOT_A_TABLE); the reference runs it",
}
UNUSED = {"sql_path": "the record is an artefact of a stubbed cloud client"}


def submissions() -> list[str]:
    """The names of the recorded submissions that have both a folder and an expectation."""
    base = conformance_folder() / "spider2"
    return sorted(p.stem.removeprefix("expected_") for p in (base / "expected").glob("expected_*.jsonl"))


def replayed_submissions() -> list[str]:
    """Of the mixed folders, which are draws of the same mutations, the line replays two beside the exact one."""
    return submissions() if is_whole() else submissions()[:3]


def expected(name: str) -> list[dict[str, Any]]:
    """All recorded rows of one submission: instance_id, funcs, answer_type, mutation, score, error."""
    path = conformance_folder() / "spider2" / "expected" / f"expected_{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def gold_folder() -> Path:
    """The recorded gold."""
    return conformance_folder() / "spider2" / "gold"


def submission_folder(name: str) -> Path:
    """One recorded submission."""
    return conformance_folder() / "spider2" / "submissions" / name


# Set by the fixture of `conftest.py`: the bytes that `keep` wrote for a submission.
kept: Callable[[str], bytes] | None = None


@cache
def scored(name: str) -> Run:
    """A recorded submission, scored once for all tests of a test run; nobody may change it."""
    assert kept is not None, "only within a test"
    found = pickle.loads(kept(name))
    assert isinstance(found, Run)
    return found


def cases(name: str) -> list[tuple[dict[str, Any], Result]]:
    """The recorded rows of one submission that are replayed, each with our result."""
    results = {result.instance_id: result for result in scored(name).results}
    return [(row, results[row["instance_id"]]) for row in expected(name) if row["instance_id"] in results]


@cache
def replayed() -> frozenset[tuple[str, str]]:
    """(submission, instance) of what is replayed: a ninth of the copies of gold, and one case of each mutation and score."""
    rows = [(name, row) for name in replayed_submissions() for row in expected(name)]
    others = (pair for pair in rows if pair[0] != "exact")
    mixed = of_each_kind(others, lambda pair: (pair[1]["mutation"], pair[1]["score"]))
    chosen = [*mixed, *((name, row) for name, row in rows if name == "exact" and is_in_part(json.dumps(row), 9))]
    return frozenset((name, row["instance_id"]) for name, row in chosen)


def keep(name: str, file: Path) -> None:
    """Score what is replayed of a recorded submission and write the run to a file."""
    options = RunOptions(save=False, isolation="none", only=tuple(id_ for place, id_ in sorted(replayed()) if place == name))
    file.write_bytes(pickle.dumps(run(submission_folder(name), gold_folder(), options)))


METRIC_KINDS = frozenset(
    {
        "aggregate", "arthur_exact_match", "bertscore_greedy", "bleu_corpus", "bleu_sentence", "chrf_corpus", "chrf_sentence", "composite",
        "exact_match", "f1", "jaro_winkler", "levenshtein", "pass_at_k", "python_unit_testing", "readability", "rouge", "specificity",
        "specificity_vague", "specificity_wordfreq", "squad_em", "squad_f1", "ter_corpus", "ter_sentence", "word_count_match",
    }
)  # fmt: skip
JUDGE_KINDS = frozenset({"judge_parse", "judge_score_1_5", "judge_yes_no"})
STATISTICS_KINDS = frozenset(
    {
        "bootstrap_ci", "bootstrap_exact", "clustered_se", "cohen_kappa", "cohens_d", "competition_ranks", "corpus_paired_test",
        "fleiss_kappa", "krippendorff_alpha", "mcnemar", "mean_ci", "multiple_testing", "paired_sample_size", "paired_t",
        "permutation_paired", "proportion_ci", "rank_correlation", "wilcoxon",
    }
)  # fmt: skip
SUITE_KINDS = frozenset({"paginate", "run_summary"})
ALL_KINDS = METRIC_KINDS | JUDGE_KINDS | STATISTICS_KINDS | SUITE_KINDS


@cache
def recorded_cases() -> tuple[dict[str, Any], ...]:
    """Every recorded text case, in file order; skips the calling test where the corpus is absent."""
    lines = (corpus("text") / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines if line.strip())


def cases_of(kind: str) -> list[dict[str, Any]]:
    """The recorded cases of one kind."""
    return [case for case in recorded_cases() if case["metric"] == kind]


def some_cases_of(kind: str) -> list[dict[str, Any]]:
    """The same; skips the calling test where a named corpus holds none of the kind."""
    cases = cases_of(kind)
    if not cases and not is_default_corpus():
        pytest.skip(f"no recorded case of {kind!r}")
    assert cases
    return cases
