"""Judges: models that are asked what an answer is worth, over any OpenAI-compatible chat endpoint."""

from evalsuite.judge.judge import Decision, Judge, needed
from evalsuite.judge.judge_scorers import semantic_comparator
from evalsuite.judge.question import Question
from evalsuite.judge.settings import Settings, read_settings

__all__ = ["Decision", "Judge", "Question", "Settings", "needed", "read_settings", "semantic_comparator"]
