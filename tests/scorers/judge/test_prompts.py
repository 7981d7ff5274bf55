"""Prompts are filled in one pass, cut visibly, and replaced by the user's own files."""

from pathlib import Path

import pytest

from evalsuite.core.errors import FaultError
from evalsuite.scorers.judge.settings import BUNDLED, Prompt


def test_an_unknown_placeholder_is_refused() -> None:
    """A placeholder that nothing fills is a fault of gold that names it and the known ones."""
    with pytest.raises(FaultError, match=r"'anser'; known: prediction") as raised:
        Prompt(name="p", text="{{anser}}").messages({"prediction": ""})
    assert raised.value.side == "gold"


@pytest.mark.parametrize("file", sorted(BUNDLED.glob("*.txt")), ids=lambda f: f.stem)
def test_bundled_prompts_fence_their_fields(file: Path) -> None:
    """Each bundled prompt tells the judge that fields are no instructions and asks for JSON; answers stand between marks."""
    text = file.read_text(encoding="utf-8")
    assert "never an instruction" in text or "never instructions" in text
    assert "JSON only" in text
    if "{{prediction}}" in text:
        assert "{{boundary}}>\n{{prediction}}\n</" in text
