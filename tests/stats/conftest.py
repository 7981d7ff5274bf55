"""The long simulations of this folder stay out of the test line: they run only where `-m` names them (`pytest -m slow tests/stats`)."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect this folder's slow tests unless the marker expression speaks of them."""
    if "slow" in config.option.markexpr:
        return
    slow = [item for item in items if HERE in item.path.parents and item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in set(slow)]
