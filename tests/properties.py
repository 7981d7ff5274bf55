"""Hypothesis profiles: `line` for the test line, `full` for `pytest -m slow`."""

from typing import Any

from hypothesis import HealthCheck, settings

# A twelfth of the full number, but never fewer than this.
LINE_SHARE, LINE_LEAST = 12, 12
_COMMON: dict[str, Any] = {"deadline": None, "print_blob": True}


def load_profile(*, full: bool) -> None:
    """Choose the profile for this process; call before test modules are imported."""
    settings.register_profile("line", max_examples=LINE_LEAST, suppress_health_check=[HealthCheck.too_slow], **_COMMON)
    settings.register_profile("full", max_examples=100, suppress_health_check=[HealthCheck.too_slow], **_COMMON)
    settings.load_profile("full" if full else "line")


def is_full() -> bool:
    """Whether this process runs the slow tests."""
    return bool(settings.get_current_profile_name() == "full")


def examples(n: int, *, suppress_health_check: tuple[HealthCheck, ...] | list[HealthCheck] = ()) -> settings:
    """Settings of a property: `n` examples in the full profile, a twelfth of them (at least 12) in the test line."""
    count = n if is_full() else min(n, max(LINE_LEAST, n // LINE_SHARE))
    return settings(max_examples=count, suppress_health_check=[HealthCheck.too_slow, *suppress_health_check], **_COMMON)
