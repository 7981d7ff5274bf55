"""evalsuite scores a folder of answers against a folder of gold.

    import evalsuite
    run = evalsuite.evaluate("example_submission_folder", "gold")
    run.summary.score
    evalsuite.score("number_match", "about 17.5%", gold=0.175, percentage=True).official

Importing the package is cheap: pandas, duckdb and the like are imported when a file needs them.
"""

# Set by hand: importing `typing` would be most of what `evalsuite --version` costs.
TYPE_CHECKING = False

__version__ = "0.2.0"
__all__ = ["METRICS", "TestSuite", "__version__", "assert_scores", "evaluate", "get_metric", "metric_from", "score"]

_NAMES = {
    "assert_scores": "evalsuite.api",
    "evaluate": "evalsuite.api",
    "score": "evalsuite.api",
    "TestSuite": "evalsuite.api",
    "METRICS": "evalsuite.scorers.metrics",
    "get_metric": "evalsuite.scorers.metrics",
    "metric_from": "evalsuite.scorers.metrics",
}

if TYPE_CHECKING:
    from typing import Any

    from evalsuite.api import TestSuite, assert_scores, evaluate, score
    from evalsuite.scorers.metrics import METRICS, get_metric, metric_from


def __getattr__(name: str) -> "Any":
    if name in _NAMES:
        from importlib import import_module

        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'evalsuite' has no attribute {name!r}")


def __dir__() -> "list[str]":
    return [*__all__, "__doc__", "__file__", "__name__", "__path__"]
