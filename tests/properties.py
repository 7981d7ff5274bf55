"""Hypothesis profiles: `line` for the test line, `full` for `pytest -m slow`."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# This share of the full number, but never fewer than this.
LINE_SHARE, LINE_LEAST = 24, 12
_PACKAGE = str(Path(__file__).resolve().parent.parent / "evalsuite")
_COMMON: dict[str, Any] = {"deadline": None, "print_blob": True}
# What `st.text()` draws without an alphabet. For that one Hypothesis encodes every code point, in each process of a fresh clone.
LETTERS = st.characters(exclude_categories=["Cs"])


def load_profile(*, full: bool) -> None:
    """Choose the profile for this process; call before test modules are imported."""
    settings.register_profile("line", max_examples=LINE_LEAST, suppress_health_check=[HealthCheck.too_slow], **_COMMON)
    settings.register_profile("full", max_examples=100, suppress_health_check=[HealthCheck.too_slow], **_COMMON)
    settings.load_profile("full" if full else "line")
    # Only the package's modules are neither Python's nor installed nor tests: to find them, Hypothesis resolves the path of every module.
    with suppress(Exception):
        from hypothesis.internal.conjecture import providers

        providers.is_local_module_file = lambda path: path.startswith(_PACKAGE)


def is_full() -> bool:
    """Whether this process runs the slow tests."""
    return bool(settings.get_current_profile_name() == "full")


def examples(n: int, *, suppress_health_check: tuple[HealthCheck, ...] | list[HealthCheck] = ()) -> settings:
    """Settings of a property: `n` examples in the full profile, a twenty-fourth of them (at least 12) in the test line."""
    count = n if is_full() else min(n, max(LINE_LEAST, n // LINE_SHARE))
    return settings(max_examples=count, suppress_health_check=[HealthCheck.too_slow, *suppress_health_check], **_COMMON)


def read_constants(files: Iterable[Path]) -> None:
    """Let Hypothesis note the constants in these modules, which it draws now and then, in the files that all processes of a test run share.

    Each process would parse the whole package at its first property. With another Hypothesis it may do so.
    """
    with suppress(Exception):
        from hypothesis.internal.constants_ast import constants_from_module

        for file in files:
            module = ModuleType(file.stem)
            module.__file__ = str(file)
            constants_from_module(module)
