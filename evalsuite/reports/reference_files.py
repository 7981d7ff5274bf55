"""The files that the reference of Spider 2.0 Lite and Snow leaves behind: `<result_dir>-ids.csv` with the right ids, and its `log.txt`.

Both follow spider2-lite `evaluate.py`: what is right is official, ids are sorted, and in lite those of BigQuery, GA and SQLite questions
get `sf_` in front. "Real score" is over all of gold, of which the benchmark has 547.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.errors import cannot_write
from evalsuite.reports.clean import clean

if TYPE_CHECKING:
    from evalsuite.reports.record import Record
    from evalsuite.types import Result

LOG = "log.txt"
_TO_SNOWFLAKE = ("bq", "ga", "local")


def write_reference_files(record: "Record", result_dir: Path) -> list[Path]:
    """The two files written: the ids beside the submission folder, the log in the working directory. Raises `OutputError`."""
    handed_in = sorted((result for result in record.results if result.status != "missing"), key=lambda result: result.instance_id)
    texts = ids_text(handed_in, record.layout), log_text(handed_in, record.summary.n_gold)
    for path, text in zip(reference_places(result_dir), texts, strict=True):
        try:
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise cannot_write(path, error, hint="leave --reference-files out, or make room for it") from None
    return list(reference_places(result_dir))


def reference_places(result_dir: Path) -> tuple[Path, Path]:
    """Where the ids and the log lie."""
    whole = result_dir.absolute()
    return whole.with_name(f"{whole.name}-ids.csv"), Path(LOG)


def ids_text(handed_in: Sequence["Result"], layout: str) -> str:
    """The CSV of the ids that are right under the official rules, under the header `instance_id`."""
    right = [result.instance_id for result in handed_in if result.official == 1]
    named = [f"sf_{name}" if layout == "lite" and name.startswith(_TO_SNOWFLAKE) else name for name in right]
    return "".join(f"{name}\n" for name in ("instance_id", *map(clean, named)))


def log_text(handed_in: Sequence["Result"], n_gold: int) -> str:
    """The log: why each wrong answer is wrong, the scores by id, and the two ratios, over what was handed in and over gold."""
    scores = {result.instance_id: int(result.official == 1) for result in handed_in}
    n_right, n = sum(scores.values()), len(scores)
    lines = [f"{result.instance_id}: {result.reason}" for result in handed_in if result.official != 1]
    lines.append(str(scores))
    lines.append(f"Final score: {n_right / n if n else 0.0}, Correct examples: {n_right}, Total examples: {n}")
    lines.append(f"Real score: {n_right / n_gold if n_gold else 0.0}, Correct examples: {n_right}, Total examples: {n_gold}")
    return "".join(f"{clean(line)}\n" for line in lines)
