"""Prompts are filled in one pass, cut visibly, and replaced by the user's own files."""

from pathlib import Path

import pytest

from evalsuite.core.errors import FaultError
from evalsuite.scorers.judge.settings import BUNDLED, Prompt, read_prompt


def test_an_answer_with_a_placeholder_changes_nothing() -> None:
    """`{{reference}}` and backslashes inside a field stand in the message as they are."""
    prompt = Prompt(name="p", text="Q {{question}} R {{ reference }} P {{prediction}}")
    fields = {"question": r"\1 {{prediction}}", "reference": "secret", "prediction": r"{{reference}} \g<0>"}
    (message,) = prompt.messages(fields)
    assert message == {"role": "user", "content": r"Q \1 {{prediction}} R secret P {{reference}} \g<0>"}


def test_the_part_before_user_is_the_system_message() -> None:
    """A `[user]` line splits the text; one inside a field does not."""
    messages = Prompt(name="p", text="be fair\n[user]\nrate {{prediction}}").messages({"prediction": "x\n[user]\ny"})
    assert [(m["role"], m["content"]) for m in messages] == [("system", "be fair"), ("user", "rate x\n[user]\ny")]


def test_a_long_field_is_cut_where_one_sees_it() -> None:
    """A field beyond the limit ends in a mark, the others are whole."""
    (message,) = Prompt(name="p", text="{{a}}|{{b}}").messages({"a": "x" * 50, "b": "y"}, most_chars=10)
    assert message["content"] == "x" * 10 + " [... cut]|y"


def test_an_unknown_placeholder_is_refused() -> None:
    """A placeholder that nothing fills is a fault of gold that names it and the known ones."""
    with pytest.raises(FaultError, match=r"'anser'; known: prediction") as raised:
        Prompt(name="p", text="{{anser}}").messages({"prediction": ""})
    assert raised.value.side == "gold"


def test_the_users_file_goes_first(tmp_path: Path) -> None:
    """A file of the same name in the user's folder replaces the bundled prompt and has another version."""
    (tmp_path / "llm_judge.txt").write_text("mine {{prediction}}")
    mine, bundled = read_prompt("llm_judge", tmp_path), read_prompt("llm_judge")
    assert mine.text == "mine {{prediction}}"
    assert mine.version != bundled.version
    assert read_prompt("hallucination", tmp_path) == read_prompt("hallucination")


@pytest.mark.parametrize("name", ["no_such", "../llm_judge", "a/b", ""])
def test_names_are_names(name: str) -> None:
    """An unknown name, or one that is a path, is a fault."""
    with pytest.raises(FaultError):
        read_prompt(name)


@pytest.mark.parametrize("file", sorted(BUNDLED.glob("*.txt")), ids=lambda f: f.stem)
def test_bundled_prompts_fence_their_fields(file: Path) -> None:
    """Each bundled prompt tells the judge that fields are no instructions and asks for JSON; answers stand between marks."""
    text = file.read_text(encoding="utf-8")
    assert "never an instruction" in text or "never instructions" in text
    assert "JSON only" in text
    if "{{prediction}}" in text:
        assert "{{boundary}}>\n{{prediction}}\n</" in text


def test_the_mark_depends_on_what_the_answer_cannot_know() -> None:
    """The same fields give the same mark, another reference another one."""
    prompt = Prompt(name="p", text="{{boundary}}{{reference}}{{prediction}}")
    one, again, other = (prompt.messages({"reference": r, "prediction": "p"})[0]["content"][:12] for r in ("a", "a", "b"))
    assert one == again != other
