"""Score a folder of answers against a folder of gold.

    import evalsuite
    run = evalsuite.evaluate("example_submission_folder", "gold")
    run.summary.score
    evalsuite.score("number_match", "about 17.5%", gold=0.175, percentage=True).official

Importing the package is fast: pandas, duckdb and other large packages are imported when a file needs them.
"""

import sys

if sys.hexversion < 0x030B0000:
    sys.stderr.write(f"error: evalsuite needs Python 3.11 or later, this is Python {sys.version.split()[0]} ({sys.executable})\n")
    raise SystemExit(2)

from evalsuite.core.version import __version__

# Set by hand, because importing `typing` would dominate the time of `evalsuite --version`.
TYPE_CHECKING = False

# Each public name and the module that defines it.
_NAMES = {
    "Aggregate": "evalsuite.core.metric",
    "ComparatorResult": "evalsuite.trees",
    "Composite": "evalsuite.scorers.metrics",
    "Connection": "evalsuite.sql.session",
    "FaultError": "evalsuite.core.errors",
    "Judge": "evalsuite.scorers.judge",
    "METRICS": "evalsuite.scorers.metrics",
    "Measure": "evalsuite.core.metric",
    "Metric": "evalsuite.core.metric",
    "MetricBuilder": "evalsuite.scorers.metrics.chain",
    "MetricError": "evalsuite.core.metric",
    "Part": "evalsuite.scorers.metrics",
    "QueryLimits": "evalsuite.sql.session",
    "Question": "evalsuite.scorers.judge",
    "Score": "evalsuite.core.scores",
    "Settings": "evalsuite.scorers.judge",
    "TestSuite": "evalsuite.reports.test_suite",
    "approximate_randomisation": "evalsuite.stats.significance",
    "assert_scores": "evalsuite.api",
    "confidence_interval": "evalsuite.stats",
    "evaluate": "evalsuite.api",
    "fleiss_kappa": "evalsuite.stats.agreement",
    "get_metric": "evalsuite.scorers.metrics",
    "main": "evalsuite.cli",
    "metric_from": "evalsuite.scorers.metrics",
    "needed": "evalsuite.scorers.judge",
    "read_settings": "evalsuite.scorers.judge",
    "run_answer": "evalsuite.sql.execution",
    "score": "evalsuite.api",
    "scorer": "evalsuite.core.registry",
    "segment_bootstrap": "evalsuite.stats.intervals",
    "segment_bootstrap_test": "evalsuite.stats.significance",
    "semantic_comparator": "evalsuite.scorers.judge",
    "significance_test": "evalsuite.stats",
    "yes_no_reading": "evalsuite.scorers.judge.replies",
}
# Modules that the documentation of 0.2.0 names, and the modules that define their names now. The old names work until version 0.4.
_OLD_MODULES = {
    "evalsuite.errors": "evalsuite.core.errors",
    "evalsuite.judge": "evalsuite.scorers.judge",
    "evalsuite.judge.parsing": "evalsuite.scorers.judge.replies",
    "evalsuite.metrics": "evalsuite.scorers.metrics",
    "evalsuite.metrics.builder": "evalsuite.scorers.metrics.chain",
    "evalsuite.registry": "evalsuite.core.registry",
    "evalsuite.sql.execute": "evalsuite.sql.execution",
    "evalsuite.types": "evalsuite.core.types",
}

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from evalsuite.api import assert_scores, evaluate, score
    from evalsuite.cli import main
    from evalsuite.core.errors import FaultError
    from evalsuite.core.metric import Aggregate, Measure, Metric, MetricError
    from evalsuite.core.registry import scorer
    from evalsuite.core.scores import Score
    from evalsuite.reports.test_suite import TestSuite
    from evalsuite.scorers.judge import Judge, Question, Settings, needed, read_settings, semantic_comparator
    from evalsuite.scorers.judge.replies import yes_no_reading
    from evalsuite.scorers.metrics import METRICS, Composite, Part, get_metric, metric_from
    from evalsuite.scorers.metrics.chain import MetricBuilder
    from evalsuite.sql.execution import run_answer
    from evalsuite.sql.session import Connection, QueryLimits
    from evalsuite.stats import confidence_interval, significance_test
    from evalsuite.stats.agreement import fleiss_kappa
    from evalsuite.stats.intervals import segment_bootstrap
    from evalsuite.stats.significance import approximate_randomisation, segment_bootstrap_test
    from evalsuite.trees import ComparatorResult

__all__ = [
    "METRICS",
    "Aggregate",
    "ComparatorResult",
    "Composite",
    "Connection",
    "FaultError",
    "Judge",
    "Measure",
    "Metric",
    "MetricBuilder",
    "MetricError",
    "Part",
    "QueryLimits",
    "Question",
    "Score",
    "Settings",
    "TestSuite",
    "__version__",
    "approximate_randomisation",
    "assert_scores",
    "confidence_interval",
    "evaluate",
    "fleiss_kappa",
    "get_metric",
    "main",
    "metric_from",
    "needed",
    "read_settings",
    "run_answer",
    "score",
    "scorer",
    "segment_bootstrap",
    "segment_bootstrap_test",
    "semantic_comparator",
    "significance_test",
    "yes_no_reading",
]


def __getattr__(name: str) -> "Any":
    if name in _NAMES:
        from importlib import import_module

        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'evalsuite' has no attribute {name!r}")


def __dir__() -> "list[str]":
    return [*__all__, "__doc__", "__file__", "__name__", "__path__"]


class _OldModules:
    """Finder and loader of `_OLD_MODULES`: an old name imports its current module."""

    @staticmethod
    def find_spec(name: str, *_: object) -> "Any":
        """Return a spec for a name that was a module in 0.2.0, else None."""
        if name not in _OLD_MODULES:
            return None
        from importlib.machinery import ModuleSpec

        loader: Any = _OldModules
        return ModuleSpec(name, loader, is_package=True)

    @staticmethod
    def create_module(_: object) -> None:
        """Return None for an empty module, which `exec_module` replaces."""

    @staticmethod
    def exec_module(module: "ModuleType") -> None:
        """Replace the empty module with the current one."""
        from importlib import import_module

        sys.modules[module.__name__] = import_module(_OLD_MODULES[module.__name__])


sys.meta_path.append(_OldModules)
