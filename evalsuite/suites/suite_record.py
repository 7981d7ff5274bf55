"""What a suite is: its cases, its scorer, and the object of its `suite.json`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test case: its id, the input, and the reference output (None where the scorer needs none)."""

    id: str
    input: str
    reference_output: str | None = None


class ScoringMethod(dict[str, Any]):
    """{name, type, config} of a scorer, also as attributes; equal to its name as well, which is how one is given."""

    __hash__ = None

    def __getattr__(self, key: str) -> Any:
        if key in self:
            return self[key]
        raise AttributeError(key)

    def __eq__(self, other: object) -> bool:
        return bool(self.get("name") == other) if isinstance(other, str) else super().__eq__(other)

    def __str__(self) -> str:
        return str(self.get("name", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSuite:
    """A suite as `suite.json` keeps it."""

    id: str
    name: str
    description: str
    scoring_method: ScoringMethod
    test_cases: tuple[Case, ...]
    created_at: str
    updated_at: str
    data_hash: str
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The object of `suite.json`."""
        return {**asdict(self), "test_cases": [asdict(case) for case in self.test_cases]}

    @property
    def scorer(self) -> str:
        """The name of the scorer."""
        return str(self.scoring_method["name"])

    @property
    def scorers(self) -> tuple[str, ...]:
        """The names of all its scorers: that of the score first, then those that have a column beside it."""
        return (self.scorer, *self.extra.get("further", {}))

    def config_of(self, scorer: str) -> dict[str, Any]:
        """The parameters of one of its scorers, the same for each case; empty for a scorer of the maker's own, which holds them itself."""
        method = self.method(scorer)
        return {} if method.get("type") == "custom" else dict(method.get("config", {}))

    def method(self, scorer: str) -> Mapping[str, Any]:
        """{name, type, config} of one of its scorers."""
        found: Mapping[str, Any] = self.scoring_method if scorer == self.scorer else self.extra["further"][scorer]
        return found

    @property
    def input_texts(self) -> list[str]:
        """The inputs of the n cases."""
        return [case.input for case in self.test_cases]

    @property
    def reference_outputs(self) -> list[str] | None:
        """The references of the n cases; None where there are none."""
        texts = [case.reference_output for case in self.test_cases if case.reference_output is not None]
        return texts if len(texts) == len(self.test_cases) else None


def from_json(data: Mapping[str, Any]) -> StoredSuite:
    """A suite from the object of its `suite.json`. Raises `KeyError` or `TypeError` where it is none."""
    cases = tuple(Case(**{key: case.get(key) for key in ("id", "input", "reference_output")}) for case in data["test_cases"])
    return StoredSuite(**{**data, "test_cases": cases, "scoring_method": ScoringMethod(data["scoring_method"])})
