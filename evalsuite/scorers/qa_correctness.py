"""`qa_correctness`: a model says whether a context bears the answer out."""

from evalsuite.judge.judge import Judge
from evalsuite.judge.questions import qa_question
from evalsuite.registry import scorer
from evalsuite.scorers.judged import needed, score_of
from evalsuite.types import Score


@scorer(reads="batch")
def qa_correctness(prediction: str, judge: Judge | None = None, *, context: str, question: str = "") -> Score:
    """1 where the context bears the answer to the question out, 0 where it does not. NA (the context does not say) is no score.

    As in Arthur Bench there is no reference; unlike there, an NA or an unreadable reply is left out and counted, not a -1 in the mean.

    Official and strict: the same verdict.

    Args:
        prediction: the answer.
        judge: the judge to ask; a run makes it out of suite.yaml.
        context: what the answer must rest on.
        question: what was asked; by default the `question` or `instruction` of the gold instance.

    Example:
        `{"func": "qa_correctness", "parameters": {"question": "When was it built?", "context": "The mill was built in 1870."}}`
    """
    judge = needed(judge)
    asked = qa_question(prediction, settings=judge.settings, question=question, context=context)
    decision = judge.decide(asked)
    return score_of(decision, prompt=asked.prompt, details={"category": decision.verdict.label or "invalid"})
