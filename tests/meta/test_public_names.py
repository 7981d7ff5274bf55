"""Names that a person may import are found, however files are renamed."""

import importlib
import inspect
import sys

import pytest

import evalsuite
from tests.processes import finished


@pytest.mark.parametrize(("module", "names"), [("evalsuite", "__all__"), ("evalsuite.trees", "NAMES")])
def test_every_public_name_is_found(module: str, names: str) -> None:
    """A table of names that are imported late points nowhere into the void."""
    place = importlib.import_module(module)
    listed = list(getattr(place, names))
    assert listed
    assert [name for name in listed if not hasattr(place, name)] == []


OLD = {
    "evalsuite.errors": ("FaultError",),
    "evalsuite.judge": ("Judge", "Question", "Settings", "needed", "read_settings", "semantic_comparator"),
    "evalsuite.judge.parsing": ("yes_no_reading",),
    "evalsuite.metrics": ("Composite", "Part", "get_metric", "metric_from"),
    "evalsuite.metrics.builder": ("MetricBuilder",),
    "evalsuite.registry": ("scorer",),
    "evalsuite.sql.execute": ("run_answer",),
    "evalsuite.types": ("Score",),
}


@pytest.mark.parametrize("module", OLD)
def test_modules_that_the_documentation_of_0_2_names_are_still_imported(module: str) -> None:
    """A name imported from its old module, in a fresh Python, is the public one of today; the module of today keeps its own name."""
    code = (
        f"from {module} import {', '.join(OLD[module])}\nimport {module} as old, evalsuite, importlib\n"
        f"for name in {OLD[module]!r}: assert getattr(old, name) is getattr(evalsuite, name), name\n"
        "assert old.__spec__.name == old.__name__ and importlib.import_module(old.__name__) is old, (old.__spec__, old)"
    )
    assert finished([sys.executable, "-c", code]).returncode == 0


def test_the_old_modules_are_all_tried() -> None:
    """The table of old modules has no line that no test imports."""
    assert list(OLD) == list(evalsuite._OLD_MODULES)


def test_help_of_a_public_name_is_enough_to_use_it() -> None:
    """A function says what it takes and returns, a class what it has; the builder of metrics has a method for each part instead."""
    public = {name: getattr(evalsuite, name) for name in evalsuite.__all__ if name != "MetricBuilder"}
    asked = {name: ["Args:", "Returns:"] if inspect.isfunction(value) else [] for name, value in public.items() if callable(value)}
    lacking = {name: [title for title in titles if title not in str(inspect.getdoc(public[name]))] for name, titles in asked.items()}
    bare = [
        name for name in asked if isinstance(public[name], type) and not {"Args:", "Attributes:"} & {*inspect.getdoc(public[name]).split()}
    ]
    assert len(asked) > 25
    assert ({name: titles for name, titles in lacking.items() if titles}, bare) == ({}, [])
