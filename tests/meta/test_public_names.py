"""Names that a person may import are found, however files are renamed."""

import importlib

import pytest


@pytest.mark.parametrize(("module", "names"), [("evalsuite", "__all__"), ("evalsuite.trees", "NAMES")])
def test_every_public_name_is_found(module: str, names: str) -> None:
    """A table of names that are imported late points nowhere into the void."""
    place = importlib.import_module(module)
    listed = list(getattr(place, names))
    assert listed
    assert [name for name in listed if not hasattr(place, name)] == []
