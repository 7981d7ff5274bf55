"""Agreement of two raters of the same instances: two runs, or a run and human labels in a CSV file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from evalsuite.core.errors import UsageError
from evalsuite.core.status import redact
from evalsuite.runs.history import RunEntry, one_run
from evalsuite.runs.human_labels import Label, Rater, read_labels
from evalsuite.stats.agreement import Agreement, Confusion, cohen_kappa, confusion, krippendorff_alpha
from evalsuite.stats.intervals import corrected_mean, wilson_interval


def read_rater(name: str, runs: Path) -> Rater:
    """Return the rater of a run's name or folder, or of a `.csv` file. Raises `UsageError`."""
    if name.lower().endswith(".csv"):
        return read_labels(Path(name))
    return rater_of_run(one_run(name, runs))


def rater_of_run(entry: RunEntry) -> Rater:
    """Return the scores of a run under its rules. A missing or unjudged answer has no label.

    The reasons of a suite with hidden gold quote nothing of it.
    """
    labels: dict[str, Label] = {}
    reasons, silent = {}, {}
    hidden = bool(entry.run.get("gold", {}).get("hidden"))
    for result in entry.results():
        if result.status == "missing":
            silent[result.instance_id] = "not handed in"
        elif result.score is None:
            silent[result.instance_id] = "not judged"
        else:
            labels[result.instance_id] = float(result.score)
            reasons[result.instance_id] = (redact(result, "class") if hidden else result).reason
    return Rater(name=entry.name, labels=labels, reasons=reasons, silent=silent)


# With more labels than this the confusion matrix is unreadable and kappa means little: use a threshold.
MOST_LABELS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One instance with two different labels, and both reasons."""

    instance_id: str
    labels: tuple[Label, Label]
    reasons: tuple[str, str]

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return {"instance_id": self.instance_id, "labels": list(self.labels), "reasons": list(self.reasons)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """The mean that the `dear` rater, who labelled n instances, would give over all that the `cheap` one rated, n_others more."""

    cheap: str
    dear: str
    plain: float
    estimate: float
    low: float
    high: float
    n: int
    n_others: int


def _corrected(raters: Mapping[str, Mapping[str, Label]], shared: Sequence[str]) -> Corrected | None:
    """Return the mean of the rater with more labels, corrected by the other's; None if both rated the same, or labels are not numbers."""
    numbers = {name: {id_: label for id_, label in labels.items() if isinstance(label, float)} for name, labels in raters.items()}
    (dear, few), (cheap, many) = sorted(numbers.items(), key=lambda rater: len(rater[1]))
    others = [label for id_, label in many.items() if id_ not in few]
    if not others or len(shared) < 2 or any(len(numbers[name]) < len(raters[name]) for name in raters):
        return None
    found = corrected_mean([(many[id_], few[id_]) for id_ in shared], others)
    assert found.low is not None
    assert found.high is not None
    ends = {"estimate": found.estimate, "low": found.low, "high": found.high}
    return Corrected(cheap=cheap, dear=dear, plain=fmean(many.values()), **ends, n=len(shared), n_others=len(others))


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAgreement:
    """The agreement of two raters over n instances that both labelled; `left_out` counts the others by reason.

    `interval` is the 95 % Wilson interval of the raw agreement, `corrected` the mean of the rater with more labels, corrected by the other.
    `coefficients` are in [-1, 1], the weighted ones only for ordered labels.
    """

    names: tuple[str, str]
    n: int
    n_equal: int
    interval: tuple[float, float]
    coefficients: tuple[Agreement, ...]
    confusion: Confusion | None
    disagreements: tuple[Disagreement, ...]
    left_out: Mapping[str, int]
    threshold: float | None = None
    corrected: Corrected | None = None

    @property
    def observed(self) -> float:
        """The raw agreement in [0, 1]."""
        return self.n_equal / self.n

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        table = self.confusion
        return {
            "raters": list(self.names),
            "n": self.n,
            "n_equal": self.n_equal,
            "observed": self.observed,
            "interval_95": list(self.interval),
            "coefficients": [{"method": c.method, "value": c.value, "note": c.note} for c in self.coefficients],
            "confusion": {"labels": list(table.labels), "counts": [list(row) for row in table.counts]} if table else None,
            "disagreements": [one.to_json() for one in self.disagreements],
            "left_out": dict(self.left_out),
            "threshold": self.threshold,
            "corrected": asdict(self.corrected) if self.corrected else None,
        }


def agree(a: Rater, b: Rater, *, threshold: float | None = None) -> RaterAgreement:
    """Compute the agreement of two raters over the instances that both labelled.

    Args:
        a: one rater.
        b: the other rater.
        threshold: turns every label into 1 if it is at least that, else 0, so that graded scores can be compared with right and wrong.

    Labels are compared as they are, a number with a number.

    Raises:
        UsageError: there is nothing to compare.
    """
    left, right = dict(a.labels), dict(b.labels)
    if threshold is not None:
        left, right = _zero_or_one(a, threshold), _zero_or_one(b, threshold)
    elif a.is_numeric != b.is_numeric and left and right:
        named, words = (a, b) if not a.is_numeric else (b, a)
        odd = next(label for label in named.labels.values() if isinstance(label, str))
        raise UsageError(
            f"the labels of {named.name} are text ({odd!r}), those of {words.name} are numbers", hint="use 1 and 0, or right and wrong"
        )
    ids = [id_ for id_ in left if id_ in right]
    if not ids:
        raise UsageError(f"{a.name} and {b.name} have no labelled instance in common", hint="both sides are joined by instance_id")
    first, second = [left[id_] for id_ in ids], [right[id_] for id_ in ids]
    n_equal = sum(x == y for x, y in zip(first, second, strict=True))
    labels = _labels_in_order({*first, *second})
    return RaterAgreement(
        names=(a.name, b.name),
        n=len(ids),
        n_equal=n_equal,
        interval=wilson_interval(n_equal, len(ids)),
        coefficients=tuple(_coefficients(first, second, labels)),
        confusion=confusion(first, second, labels=labels) if len(labels) <= MOST_LABELS else None,
        disagreements=tuple(
            Disagreement(instance_id=id_, labels=(left[id_], right[id_]), reasons=(a.reasons.get(id_, ""), b.reasons.get(id_, "")))
            for id_ in ids
            if left[id_] != right[id_]
        ),
        left_out=_why_left_out(a, b),
        threshold=threshold,
        corrected=_corrected({a.name: left, b.name: right}, ids) if a.name != b.name else None,
    )


def _zero_or_one(rater: Rater, threshold: float) -> dict[str, Label]:
    if not rater.is_numeric:
        raise UsageError(f"the labels of {rater.name} are text", hint="a threshold needs numbers on both sides")
    return {id_: float(label >= threshold) for id_, label in rater.labels.items() if isinstance(label, float)}


def _labels_in_order(labels: set[Label]) -> list[Label]:
    """Return the labels in order. Whole numbers are filled up (1, 2, 4 becomes 1, 2, 3, 4): an unused label still lies in between."""
    numbers = sorted(label for label in labels if isinstance(label, float))
    if len(numbers) < len(labels):
        return sorted(labels, key=str)
    if all(number.is_integer() for number in numbers) and numbers[-1] - numbers[0] < MOST_LABELS:
        return [float(number) for number in range(int(numbers[0]), int(numbers[-1]) + 1)]
    return list(numbers)


def _coefficients(first: list[Label], second: list[Label], labels: list[Label]) -> list[Agreement]:
    """Return kappa and alpha; for numbers of more than two kinds also the coefficients that weight the distance of labels."""
    ordered = len(labels) > 2 and all(isinstance(label, float) for label in labels)
    found = [cohen_kappa(first, second, labels=labels)]
    if ordered:
        found += [cohen_kappa(first, second, weights=weights, labels=labels) for weights in ("linear", "quadratic")]
    found.append(krippendorff_alpha([first, second]))
    if ordered:
        found += [krippendorff_alpha([first, second], level=level) for level in ("ordinal", "interval")]
    return found


def _why_left_out(a: Rater, b: Rater) -> dict[str, int]:
    """Return why instances of only one side are not compared, with how many there are of each."""
    why: Counter[str] = Counter()
    for id_ in {**a.labels, **a.silent, **b.labels, **b.silent}:
        if id_ in a.labels and id_ in b.labels:
            continue
        for one, other in ((a, b), (b, a)):
            if id_ in one.silent:
                why[f"{one.silent[id_]} in {one.name}"] += 1
                break
            if id_ not in one.labels:
                why[f"only in {other.name}"] += 1
                break
    return dict(why)
