"""Modules that are imported on first use."""

import sys

import pytest

from evalsuite.core.import_ref import ImportRef, LazyModule


def test_a_lazy_module_is_imported_by_its_first_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming a module imports nothing; reading an attribute gives the module's own object; a wrong name is an error."""
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    colorsys = LazyModule("colorsys")
    assert "colorsys" not in sys.modules
    assert colorsys.rgb_to_hls is sys.modules["colorsys"].rgb_to_hls
    with pytest.raises(AttributeError):
        _ = colorsys.no_such_name


def test_a_reference_is_its_target_and_summary() -> None:
    """Equal ones are one key of a table; a target without a colon is the module."""
    ref = ImportRef("colorsys:rgb_to_hls", "a colour")
    assert {ref: 1}[ImportRef("colorsys:rgb_to_hls", "a colour")] == 1
    assert ref not in (ImportRef("colorsys:rgb_to_hls"), ImportRef("colorsys", "a colour"), "colorsys:rgb_to_hls")
    assert repr(ref) == "ImportRef('colorsys:rgb_to_hls', 'a colour')"
    assert (ref.load(), ImportRef("colorsys").load()) == (sys.modules["colorsys"].rgb_to_hls, sys.modules["colorsys"])
