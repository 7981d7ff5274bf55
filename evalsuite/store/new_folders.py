"""Where a run is written: the folder that was named, or a new one below the folder of runs."""

from datetime import UTC, datetime
from pathlib import Path

from evalsuite.errors import OutputError
from evalsuite.store.run_files import keep_out_of_git
from evalsuite.store.run_folder import RESULTS, RUN, STARTED, cannot_write_run, half_written, is_submission


def claim(out: Path) -> Path:
    """The folder to write a run to: `out` itself. An earlier run folder there is replaced, any other non-empty folder refused."""
    try:
        if out.is_dir():
            held = {entry.name for entry in set(out.iterdir()) - set(half_written(out))}
            if is_submission(out):
                raise OutputError(f"{out} is a submission, not a run folder", hint="name a new folder, or one that holds an earlier run")
            if held and not held & {RUN, RESULTS, STARTED}:
                raise OutputError(f"{out} is not empty and not a run folder", hint="name a new folder, or one that holds an earlier run")
        elif out.exists():
            raise OutputError(f"{out} is a file, not a folder", hint="--out names the run folder itself")
    except OSError as error:
        raise cannot_write_run(out, error) from error
    return out


def new_folder(root: Path, label: str, *, now: datetime | None = None) -> Path:
    """A free folder name `<root>/<yyyymmdd-hhmmss>-<label>`; made at once, so that two runs never share one."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    slug = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in label).strip("-.")[:40] or "run"
    for attempt in range(1, 10_000):
        folder = root / (f"{stamp}-{slug}" if attempt == 1 else f"{stamp}-{slug}-{attempt}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_write_run(folder, error) from error
        keep_out_of_git(root)
        return folder
    raise OutputError(f"no free run folder name under {root}")
