"""`summary_quality`: a model compares the summary with a reference summary, in both orders."""

from evalsuite.judge.judge import Judge, Question
from evalsuite.judge.questions import summary_question
from evalsuite.registry import scorer
from evalsuite.scorers.judged import needed, score_of
from evalsuite.types import Score

_CATEGORIES = {0.0: "reference", 0.5: "equal", 1.0: "candidate"}


@scorer(reads="batch")
def summary_quality(prediction: str, judge: Judge | None = None, *, gold: str, text: str = "", question: str = "") -> Score:
    """1 where the summary is better than the reference summary, 0.5 where they are equal, 0 where the reference is better.

    Asked twice with the order swapped, so that a liking for the first place cancels out; a judge that contradicts itself
    gives 0.5 and `details.order_disagreement`. Unlike Arthur Bench, an unreadable reply is left out and counted, not a -1 in the mean.

    Official and strict: the same verdict.

    Args:
        prediction: the summary.
        judge: the judge to ask; a run makes it out of suite.yaml.
        gold: the reference summary.
        text: what is summarised.
        question: stands in for an empty text; by default the `question` or `instruction` of the gold instance.

    Example:
        `{"func": "summary_quality", "parameters": {"text": "Rain fell all day, and the match was off.", "gold": "Rain stopped play."}}`
    """
    judge = needed(judge)
    settings = judge.settings

    def ask_in(swapped: bool) -> Question:
        return summary_question(prediction, settings=settings, reference=gold, text=text or question, swapped=swapped)

    decision, disagrees = judge.pairwise(ask_in)
    category = "invalid" if decision.value is None else _CATEGORIES.get(decision.value, "mixed")
    says = "the judge prefers another one when the order is swapped" if disagrees else f"the judge's choice: {category}"
    details = {"category": category, "order_disagreement": disagrees}
    return score_of(decision, prompt=ask_in(False).prompt, says=says, details=details)
