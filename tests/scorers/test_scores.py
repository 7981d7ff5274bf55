"""What scorers say of an answer and of their parameters, to the letter: both verdicts, reasons, flips, details, and problems."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.core.registry import check_parameters
from evalsuite.core.scores import SQLITE_CELLS
from evalsuite.core.types import Score, Table
from evalsuite.scorers import SCORERS
from evalsuite.scorers.judge.client import PROVIDERS
from evalsuite.scorers.judge.transport import Request
from evalsuite.scorers.metrics.rouge import stem

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


def score_text(name: str, answer: Any, parameters: Any) -> list[Any]:
    """What a scorer of texts says."""
    score = SCORERS.load(name).score(answer, **parameters)
    return [*said_of(score), dict(score.details)]


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


def read_defaults(name: str) -> Any:
    """The defaults of a scorer's parameters."""
    return {key: parameter.default for key, parameter in SCORERS.load(name).parameters.items()}


def make_requests(name: str, requests: Any, addresses: list[str]) -> Any:
    """The bodies of requests to a provider, where they go, and its headers."""
    provider = PROVIDERS[name].load()
    bodies = [provider.body(Request(model=model, messages=tuple(messages), parameters=each)) for model, messages, each in requests]
    return [bodies, [provider.address(base, "m/1") for base in addresses], provider.key_header, dict(provider.headers), provider.limit_key]


def read_reply(name: str, data: Any) -> Any:
    """The reply in what a provider sends."""
    reply = PROVIDERS[name].load().reply(json.dumps(data).encode())
    return reply and reply.to_json()


def read_line(name: str, data: Any) -> Any:
    """The key, the reply and the reason in a line of a batch."""
    return PROVIDERS[name].load().batches.line(data)


SAY = {"score": score_text, "trees": score_tree, "queries": score_query, "problems": check, "defaults": read_defaults}
SAY |= {"requests": make_requests, "replies": read_reply, "lines": read_line}


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
