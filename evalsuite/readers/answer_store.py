"""The answers of a metadata file by instance id: a plain dict of a few, and a sorted index over joined text of very many."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from typing import Any, Final

from evalsuite.readers.plain_lines import Block, line_of
from evalsuite.types import Answer

# From here on a dict of answers would take half a kilobyte each.
COMPACT_FROM: Final = 50_000
SHOWN_LINES: Final = 5
MOST_SHOWN_OF_ID: Final = 200

MarkDuplicate = Callable[[Answer, list[int]], Answer]


@dataclass(slots=True)
class Singles:
    """Answers that were read one by one, with their lines."""

    answers: list[Answer] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.answers)

    def instance_id(self, at: int) -> str:
        """The id of one answer."""
        return self.answers[at].instance_id

    def line(self, at: int) -> int:
        """The line of one answer, from 1."""
        return self.lines[at]

    def answer(self, at: int) -> Answer:
        """One answer."""
        return self.answers[at]


class Collected:
    """What was read so far, in file order."""

    def __init__(self) -> None:
        self._segments: list[Block | Singles] = []
        self._hashes = array("q")

    def add(self, answer: Answer, line: int) -> None:
        """Take in one answer."""
        if not self._segments or not isinstance(self._segments[-1], Singles):
            self._segments.append(Singles())
        last = self._segments[-1]
        assert isinstance(last, Singles)
        last.answers.append(answer)
        last.lines.append(line)
        self._hashes.append(hash(answer.instance_id))

    def add_block(self, block: Block) -> None:
        """Take in a block of answers."""
        self._segments.append(block)
        self._hashes.extend(block.hashes)

    def answers(self, mark: MarkDuplicate, *, compact_from: int = COMPACT_FROM) -> Mapping[str, Answer]:
        """One answer an id in file order; of an id that stands there several times the first, marked with their lines."""
        if len(self._hashes) >= compact_from:
            return CompactAnswers(self._segments, self._hashes, mark)
        found: dict[str, Answer] = {}
        lines: dict[str, list[int]] = {}
        for segment in self._segments:
            for at in range(len(segment)):
                answer = segment.answer(at)
                found.setdefault(answer.instance_id, answer)
                lines.setdefault(answer.instance_id, []).append(segment.line(at))
        for name, own in lines.items():
            if len(own) > 1:
                found[name] = mark(found[name], own)
        return found


class KnownAnswers:
    """What was read so far of the ids that gold has; of others their number is kept, and where the first few of them stand."""

    def __init__(self, ids: Collection[str], *, most_shown: int) -> None:
        self._ids, self._most_shown = frozenset(ids), most_shown
        self._answers: dict[str, Answer] = {}
        self._lines: dict[str, list[int]] = {}
        self.n_unknown = 0
        self.unknown: list[tuple[str, str]] = []

    def add(self, answer: Answer, line: int) -> None:
        """Take in one answer."""
        name = answer.instance_id
        if name not in self._ids:
            self.n_unknown += 1
            if len(self.unknown) < self._most_shown:
                self.unknown.append((answer.where, name[:MOST_SHOWN_OF_ID]))
        else:
            self._keep(answer, line)

    def _keep(self, answer: Answer, line: int) -> None:
        if answer.instance_id not in self._answers:
            self._answers[answer.instance_id] = answer
            return
        # Only as many lines are kept as are shown, and one more that says so.
        lines = self._lines.setdefault(answer.instance_id, [])
        if len(lines) < SHOWN_LINES:
            lines.append(line)

    def add_block(self, block: Block) -> None:
        """Take in a block of answers."""
        for at in range(len(block)):
            if block.instance_id(at) in self._ids or len(self.unknown) < self._most_shown:
                self.add(block.answer(at), block.line(at))
            else:
                self.n_unknown += 1

    def answers(self, mark: MarkDuplicate) -> Mapping[str, Answer]:
        """One answer an id in file order; of an id that stands there several times the first, marked with their lines."""
        for name, later in self._lines.items():
            self._answers[name] = mark(self._answers[name], [line_of(self._answers[name].where), *later])
        return self._answers


class SampledAnswers(KnownAnswers):
    """One sample of several: of each id the `sample`-th line, from 1; an id with more than `n_samples` lines is marked with them."""

    def __init__(self, ids: Collection[str], sample: int, n_samples: int, *, most_shown: int) -> None:
        super().__init__(ids, most_shown=most_shown)
        self._sample, self._n_samples = sample, n_samples

    def _keep(self, answer: Answer, line: int) -> None:
        name = answer.instance_id
        lines = self._lines.setdefault(name, [])
        if len(lines) <= self._n_samples:
            lines.append(line)
        if len(lines) == self._sample or name not in self._answers:
            self._answers[name] = answer

    def answers(self, mark: MarkDuplicate) -> Mapping[str, Answer]:
        """The answers of this sample in file order: without the ids that have fewer, and those with too many marked."""
        found = {name: answer for name, answer in self._answers.items() if len(self._lines[name]) >= self._sample}
        too_many = {name: mark(answer, self._lines[name]) for name, answer in found.items() if len(self._lines[name]) > self._n_samples}
        return found | too_many

    def unequal(self) -> Iterator[tuple[int, str, int]]:
        """(last line, id, number of lines) of each id that has not as many lines as samples, in file order; no more than one too many."""
        for name, lines in self._lines.items():
            if len(lines) != self._n_samples:
                yield lines[-1], name[:MOST_SHOWN_OF_ID], len(lines)


class CompactAnswers(Mapping[str, Answer]):
    """The same as a mapping that makes each answer when it is asked for: some 20 bytes each beside their text.

    An id is found by its hash in a sorted array; equal hashes are told apart by the ids themselves.
    """

    def __init__(self, segments: Sequence[Block | Singles], hashes: "array[int]", mark: MarkDuplicate) -> None:
        import numpy as np

        self._segments = segments
        self._starts: list[int] = []
        n = 0
        for segment in segments:
            self._starts.append(n)
            n += len(segment)
        # In order, and the position that each one had; equal ones by position.
        given = np.frombuffer(hashes, dtype=np.int64)
        order = np.argsort(given, kind="stable").astype(np.uint32)
        self._hashes, self._order = array("q", given[order].tobytes()), array("I", order.tobytes())
        self._later: set[int] = set()
        self._marked: dict[str, Answer] = {}
        self._find_duplicates(mark)
        self._n = n - len(self._later)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, name: object) -> Answer:
        wanted = hash(name)
        at = bisect_left(self._hashes, wanted)
        while at < len(self._hashes) and self._hashes[at] == wanted:
            segment, inner = self._place(self._order[at])
            if segment.instance_id(inner) == name:
                return self._marked.get(str(name)) or segment.answer(inner)
            at += 1
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (segment.instance_id(at) for segment, at in self._kept())

    def values(self) -> ValuesView[Answer]:
        """The answers in file order."""
        return _Values(self)

    def in_order(self) -> Iterator[Answer]:
        """The answers in file order, without looking each one up."""
        for segment, at in self._kept():
            answer = segment.answer(at)
            yield self._marked.get(answer.instance_id, answer) if self._marked else answer

    def __reduce__(self) -> tuple[type[dict[str, Answer]], tuple[Any]]:
        # Hashes of texts differ from process to process.
        return dict, (dict(zip(self, self.in_order(), strict=True)),)

    def _kept(self) -> Iterator[tuple[Block | Singles, int]]:
        for start, segment in zip(self._starts, self._segments, strict=True):
            for at in range(len(segment)):
                if start + at not in self._later:
                    yield segment, at

    def _place(self, position: int) -> tuple[Block | Singles, int]:
        at = bisect_right(self._starts, position) - 1
        return self._segments[at], position - self._starts[at]

    def _find_duplicates(self, mark: MarkDuplicate) -> None:
        """Find ids that stand there twice among neighbours of one hash."""
        for first, last in _runs(self._hashes):
            by_id: dict[str, list[int]] = {}
            for position in self._order[first:last]:
                segment, at = self._place(position)
                by_id.setdefault(segment.instance_id(at), []).append(position)
            for name, positions in by_id.items():
                if len(positions) > 1:
                    places = [self._place(position) for position in positions]
                    self._marked[name] = mark(places[0][0].answer(places[0][1]), [segment.line(at) for segment, at in places])
                    self._later.update(positions[1:])


class _Values(ValuesView[Answer]):
    """The values of `CompactAnswers`."""

    def __init__(self, answers: CompactAnswers) -> None:
        super().__init__(answers)
        self._answers = answers

    def __iter__(self) -> Iterator[Answer]:
        return self._answers.in_order()


def _runs(hashes: "array[int]") -> Iterator[tuple[int, int]]:
    """(first, last + 1) of each run of equal hashes of at least two."""
    import numpy as np

    given = np.frombuffer(hashes, dtype=np.int64)
    equal = np.flatnonzero(given[1:] == given[:-1])
    last = -1
    for at in equal.tolist():
        if at >= last:
            first, last = at, at + 1
            while last < len(hashes) and hashes[last] == hashes[first]:
                last += 1
            yield first, last
