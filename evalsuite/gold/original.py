"""Layout of Spider 2.0 and its dbt suite. Separate from the others, because each run's reader of the submission imports it."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.core.errors import UsageError
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.types import Submission
from evalsuite.readers.json_text import Obj
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import metadata_like

if TYPE_CHECKING:
    from evalsuite.gold.spec import MakeInstance

# Mode of one sample of several: the i-th of the k lines of each id.
_SAMPLE = lazy_pattern(r"sample ([1-9]\d*) of ([1-9]\d*)")


class Original:
    """The layout of Spider 2.0 and its dbt suite: an `evaluation` in each entry, a folder per instance, `results_metadata.jsonl`."""

    @staticmethod
    def detect(_spec: Path, _entry: Obj, /) -> bool:
        """Return True: a spec that no other layout recognises is read as this one, which reports its errors."""
        return True

    @staticmethod
    def maker(_spec: Path, /) -> "MakeInstance":
        """Return a function that makes an instance of an entry."""
        from evalsuite.gold.spec import instance_of

        return instance_of

    @staticmethod
    def read_submission(folder: Path, limits: Limits, mode: str | None = None, ids: Collection[str] | None = None, /) -> Submission:
        """Return the answers in the folder's metadata, or without it the databases of its dbt projects.

        With a mode such as `sample 2 of 5`, the second line of each id.

        Raises `UsageError` for any other mode, because each line contains its type.
        """
        from evalsuite.readers.submission import read_metadata

        if (sample := _SAMPLE.fullmatch(mode or "")) is not None:
            return read_metadata(folder, limits, ids, sample=(int(sample[1]), int(sample[2])))
        if mode is not None:
            raise UsageError(f"--mode {mode!r} is for the layouts lite and snow", hint="results_metadata.jsonl gives each answer its type")
        if not metadata_like(folder):
            from evalsuite.readers.submission_files import read_projects

            if (projects := read_projects(folder, limits, ids)) is not None:
                return projects
        return read_metadata(folder, limits, ids)
