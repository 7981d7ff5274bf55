"""Every public feature is in the documentation, in code that runs: public names, keys of the judge, scorers, calls of other tools."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import fields

import pytest

import evalsuite
from evalsuite import stats, trees
from evalsuite.cli.commands import COMMANDS
from evalsuite.cli.parser import find_command, usage_errors
from evalsuite.scorers import judge, metrics
from evalsuite.scorers.judge.settings import Settings
from tests.conftest import ROOT

FENCED = re.compile(r"^ *```\w*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = (
    "get_metric", "evaluate", "evaluate_batch", "detailed_evaluate", "aggregate", "ignore_case", "ignore_punctuation",
    "normalize_whitespace", "geometric_mean", "weighted_mean", "extractor", "prompt", "MetricBuilder", "weight", "build", "custom",
    "llm_judge", "significance_test", "confidence_interval", "alpha", "confidence", "TestSuite", "reference_data", "reference_data_path",
    "input_text_list", "reference_output_list", "input_column", "reference_column", "candidate_data", "candidate_data_path",
    "candidate_output_list", "candidate_column", "context_column", "context_list", "model_name", "model_version", "foundation_model",
    "prompt_template", "batch_size", "arun", "treeval_score", "create_tree_metrics", "types_metrics", "leaves_metrics",
    "resolve_schema_references", "set_type_default", "reset_type_defaults", "validate_gold", "propagate_batch_errors", "sort_tokens",
    "oneof",
)  # fmt: skip
SCORERS = (
    "llm_judge", "qa_correctness", "summary_quality", "hallucination", "readability", "word_count_match", "hedging_language", "bertscore",
    "exact_match", "tree_score",
)  # fmt: skip
PHRASES = (
    r'"?time_signature"?: \["4/4", ',
    r'"?oneof"?: \{',
    r'"?tolerance"?: \{"?rel"?: ',
    r'register\("\w+", ',
    r'TestSuite\("\w+", "\w+"',
    "ignore_case=True",
    "evalsuite view",
    r"(?m)^judge:\n +base_url:",
    r"llm_judge\(weight=",
    r'"?match_by"?: "?key_field',
    r'"?match_by"?: "?hungarian',
)


def fenced() -> str:
    """All code of README and docs."""
    return "\n".join(block for page in PAGES for block in FENCED.findall(page.read_text(encoding="utf-8")))


def test_pages_import_from_evalsuite_itself() -> None:
    """No page imports from another module than `evalsuite` and `evalsuite.trees`, except the one that adds a scorer to the project."""
    pages = [page for page in PAGES if page.name != "add-a-scorer.md"]
    modules = {module for page in pages for module in re.findall(r"^ *(?:from|import) (evalsuite[\w.]*)", page.read_text(), re.MULTILINE)}
    assert modules == {"evalsuite", "evalsuite.trees"}


def parses(words: Sequence[str]) -> str:
    """Return why the parser refuses a command line, empty if it takes it; a name without its arguments is only a name."""
    command, names, rest = find_command(words)
    try:
        command.make_context(names[-1], rest)
    except usage_errors() as error:
        why = str(error)
        return f"{shlex.join(words)}: {why}" if why and not why.startswith("Missing parameter") else ""
    return ""


def documented_commands() -> Iterator[list[str]]:
    """The words of each command line that README and docs show, in a block or within a sentence, without what a shell reads."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        lines = [*re.findall(r"`(?:\$ )?(evalsuite [^`\n]+)`", text), *"\n".join(FENCED.findall(text)).splitlines()]
        for line in (line.strip().removeprefix("$ ") for line in lines):
            if line.startswith("evalsuite ") and not re.search(r"[|;*$]|\.\.\.", line):
                words = shlex.split(re.split(r"  |&& |> ", line)[0], comments=True)[1:]
                if words and words[0] in COMMANDS:
                    yield words


def test_documented_command_lines_are_read() -> None:
    """Each command line of README and docs has commands and options that exist."""
    lines = list(documented_commands())
    assert len(lines) > 100
    assert [why for why in map(parses, lines) if why] == []


def test_command_lines_of_0_2_0_are_read() -> None:
    """Each command line of the documentation of 0.2.0 is still read, under its old spelling."""
    lines = (ROOT / "tests/data/command_lines_of_0_2_0.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 100
    assert [why for why in map(parses, map(shlex.split, lines)) if why] == []


@pytest.mark.parametrize(
    ("whose", "names"),
    [
        ("evalsuite", [name for name in evalsuite.__all__ if name != "__version__"]),
        ("evalsuite.scorers.metrics", metrics.__all__),
        ("evalsuite.scorers.judge", judge.__all__),
        ("evalsuite.stats", [name for name in vars(stats) if name in ("significance_test", "confidence_interval")]),
        ("evalsuite.trees", trees.__all__),
        ("the metrics", list(metrics.METRICS)),
    ],
)
def test_every_public_name_stands_in_a_document(whose: str, names: list[str]) -> None:
    """Each public name is on a page."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == [], whose


@pytest.mark.parametrize("names", [PYTHON, SCORERS, [option.name for option in fields(Settings)]], ids=["python", "scorers", "judge"])
def test_calls_and_keys_stand_in_code(names: Sequence[str]) -> None:
    """Each name is used in a fenced block, which the tests of pages run or read."""
    code = fenced()
    assert [name for name in names if not re.search(rf"\b{name}\b", code)] == []


@pytest.mark.parametrize("phrase", PHRASES)
def test_what_other_tools_write_stands_in_code(phrase: str) -> None:
    """The calls and keys of other tools are in a code block."""
    assert re.search(phrase, fenced())
