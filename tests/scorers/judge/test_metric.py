"""The judge as a metric: callable, in composites, without a number where there is no verdict."""

import math
import pickle
from pathlib import Path

import pytest

from evalsuite.scorers.judge.settings import Settings
from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.chain import MetricBuilder
from evalsuite.scorers.metrics.llm_judge import LlmJudge
from tests.scorers.judge.conftest import Serve
from tests.scorers.judge.server import Say, prompt_of


def test_it_is_a_callable_metric(serve: Serve, tmp_path: Path) -> None:
    """(prediction, reference) -> float, several references in one prompt, the model in the signature."""
    server = serve(lambda *_: '{"score": 4}')
    metric = get_metric("llm_judge", model="m", base_url=server.base_url, settings=Settings(cache=str(tmp_path)))
    assert metric("x", ["y", "z"]) == 0.8
    assert "y\n(or)\nz" in prompt_of(server.asked[0])
    assert "models:m" in metric.signature
    assert pickle.loads(pickle.dumps(metric))("x", ["y", "z"]) == 0.8


def test_it_is_part_of_a_composite(serve: Serve, tmp_path: Path) -> None:
    """The builder's weights hold: 0.6 for an exact match and 0.4 of a judge's 0.5."""
    server = serve(lambda *_: "3")
    settings = Settings(base_url=server.base_url, cache=str(tmp_path))
    built = MetricBuilder().exact_match(weight=0.6).llm_judge(weight=0.4, model="m", settings=settings, from_zero=True).build()
    assert built("Oslo", "Oslo") == pytest.approx(0.8)


@pytest.mark.parametrize("says", ["Hm.", Say(status=400)], ids=["no verdict", "refused"])
def test_no_verdict_is_no_number(serve: Serve, tmp_path: Path, says: str | Say) -> None:
    """Silence or a refused call is None with a reason, NaN as a plain float."""
    server = serve(lambda *_: says)
    metric = LlmJudge(model="m", base_url=server.base_url, settings=Settings(cache=str(tmp_path)))
    measured = metric.detailed_evaluate("x", "y")
    assert measured.value is None
    assert measured.reason
    assert math.isnan(metric("x", "y"))
