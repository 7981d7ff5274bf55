"""Suites that the tests of this folder make: three capitals, a frame, a scorer of one's own."""

from pathlib import Path

from evalsuite.reports.test_suite import TestSuite

INPUTS = ["Capital of France?", "Capital of Italy?", "Capital of Norway?"]
REFERENCES = ["Paris", "Rome", "Oslo"]
METADATA = {
    "model_name": "m",
    "model_version": "2",
    "foundation_model": "base",
    "prompt_template": "Q: {input}",
    "description": "first try",
}


class Frame(dict[str, list[object]]):
    """What a data frame is to us: columns by name, and `to_dict`."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self)

    def to_dict(self) -> dict[str, list[object]]:
        """The columns."""
        return dict(self)


class Typos:
    """A scorer in Arthur Bench's manner: half as good with each typo."""

    def __init__(self, base: float = 0.5) -> None:
        self.base = base
        self.seen: list[tuple[object, ...]] = []

    @staticmethod
    def name() -> str:
        """Its name."""
        return "typos"

    def requires_reference(self) -> bool:
        """Whether it compares."""
        return True

    def run_batch(self, candidates: list[str], references: object, inputs: object, contexts: object) -> list[float]:
        """A score for each."""
        self.seen.append((candidates, references, inputs, contexts))
        return [self.base ** text.count("#") for text in candidates]


def capitals(root: Path, **options: object) -> TestSuite:
    """A suite of three capitals."""
    return TestSuite(
        "capitals", "string_match", "three of them", input_text_list=INPUTS, reference_output_list=REFERENCES, root=root, **options
    )  # type: ignore[arg-type]
