"""Modules that are imported on first use."""

import sys

import pytest

from evalsuite.core.import_ref import LazyModule


def test_a_lazy_module_is_imported_by_its_first_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming a module imports nothing; reading an attribute gives the module's own object; a wrong name is an error."""
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    colorsys = LazyModule("colorsys")
    assert "colorsys" not in sys.modules
    assert colorsys.rgb_to_hls is sys.modules["colorsys"].rgb_to_hls
    with pytest.raises(AttributeError):
        _ = colorsys.no_such_name
