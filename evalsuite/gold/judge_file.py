"""Which judge a run asks: the `judge` section of suite.yaml, over it `judge.yaml` beside it, over both the file of `--judge`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from evalsuite.errors import EvalsuiteError, UsageError
from evalsuite.gold.yaml_places import place_of_fault, top_level
from evalsuite.readers.gold_files import SUITE_FILE
from evalsuite.types import Gold

JUDGE_FILE: Final = "judge.yaml"
_HINT: Final = "base_url: ..., model: ..., key_env: ... in judge.yaml, or below `judge:` in suite.yaml"
_FILES: Final = ("prompts", "cassette")


def judge_section(file: Path) -> dict[str, Any]:
    """The judge's keys in a `judge.yaml`, or below `judge:` in any file such as suite.yaml; what they name lies beside it.

    Raises:
        UsageError: no such file, no judge in it, or a key or value that cannot be meant, with file and line.
        GoldError: the file is no YAML.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file", hint=_HINT)
    if not (section := _said_in(file)):
        raise UsageError(f"{file} has no `judge` section and no key of one", hint=_HINT)
    return section


def judge_of(file: Path | None, folder: Path) -> dict[str, Any]:
    """The judge's keys that a file says over those of a gold folder, over those of a `judge.yaml` here where there is no such folder.

    Raises:
        UsageError: no judge is said anywhere, or a key or value that cannot be meant.
    """
    places = [folder / SUITE_FILE, folder / JUDGE_FILE] if folder.is_dir() else [Path(JUDGE_FILE)]
    section: dict[str, Any] = {}
    for place in places:
        section |= _said_in(place) if place.is_file() else {}
    section |= judge_section(file) if file is not None else {}
    if not section:
        raise UsageError("no judge is said", hint=_HINT)
    return section


def _said_in(file: Path) -> dict[str, Any]:
    section: dict[str, Any] = {}
    whole = {key: (value, place) for key, value, place in top_level(file, file.name)}
    for key, (value, place) in whole.items():
        if key == "judge" and isinstance(value, dict):
            _check_section(value, place)
            section |= value
        elif "judge" not in whole and file.name != SUITE_FILE:
            _check_section({key: value}, place)
            section[key] = value
    return section | {key: str((file.parent / section[key]).resolve()) for key in _FILES if section.get(key)}


def with_judge(gold: Gold, file: Path | None) -> Gold:
    """Gold whose judge is what the file says, over what was said before. Raises `UsageError` for a file that cannot be meant."""
    if file is None:
        return gold
    judge = {**gold.suite.extra.get("judge", {}), **judge_section(file)}
    return replace(gold, suite=replace(gold.suite, extra={**gold.suite.extra, "judge": judge}))


def judge_line(gold: Gold) -> str:
    """What of the judge moves a verdict, for the signature; empty where none is set."""
    return _verdict_line(gold.suite.extra.get("judge") or {}, gold.folder)


def judge_line_in(folder: Path | None, file: Path | None = None) -> str:
    """The `judge_line` of the gold in a folder, of which nothing else is read, under the file that goes before it."""
    places = [folder / name for name in (SUITE_FILE, JUDGE_FILE)] if folder is not None else []
    section = {key: value for place in places if place.is_file() for key, value in _said_in(place).items()}
    section |= judge_section(file) if file is not None else {}
    return _verdict_line(section, folder)


def _verdict_line(section: Mapping[str, Any], folder: Path | None) -> str:
    if not section:
        return ""
    from evalsuite.judge.settings import read_settings

    return read_settings(section, folder=folder).verdict_line


def _check_section(section: Mapping[str, Any], place: str) -> None:
    from evalsuite.judge.settings import read_settings

    try:
        read_settings(section)
    except EvalsuiteError as error:
        raise UsageError(f"{place_of_fault(section, place, error.message)}: {error.message}", hint=error.hint) from None
