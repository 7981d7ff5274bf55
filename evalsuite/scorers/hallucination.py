"""`hallucination`: a model lists the answer's claims and whether a context supports them."""

from evalsuite.judge.judge import Judge
from evalsuite.judge.questions import claims_question
from evalsuite.registry import scorer
from evalsuite.scorers.judged import needed, score_of
from evalsuite.types import Score


@scorer(reads="batch")
def hallucination(prediction: str, judge: Judge | None = None, *, context: str) -> Score:
    """1 where the context supports every claim of the answer (no hallucination), 0 where it does not support one (hallucination).

    Higher is better: 1 is the good end. A verdict that contradicts the judge's own list of claims is no verdict.

    Official and strict: the same verdict.

    Args:
        prediction: the answer.
        judge: the judge to ask; a run makes it out of suite.yaml.
        context: what the answer may say.

    Example:
        `{"func": "hallucination", "parameters": {"context": "The mill was built in 1870."}}`
    """
    judge = needed(judge)
    asked = claims_question(prediction, settings=judge.settings, context=context)
    decision = judge.decide(asked)
    claims = decision.verdict.details.get("claims", [])
    unsupported = [claim["claim"] for claim in claims if not claim["supported"]]
    says = decision.verdict.label + (f": not supported: {unsupported[0][:150]}" if unsupported else "")
    details = {"category": decision.verdict.label or "invalid", "claims": claims}
    return score_of(decision, prompt=asked.prompt, says=says, details=details)
