"""Judges: models that rate answers, over any OpenAI-compatible chat endpoint."""

from evalsuite.scorers.judge.judge import Decision, Judge, Question, needed, semantic_comparator
from evalsuite.scorers.judge.settings import Settings, read_settings

__all__ = ["Decision", "Judge", "Question", "Settings", "needed", "read_settings", "semantic_comparator"]
