"""The questions the bundled scorers put to a judge: prompt, fields, reading and parameters of each."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsuite.judge.judge import Question
from evalsuite.judge.parsing import Reading, choice_reading, claims_reading, score_reading, yes_no_reading
from evalsuite.judge.prompts import Prompt, read_prompt
from evalsuite.judge.settings import Settings

Choices = Mapping[str, tuple[float | None, str]]
QA_CHOICES: Choices = {"0": (0.0, "incorrect"), "1": (1.0, "correct"), "na": (None, "")}
SUMMARY_CHOICES: Choices = {"0": (0.0, "reference"), "1": (1.0, "candidate"), "tie": (0.5, "equal")}
# The placeholders a prompt of `llm_judge` may hold.
SCORE_FIELDS = ("question", "reference", "prediction", "top", "bottom")


def score_question(
    prediction: str,
    *,
    settings: Settings,
    reference: str | Sequence[str] = "",
    question: str = "",
    prompt: str = "",
    reply: str = "score",
    scale: Sequence[float] = (1, 5),
    from_zero: bool = False,
    variant: str = "tolerant",
    extractor: str | Callable[[str], Any] = "",
    temperature: float = 0.1,
    max_tokens: int | None = 50,
) -> Question:
    """The question of `llm_judge`: a score on a scale, or yes or no. `prompt` is a name or, where it holds `{{`, the text itself."""
    bottom, top = (float(end) for end in scale)
    text = as_prompt(prompt or ("llm_judge" if reply == "score" else "llm_judge_yes_no"), settings.prompts_folder)
    fields = {
        "question": question,
        "reference": reference if isinstance(reference, str) else "\n(or)\n".join(reference),
        "prediction": prediction,
        "top": f"{top:g}",
        "bottom": f"{bottom:g}",
    }
    read: Reading = yes_no_reading(variant=variant)
    if reply == "score":
        read = score_reading(scale=(bottom, top), from_zero=from_zero, variant=variant, extractor=extractor)
    return _question(text, fields, read, settings, choice=reply != "score", temperature=temperature, max_tokens=max_tokens)


def qa_question(prediction: str, *, settings: Settings, question: str, context: str, max_tokens: int | None = 100) -> Question:
    """The question of `qa_correctness`: whether the context bears the answer out; NA is no verdict."""
    text = read_prompt("qa_correctness", settings.prompts_folder)
    fields = {"prediction": prediction, "question": question, "context": context}
    return _question(text, fields, choice_reading(QA_CHOICES), settings, choice=True, max_tokens=max_tokens)


def summary_question(
    prediction: str, *, settings: Settings, reference: str, text: str, swapped: bool, max_tokens: int | None = 100
) -> Question:
    """The question of `summary_quality`: reference first and candidate second, or `swapped`; 1.0 is for what stands second."""
    prompt = read_prompt("summary_quality", settings.prompts_folder)
    first, second = (prediction, reference) if swapped else (reference, prediction)
    fields = {"text": text, "first": first, "second": second}
    read = choice_reading(SUMMARY_CHOICES if not swapped else _swapped(SUMMARY_CHOICES))
    return _question(prompt, fields, read, settings, choice=True, max_tokens=max_tokens)


def claims_question(prediction: str, *, settings: Settings, context: str, max_tokens: int | None = 2000) -> Question:
    """The question of `hallucination`: the answer's claims, and whether the context supports each."""
    text = read_prompt("hallucination", settings.prompts_folder)
    fields = {"prediction": prediction, "context": context}
    return _question(text, fields, claims_reading(), settings, choice=True, max_tokens=max_tokens)


def as_prompt(given: str, folder: Path | None) -> Prompt:
    """A prompt given as its text (which holds `{{`) or by the name of its file."""
    return Prompt(name="custom", text=given) if "{{" in given else read_prompt(given, folder)


def _swapped(choices: Choices) -> Choices:
    labels = {"reference": "candidate", "candidate": "reference"}
    return {word: (value, labels.get(label, label)) for word, (value, label) in choices.items()}


def _question(
    prompt: Prompt,
    fields: dict[str, str],
    read: Reading,
    settings: Settings,
    *,
    choice: bool,
    temperature: float = 0.0,
    max_tokens: int | None,
) -> Question:
    return Question(
        messages=prompt.messages(fields, most_chars=settings.most_chars),
        read=read,
        prompt=prompt.version,
        parameters={"temperature": temperature, "max_tokens": max_tokens},
        choice=choice,
    )
