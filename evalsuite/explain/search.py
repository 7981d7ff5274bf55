"""What every search for a cause shares: the scorer as the judge of each try, a budget that is counted, and what was found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from evalsuite.causes import general_sentence
from evalsuite.causes.laws import Law
from evalsuite.causes.value_pairs import Pair
from evalsuite.errors import FaultError
from evalsuite.explain.null_model import FITS, FITS_VALUES, PROVED, chance_of
from evalsuite.registry import Scorer
from evalsuite.tables.wording import verdicts_only
from evalsuite.types import Rule, Table

MOST_ATTEMPTS: Final = 400
MOST_CELLS: Final = 20_000_000
SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: its name, what was found (counts and places, no values), and where (headers, values).

    `law` made `pairs` of values wrong, `column` are gold's values around them. `puts_gold_in` says that undoing it takes from gold what
    the answer does not hold; `chance` in [0, 1] is the share of unrelated values that it would fit, `in_common` the share of unrelated
    answers with as much else of gold's, see `null_model`. `patch` are the keys by path that let a schema take the answer as it is, `scores`
    the score before and after what is a cause of a part only.
    """

    name: str
    says: str = ""
    where: str = ""
    law: Law | None = field(default=None, compare=False)
    pairs: Sequence[Pair] = field(default=(), compare=False)
    column: Sequence[Any] = field(default=(), compare=False)
    puts_gold_in: bool = False
    chance: float = 0.0
    in_common: float = 1.0
    patch: Mapping[str, Any] = field(default_factory=dict, compare=False)
    scores: tuple[float, float] | None = None

    def weighed(self) -> "Cause":
        """The cause with its chance."""
        if self.law is None or not self.pairs:
            return self
        return replace(self, chance=max(self.chance, chance_of(self.law, self.pairs, self.column)))

    @property
    def is_named(self) -> bool:
        """Whether unrelated rows show it in 0.5 % of tries, values in 2.5 %; or unrelated answers, with all they share, in 0.1 %."""
        return self.chance <= (FITS if self.law is None else FITS_VALUES) or self.chance * self.in_common <= PROVED

    @property
    def standing(self) -> str:
        """`proved`, or `fits` where undoing it needs gold, or where as much would fit unrelated values in 0.1 % of tries or more."""
        return "fits" if self.puts_gold_in or self.chance >= PROVED else "proved"

    def to_json(self) -> dict[str, Any]:
        """As data; `general` says what the cause means without anything of either side, `text` all in one line."""
        says = self.says or general_sentence(self.name)
        return {
            "name": self.name,
            "standing": self.standing,
            "proved": self.standing == "proved",
            "chance": self.chance,
            "general": general_sentence(self.name),
            "says": says,
            "where": self.where,
            "text": f"{says}: {self.where}" if self.where else says,
            **({"patch": self.patch} if self.patch else {}),
            **({"scores": list(self.scores)} if self.scores else {}),
        }


@dataclass(slots=True)
class Budget:
    """How often the scorer may still be asked, and of how many cells in all: counted and not timed, so that load changes no answer."""

    attempts: int = MOST_ATTEMPTS
    cells: int = MOST_CELLS
    used: int = 0
    used_cells: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def spent(self) -> bool:
        """Whether the search has to end; what ended it is noted once."""
        if self.used >= self.attempts:
            self.note(f"no cause found in {tries(self.attempts)}")
        elif self.used_cells >= self.cells:
            self.note(f"no cause found in {tries(self.used)} of {self.used_cells:,} cells together")
        else:
            return False
        return True

    def note(self, text: str) -> None:
        """Remember what was not looked at."""
        if text not in self.notes:
            self.notes.append(text)


@dataclass(frozen=True, slots=True)
class Judge:
    """The scorer of one check with its parameters (gold read), under one rule."""

    scorer: Scorer
    parameters: Mapping[str, Any]
    rules: Rule
    budget: Budget

    def passes(self, prediction: Any) -> bool:
        """Whether the scorer gives a full score; False too where the budget is spent, or where the scorer cannot judge it."""
        return self.value(prediction) == 1.0

    def value(self, prediction: Any) -> float | None:
        """What the scorer gives; None where the budget is spent, or where the scorer cannot judge it."""
        if self.budget.spent:
            return None
        self.budget.used += 1
        self.budget.used_cells += n_cells(prediction)
        try:
            with verdicts_only():
                return self.scorer.score(prediction, **self.parameters).value(self.rules)
        except (FaultError, ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError):
            # A repaired answer is nobody's answer: what a scorer cannot read of it proves nothing.
            return None

    def with_parameters(self, **changed: Any) -> "Judge":
        """The same scorer with some parameters changed."""
        return Judge(self.scorer, {**self.parameters, **changed}, self.rules, self.budget)


Passes = Callable[[Any], bool]


def n_cells(form: Any) -> int:
    """How many cells an answer has: those of its tables, 1 for everything else."""
    if isinstance(form, Table):
        return form.n_rows * len(form.columns)
    if isinstance(form, Mapping):
        return sum(map(n_cells, form.values()))
    return sum(map(n_cells, form)) if isinstance(form, list | tuple) else 1


def show(value: Any) -> str:
    """A value in a sentence."""
    text = "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def plural(n: int, noun: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def tries(n: int) -> str:
    """`1 try`, `2 tries`."""
    return "1 try" if n == 1 else f"{n} tries"


def joined(causes: Sequence[Cause]) -> str:
    """The names of several causes in one."""
    return " and ".join(dict.fromkeys(cause.name for cause in causes))
