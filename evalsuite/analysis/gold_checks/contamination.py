"""Contamination: the share of gold's word n-grams that other texts contain, and the longest common stretch.

A model that was trained on such a text may know the answers. Searched are questions, answers, tables in each form that others write them
in, and canaries. Source: n-grams of 13 words as in Brown et al. (2020), "Language Models are Few-Shot Learners", appendix C; texts shorter
than that are searched as a whole, from 8 words on.
"""

import bz2
import gzip
import lzma
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from math import inf
from pathlib import Path
from typing import IO, Any, Final

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.types import Check, Fault, Gold, GoldInstance, Table
from evalsuite.readers.load_answer import read_gold_files
from evalsuite.readers.paths import refuse_endless
from evalsuite.scorers import SCORERS

# A text that is in a benchmark only to be found again, such as a GUID: a key of an instance in the spec.
CANARY: Final = "canary"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldText:
    """One text of an instance, in pieces; `part` says where it is from: `instruction`, `string_match gold`, `result.csv`.

    Texts with `any_length` are searched however short they are.
    """

    instance_id: str
    part: str
    where: str
    pieces: tuple[str, ...]
    any_length: bool = False


FILE_FORMS = ("table", "tables", "database")


def gold_texts(gold: Gold, limits: Mapping[str, int | float]) -> Iterator[GoldText | Fault]:
    """Return the texts of each instance in gold order; a `Fault` for a gold file that cannot be read."""
    for instance in gold.instances:
        for key, value in instance.extra.items():
            yield replace(_gold_text(instance, key, value), any_length=key == CANARY)
        for check in instance.checks:
            reads = SCORERS.load(check.scorer).marker.reads
            if reads in FILE_FORMS or reads == "tree":
                yield from _file_texts(instance, check, reads, gold, limits)
            else:
                for key, value in check.parameters.items():
                    yield _gold_text(instance, f"{check.scorer} {key}", value)


def _file_texts(
    instance: GoldInstance, check: Check, reads: str, gold: Gold, limits: Mapping[str, int | float]
) -> Iterator[GoldText | Fault]:
    if "gold" not in check.parameters:
        return
    try:
        read = read_gold_files(reads, check.parameters, folder=gold.folder, instance_id=instance.instance_id, limits=limits)["gold"]
    except FaultError as error:
        yield Fault(code=error.fault.code, detail=error.fault.detail, where=instance.where)
        return
    if reads == "tree":
        yield _gold_text(instance, f"{check.scorer} gold", read)
        return
    tables = read.values() if isinstance(read, Mapping) else read if isinstance(read, list) else [read]
    for table in tables:
        if isinstance(table, Table):
            for form, pieces in _table_forms(table):
                part = f"{table.name or 'gold'}{form}"
                yield GoldText(instance_id=instance.instance_id, part=part, where=instance.where, pieces=pieces)
        else:
            yield Fault(code=table.code, detail=table.detail, where=instance.where)


def _table_forms(table: Table) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (form, texts in order) of a table as others write it: row by row (CSV, Markdown, print), column by column, as JSON records."""
    rows = list(zip(*table.columns, strict=True))
    yield "", (*table.header, *(str(cell) for row in rows for cell in row if cell is not None))
    if len(table.columns) > 1:
        yield ", columns reversed", (*table.header[::-1], *(str(cell) for row in rows for cell in row[::-1] if cell is not None))
        yield ", column by column", tuple(str(cell) for column in table.columns for cell in column if cell is not None)
    records = (
        piece
        for row in rows
        for name, cell in zip(table.header, row, strict=True)
        for piece in (name, "null" if cell is None else str(cell))
    )
    yield ", as JSON records", tuple(records)


def _gold_text(instance: GoldInstance, part: str, value: Any) -> GoldText:
    return GoldText(instance_id=instance.instance_id, part=part, where=instance.where, pieces=tuple(_strings(value)))


def _strings(value: Any) -> Iterator[str]:
    """Yield every text and number in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


N_WORDS = 13
SHORTEST = 8
_WORD = re.compile(r"\w+")
_CHUNK = 1 << 20
_SHOWN_WORDS = 20
_FEW_TEXTS: Final = 16
_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """The longest stretch of words in one file whose n-grams are all gold's; `line` (1-based) is where it begins."""

    file: str
    line: int
    n_words: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """The matches of one text of gold: `n_found` of its `n_grams` different n-grams, and the longest hit."""

    instance_id: str
    part: str
    where: str
    n_grams: int
    n_found: int
    longest: Hit

    @property
    def share(self) -> float:
        """The share of n-grams found, in (0, 1]."""
        return self.n_found / self.n_grams

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return asdict(self) | {"share": self.share}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contamination:
    """The texts of gold that the files contain, the largest share first; `n_too_short` texts are too short to rule out chance.

    Files in `not_text` are binary (an archive, Parquet, UTF-16): what they contain was not searched.
    """

    n_words: int
    n_texts: int
    n_too_short: int
    n_instances: int
    n_files: int
    not_text: tuple[str, ...]
    overlaps: tuple[Overlap, ...]

    def instances_over(self, share: float) -> list[str]:
        """Return the instances that have a text with more than `share` of its n-grams found."""
        return list(dict.fromkeys(overlap.instance_id for overlap in self.overlaps if overlap.share > share))

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        counts = {name: getattr(self, name) for name in ("n_words", "n_texts", "n_too_short", "n_instances", "n_files", "not_text")}
        return {**counts, "overlaps": [overlap.to_json() for overlap in self.overlaps]}


def contamination(texts: Sequence[GoldText], files: Iterable[Path], *, n_words: int = N_WORDS) -> Contamination:
    """Search gold's texts in files; words are compared without case, punctuation and layout are ignored.

    The files are read in pieces (also .gz, .bz2, .xz), so their size does not matter; gold's n-grams are kept in memory, about 370 bytes
    each.

    Raises:
        UsageError: a file cannot be read.
    """
    if n_words < 1:
        raise UsageError(f"n-grams of {n_words} words", hint="a number from 1")
    index = _Index(texts, n_words)
    paths = list(files)
    for file in paths:
        _search(file, index)
    overlaps = sorted(index.overlaps(), key=lambda overlap: (-overlap.share, -overlap.longest.n_words))
    return Contamination(
        n_words=n_words,
        n_texts=len(texts),
        n_too_short=sum(size == 0 for size in index.n_grams),
        n_instances=len({text.instance_id for text in texts}),
        n_files=len(paths),
        not_text=tuple(index.not_text),
        overlaps=tuple(overlaps),
    )


def _fold_text(text: str) -> str:
    """Return the text in one case and one Unicode form; its words are runs of letters, digits and `_`."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


class _Index:
    """The n-grams of all texts of gold, and the matches so far."""

    def __init__(self, texts: Sequence[GoldText], n_words: int) -> None:
        self.texts = texts
        # n-gram -> the texts that contain it, equal sets as one object; the key is the words joined by a blank.
        self.holders: dict[str, frozenset[int]] = {}
        self.sizes: set[int] = set()
        self.vocabulary: set[str] = set()
        self.n_grams: list[int] = []
        self.found: set[str] = set()
        self.not_text: list[str] = []
        self.longest: list[Hit | None] = [None for _ in texts]
        # Stretches that many texts share and that were searched before.
        self.shared: set[tuple[tuple[frozenset[int], int], ...]] = set()
        holders: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            words = [word for piece in text.pieces for word in _WORD.findall(_fold_text(piece))]
            size = min(n_words, len(words))
            shortest = 1 if text.any_length else min(n_words, SHORTEST)
            n_grams = len(words) - size + 1 if size >= shortest else 0
            grams = {" ".join(words[at : at + size]) for at in range(n_grams)}
            self.n_grams.append(len(grams))
            if grams:
                self.sizes.add(size)
                self.vocabulary.update(words)
            own = [number]
            for gram in grams:
                numbers = holders.setdefault(gram, own)
                if len(numbers) > 1:
                    numbers.append(number)
                elif numbers is not own:
                    holders[gram] = [*numbers, number]
        sets: dict[tuple[int, ...], frozenset[int]] = {}
        while holders:
            gram, numbers = holders.popitem()
            self.holders[gram] = sets.setdefault(tuple(numbers), frozenset(numbers))

    def overlaps(self) -> Iterator[Overlap]:
        """Return the texts with at least one match."""
        n_found = Counter(number for gram in self.found for number in self.holders[gram])
        for number, text in enumerate(self.texts):
            longest = self.longest[number]
            if longest is not None:
                yield Overlap(
                    instance_id=text.instance_id,
                    part=text.part,
                    where=text.where,
                    n_grams=self.n_grams[number],
                    n_found=n_found[number],
                    longest=longest,
                )


def _search(file: Path, index: _Index) -> None:
    """Look up every n-gram of a file. A word that gold does not have ends a stretch, so most words cost one look-up."""
    if not index.sizes:
        return
    shortest, overlap = min(index.sizes), max(index.sizes) - 1
    words: list[str] = []
    lines: list[int] = []
    for line, line_words in _words_by_line(file, index):
        for word in line_words:
            if word in index.vocabulary:
                words.append(word)
                lines.append(line)
            elif words:
                if len(words) >= shortest:
                    _look_up(words, lines, index, file)
                words, lines = [], []
        if len(words) >= _CHUNK:
            # A very long stretch (gold repeated many times) is cut, and the pieces overlap so that no n-gram is lost.
            _look_up(words, lines, index, file)
            n_kept = max(0, len(words) - overlap)
            words, lines = words[n_kept:], lines[n_kept:]
    _look_up(words, lines, index, file)


def _look_up(words: Sequence[str], lines: Sequence[int], index: _Index, file: Path) -> None:
    for size in index.sizes:
        # Consecutive n-grams of gold as [texts that contain each of them, start, end].
        runs: list[tuple[frozenset[int], int, int]] = []
        for at in range(len(words) - size + 1):
            gram = " ".join(words[at : at + size])
            texts = index.holders.get(gram)
            if texts is None:
                continue
            index.found.add(gram)
            if runs and runs[-1][2] < at:
                _keep_longest(runs, size, words, lines, index, file)
                runs = []
            start = runs.pop()[1] if runs and runs[-1][0] is texts else at
            runs.append((texts, start, at + 1))
        _keep_longest(runs, size, words, lines, index, file)


def _keep_longest(
    runs: Sequence[tuple[frozenset[int], int, int]], size: int, words: Sequence[str], lines: Sequence[int], index: _Index, file: Path
) -> None:
    """Keep each text's longest stretch; words that many texts share are looked at once, however often the files repeat them."""
    ends: dict[int, int] = {}
    for is_shared, group in groupby(range(len(runs)), key=lambda at: len(runs[at][0]) > _FEW_TEXTS):
        places = list(group)
        stretch = tuple((runs[at][0], runs[at][2] - runs[at][1]) for at in places)
        if is_shared and stretch in index.shared:
            continue
        if is_shared:
            index.shared.add(stretch)
        for at in places:
            for number in runs[at][0]:
                if ends.get(number, -1) >= at:
                    continue
                first, last = at, at
                while first > 0 and number in runs[first - 1][0]:
                    first -= 1
                while last + 1 < len(runs) and number in runs[last + 1][0]:
                    last += 1
                ends[number] = last
                begin, best = runs[first][1], index.longest[number]
                n_words = runs[last][2] - begin + size - 1
                if best is None or n_words > best.n_words:
                    text = " ".join(words[begin : begin + min(n_words, _SHOWN_WORDS)])
                    index.longest[number] = Hit(file=str(file), line=lines[begin], n_words=n_words, text=text)


def _words_by_line(file: Path, index: _Index) -> Iterator[tuple[int, list[str]]]:
    """Yield (number, words) of each line of a file, read in pieces; a very long line comes in several. Bytes that are not UTF-8 are not
    words; a file with a NUL is named as binary.
    """
    opener = _OPEN.get(file.suffix.lower())
    try:
        with opener(file, "rt", encoding="utf-8", errors="replace") if opener else file.open(encoding="utf-8", errors="replace") as handle:
            line = 1
            for piece in _pieces(handle):
                if "\0" in piece and str(file) not in index.not_text[-1:]:
                    index.not_text.append(str(file))
                for number, part in enumerate(_fold_text(piece).split("\n"), start=line):
                    yield number, _WORD.findall(part)
                line += piece.count("\n")
    except (OSError, EOFError, lzma.LZMAError) as error:
        why = getattr(error, "strerror", None) or "it cannot be unpacked"
        raise UsageError(f"cannot read {file}: {why}", hint="--against needs text files") from None


def _pieces(handle: IO[str]) -> Iterator[str]:
    """Yield the text in pieces of about a MiB that end between two words."""
    rest = ""
    while chunk := handle.read(_CHUNK):
        rest += chunk
        cut = max(rest.rfind(" "), rest.rfind("\n"), rest.rfind("\t"))
        # Text without any blank in a MiB has no words that a cut could damage.
        cut = cut if cut >= 0 else len(rest) - 1
        yield rest[: cut + 1]
        rest = rest[cut + 1 :]
    yield rest


def text_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files to read: each path itself, or all files of a folder. Raises `UsageError` for a missing one, or if there is none."""
    files: list[Path] = []
    for path in paths:
        if not exists(path):
            raise UsageError(f"no such file: {path}", hint="--against needs text files, or folders of them")
        # Read in pieces: any size has an end.
        refuse_endless(path, most=inf)
        files += sorted(item for item in path.rglob("*") if is_file(item)) if is_dir(path) else [path]
    if not files:
        raise UsageError(f"no file in {paths[0]}", hint="--against needs text files, or folders of them")
    return files
